#include "proofs_numeric/retrieval_margin.hpp"

#include <algorithm>

namespace ropewalk::proofs_numeric {

namespace {

// A key: how far back, and how many letters round from the wanted one (0: a match).
struct Key {
  Lag lag;
  Integer letter;
};

// The head mirrored to theta in [0, pi]: with -theta every key of letter k acts as one of letter
// -k.
struct Head {
  Formula theta;
  Formula phase;  // -c
  Integer alphabet;
  Lag length;
  Centre centre;
  bool mirrored;

  // Where a key stands on the circle, in turns, for an angle of `turns`.
  [[nodiscard]] Rational place(const Rational& turns, const Key& key) const {
    const Rational c =
        centre == Centre::centred ? Rational(turns * Rational(length - 1) / 2) : Rational(0);
    return turns * Rational(key.lag) + Rational(key.letter, alphabet) - c;
  }
  template <class I>
  [[nodiscard]] I logit(const Key& key) const {
    const Formula letters = Formula(Rational(2 * key.letter, alphabet)) * Formula::pi();
    return theory::cosine<I>(theta, key.lag, letters + phase);
  }
  // logit(a) - logit(b); exactly 0 where rational turns put both at one distance.
  template <class I>
  [[nodiscard]] Enclosure difference(const Key& a, const Key& b) const {
    if (const auto turns = theta.turns())
      if (theory::distance_to_integer(place(*turns, a)) ==
          theory::distance_to_integer(place(*turns, b)))
        return Enclosure(Rational(0));
    return enclosure(I(logit<I>(a) - logit<I>(b)));
  }
};

Head make_head(const Formula& theta, const Integer& alphabet, const Lag& length, Centre centre) {
  const Formula folded = theory::folded(theta);
  const bool mirrored = sign(folded) == -1;
  const Formula angle = mirrored ? -folded : folded;
  const Formula phase =
      centre == Centre::plain ? Formula(0) : -(angle * Formula(Rational(length - 1) / 2));
  return {angle, phase, alphabet, length, centre, mirrored};
}

// 2 pi / (A theta): the number of tokens in which position drifts by one letter.
Formula tokens_per_letter(const Formula& angle, const Integer& alphabet) {
  if (const auto r = angle.turns()) return Formula(Rational(1 / (*r * Rational(alphabet))));
  return Formula(2) * Formula::pi() / (Formula(Rational(alphabet)) * angle);
}

// A rational angle within `error` turns of the true one.
struct Surrogate {
  Rational turns;
  Rational error;
};

// Denominator 2^bits; exact for rational turns.
template <class I>
Surrogate surrogate(const Formula& angle, unsigned bits) {
  if (const auto r = angle.turns()) return {*r, 0};
  const Enclosure alpha = enclosure(theory::turns<I>(angle));
  const Integer scale = Integer(1) << bits;
  const Rational rounded(theory::floor(Rational(alpha.lo * Rational(scale))), scale);
  return {rounded, alpha.hi - rounded};
}

// A cosine moves by at most 2 pi < 7 times the turns it is off; two cosines, each off by n + n/2
// errors.
Rational cosine_slack(const Surrogate& s, const Lag& length) {
  return 2 * 7 * 2 * s.error * Rational(length);
}

// The surrogate's circle, as integers mod `modulus`.
struct Circle {
  Integer modulus;
  Integer step;    // theta
  Integer shift;   // -c
  Integer letter;  // omega
  Integer half;    // half a turn
  Integer alphabet;

