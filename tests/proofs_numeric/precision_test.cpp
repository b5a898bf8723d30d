#include "proofs_numeric/precision.hpp"

#include <tbb/global_control.h>

#include <bit>
#include <cmath>
#include <map>
#include <random>

#include "tests/catch.hpp"

using namespace ropewalk;
using namespace ropewalk::proofs_numeric;
using theory::Enclosure;
using theory::Formula;
using theory::Integer;
using theory::Rational;

namespace {

const double infinity = std::numeric_limits<double>::infinity();

Rational number(const char* text) { return *Formula::parse(text).rational(); }

const Pipeline& pipeline(std::string_view name) {
  for (const Pipeline& p : pipelines())
    if (p.name == name) return p;
  throw std::runtime_error("no pipeline " + std::string(name));
}

theory::Schedule llama() { return theory::default_schedule({500000, 128}); }

// `digits` is the true value to its last digit.
void check_worst(const std::vector<TableError>& records, std::int64_t length, const char* digits,
                 std::int64_t lag, std::size_t plane) {
  const TableError* e = worst(records, length);
  REQUIRE(e != nullptr);
  CAPTURE(text(e->error, 30), digits, lag, plane);
  CHECK(e->lag == lag);
  CHECK(e->plane == plane);
  const Rational value = number(digits);
  CHECK(abs(e->error.lo - value) < value / 1000000000000000000);
  CHECK(*e->error.relative_width() < number("1e-25"));
}

// ------------------------------------------------------- the model again, in rationals, by hand

Rational power_of_two(int e) {
  return e >= 0 ? Rational(Integer(1) << e) : Rational(1, Integer(1) << -e);
}

// Nothing for infinity.
std::optional<Rational> rounded(const Rational& x, const Format& format) {
  if (x == 0) return x;
  const Rational size = abs(x);
  int e = static_cast<int>(msb(numerator(size))) - static_cast<int>(msb(denominator(size)));
  if (size < power_of_two(e)) --e;
  e = std::max(e, format.least + format.precision - 1);  // of the smallest normal number
  const Rational step = power_of_two(e - format.precision + 1);
  Integer whole = theory::floor(Rational(size / step));
  const Rational rest = size / step - whole;
  if (rest > Rational(1, 2) || (rest == Rational(1, 2) && whole % 2 != 0)) ++whole;
  const Rational result = whole * step;
  if (result >= power_of_two(format.limit)) return std::nullopt;
  return x < 0 ? Rational(-result) : result;
}

Rational middle(const theory::Interval<60>& x) { return enclosure(x).middle(); }

struct ByHand {
  std::vector<TableError> records[4];
  std::vector<std::vector<Rational>> rows;
};

ByHand by_hand(const theory::Schedule& schedule, const Pipeline& p, int length) {
  using I = theory::Interval<60>;
  ByHand result;
  const Rational a = theory::enclose(schedule.attention_factor, 50).middle();
  const Rational factor = p.angles == fp64 ? Rational(theory::nearest_double(a))
                                           : Rational(schedule.attention_factor_float32);
  for (int t = 0; t <= length; ++t) {
    result.rows.emplace_back();
    for (std::size_t f = 0; f < schedule.frequencies.size(); ++f) {
      const I theta = schedule.frequencies[f].as<I>();
      const Rational w = p.inv_freq == fp64 ? *rounded(middle(theta), fp64)
                                            : *rounded(Rational(schedule.float32[f]), p.inv_freq);
      const Rational x = *rounded(Rational(w * *rounded(Rational(t), p.positions)), p.angles);
      const auto entry = [&](const I& value) {
        const Rational c = *rounded(middle(value), p.angles);
        return *rounded(*rounded(Rational(c * factor), p.angles), p.table);
      };
      const Rational c = entry(cos(I(x)));
      const Rational s = entry(sin(I(x)));
      result.rows.back().insert(result.rows.back().end(), {c, s});
      if (t == 0) continue;
      const I turned = I(t) * theta;
      const I dc = I(c) - I(a) * cos(turned);
      const I ds = I(s) - I(a) * sin(turned);
      const I all[] = {abs(dc), abs(ds), sqrt(abs(dc) * abs(dc) + abs(ds) * abs(ds)),
                       abs(I(x) - turned)};
      for (std::size_t q = 0; q < 4; ++q) {
        std::vector<TableError>& records = result.records[q];
        const Enclosure error = enclosure(all[q]);
        if (!records.empty() && error.lo <= records.back().error.hi) continue;
        if (!records.empty() && records.back().lag == t) records.pop_back();
        records.push_back({t, f, error});
      }
    }
  }
  return result;
}

void check_same(const std::vector<TableError>& records, const std::vector<TableError>& expected) {
  REQUIRE(records.size() == expected.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    CAPTURE(i, records[i].lag, records[i].plane, text(records[i].error, 40));
    CHECK(records[i].lag == expected[i].lag);
    CHECK(records[i].plane == expected[i].plane);
    CHECK(records[i].error.lo <= expected[i].error.hi);
    CHECK(records[i].error.hi >= expected[i].error.lo);
  }
}

}  // namespace

