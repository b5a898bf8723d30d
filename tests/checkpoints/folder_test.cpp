#include <random>
#include <utility>

#include "checkpoints/json_text.hpp"
#include "tests/checkpoints/support.hpp"

using namespace ropewalk;
using namespace ropewalk::tests;

namespace {

std::string shard(const std::string& name, float value) {
  return safetensors("{" + entry(name, "[1]", 0, 4) + "}", raw(value));
}

/// A line of /proc/self/status, in kilobytes: RssAnon, memory that is the process's own, neither
/// mapped nor shared; VmHWM, the most that it ever had.
long memory(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field + ":")) return std::stol(line.substr(field.size() + 1));
  return -1;
}

/// How many kilobytes more than now an action has at most.
template <class Action>
long peak(Action action) {
  std::ofstream("/proc/self/clear_refs") << 5;  // forgets VmHWM
  const long before = memory("VmHWM");
  action();
  return memory("VmHWM") - before;
}

}  // namespace

TEST_CASE("a folder of shards is one model") {
  const Folder folder;
  (void)folder.write("a.safetensors", shard("x", 1));
  (void)folder.write("b.safetensors", shard("y", 2));
  const auto index = [&](const std::string& map) {
    return folder.write("model.safetensors.index.json", "{\"weight_map\":{" + map + "}}");
  };
  const std::string path = index("\"x\":\"a.safetensors\",\"y\":\"b.safetensors\"");
  for (const std::string& given : {folder.path(), path}) {
    const auto c = open_checkpoint(given);
    CHECK(c.path == given);
    CHECK(c.format == "safetensors");
    CHECK(values(c.tensor("x")) == std::vector<double>{1});
    CHECK(values(c.tensor("y")) == std::vector<double>{2});
    CHECK(c.files.size() == 3);
    REQUIRE(c.findings.size() == 1);
    CHECK(c.findings[0].id == "config.absent");
    CHECK(c.config.is_null());
  }
  (void)folder.write("config.json", R"({"model_type": "llama"})");
  CHECK(open_checkpoint(folder.path()).config["model_type"] == "llama");
  CHECK(open_checkpoint(folder / "a.safetensors").config_source == folder / "config.json");

  const auto refused = [&](ErrorCode code, const std::string& part) {
    refuses(code, part, [&] { (void)open_checkpoint(folder.path()); });
  };
  index("\"x\":\"a.safetensors\"");
  CHECK(open_checkpoint(folder.path()).findings.empty());
  index("\"x\":\"a.safetensors\",\"y\":\"c.safetensors\"");
  refused(ErrorCode::file, "the shard 'c.safetensors' is missing");
  for (const char* name : {"../a.safetensors", "/etc/passwd", "..", ".", "", "sub/a", "a\\\\b"}) {
    index("\"x\":\"" + std::string(name) + "\"");
    refused(ErrorCode::parse, "is not the name of a file");
  }
  index("\"x\":\"a.safetensors\",\"z\":\"a.safetensors\"");
  refused(ErrorCode::parse, "tensor 'z' is not in a.safetensors");
  index("\"x\":\"b.safetensors\",\"y\":\"a.safetensors\"");
  refused(ErrorCode::conflict, "'x' is in a.safetensors, the index says b.safetensors");
  index("\"x\":\"a.safetensors\",\"x\":\"b.safetensors\"");
  refused(ErrorCode::parse, "'x' stands twice");
  index("\"x\":5");
  refused(ErrorCode::parse, "the shard of 'x' is not text");
  (void)folder.write("model.safetensors.index.json", "{}");
  refused(ErrorCode::parse, "weight_map");
  (void)folder.write("model.safetensors.index.json", "[");
  refused(ErrorCode::parse, "not JSON");
  (void)folder.write("c.safetensors", shard("x", 3));
  index("\"x\":\"a.safetensors\",\"y\":\"c.safetensors\"");
  refused(ErrorCode::conflict, "two shards hold the tensor 'x'");
  (void)folder.write("d.bin", archive(pickled_dict({{"y", pickled_tensor("0", 1, 0, {1}, {1})}}),
                                      {{"0", raw(1.0F)}}));
  index("\"x\":\"a.safetensors\",\"y\":\"d.bin\"");
  refused(ErrorCode::conflict, "'d.bin' is pytorch, others are safetensors");
}

