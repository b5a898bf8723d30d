#include "proofs_numeric/precision.hpp"

#include <mpfr.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <tuple>

#include "proofs_numeric/game.hpp"
#include "proofs_numeric/turns.hpp"

namespace ropewalk::proofs_numeric {

using theory::Formula;
using theory::Rational;

// --------------------------------------------------------------------------------------- rounding

namespace {

__extension__ using Significand = unsigned __int128;

int width(Significand x) {
  const auto high = static_cast<std::uint64_t>(x >> 64);
  return high != 0 ? 128 - std::countl_zero(high)
                   : 64 - std::countl_zero(static_cast<std::uint64_t>(x));
}

// The number nearest to significand 2^exponent, or, where there is `more`, to what lies above it by
// less than 2^exponent (then the significand has at least two bits more than the format). Fewer
// than 127 bits.
double nearest(Significand significand, int exponent, bool more, const Format& format) {
  if (significand == 0) return 0.0;
  const int bits = width(significand);
  const int step = std::max(exponent + bits - format.precision, format.least);
  const int drop = step - exponent;
  if (drop > bits) return 0.0;  // below half a step
  Significand whole = significand;
  if (drop > 0) {
    const Significand half = static_cast<Significand>(1) << (drop - 1);
    const Significand rest = significand & (2 * half - 1);
    whole >>= drop;
    if (rest > half || (rest == half && (more || (whole & 1) != 0))) ++whole;
    exponent = step;
  }
  if (width(whole) + exponent > format.limit) return std::numeric_limits<double>::infinity();
  return std::ldexp(static_cast<double>(static_cast<std::uint64_t>(whole)), exponent);
}

struct Parts {
  std::uint64_t significand;
  int exponent;
};

// |x|, finite, as an integer times a power of two.
Parts parts(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto fraction = bits & ((std::uint64_t{1} << 52) - 1);
  const auto exponent = static_cast<int>((bits >> 52) & 0x7ffU);
  if (exponent == 0) return {fraction, -1074};
  return {fraction | std::uint64_t{1} << 52, exponent - 1075};
}

// f is mpfr_cos or mpfr_sin: 64 bits cut off, and whether anything was.
template <class F>
double nearest_of(F&& f, double x, const Format& format) {
  mpfr_t angle;
  mpfr_t value;
  mpfr_init2(angle, 53);
  mpfr_init2(value, 64);
  mpfr_set_d(angle, x, MPFR_RNDN);
  const bool more = f(value, angle, MPFR_RNDZ) != 0;
  double result = 0;
  if (mpfr_zero_p(value) == 0) {
    mpz_t digits;
    mpz_init(digits);
    const auto exponent = static_cast<int>(mpfr_get_z_2exp(digits, value));
    result = nearest(mpz_get_ui(digits), exponent, more, format);
    if (mpfr_signbit(value) != 0) result = -result;
    mpz_clear(digits);
  }
  mpfr_clears(angle, value, static_cast<mpfr_ptr>(nullptr));
  return result;
}

}  // namespace

double nearest(double x, const Format& format) {
  if (!std::isfinite(x)) return x;
  const auto [significand, exponent] = parts(x);
  return std::copysign(nearest(significand, exponent, false, format), x);
}

double nearest_product(double x, double y, const Format& format) {
  if (!std::isfinite(x) || !std::isfinite(y)) return x * y;
  const Parts a = parts(x);
  const Parts b = parts(y);
  const double size = nearest(static_cast<Significand>(a.significand) * b.significand,
                              a.exponent + b.exponent, false, format);
  return std::signbit(x) != std::signbit(y) ? -size : size;
}

double nearest_cosine(double x, const Format& format) { return nearest_of(mpfr_cos, x, format); }
double nearest_sine(double x, const Format& format) { return nearest_of(mpfr_sin, x, format); }

std::span<const Pipeline> pipelines() {
  static constexpr Pipeline all[] = {
      {"fp64", "all in double", fp64, fp64, fp64, fp64},
      {"fp32", "as Hugging Face transformers does it", fp32, fp32, fp32, fp32},
      {"tf32", "the product of inv_freq and positions on tensor cores", tf32, tf32, fp32, fp32},
      {"bf16-inv-freq", "inv_freq cast with the weights", bf16, fp32, fp32, fp32},
      {"fp16-inv-freq", "inv_freq cast with the weights", fp16, fp32, fp32, fp32},
      {"bf16-positions", "positions cast before the product", fp32, bf16, fp32, fp32},
      {"fp16-positions", "positions cast before the product", fp32, fp16, fp32, fp32},
      {"bf16-angles", "the product under autocast", fp32, fp32, bf16, bf16},
      {"fp16-angles", "the product under autocast", fp32, fp32, fp16, fp16},
      {"bf16-cache", "fp32, then the table cast", fp32, fp32, fp32, bf16},
      {"fp16-cache", "fp32, then the table cast", fp32, fp32, fp32, fp16},
      {"bf16", "all in bf16", bf16, bf16, bf16, bf16},
      {"fp16", "all in fp16", fp16, fp16, fp16, fp16},
  };
  return all;
}

// ------------------------------------------------------------------------------------------ table

namespace {

constexpr double unit = 0x1p-53;

enum Quantity : std::size_t { cosines, sines, rotations, angles, quantities };

// The table of a pipeline, entry by entry, and the truth beside it.
class Table {
 public:
  Table(const theory::Schedule& schedule, const Pipeline& pipeline)
      : pipeline_(pipeline),
        frequencies_(schedule.frequencies),
        attention_factor_(schedule.attention_factor),
        radian_(fixed_turns(Formula(1))) {
    const Rational exact = theory::enclose(attention_factor_, 60).middle();
    size_ = theory::nearest_double(exact);
    factor_ = pipeline.angles.precision > fp32.precision
                  ? size_
                  : static_cast<double>(schedule.attention_factor_float32);
    for (std::size_t f = 0; f < frequencies_.size(); ++f) {
      const Rational theta = theory::enclose(frequencies_[f], 60).middle();
      const double w = pipeline.inv_freq.precision > fp32.precision
                           ? theory::nearest_double(theta)
                           : static_cast<double>(schedule.float32[f]);
      inv_freq_.push_back(nearest(w, pipeline.inv_freq));
      steps_.push_back(fixed_turns(frequencies_[f]));
      Plane plane;
      Rational rest = theta;
      for (double* part : {&plane.high, &plane.middle}) {
        *part = std::bit_cast<double>(std::bit_cast<std::uint64_t>(theory::nearest_double(rest)) &
                                      ~((std::uint64_t{1} << 27) - 1));
        rest -= Rational(*part);
      }
      plane.low = theory::nearest_double(rest);
      planes_.push_back(plane);
      wide_.push_back(frequencies_[f].as<theory::Interval<60>>());
    }
    // Rounding of the cosine and of its product with the factor, of the entry, and the factor.
    const double largest = std::exp2(std::ceil(std::log2(std::max({1.0, size_, factor_}))));
    spread_ = 1.01 * (largest * (std::ldexp(1.0, -pipeline.angles.precision) +
                                 std::ldexp(1.0, -pipeline.table.precision - 1)) +
                      std::abs(factor_ - size_) + 4 * unit * size_);
    // fp64 entries are rounded only where they are looked at in intervals.
    rounds_ = pipeline.table.precision < 50;
    noise_ = 64 * unit * largest + (rounds_ ? 0 : spread_);
  }

