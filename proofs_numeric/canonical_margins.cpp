#include "proofs_numeric/canonical_margins.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>

#include "theory/error.hpp"
#include "theory/scores.hpp"

namespace ropewalk::proofs_numeric {

using theory::distance_to_integer;
using theory::Integer;
using theory::Rational;

namespace {

using Entries = std::vector<std::int64_t>;  // N x N, row a, column b

// sum over permutations pi and positions j of delta_pos^2 + delta_sym^2.
std::int64_t defects_over_permutations(const Entries& m, std::size_t n) {
  std::vector<std::size_t> pi(n);
  std::iota(pi.begin(), pi.end(), std::size_t{0});
  std::int64_t sum = 0;
  do {
    for (std::size_t j = 0; j < n; ++j) {
      const std::int64_t pos = m[pi[j] * n + j] - m[j * n + j];
      const std::int64_t sym = m[j * n + pi[j]] - m[j * n + j];
      sum += pos * pos + sym * sym;
    }
  } while (std::next_permutation(pi.begin(), pi.end()));
  return sum;
}

struct Sides {
  Rational bound;     // (||delta_pos||^2 + ||delta_sym||^2) / (N! N)
  Rational variance;  // Var(lambda)
  Rational squares;   // (1 / 2N^2) sum of squares
};

Sides sides(const Entries& m, std::size_t n) {
  std::int64_t factorial = 1;
  for (std::size_t k = 2; k <= n; ++k) factorial *= static_cast<std::int64_t>(k);
  const auto count = static_cast<std::int64_t>(n);
  std::int64_t sum = 0;
  std::int64_t sum_of_squares = 0;
  std::int64_t squares = 0;
  for (std::size_t a = 0; a < n; ++a) {
    const std::int64_t own = m[a * n + a];
    sum += own;
    sum_of_squares += own * own;
    for (std::size_t b = 0; b < n; ++b) {
      if (a == b) continue;
      const std::int64_t d = 2 * m[a * n + b] - own - m[b * n + b];
      squares += d * d;
    }
  }
  return {Rational(defects_over_permutations(m, n), factorial * count),
          Rational(count * sum_of_squares - sum * sum, count * count),
          Rational(squares, 2 * count * count)};
}

bool agrees_with_theory(const Entries& m, std::size_t n, const Sides& s) {
  // The query's own row and column play no part.
  const auto size = static_cast<Eigen::Index>(n) + 1;
  theory::LogitMatrix<Rational> matrix =
      theory::LogitMatrix<Rational>::Constant(size, size, Rational(7));
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b)
      matrix(static_cast<Eigen::Index>(a), static_cast<Eigen::Index>(b)) = m[a * n + b];
  const auto exclusion = theory::exclusion(matrix);
  return exclusion && exclusion->variance == s.variance && exclusion->bound() == s.bound;
}

}  // namespace

ExclusionCheck exclusion_identity(int positions) {
  if (positions < 2 || positions > 7)
    throw Error(ErrorCode::bad_value,
                "exclusion_identity sums over 2 to 7 positions, not " + std::to_string(positions));
  const auto n = static_cast<std::size_t>(positions);
  ExclusionCheck check;
  for (std::size_t i = 0; i < n * n; ++i)
    for (std::size_t j = i; j < n * n; ++j) {
      Entries m(n * n, 0);
      m[i] = 1;
      m[j] = 1;
      const Sides s = sides(m, n);
      ++check.matrices;
      check.identity = check.identity && s.bound - s.variance == s.squares;
      check.formula = check.formula && agrees_with_theory(m, n, s);
    }
  Entries m(n * n);
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b) m[a * n + b] = static_cast<std::int64_t>(a + b + 2);
  const Sides s = sides(m, n);
  check.sharp = s.bound == s.variance && s.variance > 0;
  return check;
}

Rational nearest_return(const Rational& alpha, std::size_t reach) {
  if (reach < 1) throw Error(ErrorCode::bad_value, "a reach is 1 or more");
  Rational nearest = distance_to_integer(alpha);
  for (std::size_t s = 2; s <= reach; ++s)
    nearest = std::min(nearest, distance_to_integer(Rational(alpha * Rational(s))));
  return nearest;
}

bool recency_ordered(const Rational& alpha, std::size_t n) {
  Rational before = distance_to_integer(alpha);
  for (std::size_t t = 2; t < n; ++t) {
    const Rational here = distance_to_integer(Rational(alpha * Rational(t)));
    if (here <= before) return false;
    before = here;
  }
  return true;
}

std::optional<MixedFailure> one_plane_mixed_failure(const Rational& alpha, std::size_t symbols,
                                                    std::size_t n) {
  if (symbols < 1) throw Error(ErrorCode::bad_value, "f_MIX needs a symbol");
  std::vector<std::vector<Rational>> distance(symbols);
  for (std::size_t k = 0; k < symbols; ++k)
    for (std::size_t t = 0; t < n; ++t)
      distance[k].push_back(
          distance_to_integer(Rational(Rational(k, symbols) + alpha * Rational(t))));
  for (std::size_t match = 1; match < n; ++match)
    for (std::size_t other = 1; other < n; ++other)
      for (std::size_t k = other > match ? 0 : 1; k < symbols; ++k)
        if (other != match && distance[k][other] <= distance[0][match])
          return MixedFailure{match, other, k};
  return std::nullopt;
}

std::size_t lags_to_meet_half_circle(const Rational& lo, const Rational& hi) {
  if (lo <= 0 || hi < lo || hi > Rational(1, 2))
    throw Error(ErrorCode::bad_value, "an interval of turns lies in (0, 1/2]");
  // Good phases at lag t: the closed arc [1/4, 3/4] - t alpha. Arcs t and t + 1 overlap, since
  // alpha <= 1/2; arcs 0..k together span 1/2 + k alpha turns, the whole circle once k alpha >=
  // 1/2.
  const Integer k = theory::ceil(Rational(1 / (2 * lo)));
  return (k + 1).convert_to<std::size_t>();
}

std::vector<int> cosine_steps(const std::vector<Rational>& turns) {
  std::vector<int> steps;
  for (std::size_t i = 1; i < turns.size(); ++i)
    steps.push_back(
        Rational(distance_to_integer(turns[i - 1]) - distance_to_integer(turns[i])).sign());
  return steps;
}

Shape shape(const std::vector<int>& steps) {
  const auto all = [&](int sign) {
    return std::all_of(steps.begin(), steps.end(), [&](int s) { return s == sign; });
  };
  if (all(0)) return Shape::constant;
  if (all(1)) return Shape::rising;
  if (all(-1)) return Shape::falling;
  // first^i 0? (-first)^k with i, k >= 1
  const int first = steps.front();
  std::size_t i = 0;
  while (i < steps.size() && steps[i] == first) ++i;
  if (i < steps.size() && steps[i] == 0) ++i;
  const std::size_t turned = i;
  while (i < steps.size() && steps[i] == -first) ++i;
  if (first == 0 || i < steps.size() || turned == i) return Shape::other;
  return first < 0 ? Shape::u : Shape::inverse_u;
}

}  // namespace ropewalk::proofs_numeric
