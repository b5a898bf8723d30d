#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>

#include "checkpoints/bytes.hpp"
#include "checkpoints/gguf.hpp"

namespace ropewalk::checkpoints {

namespace {

using Json = nlohmann::json;
using std::string;
using theory::Pairing;

/// What llama.cpp's name of an architecture stands for. The pairing is llama.cpp's: converters
/// permute the rows of Q and K where it differs from that of transformers (llama, for one).
struct Architecture {
  const char* name;
  const char* model_type;  ///< of transformers
  Pairing pairing;
};

constexpr Architecture architectures[] = {
    {"command-r", "cohere", Pairing::interleaved},
    {"gemma", "gemma", Pairing::half_split},
    {"gemma2", "gemma2", Pairing::half_split},
    {"gemma3", "gemma3_text", Pairing::half_split},
    {"gptj", "gptj", Pairing::interleaved},
    {"gptneox", "gpt_neox", Pairing::half_split},
    {"llama", "llama", Pairing::interleaved},
    {"olmo", "olmo", Pairing::interleaved},
    {"olmo2", "olmo2", Pairing::half_split},
    {"phi2", "phi", Pairing::half_split},
    {"phi3", "phi3", Pairing::half_split},
    {"qwen2", "qwen2", Pairing::half_split},
    {"qwen2moe", "qwen2_moe", Pairing::half_split},
    {"qwen3", "qwen3", Pairing::half_split},
    {"qwen3moe", "qwen3_moe", Pairing::half_split},
    {"stablelm", "stablelm", Pairing::half_split},
    {"starcoder2", "starcoder2", Pairing::half_split},
};

class Translation {
 public:
  Translation(Checkpoint& checkpoint, const Architecture& architecture)
      : out_(checkpoint), architecture_(architecture) {}

  void run() {
    gptj_ = is("gptj");
    config_ = {{"model_type", architecture_.model_type}};
    copy("embedding_length", gptj_ ? "n_embd" : "hidden_size");
    copy("block_count", gptj_ ? "n_layer" : "num_hidden_layers");
    copy("feed_forward_length", gptj_ ? "n_inner" : "intermediate_size");
    copy("context_length", gptj_ ? "n_positions" : "max_position_embeddings");
    copy("attention.head_count", gptj_ ? "n_head" : "num_attention_heads");
    if (!gptj_) copy("attention.head_count_kv", "num_key_value_heads");
    if (!gptj_) copy("attention.key_length", "head_dim");
    copy("attention.layer_norm_rms_epsilon", "rms_norm_eps");
    copy("attention.layer_norm_epsilon", gptj_              ? "layer_norm_epsilon"
                                         : is("starcoder2") ? "norm_epsilon"
                                                            : "layer_norm_eps");
    copy("attention.sliding_window", "sliding_window");
    copy("attn_logit_softcapping", "attn_logit_softcapping");
    copy("final_logit_softcapping", "final_logit_softcapping");
    copy("use_parallel_residual", "use_parallel_residual");
    copy("rope.freq_base", "rope_theta");
    vocabulary();
    config_["tie_word_embeddings"] = out_.find("output.weight") == nullptr;
    rotary_dimension();
    scaling();
    gemma();
    unread();
    out_.config = std::move(config_);
    out_.config_source = "header of " + out_.path;
    out_.pairing = architecture_.pairing;
  }

 private:
  [[nodiscard]] bool is(std::string_view name) const { return name == architecture_.name; }
  [[nodiscard]] string path(const string& key) const { return architecture_.name + ("." + key); }

  [[noreturn]] void fail(const string& key, const string& what) const {
    throw Error(ErrorCode::bad_value, out_.path + ": " + path(key) + ": " + what);
  }

  /// The value of a key of the architecture, which counts as read; null where absent.
  const Json* find(const string& key) {
    const auto found = out_.metadata.find(path(key));
    if (found == out_.metadata.end()) return nullptr;
    read_.insert(path(key));
    return &*found;
  }

  /// A number or truth value as it stands. A list with one value a layer stands for that value
  /// where all are equal.
  void copy(const string& key, const char* as) {
    const Json* value = find(key);
    if (value == nullptr) return;
    if (value->is_array() && !value->empty() &&
        std::all_of(value->begin(), value->end(),
                    [&](const Json& x) { return x == value->front(); }))
      value = &value->front();
    if (value->is_array() || value->is_object()) {
      out_.findings.push_back({"config.per_layer", "warning",
                               path(key) + " differs from layer to layer; left out of the config"});
      return;
    }
    if (!value->is_number() && !value->is_boolean()) fail(key, "is not a number");
    config_[as] = *value;
  }

  std::optional<double> number(const string& key) {
    const Json* value = find(key);
    if (value == nullptr) return {};
    if (!value->is_number()) fail(key, "is not a number");
    return value->get<double>();
  }

  [[nodiscard]] std::int64_t whole(const char* key) const {
    const auto found = config_.find(key);
    return found != config_.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
  }

  void vocabulary() {
    copy("vocab_size", "vocab_size");
    if (config_.contains("vocab_size")) return;
    if (const Tensor* embedding = out_.find("token_embd.weight");
        embedding != nullptr && embedding->shape.size() == 2) {
      config_["vocab_size"] = embedding->rows();
    } else if (const auto tokens = out_.metadata.find("tokenizer.ggml.tokens");
               tokens != out_.metadata.end()) {
      if (tokens->is_array())
        config_["vocab_size"] = tokens->size();
      else if (tokens->is_object())  // a long list
        config_["vocab_size"] = tokens->value("length", Json());
    }
  }

