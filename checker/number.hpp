// Numbers that never lie: rationals, Arb balls, and values that are exact where they can be. A
// Value is p + q pi with rationals p and q, exactly, or else a ball that surely holds it: 2*pi/7 is
// exact, so is its quotient by pi, its cosine is a ball. Exact values can be equal, balls cannot be
// proven so.
#pragma once

#include <gmpxx.h>
// FLINT's headers offer conversions to GMP only where gmp.h came first.
#include <flint/fmpz.h>
#if __has_include(<flint/arb.h>)  // FLINT 3
#include <flint/arb.h>
#else
#include <arb.h>
#endif

#include <algorithm>
#include <map>
#include <regex>
#include <stdexcept>
#include <string>
#include <utility>

namespace checker {

/// Why a file is not accepted, with the exit status.
struct Failure : std::runtime_error {
  Failure(int code, const std::string& why) : std::runtime_error(why), status(code) {}
  int status;
};
/// No certificate: wrong syntax, keys or types, or beyond a stated limit.
struct Malformed : Failure {
  explicit Malformed(const std::string& why) : Failure(2, why) {}
};
/// A certificate, and a fact of it does not check.
struct Rejected : Failure {
  explicit Rejected(const std::string& why) : Failure(1, why) {}
};
/// A question that stays open at this precision.
struct Open : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Bits, of all that is not exact.
inline long precision = 128;
struct AtPrecision {
  explicit AtPrecision(long bits) : outer(std::exchange(precision, bits)) {}
  ~AtPrecision() { precision = outer; }
  long outer;
};

/// Asks at 128, 512 and 2048 bits, and `more`, until the answer is no longer Open.
template <class Ask>
auto settle(const Ask& ask, long more = 0) {
  for (const long bits : {128L, 512L}) try {
      const AtPrecision at(bits + more);
      return ask();
    } catch (const Open&) {
    }
  const AtPrecision at(2048 + more);
  return ask();
}

class Ball {
 public:
  using Unary = void (*)(arb_t, const arb_t, slong);
  using Binary = void (*)(arb_t, const arb_t, const arb_t, slong);

  Ball() { arb_init(x_); }
  Ball(const mpq_class& r) : Ball() {
    arf_set_mpz(arb_midref(x_), r.get_num_mpz_t());
    if (r.get_den() != 1) *this = *this / Ball(mpq_class(r.get_den()));
  }
  Ball(Unary f, const Ball& x) : Ball() { f(x_, x.x_, precision); }
  Ball(Binary f, const Ball& x, const Ball& y) : Ball() { f(x_, x.x_, y.x_, precision); }
  Ball(const Ball& other) : Ball() { arb_set(x_, other.x_); }
  Ball(Ball&& other) noexcept : Ball() { arb_swap(x_, other.x_); }
  Ball& operator=(Ball other) noexcept {
    arb_swap(x_, other.x_);
    return *this;
  }
  ~Ball() { arb_clear(x_); }
  operator arb_ptr() { return x_; }
  operator arb_srcptr() const { return x_; }
  arb_ptr operator->() { return x_; }

  friend Ball operator+(const Ball& a, const Ball& b) { return {arb_add, a, b}; }
  friend Ball operator-(const Ball& a, const Ball& b) { return {arb_sub, a, b}; }
  friend Ball operator*(const Ball& a, const Ball& b) { return {arb_mul, a, b}; }
  friend Ball operator/(const Ball& a, const Ball& b) { return {arb_div, a, b}; }

