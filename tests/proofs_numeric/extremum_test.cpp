#include "proofs_numeric/extremum.hpp"

#include <tbb/global_control.h>

#include <cmath>

#include "tests/catch.hpp"
#include "tests/theory/support.hpp"

using namespace ropewalk;
using namespace ropewalk::proofs_numeric;
using tests::Draw;
using theory::Enclosure;
using theory::Formula;
using theory::Lag;
using theory::Rational;
using theory::TrigSum;

namespace {

Lag lag(const char* text) { return numerator(*Formula::parse(text).rational()); }

TrigSum uniform(const char* base, unsigned planes) {
  std::vector<Formula> frequencies;
  for (unsigned f = 0; f < planes; ++f)
    frequencies.push_back(pow(Formula::parse(base), Rational(-static_cast<int>(f), planes)));
  return theory::aligned_loss(std::vector<Rational>(planes, Rational(1, planes)), frequencies);
}

void check_value(const Enclosure& x, const char* lo, const char* hi) {
  CAPTURE(text(x, 16));
  CHECK(x.lo >= *Formula::parse(lo).rational());
  CHECK(x.hi <= *Formula::parse(hi).rational());
}

// The obvious way: every lag by libm, and 200 bits for those within 1e-6 of the least.
struct Brute {
  std::vector<Lag> argmin;
  std::vector<Lag> records;
  Rational value;
};

Brute brute(const TrigSum& sum, const LagRange& range) {
  using High = theory::Real<60>;
  struct Term {
    double a, theta, phi;
  };
  std::vector<Term> terms;
  for (const auto& t : sum.terms)
    terms.push_back(
        {t.amplitude.convert_to<double>(), t.frequency.as<double>(), t.phase.as<double>()});
  Brute result;
  double least = 1e300;
  std::optional<High> record;
  std::vector<std::pair<Lag, double>> rough;
  for (Lag t = range.first; t <= range.last; ++t) {
    if (std::find(range.excluded.begin(), range.excluded.end(), t) != range.excluded.end())
      continue;
    double v = sum.offset.convert_to<double>();
    const auto x = t.convert_to<double>();
    for (const Term& term : terms) v += term.a * std::cos(term.theta * x + term.phi);
    if (v < least + 1e-6) {
      rough.emplace_back(t, v);
      const High exact = sum.at<High>(t);
      if (!record || exact < *record - High("1e-40")) {
        record = exact;
        result.records.push_back(t);
      }
    }
    least = std::min(least, v);
  }
  std::vector<std::pair<Lag, High>> near;
  for (const auto& [t, v] : rough)
    if (v < least + 1e-6) near.emplace_back(t, sum.at<High>(t));
  High best = near.front().second;
  for (const auto& [t, v] : near)
    if (v < best) best = v;
  for (const auto& [t, v] : near)
    if (v < best + High("1e-40")) result.argmin.push_back(t);
  mpfr_get_q(result.value.backend().data(), best.backend().data());
  return result;
}

// 1..64 planes, phases, any signs, T log-uniform in [1, longest]; every third sum has rational
// turns and so ties.
TrigSum random_sum(Draw& draw, bool turns, LagRange& range, double longest) {
  TrigSum sum;
  sum.offset = draw.rational(2);
  const int planes = static_cast<int>(std::pow(64.0, draw.integer(0, 1000) / 1000.0));
  for (int f = 0; f < planes; ++f) {
    const Formula pi = Formula::pi();
    sum.terms.push_back(
        {draw.rational(3),
         turns
             ? Formula(Rational(draw.integer(0, 60), 30)) * pi
             : pow(Formula(Rational(draw.integer(2, 100000))), Rational(-draw.integer(0, 64), 64)),
         turns ? Formula(Rational(draw.integer(0, 12), 6)) * pi : Formula(draw.rational(2))});
  }
  range.first = draw.integer(-20, 20);
  range.last = range.first + static_cast<long>(std::pow(longest, draw.integer(0, 1000) / 1000.0));
  if (draw.integer(0, 1) == 1) range.excluded = {range.first, Lag(range.first + 2)};
  if (Lag(range.last - range.first) < 3) range.excluded.clear();
  return sum;
}

}  // namespace

