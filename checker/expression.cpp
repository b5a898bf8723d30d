#include "expression.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>

namespace checker {

namespace {

constexpr size_t length_limit = 1 << 20;    // characters of one expression
constexpr int nesting_limit = 150;          // brackets, powers and binders inside one another
constexpr int binder_limit = 60;            // names bound at once
constexpr long step_limit = 2'000'000'000;  // node evaluations of one fact, weighted by precision

}  // namespace

enum class Op {
  constant,
  variable,
  entry,
  sum,
  product,
  negate,
  power,
  cosine,
  sine,
  arccosine,
  exponential,
  logarithm,
  root,
  absolute,
  floor,
  distance,
  least,
  greatest,
  loop_sum,
  loop_least,
  loop_greatest
};

struct Binding {
  int place;  // where its value stands among the binders in force
  Node* first;
  Node* last;
};

struct Binders {
  std::vector<Binding> bindings;
  Statement* condition = nullptr;
};

struct Node {
  Op op = Op::constant;
  std::vector<Node*> children;
  std::vector<bool> inverse;  // sum: subtract this child; product: divide by it
  int place = -1;             // variable
  std::vector<Node*>* table = nullptr;
  Binders binders;
  std::uint64_t depends = 0;  // bit p: the value depends on the binder at place p
  Value value;
  std::uint64_t stamp = 0;  // binding under which `value` was computed, 0 for none
  long precision = 0;       // of `value`
};

struct Statement {
  enum class Kind { all_of, for_all, compare } kind = Kind::compare;
  std::vector<Statement*> parts;
  Binders binders;
  Node* left = nullptr;
  Node* right = nullptr;
  std::string relation;
  std::uint64_t depends = 0;
};

// ----------------------------------------------------------------------------------------------
// parser

class Parser {
 public:
  Parser(Context& context, const std::string& text, bool names)
      : context_(context), text_(text), names_(names) {
    if (text.size() > length_limit) throw Malformed("an expression of more than 2^20 characters");
    next();
  }

  Node* whole_sum() {
    Node* node = sum();
    end();
    return node;
  }
  Statement* whole_statement() {
    Statement* s = statement();
    end();
    return s;
  }
  void name_alone() {
    fresh_name();
    end();
  }

 private:
  struct Deeper {
    explicit Deeper(Parser& p) : parser(p) {
      if (++parser.depth_ > nesting_limit) parser.fail("nested too deeply");
    }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    ~Deeper() { --parser.depth_; }
    Parser& parser;
  };

  [[noreturn]] void fail(const std::string& why) const {
    const size_t from = start_ > 20 ? start_ - 20 : 0;
    throw Malformed(why + " at character " + std::to_string(start_ + 1) + ", near '" +
                    text_.substr(from, 40) + "'");
  }

  static bool digit(char c) { return c >= '0' && c <= '9'; }
  static bool letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }
  char at(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }

