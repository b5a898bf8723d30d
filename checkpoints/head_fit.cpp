#include "checkpoints/head_fit.hpp"

#include <ceres/ceres.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

#include "theory/error.hpp"

namespace ropewalk::checkpoints {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Complex = std::complex<double>;

namespace {

// Weight of the pull towards what was measured, against the mean squared error of the logits. It
// decides where the data do not: slow planes are alike over few lags, and rare symbols have few
// pairs. Ten times less fits noise of trained heads, ten times more makes little difference.
constexpr double pull = 0.1;
// A symbol's mean counts the mean over all symbols as so many observations more.
constexpr double shrinkage = 2;

// e^{i theta_f t}: lags 0 .. longest x planes.
PlaneRows turning(const MeasuredHead& head) {
  std::int64_t longest = 0;
  for (const Asked& a : head.asked) longest = std::max(longest, a.keys());
  PlaneRows table(longest, static_cast<Index>(head.frequencies.size()));
  for (Index t = 0; t < table.rows(); ++t)
    for (Index f = 0; f < table.cols(); ++f)
      table(t, f) =
          std::polar(1.0, head.frequencies[static_cast<std::size_t>(f)] * static_cast<double>(t));
  return table;
}

PlaneRows seen(const MeasuredHead& head, const Asked& a) {
  return head.inputs[a.input].planes.middleRows(a.first, a.keys());
}

VectorXd centred(VectorXd x) {
  x.array() -= x.mean();
  return x;
}

// Logits of one query less their mean, and on which side of the split it is.
struct Block {
  const Asked* asked = nullptr;
  VectorXd logits;
  bool held_out = false;
};

std::vector<Block> blocks_of(const MeasuredHead& head) {
  if (head.asked.empty()) throw Error(ErrorCode::bad_value, "no query whose target is known");
  const bool by_input = std::any_of(head.asked.begin(), head.asked.end(), [&](const Asked& a) {
    return (a.input + head.asked.front().input) % 2 != 0;
  });
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < head.asked.size(); ++i) {
    const Asked& a = head.asked[i];
    blocks.push_back({&a, centred(logits(head, a)),
                      by_input ? (a.input + head.asked.front().input) % 2 != 0 : i % 2 != 0});
  }
  return blocks;
}

struct Judgement {
  double explained = 0;
  std::vector<double> carries;
};

// What a fit says of each plane's part in the logits of a query, keys x planes.
using Parts = std::function<MatrixXd(const Asked&)>;

Judgement judge(const std::vector<Block>& blocks, Index planes, const Parts& parts) {
  double left = 0;
  double total = 0;
  VectorXd shared = VectorXd::Zero(planes);
  for (const Block& block : blocks) {
    MatrixXd by_plane = parts(*block.asked);
    by_plane.rowwise() -= by_plane.colwise().mean().eval();
    const VectorXd sum = by_plane.rowwise().sum();
    shared += by_plane.transpose() * sum;
    if (!block.held_out) continue;
    left += (block.logits - sum).squaredNorm();
    total += block.logits.squaredNorm();
  }
  Judgement result;
  result.explained = total > 0 ? 1 - left / total : std::numeric_limits<double>::quiet_NaN();
  const double all = shared.sum();
  for (const double x : shared) result.carries.push_back(all > 0 ? x / all : 0);
  return result;
}

// Rows times unknowns minus what was measured.
class LinearSystem : public ceres::CostFunction {
 public:
  LinearSystem(PlaneRows::Index rows, PlaneRows::Index columns)
      : matrix(rows, columns), measured(rows) {
    set_num_residuals(static_cast<int>(rows));
    mutable_parameter_block_sizes()->push_back(static_cast<int>(columns));
  }
  bool Evaluate(const double* const* unknowns, double* residuals,
                double** jacobians) const override {
    const Eigen::Map<const VectorXd> x(*unknowns, matrix.cols());
    Eigen::Map<VectorXd>(residuals, matrix.rows()) = matrix * x - measured;
    if (jacobians != nullptr && *jacobians != nullptr)
      Eigen::Map<decltype(matrix)>(*jacobians, matrix.rows(), matrix.cols()) = matrix;
    return true;
  }
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> matrix;
  VectorXd measured;
};

// The amplitudes b_f = a_f e^{i phi_f} of S, from where `b` begins.
void refine(const std::vector<Block>& blocks, const PlaneRows& turns, Eigen::VectorXcd& b) {
  const Index planes = b.size();
  Index pairs = 0;
  for (const Block& block : blocks)
    if (!block.held_out) pairs += block.logits.size();
  auto system = std::make_unique<LinearSystem>(pairs + 2 * planes, 2 * planes);
  const double weight = 1 / std::sqrt(static_cast<double>(pairs));
  Index row = 0;
  for (const Block& block : blocks) {
    if (block.held_out) continue;
    const Asked& a = *block.asked;
    const Index keys = block.logits.size();
    auto rows = system->matrix.middleRows(row, keys);
    for (Index j = 0; j < keys; ++j) {
      const Index s = a.target - a.first - j;
      rows.row(j).head(planes) = turns.row(std::abs(s)).head(planes).real();
      rows.row(j).tail(planes) = (s < 0 ? 1 : -1) * turns.row(std::abs(s)).head(planes).imag();
    }
    rows.rowwise() -= rows.colwise().mean().eval();
    rows *= weight;
    system->measured.segment(row, keys) = weight * block.logits;
    row += keys;
  }
  std::vector<double> x(static_cast<std::size_t>(2 * planes));
  Eigen::Map<VectorXd> unknowns(x.data(), 2 * planes);
  unknowns << b.real(), b.imag();
  system->matrix.bottomRows(2 * planes).setIdentity();
  system->matrix.bottomRows(2 * planes) *= std::sqrt(pull);
  system->measured.tail(2 * planes) = std::sqrt(pull) * unknowns;

  ceres::Problem problem;
  problem.AddResidualBlock(system.release(), nullptr, x.data());
  ceres::Solver::Options options;
  options.linear_solver_type = ceres::DENSE_NORMAL_CHOLESKY;
  options.logging_type = ceres::SILENT;
  options.max_num_iterations = 20;
  ceres::Solver::Summary summary;
  ceres::Solve(options, &problem, &summary);
  if (!summary.IsSolutionUsable() || !unknowns.allFinite()) return;
  for (Index f = 0; f < planes; ++f) b(f) = {unknowns(f), unknowns(planes + f)};
}

// Vectors of symbols, as four matrices (real and imaginary parts of queries and of keys) with one
// column per symbol.
struct Codes {
  std::map<std::int32_t, Index> wanted, held;
  MatrixXd x_re, x_im, y_re, y_im;

