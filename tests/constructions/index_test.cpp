// The Index head and the aligned head, exhaustively on small inputs.
#include "constructions/index.hpp"
#include "constructions/stack.hpp"
#include "tests/constructions/worlds.hpp"

using namespace ropewalk;
using namespace ropewalk::constructions;
using namespace ropewalk::tests;
using tests::fraction;

namespace {
template <class F>
void every_index_input(const IndexAlphabet& alphabet, std::size_t longest, F&& f) {
  for (std::size_t n = 1; n <= longest; ++n)
    every_sequence(
        alphabet.size(), n, [&](const Sequence& s) { return is_index_input(alphabet, s); }, f);
}

// Index under hard attention is the function, at every position of every valid input.
template <class S>
int decoded(const Head<S>& head, const IndexAlphabet& alphabet, std::size_t longest) {
  const auto table = rotations<S>(head.frequencies, longest);
  int inputs = 0;
  every_index_input(alphabet, longest, [&](const Sequence& tokens) {
    ++inputs;
    const Sequence expect = index_function(alphabet, tokens);
    const auto got = decode(head, tokens, Hard{}, table);
    for (std::size_t i = 0; i < tokens.size(); ++i)
      if (!got[i] || *got[i] != expect[i]) FAIL("position " << i << " of " << tests::shown(tokens));
  });
  return inputs;
}
}  // namespace

TEST_CASE("Index looks back by the integer and keeps what it does not find", "[index]") {
  const IndexAlphabet a{2, 3};
  const Token m1 = a.integer(1);
  const Token m2 = a.integer(2);
  // letter 0, letter 1, 2 back -> letter 0, 1 back -> an integer, stays; again 2 back -> integer,
  // stays
  REQUIRE(index_function(a, {0, 1, m2, m1, m2}) == Sequence{0, 1, 0, m1, m2});
  REQUIRE(index_function(a, {}) == Sequence{});
  REQUIRE(index_correct_keys(a, {0, 1, m2}, 2) == std::vector<bool>{true, false, false});
  REQUIRE(index_correct_keys(a, {0, 1, m2}, 1) == std::vector<bool>{false, true});
  REQUIRE(is_index_input(a, {0, m1}));
  REQUIRE_FALSE(is_index_input(a, {m1}));
  REQUIRE_FALSE(is_index_input(a, {0, m2}));
  REQUIRE_FALSE(is_index_input(a, {5}));
  REQUIRE_FALSE(is_index_input(a, {-1}));
  require_error(ErrorCode::bad_value, [&] { (void)index_function(a, {0, m2}); });
  require_error(ErrorCode::bad_value, [&] { (void)index_correct_keys(a, {0}, 1); });
}

TEMPLATE_TEST_CASE("Index at cos theta = 3/5 is decoded on every input up to length 5", "[index]",
                   double, Rational, Interval<40>) {
  const Formula theta = Formula::parse("acos(3/5)");
  for (const IndexAlphabet a : {IndexAlphabet{2, 3}, IndexAlphabet{3, 3}})
    REQUIRE(decoded(index_head<TestType>(theta, a), a, 5) ==
            (a.letters == 2 ? 2 + 6 + 24 + 120 + 600 : 3 + 12 + 60 + 360 + 2160));
}

TEMPLATE_TEST_CASE("Index is decoded at angles without rational points too", "[index]", double,
                   Real<40>, Interval<40>) {
  for (const char* theta : {"0.8", "1", "pi*2/5", "-0.8", "4", "10000^(-1/64)"}) {
    CAPTURE(theta);
    decoded(index_head<TestType>(Formula::parse(theta), {2, 3}), {2, 3}, 4);
  }
}

TEMPLATE_TEST_CASE("Index on several planes is decoded with any split of amplitude", "[index]",
                   double, Rational, Interval<40>) {
  const std::vector<Formula> planes{Formula::parse("acos(3/5)"), Formula::parse("acos(12/13)"),
                                    Formula(0)};
  decoded(index_head<TestType>(planes, {Rational(1, 3), Rational(2, 3), Rational(0)}, {2, 2}),
          {2, 2}, 4);
}

