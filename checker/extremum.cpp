// The fact `extremum`, brought to one question: is S(t) = offset + sum of amplitude * cos(frequency
// t + phase) above a bound for all integers t of a range but a few that are looked at singly?
//
// With weight |amplitude| and half a turn added to the phase of amplitudes > 0, S(t) = offset -
// weights + sum of weight (1 - cos). A lag passes when a lower bound of that, in integers, exceeds
// what is needed; a block of lags when it does with each angle as near to whole turns as it comes
// in the block. On what does not pass, Arb decides.
#include <algorithm>
#include <set>

#include "facts.hpp"

namespace checker {

namespace {

constexpr long candidate_limit = 100'000'000;  // cosines in Arb
constexpr long block_limit = 100'000'000'000;  // blocks times planes
using Lags = std::set<mpz_class>;
using Candidate = std::function<void(const mpz_class&)>;

long size(const mpz_class& n) { return static_cast<long>(mpz_sizeinbase(n.get_mpz_t(), 2)); }

struct Term {
  mpq_class amplitude;
  Node *frequency, *phase;
};

struct Sum {
  // The amplitudes of a maximum change sign, so that only minima are left.
  Sum(const json& sum, bool maximum) {
    check_keys(sum, {"offset", "terms"});
    offset = number(sum, "offset") * (maximum ? -1 : 1);
    for (const json& o : get<json::array_t>(sum, "terms")) {
      check_keys(o, {"amplitude", "frequency", "phase"});
      const mpq_class a = number(o, "amplitude") * (maximum ? -1 : 1);
      const Term term{a, &context.parse(get(o, "frequency")), &context.parse(get(o, "phase"))};
      const Value w = context.value(*term.frequency);
      const mpz_class parts = mpq_class(w.q / 2).get_den();  // of a turn
      const bool rational = w.exact && w.p == 0, stands = a == 0 || (rational && parts == 1);
      (stands ? still : moving).push_back(term);
      if (stands) continue;
      weights += abs(a);
      period = rational && size(period) < 4096 ? lcm(period, parts) : mpz_class(0);
    }
  }
  Value at(const mpz_class& t) {
    Value total = offset;
    for (const auto* terms : {&moving, &still})
      for (const Term& x : *terms)
        total +=
            x.amplitude * cos(context.value(*x.frequency) * mpq_class(t) + context.value(*x.phase));
    return total;
  }
  /// What the sum of weight (1 - cos) may be where S <= bound, the moving weights adding up to 1.
  Ball room(const mpq_class& bound) {
    Value left = mpq_class(bound - offset + weights);
    for (const Term& term : still) left -= term.amplitude * cos(context.value(*term.phase));
    return (left / weights).enclosure();
  }
  mpz_class turns(const Term& term, long bits) {
    return wrap_turns(context.value(*term.frequency), 0, bits);
  }
  mpz_class phase(const Term& term, long bits) {
    return wrap_turns(context.value(*term.phase), mpq_class(term.amplitude > 0 ? 1 : 0, 2), bits);
  }

  Context context;
  mpq_class offset, weights;
  std::vector<Term> moving, still;
  mpz_class period = 1;  // of the moving terms, where all turn by rational parts of a turn; else 0
};

// Many planes: halves the range until blocks pass, then goes lag by lag.
class Blocks {
 public:
  Blocks(Sum& sum, const mpq_class& bound)
      : slow_(sum.room(bound)), heavy_(slow_), planes_(static_cast<long>(sum.moving.size())) {
    for (const Term& term : sum.moving) {
      const mpz_class turns = sum.turns(term, 128), whole = two_to(128);
      const mpz_class speed = (std::min(turns, mpz_class(whole - turns)) >> 64) + 2;
      for (Planes* planes : {&slow_, &heavy_})
        planes->add(turns, sum.phase(term, 128), speed, abs(term.amplitude) / sum.weights);
    }
    slow_.sort(true);
    heavy_.sort(false);
  }
  void walk(std::int64_t first, std::int64_t last, const Candidate& candidate) {
    blocks_ += planes_;
    if (blocks_ > block_limit) throw Rejected("not decided: too many blocks");
    const std::int64_t middle = first + (last - first) / 2;
    if (last - first < 16) {
      for (std::int64_t t = first; t <= last; ++t)
        if (!heavy_.exceed(t, 0)) candidate(mpz_class(t));
    } else if (!slow_.exceed(middle, static_cast<std::uint64_t>(last - middle))) {
      walk(first, middle, candidate);
      walk(middle + 1, last, candidate);
    }
  }

