#pragma once
/// \file
/// Formula: a real number kept as the expression that defines it.
///
/// A rotary frequency such as 10000^(-2/64)/8 is not a double; rounding it once and multiplying by
/// a lag of a million loses every digit. A Formula keeps the expression and can be evaluated in any
/// scalar at any precision, printed, compared with certainty, and asked the question on which the
/// whole theory of one-plane heads turns: is the angle a rational number of turns?
///
///   Formula theta = Formula::parse("10000^(-2/64)/8");
///   theta.as<double>();                 // 0.0937...
///   enclosure(theta.as<Interval<40>>()) // 38 sure digits
///   Formula::parse("pi*2/7").turns();   // 1/7, exactly
///
/// Grammar (the text form, also what `text()` prints):
///   sum    := term (('+'|'-') term)*
///   term   := factor (('*'|'/') factor)*
///   factor := ['-'] power          power := atom ['^' factor]     (the exponent must be rational)
///   atom   := NUMBER | 'pi' | ('acos'|'log'|'sqrt') '(' sum ')' | '(' sum ')'
/// NUMBER is an unsigned decimal, taken exactly: 0.1 is one tenth. No spaces are needed, any are
/// skipped.

#include <compare>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "theory/enclosure.hpp"
#include "theory/error.hpp"
#include "theory/number.hpp"

namespace ropewalk::theory {

class Formula {
 public:
  enum class Op { number, pi, add, multiply, divide, power, acos, log };

  Formula() : Formula(Rational(0)) {}
  Formula(const Rational& value);  // NOLINT(google-explicit-constructor)
  Formula(std::integral auto value) : Formula(Rational(value)) {}  // NOLINT
  static Formula pi();
  /// Throws Error(parse) naming the position; Error(bad_value) for 1/0, log of a number <= 0, acos
  /// outside [-1, 1]; Error(too_large) beyond 5000 digits or 64 levels.
  static Formula parse(std::string_view text);

  friend Formula operator+(const Formula& x, const Formula& y);
  friend Formula operator-(const Formula& x, const Formula& y);
  friend Formula operator*(const Formula& x, const Formula& y);
  friend Formula operator/(const Formula& x, const Formula& y);
  friend Formula operator-(const Formula& x);
  /// x^e for a rational e. Domain: x > 0, or e an integer and x != 0 where e < 0.
  friend Formula pow(const Formula& x, const Rational& e);
  friend Formula sqrt(const Formula& x) { return pow(x, Rational(1, 2)); }
  friend Formula log(const Formula& x);
  friend Formula acos(const Formula& x);

  /// The value in scalar S. Guarantee: that of S. Throws Error(not_exact) for S = Rational where
  /// the value is not known to be rational. Cost: one operation per node.
  template <class S>
  [[nodiscard]] S as() const;

  /// The value where the expression folds to a rational number. Exact.
  [[nodiscard]] std::optional<Rational> rational() const;
  /// The value divided by 2 pi where that is known to be rational. Exact.
  [[nodiscard]] std::optional<Rational> turns() const;
  /// True only if value / 2 pi is proven irrational: a non-zero algebraic number (pi is
  /// transcendental), or acos of a rational other than 0, +-1/2, +-1 (Niven).
  [[nodiscard]] bool irrational_turns() const;
  /// cos of the value where it is known to be rational. Exact.
  [[nodiscard]] std::optional<Rational> rational_cosine() const;

  [[nodiscard]] std::string text() const;

 private:
  struct Node {
    Op op;
    Rational value;  // number: the value; power: the exponent
    std::vector<Formula> args;
  };
  explicit Formula(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  static Formula make(Op op, Rational value, std::vector<Formula> args);
  [[nodiscard]] bool algebraic() const;
  [[nodiscard]] std::string text(int parent) const;

  std::shared_ptr<const Node> node_;
};

/// The certain order of two formulas: exact where both are rational or both rational multiples of
/// pi, otherwise by intervals at rising precision. Nothing where 2560 digits do not separate them.
[[nodiscard]] std::optional<std::strong_ordering> compare(const Formula& x, const Formula& y);
/// -1, 0, +1 likewise.
[[nodiscard]] std::optional<int> sign(const Formula& x);
/// Largest integer <= x. Throws Error(undecided) where x cannot be told from an integer.
[[nodiscard]] Integer floor(const Formula& x);
[[nodiscard]] Integer ceil(const Formula& x);
/// Enclosure with relative width below 10^-digits (or exact). Throws Error(undecided) past the
/// ladder.
[[nodiscard]] Enclosure enclose(const Formula& x, unsigned digits);
/// x / 2 pi in scalar S; exact where the turns are rational.
template <class S>
[[nodiscard]] S turns(const Formula& x) {
  if (const auto r = x.turns()) return Scalar<S>::from(*r);
  return x.as<S>() / (S(2) * Scalar<S>::pi());
}

// ---------------------------------------------------------------------------------------------------

namespace detail {
/// x^e for integer e by squaring; S any scalar.
template <class S>
S integer_power(S x, Integer e) {
  if (e < 0) return S(1) / integer_power(x, Integer(-e));
  S result(1);
  while (e != 0) {
    if (bit_test(e, 0)) result *= x;
    e >>= 1;
    if (e != 0) x *= x;
  }
  return result;
}
}  // namespace detail

template <class S>
S Formula::as() const {
  if (const auto r = rational()) return Scalar<S>::from(*r);
  if constexpr (std::is_same_v<S, Rational>) {
    throw Error(ErrorCode::not_exact, text() + " is not a rational number");
  } else {
    using std::acos, std::exp, std::log;
    const auto arg = [&](std::size_t i) { return node_->args[i].template as<S>(); };
    switch (node_->op) {
      case Op::number: break;
      case Op::pi: return Scalar<S>::pi();
      case Op::add: return arg(0) + arg(1);
      case Op::multiply: return arg(0) * arg(1);
      case Op::divide: return arg(0) / arg(1);
      case Op::power:
        if (denominator(node_->value) == 1)
          return detail::integer_power<S>(arg(0), Integer(numerator(node_->value)));
        return exp(S(Scalar<S>::from(node_->value) * log(arg(0))));
      case Op::acos: return acos(arg(0));
      case Op::log: return log(arg(0));
    }
    return Scalar<S>::from(node_->value);
  }
}

}  // namespace ropewalk::theory
