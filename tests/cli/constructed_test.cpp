// ropewalk evaluate and its neighbours on models of the type "ropewalk"
#include "tests/cli/run.hpp"
#include "tests/plain_model.hpp"

using namespace ropewalk;
using namespace ropewalk::tests;

TEST_CASE("evaluate: a constructed model's smallest mass on the right position, and warnings") {
  const Folder folder;
  const std::string model = index_model(400, 2).write(folder / "model");
  const Run run_json = run("evaluate " + model + " --task index --count 20 --json");
  CHECK(run_json.code == 0);
  CHECK(run_json.err.empty());
  const auto index = run_json.json();
  CHECK(index["warnings"].empty());
  for (const auto& row : index["rows"]) {
    CHECK(row["accuracy"]["value"] == 1);
    CHECK(row["min_gap"].get<double>() > 0.9);
    REQUIRE(row["right_mass"].size() == 1);
    CHECK(row["right_mass"][0].get<double>() > 0.999);
    REQUIRE(row["target_mass"].size() == 3);
    CHECK(row["target_mass"][1].is_null());
  }
  const Run table = run("evaluate " + model + " --task index --count 20");
  CHECK(table.out.find("smallest on the right position") != std::string::npos);
  CHECK(table.out.find("1.00    -    -") != std::string::npos);

  // Beyond the proven 20 tokens. Inputs have no more hops than the model.
  const std::string beyond = "evaluate " + model + " --task number --count 4 --added 0,4";
  const auto fitted = run(beyond + " --json").json();
  CHECK(fitted["warnings"].size() == 1);
  for (const auto& row : fitted["rows"]) CHECK((row["hops"] == 1 || row["hops"] == "all"));
  CHECK(run(beyond + " --json").err.empty());
  const Run warned = run(beyond);
  CHECK(warned.code == 0);
  CHECK(warned.err.find("proven for inputs of up to 20 tokens, not for 21") != std::string::npos);

  const Run letter = run("evaluate " + model + " --task letter");
  CHECK(letter.code == 2);
  CHECK(letter.complains("config.json: ropewalk.rule is lag"));

  const auto other = run("evaluate tests/data/models/gptj --task letter --count 4 --json");
  CHECK(other.code == 2);  // 24 tokens
}

TEST_CASE("commands that take a model work on a model of the type \"ropewalk\", or refuse it") {
  const Folder folder;
  const std::string model = index_model(400).write(folder / "model");
  const Run inspect = run("inspect " + model + " --against " + model + " --json");
  CHECK(inspect.code == 0);
  CHECK(inspect.json()["findings"].empty());
  const auto schedule = run("schedule " + model + "/config.json --json").json();
  CHECK(schedule["planes"].size() == 1);
  CHECK(schedule["logit_scale"].get<std::string>().substr(0, 1) == "1");
  CHECK(schedule["warnings"].empty());
  CHECK(run("audit " + model + " --length 64 --json").code <= 1);
  const auto heads = run("heads " + model + " --task index --count 5 --json").json();
  CHECK(heads["heads"][0]["positional"].get<double>() > 0.99);
  const Run exported = run("export " + model + " --out " + (folder / "out"));
  CHECK(exported.code == 2);
  CHECK(exported.complains("transformers has no model of the type 'ropewalk'"));
  CHECK_FALSE(std::filesystem::exists(folder / "out"));
}
