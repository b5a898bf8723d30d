#include "checkpoints/heads.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "theory/error.hpp"

namespace ropewalk::checkpoints {

using Eigen::ArrayXd;
using Eigen::Index;
using theory::Pairing;

namespace {

Index share(const Pass<double>& pass) { return pass.q.cols() / pass.k.cols(); }

// Dimension of a head: the pass has the attention of each, or the caller's model says it.
struct Place {
  Index dim = 0;
  Index query = 0;  // first column of the query head
  Index key = 0;    // first column of its key head
};

Place place_of(const Pass<double>& pass, std::int64_t head, std::int64_t query) {
  const Index dim = pass.head_dim;
  if (head < 0 || head * dim >= pass.q.cols() || query < 0 || query >= pass.q.rows())
    throw Error(ErrorCode::bad_value,
                "no head " + std::to_string(head) + " with a query at " + std::to_string(query));
  return {dim, head * dim, head / share(pass) * dim};
}

std::int64_t first_key(const LogitRule& rule, std::int64_t query) {
  return rule.window ? std::max<std::int64_t>(0, query - *rule.window + 1) : 0;
}

Index first_of(Pairing pairing, Index f) { return pairing == Pairing::half_split ? f : 2 * f; }
Index second_of(Pairing pairing, Index f, Index planes) {
  return pairing == Pairing::half_split ? f + planes : 2 * f + 1;
}

// The matrix whose swaps are scored, and the weights that the swaps are weighed by.
SwapScores over_swaps(Eigen::Ref<const Rows<double>> m, const ArrayXd& weights, double tau) {
  const Index count = weights.size();
  const Rows<double> across = m.transpose();
  const double widest = weights.maxCoeff() - weights.minCoeff();
  double total = 0;
  SwapScores result;
  ArrayXd before(count);
  ArrayXd after(count);
  for (Index i = 0; i + 1 < count; ++i) {
    const Index rest = count - i - 1;
    // x: log of the ratio of the two weights before, y: after.
    before.head(rest) = m(i, i) - m.diagonal().segment(i + 1, rest).array();
    after.head(rest) =
        (across.row(i).segment(i + 1, rest) - m.row(i).segment(i + 1, rest)).transpose().array();
    const auto x = before.head(rest);
    const auto y = after.head(rest);
    const ArrayXd alpha =
        (((weights(i) - weights.segment(i + 1, rest)).abs() - widest) / tau).exp();
    // cos of the angle between (e^x, 1) and (e^y, 1), with exponents that are never positive.
    const ArrayXd p = (-x.abs()).exp();
    const ArrayXd q = (-y.abs()).exp();
    const ArrayXd scale = ((1 + p * p) * (1 + q * q)).rsqrt();
    const ArrayXd same = (1 + p * q) * scale * alpha;
    const ArrayXd opposite = (p + q) * scale * alpha;
    const auto aligned = (x >= 0) == (y >= 0);
    total += alpha.sum();
    result.positional += aligned.select(same, opposite).sum();
    result.symbolic += aligned.select(opposite, same).sum();
  }
  result.positional = std::clamp(result.positional / total, 0.0, 1.0);
  result.symbolic = std::clamp(result.symbolic / total, 0.0, 1.0);
  return result;
}

ArrayXd softened(const ArrayXd& logits) {
  const ArrayXd e = (logits - logits.maxCoeff()).exp();
  return e / e.sum();
}

// log of the mean of e^M over tokens a, a+1, ... put at positions b, b+1, ...
double log_mean(const Eigen::Ref<const Rows<double>>& m, Index a, Index b, Index count) {
  double top = -std::numeric_limits<double>::infinity();
  for (Index o = 0; o < count; ++o) top = std::max(top, m(a + o, b + o));
  double sum = 0;
  for (Index o = 0; o < count; ++o) sum += std::exp(m(a + o, b + o) - top);
  return top + std::log(sum / static_cast<double>(count));
}

}  // namespace

Rows<double> plane_logits(const Pass<double>& pass, std::int64_t head, std::int64_t query,
                          std::int64_t first) {
  const Place at = place_of(pass, head, query);
  const Index planes = pass.table.cosine.cols();
  const Index keys = query - first + 1;
  Rows<double> result(planes, keys);
  for (Index f = 0; f < planes; ++f) {
    const Index a = first_of(pass.pairing, f);
    const Index b = second_of(pass.pairing, f, planes);
    const double qx = pass.rotated_q(query, at.query + a) * pass.rule.scale;
    const double qy = pass.rotated_q(query, at.query + b) * pass.rule.scale;
    result.row(f) = (qx * pass.rotated_k.col(at.key + a).segment(first, keys) +
                     qy * pass.rotated_k.col(at.key + b).segment(first, keys))
                        .transpose();
  }
  return result;
}

KeysAnywhere keys_anywhere(const Pass<double>& pass, std::int64_t head, std::int64_t query) {
  const Place at = place_of(pass, head, query);
  KeysAnywhere result;
  result.first = first_key(pass.rule, query);
  const Index n = query - result.first + 1;
  const Index planes = pass.table.cosine.cols();
  // The query turned back by each position, so that unturned keys meet it.
  Rows<double> back(n, at.dim);
  back.rowwise() = pass.rotated_q.row(query).segment(at.query, at.dim) * pass.rule.scale;
  for (Index b = 0; b < n; ++b)
    for (Index f = 0; f < planes; ++f) {
      double& x = back(b, first_of(pass.pairing, f));
      double& y = back(b, second_of(pass.pairing, f, planes));
      const double c = pass.table.cosine(result.first + b, f);
      const double s = pass.table.sine(result.first + b, f);
      const double turned = c * x + s * y;
      y = c * y - s * x;
      x = turned;
    }
  result.logits.resize(n, n);
  times_transposed<double>(pass.k.block(result.first, at.key, n, at.dim), back, result.logits);
  if (pass.rule.softcap)
    result.logits.array() =
        *pass.rule.softcap * (result.logits.array() / *pass.rule.softcap).tanh();
  return result;
}

std::optional<SwapScores> swap_scores(Eigen::Ref<const Rows<double>> logits, double tau,
                                      std::int64_t block) {
  if (!(tau > 0) || !std::isfinite(tau)) throw Error(ErrorCode::bad_value, "tau must be positive");
  if (block < 1)
    throw Error(ErrorCode::bad_value,
                "a block has at least one position, not " + std::to_string(block));
  const Index count = logits.rows() - 1;  // all but the query
  const Index blocks = count <= 0 ? 0 : (count - 1) / block + 1;
  if (blocks < 2) return std::nullopt;
  const ArrayXd weights = softened(logits.diagonal().array());
  if (block == 1) return over_swaps(logits, weights.head(count), tau);

  const auto start = [&](Index i) { return i * block; };
  const auto size = [&](Index i) { return std::min<Index>(block, count - start(i)); };
  ArrayXd means(blocks);
  Rows<double> m(blocks, blocks);
  for (Index i = 0; i < blocks; ++i) {
    means(i) = weights.segment(start(i), size(i)).mean();
    for (Index j = 0; j < blocks; ++j) {
      // Block i in the place of block j: at the end, where that is the shorter one, it begins
      // earlier.
      const Index at = j == blocks - 1 ? count - size(i) : start(j);
      m(i, j) = log_mean(logits, start(i), at, size(i));
    }
  }
  return over_swaps(m, means, tau);
}

std::int64_t weighted_id(std::span<const double> use) {
  if (use.empty()) return 0;
  const Eigen::Map<const ArrayXd> v(use.data(), static_cast<Index>(use.size()));
  const ArrayXd share = softened(v);
  return std::llround(
      (share * ArrayXd::LinSpaced(v.size(), 1, static_cast<double>(v.size()))).sum());
}

const char* HeadScore::purity(double gamma) const {
  if (positional > 1 - gamma && symbolic < gamma) return "positional";
  if (symbolic > 1 - gamma && positional < gamma) return "symbolic";
  return "mixed";
}

namespace {

// Sums over the queries of one input; summed over inputs in their order.
struct Sum {
  SwapScores scores;
  double entropy = 0;
  ArrayXd use;
  std::vector<SwapScores> planes;
  std::size_t queries = 0;
  std::size_t scored = 0;

