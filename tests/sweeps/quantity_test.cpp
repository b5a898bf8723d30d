#include "sweeps/quantity.hpp"

#include "proofs_numeric/extremum.hpp"
#include "tests/sweeps/support.hpp"

using namespace ropewalk;
using namespace ropewalk::sweeps;
using theory::Rational;

namespace {

theory::Schedule plain(const Rational& base, unsigned planes) {
  return theory::default_schedule({base, 2 * planes});
}
theory::Schedule angle(const std::string& text) {
  return theory::custom({theory::Formula::parse(text)});
}

Answers ask(const std::string& kind, const theory::Schedule& schedule, const Parameters& given,
            const std::vector<Lag>& lengths) {
  const Table table = table_of(schedule);
  const Parameters parameters = complete(kind_of(kind), given);
  Answers answers = kind_of(kind).answer({table, parameters, lengths});
  REQUIRE(answers.at.size() == lengths.size());
  return answers;
}

bool near(const Answer& answer, const std::string& value, const std::string& tolerance = "1e-8") {
  REQUIRE(answer.value);
  const Rational x = tests::number(value);
  const Rational e = tests::number(tolerance);
  CAPTURE(text(*answer.value), value);
  return answer.value->lo > x - e && answer.value->hi < x + e;
}

}  // namespace

TEST_CASE("quantities: Index margins at the golden values") {
  const auto uniform =
      ask("index-margin", plain(500000, 64), {{"amplitudes", "uniform"}}, {1, 2, 1025, 131073});
  CHECK_FALSE(uniform.at[0].value);
  CHECK(near(uniform.at[2], "0.02209078"));
  CHECK(near(uniform.at[3], "0.02209078"));
  CHECK(uniform.at[3].detail["lag"] == "1");
  CHECK(uniform.facts.size() == 1);  // one pass, one fact
  const auto best = ask("index-margin", plain(500000, 64), {}, {1025});
  CHECK(near(best.at[0], "0.31534569"));
  CHECK(best.at[0].decided);
  CHECK(best.at[0].detail["amplitudes"].size() > 5);
  // Delta*(16) of theory.md, and the bound of every head in the middle of 33 tokens is the same.
  CHECK(near(ask("index-margin", plain(500000, 64), {}, {17}).at[0], "0.4037", "5e-5"));
  CHECK(near(ask("index-bound", plain(500000, 64), {}, {33}).at[0], "0.4037", "5e-5"));
  CHECK_FALSE(ask("index-bound", plain(500000, 64), {}, {2}).at[0].value);
}

TEST_CASE("quantities: one plane's gap by offset") {
  // theory.md: theta = 2, n = 4, m = 1: 1.41615; theta = 0.8, n = 9, m = 4: 0.30329
  CHECK(near(ask("index-margin", angle("2"), {{"offset", "1"}}, {4}).at[0], "1.41615", "5e-6"));
  CHECK(near(ask("index-margin", angle("0.8"), {{"offset", "middle"}}, {9}).at[0], "0.30329",
             "5e-6"));
  CHECK_FALSE(ask("index-margin", angle("1"), {{"offset", "5"}}, {5}).at[0].value);
  // Reaches of one pass: the gap with lag 6, 44, 333, 710 reachable
  const auto gaps =
      ask("index-margin", angle("1"), {{"amplitudes", "uniform"}}, {7, 45, 334, 711, 103994});
  CHECK(near(gaps.at[0], "0.0398297", "1e-6"));
  CHECK(near(gaps.at[1], "1.57e-4", "1e-6"));
  CHECK(near(gaps.at[2], "3.89e-5", "1e-7"));
  CHECK(near(gaps.at[3], "1.81736e-9", "1e-14"));
  CHECK(near(gaps.at[4], "1.82966e-10", "1e-15"));
  CHECK(gaps.at[3].detail["lag"] == "710");
}

TEST_CASE("quantities: a shared pass says what single passes say") {
  const std::vector<Lag> lengths{2, 3, 10, 57, 300, 4096};
  const auto together = ask("index-margin", plain(100, 3), {{"amplitudes", "uniform"}}, lengths);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const auto alone =
        ask("index-margin", plain(100, 3), {{"amplitudes", "uniform"}}, {lengths[i]});
    CHECK(alone.at[0].detail == together.at[i].detail);
    CHECK(alone.at[0].value->lo <= together.at[i].value->hi);
    CHECK(together.at[i].value->lo <= alone.at[0].value->hi);
  }
}

TEST_CASE("quantities: Retrieval margins and horizons") {
  const auto margins = ask("retrieval-margin", angle("0.0027"), {}, {17, 100, 146, 147});
  CHECK(near(margins.at[0], "0.2621954", "1e-7"));
  CHECK(near(margins.at[1], "0.0964346", "1e-7"));
  CHECK(near(margins.at[2], "0.0019446", "1e-7"));
  CHECK(near(margins.at[3], "-1.15884e-4", "1e-8"));
  CHECK(near(ask("retrieval-margin", angle("0.0027"), {{"head", "centred"}}, {291}).at[0],
             "9.1774e-4", "1e-8"));
  CHECK(near(ask("retrieval-margin", angle("0"), {{"amplitudes", "uniform"}}, {40}).at[0],
             "0.29289321881345247560", "1e-15"));
  CHECK_FALSE(ask("retrieval-margin", angle("1"), {{"head", "orthogonal"}}, {5}).at[0].value);

  // docs/horizon.md: 1628 tokens at scale 15; the same pass says shorter lengths
  const auto horizon = ask("index-horizon", plain(500000, 64), {{"scale", "15"}}, {1024, 4096});
  CHECK(horizon.at[0].value->exact());
  CHECK(horizon.at[0].value->lo == 1024);
  CHECK(horizon.at[0].detail["capped"] == true);
  CHECK(horizon.at[1].value->lo == 1628);
  CHECK(horizon.at[1].value->hi == 1628);
  // one still plane: mass 1/(1 + (n-1) e^(-beta(1 - cos(2 pi/8))))
  const auto still =
      ask("retrieval-horizon", angle("0"), {{"scale", "10"}, {"mass", "1/2"}}, {4, 100});
  CHECK(still.at[0].value->lo == 4);
  CHECK(still.at[1].value->lo == 19);  // e^2.92893 = 18.7
}

