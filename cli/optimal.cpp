// ropewalk optimal

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/table.hpp"
#include "proofs_numeric/best_retrieval.hpp"
#include "proofs_numeric/optimal.hpp"

namespace ropewalk::cli {

using namespace proofs_numeric;
using theory::Round;

namespace {

constexpr std::size_t most_complex = 2048;

struct Arguments {
  Common common;
  TableArguments table;
  RetrievalArguments retrieval;
  std::string reach;
  std::string offset;
  std::string certificate;
};

// Errors about the reach come from the library, which knows no flags.
template <class F>
auto naming_reach(F&& f) {
  try {
    return f();
  } catch (const Error& e) {
    if (e.code() == ErrorCode::too_large)
      throw Error(e.code(), std::string("--reach: ") + e.what());
    throw;
  }
}

std::string shown(const Rational& x) { return decimal(x, 8, Round::nearest); }

Json json_of(const Rational& a) { return a.str(); }
Json json_of(const ComplexAmplitude& b) { return {{"re", b.re.str()}, {"im", b.im.str()}}; }

bool carries(const Rational& a) { return a != 0; }
bool carries(const ComplexAmplitude& b) { return b.re != 0 || b.im != 0; }

std::string shown(const ComplexAmplitude& b) {
  const std::string im = shown(Rational(abs(b.im)));
  return shown(b.re) + (b.im < 0 ? " - " : " + ") + im + " i";
}

bool within_width(const Enclosure& optimum) {
  const auto width = optimum.relative_width();
  return width && *width <= OptimalOptions().relative_width;
}

bool within_width(const RetrievalHead& head) {
  const Rational width = head.optimum.hi - head.optimum.lo;
  return width <= OptimalOptions().relative_width * abs(head.optimum.lo) ||
         width <= Rational(1, 1000000000000);
}

// What was asked, and what there is to say of it beside the answer.
struct Asked {
  Table table;
  std::string command;
  Lag reach;
  std::optional<Lag> offset;
  std::vector<std::string> notes;
  std::chrono::steady_clock::time_point start;
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  /// The words of a certificate.
  [[nodiscard]] Json words(const std::string& statement) const {
    return {{"table", table.words}, {"reach", reach.str()}, {"statement", statement}};
  }
};

// The end of every JSON object.
void add_last(Json& out, const Asked& asked) {
  out["warnings"] = asked.table.warnings;
  out["notes"] = asked.notes;
  out["seconds"] = asked.seconds();
}

void print_notes(const Asked& asked) {
  for (const std::string& note : asked.notes) std::cout << "note: " << note << '\n';
}

void row(const char* what, const std::string& value) {
  std::cout << fmt::format("  {:<11} {}\n", what, value);
}

// The amplitudes by plane, and beside them what binds.
void print_lists(const std::vector<std::size_t>& ids, const std::vector<std::string>& amplitudes,
                 const std::string& title, const std::vector<std::string>& dual) {
  std::size_t wide = std::string("amplitude").size();
  for (const std::string& a : amplitudes) wide = std::max(wide, a.size());
  std::cout << fmt::format("\n  {:>4}  {:<{}}  {}\n", "ID", "amplitude", wide, title);
  for (std::size_t k = 0; k < std::max(ids.size(), dual.size()); ++k) {
    std::string line = k < ids.size() ? fmt::format("  {:>4}  {:<{}}", ids[k], amplitudes[k], wide)
                                      : std::string(wide + 8, ' ');
    if (k < dual.size()) line += "  " + dual[k];
    line.erase(line.find_last_not_of(' ') + 1);
    std::cout << line << '\n';
  }
}

template <class Head>
int print(const Arguments& args, const Asked& asked, const Head& head, const Enclosure& uniform) {
  const auto share = efficiency(uniform, head.optimum);
  std::vector<std::size_t> ids;
  for (std::size_t f = 0; f < head.amplitudes.size(); ++f)
    if (carries(head.amplitudes[f])) ids.push_back(f + 1);
  const int code = within_width(head.optimum) ? as_expected : undecided;

  if (args.common.json) {
    Json out;
    out["optimum"] = json(head.optimum);
    out["amplitudes"] = Json::array();
    for (const auto& a : head.amplitudes) out["amplitudes"].push_back(json_of(a));
    out["dual"] = Json::array();
    for (const LagWeight& m : head.dual)
      out["dual"].push_back({{"lag", m.lag.str()}, {"weight", m.weight.str()}});
    out["uniform"] = json(uniform);
    out["efficiency"] = json(share);
    out["offset"] = asked.offset ? Json(asked.offset->str()) : Json(nullptr);
    out["reach"] = asked.reach.str();
    out["carrying"] = ids;
    out["programs"] = head.iterations;
    add_last(out, asked);
    std::cout << out.dump(2) << '\n';
    return code;
  }

  const Lag offset = asked.offset.value_or(Lag(0));
  std::cout << fmt::format("Best head on {} planes, {}lags {}..{}\n", head.amplitudes.size(),
                           asked.offset ? "offset " + offset.str() + ", relative " : "",
                           offset == 0 ? "1" : Lag(-offset).str(), asked.reach.str());
  row("optimum", text(head.optimum, 12));
  row("uniform", text(uniform, 12));
  row("efficiency", share ? text(*share, 6) + " of the optimum with equal amplitudes" : "-");
  row("programs", std::to_string(head.iterations));
  row("planes", fmt::format("{} of {} carry weight", ids.size(), head.amplitudes.size()));
  row("lags", fmt::format("{} bind", head.dual.size()));

  std::vector<std::string> amplitudes;
  for (const std::size_t id : ids) amplitudes.push_back(shown(head.amplitudes[id - 1]));
  std::vector<std::string> dual;
  for (const LagWeight& m : head.dual)
    dual.push_back(fmt::format("{:>19}  {}", m.lag.str(), shown(m.weight)));
  print_lists(ids, amplitudes, fmt::format("{:>19}  weight", "lag"), dual);
  print_notes(asked);
  return code;
}

const char* name(RetrievalCode code) {
  return code == RetrievalCode::centred ? "centred" : "plain";
}

int print(const Arguments& args, const Asked& asked, const RetrievalKind& kind,
          const RetrievalHead& head, const Enclosure& uniform) {
  const auto share = uniform.lo.sign() < 0 ? std::nullopt : efficiency(uniform, head.optimum);
  std::vector<std::size_t> ids;
  for (std::size_t f = 0; f < head.amplitudes.size(); ++f)
    if (carries(head.amplitudes[f])) ids.push_back(f + 1);
  const int code = within_width(head) ? as_expected : undecided;
  const std::string reach = asked.reach.str();

  if (args.common.json) {
    Json out;
    out["optimum"] = json(head.optimum);
    out["amplitudes"] = Json::array();
    for (const Rational& a : head.amplitudes) out["amplitudes"].push_back(json_of(a));
    out["dual"] = Json::array();
    for (const EncounterWeight& m : head.dual)
      out["dual"].push_back({{"match", std::to_string(m.pair.match)},
                             {"distractor", std::to_string(m.pair.distractor)},
                             {"letter", std::to_string(m.pair.letter)},
                             {"weight", m.weight.str()}});
    out["uniform"] = json(uniform);
    out["efficiency"] = json(share);
    out["alphabet"] = kind.alphabet.str();
    out["head"] = name(kind.code);
    out["reach"] = reach;
    out["carrying"] = ids;
    out["programs"] = head.iterations;
    add_last(out, asked);
    std::cout << out.dump(2) << '\n';
    return code;
  }

  std::cout << fmt::format("Best {} Retrieval head on {} planes, {} letters, lags 0..{}\n",
                           name(kind.code), head.amplitudes.size(), kind.alphabet.str(), reach);
  row("optimum", text(head.optimum, 12));
  row("uniform", text(uniform, 12));
  row("efficiency", share ? text(*share, 6) + " of the optimum with equal amplitudes" : "-");
  row("programs", std::to_string(head.iterations));
  row("planes", fmt::format("{} of {} carry weight", ids.size(), head.amplitudes.size()));
  row("encounters", fmt::format("{} bind", head.dual.size()));
  std::vector<std::string> amplitudes;
  for (const std::size_t id : ids) amplitudes.push_back(shown(head.amplitudes[id - 1]));
  std::vector<std::string> dual;
  for (const EncounterWeight& m : head.dual)
    dual.push_back(fmt::format("{:>9}  {:>10}  {:>6}  {}", m.pair.match, m.pair.distractor,
                               m.pair.letter, shown(m.weight)));
  print_lists(ids, amplitudes,
              fmt::format("{:>9}  {:>10}  {:>6}  weight", "match", "distractor", "letter"), dual);
  print_notes(asked);
  return code;
}

int print(const Arguments& args, const Asked& asked, const RetrievalKind& kind,
          const OrthogonalHead& head) {
  const std::string reach = asked.reach.str();
  std::vector<std::size_t> letters;
  for (const std::size_t f : head.planes) letters.push_back(f + 1);
  if (args.common.json) {
    Json out;
    out["margin"] = json(head.margin);
    out["letters"] = letters;
    out["optimal"] = head.optimal;
    out["alphabet"] = kind.alphabet.str();
    out["head"] = "orthogonal";
    out["reach"] = reach;
    add_last(out, asked);
    std::cout << out.dump(2) << '\n';
    return as_expected;
  }
  std::cout << fmt::format("Orthogonal Retrieval head on {} planes, {} letters, lags 0..{}\n",
                           asked.table.frequencies.size(), kind.alphabet.str(), reach);
  row("margin", text(head.margin, 12));
  row("planes", fmt::format("the {} slowest, a letter each: IDs {}", letters.size(),
                            fmt::join(letters, " ")));
  row("optimal", head.optimal ? "yes, among heads with a plane per letter"
                              : "not known: the margin is not positive");
  print_notes(asked);
  return as_expected;
}

std::vector<std::string> notes_of(const Table& table, bool retrieval) {
  const std::size_t still = standing(table.frequencies);
  if (still == 0) return {};
  const std::string planes =
      fmt::format("{} of {} planes stand still", still, table.frequencies.size());
  return {planes + (retrieval ? ": they keep a Retrieval margin at every length"
                              : ": they tell no lag from another")};
}

int run(const Arguments& args, const std::string& command) {
  const tbb::global_control limit = thread_limit(args.common);
  const Lag reach = parse_integer("--reach", args.reach);
  if (reach < 1)
    throw Error(ErrorCode::bad_value, "--reach must be at least 1, not " + reach.str());
  const auto kind = retrieval_kind(args.retrieval);
  if (kind && !args.offset.empty())
    throw Error(ErrorCode::usage, "--offset is for Index heads: leave out --alphabet");
  if (kind && reach >= longest_retrieval)
    throw Error(ErrorCode::too_large, fmt::format("--reach: with --alphabet at most {}, not {}",
                                                  longest_retrieval - 1, reach.str()));
  Asked asked{read_table(args.table), command, reach, {}, {}, {}};
  const std::vector<Formula>& planes = asked.table.frequencies;
  if (asked.table.rope)
    if (const auto beyond = beyond_limit(*asked.table.rope, reach))
      asked.table.warnings.push_back(*beyond);
  asked.notes = notes_of(asked.table, kind.has_value());
  if (kind && kind->code == RetrievalCode::orthogonal &&
      kind->alphabet > theory::Integer(planes.size()))
    throw Error(ErrorCode::bad_value,
                fmt::format("--alphabet: {} letters need a plane each, and there are {}",
                            kind->alphabet.str(), planes.size()));
  std::optional<Lag>& offset = asked.offset;
  if (!args.offset.empty()) {
    offset = parse_integer("--offset", args.offset);
    if (*offset < 0 || *offset > Lag("1000000000000000000"))
      throw Error(ErrorCode::bad_value, "--offset must lie in 0..1e18, not " + offset->str());
    if (planes.size() > most_complex)
      throw Error(
          ErrorCode::too_large,
          fmt::format("--offset: complex amplitudes of at most {} planes are handled, not {}",
                      most_complex, planes.size()));
  }

  check_certificate(args.certificate);
  tell(asked.table.warnings, args.common);
  OptimalOptions options;
  if (draws_progress())
    options.progress = [](unsigned programs) {
      std::cerr << fmt::format("\rprogram {}", programs) << std::flush;
    };
  asked.start = std::chrono::steady_clock::now();
  if (kind) {
    const auto last = static_cast<std::int64_t>(reach);
    if (kind->code == RetrievalCode::orthogonal) {
      const OrthogonalHead head = orthogonal_retrieval(planes, kind->alphabet, last);
      if (!args.certificate.empty()) {
        Json words = asked.words(std::string("The margin of the head with a plane per letter") +
                                 (head.optimal ? ", whose planes are the slowest." : "."));
        words["margin"] = json(head.margin);
        write_certificate(args.certificate, command, Verdict::proved,
                          orthogonal_facts(planes, last, head), words);
      }
      return print(args, asked, *kind, head);
    }
    RetrievalHead head = best_retrieval(planes, kind->alphabet, last, kind->code, options);
    if (options.progress) std::cerr << "\r               \r";
    const std::vector<Rational> equal = equal_amplitudes(planes.size());
    Enclosure uniform = retrieval_margin_of(equal, planes, kind->alphabet, last, kind->code);
    if (!args.certificate.empty()) {
      std::vector<Fact> facts =
          retrieval_optimum_facts(planes, kind->alphabet, last, kind->code, head);
      ProvenMargin own = proven_retrieval_margin(equal, planes, kind->alphabet, last, kind->code);
      uniform = own.margin;
      for (Fact& fact : own.facts) facts.push_back(std::move(fact));
      Json words = asked.words(
          "The best margin of a Retrieval head of this kind on these planes lies between that of "
          "the amplitudes, over all encounters, and what the weights on encounters allow; last, "
          "the margin of equal amplitudes.");
      words["optimum"] = json(head.optimum);
      write_certificate(args.certificate, command,
                        within_width(head) ? Verdict::proved : Verdict::undecided, facts, words);
    }
    return print(args, asked, *kind, head, uniform);
  }
  const auto answer = [&](auto&& solve, auto&& facts_of) {
    const auto head = naming_reach(solve);
    if (options.progress) std::cerr << "\r               \r";
    const Lag farthest = offset && *offset > reach ? *offset : reach;
    const Enclosure uniform = uniform_margin(planes, farthest);
    if (!args.certificate.empty()) {
      std::vector<Fact> facts = facts_of(head);
      facts.push_back(uniform_fact(planes, farthest));
      Json words = asked.words(
          "The best margin of a head on these planes lies between that of the amplitudes, over "
          "every lag, and what the weights on lags allow; last, the margin of equal amplitudes.");
      words["optimum"] = json(head.optimum);
      write_certificate(args.certificate, command,
                        within_width(head.optimum) ? Verdict::proved : Verdict::undecided, facts,
                        words);
    }
    return print(args, asked, head, uniform);
  };
  if (offset) {
    const Lag length = reach + *offset + 1;
    return answer(
        [&] { return offset_head(planes, length, *offset, options); },
        [&](const OffsetHead& head) { return offset_facts(planes, length, *offset, head); });
  }
  return answer([&] { return optimal_head(planes, reach, options); },
                [&](const OptimalHead& head) { return optimal_facts(planes, reach, head); });
}

}  // namespace

void add_optimal(CLI::App& root, int& exit_code) {
  const auto args = std::make_shared<Arguments>();
  CLI::App& app = *root.add_subcommand(
      "optimal", "The best Index or Retrieval head that a table allows, proven from both sides");
  add_table(app, args->table);
  app.add_option("--reach", args->reach,
                 "Reach: the head must win at relative lags 1..T, on both sides, for an input of "
                 "length T+1; "
                 "T up to 1e18, any size for one plane")
      ->required()
      ->type_name("T");
  app.add_option("--offset", args->offset,
                 "The best head that looks M tokens back and no other (0: its own token): complex "
                 "amplitudes, "
                 "length M+T+1")
      ->type_name("M");
  add_certificate(app, args->certificate);
  add_retrieval(app, args->retrieval);
  add_common(app, args->common);
  app.footer(
      "The margin of a head with amplitudes a_f >= 0, sum 1, is the least of sum a_f (1 - cos "
      "theta_f s) over\n"
      "s = 1..T. The optimum over all a lies in the printed bracket: its lower end is the margin "
      "of "
      "the\n"
      "amplitudes listed, over every lag; its upper end follows from the weights listed on the "
      "lags, against\n"
      "which no plane gets more. The JSON has amplitudes and weights as exact fractions. A head of "
      "equal keys at\n"
      "offset m and length n, 1 <= m <= n-2, has at most the optimum at T = min(m, n-1-m); the "
      "amplitudes for\n"
      "T = n-1 serve every offset.\n"
      "--offset M answers for that offset alone, n = M+T+1: relative lags s = -M..T without 0 (s "
      "tokens further\n"
      "back than the target), amplitudes b_f with sum |b_f| <= 1, margin Re sum b_f (1 - exp(i "
      "theta_f s)).\n"
      "Phases help much at M = 0, little already at M = 1.\n"
      "\n"
      "--alphabet A answers for Retrieval heads over A letters, lags 0..T: the margin is the least "
      "of "
      "sum a_f (cos(t\n"
      "theta_f - c_f) - cos(2 pi k/A + u theta_f - c_f)) over lags t != u and letters k = 1..A-1; "
      "c_f = "
      "0, or theta_f\n"
      "T/2 for --head centred. --head orthogonal gives every letter a plane of its own.\n"
      "\n"
      "JSON: {\"optimum\": {\"lo\", \"hi\"}, \"amplitudes\": [rational], \"dual\": [{\"lag\", "
      "\"weight\"}], \"uniform\":\n"
      "{\"lo\", \"hi\"}, \"efficiency\", \"offset\", \"reach\", \"carrying\": [ID], "
      "\"programs\", \"warnings\",\n"
      "\"notes\", \"seconds\"};\n"
      "with --offset an amplitude is {\"re\", \"im\"}; with --alphabet \"dual\" lists {\"match\", "
      "\"distractor\",\n"
      "\"letter\", \"weight\"}, and \"alphabet\" and \"head\" stand for \"offset\"; orthogonal: "
      "{\"margin\", \"letters\":\n"
      "[ID], \"optimal\", ...}.\n"
      "\n"
      "Exit status: 0; 2 for bad input; 3 if interrupted, or if the bracket is wider than one "
      "millionth.\n"
      "\n"
      "Examples:\n"
      "  ropewalk optimal --base 5e5 --planes 64 --reach 131072\n"
      "  ropewalk optimal --base 5e5 --planes 64 --reach 16 --offset 0\n"
      "  ropewalk optimal --base 1e4 --planes 64 --reach 100 --alphabet 8\n"
      "  ropewalk optimal --base 1e4 --planes 64 --reach 8191 --alphabet 8 --head orthogonal\n"
      "  ropewalk optimal --schedule examples/configs/llama-3.1-8b.json --reach 8191 --json");
  app.callback([args, &app, &exit_code] { exit_code = run(*args, question(app)); });
}

}  // namespace ropewalk::cli
