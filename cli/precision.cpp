// ropewalk precision

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/table.hpp"
#include "proofs_numeric/precision.hpp"

namespace ropewalk::cli {

using namespace proofs_numeric;

namespace {

struct Arguments {
  Common common;
  TableArguments table;
  std::vector<std::string> pipelines;
  bool records = false;
  std::string certificate;
};

std::vector<Pipeline> chosen(const std::vector<std::string>& names) {
  const auto known = pipelines();
  if (names.empty()) return {known.begin(), known.end()};
  std::vector<Pipeline> result;
  for (const std::string& name : names) {
    const auto* const p =
        std::find_if(known.data(), known.data() + known.size(),
                     [&](const Pipeline& candidate) { return candidate.name == name; });
    if (p == known.data() + known.size()) {
      std::string all;
      for (const Pipeline& other : known)
        all += (all.empty() ? "" : ", ") + std::string(other.name);
      throw Error(ErrorCode::bad_value,
                  "--pipeline must be one of " + all + ", not '" + name + "'");
    }
    result.push_back(*p);
  }
  return result;
}

Json written(const TableError* e) {
  if (e == nullptr) return nullptr;
  return {{"error", json(e->error)}, {"lag", std::to_string(e->lag)}, {"plane", e->plane + 1}};
}

Json written(const Pipeline& pipeline, const PrecisionAudit& audit,
             const theory::Formula& attention_factor, bool records) {
  Json out;
  out["name"] = pipeline.name;
  out["inv_freq"] = pipeline.inv_freq.name;
  out["positions"] = pipeline.positions.name;
  out["angles"] = pipeline.angles.name;
  out["table"] = pipeline.table.name;
  // Beyond the first lag that is not finite there is no error size.
  const std::int64_t length = audit.not_finite ? 0 : audit.length;
  out["cosine"] = written(worst(audit.cosine, length));
  out["sine"] = written(worst(audit.sine, length));
  out["rotation"] = written(worst(audit.rotation, length));
  out["margin"] = nullptr;
  if (const TableError* e = worst(audit.rotation, length); e != nullptr && length > 0)
    out["margin"] = decimal(safe_margin(e->error.hi, attention_factor), 6, theory::Round::up);
  out["angle"] = written(audit.not_finite || !audit.angle ? nullptr : &*audit.angle);
  out["not_finite_from"] =
      audit.not_finite ? Json(std::to_string(*audit.not_finite)) : Json(nullptr);
  out["distinct_until"] = std::to_string(audit.distinct_until());
  out["same_row"] = Json::array();
  if (audit.collision)
    out["same_row"] = {std::to_string(audit.collision->earlier),
                       std::to_string(audit.collision->later)};
  if (records) {
    out["records"] = Json::array();
    for (const TableError& e : audit.cosine) out["records"].push_back(written(&e));
  }
  return out;
}

void print_row(const Pipeline& pipeline, const PrecisionAudit& audit,
               const theory::Formula& attention_factor, bool records) {
  const TableError* e = audit.not_finite ? nullptr : worst(audit.cosine, audit.length);
  const TableError* pair = audit.not_finite ? nullptr : worst(audit.rotation, audit.length);
  std::cout << fmt::format(
      "  {:<15} {:<19} {:>8} {:>6} {:>9} {:>13} {:>15}\n", pipeline.name,
      e != nullptr ? text(e->error, 6) : "not finite", e != nullptr ? std::to_string(e->lag) : "-",
      e != nullptr ? std::to_string(e->plane + 1) : "-",
      pair != nullptr ? decimal(safe_margin(pair->error.hi, attention_factor), 3, theory::Round::up)
                      : "-",
      audit.not_finite ? std::to_string(*audit.not_finite - 1) : "all",
      audit.distinct_until() == audit.length ? "all" : std::to_string(audit.distinct_until()));
  if (!records) return;
  for (const TableError& r : audit.cosine)
    std::cout << fmt::format("    {:<13} {:<19} {:>8} {:>6}\n", "record", text(r.error, 6), r.lag,
                             r.plane + 1);
}

int run(const Arguments& args, const std::string& command) {
  const tbb::global_control limit = thread_limit(args.common);
  const std::vector<Pipeline> asked = chosen(args.pipelines);
  const theory::Integer lags = parse_integer("--length", args.table.length);
  if (lags < 1 || lags > longest_table)
    throw Error(ErrorCode::bad_value,
                fmt::format("--length must lie in 1..{}, not {}", longest_table, lags.str()));
  const auto length = static_cast<std::int64_t>(lags);
  TableArguments arguments = args.table;
  if (arguments.config.empty()) arguments.length.clear();  // a base has one table at all lengths
  const Table table = read_table(arguments);
  const theory::Schedule schedule =
      table.rope ? table.rope->schedule : theory::default_schedule(*table.plain);
  check_certificate(args.certificate);
  tell(table.warnings, args.common);
  std::vector<std::string> notes;
  if (const auto factor = schedule.attention_factor.rational(); !factor || *factor != 1)
    notes.push_back("entries and errors carry the attention factor " +
                    schedule.attention_factor.text());

  const auto start = std::chrono::steady_clock::now();
  std::vector<PrecisionAudit> audits;
  for (const Pipeline& pipeline : asked) {
    PrecisionOptions options;
    if (draws_progress())
      options.progress = [&](double share) {
        std::cerr << fmt::format("\r{:<15} {:>3} %", pipeline.name, static_cast<int>(100 * share))
                  << std::flush;
      };
    audits.push_back(precision_audit(schedule, pipeline, length, options));
    if (options.progress) std::cerr << "\r                     \r";
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  if (!args.certificate.empty()) {
    std::vector<Fact> facts;
    for (std::size_t i = 0; i < asked.size(); ++i)
      for (Fact& fact : precision_facts(schedule, asked[i], audits[i]))
        facts.push_back(std::move(fact));
    if (facts.empty())
      throw Error(ErrorCode::unsupported, "--certificate: no table asked for has a finite lag");
    Json words;
    words["statement"] =
        "For each pipeline: how far its inv_freq are from the exact frequencies, and the largest "
        "error of the cosines in its table, at every length, where it is finite.";
    words["pipelines"] = Json::array();
    for (const Pipeline& p : asked) words["pipelines"].push_back(p.name);
    write_certificate(args.certificate, command, Verdict::proved, facts, words);
  }

  if (args.common.json) {
    Json out;
    out["planes"] = schedule.frequencies.size();
    out["length"] = std::to_string(length);
    out["pipelines"] = Json::array();
    for (std::size_t i = 0; i < asked.size(); ++i)
      out["pipelines"].push_back(
          written(asked[i], audits[i], schedule.attention_factor, args.records));
    out["warnings"] = table.warnings;
    out["notes"] = notes;
    out["seconds"] = seconds;
    std::cout << out.dump(2) << '\n';
    return as_expected;
  }
  std::cout << fmt::format("{} plane{}, lags 1..{}\n", schedule.frequencies.size(),
                           schedule.frequencies.size() == 1 ? "" : "s", length);
  std::cout << fmt::format("  {:<15} {:<19} {:>8} {:>6} {:>9} {:>13} {:>15}\n", "pipeline",
                           "cos error", "at lag", "plane", "margin", "finite until",
                           "distinct until");
  for (std::size_t i = 0; i < asked.size(); ++i)
    print_row(asked[i], audits[i], schedule.attention_factor, args.records);
  for (const std::string& note : notes) std::cout << "note: " << note << '\n';
  return as_expected;
}

}  // namespace

void add_precision(CLI::App& root, int& exit_code) {
  const auto args = std::make_shared<Arguments>();
  CLI::App& app = *root.add_subcommand(
      "precision", "What rounding does to a rotary table: the largest error, proven");
  add_table(app, args->table);
  app.get_option("--length")
      ->required()
      ->description(
          "Lags 1..L and positions 0..L; L up to 16777216. Also the length of the "
          "sequence, for tables that depend on it");
  app.add_option("--pipeline", args->pipelines, "Only these, by name; any number (all)")
      ->type_name("NAME");
  app.add_flag("--records", args->records,
               "Also list every lag that sets a new record of the cos error: the answer at every "
               "shorter length");
  add_certificate(app, args->certificate);
  add_common(app, args->common);
  std::string list;
  for (const Pipeline& p : pipelines())
    list += fmt::format("  {:<15} {:>8} {:>9} {:>6} {:>5}   {}\n", p.name, p.inv_freq.name,
                        p.positions.name, p.angles.name, p.table.name, p.description);
  app.footer(
      "A table comes about as angle = inv_freq * position, entry = cos(angle), and every step "
      "rounds to a format.\n"
      "cos error is the largest |entry - cos(theta t)| over lags and planes against the exact "
      "frequency, with the\n"
      "lag and the plane (counted from 1) where it occurs: proven, if the library's cosine is the "
      "correctly rounded\n"
      "one. margin is what a head of unit size needs so that hard attention stays right: 2(2Ae + "
      "e^2), e the largest\n"
      "distance of a pair (cos, sin) from the exact point. finite until is the last lag without an "
      "infinite angle,\n"
      "distinct until the last position whose row no earlier position has.\n"
      "\n"
      "  pipeline        inv_freq positions angles table\n" +
      list +
      "\n"
      "JSON: {\"planes\", \"length\", \"pipelines\": [{\"name\", the four formats, \"cosine\", "
      "\"sine\", \"rotation\" (both\n"
      "at once, as a distance), \"angle\" (radians): {\"error\": {\"lo\", \"hi\"}, \"lag\", "
      "\"plane\"} or null where the\n"
      "table is not finite, \"margin\", \"not_finite_from\": lag or null, \"distinct_until\", "
      "\"same_row\": "
      "two positions or none,\n"
      "\"records\" if asked for}], \"warnings\", \"notes\", \"seconds\"}.\n"
      "\n"
      "Exit status: 0; 2 for bad input; 3 if interrupted.\n"
      "\n"
      "Examples:\n"
      "  ropewalk precision --base 5e5 --planes 64 --length 4096\n"
      "  ropewalk precision --schedule examples/configs/llama-3.1-8b.json --length 131072 "
      "--pipeline fp32 --json");
  app.callback([args, &app, &exit_code] { exit_code = run(*args, question(app)); });
}

}  // namespace ropewalk::cli
