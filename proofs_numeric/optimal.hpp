#pragma once
/// \file
/// The best Index head that a frequency table allows, proven from both sides (R3).
///
/// A head with amplitudes a >= 0, sum 1, keeps the margin min over 1 <= s <= T of
/// sum_f a_f (1 - cos theta_f s) against the keys s tokens off its target. Read it as a game: the
/// head spreads weight over planes, an adversary spreads weight mu over lags, and the pay-off of
/// plane f against lag s is 1 - cos theta_f s. Whatever a is, the head gets at least its worst lag;
/// whatever mu is, no head gets more than the best plane against it:
///     min_s sum_f a_f (1 - cos theta_f s)  <=  optimum  <=  max_f sum_s mu_s (1 - cos theta_f s).
/// So two short lists of rational numbers prove the optimum, and nobody has to trust the solver
/// that found them. Here Clp finds them in floating point on the lags seen so far, a scan adds the
/// lags that its head fails at, and the two sides are then proven: the left one over every lag by
/// the primitive (extremum.hpp), the right one by intervals.
///
/// By hand, the angles 2 pi k / 5, k = 1..4, and T = 4: equal amplitudes get
/// 1 - (sum_k cos 2 pi k s / 5) / 4 = 1 + 1/4 at every lag, equal weights on the four lags hold
/// every plane down to the same 5/4. The optimum is 5/4.
///
/// At one offset m of one length n the lags are -m..n-1-m, without 0. Where the two sides differ
/// phases help, much at m = 0 (a head that looks at its own token: one side only) and little
/// already at m = 1: amplitudes are complex, sum |b_f| <= 1, against lag s the head gets
/// Re sum_f b_f (1 - e^{i theta_f s}), and mu holds it down to
/// max_f |sum_s mu_s (1 - e^{i theta_f s})|.

#include <atomic>

#include "proofs_numeric/certificate.hpp"
#include "proofs_numeric/extremum.hpp"

