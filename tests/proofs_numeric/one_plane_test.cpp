#include "proofs_numeric/one_plane.hpp"

#include <random>

#include "tests/catch.hpp"

using namespace ropewalk;
using namespace ropewalk::proofs_numeric;

namespace {

Formula angle(const char* text) { return Formula::parse(text); }
Rational number(const char* text) { return *Formula::parse(text).rational(); }

void check_gap(const char* theta, const Lag& reach, const char* lo, const char* hi,
               const Lag& lag) {
  const OnePlaneGap gap = one_plane_gap(angle(theta), reach);
  CAPTURE(theta, reach.str(), text(gap.value, 20));
  CHECK(gap.value.lo >= number(lo));
  CHECK(gap.value.hi <= number(hi));
  CHECK(gap.lag == lag);
  CHECK(gap.lag_proven);
  CHECK(*gap.value.relative_width() < Rational(1, boost::multiprecision::pow(Integer(10), 10)));
}

}  // namespace

TEST_CASE("golden one-plane gaps at theta = 1") {
  check_gap("1", 6, "0.0398297133496339", "0.0398297133496340", 6);
  check_gap("1", 43, "0.00879718813652640", "0.00879718813652641", 25);
  check_gap("1", 44, "1.56691352308779e-4", "1.56691352308780e-4", 44);
  check_gap("1", 332, "1.56691352308779e-4", "1.56691352308780e-4", 44);
  check_gap("1", 333, "3.89072426911511e-5", "3.89072426911512e-5", 333);
  check_gap("1", 709, "3.89072426911511e-5", "3.89072426911512e-5", 333);
  check_gap("1", 710, "1.81736407892e-9", "1.81736407893e-9", 710);
  check_gap("1", 103992, "1.81736407892e-9", "1.81736407893e-9", 710);
  check_gap("1", 103993, "1.82965743678e-10", "1.82965743679e-10", 103993);
  check_gap("1", boost::multiprecision::pow(Integer(10), 100), "8.8067157768478832e-200",
            "8.8067157768478833e-200",
            Lag("993918757035859001923176297778246700101694793075858485301454"
                "311817735631258298608949787538512773005"));
}

TEST_CASE("an angle that is a rational number of turns closes the gap exactly") {
  for (const auto& [theta, reach, lag] : {std::tuple{"pi*2/7", 20, 7},
                                          {"acos(1/2)", 6, 6},
                                          {"pi", 2, 2},
                                          {"2*pi", 1, 1},
                                          {"0", 5, 1},
                                          {"-4*pi", 3, 1},
                                          {"pi*89/233", 466, 466}}) {
    CAPTURE(theta);
    const OnePlaneGap gap = one_plane_gap(angle(theta), reach);
    CHECK(gap.value.exact());
    CHECK(gap.value.lo == 0);
    CHECK(gap.lag == lag);
  }
  const OnePlaneGap before = one_plane_gap(angle("acos(1/2)"), 5);
  CHECK(before.value.exact());
  CHECK(before.value.lo == Rational(1, 2));
  CHECK(before.lag == 1);
}

TEST_CASE("angles fold: theta, -theta and theta + 2 pi are one rotation") {
  for (const char* theta : {"0.8", "-0.8", "0.8+2*pi", "2*pi-0.8", "0.8-6*pi"})
    check_gap(theta, 4, "0.30329329065283", "0.30329329065284", 1);
}

TEST_CASE("an angle whose turns are unknown is still enclosed") {
  // log(2)/log(2) is 1, which no expression rule sees; the angle pi * that is half a turn.
  const OnePlaneGap gap = one_plane_gap(angle("pi*log(4)/log(2)"), 5);  // a whole turn
  CHECK(gap.value.lo == 0);
  CHECK(gap.value.hi <= 2);
  CHECK_FALSE(gap.lag_proven);
}

TEST_CASE("the reach must be at least 1 and at most 1200 digits long") {
  CHECK_THROWS_AS(one_plane_gap(angle("1"), 0), Error);
  CHECK_THROWS_AS(one_plane_gap(angle("1"), -7), Error);
  CHECK_THROWS_AS(one_plane_gap(angle("1"), boost::multiprecision::pow(Integer(10), 1200)), Error);
  CHECK_THROWS_AS(reach_of(4, 4), Error);
  CHECK_THROWS_AS(reach_of(4, -1), Error);
  CHECK_THROWS_AS(reach_of(0, 0), Error);
}

