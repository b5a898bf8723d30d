#include "checkpoints/layout_evidence.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

#include "theory/error.hpp"

namespace ropewalk::checkpoints {

using Eigen::Index;
using theory::Pairing;

namespace {

using Pairs = std::vector<std::pair<Index, Index>>;

constexpr int random_pairings = 4;

// The pairings to try on a head of so many rotary rows: the two layouts, then random ones.
std::vector<Pairs> pairings(Index rotary) {
  const Index planes = rotary / 2;
  std::vector<Pairs> result(2);
  for (Index f = 0; f < planes; ++f) {
    result[0].emplace_back(2 * f, 2 * f + 1);
    result[1].emplace_back(f, f + planes);
  }
  std::mt19937 engine(1);
  for (int r = 0; r < random_pairings; ++r) {
    std::vector<Index> rows(static_cast<std::size_t>(rotary));
    std::iota(rows.begin(), rows.end(), 0);
    for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[engine() % i]);
    Pairs& pairs = result.emplace_back();
    for (std::size_t i = 0; i + 1 < rows.size(); i += 2) pairs.emplace_back(rows[i], rows[i + 1]);
  }
  return result;
}

// What multiplies the features of a norm.
Eigen::RowVectorXd gain(const Norm& norm, NormKind kind, Index size) {
  Eigen::RowVectorXd w = Eigen::RowVectorXd::Ones(size);
  if (norm) {
    read_rows(*norm.weight, 0, norm.weight->rows(), w.data());
    if (kind == NormKind::rms_one_plus) w.array() += 1;
  }
  return w;
}

// One head of a projection, acting on normalised features, and then normed by itself.
Rows<double> head_of(const Linear& linear, std::int64_t head, std::int64_t head_dim,
                     const Eigen::RowVectorXd& entering, const Eigen::RowVectorXd& own) {
  Rows<double> w(head_dim, entering.size());
  read_rows(linear, head * head_dim, head_dim, w.data());
  for (Index r = 0; r < w.rows(); ++r) w.row(r).array() *= entering.array() * own(r);
  return w;
}

// The share of the quarter turn in a 2 x 2 matrix; nothing for 0.
std::optional<double> share(double aa, double ab, double ba, double bb) {
  const double all = aa * aa + ab * ab + ba * ba + bb * bb;
  if (all == 0) return {};
  return (ba - ab) * (ba - ab) / (2 * all);
}

double loss_of(const Eigen::Ref<const Rows<float>>& logits, std::int32_t token) {
  const double top = logits.maxCoeff();
  return top + std::log((logits.array().cast<double>() - top).exp().sum()) -
         static_cast<double>(logits(0, token));
}

}  // namespace

Pairing PairShares::verdict() const {
  constexpr double least = 0.05;
  const double ahead =
      std::max(interleaved, half_split) - std::max(std::min(interleaved, half_split), random);
  if (!(ahead > least) || !(ahead > 5 * deviation)) return Pairing::unknown;
  return interleaved > half_split ? Pairing::interleaved : Pairing::half_split;
}

PairShares pair_shares(const Model& model) {
  const Index rotary = model.rope(0, 1).rotary_dim;
  const std::vector<Pairs> tried = pairings(rotary);
  struct Sums {
    std::array<double, 2 + random_pairings> share{};
    std::array<std::int64_t, 2 + random_pairings> count{};
    std::array<double, 2 + random_pairings> squares{};
  };
  const auto heads = static_cast<std::size_t>(model.heads);
  std::vector<Sums> sums(model.layers.size() * heads);
  tbb::parallel_for(std::size_t{0}, sums.size(), [&](std::size_t at) {
    const Layer& layer = model.layers[at / heads];
    const auto head = static_cast<std::int64_t>(at % heads);
    const auto entering = gain(layer.before_attention, model.norm, model.hidden);
    const auto q = head_of(layer.q, head, model.head_dim, entering,
                           gain(layer.q_norm, model.norm, model.head_dim));
    const auto k = head_of(layer.k, head / (model.heads / model.kv_heads), model.head_dim, entering,
                           gain(layer.k_norm, model.norm, model.head_dim));
    Sums& own = sums[at];
    for (std::size_t p = 0; p < tried.size(); ++p)
      for (const auto& [a, b] : tried[p])
        if (const auto s = share(q.row(a).dot(k.row(a)), q.row(a).dot(k.row(b)),
                                 q.row(b).dot(k.row(a)), q.row(b).dot(k.row(b)))) {
          own.share[p] += *s;
          own.squares[p] += *s * *s;
          ++own.count[p];
        }
  });
  Sums total;
  for (const Sums& own : sums) {
    for (std::size_t p = 0; p < tried.size(); ++p) {
      total.share[p] += own.share[p];
      total.squares[p] += own.squares[p];
      total.count[p] += own.count[p];
    }
  }
  const auto mean = [&](std::size_t p) {
    return total.count[p] == 0 ? 0 : total.share[p] / static_cast<double>(total.count[p]);
  };
  // The square of a mean's standard error.
  const auto variance = [&](std::size_t p) {
    if (total.count[p] == 0) return 0.0;
    const auto n = static_cast<double>(total.count[p]);
    return std::max(0.0, total.squares[p] / n - mean(p) * mean(p)) / n;
  };
  PairShares result;
  result.interleaved = mean(0);
  result.half_split = mean(1);
  for (std::size_t p = 2; p < tried.size(); ++p) result.random = std::max(result.random, mean(p));
  result.deviation = std::sqrt(variance(0) + variance(1));
  result.planes = total.count[0];
  return result;
}

