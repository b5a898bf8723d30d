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

/// Asks at 128, 512 and 2048 bits, and `more`, until the answer is no longer Open.
template <class Ask>
auto settle(const Ask& ask, long more = 0) {
  for (const long precision : {128L, 512L}) try {
      return ask(precision + more);
    } catch (const Open&) {
    }
  return ask(2048 + more);
}

class Ball {
 public:
  Ball() { arb_init(x_); }
  Ball(const mpq_class& r, long precision);
  Ball(const Ball& other) : Ball() { arb_set(x_, other.x_); }
  Ball& operator=(const Ball& other) {
    arb_set(x_, other.x_);
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

/// An end of the ball, rounded to an integer; within 2^-131072 of its own size, on the safe side.
mpz_class end_of(const Ball& x, bool upper, arf_rnd_t rounding);
mpz_class floor_of(const mpq_class& x);
/// "-1.5e3" or, with `fraction`, "2/3". Up to 10000 digits and powers of ten; else Malformed.
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
  Ball enclosure(long precision) const;
  std::string text() const;

  // In place. Open where the result has no finite enclosure at this precision.
  void add(const Value& x, long precision, bool subtract = false);
  void multiply(const Value& x, long precision);
  void divide(const Value& x, long precision);
  void power(const Value& x, long precision);
  void least(const Value& x, long precision, bool greatest);
  /// The same with a function of Arb's.
  void apply(void (*function)(arb_t, const arb_t, slong), long precision);

 private:
  void combine(void (*f)(arb_t, const arb_t, const arb_t, slong), const Value& x, long precision);
  void shorten(long precision);
};

/// -1, 0 or 1 as a is below, equal to or above b. 0 only for exact values.
int compare(const Value& a, const Value& b, long precision);

using Function = void (*)(Value&, long precision);
/// The functions of one argument by name.
extern const std::map<std::string, Function> functions;

}  // namespace checker
