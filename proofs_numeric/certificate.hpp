#pragma once
/// \file
/// A certificate: facts with what it takes to check them, as JSON (docs/certificates.md).
///
/// The prover states facts here; ropewalk-check, which shares no code with it, recomputes them.
/// Expressions are text in the language of that page, which the prover writes and never evaluates:
///
///   relation("min(s in 1..T: 1 - cos(s*theta)) > 1/10", {{"T", "5"}, {"theta", "0.8"}})
///
/// so a fact says in its own words what the prover found by other means.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proofs_numeric/base_set.hpp"
#include "proofs_numeric/extremum.hpp"

namespace ropewalk::proofs_numeric {

using Fact = nlohmann::ordered_json;

/// What the names in an expression stand for.
struct Names {
  std::vector<std::pair<std::string, std::string>> where;                ///< name, expression
  std::vector<std::pair<std::string, std::vector<std::string>>> tables;  ///< name, entries
};

/// The statement is true, or for `holds` false: false. Cost: none.
[[nodiscard]] Fact relation(std::string statement, const Names& names = {}, bool holds = true);
/// The value of the expression lies in the enclosure, whose ends are rounded outward to so many
/// significant digits: by default as many as the commands print. Cost: none.
inline constexpr unsigned value_digits = 24;
[[nodiscard]] Fact enclosed(std::string expression, const theory::Enclosure& value,
                            const Names& names = {}, unsigned digits = value_digits);
/// An expression that falls in `name` is 0 at a number of the enclosure: positive at its lower end,
/// negative at its upper one, both rounded outward as above. For values that are defined by what
/// they achieve, such as the smallest softmax scale.
[[nodiscard]] std::vector<Fact> crossing(const std::string& falling, const std::string& name,
                                         const theory::Enclosure& value, const Names& names = {});

/// A sum of cosines as facts have it: {"offset", "terms"}.
[[nodiscard]] Fact written(const theory::TrigSum& sum);

enum class Which { minimum, maximum };
/// What minimum() or maximum() answered to this sum and range. Values carry the digits that the
/// prover needed to tell the lags listed from all others. Cost: none.
[[nodiscard]] Fact extremum_fact(Which which, const theory::TrigSum& sum, const LagRange& range,
                                 const ExtremumReport& report);

/// The cover of base_set(): cuts, pieces and the infimum, whose lower end is a cut. Cost: none.
[[nodiscard]] Fact base_set_fact(const BaseQuestion& question, const BaseSet& set);

/// Every real x has an integer 1 <= s <= reach with sx within 1/(reach + 1) of an integer.
[[nodiscard]] Fact circle_cover(std::uint64_t reach);

/// Numbers and formulas as the entries of a table.
[[nodiscard]] std::vector<std::string> entries(const std::vector<unsigned>& values);
[[nodiscard]] std::vector<std::string> entries(const std::vector<theory::Rational>& values);
[[nodiscard]] std::vector<std::string> entries(const std::vector<theory::Formula>& values);

/// The whole file: verdict ("proved", "refuted", "undecided"), facts, words for people (numbers
/// in them become strings), and the SHA-256 of the canonical body. Exact.
[[nodiscard]] nlohmann::ordered_json certificate(std::string_view verdict,
                                                 const std::vector<Fact>& facts,
                                                 const nlohmann::ordered_json& words);

}  // namespace ropewalk::proofs_numeric
