#include <algorithm>

#include "facts.hpp"

namespace checker {

namespace {

using Wide = unsigned __int128;
constexpr int cell_bits = 49, weight_bits = 32, cosine_bits = 30;

// 1 - cos in units of 2^-30, rounded down, at the start of each of the 2^14 cells of half a turn.
// It grows with the distance to whole turns, so it is a lower bound on the whole cell.
std::vector<std::uint32_t> make_cells() {
  constexpr long count = 1L << (63 - cell_bits);
  std::vector<std::uint32_t> out;
  for (mpz_class j = 0; j <= count; ++j) {
    const Ball cosine = cos(Value(0, 1) * Value(mpq_class(j)) / Value(count)).enclosure();
    out.push_back(static_cast<std::uint32_t>(
        end_of(Ball(1) - cosine, false, ARF_RND_FLOOR, cosine_bits).get_ui()));
  }
  return out;
}

Wide wide(const mpz_class& n) {
  const mpz_class high = n >> 64;
  return (static_cast<Wide>(high.get_ui()) << 64) | n.get_ui();  // get_ui keeps the lower 64 bits
}

}  // namespace

mpz_class wrap_turns(const Value& angle, const mpq_class& plus_turns, long bits) {
  const Ball turns = (angle / Value(0, 2) + Value(plus_turns)).enclosure();
  const mpz_class n = end_of(turns, false, ARF_RND_FLOOR, bits);
  if (end_of(turns, true, ARF_RND_FLOOR, bits) > n + 1)
    throw Open("an angle is not known well enough");
  return mod(n, two_to(bits));
}

Planes::Planes(const Ball& need) {
  const mpz_class n = end_of(need, true, ARF_RND_CEIL, weight_bits + cosine_bits);
  need_ = mpz_sizeinbase(n.get_mpz_t(), 2) > 63 ? (n < 0 ? -1 : INT64_MAX) : n.get_si();
}

void Planes::add(const mpz_class& turns, const mpz_class& phase, const mpz_class& speed,
                 const mpq_class& weight) {
  const mpz_class share = floor(weight * (1L << weight_bits)), half = two_to(63);
  planes_.push_back({wide(turns), wide(phase), std::min(speed, half).get_ui(), share.get_si()});
}

void Planes::sort(bool slow_first) {
  std::stable_sort(planes_.begin(), planes_.end(), [&](const Plane& a, const Plane& b) {
    return slow_first ? a.speed < b.speed : a.weight > b.weight;
  });
}

// An angle is off by less than (2 |t| + 2) 2^-128 turns from its frequency and phase, and by 2^-64
// from dropping the lower half: by less than 2 units of 2^-64. Shares add up to at most 2^32 and
// cells are at most 2^31: no overflow.
bool Planes::exceed(std::int64_t t, std::uint64_t radius) const {
  static const std::vector<std::uint32_t> cells = make_cells();
  std::int64_t sum = 0;
  for (const Plane& p : planes_) {
    const auto angle = static_cast<std::uint64_t>((p.turns * static_cast<Wide>(t) + p.phase) >> 64);
    const std::uint64_t distance = std::min(angle, 0 - angle);
    const Wide swing = static_cast<Wide>(p.speed) * radius + 2;
    if (distance <= swing) continue;
    sum += p.weight * cells[(distance - static_cast<std::uint64_t>(swing)) >> cell_bits];
    if (sum > need_) break;
  }
  return sum > need_;
}

}  // namespace checker
