// Points of the circle at integer lags: golden values, exactness, huge lags.
#include "theory/circle.hpp"
#include "tests/theory/support.hpp"

using namespace ropewalk;
using namespace ropewalk::tests;
using namespace ropewalk::theory;

namespace {
// 1 - cos(t theta), to a relative width of 1e-10.
Enclosure loss(const Formula& theta, const Lag& t) {
  const auto result = at_rising_precision([&]<class I>() -> std::optional<Enclosure> {
    const Enclosure e = enclosure(I(I(1) - cosine<I>(theta, t)));
    const auto width = e.relative_width();
    if (width && *width < tests::fraction("1e-10")) return e;
    return std::nullopt;
  });
  REQUIRE(result);
  return *result;
}
bool between(const Enclosure& e, const char* low, const char* high) {
  return tests::fraction(low) <= e.lo && e.hi <= tests::fraction(high);
}
}  // namespace

TEST_CASE("The first plane of every standard table has the known near returns", "[circle]") {
  const Formula one(1);
  REQUIRE(between(loss(one, 6), "0.03982", "0.03984"));
  REQUIRE(between(loss(one, 44), "1.566e-4", "1.568e-4"));
  REQUIRE(between(loss(one, 333), "3.885e-5", "3.894e-5"));
  REQUIRE(between(loss(one, 710), "1.81736e-9", "1.81737e-9"));
  REQUIRE(between(loss(one, 103993), "1.82965e-10", "1.82967e-10"));
  const Lag far(
      "99391875703585900192317629777824670010169479307585848530145431181773563125829860894978753851"
      "2773005");
  REQUIRE(between(loss(one, far), "8.80671577684788e-200", "8.80671577684789e-200"));
}

TEST_CASE("Rational turns are reduced exactly at any lag", "[circle]") {
  const Lag t("10000000000000000000000000000000000000000000000000000000");
  REQUIRE(cosine<double>(Formula::parse("pi*2/7"), Lag(7 * t)) == 1.0);
  REQUIRE(cosine<Rational>(Formula::parse("pi/3"), Lag(6 * t + 1)) == Rational(1, 2));
  REQUIRE(loss(Formula::parse("pi*2/7"), 7).exact());
  REQUIRE(loss(Formula::parse("acos(1/2)"), 6).hi == 0);
}

TEST_CASE("Rational points of the circle stay on it", "[circle]") {
  for (const char* text : {"acos(3/5)", "acos(-5/13)", "acos(24/25)", "pi/2", "0"}) {
    const Formula theta = Formula::parse(text);
    const auto p = rotation<Rational>(theta, 41);
    const auto q = rotation<Rational>(theta, -7);
    CAPTURE(text);
    REQUIRE(dot(p, p) == 1);
    REQUIRE((p * q).x == rotation<Rational>(theta, 34).x);
    REQUIRE((p * q).y == rotation<Rational>(theta, 34).y);
    REQUIRE(p.x == cosine<Rational>(theta, 41));
    REQUIRE(cosine<Rational>(theta, -41) == cosine<Rational>(theta, 41));
    REQUIRE((p * inverse(p)).x == 1);
    REQUIRE((p * inverse(p)).y == 0);
  }
}

TEST_CASE("Angles without a rational point of the circle are refused in rationals", "[circle]") {
  REQUIRE(cosine<Rational>(Formula::parse("acos(1/3)"), 2) == Rational(-7, 9));
  require_error(ErrorCode::not_exact,
                [] { (void)rotation<Rational>(Formula::parse("acos(1/3)"), 2); });
  require_error(ErrorCode::not_exact, [] { (void)rotation<Rational>(Formula(1), 2); });
  require_error(ErrorCode::not_exact, [] { (void)cosine<Rational>(Formula(1), 2); });
  require_error(ErrorCode::not_exact,
                [] { (void)cosine<Rational>(Formula::pi() * Formula(Rational(2, 7)), 2); });
  require_error(ErrorCode::not_exact,
                [] { (void)cosine<Rational>(Formula::parse("acos(3/5)"), 2, Formula::pi()); });
}

TEST_CASE("At lag 0 every rotation is the identity, exactly", "[circle]") {
  for (const char* text : {"1", "acos(1/3)", "pi*2/7", "10000^(-1/3)"}) {
    const auto p = rotation<Rational>(Formula::parse(text), 0);
    REQUIRE(p.x == 1);
    REQUIRE(p.y == 0);
    REQUIRE(enclosure(cosine<I40>(Formula::parse(text), 0)).exact());
  }
}
