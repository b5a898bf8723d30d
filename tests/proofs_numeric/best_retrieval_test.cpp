#include "proofs_numeric/best_retrieval.hpp"

#include <random>

#include "proofs_numeric/retrieval_margin.hpp"
#include "tests/catch.hpp"
#include "tests/proofs_numeric/game_value.hpp"

using namespace ropewalk;
using namespace ropewalk::proofs_numeric;
using tests::game_value;

namespace {

using Wide = theory::Interval<60>;

Rational number(const char* text) { return *Formula::parse(text).rational(); }

std::vector<Formula> plain(int base, int planes) {
  std::vector<Formula> result;
  for (int f = 0; f < planes; ++f) result.push_back(pow(Formula(base), Rational(-f, planes)));
  return result;
}

Wide pay(const Formula& theta, const Encounter& e, int alphabet, std::int64_t reach,
         RetrievalCode code) {
  const Wide centre =
      code == RetrievalCode::centred ? Wide(Rational(reach, 2)) * theta.as<Wide>() : Wide(0);
  const Wide round = Wide(Rational(2 * e.letter, alphabet)) * Wide::pi();
  return cos(Wide(Wide(e.match) * theta.as<Wide>() - centre)) -
         cos(Wide(round + Wide(e.distractor) * theta.as<Wide>() - centre));
}

template <class F>
void every_encounter(int alphabet, std::int64_t reach, F&& f) {
  for (std::int64_t t = 0; t <= reach; ++t)
    for (std::int64_t u = 0; u <= reach; ++u)
      for (std::int64_t k = 1; k < alphabet; ++k)
        if (t != u) f(Encounter{t, u, k});
}

Enclosure margin_by_hand(const std::vector<Rational>& head, const std::vector<Formula>& frequencies,
                         int alphabet, std::int64_t reach, RetrievalCode code) {
  std::optional<Enclosure> least;
  every_encounter(alphabet, reach, [&](const Encounter& e) {
    Wide sum;
    for (std::size_t f = 0; f < head.size(); ++f)
      sum += Wide(head[f]) * pay(frequencies[f], e, alphabet, reach, code);
    const Enclosure value = enclosure(sum);
    if (!least) least = value;
    least->lo = std::min(least->lo, value.lo);
    least->hi = std::min(least->hi, value.hi);
  });
  return *least;
}

bool meet(const Enclosure& x, const Enclosure& y) { return x.lo <= y.hi && y.lo <= x.hi; }

constexpr RetrievalCode codes[] = {RetrievalCode::plain, RetrievalCode::centred};

}  // namespace

TEST_CASE("best retrieval: one plane is R6") {
  const std::vector<Formula> plane{Formula::parse("0.0027")};
  const struct {
    int length;
    RetrievalCode code;
    const char* margin;
  } golden[] = {{17, RetrievalCode::plain, "0.2621954"},
                {100, RetrievalCode::plain, "0.0964346"},
                {146, RetrievalCode::plain, "0.0019446"},
                {147, RetrievalCode::plain, "-0.0001159"},
                {291, RetrievalCode::centred, "0.00091774"}};
  for (const auto& g : golden) {
    CAPTURE(g.length);
    const RetrievalHead head = best_retrieval(plane, 8, g.length - 1, g.code);
    CHECK(head.amplitudes == std::vector<Rational>{1});
    CHECK(abs(Rational(head.optimum.lo - number(g.margin))) < number("6e-8"));
    CHECK(abs(Rational(head.optimum.hi - number(g.margin))) < number("6e-8"));
    const auto known = retrieval_margin(
        plane.front(), 8, g.length,
        g.code == RetrievalCode::plain ? Centre::plain : Centre::centred, Reading::min);
    REQUIRE(known);
    CHECK(meet(known->margin, retrieval_margin_of({1}, plane, 8, g.length - 1, g.code)));
    CHECK(head.optimum.lo <= known->margin.hi);
    CHECK(head.optimum.hi >= known->margin.lo);
  }
}

