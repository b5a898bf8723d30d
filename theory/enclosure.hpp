#pragma once
/// \file
/// Enclosure: two exact rationals lo <= hi with the true value between them. The common currency of
/// results: any interval becomes one without loss, and printing rounds outward.

#include <string>

#include "theory/number.hpp"

namespace ropewalk::theory {

struct Enclosure {
  Rational lo;
  Rational hi;

  Enclosure() = default;
  explicit Enclosure(const Rational& exact) : lo(exact), hi(exact) {}
  Enclosure(Rational low, Rational high) : lo(std::move(low)), hi(std::move(high)) {}

  [[nodiscard]] bool exact() const { return lo == hi; }
  [[nodiscard]] bool contains(const Rational& x) const { return lo <= x && x <= hi; }
  [[nodiscard]] Rational middle() const { return (lo + hi) / 2; }
  /// (hi - lo) / min|.|; nothing where the enclosure touches 0 without being 0.
  [[nodiscard]] std::optional<Rational> relative_width() const;
};

/// -1, 0, +1 when certain.
[[nodiscard]] std::optional<int> sign(const Enclosure& x);

namespace detail {
/// x as a rational, rounded up or down where its exponent is so small that no rational should carry
/// it. Throws Error(undecided) where x is not finite or its exponent too large.
[[nodiscard]] Rational bound(mpfr_srcptr x, bool upper);
}  // namespace detail

/// The dyadic bounds of an interval: exact unless below 2^-1000000 in size, there rounded outward.
/// Throws Error(undecided) where a bound is not finite or beyond 2^1000000.
template <unsigned D>
[[nodiscard]] Enclosure enclosure(const Interval<D>& x) {
  return {detail::bound(&x.raw()->left, false), detail::bound(&x.raw()->right, true)};
}
[[nodiscard]] inline Enclosure enclosure(const Rational& x) { return Enclosure(x); }

enum class Round { down, up, nearest };

/// x to `digits` significant decimal digits, rounded as told: plain notation for exponents in
/// [-5, 21), else d.ddde-N. Trailing zeros are dropped. Exact.
[[nodiscard]] std::string decimal(const Rational& x, unsigned digits, Round round);

/// The digits that are sure, then a bracket with the two continuations: 0.30329[31, 34]; an exact
/// value prints plainly.
[[nodiscard]] std::string text(const Enclosure& x, unsigned digits = 12);

}  // namespace ropewalk::theory
