// Which bases serve a context: the sweep along q = b^(-2/d). The proofs of the error bounds stand
// where the bounds are; that of the method in docs/proofs.md#p4-sweep.
//
// u = 2^-53. Bounds count 2u per operation on doubles, which holds in every rounding mode.

#include "proofs_numeric/base_set.hpp"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <Eigen/Core>
#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>

#include "theory/error.hpp"

namespace ropewalk::proofs_numeric {

using theory::Enclosure;
using theory::Integer;
using theory::Interval;
using theory::Rational;

namespace {

__extension__ using Wide = unsigned __int128;

constexpr BaseRoot whole = BaseRoot{1} << 63;  // q = 1, b = 1
constexpr double unit = 0x1p-63;               // of the grid, in q
constexpr std::uint64_t longest = std::uint64_t{1} << 24;
constexpr unsigned widest_dim = 1024;

// ---------------------------------------------------------------------------------------------
// Cosines

// cos and sin of a phase in turns times 2^64.
//
// The upper 52 bits of phase + 1/2 turn become the mantissa of a double in [1, 2); less 3/2 that is
// the phase f in [-1/2, 1/2) turns, exactly but for the bits cut off: less than 2^-52 turns,
// 1.4e-15 radians. With y = pi f, |y| <= pi/2 (off by 4u relative), s and c are Taylor sums of sin
// y and cos y, ten terms each: what is left out is below (pi/2)^21/21! = 2.6e-16 and
// (pi/2)^20/20! = 3.5e-15. Horner's scheme adds at most 2u per operation on partial sums below
// cosh(pi/2) = 2.51, 22 operations: 1.3e-14. So |s - sin| < 1.4e-14, |c - cos| < 1.8e-14, and for
// 1 - 2s^2 and 2sc, with the angle's own error: below 6e-14.
constexpr double cosine_error = 6e-14;

struct CosSin {
  double cos;
  double sin;
};

inline CosSin cosine_and_sine(std::uint64_t phase) {
  const std::uint64_t centred = phase ^ (std::uint64_t{1} << 63);
  const double f = std::bit_cast<double>((centred >> 12) | 0x3FF0000000000000U) - 1.5;
  const double y = f * 3.141592653589793;
  const double z = y * y;
  double s = -8.22063524662433e-18;  // -1/19!
  s = s * z + 2.8114572543455206e-15;
  s = s * z - 7.647163731819816e-13;
  s = s * z + 1.6059043836821613e-10;
  s = s * z - 2.505210838544172e-08;
  s = s * z + 2.7557319223985893e-06;
  s = s * z - 0.0001984126984126984;
  s = s * z + 0.008333333333333333;
  s = s * z - 0.16666666666666666;
  s = s * z * y + y;
  double c = -1.5619206968586225e-16;  // -1/18!
  c = c * z + 4.779477332387385e-14;
  c = c * z - 1.1470745597729725e-11;
  c = c * z + 2.08767569878681e-09;
  c = c * z - 2.755731922398589e-07;
  c = c * z + 2.48015873015873e-05;
  c = c * z - 0.001388888888888889;
  c = c * z + 0.041666666666666664;
  c = c * z - 0.5;
  c = c * z + 1.0;
  return {1.0 - 2.0 * s * s, 2.0 * s * c};
}

// ---------------------------------------------------------------------------------------------
// One position of the sweep

struct SumAt {
  double value;
  double slope;  // d B_k / dq
};

// The frequencies at one root, as phases per lag; sums there, and bounds that hold from there on
// downward (all of q^i grow with q).
class Point {
 public:
  explicit Point(unsigned planes) : turns_(planes), weights_(planes), cos_(planes), sin_(planes) {}

