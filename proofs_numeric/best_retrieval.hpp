#pragma once
/// \file
/// The best Retrieval head that a frequency table allows, proven from both sides (R3, R5).
///
/// Letters sit at multiples of omega = 2 pi / A on every plane; a head with amplitudes a >= 0, sum
/// 1, gives the match at lag t the logit sum_f a_f cos(t theta_f - c_f) and a distractor k letters
/// round at lag u the logit sum_f a_f cos(k omega + u theta_f - c_f), k = 1..A-1, u != t; c_f = 0
/// (plain) or theta_f T/2 (centred on the lags 0..T). Its margin is the least difference over t, u
/// and k. As for Index heads (optimal.hpp) that is a game: a head spreads weight over planes, an
/// adversary spreads weight nu over triples (t, u, k), and for every a and every nu
///     margin(a)  <=  optimum  <=  max_f sum nu (cos(t theta_f - c_f) - cos(k omega + u theta_f -
///     c_f)).
///
/// All distractors share one number: with Z(u) = sum_f a_f e^{i(u theta_f - c_f)} the logit of
/// letter k is Re(e^{ik omega} Z(u)), and the strongest letter is the one that turns Z nearest to
/// the positive axis. So a head is checked in O(T planes), whatever the alphabet.
///
/// *Orthogonal*: every letter has a plane of its own, letters do not see each other, and the margin
/// is the least logit of a match, whatever A is, as long as there are A slow planes.
///
/// By hand: one plane, theta = 0: Z = 1, the strongest distractor is one letter round, and the
/// margin is 1 - cos omega at every length.

#include <complex>

#include "proofs_numeric/optimal.hpp"
#include "proofs_numeric/waves.hpp"

namespace ropewalk::proofs_numeric {

using theory::Integer;

enum class RetrievalCode { plain, centred, orthogonal };

inline constexpr std::int64_t longest_retrieval = std::int64_t{1} << 24;

/// A match at lag `match`, a distractor `letter` letters round at lag `distractor`. Letter 0 stands
/// for the Index side of a head that does both (best_for_both): the key `distractor` tokens off the
/// target, whatever the code.
struct Encounter {
  std::int64_t match = 0;
  std::int64_t distractor = 0;
  std::int64_t letter = 0;
};
struct EncounterWeight {
  Encounter pair;
  Rational weight;
};

struct RetrievalHead {
  Enclosure optimum;                  ///< lo is the margin of `amplitudes`, hi the bound by `dual`
  std::vector<Rational> amplitudes;   ///< one per plane, >= 0, sum exactly 1
  std::vector<EncounterWeight> dual;  ///< weights > 0, sum exactly 1
  unsigned iterations = 0;            ///< linear programs solved
};

/// The best plain or centred head for the lags 0..T (length T + 1). Units: radians per token.
/// Domain: 1..4096 planes, 1 <= T < 2^24, A in 2..10^6, code plain or centred; Error(bad_value),
/// Error(too_large) otherwise. Guarantee: Enclosure; relative width at most options.relative_width
/// unless `rounds` ran out or the optimum is too near 0. Cost: a pass of 8 operations per lag and
/// plane, and a small linear program, per round. Source: R3, R6.
[[nodiscard]] RetrievalHead best_retrieval(const std::vector<Formula>& frequencies,
                                           const Integer& alphabet, std::int64_t reach,
                                           RetrievalCode code, const OptimalOptions& options = {});

/// The head that is best at both tasks with the same amplitudes: the largest v such that some
/// amplitudes have an Index margin (reach T, optimal.hpp) of at least w v and a Retrieval margin of
/// at least (1 - w) v. As w runs over (0, 1) the heads run over the front of what one head can have
/// of both. Every such v is at most, for weights mu on lags and nu on encounters, together 1,
///     max_f sum mu (1 - cos theta_f s)/w + sum nu (cos(t theta_f - c_f) - cos(...))/(1 - w).
/// Domain: 0 < w < 1 (Error(bad_value)), the rest, guarantee and cost as best_retrieval. Source:
/// R3, P2 (a head that is positional and symbolic at once).
[[nodiscard]] RetrievalHead best_for_both(const std::vector<Formula>& frequencies,
                                          const Integer& alphabet, std::int64_t reach,
                                          RetrievalCode code, const Rational& weight,
                                          const OptimalOptions& options = {});

/// The margin of a stated head. Shapes: one amplitude per plane; >= 0, sum 1 (Error(bad_value)).
/// Guarantee: Enclosure, of intervals of 40 digits on the encounters that doubles leave; as wide as
/// the doubles' error (about 10^-13) where hundreds of lags tie. Domain, cost and source as
/// best_retrieval.
[[nodiscard]] Enclosure retrieval_margin_of(const std::vector<Rational>& amplitudes,
                                            const std::vector<Formula>& frequencies,
                                            const Integer& alphabet, std::int64_t reach,
                                            RetrievalCode code, std::atomic<bool>* stop = nullptr);

/// No head of this code gets more than this against the mixture. Guarantee: Enclosure of the right
/// side above. Domain: lags in 0..T, t != u, letters in 1..A-1, and 0 where `index` is w of
/// best_for_both(); weights >= 0 of sum 1 (Error(bad_value)). Source: R3.
[[nodiscard]] Enclosure encounter_bound(const std::vector<Formula>& frequencies,
                                        const Integer& alphabet, std::int64_t reach,
                                        RetrievalCode code,
                                        const std::vector<EncounterWeight>& mixture,
                                        const Rational& index = 0);

/// One plane per letter, orthogonal codes, phases centred on 0..T.
struct OrthogonalHead {
  Enclosure margin;                 ///< min over letters and lags of cos((t - T/2) theta)
  std::vector<std::size_t> planes;  ///< index of the plane of each letter: the A slowest
  bool optimal = false;             ///< no assignment of one plane per letter has more: margin > 0
};
/// Guarantee: Enclosure. Domain: 2 <= A <= planes, 1 <= T < 2^24 (Error(bad_value),
/// Error(too_large)). Cost: one extremum per distinct slowest plane. Source: R6.
[[nodiscard]] OrthogonalHead orthogonal_retrieval(const std::vector<Formula>& frequencies,
                                                  const Integer& alphabet, std::int64_t reach);

struct ProvenMargin {
  Enclosure margin;
  std::vector<Fact> facts;
};
/// The margin of a stated head, as retrieval_margin_of(), with what proves it. A statement over all
/// lags where that is quick to check; on long inputs by extrema of sums (extremum.hpp), so that
/// neither this nor the check looks at every lag: with the weakest match at t1,
///     margin = min(match(t1) - strongest, weakest other - max(strongest, letters at t1)),
/// `strongest` over all letters and the lags but t1. Shapes, domain and errors as
/// retrieval_margin_of(). Guarantee: Enclosure. Cost: a pass over the lags, or A + 1 extrema.
[[nodiscard]] ProvenMargin proven_retrieval_margin(const std::vector<Rational>& amplitudes,
                                                   const std::vector<Formula>& frequencies,
                                                   const Integer& alphabet, std::int64_t reach,
                                                   RetrievalCode code,
                                                   std::atomic<bool>* stop = nullptr);
/// What proves the bracket of a plain or centred head's optimum: the amplitudes are those of a
/// head, their margin, the dual is a mixture of encounters, and no plane gets more than `hi`
/// against it. Widens `optimum` to what the facts say, by less than 1e-12. Cost:
/// proven_retrieval_margin().
[[nodiscard]] std::vector<Fact> retrieval_optimum_facts(const std::vector<Formula>& frequencies,
                                                        const Integer& alphabet, std::int64_t reach,
                                                        RetrievalCode code, RetrievalHead& head,
                                                        std::atomic<bool>* stop = nullptr);
/// cos((t - T/2) theta), the logit of a match on a plane of its own, over the lags t = 0..T.
[[nodiscard]] theory::TrigSum centred_logit(const Formula& theta, std::int64_t reach);
/// The two margins of a head that does both, and what proves the bracket of its value likewise.
struct ProvenBoth {
  Enclosure index;
  Enclosure retrieval;
  std::vector<Fact> facts;
};
[[nodiscard]] ProvenBoth proven_both(const std::vector<Formula>& frequencies,
                                     const Integer& alphabet, std::int64_t reach,
                                     RetrievalCode code, const Rational& weight,
                                     RetrievalHead& head, std::atomic<bool>* stop = nullptr);
/// The margin of the orthogonal head, and what makes it the best of its kind if it is: its planes
/// are the slowest, and no angle is above half a turn. Cost: none.
[[nodiscard]] std::vector<Fact> orthogonal_facts(const std::vector<Formula>& frequencies,
                                                 std::int64_t reach, const OrthogonalHead& head);

/// The largest of Re(e^{ik omega} z) over k = 1..A-1, and the k that has it.
struct Strongest {
  double logit;
  std::int64_t letter;
};
class Letters {
 public:
  /// Domain: A in 2..10^6.
  explicit Letters(std::int64_t alphabet);

