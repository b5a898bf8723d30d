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
    return j;
  }
  throw Error(ErrorCode::bad_value, fmt::format("papers/{}: no context {}", file, context));
}

Judgement common_bases_reach() {
  const toml::table table = values();
  bool holds = true;
  std::string bases;
  std::optional<Enclosure> value;
  for (const toml::node& node : *table["first_violated"].as_array()) {
    const toml::table& entry = *node.as_table();
    const std::string base = word(entry, "base");
    const std::uint64_t lag = whole_number(entry, "lag");
    holds = holds && first_violation(base_of(base), dim, lag) == lag;
    value = base_sum(base_of(base), dim, lag);
    bases += (bases.empty() ? "" : ", ") + base;
  }
  return {holds ? Verdict::proved : Verdict::undecided,
          fmt::format("bases {}, d = {}: the sign of every sum up to the stated m; value = the "
                      "first negative sum of the last base",
                      bases, dim),
          value, std::nullopt};
}

}  // namespace ropewalk::proofs_numeric
