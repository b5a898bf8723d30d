#pragma once
/// \file
/// A head written down: every map of one attention layer as an explicit matrix over a scalar S, and
/// what the layer answers on a sequence of tokens.
///
///   tokens --E--> x --W_Q,W_K--> queries, keys --rotary logits, attention--> a = sum_j w_j W_V x_j
///   answer = the token with the largest score in W_U (x + a), or W_U a where residual is false
///
/// Matrices are d x V and the like with *columns* for tokens, as in the papers: W_Q E is the table
/// of queries, one column per token. A head here has one layer, no 1/sqrt(d), no biases: those of a
/// model are folded into E, W_Q and W_K (a constant coordinate of the embedding carries a bias).
///
/// The same code runs in double, Rational, Real<D> and Interval<D>. What differs is what can be
/// *decided*: in intervals an argmax is an answer only where it is certain, so decisions are
/// std::optional.

#include <span>

#include "constructions/vocabulary.hpp"
#include "theory/discrepancy.hpp"
#include "theory/layout.hpp"
#include "theory/softmax.hpp"

namespace ropewalk::constructions {

using theory::Formula;
using theory::Integer;
using theory::Interleaved;
using theory::Lag;
using theory::Paired;
using theory::Point;
using theory::Rational;
using theory::Scalar;

template <class S>
using Matrix = Eigen::Matrix<S, Eigen::Dynamic, Eigen::Dynamic>;

using Sequence = std::vector<Token>;

/// The factored maps of one layer: V tokens, model dimension d, D rotary planes.
template <class S>
struct Maps {
  Matrix<S> embedding;    ///< E, d x V
  Matrix<S> query;        ///< W_Q, 2D x d, rows interleaved
  Matrix<S> key;          ///< W_K, 2D x d, rows interleaved
  Matrix<S> value;        ///< W_V, d x d
  bool residual = false;  ///< x + a enters the unembedding, or a alone
  Matrix<S> unembedding;  ///< W_U, answers x d
};

namespace detail {
/// The product of two maps, which are mostly zeros: those are skipped, which in intervals and
/// rationals is most of the cost. Throws Error(bad_value) where the shapes do not fit.
template <class S>
Matrix<S> times(const Matrix<S>& a, const Matrix<S>& b) {
  if (a.cols() != b.rows())
    throw Error(ErrorCode::bad_value, "a map of " + std::to_string(a.cols()) +
                                          " columns does not fit " + std::to_string(b.rows()) +
                                          " rows");
  const auto zero = [](const S& x) { return theory::sign(x) == 0; };
  Matrix<S> result = Matrix<S>::Constant(a.rows(), b.cols(), S(0));
  for (Eigen::Index r = 0; r < a.rows(); ++r)
    for (Eigen::Index k = 0; k < a.cols(); ++k) {
      if (zero(a(r, k))) continue;
      for (Eigen::Index c = 0; c < b.cols(); ++c)
        if (!zero(b(k, c))) result(r, c) += S(a(r, k) * b(k, c));
    }
  return result;
}
}  // namespace detail

/// A head: its maps and the tables they multiply out to.
template <class S>
struct Head {
  std::vector<Formula> frequencies;  ///< radians per token, one per plane
  Maps<S> maps;
  Paired<S, Interleaved> queries;  ///< W_Q E, 2D x V
  Paired<S, Interleaved> keys;     ///< W_K E, 2D x V
  Matrix<S> kept;     ///< W_U E, answers x V: what the residual stream shows of the token
  Matrix<S> written;  ///< W_U W_V E, answers x V: what attending to a token adds

  /// Throws Error(bad_value) where the shapes do not fit.
  Head(std::vector<Formula> planes, Maps<S> factors)
      : frequencies(std::move(planes)),
        maps(std::move(factors)),
        queries(detail::times(maps.query, maps.embedding)),
        keys(detail::times(maps.key, maps.embedding)),
        kept(detail::times(maps.unembedding, maps.embedding)),
        written(detail::times(maps.unembedding, detail::times(maps.value, maps.embedding))) {
    const auto planes_given = static_cast<Eigen::Index>(frequencies.size());
    if (queries.planes() != planes_given || keys.planes() != planes_given)
      throw Error(ErrorCode::bad_value, "a head of " + std::to_string(planes_given) +
                                            " frequencies needs W_Q and W_K of twice as many rows");
  }

