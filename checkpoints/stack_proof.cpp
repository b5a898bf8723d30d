#include "checkpoints/stack_proof.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>

#include "proofs_numeric/turns.hpp"
#include "theory/error.hpp"

namespace ropewalk::checkpoints {

using constructions::Rule;
using constructions::Token;
using constructions::Vocabulary;
using Eigen::Index;
using theory::Formula;
using theory::Rational;

namespace {

// Doubles lose at most 2^-40 of anything computed here (sums of fewer than 2^12 terms, or of
// positive terms); bounds give away 2^-36.
constexpr double slack = 0x1p-36;
// What float32 can lose below its smallest normal number, over all the terms of any sum here.
constexpr double tiny = 0x1p-100;
// The eps of a norm is the text, the double or the float of the config.
constexpr double eps_doubt = 0x1p-22;
// Each target is held against each lag.
constexpr std::int64_t most_lags_of_last = 4096;
double down(double x) { return x - std::abs(x) * slack; }
double up(double x) { return x + std::abs(x) * slack; }

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorCode::unsupported, what); }

using SparseRow = std::vector<std::pair<Index, double>>;
using SparseVector = std::map<Index, Rational>;

// A matrix that reads or writes the stream, by rows.
struct Sparse {
  std::string name;
  Index columns = 0;
  std::vector<SparseRow> rows;
  std::vector<double> bias;
};

// y = W x exactly.
SparseVector times(const Sparse& w, const SparseVector& x) {
  SparseVector y;
  for (std::size_t r = 0; r < w.rows.size(); ++r) {
    Rational sum = 0;
    for (const auto& [c, value] : w.rows[r])
      if (const auto at = x.find(c); at != x.end()) sum += Rational(value) * at->second;
    if (sum != 0) y.emplace(static_cast<Index>(r), sum);
  }
  return y;
}

// Every column that an image can have is in few rows; by columns the products are short.
struct ByColumn {
  std::vector<std::vector<std::pair<Index, Rational>>> columns;
  explicit ByColumn(const Sparse& w) : columns(static_cast<std::size_t>(w.columns)) {
    for (std::size_t r = 0; r < w.rows.size(); ++r)
      for (const auto& [c, value] : w.rows[r])
        columns[static_cast<std::size_t>(c)].emplace_back(static_cast<Index>(r), Rational(value));
  }
  [[nodiscard]] SparseVector operator()(const SparseVector& x) const {
    SparseVector y;
    for (const auto& [c, factor] : x)
      for (const auto& [r, value] : columns[static_cast<std::size_t>(c)]) y[r] += value * factor;
    std::erase_if(y, [](const auto& entry) { return entry.second == 0; });
    return y;
  }
};

SparseVector scaled(const SparseVector& x, const std::vector<double>& g) {
  SparseVector y;
  for (const auto& [c, value] : x)
    if (g[static_cast<std::size_t>(c)] != 0)
      y.emplace(c, value * Rational(g[static_cast<std::size_t>(c)]));
  return y;
}

