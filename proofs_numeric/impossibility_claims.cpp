// What purely symbolic and purely positional heads cannot do. Every judge searches the head on all
// finite instances of a grid; the verdict is what the searches found. See
// docs/proofs-positional-symbolic.md.

#include "proofs_numeric/impossibility.hpp"

#include <numeric>

namespace ropewalk::proofs_numeric {

using theory::Enclosure;
using theory::Rational;

namespace {

using Systems = std::vector<HeadSystem> (*)(const FiniteTask&);

// Collects searches over a grid of instances into a judgement.
class Impossibility {
 public:
  // Every kind of head in `systems` is searched on its own.
  void instance(const FiniteTask& task, const std::string& size,
                std::initializer_list<Systems> kinds) {
    ++instances_;
    inputs_ += task.inputs.size();
    for (const Systems systems : kinds) {
      const HeadSearch search = find_head(systems(task));
      systems_ += search.systems;
      impossible_ += search.impossible;
      if (search.possible) {
        if (!possible_)
          possible_ =
              Witness{{"task", task.name}, {"instance", size}, {"inputs", task.inputs.size()}};
        continue;
      }
      facts_.push_back(contradiction_fact(task, *search.contradiction));
      if (!smallest_ || search.contradiction->multipliers.size() < smallest_->multipliers.size()) {
        smallest_ = search.contradiction;
        witness_ = witness(task, *search.contradiction);
      }
    }
  }

  [[nodiscard]] Judgement judgement(const std::string& grid) const {
    Judgement result;
    result.scope = grid + ": " + std::to_string(instances_) + " instances, " +
                   std::to_string(inputs_) + " inputs; " + std::to_string(impossible_) + " of " +
                   std::to_string(systems_) + " linear systems contradict themselves";
    if (possible_) {
      result.verdict = Verdict::refuted;
      result.witness = possible_;
      return result;
    }
    if (!smallest_) return result;
    result.scope +=
        ", at least one per instance and kind of head; value = the largest margin of the system in "
        "the witness, unknowns in [-1, 1]";
    const Rational margin = best_margin(smallest_->system);
    result.value = Enclosure(margin);
    result.witness = witness_;
    if (margin > 0) return result;
    result.verdict = Verdict::proved;
    result.facts = facts_;
    return result;
  }