  [[nodiscard]] std::int64_t head_dim() const {
    if (const std::int64_t stated = whole("head_dim"); stated > 0) return stated;
    const std::int64_t heads = whole(gptj_ ? "n_head" : "num_attention_heads");
    return heads > 0 ? whole(gptj_ ? "n_embd" : "hidden_size") / heads : 0;
  }

  void rotary_dimension() {
    const auto count = number("rope.dimension_count");
    const std::int64_t head = head_dim();
    if (!count || head <= 0) return;
    if (*count < 2 || *count > static_cast<double>(head) || *count != std::floor(*count))
      fail("rope.dimension_count",
           "is not between 2 and the head dimension " + std::to_string(head));
    rotary_dim_ = static_cast<std::int64_t>(*count);
    if (gptj_) {
      config_["rotary_dim"] = rotary_dim_;
    } else if (is("gptneox")) {
      config_["rotary_pct"] = *count / static_cast<double>(head);
    } else if (rotary_dim_ != head || is("phi2") || is("stablelm")) {
      config_["partial_rotary_factor"] = *count / static_cast<double>(head);
    }
  }

  /// Divisors of the frequencies, one a plane.
  std::optional<Json> factors(const char* name) {
    const Tensor* t = out_.find(name);
    if (t == nullptr) return {};
    const std::int64_t n = t->elements();
    if (n < 1 || n > 4096 || !is_float(t->dtype))
      throw Error(ErrorCode::bad_value, out_.path + ": " + name + ": is not a list of divisors");
    std::vector<float> values(static_cast<std::size_t>(n));
    read_rows(*t, 0, t->rows(), values.data());
    Json list = Json::array();
    for (const float x : values) {
      if (!std::isfinite(x))
        throw Error(ErrorCode::bad_value, out_.path + ": " + name + ": a divisor is not finite");
      list.push_back(shortest(x));
    }
    return list;
  }

  void note(const string& message) { out_.findings.push_back({"config.rope", "note", message}); }

  void scaling() {
    Json rope = Json::object();
    string type = "none";
    if (const Json* stated = find("rope.scaling.type")) {
      if (!stated->is_string()) fail("rope.scaling.type", "is not a string");
      type = stated->get<string>();
    }
    for (const auto& [key, as] :
         {std::pair{"rope.scaling.factor", "factor"},
          std::pair{"rope.scaling.original_context_length", "original_max_position_embeddings"},
          std::pair{"rope.scaling.attn_factor", "attention_factor"},
          std::pair{"rope.scaling.yarn_beta_fast", "beta_fast"},
          std::pair{"rope.scaling.yarn_beta_slow", "beta_slow"}})
      if (const Json* value = find(key)) {
        if (!value->is_number()) fail(key, "is not a number");
        rope[as] = *value;
      }
    if (const auto old = number("rope.scale_linear"); old && type == "none") {
      type = "linear";
      rope["factor"] = *old;
    }
    (void)find("rope.scaling.finetuned");  // says how the model was trained, nothing of the table

    const auto low = factors("rope_factors_short.weight");
    const auto high = factors("rope_factors_long.weight");
    const auto divisors = factors("rope_freqs.weight");
    if (low && high) {
      rope["rope_type"] = "longrope";
      rope["short_factor"] = *low;
      rope["long_factor"] = *high;
    } else if (divisors && type == "none") {
      // Llama 3's table, already computed: LongRoPE with one list says exactly that.
      rope = {{"rope_type", "longrope"},
              {"factor", 1.0},
              {"attention_factor", 1.0},
              {"short_factor", *divisors},
              {"long_factor", *divisors}};
      const auto length = config_.find("max_position_embeddings");
      rope["original_max_position_embeddings"] = length == config_.end() ? Json(4096) : *length;
      note("rope_freqs.weight divides the frequencies; given as LongRoPE with that one list");
    } else if (type == "none") {
      return;
    } else {
      rope["rope_type"] = type;
    }
    config_["rope_scaling"] = std::move(rope);
  }

  /// What llama.cpp knows of the Gemma models without their files saying so.
  void gemma() {
    if (!is("gemma2") && !is("gemma3")) return;
    const std::int64_t layers = whole("num_hidden_layers");
    const std::int64_t heads = whole("num_attention_heads");
    const bool largest = layers == (is("gemma2") ? 46 : 62) && heads > 0;
    config_["query_pre_attn_scalar"] = largest ? whole("hidden_size") / heads : head_dim();
    if (is("gemma3")) config_["rope_local_base_freq"] = 10000.0;
  }

  void unread() {
    string list;
    std::size_t count = 0;
    for (const auto& [key, value] : out_.metadata.items())
      if (key.starts_with(path("rope.")) && !read_.contains(key) && count++ < 8)
        list += (list.empty() ? "" : ", ") + in_quotes(key);
    if (count > 0)
      out_.findings.push_back(
          {"config.unread", "warning",
           "keys that nothing here reads: " + list + (count > 8 ? ", ..." : "")});
  }

  Checkpoint& out_;
  const Architecture& architecture_;
  Json config_;
  std::set<string> read_;
  bool gptj_ = false;
  std::int64_t rotary_dim_ = 0;
};

}  // namespace

void config_from_gguf(Checkpoint& checkpoint) {
  const auto stated = checkpoint.metadata.find("general.architecture");
  const string name =
      stated != checkpoint.metadata.end() && stated->is_string() ? stated->get<string>() : string();
  const auto known = std::find_if(std::begin(architectures), std::end(architectures),
                                  [&](const Architecture& a) { return name == a.name; });
  if (known == std::end(architectures)) {
    checkpoint.findings.push_back(
        {"config.architecture", "warning",
         name.empty()
             ? "general.architecture is absent, so there is no config"
             : "the architecture " + in_quotes(name) + " is not known, so there is no config"});
    return;
  }
  Translation(checkpoint, *known).run();
}

}  // namespace ropewalk::checkpoints
