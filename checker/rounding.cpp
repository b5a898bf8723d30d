// The fact `rounding`: a rotary table made in floating point, and how far its entries are from the
// exact cosines, E(f, t) = |entry(f, t) - A cos(theta_f t)|.
//
// Entry by entry, in integers: both angles as turns, enclosures of their cosines, and the roundings
// of both ends. Rounding is monotone, so the entry lies between them, and almost always that shows
// it to be no farther off than the record of its lag. Elsewhere Arb gives the entry and its error.
#include <bit>

#include "expression.hpp"
#include "planes.hpp"

namespace checker {

namespace {

using Wide = unsigned __int128;
using SignedWide = __int128;

constexpr long entry_limit = 1L << 31, exact_limit = 10'000'000;  // entries, and those in Arb
constexpr int least_exponent = -1074;                             // of doubles
constexpr int row_bits = 12;                                      // of the table of cosines
// Cosines, A and errors are in units of 2^-scale.
constexpr int cosine_scale = 62, size_scale = 54, error_scale = cosine_scale + size_scale;
constexpr std::int64_t cosine_slack = 64;

int width(Wide n) {
  const auto high = static_cast<std::uint64_t>(n >> 64), low = static_cast<std::uint64_t>(n);
  return static_cast<int>(high != 0 ? 64 + std::bit_width(high) : std::bit_width(low));
}
Wide wide(const mpz_class& n) {  // 0 <= n < 2^128
  return Wide{mpz_class(n >> 64).get_ui()} << 64 | mpz_class(mod(n, two_to(64))).get_ui();
}

/// Numbers n 2^e with |n| < 2^digits and e >= least, below 2^limit: doubles all, and 1 among them.
struct Format {
  int digits, least, limit;
};
struct Float {  // n 2^e, e >= -1074
  std::uint64_t n;
  int e;
  mpq_class value() const { return mpq_class(n) * (e < 0 ? ratio(1, two_to(-e)) : two_to(e)); }
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

long integer_in(const json& object, const std::string& key, long low, long high) {
  return within(key, [&] {
    const mpz_class n = integer(object.at(key));
    if (n < low || n > high)
      throw Rejected("not in " + std::to_string(low) + ".." + std::to_string(high));
    return n.get_si();
  });
}
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

// 2^e radians in turns modulo 1, in units of 2^-128, for e from -1074 on. The true values are less
// than 2 units above.
std::vector<Wide> make_turns() {
  const AtPrecision at_more(2048);
  const mpz_class radian = wrap_turns(1, 1023 + 128);
  std::vector<Wide> out;
  for (int e = least_exponent; e < 1024; ++e)
    out.push_back(wide(mod(radian >> static_cast<unsigned long>(1023 - e), two_to(128))));
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
      : context_(fact),
        size_(within(
            "size", [&]() -> Node& { return context_.parse(fact.at("size").get<std::string>()); })),
        positions_(format_of(fact, "positions")),
        angles_(format_of(fact, "angles")),
        table_(format_of(fact, "table")) {
    const auto frequencies = get<Texts>(fact, "frequencies"), stored = get<Texts>(fact, "inv_freq");
    if (frequencies.empty() || frequencies.size() != stored.size())
      throw Rejected("inv_freq: not one per frequency");
    if (stored.size() > static_cast<size_t>(entry_limit / last))
      throw Rejected("not decided: more than 2^31 entries");
    for (size_t f = 0; f < stored.size(); ++f)
      within("plane " + std::to_string(f), [&] {
        Node& theta = context_.parse(frequencies[f]);
        const auto turns = [&] { return wrap_turns(absolute(context_.value(theta)), 128); };
        planes_.push_back({double_of(parse_number(stored[f], true)), theta, wide(settle(turns))});
        angle(f, position(last));  // no angle is larger
      });
    const mpq_class factor = number(fact, "factor");
    within("factor", [&] {
      if (factor <= 0 || factor > 256) throw Rejected("not in (0, 256]");
      factor_ = double_of(factor);
      entry(1, 0);  // no entry is larger
    });
    within("size", [&] {
      const auto units = [&] {
        const Ball size = context_.value(size_).enclosure();
        const mpz_class low = floor(size, false, size_scale);
        if (floor(size, true, size_scale) > low + 1) throw Open("it is not known well enough");
        return low;
      };
      const mpz_class low = settle(units);
      if (low <= 0 || low >= two_to(size_scale + 8)) throw Rejected("not in (0, 256)");
      low_size_ = low.get_si();
    });
  }

  long planes() const { return static_cast<long>(planes_.size()); }

  /// Rejected where E(plane, t) is not in [lo, hi].
  void check_within(size_t plane, long t, const mpq_class& lo, const mpq_class& hi) {
    const mpq_class value = exact_entry(angle(plane, position(t)));
    const auto error = [&] {
      const Value theta = context_.value(planes_[plane].theta);
      return absolute(value - context_.value(size_) * cosine(theta * mpq_class(t)));
    };
    const auto order = [&](const mpq_class& end) {
      return settle([&] { return compare(error(), end); });
    };
    if (order(lo) < 0 || order(hi) > 0)
      throw Rejected("lag " + std::to_string(t) + ", plane " + std::to_string(plane) + ": off by " +
                     error().text() + ", not from " + Value(lo).text() + " to " + Value(hi).text());
  }

  /// E <= hi for all planes at the lags up to `last` that follow those of the call before.
  void check_below(long last, const mpq_class& hi) {
    const mpz_class most = floor(mpq_class(hi * two_to(error_scale)));
    const mpz_class capped = std::min(most, two_to(126));
    const SignedWide enough = sgn(most) < 0 ? -1 : static_cast<SignedWide>(wide(capped));
    while (lag_ < last) {
      const std::uint64_t p = position(++lag_);
      for (size_t f = 0; f < planes_.size(); ++f) {
        planes_[f].turns += planes_[f].step;
        const Float x = angle(f, p);
        const Wide turns = turns_[static_cast<size_t>(x.e - least_exponent)] * x.n;
        if (largest_error(turns >> 64, planes_[f].turns >> 64) <= enough) continue;
        if (++exact_ > exact_limit) throw Rejected("not decided: too many entries in Arb");
        check_within(f, lag_, -hi, hi);
      }
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
  // way between two: with more digits than these have, all it can be rounds alike.
  mpq_class exact_entry(const Float& x) const {
    if (x.n == 0) return entry(1, 0).value();
    const mpz_class middle = settle([&] {
      const Ball c(arb_cos, Ball(x.value()));
      const mpz_class n = floor(c, false, 120), below_one = two_to(120) - 1;
      if (std::min(floor(c, true, 120), below_one) != n || bits(n) < 57)
        throw Open("a cosine is not known well enough");
      return mpz_class(2 * n + 1);
    });
    return sgn(middle) * entry(wide(abs(middle)), -121).value();
  }

  SignedWide scaled_entry(std::int64_t c) const {  // cut off
    const Float x = entry(static_cast<std::uint64_t>(std::abs(c)), -cosine_scale);
    const int shift = x.e + error_scale;
    const auto n =
        static_cast<SignedWide>(shift < 0 ? x.n >> std::min(-shift, 63) : Wide{x.n} << shift);
    return c < 0 ? -n : n;
  }
  // At most. The cosines are off, A by less than 2 units, and an entry is cut off by less than 1.
  SignedWide largest_error(Wide rounded, Wide exact) const {
    const std::int64_t c = cosine_of(static_cast<std::uint64_t>(rounded));
    const SignedWide truth = SignedWide{low_size_} * cosine_of(static_cast<std::uint64_t>(exact));
    const SignedWide slack = SignedWide{low_size_ + 2} * cosine_slack + (SignedWide{3} << 62);
    return slack +
           std::max(scaled_entry(c + cosine_slack) - truth, truth - scaled_entry(c - cosine_slack));
  }

  Context context_;
  Node& size_;
  Format positions_, angles_, table_;
  std::vector<Plane> planes_;
  Float factor_{};
  std::int64_t low_size_ = 0;
  const std::vector<Wide> turns_ = make_turns();
  long lag_ = 0, exact_ = 0;
};

}  // namespace

void check_rounding(const json& fact) {
  const long last = integer_in(fact, "last", 1, 1L << 24);
  Table table(fact, last);
  const auto records = get<json::array_t>(fact, "records");
  if (records.empty()) throw Rejected("records: none");
  mpq_class hi = 0;  // of the record before, as every other bound on its lags
  long first = 1;
  for (size_t i = 0; i < records.size(); ++i)
    within("records[" + std::to_string(i) + "]", [&] {
      check_keys(records[i], {"lag", "plane", "lo", "hi"});
      const long t = integer_in(records[i], "lag", first, i == 0 ? 1 : last);
      const long plane = integer_in(records[i], "plane", 0, table.planes() - 1);
      table.check_below(t - 1, hi);
      if (hi > number(records[i], "hi")) throw Rejected("hi: below that of the record before");
      hi = number(records[i], "hi");
      table.check_within(static_cast<size_t>(plane), t, number(records[i], "lo"), hi);
      first = t + 1;
    });
  table.check_below(last, hi);
}

}  // namespace checker
