// The one primitive: golden values of known sums.
#include "theory/trig_sum.hpp"
#include "tests/theory/support.hpp"

using namespace ropewalk;
using namespace ropewalk::tests;
using namespace ropewalk::theory;

namespace {
std::vector<Formula> standard_table(int base, int planes) {
  std::vector<Formula> table;
  for (int f = 0; f < planes; ++f) table.push_back(pow(Formula(base), Rational(-f, planes)));
  return table;
}
}  // namespace

TEST_CASE("The uniform head of 64 planes at base 5e5 loses 0.02209078 at its worst lag",
          "[trig_sum]") {
  const TrigSum loss =
      aligned_loss(std::vector<Rational>(64, Rational(1, 64)), standard_table(500000, 64));
  double worst = 2;
  // The worst lag up to 131072 is the first step: slow planes have hardly moved.
  for (int t = 1; t <= 40; ++t) worst = std::min(worst, loss.at<double>(t));
  REQUIRE(worst == Catch::Approx(loss.at<double>(1)));
  REQUIRE(enclosure(loss.at<I40>(1)).contains(enclosure(loss.at<Interval<160>>(1)).middle()));
  REQUIRE(worst == Catch::Approx(0.02209078).epsilon(1e-6));
}

TEST_CASE("A single plane loses 1 - cos theta at lag 1 and nothing at lag 0", "[trig_sum]") {
  const TrigSum loss = aligned_loss({Rational(1)}, {Formula::parse("acos(3/5)")});
  REQUIRE(loss.at<Rational>(0) == 0);
  REQUIRE(loss.at<Rational>(1) == Rational(2, 5));
  REQUIRE(loss.at<Rational>(2) == Rational(1) - Rational(-7, 25));
}

TEST_CASE("The sum that bounds RoPE's base is first negative where it is known to be",
          "[trig_sum]") {
  // P4: B_k(b) = sum over 64 planes of cos(k b^(-2i/128)); base 27000 fails at k = 4079.
  TrigSum sum;
  for (const Formula& theta : standard_table(27000, 64)) sum.terms.push_back({1, theta, Formula()});
  REQUIRE(sign(sum.at<I40>(4079)) == -1);
  REQUIRE(sign(sum.at<I40>(4078)) == 1);
}

TEST_CASE("Amplitudes and frequencies must pair up", "[trig_sum]") {
  require_error(ErrorCode::bad_value, [] { (void)aligned_loss({Rational(1)}, {}); });
}
