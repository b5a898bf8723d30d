// Every shape in which rotary keys stand in published configs, and every real config at hand.

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "theory/config.hpp"

namespace {

using namespace ropewalk::theory;
using Json = nlohmann::json;

Json load(const std::filesystem::path& path) {
  std::ifstream in(path);
  REQUIRE(in);
  return Json::parse(in);
}

const Provenance& find(const ResolvedRope& rope, const std::string& quantity) {
  for (const Provenance& p : rope.provenance)
    if (p.quantity == quantity) return p;
  FAIL("no provenance for " + quantity);
  throw 0;
}

std::string error_of(const Json& config) {
  try {
    (void)resolve(config);
  } catch (const ropewalk::Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("config: every published key shape is read as it is meant or refused by name") {
  const Json shapes =
      load(std::filesystem::path(ROPEWALK_SOURCE_DIR) / "tests/data/config_shapes.json");
  CHECK(shapes.size() >= 92);
  for (const Json& entry : shapes) {
    CAPTURE(entry["shape"].get<std::string>());
    const Json& expected = entry["expect"];
    if (expected.contains("error")) {
      CHECK_THAT(error_of(entry["config"]),
                 Catch::Matchers::ContainsSubstring(expected["names"].get<std::string>()));
      continue;
    }
    CHECK(error_of(entry["config"]) == "");
    const ResolvedRope rope = resolve(entry["config"]);
    CHECK(find(rope, "base").value == expected["base"].get<std::string>());
    CHECK((find(rope, "base").source.find("assumed") != std::string::npos) ==
          expected["assumed"].get<bool>());
    CHECK(rope.schedule.scheme == expected["scheme"].get<std::string>());
    CHECK(rope.rotary_dim == expected["rotary_dim"].get<unsigned>());
    CHECK(rope.schedule.frequencies.size() == rope.rotary_dim / 2);
    CHECK(rope.schedule.float32.size() == rope.rotary_dim / 2);
  }
}

TEST_CASE("config: a wrong value in any place gives a table or one of our errors, never worse") {
  const Json shapes =
      load(std::filesystem::path(ROPEWALK_SOURCE_DIR) / "tests/data/config_shapes.json");
  const Json values = Json::parse(
      R"([null, true, -1, 0, 3, 0.3, 1e300, 1e-300, 18446744073709551615, "x", [], [1, "x"], {}, {"a.b": {"c": 1}}])");
  std::size_t tables = 0;
  std::size_t errors = 0;
  for (const Json& entry : shapes) {
    const Json flat = entry["config"].flatten();
    std::vector<std::string> places;
    for (const auto& [pointer, value] : flat.items()) {
      places.push_back(pointer);
      const std::string above = pointer.substr(0, pointer.rfind('/'));
      if (!above.empty() && (places.size() < 2 || places[places.size() - 2] != above))
        places.push_back(above);
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      Json config = entry["config"];
      const Json& value = values[(i * 5 + tables + errors) % values.size()];
      config[Json::json_pointer(places[i])] = value;
      CAPTURE(entry["shape"].get<std::string>(), places[i], value.dump());
      try {
        const ResolvedRope rope =
            resolve(config, {.length = 100000, .layer = static_cast<unsigned>(i % 4)});
        CHECK(rope.schedule.frequencies.size() == rope.schedule.float32.size());
        ++tables;
      } catch (const ropewalk::Error& e) {
        CHECK(std::string(e.what()).find('\n') == std::string::npos);
        ++errors;
      }
    }
  }
  CHECK(tables > 200);
  CHECK(errors > 200);
}

TEST_CASE("config: every example config resolves without a warning about unread keys") {
  unsigned seen = 0;
  for (const auto& file : std::filesystem::directory_iterator(
           std::filesystem::path(ROPEWALK_SOURCE_DIR) / "examples/configs")) {
    CAPTURE(file.path().string());
    const ResolvedRope rope = resolve(load(file.path()));
    CHECK(rope.layout != Pairing::unknown);
    for (const std::string& warning : rope.warnings)
      CHECK(warning.find("not read") == std::string::npos);
    ++seen;
  }
  CHECK(seen == 11);
}

TEST_CASE("config: every real config resolves or says what it cannot read") {
  const std::filesystem::path folder = std::filesystem::path(ROPEWALK_SHARED_DIR) / "configs";
  if (!std::filesystem::is_directory(folder)) {
    ropewalk::tests::skipped("no folder " + folder.string());
    return;
  }
  unsigned resolved = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".json") continue;
    const std::string name = file.path().filename().string();
    CAPTURE(name);
    const std::string error = error_of(load(file.path()));
    // Two excerpts hold no size of the model at all.
    if (name == "Mistral-7B-Instruct-v0.2.json" || name == "longchat-7b-16k.json") {
      CHECK_THAT(error, Catch::Matchers::ContainsSubstring("head_dim: absent"));
      continue;
    }
    CHECK(error == "");
    ++resolved;
  }
  CHECK(resolved >= 63);
}

TEST_CASE("config: real files give the tables their models have") {
  const std::filesystem::path folder = std::filesystem::path(ROPEWALK_SHARED_DIR) / "configs";
  if (!std::filesystem::is_directory(folder)) {
    ropewalk::tests::skipped("no folder " + folder.string());
    return;
  }
  struct Known {
    const char* file;
    const char* base;
    unsigned rotary_dim;
    Pairing layout;
    const char* scheme;
    double logit_scale;
  };
  const Known known[] = {
      {"glm-4-9b-chat.chatglm.json", "5000000", 64, Pairing::interleaved, "default",
       0.08838834764831845},
      {"glm-4-9b-hf.json", "10000", 64, Pairing::interleaved, "default", 0.08838834764831845},
      {"Kimi-K2-Instruct.json", "50000", 64, Pairing::interleaved, "yarn", 0.13086073},
      {"MiniMax-M2.5.json", "5000000", 64, Pairing::half_split, "default", 0.08838834764831845},
      {"codegen-2B-mono.json", "10000", 64, Pairing::interleaved, "default", 0.11180339887498948},
      {"falcon-7b.json", "10000", 64, Pairing::half_split, "default", 0.125},
      {"gemma-4-26B-A4B.json", "1000000", 512, Pairing::half_split, "proportional", 1},
      {"gemma-3-4b-it.json", "1000000", 256, Pairing::half_split, "linear", 0.0625},
      {"Ministral-3-3B-2512.json", "1000000", 128, Pairing::half_split, "yarn",
       0.08838834764831845},
      {"Llama-4-Scout-17B-16E-Instruct.json", "500000", 128, Pairing::interleaved, "llama3",
       0.08838834764831845},
      {"c4ai-command-a-03-2025.json", "50000", 128, Pairing::interleaved, "default",
       0.08838834764831845},
      {"stablelm-2-1_6b.json", "10000", 16, Pairing::half_split, "default", 0.125},
      {"SmolLM2-135M.json", "100000", 64, Pairing::half_split, "default", 0.125},
      {"Qwen2.5-7B-Instruct.yarn.json", "1000000", 128, Pairing::half_split, "yarn", 0.11459345924},
  };
  for (const Known& k : known) {
    CAPTURE(k.file);
    const ResolvedRope rope = resolve(load(folder / k.file));
    CHECK(find(rope, "base").value == k.base);
    CHECK(rope.rotary_dim == k.rotary_dim);
    CHECK(rope.layout == k.layout);
    CHECK(rope.schedule.scheme == k.scheme);
    CHECK(rope.logit_scale.as<double>() == Catch::Approx(k.logit_scale).epsilon(1e-6));
  }
}
