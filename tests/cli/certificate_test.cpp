// Certificates as files: what commands write, that it is the same every time, and, where the
// checker is built, that it accepts them.

#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "tests/catch.hpp"
#include "tests/cli/run.hpp"

using namespace ropewalk;
using tests::Folder;
using tests::run;
using tests::Run;

namespace {

// A folder of its own for each test process, empty at first.
std::string read(const std::string& path) {
  std::stringstream content;
  content << std::ifstream(path).rdbuf();
  return content.str();
}

// The recipe of docs/certificates.md, by other means than the prover's.
bool hashes_right(const std::string& file) {
  const std::string script =
      "import hashlib, json, sys; body = json.load(open(sys.argv[1])); "
      "hash = body.pop(\"sha256\"); text = json.dumps(body, sort_keys=True, "
      "separators=(\",\", \":\"), ensure_ascii=False); "
      "sys.exit(hash != hashlib.sha256(text.encode()).hexdigest())";
  const std::string command = "'" ROPEWALK_PYTHON "' -c '" + script + "' '" + file + "'";
  return std::system(command.c_str()) == 0;
}

// 0 where the checker accepts, its status otherwise. Built with ropewalk it has to be there.
int rejected(const std::string& files) {
  const std::string checker = ROPEWALK_CHECKER;
  REQUIRE(std::filesystem::exists(checker));
  return std::system(("'" + checker + "' " + files + " >/dev/null").c_str());
}

bool has_checker() { return !std::string(ROPEWALK_CHECKER).empty(); }

// Commands whose answers are certificates, over in a second each.
const std::vector<std::string> commands{
    "extremum --base 5e5 --planes 64 --reach 131072 --records",
    "extremum --base 5e5 --planes 64 --reach 1e9",
    "extremum --base 1e4 --planes 1 --reach 1e100",
    "optimal --base 5e5 --planes 64 --reach 512",
    "optimal --base 5e5 --planes 64 --reach 16 --offset 0",
    "optimal --base 5e5 --planes 16 --reach 8 --offset 3",
    "optimal --base 5e5 --planes 1 --reach 1e30",
    "optimal --base 1e4 --planes 16 --reach 100 --alphabet 5",
    "optimal --base 1e4 --planes 16 --reach 99 --alphabet 5 --head centred",
    "optimal --base 1e4 --planes 64 --reach 1000 --alphabet 8 --head orthogonal",
    "horizon --base 5e5 --planes 64 --scale 15",
    "horizon --base 100 --planes 4 --scale 20 --mass 0.5 --amplitudes uniform",
    "horizon --base 5e5 --planes 64 --scale 15 --amplitudes uniform",
    "horizon --base 5e5 --planes 64 --scale 20 --longest 2000",
    "horizon --base 1e4 --planes 64 --scale 25 --alphabet 8",
    "horizon --base 1e4 --planes 64 --scale 15 --alphabet 8 --head centred",
    "horizon --base 1e4 --planes 64 --scale 10 --alphabet 8 --head orthogonal",
    "base --length 512 --dim 64",
    "base --length 1024 --from 4000 --to 6000",
    "base --length 5 --dim 2",
};

}  // namespace

TEST_CASE("the option --certificate writes a file and changes nothing else") {
  const Folder folder;
  // Ties, a lag left out, and a phase.
  const std::string sum = folder / "sum.json";
  std::ofstream(sum) << R"({"offset": 1, "excluded": [3], "terms": [
      {"amplitude": "1/3", "frequency": "2*pi/7", "phase": "pi/3"},
      {"amplitude": -0.5, "frequency": "2*pi/5"}]})";
  std::vector<std::string> all = commands;
  all.push_back("extremum " + sum + " --reach 1000 --records");
  for (const std::string& command : all) {
    CAPTURE(command);
    const std::string file = folder / "a.json";
    const std::string again = folder / "b.json";
    const Run plain = run(command + " --json");
    const Run with = run(command + " --json --certificate " + file);
    REQUIRE(with.code == plain.code);
    REQUIRE(with.code == 0);
    auto a = plain.json();
    auto b = with.json();
    a.erase("seconds");
    b.erase("seconds");
    a.erase("nodes");
    b.erase("nodes");
    CHECK(a == b);
    if (!tests::instrumented) {
      CHECK(run(command + " --threads 1 --certificate " + again).code == 0);
      CHECK(read(file) == read(again));
    }
    const auto certificate = nlohmann::json::parse(read(file));
    CHECK(certificate["format"] == "ropewalk-certificate");
    CHECK(certificate["verdict"] == "proved");
    CHECK_FALSE(certificate["facts"].empty());
    CHECK(certificate["words"]["command"].get<std::string>().starts_with("ropewalk "));
    for (const char* key : {"ropewalk", "table", "statement"})
      CHECK(certificate["words"][key].is_string());
    CHECK(hashes_right(file));
    if (has_checker()) CHECK(rejected(file) == 0);
  }
}

TEST_CASE("a certificate holds what was printed") {
  const Folder folder;
  const std::string file = folder / "a.json";
  const auto out =
      run("extremum --base 5e5 --planes 64 --reach 131072 --json --certificate " + file).json();
  const auto fact = nlohmann::json::parse(read(file))["facts"][0];
  CHECK(fact["lags"] == out["argmin"]);
  CHECK(fact["last"] == "131072");
  CHECK(fact["sum"]["terms"].size() == 64);
  CHECK(fact["value"]["lo"].get<std::string>().substr(0, 20) ==
        out["min"]["lo"].get<std::string>().substr(0, 20));
  const auto base = run("base --length 512 --json --certificate " + file).json();
  CHECK(nlohmann::json::parse(read(file))["facts"][0]["infimum"] == base["infimum"]);
}

