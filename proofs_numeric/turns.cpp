#include "proofs_numeric/turns.hpp"

namespace ropewalk::proofs_numeric {

using theory::Enclosure;
using theory::Integer;
using theory::Rational;

FixedTurns fixed_turns(const theory::Formula& theta) {
  const Enclosure alpha = enclosure(theory::turns<theory::Interval<160>>(theta));
  const Rational scale(Integer(1) << 128);
  if ((alpha.hi - alpha.lo) * scale > 1)
    throw Error(ErrorCode::too_large, theta.text() + " is too large to be reduced to a turn");
  const Integer fixed = theory::floor(Rational(theory::fraction(alpha.lo) * scale));
  FixedTurns result = 0;
  for (unsigned word = 0; word < 4; ++word) {
    const auto part = static_cast<std::uint32_t>(Integer((fixed >> (32 * word)) & 0xffffffffU));
    result |= static_cast<FixedTurns>(part) << (32 * word);
  }
  return result;
}

}  // namespace ropewalk::proofs_numeric
