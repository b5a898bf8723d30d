// The fact `softmax`: the sum Z of exp(-scale S(t)) over a range of lags t, S a sum of cosines, and
// with `bound` what these weights say of every head of equal keys.
//
// Angles and exponentials come from Arb; the many sums of products are taken in doubles (IEEE, to
// nearest, steps fused or not), and Arb takes over with their errors added. Amplitudes are divided
// by what they add up to, A, so that S = offset + A s with |s| <= 1. Let u = 2^-53.
//
// s, of n planes: with x + iy a plane's amplitude and phase at the start of a block and c + id the
// turn from there, its part is xc - yd. Each of the four is off by u of itself and 2^-80; both
// products and their difference lose u more. That is 4.1 u for all planes together, since |xc| +
// |yd| <= |x + iy|, and these add up to 1. The n sums are at most 1 and lose u each. So s is off by
// less than (n + 10) u.
//
// Moments: a block has weights v and factors y, both at most 1.1, in 8 lanes that take 128 products
// each. Adding up loses 135 u of the sum of the weights, and v, y and their product 4 u; 2^-45 is
// 256 u. That sum is above 0.9, or exactly 0, so what underflows is not felt. The weights are the
// midpoints of balls, whose radii add up to at most that of the ball of their sum.
#include <array>
#include <cmath>
#include <numeric>

#include "expression.hpp"