namespace ropewalk::proofs_numeric {

using theory::Enclosure;
using theory::Formula;
using theory::Lag;
using theory::Rational;

/// Share of a lag in the adversary's mixture.
struct LagWeight {
  Lag lag;
  Rational weight;
};

struct OptimalOptions {
  /// Stop where (hi - lo)/lo is at most this; the answer says what was reached.
  Rational relative_width = Rational(1, 1000000);
  unsigned rounds = 2000;                  ///< programs solved at most
  std::atomic<bool>* stop = nullptr;       ///< set it to interrupt: Error(undecided) is thrown
  std::function<void(unsigned)> progress;  ///< called with the number of programs solved so far
};

struct OptimalHead {
  Enclosure optimum;                 ///< lo is the margin of `amplitudes`, hi the bound by `dual`
  std::vector<Rational> amplitudes;  ///< one per plane, >= 0, sum exactly 1
  std::vector<LagWeight> dual;       ///< weights > 0, sum exactly 1, by lag: the lags that bind
  unsigned iterations = 0;           ///< linear programs solved
};

/// The best two-sided Index head (offsets that reach lags up to T on both sides), Delta*(T; theta).
/// Units: radians per token. Domain: 1..4096 planes, 1 <= T <= 10^18, any T of at most 1200 digits
/// for one plane; Error(bad_value) for no plane, too many or T < 1, Error(too_large) beyond.
/// Guarantee: Enclosure; relative width at most options.relative_width unless `rounds` ran out or
/// the optimum is so near 0 (below 1e-28) that floating point proposes nothing better. An optimum
/// of 0 that comes from rational turns is Exact. Cost: each program O(planes * lags^2), each scan
/// O(planes carrying weight * min(T, 2^28)); the proof that of minimum(). Deterministic for every
/// number of threads. Source: R3.
[[nodiscard]] OptimalHead optimal_head(const std::vector<Formula>& frequencies, const Lag& reach,
                                       const OptimalOptions& options = {});

/// A complex amplitude: plane f gets Re b (1 - e^{i theta s}) = re (1 - cos theta s) + im sin theta
/// s.
struct ComplexAmplitude {
  Rational re;
  Rational im;
};

struct OffsetHead {
  Enclosure optimum;
  std::vector<ComplexAmplitude> amplitudes;  ///< one per plane, sum of |b_f| at most 1; all 0
                                             ///< where lo is 0
  std::vector<LagWeight> dual;               ///< lags of both signs
  unsigned iterations = 0;
};

/// The best margin of any head of equal keys at offset m of length n (||q|| ||k|| <= 1, its query
/// may depend on m): the distractors lie at the relative lags -m..n-1-m, without 0. At m = 0 and m
/// = n-1 they lie on one side. Between Delta*(max(m, n-1-m)) and, inside, Delta*(min(m, n-1-m)).
/// Domain: 1..2048 planes, n >= 2, 0 <= m < n, lags up to 10^18 (errors as above). Guarantee and
/// cost as optimal_head, with one more column per plane and round. Source: R3.
[[nodiscard]] OffsetHead offset_head(const std::vector<Formula>& frequencies, const Lag& length,
                                     const Lag& offset, const OptimalOptions& options = {});

/// No head of amplitudes a gets more than this against the mixture: max_f sum_s mu_s (1 - cos
/// theta_f s). Units: radians per token. Domain: lags >= 1, weights >= 0 of sum 1 (Error(bad_value)
/// otherwise). Guarantee: Enclosure of that maximum, Exact where the turns are rational and the
/// cosines too. Cost: one cosine per lag and plane that comes near the maximum. Source: R3.
[[nodiscard]] Enclosure mixture_bound(const std::vector<Formula>& frequencies,
                                      const std::vector<LagWeight>& mixture);
/// The same for complex amplitudes: max_f |sum_s mu_s (1 - e^{i theta_f s})|, lags of both signs.
[[nodiscard]] Enclosure offset_mixture_bound(const std::vector<Formula>& frequencies,
                                             const std::vector<LagWeight>& mixture);

/// The loss Re sum_f b_f (1 - e^{i theta_f s}) as a trigonometric sum in s, ready for minimum();
/// planes without weight are left out. Error(bad_value) where the lists differ in length. Exact.
[[nodiscard]] theory::TrigSum offset_loss(const std::vector<ComplexAmplitude>& amplitudes,
                                          const std::vector<Formula>& frequencies);

/// 1/D for each of D planes, D >= 1. Exact.
[[nodiscard]] std::vector<Rational> equal_amplitudes(std::size_t planes);
/// Equal amplitudes 1/D: the margin min over 1 <= s <= T of sum_f (1 - cos theta_f s) / D, T the
/// larger side. Domain, guarantee and cost: minimum()
/// (Error(bad_value) for no plane). Source: R3.
[[nodiscard]] Enclosure uniform_margin(const std::vector<Formula>& frequencies, const Lag& reach,
                                       std::atomic<bool>* stop = nullptr);
/// What proves the bracket of a head's optimum: its amplitudes are those of a head, their margin
/// over every lag (an extremum), its dual is a mixture of lags, and no plane gets more against it.
/// Shapes and errors as for optimal_head and offset_head, which gave the head. Cost: one minimum().
[[nodiscard]] std::vector<Fact> optimal_facts(const std::vector<Formula>& frequencies,
                                              const Lag& reach, const OptimalHead& head,
                                              std::atomic<bool>* stop = nullptr);
[[nodiscard]] std::vector<Fact> offset_facts(const std::vector<Formula>& frequencies,
                                             const Lag& length, const Lag& offset,
                                             const OffsetHead& head,
                                             std::atomic<bool>* stop = nullptr);
/// The sizes of complex amplitudes add up to at most 1 (to 1 + 10^-50 where rounding the sizes up
/// asks for it); real ones are >= 0 and add up to 1. Cost: none.
[[nodiscard]] Fact head_fact(const std::vector<ComplexAmplitude>& amplitudes);
[[nodiscard]] Fact head_fact(const std::vector<Rational>& amplitudes);
/// The margin of equal amplitudes, as uniform_margin() has it. Cost: one minimum().
[[nodiscard]] Fact uniform_fact(const std::vector<Formula>& frequencies, const Lag& reach,
                                std::atomic<bool>* stop = nullptr);

/// margin / optimum: the share of the optimum that a head reaches. Nothing where the optimum is not
/// known to be positive. Guarantee: Enclosure for a margin >= 0.
[[nodiscard]] std::optional<Enclosure> efficiency(const Enclosure& margin,
                                                  const Enclosure& optimum);

/// The lags that bound *every* head of equal keys at offset m, 1 <= m <= n - 2: its margin is at
/// most Delta*(min(m, n-1-m)), because the keys at lags m - s and m + s together cannot be further
/// from the target than that (average the two inequalities; imaginary parts cancel).
/// Error(bad_value) for an offset at an end, where one side has no keys and phases help. Exact.
/// Source: R3.
[[nodiscard]] Lag two_sided_reach(const Lag& length, const Lag& offset);

/// Dirichlet's bound on Delta*(T) for any table of D planes: 1 - cos(2 pi / Q), Q the largest
/// integer with Q^D <= T. Nothing below T = 3^D, where it says at most 2, which is no news. Domain:
/// D >= 1, T >= 1 (Error(bad_value)). Guarantee: Enclosure. Source: R3.
[[nodiscard]] std::optional<Enclosure> dirichlet_bound(unsigned planes, const Lag& reach);

/// The margin of a Retrieval head over A letters at length n is at most A/(A-1) max_f
/// |D_n(theta_f)|, D_n(theta) = sin(n theta/2) / (n sin(theta/2)), where ||u_a|| ||w_b|| <= 1 and
/// the query depends on the wanted letter only: average over the ordered pairs of positions, the
/// wanted letters a and the other letters b; what is left is u_a against A/(A-1) (w_a - mean w),
/// and the sum of ||w_a - mean w||^2 is at most that of ||w_a||^2. Nothing where a frequency is a
/// whole number of turns: such a plane carries a Retrieval head to any length. Units: radians per
/// token. Domain: at least one plane, A >= 2, n >= 2 (Error(bad_value)). Guarantee: Enclosure, of
/// relative width below 1e-20 unless it is 0 (and then [0, tiny] unless the turns are rational);
/// Error(undecided) where 2560 digits do not tell a frequency from whole turns. Source: R5.
[[nodiscard]] std::optional<Enclosure> retrieval_bound(const std::vector<Formula>& frequencies,
                                                       const theory::Integer& alphabet,
                                                       const Lag& length);

}  // namespace ropewalk::proofs_numeric
