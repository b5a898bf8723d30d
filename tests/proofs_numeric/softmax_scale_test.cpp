#include "proofs_numeric/softmax_scale.hpp"

#include "tests/catch.hpp"

using namespace ropewalk;
using namespace ropewalk::proofs_numeric;
using I = theory::Interval<40>;

namespace {

// S(m) in intervals, every term.
Enclosure sum_in_intervals(const Formula& theta, unsigned n, unsigned m, const Rational& beta) {
  I sum(0);
  for (unsigned t = 0; t < n; ++t)
    sum += exp(I(-I(beta) * (I(1) - theory::cosine<I>(theta, Lag(t) - m))));
  return enclosure(sum);
}

}  // namespace

TEST_CASE("the double kernel encloses the interval sum") {
  for (const char* text : {"1", "0.8", "0.0027", "acos(3/5)", "10000^(-63/64)", "2*pi/97", "3.1"}) {
    const Formula theta = Formula::parse(text);
    for (const unsigned n : {1U, 2U, 17U, 97U}) {
      const PlaneLosses losses(theta, n);
      for (const double beta : {0.0, 0.3, 7.0, 1000.0, 1e6})
        for (const unsigned m : {0U, n / 3, n / 2}) {
          if (m >= n) continue;
          const Enclosure fast = losses.largest_sum(beta, {m, m});
          const Enclosure exact = sum_in_intervals(theta, n, m, Rational(beta));
          CAPTURE(text, n, beta, m);
          REQUIRE(fast.lo <= exact.lo);
          REQUIRE(exact.hi <= fast.hi);
          REQUIRE(fast.hi - fast.lo < Rational(1, 1000000000));
        }
    }
  }
}

TEST_CASE("the smallest scale meets the demand at its upper end and misses it at its lower end") {
  for (const char* text : {"1", "0.0027", "2*pi/64"}) {
    const Formula theta = Formula::parse(text);
    const unsigned n = 40;
    const auto beta = PlaneLosses(theta, n).smallest_scale(Rational(10, 9), {0, n - 1});
    REQUIRE(beta);
    CAPTURE(text);
    CHECK((beta->hi - beta->lo) * 100000000 < beta->hi);
    Rational above = 0;
    Rational below = 0;
    for (unsigned m = 0; m < n; ++m) {
      above = std::max(above, sum_in_intervals(theta, n, m, beta->hi).hi);
      below = std::max(below, sum_in_intervals(theta, n, m, beta->lo).lo);
    }
    CHECK(above <= Rational(10, 9));
    CHECK(below > Rational(10, 9));
  }
}

TEST_CASE("a tie has no softmax scale") {
  CHECK_FALSE(PlaneLosses(Formula::parse("2*pi/7"), 9).smallest_scale(Rational(10, 9), {0, 8}));
  CHECK_FALSE(PlaneLosses(Formula::parse("0"), 2).smallest_scale(Rational(10, 9), {0, 1}));
  CHECK_FALSE(guaranteed_scale(Enclosure(Rational(0)), 9, 1, Rational(1, 10)));
  CHECK_FALSE(guaranteed_scale(Enclosure(Rational(-1), Rational(1)), 9, 1, Rational(1, 10)));
}

TEST_CASE("a single key needs no scale at all") {
  CHECK(PlaneLosses(Formula::parse("1"), 1).smallest_scale(Rational(10, 9), {0, 0})->hi == 0);
  CHECK(guaranteed_scale(Enclosure(Rational(1)), 2, 1, Rational(1, 2))->hi == 0);
}

TEST_CASE("the constants c(0.1) and c(0.5) of one-plane Index") {
  for (const auto& [eps, lo, hi] :
       {std::tuple{Rational(1, 10), "2.8905", "2.8906"}, {Rational(1, 2), "0.7854", "0.7855"}}) {
    const unsigned n = 4000;
    const auto beta = PlaneLosses(Formula::parse("2*pi/4000"), n)
                          .smallest_scale(Rational(1 / (1 - eps)), {0, n - 1});
    REQUIRE(beta);
    const Enclosure c =
        enclosure(I(I(beta->lo, beta->hi) * I(2) * I::pi() * I::pi() / I(n) / I(n)));
    CAPTURE(text(c, 12));
    CHECK(c.lo >= *Formula::parse(lo).rational());
    CHECK(c.hi <= *Formula::parse(hi).rational());
  }
}

TEST_CASE("the smallest Index scale is a bracket that decoding confirms") {
  const Formula theta = Formula::parse("acos(3/5)");
  const auto beta = smallest_index_scale(theta, 17);
  REQUIRE(beta);
  // Worst case: every other key holds one and the same other letter. Integer to integer decodes iff
  // the target's mass exceeds 1/2.
  Rational above = 0;
  Rational below = 0;
  for (unsigned m = 1; m < 17; ++m) {
    above = std::max(above, sum_in_intervals(theta, 17, m, beta->hi).hi);
    below = std::max(below, sum_in_intervals(theta, 17, m, beta->lo).lo);
  }
  CHECK(above <= 2);
  CHECK(below > 2);
  const auto enough = guaranteed_scale(one_plane_gap(theta, 16).value, 17, 1, Rational(1, 2));
  REQUIRE(enough);
  CHECK(beta->hi < enough->lo);
}

TEST_CASE("the softmax scale refuses what is outside its domain") {
  CHECK_THROWS_AS(guaranteed_scale(Enclosure(Rational(1)), 5, 5, Rational(1, 10)), Error);
  CHECK_THROWS_AS(guaranteed_scale(Enclosure(Rational(1)), 5, 0, Rational(1, 10)), Error);
  CHECK_THROWS_AS(guaranteed_scale(Enclosure(Rational(1)), 5, 1, Rational(0)), Error);
  CHECK_THROWS_AS(guaranteed_scale(Enclosure(Rational(1)), 5, 1, Rational(1)), Error);
  CHECK_THROWS_AS(PlaneLosses(Formula(1), 0), Error);
  CHECK_THROWS_AS(PlaneLosses(Formula(1), (1U << 24) + 1), Error);
}
