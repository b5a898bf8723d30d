// The Retrieval heads, plain and centred, exhaustively on small inputs and at R6's golden values.
#include "constructions/retrieval.hpp"

#include <algorithm>
#include "constructions/stack.hpp"
#include "tests/constructions/worlds.hpp"

using namespace ropewalk;
using namespace ropewalk::constructions;
using namespace ropewalk::tests;
using tests::fraction;

namespace {
// Inputs up to a length that satisfy `wanted`; both properties hold for every prefix of an input.
template <class Wanted, class F>
void every_input(const RetrievalAlphabet& a, std::size_t longest, Wanted&& wanted, F&& f) {
  for (std::size_t n = 1; n <= longest; ++n)
    every_sequence(
        a.size(), n, [&](const Sequence& s) { return wanted(a, s); }, f);
}

template <class S, class Wanted>
int decoded(const Head<S>& head, const RetrievalAlphabet& a, std::size_t longest, Wanted&& wanted) {
  const auto table = rotations<S>(head.frequencies, longest);
  int inputs = 0;
  every_input(a, longest, wanted, [&](const Sequence& tokens) {
    ++inputs;
    const auto expect = retrieval_function(a, tokens);
    const auto got = decode(head, tokens, Hard{}, table);
    for (std::size_t i = 0; i < tokens.size(); ++i)
      if (!got[i] || got[i] != expect[i]) FAIL("position " << i << " of " << tests::shown(tokens));
  });
  return inputs;
}

constexpr auto clean = [](const RetrievalAlphabet& a, const Sequence& s) { return is_clean(a, s); };
constexpr auto proper = [](const RetrievalAlphabet& a, const Sequence& s) {
  return is_proper(a, s);
};

template <class S>
S last_margin(const Head<S>& head, const RetrievalAlphabet& a, const Sequence& tokens) {
  const auto row = logits(head, tokens, tokens.size() - 1);
  return theory::margin(std::span<const S>(row),
                        retrieval_correct_keys(a, tokens, tokens.size() - 1))
      .value();
}

// The worst letter-letter input of length n for the plain head: a distractor one letter before at
// the largest lag, the match from the next position on.
Sequence plain_worst(const RetrievalAlphabet& a, std::size_t n) {
  Sequence tokens(n, a.leaf(1, 0));
  tokens.front() = a.leaf(0, 0);
  tokens.back() = a.pair(2, 1);
  return tokens;
}
// Where the margin is negative, the reverse is worse: the match farthest, the distractor next to
// it.
Sequence plain_reversed(const RetrievalAlphabet& a, std::size_t n) {
  Sequence tokens(n, a.leaf(0, 0));
  tokens.front() = a.leaf(1, 0);
  tokens.back() = a.pair(2, 1);
  return tokens;
}
// For the centred head: a query that matches itself, a distractor at the largest lag.
Sequence centred_worst(const RetrievalAlphabet& a, std::size_t n) {
  Sequence tokens(n, a.pair(1, 1));
  tokens.front() = a.leaf(0, 0);
  return tokens;
}
}  // namespace

TEST_CASE("Retrieval finds the token whose left letter is wanted", "[retrieval]") {
  const RetrievalAlphabet a{3, 2};
  const Sequence tokens{a.leaf(2, 1), a.pair(1, 2), a.pair(0, 1), a.pair(0, 1)};
  REQUIRE(is_clean(a, tokens));
  const auto answers = retrieval_function(a, tokens);
  REQUIRE(answers[0] == a.leaf(2, 1));
  REQUIRE(answers[1] == a.leaf(2, 1));
  REQUIRE(answers[2] == a.pair(1, 2));
  REQUIRE(retrieval_correct_keys(a, tokens, 3) == std::vector<bool>{false, true, false, false});
}

TEST_CASE("Proper inputs find every wanted letter, clean ones have no rivals at all",
          "[retrieval]") {
  const RetrievalAlphabet a{3, 6};
  const Sequence rivals{a.leaf(2, 5), a.leaf(2, 2)};  // [C5, C2]
  REQUIRE(is_proper(a, rivals));
  REQUIRE_FALSE(is_clean(a, rivals));
  const Sequence missing{a.leaf(0, 0), a.pair(0, 1)};
  REQUIRE_FALSE(is_proper(a, missing));
  REQUIRE_FALSE(retrieval_function(a, missing)[1]);
  const Sequence twice{a.leaf(1, 0), a.leaf(1, 1), a.pair(0, 1)};
  REQUIRE_FALSE(is_proper(a, twice));
  const Sequence itself{a.pair(1, 1), a.leaf(1, 0)};
  REQUIRE(is_proper(a, itself));
  REQUIRE_FALSE(is_clean(a, itself));
  REQUIRE(is_clean(a, {a.leaf(1, 0), a.leaf(1, 0), a.pair(0, 1), a.pair(0, 1)}));
  REQUIRE_FALSE(is_proper(a, {a.pair(0, 1), a.leaf(1, 0)}));  // the match comes too late
  require_error(ErrorCode::bad_value, [&] { (void)is_proper(a, {a.size()}); });
  require_error(ErrorCode::bad_value, [&] { (void)retrieval_correct_keys(a, missing, 1); });
}