// --------------------------------------------------------------------------------------- rounding

TEST_CASE("precision: rounding to half precision and bfloat16, every number and every tie") {
  // The value of a bit pattern, also of the infinite one read as a number, by definition.
  const auto value = [](unsigned bits, int fraction_bits, int bias) {
    const int exponent = static_cast<int>(bits >> fraction_bits);
    const auto fraction = static_cast<double>(bits & ((1U << fraction_bits) - 1));
    const double one = std::ldexp(1.0, fraction_bits);
    return exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                         : std::ldexp(one + fraction, exponent - bias - fraction_bits);
  };
  const auto all = [&](const Format& format, int fraction_bits, int bias, unsigned infinite) {
    for (unsigned bits = 0; bits < infinite; ++bits) {
      const double below = value(bits, fraction_bits, bias);
      const double above = value(bits + 1, fraction_bits, bias);
      const double up = bits + 1 == infinite ? infinity : above;
      const double tie = below / 2 + above / 2;
      bool right = nearest(below, format) == below;
      right = right && nearest(tie, format) == (bits % 2 == 0 ? below : up);
      right = right && nearest(std::nextafter(tie, 0.0), format) == below;
      right = right && nearest(std::nextafter(tie, infinity), format) == up;
      right = right && nearest(-tie, format) == -nearest(tie, format);
      if (right) continue;
      CAPTURE(format.name, bits, below, above);
      FAIL_CHECK("rounds wrongly");
      return;
    }
  };
  all(fp16, 10, 15, 0x7c00);
  all(bf16, 7, 127, 0x7f80);
}

TEST_CASE("precision: rounding at places that one can see") {
  CHECK(nearest(65519.99, fp16) == 65504);
  CHECK(nearest(65520, fp16) == infinity);
  CHECK(nearest(-65520, fp16) == -infinity);
  CHECK(nearest(0x1p-25, fp16) == 0);
  CHECK(nearest(0x1.8p-25, fp16) == 0x1p-24);
  CHECK(nearest(257, bf16) == 256);
  CHECK(nearest(259, bf16) == 260);
  CHECK(nearest(2049, tf32) == 2048);
  CHECK(nearest(2051, tf32) == 2052);
  CHECK(nearest(65520, tf32) == 65536);
  CHECK(nearest(0x1p-300, fp32) == 0);
  CHECK(nearest(infinity, bf16) == infinity);
  CHECK(std::isnan(nearest(std::nan(""), bf16)));
  CHECK(std::isnan(nearest_product(0, infinity, fp16)));
  CHECK(std::signbit(nearest(-0.0, fp16)));
  CHECK(nearest_product(0x1p-14, 0x1p-11, fp16) == 0);  // half the smallest: to even
  CHECK(nearest_product(0x1.8p-14, 0x1p-11, fp16) == 0x1p-24);
}

TEST_CASE("precision: rounding to float and double agrees with the processor") {
  const auto mantissa = [](double x) {
    int exponent = 0;
    return std::frexp(x, &exponent);
  };
  std::mt19937_64 random(8);
  for (int i = 0; i < 50000; ++i) {
    const auto x = std::bit_cast<double>(random());
    if (!std::isfinite(x)) continue;
    // exponents in and around the range of floats
    const double y = std::ldexp(mantissa(x), static_cast<int>(random() % 300) - 160);
    const double z = std::bit_cast<double>(random());
    const auto u = static_cast<float>(y);
    const auto v = static_cast<float>(mantissa(z));
    const bool right =
        nearest(x, fp64) == x && nearest(y, fp32) == static_cast<double>(u) &&
        nearest_product(x, y, fp64) == x * y &&
        (!std::isfinite(z) || nearest_product(x, z, fp64) == x * z) &&
        (!std::isfinite(z) || nearest_product(u, v, fp32) == static_cast<double>(u * v));
    if (right) continue;
    CAPTURE(x, y, z);
    FAIL("rounds otherwise");
  }
  // Every bit of the product counts: (1 + 2^-52)(1 + 2^-52) = 1 + 2^-51 + 2^-104 above a tie.
  CHECK(nearest_product(1 + 0x1p-52, 1 + 0x1p-23, fp32) == 1 + 0x1p-23);
  CHECK(nearest_product(1 + 0x1p-24, 1 + 0x1p-52, fp32) == 1 + 0x1p-23);
  CHECK(nearest(1 + 0x1p-24, fp32) == 1);
}

