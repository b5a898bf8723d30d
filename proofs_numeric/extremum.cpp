#include "proofs_numeric/extremum.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <random>

#include "proofs_numeric/lattice.hpp"
#include "proofs_numeric/one_plane.hpp"
#include "proofs_numeric/turns.hpp"

namespace ropewalk::proofs_numeric {

using theory::Interval;
using theory::TrigSum;
using theory::TrigTerm;

namespace {

constexpr double unit = 0x1p-53;
constexpr std::size_t most_listed = 1000;
constexpr std::size_t most_candidates = 1 << 16;
constexpr int leaf_bits = 3;

// ------------------------------------------------------------------ the sum, ready for double
// arithmetic

// w (1 - cos 2 pi (step t + phase)), angles in fixed-point turns.
struct Plane {
  FixedTurns step;
  FixedTurns phase;
  std::uint64_t speed;  // ||step|| in units of 2^-64 turns, rounded up
  double weight;        // |a| to nearest
  double weight_low;    // below |a|
};

struct Engine {
  std::vector<Plane> planes;  // slowest first
  double total = 0;           // sum of weights, rounded up
  double error = 0;           // |value(t) - exact| at every lag of at most 2^60

  // sum_f w_f (1 - cos(...)) at t. Each term: 48u relative (turns.hpp), 2u for the weight, and the
  // fixed-point phase, off by less than 2^-66 turns at |t| < 2^60, 2 pi of that. Summing D terms
  // adds D u of the total, at most 2 sum w.
  [[nodiscard]] double value(std::int64_t t) const {
    double sum = 0;
    for (const Plane& p : planes)
      sum += p.weight * one_minus_cosine(p.step * static_cast<FixedTurns>(t) + p.phase);
    return sum;
  }
};

FixedTurns half_turn() { return static_cast<FixedTurns>(1) << 127; }
std::uint64_t top(FixedTurns x) { return static_cast<std::uint64_t>(x >> 64); }
// Distance to a whole turn in units of 2^-64 turns, rounded down.
std::uint64_t top_distance(FixedTurns x) { return top(x > half_turn() ? -x : x); }

// `cell[i]` lies below 1 - cos 2 pi x for every x >= i/8192 turns (x <= 1/2).
const std::array<double, 4097>& cells() {
  static const auto table = [] {
    std::array<double, 4097> t{};
    for (std::size_t i = 0; i <= 4096; ++i) {
      const double s = sin_pi(static_cast<double>(i) / 8192.0);
      t[i] = 2.0 * s * s * (1.0 - 0x1p-40);
    }
    return t;
  }();
  return table;
}

bool moves(const TrigTerm& term) {
  const auto turns = term.frequency.turns();
  return term.amplitude != 0 && !(turns && denominator(*turns) == 1);
}

Engine engine(const std::vector<TrigTerm>& terms) {
  Engine e;
  for (const TrigTerm& term : terms) {
    Plane p{};
    p.step = fixed_turns(term.frequency);
    p.phase = fixed_turns(term.phase) + (term.amplitude > 0 ? half_turn() : 0);
    p.speed = top_distance(p.step) + 2;
    const Rational magnitude = abs(term.amplitude);
    p.weight = magnitude.convert_to<double>();
    p.weight_low = p.weight * (1.0 - 0x1p-50);
    e.total += p.weight;
    e.planes.push_back(p);
  }
  std::sort(e.planes.begin(), e.planes.end(),
            [](const Plane& a, const Plane& b) { return a.speed < b.speed; });
  e.total *= 1.0 + 0x1p-40;
  e.error = e.total * unit * (128.0 + 4.0 * static_cast<double>(terms.size()));
  return e;
}

// A bound below value(t) for all t within `radius` of `middle`: every plane that turns by less than
// half a turn on the way keeps at least the distance it has at the middle less what it turns. Stops
// as soon as `enough` is passed.
double lower_bound(const Engine& e, std::int64_t middle, std::uint64_t radius, double enough) {
  double sum = 0;
  for (const Plane& p : e.planes) {
    const FixedTurns turn = static_cast<FixedTurns>(p.speed) * radius;
    if (turn >> 63 != 0) break;  // half a turn or more; so do all faster ones
    const std::uint64_t distance = top_distance(p.step * static_cast<FixedTurns>(middle) + p.phase);
    const std::uint64_t reach = static_cast<std::uint64_t>(turn) + 2;
    if (distance <= reach) continue;
    sum += p.weight_low * cells()[(distance - reach) >> 51];
    if (sum > enough) break;
  }
  return sum;  // terms and products are positive; 2^-40 in the cells and 2^-50 in the weights cover
               // the roundings
}

// ------------------------------------------------------------------------------------- the search

struct Candidate {
  std::int64_t lag;
  double value;
};

// What one search shares: the least upper bound known so far, and what may still be the minimum.
// For records the bound that holds at a lag is the least over lags before it, so every chunk
// publishes its own.
class Search {
 public:
  Search(const Engine& engine, const LagRange& range, const ExtremumOptions& options,
         std::size_t chunks)
      : engine_(engine), options_(options), bounds_(chunks) {
    for (auto& b : bounds_) b = std::numeric_limits<double>::infinity();
    for (const Lag& t : range.excluded) excluded_.push_back(static_cast<std::int64_t>(t));
    std::sort(excluded_.begin(), excluded_.end());
  }