namespace checker {

namespace {

constexpr long lag_limit = 1 << 24, distance_limit = 1 << 25;  // lags, and how far they are
constexpr size_t term_limit = 4096;                            // terms, and frequencies of a bound
constexpr long cosine_limit = 1L << 32;                        // planes times lags
constexpr long steepness_limit = 100'000'000;                  // scale times A
constexpr size_t block = 1024, lanes = 8;

using Doubles = std::vector<double>;

// A complex number, mostly e^(i angle).
struct Turn {
  Ball cos, sin;
};
Turn operator+(const Turn& a, const Turn& b) { return {a.cos + b.cos, a.sin + b.sin}; }
Turn operator*(const Turn& a, const Turn& b) {
  return {a.cos * b.cos - a.sin * b.sin, a.cos * b.sin + a.sin * b.cos};
}
Turn turn(const Ball& angle) {
  Turn out;
  arb_sin_cos(out.sin, out.cos, angle, precision);
  return out;
}

double dot(const Doubles& x, const Doubles& y) {
  std::array<double, lanes> sums{};
  for (size_t j = 0; j < x.size(); j += lanes)
    for (size_t k = 0; k < lanes; ++k) sums[k] += x[j + k] * y[j + k];
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

struct Plane {
  Ball frequency;
  Turn amplitude, start, moment;  // over A; e^(i frequency t) at a block's start; times weights
  Doubles cosines, sines;         // of the turns within a block
};

class Softmax {
 public:
  Softmax(const json& fact, long first, long last)
      : context_(fact), scale_(number(fact, "scale")), first_(first), last_(last) {
    if (scale_ <= 0 || scale_ > 1'000'000) throw Rejected("scale: not in (0, 10^6]");
    if (fact.contains("bound")) {
      const auto frequencies = get<Texts>(fact["bound"], "frequencies");
      if (frequencies.empty() || frequencies.size() > term_limit)
        throw Rejected("bound: frequencies: not 1 to 4096");
      for (const std::string& text : frequencies) plane(text);
    }
    bounded_ = planes_.size();  // these come first

    const json& sum = fact.at("sum");
    check_keys(sum, {"offset", "terms"});
    offset_ = number(sum, "offset");
    const auto terms = get<json::array_t>(sum, "terms");
    if (terms.size() > term_limit) throw Rejected("sum: more than 4096 terms");
    Ball total;
    for (const json& term : terms) {
      check_keys(term, {"amplitude", "frequency", "phase"});
      const mpq_class a = number(term, "amplitude");
      Plane& p = plane(get(term, "frequency"));
      p.amplitude = p.amplitude + Turn{Ball(a), Ball()} * turn(value(get(term, "phase")));
      total = total + Ball(abs(a));
    }
    total = end_of(total, true);  // any A that is not less will do
    for (Plane& p : planes_)
      if (!arb_is_zero(total)) p.amplitude = {p.amplitude.cos / total, p.amplitude.sin / total};
    steepness_ = Ball(scale_) * total;
    if (!arb_lt(steepness_, Ball(steepness_limit)))
      throw Rejected("not decided: scale times the amplitudes is beyond 10^8");
    if (static_cast<long>(planes_.size()) > cosine_limit / (last - first + 1))
      throw Rejected("not decided: planes times lags are beyond 2^32");
  }

  void add_up() {
    const auto lags = static_cast<size_t>(last_ - first_ + 1);
    const size_t width = std::min(block, (lags + lanes - 1) / lanes * lanes);
    for (Plane& p : planes_) {
      std::vector<Turn> turns{{Ball(1), Ball()}, turn(p.frequency)};
      for (size_t j = 2; j < width; ++j) turns.push_back(turns[j / 2] * turns[j - j / 2]);
      for (const Turn& x : turns) {
        p.cosines.push_back(rounded(x.cos));
        p.sines.push_back(rounded(x.sin));
      }
    }
    for (size_t done = 0; done < lags; done += width)
      add_block(first_ + static_cast<long>(done), std::min(width, lags - done), width);
  }

  void check_partition(const mpq_class& lo, const mpq_class& hi) const {
    const Ball z = (origin_ + others_) * Ball(arb_exp, Ball(mpq_class(-scale_ * offset_)));
    if (!arb_ge(z, Ball(lo)) || !arb_le(z, Ball(hi)))
      throw Rejected("partition: " + Value(z).text() + " is not surely in its [lo, hi]");
  }

  // To shift S and multiply all weights accordingly changes nothing here: no offset is needed.
  void check_bound(const mpq_class& mass) const {
    Ball farthest;
    for (size_t f = 0; f < bounded_; ++f) {
      const Turn& m = planes_[f].moment;
      const Ball real = others_ - m.cos;
      farthest = Ball(arb_max, farthest, Ball(arb_sqrtpos, real * real + m.sin * m.sin));
    }
    const Ball least =
        Ball(arb_log, others_) + (steepness_ * along_ - Ball(scale_) * farthest) / others_;
    const Ball most(arb_log, Ball(mpq_class(1 / mass - 1)));
    if (!arb_gt(least, most))
      throw Rejected("bound: " + Value(least).text() + " is not surely above " +
                     Value(most).text());
  }

 private:
  Ball value(const std::string& text) {
    return settle([&] { return context_.value(context_.parse(text)); }).enclosure();
  }
  Plane& plane(const std::string& frequency) {
    const auto [at, fresh] = known_.emplace(frequency, planes_.size());
    if (fresh) planes_.emplace_back().frequency = value(frequency);
    return planes_[at->second];
  }

  void add_block(long start, size_t count, size_t width) {
    Doubles s(width), weights(width);
    for (Plane& p : planes_) {
      p.start = turn(p.frequency * Ball(start));
      const Turn now = p.amplitude * p.start;
      const double x = rounded(now.cos), y = rounded(now.sin);
      for (size_t j = 0; j < width; ++j) s[j] += x * p.cosines[j] - y * p.sines[j];
    }
    const double error = std::ldexp(static_cast<double>(planes_.size() + 10), -53);
    const auto weight = [&](double at, double unit) {  // `unit` has the weight 1
      Ball above = exactly(at) - exactly(unit);
      arb_add_error(above, exactly(error));
      return Ball(arb_exp, Ball() - steepness_ * above);
    };

    const auto origin = static_cast<size_t>(-start);  // the place of lag 0, which is apart
    double least = 2;                                 // of s, which is less
    for (size_t j = 0; j < count; ++j)
      if (j != origin) least = std::min(least, s[j]);
    Ball sum, slack;
    for (size_t j = 0; j < count; ++j) {
      if (j == origin) {
        origin_ = weight(s[j], 0);
        continue;
      }
      const Ball w = weight(s[j], least);
      weights[j] = middle(w);
      sum = sum + w;
    }
    arb_get_rad_arb(slack, sum);
    slack = slack + sum * exactly(std::ldexp(1, -45) + error);
    const Ball unit(arb_exp, steepness_ * exactly(-least));
    const auto moment = [&](const Doubles& factors) {
      Ball out = exactly(dot(weights, factors));
      arb_add_error(out, slack);
      return out * unit;
    };
    others_ = others_ + sum * unit;
    along_ = along_ + moment(s);
    for (size_t f = 0; f < bounded_; ++f) {
      Plane& p = planes_[f];
      p.moment = p.moment + p.start * Turn{moment(p.cosines), moment(p.sines)};
    }
  }

  Context context_;
  mpq_class scale_, offset_;
  long first_, last_;
  std::map<std::string, size_t> known_;  // planes by their frequencies
  std::vector<Plane> planes_;
  size_t bounded_;
  Ball steepness_;                // scale times A
  Ball origin_, others_, along_;  // weights exp(-steepness s): of lag 0, of all others, times s
};

}  // namespace

void check_softmax(const json& fact) {
  const auto lag = [&](const std::string& key) {
    const mpz_class t = within(key, [&] { return integer(fact.at(key)); });
    if (abs(t) > distance_limit) throw Rejected(key + ": beyond 2^25");
    return t.get_si();
  };
  const long first = lag("first"), last = lag("last");
  if (last < first || last - first >= lag_limit) throw Rejected("last: not 1 to 2^24 lags");
  const json& partition = fact.at("partition");
  check_keys(partition, {"lo", "hi"});
  const mpq_class lo = number(partition, "lo"), hi = number(partition, "hi");
  mpq_class mass;
  if (fact.contains("bound")) {
    check_keys(fact["bound"], {"frequencies", "mass"});
    mass = number(fact["bound"], "mass");
    if (mass <= 0 || mass >= 1) throw Rejected("bound: mass: not in (0, 1)");
    if (first > 0 || last < 0 || first == last) throw Rejected("bound: not lag 0 and another");
  }
  Softmax sum(fact, first, last);
  sum.add_up();
  sum.check_partition(lo, hi);
  if (fact.contains("bound")) sum.check_bound(mass);
}

}  // namespace checker
