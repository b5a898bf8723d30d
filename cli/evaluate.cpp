// ropewalk evaluate

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>

#include "checkpoints/constructed.hpp"
#include "checkpoints/evaluate.hpp"
#include "cli/commands.hpp"
#include "cli/model_input.hpp"

namespace ropewalk::cli {

using namespace checkpoints;

namespace {

struct Arguments {
  Common common;
  std::string model;
  std::string task;
  std::string count;
  std::string seed;
  std::string added = "0";
};

std::vector<std::int64_t> numbers(const std::string& text) {
  std::vector<std::int64_t> result;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    const theory::Integer value = parse_integer("--added", text.substr(from, comma - from));
    if (value < 0 || value > longest_added)
      throw Error(ErrorCode::bad_value, "--added must lie in 0.." + std::to_string(longest_added) +
                                            ", not " + value.str());
    result.push_back(static_cast<std::int64_t>(value));
    from = comma + 1;
  }
  return result;
}

Json numbers_of(const std::vector<double>& values) {
  Json out = Json::array();
  for (const double x : values) out.push_back(number(x));
  return out;
}

Json written(const TaskRow& row) {
  Json out;
  out["added"] = row.added;
  out["length"] = row.length;
  out["hops"] = row.hops ? Json(*row.hops) : Json("all");
  out["count"] = row.tally.samples;
  const tasks::Interval interval = row.tally.interval();
  out["accuracy"] = {{"value", row.tally.accuracy()}, {"lo", interval.low}, {"hi", interval.high}};
  out["min_gap"] = number(row.min_gap);
  out["target_mass"] = numbers_of(row.target_mass);
  if (row.hops) {
    out["path_mass"] = Json::array();
    for (const auto& layer : row.path_mass) out["path_mass"].push_back(numbers_of(layer));
  }
  if (!row.right_mass.empty()) out["right_mass"] = numbers_of(row.right_mass);
  return out;
}

// With so many decimals, separated by blanks; a dash for what is not a number.
std::string masses(const std::vector<double>& values, int decimals) {
  std::string out;
  for (const double x : values)
    out += (out.empty() ? "" : " ") + (std::isfinite(x) ? fmt::format("{:.{}f}", x, decimals)
                                                        : fmt::format("{:>{}}", '-', decimals + 2));
  return out;
}

int run(const Arguments& args) {
  const tbb::global_control limit = thread_limit(args.common);
  tasks::Options task = task_options(args.task, args.count, args.seed, 400);
  EvaluateOptions options;
  options.added = numbers(args.added);
  const Model model = open_model(args.model);
  if (const auto own = constructed(*model.checkpoint)) task = fitted(*own, task);
  const std::vector<std::string> warnings = evaluate_warnings(model, task, options);
  tell(warnings, args.common);
  const auto start = std::chrono::steady_clock::now();
  if (draws_progress())
    options.progress = [](double share) {
      std::cerr << fmt::format("\r{:>3} %", static_cast<int>(100 * share)) << std::flush;
    };
  const std::vector<TaskRow> rows = evaluate(model, task, options);
  if (options.progress) std::cerr << "\r     \r";
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  if (args.common.json) {
    Json out;
    out["model"] = args.model;
    out["task"] = args.task;
    out["seed"] = task.seed;
    out["rows"] = Json::array();
    for (const TaskRow& row : rows) out["rows"].push_back(written(row));
    out["warnings"] = warnings;
    out["seconds"] = seconds;
    std::cout << out.dump(2) << '\n';
    return as_expected;
  }
  std::cout << fmt::format("{} of the task {}, seed {}\n", args.model, args.task, task.seed);
  const bool is_constructed = !rows.empty() && !rows.front().right_mass.empty();
  const std::string target = "mass on the target by layer";
  std::size_t width = target.size();
  for (const TaskRow& row : rows) width = std::max(width, masses(row.target_mass, 2).size());
  std::cout << fmt::format(
      "  added length hops inputs accuracy  95 %            smallest gap  {}\n",
      is_constructed ? fmt::format("{:<{}}  smallest on the right position", target, width)
                     : target);
  for (const TaskRow& row : rows) {
    const tasks::Interval interval = row.tally.interval();
    std::string mass = masses(row.target_mass, 2);
    if (is_constructed) mass = fmt::format("{:<{}}  {}", mass, width, masses(row.right_mass, 6));
    std::cout << fmt::format("  {:>5} {:>6} {:>4} {:>6} {:>8.4f}  {:.4f}..{:.4f}  {:>12.4g}  {}\n",
                             row.added, row.length, row.hops ? std::to_string(*row.hops) : "all",
                             row.tally.samples, row.tally.accuracy(), interval.low, interval.high,
                             row.min_gap, mass);
  }
  return as_expected;
}

}  // namespace

