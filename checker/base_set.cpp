// The fact `base-set`: the sign of B_k(b) = sum over i < D of cos(k q^i), q = b^(-1/D), for all b
// of an interval.
//
// One k is settled in Arb by bisection in q with the value in the middle and the slope on the
// interval; near an end of a piece, where B_k is all but zero, the slope keeps its sign, and the
// end alone decides. All k at once are first looked at in integers: k q^i moves by at most k times
// what q^i moves, and B_k/D + 1 is the mean of 1 - cos(k q^i + pi).
#include <numeric>

#include "expression.hpp"
#include "planes.hpp"

namespace checker {

namespace {

constexpr long ends_bits = 192, sum_bits = 128;  // precision of ends of intervals in q and of B_k
constexpr long lag_limit = 1L << 24;             // longest length
constexpr long work_limit = 20'000'000'000;      // cosines in integers
constexpr long bisection_limit = 1'000'000;      // evaluations in Arb, of 64 planes

class Bases {
 public:
  explicit Bases(long planes) : planes_(planes) {}

  Ball q(const Value& base) const {
    const AtPrecision at(ends_bits + 64);
    return functions.at("exp")(functions.at("log")(base) / -planes_).enclosure();
  }

  /// Rejected unless B_k >= 0 for all these k and all bases between two with these q; a larger base
  /// is a smaller q.
  void admissible(const std::vector<long>& lags, const Ball& q_first, const Ball& q_last) {
    const AtPrecision at(ends_bits);
    admissible(lags, end_of(q_last, false), end_of(q_first, true), 0);
  }
  /// Rejected unless B_k < 0 there.
  void rejected(long k, const Ball& q_first, const Ball& q_last) {
    const AtPrecision at(ends_bits);
    one_sign(k, -1, end_of(q_last, false), end_of(q_first, true), 0);
  }

 private:
  // B_k and its slope, -k sum of i q^(i-1) sin(k q^i), on a ball of q, times the sign.
  std::pair<Ball, Ball> evaluate(long k, int sign, const Ball& q) {
    evaluations_ += 1 + planes_ / 64;
    const AtPrecision at(sum_bits);
    Ball power(1), before, value, slope, s, c;  // q^i, q^(i-1)
    for (long i = 0; i < planes_; ++i) {
      arb_sin_cos(s, c, power * Ball(k), precision);
      value = value + c;
      slope = slope - s * before * Ball(k * i);
      before = power;
      power = power * q;
    }
    return {value * Ball(sign), slope * Ball(sign)};
  }

  void one_sign(long k, int sign, const Ball& low, const Ball& high, int depth) {
    const std::string name = "B_" + std::to_string(k);
    const AtPrecision at(2 * ends_bits + 64);  // halving an interval is exact
    if (evaluations_ > bisection_limit || depth > 300) throw Rejected(name + " is not decided");
    const Ball middle = (low + high) / Ball(2), value = evaluate(k, sign, middle).first;
    const Ball slope = evaluate(k, sign, Ball(arb_union, low, high)).second;
    Ball steepness;
    arb_abs(steepness, slope);
    if (arb_gt(value, steepness * (high - middle))) return;
    const auto decided = [&](const Ball& at_end) {
      if (arb_is_nonpositive(at_end)) throw Rejected(name + " has the other sign at a base of it");
      return arb_is_positive(at_end) != 0;
    };
    decided(value);
    if (!arb_contains_zero(slope)) {  // monotone: one end decides
      const Ball& end = arb_is_positive(slope) ? low : high;
      if (!decided(evaluate(k, sign, end).first)) throw Rejected(name + " is not decided");
      return;
    }
    one_sign(k, sign, low, middle, depth + 1);
    one_sign(k, sign, middle, high, depth + 1);
  }

