#include "constructions/transformer.hpp"

#include <algorithm>

namespace ropewalk::constructions {

namespace detail {

namespace {
[[noreturn]] void bad(const std::string& message) { throw Error(ErrorCode::bad_value, message); }
}  // namespace

void check_plan(const Vocabulary& vocabulary, const HeadPlan& plan) {
  vocabulary.check();
  if (plan.centre < 0) bad("a centre below 0");
  if (vocabulary.rule == Rule::lag) {
    check_amplitudes(plan.frequencies, plan.amplitudes);
    return;
  }
  std::vector<std::size_t> planes = plan.letters;
  if (plan.nearness) planes.push_back(*plan.nearness);
  std::sort(planes.begin(), planes.end());
  const bool twice = std::adjacent_find(planes.begin(), planes.end()) != planes.end();
  if (plan.letters.size() != 1 &&
      plan.letters.size() != static_cast<std::size_t>(vocabulary.letters))
    bad(std::to_string(vocabulary.letters) + " letters take one plane, or a plane each, not " +
        std::to_string(plan.letters.size()));
  if (twice || planes.back() >= plan.frequencies.size())
    bad("the planes of a head must be different ones of its " +
        std::to_string(plan.frequencies.size()));
  if ((vocabulary.rule == Rule::last) != plan.nearness.has_value())
    bad("rule last, and no other, has a plane of nearness");
}

}  // namespace detail

}  // namespace ropewalk::constructions
