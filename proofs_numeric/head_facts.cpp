// Facts about Retrieval heads and horizons, in the language of docs/certificates.md. The checker
// keeps what depends on outer binders only, so the sums below cost one pass over the lags each.

#include <algorithm>

#include "proofs_numeric/game.hpp"
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

// How far the checker's sums may be off, as a share: 2 scale (planes + 10) 2^-53 and as much again
// for the rest, with room.
Rational sum_room(const HorizonQuestion& question, std::size_t planes) {
  return Rational(question.scale * Rational(0x1p-49 * static_cast<double>(planes + 10)));
}

// The sum of e^{-scale loss} over the lags of this length, which is 1/mass: at most 1/target where
// the mass is `kept`, above it otherwise.
Fact softmax_fact(const std::vector<ComplexAmplitude>& amplitudes,
                  const std::vector<Formula>& frequencies, const HorizonQuestion& question,
                  std::int64_t length, bool kept) {
  const Enclosure mass = index_mass(amplitudes, frequencies, question, length);
  if (mass.lo.sign() <= 0)
    throw Error(ErrorCode::undecided,
                "the mass at length " + std::to_string(length) + " is too small for a certificate");
  const Rational room = sum_room(question, frequencies.size());
  Enclosure sum(Rational((1 - room) / mass.hi), Rational((1 + room) / mass.lo));
  const Rational wanted = 1 / question.mass;
  if (kept)
    sum.hi = std::min(sum.hi, wanted);
  else
    sum.lo = std::max(sum.lo, Rational(wanted * (1 + Rational(0x1p-60))));
  return {{"kind", "softmax"},
          {"scale", question.scale.str()},
          {"sum", written(offset_loss(amplitudes, frequencies))},
          {"first", std::to_string(-question.offset)},
          {"last", std::to_string(length - 1 - question.offset)},
          {"partition",
           {{"lo", decimal(sum.lo, 2 * value_digits, theory::Round::down)},
            {"hi", sum.hi == wanted ? wanted.str()  // the demand as it is
                                    : decimal(sum.hi, 2 * value_digits, theory::Round::up)}}}};
}

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
std::string match_at(const std::string& t) {
  return "sum(f in 0..planes-1: a[f]*cos((" + t + " - shift)*theta[f]))";
}

