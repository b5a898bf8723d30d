#include "expression.hpp"

#include <algorithm>

namespace checker {

namespace {

constexpr size_t length_limit = 1 << 20;  // characters of one expression
constexpr int depth_limit = 150;          // expressions inside one another
constexpr size_t binder_limit = 60;       // names bound at once
constexpr long step_limit =
    2'000'000'000;  // evaluations of nodes for one fact, weighted by precision

enum class Op {
  constant,
  variable,
  entry,
  function,
  power,
  sum,
  product,
  least,
  greatest,
  both,
  all,
  compare
};

// Whether a relation holds where the left side is below, equal to, above the right one.
const std::map<std::string, const char*> relations = {{"<", "yes"},  {"<=", "yyn"}, {">", "nny"},
                                                      {">=", "nyy"}, {"=", "nyn"},  {"!=", "yny"}};

}  // namespace

struct Binder {
  size_t place;  // among the binders in force
  Node *first, *last;
};

struct Node {
  Op op = Op::constant;
  std::vector<Node*> children;
  std::vector<bool> inverse;    // sum: subtract this child; product: divide by it
  std::vector<Binder> binders;  // of a sum, least, greatest or all over its one child
  Node* condition = nullptr;    // of the binders
  size_t place = 0;             // of a variable
  const char* holds = nullptr;  // of a comparison
  const std::vector<Node*>* table = nullptr;
  Function function = nullptr;
  std::uint64_t depends = 0;  // bit p: on the binder at place p
  Value value;
  std::uint64_t stamp = 0;  // the version `value` was computed under, 0 for none
  long bits = 0;            // the precision of `value`
};

class Parser {
 public:
  Parser(Context& context, const std::string& text);
  Node* whole(bool is_statement) {
    Node* node = is_statement ? statement() : sum();
    if (!peek().empty()) fail("unexpected text");
    return node;
  }
  std::string new_name();

 private:
  static bool digit(char c) { return c >= '0' && c <= '9'; }
  static bool letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }
  const std::string& peek(size_t ahead = 0) const {
    return tokens_[std::min(next_ + ahead, tokens_.size() - 1)];
  }
  [[noreturn]] void fail(const std::string& why) const {
    std::string near;
    for (size_t i = 0; i < 8; ++i) near += peek(i) + " ";
    throw Malformed(why + " before '" + near.substr(0, 40) + "'");
  }
  bool eat(const std::string& token) {
    const bool yes = peek() == token;
    next_ += yes ? 1 : 0;
    return yes;
  }
  void expect(const std::string& token) {
    if (!eat(token)) fail("expected '" + token + "'");
  }
  size_t place(const std::string& name) const {
    return static_cast<size_t>(std::find(scope_.begin(), scope_.end(), name) - scope_.begin());
  }

  Node* make(Op op, std::vector<Node*> children = {}) {
    context_.nodes_.push_back(std::make_unique<Node>());
    Node* node = context_.nodes_.back().get();
    node->op = op;
    node->children = std::move(children);
    for (const Node* child : node->children) node->depends |= child->depends;
    return node;
  }
  Node* statement() { return chain(Op::both, &Parser::clause, "and", "and"); }
  Node* sum() { return chain(Op::sum, &Parser::term, "+", "-"); }
  Node* term() { return chain(Op::product, &Parser::factor, "*", "/"); }
  Node* chain(Op op, Node* (Parser::*part)(), const std::string& separator,
              const std::string& inverse);
  Node* clause();
  Node* bound(Op op, Node* (Parser::*body)());
  Node* factor();
  Node* atom();

  Context& context_;
  std::vector<std::string> tokens_;
  size_t next_ = 0;
  int depth_ = 0;
  std::vector<std::string> scope_;
};

// Numbers, names, and symbols of one or two characters; the last token is empty.
Parser::Parser(Context& context, const std::string& text) : context_(context) {
  if (text.size() > length_limit) throw Malformed("an expression of more than 2^20 characters");
  size_t i = 0;
  const auto at = [&](size_t j) { return j < text.size() ? text[j] : '\0'; };
  const auto skip = [&](const auto& kind) {
    while (i < text.size() && kind(text[i])) ++i;
  };
  for (;;) {
    skip([](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; });
    const size_t start = i;
    const std::string two = text.substr(i, 2);
    if (digit(at(i))) {
      skip(digit);
      if (at(i) == '.' && digit(at(i + 1))) {
        ++i;
        skip(digit);
      }
      if (at(i) == 'e' || at(i) == 'E') {
        i += at(i + 1) == '+' || at(i + 1) == '-' ? 2 : 1;
        skip(digit);
      }
    } else if (letter(at(i))) {
      skip([](char c) { return letter(c) || digit(c); });
    } else {
      i += two == "<=" || two == ">=" || two == "!=" || two == ".." ? 2 : i < text.size() ? 1 : 0;
    }
    tokens_.push_back(text.substr(start, i - start));
    if (i == start) return;
  }
}

