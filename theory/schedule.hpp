#pragma once
/// \file
/// Schedules: the frequency table of a rotary head, kept as formulas.
///
/// Plane f of a head turns by `frequencies[f]` radians per token. Every published recipe (position
/// interpolation, YaRN, Llama 3.1, LongRoPE, ...) is a rule that turns a base and a dimension into
/// such a list. The builders below take the recipe's parameters as exact rationals, decide
/// everything that the recipe decides (which region a plane is in, where a ramp is clipped, what a
/// wavelength rounds to) with certainty, and return one closed formula per plane:
///
///   const Schedule s = linear({10000, 128}, 8);
///   s.frequencies[1].text();                      // 1/8*10000^(-1/64)
///   s.frequencies[1].as<double>();                // 0.10824...
///   enclosure(s.frequencies[1].as<Interval<40>>())
///   s.float32[1];                                 // what Hugging Face transformers holds in
///   memory
///
/// The second table, `float32`, is not a rounding of the first: it repeats, operation by operation,
/// the float32 and Python-float arithmetic with which transformers builds its `inv_freq` buffer.
/// Recipes that transformers does not have carry the correctly rounded value there.
///
/// Errors common to all builders: Error(bad_value) for a base <= 0, a rotary dimension that is odd
/// or < 2 or above 2^16, a factor <= 0; Error(undecided) where 2560 digits do not settle a
/// decision. Cost: O(planes) formula nodes; a few certain comparisons per plane.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "theory/formula.hpp"

