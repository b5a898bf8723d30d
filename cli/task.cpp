// ropewalk task

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <limits>
#include <memory>
#include <tuple>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "tasks/write.hpp"

namespace ropewalk::cli {

using namespace tasks;

namespace {

struct Arguments {
  Common common;
  std::string kind;
  std::string count;
  std::string split;
  std::string seed = "0";
  std::string hops;
  std::string added;
  std::vector<std::string> windows;
  std::string letters;
  std::string integers;
  std::string digits;
  std::string format = "jsonl";
  std::string out;
};

// Where `value` is to be a small whole number; empty: `otherwise`.
template <class Int>
Int whole(std::string_view flag, const std::string& text, Int otherwise) {
  if (text.empty()) return otherwise;
  const theory::Integer value = parse_integer(flag, text);
  constexpr Int highest = std::numeric_limits<Int>::max();
  if (value < 0 || value > highest)
    throw Error(ErrorCode::bad_value,
                fmt::format("{} must lie in 0..{}, not {}", flag, highest, value.str()));
  return static_cast<Int>(value);
}

// "3" or "1-4".
template <class Int>
std::pair<Int, Int> range(std::string_view flag, const std::string& text) {
  const auto dash = text.find('-', 1);
  const Int low = whole<Int>(flag, text.substr(0, dash), 0);
  if (dash == std::string::npos) return {low, low};
  if (dash + 1 == text.size())
    throw Error(ErrorCode::bad_value, fmt::format("{}: '{}' has no end", flag, text));
  const Int high = whole<Int>(flag, text.substr(dash + 1), 0);
  if (high < low)
    throw Error(ErrorCode::bad_value, fmt::format("{}: '{}' ends before it begins", flag, text));
  return {low, high};
}

// Which samples, of which tasks, in order.
struct Plan {
  std::vector<Options> tasks;
  Range samples{};
};

Plan plan(const Arguments& args) {
  Options o;
  o.kind = *kind_of(args.kind);
  const bool prompts = args.format == "prompts";
  if (prompts) o.hops_max = 1;
  if (!args.hops.empty()) {
    std::tie(o.hops_min, o.hops_max) = range<int>("--hops", args.hops);
    if (o.hops_min == 0) throw Error(ErrorCode::bad_value, "--hops must be at least 1, not 0");
  }
  o.added = whole<std::int64_t>("--added", args.added, 0);
  const auto size = [](std::string_view flag, const std::string& text, std::int32_t otherwise) {
    const auto value = whole<std::int32_t>(flag, text, otherwise);
    if (!text.empty() && value == 0)
      throw Error(ErrorCode::bad_value, std::string(flag) + " must be at least 1, not 0");
    return value;
  };
  o.letters = size("--alphabet", args.letters, 0);
  o.integers = size("--integers", args.integers, 0);
  o.digits = size("--leaf-digits", args.digits, o.digits);
  const bool counts = o.kind == Kind::number || o.kind == Kind::index;
  if (!args.integers.empty() && !counts)
    throw Error(ErrorCode::usage, "--integers: the task " + args.kind + " has none");
  if (!args.digits.empty() && counts)
    throw Error(ErrorCode::usage, "--leaf-digits: the task " + args.kind + " has none");

  Plan result;
  if (!args.split.empty())
    result.samples = range_of(args.split == "train"        ? Split::train
                              : args.split == "validation" ? Split::validation
                                                           : Split::test);
  else if (args.count.empty())
    throw Error(ErrorCode::usage, "--count N or --split NAME is required");
  const auto count = whole<std::int64_t>("--count", args.count, result.samples.count);
  if (constexpr std::int64_t most = 1'000'000'000; count > most)
    throw Error(ErrorCode::bad_value,
                fmt::format("--count must lie in 0..{}, not {}", most, count));
  if (!args.split.empty() && count > result.samples.count)
    throw Error(ErrorCode::bad_value, fmt::format("--count: the split has {} samples, not {}",
                                                  result.samples.count, count));
  result.samples.count = count;
  o.count = result.samples.first + count;

  std::vector<std::int32_t> windows;
  for (const std::string& text : args.windows) windows.push_back(size("--window", text, 0));
  if (windows.empty() && prompts)
    windows.assign(std::begin(prompt_windows), std::end(prompt_windows));
  if (windows.empty()) windows.push_back(o.window);
  const auto [first_seed, last_seed] = range<std::uint64_t>("--seed", args.seed);
  if (last_seed - first_seed >= 100'000)
    throw Error(ErrorCode::too_large, "--seed: at most 100000 seeds at once");
  for (const std::int32_t window : windows) {
    o.window = window;
    (void)Task(o);  // refuses what cannot be, before anything is written
    for (std::uint64_t s = 0; s <= last_seed - first_seed; ++s) {
      o.seed = first_seed + s;
      result.tasks.push_back(o);
    }
  }
  return result;
}

bool ends_with(const std::string& text, std::string_view end) { return text.ends_with(end); }

// Everything in order; `sink` takes the bytes.
template <class Sink>
void write(const Arguments& args, const Plan& plan, Sink&& sink) {
  constexpr std::int64_t block = 2048;
  std::int64_t done = 0;
  const auto all = plan.samples.count * static_cast<std::int64_t>(plan.tasks.size());
  for (const Options& options : plan.tasks) {
    const Task task(options);
    const auto arrays =
        args.format != "tokens"
            ? nullptr
            : std::make_unique<Arrays>(
                  task, plan.samples,
                  ends_with(args.out, ".npy") ? Arrays::Format::npy : Arrays::Format::safetensors);
    const auto prompter = args.format == "prompts" ? std::make_unique<Prompter>(task) : nullptr;
    if (arrays) sink(arrays->head());
    for (std::int64_t first = 0; first < plan.samples.count; first += block) {
      const std::int64_t n = std::min(block, plan.samples.count - first);
      std::vector<Sample> samples(static_cast<std::size_t>(n));
      std::vector<std::string> lines(static_cast<std::size_t>(n));
      tbb::parallel_for(std::int64_t{0}, n, [&](std::int64_t i) {
        const auto at = static_cast<std::size_t>(i);
        const std::int64_t k = plan.samples.first + first + i;
        samples[at] = task.sample(k);
        if (arrays) return;
        lines[at] = prompter ? prompt_line(task, *prompter, k, samples[at])
                             : json_line(task, k, samples[at]);
        samples[at] = {};
      });
      for (std::size_t i = 0; i < lines.size(); ++i)
        sink(arrays ? arrays->row(samples[i]) : lines[i]);
      done += n;
      if (draws_progress() && !args.out.empty())
        std::cerr << fmt::format("\r{} of {} inputs", done, all) << std::flush;
    }
    if (arrays) sink(arrays->tail());
  }
  if (draws_progress() && !args.out.empty()) std::cerr << "\r" << std::string(60, ' ') << "\r";
}

void run(const Arguments& args) {
  if (args.format == "tokens" && !ends_with(args.out, ".npy") &&
      !ends_with(args.out, ".safetensors"))
    throw Error(ErrorCode::usage,
                "--format tokens needs --out FILE that ends in .safetensors or .npy");
  if (args.common.json && args.out.empty())
    throw Error(ErrorCode::usage, "--json says what was written to a file: it needs --out FILE");
  const tbb::global_control limit = thread_limit(args.common);
  const Plan work = plan(args);
  if (args.format == "tokens" && work.tasks.size() > 1)
    throw Error(ErrorCode::usage, "--format tokens holds one --window and one --seed");
  if (args.out.empty()) {
    write(args, work, [](const std::string& bytes) { std::cout << bytes; });
    return;
  }
  const auto start = std::chrono::steady_clock::now();
  NewFile file(args.out);
  std::int64_t bytes = 0;
  write(args, work, [&](const std::string& more) {
    file.write(more);
    bytes += static_cast<std::int64_t>(more.size());
  });
  file.commit();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto inputs = work.samples.count * static_cast<std::int64_t>(work.tasks.size());
  if (args.common.json) {
    Json out;
    out["task"] = args.kind;
    out["format"] = args.format;
    out["file"] = args.out;
    out["bytes"] = bytes;
    out["inputs"] = inputs;
    out["first_sample"] = work.samples.first;
    out["vocabulary"] = Json::array();
    out["lengths"] = Json::array();
    for (std::size_t i = 0; i < work.tasks.size(); ++i) {
      if (i > 0 && work.tasks[i].window == work.tasks[i - 1].window) continue;
      const Task task(work.tasks[i]);
      out["lengths"].push_back(task.length());
      out["vocabulary"].push_back(task.vocabulary());
    }
    out["seconds"] = seconds;
    std::cout << out.dump(2) << '\n';
    return;
  }
  std::cout << fmt::format("{} inputs written to {} ({} bytes) in {:.2f} s\n", inputs, args.out,
                           bytes, seconds);
}

}  // namespace

void add_task(CLI::App& root, int& exit_code) {
  const auto args = std::make_shared<Arguments>();
  CLI::App& app = *root.add_subcommand(
      "task", "Inputs of the Number, Letter and canonical tasks, with their answers");
  app.add_option("kind", args->kind, "number, letter, index, retrieval or mixed")
      ->required()
      ->check(CLI::IsMember({"number", "letter", "index", "retrieval", "mixed"}))
      ->type_name("KIND");
  app.add_option("--count", args->count, "How many (with --split: all)")->type_name("N");
  app.add_option("--split", args->split,
                 "train, validation or test: samples 0.., 432000.. or 434400.. of 480000")
      ->check(CLI::IsMember({"train", "validation", "test"}))
      ->type_name("NAME");
  app.add_option("--seed", args->seed, "One seed, or several as A-B (0)")->type_name("S");
  app.add_option("--hops", args->hops,
                 "Hops, in equal shares: H or A-B (1-4; 1 in prompts and canonical tasks)")
      ->type_name("H");
  app.add_option("--added", args->added, "Symbols before the window (0)")->type_name("K");
  app.add_option("--window", args->windows,
                 "Symbols between them and the query (16; prompts: 12 16 24 ... 300); any number")
      ->type_name("N");
  app.add_option("--alphabet", args->letters, "Letters in the alphabet (120 with integers, else 8)")
      ->type_name("N");
  app.add_option("--integers", args->integers,
                 "number, index: integers 1..N, at most the window (the window)")
      ->type_name("N");
  app.add_option("--leaf-digits", args->digits, "letter, retrieval, mixed: digits, at most 10 (8)")
      ->type_name("N");
  app.add_option("--format", args->format, "jsonl (default), tokens or prompts")
      ->check(CLI::IsMember({"jsonl", "tokens", "prompts"}))
      ->type_name("KIND");
  app.add_option("--out", args->out,
                 "Write here instead of to standard output; tokens: .safetensors or .npy")
      ->type_name("FILE");
  add_common(app, args->common);
  app.footer(
      "number     letters and integers; integer m leads m tokens back\n"
      "letter     letter-digit and letter-letter pairs; a pair of letters leads to the one that\n"
      "           begins with its second letter\n"
      "index      one hop of number, only letters before the query\n"
      "retrieval  one hop of letter, every letter in one token only\n"
      "mixed      one hop to the last pair with the wanted letter, which occurs before too\n"
      "\n"
      "The last token is the query; the answer is the leaf it leads to. Hops, and leaf positions\n"
      "and answers within each, are balanced; sample k of a seed is the same in every file\n"
      "(docs/tasks.md).\n"
      "\n"
      "jsonl: {\"task\", \"seed\", \"sample\", \"hops\", \"length\", \"added\", \"tokens\": [ids], "
      "\"text\", \"answer\": id,\n"
      "\"answer_text\", \"path\": [positions, query first]}. prompts: \"prompt\" in place of "
      "\"tokens\", \"text\" and \"path\".\n"
      "tokens: int32 arrays. safetensors: tokens, answer, hops, path (-1 beyond the leaf); .npy: "
      "tokens, then the\n"
      "answer, in one row.\n"
      "\n"
      "JSON (of --json, with --out): {\"task\", \"format\", \"file\", \"bytes\", \"inputs\", "
      "\"first_sample\", \"vocabulary\": [of\n"
      "each length], \"lengths\", \"seconds\"}.\n"
      "\n"
      "Exit status: 0; 2 for bad input; 3 if interrupted; 4 for file trouble.\n"
      "\n"
      "Examples:\n"
      "  ropewalk task number --count 3\n"
      "  ropewalk task letter --split test --seed 1 --added 200 --format tokens --out "
      "/tmp/letter.safetensors\n"
      "  ropewalk task number --count 20 --seed 0-4 --format prompts --out /tmp/prompts.jsonl");
  app.callback([args, &exit_code] {
    run(*args);
    exit_code = as_expected;
  });
}

}  // namespace ropewalk::cli
