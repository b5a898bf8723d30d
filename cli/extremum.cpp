// ropewalk extremum

#include <fmt/format.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <mutex>

#include "cli/commands.hpp"
#include "cli/json_file.hpp"
#include "cli/output.hpp"
#include "cli/table.hpp"
#include "proofs_numeric/extremum.hpp"

namespace ropewalk::cli {

using namespace proofs_numeric;
using theory::Formula;
using theory::Integer;
using theory::Lag;
using theory::Rational;
using theory::TrigSum;

namespace {

struct Arguments {
  Common common;
  std::string spec;
  TableArguments table;
  std::string amplitudes;
  std::string reach;
  std::string extrema;
  std::string certificate;
  bool records = false;
};

// A number, or a formula as text.
Formula formula(const nlohmann::json& value, const std::string& path) {
  if (value.is_string()) return parse_angle(path, value.get<std::string>());
  if (!value.is_number())
    throw Error(ErrorCode::bad_value, path + ": a number or a formula is wanted");
  return parse_angle(path, value.dump());
}
Rational rational(const nlohmann::json& value, const std::string& path) {
  const auto r = formula(value, path).rational();
  if (!r) throw Error(ErrorCode::bad_value, path + ": a rational number is wanted");
  return *r;
}

// {"offset": c, "terms": [{"amplitude", "frequency", "phase"}], "excluded": [...]}
TrigSum read_sum(const nlohmann::json& spec, LagRange& range) {
  if (!spec.is_object()) throw Error(ErrorCode::bad_value, "a sum is a JSON object");
  TrigSum sum;
  for (const auto& [key, value] : spec.items()) {
    if (key == "offset") {
      sum.offset = rational(value, "offset");
    } else if (key == "excluded") {
      if (!value.is_array())
        throw Error(ErrorCode::bad_value, "excluded: a list of lags is wanted");
      for (const auto& lag : value) {
        const Rational t = rational(lag, "excluded");
        if (denominator(t) != 1)
          throw Error(ErrorCode::bad_value, "excluded: lags are whole numbers");
        range.excluded.push_back(numerator(t));
      }
    } else if (key == "terms") {
      if (!value.is_array()) throw Error(ErrorCode::bad_value, "terms: a list is wanted");
      for (std::size_t i = 0; i < value.size(); ++i) {
        const std::string path = "terms[" + std::to_string(i) + "]";
        if (!value[i].is_object())
          throw Error(ErrorCode::bad_value, path + ": an object is wanted");
        theory::TrigTerm term;
        bool complete[2] = {};
        for (const auto& [name, number] : value[i].items()) {
          if (name == "amplitude") {
            term.amplitude = rational(number, path + ".amplitude");
            complete[0] = true;
          } else if (name == "frequency") {
            term.frequency = formula(number, path + ".frequency");
            complete[1] = true;
          } else if (name == "phase") {
            term.phase = formula(number, path + ".phase");
          } else {
            throw Error(ErrorCode::bad_value, path + "." + name + ": unknown key");
          }
        }
        if (!complete[0] || !complete[1])
          throw Error(ErrorCode::bad_value, path + ": amplitude and frequency are needed");
        sum.terms.push_back(std::move(term));
      }
    } else {
      throw Error(ErrorCode::bad_value,
                  key + ": unknown key (offset, terms and excluded are known)");
    }
  }
  if (sum.terms.empty()) throw Error(ErrorCode::bad_value, "terms: the table is empty");
  return sum;
}

std::vector<Rational> read_amplitudes(const std::string& file, std::size_t planes) {
  if (file.empty() || file == "uniform") return std::vector<Rational>(planes, Rational(1, planes));
  const nlohmann::json list = read_json(file);
  if (!list.is_array() || list.size() != planes)
    throw Error(ErrorCode::bad_value, "--amplitudes: " + file + ": a list of " +
                                          std::to_string(planes) + " numbers is wanted");
  std::vector<Rational> result;
  Rational sum = 0;
  for (std::size_t f = 0; f < planes; ++f) {
    const Rational a =
        rational(list[f], "--amplitudes: " + file + ": entry " + std::to_string(f + 1));
    if (a < 0)
      throw Error(ErrorCode::bad_value,
                  "--amplitudes: " + file + ": entry " + std::to_string(f + 1) + " is negative");
    sum += a;
    result.push_back(a);
  }
  if (sum == 0)
    throw Error(ErrorCode::bad_value, "--amplitudes: " + file + ": the amplitudes sum to 0");
  return result;
}

Json list(const Extremum& e) {
  Json lags = Json::array();
  for (const Lag& t : e.lags) lags.push_back(t.str());
  return lags;
}

void print_row(const char* label, const Extremum& e) {
  std::string lags;
  for (std::size_t i = 0; i < e.lags.size() && i < 8; ++i)
    lags += (i == 0 ? "" : ", ") + e.lags[i].str();
  if (e.lags.size() > 8 || !e.lags_complete) lags += ", ...";
  std::cout << fmt::format("{:<9} {}  at {} {}\n", label, text(e.value, 16),
                           e.lags.size() > 1 ? "lags" : "lag", lags);
}

int run(const Arguments& args, const std::string& command) {
  const tbb::global_control limit = thread_limit(args.common);
  const bool has_table = names_table(args.table);
  if (has_table == !args.spec.empty())
    throw Error(ErrorCode::usage,
                "name one sum: SPEC.json, or --schedule CONFIG, or --base B --planes D");
  if (!has_table && !args.amplitudes.empty())
    throw Error(ErrorCode::usage, "--amplitudes goes with a table; SPEC.json has its own");
  LagRange range{1, parse_integer("--reach", args.reach), {}};
  if (range.last < 1)
    throw Error(ErrorCode::bad_value, "--reach must be at least 1, not " + range.last.str());
  TrigSum sum;
  std::string table;
  std::vector<std::string> warnings;
  if (has_table) {
    const Table read = read_table(args.table);
    const std::vector<Formula>& planes = read.frequencies;
    table = read.words;
    warnings = read.warnings;
    if (read.rope)
      if (const auto beyond = beyond_limit(*read.rope, range.last)) warnings.push_back(*beyond);
    sum = theory::aligned_loss(read_amplitudes(args.amplitudes, planes.size()), planes);
  } else {
    try {
      sum = read_sum(read_json(args.spec), range);
    } catch (const Error& e) {
      const std::string message = e.what();
      throw Error(e.code(), message.starts_with(args.spec) ? message : args.spec + ": " + message);
    }
    table = fmt::format("{}: {} term{}", file_name(args.spec), sum.terms.size(),
                        sum.terms.size() == 1 ? "" : "s");
  }
  const std::string extrema = !args.extrema.empty() ? args.extrema : has_table ? "min" : "both";

  check_certificate(args.certificate);
  tell(warnings, args.common);
  ExtremumOptions options;
  options.records = args.records;
  if (draws_progress())
    options.progress = [last = -1](double share) mutable {
      const int percent = static_cast<int>(100 * share);
      if (percent != last) std::cerr << fmt::format("\r{:>3} %", last = percent) << std::flush;
    };
  const auto start = std::chrono::steady_clock::now();
  std::optional<ExtremumReport> low;
  std::optional<ExtremumReport> high;
  if (extrema != "max") low = minimum(sum, range, options);
  if (extrema != "min") high = maximum(sum, range, options);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (options.progress) std::cerr << "\r      \r";
  const ExtremumReport& first = low ? *low : *high;
  const auto nodes = (low ? low->nodes : 0) + (high ? high->nodes : 0);

  std::vector<Fact> facts;
  const bool asked = !args.certificate.empty();
  if (asked && low) facts.push_back(extremum_fact(Which::minimum, sum, range, *low));
  if (asked && high) facts.push_back(extremum_fact(Which::maximum, sum, range, *high));
  write_certificate(
      args.certificate, command, Verdict::proved, facts,
      {{"table", table},
       {"reach", range.last.str()},
       {"statement", fmt::format("The {} of the sum over the lags {}..{}, and the lags that "
                                 "attain it.",
                                 low && high ? "minimum and the maximum"
                                 : low       ? "minimum"
                                             : "maximum",
                                 range.first.str(), range.last.str())}});

  if (args.common.json) {
    Json out;
    out["min"] = low ? json(low->extremum.value) : Json(nullptr);
    out["argmin"] = low ? list(low->extremum) : Json(nullptr);
    out["max"] = high ? json(high->extremum.value) : Json(nullptr);
    out["argmax"] = high ? list(high->extremum) : Json(nullptr);
    out["method"] = name(first.method);
    out["reason"] = first.reason;
    out["nodes"] = nodes;
    out["seconds"] = seconds;
    out["complete"] =
        (!low || low->extremum.lags_complete) && (!high || high->extremum.lags_complete);
    out["records"] = Json::array();
    for (const Record& r : first.records)
      out["records"].push_back({{"lag", r.lag.str()}, {"value", json(r.value)}});
    out["warnings"] = warnings;
    std::cout << out.dump(2) << '\n';
    return as_expected;
  }
  std::cout << fmt::format("{} term{}, lags 1..{}\n", sum.terms.size(),
                           sum.terms.size() == 1 ? "" : "s", args.reach);
  if (low) print_row("minimum", low->extremum);
  if (high) print_row("maximum", high->extremum);
  std::cout << fmt::format("{:<9} {}: {}\n", "method", name(first.method), first.reason);
  if (args.records) {
    std::cout << fmt::format("records of the {} ({}):\n", low ? "minimum" : "maximum",
                             first.records.size());
    for (const Record& r : first.records)
      std::cout << fmt::format("  {:>20}  {}\n", r.lag.str(), text(r.value, 12));
  }
  return as_expected;
}

}  // namespace

void add_extremum(CLI::App& root, int& exit_code) {
  const auto args = std::make_shared<Arguments>();
  CLI::App& app = *root.add_subcommand(
      "extremum", "The proven minimum and maximum of a trigonometric sum over integers");
  app.add_option("spec", args->spec,
                 "A sum as JSON: {\"offset\": c, \"terms\": [{\"amplitude\": a, \"frequency\": "
                 "theta, \"phase\": "
                 "phi}, ...], \"excluded\": [lags]}; numbers, or formulas as text; radians")
      ->type_name("SPEC.json");
  add_table(app, args->table);
  app.add_option("--amplitudes", args->amplitudes,
                 "With a table: uniform, that is 1/D for each of D planes (the default), or a JSON "
                 "list of one "
                 "amplitude >= 0 per plane, used as given")
      ->type_name("FILE");
  app.add_option(
         "--reach", args->reach,
         "Reach: relative lags 1..T, for an input of length T+1; T up to 1e18, any size where one "
         "plane moves")
      ->required()
      ->type_name("T");
  app.add_option("--extrema", args->extrema,
                 "Which to find (default: min for a table, both for SPEC.json)")
      ->check(CLI::IsMember({"min", "max", "both"}));
  app.add_flag(
      "--records", args->records,
      "Also list every lag that sets a new record (of the minimum, unless only max is asked)");
  add_certificate(app, args->certificate);
  add_common(app, args->common);
  app.footer(
      "With a table the sum is the loss of an aligned Index head at relative lag t: the sum over "
      "planes of\n"
      "a_f (1 - cos(theta_f t)). Its minimum over t = 1..T is the margin of that head (R3). With "
      "SPEC.json it is\n"
      "the sum as given, c + sum of a cos(theta t + phi). Every lag that attains the extremum is "
      "listed.\n"
      "The method is chosen by a planner that says why: continued fractions, a lattice, branch and "
      "bound, or a\n"
      "scan.\n"
      "With --json \"warnings\" lists what is otherwise printed to standard error.\n"
      "\n"
      "Exit status: 0; 2 for bad input; 3 if interrupted or undecided.\n"
      "\n"
      "Examples:\n"
      "  ropewalk extremum --base 5e5 --planes 64 --reach 1e12\n"
      "  ropewalk extremum --schedule examples/configs/llama-3.1-8b.json --reach 131072 --records "
      "--json");
  app.callback([args, &app, &exit_code] { exit_code = run(*args, question(app)); });
}

}  // namespace ropewalk::cli
