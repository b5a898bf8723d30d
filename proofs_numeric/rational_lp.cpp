#include "proofs_numeric/rational_lp.hpp"

#include <string>
#include <vector>

#include "theory/error.hpp"

namespace ropewalk::proofs_numeric {

using theory::Integer;
using theory::Rational;

namespace {

using Row = std::vector<Rational>;

// max gᵀy subject to M y = h, y >= 0, in tableau form. M is k-by-m; column m + i is the artificial
// of row i, and the last column the right-hand side. Rows are flipped so that h >= 0; `flip`
// remembers which.
class Simplex {
 public:
  enum class End { optimal, infeasible, unbounded };

  Simplex(const RationalMatrix& m, const RationalVector& h)
      : rows_(m.rows()), columns_(m.cols()), flip_(static_cast<std::size_t>(rows_), false) {
    for (Eigen::Index i = 0; i < rows_; ++i) {
      const bool flipped = h(i) < 0;
      flip_[index(i)] = flipped;
      Row row(index(columns_ + rows_ + 1));
      for (Eigen::Index j = 0; j < columns_; ++j)
        row[index(j)] = flipped ? Rational(-m(i, j)) : m(i, j);
      row[index(columns_ + i)] = 1;
      row.back() = flipped ? Rational(-h(i)) : h(i);
      table_.push_back(std::move(row));
      basis_.push_back(index(columns_ + i));
    }
  }

  End solve(const RationalVector& g) {
    // Phase 1: maximise minus the sum of the artificials.
    set_objective([&](std::size_t j) { return j < index(columns_) ? Rational(0) : Rational(-1); });
    if (!run(index(columns_ + rows_))) return End::unbounded;  // cannot happen: bounded by 0
    if (objective_.back() != 0) return End::infeasible;
    expel_artificials();
    set_objective([&](std::size_t j) {
      return j < index(columns_) ? g(static_cast<Eigen::Index>(j)) : Rational(0);
    });
    return run(index(columns_)) ? End::optimal : End::unbounded;
  }

  // The value of y (optimal), or of the ray found (unbounded).
  [[nodiscard]] RationalVector solution() const {
    RationalVector y = RationalVector::Constant(columns_, Rational(0));
    for (std::size_t i = 0; i < table_.size(); ++i)
      if (basis_[i] < index(columns_)) y(static_cast<Eigen::Index>(basis_[i])) = table_[i].back();
    return y;
  }
  [[nodiscard]] RationalVector ray() const {
    RationalVector y = RationalVector::Constant(columns_, Rational(0));
    y(static_cast<Eigen::Index>(entering_)) = 1;
    for (std::size_t i = 0; i < table_.size(); ++i)
      if (basis_[i] < index(columns_))
        y(static_cast<Eigen::Index>(basis_[i])) = -table_[i][entering_];
    return y;
  }
  // pi with Mᵀpi >= g and hᵀpi = the maximum (of the phase that ended). `unit` is the objective
  // coefficient of an artificial in that phase: the reduced cost of artificial i is pi_i - unit, in
  // the flipped rows.
  [[nodiscard]] RationalVector multipliers(const Rational& unit) const {
    RationalVector pi(rows_);
    for (Eigen::Index i = 0; i < rows_; ++i) {
      const Rational p = objective_[index(columns_ + i)] + unit;
      pi(i) = flip_[index(i)] ? Rational(-p) : p;
    }
    return pi;
  }

 private:
  static std::size_t index(Eigen::Index i) { return static_cast<std::size_t>(i); }

  // objective_[j] = c_Bᵀ B⁻¹ M_j - c_j; its last entry is the value.
  template <class F>
  void set_objective(const F& coefficient) {
    objective_.assign(index(columns_ + rows_ + 1), Rational(0));
    for (std::size_t j = 0; j + 1 < objective_.size(); ++j) objective_[j] = -coefficient(j);
    for (std::size_t i = 0; i < table_.size(); ++i) {
      const Rational c = coefficient(basis_[i]);
      if (c != 0) add(objective_, table_[i], c);
    }
  }