TEST_CASE("golden extrema of the uniform head at base 5e5, 64 planes") {
  const TrigSum sum = uniform("500000", 64);
  for (const char* reach : {"1000", "131072", "1e9", "1e11"}) {
    const ExtremumReport r = minimum(sum, {1, lag(reach), {}});
    CAPTURE(reach, r.reason);
    check_value(r.extremum.value, "0.02209077583", "0.02209077584");
    CHECK(r.extremum.lags == std::vector<Lag>{1});
    CHECK(r.extremum.lags_complete);
  }
  CHECK(minimum(sum, {1, lag("1e9"), {}}).method == Method::branch_and_bound);
}

TEST_CASE("one plane through the primitive: theta = 1 at reach 1e100") {
  const ExtremumReport r = minimum(uniform("500000", 1), {1, lag("1e100"), {}});
  CHECK(r.method == Method::continued_fractions);
  check_value(r.extremum.value, "8.8067157768478832e-200", "8.8067157768478833e-200");
  REQUIRE(r.extremum.lags.size() == 1);
  ExtremumOptions options;
  options.records = true;
  std::vector<Lag> steps;
  for (const Record& record : minimum(uniform("2", 1), {1, 104000, {}}, options).records)
    steps.push_back(record.lag);
  CHECK(steps == std::vector<Lag>{1, 6, 19, 25, 44, 333, 710, 103993});
}

TEST_CASE("the planner scans where one fast plane dominates") {
  std::vector<Formula> frequencies;
  std::vector<Rational> amplitudes(64, Rational(0));
  for (int f = 0; f < 64; ++f) frequencies.push_back(pow(Formula(500000), Rational(-f, 64)));
  amplitudes[0] = Rational(99, 100);
  amplitudes[1] = Rational(1, 100);
  const ExtremumReport r = minimum(theory::aligned_loss(amplitudes, frequencies), {1, 2000000, {}});
  CAPTURE(r.reason);
  CHECK(r.method == Method::scan);
  CHECK(r.reason.find("fast") != std::string::npos);
}

TEST_CASE(
    "the primitive equals brute force on random sums, by every method, with records and ties") {
  Draw draw(20);
  const bool longer = tests::iterations(1) > 1;
  for (int i = 0; i < tests::iterations(100); ++i) {
    LagRange range;
    const TrigSum sum = random_sum(draw, i % 3 == 0, range, longer ? 1e5 : 1e4);
    const Brute expected = brute(sum, range);
    for (const std::optional<Method>& method :
         {std::optional<Method>(), std::optional(Method::scan),
          std::optional(Method::branch_and_bound)}) {
      ExtremumOptions options;
      options.records = true;
      options.method = method;
      const ExtremumReport r = minimum(sum, range, options);
      CAPTURE(i, sum.terms.size(), range.first.str(), range.last.str(), r.reason);
      REQUIRE(r.extremum.value.lo <= expected.value + *Formula::parse("1e-40").rational());
      REQUIRE(expected.value - *Formula::parse("1e-40").rational() <= r.extremum.value.hi);
      if (r.extremum.lags_complete)
        REQUIRE(r.extremum.lags == expected.argmin);
      else
        for (const Lag& t : r.extremum.lags)
          REQUIRE(std::find(expected.argmin.begin(), expected.argmin.end(), t) !=
                  expected.argmin.end());
      std::vector<Lag> steps;
      for (const Record& record : r.records) steps.push_back(record.lag);
      REQUIRE(steps == expected.records);
    }
  }
}

