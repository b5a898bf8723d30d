#include "proofs_numeric/softmax_scale.hpp"

#include <algorithm>
#include <cmath>

#include "proofs_numeric/exponential.hpp"
#include "proofs_numeric/turns.hpp"

namespace ropewalk::proofs_numeric {

using theory::Interval;

namespace {

constexpr double unit = 0x1p-53;
constexpr double largest_beta = 1e15;

Rational error_of_sum(double sum, std::size_t terms) {
  return Rational(unit) * Rational(terms) * (80 + 2 * Rational(sum));
}

}  // namespace

std::optional<Enclosure> guaranteed_scale(const Enclosure& margin, const Lag& length,
                                          const Integer& correct, const Rational& epsilon) {
  if (epsilon <= 0 || epsilon >= 1)
    throw Error(ErrorCode::bad_value,
                "epsilon must lie strictly between 0 and 1, not " + epsilon.str());
  if (correct < 1 || correct >= length)
    throw Error(ErrorCode::bad_value, "the number of correct keys must lie in 1..n-1");
  if (margin.lo <= 0) return std::nullopt;
  const Rational odds = Rational(length - correct) * (1 - epsilon) / (Rational(correct) * epsilon);
  if (odds <= 1) return Enclosure(Rational(0));
  using I = Interval<40>;
  return enclosure(I(log(I(odds)) / I(margin.lo, margin.hi)));
}

PlaneLosses::PlaneLosses(const Formula& theta, std::uint32_t length) {
  if (length < 1) throw Error(ErrorCode::bad_value, "the length must be at least 1, not 0");
  if (length > (1U << 24))
    throw Error(ErrorCode::too_large,
                "the exact softmax scale is computed for lengths up to 16777216");
  const FixedTurns alpha = fixed_turns(theta);
  losses_.reserve(length);
  FixedTurns phase = 0;
  for (std::uint32_t s = 0; s < length; ++s, phase += alpha)
    losses_.push_back(one_minus_cosine(phase));
}

Enclosure PlaneLosses::largest_sum(double beta, Offsets offsets) const {
  const std::size_t n = losses_.size();
  std::vector<double> prefix(n);
  double sum = 0.0;
  for (std::size_t s = 0; s < n; ++s) {
    sum += exp_minus(beta * losses_[s]);
    prefix[s] = sum;
  }
  double largest = 0.0;
  const std::size_t last = std::min<std::size_t>(offsets.last, n - 1);
  for (std::size_t m = offsets.first; m <= last; ++m)
    largest = std::max(largest, prefix[m] + prefix[n - 1 - m] - 1.0);
  const Rational error = 2 * error_of_sum(largest, n);
  return {Rational(largest) - error, Rational(largest) + error};
}

std::optional<Enclosure> PlaneLosses::smallest_scale(const Rational& most, Offsets offsets) const {
  // The demand is met where excess(beta) = ln((S - 1)/(most - 1)) <= 0, nearly linear in beta:
  // false position finds the root in a few passes, and the bracket is what the error bounds confirm
  // on either side of it.
  const auto demand = Rational(most - 1).convert_to<double>();
  struct Point {
    double beta;
    double excess;
    Enclosure sum;
  };
  const auto at = [&](double beta) {
    const Enclosure s = largest_sum(beta, offsets);
    const auto middle = Rational(s.middle() - 1).convert_to<double>();
    return Point{beta, std::log(std::max(middle, 1e-300) / demand), s};
  };
  const auto met = [&](const Point& p) { return p.sum.hi <= most; };
  const auto missed = [&](const Point& p) { return p.sum.lo > most; };

  Point low = at(0.0);
  if (met(low)) return Enclosure(Rational(0));
  Point high = at(1.0);
  while (!met(high)) {
    if (missed(high)) low = high;
    high = at(high.beta * 4.0);
    if (high.beta > largest_beta) return std::nullopt;
  }
  // Invariant: low is surely missed (or 0), high surely met.
  for (int pass = 0; pass < 100 && high.beta - low.beta > 1e-13 * high.beta; ++pass) {
    double guess = low.beta + (high.beta - low.beta) * low.excess / (low.excess - high.excess);
    if (pass % 3 == 2 || !(guess > low.beta && guess < high.beta))
      guess = low.beta + (high.beta - low.beta) / 2;
    const Point p = at(guess);
    if (met(p)) {
      high = p;
    } else if (missed(p)) {
      low = p;
    } else {
      // Inside the error bound: step out on both sides until it is sure.
      for (double step = 1e-13 * guess; low.beta < guess - step; step *= 2)
        if (const Point q = at(guess - step); missed(q)) {
          low = q;
          break;
        }
      for (double step = 1e-13 * guess; guess + step < high.beta; step *= 2)
        if (const Point q = at(guess + step); met(q)) {
          high = q;
          break;
        }
      break;
    }
  }
  return Enclosure(Rational(low.beta), Rational(high.beta));
}

std::optional<Enclosure> smallest_index_scale(const Formula& theta, std::uint32_t length) {
  if (length < 2) throw Error(ErrorCode::bad_value, "the length must be at least 2");
  const PlaneLosses losses(theta, length);
  const auto integers = losses.smallest_scale(2, {1, length - 1});
  const auto letters = losses.smallest_scale(4, {0, 0});
  if (!integers || !letters) return std::nullopt;
  return Enclosure(std::max(integers->lo, letters->lo), std::max(integers->hi, letters->hi));
}

}  // namespace ropewalk::proofs_numeric
