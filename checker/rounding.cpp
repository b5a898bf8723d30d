// The fact `rounding`: a rotary table made in floating point, and how far its entries are from the
// exact cosines, E(f, t) = |entry(f, t) - A cos(theta_f t)|.
//
// That no entry is off by more than the record of its lag is shown in three steps, of which the
// next is taken where one does not decide. First, in integers: a cosine moves by no more than its
// angle, and roundings by half a unit. Second, cosines from a table and their roundings, which are
// monotone: an entry lies between those of both ends. Third, the entry itself, and Arb.
#include <bit>

#include "expression.hpp"
#include "planes.hpp"

namespace checker {

namespace {

using Wide = unsigned __int128;
using SignedWide = __int128;

constexpr long entry_limit = 10'000'000'000;             // entries, weighted by what they cost
constexpr long second_weight = 10, third_weight = 1000;  // of the steps
constexpr int least_exponent = -1074;                    // of doubles
constexpr int row_bits = 12;                             // of the table of cosines
// Cosines, A and errors are in units of 2^-scale.
constexpr int cosine_scale = 62, size_scale = 54, error_scale = cosine_scale + size_scale;
constexpr long cosine_slack = 64;

int width(Wide n) {
  const auto high = static_cast<std::uint64_t>(n >> 64), low = static_cast<std::uint64_t>(n);
  return static_cast<int>(high != 0 ? 64 + std::bit_width(high) : std::bit_width(low));
}
Wide wide(const mpz_class& n) {  // 0 <= n < 2^128
  return Wide{mpz_class(n >> 64).get_ui()} << 64 | mpz_class(mod(n, two_to(64))).get_ui();
}

struct Format {
  int digits, least, limit;
};
struct Float {  // n 2^e
  std::uint64_t n;
  int e;
  mpq_class value() const {
    return e < 0 ? ratio(n, two_to(-e)) : mpq_class(mpz_class(n) * two_to(e));
  }
};

/// The number of the format nearest to n 2^e, n < 2^127, ties to even.
Float nearest(Wide n, int e, const Format& format) {
  const int size = width(n), drop = std::max(e + size - format.digits, format.least) - e;
  if (n == 0 || drop > size) return {0, 0};
  if (drop > 0) {
    const Wide half = Wide{1} << (drop - 1), rest = n & (2 * half - 1);
    n >>= drop;
    e += drop;
    if (rest > half || (rest == half && n % 2 == 1)) ++n;
  }
  if (width(n) + e > format.limit) throw Rejected("not finite");
  return {static_cast<std::uint64_t>(n), e};
}
/// The most that rounding numbers up to 2^k moves them.
mpq_class half_unit(int k, const Format& format) {
  return Float{1, std::max(k - format.digits, format.least) - 1}.value();
}

long integer_in(const json& object, const std::string& key, long low, long high) {
  return within(key, [&] {
    const mpz_class n = integer(object.at(key));
    if (n < low || n > high)
      throw Rejected("not in " + std::to_string(low) + ".." + std::to_string(high));
    return n.get_si();
  });
}
// Formats are sets of doubles that hold 1.
Format format_of(const json& fact, const std::string& key) {
  return within(key, [&] {
    const json& o = fact.at(key);
    check_keys(o, {"precision", "least", "limit"});
    return Format{static_cast<int>(integer_in(o, "precision", 1, 53)),
                  static_cast<int>(integer_in(o, "least", least_exponent, 0)),
                  static_cast<int>(integer_in(o, "limit", 1, 1024))};
  });
}
Float double_of(const mpq_class& x) {
  if (x == 0) return {0, 0};
  const mpz_class n = abs(x.get_num()), &d = x.get_den();
  const auto twos = mpz_scan1(n.get_mpz_t(), 0);
  const long e = static_cast<long>(twos) - bits(d) + 1, size = bits(n) - static_cast<long>(twos);
  if (d != two_to(bits(d) - 1) || size > 53 || e < least_exponent || e + size > 1024)
    throw Rejected("no double");
  return {mpz_class(n >> twos).get_ui(), static_cast<int>(e)};
}

// 2^e radians in turns modulo 1, in units of 2^-128, for e from -1074 on.
std::vector<Wide> make_turns() {
  const AtPrecision at_more(2048);
  std::vector<Wide> out;
  for (int e = least_exponent; e < 1024; ++e)
    out.push_back(wide(wrap_turns(Float{1, e}.value(), 128)));
  return out;
}
std::vector<std::int64_t> make_cosines() {
  std::vector<std::int64_t> out;
  for (long j = 0; j < 1L << row_bits; ++j) {
    const Value at = cosine(Value(0, ratio(j, 1L << (row_bits - 1))));
    out.push_back(floor(at.enclosure(), false, cosine_scale).get_si());
  }
  return out;
}
/// cos of an angle in [angle, angle + 2) units of 2^-64 turns, in units of 2^-62, off by less than
/// the slack of 64.
// With d the angle from the nearest row of the table, |d| < 2^-10.3, in units of 2^-64: sin d is
// d - d^3/6 but for 42, d itself and what is cut off add less than 5, and 1 - cos d is off by less
// than 3. These are 13 units of 2^-62, to which the table adds 1, the products 2, the angle 4.
std::int64_t cosine_of(std::uint64_t angle) {
  static const std::vector<std::int64_t> table = make_cosines();
  static const std::int64_t pi = floor(Value(0, 1).enclosure(), false, 61).get_si();
  constexpr std::uint64_t rows = 1U << row_bits;
  const auto times = [](std::int64_t a, std::int64_t b, int shift) {
    return static_cast<std::int64_t>(SignedWide{a} * b >> shift);
  };
  const std::uint64_t j = ((angle >> (63 - row_bits)) + 1) / 2;
  const std::int64_t d = times(static_cast<std::int64_t>(angle - (j << (64 - row_bits))), pi, 60);
  const std::int64_t square = times(d, d, 64);
  const std::int64_t sine = d - times(d, square, 64) / 6;
  const std::int64_t versine = square / 2 - times(square, square, 64) / 24;
  const std::int64_t c = table[j % rows], s = table[(j + rows / 4 * 3) % rows];
  return c - times(c, versine, 64) - times(s, sine, 64);
}

class Table {
 public:
  Table(const json& fact, long last)
      : context_(json::object()),
        size_(context_.parse(get(fact, "size"))),
        positions_(format_of(fact, "positions")),
        angles_(format_of(fact, "angles")),
        table_(format_of(fact, "table")) {
    const auto frequencies = get<Texts>(fact, "frequencies"), stored = get<Texts>(fact, "inv_freq");
    if (frequencies.empty() || frequencies.size() != stored.size())
      throw Rejected("inv_freq: not one per frequency");
    for (size_t f = 0; f < stored.size(); ++f)
      within("plane " + std::to_string(f), [&] {
        Node& theta = context_.parse(frequencies[f]);
        const auto turns = [&] { return wrap_turns(absolute(context_.value(theta)), 128); };
        planes_.push_back({double_of(parse_number(stored[f], true)), theta, wide(settle(turns))});
        angle(f, position(last));  // no angle is larger
      });
    const mpq_class factor = number(fact, "factor");
    const auto above = [&](long n) {
      return settle([&] { return compare(context_.value(size_), n); }) > 0;
    };
    if (!above(0) || above(256)) throw Rejected("size: not in (0, 256]");
    if (factor <= 0 || factor > 256) throw Rejected("factor: not in (0, 256]");
    within("factor", [&] {
      factor_ = double_of(factor);
      entry(1, 0);  // no entry is larger
    });

    const AtPrecision at_more(2048);
    const Ball size = context_.value(size_).enclosure();
    const int k = factor_.e + static_cast<int>(std::bit_width(factor_.n - 1));  // factor <= 2^k
    mpq_class rounding = factor * half_unit(0, angles_);
    if (factor != 1) rounding += half_unit(k, angles_);
    if (table_.digits < angles_.digits || table_.least > angles_.least)
      rounding += half_unit(k, table_);
    arb_abs(off_, size - Ball(factor));
    off_ = off_ + Ball(rounding);
    per_turn_ = size * Value(0, 2).enclosure();
    const mpz_class low = floor(size, false, size_scale);
    if (floor(size, true, size_scale) > low + 1) throw Open("the size is not known well enough");
    low_size_ = low.get_si();
    // Off are the cosines, A by less than 2 units, and what entries are cut off by.
    slack_ = (SignedWide{low_size_} + 2) * cosine_slack + (SignedWide{3} << cosine_scale);
  }

