#pragma once
/// \file
/// Softmax of logits and the mass on a set of keys, in every scalar that has exp.

#include <vector>

#include "theory/discrepancy.hpp"
#include "theory/enclosure.hpp"
#include "theory/error.hpp"

namespace ropewalk::theory {

/// Weights exp(beta (l_j - s)) / sum. The shift s is one exact number near the largest logit, so
/// nothing overflows; any common shift gives the same weights, so enclosures stay valid. Shapes: n
/// >= 1 logits
/// -> n weights (Error(bad_value) for n = 0). Guarantee: that of S. Cost: n exp.
template <class S>
[[nodiscard]] std::vector<S> softmax(const std::vector<S>& logits, const S& beta) {
  using std::exp;
  if (logits.empty()) throw Error(ErrorCode::bad_value, "softmax of no logits");
  S shift = logits.front();
  if constexpr (is_interval<S>) {
    for (const S& l : logits) shift = max(shift, l);
    shift = S(enclosure(shift).middle());
  } else {
    for (const S& l : logits)
      if (shift < l) shift = l;
  }
  std::vector<S> weights;
  weights.reserve(logits.size());
  S sum(0);
  for (const S& l : logits) {
    weights.push_back(exp(S(beta * (l - shift))));
    sum += weights.back();
  }
  for (S& w : weights) w = w / sum;
  return weights;
}

}  // namespace ropewalk::theory
