#include "expression.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

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

const std::vector<std::string> relations = {"<", "<=", ">", ">=", "=", "!="};
// Whether they hold where the left side is below, equal to, above the right one.
constexpr const char* relation_holds[] = {"yes", "yyn", "nny", "nyy", "nyn", "yny"};

}  // namespace

struct Binders {
  struct Binding {
    size_t place;  // among the binders in force
    Node *first, *last;
  };
  std::vector<Binding> bindings;
  Node* condition = nullptr;
};

struct Node {
  Op op;
  std::vector<Node*> children;
  std::vector<bool> inverse;  // sum: subtract this child; product: divide by it
  Binders binders;            // sum, least, greatest, all: of one child, where there are any
  size_t which = 0;           // variable: its place; compare: the relation
  const std::vector<Node*>* table = nullptr;
  Function function = nullptr;
  std::uint64_t depends = 0;  // bit p: on the binder at place p
  Value value;
  std::uint64_t stamp = 0;  // the version `value` was computed under, 0 for none
  long precision = 0;       // of `value`
};

class Parser {
 public:
  Parser(Context& context, const std::string& text) : context_(context), text_(text) {
    if (text.size() > length_limit) throw Malformed("an expression of more than 2^20 characters");
    next();
  }
  Node* whole(bool is_statement) {
    Node* node = is_statement ? statement() : sum();
    if (!token_.empty()) fail("unexpected text");
    return node;
  }
  std::string new_name() {
    const std::string name = token_;
    if (kind_ != 'a' || reserved(name)) fail("expected a name");
    if (context_.names_.count(name) + context_.tables_.count(name) != 0 ||
        place(name) < scope_.size())
      fail("the name '" + name + "' is bound already");
    next();
    return name;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    const size_t from = start_ > 20 ? start_ - 20 : 0;
    throw Malformed(why + " at character " + std::to_string(start_ + 1) + ", near '" +
                    text_.substr(from, 40) + "'");
  }
  static char kind_of(char c) {
    if (c >= '0' && c <= '9') return '0';
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ? 'a' : c;
  }
  char at(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }

  // The next token: a number (kind '0'), a name (kind 'a'), or a symbol of one or two characters.
  void next() {
    while (at_ < text_.size() && std::string(" \t\r\n").find(text_[at_]) != std::string::npos)
      ++at_;
    start_ = at_;
    kind_ = kind_of(at(at_));
    const auto digits = [&] {
      while (kind_of(at(at_)) == '0') ++at_;
    };
    if (kind_ == '0') {
      digits();
      if (at(at_) == '.' && kind_of(at(at_ + 1)) == '0') {
        ++at_;
        digits();
      }
      if (at(at_) == 'e' || at(at_) == 'E') {
        at_ += at(at_ + 1) == '+' || at(at_ + 1) == '-' ? 2 : 1;
        digits();
      }
      if (kind_of(at(at_)) == 'a') fail("a number followed by a letter");
    } else if (kind_ == 'a') {
      while (kind_of(at(at_)) == 'a' || kind_of(at(at_)) == '0') ++at_;
    } else if (at_ < text_.size()) {
      const std::string two = text_.substr(at_, 2);
      at_ += two == "<=" || two == ">=" || two == "!=" || two == ".." ? 2 : 1;
    }
    token_ = text_.substr(start_, at_ - start_);
  }
  bool eat(const std::string& token) {
    if (token_ != token) return false;
    next();
    return true;
  }
  void expect(const std::string& token) {
    if (!eat(token)) fail("expected '" + token + "'");
  }
  size_t place(const std::string& name) const {
    return static_cast<size_t>(std::find(scope_.begin(), scope_.end(), name) - scope_.begin());
  }
  static bool reserved(const std::string& name) {
    static const std::vector<std::string> words = {"pi",  "min", "max", "sum",
                                                   "all", "and", "if",  "in"};
    return functions.count(name) != 0 || std::find(words.begin(), words.end(), name) != words.end();
  }

  Node* make(Op op, std::vector<Node*> children = {}) {
    context_.nodes_.push_back(std::make_unique<Node>());
    Node* node = context_.nodes_.back().get();
    node->op = op;
    node->children = std::move(children);
    for (const Node* child : node->children) node->depends |= child->depends;
    return node;
  }

