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

const std::string pair = "[A-Z]([A-Z]|[1-9][0-9]{0,3})", binding = "[A-Z]:[a-z]|[?][A-Z]";
// The tokens of each task.
const std::map<std::string, std::string> forms = {{"index", "[a-z]|[1-9][0-9]{0,3}"},
                                                  {"position", "[a-z]|[?][1-9][0-9]{0,3}"},
                                                  {"retrieval-proper", pair},
                                                  {"retrieval-clean", pair},
                                                  {"symbol", binding},
                                                  {"mixed", binding}};

class Task {
 public:
  explicit Task(const json& o) : name_(get(o, "name")) {
    check_keys(o, {"name", "length", "letters", "others"});
    if (forms.count(name_) == 0) throw Malformed("name: no known task");
    form_ = forms.at(name_);
    bindings_ = forms.at(name_) == binding;
    pairs_ = forms.at(name_) == pair;
    length_ = integer(o.at("length"));
    letters_ = integer(o.at("letters"));
    others_ = integer(o.at("others"));
  }
  /// The answer that a token stands for, "" for none.
  std::string answer(const std::string& token) const {
    return token[0] == '?' ? "" : token.substr(bindings_ ? 2 : 0);
  }
  /// Rejected unless it is an answer that the task can have, as the answer of the token `key` is.
  void check_answer(const std::string& name, const std::string& key) {
    check_token(bindings_ ? key.substr(0, 2) + name : name);
    if (name[0] == '?') throw Rejected("'" + name + "' is no answer");
  }
  /// The position (from 0) of the right key. Rejected unless the input is one of the task.
  size_t right_key(const Texts& input) {
    if (input.empty() || input.size() != length_)
      throw Rejected("the input has not the length of the task");
    for (const std::string& token : input) check_token(token);
    return name_ == "index" ? index(input) : pairs_ ? retrieval(input) : lookup(input);
  }

 private:
  void check_token(const std::string& token) {
    const size_t digits = token.find_first_of("123456789");
    if (token.size() > 5 || !std::regex_match(token, form_) ||
        (digits != std::string::npos && mpz_class(token.substr(digits)) > others_))
      throw Rejected("'" + token + "' is no token of the task");
    for (const char c : token) {
      if (c >= 'A' && c <= 'Z') large_.insert(c);
      if (c >= 'a' && c <= 'z') small_.insert(c);
    }
    // Alphabets have a size, not an order.
    if ((bindings_ || pairs_ ? large_ : small_).size() > letters_)
      throw Rejected("more letters than the task has");
    if (bindings_ && small_.size() > others_) throw Rejected("more attributes than the task has");
  }

  static size_t index(const Texts& input) {
    const size_t last = input.size() - 1;
    const auto integer = [&](size_t i) { return input[i][0] <= '9'; };
    for (size_t i = 0; i <= last; ++i)
      if (integer(i) && std::stoul(input[i]) > i)
        throw Rejected("'" + input[i] + "' reaches back beyond the input");
    const size_t there = integer(last) ? last - std::stoul(input[last]) : last;
    return integer(there) ? last : there;
  }
  size_t retrieval(const Texts& input) const {
    size_t at = input.size() - 1;
    std::map<char, std::string> holder;  // of each left letter so far, its token
    for (size_t i = 0; i < input.size(); ++i) {
      if (holder.emplace(input[i][0], input[i]).first->second != input[i] &&
          name_ == "retrieval-clean")
        throw Rejected("a left letter stands in two tokens");
      if (input[i][1] <= '9') continue;
      std::set<std::string> wanted;  // the tokens with the letter that token i wants
      for (size_t j = 0; j <= i; ++j) {
        if (input[j][0] != input[i][1]) continue;
        wanted.insert(input[j]);
        if (i + 1 == input.size()) at = j;
      }
      if (wanted.empty()) throw Rejected("'" + input[i] + "' wants a letter that is not there");
      if (wanted.size() > 1) throw Rejected("'" + input[i] + "' wants a letter of two tokens");
    }
    return at;
  }
  size_t lookup(const Texts& input) const {
    const size_t last = input.size() - 1;
    if (input[last][0] != '?') throw Rejected("the last token is no query");
    size_t at = bindings_ ? last : std::stoul(input[last].substr(1)) - 1;
    for (size_t i = 0; i < last; ++i) {
      if (input[i][0] == '?') throw Rejected("a query stands before the last position");
      if (!bindings_ || input[i][0] != input[last][1]) continue;
      if (name_ == "symbol" && at != last && input[at] != input[i])
        throw Rejected("the queried symbol has two attributes");
      at = i;
    }
    if (at >= last) throw Rejected("what is asked for is not there");
    return at;
  }

  std::string name_;
  bool bindings_ = false, pairs_ = false;
  std::regex form_;
  mpz_class length_, letters_, others_;
  std::set<char> large_, small_;  // letters in use, over all rows
};

}  // namespace

void check_contradiction(const json& fact) {
  const std::string head = get(fact, "head");
  const bool attention = head == "symbolic attention", decoder = head == "symbolic decoder",
             positional = head == "positional";
  if (!attention && !decoder && !positional) throw Malformed("head: no known kind of head");
  Task task(fact.at("task"));
  const auto rows = get<json::array_t>(fact, "rows");
  if (rows.empty()) throw Rejected("rows: none");

  std::map<std::string, mpq_class> sum;  // coefficients by unknown
  Texts shared;                          // the query and, for a decoder, the bag
  for (size_t i = 0; i < rows.size(); ++i) {
    within("rows[" + std::to_string(i) + "]", [&] {
      check_keys(rows[i], {"input", "rival", "times"});
      const auto input = get<Texts>(rows[i], "input");
      const std::string rival = get(rows[i], "rival");
      const mpq_class times = number(rows[i], "times");
      if (times <= 0) throw Rejected("times is not positive");
      const std::string& key = input[task.right_key(input)];
      const std::string right = attention ? key : task.answer(key);
      Texts seen(input.rbegin(), decoder ? input.rend() : input.rbegin() + 1);
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
