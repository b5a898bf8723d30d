#pragma once
/// \file
/// The obvious ways to look for the smallest loss of the uniform head, lag by lag, to measure the
/// engine against. Each takes the lags 1..T of the table base^(-f/D) and returns the lag of the
/// least value of sum_f (1 - cos(theta_f t))/D. How much each proves is said at each.

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "theory/trig_sum.hpp"

namespace ropewalk::benchmarks {

struct Table {
  unsigned long base;
  unsigned planes;

  [[nodiscard]] theory::TrigSum uniform() const {
    std::vector<theory::Formula> frequencies;
    for (unsigned f = 0; f < planes; ++f)
      frequencies.push_back(
          pow(theory::Formula(base), theory::Rational(-static_cast<int>(f), planes)));
    return theory::aligned_loss(std::vector<theory::Rational>(planes, theory::Rational(1, planes)),
                                frequencies);
  }
  [[nodiscard]] std::vector<double> doubles() const {
    std::vector<double> theta;
    for (unsigned f = 0; f < planes; ++f)
      theta.push_back(std::pow(static_cast<double>(base), -static_cast<double>(f) / planes));
    return theta;
  }
};

/// One cosine of the C library per lag and plane. Proves nothing: frequencies are rounded, errors
/// unknown.
inline std::int64_t by_libm(const Table& table, std::int64_t last) {
  const std::vector<double> theta = table.doubles();
  double least = INFINITY;
  std::int64_t lag = 0;
  for (std::int64_t t = 1; t <= last; ++t) {
    double sum = 0;
    for (const double x : theta) sum += 1.0 - std::cos(x * static_cast<double>(t));
    if (sum < least) {
      least = sum;
      lag = t;
    }
  }
  return lag;
}

/// Angle addition by matrix products of 512 x 64 lags, all in doubles. Proves nothing.
inline std::int64_t by_eigen(const Table& table, std::int64_t last) {
  constexpr Eigen::Index width = 512;
  constexpr Eigen::Index height = 64;
  const std::vector<double> theta = table.doubles();
  const auto planes = static_cast<Eigen::Index>(theta.size());
  Eigen::MatrixXd offsets(2 * planes, width);
  Eigen::MatrixXd starts(2 * planes, height);
  for (Eigen::Index f = 0; f < planes; ++f)
    for (Eigen::Index j = 0; j < width; ++j) {
      const double angle = theta[static_cast<std::size_t>(f)] * static_cast<double>(j);
      offsets(2 * f, j) = -std::cos(angle);
      offsets(2 * f + 1, j) = std::sin(angle);
    }
  double least = INFINITY;
  std::int64_t lag = 0;
  for (std::int64_t at = 1; at <= last; at += width * height) {
    for (Eigen::Index i = 0; i < height; ++i)
      for (Eigen::Index f = 0; f < planes; ++f) {
        const double angle =
            theta[static_cast<std::size_t>(f)] * static_cast<double>(at + i * width);
        starts(2 * f, i) = std::cos(angle);
        starts(2 * f + 1, i) = std::sin(angle);
      }
    const Eigen::MatrixXd values = offsets.transpose() * starts;
    for (Eigen::Index i = 0; i < height; ++i) {
      const std::int64_t start = at + i * width;
      const Eigen::Index inside = std::min<Eigen::Index>(width, last - start + 1);
      if (inside <= 0) break;
      Eigen::Index j = 0;
      const double value = values.col(i).head(inside).minCoeff(&j);
      if (value < least) {
        least = value;
        lag = start + j;
      }
    }
  }
  return lag;
}

/// An MPFI cosine of 64 bits per lag and plane, angles from 128-bit frequencies. Encloses every
/// value; the lag returned has the least upper bound.
std::int64_t by_mpfi(const Table& table, std::int64_t last);
/// An Arb cosine of 64 bits per lag and plane, likewise.
std::int64_t by_arb(const Table& table, std::int64_t last);

}  // namespace ropewalk::benchmarks
