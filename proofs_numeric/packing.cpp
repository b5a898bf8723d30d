#include "proofs_numeric/packing.hpp"

#include "theory/error.hpp"

namespace ropewalk::proofs_numeric {

using theory::Enclosure;
using theory::Integer;
using theory::Rational;

namespace {

// The share of the sphere in R^2D that a cap of angular radius x covers: the integral of sin^(2D-2)
// from 0 to x over that to pi. With J_k the integral of sin^(2k) from 0 to x, J_k =
// ((2k-1) J_(k-1) - sin^(2k-1) cos) / 2k; over the whole circle only the first term is left, so the
// share q_k = J_k / J_k(pi) falls by r_k = sin^(2k-1) x cos x / (2k J_k(pi)) from one k to the
// next.
template <class I>
I share_of_cap(unsigned planes, const I& x) {
  const I s = sin(x);
  const I c = cos(x);
  I share = x / I::pi();
  I whole = I::pi();  // J_k(pi)
  I power = s;        // sin^(2k-1)
  for (unsigned k = 1; k < planes; ++k) {
    whole *= I(2 * k - 1) / I(2 * k);
    share -= power * c / (I(2 * k) * whole);
    power *= s * s;
  }
  return share;
}

}  // namespace

Enclosure packing_bound(unsigned planes, const Integer& length) {
  using I = theory::Interval<160>;
  if (planes < 1 || planes > 4096)
    throw Error(ErrorCode::bad_value, "planes must lie in 1..4096, not " + std::to_string(planes));
  if (length < 2 || length > boost::multiprecision::pow(Integer(10), 18))
    throw Error(ErrorCode::bad_value, "the length must lie in 2..10^18, not " + length.str());
  // cos phi >= -1/(n-1), and phi <= 90 degrees from 2D + 2 points on.
  const Rational rankin = length >= 2 * planes + 2 ? Rational(1) : Rational(length, length - 1);
  // The largest radius at which n caps fit, in units of pi: bisection on a share that grows.
  Rational fits = 0;
  Rational over(1, 2);
  const auto excess = [&](const Rational& radius) {
    return theory::sign(I(I(length) * share_of_cap(planes, I(I(radius) * I::pi())) - I(1)));
  };
  for (int i = 0; i < 120; ++i) {
    const Rational middle = (fits + over) / 2;
    const auto sign = excess(middle);
    if (!sign) {  // the caps fit exactly, as arcs on a circle may: it is between its neighbours
      const Rational step = middle / (Integer(1) << 100);
      if (const auto below = excess(middle - step); below && *below < 0) fits = middle - step;
      if (const auto above = excess(middle + step); above && *above > 0) over = middle + step;
      break;
    }
    (*sign > 0 ? over : fits) = middle;
    if (over - fits < fits / (Integer(1) << 46)) break;
  }
  const auto margin = [](const Rational& radius) {
    return enclosure(I(I(1) - cos(I(I(Rational(2 * radius)) * I::pi()))));
  };
  const Enclosure caps{margin(fits).lo, margin(over).hi};
  if (caps.lo > rankin) return Enclosure(rankin);
  return {caps.lo, std::min(caps.hi, rankin)};
}

}  // namespace ropewalk::proofs_numeric
