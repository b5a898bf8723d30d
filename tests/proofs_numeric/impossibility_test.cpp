#include "proofs_numeric/impossibility.hpp"

#include "tests/catch.hpp"
#include "theory/error.hpp"

using namespace ropewalk;
using namespace ropewalk::proofs_numeric;
using theory::Rational;

namespace {

bool symbolic(const FiniteTask& task) {
  const bool decoder = find_head(symbolic_decoder_systems(task)).possible;
  // A head that attends rightly decodes rightly: the converse of what the decoder systems rule out.
  if (!decoder) CHECK_FALSE(find_head(symbolic_attention_systems(task)).possible);
  return decoder;
}

bool positional(const FiniteTask& task) { return find_head(positional_systems(task)).possible; }

bool clean_retrieval(std::size_t n, Token letters) {
  return positional(retrieval_task(n, {letters, 1}, RetrievalInputs::clean));
}

bool proper_retrieval(std::size_t n, Token letters) {
  return positional(retrieval_task(n, {letters, 1}, RetrievalInputs::proper));
}

}  // namespace

TEST_CASE("a symbolic head computes Index at length 2 and not from length 3 on") {
  CHECK(symbolic(index_task(1, {2, 1})));
  CHECK(symbolic(index_task(2, {2, 1})));
  CHECK(symbolic(index_task(2, {5, 1})));
  CHECK_FALSE(symbolic(index_task(3, {2, 1})));
  CHECK_FALSE(symbolic(index_task(4, {2, 2})));
  CHECK(symbolic(index_task(5, {3, 0})));  // no integers: Index is the identity
}

TEST_CASE("with one letter a symbolic head computes Index up to length 3") {
  CHECK(symbolic(index_task(3, {1, 2})));
  CHECK_FALSE(symbolic(index_task(4, {1, 1})));  // [a, a, 1, 1] is 1, [a, 1, a, 1] is a
}

TEST_CASE("the contradiction of Index is a pair of swapped inputs with multipliers 1 and 1") {
  const FiniteTask task = index_task(3, {2, 1});
  const HeadSearch search = find_head(symbolic_decoder_systems(task));
  REQUIRE(search.contradiction);
  const Witness w = witness(task, *search.contradiction);
  CHECK(
      w.dump() ==
      R"({"task":"Index","head":"symbolic head, any decoder, query 1, bag a b","length":3,"inputs":[)"
      R"({"tokens":["a","b","1"],"answer":"b","asks":"z(b) - z(a) >= 1","multiplier":"1"},)"
      R"({"tokens":["b","a","1"],"answer":"a","asks":"z(a) - z(b) >= 1","multiplier":"1"}],)"
      R"("sum":"0 >= 2"})");
  CHECK(verify_farkas(search.contradiction->system.a, search.contradiction->system.b,
                      search.contradiction->multipliers));
}

TEST_CASE("a positional head with P1's values retrieves at length 2 and not from length 3 on") {
  CHECK(clean_retrieval(2, 3));
  CHECK_FALSE(clean_retrieval(3, 3));
  CHECK_FALSE(clean_retrieval(4, 3));
  CHECK(proper_retrieval(2, 3));
  CHECK_FALSE(proper_retrieval(3, 2));
  CHECK_FALSE(proper_retrieval(3, 3));
}

TEST_CASE("on clean inputs over two letters a positional head retrieves at every length") {
  for (const std::size_t n : {3, 4, 5, 6}) CHECK(clean_retrieval(n, 2));
}

TEST_CASE(
    "a symbolic head does f_SYM, a positional one f_POS, and neither the other's from length 3 "
    "on") {
  CHECK(symbolic(symbol_task(4, {2, 2})));
  CHECK(positional(position_task(5, 3)));
  CHECK(symbolic(position_task(2, 3)));
  CHECK_FALSE(symbolic(position_task(3, 2)));
  CHECK(symbolic(position_task(4, 1)));
  CHECK(positional(symbol_task(2, {3, 3})));
  CHECK_FALSE(positional(symbol_task(3, {2, 2})));
  CHECK(positional(symbol_task(4, {3, 1})));  // one attribute: nothing to tell apart
  CHECK(positional(symbol_task(4, {1, 3})));  // one symbol: all attributes agree
}

TEST_CASE("neither kind of head does f_MIX at length 3, where the last of two occurrences counts") {
  CHECK(symbolic(mixed_task(2, {2, 2})));
  CHECK_FALSE(symbolic(mixed_task(3, {1, 2})));
  CHECK_FALSE(positional(mixed_task(3, {2, 2})));
}

