// The expressions of docs/certificates.md: a parser, and an evaluator that is exact where it can be
// and otherwise raises the precision until a comparison is certain. A node keeps its last value
// with the binding it was computed under: in min(s in 1..9: sum(f in 0..1: cos(s*theta[f]))) each
// theta[f] is computed once, not nine times.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "number.hpp"

namespace checker {

enum class Truth { no, yes, unknown };
struct Node;

/// The names of a fact and all that is parsed under them.
class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// Binds a name to a list of expressions without names, or to a single one.
  void define(const std::string& name, const std::vector<std::string>& texts, bool table);
  Node& parse(const std::string& text, bool statement = false);
  /// Open where there is no enclosure at this precision.
  const Value& value(Node& sum);
  Truth decide(const Node& statement);

 private:
  friend class Parser;
  struct Bound {
    Value value;
    std::uint64_t version = 0;  // another one each time
  };
  void count();
  bool loop(const Node& node, size_t depth, const std::function<bool()>& visit);
  void compute(Node& node);

  std::map<std::string, Node*> names_;
  std::map<std::string, std::vector<Node*>> tables_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Bound>
      bound_;  // the binders in force; never resized, so that references into it last
  std::uint64_t versions_ = 1;
  long steps_ = 0;
};

}  // namespace checker
