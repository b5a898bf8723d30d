#include "checkpoints/forward.hpp"

#include <cblas.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <type_traits>

#include "theory/error.hpp"

namespace ropewalk::checkpoints {

using Eigen::Index;
using theory::Pairing;

namespace {

// The product is called from many threads already.
void one_thread_each() {
  static const bool once = (openblas_set_num_threads(1), true);
  (void)once;
}

template <class S>
void gemm(bool transpose_b, Index rows, Index cols, Index inner, const S* a, Index lda, const S* b,
          Index ldb, S* y, Index ldy) {
  one_thread_each();
  if (rows == 0 || cols == 0) return;
  const auto n = [](Index i) { return static_cast<blasint>(i); };
  const CBLAS_TRANSPOSE t = transpose_b ? CblasTrans : CblasNoTrans;
  if constexpr (std::is_same_v<S, float>)
    cblas_sgemm(CblasRowMajor, CblasNoTrans, t, n(rows), n(cols), n(inner), 1, a, n(lda), b, n(ldb),
                0, y, n(ldy));
  else
    cblas_dgemm(CblasRowMajor, CblasNoTrans, t, n(rows), n(cols), n(inner), 1, a, n(lda), b, n(ldb),
                0, y, n(ldy));
}

// ---- weights of one layer, as S
// ------------------------------------------------------------------

template <class S>
class Weights {
 public:
  Weights() = default;
  Weights(const Tensor* tensor, const std::vector<RowBlock>& blocks) {
    if (tensor == nullptr) return;
    cols_ = tensor->shape.size() < 2 ? 1 : tensor->row_size();
    for (const RowBlock& block : blocks) rows_ += block.count;
    if constexpr (std::is_same_v<S, float>)
      if (const auto there = in_place(*tensor); !there.empty() && blocks.size() == 1) {
        data_ = there.data() + blocks.front().first * cols_;
        return;
      }
    own_.resize(static_cast<std::size_t>(rows_ * cols_));
    S* out = own_.data();
    for (const RowBlock& block : blocks) {
      read_rows(*tensor, block.first, block.count, out);
      out += block.count * cols_;
    }
    data_ = own_.data();
  }
  explicit Weights(const Tensor* tensor)
      : Weights(tensor, {{0, tensor != nullptr ? tensor->rows() : 0}}) {}

  explicit operator bool() const { return data_ != nullptr; }
  [[nodiscard]] Eigen::Map<const Rows<S>> matrix() const { return {data_, rows_, cols_}; }
  [[nodiscard]] Eigen::Map<const Eigen::RowVector<S, Eigen::Dynamic>> row() const {
    return {data_, rows_ * cols_};
  }

 private:
  const S* data_ = nullptr;
  Index rows_ = 0;
  Index cols_ = 0;
  std::vector<S> own_;
};

template <class S>
struct Affine {
  Weights<S> weight, bias;
  Affine() = default;
  explicit Affine(const Linear& linear)
      : weight(linear.weight, linear.rows), bias(linear.bias, linear.rows) {}
  explicit operator bool() const { return static_cast<bool>(weight); }

  [[nodiscard]] Rows<S> operator()(const Rows<S>& x) const {
    const auto w = weight.matrix();
    Rows<S> y(x.rows(), w.rows());
    gemm<S>(true, x.rows(), w.rows(), w.cols(), x.data(), x.cols(), w.data(), w.cols(), y.data(),
            y.cols());
    if (bias) y.rowwise() += bias.row();
    return y;
  }
};

template <class S>
struct NormOf {
  Weights<S> weight, bias;
  NormKind kind = NormKind::rms;
  S eps = 0;
  NormOf() = default;
  NormOf(const Norm& norm, const Model& model)
      : weight(norm.weight),
        bias(norm.bias),
        kind(model.norm),
        eps(static_cast<S>(model.norm_eps)) {}
  explicit operator bool() const { return static_cast<bool>(weight); }

