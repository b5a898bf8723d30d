// ropewalk schedule: the rotary table of a model's config.json

#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>

#include "cli/commands.hpp"
#include "cli/json_file.hpp"
#include "cli/output.hpp"
#include "proofs_numeric/sha256.hpp"
#include "theory/config.hpp"

namespace ropewalk::cli {

namespace {

using theory::Enclosure;
using theory::Formula;
using theory::Integer;
using theory::Rational;
using theory::ResolvedRope;
using theory::Round;

struct Arguments {
  Common common;
  std::string config;
  std::string length;
  std::string layer;
  std::string digits = "17";
  std::string other;
  std::string export_path;
};

constexpr unsigned most_digits = 1000;

/// x correctly rounded to `digits` significant digits: both ends of an enclosure round to the same
/// text.
std::string rounded(const Formula& x, unsigned digits) {
  if (const auto s = theory::sign(x); s && *s == 0) return "0";
  for (unsigned more = 5; more <= 1280; more *= 4) {
    const Enclosure e = enclose(x, digits + more);
    const std::string low = decimal(e.lo, digits, Round::nearest);
    if (low == decimal(e.hi, digits, Round::nearest)) return low;
  }
  throw Error(ErrorCode::undecided, x.text() + " lies too near the middle of two decimals of " +
                                        std::to_string(digits) + " digits");
}

/// Tokens per turn; nothing for a plane that stands still.
std::optional<std::string> wavelength(const Formula& frequency, unsigned digits) {
  if (const auto s = theory::sign(frequency); s && *s == 0) return std::nullopt;
  return rounded(Formula(2) * Formula::pi() / frequency, digits);
}

/// The shortest decimal that reads back as this float.
std::string shortest(float x) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x).ptr;
  return {buffer.data(), end};
}
/// The same as a JSON number: the double nearest to that decimal, which prints as it.
Json number(float x) { return std::stod(shortest(x)); }

/// A JSON number, or a string beyond what 64 bits hold.
Json count(const std::optional<Integer>& tokens) {
  if (!tokens) return nullptr;
  if (*tokens > std::numeric_limits<std::int64_t>::max()) return tokens->str();
  return tokens->convert_to<std::int64_t>();
}

std::string shown(const std::optional<Integer>& window) { return window ? window->str() : "none"; }

unsigned parse_digits(const std::string& text) {
  const Integer n = parse_integer("--digits", text);
  if (n < 1 || n > most_digits)
    throw Error(ErrorCode::bad_value,
                "--digits must lie in 1.." + std::to_string(most_digits) + ", not " + n.str());
  return n.convert_to<unsigned>();
}

theory::ResolveOptions parse_options(const Arguments& args) {
  theory::ResolveOptions options;
  if (!args.length.empty()) options.length = parse_length(args.length);
  if (!args.layer.empty()) options.layer = parse_layer(args.layer);
  return options;
}

struct File {
  std::string path;
  std::string text;
  ResolvedRope rope;
};

File read(const std::string& path, const theory::ResolveOptions& options) {
  File file{path, read_file(path), {}};
  const nlohmann::json config = parse_json(file.text, path);
  try {
    file.rope = resolve(config, options);
  } catch (const Error& e) {
    throw Error(e.code(), path + ": " + e.what());
  }
  return file;
}

Json table(const ResolvedRope& rope, unsigned digits) {
  Json out;
  out["planes"] = Json::array();
  for (std::size_t f = 0; f < rope.schedule.frequencies.size(); ++f) {
    const Formula& frequency = rope.schedule.frequencies[f];
    const auto length = wavelength(frequency, digits);
    out["planes"].push_back({{"id", f + 1},
                             {"inv_freq", rounded(frequency, digits)},
                             {"inv_freq_f32", number(rope.schedule.float32[f])},
                             {"wavelength", length ? Json(*length) : Json(nullptr)}});
  }
  out["attention_factor"] = rounded(rope.schedule.attention_factor, digits);
  out["logit_scale"] = rounded(rope.logit_scale, digits);
  out["layout"] = name(rope.layout);
  out["rotary_dim"] = rope.rotary_dim;
  out["head_dim"] = rope.head_dim;
  out["sliding_window"] = count(rope.sliding_window);
  out["attention_chunk"] = count(rope.attention_chunk);
  out["softcap"] =
      rope.softcap ? Json(decimal(*rope.softcap, digits, Round::nearest)) : Json(nullptr);
  out["provenance"] = Json::object();
  for (const theory::Provenance& p : rope.provenance)
    out["provenance"][p.quantity] = {{"value", p.value}, {"source", p.source}};
  out["warnings"] = rope.warnings;
  return out;
}