TEMPLATE_TEST_CASE("Retrieval is decoded on every clean input, in every scalar", "[retrieval]",
                   double, Rational, Interval<40>) {
  using S = TestType;
  const RetrievalAlphabet two{2, 2};
  REQUIRE(decoded(retrieval_head<S>(Formula(0), two), two, 4, clean) > 100);
  decoded(retrieval_head<S>(Formula::parse("acos(12/13)"), two), two, 4, clean);
  decoded(centred_retrieval_head<S>(Formula::parse("acos(12/13)"), two, 5), two, 5, clean);
}

TEMPLATE_TEST_CASE("Retrieval with three letters is decoded on every clean input", "[retrieval]",
                   double, Interval<40>) {
  using S = TestType;
  const RetrievalAlphabet three{3, 1};
  REQUIRE(decoded(retrieval_head<S>(Formula(0), three), three, 4, clean) > 100);
  decoded(retrieval_head<S>(Formula::parse("0.1"), three), three, 4, clean);
  decoded(centred_retrieval_head<S>(Formula::parse("0.6"), three, 4), three, 4, clean);
}

TEMPLATE_TEST_CASE("A small angle decodes every proper input, centred too", "[retrieval]", double,
                   Rational, Interval<40>) {
  using S = TestType;
  const RetrievalAlphabet two{2, 2};
  const int inputs = decoded(retrieval_head<S>(Formula::parse("acos(12/13)"), two), two, 4, proper);
  REQUIRE(inputs > 400);
  REQUIRE(decoded(centred_retrieval_head<S>(Formula::parse("acos(12/13)"), two, 5), two, 4,
                  proper) == inputs);
}

TEST_CASE("At angle 0 the rivals [C5, C2] tie", "[retrieval]") {
  const RetrievalAlphabet a{4, 6};
  const Sequence rivals{a.leaf(2, 5), a.leaf(2, 2)};
  const auto flat = retrieval_head<Rational>(Formula(0), a);
  REQUIRE(theory::gap(std::span<const Rational>(logits(flat, rivals, 1))) == Rational(0));
  REQUIRE_FALSE(decode_at(flat, rivals, 1, Hard{}));
  const auto tilted = retrieval_head<Rational>(Formula::parse("acos(12/13)"), a);
  REQUIRE(last_margin(tilted, a, rivals) == 1 - Rational(12, 13));  // R6: 1 - cos theta at lag 1
  REQUIRE(decode_at(tilted, rivals, 1, Hard{}) == rivals[1]);
}

TEST_CASE("A clean input stays clean under Retrieval, a proper one need not stay proper",
          "[retrieval]") {
  const RetrievalAlphabet a{2, 2};
  const auto hop = [&](const Sequence& tokens) {
    Sequence next;
    for (const auto& t : retrieval_function(a, tokens)) next.push_back(t.value());
    return next;
  };
  every_input(a, 4, clean, [&](const Sequence& tokens) { REQUIRE(is_clean(a, hop(tokens))); });
  // [B0, AB, B1, BA]: the last query finds AB, whose own match B0 has a rival by now.
  const Sequence tokens{a.leaf(1, 0), a.pair(0, 1), a.leaf(1, 1), a.pair(1, 0)};
  REQUIRE(is_proper(a, tokens));
  REQUIRE_FALSE(is_proper(a, hop(tokens)));
}

TEMPLATE_TEST_CASE("The decoding gap of Retrieval is 1", "[retrieval]", double, Rational,
                   Interval<40>) {
  const RetrievalAlphabet a{2, 1};
  const auto head = retrieval_head<TestType>(Formula::parse("acos(12/13)"), a);
  const Sequence tokens{a.leaf(1, 0), a.pair(0, 1), a.leaf(1, 0)};
  for (std::size_t i = 0; i < 3; ++i)
    REQUIRE(theory::compare(decoding_gap(head, tokens, i, Hard{}).value(), TestType(1)) == 0);
}

TEST_CASE("The plain margin is R6's on its worst input, positive up to length 146", "[retrieval]") {
  const RetrievalAlphabet a{8, 1};
  const auto head = retrieval_head<Interval<40>>(Formula::parse("0.0027"), a);
  const auto at = [&](std::size_t n) {
    return theory::enclosure(last_margin(head, a, plain_worst(a, n)));
  };
  const auto golden = [](const theory::Enclosure& e, const char* value, const char* error) {
    return abs(Rational(e.middle() - fraction(value))) <= fraction(error);
  };
  REQUIRE(golden(at(17), "0.2621954", "1e-7"));
  REQUIRE(golden(at(100), "0.0964346", "1e-7"));
  REQUIRE(golden(at(146), "0.0019446", "1e-7"));
  const auto reversed = [&](std::size_t n) {
    return theory::enclosure(last_margin(head, a, plain_reversed(a, n)));
  };
  REQUIRE(golden(reversed(147), "-1.15884e-4", "1e-9"));
  REQUIRE(reversed(147).hi < at(147).lo);
  REQUIRE(at(146).hi < reversed(146).lo);
  REQUIRE(theory::sign(at(146)) == 1);
  REQUIRE(theory::sign(at(147)) == -1);
  const auto flat = retrieval_head<Interval<40>>(Formula(0), a);
  const auto margin = theory::enclosure(last_margin(flat, a, plain_worst(a, 300)));
  REQUIRE(golden(margin, "0.29289321881345", "1e-13"));  // 1 - cos(pi/4)
}

