// The Transformer that a fact of kind `stack` is about, read strictly: config.json and
// model.safetensors of one of three forms. What a program might take to change the meaning of the
// weights is refused: a key or a tensor not named here, a number that is not finite.
#pragma once

#include <bit>
#include <cmath>
#include <filesystem>

#include "expression.hpp"

namespace checker {

using Doubles = std::vector<double>;

/// By columns, without zeros: the row and the weight.
struct Matrix {
  size_t rows = 0;
  std::vector<std::vector<std::pair<size_t, double>>> columns;
};
struct Linear {
  Matrix weight;
  Doubles bias;  // of the rows; 0 where the model has none
};
struct Norm {
  Doubles gain, shift;  // 1 and 0 where the model has none
};
struct Layer {
  Norm norm;
  Linear query, key, value, out;
};
/// Two rows of queries and keys that turn by `frequency` radians a position. `rest` is the place of
/// a last row without a partner, which stands still.
struct Plane {
  static constexpr size_t rest = SIZE_MAX;
  size_t x, y;
  Ball frequency;        // 0 in planes that stand still
  Ball steepness;        // its float32 angle errs by (10 + steepness) 2^-24 of itself at most
  bool inexact = false;  // its float32 frequency may be rounded
};
struct Model {
  enum class Form { gptj, llama, plain } form;
  size_t width, tokens;
  mpq_class epsilon;  // of the norms: the double nearest to the text, which may be off by 2^-22
  mpq_class scale;    // logits are over its square root
  std::vector<Plane> planes;
  Matrix embedding;  // width x tokens: a column is a token's
  std::vector<Layer> layers;
  Norm last;
  Linear unembedding;
};

constexpr size_t weights_limit = 512, config_limit = 1;  // MiB
constexpr size_t header_limit = 16 << 20;                // bytes
constexpr size_t nonzero_limit = 1 << 22;                // weights of a model that are not 0
constexpr size_t column_limit = 1 << 24;                 // of all matrices
constexpr long size_limit = 1 << 20;                     // of everything that config.json counts

/// The file of the format safetensors: where each tensor lies, and which are still to be asked for.
class Tensors {
 public:
  /// `single`: all numbers have to be float32 as well.
  Tensors(std::string content, bool single) : content_(std::move(content)), single_(single) {
    const std::uint64_t length = content_.size() < 8 ? UINT64_MAX : little_endian(0, 8);
    if (length > header_limit || length > content_.size() - 8)
      throw Malformed("the header does not fit");
    start_ = 8 + static_cast<size_t>(length);
    const json header = parse(content_.substr(8, static_cast<size_t>(length)), true);
    std::map<size_t, size_t> ends;  // of what begins there, sizes above 0
    for (const auto& [name, entry] : get_object(header)) {
      if (name == "__metadata__") continue;
      within(name.substr(0, 80), [&, &tensor = tensors_[name], &e = entry] {
        check_keys(e, {"dtype", "shape", "data_offsets"});
        Tensor t{get(e, "dtype"), {}, 0, 0};
        const auto offsets = numbers(e, "data_offsets");
        t.shape = numbers(e, "shape");
        const auto type = types.find(t.type);
        if (type == types.end()) throw Malformed("dtype: not F64, F32, F16 or BF16");
        if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > content_.size() - start_)
          throw Malformed("data_offsets: not inside the file");
        t.begin = start_ + offsets[0];
        size_t size = type->second;  // stays below 2^29 * 2^29
        for (const size_t n : t.shape) {
          size *= std::min(n, content_.size());
          if (size > content_.size()) throw Malformed("shape: larger than the file");
        }
        t.count = size / type->second;
        if (offsets[1] - offsets[0] != size) throw Malformed("data_offsets: not what shape needs");
        if (size > 0 && !ends.emplace(offsets[0], offsets[1]).second)
          throw Malformed("data_offsets: those of another tensor");
        tensor = t;
      });
    }
    size_t at = 0;
    for (const auto& [begin, end] : ends) {
      if (begin != at) throw Malformed("tensors overlap or leave a gap");
      at = end;
    }
    if (at != content_.size() - start_) throw Malformed("tensors do not fill the file");
  }

