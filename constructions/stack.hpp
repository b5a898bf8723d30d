#pragma once
/// \file
/// Stacks: one head per layer, tokens in, tokens out. The Number task with h hops is
/// Reflexive^(l-h) after Index^h, read at the last position; the Letter task Reflexive^(l-h) after
/// Retrieval^h (P1): one hop per layer, and a layer that has nothing to do is the identity.

#include "constructions/index.hpp"

namespace ropewalk::constructions {

/// The identity: residual stream kept, W_V = 0, so whatever is attended to adds nothing. Queries
/// and keys are equal (logit cos(t theta)), one-hot embedding and unembedding; decoding gap 1 under
/// hard attention and under softmax of any scale. `theta` in radians per token. Guarantee: that of
/// S. Throws Error(bad_value) for an empty vocabulary. Source: P1 App. F.2.
template <class S>
[[nodiscard]] Head<S> reflexive_head(Token vocabulary, const Formula& theta = {}) {
  if (vocabulary < 1) throw Error(ErrorCode::bad_value, "a reflexive head needs a token");
  Matrix<S> same(2, vocabulary);
  for (Token t = 0; t < vocabulary; ++t) {
    same(0, t) = S(1);
    same(1, t) = S(0);
  }
  return Head<S>(
      {theta}, Maps<S>{one_hot<S>(vocabulary), same, same, detail::zeros<S>(vocabulary, vocabulary),
                       true, one_hot<S>(vocabulary)});
}

/// The answers of the last layer at every position, each layer's answers being the next one's
/// tokens. Nothing where a layer leaves a position open (a tie, or intervals that cannot tell).
/// Layers share one vocabulary. Cost: O(layers n^2). Errors as logits.
template <class S, class Attention>
[[nodiscard]] std::optional<Sequence> decode_stack(std::span<const Head<S>> layers, Sequence tokens,
                                                   const Attention& how) {
  for (const Head<S>& head : layers) {
    const auto answers = decode(head, tokens, how);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (!answers[i]) return std::nullopt;
      tokens[i] = *answers[i];
    }
  }
  return tokens;
}

}  // namespace ropewalk::constructions