  [[nodiscard]] std::array<MatrixXd*, 4> parts() { return {&x_re, &x_im, &y_re, &y_im}; }
  [[nodiscard]] std::array<const MatrixXd*, 4> parts() const {
    return {&x_re, &x_im, &y_re, &y_im};
  }
  [[nodiscard]] Index size() const {
    Index sum = 0;
    for (const MatrixXd* part : parts()) sum += part->size();
    return sum;
  }
  void read(const double* from) {
    for (MatrixXd* part : parts()) {
      *part = Eigen::Map<const MatrixXd>(from, part->rows(), part->cols());
      from += part->size();
    }
  }
  void write(double* to) const {
    for (const MatrixXd* part : parts()) {
      Eigen::Map<MatrixXd>(to, part->rows(), part->cols()) = *part;
      to += part->size();
    }
  }
  // Each plane's part in the logit of key symbol c' for wanted symbol c, where the lag turns by e.
  [[nodiscard]] VectorXd logit(Index c, Index other, const Eigen::RowVectorXcd& e) const {
    const auto re = e.real().transpose().array();
    const auto im = e.imag().transpose().array();
    return x_re.col(c).array() * (y_re.col(other).array() * re + y_im.col(other).array() * im) +
           x_im.col(c).array() * (y_im.col(other).array() * re - y_re.col(other).array() * im);
  }
};

// One (query, key) pair of the fitted half.
struct Pair {
  Index wanted, held, lag;
};

// Mean squared error of centred logits, plus the pull; by hand, since the codes are many.
class CodeError : public ceres::FirstOrderFunction {
 public:
  CodeError(const std::vector<Block>& blocks, const MeasuredHead& head, const PlaneRows& turns,
            const Codes& start)
      : start_(start), re_(turns.real().transpose()), im_(turns.imag().transpose()) {
    for (const Block& block : blocks) {
      if (block.held_out) continue;
      const Asked& a = *block.asked;
      std::vector<Pair> pairs;
      for (std::int64_t j = a.first; j <= a.position; ++j)
        pairs.push_back({start.wanted.at(a.wanted),
                         start.held.at(head.inputs[a.input].symbols[static_cast<std::size_t>(j)]),
                         a.position - j});
      pairs_.push_back(std::move(pairs));
      logits_.push_back(block.logits);
      count_ += static_cast<double>(a.keys());
    }
  }
  [[nodiscard]] int NumParameters() const override { return static_cast<int>(start_.size()); }

