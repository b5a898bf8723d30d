#include "proofs_numeric/lattice.hpp"

#include <fplll.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>

#include "proofs_numeric/turns.hpp"

namespace ropewalk::proofs_numeric {

using theory::Integer;
using theory::Lag;
using theory::Rational;

namespace {

constexpr std::size_t most_rows = most_lattice_planes + 1;
constexpr double largest_coefficient = 0x1p20;
using Vector = std::vector<Integer>;

// Coordinate 0 of a lattice vector is `unit` times tau, coordinate f is scale_f (step_f tau - 2^192
// n_f); the ball has radius sqrt 2 in units of `length`.
struct Lattice {
  Integer modulus;
  Integer length;
  Integer unit;
  Vector step;
  Vector scale;
  Vector target;  // minus the shift: a lattice vector near it has all planes near their start

  [[nodiscard]] bool contains(const Vector& row) const {
    if (row[0] % unit != 0) return false;
    const Integer tau = row[0] / unit;
    for (std::size_t f = 1; f < row.size(); ++f)
      if (row[f] % scale[f] != 0 || (step[f] * tau - row[f] / scale[f]) % modulus != 0)
        return false;
    return true;
  }
};

// Below c_f of the header.
double curvature(double weight, double bound) {
  const double share = bound / (2.0 * weight);  // sin^2 of pi r
  if (share >= 0.999) return 8.0 * (1.0 - 1e-9);
  const double r = std::asin(std::sqrt(share)) / std::numbers::pi * (1.0 + 1e-9);
  const double s = std::sin(std::numbers::pi * r) / r;
  return 2.0 * s * s * (1.0 - 1e-8);
}

std::optional<Lattice> lattice(const std::vector<LatticePlane>& planes, const Lag& middle,
                               const Lag& half, double bound) {
  constexpr int scale_bits = 40;
  Lattice l;
  l.modulus = Integer(1) << LatticePlane::bits;
  l.length = l.modulus << scale_bits;
  l.unit =
      l.length / half;  // rounded down, as the scales are: vectors become shorter, never longer
  l.step = l.scale = l.target = Vector(1, Integer(0));
  for (const LatticePlane& p : planes) {
    const double s =
        std::sqrt(p.weight * (1.0 - 1e-11) * curvature(p.weight, bound) / bound) * (1.0 - 1e-12);
    if (!(s > 0x1p-30 && s < 0x1p60)) return std::nullopt;
    l.scale.emplace_back(std::floor(std::ldexp(s, scale_bits)));
    l.step.push_back(p.step % l.modulus);
    l.target.push_back(-l.scale.back() * Integer((p.step * middle + p.phase) % l.modulus));
  }
  return l;
}

// A short basis of the lattice, proposed by fplll and checked to be in it.
std::optional<std::vector<Vector>> short_basis(const Lattice& l) {
  const auto n = static_cast<int>(l.step.size());
  fplll::ZZ_mat<mpz_t> rows(n, n);
  rows.fill(0);
  const auto set = [&rows](int i, int j, const Integer& x) {
    mpz_set(rows[i][j].get_data(), x.backend().data());
  };
  set(0, 0, l.unit);
  for (int f = 1; f < n; ++f) {
    const auto i = static_cast<std::size_t>(f);
    set(0, f, Integer(l.scale[i] * l.step[i]));
    set(f, f, Integer(l.scale[i] * l.modulus));
  }
  if (fplll::lll_reduction(rows) != fplll::RED_SUCCESS) return std::nullopt;
  std::vector<Vector> basis;
  for (int i = 0; i < n; ++i) {
    Vector row(l.step.size());
    for (int j = 0; j < n; ++j)
      mpz_set(row[static_cast<std::size_t>(j)].backend().data(), rows[i][j].get_data());
    if (!l.contains(row)) return std::nullopt;
    basis.push_back(std::move(row));
  }
  return basis;
}

Integer dot(const Vector& x, const Vector& y) {
  Integer sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

// Gram-Schmidt in integers: with d_i the Gram determinant of the first i rows, the squared length
// of the i-th orthogonal vector is d_{i+1}/d_i, and row r has lambda_j/d_{j+1} of the j-th (Cohen,
// A Course in Computational Algebraic Number Theory, 2.6.7).
struct Orthogonal {
  Vector d{Integer(1)};
  std::vector<Vector> lambda;

  // The lambda of a row against the first `count` of the basis; the row itself may be the last of
  // them, and then need not be in `lambda` yet.
  [[nodiscard]] Vector against(const std::vector<Vector>& basis, const Vector& row,
                               std::size_t count) const {
    Vector result;
    for (std::size_t j = 0; j < count; ++j) {
      Integer u = dot(row, basis[j]);
      const Vector& other = j < lambda.size() ? lambda[j] : result;
      for (std::size_t k = 0; k < j; ++k) u = (d[k + 1] * u - result[k] * other[k]) / d[k];
      result.push_back(std::move(u));
    }
    return result;
  }
};

std::optional<Orthogonal> orthogonal(const Lattice& l, const std::vector<Vector>& basis) {
  Orthogonal o;
  for (std::size_t i = 0; i < basis.size(); ++i) {
    Vector row = o.against(basis, basis[i], i + 1);
    if (row.back() <= 0) return std::nullopt;
    o.d.push_back(row.back());
    o.lambda.push_back(std::move(row));
  }
  Integer determinant = l.unit;
  for (std::size_t f = 1; f < l.scale.size(); ++f) determinant *= l.scale[f] * l.modulus;
  if (o.d.back() != determinant * determinant) return std::nullopt;  // a part of the lattice only
  return o;
}

double rounded(const Integer& numerator, const Integer& denominator) {
  return Rational(numerator, denominator).convert_to<double>();
}

Integer nearest(const Integer& numerator, const Integer& denominator) {
  return theory::floor(Rational(Integer(2 * numerator + denominator), Integer(2 * denominator)));
}

// All integer vectors z with |sum_k xi_k e_k| <= radius, where e_k are orthogonal of squared length
// size_k and xi_k = z_k + sum_{i>k} z_i mu_ik - rho_k, |mu| <= 1, |rho| <= 1/2.
//
// Rounding. From |xi_k| <= radius/|e_k|, last row first, |z_k| <= most_k, integers of at most 2^20
// that are found beforehand with twice the radius. Where all of most_k.. are 0, xi_k = -rho_k,
// known to a relative 2^-52. Elsewhere the sum and its products are off by at most (n + 4) u (1 +
// sum_{i>k} most_i)
// =: off_k. By the triangle inequality a vector of the ball has a computed norm of at most radius +
// sqrt(sum of off_k^2 size_k), but for relative errors (of the sizes, squares, sums, root) below 60
// u, which 1e-9 covers. So the listing runs over that wider ball. A reduced basis has large e_k
// last, where no z but 0 is possible, so off_k meets no e_k much longer than the radius.
class Listing {
 public:
  std::size_t n = 0;
  std::array<double, most_rows> size{};
  std::array<double, most_rows> rho{};
  std::array<std::array<double, most_rows>, most_rows> mu{};  // mu[i][k], k < i
  std::uint64_t most_nodes = 0;
  std::size_t most_vectors = 0;

  std::uint64_t nodes = 0;
  std::vector<std::array<std::int32_t, most_rows>> vectors;

  // False where it gave up.
  bool run(double radius) {
    const auto rows = static_cast<double>(n);
    double above = 0;  // sum of most_i over i > k
    double off = 0;
    for (std::size_t k = n; k-- > 0;) {
      double reach = 2.0 * radius / std::sqrt(size[k]) + std::abs(rho[k]);
      for (std::size_t i = k + 1; i < n; ++i) reach += most_[i] * std::abs(mu[i][k]);
      most_[k] = std::floor(reach * (1.0 + 1e-9) + 1e-9);
      if (!(most_[k] <= largest_coefficient)) return false;
      if (above + most_[k] > 0) {
        const double off_k = (rows + 4.0) * 0x1p-53 * (1.0 + above);
        off += off_k * off_k * size[k];
      }
      above += most_[k];
    }
    const double widened = (radius + std::sqrt(off)) * (1.0 + 1e-9);
    if (widened > 2.0 * radius) return false;
    square_ = widened * widened;
    return descend(n, 0.0);
  }

 private:
  double square_ = 0;
  std::array<double, most_rows> most_{};
  std::array<std::int32_t, most_rows> z_{};

  bool descend(std::size_t level, double norm) {
    if (level == 0) {
      vectors.push_back(z_);
      return vectors.size() <= most_vectors;
    }
    const std::size_t k = level - 1;
    double center = rho[k];
    for (std::size_t i = level; i < n; ++i) center -= z_[i] * mu[i][k];
    const double wide = std::sqrt(std::max(0.0, square_ - norm) / size[k]) * (1.0 + 1e-9) + 1e-9;
    const double low = std::max(-most_[k], std::ceil(center - wide));
    const double high = std::min(most_[k], std::floor(center + wide));
    for (double z = low; z <= high; ++z) {
      if (++nodes > most_nodes) return false;
      const double xi = z - center;
      const double longer = norm + xi * xi * size[k];
      if (longer > square_) continue;
      z_[k] = static_cast<std::int32_t>(z);
      if (!descend(k, longer)) return false;
    }
    z_[k] = 0;
    return true;
  }
};

}  // namespace

CloseReturns close_returns(const std::vector<LatticePlane>& planes, const Lag& first,
                           const Lag& last, double bound, std::size_t most_lags,
                           std::uint64_t most_nodes) {
  CloseReturns result;
  if (planes.empty() || planes.size() > most_lattice_planes || !(bound > 1e-280)) return result;
  const Lag middle = (first + last) / 2;
  const Lag half = std::max({Lag(last - middle), Lag(middle - first), Lag(1)});
  const auto l = lattice(planes, middle, half, bound);
  if (!l) return result;
  const auto basis = short_basis(*l);
  if (!basis) return result;
  const auto o = orthogonal(*l, *basis);
  if (!o) return result;

  Listing listing;
  listing.n = basis->size();
  listing.most_nodes = most_nodes;
  listing.most_vectors = 16 * most_lags;  // the ball holds up to ten times what the range does
  // Nearest planes (Babai), exactly: `start` is a lattice vector whose difference from the target
  // has coefficients of at most 1/2.
  Vector rest = o->against(*basis, l->target, basis->size());
  Vector start(basis->size(), Integer(0));
  for (std::size_t k = basis->size(); k-- > 0;) {
    const Integer times = nearest(rest[k], o->d[k + 1]);
    for (std::size_t j = 0; j <= k; ++j) rest[j] -= times * o->lambda[k][j];
    for (std::size_t j = 0; j < start.size(); ++j) start[j] += times * (*basis)[k][j];
  }
  const Integer square_length = l->length * l->length;
  for (std::size_t k = 0; k < listing.n; ++k) {
    listing.size[k] = rounded(o->d[k + 1], Integer(o->d[k] * square_length));
    listing.rho[k] = rounded(rest[k], o->d[k + 1]);
    if (!(listing.size[k] > 1e-200 && listing.size[k] < 1e200)) return result;
    for (std::size_t j = 0; j < k; ++j) {
      if (abs(o->lambda[k][j]) > o->d[j + 1]) return result;
      listing.mu[k][j] = rounded(o->lambda[k][j], o->d[j + 1]);
    }
  }
  // The fixed-point angles move a plane by at most (2 |t| + 2) 2^-192 < 2^-129 turns, the vector by
  // at most 3 * 2^60 * 2^-129 of the ball's radius; 1e-9 covers that.
  const bool all = listing.run(std::numbers::sqrt2 * (1.0 + 1e-9));
  result.nodes = listing.nodes;
  for (const auto& z : listing.vectors) {
    Integer tau = start[0];
    for (std::size_t k = 0; k < listing.n; ++k) tau += Integer(z[k]) * (*basis)[k][0];
    const Lag lag = middle + tau / l->unit;
    if (lag >= first && lag <= last) result.lags.push_back(lag);
  }
  std::sort(result.lags.begin(), result.lags.end());
  result.lags.erase(std::unique(result.lags.begin(), result.lags.end()), result.lags.end());
  result.complete = all && result.lags.size() <= most_lags;
  return result;
}

double expected_least(const std::vector<LatticePlane>& planes, double length) {
  // Lags with sum_f w_f 2 pi^2 x_f^2 <= B: length times the volume of an ellipsoid.
  const auto d = static_cast<double>(planes.size());
  double log_volume = d / 2.0 * std::log(std::numbers::pi) - std::lgamma(d / 2.0 + 1.0);
  double total = 0;
  for (const LatticePlane& p : planes) {
    log_volume -= 0.5 * std::log(2.0 * std::numbers::pi * std::numbers::pi * p.weight);
    total += p.weight;
  }
  return std::min(2.0 * total, std::exp(-2.0 / d * (std::log(std::max(length, 1.0)) + log_volume)));
}

}  // namespace ropewalk::proofs_numeric