TEMPLATE_TEST_CASE("The decoding gap of Index is 3, 1 and 1 in its three cases", "[index]", double,
                   Rational, Interval<40>) {
  const IndexAlphabet a{2, 2};
  const auto head = index_head<TestType>(Formula::parse("acos(3/5)"), a);
  const Sequence tokens{0, a.integer(1), a.integer(1)};
  const int expect[] = {3, 1, 1};  // letter; integer to letter; integer to integer
  for (std::size_t i = 0; i < 3; ++i)
    REQUIRE(theory::compare(decoding_gap(head, tokens, i, Hard{}).value(), TestType(expect[i])) ==
            0);
}

TEST_CASE("Index logits in intervals contain the rational ones", "[index]") {
  const IndexAlphabet a{1, 6};
  const Formula theta = Formula::parse("acos(3/5)");
  const auto exact = index_head<Rational>(theta, a);
  const auto enclosed = index_head<Interval<40>>(theta, a);
  Sequence tokens(30, 0);
  for (Token m = 0; m <= 6; ++m) {
    if (m > 0) tokens.back() = a.integer(m);
    const auto row = logits(exact, tokens, 29);
    const auto boxes = logits(enclosed, tokens, 29);
    for (std::size_t j = 0; j < row.size(); ++j) {
      CAPTURE(m, j);
      REQUIRE(theory::enclosure(boxes[j]).contains(row[j]));
      REQUIRE(row[j] == theory::cosine<Rational>(theta, Lag(29 - static_cast<long>(j) - m)));
    }
  }
}

TEMPLATE_TEST_CASE("Index logits match the vector file", "[index][vectors]", double, Rational,
                   Real<40>, Interval<40>) {
  for (const auto& row : vectors()["index_logit"]) {
    CAPTURE(row.dump());
    const int m = row["offset"].get<int>();
    const int t = row["lag"].get<int>();
    const IndexAlphabet a{1, std::max(1, m)};
    require_expected<TestType>(row["logit"], [&] {
      const auto head = index_head<TestType>(Formula::parse(row["theta"].get<std::string>()), a);
      Sequence tokens(static_cast<std::size_t>(t) + 1, 0);
      if (m > 0) tokens.back() = a.integer(m);
      return logits(head, tokens, tokens.size() - 1).front();
    });
  }
}

TEST_CASE("The tables of queries and keys are what the maps multiply out to", "[index]") {
  const IndexAlphabet a{2, 2};
  const auto head = index_head<Rational>(Formula::parse("acos(3/5)"), a);
  REQUIRE(head.maps.embedding.rows() == 5);  // one-hot and a constant 1
  REQUIRE(head.queries.rows == head.maps.query * head.maps.embedding);
  REQUIRE(head.keys.rows == head.maps.key * head.maps.embedding);
  REQUIRE(head.written == head.maps.unembedding * head.maps.value * head.maps.embedding);
  for (Token t = 0; t < 4; ++t) {
    REQUIRE(head.keys.plane(0, t).x == 1);
    REQUIRE(head.keys.plane(0, t).y == 0);
  }
  REQUIRE(head.queries.plane(0, a.integer(1)).y == Rational(-4, 5));
}

TEST_CASE("An exact tie of lags is a tie in rationals and undecided in intervals", "[index]") {
  // Four lags are a full turn of pi/2: lag 0 and lag 4 tie for a letter.
  const IndexAlphabet a{3, 1};
  const auto exact = index_head<Rational>(Formula::parse("pi/2"), a);
  REQUIRE(decode_at(exact, {0, 2, 2, 2, 1}, 4, Hard{}) == 1);  // the residual breaks it for letters
  const auto aligned = aligned_head<Rational>({Formula::parse("pi/2")}, {Rational(1)}, 0, 3);
  REQUIRE_FALSE(decode_at(aligned, {0, 2, 2, 2, 1}, 4, Hard{}));
  REQUIRE(decoding_gap(aligned, {0, 2, 2, 2, 1}, 4, Hard{}) == Rational(0));
  // Seven lags of 2 pi / 7: irrational points, whose tie no precision shows.
  const auto enclosed = aligned_head<Interval<40>>({Formula::parse("pi*2/7")}, {Rational(1)}, 1, 3);
  Sequence tokens{0, 2, 2, 2, 2, 2, 2, 1, 2};
  REQUIRE_FALSE(theory::sign(
      theory::gap(std::span<const Interval<40>>(logits(enclosed, tokens, 8))).value()));
  REQUIRE_FALSE(attention(logits(enclosed, tokens, 8), Hard{}));
  REQUIRE_FALSE(decode_at(enclosed, tokens, 8, Hard{}));
  tokens[0] = tokens[7];  // both candidates hold one token: decided all the same
  REQUIRE(decode_at(enclosed, tokens, 8, Hard{}) == 1);
}

