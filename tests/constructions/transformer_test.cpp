#include "constructions/transformer.hpp"

#include "constructions/retrieval.hpp"
#include "tests/catch.hpp"

using namespace ropewalk;
using namespace ropewalk::constructions;

namespace {

// Calls visit on every sequence of `length` tokens first..last that `keep` keeps growing.
void enumerate(std::size_t length, Token first, Token last,
               const std::function<bool(const Sequence&)>& keep,
               const std::function<void(const Sequence&)>& visit) {
  Sequence tokens;
  const std::function<void()> grow = [&] {
    if (tokens.size() == length) {
      visit(tokens);
      return;
    }
    for (Token t = first; t <= last; ++t) {
      tokens.push_back(t);
      if (keep(tokens)) grow();
      tokens.pop_back();
    }
  };
  grow();
}

// Every position of every sequence that can be answered is answered right; how many there were.
template <class S>
std::size_t count_right(const Transformer<S>& model, std::size_t length,
                        const std::function<bool(const Sequence&)>& keep) {
  std::size_t right = 0;
  std::size_t wrong = 0;
  enumerate(length, 1, model.vocabulary.size() - 1, keep, [&](const Sequence& tokens) {
    const auto found = answers(model, tokens, Hard{});
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const auto wanted = model.vocabulary.answer(tokens, i, model.hops);
      if (!wanted) continue;
      if (found[i] == wanted)
        ++right;
      else
        ++wrong;
    }
  });
  CHECK(wrong == 0);
  return right;
}

bool reaches_inside(const Vocabulary& vocabulary, const Sequence& tokens) {
  return vocabulary.wants(tokens.back()) < static_cast<Token>(tokens.size());
}

}  // namespace

TEST_CASE("transformer: hops of Number are exact in rationals, at every position") {
  const Vocabulary vocabulary{Rule::lag, 2, 2};
  HeadPlan plan;
  plan.frequencies = {Formula::parse("acos(3/5)")};
  plan.amplitudes = {Rational(1)};
  for (const int hops : {1, 2, 3}) {
    const auto model = transformer<Rational>(vocabulary, plan, hops);
    const auto valid = [&](const Sequence& tokens) { return reaches_inside(vocabulary, tokens); };
    // 2 letters, then as many integers as reach inside: 2 * 3 * 4 * 4 * 4 inputs of 5 positions.
    CHECK(count_right(model, 5, valid) == 5 * 2 * 3 * 4 * 4 * 4);
  }
}

TEST_CASE("transformer: h hops of Number are Index h times (P1)") {
  const Vocabulary vocabulary{Rule::lag, 3, 3};
  const IndexAlphabet alphabet{3, 3};
  const auto of_index = [](Token t) { return t < 3 ? t + 4 : t - 2; };
  const auto to_index = [](Token t) { return t > 3 ? t - 4 : t + 2; };
  std::size_t positions = 0;
  enumerate(
      5, 1, 6, [&](const Sequence& tokens) { return reaches_inside(vocabulary, tokens); },
      [&](const Sequence& tokens) {
        Sequence now;
        for (const Token t : tokens) now.push_back(to_index(t));
        for (int hops = 1; hops <= 4; ++hops) {
          now = index_function(alphabet, now);
          for (std::size_t i = 0; i < tokens.size(); ++i) {
            positions += 1;
            if (vocabulary.answer(tokens, i, hops) != of_index(now[i]))
              FAIL("position " << i << " after " << hops << " hops");
          }
        }
      });
  CHECK(positions == 4 * 5 * 3 * 4 * 5 * 6 * 6);
}

TEST_CASE("transformer: hops of Letter are exact in rationals, at every position of clean inputs") {
  const Vocabulary vocabulary{Rule::token, 3, 1};
  HeadPlan plan;
  plan.frequencies = {Formula(0), Formula(0), Formula(0)};
  plan.letters = {0, 1, 2};
  for (const int hops : {1, 2, 3}) {
    const auto model = transformer<Rational>(vocabulary, plan, hops);
    CHECK(count_right(model, 3, [](const Sequence&) { return true; }) > 1000);
  }
}

TEST_CASE("transformer: h hops of Letter are Retrieval h times (P1), on clean inputs") {
  const Vocabulary vocabulary{Rule::token, 3, 1};
  const RetrievalAlphabet alphabet{3, 1};
  const auto to_pair = [&](Token t) {
    const auto [left, right] = vocabulary.symbols(t);
    return alphabet.pair(left, right);
  };
  std::size_t positions = 0;
  enumerate(
      4, 1, vocabulary.size() - 1, [](const Sequence&) { return true; },
      [&](const Sequence& tokens) {
        Sequence now;
        for (const Token t : tokens) now.push_back(to_pair(t));
        if (!is_clean(alphabet, now)) return;
        for (int hops = 1; hops <= 3; ++hops) {
          const auto next = retrieval_function(alphabet, now);
          for (std::size_t i = 0; i < tokens.size(); ++i) now[i] = next[i].value();
          for (std::size_t i = 0; i < tokens.size(); ++i) {
            positions += 1;
            if (to_pair(vocabulary.answer(tokens, i, hops).value()) != now[i])
              FAIL("position " << i << " after " << hops << " hops");
          }
        }
      });
  CHECK(positions > 1000);
}