  // Reads the next token into token_: a number, a name, or a symbol of one or two characters.
  void next() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
    start_ = at_;
    is_number_ = is_name_ = false;
    if (digit(at(at_))) {
      is_number_ = true;
      const auto digits = [&] {
        while (digit(at(at_))) ++at_;
      };
      digits();
      if (at(at_) == '.' && digit(at(at_ + 1))) {
        ++at_;
        digits();
      }
      if (at(at_) == 'e' || at(at_) == 'E') {
        const size_t sign = at(at_ + 1) == '+' || at(at_ + 1) == '-' ? 1 : 0;
        if (!digit(at(at_ + 1 + sign))) fail("an unfinished number");
        at_ += 1 + sign;
        digits();
      }
      if (letter(at(at_))) fail("a number followed by a letter");
    } else if (letter(at(at_))) {
      is_name_ = true;
      while (letter(at(at_)) || digit(at(at_))) ++at_;
    } else if (at_ < text_.size()) {
      const std::string two = text_.substr(at_, 2);
      at_ += two == "<=" || two == ">=" || two == "!=" || two == ".." ? 2 : 1;
    }
    token_ = text_.substr(start_, at_ - start_);
  }
  bool peek(std::string_view token) const { return token_ == token; }
  bool eat(std::string_view token) {
    if (!peek(token)) return false;
    next();
    return true;
  }
  void expect(std::string_view token) {
    if (!eat(token)) fail("expected '" + std::string(token) + "'");
  }
  void end() const {
    if (start_ < text_.size()) fail("unexpected text");
  }

  Node* make(Op op, std::vector<Node*> children = {}) {
    context_.roots_.push_back(std::make_unique<Node>());
    Node* node = context_.roots_.back().get();
    node->op = op;
    node->children = std::move(children);
    for (const Node* child : node->children) node->depends |= child->depends;
    return node;
  }

  Statement* make_statement(Statement::Kind kind) {
    context_.statements_.push_back(std::make_unique<Statement>());
    context_.statements_.back()->kind = kind;
    return context_.statements_.back().get();
  }

  Statement* statement() {
    Statement* s = clause();
    if (!peek("and")) return s;
    Statement* all = make_statement(Statement::Kind::all_of);
    all->parts.push_back(s);
    while (eat("and")) all->parts.push_back(clause());
    for (const Statement* part : all->parts) all->depends |= part->depends;
    return all;
  }

  Statement* clause() {
    const Deeper deeper(*this);
    if (eat("all")) {
      expect("(");
      Statement* s = make_statement(Statement::Kind::for_all);
      const size_t outer = scope_.size();
      s->depends = binders(s->binders);
      expect(":");
      s->parts.push_back(statement());
      s->depends = close(outer, s->depends | s->parts.front()->depends);
      expect(")");
      return s;
    }
    Statement* s = make_statement(Statement::Kind::compare);
    s->left = sum();
    s->relation = token_;
    static const std::string_view relations[] = {"<", "<=", ">", ">=", "=", "!="};
    if (std::find(std::begin(relations), std::end(relations), token_) == std::end(relations))
      fail("expected a comparison");
    next();
    s->right = sum();
    s->depends = s->left->depends | s->right->depends;
    return s;
  }

  // Returns what the ends and the condition depend on. The names stay in scope until close().
  std::uint64_t binders(Binders& out) {
    std::uint64_t depends = 0;
    do {
      const std::string name = fresh_name();
      expect("in");
      Binding b{};
      b.first = sum();
      expect("..");
      b.last = sum();
      b.place = static_cast<int>(scope_.size());
      if (b.place >= binder_limit) fail("too many names bound at once");
      depends |= b.first->depends | b.last->depends;
      scope_.push_back(name);
      out.bindings.push_back(b);
    } while (eat(","));
    if (eat("if")) {
      out.condition = statement();
      depends |= out.condition->depends;
    }
    return depends;
  }
  std::uint64_t close(size_t outer, std::uint64_t depends) {
    scope_.resize(outer);
    return depends & ((std::uint64_t{1} << outer) - 1);
  }

  static bool reserved(const std::string& name) {
    static const std::string_view words[] = {"pi",   "cos", "sin",   "acos",     "exp", "log",
                                             "sqrt", "abs", "floor", "distance", "min", "max",
                                             "sum",  "all", "and",   "if",       "in"};
    return std::find(std::begin(words), std::end(words), name) != std::end(words);
  }
  std::string fresh_name() {
    const std::string name = token_;
    if (!is_name_ || reserved(name)) fail("expected a name");
    if (context_.names_.count(name) != 0 || context_.tables_.count(name) != 0 ||
        std::find(scope_.begin(), scope_.end(), name) != scope_.end())
      fail("the name '" + name + "' is bound already");
    next();
    return name;
  }

  Node* chain(Op op, std::string_view plus, std::string_view minus, Node* (Parser::*part)()) {
    Node* first = (this->*part)();
    if (!peek(plus) && !peek(minus)) return first;
    std::vector<Node*> parts{first};
    std::vector<bool> inverse{false};
    while (peek(plus) || peek(minus)) {
      inverse.push_back(peek(minus));
      next();
      parts.push_back((this->*part)());
    }
    Node* node = make(op, std::move(parts));
    node->inverse = std::move(inverse);
    return node;
  }
  Node* sum() {
    const Deeper deeper(*this);
    return chain(Op::sum, "+", "-", &Parser::term);
  }
  Node* term() { return chain(Op::product, "*", "/", &Parser::factor); }
  Node* factor() {
    const Deeper deeper(*this);
    if (eat("-")) return make(Op::negate, {power()});
    return power();
  }
  Node* power() {
    Node* base = atom();
    if (!eat("^")) return base;
    return make(Op::power, {base, factor()});
  }

  Node* atom() {
    if (eat("(")) {
      Node* inner = sum();
      expect(")");
      return inner;
    }
    if (is_number_) {
      Node* node = make(Op::constant);
      node->value = Value(parse_rational(token_, false));
      next();
      return node;
    }
    if (!is_name_) fail("expected a value");
    if (eat("pi")) {
      Node* node = make(Op::constant);
      node->value = Value::pi();
      return node;
    }
    static const std::map<std::string, Op> functions = {
        {"cos", Op::cosine},      {"sin", Op::sine},      {"acos", Op::arccosine},
        {"exp", Op::exponential}, {"log", Op::logarithm}, {"sqrt", Op::root},
        {"abs", Op::absolute},    {"floor", Op::floor},   {"distance", Op::distance}};
    if (const auto f = functions.find(token_); f != functions.end()) {
      next();
      expect("(");
      Node* node = make(f->second, {sum()});
      expect(")");
      return node;
    }
    if (peek("min") || peek("max") || peek("sum")) return fold();
    return name();
  }

  // min, max and sum: of a list, or over binders.
  Node* fold() {
    const std::string which = token_;
    next();
    if (!peek("(")) fail("expected '('");
    // NAME "in" opens binders; no sum can begin so.
    size_t i = at_;
    const auto blank = [&] {
      while (i < text_.size() &&
             std::string_view(" \t\r\n").find(text_[i]) != std::string_view::npos)
        ++i;
    };
    blank();
    while (letter(at(i)) || digit(at(i))) ++i;
    blank();
    const bool loop = text_.compare(i, 2, "in") == 0 && !letter(at(i + 2)) && !digit(at(i + 2));
    next();
    if (!loop) {
      if (which == "sum") fail("sum needs a binder");
      std::vector<Node*> parts{sum()};
      while (eat(",")) parts.push_back(sum());
      expect(")");
      return make(which == "min" ? Op::least : Op::greatest, std::move(parts));
    }
    Binders b;
    const size_t outer = scope_.size();
    const std::uint64_t depends = binders(b);
    expect(":");
    Node* body = sum();
    expect(")");
    Node* node = make(which == "sum"   ? Op::loop_sum
                      : which == "min" ? Op::loop_least
                                       : Op::loop_greatest,
                      {body});
    node->binders = std::move(b);
    node->depends = close(outer, depends | body->depends);
    return node;
  }

  Node* name() {
    const std::string name = token_;
    if (reserved(name)) fail("'" + name + "' is no value");
    const auto bound = std::find(scope_.begin(), scope_.end(), name);
    if (bound != scope_.end()) {
      next();
      Node* node = make(Op::variable);
      node->place = static_cast<int>(bound - scope_.begin());
      node->depends = std::uint64_t{1} << node->place;
      return node;
    }
    if (const auto value = context_.names_.find(name); names_ && value != context_.names_.end()) {
      next();
      return value->second;
    }
    if (const auto table = context_.tables_.find(name); names_ && table != context_.tables_.end()) {
      next();
      expect("[");
      Node* node = make(Op::entry, {sum()});
      node->table = &table->second;
      expect("]");
      return node;
    }
    fail("the name '" + name + "' is not bound");
  }

  Context& context_;
  const std::string& text_;
  bool names_;
  size_t at_ = 0, start_ = 0;
  std::string token_;
  bool is_number_ = false, is_name_ = false;
  int depth_ = 0;
  std::vector<std::string> scope_;
};

