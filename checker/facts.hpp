// A certificate file, its JSON read strictly, one checking function per kind of fact, and what they
// share: the expressions of docs/certificates.md and sums of cosines in integers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "number.hpp"

namespace checker {

using nlohmann::json;
using Texts = std::vector<std::string>;

/// What to say of the file and the exit status: 0 accepted, 1 rejected, 2 no certificate, 4 cannot
/// be read. Never throws, whatever the file holds.
std::pair<int, std::string> check_file(const std::string& path);

struct Node;

/// The names of a fact and the expressions under them. Values are exact where they can be;
/// elsewhere the precision is raised until a comparison is certain. A node keeps its last value
/// with the binding it was computed under: in min(s in 1..9: sum(f in 0..1: cos(s*theta[f]))) each
/// theta[f] is computed once, not nine times.
class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// Binds a name to a list of expressions without names, or to a single one.
  void define(const std::string& name, const Texts& texts, bool table);
  Node& parse(const std::string& text);
  /// Open where there is no enclosure at this precision.
  const Value& value(Node& node);
  /// Open where a comparison stays open.
  bool holds(const std::string& statement);

 private:
  friend class Parser;
  void count();

  std::map<std::string, Node*> names_;
  std::map<std::string, std::vector<Node*>> tables_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::uint64_t> versions_;  // of the binders in force
  std::uint64_t version_ = 1;            // the last given out
  long steps_ = 0;
};

/// An angle in radians as turns modulo 1, in units of 2^-bits: the true value is in [result, result
/// + 2). Open if the ball is too wide.
mpz_class wrap_turns(const Value& angle, const mpq_class& plus_turns, long bits);

/// Lower bounds of sums of weight * (1 - cos), in integers. Angles are fixed-point turns that wrap
/// by themselves: a quarter turn is 2^126 of 2^128, and frequency times lag loses nothing but the
/// frequency's own error times the lag.
class Planes {
 public:
  /// Sums are compared with `need`, all weights adding up to 1.
  explicit Planes(const Ball& need);
  /// turns and phase in 2^-128 turns; speed in 2^-64 turns, rounded up.
  void add(const mpz_class& turns, const mpz_class& phase, const mpz_class& speed,
           const mpq_class& weight);
  void sort(bool slow_first);
  /// Whether the sum surely exceeds `need` at the angles turns * t + phase, each off by up to speed
  /// * radius. |t| < 2^62.
  bool exceed(std::int64_t t, std::uint64_t radius) const;

 private:
  struct Plane {
    unsigned __int128 turns, phase;
    std::uint64_t speed;
    std::int64_t weight;
  };
  std::vector<Plane> planes_;
  std::int64_t need_;
};

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
