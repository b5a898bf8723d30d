#include <algorithm>

#include "facts.hpp"

namespace checker {

namespace {

constexpr size_t length_limit = 1 << 20;    // characters of one expression
constexpr int depth_limit = 150;            // expressions inside one another
constexpr size_t binder_limit = 60;         // names bound at once
constexpr long step_limit = 1'000'000'000;  // evaluations of one fact, weighted by precision

// Whether a relation holds where the left side is below, equal to, above the right one.
const std::map<std::string, const char*> relations = {{"<", "yes"},  {"<=", "yyn"}, {">", "nny"},
                                                      {">=", "nyy"}, {"=", "nyn"},  {"!=", "yny"}};

// How a sum, product, power, min or max takes in its next part.
using Step = void (*)(Value&, const Value&, bool inverse);
void add(Value& v, const Value& x, bool minus) { minus ? v -= x : v += x; }
void multiply(Value& v, const Value& x, bool by) { by ? v /= x : v *= x; }
void least(Value& v, const Value& x, bool /*none*/) { v.least(x, false); }
void greatest(Value& v, const Value& x, bool /*none*/) { v.least(x, true); }

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// Numbers, names, and symbols of one or two characters; the last token is empty.
Texts tokenize(const std::string& text) {
  if (text.size() > length_limit) throw Malformed("an expression of more than 2^20 characters");
  Texts out;
  size_t i = 0;
  const auto at = [&](size_t j) { return j < text.size() ? text[j] : '\0'; };
  const auto skip = [&](const auto& kind) {
    while (i < text.size() && kind(text[i])) ++i;
  };
  do {
    skip([](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; });
    const size_t start = i;
    const std::string two = text.substr(i, 2);
    if (digit(at(i))) {
      skip(digit);
      if (at(i) == '.' && digit(at(i + 1))) ++i;
      skip(digit);
      if (at(i) == 'e' || at(i) == 'E') i += at(i + 1) == '+' || at(i + 1) == '-' ? 2 : 1;
      skip(digit);
    } else if (letter(at(i))) {
      skip([](char c) { return letter(c) || digit(c); });
    } else {
      i += two == "<=" || two == ">=" || two == "!=" || two == ".." ? 2 : i < text.size() ? 1 : 0;
    }
    out.push_back(text.substr(start, i - start));
  } while (!out.back().empty());
  return out;
}

}  // namespace

struct Node {
  Value value;
  std::function<void(Value&)> compute;  // none where the value is given
  std::function<bool()> holds;          // of a statement
  std::uint64_t depends = 0;            // bit p: on the binder at place p
  std::uint64_t stamp = 0;              // the version `value` was computed under, 0 for none
  long bits = 0;                        // the precision of `value`
};

class Parser {
 public:
  Parser(Context& context, const std::string& text) : c_(context), tokens_(tokenize(text)) {}
  Node* whole(bool is_statement) {
    Node* node = is_statement ? statement() : sum();
    if (!peek().empty()) fail("unexpected text");
    return node;
  }
  // A name for something new.
  std::string new_name() {
    static const Texts words = {"pi", "min", "max", "sum", "all", "and", "if", "in"};
    const std::string name = peek();
    const bool word =
        functions.count(name) != 0 || std::find(words.begin(), words.end(), name) != words.end();
    if (word || !letter(name[0])) fail("expected a name");
    if (c_.names_.count(name) + c_.tables_.count(name) + scope_.count(name) != 0)
      fail("a name that is bound already");
    ++next_;
    return name;
  }

 private:
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
  Node* make(const std::vector<Node*>& parts, std::function<void(Value&)> compute = nullptr) {
    Node* node = c_.nodes_.emplace_back(std::make_unique<Node>()).get();
    node->compute = std::move(compute);
    for (const Node* part : parts) node->depends |= part->depends;
    return node;
  }

