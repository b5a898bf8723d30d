// The fact `extremum`. Everything is brought to one question: is S(t) = offset + sum of a cos(w t +
// p) above a bound for all integers t of a range, but for a few that are looked at singly?
//
// With |a| = weight and half a turn added to the phase where a > 0, S(t) = floor + sum of weight *
// v(x(t)), v(x) = 1 - cos(2 pi x) >= 0, x = turns. A lag passes when a lower bound of that sum, in
// integers, exceeds the bound; a block of lags passes when the same holds with each x as near to a
// whole turn as it can come in the block. What does not pass is a candidate, and Arb decides on it.
#include <algorithm>
#include <functional>
#include <set>

#include "facts.hpp"
#include "turns.hpp"

namespace checker {

namespace {

constexpr long candidate_limit = 1'000'000;
constexpr std::int64_t work_limit = 60'000'000'000;  // table look-ups of one fact

struct Term {
  Rational amplitude;
  Node* frequency = nullptr;
  Node* phase = nullptr;
};

class Sum {
 public:
  Sum(const Object& fact, bool maximum);

  /// S(t); exact where all its terms are.
  Value at(const Rational& t, long precision);
  /// The sign of S(t) - bound, or of S(t) - S(u).
  int compare_at(const Rational& t, const Rational& bound);
  int compare_at(const Rational& t, const Rational& u, bool);

  Context context;
  Rational offset;
  std::vector<Term> terms;  // those that move with t
  std::vector<Term> still;  // frequency a whole number of turns
  Integer period;  // of the moving terms, where all turn by rational parts of a turn; else 0

 private:
  template <class Ask>
  int settle(const Rational& t, const Ask& ask);
};

// Amplitudes of a maximum change sign, so that only minima are left to check.
Sum::Sum(const Object& fact, bool maximum) : period(1) {
  const Object sum = fact.object("sum");
  offset = sum.rational("offset");
  if (maximum) offset = -offset;
  for (const Object& o : sum.objects("terms")) {
    Term term;
    term.amplitude = o.rational("amplitude");
    if (maximum) term.amplitude = -term.amplitude;
    term.frequency = &o.sum(context, "frequency");
    term.phase = &o.sum(context, "phase");
    o.done();
    if (term.amplitude.zero()) continue;
    const Value w = context.value(*term.frequency, precisions[0]);
    if (!w.exact() || !w.part().zero()) {
      period = 0;
      terms.push_back(term);
      continue;
    }
    const Rational turns = w.pi_part() / Rational(2);
    if (turns.integer()) {
      still.push_back(term);
      continue;
    }
    terms.push_back(term);
    if (period.bits() > 4096) period = 0;
    fmpz_lcm(period.raw(), period.raw(), turns.denominator());
  }
  sum.done();
}

Value Sum::at(const Rational& t, long precision) {
  Value total(offset);
  for (const auto* list : {&terms, &still}) {
    for (const Term& term : *list) {
      Value x = context.value(*term.frequency, precision);
      x.multiply(Value(t), precision);
      x.add(context.value(*term.phase, precision), false, precision);
      x.cosine(precision);
      x.multiply(Value(term.amplitude), precision);
      total.add(x, false, precision);
    }
  }
  return total;
}

template <class Ask>
int Sum::settle(const Rational& t, const Ask& ask) {
  for (const long bits : precisions) {
    try {
      return ask(bits + 4 * t.bits());
    } catch (const Open&) {
    }
  }
  throw Rejected("lag " + t.floor().text() + " is not decided: its value is " +
                 Value(at(t, precisions[2])).text());
}

int Sum::compare_at(const Rational& t, const Rational& bound) {
  return settle(t,
                [&](long precision) { return compare(at(t, precision), Value(bound), precision); });
}

int Sum::compare_at(const Rational& t, const Rational& u, bool /*of lags*/) {
  return settle(
      t, [&](long precision) { return compare(at(t, precision), at(u, precision), precision); });
}

using Candidate = std::function<void(const Integer&)>;

// ------------------------------------------------------------------- many planes: blocks, in
// integers

struct Plane {
  Wide turns = 0, phase = 0;
  std::uint64_t speed = 0;   // distance of the frequency to whole turns, rounded up
  std::uint64_t weight = 0;  // share of all weight in units of 2^-32, rounded down
  Wide at(std::int64_t t) const {
    return turns * static_cast<Wide>(static_cast<__int128>(t)) + phase;
  }
};

class Blocks {
 public:
  Blocks(Sum& sum, const Rational& bound, Candidate candidate);
  void walk(std::int64_t first, std::int64_t last);