  // The bound for lags of `chunk`: no lag with a larger value can be the minimum (or a record).
  [[nodiscard]] double bound(std::size_t chunk) const {
    double least = std::numeric_limits<double>::infinity();
    const std::size_t end = options_.records ? chunk + 1 : bounds_.size();
    for (std::size_t c = 0; c < end; ++c) least = std::min(least, bounds_[c].load());
    return least;
  }
  void offer(std::size_t chunk, std::int64_t lag, double& bound, std::vector<Candidate>& found) {
    if (std::binary_search(excluded_.begin(), excluded_.end(), lag)) return;
    const double value = engine_.value(lag);
    if (value - engine_.error > bound) return;
    found.push_back({lag, value});
    if (value + engine_.error < bounds_[chunk].load()) bounds_[chunk] = value + engine_.error;
    bound = std::min(bound, value + engine_.error);
    if (found.size() > most_candidates) {
      std::erase_if(found, [&](const Candidate& c) { return c.value - engine_.error > bound; });
      if (options_.records || found.size() > most_candidates / 2)
        throw Error(ErrorCode::too_large,
                    "tens of thousands of lags are too close to the extremum to tell apart");
    }
  }
  void finish(std::vector<Candidate>& found, std::uint64_t nodes, double share) {
    const std::scoped_lock lock(gather_);
    candidates.insert(candidates.end(), found.begin(), found.end());
    total_nodes += nodes;
    done_ += share;
    if (options_.progress) options_.progress(done_);
  }
  void check_stop() const {
    if (options_.stop != nullptr && options_.stop->load())
      throw Error(ErrorCode::undecided, "interrupted");
  }

  std::vector<Candidate> candidates;
  std::uint64_t total_nodes = 0;

