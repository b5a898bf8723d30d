// A certificate file, its JSON read strictly, and one checking function per kind of fact.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "expression.hpp"

namespace checker {

using nlohmann::json;
using Texts = std::vector<std::string>;

struct Outcome {
  int code = 0;         // 0 accepted, 1 rejected, 2 no certificate, 4 cannot be read
  std::string verdict;  // proved, refuted or undecided, where accepted
  size_t facts = 0;
  std::string reason;  // what failed, where not accepted
};
/// Never throws, whatever the file holds.
Outcome check_file(const std::string& path);

/// Runs a step; what it throws is said to be of that step.
template <class Step>
decltype(auto) within(const std::string& name, const Step& step) {
  try {
    return step();
  } catch (const json::exception& e) {
    throw Malformed(name + ": " + e.what());
  } catch (const Malformed& e) {
    throw Malformed(name + ": " + e.what());
  } catch (const Rejected& e) {
    throw Rejected(name + ": " + e.what());
  } catch (const Open& e) {
    throw Rejected(name + ": not decided: " + e.what());
  }
}

// All of these throw Malformed, naming the key.
void check_keys(const json& object, const Texts& required, const Texts& optional = {});
template <class T = std::string>
T get(const json& object, const std::string& key) {
  return within(key, [&] { return object.at(key).get<T>(); });
}
mpq_class number(const json& object, const std::string& key);
mpz_class integer(const json& text);

// Rejected where the fact does not check, Malformed where it is none.
void check_extremum(const json& fact);
void check_base_set(const json& fact);
void check_contradiction(const json& fact);

}  // namespace checker
