#include "constructions/retrieval.hpp"

namespace ropewalk::constructions {

void RetrievalAlphabet::check() const {
  if (letters < 2 || integers < 0)
    throw Error(ErrorCode::bad_value,
                "a Retrieval alphabet needs 2 letters or more and a count of integers >= 0");
}

void RetrievalAlphabet::check(const Sequence& tokens) const {
  check();
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] < 0 || tokens[i] >= size())
      throw Error(ErrorCode::bad_value, "no Retrieval input: token " + std::to_string(tokens[i]) +
                                            " at position " + std::to_string(i) +
                                            " is not in the alphabet");
}

std::vector<std::optional<Token>> retrieval_function(const RetrievalAlphabet& alphabet,
                                                     const Sequence& tokens) {
  alphabet.check(tokens);
  struct Found {
    Token token = 0;
    int kinds = 0;  // 0 none, 1 one token, 2 several different ones
  };
  std::vector<Found> holder(static_cast<std::size_t>(alphabet.letters));
  std::vector<std::optional<Token>> result;
  result.reserve(tokens.size());
  for (const Token t : tokens) {
    Found& own = holder[static_cast<std::size_t>(alphabet.left(t))];
    if (own.kinds == 0)
      own = {t, 1};
    else if (own.token != t)
      own.kinds = 2;
    if (!alphabet.is_letter_letter(t)) {
      result.emplace_back(t);
      continue;
    }
    const Found& wanted = holder[static_cast<std::size_t>(alphabet.right(t))];
    result.push_back(wanted.kinds == 1 ? std::optional(wanted.token) : std::nullopt);
  }
  return result;
}

bool is_proper(const RetrievalAlphabet& alphabet, const Sequence& tokens) {
  for (const auto& t : retrieval_function(alphabet, tokens))
    if (!t) return false;
  return true;
}

bool is_clean(const RetrievalAlphabet& alphabet, const Sequence& tokens) {
  if (!is_proper(alphabet, tokens)) return false;
  std::vector<Token> holder(static_cast<std::size_t>(alphabet.letters), -1);
  for (const Token t : tokens) {
    Token& h = holder[static_cast<std::size_t>(alphabet.left(t))];
    if (h >= 0 && h != t) return false;
    h = t;
  }
  return true;
}

std::vector<bool> retrieval_correct_keys(const RetrievalAlphabet& alphabet, const Sequence& tokens,
                                         std::size_t i) {
  const auto answers = retrieval_function(alphabet, tokens);
  if (i >= answers.size() || !answers[i])
    throw Error(ErrorCode::bad_value, "Retrieval is not defined at position " + std::to_string(i));
  std::vector<bool> marks(i + 1, false);
  for (std::size_t j = 0; j <= i; ++j) marks[j] = tokens[j] == *answers[i];
  return marks;
}

}  // namespace ropewalk::constructions
