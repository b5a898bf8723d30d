#pragma once
/// \file
/// Retrieval (P1 App. F.2): find the token whose left letter is the one wanted, on one plane.
///
/// Tokens are pairs (left, right); A letters, numbered phi, sit at angles phi * omega with
/// omega = 2 pi / A. Keys point by their left letter; a query points by its right letter
/// (letter-letter: it wants another token) or by its own left letter (letter-integer: it wants
/// itself). Logit at lag t:
///   cos((phi(left of key) - phi(wanted)) omega + t theta).
/// theta = 0 is the purely symbolic head; theta > 0 spends angle on distance until lag and letter
/// meet.
///
/// *Proper* input (P1): every letter wanted as a right letter occurs as a left letter at or before,
/// always in the same token. P1 forgets the letter-integer queries: [C5, C2] is proper, yet at
/// theta = 0 both keys tie. *Clean* input: proper, and every left letter belongs to one token only.
/// Retrieval keeps a clean input clean, so hops can be stacked; a proper one need not stay proper
/// ([B0, AB, B1, BA]).
///
/// The *centred* head turns letter-letter queries back by theta (n0 - 1)/2 (theta folded to (-pi,
/// pi]), so that lags 0..n0-1 spread evenly around the wanted letter: twice the horizon (R6).
/// Letter-integer queries stay as P1 has them, because they mean lag 0 and nothing else: unturned,
/// their own key is the only maximiser (logit exactly 1) for 0 < theta (n0 - 1) < omega, the very
/// range in which centring works, so hard attention stays right on every proper input. Turned, [C5,
/// C2] would fail at every theta > 0. The price is the distance to a distractor, 1 - cos(omega -
/// (n0 - 1) theta), smaller near the horizon than the letter-letter margin 2 sin(omega/2)
/// sin((omega - (n0 - 1) theta)/2): softmax needs a larger scale there.

#include "constructions/head.hpp"

namespace ropewalk::constructions {

/// Pairs (left, right): left a letter 0..letters-1; right a letter, or one of `integers` integers,
/// numbered letters..letters+integers-1.
struct RetrievalAlphabet {
  Token letters;
  Token integers;

  [[nodiscard]] Token rights() const { return letters + integers; }
  [[nodiscard]] Token size() const { return letters * rights(); }
  [[nodiscard]] Token pair(Token left, Token right) const { return left * rights() + right; }
  /// The letter-integer pair (left, k), k = 0..integers-1.
  [[nodiscard]] Token leaf(Token left, Token k) const { return pair(left, letters + k); }
  [[nodiscard]] Token left(Token t) const { return t / rights(); }
  [[nodiscard]] Token right(Token t) const { return t % rights(); }
  [[nodiscard]] bool is_letter_letter(Token t) const { return right(t) < letters; }
  /// The letter that the token's query looks for among left letters.
  [[nodiscard]] Token wanted(Token t) const { return is_letter_letter(t) ? right(t) : left(t); }
  /// Throws Error(bad_value) for fewer than 2 letters or a negative count.
  void check() const;
  /// Throws Error(bad_value) naming the position of a token outside the alphabet.
  void check(const Sequence& tokens) const;
};

/// See the head of this file. Exact. Throw Error(bad_value) for tokens outside the alphabet.
[[nodiscard]] bool is_proper(const RetrievalAlphabet& alphabet, const Sequence& tokens);
[[nodiscard]] bool is_clean(const RetrievalAlphabet& alphabet, const Sequence& tokens);

/// Retrieval(s)_i: the token at or before i whose left letter is the right letter of s_i; s_i
/// itself for a letter-integer pair. Nothing at positions where no such token or several different
/// ones occur (none in a proper input). Exact. Errors as is_proper. Source: P1 App. F.2.
[[nodiscard]] std::vector<std::optional<Token>> retrieval_function(
    const RetrievalAlphabet& alphabet, const Sequence& tokens);

/// Marks every key at positions 0..i that holds the token Retrieval(s)_i. Errors as is_proper, and
/// Error(bad_value) where that is not defined.
[[nodiscard]] std::vector<bool> retrieval_correct_keys(const RetrievalAlphabet& alphabet,
                                                       const Sequence& tokens, std::size_t i);

namespace detail {
template <class S, class F>
Head<S> retrieval_head(const Formula& theta, const RetrievalAlphabet& alphabet, F&& turn) {
  alphabet.check();
  const Formula omega = Formula(2) * Formula::pi() / Formula(alphabet.letters);
  const Token n = alphabet.size();
  Maps<S> maps{one_hot<S>(n), Matrix<S>(2, n), Matrix<S>(2, n),
               one_hot<S>(n), false,           one_hot<S>(n)};
  for (Token t = 0; t < n; ++t) {
    const Point<S> query = turn(t, theory::rotation<S>(omega, Lag(-alphabet.wanted(t))));
    const Point<S> key = theory::rotation<S>(omega, Lag(-alphabet.left(t)));
    maps.query(0, t) = query.x;
    maps.query(1, t) = query.y;
    maps.key(0, t) = key.x;
    maps.key(1, t) = key.y;
  }
  return Head<S>({theta}, std::move(maps));
}
}  // namespace detail

/// The plain head: one-hot embedding and unembedding, W_V = I, attention output only. Under hard
/// attention it answers retrieval_function, decoding gap 1 or more: at theta = 0 on every clean
/// input, at 0 < theta on every proper input of length n < 3/2 + pi/(A theta) (R6).
///
/// `theta` in radians per token. Guarantee: that of S; Rational needs A = 2 or 4 and theta = 0,
/// quarter turns or acos of a Pythagorean fraction, Error(not_exact) elsewhere. Throws
/// Error(bad_value) for A < 2. Source: P1 App. F.2, R6.
template <class S>
[[nodiscard]] Head<S> retrieval_head(const Formula& theta, const RetrievalAlphabet& alphabet) {
  return detail::retrieval_head<S>(theta, alphabet, [](Token, const Point<S>& q) { return q; });
}

/// The centred head for lengths up to n0 >= 1: right on every proper input of length n <= n0 for
/// 0 < theta and n0 < 1 + 2 pi/(A theta). Guarantee and errors as the plain head; an even n0 turns
/// by half of theta, which is rarely rational: Error(not_exact) there, odd n0 are exact. Source:
/// R6.
template <class S>
[[nodiscard]] Head<S> centred_retrieval_head(const Formula& theta,
                                             const RetrievalAlphabet& alphabet, const Lag& n0) {
  if (n0 < 1) throw Error(ErrorCode::bad_value, "a centred head needs a length n0 >= 1");
  const bool odd = bit_test(n0, 0);
  const Point<S> back = odd ? theory::rotation<S>(theta, Lag(-(n0 - 1) / 2))
                            : theory::rotation<S>(theory::folded(theta) / Formula(2), Lag(1 - n0));
  return detail::retrieval_head<S>(theta, alphabet, [&](Token t, const Point<S>& q) {
    return alphabet.is_letter_letter(t) ? back * q : q;
  });
}

}  // namespace ropewalk::constructions
