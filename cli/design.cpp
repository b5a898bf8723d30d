// ropewalk-design: the command `ropewalk design`, a program of its own because Ceres, on Debian,
// brings parts of SuiteSparse that are under the GPL.

#include "sweeps/design.hpp"

#include <fmt/format.h>

#include <iostream>

#include "cli/output.hpp"
#include "sweeps/table.hpp"

namespace {

using namespace ropewalk;
using namespace ropewalk::cli;
using namespace ropewalk::sweeps;
using proofs_numeric::Verdict;
using theory::Integer;
using theory::Rational;

struct Arguments {
  Common common;
  std::string planes;
  std::string length;
  std::string objective = "index";
  std::string alphabet = "8";
  std::string weight = "1/2";
  std::vector<std::string> starts;
  std::string tries = "32";
  std::string seed = "0";
  std::string certificate;
};

const std::vector<std::pair<std::string, Start>> start_names{{"standard", Start::standard},
                                                             {"random", Start::random},
                                                             {"lacunary", Start::lacunary},
                                                             {"cyclic", Start::cyclic}};

std::string name_of(Start start) {
  for (const auto& [name, value] : start_names)
    if (value == start) return name;
  return {};
}

std::int64_t whole(std::string_view flag, const std::string& text, std::int64_t least,
                   std::int64_t most) {
  const Integer value = parse_integer(flag, text);
  if (value < least || value > most)
    throw Error(ErrorCode::bad_value,
                fmt::format("{} must lie in {}..{}, not {}", flag, least, most, value.str()));
  return static_cast<std::int64_t>(value);
}

DesignQuestion parse(const Arguments& args) {
  DesignQuestion q;
  q.planes = static_cast<unsigned>(whole("--planes", args.planes, 1, 64));
  q.length = whole("--length", args.length, 3, 4097);
  q.objective = args.objective == "index"       ? Objective::index
                : args.objective == "retrieval" ? Objective::retrieval
                                                : Objective::both;
  q.alphabet = static_cast<unsigned>(whole("--alphabet", args.alphabet, 2, 64));
  const auto weight = parse_angle("--weight", args.weight).rational();
  if (!weight || *weight <= 0 || *weight >= 1)
    throw Error(ErrorCode::bad_value,
                "--weight must lie strictly between 0 and 1, not " + args.weight);
  q.weight = *weight;
  q.tries = static_cast<unsigned>(whole("--tries", args.tries, 1, 1000));
  q.seed = static_cast<std::uint64_t>(whole("--seed", args.seed, 0, INT64_MAX));
  if (q.objective == Objective::index && args.alphabet != "8")
    throw Error(ErrorCode::usage, "--alphabet goes with --objective retrieval or both");
  if (q.objective != Objective::both && args.weight != "1/2")
    throw Error(ErrorCode::usage, "--weight goes with --objective both");
  if (!args.starts.empty()) q.starts.clear();
  for (const std::string& text : args.starts)
    for (const auto& [name, start] : start_names)
      if (name == text) q.starts.push_back(start);
  return q;
}

int run(const Arguments& args, const std::string& command) {
  const tbb::global_control limit = thread_limit(args.common);
  DesignQuestion asked = parse(args);
  check_certificate(args.certificate);
  if (draws_progress())
    asked.progress = [](double share) {
      std::cerr << fmt::format("\r{:3.0f} % ", 100 * share) << std::flush;
    };
  const Design found = design(asked);
  if (asked.progress) std::cerr << "\r      \r";

  Json angles = Json::array();
  Json amplitudes = Json::array();
  for (const auto& theta : found.frequencies) angles.push_back(shown(theta));
  for (const Rational& a : found.amplitudes) amplitudes.push_back(a.str());
  if (!args.certificate.empty())
    write_certificate(args.certificate, command, Verdict::proved, found.facts,
                      {{"statement", "What this table and these amplitudes attain at this length."},
                       {"angles", angles},
                       {"value", json(found.value)}});
  if (args.common.json) {
    Json out;
    out["objective"] = args.objective;
    out["planes"] = asked.planes;
    out["length"] = std::to_string(asked.length);
    out["value"] = json(found.value);
    out["index"] = json(found.index);
    out["retrieval"] = json(found.retrieval);
    out["angles"] = angles;
    out["amplitudes"] = amplitudes;
    out["standard"] = json(found.standard);
    out["bound"] = json(found.bound);
    out["start"] = name_of(found.start);
    std::cout << out.dump(2) << '\n';
    return as_expected;
  }
  std::cout << fmt::format("A table of {} plane{} for {} tokens, {}\n", asked.planes,
                           asked.planes == 1 ? "" : "s", asked.length, args.objective);
  const auto row = [](const std::string& name, const std::string& value) {
    std::cout << fmt::format("  {:<10} {}\n", name, value);
  };
  row("value", text(found.value, 12));
  if (args.objective == "both") {
    row("index", text(*found.index, 12));
    row("retrieval", text(*found.retrieval, 12));
  }
  row("standard", text(found.standard, 12) + "   the plain table of base 10000");
  row("bound", text(found.bound, 12) + "   no table of so many planes has more");
  row("start", name_of(found.start));
  std::cout << "\n    ID  amplitude       angle\n";
  for (std::size_t f = 0; f < found.frequencies.size(); ++f)
    std::cout << fmt::format("  {:>4}  {:<14}  {}\n", f + 1,
                             decimal(found.amplitudes[f], 10, theory::Round::nearest),
                             shown(found.frequencies[f]));
  return as_expected;
}

int complain(const std::string& message, int code) {
  std::cerr << "ropewalk: " << message << '\n';
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments args;
  CLI::App app{"Search a frequency table for a length, and prove what it attains",
               "ropewalk design"};
  app.set_version_flag("--version", std::string("ropewalk ") + ROPEWALK_VERSION);
  app.add_option("--planes", args.planes, "Number of planes D, 1..64")->required()->type_name("D");
  app.add_option("--length", args.length, "Tokens n, 3..4097: lags up to n - 1")
      ->required()
      ->type_name("N");
  app.add_option(
         "--objective", args.objective,
         "What to raise: the margin of the best Index head (index, the default), of the best "
         "Retrieval head (retrieval), or of one head the lesser of Index/w and Retrieval/(1 - w) "
         "(both)")
      ->check(CLI::IsMember({"index", "retrieval", "both"}));
  app.add_option("--alphabet", args.alphabet, "Letters A of retrieval and both, 2..64 (default: 8)")
      ->type_name("A");
  app.add_option("--weight", args.weight, "w of Index in both, in (0, 1) (default: 1/2)")
      ->type_name("W");
  app.add_option("--start", args.starts,
                 "Begin here only: standard, random, lacunary, cyclic (default: all)")
      ->check(CLI::IsMember({"standard", "random", "lacunary", "cyclic"}))
      ->type_name("KIND");
  app.add_option("--tries", args.tries, "Random and cyclic starts, each (default: 32)")
      ->type_name("K");
  app.add_option("--seed", args.seed, "Of the random and cyclic starts (default: 0)")
      ->type_name("S");
  add_certificate(app, args.certificate);
  add_common(app, args.common);
  app.footer(
      "The search is floating point and may miss the best table; what is printed of the table "
      "found is\n"
      "proven. The angles are a schedule: angles = [...] in the spec of a sweep.\n"
      "\n"
      "JSON: {\"objective\", \"planes\", \"length\", \"value\": {\"lo\", \"hi\"}, \"index\" and "
      "\"retrieval\": the margins of\n"
      "the head or null, \"angles\": [formula], \"amplitudes\": [rational], \"standard\", "
      "\"bound\", "
      "\"start\"}.\n"
      "\n"
      "Exit status: 0; 2 for bad input; 3 if interrupted; 4 if a file cannot be written.\n"
      "\n"
      "Examples:\n"
      "  ropewalk design --planes 1 --length 17\n"
      "  ropewalk design --planes 2 --length 65 --json\n"
      "  ropewalk design --planes 3 --length 33 --objective both --alphabet 4");
  try {
    app.parse(argc, argv);
    end_on_interrupt();
    return run(args, question(app));
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    return complain(e.what(), bad_input);
  } catch (const Error& e) {
    return complain(e.what(), e.code() == ErrorCode::file        ? file_trouble
                              : e.code() == ErrorCode::undecided ? undecided
                                                                 : bad_input);
  } catch (const std::exception& e) {
    return complain(e.what(), file_trouble);
  }
}