  bool Evaluate(const double* at, double* cost, double* gradient) const override {
    Codes codes = start_;
    codes.read(at);
    Codes slope = start_;
    for (std::size_t i = 0; i < 4; ++i)
      *slope.parts()[i] = 2 * pull * (*codes.parts()[i] - *start_.parts()[i]);
    *cost = 0;
    for (std::size_t i = 0; i < 4; ++i)
      *cost += pull * (*codes.parts()[i] - *start_.parts()[i]).squaredNorm();
    for (std::size_t q = 0; q < pairs_.size(); ++q) {
      const std::vector<Pair>& pairs = pairs_[q];
      VectorXd error(static_cast<Index>(pairs.size()));
      for (std::size_t k = 0; k < pairs.size(); ++k) {
        const auto [c, o, t] = pairs[k];
        const auto yr = codes.y_re.col(o).array();
        const auto yi = codes.y_im.col(o).array();
        error(static_cast<Index>(k)) =
            (codes.x_re.col(c).array() * (yr * re_.col(t).array() + yi * im_.col(t).array()) +
             codes.x_im.col(c).array() * (yi * re_.col(t).array() - yr * im_.col(t).array()))
                .sum();
      }
      error = centred(error) - logits_[q];
      *cost += error.squaredNorm() / count_;
      if (gradient == nullptr) continue;
      for (std::size_t k = 0; k < pairs.size(); ++k) {
        const auto [c, o, t] = pairs[k];
        const double g = 2 * error(static_cast<Index>(k)) / count_;
        const auto yr = codes.y_re.col(o).array();
        const auto yi = codes.y_im.col(o).array();
        const auto xr = codes.x_re.col(c).array();
        const auto xi = codes.x_im.col(c).array();
        const auto re = re_.col(t).array();
        const auto im = im_.col(t).array();
        slope.x_re.col(c).array() += g * (yr * re + yi * im);
        slope.x_im.col(c).array() += g * (yi * re - yr * im);
        slope.y_re.col(o).array() += g * (xr * re - xi * im);
        slope.y_im.col(o).array() += g * (xr * im + xi * re);
      }
    }
    if (gradient != nullptr) slope.write(gradient);
    return std::isfinite(*cost);
  }

 private:
  const Codes& start_;
  MatrixXd re_, im_;  // planes x lags
  std::vector<std::vector<Pair>> pairs_;
  std::vector<VectorXd> logits_;
  double count_ = 0;
};

// Means of the rows of each symbol, shrunk towards the mean of all: planes x symbols.
class SymbolMeans {
 public:
  SymbolMeans(Index planes, std::size_t symbols)
      : sums_(PlaneRows::Zero(planes, static_cast<Index>(symbols))),
        counts_(VectorXd::Zero(static_cast<Index>(symbols))) {}
  void add(Index symbol, const Eigen::RowVectorXcd& row) {
    sums_.col(symbol) += row.transpose();
    counts_(symbol) += 1;
    squares_ += row.squaredNorm();
  }
  [[nodiscard]] bool met(Index symbol) const { return counts_(symbol) > 0; }
  [[nodiscard]] double mean_square() const { return squares_ / counts_.sum(); }
  [[nodiscard]] PlaneRows means() const {
    const Eigen::VectorXcd all = sums_.rowwise().sum() / counts_.sum();
    PlaneRows result = sums_;
    for (Index c = 0; c < result.cols(); ++c)
      result.col(c) = (sums_.col(c) + shrinkage * all) / (counts_(c) + shrinkage);
    return result;
  }