TEST_CASE("the reading picks the offset of smallest or largest reach") {
  for (unsigned n = 1; n <= 40; ++n) {
    Lag least = n;
    Lag most = 0;
    for (unsigned m = 0; m < n; ++m) {
      least = std::min(least, reach_of(n, m));
      most = std::max(most, reach_of(n, m));
    }
    CHECK(reach_of(n, offset_of(n, Reading::max)) == least);
    CHECK(reach_of(n, offset_of(n, Reading::min)) == most);
  }
}

TEST_CASE("the Index horizon is the last length with a positive gap") {
  const Reading readings[] = {Reading::max, Reading::min};
  for (const char* theta : {"2*pi/7", "2*pi*3/8", "pi", "2*pi/3"}) {
    for (const Reading& reading : readings) {
      const Lag horizon = *index_horizon(angle(theta), &reading, 0);
      for (unsigned n = 2; n <= 20; ++n) {
        const OnePlaneGap gap = one_plane_gap(angle(theta), reach_of(n, offset_of(n, reading)));
        CHECK((gap.value.lo > 0) == (Lag(n) <= horizon));
      }
    }
    for (unsigned m : {0U, 1U, 2U}) {
      const Lag horizon = *index_horizon(angle(theta), nullptr, m);
      for (unsigned n = std::max(2U, m + 1); n <= 20; ++n)
        CHECK((one_plane_gap(angle(theta), reach_of(n, m)).value.lo > 0) == (Lag(n) <= horizon));
    }
  }
  CHECK_FALSE(index_horizon(angle("1"), nullptr, 0));
  CHECK_THROWS_AS(index_horizon(angle("log(2)"), nullptr, 0), Error);
}

TEST_CASE("least residue equals the scan of all terms") {
  std::mt19937 random(7);
  const auto draw = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  for (int i = 0; i < 20000; ++i) {
    const int m = draw(1, 60);
    const int a = draw(-100, 100);
    const int b = draw(-100, 100);
    const int last = draw(0, 70);
    const LeastResidue got = least_residue(a, b, m, last);
    int best = m;
    int at = 0;
    for (int t = 0; t <= last; ++t) {
      const int r = ((a * t + b) % m + m) % m;
      if (r < best) {
        best = r;
        at = t;
      }
    }
    CAPTURE(a, b, m, last);
    REQUIRE(got.value == best);
    REQUIRE(got.t == at);
  }
}

TEST_CASE("the first visit to an arc equals the scan of all terms") {
  std::mt19937 random(8);
  const auto draw = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  for (int i = 0; i < 20000; ++i) {
    const int m = draw(1, 200);
    const int a = draw(-300, 300);
    const int low = draw(0, m - 1);
    const int high = draw(low, m - 1);
    std::optional<Integer> expected;
    for (int x = 0; x < m && !expected; ++x) {
      const int r = ((a * x) % m + m) % m;
      if (low <= r && r <= high) expected = x;
    }
    CAPTURE(a, m, low, high);
    REQUIRE(first_between(a, m, low, high) == expected);
  }
}

TEST_CASE("the simplest rational has the least denominator") {
  CHECK(simplest_between(Rational(18067, 10000), Rational(2238, 1000)) == 2);
  CHECK(simplest_between(Rational(1, 3), Rational(1, 2)) == Rational(2, 5));
  CHECK(simplest_between(0, Rational(785, 1000)) == Rational(1, 2));
  CHECK(simplest_between(Rational(-1, 2), Rational(-1, 3)) == Rational(-2, 5));
  CHECK(simplest_between(Rational(-1, 2), Rational(1, 3)) == 0);
  CHECK(simplest_between(Rational(3), Rational(4)) == Rational(7, 2));
  CHECK_THROWS_AS(simplest_between(1, 1), Error);
  std::mt19937 random(11);
  for (int i = 0; i < 300; ++i) {
    const Rational lo(static_cast<int>(random() % 500), 97);
    const Rational hi = lo + Rational(1 + static_cast<int>(random() % 40), 1009);
    const Rational best = simplest_between(lo, hi);
    REQUIRE(lo < best);
    REQUIRE(best < hi);
    for (Integer q = 1; q < denominator(best); ++q)  // no smaller denominator fits
      REQUIRE(Rational(Integer(theory::floor(Rational(lo * Rational(q))) + 1), q) >= hi);
  }
}
