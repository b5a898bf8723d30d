// `ropewalk construct` as users run it.

#include <set>

#include "tests/cli/run.hpp"

using namespace ropewalk;
using namespace ropewalk::tests;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

std::string content(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.insert(entry.path().filename().string());
  return names;
}

// A small model, quick to plan.
const std::string small = "construct index --alphabet 5 --integers 3 --length 12 --head-dim 16";

bool accepted(const std::string& certificate) {
  const std::string command =
      std::string("'" ROPEWALK_CHECKER "' '") + certificate + "' >/dev/null 2>&1";
  return std::system(command.c_str()) == 0;
}

}  // namespace

TEST_CASE("construct: a folder with weights, tokenizer, card and a certificate that is accepted") {
  const Folder folder;
  for (const std::string form : {"gptj", "llama", "plain"}) {
    const std::string out = folder / form;
    const Run made = run(small + " --format " + form + " --out " + out + " --json");
    REQUIRE(made.code == 0);
    const Json json = made.json();
    CHECK(json["proven"] == true);
    CHECK(json["length"] == 12);
    CHECK(json["task"]["rule"] == "lag");
    CHECK(json["stored"].size() == (form == "plain" ? 4 : 3));
    CHECK(json["scale"].get<double>() >= json["smallest_scale"].get<double>());
    CHECK(names_in(out) == std::set<std::string>{"README.md", "certificate.json", "config.json",
                                                 "model.safetensors", "tokenizer.json",
                                                 "tokenizer_config.json"});
    const Json certificate = Json::parse(content(out + "/certificate.json"));
    CHECK(certificate["facts"].size() == (form == "plain" ? 1 : 2));
    if (*ROPEWALK_CHECKER != 0) {
      CHECK(accepted(out + "/certificate.json"));
      // One byte of one weight, and it is another model.
      std::fstream weights(out + "/model.safetensors",
                           std::ios::in | std::ios::out | std::ios::binary);
      weights.seekp(-9, std::ios::end);
      weights.put('\x3f');
      weights.close();
      CHECK_FALSE(accepted(out + "/certificate.json"));
    }
  }
}

TEST_CASE("construct: the table of a config, with what is left out of it") {
  const Folder folder;
  const std::string configs = ROPEWALK_SOURCE_DIR "/examples/configs/";
  const std::string small_index = "construct index --alphabet 2 --integers 3 --length 9 --json ";
  const Run llama = run(small_index + "--format llama --schedule " + configs +
                        "llama-3.1-8b.json --out " + (folder / "llama"));
  REQUIRE(llama.code == 0);
  Json json = llama.json();
  CHECK(json["table"].get<std::string>().starts_with("llama-3.1-8b.json: 500000^(-2i/128)"));
  CHECK(json["warnings"].empty());
  CHECK(json["proven"] == true);
  CHECK(json["planes"].size() >= 2);
  const Json scaling = Json::parse(content(folder / "llama/config.json"))["rope_scaling"];
  CHECK(scaling["short_factor"].size() == 64);
  CHECK(scaling["short_factor"][0] == 1.0);
  CHECK(scaling["short_factor"][63] == 8.0);
  if (*ROPEWALK_CHECKER != 0) CHECK(accepted(folder / "llama/certificate.json"));

  // YaRN's attention factor is not taken over, and said so.
  const Run gpt_oss = run(small_index + "--format plain --schedule " + configs +
                          "gpt-oss-20b.json --out " + (folder / "plain"));
  REQUIRE(gpt_oss.code == 0);
  json = gpt_oss.json();
  CHECK(json["warnings"].dump().find("the attention factor 1.34657 of the table is left out") !=
        std::string::npos);
  if (*ROPEWALK_CHECKER != 0) CHECK(accepted(folder / "plain/certificate.json"));

  // A plain table is one that has a base: no factors, and GPT-J takes its own.
  const Run gptj =
      run(small_index + "--schedule " + configs + "gpt-j-6b.json --out " + (folder / "gptj"));
  REQUIRE(gptj.code == 0);
  CHECK(Json::parse(content(folder / "gptj/config.json"))["rotary_dim"] == 64);
  const Run mistral = run(small_index + "--format llama --schedule " + configs +
                          "mistral-7b-v0.1.json --out " + (folder / "mistral"));
  REQUIRE(mistral.code == 0);
  CHECK_FALSE(Json::parse(content(folder / "mistral/config.json")).contains("rope_scaling"));
}

