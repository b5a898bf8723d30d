// ropewalk horizon

#include <fmt/format.h>

#include <chrono>
#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "cli/json_file.hpp"
#include "cli/output.hpp"
#include "cli/table.hpp"
#include "proofs_numeric/horizon.hpp"

namespace ropewalk::cli {

using namespace proofs_numeric;
using theory::Round;

namespace {

struct Arguments {
  Common common;
  TableArguments table;
  RetrievalArguments retrieval;
  std::string scale;
  std::string mass = "0.9";
  std::string offset;
  std::string longest;
  std::string amplitudes = "best";
  std::string certificate;
};

std::string shown(const Rational& x, unsigned digits = 8) {
  return decimal(x, digits, Round::nearest);
}

// -------------------------------------------------------------------------------- amplitudes

Rational entry(const std::string& where, const nlohmann::json& value) {
  if (value.is_string()) {
    const auto number = parse_angle(where, value.get<std::string>()).rational();
    if (number) return *number;
  }
  if (value.is_number_integer() || value.is_number_unsigned())
    return *Formula::parse(value.dump()).rational();
  if (value.is_number_float()) return theory::shortest_decimal(value.get<double>());
  throw Error(ErrorCode::bad_value, where + ": an amplitude is a number or a fraction in quotes");
}

// A list, or an object with a list "amplitudes" as `ropewalk optimal --json` and this command
// print; real ones are divided by their sum.
std::vector<ComplexAmplitude> read_amplitudes(const std::string& path, std::size_t planes) {
  const nlohmann::json file = read_json(path);
  const nlohmann::json* list = &file;
  if (file.is_object() && file.contains("amplitudes")) list = &file["amplitudes"];
  if (!list->is_array()) throw Error(ErrorCode::bad_value, path + ": no list of amplitudes");
  if (list->size() != planes)
    throw Error(ErrorCode::bad_value,
                fmt::format("{}: {} amplitudes for {} planes", path, list->size(), planes));
  std::vector<ComplexAmplitude> result;
  bool real = true;
  for (std::size_t f = 0; f < planes; ++f) {
    const nlohmann::json& value = (*list)[f];
    const std::string where = fmt::format("{}: amplitude {}", path, f + 1);
    if (value.is_object() && value.contains("re") && value.contains("im")) {
      result.push_back({entry(where, value["re"]), entry(where, value["im"])});
      real = real && result.back().im == 0 && result.back().re >= 0;
      continue;
    }
    result.push_back({entry(where, value), 0});
    if (result.back().re < 0) throw Error(ErrorCode::bad_value, where + " is negative");
  }
  if (real) {
    Rational sum;
    for (const ComplexAmplitude& b : result) sum += b.re;
    if (sum == 0) throw Error(ErrorCode::bad_value, path + ": the amplitudes add up to 0");
    for (ComplexAmplitude& b : result) b.re /= sum;
    return result;
  }
  using I = theory::Interval<160>;
  I sizes;
  for (const ComplexAmplitude& b : result) sizes += sqrt(I(Rational(b.re * b.re + b.im * b.im)));
  if (enclosure(sizes).hi > 1 + Rational(0x1p-300))
    throw Error(ErrorCode::bad_value, path + ": the sizes of the amplitudes add up to more than 1");
  return result;
}

std::vector<Rational> real_parts(const std::string& path,
                                 const std::vector<ComplexAmplitude>& amplitudes) {
  std::vector<Rational> result;
  for (const ComplexAmplitude& b : amplitudes) {
    if (b.im != 0)
      throw Error(ErrorCode::bad_value,
                  path + ": the amplitudes of a Retrieval head are real and not negative");
    result.push_back(b.re);
  }
  return result;
}

// ------------------------------------------------------------------------------------- answer

struct Answer {
  Survival survival;
  Exclusion exclusion;
  std::vector<ComplexAmplitude> index;
  std::vector<Rational> retrieval;
  std::vector<std::size_t> letters;
  std::vector<std::string> notes;
  std::vector<Fact> facts;
};

struct Asked {
  Table table;
  std::optional<RetrievalKind> kind;
  HorizonQuestion question;
  std::optional<KeyLimit> window;  ///< no more keys are seen: the length `reach` settles all
};

// Whether the limit on keys is a chunk's: then a target before the chunk is not seen at all.
bool in_chunk(const theory::ResolvedRope& rope, const KeyLimit& limit) {
  return rope.attention_chunk == limit.keys;
}

std::vector<std::string> notes_of(const Asked& asked) {
  std::vector<std::string> notes;
  if (!asked.table.rope) return notes;
  const theory::ResolvedRope& rope = *asked.table.rope;
  notes.push_back(fmt::format("--scale is ||q|| ||k|| times the model's own factor {} = {}",
                              rope.logit_scale.text(),
                              shown(theory::enclose(rope.logit_scale, 12).middle())));
  if (const auto limit = key_limit(rope))
    notes.push_back(
        fmt::format("{} = {}: {}", limit->key, limit->keys.str(),
                    in_chunk(rope, *limit)
                        ? "at most so many keys are seen, those of the query's own chunk; a target "
                          "in an earlier "
                          "chunk is not seen at all"
                        : "at most so many keys are seen, and the mass stays the same beyond"));
  if (rope.softcap)
    notes.push_back("logits pass through " + shown(*rope.softcap) + " tanh(x/" +
                    shown(*rope.softcap) +
                    ") in this model: that is another head, and both numbers are for the one "
                    "without");
  if (rope.model_type == "gpt_oss")
    notes.emplace_back(
        "attention sinks take mass from every key in this model: the mass of the target "
        "among the keys is meant");
  if (asked.kind && rope.head_dim > rope.rotary_dim)
    notes.push_back(fmt::format(
        "{} of {} dimensions of the head do not turn: the bound allows for them, the head on the "
        "{} planes does not use them",
        rope.head_dim - rope.rotary_dim, rope.head_dim, asked.table.frequencies.size()));
  return notes;
}

// A window shows no more than `reach` keys: what happens beyond does not.
bool never_excluded(const Asked& asked, const Exclusion& exclusion) {
  return asked.window && (!exclusion.bound || *exclusion.bound >= asked.question.reach);
}
Exclusion seen(const Asked& asked, const Exclusion& exclusion) {
  return never_excluded(asked, exclusion) ? Exclusion() : exclusion;
}

Answer solve(const Arguments& args, const Asked& asked) {
  const std::vector<Formula>& planes = asked.table.frequencies;
  const HorizonQuestion& question = asked.question;
  Answer answer;
  const bool uniform = args.amplitudes == "uniform";
  const bool best = args.amplitudes == "best";
  std::vector<ComplexAmplitude> given;
  if (uniform)
    for (const Rational& a : equal_amplitudes(planes.size())) given.push_back({a, 0});
  else if (!best)
    given = read_amplitudes(args.amplitudes, planes.size());

  if (!asked.kind) {
    IndexHorizon horizon = index_horizon_of_table(planes, question);
    answer.exclusion = std::move(horizon.exclusion);
    if (best) {
      answer.survival = std::move(horizon.survival);
      answer.index = std::move(horizon.amplitudes);
    } else {
      answer.survival = index_survival(given, planes, question);
      answer.index = std::move(given);
    }
    if (!args.certificate.empty())
      answer.facts = index_horizon_facts(answer.index, planes, question, answer.survival,
                                         seen(asked, answer.exclusion));
    return answer;
  }

  RetrievalHorizonQuestion retrieval{question, asked.kind->alphabet, asked.kind->code};
  std::vector<Formula> all = planes;
  if (asked.table.rope && asked.table.rope->head_dim > asked.table.rope->rotary_dim)
    all.emplace_back(0);
  answer.exclusion = retrieval_exclusion(all, retrieval);
  if (retrieval.code == RetrievalCode::orthogonal) {
    answer.survival = retrieval_survival({}, planes, retrieval);
    answer.letters = orthogonal_retrieval(planes, retrieval.alphabet, 1).planes;
  } else if (best) {
    RetrievalHorizon horizon = retrieval_horizon_of_table(planes, retrieval);
    answer.survival = std::move(horizon.survival);
    answer.retrieval = std::move(horizon.amplitudes);
  } else {
    answer.retrieval = real_parts(args.amplitudes, given);
    answer.survival = retrieval_survival(answer.retrieval, planes, retrieval);
  }
  if (!args.certificate.empty())
    answer.facts = retrieval_horizon_facts(answer.retrieval, planes, all, retrieval,
                                           answer.survival, seen(asked, answer.exclusion));
  if (standing(all) > 0)
    answer.notes.emplace_back(
        "a plane that stands still keeps a Retrieval margin at every length; only the number of "
        "keys ends the mass");
  return answer;
}

std::string unless_unbounded(const std::string& number, bool unbounded) {
  return unbounded ? "unbounded" : number;
}

const char* name(RetrievalCode code) {
  switch (code) {
    case RetrievalCode::plain: return "plain";
    case RetrievalCode::centred: return "centred";
    case RetrievalCode::orthogonal: return "orthogonal";
  }
  return "";
}

void print(const Arguments& args, const Asked& asked, const Answer& answer, double seconds) {
  const HorizonQuestion& question = asked.question;
  const bool survives = asked.window && answer.survival.capped;
  const std::string guaranteed =
      unless_unbounded(std::to_string(answer.survival.guaranteed), survives);
  const bool never = never_excluded(asked, answer.exclusion);
  const bool bounded = answer.exclusion.bound || never;
  const std::string bound =
      bounded ? unless_unbounded(answer.exclusion.bound ? answer.exclusion.bound->str() : "", never)
              : "";

  if (args.common.json) {
    Json out;
    out["task"] = asked.kind ? "retrieval" : "index";
    out["guaranteed"] = guaranteed;
    out["capped"] = answer.survival.capped && !asked.window;
    out["mass"] = json(answer.survival.mass);
    out["bound"] = bounded ? Json(bound) : Json(nullptr);
    out["bound_mass"] = bounded && !never ? json(answer.exclusion.mass) : Json(nullptr);
    out["amplitudes"] = Json::array();
    for (const ComplexAmplitude& b : answer.index)
      out["amplitudes"].push_back({{"re", b.re.str()}, {"im", b.im.str()}});
    for (const Rational& a : answer.retrieval) out["amplitudes"].push_back(a.str());
    if (!asked.kind) {
      out["bound_head"] = Json::array();
      if (!never)
        for (const ComplexAmplitude& b : answer.exclusion.head)
          out["bound_head"].push_back({{"re", b.re.str()}, {"im", b.im.str()}});
      out["offset"] = std::to_string(question.offset);
    } else {
      out["alphabet"] = asked.kind->alphabet.str();
      out["head"] = name(asked.kind->code);
      if (asked.kind->code == RetrievalCode::orthogonal) {
        out["letters"] = Json::array();
        for (const std::size_t f : answer.letters) out["letters"].push_back(f + 1);
      }
    }
    out["scale"] = question.scale.str();
    out["target"] = question.mass.str();
    out["longest"] = std::to_string(question.reach);
    out["warnings"] = asked.table.warnings;
    out["notes"] = answer.notes;
    out["seconds"] = seconds;
    std::cout << out.dump(2) << '\n';
    return;
  }

  const auto row = [](const char* what, const std::string& value, const std::string& remark = "") {
    std::string line = fmt::format("  {:<11} {:<22} {}", what, value, remark);
    line.erase(line.find_last_not_of(' ') + 1);
    std::cout << line << '\n';
  };
  const std::string size = shown(question.scale, 12);
  const std::string target = shown(question.mass, 12);
  if (asked.kind)
    std::cout << fmt::format("Retrieval head ({}) over {} letters, scale {}, mass {}\n",
                             name(asked.kind->code), asked.kind->alphabet.str(), size, target);
  else
    std::cout << fmt::format("Index head, offset {}, scale {}, mass {}\n", question.offset, size,
                             target);
  row("guaranteed", guaranteed,
      survives                          ? in_chunk(*asked.table.rope, *asked.window)
                                              ? "the mass is there wherever the chunk holds the target"
                                              : "the mass is there at every length"
      : answer.survival.capped          ? "and not looked at beyond"
      : answer.survival.guaranteed == 0 ? "no length has the mass"
                                        : "the longest input at which the head below has the mass");
  row("mass", text(answer.survival.mass, 10),
      survives ? fmt::format("with all {} keys", question.reach)
      : answer.survival.guaranteed == 0
          ? fmt::format("at length {}", asked.kind ? 1 : question.offset + 1)
          : "there");
  if (!bounded)
    row("bound", "none", "no length up to 1e100 is proven too long");
  else
    row("bound", bound,
        never        ? "no length is proven too long"
        : asked.kind ? "no head of this scale keeps the mass beyond"
                     : "no head of equal keys and this scale keeps the mass beyond");
  if (asked.kind && asked.kind->code == RetrievalCode::orthogonal) {
    row("planes", fmt::format("{} of {}, one per letter", answer.letters.size(),
                              asked.table.frequencies.size()));
  } else {
    std::vector<ComplexAmplitude> all = answer.index;
    for (const Rational& a : answer.retrieval) all.push_back({a, 0});
    std::vector<std::size_t> carrying;
    const Rational noise(1, 1000000);
    for (std::size_t f = 0; f < all.size(); ++f)
      if (abs(all[f].re) >= noise || abs(all[f].im) >= noise) carrying.push_back(f);
    row("planes", fmt::format("{} of {} carry a millionth or more", carrying.size(), all.size()));
    if (args.amplitudes != "uniform") {
      std::cout << fmt::format("\n  {:>4}  amplitude\n", "ID");
      for (const std::size_t f : carrying) {
        std::string line = shown(all[f].re, 6);
        if (abs(all[f].im) >= noise)
          line += (all[f].im < 0 ? " - " : " + ") + shown(Rational(abs(all[f].im)), 6) + " i";
        std::cout << fmt::format("  {:>4}  {}\n", f + 1, line);
      }
    }
  }
  for (const std::string& note : answer.notes) std::cout << "note: " << note << '\n';
}

int run(const Arguments& args, const std::string& command) {
  const tbb::global_control limit = thread_limit(args.common);
  Asked asked;
  asked.kind = retrieval_kind(args.retrieval);
  HorizonQuestion& question = asked.question;
  question.scale = parse_rational("--scale", args.scale);
  if (question.scale <= 0 || question.scale > 1000000)
    throw Error(ErrorCode::bad_value,
                "--scale must lie above 0 and be at most 1000000, not " + args.scale);
  question.mass = parse_rational("--mass", args.mass);
  if (question.mass <= 0 || question.mass >= 1)
    throw Error(ErrorCode::bad_value, "--mass must lie strictly between 0 and 1, not " + args.mass);
  if (!args.longest.empty()) {
    const theory::Integer longest = parse_integer("--longest", args.longest);
    if (longest < 1 || longest > longest_horizon)
      throw Error(ErrorCode::bad_value, fmt::format("--longest must lie in 1..{}, not {}",
                                                    longest_horizon, longest.str()));
    question.reach = static_cast<std::int64_t>(longest);
  }
  if (asked.kind && !args.offset.empty())
    throw Error(ErrorCode::usage, "--offset is for Index heads: leave out --alphabet");
  if (asked.kind && asked.kind->code == RetrievalCode::orthogonal && args.amplitudes != "best")
    throw Error(ErrorCode::usage, "--amplitudes: an orthogonal head has a plane per letter");
  asked.table = read_table(args.table);
  if (asked.kind && asked.kind->code == RetrievalCode::orthogonal &&
      asked.kind->alphabet > theory::Integer(asked.table.frequencies.size()))
    throw Error(ErrorCode::bad_value,
                fmt::format("--alphabet: {} letters need a plane each, and there are {}",
                            asked.kind->alphabet.str(), asked.table.frequencies.size()));
  if (const auto window = asked.table.rope ? key_limit(*asked.table.rope) : std::nullopt;
      window && window->keys <= question.reach) {
    question.reach = static_cast<std::int64_t>(window->keys);
    asked.window = window;
  }
  if (!asked.kind) {
    const theory::Integer offset =
        args.offset.empty() ? theory::Integer(1) : parse_integer("--offset", args.offset);
    if (offset < 0 || offset >= question.reach)
      throw Error(ErrorCode::bad_value,
                  fmt::format("--offset must lie in 0..{} ({} is {}), not {}", question.reach - 1,
                              asked.window ? asked.window->key : "--longest", question.reach,
                              offset.str()));
    question.offset = static_cast<std::int64_t>(offset);
    if (asked.table.frequencies.size() > 2048)
      throw Error(ErrorCode::too_large,
                  fmt::format("--planes: Index heads of at most 2048 planes are handled, not {}",
                              asked.table.frequencies.size()));
  }

  check_certificate(args.certificate);
  tell(asked.table.warnings, args.common);
  if (draws_progress())
    question.progress = [](std::int64_t length) {
      std::cerr << fmt::format("\rlength {:<10}", length) << std::flush;
    };
  const auto start = std::chrono::steady_clock::now();
  Answer answer = solve(args, asked);
  std::vector<std::string> notes = notes_of(asked);
  answer.notes.insert(answer.notes.begin(), notes.begin(), notes.end());
  if (question.progress) std::cerr << "\r                   \r";
  const Survival& survival = answer.survival;
  const Exclusion exclusion = seen(asked, answer.exclusion);
  write_certificate(
      args.certificate, command, Verdict::proved, answer.facts,
      {{"table", asked.table.words},
       {"longest", std::to_string(question.reach)},
       {"statement",
        (survival.guaranteed > 0
             ? fmt::format("The head has the mass at {} keys{}", survival.guaranteed,
                           survival.capped ? "" : " and not with one more")
             : std::string("The head has the mass at no length")) +
            (exclusion.bound ? "; no head has it at any length above " + exclusion.bound->str()
                             : "") +
            "."},
       {"target", question.mass.str()}});
  print(args, asked, answer,
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return as_expected;
}

}  // namespace

void add_horizon(CLI::App& root, int& exit_code) {
  const auto args = std::make_shared<Arguments>();
  CLI::App& app = *root.add_subcommand(
      "horizon", "Up to which length a head keeps its softmax mass, and beyond which none does");
  add_table(app, args->table);
  app.add_option(
         "--scale", args->scale,
         "Logit scale: ||q|| ||k|| times the model's own factor (1/sqrt(head_dim) and so on)")
      ->required()
      ->type_name("BETA");
  app.add_option("--mass", args->mass,
                 "Softmax mass wanted on the target, between 0 and 1 (default: 0.9)")
      ->type_name("P");
  app.add_option("--offset", args->offset,
                 "The head looks M tokens back; 1 (default) is the previous token, 0 its own")
      ->type_name("M");
  add_retrieval(app, args->retrieval);
  app.add_option("--amplitudes", args->amplitudes,
                 "uniform, best (default), or a JSON file with one number per plane (as `ropewalk "
                 "optimal --json` prints)")
      ->type_name("WHICH");
  app.add_option("--longest", args->longest,
                 "Look at inputs of up to N tokens (1048576); at most 16777216")
      ->type_name("N");
  add_certificate(app, args->certificate);
  add_common(app, args->common);
  app.footer(
      "guaranteed is the largest length n at which the stated head surely has the mass: it has it "
      "at every\n"
      "shorter length too, and surely not at n + 1. bound is a length above which no head of this "
      "scale has the\n"
      "mass, whatever its amplitudes and phases. Index: equal keys, mass 1 / sum of exp(-BETA sum "
      "a_f (1 - cos\n"
      "theta_f s)) over the relative lags s = -M..n-1-M; best amplitudes are complex, sum |b_f| <= "
      "1. Retrieval:\n"
      "the worst input with exactly one match; best loses least mass there. A sliding window or a "
      "chunk caps the keys: a\n"
      "head with the mass when it is full has it at every length (unbounded). Where --longest ends "
      "the "
      "search\n"
      "guaranteed is a lower bound (capped).\n"
      "\n"
      "JSON: {\"task\", \"guaranteed\": length or \"unbounded\", \"capped\", \"mass\": {\"lo\", "
      "\"hi\"}, \"bound\":\n"
      "length, \"unbounded\" or null (none found), \"bound_mass\": no head has more at bound + 1, "
      "\"amplitudes\",\n"
      "\"bound_head\": the head whose tangent proves the bound, \"offset\", \"scale\", \"target\", "
      "\"longest\", \"warnings\",\n"
      "\"notes\", \"seconds\"}; amplitudes of Index heads are {\"re\", \"im\"}; with --alphabet "
      "\"alphabet\" "
      "and "
      "\"head\" instead\n"
      "of \"bound_head\" and \"offset\", amplitudes are fractions, and an orthogonal head has "
      "\"letters\": [ID].\n"
      "\n"
      "Exit status: 0; 2 for bad input; 3 if interrupted or undecided.\n"
      "\n"
      "Examples:\n"
      "  ropewalk horizon --base 5e5 --planes 64 --scale 15\n"
      "  ropewalk horizon --base 5e5 --planes 64 --scale 15 --amplitudes uniform --offset 3\n"
      "  ropewalk horizon --schedule examples/configs/llama-3.1-8b.json --scale 12 --mass 0.5 "
      "--json\n"
      "  ropewalk horizon --base 1e4 --planes 64 --scale 25 --alphabet 8 --head centred");
  app.callback([args, &app, &exit_code] { exit_code = run(*args, question(app)); });
}

}  // namespace ropewalk::cli
