#include "proofs_numeric/horizon.hpp"

#include <tbb/parallel_for.h>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "proofs_numeric/exponential.hpp"
#include "proofs_numeric/game.hpp"
#include "proofs_numeric/horizon_kernel.hpp"
#include "proofs_numeric/waves.hpp"

namespace ropewalk::proofs_numeric {

namespace {

constexpr std::size_t most_complex = 2048;

void check_index(const std::vector<ComplexAmplitude>& amplitudes,
                 const std::vector<Formula>& frequencies, const HorizonQuestion& question) {
  check_horizon(frequencies, question);
  if (question.offset < 0)
    throw Error(ErrorCode::bad_value,
                "the offset must not be negative, not " + std::to_string(question.offset));
  if (question.offset >= question.reach)
    throw Error(ErrorCode::bad_value, "offset " + std::to_string(question.offset) +
                                          " does not fit into lengths up to " +
                                          std::to_string(question.reach));
  if (amplitudes.size() != frequencies.size())
    throw Error(ErrorCode::bad_value, std::to_string(amplitudes.size()) + " amplitudes for " +
                                          std::to_string(frequencies.size()) + " planes");
}

std::vector<Amplitude> doubles(const std::vector<ComplexAmplitude>& amplitudes) {
  std::vector<Amplitude> result;
  for (const ComplexAmplitude& b : amplitudes)
    result.emplace_back(b.re.convert_to<double>(), b.im.convert_to<double>());
  return result;
}

// e^{-scale loss} at the lags start, start + 1, ...: relative error below term_error().
class Terms {
 public:
  Terms(const Waves& waves, std::vector<Amplitude> head, double scale)
      : waves_(&waves), head_(std::move(head)), scale_(scale) {
    for (const Amplitude& b : head_) total_ += b.real();
  }
  void fill(std::int64_t start, std::span<double> terms) const {
    waves_->sum(head_, start, terms);
    for (double& x : terms) x = exp_minus(scale_ * (total_ - x));
  }
  [[nodiscard]] const std::vector<Amplitude>& head() const { return head_; }
  [[nodiscard]] double error() const { return sum_error(head_, scale_); }

