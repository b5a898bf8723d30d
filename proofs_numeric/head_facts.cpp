// Facts about Retrieval heads and horizons, in the language of docs/certificates.md. The checker
// keeps what depends on outer binders only, so the sums below cost one pass over the lags each.

#include <algorithm>

#include "proofs_numeric/horizon.hpp"

namespace ropewalk::proofs_numeric {

namespace {

std::vector<std::string> whole(const std::vector<std::int64_t>& values) {
  std::vector<std::string> result;
  for (const std::int64_t x : values) result.push_back(std::to_string(x));
  return result;
}

// The mass lies in its enclosure, and at or above the target where it is said to.
Fact mass_fact(const std::string& mass, const Enclosure& value, const Rational& target, bool kept,
               const Names& names) {
  Fact fact = enclosed(mass, value, names);
  if (kept && *Formula::parse(fact["lo"].get<std::string>()).rational() < target)
    fact["lo"] = target.str();
  return fact;
}

Fact missed_fact(const std::string& mass, Names names, const Rational& target) {
  names.where.emplace_back("target", target.str());
  return relation(mass + " < target", names);
}

// --------------------------------------------------------------------------------------- Index

const char* const index_exclusion =
    "log(total) - sum(j in 0..lags-1: parts[j]*log(parts[j]))/total - "
    "beta*sqrt(max(f in 0..planes-1: sum(j in 0..lags-1: parts[j]*(1 - cos(lag[j]*theta[f])))^2 + "
    "sum(j in 0..lags-1: parts[j]*sin(lag[j]*theta[f]))^2))/total > log(1/target - 1)";

// Equal weights: sum_s e^{i theta s} = e^{i theta (n-1-2m)/2} sin(n theta/2)/sin(theta/2).
const char* const far_exclusion =
    "log(n - 1) - beta*sqrt(max(f in 0..planes-1: "
    "(n - sin(n*theta[f]/2)/sin(theta[f]/2)*cos((n - 1 - 2*m)*theta[f]/2))^2 + "
    "(sin(n*theta[f]/2)/sin(theta[f]/2)*sin((n - 1 - 2*m)*theta[f]/2))^2))/(n - 1) > "
    "log(1/target - 1)";

bool turns_wholly(const Formula& theta) {
  const auto turns = theta.turns();
  return turns && denominator(*turns) == 1;
}

// ------------------------------------------------------------------------------------ Retrieval

// Where nothing else is said, a[f] and theta[f] are those of the planes that carry weight and
// `shift` is the middle of the lags for a centred head.
std::string match(const std::string& t) {
  return "sum(f in 0..planes-1: a[f]*cos((" + t + " - shift)*theta[f]))";
}

std::string rival(const std::string& u) {
  return "max(k in 1..letters-1: along[k]*sum(f in 0..planes-1: a[f]*cos((" + u +
         " - shift)*theta[f])) - across[k]*sum(f in 0..planes-1: a[f]*sin((" + u +
         " - shift)*theta[f])))";
}

Names retrieval_names(const std::vector<Rational>& amplitudes,
                      const std::vector<Formula>& frequencies, const Integer& alphabet,
                      std::int64_t length, RetrievalCode code) {
  std::vector<Rational> a;
  std::vector<Formula> theta;
  for (std::size_t f = 0; f < amplitudes.size(); ++f) {
    if (amplitudes[f] == 0) continue;
    a.push_back(amplitudes[f]);
    theta.push_back(frequencies[f]);
  }
  std::vector<std::string> along;
  std::vector<std::string> across;
  for (Integer k = 0; k < alphabet; ++k) {
    const std::string turn = "(2*pi*" + k.str() + "/" + alphabet.str() + ")";
    along.push_back("cos" + turn);
    across.push_back("sin" + turn);
  }
  return {{{"planes", std::to_string(a.size())},
           {"letters", alphabet.str()},
           {"n", std::to_string(length)},
           {"shift", code == RetrievalCode::plain ? "0" : std::to_string(length - 1) + "/2"}},
          {{"a", entries(a)}, {"theta", entries(theta)}, {"along", along}, {"across", across}}};
}

// `t1` has the weakest match, so that the others are the worst for a distractor at t1 only.
const std::string least_margin = "min(min(t in 0..n-1 if t != t1: " + match("t") + ") - " +
                                 rival("t1") + ", min(t in 0..n-1: " + match("t") +
                                 ") - max(u in 0..n-1 if u != t1: " + rival("u") + "))";
const std::string most_margin = "min(min(t in 0..n-1 if t != t1: " + match("t") + ") - " +
                                rival("t1") + ", " + match("t1") +
                                " - max(u in 0..n-1 if u != t1: " + rival("u") + "))";

Names margin_names(const std::vector<Rational>& amplitudes, const std::vector<Formula>& frequencies,
                   const Integer& alphabet, std::int64_t reach, RetrievalCode code) {
  std::vector<double> head;
  for (const Rational& a : amplitudes) head.push_back(a.convert_to<double>());
  const Landscape seen = landscape(head, Waves(frequencies), frequencies,
                                   Letters(static_cast<std::int64_t>(alphabet)), reach, code);
  const auto weakest = std::min_element(seen.match.begin(), seen.match.end());
  Names names = retrieval_names(amplitudes, frequencies, alphabet, reach + 1, code);
  names.where.emplace_back("t1", std::to_string(weakest - seen.match.begin()));
  return names;
}

std::string rounded(const Rational& x, theory::Round round) {
  return decimal(x, value_digits, round);
}

}  // namespace

std::vector<Fact> index_least_scale_facts(const std::vector<Rational>& amplitudes,
                                          const std::vector<Formula>& frequencies,
                                          const HorizonQuestion& question, std::int64_t length,
                                          const Enclosure& scale) {
  std::vector<Rational> a;
  std::vector<Formula> theta;
  for (std::size_t f = 0; f < amplitudes.size(); ++f) {
    if (amplitudes[f] == 0) continue;
    a.push_back(amplitudes[f]);
    theta.push_back(frequencies[f]);
  }
  return crossing(
      "target*sum(s in -m..n-1-m: exp(-beta*sum(f in 0..planes-1: a[f]*(1 - cos(s*theta[f]))))) - "
      "1",
      "beta", scale,
      {{{"planes", std::to_string(theta.size())},
        {"target", question.mass.str()},
        {"m", std::to_string(question.offset)},
        {"n", std::to_string(length)}},
       {{"a", entries(a)}, {"theta", entries(theta)}}});
}

std::vector<Fact> index_horizon_facts(const std::vector<ComplexAmplitude>& amplitudes,
                                      const std::vector<Formula>& frequencies,
                                      const HorizonQuestion& question, const Survival& survival,
                                      const Exclusion& exclusion) {
  std::vector<Fact> facts{head_fact(amplitudes)};
  std::vector<Rational> re;
  std::vector<Rational> im;
  std::vector<Formula> theta;
  bool real = true;
  for (std::size_t f = 0; f < amplitudes.size(); ++f) {
    const ComplexAmplitude& b = amplitudes[f];
    if (b.re == 0 && b.im == 0) continue;
    re.push_back(b.re);
    im.push_back(b.im);
    theta.push_back(frequencies[f]);
    real = real && b.im == 0;
  }
  const std::string mass =
      "1/sum(s in -m..n-1-m: exp(-beta*sum(f in 0..planes-1: re[f]*(1 - cos(s*theta[f]))" +
      std::string(real ? "" : " + im[f]*sin(s*theta[f])") + ")))";
  const auto names = [&](std::int64_t n) {
    Names result{{{"planes", std::to_string(theta.size())},
                  {"beta", question.scale.str()},
                  {"m", std::to_string(question.offset)},
                  {"n", std::to_string(n)}},
                 {{"re", entries(re)}, {"theta", entries(theta)}}};
    if (!real) result.tables.emplace_back("im", entries(im));
    return result;
  };
  const bool kept = survival.guaranteed > 0;
  const std::int64_t last = kept ? survival.guaranteed : question.offset + 1;
  facts.push_back(mass_fact(mass, survival.mass, question.mass, kept, names(last)));
  if (!survival.capped)
    facts.push_back(missed_fact(mass, names(kept ? last + 1 : last), question.mass));

  if (!exclusion.bound) return facts;
  const Lag shortest = question.offset + 1;
  const Lag n = std::max<Lag>(*exclusion.bound + 1, shortest);
  Names game{{{"beta", question.scale.str()},
              {"target", question.mass.str()},
              {"m", std::to_string(question.offset)},
              {"n", n.str()}},
             {}};
  if (exclusion.head.empty()) {
    std::vector<Formula> turning;  // whole turns give equal keys: nothing to gain there
    std::copy_if(frequencies.begin(), frequencies.end(), std::back_inserter(turning),
                 [](const Formula& f) { return !turns_wholly(f); });
    game.where.emplace_back("planes", std::to_string(turning.size()));
    if (!turning.empty()) game.tables.emplace_back("theta", entries(turning));
    facts.push_back(
        relation(turning.empty() ? "log(n - 1) > log(1/target - 1)" : far_exclusion, game));
    return facts;
  }
  const auto mixture =
      index_mixture(exclusion.head, frequencies, question, static_cast<std::int64_t>(n));
  if (!mixture)
    throw Error(ErrorCode::undecided,
                "the bound " + exclusion.bound->str() +
                    " is too close for a certificate with weights of 15 digits");
  game.where.emplace_back("lags", std::to_string(mixture->lags.size()));
  game.where.emplace_back("total", std::to_string(LagParts::total));
  game.tables.emplace_back("lag", whole(mixture->lags));
  game.tables.emplace_back("parts", whole(mixture->parts));
  game.where.emplace_back("planes", std::to_string(frequencies.size()));
  game.tables.emplace_back("theta", entries(frequencies));
  facts.push_back(relation(
      "all(j in 0..lags-1: parts[j] > 0 and lag[j] >= -m and lag[j] <= n-1-m and lag[j] != 0) and "
      "all(j in 0..lags-2: lag[j] < lag[j+1]) and sum(j in 0..lags-1: parts[j]) = total and " +
          std::string(index_exclusion),
      game));
  return facts;
}

std::vector<Fact> retrieval_horizon_facts(const std::vector<Rational>& amplitudes,
                                          const std::vector<Formula>& frequencies,
                                          const std::vector<Formula>& all,
                                          const RetrievalHorizonQuestion& question,
                                          const Survival& survival, const Exclusion& exclusion) {
  const HorizonQuestion& common = question.common;
  const bool orthogonal = question.code == RetrievalCode::orthogonal;
  std::vector<Fact> facts;
  if (!orthogonal) facts.push_back(head_fact(amplitudes));
  std::vector<Formula> letters;
  if (orthogonal)
    for (const std::size_t f : orthogonal_retrieval(frequencies, question.alphabet, 1).planes)
      letters.push_back(frequencies[f]);
  const std::string mass =
      orthogonal
          ? "1/(1 + (n - 1)*exp(-beta*min(f in 0..letters-1, t in 0..n-1: cos((t - "
            "(n-1)/2)*theta[f]))))"
          : "1/(1 + max(t in 0..n-1: exp(-beta*" + match("t") + ")*(sum(u in 0..n-1: exp(beta*" +
                rival("u") + ")) - exp(beta*" + rival("t") + "))))";
  const auto names = [&](std::int64_t n) {
    Names result =
        orthogonal ? Names{{{"letters", question.alphabet.str()}, {"n", std::to_string(n)}},
                           {{"theta", entries(letters)}}}
                   : retrieval_names(amplitudes, frequencies, question.alphabet, n, question.code);
    result.where.emplace_back("beta", common.scale.str());
    return result;
  };
  // A single key has the mass 1.
  if (survival.guaranteed > 1)
    facts.push_back(mass_fact(mass, survival.mass, common.mass, true, names(survival.guaranteed)));
  const std::int64_t further = question.code == RetrievalCode::plain ? 1 : 2;
  for (std::int64_t n = survival.guaranteed + 1;
       n <= std::min(survival.guaranteed + further, common.reach); ++n)
    facts.push_back(missed_fact(mass, names(n), common.mass));

  if (!exclusion.bound) return facts;
  const Lag n = *exclusion.bound + 1;
  std::vector<Formula> turning;
  std::copy_if(all.begin(), all.end(), std::back_inserter(turning),
               [](const Formula& f) { return !turns_wholly(f); });
  std::string largest = "abs(sin(n*theta[f]/2)/(n*sin(theta[f]/2)))";
  largest = turning.empty() ? "1" : "max(f in 0..planes-1: " + largest + ")";
  if (turning.size() < all.size() && !turning.empty()) largest = "max(1, " + largest + ")";
  Names game{{{"planes", std::to_string(turning.size())},
              {"letters", question.alphabet.str()},
              {"beta", common.scale.str()},
              {"target", common.mass.str()},
              {"n", n.str()}},
             {}};
  if (!turning.empty()) game.tables.emplace_back("theta", entries(turning));
  facts.push_back(relation(
      "log(n - 1) - beta*letters/(letters - 1)*" + largest + " > log(1/target - 1)", game));
  return facts;
}

std::vector<Fact> retrieval_optimum_facts(const std::vector<Formula>& frequencies,
                                          const Integer& alphabet, std::int64_t reach,
                                          RetrievalCode code, const RetrievalHead& head) {
  using theory::Round;
  Names own = margin_names(head.amplitudes, frequencies, alphabet, reach, code);
  own.where.emplace_back("lo", rounded(head.optimum.lo, Round::down));
  std::vector<Fact> facts{head_fact(head.amplitudes), relation(least_margin + " >= lo", own)};

  std::vector<std::int64_t> matches;
  std::vector<std::int64_t> distractors;
  std::vector<std::int64_t> letters;
  std::vector<Rational> weights;
  for (const EncounterWeight& m : head.dual) {
    matches.push_back(m.pair.match);
    distractors.push_back(m.pair.distractor);
    letters.push_back(m.pair.letter);
    weights.push_back(m.weight);
  }
  Names game{{{"pairs", std::to_string(head.dual.size())},
              {"planes", std::to_string(frequencies.size())},
              {"letters", alphabet.str()},
              {"n", std::to_string(reach + 1)},
              {"shift", code == RetrievalCode::plain ? "0" : std::to_string(reach) + "/2"},
              {"hi", rounded(head.optimum.hi, Round::up)}},
             {{"match", whole(matches)},
              {"distractor", whole(distractors)},
              {"letter", whole(letters)},
              {"weight", entries(weights)},
              {"theta", entries(frequencies)}}};
  facts.push_back(relation(
      "all(j in 0..pairs-1: weight[j] >= 0 and match[j] >= 0 and match[j] < n and distractor[j] >= "
      "0 and distractor[j] < n and match[j] != distractor[j] and letter[j] >= 1 and letter[j] < "
      "letters) and sum(j in 0..pairs-1: weight[j]) = 1 and "
      "max(f in 0..planes-1: sum(j in 0..pairs-1: weight[j]*(cos((match[j] - shift)*theta[f]) - "
      "cos(2*pi*letter[j]/letters + (distractor[j] - shift)*theta[f])))) <= hi",
      game));
  return facts;
}

std::vector<Fact> retrieval_margin_facts(const std::vector<Rational>& amplitudes,
                                         const std::vector<Formula>& frequencies,
                                         const Integer& alphabet, std::int64_t reach,
                                         RetrievalCode code, const Enclosure& margin) {
  using theory::Round;
  Names below = margin_names(amplitudes, frequencies, alphabet, reach, code);
  Names above = below;
  below.where.emplace_back("lo", rounded(margin.lo, Round::down));
  above.where.emplace_back("hi", rounded(margin.hi, Round::up));
  return {relation(least_margin + " >= lo", below), relation(most_margin + " <= hi", above)};
}

std::vector<Fact> orthogonal_facts(const std::vector<Formula>& frequencies, std::int64_t reach,
                                   const OrthogonalHead& head) {
  std::vector<Formula> chosen;
  std::vector<Formula> others;
  for (std::size_t f = 0; f < frequencies.size(); ++f)
    (std::find(head.planes.begin(), head.planes.end(), f) != head.planes.end() ? chosen : others)
        .push_back(frequencies[f]);
  Names names{{{"letters", std::to_string(chosen.size())}, {"reach", std::to_string(reach)}},
              {{"theta", entries(chosen)}}};
  std::vector<Fact> facts{enclosed(
      "min(f in 0..letters-1, t in 0..reach: cos((t - reach/2)*theta[f]))", head.margin, names)};
  if (!head.optimal) return facts;
  // Frequencies that equal a chosen one, as text, serve no better.
  std::erase_if(others, [&](const Formula& theta) {
    return std::any_of(chosen.begin(), chosen.end(),
                       [&](const Formula& c) { return c.text() == theta.text(); });
  });
  std::string slowest = "all(f in 0..letters-1: theta[f] >= 0 and theta[f] <= pi)";
  if (!others.empty()) {
    names.where.emplace_back("others", std::to_string(others.size()));
    names.tables.emplace_back("other", entries(others));
    slowest +=
        " and all(g in 0..others-1: other[g] <= pi and other[g] > max(f in 0..letters-1: "
        "theta[f]))";
  }
  facts.push_back(relation(slowest, names));
  return facts;
}

}  // namespace ropewalk::proofs_numeric