  // Over consecutive groups of as many features as the weight has; as it is where there is none.
  [[nodiscard]] Rows<S> operator()(const Rows<S>& x) const {
    if (!weight) return x;
    const auto w = weight.row();
    const Index size = w.size();
    Rows<S> y(x.rows(), x.cols());
    for (Index r = 0; r < x.rows(); ++r)
      for (Index first = 0; first < x.cols(); first += size) {
        const auto in = x.row(r).segment(first, size);
        auto out = y.row(r).segment(first, size);
        const S mean = kind == NormKind::layer ? in.mean() : S(0);
        out = in.array() - mean;
        out /= std::sqrt(out.squaredNorm() / static_cast<S>(size) + eps);
        if (kind == NormKind::rms_one_plus)
          out.array() *= S(1) + w.array();
        else
          out.array() *= w.array();
        if (bias) out += bias.row();
      }
    return y;
  }
};

template <class S>
struct LayerWeights {
  NormOf<S> before_attention, after_attention, before_mlp, after_mlp, q_norm, k_norm;
  Affine<S> q, k, v, out, gate, up, down;
  LayerWeights(const Layer& layer, const Model& model)
      : before_attention(layer.before_attention, model),
        after_attention(layer.after_attention, model),
        before_mlp(layer.before_mlp, model),
        after_mlp(layer.after_mlp, model),
        q_norm(layer.q_norm, model),
        k_norm(layer.k_norm, model),
        q(layer.q),
        k(layer.k),
        v(layer.v),
        out(layer.out),
        gate(layer.gate),
        up(layer.up),
        down(layer.down) {}
};

template <class S>
void activate(Rows<S>& x, Activation activation) {
  auto a = x.array();
  switch (activation) {
    case Activation::relu: a = a.max(S(0)); break;
    case Activation::silu: a = a / (S(1) + (-a).exp()); break;
    case Activation::gelu_tanh: {
      const S c = static_cast<S>(0.79788456080286535588);  // sqrt(2 / pi)
      a = S(0.5) * a * (S(1) + (c * (a + S(0.044715) * a.cube())).tanh());
      break;
    }
    case Activation::gelu: {
      const S c = static_cast<S>(0.70710678118654752440);  // sqrt(1 / 2)
      a = a.unaryExpr([c](S v) { return S(0.5) * v * (S(1) + std::erf(c * v)); });
      break;
    }
  }
}

// ---- attention ---------------------------------------------------------------------------------

// Query rows are taken in blocks, so that half of the square above the diagonal is not computed.
constexpr Index block_rows = 128;
// Rows of the unembedding that are converted together.
constexpr Index vocabulary_part = 16384;

template <class S>
struct Attention {
  std::vector<Rows<S>> logits, weights;
  Rows<S> mixed;  // queries x heads * width of a value
};

// Logits of query rows [from, from + block.rows()) on keys [first, first + block.cols()), in place
// into weights; the logits go into `keep` where there is one.
template <class S>
void soften(Eigen::Ref<Rows<S>> block, Index from, Index first, const LogitRule& rule,
            Rows<S>* keep) {
  block.array() *= static_cast<S>(rule.scale);
  if (rule.softcap) {
    const S cap = static_cast<S>(*rule.softcap);
    block.array() = cap * (block.array() / cap).tanh();
  }
  for (Index r = 0; r < block.rows(); ++r) {
    const Index i = from + r;
    const Index low = rule.window ? std::max<Index>(0, i - *rule.window + 1) : 0;
    auto row = block.row(r);
    const Index skipped = std::max<Index>(0, low - first);
    const Index seen = i - first + 1;
    row.head(skipped).setConstant(-std::numeric_limits<S>::infinity());
    row.tail(block.cols() - seen).setConstant(-std::numeric_limits<S>::infinity());
    if (keep != nullptr) keep->row(i).segment(first, block.cols()) = row;
    auto live = row.segment(skipped, seen - skipped);
    live = (live.array() - live.maxCoeff()).exp();
    live /= live.sum();
    row.head(skipped).setZero();
    row.tail(block.cols() - seen).setZero();
  }
}

// Of the queries from `begin` on.
template <class S>
Attention<S> attend(const Model& model, const Rows<S>& q, const Rows<S>& k, const Rows<S>& v,
                    const LogitRule& rule, bool keep, Index begin) {
  const Index n = q.rows();
  const Index d = model.head_dim;
  const Index share = model.heads / model.kv_heads;
  const Index width = v.cols() / model.kv_heads;
  Attention<S> result;
  result.mixed.resize(n - begin, model.heads * width);
  Rows<S> room(std::min(block_rows, n - begin), n);
  for (Index h = 0; h < model.heads; ++h) {
    const Index at = h * d;
    const Index key = h / share * d;
    if (keep) {
      result.logits.emplace_back(Rows<S>::Constant(n, n, -std::numeric_limits<S>::infinity()));
      result.weights.emplace_back(Rows<S>::Zero(n, n));
    }
    for (Index from = begin; from < n; from += block_rows) {
      const Index rows = std::min(block_rows, n - from);
      const Index first = rule.window ? std::max<Index>(0, from - *rule.window + 1) : 0;
      const Index cols = from + rows - first;
      auto block = Eigen::Map<Rows<S>>(room.data(), rows, cols);
      gemm<S>(true, rows, cols, d, &q(from, at), q.cols(), &k(first, key), k.cols(), block.data(),
              cols);
      soften<S>(block, from, first, rule, keep ? &result.logits.back() : nullptr);
      if (keep) result.weights.back().block(from, first, rows, cols) = block;
      gemm<S>(false, rows, width, cols, block.data(), cols, &v(first, h / share * width), v.cols(),
              &result.mixed(from - begin, h * width), result.mixed.cols());
    }
  }
  return result;
}

// What the MLP adds; nothing, and no rows, where there is none.
template <class S>
Rows<S> think(const LayerWeights<S>& layer, const Rows<S>& read, const Model& model) {
  if (!layer.down) return {};
  Rows<S> inner = layer.up(read);
  if (layer.gate) {
    Rows<S> gate = layer.gate(read);
    activate(gate, model.activation);
    inner.array() *= gate.array();
  } else {
    activate(inner, model.activation);
  }
  return layer.after_mlp(layer.down(inner));
}

Pairing pairing_of(Rotation rotation, Pairing stated) {
  switch (rotation) {
    case Rotation::interleaved: return Pairing::interleaved;
    case Rotation::half_split: return Pairing::half_split;
    case Rotation::as_stated:
    case Rotation::none: break;
  }
  return stated;
}

template <class S>
struct LayerRule {
  LogitRule rule;
  Pairing pairing = Pairing::unknown;
  RotaryTable<S> table;
};

template <class S>
LayerRule<S> rule_of(const Model& model, std::size_t layer, std::int64_t length,
                     Rotation rotation) {
  const theory::ResolvedRope rope = model.rope(layer, length);
  if (rope.attention_chunk) throw Error(ErrorCode::unsupported, "attention in chunks is not run");
  LayerRule<S> result;
  result.pairing = pairing_of(rotation, rope.layout);
  if (result.pairing == Pairing::unknown)
    throw Error(ErrorCode::unsupported,
                model.checkpoint->path + ": the pairing layout is not known");
  result.table = rotary_table<S>(rope.schedule, length);
  // The attention factor is in the table; the resolver's scale has its square.
  const auto factor = rope.schedule.attention_factor.as<double>();
  result.rule.scale = rope.logit_scale.as<double>() / (factor * factor);
  if (rope.softcap) result.rule.softcap = static_cast<double>(*rope.softcap);
  if (rope.sliding_window && *rope.sliding_window < length)
    result.rule.window = static_cast<std::int64_t>(*rope.sliding_window);
  if (rotation == Rotation::none) {
    result.table.cosine.setConstant(static_cast<S>(factor));
    result.table.sine.setZero();
  }
  return result;
}

}  // namespace

template <class S>
void times_transposed(Eigen::Ref<const Rows<S>> a, Eigen::Ref<const Rows<S>> b,
                      Eigen::Ref<Rows<S>> y) {
  gemm<S>(true, a.rows(), b.rows(), a.cols(), a.data(), a.outerStride(), b.data(), b.outerStride(),
          y.data(), y.outerStride());
}

template <class S>
RotaryTable<S> rotary_table(const theory::Schedule& schedule, std::int64_t length) {
  const auto planes = static_cast<Index>(schedule.frequencies.size());
  RotaryTable<S> table{Rows<S>(length, planes), Rows<S>(length, planes)};
  std::vector<S> frequency;
  S factor = 1;
  if constexpr (std::is_same_v<S, float>) {
    frequency = schedule.float32;
    factor = schedule.attention_factor_float32;
  } else {
    for (const theory::Formula& f : schedule.frequencies) frequency.push_back(f.as<double>());
    factor = schedule.attention_factor.as<double>();
  }
  for (Index p = 0; p < length; ++p)
    for (Index f = 0; f < planes; ++f) {
      const S angle = static_cast<S>(p) * frequency[static_cast<std::size_t>(f)];
      table.cosine(p, f) = std::cos(angle) * factor;
      table.sine(p, f) = std::sin(angle) * factor;
    }
  return table;
}

template <class S>
void rotate(Rows<S>& x, std::int64_t head_dim, Pairing pairing, const RotaryTable<S>& table) {
  const Index planes = table.cosine.cols();
  const bool apart = pairing == Pairing::half_split;
  const Index step = apart ? 1 : 2;
  const Index gap = apart ? planes : 1;
  for (Index p = 0; p < x.rows(); ++p)
    for (Index head = 0; head < x.cols(); head += head_dim)
      for (Index f = 0; f < planes; ++f) {
        S& first = x(p, head + step * f);
        S& second = x(p, head + step * f + gap);
        const S c = table.cosine(p, f);
        const S s = table.sine(p, f);
        const S turned = c * first - s * second;
        second = s * first + c * second;
        first = turned;
      }
}

template <class S>
std::vector<Rows<S>> forward(const Model& model, std::span<const Tokens> inputs,
                             const ForwardOptions& options, const Watcher<S>& watch) {
  std::vector<Rows<S>> stream;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tokens& tokens = inputs[i];
    if (tokens.empty())
      throw Error(ErrorCode::bad_value, "input " + std::to_string(i + 1) + " has no tokens");
    Rows<S> x(static_cast<Index>(tokens.size()), model.hidden);
    for (std::size_t p = 0; p < tokens.size(); ++p) {
      if (tokens[p] < 0 || tokens[p] >= model.vocabulary)
        throw Error(ErrorCode::bad_value,
                    "input " + std::to_string(i + 1) + ", token " + std::to_string(p + 1) +
                        ": id " + std::to_string(tokens[p]) + " is outside the vocabulary 0.." +
                        std::to_string(model.vocabulary - 1));
      read_rows(*model.embedding, tokens[p], 1, &x(static_cast<Index>(p), 0));
    }
    if (model.embedding_scale != 1) x *= static_cast<S>(model.embedding_scale);
    stream.push_back(std::move(x));
  }

