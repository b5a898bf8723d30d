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

std::vector<double> carries_of(const IndexFit& fit) {
  std::vector<double> carries;
  for (const IndexPlane& plane : fit.planes) carries.push_back(plane.carries);
  return carries;
}

// "the fastest planes (1-4 of 64)": fastest and slowest are quarters of the table.
std::string planes_in_words(const std::vector<double>& carries) {
  const std::vector<std::size_t> planes = carrying(carries);
  if (planes.empty()) return "no planes";
  const auto [low, high] = std::minmax_element(planes.begin(), planes.end());
  const std::size_t count = carries.size();
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
  out["index"] = {{"explained", number(c.index.explained)},
                  {"query_share", number(c.index.query_share)},
                  {"key_share", number(c.index.key_share)},
                  {"peak", c.index.peak},
                  {"carrying", list(carrying(carries_of(c.index)))},
                  {"planes", planes}};
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
    case HeadKind::index: verdict = "Index head on " + planes_in_words(carries_of(c.index)); break;
    case HeadKind::retrieval:
      verdict = "Retrieval head on " + planes_in_words(c.retrieval.carries);
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
  std::cout << fmt::format("  Retrieval  explains {}; {} symbols, codes apart by {}\n",
                           shown(c.retrieval.explained), c.retrieval.symbols,
                           shown(c.retrieval.code_margin));
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
      const tasks::Task task(task_options(one.task, one.count, one.seed, 100));
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
  options.head = chosen("--head", args.head, static_cast<std::size_t>(model.heads));
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

int complain(const std::string& message, int code) {
  std::cerr << "ropewalk: " << message << '\n';
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
  app.get_option("--added")
      ->description("With --task: symbols before the window, a list (0)")
      ->type_name("K,K,...");
  app.add_option("--layer", args.layer, "This layer only, from 0")->type_name("K");
  app.add_option("--head", args.head, "This head of each layer only, from 0")->type_name("H");
  add_common(app, args.common);
  app.footer("");
  try {
    app.parse(argc, argv);
    end_on_interrupt();
    return run(args);
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