TEST_CASE("construct: the command that a model names makes it again") {
  const Folder folder;
  const std::string made =
      "construct index --alphabet 2 --integers 2 --theta 'acos(3/5)' --length 5 --scale 16/2 "
      "--format plain";
  const auto out = [&](const std::string& name) { return " --out \"" + (folder / name) + "\""; };
  REQUIRE(run(made + out("it's")).code == 0);
  const std::string named =
      Json::parse(content(folder / "it's/certificate.json"))["words"]["command"];
  // As a shell takes it, flags in the order of --help.
  CHECK(named.starts_with("ropewalk construct index "));
  CHECK(named.find(" --theta 'acos(3/5)'") != std::string::npos);
  CHECK(named.find(" --scale 8") != std::string::npos);
  CHECK(content(folder / "it's/README.md").find(named + " --out 'it'\\''s'\n") !=
        std::string::npos);
  REQUIRE(run(named.substr(9) + out("again")).code == 0);
  CHECK(content(folder / "again/model.safetensors") == content(folder / "it's/model.safetensors"));
  CHECK(content(folder / "again/certificate.json") == content(folder / "it's/certificate.json"));
}

TEST_CASE("construct: a copy of a proven model is another model") {
  const Folder folder;
  const std::string out = folder / "model";
  REQUIRE(run(small + " --out " + out).code == 0);
  CHECK(content(out + "/README.md").find("The weights answer this task") != std::string::npos);
  const Run copied = run("export " + out + " --out " + (folder / "copy") + " --json");
  REQUIRE(copied.code == 0);
  const Json notes = copied.json()["notes"];
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].get<std::string>().find("proven at no length") != std::string::npos);
  CHECK(Json::parse(content(folder / "copy/config.json"))["ropewalk"]["length"] == "0");
  const Run seen = run("evaluate " + (folder / "copy") + " --task index --count 4 --json");
  REQUIRE(seen.code == 0);
  CHECK(seen.json()["warnings"].dump().find("not proven at any length") != std::string::npos);
  // Once more, and there is nothing left to say.
  const Run again = run("export " + (folder / "copy") + " --out " + (folder / "again") + " --json");
  REQUIRE(again.code == 0);
  CHECK(again.json()["notes"].empty());
}

TEST_CASE("construct: no bound that is printed is above the one that is certified") {
  const Folder folder;
  const std::string out = folder / "model";
  for (const char* task : {"index --length 32", "retrieval --length 64 --format llama",
                           "mixed --length 16", "letter-task --hops 2 --layers 2 --length 40"}) {
    CAPTURE(task);
    const std::string command = std::string("construct ") + task + " --force --out " + out;
    const Run made = run(command);
    REQUIRE(made.code == 0);
    const Json facts = Json::parse(content(out + "/certificate.json"))["facts"];
    const Json json = run(command + " --json").json();
    const std::string card = content(out + "/README.md");
    std::istringstream lines(made.out);
    std::size_t seen = 0;
    for (std::string line; std::getline(lines, line);) {
      const std::size_t at = line.find("gap at least ");
      if (at == std::string::npos) continue;
      const Json& fact = facts[seen];
      const Json& bounds = json[seen == 0 ? "real" : "float32"];
      const double gap = std::stod(fact["gap"].get<std::string>());
      const std::string shown = line.substr(at + 13, 6);
      CHECK(std::stod(shown) <= gap);
      CHECK(std::stod(shown) > gap - 1.1e-4);
      CHECK(bounds["gap"].get<double>() == gap);
      if (seen == 1) CHECK(card.find("by at least " + shown + ".") != std::string::npos);
      std::istringstream masses(line.substr(line.find("keys at least") + 13));
      for (std::size_t hop = 0; hop < fact["mass"].size(); ++hop) {
        double mass = 0;
        masses >> mass;
        const double certified = std::stod(fact["mass"][hop].get<std::string>());
        CHECK(mass <= certified);
        CHECK(mass > certified - 1.1e-4);
        CHECK(bounds["mass"][hop].get<double>() == certified);
      }
      ++seen;
    }
    CHECK(seen == 2);
  }
}