 private:
  arb_t x_;
};

constexpr long exact_bits = 1 << 16;  // longer exact values become balls

/// The digits in base 2; 2^e; the remainder in [0, b).
inline long bits(const mpz_class& x) { return static_cast<long>(mpz_sizeinbase(x.get_mpz_t(), 2)); }
inline mpz_class two_to(long e) { return mpz_class(1) << static_cast<unsigned long>(e); }
inline mpz_class mod(const mpz_class& a, const mpz_class& b) { return ((a % b) + b) % b; }
inline mpq_class ratio(const mpz_class& n, const mpz_class& d) {
  mpq_class out(n, d);
  out.canonicalize();
  return out;
}

/// An end of the ball, itself a ball of no width.
inline Ball end_of(const Ball& x, bool upper) {
  Ball out;
  (upper ? arb_get_ubound_arf : arb_get_lbound_arf)(arb_midref(out), x, precision);
  return out;
}

/// Doubles and balls: the ball of this double alone; the double nearest to the middle; the same of
/// what is known to 2^-80.
inline Ball exactly(double x) {
  Ball out;
  arb_set_d(out, x);
  return out;
}
inline double middle(arb_srcptr x) { return arf_get_d(arb_midref(x), ARF_RND_NEAR); }
inline double rounded(arb_srcptr x) {
  if (!arb_is_finite(x) || mag_cmp_2exp_si(arb_radref(x), -80) > 0)
    throw Rejected("not decided: an angle is not known well enough");
  return middle(x);
}

/// Rounded down; of a ball, an end times 2^shift.
inline mpz_class floor(const mpq_class& x) {
  mpz_class out;
  mpz_fdiv_q(out.get_mpz_t(), x.get_num_mpz_t(), x.get_den_mpz_t());
  return out;
}

inline mpz_class floor(const Ball& x, bool upper, long shift = 0) {
  const AtPrecision at(2 * exact_bits);
  Ball end = end_of(x, upper);
  if (!arb_is_finite(end) || arf_cmpabs_2exp_si(arb_midref(end), exact_bits) > 0)
    throw Open("a huge value");
  arb_mul_2exp_si(end, end, shift);
  mpz_class out;
  fmpz_t n;
  fmpz_init(n);
  arf_get_fmpz(n, arb_midref(end), ARF_RND_FLOOR);
  fmpz_get_mpz(out.get_mpz_t(), n);
  fmpz_clear(n);
  return out;
}

/// "-1.5e3" or, with `fraction`, "2/3". Up to 2000 characters and powers of ten up to 10000; else
/// Malformed.
inline mpq_class parse_number(const std::string& text, bool fraction) {
  if (const size_t slash = text.find('/'); fraction && slash != std::string::npos) {
    const mpq_class below = parse_number(text.substr(slash + 1), false);
    if (below > 0) return parse_number(text.substr(0, slash), false) / below;
  }
  // The limit also bounds the depth to which std::regex recurses.
  std::smatch m;
  static const std::regex form("(-?)([0-9]+)([.]([0-9]+))?([eE]([+-]?[0-9]{1,5}))?");
  if (text.size() > 2000 || !std::regex_match(text, m, form))
    throw Malformed("'" + text.substr(0, 60) + "' is no number of at most 2000 characters");
  const long exponent = (m[6].matched ? std::stol(m[6]) : 0) - m[4].length();
  if (std::abs(exponent) > 10000)
    throw Malformed("the power of ten of '" + text.substr(0, 60) + "' is beyond 10000");
  mpz_class n(m[1].str() + m[2].str() + m[4].str(), 10), scale;
  mpz_ui_pow_ui(scale.get_mpz_t(), 10, static_cast<unsigned long>(std::abs(exponent)));
  return exponent < 0 ? ratio(n, scale) : mpq_class(n * scale);
}

/// p + q pi with rationals p and q, exactly, or else a ball that surely holds it. Open where there
/// is no finite enclosure at this precision, here and in what computes one.
struct Value {
  bool exact = true;
  mpq_class p, q;  // where exact
  Ball ball;       // where not

