#include "number.hpp"

#include <algorithm>
#include <memory>

namespace checker {

namespace {

constexpr long exact_bits = 1 << 16;  // exact values longer than this become balls
constexpr long decimal_limit = 10000;

std::string take(char* text) {
  std::string out = text;
  flint_free(text);
  return out;
}

[[noreturn]] void malformed_number(std::string_view text) {
  throw Malformed("'" + std::string(text.substr(0, 60)) + "' is no number of the format");
}

Rational parse_decimal(std::string_view whole) {
  std::string_view text = whole;
  const auto digits = [&] {
    const size_t n = std::min(text.find_first_not_of("0123456789"), text.size());
    const std::string_view out = text.substr(0, n);
    text.remove_prefix(n);
    return std::string(out);
  };
  const auto eat = [&](std::string_view set) {
    const bool yes = !text.empty() && set.find(text.front()) != std::string_view::npos;
    if (yes) text.remove_prefix(1);
    return yes;
  };
  const bool minus = eat("-");
  std::string mantissa = digits();
  if (mantissa.empty()) malformed_number(whole);
  long exponent = 0;
  if (eat(".")) {
    const std::string fraction = digits();
    if (fraction.empty()) malformed_number(whole);
    mantissa += fraction;
    exponent = -static_cast<long>(fraction.size());
  }
  if (eat("eE")) {
    const bool down = !text.empty() && text.front() == '-';
    if (!eat("+-") && text.empty()) malformed_number(whole);
    const std::string power = digits();
    if (power.empty()) malformed_number(whole);
    const size_t first = std::min(power.find_first_not_of('0'), power.size());
    const long value = first == power.size()      ? 0
                       : power.size() - first > 5 ? WORD_MAX
                                                  : std::stol(power.substr(first));
    if (value > decimal_limit)
      throw Malformed("the exponent of '" + std::string(whole.substr(0, 60)) + "' is beyond 10000");
    exponent += down ? -value : value;
  }
  if (!text.empty()) malformed_number(whole);
  if (static_cast<long>(mantissa.size()) > decimal_limit || std::abs(exponent) > 2 * decimal_limit)
    throw Malformed("'" + std::string(whole.substr(0, 60)) +
                    "...' has more than 10000 digits or places");
  Integer n, scale;
  fmpz_set_str(n.raw(), mantissa.c_str(), 10);
  if (minus) fmpz_neg(n.raw(), n.raw());
  fmpz_ui_pow_ui(scale.raw(), 10, static_cast<ulong>(std::abs(exponent)));
  return exponent < 0 ? Rational(n, scale) : Rational(n * scale);
}

}  // namespace

long Integer::small(const char* what) const {
  if (bits() > 62) throw Rejected(std::string(what) + " " + text() + " is beyond 2^62");
  return fmpz_get_si(z_);
}
std::string Integer::text() const { return take(fmpz_get_str(nullptr, 10, z_)); }
Integer operator+(const Integer& a, const Integer& b) {
  Integer c;
  fmpz_add(c.z_, a.z_, b.z_);
  return c;
}
Integer operator-(const Integer& a, const Integer& b) {
  Integer c;
  fmpz_sub(c.z_, a.z_, b.z_);
  return c;
}
Integer operator*(const Integer& a, const Integer& b) {
  Integer c;
  fmpz_mul(c.z_, a.z_, b.z_);
  return c;
}
Integer floor_div(const Integer& a, const Integer& b) {
  Integer c;
  fmpz_fdiv_q(c.z_, a.z_, b.z_);
  return c;
}
Integer ceil_div(const Integer& a, const Integer& b) {
  Integer c;
  fmpz_cdiv_q(c.z_, a.z_, b.z_);
  return c;
}
Integer mod(const Integer& a, const Integer& b) {
  Integer c;
  fmpz_mod(c.z_, a.z_, b.z_);
  return c;
}

Rational::Rational(const Integer& n, const Integer& d) : Rational() {
  fmpq_set_fmpz_frac(x_, n.raw(), d.raw());
}
Integer Rational::floor() const {
  Integer n;
  fmpz_fdiv_q(n.raw(), numerator(), denominator());
  return n;
}
Rational operator+(const Rational& a, const Rational& b) {
  Rational c;
  fmpq_add(c.x_, a.x_, b.x_);
  return c;
}
Rational operator-(const Rational& a, const Rational& b) {
  Rational c;
  fmpq_sub(c.x_, a.x_, b.x_);
  return c;
}
Rational operator*(const Rational& a, const Rational& b) {
  Rational c;
  fmpq_mul(c.x_, a.x_, b.x_);
  return c;
}
Rational operator/(const Rational& a, const Rational& b) {
  Rational c;
  fmpq_div(c.x_, a.x_, b.x_);
  return c;
}

Rational parse_rational(std::string_view text, bool fraction) {
  const size_t slash = fraction ? text.find('/') : std::string_view::npos;
  if (slash == std::string_view::npos) return parse_decimal(text);
  const Rational below = parse_decimal(text.substr(slash + 1));
  if (below.sign() <= 0) malformed_number(text);
  return parse_decimal(text.substr(0, slash)) / below;
}

Integer parse_integer(std::string_view text) {
  const std::string_view digits = text.substr(!text.empty() && text.front() == '-' ? 1 : 0);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos)
    throw Malformed("'" + std::string(text.substr(0, 60)) + "' is no integer");
  return parse_decimal(text).floor();
}