  [[nodiscard]] std::size_t planes() const { return planes_.size(); }
  [[nodiscard]] const std::vector<double>& inv_freq() const { return inv_freq_; }
  [[nodiscard]] double factor() const { return factor_; }
  [[nodiscard]] double position(std::int64_t lag) const {
    return nearest(static_cast<double>(lag), pipeline_.positions);
  }
  [[nodiscard]] double angle(double position, std::size_t plane) const {
    return nearest_product(inv_freq_[plane], position, pipeline_.angles);
  }
  [[nodiscard]] bool finite(std::int64_t lag) const {
    const double p = position(lag);
    for (std::size_t f = 0; f < planes(); ++f)
      if (!std::isfinite(angle(p, f))) return false;
    return true;
  }

  // x - theta t. A-priori bound: off by less than 8u of itself and 2^-98 of theta t. theta = high +
  // middle + low, the first two with 26 significant bits, so that their products with t <= 2^24
  // are exact. A difference of two numbers within a factor 2 of each other is exact; any other one
  // is off by 2u of itself, and what follows is smaller than that by 2^-24, or adds to theta t
  // 2^-104 only.
  [[nodiscard]] double angle_error(double x, std::int64_t lag, std::size_t plane) const {
    const auto t = static_cast<double>(lag);
    const Plane& theta = planes_[plane];
    return ((x - theta.high * t) - theta.middle * t) - theta.low * t;
  }
  [[nodiscard]] double angle_noise(double error, std::int64_t lag, std::size_t plane) const {
    return 8 * unit * std::abs(error) +
           0x1p-98 * std::abs(planes_[plane].high) * static_cast<double>(lag) + 0x1p-1000;
  }

