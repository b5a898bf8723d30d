#include "proofs_numeric/optimal.hpp"

#include <tbb/global_control.h>

#include <random>

#include "proofs_numeric/one_plane.hpp"
#include "tests/catch.hpp"
#include "tests/proofs_numeric/game_value.hpp"

using namespace ropewalk;
using namespace ropewalk::proofs_numeric;
using theory::Integer;

namespace {

using Wide = theory::Interval<60>;  // 200 bits

Rational number(const char* text) { return *Formula::parse(text).rational(); }

std::vector<Formula> plain(const char* base, int planes) {
  std::vector<Formula> result;
  for (int f = 0; f < planes; ++f)
    result.push_back(pow(Formula::parse(base), Rational(-f, planes)));
  return result;
}

std::vector<Formula> angles(std::initializer_list<const char*> texts) {
  std::vector<Formula> result;
  for (const char* text : texts) result.push_back(Formula::parse(text));
  return result;
}

// The optimum by the exact simplex; every 1 - cos theta_f s must be rational.
Rational exact_optimum(const std::vector<Formula>& frequencies, int reach) {
  std::vector<std::vector<Rational>> rows;
  for (int lag = 1; lag <= reach; ++lag) {
    rows.emplace_back();
    for (const Formula& theta : frequencies)
      rows.back().push_back(1 - theory::cosine<Rational>(theta, Lag(lag)));
  }
  return tests::game_value(rows);
}

void check_lists(const std::vector<LagWeight>& dual, const Lag& reach) {
  Rational sum;
  for (std::size_t k = 0; k < dual.size(); ++k) {
    CHECK(dual[k].weight > 0);
    CHECK(dual[k].lag >= 1);
    CHECK(dual[k].lag <= reach);
    if (k > 0) CHECK(dual[k - 1].lag < dual[k].lag);
    sum += dual[k].weight;
  }
  CHECK(sum == 1);
}

// Both sides again, term by term and with other formulas than the code under test.
void check_proof(const std::vector<Formula>& frequencies, unsigned reach, const OptimalHead& head) {
  Rational sum;
  REQUIRE(head.amplitudes.size() == frequencies.size());
  for (const Rational& a : head.amplitudes) {
    CHECK(a >= 0);
    sum += a;
  }
  CHECK(sum == 1);
  check_lists(head.dual, reach);

  std::vector<Wide> theta;
  for (const Formula& f : frequencies) theta.push_back(f.as<Wide>());
  std::optional<Rational> least;
  for (unsigned s = 1; s <= reach; ++s) {
    Wide loss;
    for (std::size_t f = 0; f < theta.size(); ++f)
      if (head.amplitudes[f] != 0)
        loss += Wide(head.amplitudes[f]) * (Wide(1) - cos(Wide(Wide(s) * theta[f])));
    const Enclosure e = enclosure(loss);
    REQUIRE(e.hi >= head.optimum.lo);
    if (!least || e.lo < *least) least = e.lo;
  }
  CHECK(*least <= head.optimum.lo + number("1e-25"));  // lo is the margin, not less
  std::optional<Rational> most;
  for (const Wide& angle : theta) {
    Wide value;
    for (const LagWeight& m : head.dual)
      value += Wide(m.weight) * (Wide(1) - cos(Wide(Wide(m.lag) * angle)));
    const Enclosure e = enclosure(value);
    REQUIRE(e.lo <= head.optimum.hi);
    if (!most || e.hi > *most) most = e.hi;
  }
  CHECK(*most >= head.optimum.hi - number("1e-25"));
}

void check_golden(const char* base, int planes, const Lag& reach, const char* optimum,
                  const char* uniform) {
  CAPTURE(base, planes, reach.str());
  const auto frequencies = plain(base, planes);
  const OptimalHead head = optimal_head(frequencies, reach);
  CAPTURE(text(head.optimum, 16), head.iterations);
  CHECK(head.optimum.lo <= number(optimum) + number("6e-9"));  // eight decimals are known
  CHECK(head.optimum.hi >= number(optimum) - number("6e-9"));
  CHECK(*head.optimum.relative_width() <= number("1e-6"));
  check_lists(head.dual, reach);
  const Enclosure equal = uniform_margin(frequencies, reach);
  CHECK(equal.lo <= number(uniform) + number("6e-9"));
  CHECK(equal.hi >= number(uniform) - number("6e-9"));
  const auto share = efficiency(equal, head.optimum);
  REQUIRE(share);
  CHECK(share->lo <= number(uniform) / number(optimum) + number("1e-7"));
  CHECK(share->hi >= number(uniform) / number(optimum) - number("1e-7"));
  CHECK(share->hi < 1);
}

}  // namespace

