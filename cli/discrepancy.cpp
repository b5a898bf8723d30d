// ropewalk discrepancy index|retrieval

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "proofs_numeric/one_plane.hpp"
#include "proofs_numeric/retrieval_margin.hpp"

namespace ropewalk::cli {

using namespace proofs_numeric;

namespace {

struct Arguments {
  Common common;
  std::string theta;
  std::string length;
  std::string offset;
  std::string reach;
  std::string alphabet;
  std::string reading;
  bool centred = false;
};

constexpr unsigned longest_shown_input = 64;

Reading parse_reading(const std::string& text) {
  return text == "min" ? Reading::min : Reading::max;
}

// Letters a, b, ..., z, a1, ...
std::string letter(unsigned long k) {
  std::string s(1, static_cast<char>('a' + k % 26));
  if (k >= 26) s += std::to_string(k / 26);
  return s;
}

struct Answer {
  std::optional<Enclosure> margin;
  std::optional<Enclosure> gap;
  Json witness = nullptr;
  std::optional<bool> positive;
  Json horizon = nullptr;
};

std::optional<bool> positive(const std::optional<Enclosure>& margin) {
  if (!margin) return std::nullopt;
  if (margin->lo > 0) return true;
  if (margin->hi <= 0) return false;
  return std::nullopt;
}

void print(const Answer& a, const std::string& title, bool as_json,
           const std::vector<std::string>& notes) {
  if (as_json) {
    Json out;
    out["margin"] = json(a.margin);
    out["discrepancy"] = json(a.gap);
    out["witness"] = a.witness;
    out["positive"] = a.positive ? Json(*a.positive) : Json(nullptr);
    out["horizon"] = a.horizon;
    out["notes"] = notes;
    std::cout << out.dump(2) << '\n';
    return;
  }
  std::cout << title << '\n';
  const auto row = [](const char* name, const std::string& value) {
    std::cout << fmt::format("  {:<12} {}\n", name, value);
  };
  row("margin", a.margin ? text(*a.margin, 18) : "none (no incorrect key)");
  row("discrepancy", a.gap ? text(*a.gap, 18) : "none (a single key)");
  row("positive", a.positive ? (*a.positive ? "yes" : "no") : (a.margin ? "undecided" : "-"));
  row("horizon", a.horizon.is_null() ? "-" : a.horizon.get<std::string>());
  if (!a.witness.is_null()) {
    std::string facts;
    std::string input;
    for (const auto& [key, value] : a.witness.items()) {
      if (value.is_array()) {
        for (const auto& token : value)
          input += (input.empty() ? "" : " ") + token.get<std::string>();
        continue;
      }
      std::string name = key;
      std::replace(name.begin(), name.end(), '_', ' ');
      facts += (facts.empty() ? "" : ", ") + name + " " + value.get<std::string>();
    }
    row("witness", facts);
    if (!input.empty()) row("input", input);
  }
  for (const std::string& note : notes) std::cout << "  " << note << '\n';
}

// Letters everywhere, the query last; the target's letter stands out.
Json index_input(unsigned n, unsigned offset) {
  Json input = Json::array();
  for (unsigned j = 0; j < n; ++j) input.push_back(j + 1 + offset == n ? "b" : "a");
  if (offset > 0) input.back() = std::to_string(offset);
  return input;
}

int run_index(const Arguments& args) {
  const tbb::global_control limit = thread_limit(args.common);
  const Formula theta = parse_angle("--theta", args.theta);
  const bool by_reach = !args.reach.empty();
  if (by_reach && (!args.length.empty() || !args.offset.empty() || !args.reading.empty()))
    throw Error(ErrorCode::usage,
                "--reach stands alone: leave out --length, --offset and --reading");
  if (!by_reach && args.length.empty())
    throw Error(ErrorCode::usage, "give --length (with --offset or --reading) or --reach");
  if (!args.offset.empty() && !args.reading.empty())
    throw Error(ErrorCode::usage, "--offset fixes the input: leave out --reading");

  Answer a;
  std::string title = "Index head, theta = " + theta.text();
  std::vector<std::string> notes;
  const auto decide_horizon = [&](const Reading* reading, const Lag& offset) {
    try {
      const auto h = index_horizon(theta, reading, offset);
      a.horizon = h ? h->str() : "unbounded";
    } catch (const Error&) {  // rational or irrational turns: not known, so no horizon is claimed
    }
  };
  Lag reach;
  if (by_reach) {
    reach = parse_integer("--reach", args.reach);
    title += ", reach " + args.reach;
  } else {
    const Lag length = parse_length(args.length);
    const Reading reading = parse_reading(args.reading);
    Lag offset;
    if (!args.offset.empty()) {
      offset = parse_integer("--offset", args.offset);
      if (offset < 0 || offset >= length)
        throw Error(ErrorCode::bad_value, "--offset must lie in 0.." + Lag(length - 1).str() +
                                              " at length " + length.str() + ", not " +
                                              offset.str());
      title += ", length " + length.str() + ", offset " + offset.str();
      decide_horizon(nullptr, offset);
    } else {
      offset = offset_of(length, reading);
      title += ", length " + length.str() + ", " + (reading == Reading::min ? "min" : "max") +
               " over inputs";
      decide_horizon(&reading, offset);
    }
    a.witness = {{"length", length.str()}, {"offset", offset.str()}};
    if (length <= longest_shown_input)
      a.witness["input"] =
          index_input(static_cast<unsigned>(length), static_cast<unsigned>(offset));
    reach = reach_of(length, offset);
    if (length > 1) {
      using I = theory::Interval<40>;
      const Enclosure square =
          enclosure(I(I(2) * I::pi() * I::pi() / I(Rational(length)) / I(Rational(length))));
      if (args.reading != "min" && length > 2)
        notes.push_back(
            fmt::format("P1's 2 pi^2/n^2 = {} (Theorem 3.2b; see ropewalk verify P1.T3.2b.max)",
                        text(square, 8)));
    }
  }
  if (reach >= 1 || by_reach) {
    OnePlaneGap gap;
    try {
      gap = one_plane_gap(theta, reach);
    } catch (const Error& e) {
      throw Error(e.code(), std::string(by_reach ? "--reach: " : "--length: ") + e.what());
    }
    a.margin = a.gap = gap.value;
    a.positive = positive(a.margin);
    if (a.witness.is_null()) a.witness = Json::object();
    a.witness["lag"] = gap.lag.str();
    if (!gap.lag_proven)
      notes.emplace_back(
          "2560 digits do not tell theta from a rational number of turns: best enclosure");
  }
  print(a, title, args.common.json, notes);
  return a.margin && !a.positive ? undecided : as_expected;
}

// Tokens left-right, the wanted letter b, the query last. A key wants itself (letter twice), unless
// its left letter is the query's own: one letter belongs to one token.
Json retrieval_input(const std::vector<Integer>& letters, const Integer& alphabet) {
  const auto left = [&](std::size_t lag) {
    return static_cast<unsigned long>(Integer((letters[lag] + 1) % alphabet));
  };
  Json input = Json::array();
  for (std::size_t lag = letters.size(); lag-- > 0;) {
    const unsigned long l = left(lag);
    input.push_back(letter(l) + letter(l == left(0) ? 1 : l));
  }
  return input;
}

int run_retrieval(const Arguments& args) {
  const tbb::global_control limit = thread_limit(args.common);
  const Formula theta = parse_angle("--theta", args.theta);
  const Integer alphabet = parse_integer("--alphabet", args.alphabet);
  if (alphabet < 2)
    throw Error(ErrorCode::bad_value, "--alphabet must be at least 2, not " + alphabet.str());
  const Lag length = parse_length(args.length);
  const Centre centre = args.centred ? Centre::centred : Centre::plain;
  const Reading reading = args.reading == "max" ? Reading::max : Reading::min;

  Answer a;
  const auto [horizon, m] = [&] {
    try {
      return std::pair(retrieval_horizon(theta, alphabet, centre),
                       retrieval_margin(theta, alphabet, length, centre, reading));
    } catch (const Error& e) {
      throw Error(e.code(), std::string("--theta, --alphabet, --length: ") + e.what());
    }
  }();
  a.horizon = horizon ? horizon->str() : "unbounded";
  if (m) {
    a.margin = m->margin;
    a.gap = m->gap;
    a.positive = positive(a.margin);
    a.witness = {{"length", length.str()},
                 {"match_lag", m->pair.match.str()},
                 {"distractor_lag", m->pair.distractor.str()},
                 {"letter_offset", m->pair.letter_offset.str()}};
    if (length <= longest_shown_input && alphabet <= 1000)
      a.witness["input"] = retrieval_input(
          retrieval_letters(theta, alphabet, static_cast<std::uint32_t>(length), centre, m->pair),
          alphabet);
  }
  const std::string title =
      fmt::format("{} Retrieval head, theta = {}, {} letters, length {}, {} over inputs",
                  args.centred ? "Centred" : "Plain", theta.text(), alphabet.str(), length.str(),
                  reading == Reading::max ? "max" : "min");
  print(a, title, args.common.json, {});
  return a.margin && !a.positive ? undecided : as_expected;
}

const char* const angle_help =
    "Angle in radians per token: a decimal (taken exactly), p/q, pi*p/q, acos(p/q), base^(-i/D), "
    "or any "
    "formula of these";

}  // namespace

void add_discrepancy(CLI::App& root, int& exit_code) {
  CLI::App& app = *root.add_subcommand(
      "discrepancy", "Gap and margin of a one-plane Index or Retrieval head, at any length");
  app.require_subcommand(1);
  app.footer(
      "The *discrepancy* is the largest logit minus the second largest (a tie gives 0); the "
      "*margin* is\n"
      "the smallest correct logit minus the largest incorrect one, signed. Values are enclosures: "
      "the\n"
      "digits outside the bracket are sure, the bracket encloses the rest. In JSON they are\n"
      "{\"lo\", \"hi\"} decimal strings rounded outward; lags and lengths are decimal strings.\n"
      "\n"
      "Examples:\n"
      "  ropewalk discrepancy index --theta 1 --reach 1e100\n"
      "  ropewalk discrepancy retrieval --theta 0.0027 --alphabet 8 --length 146");

  const auto index_args = std::make_shared<Arguments>();
  CLI::App& index = *app.add_subcommand("index", "The head that looks m tokens back");
  index.add_option("--theta", index_args->theta, angle_help)->required()->type_name("X");
  index
      .add_option("--length", index_args->length,
                  "Length of the input in tokens, N >= 1: keys at lags 0..N-1")
      ->type_name("N");
  index
      .add_option("--offset", index_args->offset,
                  "The head looks M tokens back, 0..N-1: reach max(M, N-1-M)")
      ->type_name("M");
  index
      .add_option(
          "--reach", index_args->reach,
          "Instead of a length: relative lags 1..T, the reach of every offset at length T+1 (T up "
          "to 1e1199)")
      ->type_name("T");
  index
      .add_option(
          "--reading", index_args->reading,
          "Which input of length N, where no offset is given: the one of largest gap (max, P1's "
          "definition and the default) or of smallest (min)")
      ->check(CLI::IsMember({"max", "min"}));
  add_common(index, index_args->common);
  index.footer(
      "All keys are equal, so margin and discrepancy are one number: 1 - cos(s theta) at the lag s "
      "that\n"
      "comes nearest to a whole turn (R1, by continued fractions). 'horizon' is the largest length "
      "with a\n"
      "positive margin, 'unbounded' where theta/(2 pi) is irrational.\n"
      "\n"
      "Exit status: 0; 2 for bad input; 3 if the sign of the margin could not be decided.\n"
      "\n"
      "Examples:\n"
      "  ropewalk discrepancy index --theta 2 --length 4 --offset 1\n"
      "  ropewalk discrepancy index --theta '10000^(-2/64)' --length 4096 --reading min\n"
      "  ropewalk discrepancy index --theta 'pi*2/7' --reach 20");
  index.callback([index_args, &exit_code] { exit_code = run_index(*index_args); });

  const auto retrieval_args = std::make_shared<Arguments>();
  CLI::App& retrieval = *app.add_subcommand("retrieval", "The head that finds the matching symbol");
  retrieval.add_option("--theta", retrieval_args->theta, angle_help)->required()->type_name("X");
  retrieval.add_option("--alphabet", retrieval_args->alphabet, "Number of letters, A >= 2")
      ->required()
      ->type_name("A");
  retrieval
      .add_option("--length", retrieval_args->length,
                  "Length of the input in tokens, N >= 1: keys at lags 0..N-1")
      ->required()
      ->type_name("N");
  retrieval.add_flag(
      "--centred", retrieval_args->centred,
      "Queries pre-rotated by theta (N-1)/2, theta folded to (-pi, pi]: twice the horizon");
  retrieval
      .add_option("--reading", retrieval_args->reading,
                  "Which input of length N: the one of smallest margin (min, the default) or of "
                  "largest (max)")
      ->check(CLI::IsMember({"max", "min"}));
  add_common(retrieval, retrieval_args->common);
  retrieval.footer(
      "Inputs: letter-letter queries, the wanted letter in exactly one position, at least one "
      "other key.\n"
      "'horizon' is the largest length whose smallest margin is positive (R6). Beyond it, where "
      "the top logit\n"
      "can sit on a wrong key, the discrepancy is given as [0, an attained value].\n"
      "\n"
      "Exit status: 0; 2 for bad input; 3 if the sign of the margin could not be decided.\n"
      "\n"
      "Examples:\n"
      "  ropewalk discrepancy retrieval --theta 0.0027 --alphabet 8 --length 147\n"
      "  ropewalk discrepancy retrieval --theta 0.0027 --alphabet 8 --length 291 --centred --json");
  retrieval.callback([retrieval_args, &exit_code] { exit_code = run_retrieval(*retrieval_args); });
}

}  // namespace ropewalk::cli
