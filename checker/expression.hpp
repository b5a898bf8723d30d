// The expressions of docs/certificates.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>

#include "facts.hpp"

namespace checker {

constexpr size_t length_limit = 1 << 20;  // characters of one expression
constexpr size_t binder_limit = 20;       // names bound at once
constexpr int nesting_limit = 150;        // expressions inside one another
constexpr long work_limit = 300'000'000;  // evaluations of one fact, weighted by size

inline const std::string digits = "0123456789";
inline const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
inline bool among(char c, const std::string& kind) { return kind.find(c) != std::string::npos; }

// Whether a relation holds where the left side is below, equal to, above the right one.
inline const std::map<std::string, const char*> relations = {
    {"<", "yes"}, {"<=", "yyn"}, {">", "nny"}, {">=", "nyy"}, {"=", "nyn"}, {"!=", "yny"}};

// How a sum, product, min or max takes in its next part; `both` for statements, which are 1 or 0.
using Step = Value (*)(const Value&, const Value&, bool inverse);
inline Value add(const Value& a, const Value& b, bool minus) { return minus ? a - b : a + b; }
inline Value multiply(const Value& a, const Value& b, bool by) { return by ? a / b : a * b; }
inline Value minimum(const Value& a, const Value& b, bool /*none*/) { return least(a, b); }
inline Value maximum(const Value& a, const Value& b, bool /*none*/) {
  return least(a * -1, b * -1) * -1;
}
inline Value both(const Value& a, const Value& b, bool /*none*/) { return a * b; }
inline bool settled(Step step, const Value& v) { return step == both && v.p == 0; }

// Numbers, names, and symbols of one or two characters; the last token is empty.
inline Texts tokenize(const std::string& text) {
  if (text.size() > length_limit) throw Malformed("an expression of more than 2^20 characters");
  Texts out;
  size_t i = 0;
  const auto at = [&](size_t j) { return j < text.size() ? text[j] : ' '; };
  const auto skip = [&](const std::string& kind) {
    i = std::min(text.find_first_not_of(kind, i), text.size());
  };
  do {
    skip(" \t\r\n");
    const size_t start = i;
    const std::string two = text.substr(i, 2);
    if (among(at(i), digits)) {
      skip(digits);
      if (at(i) == '.' && among(at(i + 1), digits)) ++i;
      skip(digits);
      if (among(at(i), "eE")) i += among(at(i + 1), "+-") ? 2 : 1;
      skip(digits);
    } else if (among(at(i), letters)) {
      skip(letters + digits);
    } else {
      i += two == "<=" || two == ">=" || two == "!=" || two == ".." ? 2 : i < text.size() ? 1 : 0;
    }
    out.push_back(text.substr(start, i - start));
  } while (!out.back().empty());
  return out;
}

struct Node {
  Value value;
  long bits = 0;                   // the precision of `value`, 0 where there is none
  std::function<Value()> compute;  // none where the value is given
  std::set<Node*> binders;         // that the value depends on
  std::vector<Node*> dependents;   // of a binder, the nodes that depend on it
};

/// The names of a fact and the expressions under them. Values are exact where they can be;
/// elsewhere the precision is raised until a comparison is certain. A node keeps its value until a
/// binder that it depends on moves: in min(s in 1..9: sum(f in 0..1: cos(s*theta[f]))) each
/// theta[f] is computed once, not nine times.
class Context {
 public:
  /// Binds the names under `where` to expressions without names, those under `tables` to lists.
  explicit Context(const json& fact) {
    Tables names, tables;  // bound at the end: what a name stands for knows no other
    for (const std::string key : {"where", "tables"}) {
      if (!fact.contains(key)) continue;
      for (const auto& [name, value] : get<json::object_t>(fact, key))
        within(key + "." + name, [&, &n = name, &v = value] {
          read(n);
          if (new_name() != n || names.count(n) != 0) throw Malformed("no name for something new");
          const Texts texts = key == "tables" ? v.get<Texts>() : Texts{v.get<std::string>()};
          std::vector<Node*>& nodes = (key == "tables" ? tables : names)[n];
          for (const std::string& text : texts) nodes.push_back(&parse(text));
        });
    }
    names_ = names;
    tables_ = tables;
  }

