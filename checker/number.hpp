// Numbers that never lie: integers, rationals, Arb balls, and values that are exact where they can
// be.
//
// A Value is either p + q pi with rationals p and q, kept exactly, or a ball that surely holds it.
// 2*pi/7 times 7/pi is the rational 2; cos of it is a ball. Two exact values can be equal, two
// balls cannot be proven so.
#pragma once

#include <flint/fmpq.h>
#include <flint/fmpz.h>
#if __has_include(<flint/arb.h>)  // FLINT 3
#include <flint/arb.h>
#else
#include <arb.h>
#endif

#include <compare>
#include <stdexcept>
#include <string>
#include <string_view>

namespace checker {

/// The file is no certificate: wrong syntax, keys or types, or beyond a stated limit.
struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// The file is a certificate and a fact of it does not check.
struct Rejected : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// A question stays open at the precision in use; a higher one may settle it.
struct Open : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Integer {
 public:
  Integer() { fmpz_init(z_); }
  Integer(long n) : Integer() { fmpz_set_si(z_, n); }
  Integer(const Integer& o) : Integer() { fmpz_set(z_, o.z_); }
  Integer(Integer&& o) noexcept : Integer() { fmpz_swap(z_, o.z_); }
  Integer& operator=(Integer o) noexcept {
    fmpz_swap(z_, o.z_);
    return *this;
  }
  ~Integer() { fmpz_clear(z_); }
  fmpz* raw() { return z_; }
  const fmpz* raw() const { return z_; }
  long bits() const { return static_cast<long>(fmpz_bits(z_)); }
  /// The value, where |n| < 2^62; Rejected elsewhere, naming `what`.
  long small(const char* what) const;
  std::string text() const;

  friend Integer operator+(const Integer& a, const Integer& b);
  friend Integer operator-(const Integer& a, const Integer& b);
  friend Integer operator*(const Integer& a, const Integer& b);
  /// Quotient rounded down, rounded up, and the remainder in [0, b), for b > 0.
  friend Integer floor_div(const Integer& a, const Integer& b);
  friend Integer ceil_div(const Integer& a, const Integer& b);
  friend Integer mod(const Integer& a, const Integer& b);
  friend bool operator==(const Integer& a, const Integer& b) { return fmpz_equal(a.z_, b.z_) != 0; }
  friend std::strong_ordering operator<=>(const Integer& a, const Integer& b) {
    return fmpz_cmp(a.z_, b.z_) <=> 0;
  }

 private:
  fmpz_t z_;
};

class Rational {
 public:
  Rational() { fmpq_init(x_); }
  Rational(long n) : Rational() { fmpz_set_si(fmpq_numref(x_), n); }
  Rational(const Integer& n) : Rational() { fmpz_set(fmpq_numref(x_), n.raw()); }
  Rational(const Integer& n, const Integer& d);  // d != 0
  Rational(const Rational& o) : Rational() { fmpq_set(x_, o.x_); }
  Rational(Rational&& o) noexcept : Rational() { fmpq_swap(x_, o.x_); }
  Rational& operator=(const Rational& o) {
    fmpq_set(x_, o.x_);
    return *this;
  }
  Rational& operator=(Rational&& o) noexcept {
    fmpq_swap(x_, o.x_);
    return *this;
  }
  ~Rational() { fmpq_clear(x_); }
  fmpq* raw() { return x_; }
  const fmpq* raw() const { return x_; }
  const fmpz* numerator() const { return fmpq_numref(x_); }
  const fmpz* denominator() const { return fmpq_denref(x_); }
  bool zero() const { return fmpq_is_zero(x_) != 0; }
  bool integer() const { return fmpz_is_one(denominator()) != 0; }
  int sign() const { return fmpq_sgn(x_); }
  long bits() const { return static_cast<long>(fmpz_bits(numerator()) + fmpz_bits(denominator())); }
  Integer floor() const;

  friend Rational operator+(const Rational& a, const Rational& b);
  friend Rational operator-(const Rational& a, const Rational& b);
  friend Rational operator*(const Rational& a, const Rational& b);
  friend Rational operator/(const Rational& a, const Rational& b);  // b != 0
  friend Rational operator-(const Rational& a) { return Rational(0) - a; }
  friend bool operator==(const Rational& a, const Rational& b) {
    return fmpq_equal(a.x_, b.x_) != 0;
  }
  friend std::strong_ordering operator<=>(const Rational& a, const Rational& b) {
    return fmpq_cmp(a.x_, b.x_) <=> 0;
  }

 private:
  fmpq_t x_;
};

/// A decimal, optionally with a sign and, where `fraction`, one "/" between two decimals. At most
/// 10000 digits and powers of ten up to 10000. Malformed for anything else.
Rational parse_rational(std::string_view text, bool fraction);
Integer parse_integer(std::string_view text);

class Ball {
 public:
  Ball() { arb_init(x_); }
  Ball(const Ball& o) : Ball() { arb_set(x_, o.x_); }
  Ball(Ball&& o) noexcept : Ball() { arb_swap(x_, o.x_); }
  Ball(const Rational& r, long precision) : Ball() { arb_set_fmpq(x_, r.raw(), precision); }
  Ball& operator=(const Ball& o) {
    arb_set(x_, o.x_);
    return *this;
  }
  Ball& operator=(Ball&& o) noexcept {
    arb_swap(x_, o.x_);
    return *this;
  }
  ~Ball() { arb_clear(x_); }
  arb_ptr raw() { return x_; }
  arb_srcptr raw() const { return x_; }
  std::string text() const;

 private:
  arb_t x_;
};

class Value {
 public:
  Value() = default;
  Value(Rational p) : p_(std::move(p)) {}
  static Value pi();

  bool exact() const { return exact_; }
  bool rational() const { return exact_ && q_.zero(); }
  bool integer() const { return rational() && p_.integer(); }
  const Rational& part() const { return p_; }     // p, where exact
  const Rational& pi_part() const { return q_; }  // q, where exact
  /// Sets out to a ball that holds the value.
  void enclose(Ball& out, long precision) const;

  // In place, at a precision in bits. Open where the result has no finite enclosure, Rejected where
  // the operation is undefined on exact values (division by zero, log of 0).
  void add(const Value& x, bool subtract, long precision);
  void multiply(const Value& x, long precision);
  void divide(const Value& x, long precision);
  void power(const Value& x, long precision);
  void negate();
  void cosine(long precision);
  void sine(long precision);
  void arccosine(long precision);
  void exponential(long precision);
  void logarithm(long precision);
  void root(long precision);
  void absolute(long precision);
  void floor(long precision);
  void distance(long precision);
  void least(const Value& x, bool greatest, long precision);
  void set_integer(const Integer& n);
  std::string text() const;

  /// The sign of a - b: -1, 0, 1. 0 only for equal exact values; Open where it is not clear.
  friend int compare(const Value& a, const Value& b, long precision);

 private:
  Ball& ball(long precision);    // turns the value into a ball
  void finite() const;           // Open unless the ball is finite
  void shorten(long precision);  // a ball, where the exact value has grown too long
  bool bits_too_long() const;

  bool exact_ = true;
  Rational p_, q_;
  Ball ball_;
};

}  // namespace checker
