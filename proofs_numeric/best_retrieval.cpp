#include "proofs_numeric/best_retrieval.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "proofs_numeric/game.hpp"
#include "proofs_numeric/horizon_kernel.hpp"

namespace ropewalk::proofs_numeric {

using theory::TrigSum;
using Interval = theory::Interval<40>;

namespace {

constexpr std::size_t most_planes = 4096;
constexpr std::int64_t largest_alphabet = 1000000;

void check_table(const std::vector<Formula>& frequencies, const Integer& alphabet,
                 std::int64_t reach) {
  if (frequencies.empty()) throw Error(ErrorCode::bad_value, "a head needs at least one plane");
  if (frequencies.size() > most_planes)
    throw Error(ErrorCode::bad_value, std::to_string(frequencies.size()) +
                                          " planes are more than the 4096 that are handled");
  if (alphabet < 2)
    throw Error(ErrorCode::bad_value,
                "the alphabet needs at least 2 letters, not " + alphabet.str());
  if (alphabet > largest_alphabet)
    throw Error(ErrorCode::too_large, "an alphabet of " + alphabet.str() +
                                          " letters is beyond the 1000000 that are handled");
  if (reach < 1)
    throw Error(ErrorCode::bad_value, "the reach must be at least 1, not " + std::to_string(reach));
  if (reach >= longest_retrieval)
    throw Error(ErrorCode::too_large, "a reach of " + std::to_string(reach) +
                                          " is beyond the 16777215 of Retrieval heads");
}

void check_code(RetrievalCode code) {
  if (code == RetrievalCode::orthogonal)
    throw Error(ErrorCode::bad_value, "an orthogonal head has no amplitudes: a plane per letter");
}

// Twice the phase c_f in units of theta_f.
std::int64_t shift(std::int64_t reach, RetrievalCode code) {
  return code == RetrievalCode::centred ? reach : 0;
}

// The lags of least value (or, with the sign turned, of largest), `most` local ones.
std::vector<std::int64_t> valleys(const std::vector<double>& values, double sign,
                                  std::size_t most) {
  std::vector<std::int64_t> result;
  const auto below = [&](std::int64_t x, std::int64_t y) {
    const double a = sign * values[static_cast<std::size_t>(x)];
    const double b = sign * values[static_cast<std::size_t>(y)];
    return a != b ? a < b : x < y;
  };
  const auto prune = [&] {
    if (result.size() <= most) return;
    std::nth_element(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(most),
                     result.end(), below);
    result.resize(most);
  };
  for (std::size_t t = 0; t < values.size(); ++t) {
    const double here = sign * values[t];
    if (t > 0 && sign * values[t - 1] < here) continue;
    if (t + 1 < values.size() && sign * values[t + 1] < here) continue;
    result.push_back(static_cast<std::int64_t>(t));
    if (result.size() > 4 * most + 64) prune();
  }
  prune();
  std::sort(result.begin(), result.end(), below);
  return result;
}

// The two lags of least value: every least difference over distinct lags uses one of them.
std::array<std::int64_t, 2> two_least(const std::vector<double>& values, double sign) {
  std::array<std::int64_t, 2> best{0, 1};
  if (sign * values[1] < sign * values[0]) std::swap(best[0], best[1]);
  for (std::size_t t = 2; t < values.size(); ++t) {
    const double here = sign * values[t];
    if (here >= sign * values[static_cast<std::size_t>(best[1])]) continue;
    best[1] = static_cast<std::int64_t>(t);
    if (here < sign * values[static_cast<std::size_t>(best[0])]) std::swap(best[0], best[1]);
  }
  return best;
}

double least_difference(const Landscape& seen) {
  double least = 4;
  for (const std::int64_t t : two_least(seen.match, 1))
    for (const std::int64_t u : two_least(seen.rival, -1))
      if (t != u)
        least = std::min(least, seen.match[static_cast<std::size_t>(t)] -
                                    seen.rival[static_cast<std::size_t>(u)]);
  return least;
}

struct Complex {
  Interval re;
  Interval im;
};

Complex exact_value(const std::vector<Rational>& amplitudes,
                    const std::vector<Formula>& frequencies, const Rational& lag) {
  Complex z;
  for (std::size_t f = 0; f < amplitudes.size(); ++f) {
    if (amplitudes[f] == 0) continue;
    const auto [c, s] = rotation<Interval>(frequencies[f], lag);
    z.re += Interval(amplitudes[f]) * c;
    z.im += Interval(amplitudes[f]) * s;
  }
  return z;
}

// cos(k omega + x) from the rotation by x.
template <class I>
I turned_by(const I& c, const I& s, const Integer& letter, const Integer& alphabet) {
  const Rational turns(letter, alphabet);
  return theory::cosine_of_turns<I>(turns) * c -
         theory::cosine_of_turns<I>(Rational(turns - Rational(1, 4))) * s;
}

}  // namespace

Letters::Letters(std::int64_t alphabet) {
  for (std::int64_t k = 0; k < alphabet; ++k) {
    // k/A of a turn, rounded down in 2^-64 turns: off by 2 pi 2^-64, below u
    const FixedTurns angle =
        ((static_cast<FixedTurns>(k) << 64) / static_cast<FixedTurns>(alphabet)) << 64;
    turns_.emplace_back(cosine(angle), sine(angle));
  }
}

Strongest Letters::strongest(std::complex<double> z) const {
  constexpr double turn = 6.283185307179586;
  const auto alphabet = static_cast<std::int64_t>(turns_.size());
  const auto nearest = static_cast<std::int64_t>(
      std::llround(-std::atan2(z.imag(), z.real()) / turn * static_cast<double>(alphabet)));
  Strongest best{-std::numeric_limits<double>::infinity(), 1};
  for (std::int64_t k = nearest - 1; k <= nearest + 1; ++k) {
    const std::int64_t letter = ((k % alphabet) + alphabet) % alphabet;
    if (letter == 0) continue;
    const std::complex<double>& t = turns_[static_cast<std::size_t>(letter)];
    const double logit = z.real() * t.real() - z.imag() * t.imag();
    if (logit > best.logit) best = {logit, letter};
  }
  return best;
}

std::vector<FixedTurns> phases(const std::vector<Formula>& frequencies, std::int64_t reach,
                               RetrievalCode code) {
  std::vector<FixedTurns> result(frequencies.size());
  if (code == RetrievalCode::centred)
    for (std::size_t f = 0; f < frequencies.size(); ++f)
      result[f] = fixed_turns(frequencies[f] / Formula(2)) * static_cast<FixedTurns>(reach);
  return result;
}

Landscape landscape(const std::vector<double>& amplitudes, const Waves& waves,
                    const std::vector<Formula>& frequencies, const Letters& letters,
                    std::int64_t reach, RetrievalCode code, const std::atomic<bool>* stop) {
  const std::vector<FixedTurns> turned = phases(frequencies, reach, code);
  std::vector<Amplitude> head;
  for (std::size_t f = 0; f < amplitudes.size(); ++f)
    head.push_back(amplitudes[f] * Amplitude(cosine(turned[f]), -sine(turned[f])));
  const auto count = static_cast<std::size_t>(reach) + 1;
  Landscape result;
  result.match.resize(count);
  result.rival.resize(count);
  result.letter.resize(count);
  // Z as Waves; the strongest letter of the computed Z is off by no more than Z is, and 70u.
  result.error = 2 * Waves::error(head) + 70 * unit_roundoff;
  const auto size = static_cast<std::size_t>(Waves::panel);
  tbb::parallel_for(std::size_t{0}, (count + size - 1) / size, [&](std::size_t p) {
    if (stop != nullptr && stop->load()) return;
    const std::size_t at = p * size;
    const std::size_t some = std::min(size, count - at);
    std::vector<double> im(some);
    const std::span<double> re(result.match.data() + at, some);
    waves.sum(head, static_cast<std::int64_t>(at), re, im);
    for (std::size_t k = 0; k < some; ++k) {
      const Strongest s = letters.strongest({re[k], im[k]});
      result.rival[at + k] = s.logit;
      result.letter[at + k] = static_cast<std::int32_t>(s.letter);
    }
  });
  stop_if(stop);
  return result;
}

void check_retrieval(const std::vector<Rational>& amplitudes,
                     const std::vector<Formula>& frequencies, const Integer& alphabet,
                     std::int64_t reach, RetrievalCode code) {
  check_table(frequencies, alphabet, reach);
  check_code(code);
  if (amplitudes.size() != frequencies.size())
    throw Error(ErrorCode::bad_value, std::to_string(amplitudes.size()) + " amplitudes for " +
                                          std::to_string(frequencies.size()) + " planes");
  Rational sum;
  for (const Rational& a : amplitudes) {
    if (a < 0) throw Error(ErrorCode::bad_value, "the amplitude " + a.str() + " is negative");
    sum += a;
  }
  if (sum != 1)
    throw Error(ErrorCode::bad_value, "the amplitudes add up to " + sum.str() + ", not 1");
}

Enclosure retrieval_margin_of(const std::vector<Rational>& amplitudes,
                              const std::vector<Formula>& frequencies, const Integer& alphabet,
                              std::int64_t reach, RetrievalCode code, std::atomic<bool>* stop) {
  check_retrieval(amplitudes, frequencies, alphabet, reach, code);
  bool still = true;  // every lag looks the same
  std::vector<double> shares;
  for (std::size_t f = 0; f < amplitudes.size(); ++f) {
    shares.push_back(amplitudes[f].convert_to<double>());
    if (amplitudes[f] != 0) still = still && frequencies[f].rational() == Rational(0);
  }
  if (still) reach = 1;
  const auto count = static_cast<std::int64_t>(alphabet);
  const Letters letters(count);
  const Landscape seen =
      landscape(shares, Waves(frequencies), frequencies, letters, reach, code, stop);
  const double value = least_difference(seen);
  const Rational off = 2 * Rational(seen.error) + Rational(4 * unit_roundoff);
  Enclosure result(Rational(value) - off, Rational(value) + off);

  // What may still be part of the least difference, at 40 digits.
  constexpr std::size_t most = 256;
  const double match_bar =
      seen.match[static_cast<std::size_t>(two_least(seen.match, 1)[1])] + 2 * seen.error;
  const double rival_bar =
      seen.rival[static_cast<std::size_t>(two_least(seen.rival, -1)[1])] - 2 * seen.error;
  std::vector<std::pair<std::int64_t, Enclosure>> matches;
  std::vector<std::pair<std::int64_t, Enclosure>> rivals;
  const Rational centre(shift(reach, code), 2);
  for (std::int64_t t = 0; t <= reach; ++t) {
    const auto at = static_cast<std::size_t>(t);
    if (seen.match[at] <= match_bar) {
      if (matches.size() == most) return result;
      matches.emplace_back(
          t, enclosure(exact_value(amplitudes, frequencies, Rational(t) - centre).re));
    }
    if (seen.rival[at] >= rival_bar) {
      if (rivals.size() == most) return result;
      const Complex z = exact_value(amplitudes, frequencies, Rational(t) - centre);
      const Enclosure re = enclosure(z.re);
      const Enclosure im = enclosure(z.im);
      const std::int64_t near =
          letters.strongest({re.middle().convert_to<double>(), im.middle().convert_to<double>()})
              .letter;
      // The strongest letter of Z in doubles, and its neighbours, include that of a point within
      // the enclosure; for any other point the maximum differs by no more than the point does.
      Enclosure best(-2, -2);
      for (std::int64_t k = near - 1; k <= near + 1; ++k) {
        const std::int64_t letter = ((k % count) + count) % count;
        if (letter == 0) continue;
        const Enclosure logit = enclosure(turned_by(z.re, z.im, Integer(letter), alphabet));
        best.lo = std::max(best.lo, logit.lo);
        best.hi = std::max(best.hi, logit.hi);
      }
      best.hi += 2 * (re.hi - re.lo + im.hi - im.lo);
      rivals.emplace_back(t, best);
    }
  }
  std::optional<Enclosure> least;
  for (const auto& [t, match] : matches)
    for (const auto& [u, rival] : rivals) {
      if (t == u) continue;
      const Enclosure difference(match.lo - rival.hi, match.hi - rival.lo);
      if (!least) {
        least = difference;
        continue;
      }
      least->lo = std::min(least->lo, difference.lo);
      least->hi = std::min(least->hi, difference.hi);
    }
  return least.value_or(result);
}

Enclosure encounter_bound(const std::vector<Formula>& frequencies, const Integer& alphabet,
                          std::int64_t reach, RetrievalCode code,
                          const std::vector<EncounterWeight>& mixture, const Rational& index) {
  check_table(frequencies, alphabet, reach);
  check_code(code);
  Rational sum;
  for (const EncounterWeight& m : mixture) {
    const auto& [t, u, k] = m.pair;
    if (t < 0 || t > reach || u < 0 || u > reach || t == u || k < (index > 0 ? 0 : 1) ||
        Integer(k) >= alphabet)
      throw Error(ErrorCode::bad_value, "no match at lag " + std::to_string(t) + " meets letter " +
                                            std::to_string(k) + " at lag " + std::to_string(u));
    if (m.weight < 0)
      throw Error(ErrorCode::bad_value, "an encounter has the weight " + m.weight.str());
    sum += m.weight;
  }
  if (sum != 1)
    throw Error(ErrorCode::bad_value,
                "the weights of the encounters add up to " + sum.str() + ", not 1");
  const Rational centre(shift(reach, code), 2);
  std::vector<Enclosure> values(frequencies.size());
  tbb::parallel_for(std::size_t{0}, frequencies.size(), [&](std::size_t f) {
    Interval value;
    for (const EncounterWeight& m : mixture) {
      if (m.pair.letter == 0) {
        const Interval half =
            rotation<Interval>(frequencies[f], Rational(m.pair.distractor, 2)).second;
        value += Interval(Rational(2 * m.weight / index)) * half * half;
        continue;
      }
      const auto match = rotation<Interval>(frequencies[f], Rational(m.pair.match) - centre);
      const auto rival = rotation<Interval>(frequencies[f], Rational(m.pair.distractor) - centre);
      value +=
          Interval(Rational(m.weight / (1 - index))) *
          (match.first - turned_by(rival.first, rival.second, Integer(m.pair.letter), alphabet));
    }
    values[f] = enclosure(value);
  });
  Enclosure result = values.front();
  for (const Enclosure& e : values) {
    result.lo = std::max(result.lo, e.lo);
    result.hi = std::max(result.hi, e.hi);
  }
  return result;
}

namespace {

// The matrix game on the encounters known so far.
class EncounterGame : public Game {
 public:
  EncounterGame(const std::vector<Formula>& frequencies, std::int64_t alphabet, std::int64_t reach,
                RetrievalCode code, double index)
      : Game(frequencies.size()),
        alphabet_(alphabet),
        index_(index),
        phases_(phases(frequencies, reach, code)) {
    for (std::size_t f = 0; f < frequencies.size(); ++f) {
      turns_.push_back(fixed_turns(frequencies[f]));
      add_column(f, 1, 0);
    }
  }