TEMPLATE_TEST_CASE("The aligned head sums amplitudes times cosines of the relative lag",
                   "[aligned]", double, Rational, Real<40>, Interval<40>) {
  using S = TestType;
  const std::vector<Formula> planes{Formula::parse("acos(3/5)"), Formula::parse("acos(5/13)")};
  const std::vector<Rational> amplitudes{Rational(1, 4), Rational(3, 4)};
  const auto head = aligned_head<S>(planes, amplitudes, 3, 2);
  const Sequence tokens{0, 1, 0, 1, 1, 0, 0, 1};
  const auto row = logits(head, tokens, 7);
  for (std::size_t j = 0; j < row.size(); ++j) {
    Rational expect(0);
    for (std::size_t f = 0; f < 2; ++f)
      expect +=
          amplitudes[f] * theory::cosine<Rational>(planes[f], Lag(7 - static_cast<long>(j) - 3));
    CAPTURE(j, expect.str(), tests::shown(row[j]));
    if constexpr (std::same_as<S, Rational>)
      REQUIRE(row[j] == expect);
    else if constexpr (theory::is_interval<S>)
      REQUIRE(theory::enclosure(row[j]).contains(expect));
    else
      REQUIRE(abs(Fine(row[j]) - Fine(expect)) < Fine("1e-15"));
  }
  for (std::size_t i = 3; i < tokens.size(); ++i)
    REQUIRE(decode_at(head, tokens, i, Hard{}) == tokens[i - 3]);
  if constexpr (std::same_as<S, double>) {  // the even split has unit queries and keys
    REQUIRE(head.queries.rows.col(0).norm() == Catch::Approx(1));
    REQUIRE(head.keys.rows.col(0).norm() == Catch::Approx(1));
  }
}

TEMPLATE_TEST_CASE("Softmax of enough scale decodes Index", "[index]", double, Real<40>,
                   Interval<40>) {
  const IndexAlphabet a{2, 2};
  const auto head = index_head<TestType>(Formula::parse("acos(3/5)"), a);
  const auto table = rotations<TestType>(head.frequencies, 4);
  every_index_input(a, 4, [&](const Sequence& tokens) {
    const Sequence expect = index_function(a, tokens);
    const auto got = decode(head, tokens, Softmax<TestType>{TestType(12)}, table);
    CAPTURE(tests::shown(tokens));
    for (std::size_t i = 0; i < tokens.size(); ++i) REQUIRE(got[i] == expect[i]);
  });
}

TEST_CASE("Softmax of too little scale does not decode Index", "[index]") {
  const IndexAlphabet a{2, 2};
  const auto head = index_head<Interval<40>>(Formula::parse("acos(3/5)"), a);
  // Mass on the letter two back must exceed 1/2 to beat the query's own residual.
  const auto answer =
      decode_at(head, {0, 1, a.integer(2)}, 2, Softmax<Interval<40>>{Interval<40>(0)});
  REQUIRE(answer == a.integer(2));
}

TEST_CASE("Index heads of bad shape are refused", "[index]") {
  require_error(ErrorCode::bad_value, [] { (void)index_head<double>(Formula(1), {0, 3}); });
  require_error(ErrorCode::bad_value, [] { (void)index_head<double>(Formula(1), {1, -1}); });
  require_error(ErrorCode::bad_value, [] { (void)index_head<double>({}, {}, {1, 1}); });
  require_error(ErrorCode::bad_value, [] {
    (void)index_head<double>({Formula(1)}, {Rational(-1)}, {1, 1});
  });
  require_error(ErrorCode::bad_value,
                [] { (void)aligned_head<double>({Formula(1)}, {Rational(1)}, -1, 1); });
  require_error(ErrorCode::bad_value,
                [] { (void)aligned_head<double>({Formula(1)}, {Rational(1)}, 0, 0); });
  require_error(ErrorCode::not_exact, [] { (void)index_head<Rational>(Formula(1), {1, 1}); });
  const auto head = index_head<double>(Formula(1), {1, 1});
  require_error(ErrorCode::bad_value, [&] { (void)logits(head, {0}, 1); });
  require_error(ErrorCode::bad_value, [&] { (void)logits(head, {7}, 0); });
  require_error(ErrorCode::bad_value, [&] { (void)logits(head, {-1}, 0); });
}
