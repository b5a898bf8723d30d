// ropewalk base

#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "proofs_numeric/base_set.hpp"

namespace ropewalk::cli {

using namespace proofs_numeric;
using theory::Enclosure;
using theory::Integer;
using theory::Rational;
using theory::Round;

namespace {

struct Arguments {
  Common common;
  std::string length;
  std::string dim = "128";
  std::string from = "1";
  std::string to;
  std::string certificate;
  bool pieces = false;
};

constexpr unsigned digits = 24;

Rational parse_base(std::string_view flag, const std::string& text) {
  Rational value = parse_rational(flag, text);
  if (value < 1)
    throw Error(ErrorCode::bad_value,
                std::string(flag) + ": a base must be at least 1, not " + text);
  if (value > Rational(boost::multiprecision::pow(Integer(10), 18)))
    throw Error(ErrorCode::too_large,
                std::string(flag) + ": bases are capped at 1e18, not " + text);
  return value;
}

BaseQuestion parse(const Arguments& args) {
  BaseQuestion question;
  const Integer length = parse_integer("--length", args.length);
  if (length < 1)
    throw Error(ErrorCode::bad_value, "--length must be at least 1, not " + args.length);
  if (length > (1 << 24))
    throw Error(ErrorCode::too_large, "--length is capped at 16777216, not " + args.length);
  const Integer dim = parse_integer("--dim", args.dim);
  if (dim < 2 || dim % 2 != 0)
    throw Error(ErrorCode::bad_value, "--dim must be even and at least 2, not " + args.dim);
  if (dim > 1024) throw Error(ErrorCode::too_large, "--dim is capped at 1024, not " + args.dim);
  question.length = static_cast<std::uint64_t>(length);
  question.dim = static_cast<unsigned>(dim);
  question.from = parse_base("--from", args.from);
  if (!args.to.empty()) {
    question.to = parse_base("--to", args.to);
    if (*question.to <= question.from)
      throw Error(ErrorCode::bad_value,
                  "--to must exceed --from, " + args.from + ", and is " + args.to);
  } else if (question.from == Rational(boost::multiprecision::pow(Integer(10), 18))) {
    throw Error(ErrorCode::too_large, "--from: bases are capped at 1e18, so none is left");
  }
  return question;
}

// Ends rounded towards the middle, so that what is printed is proven.
std::pair<std::string, std::string> inner(const Enclosure& x, unsigned shown) {
  return {decimal(x.lo, shown, Round::up), decimal(x.hi, shown, Round::down)};
}

Json pair(const std::pair<std::string, std::string>& ends) {
  return Json::array({ends.first, ends.second});
}

Json json_of(const BaseQuestion& question, const BaseSet& set, bool pieces) {
  Json out;
  out["length"] = std::to_string(question.length);
  out["dim"] = question.dim;
  out["from"] = decimal(set.from, digits, Round::up);
  out["to"] = decimal(set.to, digits, Round::down);
  out["infimum"] = json(set.infimum, digits);
  out["binding"] = set.binding ? Json(std::to_string(*set.binding)) : Json(nullptr);
  out["admissible"] = Json::array();
  for (const Enclosure& x : set.admissible) out["admissible"].push_back(pair(inner(x, digits)));
  out["undecided"] = Json::array();
  for (const Enclosure& x : set.undecided)
    out["undecided"].push_back(
        pair({decimal(x.lo, digits, Round::down), decimal(x.hi, digits, Round::up)}));
  out["rejected"] = set.rejected;
  if (!pieces) return out;
  out["rejected_pieces"] = Json::array();
  for (const BasePiece& piece : set.pieces)
    if (piece.kind == PieceKind::rejected)
      if (const auto bases = bases_of(piece, question.dim)) {
        Json entry = pair(inner(*bases, digits));
        entry.push_back(std::to_string(piece.violated));
        out["rejected_pieces"].push_back(std::move(entry));
      }
  return out;
}

void print(const BaseQuestion& question, const BaseSet& set, bool pieces) {
  constexpr std::size_t most = 12;
  constexpr unsigned shown = 14;
  std::cout << fmt::format("Bases from {} to {} that serve {} tokens, d = {}\n",
                           decimal(set.from, shown, Round::nearest),
                           decimal(set.to, shown, Round::nearest), question.length, question.dim);
  const auto row = [](const std::string& name, const std::string& value) {
    std::cout << fmt::format("  {:<12} {}\n", name, value);
  };
  row("infimum",
      set.infimum
          ? text(*set.infimum, 20) +
                (set.binding ? fmt::format("   lag {} sums to zero there", *set.binding) : "")
          : "none: no base of the range serves");
  std::string name = "admissible";
  for (std::size_t i = 0; i < set.admissible.size() && i < most; ++i) {
    const auto [lo, hi] = inner(set.admissible[i], shown);
    row(name, fmt::format("[{}, {}]", lo, hi));
    name.clear();
  }
  if (set.admissible.empty()) row(name, "none");
  if (set.admissible.size() > most)
    row(name, fmt::format("and {} more (all with --json)", set.admissible.size() - most));
  Rational open = 0;
  for (const Enclosure& x : set.undecided) open += x.hi - x.lo;
  row("rejected", fmt::format("{} piece{}, each with one lag of negative sum", set.rejected,
                              set.rejected == 1 ? "" : "s"));
  row("undecided",
      set.undecided.empty()
          ? "nothing"
          : fmt::format("{} sliver{}, {} wide together", set.undecided.size(),
                        set.undecided.size() == 1 ? "" : "s", decimal(open, 2, Round::up)));
  if (!pieces) return;
  std::cout << "\n  lag        negative on\n";
  for (const BasePiece& piece : set.pieces)
    if (piece.kind == PieceKind::rejected)
      if (const auto bases = bases_of(piece, question.dim)) {
        const auto [lo, hi] = inner(*bases, shown);
        std::cout << fmt::format("  {:<10} [{}, {}]\n", piece.violated, lo, hi);
      }
}

int run(const Arguments& args, const std::string& command) {
  const tbb::global_control limit = thread_limit(args.common);
  const BaseQuestion question = parse(args);
  check_certificate(args.certificate);
  BaseOptions options;
  const bool draws = draws_progress();
  if (draws)
    options.progress = [](double share) {
      std::cerr << fmt::format("\r{:3.0f} % ", 100 * share) << std::flush;
    };
  const BaseSet set = base_set(question, options);
  if (draws) std::cerr << "\r        \r";
  // Open is the answer only where the infimum is: slivers at the ends of pieces are expected.
  const bool known = set.infimum ? set.infimum->relative_width() <= Rational(1, 1000000000)
                                 : set.undecided.empty();
  write_certificate(
      args.certificate, command, known ? Verdict::proved : Verdict::undecided,
      {base_set_fact(question, set)},
      {{"table",
        fmt::format("every base b, {} planes: b^(-2i/{})", question.dim / 2, question.dim)},
       {"length", std::to_string(question.length)},
       {"reach", std::to_string(question.length)},
       {"statement",
        fmt::format("Which bases from {} on serve {} tokens, d = {}, and their infimum.",
                    decimal(set.from, digits, Round::nearest), question.length, question.dim)}});
  if (args.common.json)
    std::cout << json_of(question, set, args.pieces).dump(2) << '\n';
  else
    print(question, set, args.pieces);
  return known ? as_expected : undecided;
}

}  // namespace

void add_base(CLI::App& root, int& exit_code) {
  const auto args = std::make_shared<Arguments>();
  CLI::App& app = *root.add_subcommand("base", "Which bases serve a context length");
  app.add_option("--length", args->length,
                 "Context length L >= 1 as arXiv 2405.14591 counts it: lags 0..L, both included")
      ->required()
      ->type_name("L");
  app.add_option("--dim", args->dim, "Rotary dimension, even: two per plane (default: 128)")
      ->type_name("DIM");
  app.add_option("--from", args->from, "Smallest base (default: 1)")->type_name("B0");
  app.add_option("--to", args->to, "Largest base (default: twice the infimum)")->type_name("B1");
  app.add_flag("--pieces", args->pieces, "Also list every rejected piece with its lag");
  add_certificate(app, args->certificate);
  add_common(app, args->common);
  app.footer(
      "A base b serves the context L if B_k(b) = sum over i < d/2 of cos(k b^(-2i/d)), d = DIM, is "
      "not "
      "negative\n"
      "for any lag k = 0..L (arXiv 2405.14591). Bases that serve and bases that fail alternate: "
      "a "
      "larger base\n"
      "may fail where a smaller one serves. 'infimum' encloses the infimum of those that serve, in "
      "the\n"
      "range asked for; 'admissible' are intervals of which every base serves; each rejected piece "
      "has one\n"
      "lag whose sum is negative on all of it; undecided slivers lie between them.\n"
      "\n"
      "In JSON: \"infimum\" {\"lo\", \"hi\"} or null, \"binding\" the lag whose sum is zero there, "
      "\"admissible\"\n"
      "and \"undecided\" [lo, hi] pairs (rounded inward, outward), \"rejected\" the number of "
      "pieces; with\n"
      "--pieces \"rejected_pieces\" [lo, hi, lag]. Numbers are decimal strings. The time grows as "
      "L^2.\n"
      "\n"
      "Exit status: 0; 2 for bad input; 3 if interrupted, or if the infimum could not be decided "
      "to "
      "1e-9.\n"
      "\n"
      "Examples:\n"
      "  ropewalk base --length 4096\n"
      "  ropewalk base --length 2048 --from 9e3 --to 2e4 --json\n"
      "  ropewalk base --length 512 --dim 64 --pieces");
  app.callback([args, &app, &exit_code] { exit_code = run(*args, question(app)); });
}

}  // namespace ropewalk::cli
