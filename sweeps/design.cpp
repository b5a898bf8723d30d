#include "sweeps/design.hpp"

#include <ceres/gradient_problem.h>
#include <ceres/gradient_problem_solver.h>

#include <ClpSimplex.hpp>
#include <CoinPackedMatrix.hpp>
#include <CoinPackedVector.hpp>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "proofs_numeric/best_retrieval.hpp"
#include "proofs_numeric/packing.hpp"
#include "theory/schedule.hpp"

namespace ropewalk::sweeps {

using namespace proofs_numeric;

namespace {

const double pi = std::acos(-1.0);

// sum_f a_f (constant + sign cos(lag theta_f + phase))
struct Form {
  double constant;
  double sign;
  double lag;
  double phase;
};

// A minimum over forms. The minima of a task, times their factor, add up to its margin, and the
// objective is the least task.
struct Group {
  std::vector<Form> forms;
  double factor;
  std::size_t task;
};

struct Point {
  std::vector<double> theta;
  std::vector<double> a;  // sum 1
  double value = -1e9;
};

// Index margin/w, Retrieval margin/(1 - w); of one task w and 1 - w are 1 and 0.
std::vector<Group> groups_of(const DesignQuestion& q) {
  const double w = q.objective == Objective::index       ? 1
                   : q.objective == Objective::retrieval ? 0
                                                         : q.weight.convert_to<double>();
  std::vector<Group> groups;
  if (w > 0) {
    Group index{{}, 1 / w, 0};
    for (std::int64_t s = 1; s < q.length; ++s)
      index.forms.push_back({1, -1, static_cast<double>(s), 0});
    groups.push_back(std::move(index));
  }
  if (w < 1) {
    const std::size_t task = groups.size();
    Group match{{}, 1 / (1 - w), task};
    Group rival{{}, 1 / (1 - w), task};
    for (std::int64_t t = 0; t < q.length; ++t) {
      match.forms.push_back({0, 1, static_cast<double>(t), 0});
      for (unsigned k = 1; k < q.alphabet; ++k)
        rival.forms.push_back({0, -1, static_cast<double>(t), 2 * pi * k / q.alphabet});
    }
    groups.push_back(std::move(match));
    groups.push_back(std::move(rival));
  }
  return groups;
}

double value_of(const Form& form, const Point& at) {
  double sum = 0;
  for (std::size_t f = 0; f < at.theta.size(); ++f)
    sum += at.a[f] * (form.constant + form.sign * std::cos(form.lag * at.theta[f] + form.phase));
  return sum;
}

double objective(const std::vector<Group>& groups, const Point& at) {
  std::vector<double> tasks(groups.back().task + 1, 0);
  for (const Group& group : groups) {
    double least = 1e9;
    for (const Form& form : group.forms) least = std::min(least, value_of(form, at));
    tasks[group.task] += group.factor * least;
  }
  return *std::min_element(tasks.begin(), tasks.end());
}

// -log(sum exp(-sharpness v))/sharpness, and the values' shares in it, in their place.
double soft_minimum(std::vector<double>& values, double sharpness) {
  const double least = *std::min_element(values.begin(), values.end());
  double sum = 0;
  for (double& v : values) sum += v = std::exp(-sharpness * (v - least));
  for (double& v : values) v /= sum;
  return least - std::log(sum) / sharpness;
}

// Minus the softmin of the tasks' sums of softmins, over angles and the logarithms of amplitudes.
class Smoothed : public ceres::FirstOrderFunction {
 public:
  Smoothed(const std::vector<Group>& groups, std::size_t planes, double sharpness)
      : groups_(groups), planes_(planes), sharpness_(sharpness) {}
  [[nodiscard]] int NumParameters() const override { return static_cast<int>(2 * planes_); }

  static std::vector<double> shares(const double* z, std::size_t planes) {
    const double top = *std::max_element(z, z + planes);
    std::vector<double> a(planes);
    double sum = 0;
    for (std::size_t f = 0; f < planes; ++f) sum += a[f] = std::exp(z[f] - top);
    for (double& x : a) x /= sum;
    return a;
  }