  bool add(const Encounter& e) {
    if (!known_.insert({e.match, e.distractor, e.letter}).second) return false;
    encounters_.push_back(e);
    const FixedTurns round =
        ((static_cast<FixedTurns>(e.letter) << 64) / static_cast<FixedTurns>(alphabet_)) << 64;
    std::vector<double> pays;
    for (std::size_t f = 0; f < turns_.size(); ++f) {
      const FixedTurns off = turns_[f] * static_cast<FixedTurns>(e.distractor);
      pays.push_back(
          e.letter == 0
              ? one_minus_cosine(off) / index_
              : (one_minus_cosine(round + off - phases_[f]) -
                 one_minus_cosine(turns_[f] * static_cast<FixedTurns>(e.match) - phases_[f])) /
                    (1 - index_));
    }
    add_row(pays, std::vector<double>(pays.size()));
    return true;
  }

  [[nodiscard]] std::vector<double> head() const {
    std::vector<double> result;
    for (const auto& [re, im] : amplitudes()) result.push_back(re);
    return result;
  }

  [[nodiscard]] std::vector<EncounterWeight> weighted(unsigned digits) const {
    const std::vector<Rational> weights = as_rationals(mixture(), digits);
    std::vector<EncounterWeight> result;
    for (std::size_t r = 0; r < weights.size(); ++r)
      if (weights[r] != 0) result.push_back({encounters_[r], weights[r]});
    std::sort(result.begin(), result.end(), [](const auto& x, const auto& y) {
      return std::tie(x.pair.match, x.pair.distractor, x.pair.letter) <
             std::tie(y.pair.match, y.pair.distractor, y.pair.letter);
    });
    return result;
  }

