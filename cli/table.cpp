#include "cli/table.hpp"

#include <iostream>

#include "cli/json_file.hpp"
#include "cli/output.hpp"
#include "theory/config.hpp"

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

std::vector<Formula> frequencies(const TableArguments& arguments, const Integer& reach) {
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
    const theory::ResolvedRope rope = theory::resolve(read_json(arguments.config), options);
    for (const std::string& w : rope.warnings) std::cerr << "warning: " << w << '\n';
    if (rope.sliding_window && reach >= *rope.sliding_window)
      std::cerr << "warning: reach " << reach
                << " is beyond sliding_window = " << *rope.sliding_window
                << ": heads of this layer see lags 0.." << Integer(*rope.sliding_window - 1)
                << " only\n";
    return rope.schedule.frequencies;
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
  return result;
}

}  // namespace ropewalk::cli
