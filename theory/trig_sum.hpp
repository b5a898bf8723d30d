#pragma once
/// \file
/// The one primitive: S(t) = offset + sum_f amplitude_f * cos(frequency_f * t + phase_f) over
/// integers t.
///
/// Every question about rotary attention ends here. The logit of an aligned head at relative lag t,
/// the margin of a retrieval head, the sum that bounds RoPE's base (P4) are all values or extrema
/// of such sums.

#include <vector>

#include "theory/circle.hpp"

namespace ropewalk::theory {

struct TrigTerm {
  Rational amplitude;
  Formula frequency;  ///< radians per token
  Formula phase;      ///< radians
};

struct TrigSum {
  Rational offset;
  std::vector<TrigTerm> terms;

  /// S(t). Guarantee: that of S (Exact, Enclosure, Heuristic). Cost: one cosine per plane. Throws
  /// Error(not_exact) for S = Rational where a cosine is irrational.
  template <class S>
  [[nodiscard]] S at(const Lag& t) const {
    S sum = Scalar<S>::from(offset);
    for (const TrigTerm& term : terms)
      sum += S(Scalar<S>::from(term.amplitude) * cosine<S>(term.frequency, t, term.phase));
    return sum;
  }
};

/// The loss of an aligned Index head at relative lag s (R3): sum_f a_f (1 - cos theta_f s),
/// amplitudes a and frequencies of equal length (Error(bad_value) otherwise).
[[nodiscard]] inline TrigSum aligned_loss(const std::vector<Rational>& amplitudes,
                                          const std::vector<Formula>& frequencies) {
  if (amplitudes.size() != frequencies.size())
    throw Error(ErrorCode::bad_value, std::to_string(amplitudes.size()) + " amplitudes for " +
                                          std::to_string(frequencies.size()) + " planes");
  TrigSum sum;
  for (std::size_t f = 0; f < amplitudes.size(); ++f) {
    sum.offset += amplitudes[f];
    sum.terms.push_back({Rational(-amplitudes[f]), frequencies[f], Formula()});
  }
  return sum;
}

}  // namespace ropewalk::theory
