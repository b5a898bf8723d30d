// ropewalk inspect

#include "checkpoints/inspect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>

#include "checkpoints/recorded.hpp"
#include "cli/commands.hpp"
#include "cli/model_input.hpp"

namespace ropewalk::cli {

using namespace checkpoints;
using theory::Pairing;

namespace {

struct Arguments {
  Common common;
  std::string model;
  std::string against;
  std::string recorded;
  InputArguments inputs;
};

// What was found out, side by side with what is wrong.
struct Report {
  Subject subject;
  std::optional<LayoutEvidence> layout;
  std::optional<Subject> other;
  std::optional<Comparison> comparison;
  std::vector<std::string> tables;  // recorded ones that were looked at
  std::vector<Finding> findings;

  void add(const std::vector<Finding>& more, const std::string& before = "") {
    for (Finding f : more) {
      f.message = before + f.message;
      for (char& c : f.message)  // names in files are their authors'
        if (static_cast<unsigned char>(c) < ' ' || c == 0x7F) c = '?';
      const bool known = std::any_of(findings.begin(), findings.end(), [&](const Finding& g) {
        return g.id == f.id && g.message == f.message;
      });
      if (!known) findings.push_back(std::move(f));
    }
  }
};

std::function<void(double)> progress(const char* what) {
  if (!draws_progress()) return {};
  return [what](double share) {
    std::cerr << fmt::format("\r{} {:>3} %", what, static_cast<int>(100 * share)) << std::flush;
  };
}

// The tables of a file against the table that each of its layers should have.
std::vector<Finding> recorded(const Checkpoint& file, const Subject& meant) {
  std::map<std::optional<unsigned>, Expected> tables;
  return check_recorded(
      file, [&](const std::string& name, std::optional<unsigned> layer) -> const Expected& {
        // Gemma 3 keeps the table of its sliding layers under a name of its own.
        if (!layer && name.find("rotary_emb_local") != std::string::npos)
          layer = meant.sliding_layer();
        if (layer && !meant.rotates(*layer)) layer.reset();
        const auto at = tables.find(layer);
        if (at != tables.end()) return at->second;
        const theory::ResolvedRope rope = layer ? meant.table(layer) : *meant.rope;
        return tables
            .emplace(layer, Expected{rope.schedule, rope.rotary_dim, rope.base, rope.layout})
            .first->second;
      });
}

Report inspect(const Arguments& args) {
  Report r;
  r.subject = open_subject(args.model);
  const Subject& s = r.subject;
  r.add(s.findings);
  r.add(check_config(s));
  if (s.checkpoint) r.add(check_numbers(s, progress("numbers")));
  if (s.checkpoint && s.rope) {
    r.tables = recorded_tables(*s.checkpoint);
    r.add(recorded(*s.checkpoint, s));
  }
  if (!args.recorded.empty()) {
    if (!s.rope)
      throw Error(ErrorCode::bad_value,
                  "--recorded: " + args.model + " has no config that says what its table is");
    const Checkpoint tables = open_checkpoint(args.recorded);
    const auto names = recorded_tables(tables);
    if (names.empty())
      throw Error(ErrorCode::bad_value,
                  "--recorded: " + args.recorded +
                      " has no tensor called inv_freq, cos, sin, cos_cached or sin_cached");
    r.tables.insert(r.tables.end(), names.begin(), names.end());
    r.add(recorded(tables, s), file_name(args.recorded) + ": ");
  }
  if (s.model) {
    r.layout = LayoutEvidence{s.model->pairing(), pair_shares(*s.model), {}};
    if (names_inputs(args.inputs)) {
      const Inputs inputs = read_inputs(args.inputs, *s.model);
      std::vector<std::int32_t> answers;
      for (const tasks::Sample& sample : inputs.samples) answers.push_back(sample.answer);
      r.layout->loss = rotation_losses(*s.model, inputs.tokens, answers, progress("layouts"));
    }
    r.add(check_layout(*r.layout));
  } else if (names_inputs(args.inputs)) {
    throw Error(ErrorCode::bad_value,
                args.model + ": no model that runs on --tokens, --text or --task: " +
                    (s.findings.empty() ? "it is a config by itself" : s.findings.back().message));
  }
  if (!args.against.empty()) {
    r.other = open_subject(args.against);
    r.add(r.other->findings, file_name(args.against) + ": ");
    r.add(check_tables(s, *r.other));
    if (!s.model || !r.other->model) {
      const Subject& without = s.model ? *r.other : s;
      r.add({{"against.partial", "note",
              "only the tables were compared, not rows and weights: " + without.path +
                  (without.checkpoint ? " is not understood as a model"
                                      : " is a config by itself")}});
    } else {
      r.comparison = compare(*s.model, *r.other->model);
      r.add(check_comparison(s, *r.other, *r.comparison));
    }
  }
  if (draws_progress()) std::cerr << "\r                    \r";
  const auto rank = [](const Finding& f) {
    return f.severity == "error" ? 0 : f.severity == "warning" ? 1 : 2;
  };
  std::stable_sort(r.findings.begin(), r.findings.end(),
                   [&](const Finding& a, const Finding& b) { return rank(a) < rank(b); });
  return r;
}

const char* detected(const LayoutEvidence& layout) {
  return layout.detected() == Pairing::unknown ? "cannot tell" : theory::name(layout.detected());
}

// Tensors by element type: "F32 26, I64 1".
std::string by_type(const Checkpoint& c) {
  std::map<std::string, std::size_t> count;
  for (const auto& [name, tensor] : c.tensors) ++count[checkpoints::name(tensor.dtype)];
  std::string text;
  for (const auto& [type, n] : count)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", type, n);
  return text;
}

Json size_of(const Subject& s, std::int64_t Model::*part) {
  return s.model ? Json(*s.model.*part) : Json(nullptr);
}

Json written(const Report& r) {
  const Subject& s = r.subject;
  Json out;
  out["model"] = s.path;
  out["format"] = s.checkpoint ? s.checkpoint->format : "config";
  out["architecture"] = s.model  ? Json(s.model->family)
                        : s.rope ? Json(s.rope->model_type)
                                 : Json(nullptr);
  out["layers"] = s.model ? Json(s.model->layers.size()) : Json(s.layers());
  out["heads"] = size_of(s, &Model::heads);
  out["kv_heads"] = size_of(s, &Model::kv_heads);
  out["head_dim"] = s.rope ? Json(s.rope->head_dim) : Json(nullptr);
  Json layout;
  layout["declared"] = theory::name(r.layout ? r.layout->declared
                                    : s.rope ? s.rope->layout
                                             : Pairing::unknown);
  layout["detected"] = r.layout ? detected(*r.layout) : "cannot tell";
  layout["evidence"] = Json::object();
  if (r.layout) {
    const PairShares& w = r.layout->weights;
    layout["evidence"]["weights"] = {{"interleaved", number(w.interleaved)},
                                     {"half_split", number(w.half_split)},
                                     {"random", number(w.random)},
                                     {"standard_error", number(w.deviation)},
                                     {"planes", w.planes}};
    if (const auto& l = r.layout->loss)
      layout["evidence"]["loss"] = {{"interleaved", number(l->interleaved)},
                                    {"half_split", number(l->half_split)},
                                    {"none", number(l->none)},
                                    {"uniform", number(l->uniform)},
                                    {"tokens", l->tokens}};
  }
  out["layout"] = std::move(layout);
  if (s.rope) {
    const theory::ResolvedRope& rope = *s.rope;
    Json schedule;
    schedule["description"] = rope.schedule.description;
    schedule["rotary_dim"] = rope.rotary_dim;
    schedule["inv_freq"] = Json::array();
    for (const float x : rope.schedule.float32)
      schedule["inv_freq"].push_back(static_cast<double>(x));
    schedule["attention_factor"] = static_cast<double>(rope.schedule.attention_factor_float32);
    schedule["logit_scale"] = rope.logit_scale.as<double>();
    schedule["provenance"] = Json::object();
    for (const theory::Provenance& p : rope.provenance)
      schedule["provenance"][p.quantity] = {{"value", p.value}, {"source", p.source}};
    out["schedule"] = std::move(schedule);
  } else {
    out["schedule"] = nullptr;
  }
  out["tensors"] = Json::array();
  if (s.checkpoint)
    for (const auto& [name, tensor] : s.checkpoint->tensors)
      out["tensors"].push_back(
          {{"name", name}, {"dtype", checkpoints::name(tensor.dtype)}, {"shape", tensor.shape}});
  out["recorded"] = r.tables;
  if (r.comparison) {
    out["against"] = Json::array();
    for (const HeadMatch& m : r.comparison->heads)
      out["against"].push_back({{"layer", m.layer},
                                {"part", std::string(1, m.part)},
                                {"head", m.head},
                                {"permutation", m.permutation},
                                {"residual", number(m.residual)}});
  }
  out["findings"] = Json::array();
  for (const Finding& f : r.findings)
    out["findings"].push_back({{"id", f.id}, {"severity", f.severity}, {"message", f.message}});
  return out;
}

void print(const Report& r) {
  const Subject& s = r.subject;
  const auto row = [](const char* name, std::string value) {
    for (char& c : value)
      if (static_cast<unsigned char>(c) < ' ' || c == 0x7F) c = '?';
    std::cout << fmt::format("  {:<10} {}\n", name, value);
  };
  std::cout << s.path << '\n';
  if (s.checkpoint)
    row("format",
        fmt::format("{}, {} tensor{}: {}", s.checkpoint->format, s.checkpoint->tensors.size(),
                    s.checkpoint->tensors.size() == 1 ? "" : "s", by_type(*s.checkpoint)));
  if (s.model) {
    const Model& m = *s.model;
    row("model",
        fmt::format("{}: {} layers, {} heads of {}, {} key heads, hidden {}, vocabulary {}",
                    m.family, m.layers.size(), m.heads, m.head_dim, m.kv_heads, m.hidden,
                    m.vocabulary));
  }
  if (s.rope) {
    row("config", s.config_source);
    row("table", s.rope->schedule.description);
    row("", fmt::format("{} of {} features turn; logits are scaled by {:.6g}", s.rope->rotary_dim,
                        s.rope->head_dim, s.rope->logit_scale.as<double>()));
    for (const theory::Provenance& p : s.rope->provenance)
      if (p.quantity != "schedule")
        std::cout << fmt::format("    {:<26} {:<12} {}\n", p.quantity, p.value, p.source);
  }
  if (r.layout) {
    const LayoutEvidence& l = *r.layout;
    row("layout",
        fmt::format("{} declared, {}", theory::name(l.declared),
                    l.detected() == Pairing::unknown ? "cannot tell from the weights"
                                                     : std::string(detected(l)) + " detected"));
    if (l.loss)
      std::cout << fmt::format(
          "    nats per token: interleaved {:.4g}, half-split {:.4g}, no rotation {:.4g}, all "
          "tokens "
          "alike {:.4g} ({} tokens)\n",
          l.loss->interleaved, l.loss->half_split, l.loss->none, l.loss->uniform, l.loss->tokens);
    std::cout << fmt::format(
        "    share of quarter turns: interleaved {:.3f}, half-split {:.3f}, random "
        "pairs {:.3f}\n",
        l.weights.interleaved, l.weights.half_split, l.weights.random);
  } else if (s.rope) {
    row("layout", fmt::format("{} declared", theory::name(s.rope->layout)));
  }
  for (const std::string& name : r.tables) row("recorded", name);
  if (r.comparison)
    for (const PermutationGroup& g : groups(*r.comparison)) {
      std::string heads = "all heads";
      if (!g.all) {
        heads = fmt::format("{} heads, the first in layer {} head {}", g.heads.size(),
                            g.heads.front()->layer, g.heads.front()->head);
      }
      row(g.part == 'q' ? "queries" : "keys",
          fmt::format("{}: {} (largest |difference| / |rows| {:.3g})", g.permutation, heads,
                      g.residual));
    }
  if (r.comparison && std::none_of(r.findings.begin(), r.findings.end(),
                                   [](const Finding& f) { return f.severity == "error"; }))
    row("verdict", "the same model: every row is where the two layouts ask for it");
  if (r.findings.empty()) std::cout << "nothing found\n";
  for (const Finding& f : r.findings)
    std::cout << fmt::format("{:<8} {:<20} {}\n", f.severity, f.id, f.message);
}

int run(const Arguments& args) {
  const tbb::global_control limit = thread_limit(args.common);
  const Report report = inspect(args);
  if (args.common.json)
    std::cout << written(report).dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  else
    print(report);
  const bool wrong = std::any_of(report.findings.begin(), report.findings.end(),
                                 [](const Finding& f) { return f.severity == "error"; });
  return wrong ? check_failed : as_expected;
}

}  // namespace

void add_inspect(CLI::App& root, int& exit_code) {
  const auto args = std::make_shared<Arguments>();
  CLI::App& app = *root.add_subcommand(
      "inspect",
      "What a model on disk is, which table and layout it has, and what is wrong with it");
  app.add_option("model", args->model, "Folder or file of a model, or a config.json")
      ->required()
      ->type_name("MODEL");
  app.add_option("--against", args->against,
                 "Another file of the same model, or a config: tables, rows of every head, weights")
      ->type_name("OTHER");
  app.add_option("--recorded", args->recorded,
                 "Tables that a program made: tensors inv_freq, cos, sin, cos_cached or sin_cached")
      ->type_name("FILE");
  add_inputs(app, args->inputs);
  add_common(app, args->common);
  app.footer(
      "Every number is looked at (NaN, infinities), every table in the file is held against the "
      "one that the config\n"
      "means, and the layout that is declared against the weights. With --tokens, --text or "
      "--task the model also runs\n"
      "under both layouts and without rotation: the right one has the lowest loss (of the next "
      "token; of the answer, with\n"
      "--task). Without them the weights alone decide, or nothing does: \"cannot tell\". With "
      "--against, the rows of\n"
      "queries and keys are looked for in the other file, and the permutation is named, head by "
      "head.\n"
      "docs/inspect.md has every finding, with the faults in the field that it comes from.\n"
      "\n"
      "JSON: {\"model\", \"format\", \"architecture\", \"layers\", \"heads\", \"kv_heads\", "
      "\"head_dim\", \"layout\": {\"declared\",\n"
      "\"detected\", \"evidence\": {\"weights\", \"loss\"}}, \"schedule\": {\"description\", "
      "\"rotary_dim\", \"inv_freq\": [...],\n"
      "\"attention_factor\", \"logit_scale\", \"provenance\"}, \"tensors\": [{\"name\", "
      "\"dtype\", \"shape\"}], \"recorded\": [name],\n"
      "\"against\" if asked for: [{\"layer\", \"part\", \"head\", \"permutation\", \"residual\"}], "
      "\"findings\": [{\"id\",\n"
      "\"severity\", \"message\"}]}; null for what the file does not say.\n"
      "\n"
      "Exit status: 0; 1 if there is a finding of severity \"error\"; 2 for bad input; 3 if "
      "interrupted; 4 for a file\n"
      "that cannot be read.\n"
      "\n"
      "Examples:\n"
      "  ropewalk inspect examples/configs/llama-3.1-8b.json\n"
      "  ropewalk inspect models/tinystories-656k --text story.txt\n"
      "  ropewalk inspect models/mine.gguf --against models/mine --json");
  app.callback([args, &exit_code] { exit_code = run(*args); });
}

}  // namespace ropewalk::cli
