#pragma once
/// \file
/// Points of the unit circle at integer lags: (cos t*theta, sin t*theta) in every scalar.
///
/// A rotation by theta applied t times is one point of the circle. In rationals it exists where
/// theta is acos of a rational with a rational sine (cos = 3/5, sin = 4/5: powers stay rational,
/// the angle is an irrational number of turns), or a multiple of a quarter turn. Whole proofs
/// become exact on them.

#include "theory/formula.hpp"

namespace ropewalk::theory {

/// A lag: query position minus key position, t = i - j.
using Lag = Integer;

/// A point of the plane: a query, a key or a rotation restricted to one rotary plane.
template <class S>
struct Point {
  S x;
  S y;

  /// Complex product: rotation of the one by the other.
  friend Point operator*(const Point& p, const Point& q) {
    return {S(p.x * q.x - p.y * q.y), S(p.x * q.y + p.y * q.x)};
  }
};

/// The inverse rotation (complex conjugate).
template <class S>
[[nodiscard]] Point<S> inverse(const Point<S>& p) {
  return {p.x, S(-p.y)};
}

/// Scalar product of two points of one plane.
template <class S>
[[nodiscard]] S dot(const Point<S>& p, const Point<S>& q) {
  return p.x * q.x + p.y * q.y;
}

namespace detail {
/// sin of acos(p/q) where it is rational.
[[nodiscard]] std::optional<Rational> rational_sine(const Rational& cosine);

template <class S>
Point<S> point_power(Point<S> p, Lag t) {
  if (t < 0) return point_power(inverse(p), Lag(-t));
  Point<S> result{S(1), S(0)};
  while (t != 0) {
    if (bit_test(t, 0)) result = result * p;
    t >>= 1;
    if (t != 0) p = p * p;
  }
  return result;
}
}  // namespace detail

/// cos of `turns` whole turns (radians 2 pi * turns), with the exact values at sixths and quarters.
template <class S>
[[nodiscard]] S cosine_of_turns(const Rational& turns) {
  const Rational d = distance_to_integer(turns);
  if (d == 0) return S(1);
  if (d == Rational(1, 6)) return Scalar<S>::from(Rational(1, 2));
  if (d == Rational(1, 4)) return S(0);
  if (d == Rational(1, 3)) return Scalar<S>::from(Rational(-1, 2));
  if (d == Rational(1, 2)) return S(-1);
  if constexpr (std::is_same_v<S, Rational>) {
    throw Error(ErrorCode::not_exact, "the cosine of " + turns.str() + " turns is irrational");
  } else {
    using std::cos;
    return cos(S(Scalar<S>::from(Rational(2 * d)) * Scalar<S>::pi()));
  }
}

/// cos(t * theta + phase), theta and phase in radians. Guarantee: that of S; for rational turns the
/// argument is reduced exactly first. Domain for S = Rational: theta with a rational cosine and
/// phase 0 (Chebyshev), or all turns at sixths and quarters; Error(not_exact) elsewhere. Cost:
/// O(log t) products for Rational, one cosine otherwise.
template <class S>
[[nodiscard]] S cosine(const Formula& theta, const Lag& t, const Formula& phase = {}) {
  const auto turn = theta.turns();
  const auto shift = phase.turns();
  if ((turn || t == 0) && shift)
    return cosine_of_turns<S>(fraction(Rational(turn.value_or(0) * Rational(t) + *shift)));
  if constexpr (std::is_same_v<S, Rational>) {
    const auto c = theta.rational_cosine();
    if (!c || !shift || *shift != 0)
      throw Error(ErrorCode::not_exact,
                  "cos(" + t.str() + "*" + theta.text() + "+" + phase.text() + ") is not rational");
    // T_t(c) by doubling: T_2k = 2 T_k^2 - 1, T_2k+1 = 2 T_k T_k+1 - c.
    Rational low(1);
    Rational high(*c);
    const Lag n = abs(t);
    for (auto bit = static_cast<long>(n == 0 ? -1 : static_cast<long>(msb(n))); bit >= 0; --bit) {
      const Rational middle = 2 * low * high - *c;
      if (bit_test(n, static_cast<unsigned>(bit))) {
        low = middle;
        high = 2 * high * high - 1;
      } else {
        high = middle;
        low = 2 * low * low - 1;
      }
    }
    return low;
  } else {
    using std::cos;
    return cos(S(Scalar<S>::from(Rational(t)) * theta.as<S>() + phase.as<S>()));
  }
}

/// theta modulo 2 pi, in (-pi, pi]: all that a rotation knows of its angle. Exact (as a formula);
/// throws Error(undecided) where 2560 digits cannot tell theta from an odd multiple of pi.
[[nodiscard]] Formula folded(const Formula& theta);

/// The rotation by t * theta. Guarantee: that of S. Domain for S = Rational: theta = acos(c) with
/// rational sin, or quarter turns; Error(not_exact) elsewhere.
template <class S>
[[nodiscard]] Point<S> rotation(const Formula& theta, const Lag& t) {
  if (t == 0) return {S(1), S(0)};
  if (const auto turn = theta.turns()) {
    const Rational r = fraction(Rational(*turn * Rational(t)));
    return {cosine_of_turns<S>(r), cosine_of_turns<S>(Rational(r - Rational(1, 4)))};
  }
  if constexpr (std::is_same_v<S, Rational>) {
    const auto c = theta.rational_cosine();
    const auto s = c ? detail::rational_sine(*c) : std::nullopt;
    if (!s)
      throw Error(ErrorCode::not_exact, "rotation by " + theta.text() + " has no rational matrix");
    return detail::point_power(Point<S>{*c, *s}, t);
  } else {
    using std::cos, std::sin;
    const S angle = Scalar<S>::from(Rational(t)) * theta.as<S>();
    return {cos(angle), sin(angle)};
  }
}

}  // namespace ropewalk::theory
