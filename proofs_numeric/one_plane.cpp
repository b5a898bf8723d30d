#include "proofs_numeric/one_plane.hpp"

#include <utility>

namespace ropewalk::proofs_numeric {

namespace {

// The largest convergent denominator <= reach of every number in [lo, hi], 0 < lo <= hi <= 1/2;
// `sure` is false where two numbers of the interval differ in it (then q is the last one common to
// all).
struct Convergent {
  Integer q;
  bool sure;
};

Convergent largest_denominator(const Rational& lo, const Rational& hi, const Lag& reach) {
  Integer before = 0;  // q_{k-1}
  Integer q = 1;       // q_k
  Rational low = 1 / hi;
  Rational high = 1 / lo;
  for (;;) {
    const Integer a = theory::floor(low);
    const Integer next = a * q + before;
    if (next > reach) return {q, true};
    if (a != theory::floor(high)) return {q, false};
    before = std::exchange(q, next);
    const Rational rest_low = low - Rational(a);
    const Rational rest_high = high - Rational(a);
    // A rest of exactly 0 is a rational end point: the next quotient is unbounded there.
    if (rest_high == 0) return {q, true};
    if (rest_low == 0) {
      if (Integer(theory::floor(Rational(1 / rest_high))) * q + before > reach) return {q, true};
      return {q, false};
    }
    low = 1 / rest_high;
    high = 1 / rest_low;
  }
}

OnePlaneGap exact_turns_gap(const Rational& turns, const Lag& reach) {
  const Rational folded = theory::distance_to_integer(turns);
  const Integer period = denominator(folded);
  if (period <= reach) return {Enclosure(Rational(0)), period};
  const Integer q = largest_denominator(folded, folded, reach).q;
  const Rational distance = theory::distance_to_integer(Rational(folded * Rational(q)));
  if (distance == Rational(1, 6)) return {Enclosure(Rational(1, 2)), q};
  if (distance == Rational(1, 4)) return {Enclosure(Rational(1)), q};
  if (distance == Rational(1, 3)) return {Enclosure(Rational(3, 2)), q};
  if (distance == Rational(1, 2)) return {Enclosure(Rational(2)), q};
  // 1 - cos(2 pi d) = 2 sin^2(pi d), free of cancellation.
  const auto value = theory::at_rising_precision([&]<class I>() -> std::optional<Enclosure> {
    const I s = sin(I(I(distance) * I::pi()));
    return enclosure(I(I(2) * s * s));
  });
  return {*value, q};
}

}  // namespace

OnePlaneGap one_plane_gap(const Formula& theta, const Lag& reach) {
  if (reach < 1)
    throw Error(ErrorCode::bad_value, "the reach must be at least 1, not " + reach.str());
  const std::size_t reach_digits = reach.str().size();
  if (reach_digits > 1200)
    throw Error(ErrorCode::too_large,
                "a reach of " + std::to_string(reach_digits) +
                    " digits is beyond the 1200 that 2560-digit angles allow");
  if (const auto turns = theta.turns()) return exact_turns_gap(*turns, reach);

  std::optional<OnePlaneGap> best;
  const Rational wanted(1, boost::multiprecision::pow(Integer(10), 20));
  const auto attempt = [&]<class I>() -> std::optional<OnePlaneGap> {
    const Enclosure alpha = enclosure(theory::turns<I>(theta));
    const Integer whole = theory::floor(Rational(alpha.lo + Rational(1, 2)));
    Rational lo = alpha.lo - Rational(whole);
    Rational hi = alpha.hi - Rational(whole);
    if (hi < 0) {
      std::swap(lo, hi);
      lo = -lo;
      hi = -hi;
    }
    if (lo <= 0 || hi > Rational(1, 2)) return std::nullopt;
    const Convergent c = largest_denominator(lo, hi, reach);
    const I turn = I(lo, hi) * I(c.q);
    const Enclosure rotated = enclosure(turn);
    const Integer nearest = theory::floor(Rational(rotated.middle() + Rational(1, 2)));
    const I s = sin(I((turn - I(nearest)) * I::pi()));
    const Enclosure value = enclosure(I(I(2) * s * s));
    best = OnePlaneGap{Enclosure(c.sure ? value.lo : Rational(0), value.hi), c.q, c.sure};
    const auto width = best->value.relative_width();
    if (c.sure && width && *width <= wanted) return best;
    return std::nullopt;
  };
  const auto digits = static_cast<unsigned>(2 * reach_digits + 30);
  if (auto result = theory::at_rising_precision(attempt, digits)) return *result;
  if (best) return *best;
  // Not even the folding was certain: the gap lies in [0, 1 - cos theta].
  return {Enclosure(0, 2), 1, false};
}

Lag reach_of(const Lag& length, const Lag& offset) {
  if (length < 1)
    throw Error(ErrorCode::bad_value, "the length must be at least 1, not " + length.str());
  if (offset < 0 || offset >= length)
    throw Error(ErrorCode::bad_value, "the offset must lie in 0.." + Lag(length - 1).str() +
                                          " at length " + length.str() + ", not " + offset.str());
  const Lag behind = length - 1 - offset;
  return offset > behind ? offset : behind;
}

Lag offset_of(const Lag& length, Reading reading) {
  return reading == Reading::max ? Lag((length - 1) / 2) : Lag(0);
}

std::optional<Lag> index_horizon(const Formula& theta, const Reading* reading, const Lag& offset) {
  const auto turns = theta.turns();
  if (!turns) {
    if (theta.irrational_turns()) return std::nullopt;
    throw Error(ErrorCode::undecided,
                "it is not known whether " + theta.text() + " is a rational number of turns");
  }
  const Integer q = denominator(*turns);
  if (reading == nullptr) return offset < q ? Lag(q + offset) : Lag(0);
  return *reading == Reading::max ? Lag(2 * q - 1) : Lag(q);
}

LeastResidue least_residue(Integer a, const Integer& b, const Integer& m, const Integer& last) {
  const auto residue = [&m](const Integer& x) {
    Integer r = x % m;
    if (r < 0) r += m;
    return r;
  };
  a = residue(a);
  LeastResidue best{0, residue(b)};
  // A step of `up_time` raises the value by `up`, one of `down_time` lowers it by `down`; both are
  // the earliest steps of their size or less.
  Integer up = a;
  Integer up_time = 1;
  Integer down = m - a;
  Integer down_time = 1;
  if (a == 0) return best;
  for (;;) {
    if (down <= best.value) {
      Integer steps = best.value / down;
      const Integer allowed = (last - best.t) / down_time;
      if (steps > allowed) steps = allowed;
      if (steps == 0) return best;
      best.value -= steps * down;
      best.t += steps * down_time;
      if (steps == allowed || best.value == 0) return best;
      continue;
    }
    // down > value: make the downward step smaller, as little as needed.
    if (up < down) {
      if (up == 0) return best;
      Integer k = (down - best.value + up - 1) / up;  // the first k with down - k up <= value
      const Integer most = (down - 1) / up;           // keeps down positive
      if (k > most) k = most;
      down -= k * up;
      down_time += k * up_time;
      if (down_time > last - best.t) return best;
      if (down > best.value && up >= down) {
        const Integer j = up / down;
        up -= j * down;
        up_time += j * down_time;
      }
    } else {
      const Integer j = up / down;
      up -= j * down;
      up_time += j * down_time;
    }
  }
}

// With y the number of times around the circle, a x - m y is in [low, high]. If no multiple of a
// lies there, then modulo a that says -m y mod a is in [low mod a, high mod a], the same question
// with a smaller circle, and the least y gives the least x. Turning backwards where a > m/2 halves
// m at least.
std::optional<Integer> first_between(const Integer& a, const Integer& m, const Integer& low,
                                     const Integer& high) {
  if (low == 0) return Integer(0);
  const Integer step = a % m < 0 ? Integer(a % m + m) : Integer(a % m);
  if (step == 0) return std::nullopt;
  if (2 * step > m) return first_between(Integer(m - step), m, Integer(m - high), Integer(m - low));
  const Integer x = (low + step - 1) / step;
  if (step * x <= high) return x;
  const auto y = first_between(Integer(-m), step, Integer(low % step), Integer(high % step));
  if (!y) return std::nullopt;
  return Integer((low + m * *y + step - 1) / step);
}

std::optional<NearestReturn> nearest_return(const Integer& step, const Integer& offset,
                                            const Integer& modulus, const Lag& first,
                                            const Lag& last) {
  if (first > last) return std::nullopt;
  const Integer start = offset + step * first;
  const LeastResidue above = least_residue(step, start, modulus, last - first);
  const LeastResidue below = least_residue(Integer(-step), Integer(-start), modulus, last - first);
  const bool down = below.value < above.value || (below.value == above.value && below.t < above.t);
  return down ? NearestReturn{first + below.t, below.value}
              : NearestReturn{first + above.t, above.value};
}

Rational simplest_between(const Rational& lo, const Rational& hi) {
  if (lo >= hi) throw Error(ErrorCode::bad_value, "no rational between equal bounds");
  if (lo < 0 && hi > 0) return 0;
  if (hi <= 0) return -simplest_between(Rational(-hi), Rational(-lo));
  const Integer next = theory::floor(lo) + 1;  // the least integer > lo
  if (Rational(next) < hi) return Rational(next);
  const Rational whole(theory::floor(lo));
  // Here whole <= lo < hi <= whole + 1.
  const Rational rest = lo - whole;
  const Rational top = 1 / (hi - whole);
  if (rest == 0) return whole + 1 / Rational(theory::floor(top) + 1);
  return whole + 1 / simplest_between(top, Rational(1 / rest));
}

}  // namespace ropewalk::proofs_numeric