  // p_i = q^i in units of 2^-127, rounded down once a step; q <= 1 passes errors on unenlarged, so
  // p_i is low by at most i 2^-127. Its upper 64 bits times floor(2^64/(2 pi)), cut to 64 bits: low
  // by less than 2^-63/(2 pi) 2^64 + 1 + 1 < 2.4 units of 2^-64 turns.
  void place(BaseRoot root) {
    root_ = root;
    constexpr std::uint64_t turns_per_radian = 2935890503282001226U;
    first_bound_ = 0;
    second_bound_ = 0;
    third_bound_ = 0;
    Wide p = static_cast<Wide>(1) << 127;
    double before = 0;  // upper bound of q^(i-1)
    double before_that = 0;
    for (std::size_t i = 0; i < turns_.size(); ++i) {
      const auto high = static_cast<std::uint64_t>(p >> 64);
      const auto low = static_cast<std::uint64_t>(p);
      turns_[i] = static_cast<std::uint64_t>((static_cast<Wide>(high) * turns_per_radian) >> 63);
      const auto n = static_cast<double>(i);
      weights_[i] = n * before;
      first_bound_ += weights_[i];
      second_bound_ += n * (n - 1) * before_that;
      third_bound_ += weights_[i] * weights_[i];
      before_that = before;
      before = (static_cast<double>(high) + 1) * unit;
      p = ((static_cast<Wide>(high) * root) << 1) + ((static_cast<Wide>(low) * root) >> 63);
    }
    // Each is a sum of at most 512 positive terms: rounding is below 1e-12 of it.
    first_bound_ *= 1 + 1e-9;
    second_bound_ *= 1 + 1e-9;
    third_bound_ *= 1 + 1e-9;
  }

  [[nodiscard]] BaseRoot root() const { return root_; }
  [[nodiscard]] const std::vector<std::uint64_t>& turns() const { return turns_; }

  // |B_k - value| and |B_k' - slope| are at most value_error(k) and slope_error(k).
  [[nodiscard]] SumAt at(std::uint64_t k) {
    const std::size_t planes = turns_.size();
    for (std::size_t i = 0; i < planes; ++i) {
      const CosSin x = cosine_and_sine(turns_[i] * k);
      cos_[i] = x.cos;
      sin_[i] = x.sin * weights_[i];
    }
    double value = 0;
    double slope = 0;
    for (std::size_t i = 0; i < planes; ++i) value += cos_[i];
    for (std::size_t i = 0; i < planes; ++i) slope += sin_[i];
    return {value, -slope * static_cast<double>(k)};
  }

  // D terms, each off by cosine_error and by 2 pi 2.4 2^-64 k < 8.2e-19 k; D additions of sums up
  // to D, 2u each.
  [[nodiscard]] double value_error(std::uint64_t k) const {
    const auto d = static_cast<double>(turns_.size());
    return d * (cosine_error + 2.3e-16 * d + 8.2e-19 * static_cast<double>(k));
  }
  // The same of every term, times k i q^(i-1), which itself is high by at most k i 2^-63.
  [[nodiscard]] double slope_error(std::uint64_t k) const {
    const auto d = static_cast<double>(turns_.size());
    const auto n = static_cast<double>(k);
    return n * first_bound_ * (1e-13 + 5e-16 * d + 1e-18 * n) + n * d * d * 2.2e-19;
  }

  // |B_k'| <= k slope_per_lag() at this root and below.
  [[nodiscard]] double slope_per_lag() const { return first_bound_; }
  // |B_k''| at this root and below.
  [[nodiscard]] double curvature(std::uint64_t k) const {
    const auto n = static_cast<double>(k);
    return (n * second_bound_ + n * n * third_bound_) * (1 + 1e-12);
  }

 private:
  BaseRoot root_ = whole;
  std::vector<std::uint64_t> turns_;
  std::vector<double> weights_;  // i q^(i-1), rounded up
  std::vector<double> cos_;
  std::vector<double> sin_;
  double first_bound_ = 0;   // sum of i q^(i-1)
  double second_bound_ = 0;  // sum of i (i-1) q^(i-2)
  double third_bound_ = 0;   // sum of (i q^(i-1))^2
};

// ---------------------------------------------------------------------------------------------
// All lags at one position

struct Hit {
  std::uint64_t k;
  double value;
  double slope = 0;
};

// Sums of all lags, by the angle-addition formula as a product of float matrices:
// S(k0 + j) = sum_i cos(k0 t_i) cos(j t_i) - sin(k0 t_i) sin(j t_i). It only nominates lags; what
// it passes over is above the threshold by the bound of error().
class Scan {
 public:
  explicit Scan(unsigned planes) : planes_(planes) {}

  // Entries are off by one float rounding each (2^-23 in any mode), the products of a plane sum up
  // to at most 1 in size, and 2D additions and products round by 2^-23 of at most D. The doubles
  // behind the entries err by less than 1e-9 in all.
  [[nodiscard]] double error() const {
    const double d = planes_;
    return d * (2 * d + 4) * 0x1p-23 + 1e-9 * d;
  }

  void place(const Point& point) {
    point_ = &point;
    rows_ = 0;
  }

