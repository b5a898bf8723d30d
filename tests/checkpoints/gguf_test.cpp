#include "tests/checkpoints/support.hpp"
#include "theory/config.hpp"

using namespace ropewalk;
using namespace ropewalk::tests;

namespace {

Checkpoint read(const GgufWriter& writer) { return read_gguf(in_memory(writer.bytes())); }

void refused(const std::string& bytes, const std::string& part, ErrorCode code = ErrorCode::parse) {
  refuses(code, part, [&] { (void)read_gguf(in_memory(bytes)); });
}

/// The keys that every architecture has.
GgufWriter model(const std::string& name) {
  GgufWriter w;
  w.string("general.architecture", name)
      .number(name + ".block_count", 2)
      .number(name + ".embedding_length", 64)
      .number(name + ".feed_forward_length", 128)
      .number(name + ".context_length", 1024)
      .number(name + ".attention.head_count", 4)
      .number(name + ".attention.head_count_kv", 2);
  return w;
}

}  // namespace

TEST_CASE("a GGUF file: reversed dimensions, types, alignment") {
  GgufWriter w;
  w.tensor("a", {3, 2}, 0, raw(0.0F, 1.0F, 2.0F, 3.0F, 4.0F, 5.0F))
      .tensor("b", {2}, 28, raw(0.5, 0.25))
      .tensor("c", {2}, 1, raw(std::uint16_t{0x3c00}, std::uint16_t{0xc000}))
      .tensor("d", {2}, 30, raw(std::uint16_t{0x3f80}, std::uint16_t{0xc000}))
      .tensor("e", {32, 1}, 8, raw(std::uint16_t{0x3c00}) + std::string(32, '\x07'))
      .tensor("f", {}, 26, raw(-9));
  for (const std::uint32_t version : {2U, 3U}) {
    const auto c = read_gguf(in_memory(w.bytes(version)));
    CHECK(c.tensor("a").shape == std::vector<std::int64_t>{2, 3});
    CHECK(values(c.tensor("a")) == std::vector<double>{0, 1, 2, 3, 4, 5});
    CHECK(values(c.tensor("b")) == std::vector<double>{0.5, 0.25});
    CHECK(values(c.tensor("c")) == std::vector<double>{1, -2});
    CHECK(values(c.tensor("d")) == std::vector<double>{1, -2});
    CHECK(values(c.tensor("e")) == std::vector<double>(32, 7));
    CHECK(values(c.tensor("f")) == std::vector<double>{-9});
    CHECK(c.config.is_null());
    REQUIRE(c.findings.size() == 1);
    CHECK(c.findings[0].id == "config.architecture");
  }
}

TEST_CASE("GGUF metadata of every type, long lists by their length") {
  GgufWriter w;
  w.key("u8", 0, raw(std::uint8_t{200}))
      .key("i8", 1, raw(std::int8_t{-3}))
      .key("u16", 2, raw(std::uint16_t{60000}))
      .key("i16", 3, raw(std::int16_t{-300}))
      .number("u32", 4000000000U)
      .key("i32", 5, raw(-70000))
      .real("f32", 1e-5F)
      .key("bool", 7, raw(std::uint8_t{1}))
      .string("text",
              "a\xff"
              "b")
      .key("list", 9, raw(std::uint32_t{4}, std::uint64_t{2}, 7U, 8U))
      .key("words", 9,
           raw(std::uint32_t{8}, std::uint64_t{2}) + GgufWriter::text("x") + GgufWriter::text(""))
      .key("long", 9, raw(std::uint32_t{0}, std::uint64_t{1001}) + std::string(1001, 'x'))
      .key("u64", 10, raw(~std::uint64_t{0}))
      .key("i64", 11, raw(std::int64_t{-1}))
      .key("f64", 12, raw(0.1))
      .real("nan", std::numeric_limits<float>::quiet_NaN());
  const auto m = read(w).metadata;
  CHECK(m["u8"] == 200);
  CHECK(m["i8"] == -3);
  CHECK(m["u16"] == 60000);
  CHECK(m["i16"] == -300);
  CHECK(m["u32"] == 4000000000U);
  CHECK(m["i32"] == -70000);
  CHECK(m["f32"] == 1e-5);
  CHECK(m["bool"] == true);
  CHECK(m["text"] == "a?b");
  CHECK(m["list"] == nlohmann::json{7, 8});
  CHECK(m["words"] == nlohmann::json{"x", ""});
  CHECK(m["long"]["length"] == 1001);
  CHECK(m["u64"] == ~std::uint64_t{0});
  CHECK(m["i64"] == -1);
  CHECK(m["f64"] == 0.1);
  CHECK(m["nan"] == "nan");
  // A vocabulary is needed whole, and may be no list at all.
  GgufWriter none;
  none.string("general.architecture", "llama").number("tokenizer.ggml.tokens", 7);
  CHECK_FALSE(read(none).config.contains("vocab_size"));
  std::string pieces;
  for (int i = 0; i < 1500; ++i) pieces += GgufWriter::text(std::to_string(i));
  GgufWriter v;
  v.key("tokenizer.ggml.tokens", 9, raw(std::uint32_t{8}, std::uint64_t{1500}) + pieces);
  CHECK(read(v).metadata["tokenizer.ggml.tokens"].size() == 1500);
}