TEST_CASE("optimal head: one lag bounds every head where the optimum is all but 0") {
  // Doubles near 2 pi k/258 and the like: at lag 258 both planes are back to 1e-13.
  const auto frequencies = angles({"2.1674553966627252", "0.12176715711588332"});
  const OptimalHead head = optimal_head(frequencies, 272);
  CAPTURE(text(head.optimum, 6));
  CHECK(head.optimum.lo >= 0);
  CHECK(head.optimum.hi < number("1e-24"));
}

TEST_CASE("best amplitudes: values measured before") {
  check_golden("5e5", 64, 1024, "0.31534569", "0.02209078");
  check_golden("5e5", 64, 131072, "0.28056445", "0.02209078");
  check_golden("1e4", 64, 131072, "0.29325495", "0.02978619");
  check_golden("1e4", 8, 131072, "0.11770379", "0.06435422");
}

TEST_CASE("the best head at a reach of a million is found and proven") {
  const OptimalHead head = optimal_head(plain("5e5", 64), 1000000);
  CHECK(*head.optimum.relative_width() <= number("1e-6"));
  CHECK(head.optimum.lo > number("0.2742617"));
  CHECK(head.optimum.hi < number("0.2742618"));
}

TEST_CASE("the bracket of the best head holds the exact optimum of the linear program") {
  std::mt19937 random(3);
  const auto draw = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  for (int trial = 0; trial < 40; ++trial) {
    std::vector<Formula> frequencies;
    const int planes = draw(2, 4);
    for (int f = 0; f < planes; ++f) frequencies.push_back(acos(Formula(Rational(draw(-6, 6), 7))));
    const int reach = draw(1, 14);
    CAPTURE(trial, planes, reach);
    const Rational exact = exact_optimum(frequencies, reach);
    const OptimalHead head = optimal_head(frequencies, reach);
    CAPTURE(exact.convert_to<double>(), text(head.optimum, 16), head.iterations);
    CHECK(head.optimum.contains(exact));
    CHECK(head.optimum.hi - head.optimum.lo <= head.optimum.lo * number("1e-6"));
  }
}

TEST_CASE("amplitudes and dual of the best head prove its bracket") {
  for (const auto& [base, planes, reach] :
       {std::tuple{"5e5", 64, 1024U}, {"1e4", 8, 1000U}, {"1e4", 3, 2000U}, {"2", 20, 300U}}) {
    CAPTURE(base, planes, reach);
    const auto frequencies = plain(base, planes);
    const OptimalHead head = optimal_head(frequencies, reach);
    CHECK(*head.optimum.relative_width() <= number("1e-6"));
    check_proof(frequencies, reach, head);
  }
}

TEST_CASE("the best head where the answer is known in closed form") {
  // N points on a circle, all harmonics: N/(N-1).
  for (const int n : {3, 5, 6, 8}) {
    std::vector<Formula> harmonics;
    for (int k = 1; k < n; ++k) harmonics.push_back(Formula(Rational(2 * k, n)) * Formula::pi());
    const OptimalHead head = optimal_head(harmonics, n - 1);
    CAPTURE(n, text(head.optimum, 16));
    CHECK(head.optimum.contains(Rational(n, n - 1)));
    CHECK(*head.optimum.relative_width() <= number("1e-6"));
  }
  // Common returns: 0, exactly.
  const OptimalHead returns = optimal_head(angles({"2*pi/7", "2*pi/3", "pi"}), 100);
  CHECK(returns.optimum.exact());
  CHECK(returns.optimum.hi == 0);
  CHECK(returns.dual.size() == 1);
  CHECK(returns.dual.front().lag % 42 == 0);
  CHECK(optimal_head(angles({"2*pi/7", "2*pi/3", "pi"}), 41).optimum.lo > 0);
  const OptimalHead still = optimal_head(angles({"0", "2*pi", "0"}), 5);
  CHECK(still.optimum.exact());
  CHECK(still.optimum.hi == 0);
  CHECK_FALSE(efficiency(Enclosure(Rational(0)), still.optimum));
  // A plane that stands still is of no use.
  const OnePlaneGap gap = one_plane_gap(Formula(1), 700);
  const OptimalHead alone = optimal_head(angles({"0", "1"}), 700);
  CHECK(alone.amplitudes == std::vector<Rational>{0, 1});
  CHECK(alone.optimum.lo <= gap.value.hi);
  CHECK(alone.optimum.hi >= gap.value.lo);
  CHECK(*alone.optimum.relative_width() <= number("1e-6"));
  // One plane: continued fractions, at any reach.
  const Lag googol = boost::multiprecision::pow(Integer(10), 100);
  const OptimalHead single = optimal_head(angles({"1"}), googol);
  CHECK(single.optimum.lo > number("8.8067157768478832e-200"));
  CHECK(single.optimum.hi < number("8.8067157768478833e-200"));
  CHECK(single.amplitudes == std::vector<Rational>{1});
}