  // Calls visit(k, value) for every k in first..last with value < offset + slope k. It stops
  // where visit returns false.
  template <class Visit>
  bool lags(std::uint64_t first, std::uint64_t last, double offset, double slope, Visit&& visit) {
    std::uint64_t at = first;
    while (at <= last) {
      const int rows = at < 4096 ? 64 : 256;
      const std::uint64_t left = last - at + 1;
      const auto columns = static_cast<int>(std::min<std::uint64_t>(
          64, (left + static_cast<std::uint64_t>(rows) - 1) / static_cast<std::uint64_t>(rows)));
      product(at, rows, columns);
      for (int c = 0; c < columns; ++c) {
        const float* sums = sums_.data() + static_cast<std::ptrdiff_t>(c) * rows;
        const std::uint64_t start = at + static_cast<std::uint64_t>(c * rows);
        if (start > last) break;
        const auto count =
            std::min<std::uint64_t>(static_cast<std::uint64_t>(rows), last - start + 1);
        // The threshold of a column is its largest: first a quick look, then a close one.
        const auto top = static_cast<float>(
            (offset + slope * static_cast<double>(start + count)) * (1 + 1e-6) + 1e-6);
        int below = 0;
        for (std::uint64_t j = 0; j < count; ++j) below += sums[j] < top ? 1 : 0;
        if (below == 0) continue;
        for (std::uint64_t j = 0; j < count; ++j) {
          const auto value = static_cast<double>(sums[j]);
          if (value < offset + slope * static_cast<double>(start + j))
            if (!visit(start + j, value)) return false;
        }
      }
      at += static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(columns);
    }
    return true;
  }

 private:
  void product(std::uint64_t start, int rows, int columns) {
    const auto d = static_cast<Eigen::Index>(planes_);
    const std::vector<std::uint64_t>& turns = point_->turns();
    if (rows_ < rows) {
      within_.resize(rows, 2 * d);
      for (Eigen::Index i = 0; i < d; ++i)
        for (int j = 0; j < rows; ++j) {
          const CosSin x =
              cosine_and_sine(turns[static_cast<std::size_t>(i)] * static_cast<std::uint64_t>(j));
          within_(j, i) = static_cast<float>(x.cos);
          within_(j, d + i) = static_cast<float>(x.sin);
        }
      rows_ = rows;
    }
    starts_.resize(2 * d, columns);
    for (int c = 0; c < columns; ++c) {
      const std::uint64_t k = start + static_cast<std::uint64_t>(c * rows);
      for (Eigen::Index i = 0; i < d; ++i) {
        const CosSin x = cosine_and_sine(turns[static_cast<std::size_t>(i)] * k);
        starts_(i, c) = static_cast<float>(x.cos);
        starts_(d + i, c) = -static_cast<float>(x.sin);
      }
    }
    sums_.resize(rows, columns);
    sums_.noalias() = within_.topRows(rows) * starts_;
  }

  unsigned planes_;
  const Point* point_ = nullptr;
  int rows_ = 0;
  Eigen::MatrixXf within_;
  Eigen::MatrixXf starts_;
  Eigen::MatrixXf sums_;
};

// ---------------------------------------------------------------------------------------------
// The sweep over one stretch

// Where an admissible piece begins: every sum is positive at `after`, that of `binding` is zero
// somewhere in after..before, and those of all others stay above 0 there.
struct Hole {
  BaseRoot before = 0;
  BaseRoot after = 0;
  std::uint64_t binding = 0;
  bool alone = false;  // `binding` is monotone in after..before, so that it has one zero there
};

struct Stretch {
  std::vector<BasePiece> pieces;
  std::optional<Hole> hole;  // that of the first admissible piece
};

void append(std::vector<BasePiece>& pieces, const BasePiece& piece) {
  if (!pieces.empty() && pieces.back().kind == piece.kind &&
      pieces.back().violated == piece.violated && pieces.back().last == piece.first)
    pieces.back().last = piece.last;
  else
    pieces.push_back(piece);
}

class Sweep {
 public:
  Sweep(unsigned planes, std::uint64_t length)
      : length_(length), here_(planes), probe_(planes), scan_(planes) {}