TEST_CASE("transformer: the last occurrence wins (P2), plain and centred") {
  const Vocabulary vocabulary{Rule::last, 2, 2};
  HeadPlan plan;
  plan.frequencies = {Formula(0), Formula(0), Formula::parse("1/4")};
  plan.letters = {0, 1};
  plan.nearness = 2;
  for (const int centre : {0, 4, 5}) {
    plan.centre = centre;
    const auto model = transformer<double>(vocabulary, plan, 1);
    CHECK(count_right(model, 4, [](const Sequence&) { return true; }) > 4000);
  }
}

TEST_CASE("transformer: one plane for all letters, plain and centred, within its horizon (R6)") {
  const Vocabulary vocabulary{Rule::token, 3, 1};
  HeadPlan plan;
  plan.letters = {0};
  plan.frequencies = {Formula::parse("0.2")};
  // n < 3/2 + pi/(A theta) = 6.7.
  CHECK(count_right(transformer<double>(vocabulary, plan, 2), 4,
                    [](const Sequence&) { return true; }) > 1000);
  plan.frequencies = {Formula::parse("0.55")};
  // Beyond the plain horizon of 3.4, within the centred one of 4.8.
  plan.centre = 4;
  CHECK(count_right(transformer<double>(vocabulary, plan, 1), 4, [&](const Sequence& tokens) {
          return std::all_of(tokens.begin(), tokens.end(), [](Token t) { return t > 3; });
        }) > 500);
}

TEST_CASE("transformer: softmax of a large scale answers as hard attention does") {
  const Vocabulary vocabulary{Rule::lag, 3, 3};
  HeadPlan plan;
  plan.frequencies = {Formula(1), Formula::parse("1/10")};
  plan.amplitudes = {Rational(1, 2), Rational(1, 2)};
  plan.scale = 100;
  const auto model = transformer<double>(vocabulary, plan, 2);
  const Sequence tokens{4, 1, 2, 5, 3, 2};
  const auto soft = answers(model, tokens, Softmax<double>{1});
  CHECK(soft == answers(model, tokens, Hard{}));
  CHECK(soft[4] == 4);  // 3 back: the integer 1, then 1 back: the first letter
  CHECK(soft[5] == 5);  // 2 back, a letter
}

TEST_CASE("transformer: symbols tell all tokens of a vocabulary apart but the integers") {
  for (const Vocabulary& v : {Vocabulary{Rule::lag, 120, 16}, Vocabulary{Rule::token, 8, 8},
                              Vocabulary{Rule::last, 3, 1}}) {
    std::set<std::pair<Token, Token>> seen;
    for (Token t = 1; t < v.size(); ++t) {
      const auto [first, second] = v.symbols(t);
      CHECK(first < v.symbol_counts().first);
      CHECK(second < v.symbol_counts().second);
      if (v.rule != Rule::lag || v.is_leaf(t)) CHECK(seen.insert({first, second}).second);
    }
  }
  CHECK(Vocabulary{Rule::lag, 120, 16}.size() == 137);
  CHECK(Vocabulary{Rule::token, 8, 8}.size() == 129);
}

TEST_CASE("transformer: plans that do not fit are refused in one line") {
  const Vocabulary letters{Rule::token, 3, 1};
  HeadPlan plan;
  plan.frequencies = {Formula(0), Formula(1)};
  plan.letters = {0, 1};
  CHECK_THROWS_WITH(
      transformer<double>(letters, plan, 1),
      Catch::Matchers::ContainsSubstring("3 letters take one plane, or a plane each, not 2"));
  plan.letters = {2};
  CHECK_THROWS_WITH(transformer<double>(letters, plan, 1),
                    Catch::Matchers::ContainsSubstring("different ones"));
  plan.letters = {0};
  plan.nearness = 1;
  CHECK_THROWS_WITH(transformer<double>(letters, plan, 1),
                    Catch::Matchers::ContainsSubstring("nearness"));
  CHECK_THROWS_WITH(transformer<double>(Vocabulary{Rule::last, 3, 1}, plan, 2),
                    Catch::Matchers::ContainsSubstring("1 to 64 hops"));
  CHECK_THROWS_WITH(transformer<double>(Vocabulary{Rule::token, 1, 1}, plan, 1),
                    Catch::Matchers::ContainsSubstring("2 to 512 letters"));
  plan.nearness.reset();
  const auto model = transformer<double>(letters, plan, 1);
  CHECK_THROWS_WITH(answers(model, {99}, Hard{}),
                    Catch::Matchers::ContainsSubstring("99 is not in the vocabulary"));
  CHECK_THROWS_WITH(letters.answer({0}, 0, 1),
                    Catch::Matchers::ContainsSubstring("token 0 at position 0"));
}
