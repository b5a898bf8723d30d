#pragma once
/// \file
/// What the tests of small worlds share.

#include "constructions/readings.hpp"
#include "tests/theory/support.hpp"

namespace ropewalk::tests {

using constructions::every_sequence;
using constructions::Sequence;
using constructions::Token;

inline std::string shown(const Sequence& tokens) {
  std::string text;
  for (const Token t : tokens) text += std::to_string(t) + " ";
  return text;
}

}  // namespace ropewalk::tests
