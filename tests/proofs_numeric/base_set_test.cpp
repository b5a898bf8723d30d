#include <cmath>
#include <random>

#include "proofs_numeric/base_set.hpp"
#include "proofs_numeric/claims.hpp"
#include "tests/catch.hpp"
#include "theory/error.hpp"
#include "theory/formula.hpp"

using namespace ropewalk;
using namespace ropewalk::proofs_numeric;
using theory::Enclosure;
using theory::Formula;
using theory::Rational;

namespace {

Rational number(const char* text) { return *Formula::parse(text).rational(); }

BaseSet infimum_of(std::uint64_t length, unsigned dim = 128) {
  BaseQuestion question;
  question.length = length;
  question.dim = dim;
  question.only_infimum = true;
  return base_set(question);
}

BaseSet set_of(std::uint64_t length, unsigned dim, const Rational& from, const Rational& to) {
  BaseQuestion question;
  question.length = length;
  question.dim = dim;
  question.from = from;
  question.to = to;
  return base_set(question);
}

// The sum by the platform's own cosine.
long double plain_sum(long double base, unsigned dim, std::uint64_t k) {
  long double sum = 0;
  for (unsigned i = 0; i < dim / 2; ++i)
    sum += std::cos(static_cast<long double>(k) * std::pow(base, -2.0L * i / dim));
  return sum;
}

// A base within, drawn uniformly.
Rational within(const Enclosure& x, std::mt19937_64& random) {
  return x.lo + (x.hi - x.lo) * Rational(random() % 1000001, 1000000);
}

// The pieces follow each other without a gap, and random bases of each are what it says.
void check_cover(const BaseSet& set, std::uint64_t length, unsigned dim, unsigned samples) {
  std::mt19937_64 random(length * 1000 + dim);
  REQUIRE_FALSE(set.pieces.empty());
  std::uint64_t rejected = 0;
  for (std::size_t i = 0; i < set.pieces.size(); ++i) {
    const BasePiece& piece = set.pieces[i];
    if (i > 0) REQUIRE(piece.first == set.pieces[i - 1].last);
    REQUIRE(piece.first >= piece.last);
    if (piece.kind != PieceKind::rejected) continue;
    ++rejected;
    CHECK(piece.violated >= 1);
    CHECK(piece.violated <= length);
    const auto bases = bases_of(piece, dim);
    if (!bases || random() % set.pieces.size() >= samples) continue;
    for (const Rational& base : {bases->lo, bases->hi, within(*bases, random)}) {
      CAPTURE(length, dim, piece.violated, theory::decimal(base, 20, theory::Round::nearest));
      CHECK(base_sum(base, dim, piece.violated).hi < 0);
    }
  }
  CHECK(set.rejected == rejected);
  for (const Enclosure& x : set.admissible) {
    if (random() % set.admissible.size() >= samples) continue;
    for (const Rational& base : {x.lo, x.hi, within(x, random)}) {
      CAPTURE(length, dim, theory::decimal(base, 20, theory::Round::nearest));
      CHECK_FALSE(first_violation(base, dim, length));
      const auto b = base.convert_to<long double>();
      for (int draw = 0; draw < 50; ++draw)
        CHECK(plain_sum(b, dim, 1 + random() % length) > -1e-9L);
    }
  }
  for (const Enclosure& x : set.undecided) CHECK(x.hi - x.lo < x.lo * Rational(1, 1000000000));
}

}  // namespace

TEST_CASE("the infimum of the bases that serve 1k, 2k, 4k") {
  struct Golden {
    std::uint64_t length;
    std::uint64_t lag;
    const char* lo;
    const char* hi;
  };
  // Roots of B_lag by mpmath.findroot at 50 digits.
  const Golden golden[] = {
      {1024, 1009, "4293.4375692625784161384514352", "4293.4375692625784161384514353"},
      {2048, 1788, "11587.2443031110706077284894900", "11587.2443031110706077284894901"},
      {4096, 4012, "26952.3392278578678750157229997", "26952.3392278578678750157229998"},
  };
  for (const Golden& g : golden) {
    const BaseSet set = infimum_of(g.length);
    CAPTURE(g.length);
    REQUIRE(set.infimum);
    CHECK(set.binding == g.lag);
    CHECK(set.infimum->hi >= number(g.lo));
    CHECK(set.infimum->lo <= number(g.hi));
    CHECK(*set.infimum->relative_width() < Rational(1, 1000000000) / 100000000000);
    CHECK_FALSE(first_violation(set.infimum->hi, 128, g.length));
    CHECK(base_sum(set.infimum->lo * Rational(999999999, 1000000000), 128, g.lag).hi < 0);
    check_cover(set, g.length, 128, 40);
  }
}

TEST_CASE("what P4's table claims of each context") {
  struct Row {
    const char* base;
    std::uint64_t length;
    std::uint64_t violated;  // 0: none
  };
  const Row rows[] = {
      {"4.3e3", 1024, 0},        {"1.6e4", 2048, 0},        {"2.7e4", 4096, 4079},
      {"8.4e4", 8192, 0},        {"3.1e5", 16384, 12223},   {"6.4e5", 32768, 27685},
      {"2.1e6", 65536, 0},       {"7.8e6", 131072, 128915}, {"3.6e7", 262144, 207455},
      {"6.4e7", 524288, 511210}, {"5.1e8", 1048576, 874868}};
  for (const Row& row : rows) {
    CAPTURE(row.base, row.length);
    const Rational base = number(row.base);
    const auto violated = first_violation(base, 128, row.length);
    CHECK(violated.value_or(0) == row.violated);
    if (row.violated == 0) continue;
    CHECK(base_sum(base, 128, row.violated).hi < 0);
    CHECK(plain_sum(base.convert_to<long double>(), 128, row.violated) < 0);
    CHECK_FALSE(first_violation(base, 128, row.violated - 1));
  }
}

