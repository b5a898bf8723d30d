#include "proofs_numeric/lattice.hpp"

#include <cmath>

#include "proofs_numeric/extremum.hpp"
#include "tests/catch.hpp"
#include "tests/theory/support.hpp"

using namespace ropewalk;
using namespace ropewalk::proofs_numeric;
using tests::Draw;
using theory::Formula;
using theory::Integer;
using theory::Lag;
using theory::Rational;

namespace {

Lag lag(const char* text) { return numerator(*Formula::parse(text).rational()); }

}  // namespace

TEST_CASE("every close return is listed") {
  Draw draw(41);
  for (int i = 0; i < tests::iterations(400); ++i) {
    const int count = draw.integer(1, 5);
    std::vector<LatticePlane> planes;
    std::vector<double> steps, phases;
    for (int f = 0; f < count; ++f) {
      // 53-bit fractions of a turn, so that double arithmetic below is exact up to 1e-12.
      steps.push_back(draw.integer(0, 1 << 30) * 0x1p-30 / 3.0);
      phases.push_back(draw.integer(0, 1 << 30) * 0x1p-30);
      const auto units = [](double x) {
        return Integer(std::ldexp(x, 60)) << (LatticePlane::bits - 60);
      };
      planes.push_back({units(steps.back()), units(phases.back()), draw.integer(1, 1000) / 100.0});
    }
    const int first = draw.integer(-3000, 3000);
    const int last = first + draw.integer(0, 4000);
    double total = 0;
    for (const LatticePlane& p : planes) total += p.weight;
    const double bound =
        std::min(total / 4, expected_least(planes, last - first + 1) * draw.integer(1, 20));
    const CloseReturns close = close_returns(planes, first, last, bound, 5000, 10000000);
    CAPTURE(i, count, first, last, bound, close.nodes);
    REQUIRE(close.complete);
    REQUIRE(std::is_sorted(close.lags.begin(), close.lags.end()));
    for (int t = first; t <= last; ++t) {
      double w = 0;
      for (std::size_t f = 0; f < planes.size(); ++f) {
        const double x = steps[f] * t + phases[f];
        w += planes[f].weight * (1 - std::cos(2 * M_PI * (x - std::nearbyint(x))));
      }
      if (w < bound * (1 - 1e-9)) {
        CAPTURE(t, w);
        REQUIRE(std::binary_search(close.lags.begin(), close.lags.end(), Lag(t)));
      }
    }
    for (const Lag& t : close.lags) REQUIRE((t >= first && t <= last));
  }
}

TEST_CASE("what is too much to list is said to be incomplete") {
  const LatticePlane still{0, 0, 1.0};  // every lag returns
  CHECK_FALSE(close_returns({still}, 1, lag("1e15"), 0.5, 1000, 1000000).complete);
  const LatticePlane third{(Integer(1) << LatticePlane::bits) / 3, 0, 1.0};
  CHECK_FALSE(close_returns({third, third}, 1, lag("1e15"), 0.5, 1000, 1000000).complete);
  CHECK_FALSE(close_returns({third}, 1, 10, 0.0, 1000, 1000).complete);
  CHECK_FALSE(close_returns(std::vector<LatticePlane>(9, third), 1, 10, 0.5, 1000, 1000).complete);
}
