#include "proofs_numeric/optimal.hpp"

#include <tbb/parallel_for.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "proofs_numeric/game.hpp"
#include "proofs_numeric/one_plane.hpp"
#include "proofs_numeric/turns.hpp"

namespace ropewalk::proofs_numeric {

using theory::Integer;
using theory::TrigSum;
using Interval = theory::Interval<40>;

namespace {

constexpr unsigned most_planes = 4096;
const Lag& farthest() {
  static const Lag lag("1000000000000000000");
  return lag;
}
// Scans go this far; beyond, the primitive finds the lags that fail.
constexpr std::int64_t first_scan = std::int64_t{1} << 17;
constexpr std::int64_t longest_scan = std::int64_t{1} << 28;
// A lag at which all planes lie closer to their start than this is taken for a common return.
constexpr double vanishing = smallest_game;

void check(const std::vector<Formula>& frequencies, const Lag& reach, unsigned planes) {
  if (frequencies.empty()) throw Error(ErrorCode::bad_value, "a head needs at least one plane");
  if (frequencies.size() > planes)
    throw Error(ErrorCode::bad_value, std::to_string(frequencies.size()) +
                                          " planes are more than the " + std::to_string(planes) +
                                          " that are handled");
  if (reach < 1)
    throw Error(ErrorCode::bad_value, "the reach must be at least 1, not " + reach.str());
}

void check_far(const Lag& reach) {
  if (reach > farthest())
    throw Error(ErrorCode::too_large,
                "a reach of " + reach.str() + " is beyond the 1e18 of several planes");
}

// -------------------------------------------------------------------- candidates, in doubles

// One plane of a head: Re b (1 - e^{i theta s}).
struct Wave {
  FixedTurns turns;
  double re;
  double im;
};

double loss(const std::vector<Wave>& head, std::int64_t lag) {
  double sum = 0;
  for (const Wave& w : head) {
    const FixedTurns angle = w.turns * static_cast<FixedTurns>(lag);
    sum += w.re * one_minus_cosine(angle);
    if (w.im != 0) sum += w.im * sine(angle);
  }
  return sum;
}

struct Seen {
  double value;
  std::int64_t lag;
  friend bool operator<(const Seen& x, const Seen& y) {
    return std::pair(x.value, x.lag) < std::pair(y.value, y.lag);
  }
};

void keep_lowest(std::vector<Seen>& seen, std::size_t most) {
  if (seen.size() <= most) return;
  std::nth_element(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(most), seen.end());
  seen.resize(most);
}

// The lowest of the local minima below `below` of the head's loss over 1..last. Every lag, by the
// angle-addition formula: rows are the starts of blocks, columns the offsets within a block. The
// panels are fixed, so that the answer does not depend on the threads.
std::vector<Seen> failing_lags(const std::vector<Wave>& head, std::int64_t last, double below,
                               std::size_t most, const std::atomic<bool>* stop) {
  constexpr Eigen::Index blocks = 64;
  constexpr Eigen::Index offsets = 512;
  constexpr std::int64_t panel_size = blocks * offsets;
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto planes = static_cast<Eigen::Index>(head.size());

  double total = 0;
  RowMajor within(2 * planes, offsets);
  for (Eigen::Index f = 0; f < planes; ++f) {
    const Wave& w = head[static_cast<std::size_t>(f)];
    total += w.re;
    for (Eigen::Index j = 0; j < offsets; ++j) {
      const FixedTurns angle = w.turns * static_cast<FixedTurns>(j);
      within(2 * f, j) = 1 - one_minus_cosine(angle);
      within(2 * f + 1, j) = -sine(angle);
    }
  }
  const auto panels = static_cast<std::size_t>((last + panel_size - 1) / panel_size);
  const std::size_t share = std::max<std::size_t>(4, 4 * most / panels);
  std::vector<std::vector<Seen>> found(panels);
  tbb::parallel_for(std::size_t{0}, panels, [&](std::size_t p) {
    if (stop != nullptr && stop->load()) return;
    const std::int64_t start = 1 + static_cast<std::int64_t>(p) * panel_size;
    RowMajor starts(blocks, 2 * planes);
    for (Eigen::Index k = 0; k < blocks; ++k)
      for (Eigen::Index f = 0; f < planes; ++f) {
        const Wave& w = head[static_cast<std::size_t>(f)];
        const FixedTurns angle = w.turns * static_cast<FixedTurns>(start + k * offsets);
        const double c = 1 - one_minus_cosine(angle);
        const double s = sine(angle);
        starts(k, 2 * f) = w.re * c - w.im * s;
        starts(k, 2 * f + 1) = w.re * s + w.im * c;
      }
    RowMajor kept(blocks, offsets);
    kept.noalias() = starts * within;
    const double* kept_at = kept.data();
    const std::int64_t size = std::min(panel_size, last - start + 1);
    const double above = total - below;
    for (std::int64_t t = 0; t < size; ++t) {
      const double here = kept_at[t];
      if (here <= above) continue;
      if (t > 0 && kept_at[t - 1] > here) continue;
      if (t + 1 < size && kept_at[t + 1] > here) continue;
      found[p].push_back({total - here, start + t});
    }
    keep_lowest(found[p], share);
  });
  stop_if(stop);
  std::vector<Seen> all;
  for (const auto& some : found) all.insert(all.end(), some.begin(), some.end());
  for (Seen& s : all) s.value = loss(head, s.lag);
  keep_lowest(all, most);
  std::sort(all.begin(), all.end());
  return all;
}

// The matrix game on the lags and directions known so far.
class LagGame : public Game {
 public:
  explicit LagGame(const std::vector<Formula>& frequencies) : Game(frequencies.size()) {
    for (const Formula& theta : frequencies) turns_.push_back(fixed_turns(theta));
  }

