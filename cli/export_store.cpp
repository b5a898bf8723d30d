// ropewalk export-store

#include <iostream>
#include <memory>
#include <sstream>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "sweeps/export.hpp"

namespace ropewalk::cli {

using namespace sweeps;

namespace {

struct Arguments {
  std::string store;
  std::string format = "csv";
  std::string sweep;
  std::string out;
};

void run(const Arguments& args) {
  const Store store(args.store, Store::Access::read);
  if (!args.sweep.empty()) {
    std::string names;
    for (const SweepRecord& s : store.sweeps()) names += (names.empty() ? "" : ", ") + s.name;
    if ((", " + names + ", ").find(", " + args.sweep + ", ") == std::string::npos)
      throw Error(ErrorCode::bad_value,
                  "--sweep: the store has no '" + args.sweep + "'; it has " + names);
  }
  if (args.format == "npz") {
    if (args.out.empty()) throw Error(ErrorCode::usage, "--format npz needs --out FILE");
    write_file(args.out, export_npz(store, args.sweep));
    return;
  }
  const auto write = [&](std::ostream& out) {
    if (args.format == "csv")
      export_csv(store, args.sweep, out);
    else
      export_jsonl(store, args.sweep, out);
  };
  if (args.out.empty()) return write(std::cout);
  std::ostringstream text;
  write(text);
  write_file(args.out, text.str());
}

}  // namespace

void add_export_store(CLI::App& root, int& exit_code) {
  const auto args = std::make_shared<Arguments>();
  CLI::App& app =
      *root.add_subcommand("export-store", "The answers of a store as CSV, JSON lines or .npz");
  app.add_option("store", args->store, "A store that `ropewalk sweep` made")
      ->required()
      ->type_name("STORE");
  app.add_option("--format", args->format, "csv (default), jsonl or npz")
      ->check(CLI::IsMember({"csv", "jsonl", "npz"}))
      ->type_name("KIND");
  app.add_option("--sweep", args->sweep, "Only the rows of this spec (its file name)")
      ->type_name("NAME");
  app.add_option("--out", args->out, "Write here instead of to standard output")->type_name("FILE");
  app.footer(
      "One line per table, quantity and length that a spec asked for. lo and hi are decimals "
      "rounded\n"
      "outward; .npz has them as float64, rounded outward again.\n"
      "\n"
      "Examples:\n"
      "  ropewalk export-store /tmp/figure-5a.sqlite --format jsonl\n"
      "  ropewalk export-store /tmp/figure-5a.sqlite --format npz --out /tmp/figure-5a.npz");
  app.callback([args, &exit_code] {
    run(*args);
    exit_code = as_expected;
  });
}

}  // namespace ropewalk::cli
