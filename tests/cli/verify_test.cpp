#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/catch.hpp"
#include "tests/cli/run.hpp"

using namespace ropewalk;
using tests::instrumented;
using tests::run;
using tests::Run;

TEST_CASE("verify judges every claim as expected") {
  const Run r = run("verify --json");
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  const auto j = r.json();
  CHECK(j["summary"]["total"] == j["claims"].size());
  CHECK(j["summary"]["as_expected"] == j["summary"]["total"]);
  CHECK(j["summary"]["total"].get<int>() >= 70);
  for (const auto& claim : j["claims"]) {
    CAPTURE(claim.dump());
    for (const char* key : {"id", "paper", "source", "reading", "statement", "scope", "argument",
                            "verdict", "expected", "value", "witness", "seconds"})
      CHECK(claim.contains(key));
    CHECK(claim["verdict"] == claim["expected"]);
    if (claim["verdict"] == "refuted") CHECK_FALSE(claim["witness"].is_null());
    // A value is said to be the value of something.
    if (!claim["value"].is_null())
      CHECK(claim["scope"].get<std::string>().find("value = ") != std::string::npos);
  }
}

TEST_CASE("verify takes names and papers") {
  const auto two = run("verify P1.T3.2b.max R6 --json").json();
  REQUIRE(two["claims"].size() == 2);
  CHECK(two["claims"][0]["witness"]["length"] == 4);
  const auto of_one_paper = run("verify --paper P2 --json").json();
  for (const auto& claim : of_one_paper["claims"]) CHECK(claim["paper"] == "P2");
  CHECK(run("verify P9.T1").complains("P9.T1"));
  CHECK(run("verify P9.T1").code == 2);
  CHECK(run("verify --paper P9").code == 2);
  CHECK(run("verify --length 5").code == 2);
  CHECK(run("verify R1").out.find("scope") != std::string::npos);
}

TEST_CASE("verify --out writes whole files") {
  const auto folder = std::filesystem::temp_directory_path() / "ropewalk-verify-out";
  std::filesystem::remove_all(folder);
  CHECK(run("verify R2 --out " + folder.string()).code == 0);
  std::ifstream file(folder / "R2.json");
  CHECK(nlohmann::json::parse(file)["format"] == "ropewalk-certificate");
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    ++files;
    CHECK((entry.path().extension() == ".json" || entry.path().filename() == "claims.summary"));
  }
  CHECK(files == 2);
  std::filesystem::remove_all(folder);
  CHECK(run("verify R2 --out ''").code == 2);
  const Run blocked = run("verify R2 --out /dev/null/here");
  CHECK(blocked.code == 4);
  CHECK(blocked.complains("/dev/null/here"));
}

TEST_CASE("docs/claims.md is what the ledger says") {
  std::stringstream page;
  page << std::ifstream(std::string(ROPEWALK_SOURCE_DIR) + "/docs/claims.md").rdbuf();
  CHECK(run("verify --list --markdown").out == page.str());
}

TEST_CASE("verify --schedule asks the questions of a model's table") {
  const Run r = run("verify --schedule examples/configs/gpt-j-6b.json --length 256 --json");
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  const auto j = r.json();
  REQUIRE(j["planes"].size() == 32);
  CHECK(j["planes"][0]["index_lag"] == "44");  // theta = 1: 44 radians are seven turns and a bit
  CHECK(j["planes"][0]["retrieval_horizon"]["8"] == "1");
  for (const auto& plane : j["planes"]) {
    const double guaranteed = std::stod(plane["scale_guaranteed"]["lo"].get<std::string>());
    const double exact = std::stod(plane["scale_exact"]["hi"].get<std::string>());
    CHECK(exact <= guaranteed);
    CHECK(exact > 0);
  }
  CHECK(run("verify --schedule examples/configs/gpt-j-6b.json").complains("--length"));
  CHECK(run("verify --schedule examples/configs/gpt-j-6b.json --length 1").code == 2);
  CHECK(run("verify --schedule nowhere.json --length 5").code == 4);
}

// An instrumented command is twenty times slower, so there each example runs for ten seconds at
// most; the build that users run takes them to their end.
TEST_CASE("every example in a help text runs") {
  for (const char* command :
       {"", "verify", "discrepancy", "discrepancy index", "discrepancy retrieval", "schedule",
        "extremum", "optimal", "base", "horizon", "sweep", "export-store", "design"}) {
    std::istringstream help(run(std::string(command) + " --help").out);
    std::size_t examples = 0;
    bool started = false;
    for (std::string line; std::getline(help, line);) {
      started = started || line.starts_with("Example");
      const auto at = line.find("ropewalk ");
      if (!started || at == std::string::npos || line.find_first_not_of(' ') != at) continue;
      ++examples;
      std::string arguments = line.substr(at + 9);
      if (arguments == "verify") continue;  // every claim: a test of its own
      // Files that an example writes go nowhere near the sources.
      if (arguments.find("--export-test") != std::string::npos ||
          arguments.find("--out") != std::string::npos ||
          arguments.find("--certificate") != std::string::npos)
        continue;
      const Run r = run(arguments, instrumented ? "timeout 10" : "");
      CAPTURE(command, arguments, r.err);
      CHECK((r.code == 0 || (r.code == 1 && arguments.find("--diff") != std::string::npos) ||
             (instrumented && r.code == 124)));
    }
    CAPTURE(command);
    CHECK(examples > 0);
  }
}

TEST_CASE("help and version") {
  CHECK(run("--version").out.starts_with("ropewalk "));
  for (const char* command : {"", "verify", "discrepancy", "discrepancy index",
                              "discrepancy retrieval", "schedule", "extremum"}) {
    const Run r = run(std::string(command) + " --help");
    CHECK(r.code == 0);
    CHECK(r.out.find("Example") != std::string::npos);
  }
  CHECK(run("").code == 2);
  CHECK(run("fly").code == 2);
  CHECK(run("fly").complains("fly"));
  CHECK(run("--json").complains("--json"));
}