 private:
  std::int64_t alphabet_;
  double index_;
  std::vector<FixedTurns> phases_;
  std::vector<FixedTurns> turns_;
  std::vector<Encounter> encounters_;
  std::set<std::array<std::int64_t, 3>> known_;
};

// `index` is the weight of the Index margin; 0 asks of the Retrieval margin alone.
RetrievalHead play(const std::vector<Formula>& frequencies, const Integer& alphabet,
                   std::int64_t reach, RetrievalCode code, const Rational& index,
                   const OptimalOptions& options) {
  check_table(frequencies, alphabet, reach);
  check_code(code);
  const Letters letters(static_cast<std::int64_t>(alphabet));
  const Waves waves(frequencies);
  const double tolerance = std::max(options.relative_width.convert_to<double>(), 1e-12) / 10;
  const auto w = index.convert_to<double>();
  EncounterGame game(frequencies, static_cast<std::int64_t>(alphabet), reach, code, w);
  game.set_shift(2.5 / (1 - w));  // the margin may be negative, and -2
  bool shifted = true;
  const std::size_t planes = frequencies.size();

  // The encounters at which a head does worse than `bar`.
  const auto add_worst = [&](const std::vector<double>& head, double bar) {
    const Landscape seen = landscape(head, waves, frequencies, letters, reach, code, options.stop);
    const auto deep = [&](const std::vector<double>& values, double sign) {
      std::vector<std::int64_t> lags = valleys(values, sign, 24);
      for (const std::int64_t t : two_least(values, sign)) lags.push_back(t);
      return lags;
    };
    struct Found {
      double value;
      std::int64_t t;
      std::int64_t u;
    };
    std::vector<Found> found;
    const auto rivals = deep(seen.rival, -1);
    for (const std::int64_t t : deep(seen.match, 1))
      for (const std::int64_t u : rivals) {
        const double value =
            (seen.match[static_cast<std::size_t>(t)] - seen.rival[static_cast<std::size_t>(u)]) /
            (1 - w);
        if (t != u && value < bar) found.push_back({value, t, u});
      }
    std::sort(found.begin(), found.end(), [](const Found& x, const Found& y) {
      return std::tie(x.value, x.t, x.u) < std::tie(y.value, y.t, y.u);
    });
    if (found.size() > 2 * planes + 32) found.resize(2 * planes + 32);
    bool added = false;
    for (const Found& e : found)
      added = game.add({e.t, e.u, seen.letter[static_cast<std::size_t>(e.u)]}) || added;
    if (w == 0) return added;
    // The Index loss at lag s is 1 less the logit of a plain match there.
    std::vector<double> kept = code == RetrievalCode::plain
                                   ? seen.match
                                   : landscape(head, waves, frequencies, letters, reach,
                                               RetrievalCode::plain, options.stop)
                                         .match;
    kept.front() = -2;  // the target itself
    std::vector<std::int64_t> lags = valleys(kept, -1, 2 * planes + 32);
    for (const std::int64_t s : lags)
      if (s > 0 && (1 - kept[static_cast<std::size_t>(s)]) / w < bar)
        added = game.add({0, s, 0}) || added;
    return added;
  };

  const auto margin_of = [&](const std::vector<Rational>& amplitudes) {
    const Enclosure own =
        retrieval_margin_of(amplitudes, frequencies, alphabet, reach, code, options.stop);
    if (index == 0) return own.lo;
    ExtremumOptions ask;
    ask.stop = options.stop;
    const Enclosure kept =
        minimum(theory::aligned_loss(amplitudes, frequencies), {1, reach, {}}, ask).extremum.value;
    return std::min(Rational(kept.lo / index), Rational(own.lo / (1 - index)));
  };

  RetrievalHead result;
  result.optimum = {Rational(-2 / (1 - index)), Rational(2 / (1 - index))};
  add_worst(std::vector<double>(planes, 1.0 / static_cast<double>(planes)), 1e9);
  for (;;) {
    stop_if(options.stop);
    if (result.iterations == options.rounds || !game.solve()) break;
    ++result.iterations;
    if (options.progress) options.progress(result.iterations);
    const double value = game.value();
    if (add_worst(game.head(), value - std::max(tolerance * std::abs(value), 1e-14))) continue;

    const unsigned digits = places(std::abs(value));
    std::vector<EncounterWeight> dual = game.weighted(digits);
    if (const Enclosure bound = encounter_bound(frequencies, alphabet, reach, code, dual, index);
        result.dual.empty() || bound.hi < result.optimum.hi) {
      result.optimum.hi = bound.hi;
      result.dual = std::move(dual);
    }
    std::vector<Rational> amplitudes = as_rationals(game.head(), digits);
    if (const Rational margin = margin_of(amplitudes);
        result.amplitudes.empty() || margin > result.optimum.lo) {
      result.optimum.lo = margin;
      result.amplitudes = std::move(amplitudes);
    }
    if (result.optimum.hi - result.optimum.lo <= options.relative_width * abs(result.optimum.lo))
      break;
    if (!shifted || value < 1e-12) break;
    game.set_shift(0);  // a small positive margin, now with relative accuracy
    shifted = false;
  }
  if (result.amplitudes.empty()) {  // out of rounds
    result.amplitudes = equal_amplitudes(planes);
    result.optimum.lo = margin_of(result.amplitudes);
    result.dual = {{{0, 1, 1}, Rational(1)}};
    result.optimum.hi = encounter_bound(frequencies, alphabet, reach, code, result.dual, index).hi;
  }
  return result;
}

}  // namespace

RetrievalHead best_retrieval(const std::vector<Formula>& frequencies, const Integer& alphabet,
                             std::int64_t reach, RetrievalCode code,
                             const OptimalOptions& options) {
  return play(frequencies, alphabet, reach, code, 0, options);
}

RetrievalHead best_for_both(const std::vector<Formula>& frequencies, const Integer& alphabet,
                            std::int64_t reach, RetrievalCode code, const Rational& weight,
                            const OptimalOptions& options) {
  if (weight <= 0 || weight >= 1)
    throw Error(ErrorCode::bad_value,
                "the weight must lie strictly between 0 and 1, not " + weight.str());
  return play(frequencies, alphabet, reach, code, weight, options);
}

TrigSum centred_logit(const Formula& theta, std::int64_t reach) {
  TrigSum sum;
  sum.terms.push_back({Rational(1), theta, -theta * Formula(Rational(reach, 2))});
  return sum;
}

OrthogonalHead orthogonal_retrieval(const std::vector<Formula>& frequencies,
                                    const Integer& alphabet, std::int64_t reach) {
  check_table(frequencies, alphabet, reach);
  if (alphabet > Integer(frequencies.size()))
    throw Error(ErrorCode::bad_value,
                "orthogonal codes need a plane per letter: " + alphabet.str() + " letters, " +
                    std::to_string(frequencies.size()) + " planes");
  OrthogonalHead result;
  result.planes.resize(frequencies.size());
  std::iota(result.planes.begin(), result.planes.end(), std::size_t{0});
  std::stable_sort(result.planes.begin(), result.planes.end(), [&](std::size_t f, std::size_t g) {
    const auto order = compare(frequencies[f], frequencies[g]);
    return order && *order < 0;
  });
  result.planes.resize(static_cast<std::size_t>(alphabet));
  std::sort(result.planes.begin(), result.planes.end());
  std::optional<Enclosure> least;
  for (const std::size_t f : result.planes) {
    const Formula& theta = frequencies[f];
    const Enclosure value =
        minimum(centred_logit(theta, reach), LagRange{0, reach, {}}).extremum.value;
    if (!least) {
      least = value;
      continue;
    }
    least->lo = std::min(least->lo, value.lo);
    least->hi = std::min(least->hi, value.hi);
  }
  result.margin = *least;
  result.optimal = result.margin.lo > 0;
  for (const Formula& theta : frequencies) {
    const auto low = sign(theta);
    const auto high = compare(theta, Formula::pi());
    result.optimal = result.optimal && low && *low >= 0 && high && *high <= 0;
  }
  return result;
}

}  // namespace ropewalk::proofs_numeric
