#include "cli/table.hpp"

#include <iostream>

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
                 "With --schedule: length of the sequence, for tables that depend on it")
      ->type_name("L");
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
    if (!arguments.length.empty()) {
      options.length = parse_integer("--length", arguments.length);
      if (*options.length < 1)
        throw Error(ErrorCode::bad_value,
                    "--length must be at least 1, not " + options.length->str());
    }
    if (!arguments.layer.empty()) {
      const Integer layer = parse_integer("--layer", arguments.layer);
      if (layer < 0 || layer > 100000)
        throw Error(ErrorCode::bad_value, "--layer must lie in 0..100000, not " + layer.str());
      options.layer = static_cast<unsigned>(layer);
    }
    theory::ResolvedRope rope = theory::resolve(read_json(arguments.config), options);
    for (const std::string& w : rope.warnings) std::cerr << "warning: " << w << '\n';
    return {rope.schedule.frequencies, std::move(rope), std::nullopt};
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
  return {std::move(result), std::nullopt, theory::Plain{*base, 2 * static_cast<unsigned>(planes)}};
}

std::vector<Formula> frequencies(const TableArguments& arguments, const Integer& reach) {
  Table table = read_table(arguments);
  if (table.rope && table.rope->sliding_window && reach >= *table.rope->sliding_window)
    std::cerr << "warning: reach " << reach
              << " is beyond sliding_window = " << *table.rope->sliding_window
              << ": heads of this layer see lags 0.." << Integer(*table.rope->sliding_window - 1)
              << " only\n";
  return std::move(table.frequencies);
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