  void add(const Sum& other) {
    scores.positional += other.scores.positional;
    scores.symbolic += other.scores.symbolic;
    entropy += other.entropy;
    if (use.size() == 0) use = ArrayXd::Zero(other.use.size());
    if (other.use.size() != 0) use += other.use;
    planes.resize(std::max(planes.size(), other.planes.size()));
    for (std::size_t f = 0; f < other.planes.size(); ++f) {
      planes[f].positional += other.planes[f].positional;
      planes[f].symbolic += other.planes[f].symbolic;
    }
    queries += other.queries;
    scored += other.scored;
  }
};

Sum of_query(const Pass<double>& pass, std::int64_t head, std::int64_t query,
             const HeadOptions& options) {
  Sum sum;
  sum.queries = 1;
  const KeysAnywhere keys = keys_anywhere(pass, head, query);
  const ArrayXd weights = softened(keys.logits.diagonal().array());
  sum.entropy = -(weights > 0).select(weights * weights.log(), 0).sum();
  const Rows<double> by_plane = plane_logits(pass, head, query, keys.first);
  sum.use = by_plane.rowwise().maxCoeff().array();
  const auto scores = swap_scores(keys.logits, options.tau, options.block);
  if (!scores) return sum;
  sum.scored = 1;
  sum.scores = *scores;
  if (!options.planes) return sum;
  const Place at = place_of(pass, head, query);
  const Index planes = pass.table.cosine.cols();
  const Index n = keys.logits.rows();
  Rows<double> m(n, n);
  for (Index f = 0; f < planes; ++f) {
    const Index a = first_of(pass.pairing, f);
    const Index b = second_of(pass.pairing, f, planes);
    const double qx = pass.rotated_q(query, at.query + a) * pass.rule.scale;
    const double qy = pass.rotated_q(query, at.query + b) * pass.rule.scale;
    const auto kx = pass.k.col(at.key + a).segment(keys.first, n);
    const auto ky = pass.k.col(at.key + b).segment(keys.first, n);
    for (Index p = 0; p < n; ++p) {
      const double c = pass.table.cosine(keys.first + p, f);
      const double s = pass.table.sine(keys.first + p, f);
      m.col(p) = (c * qx + s * qy) * kx + (c * qy - s * qx) * ky;
    }
    sum.planes.push_back(*swap_scores(m, options.tau, options.block));
  }
  return sum;
}

}  // namespace

std::vector<HeadScore> score_heads(const Model& model, std::span<const Tokens> inputs,
                                   const HeadOptions& options) {
  if (inputs.empty()) throw Error(ErrorCode::bad_value, "no inputs to score heads on");
  const auto heads = static_cast<std::size_t>(model.heads);
  // By layer, head and input: no thread adds to another's sum, so the result has one order.
  std::vector<Sum> sums(model.layers.size() * heads * inputs.size());
  ForwardOptions pass_options;
  pass_options.keep_attention = false;
  pass_options.progress = options.progress;
  (void)forward<double>(model, inputs, pass_options, [&](const Pass<double>& pass) {
    const auto last = static_cast<std::int64_t>(pass.q.rows()) - 1;
    for (std::size_t h = 0; h < heads; ++h) {
      Sum& sum = sums[(pass.layer * heads + h) * inputs.size() + pass.input];
      for (std::int64_t query = options.all_queries ? 0 : last; query <= last; ++query)
        sum.add(of_query(pass, static_cast<std::int64_t>(h), query, options));
    }
  });

  std::vector<HeadScore> result;
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer)
    for (std::size_t h = 0; h < heads; ++h) {
      Sum sum;
      for (std::size_t i = 0; i < inputs.size(); ++i)
        sum.add(sums[(layer * heads + h) * inputs.size() + i]);
      const auto queries = static_cast<double>(sum.queries);
      const auto scored = static_cast<double>(sum.scored);  // 0: the scores are not numbers
      HeadScore score;
      score.layer = layer;
      score.head = h;
      score.queries = sum.scored;
      score.positional = sum.scores.positional / scored;
      score.symbolic = sum.scores.symbolic / scored;
      score.entropy = sum.entropy / queries;
      const ArrayXd use = sum.use / queries;
      score.plane_use.assign(use.data(), use.data() + use.size());
      score.weighted_id = weighted_id(score.plane_use);
      for (const SwapScores& plane : sum.planes)
        score.planes.push_back({plane.positional / scored, plane.symbolic / scored});
      result.push_back(std::move(score));
    }
  return result;
}

}  // namespace ropewalk::checkpoints
