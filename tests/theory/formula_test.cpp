// Formulas: grammar, exact questions about angles, certain order, errors with positions.
#include "tests/theory/support.hpp"

using namespace ropewalk;
using namespace ropewalk::tests;
using namespace ropewalk::theory;

namespace {
Formula f(const char* text) { return Formula::parse(text); }
}  // namespace

TEST_CASE("Angles that are rational multiples of a turn are recognised", "[formula]") {
  REQUIRE(f("pi*2/7").turns() == Rational(1, 7));
  REQUIRE(f("2*pi/7").turns() == Rational(1, 7));
  REQUIRE(f("-pi/2+pi").turns() == Rational(1, 4));
  REQUIRE(f("acos(1/2)").turns() == Rational(1, 6));
  REQUIRE(f("acos(-1/2)").turns() == Rational(1, 3));
  REQUIRE(f("acos(0)").turns() == Rational(1, 4));
  REQUIRE(f("acos(-1)").turns() == Rational(1, 2));
  REQUIRE(f("acos(1)").turns() == Rational(0));
  REQUIRE(f("0").turns() == Rational(0));
  REQUIRE_FALSE(f("1").turns());
  REQUIRE_FALSE(f("acos(3/5)").turns());
  REQUIRE_FALSE(f("pi*sqrt(2)").turns());
}

TEST_CASE("Irrational numbers of turns are proven by Niven and by transcendence of pi",
          "[formula]") {
  REQUIRE(f("1").irrational_turns());
  REQUIRE(f("10000^(-2/64)/8").irrational_turns());
  REQUIRE(f("sqrt(2)+1").irrational_turns());
  REQUIRE(f("acos(3/5)").irrational_turns());
  REQUIRE(f("acos(-1/3)").irrational_turns());
  REQUIRE_FALSE(f("0").irrational_turns());
  REQUIRE_FALSE(f("pi/3").irrational_turns());
  REQUIRE_FALSE(f("acos(1/2)").irrational_turns());
  REQUIRE_FALSE(f("pi*sqrt(2)").irrational_turns());  // true, but not proven here
  REQUIRE_FALSE(f("sqrt(2)-sqrt(2)").irrational_turns());
}

TEST_CASE("Rational cosines are known exactly", "[formula]") {
  REQUIRE(f("acos(3/5)").rational_cosine() == Rational(3, 5));
  REQUIRE(f("pi/3").rational_cosine() == Rational(1, 2));
  REQUIRE(f("3*pi").rational_cosine() == Rational(-1));
  REQUIRE(f("0").rational_cosine() == Rational(1));
  REQUIRE_FALSE(f("pi/4").rational_cosine());
  REQUIRE_FALSE(f("1").rational_cosine());
}

TEST_CASE("Numbers are taken exactly and folded", "[formula]") {
  REQUIRE(f("0.1").rational() == Rational(1, 10));
  REQUIRE(f("1e-3").rational() == Rational(1, 1000));
  REQUIRE(f(" 1 / 3 + 1 / 6 ").rational() == Rational(1, 2));
  REQUIRE(f("007").rational() == Rational(7));
  REQUIRE(f("-2^2").rational() == Rational(-4));
  REQUIRE(f("2^3^2").rational() == Rational(512));
  REQUIRE(f("(2/3)^-2").rational() == Rational(9, 4));
  REQUIRE_FALSE(f("sqrt(2)").rational());
}

TEST_CASE("Printed formulas read back as the same formula", "[formula]") {
  for (const char* text :
       {"1/10", "2*pi/7", "1/3*pi", "10000^(-1/32)/8", "acos(3/5)", "1-(2-pi)", "2-3*pi", "pi/(-2)",
        "log(log(3))", "(2^(1/2))^(3)", "-pi", "1/pi/2", "1/(pi/2)"}) {
    CAPTURE(text);
    const std::string once = f(text).text();
    REQUIRE(f(once.c_str()).text() == once);
  }
  REQUIRE(f("pi*2/7").text() == "2*pi/7");
  REQUIRE(f("10000^(-2/64)/8").text() == "10000^(-1/32)/8");
  REQUIRE(f("3*acos(1/2)").text() == "pi");
}

