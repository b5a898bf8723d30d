#include "constructions/vocabulary.hpp"

#include <string>

#include "theory/error.hpp"

namespace ropewalk::constructions {

namespace {

[[noreturn]] void bad(const std::string& message) { throw Error(ErrorCode::bad_value, message); }

// The smallest b with b * b >= letters: letters are numbered in two digits to this base.
Token digits_base(Token letters) {
  Token b = 1;
  while (b * b < letters) ++b;
  return b;
}

}  // namespace

std::string_view name(Rule rule) {
  switch (rule) {
    case Rule::lag: return "lag";
    case Rule::token: return "token";
    case Rule::last: return "last";
  }
  return "";
}

void Vocabulary::check() const {
  constexpr Token most = Token{1} << 20;
  constexpr Token most_pairs = 512;
  if (rule == Rule::lag && (letters < 1 || letters > most || numbers < 1 || numbers > most))
    bad("a vocabulary has 1 to " + std::to_string(most) + " letters and integers");
  if (rule != Rule::lag &&
      (letters < 2 || letters > most_pairs || numbers < 1 || numbers > most_pairs))
    bad("a vocabulary of pairs has 2 to " + std::to_string(most_pairs) + " letters and 1 to " +
        std::to_string(most_pairs) + " digits");
}

Token Vocabulary::size() const {
  return 1 + (rule == Rule::lag ? letters + numbers : letters * (letters + numbers));
}

bool Vocabulary::is_leaf(Token t) const {
  return rule == Rule::lag ? t > numbers : t <= letters * numbers;
}

Token Vocabulary::wants(Token t) const {
  if (rule == Rule::lag) return is_leaf(t) ? 0 : t;
  const auto [left, right] = symbols(t);
  return is_leaf(t) ? left : right;
}

Token Vocabulary::shows(Token t) const { return rule == Rule::lag ? 0 : symbols(t).first; }

std::pair<Token, Token> Vocabulary::symbols(Token t) const {
  if (rule == Rule::lag) {
    const Token b = digits_base(letters);
    if (!is_leaf(t)) return {b, b};
    const Token letter = t - numbers - 1;
    return {letter / b, letter % b};
  }
  if (is_leaf(t)) return {(t - 1) / numbers, letters + (t - 1) % numbers};
  const Token pair = t - letters * numbers - 1;
  return {pair / letters, pair % letters};
}

std::pair<Token, Token> Vocabulary::symbol_counts() const {
  if (rule == Rule::lag) return {digits_base(letters) + 1, digits_base(letters) + 1};
  return {letters, letters + numbers};
}

std::optional<Token> Vocabulary::answer(const std::vector<Token>& tokens, std::size_t i,
                                        int hops) const {
  if (i >= tokens.size()) bad("position " + std::to_string(i) + " lies beyond the input");
  for (std::size_t j = 0; j <= i; ++j)
    if (tokens[j] < 1 || tokens[j] >= size())
      bad("token " + std::to_string(tokens[j]) + " at position " + std::to_string(j) +
          " is not in the vocabulary");
  std::size_t at = i;
  for (int hop = 0; hop < hops; ++hop) {
    const Token wanted = wants(tokens[at]);
    if (rule == Rule::lag) {
      if (wanted > static_cast<Token>(at)) return std::nullopt;
      at -= static_cast<std::size_t>(wanted);
      continue;
    }
    std::optional<std::size_t> found;
    for (std::size_t j = 0; j <= i; ++j) {
      if (shows(tokens[j]) != wanted) continue;
      if (rule == Rule::token && found && tokens[*found] != tokens[j]) return std::nullopt;
      found = j;
    }
    if (!found) return std::nullopt;
    at = *found;
  }
  return rule == Rule::lag && !is_leaf(tokens[at]) ? tokens[i] : tokens[at];
}

}  // namespace ropewalk::constructions