 private:
  Planes slow_, heavy_;  // slow planes first rule out blocks, heavy ones lags
  long planes_, blocks_ = 0;
};

// The least x >= 0 with low <= a x mod m <= high, or -1; 0 < low <= high < m, 0 <= a < m.
// Either a multiple of a lies in [low, high], or a x - m y does for some y >= 1; modulo a that asks
// for m y mod a in
// [-high mod a, -low mod a], the same question. With a <= m/2 the modulus halves: O(log m) steps.
mpz_class first_return(mpz_class a, mpz_class m, mpz_class low, mpz_class high) {
  struct Step {
    mpz_class a, m, low;
  };
  std::vector<Step> steps;
  mpz_class x;
  for (;;) {
    if (2 * a > m) {  // turn the circle around
      a = m - a;
      std::swap(low, high);
      low = m - low;
      high = m - high;
    }
    if (a == 0) return -1;
    x = (low + a - 1) / a;
    if (a * x <= high) break;
    steps.push_back({a, m, low});
    low = mod(-high, a);
    high = mod(-steps.back().low, a);
    m = mod(m, a);
    std::swap(a, m);
  }
  // The x of one question is the y of the one before.
  for (; !steps.empty(); steps.pop_back())
    x = (steps.back().low + steps.back().m * x + steps.back().a - 1) / steps.back().a;
  return x;
}

// One plane: the lags whose angle is in a window around whole turns, one after the other.
void near_returns(Sum& sum, const mpq_class& bound, const mpz_class& first, const mpz_class& last,
                  const Candidate& candidate) {
  // The least distances are about 1/last, so 4 times the digits of last leave a wide margin.
  const long digits = std::max(size(first), size(last)), bits = 64 + 4 * digits;
  const AtPrecision at(512 + 6 * digits);
  const mpz_class whole = two_to(bits);
  // 1 - cos(2 pi x) <= room iff x is within asin(sqrt(room/2))/pi of a whole turn.
  Ball half_room = sum.room(bound) / Ball(2);
  if (arb_is_negative(half_room)) return;
  arb_get_ubound_arf(arb_midref(half_room), half_room, precision);
  mag_zero(arb_radref(half_room));
  const Ball window = Ball(arb_asin, Ball(arb_sqrt, half_room)) / pi();
  // Frequency and phase are each off by less than 2 units of 2^-bits, the angle at t by 2 |t| + 2.
  const mpz_class width =
      (arb_is_finite(window) ? end_of(window, true, ARF_RND_CEIL, bits) : whole) +
      2 * std::max(mpz_class(abs(first)), mpz_class(abs(last))) + 2;
  const mpz_class turns = sum.turns(sum.moving[0], bits), phase = sum.phase(sum.moving[0], bits);
  for (mpz_class t = first; t <= last; ++t) {
    const mpz_class start = mod(turns * t + phase + width, whole);
    if (start > 2 * width) {  // out of the window
      const mpz_class steps = first_return(turns, whole, whole - start, whole - start + 2 * width);
      if (steps < 0) return;
      t += steps;
    }
    if (t <= last) candidate(t);
  }
}

struct Check {
  Sum& sum;
  bool maximum;
  long candidates = 0;

  int order(const mpz_class& t, const mpq_class& bound) {
    return settle([&] { return compare(sum.at(t), bound); }, 4 * size(t));
  }
  std::string shown(const mpz_class& t) {
    const AtPrecision at(2048 + 4 * size(t));
    return "lag " + t.get_str() + " has the value " + (sum.at(t) * (maximum ? -1 : 1)).text();
  }
  void check_within(const mpz_class& t, const mpq_class& lo, const mpq_class& hi) {
    if (order(t, lo) < 0 || order(t, hi) > 0) throw Rejected(shown(t) + ", not in its [lo, hi]");
  }

