#include "checkpoints/construct.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "proofs_numeric/optimal.hpp"
#include "theory/error.hpp"

namespace ropewalk::checkpoints {

using constructions::HeadTable;
using constructions::Rule;
using constructions::Vocabulary;
using tasks::Kind;
using theory::Formula;
using theory::Rational;

namespace {

[[noreturn]] void bad(const std::string& message) { throw Error(ErrorCode::bad_value, message); }

void within(const char* flag, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value < low || value > high)
    bad(std::string(flag) + " must lie in " + std::to_string(low) + ".." + std::to_string(high) +
        ", not " + std::to_string(value));
}

Rule rule_of(Kind kind) {
  if (kind == Kind::number || kind == Kind::index) return Rule::lag;
  return kind == Kind::mixed ? Rule::last : Rule::token;
}

constexpr double largest_scale = 0x1p40;
// Of the gap of hard attention, 1 in all tasks.
constexpr double comfortable_gap = 0.5;

// Where still planes are wanted and the architecture has none: so slow that they do not turn within
// any length, and within the range of float32.
const Rational slow_base(theory::Integer("1000000000000000000000000000000"));

std::string shortest(double x) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), x).ptr};
}

// The tables of the head, rounded once.
HeadTable<double> rounded_table(const Vocabulary& vocabulary, const constructions::HeadPlan& plan) {
  using Exactly = theory::Real<40>;
  const auto exact = constructions::head_table<Exactly>(vocabulary, plan);
  const auto doubles = [](const constructions::Matrix<Exactly>& m) {
    return constructions::Matrix<double>(
        m.unaryExpr([](const Exactly& x) { return static_cast<double>(x); }));
  };
  return {doubles(exact.queries), doubles(exact.keys), doubles(exact.common)};
}

}  // namespace

Construction::Construction(const ConstructRequest& request, bool unproven) : request_(request) {
  check();
  choose_table();
  choose_planes();
  head_ = rounded_table(vocabulary_, plan_);
  choose_scale(unproven);
  weights_.emplace(made(scale_, request_.layers, request_.dtype));
}

void Construction::check() {
  ConstructRequest& r = request_;
  const Rule rule = rule_of(r.kind);
  const bool stacks = r.kind == Kind::number || r.kind == Kind::letter;
  if (r.letters == 0) r.letters = rule == Rule::lag ? 120 : 8;
  if (r.numbers == 0) r.numbers = rule == Rule::lag ? 16 : 8;
  if (r.hops == 0) r.hops = stacks ? 4 : 1;
  if (r.layers == 0) r.layers = r.form == Form::plain ? r.hops : stacks ? 12 : 1;
  if (!stacks && r.hops != 1)
    bad("--hops: " + std::string(tasks::name(r.kind)) + " has one hop, not " +
        std::to_string(r.hops));
  within("--hops", r.hops, 1, 64);
  within("--layers", r.layers, r.hops, 1024);
  if (r.form == Form::plain && r.layers != r.hops)
    bad("--layers: a plain model has a layer for each hop, " + std::to_string(r.hops) + ", not " +
        std::to_string(r.layers));
  within("--length", r.length, 1, 1 << 24);
  within("--alphabet", r.letters, rule == Rule::lag ? 1 : 2, rule == Rule::lag ? 702 : 26);
  within(rule == Rule::lag ? "--integers" : "--leaf-digits", r.numbers, 1,
         rule == Rule::lag ? 1000 : 10);
  texts_ = tasks::token_texts(r.kind, static_cast<std::int32_t>(r.letters),
                              static_cast<std::int32_t>(r.numbers));
  vocabulary_ = {rule, r.letters, r.numbers};
  vocabulary_.check();
  if (r.dtype == DType::f64 && r.form != Form::plain)
    bad("--dtype f64 is for --format plain; transformers computes in float32");
  if (r.scale && !(*r.scale > 0 && *r.scale <= largest_scale))
    bad("--scale must lie above 0 and at most 2^40");
  if (r.angle && (r.base || r.turning || !r.table.empty() || !r.planes.empty()))
    bad("--theta is a head of one plane: leave out every other table, and --planes");
  if (r.centred && rule == Rule::lag) bad("--centred is for heads that find letters");
  if (r.centred && r.planes.empty() && !r.angle)
    bad("--centred needs --planes or --theta: the best planes are centred where it helps");
  if (r.form == Form::gptj && (!r.table.empty() || (r.base && *r.base != 10000)))
    bad("--format: gptj has the plain table of base 10000 and no other; take llama or plain");
  if (r.turning) within("--head-dim", 2 * *r.turning, 2, 2048);
  if (!r.table.empty()) within("--schedule: twice its planes", 2 * std::ssize(r.table), 2, 2048);
  if (r.base && (*r.base <= 1 || *r.base > Rational(theory::Integer("1" + std::string(38, '0')))))
    bad("--base must lie above 1 and at most 1e38, which float32 holds");
  if (r.base) r.base = Rational(static_cast<double>(*r.base));  // as config.json has it
}

