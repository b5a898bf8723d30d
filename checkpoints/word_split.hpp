#pragma once
/// \file
/// How a byte-level tokenizer cuts a text into words before it looks for pieces: one regular
/// expression after another, each over the parts that the one before left. What an expression
/// matches is a part, and so is what stands between two matches.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ropewalk::checkpoints {

class WordSplit {
 public:
  /// The pre_tokenizer of a tokenizer.json that ends in ByteLevel: ByteLevel alone (GPT-2's
  /// expression), or a sequence of Split by Regex with behaviour Isolated, Digits and ByteLevel.
  /// Throws Error(unsupported), beginning with `name`, for another, and Error(parse) for an
  /// expression that is none.
  WordSplit(const nlohmann::json& pre_tokenizer, const std::string& name);

  /// The parts, in order: together they are the text. Throws Error(bad_value) for a text that is
  /// not UTF-8 or that an expression takes too many steps for. Cost: that of the expressions.
  [[nodiscard]] std::vector<std::string_view> parts(std::string_view text) const;

  /// The text begins with a space of its own.
  [[nodiscard]] bool prefixes_space() const { return prefix_space_; }

 private:
  void add(const nlohmann::json& step, const std::string& name);
  void expression(const std::string& pattern, const std::string& name);

  std::vector<std::shared_ptr<const void>> expressions_;  // compiled; shared by copies
  bool prefix_space_ = false;
  bool bytes_ = false;
};

}  // namespace ropewalk::checkpoints
