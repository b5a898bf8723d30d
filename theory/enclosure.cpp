#include "theory/enclosure.hpp"

#include <algorithm>

#include "theory/error.hpp"

namespace ropewalk::theory {

namespace {

Integer power_of_ten(unsigned exponent) {
  return boost::multiprecision::pow(Integer(10), exponent);
}

// floor(log10(x)) for x > 0, by the sizes of numerator and denominator and one exact correction.
int decimal_exponent(const Rational& x) {
  const auto digits = [](const Integer& n) {
    return static_cast<int>(mpz_sizeinbase(n.backend().data(), 10));
  };
  int e = digits(numerator(x)) - digits(denominator(x));
  const auto at_least = [&](int k) {  // x >= 10^k
    return k >= 0 ? x >= Rational(power_of_ten(static_cast<unsigned>(k)))
                  : x * Rational(power_of_ten(static_cast<unsigned>(-k))) >= 1;
  };
  while (!at_least(e)) --e;
  while (at_least(e + 1)) ++e;
  return e;
}

struct Scientific {
  Integer digits;  // exactly `count` digits, or 0
  int exponent;    // value = digits[0].digits[1..] * 10^exponent
};

Scientific scientific(const Rational& magnitude, unsigned count, Round round) {
  const int e = decimal_exponent(magnitude);
  const int shift = static_cast<int>(count) - 1 - e;
  const Rational scaled =
      shift >= 0 ? Rational(magnitude * Rational(power_of_ten(static_cast<unsigned>(shift))))
                 : Rational(magnitude / Rational(power_of_ten(static_cast<unsigned>(-shift))));
  Integer n;
  switch (round) {
    case Round::down: n = floor(scaled); break;
    case Round::up: n = ceil(scaled); break;
    case Round::nearest: n = floor(Rational(scaled + Rational(1, 2))); break;
  }
  if (n == power_of_ten(count)) return {power_of_ten(count - 1), e + 1};
  return {n, e};
}

std::string plain_or_scientific(const std::string& digits, int exponent) {
  if (exponent >= 21 || exponent < -5) {
    std::string s = digits.substr(0, 1);
    if (digits.size() > 1) s += "." + digits.substr(1);
    return s + "e" + std::to_string(exponent);
  }
  if (exponent < 0)
    return "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return digits + std::string(whole - digits.size(), '0');
  return digits.substr(0, whole) + "." + digits.substr(whole);
}

}  // namespace

std::optional<Rational> Enclosure::relative_width() const {
  const Rational width = hi - lo;
  if (width.sign() == 0) return Rational(0);
  const auto s = sign(*this);
  if (!s) return std::nullopt;
  return width / (*s > 0 ? lo : Rational(-hi));
}

std::optional<int> sign(const Enclosure& x) {
  if (x.lo.sign() > 0) return 1;
  if (x.hi.sign() < 0) return -1;
  if (x.lo.sign() == 0 && x.hi.sign() == 0) return 0;
  return std::nullopt;
}

Rational detail::bound(mpfr_srcptr x, bool upper) {
  constexpr mpfr_exp_t widest = 1000000;
  if (mpfr_zero_p(x) != 0) return 0;
  if (mpfr_number_p(x) == 0 || mpfr_get_exp(x) > widest)
    throw Error(ErrorCode::undecided, "an enclosure has no bound that could be written out");
  Rational result;
  if (mpfr_get_exp(x) < -widest) {
    if ((mpfr_sgn(x) > 0) == upper) {  // away from 0: to the smallest size kept
      mpq_set_si(result.backend().data(), mpfr_sgn(x), 1);
      mpq_div_2exp(result.backend().data(), result.backend().data(), widest);
    }
    return result;
  }
  mpfr_get_q(result.backend().data(), x);
  return result;
}

std::string decimal(const Rational& x, unsigned digits, Round round) {
  if (x.sign() == 0) return "0";
  const bool negative = x.sign() < 0;
  if (negative && round != Round::nearest) round = round == Round::up ? Round::down : Round::up;
  const Scientific s = scientific(negative ? Rational(-x) : x, std::max(1U, digits), round);
  std::string text = s.digits.str();
  text.erase(std::max<std::size_t>(1, text.find_last_not_of('0') + 1));
  return (negative ? "-" : "") + plain_or_scientific(text, s.exponent);
}

std::string text(const Enclosure& x, unsigned digits) {
  if (x.exact()) {
    const std::string exact = x.lo.str();
    const std::string shown = decimal(x.lo, digits, Round::nearest);
    if (exact == shown) return exact;
    return exact.size() <= digits ? exact + " = " + shown : shown;
  }
  // Wide enclosures need few digits to be told apart, narrow ones all of them.
  const unsigned shown = x.hi - x.lo > abs(x.hi) / 1000 ? 4 : digits;
  const auto s = sign(x);
  if (!s)
    return "[" + decimal(x.lo, shown, Round::down) + ", " + decimal(x.hi, shown, Round::up) + "]";
  const Rational small = *s > 0 ? x.lo : Rational(-x.hi);
  const Rational large = *s > 0 ? x.hi : Rational(-x.lo);
  const Scientific a = scientific(small, digits, Round::down);
  const Scientific b = scientific(large, digits, Round::up);
  const std::string sign_text = *s > 0 ? "" : "-";
  if (a.exponent != b.exponent)
    return "[" + decimal(x.lo, shown, Round::down) + ", " + decimal(x.hi, shown, Round::up) + "]";
  const std::string low = a.digits.str();
  const std::string high = b.digits.str();
  const auto common = static_cast<std::size_t>(
      std::mismatch(low.begin(), low.end(), high.begin()).first - low.begin());
  if (common < 2)
    return "[" + decimal(x.lo, shown, Round::down) + ", " + decimal(x.hi, shown, Round::up) + "]";
  if (common == low.size()) return sign_text + plain_or_scientific(low, a.exponent);
  const auto tail = std::min<std::size_t>(2, low.size() - common);
  std::string sure = plain_or_scientific(low.substr(0, common), a.exponent);
  std::string exponent;
  if (const auto e = sure.find('e'); e != std::string::npos) {
    exponent = sure.substr(e);
    sure.erase(e);
  }
  // A whole part longer than the sure digits cannot carry a bracket in place.
  if (a.exponent >= 0 && exponent.empty() && common <= static_cast<std::size_t>(a.exponent) + 1)
    return "[" + decimal(x.lo, digits, Round::down) + ", " + decimal(x.hi, digits, Round::up) + "]";
  // The low continuation is cut, the high one cut and raised, so that the bracket still encloses.
  const std::string low_tail = low.substr(common, tail);
  std::string high_tail = high.substr(common, tail);
  if (common + tail < high.size()) {
    Integer raised = Integer(high_tail) + 1;
    std::string r = raised.str();
    if (r.size() > tail)
      return "[" + decimal(x.lo, digits, Round::down) + ", " + decimal(x.hi, digits, Round::up) +
             "]";
    high_tail = std::string(tail - r.size(), '0') + r;
  }
  return sign_text + sure + "[" + low_tail + "," + high_tail + "]" + exponent;
}

}  // namespace ropewalk::theory