void Construction::choose_table() {
  const ConstructRequest& r = request_;
  const Rule rule = vocabulary_.rule;
  shape_.form = r.form;
  const constructions::Slots slots(vocabulary_, r.hops);
  // Values have to fit into a head of llama.
  const std::int64_t carried = (slots.carried() + 1) / 2;
  const bool named = !r.planes.empty() || table_is_named() || (r.turning && r.form == Form::llama);
  const auto set_frequencies = [&](const char* flag, const std::vector<Formula>& table) {
    try {
      shape_.set_frequencies(table);
    } catch (const Error& e) {
      throw Error(e.code(), std::string(flag) + ": " + e.what());
    }
  };
  if (r.angle) {
    // llama turns forwards; elsewhere an angle is as good as another one whole turns away.
    const Formula theta = r.form == Form::llama ? *r.angle : theory::folded(*r.angle);
    // What stands still beside it: a plane for each letter, and the room that values need.
    const std::int64_t letters = rule == Rule::last ? r.letters : 0;
    if (r.form == Form::gptj) {
      if (!(theory::sign(theta - Formula(1)) == 0))
        bad("--theta: GPT-J has angle 1 in its first plane; take --format llama or plain for " +
            r.angle->text());
      shape_.turning = 1;
      shape_.still = letters;
      return;
    }
    const std::int64_t planes =
        std::max(1 + letters, r.form == Form::llama ? carried : std::int64_t{1});
    std::vector<Formula> table(static_cast<std::size_t>(planes), Formula(0));
    table.front() = theta;
    set_frequencies("--theta", table);
    return;
  }
  if (rule != Rule::lag && !named) {
    if (r.form == Form::llama) {
      shape_.base = slow_base;
      shape_.turning =
          std::max<std::int64_t>({carried, 2 * r.letters, rule == Rule::last ? 64 : 2});
      return;
    }
    shape_.turning = r.turning.value_or(rule == Rule::last ? 64 : 1);
    shape_.still = r.letters;
    return;
  }
  shape_.base = r.base.value_or(10000);
  shape_.turning = r.turning.value_or(64);
  if (!r.table.empty()) set_frequencies("--schedule", r.table);
  if (r.form == Form::llama && shape_.turning < carried)
    bad("--head-dim: the values of this model need " + std::to_string(2 * carried) +
        " coordinates, and the table has " + std::to_string(2 * shape_.turning));
  if (rule == Rule::last && r.form != Form::llama && !table_is_named()) shape_.still = r.letters;
}

