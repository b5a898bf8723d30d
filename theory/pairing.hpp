#pragma once
/// \file
/// Which two coordinates of a head turn together: neighbours (2f, 2f + 1), or f and f + half.

namespace ropewalk::theory {

enum class Pairing { interleaved, half_split, unknown };
/// "interleaved", "half-split", "unknown".
[[nodiscard]] const char* name(Pairing layout);

}  // namespace ropewalk::theory
