#include "checkpoints/crosscheck.hpp"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <mutex>

#include "theory/error.hpp"

namespace ropewalk::checkpoints {

using Eigen::Index;
using proofs_numeric::optimal_head;
using proofs_numeric::two_sided_reach;
using theory::Formula;

namespace {

// Pairs of query and key that a fit uses; queries beyond are left out, evenly.
constexpr std::int64_t most_pairs = std::int64_t{1} << 15;
// Lags that a head without known targets may look back.
constexpr std::int64_t longest_lag = 256;
// What rounding in the norms and in the margins may take from a bound.
constexpr double slack = 1e-9;

double upper(const theory::Enclosure& x) {
  return std::nextafter(x.hi.convert_to<double>(), std::numeric_limits<double>::infinity());
}

// What one query says of the bounds.
struct Held {
  double margin = 0;
  std::int64_t reach = 0;  // 0: without a bound for equal keys
  double query = 0;        // norms, over rotating planes
  double key = 0;          // the largest
  double universal = 0;
};

Held hold(const MeasuredHead& head, const Asked& a, double margin) {
  const PlaneRows& keys = head.inputs[a.input].planes;
  const auto those = keys.middleRows(a.first, a.keys());
  Held held;
  held.margin = margin;
  // The bound compares the target with every other key.
  if (a.correct.size() == 1 && a.lag() >= 1 && a.lag() <= a.keys() - 2)
    held.reach = static_cast<std::int64_t>(two_sided_reach(a.keys(), a.lag()));
  held.query = a.planes.head(head.rotating).norm();
  held.key = those.leftCols(head.rotating).rowwise().norm().maxCoeff();
  held.universal = 2 * head.scale * a.planes.norm() * those.rowwise().norm().maxCoeff();
  return held;
}

MarginRow row_of(const std::vector<Held>& held, const MeasuredHead& head, const IndexFit& fit,
                 const BestHeads& best) {
  MarginRow row;
  row.queries = held.size();
  row.least = std::numeric_limits<double>::infinity();
  double query = 0;
  double key = 0;
  for (const Held& h : held) {
    row.mean += h.margin / static_cast<double>(held.size());
    row.least = std::min(row.least, h.margin);
    row.right += h.margin > 0 ? 1 : 0;
    if (h.universal > 0)
      row.universal_share = std::max(row.universal_share, h.margin / h.universal);
    query = std::max(query, h.query);
    key = std::max(key, h.key);
  }
  std::map<std::int64_t, ReachRow> by_reach;
  for (const Held& h : held) {
    if (h.reach == 0) continue;
    ReachRow& r = by_reach[h.reach];
    if (r.queries == 0) {
      r.reach = h.reach;
      r.best = best(h.reach);
      r.bound = head.scale * query * key * upper(r.best) * (1 + slack);
      r.largest = h.margin;
    }
    ++r.queries;
    r.mean += h.margin;
    r.largest = std::max(r.largest, h.margin);
    r.above += h.margin > r.bound ? 1 : 0;
  }
  double margins = 0;
  double bounds = 0;
  double amplitudes = 0;
  for (const IndexPlane& plane : fit.planes) amplitudes += plane.amplitude;
  for (auto& [reach, r] : by_reach) {
    r.fitted = two_sided_margin(head, fit, reach);
    if (const double most = amplitudes * upper(r.best); r.fitted > 0 && most > 0)
      r.fitted_efficiency = r.fitted / most;
    margins += r.mean;
    bounds += r.bound * static_cast<double>(r.queries);
    r.mean /= static_cast<double>(r.queries);
    row.reaches.push_back(r);
  }
  if (margins > 0 && bounds > 0) row.efficiency = margins / bounds;
  return row;
}

// The queries of group 0, as many as the fits take.
MeasuredHead to_fit(const MeasuredHead& head) {
  MeasuredHead chosen = head;
  std::erase_if(chosen.asked,
                [&](const Asked& a) { return a.keys() < 2 || head.inputs[a.input].group != 0; });
  std::int64_t pairs = 0;
  for (const Asked& a : chosen.asked) pairs += a.keys();
  if (pairs <= most_pairs) return chosen;
  const auto count = static_cast<std::int64_t>(chosen.asked.size());
  const std::int64_t keep = std::max<std::int64_t>(1, count * most_pairs / pairs);
  std::vector<Asked> some;
  for (std::int64_t i = 0; i < keep; ++i)
    some.push_back(chosen.asked[static_cast<std::size_t>(i * count / keep)]);
  chosen.asked = std::move(some);
  return chosen;
}

HeadKind kind_of(const HeadCheck& check) {
  const bool retrieves =
      check.retrieval.explained >= explains_enough && check.retrieval.code_margin.value_or(0) > 0;
  const bool counts = check.index.explained >= explains_enough && check.index.peak == 0;
  if (counts && !(retrieves && check.retrieval.explained > check.index.explained))
    return HeadKind::index;
  return retrieves ? HeadKind::retrieval : HeadKind::neither;
}

}  // namespace

const char* name(HeadKind kind) {
  switch (kind) {
    case HeadKind::index: return "Index";
    case HeadKind::retrieval: return "Retrieval";
    case HeadKind::neither: break;
  }
  return "neither";
}

BestHeads best_heads(std::vector<Formula> frequencies) {
  struct Known {
    std::vector<Formula> frequencies;
    std::mutex one_at_a_time;
    std::map<std::int64_t, theory::Enclosure> by_reach;
  };
  const auto known = std::make_shared<Known>();
  known->frequencies = std::move(frequencies);
  return [known](std::int64_t reach) {
    const std::scoped_lock lock(known->one_at_a_time);
    const auto there = known->by_reach.find(reach);
    if (there != known->by_reach.end()) return there->second;
    // While it works in parallel this thread may not pick up another head, which would lock again.
    const theory::Enclosure optimum = tbb::this_task_arena::isolate(
        [&] { return optimal_head(known->frequencies, reach).optimum; });
    return known->by_reach.emplace(reach, optimum).first->second;
  };
}

HeadCheck cross_check(const MeasuredHead& head, const BestHeads& best) {
  const MeasuredHead fitted = to_fit(head);
  HeadCheck check;
  check.queries = fitted.asked.size();
  check.index = fit_index(fitted);
  check.retrieval = fit_retrieval(fitted);
  check.still = still_share(fitted);
  check.kind = kind_of(check);
  std::map<int, std::vector<Held>> groups;
  std::map<int, Index> lengths;
  for (const Asked& a : head.asked)
    if (const auto m = margin(head, a)) {
      const HeadKeys& input = head.inputs[a.input];
      groups[input.group].push_back(hold(head, a, *m));
      lengths[input.group] = std::max(lengths[input.group], input.planes.rows());
    }
  for (const auto& [group, held] : groups) {
    MarginRow row = row_of(held, head, check.index, best);
    row.length = lengths[group];
    for (const ReachRow& r : row.reaches)
      check.content_dependent_keys = check.content_dependent_keys || r.above > 0;
    check.margins.push_back(std::move(row));
  }
  return check;
}

// ---- heads of a model
// ----------------------------------------------------------------------------

CheckInput check_input(const tasks::Task& task, tasks::Sample sample) {
  const tasks::Options& o = task.options();
  CheckInput input;
  const bool pairs = o.kind != tasks::Kind::number && o.kind != tasks::Kind::index;
  const std::int32_t leaves = o.letters * o.digits;
  for (const std::int32_t t : sample.tokens)
    input.symbols.push_back(!pairs        ? t
                            : t <= leaves ? (t - 1) / o.digits
                                          : (t - 1 - leaves) / o.letters);
  input.tokens = std::move(sample.tokens);
  input.path = std::move(sample.path);
  input.by_token = o.kind == tasks::Kind::letter || o.kind == tasks::Kind::retrieval;
  return input;
}

CheckInput check_input(Tokens tokens) {
  CheckInput input;
  input.symbols = tokens;
  input.tokens = std::move(tokens);
  return input;
}

namespace {

// What a layer showed on one input.
struct Seen {
  LogitRule rule;
  theory::Pairing pairing = theory::Pairing::unknown;
  double factor = 1;  // of the rotating planes: the attention factor
  Index planes = 0;
  Rows<double> q, k;
  // Per head: sums of the weight on the target and how many queries had it, by hops - 1 or by lag.
  std::vector<std::vector<double>> mass;
  std::vector<double> counts;
};

Seen seen_in(const Pass<double>& pass, const CheckInput& input) {
  Seen seen{pass.rule, pass.pairing, 1, pass.table.cosine.cols(), pass.q, pass.k, {}, {}};
  if (seen.planes > 0) seen.factor = pass.table.cosine(0, 0);
  const auto n = static_cast<std::int64_t>(input.tokens.size());
  const std::size_t choices = input.path.empty()
                                  ? static_cast<std::size_t>(std::min(n - 1, longest_lag) + 1)
                                  : input.path.size() - 1;
  seen.counts.assign(choices, 0);
  for (const Rows<double>& weights : pass.weights) {
    std::vector<double>& mass = seen.mass.emplace_back(choices, 0.0);
    for (std::size_t c = 0; c < choices; ++c) {
      double count = 0;
      if (input.path.empty()) {
        for (auto i = static_cast<std::int64_t>(c); i < n; ++i, ++count)
          mass[c] += weights(i, i - static_cast<std::int64_t>(c));
      } else {
        for (std::size_t i = 0; i + c + 1 < input.path.size(); ++i, ++count)
          mass[c] += weights(input.path[i], input.path[i + c + 1]);
      }
      seen.counts[c] = count;
    }
  }
  return seen;
}

// Features of a head as planes: those that rotate, then the others in pairs, as they stand.
PlaneRows planes_of(const Rows<double>& x, Index column, Index dim, const Seen& seen) {
  const Index still = (dim - 2 * seen.planes + 1) / 2;
  PlaneRows result = PlaneRows::Zero(x.rows(), seen.planes + still);
  const bool apart = seen.pairing == theory::Pairing::half_split;
  for (Index f = 0; f < seen.planes; ++f) {
    const Index one = column + (apart ? f : 2 * f);
    result.col(f).real() = seen.factor * x.col(one);
    result.col(f).imag() = seen.factor * x.col(apart ? one + seen.planes : one + 1);
  }
  for (Index i = 2 * seen.planes; i < dim; ++i) {
    const Index f = seen.planes + (i - 2 * seen.planes) / 2;
    if (i % 2 == 0)
      result.col(f).real() = x.col(column + i);
    else
      result.col(f).imag() = x.col(column + i);
  }
  return result;
}

// The number of hops, less one, or the lag with the largest mean weight.
struct Choice {
  std::size_t index = 0;
  double mass = 0;
};

Choice choice_of(std::span<const Seen> seen, std::span<const CheckInput> inputs, std::size_t head) {
  std::vector<double> mass;
  std::vector<double> counts;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (inputs[i].group != 0) continue;
    const Seen& one = seen[i];
    mass.resize(std::max(mass.size(), one.counts.size()));
    counts.resize(mass.size());
    for (std::size_t c = 0; c < one.counts.size(); ++c) {
      mass[c] += one.mass[head][c];
      counts[c] += one.counts[c];
    }
  }
  // What few queries have is no habit.
  const double enough = counts.empty() ? 0 : counts.front() / 10;
  Choice best;
  for (std::size_t c = 0; c < mass.size(); ++c)
    if (counts[c] > enough && mass[c] / counts[c] > best.mass) best = {c, mass[c] / counts[c]};
  return best;
}

void ask(MeasuredHead& head, const PlaneRows& queries, const CheckInput& input, std::size_t number,
         const LogitRule& rule, std::int64_t position, std::int64_t target) {
  Asked a;
  a.input = number;
  a.position = position;
  a.first = rule.window ? std::max<std::int64_t>(0, position - *rule.window + 1) : 0;
  a.target = target;
  if (target < a.first || a.keys() < 2) return;
  const auto at = [](const std::vector<std::int32_t>& list, std::int64_t i) {
    return list[static_cast<std::size_t>(i)];
  };
  a.wanted = at(input.symbols, input.path.empty() ? position : target);
  for (std::int64_t j = a.first; j <= position; ++j)
    if (j == target || (input.by_token && at(input.tokens, j) == at(input.tokens, target)))
      a.correct.push_back(j);
  a.planes = queries.row(position);
  head.asked.push_back(std::move(a));
}

HeadCheck check_head(std::span<const Seen> seen, std::span<const CheckInput> inputs, Index head,
                     Index dim, const std::vector<double>& frequencies, const BestHeads& best) {
  const Choice choice = choice_of(seen, inputs, static_cast<std::size_t>(head));
  const Index shared_by = seen.front().q.cols() / seen.front().k.cols();
  MeasuredHead measured;
  measured.frequencies = frequencies;
  measured.rotating = seen.front().planes;
  measured.scale = seen.front().rule.scale;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const CheckInput& input = inputs[i];
    measured.inputs.push_back(
        {planes_of(seen[i].k, head / shared_by * dim, dim, seen[i]), input.symbols, input.group});
    const PlaneRows queries = planes_of(seen[i].q, head * dim, dim, seen[i]);
    if (input.path.empty()) {
      const auto lag = static_cast<std::int64_t>(choice.index);
      for (auto p = lag; p < static_cast<std::int64_t>(input.tokens.size()); ++p)
        ask(measured, queries, input, i, seen[i].rule, p, p - lag);
    } else {
      for (std::size_t p = 0; p + choice.index + 1 < input.path.size(); ++p)
        ask(measured, queries, input, i, seen[i].rule, input.path[p],
            input.path[p + choice.index + 1]);
    }
  }
  measured.frequencies.resize(static_cast<std::size_t>(measured.inputs.front().planes.cols()), 0);
  HeadCheck check = cross_check(measured, best);
  check.head = static_cast<std::size_t>(head);
  check.target_mass = choice.mass;
  if (inputs.front().path.empty())
    check.lag = static_cast<std::int64_t>(choice.index);
  else
    check.hops = static_cast<int>(choice.index) + 1;
  return check;
}

