// Every example config and one config per scheme, against values that ropewalk did not compute:
// mpmath at 50 digits (tests/interop/compute_schedules.py) and the buffers of Hugging Face
// transformers (tests/interop/record_transformers.py).

#include <bit>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "theory/config.hpp"

namespace {

using namespace ropewalk::theory;
using Json = nlohmann::json;

Json load(const std::string& path) {
  std::ifstream in(std::string(ROPEWALK_SOURCE_DIR) + path);
  REQUIRE(in);
  return Json::parse(in);
}

ResolvedRope resolve_case(const Json& entry) {
  const Json& config = entry.at("config");
  ResolveOptions options;
  if (entry.contains("length")) options.length = Integer(entry["length"].get<long>());
  if (entry.contains("layer")) options.layer = entry["layer"].get<unsigned>();
  return resolve(
      config.is_string() ? load("/examples/configs/" + config.get<std::string>()) : config,
      options);
}

float float_of_bits(const Json& text) {
  return std::bit_cast<float>(
      static_cast<std::uint32_t>(std::stoul(text.get<std::string>(), nullptr, 16)));
}

// The reference has 50 digits: the true value is within half a unit of the 50th.
Enclosure reference(const Json& text) {
  const Rational value = *Formula::parse(text.get<std::string>()).rational();
  const Rational slack = value / Rational(boost::multiprecision::pow(Integer(10), 49));
  return {Rational(value - slack), Rational(value + slack)};
}

template <class Scalar>
void check_enclosed(const Formula& formula, const Json& text) {
  const Enclosure known = reference(text);
  const Enclosure computed = enclosure(formula.as<Scalar>());
  CAPTURE(formula.text(), text.get<std::string>());
  CHECK(computed.lo <= known.hi);
  CHECK(known.lo <= computed.hi);
  if (known.lo != 0) {
    const auto width = computed.relative_width();
    REQUIRE(width);
    CHECK(*width < Rational(1, boost::multiprecision::pow(Integer(10), 30)));
  }
}

void check_against_transformers(const std::string& path, std::size_t least) {
  const Json recorded = load(path);
  std::size_t seen = 0;
  for (const Json& entry : load("/tests/data/schedule_cases.json")) {
    const auto name = entry["name"].get<std::string>();
    if (!recorded["cases"].contains(name)) continue;
    ++seen;
    CAPTURE(name);
    const Json& theirs = recorded["cases"][name];
    const ResolvedRope rope = resolve_case(entry);
    REQUIRE(theirs["inv_freq"].size() == rope.schedule.float32.size());
    for (std::size_t f = 0; f < rope.schedule.float32.size(); ++f) {
      CAPTURE(f, rope.schedule.float32[f], float_of_bits(theirs["inv_freq"][f]));
      CHECK(float32_ulps(rope.schedule.float32[f], float_of_bits(theirs["inv_freq"][f])) <= 1);
    }
    CHECK(float32_ulps(rope.schedule.attention_factor_float32,
                       float_of_bits(theirs["attention_factor"])) <= 1);
  }
  CHECK(seen >= least);
}

}  // namespace

TEST_CASE("schedule: every table agrees with mpmath to 30 digits in intervals") {
  const Json computed = load("/tests/data/schedules-mpmath.json");
  std::size_t planes = 0;
  for (const Json& entry : load("/tests/data/schedule_cases.json")) {
    const auto name = entry["name"].get<std::string>();
    CAPTURE(name);
    const Json& theirs = computed.at("cases").at(name);
    const ResolvedRope rope = resolve_case(entry);
    REQUIRE(theirs["inv_freq"].size() == rope.schedule.frequencies.size());
    for (std::size_t f = 0; f < rope.schedule.frequencies.size(); ++f, ++planes) {
      CAPTURE(f);
      check_enclosed<Interval<40>>(rope.schedule.frequencies[f], theirs["inv_freq"][f]);
    }
    check_enclosed<Interval<40>>(rope.schedule.attention_factor, theirs["attention_factor"]);
    check_enclosed<Interval<160>>(rope.schedule.frequencies.back(), theirs["inv_freq"].back());
  }
  CHECK(planes > 1500);
}

TEST_CASE("schedule: double and MPFR agree with mpmath to their own precision") {
  const Json computed = load("/tests/data/schedules-mpmath.json");
  for (const Json& entry : load("/tests/data/schedule_cases.json")) {
    const auto name = entry["name"].get<std::string>();
    CAPTURE(name);
    const ResolvedRope rope = resolve_case(entry);
    for (std::size_t f = 0; f < rope.schedule.frequencies.size(); ++f) {
      const Rational known = reference(computed["cases"][name]["inv_freq"][f]).middle();
      CAPTURE(f);
      CHECK(rope.schedule.frequencies[f].as<double>() ==
            Catch::Approx(nearest_double(known)).epsilon(1e-13).margin(0));
      if (known == 0) continue;
      const Real<50> ratio = rope.schedule.frequencies[f].as<Real<50>>() / Real<50>(known);
      CHECK(abs(Real<50>(ratio - 1)) < Real<50>("1e-45"));
    }
  }
}

TEST_CASE("schedule: float32 tables are within 1 ulp of transformers 5.24.0") {
  check_against_transformers("/tests/data/transformers-5.24.0.json", 23);
}

TEST_CASE("schedule: float32 tables are within 1 ulp of transformers 4.57.6") {
  check_against_transformers("/tests/data/transformers-4.57.6.json", 22);
}

TEST_CASE("schedule: a float32 table is not a rounding of the exact one") {
  // 2.7 divides in float32; dynamic NTK grows in float32: both leave marks that rounding would not.
  unsigned apart = 0;
  for (const Json& entry : load("/tests/data/schedule_cases.json")) {
    const ResolvedRope rope = resolve_case(entry);
    for (std::size_t f = 0; f < rope.schedule.float32.size(); ++f) {
      const auto ulps =
          float32_ulps(rope.schedule.float32[f], nearest_float(rope.schedule.frequencies[f]));
      CAPTURE(entry["name"].get<std::string>(), f);
      CHECK(ulps <= 64);
      if (ulps != 0) ++apart;
    }
  }
  CHECK(apart > 100);
}
