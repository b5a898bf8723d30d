#include <cmath>

#include "tests/checkpoints/support.hpp"
#include "theory/config.hpp"

using namespace ropewalk;
using namespace ropewalk::tests;

TEST_CASE("a legacy llama2.c file has the names and the order of a Llama") {
  for (const int vocabulary : {3, -3}) {
    const auto c = read_llama2c(in_memory(tiny_llama2c(vocabulary)));
    const bool own_output = vocabulary < 0;
    CHECK(c.format == "llama2.c");
    CHECK(c.tensors.size() == (own_output ? 14U : 13U));
    CHECK(c.config["model_type"] == "llama");
    CHECK(c.config["hidden_size"] == 4);
    CHECK(c.config["num_key_value_heads"] == 1);
    CHECK(c.config["vocab_size"] == 3);
    CHECK(c.config["rope_theta"] == 10000.0);
    CHECK(c.config["tie_word_embeddings"] == !own_output);
    REQUIRE(c.pairing);
    CHECK(*c.pairing == theory::Pairing::interleaved);
    const auto first = [&](const char* name) { return values(c.tensor(name)).front(); };
    CHECK(first("model.embed_tokens.weight") == 0);
    CHECK(first("model.layers.0.input_layernorm.weight") == 12);
    CHECK(first("model.layers.0.self_attn.q_proj.weight") == 16);
    CHECK(first("model.layers.0.self_attn.k_proj.weight") == 32);
    CHECK(first("model.layers.0.self_attn.v_proj.weight") == 40);
    CHECK(first("model.layers.0.self_attn.o_proj.weight") == 48);
    CHECK(first("model.layers.0.post_attention_layernorm.weight") == 64);
    CHECK(first("model.layers.0.mlp.gate_proj.weight") == 68);
    CHECK(first("model.layers.0.mlp.down_proj.weight") == 92);
    CHECK(first("model.layers.0.mlp.up_proj.weight") == 116);
    CHECK(first("model.norm.weight") == 140);
    // The table that the format keeps room for: 5 positions of one plane.
    CHECK(first("freq_cis_real") == 144);
    CHECK(values(c.tensor("freq_cis_imag")).back() == 153);
    CHECK(c.tensor("model.layers.0.mlp.down_proj.weight").shape == std::vector<std::int64_t>{4, 6});
    if (own_output) CHECK(first("lm_head.weight") == 154);
  }
}

TEST_CASE("llama2.c version 1 and 2 keep the norms first") {
  for (const int version : {1, 2}) {
    std::string bytes = "24ka" + raw(version, 4, 6, 1, 2, 1, 3, 5, std::uint8_t{0});
    if (version == 2) bytes += raw(2);
    bytes.resize(256);
    for (int i = 0; i < 12; ++i) bytes += raw(static_cast<float>(i));
    const auto matrix = [&](int count) {
      for (int i = 0; i < count; ++i)
        bytes += version == 1 ? raw(static_cast<float>(i)) : raw(static_cast<std::int8_t>(i));
      for (int i = 0; version == 2 && i < count / 2; ++i) bytes += raw(0.5F);
    };
    for (const int count : {12, 16, 8, 8, 16, 24, 24, 24, 12}) matrix(count);
    const auto c = read_llama2c(in_memory(bytes));
    CHECK(c.tensors.size() == 12);
    CHECK(values(c.tensor("model.layers.0.post_attention_layernorm.weight")).front() == 4);
    CHECK(values(c.tensor("model.norm.weight")).back() == 11);
    CHECK(values(c.tensor("lm_head.weight")).back() == (version == 1 ? 11 : 5.5));
    CHECK(c.tensor("lm_head.weight").dtype == (version == 1 ? DType::f32 : DType::groups_i8));
    refuses(ErrorCode::parse, "bytes, this one",
            [&] { (void)read_llama2c(in_memory(bytes + "x")); });
    if (version == 2) {
      std::string odd = bytes;
      odd[37] = 5;
      refuses(ErrorCode::parse, "FILE: ", [&] { (void)read_llama2c(in_memory(odd)); });
    }
  }
}