Sparse read(const Linear& linear) {
  Sparse result{linear.weight->name, linear.weight->row_size(), {}, {}};
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

bool is_zero(const Sparse& w) {
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

struct NormWeights {
  std::vector<double> g, c;
};

// One plane of the head, by the coordinates that turn together.
struct Plane {
  Index x = 0, y = 0;
  Formula frequency;
  double speed = 0;     // radians per token, rounded up
  double relative = 0;  // float32: error of the angle per radian, in units of u
};

// Two coordinates of a vector.
struct Pair {
  double x = 0, y = 0;
  [[nodiscard]] double size() const { return std::hypot(x, y); }
};
using Planes = std::vector<Pair>;

struct HopLayer {
  NormWeights norm;
  Sparse q, k, v, out;
  std::vector<SparseVector> image;       // by token: what the layer writes of it, per unit of rho
  std::vector<Planes> queries;           // by query class
  std::vector<std::size_t> query_class;  // by token
  std::vector<Planes> keys;              // by key class
  std::vector<std::size_t> key_class;    // by token
  Planes common;
  std::vector<double> value_size;  // by row of W_V: the largest |W_V g I_s(v)|
};

double double_of(const Rational& x) { return static_cast<double>(x); }

// Distinct vectors get a class each.
void classify(const std::vector<Planes>& vectors, std::vector<Planes>& classes,
              std::vector<std::size_t>& of_token) {
  std::map<std::vector<double>, std::size_t> known;
  of_token.assign(vectors.size(), 0);
  for (std::size_t v = 1; v < vectors.size(); ++v) {
    std::vector<double> flat;
    for (const Pair& p : vectors[v]) {
      flat.push_back(p.x);
      flat.push_back(p.y);
    }
    const auto [at, is_new] = known.emplace(std::move(flat), classes.size());
    if (is_new) classes.push_back(vectors[v]);
    of_token[v] = at->second;
  }
}

}  // namespace

std::string_view name(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::real ? "real" : "float32";
}

struct StackProof::Parts {
  Vocabulary vocabulary;
  int hops = 0;
  Index d = 0;
  NormKind norm_kind = NormKind::layer;
  bool normed = true;
  double eps = 0;
  double scale = 1;
  std::vector<Plane> planes;
  std::vector<SparseVector> embedding;  // by token
  std::vector<HopLayer> layers;
  NormWeights final_norm;
  Sparse unembedding;
  std::vector<std::vector<double>> own, found;  // [token][answer]: U g E, U g I_h

  // Cosine and sine of every plane at lags 0, 1, ...: grown when asked for.
  mutable std::vector<std::vector<double>> cosine, sine;

  Parts(const Model& model, const Vocabulary& words, int hop_count);
  void read_planes(const Model& model);
  void read_layer(const Model& model, int l);
  void check_silent(const Model& model, int l) const;

  [[nodiscard]] int value_source(int l) const { return vocabulary.rule == Rule::lag ? l - 1 : 0; }
  [[nodiscard]] int query_source(int l) const { return vocabulary.rule == Rule::lag ? 0 : l - 1; }
  [[nodiscard]] const SparseVector& image(int k, Token v) const {
    return k == 0 ? embedding[static_cast<std::size_t>(v)]
                  : layers[static_cast<std::size_t>(k - 1)].image[static_cast<std::size_t>(v)];
  }
  void check_constant(const Sparse& w, const NormWeights& norm, const char* what) const;
  void check_reads(const Sparse& w, const NormWeights& norm, int below, int source) const;
  [[nodiscard]] Planes planes_of(const SparseVector& x) const;
  void grow(std::int64_t length, const std::vector<bool>& turning) const;
};

// ---- structure, in rationals -------------------------------------------------------------------

StackProof::Parts::Parts(const Model& model, const Vocabulary& words, int hop_count)
    : vocabulary(words),
      hops(hop_count),
      d(model.hidden),
      norm_kind(model.norm),
      normed(static_cast<bool>(model.final_norm)),
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
    SparseVector x;
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
  for (int k = 1; k < hops; ++k)
    for (Token v = 1; v < vocabulary.size(); ++v)
      if (!times(unembedding, scaled(image(k, v), final_norm.g)).empty())
        refuse(unembedding.name + " reads what layer " + std::to_string(k) + " wrote");
  const ByColumn u(unembedding);
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

  if (norm_kind == NormKind::layer)
    for (int k = 0; k <= hops; ++k)
      for (Token v = 1; v < vocabulary.size(); ++v) {
        Rational sum = 0;
        for (const auto& [c, value] : image(k, v)) sum += value;
        if (sum != 0)
          refuse(k == 0 ? "the embedding of token " + std::to_string(v) + " has a mean"
                        : "what layer " + std::to_string(k) + " writes of token " +
                              std::to_string(v) + " has a mean");
      }
}

void StackProof::Parts::read_planes(const Model& model) {
  const theory::ResolvedRope rope = model.rope(0, 1);
  if (rope.sliding_window || rope.attention_chunk || rope.softcap)
    refuse("windows, chunks and softcaps are not proven");
  const theory::Pairing pairing = model.pairing();
  if (pairing == theory::Pairing::unknown) refuse("the pairing layout is not known");
  scale = rope.logit_scale.as<double>();
  const auto turning = static_cast<Index>(rope.schedule.frequencies.size());
  for (Index f = 0; f < turning; ++f) {
    const Formula& theta = rope.schedule.frequencies[static_cast<std::size_t>(f)];
    Plane plane;
    plane.x = pairing == theory::Pairing::interleaved ? 2 * f : f;
    plane.y = pairing == theory::Pairing::interleaved ? 2 * f + 1 : turning + f;
    plane.frequency = theta;
    plane.speed = up(std::abs(theta.as<double>()));
    // Plane f >= 1 has base^(-f/turning): its logarithm is what the power multiplies errors by.
    plane.relative = f == 0 ? 0 : 10 - std::log(plane.speed);
    planes.push_back(plane);
  }
  for (Index c = 2 * turning; c < model.head_dim; c += 2)
    planes.push_back({c, std::min(c + 1, model.head_dim - 1), Formula(0), 0, 0});
  if (model.head_dim % 2 != 0) refuse("a head of odd size is not proven");
  cosine.resize(planes.size());
  sine.resize(planes.size());
}

