#include "theory/schedule.hpp"

#include <mpfr.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <numbers>
#include <utility>

namespace ropewalk::theory {

namespace {

constexpr unsigned most_dimensions = 1U << 16;

[[noreturn]] void bad(const std::string& what) { throw Error(ErrorCode::bad_value, what); }

std::string show(const Rational& x) {
  const std::string exact = x.str();
  return exact.find('/') == std::string::npos ? exact : decimal(x, 17, Round::nearest);
}

void check(const Plain& plain) {
  if (plain.base <= 0) bad("the rotary base must be positive, got " + show(plain.base));
  if (plain.rotary_dim < 2 || plain.rotary_dim % 2 != 0)
    bad("the rotary dimension must be even and at least 2, got " +
        std::to_string(plain.rotary_dim));
  if (plain.rotary_dim > most_dimensions)
    throw Error(ErrorCode::too_large,
                "a rotary dimension of " + std::to_string(plain.rotary_dim) + " is beyond 2^16");
}
void check_factor(const Rational& factor) {
  if (factor <= 0) bad("the scaling factor must be positive, got " + show(factor));
}
void check_length(const Integer& length) {
  if (length <= 0) bad("the original context length must be positive, got " + length.str());
}

/// The q-th root of a non-negative integer where it is an integer.
std::optional<Integer> whole_root(const Integer& x, unsigned long q) {
  Integer root;
  if (mpz_root(root.backend().data(), x.backend().data(), q) != 0) return root;
  return std::nullopt;
}

/// x^e for x > 0, folded to a fraction where it is one: 10000^(-1/2) is 1/100.
Formula power(const Rational& x, const Rational& e) {
  const auto q = denominator(e).convert_to<unsigned long>();
  const auto top = whole_root(numerator(x), q);
  const auto bottom = whole_root(denominator(x), q);
  if (top && bottom) return pow(Formula(Rational(*top, *bottom)), Rational(numerator(e)));
  return pow(Formula(x), e);
}

Formula inverse_frequency(const Plain& plain, unsigned i) {
  return power(plain.base, Rational(-Integer(2 * i), Integer(plain.rotary_dim)));
}

bool certainly_less(const Formula& x, const Formula& y) {
  const auto order = compare(x, y);
  if (!order) throw Error(ErrorCode::undecided, x.text() + " cannot be told from " + y.text());
  return *order < 0;
}

// --- float32 as PyTorch computes it on a CPU
// ------------------------------------------------------- A Python number that meets a float32
// tensor is rounded to float32 first; every tensor operation rounds once. 1/x and number/x are a
// reciprocal followed by a product.

float as_float(double x) { return static_cast<float>(x); }

/// x^y rounded once to float32. The exponent is a tensor entry (a float32) or a Python number,
/// which pow, unlike the other operations, takes as it is.
float float_power(float x, double y) {
  mpfr_t a;
  mpfr_t b;
  mpfr_init2(a, 24);
  mpfr_init2(b, 53);
  mpfr_set_flt(a, x, MPFR_RNDN);
  mpfr_set_d(b, y, MPFR_RNDN);
  mpfr_pow(a, a, b, MPFR_RNDN);
  const float result = mpfr_get_flt(a, MPFR_RNDN);
  mpfr_clears(a, b, static_cast<mpfr_ptr>(nullptr));
  return result;
}

float reciprocal(float x) { return 1.0F / x; }

/// base ** (arange(0, dim, 2) / dim)
std::vector<float> position_frequencies(float base, unsigned dim, unsigned planes) {
  std::vector<float> result(planes);
  for (unsigned i = 0; i < planes; ++i)
    result[i] = float_power(base, static_cast<float>(2 * i) / static_cast<float>(dim));
  return result;
}

std::vector<float> default_float32(float base, unsigned dim) {
  std::vector<float> result = position_frequencies(base, dim, dim / 2);
  for (float& x : result) x = reciprocal(x);
  return result;
}

void round_each(Schedule& schedule) {
  schedule.float32.clear();
  for (const Formula& f : schedule.frequencies) schedule.float32.push_back(nearest_float(f));
  schedule.attention_factor_float32 = nearest_float(schedule.attention_factor);
}

double double_mscale(double factor, double mscale) {
  return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

bool given(const std::optional<Rational>& x) { return x && *x != 0; }

void check(const Yarn& options) {
  check_factor(options.factor);
  check_length(options.original_length);
  if (options.beta_fast <= 0) bad("beta_fast must be positive, got " + show(options.beta_fast));
  if (options.beta_slow <= 0) bad("beta_slow must be positive, got " + show(options.beta_slow));
  if (options.attention_factor && *options.attention_factor <= 0)
    bad("attention_factor must be positive, got " + show(*options.attention_factor));
}

}  // namespace

// ----------------------------------------------------------------------------------- numbers

Rational shortest_decimal(double value) {
  if (!std::isfinite(value)) bad("a number that is not finite");
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  const bool negative = text.front() == '-';
  if (negative) text.remove_prefix(1);
  const Rational magnitude = *Formula::parse(text).rational();
  return negative ? Rational(-magnitude) : magnitude;
}

double nearest_double(const Rational& value) {
  mpfr_t x;
  mpfr_init2(x, 53);
  mpfr_set_q(x, value.backend().data(), MPFR_RNDN);
  const double result = mpfr_get_d(x, MPFR_RNDN);
  mpfr_clear(x);
  return result;
}

float nearest_float(const Rational& value) {
  mpfr_t x;
  mpfr_init2(x, 24);
  mpfr_set_q(x, value.backend().data(), MPFR_RNDN);
  const float result = mpfr_get_flt(x, MPFR_RNDN);
  mpfr_clear(x);
  return result;
}

float nearest_float(const Formula& value) {
  if (const auto s = sign(value); s && *s == 0) return 0.0F;
  return nearest_float(enclose(value, 60).middle());
}

std::int64_t float32_ulps(float a, float b) {
  const auto place = [](float x) -> std::int64_t {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const auto magnitude = static_cast<std::int64_t>(bits & 0x7fffffffU);
    return (bits >> 31) != 0 ? -magnitude : magnitude;
  };
  const std::int64_t difference = place(a) - place(b);
  return difference < 0 ? -difference : difference;
}

// ---------------------------------------------------------------------------------- recipes

Schedule default_schedule(const Plain& plain) {
  check(plain);
  Schedule result;
  result.scheme = "default";
  result.description = show(plain.base) + "^(-2i/" + std::to_string(plain.rotary_dim) + ")";
  for (unsigned i = 0; i < plain.rotary_dim / 2; ++i)
    result.frequencies.push_back(inverse_frequency(plain, i));
  result.float32 = default_float32(nearest_float(plain.base), plain.rotary_dim);
  return result;
}

Schedule linear(const Plain& plain, const Rational& factor) {
  Schedule result = default_schedule(plain);
  check_factor(factor);
  result.scheme = "linear";
  result.description += " / " + show(factor);
  for (Formula& f : result.frequencies) f = Formula(Rational(1 / factor)) * f;
  for (float& x : result.float32) x /= nearest_float(factor);
  return result;
}

namespace {

void check_ntk(const Plain& plain) {
  if (plain.rotary_dim < 4)
    bad("NTK scaling needs a rotary dimension of at least 4, got " +
        std::to_string(plain.rotary_dim));
}

// B^(-2i/D) t^(-2i/(D-2)) for a stretch t of the base's D/(D-2)-th root.
void stretch(Schedule& schedule, const Plain& plain, const Rational& by) {
  for (unsigned i = 1; i < plain.rotary_dim / 2; ++i)
    schedule.frequencies[i] = schedule.frequencies[i] *
                              power(by, Rational(-Integer(2 * i), Integer(plain.rotary_dim - 2)));
}

}  // namespace

Schedule ntk_aware(const Plain& plain, const Rational& factor) {
  Schedule result = default_schedule(plain);
  check_ntk(plain);
  check_factor(factor);
  result.scheme = "ntk";
  result.description = "base " + show(plain.base) + " * " + show(factor) +
                       "^(D/(D-2)), D = " + std::to_string(plain.rotary_dim);
  stretch(result, plain, factor);
  const double dim = plain.rotary_dim;
  const double base =
      nearest_double(plain.base) * std::pow(nearest_double(factor), dim / (dim - 2));
  result.float32 = default_float32(as_float(base), plain.rotary_dim);
  return result;
}

Schedule dynamic_ntk(const Plain& plain, const DynamicNtk& options) {
  Schedule result = default_schedule(plain);
  check_ntk(plain);
  check_factor(options.factor);
  check_length(options.original_length);
  const bool longer = options.length > options.original_length;
  const Integer length = longer ? options.length : options.original_length;
  const Rational by =
      options.factor * Rational(length, options.original_length) - (options.factor - 1);
  if (by <= 0)  // only for factors < 1
    bad("the dynamic NTK factor " + show(options.factor) + " gives no positive base at length " +
        length.str());
  result.scheme = "dynamic";
  result.description = "base " + show(plain.base) + " * " + show(by) +
                       "^(D/(D-2)), D = " + std::to_string(plain.rotary_dim) + ", at length " +
                       length.str();
  stretch(result, plain, by);
  const double dim = plain.rotary_dim;
  const double factor = nearest_double(options.factor);
  if (longer) {
    // In a forward pass the length is an integer tensor, so all of this runs in float32.
    const float s = as_float(factor);
    const float ratio =
        s * nearest_float(Rational(length)) / nearest_float(Rational(options.original_length));
    const float inner = ratio - as_float(factor - 1);
    const float base = float_power(inner, dim / (dim - 2)) * nearest_float(plain.base);
    result.float32 = default_float32(base, plain.rotary_dim);
  } else {
    const double l0 = nearest_double(Rational(options.original_length));
    const double inner = factor * l0 / l0 - (factor - 1);
    const double base = nearest_double(plain.base) * std::pow(inner, dim / (dim - 2));
    result.float32 = default_float32(as_float(base), plain.rotary_dim);
  }
  return result;
}

Formula yarn_mscale(const Rational& factor, const Rational& mscale) {
  if (factor <= 1) return {1};
  return Formula(1) + Formula(Rational(mscale / 10)) * log(Formula(factor));
}

namespace {

void set_yarn_attention(Schedule& schedule, const Yarn& options) {
  if (options.attention_factor) {
    schedule.attention_factor = Formula(*options.attention_factor);
    schedule.attention_factor_float32 = nearest_float(*options.attention_factor);
    return;
  }
  const double s = nearest_double(options.factor);
  if (given(options.mscale) && given(options.mscale_all_dim)) {
    const Formula top = yarn_mscale(options.factor, *options.mscale);
    const Formula bottom = yarn_mscale(options.factor, *options.mscale_all_dim);
    if (sign(bottom) != 1) bad("mscale_all_dim gives an attention scale that is not positive");
    if (sign(top) != 1) bad("mscale gives an attention scale that is not positive");
    schedule.attention_factor =
        *options.mscale == *options.mscale_all_dim ? Formula(1) : top / bottom;
    schedule.attention_factor_float32 =
        as_float(double_mscale(s, nearest_double(*options.mscale)) /
                 double_mscale(s, nearest_double(*options.mscale_all_dim)));
    return;
  }
  schedule.attention_factor = yarn_mscale(options.factor, 1);
  schedule.attention_factor_float32 = as_float(double_mscale(s, 1));
}

// clip(x, 0, 1), decided with certainty; the ends come back as exact numbers.
Formula clip(const Formula& x) {
  if (certainly_less(x, Formula(0))) return {0};
  if (certainly_less(Formula(1), x)) return {1};
  return x;
}

// ramp/s + 1 - ramp
Formula blend(const Formula& ramp, const Rational& factor) {
  return Formula(1) + ramp * Formula(Rational(1 / factor - 1));
}

}  // namespace

Schedule yarn(const Plain& plain, const Yarn& options) {
  Schedule result = default_schedule(plain);
  check(options);
  if (plain.base <= 1) bad("YaRN needs a base above 1, got " + show(plain.base));
  const unsigned dim = plain.rotary_dim;
  result.scheme = "yarn";
  result.description += ", YaRN factor " + show(options.factor) + ", L0 " +
                        options.original_length.str() + ", betas " + show(options.beta_fast) + "/" +
                        show(options.beta_slow) + (options.truncate ? "" : ", not truncated");

  const auto correction = [&](const Rational& turns) {
    return Formula(dim) *
           log(Formula(Rational(options.original_length)) /
               (Formula(Rational(2 * turns)) * Formula::pi())) /
           (Formula(2) * log(Formula(plain.base)));
  };
  Formula low = correction(options.beta_fast);
  Formula high = correction(options.beta_slow);
  if (options.truncate) {
    low = Formula(Rational(floor(low)));
    high = Formula(Rational(ceil(high)));
  }
  if (certainly_less(low, Formula(0))) low = Formula(0);
  if (certainly_less(Formula(dim - 1), high)) high = Formula(dim - 1);
  bool empty = low.text() == high.text();
  if (!empty) {
    const auto order = compare(low, high);
    if (!order)
      throw Error(ErrorCode::undecided, "the two ends of YaRN's ramp cannot be told apart");
    empty = *order == 0;
  }
  if (empty) high = high + Formula(Rational(1, 1000));
  for (unsigned i = 0; i < dim / 2; ++i) {
    const Formula ramp = clip((Formula(i) - low) / (high - low));
    result.frequencies[i] = blend(ramp, options.factor) * result.frequencies[i];
  }
  set_yarn_attention(result, options);

  // The same in the arithmetic of transformers: the ends in Python floats, the ramp in float32.
  const double base = nearest_double(plain.base);
  const double l0 = nearest_double(Rational(options.original_length));
  const auto double_correction = [&](const Rational& turns) {
    return (dim * std::log(l0 / (nearest_double(turns) * 2 * std::numbers::pi))) /
           (2 * std::log(base));
  };
  double from = double_correction(options.beta_fast);
  double to = double_correction(options.beta_slow);
  if (options.truncate) {
    from = std::floor(from);
    to = std::ceil(to);
  }
  from = std::max(from, 0.0);
  to = std::min(to, static_cast<double>(dim - 1));
  if (from == to) to += 0.001;
  const std::vector<float> positions = position_frequencies(as_float(base), dim, dim / 2);
  for (unsigned i = 0; i < dim / 2; ++i) {
    const float ramp =
        std::clamp((static_cast<float>(i) - as_float(from)) / as_float(to - from), 0.0F, 1.0F);
    const float keep = 1.0F - ramp;
    const float interpolated = reciprocal(nearest_float(options.factor) * positions[i]);
    const float a = interpolated * (1.0F - keep);
    const float b = reciprocal(positions[i]) * keep;
    result.float32[i] = a + b;
  }
  return result;
}

Schedule yarn_paper(const Plain& plain, const Yarn& options) {
  Schedule result = default_schedule(plain);
  check(options);
  if (options.beta_fast <= options.beta_slow) bad("beta_fast must be above beta_slow");
  result.scheme = "yarn_paper";
  result.description += ", YaRN of the paper, factor " + show(options.factor) + ", L0 " +
                        options.original_length.str();
  const Rational width = options.beta_fast - options.beta_slow;
  for (Formula& f : result.frequencies) {
    const Formula turns =
        Formula(Rational(options.original_length)) * f / (Formula(2) * Formula::pi());
    const Formula gamma = clip((turns - Formula(options.beta_slow)) / Formula(width));
    f = blend(Formula(1) - gamma, options.factor) * f;
  }
  result.attention_factor = options.attention_factor ? Formula(*options.attention_factor)
                                                     : yarn_mscale(options.factor, 1);
  round_each(result);
  return result;
}

Schedule llama3(const Plain& plain, const Llama3& options) {
  Schedule result = default_schedule(plain);
  check_factor(options.factor);
  check_length(options.original_length);
  if (options.low_freq_factor <= 0)
    bad("low_freq_factor must be positive, got " + show(options.low_freq_factor));
  if (options.high_freq_factor < options.low_freq_factor)
    bad("high_freq_factor " + show(options.high_freq_factor) + " is below low_freq_factor " +
        show(options.low_freq_factor));
  result.scheme = "llama3";
  result.description += ", Llama 3.1 factor " + show(options.factor) + ", L0 " +
                        options.original_length.str() + ", low " + show(options.low_freq_factor) +
                        ", high " + show(options.high_freq_factor);
  for (Formula& f : result.frequencies) {
    // L0 / wavelength, the turns within L0.
    const Formula turns =
        Formula(Rational(options.original_length)) * f / (Formula(2) * Formula::pi());
    if (certainly_less(turns, Formula(options.low_freq_factor))) {
      f = Formula(Rational(1 / options.factor)) * f;
    } else if (certainly_less(turns, Formula(options.high_freq_factor))) {
      const Formula smooth = (turns - Formula(options.low_freq_factor)) /
                             Formula(Rational(options.high_freq_factor - options.low_freq_factor));
      f = blend(Formula(1) - smooth, options.factor) * f;
    }
  }

  const float s = nearest_float(options.factor);
  const double l0 = nearest_double(Rational(options.original_length));
  const double low = nearest_double(options.low_freq_factor);
  const double high = nearest_double(options.high_freq_factor);
  for (float& x : result.float32) {
    const float wavelength = reciprocal(x) * as_float(2 * std::numbers::pi);
    if (wavelength > as_float(l0 / low)) {
      x /= s;
    } else if (!(wavelength < as_float(l0 / high))) {
      const float smooth =
          (reciprocal(wavelength) * as_float(l0) - as_float(low)) / as_float(high - low);
      const float a = (1.0F - smooth) * x / s;
      const float b = smooth * x;
      x = a + b;
    }
  }
  return result;
}

Schedule longrope(const Plain& plain, const LongRope& options) {
  Schedule result = default_schedule(plain);
  check_factor(options.factor);
  check_length(options.original_length);
  const unsigned planes = plain.rotary_dim / 2;
  for (const auto& [name, list] : {std::pair{"short_factor", &options.short_factor},
                                   std::pair{"long_factor", &options.long_factor}}) {
    if (list->size() != planes)
      bad(std::string(name) + " has " + std::to_string(list->size()) + " entries for " +
          std::to_string(planes) + " planes");
    for (std::size_t i = 0; i < list->size(); ++i)
      if ((*list)[i] <= 0)
        bad(std::string(name) + "[" + std::to_string(i) + "] must be positive, got " +
            show((*list)[i]));
  }
  const bool longer = options.length > options.original_length;
  const std::vector<Rational>& factors = longer ? options.long_factor : options.short_factor;
  result.scheme = "longrope";
  result.description += ", LongRoPE " + std::string(longer ? "long" : "short") + " factors, L0 " +
                        options.original_length.str();
  const std::vector<float> positions =
      position_frequencies(nearest_float(plain.base), plain.rotary_dim, planes);
  for (unsigned i = 0; i < planes; ++i) {
    result.frequencies[i] = Formula(Rational(1 / factors[i])) * result.frequencies[i];
    result.float32[i] = reciprocal(nearest_float(factors[i]) * positions[i]);
  }
  if (options.attention_factor) {
    if (*options.attention_factor <= 0)
      bad("attention_factor must be positive, got " + show(*options.attention_factor));
    result.attention_factor = Formula(*options.attention_factor);
    result.attention_factor_float32 = nearest_float(*options.attention_factor);
  } else if (options.factor > 1) {
    if (options.original_length < 2)
      bad("the attention factor of LongRoPE needs an original length of at least 2");
    result.attention_factor =
        sqrt(Formula(1) +
             log(Formula(options.factor)) / log(Formula(Rational(options.original_length))));
    result.attention_factor_float32 =
        as_float(std::sqrt(1 + std::log(nearest_double(options.factor)) /
                                   std::log(nearest_double(Rational(options.original_length)))));
  }
  return result;
}

namespace {

unsigned kept_planes(unsigned planes, const Rational& p) {
  if (p < 0 || p > 1) bad("the kept proportion must be between 0 and 1, got " + show(p));
  return static_cast<unsigned>(floor(Rational(p * planes)));
}

}  // namespace

Schedule p_rope(const Plain& plain, const Rational& p) {
  Schedule result = default_schedule(plain);
  const unsigned kept = kept_planes(plain.rotary_dim / 2, p);
  result.scheme = "p_rope";
  result.description += ", the " + std::to_string(kept) + " fastest planes kept";
  for (unsigned i = kept; i < plain.rotary_dim / 2; ++i) {
    result.frequencies[i] = Formula(0);
    result.float32[i] = 0;
  }
  return result;
}

Schedule proportional(const Plain& plain, const Rational& p, const Rational& factor) {
  Schedule result = linear(plain, factor);
  const unsigned kept = kept_planes(plain.rotary_dim / 2, p);
  result.scheme = "proportional";
  result.description += ", planes below " + std::to_string(kept) + " of " +
                        std::to_string(plain.rotary_dim / 2) + ", the others stand still";
  for (unsigned i = kept; i < plain.rotary_dim / 2; ++i) {
    result.frequencies[i] = Formula(0);
    result.float32[i] = 0;
  }
  return result;
}

Schedule resonance(const Schedule& of) {
  Schedule result = of;
  result.scheme = of.scheme == "default" ? "resonance" : "resonance of " + of.scheme;
  result.description += ", wavelengths rounded to whole tokens";
  for (Formula& f : result.frequencies) {
    const auto s = sign(f);
    if (s && *s == 0) continue;
    const Integer length = floor(Formula(2) * Formula::pi() / f + Formula(Rational(1, 2)));
    if (length < 1) bad("the wavelength of " + f.text() + " rounds to " + length.str() + " tokens");
    f = Formula(Rational(Integer(2), length)) * Formula::pi();
  }
  round_each(result);
  return result;
}

Schedule custom(std::vector<Formula> frequencies, Formula attention_factor) {
  if (frequencies.empty()) bad("a list of frequencies must not be empty");
  if (frequencies.size() > most_dimensions / 2)
    throw Error(ErrorCode::too_large, "a list of more than 2^15 frequencies");
  if (sign(attention_factor) != 1)
    bad("attention_factor must be positive, got " + attention_factor.text());
  Schedule result;
  result.scheme = "custom";
  result.description = "a list of " + std::to_string(frequencies.size()) + " frequencies";
  result.frequencies = std::move(frequencies);
  result.attention_factor = std::move(attention_factor);
  round_each(result);
  return result;
}

}  // namespace ropewalk::theory