  static void add(Row& to, const Row& from, const Rational& factor) {
    for (std::size_t j = 0; j < to.size(); ++j)
      if (!from[j].is_zero()) to[j] += factor * from[j];
  }

  void pivot(std::size_t row, std::size_t column) {
    const Rational scale = 1 / table_[row][column];
    for (Rational& x : table_[row])
      if (!x.is_zero()) x *= scale;
    for (std::size_t i = 0; i < table_.size(); ++i)
      if (i != row && !table_[i][column].is_zero())
        add(table_[i], table_[row], Rational(-table_[i][column]));
    if (!objective_[column].is_zero()) add(objective_, table_[row], Rational(-objective_[column]));
    basis_[row] = column;
  }

  // Bland: the first column that improves enters, the first basic variable among the tightest
  // leaves. Columns from `limit` on may not enter. False where the objective is unbounded.
  bool run(std::size_t limit) {
    for (;;) {
      entering_ = 0;
      while (entering_ < limit && objective_[entering_] >= 0) ++entering_;
      if (entering_ == limit) return true;
      std::optional<std::size_t> leaving;
      Rational tightest;
      for (std::size_t i = 0; i < table_.size(); ++i) {
        if (table_[i][entering_] <= 0) continue;
        const Rational ratio = table_[i].back() / table_[i][entering_];
        if (!leaving || ratio < tightest || (ratio == tightest && basis_[i] < basis_[*leaving])) {
          leaving = i;
          tightest = ratio;
        }
      }
      if (!leaving) return false;
      pivot(*leaving, entering_);
    }
  }

  // After phase 1 an artificial may sit in the basis at 0. It leaves for any column with an entry
  // in its row; a row without one is redundant, stays all zero over the real columns, and takes no
  // part in phase 2.
  void expel_artificials() {
    for (std::size_t i = 0; i < table_.size(); ++i) {
      if (basis_[i] < index(columns_)) continue;
      for (std::size_t j = 0; j < index(columns_); ++j)
        if (!table_[i][j].is_zero()) {
          pivot(i, j);
          break;
        }
    }
  }

