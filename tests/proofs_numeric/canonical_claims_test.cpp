#include <random>

#include "constructions/canonical.hpp"
#include "proofs_numeric/canonical_margins.hpp"
#include "proofs_numeric/claims.hpp"
#include "proofs_numeric/impossibility.hpp"
#include "tests/catch.hpp"
#include "theory/error.hpp"
#include "theory/scores.hpp"

using namespace ropewalk;
using namespace ropewalk::proofs_numeric;
using theory::Formula;
using theory::Rational;

namespace {

// Inputs that the head answers wrongly, or not at all, under hard attention.
std::size_t wrong_answers(const constructions::Head<Rational>& head, const FiniteTask& task) {
  std::size_t wrong = 0;
  for (const TaskInput& input : task.inputs)
    if (constructions::decode_at(head, input.tokens, input.tokens.size() - 1,
                                 constructions::Hard{}) != input.answer)
      ++wrong;
  return wrong;
}

theory::LogitMatrix<Rational> sum_of_parts(const std::vector<int>& f) {
  const auto n = static_cast<Eigen::Index>(f.size());
  theory::LogitMatrix<Rational> m =
      theory::LogitMatrix<Rational>::Constant(n + 1, n + 1, Rational(0));
  for (Eigen::Index a = 0; a < n; ++a)
    for (Eigen::Index b = 0; b < n; ++b)
      m(a, b) = f[static_cast<std::size_t>(a)] + f[static_cast<std::size_t>(b)];
  return m;
}

}  // namespace

TEST_CASE("the exclusion identity holds on every polarising matrix up to six positions") {
  const std::size_t expected[] = {10, 45, 136, 325, 666};
  for (int n = 2; n <= 6; ++n) {
    const ExclusionCheck check = exclusion_identity(n);
    CHECK(check.matrices == expected[n - 2]);
    CHECK(check.identity);
    CHECK(check.formula);
    CHECK(check.sharp);
  }
  CHECK_THROWS_AS(exclusion_identity(1), Error);
  CHECK_THROWS_AS(exclusion_identity(8), Error);
}

TEST_CASE("exclusion is an equality for token plus position, and only there") {
  auto m = sum_of_parts({3, -1, 4, 1});
  auto e = theory::exclusion(m);
  REQUIRE(e);
  CHECK(e->variance == e->bound());
  CHECK(e->variance > 0);
  // With the divisor N - 1 in place of N the inequality is false on the same matrix.
  CHECK(Rational(e->variance * Rational(4, 3)) > e->bound());
  m(0, 1) += Rational(1, 1000);
  e = theory::exclusion(m);
  CHECK(e->variance < e->bound());
}

TEST_CASE("the nearest return of a rational angle") {
  CHECK(nearest_return(Rational(1, 64), 63) == Rational(1, 64));
  CHECK(nearest_return(Rational(1, 64), 64) == 0);
  CHECK(nearest_return(Rational(2, 7), 6) == Rational(1, 7));
  CHECK(nearest_return(Rational(3, 10), 2) == Rational(3, 10));
  CHECK(nearest_return(Rational(3, 10), 3) == Rational(1, 10));
  CHECK_THROWS_AS(nearest_return(Rational(1, 2), 0), Error);
}

TEST_CASE("later occurrences win exactly below 1/(2n-3) of a turn") {
  CHECK(recency_ordered(Rational(1, 2), 2));
  CHECK_FALSE(recency_ordered(Rational(1, 2), 3));
  CHECK_FALSE(recency_ordered(Rational(0), 3));
  CHECK_FALSE(recency_ordered(Rational(1, 7), 5));
  CHECK(recency_ordered(Rational(1, 7) - Rational(1, 1000000000), 5));
  CHECK(recency_ordered(Rational(8, 9), 5));  // -1/9 of a turn
  std::mt19937_64 random(7);
  std::uniform_int_distribution<int> number(-500, 500);
  std::uniform_int_distribution<std::size_t> length(3, 20);
  int ordered = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    // Half of the trials near 0, where the answer is often yes.
    const Rational alpha(number(random), trial % 2 == 0 ? 500 : 10000);
    const std::size_t n = length(random);
    const Rational folded = theory::distance_to_integer(alpha);
    const bool expected = folded != 0 && folded * Rational(2 * n - 3) < 1;
    CHECK(recency_ordered(alpha, n) == expected);
    ordered += expected ? 1 : 0;
  }
  CHECK(ordered > 200);
}

TEST_CASE(
    "one plane does f_MIX up to the Retrieval horizon n < 3/2 + 1/(2 S alpha) and not beyond") {
  const Rational alpha(1, 1000);
  CHECK_FALSE(one_plane_mixed_failure(alpha, 8, 63));
  const auto failure = one_plane_mixed_failure(alpha, 8, 64);  // 3/2 + 62.5: a tie
  REQUIRE(failure);
  CHECK(failure->match == 62);
  CHECK(failure->other == 63);
  CHECK(failure->symbol_offset == 7);
  const auto tie = one_plane_mixed_failure(Rational(0), 8, 3);
  REQUIRE(tie);
  CHECK(tie->symbol_offset == 0);
  CHECK_FALSE(one_plane_mixed_failure(Rational(0), 8, 2));
  CHECK_THROWS_AS(one_plane_mixed_failure(alpha, 0, 3), Error);
}

