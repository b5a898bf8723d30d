#include "tasks/score.hpp"

#include <nlohmann/json.hpp>

#include "tasks/write.hpp"
#include "tests/catch.hpp"
#include "theory/error.hpp"

using namespace ropewalk;
using namespace ropewalk::tasks;
using nlohmann::json;

TEST_CASE("Wilson intervals: values from elsewhere, and the ends") {
  // 81 of 263, the example of Newcombe (Statistics in Medicine 17, 1998), method 3; and his 15/148,
  // 0/20, 1/29.
  const auto near = [](std::int64_t right, std::int64_t n, double low, double high) {
    const Interval i = wilson(right, n);
    CAPTURE(right, n, i.low, i.high);
    CHECK(std::abs(i.low - low) < 6e-5);
    CHECK(std::abs(i.high - high) < 6e-5);
  };
  near(81, 263, 0.2553, 0.3662);
  near(15, 148, 0.0624, 0.1605);
  near(0, 20, 0.0000, 0.1611);
  near(1, 29, 0.0061, 0.1718);
  CHECK(wilson(0, 20).low == 0);
  CHECK(wilson(20, 20).high == 1);
  CHECK(wilson(0, 0).low == 0);
  CHECK(wilson(0, 0).high == 1);
  CHECK_THROWS_AS(wilson(2, 1), Error);
  CHECK_THROWS_AS(wilson(-1, 1), Error);
}

TEST_CASE("predictions are ids or texts, by length and hops") {
  Score score;
  for (const std::int64_t added : {0, 5}) {
    const Task task({.kind = Kind::letter, .added = added});
    for (std::int64_t k = 0; k < 80; ++k) {
      const Sample s = task.sample(k);
      json line = json::parse(json_line(task, k, s));
      if (k % 3 == 0) line["prediction"] = s.answer;
      if (k % 3 == 1) line["prediction"] = " " + task.token_text(s.answer) + "\n";
      if (k % 3 == 2) line["prediction"] = s.answer == 1 ? 2 : 1;
      add(score, line);
    }
  }
  REQUIRE(score.size() == 8);
  Tally all;
  for (const auto& [group, tally] : score) {
    CHECK(group.task == "letter");
    CHECK((group.length == 17 || group.length == 22));
    CHECK(tally.samples == 20);
    all += tally;
  }
  CHECK(all.samples == 160);
  CHECK(all.right == 108);
  CHECK(all.unanswered == 0);
  CHECK(all.accuracy() == Catch::Approx(0.675));
}

TEST_CASE("what is right, wrong, no answer and no prediction") {
  const Task task({.kind = Kind::number, .hops_max = 1});
  const Sample s = task.sample(0);
  const std::string text = task.token_text(s.answer);
  json line = json::parse(json_line(task, 0, s));
  const auto one = [&](const json& prediction) {
    Score score;
    add(score, line, prediction);
    return score.begin()->second;
  };
  CHECK(one(s.answer).right == 1);
  CHECK(one(text).right == 1);
  CHECK(one("\t" + text + "\r\n").right == 1);
  CHECK(one(s.answer + 1).right == 0);
  CHECK(one(text + ".").right == 0);
  CHECK(one(std::to_string(s.answer)).right == 0);
  CHECK(one("").unanswered == 1);
  CHECK(one(" \n").unanswered == 1);
  CHECK(one(nullptr).unanswered == 1);
  CHECK(one(nullptr).right == 0);
  CHECK(one(text).unanswered == 0);
  CHECK(one({{"prediction", text}}).right == 1);
  for (const json& bad : {json(1.5), json(true), json::array(), json::object()})
    CHECK_THROWS_WITH(one(bad), Catch::Matchers::ContainsSubstring("prediction"));

  Score score;
  CHECK_THROWS_WITH(add(score, line), Catch::Matchers::ContainsSubstring("'prediction'"));
  CHECK_THROWS_AS(add(score, json(5)), Error);
  for (const char* key : {"task", "length", "hops", "answer", "answer_text"}) {
    json without = line;
    without["prediction"] = 1;
    without[key] = nullptr;
    CHECK_THROWS_WITH(add(score, without), Catch::Matchers::ContainsSubstring(key));
    without.erase(key);
    CHECK_THROWS_WITH(add(score, without), Catch::Matchers::ContainsSubstring(key));
  }
  CHECK(score.empty());
}
