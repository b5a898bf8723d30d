// Judges for the claims about the one-plane Index head.

#include <fmt/format.h>

#include "constructions/index.hpp"
#include "constructions/readings.hpp"
#include "proofs_numeric/claims.hpp"
#include "proofs_numeric/one_plane.hpp"
#include "proofs_numeric/softmax_scale.hpp"

namespace ropewalk::proofs_numeric {

using theory::Interval;
using I = Interval<40>;

namespace {

Enclosure bounds(const I& x) { return enclosure(x); }

I pi() { return I::pi(); }

// 2 pi^2 / n^2
Enclosure square_law(unsigned n) { return bounds(I(2) * pi() * pi() / I(n) / I(n)); }

// 1 - cos(2 pi / (T + 1)), the supremum over theta at reach T (R2).
Enclosure best_gap(unsigned reach) {
  return bounds(I(1) - theory::cosine_of_turns<I>(Rational(1, reach + 1)));
}

// True if for every alpha in [0, 1/2] some 1 <= s <= T has ||s alpha|| <= 1/(T+1): the closed
// intervals around p/s of radius 1/(s(T+1)) cover [0, 1/2]. Exact, by walking from each right end
// to the furthest next one.
bool dirichlet_cover(unsigned reach) {
  const Rational radius(1, reach + 1);
  Rational x = 0;
  while (x < Rational(1, 2)) {
    Rational furthest = x;
    for (unsigned s = 1; s <= reach; ++s) {
      const Rational right =
          (Rational(theory::floor(Rational(Rational(s) * x + radius))) + radius) / Rational(s);
      if (right > furthest) furthest = right;
    }
    if (furthest == x) return false;
    x = furthest;
  }
  return true;
}

// The gap of a length under the reading max, and that of all offsets up to a reach, as expressions.
const char* const largest_gap = "max(m in 0..n-1: min(s in 1..max(m, n-1-m): 1 - cos(s*theta)))";
const char* const gap_at_reach = "min(s in 1..reach: 1 - cos(s*theta))";

Names where(std::vector<std::pair<std::string, std::string>> names) {
  return {std::move(names), {}};
}

// No angle has a gap above that of R2 at any reach of the range.
void add_covers(std::vector<Fact>& facts, unsigned first, unsigned last) {
  for (unsigned reach = first; reach <= last; ++reach) facts.push_back(circle_cover(reach));
}

Witness index_witness(unsigned n, unsigned m, const Formula& theta, const OnePlaneGap& gap) {
  Witness w;
  w["length"] = n;
  w["offset"] = m;
  w["theta"] = theta.text();
  w["relative_lag"] = gap.lag.str();
  w["gap"] = text(gap.value, 8);
  return w;
}

}  // namespace

Judgement index_feasible() {
  constexpr unsigned longest = 64;
  const Formula theta = acos(Formula(Rational(3, 5)));
  // Margins: exact rationals, positive at every length and offset; the intervals must contain them.
  bool holds = theta.irrational_turns();
  Rational least = 2;
  for (unsigned s = 1; s < longest; ++s) {
    const Rational loss = 1 - theory::cosine<Rational>(theta, s);
    if (loss < least) least = loss;
    holds = holds && loss > 0 && bounds(I(I(1) - theory::cosine<I>(theta, s))).contains(loss);
  }
  const OnePlaneGap gap = one_plane_gap(theta, longest - 1);
  holds = holds && gap.value.contains(least);
  // The whole head, token by token, on every valid input of a small world: 2 letters,
  // integers 1..3.
  const constructions::IndexAlphabet alphabet{2, 3};
  const auto head = constructions::index_head<Rational>(theta, alphabet);
  const auto table = constructions::rotations<Rational>(head.frequencies, 5);
  unsigned inputs = 0;
  for (unsigned n = 1; n <= 5; ++n)
    constructions::every_sequence(
        alphabet.size(), n,
        [&](const auto& prefix) { return constructions::is_index_input(alphabet, prefix); },
        [&](const auto& tokens) {
          ++inputs;
          const auto wanted = constructions::index_function(alphabet, tokens);
          const auto got = constructions::decode(head, tokens, constructions::Hard{}, table);
          for (unsigned i = 0; i < n; ++i) holds = holds && got[i] && *got[i] == wanted[i];
        });
  const auto beta = smallest_index_scale(theta, longest);
  holds = holds && beta.has_value();
  Witness w;
  w["theta"] = theta.text();
  w["length"] = longest;
  w["smallest_margin"] = text(Enclosure(least), 12);
  std::vector<Fact> facts;
  if (beta) {
    w["smallest_scale"] = text(*beta, 10);
    facts = index_scale_facts(theta, longest, *beta);
    facts.push_back(relation(
        "all(n in 2..longest, m in 0..n-1: min(s in 1..max(m, n-1-m): 1 - cos(s*theta)) > 0)",
        where({{"longest", std::to_string(longest)}, {"theta", theta.text()}})));
  }
  return {holds ? Verdict::proved : Verdict::undecided,
          fmt::format(
              "theta = acos(3/5), n <= {}, every offset, margins exact rationals; all {} inputs of "
              "2 letters and integers 1..3 to length 5 decoded exactly; value = smallest scale at "
              "n = {}",
              longest, inputs, longest),
          beta, w, facts};
}

Judgement index_gap_below_one_minus_cosine() {
  constexpr unsigned longest = 256;
  bool holds = true;
  // Lag +1 or -1 relative to the target is within -m..n-1-m for every m: then 1 - cos(theta) is
  // among the terms.
  for (unsigned n = 2; n <= longest; ++n)
    for (unsigned m = 0; m < n; ++m)
      holds = holds && (m >= 1 || n - 1 - m >= 1) && reach_of(n, m) >= 1;
  const Formula theta = Formula::parse("0.8");
  const Enclosure value = bounds(I(I(1) - theory::cosine<I>(theta, 1)));
  for (unsigned n = 2; n <= 32; ++n)
    holds =
        holds && one_plane_gap(theta, reach_of(n, offset_of(n, Reading::max))).value.lo <= value.hi;
  return {
      holds ? Verdict::proved : Verdict::undecided,
      fmt::format(
          "n <= {}, every offset: relative lag 1 or -1 is reachable (exact), so 1 - cos theta is a "
          "term of the minimum for every theta; value = 1 - cos 0.8",
          longest),
      value,
      std::nullopt,
      {relation("all(n in 2..longest, m in 0..n-1: max(m, n-1-m) >= 1)",
                where({{"longest", std::to_string(longest)}})),
       relation("all(n in 2..longest, m in 0..n-1: "
                "min(s in 1..max(m, n-1-m): 1 - cos(s*theta)) <= 1 - cos(theta) + 10^-30)",
                where({{"longest", "32"}, {"theta", theta.text()}})),
       enclosed("1 - cos(theta)", value, where({{"theta", theta.text()}}))}};
}

Judgement index_gap_below_square_law_max() {
  // Length by length: the supremum over theta at the smallest reach (R2) against the claimed bound.
  for (unsigned n = 2; n <= 64; ++n) {
    const auto m = static_cast<unsigned>(offset_of(n, Reading::max));
    const auto reach = static_cast<unsigned>(reach_of(n, m));
    const Enclosure bound = square_law(n);
    if (!dirichlet_cover(reach)) break;
    if (best_gap(reach).hi <= bound.lo) continue;  // no theta violates at this length
    // Angles around the optimum 2 pi/(T+1) that violate: widen while certain, then take the
    // simplest number.
    const Rational centre = bounds(I(2) * pi() / I(reach + 1)).middle();
    const auto violates = [&](const Rational& theta) {
      return one_plane_gap(Formula(theta), reach).value.lo > bound.hi;
    };
    if (!violates(centre)) continue;
    const auto widen = [&](int direction) {
      Rational inside = 0;
      Rational outside = Rational(1, 2);
      for (int i = 0; i < 40; ++i) {
        const Rational middle = (inside + outside) / 2;
        (violates(Rational(centre + direction * middle)) ? inside : outside) = middle;
      }
      return Rational(centre + direction * inside);
    };
    Rational theta = simplest_between(widen(-1), widen(1));
    if (!violates(theta)) theta = centre;
    const OnePlaneGap gap = one_plane_gap(Formula(theta), reach);
    Witness w = index_witness(n, m, Formula(theta), gap);
    w["bound"] = text(bound, 8);
    const std::string claim = std::string(largest_gap) + " <= 2*pi^2/n^2";
    std::vector<Fact> facts{
        relation(claim, where({{"n", std::to_string(n)}, {"theta", Formula(theta).text()}}), false),
        enclosed(gap_at_reach, gap.value,
                 where({{"reach", std::to_string(reach)}, {"theta", Formula(theta).text()}}))};
    // No shorter length has a violation: nothing beats R2 at the reaches of its best offset.
    if (n > 2)
      add_covers(facts, 1, static_cast<unsigned>(reach_of(n - 1, offset_of(n - 1, Reading::max))));
    facts.push_back(relation("all(k in 2..n-1: 1 - cos(2*pi/(k - floor((k-1)/2))) <= 2*pi^2/k^2)",
                             where({{"n", std::to_string(n)}})));
    // The example at P1's own angle: the first length that violates there.
    const Formula own = Formula::parse("0.8");
    for (unsigned k = 2; k <= 64; ++k) {
      const auto offset = static_cast<unsigned>(offset_of(k, Reading::max));
      const OnePlaneGap g = one_plane_gap(own, reach_of(k, offset));
      if (g.value.lo <= square_law(k).hi) continue;
      w["at_theta_0.8"] = index_witness(k, offset, own, g);
      w["at_theta_0.8"]["bound"] = text(square_law(k), 8);
      facts.push_back(
          relation(claim, where({{"n", std::to_string(k)}, {"theta", own.text()}}), false));
      break;
    }
    return {Verdict::refuted,
            fmt::format("every n < {}: no theta violates (R2: exact rational cover of all angles); "
                        "at n = {} the "
                        "simplest violating angle; value = the gap there",
                        n, n),
            gap.value, w, facts};
  }
  return {Verdict::undecided, "n <= 64: no violation found", std::nullopt, std::nullopt};
}

Judgement index_gap_below_square_law_min() {
  constexpr unsigned longest = 64;
  bool holds = true;
  for (unsigned n = 2; n <= longest; ++n)
    holds = holds && dirichlet_cover(n - 1) && best_gap(n - 1).hi < square_law(n).lo;
  std::vector<Fact> facts{
      relation("all(n in 2..longest: 1 - cos(2*pi/n) < 2*pi^2/n^2)",
               where({{"longest", std::to_string(longest)}})),
      enclosed("1 - cos(2*pi/n)", best_gap(longest - 1), where({{"n", std::to_string(longest)}}))};
  add_covers(facts, 1, longest - 1);
  return {holds ? Verdict::proved : Verdict::undecided,
          fmt::format("2 <= n <= {}, all theta: exact rational cover of the circle gives gap <= 1 "
                      "- cos(2 pi/n), and "
                      "that is below 2 pi^2/n^2 by intervals; value = 1 - cos(2 pi/{})",
                      longest, longest),
          best_gap(longest - 1), std::nullopt, facts};
}

Judgement irrational_angle_keeps_gap() {
  // Angles 2 pi p/q in (0, pi] by denominator: irrational numbers whose gap closes at reach q.
  for (unsigned q = 2; q <= 16; ++q) {
    for (unsigned p = 1; 2 * p <= q; ++p) {
      const Formula theta = Formula(Rational(2 * p, q)) * Formula::pi();
      if (theta.rational() || sign(theta) != 1) continue;  // pi is irrational, so theta is
      for (unsigned n = 2; n <= 2 * q; ++n) {
        const auto m = static_cast<unsigned>(offset_of(n, Reading::max));
        const OnePlaneGap gap = one_plane_gap(theta, reach_of(n, m));
        if (!gap.value.exact() || gap.value.lo != 0) continue;
        Witness w = index_witness(n, m, theta, gap);
        const Formula seventh = Formula::parse("2*pi/7");
        const Lag length = *index_horizon(seventh, nullptr, 0) + 1;
        w["also"] = index_witness(static_cast<unsigned>(length), 0, seventh,
                                  one_plane_gap(seventh, length - 1));
        std::vector<Fact> facts{
            relation(std::string(largest_gap) + " > 0",
                     where({{"n", std::to_string(n)}, {"theta", theta.text()}}), false),
            enclosed(gap_at_reach, gap.value,
                     where({{"reach", reach_of(n, m).str()}, {"theta", theta.text()}})),
            relation("min(s in 1..n-1: distance(s*theta/(2*pi))) = 0",
                     where({{"n", length.str()}, {"theta", seventh.text()}}))};
        std::vector<Formula> planes;
        bool right = true;  // the right condition, on the planes of the standard table d = 64
        for (unsigned f = 0; f < 32; ++f) {
          const Formula plane = pow(Formula(10000), Rational(-static_cast<int>(f), 32));
          planes.push_back(plane);
          right = right && plane.irrational_turns() && one_plane_gap(plane, 4096).value.lo > 0;
        }
        w["standard_table_irrational_turns"] = right;
        facts.push_back(
            relation("all(f in 0..planes-1: min(s in 1..4096: 1 - cos(s*theta[f])) > 0)",
                     {{{"planes", std::to_string(planes.size())}}, {{"theta", entries(planes)}}}));
        return {right ? Verdict::refuted : Verdict::undecided,
                "angles 2 pi p/q in (0, pi], q = 2, 3, ...: the first has gap exactly 0; the right "
                "condition (theta/2 pi "
                "irrational) holds and keeps the gap open on every plane of base 10000, d = 64 to "
                "reach 4096; value = the gap of that first angle",
                gap.value, w, facts};
      }
    }
  }
  return {Verdict::undecided, "q <= 16: none found", std::nullopt, std::nullopt};
}

Judgement one_plane_gap_by_continued_fractions() {
  constexpr unsigned longest = 400;
  bool holds = true;
  unsigned compared = 0;
  std::vector<Fact> facts;
  for (const char* formula :
       {"1", "0.8", "0.0027", "2", "3", "acos(3/5)", "2*pi/7", "2*pi*89/233", "pi", "10000^(-2/64)",
        "10000^(-40/64)", "500000^(-2/128)", "1.6180339887", "-0.8", "7.5"}) {
    const Formula theta = Formula::parse(formula);
    std::optional<Enclosure> least;  // the obvious way: every lag
    ExtremumReport staircase;        // the denominators, as records
    Lag at = 0;
    for (unsigned s = 1; s <= longest; ++s) {
      const Enclosure loss = bounds(I(I(1) - theory::cosine<I>(theta, s)));
      if (!least || loss.hi < least->lo) {
        least = loss;
        at = s;
      } else if (loss.lo < least->lo) {
        least->lo = loss.lo;  // a tie to 40 digits: keep the first lag, the hull of the values
      }
      const OnePlaneGap gap = one_plane_gap(theta, s);
      holds = holds && gap.lag == at && gap.value.lo <= least->hi && least->lo <= gap.value.hi;
      ++compared;
      if (staircase.records.empty() || staircase.records.back().lag != gap.lag)
        staircase.records.push_back({gap.lag, gap.value});
      staircase.extremum = {gap.value, {gap.lag}, theta.irrational_turns()};
    }
    facts.push_back(extremum_fact(Which::minimum, theory::aligned_loss({1}, {theta}),
                                  {1, longest, {}}, staircase));
  }
  const Lag googol = boost::multiprecision::pow(Integer(10), 100);
  const OnePlaneGap far = one_plane_gap(Formula(1), googol);
  holds = holds && far.lag_proven && far.lag <= googol && far.value.lo > 0;
  Witness w;
  w["theta"] = "1";
  w["reach"] = "1e100";
  w["lag"] = far.lag.str();
  w["gap"] = text(far.value, 17);
  ExtremumReport report;
  report.extremum = {far.value, {far.lag}, far.lag_proven};
  facts.push_back(extremum_fact(Which::minimum, theory::aligned_loss({1}, {Formula(1)}),
                                {1, googol, {}}, report));
  facts.push_back(enclosed("1 - cos(lag)", far.value, where({{"lag", far.lag.str()}})));
  return {
      holds ? Verdict::proved : Verdict::undecided,
      fmt::format(
          "15 angles, every reach to {}: value and lag equal the scan of all lags in intervals ({} "
          "comparisons); value = gap of theta = 1 at reach 1e100",
          longest, compared),
      far.value, w, facts};
}

Judgement best_one_plane_angle() {
  constexpr unsigned longest = 64;
  bool holds = true;
  for (unsigned reach = 1; reach <= longest; ++reach) {
    holds = holds && dirichlet_cover(reach);  // no theta does better than ||s alpha|| = 1/(T+1)
    const Rational best(1, reach + 1);
    for (unsigned k = 1; 2 * k <= reach + 1; ++k) {  // and 2 pi k/(T+1) does so iff k is coprime
      Rational least = 1;
      for (unsigned s = 1; s <= reach; ++s)
        least = std::min(least,
                         theory::distance_to_integer(Rational(Integer(s * k), Integer(reach + 1))));
      holds = holds && ((least == best) == (gcd(Integer(k), Integer(reach + 1)) == 1));
    }
  }
  Witness w;
  w["reach"] = 16;
  w["theta"] = "2*pi/17";
  w["gap"] = text(best_gap(16), 12);
  const std::string coprime = "min(d in 2..T+1: distance(k/d) + distance((T+1)/d))";
  const Names scope = where({{"longest", std::to_string(longest)}});
  std::vector<Fact> facts{relation("all(T in 1..longest, k in 1..floor((T+1)/2) if " + coprime +
                                       " > 0: min(s in 1..T: distance(s*k/(T+1))) = 1/(T+1))",
                                   scope),
                          relation("all(T in 1..longest, k in 1..floor((T+1)/2) if " + coprime +
                                       " = 0: min(s in 1..T: distance(s*k/(T+1))) < 1/(T+1))",
                                   scope),
                          enclosed("min(s in 1..16: 1 - cos(2*pi*s/17))", best_gap(16))};
  add_covers(facts, 1, longest);
  return {holds ? Verdict::proved : Verdict::undecided,
          fmt::format("reach T <= {}: exact rational cover of all angles (no theta beats 1/(T+1) "
                      "turns) and every "
                      "k tried for attainment; value = 1 - cos(2 pi/17)",
                      longest),
          best_gap(16), w, facts};
}

}  // namespace ropewalk::proofs_numeric
