#include "turns.hpp"

#include <algorithm>

namespace checker {

Wide wrap_turns(const Ball& x) {
  Ball scaled, radius;
  arb_mul_2exp_si(scaled.raw(), x.raw(), 128);
  arb_get_rad_arb(radius.raw(), scaled.raw());
  if (!arb_is_finite(scaled.raw()) || arf_cmp_si(arb_midref(radius.raw()), 1) >= 0)
    throw Open("an angle is not known to 2^-128 turns");
  // The midpoint is off by less than a unit, and rounding it down by less than another.
  Integer n, modulus(1);
  arf_get_fmpz(n.raw(), arb_midref(scaled.raw()), ARF_RND_FLOOR);
  fmpz_mul_2exp(modulus.raw(), modulus.raw(), 128);
  n = mod(n, modulus);
  ulong low = 0, high = 0;
  fmpz_get_uiui(&high, &low, n.raw());
  return (static_cast<Wide>(high) << 64) | low;
}

namespace {

// floor or ceiling of a ball that is known far better than to a unit: the bound of the ball,
// rounded.
std::uint64_t bound(const Ball& x, bool up) {
  arf_t b;
  arf_init(b);
  if (up)
    arb_get_ubound_arf(b, x.raw(), 128);
  else
    arb_get_lbound_arf(b, x.raw(), 128);
  Integer n;
  arf_get_fmpz(n.raw(), b, up ? ARF_RND_CEIL : ARF_RND_FLOOR);
  arf_clear(b);
  return fmpz_sgn(n.raw()) <= 0 ? 0 : fmpz_get_ui(n.raw());
}

}  // namespace

Versine::Versine() {
  // d = j/2^15 turns at the left end of cell j. On a cell, 1 - cos grows with a slope between those
  // at its ends: the slope 2 pi sin(2 pi d) rises up to a quarter turn, which is a cell's end, and
  // falls after.
  constexpr long cells = 1 << (63 - cell_bits), precision = 128;
  std::vector<Ball> value(cells + 1), slope(cells + 1);
  Ball pi;
  arb_const_pi(pi.raw(), precision);
  for (long j = 0; j <= cells; ++j) {
    const Rational half_turns{Integer(j), Integer(cells)};
    Ball& v = value[static_cast<size_t>(j)];
    Ball& s = slope[static_cast<size_t>(j)];
    arb_sin_cos_pi_fmpq(s.raw(), v.raw(), half_turns.raw(), precision);
    arb_sub_si(v.raw(), v.raw(), 1, precision);
    arb_neg(v.raw(), v.raw());
    arb_mul_2exp_si(v.raw(), v.raw(), scale_bits);
    arb_mul(s.raw(), s.raw(), pi.raw(), precision);  // per cell: 2^30 * 2 pi sin / 2^15
    arb_mul_2exp_si(s.raw(), s.raw(), scale_bits + 1 - 15);
  }
  low_.resize(cells + 1);
  high_.resize(cells + 1);
  for (size_t j = 0; j <= cells; ++j) {
    const size_t k = std::min<size_t>(j + 1, cells);  // a half turn, the last entry, has fraction 0
    const auto put = [](Cell& cell, std::uint64_t v, std::uint64_t s) {
      cell = {static_cast<std::uint32_t>(v), static_cast<std::uint32_t>(s)};
    };
    put(low_[j], bound(value[j], false), std::min(bound(slope[j], false), bound(slope[k], false)));
    put(high_[j], bound(value[j], true), std::max(bound(slope[j], true), bound(slope[k], true)));
  }
}

const Versine& versine() {
  static const Versine table;
  return table;
}

}  // namespace checker