 private:
  const Engine& engine_;
  const ExtremumOptions& options_;
  std::vector<std::atomic<double>> bounds_;
  std::vector<std::int64_t> excluded_;
  std::mutex gather_;
  double done_ = 0;
};

struct Span {
  std::int64_t first;
  std::int64_t last;
};

// `count` pieces of the range of nearly equal length.
std::vector<Span> pieces(Span range, std::size_t count) {
  const auto length = static_cast<std::uint64_t>(range.last - range.first) + 1;
  count = static_cast<std::size_t>(std::min<std::uint64_t>(count, length));
  std::vector<Span> result;
  std::int64_t at = range.first;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t size = length / count + (i < length % count ? 1 : 0);
    result.push_back({at, at + static_cast<std::int64_t>(size) - 1});
    at += static_cast<std::int64_t>(size);
  }
  return result;
}

void branch_and_bound(const Engine& e, Search& search, const std::vector<Span>& chunks) {
  tbb::parallel_for(std::size_t{0}, chunks.size(), [&](std::size_t c) {
    const Span chunk = chunks[c];
    std::vector<Candidate> found;
    std::uint64_t nodes = 0;
    double bound = search.bound(c);
    std::vector<std::pair<std::int64_t, int>> stack;  // blocks [start, start + 2^bits)
    int bits = leaf_bits;
    while (bits < 62 && (std::int64_t{1} << bits) <= chunk.last - chunk.first) ++bits;
    stack.emplace_back(chunk.first, bits);
    while (!stack.empty()) {
      const auto [start, size_bits] = stack.back();
      stack.pop_back();
      if (start > chunk.last) continue;
      if ((++nodes & 1023U) == 0) {
        bound = std::min(bound, search.bound(c));
        search.check_stop();
      }
      if (size_bits <= leaf_bits) {
        const std::int64_t end = std::min(chunk.last, start + (std::int64_t{1} << size_bits) - 1);
        for (std::int64_t t = start; t <= end; ++t) search.offer(c, t, bound, found);
        continue;
      }
      const std::int64_t half = std::int64_t{1} << (size_bits - 1);
      if (lower_bound(e, start + half, static_cast<std::uint64_t>(half), bound) > bound) continue;
      stack.emplace_back(start + half, size_bits - 1);
      stack.emplace_back(start, size_bits - 1);
    }
    search.finish(found, nodes, 1.0 / static_cast<double>(chunks.size()));
  });
}

// Every lag, by blocks: sum_f w_f cos(A + B) = sum_f w_f (cos A cos B - sin A sin B), one product
// of a matrix of block starts with a matrix of offsets. Entries are off by 22u, products by 46u,
// sums of 2D of them by 2D u more: in all below (128 + 4 D) u of the total weight, the bound of
// `value` too; so three times it separates the two.
void scan(const Engine& e, Search& search, const std::vector<Span>& chunks) {
  constexpr Eigen::Index width = 512;  // lags in a block
  constexpr Eigen::Index height = 64;  // blocks in a product
  const auto planes = static_cast<Eigen::Index>(e.planes.size());
  Eigen::MatrixXd offsets(2 * planes, width);
  double total = 0;
  for (Eigen::Index f = 0; f < planes; ++f) {
    const Plane& p = e.planes[static_cast<std::size_t>(f)];
    total += p.weight;
    for (Eigen::Index j = 0; j < width; ++j) {
      const FixedTurns angle = p.step * static_cast<FixedTurns>(j);
      offsets(2 * f, j) = -p.weight * cosine(angle);
      offsets(2 * f + 1, j) = p.weight * sine(angle);
    }
  }
  tbb::parallel_for(std::size_t{0}, chunks.size(), [&](std::size_t c) {
    const Span chunk = chunks[c];
    std::vector<Candidate> found;
    double bound = search.bound(c);
    Eigen::MatrixXd starts(2 * planes, height);
    Eigen::MatrixXd values(width, height);
    for (std::int64_t at = chunk.first; at <= chunk.last; at += width * height) {
      search.check_stop();
      bound = std::min(bound, search.bound(c));
      for (Eigen::Index i = 0; i < height; ++i)
        for (Eigen::Index f = 0; f < planes; ++f) {
          const Plane& p = e.planes[static_cast<std::size_t>(f)];
          const FixedTurns angle = p.step * static_cast<FixedTurns>(at + i * width) + p.phase;
          starts(2 * f, i) = cosine(angle);
          starts(2 * f + 1, i) = sine(angle);
        }
      values.noalias() = offsets.transpose() * starts;
      for (Eigen::Index i = 0; i < height; ++i) {
        const std::int64_t start = at + i * width;
        if (start > chunk.last) break;
        if (total + values.col(i).minCoeff() - 3 * e.error > bound) continue;
        for (Eigen::Index j = 0; j < width && start + j <= chunk.last; ++j)
          if (total + values(j, i) - 3 * e.error <= bound) search.offer(c, start + j, bound, found);
      }
    }
    search.finish(found, static_cast<std::uint64_t>(chunk.last - chunk.first) + 1,
                  1.0 / static_cast<double>(chunks.size()));
  });
}

// --------------------------------------------------------------------------------------- planner

struct Plan {
  Method method;
  std::string reason;
  double cost = 0;  // in lags of the scan
};

constexpr double lags_of_a_block = 16;  // a block costs about as much

// What branch and bound would look at, by sampling blocks of every size against a bound that a
// thousand lags give. The sample is fixed, so the plan is the same on every machine.
Plan plan(const Engine& e, Span range, const std::vector<Lag>& excluded) {
  const auto length = static_cast<double>(range.last - range.first) + 1.0;
  if (length <= 4096)
    return {Method::scan, fmt::format("{:.0f} lags are quicker looked at than planned", length),
            length};
  double bound = std::numeric_limits<double>::infinity();
  const auto look = [&](std::int64_t t) {
    if (std::find(excluded.begin(), excluded.end(), Lag(t)) == excluded.end())
      bound = std::min(bound, e.value(t));
  };
  for (std::int64_t t = range.first; t < range.first + 512; ++t) look(t);
  std::mt19937_64 random(1);
  const auto draw = [&] {
    return range.first + static_cast<std::int64_t>(
                             random() % (static_cast<std::uint64_t>(range.last - range.first) + 1));
  };
  for (int i = 0; i < 512; ++i) look(draw());
  double blocks = 1;
  for (int bits = leaf_bits; bits < 60 && std::ldexp(1.0, bits) < length; ++bits) {
    constexpr int samples = 512;
    int kept = 0;
    for (int i = 0; i < samples; ++i)
      kept += lower_bound(e, draw(), std::uint64_t{1} << bits, bound) <= bound ? 1 : 0;
    blocks += length / std::ldexp(1.0, bits) * kept / samples;
  }
  if (lags_of_a_block * blocks < length)
    return {Method::branch_and_bound,
            fmt::format(
                "slow planes rule out most blocks: about {:.1e} to look at, against {:.1e} lags",
                blocks, length),
            lags_of_a_block * blocks};
  return {Method::scan,
          fmt::format(
              "fast planes dominate: {:.1e} lags to scan, against about {:.1e} blocks to look at",
              length, blocks),
          length};
}

// ------------------------------------------------------------------------------ intervals have the
// last word

struct Valued {
  Lag lag;
  Enclosure value;
};

Enclosure least(const std::vector<Valued>& lags) {
  Enclosure result = lags.front().value;
  for (const Valued& v : lags) {
    result.lo = std::min(result.lo, v.value.lo);
    result.hi = std::min(result.hi, v.value.hi);
  }
  return result;
}

template <class I>
std::vector<Valued> evaluate(const TrigSum& sum, const std::vector<Lag>& lags) {
  std::vector<Valued> result(lags.size());
  tbb::parallel_for(std::size_t{0}, lags.size(), [&](std::size_t i) {
    result[i] = {lags[i], enclosure(sum.at<I>(lags[i]))};
  });
  return result;
}

bool narrow(const Enclosure& x) {
  const auto width = x.relative_width();
  return width && *width <= Rational(1, boost::multiprecision::pow(Integer(10), 20));
}

// The lags of least value among candidates in increasing order.
Extremum settle(const TrigSum& sum, std::vector<Lag> lags) {
  std::vector<Valued> valued;
  const auto round = [&]<class I>() -> std::optional<bool> {
    valued = evaluate<I>(sum, lags);
    const Rational hi = least(valued).hi;
    std::erase_if(valued, [&](const Valued& v) { return v.value.lo > hi; });
    lags.clear();
    for (const Valued& v : valued) lags.push_back(v.lag);
    const bool open = lags.size() == 1 ? !narrow(valued.front().value) : I::digits < 640;
    return open && lags.size() <= most_listed ? std::nullopt : std::optional(true);
  };
  theory::at_rising_precision(round);
  Extremum result{least(valued), std::move(lags), true};
  if (result.lags.size() > most_listed) {
    result.lags.resize(most_listed);
    result.lags_complete = false;
  }
  return result;
}

// The value at each lag, with as many digits as make it narrow, up to 640.
std::vector<Valued> evaluate_well(const TrigSum& sum, const std::vector<Lag>& lags) {
  std::vector<Valued> result(lags.size());
  tbb::parallel_for(std::size_t{0}, lags.size(), [&](std::size_t i) {
    result[i].lag = lags[i];
    theory::at_rising_precision([&]<class I>() -> std::optional<bool> {
      result[i].value = enclosure(sum.at<I>(lags[i]));
      return narrow(result[i].value) || I::digits >= 640 ? std::optional(true) : std::nullopt;
    });
  });
  return result;
}

// Candidates in increasing order -> records.
std::vector<Record> staircase(const TrigSum& sum, const std::vector<Lag>& lags) {
  std::vector<Record> records;
  for (const Valued& v : evaluate_well(sum, lags)) {
    if (!records.empty()) {
      Enclosure value = v.value;
      Enclosure last = records.back().value;
      if (value.lo <= last.hi && last.lo <= value.hi) {  // too close to call
        value = enclosure(sum.at<Interval<640>>(v.lag));
        last = enclosure(sum.at<Interval<640>>(records.back().lag));
      }
      if (value.hi >= last.lo) continue;
    }
    records.push_back({v.lag, v.value});
  }
  return records;
}

// ------------------------------------------------------------------------------------- one plane

// A rational angle within `error` turns of the true one.
struct Surrogate {
  Rational turns;
  Rational error;
};

Surrogate surrogate(const Formula& angle, unsigned bits) {
  if (const auto r = angle.turns()) return {*r, 0};
  const auto result = theory::at_rising_precision(
      [&]<class I>() -> std::optional<Surrogate> {
        const Enclosure alpha = enclosure(theory::turns<I>(angle));
        const Integer scale = Integer(1) << bits;
        const Rational rounded(theory::floor(Rational(alpha.lo * Rational(scale))), scale);
        const Rational error = alpha.hi - rounded;
        if (error * Rational(scale) > 2) return std::nullopt;
        return Surrogate{rounded, error};
      },
      bits / 3);
  if (!result) throw Error(ErrorCode::too_large, angle.text() + " needs more than 2560 digits");
  return *result;
}

struct Circle {
  Integer modulus;
  Integer step;
  Integer offset;
  Integer slack;  // how far any lag of the range can be from where it is drawn
};

// The lags of [first, last] within `distance` of the nearest approach, in increasing order, at most
// a thousand and one.
void collect(const Circle& c, const Integer& distance, const Lag& first, const Lag& last,
             std::vector<Lag>& into) {
  if (into.size() > most_listed) return;
  const auto near = nearest_return(c.step, c.offset, c.modulus, first, last);
  if (!near || near->distance > distance) return;
  collect(c, distance, first, near->lag - 1, into);
  into.push_back(near->lag);
  collect(c, distance, near->lag + 1, last, into);
}

// Every lag of the spans that is nearer than all before it, in increasing order. A lag is off by at
// most the slack from where it is drawn, so a true record is nearer as drawn than the nearest
// before it by more than -2 slack, and the next lag of that kind is a first visit to an arc around
// 0.
std::vector<Lag> record_lags(const Circle& c, const std::vector<std::pair<Lag, Lag>>& spans) {
  const auto residue = [&c](const Integer& x) {
    const Integer r = x % c.modulus;
    return r < 0 ? Integer(r + c.modulus) : r;
  };
  std::vector<Lag> records;
  Integer nearest;
  for (const auto& [first, last] : spans)
    for (Lag at = first; at <= last; ++at) {
      if (!records.empty()) {
        const Integer reach = nearest - 1 + 2 * c.slack;
        if (reach < 0) return records;
        if (2 * reach + 1 < c.modulus) {
          const Integer low = residue(Integer(-(c.step * at + c.offset + reach)));
          const Integer high = low + 2 * reach;
          if (high < c.modulus) {  // else the arc holds `at` itself
            const auto wait = first_between(c.step, c.modulus, low, high);
            if (!wait || at + *wait > last) break;
            at += *wait;
          }
        }
      }
      const Integer above = residue(Integer(c.step * at + c.offset));
      const Integer distance = std::min(above, Integer(c.modulus - above));
      nearest = records.empty() ? distance : std::min(nearest, distance);
      records.push_back(at);
      if (records.size() > 100000) throw Error(ErrorCode::too_large, "more than 100000 records");
    }
  return records;
}

ExtremumReport one_plane_minimum(const TrigSum& sum, const TrigTerm& term, const LagRange& range,
                                 const ExtremumOptions& options) {
  const auto digits = static_cast<unsigned>(
      std::max(Lag(abs(range.first)).str().size(), Lag(abs(range.last)).str().size()));
  if (digits > 300) throw Error(ErrorCode::too_large, "lags of more than 300 digits");
  const unsigned bits = 8 * digits + 128;
  const Formula phase = term.amplitude > 0 ? term.phase + Formula::pi() : term.phase;
  const Surrogate step = surrogate(term.frequency, bits);
  const Surrogate offset = surrogate(phase, bits);
  Circle c;
  c.modulus = lcm(Integer(denominator(step.turns)), Integer(denominator(offset.turns)));
  const auto units = [&](const Rational& x) {
    return Integer(numerator(Rational(x * Rational(c.modulus))));
  };
  c.step = units(step.turns);
  c.offset = units(offset.turns);
  const Lag furthest = std::max(Lag(abs(range.first)), Lag(abs(range.last)));
  c.slack = theory::ceil(
      Rational((step.error * Rational(furthest) + offset.error) * Rational(c.modulus)));

  std::vector<Lag> holes = range.excluded;
  std::sort(holes.begin(), holes.end());
  const auto spans = [&](const Lag& last) {  // the range up to `last` without the holes
    std::vector<std::pair<Lag, Lag>> result;
    Lag at = range.first;
    for (const Lag& hole : holes) {
      if (hole < at) continue;
      if (hole > last) break;
      if (hole > at) result.emplace_back(at, hole - 1);
      at = hole + 1;
    }
    if (at <= last) result.emplace_back(at, last);
    return result;
  };
  const auto nearest = [&](const Lag& last) {
    std::optional<NearestReturn> best;
    for (const auto& [a, b] : spans(last)) {
      const auto near = nearest_return(c.step, c.offset, c.modulus, a, b);
      if (near && (!best || near->distance < best->distance)) best = near;
    }
    return best;
  };
  ExtremumReport report;
  report.method = Method::continued_fractions;
  report.reason = "one plane moves: the nearest return is a least residue";
  const auto best = nearest(range.last);
  std::vector<Lag> lags;
  for (const auto& [a, b] : spans(range.last)) collect(c, best->distance + 2 * c.slack, a, b, lags);
  const bool all = lags.size() <= most_listed;
  if (!all) lags.resize(most_listed);
  report.extremum = settle(sum, lags);
  report.extremum.lags_complete = report.extremum.lags_complete && all;
  report.nodes = lags.size();
  if (!options.records) return report;
  // A plane of p/q turns repeats after q lags; with h holes every value has been met after h + 1
  // times q.
  Lag end = range.last;
  if (step.error == 0) {
    const Lag round = Lag(denominator(step.turns)) * Lag(holes.size() + 1);
    end = std::min(end, Lag(range.first + round - 1));
  }
  report.records = staircase(sum, record_lags(c, spans(end)));
  return report;
}

// ------------------------------------------------------------------------------------ few planes

// The minimum by a lattice, or nothing where the vectors to list are more than allowed.
class LatticeSearch {
 public:
  LatticeSearch(const std::vector<TrigTerm>& moving, const LagRange& range,
                const ExtremumOptions& options, std::uint64_t most_nodes)
      : range_(range), options_(options), left_(most_nodes) {
    std::sort(range_.excluded.begin(), range_.excluded.end());
    const auto units = [](const Formula& angle) {
      const Surrogate s = surrogate(angle, LatticePlane::bits);
      return theory::floor(Rational(s.turns * Rational(Integer(1) << LatticePlane::bits)));
    };
    for (const TrigTerm& term : moving) {
      LatticePlane p;
      p.step = units(term.frequency);
      p.phase = units(term.amplitude > 0 ? term.phase + Formula::pi() : term.phase);
      p.weight = Rational(abs(term.amplitude)).convert_to<double>();
      planes_.push_back(std::move(p));
      loss_.offset += abs(term.amplitude);
      loss_.terms.push_back(term);
    }
  }

