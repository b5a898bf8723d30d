#pragma once
/// \file
/// Candidates for the two lists of a matrix game, and their rounding to rationals.
///
/// Columns are the moves of a head, (plane, direction), rows those of an adversary; row r pays
/// re_f(r) Re b + im_f(r) Im b to a head that puts b on plane f. Clp solves the game in floating
/// point, warm from the last time. Nothing of it is believed: heads and mixtures are rounded to
/// fractions here, and proven elsewhere.

#include <atomic>
#include <span>
#include <utility>
#include <vector>

#include "proofs_numeric/optimal.hpp"

namespace ropewalk::proofs_numeric {

/// Values of games below this are taken for 0.
inline constexpr double smallest_game = 1e-28;

class Game {
 public:
  explicit Game(std::size_t planes) : planes_(planes) {}

  void add_column(std::size_t plane, double re, double im);
  /// Pays of the new row, plane by plane.
  void add_row(std::span<const double> re, std::span<const double> im);

  /// Added to every pay, for games that may have a value <= 0. Cost: none; call it before solve().
  void set_shift(double shift);

  /// min sum x with sum_j x_j pay_j(r) / scale >= 1, x >= 0: the value of the game is scale / sum
  /// x. False where Clp finds no optimum.
  bool solve();

  /// max_j sum_r mu_r pay_j(r), which no head of these columns exceeds. Without the shift.
  [[nodiscard]] double value() const { return value_ - shift_; }
  [[nodiscard]] const std::vector<double>& mixture() const { return mixture_; }  ///< row by row
  [[nodiscard]] std::size_t planes() const { return planes_; }
  [[nodiscard]] std::size_t rows() const { return rows_; }

  /// The head, its weights added up per plane.
  [[nodiscard]] std::vector<std::pair<double, double>> amplitudes() const;

  /// Adds, per plane that would gain by it, the direction that the mixture leaves most open.
  bool add_directions(double tolerance);

 private:
  struct Column {
    std::size_t plane;
    double re;
    double im;
  };

  [[nodiscard]] double pay(std::size_t r, std::size_t j) const {
    const std::size_t at = r * planes_ + columns_[j].plane;
    return shift_ + columns_[j].re * re_[at] + columns_[j].im * im_[at];
  }
  bool solve_scaled();

  std::size_t planes_;
  std::size_t rows_ = 0;
  std::vector<Column> columns_;
  std::vector<double> re_;  // row by row
  std::vector<double> im_;
  std::vector<unsigned char> status_;  // Clp's basis, rows first, then columns
  std::vector<double> shares_;
  std::vector<double> mixture_;
  double shift_ = 0;
  double value_ = 0;
  double scale_ = 0;
};

/// Throws Error(undecided) once *stop is set.
void stop_if(const std::atomic<bool>* stop);

/// 10^exponent.
[[nodiscard]] theory::Integer power_of_ten(unsigned exponent);
/// Decimals after the point with which a share of a game of this value is written.
[[nodiscard]] unsigned places(double value);
/// Shares as whole multiples of 10^-digits, rounded down, the rest given to the largest: sum
/// exactly 1.
[[nodiscard]] std::vector<Rational> as_rationals(const std::vector<double>& shares,
                                                 unsigned digits);
/// Complex amplitudes in whole multiples of a unit, divided by an upper bound of the sum of their
/// sizes: sum |b_f| <= 1.
[[nodiscard]] std::vector<ComplexAmplitude> as_complex(
    const std::vector<std::pair<double, double>>& shares, unsigned digits);

}  // namespace ropewalk::proofs_numeric
