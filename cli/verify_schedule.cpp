// ropewalk verify --schedule: the ledger's questions for one model's table.

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <iostream>

#include "cli/commands.hpp"
#include "cli/json_file.hpp"
#include "cli/output.hpp"
#include "cli/table.hpp"
#include "proofs_numeric/one_plane.hpp"
#include "proofs_numeric/retrieval_margin.hpp"
#include "proofs_numeric/softmax_scale.hpp"
#include "theory/config.hpp"

namespace ropewalk::cli {

using namespace proofs_numeric;

namespace {

constexpr unsigned alphabets[] = {8, 26, 1000};
const Rational mass(9, 10);

struct Plane {
  OnePlaneGap gap;
  std::vector<std::optional<Lag>> horizons;
  std::optional<Enclosure> guaranteed;
  std::optional<Enclosure> exact;
};

Plane ask(const Formula& theta, std::uint32_t length) {
  Plane plane;
  plane.gap = one_plane_gap(theta, length - 1);
  for (const unsigned alphabet : alphabets)
    plane.horizons.push_back(retrieval_horizon(theta, alphabet, Centre::plain));
  plane.guaranteed = guaranteed_scale(plane.gap.value, length, 1, Rational(1 - mass));
  if (plane.guaranteed)
    plane.exact = PlaneLosses(theta, length).smallest_scale(Rational(1 / mass), {0, length - 1});
  return plane;
}

std::string shown(const std::optional<Enclosure>& x) { return x ? text(*x, 8) : "none"; }
std::string shown(const std::optional<Lag>& x) { return x ? x->str() : "unbounded"; }

}  // namespace

void verify_schedule(const ScheduleQuestions& questions) {
  if (questions.length.empty()) throw Error(ErrorCode::usage, "--schedule needs --length");
  const Integer length = parse_length(questions.length);
  if (length < 2)
    throw Error(ErrorCode::bad_value, "--length must be at least 2, not " + length.str());
  if (length > (1 << 24))
    throw Error(
        ErrorCode::too_large,
        "--length: the exact softmax scale is computed up to 16777216, not " + length.str());
  theory::ResolveOptions options;
  options.length = length;
  if (!questions.layer.empty()) options.layer = parse_layer(questions.layer);
  theory::ResolvedRope rope = theory::resolve(read_json(questions.config), options);
  if (const auto beyond = beyond_limit(rope, length - 1)) rope.warnings.push_back(*beyond);
  const auto n = static_cast<std::uint32_t>(length);
  std::vector<Plane> planes(rope.schedule.frequencies.size());
  tbb::parallel_for(std::size_t{0}, planes.size(),
                    [&](std::size_t f) { planes[f] = ask(rope.schedule.frequencies[f], n); });

  if (questions.json) {
    Json out;
    out["config"] = questions.config;
    out["length"] = length.str();
    out["mass"] = "0.9";
    out["planes"] = Json::array();
    for (std::size_t f = 0; f < planes.size(); ++f) {
      const Plane& p = planes[f];
      Json horizons;
      for (std::size_t k = 0; k < p.horizons.size(); ++k)
        horizons[std::to_string(alphabets[k])] = shown(p.horizons[k]);
      out["planes"].push_back({{"id", f + 1},
                               {"frequency", rope.schedule.frequencies[f].text()},
                               {"index_gap", json(p.gap.value)},
                               {"index_lag", p.gap.lag.str()},
                               {"retrieval_horizon", horizons},
                               {"scale_guaranteed", json(p.guaranteed)},
                               {"scale_exact", json(p.exact)}});
    }
    out["warnings"] = rope.warnings;
    std::cout << out.dump(2) << '\n';
    return;
  }
  for (const std::string& w : rope.warnings) std::cerr << "warning: " << w << '\n';
  std::cout << fmt::format("{}: {} planes at length {}, mass 0.9 at every offset\n",
                           questions.config, planes.size(), length.str());
  std::cout << fmt::format("{:>3}  {:<22} {:>8}  {:>10} {:>10} {:>10}  {:<22} {}\n", "ID",
                           "Index gap", "at lag", "A=8", "A=26", "A=1000", "scale guaranteed",
                           "scale exact");
  for (std::size_t f = 0; f < planes.size(); ++f) {
    const Plane& p = planes[f];
    std::cout << fmt::format("{:>3}  {:<22} {:>8}  {:>10} {:>10} {:>10}  {:<22} {}\n", f + 1,
                             text(p.gap.value, 8), p.gap.lag.str(), shown(p.horizons[0]),
                             shown(p.horizons[1]), shown(p.horizons[2]), shown(p.guaranteed),
                             shown(p.exact));
  }
  std::cout << "Index gap: this plane alone, worst offset (relative lags 1..N-1), attained at 'at "
               "lag'. A=8, 26,\n"
               "1000: the longest length at which a Retrieval head over A letters keeps a positive "
               "margin. Scale:\n"
               "the smallest softmax scale with mass 0.9 on the right key, guaranteed by the gap, "
               "and exact.\n";
}

}  // namespace ropewalk::cli
