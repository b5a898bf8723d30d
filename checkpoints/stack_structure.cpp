#include "checkpoints/stack_structure.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "theory/error.hpp"

namespace ropewalk::checkpoints {

using constructions::Token;
using constructions::Vocabulary;
using Eigen::Index;
using theory::Formula;
using theory::Rational;

namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorCode::unsupported, what); }

// Every column that an image can have is in few rows; by columns the products are short.
struct ByColumn {
  std::vector<std::vector<std::pair<Index, Rational>>> columns;
  explicit ByColumn(const SparseMatrix& w) : columns(static_cast<std::size_t>(w.columns)) {
    for (std::size_t r = 0; r < w.rows.size(); ++r)
      for (const auto& [c, value] : w.rows[r])
        columns[static_cast<std::size_t>(c)].emplace_back(static_cast<Index>(r), Rational(value));
  }
  [[nodiscard]] ExactVector operator()(const ExactVector& x) const {
    ExactVector y;
    for (const auto& [c, factor] : x)
      for (const auto& [r, value] : columns[static_cast<std::size_t>(c)]) y[r] += value * factor;
    std::erase_if(y, [](const auto& entry) { return entry.second == 0; });
    return y;
  }
};

ExactVector scaled(const ExactVector& x, const std::vector<double>& g) {
  ExactVector y;
  for (const auto& [c, value] : x)
    if (g[static_cast<std::size_t>(c)] != 0)
      y.emplace(c, value * Rational(g[static_cast<std::size_t>(c)]));
  return y;
}

SparseMatrix read(const Linear& linear) {
  SparseMatrix result{linear.weight->name, linear.weight->row_size(), {}, {}};
  std::vector<double> row(static_cast<std::size_t>(result.columns));
  const std::int64_t outputs = linear.outputs();
  for (std::int64_t r = 0; r < outputs; ++r) {
    read_rows(linear, r, 1, row.data());
    SparseRow entries;
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (!std::isfinite(row[c])) refuse(result.name + ": not all of it is finite");
      if (row[c] != 0) entries.emplace_back(static_cast<Index>(c), row[c]);
    }
    result.rows.push_back(std::move(entries));
  }
  result.bias.resize(static_cast<std::size_t>(outputs), 0.0);
  if (linear.bias != nullptr) {
    read_rows(*linear.bias, 0, outputs, result.bias.data());
    for (const double b : result.bias)
      if (!std::isfinite(b)) refuse(linear.bias->name + ": not all of it is finite");
  }
  return result;
}

bool is_zero(const SparseMatrix& w) {
  return std::all_of(w.rows.begin(), w.rows.end(), [](const SparseRow& r) { return r.empty(); }) &&
         std::all_of(w.bias.begin(), w.bias.end(), [](double b) { return b == 0; });
}

std::vector<double> vector_of(const Tensor* tensor, std::size_t size, double otherwise) {
  std::vector<double> result(size, otherwise);
  if (tensor != nullptr) read_rows(*tensor, 0, static_cast<std::int64_t>(size), result.data());
  for (const double x : result)
    if (!std::isfinite(x)) refuse(tensor->name + ": not all of it is finite");
  return result;
}

double double_of(const Rational& x) { return static_cast<double>(x); }

// Distinct vectors get a class each.
void classify(const std::vector<ByPlane>& vectors, std::vector<ByPlane>& classes,
              std::vector<std::size_t>& of_token) {
  std::map<std::vector<double>, std::size_t> known;
  of_token.assign(vectors.size(), 0);
  for (std::size_t v = 1; v < vectors.size(); ++v) {
    std::vector<double> flat;
    for (const InPlane& p : vectors[v]) {
      flat.push_back(p.x);
      flat.push_back(p.y);
    }
    const auto [at, is_new] = known.emplace(std::move(flat), classes.size());
    if (is_new) classes.push_back(vectors[v]);
    of_token[v] = at->second;
  }
}

}  // namespace

