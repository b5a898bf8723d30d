#include "theory/circle.hpp"

namespace ropewalk::theory::detail {

std::optional<Rational> rational_sine(const Rational& cosine) {
  const Integer q = denominator(cosine);
  const Integer square = q * q - Integer(numerator(cosine)) * Integer(numerator(cosine));
  const Integer root = sqrt(square);
  if (root * root != square) return std::nullopt;
  return Rational(root, q);
}

}  // namespace ropewalk::theory::detail
