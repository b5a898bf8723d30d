#pragma once
/// \file
/// Pairing layouts: which two coordinates of a head of dimension 2D form rotary plane f.
///
///   Interleaved: (2f, 2f+1)   GPT-J, RoFormer, Meta's Llama files, GGUF llama
///   HalfSplit:   (f, f + D)   GPT-NeoX, Hugging Face Llama, Qwen, Gemma, Mistral
///
/// Neither is a bug: they are conjugate by one row permutation of W_Q and W_K. A layout is a *type*
/// here, so that weights of one and a rotation of the other do not meet by accident. Applying the
/// permutation to rows of W_Q and W_K leaves every logit exactly as it was, since a scalar product
/// does not care for order.

#include <Eigen/Core>

#include "theory/circle.hpp"

namespace ropewalk::theory {

struct Interleaved {
  static constexpr const char* name = "interleaved";
  static Eigen::Index first(Eigen::Index f, Eigen::Index) { return 2 * f; }
  static Eigen::Index second(Eigen::Index f, Eigen::Index) { return 2 * f + 1; }
};
struct HalfSplit {
  static constexpr const char* name = "half-split";
  static Eigen::Index first(Eigen::Index f, Eigen::Index) { return f; }
  static Eigen::Index second(Eigen::Index f, Eigen::Index planes) { return f + planes; }
};

template <class L>
concept PairingLayout = std::same_as<L, Interleaved> || std::same_as<L, HalfSplit>;

/// A query, a key (or a matrix whose columns are queries or keys) of 2D rows, tagged with its
/// layout.
template <class S, PairingLayout L>
struct Paired {
  using Matrix = Eigen::Matrix<S, Eigen::Dynamic, Eigen::Dynamic>;
  Matrix rows;

  explicit Paired(Matrix matrix) : rows(std::move(matrix)) {
    if (rows.rows() % 2 != 0)
      throw Error(ErrorCode::bad_value,
                  "a rotary head has an even dimension, not " + std::to_string(rows.rows()));
  }
  [[nodiscard]] Eigen::Index planes() const { return rows.rows() / 2; }
  /// Plane f of column c.
  [[nodiscard]] Point<S> plane(Eigen::Index f, Eigen::Index c) const {
    return {rows(L::first(f, planes()), c), rows(L::second(f, planes()), c)};
  }
  void set_plane(Eigen::Index f, Eigen::Index c, const Point<S>& p) {
    rows(L::first(f, planes()), c) = p.x;
    rows(L::second(f, planes()), c) = p.y;
  }
};

/// The same queries or keys in layout `To`: rows permuted, nothing computed. Exact.
template <PairingLayout To, class S, PairingLayout From>
[[nodiscard]] Paired<S, To> relayout(const Paired<S, From>& x) {
  Paired<S, To> result(typename Paired<S, To>::Matrix(x.rows.rows(), x.rows.cols()));
  for (Eigen::Index c = 0; c < x.rows.cols(); ++c)
    for (Eigen::Index f = 0; f < x.planes(); ++f) result.set_plane(f, c, x.plane(f, c));
  return result;
}

/// The row of layout `From` that row r of layout `To` takes, for D planes: new.row(r) =
/// old.row(p[r]). Exact.
template <PairingLayout From, PairingLayout To>
[[nodiscard]] std::vector<Eigen::Index> row_permutation(Eigen::Index planes) {
  std::vector<Eigen::Index> p(static_cast<std::size_t>(2 * planes));
  for (Eigen::Index f = 0; f < planes; ++f) {
    p[static_cast<std::size_t>(To::first(f, planes))] = From::first(f, planes);
    p[static_cast<std::size_t>(To::second(f, planes))] = From::second(f, planes);
  }
  return p;
}

/// The logit of query column q and key column k at lag t >= 0 (no 1/sqrt(d)):
///   L(t) = sum_f <rotation(theta_f, t) q_f, k_f>,
/// the rotation acting on the query (P1's convention). `frequencies` in radians per token, one per
/// plane (Error(bad_value) otherwise). Guarantee: that of S. Cost: one rotation per plane.
template <class S, PairingLayout L>
[[nodiscard]] S logit(const Paired<S, L>& queries, Eigen::Index q, const Paired<S, L>& keys,
                      Eigen::Index k, const std::vector<Formula>& frequencies, const Lag& t) {
  if (queries.planes() != keys.planes() ||
      static_cast<std::size_t>(queries.planes()) != frequencies.size())
    throw Error(ErrorCode::bad_value, "queries, keys and frequencies differ in their planes");
  S sum(0);
  for (Eigen::Index f = 0; f < queries.planes(); ++f)
    sum += dot(rotation<S>(frequencies[static_cast<std::size_t>(f)], t) * queries.plane(f, q),
               keys.plane(f, k));
  return sum;
}

}  // namespace ropewalk::theory
