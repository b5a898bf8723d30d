#include "sweeps/quantity.hpp"

#include <algorithm>
#include <array>

#include "proofs_numeric/best_retrieval.hpp"
#include "proofs_numeric/horizon.hpp"
#include "proofs_numeric/precision.hpp"
#include "proofs_numeric/retrieval_margin.hpp"
#include "theory/trig_sum.hpp"

namespace ropewalk::sweeps {

using namespace proofs_numeric;
using theory::TrigSum;

namespace {

// -------------------------------------------------------------------------- parameters

Rational number(const std::string& text) {
  const auto value = Formula::parse(text).rational();
  if (!value) throw Error(ErrorCode::bad_value, "'" + text + "' is not a rational number");
  return *value;
}

Integer whole_number(const std::string& text) {
  const Rational value = number(text);
  if (denominator(value) != 1)
    throw Error(ErrorCode::bad_value, "'" + text + "' is not a whole number");
  return Integer(numerator(value));
}

std::string one_of(const std::string& text, std::initializer_list<std::string_view> names) {
  std::string list;
  for (const std::string_view name : names) {
    if (text == name) return text;
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  throw Error(ErrorCode::bad_value, "'" + text + "' is none of " + list);
}

std::string amplitudes(const std::string& text) { return one_of(text, {"best", "uniform"}); }
std::string code(const std::string& text) {
  return one_of(text, {"plain", "centred", "orthogonal"});
}

std::string reading(const std::string& text) { return one_of(text, {"max", "min"}); }

std::string alphabet(const std::string& text) {
  const Integer letters = whole_number(text);
  if (letters < 2 || letters > 1000000)
    throw Error(ErrorCode::bad_value, "must lie in 2..1000000, not " + letters.str());
  return letters.str();
}

std::string scale(const std::string& text) {
  const Rational value = number(text);
  if (value <= 0 || value > 1000000)
    throw Error(ErrorCode::bad_value, "must be above 0 and at most 1000000, not " + text);
  return value.str();
}

std::string share(const std::string& text) {
  const Rational value = number(text);
  if (value <= 0 || value >= 1)
    throw Error(ErrorCode::bad_value, "must lie strictly between 0 and 1, not " + text);
  return value.str();
}

std::string position(const std::string& text) {
  const Integer offset = whole_number(text);
  if (offset < 0) throw Error(ErrorCode::bad_value, "must be at least 0, not " + offset.str());
  return offset.str();
}

// "end": the farthest, reading min; "middle": the nearest, reading max; or a number of tokens back.
std::string offset(const std::string& text) {
  return text == "end" || text == "middle" ? text : position(text);
}

const Parameter amplitudes_parameter{"amplitudes", "best", "best or uniform (1/D on each plane)",
                                     amplitudes};
const Parameter alphabet_parameter{"alphabet", "8", "letters A, 2..1000000", alphabet};
const Parameter head_parameter{
    "head", "plain",
    "plain, centred (queries turned back by half the length) or orthogonal "
    "(a plane per letter)",
    code};
const Parameter scale_parameter{"scale", "20", "logit scale beta, above 0", scale};
const Parameter mass_parameter{"mass", "9/10", "softmax mass wanted on the target, in (0, 1)",
                               share};
const Parameter offset_parameter{
    "offset", "end", "tokens back, or end (all offsets: reach n-1) or middle (the easiest)",
    offset};

// ------------------------------------------------------------------------------ answers

Answer none(const std::string& note) {
  Answer answer;
  answer.detail["note"] = note;
  return answer;
}

void append(std::vector<Fact>& to, std::vector<Fact> facts) {
  for (Fact& fact : facts) to.push_back(std::move(fact));
}

// ropewalk-check gives up on facts that take more than 3*10^8 evaluations; what it would not accept
// is not called certified. `terms`: how often a cosine of the fact is evaluated.
bool checkable(double terms) { return terms <= 2e7; }

const std::vector<Formula>& planes_of(const Question& q) { return q.table.schedule.frequencies; }

Json weights(const std::vector<Rational>& amplitudes) {
  Json out = Json::object();
  for (std::size_t f = 0; f < amplitudes.size(); ++f)
    if (amplitudes[f] != 0) out[std::to_string(f + 1)] = amplitudes[f].str();
  return out;
}

// Answers that are one function of a reach, where the length has one; equal reaches once.
template <class F>
Answers by_reach(const Question& q, F&& answer_at) {
  Answers answers;
  std::map<Lag, Answer> known;
  const std::string& where = q.parameters.at("offset");
  for (const Lag& n : q.lengths) {
    if (n < 2) {
      answers.at.push_back(none("one token has no other key"));
      continue;
    }
    if (where != "end" && where != "middle" && Lag(where) >= n) {
      answers.at.push_back(none("offset " + where + " is outside of the input"));
      continue;
    }
    const Lag reach = where == "end"      ? Lag(n - 1)
                      : where == "middle" ? reach_of(n, (n - 1) / 2)
                                          : reach_of(n, Lag(where));
    auto found = known.find(reach);
    if (found == known.end()) found = known.emplace(reach, answer_at(reach, answers.facts)).first;
    answers.at.push_back(found->second);
  }
  return answers;
}

// The minimum of the sum over first..T for many T in one pass: its record staircase.
class Staircase {
 public:
  Staircase(TrigSum sum, const Lag& first, const Lag& last, std::atomic<bool>* stop)
      : range_{first, last, {}}, sum_(std::move(sum)) {
    ExtremumOptions options;
    options.records = true;
    options.stop = stop;
    report_ = minimum(sum_, range_, options);
  }
  [[nodiscard]] Answer at(const Lag& reach) const {
    const auto above =
        std::upper_bound(report_.records.begin(), report_.records.end(), reach,
                         [](const Lag& t, const Record& record) { return t < record.lag; });
    const Record& record = *std::prev(above);
    Answer answer;
    answer.value = record.value;
    answer.detail["lag"] = record.lag.str();
    answer.method = name(report_.method);
    return answer;
  }
  [[nodiscard]] Fact fact() const { return extremum_fact(Which::minimum, sum_, range_, report_); }

 private:
  LagRange range_;
  TrigSum sum_;
  ExtremumReport report_;
};

bool narrow(const Enclosure& x) {
  const auto width = x.relative_width();
  return width && *width <= Rational(1, 1000000);
}

Answer answer_of(const OptimalHead& head) {
  Answer answer;
  answer.value = head.optimum;
  answer.decided = narrow(head.optimum);
  answer.detail["amplitudes"] = weights(head.amplitudes);
  Json lags = Json::array();
  for (const LagWeight& w : head.dual) lags.push_back(w.lag.str());
  answer.detail["binding"] = std::move(lags);
  answer.method = "linear program";
  return answer;
}

Answer optimum(const Question& q, const Lag& reach, std::vector<Fact>& facts) {
  OptimalOptions options;
  options.stop = q.stop;
  const OptimalHead head = optimal_head(planes_of(q), reach, options);
  append(facts, optimal_facts(planes_of(q), reach, head, q.stop));
  return answer_of(head);
}

Answers index_margin(const Question& q) {
  if (q.parameters.at("amplitudes") == "best")
    return by_reach(
        q, [&](const Lag& reach, std::vector<Fact>& facts) { return optimum(q, reach, facts); });
  // Reaches grow with the length wherever the offset is, but for small lengths; one pass to the
  // largest.
  Lag farthest = 0;
  by_reach(q, [&](const Lag& reach, std::vector<Fact>&) {
    farthest = std::max(farthest, reach);
    return Answer();
  });
  std::optional<Staircase> stairs;
  if (farthest > 0)
    stairs.emplace(theory::aligned_loss(equal_amplitudes(planes_of(q).size()), planes_of(q)),
                   Lag(1), farthest, q.stop);
  Answers answers =
      by_reach(q, [&](const Lag& reach, std::vector<Fact>&) { return stairs->at(reach); });
  if (stairs) answers.facts.push_back(stairs->fact());
  return answers;
}

Answers index_bound(const Question& q) {
  Answers answers;
  std::map<Lag, Answer> known;
  const std::string& where = q.parameters.at("offset");
  for (const Lag& n : q.lengths) {
    const Lag m = where == "middle" ? Lag((n - 1) / 2) : Lag(where);
    if (m < 1 || m > n - 2) {
      answers.at.push_back(none("the bound speaks of offsets 1..n-2"));
      continue;
    }
    const Lag reach = two_sided_reach(n, m);
    auto found = known.find(reach);
    if (found == known.end()) found = known.emplace(reach, optimum(q, reach, answers.facts)).first;
    answers.at.push_back(found->second);
  }
  return answers;
}

Answers base_sum_minimum(const Question& q) {
  TrigSum sum;
  for (const Formula& theta : planes_of(q)) sum.terms.push_back({1, theta, Formula()});
  const Staircase stairs(std::move(sum), 0, q.lengths.back(), q.stop);
  Answers answers;
  for (const Lag& n : q.lengths) {
    Answer answer = stairs.at(n);
    const auto sign = theory::sign(*answer.value);
    answer.decided = sign.has_value();
    if (sign) answer.detail["admissible"] = *sign >= 0;
    answers.at.push_back(std::move(answer));
  }
  answers.facts.push_back(stairs.fact());
  return answers;
}

// The longest input over which the slowest moving plane stays within one turn.
Answers aliasing_free(const Question& q) {
  Answers answers;
  const Formula* slowest = nullptr;
  for (const Formula& theta : planes_of(q)) {
    const auto s = sign(theta);
    if (!s) throw Error(ErrorCode::undecided, theta.text() + " cannot be told from 0");
    if (*s == 0) continue;
    if (slowest == nullptr) {
      slowest = &theta;
      continue;
    }
    const auto order = compare(theta, *slowest);
    if (order && *order < 0) slowest = &theta;
  }
  if (slowest == nullptr) {
    for (std::size_t i = 0; i < q.lengths.size(); ++i) answers.at.push_back(none("no plane moves"));
    return answers;
  }
  // (n-1) theta < 2 pi: n - 1 = ceil(2 pi / theta) - 1.
  const auto part = slowest->turns();  // theta = 2 pi part
  const Integer longest =
      part ? ceil(Formula(Rational(1 / *part))) : ceil(Formula(2) * Formula::pi() / *slowest);
  Answer answer;
  answer.value = Enclosure(Rational(longest));
  answer.detail["theta"] = slowest->text();
  answer.method = "closed form";
  for (const Lag& n : q.lengths) {
    answer.detail["free"] = n <= longest;
    answers.at.push_back(answer);
  }
  answers.facts.push_back(relation("(n - 1)*theta < 2*pi and n*theta >= 2*pi",
                                   {{{"n", longest.str()}, {"theta", slowest->text()}}, {}}));
  return answers;
}

// What P1 says of one plane, as published and as it is true (theory.md, T3.2 and R2, R6).
Answers published_bound(const Question& q) {
  const bool index = q.parameters.at("of") == "index";
  const bool corrected = q.parameters.at("form") == "corrected";
  const Rational letters(q.parameters.at("alphabet"));
  Answers answers;
  for (const Lag& n : q.lengths) {
    if (n < 2) {
      answers.at.push_back(none("one token has no other key"));
      continue;
    }
    if (!index && planes_of(q).size() != 1) {
      answers.at.push_back(none("the bound speaks of one plane"));
      continue;
    }
    using I = theory::Interval<40>;
    Names names{{{"n", n.str()}}, {}};
    std::string expression;
    I value;
    if (index) {
      const Lag nearest =
          reach_of(n, q.parameters.at("reading") == "max" ? Lag((n - 1) / 2) : Lag(0));
      expression = corrected ? "1 - cos(2*pi/(" + nearest.str() + " + 1))" : "2*pi^2/n^2";
      value = corrected ? I(I(1) - cos(I(I(2) * I::pi() / I(Lag(nearest + 1)))))
                        : I(I(2) * I::pi() * I::pi() / I(Lag(n * n)));
    } else {
      const Formula& theta = planes_of(q).front();
      names.where.emplace_back("theta", theta.text());
      names.where.emplace_back("letters", letters.str());
      expression =
          std::string("1 - cos(2*pi/letters - ") + (corrected ? "(n - 1)" : "n") + "*theta)";
      const Lag lag = corrected ? Lag(n - 1) : n;
      value = I(1) - cos(I(I(2) * I::pi() / I(letters) - I(lag) * theta.as<I>()));
    }
    Answer answer;
    answer.value = enclosure(value);
    answer.method = "closed form";
    answers.facts.push_back(enclosed(expression, *answer.value, names));
    answers.at.push_back(std::move(answer));
  }
  return answers;
}

std::string pipeline(const std::string& text) {
  std::string names;
  for (const Pipeline& p : pipelines()) {
    if (p.name == text) return text;
    names += (names.empty() ? "" : ", ") + std::string(p.name);
  }
  throw Error(ErrorCode::bad_value, "'" + text + "' is none of " + names);
}

Answers rounding_error(const Question& q) {
  const std::string& name = q.parameters.at("pipeline");
  const auto known = pipelines();
  const Pipeline& chosen =
      *std::find_if(known.begin(), known.end(), [&](const Pipeline& p) { return p.name == name; });
  PrecisionOptions options;
  options.stop = q.stop;
  std::optional<PrecisionAudit> audit;
  if (q.lengths.back() > 1)
    audit = precision_audit(q.table.schedule, chosen,
                            static_cast<std::int64_t>(q.lengths.back() - 1), options);
  Answers answers;
  for (const Lag& n : q.lengths) {
    if (n < 2) {
      answers.at.push_back(none("one token has no lag but 0"));
      continue;
    }
    const auto last = static_cast<std::int64_t>(n - 1);
    if (audit->not_finite && *audit->not_finite <= last) {
      answers.at.push_back(none("not finite from lag " + std::to_string(*audit->not_finite)));
      continue;
    }
    const TableError& error = *worst(audit->cosine, last);
    Answer answer;
    answer.value = error.error;
    answer.detail["lag"] = std::to_string(error.lag);
    answer.detail["plane"] = std::to_string(error.plane + 1);
    answer.detail["distinct"] = audit->distinct_until() >= last;
    const Rational rotation = worst(audit->rotation, last)->error.hi;
    answer.detail["rotation"] = decimal(rotation, 6, theory::Round::up);
    answer.detail["margin"] =
        decimal(safe_margin(rotation, q.table.schedule.attention_factor), 6, theory::Round::up);
    answer.method = "every entry";
    answers.at.push_back(std::move(answer));
  }
  if (audit) answers.facts = precision_facts(q.table.schedule, chosen, *audit);
  return answers;
}

// ---------------------------------------------------------------------------- Retrieval

RetrievalCode code_of(const Question& q) {
  const std::string& head = q.parameters.at("head");
  return head == "plain"     ? RetrievalCode::plain
         : head == "centred" ? RetrievalCode::centred
                             : RetrievalCode::orthogonal;
}

// A statement about many letters is one over all lags, which may be too long to check.
bool checked(const Question& q, const Integer& letters, std::int64_t reach) {
  return letters <= 64 ||
         checkable((2.0 * static_cast<double>(planes_of(q).size()) + letters.convert_to<double>()) *
                   static_cast<double>(reach));
}

Answer retrieval_at(const Question& q, const Lag& n, std::vector<Fact>& facts) {
  const auto& planes = planes_of(q);
  const Integer letters(q.parameters.at("alphabet"));
  const RetrievalCode head_code = code_of(q);
  if (n < 2) return none("one token has no other key");
  const auto reach = static_cast<std::int64_t>(n - 1);
  Answer answer;
  if (head_code == RetrievalCode::orthogonal) {
    if (letters > planes.size()) return none("fewer planes than letters");
    const OrthogonalHead head = orthogonal_retrieval(planes, letters, reach);
    append(facts, orthogonal_facts(planes, reach, head));
    answer.value = head.margin;
    answer.method = "extremum";
    return answer;
  }
  if (q.parameters.at("amplitudes") == "uniform" || planes.size() == 1) {
    ProvenMargin own = proven_retrieval_margin(equal_amplitudes(planes.size()), planes, letters,
                                               reach, head_code, q.stop);
    answer.value = own.margin;
    answer.method = "extremum";
    if (checked(q, letters, reach)) append(facts, std::move(own.facts));
    return answer;
  }
  OptimalOptions options;
  options.stop = q.stop;
  RetrievalHead head = best_retrieval(planes, letters, reach, head_code, options);
  std::vector<Fact> own = retrieval_optimum_facts(planes, letters, reach, head_code, head, q.stop);
  if (checked(q, letters, reach)) append(facts, std::move(own));
  answer.value = head.optimum;
  answer.decided = narrow(head.optimum);
  answer.detail["amplitudes"] = weights(head.amplitudes);
  answer.method = "linear program";
  return answer;
}

Answers retrieval_margin_answers(const Question& q) {
  Answers answers;
  for (const Lag& n : q.lengths) answers.at.push_back(retrieval_at(q, n, answers.facts));
  return answers;
}

Answers trade_off(const Question& q) {
  const Integer letters(q.parameters.at("alphabet"));
  const Rational weight = number(q.parameters.at("weight"));
  OptimalOptions options;
  options.stop = q.stop;
  Answers answers;
  for (const Lag& n : q.lengths) {
    if (n < 2) {
      answers.at.push_back(none("one token has no other key"));
      continue;
    }
    const auto reach = static_cast<std::int64_t>(n - 1);
    RetrievalHead head = best_for_both(planes_of(q), letters, reach, code_of(q), weight, options);
    ProvenBoth both = proven_both(planes_of(q), letters, reach, code_of(q), weight, head, q.stop);
    Answer answer;
    answer.value = head.optimum;
    answer.decided = narrow(head.optimum);
    answer.detail["index"] = decimal(both.index.middle(), 12, theory::Round::nearest);
    answer.detail["retrieval"] = decimal(both.retrieval.middle(), 12, theory::Round::nearest);
    answer.detail["amplitudes"] = weights(head.amplitudes);
    answer.method = "linear program";
    if (checked(q, letters, reach)) append(answers.facts, std::move(both.facts));
    answers.at.push_back(std::move(answer));
  }
  return answers;
}

// ------------------------------------------------------------------------------ horizons

// Lengths at which a head survives, capped at each length that was asked about.
// Inputs have more than `shortest` tokens.
void cap(Answers& answers, const Question& q, const Lag& shortest, const Survival& survival,
         const Exclusion& exclusion, const Json& detail) {
  for (const Lag& n : q.lengths) {
    if (n <= shortest) {
      answers.at.push_back(none("the shortest input has " + Lag(shortest + 1).str() + " tokens"));
      continue;
    }
    const Rational kept = std::min(Rational(survival.guaranteed), Rational(n));
    const Rational bound =
        exclusion.bound ? std::min(Rational(*exclusion.bound), Rational(n)) : Rational(n);
    Answer answer;
    answer.value = Enclosure(kept, std::max(kept, bound));
    answer.decided = answer.value->exact();
    answer.detail = detail;
    answer.detail["capped"] = kept == Rational(n);
    if (!answer.decided)
      answer.detail["note"] =
          bound < Rational(n)
              ? "a head is known up to the lower end, and none exists beyond the upper"
              : "a head is known up to the lower end; up to the length asked none "
                "is known to be impossible";
    answer.method = "convex program";
    answers.at.push_back(std::move(answer));
  }
}

HorizonQuestion horizon_of(const Question& q) {
  HorizonQuestion question;
  question.scale = Rational(q.parameters.at("scale"));
  question.mass = Rational(q.parameters.at("mass"));
  question.reach = std::max<std::int64_t>(2, static_cast<std::int64_t>(q.lengths.back()));
  question.stop = q.stop;
  return question;
}

Answers index_horizon_answers(const Question& q) {
  HorizonQuestion question = horizon_of(q);
  question.offset = static_cast<std::int64_t>(Integer(q.parameters.at("offset")));
  Answers answers;
  if (question.offset >= question.reach) {
    for (std::size_t i = 0; i < q.lengths.size(); ++i)
      answers.at.push_back(
          none("offset " + q.parameters.at("offset") + " is outside of the input"));
    return answers;
  }
  const IndexHorizon found = index_horizon_of_table(planes_of(q), question);
  cap(answers, q, question.offset, found.survival, found.exclusion, Json::object());
  answers.facts = index_horizon_facts(found.amplitudes, planes_of(q), question, found.survival,
                                      found.exclusion);
  return answers;
}

// The smallest scale of one head at each length: equal amplitudes, or the best for its reach.
Answers index_scale(const Question& q) {
  HorizonQuestion question;
  question.mass = Rational(q.parameters.at("mass"));
  question.offset = static_cast<std::int64_t>(Integer(q.parameters.at("offset")));
  question.stop = q.stop;
  Answers answers;
  for (const Lag& n : q.lengths) {
    if (question.offset >= n) {
      answers.at.push_back(
          none("offset " + q.parameters.at("offset") + " is outside of the input"));
      continue;
    }
    const auto length = static_cast<std::int64_t>(n);
    question.reach = std::max<std::int64_t>(length, question.offset + 1);
    std::vector<Rational> amplitudes = equal_amplitudes(planes_of(q).size());
    if (n >= 2 && q.parameters.at("amplitudes") == "best") {
      OptimalOptions options;
      options.stop = q.stop;
      amplitudes = optimal_head(planes_of(q), reach_of(n, question.offset), options).amplitudes;
    }
    const auto scale = index_least_scale(amplitudes, planes_of(q), question, length);
    if (!scale) {
      answers.at.push_back(none("no scale up to 10^6 is enough"));
      continue;
    }
    Answer answer;
    answer.value = *scale;
    answer.decided = scale->exact() || narrow(*scale);
    answer.detail["amplitudes"] = weights(amplitudes);
    answer.method = "bisection";
    if (scale->hi > 0)
      append(answers.facts,
             index_least_scale_facts(amplitudes, planes_of(q), question, length, *scale));
    answers.at.push_back(std::move(answer));
  }
  return answers;
}

Answers retrieval_horizon_answers(const Question& q) {
  RetrievalHorizonQuestion question;
  question.common = horizon_of(q);
  question.alphabet = Integer(q.parameters.at("alphabet"));
  question.code = code_of(q);
  Answers answers;
  const auto& planes = planes_of(q);
  if (question.code == RetrievalCode::orthogonal && question.alphabet > planes.size()) {
    for (std::size_t i = 0; i < q.lengths.size(); ++i)
      answers.at.push_back(none("fewer planes than letters"));
    return answers;
  }
  const RetrievalHorizon found = retrieval_horizon_of_table(planes, question);
  Json detail = Json::object();
  if (!found.amplitudes.empty()) detail["amplitudes"] = weights(found.amplitudes);
  cap(answers, q, 0, found.survival, found.exclusion, detail);
  const auto length = std::max<std::int64_t>(found.survival.guaranteed, 1);
  if (checkable(4.0 * static_cast<double>(planes.size()) * static_cast<double>(length)))
    answers.facts = retrieval_horizon_facts(found.amplitudes, planes, planes, question,
                                            found.survival, found.exclusion);
  return answers;
}

// --------------------------------------------------------------------------- the list

double linear(std::size_t planes, double length) { return static_cast<double>(planes) * length; }
double branching(std::size_t planes, double length) {
  return planes == 1 ? 1e5 : 1e6 + 30 * linear(planes, std::min(length, 1e6));
}
double program(std::size_t planes, double length) {
  return planes == 1 ? 1e5 : 1e8 + 30 * linear(planes, std::min(length, 1e7));
}
double passes(std::size_t planes, double length) { return 1e6 + 100 * linear(planes, length); }
double margins(std::size_t planes, double length) { return 1e6 + 200 * linear(planes, length); }
double nothing(std::size_t, double) { return 1e5; }

bool together(std::size_t, const Parameters&) { return true; }
bool one_by_one(std::size_t, const Parameters&) { return false; }

const std::vector<Kind>& list() {
  static const Lag far = boost::multiprecision::pow(Integer(10), 18);
  static const Lag near{longest_horizon};
  static const std::vector<Kind> all{
      {"index-margin",
       "margin of the Index head that looks that many tokens back; best: the optimum over "
       "amplitudes",
       {amplitudes_parameter, offset_parameter},
       far,
       [](std::size_t planes, const Parameters& p) {
         return planes == 1 || p.at("amplitudes") == "uniform";
       },
       branching,
       index_margin},
      {"index-bound",
       "what no head of equal keys exceeds at this offset (the optimum of the two-sided reach)",
       {{"offset", "middle", "tokens back, or middle", offset}},
       far,
       one_by_one,
       program,
       index_bound},
      {"index-horizon",
       "largest n up to the length at which some Index head keeps the mass",
       {scale_parameter, mass_parameter, {"offset", "1", "tokens back", position}},
       near,
       together,
       passes,
       index_horizon_answers},
      {"index-scale",
       "smallest logit scale at which the Index head has the mass; best: of amplitudes for its "
       "reach",
       {amplitudes_parameter, mass_parameter, {"offset", "1", "tokens back", position}},
       near,
       one_by_one,
       passes,
       index_scale},
      {"retrieval-margin",
       "margin of the Retrieval head over A letters; best: the optimum over amplitudes",
       {alphabet_parameter, head_parameter, amplitudes_parameter},
       near,
       one_by_one,
       margins,
       retrieval_margin_answers},
      {"trade-off",
       "what one head can have of both: the largest v with an Index margin of w v and a Retrieval "
       "margin of (1-w) v",
       {{"weight", "1/2", "w, the share of Index, in (0, 1)", share},
        alphabet_parameter,
        {"head", "plain", "plain or centred (queries turned back by half the length)",
         [](const std::string& text) {
           return one_of(text, {"plain", "centred"});
         }}},
       near,
       one_by_one,
       margins,
       trade_off},
      {"retrieval-horizon",
       "largest n up to the length at which some Retrieval head keeps the mass",
       {scale_parameter, mass_parameter, alphabet_parameter, head_parameter},
       near,
       together,
       passes,
       retrieval_horizon_answers},
      {"base-sum",
       "minimum over 0 <= k <= n of the sum of cos(k theta_f); the table serves n where it is >= 0",
       {},
       far,
       together,
       branching,
       base_sum_minimum},
      {"aliasing-free",
       "longest input over which the slowest moving plane stays within one turn",
       {},
       far,
       together,
       nothing,
       aliasing_free},
      {"rounding-error",
       "largest |cos error| of the rounded table over the lags 1..n-1",
       {{"pipeline", "fp32", "how the table is rounded (docs/precision.md)", pipeline}},
       near,
       together,
       [](std::size_t planes, double length) { return 1e6 + 60 * linear(planes, length); },
       rounding_error},
      {"published-bound",
       "what P1 says that one plane cannot exceed, as published or corrected",
       {{"of", "index",
         "index (2 pi^2/n^2; corrected: 1 - cos(2 pi/(T+1))) or retrieval "
         "(1 - cos(omega - n theta); corrected: n - 1 for n)",
         [](const std::string& text) {
           return one_of(text, {"index", "retrieval"});
         }},
        {"form", "published", "published or corrected",
         [](const std::string& text) {
           return one_of(text, {"published", "corrected"});
         }},
        {"reading", "max", "of index, corrected: max or min over offsets", reading},
        alphabet_parameter},
       far,
       together,
       nothing,
       published_bound},
  };
  return all;
}

}  // namespace

std::span<const Kind> kinds() { return list(); }

const Kind& kind_of(std::string_view name) {
  std::string names;
  for (const Kind& kind : list()) {
    if (kind.name == name) return kind;
    names += (names.empty() ? "" : ", ") + std::string(kind.name);
  }
  throw Error(ErrorCode::bad_value,
              "no quantity is called '" + std::string(name) + "': there are " + names);
}

Parameters complete(const Kind& kind, const Parameters& given) {
  Parameters result;
  for (const Parameter& p : kind.parameters) {
    const auto found = given.find(std::string(p.name));
    const std::string text(found == given.end() ? std::string(p.standard) : found->second);
    try {
      result.emplace(p.name, p.canonical(text));
    } catch (const Error& e) {
      throw Error(e.code(), std::string(p.name) + ": " + e.what());
    }
  }
  for (const auto& [name, value] : given)
    if (!result.contains(name))
      throw Error(ErrorCode::bad_value,
                  std::string(kind.name) + " has no parameter '" + name + "'");
  return result;
}

}  // namespace ropewalk::sweeps
