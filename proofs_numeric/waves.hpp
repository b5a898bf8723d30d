#pragma once
/// \file
/// Sums of rotations at every lag of a range: Z(t) = sum_f b_f e^{i theta_f t}, in doubles with a
/// proven error.
///
/// Lags come in panels of 64 blocks of 512. Within a panel e^{i theta (A + j)} = e^{i theta A}
/// e^{i theta j}: the block starts times the offsets, one matrix product for all lags. The other
/// way round, sum_t w_t e^{i theta_f t} for every plane is the product of the weights with the
/// offsets, turned by the block starts. The phases are exact (turns.hpp), so lags may lie anywhere
/// within 2^60 of 0.

#include <Eigen/Core>
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "proofs_numeric/turns.hpp"

namespace ropewalk::proofs_numeric {

using Amplitude = std::complex<double>;

class Waves {
 public:
  static constexpr std::int64_t panel = std::int64_t{64} * 512;  ///< lags of one product

  /// Units: radians per token. Cost: 512 sines per plane.
  explicit Waves(const std::vector<theory::Formula>& frequencies);

  [[nodiscard]] std::size_t planes() const { return steps_.size(); }
  [[nodiscard]] const std::vector<FixedTurns>& steps() const { return steps_; }

  /// Z at the lags start, start + 1, ..., as many as `re` holds, at most `panel`; the imaginary
  /// part only where `im` is not empty. Shapes: one amplitude per plane; `im` empty or as long as
  /// `re`. Guarantee: A-priori bound, off by less than `error(head)`. Cost: 4 operations per plane
  /// and lag and part.
  void sum(const std::vector<Amplitude>& head, std::int64_t start, std::span<double> re,
           std::span<double> im = {}) const;

  /// u = 2^-53. An amplitude may be off by 24u of its size. With |re| + |im| added up to A: starts
  /// b e^{i theta A} are off by 76u |b|, offsets by 22u, products by 100u, two of each; the sum of
  /// 2D products adds 2u A per addition.
  [[nodiscard]] static double error(const std::vector<Amplitude>& head);

  /// Adds sum_t w_t e^{i theta_f t} over the lags from `start` on to into[f], at most `panel` of
  /// them. Guarantee: A-priori bound, for up to 2^24 lags in all off by less than 4096u of the sum
  /// of |w| (512 products of 24u, added one after another, turned, and added up).
  void gather(std::int64_t start, std::span<const double> weights,
              std::vector<Amplitude>& into) const;

 private:
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

  std::vector<FixedTurns> steps_;
  Matrix cosines_;  // planes x offsets
  Matrix sines_;
};

}  // namespace ropewalk::proofs_numeric
