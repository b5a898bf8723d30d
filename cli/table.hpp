#pragma once
/// \file
/// The rotary table that a command asks about: a model's config.json, or a plain base and number of
/// planes; and the kind of Retrieval head.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "proofs_numeric/best_retrieval.hpp"
#include "theory/config.hpp"

namespace ropewalk::cli {

struct TableArguments {
  std::string config;
  std::string layer;
  std::string length;  ///< of the input, for tables that depend on it
  std::string base;
  std::string planes;
};

/// Adds --schedule, --layer, --length, --base and --planes.
void add_table(CLI::App& app, TableArguments& arguments);

/// True if any of them was given.
[[nodiscard]] bool names_table(const TableArguments& arguments);

/// A table, and where it comes from: one of the two.
struct Table {
  std::vector<theory::Formula> frequencies;  ///< radians per token, plane by plane
  std::optional<theory::ResolvedRope> rope;
  std::string words;  ///< "base 500000, 64 planes", or the config's file name and formula
  std::vector<std::string> warnings;
  std::optional<theory::Plain> plain;  ///< base and dimension, where no config was named
};
/// Errors name the flag: Error(usage) unless exactly one of --schedule and --base with --planes is
/// given, Error(bad_value) for a base <= 1 or planes outside 1..4096, and those of read_json and
/// resolve.
[[nodiscard]] Table read_table(const TableArguments& arguments);

/// How many keys a query of these layers sees at most, and the key of the config that says so.
struct KeyLimit {
  theory::Integer keys;
  const char* key;
};
[[nodiscard]] std::optional<KeyLimit> key_limit(const theory::ResolvedRope& rope);
/// A warning where the lags 1..reach go beyond what the layers see.
[[nodiscard]] std::optional<std::string> beyond_limit(const theory::ResolvedRope& rope,
                                                      const theory::Integer& reach);

/// How many planes of the table turn by whole turns, or not at all: at every lag they are where
/// they were.
[[nodiscard]] std::size_t standing(const std::vector<theory::Formula>& frequencies);

/// --alphabet and --head, of commands that also speak of Retrieval heads.
struct RetrievalArguments {
  std::string alphabet;
  std::string head;
};
void add_retrieval(CLI::App& app, RetrievalArguments& arguments);

struct RetrievalKind {
  theory::Integer alphabet;
  proofs_numeric::RetrievalCode code = proofs_numeric::RetrievalCode::plain;
};
/// Nothing without --alphabet. Error(usage) for --head alone, Error(bad_value) for A outside
/// 2..1000000 or an unknown head.
[[nodiscard]] std::optional<RetrievalKind> retrieval_kind(const RetrievalArguments& arguments);

}  // namespace ropewalk::cli
