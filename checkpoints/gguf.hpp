#pragma once
/// \file
/// GGUF metadata in the spelling of Hugging Face, for the architectures whose meaning is known.

#include <nlohmann/json.hpp>

#include "checkpoints/checkpoint.hpp"

namespace ropewalk::checkpoints {

/// The shortest decimal that reads as the same float32: 1e-5, where the double would be
/// 9.99999974738e-06. Infinities and NaN as text.
[[nodiscard]] nlohmann::json shortest(float x);

/// Fills config, config_source, pairing and findings of a checkpoint whose metadata and tensors are
/// there. An unknown architecture leaves config null and a finding "config.architecture"; keys of
/// the rotary embedding that nothing reads become a finding "config.unread".
/// Throws Error(bad_value) for a value of the wrong kind, naming the key.
void config_from_gguf(Checkpoint& checkpoint);

}  // namespace ropewalk::checkpoints