  bool Evaluate(const double* x, double* cost, double* gradient) const override {
    const std::vector<double> a = shares(x + planes_, planes_);
    std::vector<std::vector<double>> shares_of(groups_.size());
    std::vector<double> tasks(groups_.back().task + 1, 0);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const Group& group = groups_[g];
      std::vector<double>& values = shares_of[g];
      for (const Form& form : group.forms) {
        double value = 0;
        for (std::size_t f = 0; f < planes_; ++f)
          value += a[f] * (form.constant + form.sign * std::cos(form.lag * x[f] + form.phase));
        values.push_back(value);
      }
      tasks[group.task] += group.factor * soft_minimum(values, sharpness_);
    }
    *cost = -soft_minimum(tasks, sharpness_);
    if (gradient == nullptr) return true;
    std::vector<double> by_theta(planes_, 0);
    std::vector<double> by_a(planes_, 0);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const Group& group = groups_[g];
      for (std::size_t i = 0; i < group.forms.size(); ++i) {
        const double share = tasks[group.task] * group.factor * shares_of[g][i];
        if (share < 1e-14) continue;
        const Form& form = group.forms[i];
        for (std::size_t f = 0; f < planes_; ++f) {
          const double angle = form.lag * x[f] + form.phase;
          by_a[f] += share * (form.constant + form.sign * std::cos(angle));
          by_theta[f] -= share * a[f] * form.sign * form.lag * std::sin(angle);
        }
      }
    }
    double mean = 0;
    for (std::size_t f = 0; f < planes_; ++f) mean += a[f] * by_a[f];
    for (std::size_t f = 0; f < planes_; ++f) {
      gradient[f] = -by_theta[f];
      gradient[planes_ + f] = -a[f] * (by_a[f] - mean);
    }
    return std::isfinite(*cost);
  }

 private:
  const std::vector<Group>& groups_;
  std::size_t planes_;
  double sharpness_;
};

void climb_smoothed(const std::vector<Group>& groups, Point& at) {
  const std::size_t planes = at.theta.size();
  std::vector<double> x = at.theta;
  for (const double a : at.a) x.push_back(std::log(std::max(a, 1e-6)));
  for (const double sharpness : {20.0, 80.0, 320.0, 1280.0, 5120.0}) {
    const ceres::GradientProblem problem(new Smoothed(groups, planes, sharpness));
    ceres::GradientProblemSolver::Options options;
    options.max_num_iterations = 60;
    options.logging_type = ceres::SILENT;
    ceres::GradientProblemSolver::Summary summary;
    std::vector<double> trial = x;
    ceres::Solve(options, problem, trial.data(), &summary);
    Point next;
    next.theta.assign(trial.begin(), trial.begin() + static_cast<std::ptrdiff_t>(planes));
    next.a = Smoothed::shares(trial.data() + planes, planes);
    next.value = objective(groups, next);
    if (!std::isfinite(next.value)) return;
    x = trial;
    if (next.value > at.value) at = std::move(next);
  }
}