  void admissible(const std::vector<long>& lags, const Ball& low, const Ball& high, int depth) {
    const AtPrecision at(2 * ends_bits + 64);
    work_ += static_cast<long>(lags.size()) * planes_;
    if (depth > 60 || work_ > work_limit)
      throw Rejected("not decided at lag " + std::to_string(lags.front()));
    Planes planes(Ball(1));
    const Ball middle = (low + high) / Ball(2), radius = high - middle;
    Ball power(1), before(1);  // middle^i, high^(i-1)
    for (long i = 0; i < planes_; ++i) {
      const Ball move = Ball(i) * before * radius / Value(0, 2).enclosure();  // in turns
      planes.add(wrap_turns(Value(power), 64), two_to(63), floor(move, true, 64) + 1,
                 mpq_class(1, planes_));
      if (i > 0) before = before * high;
      power = power * middle;
    }
    std::vector<long> open;
    std::copy_if(lags.begin(), lags.end(), std::back_inserter(open),
                 [&](long k) { return !planes.exceed(k, static_cast<std::uint64_t>(k)); });
    if (open.size() <= 64) {
      for (const long k : open) one_sign(k, 1, low, high, 0);
      return;
    }
    admissible(open, low, middle, depth + 1);
    admissible(open, middle, high, depth + 1);
  }

  long planes_, work_ = 0, evaluations_ = 0;
};

}  // namespace

void check_base_set(const json& fact) {
  const mpz_class dim = integer(fact.at("dim")), length = integer(fact.at("length"));
  const auto cuts = get<Texts>(fact, "cuts");
  const auto pieces = get<std::vector<Texts>>(fact, "pieces");
  const json& infimum = fact.at("infimum");
  if (!infimum.is_null()) check_keys(infimum, {"lo", "hi"});
  if (dim < 2 || dim > 8192 || dim % 2 != 0) throw Rejected("dim: not even, or not in 2..8192");
  if (length < 1 || length > lag_limit) throw Rejected("length: not in 1..2^24");
  if (cuts.size() != pieces.size() + 1) throw Rejected("cuts: not one more than pieces");

  Bases bases(dim.get_si() / 2);
  std::vector<long> lags(length.get_ui());
  std::iota(lags.begin(), lags.end(), 1);
  const AtPrecision at(512);
  Context context(fact);
  const auto evaluate = [&](const std::string& text) { return context.value(context.parse(text)); };
  const std::string lo_text = infimum.is_null() ? "1" : get(infimum, "lo");
  const Value lo = within("infimum.lo", [&] { return evaluate(lo_text); });
  Value cut;
  Ball q;
  bool all_rejected = true, found = false;  // lo among the cuts up to which all are rejected
  for (size_t i = 0; i < cuts.size(); ++i) {
    within("cuts[" + std::to_string(i) + "]", [&] {
      const Value next = evaluate(cuts[i]);
      if (compare(next, cut) <= 0) throw Rejected("not above the one before, or not positive");
      cut = next;
    });
    const Ball q_before = std::exchange(q, bases.q(cut));
    if (i > 0) {
      within("pieces[" + std::to_string(i - 1) + "]", [&] {
        const Texts& words = pieces[i - 1];
        if (words == Texts{"admissible"}) {
          bases.admissible(lags, q_before, q);
        } else if (words.size() == 2 && words[0] == "rejected") {
          const mpz_class k = integer(words[1]);
          if (k < 1 || k > length) throw Rejected("lag " + k.get_str() + " is not in 1..length");
          bases.rejected(k.get_si(), q_before, q);
        } else if (words != Texts{"undecided"}) {
          throw Malformed(R"(neither ["rejected", k], ["admissible"] nor ["undecided"])");
        }
        all_rejected = all_rejected && words[0] == "rejected";
      });
    }
    const bool same = cuts[i] == lo_text || (cut.exact && lo.exact && compare(cut, lo) == 0);
    found = found || (all_rejected && same);
  }
  if (infimum.is_null()) return;
  if (!found) throw Rejected("infimum: lo is no cut up to which all pieces are rejected");
  within("infimum.hi", [&] {
    const Value hi = evaluate(get(infimum, "hi"));
    if (compare(hi, lo) < 0) throw Rejected("below lo");
    bases.admissible(lags, bases.q(hi), bases.q(hi));
  });
}

}  // namespace checker