void print_table(const File& file, unsigned digits) {
  const ResolvedRope& rope = file.rope;
  const auto row = [](const char* name, const std::string& value) {
    std::cout << fmt::format("  {:<17} {}\n", name, value);
  };
  std::cout << file.path << '\n';
  row("schedule", rope.schedule.description);
  row("rotary_dim", fmt::format("{} of {}", rope.rotary_dim, rope.head_dim));
  row("layout", name(rope.layout));
  row("attention_factor", rounded(rope.schedule.attention_factor, digits));
  row("logit_scale", rounded(rope.logit_scale, digits));
  row("sliding_window", shown(rope.sliding_window));
  if (rope.attention_chunk) row("attention_chunk", shown(rope.attention_chunk));
  std::cout << '\n';

  std::vector<std::array<std::string, 4>> rows = {{"id", "inv_freq", "inv_freq_f32", "wavelength"}};
  for (std::size_t f = 0; f < rope.schedule.frequencies.size(); ++f) {
    const Formula& frequency = rope.schedule.frequencies[f];
    rows.push_back({std::to_string(f + 1), rounded(frequency, digits),
                    shortest(rope.schedule.float32[f]),
                    wavelength(frequency, digits).value_or("stands still")});
  }
  std::array<std::size_t, 4> width{};
  for (const auto& cells : rows)
    for (std::size_t c = 0; c < cells.size(); ++c) width[c] = std::max(width[c], cells[c].size());
  for (const auto& cells : rows)
    std::cout << fmt::format("  {:>{}}  {:<{}}  {:<{}}  {}\n", cells[0], width[0], cells[1],
                             width[1], cells[2], width[2], cells[3]);

  std::cout << "\nwhere it comes from\n";
  std::size_t widest_name = 0;
  std::size_t widest_value = 0;
  for (const theory::Provenance& p : rope.provenance) {
    widest_name = std::max(widest_name, p.quantity.size());
    if (p.quantity != "schedule") widest_value = std::max(widest_value, p.value.size());
  }
  for (const theory::Provenance& p : rope.provenance)
    if (p.quantity != "schedule")
      std::cout << fmt::format("  {:<{}}  {:<{}}  {}\n", p.quantity, widest_name, p.value,
                               widest_value, p.source);
}

void print_warnings(const File& file, const std::string& prefix) {
  for (const std::string& warning : file.rope.warnings)
    std::cout << "warning: " << prefix << warning << '\n';
}

// ------------------------------------------------------------------------------------- --diff

struct Difference {
  std::size_t id;
  std::optional<std::string> a;
  std::optional<std::string> b;
  std::optional<std::string> relative;  // (b - a)/a
  std::optional<std::int64_t> ulps;
};

struct Comparison {
  std::vector<Difference> planes;
  std::vector<std::array<std::string, 3>> others;  // quantity, a, b
  std::vector<std::string> notes;
  bool differs = false;
};

/// True when two formulas are certainly unequal.
bool disjoint(const Formula& a, const Formula& b, const std::string& what, Comparison& into) {
  if (a.text() == b.text()) return false;
  const auto order = compare(a, b);
  if (!order)
    into.notes.push_back(what + ": 2560 digits do not tell the two values apart; counted as equal");
  return order && *order != 0;
}

Comparison compare_tables(const ResolvedRope& a, const ResolvedRope& b, unsigned digits) {
  Comparison result;
  const auto& fa = a.schedule.frequencies;
  const auto& fb = b.schedule.frequencies;
  for (std::size_t f = 0; f < std::max(fa.size(), fb.size()); ++f) {
    Difference d{f + 1, {}, {}, {}, {}};
    if (f < fa.size()) d.a = rounded(fa[f], digits);
    if (f < fb.size()) d.b = rounded(fb[f], digits);
    if (d.a && d.b) {
      if (!disjoint(fa[f], fb[f], "plane " + std::to_string(f + 1), result)) continue;
      if (theory::sign(fa[f]) != 0) d.relative = rounded((fb[f] - fa[f]) / fa[f], 6);
      d.ulps = theory::float32_ulps(a.schedule.float32[f], b.schedule.float32[f]);
    }
    result.planes.push_back(d);
  }
  result.differs = !result.planes.empty();
  if (disjoint(a.schedule.attention_factor, b.schedule.attention_factor, "attention_factor",
               result)) {
    result.others.push_back({"attention_factor", rounded(a.schedule.attention_factor, digits),
                             rounded(b.schedule.attention_factor, digits)});
    result.differs = true;
  }
  if (disjoint(a.logit_scale, b.logit_scale, "logit_scale", result))
    result.others.push_back(
        {"logit_scale", rounded(a.logit_scale, digits), rounded(b.logit_scale, digits)});
  if (a.layout != b.layout) result.others.push_back({"layout", name(a.layout), name(b.layout)});
  if (a.rotary_dim != b.rotary_dim)
    result.others.push_back(
        {"rotary_dim", std::to_string(a.rotary_dim), std::to_string(b.rotary_dim)});
  if (a.sliding_window != b.sliding_window)
    result.others.push_back({"sliding_window", shown(a.sliding_window), shown(b.sliding_window)});
  if (a.attention_chunk != b.attention_chunk)
    result.others.push_back(
        {"attention_chunk", shown(a.attention_chunk), shown(b.attention_chunk)});
  return result;
}

