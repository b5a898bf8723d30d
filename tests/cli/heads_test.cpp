// ropewalk heads, ropewalk evaluate
#include <fstream>

#include "tests/cli/run.hpp"

using namespace ropewalk;
using namespace ropewalk::tests;

namespace {
const std::string models = "tests/data/models/";
const std::string shared = ROPEWALK_SHARED_DIR "/checkpoints/";
}  // namespace

TEST_CASE("heads: scores of every head, from ids in every kind of file") {
  const Folder folder;
  const std::string text = folder.write("a.txt", "3 1 4 1 5 9 2 6\n2, 7, 1, 8, 2, 8\n");
  const auto heads = run("heads " + models + "qwen3 --tokens " + text + " --json").json();
  CHECK(heads["inputs"] == 2);
  REQUIRE(heads["heads"].size() == 8);
  for (const auto& head : heads["heads"]) {
    CHECK(head["positional"].get<double>() >= 0);
    CHECK(head["positional"].get<double>() <= 1);
    CHECK(head["symbolic"].get<double>() <= 1);
    CHECK(head["entropy"].get<double>() > 0);
    CHECK(head["plane_use"].size() == 4);
    CHECK(head["weighted_id"].get<int>() >= 1);
    CHECK_FALSE(head.contains("planes"));
  }
  for (const auto& [name, content] :
       {std::pair{"b.jsonl", "{\"tokens\": [3,1,4,1,5,9,2,6]}\n[2,7,1,8,2,8]\n"},
        {"c.json", "[[3,1,4,1,5,9,2,6],\n [2,7,1,8,2,8]]"}}) {
    auto other =
        run("heads " + models + "qwen3 --tokens " + folder.write(name, content) + " --json").json();
    CHECK(other["heads"] == heads["heads"]);
  }
  const auto all = run("heads " + models + "qwen3 --tokens " + text +
                       " --queries all --blocks 2 --by-plane --json --threads 1");
  const auto parsed = all.json();
  CHECK(parsed["block"] == 2);
  CHECK(parsed["heads"][0]["planes"].size() == 4);
  CHECK(parsed["heads"] == run("heads " + models + "qwen3 --tokens " + text +
                               " --queries all --blocks 2 --by-plane --json --threads 2")
                               .json()["heads"]);
  const Run table =
      run("heads " + models + "qwen3 --tokens " + text + " --csv " + (folder / "t.csv"));
  CHECK(table.code == 0);
  std::ifstream csv(folder / "t.csv");
  std::string line;
  std::size_t lines = 0;
  while (std::getline(csv, line)) ++lines;
  CHECK(lines == 9);
}

TEST_CASE("heads and evaluate refuse bad input with one line") {
  const Folder folder;
  const std::string qwen = "heads " + models + "qwen3 ";
  const std::string good = folder.write("good.txt", "1 2 3 4");
  for (const auto& [arguments, words] : std::vector<std::pair<std::string, std::string>>{
           {"heads", "model is required"},
           {qwen, "one of --tokens, --text and --task"},
           {qwen + "--tokens " + good + " --task number", "one of --tokens, --text and --task"},
           {qwen + "--tokens " + good + " --count 5", "--count needs --task"},
           {qwen + "--tokens " + folder.write("empty.txt", ""), "no token ids"},
           {qwen + "--tokens " + folder.write("a.txt", "1 2\n3 x"), "a.txt, line 2: 'x'"},
           {qwen + "--tokens " + folder.write("b.txt", "1 -2"), "a whole number from 0 on"},
           {qwen + "--tokens " + folder.write("c.txt", "1 1e18"), "'1e18' is no token id"},
           {qwen + "--tokens " + folder.write("d.txt", "1 24"), "outside the vocabulary 0..23"},
           {qwen + "--tokens " + folder.write("e.jsonl", "{\"ids\": [1]}"), "no \"tokens\""},
           {qwen + "--tokens " + folder.write("f.json", "[1, [2]]"), "not an array of token ids"},
           {qwen + "--tokens " + folder.write("h.json", std::string(100000, '[')), "not JSON"},
           {qwen + "--tokens " +
                folder.write("i.json", std::string(100000, '[') + std::string(100000, ']')),
            "not an array of token ids"},
           {qwen + "--tokens " + folder.write("g.jsonl", "[1, 2"), "g.jsonl, line 1: not JSON"},
           {qwen + "--tokens " + (folder / "none.txt"), "none.txt"},
           {qwen + "--text " + good, "has no tokenizer.json"},
           {qwen + "--tokens " + good + " --tau 0", "--tau must be positive"},
           {qwen + "--tokens " + good + " --blocks 0", "--blocks must lie in 1.."},
           {qwen + "--tokens " + good + " --queries none", "--queries"},
           {qwen + "--task number", "outside the vocabulary"},
           {"heads " + (folder / "nowhere") + " --tokens " + good, "nowhere"},
           {"heads " + good + " --tokens " + good, "good.txt"},
           {"evaluate " + models + "qwen3", "--task is required"},
           {"evaluate " + models + "qwen3 --task number", "does not hold the task's 137 tokens"},
           {"evaluate " + models + "qwen3 --task number --count 0", "--count must lie in 1.."},
           {"evaluate " + models + "qwen3 --task number --added 1,x", "--added"},
           {"evaluate " + models + "qwen3 --task number --added 1e18", "--added must lie in"}}) {
    const Run r = run(arguments);
    CAPTURE(arguments, r.err);
    CHECK((r.code == 2 || r.code == 4));
    CHECK(r.out.empty());
    CHECK(r.complains(words));
  }
}

TEST_CASE("evaluate: trained models are right at the training length and wrong beyond") {
  if (!std::filesystem::exists(shared))
    return skipped("trained models are not beside the checkout");
  const std::string count = instrumented ? "24" : "400";
  const auto accuracy = [](const nlohmann::ordered_json& rows, int added) {
    for (const auto& row : rows)
      if (row["added"] == added && row["hops"] == "all")
        return row["accuracy"]["value"].get<double>();
    return -1.0;
  };
  const auto letter =
      run("evaluate " + shared + "p1-letter --task letter --count " + count + " --json");
  REQUIRE(letter.code == 0);
  const auto rows = letter.json()["rows"];
  REQUIRE(rows.size() == 5);  // 1 to 4 hops, and all
  CHECK(accuracy(rows, 0) > 0.99);
  CHECK(rows[0]["target_mass"].size() == 12);
  CHECK(rows[3]["path_mass"][0].size() == 5);
  CHECK(rows[0]["count"] == std::stoi(count) / 4);

  const auto number = run("evaluate " + shared +
                          "p1-number --task number --added 0,40,100 --count " + count + " --json");
  REQUIRE(number.code == 0);
  const auto more = number.json()["rows"];
  CHECK(accuracy(more, 0) > 0.99);
  if (instrumented) return;
  CHECK(std::abs(accuracy(more, 40) - 0.61) < 0.06);
  CHECK(accuracy(more, 100) < 0.33);
}
