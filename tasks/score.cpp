#include "tasks/score.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "theory/error.hpp"

namespace ropewalk::tasks {

using nlohmann::json;

namespace {

const json& value(const json& line, const char* key) {
  if (!line.is_object()) throw Error(ErrorCode::parse, "not a JSON object");
  const auto at = line.find(key);
  if (at == line.end())
    throw Error(ErrorCode::parse, "the key '" + std::string(key) + "' is missing");
  return *at;
}

std::int64_t whole(const json& line, const char* key) {
  const json& number = value(line, key);
  if (!number.is_number_integer())
    throw Error(ErrorCode::parse, "'" + std::string(key) + "' is not a whole number");
  return number.get<std::int64_t>();
}

std::string text(const json& line, const char* key) {
  const json& string = value(line, key);
  if (!string.is_string())
    throw Error(ErrorCode::parse, "'" + std::string(key) + "' is not a text");
  return string.get<std::string>();
}

std::string trimmed(const std::string& text) {
  const char* const blanks = " \t\r\n";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace

Interval wilson(std::int64_t right, std::int64_t samples) {
  if (right < 0 || right > samples)
    throw Error(ErrorCode::bad_value,
                std::to_string(right) + " of " + std::to_string(samples) + " is no share");
  if (samples == 0) return {0, 1};
  constexpr double z = 1.959963984540054;  // the normal distribution's 97.5 % quantile
  const auto n = static_cast<double>(samples);
  const double p = static_cast<double>(right) / n;
  const double middle = (p + z * z / (2 * n)) / (1 + z * z / n);
  const double half = z / (1 + z * z / n) * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  // The ends 0 and 1 are exact.
  return {right == 0 ? 0 : middle - half, right == samples ? 1 : middle + half};
}

double Tally::accuracy() const {
  return samples == 0 ? 0 : static_cast<double>(right) / static_cast<double>(samples);
}

Tally& Tally::operator+=(const Tally& other) {
  samples += other.samples;
  right += other.right;
  unanswered += other.unanswered;
  return *this;
}

void add(Score& score, const json& line) { add(score, line, value(line, "prediction")); }

void add(Score& score, const json& line, const json& prediction) {
  const Group group{text(line, "task"), whole(line, "length"), whole(line, "hops")};
  const std::int64_t answer = whole(line, "answer");
  const std::string answer_text = text(line, "answer_text");
  if (prediction.is_object()) return add(score, line, value(prediction, "prediction"));
  bool right = false;
  bool answered = true;
  if (prediction.is_number_integer()) {
    right = prediction == answer;
  } else if (prediction.is_string()) {
    const std::string said = trimmed(prediction.get<std::string>());
    answered = !said.empty();
    right = answered && said == answer_text;
  } else if (prediction.is_null()) {
    answered = false;
  } else {
    throw Error(ErrorCode::parse, "'prediction' is neither a token id nor a text");
  }
  score[group] += {1, right ? 1 : 0, answered ? 0 : 1};
}

}  // namespace ropewalk::tasks
