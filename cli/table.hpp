#pragma once
/// \file
/// The rotary table that a command asks about: a model's config.json, or a plain base and number of
/// planes.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "theory/formula.hpp"

namespace ropewalk::cli {

struct TableArguments {
  std::string config;
  std::string layer;
  std::string length;  ///< for tables that depend on it
  std::string base;
  std::string planes;
};

/// Adds --schedule, --layer, --length, --base and --planes.
void add_table(CLI::App& app, TableArguments& arguments);

/// True if any of them was given.
[[nodiscard]] bool names_table(const TableArguments& arguments);

/// The frequencies in radians per token, plane by plane. Warnings of the resolver go to stderr, and
/// one where a sliding window is shorter than the lags 1..reach that are asked about. Errors name
/// the flag: Error(usage) unless exactly one of --schedule and --base with --planes is given,
/// Error(bad_value) for a base
/// <= 1 or planes outside 1..4096, and those of read_json and resolve.
[[nodiscard]] std::vector<theory::Formula> frequencies(const TableArguments& arguments,
                                                       const theory::Integer& reach);

}  // namespace ropewalk::cli
