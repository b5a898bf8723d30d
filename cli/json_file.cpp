#include "cli/json_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <vector>

#include "theory/error.hpp"

namespace ropewalk::cli {

namespace {

/// One printable line of a parser's message.
std::string tidy(std::string text) {
  if (const auto cut = text.find("; expected"); cut != std::string::npos) text.resize(cut);
  if (const auto cut = text.find("; last read"); cut != std::string::npos) text.resize(cut);
  if (const auto start = text.rfind("] "); start != std::string::npos) text.erase(0, start + 2);
  if (const auto start = text.find("column "); start != std::string::npos)
    if (const auto colon = text.find(": ", start); colon != std::string::npos)
      text.erase(0, colon + 2);
  if (text.size() > 160) text = text.substr(0, 157) + "...";
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  return text;
}

std::string quoted(const std::string& key) {
  return tidy("'" + (key.size() > 60 ? key.substr(0, 57) + "..." : key) + "'");
}

}  // namespace

std::string read_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw Error(ErrorCode::file, path + ": is a folder, not a file");
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(ErrorCode::file, path + ": cannot be read: " + std::strerror(errno));
  std::string text;
  std::vector<char> block(std::size_t{1} << 16);
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())), in.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > largest_file)
      throw Error(ErrorCode::too_large, path + ": larger than 64 MiB");
  }
  if (in.bad()) throw Error(ErrorCode::file, path + ": cannot be read to its end");
  return text;
}

nlohmann::json parse_json(const std::string& text, const std::string& name) {
  using Json = nlohmann::json;
  if (text.find_first_not_of(" \t\r\n") == std::string::npos)
    throw Error(ErrorCode::parse, name + ": empty, not JSON");
  // The parser takes it for the end.
  if (const auto zero = text.find('\0'); zero != std::string::npos)
    throw Error(ErrorCode::parse,
                name + ": not JSON at byte " + std::to_string(zero + 1) + ": a zero byte");
  std::vector<std::set<std::string>> keys;
  const Json::parser_callback_t watch = [&](int depth, Json::parse_event_t event, Json& value) {
    switch (event) {
      case Json::parse_event_t::object_start: keys.emplace_back(); [[fallthrough]];
      case Json::parse_event_t::array_start:
        if (depth >= deepest_json)
          throw Error(ErrorCode::parse,
                      name + ": nested beyond " + std::to_string(deepest_json) + " levels");
        break;
      case Json::parse_event_t::object_end: keys.pop_back(); break;
      case Json::parse_event_t::key:
        if (!keys.back().insert(value.get<std::string>()).second)
          throw Error(ErrorCode::parse, name + ": the key " + quoted(value.get<std::string>()) +
                                            " stands twice in one object");
        break;
      case Json::parse_event_t::array_end:
      case Json::parse_event_t::value: break;
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::parse_error& error) {
    throw Error(ErrorCode::parse, name + ": not JSON at byte " + std::to_string(error.byte) + ": " +
                                      tidy(error.what()));
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::parse, name + ": " + tidy(error.what()));
  }
}

nlohmann::json read_json(const std::string& path) { return parse_json(read_file(path), path); }

}  // namespace ropewalk::cli
