#pragma once
/// \file
/// The proof that stored weights solve a task at every length up to N (docs/proofs-weight-sets.md).
///
/// Floats are rational numbers, so what a file holds can be proven of, whatever was meant when it
/// was written. Two arithmetics: *real*, exact on the stored numbers; *float32*, every evaluation
/// in float32 that obeys the assumptions of that page. The bounds are worked out layer by layer:
/// how large the norm of the stream can be, how much attention the right keys get at least, how
/// much of what is fetched is the right token, and by how much its score leads in the end.
///
///   const StackProof proof(model, vocabulary, hops);
///   const StackBounds bounds = proof.bounds(256, Arithmetic::float32);
///   if (bounds.proven()) facts.push_back(stack_fact(...));

#include <vector>

#include "checkpoints/model.hpp"
#include "constructions/transformer.hpp"
#include "proofs_numeric/certificate.hpp"

namespace ropewalk::checkpoints {

enum class Arithmetic { real, float32 };
inline constexpr std::int64_t longest_proof = std::int64_t{1} << 24;
[[nodiscard]] std::string_view name(Arithmetic arithmetic);

/// A gap counts as proven from here on: what ropewalk-check's own roundings may take is far less.
inline constexpr double least_gap = 1e-3;

/// Lower bounds over every valid position of every input of at most so many tokens; mass and gap as
/// a certificate claims them, in eight decimals.
struct StackBounds {
  std::vector<double> mass;  ///< attention on the right keys, by hop
  double margin = 0;  ///< first layer: least lead of a right logit over a wrong one elsewhere;
                      ///< infinite where nothing is wrong
  double gap = 0;     ///< score of the answer minus the largest other

  [[nodiscard]] bool proven() const { return gap >= least_gap; }
};

/// What is read off a model once. Doubles are enclosed with slack: each bound is rounded the safe
/// way by far more than what a double computation of this size can lose.
class StackProof {
 public:
  /// The model must have the structure of that page for the task. Throws Error(unsupported), one
  /// line that names the tensor and what it does, where it has not. Cost: O(layers V d) operations
  /// on rationals, most of them skipped as zeros.
  StackProof(const Model& model, const constructions::Vocabulary& vocabulary, int hops);
  ~StackProof();
  StackProof(StackProof&&) noexcept;
  StackProof& operator=(StackProof&&) = delete;

  /// Guarantee: A-priori bound (lower). Domain: 1 <= length <= longest_proof, `float32` not for
  /// plain models (Error(bad_value)); Error(too_large) beyond 2^28 lags times turning planes. Cost:
  /// O(hops length queries keys planes); O(hops) where no plane turns.
  [[nodiscard]] StackBounds bounds(std::int64_t length, Arithmetic arithmetic) const;

  /// The largest length up to `limit`, and up to longest_checked(), that is proven, 0 where length
  /// 1 is not; beyond 4096 to within that part of itself. Bounds fall with the length, so it is
  /// found by bisection, from `known` on where that is proven; every length below it is proven with
  /// it. Guarantee, cost and errors as bounds, times the logarithm of the limit.
  [[nodiscard]] std::int64_t longest(Arithmetic arithmetic, std::int64_t limit,
                                     std::int64_t known = 1) const;

  /// The largest length that ropewalk-check goes through for this model.
  [[nodiscard]] std::int64_t longest_checked() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// The fact `stack` of a certificate (docs/certificates.md): the bounds, less 2^-16 for the
/// checker's roundings, of the model in files of these hashes (name, SHA-256 in hexadecimal).
[[nodiscard]] proofs_numeric::Fact stack_fact(
    const std::vector<std::pair<std::string, std::string>>& files,
    const constructions::Vocabulary& vocabulary, int hops, std::int64_t length,
    Arithmetic arithmetic, const StackBounds& bounds);

}  // namespace ropewalk::checkpoints