  // False where the lag is known already.
  bool add_lag(std::int64_t lag) {
    if (!known_.insert(lag).second) return false;
    lags_.push_back(lag);
    std::vector<double> cosines;
    std::vector<double> sines;
    for (const FixedTurns theta : turns_) {
      const FixedTurns angle = theta * static_cast<FixedTurns>(lag);
      cosines.push_back(one_minus_cosine(angle));
      sines.push_back(sine(angle));
    }
    add_row(cosines, sines);
    if (const double size = *std::max_element(cosines.begin(), cosines.end()); size < away_) {
      away_ = size;
      closest_ = lag;
    }
    return true;
  }

  // A lag at which no plane is away from its start, as far as doubles can tell.
  [[nodiscard]] std::optional<std::int64_t> common_return() const {
    return away_ < vanishing ? std::optional(closest_) : std::nullopt;
  }
  // The lag at which all planes are nearest to their start: it alone bounds every head.
  [[nodiscard]] std::int64_t closest() const { return closest_; }
  [[nodiscard]] const std::vector<std::int64_t>& lags() const { return lags_; }

  [[nodiscard]] std::vector<Wave> waves() const {
    std::vector<Wave> result;
    const auto all = amplitudes();
    for (std::size_t f = 0; f < all.size(); ++f)
      if (all[f].first != 0 || all[f].second != 0)
        result.push_back({turns_[f], all[f].first, all[f].second});
    return result;
  }