 private:
  const Waves* waves_;
  std::vector<Amplitude> head_;
  double scale_;
  double total_ = 0;
};

// All lags first..first+count-1 in panels, in parallel.
template <class F>
void panels(std::size_t count, F&& f) {
  const auto size = static_cast<std::size_t>(Waves::panel);
  tbb::parallel_for(std::size_t{0}, (count + size - 1) / size,
                    [&](std::size_t p) { f(p, p * size, std::min(size, count - p * size)); });
}

std::vector<double> all_terms(const Terms& terms, std::int64_t first, std::size_t count,
                              const std::atomic<bool>* stop) {
  std::vector<double> result(count);
  panels(count, [&](std::size_t, std::size_t at, std::size_t size) {
    if (stop != nullptr && stop->load()) return;
    terms.fill(first + static_cast<std::int64_t>(at), {result.data() + at, size});
  });
  stop_if(stop);
  // the target itself
  if (first <= 0 && -first < static_cast<std::int64_t>(count))
    result[static_cast<std::size_t>(-first)] = 0;
  return result;
}

double sum_of(const std::vector<double>& terms) {
  RunningSum sum;
  for (const double x : terms) sum.add(x);
  return sum.value();
}

// ---------------------------------------------------------------------------------- in intervals

// The largest length with S <= most, known to have it at `ok` and not at `fails`. Nothing where
// this precision does not decide.
template <class I>
std::optional<std::int64_t> exact_last(const std::vector<ComplexAmplitude>& amplitudes,
                                       const std::vector<Formula>& frequencies,
                                       const HorizonQuestion& question, std::int64_t ok,
                                       std::int64_t fails) {
  const I most(Rational(1 / question.mass - 1));
  std::vector<I> re;
  std::vector<I> im;
  std::vector<Formula> planes;
  for (std::size_t f = 0; f < amplitudes.size(); ++f) {
    if (amplitudes[f].re == 0 && amplitudes[f].im == 0) continue;
    re.emplace_back(amplitudes[f].re);
    im.emplace_back(amplitudes[f].im);
    planes.push_back(frequencies[f]);
  }
  const I scale(question.scale);
  I sum;
  std::optional<std::int64_t> last;
  bool decided = true;
  const std::int64_t m = question.offset;
  exact_rotations<I>(
      planes, -m, fails - m - 2, question.stop,
      [&](std::int64_t s, const std::vector<I>& cosines, const std::vector<I>& sines) {
        if (s != 0) {
          I loss;
          for (std::size_t f = 0; f < planes.size(); ++f)
            loss += re[f] * (I(1) - cosines[f]) + im[f] * sines[f];
          sum += exp(I(-(scale * loss)));
        }
        const std::int64_t n = m + 1 + s;
        if (s < 0 || n <= ok) return true;
        const auto order = compare(sum, most);
        if (!order) {
          decided = false;
          return false;
        }
        if (*order <= 0) return true;
        last = n - 1;
        return false;
      });
  if (!decided) return std::nullopt;
  return last ? *last : fails - 1;
}

}  // namespace

Enclosure index_mass(const std::vector<ComplexAmplitude>& amplitudes,
                     const std::vector<Formula>& frequencies, const HorizonQuestion& question,
                     std::int64_t length) {
  check_index(amplitudes, frequencies, question);
  if (length <= question.offset || length > longest_horizon)
    throw Error(ErrorCode::bad_value, "the length must lie above the offset and be at most " +
                                          std::to_string(longest_horizon) + ", not " +
                                          std::to_string(length));
  const Waves waves(frequencies);
  const Terms terms(waves, doubles(amplitudes), question.scale.convert_to<double>());
  const double sum =
      sum_of(all_terms(terms, -question.offset, static_cast<std::size_t>(length), question.stop));
  return mass_of(sum, terms.error());
}

std::optional<Enclosure> index_least_scale(const std::vector<Rational>& amplitudes,
                                           const std::vector<Formula>& frequencies,
                                           const HorizonQuestion& question, std::int64_t length) {
  std::vector<ComplexAmplitude> head;
  for (const Rational& a : amplitudes) {
    if (a < 0) throw Error(ErrorCode::bad_value, "an amplitude is negative: " + a.str());
    head.push_back({a, 0});
  }
  HorizonQuestion at = question;
  // -1 missed, 1 met, 0 where the errors of doubles leave it open. No loss is negative, so the mass
  // grows with the scale.
  const auto verdict = [&](double scale) {
    at.scale = Rational(scale);
    const Enclosure mass = index_mass(head, frequencies, at, length);
    return mass.hi < question.mass ? -1 : mass.lo >= question.mass ? 1 : 0;
  };
  if (Rational(1, length) >= question.mass) return Enclosure(Rational(0));
  constexpr double largest = 1e6;
  double missed = 0;
  double met = 1;
  while (verdict(met) != 1) {
    stop_if(question.stop);
    if (met == largest) return std::nullopt;
    if (verdict(met) == -1) missed = met;
    met = std::min(2 * met, largest);
  }
  while (met - missed > 1e-9 * met) {
    stop_if(question.stop);
    const double middle = missed + (met - missed) / 2;
    const int v = verdict(middle);
    if (v == 0) break;
    (v == 1 ? met : missed) = middle;
  }
  return Enclosure(Rational(missed), Rational(met));
}

Survival index_survival(const std::vector<ComplexAmplitude>& amplitudes,
                        const std::vector<Formula>& frequencies, const HorizonQuestion& question) {
  check_index(amplitudes, frequencies, question);
  const Waves waves(frequencies);
  const Terms terms(waves, doubles(amplitudes), question.scale.convert_to<double>());
  const Demand demand(question.mass, terms.error());
  const std::int64_t m = question.offset;

  RunningSum sum;
  if (m > 0)
    for (const double x : all_terms(terms, -m, static_cast<std::size_t>(m), question.stop))
      sum.add(x);
  std::int64_t ok = m;  // largest length surely kept; m where none is
  std::int64_t fails = question.reach + 1;
  double sum_at_ok = sum.value();
  const auto look = [&](std::int64_t n) {  // false where it surely fails
    const double s = sum.value();
    if (demand.met(s)) {
      ok = n;
      sum_at_ok = s;
    } else if (demand.missed(s)) {
      fails = n;
      return false;
    }
    return true;
  };
  bool open = look(m + 1);
  constexpr std::size_t batch = std::size_t{8} * Waves::panel;
  for (std::int64_t s = 1; open && s <= question.reach - 1 - m;) {
    const auto size =
        static_cast<std::size_t>(std::min<std::int64_t>(batch, question.reach - m - s));
    if (question.progress) question.progress(m + s);
    const std::vector<double> some = all_terms(terms, s, size, question.stop);
    for (std::size_t k = 0; open && k < size; ++k) {
      sum.add(some[k]);
      open = look(m + 1 + s + static_cast<std::int64_t>(k));
    }
    s += static_cast<std::int64_t>(size);
  }
  Survival result;
  if (ok + 1 != fails) {  // doubles do not decide
    const auto last =
        theory::at_rising_precision([&]<class I>() -> std::optional<std::optional<std::int64_t>> {
          const auto n = exact_last<I>(amplitudes, frequencies, question, ok, fails);
          if (n || I::digits >= 160) return n;
          return std::nullopt;
        });
    if (!last || !*last)
      throw Error(ErrorCode::undecided, "160 digits do not tell the mass at length " +
                                            std::to_string(ok + 1) + " from " +
                                            question.mass.str());
    if (**last > ok) {
      ok = **last;
      sum_at_ok = sum_of(all_terms(terms, -m, static_cast<std::size_t>(ok), question.stop));
    }
  }
  result.guaranteed = ok == m ? 0 : ok;
  result.capped = ok == question.reach;
  result.mass = mass_of(sum_at_ok, terms.error());
  return result;
}

// ------------------------------------------------------------------------------------ every head

namespace {

// S at a head, and where it pulls: sum_s w_s (1 - e^{i theta_f s}) for every plane.
struct Slope {
  std::vector<double> terms;
  double sum = 0;
  std::vector<Amplitude> pull;
};

// Of given weights at the lags first, first + 1, ...
Slope slope(std::vector<double> terms, const Waves& waves, std::int64_t first,
            const std::atomic<bool>* stop) {
  Slope result;
  result.terms = std::move(terms);
  const std::size_t count = result.terms.size();
  const auto size = static_cast<std::size_t>(Waves::panel);
  std::vector<std::vector<Amplitude>> parts((count + size - 1) / size,
                                            std::vector<Amplitude>(waves.planes()));
  panels(count, [&](std::size_t p, std::size_t at, std::size_t some) {
    if (stop != nullptr && stop->load()) return;
    waves.gather(first + static_cast<std::int64_t>(at), {result.terms.data() + at, some}, parts[p]);
  });
  stop_if(stop);
  result.sum = sum_of(result.terms);
  result.pull.assign(waves.planes(), Amplitude(result.sum, 0));
  for (const auto& part : parts)
    for (std::size_t f = 0; f < part.size(); ++f)
      result.pull[f] += Amplitude(-part[f].real(), part[f].imag());
  return result;
}

Slope slope(const Terms& terms, const Waves& waves, std::int64_t first, std::size_t count,
            const std::atomic<bool>* stop) {
  return slope(all_terms(terms, first, count, stop), waves, first, stop);
}

double largest_pull(const Slope& s) {
  double most = 0;
  for (const Amplitude& g : s.pull) most = std::max(most, std::hypot(g.real(), g.imag()));
  return most;
}

double pull_along(const Slope& s, const std::vector<Amplitude>& head) {
  double sum = 0;
  for (std::size_t f = 0; f < head.size(); ++f)
    sum += head[f].real() * s.pull[f].real() + head[f].imag() * s.pull[f].imag();
  return sum;
}

// log S of any head is at least log S here less this (times S): the tangent's reach.
double tangent_gap(const Slope& s, const std::vector<Amplitude>& head, double scale) {
  return scale * (largest_pull(s) - pull_along(s, head)) / s.sum;
}

// The least of gᵀ(x - x0) + (x - x0)ᵀH(x - x0)/2 over sum_f |(x_f, x_{K+f})| <= 1, within
// `accuracy`: a barrier for the cones |b_f| <= t_f and for sum t_f <= 1, damped Newton steps.
Eigen::VectorXd cone_program(const Eigen::MatrixXd& h, const Eigen::VectorXd& g,
                             const Eigen::VectorXd& x0, double accuracy) {
  const Eigen::Index k = x0.size() / 2;
  const Eigen::VectorXd linear = g - h * x0;
  Eigen::VectorXd y(3 * k);  // re, im, t
  y.head(2 * k) = 0.9 * x0;
  for (Eigen::Index f = 0; f < k; ++f)
    y(2 * k + f) = std::hypot(y(f), y(k + f)) + 0.05 / static_cast<double>(k);
  const double parameter = 2.0 * static_cast<double>(k) + 1;
  double weight = std::max(1e-3, linear.norm());
  Eigen::VectorXd gradient(3 * k);
  Eigen::MatrixXd hessian(3 * k, 3 * k);
  for (int step = 0; step < 400; ++step) {
    gradient.setZero();
    hessian.setZero();
    gradient.head(2 * k) = (linear + h * y.head(2 * k)) / weight;
    hessian.topLeftCorner(2 * k, 2 * k) = h / weight;
    const double slack = 1 - y.tail(k).sum();
    gradient.tail(k).array() += 1 / slack;
    hessian.bottomRightCorner(k, k).array() += 1 / (slack * slack);
    for (Eigen::Index f = 0; f < k; ++f) {
      const Eigen::Index at[] = {f, k + f, 2 * k + f};
      const Eigen::Vector3d turned(-y(at[0]), -y(at[1]), y(at[2]));
      const double size = std::hypot(y(at[0]), y(at[1]));
      const double room = (y(at[2]) - size) * (y(at[2]) + size);
      for (int i = 0; i < 3; ++i) {
        gradient(at[i]) -= 2 * turned(i) / room;
        hessian(at[i], at[i]) += i < 2 ? 2 / room : -2 / room;
        for (int j = 0; j < 3; ++j)
          hessian(at[i], at[j]) += 4 * turned(i) * turned(j) / (room * room);
      }
    }
    const Eigen::VectorXd direction = -hessian.llt().solve(gradient);
    const double decrement = std::sqrt(std::max(0.0, -gradient.dot(direction)));
    if (!std::isfinite(decrement)) break;
    const Eigen::VectorXd next = y + direction * (decrement > 0.25 ? 1 / (1 + decrement) : 1.0);
    bool inside = next.tail(k).sum() < 1;
    for (Eigen::Index f = 0; inside && f < k; ++f)
      inside = next(2 * k + f) > std::hypot(next(f), next(k + f));
    if (!inside) break;  // rounding
    y = next;
    if (decrement > 0.5) continue;
    if (parameter * weight < accuracy) break;
    weight *= 0.2;
  }
  return y.head(2 * k);
}

// Proposes heads of least S, in floating point.
class Proposer {
 public:
  Proposer(const Waves& waves, const HorizonQuestion& question)
      : waves_(&waves),
        question_(&question),
        scale_(question.scale.convert_to<double>()),
        head_(waves.planes()) {
    const std::size_t planes = head_.size();
    const std::size_t stride = (planes + 95) / 96;
    const std::size_t used = (planes + stride - 1) / stride;
    for (std::size_t f = 0; f < planes; f += stride) head_[f] = 1.0 / static_cast<double>(used);
  }