// Steps by linear programs: the change of angles and amplitudes that raises the linearised minima
// most, within a region that shrinks where the promise is not kept.
void climb_sharp(const std::vector<Group>& groups, double length, Point& at) {
  const std::size_t planes = at.theta.size();
  // Changes of angles and amplitudes, then the least form of each group, then the least task.
  const auto columns = static_cast<int>(2 * planes + groups.size() + 1);
  double radius = 0.5 / length;
  for (int round = 0; round < 200 && radius > 1e-17; ++round) {
    CoinPackedMatrix rows(false, 0, 0);
    rows.setDimensions(0, columns);
    std::vector<double> upper;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const double reach = 4 * radius * length + 1e-9;  // no other form comes down to the least
      double least = 1e9;
      std::vector<double> values;
      for (const Form& form : groups[g].forms) {
        values.push_back(value_of(form, at));
        least = std::min(least, values.back());
      }
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] > least + 2 * reach) continue;
        const Form& form = groups[g].forms[i];
        CoinPackedVector row;
        for (std::size_t f = 0; f < planes; ++f) {
          const double angle = form.lag * at.theta[f] + form.phase;
          row.insert(static_cast<int>(f),
                     at.a[f] * form.sign * form.lag * std::sin(angle) * radius);
          row.insert(static_cast<int>(planes + f), -(form.constant + form.sign * std::cos(angle)));
        }
        row.insert(static_cast<int>(2 * planes + g), 1);
        rows.appendRow(row);
        upper.push_back(values[i]);
      }
    }
    CoinPackedVector sum;
    for (std::size_t f = 0; f < planes; ++f) sum.insert(static_cast<int>(planes + f), 1);
    rows.appendRow(sum);
    upper.push_back(0);
    std::vector<double> lower(upper.size(), -COIN_DBL_MAX);
    lower.back() = 0;
    for (std::size_t task = 0; task <= groups.back().task; ++task) {
      CoinPackedVector row;
      for (std::size_t g = 0; g < groups.size(); ++g)
        if (groups[g].task == task) row.insert(static_cast<int>(2 * planes + g), -groups[g].factor);
      row.insert(columns - 1, 1);
      rows.appendRow(row);
      lower.push_back(-COIN_DBL_MAX);
      upper.push_back(0);
    }
    std::vector<double> low(static_cast<std::size_t>(columns), -1e6);
    std::vector<double> high(static_cast<std::size_t>(columns), 1e6);
    std::vector<double> costs(static_cast<std::size_t>(columns), 0);
    for (std::size_t f = 0; f < planes; ++f) {
      low[f] = -1;  // in units of the radius
      high[f] = 1;
      low[planes + f] = std::max(-at.a[f], -length * radius);
      high[planes + f] = length * radius;
    }
    costs.back() = -1;
    ClpSimplex lp;
    lp.setLogLevel(0);
    lp.loadProblem(rows, low.data(), high.data(), costs.data(), lower.data(), upper.data());
    lp.dual();
    if (lp.status() != 0) return;
    Point next = at;
    double total = 0;
    for (std::size_t f = 0; f < planes; ++f) {
      next.theta[f] += lp.getColSolution()[f] * radius;
      next.a[f] = std::max(0.0, at.a[f] + lp.getColSolution()[planes + f]);
      total += next.a[f];
    }
    for (double& a : next.a) a /= total;
    next.value = objective(groups, next);
    if (next.value > at.value) {
      at = std::move(next);
      radius *= 1.5;
    } else {
      radius *= 0.3;
    }
  }
}

