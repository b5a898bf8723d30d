#include "checkpoints/recorded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "proofs_numeric/precision.hpp"

namespace ropewalk::checkpoints {

using proofs_numeric::Format;
using proofs_numeric::Pipeline;
using theory::Schedule;

namespace {

constexpr std::int64_t longest = std::int64_t{1} << 24;  // rows of a table that are looked at

enum class Kind { frequencies, cosines, sines, divisors };

std::optional<Kind> kind_of(const std::string& name) {
  std::string last = name;
  if (last.ends_with(".weight")) last.resize(last.size() - std::string_view(".weight").size());
  last = last.substr(last.rfind('.') + 1);
  const auto is = [&](std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* n) { return last == n; });
  };
  if (is({"inv_freq", "original_inv_freq"})) return Kind::frequencies;
  if (is({"cos", "cos_cached", "freqs_cos", "freq_cis_real"})) return Kind::cosines;
  if (is({"sin", "sin_cached", "freqs_sin", "freq_cis_imag"})) return Kind::sines;
  if (is({"rope_freqs"})) return Kind::divisors;
  return {};
}

// The sines that belong to cosines, and back.
std::string partner_of(std::string name) {
  for (const auto& [from, to] : {std::pair<std::string_view, std::string_view>{"cos", "sin"},
                                 {"sin", "cos"},
                                 {"cis_real", "cis_imag"},
                                 {"cis_imag", "cis_real"}})
    if (const auto at = name.rfind(from); at != std::string::npos)
      return name.replace(at, from.size(), to);
  return {};
}

// "layers.7." or "h.7." in a name.
std::optional<unsigned> layer_in(const std::string& name) {
  for (const std::string_view before : {"layers.", "h.", "blk."})
    if (const auto at = name.find(before); at != std::string::npos) {
      unsigned layer = 0;
      std::size_t digits = 0;
      for (auto i = at + before.size(); i < name.size() && digits < 6; ++i, ++digits) {
        if (name[i] < '0' || name[i] > '9') break;
        layer = 10 * layer + static_cast<unsigned>(name[i] - '0');
      }
      if (digits > 0) return layer;
    }
  return {};
}

// All elements of a list of frequencies; nothing of a longer one.
std::vector<double> values(const Tensor& tensor) {
  constexpr std::int64_t most = 1 << 16;
  std::vector<double> all(static_cast<std::size_t>(std::min(tensor.elements(), most + 1)));
  if (tensor.elements() <= most && !all.empty()) read_rows(tensor, 0, tensor.rows(), all.data());
  return all;
}

// Half a unit in the last place of numbers about 1, doubled for a library's cosine.
double unit(DType dtype) {
  switch (dtype) {
    case DType::bf16: return 0x1p-8;
    case DType::f16: return 0x1p-11;
    default: return 4e-7;
  }
}

class Table {
 public:
  Table(std::string name, const Expected& expected) : name_(std::move(name)), e_(expected) {}

  [[nodiscard]] const std::vector<Finding>& findings() const { return findings_; }

  void frequencies(const Tensor& tensor) {
    const auto& exact = e_.schedule.frequencies;
    const std::vector<double> own = values(tensor);
    if (own.size() != exact.size())
      return add(
          "recorded.shape", "warning",
          fmt::format("{} numbers, but the config means {} planes", own.size(), exact.size()));
    if (!finite(own)) return;
    std::vector<double> wanted(e_.schedule.float32.begin(), e_.schedule.float32.end());
    if (alike(own, wanted, tensor.dtype == DType::f64 ? 1e-6 : 4e-7)) return;
    double angle = 0;
    for (std::size_t f = 0; f < own.size(); ++f)
      angle = std::max(angle, std::abs(own[f] - exact[f].as<double>()));
    const std::string effect =
        fmt::format("; an angle is off by 0.1 radian from lag {:.0f} on", std::ceil(0.1 / angle));
    for (const Format& format : {proofs_numeric::bf16, proofs_numeric::fp16}) {
      std::vector<double> rounded;
      for (const double x : wanted) rounded.push_back(proofs_numeric::nearest(x, format));
      if (alike(own, rounded, 1e-9))
        return add("recorded.rounded", "error",
                   fmt::format("the config's table rounded to {}{}", format.name, effect));
    }
    if (const auto base = plain_base(own))
      return add("recorded.base", "error",
                 fmt::format("the plain table of base {:.6g}, the config means {}{}", *base,
                             e_.schedule.description, effect));
    if (const auto factor = constant_ratio(own, wanted); factor && std::abs(*factor - 1) > 1e-4)
      return add("recorded.scaled", "error",
                 fmt::format("{:.6g} times the config's table{}", *factor, effect));
    const std::size_t f = worst_ratio(own, wanted);
    add("recorded.differs", "error",
        fmt::format("plane {} has {:.9g}, the config means {:.9g}{}", f + 1, own[f], wanted[f],
                    effect));
  }

