#include "checkpoints/dequantize.hpp"

#include <cstring>

namespace ropewalk::checkpoints {

namespace {

using Byte = std::uint8_t;

/// A block as numbers: bytes, and float16 at any place.
struct Block {
  const std::byte* bytes;

  [[nodiscard]] unsigned operator[](int i) const { return std::to_integer<unsigned>(bytes[i]); }
  [[nodiscard]] float half(int i) const {
    return from_f16(static_cast<std::uint16_t>((*this)[i] | ((*this)[i + 1] << 8U)));
  }
  [[nodiscard]] int signed_byte(int i) const {
    return static_cast<std::int8_t>(static_cast<Byte>((*this)[i]));
  }
};

/// Q4_0, Q4_1, Q5_0, Q5_1: byte j of `nibbles` holds elements j (low) and j + 16 (high); bit i of
/// the word at `fifth` is the fifth bit of element i, where there is one.
template <class Value>
void small_block(Block block, int nibbles, int fifth, Value value, float* out) {
  unsigned high = 0;
  for (int i = 0; fifth >= 0 && i < 4; ++i) high |= block[fifth + i] << (8U * unsigned(i));
  for (int i = 0; i < 32; ++i) {
    const unsigned nibble = i < 16 ? block[nibbles + i] & 15U : block[nibbles + i - 16] >> 4U;
    out[i] = value(static_cast<int>(nibble | ((high >> unsigned(i)) & 1U) << 4U));
  }
}

/// The 6-bit scale and offset of sub-block j of 8: four of each in the low bits of bytes 0..7, the
/// rest split between the nibbles of bytes 8..11 and the high bits of bytes 0..7.
void scale_and_offset(Block packed, int j, int& scale, int& offset) {
  if (j < 4) {
    scale = static_cast<int>(packed[j] & 63U);
    offset = static_cast<int>(packed[j + 4] & 63U);
  } else {
    scale = static_cast<int>((packed[j + 4] & 15U) | ((packed[j - 4] >> 6U) << 4U));
    offset = static_cast<int>((packed[j + 4] >> 4U) | ((packed[j] >> 6U) << 4U));
  }
}

/// d, dmin, 12 bytes of scales, 128 of nibbles: of each 32 bytes the low ones, then the high ones.
void q4_k(Block block, float* out) {
  const float d = block.half(0);
  const float dmin = block.half(2);
  for (int j = 0; j < 8; ++j) {
    int scale = 0;
    int offset = 0;
    scale_and_offset({block.bytes + 4}, j, scale, offset);
    const float ds = d * static_cast<float>(scale);
    const float m = dmin * static_cast<float>(offset);
    for (int i = 0; i < 32; ++i) {
      const unsigned pair = block[16 + 32 * (j / 2) + i];
      out[32 * j + i] = ds * static_cast<float>(j % 2 == 0 ? pair & 15U : pair >> 4U) - m;
    }
  }
}

/// 128 bytes of low nibbles, 64 of high pairs, 16 signed scales, d. Each half of 128 elements is
/// four runs of 32: low and high nibbles of 64 bytes, and the four pairs of bits of 32 bytes.
void q6_k(Block block, float* out) {
  const float d = block.half(208);
  for (int i = 0; i < 256; ++i) {
    const int side = i / 128;
    const int run = i % 128 / 32;
    const int l = i % 32;
    const unsigned low = block[64 * side + 32 * (run % 2) + l];
    const unsigned nibble = run < 2 ? low & 15U : low >> 4U;
    const unsigned top = (block[128 + 32 * side + l] >> (2U * unsigned(run))) & 3U;
    const int q = static_cast<int>(nibble | (top << 4U)) - 32;
    out[i] = d * static_cast<float>(block.signed_byte(192 + i / 16)) * static_cast<float>(q);
  }
}

}  // namespace

void dequantize(DType dtype, const std::byte* bytes, float* out) {
  const Block block{bytes};
  const float d = block.half(0);
  const float m = block.half(2);
  const auto times_d = [d](int zero) {
    return [d, zero](int q) { return d * static_cast<float>(q - zero); };
  };
  const auto plus_m = [d, m](int q) { return d * static_cast<float>(q) + m; };
  switch (dtype) {
    case DType::q4_0: return small_block(block, 2, -1, times_d(8), out);
    case DType::q4_1: return small_block(block, 4, -1, plus_m, out);
    case DType::q5_0: return small_block(block, 6, 2, times_d(16), out);
    case DType::q5_1: return small_block(block, 8, 4, plus_m, out);
    case DType::q8_0:
      for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(block.signed_byte(2 + i));
      return;
    case DType::q4_k: return q4_k(block, out);
    case DType::q6_k: return q6_k(block, out);
    default: return;
  }
}

}  // namespace ropewalk::checkpoints
