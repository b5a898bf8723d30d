#include "checkpoints/model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "theory/error.hpp"

namespace ropewalk::checkpoints {

using Json = nlohmann::json;

namespace {

[[noreturn]] void bad(const std::string& message) { throw Error(ErrorCode::bad_value, message); }

std::string words(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (const std::int64_t n : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(n);
  return text + "]";
}

/// How a family spells its parts. A part without a name is not there.
struct Spelling {
  const char* embedding;
  const char* unembedding;
  const char* final_norm;
  const char* layer;  ///< prefix of the following
  const char* before_attention;
  const char* after_attention;
  const char* before_mlp;
  const char* after_mlp;
  const char* q;
  const char* k;
  const char* v;
  const char* fused;  ///< q, k, v in one matrix, where it is there
  const char* out;
  const char* q_norm;
  const char* k_norm;
  const char* gate;
  const char* up;
  const char* gate_up;  ///< both in one matrix, where it is there
  const char* down;
  const char* ending = ".weight";  ///< of the name of a matrix or a norm
};

constexpr Spelling gptj{"wte",
                        "lm_head",
                        "ln_f",
                        "h.",
                        "ln_1",
                        "",
                        "",
                        "",
                        "attn.q_proj",
                        "attn.k_proj",
                        "attn.v_proj",
                        "",
                        "attn.out_proj",
                        "",
                        "",
                        "",
                        "mlp.fc_in",
                        "",
                        "mlp.fc_out"};
constexpr Spelling neox{"embed_in",
                        "embed_out",
                        "final_layer_norm",
                        "layers.",
                        "input_layernorm",
                        "",
                        "post_attention_layernorm",
                        "",
                        "",
                        "",
                        "",
                        "attention.query_key_value",
                        "attention.dense",
                        "",
                        "",
                        "",
                        "mlp.dense_h_to_4h",
                        "",
                        "mlp.dense_4h_to_h"};
constexpr Spelling llama{"embed_tokens",
                         "lm_head",
                         "norm",
                         "layers.",
                         "input_layernorm",
                         "",
                         "post_attention_layernorm",
                         "",
                         "self_attn.q_proj",
                         "self_attn.k_proj",
                         "self_attn.v_proj",
                         "self_attn.qkv_proj",
                         "self_attn.o_proj",
                         "self_attn.q_norm",
                         "self_attn.k_norm",
                         "mlp.gate_proj",
                         "mlp.up_proj",
                         "mlp.gate_up_proj",
                         "mlp.down_proj"};
constexpr Spelling gemma{"embed_tokens",
                         "lm_head",
                         "norm",
                         "layers.",
                         "input_layernorm",
                         "post_attention_layernorm",
                         "pre_feedforward_layernorm",
                         "post_feedforward_layernorm",
                         "self_attn.q_proj",
                         "self_attn.k_proj",
                         "self_attn.v_proj",
                         "",
                         "self_attn.o_proj",
                         "self_attn.q_norm",
                         "self_attn.k_norm",
                         "mlp.gate_proj",
                         "mlp.up_proj",
                         "",
                         "mlp.down_proj"};
constexpr Spelling plain{
    "embedding", "unembedding", "", "layers.", "", "", "", "", "W_Q", "W_K", "W_V",
    "",          "W_O",         "", "",        "", "", "", "", ""};
constexpr Spelling gguf{
    "token_embd",  "output",        "output_norm", "blk.",     "attn_norm", "post_attention_norm",
    "ffn_norm",    "post_ffw_norm", "attn_q",      "attn_k",   "attn_v",    "attn_qkv",
    "attn_output", "attn_q_norm",   "attn_k_norm", "ffn_gate", "ffn_up",    "",
    "ffn_down"};

struct Family {
  const char* name;
  const Spelling* spelling;
  NormKind norm;
  const char* activation;  ///< where the config is silent
  double eps;              ///< likewise
  bool qkv_bias;           ///< q, k and v have one, whatever the config says
};

constexpr std::array families{
    Family{"gptj", &gptj, NormKind::layer, "gelu_new", 1e-5, false},
    Family{"gpt_neox", &neox, NormKind::layer, "gelu", 1e-5, false},
    Family{"llama", &llama, NormKind::rms, "silu", 1e-6, false},
    Family{"mistral", &llama, NormKind::rms, "silu", 1e-6, false},
    Family{"qwen2", &llama, NormKind::rms, "silu", 1e-6, true},
    Family{"qwen3", &llama, NormKind::rms, "silu", 1e-6, false},
    Family{"phi3", &llama, NormKind::rms, "silu", 1e-5, false},
    Family{"gemma2", &gemma, NormKind::rms_one_plus, "gelu_pytorch_tanh", 1e-6, false},
    Family{"gemma3_text", &gemma, NormKind::rms_one_plus, "gelu_pytorch_tanh", 1e-6, false},
    Family{"ropewalk", &plain, NormKind::none, "silu", 0, false},
};

class Builder {
 public:
  explicit Builder(std::shared_ptr<const Checkpoint> checkpoint) {
    model_.checkpoint = std::move(checkpoint);
  }

  Model build() {
    const Checkpoint& file = *model_.checkpoint;
    if (!file.config.is_object())
      throw Error(ErrorCode::parse, file.path +
                                        ": no config.json, and the architecture is not "
                                        "known without it");
    text_ = &file.config;
    if (const auto nested = file.config.find("text_config"); nested != file.config.end())
      text_ = &*nested;
    choose_family();
    spelling_ = file.format == "gguf" ? &gguf : family_->spelling;
    find_prefix();
    read_sizes();
    read_stream();
    const std::int64_t layers = size({"num_hidden_layers", "n_layer"});
    for (std::int64_t i = 0; i < layers; ++i) read_layer(i);
    for (const auto& [name, tensor] : file.tensors)
      if (!used_.contains(name)) model_.unread.push_back(name);
    return std::move(model_);
  }

 private:
  // ---- config -------------------------------------------------------------------------------

  [[nodiscard]] const Json* key(std::initializer_list<const char*> spellings) const {
    for (const char* k : spellings)
      if (const auto at = text_->find(k); at != text_->end() && !at->is_null()) return &*at;
    return nullptr;
  }
  [[nodiscard]] std::string where(const char* k) const {
    return model_.checkpoint->config_source + ": " + k;
  }
  std::int64_t size(std::initializer_list<const char*> spellings,
                    std::optional<std::int64_t> otherwise = {}) const {
    const Json* value = key(spellings);
    if (value == nullptr) {
      if (otherwise) return *otherwise;
      bad(where(*spellings.begin()) + " is absent");
    }
    constexpr std::int64_t most = 1 << 24;
    if (!value->is_number_integer() || *value < 1 || *value > most)
      bad(where(*spellings.begin()) + " must be a whole number from 1 to " + std::to_string(most) +
          ", not " + value->dump().substr(0, 40));
    return value->get<std::int64_t>();
  }
  double number(std::initializer_list<const char*> spellings, double otherwise) const {
    const Json* value = key(spellings);
    if (value == nullptr) return otherwise;
    if (!value->is_number() || !std::isfinite(value->get<double>()) || value->get<double>() < 0)
      bad(where(*spellings.begin()) + " must be a number >= 0, not " + value->dump().substr(0, 40));
    return value->get<double>();
  }
  bool flag(const char* k, bool otherwise) const {
    const Json* value = key({k});
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) bad(where(k) + " must be true or false");
    return value->get<bool>();
  }

  void choose_family() {
    const Json* type = key({"model_type"});
    std::string name = type != nullptr && type->is_string() ? type->get<std::string>() : "";
    // The text part of a nested config may leave its type to the whole.
    if (name.empty() && text_ != &model_.checkpoint->config)
      if (const auto outer = model_.checkpoint->config.find("model_type");
          outer != model_.checkpoint->config.end() && outer->is_string())
        name = *outer;
    if (name == "gemma3") name = "gemma3_text";
    if (name.empty()) bad(where("model_type") + " is absent");
    if (key({"num_local_experts", "num_experts", "n_routed_experts"}) != nullptr)
      throw Error(ErrorCode::unsupported,
                  where("model_type") + " " + name + ": mixtures of experts are not run");
    if (key({"kv_lora_rank"}) != nullptr)
      throw Error(ErrorCode::unsupported,
                  where("kv_lora_rank") + ": multi-head latent attention is not run");
    for (const Family& family : families)
      if (name == family.name) family_ = &family;
    if (family_ == nullptr) {
      std::string all;
      for (const Family& family : families)
        all += (all.empty() ? "" : ", ") + std::string(family.name);
      throw Error(ErrorCode::unsupported,
                  where("model_type") + " '" + name + "' is not run; these are: " + all);
    }
    model_.family = name;
    const Json* act = key({"hidden_act", "hidden_activation", "activation_function"});
    std::string activation = family_->activation;
    // Gemma's first configs say "gelu" and mean the approximation.
    if (act != nullptr && act->is_string() && family_->spelling != &gemma) activation = *act;
    if (activation == "silu" || activation == "swish")
      model_.activation = Activation::silu;
    else if (activation == "gelu")
      model_.activation = Activation::gelu;
    else if (activation == "gelu_new" || activation == "gelu_pytorch_tanh" ||
             activation == "gelu_fast")
      model_.activation = Activation::gelu_tanh;
    else if (activation == "relu")
      model_.activation = Activation::relu;
    else
      throw Error(ErrorCode::unsupported,
                  where("hidden_act") + ": the activation '" + activation + "' is not known");
    model_.norm = family_->norm;
    // The converter to GGUF has added the 1.
    if (model_.norm == NormKind::rms_one_plus && model_.checkpoint->format == "gguf")
      model_.norm = NormKind::rms;
    model_.norm_eps =
        number({"rms_norm_eps", "layer_norm_epsilon", "layer_norm_eps"}, family_->eps);
  }

  void read_sizes() {
    model_.hidden = size({"hidden_size", "n_embd"});
    const bool one_head = family_->spelling == &plain;
    model_.heads =
        size({"num_attention_heads", "n_head"}, one_head ? std::optional(1) : std::nullopt);
    if (one_head && model_.heads != 1)
      bad(where("num_attention_heads") + " must be 1 for a " + model_.family);
    model_.kv_heads =
        size({"num_key_value_heads"},
             family_->spelling == &gemma ? std::nullopt : std::optional(model_.heads));
    if (model_.heads % model_.kv_heads != 0)
      bad(where("num_key_value_heads") + " " + std::to_string(model_.kv_heads) +
          " does not divide the " + std::to_string(model_.heads) + " query heads");
    model_.head_dim = static_cast<std::int64_t>(
        theory::resolve(model_.checkpoint->config, {.length = {}, .layer = 0U}).head_dim);
    if (model_.head_dim < 1) bad(where("head_dim") + " is absent");
    const Tensor& embedding = embedding_tensor();
    if (embedding.shape.size() != 2 || embedding.row_size() != model_.hidden)
      bad(file() + ": " + embedding.name + " has shape " + words(embedding.shape) +
          ", the config wants rows of " + std::to_string(model_.hidden));
    model_.vocabulary = embedding.rows();
    if (family_->spelling == &plain && size({"vocab_size"}) != model_.vocabulary)
      bad(file() + ": " + embedding.name + " has shape " + words(embedding.shape) +
          ", the config wants a vocabulary of " + std::to_string(size({"vocab_size"})));
    model_.parallel = family_->spelling == &gptj ||
                      (family_->spelling == &neox && flag("use_parallel_residual", true));
    if (family_->spelling == &gemma) {
      model_.embedding_scale = std::sqrt(static_cast<double>(model_.hidden));
      const double cap =
          number({"final_logit_softcapping"}, model_.family == "gemma2" ? 30.0 : 0.0);
      // Written as null it is off.
      const auto written = text_->find("final_logit_softcapping");
      if (cap > 0 && !(written != text_->end() && written->is_null())) model_.final_softcap = cap;
    }
  }

  // ---- tensors ------------------------------------------------------------------------------

  [[nodiscard]] const std::string& file() const { return model_.checkpoint->path; }

  /// Whether the family has this part, whatever the file calls it.
  [[nodiscard]] bool has(const char* Spelling::*part) const {
    return *(family_->spelling->*part) != 0;
  }
  [[nodiscard]] std::string weight(const std::string& name) const {
    return name + spelling_->ending;
  }

  const Tensor* find(const std::string& name) {
    const Tensor* tensor = model_.checkpoint->find(name);
    if (tensor == nullptr) return nullptr;
    if (!is_float(tensor->dtype))
      bad(file() + ": " + name + " has elements of type " + checkpoints::name(tensor->dtype));
    used_.insert(name);
    return tensor;
  }
  const Tensor& need(const std::string& name) {
    const Tensor* tensor = find(name);
    if (tensor == nullptr) bad(file() + ": no tensor " + name);
    return *tensor;
  }
  static void check_shape(const std::string& file, const Tensor& tensor,
                          const std::vector<std::int64_t>& wanted) {
    if (tensor.shape != wanted)
      bad(file + ": " + tensor.name + " has shape " + words(tensor.shape) + ", the config wants " +
          words(wanted));
  }

  // What stands before the names of the layers: "model.", "transformer.", "", ...
  void find_prefix() {
    if (spelling_ == &gguf) return;
    const std::string first =
        weight(std::string(spelling_->layer) + "0." +
               (has(&Spelling::before_attention) ? spelling_->before_attention : spelling_->q));
    for (const auto& [name, tensor] : model_.checkpoint->tensors)
      if (name.ends_with(first) &&
          (name.size() == first.size() || name[name.size() - first.size() - 1] == '.') &&
          name.find("vision") == std::string::npos) {
        prefix_ = name.substr(0, name.size() - first.size());
        return;
      }
    bad(file() + ": no tensor ..." + first + ", which every " + model_.family + " has");
  }

  const Tensor& embedding_tensor() {
    const std::string name = weight(prefix_ + spelling_->embedding);
    const Tensor* tensor = find(name);
    if (tensor == nullptr && may_be_tied()) tensor = head_tensor();
    if (tensor == nullptr) bad(file() + ": no tensor " + name);
    model_.embedding = tensor;
    return *tensor;
  }
  [[nodiscard]] bool may_be_tied() const { return family_->spelling != &plain; }
  // The unembedding stands outside the prefix of the layers, or in it.
  const Tensor* head_tensor() {
    for (const std::string& p : {std::string(), prefix_})
      if (const Tensor* tensor = find(weight(p + spelling_->unembedding))) return tensor;
    if (prefix_.ends_with("model."))
      return find(weight(prefix_.substr(0, prefix_.size() - 6) + spelling_->unembedding));
    return nullptr;
  }

  void read_stream() {
    const Tensor* head = head_tensor();
    // Where there are no weights of its own, the embedding is used twice, and some configs say so.
    if (head == nullptr) {
      const Json* tied = key({"tie_word_embeddings"});
      const bool says_not = tied != nullptr && tied->is_boolean() && !tied->get<bool>();
      if (!may_be_tied()) bad(file() + ": no tensor " + weight(spelling_->unembedding));
      if (says_not && spelling_ != &gguf)
        bad(file() + ": no tensor " + weight(spelling_->unembedding) +
            ", and the config says that the embedding is not tied");
      head = model_.embedding;
    }
    check_shape(file(), *head, {model_.vocabulary, model_.hidden});
    model_.unembedding = {head, nullptr, {{0, model_.vocabulary}}};
    if (const Tensor* bias = find(std::string(spelling_->unembedding) + ".bias")) {
      check_shape(file(), *bias, {model_.vocabulary});
      model_.unembedding.bias = bias;
    }
    model_.final_norm = norm(prefix_, &Spelling::final_norm, model_.hidden);
  }

  Norm norm(const std::string& at, const char* Spelling::*part, std::int64_t features) {
    if (!has(part)) return {};
    const std::string name = at + spelling_->*part;
    Norm result{&need(weight(name)), nullptr};
    check_shape(file(), *result.weight, {features});
    if (family_->norm == NormKind::layer) {
      result.bias = &need(name + ".bias");
      check_shape(file(), *result.bias, {features});
    }
    return result;
  }

  Linear linear(const std::string& name, std::vector<RowBlock> rows, std::int64_t outputs,
                std::int64_t inputs, bool wants_bias = false) {
    Linear result{&need(weight(name)), find(name + ".bias"), std::move(rows)};
    check_shape(file(), *result.weight, {outputs, inputs});
    if (result.bias == nullptr && wants_bias) bad(file() + ": no tensor " + name + ".bias");
    if (result.bias != nullptr) check_shape(file(), *result.bias, {outputs});
    return result;
  }
  Linear whole(const std::string& name, std::int64_t outputs, std::int64_t inputs,
               bool wants_bias = false) {
    return linear(name, {{0, outputs}}, outputs, inputs, wants_bias);
  }

  void read_layer(std::int64_t index) {
    const Spelling& s = *spelling_;
    const std::string at = prefix_ + s.layer + std::to_string(index) + ".";
    const auto is_there = [&](const char* part) {
      return *part != 0 && model_.checkpoint->find(weight(at + part)) != nullptr;
    };
    Layer layer;
    layer.before_attention = norm(at, &Spelling::before_attention, model_.hidden);
    layer.after_attention = norm(at, &Spelling::after_attention, model_.hidden);
    layer.before_mlp = norm(at, &Spelling::before_mlp, model_.hidden);
    layer.after_mlp = norm(at, &Spelling::after_mlp, model_.hidden);

    const std::int64_t d = model_.head_dim;
    const std::int64_t queries = model_.heads * d;
    const std::int64_t keys = model_.kv_heads * d;
    std::int64_t values = d;  // of one head
    if (is_there(s.fused)) {
      const std::string name = at + s.fused;
      const std::int64_t all = queries + 2 * keys;
      if (s.fused == neox.fused) {
        // Each head has its own q, k and v together.
        std::array<std::vector<RowBlock>, 3> parts;
        for (std::int64_t h = 0; h < model_.heads; ++h)
          for (std::size_t part = 0; part < 3; ++part)
            parts[part].push_back({(3 * h + static_cast<std::int64_t>(part)) * d, d});
        layer.q = linear(name, parts[0], all, model_.hidden);
        layer.k = linear(name, parts[1], all, model_.hidden);
        layer.v = linear(name, parts[2], all, model_.hidden);
      } else {
        layer.q = linear(name, {{0, queries}}, all, model_.hidden);
        layer.k = linear(name, {{queries, keys}}, all, model_.hidden);
        layer.v = linear(name, {{queries + keys, keys}}, all, model_.hidden);
      }
    } else {
      // A family without separate matrices names the one that is missing.
      if (*s.q == 0) need(weight(at + s.fused));
      const bool bias = family_->qkv_bias || flag("attention_bias", false);
      layer.q = whole(at + s.q, queries, model_.hidden, bias);
      layer.k = whole(at + s.k, keys, model_.hidden, bias);
      if (family_->spelling == &plain) values = need(weight(at + s.v)).rows();
      layer.v = whole(at + s.v, model_.kv_heads * values, model_.hidden, bias);
    }
    layer.out = whole(at + s.out, model_.hidden, model_.heads * values);
    const bool head_norms = model_.family == "qwen3" || model_.family == "gemma3_text";
    if (head_norms) {
      layer.q_norm = norm(at, &Spelling::q_norm, d);
      layer.k_norm = norm(at, &Spelling::k_norm, d);
    }
    if (has(&Spelling::down)) read_mlp(at, layer, is_there(s.gate_up));
    model_.layers.push_back(std::move(layer));
  }

  void read_mlp(const std::string& at, Layer& layer, bool fused) {
    const Spelling& s = *spelling_;
    if (fused) {
      const Tensor& both = need(weight(at + s.gate_up));
      const std::int64_t inner = both.rows() / 2;
      layer.gate = linear(at + s.gate_up, {{0, inner}}, 2 * inner, model_.hidden);
      layer.up = linear(at + s.gate_up, {{inner, inner}}, 2 * inner, model_.hidden);
    } else {
      const std::int64_t inner = need(weight(at + s.up)).rows();
      layer.up = whole(at + s.up, inner, model_.hidden);
      if (has(&Spelling::gate)) layer.gate = whole(at + s.gate, inner, model_.hidden);
    }
    layer.down = whole(at + s.down, model_.hidden, layer.up.outputs());
  }

  Model model_;
  const Json* text_ = nullptr;
  const Family* family_ = nullptr;
  const Spelling* spelling_ = nullptr;
  std::string prefix_;
  std::set<std::string> used_;
};

/// Whether every element is 0; true where there is nothing.
bool all_zero(const Tensor* tensor, const std::vector<RowBlock>& rows) {
  if (tensor == nullptr) return true;
  std::vector<double> row(static_cast<std::size_t>(tensor->row_size()));
  for (const RowBlock& block : rows)
    for (std::int64_t r = block.first; r < block.first + block.count; ++r) {
      read_rows(*tensor, r, 1, row.data());
      if (std::any_of(row.begin(), row.end(), [](double x) { return x != 0; })) return false;
    }
  return true;
}

}  // namespace

bool adds_nothing(const Linear& last, const Norm& after) {
  return all_zero(last.weight, last.rows) && all_zero(last.bias, last.rows) && !after;
}
bool adds_nothing(const Layer& layer) {
  return adds_nothing(layer.out, layer.after_attention) &&
         adds_nothing(layer.down, layer.after_mlp);
}

std::int64_t Linear::outputs() const {
  std::int64_t total = 0;
  for (const RowBlock& block : rows) total += block.count;
  return total;
}

void read_rows(const Linear& linear, std::int64_t first, std::int64_t count, double* out) {
  if (first < 0 || count < 0 || first > linear.outputs() - count)
    bad("rows " + std::to_string(first) + ".." + std::to_string(first + count) +
        " of a projection of " + std::to_string(linear.outputs()));
  std::int64_t begin = 0;  // of the block
  for (const RowBlock& block : linear.rows) {
    const std::int64_t from = std::max(first, begin);
    const std::int64_t until = std::min(first + count, begin + block.count);
    if (from < until) {
      read_rows(*linear.weight, block.first + from - begin, until - from, out);
      out += (until - from) * linear.weight->row_size();
    }
    begin += block.count;
  }
}

theory::Pairing Model::pairing() const {
  return checkpoint->pairing ? *checkpoint->pairing : rope(0, 1).layout;
}

theory::ResolvedRope Model::rope(std::size_t layer, std::int64_t length) const {
  theory::ResolvedRope rope =
      theory::resolve(checkpoint->config,
                      {.length = theory::Integer(length), .layer = static_cast<unsigned>(layer)});
  if (checkpoint->pairing) rope.layout = *checkpoint->pairing;
  return rope;
}

std::string Model::transformers_name(const std::string& tensor) const {
  if (checkpoint->format != "gguf") return tensor;
  const auto* const of = std::find_if(families.begin(), families.end(),
                                      [&](const Family& f) { return f.name == family; });
  const Spelling& to = *of->spelling;
  const std::size_t dot = tensor.rfind('.');
  const std::string ending = tensor.substr(dot);
  std::string part = tensor.substr(0, dot);
  std::string layer;
  if (part.starts_with(gguf.layer)) {
    const std::size_t begin = std::string_view(gguf.layer).size();
    const std::size_t end = part.find('.', begin);
    layer = to.layer + part.substr(begin, end - begin) + ".";
    part = part.substr(end + 1);
  }
  for (const auto spelled :
       {&Spelling::embedding, &Spelling::unembedding, &Spelling::final_norm,
        &Spelling::before_attention, &Spelling::after_attention, &Spelling::before_mlp,
        &Spelling::after_mlp, &Spelling::q, &Spelling::k, &Spelling::v, &Spelling::out,
        &Spelling::q_norm, &Spelling::k_norm, &Spelling::gate, &Spelling::up, &Spelling::down})
    if (part == gguf.*spelled && *(to.*spelled) != 0)
      return (spelled == &Spelling::unembedding ? "" : "model.") + layer + (to.*spelled) + ending;
  throw Error(
      ErrorCode::unsupported,
      checkpoint->path + ": " + tensor + " has no counterpart in a " + family + " of transformers");
}

Model read_model(std::shared_ptr<const Checkpoint> checkpoint) {
  return Builder(std::move(checkpoint)).build();
}

}  // namespace ropewalk::checkpoints