void StackProof::Parts::check_silent(const Model& model, int l) const {
  const Layer& layer = model.layers[static_cast<std::size_t>(l - 1)];
  if (layer.q_norm || layer.k_norm || layer.after_attention || layer.after_mlp)
    refuse("norms beside those before attention are not proven");
  for (const Linear* part : {&layer.gate, &layer.up, &layer.down})
    if (*part)
      if (const Sparse w = read(*part); !is_zero(w)) refuse(w.name + " is not 0");
  if (l <= hops) return;
  for (const Linear* part : {&layer.q, &layer.k, &layer.v}) (void)read(*part);  // finite
  if (const Sparse w = read(layer.out); !is_zero(w))
    refuse(w.name + " is not 0, and no hop is left");
}

// What a matrix reads of the constant that the norm adds must be its bias taken back.
void StackProof::Parts::check_constant(const Sparse& w, const NormWeights& norm,
                                       const char* what) const {
  for (std::size_t r = 0; r < w.rows.size(); ++r) {
    Rational sum(w.bias[r]);
    for (const auto& [c, value] : w.rows[r])
      if (norm.c[static_cast<std::size_t>(c)] != 0)
        sum += Rational(value) * Rational(norm.c[static_cast<std::size_t>(c)]);
    if (sum != 0) refuse(w.name + ": " + what + " has a constant");
  }
}

// W g I_k(v) = 0 for every k below `below` but the source.
void StackProof::Parts::check_reads(const Sparse& w, const NormWeights& norm, int below,
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

Planes StackProof::Parts::planes_of(const SparseVector& x) const {
  const auto at = [&](Index c) {
    const auto entry = x.find(c);
    return entry == x.end() ? 0.0 : double_of(entry->second);
  };
  Planes result;
  for (const Plane& p : planes) result.push_back({at(p.x), at(p.y)});
  return result;
}

void StackProof::Parts::read_layer(const Model& model, int l) {
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
  std::vector<Planes> queries(1);
  std::vector<Planes> keys(1);
  layer.image.resize(1);
  layer.value_size.assign(layer.v.rows.size(), 0.0);
  for (Token t = 1; t < vocabulary.size(); ++t) {
    queries.push_back(planes_of(q(scaled(image(query_source(l), t), layer.norm.g))));
    keys.push_back(planes_of(k(scaled(image(0, t), layer.norm.g))));
    const SparseVector carried = v(scaled(image(value_source(l), t), layer.norm.g));
    for (const auto& [r, x] : carried) {
      double& largest = layer.value_size[static_cast<std::size_t>(r)];
      largest = std::max(largest, std::abs(double_of(x)));
    }
    layer.image.push_back(out(carried));
  }
  classify(queries, layer.queries, layer.query_class);
  classify(keys, layer.keys, layer.key_class);
  SparseVector constant;
  for (std::size_t c = 0; c < size; ++c)
    if (layer.norm.c[c] != 0) constant.emplace(static_cast<Index>(c), Rational(layer.norm.c[c]));
  SparseVector common = k(constant);
  for (std::size_t r = 0; r < layer.k.bias.size(); ++r)
    if (layer.k.bias[r] != 0) common[static_cast<Index>(r)] += Rational(layer.k.bias[r]);
  layer.common = planes_of(common);
  layers.push_back(std::move(layer));
}

void StackProof::Parts::grow(std::int64_t length, const std::vector<bool>& turning) const {
  std::size_t entries = 0;
  for (std::size_t f = 0; f < planes.size(); ++f)
    if (turning[f]) entries += static_cast<std::size_t>(length);
  if (entries > (std::size_t{1} << 28))
    throw Error(ErrorCode::too_large, "a proof over " + std::to_string(length) +
                                          " lags of so many planes takes too much memory");
  for (std::size_t f = 0; f < planes.size(); ++f) {
    if (!turning[f]) continue;
    const proofs_numeric::FixedTurns turns = proofs_numeric::fixed_turns(planes[f].frequency);
    for (auto t = static_cast<std::int64_t>(cosine[f].size()); t < length; ++t) {
      const proofs_numeric::FixedTurns angle =
          turns * static_cast<proofs_numeric::FixedTurns>(static_cast<std::uint64_t>(t));
      cosine[f].push_back(proofs_numeric::cosine(angle));
      sine[f].push_back(proofs_numeric::sine(angle));
    }
  }
}

// ---- bounds, layer by layer --------------------------------------------------------------------

namespace {

// float32 errors, all 0 in real arithmetic.
struct Rounding {
  double u = 0;
  double zeta = 0;
  explicit Rounding(Arithmetic arithmetic, std::int64_t length) {
    if (arithmetic == Arithmetic::real) return;
    u = 0x1p-24;
    zeta = 0x1p-16 + gamma(4 * length + 8);
  }
  [[nodiscard]] double gamma(std::int64_t k) const {
    const double x = static_cast<double>(k) * u;
    return x < 1 ? up(x / (1 - x)) : std::numeric_limits<double>::infinity();
  }
};

struct Range {
  double lo = 0, hi = 0;
};

// What is known of the stream before a layer, and of what layers wrote.
struct Written {
  Range total;                // of the weights, at any position
  double right = 1;           // weight of the right token at a valid position, at least
  double leaked = 0;          // of all others, at most
  std::vector<Range> hull;    // by coordinate, without error
  std::vector<double> error;  // by coordinate
};

double magnitude(const Range& r) { return std::max(std::abs(r.lo), std::abs(r.hi)); }

// The least lead of low(t) over high(u) at two different lags below n >= 2: for each extreme lag
// the other side has another one.
template <class Low, class High, class Lead>
double apart(const Low& low, const High& high, std::int64_t n, const Lead& lead) {
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  for (std::int64_t t = 1; t < n; ++t) {
    if (low(t) < low(lowest)) lowest = t;
    if (high(t) > high(highest)) highest = t;
  }
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t t = 0; t < n; ++t) {
    if (t != highest) least = std::min(least, lead(low(t), high(highest)));
    if (t != lowest) least = std::min(least, lead(low(lowest), high(t)));
  }
  return least;
}

}  // namespace

