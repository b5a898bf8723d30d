#include "sweeps/design.hpp"

#include "proofs_numeric/packing.hpp"
#include "tests/catch.hpp"

using namespace ropewalk;
using namespace ropewalk::sweeps;
using namespace ropewalk::proofs_numeric;

namespace {

Rational number(const std::string& text) { return *Formula::parse(text).rational(); }

}  // namespace

TEST_CASE("design: one plane finds the best angle of R2") {
  DesignQuestion q;
  q.planes = 1;
  q.length = 17;
  const Design found = design(q);
  // 1 - cos(2 pi/17) = 0.06752777041454848..., theta = 2 pi k/17
  CHECK(found.value.lo > number("0.067527769"));
  CHECK(found.value.hi < number("0.067527772"));
  const auto turns = found.frequencies.at(0).turns();
  REQUIRE(turns);
  CHECK(denominator(*turns) == 17);
  CHECK(found.value.lo <= found.bound.hi);
  CHECK(found.amplitudes == std::vector<Rational>{1});
}

TEST_CASE("design: the climb alone finds it too, from the plain table") {
  DesignQuestion q;
  q.planes = 1;
  q.length = 17;
  q.starts = {Start::standard, Start::lacunary};
  CHECK(design(q).value.hi > number("0.0675"));
}

TEST_CASE("design: few planes beat the plain table and stay below the bound") {
  for (const unsigned planes : {2U, 4U})
    for (const std::int64_t n : {std::int64_t{65}, std::int64_t{257}}) {
      DesignQuestion q;
      q.planes = planes;
      q.length = n;
      q.tries = 2;
      const Design found = design(q);
      CAPTURE(planes, n, text(found.value), text(found.standard), text(found.bound));
      CHECK(found.value.lo > found.standard.hi);
      CHECK(found.value.lo <= found.bound.hi);
      CHECK(found.frequencies.size() == planes);
      // what it claims is what the table has
      const OptimalHead again = optimal_head(found.frequencies, n - 1);
      CHECK(again.optimum.lo <= found.value.hi);
      CHECK(found.value.lo <= again.optimum.hi);
    }
}

TEST_CASE("design: more tries are these and others") {
  DesignQuestion q;
  q.planes = 2;
  q.length = 33;
  std::optional<Rational> before;
  for (const unsigned tries : {1U, 3U, 9U}) {
    q.tries = tries;
    const Design found = design(q);
    if (before) CHECK(found.value.lo >= *before * (1 - Rational(1, 100000000)));
    before = found.value.lo;
  }
}

TEST_CASE("design: the same seed, the same table") {
  DesignQuestion q;
  q.planes = 2;
  q.length = 33;
  q.starts = {Start::random};
  q.tries = 2;
  q.seed = 7;
  const Design once = design(q);
  const Design again = design(q);
  REQUIRE(once.frequencies.size() == again.frequencies.size());
  for (std::size_t f = 0; f < once.frequencies.size(); ++f)
    CHECK(once.frequencies[f].text() == again.frequencies[f].text());
}

TEST_CASE("design: Retrieval and the weighted pair") {
  DesignQuestion q;
  q.planes = 2;
  q.length = 33;
  q.tries = 2;
  q.objective = Objective::retrieval;
  const Design retrieval = design(q);
  CHECK(retrieval.value.lo > retrieval.standard.hi);
  // no Retrieval head of 8 letters has more than 1 - cos(2 pi/8): two neighbouring letters at one
  // lag
  CHECK(retrieval.value.lo <= retrieval.bound.hi);
  CHECK(retrieval.bound.hi < number("0.2928932189"));
  q.objective = Objective::both;
  const Design both = design(q);
  CHECK(both.value.lo >= both.standard.lo);
  // w = 1/2: the lesser margin of the head is half of the value.
  CHECK(std::min(both.index->lo, both.retrieval->lo) * 2 >= both.value.lo);
  CHECK(std::min(both.index->lo, both.retrieval->lo) * 2 <= both.value.hi);
  CHECK(both.facts.size() == 5);
  CHECK(both.value.lo <= both.bound.hi);
}

TEST_CASE("design: questions outside the domain are refused") {
  DesignQuestion q;
  q.planes = 0;
  CHECK_THROWS_AS(design(q), Error);
  q.planes = 2;
  q.length = 2;
  CHECK_THROWS_AS(design(q), Error);
  q.length = 9;
  q.starts.clear();
  CHECK_THROWS_AS(design(q), Error);
}