TEST_CASE("GGUF metadata become a config in the words of Hugging Face") {
  auto w = model("llama");
  w.real("llama.attention.layer_norm_rms_epsilon", 1e-5F)
      .real("llama.rope.freq_base", 500000)
      .number("llama.rope.dimension_count", 16)
      .tensor("token_embd.weight", {64, 100}, 0, std::string(64 * 100 * 4, '\0'));
  auto c = read(w);
  CHECK(c.config["model_type"] == "llama");
  CHECK(c.config["hidden_size"] == 64);
  CHECK(c.config["num_hidden_layers"] == 2);
  CHECK(c.config["intermediate_size"] == 128);
  CHECK(c.config["max_position_embeddings"] == 1024);
  CHECK(c.config["num_attention_heads"] == 4);
  CHECK(c.config["num_key_value_heads"] == 2);
  CHECK(c.config["rms_norm_eps"] == 1e-5);
  CHECK(c.config["rope_theta"] == 500000);
  CHECK(c.config["vocab_size"] == 100);
  CHECK(c.config["tie_word_embeddings"] == true);
  CHECK(c.config_source == "header of FILE");
  CHECK(*c.pairing == theory::Pairing::interleaved);
  CHECK(c.findings.empty());
  const auto rope = theory::resolve(c.config);
  CHECK(rope.rotary_dim == 16);
  CHECK(*rope.base == 500000);

  for (const auto& [name, type] : {std::pair{"qwen2", "qwen2"},
                                   {"qwen3", "qwen3"},
                                   {"gemma", "gemma"},
                                   {"gptneox", "gpt_neox"},
                                   {"phi3", "phi3"}}) {
    c = read(model(name));
    CHECK(c.config["model_type"] == type);
    CHECK(*c.pairing == theory::Pairing::half_split);
  }
  auto neox = model("gptneox");
  neox.number("gptneox.rope.dimension_count", 4);
  CHECK(theory::resolve(read(neox).config).rotary_dim == 4);
  auto gptj = model("gptj");
  gptj.number("gptj.rope.dimension_count", 8);
  c = read(gptj);
  CHECK(*c.pairing == theory::Pairing::interleaved);
  CHECK(c.config["n_embd"] == 64);
  CHECK(theory::resolve(c.config).rotary_dim == 8);
  auto phi = model("phi3");
  phi.number("phi3.rope.dimension_count", 12);
  CHECK(theory::resolve(read(phi).config).rotary_dim == 12);
}