  // The most that a row is off by, if its angle is off by at most this: the chord, and the rounding
  // of both entries.
  [[nodiscard]] double reach(double angle_error) const {
    return (1 + 8 * unit) * size_ * std::min(2.0, angle_error) + 1.5 * spread_;
  }
  // What errors() may be off by.
  [[nodiscard]] double noise() const { return noise_; }

  // Cosine and sine error in doubles: off by less than noise(). sine() and cosine() are off by 22u
  // each, A and the products by 4u, differences by 8u, of A or of the largest entry.
  [[nodiscard]] std::pair<double, double> errors(double x, std::int64_t lag,
                                                 std::size_t plane) const {
    const FixedTurns turns = steps_[plane] * static_cast<FixedTurns>(lag);
    const auto [c, s] = rounds_ ? entries(x) : approximate(x);
    return {c - size_ * cosine(turns), s - size_ * sine(turns)};
  }

  // The row's entries for this angle. Exact.
  [[nodiscard]] std::pair<double, double> entries(double x) const {
    if (x == 0) return {stored(1.0), 0.0};
    if (rounds_ && std::abs(x) < 0x1p30) {
      const FixedTurns turns = turned(x);
      const auto c = settled(cosine(turns));
      const auto s = settled(sine(turns));
      return {c ? *c : stored(nearest_cosine(x, pipeline_.angles)),
              s ? *s : stored(nearest_sine(x, pipeline_.angles))};
    }
    return {stored(nearest_cosine(x, pipeline_.angles)), stored(nearest_sine(x, pipeline_.angles))};
  }

  // The error in intervals: Enclosure.
  template <class I>
  [[nodiscard]] I error(std::int64_t lag, std::size_t plane, Quantity quantity) const {
    const double x = angle(position(lag), plane);
    I theta;
    if constexpr (I::digits == 60)
      theta = wide_[plane];
    else
      theta = frequencies_[plane].as<I>();
    const I turned = I(lag) * theta;
    if (quantity == angles) return abs(I(x) - turned);
    const auto [c, s] = entries(x);
    const I a = attention_factor_.as<I>();
    if (quantity == cosines) return abs(I(c) - a * cos(turned));
    if (quantity == sines) return abs(I(s) - a * sin(turned));
    const I dx = abs(I(c) - a * cos(turned));
    const I dy = abs(I(s) - a * sin(turned));
    return sqrt(dx * dx + dy * dy);
  }

 private:
  struct Plane {
    double high, middle, low;
  };

  // What becomes of a cosine or sine on its way into the table; monotone, as rounding is.
  [[nodiscard]] double stored(double value) const {
    const Format& at = pipeline_.angles;
    double c = nearest(value, at);
    if (factor_ != 1) c = nearest_product(c, factor_, at);
    return at == pipeline_.table ? c : nearest(c, pipeline_.table);
  }

  // The same of a number within 32u of `value`, and 2^-90, where that decides it.
  [[nodiscard]] std::optional<double> settled(double value) const {
    const double margin = 0x1p-48 * std::abs(value) + 0x1p-90;
    const double below = stored(value - margin);
    if (below != stored(value + margin)) return std::nullopt;
    return below;
  }

  [[nodiscard]] std::pair<double, double> approximate(double x) const {
    if (x == 0) return {size_, 0.0};
    if (std::abs(x) >= 0x1p30) return entries(x);
    const FixedTurns turns = turned(x);
    return {size_ * cosine(turns), size_ * sine(turns)};
  }

