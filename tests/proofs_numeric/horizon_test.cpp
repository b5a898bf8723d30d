#include "proofs_numeric/horizon.hpp"

#include <tbb/global_control.h>

#include <random>

#include "tests/catch.hpp"

using namespace ropewalk;
using namespace ropewalk::proofs_numeric;

namespace {

using Wide = theory::Interval<60>;

Rational number(const char* text) { return *Formula::parse(text).rational(); }

std::vector<Formula> plain(int base, int planes) {
  std::vector<Formula> result;
  for (int f = 0; f < planes; ++f) result.push_back(pow(Formula(base), Rational(-f, planes)));
  return result;
}

std::vector<ComplexAmplitude> real(const std::vector<Rational>& amplitudes) {
  std::vector<ComplexAmplitude> result;
  for (const Rational& a : amplitudes) result.push_back({a, 0});
  return result;
}

HorizonQuestion question(int scale, const char* mass, std::int64_t offset,
                         std::int64_t reach = 1 << 20) {
  HorizonQuestion q;
  q.scale = scale;
  q.mass = number(mass);
  q.offset = offset;
  q.reach = reach;
  return q;
}

bool holds(const Enclosure& mass, const char* value) {
  const Rational off = number("1e-15");
  return mass.lo <= number(value) + off && mass.hi >= number(value) - off &&
         mass.hi - mass.lo < number("1e-10");
}

// e^{-scale loss}, term by term.
Wide term(const std::vector<ComplexAmplitude>& head, const std::vector<Formula>& frequencies,
          const HorizonQuestion& q, std::int64_t s) {
  Wide loss;
  for (std::size_t f = 0; f < head.size(); ++f) {
    const Wide angle = Wide(s) * frequencies[f].as<Wide>();
    loss += Wide(head[f].re) * (Wide(1) - cos(angle)) + Wide(head[f].im) * sin(angle);
  }
  return exp(Wide(-(Wide(q.scale) * loss)));
}

// The last length with the mass, by adding up.
std::int64_t last_by_hand(const std::vector<ComplexAmplitude>& head,
                          const std::vector<Formula>& frequencies, const HorizonQuestion& q) {
  const Wide most(Rational(1 / q.mass - 1));
  Wide sum;
  for (std::int64_t s = -q.offset; s < 0; ++s) sum += term(head, frequencies, q, s);
  std::int64_t last = 0;
  for (std::int64_t n = q.offset + 1; n <= q.reach; ++n) {
    if (n > q.offset + 1) sum += term(head, frequencies, q, n - 1 - q.offset);
    if (*compare(sum, most) > 0) break;
    last = n;
  }
  return last;
}

std::vector<ComplexAmplitude> random_head(std::mt19937_64& random, std::size_t planes) {
  std::vector<Rational> parts;
  Rational sum;
  for (std::size_t f = 0; f < 2 * planes; ++f) {
    parts.emplace_back(static_cast<std::int64_t>(random() % 2001) - (f < planes ? 500 : 1000));
    sum += abs(parts.back());
  }
  std::vector<ComplexAmplitude> head;
  for (std::size_t f = 0; f < planes; ++f)
    head.push_back({parts[f] / sum, parts[planes + f] / sum / 4});
  return head;
}

}  // namespace

TEST_CASE("horizon: equal amplitudes, golden values of an independent library") {
  // mpmath, 30 digits
  const struct {
    int base, planes, scale, offset;
    const char* mass;
    std::int64_t last;
    const char* there;
    const char* next;
  } golden[] = {{10000, 1, 20, 1, "0.9", 7, "0.99979613752304896876", "0.68914863794893620164"},
                {100, 4, 20, 1, "0.5", 1194, "0.5147678000914793361", "0.47181675756186777285"},
                {1000, 4, 25, 0, "0.6", 1200, "0.70796804882013572499", "0.56748521799779915343"}};
  for (const auto& g : golden) {
    CAPTURE(g.base, g.planes, g.scale, g.offset);
    const auto frequencies = plain(g.base, g.planes);
    const auto head = real(equal_amplitudes(frequencies.size()));
    const HorizonQuestion q = question(g.scale, g.mass, g.offset);
    const Survival s = index_survival(head, frequencies, q);
    CHECK(s.guaranteed == g.last);
    CHECK(!s.capped);
    CHECK(holds(s.mass, g.there));
    CHECK(holds(index_mass(head, frequencies, q, g.last + 1), g.next));
  }
  const auto frequencies = plain(10000, 8);
  const auto head = real(equal_amplitudes(8));
  const Survival capped = index_survival(head, frequencies, question(38, "0.5", 2, 20000));
  CHECK(capped.guaranteed == 20000);
  CHECK(capped.capped);
  CHECK(holds(capped.mass, "0.84406141219495682259"));
  const Survival none = index_survival(head, frequencies, question(30, "0.9", 1));
  CHECK(none.guaranteed == 0);
  CHECK(holds(none.mass, "0.87331875735175618244"));
}

