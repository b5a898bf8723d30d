// The expressions of docs/certificates.md: a parser, and an evaluator that computes exactly where
// it can and otherwise with balls whose precision grows until a comparison is certain.
//
// A node keeps its last value together with the binding it was computed under, so in
// min(s in 1..9: sum(f in 0..1: cos(s*theta[f]))) each theta[f] is computed once, not nine times.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "number.hpp"

namespace checker {

enum class Truth { no, yes, unknown };

/// Precisions, in bits, at which a question is asked before it counts as open.
inline constexpr long precisions[] = {128, 512, 2048};

struct Node;
struct Statement;

/// The names a fact binds, and everything parsed under them.
class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// Binds a name to an expression without names, or to a list of them.
  void define(const std::string& name, const std::string& text);
  void define(const std::string& name, const std::vector<std::string>& texts);

  Node& sum(const std::string& text);
  Statement& statement(const std::string& text);

  /// The value at a precision; Open where it has no enclosure there.
  const Value& value(Node& node, long precision);
  Truth decide(Statement& statement);

 private:
  friend class Parser;
  class Evaluator;
  std::map<std::string, Node*> names_;
  std::map<std::string, std::vector<Node*>> tables_;
  std::vector<std::unique_ptr<Node>> roots_;
  std::vector<std::unique_ptr<Statement>> statements_;
  std::unique_ptr<Evaluator> evaluator_;
};

/// The sign of value - bound at growing precisions: -1, 0 (equal and exact) or 1; nothing decided
/// throws Open.
int compare(Context& context, Node& node, const Rational& bound);

}  // namespace checker
