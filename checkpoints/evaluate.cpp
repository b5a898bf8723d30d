#include "checkpoints/evaluate.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "theory/error.hpp"

namespace ropewalk::checkpoints {

using Eigen::Index;

namespace {

// Weights of the last query of a head on all positions.
Eigen::RowVectorXf last_weights(const Pass<float>& pass, Index head) {
  const Index dim = pass.head_dim;
  const Index key = head / (pass.q.cols() / pass.k.cols()) * dim;
  const Index last = pass.q.rows() - 1;
  const Index first = pass.rule.window ? std::max<Index>(0, last - *pass.rule.window + 1) : 0;
  Eigen::RowVectorXf row = pass.rotated_q.row(last).segment(head * dim, dim) *
                           pass.rotated_k.middleCols(key, dim).transpose();
  row *= static_cast<float>(pass.rule.scale);
  if (pass.rule.softcap) {
    const auto cap = static_cast<float>(*pass.rule.softcap);
    row.array() = cap * (row.array() / cap).tanh();
  }
  row.head(first).setConstant(-std::numeric_limits<float>::infinity());
  row.array() = (row.array() - row.maxCoeff()).exp();
  return row / row.sum();
}

// What one input showed.
struct Seen {
  int hops = 0;
  bool right = false;
  double gap = 0;
  std::vector<std::vector<double>> mass;  // layer x path position, the largest over the heads
};

Seen judge(const Rows<float>& logits, std::int32_t answer) {
  Seen seen;
  const float own = logits(0, answer);
  Eigen::RowVectorXf others = logits.row(0);
  others(answer) = -std::numeric_limits<float>::infinity();
  seen.gap = static_cast<double>(own) - static_cast<double>(others.maxCoeff());
  seen.right = seen.gap > 0;
  return seen;
}

// Means over the inputs of one row.
TaskRow row_of(std::span<const Seen> seen, std::optional<int> hops) {
  TaskRow row;
  row.hops = hops;
  row.min_gap = std::numeric_limits<double>::infinity();
  for (const Seen& one : seen) {
    if (hops && one.hops != *hops) continue;
    ++row.tally.samples;
    row.tally.right += one.right ? 1 : 0;
    // A gap that is not a number (NaN weights) is no gap.
    if (!(one.gap >= row.min_gap)) row.min_gap = one.gap;
    row.target_mass.resize(one.mass.size());
    if (hops) row.path_mass.resize(one.mass.size());
    for (std::size_t l = 0; l < one.mass.size(); ++l) {
      const std::vector<double>& mass = one.mass[l];
      row.target_mass[l] += mass[std::min(l + 1, mass.size() - 1)];
      if (!hops) continue;
      row.path_mass[l].resize(mass.size());
      for (std::size_t p = 0; p < mass.size(); ++p) row.path_mass[l][p] += mass[p];
    }
  }
  const auto count = static_cast<double>(row.tally.samples);
  for (double& mass : row.target_mass) mass /= count;
  for (std::vector<double>& layer : row.path_mass)
    for (double& mass : layer) mass /= count;
  return row;
}

}  // namespace

std::vector<TaskRow> evaluate(const Model& model, const tasks::Options& wanted,
                              const EvaluateOptions& options) {
  std::vector<TaskRow> rows;
  double done = 0;
  for (const std::int64_t added : options.added) {
    tasks::Options with = wanted;
    with.added = added;
    const tasks::Task task(with);
    if (task.vocabulary() > model.vocabulary)
      throw Error(ErrorCode::bad_value,
                  model.checkpoint->path + ": a vocabulary of " + std::to_string(model.vocabulary) +
                      " does not hold the task's " + std::to_string(task.vocabulary()) + " tokens");
    std::vector<Seen> seen(static_cast<std::size_t>(with.count));

    constexpr std::int64_t room = std::int64_t{1} << 28;
    const std::int64_t one = task.length() * (model.hidden + 3 * model.heads * model.head_dim) * 8;
    const auto part = static_cast<std::size_t>(std::clamp<std::int64_t>(room / one, 1, 4096));
    for (std::size_t first = 0; first < seen.size(); first += part) {
      const std::size_t count = std::min(part, seen.size() - first);
      std::vector<tasks::Sample> samples;
      std::vector<Tokens> inputs;
      std::vector<std::vector<std::vector<double>>> mass(count);
      for (std::size_t i = 0; i < count; ++i) {
        samples.push_back(task.sample(static_cast<std::int64_t>(first + i)));
        inputs.push_back(std::move(samples.back().tokens));
        mass[i].assign(model.layers.size(), std::vector<double>(samples.back().path.size(), 0.0));
      }
      ForwardOptions pass_options;
      pass_options.keep_attention = false;
      if (options.progress)
        pass_options.progress = [&](double share) {
          const double inputs_done =
              static_cast<double>(first) + share * static_cast<double>(count);
          options.progress((done + inputs_done / static_cast<double>(seen.size())) /
                           static_cast<double>(options.added.size()));
        };
      const auto logits = forward<float>(model, inputs, pass_options, [&](const Pass<float>& pass) {
        const auto& path = samples[pass.input].path;
        auto& here = mass[pass.input][pass.layer];
        for (Index h = 0; h < model.heads; ++h) {
          const Eigen::RowVectorXf weights = last_weights(pass, h);
          for (std::size_t p = 0; p < path.size(); ++p)
            here[p] = std::max(here[p], static_cast<double>(weights(path[p])));
        }
      });
      for (std::size_t i = 0; i < count; ++i) {
        seen[first + i] = judge(logits[i], samples[i].answer);
        seen[first + i].hops = samples[i].hops;
        seen[first + i].mass = std::move(mass[i]);
      }
    }

    const auto add = [&](std::optional<int> hops) {
      TaskRow row = row_of(seen, hops);
      if (row.tally.samples == 0) return;
      row.added = added;
      row.length = task.length();
      rows.push_back(std::move(row));
    };
    for (int hops = task.options().hops_min; hops <= task.options().hops_max; ++hops) add(hops);
    add(std::nullopt);
    done += 1;
  }
  return rows;
}

}  // namespace ropewalk::checkpoints
