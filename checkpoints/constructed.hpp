#pragma once
/// \file
/// What a constructed model says of itself, in its config.json:
///
///   "ropewalk": {"rule": "lag", "hops": "4", "letters": "120", "numbers": "16",
///                "length": "256", "arithmetic": "float32"}
///
/// Rule and claim are those of docs/proofs-weight-sets.md. Counts are texts, as in certificates.

#include <optional>
#include <string>

#include "checkpoints/checkpoint.hpp"
#include "constructions/vocabulary.hpp"
#include "tasks/task.hpp"

namespace ropewalk::checkpoints {

using constructions::Rule;

struct Constructed {
  Rule rule = Rule::lag;
  std::int64_t hops = 0;     ///< layers 1..hops do one each
  std::int64_t letters = 0;  ///< of the vocabulary
  std::int64_t numbers = 0;  ///< rule lag: integers 1..numbers; else digits
  std::int64_t length = 0;   ///< tokens; up to here the answers are proven; 0: nowhere
  std::string arithmetic;    ///< in which they are: "real" or "float32"
};

/// What stands under "ropewalk" in the config; nothing where the key is absent. Throws
/// Error(bad_value) for an entry that is missing or malformed, naming file and key.
[[nodiscard]] std::optional<Constructed> constructed(const Checkpoint& checkpoint);

/// The task of that kind as far as the model is built for it: its letters and numbers, no more hops
/// than it has, and a window that its integers fit in.
[[nodiscard]] tasks::Options fitted(const Constructed& model, tasks::Options options);

/// Throws Error(bad_value), naming file and key, where the model is built for other inputs than
/// those of the task: by another rule, or with tokens that have other ids.
void check_task(const Checkpoint& checkpoint, const Constructed& model, const tasks::Task& task);

}  // namespace ropewalk::checkpoints
