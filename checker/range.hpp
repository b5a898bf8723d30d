// Bounds in doubles (IEEE, to nearest, steps fused or not): enclosures, and sums of exponentials
// from above.
#pragma once

#include <cmath>
#include <limits>

#include "number.hpp"

namespace checker {

constexpr double infinite = std::numeric_limits<double>::infinity();

[[noreturn]] inline void undecided(const std::string& why) {
  throw Rejected("not decided: " + why);
}

/// Two doubles around a value; every operation moves them outward. 0 stays 0.
struct Range {
  double lo = 0, hi = 0;
  double size() const { return std::max(-lo, hi); }  // 0 only for 0 itself
};
inline Range outward(double lo, double hi) {
  lo = std::nextafter(lo, -infinite);
  hi = std::nextafter(hi, infinite);
  if (!(lo > -1e300 && hi < 1e300)) undecided("a huge value");
  return {lo, hi};
}
inline Range operator+(const Range& a, const Range& b) {
  if (a.size() == 0) return b;
  return b.size() == 0 ? a : outward(a.lo + b.lo, a.hi + b.hi);
}
inline Range operator*(const Range& a, const Range& b) {
  if (a.size() == 0 || b.size() == 0) return {};
  const auto [lo, hi] = std::minmax({a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi});
  return outward(lo, hi);
}
inline Range inverse(const Range& a) {
  if (!(a.lo > 0)) undecided("a divisor that may be 0");
  return outward(1 / a.hi, 1 / a.lo);
}
inline Range square(const Range& a) {
  const double near = a.lo > 0 ? a.lo : std::min(a.hi, 0.0), far = a.size();
  const Range out = far == 0 ? Range{} : outward(near * near, far * far);
  return {std::max(out.lo, 0.0), out.hi};
}
inline Range root(const Range& a) {
  if (!(a.lo >= 0)) undecided("a root of what may be negative");
  const Range out = a.hi == 0 ? Range{} : outward(std::sqrt(a.lo), std::sqrt(a.hi));
  return {std::max(out.lo, 0.0), out.hi};
}
inline Range hull(const Range& a, const Range& b) {
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}
inline Range range(const Ball& x) {
  if (!arb_is_finite(x)) undecided("a value without an enclosure");
  const AtPrecision at(128);
  if (arb_is_zero(x)) return {};
  return outward(arf_get_d(arb_midref(end_of(x, false)), ARF_RND_FLOOR),
                 arf_get_d(arb_midref(end_of(x, true)), ARF_RND_CEIL));
}
inline Range around(double x, double error) { return outward(x - error, x + error); }

/// For what loses up to 2^-21 of itself by rounding.
inline double above(double x) {
  if (!(x < 1e300)) undecided("a huge error");
  return x * (1 + 0x1p-20);
}
constexpr double unit = 0x1p-24, tiny = 0x1p-100;
/// k u / (1 - k u), u = 2^-24 of float32.
inline double gamma(size_t k) {
  const double ku = static_cast<double>(k) * unit;
  if (!(ku < 0.5)) undecided("too many terms for float32");
  return above(ku / (1 - ku));
}

/// At least exp(x), and above it by less than 2^-38 of itself or by 2^-990.
// k ln 2 and r are off by less than 700 * 3 * 2^-54, the sum by less than 2^-50.
inline double exp_above(double x) {
  if (!(x < 700)) return infinite;
  if (x < -690) return 0x1p-990;
  const double k = std::nearbyint(x * 1.4426950408889634), r = x - k * 0.6931471805599453;
  double sum = 1;
  for (int i = 13; i > 0; --i) sum = 1 + sum * r / i;
  return std::ldexp(sum * (1 + 0x1p-40), static_cast<int>(k));
}
/// sum * exp(largest), at least a sum of exponentials.
struct LogSum {
  double largest = -infinite, sum = 0;
  void add(double x) {
    if (x == -infinite) return;
    if (x > largest) {
      sum = (sum > 0 ? sum * exp_above(largest - x) : 0) + 1;
      largest = x;
    } else {
      sum += exp_above(x - largest);
    }
  }
  double times_exp(double x) const { return sum > 0 ? sum * exp_above(largest + x) : 0; }
};

}  // namespace checker
