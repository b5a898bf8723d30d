#include "checkpoints/evaluate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "checkpoints/constructed.hpp"
#include "theory/error.hpp"

namespace ropewalk::checkpoints {

using Eigen::Index;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// Weights of a head's query on the positions up to its own.
Eigen::RowVectorXf weights_of(const Pass<float>& pass, Index head, Index query) {
  const Index dim = pass.head_dim;
  const Index key = head / (pass.q.cols() / pass.k.cols()) * dim;
  const Index first = pass.rule.window ? std::max<Index>(0, query - *pass.rule.window + 1) : 0;
  Eigen::RowVectorXf row = pass.rotated_q.row(query).segment(head * dim, dim) *
                           pass.rotated_k.block(0, key, query + 1, dim).transpose();
  row *= static_cast<float>(pass.rule.scale);
  if (pass.rule.softcap) {
    const auto cap = static_cast<float>(*pass.rule.softcap);
    row.array() = cap * (row.array() / cap).tanh();
  }
  row.head(first).setConstant(-std::numeric_limits<float>::infinity());
  row.array() = (row.array() - row.maxCoeff()).exp();
  return row / row.sum();
}

// The smallest weight, over the queries on the way, on the position that is right in this layer
// (from 0); of the head in which it is largest.
double right_mass(const Pass<float>& pass, Rule rule, std::span<const std::int32_t> path) {
  const std::size_t leaf = path.size() - 1;
  const std::size_t queries = rule == Rule::lag ? path.size() : 1;
  double least = 1;
  for (std::size_t k = 0; k < queries; ++k) {
    const std::size_t hop = rule == Rule::lag ? k + 1 : pass.layer + 1;
    double most = 0;
    for (Index h = 0; h < pass.q.cols() / pass.head_dim; ++h)
      most = std::max(most,
                      static_cast<double>(weights_of(pass, h, path[k])(path[std::min(hop, leaf)])));
    least = std::min(least, most);
  }
  return least;
}

// What one input showed.
struct Seen {
  int hops = 0;
  bool right = false;
  double gap = 0;
  std::vector<std::vector<double>> mass;  // layer x path position, the largest over the heads
  std::vector<double> right_mass;         // by layer of the construction
};

void judge(Seen& seen, const Rows<float>& logits, std::int32_t answer) {
  const float own = logits(0, answer);
  Eigen::RowVectorXf others = logits.row(0);
  others(answer) = -std::numeric_limits<float>::infinity();
  seen.gap = static_cast<double>(own) - static_cast<double>(others.maxCoeff());
  if (logits.row(0).hasNaN()) seen.gap = std::numeric_limits<double>::quiet_NaN();
  seen.right = seen.gap > 0;
}

// Means and least values over the inputs of one row.
TaskRow row_of(std::span<const Seen> seen, std::optional<int> hops) {
  TaskRow row;
  row.hops = hops;
  row.min_gap = std::numeric_limits<double>::infinity();
  for (const Seen& one : seen) {
    if (hops && one.hops != *hops) continue;
    ++row.tally.samples;
    row.tally.right += one.right ? 1 : 0;
    // A gap that is not a number (NaN weights) is no gap.
    if (!(one.gap >= row.min_gap) && !std::isnan(row.min_gap)) row.min_gap = one.gap;
    row.right_mass.resize(one.right_mass.size(), 1);
    for (std::size_t l = 0; l < one.right_mass.size(); ++l)
      row.right_mass[l] = std::min(row.right_mass[l], one.right_mass[l]);
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

std::optional<Constructed> constructed_of(const Model& model) {
  const auto built = constructed(*model.checkpoint);
  if (built && built->hops > static_cast<std::int64_t>(model.layers.size()))
    throw Error(ErrorCode::bad_value, model.checkpoint->config_source + ": ropewalk.hops is " +
                                          std::to_string(built->hops) + ", and the model has " +
                                          std::to_string(model.layers.size()) + " layers");
  return built;
}

void check_fit(const Model& model, const std::optional<Constructed>& built,
               const tasks::Task& task) {
  if (task.vocabulary() > model.vocabulary)
    throw Error(ErrorCode::bad_value,
                model.checkpoint->path + ": a vocabulary of " + std::to_string(model.vocabulary) +
                    " does not hold the task's " + std::to_string(task.vocabulary()) + " tokens");
  if (built) check_task(*model.checkpoint, *built, task);
}

}  // namespace

std::vector<std::string> evaluate_warnings(const Model& model, const tasks::Options& wanted,
                                           const EvaluateOptions& options) {
  tasks::Options longest = wanted;
  for (const std::int64_t added : options.added) longest.added = std::max(longest.added, added);
  const tasks::Task task(longest);
  const std::string tokens = std::to_string(task.length()) + " tokens";
  const std::string source = model.checkpoint->config_source + ": ";

  const std::optional<Constructed> built = constructed_of(model);
  check_fit(model, built, task);
  std::vector<std::string> warnings;
  if (built) {
    if (built->length == 0)
      warnings.push_back(source + "ropewalk.length: the model is not proven at any length");
    else if (task.length() > built->length)
      warnings.push_back(source + "ropewalk.length: the model is proven for inputs of up to " +
                         std::to_string(built->length) + " tokens, not for " + tokens);
    if (task.options().hops_max > built->hops)
      warnings.push_back(source + "ropewalk.hops: the model is built for up to " +
                         std::to_string(built->hops) + ", and the task has inputs of " +
                         std::to_string(task.options().hops_max));
  }
  if (model.family == "gptj")
    for (const char* key : {"n_positions", "max_position_embeddings"})
      if (const auto at = model.checkpoint->config.find(key);
          at != model.checkpoint->config.end() && at->is_number_integer() && task.length() > *at)
        warnings.push_back(source + key + ": transformers has a table of " + at->dump() +
                           " positions for this model and refuses inputs of " + tokens);
  return warnings;
}

std::vector<TaskRow> evaluate(const Model& model, const tasks::Options& wanted,
                              const EvaluateOptions& options) {
  const std::optional<Constructed> built = constructed_of(model);
  const auto built_hops = static_cast<std::size_t>(built ? built->hops : 0);
  std::vector<bool> watched;
  for (const Layer& layer : model.layers)
    watched.push_back(watched.size() < built_hops || !adds_nothing(layer));

  std::vector<TaskRow> rows;
  double done = 0;
  for (const std::int64_t added : options.added) {
    tasks::Options with = wanted;
    with.added = added;
    const tasks::Task task(with);
    check_fit(model, built, task);
    std::vector<Seen> seen(static_cast<std::size_t>(with.count));

    constexpr std::int64_t room = std::int64_t{1} << 28;
    const std::int64_t one = task.length() * (model.hidden + 3 * model.heads * model.head_dim) * 8;
    const auto part = static_cast<std::size_t>(std::clamp<std::int64_t>(room / one, 1, 4096));
    for (std::size_t first = 0; first < seen.size(); first += part) {
      const std::size_t count = std::min(part, seen.size() - first);
      std::vector<tasks::Sample> samples;
      std::vector<Tokens> inputs;
      std::vector<Seen> here(count);
      for (std::size_t i = 0; i < count; ++i) {
        samples.push_back(task.sample(static_cast<std::int64_t>(first + i)));
        inputs.push_back(std::move(samples.back().tokens));
        for (const bool runs : watched)
          here[i].mass.emplace_back(samples.back().path.size(), runs ? 0.0 : not_a_number);
        here[i].right_mass.resize(built_hops);
      }
      ForwardOptions pass_options;
      pass_options.keep_attention = false;
      pass_options.watches = [&](std::size_t layer) { return watched[layer]; };
      if (options.progress)
        pass_options.progress = [&](double share) {
          const double inputs_done =
              static_cast<double>(first) + share * static_cast<double>(count);
          options.progress((done + inputs_done / static_cast<double>(seen.size())) /
                           static_cast<double>(options.added.size()));
        };
      const auto logits = forward<float>(model, inputs, pass_options, [&](const Pass<float>& pass) {
        const auto& path = samples[pass.input].path;
        Seen& of_input = here[pass.input];
        std::vector<double>& mass = of_input.mass[pass.layer];
        for (Index h = 0; h < model.heads; ++h) {
          const Eigen::RowVectorXf weights = weights_of(pass, h, path.front());
          for (std::size_t p = 0; p < path.size(); ++p)
            mass[p] = std::max(mass[p], static_cast<double>(weights(path[p])));
        }
        if (pass.layer < built_hops)
          of_input.right_mass[pass.layer] = right_mass(pass, built->rule, path);
      });
      for (std::size_t i = 0; i < count; ++i) {
        Seen& of_input = seen[first + i];
        of_input = std::move(here[i]);
        of_input.hops = samples[i].hops;
        judge(of_input, logits[i], samples[i].answer);
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
