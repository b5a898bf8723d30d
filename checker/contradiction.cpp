// The fact `contradiction`: the inputs are inputs of the task, each row asks what the head would
// have to do on its input, and the rows with their multipliers add up to the impossible (Farkas).
//
// Index on (a, b, 1) is b, on (b, a, 1) it is a. A symbolic decoder sees the query 1 and the bag
// {a, b} both times: z(b) - z(a) >= 1 and z(a) - z(b) >= 1 add up to 0 >= 2.
#include <algorithm>
#include <map>

#include "facts.hpp"

namespace checker {

namespace {

using Input = std::vector<std::string>;

bool small(char c) { return c >= 'a' && c <= 'z'; }
bool large(char c) { return c >= 'A' && c <= 'Z'; }

class Task {
 public:
  explicit Task(const Object& o);

  struct Answer {
    std::string key;   // the token under the right key
    std::string name;  // the answer
  };
  /// Rejected unless the input is one of the task.
  Answer solve(const Input& input);
  /// What a position that holds the token counts for; empty where it counts for no answer.
  std::string value(const std::string& token) const;
  /// Rejected unless some input of the task could have this answer.
  void check_answer(const std::string& name);

 private:
  struct Token {
    enum class Kind { letter, integer, pair, lookup, binding, query } kind;
    char left = 0, right = 0;  // letters
    long number = 0;           // integer, of a lookup (letter, integer) and of a query ?j
  };
  Token read(const std::string& token);
  void letter(char c, std::set<char>& seen, long limit, const std::string& what);
  long number(const std::string& digits) const;