  // llama.cpp's divisors: what the config means by its own scaling, and where the config was made
  // from them, the rule that they should follow, Llama 3.1's with its usual numbers.
  void divisors(const Tensor& tensor) {
    const std::vector<double> own = values(tensor);
    if (own.size() != e_.schedule.frequencies.size())
      return add("recorded.shape", "warning",
                 fmt::format("{} numbers, but the config means {} planes", own.size(),
                             e_.schedule.frequencies.size()));
    if (!finite(own) || own.empty() || !e_.base) return;
    const theory::Plain plain{*e_.base, e_.rotary_dim};
    const std::vector<double> meant = quotients(plain, e_.schedule);
    if (!alike(own, meant, 2e-5)) {
      const std::size_t f = worst_ratio(own, meant);
      return add("recorded.factors", "error",
                 fmt::format("plane {} is divided by {:.6g}, the config means {:.6g}", f + 1,
                             own[f], meant[f]));
    }
    const double largest = *std::max_element(own.begin(), own.end());
    const double smallest = *std::min_element(own.begin(), own.end());
    if (smallest == 1 && largest == 1) return;
    if (smallest <= 0 || largest <= 1)
      return add(
          "recorded.factors", "warning",
          fmt::format("divisors from {:.6g} to {:.6g}, which no rule gives", smallest, largest));
    if (e_.schedule.scheme != "longrope") return;  // the config's own rule, which was compared
    const auto factor = theory::shortest_decimal(std::round(largest * 1e4) / 1e4);
    const std::vector<double> wanted = quotients(plain, theory::llama3(plain, {.factor = factor}));
    if (alike(own, wanted, 2e-5)) return;
    const std::size_t f = worst_ratio(own, wanted);
    add("recorded.factors", "warning",
        fmt::format("not Llama 3.1's rule with factor {:.6g} (1, 4, 8192 tokens): plane {} has "
                    "{:.6g}, the rule gives {:.6g}",
                    largest, f + 1, own[f], wanted[f]));
  }

  // Cosines, sines, or both of one shape.
  void entries(const Tensor* cosines, const Tensor* sines) {
    const std::size_t planes = e_.schedule.frequencies.size();
    for (const auto& [tensor, sine] : {std::pair{cosines, false}, {sines, true}})
      if (tensor != nullptr) sheets_.push_back({Grid(*tensor), sine, tensor->name});
    const Grid& first = sheets_.front().grid;
    if (first.rows() == 0 || (first.columns() != planes && first.columns() != 2 * planes))
      return add("recorded.shape", "warning",
                 fmt::format("not positions x {} or x {}, so not looked at", planes, 2 * planes));
    choose_columns(planes);
    if (!swapped() && !differs_in_scale())
      compare(unit((cosines != nullptr ? cosines : sines)->dtype));
  }

 private:
  // Positions x columns, read a row at a time.
  class Grid {
   public:
    explicit Grid(Tensor tensor) : tensor_(std::move(tensor)) {
      for (std::size_t i = tensor_.shape.size(); i-- > 0;)
        if (tensor_.shape[i] == 1) {
          tensor_.shape.erase(tensor_.shape.begin() + static_cast<std::ptrdiff_t>(i));
          tensor_.strides.erase(tensor_.strides.begin() + static_cast<std::ptrdiff_t>(i));
        }
      if (tensor_.shape.size() != 2 || tensor_.shape[0] > longest) tensor_.shape = {0, 0};
    }
    [[nodiscard]] std::size_t rows() const { return static_cast<std::size_t>(tensor_.shape[0]); }
    [[nodiscard]] std::size_t columns() const { return static_cast<std::size_t>(tensor_.shape[1]); }
    [[nodiscard]] std::vector<double> row(std::size_t t) const {
      std::vector<double> numbers(columns());
      read_rows(tensor_, static_cast<std::int64_t>(t), 1, numbers.data());
      return numbers;
    }

