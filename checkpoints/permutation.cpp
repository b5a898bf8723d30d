#include "checkpoints/permutation.hpp"

#include <numeric>

namespace ropewalk::checkpoints {

using theory::Pairing;

std::vector<std::int64_t> head_order(Pairing from, Pairing to, std::int64_t planes,
                                     std::int64_t rows) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  const auto place = [&](Pairing layout, std::int64_t plane, std::int64_t part) {
    return layout == Pairing::interleaved ? 2 * plane + part : plane + part * planes;
  };
  for (std::int64_t f = 0; f < planes; ++f)
    for (const std::int64_t part : {0, 1})
      order[static_cast<std::size_t>(place(to, f, part))] = place(from, f, part);
  return order;
}

}  // namespace ropewalk::checkpoints
