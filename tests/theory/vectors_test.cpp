// One file of inputs and independently computed values, held against all four scalars.
#include "tests/theory/support.hpp"
#include "theory/circle.hpp"
#include "theory/discrepancy.hpp"
#include "theory/scores.hpp"
#include "theory/softmax.hpp"
#include "theory/trig_sum.hpp"

using namespace ropewalk;
using namespace ropewalk::tests;
using namespace ropewalk::theory;
using tests::fraction;

TEMPLATE_TEST_CASE("Formulas evaluate to the vector file's values", "[vectors]", double, Rational,
                   Real<40>, Interval<40>) {
  for (const auto& row : vectors()["formula"]) {
    CAPTURE(row.dump());
    const Formula f = Formula::parse(row["formula"].get<std::string>());
    require_expected<TestType>(row["expect"], [&] { return f.as<TestType>(); });
  }
}

TEMPLATE_TEST_CASE("Cosines and rotations at integer lags match the vector file", "[vectors]",
                   double, Rational, Real<40>, Interval<40>) {
  for (const auto& row : vectors()["circle"]) {
    CAPTURE(row.dump());
    const Formula theta = Formula::parse(row["theta"].get<std::string>());
    const Lag t(row["lag"].get<std::string>());
    require_expected<TestType>(row["cos"], [&] { return cosine<TestType>(theta, t); });
    if (std::is_same_v<TestType, Rational> && !row["rotation_exact"].get<bool>()) {
      require_error(ErrorCode::not_exact, [&] { (void)rotation<TestType>(theta, t); });
      continue;
    }
    require_expected<TestType>(row["cos"], [&] { return rotation<TestType>(theta, t).x; });
    require_expected<TestType>(row["sin"], [&] { return rotation<TestType>(theta, t).y; });
  }
  for (const auto& row : vectors()["phase"]) {
    CAPTURE(row.dump());
    const Formula theta = Formula::parse(row["theta"].get<std::string>());
    const Formula phase = Formula::parse(row["phase"].get<std::string>());
    const Lag t(row["lag"].get<std::string>());
    require_expected<TestType>(row["cos"], [&] { return cosine<TestType>(theta, t, phase); });
  }
}

TEMPLATE_TEST_CASE("Trigonometric sums match the vector file", "[vectors]", double, Rational,
                   Real<40>, Interval<40>) {
  for (const auto& row : vectors()["trig_sum"]) {
    CAPTURE(row.dump());
    TrigSum sum;
    sum.offset = fraction(row["offset"]);
    for (const auto& term : row["terms"])
      sum.terms.push_back({fraction(term["amplitude"]),
                           Formula::parse(term["frequency"].get<std::string>()),
                           Formula::parse(term["phase"].get<std::string>())});
    const Lag t(row["lag"].get<std::string>());
    require_expected<TestType>(row["sum"], [&] { return sum.at<TestType>(t); });
  }
}

TEMPLATE_TEST_CASE("Gaps and margins match the vector file", "[vectors]", double, Rational,
                   Real<40>, Interval<40>) {
  for (const auto& row : vectors()["discrepancy"]) {
    CAPTURE(row.dump());
    const auto logits = scalars<TestType>(row["logits"]);
    std::vector<bool> correct;
    for (const auto& mark : row["correct"]) correct.push_back(mark.get<int>() == 1);
    const std::span<const TestType> view(logits);
    require_expected<TestType>(row["gap"], [&] { return gap(view).value(); });
    require_expected<TestType>(row["margin"], [&] { return margin(view, correct).value(); });
    require_expected<TestType>(row["loose_margin"],
                               [&] { return loose_margin(view, correct).value(); });
    if constexpr (!is_interval<TestType>)
      require_expected<TestType>(row["strict_gap"], [&] { return strict_gap(view).value(); });
  }
}

TEMPLATE_TEST_CASE("Softmax weights match the vector file", "[vectors]", double, Real<40>,
                   Interval<40>) {
  for (const auto& row : vectors()["softmax"]) {
    CAPTURE(row.dump());
    const auto weights =
        softmax(scalars<TestType>(row["logits"]), Scalar<TestType>::from(fraction(row["beta"])));
    REQUIRE(weights.size() == row["weights"].size());
    for (std::size_t j = 0; j < weights.size(); ++j)
      require_expected<TestType>(row["weights"][j], [&] { return weights[j]; });
  }
}

namespace {
template <class S>
LogitMatrix<S> matrix(const nlohmann::json& rows) {
  const auto n = static_cast<Eigen::Index>(rows.size());
  LogitMatrix<S> m(n, n);
  for (Eigen::Index a = 0; a < n; ++a)
    for (Eigen::Index b = 0; b < n; ++b)
      m(a, b) =
          Scalar<S>::from(fraction(rows[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)]));
  return m;
}
}  // namespace

TEMPLATE_TEST_CASE("Both sides of the exclusion inequality match the vector file", "[vectors]",
                   double, Rational, Real<40>, Interval<40>) {
  for (const auto& row : vectors()["exclusion"]) {
    CAPTURE(row.dump());
    const auto both = exclusion(matrix<TestType>(row["matrix"]));
    REQUIRE(both);
    // Squares of logits up to 60000 leave fewer absolute digits; expectations scale with the value.
    require_expected<TestType>(row["variance"], [&] { return both->variance; });
    require_expected<TestType>(row["positional"], [&] { return both->positional; });
    require_expected<TestType>(row["symbolic"], [&] { return both->symbolic; });
  }
}

TEMPLATE_TEST_CASE("Positional and symbolic scores match the vector file", "[vectors]", double,
                   Real<40>, Interval<40>) {
  for (const auto& row : vectors()["head_scores"]) {
    CAPTURE(row.dump());
    const auto scores = head_scores(matrix<TestType>(row["matrix"]), fraction(row["tau"]));
    REQUIRE(scores);
    require_expected<TestType>(row["positional"], [&] { return scores->positional; });
    require_expected<TestType>(row["symbolic"], [&] { return scores->symbolic; });
  }
}
