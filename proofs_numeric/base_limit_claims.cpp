// Judges for P5: aliasing, DC stability and the precision wall of a base.

#include <fmt/format.h>

#include "proofs_numeric/claims.hpp"
#include "proofs_numeric/one_plane.hpp"
#include "proofs_numeric/precision.hpp"
#include "theory/formula.hpp"

namespace ropewalk::proofs_numeric {

using theory::Interval;
using I = Interval<40>;

namespace {

// The slowest plane of base b and d rotary dimensions turns by b^(-(d-2)/d).
Formula slowest(const Rational& base, unsigned dim) {
  return pow(Formula(base), Rational(-static_cast<int>(dim - 2), static_cast<int>(dim)));
}

// Its wavelength in tokens.
Formula wavelength(const Rational& base, unsigned dim) {
  return Formula(2) * Formula::pi() / slowest(base, dim);
}

Formula published_length(const Rational& base) {
  return Formula(2) * Formula::pi() * Formula(base);
}

bool below(const Formula& x, const Formula& y) {
  const auto order = compare(x, y);
  return order && *order == std::strong_ordering::less;
}

Names base_and_dim(const Rational& base, unsigned dim, const Rational& length) {
  return {{{"b", base.str()}, {"d", std::to_string(dim)}, {"L", length.str()}}, {}};
}

// x rounded to `precision` significant bits, to nearest, ties to even; exponents without limit.
Rational rounded(const Rational& x, int precision) {
  if (x == 0) return 0;
  Rational size = abs(x);
  Rational unit = 1;  // of the last place
  const Integer top = Integer(1) << precision;
  while (size >= Rational(top) * unit) unit *= 2;
  while (2 * size < Rational(top) * unit) unit /= 2;
  const Rational scaled = size / unit;
  Integer whole = theory::floor(scaled);
  const Rational rest = scaled - Rational(whole);
  if (rest > Rational(1, 2) || (rest == Rational(1, 2) && bit_test(whole, 0))) ++whole;
  const Rational result = Rational(whole) * unit;
  return x < 0 ? Rational(-result) : result;
}

// The same of a number that is only enclosed, where both ends round alike.
std::optional<Rational> rounded(const Enclosure& x, int precision) {
  const Rational lo = rounded(x.lo, precision);
  if (rounded(x.hi, precision) != lo) return std::nullopt;
  return lo;
}

Rational epsilon_of(const Format& format) { return {1, Integer(1) << (format.precision - 1)}; }

constexpr Format formats[] = {bf16, fp16, tf32, fp32, fp64};

}  // namespace

Judgement no_aliasing_below_published_length() {
  // Smallest length, then smallest dimension, then simplest base: a lag within the length that is
  // a whole turn of the slowest plane or more, below the published limit.
  for (unsigned length = 2; length <= 64; ++length)
    for (const unsigned dim : {4U, 6U, 8U}) {
      // b > L/(2 pi) and b^((d-2)/d) <= (L-1)/(2 pi), so b <= ((L-1)/(2 pi))^(d/(d-2)).
      const Formula turn = Formula(2) * Formula::pi();
      const Formula low = Formula(length) / turn;
      const Formula step = Formula(length - 1) / turn;
      const auto low_end = enclosure(low.as<I>()).hi;
      const I power = exp(I(I(Rational(dim, dim - 2)) * log(step.as<I>())));
      const auto high_end = enclosure(power).lo;
      if (low_end >= high_end || low_end < 1) continue;
      const Rational base = simplest_between(low_end, high_end);
      const Formula wave = wavelength(base, dim);
      if (!below(wave, Formula(length - 1)) || !below(Formula(length), published_length(base)))
        continue;
      // The table of 10000 and 128, half way between the two lengths.
      const Formula common = wavelength(10000, 128);
      const bool common_too =
          below(common, Formula(59999)) && below(Formula(60000), published_length(10000));
      const Enclosure value = enclose(wave, 20);
      Witness w;
      w["base"] = base.str();
      w["dim"] = dim;
      w["length"] = length;
      w["wavelength"] = text(value, 8);
      w["published_limit"] = text(enclose(published_length(base), 20), 8);
      w["base_10000_dim_128"] = {
          {"length", 60000},
          {"wavelength", text(enclose(common, 20), 8)},
          {"published_limit", text(enclose(published_length(10000), 20), 8)}};
      return {
          common_too ? Verdict::refuted : Verdict::undecided,
          "every length, then d = 4, 6, 8, then the simplest base: the first whose slowest "
          "plane makes a whole turn within the length; value = its wavelength in tokens",
          value,
          w,
          {relation("(L - 1)*b^(-(d-2)/d) < 2*pi", base_and_dim(base, dim, length), false),
           relation("L < 2*pi*b", base_and_dim(base, dim, length)),
           relation("L < 2*pi*b and (L - 1)*b^(-(d-2)/d) > 2*pi", base_and_dim(10000, 128, 60000)),
           enclosed("2*pi*b^((d-2)/d)", value, base_and_dim(base, dim, length), value_digits)}};
    }
  return {Verdict::undecided, "L <= 64: none found", std::nullopt, std::nullopt};
}

Judgement no_aliasing_within_wavelength() {
  bool holds = true;
  std::vector<Fact> facts;
  unsigned tables = 0;
  std::optional<Enclosure> value;
  for (const char* base : {"2", "100", "10000", "500000", "1000000"})
    for (const unsigned dim : {4U, 8U, 64U, 128U, 256U}) {
      const Rational b = *Formula::parse(base).rational();
      const Formula wave = wavelength(b, dim);
      // Lags go to L - 1: the last length whose lags all stay below a turn.
      const Integer last = theory::ceil(wave);
      holds = holds && below(Formula(Rational(last - 1)), wave) &&
              below(wave, Formula(Rational(last))) && below(wave, published_length(b));
      facts.push_back(
          relation("(L - 1)*b^(-(d-2)/d) < 2*pi and L*b^(-(d-2)/d) > 2*pi and b^((d-2)/d) < b",
                   base_and_dim(b, dim, Rational(last))));
      if (b == 10000 && dim == 128) {
        value = Enclosure(Rational(last));
        facts.push_back(
            enclosed("floor(2*pi*b^((d-2)/d)) + 1", *value, base_and_dim(b, dim, 1), value_digits));
      }
      ++tables;
    }
  return {holds && value ? Verdict::proved : Verdict::undecided,
          fmt::format("{} tables, bases 2 to 10^6, d = 4 to 256: the last length without a whole "
                      "turn and the next with one, both below the published limit; value = that "
                      "length for base 10000, d = 128",
                      tables),
          value, std::nullopt, facts};
}

Judgement dc_stability() {
  bool holds = true;
  std::vector<Fact> facts;
  unsigned pairs = 0;
  std::optional<Enclosure> value;
  for (const char* level : {"0.1", "0.5", "0.9", "0.99"})
    for (const unsigned base : {1U, 2U, 10U, 500U, 10000U, 500000U}) {
      const Formula epsilon = Formula::parse(level);
      const Rational wanted = *epsilon.rational();
      const Formula theta(Rational(1, base));
      const Integer last = theory::floor(acos(epsilon) * Formula(base));  // b >= L / arccos eps
      const auto at = [&](const Integer& t) { return enclosure(theory::cosine<I>(theta, t)); };
      holds = holds && at(last).lo >= wanted && at(last + 1).hi < wanted;
      // Small bases: every lag up to that one.
      for (Integer t = 0; base <= 500 && t <= last; ++t) holds = holds && at(t).lo >= wanted;
      const Names names{{{"b", std::to_string(base)}, {"eps", level}, {"L", last.str()}}, {}};
      if (base <= 500)
        facts.push_back(
            relation("all(t in 0..L: cos(t/b) >= eps) and cos((L + 1)/b) < eps and b "
                     ">= L/acos(eps) and b < (L + 1)/acos(eps)",
                     names));
      else
        facts.push_back(
            relation("cos(L/b) >= eps and cos((L + 1)/b) < eps and b >= L/acos(eps) and b < (L + "
                     "1)/acos(eps) and L/b < pi",
                     names));
      if (base == 10000 && wanted == Rational(1, 2)) {
        value = Enclosure(Rational(last));
        facts.push_back(enclosed("floor(b*acos(eps))", *value, names, value_digits));
      }
      ++pairs;
    }
  return {
      holds && value ? Verdict::proved : Verdict::undecided,
      fmt::format("eps = 0.1, 0.5, 0.9, 0.99 and b = 1, 2, 10, 500, 10^4, 5*10^5 ({} pairs): the "
                  "last lag with b >= L/arccos(eps) keeps cos(L/b) >= eps, the next does not; "
                  "every lag before for b <= 500; value = that lag for b = 10^4, eps = 0.5",
                  pairs),
      value, std::nullopt, facts};
}

Judgement dc_stability_of_table() {
  // Smallest length, then smallest whole base, then coarsest eps, on tables of 4 dimensions.
  constexpr unsigned dim = 4;
  for (unsigned length = 1; length <= 16; ++length)
    for (unsigned base = 1; base <= 16; ++base)
      for (int parts = 2; parts <= 10; ++parts)
        for (int k = 1; k < parts; ++k) {
          const Rational epsilon(k, parts);
          const Formula limit = Formula(length) / acos(Formula(epsilon));
          if (!below(limit, Formula(base))) continue;
          const Enclosure there = enclosure(theory::cosine<I>(slowest(base, dim), length));
          if (there.hi >= epsilon) continue;
          Names names = base_and_dim(base, dim, length);
          names.where.emplace_back("eps", epsilon.str());
          Witness w;
          w["length"] = length;
          w["base"] = base;
          w["dim"] = dim;
          w["eps"] = epsilon.str();
          w["published_limit"] = text(enclose(limit, 20), 8);
          w["cosine"] = text(there, 8);
          // A table in use: base 10000, d = 128, eps = 1/2, at the published length.
          const Integer published = theory::floor(acos(Formula(Rational(1, 2))) * Formula(10000));
          const Enclosure common = enclosure(theory::cosine<I>(slowest(10000, 128), published));
          w["base_10000_dim_128"] = {
              {"eps", "1/2"}, {"length", published.str()}, {"cosine", text(common, 8)}};
          Names wide = base_and_dim(10000, 128, Rational(published));
          return {
              common.hi < Rational(1, 2) ? Verdict::refuted : Verdict::undecided,
              "d = 4, every length, whole base and eps = k/p, p <= 10, in this order: the first "
              "whose slowest plane falls below eps though b >= L/arccos(eps); value = its "
              "cosine at lag L",
              there,
              w,
              {relation("cos(L*b^(-(d-2)/d)) >= eps", names, false),
               relation("b >= L/acos(eps)", names),
               relation("b >= L/acos(1/2) and cos(L*b^(-(d-2)/d)) < 1/2", wide),
               enclosed("cos(L*b^(-(d-2)/d))", there, names, value_digits)}};
        }
  return {Verdict::undecided, "L, b <= 16: none found", std::nullopt, std::nullopt};
}

Judgement dc_stability_of_table_corrected() {
  bool holds = true;
  std::vector<Fact> facts;
  unsigned tables = 0;
  std::optional<Enclosure> value;
  for (const char* level : {"0.1", "0.5", "0.9"})
    for (const unsigned base : {2U, 100U, 10000U, 500000U})
      for (const unsigned dim : {4U, 64U, 128U}) {
        const Formula epsilon = Formula::parse(level);
        const Rational wanted = *epsilon.rational();
        const Formula theta = slowest(base, dim);
        // b >= (L / arccos eps)^(d/(d-2)) iff L <= arccos(eps) / theta.
        const Integer last = theory::floor(acos(epsilon) / theta);
        holds = holds && enclosure(theory::cosine<I>(theta, last)).lo >= wanted &&
                enclosure(theory::cosine<I>(theta, last + 1)).hi < wanted;
        Names names = base_and_dim(base, dim, Rational(last));
        names.where.emplace_back("eps", level);
        facts.push_back(
            relation("cos(L*b^(-(d-2)/d)) >= eps and cos((L + 1)*b^(-(d-2)/d)) < eps and L <= "
                     "acos(eps)*b^((d-2)/d) and L + 1 > acos(eps)*b^((d-2)/d)",
                     names));
        if (base == 10000 && dim == 128 && wanted == Rational(1, 2)) {
          value = Enclosure(Rational(last));
          facts.push_back(enclosed("floor(acos(eps)*b^((d-2)/d))", *value, names, value_digits));
        }
        ++tables;
      }
  return {holds && value ? Verdict::proved : Verdict::undecided,
          fmt::format("eps = 0.1, 0.5, 0.9, bases 2 to 5*10^5, d = 4, 64, 128 ({} cases): the last "
                      "lag within the corrected limit keeps eps, the next does not; value = that "
                      "lag for base 10000, d = 128, eps = 0.5",
                      tables),
          value, std::nullopt, facts};
}

Judgement dc_stability_at_depth() {
  bool holds = true;
  std::vector<Fact> facts;
  unsigned cases = 0;
  std::optional<Enclosure> value;
  for (const char* level : {"0.1", "0.5", "0.9"})
    for (const unsigned base : {10U, 500U, 10000U})
      for (const unsigned depth : {1U, 2U, 12U, 32U}) {
        const Formula epsilon = Formula::parse(level);
        const Rational wanted = *epsilon.rational();
        const I root = exp(I(log(I(wanted)) / I(depth)));
        const Integer last = theory::floor(
            enclosure(I(acos(root) * I(base))).lo);  // b >= L/arccos(eps^(1/N)), surely
        const Formula theta(Rational(1, base));
        const auto product = [&](const Integer& t) {
          return enclosure(
              theory::detail::integer_power<I>(theory::cosine<I>(theta, t), Integer(depth)));
        };
        holds = holds && product(last).lo >= wanted && product(last + 1).hi < wanted;
        for (Integer t = 0; base <= 500 && t <= last; ++t) holds = holds && product(t).lo >= wanted;
        const Names names{{{"b", std::to_string(base)},
                           {"eps", level},
                           {"N", std::to_string(depth)},
                           {"L", last.str()}},
                          {}};
        facts.push_back(relation("b >= L/acos(eps^(1/N)) and cos(L/b)^N >= eps", names));
        if (base <= 500) facts.push_back(relation("all(t in 0..L: cos(t/b)^N >= eps)", names));
        if (base == 10000 && depth == 32 && wanted == Rational(1, 2)) {
          value = Enclosure(Rational(last));
          facts.push_back(enclosed("floor(b*acos(eps^(1/N)))", *value, names, value_digits));
        }
        ++cases;
      }
  return {holds && value ? Verdict::proved : Verdict::undecided,
          fmt::format("eps = 0.1, 0.5, 0.9, b = 10, 500, 10^4, N = 1, 2, 12, 32 ({} cases): every "
                      "lag within the limit keeps cos^N >= eps (each one for b <= 500, the last "
                      "otherwise) and the first beyond does not; value = the limit for b = 10^4, "
                      "N = 32, eps = 0.5",
                      cases),
          value, std::nullopt, facts};
}

Judgement dc_stability_at_depth_is_necessary() {
  // Even powers forget the sign: a lag may jump over the arc of small cosines. Smallest length,
  // then base 1, N = 2 and eps = 1/p.
  for (unsigned length = 1; length <= 8; ++length)
    for (unsigned base = 1; base <= 4; ++base)
      for (int parts = 2; parts <= 20; ++parts) {
        const Rational epsilon(1, parts);
        const I root = sqrt(I(epsilon));
        const Enclosure limit = enclosure(I(I(length) / acos(root)));
        if (Rational(base) >= limit.lo) continue;  // the condition holds
        bool stays = true;
        std::optional<Enclosure> least;
        for (unsigned t = 0; t <= length; ++t) {
          const I c = theory::cosine<I>(Formula(Rational(1, base)), t);
          const Enclosure square = enclosure(I(c * c));
          stays = stays && square.lo >= epsilon;
          if (!least || square.lo < least->lo) least = square;
        }
        if (!stays) continue;
        const Names names{
            {{"b", std::to_string(base)}, {"L", std::to_string(length)}, {"eps", epsilon.str()}},
            {}};
        Witness w;
        w["length"] = length;
        w["base"] = base;
        w["depth"] = 2;
        w["eps"] = epsilon.str();
        w["limit"] = text(limit, 8);
        w["least_product"] = text(*least, 8);
        return {Verdict::refuted,
                "N = 2, every length, whole base and eps = 1/p, p <= 20, in this order: the first "
                "below the limit whose products all stay above eps; value = the least product",
                *least,
                w,
                {relation("b >= L/acos(sqrt(eps))", names, false),
                 relation("all(t in 0..L: cos(t/b)^2 >= eps)", names),
                 enclosed("min(t in 0..L: cos(t/b)^2)", *least, names, value_digits)}};
      }
  return {Verdict::undecided, "L <= 8, b <= 4: none found", std::nullopt, std::nullopt};
}

Judgement precision_wall_suffices_near_one() {
  bool holds = true;
  std::vector<Fact> facts;
  for (const Format& format : formats) {
    const Rational eps = epsilon_of(format);
    // b = 1/eps - 1 is the last whole base below the wall, and larger steps round higher.
    const Rational wall = 1 / eps;
    for (const Rational& base : {Rational(2), Rational(wall / 2), Rational(wall - 1)})
      holds = holds && rounded(Rational(1 + 1 / base), format.precision) > 1;
    // The exact wall is twice as far: a tie there goes to 1, any larger step to 1 + eps.
    holds = holds && rounded(Rational(1 + 1 / (2 * wall)), format.precision) == 1 &&
            rounded(Rational(1 + 1 / (2 * wall - 1)), format.precision) == 1 + eps;
    facts.push_back(relation("1/(1/eps - 1) > eps and 1/(2/eps - 1) > eps/2 and 1/(2/eps) = eps/2",
                             {{{"eps", fmt::format("2^(-{})", format.precision - 1)}}, {}}));
  }
  const Rational value = 2 / epsilon_of(formats[0]);
  facts.push_back(enclosed("2/2^(-7)", Enclosure(value), {}, value_digits));
  return {
      holds ? Verdict::proved : Verdict::undecided,
      "bf16, fp16, tf32, fp32, fp64, round to nearest even, exact: 1 + 1/b rounds above 1 for b "
      "below 1/eps_mach, up to b < 2/eps_mach in fact; value = that limit in bf16",
      Enclosure(value), std::nullopt, facts};
}

Judgement precision_wall_is_necessary() {
  // The narrowest format and the smallest base at the wall: its angles t/b and their order.
  const Format& format = formats[0];
  const Rational base = 1 / epsilon_of(format);
  const unsigned last = 1U << format.precision;
  bool apart = true;
  for (unsigned t = 0; t <= last; ++t) {
    const Rational angle = Rational(t) / base;
    apart = apart && rounded(angle, format.precision) == angle;  // exact, so all different
  }
  // Far beyond the wall likewise: what binds is the lag, 2^p, not the base.
  const Rational far = Rational(Integer(1) << 100);
  for (unsigned t = 0; t <= last; ++t)
    apart = apart && rounded(Rational(Rational(t) / far), format.precision) == Rational(t) / far;
  const bool lost = rounded(Rational(last + 1) / base, format.precision) == Rational(last) / base;
  Witness w;
  w["format"] = format.name;
  w["base"] = base.str();
  w["lags_told_apart"] = last;
  w["first_lost"] = last + 1;
  const Names names{{{"b", base.str()}, {"eps", "2^(-7)"}, {"p", "8"}}, {}};
  return {
      apart && lost ? Verdict::refuted : Verdict::undecided,
      "bf16, b = 1/eps_mach = 128 and b = 2^100, every angle t/b, t = 0..256, exact: all are "
      "numbers of the format, so all are told apart; value = the last lag of which that is true",
      Enclosure(Rational(last)),
      w,
      {relation("b < 1/eps", names, false),
       relation("(2^p + 1)/b = (2^p/b + (2^p + 2)/b)/2", names),
       enclosed("2^p", Enclosure(Rational(last)), names, value_digits)}};
}

Judgement precision_wall_suffices_for_cosine() {
  const auto first_lost = [](const Format& format) -> std::optional<unsigned> {
    for (unsigned base = 1; base <= 1U << 16; ++base) {
      const auto c =
          rounded(enclosure(theory::cosine<I>(Formula(Rational(1, base)), 1)), format.precision);
      if (!c) return std::nullopt;
      if (*c == 1) return base;
    }
    return std::nullopt;
  };
  const auto narrow = first_lost(formats[0]);
  const auto single = first_lost(formats[3]);
  if (!narrow || !single) return {};
  const bool below_wall = Rational(*narrow) < 1 / epsilon_of(formats[0]) &&
                          Rational(*single) < 1 / epsilon_of(formats[3]);
  const Enclosure value = enclosure(theory::cosine<I>(Formula(Rational(1, *narrow)), 1));
  Witness w;
  w["format"] = formats[0].name;
  w["base"] = *narrow;
  w["wall"] = Rational(1 / epsilon_of(formats[0])).str();
  w["cosine"] = text(value, 8);
  w["rounds_to"] = 1;
  w["fp32"] = {{"base", *single}, {"wall", Rational(1 / epsilon_of(formats[3])).str()}};
  const Names names{{{"b", std::to_string(*narrow)}, {"eps", "2^(-7)"}}, {}};
  const Names wide{{{"b", std::to_string(*single)}, {"eps", "2^(-23)"}}, {}};
  // Numbers below 1 are eps/2 apart: from 1 - eps/4 on they round to 1.
  return {below_wall ? Verdict::refuted : Verdict::undecided,
          "bf16 and fp32, whole bases from 1 on, cosine of one token of the slowest plane 1/b "
          "rounded to nearest even: the first that rounds to 1, the cosine of no token; value = "
          "that cosine in bf16",
          value,
          w,
          {relation("cos(1/b) < 1 - eps/4", names, false), relation("b < 1/eps", names),
           relation("cos(1/(b - 1)) < 1 - eps/4", names),
           relation("b < 1/eps and cos(1/b) > 1 - eps/4 and cos(1/(b - 1)) < 1 - eps/4", wide),
           enclosed("cos(1/b)", value, names, value_digits)}};
}

}  // namespace ropewalk::proofs_numeric
