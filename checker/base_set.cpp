// The fact `base-set`: the sign of B_k(b) = sum over i < D of cos(k q^i), q = b^(-1/D), for all b
// of an interval.
//
// One k is settled in Arb by bisection in q with value, slope and a bound of the curvature. Near
// the end of a piece, where B_k is all but zero, the slope keeps its sign, and then the end alone
// decides. All k at once (admissible pieces, and the point infimum.hi) are first looked at in
// integers: an angle k q^i moves by at most k times what q^i moves.
#include <algorithm>
#include <numeric>
#include <utility>

#include "facts.hpp"
#include "turns.hpp"

namespace checker {

namespace {

constexpr long precision = 192;                       // of the ends of intervals in q
constexpr long sum_precision = 128;                   // of B_k and its slope
constexpr long lag_limit = 1L << 24;                  // longest length
constexpr std::int64_t work_limit = 100'000'000'000;  // table look-ups of one fact
constexpr long bisection_limit = 100'000;             // evaluations for one lag on one piece

// An interval of q whose ends are exact.
struct Interval {
  Ball low, high;
  Ball middle() const {
    Ball m;
    arb_add(m.raw(), low.raw(), high.raw(), ARF_PREC_EXACT);
    arb_mul_2exp_si(m.raw(), m.raw(), -1);
    return m;
  }
  Ball radius() const {
    Ball r;
    arb_sub(r.raw(), high.raw(), low.raw(), precision);
    arb_mul_2exp_si(r.raw(), r.raw(), -1);
    return r;
  }
};

class Bases {
 public:
  explicit Bases(long planes) : planes_(planes) {}

  /// An enclosure of q for a base > 0.
  Ball q(Context& context, Node& base) const;
  /// The bases between two, as an interval of q that holds theirs: a larger base is a smaller q.
  static Interval between(const Ball& q_first, const Ball& q_last);
  /// Rejected unless sign * B_k > 0 on the interval.
  void one_sign(const Integer& k, int sign, const Interval& interval);
  /// Rejected unless B_k >= 0 on the interval for k = 1..length.
  void admissible(long length, const Interval& interval);

 private:
  struct Point {
    Ball value, slope;
  };
  Point evaluate(const Integer& k, const Ball& q) const;
  Ball curvature(const Integer& k, const Ball& q) const;
  void bisect(const Integer& k, int sign, const Interval& interval, const Ball& curvature,
              long& left, int depth);
  void all_lags(std::vector<std::uint32_t> lags, const Interval& interval, int depth);

