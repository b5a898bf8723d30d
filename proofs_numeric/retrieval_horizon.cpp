#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "proofs_numeric/exponential.hpp"
#include "proofs_numeric/horizon.hpp"
#include "proofs_numeric/horizon_kernel.hpp"

namespace ropewalk::proofs_numeric {

void check_horizon(const std::vector<Formula>& frequencies, const HorizonQuestion& question) {
  constexpr std::size_t most_planes = 4096;
  if (frequencies.empty()) throw Error(ErrorCode::bad_value, "a head needs at least one plane");
  if (frequencies.size() > most_planes)
    throw Error(ErrorCode::bad_value, std::to_string(frequencies.size()) +
                                          " planes are more than the 4096 that are handled");
  if (question.scale <= 0)
    throw Error(ErrorCode::bad_value, "the scale must be positive, not " + question.scale.str());
  if (question.scale > 1000000)
    throw Error(ErrorCode::too_large, "scales up to 1000000 are handled, not more");
  if (question.mass <= 0 || question.mass >= 1)
    throw Error(ErrorCode::bad_value,
                "the mass must lie strictly between 0 and 1, not " + question.mass.str());
  if (question.reach < 1)
    throw Error(ErrorCode::bad_value,
                "the reach must be at least 1, not " + std::to_string(question.reach));
  if (question.reach > longest_horizon)
    throw Error(ErrorCode::too_large, "lengths up to " + std::to_string(longest_horizon) +
                                          " are looked at, not " + std::to_string(question.reach));
}

Enclosure enclosure_of(double sum, double error) {
  static const Rational tiny(Integer(1), boost::multiprecision::pow(Integer(10), 290));
  const Rational middle(sum);
  const Rational off = middle * Rational(error) + tiny;
  return {std::max(Rational(0), Rational(middle - off)), middle + off};
}

Enclosure mass_of(double sum, double error) {
  if (!std::isfinite(sum)) return {0, Rational(0x1p-900)};
  const Enclosure s = enclosure_of(sum, error);
  return {1 / (1 + s.hi), 1 / (1 + s.lo)};
}

Demand::Demand(const Rational& mass, double error) {
  const auto most = Rational(1 / mass - 1).convert_to<double>();
  met_ = most * (1 - error - 0x1p-50) - 1e-290;
  missed_ = most * (1 + 1.01 * error + 0x1p-50) + 1e-290;
}

namespace {

void check(const std::vector<Rational>& amplitudes, const std::vector<Formula>& frequencies,
           const RetrievalHorizonQuestion& question) {
  check_horizon(frequencies, question.common);
  if (question.code == RetrievalCode::orthogonal) {
    if (!amplitudes.empty())
      throw Error(ErrorCode::bad_value, "an orthogonal head has no amplitudes: a plane per letter");
    (void)orthogonal_retrieval(frequencies, question.alphabet, 1);
    return;
  }
  check_retrieval(amplitudes, frequencies, question.alphabet, 1, question.code);
}

// Sum over distractors of e^{logit - match}, for the worst match. Enclosure as two doubles, up to
// 10^-290.
struct Worst {
  double lo = 0;
  double hi = 0;
};

class Lengths {
 public:
  Lengths(const std::vector<Rational>& amplitudes, const std::vector<Formula>& frequencies,
          const RetrievalHorizonQuestion& question)
      : amplitudes_(&amplitudes),
        frequencies_(&frequencies),
        question_(&question),
        waves_(frequencies),
        letters_(static_cast<std::int64_t>(question.alphabet)),
        scale_(question.common.scale.convert_to<double>()) {
    for (const Rational& a : amplitudes) shares_.push_back(a.convert_to<double>());
  }

