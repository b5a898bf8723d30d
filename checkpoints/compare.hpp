#pragma once
/// \file
/// Two files of one model: are the rows of queries and keys the same, and in which order?
///
/// Converters move rows between the layouts, and the usual fault is the right permutation with the
/// wrong number of heads, or none. So each head's rows are looked for in the other file under the
/// permutations that are met in practice, and where none fits, one by one:
///
///   same                              row r is row r
///   half-split to interleaved         and back, within each head
///   ... as if there were N heads      the same with blocks of another size
///   head H                            the rows of another head, in one of these orders
///   rows in another order             all there, but in an order without a name
///   other rows                        not there

#include <string>
#include <vector>

#include "checkpoints/model.hpp"

namespace ropewalk::checkpoints {

struct HeadMatch {
  std::size_t layer = 0;
  char part = 'q';  ///< 'q' or 'k'
  std::int64_t head = 0;
  std::string permutation;  ///< from the first file to the second, in the words above
  /// |B - P A| / |A| of this head's rows under that permutation, as dequantised.
  double residual = 0;
  double allowed = 0;  ///< what rounding to the two element types may do
};

struct MatrixMatch {
  std::string name;  ///< in the first file
  double residual = 0;
  double allowed = 0;
};

struct Comparison {
  std::vector<HeadMatch> heads;
  /// Values, outputs, MLP, embeddings, norms and biases: row r against row r, those of queries and
  /// keys in the order of their rows.
  std::vector<MatrixMatch> others;
  std::vector<std::string> alone;  ///< in one of the files only
};

/// A residual up to this are the same rows, whatever rounding did to them (4-bit blocks have about
/// 0.1); unrelated rows have 1.4.
inline constexpr double same_within = 0.2;

/// Compares b with a, layer by layer. Throws Error(bad_value) where the sizes differ. Guarantee:
/// Heuristic in the choice (rows are matched by projections on a few random directions), Exact up
/// to rounding in the residual of the permutation named. Cost: a few passes over both files;
/// memory: the rows of one head.
[[nodiscard]] Comparison compare(const Model& a, const Model& b);

}  // namespace ropewalk::checkpoints
