#pragma once
/// \file
/// Readings by exhaustion: the largest or smallest gap or margin of a head over a stated set of
/// inputs, with the input that attains it.
///
/// A reading (max, min, or one query) says which input a statement about "the discrepancy at length
/// n" means. Closed forms answer for every length; this answers for a small world, literally, and
/// is what the closed forms are held against.

#include <utility>

#include "constructions/head.hpp"

namespace ropewalk::constructions {

using theory::Reading;

/// Calls f(tokens) for every sequence of `length` tokens over a vocabulary, in lexicographic order,
/// that extends only prefixes with keep(prefix). Cost: at most vocabulary^length calls.
template <class Keep, class F>
void every_sequence(Token vocabulary, std::size_t length, Keep&& keep, F&& f,
                    Sequence prefix = {}) {
  if (prefix.size() == length) {
    f(std::as_const(prefix));
    return;
  }
  prefix.push_back(0);
  for (Token t = 0; t < vocabulary; ++t) {
    prefix.back() = t;
    if (keep(std::as_const(prefix))) every_sequence(vocabulary, length, keep, f, prefix);
  }
}

enum class Quantity { gap, strict_gap, margin, loose_margin };

template <class S>
struct Extreme {
  S value;
  Sequence input;
};

/// The quantity of the query at the last position of each input, and its maximum or minimum over
/// them. `correct` maps an input to the marks of its correct keys (one per position; not asked for
/// the gaps). Inputs without the quantity (a single key, no incorrect key) are left out; nothing
/// where all are. Guarantee: that of S; in intervals the value encloses the extremum and the input
/// is a candidate for it, and strict_gap is refused (Error(unsupported)): equality of intervals is
/// not decidable. Cost: one row of logits per input. Errors as logits. Source: theory of readings,
/// P1 Definition 3.1 (max) and Lemma F.1 (min).
template <class S, class Correct>
[[nodiscard]] std::optional<Extreme<S>> over_inputs(const Head<S>& head,
                                                    const std::vector<Sequence>& inputs,
                                                    Quantity quantity, Reading reading,
                                                    Correct&& correct) {
  std::size_t longest = 0;
  for (const Sequence& input : inputs) longest = std::max(longest, input.size());
  const auto table = rotations<S>(head.frequencies, longest);
  const auto of = [&](const Sequence& input) -> std::optional<S> {
    const std::vector<S> row = logits(head, input, input.size() - 1, table);
    const std::span<const S> view(row);
    switch (quantity) {
      case Quantity::gap: return theory::gap(view);
      case Quantity::strict_gap:
        if constexpr (theory::is_interval<S>)
          throw Error(ErrorCode::unsupported, "the strict gap needs an exactly comparable scalar");
        else
          return theory::strict_gap(view);
      case Quantity::margin: return theory::margin(view, correct(input));
      case Quantity::loose_margin: return theory::loose_margin(view, correct(input));
    }
    return std::nullopt;
  };
  const auto better = [&](const S& x, const S& y) {  // for the choice of the input only
    if constexpr (theory::is_interval<S>) {
      const auto a = theory::enclosure(x).middle();
      const auto b = theory::enclosure(y).middle();
      return reading == Reading::max ? b < a : a < b;
    } else {
      return reading == Reading::max ? y < x : x < y;
    }
  };
  std::optional<Extreme<S>> best;
  for (const Sequence& input : inputs) {
    if (input.empty()) continue;
    const auto value = of(input);
    if (!value) continue;
    if (!best) {
      best = Extreme<S>{*value, input};
      continue;
    }
    if (better(*value, best->value)) best->input = input;
    best->value = reading == Reading::max ? theory::detail::larger(best->value, *value)
                                          : theory::detail::smaller(best->value, *value);
  }
  return best;
}

}  // namespace ropewalk::constructions
