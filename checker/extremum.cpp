// The fact `extremum`, brought to one question: is S(t) = offset + sum of amplitude * cos(frequency
// t + phase) above a bound for all integers t of a range but a few that are looked at singly?
//
// With weight |amplitude| and half a turn added to the phase of amplitudes > 0, S(t) = offset -
// weights + sum of weight (1 - cos). Where that is near the bound all planes are close to whole
// turns. Two ways find every lag where they are: a lattice, and a walk over the range. On what they
// find Arb decides.
#include <algorithm>
#include <set>

#include "expression.hpp"
#include "planes.hpp"

namespace checker {

namespace {

constexpr long candidate_limit = 10'000'000;  // cosines in Arb
constexpr long block_limit = 20'000'000'000;  // blocks times planes
constexpr size_t lattice_planes = 8;          // most planes for a lattice
constexpr long short_range = 1 << 14;         // is walked at once
constexpr long lattice_limit = 2'000'000;     // multiples tried, weighted by precision

using Lags = std::set<mpz_class>;
using Rows = std::vector<std::vector<Ball>>;

Ball dot(const std::vector<Ball>& x, const std::vector<Ball>& y, size_t from, size_t to) {
  Ball sum;
  for (size_t i = from; i < to; ++i) sum = sum + x[i] * y[i];
  return sum;
}

// All sums of integer multiples of the rows, the last row taken once, whose square is at most
// `square`: calls visit with the multiple of the first row, of some other sums too. The rows have
// one entry less than they are. False where the work, to which this adds, goes beyond its limit.
//
// The rows are made short first (Lenstra, Lenstra, Lovasz) by steps that can be undone, so they
// keep their integer combinations; how short they get costs time only. Along orthonormal directions
// (Gram-Schmidt) row k has parts in the first k alone. So the last multiple alone counts in the
// last direction, the last two in the one before: each takes few integers if the sum is to stay in
// the ball (Fincke, Pohst). Enclosures that are too wide let more through, never less.
bool close_sums(const Rows& given, const Ball& square, long& work,
                const std::function<void(const mpz_class&)>& visit) {
  const size_t n = given.size() - 1;
  Rows rows = given, along = given;  // along the directions
  std::vector<std::vector<mpz_class>> times(n + 1, std::vector<mpz_class>(n + 1));  // of `given`
  for (size_t k = 0; k <= n; ++k) times[k][k] = 1;
  const auto spend = [&](size_t more) {
    work += static_cast<long>(more) * (1 + precision / 512);
    return work <= lattice_limit;
  };

  for (size_t k = 0; k <= n;) {
    if (!spend(n)) return false;
    for (size_t j = 0; j <= k && j < n; ++j) {
      const Ball rest = dot(rows[k], rows[j], 0, n) - dot(along[k], along[j], 0, j);
      along[k][j] = j == k ? Ball(arb_sqrt, rest) : rest / along[j][j];
      if (!arb_is_finite(along[k][j])) throw Open("a lattice of rows that are all but dependent");
    }
    for (size_t j = k; j-- > 0;) {
      const mpz_class whole = floor(along[k][j] / along[j][j] + mpq_class(1, 2), false);
      for (size_t i = 0; i <= j; ++i) along[k][i] = along[k][i] - Ball(whole) * along[j][i];
      for (size_t i = 0; i <= n; ++i) times[k][i] -= whole * times[j][i];
    }
    for (size_t i = 0; i < n; ++i) {
      rows[k][i] = Ball();
      for (size_t j = 0; j <= n; ++j) rows[k][i] = rows[k][i] + Ball(times[k][j]) * given[j][i];
    }
    const size_t before = k > 0 ? k - 1 : 0;
    const Ball length = dot(along[k], along[k], before, std::min(k + 1, n));
    if (k < n && arb_lt(length, dot(along[before], along[before], before, k) * mpq_class(3, 4))) {
      std::swap(rows[k], rows[before]);
      std::swap(times[k], times[before]);
      k = before;
    } else {
      ++k;
    }
  }

  std::vector<mpz_class> multiple(n + 1);
  multiple[n] = 1;
  const std::function<bool(size_t, const Ball&)> descend = [&](size_t level, const Ball& left) {
    if (level == 0) {
      mpz_class first;
      for (size_t k = 0; k <= n; ++k) first += multiple[k] * times[k][0];
      visit(first);
      return true;
    }
    const size_t k = level - 1;
    Ball fixed;
    for (size_t i = level; i <= n; ++i) fixed = fixed + Ball(multiple[i]) * along[i][k];
    const Ball reach(arb_sqrt, end_of(left, true));
    const mpz_class low = floor((Ball() - fixed - reach) / along[k][k], false);
    const mpz_class high = floor((reach - fixed) / along[k][k], true);
    const mpz_class middle = (low + high) / 2;  // what is nearest comes first
    for (mpz_class away = 0; away <= high - middle + 1; ++away)
      for (const int side : {1, -1}) {
        multiple[k] = middle + side * away;
        if (multiple[k] < low || multiple[k] > high || (away == 0 && side < 0)) continue;
        if (!spend(1)) return false;
        const Ball part = fixed + Ball(multiple[k]) * along[k][k], rest = left - part * part;
        if (!arb_is_negative(rest) && !descend(k, rest)) return false;
      }
    return true;
  };
  return descend(n, square);
}

class Extremum {
 public:
  // The amplitudes of a maximum change sign, so that only minima are left.
  Extremum(const json& sum, bool maximum) : maximum_(maximum), context_(sum) {
    check_keys(sum, {"offset", "terms"});
    offset_ = number(sum, "offset") * (maximum ? -1 : 1);
    for (const json& o : get<json::array_t>(sum, "terms")) {
      check_keys(o, {"amplitude", "frequency", "phase"});
      const mpq_class a = number(o, "amplitude") * (maximum ? -1 : 1);
      const Term term{a, context_.parse(get(o, "frequency")), context_.parse(get(o, "phase"))};
      if (a == 0) continue;
      terms_.push_back(term);
      weights_ += abs(a);
      const Value w = context_.value(term.frequency);
      const bool rational = w.exact && w.p == 0 && bits(period_) < 4096;  // part of a turn
      period_ = rational ? lcm(period_, mpq_class(w.q / 2).get_den()) : mpz_class(0);
    }
  }

