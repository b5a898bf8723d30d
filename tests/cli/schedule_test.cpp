// ropewalk schedule, run as a user runs it.

#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/catch.hpp"
#include "tests/cli/run.hpp"
#include "theory/config.hpp"

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using namespace ropewalk::theory;
using ropewalk::tests::Run;
using ropewalk::tests::run;

/// A folder of its own, gone afterwards.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (fs::temp_directory_path() / "ropewalk-schedule-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    folder_ = pattern;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

 private:
  fs::path folder_;
};

std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

Run schedule(const std::string& arguments) { return run("schedule " + arguments); }

std::string example(const std::string& name) { return "examples/configs/" + name + ".json"; }

void check_refused(const Run& result, int code, const std::string& part) {
  CAPTURE(result.out, result.err, part);
  CHECK(result.code == code);
  CHECK(result.out.empty());
  CHECK(result.complains(part));
}

}  // namespace

TEST_CASE("cli schedule: the JSON object has the documented keys") {
  const Run result = schedule(example("deepseek-v3") + " --json");
  REQUIRE(result.code == 0);
  const Json out = Json::parse(result.out);
  for (const char* key : {"planes", "attention_factor", "logit_scale", "layout", "rotary_dim",
                          "sliding_window", "provenance", "warnings"})
    CHECK(out.contains(key));
  REQUIRE(out["planes"].size() == 32);
  CHECK(out["planes"][0]["id"] == 1);
  CHECK(out["planes"][1]["inv_freq"] == "0.74989420933245583");
  CHECK(out["planes"][1]["wavelength"] == "8.3787622693776772");
  CHECK(out["planes"][31]["id"] == 32);
  CHECK(out["attention_factor"] == "1");
  CHECK(out["logit_scale"] == "0.13523377886088009");
  CHECK(out["layout"] == "interleaved");
  CHECK(out["rotary_dim"] == 64);
  CHECK(out["sliding_window"].is_null());
  CHECK(out["provenance"]["base"]["source"] == "rope_theta");
  CHECK(out["warnings"].empty());
  CHECK(result.err.empty());
}

TEST_CASE("cli schedule: every printed digit is sure, at any number of digits") {
  const Json computed =
      Json::parse(slurp(std::string(ROPEWALK_SOURCE_DIR) + "/tests/data/schedules-mpmath.json"));
  for (const unsigned digits : {1U, 7U, 30U, 45U}) {
    const Run result =
        schedule(example("gpt-oss-20b") + " --json --digits " + std::to_string(digits));
    REQUIRE(result.code == 0);
    const Json planes = Json::parse(result.out)["planes"];
    for (std::size_t f = 0; f < planes.size(); ++f) {
      const Rational known =
          *Formula::parse(computed["cases"]["gpt-oss-20b"]["inv_freq"][f].get<std::string>())
               .rational();
      CAPTURE(digits, f);
      CHECK(planes[f]["inv_freq"] == decimal(known, digits, Round::nearest));
    }
  }
  const Run many = schedule(example("gpt-oss-20b") + " --json --digits 1000");
  REQUIRE(many.code == 0);
  CHECK(Json::parse(many.out)["planes"][5]["inv_freq"].get<std::string>().size() > 990);
}

TEST_CASE("cli schedule: inv_freq_f32 reads back as the recorded buffer of transformers") {
  const Json recorded =
      Json::parse(slurp(std::string(ROPEWALK_SOURCE_DIR) + "/tests/data/transformers-5.24.0.json"));
  const Run result = schedule(example("llama-3.1-8b") + " --json");
  REQUIRE(result.code == 0);
  const Json planes = Json::parse(result.out)["planes"];
  for (std::size_t f = 0; f < planes.size(); ++f) {
    const auto bits = recorded["cases"]["llama-3.1-8b"]["inv_freq"][f].get<std::string>();
    const float theirs =
        std::bit_cast<float>(static_cast<std::uint32_t>(std::stoul(bits, nullptr, 16)));
    CHECK(float32_ulps(static_cast<float>(planes[f]["inv_freq_f32"].get<double>()), theirs) <= 1);
  }
}

TEST_CASE("cli schedule: the text names the table, its sources and the warnings") {
  const Run result = schedule(example("llama-2-7b"));
  REQUIRE(result.code == 0);
  for (const char* part : {"10000^(-2i/128)", "half-split", "absent, 10000 assumed", "inv_freq_f32",
                           "warning: rope_theta: absent"})
    CHECK(result.out.find(part) != std::string::npos);
}

