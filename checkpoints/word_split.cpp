#include "checkpoints/word_split.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <nlohmann/json.hpp>

#include "checkpoints/bytes.hpp"
#include "theory/error.hpp"

namespace ropewalk::checkpoints {

using Json = nlohmann::json;

namespace {

// GPT-2's: endings of English words, letters, digits and the rest, each with the space before it.
constexpr const char* gpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
// Steps that a text may take: a word takes some per character.
constexpr std::int64_t steps_at_least = 10'000'000;
constexpr std::int64_t steps_per_byte = 200;
constexpr std::uint32_t most_heap = 16 * 1024;  // KiB

// Called at every item of an expression that is tried.
int count_step(pcre2_callout_block* /*block*/, void* left) {
  return --*static_cast<std::int64_t*>(left) < 0 ? PCRE2_ERROR_CALLOUT : 0;
}

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

}  // namespace

WordSplit::WordSplit(const Json& pre_tokenizer, const std::string& name) {
  try {
    if (pre_tokenizer.value("type", std::string()) == "Sequence")
      for (const Json& step : pre_tokenizer.at("pretokenizers")) add(step, name);
    else
      add(pre_tokenizer, name);
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::parse, name + ": pre_tokenizer: " + error.what());
  }
  if (!bytes_)
    throw Error(ErrorCode::unsupported, name + ": a pre_tokenizer without ByteLevel is not read");
}

void WordSplit::add(const Json& step, const std::string& name) {
  const std::string type = step.value("type", std::string());
  if (bytes_)
    throw Error(ErrorCode::unsupported, name + ": a pre_tokenizer after ByteLevel is not read");
  if (type == "ByteLevel") {
    bytes_ = true;
    prefix_space_ = step.value("add_prefix_space", true);
    if (prefix_space_ && !expressions_.empty())  // each part would get one
      throw Error(ErrorCode::unsupported,
                  name + ": a space before every part of a split text is not read");
    if (step.value("use_regex", true)) expression(gpt2, name);
  } else if (type == "Digits") {
    expression(step.value("individual_digits", false) ? R"(\p{N})" : R"(\p{N}+)", name);
  } else if (type == "Split" && step.value("behavior", std::string()) == "Isolated" &&
             !step.value("invert", false) && step.at("pattern").contains("Regex")) {
    expression(step["pattern"]["Regex"].get<std::string>(), name);
  } else {
    throw Error(ErrorCode::unsupported,
                name + ": a pre_tokenizer of type '" + type.substr(0, 40) +
                    "' as it is here is not read; give token ids with --tokens");
  }
}

void WordSplit::expression(const std::string& pattern, const std::string& name) {
  int code = 0;
  PCRE2_SIZE at = 0;
  pcre2_code* const compiled =
      pcre2_compile(units(pattern), pattern.size(), PCRE2_UTF | PCRE2_UCP | PCRE2_AUTO_CALLOUT,
                    &code, &at, nullptr);
  if (compiled == nullptr)
    throw Error(ErrorCode::parse, name +
                                      ": the regular expression of the pre_tokenizer is not "
                                      "one at character " +
                                      std::to_string(at));
  expressions_.emplace_back(std::shared_ptr<pcre2_code>(compiled, pcre2_code_free));
}

std::vector<std::string_view> WordSplit::parts(std::string_view text) const {
  if (!is_utf8(text)) throw Error(ErrorCode::bad_value, "the text is not UTF-8");
  std::vector<std::string_view> result;
  if (!text.empty()) result.push_back(text);
  const std::shared_ptr<pcre2_match_context> limits(pcre2_match_context_create(nullptr),
                                                    pcre2_match_context_free);
  std::int64_t left = steps_at_least + steps_per_byte * static_cast<std::int64_t>(text.size());
  pcre2_set_callout(limits.get(), count_step, &left);
  pcre2_set_heap_limit(limits.get(), most_heap);
  for (const auto& one : expressions_) {
    const auto* const code = static_cast<const pcre2_code*>(one.get());
    const std::shared_ptr<pcre2_match_data> match(
        pcre2_match_data_create_from_pattern(code, nullptr), pcre2_match_data_free);
    std::vector<std::string_view> finer;
    const auto keep = [&](std::string_view part) {
      if (!part.empty()) finer.push_back(part);
    };
    for (const std::string_view part : result) {
      std::size_t from = 0;  // of what is not in a part yet
      for (std::size_t look = 0; look < part.size();) {
        const int found = pcre2_match(code, units(part), part.size(), look, PCRE2_NO_UTF_CHECK,
                                      match.get(), limits.get());
        if (found == PCRE2_ERROR_NOMATCH) break;
        if (found < 0)
          throw Error(ErrorCode::bad_value,
                      "the text takes the tokenizer's regular expression too many steps");
        const PCRE2_SIZE* const ends = pcre2_get_ovector_pointer(match.get());
        const std::size_t begin = ends[0];
        const std::size_t end = ends[1];
        if (end <= begin) {  // nothing, which is no part: on to the next character
          look = begin + 1;
          while (look < part.size() && (static_cast<unsigned char>(part[look]) & 0xC0U) == 0x80U)
            ++look;
          continue;
        }
        keep(part.substr(from, begin - from));
        keep(part.substr(begin, end - begin));
        from = look = end;
      }
      keep(part.substr(from));
    }
    result = std::move(finer);
  }
  return result;
}

}  // namespace ropewalk::checkpoints
