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

// One sum by one method, with records, against the brute force.
void check_against(const Brute& expected, const TrigSum& sum, const LagRange& range,
                   const std::optional<Method>& method) {
  static const Rational slack = *Formula::parse("1e-40").rational();
  ExtremumOptions options;
  options.records = true;
  options.method = method;
  const ExtremumReport r = minimum(sum, range, options);
  CAPTURE(sum.terms.size(), range.first.str(), range.last.str(), name(r.method), r.reason);
  REQUIRE(r.extremum.value.lo <= expected.value + slack);
  REQUIRE(expected.value - slack <= r.extremum.value.hi);
  if (r.extremum.lags_complete)
    REQUIRE(r.extremum.lags == expected.argmin);
  else
    for (const Lag& t : r.extremum.lags)
      REQUIRE(std::binary_search(expected.argmin.begin(), expected.argmin.end(), t));
  std::vector<Lag> steps;
  for (const Record& record : r.records) {
    steps.push_back(record.lag);
    REQUIRE(record.value.hi - record.value.lo < *Formula::parse("1e-30").rational());
  }
  REQUIRE(steps == expected.records);
}

void check_random_sums(int count, double longest) {
  Draw draw(20);
  for (int i = 0; i < count; ++i) {
    LagRange range;
    const TrigSum sum = random_sum(draw, i % 3 == 0, range, longest);
    CAPTURE(i);
    const Brute expected = brute(sum, range);
    for (const std::optional<Method>& method :
         {std::optional<Method>(), std::optional(Method::scan),
          std::optional(Method::branch_and_bound)})
      check_against(expected, sum, range, method);
  }
}

// `count` planes with phases and holes; every third sum turns by rational fractions, some planes
// twins.
TrigSum few_planes(Draw& draw, int i, int count, LagRange& range) {
  TrigSum sum;
  sum.offset = draw.rational(2);
  for (int f = 0; f < count; ++f) {
    Formula frequency = Formula(Rational(draw.integer(1, 60), 30)) * Formula::pi();
    if (i % 3 != 0 || (f == 1 && i % 2 == 0))
      frequency = pow(Formula(Rational(draw.integer(2, 500))), Rational(draw.integer(-6, 6), 7));
    if (f > 0 && draw.integer(0, 9) == 0) frequency = sum.terms.back().frequency;
    Rational amplitude = draw.rational(3);
    if (amplitude == 0) amplitude = 1;
    const Formula phase = i % 2 == 0 ? Formula(draw.rational(2))
                                     : Formula(Rational(draw.integer(0, 12), 6)) * Formula::pi();
    sum.terms.push_back({amplitude, frequency, phase});
  }
  range.first = draw.integer(-20, 20);
  range.last = range.first + draw.integer(1, 3000);
  if (i % 4 == 1)
    for (int k = 0; k < 5; ++k) range.excluded.push_back(range.first + draw.integer(0, 20));
  if (Lag(range.last - range.first) < 20) range.excluded.clear();
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
  check_random_sums(tests::iterations(100), 1e4);
}

TEST_CASE("long: a thousand random sums to 1e5 lags equal brute force by every method") {
  if (!tests::long_form()) return;
  check_random_sums(tests::iterations(1000), 1e5);
}

TEST_CASE("a lattice and every other method agree on few planes") {
  Draw draw(31);
  int listed = 0;
  const int count = tests::iterations(400);
  for (int i = 0; i < count; ++i) {
    LagRange range;
    const TrigSum sum = few_planes(draw, i, 2 + i % 3, range);
    CAPTURE(i);
    const Brute expected = brute(sum, range);
    check_against(expected, sum, range, Method::scan);
    try {
      check_against(expected, sum, range, Method::lattice);
      ++listed;
    } catch (const Error& e) {  // hundreds of ties: it says so, and gives no answer
      REQUIRE(e.code() == ErrorCode::too_large);
    }
  }
  CAPTURE(listed);
  CHECK(listed > count * 8 / 10);
}