  [[nodiscard]] Worst worst(std::int64_t n) const {
    if (n == 1) return {};
    if (question_->code == RetrievalCode::orthogonal) return orthogonal(n);
    const Landscape seen = landscape(shares_, waves_, *frequencies_, letters_, n - 1,
                                     question_->code, question_->common.stop);
    const double top = *std::max_element(seen.rival.begin(), seen.rival.end());
    std::vector<double> terms;
    RunningSum sum;
    for (const double x : seen.rival) {
      terms.push_back(exp_minus(scale_ * (top - x)));
      sum.add(terms.back());
    }
    const double all = sum.value();
    // exponents off by twice the error of a logit and 8u of their size, at most 2 scale
    const double r =
        1.1 * (scale_ * (2 * seen.error + 16 * unit_roundoff) + (20 + 2200) * unit_roundoff);
    Worst result;
    for (std::size_t t = 0; t < terms.size(); ++t) {
      const double raise = exp_minus(scale_ * (seen.match[t] - top));
      const double most = (all * (1 + r) - terms[t] * (1 - r)) * (1 + 2 * r);
      const double least = std::max(0.0, all * (1 - r) - terms[t] * (1 + r)) * (1 - 2 * r);
      result.hi = std::max(result.hi, most * raise);
      if (least > 0) result.lo = std::max(result.lo, least * raise);
    }
    return result;
  }

  // S of the worst input at length n against the most that the mass allows: true where it is met.
  [[nodiscard]] bool kept(std::int64_t n) const {
    if (question_->common.progress) question_->common.progress(n);
    const Worst w = worst(n);
    const Rational most = 1 / question_->common.mass - 1;
    const Demand demand(question_->common.mass, 0);
    if (demand.met(w.hi)) return true;
    if (demand.missed(w.lo)) return false;
    const auto answer = theory::at_rising_precision([&]<class I>() -> std::optional<Decision> {
      const std::optional<bool> exact = exactly<I>(n, I(most));
      if (!exact && I::digits < 160) return std::nullopt;
      return Decision{exact};
    });
    if (!answer || !answer->kept)
      throw Error(ErrorCode::undecided, "160 digits do not tell the mass at length " +
                                            std::to_string(n) + " from " +
                                            question_->common.mass.str());
    return *answer->kept;
  }

 private:
  struct Decision {
    std::optional<bool> kept;
  };

  [[nodiscard]] Worst orthogonal(std::int64_t n) const {
    using I = theory::Interval<40>;
    const Enclosure margin = orthogonal_retrieval(*frequencies_, question_->alphabet, n - 1).margin;
    const Enclosure sum =
        enclosure(I(I(n - 1) * exp(I(-(I(question_->common.scale) * I(margin.lo, margin.hi))))));
    static const Rational largest(Integer(1) << 1000);
    const auto bound = [](const Rational& x) { return std::min(x, largest).convert_to<double>(); };
    return {bound(sum.lo) * (1 - 0x1p-50), bound(sum.hi) * (1 + 0x1p-50)};
  }