Pairing RotationLosses::verdict() const {
  constexpr double least = 0.05;
  const double best = std::min(interleaved, half_split);
  if (!(gap > least) || !(gap > 4 * deviation) || !(best < none) || !(best < 0.8 * uniform))
    return Pairing::unknown;
  return interleaved < half_split ? Pairing::interleaved : Pairing::half_split;
}

RotationLosses rotation_losses(const Model& model, std::span<const Tokens> inputs,
                               std::span<const std::int32_t> answers,
                               const std::function<void(double)>& progress) {
  constexpr std::size_t most_numbers = std::size_t{1} << 26;  // of logits that are kept at a time
  const bool last_only = !answers.empty();
  constexpr std::array rotations{Rotation::interleaved, Rotation::half_split, Rotation::none};
  std::array<std::vector<double>, rotations.size()> losses;
  for (std::size_t r = 0; r < rotations.size(); ++r) {
    ForwardOptions options;
    options.rotation = rotations[r];
    options.every_position = !last_only;
    options.keep_attention = false;
    for (std::size_t from = 0; from < inputs.size();) {
      std::size_t until = from;
      for (std::size_t numbers = 0; until < inputs.size() && numbers < most_numbers; ++until)
        numbers +=
            (last_only ? 1 : inputs[until].size()) * static_cast<std::size_t>(model.vocabulary);
      const auto logits = forward<float>(model, inputs.subspan(from, until - from), options);
      for (std::size_t i = from; i < until; ++i) {
        const Rows<float>& own = logits[i - from];
        if (last_only) {
          losses[r].push_back(loss_of(own.row(0), answers[i]));
          continue;
        }
        for (std::size_t t = 0; t + 1 < inputs[i].size(); ++t)
          losses[r].push_back(loss_of(own.row(static_cast<Index>(t)), inputs[i][t + 1]));
      }
      from = until;
      if (progress)
        progress((static_cast<double>(r) +
                  static_cast<double>(from) / static_cast<double>(inputs.size())) /
                 static_cast<double>(rotations.size()));
    }
  }
  RotationLosses result;
  result.tokens = losses[0].size();
  if (result.tokens == 0)
    throw Error(ErrorCode::bad_value, "the inputs have no token that another one foretells");
  const auto n = static_cast<double>(result.tokens);
  const auto mean = [&](const std::vector<double>& x) {
    return std::accumulate(x.begin(), x.end(), 0.0) / n;
  };
  result.interleaved = mean(losses[0]);
  result.half_split = mean(losses[1]);
  result.none = mean(losses[2]);
  result.uniform = std::log(static_cast<double>(model.vocabulary));
  const double difference = result.half_split - result.interleaved;
  result.gap = std::abs(difference);
  double squares = 0;
  for (std::size_t t = 0; t < result.tokens; ++t) {
    const double off = losses[1][t] - losses[0][t] - difference;
    squares += off * off;
  }
  result.deviation = std::sqrt(squares) / n;
  return result;
}

Pairing LayoutEvidence::detected() const {
  const Pairing by_loss = loss ? loss->verdict() : Pairing::unknown;
  return by_loss != Pairing::unknown ? by_loss : weights.verdict();
}

}  // namespace ropewalk::checkpoints