TEST_CASE("small optima are bracketed as tightly as large ones") {
  const auto frequencies = plain("1e4", 2);
  const OptimalHead head = optimal_head(frequencies, 1000000);
  CHECK(*head.optimum.relative_width() <= number("1e-6"));
  CHECK(head.optimum.lo > number("1.4005605e-7"));
  CHECK(head.optimum.hi < number("1.4005606e-7"));
}

TEST_CASE("the best head does not depend on the number of threads") {
  const auto frequencies = plain("5e5", 64);
  std::vector<OptimalHead> heads;
  for (const std::size_t threads : {1U, 2U, 5U}) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    heads.push_back(optimal_head(frequencies, 300000));
  }
  for (const OptimalHead& head : heads) {
    CHECK(head.optimum.lo == heads.front().optimum.lo);
    CHECK(head.optimum.hi == heads.front().optimum.hi);
    CHECK(head.amplitudes == heads.front().amplitudes);
    CHECK(head.dual.size() == heads.front().dual.size());
  }
}

TEST_CASE("out of rounds, the best head is still enclosed") {
  OptimalOptions options;
  for (const unsigned rounds : {0U, 1U, 2U}) {
    options.rounds = rounds;
    const OptimalHead head = optimal_head(plain("5e5", 64), 131072, options);
    CAPTURE(rounds, text(head.optimum, 16));
    CHECK(head.iterations == rounds);
    CHECK(head.optimum.lo < number("0.28056446"));
    CHECK(head.optimum.lo > 0);
    CHECK(head.optimum.hi > number("0.28056445"));
    CHECK(head.optimum.hi - head.optimum.lo > number("1e-4"));
  }
  std::atomic<bool> stop = true;
  options = {};
  options.stop = &stop;
  CHECK_THROWS_AS(optimal_head(plain("5e5", 64), 131072, options), Error);
}

TEST_CASE("one-sided: phases help, and both sides of the optimum are proven") {
  const auto frequencies = plain("5e5", 64);
  const OffsetHead head = offset_head(frequencies, 17, 0);
  const OptimalHead two_sided = optimal_head(frequencies, 16);
  CAPTURE(text(head.optimum, 16), text(two_sided.optimum, 16));
  CHECK(two_sided.optimum.lo < number("0.40375"));
  CHECK(two_sided.optimum.hi > number("0.40365"));
  CHECK(head.optimum.lo > number("0.6317916"));
  CHECK(head.optimum.hi < number("0.6317917"));
  CHECK(*head.optimum.relative_width() <= number("1e-6"));
  check_lists(head.dual, 16);
  // Term by term: sizes add up to at most 1, no lag below, no plane above.
  Wide sizes;
  for (const ComplexAmplitude& b : head.amplitudes)
    sizes += sqrt(Wide(Rational(b.re * b.re + b.im * b.im)));
  CHECK(enclosure(sizes).lo <= 1);
  CHECK(enclosure(sizes).lo > number("0.999999"));
  for (unsigned s = 1; s <= 16; ++s) {
    Wide loss;
    for (std::size_t f = 0; f < frequencies.size(); ++f) {
      const auto turn = theory::rotation<Wide>(frequencies[f], s);
      loss +=
          Wide(head.amplitudes[f].re) * (Wide(1) - turn.x) + Wide(head.amplitudes[f].im) * turn.y;
    }
    REQUIRE(enclosure(loss).hi >= head.optimum.lo);
  }
  for (const Formula& theta : frequencies) {
    Wide x;
    Wide y;
    for (const LagWeight& m : head.dual) {
      const auto turn = theory::rotation<Wide>(theta, m.lag);
      x += Wide(m.weight) * (Wide(1) - turn.x);
      y += Wide(m.weight) * turn.y;
    }
    REQUIRE(enclosure(x * x + y * y).lo <= head.optimum.hi * head.optimum.hi);
  }
}