TEST_CASE("Formulas compare with certainty", "[formula]") {
  REQUIRE(compare(f("pi"), f("22/7")) == std::strong_ordering::less);
  REQUIRE(compare(f("pi"), f("355/113")) == std::strong_ordering::less);
  REQUIRE(compare(f("pi/3"), f("2*pi/6")) == std::strong_ordering::equal);
  REQUIRE(compare(f("0.5"), f("1/2")) == std::strong_ordering::equal);
  REQUIRE(sign(f("acos(1/3)-1.2309594173407746821349291782479")) == 1);
  REQUIRE(sign(f("pi-pi")) == 0);
  REQUIRE_FALSE(sign(f("sqrt(2)*sqrt(2)-2")));  // no precision tells this from 0
  REQUIRE(floor(f("-pi")) == -4);
  REQUIRE(ceil(f("pi")) == 4);
  REQUIRE(floor(f("1/(acos(1/3)-1.2309594173407746821349291782479873757)")) > 0);
  require_error(ErrorCode::undecided, [] { (void)floor(f("sqrt(4)")); });
}

TEST_CASE("Enclosures are as narrow as asked", "[formula]") {
  for (const unsigned digits : {5U, 30U, 100U, 1000U}) {
    const Enclosure e = enclose(f("10000^(-2/64)"), digits);
    REQUIRE(e.relative_width().value() <=
            Rational(1, boost::multiprecision::pow(Integer(10), digits)));
    REQUIRE(e.contains(enclose(f("10000^(-2/64)"), 2000).middle()));
  }
  REQUIRE(enclose(f("1/3"), 5).exact());
  require_error(ErrorCode::undecided, [] { (void)enclose(f("pi"), 5000); });
}

TEST_CASE("Bad formulas are refused in one line that names the position", "[formula]") {
  const auto parse = [](std::string text) { return [text] { (void)Formula::parse(text); }; };
  for (const char* text : {"", " ", "1+", "(1", "1)", "x", "cos(1)", "acos 1", "1..2", "1e", "2^pi",
                           "+1", "nan", "inf", "1 2", "0x10", "pi^pi", "*", "1,5"}) {
    CAPTURE(text);
    require_error(ErrorCode::parse, parse(text));
  }
  for (const char* text : {"1/0", "1/(1-1)", "pi/(pi-pi)", "0^-1", "log(0)", "log(-1)", "acos(2)",
                           "acos(-1.0000001)", "sqrt(-1)", "(-8)^(1/3)"}) {
    CAPTURE(text);
    require_error(ErrorCode::bad_value, parse(text));
  }
  require_error(ErrorCode::too_large, parse(std::string(100, '(') + "1" + std::string(100, ')')));
  require_error(ErrorCode::too_large, parse(std::string(100, '-') + "1"));
  require_error(ErrorCode::too_large, parse(std::string(5001, '9')));
  require_error(ErrorCode::too_large, parse("1e5001"));
  require_error(ErrorCode::too_large, parse("2^5001"));
  require_error(ErrorCode::too_large, parse("((9^5000)^5000)^5000"));
  require_error(ErrorCode::too_large, parse(std::string(30000, ' ')));
  try {
    (void)Formula::parse("1+?");
  } catch (const Error& e) {
    REQUIRE_THAT(e.what(), Catch::Matchers::ContainsSubstring("position 3"));
  }
}

TEST_CASE("A transcendental value is refused in rationals by name", "[formula]") {
  require_error(ErrorCode::not_exact, [] { (void)f("pi").as<Rational>(); });
  REQUIRE(f("3/4").as<Rational>() == Rational(3, 4));
}
