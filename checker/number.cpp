#include "number.hpp"

#include <algorithm>
#include <regex>

namespace checker {

namespace {

constexpr long exact_bits = 1 << 16;  // longer exact values become balls

mpq_class ratio(const mpz_class& n, const mpz_class& d) {
  mpq_class out(n, d);
  out.canonicalize();
  return out;
}

long bits(const mpq_class& x) {
  return static_cast<long>(mpz_sizeinbase(x.get_num_mpz_t(), 2) +
                           mpz_sizeinbase(x.get_den_mpz_t(), 2));
}

template <Ball::Unary function>
void enclose(Value& v) {
  v.become({function, v.enclosure()});
}

void absolute(Value& v) {
  if (!v.exact)
    arb_abs(v.ball, v.ball);
  else if (compare(v, 0) < 0)
    v *= -1;
}

void floor_value(Value& v) {
  const Ball x = v.enclosure();
  const mpz_class n = v.rational() ? floor(v.p) : end_of(x, false, ARF_RND_FLOOR);
  if (!v.rational() && n != end_of(x, true, ARF_RND_FLOOR))
    throw Open("floor of a value next to an integer");
  v = Value(mpq_class(n));
}

void distance(Value& v) {
  Value nearest = v + Value(mpq_class(1, 2));
  floor_value(nearest);
  v -= nearest;
  absolute(v);
}

// cos(q pi) is rational only for q a multiple of 1/2 or 1/3 (Niven).
void cosine(Value& v) {
  if (!v.exact || v.p != 0) return enclose<arb_cos>(v);
  const mpq_class turns = v.q / 2, sixths = 6 * (v.q - 2 * floor(turns));  // in [0, 12)
  static constexpr int doubled[12] = {2, 9, 1, 0, -1, 9, -2, 9, -1, 0, 1, 9};
  const int rational = sixths.get_den() == 1 ? doubled[sixths.get_num().get_ui()] : 9;
  v = rational == 9 ? Value(mpq_class(sixths / 6)) : Value(ratio(rational, 2));
  if (rational == 9) enclose<arb_cos_pi>(v);
}

void sine(Value& v) {
  v -= Value(0, mpq_class(1, 2));
  cosine(v);
}

void arccosine(Value& v) {
  const mpz_class doubled = floor(2 * v.p);
  if (!v.rational() || doubled != 2 * v.p || abs(doubled) > 2) return enclose<arb_acos>(v);
  static constexpr int sixths[5] = {6, 4, 3, 2, 0};  // acos of -1, -1/2, 0, 1/2, 1
  v = Value(0, ratio(sixths[doubled.get_si() + 2], 6));
}

}  // namespace

const std::map<std::string, Function> functions = {{"cos", cosine},
                                                   {"sin", sine},
                                                   {"acos", arccosine},
                                                   {"abs", absolute},
                                                   {"floor", floor_value},
                                                   {"distance", distance},
                                                   {"exp", enclose<arb_exp>},
                                                   {"log", enclose<arb_log>},
                                                   {"sqrt", enclose<arb_sqrt>}};

Value cos(Value x) {
  cosine(x);
  return x;
}

Ball::Ball(const mpq_class& r) : Ball() {
  arf_set_mpz(arb_midref(x_), r.get_num_mpz_t());
  if (r.get_den() != 1) *this = *this / Ball(mpq_class(r.get_den()));
}

Ball pi() {
  Ball out;
  arb_const_pi(out, precision);
  return out;
}

mpz_class end_of(const Ball& x, bool upper, arf_rnd_t rounding, long shift) {
  mpz_class out;
  arf_t end;
  fmpz_t n;
  arf_init(end);
  fmpz_init(n);
  (upper ? arb_get_ubound_arf : arb_get_lbound_arf)(end, x, 2 * exact_bits);
  const bool huge = !arf_is_finite(end) || arf_cmpabs_2exp_si(end, exact_bits) > 0;
  if (huge) arf_zero(end);
  arf_mul_2exp_si(end, end, shift);
  arf_get_fmpz(n, end, rounding);
  fmpz_get_mpz(out.get_mpz_t(), n);
  fmpz_clear(n);
  arf_clear(end);
  if (huge) throw Open("a huge value");
  return out;
}

mpz_class floor(const mpq_class& x) {
  mpz_class out;
  mpz_fdiv_q(out.get_mpz_t(), x.get_num_mpz_t(), x.get_den_mpz_t());
  return out;
}

mpz_class mod(const mpz_class& a, const mpz_class& b) {
  mpz_class out;
  mpz_fdiv_r(out.get_mpz_t(), a.get_mpz_t(), b.get_mpz_t());
  return out;
}

mpq_class parse_number(const std::string& text, bool fraction) {
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

std::string Value::text() const {
  const AtPrecision at(128);
  char* text = arb_get_str(enclosure(), 20, 0);
  std::string out = text;
  flint_free(text);
  return out;
}

Value& Value::become(Ball b) {
  if (!arb_is_finite(b)) throw Open("a value has no finite enclosure");
  exact = false;
  ball = std::move(b);
  return *this;
}

Value& Value::set(const mpq_class& p_part, const mpq_class& q_part) {
  p = p_part;
  q = q_part;
  return bits(p) + bits(q) > exact_bits ? become(enclosure()) : *this;
}

Value& Value::operator*=(const Value& x) {
  if (rational() && x.rational()) return set(p * x.p, 0);
  if (exact && x.exact && (q == 0 || x.q == 0)) return set(p * x.p, p * x.q + q * x.p);
  return become(enclosure() * x.enclosure());
}

Value& Value::operator/=(const Value& x) {
  if (x.rational() && x.p == 0) throw Rejected("division by zero");
  if (exact && x.rational()) return set(p / x.p, q / x.p);
  if (exact && x.exact && p == 0 && x.p == 0) return set(q / x.q, 0);
  return become(enclosure() / x.enclosure());
}

void Value::power(const Value& x) {
  const long longest = exact_bits / std::max(1L, bits(p) - 2);
  if (!rational() || !x.integer() || abs(x.p) > longest)
    return void(become({arb_pow, enclosure(), x.enclosure()}));
  if (p == 0 && x.p < 0) throw Rejected("division by zero");
  const unsigned long n = mpz_class(abs(x.p.get_num())).get_ui();
  mpz_pow_ui(p.get_num_mpz_t(), p.get_num_mpz_t(), n);
  mpz_pow_ui(p.get_den_mpz_t(), p.get_den_mpz_t(), n);
  if (x.p < 0) p = 1 / p;
}

void Value::least(const Value& x, bool greatest) {
  if (!exact || !x.exact)
    become({greatest ? arb_max : arb_min, enclosure(), x.enclosure()});
  else if (compare(x, *this) == (greatest ? 1 : -1))
    *this = x;
}

int compare(const Value& a, const Value& b) {
  // pi is irrational: exact values with other multiples of it differ.
  const bool exact = a.exact && b.exact;
  if (exact && a.q == b.q) return sgn(a.p - b.p);
  const AtPrecision at(precision + (exact ? bits(a.p) + bits(b.p) + bits(a.q) + bits(b.q) : 0));
  const Ball difference = (a - b).enclosure();
  if (arb_contains_zero(difference)) throw Open("two values are too close");
  return arb_is_positive(difference) ? 1 : -1;
}

}  // namespace checker
