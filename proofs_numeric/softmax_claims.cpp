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
  // whole logits; and term by term for every beta > 0, since a smaller power of x is larger. Every
  // vector of logits in {0..3}, n <= 6.
  constexpr unsigned most = 6;
  const std::vector<Rational> scales{Rational(1, 7), Rational(1, 2), Rational(9, 10)};
  bool holds = true;
  unsigned long vectors = 0;
  const auto power = [](const Rational& x, const Rational& exponent) {
    return theory::detail::integer_power<Rational>(x, Integer(numerator(exponent)));
  };
  for (unsigned n = 1; n <= most; ++n) {
    std::vector<Rational> row(n, 0);
    for (;;) {
      ++vectors;
      const Rational top = *std::max_element(row.begin(), row.end());
      const auto k = static_cast<unsigned>(std::count(row.begin(), row.end(), top));
      const Rational lambda = *theory::strict_gap(std::span<const Rational>(row));
      for (const Rational& l : row) holds = holds && (l == top || top - l >= lambda);
      for (const Rational& x : scales) {
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
  const std::vector<unsigned> betas{1, 20};
  for (unsigned n = 2; n <= 17; ++n)
    for (unsigned m = 0; m < n; ++m) {
      const OnePlaneGap gap = one_plane_gap(theta, reach_of(n, m));
      for (const unsigned beta : betas) {
        I sum(0);
        for (unsigned t = 0; t < n; ++t)
          sum += exp(I(I(-static_cast<int>(beta)) * (I(1) - theory::cosine<I>(theta, Lag(t) - m))));
        const I bound =
            I(1) + I(n - 1) * exp(I(I(-static_cast<int>(beta)) * I(gap.value.lo, gap.value.hi)));
        holds = holds && enclosure(sum).lo <= enclosure(bound).hi;
      }
    }
  // The scale that makes the construction work.
  const auto smallest = smallest_index_scale(theta, 17);
  const auto enough = guaranteed_scale(one_plane_gap(theta, 16).value, 17, 1, Rational(1, 2));
  holds = holds && smallest && enough && smallest->lo <= enough->hi;
  Witness w;
  std::vector<Fact> facts;
  if (smallest && enough) {
    w["construction"] = "Index, theta = acos(3/5), n <= 17";
    w["smallest_scale"] = text(*smallest, 10);
    w["guaranteed_scale"] = text(*enough, 10);
    // k maximisers, a keys L below them, b one further, the rest two further.
    facts = index_scale_facts(theta, 17, *smallest);
    facts.push_back(
        relation("all(i in 0..2, n in 2..most, k in 1..n-1, L in 1..3, a in 1..n-k, b in 0..n-k-a: "
                 "k/(k + a*x[i]^L + b*x[i]^(L+1) + (n-k-a-b)*x[i]^(L+2)) >= k/(k + (n-k)*x[i]^L))",
                 {{{"most", std::to_string(most)}}, {{"x", entries(scales)}}}));
    facts.push_back(
        relation("all(n in 2..17, m in 0..n-1, i in 0..1: "
                 "sum(s in -m..n-1-m: exp(-beta[i]*(1 - cos(s*theta)))) <= 1 + "
                 "(n-1)*exp(-beta[i]*min(s in 1..max(m, n-1-m): 1 - cos(s*theta))) + 10^-30)",
                 {{{"theta", theta.text()}}, {{"beta", entries(betas)}}}));
    // What the lemma guarantees is enough: ln(n - 1) over the gap.
    facts.push_back(
        relation("all(m in 1..n-1: sum(s in -m..n-1-m: exp(-beta*(1 - cos(s*theta)))) < 2)",
                 {{{"n", "17"},
                   {"theta", theta.text()},
                   {"beta", decimal(enough->hi, value_digits, theory::Round::up)}},
                  {}}));
    facts.push_back(enclosed("log(n-1)/min(s in 1..n-1: 1 - cos(s*theta))", *enough,
                             {{{"n", "17"}, {"theta", theta.text()}}, {}}));
  }
  return {holds ? Verdict::proved : Verdict::undecided,
          fmt::format("all {} logit vectors over {{0, 1, 2, 3}} to n = {}, exact and for every "
                      "beta > 0; Index n <= 17 in intervals; value = smallest scale for Index at "
                      "n = 17",
                      vectors, most),
          smallest, w, facts};
}

Judgement softmax_scale() {
  bool holds = true;
  Witness w;
  const Rational tenth(1, 10);
  const Rational half(1, 2);
  const std::vector<unsigned> lengths{2, 5, 17, 1000};
  const std::vector<unsigned> multiplicities{1, 3};
  const std::vector<Rational> shares{tenth, half, Rational(1, 1000)};
  const std::vector<Rational> margins{Rational(1, 100), Rational(1, 2), Rational(2)};
  const Names grid{{},
                   {{"n", entries(lengths)},
                    {"k", entries(multiplicities)},
                    {"eps", entries(shares)},
                    {"mu", entries(margins)}}};
  const std::string cases =
      "all(a in 0..3, b in 0..1, c in 0..2, d in 0..2 if k[b] < n[a] and "
      "(n[a]-k[b])*(1-eps[c])/(k[b]*eps[c]) ";
  std::vector<Fact> facts{
      relation(cases + "> 1: abs(k[b]/(k[b] + (n[a]-k[b])*exp(-mu[d]*"
                       "(log((n[a]-k[b])*(1-eps[c])/(k[b]*eps[c]))/mu[d]))) - (1-eps[c])) <= "
                       "10^-30)",
               grid),
      relation(cases + "<= 1: k[b]/n[a] >= 1-eps[c])", grid)};
  // The guarantee: at beta the worst arrangement (every incorrect key exactly mu below) has mass 1
  // - eps.
  for (const unsigned n : lengths)
    for (const unsigned k : multiplicities)
      for (const Rational& eps : shares) {
        if (k >= n) continue;
        for (const Rational& mu : margins) {
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
      if (!beta || !enough) continue;
      // At theta = 2 pi/n the lags of every offset run once round the circle.
      const std::string sum =
          "sum(s in 0..n-1: exp(-c*n^2/(2*pi^2)*(1 - cos(2*pi*s/n)))) - 1/(1-eps)";
      const Names here{{{"n", std::to_string(n)}, {"eps", eps.str()}}, {}};
      Names guaranteed = here;
      guaranteed.where.emplace_back(
          "c",
          fmt::format("log(({0}-1)*(1-{1})/({1}))/(1 - cos(2*pi/{0}))*2*pi^2/{0}^2", n, eps.str()));
      facts.push_back(relation(sum + " < 0", guaranteed));
      const Enclosure c =
          enclosure(I(I(beta->lo, beta->hi) * I(2) * I::pi() * I::pi() / I(n) / I(n)));
      if (n < 4000) continue;
      holds = holds && c.lo > known - Rational(1, 5000) && c.hi < known + Rational(1, 5000);
      w[eps == tenth ? "c(0.1)" : "c(0.5)"] = text(c, 8);
      for (Fact& fact : crossing(sum, "c", c, here)) facts.push_back(std::move(fact));
      facts.push_back(relation("lo > known - 1/5000 and hi < known + 1/5000",
                               {{{"known", known.str()},
                                 {"lo", decimal(c.lo, value_digits, theory::Round::down)},
                                 {"hi", decimal(c.hi, value_digits, theory::Round::up)}},
                                {}}));
      if (eps == tenth) value = c;
    }
  }
  // Retrieval at theta = 0: one correct key, n-1 keys one letter away; the formula is attained.
  const std::vector<unsigned> alphabets{2, 8, 26};
  const std::vector<unsigned> sizes{2, 17, 1000};
  facts.push_back(relation(
      "all(a in 0..2, b in 0..2, A in letters[a]..letters[a], n in size[b]..size[b]: "
      "abs(1/(1 + (n-1)*exp(-(log((n-1)*(1-eps)/eps)/(1 - cos(2*pi/A)))*(1 - cos(2*pi/A)))) - "
      "(1-eps)) <= 10^-30)",
      {{{"eps", tenth.str()}}, {{"letters", entries(alphabets)}, {"size", entries(sizes)}}}));
  for (const unsigned alphabet : alphabets)
    for (const unsigned n : sizes) {
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
          value, w, facts};
}

}  // namespace ropewalk::proofs_numeric
