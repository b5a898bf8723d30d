// The fact `base-set`: the sign of B_k(b) = sum over i < D of cos(k q^i), q = b^(-1/D), for all b
// of an interval.
//
// One k is settled in Arb by bisection in q with value, slope and a bound of the curvature; near an
// end of a piece, where B_k is all but zero, the slope keeps its sign, and the end alone decides.
// All k at once are first looked at in integers: k q^i moves by at most k times what q^i moves, and
// B_k/D + 1 is the mean of 1 - cos(k q^i + pi).
#include <numeric>

#include "facts.hpp"

namespace checker {

namespace {

constexpr long ends_bits = 192,
               sum_bits = 128;                // precision of the ends of intervals in q and of B_k
constexpr long lag_limit = 1L << 24;          // longest length
constexpr long work_limit = 100'000'000'000;  // cosines in integers
constexpr long bisection_limit = 5'000'000;   // evaluations in Arb, of 64 planes

struct Interval {
  Ball low, high;  // of q, exact
  Ball middle() const { return (low + high) * Ball(mpq_class(1, 2)); }
};

class Bases {
 public:
  explicit Bases(long planes) : planes_(planes) {}

  Ball q(Value base) const {
    const AtPrecision at(ends_bits + 64);
    functions.at("log")(base);
    base /= -planes_;
    functions.at("exp")(base);
    return base.enclosure();
  }
  /// Rejected unless sign * B_k > 0 on the interval.
  void one_sign(long k, int sign, const Interval& interval) {
    bisect(k, sign, interval, evaluate(k, interval.high).curvature, 0);
  }
  /// Rejected unless B_k >= 0 on the interval for all these k.
  void admissible(const std::vector<long>& lags, const Interval& interval, int depth = 0);

 private:
  struct Point {
    Ball value, slope, curvature;
  };
  // B_k, its slope -k sum of i q^(i-1) sin(k q^i), and a bound of its second derivative that grows
  // with q: the sum of (k i q^(i-1))^2 + k i (i-1) q^(i-2).
  Point evaluate(long k, const Ball& q) const {
    const AtPrecision at(sum_bits);
    Point out;
    Ball power(1), before, second, s, c;  // q^i, q^(i-1), q^(i-2)
    for (long i = 0; i < planes_; ++i) {
      arb_mul_si(c, power, k, precision);
      arb_sin_cos(s, c, c, precision);
      out.value = out.value + c;
      arb_mul_si(c, before, k * i, precision);
      out.slope = out.slope - s * c;
      out.curvature = out.curvature + c * c + second * Ball(k * i * (i - 1));
      second = std::exchange(before, power);
      power = power * q;
    }
    return out;
  }
  void bisect(long k, int sign, const Interval& interval, const Ball& curvature, int depth);

