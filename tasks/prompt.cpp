#include "tasks/prompt.hpp"

#include "theory/error.hpp"

namespace ropewalk::tasks {

namespace {

std::string_view rule(Kind kind) {
  switch (kind) {
    case Kind::number:
    case Kind::index:
      return "The last token is an integer n. The answer is the token n places before it.";
    case Kind::mixed:
      return "The last token is a pair of letters. The answer is the last token before it that "
             "begins with the second letter of that pair.";
    default:
      return "The last token is a pair of letters. The answer is the token before it that begins "
             "with the second letter of that pair.";
  }
}

}  // namespace

Prompter::Prompter(const Task& task) : task_(task) {
  if (task.options().hops_max != 1)
    throw Error(ErrorCode::bad_value, "--hops: a prompt asks for one hop, not " +
                                          std::to_string(task.options().hops_max));
  head_ = "You are given a sequence of tokens separated by spaces. ";
  head_ += rule(task.options().kind);
  head_ += " Reply with that token and nothing else.\n\n";
  for (std::int64_t i = 0; i < 3; ++i) {
    const Sample example = task.example(i);
    head_ += "Sequence: " + task.text(example.tokens) + "\n";
    head_ += "Answer: " + task.token_text(example.answer) + "\n\n";
  }
}

std::string Prompter::prompt(const Sample& sample) const {
  return head_ + "Sequence: " + task_.text(sample.tokens) + "\nAnswer:";
}

}  // namespace ropewalk::tasks