  void check_within(const mpz_class& t, const mpq_class& lo, const mpq_class& hi) {
    if (order(t, lo) < 0 || order(t, hi) > 0) throw Rejected(shown(t) + ", not in its [lo, hi]");
  }

  /// Every lag of first..last outside `skip` has a value above the bound, or on it where `ties`.
  void check_above(mpz_class first, mpz_class last, const mpq_class& bound, bool ties,
                   const Lags& skip) {
    if (period_ > 0 && last - first >= period_ * (skip.size() + 1)) {
      // One period stands for all; of so many one has nothing to skip.
      for (const mpz_class& t : skip)
        while (first <= t && t < first + period_) first += period_;
      last = first + period_ - 1;
    }
    const auto candidate = [&](const mpz_class& t) {
      if (skip.count(t) != 0) return;
      candidates_ += 1 + static_cast<long>(terms_.size());
      if (candidates_ > candidate_limit)
        throw Rejected("not decided: too many lags near the bound");
      if (order(t, bound) < (ties ? 0 : 1))
        throw Rejected(shown(t) + ", not " + (maximum_ ? "below " : "above ") +
                       Value(maximum_ ? -bound : bound).text());
    };
    if (weights_ == 0) {  // the same at every lag: any that is not skipped stands for all
      while (first <= last && skip.count(first) != 0) ++first;
      if (first <= last) candidate(first);
      return;
    }
    const mpq_class room = (bound - offset_ + weights_) / weights_;  // for W/weights
    const bool few = terms_.size() <= lattice_planes && last - first > short_range;
    if (room < 0 || (few && list(first, last, room, candidate))) return;
    if (bits(last - first) > 60) throw Rejected("not decided: too many lags to walk");
    walk(first, mpz_class(last - first).get_si(), room, candidate);
  }

 private:
  struct Term {
    mpq_class amplitude;
    Node &frequency, &phase;
  };
  using Candidate = std::function<void(const mpz_class&)>;

  Value angle(const Term& x, const mpz_class& t) {
    if (t == 0) return context_.value(x.phase);
    return context_.value(x.frequency) * mpq_class(t) + context_.value(x.phase);
  }
  Value at(const mpz_class& t) {
    Value total = offset_;
    for (const Term& x : terms_) total = total + x.amplitude * cosine(angle(x, t));
    return total;
  }
  int order(const mpz_class& t, const mpq_class& bound) {
    return settle([&] { return compare(at(t), bound); }, 4 * bits(t));
  }
  std::string shown(const mpz_class& t) {
    const AtPrecision at_more(2048 + 4 * bits(t));
    return "lag " + t.get_str() + " has the value " + (at(t) * (maximum_ ? -1 : 1)).text();
  }
  mpq_class weight(const Term& x) const { return abs(x.amplitude) / weights_; }
  mpz_class step(const Term& x, long scale) {
    return wrap_turns(context_.value(x.frequency), scale);
  }
  mpz_class start(const Term& x, const mpz_class& t, long scale) {
    return wrap_turns(angle(x, t) + Value(0, x.amplitude > 0 ? 1 : 0), scale);
  }

