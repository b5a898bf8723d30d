// The engine against the obvious ways, and the runs that users wait for. Prints Google Benchmark's
// report; table.py makes the table of ratios of it. Times are processor times of all threads, so
// that what else runs on the machine does not count.

#include <benchmark/benchmark.h>

#include "benchmarks/ways.hpp"
#include "proofs_numeric/base_set.hpp"
#include "proofs_numeric/extremum.hpp"
#include "proofs_numeric/optimal.hpp"

namespace {

using namespace ropewalk;
using benchmarks::Table;
using theory::Lag;
using theory::Rational;

constexpr Table table{500000, 64};

Lag power_of_ten(std::int64_t exponent) {
  return boost::multiprecision::pow(theory::Integer(10), static_cast<unsigned>(exponent));
}

// Runs one search per iteration and says what it looked at.
void search(benchmark::State& state, const theory::TrigSum& sum, const Lag& last) {
  proofs_numeric::ExtremumReport report;
  for (auto _ : state) report = proofs_numeric::minimum(sum, {1, last, {}});
  state.counters["looks"] = static_cast<double>(report.nodes);
  state.SetLabel(std::string(name(report.method)) + ", lag " + report.extremum.lags.front().str());
}

void engine(benchmark::State& state) {
  search(state, table.uniform(), power_of_ten(state.range(0)));
}
BENCHMARK(engine)
    ->Arg(4)
    ->Arg(5)
    ->Arg(6)
    ->Arg(9)
    ->Arg(12)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime();

void lag_by_lag(benchmark::State& state, std::int64_t (*way)(const Table&, std::int64_t)) {
  const auto last = static_cast<std::int64_t>(power_of_ten(state.range(0)));
  std::int64_t lag = 0;
  for (auto _ : state) benchmark::DoNotOptimize(lag = way(table, last));
  state.counters["looks"] = static_cast<double>(last);
  state.SetLabel("lag " + std::to_string(lag));
}
#ifdef ROPEWALK_HAS_ARB
BENCHMARK_CAPTURE(lag_by_lag, arb, benchmarks::by_arb)
    ->DenseRange(4, 6)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->MeasureProcessCPUTime();
#endif
BENCHMARK_CAPTURE(lag_by_lag, mpfi, benchmarks::by_mpfi)
    ->DenseRange(4, 5)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->MeasureProcessCPUTime();
BENCHMARK_CAPTURE(lag_by_lag, libm, benchmarks::by_libm)
    ->DenseRange(4, 6)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->MeasureProcessCPUTime();
BENCHMARK_CAPTURE(lag_by_lag, eigen, benchmarks::by_eigen)
    ->DenseRange(4, 6)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime();

// 99 hundredths of the weight on the fastest plane: nothing to prune, every lag is looked at.
void one_fast_plane(benchmark::State& state) {
  std::vector<theory::Formula> frequencies;
  for (const theory::TrigTerm& term : table.uniform().terms) frequencies.push_back(term.frequency);
  std::vector<Rational> amplitudes(table.planes, Rational(0));
  amplitudes[0] = Rational(99, 100);
  amplitudes[1] = Rational(1, 100);
  // The rest is too many planes for a lattice.
  for (unsigned f = 2; f < 12; ++f) amplitudes[f] = Rational(1, 1000);
  search(state, theory::aligned_loss(amplitudes, frequencies), power_of_ten(state.range(0)));
}
BENCHMARK(one_fast_plane)
    ->Arg(8)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->MeasureProcessCPUTime();

void two_planes(benchmark::State& state) {
  search(state, Table{10000, 2}.uniform(), power_of_ten(state.range(0)));
}
BENCHMARK(two_planes)->Arg(18)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

void one_plane(benchmark::State& state) {
  search(state, Table{2, 1}.uniform(), power_of_ten(state.range(0)));
}
BENCHMARK(one_plane)->Arg(100)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

void base(benchmark::State& state) {
  for (auto _ : state) {
    proofs_numeric::BaseQuestion question;
    question.length = static_cast<std::uint64_t>(state.range(0));
    question.only_infimum = true;
    benchmark::DoNotOptimize(proofs_numeric::base_set(question));
  }
}
BENCHMARK(base)->Arg(4096)->Unit(benchmark::kMillisecond)->Iterations(1)->MeasureProcessCPUTime();

void optimal(benchmark::State& state) {
  std::vector<theory::Formula> frequencies;
  for (const theory::TrigTerm& term : table.uniform().terms) frequencies.push_back(term.frequency);
  for (auto _ : state)
    benchmark::DoNotOptimize(proofs_numeric::optimal_head(frequencies, state.range(0)));
}
BENCHMARK(optimal)
    ->Arg(131072)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->MeasureProcessCPUTime();

}  // namespace

BENCHMARK_MAIN();
