#pragma once
/// \file
/// What the horizons of Index and Retrieval heads share: sums of exponentials with error bounds,
/// the demand that they are held against, rotations in intervals, and the search for far bounds.

#include <algorithm>
#include <cmath>
#include <vector>

#include "proofs_numeric/game.hpp"
#include "proofs_numeric/horizon.hpp"
#include "proofs_numeric/waves.hpp"

namespace ropewalk::proofs_numeric {

inline constexpr double unit_roundoff = 0x1p-53;

/// Checks scale, mass and reach of a question and the number of planes: Error(bad_value),
/// Error(too_large).
void check_horizon(const std::vector<Formula>& frequencies, const HorizonQuestion& question);

/// A sum of terms >= 0, in three levels of at most 512: off by less than 2200u of itself.
class RunningSum {
 public:
  void add(double x) {
    run_ += x;
    if ((++count_ & 511U) != 0) return;
    block_ += run_;
    run_ = 0;
    if ((count_ & 32767U) != 0) return;
    far_ += block_;
    block_ = 0;
  }
  [[nodiscard]] double value() const { return far_ + (block_ + run_); }

 private:
  double far_ = 0;
  double block_ = 0;
  double run_ = 0;
  std::uint64_t count_ = 0;
};

/// Relative error of a sum of exp_minus(scale (total - Z)) over up to 2^24 lags, Z from Waves::sum
/// with this head: an exponent off by scale Waves::error (which covers rounding `total` and the
/// product), 16u for the exponential, 2200u for the sum. Below 10^-4 for scales up to 10^6.
[[nodiscard]] inline double sum_error(const std::vector<Amplitude>& head, double scale) {
  return 1.1 * (scale * Waves::error(head) + (20 + 2200) * unit_roundoff);
}

/// S within `error` of itself (and 10^-290, for terms below the range of doubles).
[[nodiscard]] Enclosure enclosure_of(double sum, double error);
/// 1/(1 + S) likewise.
[[nodiscard]] Enclosure mass_of(double sum, double error);

/// S <= 1/mass - 1, as far as doubles with this error can tell.
class Demand {
 public:
  Demand(const Rational& mass, double error);
  [[nodiscard]] bool met(double sum) const { return sum <= met_; }
  [[nodiscard]] bool missed(double sum) const { return sum > missed_; }

 private:
  double met_;
  double missed_;
};

/// cos and sin of lag * theta; exact where the turns are rational and they are.
template <class I>
[[nodiscard]] std::pair<I, I> rotation(const Formula& theta, const Rational& lag) {
  if (const auto turns = theta.turns()) {
    const Rational part = theory::fraction(Rational(*turns * lag));
    return {theory::cosine_of_turns<I>(part),
            theory::cosine_of_turns<I>(Rational(part - Rational(1, 4)))};
  }
  const I angle = I(lag) * theta.as<I>();
  return {cos(angle), sin(angle)};
}

/// Calls f(t, cosines, sines) with e^{i theta t} of every plane at t = first..last until it returns
/// false: blocks of 256 lags, one product per plane and lag. Enclosure.
template <class I, class F>
void exact_rotations(const std::vector<Formula>& planes, std::int64_t first, std::int64_t last,
                     const std::atomic<bool>* stop, F&& f) {
  constexpr std::int64_t block = 256;
  std::vector<std::vector<std::pair<I, I>>> offsets;
  for (const Formula& theta : planes) {
    std::vector<std::pair<I, I>> some;
    for (std::int64_t j = 0; j < std::min(block, last - first + 1); ++j)
      some.push_back(rotation<I>(theta, Rational(j)));
    offsets.push_back(std::move(some));
  }
  std::vector<I> cosines(planes.size());
  std::vector<I> sines(planes.size());
  for (std::int64_t start = first; start <= last; start += block) {
    stop_if(stop);
    std::vector<std::pair<I, I>> starts;
    for (const Formula& theta : planes) starts.push_back(rotation<I>(theta, Rational(start)));
    for (std::int64_t j = 0; j < block && start + j <= last; ++j) {
      for (std::size_t p = 0; p < planes.size(); ++p) {
        const auto& [a, b] = starts[p];
        const auto& [c, s] = offsets[p][static_cast<std::size_t>(j)];
        cosines[p] = a * c - b * s;
        sines[p] = a * s + b * c;
      }
      if (!f(start + j, cosines, sines)) return;
    }
  }
}

/// |D_n(theta)| = |sin(n theta/2) / (n sin(theta/2))|, 1 for whole turns. Enclosure within [0, 1].
template <class I>
[[nodiscard]] I dirichlet_kernel(const Formula& theta, const Lag& n) {
  const auto turns = theta.turns();
  if (turns && denominator(*turns) == 1) return I(1);
  const I below = rotation<I>(theta, Rational(1, 2)).second;
  if (!sign(below)) return I(Rational(0), Rational(1));
  const I above = rotation<I>(theta, Rational(n, 2)).second;
  return min(I(1), abs(I(above / (I(n) * below))));
}

/// The mean of 1 - e^{i theta s} over n consecutive lags s around `centre` without s = 0 (where it
/// is nothing), in size: |n - sum e^{i theta s}| / (n - 1). Enclosure.
template <class I>
[[nodiscard]] I rotation_sum(const Formula& theta, const Lag& n, const Rational& centre) {
  const auto turns = theta.turns();
  if (turns && denominator(*turns) == 1) return I(0);
  const I below = rotation<I>(theta, Rational(1, 2)).second;
  if (!sign(below)) return I(Rational(0), Rational(2));
  const I sum = rotation<I>(theta, Rational(n, 2)).second / below;
  const auto [c, s] = rotation<I>(theta, centre);
  const I re = I(n) - sum * c;
  const I im = sum * s;
  return sqrt(max(I(re * re + im * im), I(0))) / I(Integer(n - 1));
}

/// Doubles from `first` on until `excluded` answers (up to 10^100), then halves: bound = that
/// length less 1. Rotations past 160 digits' worth of lags stay enclosed, only wider.
template <class F>
[[nodiscard]] Exclusion first_excluded(const Lag& first, F&& excluded,
                                       const std::atomic<bool>* stop) {
  static const Lag farthest = boost::multiprecision::pow(theory::Integer(10), 100);
  Exclusion result;
  result.mass = {0, 1};
  Lag open = first - 1;
  Lag closed = first;
  std::optional<Rational> most;
  for (;; closed *= 2) {
    stop_if(stop);
    if (closed > farthest) return result;
    if ((most = excluded(closed))) break;
    open = closed;
  }
  result.mass.hi = *most;
  while (closed - open > 1) {
    stop_if(stop);
    const Lag middle = (open + closed) / 2;
    if ((most = excluded(middle))) {
      closed = middle;
      result.mass.hi = *most;
    } else {
      open = middle;
    }
  }
  result.bound = Lag(closed - 1);
  return result;
}

}  // namespace ropewalk::proofs_numeric