  // Parts between separators; one alone stands for itself.
  Node* chain(Node* (Parser::*part)(), const std::string& separator, const std::string& inverse,
              Step step) {
    std::vector<Node*> parts{(this->*part)()};
    std::vector<bool> inverses{false};
    while (peek() == separator || peek() == inverse) {
      inverses.push_back(tokens_[next_++] == inverse);
      parts.push_back((this->*part)());
    }
    if (parts.size() == 1) return parts[0];
    return make(parts, [=, &c = c_](Value& v) {
      v = c.value(*parts[0]);
      for (size_t i = 1; i < parts.size(); ++i) step(v, c.value(*parts[i]), inverses[i]);
    });
  }
  Node* sum() { return chain(&Parser::term, "+", "-", add); }
  Node* term() { return chain(&Parser::factor, "*", "/", multiply); }

  Node* statement() {
    std::vector<Node*> parts{clause()};
    while (eat("and")) parts.push_back(clause());
    if (parts.size() == 1) return parts[0];
    Node* node = make(parts);
    node->holds = [=] {
      return std::all_of(parts.begin(), parts.end(),
                         [](const Node* part) { return part->holds(); });
    };
    return node;
  }
  Node* clause() {
    if (eat("all")) return bound(&Parser::statement, nullptr);
    Node* left = sum();
    const auto relation = relations.find(peek());
    if (relation == relations.end()) fail("expected a comparison");
    ++next_;
    Node* right = sum();
    Node* node = make({left, right});
    node->holds = [=, &c = c_, holds = relation->second] {
      const auto order = [&] { return compare(Value(c.value(*left)), c.value(*right)); };
      return holds[settle(order) + 1] == 'y';
    };
    return node;
  }

  // "(" binders ":" body ")"; a statement where there is no step.
  Node* bound(Node* (Parser::*body_of)(), Step step) {
    using Visit = std::function<bool()>;
    struct Binder {
      size_t place;
      Node *variable, *first, *last;
    };
    expect("(");
    const auto outer = scope_;
    std::vector<Node*> parts;
    std::vector<Binder> binders;
    do {
      const std::string name = new_name();
      expect("in");
      Node* first = sum();
      expect("..");
      Node* last = sum();
      const size_t place = scope_.size();
      if (place == binder_limit) fail("too many names bound at once");
      binders.push_back({place, scope_[name] = make({}), first, last});
      scope_[name]->depends = std::uint64_t{1} << place;
      parts.insert(parts.end(), {first, last});
    } while (eat(","));
    Node* condition = eat("if") ? statement() : nullptr;
    if (condition != nullptr) parts.push_back(condition);
    expect(":");
    Node* body = (this->*body_of)();
    parts.push_back(body);
    expect(")");
    scope_ = outer;

    // Calls visit for each combination that meets the condition until it returns false.
    std::function<bool(const Visit&)> loop = [=](const Visit& visit) {
      return (condition != nullptr && !condition->holds()) || visit();
    };
    for (auto b = binders.rbegin(); b != binders.rend(); ++b)
      loop = [&c = c_, b = *b, inner = loop](const Visit& visit) {
        const Value first = c.value(*b.first), last = c.value(*b.last);
        if (!first.integer() || !last.integer()) throw Rejected("an end of a binder is no integer");
        if (last.p - first.p > step_limit)
          throw Rejected("not decided: a loop of more than 1e9 steps");
        bool go_on = true;
        for (mpq_class i = first.p; go_on && i <= last.p; ++i) {
          b.variable->value.p = i;
          c.versions_[b.place] = ++c.version_;
          c.count();
          go_on = inner(visit);
        }
        return go_on;
      };
    Node* node = make(parts);
    node->depends &= (std::uint64_t{1} << scope_.size()) - 1;
    if (step == nullptr) node->holds = [=] { return loop(body->holds); };
    if (step != nullptr)
      node->compute = [=, &c = c_](Value& v) {
        bool first = true;
        v = 0;
        loop([&] {
          std::exchange(first, false) ? void(v = c.value(*body)) : step(v, c.value(*body), false);
          return true;
        });
        if (first && step != add) throw Rejected("min or max of nothing");
      };
    return node;
  }

