#include "tests/catch.hpp"
#include "tests/cli/run.hpp"
#include "theory/formula.hpp"

using namespace ropewalk;
using tests::number;
using tests::run;
using tests::Run;
using theory::Formula;
using theory::Rational;

namespace {

void check_margin(const Run& r, const char* lo, const char* hi) {
  CAPTURE(r.out, r.err);
  REQUIRE(r.code == 0);
  const auto j = r.json();
  CHECK(number(j["margin"]["lo"]) >= *Formula::parse(lo).rational());
  CHECK(number(j["margin"]["hi"]) <= *Formula::parse(hi).rational());
  CHECK(number(j["margin"]["lo"]) <= number(j["margin"]["hi"]));
}

}  // namespace

TEST_CASE("discrepancy index: golden values on the command line") {
  check_margin(run("discrepancy index --theta 0.8 --length 9 --offset 4 --json"), "0.303293",
               "0.303294");
  const Run seven_hundred = run("discrepancy index --theta 1 --reach 710 --json");
  check_margin(seven_hundred, "1.817364e-9", "1.817365e-9");
  CHECK(seven_hundred.json()["witness"]["lag"] == "710");
  const Run far = run("discrepancy index --theta 1 --reach 1e100 --json");
  check_margin(far, "8.8067157768478832e-200", "8.8067157768478833e-200");
  CHECK(far.json()["witness"]["lag"] ==
        "993918757035859001923176297778246700101694793075858485301454"
        "311817735631258298608949787538512773005");
  check_margin(run("discrepancy index --theta 2 --length 4 --offset 1 --json"), "1.41614",
               "1.41615");
}

TEST_CASE("discrepancy index: exact zeros") {
  for (const auto& [arguments, lag] : {std::pair{"--theta 'pi*2/7' --reach 20", "7"},
                                       {"--theta 'acos(1/2)' --reach 6", "6"},
                                       {"--theta '2*pi' --length 5 --offset 0", "1"},
                                       {"--theta 0 --length 5 --offset 4", "1"}}) {
    const auto j = run(std::string("discrepancy index ") + arguments + " --json").json();
    CHECK(j["margin"]["lo"] == "0");
    CHECK(j["margin"]["hi"] == "0");
    CHECK(j["discrepancy"]["hi"] == "0");
    CHECK(j["positive"] == false);
    CHECK(j["witness"]["lag"] == lag);
  }
}

TEST_CASE("discrepancy index: readings, horizons and edges") {
  CHECK(run("discrepancy index --theta 1 --length 9 --json").json()["witness"]["offset"] == "4");
  CHECK(run("discrepancy index --theta 1 --length 9 --reading min --json")
            .json()["witness"]["offset"] == "0");
  CHECK(run("discrepancy index --theta 1 --length 9 --json").json()["horizon"] == "unbounded");
  CHECK(run("discrepancy index --theta 'pi*2/7' --length 9 --json").json()["horizon"] == "13");
  CHECK(
      run("discrepancy index --theta 'pi*2/7' --length 9 --reading min --json").json()["horizon"] ==
      "7");
  CHECK(run("discrepancy index --theta 'pi*2/7' --length 9 --offset 3 --json").json()["horizon"] ==
        "10");
  const auto single = run("discrepancy index --theta 1 --length 1 --json").json();
  CHECK(single["margin"].is_null());
  CHECK(single["discrepancy"].is_null());
  CHECK(single["positive"].is_null());
  check_margin(run("discrepancy index --theta -0.8 --length 9 --offset 4 --json"), "0.303293",
               "0.303294");
  check_margin(run("discrepancy index --theta=-0.8+4*pi --length 9 --offset 4 --json"), "0.303293",
               "0.303294");
  check_margin(run("discrepancy index --theta '10000^(-2/64)' --length 2 --offset 0 --json"),
               "0.26", "0.27");
}

TEST_CASE("discrepancy retrieval: golden values on the command line") {
  const Run last = run("discrepancy retrieval --theta 0.0027 --alphabet 8 --length 146 --json");
  check_margin(last, "0.0019446", "0.0019447");
  CHECK(last.json()["positive"] == true);
  CHECK(last.json()["horizon"] == "146");
  const Run beyond = run("discrepancy retrieval --theta 0.0027 --alphabet 8 --length 147 --json");
  check_margin(beyond, "-1.15885e-4", "-1.15884e-4");
  CHECK(beyond.json()["positive"] == false);
  CHECK(run("discrepancy retrieval --theta 0.0027 --alphabet 8 --length 291 --centred --json")
            .json()["horizon"] == "291");
  const Run still = run("discrepancy retrieval --theta 0 --alphabet 8 --length 1000000 --json");
  check_margin(still, "0.292893218813", "0.292893218814");
  CHECK(still.json()["horizon"] == "unbounded");
  CHECK(run("discrepancy retrieval --theta 0.1 --alphabet 8 --length 1 --json")
            .json()["margin"]
            .is_null());
  check_margin(
      run("discrepancy retrieval --theta 0.0027 --alphabet 8 --length 50 --reading max --json"),
      "1.9912", "1.9913");
}

TEST_CASE("discrepancy retrieval writes out inputs in which one letter belongs to one token") {
  const auto j = run("discrepancy retrieval --theta 0.1 --alphabet 5 --length 4 --json").json();
  CHECK(j["witness"]["input"].size() == 4);
  for (const auto& a : j["witness"]["input"])
    for (const auto& b : j["witness"]["input"])
      CHECK((a.get<std::string>()[0] != b.get<std::string>()[0] || a == b));
}

TEST_CASE("discrepancy refuses bad input with one line that names the flag") {
  for (const auto& [arguments, part] :
       {std::pair{"index --theta 1 --length 0", "--length"},
        {"index --theta 1 --length -3", "--length"},
        {"index --theta 1 --length 4 --offset 4", "--offset"},
        {"index --theta 1 --length 4 --offset -1", "--offset"},
        {"index --theta 1 --reach 0", "--reach"},
        {"index --theta 1 --reach 1.5", "--reach"},
        {"index --theta 1 --reach 1e5000", "--reach"},
        {"index --theta 1", "--length"},
        {"index --theta 1 --reach 5 --length 4", "--reach"},
        {"index --theta NaN --reach 5", "--theta"},
        {"index --theta inf --reach 5", "--theta"},
        {"index --theta 1/0 --reach 5", "--theta"},
        {"index --theta '' --reach 5", "--theta"},
        {"index --theta 'acos(2)' --reach 5", "--theta"},
        {"index --theta 1 --reach 5 --color", "--color"},
        {"index --theta 1 --reading most --length 4", "--reading"},
        {"index --reach 5", "--theta"},
        {"retrieval --theta 1 --alphabet 1 --length 4", "--alphabet"},
        {"retrieval --theta 1 --alphabet 8 --length 0", "--length"},
        {"retrieval --theta 1 --alphabet 8", "--length"},
        {"retrieval --theta 1 --alphabet x --length 4", "--alphabet"},
        {"index --theta 1 --reach 5 --threads 0", "--threads"}}) {
    const Run r = run(std::string("discrepancy ") + arguments);
    CAPTURE(arguments, r.code, r.out, r.err);
    CHECK(r.code == 2);
    CHECK(r.out.empty());
    CHECK(r.complains(part));
  }
}