  long planes_, work_ = 0, evaluations_ = 0;
};

// The bases between two with these q; a larger base is a smaller q.
Interval between(const Ball& q_first, const Ball& q_last) {
  Interval out;
  arb_get_lbound_arf(arb_midref(out.low), q_last, ends_bits);
  arb_get_ubound_arf(arb_midref(out.high), q_first, ends_bits);
  return out;
}

void Bases::bisect(long k, int sign, const Interval& interval, const Ball& curvature, int depth) {
  const std::string name = "B_" + std::to_string(k);
  const AtPrecision at(2 * ends_bits + 64);   // halving an interval is exact
  const auto good = [&](const Ball& value) {  // sign * value > 0; Rejected if surely not
    const Ball turned = Ball(sign) * value;
    if (arb_is_nonpositive(turned)) throw Rejected(name + " has the other sign at a base of it");
    return arb_is_positive(turned) != 0;
  };
  evaluations_ += 1 + planes_ / 64;
  if (evaluations_ > bisection_limit || depth > 300) throw Rejected(name + " is not decided");
  const Ball middle = interval.middle(), radius = middle - interval.low;
  const Point m = evaluate(k, middle);
  Ball size, steepness;
  arb_abs(size, m.value);
  arb_abs(steepness, m.slope);
  const Ball bend = curvature * radius;  // how far the slope can move
  if (good(m.value) && arb_gt(size, (steepness + bend) * radius)) return;
  if (arb_gt(steepness, bend)) {  // monotone: one end decides
    const bool at_low = (arb_is_positive(m.slope) != 0) == (sign > 0);
    if (!good(evaluate(k, at_low ? interval.low : interval.high).value))
      throw Rejected(name + " is not decided");
    return;
  }
  bisect(k, sign, {interval.low, middle}, curvature, depth + 1);
  bisect(k, sign, {middle, interval.high}, curvature, depth + 1);
}

void Bases::admissible(const std::vector<long>& lags, const Interval& interval, int depth) {
  const AtPrecision at(2 * ends_bits + 64);
  work_ += static_cast<long>(lags.size()) * planes_;
  if (depth > 60 || work_ > work_limit)
    throw Rejected("not decided at lag " + std::to_string(lags.front()));
  Planes planes(Ball(1));
  const Ball middle = interval.middle(), radius = middle - interval.low;
  Ball power(1), high(1);  // middle^i, interval.high^(i-1)
  for (long i = 0; i < planes_; ++i) {
    const Ball move = Ball(i) * high * radius / (Ball(2) * pi());  // of middle^i, in turns
    planes.add(wrap_turns(Value(power), 0, 128), two_to(127), end_of(move, true, ARF_RND_CEIL, 64),
               mpq_class(1, planes_));
    if (i > 0) high = high * interval.high;
    power = power * middle;
  }
  std::vector<long> open;
  std::copy_if(lags.begin(), lags.end(), std::back_inserter(open),
               [&](long k) { return !planes.exceed(k, static_cast<std::uint64_t>(k)); });
  if (open.size() <= 64) {
    for (const long k : open) one_sign(k, 1, interval);
    return;
  }
  admissible(open, {interval.low, middle}, depth + 1);
  admissible(open, {middle, interval.high}, depth + 1);
}

}  // namespace

void check_base_set(const json& fact) {
  check_keys(fact, {"kind", "dim", "length", "cuts", "pieces", "infimum"});
  const mpz_class dim = integer(fact.at("dim")), length = integer(fact.at("length"));
  const auto cuts = get<Texts>(fact, "cuts");
  const auto pieces = get<json::array_t>(fact, "pieces");
  const json& infimum = fact.at("infimum");
  if (!infimum.is_null()) check_keys(infimum, {"lo", "hi"});
  if (dim < 2 || dim > 8192 || dim % 2 != 0) throw Rejected("dim: not even, or not in 2..8192");
  if (length < 1 || length > lag_limit) throw Rejected("length: not in 1..2^24");
  if (cuts.size() != pieces.size() + 1) throw Rejected("cuts: not one more than pieces");

  Bases bases(dim.get_si() / 2);
  std::vector<long> lags(length.get_ui());
  std::iota(lags.begin(), lags.end(), 1);
  const AtPrecision at(512);
  const auto evaluate = [](const std::string& expression) {
    Context context;
    return context.value(context.parse(expression));
  };
  const std::string lo_text = infimum.is_null() ? "1" : get(infimum, "lo");
  const Value lo = within("infimum.lo", [&] { return evaluate(lo_text); });
  Value cut;
  bool all_rejected = true, found = false;
  Ball q;
  for (size_t i = 0; i < cuts.size(); ++i) {
    const Value before = cut;
    const Ball q_before = q;
    within("cuts[" + std::to_string(i) + "]", [&] {
      cut = evaluate(cuts[i]);
      if (compare(cut, before) <= 0) throw Rejected("not above the one before, or not positive");
      q = bases.q(cut);
    });
    if (i > 0) {
      within("pieces[" + std::to_string(i - 1) + "]", [&] {
        const json& piece = pieces[i - 1];
        const auto words = piece.get<Texts>();
        if (words == Texts{"admissible"}) {
          bases.admissible(lags, between(q_before, q));
        } else if (words.size() == 2 && words[0] == "rejected") {
          const mpz_class k = integer(piece[1]);
          if (k < 1 || k > length) throw Rejected("lag " + k.get_str() + " is not in 1..length");
          bases.one_sign(k.get_si(), -1, between(q_before, q));
        } else if (words != Texts{"undecided"}) {
          throw Malformed(R"(neither ["rejected", k], ["admissible"] nor ["undecided"])");
        }
        all_rejected = all_rejected && words[0] == "rejected";
      });
    }
    found = found || (all_rejected &&
                      (cuts[i] == lo_text || (cut.exact && lo.exact && compare(cut, lo) == 0)));
  }
  if (infimum.is_null()) return;
  if (!found) throw Rejected("infimum: lo is no cut up to which all pieces are rejected");
  within("infimum.hi", [&] {
    const Value hi = evaluate(get(infimum, "hi"));
    if (compare(hi, lo) < 0) throw Rejected("below lo");
    bases.admissible(lags, between(bases.q(hi), bases.q(hi)));
  });
}

}  // namespace checker
