// Judges for the table "base bounds context" (P4): does the published base serve its context, and
// what is the infimum of those that do?

#include <fmt/format.h>
#include <toml++/toml.h>

#include "papers/texts.hpp"
#include "proofs_numeric/base_set.hpp"
#include "proofs_numeric/claims.hpp"
#include "theory/error.hpp"
#include "theory/formula.hpp"

namespace ropewalk::proofs_numeric {

using theory::Enclosure;
using theory::Formula;
using theory::Rational;

namespace {

constexpr unsigned dim = 128;  // of the published table
const char* const file = "2405.14591/values.toml";

toml::table values() {
  for (const papers::Text& text : papers::texts())
    if (text.path == file) return toml::parse(text.content, text.path);
  throw Error(ErrorCode::file, fmt::format("papers/{} is not compiled in", file));
}

std::uint64_t whole_number(const toml::table& entry, const char* key) {
  const auto value = entry[key].value<std::int64_t>();
  if (!value || *value < 1) throw Error(ErrorCode::parse, fmt::format("papers/{}: {}", file, key));
  return static_cast<std::uint64_t>(*value);
}

std::string word(const toml::table& entry, const char* key) {
  const auto value = entry[key].value<std::string>();
  if (!value) throw Error(ErrorCode::parse, fmt::format("papers/{}: {}", file, key));
  return *value;
}

Rational base_of(const std::string& text) {
  const auto value = Formula::parse(text).rational();
  if (!value) throw Error(ErrorCode::parse, fmt::format("papers/{}: base {}", file, text));
  return *value;
}

// B_k at one base; the frequencies are b^(-2i/d).
const char* const sum_at_lag = "sum(i in 0..planes-1: cos(k*frequency[i]))";

theory::Formula frequency(const Rational& base, unsigned plane) {
  return pow(theory::Formula(base), Rational(-2 * static_cast<int>(plane), dim));
}

Names at_base(const Rational& base, std::uint64_t k) {
  std::vector<theory::Formula> frequencies;
  for (unsigned i = 0; i < dim / 2; ++i) frequencies.push_back(frequency(base, i));
  return {{{"planes", std::to_string(dim / 2)}, {"k", std::to_string(k)}},
          {{"frequency", entries(frequencies)}}};
}

// No sum at lags 1..last is negative: lag by lag, or for long contexts by the least of them.
// Nothing where one is.
std::optional<Fact> serves(const Rational& base, std::uint64_t last) {
  constexpr std::uint64_t lag_by_lag = 65536;
  theory::TrigSum sum;
  for (unsigned i = 0; i < dim / 2; ++i)
    sum.terms.push_back({Rational(1), frequency(base, i), theory::Formula()});
  const LagRange range{1, theory::Lag(last), {}};
  const ExtremumReport report = minimum(sum, range);
  if (report.extremum.value.lo < 0) return std::nullopt;
  if (last > lag_by_lag) return extremum_fact(Which::minimum, sum, range, report);
  Names names = at_base(base, last);
  names.where.back().first = "last";
  return relation(std::string("all(k in 1..last: ") + sum_at_lag + " >= 0)", names);
}

}  // namespace

Judgement base_bounds_context(std::string_view context) {
  const toml::table table = values();
  for (const toml::node& node : *table["row"].as_array()) {
    const toml::table& entry = *node.as_table();
    if (word(entry, "context") != context) continue;
    const std::string base = word(entry, "base");
    const std::uint64_t length = whole_number(entry, "length");

    const auto violated = first_violation(base_of(base), dim, length);
    BaseQuestion question;
    question.length = length;
    question.dim = dim;
    question.only_infimum = true;
    const BaseSet set = base_set(question);

    Judgement j;
    j.scope = fmt::format(
        "every m in 1..{} at base {}, d = {}; value = infimum of the admissible bases: all in [1, "
        "infimum) rejected in {} pieces, each with one m",
        length, base, dim, set.rejected);
    j.value = set.infimum;
    Witness w;
    w["base"] = base;
    w["length"] = length;
    if (violated) {
      w["violated"] = *violated;
      w["sum"] = text(base_sum(base_of(base), dim, *violated), 8);
    }
    if (set.binding) w["zero_at_infimum"] = *set.binding;
    j.witness = w;
    j.verdict = !set.infimum || set.infimum->relative_width() > Rational(1, 1000000000)
                    ? Verdict::undecided
                : violated ? Verdict::refuted
                           : Verdict::proved;
    if (j.verdict == Verdict::undecided) return j;
    j.facts.push_back(base_set_fact(question, set));
    if (violated) {
      const Names names = at_base(base_of(base), *violated);
      j.facts.push_back(relation(std::string(sum_at_lag) + " >= 0", names, false));
    }
    // The lags before the first violation, or all.
    const std::uint64_t last = violated ? *violated - 1 : length;
    if (last >= 1)
      if (auto fact = serves(base_of(base), last)) j.facts.push_back(std::move(*fact));
    return j;
  }
  throw Error(ErrorCode::bad_value, fmt::format("papers/{}: no context {}", file, context));
}

Judgement common_bases_reach() {
  const toml::table table = values();
  bool holds = true;
  std::string bases;
  std::optional<Enclosure> value;
  std::vector<Fact> facts;
  for (const toml::node& node : *table["first_violated"].as_array()) {
    const toml::table& entry = *node.as_table();
    const std::string base = word(entry, "base");
    const std::uint64_t lag = whole_number(entry, "lag");
    holds = holds && first_violation(base_of(base), dim, lag) == lag;
    value = base_sum(base_of(base), dim, lag);
    bases += (bases.empty() ? "" : ", ") + base;
    const Names names = at_base(base_of(base), lag);
    facts.push_back(relation(std::string(sum_at_lag) + " < 0", names));
    facts.push_back(enclosed(sum_at_lag, *value, names));
    if (auto fact = serves(base_of(base), lag - 1)) facts.push_back(std::move(*fact));
  }
  return {holds ? Verdict::proved : Verdict::undecided,
          fmt::format("bases {}, d = {}: the sign of every sum up to the stated m; value = the "
                      "first negative sum of the last base",
                      bases, dim),
          value, std::nullopt, facts};
}

}  // namespace ropewalk::proofs_numeric