TEST_CASE("The centred margin is R6's on its worst input, positive up to length 291",
          "[retrieval]") {
  const RetrievalAlphabet a{8, 1};
  const auto at = [&](int n) {
    const auto head = centred_retrieval_head<Interval<40>>(Formula::parse("0.0027"), a, n);
    return theory::enclosure(last_margin(head, a, centred_worst(a, static_cast<std::size_t>(n))));
  };
  REQUIRE(abs(Rational(at(291).middle() - fraction("9.1774e-4"))) <= fraction("1e-8"));
  REQUIRE(theory::sign(at(291)) == 1);
  REQUIRE(theory::sign(at(292)) == -1);
}

TEST_CASE("No clean letter-letter input has a smaller margin than R6 says", "[retrieval]") {
  // Exactly, with four letters and a rational rotation; omega = pi/2.
  const RetrievalAlphabet a{4, 1};
  const Formula theta = Formula::parse("acos(12/13)");
  const auto plain = retrieval_head<Rational>(theta, a);
  const auto quarter = [](const Formula& angle, int t) {  // cos(pi/2 - t angle) = sin(t angle)
    return theory::rotation<Rational>(angle, t).y;
  };
  for (const std::size_t n : {2U, 3U}) {
    const int t = static_cast<int>(n);
    std::optional<Rational> worst;
    std::optional<Rational> worst_centred;
    const auto centred =
        n == 3 ? std::optional(centred_retrieval_head<Rational>(theta, a, t)) : std::nullopt;
    every_input(a, n, clean, [&](const Sequence& tokens) {
      if (tokens.size() != n || !a.is_letter_letter(tokens.back())) return;
      const auto marks = retrieval_correct_keys(a, tokens, n - 1);
      if (std::find(marks.begin(), marks.end(), false) == marks.end()) return;
      const Rational m = last_margin(plain, a, tokens);
      if (!worst || m < *worst) worst = m;
      if (!centred) return;
      const Rational c = last_margin(*centred, a, tokens);
      if (!worst_centred || c < *worst_centred) worst_centred = c;
    });
    CAPTURE(n);
    REQUIRE(worst == theory::cosine<Rational>(theta, t - 2) - quarter(theta, t - 1));
    if (centred)  // cos(c) - cos(omega - c), c = theta (n - 1)/2
      REQUIRE(worst_centred == theory::cosine<Rational>(theta, 1) - quarter(theta, 1));
  }
}

TEMPLATE_TEST_CASE("Retrieval logits match the vector file", "[retrieval][vectors]", double,
                   Rational, Real<40>, Interval<40>) {
  for (const auto& row : vectors()["retrieval_logit"]) {
    CAPTURE(row.dump());
    const RetrievalAlphabet a{row["letters"].get<Token>(), 1};
    const Formula theta = Formula::parse(row["theta"].get<std::string>());
    require_expected<TestType>(row["logit"], [&] {
      const auto head = row["centred_for"].is_null() ? retrieval_head<TestType>(theta, a)
                                                     : centred_retrieval_head<TestType>(
                                                           theta, a, row["centred_for"].get<int>());
      Sequence tokens(row["lag"].get<std::size_t>() + 1, a.leaf(row["left"].get<Token>(), 0));
      // At lag 0 the key is the query token itself: its left letter is the key's.
      tokens.back() = a.pair(row["left"].get<Token>(), row["wanted"].get<Token>());
      return logits(head, tokens, tokens.size() - 1).front();
    });
  }
}

TEST_CASE("Retrieval heads of bad shape are refused", "[retrieval]") {
  require_error(ErrorCode::bad_value, [] { (void)retrieval_head<double>(Formula(1), {1, 3}); });
  require_error(ErrorCode::bad_value, [] { (void)retrieval_head<double>(Formula(1), {2, -1}); });
  require_error(ErrorCode::bad_value, [] {
    (void)centred_retrieval_head<double>(Formula(1), {2, 1}, 0);
  });
  require_error(ErrorCode::not_exact, [] { (void)retrieval_head<Rational>(Formula(0), {3, 1}); });
  require_error(ErrorCode::not_exact, [] {
    (void)centred_retrieval_head<Rational>(Formula::parse("acos(12/13)"), {2, 1}, 4);
  });
}
