#pragma once
/// \file
/// Trained heads against the theory: which construction a head is, how large its margin is, and how
/// large the theory lets it be.
///
/// The margin of a head that has one query vector q and one key vector k is at most
/// scale |q| |k| Delta*(T) where its target has T keys on either side, n - 2 >= m >= 1
/// (proofs_numeric/optimal.hpp). A trained head has many of both; the bound is drawn with the
/// largest |q| and |k| it showed, so what is above it uses keys that differ: it reads content.
/// Above scale |q| 2 max |k| nothing is.

#include <functional>
#include <span>

#include "checkpoints/forward.hpp"
#include "checkpoints/head_fit.hpp"
#include "proofs_numeric/optimal.hpp"
#include "tasks/task.hpp"

namespace ropewalk::checkpoints {

/// A fit names the head where it explains at least so much of the logits' variance.
inline constexpr double explains_enough = 0.5;

enum class HeadKind { index, retrieval, neither };
/// "Index", "Retrieval", "neither".
[[nodiscard]] const char* name(HeadKind kind);

/// Delta*(T) of one table by reach T; asked from several threads.
using BestHeads = std::function<theory::Enclosure(std::int64_t)>;
/// optimal_head() of each T asked, kept. Guarantee: Enclosure. Errors: those of optimal_head().
[[nodiscard]] BestHeads best_heads(std::vector<theory::Formula> frequencies);

/// The queries of one reach T, lags on the shorter side of their target, that have a bound.
struct ReachRow {
  std::int64_t reach = 0;
  std::size_t queries = 0;
  double mean = 0;  ///< of the margins
  double largest = 0;
  theory::Enclosure best;  ///< Delta*(T)
  /// scale |q| |k| Delta*(T), the largest norms over rotating planes among the queries of the
  /// MarginRow and their keys. Guarantee: Enclosure's upper end for the vectors as computed.
  double bound = 0;
  std::size_t above = 0;  ///< queries whose margin exceeds the bound
  double fitted = 0;      ///< margin of the fitted S alone
  /// What the fitted S has of sum_f a_f Delta*(T); never above 1. Nothing where it is not positive.
  std::optional<double> fitted_efficiency;
};

/// The margins over inputs of one group.
struct MarginRow {
  std::int64_t length = 0;  ///< tokens of the longest
  std::size_t queries = 0;
  std::size_t right = 0;  ///< margin > 0
  double least = 0;
  double mean = 0;
  /// Mean margin over mean bound of the queries that have one: 1 <= m <= n - 2, and no other key is
  /// as good as the target's. Nothing where it is not positive.
  std::optional<double> efficiency;
  std::vector<ReachRow> reaches;
  /// The largest margin / (2 scale |q| max |k|) of a query: never above 1.
  double universal_share = 0;
};

struct HeadCheck {
  std::size_t layer = 0;
  std::size_t head = 0;
  std::optional<int> hops;          ///< that this head makes at once, of inputs with a path
  std::optional<std::int64_t> lag;  ///< that it looks back, of inputs without
  double target_mass = 0;           ///< mean attention weight on the target
  std::size_t queries = 0;          ///< that the fits are made of
  IndexFit index;
  RetrievalFit retrieval;
  double still = 0;  ///< share of the logits' variance on planes that do not rotate
  HeadKind kind = HeadKind::neither;
  bool content_dependent_keys = false;  ///< some margin is above the bound for equal keys
  std::vector<MarginRow> margins;       ///< by group
};

/// Both fits of one head, which of them names it, and its margins. An Index head is one that the
/// fit explains and whose S is largest at the target, a Retrieval head one that the codes explain
/// and whose codes single out the match; of two, what explains more. Domain: at least one query.
/// Guarantee: fits and margins Heuristic, bounds Enclosure. Cost: that of the fits, and one
/// optimal_head() per reach.
[[nodiscard]] HeadCheck cross_check(const MeasuredHead& head, const BestHeads& best);

/// What a model reads, with what is known of it.
struct CheckInput {
  Tokens tokens;
  std::vector<std::int32_t> symbols;  ///< of each token
  std::vector<std::int32_t> path;     ///< as of tasks::Sample; empty: nothing is known
  bool by_token = false;              ///< every position with the target's token is correct
  int group = 0;                      ///< as of HeadKeys
};
/// Of a task's sample: symbols are first letters where tokens are pairs, else the tokens.
[[nodiscard]] CheckInput check_input(const tasks::Task& task, tasks::Sample sample);
/// Of tokens: each is its own symbol.
[[nodiscard]] CheckInput check_input(Tokens tokens);

struct CheckOptions {
  std::optional<std::size_t> layer = {};  ///< this one only
  std::optional<std::size_t> head = {};
  std::function<void(double)> progress = {};
};

/// The heads of a model. In inputs with a path the positions of the path ask, and a head's target
/// is so many hops on, as many as give the target the largest mean weight; the wanted symbol is
/// the target's. In inputs without one every position asks, the target is a fixed lag back,
/// likewise the one with the largest mean weight, and the wanted symbol is the query's own.
/// Domain: inputs all with a path or all without (Error(bad_value), also where no query has a
/// target; Error(unsupported) where the rotary table depends on the length and the inputs differ
/// in it). Guarantee and cost as above, and the forward pass in double.
[[nodiscard]] std::vector<HeadCheck> cross_check(const Model& model,
                                                 std::span<const CheckInput> inputs,
                                                 const CheckOptions& options = {});

}  // namespace ropewalk::checkpoints