void add_evaluate(CLI::App& root, int& exit_code) {
  const auto args = std::make_shared<Arguments>();
  CLI::App& app =
      *root.add_subcommand("evaluate", "How well a model does a task, by hops and by added tokens");
  app.add_option("model", args->model, "Folder or file of a model")->required()->type_name("MODEL");
  app.add_option("--task", args->task, "number, letter, index, retrieval or mixed")
      ->required()
      ->check(CLI::IsMember({"number", "letter", "index", "retrieval", "mixed"}))
      ->type_name("KIND");
  app.add_option("--count", args->count, "How many inputs of each length (400)")->type_name("N");
  app.add_option("--seed", args->seed, "Seed of the inputs (0)")->type_name("S");
  app.add_option("--added", args->added, "Symbols before the window, a list (0)")
      ->type_name("K,K,...");
  add_common(app, args->common);
  app.footer(
      "The model reads each input and answers with the most probable next token. accuracy comes "
      "with Wilson's\n"
      "interval at 95 %. smallest gap is, over the inputs, the logit of the answer minus the "
      "largest other one:\n"
      "negative where an answer was wrong. target_mass of layer l (from 0) is the mean attention "
      "weight of the last\n"
      "token on the position to which hop l + 1 leads, on the leaf after the last hop; path_mass "
      "the same on every\n"
      "position of the path, the query first; of the head in which it is largest. Layers that add "
      "nothing to the\n"
      "stream have none. The model runs in float32, its rotary table grows with the input.\n"
      "\n"
      "Of a constructed model (its config.json has the key \"ropewalk\"), right_mass is the "
      "smallest "
      "weight, over the\n"
      "inputs, on the right position in layers 1..hops: for rule lag, of every position of the "
      "path "
      "on the next one\n"
      "and of the leaf on itself; for token and last, of the last token on the position that the "
      "hops so far lead to.\n"
      "A warning says where inputs are longer than the model is proven for, or than the table that "
      "transformers has.\n"
      "\n"
      "JSON: {\"model\", \"task\", \"seed\", \"rows\": [{\"added\", \"length\", \"hops\": number "
      "or \"all\", \"count\",\n"
      "\"accuracy\": {\"value\", \"lo\", \"hi\"}, \"min_gap\", \"target_mass\": [by layer], "
      "\"path_mass\": [by layer][by\n"
      "hop] in the rows of one number of hops, \"right_mass\": [by layer] of a constructed "
      "model}], "
      "\"warnings\",\n"
      "\"seconds\"}; null for what is not a number.\n"
      "\n"
      "Exit status: 0; 2 for bad input; 3 if interrupted; 4 for a file that cannot be read.\n"
      "\n"
      "Examples:\n"
      "  ropewalk evaluate models/p1-letter --task letter\n"
      "  ropewalk evaluate models/p1-number --task number --count 200 --added 0,40,100 --json");
  app.callback([args, &exit_code] { exit_code = run(*args); });
}

}  // namespace ropewalk::cli
