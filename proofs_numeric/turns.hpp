#pragma once
/// \file
/// Phases in fixed-point turns, and a sine with a proven error.
///
/// An angle modulo a turn is a 128-bit fraction of a turn; multiplying it by a lag wraps by itself,
/// so the reduction of t * theta modulo 2 pi is exact however large t is. What is left is the
/// rounding of theta itself, at most 2^-127 turns per token. Results depend on no rounding mode
/// beyond |rounding| <= 2u per operation, u = 2^-53.

#include <cmath>
#include <cstdint>

#include "theory/formula.hpp"

namespace ropewalk::proofs_numeric {

/// A fraction of a turn times 2^128; sums and products with integers wrap modulo one turn.
__extension__ using FixedTurns = unsigned __int128;

/// theta / 2 pi modulo 1, theta in radians: A-priori bound, off by less than 2^-127 turns. Throws
/// Error(undecided) where 160 digits do not suffice (|theta| above about 1e100).
[[nodiscard]] FixedTurns fixed_turns(const theory::Formula& theta);

/// Distance to the nearest whole turn, in [0, 1/2] turns. A-priori bound: relative error 2u.
[[nodiscard]] inline double turn_distance(FixedTurns turns) {
  const FixedTurns half = static_cast<FixedTurns>(1) << 127;
  if (turns > half) turns = -turns;
  return std::ldexp(static_cast<double>(turns), -128);
}

/// sin(pi d), 0 <= d <= 1/2 (half turns). A-priori bound: relative error below 20u.
///
/// y = pi d carries 4u relative (pi rounded, product rounded); y cot y <= 1 passes it on. Nested
/// Taylor r_k = 1 - z c_k r_{k+1}, z = y^2, c_k = 1/((2k)(2k+1)): each stage adds at most 4u and
/// passes on z c_k <= 0.42 of the last, so r_1 is off by less than 8u absolutely, and r_1 >= 2/pi:
/// 13u relative. The remainder y^23/23! is below 2^-59 of y.
[[nodiscard]] inline double sin_pi(double d) {
  const double y = d * 3.141592653589793;
  const double z = y * y;
  double r = 1.0;
  for (int k = 10; k >= 1; --k) r = 1.0 - z * r * (1.0 / (2.0 * k * (2.0 * k + 1.0)));
  return y * r;
}

/// 1 - cos of an angle: 2 sin^2(pi d), d its distance to a whole turn. A-priori bound: relative
/// error below 48u (and whatever the fixed-point angle itself is off by, at most 2 pi per turn).
[[nodiscard]] inline double one_minus_cosine(FixedTurns turns) {
  const double s = sin_pi(turn_distance(turns));
  return 2.0 * s * s;
}

/// The sine of an angle. A-priori bound: relative error below 22u, so absolute error below 22u.
[[nodiscard]] inline double sine(FixedTurns turns) {
  const double s = sin_pi(turn_distance(turns << 1));  // half turns
  return turns >> 127 == 0 ? s : -s;
}
/// The cosine of an angle. A-priori bound: absolute error below 22u.
[[nodiscard]] inline double cosine(FixedTurns turns) {
  return sine(turns + (static_cast<FixedTurns>(1) << 126));
}

}  // namespace ropewalk::proofs_numeric