TEST_CASE("tensors that the index does not list are found all the same") {
  const Folder folder;
  (void)folder.write("a.bin", archive(pickled_dict({{"x", pickled_tensor("0", 1, 0, {1}, {1})},
                                                    {"y", pickled_tensor("0", 1, 0, {1}, {1})}}),
                                      {{"0", raw(1.0F)}}));
  (void)folder.write("pytorch_model.bin.index.json", "{\"weight_map\":{\"x\":\"a.bin\"}}");
  (void)folder.write("config.json", "{}");
  const auto c = open_checkpoint(folder.path());
  CHECK(c.tensors.size() == 2);
  REQUIRE(c.findings.size() == 1);
  CHECK(c.findings[0].id == "index.extra");
}

TEST_CASE("what is no model is said in one line") {
  const Folder folder;
  const auto refused = [](ErrorCode code, const std::string& part, const std::string& path) {
    refuses(code, part, [&] { (void)open_checkpoint(path); });
  };
  refused(ErrorCode::file, "neither model.safetensors nor pytorch_model.bin", folder.path());
  refused(ErrorCode::file, "cannot be opened", folder / "nothing");
  refused(ErrorCode::parse, "empty", folder.write("empty", ""));
  refused(ErrorCode::parse, "begins like no model file",
          folder.write("text", "hello\nworld, this is text"));
  refused(ErrorCode::file, "", "/dev/null");
  (void)folder.write("model.safetensors", shard("x", 1));
  (void)folder.write("config.json", "{\"a\": {\"b\": 1, \"b\": 2}}");
  refused(ErrorCode::parse, "config.json: the key 'b' stands twice", folder.path());
  (void)folder.write("config.json", "[]");
  refused(ErrorCode::parse, "config.json: not a JSON object", folder.path());
  (void)folder.write("config.json", "{\"a\":\"" + std::string(5U << 20, 'x') + "\"}");
  refused(ErrorCode::too_large, "config.json: larger than", folder.path());
}

TEST_CASE("files are told apart by their bytes, not by their names") {
  const Folder folder;
  CHECK(open_checkpoint(folder.write("a.bin", shard("x", 1))).format == "safetensors");
  CHECK(open_checkpoint(folder.write("b.txt", GgufWriter().bytes())).format == "gguf");
  CHECK(open_checkpoint(folder.write("c", tiny_llama2c())).format == "llama2.c");
  CHECK(open_checkpoint(folder.write("d", archive(pickled_dict({}), {}))).format == "pytorch");
  CHECK(open_checkpoint(folder.write("e", legacy(pickled_dict({}), {}))).format == "pytorch");
}

TEST_CASE("a file cut off anywhere is refused in one line") {
  const std::string data = raw(1.0F, 2.0F, 3.0F, 4.0F);
  GgufWriter gguf;
  gguf.string("general.architecture", "llama").number("llama.block_count", 1);
  for (int i = 0; i < 8; ++i) gguf.tensor("t" + std::to_string(i), {64}, 0, std::string(256, 'x'));
  std::vector<std::pair<std::string, std::string>> objects;
  std::vector<std::pair<std::string, std::string>> storages;
  for (int i = 0; i < 8; ++i) {
    objects.emplace_back("t" + std::to_string(i),
                         pickled_tensor(std::to_string(i), 64, 0, {64}, {1}));
    storages.emplace_back(std::to_string(i), std::string(256, 'x'));
  }
  std::string header = "{";
  for (std::size_t i = 0; i < 8; ++i)
    header += (i == 0 ? "" : ",") + entry("t" + std::to_string(i), "[64]", 256 * i, 256 * i + 256);
  const std::string pickle = pickled_dict(objects);
  const std::map<std::string, std::string> members(storages.begin(), storages.end());
  std::vector<std::string> files = {safetensors(header + "}", std::string(2048, 'x')),
                                    gguf.bytes(),
                                    archive(pickle, members),
                                    archive(pickle, members, true),
                                    legacy(pickle, storages),
                                    tiny_llama2c()};
  for (const char* name : {"fixtures/mixed_dtypes.safetensors", "fixtures/checkpoint.pt",
                           "fixtures/legacy_with_offsets.pt", "checkpoints/stories260K_q80.bin",
                           "checkpoints/stories260K.gguf"})
    if (const std::string path = ROPEWALK_SHARED_DIR "/" + std::string(name);
        std::filesystem::exists(path))
      files.push_back(content(path));
  const Folder folder;
  for (const std::string& whole : files) {
    const std::string path = folder.write("file", whole);
    (void)open_checkpoint(path);
    // Every 64th byte; of the large ones the rest behind the header sparsely.
    for (std::size_t length = (whole.size() - 1) / 64 * 64;; length -= 64) {
      if (length > 16384 && length % (64 * 257) != 0) continue;
      std::filesystem::resize_file(path, length);
      CAPTURE(length, whole.size(), whole.substr(0, 4));
      refuses_any([&] { (void)open_checkpoint(path); });
      if (length == 0) break;
    }
  }
}

