#pragma once
/// \file
/// Few planes, huge ranges: the lags at which all planes come back near their start are the close
/// vectors of a lattice.
///
/// Let W(t) = sum_f w_f (1 - cos 2 pi (alpha_f t + psi_f)), w_f > 0, over D planes, and ask for
/// every t in a range with W(t) <= B. Write x_f for the signed distance of alpha_f t + psi_f to the
/// nearest integer n_f. No term may pass B, so |x_f| <= r_f with 2 w_f sin^2(pi r_f) = B (r_f = 1/2
/// where B >= 2 w_f), and since sin(pi x)/x falls on (0, 1/2],
///     1 - cos 2 pi x = 2 sin^2(pi x) >= c_f x^2,   c_f = 2 sin^2(pi r_f)/r_f^2  (8 where r_f =
///     1/2).
/// So sum_f (s_f x_f)^2 <= 1 with s_f^2 = w_f c_f / B, and with t = middle + tau, |tau| <= H, the
/// vector
///     (tau/H, s_1 (alpha_1 t + psi_1 - n_1), ..., s_D (alpha_D t + psi_D - n_D))
/// has norm at most sqrt 2. These vectors are a shifted lattice of dimension D + 1, about
/// (r_1 ... r_D) times the length of the range of them lie in that ball, and they can be listed
/// without looking at the range: a thousand digits of range cost what ten cost.
///
/// The lattice is kept in integers. fplll proposes a short basis; that it is a basis is checked in
/// exact arithmetic (every row is in the lattice, and the determinant is that of the lattice), so
/// that nothing rests on fplll but the time. The listing then goes by exact Gram-Schmidt
/// coefficients, rounded to double under an error bound that widens the ball.

#include <cstdint>
#include <vector>

#include "theory/circle.hpp"

namespace ropewalk::proofs_numeric {

/// w (1 - cos 2 pi (alpha t + psi)), angles in units of 2^-192 turns, each below the true angle by
/// less than two units.
struct LatticePlane {
  static constexpr unsigned bits = 192;
  theory::Integer step;   ///< alpha
  theory::Integer phase;  ///< psi
  double weight;          ///< above 0, relative error at most 1e-12
};

struct CloseReturns {
  /// In increasing order: every lag of the range with W <= bound, and some with a little more.
  std::vector<theory::Lag> lags;
  bool complete = false;    ///< false: more vectors than allowed, or numbers out of range
  std::uint64_t nodes = 0;  ///< vectors looked at
};

/// The most planes that the error bound covers.
inline constexpr std::size_t most_lattice_planes = 8;

/// Every lag t in [first, last] with W(t) <= bound. Domain: 1 to 8 planes, bound > 0, |first| and
/// |last| at most 2^61. Guarantee: where `complete`, none is missing. Cost: one lattice reduction
/// in dimension D + 1 (milliseconds) and `nodes` steps of well under a microsecond; gives up at
/// `most_lags` lags or `most_nodes` nodes.
[[nodiscard]] CloseReturns close_returns(const std::vector<LatticePlane>& planes,
                                         const theory::Lag& first, const theory::Lag& last,
                                         double bound, std::size_t most_lags,
                                         std::uint64_t most_nodes);

/// The bound at which a random range of `length` lags has one lag with W <= bound: where to start
/// asking. Heuristic.
[[nodiscard]] double expected_least(const std::vector<LatticePlane>& planes, double length);

}  // namespace ropewalk::proofs_numeric
