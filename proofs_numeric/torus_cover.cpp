#include "proofs_numeric/torus_cover.hpp"

#include <fmt/format.h>

#include <array>

#include "theory/error.hpp"

namespace ropewalk::proofs_numeric {

namespace {

constexpr unsigned most_planes = 4;
constexpr unsigned deepest = 30;  // sides of 2^-30: below what any box of the domain needs

// The box of cells `at` of side 2^-level, cell i being [i, i + 1] 2^-level: its centre is
// (2i + 1) / m and its half width 1 / m, m = 2^(level + 1).
struct Box {
  std::array<std::uint64_t, most_planes> at{};
  unsigned level = 1;
};

bool serves(const Box& box, unsigned planes, std::uint64_t lag, std::uint64_t q) {
  const std::uint64_t m = std::uint64_t{1} << (box.level + 1);
  for (unsigned f = 0; f < planes; ++f) {
    const std::uint64_t r = lag * (2 * box.at[f] + 1) & (m - 1);
    const std::uint64_t distance = r < m - r ? r : m - r;
    if ((distance + lag) * q > m) return false;
  }
  return true;
}

bool covered(const Box& box, unsigned planes, std::uint64_t lags, std::uint64_t q,
             std::size_t& boxes) {
  for (std::uint64_t s = 1; s <= lags; ++s)
    if (serves(box, planes, s, q)) {
      ++boxes;
      return true;
    }
  if (box.level == deepest) return false;
  for (unsigned half = 0; half < 1U << planes; ++half) {
    Box part = box;
    ++part.level;
    for (unsigned f = 0; f < planes; ++f) part.at[f] = 2 * part.at[f] + (half >> f & 1U);
    if (!covered(part, planes, lags, q, boxes)) return false;
  }
  return true;
}

}  // namespace

TorusCover cover_torus(unsigned planes, unsigned q) {
  if (planes < 1 || planes > most_planes)
    throw Error(ErrorCode::bad_value,
                fmt::format("{} planes: 1..{} are handled", planes, most_planes));
  std::uint64_t lags = 1;
  for (unsigned f = 0; f < planes; ++f) {
    lags *= q;
    if (q < 1 || lags > 65536)
      throw Error(ErrorCode::bad_value,
                  fmt::format("Q = {} with {} planes: Q^D must lie in 1..65536", q, planes));
  }
  TorusCover result;
  result.complete = covered(Box{}, planes, lags, q, result.boxes);
  return result;
}

Fact torus_cover_fact(unsigned q) {
  if (q < 2 || q > 3) throw Error(ErrorCode::bad_value, "a grid is written for Q = 2 and 3 only");
  // Squares of side 1/(2N), N along each side of [0, 1/2], j <= i by symmetry. These N suffice; a
  // test evaluates the relation.
  const unsigned cells = q == 2 ? 8 : 40;
  return relation(
      "all(i in 0..N-1, j in 0..i: min(s in 1..Q^2: max(distance(s*(2*i+1)/(4*N)), "
      "distance(s*(2*j+1)/(4*N))) + s/(4*N)) <= 1/Q)",
      {{{"N", std::to_string(cells)}, {"Q", std::to_string(q)}}, {}});
}

}  // namespace ropewalk::proofs_numeric
