// ropewalk inspect
#include "tests/cli/run.hpp"

using namespace ropewalk;
using namespace ropewalk::tests;

namespace {
const std::string models = "tests/data/models/";
const std::string shared = ROPEWALK_SHARED_DIR "/checkpoints/";
}  // namespace

TEST_CASE("inspect: the JSON object has the documented keys") {
  const Run r = run("inspect " + models + "qwen3 --json");
  CHECK(r.code == 0);
  CHECK(r.err.empty());
  const auto out = r.json();
  CHECK(out["format"] == "safetensors");
  CHECK(out["architecture"] == "qwen3");
  CHECK(out["layers"] == 2);
  CHECK(out["heads"] == 4);
  CHECK(out["kv_heads"] == 2);
  CHECK(out["head_dim"] == 8);
  CHECK(out["layout"]["declared"] == "half-split");
  CHECK(out["layout"]["detected"] == "cannot tell");
  CHECK(out["layout"]["evidence"]["weights"]["planes"] == 32);
  CHECK_FALSE(out["layout"]["evidence"].contains("loss"));
  CHECK(out["schedule"]["inv_freq"].size() == 4);
  CHECK(out["schedule"]["provenance"]["base"]["source"] == "rope_theta");
  CHECK(out["tensors"].size() > 10);
  CHECK(out["findings"].empty());
  CHECK_FALSE(out.contains("against"));

  const auto loss =
      run("inspect " + models + "qwen3 --tokens tests/data/ids.txt --json --threads 1").json();
  CHECK(loss["layout"]["evidence"]["loss"]["tokens"].get<int>() > 5);
  CHECK(loss["layout"]["detected"] == "cannot tell");
}

TEST_CASE("inspect: a config alone, and what differs from another one, with status 1") {
  const Run alone = run("inspect examples/configs/llama-3.1-8b.json");
  CHECK(alone.code == 0);
  CHECK(alone.out.find("half-split declared") != std::string::npos);
  CHECK(alone.out.find("nothing found") != std::string::npos);
  const Run both =
      run("inspect examples/configs/llama-3.1-8b.json --against examples/configs/llama-2-7b.json "
          "--json");
  CHECK(both.code == 1);
  CHECK(both.json()["findings"][0]["id"] == "table.differs");
  CHECK(both.json()["findings"][0]["severity"] == "error");
}

TEST_CASE("inspect: permuted rows are named, also in a file that export wrote") {
  const Folder folder;
  const std::string turned = folder / "turned";
  REQUIRE(
      run("export " + models + "qwen3 --layout interleaved --dtype bf16 --out " + turned).code ==
      0);
  const Run r = run("inspect " + models + "qwen3 --against " + turned);
  CHECK(r.code == 1);
  CHECK(
      r.out.find(
          "queries    half-split to interleaved: all heads (largest |difference| / |rows| 0.00") !=
      std::string::npos);
  CHECK(r.out.find("error    rows.permuted") != std::string::npos);
  const auto out = run("inspect " + models + "qwen3 --json --against " + turned).json();
  CHECK(out["against"].size() == 12);
  CHECK(out["against"][0]["permutation"] == "half-split to interleaved");
}

TEST_CASE("inspect: bad input is one line") {
  const Folder folder;
  const std::string empty = folder.write("empty.bin", "");
  const std::string config = folder.write("c.json", "{\"model_type\": \"llama\"}");
  for (const auto& [arguments, words] : std::vector<std::pair<std::string, std::string>>{
           {"inspect", "model is required"},
           {"inspect nowhere", "nowhere"},
           {"inspect " + empty, "empty"},
           {"inspect " + folder.write("x.json", "{"), "x.json"},
           {"inspect " + models + "qwen3 --against nowhere", "nowhere"},
           {"inspect " + models + "qwen3 --against " + models + "llama", "not two files of one"},
           {"inspect " + models + "qwen3 --recorded " + models + "llama", "has no tensor called"},
           {"inspect " + models + "qwen3 --count 3", "one of --tokens, --text and --task"},
           {"inspect " + config + " --task number", "no model that runs"}}) {
    const Run r = run(arguments);
    CAPTURE(arguments, r.err);
    CHECK((r.code == 2 || r.code == 4));
    CHECK(r.out.empty());
    CHECK(r.complains(words));
  }
}

TEST_CASE("inspect: a file of 1 GiB takes less than 100 MiB of memory of its own") {
  // 1 GiB of zeros in a sparse file.
  const Folder folder;
  const std::string path = folder / "model.safetensors";
  const std::uint64_t bytes = std::uint64_t{1} << 30;
  std::string header = R"({"w":{"dtype":"F32","shape":[16384,16384],"data_offsets":[0,)" +
                       std::to_string(bytes) + "]}}";
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i)
    length[i] = static_cast<char>(static_cast<unsigned char>(header.size() >> (8 * i)));
  (void)folder.write("model.safetensors", length + header);
  std::filesystem::resize_file(path, 8 + header.size() + bytes);
  if (instrumented) return;  // the sanitizers' own memory would count
  const std::string watched = folder.write(
      "watch.sh",
      "\"$1\" inspect \"$2\" --json >\"$3\" 2>/dev/null &\n"
      "most=0\n"
      "while now=$(awk '/^RssAnon/ { print $2 }' /proc/$!/status) && [ -n \"$now\" ]; do\n"
      "  [ \"$now\" -gt \"$most\" ] && most=$now\n"
      "done\n"
      "wait $! && echo \"$most\" >\"$4\"\n");
  const std::string out = folder / "out.json";
  const std::string most = folder / "most";
  REQUIRE(std::system(("sh " + watched + " '" ROPEWALK_BINARY "' " + path + " " + out + " " + most)
                          .c_str()) == 0);
  CHECK(nlohmann::json::parse(std::ifstream(out))["tensors"].size() == 1);
  long kilobytes = 0;
  std::ifstream(most) >> kilobytes;
  CHECK(kilobytes > 1000);
  CHECK(kilobytes < 100 * 1024);
}

TEST_CASE("inspect: trained models are told their layout by what they say") {
  if (!std::filesystem::exists(shared)) return skipped("no trained models beside the checkout");
  const Folder folder;
  const Run number = run("inspect " + shared + "p1-number --task number --count 20 --json");
  CHECK(number.json()["layout"]["detected"] == "interleaved");
  CHECK(number.code == 0);
  const std::string turned = folder / "turned";
  REQUIRE(run("export " + shared + "p1-number --layout half-split --out " + turned).code == 0);
  const Run wrong = run("inspect " + turned);
  CHECK(wrong.code == 1);
  CHECK(wrong.out.find("error    layout.mismatch") != std::string::npos);
}
