#pragma once
/// \file
/// A tensor of a file, where it lies: a name, an element type, a shape, and bytes that are mapped,
/// not read. Elements become numbers when somebody asks for rows of them; nothing is ever converted
/// as a whole file.
///
///   const Tensor& q = checkpoint.tensor("model.layers.0.self_attn.q_proj.weight");
///   std::vector<float> row(q.row_size());
///   read_rows(q, 3, 1, row.data());           // row 3, dequantised if need be
///
/// A matrix of a linear layer has shape {outputs, inputs}, as PyTorch keeps it, in every format:
/// the readers turn GGUF's reversed dimensions round.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ropewalk::checkpoints {

/// Element types. The block types hold several elements and their scales together (GGUF).
enum class DType {
  f64,
  f32,
  f16,
  bf16,
  f8_e4m3,
  f8_e5m2,
  i64,
  i32,
  i16,
  i8,
  u64,
  u32,
  u16,
  u8,
  boolean,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  q4_k,
  q6_k,
  groups_i8,  ///< llama2.c: int8 elements, one float32 scale per group, apart from each other
};

/// "F32", "BF16", "Q4_K", ...: the words of safetensors and GGUF.
[[nodiscard]] const char* name(DType dtype);
/// Elements that share one block, 1 for the plain types. groups_i8: 1.
[[nodiscard]] std::int64_t block_elements(DType dtype);
/// Bytes of one block. groups_i8: 1.
[[nodiscard]] std::int64_t block_bytes(DType dtype);
/// Bytes of so many elements of a row; absent where they do not fill whole blocks or do not fit in
/// an int64. groups_i8: without the scales.
[[nodiscard]] std::optional<std::uint64_t> storage_bytes(DType dtype, std::uint64_t elements);
/// Numbers with a fraction, the types that weights have.
[[nodiscard]] bool is_float(DType dtype);

/// A file in memory, mapped read-only. Its pages are the file's own: they cost no memory of the
/// process. A file that somebody shortens while it is mapped ends the process, as with every
/// mapping.
class MappedFile {
 public:
  /// Throws Error(file) where the file cannot be opened or is no regular file.
  explicit MappedFile(const std::string& path);
  /// The same of bytes that are in memory already; `path` is for messages.
  MappedFile(std::string path, std::vector<std::byte> bytes);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::vector<std::byte> own_;  ///< empty where mapped
  std::span<const std::byte> bytes_;
};

struct Tensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;    ///< empty for a scalar
  std::vector<std::int64_t> strides;  ///< elements; as long as shape; row-major for block types
  std::span<const std::byte> data;    ///< from the first element to the end of the storage
  std::span<const std::byte> scales;  ///< groups_i8 only: one float32 per group, in order
  std::int64_t group = 0;             ///< groups_i8 only: elements per group
  std::shared_ptr<const void> owner;  ///< keeps data alive: a MappedFile, or an unpacked archive

  /// Product of the shape, checked when the file was read.
  [[nodiscard]] std::int64_t elements() const;
  /// First dimension; 1 for a scalar.
  [[nodiscard]] std::int64_t rows() const { return shape.empty() ? 1 : shape.front(); }
  /// Elements of one row: the product of the other dimensions.
  [[nodiscard]] std::int64_t row_size() const;
  /// Row-major and without gaps.
  [[nodiscard]] bool contiguous() const;
};

/// Row-major strides of a shape that was checked.
[[nodiscard]] std::vector<std::int64_t> row_major(std::span<const std::int64_t> shape);

/// Elements of `count` rows from `first` on, row-major, converted to float or double. Quantised
/// blocks are dequantised in float32 as llama.cpp does, and a boolean is 0 or 1.
/// Guarantee: Exact for every plain type into a type that holds its values; correctly rounded
/// otherwise. Cost: one pass, no allocation.
/// Throws Error(bad_value) for rows outside the tensor.
template <class S>
void read_rows(const Tensor& tensor, std::int64_t first, std::int64_t count, S* out);
extern template void read_rows(const Tensor&, std::int64_t, std::int64_t, float*);
extern template void read_rows(const Tensor&, std::int64_t, std::int64_t, double*);

/// float32 elements in place where they lie aligned and without gaps, else an empty span.
[[nodiscard]] std::span<const float> in_place(const Tensor& tensor);

}  // namespace ropewalk::checkpoints