StackBounds StackProof::bounds(std::int64_t length, Arithmetic arithmetic) const {
  const Parts& p = *parts_;
  if (length < 1 || length > (std::int64_t{1} << 24))
    throw Error(ErrorCode::bad_value,
                "a length must lie in 1..2^24, not " + std::to_string(length));
  if (arithmetic == Arithmetic::float32 && !p.normed)
    throw Error(ErrorCode::bad_value, "plain models are proven in real arithmetic");
  const Rounding fl(arithmetic, length);
  const auto d = static_cast<std::size_t>(p.d);
  const auto tokens = static_cast<std::size_t>(p.vocabulary.size());
  const double n = static_cast<double>(length);

  std::vector<double> own_size(d, 0.0);  // largest |E(v)_c|
  for (std::size_t v = 1; v < tokens; ++v)
    for (const auto& [c, value] : p.embedding[v])
      own_size[static_cast<std::size_t>(c)] =
          std::max(own_size[static_cast<std::size_t>(c)], std::abs(double_of(value)));

  std::vector<Written> written(1);
  written[0].total = {1, 1};
  // The stream without the embedding, over layers so far.
  std::vector<Range> others(d);
  std::vector<double> error(d, 0.0);

  struct Stream {
    Range rho;
    double mean = 0;           // M
    std::vector<double> size;  // |x|_c over all tokens
  };
  const auto stream_before = [&] {
    Stream s{{1, 1}, 0, std::vector<double>(d)};
    double mean_size = 0;
    double mean_error = 0;
    double mean_product = 0;
    double mean_square = 0;
    for (std::size_t c = 0; c < d; ++c) {
      s.size[c] = own_size[c] + magnitude(others[c]);
      mean_size += s.size[c] + error[c];
      mean_error += error[c];
      mean_product += s.size[c] * error[c];
      mean_square += error[c] * error[c];
    }
    const auto width = static_cast<double>(d);
    if (!p.normed) return s;
    if (p.norm_kind == NormKind::layer)
      s.mean = fl.u == 0
                   ? 0
                   : up(mean_error / width + fl.gamma(2 * p.d + 16) * mean_size / width + tiny);
    Range square{std::numeric_limits<double>::infinity(), 0};
    std::vector<double> base(d);
    double rest_lo = 0;
    double rest_hi = 0;
    const auto squared = [](const Range& x) {
      const double a = x.lo * x.lo;
      const double b = x.hi * x.hi;
      return Range{x.lo <= 0 && x.hi >= 0 ? 0 : std::min(a, b), std::max(a, b)};
    };
    for (std::size_t c = 0; c < d; ++c) {
      const Range r = squared(others[c]);
      rest_lo += r.lo;
      rest_hi += r.hi;
    }
    for (std::size_t v = 1; v < tokens; ++v) {
      Range sum{rest_lo, rest_hi};
      for (const auto& [c, value] : p.embedding[v]) {
        const Range& o = others[static_cast<std::size_t>(c)];
        const double x = double_of(value);
        const Range with = squared({x + o.lo, x + o.hi});
        const Range without = squared(o);
        sum.lo += with.lo - without.lo;
        sum.hi += with.hi - without.hi;
      }
      square.lo = std::min(square.lo, sum.lo);
      square.hi = std::max(square.hi, sum.hi);
    }
    const double off =
        fl.u == 0 ? 0 : up(3 * s.mean * s.mean + (2 * mean_product + mean_square) / width + tiny);
    const auto widened = [&](double x) { return off + fl.gamma(4 * p.d + 16) * (x / width + off); };
    const double wide = slack + fl.gamma(8);
    s.rho.lo =
        (1 - wide) / std::sqrt(square.hi / width + widened(square.hi) + p.eps * (1 + eps_doubt));
    s.rho.hi =
        (1 + wide) /
        std::sqrt(std::max(square.lo / width - widened(square.lo) + p.eps * (1 - eps_doubt), 0.0));
    return s;
  };

  // Errors of the rows of a matrix that reads the stream, whose sizes are given.
  const auto reading_error = [&](const Sparse& w, const NormWeights& norm, const Stream& s,
                                 const std::vector<double>& size) {
    std::vector<double> result(w.rows.size(), 0.0);
    if (fl.u == 0) return result;
    for (std::size_t r = 0; r < w.rows.size(); ++r) {
      if (w.rows[r].empty()) continue;
      const auto terms = static_cast<std::int64_t>(w.rows[r].size());
      double of_error = 0;
      double sum = 0;
      double all = 0;
      double widths = 0;
      double weights = 0;
      double constant = 0;
      double exact_constant = std::abs(w.bias[r]);
      for (const auto& [column, weight] : w.rows[r]) {
        const auto c = static_cast<std::size_t>(column);
        const double wg = weight * norm.g[c];
        of_error += std::abs(wg) * error[c];
        widths += std::abs(wg);
        weights += std::abs(weight);
        sum += wg;
        all += std::abs(wg) * (size[c] + error[c] + s.mean);
        (norm.g[c] == 0 ? exact_constant : constant) += std::abs(weight * norm.c[c]);
      }
      result[r] = up(s.rho.hi * (of_error + s.mean * (std::abs(sum) + 0x1p-44 * widths) +
                                 fl.gamma(terms + 8) * all) +
                     fl.gamma(terms + 8) * constant + fl.gamma(terms + 2) * exact_constant +
                     tiny * (1 + weights + widths));
    }
    return result;
  };
  const auto pairs_of = [&](const std::vector<double>& rows) {
    Planes result;
    for (const Plane& plane : p.planes)
      result.push_back(
          {rows[static_cast<std::size_t>(plane.x)], rows[static_cast<std::size_t>(plane.y)]});
    return result;
  };

  StackBounds bounds;
  bounds.margin = std::numeric_limits<double>::infinity();
  for (int l = 1; l <= p.hops; ++l) {
    const HopLayer& layer = p.layers[static_cast<std::size_t>(l - 1)];
    const Stream s = stream_before();
    const Written& query = written[static_cast<std::size_t>(p.query_source(l))];
    const Written& value = written[static_cast<std::size_t>(p.value_source(l))];

    // Sizes of queries (rho apart), of keys, and the errors of both.
    std::vector<double> largest_query(p.planes.size(), 0.0);
    for (const Planes& q : layer.queries)
      for (std::size_t f = 0; f < q.size(); ++f)
        largest_query[f] = std::max(largest_query[f], q[f].size());
    std::vector<double> key_size(p.planes.size(), 0.0);
    for (const Planes& k : layer.keys)
      for (std::size_t f = 0; f < k.size(); ++f) key_size[f] = std::max(key_size[f], k[f].size());
    const Planes key_error = pairs_of(reading_error(layer.k, layer.norm, s, s.size));
    std::int64_t live = 0;
    for (std::size_t f = 0; f < p.planes.size(); ++f) {
      key_size[f] = up(s.rho.hi * key_size[f] + layer.common[f].size());
      live += key_size[f] + key_error[f].size() > 0 ? 1 : 0;
    }
    std::vector<Planes> query_error(layer.queries.size(), Planes(p.planes.size(), Pair{}));
    if (fl.u != 0) {
      const Planes everywhere = pairs_of(reading_error(layer.q, layer.norm, s, s.size));
      for (std::size_t v = 1; v < tokens; ++v) {
        Planes& largest = query_error[layer.query_class[v]];
        Planes here = everywhere;
        if (p.query_source(l) == 0) {
          std::vector<double> size(d);
          for (std::size_t c = 0; c < d; ++c) size[c] = magnitude(others[c]);
          for (const auto& [c, x] : p.embedding[v])
            size[static_cast<std::size_t>(c)] += std::abs(double_of(x));
          here = pairs_of(reading_error(layer.q, layer.norm, s, size));
        }
        for (std::size_t f = 0; f < here.size(); ++f) {
          largest[f].x = std::max(largest[f].x, here[f].x);
          largest[f].y = std::max(largest[f].y, here[f].y);
        }
      }
    }

    double spread = 0;  // F, without the scale
    for (const Planes& q : layer.queries) {
      double sum = 0;
      for (std::size_t f = 0; f < q.size(); ++f) sum += q[f].size() * key_size[f];
      spread = std::max(spread, sum);
    }
    spread = up(p.scale * spread);

    // Planes that turn within this length, and the price of calling the others still.
    std::vector<bool> turning(p.planes.size(), false);
    double still_price = 0;
    for (std::size_t f = 0; f < p.planes.size(); ++f) {
      if (largest_query[f] * key_size[f] == 0) continue;
      turning[f] = n * p.planes[f].speed >= 0x1p-20;
      if (!turning[f]) still_price += n * p.planes[f].speed * largest_query[f] * key_size[f];
    }
    p.grow(length, turning);
    const bool any = std::find(turning.begin(), turning.end(), true) != turning.end();
    const std::int64_t lags = any ? length : 1;

    double wrong = 0;  // largest wrong mass
    std::map<std::pair<std::size_t, Token>, bool> done;
    for (std::size_t v = 1; v < tokens; ++v) {
      const Token wanted = p.vocabulary.wants(static_cast<Token>(v));
      const std::size_t a = layer.query_class[v];
      if (done[{a, wanted}]) continue;
      done[{a, wanted}] = true;
      if (p.vocabulary.rule == Rule::lag && wanted >= length) continue;
      const Planes& q = layer.queries[a];

      // e: by how much a logit can be off.
      double e = s.rho.hi * query.total.hi * (spread * 0x1p-40 + p.scale * still_price);
      if (fl.u != 0) {
        double sum = 0;
        double top = 0;
        double parts = 0;
        for (std::size_t f = 0; f < q.size(); ++f) {
          const double qf =
              s.rho.hi * query.total.hi * (p.query_source(l) == 0 ? q[f].size() : largest_query[f]);
          const double kf = key_size[f];
          const double qe = query_error[a][f].size();
          const double ke = key_error[f].size();
          const double angle = n * p.planes[f].speed * p.planes[f].relative * fl.u;
          const double whole = (qf + qe) * (kf + ke);
          sum += qf * ke + qe * kf + qe * ke + whole * (angle + 0x1p-20 + fl.gamma(2 * live + 8));
          top += whole;
          parts += qf + kf + qe + ke;
        }
        e += p.scale * (1 + 0x1p-18) * (sum + 4 * fl.u * top) + tiny * (1 + parts);
      }
      e = up(e);

      // Logits without rho_i and the weight of the token, at every lag: A of every key class, B.
      const std::size_t classes = layer.keys.size();
      std::vector<std::vector<double>> shown(
          classes, std::vector<double>(static_cast<std::size_t>(lags), 0.0));
      std::vector<double> common(static_cast<std::size_t>(lags), 0.0);
      const auto add = [&](const Planes& k, std::vector<double>& out) {
        for (std::size_t f = 0; f < q.size(); ++f) {
          const double even = p.scale * (q[f].x * k[f].x + q[f].y * k[f].y);
          const double odd = p.scale * (q[f].x * k[f].y - q[f].y * k[f].x);
          if (even == 0 && odd == 0) continue;
          if (!turning[f]) {
            for (double& x : out) x += even;
            continue;
          }
          const double* const c = p.cosine[f].data();
          const double* const sn = p.sine[f].data();
          for (std::size_t t = 0; t < out.size(); ++t) out[t] += even * c[t] + odd * sn[t];
        }
      };
      for (std::size_t b = 0; b < classes; ++b) add(layer.keys[b], shown[b]);
      add(layer.common, common);

      std::vector<bool> right(classes, false);
      std::vector<bool> other(classes, false);
      for (std::size_t b = 1; b < tokens; ++b) {
        const bool is_right =
            p.vocabulary.rule == Rule::lag || p.vocabulary.shows(static_cast<Token>(b)) == wanted;
        (is_right ? right : other)[layer.key_class[b]] = true;
      }
      const auto lowest = [&](std::size_t t) {
        double low = std::numeric_limits<double>::infinity();
        for (std::size_t b = 0; b < classes; ++b)
          if (right[b])
            low = std::min(low, std::min(s.rho.lo * shown[b][t], s.rho.hi * shown[b][t]));
        return low + common[t];
      };
      const auto highest = [&](std::size_t t, const std::vector<bool>& of) {
        double high = -std::numeric_limits<double>::infinity();
        for (std::size_t b = 0; b < classes; ++b)
          if (of[b])
            high = std::max(high, std::max(s.rho.lo * shown[b][t], s.rho.hi * shown[b][t]));
        return high + common[t];
      };
      // D: by how much a right logit leads a wrong one, at least.
      const auto lead = [&](double low, double high) {
        const double difference = low - high;
        const double inner = (difference >= 0 ? query.right : query.total.hi) * difference -
                             2 * query.leaked * spread;
        return (inner >= 0 ? s.rho.lo : s.rho.hi) * inner - 2 * e;
      };
      double least = std::numeric_limits<double>::infinity();
      const auto share = [&](double low, double high) {
        const double d_least = lead(low, high);
        least = std::min(least, d_least);
        return std::exp(-d_least);
      };
      const auto at = [&](std::int64_t t) { return static_cast<std::size_t>(any ? t : 0); };

      double z = 0;
      switch (p.vocabulary.rule) {
        case Rule::lag: {
          const double low = lowest(at(wanted));
          if (!any) {
            z = (n - 1) * share(low, highest(0, right));
            break;
          }
          for (std::int64_t t = 0; t < length; ++t)
            if (t != wanted) z += share(low, highest(at(t), right));
          break;
        }
        case Rule::token: {
          double low = std::numeric_limits<double>::infinity();
          for (std::int64_t t = 0; t < lags; ++t) low = std::min(low, lowest(at(t)));
          if (!any) {
            z = n * share(low, highest(0, other));
            break;
          }
          for (std::int64_t t = 0; t < length; ++t) z += share(low, highest(at(t), other));
          least = apart([&](std::int64_t t) { return lowest(at(t)); },
                        [&](std::int64_t t) { return highest(at(t), other); }, length, lead);
          break;
        }
        case Rule::last: {
          // Before t* only other letters are wrong, after it every key is.
          std::vector<bool> every(classes, false);
          for (std::size_t b = 0; b < classes; ++b) every[b] = right[b] || other[b];
          if (lags > most_lags_of_last)
            throw Error(ErrorCode::too_large,
                        "rule last is proven up to length " + std::to_string(most_lags_of_last));
          for (std::int64_t target = 0; target < lags; ++target) {
            const double low = lowest(at(target));
            double sum = 0;
            for (std::int64_t t = 0; t < length; ++t)
              if (t != target) sum += share(low, highest(at(t), t < target ? other : every));
            z = std::max(z, sum);
          }
          break;
        }
      }
      if (l == 1 && length > 1) bounds.margin = std::min(bounds.margin, least);
      z = up(z * (1 + 1e-12)) + (fl.u != 0 ? n * 0x1p-100 : 0);
      // Where underflow counts, the right key must not be lost in it.
      const bool counts = std::isfinite(z) && (fl.u == 0 || z < 1024);
      wrong = std::max(wrong, counts ? up(z / (1 + z)) : 1.0);
    }

    Written now;
    const double floor = std::max(1 - wrong, 0.0);
    bounds.mass.push_back(std::max(down(floor * (1 - fl.zeta)), 0.0));
    now.total = {down(s.rho.lo * value.total.lo * (1 - fl.zeta)),
                 up(s.rho.hi * value.total.hi * (1 + fl.zeta))};
    now.right = down(floor * s.rho.lo * value.right * (1 - fl.zeta));
    now.leaked = up(s.rho.hi * (wrong * value.total.hi + value.leaked) * (1 + fl.zeta));
    if (!(now.total.lo > 0) || !std::isfinite(now.total.hi)) {
      bounds.mass.resize(static_cast<std::size_t>(p.hops), 0.0);
      return bounds;
    }

    // What it writes: hulls, then errors.
    std::vector<Range> least_most(d);
    for (std::size_t c = 0; c < d; ++c) least_most[c] = {0, 0};
    std::vector<std::size_t> seen(d, 0);
    for (std::size_t v = 1; v < tokens; ++v)
      for (const auto& [c, x] : layer.image[v]) {
        const auto i = static_cast<std::size_t>(c);
        const double y = double_of(x);
        least_most[i] = seen[i] == 0
                            ? Range{y, y}
                            : Range{std::min(least_most[i].lo, y), std::max(least_most[i].hi, y)};
        ++seen[i];
      }
    now.hull.resize(d);
    for (std::size_t c = 0; c < d; ++c) {
      Range r = least_most[c];
      if (seen[c] != 0 && seen[c] + 1 < tokens) r = {std::min(r.lo, 0.0), std::max(r.hi, 0.0)};
      now.hull[c] = {down(std::min(now.total.lo * r.lo, now.total.hi * r.lo)),
                     up(std::max(now.total.lo * r.hi, now.total.hi * r.hi))};
    }
    now.error.assign(d, 0.0);
    if (fl.u != 0) {
      const std::vector<double> value_error = reading_error(layer.v, layer.norm, s, s.size);
      for (std::size_t c = 0; c < d; ++c) {
        const SparseRow& row = layer.out.rows[c];
        if (row.empty()) continue;
        const auto terms = static_cast<std::int64_t>(row.size());
        double sum = 0;
        for (const auto& [column, w] : row) {
          const auto r = static_cast<std::size_t>(column);
          const double size = s.rho.hi * value.total.hi * layer.value_size[r];
          sum +=
              std::abs(w) * ((1 + fl.zeta) * (value_error[r] + fl.gamma(2 * length + terms + 10) *
                                                                   (size + value_error[r])) +
                             tiny);
        }
        sum += tiny;
        // Joining the stream.
        if (s.size[c] > 0 || error[c] > 0)
          sum += fl.u * (s.size[c] + error[c] + magnitude(now.hull[c]) + sum);
        now.error[c] = up(sum);
      }
    }
    for (std::size_t c = 0; c < d; ++c) {
      others[c] = {others[c].lo + now.hull[c].lo, others[c].hi + now.hull[c].hi};
      error[c] += now.error[c];
    }
    written.push_back(std::move(now));
  }

  const Stream s = stream_before();
  const Written& last = written.back();
  const std::vector<double> score_error = reading_error(p.unembedding, p.final_norm, s, s.size);
  double range = 0;
  double largest = 0;
  for (std::size_t v = 1; v < tokens; ++v) {
    const auto [lo, hi] = std::minmax_element(p.found[v].begin(), p.found[v].end());
    range = std::max(range, *hi - *lo);
    largest = std::max({largest, std::abs(*lo), std::abs(*hi)});
    for (const double x : p.own[v]) largest = std::max(largest, std::abs(x));
  }
  bounds.gap = std::numeric_limits<double>::infinity();
  const auto judge = [&](std::size_t a, std::size_t b) {
    const bool keeps =
        p.vocabulary.rule == Rule::lag && !p.vocabulary.is_leaf(static_cast<Token>(b));
    const std::size_t answer = keeps ? a : b;
    const auto lead = [&](std::size_t o, double weight) {
      return p.own[a][answer] - p.own[a][o] + weight * (p.found[b][answer] - p.found[b][o]);
    };
    for (std::size_t o = 0; o < tokens; ++o) {
      if (o == answer) continue;
      const double inner = std::min(lead(o, last.right), lead(o, last.total.hi)) -
                           last.leaked * range - slack * largest * (1 + last.total.hi);
      const double gap =
          (inner >= 0 ? s.rho.lo : s.rho.hi) * inner - score_error[answer] - score_error[o];
      bounds.gap = std::min(bounds.gap, down(gap));
    }
  };
  for (std::size_t a = 1; a < tokens; ++a) {
    if (p.vocabulary.is_leaf(static_cast<Token>(a))) {
      judge(a, a);
      continue;
    }
    for (std::size_t b = 1; b < tokens; ++b) judge(a, b);
  }
  return bounds;
}