  Matrix matrix(const std::string& name, size_t rows, size_t columns) {
    columns_ += columns;
    if (columns_ > column_limit) throw Rejected("not decided: more than 2^24 columns");
    Matrix out{rows, std::vector<std::vector<std::pair<size_t, double>>>(columns)};
    take(name, {rows, columns}, [&](size_t i, double weight) {
      if (++nonzeros_ > nonzero_limit) throw Rejected("not decided: more than 2^22 weights");
      out.columns[i % columns].emplace_back(i / columns, weight);
    });
    return out;
  }
  /// With each row as a column.
  Matrix transposed(const std::string& name, size_t rows, size_t columns) {
    const Matrix m = matrix(name, rows, columns);
    Matrix out{columns, std::vector<std::vector<std::pair<size_t, double>>>(rows)};
    for (size_t c = 0; c < columns; ++c)
      for (const auto& [row, weight] : m.columns[c]) out.columns[row].emplace_back(c, weight);
    return out;
  }
  Doubles vector(const std::string& name, size_t count) {
    Doubles out(count);
    take(name, {count}, [&](size_t i, double weight) { out[i] = weight; });
    return out;
  }
  void zero(const std::string& name, const std::vector<size_t>& shape) {
    take(name, shape, [&](size_t, double) { throw Rejected("not all 0"); });
  }
  Linear linear(const std::string& name, size_t rows, size_t columns, bool bias) {
    return {matrix(name + ".weight", rows, columns),
            bias ? vector(name + ".bias", rows) : Doubles(rows)};
  }
  size_t rows(const std::string& name) const {
    const auto tensor = tensors_.find(name);
    return tensor == tensors_.end() || tensor->second.shape.empty() ? 0 : tensor->second.shape[0];
  }
  void check_empty() const {
    if (!tensors_.empty())
      throw Rejected(tensors_.begin()->first.substr(0, 80) + ": a tensor that is not of this form");
  }

 private:
  struct Tensor {
    std::string type;
    std::vector<size_t> shape;
    size_t begin, count;
  };
  inline static const std::map<std::string, size_t> types = {
      {"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}};

  static json::object_t get_object(const json& header) {
    if (!header.is_object()) throw Malformed("the header is no object");
    return header.get<json::object_t>();
  }
  static std::vector<size_t> numbers(const json& entry, const std::string& key) {
    std::vector<size_t> out;
    for (const json& n : get<json::array_t>(entry, key)) {
      if (!n.is_number_unsigned() || n.get<std::uint64_t>() > UINT32_MAX)
        throw Malformed(key + ": not integers from 0 to 2^32 - 1");
      out.push_back(n.get<size_t>());
    }
    return out;
  }
  std::uint64_t little_endian(size_t at, size_t bytes) const {
    std::uint64_t out = 0;
    for (size_t i = bytes; i-- > 0;) out = out << 8 | static_cast<unsigned char>(content_[at + i]);
    return out;
  }
  double decode(const std::string& type, std::uint64_t bits) const {
    if (type == "F64") return std::bit_cast<double>(bits);
    if (type == "F32") return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (type == "BF16") return std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16));
    const int exponent = static_cast<int>(bits >> 10 & 31);
    if (exponent == 31) return NAN;  // infinite or none
    const double size = std::ldexp(static_cast<double>((bits & 1023) + (exponent > 0 ? 1024 : 0)),
                                   std::max(exponent, 1) - 25);
    return bits >> 15 != 0 ? -size : size;
  }
  /// Hands the numbers that are not 0 over, with their places.
  template <class Use>
  void take(const std::string& name, const std::vector<size_t>& shape, const Use& use) {
    within(name, [&] {
      const auto found = tensors_.find(name);
      if (found == tensors_.end()) throw Rejected("missing");
      const Tensor t = found->second;
      if (t.shape != shape) throw Rejected("not of the shape that config.json says");
      const size_t bytes = types.at(t.type);
      for (size_t i = 0; i < t.count; ++i) {
        const double x = decode(t.type, little_endian(t.begin + i * bytes, bytes));
        if (!std::isfinite(x)) throw Rejected("a number that is not finite");
        if (single_ && static_cast<double>(static_cast<float>(x)) != x)
          throw Rejected("a number that is no float32");
        if (x != 0) use(i, x);
      }
      tensors_.erase(found);
    });
  }

  std::string content_;
  bool single_;
  size_t start_ = 0, nonzeros_ = 0, columns_ = 0;
  std::map<std::string, Tensor> tensors_;
};

