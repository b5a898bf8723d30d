#include "proofs_numeric/game.hpp"

#include <ClpSimplex.hpp>
#include <algorithm>
#include <cmath>
#include <limits>

namespace ropewalk::proofs_numeric {

using theory::Integer;

namespace {

// Entries of the program are scaled by the optimum; above this they count as enough by themselves.
constexpr double largest_entry = 1e9;

// Without what is negative or noise, sum 1; empty where nothing is left.
std::vector<double> normalised(const double* from, std::size_t count) {
  std::vector<double> result(from, from + count);
  double sum = 0;
  for (double& x : result) {
    if (!(x > 0)) x = 0;
    sum += x;
  }
  if (!(sum > 0) || !std::isfinite(sum)) return {};
  for (double& x : result) x /= sum;
  return result;
}

}  // namespace

void Game::add_column(std::size_t plane, double re, double im) {
  columns_.push_back({plane, re, im});
  if (!status_.empty()) status_.push_back(ClpSimplex::basic);
}

void Game::add_row(std::span<const double> re, std::span<const double> im) {
  ++rows_;
  re_.insert(re_.end(), re.begin(), re.end());
  im_.insert(im_.end(), im.begin(), im.end());
  if (!status_.empty())
    status_.insert(status_.begin() + static_cast<std::ptrdiff_t>(rows_ - 1),
                   ClpSimplex::atLowerBound);
}

void Game::set_shift(double shift) {
  value_ += shift - shift_;
  scale_ = value_;
  shift_ = shift;
}

bool Game::solve() {
  if (!(scale_ > 0)) {
    scale_ = std::numeric_limits<double>::infinity();
    for (std::size_t r = 0; r < rows_; ++r) {
      double sum = 0;
      for (std::size_t j = 0; j < columns_.size(); ++j) sum += pay(r, j);
      scale_ =
          std::min(scale_, std::max(sum / static_cast<double>(columns_.size()), smallest_game));
    }
  }
  for (int attempt = 0; attempt < 8; ++attempt) {
    if (!solve_scaled()) return false;
    const double ratio = value_ / scale_;
    scale_ = value_;
    if (ratio > 0.1 && ratio < 10) return true;
  }
  return true;
}

std::vector<std::pair<double, double>> Game::amplitudes() const {
  std::vector<std::pair<double, double>> result(planes_);
  for (std::size_t j = 0; j < shares_.size(); ++j) {  // columns added since have no share yet
    result[columns_[j].plane].first += shares_[j] * columns_[j].re;
    result[columns_[j].plane].second += shares_[j] * columns_[j].im;
  }
  return result;
}

bool Game::add_directions(double tolerance) {
  bool added = false;
  for (std::size_t f = 0; f < planes_; ++f) {
    double c = 0;
    double s = 0;
    for (std::size_t r = 0; r < rows_; ++r) {
      c += mixture_[r] * re_[r * planes_ + f];
      s += mixture_[r] * im_[r * planes_ + f];
    }
    const double size = std::hypot(c, s);
    if (size <= value_ * (1 + tolerance)) continue;
    add_column(f, c / size, s / size);
    added = true;
  }
  return added;
}

// The adversary's side is the program that is solved: max sum y with sum_r y_r pay_j(r) <= 1 for
// all moves j. Its basis has the size of the moves, which are few beside the rows that come to be
// known, and a basis stays feasible when rows are added.
bool Game::solve_scaled() {
  const std::size_t m = rows_;
  const std::size_t n = columns_.size();
  std::vector<CoinBigIndex> begins{0};
  std::vector<int> moves;
  std::vector<double> entries;
  for (std::size_t r = 0; r < m; ++r) {
    for (std::size_t j = 0; j < n; ++j) {
      const double entry = pay(r, j) / scale_;
      if (entry == 0) continue;
      moves.push_back(static_cast<int>(j));
      entries.push_back(std::min(entry, largest_entry));
    }
    begins.push_back(static_cast<CoinBigIndex>(moves.size()));
  }
  const std::vector<double> gains(m, -1.0);  // Clp minimises
  const std::vector<double> ones(n, 1.0);
  ClpSimplex lp;
  lp.setLogLevel(0);
  lp.setPrimalTolerance(1e-9);
  lp.setDualTolerance(1e-9);
  lp.scaling(0);  // done above; a second scaling and perturbed costs leave it short of 1e-9
  lp.setPerturbation(100);
  lp.loadProblem(static_cast<int>(m), static_cast<int>(n), begins.data(), moves.data(),
                 entries.data(), nullptr, nullptr, gains.data(), nullptr, ones.data());
  if (status_.size() == m + n) lp.copyinStatus(status_.data());
  lp.primal();
  if (lp.status() != 0) return false;
  status_.assign(lp.statusArray(), lp.statusArray() + m + n);
  mixture_ = normalised(lp.getColSolution(), m);
  std::vector<double> prices(lp.getRowPrice(), lp.getRowPrice() + n);
  for (double& x : prices) x = -x;
  shares_ = normalised(prices.data(), n);
  if (shares_.empty() || mixture_.empty()) return false;
  value_ = 0;
  for (std::size_t j = 0; j < n; ++j) {
    double sum = 0;
    for (std::size_t r = 0; r < m; ++r)
      if (mixture_[r] != 0) sum += mixture_[r] * pay(r, j);
    value_ = std::max(value_, sum);
  }
  return value_ > 0;
}

// ----------------------------------------------------------------------------------- to rationals

void stop_if(const std::atomic<bool>* stop) {
  if (stop != nullptr && stop->load()) throw Error(ErrorCode::undecided, "interrupted");
}

Integer power_of_ten(unsigned exponent) {
  return boost::multiprecision::pow(Integer(10), exponent);
}

unsigned places(double value) {
  const double magnitude = value > 0 ? -std::log10(value) : 30;
  return 12 + static_cast<unsigned>(std::clamp(magnitude, 0.0, 30.0));
}

std::vector<Rational> as_rationals(const std::vector<double>& shares, unsigned digits) {
  const Integer unit = power_of_ten(digits);
  std::vector<Integer> parts;
  Integer rest = unit;
  for (const double x : shares) {
    parts.push_back(theory::floor(Rational(Rational(x) * Rational(unit))));
    rest -= parts.back();
  }
  const auto largest = std::max_element(shares.begin(), shares.end()) - shares.begin();
  parts[static_cast<std::size_t>(largest)] += rest;
  std::vector<Rational> result;
  for (const Integer& p : parts) result.emplace_back(p, unit);
  return result;
}

std::vector<ComplexAmplitude> as_complex(const std::vector<std::pair<double, double>>& shares,
                                         unsigned digits) {
  const Rational unit(power_of_ten(digits));
  std::vector<std::pair<Integer, Integer>> parts;
  Integer total = 0;
  for (const auto& [re, im] : shares) {
    const Integer p = theory::floor(Rational(Rational(re) * unit));
    const Integer q = theory::floor(Rational(Rational(im) * unit));
    const Integer square = p * p + q * q;
    Integer size = boost::multiprecision::sqrt(square);
    if (size * size < square) ++size;
    total += size;
    parts.emplace_back(p, q);
  }
  std::vector<ComplexAmplitude> result;
  for (const auto& [p, q] : parts) result.push_back({Rational(p, total), Rational(q, total)});
  return result;
}

}  // namespace ropewalk::proofs_numeric