  // The lags of least W in first..last, in increasing order. `bound` says which W has been seen.
  std::optional<Extremum> least(const Lag& last) {
    constexpr std::size_t most_lags = most_listed;  // so that the settled list is whole
    const Lag length = last - range_.first + 1;
    double bound = expected_least(planes_, length.convert_to<double>());
    double below = 0;                                        // no lag has W at most this
    double above = std::numeric_limits<double>::infinity();  // too many have
    for (int round = 0; round < 100 && above > 1.01 * below; ++round) {
      if (options_.stop != nullptr && options_.stop->load())
        throw Error(ErrorCode::undecided, "interrupted");
      CloseReturns close =
          close_returns(planes_, range_.first, last, bound, most_lags, left_ - nodes);
      nodes += close.nodes;
      if (nodes >= left_) return std::nullopt;
      if (!close.complete) {
        above = bound;
        bound = below > 0 ? std::sqrt(below * above) : bound / 16;
        if (bound < 1e-250) return std::nullopt;
        continue;
      }
      std::erase_if(close.lags, [&](const Lag& t) {
        return std::binary_search(range_.excluded.begin(), range_.excluded.end(), t);
      });
      if (!close.lags.empty()) {
        Extremum found = settle(loss_, close.lags);
        if (found.value.hi <= Rational(bound)) return found;
        // What was listed lies outside the ball, but says how far to look.
        const double reached = found.value.hi.convert_to<double>() * (1.0 + 1e-9);
        below = bound;
        bound = std::min(reached, above < reached ? std::sqrt(below * above) : reached);
        continue;
      }
      below = bound;
      bound = std::isfinite(above) ? std::sqrt(below * above) : 4 * bound;
    }
    return std::nullopt;
  }