  Node& parse(const std::string& text) { return parse(text, &Context::sum); }
  /// Open where there is no enclosure at this precision.
  const Value& value(Node& node) {
    if (!node.compute || node.bits >= precision) return node.value;
    node.value = node.compute();
    count(1 + (node.value.exact ? node.value.size() : precision) / 128);
    node.bits = node.value.exact ? WORD_MAX : precision;
    return node.value;
  }
  /// Open where a comparison stays open.
  bool holds(const std::string& statement) {
    return value(parse(statement, &Context::statement)).p != 0;
  }

 private:
  using Tables = std::map<std::string, std::vector<Node*>>;
  using Part = Node* (Context::*)();

  void read(const std::string& text) {
    tokens_ = tokenize(text);
    next_ = 0;
    depth_ = 0;
    scope_.clear();
  }
  Node& parse(const std::string& text, Part part) {
    read(text);
    Node* node = (this->*part)();
    if (!peek().empty()) fail("unexpected text");
    return *node;
  }
  // A name for something new.
  std::string new_name() {
    static const Texts words = {"pi", "min", "max", "sum", "all", "and", "if", "in"};
    const std::string name = peek();
    if (!among(name[0], letters) || functions.count(name) != 0 ||
        std::find(words.begin(), words.end(), name) != words.end())
      fail("expected a name");
    if (names_.count(name) + tables_.count(name) + scope_.count(name) != 0)
      fail("a name that is bound already");
    ++next_;
    return name;
  }

  void count(long work) {
    work_ += work;
    if (work_ > work_limit) throw Rejected("not decided: too many evaluations");
  }

  const std::string& peek(size_t ahead = 0) const {
    return tokens_[std::min(next_ + ahead, tokens_.size() - 1)];
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw Malformed(why + " before '" + (peek() + " " + peek(1) + " " + peek(2)).substr(0, 40) +
                    "'");
  }
  bool eat(const std::string& token) {
    const bool yes = peek() == token;
    next_ += yes ? 1 : 0;
    return yes;
  }
  void expect(const std::string& token) {
    if (!eat(token)) fail("expected '" + token + "'");
  }
  Node* make(const std::vector<Node*>& parts, std::function<Value()> compute = nullptr) {
    Node* node = nodes_.emplace_back(std::make_unique<Node>()).get();
    node->compute = std::move(compute);
    for (const Node* part : parts) node->binders.insert(part->binders.begin(), part->binders.end());
    for (Node* binder : node->binders) binder->dependents.push_back(node);
    return node;
  }
  Node* enclosed_sum(const std::string& open, const std::string& close) {
    expect(open);
    Node* node = sum();
    expect(close);
    return node;
  }

  // Parts between separators; one alone stands for itself.
  Node* chain(Part part, const std::string& separator, const std::string& inverse, Step step) {
    std::vector<Node*> parts{(this->*part)()};
    std::vector<bool> inverses{false};
    while (peek() == separator || peek() == inverse) {
      inverses.push_back(tokens_[next_++] == inverse);
      parts.push_back((this->*part)());
    }
    if (parts.size() == 1) return parts[0];
    return make(parts, [=, this] {
      count(static_cast<long>(parts.size() / 2));  // constants among them cost a step too
      Value v = value(*parts[0]);
      for (size_t i = 1; i < parts.size() && !settled(step, v); ++i)
        v = step(v, value(*parts[i]), inverses[i]);
      return v;
    });
  }
  Node* sum() { return chain(&Context::term, "+", "-", add); }
  Node* term() { return chain(&Context::factor, "*", "/", multiply); }
  Node* statement() { return chain(&Context::clause, "and", "and", both); }

  Node* clause() {
    if (eat("all")) return bound(&Context::statement, both);
    Node* left = sum();
    const auto relation = relations.find(peek());
    if (relation == relations.end()) fail("expected a comparison");
    ++next_;
    Node* right = sum();
    return make({left, right}, [=, this, holds = relation->second] {
      const auto order = [&] { return compare(value(*left), value(*right)); };
      return holds[settle(order) + 1] == 'y' ? 1 : 0;
    });
  }