/// config.json, key by key.
class Config {
 public:
  Config(const std::string& content, bool single) : json_(parse(content, true)) {
    if (!json_.is_object()) throw Malformed("no object");
    type_ = get(json_, "model_type");
    for (const std::string key : {"dtype", "torch_dtype"})
      if (has(key) && single && get(json_, key) != "float32")
        throw Rejected(key + ": not float32, which the fact is about");
  }
  const std::string& type() const { return type_; }
  bool has(const std::string& key) const { return json_.contains(key) && !json_[key].is_null(); }
  const json& operator[](const std::string& key) const { return json_.at(key); }
  void check(Texts required, Texts optional) const {
    required.insert(required.end(), {"model_type", "vocab_size"});
    optional.insert(optional.end(), {"dtype", "torch_dtype", "ropewalk"});
    check_keys(json_, required, optional);
  }
  /// What programs write into every config: no part of the model, but the class that it is for.
  void check_pretrained(const std::string& architecture, Texts required, Texts optional) const {
    required.emplace_back("tie_word_embeddings");
    optional.insert(optional.end(),
                    {"architectures", "bos_token_id", "eos_token_id", "pad_token_id", "use_cache",
                     "initializer_range", "transformers_version"});
    check(required, optional);
    flag("tie_word_embeddings", false);
    if (json_.contains("architectures") && json_["architectures"] != json::array({architecture}))
      throw Rejected("architectures: not " + architecture);
  }
  size_t count(const std::string& key, long from = 1) const {
    const json& n = json_.at(key);
    if (!n.is_number_integer() || n < from || n > size_limit)
      throw Rejected(key + ": no integer from " + std::to_string(from) + " to 2^20");
    return n.get<size_t>();
  }
  void exactly_one(const std::string& key) const {
    if (count(key) != 1) throw Rejected(key + ": not 1");
  }
  void at_least(const std::string& key, long length) const {
    if (count(key) < static_cast<size_t>(length)) throw Rejected(key + ": below the length");
  }
  void flag(const std::string& key, bool value) const {
    if (json_.at(key) != value) throw Rejected(key + (value ? ": not true" : ": not false"));
  }
  void text(const std::string& key) const { get(json_, key); }
  double real(const std::string& key, double from, double to) const {
    const json& x = json_.at(key);
    if (!x.is_number() || !(x.get<double>() >= from && x.get<double>() <= to))
      throw Rejected(key + ": no number from " + json(from).dump() + " to " + json(to).dump());
    return x.get<double>();
  }

 private:
  json json_;
  std::string type_;
};

/// The plane f of `count` that turn by base^(-f / count), over factors[f] if there are any.
inline Plane rotary_plane(size_t x, size_t y, double base, size_t f, size_t count,
                          const Doubles& factors = {}) {
  const Value exponent = mpq_class(-ratio(static_cast<long>(f), static_cast<long>(count)));
  const Ball log(arb_log, Ball(mpq_class(base)));
  Plane out{x, y, power(Value(mpq_class(base)), exponent).enclosure(), Ball(-exponent.p) * log,
            f > 0};
  if (factors.empty()) return out;
  out.frequency = out.frequency * Ball(mpq_class(1 / mpq_class(factors[f])));
  out.steepness = out.steepness + Ball(mpq_class(2));
  out.inexact = true;
  const Ball smallest(mpq_class(1, mpz_class(1) << 120));
  if (arb_gt(out.frequency, smallest) == 0) throw Rejected("a frequency not above 2^-120");
  return out;
}

/// Those of rope_scaling, which has to be of the type longrope and the same for all lengths.
inline Doubles rope_factors(const json& scaling, size_t planes) {
  if (!scaling.is_object() || scaling.value("rope_type", json()) != "longrope")
    throw Rejected("rope_type: not longrope");
  check_keys(scaling, {"rope_type", "attention_factor", "short_factor", "long_factor"},
             {"factor", "original_max_position_embeddings"});
  if (scaling["attention_factor"] != 1) throw Rejected("attention_factor: not 1");
  const json& list = scaling["short_factor"];
  if (list != scaling["long_factor"]) throw Rejected("long_factor: not the short_factor");
  if (!list.is_array() || list.size() != planes)
    throw Rejected("short_factor: not half as many numbers as head_dim");
  Doubles out;
  for (const json& x : list) {
    if (!x.is_number() || !(x.get<double>() >= 0x1p-60 && x.get<double>() <= 0x1p120))
      throw Rejected("short_factor: no numbers from 2^-60 to 2^120");
    out.push_back(x.get<double>());
  }
  return out;
}

