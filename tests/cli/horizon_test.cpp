#include <fstream>

#include "tests/catch.hpp"
#include "tests/cli/run.hpp"
#include "theory/formula.hpp"

using namespace ropewalk;
using tests::Folder;
using tests::number;
using tests::run;
using tests::Run;
using theory::Rational;

TEST_CASE("horizon: golden values on the command line") {
  // mpmath, 30 digits: masses 0.5147678000914793361 at 1194 keys, 0.47181675756186777285 at 1195
  const Run r = run(
      "horizon --base 100 --planes 4 --scale 20 --mass 0.5 --amplitudes uniform --offset 1 --json");
  CAPTURE(r.out, r.err);
  REQUIRE(r.code == 0);
  const auto j = r.json();
  CHECK(j["task"] == "index");
  CHECK(j["guaranteed"] == "1194");
  CHECK(j["capped"] == false);
  CHECK(number(j["mass"]["lo"]) <= Rational("51476780009147934/100000000000000000"));
  CHECK(number(j["mass"]["hi"]) >= Rational("51476780009147933/100000000000000000"));
  CHECK(number(j["mass"]["hi"]) - number(j["mass"]["lo"]) < Rational(1, 1000000000));
  CHECK(number(j["bound"]) >= 1194);
  CHECK(number(j["bound_mass"]["hi"]) < Rational(1, 2));
  CHECK(j["amplitudes"][3]["re"] == "1/4");
  CHECK(j["amplitudes"][3]["im"] == "0");

  const Run best = run("horizon --base 5e5 --planes 64 --scale 15 --json");
  REQUIRE(best.code == 0);
  const auto b = best.json();
  CHECK(b["offset"] == "1");  // the previous token, unless told otherwise
  CHECK(number(b["guaranteed"]) >= 1620);
  CHECK(number(b["bound"]) >= number(b["guaranteed"]));
  CHECK(number(b["bound"]) <= 1635);
  CHECK(b["bound_head"].size() == 64);
  CHECK(number(b["target"]) == Rational(9, 10));

  const Run capped = run("horizon --base 5e5 --planes 64 --scale 15 --longest 100 --json");
  CHECK(capped.json()["guaranteed"] == "100");
  CHECK(capped.json()["capped"] == true);
  const Run none = run("horizon --base 1e4 --planes 8 --scale 1e4 --longest 50 --json");
  CHECK(none.code == 0);
  CHECK(none.json()["bound"].is_null());
  CHECK(run("horizon --base 5e5 --planes 64 --scale 15").out.find("certified") ==
        std::string::npos);
}

TEST_CASE("horizon: amplitudes from a file, also what optimal prints") {
  const Folder folder;
  const std::string list = folder.write("list.json", R"([2, "2", 0.2e1, "4/2"])");
  const Run given =
      run("horizon --base 100 --planes 4 --scale 20 --mass 0.5 --json --amplitudes " + list);
  CAPTURE(given.err);
  REQUIRE(given.code == 0);
  CHECK(given.json()["guaranteed"] == "1194");

  const std::string optimal = folder.write(
      "optimal.json", run("optimal --base 100 --planes 4 --reach 50 --offset 1 --json").out);
  const Run from =
      run("horizon --base 100 --planes 4 --scale 20 --mass 0.5 --json --amplitudes " + optimal);
  CAPTURE(from.err);
  CHECK(from.code == 0);

  for (const auto& [content, part] : {std::pair{"[1, 2, 3]", "3 amplitudes for 4 planes"},
                                      {"[0, 0, 0, 0]", "add up to 0"},
                                      {"[1, -1, 1, 1]", "amplitude 2 is negative"},
                                      {"[1, \"x\", 1, 1]", "amplitude 2"},
                                      {"[1, null, 1, 1]", "amplitude 2"},
                                      {"{\"a\": 1}", "no list"},
                                      {"[{\"re\": 1, \"im\": 1}, 0, 0, 0]", "more than 1"},
                                      {"[1, 2", "byte"}}) {
    const std::string bad = folder.write("bad.json", content);
    const Run r = run("horizon --base 100 --planes 4 --scale 20 --amplitudes " + bad);
    CAPTURE(content, r.err);
    CHECK(r.code == 2);
    CHECK(r.complains(part));
    CHECK(r.err.find(bad) != std::string::npos);
  }
  CHECK(run("horizon --base 100 --planes 4 --scale 20 --amplitudes nowhere.json").code == 4);
}