 private:
  std::size_t instances_ = 0;
  std::size_t inputs_ = 0;
  std::size_t systems_ = 0;
  std::size_t impossible_ = 0;
  std::optional<Contradiction> smallest_;
  Witness witness_;
  std::optional<Witness> possible_;
  std::vector<Fact> facts_;  // a contradiction per instance and kind of head
};

std::string sizes(std::size_t n, Token letters, Token others) {
  return "n = " + std::to_string(n) + ", " + std::to_string(letters) + " and " +
         std::to_string(others);
}

std::vector<std::int64_t> powers_of_two(std::size_t n) {
  std::vector<std::int64_t> weights;
  for (std::size_t j = 0; j < n; ++j) weights.push_back(std::int64_t{1} << j);
  return weights;
}

// All keys alike but the query's own, which outweighs the others together.
std::vector<std::int64_t> own_key_first(std::size_t n) {
  std::vector<std::int64_t> weights(n, 1);
  weights.back() = static_cast<std::int64_t>(n);
  return weights;
}

// The claim, that some two inputs of different answers have equal attention outputs, is false at
// these weights, and how far the outputs are apart at least.
std::vector<Fact> outputs_differ(const FiniteTask& task, const std::vector<std::int64_t>& weights,
                                 const Rational& gap) {
  Names names;
  std::vector<std::string> tokens;
  std::vector<std::string> answers;
  for (const TaskInput& input : task.inputs) {
    for (const Token token : input.tokens) tokens.push_back(std::to_string(token));
    answers.push_back(std::to_string(input.answer));
  }
  std::vector<std::string> shares;
  const auto total = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
  for (const std::int64_t w : weights) shares.push_back(Rational(w, total).str());
  names.where = {{"n", std::to_string(task.length())},
                 {"inputs", std::to_string(task.inputs.size())},
                 {"tokens", std::to_string(task.tokens.size())}};
  names.tables = {{"token", tokens}, {"answer", answers}, {"weight", shares}};
  // One coordinate of the attention output per token.
  const std::string distance =
      "min(x in 0..inputs-2, y in x+1..inputs-1 if answer[x] != answer[y]: "
      "max(c in 0..tokens-1: abs(sum(j in 0..n-1 if token[x*n+j] = c: weight[j]) - "
      "sum(j in 0..n-1 if token[y*n+j] = c: weight[j]))))";
  return {relation(distance + " = 0", names, false), enclosed(distance, Enclosure(gap), names)};
}

}  // namespace

/// P1 Remark 3.1, Index. Cost: below 1 s.
Judgement symbolic_head_cannot_index() {
  Impossibility search;
  for (std::size_t n = 3; n <= 6; ++n)
    for (Token letters = 2; letters <= (n < 6 ? 4 : 2); ++letters)
      for (Token integers = 1; integers < static_cast<Token>(n); ++integers)
        search.instance(index_task(n, {letters, integers}), sizes(n, letters, integers),
                        {symbolic_decoder_systems, symbolic_attention_systems});
  return search.judgement(
      "all inputs of length n = 3..6, 2..4 letters (2 at n = 6), integers 1..M for each M = "
      "1..n-1; symbolic heads with any decoder, and by hard attention");
}

/// P1 Remark 3.1, Retrieval with P1's own values, residual and decoding. Cost: below 1 s.
Judgement positional_head_cannot_retrieve() {
  Impossibility search;
  for (std::size_t n = 3; n <= 5; ++n)
    for (Token integers = 0; integers <= 1; ++integers)
      search.instance(retrieval_task(n, {2, integers}, RetrievalInputs::proper),
                      sizes(n, 2, integers), {positional_systems});
  for (std::size_t n = 3; n <= 5; ++n)
    for (Token integers = 0; integers <= 1; ++integers)
      for (const auto kind : {RetrievalInputs::proper, RetrievalInputs::clean})
        search.instance(retrieval_task(n, {3, integers}, kind), sizes(n, 3, integers),
                        {positional_systems});
  return search.judgement(
      "all proper inputs of length n = 3..5 over 2 and 3 letters, all clean inputs of length n = "
      "3..5 over 3 letters, 0..1 integers");
}

/// P1 Remark 3.1 for a decoder that may be any function of the attention output. Cost: below 1 s.
Judgement positional_head_with_any_decoder() {
  Judgement result;
  std::size_t inputs = 0;
  bool decodable = true;
  for (std::size_t n = 3; n <= 5; ++n)
    for (Token letters = 2; letters <= (n < 5 ? 3 : 2); ++letters) {
      const auto task = retrieval_task(n, {letters, 1}, RetrievalInputs::proper);
      const auto binary = separate_outputs(task, powers_of_two(n));
      const auto own = separate_outputs(task, own_key_first(n));
      inputs += task.inputs.size();
      decodable = decodable && binary.inputs_follow && binary.answers_follow && own.answers_follow;
      if (result.witness) continue;
      result.value = Enclosure(binary.answer_gap);
      Witness weights = Witness::array();
      const auto powers = powers_of_two(n);
      for (const auto w : powers) weights.push_back(Rational(w, (std::int64_t{1} << n) - 1).str());
      result.witness =
          Witness{{"task", task.name},
                  {"length", n},
                  {"letters", letters},
                  {"weights", weights},
                  {"inputs", task.inputs.size()},
                  {"decoder", "the attention output determines the input: coordinate c times " +
                                  std::to_string((1 << n) - 1) +
                                  ", in binary, marks the positions of token c"}};
      result.facts = outputs_differ(task, powers, binary.answer_gap);
    }
  result.scope =
      "all " + std::to_string(inputs) +
      " proper inputs of length n = 3..5 over 2 letters and n = 3..4 over 3 letters, one "
      "integer; weights by position 1:2:4:... and 1:...:1:n; value = the smallest distance, in "
      "the largest coordinate, of outputs with different answers at n = 3";
  if (decodable) {
    result.verdict = Verdict::refuted;
  } else {
    result.witness.reset();
    result.facts.clear();
  }
  return result;
}

/// P2 Theorem 2: no symbolic head does f_POS. Cost: below 1 s.
Judgement symbolic_head_cannot_do_positional_task() {
  Impossibility search;
  for (std::size_t n = 3; n <= 6; ++n)
    for (Token letters = 2; letters <= 3; ++letters)
      search.instance(position_task(n, letters), sizes(n, letters, static_cast<Token>(n) - 1),
                      {symbolic_decoder_systems, symbolic_attention_systems});
  return search.judgement(
      "all inputs of length n = 3..6, query included, 2..3 letters, every queried position; "
      "symbolic heads with any decoder, and by hard attention");
}

/// P2 Theorem 4: no positional head with identity values does f_SYM. Cost: below 1 s.
Judgement positional_head_cannot_do_symbolic_task() {
  Impossibility search;
  for (std::size_t n = 3; n <= 5; ++n)
    for (Token symbols = 2; symbols <= 3; ++symbols)
      for (Token attributes = 2; attributes <= (n < 5 ? 3 : 2); ++attributes)
        search.instance(symbol_task(n, {symbols, attributes}), sizes(n, symbols, attributes),
                        {positional_systems});
  return search.judgement(
      "all inputs of length n = 3..5, query included, 2..3 symbols, 2..3 attributes (2 at n = "
      "5); identity values, projection to the attribute, one-hot embedding");
}

}  // namespace ropewalk::proofs_numeric