  // Covers the bases with roots first down to last. With `only_first`, up to the first admissible
  // point. `cancelled` may end it early, with what there is.
  template <class Cancelled>
  Stretch run(BaseRoot first, BaseRoot last, bool only_first, Cancelled&& cancelled) {
    Stretch out;
    near_.clear();
    window_ = 0;
    BaseRoot at = first;
    while (at > last || out.pieces.empty()) {
      if (cancelled()) return out;
      here_.place(at);
      if (const auto step = reject(at, last)) {
        append(out.pieces, {PieceKind::rejected, at, step->last, step->violated});
        at = step->last;
        continue;
      }
      // No sum is negative here by more than the error; near_ holds all that are below 1.
      const auto hole = cross(at, last, 1);
      if (!hole) {  // something is negative again right after, or it stays open
        append(out.pieces, {PieceKind::undecided, at, crossed_, 0});
        at = crossed_;
        if (at == last) break;
        continue;
      }
      if (hole->after < at) append(out.pieces, {PieceKind::undecided, at, hole->after, 0});
      if (!out.hole) out.hole = hole;
      at = hole->after;
      do {
        if (only_first || cancelled()) {
          append(out.pieces, {PieceKind::admissible, at, at, 0});
          return out;
        }
        const BaseRoot to = admit(at, last);
        append(out.pieces, {PieceKind::admissible, at, to, 0});
        if (to == at) break;
        at = to;
      } while (at > last && !blocked_);
      if (at == last) break;
      // From positive to negative: the sum that blocks, over the shortest step that shows it.
      here_.place(at);
      near_.assign(1, blocked_ ? *blocked_ : Hit{length_, 0});
      (void)cross(at, last, -1);
      append(out.pieces, {PieceKind::undecided, at, crossed_, 0});
      at = crossed_;
    }
    return out;
  }

 private:
  struct Step {
    BaseRoot last;
    std::uint64_t violated;
  };

  // The largest step down from `point` over which sign * B_k stays positive, by
  //   sign B(q - h) >= sign B(q) - h (sign B'(q)) - h^2/2 max|B''|:
  // the positive zero of that parabola, taken 1 % short, which covers the rounding of this formula.
  static BaseRoot safe_step(const Point& point, std::uint64_t k, const SumAt& x, int sign,
                            BaseRoot most) {
    const double margin = sign * x.value - point.value_error(k);
    if (!(margin > 0)) return 0;
    const double fall = sign * x.slope + point.slope_error(k);
    const double bend = point.curvature(k);
    const double root = std::sqrt(fall * fall + 2 * bend * margin);
    double h = 0;
    if (fall > 0)
      h = 2 * margin / (fall + root);
    else if (bend > 0)
      h = (root - fall) / bend;
    else
      return most;
    h = h * 0.99 / unit;
    return h >= static_cast<double>(most) ? most : static_cast<BaseRoot>(h);
  }

  // How far down from `at` sign * B_k stays positive. `to_the_end`: as near to the zero as doubles
  // tell; else until steps get short.
  BaseRoot reach(std::uint64_t k, SumAt x, BaseRoot at, BaseRoot last, int sign, bool to_the_end) {
    const Point* point = &here_;
    BaseRoot now = at;
    for (int steps = 0; steps < 200 && now > last; ++steps) {
      const BaseRoot step = safe_step(*point, k, x, sign, now - last);
      if (step == 0) break;
      now -= step;
      if (!to_the_end && step < (at - now) / 32) break;
      if (now == last) break;
      probe_.place(now);
      point = &probe_;
      x = probe_.at(k);
    }
    return now;
  }

  void refresh(std::vector<Hit>& hits, Point& point) {
    for (Hit& hit : hits) {
      const SumAt x = point.at(hit.k);
      hit.value = x.value;
      hit.slope = x.slope;
    }
  }

  // The furthest-reaching of the negative sums among hits (already refreshed at here_). Only the
  // most promising are followed: a sum of depth v stays negative for about sqrt(v)/k.
  std::optional<Step> furthest(std::vector<Hit>& hits, BaseRoot at, BaseRoot last) {
    promising_.clear();
    for (const Hit& hit : hits)
      if (hit.value < -here_.value_error(hit.k)) promising_.push_back(hit);
    const auto promise = [](const Hit& h) {
      // Deep, and still falling on the way down (slope in q positive).
      return (std::sqrt(-h.value) + (h.slope > 0 ? 1.0 : 0.0)) / static_cast<double>(h.k);
    };
    constexpr std::size_t followed = 12;
    if (promising_.size() > followed) {
      std::nth_element(promising_.begin(), promising_.begin() + followed, promising_.end(),
                       [&](const Hit& a, const Hit& b) {
                         const double pa = promise(a);
                         const double pb = promise(b);
                         return pa != pb ? pa > pb : a.k < b.k;
                       });
      promising_.resize(followed);
    }
    std::optional<Step> best;
    for (const Hit& hit : promising_) {
      const BaseRoot to = reach(hit.k, {hit.value, hit.slope}, at, last, -1, false);
      if (to < at && (!best || to < best->last || (to == best->last && hit.k < best->violated)))
        best = Step{to, hit.k};
      if (best && best->last == last) break;
    }
    return best;
  }

