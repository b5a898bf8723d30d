// ropewalk score

#include "tasks/score.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "cli/json_file.hpp"
#include "cli/output.hpp"

namespace ropewalk::cli {

using namespace tasks;

namespace {

struct Arguments {
  Common common;
  std::string samples;
  std::string predictions;
};

// A file, line by line; lines of blanks are passed over.
class Lines {
 public:
  explicit Lines(const std::string& path) : path_(path) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored))
      throw Error(ErrorCode::file, path + ": is a folder, not a file");
    errno = 0;
    in_.open(path, std::ios::binary);
    if (!in_) throw Error(ErrorCode::file, path + ": cannot be read: " + std::strerror(errno));
  }

  // The next line as JSON; false at the end.
  bool next(nlohmann::json& value) {
    std::string line;
    while (read(line)) {
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      value = parse_json(line, place());
      return true;
    }
    if (in_.bad()) throw Error(ErrorCode::file, path_ + ": cannot be read to its end");
    return false;
  }
  [[nodiscard]] std::string place() const { return path_ + ": line " + std::to_string(number_); }

 private:
  // A line, which is no longer than a line can be.
  bool read(std::string& line) {
    constexpr std::size_t longest = std::size_t{16} << 20;
    line.clear();
    int c = in_.get();
    if (c == std::ifstream::traits_type::eof()) return false;
    ++number_;
    for (; c != std::ifstream::traits_type::eof() && c != '\n'; c = in_.get()) {
      if (line.size() == longest)
        throw Error(ErrorCode::too_large, place() + " is longer than 16 MiB");
      line += static_cast<char>(c);
    }
    return true;
  }

  std::string path_;
  std::ifstream in_;
  std::int64_t number_ = 0;
};

Score read(const Arguments& args) {
  Score score;
  Lines samples(args.samples);
  std::optional<Lines> predictions;
  if (!args.predictions.empty()) predictions.emplace(args.predictions);
  nlohmann::json line;
  nlohmann::json prediction;
  while (samples.next(line)) {
    if (predictions && !predictions->next(prediction))
      throw Error(ErrorCode::parse, predictions->place() + ": the last, but " + samples.place() +
                                        " needs a prediction too");
    try {
      if (!predictions)
        add(score, line);
      else
        add(score, line, prediction);
    } catch (const Error& e) {
      throw Error(e.code(), samples.place() + (predictions ? ", " + predictions->place() : "") +
                                ": " + e.what());
    }
  }
  if (predictions && predictions->next(prediction))
    throw Error(ErrorCode::parse, predictions->place() + ": more predictions than samples");
  if (score.empty()) throw Error(ErrorCode::parse, args.samples + ": no predictions");
  return score;
}

Json written(const Tally& tally) {
  const Interval interval = tally.interval();
  return {{"samples", tally.samples},
          {"right", tally.right},
          {"unanswered", tally.unanswered},
          {"accuracy", tally.accuracy()},
          {"interval", {interval.low, interval.high}}};
}

void print_row(const std::string& task, const std::string& length, const std::string& hops,
               const Tally& tally) {
  const Interval interval = tally.interval();
  std::cout << fmt::format("  {:<9} {:>7} {:>5} {:>9} {:>9} {:>11}    {:.4f}  {:.4f}..{:.4f}\n",
                           task, length, hops, tally.samples, tally.right, tally.unanswered,
                           tally.accuracy(), interval.low, interval.high);
}

void run(const Arguments& args) {
  const tbb::global_control limit = thread_limit(args.common);
  const Score score = read(args);
  // Over all hops of a length; hops are counted from 1.
  std::map<Group, Tally> lengths;
  Tally all;
  for (const auto& [group, tally] : score) {
    lengths[{group.task, group.length, 0}] += tally;
    all += tally;
  }
  if (args.common.json) {
    Json out{{"all", written(all)}, {"lengths", Json::array()}, {"groups", Json::array()}};
    for (const auto& [group, tally] : lengths) {
      out["lengths"].push_back({{"task", group.task}, {"length", group.length}});
      out["lengths"].back().update(written(tally));
    }
    for (const auto& [group, tally] : score) {
      out["groups"].push_back(
          {{"task", group.task}, {"length", group.length}, {"hops", group.hops}});
      out["groups"].back().update(written(tally));
    }
    std::cout << out.dump(2) << '\n';
    return;
  }
  std::cout << fmt::format("  {:<9} {:>7} {:>5} {:>9} {:>9} {:>11}  {}  {}\n", "task", "length",
                           "hops", "samples", "right", "unanswered", "accuracy", "95 % interval");
  for (const auto& [length, sum] : lengths) {
    for (auto at = score.lower_bound(length);
         at != score.end() && at->first.task == length.task && at->first.length == length.length;
         ++at)
      print_row(length.task, std::to_string(length.length), std::to_string(at->first.hops),
                at->second);
    print_row(length.task, std::to_string(length.length), "all", sum);
  }
  if (lengths.size() > 1) print_row("all", "all", "all", all);
}

}  // namespace

void add_score(CLI::App& root, int& exit_code) {
  const auto args = std::make_shared<Arguments>();
  CLI::App& app = *root.add_subcommand(
      "score", "How many predictions of task inputs are right, by length and hops");
  app.add_option("samples", args->samples,
                 "Lines of `ropewalk task --format jsonl` or prompts, each with \"prediction\"")
      ->required()
      ->type_name("FILE");
  app.add_option("--predictions", args->predictions,
                 "The predictions are here instead: one JSON value a line, in the same order")
      ->type_name("FILE");
  add_common(app, args->common);
  app.footer(
      "A prediction is a token id (a number), right if it equals \"answer\", or a text, right if "
      "it is\n"
      "\"answer_text\" but for blanks at its ends. null and blanks are no answer, and not right. "
      "In FILE of\n"
      "--predictions a line is such a value, or an object with the key \"prediction\". Of the "
      "samples the keys \"task\",\n"
      "\"length\", \"hops\", \"answer\" and \"answer_text\" are read.\n"
      "\n"
      "The interval is Wilson's at 95 %.\n"
      "\n"
      "JSON: {\"all\", \"lengths\": [{\"task\", \"length\", ...}], \"groups\": [{\"task\", "
      "\"length\", \"hops\", ...}]}, each with\n"
      "\"samples\", \"right\", \"unanswered\", \"accuracy\", \"interval\": [low, high].\n"
      "\n"
      "Exit status: 0; 2 for bad input; 3 if interrupted; 4 for file trouble.\n"
      "\n"
      "Examples:\n"
      "  ropewalk score examples/predictions.jsonl\n"
      "  ropewalk score examples/predictions.jsonl --json");
  app.callback([args, &exit_code] {
    run(*args);
    exit_code = as_expected;
  });
}

}  // namespace ropewalk::cli