TEST_CASE("a certificate says which question it answers, in one form") {
  const Folder folder;
  const auto words = [&](const std::string& arguments) {
    const std::string file = folder / "a.json";
    REQUIRE(run(arguments + " --certificate " + file).code == 0);
    return nlohmann::json::parse(read(file))["words"];
  };
  const auto one = words("extremum --base 5e5 --planes 64 --reach 1e4");
  CHECK(one["command"] == "ropewalk extremum --base 500000 --planes 64 --reach 10000");
  CHECK(one["table"] == "base 500000, 64 planes");
  CHECK(one["reach"] == "10000");
  CHECK(one == words("extremum --reach 10000 --planes 64 --threads 1 --json --base 500000"));
  // Files by name, without their folders.
  const auto config = words("optimal --schedule examples/configs/pythia-1.4b.json --reach 16");
  CHECK(config["command"] == "ropewalk optimal --schedule pythia-1.4b.json --reach 16");
  CHECK(config["table"] == "pythia-1.4b.json: 10000^(-2i/32)");
  const auto base = words("base --length 64 --dim 8");
  CHECK(base["length"] == "64");
  CHECK(base["reach"] == "64");
  const auto horizon = words("horizon --base 100 --planes 4 --scale 10 --mass 0.5 --longest 3000");
  CHECK(horizon["longest"] == "3000");
  CHECK(horizon["command"] ==
        "ropewalk horizon --base 100 --planes 4 --scale 10 --mass 1/2 --longest 3000");
}

TEST_CASE("a horizon one off is rejected") {
  if (!has_checker()) return tests::skipped("ropewalk-check is not part of this build");
  const Folder folder;
  const std::string file = folder / "a.json";
  const std::string script =
      "import hashlib, json, sys; body = json.load(open(sys.argv[1])); del body[\"sha256\"]; "
      "fact = body[\"facts\"][int(sys.argv[2])]; "
      "names, n = (fact, \"last\") if fact[\"kind\"] == \"softmax\" else (fact[\"where\"], \"n\"); "
      "names[n] = str(int(names[n]) + int(sys.argv[3])); "
      "text = json.dumps(body, sort_keys=True, separators=(\",\", \":\"), ensure_ascii=False); "
      "body[\"sha256\"] = hashlib.sha256(text.encode()).hexdigest(); "
      "json.dump(body, open(sys.argv[4], \"w\"))";
  for (const std::string command : {"horizon --base 100 --planes 4 --scale 10 --mass 0.5",
                                    "horizon --base 100 --planes 4 --scale 10 --alphabet 3"}) {
    REQUIRE(run(command + " --certificate " + file).code == 0);
    REQUIRE(rejected(file) == 0);
    // The mass is not there with a key more, and is there with a key less.
    for (const std::string change : {"1 1", "2 -1"}) {
      CAPTURE(command, change);
      const std::string other = folder / "b.json";
      const std::string alter =
          "'" ROPEWALK_PYTHON "' -c '" + script + "' '" + file + "' " + change + " '" + other + "'";
      REQUIRE(std::system(alter.c_str()) == 0);
      CHECK(rejected(other) != 0);
    }
  }
}

TEST_CASE("what a lattice found over a range that nobody walks is checked") {
  const Folder folder;
  const std::string file = folder / "a.json";
  for (const std::string command : {"extremum --base 1e4 --planes 3 --reach 1e18",
                                    "extremum --base 1e4 --planes 2 --reach 1e15 --records"}) {
    CAPTURE(command);
    REQUIRE(run(command + " --certificate " + file).code == 0);
    if (has_checker()) CHECK(rejected(file) == 0);
  }
}

TEST_CASE("a certificate is written whole or not at all") {
  const Folder folder;
  const std::string nowhere = folder / "missing/a.json";
  for (const std::string command :
       {"extremum --base 5e5 --planes 4 --reach 100", "optimal --base 5e5 --planes 4 --reach 10",
        "base --length 64"}) {
    CAPTURE(command);
    const Run r = run(command + " --certificate " + nowhere);
    CHECK(r.code == 4);
    CHECK(r.complains("missing/a.json"));
    CHECK(r.out.empty());
    const std::string file = folder / "bad.json";
    CHECK(run(command + " --base nonsense --length x --certificate " + file).code == 2);
    CHECK_FALSE(std::filesystem::exists(file));
  }
}

TEST_CASE("verify --out writes a certificate per claim, the same every time") {
  const Folder folder;
  // An instrumented command is twenty times slower: there one paper stands for all.
  const std::string verify = tests::instrumented ? "verify --paper P3" : "verify";
  REQUIRE(run(verify + " --out " + folder / "a").code == 0);
  REQUIRE(run(verify + " --threads 1 --out " + folder / "b").code == 0);
  const auto summary = nlohmann::json::parse(read(folder / "a/claims.summary"));
  std::string files;
  for (const auto& claim : summary["claims"]) {
    const auto id = claim["id"].get<std::string>();
    CAPTURE(id);
    const std::string file = folder / ("a/" + id + ".json");
    CHECK(read(file) == read(folder / ("b/" + id + ".json")));
    const auto certificate = nlohmann::json::parse(read(file));
    CHECK(certificate["verdict"] == claim["verdict"]);
    CHECK(certificate["facts"].empty() == (claim["verdict"] == "undecided"));
    CHECK(certificate["words"]["statement"] == claim["statement"]);
    CHECK(certificate["words"]["value"] == claim["value"]);
    CHECK(hashes_right(file));
    files += " '" + file + "'";
  }
  CHECK(summary["claims"].size() > (tests::instrumented ? 5U : 30U));
  if (has_checker())
    CHECK(rejected(files) == 0);
  else
    tests::skipped("ropewalk-check is not part of this build");
}