TEST_CASE("best retrieval: a plane that stands still keeps 1 - cos omega at every length") {
  const Enclosure wanted = enclosure(Wide(Wide(1) - cos(Wide(Wide::pi() / Wide(4)))));
  for (const std::int64_t reach : {1, 2, 1000, 100000})
    for (const RetrievalCode code : codes) {
      const Enclosure margin = retrieval_margin_of({1}, {Formula(0)}, 8, reach, code);
      CHECK(meet(margin, wanted));
      CHECK(margin.hi - margin.lo < number("1e-30"));
    }
  const std::vector<Formula> frequencies{Formula(1), Formula(0), Formula::parse("0.01")};
  const RetrievalHead head = best_retrieval(frequencies, 8, 3000, RetrievalCode::plain);
  CHECK(head.optimum.hi >= wanted.lo);
  CHECK(*head.optimum.relative_width() <= number("1e-6"));
}

TEST_CASE("best retrieval: margins against every encounter") {
  std::mt19937_64 random(11);
  for (int i = 0; i < 12; ++i) {
    const int planes = 1 + static_cast<int>(random() % 4);
    const int alphabet = 2 + static_cast<int>(random() % 6);
    const auto reach = static_cast<std::int64_t>(1 + random() % 12);
    const auto frequencies = plain(i % 2 == 0 ? 100 : 10000, planes);
    std::vector<Rational> head;
    Rational sum;
    for (int f = 0; f < planes; ++f) {
      head.emplace_back(static_cast<std::int64_t>(1 + random() % 100));
      sum += head.back();
    }
    for (Rational& a : head) a /= sum;
    for (const RetrievalCode code : codes) {
      CAPTURE(planes, alphabet, reach);
      const Enclosure margin = retrieval_margin_of(head, frequencies, alphabet, reach, code);
      const Enclosure known = margin_by_hand(head, frequencies, alphabet, reach, code);
      CHECK(meet(margin, known));
      CHECK(margin.hi - margin.lo < number("1e-30"));
    }
  }
}

TEST_CASE("best retrieval: the optimum is that of the exact linear program") {
  // cosines of sixths and quarters of a turn are rational, of their differences not
  const Formula pi = Formula::pi();
  const Formula sixth = pi / Formula(3);
  const Formula third = pi * Formula(Rational(2, 3));
  const Formula quarter = pi / Formula(2);
  for (const auto& [table, alphabet, reach] :
       {std::tuple{std::vector{sixth, quarter, pi, third, Formula(0)}, 2, 3},
        {std::vector{sixth, quarter, pi}, 2, 5},
        {std::vector{sixth, third, pi, Formula(0)}, 3, 4},
        {std::vector{sixth, third, pi}, 6, 3},
        {std::vector{sixth, third, Formula(0)}, 6, 2},
        {std::vector{quarter, pi, Formula(0)}, 4, 4}}) {
    CAPTURE(table.size(), alphabet, reach);
    std::vector<std::vector<Rational>> rows;
    every_encounter(alphabet, reach, [&, letters = alphabet](const Encounter& e) {
      std::vector<Rational> row;
      for (const Formula& theta : table) {
        const Rational alpha = *theta.turns();
        row.push_back(theory::cosine_of_turns<Rational>(alpha * Rational(e.match)) -
                      theory::cosine_of_turns<Rational>(alpha * Rational(e.distractor) +
                                                        Rational(e.letter, letters)));
      }
      rows.push_back(row);
    });
    const Rational exact = game_value(rows);
    const RetrievalHead head = best_retrieval(table, alphabet, reach, RetrievalCode::plain);
    CAPTURE(exact.str(), text(head.optimum, 12));
    CHECK(head.optimum.lo <= exact);
    CHECK(head.optimum.hi >= exact);
    CHECK(head.optimum.hi - head.optimum.lo < number("1e-6"));

    // The same with the Index margin beside it.
    for (const Rational& w : {Rational(1, 2), Rational(1, 5), Rational(9, 10)}) {
      std::vector<std::vector<Rational>> both;
      for (const auto& row : rows) {
        both.emplace_back();
        for (const Rational& x : row) both.back().push_back(x / (1 - w));
      }
      for (int lag = 1; lag <= reach; ++lag) {
        both.emplace_back();
        for (const Formula& theta : table)
          both.back().push_back(
              (1 - theory::cosine_of_turns<Rational>(*theta.turns() * Rational(lag))) / w);
      }
      const Rational value = game_value(both);
      const RetrievalHead of_both = best_for_both(table, alphabet, reach, RetrievalCode::plain, w);
      CAPTURE(w.str(), value.str(), text(of_both.optimum, 12));
      CHECK(of_both.optimum.lo <= value);
      CHECK(of_both.optimum.hi >= value);
      CHECK(of_both.optimum.hi - of_both.optimum.lo < number("1e-5"));
    }
  }
}

