// Angles as 64- and 128-bit fixed-point turns that wrap by themselves, and a table that bounds 1 -
// cos from both sides in integers.
//
// A quarter turn is 2^62 of 2^64. Multiplying a 128-bit frequency by a lag wraps modulo whole turns
// without any rounding; all that is lost is the error of the frequency itself, times the lag.
#pragma once

#include <cstdint>
#include <vector>

#include "number.hpp"

namespace checker {

using Wide = unsigned __int128;

inline constexpr std::uint64_t half_turn = std::uint64_t{1} << 63;

/// x modulo 1 in units of 2^-128. Error below 2 units; Open if the ball of x is wider than a unit.
Wide wrap_turns(const Ball& x);

/// |x mod 1| to the nearest whole turn, in units of 2^-64, from the upper half of a wrapped angle.
inline std::uint64_t from_whole_turn(Wide x) {
  const auto top = static_cast<std::uint64_t>(x >> 64);
  return top > half_turn ? 0 - top : top;
}

/// Bounds of 2^30 (1 - cos(2 pi d / 2^64)), d in 0..2^63. Lower: at most the true value and at
/// least it less 2^30 * 2e-8 + 2; upper: mirrored.
class Versine {
 public:
  Versine();
  std::uint64_t lower(std::uint64_t d) const {
    const Cell& c = low_[d >> cell_bits];
    return c.value + ((c.slope * fraction(d)) >> fraction_bits);
  }
  std::uint64_t upper(std::uint64_t d) const {
    const Cell& c = high_[d >> cell_bits];
    return c.value + ((c.slope * (fraction(d) + 1)) >> fraction_bits) + 1;
  }
  static constexpr int scale_bits = 30;

 private:
  struct Cell {
    std::uint32_t value, slope;
  };
  static constexpr int cell_bits = 49, fraction_bits = 20;
  static std::uint64_t fraction(std::uint64_t d) {
    return (d >> (cell_bits - fraction_bits)) & ((std::uint64_t{1} << fraction_bits) - 1);
  }
  std::vector<Cell> low_, high_;
};

/// The one table, built at first use.
const Versine& versine();

}  // namespace checker