std::string rival_at(const std::string& u) {
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
const std::string least_margin = "min(min(t in 0..n-1 if t != t1: " + match_at("t") + ") - " +
                                 rival_at("t1") + ", min(t in 0..n-1: " + match_at("t") +
                                 ") - max(u in 0..n-1 if u != t1: " + rival_at("u") + "))";
const std::string most_margin = "min(min(t in 0..n-1 if t != t1: " + match_at("t") + ") - " +
                                rival_at("t1") + ", " + match_at("t1") +
                                " - max(u in 0..n-1 if u != t1: " + rival_at("u") + "))";

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

// The end of an enclosure as a statement has it: rounded outward, and clear of x, for what lies on
// the bound itself is not decided unless it is rational as it stands.
Rational stated(const Rational& x, theory::Round round) {
  const Rational y = *Formula::parse(decimal(x, value_digits, round)).rational();
  if (abs(Rational(y - x)) >= Rational(1, power_of_ten(34))) return y;
  const Rational step(1, power_of_ten(30));
  return round == theory::Round::down ? Rational(y - step) : Rational(y + step);
}
std::string written(const Rational& x) { return decimal(x, 60, theory::Round::nearest); }

// The dual is a mixture of encounters, and of lags where `index` is the weight of the Index margin,
// and no plane gets more than the bound against it.
Fact retrieval_dual_fact(const std::vector<Formula>& frequencies, const Integer& alphabet,
                         std::int64_t reach, RetrievalCode code, const RetrievalHead& head,
                         const Rational& index) {
  std::vector<std::int64_t> matches;
  std::vector<std::int64_t> distractors;
  std::vector<std::int64_t> letters;
  std::vector<Rational> weights;
  std::vector<std::int64_t> lags;
  std::vector<Rational> shares;
  for (const EncounterWeight& m : head.dual) {
    if (m.pair.letter == 0) {
      lags.push_back(m.pair.distractor);
      shares.push_back(m.weight);
      continue;
    }
    matches.push_back(m.pair.match);
    distractors.push_back(m.pair.distractor);
    letters.push_back(m.pair.letter);
    weights.push_back(m.weight);
  }
  Names game{{{"planes", std::to_string(frequencies.size())},
              {"letters", alphabet.str()},
              {"n", std::to_string(reach + 1)},
              {"shift", code == RetrievalCode::plain ? "0" : std::to_string(reach) + "/2"},
              {"hi", written(head.optimum.hi)}},
             {{"theta", entries(frequencies)}}};
  std::string valid;
  std::string total;
  std::string gain;
  const auto add = [](std::string& to, const std::string& what, const char* between) {
    to += (to.empty() ? "" : between) + what;
  };
  if (!weights.empty()) {
    game.where.emplace_back("pairs", std::to_string(weights.size()));
    game.tables.emplace_back("match", whole(matches));
    game.tables.emplace_back("distractor", whole(distractors));
    game.tables.emplace_back("letter", whole(letters));
    game.tables.emplace_back("weight", entries(weights));
    add(valid,
        "all(j in 0..pairs-1: weight[j] >= 0 and match[j] >= 0 and match[j] < n and distractor[j] "
        ">= 0 and distractor[j] < n and match[j] != distractor[j] and letter[j] >= 1 and letter[j] "
        "< letters)",
        " and ");
    add(total, "sum(j in 0..pairs-1: weight[j])", " + ");
    add(gain,
        "sum(j in 0..pairs-1: weight[j]*(cos((match[j] - shift)*theta[f]) - "
        "cos(2*pi*letter[j]/letters + (distractor[j] - shift)*theta[f])))" +
            std::string(index == 0 ? "" : "/(1 - w)"),
        " + ");
  }
  if (index != 0) game.where.emplace_back("w", index.str());
  if (!shares.empty()) {
    game.where.emplace_back("lags", std::to_string(shares.size()));
    game.tables.emplace_back("lag", whole(lags));
    game.tables.emplace_back("share", entries(shares));
    add(valid, "all(j in 0..lags-1: share[j] >= 0 and lag[j] >= 1 and lag[j] < n)", " and ");
    add(total, "sum(j in 0..lags-1: share[j])", " + ");
    add(gain, "sum(j in 0..lags-1: share[j]*(1 - cos(lag[j]*theta[f])))/w", " + ");
  }
  return relation(valid + " and " + total + " = 1 and max(f in 0..planes-1: " + gain + ") <= hi",
                  game);
}

// One statement over all lags.
ProvenMargin margin_by_lags(const std::vector<Rational>& amplitudes,
                            const std::vector<Formula>& frequencies, const Integer& alphabet,
                            std::int64_t reach, RetrievalCode code, std::atomic<bool>* stop) {
  Enclosure margin = retrieval_margin_of(amplitudes, frequencies, alphabet, reach, code, stop);
  margin = {stated(margin.lo, theory::Round::down), stated(margin.hi, theory::Round::up)};
  Names below = margin_names(amplitudes, frequencies, alphabet, reach, code);
  Names above = below;
  below.where.emplace_back("lo", written(margin.lo));
  above.where.emplace_back("hi", written(margin.hi));
  return {margin,
          {relation(least_margin + " >= lo", below), relation(most_margin + " <= hi", above)}};
}

ProvenMargin margin_by_extrema(const std::vector<Rational>& amplitudes,
                               const std::vector<Formula>& frequencies, const Integer& alphabet,
                               std::int64_t reach, RetrievalCode code, std::atomic<bool>* stop) {
  const Formula shift(code == RetrievalCode::plain ? Rational(0) : Rational(reach, 2));
  // The logit of a letter so many steps round.
  const auto logit = [&](const Integer& letter) {
    theory::TrigSum sum;
    const Formula turn = Formula::pi() * Formula(Rational(2 * letter, alphabet));
    for (std::size_t f = 0; f < amplitudes.size(); ++f)
      if (amplitudes[f] != 0)
        sum.terms.push_back({amplitudes[f], frequencies[f], turn - shift * frequencies[f]});
    return sum;
  };
  ExtremumOptions ask;
  ask.stop = stop;
  const theory::TrigSum match = logit(0);
  const Lag weakest = minimum(match, {0, reach, {}}, ask).extremum.lags.front();
  const LagRange others{0, reach, {weakest}};

  ProvenMargin result;
  std::vector<std::string> strongest;
  Lag left = 0;   // the weakest match but one
  Lag rival = 0;  // where some letter is strongest
  std::optional<Rational> top;
  {
    const ExtremumReport report = minimum(match, others, ask);
    left = report.extremum.lags.front();
    result.facts.push_back(extremum_fact(Which::minimum, match, others, report));
  }
  for (Integer k = 1; k < alphabet; ++k) {
    const theory::TrigSum sum = logit(k);
    const ExtremumReport report = maximum(sum, others, ask);
    result.facts.push_back(extremum_fact(Which::maximum, sum, others, report));
    strongest.push_back(result.facts.back()["value"]["hi"].get<std::string>());
    if (!top || report.extremum.value.hi > *top) {
      top = report.extremum.value.hi;
      rival = report.extremum.lags.front();
    }
  }

  Names names = retrieval_names(amplitudes, frequencies, alphabet, reach + 1, code);
  names.where.emplace_back("t1", weakest.str());
  Names below = names;
  below.where.emplace_back("weakest", result.facts.front()["value"]["lo"].get<std::string>());
  below.tables.emplace_back("strongest", strongest);
  Names above = names;
  above.where.emplace_back("t2", left.str());
  above.where.emplace_back("u2", rival.str());

  const auto at = [&](const Lag& t, const Integer& letter) {
    return *theory::at_rising_precision([&]<class I>() -> std::optional<Enclosure> {
      const Enclosure e = enclosure(logit(letter).at<I>(t));
      return e.hi - e.lo < Rational(1, power_of_ten(30)) ? std::optional(e) : std::nullopt;
    });
  };
  const auto loudest = [&](const Lag& t) {
    Enclosure best(-2, -2);
    for (Integer k = 1; k < alphabet; ++k) {
      const Enclosure e = at(t, k);
      best = {std::max(best.lo, e.lo), std::max(best.hi, e.hi)};
    }
    return best;
  };
  const auto value = [](const std::string& text) { return *Formula::parse(text).rational(); };
  Rational others_hi = value(strongest.front());
  for (const std::string& text : strongest) others_hi = std::max(others_hi, value(text));
  const Enclosure own = at(weakest, 0);
  const Enclosure there = loudest(weakest);
  result.margin.lo =
      std::min(Rational(own.lo - others_hi),
               Rational(value(below.where.back().second) - std::max(others_hi, there.hi)));
  result.margin.hi =
      std::min(Rational(own.hi - loudest(rival).lo), Rational(at(left, 0).hi - there.lo));
  result.margin = {stated(result.margin.lo, theory::Round::down),
                   stated(result.margin.hi, theory::Round::up)};
  below.where.emplace_back("lo", written(result.margin.lo));
  above.where.emplace_back("hi", written(result.margin.hi));
  const std::string best = "max(k in 0..letters-2: strongest[k])";
  result.facts.push_back(relation("min(" + match_at("t1") + " - " + best + ", weakest - max(" +
                                      best + ", " + rival_at("t1") + ")) >= lo",
                                  below));
  result.facts.push_back(relation("min(" + match_at("t1") + " - " + rival_at("u2") + ", " +
                                      match_at("t2") + " - " + rival_at("t1") + ") <= hi",
                                  above));
  return result;
}

}  // namespace