  std::uint64_t nodes = 0;

 private:
  LagRange range_;
  const ExtremumOptions& options_;
  std::uint64_t left_;
  std::vector<LatticePlane> planes_;
  TrigSum loss_;  // W
};

std::optional<ExtremumReport> lattice_minimum(const TrigSum& sum,
                                              const std::vector<TrigTerm>& moving,
                                              const LagRange& range, const ExtremumOptions& options,
                                              std::uint64_t most_nodes) {
  LatticeSearch search(moving, range, options, most_nodes);
  const auto best = search.least(range.last);
  if (!best) return std::nullopt;
  ExtremumReport report;
  report.extremum = settle(sum, best->lags);
  report.extremum.lags_complete = report.extremum.lags_complete && best->lags_complete;
  if (options.records) {
    // The last record is the first lag of the least value; the one before it, that of the lags
    // before.
    std::vector<Lag> steps;
    Lag end = range.last;
    std::optional<Extremum> record = best;
    for (;;) {
      const Lag lag = record->lags.front();
      steps.push_back(lag);
      end = lag - 1;
      if (end - range.first < 4096) break;
      record = search.least(end);
      if (!record) return std::nullopt;
    }
    if (end >= range.first) {
      LagRange start{range.first, end, {}};
      for (const Lag& t : range.excluded)
        if (t >= start.first && t <= end) start.excluded.push_back(t);
      std::sort(start.excluded.begin(), start.excluded.end());
      start.excluded.erase(std::unique(start.excluded.begin(), start.excluded.end()),
                           start.excluded.end());
      if (Lag(start.excluded.size()) <= end - range.first) {
        ExtremumOptions scan;
        scan.records = true;
        scan.method = Method::scan;
        scan.stop = options.stop;
        for (const Record& r : minimum(sum, start, scan).records) steps.push_back(r.lag);
      }
    }
    std::sort(steps.begin(), steps.end());
    report.records = staircase(sum, steps);
  }
  report.method = Method::lattice;
  report.nodes = search.nodes;
  report.reason = fmt::format(
      "{} planes over a huge range: {} vectors of a lattice in dimension {} hold every common "
      "return",
      moving.size(), search.nodes, moving.size() + 1);
  return report;
}

// ---------------------------------------------------------------------------------------- together

void check(const TrigSum& sum, const LagRange& range) {
  if (range.last < range.first)
    throw Error(ErrorCode::bad_value,
                "the range " + range.first.str() + ".." + range.last.str() + " is empty");
  if (sum.terms.size() > 4096)
    throw Error(ErrorCode::too_large,
                std::to_string(sum.terms.size()) + " terms are beyond the 4096 supported");
  std::vector<Lag> inside;
  for (const Lag& t : range.excluded)
    if (t >= range.first && t <= range.last) inside.push_back(t);
  std::sort(inside.begin(), inside.end());
  inside.erase(std::unique(inside.begin(), inside.end()), inside.end());
  if (Lag(inside.size()) == range.last - range.first + 1)
    throw Error(ErrorCode::bad_value, "every lag of the range is excluded");
}

}  // namespace

