#pragma once
/// \file
/// Tables that a file carries beside its weights, held against the one that its config means.
///
///   inv_freq                     frequencies, one per plane
///   cos, sin (and cached)        entries, positions x planes, or x 2 planes with each plane twice
///   rope_freqs.weight (GGUF)     divisors, one per plane: Llama 3.1's rule, already computed
///
/// A healthy table is one that a float32 program makes, whose powers may be off by two units in the
/// last place and whose angles may be rounded or not; what is not gets one finding that names the
/// cause where it is a known one: rounded to a narrow format, the plain table of another base,
/// scaled, positions that collapse.

#include "checkpoints/checkpoint.hpp"
#include "theory/config.hpp"

namespace ropewalk::checkpoints {

/// What a table is held against.
struct Expected {
  theory::Schedule schedule;
  unsigned rotary_dim = 0;
  std::optional<theory::Rational> base;
  theory::Pairing layout = theory::Pairing::unknown;
};

/// Findings for every recorded table among the tensors of `file`; `expected` says what the config
/// means by one, from its name and the layer in it (from 0), if one is.
/// Units: radians per token. Guarantee: Heuristic (double arithmetic; errors are those at the
/// positions of the table). Cost: two cosines or sines per entry. Ids: recorded.shape,
/// recorded.not_finite, recorded.rounded, recorded.base, recorded.scaled, recorded.differs,
/// recorded.scale, recorded.swapped, recorded.layout, recorded.collapse, recorded.factors.
using ExpectedOf =
    std::function<const Expected&(const std::string& name, std::optional<unsigned> layer)>;
[[nodiscard]] std::vector<Finding> check_recorded(const Checkpoint& file,
                                                  const ExpectedOf& expected);
/// The names of the tensors that check_recorded looks at.
[[nodiscard]] std::vector<std::string> recorded_tables(const Checkpoint& file);

}  // namespace ropewalk::checkpoints