  template <class I>
  [[nodiscard]] std::optional<bool> exactly(std::int64_t n, const I& most) const {
    const I scale(question_->common.scale);
    if (question_->code == RetrievalCode::orthogonal) {
      I least(1);
      const auto planes = orthogonal_retrieval(*frequencies_, question_->alphabet, 1).planes;
      std::vector<Formula> thetas;
      for (const std::size_t f : planes) thetas.push_back((*frequencies_)[f]);
      for (const Formula& theta : thetas)
        for (std::int64_t t = 0; t < n; ++t)
          least = min(least, rotation<I>(theta, Rational(2 * t - n + 1, 2)).first);
      const auto order = compare(I(I(n - 1) * exp(I(-(scale * least)))), most);
      return order ? std::optional(*order <= 0) : std::nullopt;
    }
    const auto alphabet = static_cast<std::int64_t>(question_->alphabet);
    std::vector<Formula> planes;
    std::vector<I> shares;
    std::vector<std::pair<I, I>> phases;
    for (std::size_t f = 0; f < frequencies_->size(); ++f) {
      if ((*amplitudes_)[f] == 0) continue;
      planes.push_back((*frequencies_)[f]);
      shares.emplace_back((*amplitudes_)[f]);
      phases.push_back(rotation<I>((*frequencies_)[f], question_->code == RetrievalCode::centred
                                                           ? Rational(1 - n, 2)
                                                           : Rational(0)));
    }
    std::vector<I> matches;
    std::vector<I> terms;
    I sum;
    exact_rotations<I>(
        planes, 0, n - 1, question_->common.stop,
        [&](std::int64_t, const std::vector<I>& cosines, const std::vector<I>& sines) {
          I re;
          I im;
          for (std::size_t f = 0; f < planes.size(); ++f) {
            const auto& [c, s] = phases[f];
            re += shares[f] * (cosines[f] * c - sines[f] * s);
            im += shares[f] * (cosines[f] * s + sines[f] * c);
          }
          const Enclosure x = enclosure(re);
          const Enclosure y = enclosure(im);
          const std::int64_t near = letters_
                                        .strongest({x.middle().template convert_to<double>(),
                                                    y.middle().template convert_to<double>()})
                                        .letter;
          I rival(-2);
          for (std::int64_t k = near - 1; k <= near + 1; ++k) {
            const std::int64_t letter = ((k % alphabet) + alphabet) % alphabet;
            if (letter == 0) continue;
            const Rational turns(letter, alphabet);
            rival =
                max(rival, I(theory::cosine_of_turns<I>(turns) * re -
                             theory::cosine_of_turns<I>(Rational(turns - Rational(1, 4))) * im));
          }
          const Rational wide = 2 * (x.hi - x.lo + y.hi - y.lo);
          rival += I(Rational(0), wide);  // see retrieval_margin_of
          matches.push_back(re);
          terms.push_back(exp(I(scale * rival)));
          sum += terms.back();
          return true;
        });
    std::optional<bool> kept = true;
    for (std::size_t t = 0; t < matches.size(); ++t) {
      const auto order = compare(I((sum - terms[t]) * exp(I(-(scale * matches[t])))), most);
      if (order && *order > 0) return false;
      if (!order) kept = std::nullopt;
    }
    return kept;
  }

