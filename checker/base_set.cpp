// The fact `base-set`: the sign of B_k(b) = sum over i < D of cos(k q^i), q = b^(-1/D), for all b
// of an interval.
//
// One k is settled in Arb by bisection in q with value, slope and a bound of the curvature; near an
// end of a piece, where B_k is all but zero, the slope keeps its sign, and the end alone decides.
// All k at once are first looked at in integers: k q^i moves by at most k times what q^i moves, and
// B_k/D + 1 is the mean of 1 - cos(k q^i + pi).
#include <numeric>

#include "facts.hpp"
#include "turns.hpp"

namespace checker {

namespace {

constexpr long precision = 192;               // of the ends of intervals in q
constexpr long sum_precision = 128;           // of B_k and its slope
constexpr long lag_limit = 1L << 24;          // longest length
constexpr long work_limit = 100'000'000'000;  // cosines in integers
constexpr long bisection_limit = 100'000;     // evaluations for one lag on one piece

struct Interval {  // of q, with exact ends
  Ball low, high;
  Ball middle() const {
    Ball m;
    arb_add(m, low, high, ARF_PREC_EXACT);
    arb_mul_2exp_si(m, m, -1);
    return m;
  }
  Ball radius() const {
    Ball r;
    arb_sub(r, high, low, precision);
    arb_mul_2exp_si(r, r, -1);
    return r;
  }
};

// The bases between two whose q lie in the balls; a larger base is a smaller q.
Interval between(const Ball& q_first, const Ball& q_last) {
  Interval out;
  arb_get_lbound_arf(arb_midref(out.low), q_last, precision);
  arb_get_ubound_arf(arb_midref(out.high), q_first, precision);
  return out;
}

class Bases {
 public:
  explicit Bases(long planes) : planes_(planes) {}

  Ball q(Value base) const {
    functions.at("log")(base, precision + 64);
    base.divide(mpq_class(-planes_), precision + 64);
    functions.at("exp")(base, precision);
    return base.enclosure(precision);
  }
  /// Rejected unless sign * B_k > 0 on the interval.
  void one_sign(long k, int sign, const Interval& interval) {
    long left = bisection_limit;
    bisect(k, sign, interval, curvature(k, interval.high), left);
  }
  /// Rejected unless B_k >= 0 on the interval for all these k.
  void admissible(const std::vector<std::uint32_t>& lags, const Interval& interval, int depth = 0);

 private:
  // B_k and its slope -k sum of i q^(i-1) sin(k q^i).
  std::pair<Ball, Ball> evaluate(long k, const Ball& q) const {
    Ball value, slope, power(1, 2), before, s, c;  // power: q^i
    for (long i = 0; i < planes_; ++i) {
      arb_mul_si(c, power, k, sum_precision);
      arb_sin_cos(s, c, c, sum_precision);
      arb_add(value, value, c, sum_precision);
      arb_mul(s, s, before, sum_precision);
      arb_submul_si(slope, s, i, sum_precision);
      arb_set(before, power);
      arb_mul(power, power, q, sum_precision);
    }
    arb_mul_si(slope, slope, k, sum_precision);
    return {value, slope};
  }
  // |B_k''| <= sum of k i (i-1) q^(i-2) + (k i q^(i-1))^2, which grows with q.
  Ball curvature(long k, const Ball& q) const {
    Ball out, power(1, 2), before, term;  // power: q^(i-1)
    for (long i = 1; i < planes_; ++i) {
      arb_mul_si(term, power, k * i, 64);
      arb_addmul(out, term, term, 64);
      arb_mul_si(term, before, k * i * (i - 1), 64);
      arb_add(out, out, term, 64);
      arb_set(before, power);
      arb_mul(power, power, q, 64);
    }
    return out;
  }
  void bisect(long k, int sign, const Interval& interval, const Ball& curvature, long& left) const;

