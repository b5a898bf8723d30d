#pragma once
/// \file
/// Exact linear programs in rationals, with proofs of every answer.
///
/// A system A x >= b over the rationals either has a point x, or non-negative multipliers y with
/// yᵀA = 0 and yᵀb > 0 (Farkas): adding the inequalities up with those weights reads 0 >= yᵀb > 0.
/// One of the two always exists, and either is checked by a few multiplications, so nobody has to
/// trust the solver. "No head can do this" becomes a handful of numbers.
///
/// The engine is a dense two-phase simplex with Bland's rule (which cannot cycle) on the dual in
/// standard form: one tableau row per variable of x, one column per inequality. It suits systems
/// with few variables and many rows. Answers are checked by the verify_ functions below, which
/// share no code with it, before they are returned.

#include <Eigen/Core>
#include <optional>

#include "theory/number.hpp"

namespace ropewalk::proofs_numeric {

using RationalMatrix = Eigen::Matrix<theory::Rational, Eigen::Dynamic, Eigen::Dynamic>;
using RationalVector = Eigen::Matrix<theory::Rational, Eigen::Dynamic, 1>;

/// Exactly one of the two holds a value.
struct Feasibility {
  std::optional<RationalVector> point;   ///< x with A x >= b
  std::optional<RationalVector> farkas;  ///< y >= 0, yᵀA = 0, yᵀb > 0, in coprime integers

  [[nodiscard]] bool feasible() const { return point.has_value(); }
};

/// Decides A x >= b, x free. Shapes: A m-by-n, b m (Error(bad_value) otherwise); m = 0 and n = 0
/// are allowed. Guarantee: Exact, verified. Cost: pivots of n·(m+n) rational operations; their
/// number is small in practice and exponential at worst.
[[nodiscard]] Feasibility find_point(const RationalMatrix& a, const RationalVector& b);

enum class LpStatus { optimal, infeasible, unbounded };

struct LpResult {
  LpStatus status = LpStatus::infeasible;
  theory::Rational value;  ///< the maximum, where optimal
  RationalVector point;    ///< a maximiser, or a feasible point where unbounded
  RationalVector
      multipliers;  ///< optimal: y >= 0, Aᵀy = -c, -bᵀy = value; infeasible: a Farkas certificate
  RationalVector ray;  ///< unbounded: d with A d >= 0, cᵀd > 0
};

/// Maximises cᵀx subject to A x >= b, x free. The multipliers prove the maximum: for every feasible
/// x, cᵀx <= cᵀx + yᵀ(A x - b) = -yᵀb. Shapes, guarantee and cost as find_point.
[[nodiscard]] LpResult maximise(const RationalVector& c, const RationalMatrix& a,
                                const RationalVector& b);

/// A x >= b, exactly. False for wrong shapes. Cost: m·n.
[[nodiscard]] bool verify_point(const RationalMatrix& a, const RationalVector& b,
                                const RationalVector& x);
/// y >= 0, yᵀA = 0 and yᵀb > 0, exactly: no x has A x >= b. False for wrong shapes. Cost: m·n.
[[nodiscard]] bool verify_farkas(const RationalMatrix& a, const RationalVector& b,
                                 const RationalVector& y);
/// The evidence that `result` carries for its status, exactly. False for wrong shapes. Cost: m·n.
[[nodiscard]] bool verify_maximum(const RationalVector& c, const RationalMatrix& a,
                                  const RationalVector& b, const LpResult& result);

}  // namespace ropewalk::proofs_numeric