 private:
  bool block_passes(std::int64_t middle, std::uint64_t radius);
  bool lag_passes(std::int64_t t);

  const Versine& versine_ = versine();
  Candidate candidate_;
  std::vector<Plane> slow_;   // slowest first: they rule out blocks
  std::vector<Plane> heavy_;  // heaviest first: they rule out lags
  std::uint64_t need_ = 0;    // pass when the sum of weight * v exceeds it
  std::int64_t work_ = 0;
  bool everything_passes_ = false;
};

Rational power_of_two(long e) {
  Integer n(1);
  fmpz_mul_2exp(n.raw(), n.raw(), static_cast<ulong>(e));
  return n;
}

Blocks::Blocks(Sum& sum, const Rational& bound, Candidate candidate)
    : candidate_(std::move(candidate)) {
  Rational weights, left = bound - sum.offset;  // what the terms may add up to, above -weights
  const auto magnitude = [](const Rational& a) { return a.sign() < 0 ? -a : a; };
  for (const Term& term : sum.terms) weights = weights + magnitude(term.amplitude);
  left = left + weights;
  constexpr long precision = 512;
  Value still;
  for (const Term& term : sum.still) {
    Value x = sum.context.value(*term.phase, precision);
    x.cosine(precision);
    x.multiply(Value(term.amplitude), precision);
    still.add(x, false, precision);
  }
  // 2^62 (bound - floor) / weights, rounded up.
  Value scaled(left * power_of_two(62) / weights);
  still.multiply(Value(power_of_two(62) / weights), precision);
  scaled.add(still, true, precision);
  Ball b;
  scaled.enclose(b, precision);
  Integer need;
  arf_t top;
  arf_init(top);
  arb_get_ubound_arf(top, b.raw(), precision);
  arf_get_fmpz(need.raw(), top, ARF_RND_CEIL);
  arf_clear(top);
  everything_passes_ = fmpz_sgn(need.raw()) < 0;
  need_ = everything_passes_ ? 0 : need.bits() > 63 ? ~std::uint64_t{0} : fmpz_get_ui(need.raw());

  for (const Term& term : sum.terms) {
    Plane plane;
    const auto turns = [&](Node& node, const Rational& plus) {
      Value x = sum.context.value(node, precision);
      x.divide(Value::pi(), precision);
      x.divide(Value(2), precision);
      x.add(Value(plus), false, precision);
      Ball out;
      x.enclose(out, precision);
      return wrap_turns(out);
    };
    plane.turns = turns(*term.frequency, 0);
    plane.phase = turns(*term.phase,
                        term.amplitude.sign() > 0 ? Rational(Integer(1), Integer(2)) : Rational(0));
    plane.speed = from_whole_turn(plane.turns) + 2;
    plane.weight =
        fmpz_get_ui((magnitude(term.amplitude) * power_of_two(32) / weights).floor().raw());
    slow_.push_back(plane);
  }
  heavy_ = slow_;
  std::stable_sort(slow_.begin(), slow_.end(),
                   [](const Plane& x, const Plane& y) { return x.speed < y.speed; });
  std::stable_sort(heavy_.begin(), heavy_.end(),
                   [](const Plane& x, const Plane& y) { return x.weight > y.weight; });
}

// The angle of a plane at |t| < 2^62 is off by less than (2 |t| + 2) 2^-128 turns from its
// frequency and phase and 2^-64 from dropping the lower half: by less than 2 units of 2^-64. In the
// block it comes nearer to a whole turn by at most radius * speed.
bool Blocks::block_passes(std::int64_t middle, std::uint64_t radius) {
  std::uint64_t sum = 0;
  for (const Plane& plane : slow_) {
    const Wide swing = static_cast<Wide>(plane.speed) * radius + 2;
    ++work_;
    if (swing >= half_turn)
      return false;  // this plane and all faster ones may return to a whole turn
    const std::uint64_t distance = from_whole_turn(plane.at(middle));
    if (distance <= swing) continue;
    // Sums of weights are at most 2^32 and v at most 2^31, so that nothing overflows.
    sum += plane.weight * versine_.lower(distance - static_cast<std::uint64_t>(swing));
    if (sum > need_) return true;
  }
  return false;
}

bool Blocks::lag_passes(std::int64_t t) {
  std::uint64_t sum = 0;
  for (const Plane& plane : heavy_) {
    const std::uint64_t distance = from_whole_turn(plane.at(t));
    ++work_;
    if (distance > 2) sum += plane.weight * versine_.lower(distance - 2);
    if (sum > need_) return true;
  }
  return false;
}

void Blocks::walk(std::int64_t first, std::int64_t last) {
  if (everything_passes_) return;
  if (work_ > work_limit) throw Rejected("not decided: more than 6e10 steps");
  if (last - first < 16) {
    for (std::int64_t t = first; t <= last; ++t)
      if (!lag_passes(t)) candidate_(Integer(t));
    return;
  }
  const std::int64_t middle = first + (last - first) / 2;
  if (block_passes(middle, static_cast<std::uint64_t>(last - middle))) return;
  walk(first, middle);
  walk(middle + 1, last);
}

// ----------------------------------------------------------------------- one plane, any length of
// range

// The least x >= 0 with low <= a x mod m <= high, or -1; 0 <= low <= high < m, 0 <= a < m.
// If no multiple of a lies in [low, high] itself, a x - m y does for some y >= 1, and modulo a that
// asks for m y mod a in [-high mod a, -low mod a]: the same question with a for m. Since a <= m/2
// it takes O(log m) steps.
Integer first_return(Integer a, Integer m, Integer low, Integer high) {
  struct Step {
    Integer a, m, low;
  };
  std::vector<Step> steps;
  Integer x;
  for (;;) {
    if (low == Integer(0)) {
      x = 0;
      break;
    }
    if (a + a > m) {  // turn the circle around
      a = m - a;
      Integer other = m - high;
      high = m - low;
      low = std::move(other);
    }
    if (a == Integer(0)) return -1;
    x = ceil_div(low, a);
    if (a * x <= high) break;
    steps.push_back({a, m, low});
    const Integer next = mod(m, a);
    low = mod(Integer(0) - high, a);
    high = mod(Integer(0) - steps.back().low, a);
    m = a;
    a = next;
  }
  // x solved the innermost question; outwards, the y of one is the x of the next.
  for (auto step = steps.rbegin(); step != steps.rend(); ++step)
    x = ceil_div(step->low + step->m * x, step->a);
  return x;
}

// Candidates of a sum with one moving plane: its angle is within a window around whole turns.
void near_returns(Sum& sum, const Rational& bound, const Integer& first, const Integer& last,
                  const Candidate& candidate) {
  const Term& term = sum.terms.front();
  const long size = std::max(first.bits(), last.bits());
  // Bounds of interest can be as small as the square of a nearest return, about 1/last^2.
  const long precision = 512 + 6 * size;
  // weight * v <= bound - offset - still + weight, so v <= z and the window is asin(sqrt(z/2))/pi
  // turns.
  const Rational weight = term.amplitude.sign() < 0 ? -term.amplitude : term.amplitude;
  Value z(bound - sum.offset + weight);
  for (const Term& s : sum.still) {
    Value x = sum.context.value(*s.phase, precision);
    x.cosine(precision);
    x.multiply(Value(s.amplitude), precision);
    z.add(x, true, precision);
  }
  z.divide(Value(weight + weight), precision);
  Ball window, pi;
  z.enclose(window, precision);
  if (arb_is_negative(window.raw())) return;
  arb_get_ubound_arf(arb_midref(window.raw()), window.raw(), precision);
  mag_zero(arb_radref(window.raw()));
  const long scale = 64 + 4 * size;
  Integer modulus(1), half;
  fmpz_mul_2exp(modulus.raw(), modulus.raw(), static_cast<ulong>(scale));
  if (arf_cmp_si(arb_midref(window.raw()), 1) >= 0) {
    half = modulus;
  } else {
    arb_sqrt(window.raw(), window.raw(), precision);
    arb_asin(window.raw(), window.raw(), precision);
    arb_const_pi(pi.raw(), precision);
    arb_div(window.raw(), window.raw(), pi.raw(), precision);
    arb_mul_2exp_si(window.raw(), window.raw(), scale);
    arb_get_ubound_arf(arb_midref(window.raw()), window.raw(), precision);
    arf_get_fmpz(half.raw(), arb_midref(window.raw()), ARF_RND_CEIL);
  }
  const auto turns = [&](Node& node, const Rational& plus) {
    Value x = sum.context.value(node, precision);
    x.divide(Value::pi(), precision);
    x.divide(Value(2), precision);
    x.add(Value(plus), false, precision);
    Ball scaled, radius;
    x.enclose(scaled, precision);
    arb_mul_2exp_si(scaled.raw(), scaled.raw(), scale);
    arb_get_rad_arb(radius.raw(), scaled.raw());
    if (arf_cmp_si(arb_midref(radius.raw()), 1) >= 0) throw Rejected("an angle has no enclosure");
    Integer n;
    arf_get_fmpz(n.raw(), arb_midref(scaled.raw()), ARF_RND_FLOOR);
    return mod(n, modulus);
  };
  const Integer a = turns(*term.frequency, 0);
  const Integer phase = turns(
      *term.phase, term.amplitude.sign() > 0 ? Rational(Integer(1), Integer(2)) : Rational(0));
  // a and phase are off by less than 2 units of 2^-scale each, so the angle at t by less than 2 |t|
  // + 2.
  const auto magnitude = [](const Integer& n) { return n < Integer(0) ? Integer(0) - n : n; };
  half = half + Integer(2) * std::max(magnitude(first), magnitude(last)) + Integer(2);
  const Integer width = half + half;
  for (Integer t = first; t <= last; t = t + Integer(1)) {
    if (width < modulus) {
      const Integer start = mod(a * t + phase + half, modulus);  // in the window: at most width
      if (start > width) {
        const Integer steps = first_return(a, modulus, modulus - start, modulus - start + width);
        if (steps < Integer(0)) return;
        t = t + steps;
        if (t > last) return;
      }
    }
    candidate(t);
  }
}

// ------------------------------------------------------------------------------------------- the
// fact

struct Check {
  Sum& sum;
  const std::set<Rational>& excluded;
  bool maximum;
  long candidates = 0;