std::int64_t StackProof::longest(Arithmetic arithmetic, std::int64_t limit) const {
  const auto holds = [&](std::int64_t n) { return bounds(n, arithmetic).gap > 0; };
  if (limit < 1 || !holds(1)) return 0;
  std::int64_t low = 1;
  std::int64_t high = 2;
  while (high <= limit && holds(high)) {
    low = high;
    high *= 2;
  }
  high = std::min(high, limit + 1);  // does not hold, or lies beyond
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (holds(middle) ? low : high) = middle;
  }
  return low;
}

StackProof::StackProof(const Model& model, const Vocabulary& vocabulary, int hops)
    : parts_(std::make_unique<Parts>(model, vocabulary, hops)) {}
StackProof::~StackProof() = default;
StackProof::StackProof(StackProof&&) noexcept = default;

proofs_numeric::Fact stack_fact(const std::vector<std::pair<std::string, std::string>>& files,
                                const Vocabulary& vocabulary, int hops, std::int64_t length,
                                Arithmetic arithmetic, const StackBounds& bounds) {
  // Eight decimals, rounded down, and a millionth less.
  const auto claimed = [](double x) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.8f", std::floor(x * (1 - 1e-6) * 1e8) / 1e8);
    return std::string(text.data());
  };
  proofs_numeric::Fact fact;
  fact["kind"] = "stack";
  fact["files"] = proofs_numeric::Fact::object();
  for (const auto& [name, hash] : files) fact["files"][name] = hash;
  fact["task"] = {{"rule", constructions::name(vocabulary.rule)},
                  {"letters", std::to_string(vocabulary.letters)},
                  {"numbers", std::to_string(vocabulary.numbers)},
                  {"hops", std::to_string(hops)}};
  fact["length"] = std::to_string(length);
  fact["arithmetic"] = name(arithmetic);
  fact["mass"] = proofs_numeric::Fact::array();
  for (const double m : bounds.mass) fact["mass"].push_back(claimed(m));
  fact["gap"] = claimed(bounds.gap);
  return fact;
}

}  // namespace ropewalk::checkpoints