  long planes_;
  const Versine& versine_ = versine();
  std::int64_t work_ = 0;
};

Ball Bases::q(Context& context, Node& base) const {
  Value v = context.value(base, precision + 64);
  v.logarithm(precision + 64);
  v.divide(Value(-planes_), precision + 64);
  v.exponential(precision);
  Ball out;
  v.enclose(out, precision);
  return out;
}

Interval Bases::between(const Ball& q_first, const Ball& q_last) {
  Interval out;
  arb_get_lbound_arf(arb_midref(out.low.raw()), q_last.raw(), precision);
  arb_get_ubound_arf(arb_midref(out.high.raw()), q_first.raw(), precision);
  return out;
}

Bases::Point Bases::evaluate(const Integer& k, const Ball& q) const {
  Point out;
  Ball power, before, angle, s, c;  // q^i, q^(i-1)
  arb_one(power.raw());
  for (long i = 0; i < planes_; ++i) {
    arb_mul_fmpz(angle.raw(), power.raw(), k.raw(), sum_precision);
    arb_sin_cos(s.raw(), c.raw(), angle.raw(), sum_precision);
    arb_add(out.value.raw(), out.value.raw(), c.raw(), sum_precision);
    if (i > 0) {
      arb_mul(s.raw(), s.raw(), before.raw(), sum_precision);
      arb_submul_si(out.slope.raw(), s.raw(), i, sum_precision);
    }
    arb_swap(before.raw(), power.raw());
    arb_mul(power.raw(), before.raw(), q.raw(), sum_precision);
  }
  arb_mul_fmpz(out.slope.raw(), out.slope.raw(), k.raw(), sum_precision);
  return out;
}

// |B_k''| <= sum of k i (i-1) q^(i-2) + (k i q^(i-1))^2, which grows with q.
Ball Bases::curvature(const Integer& k, const Ball& q) const {
  constexpr long low = 64;
  Ball out, power, before, term;  // q^(i-1), q^(i-2)
  arb_one(power.raw());
  for (long i = 1; i < planes_; ++i) {
    arb_mul_fmpz(term.raw(), power.raw(), k.raw(), low);
    arb_mul_si(term.raw(), term.raw(), i, low);
    arb_addmul(out.raw(), term.raw(), term.raw(), low);
    arb_mul_fmpz(term.raw(), before.raw(), k.raw(), low);  // before is 0 for i = 1
    arb_mul_si(term.raw(), term.raw(), i * (i - 1), low);
    arb_add(out.raw(), out.raw(), term.raw(), low);
    arb_swap(before.raw(), power.raw());
    arb_mul(power.raw(), before.raw(), q.raw(), low);
  }
  return out;
}

void Bases::one_sign(const Integer& k, int sign, const Interval& interval) {
  long left = bisection_limit;
  bisect(k, sign, interval, curvature(k, interval.high), left, 0);
}

void Bases::bisect(const Integer& k, int sign, const Interval& interval, const Ball& curvature,
                   long& left, int depth) {
  const std::string name = "B_" + k.text();
  const auto settled = [&](const Ball& value) {  // sign * value > 0; Rejected if it is surely not
    const bool good = sign > 0 ? arb_is_positive(value.raw()) : arb_is_negative(value.raw());
    const bool bad = sign > 0 ? arb_is_nonpositive(value.raw()) : arb_is_nonnegative(value.raw());
    if (bad) throw Rejected(name + " is " + value.text() + " at a base of it");
    return good;
  };
  if (--left < 0 || depth > 300) throw Rejected(name + " is not decided");
  const Ball radius = interval.radius();
  const Point m = evaluate(k, interval.middle());
  Ball swing, tail, bound;
  arb_mul(tail.raw(), curvature.raw(), radius.raw(), sum_precision);  // how far the slope can move
  arb_abs(swing.raw(), m.slope.raw());
  const bool monotone = arb_gt(swing.raw(), tail.raw()) != 0;
  arb_mul_2exp_si(tail.raw(), tail.raw(), -1);
  arb_add(swing.raw(), swing.raw(), tail.raw(), sum_precision);
  arb_mul(swing.raw(), swing.raw(), radius.raw(), sum_precision);
  (sign > 0 ? arb_sub : arb_add)(bound.raw(), m.value.raw(), swing.raw(), sum_precision);
  if (settled(m.value) && (sign > 0 ? arb_is_positive(bound.raw()) : arb_is_negative(bound.raw())))
    return;
  if (monotone) {
    const bool up = arb_is_positive(m.slope.raw()) != 0;
    if (!settled(evaluate(k, up == (sign > 0) ? interval.low : interval.high).value))
      throw Rejected(name + " is not decided");
    return;
  }
  const Ball middle = interval.middle();
  bisect(k, sign, {interval.low, middle}, curvature, left, depth + 1);
  bisect(k, sign, {middle, interval.high}, curvature, left, depth + 1);
}

void Bases::admissible(long length, const Interval& interval) {
  std::vector<std::uint32_t> lags(static_cast<size_t>(length));
  std::iota(lags.begin(), lags.end(), 1U);
  all_lags(std::move(lags), interval, 0);
}

void Bases::all_lags(std::vector<std::uint32_t> lags, const Interval& interval, int depth) {
  if (depth > 60) throw Rejected("not decided at lag " + std::to_string(lags.front()));
  // For each plane the turns per lag at the middle, and by how much they change up to the ends.
  std::vector<Wide> turns;
  std::vector<std::uint64_t> speed;
  const Ball middle = interval.middle();
  Ball power, high, before, angle, move, two_pi;
  arb_const_pi(two_pi.raw(), precision);
  arb_mul_2exp_si(two_pi.raw(), two_pi.raw(), 1);
  arb_one(power.raw());
  arb_one(high.raw());
  Wide speeds = 0;
  for (long i = 0; i < planes_; ++i) {
    arb_div(angle.raw(), power.raw(), two_pi.raw(), precision);
    turns.push_back(wrap_turns(angle));
    // |q^i - m^i| <= i high^(i-1) radius, in units of 2^-64 turns, rounded up.
    arb_mul(move.raw(), before.raw(), interval.radius().raw(), precision);
    arb_mul_si(move.raw(), move.raw(), i, precision);
    arb_div(move.raw(), move.raw(), two_pi.raw(), precision);
    arb_mul_2exp_si(move.raw(), move.raw(), 64);
    arb_get_ubound_arf(arb_midref(move.raw()), move.raw(), precision);
    Integer units;
    arf_get_fmpz(units.raw(), arb_midref(move.raw()), ARF_RND_CEIL);
    speed.push_back(units.bits() > 63 ? half_turn : fmpz_get_ui(units.raw()));
    mag_zero(arb_radref(move.raw()));
    speeds += speed.back();
    arb_swap(before.raw(), high.raw());
    arb_mul(high.raw(), before.raw(), interval.high.raw(), precision);
    arb_mul(power.raw(), power.raw(), middle.raw(), precision);
  }
  // Each angle is off by less than 2 k 2^-128 turns from its frequency and 2^-64 from the lower
  // half: 2 units.
  const std::uint64_t allowed = static_cast<std::uint64_t>(planes_) << Versine::scale_bits;
  const auto nonnegative = [&](std::uint32_t k) {
    std::uint64_t sum = 0;
    for (size_t i = 0; i < turns.size(); ++i) {
      const Wide far = from_whole_turn(turns[i] * k) + static_cast<Wide>(speed[i]) * k + 2;
      sum += versine_.upper(far < half_turn ? static_cast<std::uint64_t>(far) : half_turn);
    }
    return sum <= allowed;
  };
  work_ += static_cast<std::int64_t>(lags.size()) * planes_;
  if (work_ > work_limit) throw Rejected("not decided: more than 1e11 steps");
  std::vector<std::uint32_t> open;
  for (const std::uint32_t k : lags) {
    if (nonnegative(k)) continue;
    // Where all angles together swing by less than a tenth of a turn, bisection in Arb is the
    // better tool.
    if (speeds * k < half_turn / 5)
      one_sign(Integer(k), 1, interval);
    else
      open.push_back(k);
  }
  if (open.empty()) return;
  lags = {};
  all_lags(open, {interval.low, middle}, depth + 1);
  all_lags(std::move(open), {middle, interval.high}, depth + 1);
}

}  // namespace

void check_base_set(const Object& fact) {
  const Integer dim = fact.integer("dim"), length = fact.integer("length");
  const std::vector<std::string> cuts = fact.texts("cuts");
  const nlohmann::json& pieces = fact.at("pieces");
  if (!pieces.is_array()) fact.fail("pieces", "no list");
  Context context;
  Node *lo = nullptr, *hi = nullptr;
  std::string lo_text;
  if (!fact.at("infimum").is_null()) {
    const Object infimum = fact.object("infimum");
    lo_text = infimum.text("lo");
    lo = &infimum.sum(context, "lo");
    hi = &infimum.sum(context, "hi");
    infimum.done();
  }
  fact.done();
  if (dim < Integer(2) || dim > Integer(8192) || mod(dim, 2) != Integer(0))
    throw Rejected("dim: not even, or not in 2..8192");
  if (length < Integer(1) || length > Integer(lag_limit)) throw Rejected("length: not in 1..2^24");
  if (cuts.size() != pieces.size() + 1) throw Rejected("cuts: not one more than pieces");

  Bases bases(fmpz_get_si(dim.raw()) / 2);
  Value cut, lo_value;
  Ball q;
  if (lo != nullptr) lo_value = context.value(*lo, precisions[1]);
  bool rejected_so_far = true, found = lo == nullptr;
  for (size_t i = 0; i < cuts.size(); ++i) {
    const std::string name = "cuts[" + std::to_string(i) + "]";
    Context here;
    Node* node = nullptr;
    try {
      node = &here.sum(cuts[i]);
    } catch (const Malformed& e) {
      fact.fail(name, e.what());
    }
    const Value next = here.value(*node, precisions[1]);
    if (compare(next, i == 0 ? Value() : cut, precisions[1]) <= 0)
      throw Rejected(name + (i == 0 ? ": not positive" : ": not above the one before"));
    const Ball q_next = bases.q(here, *node);
    if (i > 0) {
      const std::string piece = "pieces[" + std::to_string(i - 1) + "]";
      const nlohmann::json& p = pieces[i - 1];
      const auto word = [&](size_t j) {
        if (!p.is_array() || j >= p.size() || !p[j].is_string())
          fact.fail(piece, "no list of strings");
        return p[j].get<std::string>();
      };
      const std::string kind = word(0);
      if ((kind != "rejected" && kind != "admissible" && kind != "undecided") ||
          p.size() != (kind == "rejected" ? 2 : 1))
        fact.fail(piece, R"(neither ["rejected", k], ["admissible"] nor ["undecided"])");
      try {
        if (kind == "rejected") {
          const Integer k = parse_integer(word(1));
          if (k < Integer(1) || k > length)
            throw Rejected("lag " + k.text() + " is not in 1..length");
          bases.one_sign(k, -1, Bases::between(q, q_next));
        } else if (kind == "admissible") {
          bases.admissible(fmpz_get_si(length.raw()), Bases::between(q, q_next));
        }
      } catch (const Rejected& e) {
        throw Rejected(piece + " (" + kind + "): " + e.what());
      }
      rejected_so_far = rejected_so_far && kind == "rejected";
    }
    if (lo != nullptr && rejected_so_far &&
        (cuts[i] == lo_text ||
         (next.exact() && lo_value.exact() && compare(next, lo_value, precisions[1]) == 0)))
      found = true;
    cut = next;
    q = q_next;
  }
  if (!found) throw Rejected("infimum: lo is no cut up to which all pieces are rejected");
  if (hi != nullptr) {
    if (compare(context.value(*hi, precisions[1]), lo_value, precisions[1]) < 0)
      throw Rejected("infimum: hi is below lo");
    const Ball point = bases.q(context, *hi);
    try {
      bases.admissible(fmpz_get_si(length.raw()), Bases::between(point, point));
    } catch (const Rejected& e) {
      throw Rejected(std::string("infimum.hi: ") + e.what());
    }
  }
}

}  // namespace checker
