// ropewalk audit

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>

#include "checkpoints/checkpoint.hpp"
#include "cli/commands.hpp"
#include "cli/json_file.hpp"
#include "cli/output.hpp"
#include "proofs_numeric/optimal.hpp"
#include "proofs_numeric/precision.hpp"
#include "theory/config.hpp"

namespace ropewalk::cli {

using namespace proofs_numeric;
using theory::Enclosure;
using theory::Rational;
using theory::ResolvedRope;

namespace {

struct Arguments {
  Common common;
  std::string model;
  std::string length;
};

// The config of a model on disk, or a config by itself.
nlohmann::json config_of(const std::string& path) {
  if (!std::filesystem::is_directory(path) && path.ends_with(".json")) return read_json(path);
  const auto file = std::filesystem::path(path) / "config.json";
  if (std::filesystem::exists(file)) return read_json(file.string());
  const checkpoints::Checkpoint model = checkpoints::open_checkpoint(path);
  if (!model.config.is_object())
    throw Error(ErrorCode::bad_value, path + ": has no config.json, and no header that says one");
  return model.config;
}

// Layers with one table.
struct Kind {
  ResolvedRope rope;
  std::vector<unsigned> layers;  // empty: all
};

bool same_table(const ResolvedRope& a, const ResolvedRope& b) {
  return a.schedule.float32 == b.schedule.float32 &&
         a.schedule.attention_factor_float32 == b.schedule.attention_factor_float32 &&
         a.sliding_window == b.sliding_window;
}

std::vector<Kind> kinds_of(const nlohmann::json& config, const theory::Integer& length) {
  const nlohmann::json& text = config.contains("text_config") ? config["text_config"] : config;
  unsigned layers = 0;
  for (const char* key : {"num_hidden_layers", "n_layer", "num_layers"})
    if (const auto at = text.find(key); at != text.end() && at->is_number_unsigned())
      layers = std::min(at->get<unsigned>(), 10'000U);
  std::vector<Kind> kinds;
  for (unsigned layer = 0; layer < layers; ++layer) {
    std::optional<ResolvedRope> rope;
    try {
      rope = theory::resolve(config, {.length = length, .layer = layer});
    } catch (const Error& e) {
      // Some layers of some models have no rotary embedding.
      if (e.code() != ErrorCode::unsupported) throw;
      continue;
    }
    const auto same = std::find_if(kinds.begin(), kinds.end(),
                                   [&](const Kind& kind) { return same_table(kind.rope, *rope); });
    if (same == kinds.end())
      kinds.push_back({std::move(*rope), {layer}});
    else
      same->layers.push_back(layer);
  }
  if (kinds.empty())
    kinds.push_back({theory::resolve(config, {.length = length, .layer = {}}), {}});
  if (kinds.size() == 1) kinds.front().layers.clear();
  return kinds;
}

// What stands between these numbers and the model's own logits.
std::vector<std::string> left_out(const nlohmann::json& config, const ResolvedRope& rope) {
  std::vector<std::string> notes;
  if (rope.softcap)
    notes.push_back("logits pass through a softcap of " + rope.softcap->str() +
                    ", which shrinks margins: not part of the numbers");
  if (rope.sliding_window)
    notes.push_back("a sliding window of " + rope.sliding_window->str() +
                    " tokens: lags beyond it are not used by these layers");
  if (rope.attention_chunk)
    notes.push_back("attention in chunks of " + rope.attention_chunk->str() +
                    " tokens: lags beyond it are not used by these layers");
  if (rope.model_type.starts_with("gpt_oss"))
    notes.emplace_back("attention sinks take a part of the softmax: not part of the numbers");
  const nlohmann::json& text = config.contains("text_config") ? config["text_config"] : config;
  if (text.contains("kv_lora_rank") || text.contains("qk_rope_head_dim"))
    notes.push_back(fmt::format("multi-head latent attention: the table turns {} of {} features",
                                rope.rotary_dim, rope.head_dim));
  return notes;
}

struct Row {
  const Pipeline* pipeline = nullptr;
  PrecisionAudit audit;
  std::optional<Rational> needed;  // margin, of a head of unit size
  bool safe = false;               // the best Index head has more
};

struct Audited {
  Kind kind;
  Enclosure best;  // margin of the best Index head of unit size, the attention factor included
  std::vector<Row> rows;
};

Audited audit(Kind kind, std::int64_t length, bool progress) {
  const theory::Schedule& schedule = kind.rope.schedule;
  Audited result;
  const Enclosure optimum = optimal_head(schedule.frequencies, theory::Lag(length)).optimum;
  const Enclosure factor =
      enclosure((schedule.attention_factor * schedule.attention_factor).as<theory::Interval<40>>());
  result.best = {Rational(factor.lo * optimum.lo), Rational(factor.hi * optimum.hi)};
  for (const Pipeline& pipeline : pipelines()) {
    PrecisionOptions options;
    if (progress)
      options.progress = [&](double share) {
        std::cerr << fmt::format("\r{:<15} {:>3} %", pipeline.name, static_cast<int>(100 * share))
                  << std::flush;
      };
    Row row;
    row.pipeline = &pipeline;
    row.audit = precision_audit(schedule, pipeline, length, options);
    if (!row.audit.not_finite)
      if (const TableError* e = worst(row.audit.rotation, length); e != nullptr) {
        row.needed = safe_margin(e->error.hi, schedule.attention_factor);
        row.safe = *row.needed < result.best.lo;
      }
    result.rows.push_back(std::move(row));
  }
  if (progress) std::cerr << "\r                     \r";
  result.kind = std::move(kind);
  return result;
}

std::int64_t finite_until(const PrecisionAudit& audit) {
  return audit.not_finite ? *audit.not_finite - 1 : audit.length;
}

Json written(const Audited& table, std::int64_t length) {
  Json out = Json::array();
  for (const Row& row : table.rows) {
    Json p;
    p["name"] = row.pipeline->name;
    p["length"] = length;
    const TableError* e = row.audit.not_finite ? nullptr : worst(row.audit.cosine, length);
    p["max_cos_error"] = e == nullptr ? Json(nullptr) : json(e->error);
    p["finite_until"] = finite_until(row.audit);
    p["distinct_until"] = row.audit.distinct_until();
    p["margin_needed"] =
        row.needed ? Json(decimal(*row.needed, 6, theory::Round::up)) : Json(nullptr);
    p["safe"] = row.safe;
    if (!table.kind.layers.empty()) p["layers"] = table.kind.layers;
    out.push_back(std::move(p));
  }
  return out;
}

std::string layers_of(const Kind& kind) {
  if (kind.layers.empty()) return "all layers";
  std::string text = kind.layers.size() == 1 ? "layer" : "layers";
  for (std::size_t i = 0; i < kind.layers.size() && i < 8; ++i)
    text += " " + std::to_string(kind.layers[i]);
  if (kind.layers.size() > 8) text += " ... (" + std::to_string(kind.layers.size()) + ")";
  return text;
}

void print(const Audited& table, std::int64_t length) {
  std::cout << fmt::format("{}: {} planes, lags 1..{}; the best Index head has margin {}\n",
                           layers_of(table.kind), table.kind.rope.schedule.frequencies.size(),
                           length, text(table.best, 6));
  std::cout << fmt::format("  {:<15} {:<19} {:>13} {:>15} {:>9}  {}\n", "pipeline", "cos error",
                           "finite until", "distinct until", "needs", "best head");
  for (const Row& row : table.rows) {
    const TableError* e = row.audit.not_finite ? nullptr : worst(row.audit.cosine, length);
    std::cout << fmt::format(
        "  {:<15} {:<19} {:>13} {:>15} {:>9}  {}\n", row.pipeline->name,
        e != nullptr ? text(e->error, 6) : "not finite",
        row.audit.not_finite ? std::to_string(finite_until(row.audit)) : "all",
        row.audit.distinct_until() == length ? "all" : std::to_string(row.audit.distinct_until()),
        row.needed ? decimal(*row.needed, 3, theory::Round::up) : "-",
        row.safe ? "stays right" : "not proven right");
  }
}

int run(const Arguments& args) {
  const tbb::global_control limit = thread_limit(args.common);
  const theory::Integer lags = parse_integer("--length", args.length);
  if (lags < 1 || lags > longest_table)
    throw Error(ErrorCode::bad_value,
                fmt::format("--length must lie in 1..{}, not {}", longest_table, lags.str()));
  const auto length = static_cast<std::int64_t>(lags);
  const nlohmann::json config = config_of(args.model);
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::string> warnings;
  std::vector<std::string> notes;
  std::vector<Audited> tables;
  for (Kind& kind : kinds_of(config, lags)) {
    for (const std::string& warning : kind.rope.warnings)
      if (std::find(warnings.begin(), warnings.end(), warning) == warnings.end())
        warnings.push_back(warning);
    for (const std::string& note : left_out(config, kind.rope))
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
    tables.push_back(audit(std::move(kind), length, draws_progress()));
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  tell(warnings, args.common);

  if (args.common.json) {
    Json out;
    out["model"] = args.model;
    out["pipelines"] = Json::array();
    out["tables"] = Json::array();
    for (const Audited& table : tables) {
      for (Json& p : written(table, length)) out["pipelines"].push_back(std::move(p));
      Json t;
      t["layers"] = table.kind.layers;
      t["planes"] = table.kind.rope.schedule.frequencies.size();
      t["schedule"] = table.kind.rope.schedule.description;
      t["best_index_margin"] = json(table.best);
      out["tables"].push_back(std::move(t));
    }
    out["warnings"] = warnings;
    out["notes"] = notes;
    out["seconds"] = seconds;
    std::cout << out.dump(2) << '\n';
    return as_expected;
  }
  for (const Audited& table : tables) print(table, length);
  for (const std::string& note : notes) std::cout << "note: " << note << '\n';
  return as_expected;
}

}  // namespace

void add_audit(CLI::App& root, int& exit_code) {
  const auto args = std::make_shared<Arguments>();
  CLI::App& app = *root.add_subcommand(
      "audit", "Is a model's rotary table safe at this length, in this number format?");
  app.add_option("model", args->model, "A config.json, or the folder or file of a model")
      ->required()
      ->type_name("MODEL");
  app.add_option("--length", args->length, "Lags 1..L and positions 0..L; L up to 16777216")
      ->required()
      ->type_name("L");
  add_common(app, args->common);
  app.footer(
      "Every pipeline (number formats of inv_freq, positions, angles, table) of `ropewalk "
      "precision` on the model's\n"
      "own table, layer kind by layer kind. cos error is the proven largest |entry - cos(theta "
      "t)|; finite until is the\n"
      "last lag without an infinite angle, distinct until the last position whose row no earlier "
      "one has; needs is the\n"
      "margin that a head of unit size must have so that hard attention stays right with that "
      "table, in exact logits.\n"
      "It is held against the margin of the best Index head that the exact table allows at this "
      "length: 'stays right'\n"
      "is proven, 'not proven right' leaves it open for the best head and says nothing better of "
      "any other.\n"
      "Logits rounded to a format of p bits add 2^(1-p) of the largest logit: 2^-7 in bf16, 2^-10 "
      "in fp16 and tf32.\n"
      "Softcaps, sliding windows, chunks, attention sinks and latent attention are named in notes "
      "where the config has\n"
      "them.\n"
      "\n"
      "JSON: {\"model\", \"pipelines\": [{\"name\", \"length\", \"max_cos_error\": {\"lo\", "
      "\"hi\"} or null where the table is\n"
      "not finite, \"finite_until\", \"distinct_until\", \"margin_needed\", \"safe\", \"layers\" "
      "where they differ}],\n"
      "\"tables\": [{\"layers\", \"planes\", \"schedule\", \"best_index_margin\": {\"lo\", "
      "\"hi\"}}], \"warnings\", \"notes\",\n"
      "\"seconds\"}.\n"
      "\n"
      "Exit status: 0; 2 for bad input; 3 if interrupted; 4 for a file that cannot be read.\n"
      "\n"
      "Examples:\n"
      "  ropewalk audit examples/configs/llama-3.1-8b.json --length 4096\n"
      "  ropewalk audit examples/configs/llama-3.1-8b.json --length 131072 --json");
  app.callback([args, &exit_code] { exit_code = run(*args); });
}

}  // namespace ropewalk::cli