  std::string name_;
  long length_ = 0, letters_ = 0, others_ = 0;
  std::set<char> letters_seen_,
      attributes_seen_;  // over all rows: the alphabets have a size, not an order
};

Task::Task(const Object& o) : name_(o.text("name")) {
  const auto size = [&](const char* key) {
    const Integer n = o.integer(key);
    if (n < Integer(0) || n > Integer(10000))
      throw Rejected("task." + std::string(key) + ": not in 0..10000");
    return static_cast<long>(fmpz_get_si(n.raw()));
  };
  length_ = size("length");
  letters_ = size("letters");
  others_ = size("others");
  o.done();
  static const std::set<std::string> names = {"index",    "retrieval-proper", "retrieval-clean",
                                              "position", "symbol",           "mixed"};
  if (names.count(name_) == 0) o.fail("name", "no known task");
}

void Task::letter(char c, std::set<char>& seen, long limit, const std::string& what) {
  seen.insert(c);
  if (static_cast<long>(seen.size()) > limit)
    throw Rejected("more than " + std::to_string(limit) + " " + what + " in use");
}

long Task::number(const std::string& digits) const {
  const Integer n = parse_integer(digits);
  if (digits.front() == '0' || digits.front() == '-' || n > Integer(10000))
    throw Rejected("'" + digits + "' is no token of the task");
  return fmpz_get_si(n.raw());
}

Task::Token Task::read(const std::string& token) {
  const size_t n = token.size();
  const bool pairs = name_ == "retrieval-proper" || name_ == "retrieval-clean";
  const bool bindings = name_ == "symbol" || name_ == "mixed";
  const auto known = [&](char c) { letter(c, letters_seen_, letters_, "letters"); };
  if ((name_ == "index" || name_ == "position") && n == 1 && small(token[0])) {
    known(token[0]);
    return {Token::Kind::letter, token[0], 0, 0};
  }
  if (name_ == "index" && n > 0 && n < 6 &&
      token.find_first_not_of("0123456789") == std::string::npos) {
    const long m = number(token);
    if (m <= others_) return {Token::Kind::integer, 0, 0, m};
  } else if (name_ == "position" && n > 1 && n < 7 && token[0] == '?') {
    return {Token::Kind::query, 0, 0, number(token.substr(1))};
  } else if (pairs && n == 2 && large(token[0]) && large(token[1])) {
    known(token[0]);
    known(token[1]);
    return {Token::Kind::pair, token[0], token[1], 0};
  } else if (pairs && n > 1 && n < 7 && large(token[0]) &&
             token.find_first_not_of("0123456789", 1) == std::string::npos) {
    known(token[0]);
    const long m = number(token.substr(1));
    if (m <= others_) return {Token::Kind::lookup, token[0], 0, m};
  } else if (bindings && n == 3 && large(token[0]) && token[1] == ':' && small(token[2])) {
    known(token[0]);
    letter(token[2], attributes_seen_, others_, "attributes");
    return {Token::Kind::binding, token[0], token[2], 0};
  } else if (bindings && n == 2 && token[0] == '?' && large(token[1])) {
    known(token[1]);
    return {Token::Kind::query, token[1], 0, 0};
  }
  throw Rejected("'" + token.substr(0, 20) + "' is no token of the task");
}

Task::Answer Task::solve(const Input& input) {
  if (static_cast<long>(input.size()) != length_ || input.empty())
    throw Rejected("the input has not the length of the task");
  using Kind = Token::Kind;
  std::vector<Token> tokens;
  for (const std::string& token : input) tokens.push_back(read(token));
  const size_t last = tokens.size() - 1;
  const Token query = tokens[last];

  if (name_ == "index") {
    for (size_t i = 0; i <= last; ++i)
      if (tokens[i].kind == Kind::integer && tokens[i].number > static_cast<long>(i))
        throw Rejected("the integer at position " + std::to_string(i + 1) +
                       " reaches back beyond the input");
    size_t at = last;
    if (query.kind == Kind::integer) {
      const size_t there = last - static_cast<size_t>(query.number);
      if (tokens[there].kind == Kind::letter) at = there;
    }
    return {input[at], input[at]};
  }
  if (name_ == "retrieval-proper" || name_ == "retrieval-clean") {
    size_t at = last;
    for (size_t i = 0; i <= last; ++i) {
      if (tokens[i].kind != Kind::pair) continue;
      size_t found = last + 1;  // the last position so far that holds the wanted letter
      for (size_t j = 0; j <= i; ++j) {
        if (tokens[j].left != tokens[i].right) continue;
        if (found <= last && input[j] != input[found])
          throw Rejected("position " + std::to_string(i + 1) + " wants a letter of two tokens");
        found = j;
      }
      if (found > last)
        throw Rejected("position " + std::to_string(i + 1) + " wants a letter that is not there");
      if (i == last) at = found;
    }
    std::map<char, std::string> holder;
    for (size_t i = 0; name_ == "retrieval-clean" && i <= last; ++i)
      if (holder.emplace(tokens[i].left, input[i]).first->second != input[i])
        throw Rejected("a left letter stands in two tokens at position " + std::to_string(i + 1));
    return {input[at], input[at]};
  }
  // Position, symbol, mixed: keys of one kind, then a query.
  const Kind key = name_ == "position" ? Kind::letter : Kind::binding;
  for (size_t i = 0; i < last; ++i)
    if (tokens[i].kind != key) throw Rejected("'" + input[i] + "' stands before the query");
  if (query.kind != Kind::query) throw Rejected("the last token is no query");
  if (name_ == "position") {
    if (query.number > static_cast<long>(last)) throw Rejected("the query asks beyond the input");
    const std::string& there = input[static_cast<size_t>(query.number) - 1];
    return {there, there};
  }
  size_t at = last;
  for (size_t i = 0; i < last; ++i) {
    if (tokens[i].left != query.left) continue;
    if (name_ == "symbol" && at != last && tokens[i].right != tokens[at].right)
      throw Rejected("the queried symbol has two attributes");
    at = i;
  }
  if (at == last) throw Rejected("the queried symbol is not bound");
  return {input[at], std::string(1, tokens[at].right)};
}

std::string Task::value(const std::string& token) const {
  if (token.front() == '?') return "";
  return name_ == "symbol" || name_ == "mixed" ? token.substr(2) : token;
}

void Task::check_answer(const std::string& name) {
  if (name_ == "symbol" || name_ == "mixed") {
    if (name.size() != 1 || !small(name[0]))
      throw Rejected("rival: '" + name.substr(0, 20) + "' is no attribute");
    return letter(name[0], attributes_seen_, others_, "attributes");
  }
  if (read(name).kind == Token::Kind::query) throw Rejected("rival: a query is no answer");
}

}  // namespace

void check_contradiction(const Object& fact) {
  const std::string head = fact.text("head");
  const bool attention = head == "symbolic attention", decoder = head == "symbolic decoder";
  if (!attention && !decoder && head != "positional") fact.fail("head", "no known kind of head");
  Task task(fact.object("task"));
  const std::vector<Object> rows = fact.objects("rows");
  fact.done();
  if (rows.empty()) throw Rejected("rows: none");

  std::map<std::string, Rational> unknowns;  // coefficients of the sum; for positional, by position
  Input context;                             // query, and for a decoder the bag
  for (const Object& row : rows) {
    const Input input = row.texts("input");
    const std::string rival = row.text("rival");
    const Rational times = row.rational("times");
    row.done();
    try {
      if (times.sign() <= 0) throw Rejected("times is not positive");
      const Task::Answer right = task.solve(input);
      Input seen{input.back()};
      if (decoder) {
        seen.insert(seen.end(), input.begin(), input.end() - 1);
        std::sort(seen.begin() + 1, seen.end());
      }
      if (!context.empty() && seen != context)
        throw Rejected(decoder ? "another query or bag" : "another query");
      context = seen;
      if (attention) {
        if (std::find(input.begin(), input.end(), rival) == input.end())
          throw Rejected("rival: no token of the input");
      } else {
        task.check_answer(rival);
      }
      if (rival == (attention ? right.key : right.name))
        throw Rejected("rival: it is the right one");
      const auto add = [&](const std::string& unknown, const Rational& x) {
        unknowns[unknown] = unknowns[unknown] + x;
      };
      if (head == "positional") {
        for (size_t j = 0; j < input.size(); ++j) {
          const std::string value = task.value(input[j]);
          if (value == right.name) add(std::to_string(j + 1), times);
          if (value == rival) add(std::to_string(j + 1), -times);
        }
      } else {
        add(attention ? right.key : right.name, times);
        add(rival, -times);
      }
    } catch (const Rejected& e) {
      throw Rejected(row.path() + ": " + e.what());
    }
  }
  for (const auto& [unknown, x] : unknowns)
    if (head == "positional" ? x.sign() > 0 : !x.zero())
      throw Rejected("rows: the sum does not cancel at " + unknown);
}

}  // namespace checker
