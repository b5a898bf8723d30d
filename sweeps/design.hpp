#pragma once
/// \file
/// Frequency tables made for a length: a search, and a proof of what it found.
///
/// A head's quantities are least values of forms that are linear in the amplitudes,
///     sum_f a_f (c + sign cos(lag theta_f + phase)):
/// Index margins over lags, the logit of a match over lags, minus the logit of a distractor over
/// lags and letters. A margin is a sum of such minima, and the objective is the least margin over
/// its weight. The search climbs it over angles and amplitudes: first smoothed (softmin of rising
/// sharpness, by Ceres), then sharp (linear programs in a shrinking trust region, by Clp), from
/// several starts. Nothing of it is believed: the angles are written down as exact numbers, nearby
/// members of 2 pi k/n are tried in their place, amplitudes are optimised again by optimal_head(),
/// best_retrieval() or best_for_both(), and what those prove is the answer.

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "proofs_numeric/optimal.hpp"

namespace ropewalk::sweeps {

enum class Objective { index, retrieval, both };
/// Tables that a search begins with: the plain table of base 10000; random angles; angles that fall
/// by the same factor from pi/2 to pi/n; random members of 2 pi k/n.
enum class Start { standard, random, lacunary, cyclic };

struct DesignQuestion {
  unsigned planes = 2;       ///< 1..64
  std::int64_t length = 65;  ///< n, 3..4097: lags up to n - 1
  Objective objective = Objective::index;
  unsigned alphabet = 8;                  ///< of retrieval and both, 2..64
  proofs_numeric::Rational weight{1, 2};  ///< w of Index in both: min(Index/w, Retrieval/(1 - w))
  std::vector<Start> starts = {Start::standard, Start::random, Start::lacunary, Start::cyclic};
  unsigned tries = 32;  ///< of random and cyclic starts, each
  std::uint64_t seed = 0;
  std::atomic<bool>* stop =
      nullptr;  ///< set it to interrupt: the best so far is proven and returned
  std::function<void(double)> progress;  ///< called with the share done
};

struct Design {
  std::vector<proofs_numeric::Formula> frequencies;  ///< falling
  std::vector<proofs_numeric::Rational> amplitudes;  ///< one per plane, sum 1
  std::optional<proofs_numeric::Enclosure> index;    ///< margin of these amplitudes, or the optimum
  std::optional<proofs_numeric::Enclosure> retrieval;
  proofs_numeric::Enclosure value;          ///< of the objective
  proofs_numeric::Enclosure standard;       ///< of the plain table of base 10000
  proofs_numeric::Enclosure bound;          ///< no table of so many planes exceeds it
  Start start = Start::standard;            ///< where the search began
  std::vector<proofs_numeric::Fact> facts;  ///< what proves `value`
};

/// The best table found. Guarantee: `value`, `standard` and `bound` are Enclosures; that the table
/// is good is Heuristic. Deterministic for a seed. Domain as above (Error(bad_value)). Cost: per
/// start some thousand passes of `planes` cosines per lag (and letter). Source: R2, R3.
[[nodiscard]] Design design(const DesignQuestion& question);

}  // namespace ropewalk::sweeps
