/// llama2.c: a fixed header and the weights of a Llama in a fixed order, so that the header says
/// how long the file is to the byte. Three layouts:
///
///   legacy     seven int32, then float32; a negative vocabulary size means a classifier of its own
///   version 1  "ak42", a 256-byte header, float32, the norms first
///   version 2  the same, the matrices as int8 with one float32 scale per group

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "checkpoints/bytes.hpp"
#include "checkpoints/checkpoint.hpp"
#include "checkpoints/llama2c.hpp"

namespace ropewalk::checkpoints {

namespace {

using Shape = std::vector<std::int64_t>;

constexpr std::uint64_t new_header_bytes = 256;

/// Sizes are small enough that no product of three of them overflows.
constexpr std::int64_t largest = 1 << 20;

/// What weights are called, and which layers have them, in the order of the file. One call a
/// tensor.
using Sink = std::function<void(const std::string& name, Shape shape)>;

std::string in_layer(std::int64_t layer, const char* what) {
  return "model.layers." + std::to_string(layer) + "." + what + ".weight";
}

struct Layout {
  const Llama2cHeader& h;
  const Sink& sink;

  void each_layer(const char* name, const Shape& shape) const {
    for (std::int64_t layer = 0; layer < h.layers; ++layer) sink(in_layer(layer, name), shape);
  }
  void embedding() const { sink("model.embed_tokens.weight", {h.vocabulary, h.dim}); }
  void attention_norms() const { each_layer("input_layernorm", {h.dim}); }
  void attention() const {
    const std::int64_t keys = h.dim / h.heads * h.kv_heads;
    each_layer("self_attn.q_proj", {h.dim, h.dim});
    each_layer("self_attn.k_proj", {keys, h.dim});
    each_layer("self_attn.v_proj", {keys, h.dim});
    each_layer("self_attn.o_proj", {h.dim, h.dim});
  }
  void mlp_norms() const { each_layer("post_attention_layernorm", {h.dim}); }
  void mlp() const {
    each_layer("mlp.gate_proj", {h.hidden, h.dim});
    each_layer("mlp.down_proj", {h.dim, h.hidden});
    each_layer("mlp.up_proj", {h.hidden, h.dim});
  }
  void last_norm() const { sink("model.norm.weight", {h.dim}); }
  void classifier() const {
    if (!h.shared_classifier) sink("lm_head.weight", {h.vocabulary, h.dim});
  }
};

std::uint64_t count(const Shape& shape) { return *element_count(shape); }

/// float32 in place.
Tensor floats(Reader& reader, const std::string& name, Shape shape) {
  Tensor t;
  t.name = name;
  t.dtype = DType::f32;
  t.data = reader.take(4 * count(shape), name.c_str());
  t.strides = row_major(shape);
  t.shape = std::move(shape);
  return t;
}

/// int8 elements, then their scales.
Tensor groups(Reader& reader, const std::string& name, Shape shape, std::int64_t group) {
  const std::uint64_t n = count(shape);
  if (n % static_cast<std::uint64_t>(group) != 0)
    reader.fail(name + ": " + std::to_string(n) + " elements are no multiple of the group size " +
                std::to_string(group));
  Tensor t;
  t.name = name;
  t.dtype = DType::groups_i8;
  t.data = reader.take(n, name.c_str());
  t.scales = reader.take(n / static_cast<std::uint64_t>(group) * 4, name.c_str());
  t.group = group;
  t.strides = row_major(shape);
  t.shape = std::move(shape);
  return t;
}

nlohmann::json config_of(const Llama2cHeader& h) {
  return {{"model_type", "llama"},
          {"hidden_size", h.dim},
          {"intermediate_size", h.hidden},
          {"num_hidden_layers", h.layers},
          {"num_attention_heads", h.heads},
          {"num_key_value_heads", h.kv_heads},
          {"vocab_size", h.vocabulary},
          {"max_position_embeddings", h.context},
          // By the format's definition: the program has no other.
          {"rms_norm_eps", 1e-5},
          {"rope_theta", 10000.0},
          {"tie_word_embeddings", h.shared_classifier}};
}

}  // namespace

std::uint64_t Llama2cHeader::file_bytes() const {
  std::uint64_t bytes = version == 0 ? 28 : new_header_bytes;
  const auto full = static_cast<std::uint64_t>(version == 2 ? group : 0);
  const Sink add = [&](const std::string&, const Shape& shape) {
    const std::uint64_t n = count(shape);
    bytes += full != 0 && shape.size() == 2 ? n + n / full * 4 : 4 * n;
  };
  const Layout layout{*this, add};
  layout.embedding();
  layout.attention_norms();
  layout.attention();
  layout.mlp_norms();
  layout.mlp();
  layout.last_norm();
  layout.classifier();
  // The legacy layout keeps room for the table of cosines and sines.
  if (version == 0) bytes += static_cast<std::uint64_t>(context * (dim / heads)) * 4;
  return bytes;
}

std::optional<Llama2cHeader> llama2c_header(std::span<const std::byte> bytes) {
  Llama2cHeader h;
  Reader reader(bytes, "header");
  if (bytes.size() < 28) return {};
  if (reader.text(4, "the magic") == llama2c_magic) {
    if (bytes.size() < new_header_bytes) return {};
    h.version = reader.number<std::int32_t>("the version");
    if (h.version == 0) return {};
    if (h.version != 1 && h.version != 2) return h;
  } else {
    reader.seek(0, "the header");
  }
  for (std::int64_t* field :
       {&h.dim, &h.hidden, &h.layers, &h.heads, &h.kv_heads, &h.vocabulary, &h.context})
    *field = reader.number<std::int32_t>("the header");
  if (h.version == 0) {
    h.shared_classifier = h.vocabulary > 0;
    h.vocabulary = std::abs(h.vocabulary);
  } else {
    const auto shared = reader.number<std::uint8_t>("the header");
    if (shared > 1) return {};
    h.shared_classifier = shared == 1;
    if (h.version == 2) h.group = reader.number<std::int32_t>("the group size");
  }
  for (const std::int64_t x :
       {h.dim, h.hidden, h.layers, h.heads, h.kv_heads, h.vocabulary, h.context, h.group})
    if (x <= 0 || x > largest) return {};
  if (h.layers > 4096 || h.dim % h.heads != 0 || h.heads % h.kv_heads != 0 ||
      h.dim / h.heads % 2 != 0)
    return {};
  return h;
}

Checkpoint read_llama2c(const std::shared_ptr<const MappedFile>& file) {
  Reader reader(file->bytes(), file->path());
  const auto found = llama2c_header(file->bytes());
  if (!found) reader.fail("not a header of llama2.c");
  const Llama2cHeader& h = *found;
  if (h.version < 0 || h.version > 2)
    reader.fail(ErrorCode::unsupported, "version " + std::to_string(h.version) +
                                            " of llama2.c's format is not read (1 and 2 are)");
  if (const std::uint64_t wanted = h.file_bytes(); wanted != file->bytes().size())
    throw Error(ErrorCode::parse, file->path() + ": a llama2.c file of these sizes has " +
                                      std::to_string(wanted) + " bytes, this one " +
                                      std::to_string(file->bytes().size()));

  Checkpoint out;
  out.path = file->path();
  out.format = "llama2.c";
  out.files = {file->path()};
  out.config = config_of(h);
  out.config_source = "header of " + file->path();
  out.pairing = theory::Pairing::interleaved;
  out.metadata = {{"version", h.version}};
  if (h.version == 2) out.metadata["group_size"] = h.group;

  const auto keep = [&](Tensor tensor) {
    tensor.owner = file;
    out.tensors.emplace(tensor.name, std::move(tensor));
  };
  const Sink plain = [&](const std::string& name, Shape shape) {
    keep(floats(reader, name, std::move(shape)));
  };
  const Sink packed = [&](const std::string& name, Shape shape) {
    keep(groups(reader, name, std::move(shape), h.group));
  };
  reader.seek(h.version == 0 ? 28 : new_header_bytes, "the first weight");
  const Layout norms{h, plain};
  const Layout matrices{h, h.version == 2 ? packed : plain};
  if (h.version == 0) {
    norms.embedding();
    norms.attention_norms();
    norms.attention();
    norms.mlp_norms();
    norms.mlp();
    norms.last_norm();
    // The program that reads these files skips them and computes its own.
    for (const char* table : {"freq_cis_real", "freq_cis_imag"})
      plain(table, {h.context, h.dim / h.heads / 2});
    norms.classifier();
  } else {
    norms.attention_norms();
    norms.mlp_norms();
    norms.last_norm();
    matrices.embedding();
    matrices.attention();
    matrices.mlp();
    matrices.classifier();
  }
  return out;
}

}  // namespace ropewalk::checkpoints
