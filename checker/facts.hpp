// The JSON of a certificate, read strictly, and one checking function per kind of fact.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "number.hpp"

namespace checker {

using nlohmann::json;
using Texts = std::vector<std::string>;

/// Runs a step; what it throws is said to be of that step.
template <class Step>
decltype(auto) within(const std::string& name, const Step& step) {
  try {
    return step();
  } catch (const json::exception& e) {  // "[json.exception...] the reason"
    const std::string why = e.what();
    throw Malformed(name + ": " + why.substr(why.find("] ") + 2));
  } catch (const Failure& e) {
    throw Failure(e.status, name + ": " + e.what());
  } catch (const Open& e) {
    throw Rejected(name + ": not decided: " + e.what());
  }
}

// All of these throw Malformed, naming the key.
template <class T = std::string>
T get(const json& object, const std::string& key) {
  return within(key, [&] { return object.at(key).get<T>(); });
}
inline void check_keys(const json& object, const Texts& required, const Texts& optional = {}) {
  for (const std::string& key : required)
    if (!object.is_object() || !object.contains(key)) throw Malformed(key + ": missing");
  for (const auto& [key, unused] : object.items())
    if (!std::count(required.begin(), required.end(), key) &&
        !std::count(optional.begin(), optional.end(), key))
      throw Malformed(key.substr(0, 60) + ": unknown key");
}
inline mpq_class number(const json& object, const std::string& key) {
  return within(key, [&] { return parse_number(get(object, key), true); });
}
inline mpz_class integer(const json& text) {
  const auto digits = text.get<std::string>();
  if (digits.find_first_not_of("-0123456789") != std::string::npos)
    throw Malformed("'" + digits.substr(0, 60) + "' is no integer");
  return parse_number(digits, false).get_num();
}

/// A file of at most `limit` MiB, its SHA-256 in hexadecimal, and its JSON: no repeated keys, no
/// deep nesting and, but in the files of models, no numbers.
std::string read(const std::string& path, size_t limit);
std::string sha256(std::string message);
json parse(const std::string& content, bool numbers = false);

// Rejected where the fact, whose keys are those of its kind, does not check; Malformed where it is
// none.
void check_extremum(const json& fact);
void check_base_set(const json& fact);
void check_contradiction(const json& fact);
void check_rounding(const json& fact);
void check_softmax(const json& fact);
/// `folder`: where the certificate lies, and the files that it names.
void check_stack(const json& fact, const std::string& folder);

}  // namespace checker
