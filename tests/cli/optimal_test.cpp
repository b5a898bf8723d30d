#include "tests/catch.hpp"
#include "tests/cli/run.hpp"
#include "theory/formula.hpp"

using namespace ropewalk;
using tests::number;
using tests::run;
using tests::Run;
using theory::Rational;

TEST_CASE("optimal: golden values and exact lists on the command line") {
  const Run r = run("optimal --base 5e5 --planes 64 --reach 131072 --json");
  CAPTURE(r.out, r.err);
  REQUIRE(r.code == 0);
  const auto j = r.json();
  const Rational lo = number(j["optimum"]["lo"]);
  const Rational hi = number(j["optimum"]["hi"]);
  CHECK(lo <= hi);
  CHECK((hi - lo) / lo <= Rational(1, 1000000));
  CHECK(lo > Rational(28056444, 100000000));
  CHECK(hi < Rational(28056446, 100000000));
  Rational sum;
  std::vector<std::size_t> carrying;
  REQUIRE(j["amplitudes"].size() == 64);
  for (std::size_t f = 0; f < 64; ++f) {
    const Rational a = number(j["amplitudes"][f]);
    CHECK(a >= 0);
    sum += a;
    if (a != 0) carrying.push_back(f + 1);
  }
  CHECK(sum == 1);
  CHECK(j["carrying"] == carrying);
  Rational weights;
  for (const auto& m : j["dual"]) {
    CHECK(number(m["weight"]) > 0);
    CHECK(number(m["lag"]) >= 1);
    CHECK(number(m["lag"]) <= 131072);
    weights += number(m["weight"]);
  }
  CHECK(weights == 1);
  CHECK(number(j["uniform"]["lo"]) > Rational(2209077, 100000000));
  CHECK(number(j["uniform"]["hi"]) < Rational(2209078, 100000000));
  CHECK(number(j["efficiency"]["lo"]) > Rational(7873, 100000));
  CHECK(number(j["efficiency"]["hi"]) < Rational(7874, 100000));
}

TEST_CASE("optimal: a model's table, one side, one plane") {
  const Run schedule =
      run("optimal --schedule examples/configs/llama-3.1-8b.json --reach 100 --json");
  CAPTURE(schedule.err);
  REQUIRE(schedule.code == 0);
  CHECK(schedule.json()["amplitudes"].size() == 64);

  const auto one_sided = run("optimal --base 5e5 --planes 64 --reach 16 --offset 0 --json").json();
  CHECK(number(one_sided["optimum"]["lo"]) > Rational(6317, 10000));
  CHECK(number(one_sided["optimum"]["hi"]) < Rational(6318, 10000));
  CHECK(one_sided["offset"] == "0");
  CHECK(one_sided["amplitudes"][0].contains("im"));

  const Run far = run("optimal --base 5e5 --planes 1 --reach 1e100 --json");
  CAPTURE(far.err);
  CHECK(far.code == 0);
  CHECK(far.json()["amplitudes"] == std::vector<std::string>{"1"});
  CHECK(number(far.json()["optimum"]["hi"]) < Rational(1, 1000000000));

  const Run text = run("optimal --base 1e4 --planes 8 --reach 1000 --threads 1");
  CHECK(text.code == 0);
  CHECK(text.out.find("optimum") != std::string::npos);
  CHECK(text.out.find("certified") == std::string::npos);
}