TEST_CASE("a llama2.c header that cannot be one is refused") {
  const auto refused = [](ErrorCode code, const std::string& part, const std::string& bytes) {
    refuses(code, part, [&] { (void)read_llama2c(in_memory(bytes)); });
  };
  const std::string good = tiny_llama2c();
  refused(ErrorCode::parse, "has 644 bytes, this one 640", good.substr(0, good.size() - 4));
  for (const std::size_t field : {0, 4, 8, 12, 16, 20, 24})
    for (const int value : {0, -1, 1 << 30, INT32_MIN}) {
      std::string bytes = good;
      bytes.replace(field, 4, raw(value));
      refused(ErrorCode::parse, "FILE: ", bytes);
    }
  refused(ErrorCode::parse, "not a header", raw(4, 6, 1, 3, 1, 3, 5));  // 3 heads, width 4
  refused(ErrorCode::parse, "not a header", raw(2, 6, 1, 2, 1, 3, 5));  // heads of one coordinate
  refused(ErrorCode::parse, "not a header", "24ka" + raw(0) + std::string(300, '\0'));
  refused(ErrorCode::unsupported, "version 3", "24ka" + raw(3) + std::string(300, '\0'));
  refused(ErrorCode::unsupported, "version -1", "24ka" + raw(-1) + std::string(300, '\0'));
  refused(ErrorCode::parse, "not a header", "24ka" + raw(2));
}

TEST_CASE("three formats of one trained model hold the same weights") {
  const std::string path = shared("checkpoints/stories260K.bin");
  if (path.empty()) return;
  const auto bin = open_checkpoint(path);
  const auto gguf = open_checkpoint(shared("checkpoints/stories260K.gguf"));
  const auto q80 = open_checkpoint(shared("checkpoints/stories260K_q80.bin"));
  CHECK(bin.format == "llama2.c");
  CHECK(q80.format == "llama2.c");
  CHECK(gguf.format == "gguf");
  for (const auto* c : {&bin, &gguf, &q80}) {
    REQUIRE(c->pairing);
    CHECK(*c->pairing == theory::Pairing::interleaved);
    for (const char* key :
         {"hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
          "intermediate_size", "vocab_size", "rms_norm_eps", "model_type"})
      CHECK(c->config[key] == bin.config[key]);
  }
  CHECK_FALSE(gguf.config.contains("rope_theta"));
  CHECK(theory::resolve(gguf.config).base == theory::resolve(bin.config).base);

  const std::map<std::string, std::string> parts = {{"input_layernorm", "attn_norm"},
                                                    {"self_attn.q_proj", "attn_q"},
                                                    {"self_attn.k_proj", "attn_k"},
                                                    {"self_attn.v_proj", "attn_v"},
                                                    {"self_attn.o_proj", "attn_output"},
                                                    {"post_attention_layernorm", "ffn_norm"},
                                                    {"mlp.gate_proj", "ffn_gate"},
                                                    {"mlp.down_proj", "ffn_down"},
                                                    {"mlp.up_proj", "ffn_up"}};
  std::map<std::string, std::string> names = {{"model.embed_tokens.weight", "token_embd.weight"},
                                              {"model.norm.weight", "output_norm.weight"}};
  for (int layer = 0; layer < 5; ++layer)
    for (const auto& [ours, theirs] : parts)
      names["model.layers." + std::to_string(layer) + "." + ours + ".weight"] =
          "blk." + std::to_string(layer) + "." + theirs + ".weight";
  REQUIRE(names.size() + 2 == bin.tensors.size());  // and a table of cosines and sines
  double worst = 0;
  for (const auto& [ours, theirs] : names) {
    CAPTURE(ours);
    const auto exact = values(bin.tensor(ours));
    REQUIRE(bin.tensor(ours).shape == gguf.tensor(theirs).shape);
    REQUIRE(exact == values(gguf.tensor(theirs)));
    const auto near = values(q80.tensor(ours));
    REQUIRE(near.size() == exact.size());
    for (std::size_t i = 0; i < near.size(); ++i)
      worst = std::max(worst, std::abs(near[i] - exact[i]));
  }
  CHECK(worst > 0.004);
  CHECK(worst < 0.0071);
  CHECK(values(gguf.tensor("output.weight")) == values(bin.tensor("model.embed_tokens.weight")));
}