  Value(long n = 0) : p(n) {}
  Value(const mpq_class& p_part, const mpq_class& q_part = 0) : p(p_part), q(q_part) {
    if (size() > exact_bits) *this = Value(enclosure());
  }
  explicit Value(const Ball& b) : exact(false), ball(b) {
    if (!arb_is_finite(ball)) throw Open("a value has no finite enclosure");
  }
  bool rational() const { return exact && q == 0; }
  bool integer() const { return rational() && p.get_den() == 1; }
  long size() const {  // bits of the exact parts
    return bits(p.get_num()) + bits(p.get_den()) + bits(q.get_num()) + bits(q.get_den());
  }
  Ball enclosure() const {
    if (!exact) return ball;
    if (q == 0) return p;
    Ball pi;
    arb_const_pi(pi, precision);
    return Ball(p) + Ball(q) * pi;
  }
  std::string text() const {
    const AtPrecision at(128);
    char* text = arb_get_str(enclosure(), 20, 0);
    std::string out = text;
    flint_free(text);
    return out;
  }
};
inline Value operator+(const Value& a, const Value& b) {
  if (a.exact && b.exact) return {a.p + b.p, a.q + b.q};
  return Value(a.enclosure() + b.enclosure());
}

inline Value operator*(const Value& a, const Value& b) {
  if (a.rational() && b.rational()) return mpq_class(a.p * b.p);
  if (a.exact && b.exact && (a.q == 0 || b.q == 0)) return {a.p * b.p, a.p * b.q + a.q * b.p};
  return Value(a.enclosure() * b.enclosure());
}

inline Value operator/(const Value& a, const Value& b) {
  if (b.rational() && b.p == 0) throw Rejected("division by zero");
  if (a.exact && b.rational()) return {a.p / b.p, a.q / b.p};
  if (a.exact && b.exact && a.p == 0 && b.p == 0) return mpq_class(a.q / b.q);
  return Value(a.enclosure() / b.enclosure());
}
inline Value operator-(const Value& a, const Value& b) {
  if (a.exact && b.exact) return {a.p - b.p, a.q - b.q};
  return Value(a.enclosure() - b.enclosure());
}

/// -1, 0 or 1 as a is below, equal to or above b. 0 only for exact values.
inline int compare(const Value& a, const Value& b) {
  // pi is irrational: exact values with other multiples of it differ.
  const bool exact = a.exact && b.exact;
  if (exact && a.q == b.q) return sgn(a.p - b.p);
  const AtPrecision at(precision + (exact ? a.size() + b.size() : 0));
  const Ball difference = (a - b).enclosure();
  if (arb_contains_zero(difference)) throw Open("two values are too close");
  return arb_is_positive(difference) ? 1 : -1;
}

inline Value power(const Value& a, const Value& b) {
  if (!a.rational() || !b.integer() || abs(b.p) > exact_bits / std::max(1L, a.size() - 4))
    return Value(Ball(arb_pow, a.enclosure(), b.enclosure()));
  if (a.p == 0 && b.p < 0) throw Rejected("division by zero");
  const unsigned long n = mpz_class(abs(b.p)).get_ui();
  mpz_class above, below;
  mpz_pow_ui(above.get_mpz_t(), a.p.get_num_mpz_t(), n);
  mpz_pow_ui(below.get_mpz_t(), a.p.get_den_mpz_t(), n);
  return b.p < 0 ? ratio(below, above) : ratio(above, below);
}

inline Value least(const Value& a, const Value& b) {
  if (a.exact && b.exact) return compare(b, a) < 0 ? b : a;
  return Value(Ball(arb_min, a.enclosure(), b.enclosure()));
}

template <Ball::Unary function>
Value enclose(const Value& x) {
  return Value(Ball(function, x.enclosure()));
}

inline Value absolute(const Value& x) {
  if (x.exact) return compare(x, 0) < 0 ? x * -1 : x;
  Ball size;
  arb_abs(size, x.ball);
  return Value(size);
}

inline Value floor_value(const Value& x) {
  if (x.rational()) return mpq_class(floor(x.p));
  const mpz_class n = floor(x.enclosure(), false);
  if (n != floor(x.enclosure(), true)) throw Open("floor of a value next to an integer");
  return mpq_class(n);
}

inline Value distance(const Value& x) { return absolute(x - floor_value(x + mpq_class(1, 2))); }

// cos(q pi) is rational only for q a multiple of 1/2 or 1/3 (Niven).
inline Value cosine(const Value& x) {
  if (!x.exact || x.p != 0) return enclose<arb_cos>(x);
  const mpq_class sixths = 6 * (x.q - 2 * floor(x.q / 2));  // in [0, 12)
  static constexpr int none = 9, doubled[12] = {2, none, 1, 0, -1, none, -2, none, -1, 0, 1, none};
  const int twice = sixths.get_den() == 1 ? doubled[sixths.get_num().get_ui()] : none;
  return twice == none ? enclose<arb_cos_pi>(mpq_class(sixths / 6)) : ratio(twice, 2);
}

inline Value sine(const Value& x) { return cosine(x - Value(0, mpq_class(1, 2))); }

inline Value arccosine(const Value& x) {
  const mpz_class doubled = floor(2 * x.p);
  if (!x.rational() || doubled != 2 * x.p || abs(doubled) > 2) return enclose<arb_acos>(x);
  static constexpr int sixths[5] = {6, 4, 3, 2, 0};  // acos of -1, -1/2, 0, 1/2, 1
  return {0, ratio(sixths[doubled.get_si() + 2], 6)};
}

/// The functions of one argument by name.
inline const std::map<std::string, Value (*)(const Value&)> functions = {
    {"cos", cosine},
    {"sin", sine},
    {"acos", arccosine},
    {"abs", absolute},
    {"floor", floor_value},
    {"distance", distance},
    {"exp", enclose<arb_exp>},
    {"log", enclose<arb_log>},
    {"sqrt", enclose<arb_sqrt>}};

}  // namespace checker
