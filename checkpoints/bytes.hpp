#pragma once
/// \file
/// Nothing of a file is used before it is known to be there: one cursor over bytes that checks, and
/// arithmetic on sizes that says when it does not fit.
///
///   Reader reader(file->bytes(), file->path());
///   const auto count = reader.number<std::uint64_t>("the number of tensors");
///   const auto data = reader.take(count, "the data");    // or one line: PATH: offset 8: ...

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "theory/error.hpp"

namespace ropewalk::checkpoints {

static_assert(std::endian::native == std::endian::little,
              "every format read here is little-endian");

/// The largest sizes that are believed of a file. Real models stay far below; a file that claims
/// more is refused before anything is allocated for it.
inline constexpr std::uint64_t max_header_bytes = 100'000'000;  ///< JSON header or index
inline constexpr std::uint64_t max_name_bytes = 256;            ///< name of a tensor
inline constexpr std::uint64_t max_tensors = 1 << 16;           ///< tensors of one file
inline constexpr std::uint64_t max_dimensions = 8;

/// a * b, absent where it does not fit.
[[nodiscard]] constexpr std::optional<std::uint64_t> times(std::uint64_t a, std::uint64_t b) {
  if (a != 0 && b > std::numeric_limits<std::uint64_t>::max() / a) return {};
  return a * b;
}
/// a + b, absent where it does not fit.
[[nodiscard]] constexpr std::optional<std::uint64_t> plus(std::uint64_t a, std::uint64_t b) {
  if (b > std::numeric_limits<std::uint64_t>::max() - a) return {};
  return a + b;
}

/// Product of a shape; absent where a dimension is negative or the product exceeds an int64.
[[nodiscard]] inline std::optional<std::uint64_t> element_count(
    std::span<const std::int64_t> shape) {
  std::optional<std::uint64_t> count = 1;
  bool empty = false;
  for (const std::int64_t size : shape) {
    if (size < 0) return {};
    // A later zero does not excuse dimensions whose product cannot be counted.
    if (size == 0) {
      empty = true;
    } else if (!(count = times(*count, static_cast<std::uint64_t>(size)))) {
      return {};
    }
  }
  if (*count > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return {};
  return empty ? 0 : count;
}

/// Well-formed UTF-8 (RFC 3629).
[[nodiscard]] bool is_utf8(std::string_view text);

/// The text with '?' for each byte that belongs to no character, so that JSON can hold it.
[[nodiscard]] std::string as_utf8(std::string_view text);

/// Text of a file for a message: in quotes, control characters and broken UTF-8 as '?', at most 80
/// bytes of it.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// Whether a tensor or a key may have this name: 1 to 256 bytes of UTF-8 without control
/// characters, so that it prints on one line.
[[nodiscard]] bool is_name(std::string_view text);

/// A cursor over the bytes of a file.
class Reader {
 public:
  /// `name` begins every message; `base` is where the bytes begin in the file, so that offsets in
  /// messages are the file's.
  Reader(std::span<const std::byte> bytes, std::string name, std::uint64_t base = 0)
      : bytes_(bytes), name_(std::move(name)), base_(base) {}

  [[nodiscard]] std::uint64_t offset() const { return at_; }
  [[nodiscard]] std::uint64_t left() const { return bytes_.size() - at_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  /// Throws Error(code) "NAME: offset N: what".
  [[noreturn]] void fail(ErrorCode code, const std::string& what) const {
    throw Error(code, name_ + ": offset " + std::to_string(base_ + at_) + ": " + what);
  }
  [[noreturn]] void fail(const std::string& what) const { fail(ErrorCode::parse, what); }

  /// The next `count` bytes. Throws Error(parse) where the file ends before, naming `what`.
  std::span<const std::byte> take(std::uint64_t count, const char* what) {
    if (count > left())
      fail(std::string("the file ends within ") + what + ": " + std::to_string(count) +
           " bytes wanted, " + std::to_string(left()) + " left");
    const auto taken = bytes_.subspan(at_, count);
    at_ += count;
    return taken;
  }
  /// The next `count` bytes as text.
  std::string_view text(std::uint64_t count, const char* what) {
    const auto taken = take(count, what);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  /// The text up to a line feed, which is left behind. Throws Error(parse) where none comes within
  /// `most` bytes.
  std::string_view line(std::uint64_t most, const char* what) {
    const auto ahead = bytes_.subspan(at_, std::min(most + 1, left()));
    for (std::size_t i = 0; i < ahead.size(); ++i)
      if (ahead[i] == std::byte{'\n'}) {
        const auto found = text(i, what);
        ++at_;
        return found;
      }
    fail(std::string(what) + " does not end");
  }
  /// The next number, little-endian, however it lies.
  template <class T>
  T number(const char* what) {
    static_assert(std::is_arithmetic_v<T>);
    T value;
    std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
    return value;
  }
  /// Continues at an offset. Throws Error(parse) beyond the end.
  void seek(std::uint64_t offset, const char* what) {
    if (offset > bytes_.size())
      fail(std::string(what) + " would lie at offset " + std::to_string(base_ + offset) +
           ", beyond the end of the file");
    at_ = offset;
  }

 private:
  std::span<const std::byte> bytes_;
  std::string name_;
  std::uint64_t base_;
  std::uint64_t at_ = 0;
};

}  // namespace ropewalk::checkpoints
