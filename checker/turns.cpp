#include "turns.hpp"

#include <algorithm>

namespace checker {

namespace {

using Wide = unsigned __int128;
constexpr std::uint64_t half_turn = std::uint64_t{1} << 63;
constexpr int cell_bits = 48;

// 2^30 (1 - cos), rounded down, at the start of each of the 2^15 cells of a half turn. It grows
// with the distance to whole turns, so it is a lower bound on the whole cell.
std::vector<std::uint32_t> make_cells() {
  constexpr long count = 1L << (63 - cell_bits);
  std::vector<std::uint32_t> out;
  for (long j = 0; j <= count; ++j) {
    Value v(0, mpq_class(j, count));
    v.q.canonicalize();
    functions.at("cos")(v, 64);
    Value cell = 1;
    cell.add(v, 64, true);
    cell.multiply(mpq_class(1L << 30), 64);
    const mpz_class n = end_of(cell.enclosure(64), false, ARF_RND_FLOOR);
    out.push_back(static_cast<std::uint32_t>(n < 0 ? 0 : n.get_ui()));
  }
  return out;
}
const std::vector<std::uint32_t>& cells() {
  static const std::vector<std::uint32_t> table = make_cells();
  return table;
}

Wide wide(const mpz_class& n) {
  const mpz_class high = n >> 64;
  return (static_cast<Wide>(high.get_ui()) << 64) | n.get_ui();  // get_ui keeps the lower 64 bits
}

}  // namespace

mpz_class wrap_turns(const Value& radians, const mpq_class& plus_turns, long bits, long precision) {
  Value x = radians;
  x.divide(Value(0, 2), precision);
  x.add(plus_turns, precision);
  Ball scaled = x.enclosure(precision);
  arb_mul_2exp_si(scaled, scaled, bits);
  const mpz_class n = end_of(scaled, false, ARF_RND_FLOOR), modulus = mpz_class(1) << bits;
  if (end_of(scaled, true, ARF_RND_FLOOR) > n + 1) throw Open("an angle is not known well enough");
  mpz_class out;
  mpz_fdiv_r(out.get_mpz_t(), n.get_mpz_t(), modulus.get_mpz_t());
  return out;
}

Planes::Planes(const Ball& need) {
  Ball scaled;
  arb_mul_2exp_si(scaled, need, 62);  // weights in 2^-32, cells in 2^-30
  const mpz_class n = end_of(scaled, true, ARF_RND_CEIL);
  always_ = n < 0;
  need_ = n > mpz_class(1) << 63 ? ~std::uint64_t{0} : always_ ? 0 : n.get_ui();
}

void Planes::add(const mpz_class& turns, const mpz_class& phase, std::uint64_t speed,
                 const mpq_class& weight) {
  const mpz_class share = floor_of(weight * mpq_class(1L << 32));
  planes_.push_back({wide(turns), wide(phase), speed, share.get_ui()});
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
  if (always_) return true;
  const std::uint32_t* cell = cells().data();
  std::uint64_t sum = 0;
  for (const Plane& p : planes_) {
    const auto angle = static_cast<std::uint64_t>((p.turns * static_cast<Wide>(t) + p.phase) >> 64);
    const std::uint64_t distance = std::min(angle, 0 - angle);
    const Wide swing = static_cast<Wide>(p.speed) * radius + 2;
    if (distance <= swing) continue;
    sum += p.weight * cell[(distance - static_cast<std::uint64_t>(swing)) >> cell_bits];
    if (sum > need_) return true;
  }
  return false;
}

unsigned __int128 Planes::speeds() const {
  Wide sum = 0;
  for (const Plane& p : planes_) sum += p.speed;
  return sum;
}

}  // namespace checker
