#pragma once
/// \file
/// The tokens of the tasks as a construction sees them: what each wants, what its key shows, and
/// what a model of so many hops has to answer.

#include <Eigen/Core>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace ropewalk::constructions {

/// A token: its column in the embedding, 0..V-1. An answer: its row in the unembedding.
using Token = Eigen::Index;

/// Which keys a query wants: those at a lag, those that begin with a letter, the last of these.
enum class Rule { lag, token, last };
[[nodiscard]] std::string_view name(Rule rule);

/// The tokens of a task, numbered as in tasks/task.hpp; 0 is padding.
///   lag:         1..numbers the integers, then the letters
///   token, last: letter-digit pairs, then letter-letter pairs; `numbers` is the count of digits
struct Vocabulary {
  Rule rule = Rule::lag;
  Token letters = 0;
  Token numbers = 0;

  /// Throws Error(bad_value): lag wants 1..2^20 letters and numbers, the others 2..512 letters and
  /// 1..512 digits.
  void check() const;
  [[nodiscard]] Token size() const;
  /// A letter, or a pair of a letter and a digit: what a path ends at.
  [[nodiscard]] bool is_leaf(Token t) const;
  /// lag: how far the token looks back, 0 for a letter. Others: the letter that it wants.
  [[nodiscard]] Token wants(Token t) const;
  /// Number of different wants.
  [[nodiscard]] Token queries() const { return rule == Rule::lag ? numbers + 1 : letters; }
  /// The letter that the token's key shows; 0 for lag, where all keys are equal.
  [[nodiscard]] Token shows(Token t) const;
  [[nodiscard]] Token keys() const { return rule == Rule::lag ? 0 : letters; }
  /// The two symbols of a token. Pairs: left and right. Letters of lag: their two digits; whatever
  /// is no letter: the last symbol of both.
  [[nodiscard]] std::pair<Token, Token> symbols(Token t) const;
  /// Numbers of first and second symbols.
  [[nodiscard]] std::pair<Token, Token> symbol_counts() const;
  /// What a model of so many hops answers at position i of an input. Nothing where the input leaves
  /// it open: an integer that reaches out, a letter wanted that no key shows or (token) that
  /// different tokens show. Exact. Cost: O(hops i). Throws Error(bad_value) for a token outside
  /// 1..size-1 at 0..i.
  [[nodiscard]] std::optional<Token> answer(const std::vector<Token>& tokens, std::size_t i,
                                            int hops) const;
};

}  // namespace ropewalk::constructions