TEST_CASE("construct: what it writes is evaluated, with the mass on the right position") {
  const Folder folder;
  const std::string out = folder / "model";
  REQUIRE(run("construct letter-task --hops 2 --layers 3 --length 40 --out " + out).code == 0);
  const Run seen = run("evaluate " + out + " --task letter --count 50 --added 0,23 --json");
  REQUIRE(seen.code == 0);
  const Json certificate = Json::parse(content(out + "/certificate.json"));
  const double proven = std::stod(certificate["facts"][1]["mass"][1].get<std::string>());
  std::size_t rows = 0;
  const Json all = seen.json();
  for (const Json& row : all["rows"]) {
    CHECK(row["accuracy"]["value"] == 1.0);
    CHECK(row["min_gap"].get<double>() > 0.5);
    CHECK(row["right_mass"].size() == 2);
    CHECK(row["right_mass"][1].get<double>() >= proven);
    if (row["hops"] != "all") CHECK(row["hops"].get<int>() <= 2);
    ++rows;
  }
  CHECK(rows == 6);
  // Beyond what is proven it says so.
  const Run beyond = run("evaluate " + out + " --task letter --count 4 --added 100");
  CHECK(beyond.code == 0);
  CHECK(beyond.err.find("warning") != std::string::npos);
}

TEST_CASE("construct: one logit that is not a number is no gap, whatever the others are") {
  const Folder folder;
  const std::string out = folder / "model";
  REQUIRE(run(small + " --out " + out).code == 0);
  // The bias of the last letter: the last tensor of the file.
  std::fstream weights(out + "/model.safetensors", std::ios::in | std::ios::out | std::ios::binary);
  weights.seekp(-4, std::ios::end);
  weights.write("\0\0\xc0\x7f", 4);
  weights.close();
  const Run seen = run("evaluate " + out + " --task index --count 20 --json");
  CHECK(seen.code == 0);
  const Json all = seen.json();
  for (const Json& row : all["rows"]) {
    CHECK(row["min_gap"].is_null());
    CHECK(row["accuracy"]["value"] == 0.0);
  }
}

TEST_CASE("construct: tokenizer and evaluate agree on text") {
  const Folder folder;
  const std::string out = folder / "model";
  REQUIRE(run(small + " --out " + out).code == 0);
  const Json words = Json::parse(content(out + "/tokenizer.json"))["model"]["vocab"];
  CHECK(words["<pad>"] == 0);
  CHECK(words["1"] == 1);
  CHECK(words["a"] == 4);
  CHECK(words.size() == 9);
  const std::string text = folder.write("text", "b a 1 2\n");
  const Run heads = run("heads " + out + " --text " + text + " --json");
  CHECK(heads.code == 0);
  const std::string unknown = folder.write("unknown", "b zz 1\n");
  CHECK(run("heads " + out + " --text " + unknown).complains("zz"));
}

TEST_CASE("construct: a folder in use is left alone without --force, and strangers with it") {
  const Folder folder;
  const std::string out = folder / "model";
  REQUIRE(run(small + " --out " + out).code == 0);
  const std::string before = content(out + "/certificate.json");
  const Run again = run("construct index --alphabet 5 --integers 3 --out " + out);
  CHECK(again.code == 4);
  CHECK(again.complains("--force"));
  CHECK(content(out + "/certificate.json") == before);
  const Run forced = run(
      "construct index --alphabet 5 --integers 3 --length 10 --head-dim 16 --force --out " + out);
  CHECK(forced.code == 0);
  CHECK(content(out + "/certificate.json") != before);
  CHECK(names_in(folder / "").size() == 1);  // nothing beside it
  std::ofstream(out + "/thesis.txt") << "mine";
  const Run stranger = run(small + " --force --out " + out);
  CHECK(stranger.code == 4);
  CHECK(stranger.complains("thesis.txt"));
  CHECK(content(out + "/thesis.txt") == "mine");
  CHECK(run(small + " --out " + out + "/README.md").complains("not a folder"));
}

