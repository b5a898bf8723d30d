#include "checkpoints/constructed.hpp"

#include <algorithm>
#include <array>

#include "theory/error.hpp"

namespace ropewalk::checkpoints {

using Json = nlohmann::json;

namespace {

constexpr std::array<std::pair<const char*, Rule>, 3> rules{
    {{"lag", Rule::lag}, {"token", Rule::token}, {"last", Rule::last}}};

[[noreturn]] void bad(const Checkpoint& checkpoint, const std::string& key,
                      const std::string& what) {
  throw Error(ErrorCode::bad_value, checkpoint.config_source + ": ropewalk" + key + " " + what);
}

class Entries {
 public:
  Entries(const Checkpoint& checkpoint, const Json& object)
      : checkpoint_(checkpoint), object_(object) {
    if (!object.is_object()) bad(checkpoint, "", "must be an object");
  }

  [[nodiscard]] std::string text(const char* key) const {
    const auto at = object_.find(key);
    if (at == object_.end()) fail(key, "is absent");
    if (!at->is_string()) fail(key, "must be a text");
    return *at;
  }
  [[nodiscard]] std::int64_t count(const char* key, bool may_be_0 = false) const {
    const std::string digits = text(key);
    constexpr std::size_t longest = 15;
    const bool whole = !digits.empty() && digits.size() <= longest &&
                       (digits.front() != '0' || (may_be_0 && digits == "0")) &&
                       std::all_of(digits.begin(), digits.end(),
                                   [](unsigned char c) { return c >= '0' && c <= '9'; });
    if (!whole) fail(key, "must be a whole number as a text");
    return std::stoll(digits);
  }
  [[nodiscard]] Rule rule() const {
    const std::string wanted = text("rule");
    for (const auto& [name, rule] : rules)
      if (wanted == name) return rule;
    fail("rule", "must be lag, token or last");
  }

 private:
  [[noreturn]] void fail(const char* key, const std::string& what) const {
    bad(checkpoint_, std::string(".") + key, what);
  }

  const Checkpoint& checkpoint_;
  const Json& object_;
};

}  // namespace

std::optional<Constructed> constructed(const Checkpoint& checkpoint) {
  if (!checkpoint.config.is_object()) return std::nullopt;
  const auto at = checkpoint.config.find("ropewalk");
  if (at == checkpoint.config.end()) return std::nullopt;
  const Entries entries(checkpoint, *at);
  return Constructed{
      entries.rule(),           entries.count("hops"),         entries.count("letters"),
      entries.count("numbers"), entries.count("length", true), entries.text("arithmetic")};
}

tasks::Options fitted(const Constructed& model, tasks::Options options) {
  const bool counts = options.kind == tasks::Kind::number || options.kind == tasks::Kind::index;
  if (counts != (model.rule == Rule::lag)) return options;  // another task: check_task says so
  const auto number = static_cast<std::int32_t>(std::min<std::int64_t>(model.numbers, 65'536));
  options.letters = static_cast<std::int32_t>(std::min<std::int64_t>(model.letters, 1 << 20));
  if (counts) {
    options.integers = number;
    options.window = std::max(options.window, number);
  } else {
    options.digits = number;
  }
  if (options.kind == tasks::Kind::number || options.kind == tasks::Kind::letter)
    options.hops_max = static_cast<int>(std::min<std::int64_t>(model.hops, 4));
  return options;
}

void check_task(const Checkpoint& checkpoint, const Constructed& model, const tasks::Task& task) {
  const tasks::Options& options = task.options();
  const std::string kind(tasks::name(options.kind));
  const bool counts = options.kind == tasks::Kind::number || options.kind == tasks::Kind::index;
  if (counts != (model.rule == Rule::lag))
    bad(checkpoint, ".rule",
        "is " + std::string(constructions::name(model.rule)) + ", which does not do the task " +
            kind);
  const std::int64_t numbers = counts ? options.integers : options.digits;
  if (model.numbers != numbers)
    bad(checkpoint, ".numbers",
        "is " + std::to_string(model.numbers) + ", and the task " + kind + " has " +
            std::to_string(numbers) + (counts ? " integers" : " digits"));
  // The letters come after the integers: there may be more of them than the task has.
  if (counts ? model.letters < options.letters : model.letters != options.letters)
    bad(checkpoint, ".letters",
        "is " + std::to_string(model.letters) + ", and the task " + kind + " has " +
            std::to_string(options.letters));
}

}  // namespace ropewalk::checkpoints
