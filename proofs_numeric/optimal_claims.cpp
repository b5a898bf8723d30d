// Judges for R3: the best head of many planes, proven from both sides, and what bounds every head.
// A lower bound is a head with the least of its losses over every lag, an upper bound a mixture of
// lags that holds every plane down.

#include <fmt/format.h>

#include <map>

#include "proofs_numeric/claims.hpp"
#include "proofs_numeric/optimal.hpp"
#include "proofs_numeric/torus_cover.hpp"
#include "theory/schedule.hpp"

namespace ropewalk::proofs_numeric {

using theory::Interval;
using theory::TrigSum;
using I = Interval<40>;

namespace {

struct Table {
  unsigned base;
  unsigned planes;

  [[nodiscard]] std::vector<Formula> frequencies() const {
    return theory::default_schedule({base, 2 * planes}).frequencies;
  }
  /// Names for expressions: b^(-f/D) is the frequency of plane f.
  [[nodiscard]] Names names() const {
    return {{{"b", std::to_string(base)}, {"D", std::to_string(planes)}}, {}};
  }
  [[nodiscard]] std::string text() const { return fmt::format("base {}, {} planes", base, planes); }
};

constexpr Table long_context{500000, 64};

Names with_mixture(Names names, const std::vector<LagWeight>& mixture) {
  std::vector<std::string> lags;
  std::vector<std::string> weights;
  for (const LagWeight& m : mixture) {
    lags.push_back(m.lag.str());
    weights.push_back(m.weight.str());
  }
  names.where.emplace_back("K", std::to_string(mixture.size() - 1));
  names.tables.emplace_back("lag", lags);
  names.tables.emplace_back("mu", weights);
  return names;
}

// Weights of a mixture.
Fact mixture_weights(const std::vector<LagWeight>& mixture) {
  return relation("all(k in 0..K: mu[k] >= 0) and sum(k in 0..K: mu[k]) = 1",
                  with_mixture({}, mixture));
}

// What no head of amplitudes a exceeds.
Fact mixture_fact(const Table& table, const std::vector<LagWeight>& mixture,
                  const Enclosure& bound) {
  return enclosed("max(f in 0..D-1: sum(k in 0..K: mu[k]*(1 - cos(lag[k]*b^(-f/D)))))", bound,
                  with_mixture(table.names(), mixture), value_digits);
}

// What no head at all exceeds: lags of both signs.
Fact offset_mixture_fact(const Table& table, const std::vector<LagWeight>& mixture,
                         const Enclosure& bound) {
  return enclosed(
      "max(f in 0..D-1: sqrt(sum(k in 0..K: mu[k]*(1 - cos(lag[k]*b^(-f/D))))^2 + sum(k in 0..K: "
      "mu[k]*sin(lag[k]*b^(-f/D)))^2))",
      bound, with_mixture(table.names(), mixture), value_digits);
}

TrigSum loss_of(const std::vector<Rational>& amplitudes, const std::vector<Formula>& frequencies) {
  std::vector<Rational> weights;
  std::vector<Formula> angles;
  for (std::size_t f = 0; f < amplitudes.size(); ++f) {
    if (amplitudes[f] == 0) continue;
    weights.push_back(amplitudes[f]);
    angles.push_back(frequencies[f]);
  }
  return theory::aligned_loss(weights, angles);
}

bool is_mixture(const std::vector<Rational>& shares) {
  Rational sum = 0;
  for (const Rational& a : shares) {
    if (a < 0) return false;
    sum += a;
  }
  return sum == 1;
}

// A proven optimum with its two sides as facts.
struct Proven {
  Enclosure optimum;
  bool holds = false;
  std::vector<Fact> facts;
};

Proven prove(const Table& table, const Lag& reach) {
  const auto frequencies = table.frequencies();
  const OptimalHead head = optimal_head(frequencies, reach);
  std::vector<Rational> weights;
  for (const LagWeight& m : head.dual) weights.push_back(m.weight);
  return {head.optimum, is_mixture(head.amplitudes) && is_mixture(weights),
          optimal_facts(frequencies, reach, head)};
}

// The same at one offset of one length. The amplitudes of an offset head are complex.
Proven prove_offset(const Table& table, const Lag& length, const Lag& offset) {
  const auto frequencies = table.frequencies();
  const OffsetHead head = offset_head(frequencies, length, offset);
  I size(0);
  for (const ComplexAmplitude& b : head.amplitudes)
    size += sqrt(I(Rational(b.re * b.re + b.im * b.im)));
  return {head.optimum, enclosure(size).lo <= 1, offset_facts(frequencies, length, offset, head)};
}

void append(std::vector<Fact>& facts, const std::vector<Fact>& more) {
  facts.insert(facts.end(), more.begin(), more.end());
}

// The mixture, half of each weight at each sign of its lag: sines cancel.
std::vector<LagWeight> two_sided(const std::vector<LagWeight>& mixture) {
  std::vector<LagWeight> both;
  for (const LagWeight& m : mixture) {
    both.push_back({m.lag, m.weight / 2});
    both.push_back({Lag(-m.lag), m.weight / 2});
  }
  return both;
}

// The square law's best one-plane gap, 1 - cos(2 pi/(T + 1)).
Enclosure one_plane_best(unsigned reach) {
  return enclosure(I(I(1) - theory::cosine_of_turns<I>(Rational(1, reach + 1))));
}

const Rational millionth(1, 1000000);

}  // namespace

Judgement best_head_by_linear_program() {
  struct Case {
    Table table;
    unsigned reach;
  };
  bool holds = true;
  std::vector<Fact> facts;
  Witness w;
  Enclosure value;
  std::size_t lags = 0;
  for (const auto& [table, reach] : {Case{long_context, 1024}, Case{{10000, 64}, 131072},
                                     Case{{10000, 8}, 131072}, Case{long_context, 131072}}) {
    const Proven p = prove(table, reach);
    holds = holds && p.holds && p.optimum.lo > 0 &&
            p.optimum.hi - p.optimum.lo <= 2 * millionth * p.optimum.lo;
    append(facts, p.facts);
    value = p.optimum;
    lags += reach;
    w[table.text() + fmt::format(", T = {}", reach)] = text(p.optimum, 10);
  }
  return {holds ? Verdict::proved : Verdict::undecided,
          fmt::format("four tables: a head in rationals, its least loss over every lag 1..T ({} "
                      "lags in all), and a mixture of lags that no head exceeds, less than two "
                      "millionths above it; value = base 500000, 64 planes, T = 131072",
                      lags),
          value, w, facts};
}

Judgement many_planes_break_square_law() {
  constexpr unsigned reach = 131072;
  const auto frequencies = long_context.frequencies();
  const std::vector<Rational> equal(long_context.planes, Rational(1, long_context.planes));
  const TrigSum loss = loss_of(equal, frequencies);
  const LagRange range{1, reach, {}};
  const ExtremumReport least = minimum(loss, range);
  const Enclosure one_plane = one_plane_best(reach);
  const Enclosure law = enclosure(I(I(2) * I::pi() * I::pi() / I(reach + 1) / I(reach + 1)));
  const Enclosure& value = least.extremum.value;
  const bool holds = value.lo > 10000000 * one_plane.hi && value.lo > 10000000 * law.hi;
  Witness w;
  w["table"] = long_context.text();
  w["length"] = reach + 1;
  w["equal_amplitudes"] = text(value, 10);
  w["one_plane_best"] = text(one_plane, 5);
  w["square_law"] = text(law, 5);
  return {holds ? Verdict::proved : Verdict::undecided,
          "base 500000, 64 planes, equal amplitudes, every lag 1..131072: the margin exceeds 2 "
          "pi^2/n^2 and the best one-plane gap at n = 131073 more than 10^7 times; value = that "
          "margin",
          value,
          w,
          {extremum_fact(Which::minimum, loss, range, least),
           enclosed("1 - cos(2*pi/131073)", one_plane, {}, value_digits),
           enclosed("2*pi^2/131073^2", law, {}, value_digits)}};
}

Judgement every_head_below_two_sided_optimum() {
  bool holds = true;
  unsigned offsets = 0;
  unsigned engines = 0;
  std::vector<Fact> facts;
  Enclosure value;
  struct Case {
    Table table;
    unsigned length;
    std::vector<unsigned> offsets;  // all inner ones where empty
  };
  for (const Case& c : {Case{{10000, 8}, 12, {}}, Case{long_context, 17, {}},
                        Case{long_context, 1025, {1, 2, 16, 512, 1023}}}) {
    const auto frequencies = c.table.frequencies();
    std::map<Lag, std::pair<Enclosure, Enclosure>> by_reach;
    std::vector<unsigned> inner = c.offsets;
    for (unsigned m = 1; c.offsets.empty() && m + 2 <= c.length; ++m) inner.push_back(m);
    for (const unsigned m : inner) {
      const Lag reach = two_sided_reach(c.length, m);
      auto at = by_reach.find(reach);
      if (at == by_reach.end()) {
        const OptimalHead best = optimal_head(frequencies, reach);
        const auto both = two_sided(best.dual);
        const Enclosure bound = offset_mixture_bound(frequencies, both);
        for (const LagWeight& l : best.dual) holds = holds && l.lag >= 1 && l.lag <= reach;
        at = by_reach.emplace(reach, std::pair(best.optimum, bound)).first;
        facts.push_back(mixture_weights(both));
        facts.push_back(offset_mixture_fact(c.table, both, bound));
      }
      // The mixture at both signs lies within -m..n-1-m and holds every complex head down to what
      // it holds the aligned ones to.
      const auto& [optimum, bound] = at->second;
      holds = holds && reach <= m && reach <= c.length - 1 - m &&
              bound.hi <= optimum.hi + Rational(1, 1000000) * millionth &&
              bound.hi <= (1 + 2 * millionth) * optimum.lo;
      if (m == 8 && c.length == 17) value = bound;
      ++offsets;
      if (c.length > 12) continue;
      holds = holds && offset_head(frequencies, c.length, m).optimum.lo <= bound.hi;
      ++engines;
    }
  }
  return {holds ? Verdict::proved : Verdict::undecided,
          fmt::format("base 10000, 8 planes, n = 12 and base 500000, 64 planes, n = 17, every "
                      "offset 1..n-2; n = 1025, offsets 1, 2, 16, 512, 1023 ({} offsets): one "
                      "mixture of lags of both signs bounds every head of equal keys, phases "
                      "included, by the optimum of aligned heads to two millionths; {} best heads "
                      "with phases stay below; value = the bound at n = 17, m = 8",
                      offsets, engines),
          value, std::nullopt, facts};
}

Judgement one_sided_offsets() {
  bool holds = true;
  std::vector<Fact> facts;
  Witness w;
  Enclosure value;
  const auto frequencies = long_context.frequencies();
  const Enclosure ceiling = enclosure(I(I(2) * sin(I(Rational(1, 2)))));
  holds = holds && offset_mixture_bound(frequencies, {{Lag(1), Rational(1)}}).hi <=
                       ceiling.hi + millionth * millionth;
  for (const unsigned length : {2U, 17U, 1025U, 131073U}) {
    const Proven own = prove_offset(long_context, length, 0);
    const Proven far = prove(long_context, length - 1);
    holds = holds && own.holds && far.holds && own.optimum.lo > far.optimum.hi &&
            own.optimum.lo <= ceiling.hi &&
            own.optimum.hi - own.optimum.lo <= 2 * millionth * own.optimum.lo;
    append(facts, own.facts);
    append(facts, far.facts);
    if (length == 17) {
      value = own.optimum;
      const Proven first = prove_offset(long_context, length, length - 1);  // the mirror image
      holds = holds && first.holds && first.optimum.lo <= value.hi && value.lo <= first.optimum.hi;
      append(facts, first.facts);
    }
    w[fmt::format("n = {}, m = 0", length)] = text(own.optimum, 9);
    w[fmt::format("two-sided, T = {}", length - 1)] = text(far.optimum, 9);
  }
  facts.push_back(enclosed("2*sin(1/2)", ceiling, {}, value_digits));
  w["at_most"] = text(ceiling, 9);
  return {holds ? Verdict::proved : Verdict::undecided,
          "base 500000, 64 planes, m = 0 at n = 2, 17, 1025, 131073 and m = n-1 at n = 17: a head "
          "with phases and a mixture of lags of one sign meet to two millionths, above the "
          "two-sided optimum and at most 2 sin(1/2); value = n = 17, m = 0",
          value, w, facts};
}

Judgement previous_token_is_not_one_sided() {
  constexpr unsigned length = 131073;
  const Proven previous = prove_offset(long_context, length, 1);
  const Proven own = prove_offset(long_context, length, 0);
  const Proven far = prove(long_context, length - 1);
  // Of what phases gain at m = 0, less than a fiftieth is left at m = 1.
  const bool holds = previous.holds && own.holds && far.holds &&
                     previous.optimum.lo > far.optimum.hi &&
                     50 * (previous.optimum.hi - far.optimum.lo) < own.optimum.lo - far.optimum.hi;
  std::vector<Fact> facts = previous.facts;
  append(facts, own.facts);
  append(facts, far.facts);
  Witness w;
  w["length"] = length;
  w["m = 0"] = text(own.optimum, 9);
  w["m = 1"] = text(previous.optimum, 9);
  w["two-sided"] = text(far.optimum, 9);
  return {holds ? Verdict::proved : Verdict::undecided,
          "base 500000, 64 planes, n = 131073: both optima and the two-sided one from both sides; "
          "value = m = 1",
          previous.optimum, w, facts};
}

Judgement mixtures_bound_every_aligned_head() {
  bool holds = true;
  std::vector<Fact> facts;
  unsigned mixtures = 0;
  std::optional<Enclosure> value;
  for (const Table& table : {Table{10000, 8}, Table{10000, 64}, long_context}) {
    const auto frequencies = table.frequencies();
    for (const unsigned reach : {1U, 6U, 16U, 128U}) {
      const OptimalHead best = optimal_head(frequencies, reach);
      std::vector<std::vector<LagWeight>> some = {{{Lag(1), Rational(1)}}, {}, {}};
      for (unsigned s = 1; s <= reach; ++s) {
        some[1].push_back({Lag(s), Rational(1, reach)});
        some[2].push_back({Lag(s), Rational(2 * s, reach * (reach + 1))});
      }
      for (const auto& mixture : some) {
        const Enclosure bound = mixture_bound(frequencies, mixture);
        holds = holds && best.optimum.lo <= bound.hi;
        ++mixtures;
        if (mixture.size() == 1) value = bound;
        if (reach == 16) {
          facts.push_back(mixture_weights(mixture));
          facts.push_back(mixture_fact(table, mixture, bound));
        }
      }
      // The best mixture attains the optimum.
      holds = holds &&
              mixture_bound(frequencies, best.dual).hi <= (1 + 2 * millionth) * best.optimum.lo;
      if (reach == 16) {
        const Proven p = prove(table, reach);
        holds = holds && p.holds;
        append(facts, p.facts);
      }
    }
  }
  facts.push_back(enclosed("1 - cos(1)", *value, {}, value_digits));
  return {holds ? Verdict::proved : Verdict::undecided,
          fmt::format("base 10000 with 8 and 64 planes, base 500000 with 64, T = 1, 6, 16, 128: {} "
                      "mixtures bound the best head, and the best mixture does so to two "
                      "millionths; value = lag 1 alone, 1 - cos(1), which bounds every table whose "
                      "fastest plane turns by 1 at every length",
                      mixtures),
          value, std::nullopt, facts};
}

Judgement dirichlet_bounds_every_table() {
  bool holds = true;
  std::vector<Fact> facts;
  std::size_t boxes = 0;
  // Every table of D planes at once: some lag s <= Q^D has all planes within 1/Q of a turn.
  for (const auto& [planes, last] : {std::pair{1U, 64U}, {2U, 8U}, {3U, 3U}})
    for (unsigned q = 2; q <= last; ++q) {
      const TorusCover cover = cover_torus(planes, q);
      holds = holds && cover.complete;
      boxes += cover.boxes;
    }
  for (const unsigned q : {3U, 16U}) facts.push_back(circle_cover(q));
  facts.push_back(torus_cover_fact(3));
  // What optimal_head finds stays below; without a Q >= 3 with Q^D <= T nothing is said.
  unsigned tables = 0;
  for (const unsigned base : {2U, 10000U, 500000U})
    for (const unsigned planes : {2U, 3U})
      for (const unsigned q : {3U, 4U, 5U}) {
        const Table table{base, planes};
        const Lag reach = boost::multiprecision::pow(Lag(q), planes);
        const auto bound = dirichlet_bound(planes, reach);
        holds = holds && bound && !dirichlet_bound(64, Lag("1000000000000000000000000000000")) &&
                optimal_head(table.frequencies(), reach).optimum.lo <= bound->hi;
        ++tables;
      }
  const Enclosure value = *dirichlet_bound(2, 64);
  facts.push_back(enclosed("1 - cos(2*pi/8)", value, {}, value_digits));
  return {holds ? Verdict::proved : Verdict::undecided,
          fmt::format("every table of 1 plane with Q <= 64, 2 planes with Q <= 8, 3 planes with Q "
                      "<= 3: exact cover of all angles by {} boxes; the best heads of {} tables "
                      "stay below; value = 1 - cos(2 pi/8), 2 planes, T = 64",
                      boxes, tables),
          value, std::nullopt, facts};
}

}  // namespace ropewalk::proofs_numeric
