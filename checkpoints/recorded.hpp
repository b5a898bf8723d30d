#pragma once
/// \file
/// Tables that a file carries beside its weights, held against the one that its config means.
///
///   inv_freq                     frequencies, one per plane
///   cos, sin (and cached)        entries, positions x planes, or x 2 planes with each plane twice
///   rope_freqs.weight (GGUF)     divisors, one per plane: Llama 3.1's rule, already computed
///
/// A healthy table is the one that a float32 pipeline makes, to a few units in the last place; what
/// is not gets one finding that names the cause where it is a known one: rounded to a narrow
/// format, the plain table of another base, scaled, positions that collapse.

#include "checkpoints/checkpoint.hpp"
#include "theory/config.hpp"

namespace ropewalk::checkpoints {

/// What a table is held against.
struct Expected {
  theory::Schedule schedule;
  unsigned rotary_dim = 0;
  std::optional<theory::Rational> base;
};

/// Findings for every recorded table among the tensors of `file`, whose config means `expected`
/// (the layers' own tables, by layer from 0, where they differ: `by_layer`, else nothing).
/// Units: radians per token. Guarantee: Heuristic (double arithmetic; errors are those at the
/// positions of the table). Cost: one cosine and sine per entry. Ids: recorded.shape,
/// recorded.not_finite, recorded.rounded, recorded.base, recorded.scaled, recorded.differs,
/// recorded.scale, recorded.collapse, recorded.factors.
using ExpectedOf = std::function<const Expected&(std::optional<unsigned> layer)>;
[[nodiscard]] std::vector<Finding> check_recorded(const Checkpoint& file,
                                                  const ExpectedOf& expected);
/// The names of the tensors that check_recorded looks at.
[[nodiscard]] std::vector<std::string> recorded_tables(const Checkpoint& file);

}  // namespace ropewalk::checkpoints