  // Newton steps on log S over the ball: each minimises the quadratic model, whose curvature is
  // taken from lags drawn by weight.
  std::vector<ComplexAmplitude> best(std::int64_t length) {
    const std::int64_t first = -question_->offset;
    const auto count = static_cast<std::size_t>(length);
    const double tolerance = std::max(1e-12, 0.05 / static_cast<double>(length));
    Slope here = at(head_, first, count);
    for (int step = 0; step < 40 && std::isfinite(here.sum) && here.sum > 0; ++step) {
      const double gap = tangent_gap(here, head_, scale_);
      if (gap <= tolerance) break;
      const std::vector<std::size_t> planes = active(here, tolerance);
      const auto k = static_cast<Eigen::Index>(planes.size());
      Eigen::VectorXd x(2 * k);
      Eigen::VectorXd gradient(2 * k);
      for (Eigen::Index i = 0; i < k; ++i) {
        const std::size_t f = planes[static_cast<std::size_t>(i)];
        x(i) = head_[f].real();
        x(k + i) = head_[f].imag();
        gradient(i) = -scale_ * here.pull[f].real() / here.sum;
        gradient(k + i) = -scale_ * here.pull[f].imag() / here.sum;
      }
      const Eigen::MatrixXd curved = curvature(here, planes, first);
      bool moved = false;
      // The gap may be far above what is left to gain; then the model has to be solved better.
      for (double accuracy = gap / 1000; !moved && accuracy > tolerance / 1e5; accuracy /= 100) {
        const Eigen::VectorXd to =
            cone_program(curved, gradient, x, std::max(tolerance / 100, accuracy));
        const double along = gradient.dot(to - x);
        for (double part = 1; along < 0 && part > 1e-3 && !moved; part /= 2) {
          std::vector<Amplitude> next(head_.size());
          for (Eigen::Index i = 0; i < k; ++i)
            next[planes[static_cast<std::size_t>(i)]] =
                Amplitude(x(i) + part * (to(i) - x(i)), x(k + i) + part * (to(k + i) - x(k + i)));
          Slope there = at(next, first, count);
          if (std::log(there.sum) > std::log(here.sum) + 1e-4 * part * along + 1e-14) continue;
          moved = true;
          head_ = std::move(next);
          here = std::move(there);
        }
      }
      if (!moved) break;
    }
    std::vector<std::pair<double, double>> shares;
    for (const Amplitude& b : head_) shares.emplace_back(b.real(), b.imag());
    return as_complex(shares, 15);
  }