TEST_CASE("one-sided: a single lag is worth 2 sin(theta/2), the most there is at any reach") {
  const Enclosure most = enclosure(Wide(2) * sin(Wide(Rational(1, 2))));
  const OffsetHead one = offset_head(plain("5e5", 8), 2, 0);
  CHECK(one.optimum.lo <= most.hi);
  CHECK(one.optimum.hi >= most.lo);
  CHECK(*one.optimum.relative_width() <= number("1e-6"));
  CHECK(offset_head(plain("5e5", 8), 501, 0).optimum.hi < most.hi);
  // theta = pi, one plane: lag 1 gives Re 2b, lag 2 nothing.
  CHECK(offset_head(angles({"pi"}), 2, 0).optimum.contains(2));
  const OffsetHead returns = offset_head(angles({"pi"}), 3, 0);
  CHECK(returns.optimum.exact());
  CHECK(returns.optimum.hi == 0);
}

TEST_CASE("the best head at one offset, between the ends and the middle") {
  const auto frequencies = plain("5e5", 64);
  const auto margin = [&](unsigned length, unsigned offset) {
    const OffsetHead head = offset_head(frequencies, length, offset);
    CAPTURE(length, offset, text(head.optimum, 16));
    CHECK(*head.optimum.relative_width() <= number("1e-6"));
    for (const LagWeight& m : head.dual) {
      CHECK(m.lag != 0);
      CHECK(m.lag >= -Lag(offset));
      CHECK(m.lag <= Lag(length - 1 - offset));
    }
    return head.optimum;
  };
  const auto overlap = [](const Enclosure& x, const Enclosure& y) {
    return x.lo <= y.hi && y.lo <= x.hi;
  };
  // In the middle both sides are alike and phases are no help.
  CHECK(overlap(margin(33, 16), optimal_head(frequencies, 16).optimum));
  // The first token is the mirror image of the own one.
  CHECK(overlap(margin(17, 16), margin(17, 0)));
  // The previous token: one key behind, n - 2 ahead.
  const Enclosure previous = margin(18, 1);
  CHECK(previous.hi < margin(17, 0).lo);
  CHECK(previous.hi <= optimal_head(frequencies, 1).optimum.hi);
  CHECK(previous.lo > optimal_head(frequencies, 16).optimum.hi);
}

TEST_CASE("one-sided: a long reach closes too, above the two-sided optimum") {
  const auto frequencies = plain("5e5", 64);
  const OffsetHead head = offset_head(frequencies, 131072, 0);
  CAPTURE(text(head.optimum, 16), head.iterations);
  CHECK(*head.optimum.relative_width() <= number("1e-6"));
  CHECK(head.optimum.lo > number("0.354721"));
  CHECK(head.optimum.hi < number("0.354722"));
}

TEST_CASE("any mixture of lags bounds every head from above") {
  const auto frequencies = plain("5e5", 64);
  // Lag 1 alone: 1 - cos theta_max.
  const Enclosure lag_one = mixture_bound(frequencies, {{1, 1}});
  CHECK(lag_one.lo > number("0.4596976"));
  CHECK(lag_one.hi < number("0.4596977"));
  CHECK(mixture_bound(angles({"pi/3", "2*pi"}), {{1, Rational(1, 2)}, {2, Rational(1, 2)}}).lo ==
        1);
  CHECK(offset_mixture_bound(angles({"pi/3", "pi"}), {{1, 1}}).contains(2));
  CHECK_THROWS_AS(mixture_bound(frequencies, {}), Error);
  CHECK_THROWS_AS(mixture_bound({}, {{1, 1}}), Error);
  CHECK_THROWS_AS(mixture_bound(frequencies, {{0, 1}}), Error);
  CHECK_THROWS_AS(mixture_bound(frequencies, {{1, Rational(1, 2)}}), Error);
  CHECK_THROWS_AS(mixture_bound(frequencies, {{1, 2}, {2, -1}}), Error);
}

TEST_CASE("the reach that bounds every equal-key head is the shorter side") {
  CHECK(two_sided_reach(10, 1) == 1);
  CHECK(two_sided_reach(10, 8) == 1);
  CHECK(two_sided_reach(10, 4) == 4);
  CHECK(two_sided_reach(11, 5) == 5);
  CHECK_THROWS_AS(two_sided_reach(10, 0), Error);
  CHECK_THROWS_AS(two_sided_reach(10, 9), Error);
}

