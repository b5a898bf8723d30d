// Scalars: what an interval may be asked, what must not compile, Eigen, the ladder, printing.
#include <concepts>
#include <cstdint>
#include <limits>

#include "tests/theory/support.hpp"

using namespace ropewalk;
using namespace ropewalk::tests;
using namespace ropewalk::theory;

namespace {
template <class T>
concept has_less = requires(T x, T y) {
  x < y;
};
template <class T>
concept has_greater = requires(T x, T y) {
  x > y;
};
template <class T>
concept has_less_equal = requires(T x, T y) {
  x <= y;
};
template <class T>
concept has_greater_equal = requires(T x, T y) {
  x >= y;
};
template <class T>
concept has_equal = requires(T x, T y) {
  x == y;
};
template <class T>
concept has_unequal = requires(T x, T y) {
  x != y;
};
template <class T>
concept has_less_than_zero = requires(T x) {
  x < 0;
};
template <class T>
concept has_equal_zero = requires(T x) {
  x == 0;
};
template <class T>
concept has_truth = requires(T x) {
  x ? 1 : 0;
};

template <class T>
constexpr bool never_compares = !has_less<T> && !has_greater<T> && !has_less_equal<T> &&
                                !has_greater_equal<T> && !has_equal<T> && !has_unequal<T> &&
                                !has_less_than_zero<T> && !has_equal_zero<T> && !has_truth<T>;
static_assert(never_compares<Interval<40>> && never_compares<Interval<2560>>);
static_assert(!std::totally_ordered<Interval<40>> && !std::equality_comparable<Interval<40>>);
static_assert(has_less<double> && has_less<Rational> && has_less<Real<40>>);
// A double never becomes an interval unseen, an integer may.
static_assert(!std::convertible_to<double, Interval<40>> &&
              std::constructible_from<Interval<40>, double> &&
              std::convertible_to<int, Interval<40>>);

template <class S>
using Matrix = Eigen::Matrix<S, Eigen::Dynamic, Eigen::Dynamic>;
}  // namespace

TEST_CASE("Integers and doubles enter an interval exactly", "[number]") {
  for (const std::int64_t value :
       {std::int64_t{0}, std::int64_t{-7}, (std::int64_t{1} << 62) + 1,
        std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()})
    REQUIRE(enclosure(I40(value)).contains(Rational(value)));
  for (const std::int64_t value : {std::int64_t{-7}, std::numeric_limits<std::int64_t>::min()})
    REQUIRE(enclosure(I40(value)).exact());
  const auto most = std::numeric_limits<std::uint64_t>::max();
  REQUIRE(enclosure(I40(most)).contains(Rational(most)));
  REQUIRE(enclosure(I40(0.1)).exact());
  REQUIRE(enclosure(I40(0.1)).lo == Rational(Integer("3602879701896397"), Integer(1) << 55));
  REQUIRE(enclosure(I40(Integer("-12345678901234567890"))).lo ==
          Rational(Integer("-12345678901234567890")));
  const Enclosure third = enclosure(I40(Rational(1, 3)));
  REQUIRE(third.lo < Rational(1, 3));
  REQUIRE(third.hi > Rational(1, 3));
}

TEST_CASE("Signs and orders are answered only when certain", "[number]") {
  REQUIRE(sign(I40(3)) == 1);
  REQUIRE(sign(I40(-3)) == -1);
  REQUIRE(sign(I40(0)) == 0);
  REQUIRE_FALSE(sign(I40(Rational(-1), Rational(1))));
  REQUIRE_FALSE(sign(I40(Rational(0), Rational(1))));
  const I40 wide(Rational(0), Rational(1));
  REQUIRE_FALSE(compare(wide, wide));
  REQUIRE(compare(I40(2), wide) == 1);
  REQUIRE(compare(I40(2), I40(2)) == 0);
  REQUIRE_FALSE(sign(sqrt(I40(-1))));
  REQUIRE_FALSE(sign(max(sqrt(I40(-1)), I40(1))));
  REQUIRE_FALSE(sign(min(I40(1), sqrt(I40(-1)))));
  REQUIRE_FALSE(sign(std::nan("")));
  REQUIRE(compare(0.5, 0.25) == 1);
  REQUIRE(compare(Rational(1, 3), Rational(2, 6)) == 0);
  REQUIRE(compare(Real<40>(1), Real<40>(2)) == -1);
}

