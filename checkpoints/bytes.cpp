#include "checkpoints/bytes.hpp"

namespace ropewalk::checkpoints {

namespace {

/// Bytes of the UTF-8 character that begins at `at`; 0 where none does.
std::size_t character(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned first = byte(at);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(at + i) & 0xC0U) != 0x80) return 0;
  const unsigned second = byte(at + 1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second > 0x9F;
  const bool beyond = first == 0xF4 && second > 0x8F;
  return overlong || surrogate || beyond ? 0 : length;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

}  // namespace

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string as_utf8(std::string_view text) {
  std::string out(text);
  for (std::size_t at = 0; at < out.size();) {
    const std::size_t length = character(out, at);
    if (length == 0) out[at] = '?';
    at += length == 0 ? 1 : length;
  }
  return out;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t shown = 80;
  std::string out = "'";
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = character(text, at);
    if (out.size() + length > shown) break;
    if (length == 0 || is_control(text[at])) {
      out += '?';
    } else {
      out += text.substr(at, length);
    }
    at += length == 0 ? 1 : length;
  }
  return out + (at < text.size() ? "...'" : "'");
}

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > max_name_bytes || !is_utf8(text)) return false;
  for (const char c : text)
    if (is_control(c)) return false;
  return true;
}

}  // namespace ropewalk::checkpoints
