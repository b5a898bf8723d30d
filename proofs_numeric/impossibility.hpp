#pragma once
/// \file
/// What a head cannot do, as a contradiction between two inputs.
///
/// A *symbolic* head's logits depend on the query token and the key token, a *positional* head's on
/// the query token and the positions. For a task on a finite world (a few tokens, one length) "some
/// head of this kind is right on every input" is a system of linear inequalities in the head's
/// unknowns, because each input only asks that the right answer beat the others:
///
///   symbolic, hard attention: s(key), one per key token; the right key's logit beats every other
///   symbolic, any decoder:    z(answer), per query and bag of keys; whatever the softmax scale,
///                             values, residual, unembedding and decoder, the output is a function
///                             of query and bag
///   positional, own values:   w(position) >= 0, attention weights; values are the identity, the
///                             residual is the attention output alone, the largest coordinate is
///                             the answer
///
/// Strict inequalities are written >= 1, which loses nothing: the unknowns may be scaled. Where a
/// system has no solution a handful of inputs with integer multipliers proves it (Farkas; see
/// rational_lp.hpp). A world is enumerated: nothing is sampled.

#include <cstdint>
#include <string>
#include <vector>

#include "constructions/canonical.hpp"
#include "constructions/retrieval.hpp"
#include "proofs_numeric/claims.hpp"
#include "proofs_numeric/rational_lp.hpp"

namespace ropewalk::proofs_numeric {

using constructions::Sequence;
using constructions::Token;

/// One input, its query last.
struct TaskInput {
  Sequence tokens;
  std::size_t key = 0;  ///< a position that holds the right key
  Token answer = 0;
};

/// A task on a finite world: every valid input of one length.
struct FiniteTask {
  std::string name;
  std::vector<std::string> tokens;   ///< names, by token
  std::vector<std::string> answers;  ///< names, by answer
  std::vector<Token> writes;  ///< by token: the answer that an identity value writes, -1 for none
  std::vector<TaskInput> inputs;  ///< in lexicographic order
  // What the world is made of, as a certificate names it.
  std::string kind;  ///< index, retrieval-proper, retrieval-clean, position, symbol, mixed
  Token letters = 0;
  Token others = 0;  ///< integers, queried positions or attributes

  [[nodiscard]] std::size_t length() const {
    return inputs.empty() ? 0 : inputs.front().tokens.size();
  }
};

/// P1's Index at the last position. Domain: n >= 1 (Error(bad_value)); at most 2 million inputs
/// (Error(too_large)), as for the tasks below. Cost: the number of inputs.
[[nodiscard]] FiniteTask index_task(std::size_t n, const constructions::IndexAlphabet& alphabet);

enum class RetrievalInputs { proper, clean };
/// P1's Retrieval at the last position. A letter-integer query retrieves itself. Domain: n >= 1.
[[nodiscard]] FiniteTask retrieval_task(std::size_t n,
                                        const constructions::RetrievalAlphabet& alphabet,
                                        RetrievalInputs kind);

/// P2's f_POS: n - 1 letters, then a query ?j; the answer is the letter at position j, counted
/// from 1. Domain: n >= 2, letters >= 1.
[[nodiscard]] FiniteTask position_task(std::size_t n, Token letters);
/// P2's f_SYM: n - 1 bindings symbol:attribute, the queried symbol bound to one attribute
/// throughout, then a query for a symbol that occurs; the answer is its attribute. Domain: n >= 2.
[[nodiscard]] FiniteTask symbol_task(std::size_t n, const constructions::BindingAlphabet& alphabet);
/// P2's f_MIX: as f_SYM, but a symbol may be bound anew; the answer is its last attribute. Domain:
/// n >= 2.
[[nodiscard]] FiniteTask mixed_task(std::size_t n, const constructions::BindingAlphabet& alphabet);

/// A x >= b with the meaning of its parts.
struct HeadSystem {
  std::string head;                    ///< kind, query and bag, in words
  std::vector<std::string> variables;  ///< names of the unknowns
  RationalMatrix a;
  RationalVector b;
  std::vector<std::vector<std::size_t>>
      inputs;        ///< by row: the inputs that ask for it, none for w >= 0
  std::string kind;  ///< symbolic attention, symbolic decoder, positional
};

/// One system per query token. Guarantee: Exact; equal rows are kept once. Cost: inputs times
/// length.
[[nodiscard]] std::vector<HeadSystem> symbolic_attention_systems(const FiniteTask& task);
/// One system per query token and bag of the other tokens.
[[nodiscard]] std::vector<HeadSystem> symbolic_decoder_systems(const FiniteTask& task);
/// One system per query token.
[[nodiscard]] std::vector<HeadSystem> positional_systems(const FiniteTask& task);

/// The rows of a contradiction and their positive integer multipliers.
struct Contradiction {
  HeadSystem system;
  RationalVector multipliers;
};

/// Whether some head solves every system.
struct HeadSearch {
  bool possible = true;
  std::size_t systems = 0;
  std::size_t impossible = 0;  ///< systems without a solution
  std::size_t inequalities = 0;
  std::optional<Contradiction>
      contradiction;  ///< the one with the fewest rows, the first among equals
};

/// Solves each system by find_point. Guarantee: Exact; points and contradictions are verified.
/// Cost: one small linear program per system.
[[nodiscard]] HeadSearch find_head(const std::vector<HeadSystem>& systems);

/// The largest t with A x >= t b for some x of entries in [-1, 1], b of zeros and ones: the best
/// margin that the unknowns reach. Positive iff the system has a solution. Exact.
[[nodiscard]] theory::Rational best_margin(const HeadSystem& system);

/// The contradiction for people: one input per row, what each asks, the multipliers, and the sum "0
/// >= k". Two rows are shown on inputs that are permutations of each other where such a pair
/// exists.
[[nodiscard]] Witness witness(const FiniteTask& task, const Contradiction& contradiction);

/// The same as a fact that can be checked from the inputs alone: per row an input, and the rival
/// that its right key or answer must beat. Rows w >= 0 are left out: they are what positional heads
/// are.
[[nodiscard]] Fact contradiction_fact(const FiniteTask& task, const Contradiction& contradiction);

/// What a decoder of the attention output a = sum_j w_j e(token_j) alone can tell, w_j = weights_j
/// / sum.
struct OutputSeparation {
  bool answers_follow = true;  ///< inputs of equal output have equal answers: some decoder is right
  bool inputs_follow = true;   ///< no two inputs share an output
  std::size_t inputs = 0;
  theory::Rational
      answer_gap;  ///< smallest distance of outputs with different answers, largest coordinate
  std::optional<std::pair<std::size_t, std::size_t>>
      collision;  ///< inputs of equal output, unequal answer
};

/// Exhaustive over the task's inputs. Domain: one weight >= 1 per position (Error(bad_value)), sum
/// below 2^31. Guarantee: Exact. Cost: the square of the number of different outputs.
[[nodiscard]] OutputSeparation separate_outputs(const FiniteTask& task,
                                                const std::vector<std::int64_t>& weights);

}  // namespace ropewalk::proofs_numeric
