#include "theory/schedule.hpp"

#include <cmath>
#include <limits>

#include "tests/catch.hpp"

using namespace ropewalk::theory;
using ropewalk::Error;
using ropewalk::ErrorCode;

namespace {

template <class F>
std::optional<ErrorCode> code_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.code();
  }
  return std::nullopt;
}

std::string text_at(const Schedule& s, std::size_t f) { return s.frequencies.at(f).text(); }

}  // namespace

TEST_CASE("schedule: default frequencies are powers of the base") {
  const Schedule s = default_schedule({10000, 64});
  REQUIRE(s.frequencies.size() == 32);
  CHECK(s.frequencies[0].rational() == Rational(1));
  CHECK(text_at(s, 1) == "10000^(-1/32)");
  CHECK(s.frequencies[16].rational() == Rational(1, 100));
  CHECK(s.frequencies[8].rational() == Rational(1, 10));
  CHECK(s.attention_factor.rational() == Rational(1));
}

TEST_CASE("schedule: linear divides every plane by the factor") {
  const Schedule s = linear({10000, 64}, 8);
  CHECK(s.frequencies[0].rational() == Rational(1, 8));
  CHECK(s.frequencies[16].rational() == Rational(1, 800));
  CHECK(s.float32[0] == 0.125F);
}

TEST_CASE("schedule: NTK-aware keeps the first plane and divides the last by the factor") {
  const Rational factor(7, 2);
  const Schedule plain = default_schedule({10000, 128});
  const Schedule s = ntk_aware({10000, 128}, factor);
  CHECK(s.frequencies[0].rational() == Rational(1));
  // B' = B s^(D/(D-2)) is made so that the slowest plane is interpolated by exactly s.
  const Interval<40> ratio = (plain.frequencies[63] / s.frequencies[63]).as<Interval<40>>();
  const Enclosure e = enclosure(ratio);
  CHECK(e.contains(factor));
}

TEST_CASE("schedule: dynamic NTK is a pure function of the length") {
  const DynamicNtk at_rest{4, 4096, 0};
  const Schedule plain = default_schedule({10000, 128});
  for (const long length : {1L, 4095L, 4096L}) {
    DynamicNtk options = at_rest;
    options.length = length;
    const Schedule s = dynamic_ntk({10000, 128}, options);
    for (std::size_t f = 0; f < 64; ++f) CHECK(text_at(s, f) == text_at(plain, f));
  }
  DynamicNtk grown = at_rest;
  grown.length = 8192;  // 4 * 2 - 3 = 5
  const Schedule s = dynamic_ntk({10000, 128}, grown);
  const Schedule again = ntk_aware({10000, 128}, 5);
  for (std::size_t f = 0; f < 64; ++f) CHECK(text_at(s, f) == text_at(again, f));
}

TEST_CASE("schedule: YaRN leaves fast planes alone and divides slow ones") {
  const Schedule plain = default_schedule({10000, 128});
  const Schedule s = yarn({10000, 128}, {.factor = 16, .original_length = 4096});
  // dim(32) = 20.9..., dim(1) = 45.03...: the ramp runs from 20 to 46.
  for (std::size_t f = 0; f <= 20; ++f) CHECK(text_at(s, f) == text_at(plain, f));
  for (std::size_t f = 46; f < 64; ++f)
    CHECK(text_at(s, f) == (Formula(Rational(1, 16)) * plain.frequencies[f]).text());
  // Between them the blend is rational: plane 33 is half-way.
  CHECK(text_at(s, 33) == (Formula(Rational(17, 32)) * plain.frequencies[33]).text());
  CHECK(s.attention_factor.as<double>() == Catch::Approx(0.1 * std::log(16.0) + 1).epsilon(1e-15));
}

TEST_CASE("schedule: YaRN with equal ends widens the ramp by a thousandth") {
  // beta_fast = beta_slow = 1 and not truncated: both ends are one number.
  const Schedule s =
      yarn({10000, 64}, {.factor = 4, .original_length = 4096, .beta_fast = 1, .truncate = false});
  const Schedule plain = default_schedule({10000, 64});
  CHECK(text_at(s, 22) == text_at(plain, 22));
  CHECK(text_at(s, 23) == (Formula(Rational(1, 4)) * plain.frequencies[23]).text());
}