// A name for something new.
std::string Parser::new_name() {
  static const std::vector<std::string> words = {"pi",  "min", "max", "sum",
                                                 "all", "and", "if",  "in"};
  const std::string name = peek();
  if (!letter(name[0]) || functions.count(name) != 0 ||
      std::find(words.begin(), words.end(), name) != words.end())
    fail("expected a name");
  if (context_.names_.count(name) + context_.tables_.count(name) != 0 ||
      place(name) < scope_.size())
    fail("a name that is bound already");
  ++next_;
  return name;
}

// Parts between separators; one alone stands for itself.
Node* Parser::chain(Op op, Node* (Parser::*part)(), const std::string& separator,
                    const std::string& inverse) {
  std::vector<Node*> parts{(this->*part)()};
  std::vector<bool> inverses{false};
  while (peek() == separator || peek() == inverse) {
    inverses.push_back(tokens_[next_++] == inverse);
    parts.push_back((this->*part)());
  }
  if (parts.size() == 1) return parts.front();
  Node* node = make(op, std::move(parts));
  node->inverse = std::move(inverses);
  return node;
}

Node* Parser::clause() {
  if (eat("all")) return bound(Op::all, &Parser::statement);
  Node* left = sum();
  const auto relation = relations.find(peek());
  if (relation == relations.end()) fail("expected a comparison");
  ++next_;
  Node* node = make(Op::compare, {left, sum()});
  node->holds = relation->second;
  return node;
}

// "(" binders ":" body ")"
Node* Parser::bound(Op op, Node* (Parser::*body)()) {
  if (++depth_ > depth_limit) fail("nested too deeply");
  expect("(");
  const size_t outer = scope_.size();
  Node head{};
  do {
    const std::string name = new_name();
    expect("in");
    Node* first = sum();
    expect("..");
    head.binders.push_back({scope_.size(), first, sum()});
    head.depends |= first->depends | head.binders.back().last->depends;
    scope_.push_back(name);
    if (scope_.size() > binder_limit) fail("too many names bound at once");
  } while (eat(","));
  if (eat("if")) head.depends |= (head.condition = statement())->depends;
  expect(":");
  Node* node = make(op, {(this->*body)()});
  expect(")");
  node->binders = std::move(head.binders);
  node->condition = head.condition;
  node->depends = (node->depends | head.depends) & ((std::uint64_t{1} << outer) - 1);
  scope_.resize(outer);
  --depth_;
  return node;
}

Node* Parser::factor() {
  if (++depth_ > depth_limit) fail("nested too deeply");
  const bool minus = eat("-");
  Node* node = atom();
  if (eat("^")) node = make(Op::power, {node, factor()});
  if (minus) {
    node = make(Op::sum, {node});
    node->inverse = {true};
  }
  --depth_;
  return node;
}

Node* Parser::atom() {
  const std::string token = peek();
  if (!digit(token[0]) && !letter(token[0]) && token != "(") fail("expected a value");
  ++next_;
  Node* node = nullptr;
  if (token == "(") {
    node = sum();
    expect(")");
  } else if (digit(token[0]) || token == "pi") {
    node = make(Op::constant);
    node->value = token == "pi" ? Value(0, 1) : Value(parse_number(token, false));
  } else if (const auto function = functions.find(token); function != functions.end()) {
    expect("(");
    node = make(Op::function, {sum()});
    node->function = function->second;
    expect(")");
  } else if (token == "min" || token == "max" || token == "sum") {
    const Op op = token == "sum" ? Op::sum : token == "min" ? Op::least : Op::greatest;
    if (op == Op::sum || peek(2) == "in") return bound(op, &Parser::sum);
    expect("(");
    std::vector<Node*> parts{sum()};
    while (eat(",")) parts.push_back(sum());
    node = make(op, std::move(parts));
    expect(")");
  } else if (place(token) < scope_.size()) {
    node = make(Op::variable);
    node->place = place(token);
    node->depends = std::uint64_t{1} << node->place;
  } else if (context_.names_.count(token) != 0) {
    node = context_.names_.at(token);
  } else if (context_.tables_.count(token) != 0) {
    expect("[");
    node = make(Op::entry, {sum()});
    node->table = &context_.tables_.at(token);
    expect("]");
  } else {
    fail("'" + token + "' is not bound,");
  }
  return node;
}

