#include <filesystem>
#include <iterator>
#include <map>
#include <set>

#include "tests/catch.hpp"
#include "tests/cli/run.hpp"

using namespace ropewalk;
using nlohmann::json;
using tests::Folder;
using tests::run;
using tests::Run;

namespace {

std::vector<json> lines(const std::string& text) {
  std::vector<json> result;
  std::stringstream in(text);
  for (std::string line; std::getline(in, line);) result.push_back(json::parse(line));
  return result;
}

std::string bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("task: lines of JSON, the same sample in every file") {
  for (const std::string kind : {"number", "letter", "index", "retrieval", "mixed"}) {
    const Run r = run("task " + kind + " --count 20 --seed 3");
    CAPTURE(kind, r.err);
    REQUIRE(r.code == 0);
    CHECK(r.err.empty());
    const auto samples = lines(r.out);
    REQUIRE(samples.size() == 20);
    std::map<int, int> hops;
    for (std::size_t k = 0; k < samples.size(); ++k) {
      const json& s = samples[k];
      CHECK(s["task"] == kind);
      CHECK(s["seed"] == 3);
      CHECK(s["sample"] == k);
      CHECK(s["tokens"].size() == 17);
      CHECK(s["path"].size() == s["hops"].get<std::size_t>() + 1);
      CHECK(s["path"][0] == 16);
      CHECK(s["tokens"][s["path"].back().get<std::size_t>()] == s["answer"]);
      ++hops[s["hops"].get<int>()];
    }
    CHECK(hops.size() == (kind == "number" || kind == "letter" ? 4 : 1));
    for (const auto& [h, n] : hops) CHECK(n == 20 / static_cast<int>(hops.size()));
    // Several seeds, one after another; fewer samples are the first ones.
    const Run seeds = run("task " + kind + " --count 2 --seed 2-3 --threads 1");
    const auto both = lines(seeds.out);
    REQUIRE(both.size() == 4);
    CHECK(both[1]["seed"] == 2);
    CHECK(both[2] == samples[0]);
    CHECK(both[3] == samples[1]);
    const auto longer = lines(run("task " + kind + " --count 1 --seed 3 --added 9").out);
    CHECK(longer[0]["length"] == 26);
    CHECK(longer[0]["answer"] == samples[0]["answer"]);
  }
}

TEST_CASE("task: splits, hops and sizes") {
  const auto test = lines(run("task number --split test --count 3").out);
  REQUIRE(test.size() == 3);
  CHECK(test[0]["sample"] == 434400);
  const auto validation = lines(run("task letter --split validation").out);
  REQUIRE(validation.size() == 2400);
  CHECK(validation.front()["sample"] == 432000);
  CHECK(validation.back()["sample"] == 434399);
  const auto hops = lines(run("task letter --count 4 --hops 2-3 --window 10").out);
  std::multiset<int> counted;
  for (const json& s : hops) {
    CHECK(s["length"] == 11);
    counted.insert(s["hops"].get<int>());
  }
  CHECK(counted == std::multiset<int>{2, 2, 3, 3});
  for (const json& s : lines(run("task number --count 4 --hops 3").out)) CHECK(s["hops"] == 3);
}

TEST_CASE("task: prompts in eleven windows, one hop") {
  const Run r = run("task letter --count 2 --format prompts --seed 0-1");
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  const auto prompts = lines(r.out);
  REQUIRE(prompts.size() == 44);
  CHECK(prompts.front()["length"] == 13);
  CHECK(prompts.back()["length"] == 301);
  std::set<std::string> distinct;
  for (const json& p : prompts) {
    CHECK(p["hops"] == 1);
    CHECK_FALSE(p.contains("tokens"));
    distinct.insert(p["prompt"].get<std::string>());
  }
  CHECK(distinct.size() == 44);
  CHECK(run("task letter --count 2 --format prompts --hops 2").complains("--hops"));
}

TEST_CASE("task: arrays in files that are whole or not there") {
  const Folder folder;
  const std::string ask = "task number --count 5000 --format tokens --out " + folder / "t.";
  const Run r = run(ask + "safetensors --json");
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  const auto said = r.json();
  CHECK(said["inputs"] == 5000);
  CHECK(said["vocabulary"] == nlohmann::ordered_json({137}));
  CHECK(said["lengths"] == nlohmann::ordered_json({17}));
  const std::string tensors = bytes(folder / "t.safetensors");
  CHECK(said["bytes"] == tensors.size());
  CHECK(tensors.substr(8).find("{\"__metadata__\"") == 0);
  // However many threads.
  REQUIRE(run(ask + "safetensors --threads 1").code == 0);
  CHECK(bytes(folder / "t.safetensors") == tensors);
  const Run npy = run(ask + "npy");
  CHECK(npy.code == 0);
  CHECK(npy.out.find("5000 inputs written to ") == 0);
  CHECK(bytes(folder / "t.npy").size() == 128 + std::size_t{4} * 18 * 5000);
  // The same tokens in the lines.
  const auto first = lines(run("task number --count 1").out)[0]["tokens"];
  const std::string rows = bytes(folder / "t.npy").substr(128);
  for (std::size_t i = 0; i < 17; ++i)
    CHECK(static_cast<unsigned char>(rows[4 * i]) == first[i].get<int>());
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder / ""))
    ++files;
  CHECK(files == 2);

  CHECK(run("task number --count 1 --out " + folder / "no/such.jsonl").code == 4);
  CHECK(run("task number --count 1 --out /dev/null").complains("/dev/null: not a regular file"));
}

