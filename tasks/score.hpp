#pragma once
/// \file
/// How many predictions are right, by hops and by length, with what chance allows.
///
/// A prediction is a line of json_line or prompt_line with one more key, "prediction": a token id
/// or its text. Only "task", "hops", "length", "answer" and "answer_text" are looked at besides.

#include <compare>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ropewalk::tasks {

struct Interval {
  double low;
  double high;
};

/// Wilson's score interval at 95 % for `right` successes among `samples` independent trials; [0, 1]
/// for none. Heuristic: it covers the true rate in about 95 % of cases, also for rates near 0
/// and 1. Throws Error(bad_value) unless 0 <= right <= samples. Source: Wilson, J. Am. Stat. Assoc.
/// 22 (1927).
[[nodiscard]] Interval wilson(std::int64_t right, std::int64_t samples);

struct Tally {
  std::int64_t samples = 0;
  std::int64_t right = 0;
  std::int64_t unanswered = 0;  ///< no prediction: null or blanks; not right

  [[nodiscard]] double accuracy() const;  ///< 0 for no samples
  [[nodiscard]] Interval interval() const { return wilson(right, samples); }
  Tally& operator+=(const Tally& other);
};

struct Group {
  std::string task;
  std::int64_t length = 0;
  std::int64_t hops = 0;
  auto operator<=>(const Group&) const = default;
};

/// The groups that occur, in order. Sums over hops, lengths and tasks are sums of these.
using Score = std::map<Group, Tally>;

/// Adds one line. A number is right if it equals "answer", a text if, without blanks at its ends,
/// it equals "answer_text"; upper case is another text. Throws Error(parse) naming the key that is
/// absent or not what it should be.
void add(Score& score, const nlohmann::json& line);
/// The same with a prediction from elsewhere: the value, or an object with the key "prediction".
void add(Score& score, const nlohmann::json& line, const nlohmann::json& prediction);

}  // namespace ropewalk::tasks