  // Parts between separators; one alone stands for itself.
  Node* chain(Op op, Node* (Parser::*part)(), const std::string& separator,
              const std::string& inverse) {
    std::vector<Node*> parts{(this->*part)()};
    std::vector<bool> inverses{false};
    while (token_ == separator || token_ == inverse) {
      inverses.push_back(token_ == inverse);
      next();
      parts.push_back((this->*part)());
    }
    if (parts.size() == 1) return parts.front();
    Node* node = make(op, std::move(parts));
    node->inverse = std::move(inverses);
    return node;
  }
  Node* statement() { return chain(Op::both, &Parser::clause, "and", "and"); }
  Node* sum() { return chain(Op::sum, &Parser::term, "+", "-"); }
  Node* term() { return chain(Op::product, &Parser::factor, "*", "/"); }

  Node* clause() {
    if (eat("all")) return bound(Op::all, &Parser::statement);
    Node* left = sum();
    const auto relation = std::find(relations.begin(), relations.end(), token_);
    if (relation == relations.end()) fail("expected a comparison");
    next();
    Node* node = make(Op::compare, {left, sum()});
    node->which = static_cast<size_t>(relation - relations.begin());
    return node;
  }

  // "(" binders ":" body ")"
  Node* bound(Op op, Node* (Parser::*body)()) {
    if (++depth_ > depth_limit) fail("nested too deeply");
    expect("(");
    const size_t outer = scope_.size();
    Binders binders;
    std::uint64_t depends = 0;
    do {
      const std::string name = new_name();
      expect("in");
      Node* first = sum();
      expect("..");
      binders.bindings.push_back({scope_.size(), first, sum()});
      depends |= first->depends | binders.bindings.back().last->depends;
      scope_.push_back(name);
      if (scope_.size() > binder_limit) fail("too many names bound at once");
    } while (eat(","));
    if (eat("if")) depends |= (binders.condition = statement())->depends;
    expect(":");
    Node* node = make(op, {(this->*body)()});
    expect(")");
    node->binders = std::move(binders);
    node->depends = (node->depends | depends) & ((std::uint64_t{1} << outer) - 1);
    scope_.resize(outer);
    --depth_;
    return node;
  }

