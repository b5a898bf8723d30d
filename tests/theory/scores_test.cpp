// Defects, the exclusion inequality and the two scores of an attention row.
#include <algorithm>
#include <numeric>

#include "tests/theory/support.hpp"
#include "theory/scores.hpp"

using namespace ropewalk;
using namespace ropewalk::tests;
using namespace ropewalk::theory;

namespace {
// Both norms by the definition: every permutation of the non-query positions.
Exclusion<Rational> by_permutations(const LogitMatrix<Rational>& m) {
  const Eigen::Index n = m.rows() - 1;
  std::vector<Eigen::Index> p(static_cast<std::size_t>(n));
  std::iota(p.begin(), p.end(), 0);
  Rational pos(0);
  Rational sym(0);
  int count = 0;
  do {
    ++count;
    for (Eigen::Index j = 0; j < n; ++j) {
      const Eigen::Index k = p[static_cast<std::size_t>(j)];
      const Rational a = positional_defect(m, k, j);
      const Rational b = symbolic_defect(m, j, k);
      pos += a * a;
      sym += b * b;
    }
  } while (std::next_permutation(p.begin(), p.end()));
  Rational mean(0);
  Rational variance(0);
  for (Eigen::Index j = 0; j < n; ++j) mean += m(j, j) / Rational(n);
  for (Eigen::Index j = 0; j < n; ++j) {
    const Rational off = m(j, j) - mean;
    variance += off * off / Rational(n);
  }
  const Rational norm(count * n);
  return {variance, Rational(pos / norm), Rational(sym / norm)};
}

LogitMatrix<Rational> random_matrix(Draw& draw, int n) {
  LogitMatrix<Rational> m(n, n);
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b) m(a, b) = Rational(draw.integer(-30, 30), draw.integer(1, 9));
  return m;
}

template <class S>
LogitMatrix<S> filled(int n, S (*entry)(int token, int position)) {
  LogitMatrix<S> m(n, n);
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b) m(a, b) = entry(a, b);
  return m;
}
}  // namespace

TEST_CASE("The closed form of the defects equals the sum over all permutations", "[scores]") {
  Draw draw(41);
  for (int n = 3; n <= 7; ++n)
    for (int k = 0; k < iterations(n < 7 ? 5 : 1); ++k) {
      const auto m = random_matrix(draw, n);
      const auto closed = exclusion(m);
      const auto brute = by_permutations(m);
      REQUIRE(closed);
      CAPTURE(n, k);
      REQUIRE(closed->variance == brute.variance);
      REQUIRE(closed->positional == brute.positional);
      REQUIRE(closed->symbolic == brute.symbolic);
      REQUIRE(closed->variance <= closed->bound());
    }
}

TEST_CASE("Exclusion is sharp for sums of a token's and a position's part", "[scores]") {
  Draw draw(42);
  for (int n = 3; n <= 8; ++n) {
    std::vector<Rational> f;
    for (int j = 0; j < n; ++j) f.push_back(Rational(draw.integer(-9, 9), draw.integer(1, 5)));
    LogitMatrix<Rational> m(n, n);
    for (int a = 0; a < n; ++a)
      for (int b = 0; b < n; ++b)
        m(a, b) = f[static_cast<std::size_t>(a)] + f[static_cast<std::size_t>(b)];
    const auto sides = exclusion(m);
    REQUIRE(sides);
    REQUIRE(sides->variance == sides->bound());
    REQUIRE(sides->positional == sides->symbolic);
  }
}

TEST_CASE("Equal rows have no positional defect, equal columns no symbolic one", "[scores]") {
  const auto positional =
      exclusion(filled<Rational>(5, [](int, int b) { return Rational(b * b, 3); }));
  REQUIRE(positional->positional == 0);
  REQUIRE(positional->variance <= positional->symbolic);
  const auto symbolic =
      exclusion(filled<Rational>(5, [](int a, int) { return Rational(a * a, 3); }));
  REQUIRE(symbolic->symbolic == 0);
  REQUIRE(symbolic->variance <= symbolic->positional);
}

TEST_CASE("Purely positional and purely symbolic rows score 1", "[scores]") {
  const auto positional = head_scores(filled<I40>(5, [](int, int b) { return I40(3 * b); }));
  REQUIRE(enclosure(positional->positional).contains(1));
  REQUIRE(enclosure(positional->positional).lo > tests::fraction("0.99999999999999999999"));
  REQUIRE(enclosure(positional->symbolic).hi < tests::fraction("0.2"));
  const auto symbolic = head_scores(filled<I40>(5, [](int a, int) { return I40(3 * a); }));
  REQUIRE(enclosure(symbolic->symbolic).contains(1));
  REQUIRE(enclosure(symbolic->symbolic).lo > tests::fraction("0.99999999999999999999"));
  REQUIRE(enclosure(symbolic->positional).hi < tests::fraction("0.2"));
}

TEST_CASE("An even row scores 1 on both sides", "[scores]") {
  const auto even = head_scores(filled<double>(4, [](int, int) { return 2.0; }));
  REQUIRE(even->positional == Catch::Approx(1));
  REQUIRE(even->symbolic == Catch::Approx(1));
}

TEST_CASE("Logits far apart underflow to a limit, not to 0/0", "[scores]") {
  // Both weights of most swaps underflow in double: the query and token 0 take all.
  const auto huge = head_scores(filled<double>(
      6, [](int a, int b) { return a == 5 ? 0.0 : (a == b ? -1e6 : -2e6) * (a + 1); }));
  REQUIRE(huge);
  REQUIRE(std::isfinite(huge->positional));
  REQUIRE(std::isfinite(huge->symbolic));
  REQUIRE(huge->positional >= 0);
  REQUIRE(huge->symbolic <= 1);
  const auto extreme =
      head_scores(filled<double>(3, [](int a, int b) { return a == b ? 1e300 * (a - 1) : 0; }));
  REQUIRE(std::isfinite(extreme->positional));
  REQUIRE(std::isfinite(extreme->symbolic));
}

TEST_CASE("The query's own logit takes part in the normaliser", "[scores]") {
  const auto entry = [](int own) {
    LogitMatrix<double> m(4, 4);
    m << 0, 1, 2, 0, 3, 1, 0, 0, 1, 1, 2, 0, 0, 0, 0, own;
    return head_scores(m, Rational(1, 10))->positional;
  };
  // A dominant own key flattens all |D_i - D_j|, so the swaps count alike.
  REQUIRE(entry(0) != Catch::Approx(entry(50)).epsilon(1e-6));
  REQUIRE(entry(50) == Catch::Approx(entry(60)));
}

TEST_CASE("Fewer than two non-query positions have no defect and no score", "[scores]") {
  for (const int n : {1, 2}) {
    const auto m = filled<double>(n, [](int a, int b) { return 1.0 * a + b; });
    REQUIRE_FALSE(exclusion(m));
    REQUIRE_FALSE(head_scores(m));
  }
  require_error(ErrorCode::bad_value, [] { (void)head_scores(LogitMatrix<double>(2, 3)); });
  require_error(ErrorCode::bad_value, [] { (void)exclusion(LogitMatrix<double>(0, 0)); });
  require_error(ErrorCode::bad_value, [] {
    (void)head_scores(filled<double>(3, [](int, int) { return 0.0; }), Rational(0));
  });
}