  long planes() const { return static_cast<long>(planes_.size()); }

  /// Rejected where the error at lag t is not in [lo, hi].
  void check_within(size_t plane, long t, const mpq_class& lo, const mpq_class& hi) {
    const mpq_class value = exact_entry(angle(plane, position(t)));
    const auto error = [&] {
      const Value theta = context_.value(planes_[plane].theta);
      return absolute(value - context_.value(size_) * cosine(theta * mpq_class(t)));
    };
    for (const auto& [end, wrong] : {std::pair(lo, -1), std::pair(hi, 1)})
      if (settle([&, &x = end] { return compare(error(), x); }) == wrong)
        throw Rejected("lag " + std::to_string(t) + ", plane " + std::to_string(plane) +
                       ": the error " + error().text() + " is " +
                       (wrong < 0 ? "below lo" : "above hi"));
  }

  /// No error is above hi at the lags after those of the call before, up to `last`.
  void check_below(long last, const mpq_class& hi) {
    const mpz_class near = floor((Ball(hi) - off_) / per_turn_, false, 64) - 1;
    const mpz_class most = floor(mpq_class(hi * two_to(error_scale)));
    const std::uint64_t reach = sgn(near) < 0 ? 0 : std::min(near, two_to(63)).get_ui();
    const SignedWide enough = sgn(most) < 0 ? -1 : wide(std::min(most, two_to(126)));
    while (lag_ < last) {
      const std::uint64_t p = position(++lag_);
      for (size_t f = 0; f < planes_.size(); ++f) {
        planes_[f].turns += planes_[f].step;
        const Float x = angle(f, p);
        const auto rounded = static_cast<std::uint64_t>(turns_[x.e - least_exponent] * x.n >> 64);
        const auto exact = static_cast<std::uint64_t>(planes_[f].turns >> 64);
        const std::uint64_t ahead = rounded - exact;
        ++work_;
        if (std::min(ahead, 0 - ahead) < reach) continue;  // both are off by less than 2 units
        work_ += second_weight;
        if (largest_error(rounded, exact) <= enough) continue;
        work_ += third_weight;
        check_within(f, lag_, -1, hi);
      }
      if (work_ > entry_limit) throw Rejected("not decided: too many entries");
    }
  }