StackStructure::StackStructure(const Model& model, const Vocabulary& words, int hop_count)
    : vocabulary(words),
      hops(hop_count),
      d(model.hidden),
      norm_kind(model.norm),
      eps(model.norm_eps) {
  vocabulary.check();
  if (model.heads != 1 || model.kv_heads != 1)
    refuse("a model of one head is proven, not of " + std::to_string(model.heads));
  if (model.vocabulary != vocabulary.size())
    refuse("a vocabulary of " + std::to_string(model.vocabulary) + " is not that of the task, " +
           std::to_string(vocabulary.size()));
  if (hops < 1 || static_cast<std::size_t>(hops) > model.layers.size())
    refuse(std::to_string(hops) + " hops in " + std::to_string(model.layers.size()) + " layers");
  if (norm_kind == NormKind::rms_one_plus || model.embedding_scale != 1 || model.final_softcap)
    refuse("a model of family " + model.family + " is not proven");
  read_planes(model);

  std::vector<double> row(static_cast<std::size_t>(d));
  for (Token t = 0; t < vocabulary.size(); ++t) {
    read_rows(*model.embedding, t, 1, row.data());
    ExactVector x;
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (!std::isfinite(row[c])) refuse(model.embedding->name + ": not all of it is finite");
      if (row[c] != 0) x.emplace(static_cast<Index>(c), Rational(row[c]));
    }
    embedding.push_back(std::move(x));
  }
  for (int l = 1; l <= static_cast<int>(model.layers.size()); ++l) {
    check_silent(model, l);
    if (l <= hops) read_layer(model, l);
  }

  const auto size = static_cast<std::size_t>(d);
  final_norm = {vector_of(model.final_norm.weight, size, 1),
                vector_of(model.final_norm.bias, size, 0)};
  unembedding = read(model.unembedding);
  check_constant(unembedding, final_norm, "the unembedding");
  const ByColumn u(unembedding);
  for (int k = 1; k < hops; ++k)
    for (Token v = 1; v < vocabulary.size(); ++v)
      if (!u(scaled(image(k, v), final_norm.g)).empty())
        refuse(unembedding.name + " reads what layer " + std::to_string(k) + " wrote");
  const auto table = [&](int k) {
    std::vector<std::vector<double>> result;
    for (Token v = 0; v < vocabulary.size(); ++v) {
      std::vector<double> scores(static_cast<std::size_t>(vocabulary.size()), 0.0);
      if (v > 0)
        for (const auto& [o, value] : u(scaled(image(k, v), final_norm.g)))
          scores[static_cast<std::size_t>(o)] = double_of(value);
      result.push_back(std::move(scores));
    }
    return result;
  };
  own = table(0);
  found = table(hops);

  if (norm_kind == NormKind::layer) check_means();
}

void StackStructure::check_means() const {
  for (int k = 0; k <= hops; ++k)
    for (Token v = 1; v < vocabulary.size(); ++v) {
      Rational sum = 0;
      for (const auto& [c, value] : image(k, v)) sum += value;
      if (sum == 0) continue;
      const std::string of = " of token " + std::to_string(v) + " has a mean";
      refuse(k == 0 ? "the embedding" + of : "what layer " + std::to_string(k) + " writes" + of);
    }
}

void StackStructure::read_planes(const Model& model) {
  const theory::ResolvedRope rope = model.rope(0, 1);
  if (rope.sliding_window || rope.attention_chunk || rope.softcap)
    refuse("windows, chunks and softcaps are not proven");
  const theory::Pairing pairing = model.pairing();
  if (pairing == theory::Pairing::unknown) refuse("the pairing layout is not known");
  scale = rope.logit_scale.as<double>();
  const theory::Schedule& table = rope.schedule;
  const bool slowed = table.scheme == "longrope";
  if (!slowed && table.scheme != "default" && table.scheme != "custom")
    refuse("a rotary table of the type " + table.scheme + " is not proven");
  if (theory::sign(table.attention_factor - Formula(1)) != 0)
    refuse("an attention factor is not proven");
  if (slowed) {
    const theory::ResolvedRope longest = model.rope(0, std::numeric_limits<std::int32_t>::max());
    for (std::size_t f = 0; f < table.frequencies.size(); ++f)
      if (longest.schedule.frequencies[f].text() != table.frequencies[f].text())
        refuse("its rotary table depends on the length");
  }
  const auto turning = static_cast<Index>(table.frequencies.size());
  for (Index f = 0; f < turning; ++f) {
    const Formula& theta = table.frequencies[static_cast<std::size_t>(f)];
    HeadPlane plane;
    plane.x = pairing == theory::Pairing::interleaved ? 2 * f : f;
    plane.y = pairing == theory::Pairing::interleaved ? 2 * f + 1 : turning + f;
    plane.frequency = theta;
    plane.speed = std::abs(theta.as<double>()) * (1 + 0x1p-40);
    // Plane f >= 1 has base^(-f/turning): its logarithm is what the power multiplies errors by. A
    // factor is rounded, and multiplied with.
    const double steepness = rope.base ? static_cast<double>(f) / static_cast<double>(turning) *
                                             std::log(static_cast<double>(*rope.base))
                                       : 0;
    plane.relative = f == 0 && !slowed ? 0 : (slowed ? 12 : 10) + steepness * (1 + 0x1p-40);
    planes.push_back(plane);
  }
  for (Index c = 2 * turning; c < model.head_dim; c += 2)
    planes.push_back({c, std::min(c + 1, model.head_dim - 1), Formula(0), 0, 0});
  if (model.head_dim % 2 != 0) refuse("a head of odd size is not proven");
}

