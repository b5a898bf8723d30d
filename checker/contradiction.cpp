// The fact `contradiction`: the inputs are inputs of the task, each row asks what the head would
// have to do on its input, and the rows with their multipliers add up to the impossible (Farkas).
// Index on (a, b, 1) is b, on (b, a, 1) it is a; a symbolic decoder sees the query 1 and the bag
// {a, b} both times, and z(b) - z(a) >= 1 and z(a) - z(b) >= 1 add up to 0 >= 2.
#include <algorithm>
#include <regex>
#include <set>

#include "facts.hpp"

namespace checker {

namespace {

using Input = Texts;

class Task {
 public:
  explicit Task(const json& o);
  /// The position (from 0) of the right key. Rejected unless the input is one of the task.
  size_t right_key(const Input& input);
  /// The answer that a token stands for, "" for none.
  std::string answer(const std::string& token) const {
    if (token.front() == '?') return "";
    return bindings_ ? token.substr(2) : token;
  }
  /// Rejected unless it is an answer that the task can have, as the answer of the token `key` is.
  void check_answer(const std::string& name, const std::string& key) {
    check_token(bindings_ ? key.substr(0, 2) + name : name);
    if (name.front() == '?') throw Rejected("'" + name + "' is no answer");
  }

 private:
  void check_token(const std::string& token);