TEST_CASE("precision: cosines and sines are the nearest numbers") {
  using I = theory::Interval<60>;
  std::mt19937_64 random(9);
  for (int i = 0; i < 200; ++i) {
    const double x =
        std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 60) - 80);
    for (const Format& format : {fp64, fp32, tf32, bf16, fp16}) {
      CAPTURE(x, format.name);
      REQUIRE(Rational(nearest_cosine(x, format)) == *rounded(middle(cos(I(x))), format));
      REQUIRE(Rational(nearest_sine(-x, format)) == *rounded(middle(sin(I(-x))), format));
    }
  }
  CHECK(nearest_cosine(0, fp16) == 1);
  CHECK(nearest_sine(0, fp16) == 0);
  CHECK(nearest_cosine(1.5703125, fp16) == 0x1.fb4p-12);  // a quarter turn but for 4.84e-4
  CHECK(nearest_sine(0x1p-30, fp16) == 0);
  CHECK(nearest_sine(0x1p-30, fp32) == 0x1p-30);
}

// ------------------------------------------------------------------------------------------ audit

TEST_CASE("precision: every pipeline against the model in rationals, every lag and plane") {
  const theory::Schedule tables[] = {
      theory::default_schedule({10000, 8}),
      theory::yarn({1000, 6}, {.factor = 4, .original_length = 64}),  // an attention factor
      theory::custom({Formula(0), Formula::pi() / 2, Formula::parse("1/3")}, Formula(2)),
  };
  for (const theory::Schedule& schedule : tables)
    for (const Pipeline& p : pipelines()) {
      CAPTURE(schedule.scheme, p.name);
      const int length = 70;
      const ByHand expected = by_hand(schedule, p, length);
      const PrecisionAudit audit = precision_audit(schedule, p, length);
      check_same(audit.cosine, expected.records[0]);
      check_same(audit.sine, expected.records[1]);
      check_same(audit.rotation, expected.records[2]);
      REQUIRE(audit.angle);
      check_same({*audit.angle}, {expected.records[3].back()});
      CHECK_FALSE(audit.not_finite);
      std::map<std::vector<Rational>, std::int64_t> seen;
      std::optional<PrecisionAudit::Collision> first;
      for (std::int64_t t = 0; t <= length && !first; ++t)
        if (const auto [at, fresh] = seen.emplace(expected.rows[static_cast<std::size_t>(t)], t);
            !fresh)
          first = {at->second, t};
      REQUIRE(audit.collision.has_value() == first.has_value());
      if (first) {
        CHECK(audit.collision->earlier == first->earlier);
        CHECK(audit.collision->later == first->later);
      }
    }
}

TEST_CASE("precision: the answer does not depend on the number of threads") {
  const auto lags = [](const PrecisionAudit& audit) {
    std::vector<std::int64_t> result;
    for (const auto* records : {&audit.cosine, &audit.sine, &audit.rotation})
      for (const TableError& e : *records) result.push_back(e.lag);
    result.push_back(audit.angle->lag);
    return result;
  };
  const auto all = lags(precision_audit(llama(), pipeline("bf16-angles"), 3000));
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  CHECK(lags(precision_audit(llama(), pipeline("bf16-angles"), 3000)) == all);
}

TEST_CASE("precision: not finite is no error size") {
  // Position and angle of the first plane, frequency 1, are the lag itself.
  for (const char* name : {"fp16-angles", "fp16-positions", "fp16"}) {
    CAPTURE(name);
    const theory::Schedule two = theory::default_schedule({10000, 4});
    const PrecisionAudit audit = precision_audit(two, pipeline(name), 65600);
    REQUIRE(audit.not_finite);
    CHECK(*audit.not_finite == 65520);
    for (const auto* records : {&audit.cosine, &audit.sine, &audit.rotation})
      CHECK(records->back().lag < 65520);
    CHECK(worst(audit.cosine, 65600)->error.hi <= 3);
    CHECK(audit.distinct_until() < 65520);
    CHECK_FALSE(precision_audit(two, pipeline(name), 65519).not_finite);
  }
  // An inv_freq that half precision does not hold: no row at all, position 0 included.
  const theory::Schedule fast = theory::custom({Formula(70000)});
  const PrecisionAudit none = precision_audit(fast, pipeline("fp16"), 10);
  CHECK(none.not_finite == 1);
  CHECK(none.cosine.empty());
  CHECK(worst(none.cosine, 10) == nullptr);
  CHECK(none.distinct_until() == 0);
}