// Angles folded to [0, pi], the fastest first.
void fold(Point& at) {
  std::vector<std::size_t> order(at.theta.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (double& x : at.theta) {
    x = std::fmod(std::abs(x), 2 * pi);
    x = std::min(x, 2 * pi - x);
  }
  std::sort(order.begin(), order.end(),
            [&](std::size_t x, std::size_t y) { return at.theta[x] > at.theta[y]; });
  Point sorted = at;
  for (std::size_t i = 0; i < order.size(); ++i) {
    sorted.theta[i] = at.theta[order[i]];
    sorted.a[i] = at.a[order[i]];
  }
  at = std::move(sorted);
}

std::vector<double> standard_angles(unsigned planes) {
  std::vector<double> theta;
  for (unsigned f = 0; f < planes; ++f)
    theta.push_back(std::pow(10000.0, -static_cast<double>(f) / planes));
  return theta;
}

// In (0, 1), the same on every machine.
double uniform(std::mt19937_64& generator) {
  return (static_cast<double>(generator() >> 11U) + 0.5) * 0x1p-53;
}

std::vector<double> starting_angles(const DesignQuestion& q, Start start, std::mt19937_64& random) {
  const auto n = static_cast<double>(q.length);
  std::vector<double> theta;
  switch (start) {
    case Start::standard: return standard_angles(q.planes);
    case Start::random:
      for (unsigned f = 0; f < q.planes; ++f) theta.push_back(pi * uniform(random));
      break;
    case Start::lacunary:
      for (unsigned f = 0; f < q.planes; ++f)
        theta.push_back(
            pi / 2 *
            std::pow(2 / n, q.planes == 1 ? 1.0 : static_cast<double>(f) / (q.planes - 1)));
      break;
    case Start::cyclic:
      for (unsigned f = 0; f < q.planes; ++f)
        theta.push_back(2 * pi * std::ceil(uniform(random) * (n - 1) / 2) / n);
      break;
  }
  return theta;
}

// ------------------------------------------------------------------------------- proof

struct Proven {
  std::vector<Rational> amplitudes;
  std::optional<Enclosure> index;
  std::optional<Enclosure> retrieval;
  Enclosure value;
  std::vector<Fact> facts;
};

Proven prove(const DesignQuestion& q, const std::vector<Formula>& frequencies) {
  Proven out;
  const theory::Lag reach = q.length - 1;
  constexpr RetrievalCode code = RetrievalCode::plain;
  if (q.objective == Objective::index) {
    const OptimalHead head = optimal_head(frequencies, reach);
    out.amplitudes = head.amplitudes;
    out.index = out.value = head.optimum;
    out.facts = optimal_facts(frequencies, reach, head);
  } else if (q.objective == Objective::retrieval) {
    RetrievalHead head = best_retrieval(frequencies, q.alphabet, q.length - 1, code);
    out.facts = retrieval_optimum_facts(frequencies, q.alphabet, q.length - 1, code, head);
    out.amplitudes = head.amplitudes;
    out.retrieval = out.value = head.optimum;
  } else {
    RetrievalHead head = best_for_both(frequencies, q.alphabet, q.length - 1, code, q.weight);
    ProvenBoth both = proven_both(frequencies, q.alphabet, q.length - 1, code, q.weight, head);
    out.facts = std::move(both.facts);
    out.amplitudes = head.amplitudes;
    out.index = both.index;
    out.retrieval = both.retrieval;
    out.value = head.optimum;
  }
  return out;
}

// The angles as exact numbers: each a double's shortest decimal, or the nearest 2 pi k/n.
std::vector<Formula> written(const std::vector<double>& theta, std::optional<std::int64_t> circle) {
  std::vector<Formula> result;
  for (const double x : theta) {
    if (circle) {
      const auto k =
          static_cast<std::int64_t>(std::llround(x * static_cast<double>(*circle) / (2 * pi)));
      result.push_back(Formula::pi() * Formula(Rational(2 * k, *circle)));
    } else {
      result.emplace_back(theory::shortest_decimal(x));
    }
  }
  return result;
}

// How the angles are written down: as they are, on the circle of n, and on the first one up to 2n
// that they lie on as far as doubles tell.
std::vector<std::optional<std::int64_t>> circles_for(const std::vector<double>& theta,
                                                     std::int64_t n) {
  std::vector<std::optional<std::int64_t>> result{std::nullopt, n};
  for (std::int64_t q = n + 1; q <= 2 * n && result.size() < 3; ++q)
    if (std::all_of(theta.begin(), theta.end(), [&](double x) {
          const double k = x * static_cast<double>(q) / (2 * pi);
          return std::abs(k - std::round(k)) < 1e-9;
        }))
      result.emplace_back(q);
  return result;
}

void check(const DesignQuestion& q) {
  const auto within = [](const char* what, std::int64_t x, std::int64_t least, std::int64_t most) {
    if (x < least || x > most)
      throw Error(ErrorCode::bad_value, std::string(what) + " must lie in " +
                                            std::to_string(least) + ".." + std::to_string(most) +
                                            ", not " + std::to_string(x));
  };
  within("planes", q.planes, 1, 64);
  within("length", q.length, 3, 4097);
  within("alphabet", q.alphabet, 2, 64);
  within("tries", q.tries, 1, 1000);
  if (q.weight <= 0 || q.weight >= 1)
    throw Error(ErrorCode::bad_value,
                "weight must lie strictly between 0 and 1, not " + q.weight.str());
  if (q.starts.empty()) throw Error(ErrorCode::bad_value, "a search needs a start");
}

// Index: no n points on the sphere are further apart. Retrieval: the mean over a match at t and the
// letters one step round at u, both ways, t and u exchanged, is on every plane
// (1 - cos omega)(cos t theta + cos u theta)/2.
Enclosure bound_of(const DesignQuestion& q) {
  using I = theory::Interval<40>;
  const Enclosure index = packing_bound(q.planes, q.length);
  const Enclosure letters = enclosure(I(I(1) - cos(I(I(2) * I::pi() / I(q.alphabet)))));
  if (q.objective == Objective::index) return index;
  if (q.objective == Objective::retrieval) return letters;
  return {std::min(Rational(index.lo / q.weight), Rational(letters.lo / (1 - q.weight))),
          std::min(Rational(index.hi / q.weight), Rational(letters.hi / (1 - q.weight)))};
}

}  // namespace

