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

// The sine that belongs to a cosine's name.
std::string sine_of(std::string name) {
  for (const auto& [from, to] :
       {std::pair<std::string_view, std::string_view>{"cos", "sin"}, {"cis_real", "cis_imag"}})
    if (const auto at = name.rfind(from); at != std::string::npos)
      return name.replace(at, from.size(), to);
  return {};
}

// "layers.7." or "h.7." in a name.
std::optional<unsigned> layer_of(const std::string& name) {
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
    if (const auto factor = constant_ratio(own, wanted))
      return add("recorded.scaled", "error",
                 fmt::format("{:.6g} times the config's table{}", *factor, effect));
    const std::size_t f = worst_ratio(own, wanted);
    add("recorded.differs", "error",
        fmt::format("plane {} has {:.9g}, the config means {:.9g}{}", f + 1, own[f], wanted[f],
                    effect));
  }

  // llama.cpp's divisors; the rule that they should follow is Llama 3.1's with its usual numbers.
  void divisors(const Tensor& tensor) {
    const std::vector<double> own = values(tensor);
    if (!finite(own) || own.empty() || !e_.base) return;
    const double largest = *std::max_element(own.begin(), own.end());
    const double smallest = *std::min_element(own.begin(), own.end());
    if (smallest == 1 && largest == 1) return;
    if (smallest <= 0 || largest <= 1)
      return add(
          "recorded.factors", "warning",
          fmt::format("divisors from {:.6g} to {:.6g}, which no rule gives", smallest, largest));
    const theory::Plain plain{*e_.base, e_.rotary_dim};
    const auto factor = theory::shortest_decimal(std::round(largest * 1e4) / 1e4);
    const Schedule before = theory::default_schedule(plain);
    const Schedule after = theory::llama3(plain, {.factor = factor});
    std::vector<double> wanted;
    for (std::size_t f = 0; f < before.frequencies.size(); ++f)
      wanted.push_back((before.frequencies[f] / after.frequencies[f]).as<double>());
    if (wanted.size() != own.size() || alike(own, wanted, 2e-5)) return;
    const std::size_t f = worst_ratio(own, wanted);
    add("recorded.factors", "warning",
        fmt::format("not Llama 3.1's rule with factor {:.6g} (1, 4, 8192 tokens): plane {} has "
                    "{:.6g}, the rule gives {:.6g}",
                    largest, f + 1, own[f], wanted[f]));
  }

  void entries(const Tensor& cosines, const Tensor* sines) {
    const std::size_t planes = e_.schedule.frequencies.size();
    cosines_ = Grid(cosines);
    if (cosines_.columns() != planes && cosines_.columns() != 2 * planes)
      return add("recorded.shape", "warning",
                 fmt::format("not positions x {} or x {}, so not looked at", planes, 2 * planes));
    if (sines != nullptr)
      if (const Grid grid(*sines);
          grid.columns() == cosines_.columns() && grid.rows() == cosines_.rows())
        sines_ = grid;
    choose_columns(planes);
    if (!differs_in_scale()) compare(unit(cosines.dtype));
  }

 private:
  // Positions x columns, read a row at a time.
  class Grid {
   public:
    Grid() = default;
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

  // A column per plane; twice as many hold the planes one after another, or each beside itself.
  void choose_columns(std::size_t planes) {
    column_.resize(planes);
    for (std::size_t f = 0; f < planes; ++f) column_[f] = f;
    if (cosines_.columns() == planes || cosines_.rows() < 2) return;
    const std::vector<double> row = cosines_.row(1);
    double neighbours = 0;
    double halves = 0;
    for (std::size_t f = 0; f < planes; ++f) {
      halves += std::abs(row[f] - row[f + planes]);
      neighbours += std::abs(row[2 * f] - row[2 * f + 1]);
    }
    if (neighbours < halves)
      for (std::size_t f = 0; f < planes; ++f) column_[f] = 2 * f;
  }

  bool differs_in_scale() {
    if (cosines_.rows() == 0) return false;
    const auto wanted = static_cast<double>(e_.schedule.attention_factor_float32);
    const std::vector<double> row = cosines_.row(0);
    double square = 0;
    for (const std::size_t c : column_) square += row[c] * row[c];
    const double size = std::sqrt(square / static_cast<double>(column_.size()));
    if (!(std::abs(size / wanted - 1) >= 5e-3)) return false;
    add("recorded.scale", "error",
        fmt::format("rows have size {:.6g}, the config's attention factor is {:.6g}: logits are "
                    "{:.4g} times what they should be",
                    size, wanted, size * size / (wanted * wanted)));
    return true;
  }

  // One pass: rows that are no numbers, rows that repeat the one before, and errors against the
  // exact table and against the one that float32 makes.
  void compare(double tolerance) {
    const auto factor = e_.schedule.attention_factor.as<double>();
    const float factor32 = e_.schedule.attention_factor_float32;
    std::vector<double> exact_angles;
    for (const auto& theta : e_.schedule.frequencies) exact_angles.push_back(theta.as<double>());
    double exact_error = 0;
    double off_pipeline = 0;
    double pipeline_error = 0;
    std::size_t lag = 0;
    std::size_t plane = 0;
    std::vector<double> before;
    for (std::size_t t = 0; t < cosines_.rows(); ++t) {
      std::vector<double> row = cosines_.row(t);
      const std::size_t half = row.size();
      if (sines_) {
        const std::vector<double> more = sines_->row(t);
        row.insert(row.end(), more.begin(), more.end());
      }
      if (!finite(row, " at position ", t)) return;
      if (row == before)
        return add("recorded.collapse", "error",
                   fmt::format("positions {} and {} have the same row: they cannot be told "
                               "apart{}",
                               t - 1, t, made_by()));
      for (std::size_t f = 0; f < column_.size(); ++f) {
        const double angle = exact_angles[f] * static_cast<double>(t);
        const auto angle32 = static_cast<double>(e_.schedule.float32[f] * static_cast<float>(t));
        const auto look = [&](double entry, double exact, double pipeline) {
          if (const double e = std::abs(entry - exact); e > exact_error) {
            exact_error = e;
            lag = t;
            plane = f;
          }
          off_pipeline = std::max(off_pipeline, std::abs(entry - pipeline));
          pipeline_error = std::max(pipeline_error, std::abs(pipeline - exact));
        };
        look(row[column_[f]], factor * std::cos(angle),
             static_cast<double>(factor32) * std::cos(angle32));
        if (sines_)
          look(row[half + column_[f]], factor * std::sin(angle),
               static_cast<double>(factor32) * std::sin(angle32));
      }
      before = std::move(row);
    }
    // Nearer to the exact table than float32 comes is no fault either.
    if (off_pipeline <= tolerance * factor || exact_error <= tolerance * factor) return;
    add("recorded.differs", exact_error > 2 * pipeline_error + tolerance ? "error" : "warning",
        fmt::format("an entry is off by {:.3g} at position {}, plane {}, where a float32 pipeline "
                    "is off by at most {:.3g} over the table{}",
                    exact_error, lag, plane + 1, pipeline_error, made_by()));
  }

  // "; as made with bf16 positions": the pipeline whose rows these are, where one is found.
  std::string made_by() {
    std::vector<std::pair<std::size_t, std::vector<double>>> rows;
    for (std::size_t k = 1; k <= 24; ++k) {
      const std::size_t t = (cosines_.rows() - 1) * k / 24;
      rows.emplace_back(t, cosines_.row(t));
    }
    const float factor = e_.schedule.attention_factor_float32;
    for (const Pipeline& p : proofs_numeric::pipelines()) {
      const auto makes = [&](std::size_t t, std::size_t f, double entry) {
        const double x = proofs_numeric::nearest_product(
            proofs_numeric::nearest(static_cast<double>(e_.schedule.float32[f]), p.inv_freq),
            proofs_numeric::nearest(static_cast<double>(t), p.positions), p.angles);
        if (!std::isfinite(x)) return false;
        const double c = proofs_numeric::nearest_product(
            proofs_numeric::nearest_cosine(x, p.angles), static_cast<double>(factor), p.angles);
        return std::abs(entry - proofs_numeric::nearest(c, p.table)) <=
               std::ldexp(1.0, 1 - p.table.precision) * static_cast<double>(factor);
      };
      const bool all = std::all_of(rows.begin(), rows.end(), [&](const auto& sample) {
        for (std::size_t f = 0; f < column_.size(); ++f)
          if (!makes(sample.first, f, sample.second[column_[f]])) return false;
        return true;
      });
      if (all) return fmt::format("; the table is that of the pipeline {}", p.name);
    }
    return {};
  }

  std::string name_;
  const Expected& e_;
  std::vector<Finding> findings_;
  Grid cosines_;
  std::optional<Grid> sines_;
  std::vector<std::size_t> column_;  // of each plane
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
    Table table(name, expected(layer_of(name)));
    switch (*kind_of(name)) {
      case Kind::frequencies: table.frequencies(tensor); break;
      case Kind::divisors: table.divisors(tensor); break;
      case Kind::cosines: table.entries(tensor, file.find(sine_of(name))); break;
      case Kind::sines: break;  // with its cosine
    }
    findings.insert(findings.end(), table.findings().begin(), table.findings().end());
  }
  return findings;
}

}  // namespace ropewalk::checkpoints
