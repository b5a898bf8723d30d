#pragma once
/// \file
/// How long may the input get? (R9) Lengths at which a head keeps its softmax mass on the target,
/// and lengths at which no head can.
///
/// An Index head at offset m has the logit scale * Re sum_f b_f e^{i theta_f s} at relative lag s,
/// s = -m..n-1-m, target s = 0, sum |b_f| <= 1; a scale is ||q|| ||k|| times the model's own
/// factor. Its loss against lag s is x(s) = scale * Re sum_f b_f (1 - e^{i theta_f s}), its mass 1
/// / (1 + S), S = sum over s != 0 of e^{-x(s)}. Every further key adds a term: the mass falls with
/// n, there is one last length at which it is enough, and one pass over the lags finds it.
///
/// No other head does better than a little: S is convex in b, so it lies above its tangent at any
/// head b0, and with the weights mu(s) = e^{-x0(s)} / S0, which add up to 1, any head has
///     log S >= log S0 - scale * (max_f |sum_s mu_s (1 - e^{i theta_f s})| - sum_s mu_s x0(s) /
///     scale).
/// At the best head the bracket is 0. So one head b0, written down in rationals, proves both that
/// it survives up to some length and that beyond about the same length nothing does. (In other
/// words: Gibbs' inequality for the mixture mu.)
///
/// By hand: all frequencies 0. Every key looks the same, S = n - 1, mass 1/n: mass 1/10 is kept up
/// to n = 10, by every head.
///
/// A Retrieval head meets the worst clean input with one match (lag t) and a distractor of the
/// least favourable letter at every other lag; its mass is the least over t.

#include <atomic>
#include <functional>
#include <optional>
#include <vector>

#include "proofs_numeric/best_retrieval.hpp"
#include "proofs_numeric/optimal.hpp"

