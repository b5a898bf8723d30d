#pragma once
/// \file
/// Samples as bytes: lines of JSON, and arrays for programs that train (safetensors, NumPy's .npy).
/// Nothing here opens a file: head, rows and tail are appended to whatever takes them.

#include "tasks/prompt.hpp"
#include "tasks/task.hpp"

namespace ropewalk::tasks {

/// One line, with its end: {"task", "seed", "sample", "hops", "length", "added", "tokens", "text",
/// "answer", "answer_text", "path"}, as of Sample and Task; `k` is the number of the sample.
[[nodiscard]] std::string json_line(const Task& task, std::int64_t k, const Sample& sample);
/// The same with "prompt" in place of "tokens", "text" and "path".
[[nodiscard]] std::string prompt_line(const Task& task, const Prompter& prompter, std::int64_t k,
                                      const Sample& sample);

/// Little-endian int32 arrays of samples first, first + 1, ..., which are added in order.
///
///   safetensors   tokens {count, length}, answer {count}, hops {count}, path {count, most hops +
///   1}
///                 padded with -1; the options as __metadata__
///   npy           one array {count, length + 1}: the tokens, then the answer
class Arrays {
 public:
  enum class Format { safetensors, npy };
  Arrays(const Task& task, Range samples, Format format);
  /// What comes before the first row.
  [[nodiscard]] std::string head() const;
  /// The row of the next sample.
  [[nodiscard]] std::string row(const Sample& sample);
  /// What comes after the last row. Memory: hops + 3 integers for every row so far.
  [[nodiscard]] std::string tail() const;

 private:
  const Task& task_;
  Range samples_;
  Format format_;
  std::vector<std::int32_t> answers_;
  std::vector<std::int32_t> hops_;
  std::vector<std::int32_t> paths_;
};

}  // namespace ropewalk::tasks
