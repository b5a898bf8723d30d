#include "checkpoints/export.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "checkpoints/permutation.hpp"
#include "theory/error.hpp"

namespace ropewalk::checkpoints {

using Json = nlohmann::json;
using theory::Pairing;

namespace {

const char* torch_name(DType dtype) {
  switch (dtype) {
    case DType::f32: return "float32";
    case DType::bf16: return "bfloat16";
    case DType::f16: return "float16";
    default:
      throw Error(ErrorCode::unsupported, std::string("weights are written as f32, bf16 or f16, "
                                                      "not ") +
                                              name(dtype));
  }
}

const char* architecture(const std::string& family) {
  if (family == "gptj") return "GPTJForCausalLM";
  if (family == "gpt_neox") return "GPTNeoXForCausalLM";
  if (family == "mistral") return "MistralForCausalLM";
  if (family == "qwen2") return "Qwen2ForCausalLM";
  if (family == "qwen3") return "Qwen3ForCausalLM";
  if (family == "phi3") return "Phi3ForCausalLM";
  if (family == "gemma2") return "Gemma2ForCausalLM";
  if (family == "gemma3_text") return "Gemma3ForCausalLM";
  return "LlamaForCausalLM";
}

template <class Word>
void append(std::string& bytes, Word word) {
  for (std::size_t i = 0; i < sizeof word; ++i)
    bytes += static_cast<char>(static_cast<unsigned char>(word >> (8 * i)));
}

void append_value(std::string& bytes, float value, DType dtype) {
  if (dtype == DType::f32)
    append(bytes, std::bit_cast<std::uint32_t>(value));
  else if (dtype == DType::bf16)
    append(bytes, Eigen::numext::bit_cast<std::uint16_t>(Eigen::bfloat16(value)));
  else
    append(bytes, Eigen::numext::bit_cast<std::uint16_t>(Eigen::half(value)));
}

// Whether a finite number becomes an infinite one.
bool overflows(float value, DType dtype) {
  if (!std::isfinite(value) || dtype == DType::f32) return false;
  return !std::isfinite(dtype == DType::bf16 ? static_cast<float>(Eigen::bfloat16(value))
                                             : static_cast<float>(Eigen::half(value)));
}

}  // namespace

Export::Export(const Model& model, const ExportOptions& options)
    : dtype_(options.dtype), config_(model.checkpoint->config) {
  if (model.family == "ropewalk")
    throw Error(ErrorCode::unsupported,
                model.checkpoint->path + ": transformers has no model of the type 'ropewalk'");
  const theory::ResolvedRope own = theory::resolve(model.checkpoint->config);
  const Pairing from = options.from.value_or(model.pairing());
  const Pairing to = options.layout.value_or(own.layout);
  if (from == Pairing::unknown || to == Pairing::unknown)
    throw Error(ErrorCode::unsupported,
                model.checkpoint->path + ": the pairing layout is not known; name it");
  foreign_ = own.layout != Pairing::unknown && to != own.layout;

  for (const auto& [name, tensor] : model.checkpoint->tensors) {
    if (std::find(model.unread.begin(), model.unread.end(), name) != model.unread.end()) continue;
    parts_.push_back({&tensor, model.transformers_name(name), {}, false});
  }
  const auto order = head_order(from, to, own.rotary_dim / 2, model.head_dim);
  for (const Layer& layer : model.layers) {
    permute(layer.q, model.heads, order);
    permute(layer.k, model.kv_heads, order);
    permute(layer.q_norm, order);
    permute(layer.k_norm, order);
  }
  if (model.checkpoint->format == "gguf" && model.family.starts_with("gemma"))
    for (Part& p : parts_) p.minus_one = p.name.ends_with("norm.weight");

  Json& text = config_.contains("text_config") ? config_["text_config"] : config_;
  text.erase("dtype");
  text["torch_dtype"] = torch_name(dtype_);
  if (!config_.contains("architectures"))
    config_["architectures"] = Json::array({architecture(model.family)});
  text["tie_word_embeddings"] = model.unembedding.weight == model.embedding;
}

Export::Part& Export::part(const Tensor& tensor) {
  return *std::find_if(parts_.begin(), parts_.end(),
                       [&](const Part& p) { return p.tensor == &tensor; });
}

void Export::permute(const Linear& linear, std::int64_t heads,
                     std::span<const std::int64_t> head_order) {
  // The rows of the projection where they stand in the tensor.
  std::vector<std::int64_t> places;
  for (const RowBlock& block : linear.rows)
    for (std::int64_t r = 0; r < block.count; ++r) places.push_back(block.first + r);
  const auto dim = static_cast<std::int64_t>(head_order.size());
  for (const Tensor* tensor : {linear.weight, linear.bias}) {
    if (tensor == nullptr) continue;
    std::vector<std::int64_t>& order = part(*tensor).order;
    if (order.empty()) {
      order.resize(static_cast<std::size_t>(tensor->rows()));
      std::iota(order.begin(), order.end(), 0);
    }
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t r = 0; r < dim; ++r)
        order[static_cast<std::size_t>(places[static_cast<std::size_t>(h * dim + r)])] =
            places[static_cast<std::size_t>(h * dim + head_order[static_cast<std::size_t>(r)])];
  }
}

void Export::permute(const Norm& norm, std::span<const std::int64_t> head_order) {
  for (const Tensor* tensor : {norm.weight, norm.bias})
    if (tensor != nullptr) part(*tensor).order.assign(head_order.begin(), head_order.end());
}

void Export::write(const std::function<void(std::string_view)>& sink) const {
  Json header = Json::object();
  header["__metadata__"] = {{"format", "pt"}};
  std::int64_t end = 0;
  for (const Part& p : parts_) {
    const std::int64_t bytes = p.tensor->elements() * block_bytes(dtype_);
    Json& entry = header[p.name];
    entry["dtype"] = name(dtype_);
    entry["shape"] = p.tensor->shape;
    entry["data_offsets"] = {end, end + bytes};
    end += bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string bytes;
  append(bytes, static_cast<std::uint64_t>(text.size()));
  sink(bytes);
  sink(text);

  for (const Part& p : parts_) {
    const std::int64_t size = p.tensor->row_size();
    constexpr std::int64_t block = std::int64_t{1} << 16;
    std::vector<float> row(static_cast<std::size_t>(size));
    bytes.clear();
    for (std::int64_t r = 0; r < p.tensor->rows(); ++r) {
      const std::int64_t at = p.order.empty() ? r : p.order[static_cast<std::size_t>(r)];
      read_rows(*p.tensor, at, 1, row.data());
      for (float value : row) {
        if (p.minus_one) value -= 1;
        if (overflows(value, dtype_))
          throw Error(ErrorCode::bad_value, p.tensor->name + ": " + std::to_string(value) +
                                                " is beyond what " + name(dtype_) + " holds");
        append_value(bytes, value, dtype_);
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