Json json_of(const Comparison& comparison) {
  Json list = Json::array();
  for (const Difference& d : comparison.planes)
    list.push_back({{"id", d.id},
                    {"a", d.a ? Json(*d.a) : Json(nullptr)},
                    {"b", d.b ? Json(*d.b) : Json(nullptr)},
                    {"relative", d.relative ? Json(*d.relative) : Json(nullptr)},
                    {"f32_ulps", d.ulps ? Json(*d.ulps) : Json(nullptr)}});
  return list;
}

void print_comparison(const File& a, const File& b, const Comparison& comparison) {
  std::cout << "a  " << a.path << ": " << a.rope.schedule.description << '\n';
  std::cout << "b  " << b.path << ": " << b.rope.schedule.description << '\n';
  const std::size_t planes =
      std::max(a.rope.schedule.frequencies.size(), b.rope.schedule.frequencies.size());
  if (!comparison.planes.empty()) {
    std::cout << '\n';
    std::vector<std::array<std::string, 5>> rows = {{"id", "a", "b", "relative", "f32_ulps"}};
    for (const Difference& d : comparison.planes)
      rows.push_back({std::to_string(d.id), d.a.value_or("-"), d.b.value_or("-"),
                      d.relative.value_or("-"), d.ulps ? std::to_string(*d.ulps) : "-"});
    std::array<std::size_t, 5> width{};
    for (const auto& cells : rows)
      for (std::size_t c = 0; c < cells.size(); ++c) width[c] = std::max(width[c], cells[c].size());
    for (const auto& cells : rows)
      std::cout << fmt::format("  {:>{}}  {:<{}}  {:<{}}  {:<{}}  {}\n", cells[0], width[0],
                               cells[1], width[1], cells[2], width[2], cells[3], width[3],
                               cells[4]);
  }
  std::cout << '\n';
  for (const auto& [quantity, left, right] : comparison.others)
    std::cout << quantity << ": " << left << " and " << right << '\n';
  std::cout << comparison.planes.size() << " of " << planes << " planes differ\n";
}

// ---------------------------------------------------------------------------- --export-test

std::string golden_table(const File& file, const Arguments& args) {
  const ResolvedRope& rope = file.rope;
  const auto exact_float = [](float x) {
    Json out;
    out["bits"] = fmt::format("{:08x}", std::bit_cast<std::uint32_t>(x));
    out["hex"] = fmt::format("{:a}", x);
    out["decimal"] = shortest(x);
    return out;
  };
  Json out;
  out["format"] = "ropewalk golden table 1";
  out["ropewalk"] = ROPEWALK_VERSION;
  out["transformers_followed"] = theory::transformers_followed;
  out["config"] = {{"file", std::filesystem::path(file.path).filename().string()},
                   {"sha256", proofs_numeric::sha256(file.text)},
                   {"length", args.length.empty() ? Json(nullptr) : Json(args.length)},
                   {"layer", args.layer.empty() ? Json(nullptr) : Json(args.layer)}};
  out["scheme"] = rope.schedule.scheme;
  out["description"] = rope.schedule.description;
  out["layout"] = name(rope.layout);
  out["rotary_dim"] = rope.rotary_dim;
  out["head_dim"] = rope.head_dim;
  out["dtype"] = "float32";
  out["attention_factor"] = exact_float(rope.schedule.attention_factor_float32);
  out["attention_factor"]["exact"] = rounded(rope.schedule.attention_factor, 40);
  out["logit_scale"] = rounded(rope.logit_scale, 40);
  out["planes"] = Json::array();
  for (std::size_t f = 0; f < rope.schedule.frequencies.size(); ++f) {
    Json plane = {{"id", f + 1}};
    plane.update(exact_float(rope.schedule.float32[f]));
    plane["exact"] = rounded(rope.schedule.frequencies[f], 40);
    plane["formula"] = rope.schedule.frequencies[f].text();
    out["planes"].push_back(plane);
  }
  return out.dump(1) + "\n";
}

// ------------------------------------------------------------------------------------ the command