  // A lag whose sum is negative at `at` (= here_) and a stretch below. Nothing where no sum is
  // negative by more than the error; then near_ holds every lag whose sum is below `nearby`.
  std::optional<Step> reject(BaseRoot at, BaseRoot last) {
    // A step worth taking without looking on: a few percent of the width of an excursion.
    const double natural =
        0.4 / (static_cast<double>(length_) * std::max(here_.slope_per_lag(), 1e-300)) / unit;
    const BaseRoot worth = std::min<BaseRoot>(
        at - last, natural >= 0x1p62 ? BaseRoot{1} << 62 : static_cast<BaseRoot>(natural) + 1);
    refresh(near_, here_);
    auto best = furthest(near_, at, last);
    if (best && at - best->last >= worth) return best;
    // Look at all lags, the small ones first: their sums stay negative longest.
    scan_.place(here_);
    near_.clear();
    best.reset();
    for (std::uint64_t first = 1, end = 256; first <= length_; first = end, end *= 2) {
      const std::uint64_t stop = std::min(end - 1, length_);
      found_.clear();
      scan_.lags(first, stop, nearby, 0, [&](std::uint64_t k, double value) {
        found_.push_back({k, value});
        return true;
      });
      refresh(found_, here_);
      const auto step = furthest(found_, at, last);
      if (step && (!best || step->last < best->last)) best = step;
      near_.insert(near_.end(), found_.begin(), found_.end());
      if (best && at - best->last >= worth) {
        constexpr std::size_t kept = 96;
        if (near_.size() > kept)
          near_.erase(near_.begin(), near_.end() - static_cast<std::ptrdiff_t>(kept));
        return best;
      }
    }
    if (!best) return std::nullopt;
    // Little progress: to the zero of that sum, whatever comes there.
    const std::uint64_t k = best->violated;
    return Step{reach(k, here_.at(k), at, last, -1, true), k};
  }

  // The first root below `at` at which every lag of near_ is positive (`sign` 1) or one is
  // negative. For sign 1: the hole that begins there, or nothing where a sum is negative first;
  // crossed_ is where it ended. Steps grow fourfold, up to what the lags outside near_ allow: they
  // are above `nearby` less the error of the scan at `at`, and fall by k slope_per_lag h at most.
  std::optional<Hole> cross(BaseRoot at, BaseRoot last, int sign) {
    const double steepest = static_cast<double>(length_) * here_.slope_per_lag();
    BaseRoot step = 0;
    while (true) {
      const BaseRoot to = at - std::min(step, at - last);
      probe_.place(to);
      bool all_positive = true;
      bool one_negative = false;
      for (const Hit& hit : near_) {
        const double value = probe_.at(hit.k).value;
        const double error = probe_.value_error(hit.k);
        all_positive = all_positive && value > error;
        // Well below the error, or the noise of a sum at its zero would pass for another one.
        one_negative = one_negative || value < -1.5 * error;
      }
      crossed_ = to;
      if (one_negative && to < at) return std::nullopt;
      const double fall = steepest * static_cast<double>(at - to) * unit;
      if (sign > 0 && all_positive && fall < nearby / 4) return hole(at, to);
      if (to == last) return std::nullopt;
      if (fall >= nearby / 4) return std::nullopt;
      step = step == 0 ? 4 : 4 * step;
    }
  }

  // Which sum binds in to..at, and whether alone. near_ is complete here.
  Hole hole(BaseRoot at, BaseRoot to) {
    Hole h{at, to, 0, false};
    if (to == at) return h;
    double least = 0;
    for (const Hit& hit : near_) {
      const double value = std::abs(here_.at(hit.k).value);
      if (h.binding == 0 || value < least) {
        h.binding = hit.k;
        least = value;
      }
    }
    if (h.binding == 0) return h;
    const double width = static_cast<double>(at - to) * unit;
    const SumAt x = here_.at(h.binding);
    h.alone = -x.slope - here_.slope_error(h.binding) > 1.01 * here_.curvature(h.binding) * width;
    probe_.place(to);
    for (const Hit& hit : near_) {
      if (hit.k == h.binding) continue;
      const double fall = 1.01 * static_cast<double>(hit.k) * here_.slope_per_lag() * width;
      h.alone = h.alone && probe_.at(hit.k).value - probe_.value_error(hit.k) > fall;
    }
    return h;
  }