 private:
  Slope at(const std::vector<Amplitude>& head, std::int64_t first, std::size_t count) const {
    return slope(Terms(*waves_, head, scale_), *waves_, first, count, question_->stop);
  }

  // The planes that carry weight, or would gain most by it.
  [[nodiscard]] std::vector<std::size_t> active(const Slope& here, double tolerance) const {
    constexpr std::size_t most = 128;
    const double bar = 0.98 * largest_pull(here);
    std::vector<std::size_t> result(head_.size());
    std::iota(result.begin(), result.end(), std::size_t{0});
    std::erase_if(result, [&](std::size_t f) {
      return std::abs(head_[f]) <= tolerance / 1000 && std::abs(here.pull[f]) < bar;
    });
    if (result.size() > most) {
      std::nth_element(result.begin(), result.begin() + most, result.end(),
                       [&](std::size_t f, std::size_t g) {
                         return std::abs(here.pull[f]) > std::abs(here.pull[g]);
                       });
      result.resize(most);
      std::sort(result.begin(), result.end());
    }
    return result;
  }

  // scale^2 times the covariance of (1 - cos theta_f s, sin theta_f s) under the weights.
  [[nodiscard]] Eigen::MatrixXd curvature(const Slope& here, const std::vector<std::size_t>& planes,
                                          std::int64_t first) const {
    constexpr std::size_t most = 8192;
    std::vector<std::pair<std::int64_t, double>> lags;  // with their shares
    const std::size_t count = here.terms.size();
    if (count <= most) {
      for (std::size_t s = 0; s < count; ++s)
        if (here.terms[s] > 0)
          lags.emplace_back(first + static_cast<std::int64_t>(s), here.terms[s] / here.sum);
    } else {  // at equal steps of the weight added up
      const double step = here.sum / static_cast<double>(most);
      double sum = 0;
      double taken = 0.5 * step;
      for (std::size_t s = 0; s < count; ++s) {
        sum += here.terms[s];
        if (sum < taken) continue;
        const double times = std::floor((sum - taken) / step) + 1;
        lags.emplace_back(first + static_cast<std::int64_t>(s), times / static_cast<double>(most));
        taken += times * step;
      }
    }
    const auto k = static_cast<Eigen::Index>(planes.size());
    const auto rows = static_cast<Eigen::Index>(lags.size());
    Eigen::MatrixXd z(rows, 2 * k);
    Eigen::VectorXd shares(rows);
    tbb::parallel_for(Eigen::Index{0}, k, [&](Eigen::Index i) {
      const FixedTurns theta = waves_->steps()[planes[static_cast<std::size_t>(i)]];
      for (Eigen::Index r = 0; r < rows; ++r) {
        const FixedTurns angle =
            theta * static_cast<FixedTurns>(lags[static_cast<std::size_t>(r)].first);
        z(r, i) = one_minus_cosine(angle);
        z(r, k + i) = sine(angle);
      }
    });
    for (Eigen::Index r = 0; r < rows; ++r) shares(r) = lags[static_cast<std::size_t>(r)].second;
    shares /= shares.sum();
    const Eigen::RowVectorXd middle = shares.transpose() * z;
    z.rowwise() -= middle;
    z.array().colwise() *= shares.array().sqrt();
    return scale_ * scale_ * (z.transpose() * z);
  }

