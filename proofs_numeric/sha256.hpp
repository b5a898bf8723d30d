#pragma once
/// \file
/// SHA-256 (FIPS 180-4), to name a text by its content.

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace ropewalk::proofs_numeric {

namespace sha256_detail {

using Block = std::array<std::uint32_t, 64>;

constexpr std::uint64_t power(std::uint64_t x, unsigned n) {
  std::uint64_t result = 1;
  while (n-- != 0) result *= x;
  return result;
}

/// The first 32 bits of the fractional part of prime^(1/n), found bit by bit: the largest f with
/// ((whole << 32) + f)^n <= prime << 32n. 128-bit arithmetic suffices for n = 2 and, cut, for n
/// = 3.
__extension__ using Wide = unsigned __int128;

constexpr std::uint32_t root_fraction(std::uint64_t prime, unsigned n) {
  std::uint64_t whole = 1;
  while (power(whole + 1, n) <= prime) ++whole;
  std::uint64_t root = whole << 32;
  for (int bit = 31; bit >= 0; --bit) {
    const std::uint64_t trial = root | (std::uint64_t{1} << bit);
    bool fits = false;
    if (n == 2) {
      fits = static_cast<Wide>(trial) * trial <= static_cast<Wide>(prime) << 64;
    } else {
      // trial < 2^35, so trial^2 < 2^70; compare trial^2 with (prime << 96) / trial by long
      // division.
      const Wide square = static_cast<Wide>(trial) * trial;
      const Wide high = (static_cast<Wide>(prime) << 64) / trial;
      const Wide rest = (static_cast<Wide>(prime) << 64) % trial;
      const Wide quotient = (high << 32) + ((rest << 32) / trial);
      fits = square <= quotient;
    }
    if (fits) root = trial;
  }
  return static_cast<std::uint32_t>(root);
}

constexpr std::array<std::uint64_t, 64> primes() {
  std::array<std::uint64_t, 64> result{};
  std::size_t count = 0;
  for (std::uint64_t n = 2; count < result.size(); ++n) {
    bool prime = true;
    for (std::uint64_t d = 2; d * d <= n; ++d) prime = prime && n % d != 0;
    if (prime) result[count++] = n;
  }
  return result;
}

constexpr Block round_constants() {
  Block result{};
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = root_fraction(primes()[i], 3);
  return result;
}

constexpr std::array<std::uint32_t, 8> initial_state() {
  std::array<std::uint32_t, 8> result{};
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = root_fraction(primes()[i], 2);
  return result;
}

inline void absorb(std::array<std::uint32_t, 8>& state, const unsigned char* bytes) {
  static const Block k = round_constants();
  Block w{};
  for (std::size_t i = 0; i < 16; ++i)
    for (std::size_t j = 0; j < 4; ++j) w[i] = w[i] << 8 | bytes[4 * i + j];
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + k[i] + w[i];
    const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::array<std::uint32_t, 8> step = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state[i] += step[i];
}

}  // namespace sha256_detail

/// 64 lower-case hexadecimal digits, as sha256sum prints them. Exact. Cost: one pass.
[[nodiscard]] inline std::string sha256(std::string_view bytes) {
  using sha256_detail::absorb;
  std::array<std::uint32_t, 8> state = sha256_detail::initial_state();
  std::string padded(bytes.substr(bytes.size() / 64 * 64));
  for (std::size_t at = 0; at + 64 <= bytes.size(); at += 64)
    absorb(state, reinterpret_cast<const unsigned char*>(bytes.data()) + at);
  padded += '\x80';
  while (padded.size() % 64 != 56) padded += '\0';
  const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) padded += static_cast<char>(bits >> shift);
  for (std::size_t at = 0; at < padded.size(); at += 64)
    absorb(state, reinterpret_cast<const unsigned char*>(padded.data()) + at);
  std::string result;
  for (const std::uint32_t word : state)
    for (int shift = 28; shift >= 0; shift -= 4) result += "0123456789abcdef"[word >> shift & 15];
  return result;
}

}  // namespace ropewalk::proofs_numeric
