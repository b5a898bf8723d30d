// Gap, strict gap, margin, loose margin: how they differ, in exact numbers.
#include "theory/discrepancy.hpp"
#include "tests/theory/support.hpp"

using namespace ropewalk;
using namespace ropewalk::tests;
using namespace ropewalk::theory;

namespace {
using Row = std::vector<Rational>;
using View = std::span<const Rational>;
}  // namespace

TEST_CASE("A tie has gap 0 but a strict gap", "[discrepancy]") {
  const Row row{1, 1, Rational(1, 4)};
  REQUIRE(gap(View(row)) == Rational(0));
  REQUIRE(strict_gap(View(row)) == Rational(3, 4));
  const Row equal{2, 2};
  REQUIRE(strict_gap(View(equal)) == Rational(0));
}

TEST_CASE("A single key has no gap", "[discrepancy]") {
  const Row row{1};
  REQUIRE_FALSE(gap(View(row)));
  REQUIRE(strict_gap(View(row)) == Rational(0));
  REQUIRE_FALSE(gap(View()));
  REQUIRE_FALSE(strict_gap(View()));
}

TEST_CASE("A gap does not notice the wrong key, a margin does", "[discrepancy]") {
  const Row row{0, 1, Rational(1, 2)};
  REQUIRE(gap(View(row)) == Rational(1, 2));
  REQUIRE(margin(View(row), {true, false, false}) == Rational(-1));
  REQUIRE(margin(View(row), {false, true, false}) == Rational(1, 2));
}

TEST_CASE("The margin asks for every correct key, the loose margin for one", "[discrepancy]") {
  const Row row{0, 1, Rational(1, 2)};
  REQUIRE(margin(View(row), {true, true, false}) == Rational(-1, 2));
  REQUIRE(loose_margin(View(row), {true, true, false}) == Rational(1, 2));
}

TEST_CASE("Without a correct or an incorrect key there is no margin", "[discrepancy]") {
  const Row row{0, 1};
  REQUIRE_FALSE(margin(View(row), {true, true}));
  REQUIRE_FALSE(margin(View(row), {false, false}));
  REQUIRE_FALSE(loose_margin(View(row), {true, true}));
  require_error(ErrorCode::bad_value, [&] { (void)margin(View(row), {true}); });
  require_error(ErrorCode::bad_value, [&] { (void)loose_margin(View(row), {true}); });
}

TEST_CASE("The gap of overlapping intervals reaches down to a tie", "[discrepancy]") {
  const std::vector<I40> row{I40(Rational(0), Rational(2)), I40(Rational(1), Rational(3))};
  const Enclosure e = enclosure(gap(std::span<const I40>(row)).value());
  REQUIRE(e.lo <= 0);
  REQUIRE(e.hi >= 3);
}