TEST_CASE("schedule: the attention factor of YaRN") {
  Yarn options{.factor = 40, .original_length = 4096};
  options.mscale = 1;
  options.mscale_all_dim = 1;
  CHECK(yarn({10000, 64}, options).attention_factor.rational() == Rational(1));
  options.mscale_all_dim = Rational(0);  // counts as absent
  CHECK(yarn({10000, 64}, options).attention_factor.as<double>() ==
        Catch::Approx(1.368887945411394));
  options.attention_factor = Rational(5, 4);  // wins
  CHECK(yarn({10000, 64}, options).attention_factor.rational() == Rational(5, 4));
  CHECK(yarn({10000, 64}, {.factor = Rational(1, 2), .original_length = 4096})
            .attention_factor.rational() == Rational(1));
}

TEST_CASE("schedule: the two forms of YaRN differ inside the ramp and agree outside") {
  const Yarn options{.factor = 16, .original_length = 4096};
  const Schedule code = yarn({10000, 128}, options);
  const Schedule paper = yarn_paper({10000, 128}, options);
  CHECK(text_at(code, 0) == text_at(paper, 0));
  CHECK(text_at(code, 63) == text_at(paper, 63));
  const auto order = compare(code.frequencies[33], paper.frequencies[33]);
  REQUIRE(order);
  CHECK(bool(*order != 0));
}

TEST_CASE("schedule: Llama 3.1 has three regions") {
  const Schedule plain = default_schedule({500000, 128});
  const Schedule s = llama3({500000, 128}, {});
  unsigned kept = 0;
  unsigned divided = 0;
  for (std::size_t f = 0; f < 64; ++f) {
    if (text_at(s, f) == text_at(plain, f)) ++kept;
    if (text_at(s, f) == (Formula(Rational(1, 8)) * plain.frequencies[f]).text()) ++divided;
  }
  // 8192 theta/(2 pi) falls through 4 between planes 28 and 29 and through 1 between 34 and 35.
  CHECK(kept == 29);
  CHECK(divided == 29);
}

TEST_CASE("schedule: LongRoPE picks its list by the length") {
  LongRope options;
  options.short_factor.assign(4, 1);
  options.long_factor.assign(4, 3);
  options.original_length = 4096;
  options.factor = 32;
  options.length = 4096;
  CHECK(longrope({10000, 8}, options).frequencies[0].rational() == Rational(1));
  options.length = 4097;
  const Schedule s = longrope({10000, 8}, options);
  CHECK(s.frequencies[0].rational() == Rational(1, 3));
  CHECK(s.attention_factor.as<double>() == Catch::Approx(std::sqrt(1 + 5.0 / 12)).epsilon(1e-15));
  options.long_factor.pop_back();
  CHECK(code_of([&] { (void)longrope({10000, 8}, options); }) == ErrorCode::bad_value);
}

TEST_CASE("schedule: p-RoPE and proportional stop the slow planes") {
  const Schedule p = p_rope({10000, 16}, Rational(3, 4));
  CHECK(text_at(p, 5) == text_at(default_schedule({10000, 16}), 5));
  CHECK(p.frequencies[6].rational() == Rational(0));
  CHECK(p.float32[7] == 0.0F);
  const Schedule q = proportional({10000, 16}, Rational(1, 4), 2);
  CHECK(q.frequencies[0].rational() == Rational(1, 2));
  CHECK(q.frequencies[1].rational() == std::nullopt);
  CHECK(q.frequencies[2].rational() == Rational(0));
  CHECK(p_rope({10000, 16}, 0).frequencies[0].rational() == Rational(0));
  CHECK(code_of([] { (void)p_rope({10000, 16}, 2); }) == ErrorCode::bad_value);
}

