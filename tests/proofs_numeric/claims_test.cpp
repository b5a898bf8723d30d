// One test per claim: the verdict, its value, and what the witness says. Names stand in
// papers/*/claims.toml.

#include "proofs_numeric/claims.hpp"

#include "tests/catch.hpp"
#include "theory/formula.hpp"

using namespace ropewalk;
using namespace ropewalk::proofs_numeric;
using theory::Formula;
using theory::Rational;

namespace {

Rational number(const char* text) { return *Formula::parse(text).rational(); }

void check_value(const Judgement& j, const char* lo, const char* hi) {
  REQUIRE(j.value);
  CAPTURE(text(*j.value, 16));
  CHECK(j.value->lo >= number(lo));
  CHECK(j.value->hi <= number(hi));
}

}  // namespace

TEST_CASE("Index is feasible: exact margins for cos theta = 3/5") {
  const Judgement j = index_feasible();
  CHECK(j.verdict == Verdict::proved);
  check_value(j, "618.7", "618.8");
}

TEST_CASE("Retrieval is feasible for every angle below omega/(2 n0)") {
  const Judgement j = retrieval_feasible();
  CHECK(j.verdict == Verdict::proved);
  REQUIRE(j.value);
  CHECK(j.value->lo > 0);
}

TEST_CASE("Index gap never exceeds 1 - cos theta") {
  const Judgement j = index_gap_below_one_minus_cosine();
  CHECK(j.verdict == Verdict::proved);
  check_value(j, "0.30329329", "0.30329330");
}

TEST_CASE("The square law fails under reading max: smallest witness n = 4, m = 1, theta = 2") {
  const Judgement j = index_gap_below_square_law_max();
  CHECK(j.verdict == Verdict::refuted);
  check_value(j, "1.41614", "1.41615");
  REQUIRE(j.witness);
  CHECK((*j.witness)["length"] == 4);
  CHECK((*j.witness)["offset"] == 1);
  CHECK((*j.witness)["theta"] == "2");
  CHECK((*j.witness)["at_theta_0.8"]["length"] == 9);
  CHECK((*j.witness)["at_theta_0.8"]["offset"] == 4);
}

TEST_CASE("The square law holds under reading min") {
  CHECK(index_gap_below_square_law_min().verdict == Verdict::proved);
}

TEST_CASE("Irrational theta does not keep the gap open") {
  const Judgement j = irrational_angle_keeps_gap();
  CHECK(j.verdict == Verdict::refuted);
  REQUIRE(j.value);
  CHECK(j.value->exact());
  CHECK(j.value->lo == 0);
  CHECK((*j.witness)["theta"] == "pi");
  CHECK((*j.witness)["length"] == 4);
  CHECK((*j.witness)["also"]["theta"] == "2*pi/7");
  CHECK((*j.witness)["also"]["relative_lag"] == "7");
}

TEST_CASE("Opposite distractors refute the Retrieval bound under reading max") {
  const Judgement j = retrieval_gap_max();
  CHECK(j.verdict == Verdict::refuted);
  CHECK((*j.witness)["length"] == 2);
  CHECK((*j.witness)["opposite_distractors_A8"].get<std::string>().starts_with("1.99"));
  CHECK((*j.witness)["opposite_distractors_A3"].get<std::string>().starts_with("1.50"));
}

TEST_CASE("The Retrieval bound is off by one") {
  const Judgement j = retrieval_margin_min();
  CHECK(j.verdict == Verdict::refuted);
  CHECK((*j.witness)["length"] == 2);
  CHECK((*j.witness)["at_figure_5a"]["margin"].get<std::string>().starts_with("0.26219"));
  CHECK((*j.witness)["at_figure_5a"]["bound"].get<std::string>().starts_with("0.26119"));
}

TEST_CASE("The corrected Retrieval bound holds") {
  CHECK(retrieval_margin_min_corrected().verdict == Verdict::proved);
}

TEST_CASE("The displayed Retrieval inequality is off by one") {
  const Judgement j = retrieval_gap_displayed();
  CHECK(j.verdict == Verdict::refuted);
  CHECK((*j.witness)["at_figure_5a"]["displayed_gap"].get<std::string>().starts_with("0.2630"));
}

TEST_CASE("At theta = 0 the Retrieval margin is 1 - cos omega at every length") {
  const Judgement j = zero_angle_margin_letters();
  CHECK(j.verdict == Verdict::proved);
  check_value(j, "0.29289321", "0.29289322");
}

TEST_CASE("A proper input ties at theta = 0") {
  const Judgement j = zero_angle_margin_all();
  CHECK(j.verdict == Verdict::refuted);
  CHECK((*j.witness)["length"] == 2);
  CHECK((*j.witness)["input"] == nlohmann::ordered_json::array({"A1", "A2"}));
  CHECK(j.value->exact());
}

TEST_CASE("Softmax mass on the maximisers is bounded below") {
  const Judgement j = mass_on_maximisers();
  CHECK(j.verdict == Verdict::proved);
  check_value(j, "32.2269", "32.2270");
}

TEST_CASE("The plotted accuracy at 800 added tokens is on record") {
  const Judgement j = letter_accuracy_to_850();
  CHECK(j.verdict == Verdict::undecided);
  check_value(j, "0.891", "0.891");
}

TEST_CASE("Continued fractions give the one-plane gap") {
  const Judgement j = one_plane_gap_by_continued_fractions();
  CHECK(j.verdict == Verdict::proved);
  check_value(j, "8.8067157768478832e-200", "8.8067157768478833e-200");
}

TEST_CASE("The best one-plane angle puts T + 1 points on a circle") {
  const Judgement j = best_one_plane_angle();
  CHECK(j.verdict == Verdict::proved);
  check_value(j, "0.06752777", "0.06752778");
}

TEST_CASE("The one-plane Retrieval margin and its horizon") {
  const Judgement j = one_plane_retrieval_margin();
  CHECK(j.verdict == Verdict::proved);
  CHECK((*j.witness)["horizon"] == "146");
}

TEST_CASE("The centred Retrieval margin and its horizon") {
  const Judgement j = centred_retrieval_margin();
  CHECK(j.verdict == Verdict::proved);
  CHECK((*j.witness)["horizon"] == "291");
}

TEST_CASE("The softmax scale that a margin guarantees, and the exact need") {
  const Judgement j = softmax_scale();
  CHECK(j.verdict == Verdict::proved);
  check_value(j, "2.8905", "2.8906");
}