TEST_CASE("horizon: keys that all look the same share the mass exactly") {
  const std::vector<Formula> still{Formula(0), Formula::pi() * Formula(2)};
  for (const auto& [mass, last] : {std::pair{"0.1", 10}, {"0.001", 1000}, {"0.3", 3}}) {
    const HorizonQuestion q = question(7, mass, 1);
    const Survival s = index_survival(real(equal_amplitudes(2)), still, q);  // a tie at 1/n
    CHECK(s.guaranteed == last);
    const IndexHorizon best = index_horizon_of_table(still, q);
    CHECK(best.survival.guaranteed == last);
    REQUIRE(best.exclusion.bound);
    CHECK(*best.exclusion.bound == last);
    CHECK(best.exclusion.mass.hi >= Rational(1, last + 1));
    CHECK(best.exclusion.mass.hi < number(mass));
  }
}

TEST_CASE("horizon: any head by adding up, and none beyond the bound") {
  std::mt19937_64 random(5);
  for (const auto& [base, planes, scale, mass, offset] : {std::tuple{1000, 4, 9, "0.6", 0},
                                                          {10000, 6, 12, "0.5", 1},
                                                          {100, 3, 15, "0.7", 3},
                                                          {500000, 8, 10, "0.8", 2}}) {
    CAPTURE(base, planes, scale, mass, offset);
    const auto frequencies = plain(base, planes);
    const HorizonQuestion q = question(scale, mass, offset, 5000);
    const IndexHorizon best = index_horizon_of_table(frequencies, q);
    REQUIRE(best.exclusion.bound);
    const auto bound = static_cast<std::int64_t>(*best.exclusion.bound);
    CHECK(best.survival.guaranteed <= bound);
    CHECK(bound <= best.survival.guaranteed + 1 + best.survival.guaranteed / 1000);
    CHECK(last_by_hand(best.amplitudes, frequencies, q) == best.survival.guaranteed);
    Wide size;
    for (const ComplexAmplitude& b : best.amplitudes)
      size += sqrt(Wide(Rational(b.re * b.re + b.im * b.im)));
    CHECK(enclosure(size).lo <= 1);
    const Survival again = index_survival(best.amplitudes, frequencies, q);
    CHECK(again.guaranteed == best.survival.guaranteed);
    CHECK(!index_excluded(best.amplitudes, frequencies, q, best.survival.guaranteed));
    Rational most;
    CHECK(index_excluded(best.exclusion.head, frequencies, q, bound + 1, &most));
    CHECK(most < q.mass);
    for (int i = 0; i < 6; ++i) {
      const auto head = random_head(random, frequencies.size());
      const std::int64_t last = last_by_hand(head, frequencies, q);
      CHECK(index_survival(head, frequencies, q).guaranteed == last);
      CHECK(last <= bound);
      // A tangent anywhere is a bound, and none reaches below what the best head survives.
      CHECK(!index_excluded(head, frequencies, q, best.survival.guaranteed, &most));
      CHECK(most >= best.survival.mass.lo);
    }
    // Equal weights on all lags bound too, only later.
    const Exclusion far = index_far_exclusion(frequencies, q, offset);
    REQUIRE(far.bound);
    CHECK(*far.bound >= bound);
    CHECK(far.mass.hi < q.mass);
  }
}

