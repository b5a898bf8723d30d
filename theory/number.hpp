#pragma once
/// \file
/// The scalars of the theory and the ladder of precisions.
///
/// Everything in `theory/` and `constructions/` is written once, over a scalar type S:
///
/// - double: a binary64 number. Heuristic.
/// - Rational: an exact fraction (GMP). Exact.
/// - Real<D>: an MPFR number of D decimal digits, rounded once per operation. Heuristic.
/// - Interval<D>: two MPFR bounds (MPFI). Enclosure: contains every possible exact result.
///
/// An interval answers no question with `<` or `==`: those operators do not exist. Ask `sign(x)` or
/// `compare(x, y)`, which answer only when the answer is certain, and let `at_rising_precision`
/// repeat the question with more digits until it is.
///
/// Precision is part of the type, so no process-wide default exists that two threads could fight
/// over.

#include <boost/math/constants/constants.hpp>
#include <boost/multiprecision/gmp.hpp>
#include <boost/multiprecision/mpfi.hpp>
#include <boost/multiprecision/mpfr.hpp>
// Needed with Eigen: without it products of number<> matrices do not compile in Boost 1.74.
#include <boost/multiprecision/eigen.hpp>

#include <Eigen/Core>
#include <cmath>
#include <compare>
#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace ropewalk::theory {

using Integer =
    boost::multiprecision::number<boost::multiprecision::gmp_int, boost::multiprecision::et_off>;
using Rational = boost::multiprecision::number<boost::multiprecision::gmp_rational,
                                               boost::multiprecision::et_off>;
template <unsigned Digits>
using Real = boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<Digits>,
                                           boost::multiprecision::et_off>;

/// An interval with MPFR endpoints of `Digits` decimal digits. Guarantee: Enclosure, for every
/// operation below: if x is in X and y is in Y then x∘y is in X∘Y.
template <unsigned Digits>
class Interval {
 public:
  using Bounds = boost::multiprecision::number<boost::multiprecision::mpfi_float_backend<Digits>,
                                               boost::multiprecision::et_off>;

  static constexpr unsigned digits = Digits;

  Interval() : bounds_(0) {}
  Interval(std::integral auto value) : bounds_(value) {}  // NOLINT(google-explicit-constructor)
  /// The exact value of a double (a dyadic rational), rounded outward.
  explicit Interval(double value) : bounds_(value) {}
  explicit Interval(const Integer& value) {
    mpfi_set_z(bounds_.backend().data(), value.backend().data());
  }
  explicit Interval(const Rational& value) {
    mpfi_set_q(bounds_.backend().data(), value.backend().data());
  }
  /// Hull of two rationals, lo <= hi.
  Interval(const Rational& lo, const Rational& hi) : Interval(lo) {
    const Interval upper_end(hi);
    mpfi_union(raw(), raw(), upper_end.raw());
  }
  explicit Interval(Bounds bounds) : bounds_(std::move(bounds)) {}

  [[nodiscard]] Real<Digits> lower() const { return boost::multiprecision::lower(bounds_); }
  [[nodiscard]] Real<Digits> upper() const { return boost::multiprecision::upper(bounds_); }
  [[nodiscard]] bool bounded() const { return mpfi_bounded_p(raw()) != 0; }

  mpfi_ptr raw() { return bounds_.backend().data(); }
  [[nodiscard]] mpfi_srcptr raw() const { return bounds_.backend().data(); }

  Interval& operator+=(const Interval& y) { return apply(mpfi_add, y); }
  Interval& operator-=(const Interval& y) { return apply(mpfi_sub, y); }
  Interval& operator*=(const Interval& y) { return apply(mpfi_mul, y); }
  /// Division by an interval that contains 0 gives an unbounded interval.
  Interval& operator/=(const Interval& y) { return apply(mpfi_div, y); }
  friend Interval operator+(Interval x, const Interval& y) { return x += y; }
  friend Interval operator-(Interval x, const Interval& y) { return x -= y; }
  friend Interval operator*(Interval x, const Interval& y) { return x *= y; }
  friend Interval operator/(Interval x, const Interval& y) { return x /= y; }
  friend Interval operator-(const Interval& x) { return map(mpfi_neg, x); }
  friend Interval operator+(const Interval& x) { return x; }

