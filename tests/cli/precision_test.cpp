#include "tests/catch.hpp"
#include "tests/cli/run.hpp"
#include "theory/formula.hpp"

using namespace ropewalk;
using tests::Folder;
using tests::number;
using tests::run;
using tests::Run;
using theory::Rational;

TEST_CASE("precision: golden values on the command line") {
  // mpmath, every lag and plane: 2.8152285890e-4 at lag 3875 of plane 3
  const Run r = run("precision --base 5e5 --planes 64 --length 4096 --pipeline fp32 --json");
  CAPTURE(r.out, r.err);
  REQUIRE(r.code == 0);
  const auto j = r.json();
  CHECK(j["planes"] == 64);
  CHECK(j["length"] == "4096");
  REQUIRE(j["pipelines"].size() == 1);
  const auto& p = j["pipelines"][0];
  CHECK(p["name"] == "fp32");
  CHECK(p["inv_freq"] == "fp32");
  CHECK(p["cosine"]["lag"] == "3875");
  CHECK(p["cosine"]["plane"] == 3);
  CHECK(number(p["cosine"]["error"]["lo"]) > Rational("2815228/10000000000"));
  CHECK(number(p["cosine"]["error"]["hi"]) < Rational("2815229/10000000000"));
  CHECK(p["rotation"]["lag"] == "3884");
  CHECK(p["not_finite_from"].is_null());
  CHECK(p["distinct_until"] == "4096");
  CHECK(p["same_row"].empty());
  CHECK_FALSE(p.contains("records"));
}

TEST_CASE("precision: what is not finite has no error") {
  const Run r = run("precision --base 1e4 --planes 2 --length 70000 --pipeline fp16-angles --json");
  REQUIRE(r.code == 0);
  const auto p = r.json()["pipelines"][0];
  CHECK(p["cosine"].is_null());
  CHECK(p["angle"].is_null());
  CHECK(p["not_finite_from"] == "65520");
  const Run shown = run("precision --base 1e4 --planes 2 --length 70000 --pipeline fp16-angles");
  CHECK(shown.out.find("not finite") != std::string::npos);
  CHECK(shown.out.find("65519") != std::string::npos);
}

TEST_CASE("precision: records, the attention factor, and positions that collide") {
  const Run r =
      run("precision --base 1e4 --planes 4 --length 300 --pipeline fp32 bf16-positions --records "
          "--json");
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  const auto pipelines = r.json()["pipelines"];
  REQUIRE(pipelines.size() == 2);
  CHECK(pipelines[1]["distinct_until"] == "256");
  CHECK(pipelines[1]["same_row"] == nlohmann::ordered_json({"256", "257"}));
  const auto& records = pipelines[0]["records"];
  REQUIRE(records.size() > 2);
  CHECK(records[0]["lag"] == "1");
  CHECK(records.back() == pipelines[0]["cosine"]);

  const Run yarn = run("precision --schedule examples/configs/gpt-oss-20b.json --length 100");
  CAPTURE(yarn.err);
  CHECK(yarn.code == 0);
  CHECK(yarn.out.find("attention factor") != std::string::npos);
}

TEST_CASE("precision: certificates hold the records, and the checker accepts them") {
  const Folder folder;
  const std::string file = folder / "p.json";
  const std::string ask = "precision --base 1e4 --planes 8 --length 3000 --certificate " + file;
  const Run r = run(ask + " --records --json");
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  const auto certificate = nlohmann::json::parse(std::ifstream(file));
  const auto pipelines = r.json()["pipelines"];
  REQUIRE(certificate["facts"].size() == 2 * pipelines.size());
  for (std::size_t i = 0; i < pipelines.size(); ++i) {
    const auto& fact = certificate["facts"][2 * i + 1];
    CHECK(fact["kind"] == "rounding");
    CHECK(fact["records"].size() == pipelines[i]["records"].size());
    CHECK(fact["records"].back()["lag"] == pipelines[i]["records"].back()["lag"]);
  }
  if (std::string(ROPEWALK_CHECKER).empty()) return tests::skipped("no checker in this build");
  CHECK(std::system(
            (std::string(ROPEWALK_CHECKER) + " " + file + " > " + folder / "said").c_str()) == 0);
  // Nothing finite, nothing to certify.
  const Run nothing =
      run("precision --base 1e4 --planes 1 --length 3 --pipeline fp32 --certificate " +
          folder / "no/p.json");
  CHECK(nothing.code == 4);
}

TEST_CASE("precision: bad input is one line and status 2") {
  const auto refused = [](const std::string& arguments, const std::string& part) {
    const Run r = run("precision " + arguments);
    CAPTURE(arguments, r.err);
    CHECK(r.code == 2);
    CHECK(r.out.empty());
    CHECK(r.complains(part));
  };
  refused("--base 1e4 --planes 4", "--length");
  refused("--base 1e4 --planes 4 --length 0", "--length");
  refused("--base 1e4 --planes 4 --length 16777217", "--length");
  refused("--base 1e4 --planes 4 --length x", "--length");
  refused("--base 1e4 --planes 4 --length 10 --pipeline fp8", "--pipeline");
  refused("--length 10", "--schedule");
  refused("--base 1e4 --planes 4 --length 10 --schedule x.json", "--schedule");
}
