// The fact `circle-cover`, for x in [0, 1] (sx modulo 1 has period 1 in x): the intervals |x - j/s|
// <= 1/(s(reach + 1)) with s <= reach cover it. Their centres in increasing order are the Farey
// fractions; the cover holds when each interval meets the next. That their recurrence gives these
// fractions need not be believed: any increasing chain of fractions from 0 to 1 with denominators
// <= reach whose intervals meet is a cover.
#include "facts.hpp"

namespace checker {

void check_circle_cover(const Object& fact) {
  const Integer reach = fact.integer("reach");
  fact.done();
  if (reach < Integer(1)) throw Rejected("reach: not positive");
  if (reach > Integer(20000)) throw Rejected("reach: not decided: beyond 20000");
  const long n = fmpz_get_si(reach.raw());
  long a = 0, b = 1, c = 1, d = n;  // neighbours a/b < c/d
  for (;;) {
    // a/b + 1/(b(n+1)) >= c/d - 1/(d(n+1)), times b d (n+1); all below 2^63 for n <= 20000
    const bool meet = (c * b - a * d) * (n + 1) <= b + d;
    if (c * b <= a * d || d < 1 || d > n || !meet)
      throw Rejected("reach: no cover between " + std::to_string(a) + "/" + std::to_string(b) +
                     " and " + std::to_string(c) + "/" + std::to_string(d));
    if (c == d) return;
    const long k = (n + b) / d, next_c = k * c - a, next_d = k * d - b;
    a = c;
    b = d;
    c = next_c;
    d = next_d;
  }
}

}  // namespace checker