TEST_CASE("construct: a full disk leaves nothing half-written") {
  const Folder folder;
  const std::string out = folder / "model";
  // Files may grow to 8 blocks of 512 bytes, which the weights do not fit in.
  const Run full = run(small + " --out " + out, "ulimit -f 8; trap '' XFSZ;");
  CHECK(full.code == 4);
  CHECK(full.complains("model.safetensors cannot be written"));
  CHECK(names_in(folder / "").empty());
}

TEST_CASE("construct: what cannot be proven is not written, unless it is asked for") {
  const Folder folder;
  const std::string out = folder / "model";
  const std::string hard = small + " --planes 1 --scale 3 --out " + out;
  const Run refused = run(hard);
  CHECK(refused.code == 3);
  CHECK(refused.complains("cannot be proven at this scale"));
  CHECK(names_in(folder / "").empty());
  const Run anyway = run(hard + " --unproven --json");
  CHECK(anyway.code == 0);
  CHECK(anyway.json()["proven"] == false);
  CHECK(anyway.json()["certificate"].is_null());
  CHECK_FALSE(fs::exists(out + "/certificate.json"));
  CHECK(content(out + "/README.md").find("Not proven") != std::string::npos);
  CHECK(content(out + "/README.md").find("meant for this task") != std::string::npos);
}

TEST_CASE("construct: exact.json is there where all numbers are rational") {
  const Folder folder;
  const std::string out = folder / "model";
  const Run made =
      run("construct retrieval --theta 0 --alphabet 4 --leaf-digits 2 --length 9 --format plain "
          "--out " +
          out);
  REQUIRE(made.code == 0);
  const Json exact = Json::parse(content(out + "/exact.json"));
  CHECK(exact["format"] == "ropewalk-exact");
  CHECK(exact["frequencies"] == Json::array({"0"}));
  CHECK(exact["embedding"].size() == 25);
  CHECK(exact["layers"].size() == 1);
}

TEST_CASE("construct: bad requests are one line with status 2") {
  const Folder folder;
  const std::string out = " --out " + (folder / "model");
  const auto refused = [&](const std::string& arguments, const std::string& part) {
    INFO(arguments);
    const Run r = run("construct " + arguments + out);
    CHECK(r.code == 2);
    CHECK(r.complains(part));
    CHECK(names_in(folder / "").empty());
  };
  refused("poetry", "poetry");
  refused("index --length 0", "--length");
  refused("index --length 1e30", "--length");
  refused("index --hops 2", "--hops");
  refused("index --leaf-digits 3", "--leaf-digits");
  refused("letter-task --integers 3", "--integers");
  refused("letter-task --alphabet 27", "--alphabet");
  refused("number-task --head-dim 7", "--head-dim");
  refused("number-task --planes 1,x", "--planes");
  refused("number-task --planes 0", "--planes");
  refused("number-task --theta 0.8", "--theta");
  refused("number-task --base 500", "--format");
  const std::string configs = ROPEWALK_SOURCE_DIR "/examples/configs/";
  refused("index --schedule " + configs + "llama-3.1-8b.json", "--format");
  const Run none = run("construct index --schedule " + configs + "none.json" + out);
  CHECK(none.code == 4);
  CHECK(none.complains("none.json"));
  refused("index --layer 1", "--layer goes with --schedule");
  for (const char* other : {"--base 500", "--head-dim 64", "--theta 1"})
    refused("index --format llama --schedule " + configs + "llama-3.1-8b.json " + other,
            "--schedule names the table");
  refused("index --format llama --schedule " + configs + "llama-3.1-8b.json --layer 99", "99");
  refused("number-task --dtype f64", "--dtype");
  refused("number-task --scale 0", "--scale");
  refused("number-task --scale nan", "--scale");
  refused("number-task --format onnx", "--format");
  refused("number-task --planes best,1", "not both");
  refused("number-task --scale 1e9 --dtype f16", "F16");
}
