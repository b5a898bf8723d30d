#include "proofs_numeric/rational_lp.hpp"

#include <random>

#include "tests/catch.hpp"
#include "theory/error.hpp"

using namespace ropewalk;
using namespace ropewalk::proofs_numeric;
using theory::Rational;

namespace {

RationalMatrix matrix(std::initializer_list<std::initializer_list<Rational>> rows) {
  RationalMatrix m(static_cast<Eigen::Index>(rows.size()),
                   rows.size() == 0 ? 0 : static_cast<Eigen::Index>(rows.begin()->size()));
  Eigen::Index i = 0;
  for (const auto& row : rows) {
    Eigen::Index j = 0;
    for (const Rational& x : row) m(i, j++) = x;
    ++i;
  }
  return m;
}

RationalVector vector(std::initializer_list<Rational> entries) {
  RationalVector v(static_cast<Eigen::Index>(entries.size()));
  Eigen::Index i = 0;
  for (const Rational& x : entries) v(i++) = x;
  return v;
}

}  // namespace

TEST_CASE("a contradiction of two inequalities has the multipliers 1 and 1") {
  // x - y >= 1 and y - x >= 1
  const auto answer = find_point(matrix({{1, -1}, {-1, 1}}), vector({1, 1}));
  REQUIRE_FALSE(answer.feasible());
  REQUIRE(answer.farkas);
  CHECK(*answer.farkas == vector({1, 1}));
}

TEST_CASE("a Farkas certificate is in coprime integers and only where it is needed") {
  // 3x >= 2, -2x >= -1 (x >= 2/3 and x <= 1/2), and an idle row
  const auto answer = find_point(matrix({{3}, {0}, {-2}}), vector({2, -5, -1}));
  REQUIRE(answer.farkas);
  CHECK(*answer.farkas == vector({2, 0, 3}));
}

TEST_CASE("verify_farkas refuses what proves nothing") {
  const auto a = matrix({{1, -1}, {-1, 1}});
  CHECK(verify_farkas(a, vector({1, 1}), vector({1, 1})));
  CHECK(verify_farkas(a, vector({1, Rational(-1, 2)}), vector({1, 1})));
  CHECK_FALSE(verify_farkas(a, vector({1, -1}), vector({1, 1})));   // 0 >= 0 is no contradiction
  CHECK_FALSE(verify_farkas(a, vector({1, 1}), vector({1, 2})));    // the sum is not 0
  CHECK_FALSE(verify_farkas(a, vector({1, 1}), vector({-1, -1})));  // negative weights
  CHECK_FALSE(verify_farkas(a, vector({1, 1}), vector({1})));       // wrong shape
  CHECK_FALSE(verify_farkas(a, vector({1, 1}), vector({0, 0})));
}

TEST_CASE("the maximum of a small program comes with its dual") {
  // max 3x + 2y, x + y <= 4, x + 3y <= 6, 0 <= x <= 3, y >= 0: 11 at (3, 1)
  const auto a = matrix({{-1, -1}, {-1, -3}, {-1, 0}, {1, 0}, {0, 1}});
  const auto b = vector({-4, -6, -3, 0, 0});
  const auto c = vector({3, 2});
  auto result = maximise(c, a, b);
  REQUIRE(result.status == LpStatus::optimal);
  CHECK(result.value == 11);
  CHECK(result.point == vector({3, 1}));
  CHECK(verify_maximum(c, a, b, result));
  SECTION("a larger value does not verify") {
    result.value += Rational(1, 1000000);
    CHECK_FALSE(verify_maximum(c, a, b, result));
  }
  SECTION("nor does another point") {
    result.point(0) = 4;
    CHECK_FALSE(verify_maximum(c, a, b, result));
  }
}

TEST_CASE("unbounded, empty and redundant programs are told apart") {
  const auto up = maximise(vector({1}), matrix({{1}}), vector({0}));
  CHECK(up.status == LpStatus::unbounded);
  CHECK(up.ray(0) > 0);
  // infeasible and improving for ever
  const auto none = maximise(vector({0, 1}), matrix({{1, 0}, {-1, 0}}), vector({1, 0}));
  CHECK(none.status == LpStatus::infeasible);
  // the same row three times, and a variable that occurs nowhere
  const auto twice =
      maximise(vector({-1, 0}), matrix({{1, 0}, {1, 0}, {2, 0}}), vector({5, 5, 10}));
  REQUIRE(twice.status == LpStatus::optimal);
  CHECK(twice.value == -5);
  CHECK(find_point(RationalMatrix(0, 3), RationalVector(0)).feasible());
  CHECK(find_point(RationalMatrix(1, 0), vector({0})).feasible());
  CHECK_FALSE(find_point(RationalMatrix(1, 0), vector({1})).feasible());
  CHECK_THROWS_AS(find_point(RationalMatrix(2, 1), vector({1})), Error);
}

TEST_CASE("a program on which the textbook rule cycles ends") {
  // Beale's example: max 3/4 x - 150 y + 1/50 z - 6 w, value 1/20.
  const auto a = matrix({{Rational(-1, 4), 60, Rational(1, 25), -9},
                         {Rational(-1, 2), 90, Rational(1, 50), -3},
                         {0, 0, -1, 0},
                         {1, 0, 0, 0},
                         {0, 1, 0, 0},
                         {0, 0, 1, 0},
                         {0, 0, 0, 1}});
  const auto result = maximise(vector({Rational(3, 4), -150, Rational(1, 50), -6}), a,
                               vector({0, 0, -1, 0, 0, 0, 0}));
  REQUIRE(result.status == LpStatus::optimal);
  CHECK(result.value == Rational(1, 20));
}

TEST_CASE("random systems: a point or a contradiction, each checked exactly, both frequent") {
  std::mt19937_64 random(20260531);
  std::uniform_int_distribution<int> entry(-4, 4);
  std::uniform_int_distribution<int> rows(1, 12);
  std::uniform_int_distribution<int> columns(1, 6);
  int points = 0;
  int contradictions = 0;
  int maxima = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const Eigen::Index m = rows(random);
    const Eigen::Index n = columns(random);
    RationalMatrix a(m, n);
    RationalVector b(m);
    RationalVector c(n);
    for (Eigen::Index i = 0; i < m; ++i) {
      for (Eigen::Index j = 0; j < n; ++j) a(i, j) = Rational(entry(random), 1 + (trial % 3));
      b(i) = entry(random);
    }
    for (Eigen::Index j = 0; j < n; ++j) c(j) = entry(random);
    const auto answer = find_point(a, b);
    REQUIRE(answer.point.has_value() != answer.farkas.has_value());
    if (answer.point) {
      ++points;
      REQUIRE(verify_point(a, b, *answer.point));
    } else {
      ++contradictions;
      REQUIRE(verify_farkas(a, b, *answer.farkas));
    }
    const auto best = maximise(c, a, b);
    REQUIRE(verify_maximum(c, a, b, best));
    REQUIRE((best.status == LpStatus::infeasible) == answer.farkas.has_value());
    if (best.status == LpStatus::optimal) ++maxima;
  }
  CHECK(points > 50);
  CHECK(contradictions > 50);
  CHECK(maxima > 20);
}
