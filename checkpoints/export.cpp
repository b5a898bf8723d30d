#include "checkpoints/export.hpp"

#include <algorithm>
#include <numeric>

#include "checkpoints/permutation.hpp"
#include "checkpoints/safetensors_writer.hpp"
#include "theory/error.hpp"

namespace ropewalk::checkpoints {

using Json = nlohmann::json;
using theory::Pairing;

namespace {

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

}  // namespace

Export::Export(const Model& model, const ExportOptions& options)
    : dtype_(options.dtype), config_(model.checkpoint->config) {
  if (dtype_ == DType::f64)
    throw Error(ErrorCode::unsupported, "models are exported as f32, bf16 or f16, not F64");
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
  // A proof is about one file, and this is another.
  if (const auto built = config_.find("ropewalk"); built != config_.end() && built->is_object()) {
    unproven_ = built->value("length", Json()) != "0";
    (*built)["length"] = "0";
  }
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
  std::vector<OutTensor> tensors;
  for (const Part& p : parts_)
    tensors.push_back({p.name, p.tensor->shape, [&p](std::int64_t row, double* out) {
                         const std::int64_t at =
                             p.order.empty() ? row : p.order[static_cast<std::size_t>(row)];
                         // In float32, which quantised blocks are read in too.
                         const std::int64_t size = p.tensor->row_size();
                         std::vector<float> values(static_cast<std::size_t>(size));
                         read_rows(*p.tensor, at, 1, values.data());
                         for (const float value : values)
                           *out++ = static_cast<double>(p.minus_one ? value - 1 : value);
                       }});
  write_safetensors(tensors, dtype_, sink);
}

}  // namespace ropewalk::checkpoints
