// Judges for R4, R5, R8 and R9: what survives as inputs grow, what rounding leaves, and how far a
// head of bounded scale can see.

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "proofs_numeric/claims.hpp"
#include "proofs_numeric/optimal.hpp"
#include "proofs_numeric/retrieval_margin.hpp"
#include "proofs_numeric/torus_cover.hpp"
#include "theory/schedule.hpp"

namespace ropewalk::proofs_numeric {

using theory::Interval;
using I = Interval<40>;

namespace {

std::vector<Formula> standard(unsigned base, unsigned planes) {
  return theory::default_schedule({base, 2 * planes}).frequencies;
}

Names names_of(unsigned base, unsigned planes) {
  return {{{"b", std::to_string(base)}, {"D", std::to_string(planes)}}, {}};
}

// 2 sin(pi/Q): what the planes move the logits by at a lag at which all are within 1/Q turn.
Enclosure return_bound(unsigned q) { return enclosure(I(I(2) * sin(I(I::pi() / I(q))))); }

// The lag s <= last at which the plane furthest from its start is nearest, and 2 sin of half its
// angle there.
struct Return {
  unsigned lag = 0;
  Enclosure loss;
};
Return nearest_common_return(const std::vector<Formula>& frequencies, unsigned last) {
  Return best;
  for (unsigned s = 1; s <= last; ++s) {
    const Enclosure loss = offset_mixture_bound(frequencies, {{Lag(s), Rational(1)}});
    if (best.lag == 0 || loss.hi < best.loss.hi) best = {s, loss};
  }
  return best;
}

}  // namespace

Judgement common_return_of_all_planes() {
  bool holds = true;
  std::size_t boxes = 0;
  for (const auto& [planes, last] : {std::pair{1U, 64U}, {2U, 8U}, {3U, 3U}})
    for (unsigned q = 2; q <= last; ++q) {
      const TorusCover cover = cover_torus(planes, q);
      holds = holds && cover.complete;
      boxes += cover.boxes;
    }
  return {
      holds ? Verdict::proved : Verdict::undecided,
      fmt::format("all angles at once, exact: 1 plane with Q = 2..64, 2 planes with Q = 2..8, 3 "
                  "planes with Q = 2, 3; {} boxes of the torus, each served by one lag; value "
                  "= 1/64 of a turn",
                  boxes),
      Enclosure(Rational(1, 64)),
      std::nullopt,
      {circle_cover(16), circle_cover(64), torus_cover_fact(2), torus_cover_fact(3),
       enclosed("1/Q", Enclosure(Rational(1, 64)), {{{"Q", "64"}}, {}})}};
}

Judgement no_index_head_survives() {
  bool holds = true;
  std::vector<Fact> facts;
  Witness w;
  unsigned tables = 0;
  std::optional<Enclosure> value;
  struct Case {
    unsigned base;
    unsigned planes;
    std::vector<unsigned> qs;
  };
  for (const Case& c : {Case{10000, 1, {4, 16, 256}}, Case{10000, 2, {4, 16, 32}},
                        Case{500000, 3, {3, 6, 10}}, Case{2, 4, {3, 4, 6}}}) {
    const auto frequencies = standard(c.base, c.planes);
    for (const unsigned q : c.qs) {
      unsigned lags = 1;
      for (unsigned f = 0; f < c.planes; ++f) lags *= q;
      const Return back = nearest_common_return(frequencies, lags);
      const Enclosure bound = return_bound(q);
      // That one lag bounds every head of equal keys, phases included, and so the best one.
      holds = holds && back.loss.hi <= bound.lo &&
              offset_head(frequencies, lags + 1, 0).optimum.lo <= back.loss.hi;
      Names names = names_of(c.base, c.planes);
      names.where.emplace_back("s", std::to_string(back.lag));
      names.where.emplace_back("Q", std::to_string(q));
      facts.push_back(relation(
          "s <= Q^D and max(f in 0..D-1: 2*abs(sin(s*b^(-f/D)/2))) <= 2*sin(pi/Q)", names));
      if (c.planes == 2) {
        value = back.loss;
        w = Witness{{"table", fmt::format("base {}, {} planes", c.base, c.planes)},
                    {"length", lags + 1},
                    {"lag", back.lag},
                    {"margin_at_most", text(back.loss, 8)},
                    {"2 sin(pi/Q)", text(bound, 8)}};
        facts.push_back(
            enclosed("max(f in 0..D-1: 2*abs(sin(s*b^(-f/D)/2)))", back.loss, names, value_digits));
      }
      ++tables;
    }
  }
  for (const auto& [planes, q] : {std::pair{1U, 256U}, {2U, 8U}, {3U, 3U}})
    holds = holds && cover_torus(planes, q).complete;
  facts.push_back(circle_cover(256));
  facts.push_back(torus_cover_fact(3));
  return {holds ? Verdict::proved : Verdict::undecided,
          fmt::format("{} pairs of a table of 1..4 planes and Q, Q^D <= 1296: a lag s <= Q^D that "
                      "bounds every head of equal keys at every offset with n-1-m >= Q^D, and the "
                      "best head at offset 0 below it; every table of 1 plane (Q = 256), 2 planes "
                      "(Q = 8) and 3 planes (Q = 3) by exact cover; value = the bound for base "
                      "10000, 2 planes, n = 1025",
                      tables),
          value, w, facts};
}

Judgement retrieval_survives_where_index_does_not() {
  bool holds = true;
  std::vector<Fact> facts;
  Witness w;
  std::optional<Enclosure> value;
  for (const unsigned letters : {2U, 8U, 26U}) {
    const Enclosure kept = enclosure(I(I(1) - theory::cosine_of_turns<I>(Rational(1, letters))));
    for (const char* n : {"2", "1000", "1000000000000000000"}) {
      const auto margin =
          retrieval_margin(Formula(0), letters, Lag(n), Centre::plain, Reading::min);
      holds = holds && margin && margin->margin.lo <= kept.hi && kept.lo <= margin->margin.hi;
    }
    // A still plane moves no logit, so an Index head rests on the other plane; from length Q + 1 on
    // it has at most 2 sin(pi/Q) whatever that plane's angle.
    unsigned q = 2;
    while (return_bound(q).hi >= kept.lo) ++q;
    holds = holds && cover_torus(1, q).complete;
    facts.push_back(circle_cover(q));
    Names names{{{"A", std::to_string(letters)}, {"Q", std::to_string(q)}}, {}};
    facts.push_back(relation("2*sin(pi/Q) < 1 - cos(2*pi/A)", names));
    facts.push_back(enclosed("1 - cos(2*pi/A)", kept, names, value_digits));
    if (letters != 8) continue;
    value = kept;
    w = Witness{{"letters", letters},
                {"retrieval_margin_at_every_length", text(kept, 8)},
                {"index_length", q + 1},
                {"index_margin_at_most", text(return_bound(q), 8)}};
  }
  return {holds ? Verdict::proved : Verdict::undecided,
          "A = 2, 8, 26 letters, one still and one moving plane of any angle: the Retrieval margin "
          "at n = 2, 1000, 10^18 (lags drop out) is 1 - cos(2 pi/A), and by an exact cover of all "
          "angles every Index head has less from the stated length on; value = 1 - cos(2 pi/8)",
          value, w, facts};
}

Judgement retrieval_needs_still_plane() {
  bool holds = true;
  std::vector<Fact> facts;
  unsigned kernels = 0;
  // The mean of the rotations over n lags has the size |D_n|, which is all that the average over
  // pairs of lags keeps.
  for (const char* angle : {"1", "0.0027", "acos(3/5)", "2*pi/7", "pi", "10000^(-1/2)"}) {
    const Formula theta = Formula::parse(angle);
    I c(0);
    I s(0);
    for (unsigned n = 1; n <= 64; ++n) {
      const auto point = theory::rotation<I>(theta, n - 1);
      c += point.x;
      s += point.y;
      if (n < 2) continue;
      const Enclosure mean = enclosure(I(I(4) * (c * c + s * s) / I(n * n)));
      const Enclosure bound = *retrieval_bound({theta}, 2, n);
      holds = holds && bound.lo * bound.lo <= mean.hi && mean.lo <= bound.hi * bound.hi;
      ++kernels;
      if (n == 64 && bound.lo > 0) {
        const Names names{{{"n", "64"}, {"theta", theta.text()}}, {}};
        facts.push_back(enclosed(
            "2*sqrt(sum(t in 0..n-1: cos(t*theta))^2 + sum(t in 0..n-1: sin(t*theta))^2)/n", bound,
            names, value_digits));
        facts.push_back(
            enclosed("2*abs(sin(n*theta/2)/(n*sin(theta/2)))", bound, names, value_digits));
      }
    }
  }
  // The written one-plane heads obey it, and are at or below 0 once they are beyond their horizon.
  const Rational tiny(1, Integer(1) << 80);  // what intervals leave of an exact 0
  unsigned heads = 0;
  for (const char* angle : {"1", "0.0027", "0.1", "2*pi/7"})
    for (const unsigned letters : {2U, 8U})
      for (const unsigned n : {2U, 17U, 300U, 3000U}) {
        const Formula theta = Formula::parse(angle);
        const Enclosure margin =
            retrieval_margin(theta, letters, n, Centre::plain, Reading::min)->margin;
        const auto horizon = retrieval_horizon(theta, letters, Centre::plain);
        holds = holds && horizon && margin.lo <= retrieval_bound({theta}, letters, n)->hi &&
                (n <= *horizon || margin.hi <= tiny);
        ++heads;
      }
  // A whole table, and the same with its slower half stopped.
  constexpr unsigned length = 1000000;
  const Enclosure value = *retrieval_bound(standard(10000, 64), 2, length);
  const auto stopped = theory::p_rope({10000, 128}, Rational(1, 2)).frequencies;
  holds = holds && value.hi < Rational(1, 10) && !retrieval_bound(stopped, 2, length);
  Names names = names_of(10000, 64);
  names.where.emplace_back("n", std::to_string(length));
  facts.push_back(enclosed("max(f in 0..D-1: 2*abs(sin(n*b^(-f/D)/2)/(n*sin(b^(-f/D)/2))))", value,
                           names, value_digits));
  return {
      holds ? Verdict::proved : Verdict::undecided,
      fmt::format("six angles, n = 2..64: twice the mean rotation has the size of the bound ({} "
                  "comparisons); {} one-plane heads to n = 3000 stay below it and have no "
                  "positive margin beyond their horizon; half of the planes stopped: no bound; "
                  "value = base 10000, 64 planes, n = 10^6",
                  kernels, heads),
      value, std::nullopt, facts};
}

Judgement rounding_keeps_argmax() {
  // Every vector of logits in {0..3}/4 to length 4, every rounding by -e, 0 or e: whole numbers of
  // eighths. The extremes decide, as the winner changes first where it loses most.
  bool kept = true;
  bool sharp = true;
  unsigned long cases = 0;
  for (unsigned n = 2; n <= 4; ++n) {
    std::vector<int> logits(n, 0);
    const auto next = [n](std::vector<int>& digits, int radix) {
      unsigned i = 0;
      while (i < n && ++digits[i] == radix) digits[i++] = 0;
      return i < n;
    };
    do {
      const auto top = std::max_element(logits.begin(), logits.end());
      const auto best = static_cast<std::size_t>(top - logits.begin());
      int runner_up = -1;
      for (std::size_t j = 0; j < n; ++j)
        if (j != best) runner_up = std::max(runner_up, logits[j]);
      const int margin = 2 * (*top - runner_up);  // in eighths
      if (margin <= 0) continue;
      for (int e = 0; 2 * e <= margin; ++e) {
        bool stays = true;
        std::vector<int> signs(n, 0);
        do {
          for (std::size_t j = 0; j < n; ++j)
            stays = stays && (j == best || 2 * logits[best] + e * (signs[best] - 1) >
                                               2 * logits[j] + e * (signs[j] - 1));
          ++cases;
        } while (next(signs, 3));
        if (2 * e < margin)
          kept = kept && stays;
        else
          sharp = sharp && !stays;
      }
    } while (next(logits, 4));
  }
  const std::string stays =
      "all(w in -1..1, v in -1..1: margin + w*e > v*e)";  // the winner against a runner-up at 0
  Witness w;
  w["margin"] = "1";
  w["e"] = "1/2";
  w["logits"] = {"1", "0"};
  w["rounded"] = {"1/2", "1/2"};
  return {kept && sharp ? Verdict::proved : Verdict::undecided,
          fmt::format("every vector of logits in {{0, 1, 2, 3}}/4 to length 4, every pattern of "
                      "errors -e, 0, e in eighths ({} cases), exact: the winner stays for 2e < mu "
                      "and is tied or beaten by some pattern at 2e = mu; value = the least e/mu at "
                      "which it may fall",
                      cases),
          Enclosure(Rational(1, 2)),
          w,
          {relation(stays, {{{"margin", "1"}, {"e", "499/1000"}}, {}}),
           relation("margin - e = 0 + e", {{{"margin", "1"}, {"e", "1/2"}}, {}}),
           enclosed("e/margin", Enclosure(Rational(1, 2)), {{{"margin", "1"}, {"e", "1/2"}}, {}})}};
}

Judgement fp16_angles_overflow() {
  // All finite positive fp16 numbers, ten bits of fraction, exponents -14..15, subnormals below.
  std::vector<Rational> numbers;
  for (int exponent = -14; exponent <= 15; ++exponent)
    for (int fraction = exponent == -14 ? 0 : 1024; fraction < 2048; ++fraction) {
      const Rational scale = exponent >= 10 ? Rational(Integer(1) << (exponent - 10))
                                            : Rational(1, Integer(1) << (10 - exponent));
      numbers.push_back(fraction * scale);
    }
  std::sort(numbers.begin(), numbers.end());
  const Rational largest = numbers.back();
  // What would follow if the exponent went on; half way to it the even significand is this one's.
  const Rational beyond = largest + (largest - numbers[numbers.size() - 2]);
  const Rational threshold = (largest + beyond) / 2;
  bool holds = largest == 65504 && beyond == 65536 && threshold == 65520 &&
               numbers.size() == std::size_t{31} * 1024;
  // Round to nearest, ties to even: lags, which are the angles of the plane of frequency 1, as
  // whole numbers.
  std::optional<unsigned> first;
  for (unsigned t = 0; t <= 70000 && !first; ++t) {
    const Rational angle(t);
    if (angle >= beyond || 2 * angle >= largest + beyond) first = t;
  }
  holds = holds && first && Rational(*first) == threshold;
  Witness w;
  w["largest"] = largest.str();
  w["next"] = beyond.str();
  w["first_lag_not_finite"] = first ? *first : 0;
  const Names names{
      {{"largest", "65504"}, {"beyond", "2^16"}, {"threshold", "65520"}, {"ulp", "2^5"}}, {}};
  return {
      holds ? Verdict::proved : Verdict::undecided,
      "all 31744 finite fp16 numbers >= 0, every lag 0..65520 on a plane of frequency 1, exact; "
      "value = the first lag whose angle is not finite",
      Enclosure(threshold),
      w,
      {relation("largest = (2 - 2^(-10))*2^15 and largest + ulp = beyond and threshold = "
                "(largest + beyond)/2 and largest/ulp = 2047 and beyond/ulp = 2048",
                names),
       enclosed("threshold", Enclosure(threshold), names, value_digits)}};
}

namespace {

// A head of equal keys by its losses at the relative lags 1..reach: aligned, so even in the lag.
struct AlignedHead {
  std::string name;
  std::vector<Rational> amplitudes;
};

// cos(theta_f s) for s = 0..reach, all planes.
std::vector<std::vector<I>> cosines(const std::vector<Formula>& frequencies, unsigned reach) {
  std::vector<std::vector<I>> table(reach + 1);
  for (unsigned s = 0; s <= reach; ++s)
    for (const Formula& theta : frequencies) table[s].push_back(theory::cosine<I>(theta, s));
  return table;
}

// exp(-beta loss(s)) for s = 0..reach, added up: P(k) = sum over 0..k.
std::vector<I> prefix_sums(const AlignedHead& head, const std::vector<std::vector<I>>& table,
                           unsigned beta) {
  std::vector<I> sums;
  for (const auto& row : table) {
    I loss(0);
    for (std::size_t f = 0; f < row.size(); ++f)
      if (head.amplitudes[f] != 0) loss += I(head.amplitudes[f]) * (I(1) - row[f]);
    const I term = exp(I(-I(beta) * loss));
    sums.push_back(sums.empty() ? term : I(sums.back() + term));
  }
  return sums;
}

// The mass on the target where the relative lags -left..right are seen.
I mass_at(const std::vector<I>& sums, unsigned left, unsigned right) {
  return I(1) / (sums[left] + sums[right] - I(1));
}

// Gibbs: 1 / (1 + exp(H(mu) - beta B(mu))) for mu uniform over the lags +-1..reach, two-sided.
// The planes' means are sums of the cosines, as sines cancel.
I gibbs_bound(const std::vector<std::vector<I>>& table, unsigned reach, unsigned beta) {
  I worst(0);
  for (std::size_t f = 0; f < table.front().size(); ++f) {
    I sum(0);
    for (unsigned s = 1; s <= reach; ++s) sum += I(1) - table[s][f];
    worst = max(worst, I(sum / I(reach)));
  }
  return I(1) / (I(1) + exp(I(log(I(2 * reach)) - I(beta) * worst)));
}

const char* const gibbs_expression =
    "1/(1 + exp(log(2*T) - beta*max(f in 0..D-1: sum(s in 1..T: 1 - cos(s*b^(-f/D)))/T)))";

// Equal amplitudes, one plane alone each (the first, a middle one, the last), and the best head at
// the reach.
std::vector<AlignedHead> sample_heads(const std::vector<Formula>& frequencies, unsigned reach) {
  const std::size_t planes = frequencies.size();
  std::vector<AlignedHead> heads;
  heads.push_back(
      {"equal amplitudes", std::vector<Rational>(planes, Rational(1, Integer(planes)))});
  for (const std::size_t f : {std::size_t{0}, planes / 2, planes - 1}) {
    std::vector<Rational> one(planes, 0);
    one[f] = 1;
    heads.push_back({fmt::format("plane {} alone", f + 1), std::move(one)});
  }
  heads.push_back({"best amplitudes", optimal_head(frequencies, reach).amplitudes});
  return heads;
}

Fact mass_fact(const AlignedHead& head, const Names& table, unsigned left, unsigned right,
               unsigned beta, const Enclosure& mass) {
  Names names = table;
  names.where.emplace_back("beta", std::to_string(beta));
  names.where.emplace_back("left", std::to_string(left));
  names.where.emplace_back("right", std::to_string(right));
  names.tables.emplace_back("a", entries(head.amplitudes));
  return enclosed(
      "1/sum(s in -left..right: exp(-beta*sum(f in 0..D-1: a[f]*(1 - cos(s*b^(-f/D))))))", mass,
      names, value_digits);
}

}  // namespace

Judgement mass_falls_with_length() {
  constexpr unsigned reach = 128;
  bool holds = true;
  unsigned long steps = 0;
  std::vector<Fact> facts;
  std::optional<Enclosure> value;
  for (const auto& [base, planes] : {std::pair{10000U, 8U}, {500000U, 64U}}) {
    const auto frequencies = standard(base, planes);
    const auto table = cosines(frequencies, reach);
    for (const AlignedHead& head : sample_heads(frequencies, reach))
      for (const unsigned beta : {1U, 6U, 20U}) {
        const auto sums = prefix_sums(head, table, beta);
        for (const unsigned m : {0U, 1U, 16U})
          for (unsigned right = 1; right <= reach; ++right) {
            const auto order =
                theory::compare(mass_at(sums, m, right), mass_at(sums, m, right - 1));
            holds = holds && order == -1;
            ++steps;
          }
        if (beta != 6 || head.name != "best amplitudes") continue;
        const Enclosure mass = enclosure(mass_at(sums, 1, reach));
        if (planes == 64) value = mass;
        facts.push_back(mass_fact(head, names_of(base, planes), 1, reach, beta, mass));
        Names names = names_of(base, planes);
        names.where.emplace_back("beta", std::to_string(beta));
        names.where.emplace_back("T", std::to_string(reach));
        names.tables.emplace_back("a", entries(head.amplitudes));
        facts.push_back(relation(
            "all(s in 1..T: exp(-beta*sum(f in 0..D-1: a[f]*(1 - cos(s*b^(-f/D))))) > 0)", names));
      }
  }
  return {holds ? Verdict::proved : Verdict::undecided,
          fmt::format("base 10000 with 8 planes, base 500000 with 64; equal, single-plane and best "
                      "amplitudes; beta = 1, 6, 20; offsets 0, 1, 16; lengths one token apart to "
                      "reach 128: {} steps, each a certain fall; value = base 500000, best "
                      "amplitudes, beta = 6, m = 1, n = 130",
                      steps),
          value, std::nullopt, facts};
}

Judgement gibbs_bounds_mass() {
  constexpr unsigned reach = 512;
  bool holds = true;
  unsigned compared = 0;
  std::vector<Fact> facts;
  Witness w;
  std::optional<Enclosure> value;
  for (const auto& [base, planes] : {std::pair{10000U, 8U}, {500000U, 64U}}) {
    const auto frequencies = standard(base, planes);
    const auto table = cosines(frequencies, reach);
    for (const AlignedHead& head : sample_heads(frequencies, reach))
      for (const unsigned beta : {1U, 6U, 20U}) {
        const auto sums = prefix_sums(head, table, beta);
        for (const unsigned t : {1U, 16U, 128U, reach}) {
          const Enclosure mass = enclosure(mass_at(sums, t, t));
          const Enclosure bound = enclosure(gibbs_bound(table, t, beta));
          holds = holds && mass.lo <= bound.hi;
          ++compared;
          if (planes != 64 || beta != 6 || t != reach) continue;
          w[head.name] = text(mass, 8);
          if (head.name != "best amplitudes") continue;
          value = bound;
          facts.push_back(mass_fact(head, names_of(base, planes), t, t, beta, mass));
          Names names = names_of(base, planes);
          names.where.emplace_back("beta", std::to_string(beta));
          names.where.emplace_back("T", std::to_string(t));
          facts.push_back(enclosed(gibbs_expression, bound, names, value_digits));
        }
      }
  }
  if (value) w["no_head_above"] = text(*value, 8);
  return {holds && value ? Verdict::proved : Verdict::undecided,
          fmt::format("base 10000 with 8 planes, base 500000 with 64; equal, single-plane and best "
                      "amplitudes; beta = 1, 6, 20; relative lags -T..T, T = 1, 16, 128, 512; mu "
                      "uniform on them: {} masses in intervals, none above the bound; value = the "
                      "bound at base 500000, beta = 6, n = 1025, m = 512",
                      compared),
          value, w, facts};
}

Judgement bounded_scale_has_a_horizon() {
  constexpr unsigned beta = 10;
  constexpr unsigned longest = 256;
  const Rational wanted(9, 10);
  const auto frequencies = standard(500000, 64);
  const auto table = cosines(frequencies, longest);
  Names names = names_of(500000, 64);
  names.where.emplace_back("beta", std::to_string(beta));
  // The first T at which the mixture of the best head, half at each sign of its lags, excludes the
  // wanted mass. Beyond it the mass only falls.
  unsigned bound = 0;
  std::vector<Fact> facts;
  for (unsigned t = 1; t <= longest && bound == 0; ++t) {
    const OptimalHead best = optimal_head(frequencies, t);
    I entropy(0);
    std::vector<Rational> weights;
    std::vector<std::string> lags;
    for (const LagWeight& m : best.dual) {
      entropy -= I(m.weight) * log(I(Rational(m.weight / 2)));
      weights.push_back(m.weight);
      lags.push_back(m.lag.str());
    }
    const Enclosure worst = mixture_bound(frequencies, best.dual);
    const Enclosure mass =
        enclosure(I(I(1) / (I(1) + exp(I(entropy - I(beta) * I(worst.lo, worst.hi))))));
    if (mass.hi >= wanted) continue;
    bound = t;
    names.where.emplace_back("K", std::to_string(weights.size() - 1));
    names.tables = {{"mu", entries(weights)}, {"lag", lags}};
    facts.push_back(enclosed(
        "1/(1 + exp(-sum(k in 0..K: mu[k]*log(mu[k]/2)) - beta*max(f in 0..D-1: sum(k in 0..K: "
        "mu[k]*(1 - cos(lag[k]*b^(-f/D)))))))",
        mass, names, value_digits));
  }
  if (bound == 0)
    return {Verdict::undecided, "T <= 256: the bound stays above 0.9", std::nullopt, std::nullopt};
  const unsigned length = 2 * bound + 1;
  bool holds = true;
  Witness w;
  for (const AlignedHead& head : sample_heads(frequencies, bound)) {
    const auto sums = prefix_sums(head, table, beta);
    unsigned guaranteed = 0;
    while (guaranteed < bound &&
           enclosure(mass_at(sums, guaranteed + 1, guaranteed + 1)).lo >= wanted)
      ++guaranteed;
    const Enclosure there = enclosure(mass_at(sums, bound, bound));
    holds = holds && guaranteed < bound && there.hi < wanted;
    w[head.name] = 2 * guaranteed + 1;
    if (head.name == "best amplitudes")
      facts.push_back(mass_fact(head, names_of(500000, 64), bound, bound, beta, there));
  }
  w["none_from"] = length;
  facts.push_back(
      relation("n = 2*T + 1", {{{"n", std::to_string(length)}, {"T", std::to_string(bound)}}, {}}));
  return {holds ? Verdict::proved : Verdict::undecided,
          fmt::format("base 500000, 64 planes, beta = {}, mass 0.9, target in the middle of n = 2T "
                      "+ 1 keys, T = 1, 2, ...: the first length at which the bound excludes every "
                      "head of equal keys; equal, single-plane and best amplitudes all end before; "
                      "value = that length",
                      beta),
          Enclosure(Rational(length)), w, facts};
}

}  // namespace ropewalk::proofs_numeric
