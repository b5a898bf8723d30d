#include <mpfi.h>

#include <memory>
#include <vector>

#include "benchmarks/ways.hpp"

namespace ropewalk::benchmarks {

std::int64_t by_mpfi(const Table& table, std::int64_t last) {
  struct Number {
    mpfi_t x;
    explicit Number(mpfr_prec_t bits) { mpfi_init2(x, bits); }
    ~Number() { mpfi_clear(x); }
    Number(const Number&) = delete;
    Number& operator=(const Number&) = delete;
  };
  constexpr mpfr_prec_t bits = 64;
  std::vector<std::unique_ptr<Number>> theta;
  for (unsigned f = 0; f < table.planes; ++f) {
    theta.push_back(std::make_unique<Number>(2 * bits));
    mpfi_ptr x = theta.back()->x;
    mpfi_set_ui(x, table.base);
    mpfi_log(x, x);
    mpfi_mul_ui(x, x, f);
    mpfi_div_ui(x, x, table.planes);
    mpfi_neg(x, x);
    mpfi_exp(x, x);
  }
  Number angle(2 * bits);
  Number cosine(bits);
  Number sum(bits);
  Number least(bits);
  std::int64_t lag = 0;
  for (std::int64_t t = 1; t <= last; ++t) {
    mpfi_set_ui(sum.x, table.planes);
    for (const auto& x : theta) {
      mpfi_mul_si(angle.x, x->x, static_cast<long>(t));
      mpfi_cos(cosine.x, angle.x);
      mpfi_sub(sum.x, sum.x, cosine.x);
    }
    if (lag == 0 || mpfr_less_p(&sum.x->right, &least.x->right) != 0) {
      mpfi_set(least.x, sum.x);
      lag = t;
    }
  }
  return lag;
}

}  // namespace ropewalk::benchmarks
