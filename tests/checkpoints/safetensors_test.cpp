#include "tests/checkpoints/support.hpp"

using namespace ropewalk;
using namespace ropewalk::tests;

namespace {

Checkpoint read(const std::string& header, const std::string& data) {
  return read_safetensors(in_memory(safetensors(header, data)));
}

/// The file with this header over 16 bytes of data.
void refused(const std::string& header, const std::string& part,
             ErrorCode code = ErrorCode::parse) {
  CAPTURE(header.substr(0, 300));
  refuses(code, part, [&] { (void)read(header, std::string(16, 'x')); });
}

}  // namespace

TEST_CASE("a safetensors file: tensors, shapes, metadata") {
  const auto c = read("{\"__metadata__\":{\"format\":\"pt\"}," + entry("b", "[2,2]", 4, 20) + "," +
                          entry("a", "[]", 0, 4) + "," + entry("none", "[0,7]", 20, 20) + "}   ",
                      raw(1.0F, 2.0F, 3.0F, 4.0F, 5.0F));
  CHECK(c.format == "safetensors");
  CHECK(c.metadata["format"] == "pt");
  REQUIRE(c.tensors.size() == 3);
  CHECK(values(c.tensor("a")) == std::vector<double>{1});
  CHECK(c.tensor("b").shape == std::vector<std::int64_t>{2, 2});
  CHECK(values(c.tensor("b")) == std::vector<double>{2, 3, 4, 5});
  CHECK(c.tensor("none").elements() == 0);
  CHECK(c.find("c") == nullptr);
  refuses(ErrorCode::bad_value, "FILE: no tensor 'c'", [&] { (void)c.tensor("c"); });
}

TEST_CASE("a header whose length begins like another format is still one of safetensors") {
  // 0x280 begins like a pickle, 0x4b50 like a ZIP archive.
  for (const std::size_t length : {0x280, 0x380, 0x4b50}) {
    std::string header = "{" + entry("a", "[]", 0, 4) + "}";
    header.resize(length, ' ');
    const Folder folder;
    std::ofstream(folder / "model.safetensors", std::ios::binary) << safetensors(header, raw(7.0F));
    const Checkpoint c = open_checkpoint(folder / "model.safetensors");
    CHECK(c.format == "safetensors");
    CHECK(values(c.tensor("a")) == std::vector<double>{7});
  }
}

TEST_CASE("every element type of safetensors is read") {
  for (const auto& [dtype, bytes] : {std::pair{"F64", 8},
                                     {"F32", 4},
                                     {"F16", 2},
                                     {"BF16", 2},
                                     {"F8_E4M3", 1},
                                     {"F8_E5M2", 1},
                                     {"I64", 8},
                                     {"I32", 4},
                                     {"I16", 2},
                                     {"I8", 1},
                                     {"U64", 8},
                                     {"U32", 4},
                                     {"U16", 2},
                                     {"U8", 1},
                                     {"BOOL", 1}}) {
    const auto size = static_cast<std::size_t>(2 * bytes);
    const auto c = read("{" + entry("t", "[2]", 0, size, dtype) + "}", std::string(size, '\0'));
    CHECK(name(c.tensor("t").dtype) == std::string(dtype));
    CHECK(values(c.tensor("t")) == std::vector<double>{0, 0});
  }
  refused("{" + entry("t", "[16]", 0, 16, "F4") + "}", "'F4' is not read", ErrorCode::unsupported);
  refused("{" + entry("t", "[16]", 0, 16, "Q4_0") + "}", "is not read", ErrorCode::unsupported);
}

TEST_CASE("a safetensors header that contradicts itself or the file is refused in one line") {
  refused("{" + entry("t", "[2]", 0, 16) + "}", "'t': its shape needs 8 bytes");
  refused("{" + entry("t", "[4]", 0, 8) + "}", "needs 16 bytes, data_offsets span 8");
  refused("{" + entry("t", "[4]", 4, 20) + "}", "data_offsets do not lie in the file's 16");
  refused("{" + entry("t", "[4]", 16, 0) + "}", "data_offsets do not lie");
  refused("{" + entry("a", "[2]", 0, 8) + "," + entry("b", "[3]", 4, 16) + "}", "'b' begins at");
  refused("{" + entry("a", "[1]", 0, 4) + "," + entry("b", "[2]", 8, 16) + "}", "'b' begins at");
  refused("{" + entry("a", "[2]", 0, 8) + "}", "the tensors end at byte 8 of the data");
  refused("{" + entry("a", "[4]", 0, 16) + "," + entry("a", "[4]", 0, 16) + "}",
          "two tensors have the name 'a'");
  refused("{\"__metadata__\":{},\"__metadata__\":{}," + entry("a", "[4]", 0, 16) + "}", "twice");
  refused("{" + entry("a", "[4611686018427387904,4]", 0, 16) + "}", "more than 2^63");
  refused("{" + entry("a", "[4294967296,4294967296]", 0, 16) + "}", "more than 2^63");
  refused("{" + entry("a", "[9223372036854775807,9223372036854775807,0]", 0, 16) + "}", "2^63");
  refused("{" + entry("a", "[18446744073709551615]", 0, 16) + "}", "not a list of sizes");
  refused("{" + entry("a", "[-4]", 0, 16) + "}", "not a list of sizes");
  refused("{" + entry("a", "[4.0]", 0, 16) + "}", "not a list of sizes");
  refused("{" + entry("a", "[1,1,1,1,1,1,1,1,4]", 0, 16) + "}", "9 dimensions",
          ErrorCode::too_large);
  refused("{" + entry("", "[4]", 0, 16) + "}", "the name ''");
  refused("{" + entry("a\\nb", "[4]", 0, 16) + "}", "'a?b', which cannot be one");
  refused("{" + entry(std::string(2000, 'a'), "[4]", 0, 16) + "}", "cannot be one");
  refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[4]}}", "'a' has no data_offsets");
  refused("{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,16]}}", "'a' has no shape");
  refused("{\"a\":{\"dtype\":5,\"shape\":[4],\"data_offsets\":[0,16]}}", "dtype is not a string");
  refused("{\"a\":{\"more\":5,\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}", "'more'");
  refused("{\"a\":[]}", "is not an object");
  refused("{\"a\":7}", "is not an object");
  refused("{\"__metadata__\":{\"a\":5}," + entry("a", "[4]", 0, 16) + "}", "is not a string");
  refused("{\"__metadata__\":[]," + entry("a", "[4]", 0, 16) + "}", "is not an object");
  refused("[1]", "not a JSON object");
  refused("{\"a\":", "not JSON at byte");
  refused("{} {}", "not JSON at byte");
  refused("{\"a\":1e999}", "not JSON");
  refused("{\"\xff\":1}", "not JSON");
  refused("{}", "the tensors end at byte 0");
}