  [[nodiscard]] Integer distance(const Integer& x) const {
    Integer r = x % modulus;
    if (r < 0) r += modulus;
    return r > half ? Integer(modulus - r) : r;
  }
  // The letter k != 0 that brings point + k * letter nearest to `target`.
  [[nodiscard]] Integer nearest_letter(const Integer& point, const Integer& target) const {
    Integer k = theory::floor(Rational(target - point, letter) + Rational(1, 2)) % alphabet;
    if (k < 0) k += alphabet;
    if (k != 0) return k;
    const bool up = distance(point + letter - target) <= distance(point - letter - target);
    return up ? Integer(1) : Integer(alphabet - 1);
  }
};

Circle circle(const Head& head, const Rational& turns) {
  const Rational c = -head.place(turns, {0, 0});
  Circle result;
  result.modulus =
      2 * lcm(lcm(Integer(denominator(turns)), Integer(denominator(c))), head.alphabet);
  const auto units = [&](const Rational& x) {
    return Integer(numerator(Rational(x * Rational(result.modulus))));
  };
  result.step = units(turns);
  result.shift = -units(c);
  result.letter = units(Rational(1, head.alphabet));
  result.half = result.modulus / 2;
  result.alphabet = head.alphabet;
  return result;
}

// ------------------------------------------------------------------------------------ reading min

std::optional<NearestReturn> nearest(const Circle& c, const Integer& offset, const Lag& first,
                                     const Lag& last) {
  return nearest_return(c.step, offset, c.modulus, first, last);
}

// Over 0..last without one lag.
std::optional<NearestReturn> nearest_but(const Circle& c, const Integer& offset, const Lag& last,
                                         const Lag& left_out) {
  const auto a = nearest(c, offset, 0, left_out - 1);
  const auto b = nearest(c, offset, left_out + 1, last);
  if (!a) return b;
  if (!b || a->distance <= b->distance) return a;
  return b;
}

// The distractor of largest logit at lags 0..last (without one lag, if given).
std::optional<Key> strongest_distractor(const Circle& c, const Lag& last, const Lag* left_out) {
  std::optional<Key> best;
  Integer distance;
  for (Integer k = 1; k < c.alphabet; ++k) {
    const Integer offset = c.shift + k * c.letter;
    const auto n =
        left_out != nullptr ? nearest_but(c, offset, last, *left_out) : nearest(c, offset, 0, last);
    if (!n || (best && n->distance >= distance)) continue;
    best = Key{n->lag, k};
    distance = n->distance;
  }
  return best;
}

// (match, distractor) pairs one of which is the least on the surrogate circle: the weakest match
// with the strongest distractor, or, where they are one lag, each with the best other partner.
std::vector<std::pair<Key, Key>> least_pairs(const Circle& c, const Lag& last) {
  const Integer opposite = c.shift + c.half;
  const Lag t = nearest(c, opposite, 0, last)->lag;
  const Key u = *strongest_distractor(c, last, nullptr);
  if (t != u.lag) return {{{t, 0}, u}};
  std::vector<std::pair<Key, Key>> pairs;
  if (const auto v = strongest_distractor(c, last, &t)) pairs.push_back({{t, 0}, *v});
  if (const auto s = nearest_but(c, opposite, last, u.lag)) pairs.push_back({{s->lag, 0}, u});
  return pairs;
}

bool narrow(const Enclosure& x) {
  const auto width = x.relative_width();
  return width && *width <= Rational(1, boost::multiprecision::pow(Integer(10), 20));
}

// ------------------------------------------------------------------------------------ reading max

// The three lags of smallest (or largest) distance.
struct Three {
  bool smallest;
  std::vector<std::pair<Integer, Key>> rows{};

  void offer(const Integer& distance, const Key& key) {
    auto at = rows.begin();
    while (at != rows.end() && (smallest ? at->first <= distance : at->first >= distance)) ++at;
    rows.insert(at, {distance, key});
    if (rows.size() > 3) rows.pop_back();
  }
  [[nodiscard]] const Key* without(const Lag& a, const Lag& b) const {
    for (const auto& [distance, key] : rows)
      if (key.lag != a && key.lag != b) return &key;
    return nullptr;
  }
};

// What matters of all lags: an arrangement is a match at t, perhaps a distractor on top at p, and
// elsewhere the weakest letters. Taking a lag out changes the outcome only if it is among the best
// few of a list, so three of each do.
struct MaxRows {
  Three match_high{true};
  Three match_low{false};
  Three strongest{true};     // the strongest distractor of each lag
  Three weakest_high{true};  // the weakest distractor of each lag: the largest of them