  std::string name_;
  bool bindings_, pairs_;
  std::regex form_;
  mpz_class length_, letters_, others_;
  std::set<char> large_, small_;  // letters in use, over all rows
};

Task::Task(const json& o) : name_(get(o, "name")) {
  check_keys(o, {"name", "length", "letters", "others"});
  static const std::map<std::string, std::string> forms = {
      {"index", "[a-z]|[1-9][0-9]{0,3}"},
      {"retrieval-proper", "[A-Z]([A-Z]|[1-9][0-9]{0,3})"},
      {"position", "[a-z]|[?][1-9][0-9]{0,3}"},
      {"retrieval-clean", "[A-Z]([A-Z]|[1-9][0-9]{0,3})"},
      {"symbol", "[A-Z]:[a-z]|[?][A-Z]"},
      {"mixed", "[A-Z]:[a-z]|[?][A-Z]"}};
  if (forms.count(name_) == 0) throw Malformed("name: no known task");
  form_ = forms.at(name_);
  bindings_ = name_ == "symbol" || name_ == "mixed";
  pairs_ = name_ == "retrieval-proper" || name_ == "retrieval-clean";
  length_ = integer(o.at("length"));
  letters_ = integer(o.at("letters"));
  others_ = integer(o.at("others"));
}

void Task::check_token(const std::string& token) {
  if (token.size() > 5 || !std::regex_match(token, form_))
    throw Rejected("'" + token + "' is no token of the task");
  for (const char c : token) {
    if (c >= 'A' && c <= 'Z') large_.insert(c);
    if (c >= 'a' && c <= 'z') small_.insert(c);
  }
  // Alphabets have a size, not an order.
  const auto& letters = bindings_ || pairs_ ? large_ : small_;
  if (letters.size() > letters_) throw Rejected("more letters than the task has");
  if (bindings_ && small_.size() > others_) throw Rejected("more attributes than the task has");
  const size_t digits = token.find_first_of("123456789");
  if (name_ != "position" && digits != std::string::npos &&
      mpz_class(token.substr(digits)) > others_)
    throw Rejected("'" + token + "' is no token of the task");
}

size_t Task::right_key(const Input& input) {
  if (input.empty() || input.size() != length_)
    throw Rejected("the input has not the length of the task");
  for (const std::string& token : input) check_token(token);
  const size_t last = input.size() - 1;
  const std::string& query = input[last];
  const auto number = [](const std::string& digits) {
    return static_cast<size_t>(std::stoul(digits));
  };

  if (name_ == "index") {
    const auto integer = [](const std::string& token) { return token[0] <= '9'; };
    for (size_t i = 0; i <= last; ++i)
      if (integer(input[i]) && number(input[i]) > i)
        throw Rejected("'" + input[i] + "' reaches back beyond the input");
    const size_t there = integer(query) ? last - number(query) : last;
    return integer(input[there]) ? last : there;
  }
  if (pairs_) {
    size_t at = last;
    std::map<char, std::string> holder;  // of each left letter so far, its token
    for (size_t i = 0; i <= last; ++i) {
      if (holder.emplace(input[i][0], input[i]).first->second != input[i] &&
          name_ == "retrieval-clean")
        throw Rejected("a left letter stands in two tokens");
      if (input[i][1] <= '9') continue;
      Input wanted;  // the tokens with the letter that token i wants
      for (size_t j = 0; j <= i; ++j) {
        if (input[j][0] != input[i][1]) continue;
        wanted.push_back(input[j]);
        if (i == last) at = j;
      }
      if (wanted.empty()) throw Rejected("'" + input[i] + "' wants a letter that is not there");
      if (std::count(wanted.begin(), wanted.end(), wanted[0]) != static_cast<long>(wanted.size()))
        throw Rejected("'" + input[i] + "' wants a letter of two tokens");
    }
    return at;
  }
  if (query[0] != '?') throw Rejected("the last token is no query");
  size_t at = last;
  for (size_t i = 0; i < last; ++i) {
    if (input[i][0] == '?') throw Rejected("a query stands before the last position");
    if (!bindings_ || input[i][0] != query[1]) continue;
    if (name_ == "symbol" && at != last && input[at] != input[i])
      throw Rejected("the queried symbol has two attributes");
    at = i;
  }
  if (!bindings_) at = number(query.substr(1)) - 1;
  if (at >= last) throw Rejected("what is asked for is not there");
  return at;
}

}  // namespace

void check_contradiction(const json& fact) {
  check_keys(fact, {"kind", "head", "task", "rows"});
  const std::string head = get(fact, "head");
  const bool attention = head == "symbolic attention", decoder = head == "symbolic decoder",
             positional = head == "positional";
  if (!attention && !decoder && !positional) throw Malformed("head: no known kind of head");
  Task task(fact.at("task"));
  const auto rows = get<json::array_t>(fact, "rows");
  if (rows.empty()) throw Rejected("rows: none");

  std::map<std::string, mpq_class> sum;  // coefficients by unknown
  Input shared;                          // the query and, for a decoder, the bag
  for (size_t i = 0; i < rows.size(); ++i) {
    within("rows[" + std::to_string(i) + "]", [&] {
      check_keys(rows[i], {"input", "rival", "times"});
      const Input input = get<Texts>(rows[i], "input");
      const std::string rival = get(rows[i], "rival");
      const mpq_class times = number(rows[i], "times");
      if (times <= 0) throw Rejected("times is not positive");
      const std::string key = input[task.right_key(input)],
                        right = attention ? key : task.answer(key);
      Input seen(input.rbegin(), decoder ? input.rend() : input.rbegin() + 1);
      std::sort(seen.begin() + 1, seen.end());
      if (i == 0) shared = seen;
      if (seen != shared) throw Rejected("another query or bag");
      if (!attention)
        task.check_answer(rival, key);
      else if (std::find(input.begin(), input.end(), rival) == input.end())
        throw Rejected("rival: no token of the input");
      if (rival == right) throw Rejected("rival: it is the right one");
      if (!positional) {
        sum[right] += times;
        sum[rival] -= times;
      }
      for (size_t j = 0; positional && j < input.size(); ++j) {
        if (task.answer(input[j]) == right) sum[std::to_string(j + 1)] += times;
        if (task.answer(input[j]) == rival) sum[std::to_string(j + 1)] -= times;
      }
    });
  }
  for (const auto& [unknown, x] : sum)
    if (positional ? x > 0 : x != 0) throw Rejected("rows: the sum does not cancel at " + unknown);
}

}  // namespace checker
