#pragma once
/// \file
/// Files of token ids.
///
///   .safetensors   a tensor `tokens` of whole numbers, one input or one input per row
///   .json .jsonl   an array of ids, an array of such arrays, or lines of either; an object's
///                  "tokens" where the line is an object, as `ropewalk task` writes it
///   other          ids as text, separated by blanks or commas, one input per line

#include "checkpoints/forward.hpp"

namespace ropewalk::checkpoints {

/// All inputs of the file; none of them is empty. Throws Error(file) where it cannot be read,
/// Error(parse) naming file and line for what is no id, Error(too_large) beyond 2^28 ids.
[[nodiscard]] std::vector<Tokens> read_token_file(const std::string& path);

}  // namespace ropewalk::checkpoints
