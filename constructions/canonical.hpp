#pragma once
/// \file
/// Heads for P2's three canonical tasks, answering at the last position of an input of length n:
///
///   f_POS  the symbol at a given position             one angle at fixed n; no symbolic head can
///   f_SYM  the attribute bound to the queried symbol  angle 0; no positional head can
///   f_MIX  the attribute of its *last* occurrence     angles (0, theta2), theta2 not too large
///
/// For the last two, tokens are pairs (symbol, attribute) and, at the end, a query token that names
/// a symbol. Symbols sit at angles phi * omega, omega = 2 pi / (number of symbols), as in
/// Retrieval. Embedding one-hot, W_V the identity, no residual; the unembedding reads the attribute
/// off the pair. The key of a query token is opposite to its own query, so a query never attends to
/// itself. Positions count from 0.

#include "constructions/index.hpp"

namespace ropewalk::constructions {

/// Pairs (symbol, attribute) first, then one query token per symbol.
struct BindingAlphabet {
  Token symbols;
  Token attributes;

  [[nodiscard]] Token size() const { return symbols * (attributes + 1); }
  [[nodiscard]] Token pair(Token symbol, Token attribute) const {
    return symbol * attributes + attribute;
  }
  [[nodiscard]] Token query(Token symbol) const { return symbols * attributes + symbol; }
  [[nodiscard]] bool is_query(Token t) const { return t >= symbols * attributes; }
  [[nodiscard]] Token symbol(Token t) const {
    return is_query(t) ? t - symbols * attributes : t / attributes;
  }
  [[nodiscard]] Token attribute(Token t) const { return t % attributes; }
  /// Throws Error(bad_value) unless there is a symbol and an attribute.
  void check() const;
};

/// f_SYM: the attribute bound to the symbol that the last token queries. Nothing unless the input
/// is pairs followed by one query token whose symbol occurs, always with one attribute. Exact.
/// Source: P2.
[[nodiscard]] std::optional<Token> symbolic_function(const BindingAlphabet& alphabet,
                                                     const Sequence& tokens);
/// f_MIX: the attribute at the last occurrence of the queried symbol. Nothing unless the input is
/// pairs followed by one query token whose symbol occurs. Exact. Source: P2.
[[nodiscard]] std::optional<Token> mixed_function(const BindingAlphabet& alphabet,
                                                  const Sequence& tokens);

/// f_POS at fixed length n: the answer at the last position n - 1 is the token at position j, 0 <=
/// j < n, for every theta with no multiple s theta in 2 pi Z for 1 <= s <= max(j, n-1-j). The
/// aligned head of one plane with offset n - 1 - j. Guarantee and errors as aligned_head, and
/// Error(bad_value) for j outside.
template <class S>
[[nodiscard]] Head<S> positional_head(const Formula& theta, Token vocabulary, const Lag& n,
                                      const Lag& j) {
  if (j < 0 || j >= n)
    throw Error(ErrorCode::bad_value, "position " + j.str() + " lies outside length " + n.str());
  return aligned_head<S>({theta}, {Rational(1)}, Lag(n - 1 - j), vocabulary);
}

namespace detail {
// Plane 0 tells symbols apart, further planes tell lags; amplitudes sit in the query.
template <class S>
Head<S> binding_head(const std::vector<Formula>& frequencies,
                     const std::vector<Rational>& amplitudes, const BindingAlphabet& alphabet) {
  alphabet.check();
  check_amplitudes(frequencies, amplitudes);
  const Formula omega = Formula(2) * Formula::pi() / Formula(alphabet.symbols);
  const Token n = alphabet.size();
  const auto rows = static_cast<Eigen::Index>(2 * frequencies.size());
  Maps<S> maps{one_hot<S>(n),
               Matrix<S>(rows, n),
               Matrix<S>(rows, n),
               one_hot<S>(n),
               false,
               zeros<S>(alphabet.attributes, n)};
  for (Token t = 0; t < n; ++t) {
    const auto direction = [&](std::size_t f) {
      return f == 0 ? theory::rotation<S>(omega, Lag(-alphabet.symbol(t))) : Point<S>{S(1), S(0)};
    };
    const S side(alphabet.is_query(t) ? -1 : 1);
    maps.query.col(t) = column<S>(frequencies.size(), [&](std::size_t f) {
      const Point<S> p = direction(f);
      const S a = Scalar<S>::from(amplitudes[f]);
      return Point<S>{S(a * p.x), S(a * p.y)};
    });
    maps.key.col(t) = column<S>(frequencies.size(), [&](std::size_t f) {
      const Point<S> p = direction(f);
      return Point<S>{S(side * p.x), S(side * p.y)};
    });
    if (!alphabet.is_query(t)) maps.unembedding(alphabet.attribute(t), t) = S(1);
  }
  return Head<S>(frequencies, std::move(maps));
}
}  // namespace detail

/// f_SYM on one plane: logit cos((phi(key) - phi(queried)) omega + t theta). At theta = 0 it
/// answers symbolic_function at every length. A small theta > 0 makes the last occurrence win, so
/// that the same one-plane head answers mixed_function while lags stay short (R6's head, P2.C1 at
/// bounded length). `theta` in radians per token. Guarantee: that of S; Rational needs 1, 2 or 4
/// symbols and a theta with a rational rotation, Error(not_exact) elsewhere. Source: P2 Thm 5.
template <class S>
[[nodiscard]] Head<S> symbolic_head(const BindingAlphabet& alphabet, const Formula& theta = {}) {
  return detail::binding_head<S>({theta}, {Rational(1)}, alphabet);
}

/// f_MIX on two planes of angles (0, theta2) and amplitudes (a, b) >= 0, both in the query:
///   logit = a cos((phi(key) - phi(queried)) omega) + b cos(t theta2).
/// Answers mixed_function at length n if theta2 (n - 1) <= pi, theta2 > 0, b > 0 and
/// a (1 - cos omega) > b (cos theta2 - cos (n-1) theta2). Units, guarantee and errors as
/// symbolic_head. Source: P2 Thm 6.
template <class S>
[[nodiscard]] Head<S> mixed_head(const BindingAlphabet& alphabet, const Formula& theta2,
                                 const Rational& symbol_amplitude, const Rational& lag_amplitude) {
  return detail::binding_head<S>({Formula(), theta2}, {symbol_amplitude, lag_amplitude}, alphabet);
}

}  // namespace ropewalk::constructions
