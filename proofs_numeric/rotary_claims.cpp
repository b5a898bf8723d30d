// Judges for P3: what a rotary head can attend to, and what it cannot without positions or at every
// length.

#include <fmt/format.h>

#include <functional>

#include "constructions/readings.hpp"
#include "proofs_numeric/canonical_margins.hpp"
#include "proofs_numeric/claims.hpp"
#include "proofs_numeric/impossibility.hpp"
#include "proofs_numeric/one_plane.hpp"
#include "proofs_numeric/softmax_scale.hpp"
#include "theory/schedule.hpp"

namespace ropewalk::proofs_numeric {

using theory::Interval;
using theory::Point;
using I = Interval<40>;

namespace {

const Rational tenth(1, 10);

// 1 - cos(theta s) over 1 <= s <= reach, as the least of one plane's losses.
Fact plane_fact(const Formula& theta, const Lag& reach, const OnePlaneGap& gap) {
  ExtremumReport report;
  report.extremum = {gap.value, {gap.lag}, true};
  return extremum_fact(Which::minimum, theory::aligned_loss({1}, {theta}), {1, reach, {}}, report);
}

// The steps of theta, 0 < theta <= pi, that make half a turn or more: ceil(pi/theta).
Integer steps_to_half_turn(const Formula& theta) {
  if (const auto turns = theta.turns()) return theory::ceil(Rational(1 / (2 * *turns)));
  return theory::ceil(Formula::pi() / theta);
}

}  // namespace

Judgement some_key_is_largest_at_every_distance() {
  const Lag reach("1000000000000000000");
  bool holds = true;
  std::vector<Fact> facts;
  std::optional<Enclosure> value;
  for (const unsigned base : {10000U, 500000U}) {
    const auto frequencies = theory::default_schedule({base, 128}).frequencies;
    for (const Formula& theta : frequencies) {
      // The aligned key loses |u_f|^2 (1 - cos s theta_f) on plane f: on any plane of the query
      // that is not 0 this is positive, whatever the other planes do.
      const OnePlaneGap gap = one_plane_gap(theta, reach);
      holds = holds && theta.irrational_turns() && gap.lag_proven && gap.value.lo > 0;
      if (!value || gap.value.lo < value->lo) value = gap.value;
      facts.push_back(plane_fact(theta, reach, gap));
    }
  }
  return {holds ? Verdict::proved : Verdict::undecided,
          "base 10000 and 500000, 64 planes each: every plane loses something at every lag off the "
          "wanted distance by 1..10^18, so does every query that is not 0; value = the least loss "
          "of a plane, as a share of |u_f|^2",
          value, std::nullopt, facts};
}

Judgement stopped_planes_see_no_distance() {
  // Tables of p-RoPE by size: the first with a stopped plane, and a query in that plane alone.
  for (unsigned dim = 4; dim <= 8; dim += 2) {
    const auto frequencies = theory::p_rope({10000, dim}, Rational(3, 4)).frequencies;
    for (std::size_t f = 0; f < frequencies.size(); ++f) {
      if (sign(frequencies[f]) != 0) continue;
      // Whatever the key, its logit on a still plane is the same at every lag.
      const OnePlaneGap gap = one_plane_gap(frequencies[f], 1);
      if (!gap.value.exact() || gap.value.lo != 0) continue;
      Witness w;
      w["table"] = fmt::format("0.75-RoPE, base 10000, {} planes", frequencies.size());
      w["query"] = fmt::format("plane {} only", f + 1);
      w["distance"] = "any";
      w["ties_with_lag"] = "every other";
      w["loss"] = gap.value.lo.str();
      return {
          Verdict::refuted,
          "0.75-RoPE tables of 2, 3, 4 planes: the first with a stopped plane; value = what the "
          "best key loses one token off its distance",
          gap.value,
          w,
          {relation("all(r in 0..16: all(t in 0..16 if t != r: cos((t - r)*theta) < cos(0)))",
                    {{{"theta", "0"}}, {}}, false)}};
    }
  }
  return {Verdict::undecided, "no stopped plane found", std::nullopt, std::nullopt};
}

Judgement gaussian_logits_have_mean_zero() {
  // Expectations of polynomials of degree 2 in q and in k are those over all signs +-1: mean 0 and
  // unit covariance are all that they depend on. Rotations by acos(3/5), acos(5/13), acos(8/17) are
  // rational.
  const std::vector<Formula> angles = {acos(Formula(Rational(3, 5))),
                                       acos(Formula(Rational(5, 13))),
                                       acos(Formula(Rational(8, 17)))};
  bool holds = true;
  unsigned long pairs = 0;
  Rational second = 0;
  for (unsigned planes = 1; planes <= 3; ++planes)
    for (const int r : {0, 1, 2, 7}) {
      std::vector<Point<Rational>> turn;
      for (unsigned f = 0; f < planes; ++f)
        turn.push_back(theory::rotation<Rational>(angles[f], r));
      const unsigned vectors = 1U << (2 * planes);
      const auto coordinates = [](unsigned bits, unsigned f) {
        return Point<Rational>{Rational((bits >> (2 * f) & 1U) != 0 ? 1 : -1),
                               Rational((bits >> (2 * f + 1) & 1U) != 0 ? 1 : -1)};
      };
      Rational first = 0;
      second = 0;
      for (unsigned q = 0; q < vectors; ++q)
        for (unsigned k = 0; k < vectors; ++k) {
          Rational logit = 0;
          for (unsigned f = 0; f < planes; ++f)
            logit += dot(turn[f] * coordinates(q, f), coordinates(k, f));
          first += logit;
          second += logit * logit;
          ++pairs;
        }
      second /= Rational(vectors) * Rational(vectors);
      holds = holds && first == 0 && second == 2 * planes;
    }
  const Names names{{{"c", "3/5"}, {"s", "4/5"}}, {}};
  const std::string logit =
      "((1 - 2*x)*((1 - 2*p)*c - (1 - 2*q)*s) + (1 - 2*y)*((1 - 2*p)*s + (1 - 2*q)*c))";
  const std::string over = "sum(p in 0..1, q in 0..1, x in 0..1, y in 0..1: ";
  return {
      holds ? Verdict::proved : Verdict::undecided,
      fmt::format("1..3 planes, distances 0, 1, 2, 7, exact: all {} pairs of sign vectors, which "
                  "have the moments of Gaussian ones up to degree 2: mean 0, mean square 2D at "
                  "every distance; value = the mean square, 3 planes",
                  pairs),
      Enclosure(second),
      std::nullopt,
      {relation("c^2 + s^2 = 1 and " + over + logit + ") = 0 and " + over + logit + "^2)/16 = 2",
                names),
       enclosed("3*" + over + logit + "^2)/16", Enclosure(second), names)}};
}

Judgement no_previous_token_without_positions() {
  std::vector<Fact> facts;
  std::size_t inputs = 0;
  std::optional<Witness> shown;
  bool holds = true;
  std::optional<Rational> margin;
  for (std::size_t n = 3; n <= 6; ++n)
    for (const constructions::Token letters : {2, 3}) {
      if (n == 6 && letters == 3) continue;
      // The query "1" of Index wants the token before it.
      const FiniteTask task = index_task(n, {letters, 1});
      inputs += task.inputs.size();
      for (const auto& systems :
           {symbolic_decoder_systems(task), symbolic_attention_systems(task)}) {
        const HeadSearch search = find_head(systems);
        holds = holds && !search.possible;
        if (search.possible) continue;
        facts.push_back(contradiction_fact(task, *search.contradiction));
        if (shown) continue;
        shown = witness(task, *search.contradiction);
        margin = best_margin(search.contradiction->system);
      }
    }
  holds = holds && margin && *margin <= 0;
  return {holds ? Verdict::proved : Verdict::undecided,
          fmt::format("n = 3..6, 2 and 3 letters (2 at n = 6), a query that wants the token before "
                      "it: {} inputs, for hard attention and for any decoder some inputs ask the "
                      "impossible; value = the largest margin, unknowns in [-1, 1]",
                      inputs),
          margin ? std::optional(Enclosure(*margin)) : std::nullopt, shown, facts};
}

Judgement no_diagonal_without_positions() {
  // Equal tokens have equal weights without positions. All inputs over 3 letters to length 5 with a
  // repeated query token, weights per token from a grid of rationals.
  const std::vector<Rational> grid = {Rational(1, 100), Rational(1), Rational(100)};
  bool holds = true;
  unsigned long cases = 0;
  Rational most = 0;
  constexpr constructions::Token letters = 3;
  for (unsigned n = 2; n <= 5; ++n)
    constructions::every_sequence(
        letters, n, [](const auto&) { return true; },
        [&](const auto& tokens) {
          const auto copies = std::count(tokens.begin(), tokens.end(), tokens.back());
          if (copies < 2) return;
          for (const Rational& own : grid)
            for (const Rational& other : grid) {
              Rational all = 0;
              for (const auto t : tokens) all += t == tokens.back() ? own : other;
              const Rational mass = own / all;
              holds = holds && mass * Rational(copies) <= 1;
              most = std::max(most, mass);
              ++cases;
            }
        });
  holds = holds && most == Rational(1, 2);
  Witness w;
  w["input"] = {"a", "a"};
  w["mass_on_the_query"] = "1/2";
  return {holds ? Verdict::proved : Verdict::undecided,
          fmt::format("3 letters, n = 2..5, the query token repeated c times: {} cases of weights, "
                      "mass on the query's own key at most 1/c, exact; value = the largest",
                      cases),
          Enclosure(most),
          w,
          {relation("all(c in 2..5, r in 0..4, w in 1..9: w/(c*w + r) <= 1/c)"),
           enclosed("1/(1 + 1)", Enclosure(Rational(1, 2)), {}, value_digits)}};
}

Judgement diagonal_without_positions_on_distinct_tokens() {
  // The smallest input with another key: two different tokens, orthogonal embeddings, W_Q = W_K
  // = 1.
  const auto beta =
      guaranteed_scale(Enclosure(Rational(1)), 2, 1, tenth);  // ln 9: mass 0.9 on one of two
  if (!beta) return {};
  const Rational scale = theory::ceil(beta->hi);
  const Enclosure mass = enclosure(I(exp(I(scale)) / (exp(I(scale)) + I(1))));
  Witness w;
  w["input"] = {"a", "b"};
  w["scale"] = scale.str();
  w["mass_on_the_query"] = text(mass, 8);
  const Names names{{{"beta", scale.str()}}, {}};
  return {
      mass.lo > 1 - tenth ? Verdict::refuted : Verdict::undecided,
      "inputs of pairwise different tokens by length: at n = 2 the head whose logit is beta for "
      "the query's own token and 0 for others has mass above 0.9 there; value = that mass",
      mass,
      w,
      {relation("exp(beta)/(exp(beta) + 1) < 9/10", names, false),
       enclosed("exp(beta)/(exp(beta) + 1)", mass, names, value_digits)}};
}

Judgement rotary_diagonal_bounded() {
  constexpr std::uint32_t longest = 256;
  bool holds = true;
  std::vector<Fact> facts;
  Witness w;
  std::optional<Enclosure> value;
  const PlaneLosses losses(Formula(1), longest);
  for (const std::uint32_t m : {0U, 1U}) {
    const auto beta = losses.smallest_scale(Rational(10, 9), {m, m});
    const auto enough =
        guaranteed_scale(one_plane_gap(Formula(1), longest - 1 - m).value, longest, 1, tenth);
    holds = holds && beta && enough && beta->lo > 0 && beta->hi <= enough->hi;
    if (!beta) continue;
    // Shorter inputs leave out keys, so the mass is larger there.
    const double scale = theory::nearest_double(beta->hi) * (1 + 1e-12);
    for (const std::uint32_t n : {2U, 3U, 17U, 128U, 255U})
      holds = holds && PlaneLosses(Formula(1), n).largest_sum(scale, {m, m}).hi <= Rational(10, 9);
    const Names names{{{"n", std::to_string(longest)}, {"m", std::to_string(m)}}, {}};
    for (const Fact& fact :
         crossing("sum(s in -m..n-1-m: exp(-beta*(1 - cos(s)))) - 10/9", "beta", *beta, names))
      facts.push_back(fact);
    w[m == 0 ? "diagonal" : "previous token"] = text(*beta, 8);
    if (m == 1) value = beta;
  }
  return {holds && value ? Verdict::proved : Verdict::undecided,
          "one plane of angle 1 (the first of every standard table), n <= 256, mass 0.9: the "
          "smallest scale for m = 0 and m = 1, which serves n = 2, 3, 17, 128, 255 too; value = "
          "the scale for the previous token",
          value, w, facts};
}

Judgement rotary_diagonal_at_every_length() {
  // Whatever table, keys and query: at scale beta no logit lies more than 2 beta below the largest
  // possible, so n - 1 other keys take their share.
  bool holds = true;
  std::vector<Fact> facts;
  for (unsigned beta = 1; beta <= 40; ++beta) {
    const Rational n = theory::ceil(enclosure(I(exp(I(2 * beta)) / I(9))).hi) + 2;
    const Enclosure mass = enclosure(I(I(1) / (I(1) + I(Rational(n - 1)) * exp(-I(2 * beta)))));
    holds = holds && mass.hi < 1 - tenth;
    if (beta % 10 == 1)
      facts.push_back(relation("1/(1 + (n - 1)*exp(-2*beta)) < 9/10",
                               {{{"n", n.str()}, {"beta", std::to_string(beta)}}, {}}));
  }
  // The head of the bounded claim, made for n = 17: the first length at which it fails.
  const PlaneLosses made(Formula(1), 17);
  const auto beta = made.smallest_scale(Rational(10, 9), {0, 0});
  if (!beta || !holds) return {};
  const Rational scale = Rational(theory::ceil(Rational(beta->hi * 1000))) / 1000;
  for (std::uint32_t n = 2; n <= 100000; ++n) {
    const Enclosure sum =
        PlaneLosses(Formula(1), n).largest_sum(theory::nearest_double(scale), {0, 0});
    if (sum.lo <= Rational(10, 9)) continue;
    const I exact_scale{scale};
    I all(0);
    for (std::uint32_t s = 0; s < n; ++s)
      all += exp(I(-exact_scale * (I(1) - theory::cosine<I>(Formula(1), s))));
    const Enclosure mass = enclosure(I(I(1) / all));
    if (mass.hi >= 1 - tenth) continue;
    Witness w;
    w["theta"] = "1";
    w["offset"] = 0;
    w["scale"] = scale.str();
    w["length"] = n;
    w["mass"] = text(mass, 8);
    const Names names{{{"n", std::to_string(n)}, {"beta", scale.str()}}, {}};
    facts.push_back(relation("1/sum(s in 0..n-1: exp(-beta*(1 - cos(s)))) >= 9/10", names, false));
    facts.push_back(
        enclosed("1/sum(s in 0..n-1: exp(-beta*(1 - cos(s))))", mass, names, value_digits));
    return {Verdict::refuted,
            "every head of scale beta = 1..40, whatever its table, keys and query: mass below 0.9 "
            "from a stated length on; witness: the diagonal head of angle 1 that serves n <= 17, "
            "and the first length at which it fails; value = its mass there",
            mass, w, facts};
  }
  return {};
}

Judgement one_plane_attends_not_at_every_length() {
  constexpr unsigned most = 4096;
  bool holds = true;
  std::vector<Fact> facts;
  // Angles from 2 pi/(2 most) to pi in pieces: among any K lags one has the target's logit at most
  // 0, among the next K one has the other key's at least 0.
  for (unsigned k = 1; k < most; ++k) {
    const Rational lo(1, 2 * k + 2);
    const Rational hi(1, 2 * k);
    holds = holds && lags_to_meet_half_circle(lo, hi) == k + 2;
  }
  // Heads written down, any phases of target and other key: the pair of lags at which they fail.
  unsigned heads = 0;
  Witness w;
  for (const char* angle : {"1", "0.1", "0.01", "pi", "10000^(-1/2)"}) {
    const Formula theta = Formula::parse(angle);
    const auto lags = static_cast<unsigned>(steps_to_half_turn(theta)) + 1;
    const auto phase = [](unsigned eighths) {
      return Formula(Rational(eighths, 8)) * Formula(2) * Formula::pi();
    };
    for (unsigned target = 0; target < 8; ++target)
      for (unsigned other = 0; other < 8; ++other) {
        const auto at = [&](unsigned first, unsigned eighths,
                            int wanted) -> std::optional<unsigned> {
          for (unsigned t = first; t < first + lags; ++t) {
            const auto s = sign(theory::cosine<I>(theta, t, phase(eighths)));
            if (s && *s * wanted >= 0) return t;
          }
          return std::nullopt;
        };
        const auto t = at(1, target, -1);
        const auto u = at(lags + 1, other, 1);
        holds = holds && t && u;
        ++heads;
        if (!t || !u || target != 0 || other != 4) continue;
        facts.push_back(
            relation("cos(t*theta) <= 0 and cos(u*theta + pi) >= 0 and t != u and 1 <= t and t <= "
                     "2*K and 1 <= u and u <= 2*K",
                     {{{"theta", theta.text()},
                       {"t", std::to_string(*t)},
                       {"u", std::to_string(*u)},
                       {"K", std::to_string(lags)}},
                      {}}));
        if (std::string_view(angle) == "1")
          w = Witness{
              {"theta", angle}, {"target_lag", *t}, {"other_lag", *u}, {"length", 2 * lags + 1}};
      }
    facts.push_back(relation("theta <= pi and (K - 1)*theta >= pi",
                             {{{"theta", theta.text()}, {"K", std::to_string(lags)}}, {}}));
  }
  // The slowest plane of a long-context table.
  const Formula slowest = theory::default_schedule({500000, 128}).frequencies.back();
  const Integer length = 2 * (steps_to_half_turn(slowest) + 1) + 1;
  facts.push_back(
      relation("theta <= pi and (K - 1)*theta >= pi and (K - 2)*theta < pi",
               {{{"theta", slowest.text()}, {"K", Integer((length - 1) / 2).str()}}, {}}));
  facts.push_back(enclosed("2*K + 1", Enclosure(Rational(length)),
                           {{{"K", Integer((length - 1) / 2).str()}}, {}}));
  w["slowest_plane_of_base_500000_fails_by"] = length.str();
  return {holds ? Verdict::proved : Verdict::undecided,
          fmt::format("every angle from pi/{} to pi, every phase of target and other key: exact "
                      "covers by half circles in rationals; {} heads at multiples of 1/8 turn with "
                      "the lags at which they fail; value = the length by which the slowest plane "
                      "of base 500000, 64 planes, fails",
                      most, heads),
          Enclosure(Rational(length)), w, facts};
}

}  // namespace ropewalk::proofs_numeric
