// Lower bounds of sums of weight * (1 - cos), in integers. Angles are fixed-point turns that wrap
// by themselves: a quarter turn is 2^126 of 2^128, and frequency times lag loses nothing but the
// frequency's own error times the lag.
#pragma once

#include <cstdint>
#include <vector>

#include "number.hpp"

namespace checker {

/// An angle in radians as turns modulo 1, in units of 2^-bits: the true value is in [result, result
/// + 2). Open if the ball is too wide.
mpz_class wrap_turns(const Value& angle, const mpq_class& plus_turns, long bits);

class Planes {
 public:
  /// Sums are compared with `need`, all weights adding up to 1.
  explicit Planes(const Ball& need);
  /// turns and phase in 2^-128 turns; speed in 2^-64 turns, rounded up.
  void add(const mpz_class& turns, const mpz_class& phase, const mpz_class& speed,
           const mpq_class& weight);
  void sort(bool slow_first);
  /// Whether the sum surely exceeds `need` at the angles turns * t + phase, each off by up to speed
  /// * radius. |t| < 2^62.
  bool exceed(std::int64_t t, std::uint64_t radius) const;

 private:
  struct Plane {
    unsigned __int128 turns, phase;
    std::uint64_t speed, weight;
  };
  std::vector<Plane> planes_;
  bool always_;
  std::uint64_t need_;
};

}  // namespace checker
