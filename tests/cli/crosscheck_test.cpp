// ropewalk crosscheck, where it was built
#include <filesystem>

#include "tests/cli/run.hpp"

using namespace ropewalk;
using namespace ropewalk::tests;

namespace {

const std::string models = "tests/data/models/";

bool built() {
  const auto program = std::filesystem::path(ROPEWALK_BINARY).parent_path() / "ropewalk-crosscheck";
  if (std::filesystem::exists(program)) return true;
  skipped("built without Ceres");
  return false;
}

}  // namespace

TEST_CASE("crosscheck: both fits and the margins of every head") {
  if (!built()) return;
  const std::string command = "crosscheck " + models + "gptj --tokens tests/data/ids.txt ";
  const Run r = run(command + "--json");
  REQUIRE(r.code == 0);
  CHECK(r.err.empty());
  const auto all = r.json();
  CHECK(all["inputs"] == 2);
  REQUIRE(all["heads"].size() == 4);
  for (const auto& head : all["heads"]) {
    for (const char* key :
         {"layer", "head", "verdict", "content_dependent_keys", "hops", "lag", "target_mass",
          "queries", "index", "retrieval", "still_share", "margins"})
      CHECK(head.contains(key));
    CHECK(head["hops"].is_null());
    CHECK(head["lag"].is_number());
    CHECK(head["index"]["planes"].size() == 2);
    CHECK(head["retrieval"]["carries"].size() == 4);  // two of them stand still
    CHECK(head["index"]["query_share"].get<double>() <= 1 + 1e-12);
    REQUIRE(head["margins"].size() == 1);
    CHECK(head["margins"][0]["length"] == 11);
    CHECK(head["margins"][0]["universal_share"].get<double>() <= 1 + 1e-12);
    for (const auto& row : head["margins"][0]["reaches"]) {
      CHECK(number(row["best"]["lo"]) <= number(row["best"]["hi"]));
      CHECK(row["bound"].get<double>() > 0);
    }
  }
  const auto one = run(command + "--layer 1 --attention-head 1 --json --threads 1").json();
  REQUIRE(one["heads"].size() == 1);
  for (const auto& head : all["heads"])
    if (head["layer"] == 1 && head["head"] == 1) CHECK(one["heads"][0] == head);
  const Run text = run(command + "--layer 1 --attention-head 1");
  CHECK(text.code == 0);
  CHECK(text.out.find("layer 1 head 1: ") != std::string::npos);
  CHECK(text.out.find("rho(theta)^-m v") != std::string::npos);
  CHECK(run("crosscheck --help").out.find("content_dependent_keys") != std::string::npos);
}

TEST_CASE("crosscheck: a row of margins for every number of added symbols") {
  const std::string shared = ROPEWALK_SHARED_DIR "/checkpoints/p1-number";
  if (!built()) return;
  if (!std::filesystem::exists(shared))
    return skipped("trained models are not beside the checkout");
  const Run r =
      run("crosscheck " + shared + " --task number --count 40 --added 0,20 --layer 1 --json");
  REQUIRE(r.code == 0);
  const auto head = r.json()["heads"][0];
  CHECK(head["verdict"] == "Index");
  CHECK(head["hops"] == 1);
  CHECK(head["lag"].is_null());
  REQUIRE(head["margins"].size() == 2);
  CHECK(head["margins"][0]["length"] == 17);
  CHECK(head["margins"][1]["length"] == 37);
  CHECK(head["margins"][0]["mean"].get<double>() > head["margins"][1]["mean"].get<double>());
  CHECK(head["margins"][0]["efficiency"].get<double>() > 0.05);
  CHECK(head["margins"][0]["efficiency"].get<double>() < 1);
  // The fits are those of the first length.
  const auto alone =
      run("crosscheck " + shared + " --task number --count 40 --layer 1 --json").json();
  CHECK(alone["heads"][0]["index"] == head["index"]);
  CHECK(alone["heads"][0]["retrieval"] == head["retrieval"]);
  CHECK(run("crosscheck " + shared + " --task number --count 40 --layer 1")
            .out.find("layer 1 head 0: Index head on the fastest planes (") != std::string::npos);
}

TEST_CASE("crosscheck refuses bad input with one line") {
  if (!built()) return;
  const std::string good = "crosscheck " + models + "qwen3 --tokens tests/data/ids.txt ";
  for (const auto& [arguments, words] : std::vector<std::pair<std::string, std::string>>{
           {"crosscheck", "model is required"},
           {"crosscheck " + models + "qwen3", "one of --tokens, --text and --task"},
           {"crosscheck " + models + "qwen3 --task number", "does not hold the task's 137 tokens"},
           {"crosscheck nowhere --task number", "nowhere"},
           {good + "--layer 2", "--layer must lie in 0..1"},
           {good + "--attention-head -1", "--attention-head"},
           {good + "--attention-head 1k", "--attention-head: 1k: write 1024 or 1000"},
           {good + "--attention-head ''", "must not be empty"},
           {good + "--added 0,", "--added"},
           {good + "--added 5", "--added needs --task"},
           {good + "--fast", "see `ropewalk crosscheck --help`"}}) {
    const Run r = run(arguments);
    CAPTURE(arguments, r.err);
    CHECK((r.code == 2 || r.code == 4));
    CHECK(r.out.empty());
    CHECK(r.complains(words));
  }
}
