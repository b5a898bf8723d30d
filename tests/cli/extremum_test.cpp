#include <fstream>

#include "tests/catch.hpp"
#include "tests/cli/run.hpp"

using namespace ropewalk;
using tests::run;
using tests::Run;

namespace {

std::string file(const std::string& name, const std::string& content) {
  const std::string path = "/tmp/ropewalk-extremum-" + std::to_string(getpid()) + "-" + name;
  std::ofstream(path) << content;
  return path;
}

}  // namespace

TEST_CASE("extremum: a table's loss and a sum as given") {
  const Run table = run("extremum --base 5e5 --planes 64 --reach 1e9 --json");
  CAPTURE(table.err);
  REQUIRE(table.code == 0);
  const auto j = table.json();
  for (const char* key :
       {"min", "argmin", "max", "argmax", "method", "reason", "nodes", "seconds", "records"})
    CHECK(j.contains(key));
  CHECK(j["min"]["lo"].get<std::string>().starts_with("0.0220907758302"));
  CHECK(j["argmin"] == nlohmann::ordered_json::array({"1"}));
  CHECK(j["max"].is_null());
  // 1 + cos(pi t) - 0.5 sin(...)-like: two planes of rational turns, ties at every second lag.
  const std::string spec =
      file("spec.json", R"({"offset": 0.5, "terms": [{"amplitude": "1/2", "frequency": "pi"}]})");
  const auto given = run("extremum " + spec + " --reach 6 --json").json();
  CHECK(given["min"]["lo"] == "0");
  CHECK(given["argmin"] == nlohmann::ordered_json::array({"1", "3", "5"}));
  CHECK(given["max"]["hi"] == "1");
  CHECK(given["argmax"] == nlohmann::ordered_json::array({"2", "4", "6"}));
  const auto records = run("extremum --base 2 --planes 1 --reach 1000 --records --json").json();
  CHECK(records["records"].back()["lag"] == "710");
}

TEST_CASE("extremum: amplitudes from a file") {
  const std::string good = file("good.json", "[0, \"1/2\", 0.5, 0]");
  const Run r = run("extremum --base 100 --planes 4 --amplitudes " + good + " --reach 50 --json");
  CHECK(r.code == 0);
  for (const auto& [content, part] : {std::pair{"[1, 1, 1]", "4 numbers"},
                                      {"[1, 1, 1, -1]", "entry 4"},
                                      {"[0, 0, 0, 0]", "sum to 0"},
                                      {"[1, 1, 1, \"x\"]", "entry 4"},
                                      {"{}", "4 numbers"},
                                      {"[1, 1, 1, null]", "entry 4"}}) {
    const Run bad =
        run("extremum --base 100 --planes 4 --reach 5 --amplitudes " + file("bad.json", content));
    CAPTURE(content, bad.err);
    CHECK(bad.code == 2);
    CHECK(bad.complains(part));
  }
}

TEST_CASE("extremum refuses bad input with one line") {
  const std::string sum = R"({"terms": [{"amplitude": 1, "frequency": 1}]})";
  for (const auto& [content, part] :
       {std::pair{"{}", "terms"},
        {"[]", "object"},
        {R"({"terms": []})", "empty"},
        {R"({"terms": [{"amplitude": 1}]})", "terms[0]"},
        {R"({"terms": [{"amplitude": "1/0", "frequency": 1}]})", "terms[0].amplitude"},
        {R"({"terms": [{"amplitude": NaN, "frequency": 1}]})", "NaN"},
        {R"({"terms": [{"amplitude": 1, "frequency": 1, "colour": 1}]})", "colour"},
        {R"({"term": []})", "term"}}) {
    const Run r = run("extremum " + file("bad.json", content) + " --reach 5");
    CAPTURE(content, r.err);
    CHECK(r.code == 2);
    CHECK(r.complains("bad.json"));
    CHECK(r.out.empty());
  }
  const std::string good = file("good.json", sum);
  for (const auto& [arguments, part] :
       {std::pair<std::string, const char*>{good + " --reach 0", "--reach"},
        {good, "--reach"},
        {good + " --reach 5 --base 2 --planes 2", "one sum"},
        {"--reach 5", "one sum"},
        {"--base 2 --reach 5", "--planes"},
        {"--base 1 --planes 2 --reach 5", "--base"},
        {"--base 2 --planes 0 --reach 5", "--planes"},
        {"--base 2 --planes 4097 --reach 5", "--planes"},
        {"--base 2 --planes 2 --reach 1e19", "1e18"},
        {good + " --reach 5 --amplitudes uniform", "--amplitudes"},
        {good + " --reach 5 --extrema most", "--extrema"}}) {
    const Run r = run("extremum " + arguments);
    CAPTURE(arguments, r.err);
    CHECK(r.code == 2);
    CHECK(r.complains(part));
  }
  CHECK(run("extremum nowhere.json --reach 5").code == 4);
}