TEST_CASE("a maximum is the mirrored minimum") {
  TrigSum sum = uniform("10000", 4);
  TrigSum mirrored = sum;
  mirrored.offset = -mirrored.offset;
  for (auto& term : mirrored.terms) term.amplitude = -term.amplitude;
  const ExtremumReport high = maximum(sum, {0, 5000, {}});
  const ExtremumReport low = minimum(mirrored, {0, 5000, {}});
  CHECK(high.extremum.lags == low.extremum.lags);
  CHECK(high.extremum.value.lo == -low.extremum.value.hi);
}

TEST_CASE("the same answer for every number of threads") {
  const TrigSum sum = uniform("10000", 8);
  ExtremumOptions options;
  options.records = true;
  std::optional<ExtremumReport> first;
  for (const std::size_t threads : {std::size_t{1}, std::size_t{2}, std::size_t{7}}) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    const ExtremumReport r = minimum(sum, {1, 3000000, {}}, options);
    if (!first) first = r;
    CHECK(r.extremum.lags == first->extremum.lags);
    CHECK(r.extremum.value.lo == first->extremum.value.lo);
    CHECK(r.extremum.value.hi == first->extremum.value.hi);
    REQUIRE(r.records.size() == first->records.size());
    for (std::size_t i = 0; i < r.records.size(); ++i)
      CHECK(r.records[i].lag == first->records[i].lag);
  }
}

TEST_CASE("ties are all listed, up to a thousand") {
  // 1 - cos(2 pi t/7): zero at every seventh lag.
  const TrigSum sum = theory::aligned_loss({Rational(1)}, {Formula::parse("2*pi/7")});
  const ExtremumReport few = minimum(sum, {1, 30, {}});
  CHECK(few.extremum.lags == std::vector<Lag>{7, 14, 21, 28});
  CHECK(few.extremum.value.exact());
  const ExtremumReport without = minimum(sum, {1, 30, {14}});
  CHECK(without.extremum.lags == std::vector<Lag>{7, 21, 28});
  const ExtremumReport many = minimum(sum, {1, 70000, {}});
  CHECK(many.extremum.lags.size() == 1000);
  CHECK_FALSE(many.extremum.lags_complete);
}

TEST_CASE("a sum in which nothing moves is constant") {
  TrigSum sum;
  sum.offset = 2;
  sum.terms.push_back({Rational(1), Formula(0), Formula::parse("pi/3")});
  const ExtremumReport r = minimum(sum, {5, 9, {5}});
  CHECK(r.extremum.value.lo == Rational(5, 2));
  CHECK(r.extremum.lags == std::vector<Lag>{6});
  CHECK_FALSE(r.extremum.lags_complete);
}

TEST_CASE("the primitive refuses what is outside its domain, and can be stopped") {
  const TrigSum sum = uniform("10000", 8);
  CHECK_THROWS_AS(minimum(sum, {5, 4, {}}), Error);
  CHECK_THROWS_AS(minimum(sum, {5, 5, {5}}), Error);
  CHECK_THROWS_AS(minimum(sum, {1, lag("1e19"), {}}), Error);
  ExtremumOptions options;
  options.method = Method::continued_fractions;
  CHECK_THROWS_AS(minimum(sum, {1, 100, {}}, options), Error);
  std::atomic<bool> stop = true;
  options.method = Method::scan;
  options.stop = &stop;
  CHECK_THROWS_AS(minimum(sum, {1, 100000, {}}, options), Error);
}

TEST_CASE("one plane: a record that is nearer by 1e-60 is a record") {
  // Lags 1 and 4 of a fifth of a turn, and a little: 4 comes nearer, by far less than the circle
  // of the surrogate can tell.
  const auto sum = theory::aligned_loss({Rational(1)}, {Formula::parse("2*pi/5 + 10^-60")});
  ExtremumOptions options;
  options.records = true;
  for (const int last : {4, 3}) {
    const ExtremumReport report = minimum(sum, {1, last, {}}, options);
    REQUIRE(report.records.size() == (last == 4 ? 2 : 1));
    CHECK(report.records.front().lag == 1);
    CHECK(report.records.back().lag == report.extremum.lags.front());
  }
}