std::vector<double> doubles(const std::vector<Formula>& frequencies) {
  std::vector<double> result;
  for (const Formula& f : frequencies) result.push_back(f.as<double>());
  return result;
}

}  // namespace

std::vector<HeadCheck> cross_check(const Model& model, std::span<const CheckInput> inputs,
                                   const CheckOptions& options) {
  if (inputs.empty()) throw Error(ErrorCode::bad_value, "no inputs");
  std::vector<Tokens> tokens;
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  std::int64_t longest = 0;
  for (const CheckInput& input : inputs) {
    if (input.path.empty() != inputs.front().path.empty())
      throw Error(ErrorCode::bad_value, "some inputs have a path and others have none");
    tokens.push_back(input.tokens);
    shortest = std::min(shortest, static_cast<std::int64_t>(input.tokens.size()));
    longest = std::max(longest, static_cast<std::int64_t>(input.tokens.size()));
  }
  if (longest < 2) throw Error(ErrorCode::bad_value, "no input has two tokens");

  const auto heads = static_cast<std::size_t>(model.heads);
  const std::size_t first_head = options.head.value_or(0);
  const std::size_t end_head = options.head ? first_head + 1 : heads;
  std::map<std::vector<double>, BestHeads> tables;
  std::vector<HeadCheck> checks;
  std::vector<Seen> seen(inputs.size());
  std::atomic<std::size_t> left = inputs.size();

  ForwardOptions pass_options;
  pass_options.progress = options.progress;
  (void)forward<double>(model, tokens, pass_options, [&](const Pass<double>& pass) {
    if (options.layer && pass.layer != *options.layer) return;
    seen[pass.input] = seen_in(pass, inputs[pass.input]);
    if (left.fetch_sub(1) > 1) return;
    // The layer's last input: one layer's queries and keys are kept at a time.
    left = inputs.size();
    const std::vector<Formula> table = model.rope(pass.layer, longest).schedule.frequencies;
    const std::vector<double> frequencies = doubles(table);
    if (doubles(model.rope(pass.layer, shortest).schedule.frequencies) != frequencies)
      throw Error(ErrorCode::unsupported,
                  model.checkpoint->path +
                      ": the rotary table depends on the length; give inputs of one length");
    BestHeads& best = tables[frequencies];
    if (!best) best = best_heads(table);
    std::vector<HeadCheck> layer(end_head - first_head);
    tbb::parallel_for(first_head, end_head, [&](std::size_t h) {
      HeadCheck& check = layer[h - first_head];
      check = check_head(seen, inputs, static_cast<Index>(h), pass.head_dim, frequencies, best);
      check.layer = pass.layer;
    });
    for (HeadCheck& check : layer) checks.push_back(std::move(check));
  });
  return checks;
}

}  // namespace ropewalk::checkpoints
