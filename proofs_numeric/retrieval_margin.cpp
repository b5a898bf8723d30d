#include "proofs_numeric/retrieval_margin.hpp"

#include <algorithm>
#include <vector>

namespace ropewalk::proofs_numeric {

namespace {

// theta mod 2 pi, mirrored into [0, pi]: every margin is even in theta, and a rotation knows theta
// mod 2 pi only.
Formula fold(const Formula& theta) {
  const Formula turn = Formula(2) * Formula::pi();
  if (const auto r = theta.turns()) return Formula(theory::distance_to_integer(*r)) * turn;
  const Integer whole = theory::floor(theta / turn + Rational(1, 2));
  const Formula rest = theta - Formula(Rational(whole)) * turn;
  return sign(rest) == -1 ? -rest : rest;
}

// A / turns(theta): the number of tokens in which position drifts by one letter.
Formula tokens_per_letter(const Formula& folded, const Integer& alphabet) {
  if (const auto r = folded.turns()) return Formula(Rational(1 / (*r * Rational(alphabet))));
  return Formula(2) * Formula::pi() / (Formula(Rational(alphabet)) * folded);
}

// A rational angle within `error` turns of the true one.
struct Surrogate {
  Rational turns;
  Rational error;
};

// Positions on the circle as integers mod `modulus`, for t in 0..n-1.
struct Circle {
  Integer modulus;
  Integer step;    // theta
  Integer shift;   // -c
  Integer letter;  // omega
  Integer half;    // half a turn
};

Circle circle(const Rational& turns, const Integer& alphabet, const Lag& length, Centre centre) {
  const Rational c =
      centre == Centre::centred ? Rational(turns * Rational(length - 1) / 2) : Rational(0);
  Circle result;
  result.modulus = 2 * lcm(lcm(Integer(denominator(turns)), Integer(denominator(c))), alphabet);
  const auto units = [&](const Rational& x) {
    return Integer(numerator(Rational(x * Rational(result.modulus))));
  };
  result.step = units(turns);
  result.shift = -units(c);
  result.letter = units(Rational(1, alphabet));
  result.half = result.modulus / 2;
  return result;
}

std::optional<NearestReturn> nearest(const Circle& c, const Integer& offset, const Lag& first,
                                     const Lag& last) {
  return nearest_return(c.step, offset, c.modulus, first, last);
}

// The same over [0, last] without one lag.
std::optional<NearestReturn> nearest_but(const Circle& c, const Integer& offset, const Lag& last,
                                         const Lag& left_out) {
  const auto a = nearest(c, offset, 0, left_out - 1);
  const auto b = nearest(c, offset, left_out + 1, last);
  if (!a) return b;
  if (!b || a->distance <= b->distance) return a;
  return b;
}

struct Distractor {
  NearestReturn at;
  Integer letter_offset;
};

// The distractor of largest logit, over k = 1..A-1 and u in [0, last] (without one lag, if given).
std::optional<Distractor> strongest_distractor(const Circle& c, const Integer& alphabet,
                                               const Lag& last, const Lag* left_out) {
  std::optional<Distractor> best;
  for (Integer k = 1; k < alphabet; ++k) {
    const Integer offset = c.shift + k * c.letter;
    const auto n =
        left_out != nullptr ? nearest_but(c, offset, last, *left_out) : nearest(c, offset, 0, last);
    if (n && (!best || n->distance < best->at.distance)) best = Distractor{*n, k};
  }
  return best;
}

// The pairs one of which is the minimum on the surrogate circle: t* with u*, or, where they are one
// lag, each with the best other partner.
std::vector<RetrievalPair> least_pairs(const Circle& c, const Integer& alphabet, const Lag& last) {
  const Integer opposite = c.shift + c.half;
  const auto t = nearest(c, opposite, 0, last);
  const auto u = strongest_distractor(c, alphabet, last, nullptr);
  if (t->lag != u->at.lag) return {{t->lag, u->at.lag, u->letter_offset}};
  std::vector<RetrievalPair> pairs;
  if (const auto v = strongest_distractor(c, alphabet, last, &t->lag))
    pairs.push_back({t->lag, v->at.lag, v->letter_offset});
  if (const auto s = nearest_but(c, opposite, last, u->at.lag))
    pairs.push_back({s->lag, u->at.lag, u->letter_offset});
  return pairs;
}

Formula centre_phase(const Formula& theta, const Lag& length, Centre centre) {
  if (centre == Centre::plain) return {0};
  return -(theta * Formula(Rational(length - 1) / 2));
}

template <class I>
I match_logit(const Formula& theta, const Lag& t, const Formula& phase) {
  return theory::cosine<I>(theta, t, phase);
}

template <class I>
I distractor_logit(const Formula& theta, const Lag& u, const Integer& k, const Integer& alphabet,
                   const Formula& phase) {
  const Formula letters = Formula(Rational(2 * k, alphabet)) * Formula::pi();
  return theory::cosine<I>(theta, u, letters + phase);
}

// Surrogate with denominator 2^bits; exact for rational turns.
template <class I>
Surrogate surrogate(const Formula& folded, unsigned bits) {
  if (const auto r = folded.turns()) return {*r, 0};
  const Enclosure alpha = enclosure(theory::turns<I>(folded));
  const Integer scale = Integer(1) << bits;
  const Rational rounded(theory::floor(Rational(alpha.lo * Rational(scale))), scale);
  return {rounded, alpha.hi - rounded};
}

constexpr unsigned bits_of_digits(unsigned digits) { return digits * 3; }

struct Row {
  Lag lag;
  Integer distance;  // of the logit's point from 0: larger is a smaller cosine
  Integer letter;
};

// Keeps the three rows with the smallest (or largest) distance.
struct Three {
  std::vector<Row> rows;
  bool smallest;
  void offer(const Row& row) {
    auto at = rows.begin();
    while (at != rows.end() &&
           (smallest ? at->distance <= row.distance : at->distance >= row.distance))
      ++at;
    rows.insert(at, row);
    if (rows.size() > 3) rows.pop_back();
  }
  // The first whose lag is neither of two.
  [[nodiscard]] const Row* without(const Lag& a, const Lag& b) const {
    for (const Row& row : rows)
      if (row.lag != a && row.lag != b) return &row;
    return nullptr;
  }
};

Integer circle_distance(const Circle& c, const Integer& x) {
  Integer r = x % c.modulus;
  if (r < 0) r += c.modulus;
  return r > c.half ? Integer(c.modulus - r) : r;
}

// Reading max on the surrogate circle: for every lag its match logit, its strongest and its weakest
// distractor; the best pair is among the three best of each.
struct MaxRows {
  Three match_high{{}, true};
  Three match_low{{}, false};
  Three strongest{{}, true};
  Three weakest_high{{}, true};  // the largest among the weakest distractors of every lag
};

MaxRows scan(const Circle& c, const Integer& alphabet, const Lag& length) {
  MaxRows rows;
  Integer point = c.shift;
  for (Lag t = 0; t < length; ++t, point += c.step) {
    const Integer d = circle_distance(c, point);
    rows.match_high.offer({t, d, 0});
    rows.match_low.offer({t, d, 0});
    // k that brings point + k letter nearest to `target`, k != 0 mod A.
    const auto nearest_letter = [&](const Integer& target) {
      const Integer gap = target - point;
      Integer k = theory::floor(Rational(gap, c.letter) + Rational(1, 2)) % alphabet;
      if (k < 0) k += alphabet;
      if (k != 0) return k;
      const Integer up = circle_distance(c, point + c.letter - target);
      const Integer down = circle_distance(c, point - c.letter - target);
      return up <= down ? Integer(1) : Integer(alphabet - 1);
    };
    const Integer strong = nearest_letter(0);
    rows.strongest.offer({t, circle_distance(c, point + strong * c.letter), strong});
    const Integer weak = nearest_letter(c.half);
    rows.weakest_high.offer({t, circle_distance(c, point + weak * c.letter), weak});
  }
  return rows;
}

// Value of an arrangement: the margin or gap of the input in which the match stands at one lag and
// the listed distractors matter.
template <class I>
std::optional<RetrievalMargin> margin_max(const Formula& theta, const Formula& phase,
                                          const Integer& alphabet, const MaxRows& rows,
                                          const Rational& slack) {
  const auto weak = [&](const Row& r) {
    return distractor_logit<I>(theta, r.lag, r.letter, alphabet, phase);
  };
  std::optional<I> margin;
  RetrievalPair pair;
  std::vector<Lag> matches;
  for (const Row& r : rows.match_high.rows) matches.push_back(r.lag);
  for (const Row& r : rows.weakest_high.rows) matches.push_back(r.lag);
  for (const Lag& t : matches) {
    const Row* other = rows.weakest_high.without(t, t);
    if (other == nullptr) continue;
    const I value = match_logit<I>(theta, t, phase) - weak(*other);
    if (!margin || enclosure(*margin).middle() < enclosure(value).middle())
      pair = {t, other->lag, other->letter};
    margin = margin ? max(*margin, value) : value;
  }
  if (!margin) return std::nullopt;
  // Delta may be larger with a distractor on top and the match among the losers.
  I gap = *margin;
  std::vector<const Row*> tops;
  std::vector<Lag> losers;
  for (const Row& r : rows.strongest.rows) tops.push_back(&r);
  for (const Row& r : rows.match_low.rows) losers.push_back(r.lag);
  std::vector<Lag> weak_lags;
  for (const Row& r : rows.weakest_high.rows) {
    losers.push_back(r.lag);
    weak_lags.push_back(r.lag);
  }
  std::vector<std::pair<Lag, I>> winners;
  for (const Row* r : tops)
    winners.emplace_back(r->lag, distractor_logit<I>(theta, r->lag, r->letter, alphabet, phase));
  for (const auto& [p, top] : winners) {
    for (const Lag& t : losers) {
      if (t == p) continue;
      I second = match_logit<I>(theta, t, phase);
      if (const Row* other = rows.weakest_high.without(p, t)) second = max(second, weak(*other));
      gap = max(gap, I(top - second));
    }
  }
  Enclosure m = enclosure(*margin);
  Enclosure g = enclosure(gap);
  m.lo -= slack;
  m.hi += slack;
  g.lo -= slack;
  g.hi += slack;
  return RetrievalMargin{m, g, pair};
}

bool narrow(const Enclosure& x) {
  const auto width = x.relative_width();
  return width && *width <= Rational(1, boost::multiprecision::pow(Integer(10), 20));
}

// 2 pi < 7: a change of d turns moves a cosine by at most 7 d.
Rational cosine_slack(const Surrogate& s, const Lag& length) {
  return 2 * 7 * 2 * s.error * Rational(length);
}

}  // namespace

std::optional<Lag> retrieval_horizon(const Formula& theta, const Integer& alphabet, Centre centre) {
  if (alphabet < 2)
    throw Error(ErrorCode::bad_value,
                "the alphabet needs at least 2 letters, not " + alphabet.str());
  const Formula folded = fold(theta);
  const auto s = sign(folded);
  if (!s) throw Error(ErrorCode::undecided, theta.text() + " cannot be told from 0");
  if (*s == 0) return std::nullopt;
  const Formula drift = tokens_per_letter(folded, alphabet);
  const Formula bound =
      centre == Centre::plain ? Formula(Rational(3, 2)) + drift / Formula(2) : Formula(1) + drift;
  const Integer horizon = theory::ceil(bound) - 1;
  return horizon < 1 ? Lag(1) : horizon;  // theta >= omega: no length beyond 1
}

std::optional<RetrievalMargin> retrieval_margin(const Formula& theta, const Integer& alphabet,
                                                const Lag& length, Centre centre, Reading reading) {
  if (alphabet < 2)
    throw Error(ErrorCode::bad_value,
                "the alphabet needs at least 2 letters, not " + alphabet.str());
  if (length < 1)
    throw Error(ErrorCode::bad_value, "the length must be at least 1, not " + length.str());
  if (length.str().size() > 700)
    throw Error(ErrorCode::too_large, "a length of more than 700 digits");
  if (length == 1) return std::nullopt;
  const Formula folded = fold(theta);
  const Formula phase = centre_phase(folded, length, centre);
  const auto start = static_cast<unsigned>(length.str().size()) + 30;

  if (reading == Reading::max) {
    if (length > 1000000)
      throw Error(ErrorCode::too_large,
                  "reading max scans every lag; lengths beyond 1000000 are not supported");
    return theory::at_rising_precision(
        [&]<class I>() -> std::optional<RetrievalMargin> {
          const Surrogate s = surrogate<I>(folded, 120);
          const Circle c = circle(s.turns, alphabet, length, centre);
          return margin_max<I>(folded, phase, alphabet, scan(c, alphabet, length),
                               cosine_slack(s, length));
        },
        start);
  }

  const auto horizon = retrieval_horizon(theta, alphabet, centre);
  const bool closed_form = !horizon || length <= *horizon;
  if (!closed_form && alphabet > 100000)
    throw Error(
        ErrorCode::too_large,
        "beyond the horizon every letter is tried; alphabets over 100000 are not supported");

  std::optional<RetrievalMargin> best;
  const auto attempt = [&]<class I>() -> std::optional<RetrievalMargin> {
    std::vector<RetrievalPair> pairs;
    Rational slack = 0;
    if (closed_form) {
      const Lag match = centre == Centre::plain ? Lag(length - 2) : Lag(0);
      pairs = {{match, Lag(length - 1), Integer(alphabet - 1)}};
    } else {
      const unsigned digits = std::min(static_cast<unsigned>(I::digits), 900U);
      const Surrogate s = surrogate<I>(folded, bits_of_digits(digits));
      slack = cosine_slack(s, length);
      pairs = least_pairs(circle(s.turns, alphabet, length, centre), alphabet, length - 1);
    }
    std::optional<Enclosure> margin;
    RetrievalPair pair;
    for (const RetrievalPair& p : pairs) {
      const Enclosure value =
          enclosure(I(match_logit<I>(folded, p.match, phase) -
                      distractor_logit<I>(folded, p.distractor, p.letter_offset, alphabet, phase)));
      if (!margin || value.middle() < margin->middle()) pair = p;
      margin = margin ? Enclosure(std::min(margin->lo, value.lo), std::min(margin->hi, value.hi))
                      : value;
    }
    margin->lo -= slack;
    const Rational attained = std::max(abs(margin->lo), abs(margin->hi));
    best =
        RetrievalMargin{*margin, margin->lo > 0 ? *margin : Enclosure(Rational(0), attained), pair};
    if (margin->exact() || narrow(*margin)) return best;
    return std::nullopt;
  };
  if (auto result = theory::at_rising_precision(attempt, start)) return result;
  return best;
}

}  // namespace ropewalk::proofs_numeric
