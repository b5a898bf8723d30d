#include "number.hpp"

#include <algorithm>

namespace checker {

namespace {

constexpr long exact_bits = 1 << 16;  // longer exact values become balls
constexpr long decimals = 10000;

long bits(const mpq_class& x) {
  return static_cast<long>(mpz_sizeinbase(x.get_num_mpz_t(), 2) +
                           mpz_sizeinbase(x.get_den_mpz_t(), 2));
}

void absolute(Value& v, long precision) {
  if (!v.exact) return arb_abs(v.ball, v.ball);
  if (compare(v, Value(), precision) < 0) v = {-v.p, -v.q};
}

void floor(Value& v, long precision) {
  if (v.rational()) return void(v = mpq_class(floor_of(v.p)));
  const Ball x = v.enclosure(precision);
  if (arf_cmpabs_2exp_si(arb_midref(x), exact_bits) > 0) throw Open("floor of a huge value");
  const mpz_class n = end_of(x, false, ARF_RND_FLOOR);
  if (n != end_of(x, true, ARF_RND_FLOOR)) throw Open("floor of a value next to an integer");
  v = mpq_class(n);
}

void distance(Value& v, long precision) {
  Value nearest = v;
  nearest.add(mpq_class(1, 2), precision);
  floor(nearest, precision);
  v.add(nearest, precision, true);
  absolute(v, precision);
}

// cos(q pi) is rational only for q a multiple of 1/2 or 1/3 (Niven).
void cosine(Value& v, long precision) {
  if (!v.exact || v.p != 0) return v.apply(arb_cos, precision);
  const mpq_class turns = v.q / 2, sixths = 6 * (v.q - 2 * floor_of(turns));  // in [0, 12)
  static constexpr int doubled[12] = {2, 9, 1, 0, -1, 9, -2, 9, -1, 0, 1, 9};
  if (sixths.get_den() == 1 && doubled[sixths.get_num().get_ui()] != 9) {
    v = mpq_class(doubled[sixths.get_num().get_ui()], 2);
    v.p.canonicalize();
  } else {
    v = Value(mpq_class(sixths / 6));
    v.apply(arb_cos_pi, precision);
  }
}

void sine(Value& v, long precision) {  // cos(x - pi/2)
  v.add({0, mpq_class(1, 2)}, precision, true);
  cosine(v, precision);
}

void arccosine(Value& v, long precision) {
  const mpz_class doubled = floor_of(2 * v.p);
  if (!v.rational() || doubled != 2 * v.p || abs(doubled) > 2) return v.apply(arb_acos, precision);
  static constexpr int sixths[5] = {6, 4, 3, 2, 0};  // acos of -1, -1/2, 0, 1/2, 1
  v = {0, mpq_class(sixths[doubled.get_si() + 2], 6)};
  v.q.canonicalize();
}

}  // namespace

const std::map<std::string, Function> functions = {
    {"cos", cosine},
    {"sin", sine},
    {"acos", arccosine},
    {"abs", absolute},
    {"floor", floor},
    {"distance", distance},
    {"exp", [](Value& v, long precision) { v.apply(arb_exp, precision); }},
    {"log", [](Value& v, long precision) { v.apply(arb_log, precision); }},
    {"sqrt", [](Value& v, long precision) { v.apply(arb_sqrt, precision); }}};

Ball::Ball(const mpq_class& r, long precision) : Ball() {
  arf_set_mpz(arb_midref(x_), r.get_num_mpz_t());
  if (r.get_den() == 1) {
    arb_set_round(x_, x_, precision);
    return;
  }
  Ball below;
  arf_set_mpz(arb_midref(below), r.get_den_mpz_t());
  arb_div(x_, x_, below, precision);
}

mpz_class end_of(const Ball& x, bool upper, arf_rnd_t rounding) {
  mpz_class out;
  arf_t end;
  fmpz_t n;
  arf_init(end);
  fmpz_init(n);
  (upper ? arb_get_ubound_arf : arb_get_lbound_arf)(end, x, 2 * exact_bits);
  arf_get_fmpz(n, end, rounding);
  fmpz_get_mpz(out.get_mpz_t(), n);
  fmpz_clear(n);
  arf_clear(end);
  return out;
}

mpz_class floor_of(const mpq_class& x) {
  mpz_class out;
  mpz_fdiv_q(out.get_mpz_t(), x.get_num_mpz_t(), x.get_den_mpz_t());
  return out;
}

mpq_class parse_number(const std::string& text, bool fraction) {
  if (const size_t slash = text.find('/'); fraction && slash != std::string::npos) {
    const mpq_class below = parse_number(text.substr(slash + 1), false);
    if (below > 0) return parse_number(text.substr(0, slash), false) / below;
  }
  const std::string shown = "'" + text.substr(0, 60) + "'";
  size_t at = 0;
  const auto eat = [&](const std::string& set) {
    const bool yes = at < text.size() && set.find(text[at]) != std::string::npos;
    at += yes ? 1 : 0;
    return yes;
  };
  const auto digits = [&] {
    const size_t from = at;
    while (eat("0123456789")) continue;
    if (at == from) throw Malformed(shown + " is no number");
    return text.substr(from, at - from);
  };
  const bool minus = eat("-");
  std::string mantissa = digits();
  long exponent = 0;
  if (eat(".")) {
    const std::string places = digits();
    mantissa += places;
    exponent = -static_cast<long>(places.size());
  }
  if (eat("eE")) {
    const bool down = eat("-");
    if (!down) eat("+");
    const std::string power = digits();
    if (power.size() > 6 || std::stol(power) > decimals)
      throw Malformed("the power of ten of " + shown + " is beyond 10000");
    exponent += down ? -std::stol(power) : std::stol(power);
  }
  if (at < text.size()) throw Malformed(shown + " is no number");
  if (mantissa.size() > decimals) throw Malformed(shown + "... has more than 10000 digits");
  mpz_class n(mantissa, 10), scale;
  mpz_ui_pow_ui(scale.get_mpz_t(), 10, static_cast<unsigned long>(std::abs(exponent)));
  if (minus) n = -n;
  mpq_class out = exponent < 0 ? mpq_class(n, scale) : mpq_class(n * scale);
  out.canonicalize();
  return out;
}

Ball Value::enclosure(long precision) const {
  if (!exact) return ball;
  Ball out(p, precision);
  if (q == 0) return out;
  Ball pi;
  arb_const_pi(pi, precision);
  arb_addmul(out, pi, Ball(q, precision), precision);
  return out;
}

std::string Value::text() const {
  char* text = arb_get_str(enclosure(128), 20, 0);
  std::string out = text;
  flint_free(text);
  return out;
}

void Value::apply(void (*function)(arb_t, const arb_t, slong), long precision) {
  ball = enclosure(precision);
  exact = false;
  function(ball, ball, precision);
  if (!arb_is_finite(ball)) throw Open("a value has no finite enclosure");
}

void Value::combine(void (*f)(arb_t, const arb_t, const arb_t, slong), const Value& x,
                    long precision) {
  ball = enclosure(precision);
  exact = false;
  f(ball, ball, x.enclosure(precision), precision);
  if (!arb_is_finite(ball)) throw Open("a value has no finite enclosure");
}

void Value::shorten(long precision) {
  if (bits(p) + bits(q) <= exact_bits) return;
  ball = enclosure(precision);
  exact = false;
}

void Value::add(const Value& x, long precision, bool subtract) {
  if (!exact || !x.exact) return combine(subtract ? arb_sub : arb_add, x, precision);
  subtract ? p -= x.p : p += x.p;
  subtract ? q -= x.q : q += x.q;
  shorten(precision);
}

void Value::multiply(const Value& x, long precision) {
  if (!exact || !x.exact || (q != 0 && x.q != 0)) return combine(arb_mul, x, precision);
  q = p * x.q + q * x.p;
  p *= x.p;
  shorten(precision);
}

void Value::divide(const Value& x, long precision) {
  if (x.rational() && x.p == 0) throw Rejected("division by zero");
  if (exact && x.rational()) {
    p /= x.p;
    q /= x.p;
  } else if (exact && x.exact && p == 0 && x.p == 0) {
    p = q / x.q;
    q = 0;
  } else {
    return combine(arb_div, x, precision);
  }
  shorten(precision);
}

void Value::power(const Value& x, long precision) {
  const long longest = exact_bits / std::max(1L, bits(p) - 2);
  if (!rational() || !x.integer() || abs(x.p) > longest) return combine(arb_pow, x, precision);
  if (p == 0 && x.p < 0) throw Rejected("division by zero");
  const auto n = mpz_class(abs(x.p.get_num())).get_ui();
  mpz_pow_ui(p.get_num_mpz_t(), p.get_num_mpz_t(), n);
  mpz_pow_ui(p.get_den_mpz_t(), p.get_den_mpz_t(), n);
  if (x.p < 0) p = 1 / p;
}

void Value::least(const Value& x, long precision, bool greatest) {
  if (!exact || !x.exact) return combine(greatest ? arb_max : arb_min, x, precision);
  if (compare(x, *this, precision) == (greatest ? 1 : -1)) *this = x;
}

int compare(const Value& a, const Value& b, long precision) {
  Value difference = a;
  if (a.exact && b.exact) {
    if (a.q == b.q) return sgn(a.p - b.p);
    difference = {a.p - b.p, a.q - b.q};  // not 0, as pi is irrational
    precision += bits(difference.p) + bits(difference.q);
  } else {
    difference.add(b, precision, true);
  }
  const Ball d = difference.enclosure(precision);
  if (arb_contains_zero(d)) throw Open("two values are too close");
  return arb_is_positive(d) ? 1 : -1;
}

}  // namespace checker