  friend Interval abs(const Interval& x) { return map(mpfi_abs, x); }
  friend Interval sqrt(const Interval& x) { return map(mpfi_sqrt, x); }
  friend Interval exp(const Interval& x) { return map(mpfi_exp, x); }
  friend Interval log(const Interval& x) { return map(mpfi_log, x); }
  friend Interval cos(const Interval& x) { return map(mpfi_cos, x); }
  friend Interval sin(const Interval& x) { return map(mpfi_sin, x); }
  friend Interval acos(const Interval& x) { return map(mpfi_acos, x); }

  /// Enclosure of max(x, y) and min(x, y).
  friend Interval max(const Interval& x, const Interval& y) { return extreme(x, y, mpfr_max); }
  friend Interval min(const Interval& x, const Interval& y) { return extreme(x, y, mpfr_min); }
  friend Interval hull(const Interval& x, const Interval& y) {
    Interval result;
    mpfi_union(result.raw(), x.raw(), y.raw());
    return result;
  }

  // Comparisons of intervals are ambiguous; see sign() and compare().
  friend bool operator<(const Interval&, const Interval&) = delete;
  friend bool operator>(const Interval&, const Interval&) = delete;
  friend bool operator<=(const Interval&, const Interval&) = delete;
  friend bool operator>=(const Interval&, const Interval&) = delete;
  friend bool operator==(const Interval&, const Interval&) = delete;

  static Interval pi() {
    Interval result;
    mpfi_const_pi(result.raw());
    return result;
  }

 private:
  Interval& apply(int (*op)(mpfi_ptr, mpfi_srcptr, mpfi_srcptr), const Interval& y) {
    op(raw(), raw(), y.raw());
    return *this;
  }
  static Interval map(int (*op)(mpfi_ptr, mpfi_srcptr), const Interval& x) {
    Interval result;
    op(result.raw(), x.raw());
    return result;
  }
  // max and min of endpoints are exact: all endpoints of one type share one precision. MPFR's max
  // drops a NaN, which here says "no enclosure" and must stay.
  static Interval extreme(const Interval& x, const Interval& y,
                          int (*op)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t)) {
    if (mpfi_nan_p(x.raw()) != 0) return x;
    if (mpfi_nan_p(y.raw()) != 0) return y;
    Interval result;
    op(&result.raw()->left, &x.raw()->left, &y.raw()->left, MPFR_RNDD);
    op(&result.raw()->right, &x.raw()->right, &y.raw()->right, MPFR_RNDU);
    return result;
  }

  Bounds bounds_;
};

/// -1, 0 or +1 when every point of x has that sign; nothing otherwise. Exact.
template <unsigned D>
[[nodiscard]] std::optional<int> sign(const Interval<D>& x) {
  if (mpfi_nan_p(x.raw()) != 0) return std::nullopt;
  if (mpfi_is_strictly_pos(x.raw()) > 0) return 1;
  if (mpfi_is_strictly_neg(x.raw()) > 0) return -1;
  if (mpfi_is_zero(x.raw()) > 0) return 0;
  return std::nullopt;
}
[[nodiscard]] inline std::optional<int> sign(const Rational& x) { return x.sign(); }
[[nodiscard]] inline std::optional<int> sign(double x) {
  if (std::isnan(x)) return std::nullopt;
  return x > 0 ? 1 : (x < 0 ? -1 : 0);
}
template <unsigned D>
[[nodiscard]] std::optional<int> sign(const Real<D>& x) {
  if (boost::multiprecision::isnan(x)) return std::nullopt;
  return x.sign();
}

/// sign(x - y): the certain order of two scalars, or nothing.
template <class S>
[[nodiscard]] std::optional<int> compare(const S& x, const S& y) {
  return sign(S(x - y));
}

