#pragma once
/// \file
/// What the numeric tests share: the vector file, expectations on every scalar, and random inner
/// points.
///
/// Random-inner-point tests draw an interval, an exact point inside it, evaluate on an independent
/// path with more than 200 extra bits and require the interval result to contain that. Their number
/// grows with the environment variable ROPEWALK_TEST_MULTIPLIER; seeds are fixed, and a failure
/// prints all inputs.

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "theory/enclosure.hpp"
#include "theory/error.hpp"
#include "theory/formula.hpp"

namespace ropewalk::tests {

using theory::Enclosure;
using theory::Formula;
using theory::Integer;
using theory::Interval;
using theory::Rational;
using theory::Real;
using theory::Scalar;

using I40 = Interval<40>;
/// 400 bits against the 136 of Interval<40>: the independent path.
using Fine = Real<120>;

/// How many random trials: fewer under the sanitizers, more where ROPEWALK_TEST_MULTIPLIER asks.
inline int iterations(int base) {
  const char* text = std::getenv("ROPEWALK_TEST_MULTIPLIER");
  const double factor = (text != nullptr ? std::atof(text) : 1.0) / (instrumented ? 5 : 1);
  return std::max(1, static_cast<int>(base * factor));
}

/// Whether the long forms of random tests are to run, which take minutes: ROPEWALK_TEST_LONG is
/// set. Says that the case is skipped otherwise.
inline bool long_form() {
  const bool wanted = std::getenv("ROPEWALK_TEST_LONG") != nullptr;
  if (!wanted) skipped("takes minutes; set ROPEWALK_TEST_LONG=1 to run it");
  return wanted;
}

inline const nlohmann::json& vectors() {
  static const nlohmann::json data = [] {
    std::ifstream file(std::string(ROPEWALK_SOURCE_DIR) + "/tests/data/vectors.json");
    return nlohmann::json::parse(file);
  }();
  return data;
}

inline Rational fraction(const std::string& text) { return *Formula::parse(text).rational(); }
inline std::vector<Rational> fractions(const nlohmann::json& list) {
  std::vector<Rational> result;
  for (const auto& text : list) result.push_back(fraction(text));
  return result;
}
template <class S>
std::vector<S> scalars(const nlohmann::json& list) {
  std::vector<S> result;
  for (const auto& text : list) result.push_back(Scalar<S>::from(fraction(text)));
  return result;
}

inline Rational exact(const Fine& x) {
  Rational result;
  mpfr_get_q(result.backend().data(), x.backend().data());
  return result;
}

inline std::string shown(double x) { return std::to_string(x); }
inline std::string shown(const Rational& x) { return x.str(); }
template <unsigned D>
std::string shown(const Real<D>& x) {
  return x.str();
}
template <unsigned D>
std::string shown(const Interval<D>& x) {
  return "[" + x.lower().str() + ", " + x.upper().str() + "]";
}

template <class F>
void require_error(ErrorCode code, F&& f) {
  try {
    f();
  } catch (const Error& e) {
    CAPTURE(std::string(e.what()));
    REQUIRE(e.code() == code);
    return;
  }
  FAIL("no Error was thrown");
}

/// Calls `f.operator()<S>()` and holds its value against one expectation of the vector file:
/// Rational exactly, or refused where no exact value exists; Interval<D> contains it and is narrow;
/// Real<D> within 1e-35 relative to max(1, |value|); double within the error that the file states.
template <class S, class F>
void require_expected(const nlohmann::json& expect, F&& f) {
  const bool has_exact = !expect["exact"].is_null();
  if constexpr (std::is_same_v<S, Rational>) {
    if (!has_exact) {
      require_error(ErrorCode::not_exact, f);
      return;
    }
    REQUIRE(f() == fraction(expect["exact"]));
  } else {
    const Rational value = fraction(has_exact ? expect["exact"] : expect["value"]);
    const Rational size = abs(value) < 1 ? Rational(1) : Rational(abs(value));
    const S got = f();
    CAPTURE(shown(got), expect.dump());
    if constexpr (theory::is_interval<S>) {
      const Enclosure e = theory::enclosure(got);
      REQUIRE(e.contains(value));
      REQUIRE(e.hi - e.lo <= size * fraction("1e-33"));
    } else if constexpr (std::is_same_v<S, double>) {
      REQUIRE(std::abs(got - value.convert_to<double>()) <= expect["double"].get<double>());
    } else {
      REQUIRE(abs(Fine(got) - Fine(value)) <= Fine(size) * Fine("1e-35"));
    }
  }
}

/// Random inputs from a fixed seed.
class Draw {
 public:
  explicit Draw(unsigned seed) : engine_(seed) {}

  int integer(int low,
              int high) {  // the same on every machine, unlike std::uniform_int_distribution
    return low + static_cast<int>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  /// A rational whose size ranges over 2^-s .. 2^s.
  Rational rational(int s = 6) {
    const Rational x(Integer(static_cast<std::int64_t>(engine_() >> 2)), Integer(1) << 61);
    const int shift = integer(-s, s);
    const Rational scaled =
        shift >= 0 ? Rational(x * Rational(Integer(1) << static_cast<unsigned>(shift)))
                   : Rational(x / Rational(Integer(1) << static_cast<unsigned>(-shift)));
    return integer(0, 1) == 0 ? scaled : Rational(-scaled);
  }
  /// An interval and a point in it: wide, narrow, or one point; the inner point may be an end.
  struct Inner {
    Rational low;
    Rational high;
    Rational point;
    [[nodiscard]] I40 interval() const { return I40(low, high); }
    [[nodiscard]] Fine fine() const { return Fine(point); }
    [[nodiscard]] std::string text() const {
      return point.str() + " in [" + low.str() + ", " + high.str() + "]";
    }
  };
  Inner around(const Rational& center) {
    const int kind = integer(0, 3);
    const Rational width =
        kind == 0 ? Rational(0)
                  : Rational(abs(rational(2)) /
                             Rational(Integer(1) << static_cast<unsigned>(
                                          kind == 1 ? integer(0, 3) : integer(4, 130))));
    const Rational low = center - width * Rational(integer(0, 4), 4);
    const Rational high = low + width;
    return {low, high, Rational(low + width * Rational(integer(0, 8), 8))};
  }
  Inner inner(int s = 6) { return around(rational(s)); }
  /// As inner, with the whole interval inside [low, high].
  Inner inside(const Rational& low, const Rational& high) {
    Inner x = inner(2);
    const auto clip = [&](const Rational& v) { return v < low ? low : (high < v ? high : v); };
    return {clip(x.low), clip(x.high), clip(x.point)};
  }

 private:
  std::mt19937_64 engine_;
};

/// Containment of a value that the fine path rounded: within 1e-110 of itself.
inline void require_contains(const I40& result, const Fine& point) {
  CAPTURE(shown(result), point.str());
  const Rational p = exact(point);
  const Rational slack = (abs(p) + 1) * fraction("1e-110");
  const Enclosure e = theory::enclosure(result);
  REQUIRE(e.lo <= p + slack);
  REQUIRE(p - slack <= e.hi);
}

}  // namespace ropewalk::tests