TEST_CASE("Gemma in GGUF: windows, soft caps and the scale of the query") {
  auto w = model("gemma2");
  w.number("gemma2.attention.key_length", 32)
      .number("gemma2.attention.sliding_window", 512)
      .real("gemma2.attn_logit_softcapping", 50)
      .real("gemma2.final_logit_softcapping", 30);
  auto c = read(w);
  CHECK(c.config["head_dim"] == 32);
  CHECK(c.config["sliding_window"] == 512);
  CHECK(c.config["final_logit_softcapping"] == 30);
  CHECK(c.config["query_pre_attn_scalar"] == 32);
  CHECK(*theory::resolve(c.config).softcap == 50);

  GgufWriter large;
  large.string("general.architecture", "gemma3")
      .number("gemma3.block_count", 62)
      .number("gemma3.embedding_length", 5376)
      .number("gemma3.attention.head_count", 32)
      .number("gemma3.attention.key_length", 128)
      .real("gemma3.rope.freq_base", 1e6F)
      .string("gemma3.rope.scaling.type", "linear")
      .real("gemma3.rope.scaling.factor", 8);
  c = read(large);
  CHECK(c.config["model_type"] == "gemma3_text");
  CHECK(c.config["query_pre_attn_scalar"] == 168);
  const auto local = theory::resolve(c.config, {.length = {}, .layer = 0});
  CHECK(*local.base == 10000);
  const auto global = theory::resolve(c.config, {.length = {}, .layer = 5});
  CHECK(*global.base == 1000000);
}

TEST_CASE("scaled rotary tables in GGUF") {
  auto yarn = model("qwen2");
  yarn.string("qwen2.rope.scaling.type", "yarn")
      .real("qwen2.rope.scaling.factor", 4)
      .number("qwen2.rope.scaling.original_context_length", 256);
  auto c = read(yarn);
  CHECK(c.config["rope_scaling"]["rope_type"] == "yarn");
  CHECK(theory::resolve(c.config).schedule.scheme.find("yarn") != std::string::npos);

  auto linear = model("llama");
  linear.real("llama.rope.scale_linear", 2);
  CHECK(read(linear).config["rope_scaling"] ==
        nlohmann::json{{"rope_type", "linear"}, {"factor", 2.0}});

  std::string divisors;
  for (int i = 0; i < 8; ++i) divisors += raw(static_cast<float>(1 << i));
  auto llama3 = model("llama");
  llama3.tensor("rope_freqs.weight", {8}, 0, divisors);
  c = read(llama3);
  REQUIRE(c.findings.size() == 1);
  CHECK(c.findings[0].id == "config.rope");
  const auto table = theory::resolve(c.config).schedule.frequencies;
  const auto plain = theory::resolve(read(model("llama")).config).schedule.frequencies;
  REQUIRE(table.size() == 8);
  for (std::size_t i = 0; i < 8; ++i)
    CHECK(table[i].as<double>() * (1 << i) == Approx(plain[i].as<double>()));

  auto longrope = model("phi3");
  longrope.string("phi3.rope.scaling.type", "longrope")
      .real("phi3.rope.scaling.attn_factor", 1.19F)
      .number("phi3.rope.scaling.original_context_length", 512)
      .tensor("rope_factors_short.weight", {8}, 0, divisors)
      .tensor("rope_factors_long.weight", {8}, 0, divisors);
  c = read(longrope);
  CHECK(c.config["rope_scaling"]["attention_factor"] == 1.19);
  CHECK(c.config["rope_scaling"]["long_factor"][7] == 128);
  (void)theory::resolve(c.config);

  auto odd = model("llama");
  odd.real("llama.rope.strange", 1);
  c = read(odd);
  REQUIRE(c.findings.size() == 1);
  CHECK(c.findings[0].id == "config.unread");
}

TEST_CASE("values of the wrong kind in GGUF metadata are named") {
  const auto bad = [](GgufWriter w, const std::string& part) {
    refused(w.bytes(), part, ErrorCode::bad_value);
  };
  bad(GgufWriter().string("general.architecture", "llama").string("llama.block_count", "two"),
      "llama.block_count: is not a number");
  bad(model("llama").number("llama.rope.dimension_count", 17), "between 2 and the head dimension");
  bad(model("llama").number("llama.rope.scaling.type", 3), "llama.rope.scaling.type");
  bad(GgufWriter().number("general.alignment", 48), "general.alignment");
  bad(GgufWriter().number("general.alignment", 0), "general.alignment");
  bad(model("llama").tensor("rope_freqs.weight", {1}, 0,
                            raw(std::numeric_limits<float>::infinity())),
      "not finite");
  GgufWriter layers;
  layers.string("general.architecture", "llama")
      .key("llama.attention.head_count", 9, raw(4U, std::uint64_t{2}, 4U, 8U));
  const auto c = read(layers);
  REQUIRE(c.findings.size() == 1);
  CHECK(c.findings[0].id == "config.per_layer");
  CHECK_FALSE(c.config.contains("num_attention_heads"));
}

