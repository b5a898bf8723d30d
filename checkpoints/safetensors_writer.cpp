#include "checkpoints/safetensors_writer.hpp"

#include <Eigen/Core>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "theory/error.hpp"

namespace ropewalk::checkpoints {

namespace {

template <class Word>
void append(std::string& bytes, Word word) {
  for (std::size_t i = 0; i < sizeof word; ++i)
    bytes += static_cast<char>(static_cast<unsigned char>(word >> (8 * i)));
}

void append_value(std::string& bytes, double x, DType dtype) {
  const auto value = static_cast<float>(x);
  if (dtype == DType::f64)
    append(bytes, std::bit_cast<std::uint64_t>(x));
  else if (dtype == DType::f32)
    append(bytes, std::bit_cast<std::uint32_t>(value));
  else if (dtype == DType::bf16)
    append(bytes, Eigen::numext::bit_cast<std::uint16_t>(Eigen::bfloat16(value)));
  else
    append(bytes, Eigen::numext::bit_cast<std::uint16_t>(Eigen::half(value)));
}

}  // namespace

const char* torch_name(DType dtype) {
  switch (dtype) {
    case DType::f64: return "float64";
    case DType::f32: return "float32";
    case DType::bf16: return "bfloat16";
    case DType::f16: return "float16";
    default:
      throw Error(ErrorCode::unsupported,
                  std::string("weights are written as f64, f32, bf16 or f16, not ") + name(dtype));
  }
}

double rounded(double x, DType dtype) {
  (void)torch_name(dtype);
  if (dtype == DType::f64) return x;
  const auto value = static_cast<float>(x);
  if (dtype == DType::bf16) return static_cast<double>(static_cast<float>(Eigen::bfloat16(value)));
  if (dtype == DType::f16) return static_cast<double>(static_cast<float>(Eigen::half(value)));
  return static_cast<double>(value);
}

void write_safetensors(const std::vector<OutTensor>& tensors, DType dtype,
                       const std::function<void(std::string_view)>& sink) {
  (void)torch_name(dtype);
  const auto row_size = [](const OutTensor& tensor) {
    std::int64_t size = 1;
    for (std::size_t i = 1; i < tensor.shape.size(); ++i) size *= tensor.shape[i];
    return size;
  };
  const auto rows = [](const OutTensor& tensor) {
    return tensor.shape.empty() ? 1 : tensor.shape.front();
  };

  nlohmann::json header = nlohmann::json::object();
  header["__metadata__"] = {{"format", "pt"}};
  std::int64_t end = 0;
  for (const OutTensor& tensor : tensors) {
    const std::int64_t bytes = rows(tensor) * row_size(tensor) * block_bytes(dtype);
    nlohmann::json& entry = header[tensor.name];
    entry["dtype"] = name(dtype);
    entry["shape"] = tensor.shape;
    entry["data_offsets"] = {end, end + bytes};
    end += bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string bytes;
  append(bytes, static_cast<std::uint64_t>(text.size()));
  sink(bytes);
  sink(text);

  constexpr std::int64_t block = std::int64_t{1} << 16;
  for (const OutTensor& tensor : tensors) {
    std::vector<double> row(static_cast<std::size_t>(row_size(tensor)));
    bytes.clear();
    for (std::int64_t r = 0; r < rows(tensor); ++r) {
      tensor.row(r, row.data());
      for (const double value : row) {
        if (std::isfinite(value) && !std::isfinite(rounded(value, dtype)))
          throw Error(ErrorCode::bad_value, tensor.name + ": " + std::to_string(value) +
                                                " is beyond what " + name(dtype) + " holds");
        append_value(bytes, value, dtype);
      }
      if (static_cast<std::int64_t>(bytes.size()) > block) {
        sink(bytes);
        bytes.clear();
      }
    }
    sink(bytes);
  }
}

}  // namespace ropewalk::checkpoints