TEST_CASE("cli schedule: --diff finds what differs and nothing else") {
  const Scratch scratch;
  const Run same =
      schedule(example("llama-3.1-8b") + " --diff " + example("llama-3.1-8b") + " --json");
  CHECK(same.code == 0);
  CHECK(Json::parse(same.out)["diff"].empty());

  const Run other =
      schedule(example("llama-2-7b") + " --diff " + example("mistral-7b-v0.1") + " --json");
  CHECK(other.code == 0);  // one table; the window is a note
  CHECK(Json::parse(other.out)["diff"].empty());
  CHECK(Json::parse(other.out)["diff_other"]["sliding_window"]["b"] == "4096");

  // Base 1e6 lost: every plane but the first.
  const std::string a = scratch.write(
      "a.json", R"({"model_type": "llama", "head_dim": 128, "rope_theta": 1000000.0})");
  const std::string b = scratch.write("b.json", R"({"model_type": "llama", "head_dim": 128})");
  const Run lost = schedule(a + " --diff " + b + " --json");
  CHECK(lost.code == 1);
  const Json diff = Json::parse(lost.out)["diff"];
  REQUIRE(diff.size() == 63);
  CHECK(diff[0]["id"] == 2);
  CHECK(diff[0]["a"] == "0.80584218776148182");
  CHECK(diff[0]["b"] == "0.86596432336006535");
  CHECK(diff[0]["relative"] == "0.0746078");
  CHECK(std::abs(diff[0]["f32_ulps"].get<long>() - 1008683) <=
        2);  // 1008683 between the exact values

  // A difference in the 40th digit only is a difference; the same number spelt otherwise is none.
  const std::string c =
      scratch.write("c.json", R"({"head_dim": 4, "rope_scaling": {"rope_type": "ropewalk.custom",
      "frequencies": [1, "0.1"]}})");
  const std::string d =
      scratch.write("d.json", R"({"head_dim": 4, "rope_scaling": {"rope_type": "ropewalk.custom",
      "frequencies": [1, "0.1000000000000000000000000000000000000001"]}})");
  const std::string e =
      scratch.write("e.json", R"({"head_dim": 4, "rope_scaling": {"rope_type": "ropewalk.custom",
      "frequencies": [1, "1/10"]}})");
  const Run tiny = schedule(c + " --diff " + d + " --json");
  CHECK(tiny.code == 1);
  CHECK(Json::parse(tiny.out)["diff"][0]["f32_ulps"] == 0);
  CHECK(Json::parse(tiny.out)["diff"][0]["relative"] == "1e-39");
  CHECK(schedule(c + " --diff " + e).code == 0);

  // Another number of planes is a difference.
  const std::string half = scratch.write(
      "half.json", R"({"model_type": "llama", "head_dim": 128, "partial_rotary_factor": 0.5})");
  const Run fewer = schedule(b + " --diff " + half + " --json");
  CHECK(fewer.code == 1);
  CHECK(Json::parse(fewer.out)["diff"].back()["b"].is_null());

  // An attention factor that is ignored is a difference too.
  const char* yarn =
      R"({"head_dim": 128, "rope_theta": 10000, "max_position_embeddings": 16384, "rope_scaling":
      {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 4096)";
  const std::string f = scratch.write("f.json", std::string(yarn) + "}}");
  const std::string g =
      scratch.write("g.json", std::string(yarn) + ", \"attention_factor\": 1.0}}");
  const Run ignored = schedule(f + " --diff " + g);
  CHECK(ignored.code == 1);
  CHECK(ignored.out.find("attention_factor: 1.1386294361119891 and 1") != std::string::npos);
  CHECK(ignored.out.find("0 of 64 planes differ") != std::string::npos);
}

TEST_CASE("cli schedule: --layer and --length choose the table") {
  const auto base = [&](const std::string& arguments) {
    return Json::parse(schedule(arguments + " --json").out)["provenance"]["base"]["value"]
        .get<std::string>();
  };
  CHECK(base(example("gemma-3-4b") + " --layer 0") == "10000");
  CHECK(base(example("gemma-3-4b") + " --layer 5") == "1000000");
  const Run brief = schedule(example("phi-4-mini") + " --length 4096 --json");
  const Run extended = schedule(example("phi-4-mini") + " --length 4097 --json");
  CHECK(Json::parse(brief.out)["planes"][1]["inv_freq"] !=
        Json::parse(extended.out)["planes"][1]["inv_freq"]);
}

