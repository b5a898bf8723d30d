#pragma once
/// \file
/// Gap, margin and readings of one row of logits.
///
///   gap      Delta    largest logit minus the second largest, with multiplicity: a tie gives 0 (P1
///   Def. 3.1) strict gap Delta_J  largest minus the largest among non-maximisers; 0 if all are
///   maximal       (P1 Lemma F.1) margin   mu       smallest logit over correct keys minus the
///   largest over incorrect ones, signed loose margin      largest correct minus largest incorrect:
///   > 0 iff hard attention is right
///
/// A gap does not notice when the largest logit sits on the wrong key; a margin does. A *reading*
/// says which input of length n is meant: P1's Definition 3.1 takes the maximum over inputs, its
/// Lemma F.1 the minimum. Two readings of one sentence can be one true and one false, so they are
/// never collapsed.
///
/// All functions: Guarantee that of S; cost O(n); intervals need no comparisons, since max and min
/// of intervals are intervals.

#include <algorithm>
#include <span>

#include "theory/enclosure.hpp"
#include "theory/error.hpp"

namespace ropewalk::theory {

enum class Reading { max, min };

namespace detail {
template <class S>
S larger(const S& x, const S& y) {
  if constexpr (is_interval<S>)
    return max(x, y);
  else
    return x < y ? y : x;
}
template <class S>
S smaller(const S& x, const S& y) {
  if constexpr (is_interval<S>)
    return min(x, y);
  else
    return y < x ? y : x;
}
}  // namespace detail

/// Delta: needs at least two logits; nothing for n < 2.
template <class S>
[[nodiscard]] std::optional<S> gap(std::span<const S> logits) {
  if (logits.size() < 2) return std::nullopt;
  S first = detail::larger(logits[0], logits[1]);
  S second = detail::smaller(logits[0], logits[1]);
  for (const S& l : logits.subspan(2)) {
    second = detail::larger(second, detail::smaller(first, l));
    first = detail::larger(first, l);
  }
  return S(first - second);
}

/// Delta_J of exactly comparable scalars (double, Rational, Real); nothing for n < 1.
template <class S>
requires(!is_interval<S>) [[nodiscard]] std::optional<S> strict_gap(std::span<const S> logits) {
  if (logits.empty()) return std::nullopt;
  const S top = *std::max_element(logits.begin(), logits.end());
  std::optional<S> below;
  for (const S& l : logits)
    if (l < top && (!below || *below < l)) below = l;
  return below ? S(top - *below) : S(0);
}

/// mu; `correct[j]` marks the correct keys. Nothing unless there is a correct and an incorrect key.
template <class S>
[[nodiscard]] std::optional<S> margin(std::span<const S> logits, const std::vector<bool>& correct) {
  if (logits.size() != correct.size())
    throw Error(ErrorCode::bad_value, "margin: logits and marks differ in length");
  std::optional<S> low;
  std::optional<S> high;
  for (std::size_t j = 0; j < logits.size(); ++j) {
    if (correct[j])
      low = low ? detail::smaller(*low, logits[j]) : logits[j];
    else
      high = high ? detail::larger(*high, logits[j]) : logits[j];
  }
  if (!low || !high) return std::nullopt;
  return S(*low - *high);
}

/// Largest correct minus largest incorrect.
template <class S>
[[nodiscard]] std::optional<S> loose_margin(std::span<const S> logits,
                                            const std::vector<bool>& correct) {
  if (logits.size() != correct.size())
    throw Error(ErrorCode::bad_value, "margin: logits and marks differ in length");
  std::optional<S> right;
  std::optional<S> wrong;
  for (std::size_t j = 0; j < logits.size(); ++j) {
    auto& side = correct[j] ? right : wrong;
    side = side ? detail::larger(*side, logits[j]) : logits[j];
  }
  if (!right || !wrong) return std::nullopt;
  return S(*right - *wrong);
}

}  // namespace ropewalk::theory
