#pragma once
/// \file
/// Random numbers as a function of where they stand: nothing is carried from one sample to the
/// next, so any sample can be made alone, in any order and on any machine.
///
///   Draws draws(seed, sample, stream);
///   draws.below(6) + 1;   // a die
///
/// The generator is Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as
/// 1, 2, 3", SC 2011); integers below a bound are drawn without bias (Lemire, "Fast random integer
/// generation in an interval", ACM TOMACS 29, 2019).

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace ropewalk::tasks {

/// The Philox4x32-10 function: a bijection of the counter for every key. Exact.
[[nodiscard]] constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                                            std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53U} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57U} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32U) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32U) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9U;
    key[1] += 0xBB67AE85U;
  }
  return counter;
}

/// The numbers of one sample and one purpose (`stream`), in order.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t sample, std::uint32_t stream)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)},
        counter_{0, stream, static_cast<std::uint32_t>(sample),
                 static_cast<std::uint32_t>(sample >> 32U)} {}

  /// Uniform on 0..2^32-1.
  std::uint32_t next() {
    if (used_ == block_.size()) {
      block_ = philox(counter_, key_);
      ++counter_[0];
      used_ = 0;
    }
    return block_[used_++];
  }

  /// Uniform on 0..n-1, n >= 1.
  std::int32_t below(std::int32_t n) {
    const auto bound = static_cast<std::uint32_t>(n);
    std::uint64_t product = std::uint64_t{next()} * bound;
    if (static_cast<std::uint32_t>(product) < bound) {
      const std::uint32_t biased = (0U - bound) % bound;
      while (static_cast<std::uint32_t>(product) < biased) product = std::uint64_t{next()} * bound;
    }
    return static_cast<std::int32_t>(product >> 32U);
  }

  /// Uniform on the multiples of 2^-53 in [0, 1).
  double unit() {
    const std::uint64_t high = next();
    return static_cast<double>(((high << 32U) | next()) >> 11U) * 0x1p-53;
  }

  /// Every order is equally likely (Fisher-Yates).
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i)
      std::swap(items[i - 1], items[static_cast<std::size_t>(below(static_cast<std::int32_t>(i)))]);
  }

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> block_{};
  std::size_t used_ = 4;
};

}  // namespace ropewalk::tasks
