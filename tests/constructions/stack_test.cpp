// Stacks of layers: h hops are h layers, the rest is the identity.
#include "constructions/stack.hpp"

#include "constructions/retrieval.hpp"
#include "tests/constructions/worlds.hpp"

using namespace ropewalk;
using namespace ropewalk::constructions;
using namespace ropewalk::tests;

TEMPLATE_TEST_CASE("The reflexive head is the identity under hard attention and softmax", "[stack]",
                   double, Real<40>, Interval<40>) {
  using S = TestType;
  for (const char* theta : {"0", "1", "acos(3/5)"}) {
    const auto head = reflexive_head<S>(3, Formula::parse(theta));
    every_sequence(
        3, 3, [](const Sequence&) { return true; },
        [&](const Sequence& tokens) {
          for (std::size_t i = 0; i < 3; ++i) {
            CAPTURE(theta, tests::shown(tokens), i);
            REQUIRE(decode_at(head, tokens, i, Hard{}) == tokens[i]);
            for (const int beta : {0, 1, 100}) {
              REQUIRE(decode_at(head, tokens, i, Softmax<S>{S(beta)}) == tokens[i]);
              REQUIRE(theory::compare(decoding_gap(head, tokens, i, Softmax<S>{S(beta)}).value(),
                                      S(1)) == 0);
            }
          }
        });
  }
}

TEMPLATE_TEST_CASE("h layers of Index and the rest reflexive iterate Index h times", "[stack]",
                   double, Rational, Interval<40>) {
  using S = TestType;
  const IndexAlphabet a{2, 3};
  const auto index = index_head<S>(Formula::parse("acos(3/5)"), a);
  const auto rest = reflexive_head<S>(a.size());
  const std::size_t layers = 3;
  for (std::size_t h = 0; h <= layers; ++h) {
    std::vector<Head<S>> stack(h, index);
    stack.resize(layers, rest);
    for (const std::size_t n : {1U, 4U})
      every_sequence(
          a.size(), n, [&](const Sequence& s) { return is_index_input(a, s); },
          [&](const Sequence& tokens) {
            Sequence expect = tokens;
            for (std::size_t k = 0; k < h; ++k) expect = index_function(a, expect);
            const auto got = decode_stack(std::span<const Head<S>>(stack), tokens, Hard{});
            if (got != expect) FAIL("h " << h << ": " << tests::shown(tokens));
          });
  }
}

TEMPLATE_TEST_CASE("h layers of Retrieval and the rest reflexive iterate Retrieval h times",
                   "[stack]", double, Rational, Interval<40>) {
  using S = TestType;
  const RetrievalAlphabet a{2, 2};
  const auto retrieval = retrieval_head<S>(Formula::parse("acos(12/13)"), a);
  const auto rest = reflexive_head<S>(a.size());
  for (std::size_t h = 0; h <= 3; ++h) {
    std::vector<Head<S>> stack(h, retrieval);
    stack.resize(3, rest);
    every_sequence(
        a.size(), 4, [&](const Sequence& s) { return is_clean(a, s); },
        [&](const Sequence& tokens) {
          Sequence expect = tokens;
          for (std::size_t k = 0; k < h; ++k) {
            const auto next = retrieval_function(a, expect);
            for (std::size_t i = 0; i < expect.size(); ++i) expect[i] = next[i].value();
          }
          const auto got = decode_stack(std::span<const Head<S>>(stack), tokens, Hard{});
          if (got != expect) FAIL("h " << h << ": " << tests::shown(tokens));
        });
  }
}

TEST_CASE("Four hops of the Number task end at the letter", "[stack]") {
  const IndexAlphabet a{3, 16};
  const auto index = index_head<Interval<40>>(Formula::parse("acos(3/5)"), a);
  std::vector<Head<Interval<40>>> stack(4, index);
  stack.resize(6, reflexive_head<Interval<40>>(a.size()));
  // 17 tokens; the path from the end: 5 back, 3 back, 6 back, 1 back to letter 2.
  Sequence tokens(17, 0);
  tokens[1] = 2;
  tokens[2] = a.integer(1);
  tokens[8] = a.integer(6);
  tokens[11] = a.integer(3);
  tokens[16] = a.integer(5);
  const auto answers = decode_stack(std::span<const Head<Interval<40>>>(stack), tokens, Hard{});
  REQUIRE(answers);
  REQUIRE(answers->back() == 2);
  const auto early =
      decode_stack(std::span<const Head<Interval<40>>>(stack).first(3), tokens, Hard{});
  REQUIRE(early);
  REQUIRE(early->back() == a.integer(5));
}

TEST_CASE("A tie in a layer leaves the stack without an answer", "[stack]") {
  const auto head = aligned_head<Rational>({Formula::parse("pi/2")}, {Rational(1)}, 0, 2);
  const std::vector<Head<Rational>> stack{head};
  REQUIRE_FALSE(decode_stack(std::span<const Head<Rational>>(stack), {0, 1, 1, 1, 1}, Hard{}));
  REQUIRE(decode_stack(std::span<const Head<Rational>>(stack), {1, 1, 1, 1, 1}, Hard{}) ==
          Sequence{1, 1, 1, 1, 1});
}

TEST_CASE("Heads whose maps do not fit are refused", "[stack]") {
  Maps<double> maps = reflexive_head<double>(2).maps;
  require_error(ErrorCode::bad_value, [&] { Head<double>({Formula(1), Formula(2)}, maps); });
  maps.value = Matrix<double>::Zero(3, 3);
  require_error(ErrorCode::bad_value, [&] { Head<double>({Formula(1)}, maps); });
  require_error(ErrorCode::bad_value, [] { (void)reflexive_head<double>(0); });
}

TEST_CASE("Argmax sets are certain in intervals or absent", "[head]") {
  using I = Interval<40>;
  const std::vector<I> apart{I(0), I(Rational(1), Rational(2)), I(Rational(3), Rational(4))};
  REQUIRE(argmax(std::span<const I>(apart)) == std::vector<std::size_t>{2});
  const std::vector<I> overlap{I(Rational(1), Rational(3)), I(0), I(Rational(2), Rational(4))};
  REQUIRE_FALSE(argmax(std::span<const I>(overlap)));
  REQUIRE(maximiser_candidates(std::span<const I>(overlap)) == std::vector<std::size_t>{0, 2});
  const std::vector<I> points{I(5), I(0), I(5)};
  REQUIRE(argmax(std::span<const I>(points)) == std::vector<std::size_t>{0, 2});
  const std::vector<I> touching{I(Rational(1), Rational(2)), I(2)};
  REQUIRE_FALSE(argmax(std::span<const I>(touching)));
  const std::vector<I> unknown{I(1), I(0) / I(0), I(0)};
  REQUIRE_FALSE(argmax(std::span<const I>(unknown)));
  const std::vector<Rational> exact{Rational(1, 3), Rational(2, 6), 0};
  REQUIRE(argmax(std::span<const Rational>(exact)) == std::vector<std::size_t>{0, 1});
  REQUIRE(argmax(std::span<const Rational>())->empty());
}