namespace ropewalk::theory {

struct Schedule {
  std::string scheme;                ///< "default", "linear", "yarn", ...
  std::string description;           ///< the rule with its numbers, one line
  std::vector<Formula> frequencies;  ///< radians per token; plane f at index f, frequency ID f+1
  Formula attention_factor{1};       ///< multiplies cos and sin; logits carry its square
  std::vector<float> float32;        ///< inv_freq as transformers computes it
  float attention_factor_float32 = 1.0F;
};

/// What every recipe starts from: B and D of inv_freq_i = B^(-2i/D), i = 0 .. D/2-1.
struct Plain {
  Rational base;
  unsigned rotary_dim = 0;
};

/// inv_freq_i = B^(-2i/D). Guarantee: Exact formulas. A partial rotary head passes its smaller D.
[[nodiscard]] Schedule default_schedule(const Plain& plain);

/// Position interpolation (2306.15595): inv_freq_i / s, also for s < 1 as transformers does.
[[nodiscard]] Schedule linear(const Plain& plain, const Rational& factor);

/// NTK-aware scaling: B' = B s^(D/(D-2)), so inv_freq_i = B^(-2i/D) s^(-2i/(D-2)). D >= 4.
/// Factors s < 1 are accepted.
[[nodiscard]] Schedule ntk_aware(const Plain& plain, const Rational& factor);

/// Dynamic NTK: NTK-aware with the factor s L/L0 - (s - 1), L = max(length, L0). A pure function of
/// the length; there is no state that an earlier, longer request could leave behind.
struct DynamicNtk {
  Rational factor = 1;
  Integer original_length = 0;  ///< L0, tokens
  Integer length = 0;           ///< L, tokens; anything <= L0 gives the table at L0
};
[[nodiscard]] Schedule dynamic_ntk(const Plain& plain, const DynamicNtk& options);

/// YaRN (2309.00071) as transformers implements it: a ramp linear in the plane's index.
struct Yarn {
  Rational factor = 1;          ///< s
  Integer original_length = 0;  ///< L0, tokens
  Rational beta_fast = 32;      ///< turns within L0 above which a plane is left alone
  Rational beta_slow = 1;       ///< turns within L0 below which a plane is divided by s
  bool truncate = true;         ///< round the ends of the ramp outwards to whole indices
  std::optional<Rational> mscale = {};
  std::optional<Rational> mscale_all_dim = {};
  std::optional<Rational> attention_factor = {};  ///< wins over the two above
};
/// dim(r) = D ln(L0/(2 pi r)) / (2 ln B); ramp from max(floor dim(beta_fast), 0) to
/// min(ceil dim(beta_slow), D-1), widened by 0.001 when empty; inv_freq = inv ((1-ramp) + ramp/s).
/// Attention factor: explicit, else m(mscale)/m(mscale_all_dim) where both are non-zero, else m(1),
/// with m(x) = 0.1 x ln s + 1 for s > 1 and 1 otherwise. B > 1. Guarantee: Exact formulas; floor
/// and ceil are certain.
[[nodiscard]] Schedule yarn(const Plain& plain, const Yarn& options);

/// YaRN as the paper states it: linear in the turns r_i = L0/wavelength_i, gamma_i =
/// clip((r_i - beta_slow)/(beta_fast - beta_slow), 0, 1), inv_freq = ((1-gamma)/s + gamma) inv.
/// Uses factor, original_length, the two betas and attention_factor of `options`; 0.1 ln s + 1
/// otherwise.
[[nodiscard]] Schedule yarn_paper(const Plain& plain, const Yarn& options);

/// m(s) = 0.1 mscale ln s + 1 for s > 1, else 1: the attention scale of YaRN and DeepSeek.
[[nodiscard]] Formula yarn_mscale(const Rational& factor, const Rational& mscale);

/// Llama 3.1: three regions by wavelength.
struct Llama3 {
  Rational factor = 8;
  Rational low_freq_factor = 1;
  Rational high_freq_factor = 4;
  Integer original_length = 8192;  ///< L0, tokens
};
/// wavelength < L0/high: unchanged; > L0/low: divided by s; between: blended linearly in
/// L0/wavelength.
[[nodiscard]] Schedule llama3(const Plain& plain, const Llama3& options);

/// LongRoPE (2402.13753): each plane divided by its own factor, one list for lengths <= L0 and one
/// for longer ones.
struct LongRope {
  std::vector<Rational> short_factor = {};  ///< D/2 positive numbers
  std::vector<Rational> long_factor = {};   ///< D/2 positive numbers
  Integer original_length = 0;              ///< L0, tokens
  Rational factor = 1;                      ///< s: enters the attention factor only
  std::optional<Rational> attention_factor = {};
  Integer length = 0;  ///< L, tokens
};
/// Attention factor: explicit, else sqrt(1 + ln s / ln L0) for s > 1, else 1. Throws
/// Error(bad_value) for a list whose length is not D/2.
[[nodiscard]] Schedule longrope(const Plain& plain, const LongRope& options);

/// p-RoPE (2410.06205): keeps the floor(p D/2) fastest planes and stops the others. 0 <= p <= 1.
[[nodiscard]] Schedule p_rope(const Plain& plain, const Rational& p);

/// "proportional" of transformers 5: inv_freq_i = B^(-2i/D)/s for i < floor(p D/2), 0 for the
/// others, with D the whole head. Differs from a partial rotary head: the exponent runs over D.
[[nodiscard]] Schedule proportional(const Plain& plain, const Rational& p, const Rational& factor);

/// Resonance (2403.00071) applied to any schedule: every wavelength is rounded to a whole number of
/// tokens, inv_freq = 2 pi / round(wavelength); halves round up; planes that stand still stay so.
/// The turns per token are then exactly rational. Throws Error(bad_value) for a wavelength below
/// 1/2.
[[nodiscard]] Schedule resonance(const Schedule& of);

/// Any list of frequencies in radians per token.
[[nodiscard]] Schedule custom(std::vector<Formula> frequencies,
                              Formula attention_factor = Formula(1));

/// The number as written: the shortest decimal that reads back as `value`, exactly. Throws
/// Error(bad_value) for NaN and infinities.
[[nodiscard]] Rational shortest_decimal(double value);
/// The nearest double and float, ties to even. Exact rounding (a conversion by GMP would truncate).
[[nodiscard]] double nearest_double(const Rational& value);
[[nodiscard]] float nearest_float(const Rational& value);
/// The float nearest to a formula. Guarantee: Exact where 60 digits tell the two neighbours apart.
[[nodiscard]] float nearest_float(const Formula& value);
/// Steps between two floats along the float32 line; 0 for +0 and -0. Domain: not NaN.
[[nodiscard]] std::int64_t float32_ulps(float a, float b);

}  // namespace ropewalk::theory