TEST_CASE("task: Ctrl-C leaves no file") {
  const Folder folder;
  const Run r = run("task number --count 480000 --added 5000 --out " + folder / "long.jsonl",
                    "timeout --preserve-status --signal=INT 0.7");
  CHECK(r.code == 3);
  CHECK(r.err == "ropewalk: interrupted\n");
  CHECK(std::filesystem::is_empty(folder / ""));
}

TEST_CASE("task: bad input is one line that names the flag") {
  const auto refused = [](const std::string& arguments, const std::string& part) {
    const Run r = run("task " + arguments);
    CAPTURE(arguments, r.err);
    CHECK(r.code == 2);
    CHECK(r.out.empty());
    CHECK(r.complains(part));
  };
  refused("", "kind");
  refused("numbers --count 1", "kind");
  refused("number", "--count");
  refused("number --count x", "--count");
  refused("number --count -1", "--count");
  refused("number --count 1e18", "--count must lie in 0..1000000000");
  refused("number --count 480k", "--count: 480k: write 491520 or 480000");
  refused("number --split test --count 45601", "--count");
  refused("number --split tests", "--split");
  refused("number --count 1 --hops 0", "--hops");
  refused("number --count 1 --hops 10", "--hops");
  refused("number --count 1 --hops 4-2", "--hops");
  refused("number --count 1 --hops 2-", "--hops");
  refused("number --count 1 --hops 1-99999999999", "--hops");
  refused("index --count 1 --hops 2", "--hops");
  refused("number --count 1 --integers 17", "--integers");
  refused("number --count 1 --integers 0", "--integers");
  refused("letter --count 1 --integers 4", "--integers");
  refused("number --count 1 --leaf-digits 4", "--leaf-digits");
  refused("letter --count 1 --leaf-digits 11", "--leaf-digits");
  refused("letter --count 1 --alphabet 5", "--alphabet");
  refused("number --count 1 --window 2", "--window");
  refused("number --count 1 --window 65537", "--window");
  refused("number --count 1 --added 16777217", "--added");
  refused("number --count 1 --added -1", "--added");
  refused("number --count 1 --seed 18446744073709551616", "--seed");
  refused("number --count 1 --seed 3-1", "--seed");
  refused("number --count 1 --seed 0-9999999", "--seed");
  refused("number --count 1 --threads 0", "--threads");
  refused("number --count 1 --format npz", "--format");
  refused("number --count 1 --format tokens", "--out");
  refused("number --count 1 --format tokens --out /tmp/x.pt", ".safetensors or .npy");
  refused("number --count 1 --format tokens --out /tmp/x.npy --seed 0-1", "--format");
  refused("number --count 1 --json", "--out");
  CHECK(run("task number --count 1 --seed 18446744073709551615").code == 0);
  CHECK(run("task number --count 0").out.empty());
}