  // x radians, |x| < 2^30: off by less than |x| 2^-127 + 2^-127 turns.
  [[nodiscard]] FixedTurns turned(double x) const {
    const auto [m, e] = parts(x);
    FixedTurns turns = 0;
    if (e >= 0) {
      turns = (radian_ * m) << e;
    } else {
      const FixedTurns high = (radian_ >> 64) * m;
      const FixedTurns low = static_cast<FixedTurns>(static_cast<std::uint64_t>(radian_)) * m;
      const int down = -e;
      if (down < 128) turns = low >> down;
      if (down <= 64)
        turns += high << (64 - down);
      else if (down < 192)
        turns += high >> (down - 64);
    }
    return x < 0 ? -turns : turns;
  }

  Pipeline pipeline_;
  std::vector<Formula> frequencies_;
  Formula attention_factor_;
  FixedTurns radian_;
  std::vector<double> inv_freq_;
  std::vector<FixedTurns> steps_;
  std::vector<Plane> planes_;
  std::vector<theory::Interval<60>> wide_;
  double size_ = 1;    ///< A
  double factor_ = 1;  ///< as the pipeline has it
  double spread_ = 0;
  double noise_ = 0;
  bool rounds_ = true;
};

// ---------------------------------------------------------------------------------- largest error

// An error that may be larger than all at smaller lags.
struct Candidate {
  std::int64_t lag;
  std::size_t plane;
  double least;  ///< the error is at least this
  double most;
};
using Candidates = std::array<std::vector<Candidate>, quantities>;
using Thresholds = std::array<double, quantities>;

// Of angle errors only the largest of all is wanted: they grow with nearly every lag.
void offer(Quantity quantity, Candidates& found, Thresholds& known, const Candidate& c) {
  std::vector<Candidate>& candidates = found[quantity];
  double& threshold = known[quantity];
  if (c.most <= threshold) return;
  if (quantity == angles)
    while (!candidates.empty() && candidates.back().most < c.least) candidates.pop_back();
  candidates.push_back(c);
  threshold = std::max(threshold, c.least);
}

// All lags first..last that may set a record, where `known` is reached before them.
Candidates scan(const Table& table, std::int64_t first, std::int64_t last, Thresholds known) {
  Candidates found;
  for (std::int64_t lag = first; lag <= last; ++lag) {
    const double position = table.position(lag);
    for (std::size_t f = 0; f < table.planes(); ++f) {
      const double x = table.angle(position, f);
      const double delta = table.angle_error(x, lag, f);
      const double size = std::abs(delta);
      const double off = table.angle_noise(delta, lag, f);
      offer(angles, found, known, {lag, f, size - off, size + off});
      if (table.reach(size + off) <= std::min({known[cosines], known[sines], known[rotations]}))
        continue;
      const auto [c, s] = table.errors(x, lag, f);
      const double noise = table.noise();
      const double both = std::hypot(c, s);
      offer(cosines, found, known, {lag, f, std::abs(c) - noise, std::abs(c) + noise});
      offer(sines, found, known, {lag, f, std::abs(s) - noise, std::abs(s) + noise});
      offer(rotations, found, known, {lag, f, both - 2 * noise, both + 2 * noise});
    }
  }
  return found;
}

Candidates all_candidates(const Table& table, std::int64_t last, const PrecisionOptions& options) {
  Candidates found;
  Thresholds known;
  known.fill(-1);
  constexpr std::int64_t block = 256;
  for (std::int64_t first = 1, blocks = 1; first <= last;
       blocks = std::min<std::int64_t>(2 * blocks, 256)) {
    if (options.progress) options.progress(static_cast<double>(first) / static_cast<double>(last));
    std::vector<Candidates> some(static_cast<std::size_t>(blocks));
    tbb::parallel_for(std::int64_t{0}, blocks, [&](std::int64_t b) {
      if (options.stop != nullptr && options.stop->load()) return;
      const std::int64_t start = first + b * block;
      some[static_cast<std::size_t>(b)] =
          scan(table, start, std::min(last, start + block - 1), known);
    });
    stop_if(options.stop);
    for (const Candidates& part : some)
      for (const Quantity q : {cosines, sines, rotations, angles})
        for (const Candidate& c : part[q]) offer(q, found, known, c);
    first += blocks * block;
  }
  return found;
}

// The records among the candidates, by intervals.
std::vector<TableError> records(const Table& table, Quantity quantity,
                                const std::vector<Candidate>& candidates,
                                const std::atomic<bool>* stop) {
  using I = theory::Interval<60>;
  using Finer = theory::Interval<160>;
  std::vector<I> values(candidates.size());
  tbb::parallel_for(std::size_t{0}, candidates.size(), [&](std::size_t i) {
    if (stop != nullptr && stop->load()) return;
    values[i] = table.error<I>(candidates[i].lag, candidates[i].plane, quantity);
  });
  stop_if(stop);
  std::vector<TableError> result;
  std::size_t best = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& c = candidates[i];
    if (i > 0) {
      std::optional<int> order = compare(values[i], values[best]);
      if (!order) {
        order = compare(table.error<Finer>(c.lag, c.plane, quantity),
                        table.error<Finer>(candidates[best].lag, candidates[best].plane, quantity));
        if (!order) {
          values[best] = hull(values[best], values[i]);
          result.back().error = enclosure(values[best]);
          continue;
        }
      }
      if (*order <= 0) continue;
      if (result.back().lag == c.lag) result.pop_back();
    }
    best = i;
    result.push_back({c.lag, c.plane, enclosure(values[i])});
  }
  return result;
}

// --------------------------------------------------------------------------------- distinct rows

struct Row {
  std::size_t group;  ///< rows alike on the planes before
  double cosine;
  double sine;
  std::int64_t position;
};

// Among positions 0..last. Rows that are alike on the planes looked at stay in a group; those alone
// in theirs differ from all others.
std::optional<PrecisionAudit::Collision> first_collision(const Table& table, std::int64_t last,
                                                         const std::atomic<bool>* stop) {
  std::vector<Row> rows;
  for (std::int64_t t = 0; t <= last; ++t) rows.push_back({0, 0, 0, t});
  for (std::size_t f = 0; f < table.planes() && !rows.empty(); ++f) {
    tbb::parallel_for(std::size_t{0}, rows.size(), [&](std::size_t i) {
      if (stop != nullptr && stop->load()) return;
      std::tie(rows[i].cosine, rows[i].sine) =
          table.entries(table.angle(table.position(rows[i].position), f));
    });
    stop_if(stop);
    const auto key = [](const Row& r) { return std::tie(r.group, r.cosine, r.sine); };
    std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
      return std::tuple_cat(key(a), std::tie(a.position)) <
             std::tuple_cat(key(b), std::tie(b.position));
    });
    std::vector<Row> together;
    for (std::size_t i = 0; i < rows.size();) {
      std::size_t end = i + 1;
      while (end < rows.size() && key(rows[end]) == key(rows[i])) ++end;
      const std::size_t group = together.size();
      if (end - i > 1)
        for (std::size_t k = i; k < end; ++k) together.push_back({group, 0, 0, rows[k].position});
      i = end;
    }
    rows = std::move(together);
  }
  std::optional<PrecisionAudit::Collision> first;
  for (std::size_t i = 0; i + 1 < rows.size(); ++i)
    if (rows[i].group == rows[i + 1].group && (!first || rows[i + 1].position < first->later))
      first = {rows[i].position, rows[i + 1].position};
  return first;
}

}  // namespace

