#include "constructions/readings.hpp"

#include "constructions/index.hpp"
#include "constructions/retrieval.hpp"
#include "tests/catch.hpp"
#include "tests/theory/support.hpp"

using namespace ropewalk;
using namespace ropewalk::constructions;
using tests::I40;
using theory::cosine;

namespace {

const auto any = [](const Sequence&) { return true; };

// Letter-letter queries whose wanted letter stands in one position, beside at least one other key.
std::vector<Sequence> single_match_inputs(const RetrievalAlphabet& alphabet, std::size_t n) {
  std::vector<Sequence> inputs;
  every_sequence(alphabet.size(), n, any, [&](const Sequence& tokens) {
    const Token wanted = alphabet.right(tokens.back());
    std::size_t matches = 0;
    for (const Token t : tokens) matches += alphabet.left(t) == wanted ? 1 : 0;
    if (matches == 1) inputs.push_back(tokens);
  });
  return inputs;
}

}  // namespace

TEST_CASE("every sequence is met once, in order, and pruned prefixes are not") {
  std::vector<Sequence> all;
  every_sequence(3, 2, any, [&](const Sequence& s) { all.push_back(s); });
  REQUIRE(all.size() == 9);
  CHECK(std::is_sorted(all.begin(), all.end()));
  std::size_t kept = 0;
  every_sequence(
      3, 3, [](const Sequence& prefix) { return prefix.front() != 1; },
      [&](const Sequence&) { ++kept; });
  CHECK(kept == 18);
}

TEST_CASE("Index readings by exhaustion equal 1 - cos at the nearest lag, in every scalar") {
  const IndexAlphabet alphabet{2, 4};
  const Formula theta = acos(Formula(Rational(3, 5)));
  const auto head = index_head<Rational>(theta, alphabet);
  const auto enclosed = index_head<I40>(theta, alphabet);
  const auto approximate = index_head<double>(theta, alphabet);
  for (std::size_t n = 2; n <= 5; ++n) {
    std::vector<Sequence> inputs;
    every_sequence(
        alphabet.size(), n, [&](const Sequence& p) { return is_index_input(alphabet, p); },
        [&](const Sequence& s) { inputs.push_back(s); });
    const auto correct = [&](const Sequence& s) { return index_correct_keys(alphabet, s, n - 1); };
    for (const Reading reading : {Reading::max, Reading::min}) {
      // Literal: the best or worst offset.
      std::optional<Rational> expected;
      for (std::size_t m = 0; m < n; ++m) {
        Rational least = 2;
        for (std::size_t s = 1; s <= std::max(m, n - 1 - m); ++s)
          least =
              std::min(least, Rational(1 - cosine<Rational>(theta, static_cast<unsigned long>(s))));
        if (!expected || (reading == Reading::max ? least > *expected : least < *expected))
          expected = least;
      }
      for (const Quantity quantity :
           {Quantity::gap, Quantity::strict_gap, Quantity::margin, Quantity::loose_margin}) {
        const auto found = over_inputs(head, inputs, quantity, reading, correct);
        REQUIRE(found);
        CHECK(found->value == *expected);
        CHECK(found->input.size() == n);
        const auto near = over_inputs(approximate, inputs, quantity, reading, correct);
        if (quantity == Quantity::strict_gap) {
          CHECK_THROWS_AS(over_inputs(enclosed, inputs, quantity, reading, correct), Error);
          continue;
        }
        CHECK(near->value == Catch::Approx(expected->convert_to<double>()).margin(1e-12));
        CHECK(theory::enclosure(over_inputs(enclosed, inputs, quantity, reading, correct)->value)
                  .contains(*expected));
      }
    }
  }
}

TEST_CASE("the gap does not notice a wrong winner, the margin does") {
  const RetrievalAlphabet alphabet{4, 0};
  const Formula theta = acos(Formula(Rational(4, 5)));  // drifts by more than a third of a letter
  const auto head = retrieval_head<Rational>(theta, alphabet);
  const auto inputs = single_match_inputs(alphabet, 3);
  const auto correct = [&](const Sequence& s) { return retrieval_correct_keys(alphabet, s, 2); };
  const auto margin = over_inputs(head, inputs, Quantity::margin, Reading::min, correct);
  REQUIRE(margin);
  CHECK(margin->value < 0);
  const auto row = logits(head, margin->input, 2);
  CHECK(*theory::gap(std::span<const Rational>(row)) >= 0);
  CHECK(over_inputs(head, inputs, Quantity::gap, Reading::min, correct)->value >= 0);
}

TEST_CASE("inputs without the quantity are left out") {
  const IndexAlphabet alphabet{2, 1};
  const auto head = index_head<double>(Formula(1), alphabet);
  const auto correct = [&](const Sequence& s) {
    return index_correct_keys(alphabet, s, s.size() - 1);
  };
  CHECK_FALSE(over_inputs(head, {{0}, {1}}, Quantity::margin, Reading::max, correct));
  CHECK_FALSE(over_inputs(head, {}, Quantity::gap, Reading::max, correct));
  CHECK(over_inputs(head, {{0}, {0, 1}}, Quantity::gap, Reading::max, correct)->input.size() == 2);
}