template <class S>
inline constexpr bool is_interval = false;
template <unsigned D>
inline constexpr bool is_interval<Interval<D>> = true;

/// Constants of the theory in scalar S.
template <class S>
struct Scalar {
  static S from(const Rational& value) { return S(value); }
  static S pi() { return boost::math::constants::pi<S>(); }
};
template <>
struct Scalar<double> {
  static double from(const Rational& value) { return value.convert_to<double>(); }
  static double pi() { return 3.141592653589793; }
};
template <unsigned D>
struct Scalar<Interval<D>> {
  static Interval<D> from(const Rational& value) { return Interval<D>(value); }
  static Interval<D> pi() { return Interval<D>::pi(); }
};

/// The rungs of the precision ladder, in decimal digits.
inline constexpr unsigned ladder[] = {40, 160, 640, 2560};
inline constexpr unsigned most_digits = 2560;

/// Calls `f.template operator()<Interval<D>>()` with D = 40, 160, 640, 2560 until the optional it
/// returns holds a value; nothing if the last rung cannot say either. `start` skips rungs with
/// fewer digits than that. Cost: that of f, at most four times, each rung about 6-16 times the one
/// before.
template <class F>
auto at_rising_precision(F&& f, unsigned start = 0)
    -> decltype(f.template operator()<Interval<40>>()) {
  if (start <= 40)
    if (auto r = f.template operator()<Interval<40>>()) return r;
  if (start <= 160)
    if (auto r = f.template operator()<Interval<160>>()) return r;
  if (start <= 640)
    if (auto r = f.template operator()<Interval<640>>()) return r;
  return f.template operator()<Interval<2560>>();
}

[[nodiscard]] inline Integer floor(const Rational& x) {
  Integer q;
  mpz_fdiv_q(q.backend().data(), mpq_numref(x.backend().data()), mpq_denref(x.backend().data()));
  return q;
}
[[nodiscard]] inline Integer ceil(const Rational& x) { return -floor(Rational(-x)); }
/// x - floor(x), in [0, 1).
[[nodiscard]] inline Rational fraction(const Rational& x) { return x - Rational(floor(x)); }
/// Distance of x to the nearest integer, in [0, 1/2].
[[nodiscard]] inline Rational distance_to_integer(const Rational& x) {
  const Rational f = fraction(x);
  const Rational g = 1 - f;
  return f < g ? f : g;
}

}  // namespace ropewalk::theory

namespace Eigen {
/// Lets Interval<D> stand as an Eigen scalar in sums and products. Algorithms that compare or pivot
/// do not compile, on purpose.
template <unsigned D>
struct NumTraits<ropewalk::theory::Interval<D>> {
  using Self = ropewalk::theory::Interval<D>;
  using Real = Self;
  using NonInteger = Self;
  using Nested = Self;
  using Literal = int;
  enum {
    IsComplex = 0,
    IsInteger = 0,
    IsSigned = 1,
    RequireInitialization = 1,
    ReadCost = 4,
    AddCost = 40,
    MulCost = 80
  };
  static Self epsilon() { return Self(0); }
  static Self dummy_precision() { return Self(0); }
  static int digits10() { return static_cast<int>(D); }
};

namespace internal {
/// Eigen's matrix-vector product asks whether the imaginary part of a real factor equals 0. That
/// part is no interval but certainly 0, so the question can be answered although intervals have no
/// `==`.
template <unsigned D>
struct imag_retval<ropewalk::theory::Interval<D>> {
  struct type {
    friend constexpr bool operator==(type, const ropewalk::theory::Interval<D>&) { return true; }
  };
};
template <unsigned D>
struct imag_impl<ropewalk::theory::Interval<D>> {
  static auto run(const ropewalk::theory::Interval<D>&) {
    return typename imag_retval<ropewalk::theory::Interval<D>>::type{};
  }
};
}  // namespace internal
}  // namespace Eigen
