#include "sweeps/table.hpp"

#include <bit>

#include "proofs_numeric/sha256.hpp"

namespace ropewalk::sweeps {

std::string plain(const theory::Rational& x) {
  const std::string text = theory::decimal(x, 20, theory::Round::nearest);
  return *theory::Formula::parse(text).rational() == x ? text : x.str();
}

std::string shown(const theory::Formula& x) {
  const auto value = x.rational();
  return value ? plain(*value) : x.text();
}

Table table_of(theory::Schedule schedule) {
  std::string text;
  for (const theory::Formula& theta : schedule.frequencies) text += theta.text() + '\n';
  text += schedule.attention_factor.text() + '\n';
  for (const float x : schedule.float32)
    text += std::to_string(std::bit_cast<std::uint32_t>(x)) + '\n';
  text += std::to_string(std::bit_cast<std::uint32_t>(schedule.attention_factor_float32));
  return {std::move(schedule), proofs_numeric::sha256(text)};
}

}  // namespace ropewalk::sweeps