std::vector<Fact> index_least_scale_facts(const std::vector<Rational>& amplitudes,
                                          const std::vector<Formula>& frequencies,
                                          const HorizonQuestion& question, std::int64_t length,
                                          const Enclosure& scale) {
  std::vector<ComplexAmplitude> head;
  for (const Rational& a : amplitudes) head.push_back({a, 0});
  HorizonQuestion at = question;
  std::vector<Fact> facts{head_fact(head)};
  at.scale = scale.hi;
  facts.push_back(softmax_fact(head, frequencies, at, length, true));
  at.scale = scale.lo;
  if (scale.lo > 0) facts.push_back(softmax_fact(head, frequencies, at, length, false));
  return facts;
}

std::vector<Fact> index_horizon_facts(const std::vector<ComplexAmplitude>& amplitudes,
                                      const std::vector<Formula>& frequencies,
                                      const HorizonQuestion& question, const Survival& survival,
                                      const Exclusion& exclusion) {
  std::vector<Fact> facts{head_fact(amplitudes)};
  const bool kept = survival.guaranteed > 0;
  const std::int64_t last = kept ? survival.guaranteed : question.offset + 1;
  facts.push_back(softmax_fact(amplitudes, frequencies, question, last, kept));
  if (kept && !survival.capped)
    facts.push_back(softmax_fact(amplitudes, frequencies, question, last + 1, false));

  if (!exclusion.bound) return facts;
  const Lag n = std::max<Lag>(*exclusion.bound + 1, question.offset + 1);
  if (!exclusion.head.empty()) {
    Fact fact =
        softmax_fact(exclusion.head, frequencies, question, static_cast<std::int64_t>(n), false);
    fact["bound"] = {{"frequencies", entries(frequencies)}, {"mass", question.mass.str()}};
    facts.push_back(std::move(fact));
    return facts;
  }
  std::vector<Formula> turning;  // whole turns give equal keys: nothing to gain there
  std::copy_if(frequencies.begin(), frequencies.end(), std::back_inserter(turning),
               [](const Formula& f) { return !turns_wholly(f); });
  Names game{{{"beta", question.scale.str()},
              {"target", question.mass.str()},
              {"m", std::to_string(question.offset)},
              {"n", n.str()},
              {"planes", std::to_string(turning.size())}},
             {}};
  if (!turning.empty()) game.tables.emplace_back("theta", entries(turning));
  facts.push_back(
      relation(turning.empty() ? "log(n - 1) > log(1/target - 1)" : far_exclusion, game));
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
          : "1/(1 + max(t in 0..n-1: exp(-beta*" + match_at("t") + ")*(sum(u in 0..n-1: exp(beta*" +
                rival_at("u") + ")) - exp(beta*" + rival_at("t") + "))))";
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

ProvenMargin proven_retrieval_margin(const std::vector<Rational>& amplitudes,
                                     const std::vector<Formula>& frequencies,
                                     const Integer& alphabet, std::int64_t reach,
                                     RetrievalCode code, std::atomic<bool>* stop) {
  check_retrieval(amplitudes, frequencies, alphabet, reach, code);
  // ropewalk-check takes some 10 microseconds for a cosine of a statement.
  const double terms =
      (2.0 * static_cast<double>(frequencies.size()) + alphabet.convert_to<double>()) *
      static_cast<double>(reach);
  return (terms <= 1e5 || alphabet > 64 ? margin_by_lags : margin_by_extrema)(
      amplitudes, frequencies, alphabet, reach, code, stop);
}

std::vector<Fact> retrieval_optimum_facts(const std::vector<Formula>& frequencies,
                                          const Integer& alphabet, std::int64_t reach,
                                          RetrievalCode code, RetrievalHead& head,
                                          std::atomic<bool>* stop) {
  ProvenMargin own =
      proven_retrieval_margin(head.amplitudes, frequencies, alphabet, reach, code, stop);
  head.optimum = {std::min(head.optimum.lo, own.margin.lo),
                  stated(head.optimum.hi, theory::Round::up)};
  own.facts.push_back(head_fact(head.amplitudes));
  own.facts.push_back(retrieval_dual_fact(frequencies, alphabet, reach, code, head, 0));
  return own.facts;
}

ProvenBoth proven_both(const std::vector<Formula>& frequencies, const Integer& alphabet,
                       std::int64_t reach, RetrievalCode code, const Rational& weight,
                       RetrievalHead& head, std::atomic<bool>* stop) {
  ProvenBoth result;
  ProvenMargin own =
      proven_retrieval_margin(head.amplitudes, frequencies, alphabet, reach, code, stop);
  const theory::TrigSum loss = theory::aligned_loss(head.amplitudes, frequencies);
  const LagRange lags{1, reach, {}};
  ExtremumOptions ask;
  ask.stop = stop;
  const ExtremumReport least = minimum(loss, lags, ask);
  result.index = least.extremum.value;
  result.retrieval = own.margin;
  head.optimum.lo = std::min({head.optimum.lo, Rational(result.index.lo / weight),
                              Rational(result.retrieval.lo / (1 - weight))});
  head.optimum.hi = stated(head.optimum.hi, theory::Round::up);
  result.facts = std::move(own.facts);
  result.facts.push_back(extremum_fact(Which::minimum, loss, lags, least));
  result.facts.push_back(head_fact(head.amplitudes));
  result.facts.push_back(retrieval_dual_fact(frequencies, alphabet, reach, code, head, weight));
  return result;
}

std::vector<Fact> orthogonal_facts(const std::vector<Formula>& frequencies, std::int64_t reach,
                                   const OrthogonalHead& head) {
  std::vector<Formula> chosen;
  std::vector<Formula> others;
  for (std::size_t f = 0; f < frequencies.size(); ++f)
    (std::find(head.planes.begin(), head.planes.end(), f) != head.planes.end() ? chosen : others)
        .push_back(frequencies[f]);
  std::vector<Fact> facts;
  for (const Formula& theta : chosen) {
    const theory::TrigSum sum = centred_logit(theta, reach);
    const LagRange lags{0, reach, {}};
    facts.push_back(extremum_fact(Which::minimum, sum, lags, minimum(sum, lags)));
  }
  Names names{{{"letters", std::to_string(chosen.size())}}, {{"theta", entries(chosen)}}};
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