namespace ropewalk::proofs_numeric {

inline constexpr std::int64_t longest_horizon = std::int64_t{1} << 24;

struct HorizonQuestion {
  Rational scale;                     ///< > 0, at most 10^6
  Rational mass{9, 10};               ///< wanted on the target, strictly between 0 and 1
  std::int64_t offset = 1;            ///< m >= 0; Index only
  std::int64_t reach = 1 << 20;       ///< lengths up to this are looked at; m < reach <= 2^24
  std::atomic<bool>* stop = nullptr;  ///< set it to interrupt: Error(undecided) is thrown
  std::function<void(std::int64_t)> progress = {};  ///< called with the length being looked at
};

/// Up to which length a stated head keeps the mass.
struct Survival {
  /// The largest length with the mass; all shorter ones have it too, the next has not (or, where
  /// `capped`, was not looked at). 0 where the shortest, m + 1, has not.
  std::int64_t guaranteed = 0;
  bool capped = false;  ///< the mass is still there at `reach`
  Enclosure mass;       ///< at `guaranteed` (at the shortest length where that is 0)
};

/// A length from which on no head keeps the mass.
struct Exclusion {
  std::optional<Lag> bound;  ///< no head at any length above; nothing where none is found by 10^100
  Enclosure mass;  ///< [0, hi]: no head has more than hi at length bound + 1 (1 without bound)
  /// b0 of the proof: the mixture is mu(s) ~ e^{-x0(s)}. Empty: equal weights on all lags.
  std::vector<ComplexAmplitude> head;
};

/// The mass of an Index head at one length n > m. Units: radians per token. Shapes: one amplitude
/// per plane (Error(bad_value) otherwise); 1..4096 planes. Domain: see HorizonQuestion
/// (Error(bad_value), Error(too_large)). Guarantee: A-priori bound turned Enclosure, of relative
/// width below 10^-9 for scales up to 1000. Cost: 4 operations per plane and lag. Source: R9.
[[nodiscard]] Enclosure index_mass(const std::vector<ComplexAmplitude>& amplitudes,
                                   const std::vector<Formula>& frequencies,
                                   const HorizonQuestion& question, std::int64_t length);

/// The smallest scale, up to 10^6, at which a head of real amplitudes has the mass at one length;
/// the scale of the question is not used. 0 where equal keys have it already; nothing where no such
/// scale has it. Guarantee: Enclosure: the mass is missed at its lower end and met at its upper
/// end; relative width about 10^-9. Shapes and domain as index_mass, amplitudes >= 0
/// (Error(bad_value)). Cost: about 50 times index_mass. Source: R7.
[[nodiscard]] std::optional<Enclosure> index_least_scale(const std::vector<Rational>& amplitudes,
                                                         const std::vector<Formula>& frequencies,
                                                         const HorizonQuestion& question,
                                                         std::int64_t length);
/// What makes a scale above 0 that number. Cost: twice index_mass.
[[nodiscard]] std::vector<Fact> index_least_scale_facts(const std::vector<Rational>& amplitudes,
                                                        const std::vector<Formula>& frequencies,
                                                        const HorizonQuestion& question,
                                                        std::int64_t length,
                                                        const Enclosure& scale);

/// The last length at which it is enough. Guarantee: both sides proven, by intervals where doubles
/// do not decide; Error(undecided) where 160 digits do not either. Cost as index_mass at the length
/// found. Domain, shapes and source as index_mass.
[[nodiscard]] Survival index_survival(const std::vector<ComplexAmplitude>& amplitudes,
                                      const std::vector<Formula>& frequencies,
                                      const HorizonQuestion& question);

struct IndexHorizon {
  std::vector<ComplexAmplitude> amplitudes;  ///< of the best head found: sum |b_f| <= 1
  Survival survival;                         ///< of that head
  Exclusion exclusion;                       ///< of every head of equal keys
};

/// The Index head that keeps the mass longest, and a length that none exceeds: survival.guaranteed
/// <= exclusion.bound, as a rule equal. Guarantee: both proven, like index_survival and
/// index_exclusion; that the two meet is Heuristic. Domain: up to 2048 planes, else as index_mass.
/// Cost: about 20 to 100 passes of 8 operations per plane and lag. Deterministic for every number
/// of threads. Source: R9.
[[nodiscard]] IndexHorizon index_horizon_of_table(const std::vector<Formula>& frequencies,
                                                  const HorizonQuestion& question);

/// True if the tangent at `head` proves that no head of equal keys (sum |b_f| <= 1) has the mass at
/// this length; `most`, if given, receives the upper bound on the mass. Guarantee: true is proven.
/// Shapes and domain as index_mass. Source: R9.
[[nodiscard]] bool index_excluded(const std::vector<ComplexAmplitude>& head,
                                  const std::vector<Formula>& frequencies,
                                  const HorizonQuestion& question, std::int64_t length,
                                  Rational* most = nullptr);

/// The bound that equal weights on all lags give, of any size up to 10^100: sum_s e^{i theta s} has
/// a closed form. From length `above` + 1 on. Guarantee: proven. Cost: O(planes) per length tried,
/// a few hundred of them. Source: R9.
[[nodiscard]] Exclusion index_far_exclusion(const std::vector<Formula>& frequencies,
                                            const HorizonQuestion& question, const Lag& above);

/// What proves both numbers: the amplitudes are those of a head, its mass at the length it survives
/// to and at the next, and what holds every head down at the length after the bound. Shapes as
/// index_mass; `survival` and `exclusion` are of the same question. Cost: three times index_mass.
/// Source: R9.
[[nodiscard]] std::vector<Fact> index_horizon_facts(const std::vector<ComplexAmplitude>& amplitudes,
                                                    const std::vector<Formula>& frequencies,
                                                    const HorizonQuestion& question,
                                                    const Survival& survival,
                                                    const Exclusion& exclusion);

// ------------------------------------------------------------------------------------- Retrieval

/// Letters and code of a Retrieval head; `offset` of the question is not used.
struct RetrievalHorizonQuestion {
  HorizonQuestion common;
  Integer alphabet = 8;  ///< A, 2..10^6
  RetrievalCode code = RetrievalCode::plain;
};

/// The least mass over the inputs of one length n >= 1, all letters and positions. For `plain` and
/// `centred` one amplitude >= 0 per plane, sum 1; for `orthogonal` none (Error(bad_value)).
/// Guarantee and cost as index_mass. Source: R9, R6.
[[nodiscard]] Enclosure retrieval_mass(const std::vector<Rational>& amplitudes,
                                       const std::vector<Formula>& frequencies,
                                       const RetrievalHorizonQuestion& question,
                                       std::int64_t length);

/// The largest length N such that the head keeps the mass on every input of length at most N. (A
/// centred head is centred for N; lengths N + 1 and N + 2 fail, and with them all beyond.)
/// Guarantee as index_survival. Cost: 40 lengths at most. Source: R9.
[[nodiscard]] Survival retrieval_survival(const std::vector<Rational>& amplitudes,
                                          const std::vector<Formula>& frequencies,
                                          const RetrievalHorizonQuestion& question);

struct RetrievalHorizon {
  std::vector<Rational> amplitudes;  ///< none for an orthogonal head
  Survival survival;
  Exclusion exclusion;
};

/// Amplitudes of least loss of mass, made for longer and longer lengths while a longer one is
/// survived, and the bound on every head. Guarantee: both lengths proven; that no other amplitudes
/// last longer is Heuristic (convex, solved in floating point). Domain as retrieval_survival. Cost:
/// up to 150 passes of 16 operations per plane and lag for each of a few lengths. Source: R9.
[[nodiscard]] RetrievalHorizon retrieval_horizon_of_table(const std::vector<Formula>& frequencies,
                                                          const RetrievalHorizonQuestion& question);

/// No Retrieval head (||u_a|| ||w_b|| <= 1, queries that depend on the wanted letter only) keeps
/// the mass at any length above: (n-1) exp(-scale A/(A-1) max_f |D_n(theta_f)|) <= 1/mass - 1 is
/// necessary (R5). The first length found by doubling and halving, up to 10^100. Guarantee: proven.
/// Source: R9, R5.
[[nodiscard]] Exclusion retrieval_exclusion(const std::vector<Formula>& frequencies,
                                            const RetrievalHorizonQuestion& question);

/// What proves both numbers, by definition. `all` has the planes of `exclusion`: `frequencies`, and
/// any that the head does not use. Shapes as retrieval_mass. Cost: none.
[[nodiscard]] std::vector<Fact> retrieval_horizon_facts(const std::vector<Rational>& amplitudes,
                                                        const std::vector<Formula>& frequencies,
                                                        const std::vector<Formula>& all,
                                                        const RetrievalHorizonQuestion& question,
                                                        const Survival& survival,
                                                        const Exclusion& exclusion);

}  // namespace ropewalk::proofs_numeric
