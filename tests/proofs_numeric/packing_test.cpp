#include "proofs_numeric/packing.hpp"

#include <cmath>

#include "proofs_numeric/optimal.hpp"
#include "tests/catch.hpp"

using namespace ropewalk;
using namespace ropewalk::proofs_numeric;

namespace {

double middle(const Enclosure& x) { return x.middle().convert_to<double>(); }

std::vector<Formula> plain(unsigned base, unsigned planes) {
  std::vector<Formula> result;
  for (unsigned f = 0; f < planes; ++f)
    result.push_back(pow(Formula(base), Rational(-static_cast<int>(f), planes)));
  return result;
}

}  // namespace

TEST_CASE("packing: one plane is R2") {
  for (const unsigned n : {4U, 17U, 1000U}) {
    const Enclosure bound = packing_bound(1, n);
    const double exact = 1 - std::cos(2 * std::acos(-1.0) / n);
    CAPTURE(n, text(bound));
    CHECK(middle(bound) == Catch::Approx(exact).epsilon(1e-12));
    CHECK(bound.lo <= bound.hi);
    CHECK(*bound.relative_width() < Rational(1, 1000000000000));
  }
  CHECK(packing_bound(1, 2).hi == 2);               // two opposite points
  CHECK(packing_bound(1, 3).hi == Rational(3, 2));  // a triangle
  CHECK(packing_bound(2, 5).hi == Rational(5, 4));  // a simplex in four dimensions
  CHECK(packing_bound(2, 6).hi == 1);               // Rankin: no more than a right angle
}

TEST_CASE("packing: caps on the sphere in four dimensions") {
  // D = 2: share = (x - sin x cos x)/pi; 1000 points: x = 0.168..., by bisection in long double
  long double lo = 0;
  long double hi = 1;
  for (int i = 0; i < 200; ++i) {
    const long double x = (lo + hi) / 2;
    (1000 * (x - std::sin(x) * std::cos(x)) > std::acos(-1.0L) ? hi : lo) = x;
  }
  CHECK(middle(packing_bound(2, 1000)) ==
        Catch::Approx(static_cast<double>(1 - std::cos(2 * lo))).epsilon(1e-11));
}

TEST_CASE("packing: no table of so many planes does better") {
  for (const unsigned planes : {1U, 2U, 4U})
    for (const unsigned n : {17U, 65U, 257U})
      CHECK(optimal_head(plain(10000, planes), n - 1).optimum.lo <= packing_bound(planes, n).hi);
  // a cyclic code of 5 points, D = 2: the simplex, 5/4, which the bound allows
  const auto five = optimal_head({Formula::parse("2*pi/5"), Formula::parse("4*pi/5")}, 4).optimum;
  CHECK(five.lo <= packing_bound(2, 5).hi);
  CHECK(five.hi >= packing_bound(2, 5).lo);
}

TEST_CASE("packing: falls with the length, grows with the planes") {
  Enclosure before = packing_bound(8, 20);
  for (const unsigned n : {100U, 10000U, 100000000U}) {
    const Enclosure now = packing_bound(8, n);
    CHECK(now.hi <= before.hi);
    CHECK(packing_bound(16, n).lo >= now.lo);
    before = now;
  }
  CHECK_THROWS_AS(packing_bound(0, 5), Error);
  CHECK_THROWS_AS(packing_bound(2, 1), Error);
}