  /// Every lag of first..last outside `skip` has a value above the bound, or on it where `ties`.
  void above(const mpz_class& first, const mpz_class& last, const mpq_class& bound, bool ties,
             const Lags& skip) {
    // One period stands for the range, a lag for all that leave its remainder.
    const mpz_class length = last - first + 1;
    const mpz_class period = sum.period > 0 && sum.period < length ? sum.period : length;
    const mpz_class end = first + period - 1;
    std::map<mpz_class, long> skipped;
    for (const mpz_class& t : skip)
      if (t >= first && t <= last) ++skipped[mod(t - first, period)];
    const Candidate candidate = [&](const mpz_class& t) {
      const auto some = skipped.find(t - first);
      if (some != skipped.end() && some->second == (last - t) / period + 1) return;
      candidates += 1 + static_cast<long>(sum.moving.size() + sum.still.size());
      if (candidates > candidate_limit) throw Rejected("not decided: too many lags near the bound");
      if (order(t, bound) >= (ties ? 0 : 1)) return;
      mpz_class named = t;
      while (skip.count(named) != 0) named += period;
      throw Rejected(shown(named) + ", not " + (maximum ? "below " : "above ") +
                     Value(maximum ? -bound : bound).text());
    };
    if (sum.moving.empty()) return candidate(first);
    if (sum.moving.size() == 1) return near_returns(sum, bound, first, end, candidate);
    if (size(first) > 61 || size(last) > 61) throw Rejected("not decided: lags beyond 2^61");
    const AtPrecision at(512);
    Blocks(sum, bound).walk(first.get_si(), end.get_si(), candidate);
  }
};

}  // namespace

void check_extremum(const json& fact) {
  check_keys(fact,
             {"kind", "which", "sum", "first", "last", "excluded", "value", "lags", "complete"},
             {"records"});
  const std::string which = get(fact, "which");
  const bool maximum = which == "maximum", complete = get<bool>(fact, "complete");
  if (!maximum && which != "minimum") throw Malformed("which: neither minimum nor maximum");
  Sum sum(fact.at("sum"), maximum);
  const mpz_class first = integer(fact.at("first")), last = integer(fact.at("last"));
  const auto bounds = [&](const json& o) {
    const mpq_class lo = number(o, "lo"), hi = number(o, "hi");
    return maximum ? std::pair<mpq_class, mpq_class>(-hi, -lo) : std::pair(lo, hi);
  };
  const auto lags_of = [&](const std::string& key) {
    Lags out;
    for (const json& text : get<json::array_t>(fact, key)) {
      const mpz_class t = integer(text);
      if (t < first || t > last || (!out.empty() && *out.rbegin() >= t))
        throw Rejected(key + ": not increasing or out of the range at " + t.get_str());
      out.insert(t);
    }
    return out;
  };
  check_keys(fact.at("value"), {"lo", "hi"});
  const auto [lo, hi] = bounds(fact.at("value"));
  const Lags lags = lags_of("lags"), excluded = lags_of("excluded");

  if (first > last || lags.empty()) throw Rejected("lags: none");
  Check check{sum, maximum};
  Lags listed = excluded;
  for (const mpz_class& t : lags) {
    if (!listed.insert(t).second) throw Rejected("lags: " + t.get_str() + " is excluded");
    within("lags", [&, &low = lo, &high = hi] { check.check_within(t, low, high); });
  }
  check.above(first, last, complete ? hi : lo, !complete, listed);

  if (!fact.contains("records")) return;
  mpz_class start = first;
  while (excluded.count(start) != 0) ++start;
  const auto records = get<json::array_t>(fact, "records");
  for (size_t i = 0; i < records.size(); ++i) {
    within("records[" + std::to_string(i) + "]", [&] {
      check_keys(records[i], {"lag", "lo", "hi"});
      const auto [low, high] = bounds(records[i]);
      const mpz_class t = integer(records[i].at("lag"));
      const bool final = i + 1 == records.size();
      const mpz_class next = final ? mpz_class(last + 1) : integer(records[i + 1].at("lag"));
      if (i == 0 && t != start) throw Rejected("not the first lag of the range");
      if (excluded.count(t) != 0 || t >= next)
        throw Rejected("excluded, not increasing or out of the range");
      if (final && lags.count(t) == 0) throw Rejected("the last, and not among the lags");
      check.check_within(t, low, high);
      Lags skip = excluded;
      skip.insert(t);
      check.above(t, next - 1, low, true, skip);
      if (final) return;
      // The next lies below all before it: below this lo, which none of them reaches.
      if (bounds(records[i + 1]).second >= low) throw Rejected("not beaten by the next");
    });
  }
}

}  // namespace checker
