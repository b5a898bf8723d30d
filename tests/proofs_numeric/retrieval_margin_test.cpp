#include "proofs_numeric/retrieval_margin.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/catch.hpp"

using namespace ropewalk;
using namespace ropewalk::proofs_numeric;

namespace {

Formula angle(const char* text) { return Formula::parse(text); }
Rational number(const char* text) { return *Formula::parse(text).rational(); }

RetrievalMargin margin(const char* theta, const Integer& alphabet, const Lag& n,
                       Centre centre = Centre::plain, Reading reading = Reading::min) {
  return *retrieval_margin(angle(theta), alphabet, n, centre, reading);
}

void check_between(const Enclosure& x, const char* lo, const char* hi) {
  CAPTURE(text(x, 16), lo, hi);
  CHECK(x.lo >= number(lo));
  CHECK(x.hi <= number(hi));
}

// The definition in double: every input of a small world.
struct Brute {
  double min_margin = 9;
  double max_margin = -9;
  double max_gap = -9;
};

Brute brute(double theta, int letters, int n, Centre centre) {
  theta = std::remainder(theta, 2 * M_PI);
  const double c = centre == Centre::centred ? (n - 1) * theta / 2 : 0;
  const double omega = 2 * M_PI / letters;
  Brute result;
  for (int t = 0; t < n; ++t) {
    std::vector<int> k(static_cast<std::size_t>(n), 1);
    for (;;) {
      std::vector<double> row;
      double wrong = -9;
      for (int u = 0; u < n; ++u) {
        row.push_back(
            std::cos((u == t ? 0 : k[static_cast<std::size_t>(u)]) * omega + u * theta - c));
        if (u != t) wrong = std::max(wrong, row.back());
      }
      const double mu = row[static_cast<std::size_t>(t)] - wrong;
      result.min_margin = std::min(result.min_margin, mu);
      result.max_margin = std::max(result.max_margin, mu);
      std::sort(row.rbegin(), row.rend());
      result.max_gap = std::max(result.max_gap, row[0] - row[1]);
      std::size_t i = 0;
      while (i < k.size() && (static_cast<int>(i) == t || ++k[i] == letters)) k[i++] = 1;
      if (i == k.size()) break;
    }
  }
  return result;
}

}  // namespace

TEST_CASE("golden Retrieval margins at theta = 0.0027, 8 letters") {
  check_between(margin("0.0027", 8, 17).margin, "0.2621954", "0.2621955");
  check_between(margin("0.0027", 8, 100).margin, "0.0964345", "0.0964346");
  check_between(margin("0.0027", 8, 146).margin, "0.0019446", "0.0019447");
  check_between(margin("0.0027", 8, 147).margin, "-1.15885e-4", "-1.15884e-4");
  check_between(margin("0.0027", 8, 291, Centre::centred).margin, "9.1773e-4", "9.1774e-4");
  CHECK(margin("0.0027", 8, 292, Centre::centred).margin.hi < 0);
  CHECK(*retrieval_horizon(angle("0.0027"), 8, Centre::plain) == 146);
  CHECK(*retrieval_horizon(angle("0.0027"), 8, Centre::centred) == 291);
}

TEST_CASE("Retrieval without drift keeps 1 - cos omega at every length") {
  check_between(margin("0", 8, Lag("1000000000000000000000000")).margin, "0.29289321881345",
                "0.29289321881346");
  CHECK(margin("0", 3, 5).margin.exact());
  CHECK(margin("0", 3, 5).margin.lo == Rational(3, 2));
  CHECK(margin("0", 4, 5).margin.lo == 1);
  CHECK_FALSE(retrieval_horizon(angle("0"), 8, Centre::plain));
  CHECK_FALSE(retrieval_horizon(angle("-6*pi"), 8, Centre::centred));
}

TEST_CASE("opposite distractors give the largest gap") {
  check_between(margin("0.0027", 8, 50, Centre::plain, Reading::max).gap, "1.9912", "1.9913");
  check_between(margin("0.0027", 3, 50, Centre::plain, Reading::max).gap, "1.5023", "1.5024");
}

TEST_CASE("a single key has no margin") {
  CHECK_FALSE(retrieval_margin(angle("0.1"), 4, 1, Centre::plain, Reading::min));
}

TEST_CASE("Retrieval margins equal the enumeration of all inputs") {
  std::mt19937 random(3);
  for (int i = 0; i < 250; ++i) {
    const int letters = 2 + static_cast<int>(random() % 3);
    const int n = 2 + static_cast<int>(random() % 4);
    const int scale = random() % 2 == 0 ? 10000 : 500;
    const Rational theta(static_cast<int>(random() % 2000) - 1000, scale);
    const Centre centre = random() % 2 == 0 ? Centre::plain : Centre::centred;
    const Brute expected = brute(theta.convert_to<double>(), letters, n, centre);
    const auto low = retrieval_margin(Formula(theta), letters, n, centre, Reading::min);
    const auto high = retrieval_margin(Formula(theta), letters, n, centre, Reading::max);
    CAPTURE(theta.str(), letters, n, centre == Centre::centred);
    REQUIRE(low->margin.middle().convert_to<double>() ==
            Catch::Approx(expected.min_margin).margin(1e-12));
    REQUIRE(high->margin.middle().convert_to<double>() ==
            Catch::Approx(expected.max_margin).margin(1e-12));
    REQUIRE(high->gap.middle().convert_to<double>() ==
            Catch::Approx(expected.max_gap).margin(1e-12));
    if (theta != 0) {
      const Lag horizon = *retrieval_horizon(Formula(theta), letters, centre);
      REQUIRE((expected.min_margin > 1e-13) == (Lag(n) <= horizon));
    }
  }
}