// -------------------------------------------------------------------------------------------
// evaluator

class Context::Evaluator {
 public:
  const Value& value(Node& node, long precision) {
    const long outer = precision_;
    precision_ = precision;
    try {
      const Value& v = evaluate(node);
      precision_ = outer;
      return v;
    } catch (...) {
      precision_ = outer;
      throw;
    }
  }

  Truth decide(const Statement& s) {
    switch (s.kind) {
      case Statement::Kind::all_of: {
        Truth truth = Truth::yes;
        for (const Statement* part : s.parts) {
          const Truth t = decide(*part);
          if (t == Truth::no) return t;
          if (t == Truth::unknown) truth = t;
        }
        return truth;
      }
      case Statement::Kind::for_all: {
        Truth truth = Truth::yes;
        try {
          loop(s.binders, 0, [&] {
            const Truth t = decide(*s.parts.front());
            if (t != Truth::yes) truth = t;
            return t != Truth::no;
          });
        } catch (const Open&) {
          if (truth != Truth::no) truth = Truth::unknown;
        }
        return truth;
      }
      case Statement::Kind::compare: break;
    }
    for (const long precision : precisions) {
      try {
        const Value left = value(*s.left, precision);
        const Value& right = value(*s.right, precision);
        if ((s.relation == "=" || s.relation == "!=") && !(left.exact() && right.exact())) {
          // Balls that are apart are unequal; that they are equal is never certain.
          compare(left, right, precision);
          return s.relation == "=" ? Truth::no : Truth::yes;
        }
        const int order = compare(left, right, precision);
        const bool holds = s.relation == "<"    ? order < 0
                           : s.relation == "<=" ? order <= 0
                           : s.relation == ">"  ? order > 0
                           : s.relation == ">=" ? order >= 0
                           : s.relation == "="  ? order == 0
                                                : order != 0;
        return holds ? Truth::yes : Truth::no;
      } catch (const Open&) {
      }
    }
    return Truth::unknown;
  }