  // "(" binders ":" body ")".
  Node* bound(Part body_of, Step step) {
    expect("(");
    const auto outer = scope_;
    std::vector<Node*> parts, binders;  // parts: the ends of the binders, the condition, the body
    do {
      const std::string name = new_name();
      if (scope_.size() == binder_limit) fail("too many names bound at once");
      expect("in");
      parts.push_back(sum());
      expect("..");
      parts.push_back(sum());
      binders.push_back(scope_[name] = make({}));
      binders.back()->binders = {binders.back()};
    } while (eat(","));
    if (eat("if")) parts.push_back(statement());
    expect(":");
    parts.push_back((this->*body_of)());
    expect(")");
    scope_ = outer;

    Node* node = make(parts, [=, this] {
      bool some = false;
      Value v = step == both ? 1 : 0;
      const std::function<void(size_t)> loop = [&](size_t i) {
        if (i < binders.size()) {
          const Value first = value(*parts[2 * i]), last = value(*parts[2 * i + 1]);
          if (!first.integer() || !last.integer())
            throw Rejected("an end of a binder is no integer");
          if (last.p - first.p > work_limit) throw Rejected("not decided: too long a loop");
          for (mpq_class n = first.p; n <= last.p && !settled(step, v); ++n) {
            count(1 + static_cast<long>(binders[i]->dependents.size()) / 16);
            binders[i]->value.p = n;
            for (Node* dependent : binders[i]->dependents) dependent->bits = 0;
            loop(i + 1);
          }
        } else if (parts.size() == 2 * i + 1 || value(*parts[2 * i]).p != 0) {
          v = some ? step(v, value(*parts.back()), false) : value(*parts.back());
          some = true;
        }
      };
      loop(0);
      if (!some && (step == minimum || step == maximum)) throw Rejected("min or max of nothing");
      return v;
    });
    for (Node* binder : binders) node->binders.erase(binder);
    return node;
  }

  Node* factor() {
    if (++depth_ > nesting_limit) fail("nested too deeply");
    const bool minus = eat("-");
    Node* node = atom();
    if (eat("^")) {
      Node *base = node, *exponent = factor();
      node = make({base, exponent}, [=, this] { return power(value(*base), value(*exponent)); });
    }
    if (minus) node = make({node}, [=, this] { return value(*node) * -1; });
    --depth_;
    return node;
  }

  Node* atom() {
    const std::string token = peek();
    if (!among(token[0], digits + letters) && token != "(") fail("expected a value");
    ++next_;
    Node* node = nullptr;
    if (among(token[0], digits) || token == "pi") {
      node = make({});
      node->value = token == "pi" ? Value(0, 1) : Value(parse_number(token, false));
    } else if (scope_.count(token) != 0) {
      node = scope_.at(token);
    } else if (names_.count(token) != 0) {
      node = names_.at(token).front();
    } else if (const auto table = tables_.find(token); table != tables_.end()) {
      Node* index = enclosed_sum("[", "]");
      node = make({index}, [=, this] {
        const Value i = value(*index);
        if (!i.integer() || i.p < 0 || i.p >= table->second.size())
          throw Rejected("the index " + i.text() + " is not in its table");
        return value(*table->second[i.p.get_num().get_ui()]);
      });
    } else if (token == "sum" || ((token == "min" || token == "max") && peek(2) == "in")) {
      node = bound(&Context::sum, token == "sum" ? add : token == "min" ? minimum : maximum);
    } else if (token == "min" || token == "max") {
      expect("(");
      node = chain(&Context::sum, ",", ",", token == "min" ? minimum : maximum);
      expect(")");
    } else if (token == "(") {
      --next_;
      node = enclosed_sum("(", ")");
    } else if (const auto function = functions.find(token); function != functions.end()) {
      Node* x = enclosed_sum("(", ")");
      node = make({x}, [=, this, f = function->second] { return f(value(*x)); });
    } else {
      fail("'" + token + "' is not bound,");
    }
    return node;
  }

  Tables names_, tables_;
  std::vector<std::unique_ptr<Node>> nodes_;
  long work_ = 0;
  // Of the text that is being parsed.
  Texts tokens_;
  size_t next_ = 0;
  int depth_ = 0;
  std::map<std::string, Node*> scope_;
};

}  // namespace checker
