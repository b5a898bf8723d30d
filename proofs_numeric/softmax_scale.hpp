#pragma once
/// \file
/// How large must the softmax scale beta be? (R7)
///
/// Two answers to one question, mass at least 1 - epsilon on the right key:
/// - *guaranteed*: beta = max(0, ln((n-k)(1-eps)/(k eps)) / mu) is enough for any head of
///   margin mu.
/// - *exact*: the smallest beta for which the stated head really has it. Fewer keys are near the
///   peak than the formula fears.
///
/// For a one-plane Index head the mass at offset m is 1 / S(m), where S(m) sums
/// exp(-beta (1 - cos s theta)) over s = -m..n-1-m. With the prefix sums P(k) over s = 0..k,
/// S(m) = P(m) + P(n-1-m) - 1, so one pass of n exponentials serves every offset. S falls as beta
/// grows, so the smallest beta is found by bisection and proven by two evaluations with error
/// bounds.
///
/// Error bounds of the double kernel, u = 2^-53. They do not depend on the rounding mode beyond
/// |rounding| <= 2u and leave a factor of at least 2:
/// - phase: s alpha mod 1 in 128-bit turns, error s 2^-128 (lags below 2^24); 2u to double.
/// - sin: Taylor polynomial of degree 21 on [0, pi/2], own code: below 20u relative.
/// - x = 2 sin^2: below 48u relative, so w = beta x is off by at most 50u w.
/// - exp: argument reduction by ln 2 in two parts, degree 14: below 16u relative.
/// - one term: |computed - exact| <= e^-w (51 w + 17) u <= 40u, as w e^-w <= 1/e and e^-w <= 1.
/// - the sum of n terms, one after another: at most n u S more.
///
/// Together |S - computed| <= n u (80 + 2 S).

#include <vector>

#include "proofs_numeric/certificate.hpp"
#include "proofs_numeric/one_plane.hpp"

namespace ropewalk::proofs_numeric {

/// beta of R7 that guarantees mass >= 1 - eps on k correct keys among n, from an enclosure of the
/// margin. Domain: 0 < eps < 1, 1 <= k < n (Error(bad_value)); nothing where the margin is not
/// surely positive. Guarantee: Enclosure; its upper end is always enough. Cost: O(1). Source: R7.
[[nodiscard]] std::optional<Enclosure> guaranteed_scale(const Enclosure& margin, const Lag& length,
                                                        const Integer& correct,
                                                        const Rational& epsilon);

/// Which offsets of a one-plane Index head have to meet the demand.
struct Offsets {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

/// One rotary plane sampled at lags 0..n-1 for the kernel above.
class PlaneLosses {
 public:
  /// x_s = 1 - cos(s theta) for s = 0..length-1. Domain: 1 <= length <= 2^24 (Error(too_large)).
  /// Cost: O(length).
  PlaneLosses(const Formula& theta, std::uint32_t length);

  [[nodiscard]] std::uint32_t length() const { return static_cast<std::uint32_t>(losses_.size()); }

  /// The largest S(m) over the offsets at this beta >= 0. Guarantee: A-priori bound turned
  /// Enclosure. Cost: one pass of `length` exponentials.
  [[nodiscard]] Enclosure largest_sum(double beta, Offsets offsets) const;

  /// The smallest beta at which every offset has S(m) <= `most` (mass >= 1/most). Nothing where no
  /// finite beta below 1e15 does (a tie, or a plane too slow). Guarantee: Enclosure. Cost: about 30
  /// passes.
  [[nodiscard]] std::optional<Enclosure> smallest_scale(const Rational& most,
                                                        Offsets offsets) const;

 private:
  std::vector<double> losses_;
};

/// The smallest beta for which the whole Index construction (P1 App. F.2) decodes every valid input
/// up to length n: mass above 1/2 for integer queries (offsets 1..n-1), above 1/4 for letters
/// (offset 0): the residual stream already carries the letter. Enclosure; nothing for a tie. Domain
/// 2 <= n <= 2^24. Source: P1 T3.1, LF.1.
[[nodiscard]] std::optional<Enclosure> smallest_index_scale(const Formula& theta,
                                                            std::uint32_t length);

/// What makes `scale` that number: a little less leaves some query short of its mass, a little more
/// none. Cost: none.
[[nodiscard]] std::vector<Fact> index_scale_facts(const Formula& theta, std::uint32_t length,
                                                  const Enclosure& scale);

}  // namespace ropewalk::proofs_numeric