 private:
  std::vector<FixedTurns> turns_;
  std::vector<std::int64_t> lags_;
  std::unordered_set<std::int64_t> known_;
  std::int64_t closest_ = 0;
  double away_ = std::numeric_limits<double>::infinity();
};

// ------------------------------------------------------------------------- proofs, in rationals

std::vector<LagWeight> as_mixture(const LagGame& game, unsigned digits) {
  const std::vector<Rational> weights = as_rationals(game.mixture(), digits);
  std::vector<LagWeight> result;
  for (std::size_t s = 0; s < weights.size(); ++s)
    if (weights[s] != 0) result.push_back({Lag(game.lags()[s]), weights[s]});
  std::sort(result.begin(), result.end(),
            [](const LagWeight& x, const LagWeight& y) { return x.lag < y.lag; });
  return result;
}

// 1 - cos theta s and sin theta s without cancellation; exact zeros where the turns are rational.
struct Turned {
  Interval away;
  Interval sideways;
};

Turned turned(const Formula& theta, const Lag& lag) {
  if (const auto turns = theta.turns()) {
    const Rational part = theory::fraction(Rational(*turns * Rational(lag)));
    return {Interval(1) - theory::cosine_of_turns<Interval>(part),
            theory::cosine_of_turns<Interval>(Rational(part - Rational(1, 4)))};
  }
  const Interval half = Interval(lag) * theta.as<Interval>() / Interval(2);
  const Interval s = sin(half);
  return {Interval(2) * s * s, sin(Interval(Interval(2) * half))};
}

void check_mixture(const std::vector<Formula>& frequencies, const std::vector<LagWeight>& mixture,
                   bool both_sides) {
  if (frequencies.empty()) throw Error(ErrorCode::bad_value, "a head needs at least one plane");
  Rational sum;
  for (const LagWeight& m : mixture) {
    if (both_sides ? m.lag == 0 : m.lag < 1)
      throw Error(ErrorCode::bad_value, "a mixture of lags holds lag " + m.lag.str());
    if (m.weight < 0)
      throw Error(ErrorCode::bad_value, "lag " + m.lag.str() + " has the weight " + m.weight.str());
    sum += m.weight;
  }
  if (sum != 1)
    throw Error(ErrorCode::bad_value, "the weights of the lags add up to " + sum.str() + ", not 1");
}

// The planes whose value against the mixture may be the maximum. In doubles a value is off by less
// than 1e-10: 48u relative per cosine, u per weight and sum for up to 10^5 lags, 2 pi lag 2^-127
// for the angle, all values at most 2. So a plane 1e-9 below another cannot be the maximum.
std::vector<std::size_t> contenders(const std::vector<Formula>& frequencies,
                                    const std::vector<LagWeight>& mixture, bool complex) {
  std::vector<std::size_t> all(frequencies.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const bool far = std::any_of(mixture.begin(), mixture.end(),
                               [](const LagWeight& m) { return abs(m.lag) > farthest(); });
  if (far || mixture.size() > 100000) return all;
  std::vector<std::pair<std::int64_t, double>> weights;
  for (const LagWeight& m : mixture)
    weights.emplace_back(static_cast<std::int64_t>(m.lag), m.weight.convert_to<double>());
  std::vector<double> values;
  for (const Formula& theta : frequencies) {
    const FixedTurns turns = fixed_turns(theta);
    double c = 0;
    double s = 0;
    for (const auto& [lag, weight] : weights) {
      const FixedTurns angle = turns * static_cast<FixedTurns>(lag);
      c += weight * one_minus_cosine(angle);
      if (complex) s += weight * sine(angle);
    }
    values.push_back(std::hypot(c, s));
  }
  const double best = *std::max_element(values.begin(), values.end());
  all.erase(std::remove_if(all.begin(), all.end(),
                           [&](std::size_t f) { return values[f] < best - 1e-9; }),
            all.end());
  return all;
}

template <class F>
Enclosure largest(const std::vector<std::size_t>& planes, F&& value) {
  std::vector<Enclosure> values(planes.size());
  tbb::parallel_for(std::size_t{0}, planes.size(),
                    [&](std::size_t k) { values[k] = value(planes[k]); });
  Enclosure result = values.front();
  for (const Enclosure& e : values) {
    result.lo = std::max(result.lo, e.lo);
    result.hi = std::max(result.hi, e.hi);
  }
  return result;
}

// ------------------------------------------------------------------------------- the two meet

// What differs between the heads: how doubles become a proven lower bound, what bounds the mixture,
// and whether directions are added.
template <class Head>
struct Sides {
  std::function<std::pair<decltype(Head::amplitudes), TrigSum>(const LagGame&, unsigned)> propose;
  std::function<Enclosure(const std::vector<LagWeight>&)> bound;
  bool directions = false;
};

// All lags of `range` but 0.
template <class Head>
Head play(LagGame& game, const LagRange& range, const Sides<Head>& sides, Head head,
          const OptimalOptions& options) {
  const auto ahead = std::max<std::int64_t>(0, static_cast<std::int64_t>(range.last));
  const auto behind = std::max<std::int64_t>(0, -static_cast<std::int64_t>(range.first));
  const std::int64_t last = std::max(ahead, behind);
  const double tolerance = std::max(options.relative_width.convert_to<double>(), 1e-12) / 10;
  const std::size_t most = std::max<std::size_t>(64, 2 * game.planes());

  for (const auto& [end, sign] : {std::pair{ahead, 1}, {behind, -1}}) {
    for (std::int64_t s = 1; s <= std::min<std::int64_t>(end, 64); ++s) game.add_lag(sign * s);
    for (std::int64_t s = 64; s <= end / 2; s *= 2) game.add_lag(sign * s * 2);
    if (end > 0) game.add_lag(sign * end);
  }

  const auto close_enough = [&] {
    return head.optimum.hi - head.optimum.lo <= options.relative_width * head.optimum.lo;
  };
  const auto raise = [&](decltype(Head::amplitudes) amplitudes, const TrigSum& sum) {
    ExtremumOptions ask;
    ask.records = true;
    ask.stop = options.stop;
    const ExtremumReport report = minimum(sum, range, ask);
    if (report.extremum.value.lo > head.optimum.lo || head.amplitudes.empty()) {
      head.optimum.lo = std::max(head.optimum.lo, report.extremum.value.lo);
      head.amplitudes = std::move(amplitudes);
    }
    bool added = false;
    for (const Lag& lag : report.extremum.lags)
      added = game.add_lag(static_cast<std::int64_t>(lag)) || added;
    for (const Record& record : report.records)
      added = game.add_lag(static_cast<std::int64_t>(record.lag)) || added;
    return added;
  };
  const auto lower = [&](std::vector<LagWeight> mixture) {
    const Enclosure bound = sides.bound(mixture);
    if (bound.hi < head.optimum.hi || head.dual.empty()) {
      head.optimum.hi = std::min(head.optimum.hi, bound.hi);
      head.dual = std::move(mixture);
    }
  };

  std::int64_t scanned = std::min(last, first_scan);
  for (;;) {
    stop_if(options.stop);
    if (const auto lag = game.common_return()) lower({{Lag(*lag), Rational(1)}});
    if (!head.dual.empty() && head.optimum.hi == 0) break;
    if (head.iterations == options.rounds || !game.solve()) break;
    ++head.iterations;
    if (options.progress) options.progress(head.iterations);

    bool added = sides.directions && game.add_directions(tolerance);
    const double bar = game.value() * (1 - tolerance);
    for (;;) {
      for (const auto& [end, sign] : {std::pair{ahead, 1}, {behind, -1}}) {
        if (end == 0) continue;
        std::vector<Wave> head_there = game.waves();  // at lag -s it is its conjugate at lag s
        for (Wave& w : head_there) w.im *= sign;
        const std::int64_t to = std::min(scanned, end);
        for (const Seen& s : failing_lags(head_there, to, bar, most, options.stop))
          added = (s.value < bar && game.add_lag(sign * s.lag)) || added;
      }
      if (added || scanned >= std::min(last, longest_scan)) break;
      scanned = std::min({last, longest_scan, scanned * 8});
    }
    if (added) continue;

    const unsigned digits = places(game.value());
    lower(as_mixture(game, digits));
    auto [amplitudes, sum] = sides.propose(game, digits);
    added = raise(std::move(amplitudes), sum);
    if (close_enough() || !added) break;
  }
  if (head.dual.empty() && !game.mixture().empty()) lower(as_mixture(game, places(game.value())));
  if (head.amplitudes.empty()) {  // out of rounds, or a common return
    auto [amplitudes, sum] = sides.propose(game, places(game.value()));
    raise(std::move(amplitudes), sum);
  }
  // Where the optimum is all but 0 programs in doubles may end early.
  if (head.dual.empty() || !close_enough()) lower({{Lag(game.closest()), Rational(1)}});
  return head;
}

TrigSum loss_of(const std::vector<Rational>& amplitudes, const std::vector<Formula>& frequencies) {
  std::vector<ComplexAmplitude> real;
  for (const Rational& a : amplitudes) real.push_back({a, 0});
  return offset_loss(real, frequencies);
}

// The relative lags of an offset, without 0.
LagRange lags_around(const Lag& length, const Lag& offset) {
  const Lag behind = length - 1 - offset;
  if (offset == 0) return {1, behind, {}};
  if (behind == 0) return {-offset, -1, {}};
  return {-offset, behind, {0}};
}

Fact margin_fact(const TrigSum& sum, const LagRange& range, std::atomic<bool>* stop) {
  ExtremumOptions ask;
  ask.stop = stop;
  return extremum_fact(Which::minimum, sum, range, minimum(sum, range, ask));
}

// A rational not below |b|, equal to it where it is rational.
Rational size_of(const ComplexAmplitude& b) {
  const Rational square = b.re * b.re + b.im * b.im;
  const Integer p = boost::multiprecision::sqrt(Integer(numerator(square)));
  const Integer q = boost::multiprecision::sqrt(Integer(denominator(square)));
  const Rational root(p, q);
  if (root * root == square) return root;
  const Integer unit = power_of_ten(60);
  const Integer scaled = theory::ceil(Rational(square * Rational(unit * unit)));
  return {boost::multiprecision::sqrt(scaled) + 1, unit};
}

// The dual is a mixture of lags of the range, and no plane f has more than `most` of `gain` against
// it.
void add_dual(std::vector<Fact>& facts, const std::vector<Formula>& frequencies,
              const LagRange& range, const std::vector<LagWeight>& dual, const Enclosure& optimum,
              const std::string& gain, const std::string& most) {
  std::vector<Rational> lags;
  std::vector<Rational> weights;
  for (const LagWeight& m : dual) {
    lags.emplace_back(m.lag);
    weights.push_back(m.weight);
  }
  Names mixture{{{"lags", std::to_string(dual.size())}},
                {{"lag", entries(lags)}, {"weight", entries(weights)}}};
  Names game = mixture;
  mixture.where.emplace_back("first", range.first.str());
  mixture.where.emplace_back("last", range.last.str());
  facts.push_back(relation(
      "all(j in 0..lags-1: weight[j] >= 0 and lag[j] >= first and lag[j] <= last and lag[j] != 0) "
      "and sum(j in 0..lags-1: weight[j]) = 1",
      mixture));
  game.where.emplace_back("planes", std::to_string(frequencies.size()));
  game.where.emplace_back("hi", decimal(optimum.hi, value_digits, theory::Round::up));
  game.tables.emplace_back("theta", entries(frequencies));
  facts.push_back(relation("max(f in 0..planes-1: " + gain + ") <= " + most, game));
}

}  // namespace

Fact head_fact(const std::vector<ComplexAmplitude>& amplitudes) {
  std::vector<Rational> re;
  std::vector<Rational> im;
  std::vector<Rational> size;
  Rational sum;
  for (const ComplexAmplitude& b : amplitudes) {
    re.push_back(b.re);
    im.push_back(b.im);
    size.push_back(size_of(b));
    sum += size.back();
  }
  return relation(
      "all(f in 0..planes-1: size[f] >= 0 and size[f]^2 >= re[f]^2 + im[f]^2) and "
      "sum(f in 0..planes-1: size[f]) <= 1" +
          std::string(sum <= 1 ? "" : " + 10^-50"),
      {{{"planes", std::to_string(amplitudes.size())}},
       {{"re", entries(re)}, {"im", entries(im)}, {"size", entries(size)}}});
}

Fact head_fact(const std::vector<Rational>& amplitudes) {
  return relation(
      "all(f in 0..planes-1: amplitude[f] >= 0) and "
      "sum(f in 0..planes-1: amplitude[f]) = 1",
      {{{"planes", std::to_string(amplitudes.size())}}, {{"amplitude", entries(amplitudes)}}});
}

std::vector<Fact> optimal_facts(const std::vector<Formula>& frequencies, const Lag& reach,
                                const OptimalHead& head, std::atomic<bool>* stop) {
  const LagRange range{1, reach, {}};
  std::vector<Fact> facts{margin_fact(loss_of(head.amplitudes, frequencies), range, stop),
                          head_fact(head.amplitudes)};
  add_dual(facts, frequencies, range, head.dual, head.optimum,
           "sum(j in 0..lags-1: weight[j]*(1 - cos(lag[j]*theta[f])))", "hi");
  return facts;
}

std::vector<Fact> offset_facts(const std::vector<Formula>& frequencies, const Lag& length,
                               const Lag& offset, const OffsetHead& head, std::atomic<bool>* stop) {
  const LagRange range = lags_around(length, offset);
  std::vector<Fact> facts;
  // A head without weight has the margin 0.
  if (const TrigSum sum = offset_loss(head.amplitudes, frequencies); !sum.terms.empty())
    facts.push_back(margin_fact(sum, range, stop));
  facts.push_back(head_fact(head.amplitudes));
  // Squared: the modulus of a sum over the unit circle.
  add_dual(facts, frequencies, range, head.dual, head.optimum,
           "sum(j in 0..lags-1: weight[j]*(1 - cos(lag[j]*theta[f])))^2 + "
           "sum(j in 0..lags-1: weight[j]*sin(lag[j]*theta[f]))^2",
           "hi^2");
  return facts;
}

Fact uniform_fact(const std::vector<Formula>& frequencies, const Lag& reach,
                  std::atomic<bool>* stop) {
  return margin_fact(loss_of(equal_amplitudes(frequencies.size()), frequencies), {1, reach, {}},
                     stop);
}

OptimalHead optimal_head(const std::vector<Formula>& frequencies, const Lag& reach,
                         const OptimalOptions& options) {
  check(frequencies, reach, most_planes);
  OptimalHead head;
  if (frequencies.size() == 1) {
    const OnePlaneGap gap = one_plane_gap(frequencies.front(), reach);
    return {gap.value, {Rational(1)}, {{gap.lag, Rational(1)}}, 0};
  }
  check_far(reach);
  head.optimum = {0, 2};
  LagGame game(frequencies);
  for (std::size_t f = 0; f < frequencies.size(); ++f) game.add_column(f, 1, 0);
  Sides<OptimalHead> sides;
  sides.propose = [&](const LagGame& g, unsigned digits) {
    std::vector<double> shares;
    if (!g.mixture().empty())
      for (const auto& [re, im] : g.amplitudes()) shares.push_back(re);
    std::vector<Rational> amplitudes =
        shares.empty() ? equal_amplitudes(frequencies.size()) : as_rationals(shares, digits);
    TrigSum sum = loss_of(amplitudes, frequencies);
    return std::pair(std::move(amplitudes), std::move(sum));
  };
  sides.bound = [&](const std::vector<LagWeight>& mixture) {
    return mixture_bound(frequencies, mixture);
  };
  return play(game, LagRange{1, reach, {}}, sides, std::move(head), options);
}

OffsetHead offset_head(const std::vector<Formula>& frequencies, const Lag& length,
                       const Lag& offset, const OptimalOptions& options) {
  if (length < 2)
    throw Error(ErrorCode::bad_value, "the length must be at least 2, not " + length.str());
  const Lag reach = reach_of(length, offset);
  check(frequencies, reach, most_planes / 2);
  check_far(reach);
  const LagRange range = lags_around(length, offset);
  OffsetHead head;
  head.optimum = {0, 2};
  LagGame game(frequencies);
  for (std::size_t f = 0; f < frequencies.size(); ++f)
    for (const auto& [re, im] :
         {std::pair{1.0, 0.0}, {0.0, 1.0}, {0.0, -1.0}, {0.8, 0.6}, {0.8, -0.6}})
      game.add_column(f, re, im);
  Sides<OffsetHead> sides;
  sides.directions = true;
  sides.propose = [&](const LagGame& g, unsigned digits) {
    std::vector<ComplexAmplitude> amplitudes;
    if (!g.mixture().empty())
      amplitudes = as_complex(g.amplitudes(), digits);
    else
      for (const Rational& a : equal_amplitudes(frequencies.size())) amplitudes.push_back({a, 0});
    TrigSum sum = offset_loss(amplitudes, frequencies);
    return std::pair(std::move(amplitudes), std::move(sum));
  };
  sides.bound = [&](const std::vector<LagWeight>& mixture) {
    return offset_mixture_bound(frequencies, mixture);
  };
  head = play(game, range, sides, std::move(head), options);
  if (head.optimum.lo == 0)  // which the head without weight has, exactly
    head.amplitudes.assign(frequencies.size(), {Rational(0), Rational(0)});
  return head;
}

Enclosure mixture_bound(const std::vector<Formula>& frequencies,
                        const std::vector<LagWeight>& mixture) {
  check_mixture(frequencies, mixture, false);
  return largest(contenders(frequencies, mixture, false), [&](std::size_t f) {
    Interval sum;
    for (const LagWeight& m : mixture)
      sum += Interval(m.weight) * turned(frequencies[f], m.lag).away;
    return enclosure(sum);
  });
}

Enclosure offset_mixture_bound(const std::vector<Formula>& frequencies,
                               const std::vector<LagWeight>& mixture) {
  check_mixture(frequencies, mixture, true);
  return largest(contenders(frequencies, mixture, true), [&](std::size_t f) {
    Interval c;
    Interval s;
    for (const LagWeight& m : mixture) {
      const Turned t = turned(frequencies[f], m.lag);
      c += Interval(m.weight) * t.away;
      s += Interval(m.weight) * t.sideways;
    }
    const Interval squares = c * c + s * s;
    return enclosure(sqrt(max(squares, Interval(0))));
  });
}

TrigSum offset_loss(const std::vector<ComplexAmplitude>& amplitudes,
                    const std::vector<Formula>& frequencies) {
  std::vector<Rational> cosines;
  for (const ComplexAmplitude& b : amplitudes) cosines.push_back(b.re);
  TrigSum sum = theory::aligned_loss(cosines, frequencies);
  std::erase_if(sum.terms, [](const theory::TrigTerm& term) { return term.amplitude == 0; });
  for (std::size_t f = 0; f < amplitudes.size(); ++f)
    if (amplitudes[f].im != 0)  // sin x = cos(x - pi/2)
      sum.terms.push_back({amplitudes[f].im, frequencies[f], -Formula::pi() / Formula(2)});
  return sum;
}

std::vector<Rational> equal_amplitudes(std::size_t planes) {
  return std::vector<Rational>(planes, Rational(1, Integer(planes)));
}

Enclosure uniform_margin(const std::vector<Formula>& frequencies, const Lag& reach,
                         std::atomic<bool>* stop) {
  check(frequencies, reach, most_planes);
  if (frequencies.size() == 1) return one_plane_gap(frequencies.front(), reach).value;
  check_far(reach);
  ExtremumOptions ask;
  ask.stop = stop;
  return minimum(loss_of(equal_amplitudes(frequencies.size()), frequencies), LagRange{1, reach, {}},
                 ask)
      .extremum.value;
}

std::optional<Enclosure> efficiency(const Enclosure& margin, const Enclosure& optimum) {
  if (optimum.lo.sign() <= 0) return std::nullopt;
  return Enclosure(margin.lo / optimum.hi, margin.hi / optimum.lo);
}

Lag two_sided_reach(const Lag& length, const Lag& offset) {
  if (offset < 1 || offset > length - 2)
    throw Error(ErrorCode::bad_value, "the offset must lie in 1.." + Lag(length - 2).str() +
                                          " at length " + length.str() + ", not " + offset.str());
  const Lag behind = length - 1 - offset;
  return offset < behind ? offset : behind;
}

std::optional<Enclosure> dirichlet_bound(unsigned planes, const Lag& reach) {
  if (planes < 1) throw Error(ErrorCode::bad_value, "a head needs at least one plane");
  if (reach < 1)
    throw Error(ErrorCode::bad_value, "the reach must be at least 1, not " + reach.str());
  Integer root;  // the largest Q with Q^planes <= reach
  mpz_root(root.backend().data(), reach.backend().data(), planes);
  if (root < 3) return std::nullopt;
  const Rational turns(Integer(1), root);
  if (root == 3 || root == 4 || root == 6)
    return Enclosure(Rational(1 - theory::cosine_of_turns<Rational>(turns)));
  const auto value = theory::at_rising_precision([&]<class I>() -> std::optional<Enclosure> {
    const I s = sin(I(I(turns) * I::pi()));
    return enclosure(I(I(2) * s * s));
  });
  return value;
}

std::optional<Enclosure> retrieval_bound(const std::vector<Formula>& frequencies,
                                         const theory::Integer& alphabet, const Lag& length) {
  if (frequencies.empty()) throw Error(ErrorCode::bad_value, "a head needs at least one plane");
  if (alphabet < 2)
    throw Error(ErrorCode::bad_value,
                "the alphabet needs at least 2 letters, not " + alphabet.str());
  if (length < 2)
    throw Error(ErrorCode::bad_value, "the length must be at least 2, not " + length.str());
  const Rational n(length);
  const Rational spread(alphabet, alphabet - 1);
  const Rational wanted(1, power_of_ten(20));
  Enclosure result{0, 0};
  for (const Formula& theta : frequencies) {
    const auto turns = theta.turns();
    if (turns && denominator(*turns) == 1) return std::nullopt;
    std::optional<Enclosure> best;
    if (turns && denominator(Rational(*turns * n)) == 1) {
      best = Enclosure(Rational(0));  // sin(n theta/2) is 0 and sin(theta/2) is not
    } else {
      theory::at_rising_precision(
          [&]<class I>() -> std::optional<Enclosure> {
            const I half = turns ? I(*turns) * I::pi() : theta.as<I>() / I(2);
            const I below = sin(half);
            if (!sign(below)) return std::nullopt;
            const Enclosure e =
                enclosure(I(I(spread) * abs(I(sin(I(I(length) * half)) / (I(length) * below)))));
            best = e;
            const auto width = e.relative_width();
            return width && *width <= wanted ? best : std::nullopt;
          },
          static_cast<unsigned>(length.str().size() + 30));
    }
    if (!best)
      throw Error(ErrorCode::undecided,
                  theta.text() + " cannot be told from a whole number of turns");
    result.lo = std::max(result.lo, best->lo);
    result.hi = std::max(result.hi, best->hi);
  }
  return result;
}

}  // namespace ropewalk::proofs_numeric
