#pragma once
/// \file
/// Inputs as prompts for a language model: the rule in words, three worked examples, the input, and
/// one token to say.
///
/// One hop, tokens separated by spaces, the query last. Windows and seeds of P1's measurement:
/// prompt_windows, five seeds. Its wording is not published; this one is ours.

#include "tasks/task.hpp"

namespace ropewalk::tasks {

inline constexpr std::int32_t prompt_windows[] = {12, 16, 24, 32, 48, 64, 80, 100, 150, 200, 300};

/// Makes the prompts of one task.
class Prompter {
 public:
  /// Keeps a reference. Throws Error(bad_value) for a task of more than one hop, naming --hops.
  explicit Prompter(const Task& task);
  /// Instruction, the examples 0..2 of the task, the input of the sample and "Answer:". The same
  /// up to the input for all samples of a task.
  [[nodiscard]] std::string prompt(const Sample& sample) const;

 private:
  const Task& task_;
  std::string head_;
};

}  // namespace ropewalk::tasks
