#include "theory/formula.hpp"

#include <algorithm>
#include <cctype>

namespace ropewalk::theory {

namespace {

constexpr unsigned longest_exponent = 5000;   // decimal digits and integer powers
constexpr std::size_t widest_number = 66439;  // bits: 20000 digits
constexpr std::size_t longest_text = 20000;
constexpr unsigned long widest_power = 16610;  // bits of a power that is written out: 5000 digits

bool is(const Formula& x, int value) {
  const auto r = x.rational();
  return r && *r == value;
}

// cos(2 pi r) for the only rational r that give a rational cosine (Niven).
std::optional<Rational> cosine_of_turns(const Rational& r) {
  const Rational d = distance_to_integer(r);
  if (d == 0) return Rational(1);
  if (d == Rational(1, 6)) return Rational(1, 2);
  if (d == Rational(1, 4)) return Rational(0);
  if (d == Rational(1, 3)) return Rational(-1, 2);
  if (d == Rational(1, 2)) return Rational(-1);
  return std::nullopt;
}

}  // namespace

Formula::Formula(const Rational& value)
    : node_(std::make_shared<const Node>(Node{Op::number, value, {}})) {
  const auto bits = [](mpz_srcptr n) { return mpz_sizeinbase(n, 2); };
  if (bits(mpq_numref(value.backend().data())) > widest_number ||
      bits(mpq_denref(value.backend().data())) > widest_number)
    throw Error(ErrorCode::too_large, "a number of more than 20000 digits");
}

Formula Formula::make(Op op, Rational value, std::vector<Formula> args) {
  return Formula(std::make_shared<const Node>(Node{op, std::move(value), std::move(args)}));
}

Formula Formula::pi() { return make(Op::pi, 0, {}); }

Formula operator+(const Formula& x, const Formula& y) {
  if (is(x, 0)) return y;
  if (is(y, 0)) return x;
  if (const auto a = x.rational(), b = y.rational(); a && b) return {Rational(*a + *b)};
  return Formula::make(Formula::Op::add, 0, {x, y});
}

Formula operator-(const Formula& x) { return Formula(-1) * x; }
Formula operator-(const Formula& x, const Formula& y) { return x + (-y); }

Formula operator*(const Formula& x, const Formula& y) {
  const auto a = x.rational();
  const auto b = y.rational();
  if (a && b) return {Rational(*a * *b)};
  if ((a && *a == 0) || (b && *b == 0)) return {0};
  if (a && *a == 1) return y;
  if (b && *b == 1) return x;
  if (b) return y * x;
  if (a && y.node_->op == Formula::Op::multiply)
    if (const auto c = y.node_->args[0].rational())
      return Formula(Rational(*a * *c)) * y.node_->args[1];
  return Formula::make(Formula::Op::multiply, 0, {x, y});
}

Formula operator/(const Formula& x, const Formula& y) {
  const auto b = y.rational();
  if (y.turns() == Rational(0)) throw Error(ErrorCode::bad_value, "division by zero in a formula");
  if (const auto a = x.rational()) {
    if (b) return {Rational(*a / *b)};
    if (*a == 0) return {0};
  }
  if (b && *b == 1) return x;
  return Formula::make(Formula::Op::divide, 0, {x, y});
}

Formula pow(const Formula& x, const Rational& e) {
  if (e == 0) return {1};
  if (e == 1) return x;
  const bool whole = denominator(e) == 1;
  const auto s = sign(x);
  if (s && *s == 0) {
    if (e < 0) throw Error(ErrorCode::bad_value, "0 raised to a negative power");
    return {0};
  }
  if (!whole && (!s || *s < 0))
    throw Error(ErrorCode::bad_value, "fractional power of a number that is not positive");
  if (const auto r = x.rational()) {
    if (*r == 1) return {1};
    if (whole) {
      const auto width = std::max(msb(Integer(abs(numerator(*r)))), msb(denominator(*r)));
      if (abs(e) > longest_exponent || abs(e) * Rational(width) > widest_power)
        throw Error(ErrorCode::too_large,
                    "a power of exponent " + e.str() + " is beyond 5000 digits");
      return {detail::integer_power<Rational>(*r, Integer(numerator(e)))};
    }
  }
  return Formula::make(Formula::Op::power, e, {x});
}

Formula log(const Formula& x) {
  if (sign(x) != 1) throw Error(ErrorCode::bad_value, "log of a number that is not positive");
  if (is(x, 1)) return {0};
  return Formula::make(Formula::Op::log, 0, {x});
}

Formula acos(const Formula& x) {
  const auto below = compare(x, Formula(-1));
  const auto above = compare(x, Formula(1));
  if (!below || !above || *below < 0 || *above > 0)
    throw Error(ErrorCode::bad_value, "acos of a number outside [-1, 1]");
  if (const auto r = x.rational()) {
    for (const auto& [cosine, turns] :
         std::initializer_list<std::pair<Rational, Rational>>{{1, 0},
                                                              {Rational(1, 2), Rational(1, 6)},
                                                              {0, Rational(1, 4)},
                                                              {Rational(-1, 2), Rational(1, 3)},
                                                              {-1, Rational(1, 2)}})
      if (*r == cosine) return Formula(Rational(2 * turns)) * Formula::pi();
  }
  return Formula::make(Formula::Op::acos, 0, {x});
}

std::optional<Rational> Formula::rational() const {
  if (node_->op == Op::number) return node_->value;
  return std::nullopt;
}

std::optional<Rational> Formula::turns() const {
  switch (node_->op) {
    case Op::number:
      if (node_->value == 0) return Rational(0);
      return std::nullopt;
    case Op::pi: return Rational(1, 2);
    case Op::add: {
      const auto a = node_->args[0].turns();
      const auto b = node_->args[1].turns();
      if (a && b) return Rational(*a + *b);
      return std::nullopt;
    }
    case Op::multiply: {
      const auto factor = node_->args[0].rational();
      const auto rest = node_->args[1].turns();
      if (factor && rest) return Rational(*factor * *rest);
      return std::nullopt;
    }
    case Op::divide: {
      const auto top = node_->args[0].turns();
      const auto divisor = node_->args[1].rational();
      if (top && divisor) return Rational(*top / *divisor);
      return std::nullopt;
    }
    case Op::power:
    case Op::acos:
    case Op::log: return std::nullopt;
  }
  return std::nullopt;
}

bool Formula::algebraic() const {
  switch (node_->op) {
    case Op::number: return true;
    case Op::pi:
    case Op::acos:
    case Op::log: return false;
    case Op::add:
    case Op::multiply:
    case Op::divide: return node_->args[0].algebraic() && node_->args[1].algebraic();
    case Op::power: return node_->args[0].algebraic();
  }
  return false;
}

bool Formula::irrational_turns() const {
  if (node_->op == Op::acos) return node_->args[0].rational().has_value();
  if (!algebraic()) return false;
  const auto s = sign(*this);
  return s && *s != 0;
}

std::optional<Rational> Formula::rational_cosine() const {
  if (const auto r = turns()) return cosine_of_turns(*r);
  if (node_->op == Op::acos) return node_->args[0].rational();
  return std::nullopt;
}

std::string Formula::text() const { return text(0); }

// Precedence: 1 sum, 2 product, 3 power, 4 atom.
std::string Formula::text(int parent) const {
  std::string s;
  int own = 4;
  switch (node_->op) {
    case Op::number: {
      s = node_->value.str();
      if (s.find('/') != std::string::npos) own = 2;
      if (s.front() == '-') own = 1;
      break;
    }
    case Op::pi: s = "pi"; break;
    case Op::add: {
      own = 1;
      const std::string right = node_->args[1].text(1);
      s = node_->args[0].text(1) + (right.front() == '-' ? "" : "+") + right;
      break;
    }
    case Op::multiply:
      own = 2;
      if (is(node_->args[0], -1)) {
        own = 1;
        s = "-" + node_->args[1].text(2);
      } else {
        s = node_->args[0].text(2) + "*" + node_->args[1].text(2);
      }
      break;
    case Op::divide:
      own = 2;
      s = node_->args[0].text(2) + "/" + node_->args[1].text(3);
      break;
    case Op::power:
      own = 3;
      s = node_->args[0].text(4) + "^(" + node_->value.str() + ")";
      break;
    case Op::acos: s = "acos(" + node_->args[0].text(0) + ")"; break;
    case Op::log: s = "log(" + node_->args[0].text(0) + ")"; break;
  }
  return own < parent ? "(" + s + ")" : s;
}

std::optional<std::strong_ordering> compare(const Formula& x, const Formula& y) {
  if (const auto s = sign(x - y)) return *s <=> 0;
  return std::nullopt;
}

std::optional<int> sign(const Formula& x) {
  if (const auto r = x.rational()) return r->sign();
  if (const auto t = x.turns()) return t->sign();
  return at_rising_precision([&]<class I>() { return sign(x.as<I>()); });
}

Integer floor(const Formula& x) {
  if (const auto r = x.rational()) return floor(*r);
  const auto result = at_rising_precision([&]<class I>() -> std::optional<Integer> {
    const I value = x.as<I>();
    if (!value.bounded()) return std::nullopt;
    const Enclosure e = enclosure(value);
    const Integer low = floor(e.lo);
    if (low == floor(e.hi)) return low;
    return std::nullopt;
  });
  if (!result) throw Error(ErrorCode::undecided, x.text() + " cannot be told from an integer");
  return *result;
}

Integer ceil(const Formula& x) { return -floor(-x); }

Enclosure enclose(const Formula& x, unsigned digits) {
  if (const auto r = x.rational()) return Enclosure(*r);
  const Rational wanted = Rational(1) / Rational(boost::multiprecision::pow(Integer(10), digits));
  const auto result = at_rising_precision(
      [&]<class I>() -> std::optional<Enclosure> {
        const I value = x.as<I>();
        if (!value.bounded()) return std::nullopt;
        const Enclosure e = enclosure(value);
        const auto width = e.relative_width();
        if (width && *width <= wanted) return e;
        return std::nullopt;
      },
      digits);
  if (!result)
    throw Error(ErrorCode::undecided,
                x.text() + " cannot be enclosed to " + std::to_string(digits) + " digits");
  return *result;
}

// ----------------------------------------------------------------------------------------- parser

namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Formula whole() {
    Formula result = sum();
    skip();
    if (at_ != text_.size()) fail("unexpected " + printable(text_[at_]));
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    std::string shown =
        text_.size() <= 60 ? std::string(text_) : std::string(text_.substr(0, 57)) + "...";
    for (char& c : shown)
      if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
    throw Error(ErrorCode::parse,
                "'" + shown + "': " + what + " at position " + std::to_string(at_ + 1));
  }