  [[nodiscard]] Token vocabulary() const { return maps.embedding.cols(); }
  [[nodiscard]] Token answers() const { return maps.unembedding.rows(); }
};

/// Hard attention: equal weight on the keys of largest logit (the limit of softmax for large
/// scale).
struct Hard {};
/// Softmax attention with scale beta: weights exp(beta L_j) / sum.
template <class S>
struct Softmax {
  S beta;
};

/// rotation(theta_f, t) of every plane at every lag 0..n-1, indexed [t][f]: shared by all rows of
/// all sequences up to length n. Guarantee: that of S. Cost: n D rotations. Errors as
/// theory::rotation.
template <class S>
using Rotations = std::vector<std::vector<Point<S>>>;

template <class S>
[[nodiscard]] Rotations<S> rotations(const std::vector<Formula>& frequencies, std::size_t n) {
  Rotations<S> table(n);
  for (std::size_t t = 0; t < n; ++t)
    for (const Formula& theta : frequencies)
      table[t].push_back(theory::rotation<S>(theta, static_cast<unsigned long>(t)));
  return table;
}

namespace detail {
template <class S>
void check(const Head<S>& head, const Sequence& tokens, std::size_t i, const Rotations<S>& table) {
  if (i >= tokens.size() || i >= table.size())
    throw Error(ErrorCode::bad_value, "position " + std::to_string(i) + " lies beyond the input");
  for (std::size_t j = 0; j <= i; ++j)
    if (tokens[j] < 0 || tokens[j] >= head.vocabulary())
      throw Error(ErrorCode::bad_value, "token " + std::to_string(tokens[j]) +
                                            " is not in a vocabulary of " +
                                            std::to_string(head.vocabulary()));
}
}  // namespace detail

/// The logits of the query at position i over the keys at positions 0..i (its own key, lag 0,
/// included):
///   L_j = sum_f <rotation(theta_f, i - j) q_f, k_f>.
/// Shapes: tokens of length n > i -> i + 1 logits. Guarantee: that of S. Cost: O(i D) products,
/// plus the rotations where no table is passed. Throws Error(bad_value) for a position or token out
/// of range.
template <class S>
[[nodiscard]] std::vector<S> logits(const Head<S>& head, const Sequence& tokens, std::size_t i,
                                    const Rotations<S>& table) {
  detail::check(head, tokens, i, table);
  std::vector<S> row;
  row.reserve(i + 1);
  for (std::size_t j = 0; j <= i; ++j) {
    S sum(0);
    for (Eigen::Index f = 0; f < head.queries.planes(); ++f)
      sum +=
          theory::dot(table[i - j][static_cast<std::size_t>(f)] * head.queries.plane(f, tokens[i]),
                      head.keys.plane(f, tokens[j]));
    row.push_back(sum);
  }
  return row;
}
template <class S>
[[nodiscard]] std::vector<S> logits(const Head<S>& head, const Sequence& tokens, std::size_t i) {
  return logits(head, tokens, i, rotations<S>(head.frequencies, i + 1));
}

/// The indices that may carry the largest value: all that are not certainly below another. In
/// exactly comparable scalars these are the maximisers. Shapes: n >= 0 values. Cost: O(n).
template <class S>
[[nodiscard]] std::vector<std::size_t> maximiser_candidates(std::span<const S> values) {
  std::vector<std::size_t> result;
  if constexpr (theory::is_interval<S>) {
    // The largest lower bound; a NaN bound neither beats nor is beaten.
    const S* floor = nullptr;
    for (const S& x : values)
      if (mpfr_nan_p(&x.raw()->left) == 0 &&
          (floor == nullptr || mpfr_less_p(&floor->raw()->left, &x.raw()->left) != 0))
        floor = &x;
    for (std::size_t j = 0; j < values.size(); ++j)
      if (floor == nullptr || mpfr_less_p(&values[j].raw()->right, &floor->raw()->left) == 0)
        result.push_back(j);
  } else {
    for (std::size_t j = 0; j < values.size(); ++j) {
      if (!result.empty() && values[j] < values[result.front()]) continue;
      if (!result.empty() && values[result.front()] < values[j]) result.clear();
      result.push_back(j);
    }
  }
  return result;
}

/// The set of maximisers, in increasing order; nothing where S cannot tell it (two intervals
/// overlap and are not both points). Guarantee: Exact for Rational, certain for Interval, Heuristic
/// otherwise. Shapes: n >= 0 values. Cost: O(n).
template <class S>
[[nodiscard]] std::optional<std::vector<std::size_t>> argmax(std::span<const S> values) {
  auto keys = maximiser_candidates(values);
  if constexpr (theory::is_interval<S>) {
    for (const std::size_t j : keys)
      if (j != keys.front() && theory::compare(values[j], values[keys.front()]) != 0)
        return std::nullopt;
  }
  return keys;
}

/// The attention weights of a row of logits. Softmax: see theory::softmax (no Rational). Hard: 1/k
/// on each of the k maximisers, 0 elsewhere; where intervals leave the maximisers open, nothing.
template <class S>
[[nodiscard]] std::optional<std::vector<S>> attention(const std::vector<S>& row, Hard) {
  const auto keys = argmax(std::span<const S>(row));
  if (!keys) return std::nullopt;
  std::vector<S> weights(row.size(), S(0));
  for (const std::size_t j : *keys)
    weights[j] = Scalar<S>::from(Rational(1, static_cast<unsigned long>(keys->size())));
  return weights;
}
template <class S>
requires(!std::same_as<S, Rational>)
    [[nodiscard]] std::optional<std::vector<S>> attention(const std::vector<S>& row,
                                                          const Softmax<S>& softmax) {
  return theory::softmax(row, softmax.beta);
}

/// The scores of the answers at position i: W_U (x + a), or W_U a without a residual. Shapes: one
/// score per answer. Guarantee: that of S. Where intervals leave the maximisers of hard attention
/// open, the scores enclose those of every mixture of the keys that may be maximal: a tie between
/// equal tokens, which no precision resolves, costs nothing. Cost: O(i) columns of answers. Errors
/// as logits.
template <class S, class Attention>
[[nodiscard]] std::vector<S> scores(const Head<S>& head, const Sequence& tokens, std::size_t i,
                                    const Attention& how, const Rotations<S>& table) {
  const std::vector<S> row = logits(head, tokens, i, table);
  const auto n = static_cast<std::size_t>(head.answers());
  std::vector<S> result(n, S(0));
  if (const auto weights = attention(row, how)) {
    for (std::size_t j = 0; j <= i; ++j)
      for (std::size_t a = 0; a < n; ++a)
        result[a] += S((*weights)[j] * head.written(static_cast<Eigen::Index>(a), tokens[j]));
  } else if constexpr (theory::is_interval<S>) {
    const auto keys = maximiser_candidates(std::span<const S>(row));
    for (std::size_t a = 0; a < n; ++a) {
      result[a] = head.written(static_cast<Eigen::Index>(a), tokens[keys.front()]);
      for (const std::size_t j : keys)
        result[a] = hull(result[a], head.written(static_cast<Eigen::Index>(a), tokens[j]));
    }
  }
  if (head.maps.residual)
    for (std::size_t a = 0; a < n; ++a)
      result[a] += head.kept(static_cast<Eigen::Index>(a), tokens[i]);
  return result;
}
template <class S, class Attention>
[[nodiscard]] std::vector<S> scores(const Head<S>& head, const Sequence& tokens, std::size_t i,
                                    const Attention& how) {
  return scores(head, tokens, i, how, rotations<S>(head.frequencies, i + 1));
}

/// The decoding gap at position i: largest score of an answer minus the second largest (a tie gives
/// 0); nothing with fewer than two answers. Guarantee: that of S.
template <class S, class Attention>
[[nodiscard]] std::optional<S> decoding_gap(const Head<S>& head, const Sequence& tokens,
                                            std::size_t i, const Attention& how) {
  const auto s = scores(head, tokens, i, how);
  return theory::gap(std::span<const S>(s));
}

/// The answer at position i: the one of largest score. Nothing on a tie, or where intervals cannot
/// tell. Guarantee: Exact for Rational, certain for Interval, Heuristic otherwise. Errors as
/// logits.
template <class S, class Attention>
[[nodiscard]] std::optional<Token> decode_at(const Head<S>& head, const Sequence& tokens,
                                             std::size_t i, const Attention& how,
                                             const Rotations<S>& table) {
  const auto s = scores(head, tokens, i, how, table);
  const auto best = argmax(std::span<const S>(s));
  if (!best || best->size() != 1) return std::nullopt;
  return static_cast<Token>(best->front());
}
template <class S, class Attention>
[[nodiscard]] std::optional<Token> decode_at(const Head<S>& head, const Sequence& tokens,
                                             std::size_t i, const Attention& how) {
  return decode_at(head, tokens, i, how, rotations<S>(head.frequencies, i + 1));
}

/// The answers at every position, sequence to sequence. Cost: O(n^2). Errors as logits.
template <class S, class Attention>
[[nodiscard]] std::vector<std::optional<Token>> decode(const Head<S>& head, const Sequence& tokens,
                                                       const Attention& how,
                                                       const Rotations<S>& table) {
  std::vector<std::optional<Token>> result;
  result.reserve(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i)
    result.push_back(decode_at(head, tokens, i, how, table));
  return result;
}
template <class S, class Attention>
[[nodiscard]] std::vector<std::optional<Token>> decode(const Head<S>& head, const Sequence& tokens,
                                                       const Attention& how) {
  return decode(head, tokens, how, rotations<S>(head.frequencies, tokens.size()));
}

/// One-hot embedding of V tokens, V x V; with `constant`, a last coordinate that is 1 for all,
/// (V+1) x V.
template <class S>
[[nodiscard]] Matrix<S> one_hot(Token vocabulary, bool constant = false) {
  Matrix<S> e(vocabulary + (constant ? 1 : 0), vocabulary);
  for (Eigen::Index r = 0; r < e.rows(); ++r)
    for (Eigen::Index c = 0; c < e.cols(); ++c) e(r, c) = S(r == c || r == vocabulary ? 1 : 0);
  return e;
}

}  // namespace ropewalk::constructions