TEST_CASE("cli schedule: --export-test writes a table whose bits, decimals and hash agree") {
  const Scratch scratch;
  const std::string golden = scratch.path("golden.json");
  const Run result = schedule(example("phi-4-mini") + " --length 8192 --export-test " + golden);
  REQUIRE(result.code == 0);
  CHECK(scratch.files() == 1);
  const Json table = Json::parse(slurp(golden));
  CHECK(table["dtype"] == "float32");
  CHECK(table["transformers_followed"] == transformers_followed);
  CHECK(table["config"]["sha256"] ==
        "2f77658ddef9808bb6968bfa93fd0b2dea3fe7f566a9e7a423c968c8be2db784");
  REQUIRE(table["planes"].size() == 48);
  for (const Json& plane : table["planes"]) {
    const float x = std::bit_cast<float>(
        static_cast<std::uint32_t>(std::stoul(plane["bits"].get<std::string>(), nullptr, 16)));
    CHECK(std::stof(plane["decimal"].get<std::string>()) == x);
    CHECK(std::strtof(plane["hex"].get<std::string>().c_str(), nullptr) == x);
    const Rational exact = *Formula::parse(plane["exact"].get<std::string>()).rational();
    CHECK(float32_ulps(nearest_float(exact), x) <= 8);
  }
}

TEST_CASE("cli schedule: bad input gives one line, its exit code and no file") {
  const Scratch scratch;
  const std::string good = example("llama-2-7b");
  check_refused(schedule("/nonexistent/config.json"), 4, "/nonexistent/config.json");
  check_refused(schedule(scratch.path("")), 4, "is a folder");
  check_refused(schedule(good + " --diff /nonexistent.json"), 4, "/nonexistent.json");
  check_refused(schedule(good + " --digits 0"), 2, "--digits");
  check_refused(schedule(good + " --digits 1001"), 2, "--digits");
  check_refused(schedule(good + " --digits many"), 2, "--digits");
  check_refused(schedule(good + " --length 0"), 2, "--length");
  check_refused(schedule(good + " --length=-5"), 2, "--length");
  check_refused(schedule(good + " --layer=-1"), 2, "--layer");
  check_refused(schedule(good + " --layer 32"), 2, "layer 32: the model has layers 0 to 31");
  check_refused(schedule(good + " --bogus"), 2, "--bogus");
  check_refused(schedule(""), 2, "CONFIG");

  const auto text = [&](const std::string& content) {
    return schedule(scratch.write("x.json", content));
  };
  check_refused(text(""), 2, "empty");
  check_refused(text(" \n"), 2, "empty");
  check_refused(text("{\"head_dim\": 64,"), 2, "not JSON at byte 17");
  check_refused(text("{\"rope_theta\": NaN}"), 2, "not JSON at byte 16");
  check_refused(text("{\"rope_theta\": 1e999}"), 2, "1e999");
  check_refused(text("{\"x\": \"\xff\xfe\"}"), 2, "UTF-8");
  check_refused(text("{\"head_dim\": 64, \"head_dim\": 128}"), 2, "'head_dim' stands twice");
  check_refused(text(std::string(100000, '[')), 2, "nested beyond 64 levels");
  check_refused(text("{\"head_dim\": -64}"), 2, "head_dim");
  check_refused(text("{\"head_dim\": 63}"), 2, "head_dim");
  check_refused(
      text("{\"head_dim\": 64, \"rope_theta\": 1e4, \"rope_parameters\": {\"rope_theta\": 1e6}}"),
      2, "rope_parameters.rope_theta");
  check_refused(text("[]"), 2, "a config is a JSON object");
  check_refused(text("{\"head_dim\": 64}" + std::string(std::size_t{64} << 20, ' ')), 2, "64 MiB");

  // Nothing is written when the config is refused.
  const std::string golden = scratch.path("golden.json");
  check_refused(
      schedule(scratch.write("x.json", "{\"head_dim\": 63}") + " --export-test " + golden), 2,
      "head_dim");
  CHECK_FALSE(fs::exists(golden));
}

TEST_CASE("cli schedule: 64 levels of nesting are read") {
  const Scratch scratch;
  std::string deep = "{\"head_dim\": 64, \"x\": ";
  deep += std::string(63, '[') + std::string(63, ']') + "}";
  CHECK(schedule(scratch.write("x.json", deep)).code == 0);
  deep = "{\"head_dim\": 64, \"x\": " + std::string(64, '[') + std::string(64, ']') + "}";
  CHECK(schedule(scratch.write("x.json", deep)).code == 2);
}

TEST_CASE("cli schedule: unknown rotary keys are warnings and the exit code stays 0") {
  const Scratch scratch;
  const Run result = schedule(
      scratch.write("x.json", R"({"model_type": "llama", "head_dim": 64, "rope_tehta": 500000})"));
  CHECK(result.code == 0);
  CHECK(result.out.find(
            "rope_tehta = 500000: not read, no effect on this table (is rope_theta meant?") !=
        std::string::npos);
}

TEST_CASE("cli schedule: the help has examples and exit codes") {
  const Run result = schedule("--help");
  CHECK(result.code == 0);
  for (const char* part : {"--length", "--layer", "--digits", "--diff", "--export-test", "--json",
                           "Exit status", "examples/configs/"})
    CHECK(result.out.find(part) != std::string::npos);
}
