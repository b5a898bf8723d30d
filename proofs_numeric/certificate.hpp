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
#include <utility>
#include <vector>

#include "theory/enclosure.hpp"

namespace ropewalk::proofs_numeric {

using Fact = nlohmann::ordered_json;

/// What the names in an expression stand for.
struct Names {
  std::vector<std::pair<std::string, std::string>> where;                ///< name, expression
  std::vector<std::pair<std::string, std::vector<std::string>>> tables;  ///< name, entries
};

/// The statement is true, or for `holds` false: false. Cost: none.
[[nodiscard]] Fact relation(std::string statement, const Names& names = {}, bool holds = true);
/// The value of the expression lies in the enclosure, whose ends are written as fractions.
[[nodiscard]] Fact enclosed(std::string expression, const theory::Enclosure& value,
                            const Names& names = {});
/// The same with ends rounded outward to so many significant digits.
[[nodiscard]] Fact enclosed(std::string expression, const theory::Enclosure& value,
                            const Names& names, unsigned digits);

/// The whole file: verdict ("proved", "refuted", "undecided"), facts, words for people, and the
/// SHA-256 of the canonical body. Exact.
[[nodiscard]] nlohmann::ordered_json certificate(std::string_view verdict,
                                                 const std::vector<Fact>& facts,
                                                 const nlohmann::ordered_json& words);

}  // namespace ropewalk::proofs_numeric