 private:
  struct Bound {
    Value value;
    std::uint64_t version = 0;
  };

  void count() {
    steps_ += precision_ <= 128 ? 1 : precision_ / 64;
    if (steps_ > step_limit) throw Rejected("not decided: more than 2e9 steps");
  }

  Integer end(Node& node) {
    const Value& v = evaluate(node);
    if (!v.integer()) throw Rejected("an end of a binder is no integer: " + v.text());
    return v.part().floor();
  }

  // Calls visit for every combination that meets the condition, until it returns false.
  bool loop(const Binders& b, size_t depth, const std::function<bool()>& visit) {
    if (depth == b.bindings.size()) {
      count();
      if (b.condition) {
        const Truth t = decide(*b.condition);
        if (t == Truth::unknown) throw Open("a condition stays open");
        if (t == Truth::no) return true;
      }
      return visit();
    }
    const Binding& binding = b.bindings[depth];
    const Integer first = end(*binding.first), last = end(*binding.last);
    if (last - first > Integer(step_limit))
      throw Rejected("not decided: a loop of more than 2e9 steps");
    const auto place = static_cast<size_t>(binding.place);
    for (Integer i = first; i <= last; fmpz_add_ui(i.raw(), i.raw(), 1)) {
      count();
      bound_[place].value.set_integer(i);
      bound_[place].version = ++clock_;
      if (!loop(b, depth + 1, visit)) return false;
    }
    return true;
  }

  // Every inner binder is bound anew, with a new version, whenever an outer one changes; so the
  // version of the innermost binder that a node depends on says which binding its value belongs to.
  std::uint64_t stamp(const Node& node) const {
    if (node.depends == 0) return 1;
    return bound_[63 - static_cast<size_t>(__builtin_clzll(node.depends))].version;
  }

  const Value& evaluate(Node& node) {
    if (node.op == Op::constant) return node.value;
    if (node.op == Op::variable) return bound_[static_cast<size_t>(node.place)].value;
    const std::uint64_t now = stamp(node);
    if (node.stamp == now && node.precision >= precision_) return node.value;
    count();
    if (node.op == Op::entry) return entry(node);
    node.stamp = 0;
    compute(node);
    node.stamp = now;
    node.precision = node.value.exact() ? WORD_MAX : precision_;
    return node.value;
  }