TEST_CASE("a GGUF file that contradicts itself is refused in one line") {
  const std::uint64_t huge = ~std::uint64_t{0};
  const auto header = [](std::uint64_t tensors, std::uint64_t keys) {
    return "GGUF" + raw(3U, tensors, keys);
  };
  refused("GGUX" + raw(3U), "not a GGUF file");
  refused("GGUF" + raw(1U), "version 1 is not read", ErrorCode::unsupported);
  refused("GGUF" + raw(0x03000000U), "big-endian", ErrorCode::unsupported);
  refused(header(huge, 0), "tensors; at most", ErrorCode::too_large);
  refused(header(0, huge), "metadata keys; at most", ErrorCode::too_large);
  refused(header(0, 1) + raw(huge), "a metadata key would have 18446744073709551615 bytes");
  refused(header(0, 1) + GgufWriter::text("k") + raw(99U), "metadata type 99");
  refused(header(0, 1) + GgufWriter::text("k") + raw(8U, huge), "a metadata value would have");
  refused(header(0, 1) + GgufWriter::text("k") + raw(9U, 4U, huge), "goes beyond the end");
  refused(header(0, 1) + GgufWriter::text("k") + raw(9U, 9U, huge), "a list of lists",
          ErrorCode::unsupported);
  refused(header(0, 1) + GgufWriter::text("k") + raw(7U, std::uint8_t{2}), "truth value is 2");
  refused(GgufWriter().number("k", 1).number("k", 1).bytes(), "'k' stands twice");
  refused(GgufWriter().number("split.count", 2).bytes(), "split GGUF", ErrorCode::unsupported);
  const auto entry = [](const std::vector<std::uint64_t>& dimensions, std::uint32_t type = 0,
                        std::uint64_t offset = 0, const std::string& name = "t") {
    return GgufWriter().entry(name, dimensions, type, offset).bytes() + std::string(64, 'x');
  };
  refused(entry({1, 1, 1, 1, 1}), "5 dimensions", ErrorCode::too_large);
  refused(entry({huge}), "a dimension 18446744073709551615");
  refused(entry({1ULL << 40, 1ULL << 40}), "does not fit the type F32");
  refused(entry({1ULL << 62}), "does not fit the type F32");
  refused(entry({33}, 8), "does not fit the type Q8_0");
  refused(entry({16, 2}, 8), "does not fit the type Q8_0");
  refused(entry({4}, 10), "ggml type 10", ErrorCode::unsupported);
  refused(entry({17}), "go beyond the 64 that the file has");
  refused(entry({4}, 0, huge), "go beyond");
  refused(entry({4}, 0, 64), "go beyond");
  refused(entry({4}, 0, 16), "no multiple of 32");
  refused(entry({4}, 0, 0, "a\nb"), "'a?b', which cannot be one");
  refused(entry({4}, 0, 0, ""), "cannot be one");
  refused(GgufWriter().entry("a", {16}, 0, 0).entry("b", {8}, 0, 32).bytes() + std::string(64, 'x'),
          "'b': overlaps");
  refused(GgufWriter().entry("a", {8}, 0, 0).entry("a", {8}, 0, 32).bytes() + std::string(64, 'x'),
          "two tensors have the name 'a'");
}

TEST_CASE("the GGUF files of another project's tests") {
  const std::string path = shared("fixtures/empty.gguf");
  if (path.empty()) return;
  const auto c = open_checkpoint(path);
  CHECK(c.tensors.empty());
  CHECK(c.config["model_type"] == "llama");
  refuses(ErrorCode::parse, "'test.weight.0': its 32768 bytes from offset 0 of the data go beyond",
          [] { (void)open_checkpoint(shared("fixtures/truncated.gguf")); });
}