TEST_CASE("score: what task wrote plus one key") {
  const Folder folder;
  for (const std::string format : {"jsonl", "prompts"}) {
    std::string with;
    std::string alone;
    int k = 0;
    for (json line : lines(run("task number --count 30 --window 16 --format " + format).out)) {
      line["prediction"] = k % 5 == 4   ? json("?")
                           : k % 2 == 0 ? line["answer"]
                                        : line["answer_text"];
      alone += (k % 3 == 0 ? json{{"prediction", line["prediction"]}} : line["prediction"]).dump() +
               "\n";
      with += line.dump() + "\n";
      ++k;
    }
    const Run r = run("score " + folder.write("p.jsonl", with) + " --json");
    CAPTURE(format, r.err);
    REQUIRE(r.code == 0);
    const auto said = r.json();
    CHECK(said["all"]["samples"] == 30);
    CHECK(said["all"]["right"] == 24);
    CHECK(said["all"]["accuracy"] == 0.8);
    CHECK(said["all"]["interval"][0].get<double>() == Catch::Approx(0.6269).margin(1e-4));
    CHECK(said["all"]["interval"][1].get<double>() == Catch::Approx(0.9049).margin(1e-4));
    CHECK(said["lengths"].size() == 1);
    CHECK(said["groups"].size() == (format == "jsonl" ? 4 : 1));
    CHECK(said["groups"][0]["hops"] == 1);
    const Run apart = run("score " + folder / "p.jsonl" + " --predictions " +
                          folder.write("alone.jsonl", alone) + " --json");
    CHECK(apart.json() == said);
    const Run shown = run("score " + folder / "p.jsonl");
    CHECK(shown.out.find("0.8000") != std::string::npos);
    CHECK(shown.out.find("0.6269..0.9049") != std::string::npos);
  }
}

TEST_CASE("score: bad files are named with line and key") {
  const Folder folder;
  const std::string sample = lines(run("task number --count 1").out)[0].dump();
  const auto refused = [&](const std::string& content, const std::string& part, int code = 2) {
    const Run r = run("score " + folder.write("p.jsonl", content));
    CAPTURE(content, r.err);
    CHECK(r.code == code);
    CHECK(r.out.empty());
    CHECK(r.complains(part));
  };
  refused("", "no predictions");
  refused("\n\n" + sample + "\n", "line 3: the key 'prediction' is missing");
  refused("{\"prediction\": 1}\n", "line 1: the key 'task' is missing");
  refused(sample + "x\n", "line 1: not JSON at byte");
  refused("[1]\n", "line 1: not a JSON object");
  CHECK(run("score " + folder / "absent.jsonl").code == 4);
  CHECK(run("score /tmp").complains("is a folder"));
  CHECK(run("score /tmp --threads 0").complains("--threads"));
  CHECK(run("score").complains("samples"));
  const std::string samples = folder.write("s.jsonl", sample + "\n" + sample + "\n");
  const auto with = [&](const std::string& predictions) {
    return run("score " + samples + " --predictions " + folder.write("q.jsonl", predictions));
  };
  CHECK(with("1\n2\n").code == 0);
  CHECK(with("1\n").complains("q.jsonl: line 1: the last"));
  CHECK(with("1\n2\n3\n").complains("q.jsonl: line 3: more predictions than samples"));
  CHECK(with("1\n{\"answer\": 3}\n").complains("line 2"));
}