TEST_CASE("horizon: equal weights on all lags, closed form against the sum") {
  const std::vector<Formula> frequencies{Formula(1), Formula::parse("pi/3"), Formula(0),
                                         Formula::parse("0.001")};
  const HorizonQuestion q = question(3, "0.5", 2);
  const Exclusion far = index_far_exclusion(frequencies, q, 2);
  REQUIRE(far.bound);
  const auto most_at = [&](std::int64_t n) {
    Wide largest;
    for (const Formula& theta : frequencies) {
      Wide re;
      Wide im;
      for (std::int64_t s = -q.offset; s <= n - 1 - q.offset; ++s) {
        const Wide angle = Wide(s) * theta.as<Wide>();
        re += Wide(1) - cos(angle);
        im += sin(angle);
      }
      largest = max(largest, sqrt(Wide(re * re + im * im)) / Wide(n - 1));
    }
    return enclosure(Wide(1) / (Wide(1) + Wide(n - 1) * exp(Wide(-(Wide(q.scale) * largest)))));
  };
  const auto bound = static_cast<std::int64_t>(*far.bound);
  CHECK(most_at(bound + 1).hi < q.mass);
  CHECK(most_at(bound).lo > q.mass);
  CHECK(abs(Rational(most_at(bound + 1).hi - far.mass.hi)) < number("1e-30"));
}

TEST_CASE("horizon: the same answer for every number of threads, and it can be stopped") {
  const auto frequencies = plain(10000, 16);
  HorizonQuestion q = question(14, "0.8", 1);
  const IndexHorizon one = [&] {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 1);
    return index_horizon_of_table(frequencies, q);
  }();
  const IndexHorizon many = index_horizon_of_table(frequencies, q);
  CHECK(one.survival.guaranteed == many.survival.guaranteed);
  CHECK(one.exclusion.bound == many.exclusion.bound);
  for (std::size_t f = 0; f < frequencies.size(); ++f)
    CHECK(one.amplitudes[f].re == many.amplitudes[f].re);

  std::atomic<bool> stop = true;
  q.stop = &stop;
  CHECK_THROWS_AS(index_horizon_of_table(frequencies, q), Error);
  CHECK_THROWS_AS(retrieval_horizon_of_table(frequencies, {q, 8, RetrievalCode::plain}), Error);
}

TEST_CASE("horizon: Retrieval, golden values of an independent library") {
  const auto frequencies = plain(100, 2);
  const std::vector<Rational> head{0, 1};  // the plane of angle 1/10
  // Every input of length n, tried: match at t, any other letter at any other lag.
  for (const RetrievalCode code : {RetrievalCode::plain, RetrievalCode::centred})
    for (int n = 2; n <= 5; ++n) {
      RetrievalHorizonQuestion q{question(4, "0.5", 0), 3, code};
      const Wide theta = frequencies[1].as<Wide>();
      const Wide centre =
          code == RetrievalCode::centred ? Wide(Rational(n - 1, 2)) * theta : Wide(0);
      std::optional<Rational> least;
      for (int t = 0; t < n; ++t)
        for (int letters = 0; letters < (1 << (n - 1)); ++letters) {
          Wide sum;
          int at = 0;
          const auto logit = [&](int lag, int letter) {
            return Wide(4) * cos(Wide(Wide(Rational(letter, 3)) * Wide(2) * Wide::pi() +
                                      Wide(lag) * theta - centre));
          };
          for (int u = 0; u < n; ++u)
            if (u != t) sum += exp(Wide(logit(u, 1 + ((letters >> at++) & 1)) - logit(t, 0)));
          const Rational mass = enclosure(Wide(Wide(1) / (Wide(1) + sum))).middle();
          if (!least || mass < *least) least = mass;
        }
      const Enclosure mass = retrieval_mass(head, frequencies, q, n);
      CAPTURE(n, text(mass, 15), text(Enclosure(*least), 15));
      CHECK(mass.lo <= *least + number("1e-30"));
      CHECK(mass.hi >= *least - number("1e-30"));
      CHECK(mass.hi - mass.lo < number("1e-10"));
    }
}