  const Waves* waves_;
  const HorizonQuestion* question_;
  double scale_;
  std::vector<Amplitude> head_;
};

}  // namespace

bool index_excluded(const std::vector<ComplexAmplitude>& head,
                    const std::vector<Formula>& frequencies, const HorizonQuestion& question,
                    std::int64_t length, Rational* most) {
  check_index(head, frequencies, question);
  if (most != nullptr) *most = 1;
  if (length <= question.offset + (question.offset == 0 ? 1 : 0) || length > longest_horizon)
    return false;
  const Waves waves(frequencies);
  const auto scale = question.scale.convert_to<double>();
  const Terms terms(waves, doubles(head), scale);
  const Slope s =
      slope(terms, waves, -question.offset, static_cast<std::size_t>(length), question.stop);
  if (!std::isfinite(s.sum) || !(s.sum > 0)) return false;
  // Terms are off by a share of terms.error(), sums of them with rotations by 4096u more: all of
  // pull by less than twice that of S; what is added up here by (planes + 8) u more.
  const double error = terms.error() + 4096 * unit_roundoff;
  double size = 1;
  for (const Amplitude& b : terms.head()) size += std::abs(b.real()) + std::abs(b.imag());
  // And room for the errors of who checks it (docs/certificates.md, softmax).
  const double gap =
      std::max(0.0, tangent_gap(s, terms.head(), scale)) * (1 + 4 * error) +
      scale * size * (4 * error + static_cast<double>(waves.planes() + 8) * unit_roundoff * 4) +
      32 * scale * scale * static_cast<double>(waves.planes() + 10) * unit_roundoff;
  using I = theory::Interval<40>;
  const I least = I(enclosure_of(s.sum, terms.error()).lo) * exp(I(-I(gap)));
  const Enclosure bound = enclosure(I(I(1) / (I(1) + least)));
  if (most != nullptr) *most = bound.hi;
  return bound.hi < question.mass;
}

Exclusion index_far_exclusion(const std::vector<Formula>& frequencies,
                              const HorizonQuestion& question, const Lag& above) {
  check_horizon(frequencies, question);
  // |n - sum over -m..n-1-m of e^{i theta s}| / (n - 1), for any theta.
  const auto excluded = [&](const Lag& n) -> std::optional<Rational> {
    if (n < question.offset + 1 || n < 2) return std::nullopt;
    using I = theory::Interval<160>;
    I far;
    for (const Formula& theta : frequencies) {
      const I size = rotation_sum<I>(theta, n, Rational(n - 1, 2) - question.offset);
      far = max(far, size);
    }
    const I least = I(Integer(n - 1)) * exp(I(-(I(question.scale) * far)));
    if (!least.bounded()) return std::nullopt;
    const Enclosure most = enclosure(I(I(1) / (I(1) + least)));
    if (most.hi >= question.mass) return std::nullopt;
    return most.hi;
  };
  return first_excluded(above + 1, excluded, question.stop);
}

IndexHorizon index_horizon_of_table(const std::vector<Formula>& frequencies,
                                    const HorizonQuestion& question) {
  if (frequencies.size() > most_complex)
    throw Error(ErrorCode::too_large, std::to_string(frequencies.size()) +
                                          " planes are more than the 2048 of complex amplitudes");
  check_index(std::vector<ComplexAmplitude>(frequencies.size()), frequencies, question);
  const Waves waves(frequencies);
  Proposer proposer(waves, question);
  const std::int64_t m = question.offset;
  const std::int64_t shortest = m + 1;
  IndexHorizon result;
  std::set<std::int64_t> tried;
  std::vector<ComplexAmplitude> head;
  // A head made for n survives to g >= n, or n is too long for every head; next is g + 1.
  for (std::int64_t n = std::min(question.reach, std::max<std::int64_t>(shortest + 1, 1024));
       tried.insert(n).second && tried.size() <= 100;) {
    if (question.progress) question.progress(n);
    head = proposer.best(n);
    Survival survival = index_survival(head, frequencies, question);
    if (result.amplitudes.empty() || survival.guaranteed > result.survival.guaranteed) {
      result.survival = std::move(survival);
      result.amplitudes = head;
    }
    if (result.survival.capped) break;
    n = std::max(result.survival.guaranteed + 1, shortest);
  }
  if (!result.survival.capped) {
    std::int64_t open = std::max(result.survival.guaranteed, m);
    std::int64_t step = 1;
    for (std::int64_t n = open + 1; n <= question.reach; n = open + step, step *= 2) {
      if (question.progress) question.progress(n);
      head = proposer.best(n);
      if (Rational most; index_excluded(head, frequencies, question, n, &most)) {
        std::int64_t closed = n;
        result.exclusion.mass = Enclosure(0, most);
        while (closed - open > 1) {
          const std::int64_t middle = open + (closed - open) / 2;
          if (index_excluded(head, frequencies, question, middle, &most)) {
            closed = middle;
            result.exclusion.mass = Enclosure(0, most);
          } else {
            open = middle;
          }
        }
        result.exclusion.bound = closed == shortest ? 0 : closed - 1;
        result.exclusion.head = head;
        return result;
      }
      open = n;
    }
  }
  result.exclusion = index_far_exclusion(frequencies, question, question.reach);
  return result;
}

}  // namespace ropewalk::proofs_numeric