TEST_CASE("horizon: a model's window, soft cap and still dimensions are said") {
  const auto window =
      run("horizon --schedule examples/configs/gemma-2-2b.json --layer 0 --scale 25 "
          "--json")
          .json();
  CHECK(window["guaranteed"] == "unbounded");
  CHECK(window["bound"] == "unbounded");
  CHECK(window["capped"] == false);
  CHECK(window["longest"] == "4096");
  std::string notes = window["notes"].dump();
  CHECK(notes.find("tanh") != std::string::npos);
  CHECK(notes.find("sliding_window") != std::string::npos);

  const auto short_of = run("horizon --schedule examples/configs/gemma-2-2b.json --layer 0 --scale "
                            "8 --json")
                            .json();
  CHECK(number(short_of["guaranteed"]) <= number(short_of["bound"]));
  CHECK(number(short_of["bound"]) < 4096);

  const auto still =
      run("horizon --schedule examples/configs/pythia-1.4b.json --scale 10 --alphabet "
          "4 --json")
          .json();
  CHECK(still["bound"] == "68605");  // 1 + (1/9) e^{10 * 4/3}
  CHECK(still["notes"].dump().find("do not turn") != std::string::npos);
  const auto sinks =
      run("horizon --schedule examples/configs/gpt-oss-20b.json --scale 10 --json").json();
  CHECK(sinks["notes"].dump().find("sinks") != std::string::npos);
}

TEST_CASE("horizon: Retrieval heads") {
  // mpmath: heads exist with 0.900389976860661992 at 257 keys, 0.9003257090593587 centred at 364
  for (const auto& [head, lengths] :
       {std::pair{"plain", std::pair{257, 259}}, {"centred", std::pair{364, 365}}}) {
    const Run r = run(std::string("horizon --base 1e4 --planes 8 --scale 30 --alphabet 8 --json "
                                  "--head ") +
                      head);
    CAPTURE(r.err, head);
    REQUIRE(r.code == 0);
    const auto j = r.json();
    CHECK(j["task"] == "retrieval");
    CHECK(j["head"] == head);
    CHECK(number(j["guaranteed"]) >= lengths.first);
    CHECK(number(j["guaranteed"]) <= lengths.second);
    CHECK(j["bound"] == "14270");
    Rational sum;
    for (const auto& a : j["amplitudes"]) sum += number(a);
    CHECK(sum == 1);
  }
  const auto own = run("horizon --base 1e4 --planes 64 --scale 25 --alphabet 8 --head orthogonal "
                       "--json")
                       .json();
  CHECK(own["guaranteed"] == "7038");
  CHECK(own["letters"] == std::vector<int>{57, 58, 59, 60, 61, 62, 63, 64});
}

TEST_CASE("horizon refuses bad input with one line that names the flag") {
  const std::string table = "--base 1e4 --planes 4 ";
  for (const auto& [arguments, part] :
       {std::pair{"", "--scale"},
        {"--scale 0", "--scale"},
        {"--scale -2", "--scale"},
        {"--scale nan", "--scale"},
        {"--scale inf", "--scale"},
        {"--scale pi", "--scale"},
        {"--scale 1e7", "--scale"},
        {"--scale 5 --mass 0", "--mass"},
        {"--scale 5 --mass 1", "--mass"},
        {"--scale 5 --mass 1.5", "--mass"},
        {"--scale 5 --mass -0.1", "--mass"},
        {"--scale 5 --mass x", "--mass"},
        {"--scale 5 --offset -1", "--offset"},
        {"--scale 5 --offset 1.5", "--offset"},
        {"--scale 5 --offset 10 --longest 10", "--offset"},
        {"--scale 5 --longest 0", "--longest"},
        {"--scale 5 --longest 1e8", "--longest"},
        {"--scale 5 --alphabet 1", "--alphabet"},
        {"--scale 5 --alphabet 1e9", "--alphabet"},
        {"--scale 5 --alphabet 8 --offset 1", "--offset"},
        {"--scale 5 --alphabet 8 --head round", "--head"},
        {"--scale 5 --head plain", "--head"},
        {"--scale 5 --alphabet 8 --head orthogonal", "--alphabet"},
        {"--scale 5 --alphabet 3 --head orthogonal --amplitudes uniform", "--amplitudes"},
        {"--scale 5 --schedule examples/configs/llama-2-7b.json", "--schedule"}}) {
    const Run r = run("horizon " + table + arguments);
    CAPTURE(arguments, r.code, r.out, r.err);
    CHECK(r.code == 2);
    CHECK(r.out.empty());
    CHECK(r.complains(part));
  }
  CHECK(run("horizon --base 1e4 --planes 4096 --scale 5").complains("--planes"));
  CHECK(run("horizon --schedule nowhere.json --scale 5").code == 4);
}
