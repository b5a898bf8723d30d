// Pairing layouts: one permutation between them, and the same logits under it, exactly.
#include "theory/layout.hpp"
#include "tests/theory/support.hpp"

using namespace ropewalk;
using namespace ropewalk::tests;
using namespace ropewalk::theory;

namespace {
using M = Eigen::Matrix<Rational, Eigen::Dynamic, Eigen::Dynamic>;
M random_matrix(Draw& draw, Eigen::Index rows, Eigen::Index cols) {
  M m(rows, cols);
  for (Eigen::Index r = 0; r < rows; ++r)
    for (Eigen::Index c = 0; c < cols; ++c)
      m(r, c) = Rational(draw.integer(-9, 9), draw.integer(1, 7));
  return m;
}
template <class Q, class K>
concept has_logit = requires(const Q& q, const K& k, const std::vector<Formula>& table) {
  logit(q, 0, k, 0, table, Lag(1));
};
// Weights of one layout do not meet weights of the other.
static_assert(has_logit<Paired<double, Interleaved>, Paired<double, Interleaved>>);
static_assert(!has_logit<Paired<double, Interleaved>, Paired<double, HalfSplit>>);
}  // namespace

TEST_CASE("Permuting rows of W_Q and W_K turns one layout into the other, logits equal exactly",
          "[layout]") {
  Draw draw(31);
  const std::vector<Formula> table{Formula::parse("acos(3/5)"), Formula::parse("acos(5/13)"),
                                   Formula::parse("pi/2"), Formula(0)};
  const Eigen::Index planes = 4;
  const auto p = row_permutation<Interleaved, HalfSplit>(planes);
  for (int k = 0; k < iterations(10); ++k) {
    const M embedding = random_matrix(draw, 5, 6);
    const M wq = random_matrix(draw, 2 * planes, 5);
    const M wk = random_matrix(draw, 2 * planes, 5);
    M wq_split(2 * planes, 5);
    M wk_split(2 * planes, 5);
    for (Eigen::Index r = 0; r < 2 * planes; ++r) {
      wq_split.row(r) = wq.row(p[static_cast<std::size_t>(r)]);
      wk_split.row(r) = wk.row(p[static_cast<std::size_t>(r)]);
    }
    const Paired<Rational, Interleaved> q(wq * embedding);
    const Paired<Rational, Interleaved> w(wk * embedding);
    const Paired<Rational, HalfSplit> q_split(wq_split * embedding);
    const Paired<Rational, HalfSplit> w_split(wk_split * embedding);
    REQUIRE(relayout<HalfSplit>(q).rows == q_split.rows);
    REQUIRE(relayout<Interleaved>(w_split).rows == w.rows);
    bool permuting_only_the_name_differs = false;
    for (Eigen::Index a = 0; a < 6; ++a)
      for (Eigen::Index b = 0; b < 6; ++b)
        for (const int t : {0, 1, 9}) {
          CAPTURE(k, a, b, t);
          const Rational l = logit(q, a, w, b, table, t);
          REQUIRE(l == logit(q_split, a, w_split, b, table, t));
          // Reading interleaved rows as half-split ones is another head.
          permuting_only_the_name_differs |=
              l != logit(Paired<Rational, HalfSplit>(q.rows), a,
                         Paired<Rational, HalfSplit>(w.rows), b, table, t);
        }
    REQUIRE(permuting_only_the_name_differs);
  }
}

TEST_CASE("The permutations between layouts are inverse to each other", "[layout]") {
  REQUIRE(row_permutation<Interleaved, HalfSplit>(3) ==
          std::vector<Eigen::Index>{0, 2, 4, 1, 3, 5});
  REQUIRE(row_permutation<HalfSplit, Interleaved>(3) ==
          std::vector<Eigen::Index>{0, 3, 1, 4, 2, 5});
  for (const Eigen::Index planes : {1, 2, 64}) {
    const auto p = row_permutation<Interleaved, HalfSplit>(planes);
    const auto q = row_permutation<HalfSplit, Interleaved>(planes);
    for (std::size_t r = 0; r < p.size(); ++r)
      REQUIRE(q[static_cast<std::size_t>(p[r])] == static_cast<Eigen::Index>(r));
  }
  REQUIRE(row_permutation<Interleaved, Interleaved>(2) == std::vector<Eigen::Index>{0, 1, 2, 3});
}

TEST_CASE("Queries, keys and tables of different planes are refused", "[layout]") {
  require_error(ErrorCode::bad_value,
                [] { Paired<double, HalfSplit>(Eigen::MatrixXd::Zero(3, 1)); });
  const Paired<double, HalfSplit> q(Eigen::MatrixXd::Zero(4, 1));
  const Paired<double, HalfSplit> k(Eigen::MatrixXd::Zero(2, 1));
  require_error(ErrorCode::bad_value, [&] {
    (void)logit(q, 0, k, 0, {Formula(1), Formula(1)}, 1);
  });
  require_error(ErrorCode::bad_value, [&] { (void)logit(q, 0, q, 0, {Formula(1)}, 1); });
}
