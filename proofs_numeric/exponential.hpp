#pragma once
/// \file
/// An exponential in double with a proven error.

#include <cmath>
#include <limits>

namespace ropewalk::proofs_numeric {

/// exp(-w). A-priori bound, u = 2^-53: relative error below 16u for |w| <= 700; beyond 700 it is 0
/// (the true value is below 1e-304), below -700 infinity (above 1e304).
///
/// k ln 2 = k hi + k lo, k hi exact for k < 2^20 (hi has 32 significant bits), so the reduced
/// argument is off by less than 2u; the polynomial adds less than 4u; |remainder| 0.35^15/15! <
/// 2^-62. Both at most double where |rounding| <= 2u.
[[nodiscard]] inline double exp_minus(double w) {
  if (w > 700.0) return 0.0;
  if (w < -700.0) return std::numeric_limits<double>::infinity();
  const double k = std::floor(w * 1.4426950408889634 + 0.5);
  constexpr double hi = 0x1.62e42feep-1;
  constexpr double lo = 0x1.a39ef35793c76p-33;
  const double r = (k * hi - w) + k * lo;  // in [-0.35, 0.35]
  double p = 1.0;
  for (int i = 14; i >= 1; --i) p = 1.0 + r * p / i;
  return std::ldexp(p, -static_cast<int>(k));
}

}  // namespace ropewalk::proofs_numeric
