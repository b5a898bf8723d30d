#pragma once
/// \file
/// How well a model does a task: accuracy by hops and added tokens, how close the calls are, and
/// where the last token looks.

#include "checkpoints/forward.hpp"
#include "tasks/score.hpp"
#include "tasks/task.hpp"

namespace ropewalk::checkpoints {

struct TaskRow {
  std::int64_t added = 0;
  std::int64_t length = 0;
  std::optional<int> hops;  ///< absent: all of them together
  tasks::Tally tally;
  /// Smallest over the inputs of: logit of the answer minus the largest other logit. Negative where
  /// an answer was wrong.
  double min_gap = 0;
  /// By layer l, counted from 0: mean weight of the last query on the position that hop l + 1 leads
  /// to, on the leaf once there is no hop left; of the head in which it is largest. Not a number
  /// for a layer that adds nothing to the stream.
  std::vector<double> target_mass;
  /// By layer: the same on every position of the path, the query itself first. As many columns as
  /// the row has hops + 1; empty in the row of all hops.
  std::vector<std::vector<double>> path_mass;
  /// Of a constructed model (constructed.hpp), by layer 1..hops: smallest weight, over the inputs
  /// and the queries on the way, on the right position. Rule lag: every position of the path is
  /// such a query and looks at the next one, the leaf at itself; else the last token looks at the
  /// position to which as many hops lead as there are layers so far. Empty for other models.
  std::vector<double> right_mass;
};

struct EvaluateOptions {
  std::vector<std::int64_t> added = {0};
  std::function<void(double)> progress = {};
};

/// Runs samples 0 .. wanted.count-1 for each number of added tokens, in float, the answer being the
/// most probable next token; rows of each `added`: hops in order, then all. The rotary table grows
/// with the input.
/// Guarantee: Heuristic (float arithmetic; a sample's answer can change with the rounding where
/// min_gap is near 0). Cost: that of the forward pass; inputs are taken in parts that fit in about
/// 256 MiB. Layers that add nothing are not run, but for those of a constructed model's hops.
/// Throws Error(bad_value) where the task's token ids do not fit the model's vocabulary, and as
/// `forward`, `tasks::Task`, `constructed` and `check_task` do.
[[nodiscard]] std::vector<TaskRow> evaluate(const Model& model, const tasks::Options& wanted,
                                            const EvaluateOptions& options);

/// What to know of the answers before they are there, one line each: inputs longer than a
/// constructed model is proven for, or of more hops; inputs longer than the table that
/// transformers has for a GPT-J. Errors as of `evaluate`.
[[nodiscard]] std::vector<std::string> evaluate_warnings(const Model& model,
                                                         const tasks::Options& wanted,
                                                         const EvaluateOptions& options);

}  // namespace ropewalk::checkpoints
