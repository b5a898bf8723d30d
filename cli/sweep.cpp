// ropewalk sweep

#include "sweeps/ranks.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "cli/json_file.hpp"
#include "cli/output.hpp"

namespace ropewalk::cli {

using namespace sweeps;

namespace {

struct Arguments {
  Common common;
  std::string spec;
  std::string store;
  bool dry_run = false;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string clock_text(double seconds) {
  const auto s = std::llround(std::min(seconds, 1e9));
  return s < 3600 ? fmt::format("{}:{:02}", s / 60, s % 60)
                  : fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

// What one thread does of the operations that jobs are estimated in.
constexpr double operations_per_second = 1e9;

std::string default_store(const std::string& spec) {
  return std::filesystem::path(spec).stem().string() + ".sqlite";
}

void draw(const Progress& p, double seconds) {
  constexpr int width = 24;
  const int full = static_cast<int>(p.share * width);
  const double rate = seconds > 0 ? static_cast<double>(p.cells_done) / seconds : 0;
  const std::string left =
      p.share > 0 ? ", " + clock_text(seconds * (1 - p.share) / p.share) + " left" : "";
  std::cerr << fmt::format("\r[{:<{}}] {:3.0f} %  {}/{} cells, {:.3g}/s{}   ",
                           std::string(static_cast<std::size_t>(full), '#'), width, 100 * p.share,
                           p.cells_done, p.cells, rate, left)
            << std::flush;
}

struct Counts {
  std::size_t certified = 0;
  std::size_t proven = 0;
  std::size_t undecided = 0;
  std::size_t none = 0;
  std::size_t missing = 0;
};

Counts count(const Store& store, const std::string& sweep) {
  Counts counts;
  store.rows(sweep, [&](const Row& row) {
    ++(row.status == "certified"   ? counts.certified
       : row.status == "proven"    ? counts.proven
       : row.status == "undecided" ? counts.undecided
       : row.status == "none"      ? counts.none
                                   : counts.missing);
  });
  return counts;
}

int run(const Arguments& args, const std::string& command) {
  const tbb::global_control limit = thread_limit(args.common);
  const Ranks ranks;
  const Spec spec = parse_spec(read_file(args.spec), args.spec, read_json);
  const Plan plan = plan_of(spec);
  const std::string path = args.store.empty() ? default_store(args.spec) : args.store;

  if (args.dry_run && ranks.rank() != 0) return as_expected;
  if (args.dry_run) {
    std::vector<bool> missing(plan.cells.size(), true);
    if (std::filesystem::exists(path)) missing = Store(path, Store::Access::read).missing(plan);
    const std::vector<Job> jobs = jobs_of(spec, plan, missing);
    double operations = 0;
    for (const Job& job : jobs) operations += job.operations;
    const double seconds = operations / operations_per_second /
                           static_cast<double>(tbb::global_control::active_value(
                               tbb::global_control::max_allowed_parallelism));
    const auto open = static_cast<std::size_t>(std::count(missing.begin(), missing.end(), true));
    if (args.common.json) {
      const Json out{{"rows", plan.entries.size()}, {"tables", plan.tables.size()},
                     {"cells", plan.cells.size()},  {"missing", open},
                     {"jobs", jobs.size()},         {"estimated_seconds", seconds}};
      std::cout << out.dump(2) << '\n';
    } else {
      std::cout << fmt::format(
          "{} rows: {} distinct tables, {} distinct cells, {} of them missing in {}\n"
          "{} jobs, about {} by estimate\n",
          plan.entries.size(), plan.tables.size(), plan.cells.size(), open, path, jobs.size(),
          clock_text(seconds));
    }
    return as_expected;
  }

  if (ranks.rank() != 0) {
    ranks.run(spec, plan, {}, nullptr, {});
    return as_expected;
  }
  Store store(path, Store::Access::create);
  store.ask(spec, plan, command);
  std::size_t computed = 0;
  const auto start = std::chrono::steady_clock::now();
  RunOptions options;
  const bool draws = draws_progress();
  double drawn = -1;
  options.progress = [&](const Progress& p) {
    computed = p.cells_done;
    const double now = seconds_since(start);
    if (!draws || (now - drawn < 0.1 && p.jobs_done < p.jobs)) return;
    draw(p, drawn = now);
  };
  ranks.run(spec, plan, store.missing(plan), &store, options);
  const double seconds = seconds_since(start);
  if (draws && drawn >= 0) std::cerr << '\n';

  const Counts counts = count(store, spec.name);
  if (args.common.json) {
    const Json out{{"store", path},
                   {"rows", plan.entries.size()},
                   {"cells", plan.cells.size()},
                   {"computed", computed},
                   {"certified", counts.certified},
                   {"proven", counts.proven},
                   {"undecided", counts.undecided},
                   {"none", counts.none},
                   {"missing", counts.missing},
                   {"seconds", seconds}};
    std::cout << out.dump(2) << '\n';
  } else {
    std::cout << fmt::format(
        "{}: {} rows, {} certified, {} proven, {} undecided, {} without an answer{}\n"
        "{} of {} cells computed in {:.2f} s, the others were there\n",
        path, plan.entries.size(), counts.certified, counts.proven, counts.undecided, counts.none,
        counts.missing > 0 ? fmt::format(", {} missing", counts.missing) : "", computed,
        plan.cells.size(), seconds);
  }
  return as_expected;
}

}  // namespace

void add_sweep(CLI::App& root, int& exit_code) {
  const auto args = std::make_shared<Arguments>();
  CLI::App& app = *root.add_subcommand("sweep", "Many tables, lengths and quantities, in a store");
  app.add_option("spec", args->spec, "What to ask (docs/sweeps.md)")
      ->required()
      ->type_name("SPEC.toml");
  app.add_option("--store", args->store,
                 "Where answers are kept (default: the spec's name with .sqlite, in this folder)")
      ->type_name("FILE");
  app.add_flag("--dry-run", args->dry_run, "Say how many cells there are and how long it may take");
  add_common(app, args->common);
  app.footer(
      "Computes what the store does not have yet. Certificates lie in FILE.certificates/, for\n"
      "ropewalk-check. Ctrl-C, or worse, loses what is being computed and nothing else: the same\n"
      "command goes on where it stopped.\n"
      "\n"
      "Exit status: 0; 2 for a spec that is wrong (its line and column are named); 3 if "
      "interrupted;\n"
      "4 if the store cannot be used.\n"
      "\n"
      "Examples:\n"
      "  ropewalk sweep sweeps/specs/figure-5a.toml --dry-run\n"
      "  ropewalk sweep sweeps/specs/figure-5a.toml --store /tmp/figure-5a.sqlite");
  app.callback([args, &app, &exit_code] { exit_code = run(*args, question(app)); });
}

}  // namespace ropewalk::cli