std::string Ball::text() const { return take(arb_get_str(x_, 20, 0)); }

Value Value::pi() {
  Value v;
  v.q_ = Rational(1);
  return v;
}

void Value::enclose(Ball& out, long precision) const {
  if (!exact_) {
    arb_set(out.raw(), ball_.raw());
    return;
  }
  if (q_.zero()) {
    if (p_.integer())
      arb_set_round_fmpz(out.raw(), p_.numerator(), precision);
    else
      arb_set_fmpq(out.raw(), p_.raw(), precision);
    return;
  }
  arb_const_pi(out.raw(), precision + 8);
  arb_mul_fmpz(out.raw(), out.raw(), q_.numerator(), precision + 8);
  arb_div_fmpz(out.raw(), out.raw(), q_.denominator(), precision);
  if (!p_.zero()) {
    const Ball p(p_, precision + 8);
    arb_add(out.raw(), out.raw(), p.raw(), precision);
  }
}

Ball& Value::ball(long precision) {
  if (exact_) {
    enclose(ball_, precision);
    exact_ = false;
  }
  return ball_;
}

void Value::finite() const {
  if (!exact_ && !arb_is_finite(ball_.raw())) throw Open("a value has no finite enclosure");
}

void Value::shorten(long precision) {
  if (exact_ && p_.bits() + q_.bits() > exact_bits) ball(precision);
}

void Value::set_integer(const Integer& n) {
  exact_ = true;
  p_ = Rational(n);
  q_ = Rational(0);
}

void Value::add(const Value& x, bool subtract, long precision) {
  if (exact_ && x.exact_) {
    const auto sum = subtract ? fmpq_sub : fmpq_add;
    sum(p_.raw(), p_.raw(), x.p_.raw());
    if (!x.q_.zero()) sum(q_.raw(), q_.raw(), x.q_.raw());
    return shorten(precision);
  }
  arb_ptr b = ball(precision).raw();
  if (x.integer()) {
    (subtract ? arb_sub_fmpz : arb_add_fmpz)(b, b, x.p_.numerator(), precision);
  } else if (x.exact_) {
    Ball y;
    x.enclose(y, precision);
    (subtract ? arb_sub : arb_add)(b, b, y.raw(), precision);
  } else {
    (subtract ? arb_sub : arb_add)(b, b, x.ball_.raw(), precision);
  }
  finite();
}

void Value::negate() {
  fmpq_neg(p_.raw(), p_.raw());
  fmpq_neg(q_.raw(), q_.raw());
  arb_neg(ball_.raw(), ball_.raw());
}

void Value::multiply(const Value& x, long precision) {
  if (exact_ && x.exact_ && (q_.zero() || x.q_.zero())) {
    if (!x.q_.zero())
      fmpq_mul(q_.raw(), p_.raw(), x.q_.raw());
    else if (!q_.zero())
      fmpq_mul(q_.raw(), q_.raw(), x.p_.raw());
    fmpq_mul(p_.raw(), p_.raw(), x.p_.raw());
    return shorten(precision);
  }
  if (rational() && p_.zero()) return;
  if (x.rational() && x.p_.zero()) return set_integer(0);
  arb_ptr b = ball(precision).raw();
  if (x.rational()) {
    arb_mul_fmpz(b, b, x.p_.numerator(), precision);
    if (!x.p_.integer()) arb_div_fmpz(b, b, x.p_.denominator(), precision);
  } else if (x.exact_) {
    Ball y;
    x.enclose(y, precision);
    arb_mul(b, b, y.raw(), precision);
  } else {
    arb_mul(b, b, x.ball_.raw(), precision);
  }
  finite();
}

