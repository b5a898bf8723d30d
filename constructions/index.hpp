#pragma once
/// \file
/// Positional heads: Index (selective indexing, P1 App. F.2) on one plane or many, and the aligned
/// head that looks a fixed number of tokens back (R3).
///
/// All keys are equal, so a logit depends on the lag alone. Query m is the key turned back m times:
///   L(t) = sum_f a_f cos(theta_f (t - m)),
/// which is largest at lag m. The amplitudes a_f >= 0 are an argument; one plane has a = 1.
///
/// An amplitude is split evenly, u_f = sqrt(a_f) e^(-i theta_f m) and w_f = sqrt(a_f), so that
/// |q| = |k| = 1 when the amplitudes sum to 1. Rationals have no such root: there the query takes
/// it whole, u_f = a_f e^(-i theta_f m) and w_f = 1. Logits are the same; only the norms differ.

#include "constructions/head.hpp"

namespace ropewalk::constructions {

/// Letters 0..letters-1, then the integers 1..integers.
struct IndexAlphabet {
  Token letters;
  Token integers;

  [[nodiscard]] Token size() const { return letters + integers; }
  [[nodiscard]] bool is_letter(Token t) const { return t < letters; }
  [[nodiscard]] Token letter(Token k) const { return k; }
  [[nodiscard]] Token integer(Token m) const { return letters + m - 1; }
  /// How far the token looks back: m for the integer m, 0 for a letter.
  [[nodiscard]] Token offset(Token t) const { return is_letter(t) ? 0 : t - letters + 1; }
  /// Throws Error(bad_value) unless there is a letter and no negative count.
  void check() const;
};

/// True if every token is in the alphabet and every integer reaches back inside the input.
[[nodiscard]] bool is_index_input(const IndexAlphabet& alphabet, const Sequence& tokens);

/// Index(s)_i = s_(i - s_i) if s_i is an integer and that token a letter, else s_i. Exact. Throws
/// Error(bad_value) where an integer reaches out of the input, naming its position. Source: P1 App.
/// F.2.
[[nodiscard]] Sequence index_function(const IndexAlphabet& alphabet, const Sequence& tokens);

/// Marks the key that the query at position i means: i - s_i, or i for a letter. Shapes: i + 1
/// marks. Errors as index_function.
[[nodiscard]] std::vector<bool> index_correct_keys(const IndexAlphabet& alphabet,
                                                   const Sequence& tokens, std::size_t i);

namespace detail {
/// Throws Error(bad_value) unless there is one amplitude >= 0 per plane, and at least one plane.
void check_amplitudes(const std::vector<Formula>& frequencies,
                      const std::vector<Rational>& amplitudes);

/// How query and key share an amplitude.
template <class S>
struct Split {
  S query;
  S key;
};
template <class S>
Split<S> split(const Rational& amplitude) {
  if constexpr (std::same_as<S, Rational>) {
    return {amplitude, S(1)};
  } else {
    using std::sqrt;
    if (amplitude == 0 || amplitude == 1) return {S(amplitude == 0 ? 0 : 1), S(1)};
    const S root = sqrt(Scalar<S>::from(amplitude));
    return {root, root};
  }
}

/// The vector over 2D interleaved rows of the points p(f).
template <class S, class F>
Matrix<S> column(std::size_t planes, F&& p) {
  Matrix<S> c(static_cast<Eigen::Index>(2 * planes), 1);
  for (std::size_t f = 0; f < planes; ++f) {
    const Point<S> point = p(f);
    c(static_cast<Eigen::Index>(2 * f), 0) = point.x;
    c(static_cast<Eigen::Index>(2 * f + 1), 0) = point.y;
  }
  return c;
}

template <class S>
Matrix<S> aligned_query(const std::vector<Formula>& frequencies,
                        const std::vector<Rational>& amplitudes, const Lag& m) {
  return column<S>(frequencies.size(), [&](std::size_t f) {
    const S a = split<S>(amplitudes[f]).query;
    const Point<S> p = theory::rotation<S>(frequencies[f], Lag(-m));
    return Point<S>{S(a * p.x), S(a * p.y)};
  });
}
template <class S>
Matrix<S> aligned_key(const std::vector<Rational>& amplitudes) {
  return column<S>(amplitudes.size(), [&](std::size_t f) {
    return Point<S>{split<S>(amplitudes[f]).key, S(0)};
  });
}
template <class S>
Matrix<S> zeros(Eigen::Index rows, Eigen::Index cols) {
  return Matrix<S>::Constant(rows, cols, S(0));
}
}  // namespace detail

/// The Index head on D planes: embedding (one-hot, 1); W_K reads the constant, so W_K E is the same
/// key for all; W_Q E(letter) looks 0 back, W_Q E(m) looks m back; W_V is 2 on letter coordinates,
/// 0 elsewhere; residual x + a; unembedding one-hot. Under hard attention, where the largest logit
/// is at lag m alone (one plane: no lag s with s theta in 2 pi Z within reach), the answer is
/// index_function with decoding gap 3 (letter), 1 (integer to letter), 1 (integer to integer).
///
/// `frequencies` in radians per token; `amplitudes` one per plane, >= 0. Guarantee: that of S;
/// Rational needs rotations with rational matrices (acos(3/5), quarter turns), Error(not_exact)
/// elsewhere. Throws Error(bad_value) for amplitudes that do not fit. Source: P1 App. F.2; R3 for
/// more than one plane.
template <class S>
[[nodiscard]] Head<S> index_head(const std::vector<Formula>& frequencies,
                                 const std::vector<Rational>& amplitudes,
                                 const IndexAlphabet& alphabet) {
  alphabet.check();
  detail::check_amplitudes(frequencies, amplitudes);
  const Token n = alphabet.size();
  const auto rows = static_cast<Eigen::Index>(2 * frequencies.size());
  Maps<S> maps{one_hot<S>(n, true),
               detail::zeros<S>(rows, n + 1),
               detail::zeros<S>(rows, n + 1),
               detail::zeros<S>(n + 1, n + 1),
               true,
               detail::zeros<S>(n, n + 1)};
  for (Token t = 0; t < n; ++t) {
    maps.query.col(t) = detail::aligned_query<S>(frequencies, amplitudes, alphabet.offset(t));
    if (alphabet.is_letter(t)) maps.value(t, t) = S(2);
    maps.unembedding(t, t) = S(1);
  }
  maps.key.col(n) = detail::aligned_key<S>(amplitudes);
  return Head<S>(frequencies, std::move(maps));
}
/// P1's own: one plane, angle theta.
template <class S>
[[nodiscard]] Head<S> index_head(const Formula& theta, const IndexAlphabet& alphabet) {
  return index_head<S>({theta}, {Rational(1)}, alphabet);
}

/// The aligned head: every query looks `offset` >= 0 tokens back, keys are equal, one-hot embedding
/// and unembedding, W_V = I, no residual. Logit at lag t: sum_f a_f cos(theta_f (t - offset));
/// where that is largest at `offset` alone, the answer at every position i >= offset is the token
/// `offset` before. Units, guarantee and errors as index_head; Error(bad_value) for an empty
/// vocabulary or a negative offset. Source: R3.
template <class S>
[[nodiscard]] Head<S> aligned_head(const std::vector<Formula>& frequencies,
                                   const std::vector<Rational>& amplitudes, const Lag& offset,
                                   Token vocabulary) {
  detail::check_amplitudes(frequencies, amplitudes);
  if (vocabulary < 1 || offset < 0)
    throw Error(ErrorCode::bad_value, "an aligned head needs a token and an offset >= 0");
  const auto rows = static_cast<Eigen::Index>(2 * frequencies.size());
  Maps<S> maps{one_hot<S>(vocabulary),
               Matrix<S>(rows, vocabulary),
               Matrix<S>(rows, vocabulary),
               one_hot<S>(vocabulary),
               false,
               one_hot<S>(vocabulary)};
  for (Token t = 0; t < vocabulary; ++t) {
    maps.query.col(t) = detail::aligned_query<S>(frequencies, amplitudes, offset);
    maps.key.col(t) = detail::aligned_key<S>(amplitudes);
  }
  return Head<S>(frequencies, std::move(maps));
}

}  // namespace ropewalk::constructions
