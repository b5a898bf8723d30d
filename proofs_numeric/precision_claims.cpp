// Judges for R8: the rounding of one rotary table, base 500000 with 64 planes, at three lengths.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "proofs_numeric/claims.hpp"
#include "proofs_numeric/precision.hpp"

namespace ropewalk::proofs_numeric {

using theory::Enclosure;
using theory::Rational;

namespace {

constexpr std::int64_t lengths[] = {4096, 32768, 131072};

theory::Schedule table() { return theory::default_schedule({500000, 128}); }

Pipeline pipeline(std::string_view name) {
  const auto all = pipelines();
  return *std::find_if(all.begin(), all.end(), [&](const Pipeline& p) { return p.name == name; });
}

std::string exact(double x) { return Rational(x).str(); }

// That `rounded`, a name with this value, is the number of the format nearest to the expression:
// of two equally near ones the even one.
Fact nearest_fact(const std::string& expression, const std::string& rounded, double value, bool tie,
                  const Format& format, Names names) {
  const int step = std::max(std::ilogb(value) + 1 - format.precision, format.least);
  names.where.emplace_back("step", fmt::format("2^({})", step));
  names.where.emplace_back("bits", std::to_string(format.precision));
  const std::string whole = tie ? "2*step" : "step";
  return relation(fmt::format("abs({1} - {0}) {2} step/2 and {1}/({3}) = floor({1}/({3})) and "
                              "abs({1}) <= 2^bits*step",
                              expression, rounded, tie ? "<=" : "<", whole),
                  names);
}

// The entry at this lag and plane, step by step, and how far it is off.
std::vector<Fact> entry_facts(const theory::Schedule& schedule, const Pipeline& p,
                              const TableError& worst) {
  const double single = schedule.float32[worst.plane];
  const double w = nearest(single, p.inv_freq);
  const auto lag = static_cast<double>(worst.lag);
  const double x = nearest_product(w, lag, p.angles);
  const double computed = nearest_cosine(x, p.angles);
  const double c = nearest(computed, p.table);
  const auto tied = [](const Rational& from, double to, const Format& format) {
    const int step = std::max(std::ilogb(to) + 1 - format.precision, format.least);
    return abs(from - Rational(to)) * 2 == Rational(std::ldexp(1.0, step));
  };
  const Names names{{{"lag", std::to_string(worst.lag)},
                     {"theta", schedule.frequencies[worst.plane].text()},
                     {"single", exact(single)},
                     {"w", exact(w)},
                     {"x", exact(x)},
                     {"computed", exact(computed)},
                     {"c", exact(c)}},
                    {}};
  std::vector<Fact> facts;
  facts.push_back(relation("abs(single - theta) <= theta*2^(-22)", names));
  if (!(p.inv_freq == fp32))
    facts.push_back(
        nearest_fact("single", "w", w, tied(Rational(single), w, p.inv_freq), p.inv_freq, names));
  facts.push_back(nearest_fact("w*lag", "x", x,
                               tied(Rational(Rational(w) * Rational(worst.lag)), x, p.angles),
                               p.angles, names));
  facts.push_back(nearest_fact("cos(x)", "computed", computed, false, p.angles, names));
  if (!(p.table == p.angles))
    facts.push_back(
        nearest_fact("computed", "c", c, tied(Rational(computed), c, p.table), p.table, names));
  facts.push_back(enclosed("abs(c - cos(lag*theta))", worst.error, names));
  return facts;
}

// That no entry of the fp32 table is further off than `bound`. An angle below 2^(top+1) is off by
// at most t |w - theta| + 2^(top-24), a cosine by as much, and its rounding by 2^-25. That leaves
// the last lags of one plane, `open`, looked at one by one: both numbers next to a tie.
std::vector<Fact> bound_facts(const theory::Schedule& schedule, std::size_t open,
                              std::int64_t length, const Rational& bound) {
  std::vector<Rational> w;
  std::vector<std::string> top;
  for (const float x : schedule.float32) {
    w.emplace_back(x);
    top.push_back(std::to_string(std::ilogb(static_cast<double>(x) * static_cast<double>(length))));
  }
  const int last =
      std::ilogb(static_cast<double>(schedule.float32[open]) * static_cast<double>(length));
  const Rational from = theory::ceil(Rational(Rational(std::ldexp(1.0, last)) / w[open]));
  const std::string rest = Rational(bound - Rational(0x1p-25)).str();
  const Names all{{{"L", std::to_string(length)}, {"open", std::to_string(open)}, {"rest", rest}},
                  {{"w", entries(w)}, {"theta", entries(schedule.frequencies)}, {"top", top}}};
  const Names one{{{"L", std::to_string(length)},
                   {"first", from.str()},
                   {"w", w[open].str()},
                   {"theta", schedule.frequencies[open].text()},
                   {"step", fmt::format("2^({})", last - 23)},
                   {"rest", rest}},
                  {}};
  return {relation(fmt::format("all(f in 0..{} if f != open: L*w[f] < 2^(top[f] + 1) and "
                               "L*abs(w[f] - theta[f]) + 2^(top[f] - 24) <= rest)",
                               w.size() - 1),
                   all),
          relation("L*w < 2^24*step and (first - 1)*w < 2^23*step and "
                   "(first - 1)*abs(w - theta) + step/4 <= rest",
                   one),
          relation("all(t in first..L: max(abs(cos(floor(t*w/step + 1/2)*step) - cos(t*theta)), "
                   "abs(cos(-floor(1/2 - t*w/step)*step) - cos(t*theta))) <= rest)",
                   one)};
}

std::string length_key(std::int64_t length) { return "L = " + std::to_string(length); }

}  // namespace

Judgement single_precision_table() {
  const theory::Schedule schedule = table();
  const Pipeline p = pipeline("fp32");
  const PrecisionAudit audit = precision_audit(schedule, p, lengths[2]);
  const Rational said[][2] = {{Rational(2815), Rational(2816)},
                              {Rational(22860), Rational(22862)},
                              {Rational(92512), Rational(92514)}};
  bool holds = !audit.not_finite;
  Witness w;
  std::vector<Fact> facts;
  for (std::size_t i = 0; i < std::size(lengths); ++i) {
    const TableError& largest = *worst(audit.cosine, lengths[i]);
    const Rational least = said[i][0] / 10000000;
    const Rational most = said[i][1] / 10000000;
    holds = holds && least <= largest.error.lo && largest.error.hi <= most;
    w[length_key(lengths[i])] = {
        {"lag", largest.lag}, {"plane", largest.plane + 1}, {"error", text(largest.error, 8)}};
    for (Fact& fact : entry_facts(schedule, p, largest)) facts.push_back(std::move(fact));
    for (Fact& fact : bound_facts(schedule, largest.plane, lengths[i], most))
      facts.push_back(std::move(fact));
  }
  return {holds ? Verdict::proved : Verdict::undecided,
          "every lag 1..131072 and plane, doubles with an error bound, then intervals; value = the "
          "largest error to 131072",
          worst(audit.cosine, lengths[2])->error, w, facts};
}

Judgement narrow_tables() {
  const theory::Schedule schedule = table();
  struct Row {
    const char* pipeline;
    Rational least[3];  ///< what the error is said to exceed; 0: nothing is said
  };
  const Row rows[] = {
      {"bf16-inv-freq", {Rational(1999, 1000), Rational(1999, 1000), Rational(1999, 1000)}},
      {"fp16-angles", {Rational(9589, 10000), Rational(1999, 1000), Rational(0)}},
      {"bf16-cache", {Rational(203, 100000), Rational(365, 100000), Rational(955, 100000)}},
  };
  bool holds = true;
  Witness w;
  std::vector<Fact> facts;
  std::optional<Enclosure> value;
  for (const Row& row : rows) {
    const Pipeline p = pipeline(row.pipeline);
    const PrecisionAudit audit = precision_audit(schedule, p, lengths[2]);
    for (std::size_t i = 0; i < std::size(lengths); ++i) {
      if (row.least[i] == 0) {
        holds = holds && audit.not_finite == 65520;
        continue;
      }
      const TableError& largest = *worst(audit.cosine, lengths[i]);
      holds = holds && (!audit.not_finite || *audit.not_finite > lengths[i]) &&
              largest.error.lo > row.least[i];
      w[row.pipeline][length_key(lengths[i])] = {
          {"lag", largest.lag}, {"plane", largest.plane + 1}, {"error", text(largest.error, 8)}};
      for (Fact& fact : entry_facts(schedule, p, largest)) facts.push_back(std::move(fact));
      if (!value) value = largest.error;
    }
  }
  return {holds ? Verdict::proved : Verdict::undecided,
          "every lag 1..131072 and plane: the largest error of each pipeline, and the entry where "
          "it occurs; value = that of bf16 inv_freq to 4096",
          value, w, facts};
}

}  // namespace ropewalk::proofs_numeric