void Value::divide(const Value& x, long precision) {
  if (x.rational() && x.p_.zero()) throw Rejected("division by zero");
  if (exact_ && x.rational()) {
    fmpq_div(p_.raw(), p_.raw(), x.p_.raw());
    fmpq_div(q_.raw(), q_.raw(), x.p_.raw());
    return shorten(precision);
  }
  if (exact_ && x.exact_ && p_.zero() && x.p_.zero()) {
    fmpq_div(p_.raw(), q_.raw(), x.q_.raw());
    q_ = Rational(0);
    return shorten(precision);
  }
  if (rational() && p_.zero()) {
    if (!x.exact_ && arb_contains_zero(x.ball_.raw())) throw Open("a divisor may be zero");
    return;
  }
  Ball y;
  x.enclose(y, precision);
  arb_ptr b = ball(precision).raw();
  arb_div(b, b, y.raw(), precision);
  finite();
}

void Value::power(const Value& x, long precision) {
  const bool whole = x.integer();
  if (whole && rational()) {
    const bool tiny = fmpz_cmpabs(p_.numerator(), Integer(1).raw()) <= 0 && p_.integer();
    if (tiny) {  // 0, 1 or -1 to any power
      if (p_.zero() && x.p_.sign() < 0) throw Rejected("division by zero");
      if (x.p_.zero() || (p_.sign() < 0 && fmpz_is_even(x.p_.numerator()))) return set_integer(1);
      return;
    }
    if (fmpz_bits(x.p_.numerator()) < 20) {
      const long e = fmpz_get_si(x.p_.numerator());
      if (std::abs(e) * (p_.bits() - 1) <= exact_bits) {
        fmpq_pow_si(p_.raw(), p_.raw(), e);
        return;
      }
    }
  } else if (whole && exact_ && (x.p_.zero() || x.p_ == Rational(1))) {
    if (x.p_.zero()) set_integer(1);
    return;
  }
  if (rational() && p_.zero()) {  // the exponent is no integer
    Ball e;
    x.enclose(e, precision);
    if (!arb_is_positive(e.raw())) throw Rejected("0 to a power that is not positive");
    return;
  }
  if (x.exact_ && x.bits_too_long()) throw Open("an exponent is too long");
  arb_ptr b = ball(precision).raw();
  if (whole) {
    arb_pow_fmpz(b, b, x.p_.numerator(), precision);
  } else {
    if (!arb_is_positive(b)) {
      if (arb_is_negative(b)) throw Rejected("a negative number to a power that is no integer");
      throw Open("the base of a power may not be positive");
    }
    if (x.rational()) {
      arb_pow_fmpq(b, b, x.p_.raw(), precision);
    } else {
      Ball e;
      x.enclose(e, precision);
      arb_pow(b, b, e.raw(), precision);
    }
  }
  finite();
}

bool Value::bits_too_long() const { return exact_ && p_.bits() + q_.bits() > 512; }

void Value::cosine(long precision) {
  if (exact_ && p_.zero()) {
    // cos(q pi) is rational for q a multiple of 1/2 or 1/3, and for no other rational q (Niven).
    const Rational six = q_ * Rational(6);
    if (six.integer()) {
      const long k = fmpz_get_si(mod(six.floor(), Integer(12)).raw());
      static constexpr long doubled[12] = {2, 9, 1, 0, -1, 9, -2, 9, -1, 0, 1, 9};
      if (doubled[k] != 9) {
        p_ = Rational(Integer(doubled[k]), Integer(2));
        q_ = Rational(0);
        return;
      }
    }
    exact_ = false;
    arb_cos_pi_fmpq(ball_.raw(), q_.raw(), precision);
  } else {
    arb_ptr b = ball(precision).raw();
    arb_cos(b, b, precision);
  }
  finite();
}

void Value::sine(long precision) {
  if (exact_ && p_.zero()) {  // sin(x) = cos(pi/2 - x)
    q_ = Rational(Integer(1), Integer(2)) - q_;
    return cosine(precision);
  }
  arb_ptr b = ball(precision).raw();
  arb_sin(b, b, precision);
  finite();
}