TEST_CASE("Dividing by an interval around 0 is unbounded, never wrong", "[number]") {
  const I40 quotient = I40(1) / I40(Rational(-1), Rational(1));
  REQUIRE_FALSE(quotient.bounded());
  REQUIRE_FALSE(sign(quotient));
  require_error(ErrorCode::undecided, [&] { (void)enclosure(quotient); });
  require_error(ErrorCode::undecided, [&] { (void)enclosure(I40(0) / I40(0)); });
}

TEST_CASE("Bounds too small or too large for a rational are rounded outward or refused",
          "[number]") {
  const I40 huge = exp(exp(I40(30)));
  require_error(ErrorCode::undecided, [&] { (void)enclosure(huge); });
  const Enclosure tiny = enclosure(I40(1) / huge);
  REQUIRE(tiny.lo == 0);
  REQUIRE(tiny.hi > 0);
  const Enclosure below = enclosure(I40(-1) / huge);
  REQUIRE(below.lo < 0);
  REQUIRE(below.hi == 0);
}

TEST_CASE("The ladder stops at the first rung that answers, or gives nothing", "[number]") {
  std::vector<int> asked;
  const auto answer = at_rising_precision([&]<class I>() -> std::optional<int> {
    const int digits = Eigen::NumTraits<I>::digits10();
    asked.push_back(digits);
    // 1 + 1e-100 against 1: needs more than 100 digits.
    const I x = (I(1) + I(1) / I(Integer(boost::multiprecision::pow(Integer(10), 100)))) - I(1) -
                I(Rational(1, boost::multiprecision::pow(Integer(10), 101)));
    return sign(x);
  });
  REQUIRE(answer == 1);
  REQUIRE(asked == std::vector<int>{40, 160});
  asked.clear();
  const auto none = at_rising_precision(
      [&]<class I>() -> std::optional<int> {
        asked.push_back(Eigen::NumTraits<I>::digits10());
        return sign(I(sqrt(I(2)) * sqrt(I(2)) - I(2)));
      },
      100);
  REQUIRE_FALSE(none);
  REQUIRE(asked == std::vector<int>{160, 640, 2560});
}

TEMPLATE_TEST_CASE("Every scalar stands in Eigen products", "[number]", double, Rational, Real<40>,
                   Interval<40>) {
  using S = TestType;
  for (const Eigen::Index n : {2, 5, 20}) {  // small products and blocked ones
    Matrix<S> a(n, n + 1);
    Matrix<S> b(n + 1, n);
    for (Eigen::Index r = 0; r < n; ++r)
      for (Eigen::Index c = 0; c <= n; ++c) {
        a(r, c) = S(static_cast<int>(r - 2 * c));
        b(c, r) = S(static_cast<int>(3 * c + r));
      }
    const Matrix<S> product = a * b;
    const Matrix<S> column = a * b.col(1);
    const Matrix<S> row = a.row(1) * b;
    const Matrix<S> transposed = (b.transpose() * a.transpose()).transpose();
    const S entry = a.row(1).dot(b.col(1));
    for (Eigen::Index r = 0; r < n; ++r)
      for (Eigen::Index c = 0; c < n; ++c) {
        int expect = 0;
        for (Eigen::Index k = 0; k <= n; ++k) expect += static_cast<int>((r - 2 * k) * (3 * k + c));
        CAPTURE(n, r, c, expect);
        REQUIRE(compare(product(r, c), S(expect)) == 0);
        REQUIRE(compare(transposed(r, c), S(expect)) == 0);
        if (c == 1) REQUIRE(compare(column(r, 0), S(expect)) == 0);
        if (r == 1) REQUIRE(compare(row(0, c), S(expect)) == 0);
        if (r == 1 && c == 1) REQUIRE(compare(entry, S(expect)) == 0);
      }
  }
}

TEST_CASE("Matrix products of intervals contain the product of inner points", "[number]") {
  Draw draw(21);
  for (int k = 0; k < iterations(20); ++k) {
    Matrix<I40> a(3, 9);
    Matrix<I40> b(9, 2);
    Matrix<Rational> p(3, 9);
    Matrix<Rational> q(9, 2);
    std::string inputs;
    const auto fill = [&](Matrix<I40>& intervals, Matrix<Rational>& points) {
      for (Eigen::Index r = 0; r < points.rows(); ++r)
        for (Eigen::Index c = 0; c < points.cols(); ++c) {
          const auto x = draw.inner();
          inputs += x.text() + "; ";
          intervals(r, c) = x.interval();
          points(r, c) = x.point;
        }
    };
    fill(a, p);
    fill(b, q);
    CAPTURE(k, inputs);
    const Matrix<I40> product = a * b;
    const Matrix<Rational> inner = p * q;
    const Matrix<I40> column = a * b.col(0);
    for (Eigen::Index r = 0; r < 3; ++r) {
      require_contains(column(r, 0), Fine(inner(r, 0)));
      for (Eigen::Index c = 0; c < 2; ++c) require_contains(product(r, c), Fine(inner(r, c)));
    }
  }
}