void StackStructure::check_silent(const Model& model, int l) const {
  const Layer& layer = model.layers[static_cast<std::size_t>(l - 1)];
  if (layer.q_norm || layer.k_norm || layer.after_attention || layer.after_mlp)
    refuse("norms beside those before attention are not proven");
  for (const Linear* part : {&layer.gate, &layer.up, &layer.down})
    if (*part)
      if (const SparseMatrix w = read(*part); !is_zero(w)) refuse(w.name + " is not 0");
  if (l <= hops) return;
  for (const Linear* part : {&layer.q, &layer.k, &layer.v}) (void)read(*part);  // finite
  if (const SparseMatrix w = read(layer.out); !is_zero(w))
    refuse(w.name + " is not 0, and no hop is left");
}

// What a matrix reads of the constant that the norm adds must be its bias taken back.
void StackStructure::check_constant(const SparseMatrix& w, const NormWeights& norm,
                                    const char* what) {
  for (std::size_t r = 0; r < w.rows.size(); ++r) {
    Rational sum(w.bias[r]);
    for (const auto& [c, value] : w.rows[r])
      if (norm.c[static_cast<std::size_t>(c)] != 0)
        sum += Rational(value) * Rational(norm.c[static_cast<std::size_t>(c)]);
    if (sum != 0) refuse(w.name + ": " + what + " has a constant");
  }
}

// W g I_k(v) = 0 for every k below `below` but the source.
void StackStructure::check_reads(const SparseMatrix& w, const NormWeights& norm, int below,
                                 int source) const {
  const ByColumn map(w);
  for (int k = 0; k < below; ++k) {
    if (k == source) continue;
    for (Token v = 1; v < vocabulary.size(); ++v)
      if (!map(scaled(image(k, v), norm.g)).empty())
        refuse(w.name + " reads what " +
               (k == 0 ? std::string("the embedding holds")
                       : "layer " + std::to_string(k) + " wrote"));
  }
}

ByPlane StackStructure::by_plane(const ExactVector& x) const {
  const auto at = [&](Index c) {
    const auto entry = x.find(c);
    return entry == x.end() ? 0.0 : double_of(entry->second);
  };
  ByPlane result;
  for (const HeadPlane& p : planes) result.push_back({at(p.x), at(p.y)});
  return result;
}

void StackStructure::read_layer(const Model& model, int l) {
  const Layer& from = model.layers[static_cast<std::size_t>(l - 1)];
  const auto size = static_cast<std::size_t>(d);
  HopLayer layer;
  layer.norm = {vector_of(from.before_attention.weight, size, 1),
                vector_of(from.before_attention.bias, size, 0)};
  layer.q = read(from.q);
  layer.k = read(from.k);
  layer.v = read(from.v);
  layer.out = read(from.out);
  check_constant(layer.q, layer.norm, "the query");
  check_constant(layer.v, layer.norm, "the value");
  for (const double b : layer.out.bias)
    if (b != 0) refuse(layer.out.name + ": its bias is not 0");
  check_reads(layer.q, layer.norm, l, query_source(l));
  check_reads(layer.k, layer.norm, l, 0);
  check_reads(layer.v, layer.norm, l, value_source(l));

  const ByColumn q(layer.q);
  const ByColumn k(layer.k);
  const ByColumn v(layer.v);
  const ByColumn out(layer.out);
  std::vector<ByPlane> queries(1);
  std::vector<ByPlane> keys(1);
  layer.image.resize(1);
  layer.value_size.assign(layer.v.rows.size(), 0.0);
  for (Token t = 1; t < vocabulary.size(); ++t) {
    queries.push_back(by_plane(q(scaled(image(query_source(l), t), layer.norm.g))));
    keys.push_back(by_plane(k(scaled(image(0, t), layer.norm.g))));
    const ExactVector carried = v(scaled(image(value_source(l), t), layer.norm.g));
    for (const auto& [r, x] : carried) {
      double& largest = layer.value_size[static_cast<std::size_t>(r)];
      largest = std::max(largest, std::abs(double_of(x)));
    }
    layer.image.push_back(out(carried));
  }
  classify(queries, layer.queries, layer.query_class);
  classify(keys, layer.keys, layer.key_class);
  ExactVector constant;
  for (std::size_t c = 0; c < size; ++c)
    if (layer.norm.c[c] != 0) constant.emplace(static_cast<Index>(c), Rational(layer.norm.c[c]));
  ExactVector common = k(constant);
  for (std::size_t r = 0; r < layer.k.bias.size(); ++r)
    if (layer.k.bias[r] != 0) common[static_cast<Index>(r)] += Rational(layer.k.bias[r]);
  layer.common = by_plane(common);
  layers.push_back(std::move(layer));
}

}  // namespace ropewalk::checkpoints