TEST_CASE("precision: positions that get the same row") {
  const auto collision = [](const theory::Schedule& s, const char* name, std::int64_t length) {
    const PrecisionAudit audit = precision_audit(s, pipeline(name), length);
    REQUIRE(audit.collision);
    CHECK(audit.distinct_until() == audit.collision->later - 1);
    return std::pair(audit.collision->earlier, audit.collision->later);
  };
  // bf16 has 8 bits, so 257 becomes 256; fp16 has 11, so 2049 becomes 2048.
  CHECK(collision(llama(), "bf16-positions", 1000) ==
        std::pair<std::int64_t, std::int64_t>(256, 257));
  CHECK(collision(llama(), "bf16", 300) == std::pair<std::int64_t, std::int64_t>(256, 257));
  CHECK(collision(llama(), "fp16-positions", 3000) ==
        std::pair<std::int64_t, std::int64_t>(2048, 2049));
  CHECK(precision_audit(llama(), pipeline("bf16-positions"), 256).distinct_until() == 256);
  // Planes that stand still tell nothing apart; nor does a quarter turn every fifth position in
  // exact numbers, but pi/2 is not one in float32.
  CHECK(collision(theory::custom({Formula(0), Formula(0)}), "fp32", 5) ==
        std::pair<std::int64_t, std::int64_t>(0, 1));
  CHECK(precision_audit(theory::custom({Formula::pi() / 2}), pipeline("fp32"), 100)
            .distinct_until() == 100);
}

TEST_CASE("precision: an attention factor of 2 doubles every error") {
  theory::Schedule plain = theory::default_schedule({10000, 16});
  const PrecisionAudit one = precision_audit(plain, pipeline("bf16-cache"), 500);
  plain.attention_factor = Formula(2);
  plain.attention_factor_float32 = 2;
  const PrecisionAudit two = precision_audit(plain, pipeline("bf16-cache"), 500);
  REQUIRE(one.rotation.size() == two.rotation.size());
  for (std::size_t i = 0; i < one.rotation.size(); ++i) {
    CHECK(one.rotation[i].lag == two.rotation[i].lag);
    CHECK(abs(2 * one.rotation[i].error.lo - two.rotation[i].error.lo) < number("1e-30"));
  }
  CHECK(abs(one.angle->error.lo - two.angle->error.lo) < number("1e-30"));
}

TEST_CASE("precision: questions out of range are refused, and one can stop") {
  const theory::Schedule small = theory::default_schedule({10000, 4});
  const auto code = [&](const theory::Schedule& s, std::int64_t length) {
    try {
      (void)precision_audit(s, pipeline("fp32"), length);
    } catch (const Error& e) {
      return e.code();
    }
    return ErrorCode::file;
  };
  CHECK(code(small, 0) == ErrorCode::bad_value);
  CHECK(code(small, longest_table + 1) == ErrorCode::bad_value);
  CHECK(code({}, 10) == ErrorCode::bad_value);
  CHECK(code(theory::custom(std::vector<Formula>(4097, Formula(1))), 1) == ErrorCode::too_large);
  std::atomic<bool> stop = true;
  PrecisionOptions options;
  options.stop = &stop;
  CHECK_THROWS_AS(precision_audit(small, pipeline("fp32"), 10, options), Error);
}

// Base 5e5, 64 planes, exhaustive in mpmath with 200 bits (another implementation of the model).
TEST_CASE("precision: golden values at 4096 tokens") {
  const PrecisionAudit single = precision_audit(llama(), pipeline("fp32"), 4096);
  check_worst(single.cosine, 4096, "0.0002815228589941994748288277", 3875, 2);
  check_worst(single.sine, 4096, "0.0002769292482721921836082747", 3830, 2);
  check_worst(single.rotation, 4096, "0.0002830315404300362032089406", 3884, 2);
  check_worst({*single.angle}, 4096, "0.0002830227674861148855592189", 3884, 2);
  CHECK_FALSE(single.not_finite);
  CHECK_FALSE(single.collision);
  CHECK(single.distinct_until() == 4096);
  // The same record answers shorter questions.
  check_worst(single.cosine, 64, "0.000004207472261501285070930692", 59, 2);
  CHECK(worst(single.cosine, 0) == nullptr);
}
