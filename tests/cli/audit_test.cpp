// ropewalk audit
#include "tests/cli/run.hpp"

using namespace ropewalk;
using namespace ropewalk::tests;
using theory::Rational;

namespace {

const nlohmann::ordered_json* pipeline(const nlohmann::ordered_json& audit,
                                       const std::string& name) {
  for (const auto& p : audit["pipelines"])
    if (p["name"] == name) return &p;
  return nullptr;
}

// lo and hi of the error lie within 2 % of a published value.
bool near(const nlohmann::ordered_json& pipeline, double published) {
  const auto& e = pipeline["max_cos_error"];
  const auto lo = static_cast<double>(number(e["lo"]));
  const auto hi = static_cast<double>(number(e["hi"]));
  return lo <= hi && lo >= 0.98 * published && hi <= 1.02 * published;
}

}  // namespace

TEST_CASE("audit: the published errors of base 5e5 and 64 planes, and which positions collapse") {
  const Folder folder;
  const std::string config = folder.write(
      "config.json",
      R"({"model_type": "llama", "rope_theta": 500000.0, "head_dim": 128, "hidden_size": 4096,
          "num_attention_heads": 32, "num_hidden_layers": 2, "max_position_embeddings": 8192})");
  const Run r = run("audit " + config + " --length 4096 --json");
  REQUIRE(r.code == 0);
  const auto audit = r.json();
  CHECK(near(*pipeline(audit, "fp32"), 2.82e-4));
  CHECK(near(*pipeline(audit, "bf16-inv-freq"), 2.0));
  CHECK(near(*pipeline(audit, "fp16-angles"), 0.96));
  CHECK(near(*pipeline(audit, "bf16-cache"), 2.03e-3));
  CHECK((*pipeline(audit, "bf16-positions"))["distinct_until"] == 256);
  CHECK((*pipeline(audit, "fp16-positions"))["distinct_until"] == 2048);
  CHECK((*pipeline(audit, "fp32"))["safe"] == true);
  CHECK((*pipeline(audit, "bf16-inv-freq"))["safe"] == false);
  REQUIRE(audit["tables"].size() == 1);
  CHECK(number(audit["tables"][0]["best_index_margin"]["lo"]) > Rational(28, 100));

  // A folder is read by its config, without weights.
  const Run folder_run = run("audit " + (folder / "") + " --length 4096 --json");
  CHECK(folder_run.json()["pipelines"] == audit["pipelines"]);
}

TEST_CASE("audit: layers of two tables apart, and what is left out by name") {
  const Run gemma = run("audit examples/configs/gemma-3-4b.json --length 64 --json");
  REQUIRE(gemma.code == 0);
  CHECK(gemma.json()["tables"].size() == 2);
  CHECK(gemma.out.find("sliding window of 1024") != std::string::npos);
  const Run capped = run("audit examples/configs/gemma-2-2b.json --length 64");
  CHECK(capped.out.find("softcap of 50") != std::string::npos);
  CHECK(run("audit examples/configs/gpt-oss-20b.json --length 64").out.find("attention sinks") !=
        std::string::npos);
  CHECK(run("audit examples/configs/deepseek-v3.json --length 64")
            .out.find("multi-head latent attention: the table turns 64 of 192") !=
        std::string::npos);
}

TEST_CASE("audit refuses bad input with one line") {
  const Folder folder;
  const std::string good = "examples/configs/llama-2-7b.json ";
  for (const auto& [arguments, words] : std::vector<std::pair<std::string, std::string>>{
           {"audit", "model is required"},
           {"audit " + good, "--length is required"},
           {"audit " + good + "--length 0", "--length must lie in 1.."},
           {"audit " + good + "--length 1e18", "--length must lie in 1.."},
           {"audit " + good + "--length -3", "--length"},
           {"audit " + good + "--length NaN", "--length"},
           {"audit " + folder.write("a.json", "{") + " --length 8", "a.json"},
           {"audit " + folder.write("b.json", "{}") + " --length 8", ""},
           {"audit " + folder.write("c.bin", "") + " --length 8", "c.bin"},
           {"audit " + (folder / "none") + " --length 8", "none"}}) {
    const Run r = run(arguments);
    CAPTURE(arguments, r.err);
    CHECK((r.code == 2 || r.code == 4));
    CHECK(r.out.empty());
    CHECK(r.complains(words));
  }
}
