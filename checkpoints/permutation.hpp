#pragma once
/// \file
/// Feature orders of a head: where each layout keeps its planes.

#include <cstdint>
#include <vector>

#include "theory/pairing.hpp"

namespace ropewalk::checkpoints {

/// Row r of a head in the layout `to` is row order[r] of the same head in the layout `from`; rows
/// beyond the rotary part, 2 x planes, stay. Domain: layouts that are known, 2 x planes <= rows.
/// Exact.
[[nodiscard]] std::vector<std::int64_t> head_order(theory::Pairing from, theory::Pairing to,
                                                   std::int64_t planes, std::int64_t rows);

}  // namespace ropewalk::checkpoints
