#include "cli/table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/json_file.hpp"
#include "cli/output.hpp"

namespace ropewalk::cli {

using theory::Formula;
using theory::Integer;
using theory::Rational;

void add_table(CLI::App& app, TableArguments& arguments) {
  app.add_option("--schedule", arguments.config, "The rotary table of this config.json")
      ->type_name("CONFIG");
  app.add_option("--layer", arguments.layer, "With --schedule: layer, counted from 0")
      ->type_name("K");
  app.add_option("--length", arguments.length,
                 "With --schedule: length of the input in tokens, for tables that depend on it")
      ->type_name("N");
  app.add_option("--base", arguments.base, "The plain table of this base: theta_f = B^(-f/D)")
      ->type_name("B");
  app.add_option("--planes", arguments.planes, "With --base: number of planes D, 1..4096")
      ->type_name("D");
}

bool names_table(const TableArguments& arguments) {
  return !(arguments.config.empty() && arguments.base.empty() && arguments.planes.empty());
}

Table read_table(const TableArguments& arguments) {
  if (!arguments.config.empty()) {
    if (!arguments.base.empty() || !arguments.planes.empty())
      throw Error(ErrorCode::usage, "--schedule names the table: leave out --base and --planes");
    theory::ResolveOptions options;
    if (!arguments.length.empty()) options.length = parse_length(arguments.length);
    if (!arguments.layer.empty()) options.layer = parse_layer(arguments.layer);
    theory::ResolvedRope rope = theory::resolve(read_json(arguments.config), options);
    Table table{rope.schedule.frequencies, std::nullopt,
                file_name(arguments.config) + ": " + rope.schedule.description, rope.warnings,
                std::nullopt};
    table.rope = std::move(rope);
    return table;
  }
  if (!arguments.layer.empty() || !arguments.length.empty())
    throw Error(ErrorCode::usage, "--layer and --length go with --schedule");
  if (arguments.base.empty() || arguments.planes.empty())
    throw Error(ErrorCode::usage, "name a table: --schedule CONFIG, or --base B with --planes D");
  const auto base = parse_angle("--base", arguments.base).rational();
  if (!base || *base <= 1)
    throw Error(ErrorCode::bad_value, "--base must be a number above 1, not " + arguments.base);
  const Integer planes = parse_integer("--planes", arguments.planes);
  if (planes < 1 || planes > 4096)
    throw Error(ErrorCode::bad_value, "--planes must lie in 1..4096, not " + planes.str());
  std::vector<Formula> result;
  for (Integer f = 0; f < planes; ++f) result.push_back(pow(Formula(*base), Rational(-f, planes)));
  return {std::move(result),
          std::nullopt,
          fmt::format("base {}, {} plane{}", base->str(), planes.str(), planes == 1 ? "" : "s"),
          {},
          theory::Plain{*base, 2 * static_cast<unsigned>(planes)}};
}

std::optional<KeyLimit> key_limit(const theory::ResolvedRope& rope) {
  if (rope.attention_chunk &&
      (!rope.sliding_window || *rope.attention_chunk < *rope.sliding_window))
    return KeyLimit{*rope.attention_chunk, "attention_chunk_size"};
  if (rope.sliding_window) return KeyLimit{*rope.sliding_window, "sliding_window"};
  return std::nullopt;
}

std::optional<std::string> beyond_limit(const theory::ResolvedRope& rope, const Integer& reach) {
  const auto limit = key_limit(rope);
  if (!limit || reach < limit->keys) return std::nullopt;
  return fmt::format("reach {} is beyond {} = {}: heads of this layer see lags 0..{} only",
                     reach.str(), limit->key, limit->keys.str(), Integer(limit->keys - 1).str());
}

std::size_t standing(const std::vector<Formula>& frequencies) {
  return static_cast<std::size_t>(
      std::count_if(frequencies.begin(), frequencies.end(), [](const Formula& theta) {
        const auto turns = theta.turns();
        return turns && denominator(*turns) == 1;
      }));
}

void add_retrieval(CLI::App& app, RetrievalArguments& arguments) {
  app.add_option("--alphabet", arguments.alphabet,
                 "A Retrieval head over A letters instead of an Index head; A in 2..1000000")
      ->type_name("A");
  app.add_option("--head", arguments.head,
                 "With --alphabet: plain (default), centred (queries turned back by half the "
                 "length) or orthogonal (a plane per letter)")
      ->type_name("KIND");
}

std::optional<RetrievalKind> retrieval_kind(const RetrievalArguments& arguments) {
  using proofs_numeric::RetrievalCode;
  if (arguments.alphabet.empty()) {
    if (!arguments.head.empty()) throw Error(ErrorCode::usage, "--head goes with --alphabet");
    return std::nullopt;
  }
  RetrievalKind kind;
  kind.alphabet = parse_integer("--alphabet", arguments.alphabet);
  if (kind.alphabet < 2 || kind.alphabet > 1000000)
    throw Error(ErrorCode::bad_value,
                "--alphabet must lie in 2..1000000, not " + kind.alphabet.str());
  if (arguments.head == "centred")
    kind.code = RetrievalCode::centred;
  else if (arguments.head == "orthogonal")
    kind.code = RetrievalCode::orthogonal;
  else if (!arguments.head.empty() && arguments.head != "plain")
    throw Error(ErrorCode::bad_value,
                "--head must be plain, centred or orthogonal, not '" + arguments.head + "'");
  return kind;
}

}  // namespace ropewalk::cli
