#pragma once
/// \file
/// What a proof reads off a model (docs/proofs-weight-sets.md, "Structure"): images of every token
/// layer by layer, in rationals, with everything checked that has to be 0; queries and keys by
/// class.

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "checkpoints/model.hpp"
#include "constructions/vocabulary.hpp"

namespace ropewalk::checkpoints {

/// A vector of the stream, or what a matrix makes of one: its coordinates that are not 0.
using ExactVector = std::map<Eigen::Index, theory::Rational>;
using SparseRow = std::vector<std::pair<Eigen::Index, double>>;

/// A matrix that reads or writes the stream, by rows, without its zeros.
struct SparseMatrix {
  std::string name;
  Eigen::Index columns = 0;
  std::vector<SparseRow> rows;
  std::vector<double> bias;
};

struct NormWeights {
  std::vector<double> g, c;
};

/// A plane of the head, by the coordinates that turn together.
struct HeadPlane {
  Eigen::Index x = 0, y = 0;
  theory::Formula frequency;
  double speed = 0;     ///< radians per token, at least
  double relative = 0;  ///< float32: error of the angle per radian, in units of 2^-24
};

/// A vector's two coordinates in a plane.
struct InPlane {
  double x = 0, y = 0;
  [[nodiscard]] double size() const { return std::hypot(x, y); }
};
using ByPlane = std::vector<InPlane>;

struct HopLayer {
  NormWeights norm;
  SparseMatrix q, k, v, out;
  std::vector<ExactVector> image;        ///< by token: what the layer writes of it, rho apart
  std::vector<ByPlane> queries;          ///< by query class, rho apart
  std::vector<std::size_t> query_class;  ///< by token
  std::vector<ByPlane> keys;             ///< by key class, rho apart
  std::vector<std::size_t> key_class;    ///< by token
  ByPlane common;                        ///< of every key
  std::vector<double> value_size;        ///< by row of W_V: the largest value of an image
};

struct StackStructure {
  constructions::Vocabulary vocabulary;
  int hops = 0;
  Eigen::Index d = 0;
  NormKind norm_kind = NormKind::none;
  double eps = 0;
  double scale = 1;
  std::vector<HeadPlane> planes;
  std::vector<ExactVector> embedding;  ///< by token
  std::vector<HopLayer> layers;        ///< one per hop
  NormWeights final_norm;
  SparseMatrix unembedding;
  std::vector<std::vector<double>> own, found;  ///< [token][answer]: U g E and U g I_hops

  /// Throws Error(unsupported), naming the tensor and what it does, where the model has not this
  /// structure. Cost: O(layers V d) operations on rationals, zeros apart.
  StackStructure(const Model& model, const constructions::Vocabulary& words, int hop_count);

  /// What layer l = 1..hops takes values and queries from: 0 the embedding, k what layer k wrote.
  [[nodiscard]] int value_source(int l) const {
    return vocabulary.rule == constructions::Rule::lag ? l - 1 : 0;
  }
  [[nodiscard]] int query_source(int l) const {
    return vocabulary.rule == constructions::Rule::lag ? 0 : l - 1;
  }
  [[nodiscard]] const ExactVector& image(int k, constructions::Token v) const {
    return k == 0 ? embedding[static_cast<std::size_t>(v)]
                  : layers[static_cast<std::size_t>(k - 1)].image[static_cast<std::size_t>(v)];
  }

 private:
  void read_planes(const Model& model);
  void read_layer(const Model& model, int l);
  void check_silent(const Model& model, int l) const;
  static void check_constant(const SparseMatrix& w, const NormWeights& norm, const char* what);
  void check_reads(const SparseMatrix& w, const NormWeights& norm, int below, int source) const;
  void check_means() const;
  [[nodiscard]] ByPlane by_plane(const ExactVector& x) const;
};

}  // namespace ropewalk::checkpoints
