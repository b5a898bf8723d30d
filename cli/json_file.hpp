#pragma once
/// \file
/// Files to text and text to JSON, with the limits that unfriendly input asks for.

#include <nlohmann/json.hpp>
#include <string>

namespace ropewalk::cli {

inline constexpr std::size_t largest_file = std::size_t{64} << 20;
inline constexpr int deepest_json = 64;

/// The bytes of a file. Throws Error(file) where it cannot be read, Error(too_large) beyond 64 MiB.
[[nodiscard]] std::string read_file(const std::string& path);

/// Parses text; `name` stands for it in messages. Throws Error(parse) with a byte offset for text
/// that is empty, not JSON or not UTF-8, for a number beyond double, a key that an object has twice
/// and nesting beyond 64 levels.
[[nodiscard]] nlohmann::json parse_json(const std::string& text, const std::string& name);

/// parse_json(read_file(path), path).
[[nodiscard]] nlohmann::json read_json(const std::string& path);

}  // namespace ropewalk::cli