   private:
    Tensor tensor_;
  };

  void add(const char* id, const char* severity, const std::string& message) {
    findings_.push_back({id, severity, name_ + ": " + message});
  }

  bool finite(const std::vector<double>& numbers, const char* where, std::size_t at) {
    if (std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); }))
      return true;
    add("recorded.not_finite", "error", fmt::format("an infinity or NaN{}{}", where, at));
    return false;
  }
  bool finite(const std::vector<double>& numbers) {
    return finite(numbers, " among its ", numbers.size());
  }

  static bool alike(const std::vector<double>& a, const std::vector<double>& b, double relative) {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!(std::abs(a[i] - b[i]) <= relative * std::abs(b[i]))) return false;
    return true;
  }

  static std::size_t worst_ratio(const std::vector<double>& a, const std::vector<double>& b) {
    std::size_t worst = 0;
    double most = -1;
    for (std::size_t i = 0; i < a.size(); ++i)
      if (const double off = std::abs(a[i] - b[i]) / std::max(std::abs(b[i]), 1e-300); off > most) {
        most = off;
        worst = i;
      }
    return worst;
  }

  // B where own[f] = B^(-f / planes) for every plane.
  static std::optional<double> plain_base(const std::vector<double>& own) {
    if (own.size() < 2 || !(own[1] > 0) || std::abs(own[0] - 1) > 1e-6) return {};
    const auto n = static_cast<double>(own.size());
    const double base = std::pow(own.back(), -n / (n - 1));
    for (std::size_t f = 0; f < own.size(); ++f)
      if (std::abs(own[f] * std::pow(base, static_cast<double>(f) / n) - 1) > 1e-5) return {};
    return base;
  }

  static std::optional<double> constant_ratio(const std::vector<double>& own,
                                              const std::vector<double>& wanted) {
    if (!(wanted[0] > 0)) return {};
    const double ratio = own[0] / wanted[0];
    for (std::size_t f = 0; f < own.size(); ++f)
      if (std::abs(own[f] - ratio * wanted[f]) > 1e-5 * std::abs(ratio * wanted[f])) return {};
    return ratio;
  }

  struct Sheet {
    Grid grid;
    bool sine = false;
    std::string name;
  };

  static std::vector<double> quotients(const theory::Plain& plain, const Schedule& schedule) {
    const Schedule before = theory::default_schedule(plain);
    std::vector<double> result;
    for (std::size_t f = 0; f < before.frequencies.size(); ++f)
      result.push_back((before.frequencies[f] / schedule.frequencies[f]).as<double>());
    return result;
  }

  // The columns of each plane: one, or two, one after another or planes apart.
  void choose_columns(std::size_t planes) {
    const Grid& grid = sheets_.front().grid;
    columns_.resize(planes);
    const bool twice = grid.columns() != planes;
    bool neighbours = false;
    if (twice && grid.rows() > 1) {
      const std::vector<double> row = grid.row(1);
      double beside = 0;
      double halves = 0;
      for (std::size_t f = 0; f < planes; ++f) {
        halves += std::abs(row[f] - row[f + planes]);
        beside += std::abs(row[2 * f] - row[2 * f + 1]);
      }
      neighbours = beside < halves;
      if (neighbours && e_.layout == theory::Pairing::half_split)
        add("recorded.layout", "warning",
            "each plane stands twice, beside itself, as programs with the interleaved layout keep "
            "it; the config's layout is half-split");
      if (!neighbours && halves < beside && e_.layout == theory::Pairing::interleaved)
        add("recorded.layout", "warning",
            "the planes stand twice, one half after the other, as programs with the half-split "
            "layout keep them; the config's layout is interleaved");
    }
    for (std::size_t f = 0; f < planes; ++f) {
      columns_[f] = {neighbours ? 2 * f : f};
      if (twice) columns_[f].push_back(neighbours ? 2 * f + 1 : f + planes);
    }
  }

  // At position 0 sines are 0 and cosines are not.
  bool swapped() {
    if (sheets_.size() != 2) return false;
    const auto largest = [&](std::size_t i) {
      const std::vector<double> row = sheets_[i].grid.row(0);
      return std::abs(*std::max_element(row.begin(), row.end()));
    };
    if (!(largest(0) < 1e-3) || !(largest(1) > 0.5)) return false;
    add("recorded.swapped", "error", "holds sines, and " + sheets_[1].name + " cosines");
    return true;
  }

  // Position 0 has the attention factor in every cosine; another number in all of them is a scale.
  bool differs_in_scale() {
    if (sheets_.front().sine) return false;
    const auto wanted = static_cast<double>(e_.schedule.attention_factor_float32);
    const std::vector<double> row = sheets_.front().grid.row(0);
    const auto [least, most] = std::minmax_element(row.begin(), row.end());
    const double size = *most;
    if (!(*most - *least < 1e-3) || !(std::abs(size / wanted - 1) >= 5e-3)) return false;
    add("recorded.scale", "error",
        fmt::format("rows have size {:.6g}, the config's attention factor is {:.6g}: logits are "
                    "{:.4g} times what they should be",
                    size, wanted, size * size / (wanted * wanted)));
    return true;
  }

  // The angles that a float32 program may mean: libraries' powers differ by a unit in the last
  // place, and the product with the position is rounded or, in double, not.
  struct Angles {
    double frequency = 0;
    bool rounded = false;
    [[nodiscard]] double at(std::size_t t) const {
      const auto position = static_cast<double>(t);
      if (!rounded) return frequency * position;
      return static_cast<double>(static_cast<float>(frequency) * static_cast<float>(position));
    }
  };
  static double entry(double angle, bool sine) { return sine ? std::sin(angle) : std::cos(angle); }

  // Of those the ones that some rows of this plane are nearest to.
  [[nodiscard]] Angles nearest_angles(std::size_t f, double exact) const {
    const auto factor = static_cast<double>(e_.schedule.attention_factor_float32);
    std::vector<Angles> all{{exact, false}};
    float low = e_.schedule.float32[f];
    for (int step = 0; step < 2; ++step) low = std::nextafter(low, 0.0F);
    for (int step = 0; step < 5; ++step, low = std::nextafter(low, 4.0F))
      for (const bool rounded : {true, false}) all.push_back({static_cast<double>(low), rounded});
    std::vector<double> off(all.size(), 0);
    for (const auto& [t, sheets] : samples_)
      for (std::size_t i = 0; i < sheets_.size(); ++i)
        for (std::size_t a = 0; a < all.size(); ++a)
          off[a] = std::max(off[a], std::abs(sheets[i][columns_[f].front()] -
                                             factor * entry(all[a].at(t), sheets_[i].sine)));
    return all[static_cast<std::size_t>(std::min_element(off.begin(), off.end()) - off.begin())];
  }

  // One pass: rows that are no numbers, rows that repeat the one before, and entries that are none
  // of a float32 program's.
  void compare(double tolerance) {
    const auto factor = e_.schedule.attention_factor.as<double>();
    const std::size_t rows = sheets_.front().grid.rows();
    constexpr std::size_t some = 24;
    for (std::size_t k = 0; k <= some; ++k) {
      const std::size_t t = (rows - 1) * k / some;
      std::vector<std::vector<double>> row;
      for (const Sheet& sheet : sheets_) row.push_back(sheet.grid.row(t));
      samples_.emplace_back(t, std::move(row));
    }
    std::vector<double> exact_angles;
    std::vector<Angles> angles;
    for (std::size_t f = 0; f < columns_.size(); ++f) {
      exact_angles.push_back(e_.schedule.frequencies[f].as<double>());
      angles.push_back(nearest_angles(f, exact_angles.back()));
    }
    double error = 0;  // against the exact table, of entries that no float32 program makes
    std::size_t lag = 0;
    std::size_t plane = 0;
    std::size_t worst = 0;
    std::vector<std::vector<double>> before;
    for (std::size_t t = 0; t < rows; ++t) {
      std::vector<std::vector<double>> row;
      for (const Sheet& sheet : sheets_) {
        row.push_back(sheet.grid.row(t));
        if (!finite(row.back(), " at position ", t)) return;
      }
      if (row == before)
        return add("recorded.collapse", "error",
                   fmt::format("positions {} and {} have the same row: they cannot be told "
                               "apart{}",
                               t - 1, t, made_by()));
      for (std::size_t f = 0; f < columns_.size(); ++f) {
        const double meant = angles[f].at(t);
        const double exact = exact_angles[f] * static_cast<double>(t);
        for (std::size_t i = 0; i < sheets_.size(); ++i) {
          const bool sine = sheets_[i].sine;
          for (const std::size_t c : columns_[f]) {
            if (std::abs(row[i][c] - factor * entry(meant, sine)) <= tolerance * factor) continue;
            const double off = std::abs(row[i][c] - factor * entry(exact, sine));
            if (off <= error) continue;
            error = off;
            lag = t;
            plane = f;
            worst = i;
          }
        }
      }
      before = std::move(row);
    }
    if (error <= tolerance * factor) return;
    name_ = sheets_[worst].name;
    add("recorded.differs", "error",
        fmt::format("an entry is off by {:.3g} at position {}, plane {}, which float32 arithmetic "
                    "does not account for{}",
                    error, lag, plane + 1, made_by()));
  }

  // "; the table is that of the pipeline bf16-positions": the narrow one whose rows these are.
  std::string made_by() {
    const float factor = e_.schedule.attention_factor_float32;
    for (const Pipeline& p : proofs_numeric::pipelines()) {
      if (p.inv_freq.precision >= 24 && p.positions.precision >= 24 && p.angles.precision >= 24 &&
          p.table.precision >= 24)
        continue;
      const auto makes = [&](std::size_t t, std::size_t f, double number, bool sine) {
        const double x = proofs_numeric::nearest_product(
            proofs_numeric::nearest(static_cast<double>(e_.schedule.float32[f]), p.inv_freq),
            proofs_numeric::nearest(static_cast<double>(t), p.positions), p.angles);
        if (!std::isfinite(x)) return false;
        // Cosines of narrow angles may be kept in float32.
        const bool narrow = std::min({p.inv_freq.precision, p.positions.precision,
                                      p.angles.precision}) < proofs_numeric::fp32.precision;
        const auto size = static_cast<double>(factor);
        if (narrow && std::abs(number - size * entry(x, sine)) <= 4e-7 * size) return true;
        if (proofs_numeric::nearest(number, p.table) != number) return false;
        const double c =
            proofs_numeric::nearest_product(sine ? proofs_numeric::nearest_sine(x, p.angles)
                                                 : proofs_numeric::nearest_cosine(x, p.angles),
                                            static_cast<double>(factor), p.angles);
        return std::abs(number - proofs_numeric::nearest(c, p.table)) <=
               std::ldexp(1.0, 1 - p.table.precision) * static_cast<double>(factor);
      };
      const bool all = std::all_of(samples_.begin(), samples_.end(), [&](const auto& sample) {
        for (std::size_t i = 0; i < sheets_.size(); ++i)
          for (std::size_t f = 0; f < columns_.size(); ++f)
            if (!makes(sample.first, f, sample.second[i][columns_[f].front()], sheets_[i].sine))
              return false;
        return true;
      });
      if (all) return fmt::format("; the table is that of the pipeline {}", p.name);
    }
    return {};
  }

  std::string name_;
  const Expected& e_;
  std::vector<Finding> findings_;
  std::vector<Sheet> sheets_;                                                      // of one shape
  std::vector<std::vector<std::size_t>> columns_;                                  // of each plane
  std::vector<std::pair<std::size_t, std::vector<std::vector<double>>>> samples_;  // rows by sheet
};

}  // namespace

std::vector<std::string> recorded_tables(const Checkpoint& file) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : file.tensors)
    if (kind_of(name) && is_float(tensor.dtype)) names.push_back(name);
  return names;
}

std::vector<Finding> check_recorded(const Checkpoint& file, const ExpectedOf& expected) {
  std::vector<Finding> findings;
  for (const std::string& name : recorded_tables(file)) {
    const Tensor& tensor = file.tensor(name);
    const Tensor* partner = file.find(partner_of(name));
    if (partner != nullptr && partner->shape != tensor.shape) partner = nullptr;
    Table table(name, expected(name, layer_in(name)));
    switch (*kind_of(name)) {
      case Kind::frequencies: table.frequencies(tensor); break;
      case Kind::divisors: table.divisors(tensor); break;
      case Kind::cosines: table.entries(&tensor, partner); break;
      case Kind::sines:
        if (partner == nullptr) table.entries(nullptr, &tensor);  // else with its cosines
        break;
    }
    findings.insert(findings.end(), table.findings().begin(), table.findings().end());
  }
  return findings;
}

}  // namespace ropewalk::checkpoints
