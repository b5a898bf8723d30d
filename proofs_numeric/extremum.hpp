#pragma once
/// \file
/// The primitive: the proven extremum of S(t) = c + sum_f a_f cos(theta_f t + phi_f) over a range
/// of integers.
///
/// Write every term as -|a| + |a| (1 - cos(...)), a half turn added to the phase where a > 0. Then
///     S(t) = C + sum_f w_f (1 - cos 2 pi (alpha_f t + psi_f)),   w_f = |a_f|,   C = c - sum_f
///     |a_f|,
/// and a minimum is a lag at which all planes come back near their start together. (A maximum is
/// the minimum of -S.) Four ways to find it, one answer:
///
/// - continued fractions, one plane: the nearest return is a least residue, O(log T) steps for any
/// T.
/// - lattice, few planes and a huge range: the lags at which all planes come back are the close
/// vectors
///   of a lattice, listed without looking at the range (lattice.hpp).
/// - branch and bound on lags, when slow planes carry weight: over a block of lags around t a plane
/// of alpha turns
///   per token moves by at most alpha * radius, so w (1 - cos) is bounded below from the phase at
///   the middle; slow planes rule out most blocks of a million lags at one look.
/// - scan, when a fast plane dominates: every lag, in blocks, by one matrix product (the
/// angle-addition formula:
///   block starts times offsets within the block).
///
/// All hand what is left, the lags that they cannot tell from the best, to intervals at rising
/// precision; the last two run in double with an a-priori error bound. The lags that survive at the
/// last rung are listed as ties. The answer does not depend on the method, nor on the number of
/// threads.

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "theory/trig_sum.hpp"

namespace ropewalk::proofs_numeric {

/// The integers first..last without those excluded.
struct LagRange {
  theory::Lag first;
  theory::Lag last;
  std::vector<theory::Lag> excluded;
};

enum class Method { continued_fractions, branch_and_bound, scan, lattice };
[[nodiscard]] std::string_view name(Method method);

struct Extremum {
  theory::Enclosure value;
  /// Every lag that attains it, in increasing order: more than one where they tie, or where 640
  /// digits do not tell them apart. At most the first 1000; `lags_complete` says whether these are
  /// all.
  std::vector<theory::Lag> lags;
  bool lags_complete = true;
};

/// A lag whose value lies strictly below (for a minimum) that of every lag before it.
struct Record {
  theory::Lag lag;
  theory::Enclosure value;
};

struct ExtremumOptions {
  bool records = false;                  ///< also find the record staircase
  std::optional<Method> method;          ///< instead of the planner's choice
  std::atomic<bool>* stop = nullptr;     ///< set it to interrupt: Error(undecided) is thrown
  std::function<void(double)> progress;  ///< called with the share done, in [0, 1]
};

struct ExtremumReport {
  Extremum extremum;
  std::vector<Record> records;  ///< empty unless asked for
  Method method = Method::branch_and_bound;
  std::string reason;       ///< why the planner chose it
  std::uint64_t nodes = 0;  ///< blocks, lags or vectors looked at (depends on the threads)
};

/// The minimum of the sum over the range. Units: radians. Domain: at least one lag in the range; at
/// most 4096 terms; lags of at most 10^18 in size, any for one plane (Error(too_large) otherwise);
/// Error(bad_value) for an empty range. Guarantee: Enclosure of relative width below 1e-20
/// (absolute 1e-30 near 0). Cost: see the methods; the reason states the estimate. Parallel over
/// lag ranges (oneTBB). Source: R3, P4.
[[nodiscard]] ExtremumReport minimum(const theory::TrigSum& sum, const LagRange& range,
                                     const ExtremumOptions& options = {});
/// The maximum likewise; its records are the lags that lie above all before them.
[[nodiscard]] ExtremumReport maximum(const theory::TrigSum& sum, const LagRange& range,
                                     const ExtremumOptions& options = {});

}  // namespace ropewalk::proofs_numeric
