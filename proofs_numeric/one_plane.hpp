#pragma once
/// \file
/// One rotary plane, exactly: the gap of a one-plane Index head at any reach, by continued
/// fractions.
///
/// An Index head with offset m at length n sees the relative lags -m..n-1-m, so with the *reach*
/// T = max(m, n-1-m) its gap is the least 1 - cos(s theta) over 1 <= s <= T (R1). With alpha =
/// theta / 2 pi, 1 - cos(2 pi x) grows with the distance ||x|| of x to the nearest integer, so the
/// question is: which s <= T brings s alpha nearest to an integer? Lagrange answered it: the
/// largest denominator q_k <= T of a convergent of alpha. That is O(log T) exact operations; T =
/// 10^100 costs no more than a few hundred divisions.
///
/// By hand, theta = 1: alpha = 1/6.2831... = [0; 6, 3, 1, 1, 7, 2, 146, ...] has the denominators
/// 1, 6, 19, 25, 44, 333, 710, 103993, ...: at reach 700 the runner-up sits at lag 333, from 710 on
/// at lag 710, where 710 radians are 113 turns but for 6.03e-5 radians.
///
/// The second function below answers the inhomogeneous question (nearest s alpha + beta), which a
/// Retrieval head asks; it walks down the same staircase of one-sided approximations.

#include "theory/circle.hpp"
#include "theory/discrepancy.hpp"

namespace ropewalk::proofs_numeric {

using theory::Enclosure;
using theory::Formula;
using theory::Integer;
using theory::Lag;
using theory::Rational;
using theory::Reading;

struct OnePlaneGap {
  Enclosure value;  ///< encloses min over 1 <= s <= reach of 1 - cos(s theta)
  Lag lag;          ///< the smallest lag that attains it
  bool lag_proven =
      true;  ///< false only where 2560 digits cannot tell theta from a rational number of turns
};

/// The gap of a one-plane Index head (R1). theta in radians, any real value (folded to [0, pi]
/// first); reach >= 1 (Error(bad_value) otherwise; Error(too_large) beyond 1200 digits). Guarantee:
/// Enclosure, of relative width below 1e-20; exactly 0, and Exact, where theta is a rational number
/// p/q of turns and q <= reach. Cost: O(log reach) divisions of integers of 2 log reach digits.
/// Source: R1.
[[nodiscard]] OnePlaneGap one_plane_gap(const Formula& theta, const Lag& reach);

/// Reach of offset m at length n: max(m, n-1-m). Domain 0 <= m <= n-1. Exact.
[[nodiscard]] Lag reach_of(const Lag& length, const Lag& offset);
/// The offset that a reading picks at length n: floor((n-1)/2), the smallest reach, for max; 0, the
/// largest, for min. Exact.
[[nodiscard]] Lag offset_of(const Lag& length, Reading reading);

/// Largest length at which the one-plane Index gap is still positive: q + m at a fixed offset m <
/// q, 2q - 1 for reading max and q for reading min, where theta is p/q of a turn; nothing where it
/// is positive at every length. Error(undecided) where the turns of theta are not known to be
/// rational or irrational. Exact.
[[nodiscard]] std::optional<Lag> index_horizon(const Formula& theta, const Reading* reading,
                                               const Lag& offset);

/// Minimum of (a t + b) mod m over 0 <= t <= last, with the smallest t that attains it.
struct LeastResidue {
  Integer t;
  Integer value;
};
/// Domain: m >= 1, last >= 0; a and b any integers. Guarantee: Exact. Cost: O(log m) steps, by the
/// staircase of one-sided best approximations of a/m (each record of a rotation is reached from the
/// one before by an intermediate convergent).
[[nodiscard]] LeastResidue least_residue(Integer a, const Integer& b, const Integer& m,
                                         const Integer& last);

/// The least x >= 0 with low <= a x mod m <= high, where 0 <= low <= high < m; nothing where there
/// is none. Guarantee: Exact. Cost: O(log m) divisions (Euclid on a and m).
[[nodiscard]] std::optional<Integer> first_between(const Integer& a, const Integer& m,
                                                   const Integer& low, const Integer& high);

/// The lag in [first, last] that brings step * t + offset, modulo `modulus`, nearest to 0 (the
/// smallest such lag of each side, the lower side on a tie), and that distance; nothing for an
/// empty range. A circle of `modulus` equal steps.
struct NearestReturn {
  Lag lag;
  Integer distance;
};
/// Guarantee: Exact. Cost: two least residues.
[[nodiscard]] std::optional<NearestReturn> nearest_return(const Integer& step,
                                                          const Integer& offset,
                                                          const Integer& modulus, const Lag& first,
                                                          const Lag& last);

/// The rational of smallest denominator (then numerator) strictly between lo and hi, lo < hi.
/// Exact; Stern-Brocot.
[[nodiscard]] Rational simplest_between(const Rational& lo, const Rational& hi);

}  // namespace ropewalk::proofs_numeric
