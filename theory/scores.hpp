#pragma once
/// \file
/// How positional, how symbolic: defects, the exclusion inequality and the two scores of one
/// attention row.
///
/// All of them read one matrix. Fix an input of n tokens and the query at its last position; let
///   M(a, b) = logit of the key of token a when it stands at position b,   a, b = 0..n-1,
/// index n-1 being the query token itself. The diagonal is the row of logits as it is. A purely
/// positional head has equal rows (the token does not matter), a purely symbolic one equal columns
/// (the position does not). One product of all keys at all lags serves every question below.
///
///   positional defect  M(a, j) - M(j, j)  another token at position j: 0 for a positional head
///   symbolic defect    M(j, b) - M(j, j)  token j in another place: 0 for a symbolic head
///
/// Exclusion (P2 Thm 1): a head whose logits vary cannot have both defects small. The scores
/// measure the same in attention weights: swap tokens i and j in place and look whether the pair of
/// weights stays (positional) or follows the tokens (symbolic).
///
/// For a query in the middle of a longer text pass the tokens it sees. Keys masked for it (a
/// sliding window) take no part: leave them out.

#include <optional>

#include "theory/softmax.hpp"

namespace ropewalk::theory {

/// M(a, b): rows are tokens, columns positions; the query's own key is the last of both.
template <class S>
using LogitMatrix = Eigen::Matrix<S, Eigen::Dynamic, Eigen::Dynamic>;

/// delta_pos(pi, j) with a = pi(j): M(a, j) - M(j, j). Guarantee: that of S.
template <class S>
[[nodiscard]] S positional_defect(const LogitMatrix<S>& m, Eigen::Index a, Eigen::Index j) {
  return m(a, j) - m(j, j);
}
/// delta_sym(pi, j) with b = pi(j): M(j, b) - M(j, j). Guarantee: that of S.
template <class S>
[[nodiscard]] S symbolic_defect(const LogitMatrix<S>& m, Eigen::Index j, Eigen::Index b) {
  return m(j, b) - m(j, j);
}

/// The exclusion inequality on one input: variance <= positional + symbolic.
template <class S>
struct Exclusion {
  S variance;  ///< Var(lambda), lambda_j = M(j, j) over the N = n-1 non-query positions (divided by
               ///< N)
  S positional;  ///< ||delta_pos||^2 / (N! N): mean square defect over permutations and positions
  S symbolic;    ///< ||delta_sym||^2 / (N! N)
  /// The right-hand side (||delta_pos||^2 + ||delta_sym||^2) / (N! N).
  [[nodiscard]] S bound() const { return positional + symbolic; }
};

/// Both sides of P2's exclusion inequality. A permutation sends j to each a equally often, so the
/// norms over all N! permutations are ||delta_pos||^2 = (N-1)! sum_j sum_a (M(a,j) - M(j,j))^2 and
/// likewise for columns. Equality holds for M(a, b) = f_a + f_b. Nothing for fewer than 2 non-query
/// positions. Shapes: n x n (Error(bad_value) otherwise). Guarantee: that of S (Exact in
/// rationals). Cost: O(n^2). Source: P2 Thm 1.
template <class S>
[[nodiscard]] std::optional<Exclusion<S>> exclusion(const LogitMatrix<S>& m);

/// Positional and symbolic score, both in [0, 1].
template <class S>
struct HeadScores {
  S positional;
  S symbolic;
};

/// s_POS and s_SYM of one input. D = softmax of the diagonal, the query's own logit included. For
/// every swap i < j of non-query positions: v = (D_i, D_j) before, v' = (D_i, D_j) after, weight
/// alpha ~ exp(|D_i - D_j| / tau) normalised over all swaps;
///   s_POS = sum alpha cos(v', v),   s_SYM = sum alpha cos(v', reversed v).
/// A swap changes two logits and the normaliser cancels in a cosine. With d = M(i,i) - M(j,j) and
/// e = M(j,i) - M(i,j) the cosines are cosh((d+e)/2) / sqrt(cosh d cosh e) and cosh((d-e)/2) / the
/// same, evaluated with non-positive exponents only: no overflow, and underflow leaves a limit,
/// never 0/0.
///
/// Nothing for fewer than 2 non-query positions. Domain: n x n logits (Error(bad_value) otherwise),
/// tau > 0 (Error(bad_value)). Guarantee: that of S, intervals cut to [0, 1]. Cost: O(n^2). Source:
/// P1 App. D, P2.
template <class S>
requires(!std::same_as<S, Rational>) [[nodiscard]] std::optional<HeadScores<S>> head_scores(
    const LogitMatrix<S>& m, const Rational& tau = Rational(1, 10000));

// -----------------------------------------------------------------------------------------------

namespace detail {
inline void check_square(Eigen::Index rows, Eigen::Index cols) {
  if (rows != cols || rows < 1)
    throw Error(ErrorCode::bad_value, "a matrix of logits is square, not " + std::to_string(rows) +
                                          " x " + std::to_string(cols));
}

template <class S>
S magnitude(const S& x) {
  using std::abs;
  return abs(x);
}

/// cosh((x + y) / 2) / sqrt(cosh x cosh y), in [0, 1]: the cosine of the angle between (e^x, 1) and
/// (e^y, 1).
template <class S>
S cosine_of_ratios(const S& x, const S& y) {
  using std::exp, std::sqrt;
  const S a = magnitude(x);
  const S b = magnitude(y);
  const S c = magnitude(S(x + y));
  // c - a - b is 0 or -2 min(a, b), by the signs of x and y: never positive.
  const S fall = smaller(S((c - a - b) / S(2)), S(0));
  const S value = exp(fall) * (S(1) + exp(S(-c))) /
                  sqrt(S((S(1) + exp(S(S(-2) * a))) * (S(1) + exp(S(S(-2) * b)))));
  return smaller(larger(value, S(0)), S(1));
}
}  // namespace detail

template <class S>
std::optional<Exclusion<S>> exclusion(const LogitMatrix<S>& m) {
  detail::check_square(m.rows(), m.cols());
  const Eigen::Index count = m.rows() - 1;
  if (count < 2) return std::nullopt;
  const S n(static_cast<int>(count));
  S mean(0);
  for (Eigen::Index j = 0; j < count; ++j) mean += m(j, j);
  mean /= n;
  Exclusion<S> result{S(0), S(0), S(0)};
  for (Eigen::Index j = 0; j < count; ++j) {
    const S off = m(j, j) - mean;
    result.variance += off * off;
    for (Eigen::Index k = 0; k < count; ++k) {
      const S pos = positional_defect(m, k, j);
      const S sym = symbolic_defect(m, j, k);
      result.positional += pos * pos;
      result.symbolic += sym * sym;
    }
  }
  result.variance /= n;
  result.positional /= n * n;
  result.symbolic /= n * n;
  return result;
}

template <class S>
requires(!std::same_as<S, Rational>) std::optional<HeadScores<S>> head_scores(
    const LogitMatrix<S>& m, const Rational& tau) {
  detail::check_square(m.rows(), m.cols());
  if (tau <= 0) throw Error(ErrorCode::bad_value, "tau must be positive, not " + tau.str());
  const Eigen::Index count = m.rows() - 1;
  if (count < 2) return std::nullopt;
  std::vector<S> row;
  for (Eigen::Index j = 0; j <= count; ++j) row.push_back(m(j, j));
  const std::vector<S> weights = softmax(row, S(1));
  std::vector<S> differences;
  for (Eigen::Index i = 0; i < count; ++i)
    for (Eigen::Index j = i + 1; j < count; ++j)
      differences.push_back(detail::magnitude(
          S(weights[static_cast<std::size_t>(i)] - weights[static_cast<std::size_t>(j)])));
  const std::vector<S> alpha = softmax(differences, Scalar<S>::from(Rational(1 / tau)));
  HeadScores<S> result{S(0), S(0)};
  std::size_t swap = 0;
  for (Eigen::Index i = 0; i < count; ++i)
    for (Eigen::Index j = i + 1; j < count; ++j, ++swap) {
      const S before = m(i, i) - m(j, j);
      const S after = m(j, i) - m(i, j);
      result.positional += alpha[swap] * detail::cosine_of_ratios(before, after);
      result.symbolic += alpha[swap] * detail::cosine_of_ratios(before, S(-after));
    }
  result.positional = detail::smaller(detail::larger(result.positional, S(0)), S(1));
  result.symbolic = detail::smaller(detail::larger(result.symbolic, S(0)), S(1));
  return result;
}

extern template std::optional<Exclusion<double>> exclusion(const LogitMatrix<double>&);
extern template std::optional<Exclusion<Rational>> exclusion(const LogitMatrix<Rational>&);
extern template std::optional<Exclusion<Interval<40>>> exclusion(const LogitMatrix<Interval<40>>&);
extern template std::optional<HeadScores<double>> head_scores(const LogitMatrix<double>&,
                                                              const Rational&);
extern template std::optional<HeadScores<Interval<40>>> head_scores(
    const LogitMatrix<Interval<40>>&, const Rational&);

}  // namespace ropewalk::theory
