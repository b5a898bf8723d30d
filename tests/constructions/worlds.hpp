#pragma once
/// \file
/// Small worlds in full: every sequence over a vocabulary up to a length.

#include "constructions/head.hpp"
#include "tests/theory/support.hpp"

namespace ropewalk::tests {

using constructions::Sequence;
using constructions::Token;

/// Calls f(sequence) for every sequence of `length` tokens that extends only prefixes with
/// keep(prefix).
template <class Keep, class F>
void every_sequence(Token vocabulary, std::size_t length, Keep&& keep, F&& f,
                    Sequence prefix = {}) {
  if (prefix.size() == length) {
    f(std::as_const(prefix));
    return;
  }
  prefix.push_back(0);
  for (Token t = 0; t < vocabulary; ++t) {
    prefix.back() = t;
    if (keep(std::as_const(prefix))) every_sequence(vocabulary, length, keep, f, prefix);
  }
}

inline std::string shown(const Sequence& tokens) {
  std::string text;
  for (const Token t : tokens) text += std::to_string(t) + " ";
  return text;
}

}  // namespace ropewalk::tests
