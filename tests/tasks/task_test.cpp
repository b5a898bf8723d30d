#include "tasks/task.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>
#include <tuple>

#include "constructions/canonical.hpp"
#include "constructions/retrieval.hpp"
#include "tasks/random.hpp"
#include "tests/catch.hpp"
#include "theory/error.hpp"

using namespace ropewalk;
using namespace ropewalk::tasks;

namespace {

constexpr Kind kinds[] = {Kind::number, Kind::letter, Kind::index, Kind::retrieval, Kind::mixed};

// Shapes beside the paper's: odd windows, short reach, other alphabets, added symbols.
std::vector<Options> shapes() {
  std::vector<Options> all;
  for (const Kind kind : kinds) {
    all.push_back({.kind = kind});
    all.push_back({.kind = kind, .added = 3, .seed = 7});
    all.push_back({.kind = kind, .added = 40, .seed = 1ULL << 40U});
    all.push_back({.kind = kind, .hops_max = 1, .window = 3, .letters = 3, .digits = 2});
    all.push_back({.kind = kind, .hops_max = 1, .window = 32, .letters = 12, .digits = 10});
  }
  all.push_back({.kind = Kind::number, .hops_min = 2, .hops_max = 9, .letters = 1});
  all.push_back({.kind = Kind::number, .window = 25, .integers = 4});
  all.push_back({.kind = Kind::index, .window = 25, .integers = 1});
  all.push_back({.kind = Kind::letter, .hops_min = 6, .hops_max = 6});
  all.push_back({.kind = Kind::letter, .hops_max = 9, .letters = 26});
  return all;
}

}  // namespace

TEST_CASE("Philox4x32-10 gives the published values") {
  using Block = std::array<std::uint32_t, 4>;
  // The known answers that accompany the authors' Random123.
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}) ==
        Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("every sample is answered by the walk over its tokens") {
  for (const Options& options : shapes()) {
    const Task task(options);
    CAPTURE(name(options.kind), options.window, options.added, options.hops_max, options.letters);
    for (std::int64_t k = 0; k < 3000; ++k) {
      const Sample s = k % 10 == 0 ? task.example(k) : task.sample(k);
      const auto walked = task.solve(s.tokens);
      REQUIRE(walked.has_value());
      REQUIRE(walked->token == s.answer);
      REQUIRE(walked->path == s.path);
      REQUIRE(static_cast<int>(s.path.size()) == s.hops + 1);
      REQUIRE(static_cast<std::int64_t>(s.tokens.size()) == task.length());
    }
  }
}
