// ropewalk construct

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>

#include "checkpoints/construct.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/table.hpp"
#include "proofs_numeric/sha256.hpp"

namespace ropewalk::cli {

using namespace checkpoints;
using constructions::Rule;
using proofs_numeric::Fact;

namespace {

struct Arguments {
  Common common;
  std::string what;
  std::string schedule, layer, base, head_dim, theta, planes = "best";
  bool centred = false;
  std::string letters, integers, digits;
  std::string hops, layers, length = "256", scale = "auto";
  std::string format = "gptj", dtype;
  std::string out;
  bool unproven = false;
  bool force = false;
};

// Everything that the command may write.
const std::vector<std::string> names{
    "README.md",         "certificate.json", "config.json",          "exact.json",
    "model.safetensors", "tokenizer.json",   "tokenizer_config.json"};

std::int64_t whole(const std::string& flag, const std::string& text, std::int64_t most) {
  const theory::Integer value = parse_integer(flag, text);
  if (value < 1 || value > most)
    throw Error(ErrorCode::bad_value,
                flag + " must lie in 1.." + std::to_string(most) + ", not " + value.str());
  return static_cast<std::int64_t>(value);
}

// The table of --schedule: a plain one by its base, as transformers has it, another as it is.
std::optional<Table> read_schedule(const Arguments& args, ConstructRequest& request) {
  if (args.schedule.empty()) {
    if (!args.layer.empty()) throw Error(ErrorCode::usage, "--layer goes with --schedule");
    return std::nullopt;
  }
  if (!(args.base.empty() && args.head_dim.empty() && args.theta.empty()))
    throw Error(ErrorCode::usage,
                "--schedule names the table: leave out --base, --head-dim and --theta");
  Table table = read_table({args.schedule, args.layer, args.length, "", ""});
  const theory::Schedule& schedule = table.rope->schedule;
  request.base = table.rope->base;
  if (schedule.scheme == "default")
    request.turning = std::ssize(schedule.frequencies);
  else
    request.table = schedule.frequencies;
  if (const auto factor = schedule.attention_factor.as<double>(); factor != 1)
    table.warnings.push_back(
        fmt::format("the attention factor {:.6g} of the table is left out: the scale is in the "
                    "weights",
                    factor));
  return table;
}

ConstructRequest read(const Arguments& args) {
  ConstructRequest r;
  // number-task is the task number.
  r.kind = *tasks::kind_of(args.what.substr(0, args.what.find('-')));
  const bool counts = r.kind == tasks::Kind::number || r.kind == tasks::Kind::index;
  if (counts && !args.digits.empty())
    throw Error(ErrorCode::usage, "--leaf-digits is of letter-task, retrieval and mixed");
  if (!counts && !args.integers.empty())
    throw Error(ErrorCode::usage, "--integers is of number-task and index");
  r.form = args.format == "gptj" ? Form::gptj : args.format == "llama" ? Form::llama : Form::plain;
  const std::string dtype = !args.dtype.empty()     ? args.dtype
                            : r.form == Form::plain ? "f64"
                                                    : "f32";
  r.dtype = dtype == "f64"    ? DType::f64
            : dtype == "f32"  ? DType::f32
            : dtype == "bf16" ? DType::bf16
                              : DType::f16;
  if (!args.letters.empty()) r.letters = whole("--alphabet", args.letters, 702);
  if (!args.integers.empty()) r.numbers = whole("--integers", args.integers, 1000);
  if (!args.digits.empty()) r.numbers = whole("--leaf-digits", args.digits, 10);
  if (!args.hops.empty()) r.hops = static_cast<int>(whole("--hops", args.hops, 64));
  if (!args.layers.empty()) r.layers = whole("--layers", args.layers, 1024);
  r.length = whole("--length", args.length, longest_proof);
  if (!args.base.empty()) r.base = parse_rational("--base", args.base);
  if (!args.head_dim.empty()) {
    const std::int64_t dim = whole("--head-dim", args.head_dim, 2048);
    if (dim % 2 != 0)
      throw Error(ErrorCode::bad_value, "--head-dim must be even, not " + std::to_string(dim));
    r.turning = dim / 2;
  }
  if (!args.theta.empty()) r.angle = parse_angle("--theta", args.theta);
  if (args.planes != "best")
    for (std::size_t from = 0; from <= args.planes.size();) {
      const std::size_t comma = std::min(args.planes.find(',', from), args.planes.size());
      if (args.planes.substr(from, comma - from) == "best")
        throw Error(ErrorCode::bad_value, "--planes: write best, or IDs, not both");
      r.planes.push_back(whole("--planes", args.planes.substr(from, comma - from), 1024));
      from = comma + 1;
    }
  r.centred = args.centred;
  if (args.scale != "auto") r.scale = static_cast<double>(parse_rational("--scale", args.scale));
  return r;
}

std::string task_of(const Construction& made) {
  const auto& v = made.vocabulary();
  const int hops = made.request().hops;
  const std::string times = hops == 1 ? "1 hop" : std::to_string(hops) + " hops";
  switch (v.rule) {
    case Rule::lag:
      return fmt::format(
          "{} letters and the integers 1 to {}; an integer m leads to the token m "
          "positions back; {}",
          v.letters, v.numbers, times);
    case Rule::token:
      return fmt::format(
          "pairs of {} letters and {} digits; a letter-letter pair leads to the "
          "pair that begins with its second letter; {}",
          v.letters, v.numbers, times);
    case Rule::last:
      return fmt::format(
          "pairs of {} letters and {} digits; a letter-letter pair leads to the "
          "last pair that begins with its second letter",
          v.letters, v.numbers);
  }
  return "";
}

std::string valid_inputs(const Construction& made) {
  switch (made.vocabulary().rule) {
    case Rule::lag:
      return "every position whose integers, followed so many times, stay inside the input";
    case Rule::token:
      return "every position whose letters, followed so many times, each begin one and the same "
             "token at or before it";
    case Rule::last: return "every position whose letter begins a token at or before it";
  }
  return "";
}

// The planes that carry weight, and how much of the query each has.
Json planes_of(const Construction& made) {
  Json out = Json::array();
  const auto& plan = made.plan();
  for (std::size_t f = 0; f < plan.frequencies.size(); ++f) {
    std::string use;
    double amplitude = 0;
    if (!plan.amplitudes.empty() && plan.amplitudes[f] != 0) {
      use = "lag";
      amplitude = static_cast<double>(plan.amplitudes[f]);
    } else if (std::count(plan.letters.begin(), plan.letters.end(), f) != 0) {
      use = plan.letters.size() == 1 ? "letters" : "letter";
      amplitude = plan.nearness ? 1 - static_cast<double>(plan.nearness_share) : 1;
    } else if (plan.nearness == f) {
      use = "nearness";
      amplitude = static_cast<double>(plan.nearness_share);
    } else {
      continue;
    }
    out.push_back({{"id", f + 1},
                   {"frequency", plan.frequencies[f].as<double>()},
                   {"use", use},
                   {"amplitude", amplitude}});
  }
  return out;
}

Json bounds_of(const StackBounds& bounds) {
  Json mass = Json::array();
  for (const double m : bounds.mass) mass.push_back(m);
  return {{"gap", bounds.gap}, {"mass", mass}};
}

// Three words and a question that the last one answers.
std::string example(const Construction& made) {
  const auto& v = made.vocabulary();
  const auto& words = made.texts();
  const auto word = [&](constructions::Token t) { return words[static_cast<std::size_t>(t)]; };
  if (v.rule == Rule::lag) return word(v.numbers + 1) + " " + word(v.size() - 1) + " " + word(1);
  return word(1) + " " + word(v.numbers + 1) + " " + word(v.letters * v.numbers + 2);
}

// Of a lower bound: the decimals are rounded down.
std::string at_least(double bound) { return fmt::format("{:.4f}", std::floor(bound * 1e4) / 1e4); }

std::string card(const Construction& made, const std::string& command, const std::string& folder,
                 bool certified) {
  const ConstructRequest& r = made.request();
  const bool plain = r.form == Form::plain;
  std::string text = fmt::format("# {}: a Transformer written down by ropewalk\n\n", folder);
  text += fmt::format("No number in here was trained. The weights {} this task: {}.\n\n",
                      certified ? "answer" : "are meant for", task_of(made));
  if (certified)
    text += fmt::format(
        "Proven of the stored numbers, in {}: for every input of up to {} tokens, at {}, the "
        "answer has\n"
        "the largest logit, by at least {}. `certificate.json` says so to `ropewalk-check`, "
        "which reads\n"
        "`config.json` and `model.safetensors` beside it:\n\n    ropewalk-check "
        "certificate.json\n\n",
        made.proven() ? (plain ? "exact arithmetic" : "exact and in float32 arithmetic")
                      : "exact arithmetic only, **not in float32**",
        r.length, valid_inputs(made),
        at_least(made.proven() && !plain ? made.float32().gap : made.real().gap));
  else
    text += fmt::format("**Not proven** at length {}: written with --unproven.\n\n", r.length);
  text += "Made by\n\n    " + command + " --out " + shell_word(folder) + "\n\n";
  if (plain) {
    text +=
        "The matrices of `model.safetensors`: `embedding` and `unembedding` have a row per token; "
        "layer N adds\n"
        "W_O sum_j w_j W_V x_j, where w is the softmax of <R(t) W_Q x_i, W_K x_j> and R(t) turns "
        "the coordinates\n"
        "2f, 2f+1 by t times `frequencies`[f] of config.json. No norms, no 1/sqrt(d). "
        "`exact.json`, where it is\n"
        "there, has the same matrices as rational numbers.\n";
  } else {
    text += fmt::format(
        "    from transformers import AutoTokenizer, {}\n"
        "    model = {}.from_pretrained({})\n"
        "    tokenizer = AutoTokenizer.from_pretrained({})\n"
        "    logits = model(**tokenizer(\"{}\", return_tensors=\"pt\")).logits\n"
        "    tokenizer.decode(logits[0, -1].argmax())\n",
        r.form == Form::gptj ? "GPTJForCausalLM" : "LlamaForCausalLM",
        r.form == Form::gptj ? "GPTJForCausalLM" : "LlamaForCausalLM", Json(folder).dump(),
        Json(folder).dump(), example(made));
    if (certified)
      text +=
          "\nThe proof is for computation in float32, which is what `torch_dtype` in config.json "
          "asks for\n(in which type the weights are stored is another matter), and positions "
          "counted from 0: pad on the right.\n";
  }
  if (certified)
    text +=
        "\nIt is void for longer inputs, at other positions than those named, for weights that "
        "were "
        "changed, merged or\nquantised, and where products are computed in TF32, bfloat16 or "
        "float16 "
        "or the rotary table is not that of config.json.\n";
  text += "\nWritten by ropewalk " ROPEWALK_VERSION
          ", whose tools include `ropewalk-check`; docs/constructions.md there says more.\n";
  return text;
}

int run(const Arguments& args, const std::string& command) {
  const tbb::global_control limit = thread_limit(args.common);
  ConstructRequest request = read(args);
  const std::optional<Table> table = read_schedule(args, request);
  if (table) tell(table->warnings, args.common);
  NewFolder folder(args.out, args.force, names);
  const bool shows = draws_progress();
  if (shows) std::cerr << "planning and proving ..." << std::flush;
  const Construction made(request, args.unproven);
  constexpr std::int64_t far = std::int64_t{1} << 20;
  const std::vector<StoredAs> stored = made.stored(far);
  if (shows) std::cerr << "\r                        \r";

  WeightSet weights = made.weights();
  const auto& v = made.vocabulary();
  const bool real = made.real().proven();
  const bool float32 = request.form != Form::plain && made.float32().proven();
  const ConstructRequest& r = made.request();
  weights.config()["ropewalk"] = {{"rule", constructions::name(v.rule)},
                                  {"letters", std::to_string(v.letters)},
                                  {"numbers", std::to_string(v.numbers)},
                                  {"hops", std::to_string(r.hops)},
                                  {"length", made.proven() ? std::to_string(r.length) : "0"},
                                  {"arithmetic", name(made.arithmetic())}};
  const std::string config = weights.config().dump(2) + "\n";
  std::string bytes;
  weights.write([&](std::string_view more) { bytes += more; });
  const std::vector<std::pair<std::string, std::string>> files{
      {"config.json", proofs_numeric::sha256(config)},
      {"model.safetensors", proofs_numeric::sha256(bytes)}};

  const auto whole_path = std::filesystem::absolute(args.out).lexically_normal();
  const std::string name =
      file_name((whole_path.has_filename() ? whole_path : whole_path.parent_path()).string());
  folder.write("config.json", config);
  folder.write("model.safetensors", bytes);
  folder.write("tokenizer.json", tokenizer_json(made.texts()).dump(1) + "\n");
  folder.write("tokenizer_config.json", tokenizer_config_json().dump(2) + "\n");
  if (const auto exact = made.exact()) folder.write("exact.json", exact->dump() + "\n");
  std::vector<Fact> facts;
  if (real) facts.push_back(stack_fact(files, v, r.hops, r.length, Arithmetic::real, made.real()));
  if (float32)
    facts.push_back(stack_fact(files, v, r.hops, r.length, Arithmetic::float32, made.float32()));
  if (!facts.empty()) {
    const Json words{
        {"command", command},
        {"ropewalk", ROPEWALK_VERSION},
        {"task", task_of(made)},
        {"statement", "For every input of up to " + std::to_string(r.length) + " tokens, at " +
                          valid_inputs(made) + ", the answer has the largest logit."}};
    folder.write("certificate.json",
                 proofs_numeric::certificate("proved", facts, words).dump(2) + "\n");
  }
  folder.write("README.md", card(made, command, name, !facts.empty()));
  folder.commit();

  const auto optional = [](const std::optional<double>& x) { return x ? Json(*x) : Json(nullptr); };
  if (args.common.json) {
    Json out;
    out["out"] = args.out;
    out["task"] = {{"rule", constructions::name(v.rule)},
                   {"letters", v.letters},
                   {"numbers", v.numbers},
                   {"hops", r.hops}};
    out["format"] = checkpoints::name(r.form);
    out["dtype"] = checkpoints::name(r.dtype);
    out["layers"] = r.layers;
    out["length"] = r.length;
    out["table"] = table ? Json(table->words) : Json(nullptr);
    out["warnings"] = table ? Json(table->warnings) : Json::array();
    out["planes"] = planes_of(made);
    out["scale"] = made.scale();
    out["smallest_scale"] = optional(made.smallest_scale());
    out["proven"] = made.proven();
    out["real"] = bounds_of(made.real());
    out["float32"] = request.form == Form::plain ? Json(nullptr) : bounds_of(made.float32());
    out["stored"] = Json::array();
    for (const StoredAs& s : stored) {
      Json row{{"dtype", checkpoints::name(s.dtype)}, {"fits", s.fits}};
      if (s.fits) {
        row["margin"] = s.real.margin / made.scale();
        row["loss"] = s.loss;
        row["gap_real"] = s.real.gap;
        row["checked"] = s.checked;
        row["longest_real"] = s.longest_real;
        row["gap_float32"] = request.form == Form::plain ? Json(nullptr) : Json(s.float32.gap);
        row["longest_float32"] =
            request.form == Form::plain ? Json(nullptr) : Json(s.longest_float32);
      }
      out["stored"].push_back(std::move(row));
    }
    out["certificate"] = facts.empty() ? Json(nullptr) : Json("certificate.json");
    out["bytes"] = bytes.size();
    std::cout << out.dump(2) << '\n';
    return as_expected;
  }

  std::cout << fmt::format("{}: {}\n", args.out, task_of(made));
  std::cout << fmt::format("  format    {}, {} layer{}, {} bytes of weights in {}\n",
                           checkpoints::name(r.form), r.layers, r.layers == 1 ? "" : "s",
                           bytes.size(), checkpoints::name(r.dtype));
  std::string used;
  const Json planes = planes_of(made);
  for (std::size_t i = 0; i < planes.size() && i < 12; ++i)
    used += fmt::format("{}{}", i == 0 ? "" : ", ", planes[i]["id"].get<std::size_t>());
  if (planes.size() > 12) used += fmt::format(", ... ({} of them)", planes.size());
  if (table) std::cout << fmt::format("  table     {}\n", table->words);
  std::cout << fmt::format("  planes    {}\n", used);
  std::cout << fmt::format(
      "  scale     {:.6g}{}\n", made.scale(),
      made.smallest_scale()
          ? fmt::format("; the smallest that can be proven is about {:.4g}", *made.smallest_scale())
          : "");
  const auto line = [&](const char* label, const StackBounds& b) {
    if (!b.proven()) {
      std::cout << fmt::format("  {:<9} not proven at length {}\n", label, r.length);
      return;
    }
    std::string mass;
    for (const double m : b.mass) mass += " " + at_least(m);
    std::cout << fmt::format(
        "  {:<9} proven for every length up to {}: gap at least {}, attention on the "
        "right keys at least{}\n",
        label, r.length, at_least(b.gap), mass);
  };
  line("exact", made.real());
  if (request.form != Form::plain) line("float32", made.float32());
  std::cout << "\n  stored as   rounding loss   longest, exact   longest, float32\n";
  for (const StoredAs& s : stored) {
    if (!s.fits) {
      std::cout << fmt::format("  {:<9}   beyond its range\n", checkpoints::name(s.dtype));
      continue;
    }
    const auto longest = [&](std::int64_t n) {
      return n == 0 ? std::string("none") : (n == s.checked ? ">= " : "") + std::to_string(n);
    };
    std::cout << fmt::format("  {:<9}   {:>13.2e}   {:>14}   {:>16}\n", checkpoints::name(s.dtype),
                             s.loss, longest(s.longest_real),
                             request.form == Form::plain ? "-" : longest(s.longest_float32));
  }
  if (facts.empty())
    std::cout << "\nnot proven: no certificate was written\n";
  else
    std::cout << fmt::format("\nCheck it: ropewalk-check {}/certificate.json\n", args.out);
  return as_expected;
}

}  // namespace

void add_construct(CLI::App& root, int& exit_code) {
  const auto args = std::make_shared<Arguments>();
  CLI::App& app = *root.add_subcommand(
      "construct",
      "Write a whole Transformer that solves a task, with proof of the stored numbers");
  app.add_option("task", args->what, "index, retrieval, mixed, number-task or letter-task")
      ->required()
      ->check(CLI::IsMember(
          {"index", "retrieval", "mixed", "number-task", "letter-task", "number", "letter"}))
      ->type_name("TASK");
  app.add_option("--hops", args->hops, "Hops that it can follow (4 of the tasks, else 1)")
      ->type_name("H");
  app.add_option("--layers", args->layers,
                 "Layers; those after the last hop write nothing (12 of the tasks, else 1; plain: "
                 "as many as hops)")
      ->type_name("L");
  app.add_option("--length", args->length, "Tokens of the longest input (256)")->type_name("N");
  app.add_option("--alphabet", args->letters, "Letters (120 of number-task and index, else 8)")
      ->type_name("A");
  app.add_option("--integers", args->integers, "Integers 1..M of number-task and index (16)")
      ->type_name("M");
  app.add_option("--leaf-digits", args->digits, "Digits of letter-task, retrieval and mixed (8)")
      ->type_name("G");
  app.add_option("--format", args->format, "gptj (default), llama or plain")
      ->check(CLI::IsMember({"gptj", "llama", "plain"}))
      ->type_name("FORM");
  app.add_option("--dtype", args->dtype, "f32 (default), bf16, f16; plain: f64 (default) too")
      ->check(CLI::IsMember({"f32", "bf16", "f16", "f64"}))
      ->type_name("TYPE");
  app.add_option("--planes", args->planes,
                 "best (default), or the IDs of planes, from 1: one is P1's head")
      ->type_name("best|ID,...");
  app.add_option("--schedule", args->schedule, "The rotary table of this config.json")
      ->type_name("CONFIG");
  app.add_option("--layer", args->layer, "With --schedule: layer, counted from 0")->type_name("K");
  app.add_option("--base", args->base, "Base of the table (10000), of llama and plain")
      ->type_name("B");
  app.add_option("--head-dim", args->head_dim, "Coordinates that turn (128), twice the planes")
      ->type_name("D");
  app.add_option("--theta", args->theta, "One plane of this angle, radians per token")
      ->type_name("ANGLE");
  app.add_flag("--centred", args->centred,
               "With --planes or --theta: phases centred on the lags up to --length (R6)");
  app.add_option("--scale", args->scale, "Softmax scale, or auto (default)")
      ->type_name("auto|BETA");
  app.add_option("--out", args->out, "A folder to make, or an empty one")
      ->required()
      ->type_name("FOLDER");
  app.add_flag("--force", args->force, "Replace a folder that an earlier run wrote");
  app.add_flag("--unproven", args->unproven, "Write also what cannot be proven, and say so");
  add_common(app, args->common);
  app.footer(
      "Writes config.json, model.safetensors, tokenizer.json, tokenizer_config.json, README.md and "
      "certificate.json, which\n"
      "ropewalk-check verifies from the files beside it. gptj and llama load in stock transformers "
      "(GPTJForCausalLM,\n"
      "LlamaForCausalLM) and are proven in exact arithmetic and in float32, whatever the order of "
      "summation; plain is the\n"
      "matrices alone, in exact arithmetic, with exact.json where all of them are rational.\n"
      "\n"
      "Every position answers its own question, as far as it has an answer. number and letter are "
      "number-task and letter-task.\n"
      "best: for integers the amplitudes of the best Index head of the table at this length; for "
      "letters a plane for each,\n"
      "standing still where the form has such planes (gptj, plain) or nearly so (llama, a table of "
      "base 1e30), the slowest\n"
      "ones of a table that is named; for mixed a plane on which near keys win besides.\n"
      "--schedule: as it is for inputs of --length tokens, for all lengths. llama has any table as "
      "factors by which planes\n"
      "are slower (longrope), plain as formulas, gptj the plain table of base 10000 only. Neither "
      "windows nor attention\n"
      "factors are taken over.\n"
      "scale auto: the smallest 2^(k/8) whose proven gap is at least 1/2; hard attention has 1. "
      "rounding loss: the share of\n"
      "the exact head's margin that rounding the weights takes, negative where it adds some. "
      "longest: the length up to which\n"
      "these weights, rounded to each type, are proven, as far as is looked (checked), and found\n"
      "to within one part in 4096 beyond that many. Seconds; a minute for lengths of ten thousand "
      "or hundreds of integers.\n"
      "\n"
      "JSON: {\"out\", \"task\": {\"rule\": \"lag\", \"token\" or \"last\", \"letters\", "
      "\"numbers\", \"hops\"}, \"format\", \"dtype\",\n"
      "\"layers\", \"length\", \"table\" (of --schedule, else null), \"warnings\", \"planes\": "
      "[{\"id\", \"frequency\", \"use\",\n"
      "\"amplitude\"}], \"scale\", \"smallest_scale\", \"proven\",\n"
      "\"real\": {\"gap\", \"mass\": [by hop]}, \"float32\": the same or null, \"stored\": "
      "[{\"dtype\", \"fits\", \"margin\" (per unit of\n"
      "scale), \"loss\", \"gap_real\", \"checked\", \"longest_real\", \"gap_float32\", "
      "\"longest_float32\"}], "
      "\"certificate\", \"bytes\"}.\n"
      "\n"
      "Exit status: 0; 2 for bad input; 3 if it cannot be proven, or if interrupted; 4 for a "
      "folder that cannot be written\n"
      "or a config that cannot be read.\n"
      "\n"
      "Examples:\n"
      "  ropewalk construct number-task --hops 4 --length 256 --out number-4\n"
      "  ropewalk construct letter-task --hops 2 --format llama --dtype bf16 --out letter-2\n"
      "  ropewalk construct index --schedule examples/configs/llama-3.1-8b.json --format llama "
      "--out index-llama\n"
      "  ropewalk construct index --theta 'acos(3/5)' --length 17 --format plain --out "
      "index-exact");
  app.callback([args, &app, &exit_code] { exit_code = run(*args, question(app)); });
}

}  // namespace ropewalk::cli