TEST_CASE("Dirichlet's bound says something from T = 3^D on") {
  CHECK_FALSE(dirichlet_bound(64, 131072));
  CHECK_FALSE(dirichlet_bound(2, 8));
  CHECK(dirichlet_bound(2, 9)->lo == Rational(3, 2));
  CHECK(dirichlet_bound(2, 15)->hi == Rational(3, 2));
  CHECK(dirichlet_bound(2, 16)->hi == 1);
  CHECK(dirichlet_bound(2, 36)->hi == Rational(1, 2));
  CHECK(dirichlet_bound(64, boost::multiprecision::pow(Integer(3), 64))->hi == Rational(3, 2));
  const auto hundred = dirichlet_bound(1, 100);
  CHECK(hundred->lo > number("0.00197327"));
  CHECK(hundred->hi < number("0.00197328"));
  CHECK(optimal_head(plain("5e5", 2), 36).optimum.hi < dirichlet_bound(2, 36)->lo);
  CHECK_THROWS_AS(dirichlet_bound(0, 5), Error);
  CHECK_THROWS_AS(dirichlet_bound(1, 0), Error);
}

TEST_CASE("the Retrieval bound is A/(A-1) times the largest mean rotation") {
  const auto frequencies = angles({"1", "0.3", "0.02"});
  for (const unsigned n : {2U, 17U, 100U}) {
    const auto bound = retrieval_bound(frequencies, 2, n);
    REQUIRE(bound);
    std::optional<Enclosure> most;
    for (const Formula& theta : frequencies) {
      Wide x;
      Wide y;
      for (unsigned t = 0; t < n; ++t) {
        const auto turn = theory::rotation<Wide>(theta, t);
        x += turn.x;
        y += turn.y;
      }
      const Enclosure e = enclosure(Wide(2) * sqrt(Wide(x * x + y * y)) / Wide(n));
      if (!most || e.hi > most->hi) most = e;
    }
    CAPTURE(n, text(*bound, 20), text(*most, 20));
    CHECK(bound->lo <= most->hi);
    CHECK(bound->hi >= most->lo);
    CHECK(*bound->relative_width() < number("1e-20"));
    // Ten letters: 10/9 instead of 2.
    const auto ten = retrieval_bound(frequencies, 10, n);
    CHECK(ten->lo * 9 <= bound->hi * 5);
    CHECK(ten->hi * 9 >= bound->lo * 5);
  }
  CHECK(retrieval_bound(angles({"2*pi/7"}), 2, 14)->exact());
  CHECK(retrieval_bound(angles({"2*pi/7"}), 2, 14)->hi == 0);
  CHECK_FALSE(retrieval_bound(angles({"1", "0"}), 2, 5));
  CHECK_FALSE(retrieval_bound(angles({"4*pi"}), 2, 5));
  CHECK_THROWS_AS(retrieval_bound(angles({"2*pi*log(4)/log(2)"}), 2, 5), Error);
  CHECK_THROWS_AS(retrieval_bound(angles({"1"}), 2, 1), Error);
  CHECK_THROWS_AS(retrieval_bound({}, 2, 5), Error);
  CHECK_THROWS_AS(retrieval_bound(angles({"1"}), 1, 5), Error);
}

TEST_CASE("bad questions about best heads are refused") {
  const Lag far("1000000000000000001");
  CHECK_THROWS_AS(optimal_head({}, 5), Error);
  CHECK_THROWS_AS(optimal_head(plain("5e5", 2), 0), Error);
  CHECK_THROWS_AS(optimal_head(plain("5e5", 2), far), Error);
  CHECK_THROWS_AS(optimal_head(std::vector<Formula>(4097, Formula(1)), 5), Error);
  CHECK_THROWS_AS(offset_head({}, 5, 0), Error);
  CHECK_THROWS_AS(offset_head(plain("5e5", 1), 1, 0), Error);
  CHECK_THROWS_AS(offset_head(plain("5e5", 1), 5, 5), Error);
  CHECK_THROWS_AS(offset_head(plain("5e5", 1), 5, -1), Error);
  CHECK_THROWS_AS(offset_head(plain("5e5", 1), Lag(far + 1), 0), Error);
  CHECK_THROWS_AS(offset_head(std::vector<Formula>(2049, Formula(1)), 5, 0), Error);
  CHECK_THROWS_AS(uniform_margin({}, 5), Error);
  CHECK_THROWS_AS(uniform_margin(plain("5e5", 2), far), Error);
}