TEST_CASE("a hostile safetensors header costs little and is refused") {
  const auto header_length = [](std::uint64_t length) {
    return read_safetensors(in_memory(raw(length) + "{}" + std::string(100, ' ')));
  };
  refuses(ErrorCode::too_large, "the header would have 9223372036854775808 bytes",
          [&] { (void)header_length(std::uint64_t{1} << 63); });
  refuses(ErrorCode::too_large, "at most 100000000", [&] { (void)header_length(100'000'001); });
  refuses(ErrorCode::parse, "ends within the header", [&] { (void)header_length(1000); });
  refuses(ErrorCode::parse, "the length of the header",
          [&] { (void)read_safetensors(in_memory("1234567")); });
  refused(std::string("{\"a\":") + std::string(1'000'000, '['), "nested beyond 64 levels");
  std::string many = "{\"a\":[0";
  for (int i = 0; i < 100'000; ++i) many += ",0";
  refused(many + "]}", "more than 20000 values", ErrorCode::too_large);
  refused("{\"" + std::string(2'000'000, 'a') + "\":1}", "longer than 1 MiB", ErrorCode::too_large);
  refused("{\"" + std::string(1'200'000, ',') + "\":1}", "longer than 1 MiB", ErrorCode::too_large);
  refused("{" + std::string(2'000'000, ' ') + "}", "longer than 1 MiB", ErrorCode::too_large);
  std::string tensors = "{";
  for (int i = 0; i <= 65536; ++i) tensors += entry(std::to_string(i), "[0]", 0, 0) + ",";
  refused(tensors + entry("last", "[4]", 0, 16) + "}", "more than 65536 tensors",
          ErrorCode::too_large);
}

TEST_CASE("the mixed file of another project's tests") {
  const std::string path = shared("fixtures/mixed_dtypes.safetensors");
  if (path.empty()) return;
  const auto c = open_checkpoint(path);
  REQUIRE(c.tensors.size() == 7);
  CHECK(c.metadata["format"] == "pt");
  CHECK(c.tensor("model.scale.u8").dtype == DType::u8);
  CHECK(values(c.tensor("model.scale.u8")) == std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(c.tensor("model.layers.0.mlp.down_proj.weight").shape ==
        std::vector<std::int64_t>{3, 4, 5});
  CHECK(values(c.tensor("model.layers.0.mlp.down_proj.weight"))[59] == 0x7776);
  CHECK(values(c.tensor("lm_head.weight"))[7] == 0x1f1e1d1c);
  CHECK(c.tensor("model.layers.0.self_attn.q_proj.weight").dtype == DType::bf16);
  // 0x0302 as float16: exponent 0, fraction 0x302.
  CHECK(values(c.tensor("model.embed_tokens.weight"))[1] == 0x302 * 0x1p-24);
  REQUIRE(c.findings.size() == 1);
  CHECK(c.findings[0].id == "config.absent");
}

TEST_CASE("trained models as folders") {
  const std::string path = shared("checkpoints/tinystories-656k");
  if (path.empty()) return;
  const auto c = open_checkpoint(path);
  CHECK(c.format == "safetensors");
  CHECK(c.config["num_attention_heads"] == 8);
  CHECK(c.config_source == path + "/config.json");
  CHECK(c.findings.empty());
  CHECK_FALSE(c.pairing);
  CHECK(c.tensor("lm_head.weight").shape == std::vector<std::int64_t>{2048, 128});
  CHECK(c.tensor("model.layers.1.self_attn.k_proj.weight").shape ==
        std::vector<std::int64_t>{64, 128});
  for (const auto& [name, tensor] : c.tensors) {
    CHECK(tensor.dtype == DType::f32);
    CHECK(in_place(tensor).size() == static_cast<std::size_t>(tensor.elements()));
  }
  const auto letter = open_checkpoint(shared("checkpoints/p1-letter"));
  CHECK(letter.config["model_type"] == "gptj");
  CHECK(letter.tensors.size() > 12 * 6);
}