  Node* factor() {
    if (++depth_ > depth_limit) fail("nested too deeply");
    const bool minus = eat("-");
    Node* node = atom();
    if (peek() == "^") {
      const std::vector<Node*> parts{node, (++next_, factor())};
      node = make(parts,
                  [=, &c = c_](Value& v) { (v = c.value(*parts[0])).power(c.value(*parts[1])); });
    }
    if (minus) node = make({node}, [=, &c = c_](Value& v) { v = c.value(*node) * -1; });
    --depth_;
    return node;
  }

  Node* atom() {
    const std::string token = peek();
    if (!digit(token[0]) && !letter(token[0]) && token != "(") fail("expected a value");
    ++next_;
    Node* node = nullptr;
    if (digit(token[0]) || token == "pi") {
      node = make({});
      node->value = token == "pi" ? Value(0, 1) : Value(parse_number(token, false));
    } else if (scope_.count(token) != 0) {
      node = scope_.at(token);
    } else if (c_.names_.count(token) != 0) {
      node = c_.names_.at(token);
    } else if (const auto table = c_.tables_.find(token); table != c_.tables_.end()) {
      expect("[");
      Node* index = sum();
      expect("]");
      node = make({index}, [=, &c = c_](Value& v) {
        v = c.value(*index);
        if (!v.integer() || v.p < 0 || v.p >= table->second.size())
          throw Rejected("the index " + v.text() + " is not in its table");
        v = c.value(*table->second[v.p.get_num().get_ui()]);
      });
    } else if (token == "sum" || ((token == "min" || token == "max") && peek(2) == "in")) {
      node = bound(&Parser::sum, token == "sum" ? add : token == "min" ? least : greatest);
    } else if (token == "min" || token == "max") {
      expect("(");
      node = chain(&Parser::sum, ",", ",", token == "min" ? least : greatest);
      expect(")");
    } else if (token == "(") {
      node = sum();
      expect(")");
    } else if (const auto function = functions.find(token); function != functions.end()) {
      expect("(");
      Node* x = sum();
      expect(")");
      node = make({x}, [=, &c = c_, f = function->second](Value& v) { f(v = c.value(*x)); });
    } else {
      fail("'" + token + "' is not bound,");
    }
    return node;
  }

  Context& c_;
  Texts tokens_;
  size_t next_ = 0;
  int depth_ = 0;
  std::map<std::string, Node*> scope_;
};

Context::Context() : versions_(binder_limit) {}
Context::~Context() = default;

void Context::define(const std::string& name, const Texts& texts, bool table) {
  if (Parser(*this, name).new_name() != name) throw Malformed("no name");
  std::vector<Node*> parsed;
  const auto names = std::exchange(names_, {});  // no names in what a name stands for
  const auto tables = std::exchange(tables_, {});
  for (const std::string& text : texts) parsed.push_back(&parse(text));
  names_ = names;
  tables_ = tables;
  if (!table) names_[name] = parsed.front();
  if (table) tables_[name] = parsed;
}

Node& Context::parse(const std::string& text) { return *Parser(*this, text).whole(false); }
bool Context::holds(const std::string& statement) {
  return Parser(*this, statement).whole(true)->holds();
}

void Context::count() {
  steps_ += precision <= 128 ? 1 : precision / 64;
  if (steps_ > step_limit) throw Rejected("not decided: more than 1e9 steps");
}

const Value& Context::value(Node& node) {
  if (!node.compute) return node.value;
  // An inner binder gets a new version whenever an outer one changes, so the innermost one of those
  // a node depends on tells which binding its value belongs to.
  const size_t innermost = 63 - static_cast<size_t>(__builtin_clzll(node.depends | 1));
  const std::uint64_t version = node.depends == 0 ? 1 : versions_[innermost];
  if (node.stamp == version && node.bits >= precision) return node.value;
  count();
  Value fresh;
  node.compute(fresh);
  node.value = std::move(fresh);
  node.stamp = version;
  node.bits = node.value.exact ? WORD_MAX : precision;
  return node.value;
}

}  // namespace checker