inline Model read_gptj(const Config& config, Tensors& tensors, long length) {
  config.check_pretrained("GPTJForCausalLM",
                          {"n_positions", "n_embd", "n_layer", "n_head", "rotary_dim", "n_inner",
                           "activation_function", "layer_norm_epsilon"},
                          {"resid_pdrop", "embd_pdrop", "attn_pdrop"});
  config.exactly_one("n_head");
  config.at_least("n_positions", length);
  config.text("activation_function");  // it sees zeros and meets zeros
  const size_t d = config.count("n_embd"), v = config.count("vocab_size"),
               turning = config.count("rotary_dim", 2),
               inner = config.has("n_inner") ? config.count("n_inner") : 4 * d;
  if (turning % 2 != 0 || turning > d) throw Rejected("rotary_dim: odd, or above n_embd");
  Model out{Model::Form::gptj,
            d,
            v,
            mpq_class(config.real("layer_norm_epsilon", 0, 1)),
            mpq_class(d),
            {},
            {},
            {},
            {},
            {}};
  for (size_t x = 0; x < d; x += 2)
    out.planes.push_back(x < turning ? rotary_plane(x, x + 1, 10000, x / 2, turning / 2)
                                     : Plane{x, x + 1 < d ? x + 1 : Plane::rest, {}, {}});
  out.embedding = tensors.transposed("transformer.wte.weight", v, d);
  const auto norm = [&](const std::string& name) {
    return Norm{tensors.vector(name + ".weight", d), tensors.vector(name + ".bias", d)};
  };
  for (size_t l = 0; l < config.count("n_layer"); ++l) {
    const std::string at = "transformer.h." + std::to_string(l) + ".";
    const auto linear = [&](const std::string& name) {
      return tensors.linear(at + "attn." + name + "_proj", d, d, false);
    };
    out.layers.push_back({norm(at + "ln_1"), linear("q"), linear("k"), linear("v"), linear("out")});
    tensors.zero(at + "mlp.fc_in.weight", {inner, d});
    tensors.zero(at + "mlp.fc_in.bias", {inner});
    tensors.zero(at + "mlp.fc_out.weight", {d, inner});
    tensors.zero(at + "mlp.fc_out.bias", {d});
  }
  out.last = norm("transformer.ln_f");
  out.unembedding = tensors.linear("lm_head", v, d, true);
  return out;
}

inline Model read_llama(const Config& config, Tensors& tensors, long length) {
  config.check_pretrained(
      "LlamaForCausalLM",
      {"hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim",
       "intermediate_size", "hidden_act", "rms_norm_eps", "rope_theta", "attention_bias",
       "mlp_bias", "max_position_embeddings"},
      {"rope_parameters", "rope_scaling", "attention_dropout"});
  config.exactly_one("num_attention_heads");
  config.exactly_one("num_key_value_heads");
  config.at_least("max_position_embeddings", length);
  config.flag("attention_bias", true);
  config.flag("mlp_bias", false);
  config.text("hidden_act");
  const double base = config.real("rope_theta", 1, 1e38);  // the nearest double; float32 holds it
  const size_t d = config.count("hidden_size"), v = config.count("vocab_size"),
               head = config.count("head_dim", 2), inner = config.count("intermediate_size");
  if (head % 2 != 0) throw Rejected("head_dim: odd");
  json rope = json::object({{"rope_type", "default"}});
  Doubles factors;
  if (config.has("rope_scaling"))
    within("rope_scaling",
           [&] { factors = rope_factors(rope = config["rope_scaling"], head / 2); });
  rope["rope_theta"] = config["rope_theta"];
  if (config.has("rope_parameters") && config["rope_parameters"] != rope)
    throw Rejected("rope_parameters: not rope_scaling (else the type default) and rope_theta");
  Model out{Model::Form::llama,
            d,
            v,
            mpq_class(config.real("rms_norm_eps", 0, 1)),
            mpq_class(head),
            {},
            {},
            {},
            {},
            {}};
  for (size_t f = 0; f < head / 2; ++f)
    out.planes.push_back(rotary_plane(f, f + head / 2, base, f, head / 2, factors));
  out.embedding = tensors.transposed("model.embed_tokens.weight", v, d);
  const auto norm = [&](const std::string& name) {
    return Norm{tensors.vector(name + ".weight", d), Doubles(d)};
  };
  for (size_t l = 0; l < config.count("num_hidden_layers"); ++l) {
    const std::string at = "model.layers." + std::to_string(l) + ".";
    const auto linear = [&](const std::string& name, size_t rows, size_t columns) {
      return tensors.linear(at + "self_attn." + name + "_proj", rows, columns, true);
    };
    out.layers.push_back({norm(at + "input_layernorm"), linear("q", head, d), linear("k", head, d),
                          linear("v", head, d), linear("o", d, head)});
    for (const double g : norm(at + "post_attention_layernorm").gain)  // it is followed by zeros
      if (std::abs(g) > 0x1p64) throw Rejected(at + "post_attention_layernorm: beyond 2^64");
    tensors.zero(at + "mlp.gate_proj.weight", {inner, d});
    tensors.zero(at + "mlp.up_proj.weight", {inner, d});
    tensors.zero(at + "mlp.down_proj.weight", {d, inner});
  }
  out.last = norm("model.norm");
  out.unembedding = {tensors.matrix("lm_head.weight", v, d), Doubles(v)};
  return out;
}