TEST_CASE("Rational floors, ceilings and distances are exact", "[number]") {
  REQUIRE(floor(Rational(-7, 2)) == -4);
  REQUIRE(ceil(Rational(-7, 2)) == -3);
  REQUIRE(floor(Rational(6, 3)) == 2);
  REQUIRE(ceil(Rational(6, 3)) == 2);
  REQUIRE(theory::fraction(Rational(-7, 2)) == Rational(1, 2));
  REQUIRE(distance_to_integer(Rational(-7, 3)) == Rational(1, 3));
  REQUIRE(distance_to_integer(Rational(5, 2)) == Rational(1, 2));
}

TEST_CASE("Decimals round as told and print plainly", "[number]") {
  REQUIRE(decimal(Rational(1, 3), 4, Round::down) == "0.3333");
  REQUIRE(decimal(Rational(1, 3), 4, Round::up) == "0.3334");
  REQUIRE(decimal(Rational(-1, 3), 4, Round::down) == "-0.3334");
  REQUIRE(decimal(Rational(-1, 3), 4, Round::up) == "-0.3333");
  REQUIRE(decimal(Rational(2, 3), 4, Round::nearest) == "0.6667");
  REQUIRE(decimal(Rational(999999, 1000), 3, Round::up) == "1000");
  REQUIRE(decimal(Rational(0), 4, Round::up) == "0");
  REQUIRE(decimal(Rational(5), 9, Round::down) == "5");
  REQUIRE(decimal(*Formula::parse("1.25e-9").rational(), 9, Round::down) == "1.25e-9");
  Draw draw(22);
  for (int k = 0; k < iterations(300); ++k) {
    const Rational x = draw.rational(100);
    const auto digits = static_cast<unsigned>(draw.integer(1, 30));
    CAPTURE(k, x.str(), digits);
    const Rational low = *Formula::parse(decimal(x, digits, Round::down)).rational();
    const Rational high = *Formula::parse(decimal(x, digits, Round::up)).rational();
    REQUIRE(low <= x);
    REQUIRE(x <= high);
    REQUIRE((high - low) * Rational(boost::multiprecision::pow(Integer(10), digits - 1)) <= abs(x));
  }
}

namespace {
// The two ends that the printed text stands for.
Enclosure read_back(const std::string& text) {
  const auto open = text.find('[');
  const auto value = [](const std::string& s) { return *Formula::parse(s).rational(); };
  if (open == std::string::npos) {
    const auto equals = text.find(" = ");
    return Enclosure(value(equals == std::string::npos ? text : text.substr(0, equals)));
  }
  const auto comma = text.find(',', open);
  const auto close = text.find(']', comma);
  const std::string first = text.substr(open + 1, comma - open - 1);
  const std::string second = text.substr(comma + 1, close - comma - 1);
  if (open == 0) return {value(first), value(second)};
  const std::string sure = text.substr(0, open);
  const std::string exponent = text.substr(close + 1);
  const Rational a = value(sure + first + exponent);
  const Rational b = value(sure + second + exponent);
  return sure.front() == '-' ? Enclosure(b, a) : Enclosure(a, b);
}
}  // namespace

TEST_CASE("A printed enclosure encloses", "[number]") {
  Draw draw(23);
  for (int k = 0; k < iterations(500); ++k) {
    const auto x = draw.around(draw.rational(draw.integer(0, 1) == 0 ? 3 : 90));
    const auto digits = static_cast<unsigned>(draw.integer(2, 20));
    const std::string shown = text(Enclosure(x.low, x.high), digits);
    CAPTURE(k, x.text(), digits, shown);
    if (x.low == x.high) continue;  // exact values print to the digits asked for
    const Enclosure back = read_back(shown);
    REQUIRE(back.lo <= x.low);
    REQUIRE(x.high <= back.hi);
  }
}

TEST_CASE("Relative width is measured from the end nearer to 0", "[number]") {
  REQUIRE(Enclosure(2, 3).relative_width() == Rational(1, 2));
  REQUIRE(Enclosure(-3, -2).relative_width() == Rational(1, 2));
  REQUIRE(Enclosure(0, 0).relative_width() == Rational(0));
  REQUIRE_FALSE(Enclosure(-1, 1).relative_width());
  REQUIRE_FALSE(Enclosure(0, 1).relative_width());
}