  /// 1-Lipschitz in z. A-priori bound: off by less than 60u |z|. Cost: one argument.
  [[nodiscard]] Strongest strongest(std::complex<double> z) const;
  /// e^{ik omega}. A-priori bound: off by less than 30u.
  [[nodiscard]] std::complex<double> turn(std::int64_t letter) const {
    return turns_[static_cast<std::size_t>(letter)];
  }

 private:
  std::vector<std::complex<double>> turns_;
};

/// What a head shows at every lag 0..T: the logit of a match and of the strongest other letter, for
/// logits of size at most 1.
struct Landscape {
  std::vector<double> match;
  std::vector<double> rival;
  std::vector<std::int32_t> letter;  ///< the strongest
  double error = 0;                  ///< each logit is off by less than this
};
/// Guarantee: A-priori bound. Shapes, domain and cost as retrieval_margin_of; the sum of the
/// amplitudes is not checked.
[[nodiscard]] Landscape landscape(const std::vector<double>& amplitudes, const Waves& waves,
                                  const std::vector<Formula>& frequencies, const Letters& letters,
                                  std::int64_t reach, RetrievalCode code,
                                  const std::atomic<bool>* stop = nullptr);

/// The fixed-point phases c_f: 0, or theta_f T/2 where centred. A-priori bound: 2^-127 (T + 1)
/// turns.
[[nodiscard]] std::vector<FixedTurns> phases(const std::vector<Formula>& frequencies,
                                             std::int64_t reach, RetrievalCode code);

/// Checks amplitudes, alphabet and reach as retrieval_margin_of does.
void check_retrieval(const std::vector<Rational>& amplitudes,
                     const std::vector<Formula>& frequencies, const Integer& alphabet,
                     std::int64_t reach, RetrievalCode code);

}  // namespace ropewalk::proofs_numeric
