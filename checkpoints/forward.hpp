#pragma once
/// \file
/// The forward pass, layer by layer over many inputs at once: a layer's weights are converted once,
/// used for every input, and let go, so a large file is never in memory as floats.
///
///   const auto last = forward<float>(model, inputs);        // logits of the next token
///   forward<double>(model, inputs, {}, [](const Pass<double>& pass) {
///     pass.weights[3](i, j);                                // head 3: query i on key j
///   });
///
/// In float the rotary table is the one that frameworks build (float32 inv_freq, float32 angles);
/// in double it comes from the exact frequencies. Everything a layer computes can be watched.

#include <Eigen/Core>
#include <functional>
#include <optional>
#include <vector>

#include "checkpoints/model.hpp"

namespace ropewalk::checkpoints {

/// One row per token.
template <class S>
using Rows = Eigen::Matrix<S, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

using Tokens = std::vector<std::int32_t>;

/// How queries and keys turn: as the model says, in one of the layouts whatever it says, or not.
enum class Rotation { as_stated, interleaved, half_split, none };

/// Cosine and sine of every position and plane, the attention factor included: positions x planes.
template <class S>
struct RotaryTable {
  Rows<S> cosine, sine;
};
/// The table of a resolved schedule for positions 0 .. length-1. In float: float32 inv_freq times
/// float32 position, as transformers does it. In double: the exact frequencies rounded once.
/// Guarantee: Heuristic (ordinary rounding). Cost: length x planes cosines.
template <class S>
[[nodiscard]] RotaryTable<S> rotary_table(const theory::Schedule& schedule, std::int64_t length);

/// Turns the heads in `x` (tokens x heads * head_dim) in place; row p stands at position p.
/// The first 2 x planes features of each head turn, in pairs as `pairing` says.
template <class S>
void rotate(Rows<S>& x, std::int64_t head_dim, theory::Pairing pairing,
            const RotaryTable<S>& table);

/// What multiplies, bends and limits the logits of a layer.
struct LogitRule {
  double scale = 1;
  std::optional<double> softcap;       ///< logits pass through c tanh(x / c)
  std::optional<std::int64_t> window;  ///< keys at lags 0 .. window-1 only
};

/// What one layer computed on one input.
template <class S>
struct Pass {
  std::size_t input = 0;
  std::size_t layer = 0;
  LogitRule rule;
  theory::Pairing pairing = theory::Pairing::unknown;
  std::int64_t head_dim = 0;
  const RotaryTable<S>& table;
  const Rows<S>& entering;  ///< the residual stream, tokens x hidden
  const Rows<S>& q;         ///< before rotation: tokens x heads * head_dim
  const Rows<S>& k;         ///< before rotation: tokens x kv_heads * head_dim
  const Rows<S>& v;         ///< tokens x kv_heads * width of a value
  const Rows<S>& rotated_q;
  const Rows<S>& rotated_k;
  const std::vector<Rows<S>>& logits;   ///< per query head, tokens x tokens; -infinity: masked
  const std::vector<Rows<S>>& weights;  ///< their softmax
};

/// Called once per input and layer, from several threads at once for different inputs.
template <class S>
using Watcher = std::function<void(const Pass<S>&)>;

struct ForwardOptions {
  Rotation rotation = Rotation::as_stated;
  bool every_position = false;  ///< logits of the vocabulary at all positions, not the last only
  /// Logits and weights of every head are kept for the watcher; off, Pass has empty lists there.
  bool keep_attention = true;
  /// The layers that the watcher is called for. Absent: all.
  std::function<bool(std::size_t)> watches = {};
  /// Share of the work done, from the calling thread.
  std::function<void(double)> progress = {};
};

/// Logits over the vocabulary, one matrix per input (1 or tokens x vocabulary).
/// Domain: inputs of at least one token, all ids in the vocabulary, weights with which every layer
/// computes numbers (Error(bad_value) otherwise).
/// Guarantee: Heuristic: ordinary rounding in S; rotations and masks are those of theory::resolve.
/// Cost: per input of n tokens 2 n x parameters + 2 n^2 x heads x head_dim x layers
/// multiplications; of the last layer only what the last position needs, unless every position is
/// asked for or that layer's attention kept; none for an MLP that adds nothing to the stream
/// (adds_nothing) and for a layer that adds nothing and is not watched: numbers in there are not
/// looked at. Memory: hidden states of all inputs, one layer's weights, and per thread one input's
/// work.
template <class S>
[[nodiscard]] std::vector<Rows<S>> forward(const Model& model, std::span<const Tokens> inputs,
                                           const ForwardOptions& options = {},
                                           const Watcher<S>& watch = {});

/// y = a b^T for row-major matrices, by OpenBLAS on the calling thread.
template <class S>
void times_transposed(Eigen::Ref<const Rows<S>> a, Eigen::Ref<const Rows<S>> b,
                      Eigen::Ref<Rows<S>> y);

}  // namespace ropewalk::checkpoints