  Node* factor() {
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

  Node* atom() {
    const std::string token = token_;
    if (eat("(")) {
      Node* inner = sum();
      expect(")");
      return inner;
    }
    if (kind_ == '0' || token == "pi") {
      Node* node = make(Op::constant);
      node->value = token == "pi" ? Value(0, 1) : Value(parse_number(token, false));
      next();
      return node;
    }
    if (kind_ != 'a') fail("expected a value");
    next();
    if (const auto function = functions.find(token); function != functions.end()) {
      expect("(");
      Node* node = make(Op::function, {sum()});
      node->function = function->second;
      expect(")");
      return node;
    }
    if (token == "min" || token == "max" || token == "sum") {
      const Op op = token == "sum" ? Op::sum : token == "min" ? Op::least : Op::greatest;
      // NAME "in" opens binders.
      const auto here = std::tuple(at_, start_, token_, kind_);
      next();
      next();
      const bool binders = token_ == "in";
      std::tie(at_, start_, token_, kind_) = here;
      if (binders || op == Op::sum) return bound(op, &Parser::sum);
      expect("(");
      std::vector<Node*> parts{sum()};
      while (eat(",")) parts.push_back(sum());
      expect(")");
      return make(op, std::move(parts));
    }
    if (const size_t p = place(token); p < scope_.size()) {
      Node* node = make(Op::variable);
      node->which = p;
      node->depends = std::uint64_t{1} << p;
      return node;
    }
    if (const auto name = context_.names_.find(token); name != context_.names_.end())
      return name->second;
    const auto table = context_.tables_.find(token);
    if (table == context_.tables_.end()) fail("'" + token + "' is not bound, before");
    expect("[");
    Node* node = make(Op::entry, {sum()});
    node->table = &table->second;
    expect("]");
    return node;
  }

  Context& context_;
  const std::string& text_;
  size_t at_ = 0, start_ = 0;
  std::string token_;
  char kind_ = 0;
  int depth_ = 0;
  std::vector<std::string> scope_;
};

Context::Context() : bound_(binder_limit) {}
Context::~Context() = default;

void Context::define(const std::string& name, const std::vector<std::string>& texts, bool table) {
  const std::string checked = Parser(*this, name).new_name();
  if (checked != name) throw Malformed("'" + name + "' is no name");
  Context closed;  // no names in what a name stands for
  std::vector<Node*> parsed;
  for (const std::string& text : texts) parsed.push_back(&closed.parse(text));
  std::move(closed.nodes_.begin(), closed.nodes_.end(), std::back_inserter(nodes_));
  if (table)
    tables_[name] = std::move(parsed);
  else
    names_[name] = parsed.front();
}

Node& Context::parse(const std::string& text, bool statement) {
  return *Parser(*this, text).whole(statement);
}

const Value& Context::value(Node& sum, long precision) {
  const long outer = std::exchange(precision_, precision);
  try {
    const Value& v = evaluate(sum);
    precision_ = outer;
    return v;
  } catch (...) {
    precision_ = outer;
    throw;
  }
}

Truth Context::decide(const Node& s) {
  Truth truth = Truth::yes;
  // True while a part that is false could still turn up.
  const auto meet = [&](Truth part) {
    if (part != Truth::yes) truth = part;
    return part != Truth::no;
  };
  try {
    if (s.op == Op::both) {
      for (const Node* part : s.children)
        if (!meet(decide(*part))) break;
      return truth;
    }
    if (s.op == Op::all) {
      loop(s.binders, 0, [&] { return meet(decide(*s.children.front())); });
      return truth;
    }
    const int order = settle([&](long precision) {
      const Value left = value(*s.children[0], precision);
      return compare(left, value(*s.children[1], precision), precision);
    });
    return relation_holds[s.which][order + 1] == 'y' ? Truth::yes : Truth::no;
  } catch (const Open&) {
    return Truth::unknown;
  }
}

void Context::count() {
  steps_ += precision_ <= 128 ? 1 : precision_ / 64;
  if (steps_ > step_limit) throw Rejected("not decided: more than 2e9 steps");
}

// Calls visit for each combination that meets the condition until it returns false.
bool Context::loop(const Binders& binders, size_t depth, const std::function<bool()>& visit) {
  count();
  if (depth == binders.bindings.size()) {
    const Truth meets = binders.condition == nullptr ? Truth::yes : decide(*binders.condition);
    if (meets == Truth::unknown) throw Open("a condition stays open");
    return meets == Truth::no || visit();
  }
  const Binders::Binding& b = binders.bindings[depth];
  const Value first = evaluate(*b.first);
  const Value& last = evaluate(*b.last);
  if (!first.integer() || !last.integer()) throw Rejected("an end of a binder is no integer");
  const mpz_class end = last.p.get_num();
  if (end - first.p.get_num() > step_limit)
    throw Rejected("not decided: a loop of more than 2e9 steps");
  for (mpz_class i = first.p.get_num(); i <= end; ++i) {
    bound_[b.place].value = mpq_class(i);
    bound_[b.place].version = ++versions_;
    if (!loop(binders, depth + 1, visit)) return false;
  }
  return true;
}

const Value& Context::evaluate(Node& node) {
  if (node.op == Op::constant) return node.value;
  if (node.op == Op::variable) return bound_[node.which].value;
  // An inner binder gets a new version whenever an outer one changes, so the innermost one of those
  // a node depends on tells which binding its value belongs to.
  const std::uint64_t version =
      node.depends == 0 ? 1
                        : bound_[63 - static_cast<size_t>(__builtin_clzll(node.depends))].version;
  if (node.stamp == version && node.precision >= precision_) return node.value;
  count();
  if (node.op == Op::entry) {
    const Value& index = evaluate(*node.children.front());
    if (!index.integer() || index.p < 0 || index.p >= node.table->size())
      throw Rejected("the index " + index.text() + " is not in its table");
    return evaluate(*(*node.table)[index.p.get_num().get_ui()]);
  }
  node.stamp = 0;
  compute(node);
  node.stamp = version;
  node.precision = node.value.exact ? WORD_MAX : precision_;
  return node.value;
}

void Context::compute(Node& node) {
  Value& v = node.value;
  if (node.op == Op::function || node.op == Op::power) {
    v = evaluate(*node.children.front());
    if (node.op == Op::function) return node.function(v, precision_);
    return v.power(evaluate(*node.children[1]), precision_);
  }
  v = mpq_class(node.op == Op::product ? 1 : 0);
  bool first = true;
  const auto take = [&](const Value& x, bool inverse) {
    if (node.op == Op::sum)
      v.add(x, precision_, inverse);
    else if (node.op == Op::product)
      inverse ? v.divide(x, precision_) : v.multiply(x, precision_);
    else if (first)
      v = x;
    else
      v.least(x, precision_, node.op == Op::greatest);
    first = false;
    return true;
  };
  if (!node.binders.bindings.empty())
    loop(node.binders, 0, [&] { return take(evaluate(*node.children.front()), false); });
  else
    for (size_t i = 0; i < node.children.size(); ++i)
      take(evaluate(*node.children[i]), i < node.inverse.size() && node.inverse[i]);
  if (first && node.op != Op::sum) throw Rejected("min or max of nothing");
}

}  // namespace checker
