#include "constructions/canonical.hpp"

namespace ropewalk::constructions {

void BindingAlphabet::check() const {
  if (symbols < 1 || attributes < 1)
    throw Error(ErrorCode::bad_value, "a binding alphabet needs a symbol and an attribute");
}

namespace {
// The attributes bound to the queried symbol, in order; empty for inputs of another form.
std::vector<Token> bound_attributes(const BindingAlphabet& alphabet, const Sequence& tokens) {
  alphabet.check();
  std::vector<Token> result;
  if (tokens.empty() || !alphabet.is_query(tokens.back())) return result;
  for (std::size_t j = 0; j < tokens.size(); ++j) {
    if (tokens[j] < 0 || tokens[j] >= alphabet.size())
      throw Error(ErrorCode::bad_value, "token " + std::to_string(tokens[j]) + " at position " +
                                            std::to_string(j) + " is not in the alphabet");
    if (j + 1 == tokens.size()) break;
    if (alphabet.is_query(tokens[j])) return {};
    if (alphabet.symbol(tokens[j]) == alphabet.symbol(tokens.back()))
      result.push_back(alphabet.attribute(tokens[j]));
  }
  return result;
}
}  // namespace

std::optional<Token> symbolic_function(const BindingAlphabet& alphabet, const Sequence& tokens) {
  const auto bound = bound_attributes(alphabet, tokens);
  if (bound.empty()) return std::nullopt;
  for (const Token a : bound)
    if (a != bound.front()) return std::nullopt;
  return bound.front();
}

std::optional<Token> mixed_function(const BindingAlphabet& alphabet, const Sequence& tokens) {
  const auto bound = bound_attributes(alphabet, tokens);
  if (bound.empty()) return std::nullopt;
  return bound.back();
}

}  // namespace ropewalk::constructions