TEST_CASE("the largest gap may need a distractor on top that would otherwise be the runner-up") {
  for (const auto& [theta, letters, n, lo, hi] : {std::tuple{"1.6", 3, 7, "1.143314", "1.143316"},
                                                  {"16/34", 5, 9, "1.758201", "1.758203"},
                                                  {"acos(2/5)", 8, 11, "1.919606", "1.919608"}})
    check_between(margin(theta, letters, n, Centre::plain, Reading::max).gap, lo, hi);
}

TEST_CASE("rational turns whose keys tie have a margin of exactly 0") {
  for (const auto& [theta, letters, n, centre] : {std::tuple{"pi/13", 13, 3, Centre::centred},
                                                  {"pi*2/39", 13, 3, Centre::plain},
                                                  {"pi*2/7", 7, 2, Centre::plain},
                                                  {"pi/4", 8, 2, Centre::plain},
                                                  {"pi/8", 8, 3, Centre::centred}}) {
    const RetrievalMargin m = margin(theta, letters, n, centre);
    CAPTURE(theta, text(m.margin, 8));
    CHECK(m.margin.exact());
    CHECK(m.margin.lo == 0);
    CHECK(*retrieval_horizon(angle(theta), letters, centre) == n - 1);
  }
}

TEST_CASE("a mirrored angle has the mirrored witness") {
  CHECK(margin("0.1", 5, 3).pair.letter_offset == 4);
  CHECK(margin("-0.1", 5, 3).pair.letter_offset == 1);
  CHECK(margin("2*pi-0.1", 5, 3).pair.letter_offset == 1);
  CHECK(margin("-0.1", 5, 3).margin.lo == margin("0.1", 5, 3).margin.lo);
}

TEST_CASE("the written-out input attains the margin") {
  std::mt19937 random(17);
  for (int i = 0; i < 200; ++i) {
    const int letters = 2 + static_cast<int>(random() % 7);
    const int n = 2 + static_cast<int>(random() % 20);
    const Rational theta(static_cast<int>(random() % 14000) - 7000,
                         random() % 2 == 0 ? 1000 : 50000);
    const Centre centre = random() % 2 == 0 ? Centre::plain : Centre::centred;
    const double folded = std::remainder(theta.convert_to<double>(), 2 * M_PI);
    const double c = centre == Centre::centred ? (n - 1) * folded / 2 : 0;
    for (const Reading reading : {Reading::min, Reading::max}) {
      const auto m = retrieval_margin(Formula(theta), letters, n, centre, reading);
      const auto keys = retrieval_letters(Formula(theta), letters, static_cast<std::uint32_t>(n),
                                          centre, m->pair);
      double right = 9;
      double wrong = -9;
      int matches = 0;
      for (int t = 0; t < n; ++t) {
        const auto k = keys[static_cast<std::size_t>(t)].convert_to<double>();
        const double logit = std::cos(k * 2 * M_PI / letters + t * folded - c);
        if (k == 0) {
          right = logit;
          ++matches;
        } else {
          wrong = std::max(wrong, logit);
        }
      }
      CAPTURE(theta.str(), letters, n, centre == Centre::centred, reading == Reading::max);
      REQUIRE(matches == 1);
      REQUIRE(right - wrong == Catch::Approx(m->margin.middle().convert_to<double>()).margin(1e-9));
    }
  }
}

TEST_CASE("beyond the horizon the margin is enclosed at astronomical lengths") {
  const RetrievalMargin far = margin("0.0027", 8, boost::multiprecision::pow(Integer(10), 30));
  CHECK(far.margin.lo >= -2);
  CHECK(far.margin.hi < number("-1.9999999"));
  CHECK(far.pair.match != far.pair.distractor);
  CHECK(far.gap.lo == 0);
}

TEST_CASE("Retrieval refuses what is outside its domain") {
  CHECK_THROWS_AS(retrieval_margin(angle("1"), 1, 5, Centre::plain, Reading::min), Error);
  CHECK_THROWS_AS(retrieval_margin(angle("1"), 4, 0, Centre::plain, Reading::min), Error);
  CHECK_THROWS_AS(retrieval_margin(angle("1"), 4, 2000000, Centre::plain, Reading::max), Error);
  CHECK_THROWS_AS(retrieval_margin(angle("1"), 10000000, 50, Centre::plain, Reading::min), Error);
  CHECK_THROWS_AS(retrieval_horizon(angle("1"), 1, Centre::plain), Error);
}