  const auto is_watched = [&](std::size_t l) {
    return watch && (!options.watches || options.watches(l));
  };
  const auto runs = [&](std::size_t l) { return is_watched(l) || !adds_nothing(model.layers[l]); };
  std::size_t end = model.layers.size();
  while (end > 0 && !runs(end - 1)) --end;

  for (std::size_t l = 0; l < end; ++l) {
    if (options.progress) options.progress(static_cast<double>(l) / static_cast<double>(end));
    if (!runs(l)) continue;
    const bool keep = is_watched(l) && options.keep_attention;
    // Behind the last layer nothing reads the other rows.
    const bool last_row = l + 1 == end && !options.every_position && !keep;
    Layer parts = model.layers[l];
    if (adds_nothing(parts.down, parts.after_mlp)) parts.gate = parts.up = parts.down = {};
    const LayerWeights<S> layer(parts, model);
    std::map<Index, LayerRule<S>> rules;  // by length, which the table may depend on
    for (const Rows<S>& x : stream)
      if (!rules.contains(x.rows()))
        rules.emplace(x.rows(), rule_of<S>(model, l, x.rows(), options.rotation));

    tbb::parallel_for(std::size_t{0}, stream.size(), [&](std::size_t i) {
      Rows<S>& x = stream[i];
      const LayerRule<S>& rule = rules.at(x.rows());
      Rows<S> normed = layer.before_attention(x);
      Rows<S> q = layer.q(normed);
      Rows<S> k = layer.k(normed);
      const Rows<S> v = layer.v(normed);
      if (layer.q_norm) q = layer.q_norm(q);
      if (layer.k_norm) k = layer.k_norm(k);
      Rows<S> turned_q = q;
      Rows<S> turned_k = k;
      rotate(turned_q, model.head_dim, rule.pairing, rule.table);
      rotate(turned_k, model.head_dim, rule.pairing, rule.table);
      const Attention<S> attention =
          attend(model, turned_q, turned_k, v, rule.rule, keep, last_row ? x.rows() - 1 : 0);
      if (is_watched(l))
        watch(Pass<S>{i, l, rule.rule, rule.pairing, model.head_dim, rule.table, x, q, k, v,
                      turned_q, turned_k, attention.logits, attention.weights});
      if (last_row) {
        x = Rows<S>(x.bottomRows(1));
        normed = Rows<S>(normed.bottomRows(1));
      }
      const Rows<S> attended = layer.after_attention(layer.out(attention.mixed));
      if (!model.parallel) x += attended;
      const Rows<S> thought = think(layer, layer.before_mlp ? layer.before_mlp(x) : normed, model);
      if (model.parallel) x += attended;
      if (layer.down) x += thought;
      if (!x.allFinite())
        throw Error(ErrorCode::bad_value, model.checkpoint->path + ": layer " + std::to_string(l) +
                                              " computes infinities or NaN; `ropewalk inspect` "
                                              "looks for them in the weights");
    });
  }