int run(const Arguments& args) {
  const tbb::global_control limit = thread_limit(args.common);
  const unsigned digits = parse_digits(args.digits);
  const theory::ResolveOptions options = parse_options(args);
  const File file = read(args.config, options);
  std::optional<File> other;
  std::optional<Comparison> comparison;
  if (!args.other.empty()) {
    other = read(args.other, options);
    comparison = compare_tables(file.rope, other->rope, digits);
  }

  if (args.common.json) {
    Json out = table(file.rope, digits);
    if (comparison) {
      out["diff"] = json_of(*comparison);
      out["diff_other"] = Json::object();
      for (const auto& [quantity, a, b] : comparison->others)
        out["diff_other"][quantity] = {{"a", a}, {"b", b}};
      for (const std::string& warning : other->rope.warnings)
        out["warnings"].push_back(other->path + ": " + warning);
      for (const std::string& note : comparison->notes) out["warnings"].push_back(note);
    }
    std::cout << out.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  } else if (comparison) {
    print_comparison(file, *other, *comparison);
    for (const std::string& note : comparison->notes) std::cout << "note: " << note << '\n';
    print_warnings(file, "a: ");
    print_warnings(*other, "b: ");
  } else {
    print_table(file, digits);
    if (!file.rope.warnings.empty()) std::cout << '\n';
    print_warnings(file, "");
  }
  if (!args.export_path.empty()) write_file(args.export_path, golden_table(file, args));
  return comparison && comparison->differs ? check_failed : as_expected;
}

}  // namespace

void add_schedule(CLI::App& root, int& exit_code) {
  const auto args = std::make_shared<Arguments>();
  CLI::App& app = *root.add_subcommand(
      "schedule",
      "The frequency table of a model's config.json: exact, as float32, and where it comes from");
  app.add_option("CONFIG", args->config, "A Hugging Face config.json, of transformers 4 or 5")
      ->required()
      ->type_name("FILE");
  app.add_option(
         "--length", args->length,
         "Length of the input in tokens, for tables that depend on it (dynamic NTK, LongRoPE)")
      ->type_name("N");
  app.add_option("--layer", args->layer, "Layer, counted from 0, for models whose layers differ")
      ->type_name("K");
  app.add_option("--digits", args->digits,
                 "Significant digits of every printed number, 1..1000 (default 17)")
      ->type_name("DIGITS");
  app.add_option("--diff", args->other, "Compare with the table of a second config")
      ->type_name("OTHER");
  app.add_option("--export-test", args->export_path,
                 "Also write a golden table (JSON) that tests of other projects can assert against")
      ->type_name("FILE");
  add_common(app, args->common);
  app.footer(
      "Plane f turns by inv_freq radians per token; its ID is f+1; its wavelength is 2 pi/inv_freq "
      "tokens.\n"
      "inv_freq is computed from the formula and correctly rounded to DIGITS digits. inv_freq_f32 "
      "is "
      "what Hugging\n"
      "Face transformers holds in memory after its own float32 arithmetic. logit_scale is "
      "1/sqrt(head_dim), or\n"
      "the model's override, times attention_factor^2 and mscale^2 where the model has them.\n"
      "\n"
      "Every value is shown with the key it came from, 'absent, ... assumed' where it came from "
      "nowhere. Two\n"
      "keys that disagree are an error; keys that look rotary and are not read are warnings, as "
      "are parts of\n"
      "a model that change its attention and not this table. Unknown scaling types are refused by "
      "name.\n"
      "\n"
      "JSON: {\"planes\": [{\"id\", \"inv_freq\", \"inv_freq_f32\", \"wavelength\"}], "
      "\"attention_factor\",\n"
      "\"logit_scale\", \"layout\", \"rotary_dim\", \"head_dim\", \"sliding_window\", "
      "\"attention_chunk\", \"softcap\", "
      "\"provenance\":\n"
      "{quantity: {\"value\", \"source\"}}, \"warnings\"}; with --diff also \"diff\": [{\"id\", "
      "\"a\", \"b\",\n"
      "\"relative\", \"f32_ulps\"}] and \"diff_other\". Numbers of DIGITS digits are strings.\n"
      "\n"
      "Exit status: 0; 1 if --diff found a plane or an attention factor that differs for certain; "
      "2 for a\n"
      "config that cannot be read as a table; 3 if a decision needs more than 2560 digits; 4 for "
      "file trouble.\n"
      "\n"
      "Examples:\n"
      "  ropewalk schedule examples/configs/llama-3.1-8b.json\n"
      "  ropewalk schedule examples/configs/gemma-3-4b.json --layer 0 --json\n"
      "  ropewalk schedule examples/configs/phi-4-mini.json --length 8192 --export-test "
      "phi-4-mini-long.json\n"
      "  ropewalk schedule examples/configs/llama-2-7b.json --diff "
      "examples/configs/llama-3.1-8b.json");
  app.callback([args, &exit_code] { exit_code = run(*args); });
}

}  // namespace ropewalk::cli
