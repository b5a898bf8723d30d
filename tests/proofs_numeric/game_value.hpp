#pragma once
/// \file
/// Small matrix games, solved exactly: what the optima of heads are held against.

#include <vector>

#include "proofs_numeric/rational_lp.hpp"
#include "tests/catch.hpp"

namespace ropewalk::tests {

// The value of a matrix game by the exact simplex; a row per move of the adversary.
inline theory::Rational game_value(const std::vector<std::vector<theory::Rational>>& rows) {
  const auto d = static_cast<Eigen::Index>(rows.front().size());
  const auto m = static_cast<Eigen::Index>(rows.size());
  proofs_numeric::RationalMatrix a = proofs_numeric::RationalMatrix::Zero(m + d + 2, d + 1);
  proofs_numeric::RationalVector b = proofs_numeric::RationalVector::Zero(m + d + 2);
  for (Eigen::Index r = 0; r < m; ++r) {
    for (Eigen::Index f = 0; f < d; ++f)
      a(r, f) = rows[static_cast<std::size_t>(r)][static_cast<std::size_t>(f)];
    a(r, d) = -1;
  }
  for (Eigen::Index f = 0; f < d; ++f) {
    a(m + f, f) = 1;
    a(m + d, f) = 1;
    a(m + d + 1, f) = -1;
  }
  b(m + d) = 1;
  b(m + d + 1) = -1;
  proofs_numeric::RationalVector c = proofs_numeric::RationalVector::Zero(d + 1);
  c(d) = 1;
  const proofs_numeric::LpResult result = proofs_numeric::maximise(c, a, b);
  REQUIRE(result.status == proofs_numeric::LpStatus::optimal);
  return result.value;
}

}  // namespace ropewalk::tests