  [[nodiscard]] std::vector<Lag> lags() const {
    std::vector<Lag> all;
    for (const Three* list : {&match_high, &match_low, &strongest, &weakest_high})
      for (const auto& [distance, key] : list->rows) all.push_back(key.lag);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }
};

MaxRows rows_of(const Circle& c, const Lag& length) {
  MaxRows rows;
  Integer point = c.shift;
  for (Lag t = 0; t < length; ++t, point += c.step) {
    rows.match_high.offer(c.distance(point), {t, 0});
    rows.match_low.offer(c.distance(point), {t, 0});
    const Integer strong = c.nearest_letter(point, 0);
    rows.strongest.offer(c.distance(point + strong * c.letter), {t, strong});
    const Integer weak = c.nearest_letter(point, c.half);
    rows.weakest_high.offer(c.distance(point + weak * c.letter), {t, weak});
  }
  return rows;
}

Enclosure larger(const Enclosure& x, const Enclosure& y) {
  return {std::max(x.lo, y.lo), std::max(x.hi, y.hi)};
}
Enclosure smaller(const Enclosure& x, const Enclosure& y) {
  return {std::min(x.lo, y.lo), std::min(x.hi, y.hi)};
}

template <class I>
RetrievalMargin largest(const Head& head, const Circle& c, const MaxRows& rows) {
  const std::vector<Lag> lags = rows.lags();
  std::optional<Enclosure> margin;
  RetrievalPair pair;
  for (const Lag& t : lags) {
    const Key* other = rows.weakest_high.without(t, t);
    if (other == nullptr) continue;
    const Enclosure value = head.difference<I>({t, 0}, *other);
    if (!margin || margin->middle() < value.middle()) pair = {t, other->lag, other->letter};
    margin = margin ? larger(*margin, value) : value;
  }
  // The gap may be larger with a distractor on top and the match among the losers.
  Enclosure gap = *margin;
  for (const Lag& p : lags) {
    const Key top{p, c.nearest_letter(c.shift + p * c.step, 0)};
    for (const Lag& t : lags) {
      if (t == p) continue;
      Enclosure lead = head.difference<I>(top, {t, 0});
      if (const Key* other = rows.weakest_high.without(p, t))
        lead = smaller(lead, head.difference<I>(top, *other));
      gap = larger(gap, lead);
    }
  }
  return {*margin, gap, pair};
}

void check_alphabet(const Integer& alphabet) {
  if (alphabet < 2)
    throw Error(ErrorCode::bad_value,
                "the alphabet needs at least 2 letters, not " + alphabet.str());
}

// Back from the mirrored head.
RetrievalMargin unmirrored(RetrievalMargin m, const Head& head) {
  if (head.mirrored) m.pair.letter_offset = head.alphabet - m.pair.letter_offset;
  return m;
}

}  // namespace

std::optional<Lag> retrieval_horizon(const Formula& theta, const Integer& alphabet, Centre centre) {
  check_alphabet(alphabet);
  const Formula folded = theory::folded(theta);
  const auto s = sign(folded);
  if (!s) throw Error(ErrorCode::undecided, theta.text() + " cannot be told from 0");
  if (*s == 0) return std::nullopt;
  const Formula drift = tokens_per_letter(*s < 0 ? -folded : folded, alphabet);
  const Formula bound =
      centre == Centre::plain ? Formula(Rational(3, 2)) + drift / Formula(2) : Formula(1) + drift;
  const Integer horizon = theory::ceil(bound) - 1;
  return horizon < 1 ? Lag(1) : horizon;  // theta >= omega: no length beyond 1
}

std::optional<RetrievalMargin> retrieval_margin(const Formula& theta, const Integer& alphabet,
                                                const Lag& length, Centre centre, Reading reading) {
  check_alphabet(alphabet);
  if (length < 1)
    throw Error(ErrorCode::bad_value, "the length must be at least 1, not " + length.str());
  if (length == 1) return std::nullopt;
  const auto digits = static_cast<unsigned>(length.str().size());
  if (digits > 700) throw Error(ErrorCode::too_large, "the length has more than 700 digits");
  const Head head = make_head(theta, alphabet, length, centre);
  const unsigned start = digits + 30;

  if (reading == Reading::max) {
    if (length > 1000000)
      throw Error(ErrorCode::too_large,
                  "the reading max looks at every lag: the length must not exceed 1000000");
    const auto result = theory::at_rising_precision(
        [&]<class I>() -> std::optional<RetrievalMargin> {
          const Surrogate s = surrogate<I>(head.theta, 120);
          const Circle c = circle(head, s.turns);
          RetrievalMargin m = largest<I>(head, c, rows_of(c, length));
          const Rational slack = cosine_slack(s, length);
          for (Enclosure* x : {&m.margin, &m.gap}) *x = Enclosure(x->lo - slack, x->hi + slack);
          return m;
        },
        start);
    return unmirrored(*result, head);
  }

  const auto horizon = retrieval_horizon(theta, alphabet, centre);
  const bool closed_form = !horizon || length <= *horizon;
  if (!closed_form && alphabet * digits > 4000000)
    throw Error(ErrorCode::too_large,
                "beyond the horizon every letter is tried: the alphabet times the digits of the "
                "length must not exceed 4000000");

  std::optional<RetrievalMargin> best;
  const auto attempt = [&]<class I>() -> std::optional<RetrievalMargin> {
    std::vector<std::pair<Key, Key>> pairs;
    Rational slack = 0;
    if (closed_form) {
      const Lag match = centre == Centre::plain ? Lag(length - 2) : Lag(0);
      pairs = {{{match, 0}, {Lag(length - 1), Integer(alphabet - 1)}}};
    } else {
      const Surrogate s = surrogate<I>(head.theta, 3 * std::min(I::digits, 900U));
      slack = cosine_slack(s, length);
      pairs = least_pairs(circle(head, s.turns), length - 1);
    }
    std::optional<Enclosure> margin;
    RetrievalPair pair;
    for (const auto& [match, distractor] : pairs) {
      const Enclosure value = head.difference<I>(match, distractor);
      if (!margin || value.middle() < margin->middle())
        pair = {match.lag, distractor.lag, distractor.letter};
      margin = margin ? smaller(*margin, value) : value;
    }
    margin->lo -= slack;
    const Rational attained = std::max(abs(margin->lo), abs(margin->hi));
    best =
        RetrievalMargin{*margin, margin->lo > 0 ? *margin : Enclosure(Rational(0), attained), pair};
    if (margin->exact() || narrow(*margin)) return best;
    return std::nullopt;
  };
  theory::at_rising_precision(attempt, start);
  return unmirrored(*best, head);
}

std::vector<Integer> retrieval_letters(const Formula& theta, const Integer& alphabet,
                                       std::uint32_t length, Centre centre,
                                       const RetrievalPair& pair) {
  check_alphabet(alphabet);
  if (length < 2 || length > 4096)
    throw Error(ErrorCode::too_large, "inputs are written out for lengths 2..4096");
  const Head head = make_head(theta, alphabet, length, centre);
  const Circle c = circle(head, surrogate<theory::Interval<160>>(head.theta, 300).turns);
  std::vector<Integer> letters;
  for (std::uint32_t lag = 0; lag < length; ++lag) {
    const Integer weak = c.nearest_letter(c.shift + lag * c.step, c.half);
    if (lag == pair.match)
      letters.emplace_back(0);
    else if (lag == pair.distractor)
      letters.push_back(pair.letter_offset);
    else
      letters.push_back(head.mirrored ? Integer(alphabet - weak) : weak);
  }
  return letters;
}

}  // namespace ropewalk::proofs_numeric
