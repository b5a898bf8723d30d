#include "constructions/index.hpp"

namespace ropewalk::constructions {

void IndexAlphabet::check() const {
  if (letters < 1 || integers < 0)
    throw Error(ErrorCode::bad_value,
                "an Index alphabet needs a letter and a count of integers >= 0");
}

namespace {
bool reaches_inside(const IndexAlphabet& alphabet, const Sequence& tokens, std::size_t i) {
  return tokens[i] >= 0 && tokens[i] < alphabet.size() &&
         alphabet.offset(tokens[i]) <= static_cast<Token>(i);
}

std::size_t target(const IndexAlphabet& alphabet, const Sequence& tokens, std::size_t i) {
  if (i >= tokens.size() || !reaches_inside(alphabet, tokens, i))
    throw Error(ErrorCode::bad_value, "no Index input: position " + std::to_string(i) +
                                          " is missing, unknown or reaches out of the input");
  return i - static_cast<std::size_t>(alphabet.offset(tokens[i]));
}
}  // namespace

bool is_index_input(const IndexAlphabet& alphabet, const Sequence& tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (!reaches_inside(alphabet, tokens, i)) return false;
  return true;
}

Sequence index_function(const IndexAlphabet& alphabet, const Sequence& tokens) {
  Sequence result;
  result.reserve(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token found = tokens[target(alphabet, tokens, i)];
    result.push_back(alphabet.is_letter(found) ? found : tokens[i]);
  }
  return result;
}

std::vector<bool> index_correct_keys(const IndexAlphabet& alphabet, const Sequence& tokens,
                                     std::size_t i) {
  std::vector<bool> marks(i + 1, false);
  marks[target(alphabet, tokens, i)] = true;
  return marks;
}

namespace detail {
void check_amplitudes(const std::vector<Formula>& frequencies,
                      const std::vector<Rational>& amplitudes) {
  if (frequencies.empty() || frequencies.size() != amplitudes.size())
    throw Error(ErrorCode::bad_value, std::to_string(amplitudes.size()) + " amplitudes for " +
                                          std::to_string(frequencies.size()) + " planes");
  for (const Rational& a : amplitudes)
    if (a < 0) throw Error(ErrorCode::bad_value, "amplitude " + a.str() + " is negative");
}
}  // namespace detail

}  // namespace ropewalk::constructions
