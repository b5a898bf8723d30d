#pragma once
/// \file
/// Exact facts about the canonical heads of P2: order, not size.
///
/// cos(2 pi x) falls as the distance ||x|| of x to the nearest integer grows, so "this key's logit
/// beats that one's" on one plane is a comparison of two rationals when angles are counted in
/// turns. Everything below is decided that way, without a single rounded cosine, and for every
/// softmax scale at once.
///
/// Lags of keys run over 1..n-1 (the query token is the last of n and binds nothing).

#include <optional>
#include <vector>

#include "theory/circle.hpp"

namespace ropewalk::proofs_numeric {

/// P2's exclusion inequality as an identity. With N non-query positions and M(a, b) the logit of
/// token a at position b,
///   (||delta_pos||^2 + ||delta_sym||^2) / (N! N) - Var(lambda)
///     = (1 / (2 N^2)) sum over a != b of (2 M(a,b) - M(a,a) - M(b,b))^2.
/// Both sides are quadratic forms in the N^2 entries of M. Two quadratic forms that agree on every
/// e_i and every e_i + e_j are equal, so finitely many matrices prove it for all real ones.
struct ExclusionCheck {
  std::size_t matrices = 0;  ///< N^2 (N^2 + 1) / 2, the polarising set
  bool identity = true;      ///< the identity holds on all of them
  bool formula = true;       ///< theory::exclusion gives the sums that the permutations give
  bool sharp = true;         ///< both sides are equal for M(a, b) = f_a + f_b, f = 1..N
};
/// Sums literally over all N! permutations. Domain: 2 <= N <= 7 (Error(bad_value)). Guarantee:
/// Exact. Cost: N^5 N! integer operations.
[[nodiscard]] ExclusionCheck exclusion_identity(int positions);

/// The smallest ||s alpha|| over 1 <= s <= reach, in [0, 1/2]: how near any wrong key comes to the
/// right one for an Index or f_POS head of alpha turns per token. Domain: reach >= 1. Exact. Cost:
/// reach.
[[nodiscard]] theory::Rational nearest_return(const theory::Rational& alpha, std::size_t reach);

/// True if the logit cos(2 pi t alpha) falls strictly over the lags t = 1..n-1: of two equal keys
/// the later one wins. Holds iff ||alpha|| < 1/(2n-3), alpha not an integer, for n >= 3. Exact.
/// Cost: n.
[[nodiscard]] bool recency_ordered(const theory::Rational& alpha, std::size_t n);

/// Two lags and how far the second key's symbol is from the queried one: the second key wins or
/// ties though the first is the last occurrence.
struct MixedFailure {
  std::size_t match;
  std::size_t other;
  std::size_t symbol_offset;  ///< 0: an earlier occurrence of the queried symbol
};
/// f_MIX by one plane of alpha turns per token and symbols at multiples of 1/symbols turn: nothing
/// if the last occurrence wins on every input of length n, else the first failure. Domain: symbols
/// >= 1. Exact. Cost: n^2 symbols.
[[nodiscard]] std::optional<MixedFailure> one_plane_mixed_failure(const theory::Rational& alpha,
                                                                  std::size_t symbols,
                                                                  std::size_t n);

/// Number K of lags such that among any K consecutive ones, for every angle of alpha in [lo, hi]
/// turns and every phase psi, some lag t has cos(2 pi (t alpha + psi)) <= 0 (and, with psi + 1/2,
/// some has >= 0). The K closed half circles of good phases overlap one by the next (steps of at
/// most half a turn) and together go round. Domain: 0 < lo <= hi <= 1/2 (Error(bad_value)). Exact.
[[nodiscard]] std::size_t lags_to_meet_half_circle(const theory::Rational& lo,
                                                   const theory::Rational& hi);

/// +1, 0, -1 per step of a sequence of turns: whether the cosine rises, stays or falls. Exact.
[[nodiscard]] std::vector<int> cosine_steps(const std::vector<theory::Rational>& turns);

enum class Shape { constant, rising, falling, u, inverse_u, other };
/// The shape of a sequence by its steps: u falls strictly, may stay for one step, and rises
/// strictly; rising and falling are strict all the way.
[[nodiscard]] Shape shape(const std::vector<int>& steps);

}  // namespace ropewalk::proofs_numeric
