#pragma once
/// \file
/// JSON of a stranger, in bounded memory: strict (no key twice in an object), shallow (64 levels),
/// counted, and member by member where the whole would be large.

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

namespace ropewalk::checkpoints {

/// Called with each member of the outermost object as it is complete. Neither member nor key is
/// kept: whether a key stands twice is for the caller to see.
using JsonMember = std::function<void(const std::string& key, const nlohmann::json& value)>;

/// Parses the bytes of a text, `name` in messages. No more than `max_values` values are in memory
/// at a time; with `member`, the result is an empty object and each member counts by itself. Throws
/// Error(parse) with a byte offset for what is not JSON, a key twice in one object and nesting
/// beyond 64 levels; Error(too_large) for too many values and for a string, number or blank longer
/// than 1 MiB.
[[nodiscard]] nlohmann::json parse_json(std::span<const std::byte> bytes, const std::string& name,
                                        std::size_t max_values, const JsonMember& member = {});

}  // namespace ropewalk::checkpoints
