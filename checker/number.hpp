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

#include <map>
#include <stdexcept>
#include <string>
#include <utility>

namespace checker {

/// No certificate: wrong syntax, keys or types, or beyond a stated limit.
struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// A certificate, and a fact of it does not check.
struct Rejected : std::runtime_error {
  using std::runtime_error::runtime_error;
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
  Ball(const mpq_class& r);
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
  arb_srcptr operator->() const { return x_; }

 private:
  arb_t x_;
};
inline Ball operator+(const Ball& a, const Ball& b) { return {arb_add, a, b}; }
inline Ball operator-(const Ball& a, const Ball& b) { return {arb_sub, a, b}; }
inline Ball operator*(const Ball& a, const Ball& b) { return {arb_mul, a, b}; }
inline Ball operator/(const Ball& a, const Ball& b) { return {arb_div, a, b}; }
Ball pi();

/// An end of the ball times 2^shift, rounded to an integer; always on the safe side.
mpz_class end_of(const Ball& x, bool upper, arf_rnd_t rounding, long shift = 0);
/// Rounded down; the remainder in [0, b); 2^e.
mpz_class floor(const mpq_class& x);
mpz_class mod(const mpz_class& a, const mpz_class& b);
inline mpz_class two_to(long e) { return mpz_class(1) << static_cast<unsigned long>(e); }
/// "-1.5e3" or, with `fraction`, "2/3". Up to 2000 characters and powers of ten up to 10000; else
/// Malformed.
mpq_class parse_number(const std::string& text, bool fraction);

struct Value {
  bool exact = true;
  mpq_class p, q;  // p + q pi, where exact
  Ball ball;       // where not

  Value(long n = 0) : p(n) {}
  Value(const mpq_class& p_part, const mpq_class& q_part = 0) : p(p_part), q(q_part) {}
  explicit Value(const Ball& b) : exact(false), ball(b) {}
  bool rational() const { return exact && q == 0; }
  bool integer() const { return rational() && p.get_den() == 1; }
  Ball enclosure() const { return !exact ? ball : q == 0 ? Ball(p) : Ball(p) + Ball(q) * pi(); }
  std::string text() const;

  // Open where the result has no finite enclosure at this precision.
  Value& operator+=(const Value& x) {
    return exact && x.exact ? set(p + x.p, q + x.q) : become(enclosure() + x.enclosure());
  }
  Value& operator-=(const Value& x) {
    return exact && x.exact ? set(p - x.p, q - x.q) : become(enclosure() - x.enclosure());
  }
  Value& operator*=(const Value& x);
  Value& operator/=(const Value& x);
  void power(const Value& x);
  void least(const Value& x, bool greatest);
  Value& set(const mpq_class& p_part, const mpq_class& q_part);
  Value& become(Ball b);
};
inline Value operator+(Value a, const Value& b) { return a += b; }
inline Value operator-(Value a, const Value& b) { return a -= b; }
inline Value operator*(Value a, const Value& b) { return a *= b; }
inline Value operator/(Value a, const Value& b) { return a /= b; }

/// -1, 0 or 1 as a is below, equal to or above b. 0 only for exact values.
int compare(const Value& a, const Value& b);

using Function = void (*)(Value&);
/// The functions of one argument by name, in place.
extern const std::map<std::string, Function> functions;
Value cos(Value x);

}  // namespace checker
