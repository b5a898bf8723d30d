#include <arb.h>

#include "benchmarks/ways.hpp"

namespace ropewalk::benchmarks {

std::int64_t by_arb(const Table& table, std::int64_t last) {
  constexpr slong bits = 64;
  const auto planes = static_cast<slong>(table.planes);
  arb_ptr theta = _arb_vec_init(planes);
  arb_t angle;
  arb_t sum;
  arf_t least;
  arf_t upper;
  arb_init(angle);
  arb_init(sum);
  arf_init(least);
  arf_init(upper);
  for (slong f = 0; f < planes; ++f) {
    arb_log_ui(angle, table.base, 2 * bits);
    arb_mul_si(angle, angle, -f, 2 * bits);
    arb_div_si(angle, angle, planes, 2 * bits);
    arb_exp(theta + f, angle, 2 * bits);
  }
  arf_pos_inf(least);
  std::int64_t lag = 0;
  for (std::int64_t t = 1; t <= last; ++t) {
    arb_set_si(sum, planes);
    for (slong f = 0; f < planes; ++f) {
      arb_mul_si(angle, theta + f, static_cast<slong>(t), 2 * bits);
      arb_cos(angle, angle, bits);
      arb_sub(sum, sum, angle, bits);
    }
    arb_get_ubound_arf(upper, sum, bits);
    if (arf_cmp(upper, least) < 0) {
      arf_set(least, upper);
      lag = t;
    }
  }
  _arb_vec_clear(theta, planes);
  arb_clear(angle);
  arb_clear(sum);
  arf_clear(least);
  arf_clear(upper);
  flint_cleanup();
  return lag;
}

}  // namespace ropewalk::benchmarks
