#include "theory/circle.hpp"

namespace ropewalk::theory {

Formula folded(const Formula& theta) {
  const Formula turn = Formula(2) * Formula::pi();
  if (const auto r = theta.turns()) {
    const Rational half(1, 2);
    return Formula(Rational(half - fraction(Rational(half - *r)))) * turn;  // in (-1/2, 1/2] turns
  }
  const Integer whole = floor(theta / turn + Rational(1, 2));
  return theta - Formula(Rational(whole)) * turn;
}

namespace detail {

std::optional<Rational> rational_sine(const Rational& cosine) {
  const Integer q = denominator(cosine);
  const Integer square = q * q - Integer(numerator(cosine)) * Integer(numerator(cosine));
  const Integer root = sqrt(square);
  if (root * root != square) return std::nullopt;
  return Rational(root, q);
}

}  // namespace detail

}  // namespace ropewalk::theory