void Construction::choose_planes() {
  const ConstructRequest& r = request_;
  const auto count = static_cast<std::size_t>(shape_.frequencies().size());
  const auto letters = static_cast<std::size_t>(r.letters);
  plan_.frequencies = shape_.frequencies();
  std::vector<std::size_t> planes;
  for (const std::int64_t id : r.planes) {
    within("--planes", id, 1, static_cast<std::int64_t>(shape_.turning));
    planes.push_back(static_cast<std::size_t>(id - 1));
  }
  if (r.angle) planes = {0};
  if (std::set<std::size_t>(planes.begin(), planes.end()).size() != planes.size())
    bad("--planes names a plane twice");

  if (vocabulary_.rule == Rule::lag) {
    if (planes.empty()) {
      planes.resize(count);
      std::iota(planes.begin(), planes.end(), 0);
    }
    std::vector<Formula> frequencies;
    for (const std::size_t f : planes) frequencies.push_back(plan_.frequencies[f]);
    std::vector<Rational> amplitudes{Rational(1)};
    if (planes.size() > 1 && r.length > 1)
      amplitudes = proofs_numeric::optimal_head(frequencies, theory::Lag(r.length - 1)).amplitudes;
    else if (planes.size() > 1)
      amplitudes = proofs_numeric::equal_amplitudes(planes.size());
    plan_.amplitudes.assign(count, Rational(0));
    for (std::size_t i = 0; i < planes.size(); ++i) plan_.amplitudes[planes[i]] = amplitudes[i];
    return;
  }

  plan_.centre =
      r.centred || (planes.empty() && table_is_named()) ? theory::Lag(r.length) : theory::Lag(0);
  if (vocabulary_.rule == Rule::last) {
    if (!planes.empty()) {
      if (planes.size() != 1)
        bad("--planes: a mixed head has one plane of nearness, not " +
            std::to_string(planes.size()));
      plan_.nearness = planes.front();
      planes.clear();
    } else {
      // Centred, neighbouring lags differ by 2 sin(theta/2) cos((n - 2) theta/2) at least.
      plan_.centre = theory::Lag(r.length);
      const auto difference = [&](std::size_t f) {
        const double half = plan_.frequencies[f].as<double>() / 2;
        const double turned = half * static_cast<double>(std::max<std::int64_t>(r.length - 2, 0));
        return turned < 1.5707 ? std::sin(half) * std::cos(turned) : 0.0;
      };
      std::size_t best = 0;
      for (std::size_t f = 1; f < count; ++f)
        if (difference(f) > difference(best)) best = f;
      plan_.nearness = best;
    }
  }
  if (planes.empty()) {
    // The slowest ones: the last of every table.
    for (std::size_t f = count; f-- > 0 && planes.size() < letters;)
      if (plan_.nearness != f) planes.push_back(f);
    if (planes.size() < letters)
      bad("--head-dim: " + std::to_string(letters) + " letters take a plane each" +
          (plan_.nearness ? " beside that of nearness" : "") + ", and there are " +
          std::to_string(count));
  }
  plan_.letters = planes;
  if (planes.size() != 1 && planes.size() != letters)
    bad("--planes: " + std::to_string(letters) + " letters take one plane, or a plane each, not " +
        std::to_string(planes.size()));
}

WeightSet Construction::made(double scale, std::int64_t layers, DType dtype) const {
  HeadTable<double> head = head_;
  head.queries *= scale;
  const auto model =
      constructions::transformer<double>(vocabulary_, plan_.frequencies, head, request_.hops);
  return {model, shape_, {layers, request_.length, dtype}};
}

StackProof Construction::proof(double scale, DType dtype) const {
  // Layers that write nothing change nothing.
  const WeightSet weights = made(scale, request_.hops, dtype);
  return {read_model(std::make_shared<const Checkpoint>(weights.checkpoint())), vocabulary_,
          request_.hops};
}

double Construction::gap_at(double scale) const {
  try {
    return proof(scale, request_.dtype).bounds(request_.length, arithmetic()).gap;
  } catch (const Error& e) {
    if (e.code() != ErrorCode::bad_value) throw;
    return -std::numeric_limits<double>::infinity();  // beyond the range of the type
  }
}