TEST_CASE("records of one plane equal brute force: phases, holes, rational turns") {
  Draw draw(32);
  for (int i = 0; i < tests::iterations(300); ++i) {
    LagRange range;
    const TrigSum sum = few_planes(draw, i, 1, range);
    CAPTURE(i);
    check_against(brute(sum, range), sum, range, Method::continued_fractions);
  }
}

TEST_CASE("records of one plane reach 1e100") {
  ExtremumOptions options;
  options.records = true;
  const ExtremumReport r = minimum(uniform("2", 1), {1, lag("1e100"), {}}, options);
  CHECK(r.records.back().lag == r.extremum.lags.front());
  // One record per convergent of 1/2 pi: a quotient has 1.03 digits on average.
  CHECK(r.records.size() > 150);
  CHECK(r.records.size() < 250);
  for (std::size_t i = 1; i < r.records.size(); ++i) {
    CHECK(r.records[i].lag > r.records[i - 1].lag);
    CHECK(r.records[i].value.hi < r.records[i - 1].value.lo);
  }
  // A range that ends just before a record has the one before it for its minimum.
  const ExtremumReport before =
      minimum(uniform("2", 1), {1, Lag(r.records.back().lag - 1), {}}, options);
  CHECK(before.extremum.lags.front() == r.records[r.records.size() - 2].lag);
  CHECK(before.records.size() == r.records.size() - 1);
}

TEST_CASE("two planes to 1e18, three to 1e15: a lattice finds what no scan could reach") {
  // Values by mpmath. For two planes, that no other lag is nearer was seen by walking through every
  // return of the first plane that is near enough: 1.2e9 of them for the square root of 2.
  const ExtremumReport related = minimum(uniform("10000", 2), {1, lag("1e18"), {}});
  CHECK(related.method == Method::lattice);
  CHECK(related.extremum.lags == std::vector<Lag>{lag("902537965266708497")});
  check_value(related.extremum.value, "5.1578802249860908e-33", "5.1578802249860909e-33");

  const TrigSum root = theory::aligned_loss({Rational(1, 2), Rational(1, 2)},
                                            {Formula(1), Formula::parse("sqrt(2)")});
  ExtremumOptions options;
  options.records = true;
  const ExtremumReport r = minimum(root, {1, lag("1e18"), {}}, options);
  CHECK(r.extremum.lags == std::vector<Lag>{lag("73719546641984211")});
  check_value(r.extremum.value, "3.2177144378013537e-18", "3.2177144378013538e-18");
  CHECK(r.records.back().lag == r.extremum.lags.front());
  // The staircase to 1e6 is the beginning of it.
  options.method = Method::scan;
  const ExtremumReport early = minimum(root, {1, 1000000, {}}, options);
  REQUIRE(early.records.size() <= r.records.size());
  for (std::size_t i = 0; i < early.records.size(); ++i)
    CHECK(early.records[i].lag == r.records[i].lag);

  const ExtremumReport three = minimum(uniform("10000", 3), {1, lag("1e15"), {}});
  CHECK(three.method == Method::lattice);
  CHECK(three.extremum.lags == std::vector<Lag>{lag("33865389960241")});
  check_value(three.extremum.value, "1.4327140116967344e-10", "1.4327140116967345e-10");
  // Without its best lags the range has the next one.
  const ExtremumReport second =
      minimum(uniform("10000", 3), {1, lag("1e15"), {lag("33865389960241")}});
  CHECK(second.extremum.value.lo > three.extremum.value.hi);
}

TEST_CASE("the planner falls back where a lattice would list too much") {
  // All planes turn by thirds: a third of all lags tie.
  TrigSum sum;
  for (int f = 0; f < 3; ++f)
    sum.terms.push_back({Rational(-1), Formula::parse("2*pi/3"), Formula(0)});
  const ExtremumReport r = minimum(sum, {1, lag("1e15"), {}});
  CHECK(r.method != Method::lattice);
  CHECK(r.extremum.lags.front() == 3);
  ExtremumOptions options;
  options.method = Method::lattice;
  CHECK_THROWS_AS(minimum(sum, {1, lag("1e15"), {}}, options), Error);
  CHECK_THROWS_AS(minimum(uniform("10000", 9), {1, 1000, {}}, options), Error);
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