  // Halves the range until blocks pass, then goes lag by lag.
  void walk(const mpz_class& first, std::int64_t length, const mpq_class& room,
            const Candidate& candidate) {
    const AtPrecision at_more(512 + bits(first));
    Planes planes(room);
    for (const Term& x : terms_) {
      const mpz_class turns = step(x, 64), back = two_to(64) - turns;
      planes.add(turns, start(x, first, 64), std::min(turns, back) + 2, weight(x));
    }
    const std::function<void(std::int64_t, std::int64_t)> halve = [&](auto from, auto to) {
      blocks_ += static_cast<long>(terms_.size());
      if (blocks_ > block_limit) throw Rejected("not decided: too many blocks");
      const std::int64_t middle = from + (to - from) / 2;
      if (to - from < 16) {
        for (std::int64_t t = from; t <= to; ++t)
          if (!planes.exceed(t, 0)) candidate(first + t);
      } else if (!planes.exceed(middle, static_cast<std::uint64_t>(to - middle))) {
        halve(from, middle);
        halve(middle + 1, to);
      }
    };
    halve(0, length);
  }

  // Few planes: the lags where all come close to whole turns are vectors of a lattice, which are
  // listed without looking at the range. False where they are too many.
  //
  // Let the weighted sum of 1 - cos be at most R, and x the distance of a plane's angle to the
  // nearest whole turn n, in turns. Since sin(pi x)/x falls on (0, 1/2], weight (1 - cos 2 pi x) >=
  // R (x/r)^2, where r is the distance at which this plane alone reaches R, and where it does not,
  // r^2 = R/(8 weight), as 1 - cos 2 pi x >= 8 x^2. So the sum of (x/r)^2 is at most 1. A larger r
  // makes it less; to cut r at 2^10 adds up to 2^-22 to a term. With t = middle + tau, |tau| <=
  // half, the vector of tau/half and all x/r has a square of at most 2 + 2^-19. It is tau times the
  // first row below minus n times the plane's own plus the last row.
  bool list(const mpz_class& first, const mpz_class& last, const mpq_class& room,
            const Candidate& candidate) {
    const mpz_class middle = (first + last) / 2, half = (last - first) / 2 + 1;
    // The closest of N lags come as close as 1/N: this leaves a wide margin.
    const long scale = 64 + 4 * bits(half);
    const AtPrecision at_more(512 + scale + bits(first) + bits(last));
    const size_t n = terms_.size() + 1;
    Rows rows(n + 1, std::vector<Ball>(n));
    rows[0][0] = Ball(mpq_class(1, half));
    for (size_t f = 1; f < n; ++f) {
      const Term& x = terms_[f - 1];
      const mpq_class share = room / (2 * weight(x));
      const Ball root(arb_sqrt, share);
      Ball r = share < 1 ? Ball(arb_asin, root) / Value(0, 1).enclosure() : root / Ball(2);
      r = Ball(arb_min, Ball(arb_max, r, Ball(mpq_class(1, two_to(scale / 2)))), Ball(1024));
      r = end_of(r, true);
      const auto part = [&](const mpz_class& turns) {  // in [turns, turns + 2)
        Ball out(turns + 1);
        arb_add_error_2exp_si(out, 0);
        return out / (r * Ball(two_to(scale)));
      };
      rows[0][f] = part(step(x, scale));
      rows[f][f] = Ball(1) / r;
      rows[n][f] = part(start(x, middle, scale));
    }
    return close_sums(rows, Ball(2) + Ball(mpq_class(1, two_to(19))), nodes_,
                      [&](const mpz_class& tau) {
                        const mpz_class t = middle + tau;
                        if (t >= first && t <= last) candidate(t);
                      });
  }

  bool maximum_;
  Context context_;
  mpq_class offset_, weights_;
  std::vector<Term> terms_;
  mpz_class period_ = 1;  // 0 where a term does not turn by a rational part of a turn
  long candidates_ = 0, blocks_ = 0, nodes_ = 0;
};

}  // namespace

void check_extremum(const json& fact) {
  const std::string which = get(fact, "which");
  const bool maximum = which == "maximum", complete = get<bool>(fact, "complete");
  if (!maximum && which != "minimum") throw Malformed("which: neither minimum nor maximum");
  Extremum sum(fact.at("sum"), maximum);
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
  Lags listed = excluded;
  for (const mpz_class& t : lags) {
    if (!listed.insert(t).second) throw Rejected("lags: " + t.get_str() + " is excluded");
    within("lags", [&, &low = lo, &high = hi] { sum.check_within(t, low, high); });
  }
  sum.check_above(first, last, complete ? hi : lo, !complete, listed);

  if (!fact.contains("records")) return;
  mpz_class start = first;
  while (excluded.count(start) != 0) ++start;
  const auto records = get<json::array_t>(fact, "records");
  if (records.empty()) throw Rejected("records: none");
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
      sum.check_within(t, low, high);
      Lags skip = excluded;
      skip.insert(t);
      sum.check_above(t, next - 1, low, true, skip);
      if (final) return;
      // The next lies below all before it: below this lo, which none of them reaches.
      if (bounds(records[i + 1]).second >= low) throw Rejected("not beaten by the next");
    });
  }
}

}  // namespace checker