TEST_CASE("files with changed bytes are read or refused, and what is read stays inside them") {
  const std::string data = raw(1.0F, 2.0F, 3.0F, 4.0F);
  const std::string pickle = pickled_dict({{"t", pickled_tensor("0", 4, 0, {2, 2}, {1, 2})}});
  GgufWriter gguf;
  gguf.string("general.architecture", "phi3")
      .number("phi3.embedding_length", 64)
      .number("phi3.attention.head_count", 4)
      .number("phi3.rope.dimension_count", 16)
      .key("list", 9, raw(8U, std::uint64_t{1}) + GgufWriter::text("word"))
      .tensor("rope_factors_long.weight", {4}, 0, data)
      .tensor("rope_factors_short.weight", {4}, 0, data)
      .tensor("q", {256, 1}, 14, std::string(210, 'q'));
  std::string q80 = "24ka" + raw(2, 4, 6, 1, 2, 1, 3, 5, std::uint8_t{1}, 2);
  q80.resize(256 + 48 + 132 / 2 * 6, '\x01');
  struct Case {
    std::string bytes;
    Checkpoint (*read)(const std::shared_ptr<const MappedFile>&);
  };
  const std::vector<Case> cases = {
      {safetensors("{" + entry("t", "[2,2]", 0, 16) + "}", data), read_safetensors},
      {gguf.bytes(), read_gguf},
      {archive(pickle, {{"0", data}}), read_pytorch},
      {archive(pickle, {{"0", data}}, true), read_pytorch},
      {legacy(pickle, {{"0", data}}), read_pytorch},
      {tiny_llama2c(), read_llama2c},
      {q80, read_llama2c}};
  std::mt19937 random(7);
  int survived = 0;
  for (const Case& one : cases)
    for (int trial = 0; trial < 3000; ++trial) {
      std::string bytes = one.bytes;
      const auto changes = 1 + random() % 3;
      for (auto i = 0U; i < changes; ++i) {
        const char interesting[] = {0, 1, 0x7f, '\x80', '\xff', '"', '['};
        bytes[random() % bytes.size()] =
            random() % 2 == 0 ? interesting[random() % 7] : static_cast<char>(random() % 256);
      }
      try {
        const auto c = one.read(in_memory(bytes));
        for (const auto& [name, tensor] : c.tensors) (void)values(tensor);
        ++survived;
      } catch (const Error& error) {
        REQUIRE(std::string(error.what()).find('\n') == std::string::npos);
      }
    }
  CHECK(survived > 0);
}

TEST_CASE("a file of one gibibyte is opened and read from in a few kilobytes of memory") {
  const Folder folder;
  constexpr std::size_t size = std::size_t{1} << 30;
  const std::string path = folder.write(
      "model.safetensors", safetensors("{" + entry("t", "[16384,16384]", 0, size) + "}", ""));
  const auto header = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, header + size);  // a hole: no bytes on the disk
  const long before = memory("RssAnon");
  REQUIRE(before > 0);
  const auto c = open_checkpoint(path);
  std::vector<float> row(16384, 1.0F);
  read_rows(c.tensor("t"), 16383, 1, row.data());
  CHECK(row.back() == 0);
  CHECK(memory("RssAnon") - before < (instrumented ? 16384 : 1024));
}

TEST_CASE("the memory that a hostile file costs is limited") {
  // Containers on the stack of a pickle, and remembered ones.
  const std::string lists = legacy("\x80\x02" + std::string(499'990, ']'), {});
  std::string memo = "\x80\x02]";
  for (std::uint32_t i = 0; i < 450'000; ++i) memo += "r" + raw(i * 4001U);
  memo = legacy(memo, {});
  std::string header = "{\"a\":[";
  for (int i = 0; i < 4'000'000; ++i) header += "[],";
  header = safetensors(header, "");
  std::string index = "{\"weight_map\":{";
  for (int i = 0; i < 300'000; ++i) index += "\"" + std::to_string(i) + "\":[],";
  const auto limit = [](std::size_t file) {
    return static_cast<long>(file / 1024) + (instrumented ? 10 : 1) * 64 * 1024;
  };
  for (const auto* bytes : {&std::as_const(lists), &std::as_const(memo)})
    CHECK(peak([&] { refuses_any([&] { (void)read_pytorch(in_memory(*bytes)); }); }) <
          limit(2 * bytes->size()));
  CHECK(peak([&] { refuses_any([&] { (void)read_safetensors(in_memory(header)); }); }) <
        limit(2 * header.size()));
  CHECK(peak([&] {
          refuses_any([&] { (void)parse_json(std::as_bytes(std::span(index)), "FILE", 250'000); });
        }) < limit(index.size()));
}