TEST_CASE("horizon: Retrieval without drift has a closed form") {
  // 1/9 e^{20 (1 - cos 2 pi/8)} and so on, by mpmath
  const std::vector<Formula> still{Formula(0)};
  RetrievalHorizonQuestion q{question(20, "0.9", 0), 8, RetrievalCode::plain};
  CHECK(retrieval_survival({Rational(1)}, still, q).guaranteed == 39);
  q.code = RetrievalCode::centred;
  CHECK(retrieval_survival({Rational(1)}, still, q).guaranteed == 39);
  q.common.scale = 10;
  const Exclusion far = retrieval_exclusion(still, q);
  REQUIRE(far.bound);
  CHECK(*far.bound == 10213);  // 1 + (1/9) e^{10 * 8/7}
  q.code = RetrievalCode::orthogonal;
  CHECK(retrieval_survival({}, std::vector<Formula>(8, Formula(0)), q).guaranteed == 2448);
  CHECK(*retrieval_exclusion(std::vector<Formula>(8, Formula(0)), q).bound == 10213);
}

TEST_CASE("horizon: Retrieval lengths are the last ones, and below the bound") {
  for (const auto& [code, alphabet, scale] : {std::tuple{RetrievalCode::plain, 5, 20},
                                              {RetrievalCode::centred, 5, 20},
                                              {RetrievalCode::centred, 2, 9},
                                              {RetrievalCode::orthogonal, 4, 12}}) {
    const auto frequencies = plain(1000, 6);
    const RetrievalHorizonQuestion q{question(scale, "0.7", 0), alphabet, code};
    const RetrievalHorizon best = retrieval_horizon_of_table(frequencies, q);
    const std::int64_t n = best.survival.guaranteed;
    CAPTURE(n, alphabet, scale);
    CHECK(n > 2);
    CHECK(retrieval_mass(best.amplitudes, frequencies, q, n).lo >= number("0.7"));
    for (const std::int64_t k : {1, 2, 3, 10})
      CHECK(retrieval_mass(best.amplitudes, frequencies, q, n + k).hi < number("0.7"));
    REQUIRE(best.exclusion.bound);
    CHECK(*best.exclusion.bound >= n);
    if (code == RetrievalCode::orthogonal) continue;
    const Survival uniform =
        retrieval_survival(equal_amplitudes(frequencies.size()), frequencies, q);
    CHECK(uniform.guaranteed <= n);
    RetrievalHorizonQuestion little = q;
    little.common.reach = n - 1;
    CHECK(retrieval_survival(best.amplitudes, frequencies, little).capped);
  }
}

TEST_CASE("horizon refuses what has no meaning") {
  const auto frequencies = plain(100, 2);
  const auto head = real(equal_amplitudes(2));
  const auto refused = [&](HorizonQuestion q) {
    CHECK_THROWS_AS(index_survival(head, frequencies, q), Error);
    CHECK_THROWS_AS(index_horizon_of_table(frequencies, q), Error);
  };
  refused(question(0, "0.9", 1));
  refused(question(-3, "0.9", 1));
  refused(question(2000000, "0.9", 1));
  refused(question(5, "0", 1));
  refused(question(5, "1", 1));
  refused(question(5, "0.9", -1));
  refused(question(5, "0.9", 100, 100));
  refused(question(5, "0.9", 1, 0));
  refused(question(5, "0.9", 1, (1 << 24) + 1));
  const HorizonQuestion q = question(5, "0.9", 1);
  CHECK_THROWS_AS(index_survival(real(equal_amplitudes(3)), frequencies, q), Error);
  CHECK_THROWS_AS(index_survival({}, {}, q), Error);
  CHECK_THROWS_AS(index_mass(head, frequencies, q, 1), Error);
  const RetrievalHorizonQuestion two{q, 2, RetrievalCode::plain};
  CHECK_THROWS_AS(retrieval_survival({Rational(2), Rational(-1)}, frequencies, two), Error);
  CHECK_THROWS_AS(retrieval_survival({Rational(1)}, frequencies, two), Error);
  CHECK_THROWS_AS(
      retrieval_survival(equal_amplitudes(2), frequencies, {q, 1, RetrievalCode::plain}), Error);
  CHECK_THROWS_AS(retrieval_survival({}, frequencies, {q, 3, RetrievalCode::orthogonal}), Error);
  CHECK_THROWS_AS(retrieval_exclusion(frequencies, {q, 1, RetrievalCode::plain}), Error);
}
