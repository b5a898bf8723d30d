#include "tests/catch.hpp"
#include "tests/cli/run.hpp"

using namespace ropewalk;
using tests::run;
using tests::Run;

namespace {

double number(const nlohmann::ordered_json& text) { return std::stod(text.get<std::string>()); }

}  // namespace

TEST_CASE("base prints the contract's keys") {
  const Run r = run("base --length 1024 --to 6000 --json");
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  CHECK(r.err.empty());
  const auto j = r.json();
  CHECK(number(j["infimum"]["lo"]) == Catch::Approx(4293.4375692625784).epsilon(1e-15));
  CHECK(j["infimum"]["lo"].get<std::string>().starts_with("4293.43756926257841"));
  CHECK(j["infimum"]["hi"].get<std::string>().starts_with("4293.43756926257841"));
  CHECK(j["binding"] == "1009");
  CHECK(j["rejected"].is_number_integer());
  CHECK(j["rejected"].get<int>() > 0);
  CHECK(j["from"] == "1");
  CHECK(j["to"] == "6000");
  REQUIRE(j["admissible"].size() >= 1);
  double end = 0;
  for (const auto& piece : j["admissible"]) {
    REQUIRE(piece.size() == 2);
    CHECK(number(piece[0]) >= end);
    end = number(piece[1]);
    CHECK(end > number(piece[0]));
  }
  for (const auto& sliver : j["undecided"]) CHECK(number(sliver[1]) - number(sliver[0]) < 1e-6);
  CHECK_FALSE(j.contains("rejected_pieces"));
}

TEST_CASE("base lists rejected pieces with their lags") {
  const auto j = run("base --length 4096 --from 26999 --to 27001 --pieces --json").json();
  REQUIRE(j["rejected_pieces"].size() == j["rejected"].get<std::size_t>());
  bool holds_published = false;
  for (const auto& piece : j["rejected_pieces"]) {
    REQUIRE(piece.size() == 3);
    if (number(piece[0]) <= 27000 && 27000 <= number(piece[1]))
      holds_published = piece[2] == "4079";
  }
  CHECK(holds_published);
  CHECK(run("base --length 4096 --from 26999 --to 27001 --pieces").out.find("4079") !=
        std::string::npos);
}

TEST_CASE("base prints the same for every number of threads") {
  const Run one = run("base --length 2048 --threads 1 --json --pieces");
  CHECK(one.code == 0);
  CHECK(one.out == run("base --length 2048 --threads 3 --json --pieces").out);
}

TEST_CASE("base says where nothing serves") {
  const Run r = run("base --length 1024 --to 4000 --json");
  CHECK(r.code == 0);
  CHECK(r.json()["infimum"].is_null());
  CHECK(r.json()["admissible"].empty());
  CHECK(run("base --length 2 --dim 2").out.find("none") != std::string::npos);
}

TEST_CASE("base refuses bad input and names the flag") {
  const std::pair<const char*, const char*> cases[] = {
      {"--length 0", "--length"},
      {"--length -5", "--length"},
      {"--length 1.5", "--length"},
      {"--length nan", "--length"},
      {"--length 1e9", "--length"},
      {"", "--length"},
      {"--length 1024 --dim 127", "--dim"},
      {"--length 1024 --dim 0", "--dim"},
      {"--length 1024 --dim -2", "--dim"},
      {"--length 1024 --dim 1e6", "--dim"},
      {"--length 1024 --from 0.5", "--from"},
      {"--length 1024 --from nan", "--from"},
      {"--length 1024 --from pi", "--from"},
      {"--length 1024 --from 1e18", "--from"},
      {"--length 1024 --to inf", "--to"},
      {"--length 1024 --to 1", "--to"},
      {"--length 1024 --from 5000 --to 5000", "--to"},
      {"--length 1024 --from 5000 --to 4000", "--to"},
      {"--length 1024 --to 1e19", "--to"},
      {"--length 1024 --threads 0", "--threads"},
  };
  for (const auto& [arguments, flag] : cases) {
    CAPTURE(arguments);
    const Run r = run(std::string("base ") + arguments);
    CHECK(r.code == 2);
    CHECK(r.out.empty());
    CHECK(r.complains(flag));
  }
  const Run help = run("base --help");
  CHECK(help.code == 0);
  CHECK(help.out.find("Example") != std::string::npos);
}

TEST_CASE("claims of long scope are judged only where asked for") {
  const auto count = [](const std::string& arguments) {
    return run("verify --list --json " + arguments).json()["claims"].size();
  };
  CHECK(count("--paper P4") == 12);
  const auto quick = run("verify --paper P4 --json").json();
  CHECK(quick["claims"].size() == 6);
  for (const auto& claim : quick["claims"]) CHECK(claim["verdict"] == claim["expected"]);
  const auto named = run("verify P4.32k --json").json();
  REQUIRE(named["claims"].size() == 1);
  CHECK(named["claims"][0]["verdict"] == "refuted");
  CHECK(named["claims"][0]["witness"]["violated"] == 27685);
  CHECK(run("verify --schedule examples/configs/gpt-j-6b.json --length 256 --all").code == 2);
}
