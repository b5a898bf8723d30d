#include "checkpoints/json_text.hpp"

#include <set>
#include <vector>

#include "checkpoints/bytes.hpp"

namespace ropewalk::checkpoints {

namespace {

constexpr int max_depth = 64;
constexpr std::size_t max_token = std::size_t{1} << 20;

/// A parser copies each token before anybody sees it: none may be long.
void check_tokens(std::string_view text, const std::string& name) {
  bool in_string = false;
  bool escaped = false;
  std::size_t run = 0;
  for (const char c : text) {
    bool boundary = false;
    if (in_string) {
      boundary = c == '"' && !escaped;
      escaped = c == '\\' && !escaped;
      if (boundary) in_string = false;
    } else {
      boundary = std::string_view("\"{}[],:").find(c) != std::string_view::npos;
      in_string = c == '"';
    }
    run = boundary ? 0 : run + 1;
    if (run > max_token)
      throw Error(ErrorCode::too_large, name + ": a string, number or blank longer than 1 MiB");
  }
}

}  // namespace

nlohmann::json parse_json(std::span<const std::byte> bytes, const std::string& name,
                          std::size_t max_values, const JsonMember& member) {
  using Json = nlohmann::json;
  using Event = Json::parse_event_t;
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  check_tokens(text, name);

  std::size_t values = 0;
  std::vector<std::set<std::string>> keys;
  std::string outermost;
  const Json::parser_callback_t watch = [&](int depth, Event event, Json& value) {
    if (event == Event::key) {
      const auto& key = value.get_ref<const std::string&>();
      if (depth == 1) outermost = key;
      if (member && depth == 1) return true;
      if (!keys.back().insert(key).second)
        throw Error(ErrorCode::parse,
                    name + ": the key " + in_quotes(key) + " stands twice in one object");
      return true;
    }
    const bool starts = event == Event::object_start || event == Event::array_start;
    if (starts && depth >= max_depth)
      throw Error(ErrorCode::parse,
                  name + ": nested beyond " + std::to_string(max_depth) + " levels");
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if ((starts || event == Event::value) && ++values > max_values)
      throw Error(ErrorCode::too_large,
                  name + ": more than " + std::to_string(max_values) + " values");
    if (member && !starts && depth == 1 && keys.size() == 1) {
      member(outermost, value);
      values = 0;
      return false;
    }
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), watch);
  } catch (const Json::parse_error& error) {
    throw Error(ErrorCode::parse, name + ": not JSON at byte " + std::to_string(error.byte));
  } catch (const Json::exception&) {
    throw Error(ErrorCode::parse, name + ": not JSON: a number beyond double");
  }
}

}  // namespace ropewalk::checkpoints