std::string_view name(Method method) {
  switch (method) {
    case Method::continued_fractions: return "continued fractions";
    case Method::branch_and_bound: return "branch and bound";
    case Method::lattice: return "lattice";
    case Method::scan: break;
  }
  return "scan";
}

ExtremumReport minimum(const TrigSum& sum, const LagRange& range, const ExtremumOptions& options) {
  check(sum, range);
  std::vector<TrigTerm> moving;
  std::copy_if(sum.terms.begin(), sum.terms.end(), std::back_inserter(moving), moves);
  if (moving.empty()) {
    ExtremumReport report;
    Lag first = range.first;
    while (std::find(range.excluded.begin(), range.excluded.end(), first) != range.excluded.end())
      ++first;
    report.extremum = settle(sum, {first});
    report.extremum.lags_complete = range.first == range.last;
    if (options.records) report.records = staircase(sum, {first});
    report.method = Method::scan;
    report.reason = "no plane moves: the sum is constant";
    report.nodes = 1;
    return report;
  }
  if (moving.size() == 1 && (!options.method || *options.method == Method::continued_fractions))
    return one_plane_minimum(sum, moving.front(), range, options);
  if (options.method == Method::continued_fractions)
    throw Error(ErrorCode::unsupported,
                "continued fractions serve one moving plane, not " + std::to_string(moving.size()));
  const Lag limit("1000000000000000000");
  if (range.last > limit || range.first < -limit)
    throw Error(ErrorCode::too_large, "lags beyond 1e18 are supported for one plane only");

  // Planes that all turn by rational fractions repeat: one period says it all.
  Span span{static_cast<std::int64_t>(range.first), static_cast<std::int64_t>(range.last)};
  bool repeats = false;
  if (range.excluded.empty()) {
    Integer period = 1;
    for (const TrigTerm& term : moving) {
      const auto turns = term.frequency.turns();
      period = turns && period != 0 ? lcm(period, Integer(denominator(*turns))) : Integer(0);
    }
    if (period != 0 && period <= range.last - range.first) {
      span.last = span.first + static_cast<std::int64_t>(period) - 1;
      repeats = true;
    }
  }

  if (options.method == Method::lattice) {
    if (moving.size() > most_lattice_planes)
      throw Error(ErrorCode::unsupported, fmt::format("a lattice serves at most {} planes, not {}",
                                                      most_lattice_planes, moving.size()));
    if (auto report = lattice_minimum(sum, moving, range, options, 100000000)) return *report;
    throw Error(ErrorCode::too_large, "too many lags are near the extremum for a lattice to list");
  }
  const Engine e = engine(moving);
  const Plan chosen =
      options.method ? Plan{*options.method, "asked for", 0} : plan(e, span, range.excluded);
  // A lattice may list few vectors or far too many; trying tells, and costs a part of the
  // alternative.
  if (!options.method && moving.size() <= most_lattice_planes && chosen.cost > 1e7)
    if (auto report = lattice_minimum(sum, moving, range, options,
                                      static_cast<std::uint64_t>(std::min(chosen.cost / 100, 1e7))))
      return *report;
  const std::vector<Span> chunks = pieces(span, 256);
  Search search(e, range, options, chunks.size());
  if (chosen.method == Method::scan)
    scan(e, search, chunks);
  else
    branch_and_bound(e, search, chunks);

  // Of all that was kept, what the final bounds still allow; this no longer depends on the order of
  // events.
  auto& found = search.candidates;
  std::sort(found.begin(), found.end(),
            [](const Candidate& a, const Candidate& b) { return a.lag < b.lag; });
  double bound = std::numeric_limits<double>::infinity();
  std::vector<Lag> steps;
  for (const Candidate& c : found) {
    if (c.value - e.error <= bound) steps.emplace_back(c.lag);
    bound = std::min(bound, c.value + e.error);
  }
  std::vector<Lag> lags;
  for (const Candidate& c : found)
    if (c.value - e.error <= bound) lags.emplace_back(c.lag);

  ExtremumReport report;
  report.extremum = settle(sum, std::move(lags));
  if (repeats) report.extremum.lags_complete = false;
  if (options.records) report.records = staircase(sum, steps);
  report.method = chosen.method;
  report.reason = chosen.reason;
  report.nodes = search.total_nodes;
  return report;
}

ExtremumReport maximum(const TrigSum& sum, const LagRange& range, const ExtremumOptions& options) {
  TrigSum mirrored = sum;
  mirrored.offset = -mirrored.offset;
  for (TrigTerm& term : mirrored.terms) term.amplitude = -term.amplitude;
  ExtremumReport report = minimum(mirrored, range, options);
  const auto mirror = [](Enclosure& x) { x = Enclosure(-x.hi, -x.lo); };
  mirror(report.extremum.value);
  for (Record& r : report.records) mirror(r.value);
  return report;
}

}  // namespace ropewalk::proofs_numeric