TEST_CASE("quantities: what one head has of both tasks") {
  const auto answers = ask("trade-off", plain(10000, 8), {{"weight", "1/4"}}, {1, 64});
  CHECK_FALSE(answers.at[0].value);
  const Answer& both = answers.at[1];
  REQUIRE(both.value);
  CHECK(both.decided);
  const auto text = [&](const char* name) {
    return *theory::Formula::parse(both.detail[name].get<std::string>()).rational();
  };
  // The two margins of the head are what the value promises, w and 1 - w of it.
  CHECK(text("index") >= both.value->lo / 4 - Rational(1, 1000000000));
  CHECK(text("retrieval") >= both.value->lo * 3 / 4 - Rational(1, 1000000000));
  CHECK(text("index") <= ask("index-margin", plain(10000, 8), {}, {64}).at[0].value->hi);
}

TEST_CASE("quantities: the smallest scale") {
  // R7: one plane of angle 2 pi/n needs c(0.1) n^2/(2 pi^2), c(0.1) = 2.8905, in the middle
  const auto ring = ask("index-scale", angle("2*pi/512"), {{"offset", "256"}}, {512});
  CHECK(near(ring.at[0], "38388", "20"));
  // By hand: two tokens, theta = pi: one other key, loss 2: e^(-2 beta) = 1/9
  const auto two = ask("index-scale", angle("pi"), {}, {2});
  CHECK(near(two.at[0], "1.098612288668109", "1e-8"));
  CHECK(ask("index-scale", angle("pi"), {{"mass", "1/2"}}, {2}).at[0].value->hi == 0);
  CHECK_FALSE(ask("index-scale", angle("pi"), {{"offset", "2"}}, {5}).at[0].value);  // a tie
}

TEST_CASE("quantities: sums of P4 and wavelengths") {
  // first violated k of base 1e4: 1707
  const auto sums = ask("base-sum", plain(10000, 64), {}, {1706, 1707});
  CHECK(sums.at[0].detail["admissible"] == true);
  CHECK(sums.at[1].detail["admissible"] == false);
  CHECK(sums.at[1].detail["lag"] == "1707");
  // one plane, theta = 1: 2 pi = 6.28, so seven tokens
  const auto free = ask("aliasing-free", angle("1"), {}, {7, 8});
  CHECK(free.at[0].value->lo == 7);
  CHECK(free.at[0].detail["free"] == true);
  CHECK(free.at[1].detail["free"] == false);
  // a sixth of a turn: lag 6 comes back
  CHECK(ask("aliasing-free", angle("pi/3"), {}, {2}).at[0].value->lo == 6);
  CHECK_FALSE(ask("aliasing-free", angle("0"), {}, {2}).at[0].value);
}

TEST_CASE("quantities: rounding errors of one pass") {
  // papers.md's table, base 5e5, 64 planes, fp32: 2.82e-4 within 4096
  const auto errors = ask("rounding-error", plain(500000, 64), {}, {1, 2, 4097});
  CHECK_FALSE(errors.at[0].value);
  CHECK(near(errors.at[2], "2.815229e-4", "1e-9"));
  CHECK(errors.at[2].detail["lag"] == "3875");
  const auto half = ask("rounding-error", angle("1"), {{"pipeline", "fp16-angles"}}, {100, 70000});
  CHECK(half.at[0].value);
  CHECK_FALSE(half.at[1].value);
  CHECK(half.at[1].detail["note"] == "not finite from lag 65520");
}

TEST_CASE("quantities: published bounds") {
  const Parameters retrieval{{"of", "retrieval"}};
  CHECK(near(ask("published-bound", angle("0.0027"), retrieval, {17}).at[0], "0.261193", "1e-6"));
  CHECK(near(ask("published-bound", angle("0.8"), {}, {9}).at[0], "0.24369", "1e-5"));
  // the corrected one is never exceeded, the published one is at n = 9
  const auto gap = ask("index-margin", angle("0.8"), {{"offset", "middle"}}, {9});
  const auto corrected = ask("published-bound", angle("0.8"), {{"form", "corrected"}}, {9});
  CHECK(gap.at[0].value->hi <= corrected.at[0].value->lo);
}

TEST_CASE("quantities: parameters have one text each") {
  const Kind& horizon = kind_of("index-horizon");
  CHECK(complete(horizon, {{"mass", "0.9"}}) == complete(horizon, {{"mass", "9/10"}}));
  CHECK(complete(horizon, {}).at("scale") == "20");
  CHECK_THROWS_AS(complete(horizon, {{"mass", "1"}}), Error);
  CHECK_THROWS_AS(complete(horizon, {{"scale", "0"}}), Error);
  CHECK_THROWS_AS(complete(horizon, {{"sclae", "2"}}), Error);
  CHECK_THROWS_AS(kind_of("index"), Error);
}