Design design(const DesignQuestion& q) {
  check(q);
  const std::vector<Group> groups = groups_of(q);
  std::vector<Start> starts;
  for (const Start start : q.starts)
    starts.insert(starts.end(), start == Start::random || start == Start::cyclic ? q.tries : 1,
                  start);
  std::vector<std::pair<Point, Start>> found;
  std::size_t attempt = 0;  // of the same start
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (q.stop != nullptr && *q.stop && !found.empty()) break;
    Point at;
    // A try of its own seed: more tries are these and others.
    const std::size_t round = i < 1 || starts[i] != starts[i - 1] ? 0 : ++attempt;
    attempt = round;
    std::seed_seq seed{q.seed & 0xffffffffU, q.seed >> 32U, static_cast<std::uint64_t>(starts[i]),
                       static_cast<std::uint64_t>(round)};
    std::mt19937_64 random(seed);
    at.theta = starting_angles(q, starts[i], random);
    at.a.assign(q.planes, 1.0 / q.planes);
    at.value = objective(groups, at);
    climb_smoothed(groups, at);
    climb_sharp(groups, static_cast<double>(q.length), at);
    fold(at);
    found.emplace_back(std::move(at), starts[i]);
    if (q.progress) q.progress(static_cast<double>(i + 1) / static_cast<double>(starts.size()));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& x, const auto& y) { return x.first.value > y.first.value; });
  // The best few are proven.
  Design best;
  bool any = false;
  for (std::size_t i = 0; i < found.size() && i < 8; ++i)
    for (const std::optional<std::int64_t> circle : circles_for(found[i].first.theta, q.length)) {
      std::vector<Formula> frequencies = written(found[i].first.theta, circle);
      Proven proven = prove(q, frequencies);
      // Nearly the same from simpler numbers is better.
      const Rational close = proven.value.lo + abs(proven.value.lo) / 1000000000;
      if (any && (circle ? close : proven.value.lo) <= best.value.lo) continue;
      any = true;
      best.frequencies = std::move(frequencies);
      best.amplitudes = std::move(proven.amplitudes);
      best.index = proven.index;
      best.retrieval = proven.retrieval;
      best.value = proven.value;
      best.facts = std::move(proven.facts);
      best.start = found[i].second;
    }
  std::vector<Formula> table;
  for (unsigned f = 0; f < q.planes; ++f)
    table.push_back(pow(Formula(10000), Rational(-static_cast<int>(f), q.planes)));
  best.standard = prove(q, table).value;
  best.bound = bound_of(q);
  return best;
}

}  // namespace ropewalk::sweeps