  std::string shown(const Rational& t) {
    Value v = sum.at(t, precisions[2] + 4 * t.bits());
    if (maximum) v.negate();
    return v.text();
  }

  /// Every lag of first..last outside `skip` has a value above the bound, or not below it where
  /// `ties`.
  void above(const Integer& first, const Integer& last, const Rational& bound, bool ties,
             const std::set<Rational>& skip, const std::string& which) {
    if (first > last) return;
    // One period stands for the range; a lag for all that leave the same remainder.
    const Integer length = last - first + Integer(1);
    const Integer period = sum.period > Integer(0) && sum.period < length ? sum.period : length;
    std::map<Integer, long> skipped;  // remainder: how many of its lags are skipped
    for (const Rational& t : skip)
      if (t >= Rational(first) && t <= Rational(last)) ++skipped[mod(t.floor() - first, period)];
    const Candidate candidate = [&](const Integer& t) {
      const Integer members = floor_div(last - t, period) + Integer(1);
      if (const auto s = skipped.find(t - first);
          s != skipped.end() && Integer(s->second) == members)
        return;
      if (++candidates > candidate_limit)
        throw Rejected("not decided: more than 1000000 lags are close to the bound");
      const int order = sum.compare_at(t, bound);
      if (order > 0 || (ties && order == 0)) return;
      Integer named = t;
      while (skip.count(Rational(named)) != 0) named = named + period;
      throw Rejected("lag " + named.text() + " has the value " + shown(named) + ", not " + which);
    };
    const Integer end = first + period - Integer(1);
    if (sum.terms.empty()) {
      candidate(first);
    } else if (sum.terms.size() == 1) {
      near_returns(sum, bound, first, end, candidate);
    } else {
      Blocks(sum, bound, candidate).walk(first.small("lag"), end.small("lag"));
    }
  }

