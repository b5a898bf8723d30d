#pragma once
/// \file
/// How positional and how symbolic the heads of a model are, on given inputs.
///
/// For one query the whole question is one matrix, M(a, b) = logit of the key of token a at
/// position b (theory/scores.hpp). Its entries are k_a . R(-b) R(i) q, so a head costs one product
/// of matrices, and each of the swaps then costs a few operations: the literal way, which runs the
/// layer again for every swap, costs a product of its own each time.

#include "checkpoints/forward.hpp"

namespace ropewalk::checkpoints {

/// M(a, b) of one head and query: rows tokens, columns positions, first .. query of both, where
/// `first` is the earliest key that the window leaves. The model's scale and softcap are in it.
struct KeysAnywhere {
  Rows<double> logits;
  std::int64_t first = 0;  ///< token and position of row and column 0
};
/// Guarantee: Heuristic (rounding of the pass). Cost: n^2 head_dim multiplications. Throws
/// Error(bad_value) for a head or query that the pass has not.
[[nodiscard]] KeysAnywhere keys_anywhere(const Pass<double>& pass, std::int64_t head,
                                         std::int64_t query);

struct SwapScores {
  double positional = 0;
  double symbolic = 0;
};
/// s_POS and s_SYM over all swaps of positions before the last, or of contiguous blocks of `block`
/// positions; the last block may be shorter, and what lies between then moves with it. A block's
/// weight is the mean of its positions' weights. Equals theory::head_scores for block = 1.
/// Nothing for fewer than two blocks. tau > 0, block >= 1 (Error(bad_value)).
/// Guarantee: Heuristic; agrees with the literal evaluation to about 1e-12. Cost: n^2 / block
/// exponentials for the blocks, two per swap. Source: P1 App. D.
[[nodiscard]] std::optional<SwapScores> swap_scores(Eigen::Ref<const Rows<double>> logits,
                                                    double tau = 1e-4, std::int64_t block = 1);

/// One head's logits taken apart into planes: contribution of plane f to the logit of key j, with
/// the scale but without the softcap. Shapes: planes x keys first .. query.
[[nodiscard]] Rows<double> plane_logits(const Pass<double>& pass, std::int64_t head,
                                        std::int64_t query, std::int64_t first);

struct HeadScore {
  std::size_t layer = 0;
  std::size_t head = 0;
  double positional = 0;  ///< mean over queries and inputs; not a number where no query had a swap
  double symbolic = 0;
  double entropy = 0;  ///< nats, of the attention weights, mean
  /// v_f: the largest contribution of plane f to a logit over the keys, mean over queries and
  /// inputs.
  std::vector<double> plane_use;
  /// round(sum_f (f + 1) softmax(v)_f), planes counted from 1.
  std::int64_t weighted_id = 0;
  /// Scores of the head that had plane f alone, where asked for.
  std::vector<SwapScores> planes;
  std::size_t queries = 0;  ///< that had at least one swap

  /// One score above 1 - gamma and the other below gamma: "positional" or "symbolic", else "mixed".
  [[nodiscard]] const char* purity(double gamma) const;
};

struct HeadOptions {
  double tau = 1e-4;
  std::int64_t block = 1;
  bool all_queries = false;  ///< every position as the query, not the last only
  bool planes = false;       ///< also each plane alone
  std::function<void(double)> progress = {};
};

/// All heads on all inputs, layer by layer from 0, by the forward pass in double.
/// Guarantee: Heuristic. Cost: that of the pass, and per head and query n^2 (head_dim + about 20).
/// Errors: those of `forward`, of `swap_scores`; Error(bad_value) for no inputs.
/// Source: P1 App. D.
[[nodiscard]] std::vector<HeadScore> score_heads(const Model& model, std::span<const Tokens> inputs,
                                                 const HeadOptions& options = {});

/// round(sum_f (f + 1) softmax(use)_f). Source: P1 App. D.
[[nodiscard]] std::int64_t weighted_id(std::span<const double> use);

}  // namespace ropewalk::checkpoints