  Eigen::Index rows_;
  Eigen::Index columns_;
  std::vector<bool> flip_;
  std::vector<Row> table_;
  std::vector<std::size_t> basis_;
  Row objective_;
  std::size_t entering_ = 0;
};

// The same ray in coprime integers.
RationalVector in_integers(RationalVector y) {
  Integer common(1);
  for (Eigen::Index i = 0; i < y.size(); ++i) common = lcm(common, Integer(denominator(y(i))));
  Integer divisor(0);
  for (Eigen::Index i = 0; i < y.size(); ++i) {
    y(i) *= Rational(common);
    divisor = gcd(divisor, Integer(numerator(y(i))));
  }
  if (divisor > 1)
    for (Eigen::Index i = 0; i < y.size(); ++i) y(i) /= Rational(divisor);
  return y;
}

void check_shapes(Eigen::Index variables, const RationalMatrix& a, const RationalVector& b) {
  if (a.rows() != b.size() || a.cols() != variables)
    throw Error(ErrorCode::bad_value, "linear program: A is " + std::to_string(a.rows()) + "x" +
                                          std::to_string(a.cols()) + ", b has " +
                                          std::to_string(b.size()) + " entries, c " +
                                          std::to_string(variables));
}

LpResult solve(const RationalVector& c, const RationalMatrix& a, const RationalVector& b) {
  Simplex simplex(a.transpose(), -c);
  LpResult result;
  switch (simplex.solve(b)) {
    case Simplex::End::optimal:
      result.status = LpStatus::optimal;
      result.point = simplex.multipliers(0);
      result.multipliers = simplex.solution();
      for (Eigen::Index i = 0; i < c.size(); ++i) result.value += c(i) * result.point(i);
      return result;
    case Simplex::End::unbounded:
      result.status = LpStatus::infeasible;
      result.multipliers = in_integers(simplex.ray());
      return result;
    case Simplex::End::infeasible: break;
  }
  // No multipliers: some direction improves for ever. Whether there is a point to start from is
  // asked anew.
  const RationalVector direction = simplex.multipliers(Rational(-1));
  result = solve(RationalVector::Constant(c.size(), Rational(0)), a, b);
  if (result.status == LpStatus::infeasible) return result;
  result.status = LpStatus::unbounded;
  result.value = 0;
  result.multipliers.resize(0);
  result.ray = in_integers(direction);
  return result;
}

Rational row_times(const RationalMatrix& a, Eigen::Index i, const RationalVector& x) {
  Rational sum(0);
  for (Eigen::Index j = 0; j < x.size(); ++j) sum += a(i, j) * x(j);
  return sum;
}

Rational column_times(const RationalMatrix& a, Eigen::Index j, const RationalVector& y) {
  Rational sum(0);
  for (Eigen::Index i = 0; i < y.size(); ++i) sum += y(i) * a(i, j);
  return sum;
}

Rational dot(const RationalVector& x, const RationalVector& y) {
  Rational sum(0);
  for (Eigen::Index i = 0; i < x.size(); ++i) sum += x(i) * y(i);
  return sum;
}

bool non_negative(const RationalVector& y) {
  for (Eigen::Index i = 0; i < y.size(); ++i)
    if (y(i) < 0) return false;
  return true;
}

}  // namespace

bool verify_point(const RationalMatrix& a, const RationalVector& b, const RationalVector& x) {
  if (a.rows() != b.size() || a.cols() != x.size()) return false;
  for (Eigen::Index i = 0; i < a.rows(); ++i)
    if (row_times(a, i, x) < b(i)) return false;
  return true;
}

bool verify_farkas(const RationalMatrix& a, const RationalVector& b, const RationalVector& y) {
  if (a.rows() != b.size() || a.rows() != y.size() || !non_negative(y)) return false;
  for (Eigen::Index j = 0; j < a.cols(); ++j)
    if (column_times(a, j, y) != 0) return false;
  return dot(y, b) > 0;
}

bool verify_maximum(const RationalVector& c, const RationalMatrix& a, const RationalVector& b,
                    const LpResult& result) {
  if (a.rows() != b.size() || a.cols() != c.size()) return false;
  switch (result.status) {
    case LpStatus::infeasible: return verify_farkas(a, b, result.multipliers);
    case LpStatus::optimal: {
      if (!verify_point(a, b, result.point) || result.multipliers.size() != a.rows() ||
          !non_negative(result.multipliers))
        return false;
      for (Eigen::Index j = 0; j < a.cols(); ++j)
        if (column_times(a, j, result.multipliers) != -c(j)) return false;
      return dot(c, result.point) == result.value && -dot(b, result.multipliers) == result.value;
    }
    case LpStatus::unbounded: {
      if (!verify_point(a, b, result.point) || result.ray.size() != a.cols()) return false;
      for (Eigen::Index i = 0; i < a.rows(); ++i)
        if (row_times(a, i, result.ray) < 0) return false;
      return dot(c, result.ray) > 0;
    }
  }
  return false;
}

LpResult maximise(const RationalVector& c, const RationalMatrix& a, const RationalVector& b) {
  check_shapes(c.size(), a, b);
  LpResult result = solve(c, a, b);
  if (!verify_maximum(c, a, b, result))
    throw Error(ErrorCode::undecided, "linear program: the answer does not verify");
  return result;
}

Feasibility find_point(const RationalMatrix& a, const RationalVector& b) {
  const LpResult result = maximise(RationalVector::Constant(a.cols(), Rational(0)), a, b);
  Feasibility answer;
  if (result.status == LpStatus::optimal)
    answer.point = result.point;
  else
    answer.farkas = result.multipliers;
  return answer;
}

}  // namespace ropewalk::proofs_numeric
