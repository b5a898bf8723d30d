#pragma once
/// \file
/// Which layout the weights of a model are in, judged by what they do and not by what its config
/// says.
///
/// From loss: the model runs on its own kind of text three times, turned in neighbours, in halves
/// and not at all. Under the wrong layout it is far off.
///
/// From weights alone: in the right layout a plane is a complex number, and a head that looks some
/// lag back asks for keys turned by an angle. Let A be the 2 x 2 block of W_Q W_K^T on a plane. Its
/// antisymmetric part is a quarter turn: A has one where the head has learnt an angle, and little
/// else has one. The share of that part, averaged over planes, heads and layers, is higher in the
/// right layout than in the other and than on pairs drawn at random. (Not so the norms of rows, nor
/// the whole part of A that commutes with rotations: neighbouring planes of like frequencies have
/// learnt like things, and pass for planes.) Where heads have learnt no angles the shares are
/// alike, and nothing is said.

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "checkpoints/forward.hpp"

namespace ropewalk::checkpoints {

/// Mean over planes of |antisymmetric part|^2 / |A|^2, each in 0..1.
struct PairShares {
  double interleaved = 0;
  double half_split = 0;
  double random = 0;        ///< the largest of several random pairings
  double deviation = 0;     ///< standard error of the difference of two shares
  std::int64_t planes = 0;  ///< looked at, over all heads and layers
  [[nodiscard]] theory::Pairing verdict() const;
};
/// Guarantee: Heuristic: `verdict` names a layout only where its share is above both others by 0.05
/// and by five standard errors, and is unknown otherwise. Cost: one pass over W_Q and W_K.
/// Not a number where a weight is none.
[[nodiscard]] PairShares pair_shares(const Model& model);

/// Nats per token.
struct RotationLosses {
  double interleaved = 0;
  double half_split = 0;
  double none = 0;
  double gap = 0;        ///< the other layout's mean loss minus the better one's
  double deviation = 0;  ///< standard error of that, over tokens
  double uniform = 0;    ///< loss of all tokens alike: ln vocabulary
  std::size_t tokens = 0;
  [[nodiscard]] theory::Pairing verdict() const;
};
/// The loss of the next token at every position of every input, or, where `answers` are given (one
/// per input), of the answer after the whole input. Runs the model three times in float.
/// Guarantee: Heuristic: `verdict` names a layout only where it is better than the other by 0.05
/// nats per token and by four standard errors, better than no rotation, and below 0.8 times that of
/// all tokens alike: of tokens that the model does not foretell a loss tells nothing. Errors: those
/// of `forward`; Error(bad_value) where there is no token to foretell.
[[nodiscard]] RotationLosses rotation_losses(const Model& model, std::span<const Tokens> inputs,
                                             std::span<const std::int32_t> answers = {},
                                             const std::function<void(double)>& progress = {});

struct LayoutEvidence {
  theory::Pairing declared = theory::Pairing::unknown;
  PairShares weights;
  std::optional<RotationLosses> loss;
  /// By loss where it decides, else by weights; unknown: cannot tell.
  [[nodiscard]] theory::Pairing detected() const;
};

}  // namespace ropewalk::checkpoints
