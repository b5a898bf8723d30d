// A guard: the engine is at least so many times faster than an Arb cosine per lag and plane, and
// finds the same lag. A ratio of two times from one run, so that neither the machine nor its load
// matters much, with a margin of several times.

#include <cstdio>
#include <ctime>

#include "benchmarks/ways.hpp"
#include "proofs_numeric/extremum.hpp"

int main() {
  using namespace ropewalk;
  constexpr double least_ratio = 50;
  constexpr std::int64_t last = 100000;
  const benchmarks::Table table{500000, 64};
  // Processor time of all threads: what else runs on the machine does not count.
  const auto seconds = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };

  double engine = 1e300;  // the best of three: a first run also starts the threads
  theory::Lag lag;
  for (int i = 0; i < 3; ++i) {
    const double start = seconds();
    lag = proofs_numeric::minimum(table.uniform(), {1, last, {}}).extremum.lags.front();
    engine = std::min(engine, seconds() - start);
  }
  const double start = seconds();
  const theory::Lag naive = benchmarks::by_arb(table, last);
  const double arb = seconds() - start;
  std::printf("lags 1..%lld, %u planes: engine %.4f s, Arb %.3f s, ratio %.0f (at least %.0f)\n",
              static_cast<long long>(last), table.planes, engine, arb, arb / engine, least_ratio);
  if (lag != naive) {
    std::printf("the engine says lag %s, Arb says lag %s\n", lag.str().c_str(),
                naive.str().c_str());
    return 1;
  }
  return arb >= least_ratio * engine ? 0 : 1;
}