  const Value& entry(Node& node) {
    const Value& index = evaluate(*node.children.front());
    if (!index.integer()) throw Rejected("an index is no integer: " + index.text());
    const Integer i = index.part().floor();
    if (i < Integer(0) || i >= Integer(static_cast<long>(node.table->size())))
      throw Rejected("index " + i.text() + " is outside its table");
    return evaluate(*(*node.table)[static_cast<size_t>(fmpz_get_si(i.raw()))]);
  }

  void compute(Node& node) {
    Value& v = node.value;
    if (node.op >= Op::loop_sum) return fold(node);
    v = evaluate(*node.children.front());
    switch (node.op) {
      case Op::sum:
      case Op::product:
      case Op::least:
      case Op::greatest:
        for (size_t i = 1; i < node.children.size(); ++i) {
          const Value& x = evaluate(*node.children[i]);
          if (node.op == Op::sum)
            v.add(x, node.inverse[i], precision_);
          else if (node.op != Op::product)
            v.least(x, node.op == Op::greatest, precision_);
          else if (node.inverse[i])
            v.divide(x, precision_);
          else
            v.multiply(x, precision_);
        }
        break;
      case Op::power: v.power(evaluate(*node.children[1]), precision_); break;
      case Op::negate: v.negate(); break;
      case Op::cosine: v.cosine(precision_); break;
      case Op::sine: v.sine(precision_); break;
      case Op::arccosine: v.arccosine(precision_); break;
      case Op::exponential: v.exponential(precision_); break;
      case Op::logarithm: v.logarithm(precision_); break;
      case Op::root: v.root(precision_); break;
      case Op::absolute: v.absolute(precision_); break;
      case Op::floor: v.floor(precision_); break;
      case Op::distance: v.distance(precision_); break;
      default: break;
    }
  }

  void fold(Node& node) {
    Value& v = node.value;
    Node& body = *node.children.front();
    v.set_integer(0);
    bool empty = true;
    loop(node.binders, 0, [&] {
      const Value& x = evaluate(body);
      if (node.op == Op::loop_sum)
        v.add(x, false, precision_);
      else if (empty)
        v = x;
      else
        v.least(x, node.op == Op::loop_greatest, precision_);
      empty = false;
      return true;
    });
    if (empty && node.op != Op::loop_sum) throw Rejected("min or max of nothing");
  }

  long precision_ = precisions[0];
  long steps_ = 0;
  std::uint64_t clock_ = 1;                 // the last version given out
  std::vector<Bound> bound_{binder_limit};  // by place; never resized, so references into it last
};

Context::Context() : evaluator_(std::make_unique<Evaluator>()) {}
Context::~Context() = default;

void Context::define(const std::string& name, const std::string& text) {
  Node* node = Parser(*this, text, false).whole_sum();
  Parser(*this, name, false).name_alone();
  names_[name] = node;
}

void Context::define(const std::string& name, const std::vector<std::string>& texts) {
  Parser(*this, name, false).name_alone();
  std::vector<Node*> nodes;
  nodes.reserve(texts.size());
  for (const std::string& text : texts) nodes.push_back(Parser(*this, text, false).whole_sum());
  tables_[name] = std::move(nodes);
}

Node& Context::sum(const std::string& text) { return *Parser(*this, text, true).whole_sum(); }
Statement& Context::statement(const std::string& text) {
  return *Parser(*this, text, true).whole_statement();
}
const Value& Context::value(Node& node, long precision) {
  return evaluator_->value(node, precision);
}
Truth Context::decide(Statement& statement) { return evaluator_->decide(statement); }

int compare(Context& context, Node& node, const Rational& bound) {
  for (const long precision : precisions) {
    try {
      return compare(context.value(node, precision), Value(bound), precision);
    } catch (const Open&) {
      if (precision == precisions[2]) throw;
    }
  }
  return 0;
}

}  // namespace checker