  // How far down from `at`, where all sums are positive, they stay so: at the middle of a window
  // most sums exceed what they could lose to its ends; the others are followed one by one. Sets
  // blocked_ to the lag that ends it, if one does.
  BaseRoot admit(BaseRoot at, BaseRoot last) {
    blocked_.reset();
    here_.place(at);
    const double per_lag = here_.slope_per_lag();
    const double natural = 4 / (static_cast<double>(length_) * std::max(per_lag, 1e-300)) / unit;
    if (window_ == 0)
      window_ = natural >= 0x1p62 ? BaseRoot{1} << 62 : static_cast<BaseRoot>(natural) + 16;
    const std::size_t most = 64 + static_cast<std::size_t>(length_ / 64);
    BaseRoot to = last;
    while (true) {
      to = at - std::min(window_, at - last);
      const BaseRoot middle = to + (at - to) / 2;
      const double half = 1.01 * static_cast<double>(at - to) * unit / 2 + unit;
      probe_.place(middle);
      scan_.place(probe_);
      found_.clear();
      const bool finished = scan_.lags(1, length_, scan_.error() + probe_.value_error(length_),
                                       per_lag * half, [&](std::uint64_t k, double value) {
                                         found_.push_back({k, value});
                                         return found_.size() < most || window_ <= 16;
                                       });
      if (finished) break;
      window_ /= 2;
    }
    BaseRoot reached = to;
    for (const Hit& hit : found_) {
      // No need to follow it further than the shortest so far.
      const BaseRoot end = reach(hit.k, here_.at(hit.k), at, reached, 1, true);
      if (end > reached) {
        reached = end;
        blocked_ = hit;
      }
    }
    if (!blocked_ && found_.size() < most / 4) window_ += window_ / 2;
    return reached;
  }

  static constexpr double nearby = 1.0;

