// ropewalk heads

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>

#include "checkpoints/heads.hpp"
#include "cli/commands.hpp"
#include "cli/model_input.hpp"

namespace ropewalk::cli {

using namespace checkpoints;

namespace {

struct Arguments {
  Common common;
  std::string model;
  InputArguments inputs;
  std::string queries = "last";
  std::string blocks;
  std::string tau = "1e-4";
  bool planes = false;
  std::string csv;
};

// The frequency ID whose contribution is the largest.
std::ptrdiff_t largest_plane(const HeadScore& s) {
  return std::max_element(s.plane_use.begin(), s.plane_use.end()) - s.plane_use.begin() + 1;
}

Json written(const HeadScore& s) {
  Json out;
  out["layer"] = s.layer;
  out["head"] = s.head;
  out["positional"] = number(s.positional);
  out["symbolic"] = number(s.symbolic);
  out["purity"] = s.purity(0.1);
  out["purity_strict"] = s.purity(0.05);
  out["entropy"] = number(s.entropy);
  out["weighted_id"] = s.weighted_id;
  out["largest_plane"] = largest_plane(s);
  out["plane_use"] = Json::array();
  for (const double use : s.plane_use) out["plane_use"].push_back(number(use));
  if (!s.planes.empty()) {
    out["planes"] = Json::array();
    for (const SwapScores& plane : s.planes)
      out["planes"].push_back(
          {{"positional", number(plane.positional)}, {"symbolic", number(plane.symbolic)}});
  }
  return out;
}

std::string csv(const std::vector<HeadScore>& scores) {
  std::string text = "layer,head,positional,symbolic,purity,entropy,weighted_id";
  for (std::size_t f = 0; f < scores.front().plane_use.size(); ++f)
    text += fmt::format(",plane_use_{}", f + 1);
  text += '\n';
  for (const HeadScore& s : scores) {
    text += fmt::format("{},{},{:.9g},{:.9g},{},{:.9g},{}", s.layer, s.head, s.positional,
                        s.symbolic, s.purity(0.1), s.entropy, s.weighted_id);
    for (const double use : s.plane_use) text += fmt::format(",{:.9g}", use);
    text += '\n';
  }
  return text;
}

int run(const Arguments& args) {
  const tbb::global_control limit = thread_limit(args.common);
  HeadOptions options;
  options.all_queries = args.queries == "all";
  options.planes = args.planes;
  const theory::Rational tau = parse_rational("--tau", args.tau);
  options.tau = static_cast<double>(tau);
  if (!(options.tau > 0) || !std::isfinite(options.tau))
    throw Error(ErrorCode::bad_value, "--tau must be positive, not " + args.tau);
  if (!args.blocks.empty()) {
    const theory::Integer block = parse_integer("--blocks", args.blocks);
    if (block < 1 || block > 1'000'000'000)
      throw Error(ErrorCode::bad_value, "--blocks must lie in 1..1000000000, not " + block.str());
    options.block = static_cast<std::int64_t>(block);
  }
  const Model model = open_model(args.model);
  const Inputs inputs = read_inputs(args.inputs, model);
  const auto start = std::chrono::steady_clock::now();
  if (draws_progress())
    options.progress = [](double share) {
      std::cerr << fmt::format("\r{:>3} %", static_cast<int>(100 * share)) << std::flush;
    };
  const std::vector<HeadScore> scores = score_heads(model, inputs.tokens, options);
  if (options.progress) std::cerr << "\r     \r";
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (scores.empty()) throw Error(ErrorCode::bad_value, args.model + ": has no heads");
  if (std::none_of(scores.begin(), scores.end(), [](const HeadScore& s) { return s.queries > 0; }))
    throw Error(ErrorCode::bad_value,
                "no query has two " + std::string(options.block > 1 ? "blocks of keys" : "keys") +
                    " before it to change places: the inputs are too short");

  if (!args.csv.empty()) write_file(args.csv, csv(scores));
  if (args.common.json) {
    Json out;
    out["model"] = args.model;
    out["inputs"] = inputs.tokens.size();
    out["queries"] = args.queries;
    out["block"] = options.block;
    out["tau"] = options.tau;
    out["heads"] = Json::array();
    for (const HeadScore& score : scores) out["heads"].push_back(written(score));
    out["seconds"] = seconds;
    std::cout << out.dump(2) << '\n';
    return as_expected;
  }
  std::cout << fmt::format("{} input{} ({})\n", inputs.tokens.size(),
                           inputs.tokens.size() == 1 ? "" : "s", inputs.words);
  std::cout << "  layer head  positional symbolic  kind        entropy  plane  largest\n";
  for (const HeadScore& s : scores)
    std::cout << fmt::format("  {:>5} {:>4}  {:>10.4f} {:>8.4f}  {:<10} {:>8.3f}  {:>5}  {:>7}\n",
                             s.layer, s.head, s.positional, s.symbolic, s.purity(0.1), s.entropy,
                             s.weighted_id, largest_plane(s));
  return as_expected;
}

}  // namespace

void add_heads(CLI::App& root, int& exit_code) {
  const auto args = std::make_shared<Arguments>();
  CLI::App& app = *root.add_subcommand(
      "heads", "How positional and how symbolic the heads of a model are, on which planes");
  app.add_option("model", args->model, "Folder or file of a model")->required()->type_name("MODEL");
  add_inputs(app, args->inputs);
  app.add_option("--queries", args->queries, "last (default) or all: which positions ask")
      ->check(CLI::IsMember({"last", "all"}))
      ->type_name("WHICH");
  app.add_option("--blocks", args->blocks,
                 "Swap blocks of so many positions in place of single ones (1)")
      ->type_name("B");
  app.add_option("--tau", args->tau, "Temperature of the weights of the swaps (1e-4)")
      ->type_name("TAU");
  app.add_flag("--by-plane", args->planes, "Also score every plane alone (in --json)");
  app.add_option("--csv", args->csv, "Also write the table to a file")->type_name("FILE");
  add_common(app, args->common);
  app.footer(
      "For every swap of two tokens before the query, the hidden states entering the layer change "
      "places and the\n"
      "layer runs again. If the two attention weights stay where they were, the head is "
      "positional; if they follow\n"
      "the tokens, it is symbolic. Scores are means over all swaps, weighted towards swaps whose "
      "weights differ, and\n"
      "over the inputs; one above 0.9 with the other below 0.1 names the kind. `entropy` is that "
      "of the attention\n"
      "weights, in nats; `plane` is the weighted frequency ID (from 1: the fastest), round(sum of "
      "ID times softmax of\n"
      "plane_use), plane_use being the largest contribution of a plane to a logit: near the middle "
      "where no plane stands\n"
      "out. `largest` is the plane that contributes most. docs/heads.md has more.\n"
      "\n"
      "Layers and heads count from 0. Softcaps, sliding windows, biases and norms of queries and "
      "keys are part of the\n"
      "logits; keys outside a window take no part. Mixtures of experts, latent attention and "
      "attention sinks are\n"
      "refused by name.\n"
      "\n"
      "JSON: {\"model\", \"inputs\", \"queries\", \"block\", \"tau\", \"heads\": [{\"layer\", "
      "\"head\", \"positional\",\n"
      "\"symbolic\", \"purity\" (at 0.1), \"purity_strict\" (at 0.05), \"entropy\", "
      "\"weighted_id\", \"largest_plane\", \"plane_use\": [...],\n"
      "\"planes\" if asked for: [{\"positional\", \"symbolic\"}]}], \"seconds\"}; null for what "
      "is not a number.\n"
      "\n"
      "Exit status: 0; 2 for bad input; 3 if interrupted; 4 for a file that cannot be read.\n"
      "\n"
      "Examples:\n"
      "  ropewalk heads models/p1-number --task number\n"
      "  ropewalk heads models/tinystories-656k --text story.txt --queries all --csv heads.csv");
  app.callback([args, &exit_code] { exit_code = run(*args); });
}

}  // namespace ropewalk::cli