  const NormOf<S> final_norm(model.final_norm, model);
  for (Rows<S>& x : stream) {
    if (!options.every_position) x = Rows<S>(x.bottomRows(1));
    x = final_norm(x);
  }
  // The largest matrix of most models: a part of the vocabulary at a time.
  std::vector<Rows<S>> result(stream.size());
  for (Index first = 0; first < model.vocabulary; first += vocabulary_part) {
    const Index count = std::min(vocabulary_part, model.vocabulary - first);
    const Linear& head = model.unembedding;
    const Affine<S> part(Linear{head.weight, head.bias, {{first, count}}});
    tbb::parallel_for(std::size_t{0}, stream.size(), [&](std::size_t i) {
      if (first == 0) result[i].resize(stream[i].rows(), model.vocabulary);
      result[i].middleCols(first, count) = part(stream[i]);
    });
  }
  if (model.final_softcap)
    for (Rows<S>& logits : result) {
      const S cap = static_cast<S>(*model.final_softcap);
      logits.array() = cap * (logits.array() / cap).tanh();
    }
  return result;
}

template RotaryTable<float> rotary_table(const theory::Schedule&, std::int64_t);
template void rotate(Rows<float>&, std::int64_t, Pairing, const RotaryTable<float>&);
template std::vector<Rows<float>> forward(const Model&, std::span<const Tokens>,
                                          const ForwardOptions&, const Watcher<float>&);
template void times_transposed<float>(Eigen::Ref<const Rows<float>>, Eigen::Ref<const Rows<float>>,
                                      Eigen::Ref<Rows<float>>);
template RotaryTable<double> rotary_table(const theory::Schedule&, std::int64_t);
template void rotate(Rows<double>&, std::int64_t, Pairing, const RotaryTable<double>&);
template std::vector<Rows<double>> forward(const Model&, std::span<const Tokens>,
                                           const ForwardOptions&, const Watcher<double>&);
template void times_transposed<double>(Eigen::Ref<const Rows<double>>,
                                       Eigen::Ref<const Rows<double>>, Eigen::Ref<Rows<double>>);

}  // namespace ropewalk::checkpoints
