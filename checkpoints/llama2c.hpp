#pragma once
/// \file
/// The header of a llama2.c file. The legacy layout has no magic number: its header is recognised
/// by the length of the file that it implies.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ropewalk::checkpoints {

/// "ak42" as a little-endian number.
inline constexpr std::string_view llama2c_magic = "24ka";

struct Llama2cHeader {
  int version = 0;  ///< 0: legacy
  std::int64_t dim = 0;
  std::int64_t hidden = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t vocabulary = 0;
  std::int64_t context = 0;
  bool shared_classifier = true;  ///< the embedding is the output matrix too
  std::int64_t group = 1;         ///< version 2: elements that share a scale

  /// Bytes of the whole file. Precondition: of a header with sizes.
  [[nodiscard]] std::uint64_t file_bytes() const;
};

/// The header, absent where the bytes cannot be one: a size that is not between 1 and 2^20, heads
/// that do not divide the width. A version that is not known comes back without sizes.
[[nodiscard]] std::optional<Llama2cHeader> llama2c_header(std::span<const std::byte> bytes);

}  // namespace ropewalk::checkpoints