TEST_CASE("best retrieval: one head for both tasks has less of each than a head for it alone") {
  const auto frequencies = plain(10000, 8);
  const std::int64_t reach = 200;
  for (const RetrievalCode code : codes) {
    const Enclosure retrieval = best_retrieval(frequencies, 8, reach, code).optimum;
    const Enclosure index = optimal_head(frequencies, reach).optimum;
    std::optional<Enclosure> before;  // the Index margin grows with its weight
    for (const Rational& w : {Rational(1, 10), Rational(1, 2), Rational(9, 10)}) {
      RetrievalHead head = best_for_both(frequencies, 8, reach, code, w);
      const ProvenBoth both = proven_both(frequencies, 8, reach, code, w, head);
      CAPTURE(w.str(), text(head.optimum, 12), text(both.index, 12), text(both.retrieval, 12));
      CHECK(*head.optimum.relative_width() <= number("1e-6"));
      CHECK(both.index.lo <= index.hi);
      CHECK(both.retrieval.lo <= retrieval.hi);
      CHECK(both.index.hi >= w * head.optimum.lo);
      CHECK(both.retrieval.hi >= (1 - w) * head.optimum.lo);
      CHECK(
          meet(both.retrieval, retrieval_margin_of(head.amplitudes, frequencies, 8, reach, code)));
      if (before) CHECK(both.index.lo > before->hi);
      before = both.index;
      Rational weights;
      for (const EncounterWeight& m : head.dual) weights += m.weight;
      CHECK(weights == 1);
      const Rational most = encounter_bound(frequencies, 8, reach, code, head.dual, w).hi;
      CHECK(most <= head.optimum.hi);
      CHECK(most > head.optimum.hi - number("1e-20"));
    }
  }
  CHECK_THROWS_AS(best_for_both(frequencies, 8, reach, RetrievalCode::plain, 1), Error);
  CHECK_THROWS_AS(best_for_both(frequencies, 8, reach, RetrievalCode::plain, 0), Error);
}

TEST_CASE("best retrieval: margins of long inputs by extrema are those lag by lag") {
  std::mt19937_64 random(5);
  for (const RetrievalCode code : codes)
    for (const auto& [base, planes, reach, alphabet] :
         {std::tuple{10000, 8, 20000, 8}, {100, 3, 40000, 2}, {500000, 16, 5000, 5}}) {
      const auto frequencies = plain(base, planes);
      std::vector<Rational> head;
      Rational sum;
      for (int f = 0; f < planes; ++f) {
        // Weight on slow planes, so that some margins are positive, and none on the first.
        head.emplace_back(f == 0 ? 0 : static_cast<std::int64_t>((1 + random() % 100) << f));
        sum += head.back();
      }
      for (Rational& a : head) a /= sum;
      CAPTURE(base, planes, reach, alphabet);
      const ProvenMargin own = proven_retrieval_margin(head, frequencies, alphabet, reach, code);
      CHECK(own.facts.size() == static_cast<std::size_t>(alphabet) + 2);
      CHECK(own.margin.hi - own.margin.lo < number("1e-18"));
      CHECK(own.margin.hi >= own.margin.lo);
      CHECK(meet(own.margin, retrieval_margin_of(head, frequencies, alphabet, reach, code)));
    }
}

