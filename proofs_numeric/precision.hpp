#pragma once
/// \file
/// What rounding does to a rotary table (R8): the largest error of its cosines and sines over all
/// lags 1..L and planes, and the last position that the table still tells from all before it.
///
/// A *pipeline* is how a table comes about, as four number formats. Row t of plane f is
///     angle  x = round_angles(round_inv_freq(w_f) * round_positions(t)),
///     entry  c = round_table(round_angles(round_angles(cos x) * attention factor)),
/// with w_f the float32 inv_freq of transformers (the nearest double where inv_freq is fp64), every
/// rounding to nearest, ties to even, and the cosine taken in the format of the angle, as array
/// libraries do. That the library's cosine is the correctly rounded one is the model's assumption
/// (a good library is off by one unit more); what is said of the model is proven. The error is
/// measured against A cos(theta_f t), with A and theta_f the formulas of the schedule.
///
/// By hand: bf16 has 8 significant bits, so position 257 rounds to 256 and both get the same row:
/// positions are distinct until 256. An fp16 angle of 65,520 rounds to infinity: on a plane of
/// frequency 1 the table is finite until lag 65,519.
///
/// What it means for logits: with the rows within e of the exact points, a logit of a query and a
/// key rotated by two rows is off by at most (2 A e + e^2) times the sum over planes of
/// |query_f| |key_f|, in exact arithmetic, and hard attention stays right where twice that is
/// below the margin (R8.argmax).

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "proofs_numeric/certificate.hpp"
#include "theory/enclosure.hpp"
#include "theory/schedule.hpp"

namespace ropewalk::proofs_numeric {

/// A binary floating-point format: numbers n 2^e with |n| < 2^precision, from the step of the
/// subnormals, 2^least, to below 2^limit; beyond that infinity. Every one of them is a double.
struct Format {
  std::string_view name;
  int precision;  ///< significant bits, the hidden one included
  int least;
  int limit;

  friend bool operator==(const Format&, const Format&) = default;
};
inline constexpr Format fp64{"fp64", 53, -1074, 1024};
inline constexpr Format fp32{"fp32", 24, -149, 128};
inline constexpr Format tf32{"tf32", 11, -136, 128};
inline constexpr Format bf16{"bf16", 8, -133, 128};
inline constexpr Format fp16{"fp16", 11, -24, 16};

/// The number of the format nearest to x, ties to even; infinity and NaN stay what they are. Exact.
[[nodiscard]] double nearest(double x, const Format& format);
/// The number nearest to the exact product, likewise: rounded once, and infinity times 0 is NaN.
/// Exact.
[[nodiscard]] double nearest_product(double x, double y, const Format& format);
/// The numbers nearest to cos x and sin x: x radians, finite. Exact. Cost: microseconds (MPFR).
[[nodiscard]] double nearest_cosine(double x, const Format& format);
[[nodiscard]] double nearest_sine(double x, const Format& format);

struct Pipeline {
  std::string_view name;
  std::string_view description;
  Format inv_freq;
  Format positions;
  Format angles;  ///< and of the cosine before it is stored
  Format table;
};

/// The pipelines that are met in practice, fp64 and fp32 first.
[[nodiscard]] std::span<const Pipeline> pipelines();

inline constexpr std::int64_t longest_table = std::int64_t{1} << 24;

/// A lag at which the error is larger than at every smaller one, and the plane (from 0) where.
struct TableError {
  std::int64_t lag = 0;
  std::size_t plane = 0;
  theory::Enclosure error;
};

/// Errors over the lags 1..min(length, not_finite - 1). Each vector is a record staircase, so that
/// one audit answers every length up to its own: worst().
struct PrecisionAudit {
  std::int64_t length = 0;
  std::vector<TableError> cosine;
  std::vector<TableError> sine;
  std::vector<TableError> rotation;  ///< distance of (cos, sin) from the exact point
  /// |x - theta t| in radians, whole turns counted, where it is largest of all.
  std::optional<TableError> angle;
  std::optional<std::int64_t> not_finite;  ///< first lag with an infinite or undefined entry

  /// The first position whose row, all planes, is that of an earlier one, and that one.
  struct Collision {
    std::int64_t earlier = 0;
    std::int64_t later = 0;
  };
  std::optional<Collision> collision;
  /// Positions 0..distinct_until have rows that all differ; the next one's does not, or is not
  /// finite, or (where this is `length`) was not looked at.
  [[nodiscard]] std::int64_t distinct_until() const;
};

/// The largest error over the lags 1..length: the last record up to there; nothing where no lag was
/// finite. The caller looks at `not_finite` first: beyond it there is no error size.
[[nodiscard]] const TableError* worst(const std::vector<TableError>& records, std::int64_t length);

struct PrecisionOptions {
  std::atomic<bool>* stop = nullptr;          ///< set it to interrupt: Error(undecided) is thrown
  std::function<void(double)> progress = {};  ///< called with the share done, in [0, 1]
};

/// The audit of lags 1..length and positions 0..length. Units: radians. Domain: 1..4096 planes,
/// length 1..2^24 (Error(bad_value), Error(too_large)). Guarantee: Enclosure, of relative width
/// below 1e-25 (absolute 1e-45 near 0); lags and planes are those where it is attained, the first
/// ones, but where 160 digits do not tell two apart (then the enclosure holds both); `not_finite`
/// and `collision` are Exact. All for the model at the top of this page. Cost: 10 ns per lag and
/// plane, 100 where the angle is so far off that the entry may set a record; parallel over lags;
/// deterministic. Source: R8.
[[nodiscard]] PrecisionAudit precision_audit(const theory::Schedule& schedule,
                                             const Pipeline& pipeline, std::int64_t length,
                                             const PrecisionOptions& options = {});

/// The margin above which hard attention of a head with sum |query_f| |key_f| <= 1 stays right with
/// rows that are within e of the exact points: 2 (2 A e + e^2), rounded up where A is irrational.
[[nodiscard]] theory::Rational safe_margin(const theory::Rational& e,
                                           const theory::Formula& attention_factor);
/// What proves the cosine errors of an audit of this schedule and pipeline, at every length up to
/// its own: the numbers that the table is made of, how far its inv_freq are from the exact
/// frequencies, and the record staircase of the entries (kind `rounding` of docs/certificates.md).
/// Nothing where no lag is finite. Cost: none.
[[nodiscard]] std::vector<Fact> precision_facts(const theory::Schedule& schedule,
                                                const Pipeline& pipeline,
                                                const PrecisionAudit& audit);

}  // namespace ropewalk::proofs_numeric
