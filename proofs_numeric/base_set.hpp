#pragma once
/// \file
/// Which bases serve a context: the set of b with B_k(b) >= 0 for every lag k up to L (P4).
///
///     B_k(b) = sum over i < d/2 of cos(k b^(-2i/d)),   d even, b >= 1.
///
/// The set is no up-set: bases that fail lie between bases that serve. So the answer is a cover of
/// the whole range by pieces, each *rejected* with one k whose sum is negative on all of it,
/// *admissible* with every sum non-negative, or an *undecided* sliver around a point where the two
/// meet.
///
/// The sweep runs along q = b^(-2/d), downward from 1, because there the frequencies q^i are
/// powers: on the grid of multiples of 2^-63 they are fixed-point integers, k times them wraps
/// modulo a turn exactly, and no logarithm enters. It stands at one q and asks for a k that is
/// negative there; value, slope and a bound on the curvature say how far down that k stays
/// negative; from the end of that stretch it asks again. Where no k up to L is negative an
/// admissible piece begins, and its first point is the infimum if it is the first.
///
/// By hand, d = 2: the one frequency is 1 whatever the base, B_2 = cos 2 < 0, so no base serves any
/// context from 2 on. L = 1: B_1 sums cosines of angles up to 1, so every base serves.

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "theory/enclosure.hpp"

namespace ropewalk::proofs_numeric {

/// A position on the grid: q = b^(-2/d) in units of 2^-63; 2^63 is b = 1. A smaller root is a
/// larger base.
using BaseRoot = std::uint64_t;

enum class PieceKind { rejected, admissible, undecided };

/// All bases with roots last..first, ends included.
struct BasePiece {
  PieceKind kind = PieceKind::undecided;
  BaseRoot first = 0;         ///< the end of smaller base, first >= last
  BaseRoot last = 0;          ///< the end of larger base
  std::uint64_t violated = 0; /**< rejected: B_violated < 0 on the whole piece */
};

struct BaseQuestion {
  std::uint64_t length = 1;           ///< L: lags 0..L, 1 <= L <= 2^24
  unsigned dim = 128;                 ///< d, even, 2..1024
  theory::Rational from = 1;          ///< smallest base, >= 1
  std::optional<theory::Rational> to; /**< largest base, > from, <= 1e18; without it twice the
                                           infimum, or 1e18 where no base up to there serves */
  bool only_infimum = false;          ///< stop at the infimum
};

struct BaseOptions {
  const std::atomic<bool>* stop = nullptr;  ///< set it to interrupt: Error(undecided) is thrown
  std::function<void(double)> progress;     ///< called with the share done, in [0, 1]
};

struct BaseSet {
  /// The infimum of the admissible bases in [from, to]: every base of the range below infimum.lo is
  /// rejected, infimum.hi is admissible. Nothing where no admissible base was found.
  std::optional<theory::Enclosure> infimum;
  /// The k whose sum is zero at the infimum; nothing where the infimum is `from` itself.
  std::optional<std::uint64_t> binding;
  theory::Rational from;
  theory::Rational to;                       ///< end of the range that `pieces` covers
  std::vector<theory::Enclosure> admissible; /**< in increasing order; inner: all of it serves */
  std::vector<theory::Enclosure> undecided;  ///< outer: holds all that was left open
  std::uint64_t rejected = 0;                ///< number of rejected pieces
  std::vector<BasePiece> pieces;             ///< the cover, in order of increasing base
};

/// The admissible bases of a range. Guarantee: Enclosure. Every double behind it has an a-priori
/// error bound (docs/proofs.md#p4-sweep); the infimum has a relative width below 1e-20 where one k
/// alone binds it, as a rule 1e-13 otherwise. Cost: O(L^2) sums of d/2 cosines. Parallel over
/// stretches of bases (oneTBB), same answer for every number of threads. Throws Error(bad_value)
/// outside the domain, Error(too_large) beyond its caps. Source: P4.
[[nodiscard]] BaseSet base_set(const BaseQuestion& question, const BaseOptions& options = {});

/// The bases of a piece, as an interval whose ends are rounded inward (rejected, admissible) or
/// outward (undecided) by less than 1e-35 in proportion. Nothing where that leaves none.
[[nodiscard]] std::optional<theory::Enclosure> bases_of(const BasePiece& piece, unsigned dim);

/// B_k at an exact base. Domain: base >= 1, dim even. Guarantee: Enclosure, absolute width below
/// 1e-30 k d. Source: P4.
[[nodiscard]] theory::Enclosure base_sum(const theory::Rational& base, unsigned dim,
                                         std::uint64_t k);

/// The smallest k in 1..length with B_k(base) < 0; nothing where there is none, so that the base
/// serves the context. Domain as in BaseQuestion. Guarantee: Exact. Throws Error(undecided) where
/// 2560 digits do not tell a sum from 0. Cost: O(length) sums of d/2 terms. Source: P4.
[[nodiscard]] std::optional<std::uint64_t> first_violation(const theory::Rational& base,
                                                           unsigned dim, std::uint64_t length);

}  // namespace ropewalk::proofs_numeric
