// Judges for Lemma F.1 and R7.

#include <fmt/format.h>

#include <algorithm>

#include "proofs_numeric/claims.hpp"
#include "proofs_numeric/softmax_scale.hpp"

namespace ropewalk::proofs_numeric {

using theory::Interval;
using I = Interval<40>;

Judgement mass_on_maximisers() {
  // With x = exp(-beta) in (0, 1) the weight of a logit l is x^(top - l), so the mass on the k
  // maximisers is k / (k + sum over the others of x^(top - l)): exact rationals for rational x and
  // whole logits. Every vector of logits in {0..3}, n <= 5, at three scales.
  bool holds = true;
  unsigned long vectors = 0;
  const auto power = [](const Rational& x, const Rational& exponent) {
    return theory::detail::integer_power<Rational>(x, Integer(numerator(exponent)));
  };
  for (unsigned n = 1; n <= 5; ++n) {
    std::vector<Rational> row(n, 0);
    for (;;) {
      ++vectors;
      const Rational top = *std::max_element(row.begin(), row.end());
      const auto k = static_cast<unsigned>(std::count(row.begin(), row.end(), top));
      const Rational lambda = *theory::strict_gap(std::span<const Rational>(row));
      for (const Rational& x : {Rational(1, 7), Rational(1, 2), Rational(9, 10)}) {
        Rational all = 0;
        for (const Rational& l : row) all += power(x, Rational(top - l));
        holds =
            holds && Rational(k) / all >= Rational(k) / (k + Rational(n - k) * power(x, lambda));
      }
      unsigned i = 0;
      while (i < n && ++row[i] == 4) row[i++] = 0;
      if (i == n) break;
    }
  }
  // The mass itself in intervals for Index, theta = acos(3/5), n <= 17, every offset, two scales.
  const Formula theta = acos(Formula(Rational(3, 5)));
  for (unsigned n = 2; n <= 17; ++n)
    for (unsigned m = 0; m < n; ++m) {
      const OnePlaneGap gap = one_plane_gap(theta, reach_of(n, m));
      for (const int beta : {1, 20}) {
        I sum(0);
        for (unsigned t = 0; t < n; ++t)
          sum += exp(I(I(-beta) * (I(1) - theory::cosine<I>(theta, Lag(t) - m))));
        const I bound = I(1) + I(n - 1) * exp(I(I(-beta) * I(gap.value.lo, gap.value.hi)));
        holds = holds && enclosure(sum).lo <= enclosure(bound).hi;
      }
    }
  // The scale that makes the construction work.
  const auto smallest = smallest_index_scale(theta, 17);
  const auto enough = guaranteed_scale(one_plane_gap(theta, 16).value, 17, 1, Rational(1, 2));
  holds = holds && smallest && enough && smallest->lo <= enough->hi;
  Witness w;
  if (smallest && enough) {
    w["construction"] = "Index, theta = acos(3/5), n <= 17";
    w["smallest_scale"] = text(*smallest, 10);
    w["guaranteed_scale"] = text(*enough, 10);
  }
  return {holds ? Verdict::proved : Verdict::undecided,
          fmt::format("all {} logit vectors over {{0, 1, 2, 3}} to n = 6, exact and for every beta "
                      "> 0; Index n <= 17 in "
                      "intervals; value = smallest scale for Index at n = 17",
                      vectors),
          smallest, w};
}

Judgement softmax_scale() {
  bool holds = true;
  Witness w;
  const Rational tenth(1, 10);
  const Rational half(1, 2);
  // The guarantee: at beta the worst arrangement (every incorrect key exactly mu below) has mass 1
  // - eps.
  for (unsigned n : {2U, 5U, 17U, 1000U})
    for (unsigned k : {1U, 3U})
      for (const Rational& eps : {tenth, half, Rational(1, 1000)}) {
        if (k >= n) continue;
        for (const Rational& mu : {Rational(1, 100), Rational(1, 2), Rational(2)}) {
          const auto beta = guaranteed_scale(Enclosure(mu), n, k, eps);
          const I wrong = I(n - k) * exp(I(-I(beta->hi) * I(mu)));
          const I mass = I(k) / (I(k) + wrong);
          holds = holds && enclosure(mass).hi >= 1 - eps &&
                  enclosure(mass).lo >= 1 - eps - Rational(1, Integer(1) << 100);
        }
      }
  // One-plane Index at theta = 2 pi/n: c = 2 pi^2 beta / n^2, between its values at growing n.
  std::optional<Enclosure> value;
  for (const auto& [eps, known] :
       {std::pair{tenth, Rational(28905, 10000)}, {half, Rational(7854, 10000)}}) {
    for (unsigned n : {100U, 1000U, 4000U}) {
      const PlaneLosses losses(Formula(Rational(2, n)) * Formula::pi(), n);
      const auto beta = losses.smallest_scale(Rational(1 / (1 - eps)), {0, n - 1});
      const auto enough = guaranteed_scale(
          enclosure(I(I(1) - theory::cosine_of_turns<I>(Rational(1, n)))), n, 1, eps);
      holds = holds && beta && enough && beta->hi <= enough->lo;
      if (!beta) continue;
      const Enclosure c =
          enclosure(I(I(beta->lo, beta->hi) * I(2) * I::pi() * I::pi() / I(n) / I(n)));
      if (n < 4000) continue;
      holds = holds && c.lo > known - Rational(1, 5000) && c.hi < known + Rational(1, 5000);
      w[eps == tenth ? "c(0.1)" : "c(0.5)"] = text(c, 8);
      if (eps == tenth) value = c;
    }
  }
  // Retrieval at theta = 0: one correct key, n-1 keys one letter away; the formula is attained.
  for (unsigned alphabet : {2U, 8U, 26U})
    for (unsigned n : {2U, 17U, 1000U}) {
      const Enclosure mu = enclosure(I(I(1) - theory::cosine_of_turns<I>(Rational(1, alphabet))));
      const auto beta = guaranteed_scale(mu, n, 1, tenth);
      if (beta->hi == 0) continue;
      const I mass = I(1) / (I(1) + I(n - 1) * exp(I(-I(beta->lo, beta->hi) * I(mu.lo, mu.hi))));
      holds = holds && enclosure(mass).contains(1 - tenth);
    }
  return {holds ? Verdict::proved : Verdict::undecided,
          "guarantee: n in {2, 5, 17, 1000}, k in {1, 3}, three eps, three margins; exact Index "
          "need at theta = 2 pi/n for "
          "n in {100, 1000, 4000}; Retrieval at theta = 0: the guarantee is attained; value = "
          "c(0.1) at n = 4000",
          value, w};
}

}  // namespace ropewalk::proofs_numeric