TEST_CASE("best retrieval: both sides again, encounter by encounter") {
  for (const RetrievalCode code : codes) {
    const auto frequencies = plain(10000, 8);
    const int alphabet = 4;
    const std::int64_t reach = 30;
    const RetrievalHead head = best_retrieval(frequencies, alphabet, reach, code);
    CAPTURE(text(head.optimum, 12));
    CHECK(*head.optimum.relative_width() <= number("1e-6"));
    const Enclosure known = margin_by_hand(head.amplitudes, frequencies, alphabet, reach, code);
    CHECK(known.hi >= head.optimum.lo);
    CHECK(known.lo <= head.optimum.lo + number("1e-25"));
    Rational weights;
    std::optional<Rational> most;
    for (const EncounterWeight& m : head.dual) {
      CHECK(m.weight > 0);
      weights += m.weight;
    }
    CHECK(weights == 1);
    for (const Formula& theta : frequencies) {
      Wide value;
      for (const EncounterWeight& m : head.dual)
        value += Wide(m.weight) * pay(theta, m.pair, alphabet, reach, code);
      const Rational hi = enclosure(value).hi;
      if (!most || hi > *most) most = hi;
    }
    CHECK(*most <= head.optimum.hi + number("1e-25"));
    CHECK(*most >= head.optimum.hi - number("1e-25"));
  }
}

TEST_CASE("best retrieval: orthogonal letters do not see the alphabet") {
  const auto frequencies = plain(10000, 8);  // the slowest: 10^-3.5, 10^-3, 10^-2.5
  const OrthogonalHead two = orthogonal_retrieval(frequencies, 2, 100);
  CHECK(two.planes == std::vector<std::size_t>{6, 7});
  const Wide angle = Wide(50) * frequencies[6].as<Wide>();
  CHECK(meet(two.margin, enclosure(cos(angle))));
  CHECK(two.optimal);
  // As good as one letter on its plane, and positive where letters on one plane are lost.
  CHECK(two.margin.lo > best_retrieval(frequencies, 26, 100, RetrievalCode::plain).optimum.hi);
  const OrthogonalHead all = orthogonal_retrieval(frequencies, 8, 100);
  CHECK(all.planes.size() == 8);
  CHECK(all.margin.hi < 0);
  CHECK(!all.optimal);
  CHECK(orthogonal_retrieval(std::vector<Formula>(3, Formula(0)), 3, 9).margin.lo == 1);
  CHECK_THROWS_AS(orthogonal_retrieval(frequencies, 9, 100), Error);
}

TEST_CASE("best retrieval refuses what has no meaning") {
  const auto frequencies = plain(100, 2);
  CHECK_THROWS_AS(best_retrieval({}, 8, 5, RetrievalCode::plain), Error);
  CHECK_THROWS_AS(best_retrieval(frequencies, 1, 5, RetrievalCode::plain), Error);
  CHECK_THROWS_AS(best_retrieval(frequencies, 1000001, 5, RetrievalCode::plain), Error);
  CHECK_THROWS_AS(best_retrieval(frequencies, 8, 0, RetrievalCode::plain), Error);
  CHECK_THROWS_AS(best_retrieval(frequencies, 8, 1 << 24, RetrievalCode::plain), Error);
  CHECK_THROWS_AS(best_retrieval(frequencies, 8, 5, RetrievalCode::orthogonal), Error);
  CHECK_THROWS_AS(retrieval_margin_of({1}, frequencies, 8, 5, RetrievalCode::plain), Error);
  CHECK_THROWS_AS(retrieval_margin_of({2, -1}, frequencies, 8, 5, RetrievalCode::plain), Error);
  CHECK_THROWS_AS(retrieval_margin_of({1, 1}, frequencies, 8, 5, RetrievalCode::plain), Error);
  const auto bound = [&](const Encounter& e, const Rational& weight) {
    return encounter_bound(frequencies, 8, 5, RetrievalCode::plain, {{e, weight}});
  };
  CHECK_THROWS_AS(bound({2, 2, 1}, 1), Error);
  CHECK_THROWS_AS(bound({2, 6, 1}, 1), Error);
  CHECK_THROWS_AS(bound({-1, 2, 1}, 1), Error);
  CHECK_THROWS_AS(bound({1, 2, 0}, 1), Error);
  CHECK_THROWS_AS(bound({1, 2, 8}, 1), Error);
  CHECK_THROWS_AS(bound({1, 2, 3}, Rational(1, 2)), Error);
}