  long planes_, work_ = 0;
};

void Bases::bisect(long k, int sign, const Interval& interval, const Ball& curvature,
                   long& left) const {
  const std::string name = "B_" + std::to_string(k);
  const auto good = [&](Ball value) {  // sign * value > 0; Rejected if surely not
    if (sign < 0) arb_neg(value, value);
    if (arb_is_nonpositive(value)) throw Rejected(name + " has the other sign at a base of it");
    return arb_is_positive(value) != 0;
  };
  if (--left < 0) throw Rejected(name + " is not decided");
  const Ball middle = interval.middle(), radius = interval.radius();
  const auto [value, slope] = evaluate(k, middle);
  Ball move, swing, bound;  // how far the slope and the value can move
  arb_mul(move, curvature, radius, sum_precision);
  arb_abs(swing, slope);
  const bool monotone = arb_gt(swing, move) != 0;
  arb_mul_2exp_si(move, move, -1);
  arb_add(swing, swing, move, sum_precision);
  arb_mul(swing, swing, radius, sum_precision);
  arb_abs(bound, value);
  if (good(value) && arb_gt(bound, swing)) return;
  if (monotone) {
    const bool at_low = (arb_is_positive(slope) != 0) == (sign > 0);
    if (!good(evaluate(k, at_low ? interval.low : interval.high).first))
      throw Rejected(name + " is not decided");
    return;
  }
  bisect(k, sign, {interval.low, middle}, curvature, left);
  bisect(k, sign, {middle, interval.high}, curvature, left);
}

void Bases::admissible(const std::vector<std::uint32_t>& lags, const Interval& interval,
                       int depth) {
  work_ += static_cast<long>(lags.size()) * planes_;
  if (depth > 60 || work_ > work_limit)
    throw Rejected("not decided at lag " + std::to_string(lags.front()));
  Planes planes(Ball(1, 2));
  const Ball middle = interval.middle();
  Value power(1), high(1);
  const mpz_class most = mpz_class(1) << 63, half = mpz_class(1)
                                                    << 127;  // half a turn, in 2^-64 and 2^-128
  for (long i = 0; i < planes_; ++i) {
    Value move(interval.radius());  // |q^i - middle^i| <= i high^(i-1) radius, in turns
    move.multiply(mpq_class(i), precision);
    move.multiply(high, precision);
    move.divide(Value(0, 2), precision);
    move.multiply(mpq_class(mpz_class(1) << 64), precision);
    const mpz_class speed = end_of(move.enclosure(precision), true, ARF_RND_CEIL);
    planes.add(wrap_turns(power, 0, 128, precision), half, (speed > most ? most : speed).get_ui(),
               mpq_class(1, planes_));
    if (i > 0) high.multiply(Value(interval.high), precision);
    power.multiply(Value(middle), precision);
  }
  std::vector<std::uint32_t> open;
  for (const std::uint32_t k : lags) {
    if (planes.exceed(k, k)) continue;
    // Where all angles together swing by less than a tenth of a turn, bisection is the better tool.
    if (planes.speeds() * k < (std::uint64_t{1} << 63) / 5)
      one_sign(k, 1, interval);
    else
      open.push_back(k);
  }
  if (open.empty()) return;
  admissible(open, {interval.low, middle}, depth + 1);
  admissible(open, {middle, interval.high}, depth + 1);
}

}  // namespace

void check_base_set(const json& fact) {
  keys(fact, {"kind", "dim", "length", "cuts", "pieces", "infimum"});
  const mpz_class dim = integer(fact, "dim"), length = integer(fact, "length");
  const std::vector<std::string> cuts = texts(fact, "cuts");
  const json &pieces = list(fact, "pieces"), &infimum = fact.at("infimum");
  if (!infimum.is_null()) keys(infimum, {"lo", "hi"});
  if (dim < 2 || dim > 8192 || dim % 2 != 0) throw Rejected("dim: not even, or not in 2..8192");
  if (length < 1 || length > lag_limit) throw Rejected("length: not in 1..2^24");
  if (cuts.size() != pieces.size() + 1) throw Rejected("cuts: not one more than pieces");

  Bases bases(dim.get_si() / 2);
  std::vector<std::uint32_t> lags(length.get_ui());
  std::iota(lags.begin(), lags.end(), 1U);
  const auto evaluate = [](const std::string& expression) {
    Context context;
    return context.value(context.parse(expression), 512);
  };
  Value cut, lo;
  if (!infimum.is_null()) lo = within("infimum.lo", [&] { return evaluate(text(infimum, "lo")); });
  bool all_rejected = true, found = false;
  Ball q;
  for (size_t i = 0; i < cuts.size(); ++i) {
    const Value before = cut;
    const Ball q_before = q;
    within("cuts[" + std::to_string(i) + "]", [&] {
      cut = evaluate(cuts[i]);
      if (compare(cut, before, 512) <= 0)
        throw Rejected("not above the one before, or not positive");
      q = bases.q(cut);
    });
    if (i > 0) {
      within("pieces[" + std::to_string(i - 1) + "]", [&] {
        const json& piece = pieces[i - 1];
        if (piece == json{"admissible"}) {
          bases.admissible(lags, between(q_before, q));
        } else if (piece.is_array() && piece.size() == 2 && piece[0] == "rejected" &&
                   piece[1].is_string()) {
          const mpz_class k = integer(piece[1].get<std::string>());
          if (k < 1 || k > length) throw Rejected("lag " + k.get_str() + " is not in 1..length");
          bases.one_sign(k.get_si(), -1, between(q_before, q));
        } else if (piece != json{"undecided"}) {
          throw Malformed(R"(neither ["rejected", k], ["admissible"] nor ["undecided"])");
        }
        all_rejected = all_rejected && piece[0] == "rejected";
      });
    }
    found =
        found ||
        (all_rejected && !infimum.is_null() &&
         (cuts[i] == text(infimum, "lo") || (cut.exact && lo.exact && compare(cut, lo, 512) == 0)));
  }
  if (infimum.is_null()) return;
  if (!found) throw Rejected("infimum: lo is no cut up to which all pieces are rejected");
  within("infimum.hi", [&] {
    const Value hi = evaluate(text(infimum, "hi"));
    if (compare(hi, lo, 512) < 0) throw Rejected("below lo");
    bases.admissible(lags, between(bases.q(hi), bases.q(hi)));
  });
}

}  // namespace checker