  const std::vector<Rational>* amplitudes_;
  const std::vector<Formula>* frequencies_;
  const RetrievalHorizonQuestion* question_;
  Waves waves_;
  Letters letters_;
  double scale_;
  std::vector<double> shares_;
};

Enclosure as_mass(const Worst& w) {
  if (!std::isfinite(w.hi)) return {0, mass_of(w.lo, 1e-15).hi};
  return {mass_of(w.hi, 1e-15).lo, mass_of(w.lo, 1e-15).hi};
}

}  // namespace

Enclosure retrieval_mass(const std::vector<Rational>& amplitudes,
                         const std::vector<Formula>& frequencies,
                         const RetrievalHorizonQuestion& question, std::int64_t length) {
  check(amplitudes, frequencies, question);
  if (length < 1 || length > longest_horizon)
    throw Error(ErrorCode::bad_value, "the length must lie in 1.." +
                                          std::to_string(longest_horizon) + ", not " +
                                          std::to_string(length));
  return as_mass(Lengths(amplitudes, frequencies, question).worst(length));
}

namespace {

// The last length that is kept, from the length `from` on, which is.
Survival survival_from(const Lengths& lengths, const RetrievalHorizonQuestion& question,
                       std::int64_t from) {
  const std::int64_t reach = question.common.reach;
  // Of start, start + step, ... an initial stretch is kept.
  const auto last = [&](std::int64_t start, std::int64_t step) {
    std::int64_t kept = start;
    std::int64_t lost = 0;
    for (std::int64_t jump = std::max<std::int64_t>(1, from / 64) * step; lost == 0; jump *= 2) {
      const std::int64_t next = std::min(kept + jump, reach - (reach - start) % step);
      if (next <= kept) return kept;
      (lengths.kept(next) ? kept : lost) = next;
    }
    while (lost - kept > step) {
      const std::int64_t middle = kept + (lost - kept) / step / 2 * step;
      (lengths.kept(middle) ? kept : lost) = middle;
    }
    return kept;
  };
  Survival result;
  // One amplitude and phase for all lengths: an input of length n becomes one of length n + 1 by an
  // older token. Centred, the lags of n about their middle are among those of n + 2.
  if (question.code == RetrievalCode::plain) {
    result.guaranteed = last(from, 1);
  } else {
    result.guaranteed = last(from, 2);
    if (from + 1 <= reach && lengths.kept(from + 1))
      result.guaranteed = std::max(result.guaranteed, last(from + 1, 2));
  }
  result.capped = result.guaranteed == reach;
  result.mass = as_mass(lengths.worst(result.guaranteed));
  return result;
}

// Proposes amplitudes that lose least mass at one length, in floating point. log S for a match at t
// is convex in the amplitudes and lies above its tangents; the matrix game on the tangents seen so
// far proposes the next head.
std::vector<Rational> least_lost(const Waves& waves, const std::vector<Formula>& frequencies,
                                 const RetrievalHorizonQuestion& question, std::int64_t n,
                                 const std::vector<std::vector<double>>& starts) {
  const std::size_t planes = frequencies.size();
  const auto scale = question.common.scale.convert_to<double>();
  const Letters letters(static_cast<std::int64_t>(question.alphabet));
  const std::vector<FixedTurns> turned = phases(frequencies, n - 1, question.code);
  Game game(planes);
  for (std::size_t f = 0; f < planes; ++f) game.add_column(f, 1, 0);
  game.set_shift(8 * scale + 2 * std::log(static_cast<double>(n)) + 2);
  double best = std::numeric_limits<double>::infinity();
  std::vector<double> best_head = starts.front();

  const auto look = [&](const std::vector<double>& head) {
    const Landscape seen =
        landscape(head, waves, frequencies, letters, n - 1, question.code, question.common.stop);
    const std::size_t count = seen.match.size();
    const double top = *std::max_element(seen.rival.begin(), seen.rival.end());
    std::vector<double> along(count);
    std::vector<double> across(count);
    std::vector<double> terms(count);
    RunningSum sum;
    for (std::size_t u = 0; u < count; ++u) {
      terms[u] = exp_minus(scale * (top - seen.rival[u]));
      const Amplitude letter = letters.turn(seen.letter[u]);
      along[u] = terms[u] * letter.real();
      across[u] = terms[u] * letter.imag();
      sum.add(terms[u]);
    }
    // The worst matches, each with its tangent.
    constexpr std::size_t most = 6;
    std::vector<std::pair<double, std::size_t>> worst;
    for (std::size_t t = 0; t < count; ++t) {
      const double lost =
          scale * (top - seen.match[t]) + std::log(std::max(1e-300, sum.value() - terms[t]));
      if (worst.size() == most && lost <= worst.back().first) continue;
      worst.emplace_back(lost, t);
      std::sort(worst.begin(), worst.end(), std::greater<>());
      if (worst.size() > most) worst.pop_back();
    }
    if (worst.front().first < best) {
      best = worst.front().first;
      best_head = head;
    }
    std::vector<Amplitude> first(planes);
    std::vector<Amplitude> second(planes);
    for (std::int64_t at = 0; at < n; at += Waves::panel) {
      const auto size = static_cast<std::size_t>(std::min(Waves::panel, n - at));
      waves.gather(at, {along.data() + at, size}, first);
      waves.gather(at, {across.data() + at, size}, second);
    }
    for (const auto& [lost, t] : worst) {
      const double all = sum.value() - terms[t];
      if (!(all > 1e-290)) continue;
      std::vector<double> slope;
      double at_head = 0;
      for (std::size_t f = 0; f < planes; ++f) {
        const FixedTurns angle = waves.steps()[f] * static_cast<FixedTurns>(t) - turned[f];
        const Amplitude here(cosine(angle), sine(angle));
        const Amplitude back(cosine(turned[f]), -sine(turned[f]));
        const double rivals = (back * (first[f] + Amplitude(0, 1) * second[f])).real() -
                              terms[t] * (here * letters.turn(seen.letter[t])).real();
        slope.push_back(scale * (rivals / all - here.real()));
        at_head += head[f] * slope.back();
      }
      std::vector<double> pays;
      for (const double g : slope) pays.push_back(at_head - lost - g);
      game.add_row(pays, std::vector<double>(planes));
    }
  };

  for (const auto& head : starts) look(head);
  const int rounds = n <= 20000 ? 150 : 40;
  const double enough = 0.05 / static_cast<double>(n);
  for (int round = 0; round < rounds && game.solve(); ++round) {
    if (-game.value() > best - enough) break;
    std::vector<double> head;
    for (const auto& [re, im] : game.amplitudes()) head.push_back(re);
    look(head);
  }
  return as_rationals(best_head, 15);
}

}  // namespace

Survival retrieval_survival(const std::vector<Rational>& amplitudes,
                            const std::vector<Formula>& frequencies,
                            const RetrievalHorizonQuestion& question) {
  check(amplitudes, frequencies, question);
  return survival_from(Lengths(amplitudes, frequencies, question), question, 1);
}

RetrievalHorizon retrieval_horizon_of_table(const std::vector<Formula>& frequencies,
                                            const RetrievalHorizonQuestion& question) {
  RetrievalHorizon result;
  result.exclusion = retrieval_exclusion(frequencies, question);
  if (question.code == RetrievalCode::orthogonal) {
    result.survival = retrieval_survival({}, frequencies, question);
    return result;
  }
  const std::size_t planes = frequencies.size();
  const Waves waves(frequencies);
  const auto slow = std::min_element(
      waves.steps().begin(), waves.steps().end(),
      [](FixedTurns x, FixedTurns y) { return turn_distance(x) < turn_distance(y); });
  result.amplitudes.assign(planes, Rational(0));
  result.amplitudes[static_cast<std::size_t>(slow - waves.steps().begin())] = 1;
  result.survival = retrieval_survival(result.amplitudes, frequencies, question);
  const auto as_doubles = [](const std::vector<Rational>& amplitudes) {
    std::vector<double> head;
    for (const Rational& a : amplitudes) head.push_back(a.convert_to<double>());
    return head;
  };
  const std::vector<double> uniform = as_doubles(equal_amplitudes(planes));
  // A head made for n survives to g >= n, or n is too long for every head found; next is g + 1.
  for (int round = 0; round < 40 && !result.survival.capped; ++round) {
    const std::int64_t n = result.survival.guaranteed + 1;
    std::vector<Rational> head =
        least_lost(waves, frequencies, question, n, {as_doubles(result.amplitudes), uniform});
    const Lengths lengths(head, frequencies, question);
    if (!lengths.kept(n)) break;
    result.survival = survival_from(lengths, question, n);
    result.amplitudes = std::move(head);
  }
  return result;
}

Exclusion retrieval_exclusion(const std::vector<Formula>& frequencies,
                              const RetrievalHorizonQuestion& question) {
  check_horizon(frequencies, question.common);
  if (question.alphabet < 2)
    throw Error(ErrorCode::bad_value,
                "the alphabet needs at least 2 letters, not " + question.alphabet.str());
  const Rational spread(question.alphabet, question.alphabet - 1);
  const auto excluded = [&](const Lag& n) -> std::optional<Rational> {
    if (n < 2) return std::nullopt;
    using I = theory::Interval<160>;
    I largest;
    for (const Formula& theta : frequencies) largest = max(largest, dirichlet_kernel<I>(theta, n));
    const I least = I(Integer(n - 1)) * exp(I(-(I(question.common.scale) * I(spread) * largest)));
    const Enclosure most = enclosure(I(I(1) / (I(1) + least)));
    if (most.hi >= question.common.mass) return std::nullopt;
    return most.hi;
  };
  return first_excluded(Lag(2), excluded, question.common.stop);
}

}  // namespace ropewalk::proofs_numeric