 private:
  PlaneRows sums_;
  VectorXd counts_;
  double squares_ = 0;
};

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

VectorXd logits(const MeasuredHead& head, const Asked& asked) {
  VectorXd result(asked.keys());
  for (std::int64_t j = asked.first; j <= asked.position; ++j) {
    const auto key = head.inputs[asked.input].planes.row(j);
    double sum = 0;
    for (Index f = 0; f < key.size(); ++f) {
      const double angle =
          head.frequencies[static_cast<std::size_t>(f)] * static_cast<double>(asked.position - j);
      sum += (asked.planes(f) * std::conj(key(f)) * std::polar(1.0, angle)).real();
    }
    result(j - asked.first) = head.scale * sum;
  }
  return result;
}

std::optional<double> margin(const MeasuredHead& head, const Asked& asked) {
  const VectorXd all = logits(head, asked);
  double right = std::numeric_limits<double>::infinity();
  double wrong = -right;
  for (std::int64_t j = asked.first; j <= asked.position; ++j) {
    const double logit = all(j - asked.first);
    if (std::find(asked.correct.begin(), asked.correct.end(), j) != asked.correct.end())
      right = std::min(right, logit);
    else
      wrong = std::max(wrong, logit);
  }
  return std::isfinite(wrong) ? std::optional(right - wrong) : std::nullopt;
}

IndexFit fit_index(const MeasuredHead& head) {
  const std::vector<Block> blocks = blocks_of(head);
  const PlaneRows turns = turning(head);
  const Index planes = head.rotating;
  Eigen::VectorXcd v = Eigen::VectorXcd::Zero(planes);
  Eigen::VectorXcd w = v;
  VectorXd query_square = VectorXd::Zero(planes);
  VectorXd key_square = query_square;
  double keys = 0;
  for (const Block& block : blocks) {
    const Asked& a = *block.asked;
    const Eigen::RowVectorXcd turned =
        a.planes.head(planes).cwiseProduct(turns.row(a.lag()).head(planes));
    v += turned.transpose();
    query_square += turned.cwiseAbs2().transpose();
    const PlaneRows those = seen(head, a).leftCols(planes);
    w += those.colwise().sum().transpose();
    key_square += those.cwiseAbs2().colwise().sum().transpose();
    keys += static_cast<double>(those.rows());
  }
  const auto queries = static_cast<double>(blocks.size());
  v /= queries;
  query_square /= queries;
  w /= keys;
  key_square /= keys;

  Eigen::VectorXcd b = head.scale * v.cwiseProduct(w.conjugate());
  refine(blocks, turns, b);
  const auto at = [&](std::int64_t s) {
    Eigen::RowVectorXcd e = turns.row(std::abs(s)).head(planes);
    if (s < 0) e = e.conjugate().eval();
    return Eigen::RowVectorXd(b.transpose().cwiseProduct(e).real());
  };
  const Judgement judged = judge(blocks, planes, [&](const Asked& a) {
    MatrixXd parts(a.keys(), planes);
    for (Index j = 0; j < parts.rows(); ++j) parts.row(j) = at(a.target - a.first - j);
    return parts;
  });

  IndexFit fit;
  fit.query_share = share(v.squaredNorm(), query_square.sum());
  fit.key_share = share(w.squaredNorm(), key_square.sum());
  fit.explained = judged.explained;
  for (Index f = 0; f < planes; ++f)
    fit.planes.push_back({share(std::norm(v(f)), query_square(f)),
                          share(std::norm(w(f)), key_square(f)), std::abs(b(f)), std::arg(b(f)),
                          judged.carries[static_cast<std::size_t>(f)]});
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (const Asked& a : head.asked) {
    low = std::min(low, a.target - a.position);
    high = std::max(high, a.target - a.first);
  }
  double most = at(0).sum();
  for (std::int64_t s = low; s <= high; ++s)
    if (const double value = at(s).sum(); value > most) {
      most = value;
      fit.peak = s;
    }
  return fit;
}

double two_sided_margin(const MeasuredHead& head, const IndexFit& fit, std::int64_t reach) {
  const auto at = [&](std::int64_t s) {
    double sum = 0;
    for (std::size_t f = 0; f < fit.planes.size(); ++f)
      sum += fit.planes[f].amplitude *
             std::cos(head.frequencies[f] * static_cast<double>(s) + fit.planes[f].phase);
    return sum;
  };
  double others = -std::numeric_limits<double>::infinity();
  for (std::int64_t s = 1; s <= reach; ++s) others = std::max({others, at(s), at(-s)});
  return at(0) - others;
}

RetrievalFit fit_retrieval(const MeasuredHead& head) {
  const std::vector<Block> blocks = blocks_of(head);
  const PlaneRows turns = turning(head);
  const auto planes = static_cast<Index>(head.frequencies.size());
  Codes codes;
  const auto enter = [](std::map<std::int32_t, Index>& symbols, std::int32_t symbol) {
    symbols.try_emplace(symbol, static_cast<Index>(symbols.size()));
  };
  for (const Asked& a : head.asked) enter(codes.wanted, a.wanted);
  for (const HeadKeys& input : head.inputs)
    for (const std::int32_t symbol : input.symbols) enter(codes.held, symbol);
  SymbolMeans queries(planes, codes.wanted.size());
  SymbolMeans keys(planes, codes.held.size());
  for (const Block& block : blocks) {
    if (block.held_out) continue;
    const Asked& a = *block.asked;
    queries.add(codes.wanted.at(a.wanted), a.planes);
    const HeadKeys& input = head.inputs[a.input];
    for (std::int64_t j = a.first; j <= a.position; ++j)
      keys.add(codes.held.at(input.symbols[static_cast<std::size_t>(j)]), input.planes.row(j));
  }
  // Queries and keys of like size, whose product is the logit.
  const double ratio = std::sqrt(share(keys.mean_square(), queries.mean_square()));
  const double queries_by = std::sqrt(head.scale * ratio);
  const double keys_by = ratio > 0 ? std::sqrt(head.scale / ratio) : 0;
  codes.x_re = queries.means().real() * queries_by;
  codes.x_im = queries.means().imag() * queries_by;
  codes.y_re = keys.means().real() * keys_by;
  codes.y_im = keys.means().imag() * keys_by;

  std::vector<double> x(static_cast<std::size_t>(codes.size()));
  codes.write(x.data());
  const Codes start = codes;
  const ceres::GradientProblem problem(new CodeError(blocks, head, turns, start));
  ceres::GradientProblemSolver::Options options;
  options.max_num_iterations = 60;
  options.logging_type = ceres::SILENT;
  ceres::GradientProblemSolver::Summary summary;
  ceres::Solve(options, problem, x.data(), &summary);
  if (summary.IsSolutionUsable() &&
      std::all_of(x.begin(), x.end(), [](double value) { return std::isfinite(value); }))
    codes.read(x.data());

  const Judgement judged = judge(blocks, planes, [&](const Asked& a) {
    MatrixXd parts(a.keys(), planes);
    for (Index j = 0; j < parts.rows(); ++j) {
      const std::int32_t symbol =
          head.inputs[a.input].symbols[static_cast<std::size_t>(a.first + j)];
      parts.row(j) =
          codes.logit(codes.wanted.at(a.wanted), codes.held.at(symbol), turns.row(a.keys() - 1 - j))
              .transpose();
    }
    return parts;
  });
  RetrievalFit fit;
  fit.symbols = codes.wanted.size();
  fit.carries = judged.carries;
  fit.explained = judged.explained;
  for (const auto& [symbol, c] : codes.wanted) {
    const auto match = codes.held.find(symbol);
    if (match == codes.held.end() || !queries.met(c) || !keys.met(match->second)) continue;
    double other = -std::numeric_limits<double>::infinity();
    for (const auto& [name, o] : codes.held)
      if (name != symbol && keys.met(o))
        other = std::max(other, codes.logit(c, o, turns.row(0)).sum());
    const double gap = codes.logit(c, match->second, turns.row(0)).sum() - other;
    if (std::isfinite(gap)) fit.code_margin = std::min(gap, fit.code_margin.value_or(gap));
  }
  return fit;
}

double still_share(const MeasuredHead& head) {
  const Index still = static_cast<Index>(head.frequencies.size()) - head.rotating;
  double part = 0;
  double whole = 0;
  for (const Block& block : blocks_of(head)) {
    const Asked& a = *block.asked;
    const VectorXd those =
        head.scale * (seen(head, a).rightCols(still) * a.planes.tail(still).adjoint()).real();
    part += centred(those).dot(block.logits);
    whole += block.logits.squaredNorm();
  }
  return share(part, whole);
}

std::vector<std::size_t> carrying(const std::vector<double>& carries, double share) {
  std::vector<std::size_t> order(carries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return carries[a] > carries[b]; });
  double sum = 0;
  std::size_t count = 0;
  while (count < order.size() && sum < share - 1e-9 && carries[order[count]] > 0)
    sum += carries[order[count++]];
  order.resize(count);
  return order;
}

std::vector<std::size_t> carrying(const IndexFit& fit, double share) {
  std::vector<double> carries;
  for (const IndexPlane& plane : fit.planes) carries.push_back(plane.carries);
  return carrying(carries, share);
}

}  // namespace ropewalk::checkpoints