 private:
  struct Plane {
    Float stored;
    Node& theta;
    Wide step, turns = 0;  // of theta and of theta t, modulo 1 in units of 2^-128
  };

  std::uint64_t position(long t) const {
    const Float p = nearest(static_cast<std::uint64_t>(t), 0, positions_);
    return p.n << p.e;
  }
  Float angle(size_t plane, std::uint64_t position) const {
    const Float& w = planes_[plane].stored;
    return nearest(Wide{w.n} * position, w.e, angles_);
  }
  // Where the cosine is c 2^e >= 0; below 0 it is the opposite.
  Float entry(Wide c, int e) const {
    Float x = nearest(c, e, angles_);
    x = nearest(Wide{x.n} * factor_.n, x.e + factor_.e, angles_);
    return nearest(x.n, x.e, table_);
  }
  // The cosine of a rational but 0 is transcendental, so neither a number of the format nor half
  // way between two: all that is cut off alike, to more digits than that, rounds alike.
  mpq_class exact_entry(const Float& x) const {
    if (x.n == 0) return entry(1, 0).value();
    const mpz_class middle = settle([&] {
      const Ball c(arb_cos, Ball(x.value()));
      const mpz_class n = floor(c, false, 120);
      if (floor(c, true, 120) != n || bits(n) < 57) throw Open("a cosine");
      return mpz_class(2 * n + 1);
    });
    return sgn(middle) * entry(wide(abs(middle)), -121).value();
  }
  // In units of 2^-116, cut off.
  SignedWide scaled_entry(std::int64_t c) const {
    const Float x = entry(static_cast<std::uint64_t>(std::abs(c)), -cosine_scale);
    const int shift = x.e + error_scale;
    const auto n =
        static_cast<SignedWide>(shift < 0 ? x.n >> std::min(-shift, 63) : Wide{x.n} << shift);
    return c < 0 ? -n : n;
  }
  SignedWide largest_error(std::uint64_t rounded, std::uint64_t exact) const {
    constexpr std::int64_t one = std::int64_t{1} << cosine_scale;
    const std::int64_t c = cosine_of(rounded);
    const SignedWide low = scaled_entry(std::max(c - cosine_slack, -one));
    const SignedWide high = scaled_entry(std::min(c + cosine_slack, one));
    const SignedWide truth = SignedWide{low_size_} * cosine_of(exact);
    return std::max(high - truth, truth - low) + slack_;
  }

  Context context_;
  Node& size_;
  Format positions_, angles_, table_;
  std::vector<Plane> planes_;
  Float factor_{};
  const std::vector<Wide> turns_ = make_turns();
  Ball off_, per_turn_;  // by roundings and the factor, at most; by a turn of the angle
  std::int64_t low_size_;
  SignedWide slack_;
  long lag_ = 0, work_ = 0;
};

}  // namespace

void check_rounding(const json& fact) {
  const long last = integer_in(fact, "last", 1, 1L << 24);
  Table table(fact, last);
  const auto records = get<json::array_t>(fact, "records");
  if (records.empty()) throw Rejected("records: none");
  std::vector<long> lags;
  for (const json& record : records)
    lags.push_back(lags.empty() ? integer_in(record, "lag", 1, 1)
                                : integer_in(record, "lag", lags.back() + 1, last));
  lags.push_back(last + 1);
  mpq_class before = 0;
  for (size_t i = 0; i < records.size(); ++i)
    within("records[" + std::to_string(i) + "]", [&] {
      check_keys(records[i], {"lag", "plane", "lo", "hi"});
      const mpq_class lo = number(records[i], "lo"), hi = number(records[i], "hi");
      if (hi < before) throw Rejected("hi: below that of the record before");
      before = hi;
      const long plane = integer_in(records[i], "plane", 0, table.planes() - 1);
      table.check_within(static_cast<size_t>(plane), lags[i], lo, hi);
      table.check_below(lags[i + 1] - 1, hi);
    });
}

}  // namespace checker
