// ropewalk-crosscheck: the command `ropewalk crosscheck`, a program of its own because Ceres, on
// Debian, brings parts of SuiteSparse that are under the GPL.

#include "checkpoints/crosscheck.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>

#include "cli/model_input.hpp"

namespace {

using namespace ropewalk;
using namespace ropewalk::cli;
using namespace ropewalk::checkpoints;

struct Arguments {
  Common common;
  std::string model;
  InputArguments inputs;
  std::string layer;
  std::string head;
};

// "1-4,7": planes counted from 1.
std::string ranges(std::vector<std::size_t> planes) {
  std::sort(planes.begin(), planes.end());
  std::string text;
  for (std::size_t i = 0; i < planes.size();) {
    std::size_t end = i + 1;
    while (end < planes.size() && planes[end] == planes[end - 1] + 1) ++end;
    text += text.empty() ? "" : ",";
    text += std::to_string(planes[i] + 1);
    if (end > i + 1) text += "-" + std::to_string(planes[end - 1] + 1);
    i = end;
  }
  return text;
}

// "the fastest planes (1-4 of 64)": fastest and slowest are quarters of the table.
std::string planes_in_words(const std::vector<std::size_t>& planes, std::size_t count) {
  if (planes.empty()) return "no planes";
  const auto [low, high] = std::minmax_element(planes.begin(), planes.end());
  const char* which = 4 * (*high + 1) <= count ? "the fastest planes ("
                      : 4 * *low >= 3 * count  ? "the slowest planes ("
                                               : "planes (";
  return fmt::format("{}{} of {})", which, ranges(planes), count);
}

Json list(const std::vector<std::size_t>& planes) {
  Json out = Json::array();
  for (const std::size_t f : planes) out.push_back(f + 1);
  return out;
}

Json written(const MarginRow& row) {
  Json out;
  out["length"] = row.length;
  out["queries"] = row.queries;
  out["right"] = row.right;
  out["least"] = number(row.least);
  out["mean"] = number(row.mean);
  out["efficiency"] = row.efficiency ? number(*row.efficiency) : Json(nullptr);
  out["universal_share"] = number(row.universal_share);
  out["reaches"] = Json::array();
  for (const ReachRow& r : row.reaches)
    out["reaches"].push_back(
        {{"reach", r.reach},
         {"queries", r.queries},
         {"mean", number(r.mean)},
         {"largest", number(r.largest)},
         {"best", json(r.best, 12)},
         {"bound", number(r.bound)},
         {"above", r.above},
         {"fitted", number(r.fitted)},
         {"fitted_efficiency",
          r.fitted_efficiency ? number(*r.fitted_efficiency) : Json(nullptr)}});
  return out;
}

Json written(const HeadCheck& c) {
  Json out;
  out["layer"] = c.layer;
  out["head"] = c.head;
  out["verdict"] = name(c.kind);
  out["content_dependent_keys"] = c.content_dependent_keys;
  out["hops"] = c.hops ? Json(*c.hops) : Json(nullptr);
  out["lag"] = c.lag ? Json(*c.lag) : Json(nullptr);
  out["target_mass"] = number(c.target_mass);
  out["queries"] = c.queries;
  Json planes = Json::array();
  for (const IndexPlane& p : c.index.planes)
    planes.push_back({{"query_share", number(p.query_share)},
                      {"key_share", number(p.key_share)},
                      {"amplitude", number(p.amplitude)},
                      {"phase", number(p.phase)},
                      {"carries", number(p.carries)}});
  out["index"] = {
      {"explained", number(c.index.explained)}, {"query_share", number(c.index.query_share)},
      {"key_share", number(c.index.key_share)}, {"peak", c.index.peak},
      {"carrying", list(carrying(c.index))},    {"planes", planes}};
  Json carries = Json::array();
  for (const double x : c.retrieval.carries) carries.push_back(number(x));
  out["retrieval"] = {
      {"explained", number(c.retrieval.explained)},
      {"symbols", c.retrieval.symbols},
      {"code_margin", c.retrieval.code_margin ? number(*c.retrieval.code_margin) : Json(nullptr)},
      {"carrying", list(carrying(c.retrieval.carries))},
      {"carries", carries}};
  out["still_share"] = number(c.still);
  out["margins"] = Json::array();
  for (const MarginRow& row : c.margins) out["margins"].push_back(written(row));
  return out;
}

std::string shown(std::optional<double> x) {
  return x && std::isfinite(*x) ? fmt::format("{:.3f}", *x) : "-";
}

void print(const HeadCheck& c) {
  std::string verdict;
  switch (c.kind) {
    case HeadKind::index:
      verdict = "Index head on " + planes_in_words(carrying(c.index), c.index.planes.size());
      break;
    case HeadKind::retrieval:
      verdict = "Retrieval head on " +
                planes_in_words(carrying(c.retrieval.carries), c.retrieval.carries.size());
      break;
    case HeadKind::neither: verdict = "neither an Index nor a Retrieval head"; break;
  }
  if (c.content_dependent_keys) verdict += ", content-dependent keys";
  std::cout << fmt::format("\nlayer {} head {}: {}\n", c.layer, c.head, verdict);
  std::cout << fmt::format("  target     {}, mean weight {:.3f}\n",
                           c.hops ? fmt::format("{} hop{} on", *c.hops, *c.hops == 1 ? "" : "s")
                                  : fmt::format("lag {}", c.lag.value_or(0)),
                           c.target_mass);
  std::cout << fmt::format(
      "  Index      explains {}; queries {:.3f} rho(theta)^-m v, keys {:.3f} one vector; S largest "
      "at {}\n",
      shown(c.index.explained), c.index.query_share, c.index.key_share,
      c.index.peak == 0 ? "the target" : fmt::format("{:+} of the target", c.index.peak));
  if (!c.margins.empty() && !c.margins.front().reaches.empty()) {
    const ReachRow& r = c.margins.front().reaches.back();
    std::cout << fmt::format("             margin of S {:.4g} at reach {}, of the best {}\n",
                             r.fitted, r.reach, shown(r.fitted_efficiency));
  }
  if (c.kind == HeadKind::index) {
    std::cout << "             plane  queries   keys  amplitude   phase  carries\n";
    for (const std::size_t f : carrying(c.index)) {
      const IndexPlane& p = c.index.planes[f];
      std::cout << fmt::format(
          "             {:>5}  {:>7.3f}  {:>5.3f}  {:>9.4g}  {:>6.3f}  {:>7.3f}\n", f + 1,
          p.query_share, p.key_share, p.amplitude, p.phase, p.carries);
    }
  }
  std::cout << fmt::format("  Retrieval  explains {}; {} symbol{}, codes apart by {}\n",
                           shown(c.retrieval.explained), c.retrieval.symbols,
                           c.retrieval.symbols == 1 ? "" : "s", shown(c.retrieval.code_margin));
  if (c.still != 0) std::cout << fmt::format("  planes that do not rotate carry {:.3f}\n", c.still);
  std::cout << "  length queries  right  least margin     mean     bound  efficiency  above\n";
  for (const MarginRow& row : c.margins) {
    double bound = 0;
    std::size_t above = 0;
    std::size_t bounded = 0;
    for (const ReachRow& r : row.reaches) {
      bound += r.bound * static_cast<double>(r.queries);
      bounded += r.queries;
      above += r.above;
    }
    std::cout << fmt::format(
        "  {:>6} {:>7} {:>6.3f}  {:>12.4g} {:>8.4g}  {:>8}  {:>10}  {:>5}\n", row.length,
        row.queries, static_cast<double>(row.right) / static_cast<double>(row.queries), row.least,
        row.mean, bounded > 0 ? fmt::format("{:.4g}", bound / static_cast<double>(bounded)) : "-",
        shown(row.efficiency), above);
  }
}

std::optional<std::size_t> chosen(std::string_view flag, const std::string& text,
                                  std::size_t count) {
  if (text.empty()) return std::nullopt;
  const theory::Integer value = parse_integer(flag, text);
  if (value < 0 || value >= count)
    throw Error(ErrorCode::bad_value,
                fmt::format("{} must lie in 0..{}, not {}", flag, count - 1, value.str()));
  return static_cast<std::size_t>(value);
}

// The inputs of each number in --added, and what they are in words.
std::vector<CheckInput> read(const InputArguments& arguments, const Model& model,
                             std::string& words) {
  std::vector<CheckInput> result;
  int group = 0;
  for (std::size_t from = 0; from <= arguments.added.size(); ++group) {
    InputArguments one = arguments;
    if (!one.task.empty() && one.count.empty()) one.count = "200";
    const std::size_t comma = std::min(arguments.added.find(',', from), arguments.added.size());
    one.added = arguments.added.substr(from, comma - from);
    if (!arguments.added.empty() && one.added.empty())
      throw Error(ErrorCode::bad_value, "--added: a number is missing in " + arguments.added);
    from = comma + 1;
    Inputs inputs = read_inputs(one, model);
    words = inputs.words;
    if (inputs.samples.empty()) {
      for (Tokens& tokens : inputs.tokens) result.push_back(check_input(std::move(tokens)));
    } else {
      const tasks::Task task(task_options(one.task, one.count, one.seed, 200));
      if (task.vocabulary() > model.vocabulary)
        throw Error(ErrorCode::bad_value,
                    fmt::format("{}: a vocabulary of {} does not hold the "
                                "task's {} tokens",
                                model.checkpoint->path, model.vocabulary, task.vocabulary()));
      for (tasks::Sample& sample : inputs.samples)
        result.push_back(check_input(task, std::move(sample)));
      for (std::size_t i = result.size() - inputs.tokens.size(); i < result.size(); ++i)
        result[i].group = group;
    }
  }
  return result;
}

int run(const Arguments& args) {
  const tbb::global_control limit = thread_limit(args.common);
  const Model model = open_model(args.model);
  CheckOptions options;
  options.layer = chosen("--layer", args.layer, model.layers.size());
  options.head = chosen("--attention-head", args.head, static_cast<std::size_t>(model.heads));
  std::string words;
  const std::vector<CheckInput> inputs = read(args.inputs, model, words);
  const auto start = std::chrono::steady_clock::now();
  if (draws_progress())
    options.progress = [](double share) {
      std::cerr << fmt::format("\r{:>3} %", static_cast<int>(100 * share)) << std::flush;
    };
  const std::vector<HeadCheck> checks = cross_check(model, inputs, options);
  if (options.progress) std::cerr << "\r     \r";
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (args.common.json) {
    Json out;
    out["model"] = args.model;
    out["inputs"] = inputs.size();
    out["heads"] = Json::array();
    for (const HeadCheck& check : checks) out["heads"].push_back(written(check));
    out["seconds"] = seconds;
    std::cout << out.dump(2) << '\n';
    return as_expected;
  }
  std::cout << fmt::format("{} input{} ({})\n", inputs.size(), inputs.size() == 1 ? "" : "s",
                           words);
  for (const HeadCheck& check : checks) print(check);
  return as_expected;
}

int complain(std::string message, int code, const char* advice = "") {
  for (char& c : message)
    if (c == '\n' || c == '\r') c = ' ';
  std::cerr << "ropewalk: " << message << advice << '\n';
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments args;
  CLI::App app{
      "Trained heads against the theory: which construction each is, and how far from the "
      "best",
      "ropewalk crosscheck"};
  app.set_version_flag("--version", std::string("ropewalk ") + ROPEWALK_VERSION);
  app.add_option("model", args.model, "Folder or file of a model")->required()->type_name("MODEL");
  add_inputs(app, args.inputs);
  app.get_option("--count")->description("With --task: how many inputs of each length (200)");
  app.get_option("--added")
      ->description("With --task: symbols before the window, a list (0)")
      ->type_name("K,K,...");
  app.add_option("--layer", args.layer, "This layer only, from 0")->type_name("K");
  app.add_option("--attention-head", args.head, "This head of each layer only, from 0")
      ->type_name("H");
  add_common(app, args.common);
  app.footer(
      "Both heads of the theory are fitted to every head, whatever the inputs were made for, on "
      "every "
      "second input;\n"
      "`explains` is the share of the logits' variance within queries that the fit accounts for on "
      "the others. A head\n"
      "is called Index where S(t - m) = sum of a cos(theta (t - m) + phase) explains half and is "
      "largest at the\n"
      "target, Retrieval where codes of symbols explain half and single out the match, what "
      "explains more if both.\n"
      "`queries` is how near the queries are to rho(theta)^-m v, `keys` how near the keys are to "
      "one "
      "vector: the mean's\n"
      "squared norm over the mean squared norm, 1 for exactly so. With --task the positions of the "
      "path ask, with\n"
      "--tokens and --text all, and the target is the number of hops or the lag of the largest "
      "mean "
      "weight.\n"
      "\n"
      "The margin is the logit on the target less the largest other one. `bound`: no head of equal "
      "keys with these norms\n"
      "has more, 1 <= m <= n - 2 (scale |q| |k| Delta*(T) of `ropewalk optimal`, T = min(m, n - 1 "
      "- "
      "m)); a head that has\n"
      "is said to have content-dependent keys. `efficiency` is mean margin over mean bound. Fits "
      "and "
      "margins are\n"
      "floating point; bounds are proven. docs/crosscheck.md has more.\n"
      "\n"
      "JSON: {\"model\", \"inputs\", \"heads\": [{\"layer\", \"head\", \"verdict\": Index, "
      "Retrieval or neither,\n"
      "\"content_dependent_keys\", \"hops\" or \"lag\" (the other null), \"target_mass\", "
      "\"queries\", \"index\":\n"
      "{\"explained\", \"query_share\", \"key_share\", \"peak\" (relative lag), \"carrying\" "
      "(planes "
      "with 0.9 of the fit's\n"
      "variance, from 1), \"planes\": [{\"query_share\", \"key_share\", \"amplitude\", \"phase\", "
      "\"carries\"}]},\n"
      "\"retrieval\": {\"explained\", \"symbols\", \"code_margin\" or null, \"carrying\", "
      "\"carries\": [by plane]},\n"
      "\"still_share\" (of planes that do not rotate), \"margins\" by --added: [{\"length\", "
      "\"queries\", \"right\",\n"
      "\"least\", \"mean\", \"efficiency\" or null, \"universal_share\" (largest margin / 2 scale "
      "|q| "
      "max |k|),\n"
      "\"reaches\": [{\"reach\", \"queries\", \"mean\", \"largest\", \"best\": {\"lo\", \"hi\"} of "
      "Delta*, \"bound\", \"above\",\n"
      "\"fitted\" (margin of S alone), \"fitted_efficiency\" or null}]}]}], \"seconds\"}; null for "
      "what is not a number.\n"
      "\n"
      "Exit status: 0; 2 for bad input; 3 if interrupted; 4 for a file that cannot be read.\n"
      "\n"
      "Examples:\n"
      "  ropewalk crosscheck models/p1-number --task number --layer 1\n"
      "  ropewalk crosscheck models/p1-letter --task letter --added 0,100 --json\n"
      "  ropewalk crosscheck models/tinystories-656k --text story.txt");
  const CLI::Validator not_empty(
      [](std::string& text) { return std::string(text.empty() ? "must not be empty" : ""); }, "");
  for (CLI::Option* option : app.get_options())
    if (option->get_expected_max() > 0) option->check(not_empty);
  const char* advice = "; see `ropewalk crosscheck --help`";
  try {
    app.parse(argc, argv);
    end_on_interrupt();
    const int code = run(args);
    std::cout.flush();
    return std::cout ? code : complain("standard output cannot be written", file_trouble);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    return complain(e.what(), bad_input, advice);
  } catch (const Error& e) {
    return complain(e.what(),
                    e.code() == ErrorCode::file        ? file_trouble
                    : e.code() == ErrorCode::undecided ? undecided
                                                       : bad_input,
                    e.code() == ErrorCode::usage ? advice : "");
  } catch (const std::exception& e) {
    return complain(e.what(), file_trouble);
  }
}