Context::Context() : bound_(binder_limit) {}
Context::~Context() = default;

void Context::define(const std::string& name, const std::vector<std::string>& texts, bool table) {
  if (Parser(*this, name).new_name() != name) throw Malformed("no name");
  Context closed;  // no names in what a name stands for
  std::vector<Node*> parsed;
  for (const std::string& text : texts) parsed.push_back(&closed.parse(text));
  std::move(closed.nodes_.begin(), closed.nodes_.end(), std::back_inserter(nodes_));
  if (!table) names_[name] = parsed.front();
  if (table) tables_[name] = std::move(parsed);
}

Node& Context::parse(const std::string& text, bool statement) {
  return *Parser(*this, text).whole(statement);
}

Truth Context::decide(const Node& s) {
  Truth truth = Truth::yes;
  // True while a part that is false could still turn up.
  const auto meet = [&](const Node* part) {
    const Truth t = decide(*part);
    if (t != Truth::yes) truth = t;
    return t != Truth::no;
  };
  try {
    if (s.op == Op::both) {
      std::all_of(s.children.begin(), s.children.end(), meet);
    } else if (s.op == Op::all) {
      loop(s, 0, [&] { return meet(s.children.front()); });
    } else {
      const int order = settle([&] {
        const Value left = value(*s.children[0]);
        return compare(left, value(*s.children[1]));
      });
      truth = s.holds[order + 1] == 'y' ? Truth::yes : Truth::no;
    }
    return truth;
  } catch (const Open&) {
    return Truth::unknown;
  }
}

void Context::count() {
  steps_ += precision <= 128 ? 1 : precision / 64;
  if (steps_ > step_limit) throw Rejected("not decided: more than 2e9 steps");
}

// Calls visit for each combination that meets the condition until it returns false.
bool Context::loop(const Node& node, size_t depth, const std::function<bool()>& visit) {
  count();
  if (depth == node.binders.size()) {
    const Truth meets = node.condition == nullptr ? Truth::yes : decide(*node.condition);
    if (meets == Truth::unknown) throw Open("a condition stays open");
    return meets == Truth::no || visit();
  }
  const Binder& b = node.binders[depth];
  const Value first = value(*b.first), last = value(*b.last);
  if (!first.integer() || !last.integer()) throw Rejected("an end of a binder is no integer");
  if (last.p - first.p > step_limit) throw Rejected("not decided: a loop of more than 2e9 steps");
  for (mpq_class i = first.p; i <= last.p; ++i) {
    bound_[b.place] = {i, ++versions_};
    if (!loop(node, depth + 1, visit)) return false;
  }
  return true;
}

const Value& Context::value(Node& node) {
  if (node.op == Op::constant) return node.value;
  if (node.op == Op::variable) return bound_[node.place].value;
  // An inner binder gets a new version whenever an outer one changes, so the innermost one of those
  // a node depends on tells which binding its value belongs to.
  const size_t innermost = 63 - static_cast<size_t>(__builtin_clzll(node.depends | 1));
  const std::uint64_t version = node.depends == 0 ? 1 : bound_[innermost].version;
  if (node.stamp == version && node.bits >= precision) return node.value;
  count();
  if (node.op == Op::entry) {
    const Value& index = value(*node.children.front());
    if (!index.integer() || index.p < 0 || index.p >= node.table->size())
      throw Rejected("the index " + index.text() + " is not in its table");
    return value(*(*node.table)[index.p.get_num().get_ui()]);
  }
  node.stamp = 0;
  compute(node);
  node.stamp = version;
  node.bits = node.value.exact ? WORD_MAX : precision;
  return node.value;
}

void Context::compute(Node& node) {
  Value& v = node.value;
  v = node.op == Op::product ? 1 : 0;
  bool first = true;
  const auto take = [&](const Value& x, bool inverse) {
    if (node.op == Op::sum)
      inverse ? v -= x : v += x;
    else if (node.op == Op::product)
      inverse ? v /= x : v *= x;
    else if (first)
      v = x;
    else if (node.op == Op::power)
      v.power(x);
    else
      v.least(x, node.op == Op::greatest);
    first = false;
    return true;
  };
  if (!node.binders.empty())
    loop(node, 0, [&] { return take(value(*node.children.front()), false); });
  for (size_t i = 0; node.binders.empty() && i < node.children.size(); ++i)
    take(value(*node.children[i]), !node.inverse.empty() && node.inverse[i]);
  if (node.op == Op::function) node.function(v);
  if (first && node.op != Op::sum) throw Rejected("min or max of nothing");
}

}  // namespace checker