  std::uint64_t length_;
  Point here_;
  Point probe_;
  Scan scan_;
  BaseRoot window_ = 0;
  BaseRoot crossed_ = 0;
  std::vector<Hit> near_;
  std::vector<Hit> found_;
  std::vector<Hit> promising_;
  std::optional<Hit> blocked_;
};

// ---------------------------------------------------------------------------------------------
// From roots to bases and back

using I = Interval<40>;

Rational root_value(const Rational& units) { return units / Rational(Integer(1) << 63); }
Rational root_value(BaseRoot root) { return root_value(Rational(Integer(root))); }

// q^(-d/2)
I base_at(const Rational& q, unsigned planes) {
  I power(1);
  const I factor(q);
  for (unsigned i = 0; i < planes; ++i) power *= factor;
  return I(1) / power;
}

// b^(-2/d)
template <class S>
S ratio_of(const Rational& base, unsigned planes) {
  return exp(S(-log(S(base)) / S(static_cast<int>(planes))));
}

// B_k at a root, given exactly.
template <class S>
S sum_at(const S& q, unsigned planes, std::uint64_t k) {
  S sum(0);
  S power{Rational(Integer(k))};
  for (unsigned i = 0; i < planes; ++i) {
    sum += cos(power);
    power *= q;
  }
  return sum;
}

template <class S>
S sum_at_base(const Rational& base, unsigned planes, std::uint64_t k) {
  return base == 1 ? S(static_cast<int>(planes)) * cos(S(Rational(Integer(k))))
                   : sum_at<S>(ratio_of<S>(base, planes), planes, k);
}

// The grid root at or above (`up`) or below q = b^(-2/d).
BaseRoot root_of(const Rational& base, unsigned planes, bool up) {
  if (base == 1) return whole;
  const Enclosure q = enclosure(ratio_of<I>(base, planes));
  const Rational scale(Integer(1) << 63);
  const Integer n =
      up ? theory::ceil(Rational(q.hi * scale)) : theory::floor(Rational(q.lo * scale));
  const auto root = static_cast<BaseRoot>(n);
  return std::min(root, whole);
}

// Cuts a hole where one sum alone passes through zero down to a relative width of 1e-28 in q: signs
// of that sum at 40 digits, halving.
Enclosure refined(const Hole& hole, unsigned planes) {
  Rational negative = root_value(hole.before);
  Rational positive = root_value(hole.after);
  if (hole.alone) {
    const Rational enough = positive / Rational(boost::multiprecision::pow(Integer(10), 28));
    while (negative - positive > enough) {
      const Rational middle = (negative + positive) / 2;
      const auto s = sign(sum_at<I>(I(middle), planes, hole.binding));
      if (!s || *s == 0) break;
      (*s < 0 ? negative : positive) = middle;
    }
  }
  return {enclosure(base_at(negative, planes)).lo, enclosure(base_at(positive, planes)).hi};
}

void check(unsigned dim, std::uint64_t length, const Rational& from) {
  if (dim < 2 || dim % 2 != 0)
    throw Error(ErrorCode::bad_value,
                "the dimension must be even and at least 2, not " + std::to_string(dim));
  if (dim > widest_dim)
    throw Error(ErrorCode::too_large, "the dimension is capped at " + std::to_string(widest_dim) +
                                          ", not " + std::to_string(dim));
  if (length < 1) throw Error(ErrorCode::bad_value, "the length must be at least 1");
  if (length > longest)
    throw Error(ErrorCode::too_large, "the length is capped at " + std::to_string(longest) +
                                          ", not " + std::to_string(length));
  if (from < 1) throw Error(ErrorCode::bad_value, "a base must be at least 1, not " + from.str());
}

const Rational& largest_base() {
  static const Rational largest(boost::multiprecision::pow(Integer(10), 18));
  return largest;
}

// Stretches short enough that many of them keep all threads busy, long enough that what one learns
// on the way pays.
std::vector<BaseRoot> cut(BaseRoot first, BaseRoot last, unsigned planes, std::uint64_t length) {
  const double logarithm = std::clamp(2000.0 / static_cast<double>(length), 1e-4, 1.0);
  const double factor = std::exp(-logarithm / planes);
  std::vector<BaseRoot> ends{first};
  while (ends.back() > last) {
    const auto next = static_cast<BaseRoot>(static_cast<double>(ends.back()) * factor);
    ends.push_back(std::max(last, std::min(next, ends.back() - 1)));
  }
  if (ends.size() == 1) ends.push_back(last);
  return ends;
}

struct Cover {
  std::vector<BasePiece> pieces;
  std::optional<Hole> hole;
};

Cover sweep(BaseRoot first, BaseRoot last, unsigned planes, std::uint64_t length, bool only_first,
            const BaseOptions& options, double share_from, double share_to) {
  const std::vector<BaseRoot> ends = cut(first, last, planes, length);
  const std::size_t count = ends.size() - 1;
  std::vector<Stretch> stretches(count);
  std::atomic<std::size_t> next = 0;
  std::atomic<std::size_t> end = count;  // stretches from here on are not needed
  std::atomic<std::size_t> done = 0;
  std::mutex reporting;
  const auto stopped = [&] {
    return options.stop != nullptr && options.stop->load(std::memory_order_relaxed);
  };
  const int workers = tbb::this_task_arena::max_concurrency();
  tbb::parallel_for(0, workers, [&](int) {
    Sweep worker(planes, length);
    while (true) {
      const std::size_t i = next++;
      if (i >= count || stopped()) return;
      if (i >= end) return;
      Stretch s = worker.run(ends[i], ends[i + 1], only_first,
                             [&] { return stopped() || i >= end.load(std::memory_order_relaxed); });
      if (only_first && s.hole) {
        std::size_t known = end;
        while (i + 1 < known && !end.compare_exchange_weak(known, i + 1)) {
        }
      }
      stretches[i] = std::move(s);
      const std::size_t finished = ++done;
      if (options.progress && finished % 16 == 0) {
        const std::scoped_lock lock(reporting);
        options.progress(share_from + (share_to - share_from) * static_cast<double>(finished) /
                                          static_cast<double>(count));
      }
    }
  });
  if (stopped()) throw Error(ErrorCode::undecided, "interrupted");
  Cover cover;
  for (std::size_t i = 0; i < std::min(count, end.load()); ++i) {
    for (const BasePiece& piece : stretches[i].pieces) append(cover.pieces, piece);
    if (!cover.hole && stretches[i].hole) cover.hole = stretches[i].hole;
  }
  return cover;
}

}  // namespace

std::optional<Enclosure> bases_of(const BasePiece& piece, unsigned dim) {
  const Enclosure small = enclosure(base_at(root_value(piece.first), dim / 2));
  const Enclosure large = enclosure(base_at(root_value(piece.last), dim / 2));
  if (piece.kind == PieceKind::undecided) return Enclosure{small.lo, large.hi};
  if (large.lo < small.hi) {
    if (piece.first == whole && piece.last == whole) return Enclosure(Rational(1));
    return std::nullopt;
  }
  return Enclosure{small.hi, large.lo};
}

Enclosure base_sum(const Rational& base, unsigned dim, std::uint64_t k) {
  check(dim, 1, base);
  return enclosure(sum_at_base<Interval<160>>(base, dim / 2, k));
}

std::optional<std::uint64_t> first_violation(const Rational& base, unsigned dim,
                                             std::uint64_t length) {
  check(dim, length, base);
  if (base > largest_base())
    throw Error(ErrorCode::too_large, "a base is capped at 1e18, not " + base.str());
  const unsigned planes = dim / 2;
  Point point(planes);
  point.place(root_of(base, planes, true));  // above the true root by less than two units
  Scan scan(planes);
  scan.place(point);
  std::optional<std::uint64_t> violated;
  scan.lags(1, length, 2 * scan.error(), 0, [&](std::uint64_t k, double) {
    const double value = point.at(k).value;
    const double error =
        point.value_error(k) + 2.1 * unit * static_cast<double>(k) * point.slope_per_lag();
    bool negative = value < -error;
    if (!negative && value <= error) {
      const auto s = theory::at_rising_precision(
          [&]<class S>() { return sign(sum_at_base<S>(base, planes, k)); });
      if (!s)
        throw Error(ErrorCode::undecided, "the sum at lag " + std::to_string(k) +
                                              " is not told from 0 at base " + base.str());
      negative = *s < 0;
    }
    if (negative) violated = k;
    return !negative;
  });
  return violated;
}

BaseSet base_set(const BaseQuestion& question, const BaseOptions& options) {
  check(question.dim, question.length, question.from);
  if (question.from >= largest_base())
    throw Error(ErrorCode::too_large, "bases are capped at 1e18");
  if (question.to && *question.to <= question.from)
    throw Error(ErrorCode::bad_value, "the largest base, " + question.to->str() +
                                          ", must exceed the smallest, " + question.from.str());
  if (question.to && *question.to > largest_base())
    throw Error(ErrorCode::too_large, "bases are capped at 1e18, not " + question.to->str());
  const unsigned planes = question.dim / 2;
  const bool bounded = question.to.has_value();
  const bool search = question.only_infimum || !bounded;

  BaseSet out;
  out.from = question.from;
  out.to = bounded ? *question.to : largest_base();
  const BaseRoot first = root_of(out.from, planes, true);
  Cover cover =
      sweep(first, root_of(out.to, planes, false), planes, question.length, search, options, 0, 1);
  const auto admissible = [](const BasePiece& p) { return p.kind == PieceKind::admissible; };
  auto start = std::find_if(cover.pieces.begin(), cover.pieces.end(), admissible);

  std::optional<Enclosure> found;
  if (start != cover.pieces.end()) {
    // Everything before the first piece that is not rejected is rejected.
    const auto open =
        std::find_if(cover.pieces.begin(), cover.pieces.end(),
                     [](const BasePiece& p) { return p.kind != PieceKind::rejected; });
    found = Enclosure{enclosure(base_at(root_value(open->first), planes)).lo,
                      enclosure(base_at(root_value(start->first), planes)).hi};
    if (cover.hole && cover.hole->binding != 0 && open->first == cover.hole->before) {
      out.binding = cover.hole->binding;
      found = refined(*cover.hole, planes);
    }
    if (found->lo <= out.from) {  // the range may begin inside an admissible piece
      found->lo = out.from;
      if (open == start) {
        found->hi = out.from;
        out.binding.reset();
      }
    }
    if (found->hi > out.to) found.reset();
  }
  out.infimum = found;

  if (!bounded && found) {
    out.to = std::min<Rational>(largest_base(), 2 * found->hi);
    if (question.only_infimum) {
      out.to = found->hi;
    } else {
      const BaseRoot from = start->first;
      cover.pieces.erase(start, cover.pieces.end());
      const Cover rest = sweep(from, root_of(out.to, planes, false), planes, question.length, false,
                               options, 0, 1);
      for (const BasePiece& piece : rest.pieces) append(cover.pieces, piece);
    }
  } else if (bounded && question.only_infimum && found) {
    out.to = found->hi;
  }

  for (const BasePiece& piece : cover.pieces) {
    if (piece.kind == PieceKind::rejected) {
      ++out.rejected;
      continue;
    }
    auto bases = bases_of(piece, question.dim);
    if (!bases) continue;
    bases->lo = std::max(bases->lo, out.from);
    bases->hi = std::min(bases->hi, out.to);
    if (bases->lo > bases->hi) continue;
    (piece.kind == PieceKind::admissible ? out.admissible : out.undecided)
        .push_back(std::move(*bases));
  }
  out.pieces = std::move(cover.pieces);
  return out;
}

}  // namespace ropewalk::proofs_numeric
