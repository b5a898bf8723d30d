// Softmax: sums to one, never overflows, is the same for every common shift.
#include "theory/softmax.hpp"
#include "tests/theory/support.hpp"

using namespace ropewalk;
using namespace ropewalk::tests;
using namespace ropewalk::theory;

TEMPLATE_TEST_CASE("Softmax sums to one and survives huge logits", "[softmax]", double, Real<40>,
                   Interval<40>) {
  using S = TestType;
  const std::vector<S> logits{S(100000), S(99999), S(-100000)};
  const auto w = softmax(logits, S(3));
  S sum(0);
  for (const S& x : w) sum += x;
  REQUIRE(compare(S(sum - S(1)), S(Scalar<S>::from(tests::fraction("1e-14")))) == -1);
  REQUIRE(compare(S(S(1) - sum), S(Scalar<S>::from(tests::fraction("1e-14")))) == -1);
  REQUIRE(compare(w[0], w[1]) == 1);
  REQUIRE(compare(w[1], w[2]) == 1);
}

TEST_CASE("Scale 0 and equal logits spread evenly", "[softmax]") {
  REQUIRE(softmax(std::vector<double>{3, -1, 8, 0}, 0.0) == std::vector<double>(4, 0.25));
  REQUIRE(softmax(std::vector<double>{7, 7}, 12.0) == std::vector<double>(2, 0.5));
  REQUIRE(softmax(std::vector<double>{-1e300}, 1.0) == std::vector<double>{1});
}

TEST_CASE("A large scale puts all weight on the largest logit", "[softmax]") {
  const auto w = softmax(std::vector<I40>{I40(1), I40(0)}, I40(1000));
  REQUIRE(enclosure(w[0]).lo > tests::fraction("0.9999999999"));
  REQUIRE(enclosure(w[1]).lo > 0);  // no underflow in intervals
}

TEST_CASE("Softmax of no logits is refused", "[softmax]") {
  require_error(ErrorCode::bad_value, [] { (void)softmax(std::vector<double>{}, 1.0); });
}