TEST_CASE("the best margin is 0 where a head is impossible and positive where it is not") {
  const HeadSearch search = find_head(symbolic_decoder_systems(index_task(3, {2, 1})));
  REQUIRE(search.contradiction);
  CHECK(best_margin(search.contradiction->system) == 0);
  // [x, q]: w(1) may be 1 and w(2) 0
  for (const HeadSystem& system : positional_systems(symbol_task(2, {2, 2})))
    CHECK(best_margin(system) == 1);
}

TEST_CASE("inputs are exactly the valid ones, with their answers") {
  // n = 3, letters a b, integer 1: the first is a letter, then 3 choices each.
  const FiniteTask index = index_task(3, {2, 1});
  CHECK(index.inputs.size() == 18);
  CHECK(index.inputs.front().tokens == Sequence{0, 0, 0});
  for (const TaskInput& input : index.inputs)
    CHECK((input.answer == input.tokens[input.key] || input.answer == input.tokens.back()));
  // two bindings over 2 x 2, then a query: symbol in both (consistently 2 or any 4), or in one only
  // (8)
  CHECK(symbol_task(3, {2, 2}).inputs.size() == 2 * (2 + 8));
  CHECK(mixed_task(3, {2, 2}).inputs.size() == 2 * (4 + 8));
  CHECK(position_task(4, 3).inputs.size() == 27 * 3);
  CHECK_THROWS_AS(index_task(0, {2, 1}), Error);
  CHECK_THROWS_AS(position_task(1, 1), Error);
}

TEST_CASE("distinct weights let a decoder read the whole input off the attention output") {
  const FiniteTask task = retrieval_task(3, {2, 1}, RetrievalInputs::proper);
  const auto binary = separate_outputs(task, {1, 2, 4});
  CHECK(binary.answers_follow);
  CHECK(binary.inputs_follow);
  CHECK(binary.answer_gap == Rational(1, 7));
  // The bag of keys with the query marked is enough for Retrieval, at every length.
  const auto own = separate_outputs(task, {1, 1, 3});
  CHECK(own.answers_follow);
  CHECK_FALSE(own.inputs_follow);
  // Equal weights do not even say which token asks.
  const auto equal = separate_outputs(task, {1, 1, 1});
  CHECK_FALSE(equal.answers_follow);
  REQUIRE(equal.collision);
  CHECK(equal.answer_gap == 0);
  CHECK_THROWS_AS(separate_outputs(task, {1, 2}), Error);
  CHECK_THROWS_AS(separate_outputs(task, {1, 2, 0}), Error);
}

TEST_CASE("no decoder turns a bag of letters into f_POS") {
  const auto equal = separate_outputs(position_task(3, 2), {1, 1, 3});
  CHECK_FALSE(equal.answers_follow);
}

TEST_CASE("No symbolic head computes Index for n >= 3") {
  const Judgement j = symbolic_head_cannot_index();
  CHECK(j.verdict == Verdict::proved);
  REQUIRE(j.witness);
  CHECK((*j.witness)["inputs"][0]["tokens"] == Witness({"a", "b", "1"}));
  CHECK((*j.witness)["inputs"][1]["tokens"] == Witness({"b", "a", "1"}));
  REQUIRE(j.value);
  CHECK(j.value->exact());
  CHECK(j.value->lo == 0);
}

TEST_CASE("No positional head retrieves for n >= 3 with P1's own decoding") {
  const Judgement j = positional_head_cannot_retrieve();
  CHECK(j.verdict == Verdict::proved);
  REQUIRE(j.witness);
  CHECK((*j.witness)["length"] == 3);
  CHECK((*j.witness)["inputs"].size() == 2);
}

TEST_CASE("A positional head with a general decoder encodes the sequence") {
  const Judgement j = positional_head_with_any_decoder();
  CHECK(j.verdict == Verdict::refuted);
  REQUIRE(j.witness);
  CHECK((*j.witness)["weights"] == Witness({"1/7", "2/7", "4/7"}));
  REQUIRE(j.value);
  CHECK(j.value->lo == Rational(1, 7));
}

TEST_CASE("No symbolic head does f_POS for n >= 3") {
  const Judgement j = symbolic_head_cannot_do_positional_task();
  CHECK(j.verdict == Verdict::proved);
  REQUIRE(j.witness);
  CHECK((*j.witness)["length"] == 3);
}

TEST_CASE("No positional head does f_SYM for n >= 3 with identity values") {
  const Judgement j = positional_head_cannot_do_symbolic_task();
  CHECK(j.verdict == Verdict::proved);
  REQUIRE(j.witness);
  CHECK((*j.witness)["length"] == 3);
}
