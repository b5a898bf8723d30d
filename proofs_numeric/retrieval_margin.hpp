#pragma once
/// \file
/// The one-plane Retrieval head (P1 App. F.2) at every length, exactly.
///
/// Letters sit at multiples of omega = 2 pi / A, positions drift by theta per token. With the
/// wanted letter at lag t and another letter, k steps further round the alphabet, at lag u, the two
/// logits are
///     cos(t theta - c)   and   cos(k omega + u theta - c),      k = 1..A-1,  t != u in 0..n-1,
/// c = 0 for the plain head and (n-1) theta / 2 for the centred one, theta folded to (-pi, pi]
/// first: a rotation knows no more of its angle, and half of it must mean one thing.
///
/// Inputs: the query at the last position is letter-letter, the letter it wants stands in exactly
/// one position, and there is at least one other key (n >= 2); such an input is proper and clean
/// for that query. Every pair (t, u, k) occurs in one, and other keys can stand aside, so
///     min over inputs of the margin = min over pairs.
/// (Asking for proper queries at every position too changes nothing for A >= 3; with two letters
/// and n >= 3 it would leave out the pair of R6, whose oldest token then wants what has not been
/// seen.)
///
/// While it is positive that minimum has the closed form of R6: the match at lag n-2, the
/// distractor one step round at lag n-1. Beyond the horizon, and for theta >= omega, the two inner
/// extrema are inhomogeneous one-plane questions, answered by `least_residue` on a rational angle
/// that differs from the true one by less than the width reported.

#include <cstdint>
#include <vector>

#include "proofs_numeric/one_plane.hpp"

namespace ropewalk::proofs_numeric {

enum class Centre { plain, centred };

/// A match at lag `match`, the runner-up (or winner) `letter_offset` letters round at lag
/// `distractor`.
struct RetrievalPair {
  Lag match;
  Lag distractor;
  Integer letter_offset;
};

struct RetrievalMargin {
  Enclosure margin;
  /// Delta under the same reading, over the same inputs; for the reading min where the margin is
  /// not positive, [0, a gap attained].
  Enclosure gap;
  RetrievalPair pair;
};

/// The margin of the head at length n >= 2 under a reading. theta in radians, any real; alphabet A
/// >= 2. Nothing for n = 1 (there is no incorrect key). Guarantee: Enclosure; Exact where theta is
/// a rational number of turns and the margin is 0. Cost: reading min: O(log n) in the closed form,
/// O(A log n) outside it (A times the digits of n at most
/// 4000000 there, else Error(too_large)); reading max: O(n), n <=
/// 1000000, else Error(too_large). Errors: Error(bad_value) for A < 2 or n < 1. Source: R6.
[[nodiscard]] std::optional<RetrievalMargin> retrieval_margin(const Formula& theta,
                                                              const Integer& alphabet,
                                                              const Lag& length, Centre centre,
                                                              Reading reading);

/// Largest n at which the smallest margin is positive; nothing where it is positive at every length
/// (theta in 2 pi Z). 1 where no length has it. Plain: n < 3/2 + pi/(A theta); centred: n < 1 + 2
/// pi/(A theta), theta folded to [0, pi]. Exact. Source: R6.
[[nodiscard]] std::optional<Lag> retrieval_horizon(const Formula& theta, const Integer& alphabet,
                                                   Centre centre);

/// The input that attains a margin, as letters: how many steps round from the wanted letter the
/// left letter of the key at lag 0, 1, ..., n-1 stands (0 at the match). Keys that are not part of
/// the pair take the letter of smallest logit. Domain: 2 <= n <= 4096 (Error(too_large)). Exact up
/// to the choice between letters that tie within 2^-100 turns.
[[nodiscard]] std::vector<Integer> retrieval_letters(const Formula& theta, const Integer& alphabet,
                                                     std::uint32_t length, Centre centre,
                                                     const RetrievalPair& pair);

}  // namespace ropewalk::proofs_numeric
