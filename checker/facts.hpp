// What a certificate holds: JSON objects that are read strictly, and one checking function per kind
// of fact.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "expression.hpp"
#include "number.hpp"

namespace checker {

/// A JSON object whose keys must be known: what is not asked for by the time of done() is refused.
class Object {
 public:
  Object(const nlohmann::json& value, std::string path);

  bool has(const std::string& key) const { return value_.contains(key); }
  const nlohmann::json& at(const std::string& key) const;
  std::string text(const std::string& key) const;
  bool boolean(const std::string& key) const;
  Rational rational(const std::string& key) const;
  Integer integer(const std::string& key) const;
  std::vector<std::string> texts(const std::string& key) const;
  Object object(const std::string& key) const;
  std::vector<Object> objects(const std::string& key) const;
  /// The expression at a key, under the names of a context.
  Node& sum(Context& context, const std::string& key) const;
  /// Malformed if there is a key that nobody asked for.
  void done() const;

  [[noreturn]] void fail(const std::string& key, const std::string& why) const;
  const std::string& path() const { return path_; }

 private:
  const nlohmann::json& value_;
  std::string path_;
  mutable std::set<std::string> used_;
};

// Each throws Rejected where the fact does not check, Malformed where it is not one, Open where it
// stays open.
void check_relation(const Object& fact);
void check_enclosure(const Object& fact);
void check_extremum(const Object& fact);
void check_base_set(const Object& fact);
void check_contradiction(const Object& fact);
void check_circle_cover(const Object& fact);

}  // namespace checker
