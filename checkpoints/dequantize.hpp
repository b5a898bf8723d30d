#pragma once
/// \file
/// What the bits of an element mean: the short floating-point types, and the blocks of ggml, in
/// which 32 or 256 small integers share a scale d and, in some, an offset m.
///
///   Q4_0   d (q - 8)          Q4_1   d q + m          q of 4 bits, 32 to a block
///   Q5_0   d (q - 16)         Q5_1   d q + m          q of 5 bits
///   Q8_0   d q                                        q of 8 bits, signed
///   Q4_K   d s q - m t        256 to a block, (s, t) of 6 bits for each 32
///   Q6_K   d s (q - 32)       256 to a block, s of 8 bits, signed, for each 16

#include <bit>
#include <cstddef>
#include <cstdint>

#include "checkpoints/tensor.hpp"

namespace ropewalk::checkpoints {

/// IEEE binary16. Exact.
[[nodiscard]] constexpr float from_f16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  const std::uint32_t exponent = (bits >> 10U) & 0x1FU;
  const std::uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | (wide << 23U) | (fraction << 13U));
}

/// The upper half of a float32. Exact.
[[nodiscard]] constexpr float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16U);
}

/// Four bits of exponent, three of fraction, no infinities (OCP "E4M3", PyTorch float8_e4m3fn).
/// Exact.
[[nodiscard]] constexpr float from_f8_e4m3(std::uint8_t bits) {
  const std::uint32_t sign = (bits & 0x80U) << 24U;
  const std::uint32_t exponent = (bits >> 3U) & 0xFU;
  const std::uint32_t fraction = bits & 7U;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-9F;
    return sign != 0 ? -magnitude : magnitude;
  }
  if (exponent == 15 && fraction == 7) return std::bit_cast<float>(sign | 0x7FC00000U);
  return std::bit_cast<float>(sign | ((exponent + 120) << 23U) | (fraction << 20U));
}

/// The upper half of a float16 (OCP "E5M2"). Exact.
[[nodiscard]] constexpr float from_f8_e5m2(std::uint8_t bits) {
  return from_f16(static_cast<std::uint16_t>(bits << 8U));
}

/// One block of a block type into block_elements(dtype) values, float32 arithmetic in ggml's order.
/// Precondition: block_bytes(dtype) bytes there, and not a plain type.
void dequantize(DType dtype, const std::byte* bytes, float* out);

}  // namespace ropewalk::checkpoints
