#pragma once
/// \file
/// A safetensors file, row by row: the header first, then the numbers in one element type.
///
///   write_safetensors({{"embedding", {3, 2}, [&](std::int64_t row, double* out) { ... }}},
///                     DType::bf16, [&](std::string_view bytes) { file.write(bytes); });

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoints/tensor.hpp"

namespace ropewalk::checkpoints {

/// A tensor to write: `row` puts row r (all elements that share the first index) into `out`.
struct OutTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::function<void(std::int64_t row, double* out)> row;
};

/// The number that is stored for x: rounded to nearest, ties to even (bf16 and f16 through float32,
/// as PyTorch converts). May be infinite. Throws Error(unsupported) for types other than f64, f32,
/// bf16 and f16.
[[nodiscard]] double rounded(double x, DType dtype);

/// "float64", "float32", ...: the words of PyTorch. Errors as rounded.
[[nodiscard]] const char* torch_name(DType dtype);

/// The bytes of the file, in order. Throws Error(bad_value), naming the tensor, for a finite number
/// beyond the type's range; errors as rounded. Memory: one block of rows.
void write_safetensors(const std::vector<OutTensor>& tensors, DType dtype,
                       const std::function<void(std::string_view)>& sink);

}  // namespace ropewalk::checkpoints