void Value::arccosine(long precision) {
  if (rational()) {
    const Rational doubled = p_ * Rational(2);
    if (doubled > Rational(2) || doubled < Rational(-2)) throw Rejected("acos outside [-1, 1]");
    if (doubled.integer()) {  // acos of 1, 1/2, 0, -1/2, -1
      static constexpr long sixths[5] = {6, 4, 3, 2, 0};
      q_ = Rational(Integer(sixths[fmpz_get_si(doubled.numerator()) + 2]), Integer(6));
      p_ = Rational(0);
      return;
    }
  }
  arb_ptr b = ball(precision).raw();
  arb_acos(b, b, precision);
  finite();
}

void Value::exponential(long precision) {
  arb_ptr b = ball(precision).raw();
  arb_exp(b, b, precision);
  finite();
}

void Value::logarithm(long precision) {
  if (rational() && p_.sign() <= 0) throw Rejected("log of a number that is not positive");
  arb_ptr b = ball(precision).raw();
  arb_log(b, b, precision);
  finite();
}

void Value::root(long precision) {
  if (rational() && p_.sign() < 0) throw Rejected("sqrt of a negative number");
  arb_ptr b = ball(precision).raw();
  arb_sqrt(b, b, precision);
  finite();
}

void Value::absolute(long precision) {
  if (exact_) {
    if (compare(*this, Value(), precision) < 0) negate();
  } else {
    arb_abs(ball_.raw(), ball_.raw());
  }
}

void Value::floor(long precision) {
  if (rational()) return set_integer(p_.floor());
  arb_ptr b = ball(precision).raw();
  if (arf_cmpabs_2exp_si(arb_midref(b), exact_bits) > 0) throw Open("floor of a huge value");
  arb_floor(b, b, precision);
  Integer n;
  if (!arb_get_unique_fmpz(n.raw(), b)) throw Open("floor of a value next to an integer");
  set_integer(n);
}

void Value::distance(long precision) {
  if (rational()) {
    Rational below = p_ - Rational(p_.floor());
    const Rational above = Rational(1) - below;
    p_ = std::min(below, above);
    return;
  }
  arb_ptr b = ball(precision).raw();
  if (arf_cmpabs_2exp_si(arb_midref(b), exact_bits) > 0) throw Open("distance of a huge value");
  // The distance to the nearest integer moves no faster than its argument: exact at the midpoint,
  // then the radius.
  Ball radius, whole, above;
  arb_get_rad_arb(radius.raw(), b);
  arb_get_mid_arb(b, b);
  arf_floor(arb_midref(whole.raw()), arb_midref(b));
  arb_sub(b, b, whole.raw(), ARF_PREC_EXACT);
  arb_sub_si(above.raw(), b, 1, ARF_PREC_EXACT);
  arb_neg(above.raw(), above.raw());
  if (arf_cmp(arb_midref(above.raw()), arb_midref(b)) < 0) arb_swap(b, above.raw());
  arb_add_error(b, radius.raw());
  arb_set_round(b, b, precision);
}

void Value::least(const Value& x, bool greatest, long precision) {
  if (exact_ && x.exact_) {
    const int order = compare(*this, x, precision);
    if (greatest ? order < 0 : order > 0) *this = x;
    return;
  }
  Ball y;
  x.enclose(y, precision);
  arb_ptr b = ball(precision).raw();
  (greatest ? arb_max : arb_min)(b, b, y.raw(), precision);
  finite();
}

int compare(const Value& a, const Value& b, long precision) {
  if (a.exact_ && b.exact_) {
    const Rational p = a.p_ - b.p_, q = a.q_ - b.q_;
    if (q.zero()) return p.sign();
    // pi is irrational, so p + q pi is not 0: the precision grows until its sign shows.
    Value difference(p);
    difference.q_ = q;
    Ball d;
    for (long bits = precision; bits < 16 * exact_bits; bits *= 2) {
      difference.enclose(d, bits);
      if (!arb_contains_zero(d.raw())) return arb_is_positive(d.raw()) ? 1 : -1;
    }
    throw Open("two exact values are too close");
  }
  Ball x, y;
  a.enclose(x, precision);
  b.enclose(y, precision);
  if (!arb_is_finite(x.raw()) || !arb_is_finite(y.raw())) throw Open("no finite enclosure");
  if (arb_lt(x.raw(), y.raw())) return -1;
  if (arb_gt(x.raw(), y.raw())) return 1;
  throw Open("two values overlap");
}

std::string Value::text() const {
  Ball b;
  enclose(b, 128);
  return b.text();
}

}  // namespace checker
