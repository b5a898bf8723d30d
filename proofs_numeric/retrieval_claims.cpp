// Judges for the claims about the one-plane Retrieval head.

#include <fmt/format.h>

#include <functional>

#include "constructions/readings.hpp"
#include "constructions/retrieval.hpp"
#include "proofs_numeric/claims.hpp"
#include "proofs_numeric/retrieval_margin.hpp"

namespace ropewalk::proofs_numeric {

using theory::Interval;
using I = Interval<40>;

namespace {

// 1 - cos(omega - lags * theta)
Enclosure drift_bound(const Formula& theta, const Integer& alphabet, const Lag& lags) {
  const Formula omega = Formula(2) * Formula::pi() / Formula(Rational(alphabet));
  return enclosure(I(I(1) - theory::cosine<I>(-theta, lags, omega)));
}

// The simplest number in (0, omega/(2n)).
Rational simplest_angle(unsigned alphabet, unsigned n) {
  const Formula limit = Formula::pi() / Formula(alphabet * n);
  return simplest_between(0, enclosure(limit.as<I>()).lo);
}

Witness pair_witness(unsigned n, unsigned alphabet, const std::string& theta,
                     const RetrievalPair& pair) {
  Witness w;
  w["length"] = n;
  w["alphabet"] = alphabet;
  w["theta"] = theta;
  w["match_lag"] = pair.match.str();
  w["distractor_lag"] = pair.distractor.str();
  w["letter_offset"] = pair.letter_offset.str();
  return w;
}

// In expressions: the match at lag t, another key k letters round at lag u; c turns queries back.
const char* const smallest_margin =
    "min(t in 0..n-1, u in 0..n-1, k in 1..A-1 if t != u: cos(t*theta) - cos(2*pi*k/A + u*theta))";
// The best arrangement of the other keys for a match at lag t, at the best lag.
const char* const largest_margin =
    "max(t in 0..n-1: min(u in 0..n-1 if u != t: "
    "cos(t*theta) - min(k in 1..A-1: cos(2*pi*k/A + u*theta))))";
const char* const displayed_margin = "1 - max(u in 0..n-1, k in 1..A-1: cos(2*pi*k/A + u*theta))";

Names sizes(const Lag& n, unsigned alphabet, const std::string& theta) {
  return {{{"n", n.str()}, {"A", std::to_string(alphabet)}, {"theta", theta}}, {}};
}

// P1's Fig. 5A.
const char* const figure_theta = "0.0027";
constexpr unsigned figure_alphabet = 8;

// Walks n = 2, 3, ... and A = 2, 3, ... to the first quantity above 1 - cos(omega - n theta).
Judgement refute_drift_bound(
    const std::function<Enclosure(const Formula&, unsigned, unsigned)>& quantity,
    const std::string& named, Reading reading, const std::string& expression) {
  const std::string claim = expression + " <= 1 - cos(2*pi/A - n*theta)";
  for (unsigned n = 2; n <= 16; ++n) {
    for (unsigned alphabet = 2; alphabet <= 16; ++alphabet) {
      const Formula theta(simplest_angle(alphabet, n));
      const Enclosure value = quantity(theta, alphabet, n);
      const Enclosure bound = drift_bound(theta, alphabet, n);
      if (value.lo <= bound.hi) continue;
      Witness w = pair_witness(n, alphabet, theta.text(),
                               retrieval_margin(theta, alphabet, n, Centre::plain, reading)->pair);
      w[named] = text(value, 8);
      w["bound"] = text(bound, 8);
      const Names here = sizes(n, alphabet, theta.text());
      std::vector<Fact> facts{relation(claim, here, false), enclosed(expression, value, here)};
      const Formula own = Formula::parse(figure_theta);
      const Enclosure at_17 = quantity(own, figure_alphabet, 17);
      if (at_17.lo > drift_bound(own, figure_alphabet, 17).hi) {
        w["at_figure_5a"] = {{"length", 17},
                             {"theta", figure_theta},
                             {"alphabet", figure_alphabet},
                             {named, text(at_17, 8)},
                             {"bound", text(drift_bound(own, figure_alphabet, 17), 8)}};
        facts.push_back(relation(claim, sizes(17, figure_alphabet, own.text()), false));
      }
      return {Verdict::refuted,
              "smallest n, then smallest alphabet, then simplest theta in (0, omega/(2n)); value = "
              "the " +
                  named + " there",
              value, w, facts};
    }
  }
  return {Verdict::undecided, "n, A <= 16: no violation found", std::nullopt, std::nullopt};
}

// min over pairs (t, u, k) of cos(t theta - c) - cos(k omega + u theta - c), the obvious way.
Enclosure margin_by_enumeration(const Formula& theta, unsigned alphabet, unsigned n,
                                Centre centre) {
  const Formula phase =
      centre == Centre::plain ? Formula(0) : -(theta * Formula(Rational(n - 1) / 2));
  std::vector<I> match;
  std::vector<I> best;  // strongest distractor at each lag
  for (unsigned t = 0; t < n; ++t) {
    match.push_back(theory::cosine<I>(theta, t, phase));
    for (unsigned k = 1; k < alphabet; ++k) {
      const I l =
          theory::cosine<I>(theta, t, Formula(Rational(2 * k, alphabet)) * Formula::pi() + phase);
      if (k == 1)
        best.push_back(l);
      else
        best.back() = max(best.back(), l);
    }
  }
  std::optional<I> least;
  for (unsigned t = 0; t < n; ++t)
    for (unsigned u = 0; u < n; ++u)
      if (t != u) least = least ? min(*least, I(match[t] - best[u])) : I(match[t] - best[u]);
  return enclosure(*least);
}

bool overlap(const Enclosure& a, const Enclosure& b) { return a.lo <= b.hi && b.lo <= a.hi; }

// Formula, enumeration and horizon against one another over sampled angles j omega/16 and
// lengths.
Judgement judge_closed_form(Centre centre) {
  const std::vector<unsigned> steps{1, 2, 3, 5, 8, 13};
  bool holds = true;
  unsigned compared = 0;
  for (unsigned alphabet = 2; alphabet <= 6; ++alphabet) {
    for (const unsigned j : steps) {
      const Formula theta = Formula(Rational(2 * j, 16 * alphabet)) * Formula::pi();
      const auto horizon = retrieval_horizon(theta, alphabet, centre);
      for (unsigned n = 2; n <= 12; ++n) {
        const auto margin = retrieval_margin(theta, alphabet, n, centre, Reading::min);
        const Enclosure brute = margin_by_enumeration(theta, alphabet, n, centre);
        holds = holds && overlap(margin->margin, brute);
        const bool within = n <= *horizon;
        holds = holds && (within ? brute.lo > 0 : margin->margin.lo <= 0);
        if (within) {
          const Formula omega = Formula(Rational(2, alphabet)) * Formula::pi();
          const Formula half(Rational(1, 2));
          const I closed =
              centre == Centre::plain
                  ? I(theory::cosine<I>(theta, n - 2) - theory::cosine<I>(-theta, n - 1, omega))
                  : I(I(2) * sin((omega * half).as<I>()) *
                      sin(I((omega * half).as<I>() - (theta * half).as<I>() * I(n - 1))));
          holds = holds && overlap(enclosure(closed), brute);
        }
        ++compared;
      }
    }
  }
  // The head itself on every input, token by token: the query letter-letter, its wanted letter in
  // one position, its own left letter in one token. The least margin must be that of the pairs.
  unsigned long inputs_run = 0;
  for (const auto& [letters, longest] : {std::pair{2, 4U}, {3, 3U}}) {
    const constructions::RetrievalAlphabet alphabet{letters, 1};
    const auto any = [](const auto&) { return true; };
    for (unsigned n = 2; n <= longest; ++n) {
      std::vector<constructions::Sequence> inputs;
      constructions::every_sequence(alphabet.size(), n, any, [&](const auto& tokens) {
        const auto query = tokens.back();
        if (!alphabet.is_letter_letter(query)) return;
        unsigned matches = 0;
        bool clean = true;
        for (const auto t : tokens) {
          matches += alphabet.left(t) == alphabet.wanted(query) ? 1 : 0;
          clean = clean && (alphabet.left(t) != alphabet.left(query) || t == query);
        }
        if (matches == 1 && clean) inputs.push_back(tokens);
      });
      inputs_run += inputs.size();
      for (unsigned j : {1U, 5U, 13U}) {
        const Formula theta = Formula(Rational(2 * j, 16 * letters)) * Formula::pi();
        const auto head = centre == Centre::plain
                              ? constructions::retrieval_head<I>(theta, alphabet)
                              : constructions::centred_retrieval_head<I>(theta, alphabet, n);
        const auto least = constructions::over_inputs(
            head, inputs, constructions::Quantity::margin, Reading::min, [&](const auto& tokens) {
              std::vector<bool> correct;
              for (const auto t : tokens)
                correct.push_back(alphabet.left(t) == alphabet.wanted(tokens.back()));
              return correct;
            });
        holds = holds && least &&
                overlap(enclosure(least->value),
                        margin_by_enumeration(theta, static_cast<unsigned>(letters), n, centre));
      }
    }
  }
  const Formula own = Formula::parse(figure_theta);
  const Lag horizon = *retrieval_horizon(own, figure_alphabet, centre);
  const Enclosure last =
      retrieval_margin(own, figure_alphabet, horizon, centre, Reading::min)->margin;
  const Enclosure beyond =
      retrieval_margin(own, figure_alphabet, horizon + 1, centre, Reading::min)->margin;
  holds = holds && last.lo > 0 && beyond.hi < 0;
  Witness w;
  w["theta"] = figure_theta;
  w["alphabet"] = figure_alphabet;
  w["horizon"] = horizon.str();
  w["margin_at_horizon"] = text(last, 8);
  w["margin_beyond"] = text(beyond, 8);
  // In turns: theta is j/(16 A), letters are k/A, and centred queries are turned back by (n-1)/2
  // lags. A logit falls as the distance grows.
  const bool plain = centre == Centre::plain;
  const std::string back = plain ? "" : " - (n-1)/2";
  const std::string pairs = "t in 0..n-1, u in 0..n-1, k in 1..A-1 if t != u: ";
  const std::string limit = plain ? "3/2 + 8/j[i]" : "1 + 16/j[i]";
  const std::string x = "*j[i]/(16*A)";
  const std::string nearest = "max(" + pairs + "distance((t" + back + ")" + x +
                              ") - distance(k/A + (u" + back + ")" + x + "))";
  const std::string closed =
      plain ? "cos((n-2)*{0}) - cos(2*pi/A - (n-1)*{0})" : "2*sin(pi/A)*sin(pi/A - (n-1)*{0}/2)";
  const std::string grid = "all(A in 2..6, i in 0..5, n in 2..12 if n ";
  const Names sixteenths{{}, {{"j", entries(steps)}}};
  const std::string angle = "(2*pi" + x + ")";
  std::vector<Fact> facts{
      relation(grid + "< " + limit + ": " + nearest + " < 0)", sixteenths),
      relation(grid + ">= " + limit + ": " + nearest + " >= 0)", sixteenths),
      relation(grid + "< " + limit + ": abs(min(" + pairs + "cos((t" + back + ")*" + angle +
                   ") - cos(2*pi*k/A + (u" + back + ")*" + angle + ")) - (" +
                   fmt::format(fmt::runtime(closed), angle) + ")) <= 10^-30)",
               sixteenths)};
  const Names figure = sizes(horizon, figure_alphabet, own.text());
  const std::string here = "(" + fmt::format(fmt::runtime(closed), "theta") + ")";
  facts.push_back(enclosed(here, last, figure));
  facts.push_back(relation(here + " > 0", figure));
  facts.push_back(relation(here + " < 0", sizes(horizon + 1, figure_alphabet, own.text())));
  // No pair of keys is closer; a centred head's worst match and distractor stand at lags of their
  // own.
  facts.push_back(relation((plain ? std::string(smallest_margin)
                                  : "min(t in 0..n-1: cos((t" + back +
                                        ")*theta)) - max(u in 0..n-1, k in 1..A-1: "
                                        "cos(2*pi*k/A + (u" +
                                        back + ")*theta))") +
                               " >= " + here + " - 10^-30",
                           figure));
  return {holds ? Verdict::proved : Verdict::undecided,
          fmt::format("A <= 6, n <= 12, theta = omega j/16 for j in {{1, 2, 3, 5, 8, 13}}: closed "
                      "form, horizon and "
                      "engine equal the enumeration of all pairs ({} cases); the head run on all "
                      "{} inputs with A = 2, "
                      "n <= 4 and A = 3, n <= 3 at j in {{1, 5, 13}}; value = margin at the "
                      "horizon for theta = {}, A = {}",
                      compared, inputs_run, figure_theta, figure_alphabet),
          last, w, facts};
}

}  // namespace

Judgement retrieval_feasible() {
  constexpr unsigned longest = 64;
  constexpr unsigned most_letters = 32;
  bool holds = true;
  // In turns, theta < 1/(2 n0 A): a match at lag t <= n0-1 lies within (n0-1)/(2 n0 A) of the
  // query; a distractor at k/A + u theta stays further off. cos falls with that distance. All
  // angles of the range at once, exactly.
  for (unsigned n0 = 1; n0 <= longest; ++n0) {
    for (unsigned alphabet = 2; alphabet <= most_letters; ++alphabet) {
      const Rational drift =
          Rational(n0 - 1) / Rational(2 * n0 * alphabet);  // supremum, not attained for n0 > 1
      const Rational half(1, 2);
      for (unsigned k = 1; k < alphabet; ++k) {
        const Rational low(k, alphabet);  // the distractor's turns lie in [low, low + drift)
        const Rational high = low + drift;
        const Rational nearest = std::min(low, Rational(1 - high));
        holds = holds && drift < half && high < 1 && nearest > drift;
      }
    }
  }
  const Formula theta = Formula(Rational(1, 4 * 17 * 8)) * Formula(2) * Formula::pi();
  const Enclosure sample = retrieval_margin(theta, 8, 17, Centre::plain, Reading::min)->margin;
  holds = holds && sample.lo > 0;
  return {
      holds ? Verdict::proved : Verdict::undecided,
      fmt::format("n0 <= {}, 2 <= A <= {}, every theta in (0, omega/(2 n0)) at once: exact "
                  "rational comparison of "
                  "turns; value = margin at A = 8, n = 17, theta = omega/(4*17)",
                  longest, most_letters),
      sample,
      std::nullopt,
      {relation(
           "all(n in 1..longest, A in 2..letters, k in 1..A-1: "
           "min(k/A, 1 - k/A - (n-1)/(2*n*A)) > (n-1)/(2*n*A))",
           {{{"longest", std::to_string(longest)}, {"letters", std::to_string(most_letters)}}, {}}),
       enclosed(smallest_margin, sample, sizes(17, 8, theta.text()))}};
}

Judgement retrieval_gap_max() {
  Judgement j = refute_drift_bound(
      [](const Formula& theta, unsigned alphabet, unsigned n) {
        return retrieval_margin(theta, alphabet, n, Centre::plain, Reading::max)->gap;
      },
      "gap", Reading::max, largest_margin);
  if (j.witness) {
    const Formula own = Formula::parse(figure_theta);
    for (unsigned alphabet : {8U, 3U})
      (*j.witness)["opposite_distractors_A" + std::to_string(alphabet)] =
          text(retrieval_margin(own, alphabet, 50, Centre::plain, Reading::max)->gap, 6);
  }
  return j;
}

Judgement retrieval_margin_min() {
  return refute_drift_bound(
      [](const Formula& theta, unsigned alphabet, unsigned n) {
        return retrieval_margin(theta, alphabet, n, Centre::plain, Reading::min)->margin;
      },
      "margin", Reading::min, smallest_margin);
}

Judgement retrieval_margin_min_corrected() {
  constexpr unsigned longest = 64;
  bool holds = true;
  unsigned compared = 0;
  const std::vector<unsigned> alphabets{2, 3, 8, 26};
  const std::vector<unsigned> sixteenths{1, 3, 7};
  // The pair (match n-2, distractor n-1 one letter before) is admissible for n >= 2 and its match
  // logit is at most 1: that alone gives the bound for every theta. The engine must agree wherever
  // it is asked.
  for (unsigned n = 2; n <= longest; ++n)
    for (const unsigned alphabet : alphabets)
      for (const unsigned j : sixteenths) {
        const Formula theta = Formula(Rational(j, 8 * n * alphabet)) * Formula::pi();
        const auto margin = retrieval_margin(theta, alphabet, n, Centre::plain, Reading::min);
        const Enclosure bound = drift_bound(theta, alphabet, n - 1);
        const RetrievalPair& p = margin->pair;
        holds =
            holds && p.match == n - 2 && p.distractor == n - 1 && p.letter_offset == alphabet - 1;
        holds = holds && (n == 2 ? overlap(margin->margin, bound) : margin->margin.hi < bound.lo);
        ++compared;
      }
  const Formula own = Formula::parse(figure_theta);
  // theta = omega j/(16 n). The pair that gives the bound, at every length; all pairs at short
  // ones.
  Names names{{{"longest", std::to_string(longest)}},
              {{"letters", entries(alphabets)}, {"j", entries(sixteenths)}}};
  const std::string angles = "a in 0..3, i in 0..2, A in letters[a]..letters[a]: ";
  const std::string bound = "1 - cos(2*pi/A - (n-1)*pi*j[i]/(8*n*A))";
  std::vector<Fact> facts{
      relation("all(n in 3..longest, " + angles +
                   "cos((n-2)*pi*j[i]/(8*n*A)) - cos(2*pi/A - (n-1)*pi*j[i]/(8*n*A)) < " + bound +
                   ")",
               names),
      relation("all(n in 2..8, " + angles +
                   "min(t in 0..n-1, u in 0..n-1, k in 1..A-1 if t != u: cos(t*pi*j[i]/(8*n*A)) - "
                   "cos(2*pi*k/A + u*pi*j[i]/(8*n*A))) <= " +
                   bound + " + 10^-30)",
               names),
      enclosed("1 - cos(2*pi/A - (n-1)*theta)", drift_bound(own, figure_alphabet, 16),
               sizes(17, figure_alphabet, own.text()))};
  return {holds ? Verdict::proved : Verdict::undecided,
          fmt::format("2 <= n <= {}, A in {{2, 3, 8, 26}}, theta = omega j/(16 n) for j in {{1, 3, "
                      "7}}: {} enclosures "
                      "below the bound "
                      "(equal at n = 2); value = bound at n = 17, theta = 0.0027, A = 8",
                      longest, compared),
          drift_bound(own, figure_alphabet, 16), std::nullopt, facts};
}

Judgement retrieval_gap_displayed() {
  return refute_drift_bound(
      [](const Formula& theta, unsigned alphabet, unsigned n) {
        std::optional<I> strongest;
        for (unsigned u = 0; u < n; ++u)
          for (unsigned k = 1; k < alphabet; ++k) {
            const I l =
                theory::cosine<I>(theta, u, Formula(Rational(2 * k, alphabet)) * Formula::pi());
            strongest = strongest ? max(*strongest, l) : l;
          }
        return enclosure(I(I(1) - *strongest));
      },
      "displayed_gap", Reading::min, displayed_margin);
}

Judgement zero_angle_margin_letters() {
  constexpr unsigned most_letters = 64;
  bool holds = true;
  for (unsigned alphabet = 2; alphabet <= most_letters; ++alphabet) {
    // Lags drop out at theta = 0: the strongest distractor is one letter round, exactly in turns.
    for (unsigned k = 1; k < alphabet; ++k)
      holds = holds && theory::distance_to_integer(Rational(k, alphabet)) >= Rational(1, alphabet);
    const Enclosure expected =
        enclosure(I(I(1) - theory::cosine_of_turns<I>(Rational(1, alphabet))));
    for (const char* n : {"2", "3", "100", "1000000000000000000"}) {
      const auto margin =
          retrieval_margin(Formula(0), alphabet, Lag(n), Centre::plain, Reading::min);
      holds = holds && margin && overlap(margin->margin, expected) && margin->margin.lo > 0;
    }
    holds = holds && !retrieval_horizon(Formula(0), alphabet, Centre::plain);
  }
  return {holds ? Verdict::proved : Verdict::undecided,
          fmt::format(
              "2 <= A <= {}, every length (lags drop out), exact in turns; value = 1 - cos(2 pi/8)",
              most_letters),
          retrieval_margin(Formula(0), 8, 2, Centre::plain, Reading::min)->margin,
          std::nullopt,
          {relation("all(A in 2..letters, k in 1..A-1: distance(k/A) >= 1/A)",
                    {{{"letters", std::to_string(most_letters)}}, {}}),
           relation("all(A in 2..letters: 1 - cos(2*pi/A) > 0)",
                    {{{"letters", std::to_string(most_letters)}}, {}}),
           enclosed(smallest_margin,
                    retrieval_margin(Formula(0), 8, 2, Centre::plain, Reading::min)->margin,
                    sizes(2, 8, "0"))}};
}

Judgement zero_angle_margin_all() {
  // Every proper input by length over 2 letters and 2 integers, exactly (A = 2 has rational
  // rotations): the first whose correct and incorrect keys tie.
  const constructions::RetrievalAlphabet alphabet{2, 2};
  const auto head = constructions::retrieval_head<Rational>(Formula(0), alphabet);
  for (unsigned n = 1; n <= 3; ++n) {
    std::vector<constructions::Sequence> inputs;
    const auto any = [](const auto&) { return true; };
    constructions::every_sequence(alphabet.size(), n, any, [&](const auto& tokens) {
      // Proper at every prefix, and as a whole: a wanted letter stands in one token of the input.
      bool proper = constructions::is_proper(alphabet, tokens);
      for (const auto q : tokens)
        for (const auto a : tokens)
          for (const auto b : tokens)
            proper = proper && !(alphabet.is_letter_letter(q) && a != b &&
                                 alphabet.left(a) == alphabet.right(q) &&
                                 alphabet.left(b) == alphabet.right(q));
      if (proper) inputs.push_back(tokens);
    });
    const auto least = constructions::over_inputs(
        head, inputs, constructions::Quantity::margin, Reading::min, [&](const auto& tokens) {
          return constructions::retrieval_correct_keys(alphabet, tokens, n - 1);
        });
    if (!least || least->value > 0) continue;
    Witness w;
    w["length"] = n;
    w["alphabet"] = 2;
    for (const auto t : least->input) {
      const auto right = alphabet.right(t);
      w["input"].push_back(std::string(1, static_cast<char>('A' + alphabet.left(t))) +
                           (alphabet.is_letter_letter(t)
                                ? std::string(1, static_cast<char>('A' + right))
                                : std::to_string(right - alphabet.letters + 1)));
    }
    w["margin"] = least->value.str();
    Names names{{{"n", std::to_string(n)}, {"A", std::to_string(alphabet.letters)}}, {}};
    std::vector<unsigned> letters;
    std::vector<unsigned> correct;
    for (const auto t : least->input) letters.push_back(static_cast<unsigned>(alphabet.left(t)));
    for (const bool right : constructions::retrieval_correct_keys(alphabet, least->input, n - 1))
      correct.push_back(right ? 1 : 0);
    const auto query = least->input.back();
    names.where.emplace_back(
        "wanted", std::to_string(alphabet.is_letter_letter(query) ? alphabet.wanted(query)
                                                                  : alphabet.left(query)));
    names.tables = {{"letter", entries(letters)}, {"correct", entries(correct)}};
    const auto logits = [](const char* which) {
      return fmt::format("(j in 0..n-1 if correct[j] = {}: cos(2*pi*(letter[j] - wanted)/A))",
                         which);
    };
    const std::string margin = "min" + logits("1") + " - max" + logits("0");
    return {
        Verdict::refuted,
        "all proper inputs over 2 letters and 2 integers in order of length, exact rationals: the "
        "first length whose smallest margin is not positive; value = that margin",
        Enclosure(least->value),
        w,
        {relation(margin + " > 0", names, false),
         enclosed(margin, Enclosure(least->value), names)}};
  }
  return {Verdict::undecided, "n <= 3: no tie found", std::nullopt, std::nullopt};
}

Judgement one_plane_retrieval_margin() { return judge_closed_form(Centre::plain); }
Judgement centred_retrieval_margin() { return judge_closed_form(Centre::centred); }

}  // namespace ropewalk::proofs_numeric