TEST_CASE("K lags meet a closed half circle, and one fewer may miss it") {
  CHECK(lags_to_meet_half_circle(Rational(1, 2), Rational(1, 2)) == 2);
  CHECK(lags_to_meet_half_circle(Rational(1, 4), Rational(1, 2)) == 3);
  CHECK(lags_to_meet_half_circle(Rational(1, 128), Rational(1, 64)) == 65);
  // phases epsilon past -1/4, 0: two lags miss [1/4, 3/4], the third meets it
  const Rational start = Rational(-1, 4) + Rational(1, 100);
  for (int t = 0; t < 3; ++t) {
    const Rational x = theory::fraction(Rational(start + Rational(t, 4)));
    CHECK((Rational(1, 4) <= x && x <= Rational(3, 4)) == (t == 2));
  }
  CHECK_THROWS_AS(lags_to_meet_half_circle(Rational(0), Rational(1, 2)), Error);
  CHECK_THROWS_AS(lags_to_meet_half_circle(Rational(1, 3), Rational(2, 3)), Error);
}

TEST_CASE("shapes of sequences") {
  CHECK(shape({}) == Shape::constant);
  CHECK(shape({0, 0}) == Shape::constant);
  CHECK(shape({1, 1}) == Shape::rising);
  CHECK(shape({-1}) == Shape::falling);
  CHECK(shape({-1, 1}) == Shape::u);
  CHECK(shape({-1, -1, 0, 1}) == Shape::u);
  CHECK(shape({1, 0, -1}) == Shape::inverse_u);
  CHECK(shape({1, 0}) == Shape::other);
  CHECK(shape({1, 0, 0, -1}) == Shape::other);
  CHECK(shape({0, 1}) == Shape::other);
  CHECK(shape({-1, 1, -1}) == Shape::other);
  CHECK(cosine_steps({Rational(1, 4), Rational(0), Rational(1, 3), Rational(2, 3),
                      Rational(1, 2)}) == std::vector<int>{1, -1, 0, -1});
}

TEST_CASE("beyond pi the weight of a positional head is no U any more") {
  // n = 5, theta = 2 pi/5: keys on a regular pentagon, every target has the same weight
  std::vector<int> steps;
  for (int j = 1; j < 5; ++j)
    steps.push_back(cosine_steps({Rational(j, 5), Rational(5 - j, 5)}).front());
  CHECK(shape(steps) == Shape::constant);
}

TEST_CASE("the written heads do their tasks in rationals, and fail where theory says so") {
  const constructions::BindingAlphabet two{2, 2};
  const Rational half(1, 2);
  const Formula narrow = acos(Formula(Rational(4, 5)));
  const Formula wide = acos(Formula(Rational(-3, 5)));  // above 2 pi/3
  CHECK(wrong_answers(constructions::symbolic_head<Rational>(two), symbol_task(4, two)) == 0);
  CHECK(wrong_answers(constructions::symbolic_head<Rational>(two), mixed_task(3, two)) > 0);
  CHECK(wrong_answers(constructions::symbolic_head<Rational>(two, narrow), mixed_task(3, two)) ==
        0);
  CHECK(wrong_answers(constructions::symbolic_head<Rational>(two, narrow), mixed_task(5, two)) > 0);
  CHECK(wrong_answers(
            constructions::mixed_head<Rational>(two, narrow, Rational(2, 3), Rational(1, 3)),
            mixed_task(5, two)) == 0);
  CHECK(
      wrong_answers(constructions::mixed_head<Rational>(two, wide, Rational(2, 3), Rational(1, 3)),
                    mixed_task(3, two)) > 0);
  CHECK(wrong_answers(constructions::mixed_head<Rational>(two, narrow, half, Rational(0)),
                      mixed_task(3, two)) > 0);
}

TEST_CASE("The exclusion inequality is a sum of squares") {
  const Judgement j = exclusion_inequality();
  CHECK(j.verdict == Verdict::proved);
  REQUIRE(j.value);
  CHECK(j.value->exact());
  CHECK(j.value->lo == 1);
}

TEST_CASE("One angle does f_POS at every fixed length") {
  const Judgement j = one_angle_does_positional_task();
  CHECK(j.verdict == Verdict::proved);
  REQUIRE(j.value);
  CHECK(j.value->lo > Rational("48152733278/10000000000000"));  // 1 - cos(2 pi/64)
  CHECK(j.value->hi < Rational("48152733279/10000000000000"));
}

TEST_CASE("Angle 0 does f_SYM") {
  const Judgement j = zero_angle_does_symbolic_task();
  CHECK(j.verdict == Verdict::proved);
  REQUIRE(j.value);
  CHECK(j.value->lo > 0);
}

TEST_CASE("Two angles do f_MIX") {
  const Judgement j = two_angles_do_mixed_task();
  CHECK(j.verdict == Verdict::proved);
  REQUIRE(j.value);
  CHECK(j.value->lo > 0);
}

TEST_CASE("One plane does f_MIX at bounded length") {
  const Judgement j = one_angle_cannot_do_mixed_task_bounded();
  CHECK(j.verdict == Verdict::refuted);
  REQUIRE(j.witness);
  CHECK((*j.witness)["length"] == 3);
  REQUIRE(j.value);
  CHECK(j.value->exact());
  CHECK(j.value->lo == Rational(13, 25));
}

TEST_CASE("One plane does not do f_MIX at every length") {
  const Judgement j = one_angle_cannot_do_mixed_task_all();
  CHECK(j.verdict == Verdict::proved);
  REQUIRE(j.value);
  CHECK(j.value->lo == 1027);
  REQUIRE(j.witness);
  CHECK((*j.witness)["sum"] == "0 >= 2");
}

TEST_CASE("Positional heads weigh in a U, centred symbolic ones in an inverse U") {
  const Judgement j = attention_is_u_shaped();
  CHECK(j.verdict == Verdict::proved);
  REQUIRE(j.value);
  CHECK(j.value->lo > 1);
  REQUIRE(j.witness);
  CHECK((*j.witness)["length"] == 4);
}