TEST_CASE("schedule: Resonance makes every turn exactly rational") {
  const Schedule s = resonance(default_schedule({10000, 64}));
  const Schedule plain = default_schedule({10000, 64});
  for (std::size_t f = 0; f < 32; ++f) {
    const auto turns = s.frequencies[f].turns();
    REQUIRE(turns);
    CHECK(numerator(*turns) == 1);
    const double exact = 2 * 3.141592653589793 / plain.frequencies[f].as<double>();
    CHECK(denominator(*turns) == Integer(static_cast<long>(std::lround(exact))));
  }
  CHECK(resonance(p_rope({10000, 8}, Rational(1, 2))).frequencies[3].rational() == Rational(0));
}

TEST_CASE("schedule: a custom list is taken as it is") {
  const Schedule s = custom({Formula(1), Formula::parse("pi*2/7"), Formula(0)});
  CHECK(s.frequencies[1].turns() == Rational(1, 7));
  CHECK(s.float32[1] == 0.8975979F);
  CHECK(s.float32[2] == 0.0F);
  CHECK(code_of([] { (void)custom({}); }) == ErrorCode::bad_value);
}

TEST_CASE("schedule: values outside their domain are refused") {
  CHECK(code_of([] { (void)default_schedule({0, 64}); }) == ErrorCode::bad_value);
  CHECK(code_of([] { (void)default_schedule({-1, 64}); }) == ErrorCode::bad_value);
  CHECK(code_of([] { (void)default_schedule({10000, 0}); }) == ErrorCode::bad_value);
  CHECK(code_of([] { (void)default_schedule({10000, 63}); }) == ErrorCode::bad_value);
  CHECK(code_of([] { (void)default_schedule({10000, 1U << 30}); }) == ErrorCode::too_large);
  CHECK(code_of([] { (void)linear({10000, 64}, 0); }) == ErrorCode::bad_value);
  CHECK(code_of([] { (void)ntk_aware({10000, 2}, 2); }) == ErrorCode::bad_value);
  CHECK(code_of([] { (void)dynamic_ntk({10000, 64}, {2, 0, 1}); }) == ErrorCode::bad_value);
  CHECK(code_of([] {
          (void)yarn({1, 64}, {.factor = 2, .original_length = 4096});
        }) == ErrorCode::bad_value);
  CHECK(code_of([] {
          (void)yarn({10000, 64}, {.factor = 2, .original_length = 0});
        }) == ErrorCode::bad_value);
  CHECK(code_of([] { (void)llama3({10000, 64}, {8, 4, 1, 8192}); }) == ErrorCode::bad_value);
  CHECK(code_of([] { (void)resonance(custom({Formula(20)})); }) == ErrorCode::bad_value);
}

TEST_CASE("schedule: numbers are the decimals they are written as") {
  CHECK(shortest_decimal(0.1) == Rational(1, 10));
  CHECK(shortest_decimal(-0.25) == Rational(-1, 4));
  CHECK(shortest_decimal(1e22) == Rational(boost::multiprecision::pow(Integer(10), 22)));
  CHECK(shortest_decimal(5e-324) > 0);
  CHECK(shortest_decimal(0.0) == 0);
  CHECK(code_of([] { (void)shortest_decimal(std::numeric_limits<double>::quiet_NaN()); }) ==
        ErrorCode::bad_value);
  CHECK(code_of([] { (void)shortest_decimal(std::numeric_limits<double>::infinity()); }) ==
        ErrorCode::bad_value);
}

TEST_CASE("schedule: rounding to double and float is to nearest") {
  CHECK(nearest_double(Rational(1, 10)) == 0.1);
  CHECK(nearest_double(Rational(-2, 3)) == -2.0 / 3);
  CHECK(nearest_float(Rational(1, 10)) == 0.1F);
  CHECK(nearest_float(Formula::pi()) == 3.14159274F);
  CHECK(float32_ulps(1.0F, std::nextafter(1.0F, 2.0F)) == 1);
  CHECK(float32_ulps(-0.0F, 0.0F) == 0);
  CHECK(float32_ulps(std::nextafter(0.0F, 1.0F), std::nextafter(0.0F, -1.0F)) == 2);
}