TEST_CASE("P4's table to 16k as the ledger judges it") {
  for (const char* id : {"P4.1k", "P4.2k", "P4.8k"}) {
    const Judgement j = judge(id);
    CAPTURE(id, j.scope);
    CHECK(j.verdict == Verdict::proved);
    REQUIRE(j.value);
  }
  for (const char* id : {"P4.4k", "P4.16k"}) {
    const Judgement j = judge(id);
    CAPTURE(id, j.scope);
    CHECK(j.verdict == Verdict::refuted);
    REQUIRE(j.value);
    REQUIRE(j.witness);
    const auto lag = (*j.witness)["violated"].get<std::uint64_t>();
    const auto base = (*j.witness)["base"].get<std::string>();
    CHECK(base_sum(number(base.c_str()), 128, lag).hi < 0);
  }
  // The published value lies above the infimum in every one of them: it is a bound, not the least.
  CHECK(judge("P4.16k").value->hi < number("3.1e5"));
}

TEST_CASE("common bases and the first lag at which their sum is negative") {
  CHECK(first_violation(10000, 128, 4096) == 1707U);
  CHECK(first_violation(500000, 128, 32768) == 18438U);
  CHECK(first_violation(1000000, 128, 32768) == 27115U);
  CHECK(judge("P4.common").verdict == Verdict::proved);
}

TEST_CASE("the admissible set of a range: random bases of every piece") {
  check_cover(set_of(1024, 128, 1, 20000), 1024, 128, 60);
  check_cover(set_of(2048, 128, 11000, 20000), 2048, 128, 30);
  check_cover(set_of(300, 8, 1, 100000), 300, 8, 60);
  check_cover(set_of(200, 64, 1, 5000), 200, 64, 60);
  check_cover(set_of(50, 256, 1, 2000), 50, 256, 60);
}

TEST_CASE("the admissible set against every base of a grid, by the platform's cosine") {
  const unsigned dim = 16;
  const std::uint64_t length = 60;
  const BaseSet set = set_of(length, dim, 1, 4000);
  std::size_t inside = 0;
  for (int n = 1; n < 2000; ++n) {
    const Rational base = 1 + Rational(3999 * n, 2000);
    const auto b = base.convert_to<long double>();
    long double least = 1;
    for (std::uint64_t k = 0; k <= length; ++k) least = std::min(least, plain_sum(b, dim, k));
    if (std::abs(least) < 1e-9L) continue;
    const bool listed = std::any_of(set.admissible.begin(), set.admissible.end(),
                                    [&](const Enclosure& x) { return x.contains(base); });
    CAPTURE(n, static_cast<double>(least));
    CHECK(listed == (least > 0));
    inside += listed ? 1 : 0;
  }
  CHECK(inside > 400);
  CHECK(inside < 1000);
}

TEST_CASE("a base inside an admissible interval is the infimum of the range that starts there") {
  const BaseSet all = set_of(1024, 128, 4000, 20000);
  REQUIRE(all.infimum);
  REQUIRE_FALSE(all.admissible.empty());
  const Enclosure least = *infimum_of(1024).infimum;
  CHECK(all.infimum->lo <= least.hi);
  CHECK(least.lo <= all.infimum->hi);
  const Rational middle = all.admissible.back().middle();
  const BaseSet part = set_of(1024, 128, middle, 20000);
  REQUIRE(part.infimum);
  CHECK(part.infimum->exact());
  CHECK(part.infimum->lo == middle);
  CHECK_FALSE(part.binding);
}

TEST_CASE("base sets at the edges of their domain") {
  // d = 2: cos k whatever the base, and cos 2 < 0.
  const BaseSet none = infimum_of(2, 2);
  CHECK_FALSE(none.infimum);
  CHECK(none.admissible.empty());
  CHECK(none.undecided.empty());
  // L = 1: cosines of angles up to 1 are positive, so every base serves.
  const BaseSet every = set_of(1, 128, 1, 1000);
  REQUIRE(every.infimum);
  CHECK(every.infimum->exact());
  CHECK(every.infimum->lo == 1);
  REQUIRE(every.admissible.size() == 1);
  CHECK(every.admissible[0].lo == 1);
  CHECK(every.admissible[0].hi == 1000);
  CHECK(every.rejected == 0);
  // Below the infimum nothing serves.
  const BaseSet low = set_of(1024, 128, 1, 4000);
  CHECK_FALSE(low.infimum);
  CHECK(low.admissible.empty());
  CHECK(low.undecided.empty());

  CHECK_THROWS_AS(infimum_of(0), Error);
  CHECK_THROWS_AS(infimum_of(1024, 127), Error);
  CHECK_THROWS_AS(infimum_of(1024, 0), Error);
  CHECK_THROWS_AS(infimum_of(1024, 2048), Error);
  CHECK_THROWS_AS(infimum_of(std::uint64_t{1} << 40), Error);
  CHECK_THROWS_AS(set_of(10, 128, Rational(1, 2), 2), Error);
  CHECK_THROWS_AS(set_of(10, 128, 3, 2), Error);
  CHECK_THROWS_AS(set_of(10, 128, 2, 2), Error);
  CHECK_THROWS_AS(first_violation(Rational(1, 2), 128, 10), Error);

  BaseQuestion question;
  question.length = 4096;
  std::atomic<bool> stop = true;
  BaseOptions options;
  options.stop = &stop;
  CHECK_THROWS_AS(base_set(question, options), Error);
}
