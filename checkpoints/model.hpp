#pragma once
/// \file
/// From tensors to a model: which tensor plays which part, under the names of every family that is
/// read here, with every shape held against the config.
///
///   family               spelling           norm        besides
///   gptj                 transformer.h.N    layer       q, k and v apart
///   gpt_neox (Pythia)    gpt_neox.layers.N  layer       one fused matrix
///   llama, mistral, phi3 model.layers.N     RMS         grouped heads
///   qwen2, qwen3         model.layers.N     RMS         biases; norms of heads
///   gemma2, gemma3       model.layers.N     RMS, 1 + w  norms on both sides
///   the same in GGUF     blk.N
///   ropewalk             layers.N           none        one head, no MLP
///
/// A model points into its checkpoint and holds no weights of its own.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoints/checkpoint.hpp"
#include "theory/config.hpp"

namespace ropewalk::checkpoints {

/// Rows [first, first + count) of a matrix: a fused projection is taken apart in place.
struct RowBlock {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// y = W x + b, W made of blocks of rows of one tensor. Absent where weight is null.
struct Linear {
  const Tensor* weight = nullptr;
  const Tensor* bias = nullptr;
  std::vector<RowBlock> rows;

  [[nodiscard]] std::int64_t outputs() const;
  explicit operator bool() const { return weight != nullptr; }
};

/// Rows [first, first + count) of a projection, its blocks one after another, as read_rows has them
/// of a tensor. Throws Error(bad_value) for rows outside it.
void read_rows(const Linear& linear, std::int64_t first, std::int64_t count, double* out);

/// A norm over features. Absent where weight is null: features pass as they are.
struct Norm {
  const Tensor* weight = nullptr;
  const Tensor* bias = nullptr;

  explicit operator bool() const { return weight != nullptr; }
};

enum class NormKind { none, layer, rms, rms_one_plus };
enum class Activation { gelu, gelu_tanh, silu, relu };

/// What is absent is not there in the model: a layer may have no norms, or no MLP.
struct Layer {
  Norm before_attention, after_attention;  ///< after: on the output, before it joins the stream
  Norm before_mlp, after_mlp;  ///< before_mlp absent: the MLP reads what attention reads
  Linear q, k, v, out;         ///< v: of any width, the same for every key head
  Norm q_norm, k_norm;         ///< over each head's features
  Linear gate, up, down;       ///< gate absent: down(f(up x)); else down(f(gate x) * up x)
};

/// Whether what ends with this projection and this norm leaves the stream as it is: matrix and bias
/// are 0 or absent, and there is no norm. Exact. Cost: reading them up to the first number that is
/// not 0.
[[nodiscard]] bool adds_nothing(const Linear& last, const Norm& after);
/// The same of attention and MLP together.
[[nodiscard]] bool adds_nothing(const Layer& layer);

struct Model {
  std::shared_ptr<const Checkpoint> checkpoint;
  std::string family;  ///< "gptj", "gpt_neox", "llama", "ropewalk", ...
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t vocabulary = 0;
  NormKind norm = NormKind::rms;
  double norm_eps = 0;
  Activation activation = Activation::silu;
  bool parallel = false;  ///< attention and MLP both read the stream as it enters the layer
  double embedding_scale = 1;
  std::optional<double> final_softcap;
  const Tensor* embedding = nullptr;
  Norm final_norm;
  Linear unembedding;
  std::vector<Layer> layers;
  std::vector<std::string> unread;  ///< tensors that play no part

  /// The rotary table, scale, softcap and window of a layer for sequences of `length` tokens, with
  /// the pairing of `pairing()`. Errors: those of theory::resolve.
  [[nodiscard]] theory::ResolvedRope rope(std::size_t layer, std::int64_t length) const;
  /// What the format says of the pairing, else what the architecture says.
  [[nodiscard]] theory::Pairing pairing() const;
  /// The name of a tensor of the file in transformers: its own, but for GGUF. Throws
  /// Error(unsupported) for a GGUF name whose part transformers keeps together with others.
  [[nodiscard]] std::string transformers_name(const std::string& tensor) const;
};

/// Finds every part. Throws Error(bad_value) for a tensor that is missing or has another shape than
/// the config says, naming file and tensor; Error(unsupported) for a family that is not in the
/// table above (mixtures of experts, latent attention, attention sinks are named); Error(parse) for
/// a checkpoint without a config. Cost: one lookup per tensor.
[[nodiscard]] Model read_model(std::shared_ptr<const Checkpoint> checkpoint);

}  // namespace ropewalk::checkpoints