  void within(const Rational& t, const Rational& lo, const Rational& hi, const std::string& what) {
    if (sum.compare_at(t, lo) < 0 || sum.compare_at(t, hi) > 0)
      throw Rejected(what + ": lag " + t.floor().text() + " has the value " + shown(t) +
                     ", not in its [lo, hi]");
  }
};

}  // namespace

void check_extremum(const Object& fact) {
  const std::string which = fact.text("which");
  if (which != "minimum" && which != "maximum")
    throw Malformed("which: neither minimum nor maximum");
  const bool maximum = which == "maximum";
  Sum sum(fact, maximum);
  const Integer first = fact.integer("first"), last = fact.integer("last");
  const auto bounds = [&](const Object& o) {
    const Rational lo = o.rational("lo"), hi = o.rational("hi");
    return maximum ? std::pair(-hi, -lo) : std::pair(lo, hi);
  };
  const auto outside = [&](const Rational& t) { return t < Rational(first) || t > Rational(last); };
  const auto list = [&](const char* key) {
    std::vector<Rational> out;
    for (const std::string& text : fact.texts(key)) {
      out.emplace_back(parse_integer(text));
      if (outside(out.back()))
        throw Rejected(std::string(key) + ": " + text + " is outside the range");
      if (out.size() > 1 && out[out.size() - 2] >= out.back())
        throw Rejected(std::string(key) + ": not increasing at " + text);
    }
    return out;
  };
  const Object value = fact.object("value");
  const auto [lo, hi] = bounds(value);
  value.done();
  const std::vector<Rational> lags = list("lags"), left_out = list("excluded");
  const std::set<Rational> excluded(left_out.begin(), left_out.end());
  const bool complete = fact.boolean("complete");
  struct Record {
    Rational lag, lo, hi;
  };
  std::vector<Record> records;
  if (fact.has("records")) {
    for (const Object& o : fact.objects("records")) {
      const auto [low, high] = bounds(o);
      records.push_back({Rational(o.integer("lag")), low, high});
      o.done();
    }
  }
  fact.done();

  if (first > last) throw Rejected("the range is empty");
  if (lags.empty()) throw Rejected("lags: none");
  Check check{sum, excluded, maximum};
  std::set<Rational> listed = excluded;
  for (const Rational& t : lags) {
    if (excluded.count(t) != 0) throw Rejected("lags: " + t.floor().text() + " is excluded");
    check.within(t, lo, hi, "lags");
    listed.insert(t);
  }

  const std::string beyond =
      maximum ? (complete ? "below lo" : "at most hi") : (complete ? "above hi" : "at least lo");
  if (records.empty())
    return check.above(first, last, complete ? hi : lo, !complete, listed, beyond);

  // With records the range is walked segment by segment; a segment all above the minimum needs one
  // walk only.
  Integer start = first;
  while (excluded.count(Rational(start)) != 0) start = start + Integer(1);
  if (records.front().lag != Rational(start))
    throw Rejected("records: the first is not the first lag of the range");
  for (size_t i = 0; i < records.size(); ++i) {
    const Record& r = records[i];
    const std::string name = "records[" + std::to_string(i) + "]";
    if (outside(r.lag) || excluded.count(r.lag) != 0)
      throw Rejected(name + ": lag is not in the range");
    if (i > 0 && r.lag <= records[i - 1].lag) throw Rejected(name + ": not increasing");
    check.within(r.lag, r.lo, r.hi, name);
    if (i > 0 && sum.compare_at(r.lag, records[i - 1].lag, true) >= 0)
      throw Rejected(name + ": not beyond the one before");
    const bool final = i + 1 == records.size();
    const Integer end = final ? last : records[i + 1].lag.floor() - Integer(1);
    std::set<Rational> skip = excluded;
    skip.insert(r.lag);
    const bool implied = r.lo > hi;  // then this segment holds no lag of the minimum
    try {
      check.above(r.lag.floor(), end, r.lo, true, skip,
                  maximum ? "at most its hi" : "at least its lo");
    } catch (const Rejected& e) {
      throw Rejected(name + ": " + e.what());
    }
    if (implied) {
      for (const Rational& t : lags)
        if (t >= r.lag && t <= Rational(end))
          throw Rejected(name + ": its segment holds a lag of the " + which);
    } else {
      check.above(r.lag.floor(), end, complete ? hi : lo, !complete, listed, beyond);
    }
    if (final && std::find(lags.begin(), lags.end(), r.lag) == lags.end())
      throw Rejected(name + ": the last is not among the lags");
  }
}

}  // namespace checker
