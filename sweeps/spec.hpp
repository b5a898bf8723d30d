#pragma once
/// \file
/// What a sweep asks: a TOML file of tables, lengths and quantities (docs/sweeps.md).
///
///   title = "Bases"
///   lengths = { from = 1024, to = 1048576, factor = 2 }
///
///   [[schedule]]
///   base = { from = 1e4, to = 1e8, count = 9 }
///   planes = 64
///
///   [[quantity]]
///   kind = "index-margin"
///   amplitudes = ["uniform", "best"]
///
/// A list where one value is expected means each of them, and several lists every combination.
/// Errors name file, line and column, and unknown keys are errors.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sweeps/quantity.hpp"

namespace ropewalk::sweeps {

/// A kind of quantity with all its parameters, at these lengths, of these tables.
struct Ask {
  const Kind* kind;
  Parameters parameters;
  std::vector<Lag> lengths;           ///< increasing
  std::vector<std::string> sections;  ///< names of [[schedule]]s; none: all tables

  [[nodiscard]] bool concerns(const NamedTable& table) const;
};

struct Spec {
  std::string name;  ///< of the file, without its folder
  std::string title;
  std::string text;  ///< the file as read
  std::vector<NamedTable> tables;
  std::vector<Ask> asks;
};

/// The most cells that a sweep may have, and the most tables.
inline constexpr std::size_t most_cells = 10'000'000;
inline constexpr std::size_t most_tables = 100'000;

/// Reads a spec. `path` names the file in messages and is where relative paths of configs start;
/// `read_config` reads a config.json. Throws Error(parse) for text that is no TOML,
/// Error(bad_value), Error(usage), Error(too_large) for what it says, each "path:line:column: ...",
/// and what `read_config` and theory::resolve throw.
[[nodiscard]] Spec parse_spec(const std::string& text, const std::string& path,
                              const std::function<nlohmann::json(const std::string&)>& read_config);

}  // namespace ropewalk::sweeps