  static std::string printable(char c) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) return "'" + std::string(1, c) + "'";
    constexpr std::string_view hex = "0123456789abcdef";
    return "byte 0x" + std::string{hex[byte >> 4U], hex[byte & 15U]};
  }

  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ < text_.size() && text_[at_] == c) {
      ++at_;
      return true;
    }
    return false;
  }

  Formula sum() {
    if (++depth_ > 64) throw Error(ErrorCode::too_large, "formula nested beyond 64 levels");
    Formula result = term();
    for (;;) {
      if (take('+'))
        result = result + term();
      else if (take('-'))
        result = result - term();
      else
        break;
    }
    --depth_;
    return result;
  }

  Formula term() {
    Formula result = factor();
    for (;;) {
      if (take('*'))
        result = result * factor();
      else if (take('/'))
        result = result / factor();
      else
        return result;
    }
  }

  Formula factor() {
    if (take('-')) {
      if (++depth_ > 64) throw Error(ErrorCode::too_large, "formula nested beyond 64 levels");
      Formula result = -factor();
      --depth_;
      return result;
    }
    Formula base = atom();
    if (!take('^')) return base;
    if (++depth_ > 64) throw Error(ErrorCode::too_large, "formula nested beyond 64 levels");
    const auto exponent = factor().rational();
    --depth_;
    if (!exponent) fail("the exponent is not rational");
    return pow(base, *exponent);
  }

  Formula atom() {
    skip();
    if (at_ == text_.size()) fail(text_.empty() ? "empty formula" : "formula ends too early");
    if (take('(')) {
      Formula inside = sum();
      if (!take(')')) fail("missing ')'");
      return inside;
    }
    const char c = text_[at_];
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.') return {number()};
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) return named();
    fail("unexpected " + printable(c));
  }

  Formula named() {
    const std::size_t start = at_;
    while (at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    const std::string_view name = text_.substr(start, at_ - start);
    if (name == "pi") return Formula::pi();
    if (name != "acos" && name != "log" && name != "sqrt") {
      at_ = start;
      fail("unknown name '" + std::string(name) + "'");
    }
    if (!take('(')) fail("missing '(' after " + std::string(name));
    Formula inside = sum();
    if (!take(')')) fail("missing ')'");
    if (name == "acos") return acos(inside);
    if (name == "log") return log(inside);
    return sqrt(inside);
  }

  // digits [. digits] [e [sign] digits], exactly.
  Rational number() {
    std::string digits;
    unsigned places = 0;
    bool point = false;
    bool any = false;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '.' && !point) {
        point = true;
      } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
        any = true;
        digits += c;
        if (point) ++places;
      } else {
        break;
      }
    }
    if (!any) fail("a number needs a digit");
    if (digits.size() > longest_exponent)
      throw Error(ErrorCode::too_large, "a number of more than 5000 digits");
    long exponent = 0;
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      const bool negative = at_ < text_.size() && text_[at_] == '-';
      if (at_ < text_.size() && (text_[at_] == '-' || text_[at_] == '+')) ++at_;
      const std::size_t start = at_;
      while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
        exponent = exponent * 10 + (text_[at_++] - '0');
        if (exponent > longest_exponent)
          throw Error(ErrorCode::too_large, "a decimal exponent beyond 5000");
      }
      if (at_ == start) fail("an exponent needs a digit");
      if (negative) exponent = -exponent;
    }
    const auto first = digits.find_first_not_of('0');
    if (first == std::string::npos) return 0;
    exponent -= static_cast<long>(places);
    const Integer mantissa(digits.substr(first));
    const Integer scale = boost::multiprecision::pow(
        Integer(10), static_cast<unsigned>(exponent < 0 ? -exponent : exponent));
    return exponent < 0 ? Rational(mantissa, scale) : Rational(Integer(mantissa * scale));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Formula Formula::parse(std::string_view text) {
  if (text.size() > longest_text)
    throw Error(ErrorCode::too_large, "a formula of more than 20000 characters");
  return Parser(text).whole();
}

}  // namespace ropewalk::theory