std::int64_t PrecisionAudit::distinct_until() const {
  if (collision) return collision->later - 1;
  return not_finite ? *not_finite - 1 : length;
}

const TableError* worst(const std::vector<TableError>& records, std::int64_t length) {
  const auto after =
      std::upper_bound(records.begin(), records.end(), length,
                       [](std::int64_t lag, const TableError& e) { return lag < e.lag; });
  return after == records.begin() ? nullptr : &*(after - 1);
}

PrecisionAudit precision_audit(const theory::Schedule& schedule, const Pipeline& pipeline,
                               std::int64_t length, const PrecisionOptions& options) {
  const std::size_t planes = schedule.frequencies.size();
  if (planes == 0 || schedule.float32.size() != planes)
    throw Error(ErrorCode::bad_value, "a table needs a frequency and a float32 per plane");
  if (planes > 4096)
    throw Error(ErrorCode::too_large,
                "tables of at most 4096 planes are audited, not " + std::to_string(planes));
  if (length < 1 || length > longest_table)
    throw Error(ErrorCode::bad_value, "the length must lie in 1.." + std::to_string(longest_table) +
                                          ", not " + std::to_string(length));
  const Table table(schedule, pipeline);
  PrecisionAudit audit;
  audit.length = length;
  // Positions and angles grow with the lag: once infinite, always.
  std::int64_t finite = length;
  if (!table.finite(length)) {
    std::int64_t open = 0;
    for (std::int64_t closed = length; closed - open > 1;) {
      const std::int64_t middle = (open + closed) / 2;
      (table.finite(middle) ? open : closed) = middle;
    }
    finite = open;
    audit.not_finite = open + 1;
  }
  const Candidates found = all_candidates(table, finite, options);
  audit.cosine = records(table, cosines, found[cosines], options.stop);
  audit.sine = records(table, sines, found[sines], options.stop);
  audit.rotation = records(table, rotations, found[rotations], options.stop);
  if (const auto all = records(table, angles, found[angles], options.stop); !all.empty())
    audit.angle = all.back();
  // Position 0 is finite unless inv_freq itself is not.
  if (table.finite(0))
    for (std::int64_t last = std::min<std::int64_t>(finite, 512);;
         last = std::min(finite, 4 * last)) {
      audit.collision = first_collision(table, last, options.stop);
      if (audit.collision || last == finite) break;
    }
  return audit;
}

