// P2's canonical heads, exhaustively at small lengths.
#include "constructions/canonical.hpp"
#include "tests/constructions/worlds.hpp"

using namespace ropewalk;
using namespace ropewalk::constructions;
using namespace ropewalk::tests;

namespace {
constexpr auto any = [](const Sequence&) { return true; };

// Every input of n - 1 pairs and a query.
template <class F>
void every_binding(const BindingAlphabet& a, std::size_t n, F&& f) {
  every_sequence(a.symbols * a.attributes, n - 1, any, [&](const Sequence& pairs) {
    for (Token s = 0; s < a.symbols; ++s) {
      Sequence tokens = pairs;
      tokens.push_back(a.query(s));
      f(tokens);
    }
  });
}

// Where the function is defined, the head answers it.
template <class S, class Function>
int answered(const Head<S>& head, const BindingAlphabet& a, std::size_t longest,
             Function&& function) {
  const auto table = rotations<S>(head.frequencies, longest);
  int defined = 0;
  for (std::size_t n = 2; n <= longest; ++n)
    every_binding(a, n, [&](const Sequence& tokens) {
      const auto expect = function(a, tokens);
      if (!expect) return;
      ++defined;
      if (decode_at(head, tokens, n - 1, Hard{}, table) != expect) FAIL(tests::shown(tokens));
    });
  return defined;
}
constexpr auto symbolic = [](const BindingAlphabet& a, const Sequence& s) {
  return symbolic_function(a, s);
};
constexpr auto mixed = [](const BindingAlphabet& a, const Sequence& s) {
  return mixed_function(a, s);
};
}  // namespace

TEMPLATE_TEST_CASE("One angle answers the symbol at a position, at every fixed length",
                   "[canonical]", double, Rational, Interval<40>) {
  using S = TestType;
  for (int n = 1; n <= 5; ++n)
    for (int j = 0; j < n; ++j) {
      const auto head = positional_head<S>(Formula::parse("acos(3/5)"), 3, n, j);
      every_sequence(3, static_cast<std::size_t>(n), any, [&](const Sequence& tokens) {
        if (decode_at(head, tokens, tokens.size() - 1, Hard{}) !=
            tokens[static_cast<std::size_t>(j)])
          FAIL("n " << n << " j " << j << ": " << tests::shown(tokens));
      });
    }
}

TEST_CASE("One angle answers the symbol at a position at length 64", "[canonical]") {
  // theta = 2 pi / 65 leaves no relative lag below 64 near a full turn.
  for (const int j : {0, 17, 62, 63}) {
    const auto head = positional_head<Interval<40>>(Formula::parse("pi*2/65"), 2, 64, j);
    Sequence tokens(64, 0);
    tokens[static_cast<std::size_t>(j)] = 1;
    REQUIRE(decode_at(head, tokens, 63, Hard{}) == 1);
  }
}

TEMPLATE_TEST_CASE("Angle 0 answers the attribute bound to a symbol", "[canonical]", double,
                   Rational, Interval<40>) {
  const BindingAlphabet two{2, 2};
  REQUIRE(answered(symbolic_head<TestType>(two), two, 5, symbolic) > 200);
  const BindingAlphabet four{4, 2};
  answered(symbolic_head<TestType>(four), four, 4, symbolic);
  if constexpr (!std::same_as<TestType, Rational>) {
    const BindingAlphabet three{3, 2};
    answered(symbolic_head<TestType>(three), three, 4, symbolic);
  }
}

TEMPLATE_TEST_CASE("Angles (0, theta2) answer the last value bound to a symbol", "[canonical]",
                   double, Rational, Interval<40>) {
  const BindingAlphabet two{2, 2};
  const Formula theta2 = Formula::parse("acos(4/5)");
  REQUIRE(answered(mixed_head<TestType>(two, theta2, 1, Rational(1, 2)), two, 5, mixed) > 400);
  if constexpr (!std::same_as<TestType, Rational>) {
    const BindingAlphabet three{3, 2};
    answered(mixed_head<TestType>(three, Formula::parse("0.3"), 1, Rational(1, 2)), three, 4,
             mixed);
  }
}

TEMPLATE_TEST_CASE("One small angle answers the last value too, while lags are short",
                   "[canonical]", double, Rational, Interval<40>) {
  const BindingAlphabet two{2, 2};
  answered(symbolic_head<TestType>(two, Formula::parse("acos(12/13)")), two, 5, mixed);
}

TEST_CASE("Angle 0 alone ties the occurrences of a symbol", "[canonical]") {
  const BindingAlphabet a{2, 2};
  const Sequence tokens{a.pair(0, 0), a.pair(0, 1), a.query(0)};
  REQUIRE(mixed_function(a, tokens) == 1);
  REQUIRE_FALSE(symbolic_function(a, tokens));
  REQUIRE_FALSE(decode_at(symbolic_head<Rational>(a), tokens, 2, Hard{}));
  const auto flat = mixed_head<Rational>(a, Formula::parse("acos(4/5)"), 1, 0);
  REQUIRE_FALSE(decode_at(flat, tokens, 2, Hard{}));
}

TEST_CASE("The mixed head's logits are its two cosines, exactly", "[canonical]") {
  const BindingAlphabet a{4, 1};
  const Formula theta2 = Formula::parse("acos(4/5)");
  const auto head = mixed_head<Rational>(a, theta2, Rational(3), Rational(1, 2));
  const Sequence tokens{a.pair(0, 0), a.pair(1, 0), a.pair(2, 0), a.pair(1, 0), a.query(1)};
  const auto row = logits(head, tokens, 4);
  const Rational symbol[] = {0, 1, 0, 1};
  for (std::size_t j = 0; j < 4; ++j)
    REQUIRE(row[j] ==
            3 * symbol[j] + theory::cosine<Rational>(theta2, 4 - static_cast<int>(j)) / 2);
  REQUIRE(row[4] == Rational(-7, 2));  // the query never attends to itself
}

TEST_CASE("Binding functions are defined only for pairs followed by a query of a bound symbol",
          "[canonical]") {
  const BindingAlphabet a{2, 2};
  REQUIRE(symbolic_function(a, {a.pair(1, 1), a.pair(1, 1), a.query(1)}) == 1);
  REQUIRE_FALSE(symbolic_function(a, {a.pair(1, 1), a.query(0)}));
  REQUIRE_FALSE(mixed_function(a, {a.query(1)}));
  REQUIRE_FALSE(mixed_function(a, {}));
  REQUIRE_FALSE(mixed_function(a, {a.query(1), a.pair(1, 0), a.query(1)}));
  REQUIRE_FALSE(mixed_function(a, {a.pair(1, 0)}));
  require_error(ErrorCode::bad_value, [&] { (void)mixed_function(a, {99, a.query(0)}); });
  require_error(ErrorCode::bad_value, [] { (void)symbolic_head<double>({0, 1}); });
  require_error(ErrorCode::bad_value, [] { (void)positional_head<double>(Formula(1), 2, 3, 3); });
  require_error(ErrorCode::not_exact, [] { (void)symbolic_head<Rational>({3, 1}); });
}
