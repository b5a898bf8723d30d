// Lower bounds of sums of weight * (1 - cos), in integers. Angles are turns in units of 2^-64 that
// wrap by themselves.
#pragma once

#include <cstdint>
#include <vector>

#include "number.hpp"

namespace checker {

constexpr int cell_bits = 49, weight_bits = 32, cosine_bits = 30;

// 1 - cos in units of 2^-30, rounded down, at the start of each of the 2^14 cells of half a turn.
// It grows with the distance to whole turns, so it is a lower bound on the whole cell.
inline std::vector<std::uint32_t> make_cells() {
  constexpr long count = 1L << (63 - cell_bits);
  std::vector<std::uint32_t> out;
  for (long j = 0; j <= count; ++j) {
    const Value cosine = functions.at("cos")(Value(0, mpq_class(j) / count));
    const mpz_class low = floor((1 - cosine).enclosure(), false, cosine_bits);
    out.push_back(static_cast<std::uint32_t>(low.get_ui()));
  }
  return out;
}

/// An angle in radians as turns modulo 1, in units of 2^-bits: the true value is in [result, result
/// + 2). Open if the ball is too wide.
inline mpz_class wrap_turns(const Value& angle, long bits) {
  const Ball turns = (angle / Value(0, 2)).enclosure();
  const mpz_class n = floor(turns, false, bits);
  if (floor(turns, true, bits) > n + 1) throw Open("an angle is not known well enough");
  return mod(n, two_to(bits));
}

class Planes {
 public:
  /// Sums are compared with `need`, all weights adding up to 1.
  explicit Planes(const Ball& need) {
    const mpz_class n = floor(need, true, weight_bits + cosine_bits) + 1;
    need_ = bits(n) > 63 ? (n < 0 ? -1 : INT64_MAX) : n.get_si();
  }
  /// Turns and phase from wrap_turns; speed in the same units, rounded up.
  void add(const mpz_class& turns, const mpz_class& phase, const mpz_class& speed,
           const mpq_class& weight) {
    const mpz_class share = floor(weight * (1L << weight_bits)), half = two_to(63);
    planes_.push_back(
        {turns.get_ui(), phase.get_ui(), std::min(speed, half).get_ui(), share.get_si()});
  }
  /// Whether the sum surely exceeds `need` at the angles turns * t + phase, each off by up to speed
  /// * radius. |t| < 2^62.
  // An angle is off by less than 2 |t| + 2 units from its turns and phase. Shares add up to at most
  // 2^32 and cells are at most 2^31: no overflow. Slow planes rule out blocks, fast ones lags:
  // heads have the fast ones first.
  bool exceed(std::int64_t t, std::uint64_t radius) const {
    static const std::vector<std::uint32_t> cells = make_cells();
    std::int64_t sum = 0;
    const auto lag = static_cast<std::uint64_t>(t), rounding = 2 * (t < 0 ? -lag : lag) + 2;
    for (size_t i = 0; i < planes_.size() && sum <= need_; ++i) {
      const Plane& p = planes_[radius > 0 ? planes_.size() - 1 - i : i];
      const std::uint64_t angle = p.turns * lag + p.phase, distance = std::min(angle, 0 - angle);
      const auto swing = static_cast<unsigned __int128>(p.speed) * radius + rounding;
      if (distance > swing)
        sum += p.weight * cells[(distance - static_cast<std::uint64_t>(swing)) >> cell_bits];
    }
    return sum > need_;
  }

 private:
  struct Plane {
    std::uint64_t turns, phase, speed;
    std::int64_t weight;
  };
  std::vector<Plane> planes_;
  std::int64_t need_;
};

}  // namespace checker