void Construction::choose_scale(bool unproven) {
  if (const std::int64_t most = proof(1, request_.dtype).longest_checked(); request_.length > most)
    throw Error(ErrorCode::too_large, "--length: ropewalk-check goes through up to " +
                                          std::to_string(most) + " tokens of this model, not " +
                                          std::to_string(request_.length));
  std::map<double, double> known;
  const auto gap = [&](double eighths) {
    const auto [at, is_new] = known.emplace(eighths, 0.0);
    if (is_new) at->second = gap_at(std::exp2(eighths / 8));
    return at->second;
  };
  // First octaves, then eighths of one.
  const auto first = [&](double wanted) -> std::optional<double> {
    double high = 0;
    while (high <= 320 && !(gap(high) >= wanted)) high += 8;
    if (high > 320) return std::nullopt;
    double low = high - 8;
    while (high - low > 1) {
      const double middle = std::floor((low + high) / 2);
      (gap(middle) >= wanted ? high : low) = middle;
    }
    return high;
  };
  const std::optional<double> least = first(least_gap);
  if (least) {
    double low = (*least - 1) / 8;
    double high = *least / 8;
    while (high - low > 0.014) {
      const double middle = (low + high) / 2;
      (gap(8 * middle) >= least_gap ? high : low) = middle;
    }
    smallest_ = std::exp2(high);
  }
  if (request_.scale) {
    scale_ = *request_.scale;
  } else if (least) {
    const std::optional<double> wide = first(comfortable_gap);
    scale_ = std::exp2(wide.value_or(*least) / 8);
  }
  judge();
  if (proven()) return;
  // What could be asked for instead.
  std::int64_t longest = 0;
  double at = scale_;
  const double last = request_.scale.value_or(largest_scale);
  for (double scale = request_.scale.value_or(1); scale <= last; scale *= 4) {
    if (!request_.scale && std::isinf(gap_at(scale))) break;  // beyond the range of the type
    const std::int64_t here = proof(scale, request_.dtype).longest(arithmetic(), request_.length);
    if (here <= longest) continue;
    longest = here;
    at = scale;
  }
  if (!unproven)
    throw Error(ErrorCode::undecided,
                "length " + std::to_string(request_.length) + " cannot be proven " +
                    (request_.scale ? "at this scale" : "at any scale") + " in " +
                    std::string(name(arithmetic())) + " arithmetic" +
                    (longest == 0 ? ":"
                                  : "; at scale " + shortest(at) + ", length " +
                                        std::to_string(longest) + " can: ask for less, or") +
                    " write it with --unproven");
  scale_ = at;
  judge();
}

void Construction::judge() {
  const StackProof last = proof(scale_, request_.dtype);
  real_ = last.bounds(request_.length, Arithmetic::real);
  if (arithmetic() == Arithmetic::float32)
    float32_ = last.bounds(request_.length, Arithmetic::float32);
}

std::vector<StoredAs> Construction::stored(std::int64_t limit) const {
  // The head as it was meant: a plain model in float64, in which rounding is 2^-53.
  const double meant = [&] {
    HeadTable<double> head = head_;
    head.queries *= scale_;
    HeadShape shape = shape_;
    shape.form = Form::plain;
    shape.angles = plan_.frequencies;
    const WeightSet weights(
        constructions::transformer<double>(vocabulary_, plan_.frequencies, head, request_.hops),
        shape, {request_.hops, request_.length, DType::f64});
    const StackProof exact(read_model(std::make_shared<const Checkpoint>(weights.checkpoint())),
                           vocabulary_, request_.hops);
    return exact.bounds(request_.length, Arithmetic::real).margin;
  }();
  std::vector<StoredAs> rows;
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    if (dtype == DType::f64 && request_.form != Form::plain) continue;
    StoredAs row;
    row.dtype = dtype;
    try {
      const StackProof p = proof(scale_, dtype);
      row.fits = true;
      row.real = p.bounds(request_.length, Arithmetic::real);
      row.loss = std::isfinite(meant) ? 1 - row.real.margin / meant : 0;
      row.checked = std::min(limit, p.longest_checked());
      row.longest_real = p.longest(Arithmetic::real, limit, request_.length);
      if (request_.form != Form::plain) {
        row.float32 = p.bounds(request_.length, Arithmetic::float32);
        row.longest_float32 = p.longest(Arithmetic::float32, limit, request_.length);
      }
    } catch (const Error& e) {
      if (e.code() != ErrorCode::bad_value) throw;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::optional<nlohmann::ordered_json> Construction::exact() const {
  if (request_.form != Form::plain) return std::nullopt;
  try {
    constructions::HeadPlan plan = plan_;
    plan.scale = Rational(scale_);
    return exact_json(constructions::transformer<Rational>(vocabulary_, plan, request_.hops));
  } catch (const Error& e) {
    if (e.code() != ErrorCode::not_exact) throw;
    return std::nullopt;
  }
}

}  // namespace ropewalk::checkpoints