Rational safe_margin(const Rational& e, const Formula& attention_factor) {
  return 2 * (2 * theory::enclose(attention_factor, 60).hi * e + e * e);
}

std::vector<Fact> precision_facts(const theory::Schedule& schedule, const Pipeline& pipeline,
                                  const PrecisionAudit& audit) {
  const std::int64_t last = audit.not_finite ? *audit.not_finite - 1 : audit.length;
  if (last < 1 || audit.cosine.empty()) return {};
  const Table table(schedule, pipeline);
  std::vector<Rational> stored;
  Enclosure off(0, 0);
  for (std::size_t f = 0; f < table.planes(); ++f) {
    stored.emplace_back(table.inv_freq()[f]);
    const Enclosure theta = theory::enclose(schedule.frequencies[f], 60);
    const Rational below = abs(Rational(stored.back() - theta.lo));
    const Rational above = abs(Rational(stored.back() - theta.hi));
    off.lo = std::max(off.lo, std::min(below, above));
    off.hi = std::max(off.hi, std::max(below, above));
  }
  const auto format = [](const Format& x) {
    return Fact{{"precision", std::to_string(x.precision)},
                {"least", std::to_string(x.least)},
                {"limit", std::to_string(x.limit)}};
  };
  Fact rounding{{"kind", "rounding"},
                {"frequencies", entries(schedule.frequencies)},
                {"size", schedule.attention_factor.text()},
                {"inv_freq", entries(stored)},
                {"factor", Rational(table.factor()).str()},
                {"positions", format(pipeline.positions)},
                {"angles", format(pipeline.angles)},
                {"table", format(pipeline.table)},
                {"last", std::to_string(last)},
                {"records", Fact::array()}};
  Rational top = 0;  // rounded outward, a record may fall within the one before
  for (const TableError& e : audit.cosine) {
    const std::string lo = decimal(e.error.lo, value_digits, theory::Round::down);
    top = std::max(
        top, *Formula::parse(decimal(e.error.hi, value_digits, theory::Round::up)).rational());
    rounding["records"].push_back({{"lag", std::to_string(e.lag)},
                                   {"plane", std::to_string(e.plane)},
                                   {"lo", lo},
                                   {"hi", decimal(top, value_digits, theory::Round::up)}});
  }
  return {enclosed("max(f in 0..planes-1: abs(inv_freq[f] - theta[f]))", off,
                   {{{"planes", std::to_string(table.planes())}},
                    {{"inv_freq", entries(stored)}, {"theta", entries(schedule.frequencies)}}}),
          rounding};
}

}  // namespace ropewalk::proofs_numeric
