#include "proofs_numeric/certificate.hpp"

#include "proofs_numeric/sha256.hpp"

namespace ropewalk::proofs_numeric {

using theory::Enclosure;
using theory::Round;

namespace {

void add(Fact& fact, const Names& names) {
  for (const auto& [name, expression] : names.where) fact["where"][name] = expression;
  for (const auto& [name, entries] : names.tables) fact["tables"][name] = entries;
}

Fact enclosed_between(std::string expression, std::string lo, std::string hi, const Names& names) {
  Fact fact{{"kind", "enclosure"},
            {"of", std::move(expression)},
            {"lo", std::move(lo)},
            {"hi", std::move(hi)}};
  add(fact, names);
  return fact;
}

}  // namespace

Fact relation(std::string statement, const Names& names, bool holds) {
  Fact fact{{"kind", "relation"}, {"statement", std::move(statement)}, {"holds", holds}};
  add(fact, names);
  return fact;
}

Fact enclosed(std::string expression, const Enclosure& value, const Names& names) {
  return enclosed_between(std::move(expression), value.lo.str(), value.hi.str(), names);
}

Fact enclosed(std::string expression, const Enclosure& value, const Names& names, unsigned digits) {
  return enclosed_between(std::move(expression), decimal(value.lo, digits, Round::down),
                          decimal(value.hi, digits, Round::up), names);
}

nlohmann::ordered_json certificate(std::string_view verdict, const std::vector<Fact>& facts,
                                   const nlohmann::ordered_json& words) {
  nlohmann::ordered_json body;
  body["format"] = "ropewalk-certificate";
  body["version"] = "1";
  body["verdict"] = verdict;
  body["facts"] = facts;
  body["words"] = words;
  // nlohmann::json keeps keys sorted by their bytes and dumps without spaces: the canonical form.
  body["sha256"] = sha256(nlohmann::json::parse(body.dump()).dump());
  return body;
}

}  // namespace ropewalk::proofs_numeric
