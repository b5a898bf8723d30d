#pragma once
/// \file
/// A loaded model written as Hugging Face keeps it: config.json and model.safetensors, the rows of
/// queries and keys in the pairing layout that is wanted.
///
///   const Export out(model, {.layout = Pairing::half_split, .dtype = DType::bf16});
///   out.config().dump(2);
///   out.write([&](std::string_view bytes) { file.write(bytes); });
///
/// The permutation is exact: a logit is a scalar product and does not care for order. Norms over a
/// head's features and biases move with the rows.

#include <functional>
#include <string_view>

#include "checkpoints/model.hpp"

namespace ropewalk::checkpoints {

struct ExportOptions {
  /// Layout of the weights as they are; absent: what the model says (Model::pairing).
  std::optional<theory::Pairing> from = {};
  /// Layout to write; absent: the one in which transformers runs this family.
  std::optional<theory::Pairing> layout = {};
  DType dtype = DType::f32;  ///< f32, bf16 or f16
};

class Export {
 public:
  /// Throws Error(unsupported) for another dtype, and for a GGUF file of a family that keeps its
  /// projections in one matrix. Cost: none.
  Export(const Model& model, const ExportOptions& options);

  /// The model's config with the element type, and with the architecture and whether the embedding
  /// is tied where the file did not say; of a constructed model (constructed.hpp) with length 0:
  /// its proof is about the file it came from.
  [[nodiscard]] const nlohmann::json& config() const { return config_; }
  /// True where transformers runs this family in another layout than the one written.
  [[nodiscard]] bool foreign_layout() const { return foreign_; }
  /// True of a constructed model that says to be proven at some length, which the copy does not.
  [[nodiscard]] bool unproven() const { return unproven_; }
  /// The bytes of model.safetensors, in order. Values are rounded to nearest, ties to even; from
  /// float32 to float32 they stay the same bit for bit. Throws Error(bad_value), naming the tensor,
  /// for a number beyond the type's range. Memory: one block of rows.
  void write(const std::function<void(std::string_view)>& sink) const;

 private:
  struct Part {
    const Tensor* tensor = nullptr;
    std::string name;
    std::vector<std::int64_t> order;  // row r is row order[r] of the tensor; empty: as it is
    bool minus_one = false;           // the file has 1 + w
  };
  Part& part(const Tensor& tensor);
  void permute(const Linear& linear, std::int64_t heads, std::span<const std::int64_t> head_order);
  void permute(const Norm& norm, std::span<const std::int64_t> head_order);

  DType dtype_;
  nlohmann::json config_;
  bool foreign_ = false;
  bool unproven_ = false;
  std::vector<Part> parts_;
};

}  // namespace ropewalk::checkpoints