inline Model read_plain(const Config& config, Tensors& tensors) {
  config.check({"hidden_size", "num_hidden_layers", "head_dim", "frequencies"}, {});
  const size_t d = config.count("hidden_size"), v = config.count("vocab_size"),
               head = config.count("head_dim", 2);
  Model out{Model::Form::plain, d, v, 0, 1, {}, {}, {}, {}, {}};
  if (!config["frequencies"].is_array() || head != 2 * config["frequencies"].size())
    throw Rejected("frequencies: not half as many as head_dim");
  Context context(json::object());
  for (const json& text : config["frequencies"])
    within("frequencies", [&] {
      Node& node = context.parse(text.get<std::string>());
      const Value theta = settle([&] { return context.value(node); });
      out.planes.push_back(
          {2 * out.planes.size(), 2 * out.planes.size() + 1, theta.enclosure(), {}});
    });
  out.embedding = tensors.transposed("embedding", v, d);
  const Norm none{Doubles(d, 1), Doubles(d)};
  for (size_t l = 0; l < config.count("num_hidden_layers"); ++l) {
    const std::string at = "layers." + std::to_string(l) + ".";
    const size_t inner = tensors.rows(at + "W_V");
    if (inner > static_cast<size_t>(size_limit)) throw Rejected(at + "W_V: more than 2^20 rows");
    const auto linear = [&](const std::string& name, size_t rows, size_t columns) {
      return Linear{tensors.matrix(at + name, rows, columns), Doubles(rows)};
    };
    out.layers.push_back({none, linear("W_Q", head, d), linear("W_K", head, d),
                          linear("W_V", inner, d), linear("W_O", d, inner)});
  }
  out.last = none;
  out.unembedding = {tensors.matrix("unembedding", v, d), Doubles(v)};
  return out;
}

/// The model of the two files in this folder, if they hash to what `files` says.
inline Model read_model(const std::string& folder, const json& files, bool single, long length) {
  check_keys(files, {"config.json", "model.safetensors"});
  const auto content = [&](const std::string& name, size_t limit) {
    const std::string path = (std::filesystem::path(folder) / name).string();
    std::error_code none;
    if (std::filesystem::exists(path, none) && !std::filesystem::is_regular_file(path, none))
      throw Rejected("no regular file");
    std::string out = read(path, limit);
    const std::string hash = sha256(out);
    if (hash != get(files, name)) throw Rejected("the contents hash to " + hash);
    return out;
  };
  std::string weights =
      within("model.safetensors", [&] { return content("model.safetensors", weights_limit); });
  const auto config =
      within("config.json", [&] { return Config(content("config.json", config_limit), single); });
  auto tensors = within("model.safetensors", [&] { return Tensors(std::move(weights), single); });
  Model out = within("the model", [&] {
    if (config.type() == "gptj") return read_gptj(config, tensors, length);
    if (config.type() == "llama") return read_llama(config, tensors, length);
    if (config.type() != "ropewalk") throw Rejected("model_type: not gptj, llama or ropewalk");
    if (single) throw Rejected("model_type: ropewalk is for real arithmetic");
    return read_plain(config, tensors);
  });
  within("model.safetensors", [&] { tensors.check_empty(); });
  return out;
}

}  // namespace checker