TEST_CASE("optimal: Retrieval heads") {
  const Run plain = run("optimal --base 1e4 --planes 64 --reach 100 --alphabet 8 --json");
  CAPTURE(plain.err);
  REQUIRE(plain.code == 0);
  const auto j = plain.json();
  const Rational lo = number(j["optimum"]["lo"]);
  const Rational hi = number(j["optimum"]["hi"]);
  CHECK(lo > Rational(28475, 100000));
  CHECK(hi < Rational(28476, 100000));
  CHECK((hi - lo) / lo <= Rational(1, 1000000));
  CHECK(j["head"] == "plain");
  CHECK(j["alphabet"] == "8");
  CHECK(j["efficiency"].is_null());  // equal amplitudes have a negative margin
  CHECK(number(j["uniform"]["hi"]) < 0);
  Rational sum;
  for (const auto& a : j["amplitudes"]) sum += number(a);
  CHECK(sum == 1);
  Rational weights;
  for (const auto& m : j["dual"]) {
    CHECK(m["match"] != m["distractor"]);
    CHECK(number(m["letter"]) >= 1);
    CHECK(number(m["letter"]) <= 7);
    weights += number(m["weight"]);
  }
  CHECK(weights == 1);

  const auto centred =
      run("optimal --base 1e4 --planes 64 --reach 100 --alphabet 8 --head centred --json").json();
  CHECK(number(centred["optimum"]["lo"]) > hi);
  // cos(8191/2 * 10^(-3.5)), by mpmath, is 0.2722066262...
  const auto own =
      run("optimal --base 1e4 --planes 64 --reach 8191 --alphabet 8 --head orthogonal --json")
          .json();
  CHECK(own["letters"].size() == 8);
  CHECK(own["optimal"] == true);
  CHECK(number(own["margin"]["lo"]) > Rational(27220, 100000));
  CHECK(number(own["margin"]["hi"]) < Rational(27221, 100000));
}

TEST_CASE("optimal refuses bad input with one line that names the flag") {
  for (const auto& [arguments, part] :
       {std::pair{"--base 5e5 --planes 64 --reach 0", "--reach"},
        {"--base 5e5 --planes 64 --reach -4", "--reach"},
        {"--base 5e5 --planes 64 --reach 2.5", "--reach"},
        {"--base 5e5 --planes 64 --reach x", "--reach"},
        {"--base 5e5 --planes 64", "--reach"},
        {"--base 5e5 --planes 2 --reach 1e19", "--reach"},
        {"--base 5e5 --planes 1 --reach 1e1300", "--reach"},
        {"--base 5e5 --planes 1 --reach 1e19 --offset 0", "--reach"},
        {"--base 5e5 --planes 0 --reach 5", "--planes"},
        {"--base 5e5 --planes 4097 --reach 5", "--planes"},
        {"--base 5e5 --planes 2049 --reach 5 --offset 0", "--offset"},
        {"--base 5e5 --planes 4 --reach 5 --offset -1", "--offset"},
        {"--base 5e5 --planes 4 --reach 5 --offset 1e19", "--offset"},
        {"--base 5e5 --planes 4 --reach 5 --offset x", "--offset"},
        {"--base 5e5 --planes 4 --reach 5 --alphabet 1", "--alphabet"},
        {"--base 5e5 --planes 4 --reach 5 --alphabet 5 --head orthogonal", "--alphabet"},
        {"--base 5e5 --planes 4 --reach 5 --alphabet 5 --head other", "--head"},
        {"--base 5e5 --planes 4 --reach 5 --head plain", "--head"},
        {"--base 5e5 --planes 4 --reach 5 --alphabet 5 --offset 1", "--offset"},
        {"--base 5e5 --planes 4 --reach 2e7 --alphabet 5", "--reach"},
        {"--base 1 --planes 4 --reach 5", "--base"},
        {"--base nan --planes 4 --reach 5", "--base"},
        {"--base 5e5 --reach 5", "--planes"},
        {"--reach 5", "--schedule"},
        {"--schedule examples/configs/llama-2-7b.json --base 5e5 --planes 4 --reach 5",
         "--schedule"},
        {"--base 5e5 --planes 4 --reach 5 --threads 0", "--threads"},
        {"--base 5e5 --planes 4 --reach 5 --fast", "--fast"}}) {
    const Run r = run(std::string("optimal ") + arguments);
    CAPTURE(arguments, r.code, r.out, r.err);
    CHECK(r.code == 2);
    CHECK(r.out.empty());
    CHECK(r.complains(part));
  }
  CHECK(run("optimal --schedule nowhere.json --reach 5").code == 4);
}
