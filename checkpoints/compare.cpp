#include "checkpoints/compare.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "checkpoints/forward.hpp"
#include "checkpoints/permutation.hpp"
#include "theory/error.hpp"

namespace ropewalk::checkpoints {

using Eigen::Index;
using theory::Pairing;
using Order = std::vector<std::int64_t>;  // row r of b is row order[r] of a

namespace {

constexpr Index directions = 8;

struct Named {
  std::string name;
  Order order;  // of the whole projection
};

// `blocks` heads, each from one layout to the other.
Order in_blocks(Pairing from, Pairing to, std::int64_t blocks, std::int64_t rows,
                std::int64_t planes) {
  const std::int64_t size = rows / blocks;
  const Order one = head_order(from, to, std::min(planes, size / 2), size);
  Order order;
  for (std::int64_t h = 0; h < blocks; ++h)
    for (const std::int64_t r : one) order.push_back(h * size + r);
  return order;
}

// The permutations that are met in practice, of a projection with so many heads.
std::vector<Named> candidates(const Model& model, std::int64_t heads) {
  const std::int64_t rows = heads * model.head_dim;
  const std::int64_t planes = model.rope(0, 1).rotary_dim / 2;
  Order same(static_cast<std::size_t>(rows));
  std::iota(same.begin(), same.end(), 0);
  std::vector<Named> all{{"same", same}};
  // With two planes both directions are one permutation; it is called by the layout that is there.
  const Pairing own = model.pairing();
  const Pairing other = own == Pairing::interleaved ? Pairing::half_split : Pairing::interleaved;
  const Pairing known = own == Pairing::unknown ? Pairing::half_split : own;
  for (const auto& [from, to] : {std::pair{known, other}, {other, known}}) {
    const std::string name = fmt::format("{} to {}", theory::name(from), theory::name(to));
    all.push_back({name, in_blocks(from, to, heads, rows, planes)});
    for (const std::int64_t wrong : {model.heads, model.kv_heads, std::int64_t{1}})
      if (wrong != heads && rows % (2 * wrong) == 0)
        all.push_back(
            {fmt::format("{} as if there were {} head{}", name, wrong, wrong == 1 ? "" : "s"),
             in_blocks(from, to, wrong, rows, rows / wrong / 2)});
  }
  return all;
}

// Rows seen from a few directions: enough to tell them apart.
Rows<double> project(const Linear& linear, const Rows<double>& onto) {
  Rows<double> seen(linear.outputs(), directions);
  Rows<double> row(1, onto.rows());
  for (std::int64_t r = 0; r < linear.outputs(); ++r) {
    read_rows(linear, r, 1, row.data());
    seen.row(r).noalias() = row * onto;
  }
  return seen;
}

double off(const Rows<double>& a, const Rows<double>& b, const Order& order, std::int64_t first,
           std::int64_t count) {
  double difference = 0;
  double size = 0;
  for (std::int64_t r = first; r < first + count; ++r) {
    const auto wanted = a.row(order[static_cast<std::size_t>(r)]);
    difference += (b.row(r) - wanted).squaredNorm();
    size += wanted.squaredNorm();
  }
  return size == 0 ? (difference == 0 ? 0 : 2) : std::sqrt(difference / size);
}

double exact_residual(const Linear& a, const Linear& b, const Order& order, std::int64_t first) {
  Rows<double> left(1, a.weight->row_size());
  Rows<double> right = left;
  double difference = 0;
  double size = 0;
  for (std::size_t r = 0; r < order.size(); ++r) {
    read_rows(a, order[r], 1, left.data());
    read_rows(b, first + static_cast<std::int64_t>(r), 1, right.data());
    difference += (left - right).squaredNorm();
    size += left.squaredNorm();
  }
  return size == 0 ? (difference == 0 ? 0 : 2) : std::sqrt(difference / size);
}

std::int64_t nearest_row(const Rows<double>& a, const Eigen::Ref<const Rows<double>>& row) {
  Index best = 0;
  (a.rowwise() - row.row(0)).rowwise().squaredNorm().minCoeff(&best);
  return best;
}

class Part {
 public:
  Part(const Model& model, const Linear& a, const Linear& b, std::int64_t heads,
       const Rows<double>& onto)
      : a_(a),
        b_(b),
        heads_(heads),
        dim_(model.head_dim),
        seen_a_(project(a, onto)),
        seen_b_(project(b, onto)),
        named_(candidates(model, heads)) {}

  // The permutation of one head: a name for the rows of b, their places in a.
  HeadMatch match(std::int64_t head) const {
    const std::int64_t first = head * dim_;
    HeadMatch found;
    found.head = head;
    const auto finish = [&](std::string name, const Order& order) {
      found.permutation = std::move(name);
      found.residual = exact_residual(a_, b_, order, first);
      return found;
    };
    const auto of_head = [&](const Order& order) {
      return Order(order.begin() + first, order.begin() + first + dim_);
    };
    const auto better = [&](const Named& x, const Named& y) {
      return off(seen_a_, seen_b_, x.order, first, dim_) <
             off(seen_a_, seen_b_, y.order, first, dim_);
    };
    const Named& best = *std::min_element(named_.begin(), named_.end(), better);
    if (off(seen_a_, seen_b_, best.order, first, dim_) <= same_within)
      return finish(best.name, of_head(best.order));

    // Row by row: where is each?
    Order places;
    for (std::int64_t r = first; r < first + dim_; ++r)
      places.push_back(nearest_row(seen_a_, seen_b_.row(r)));
    for (const Named& n : named_) {
      // The same order, of another head.
      const std::int64_t shift = places.front() - n.order[static_cast<std::size_t>(first)];
      if (shift % dim_ != 0) continue;
      bool fits = true;
      for (std::size_t r = 0; r < places.size() && fits; ++r)
        fits = places[r] == n.order[static_cast<std::size_t>(first) + r] + shift;
      if (fits)
        return finish(
            fmt::format("head {}{}", (first + shift) / dim_, n.name == "same" ? "" : ", " + n.name),
            places);
    }
    Order sorted = places;
    std::sort(sorted.begin(), sorted.end());
    finish("rows in another order", places);
    if (found.residual > same_within ||
        std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
      return finish("other rows", of_head(named_.front().order));
    return found;
  }

  [[nodiscard]] std::int64_t heads() const { return heads_; }

 private:
  const Linear& a_;
  const Linear& b_;
  std::int64_t heads_;
  std::int64_t dim_;
  Rows<double> seen_a_;
  Rows<double> seen_b_;
  std::vector<Named> named_;
};

void check_sizes(const Model& a, const Model& b) {
  const auto same = [&](const char* what, std::int64_t x, std::int64_t y) {
    if (x != y)
      throw Error(ErrorCode::bad_value,
                  fmt::format("{} and {} are not two files of one model: {} "
                              "{} and {}",
                              a.checkpoint->path, b.checkpoint->path, x, what, y));
  };
  same("layers", static_cast<std::int64_t>(a.layers.size()),
       static_cast<std::int64_t>(b.layers.size()));
  same("heads", a.heads, b.heads);
  same("key heads", a.kv_heads, b.kv_heads);
  same("features of a head", a.head_dim, b.head_dim);
  same("hidden features", a.hidden, b.hidden);
  same("tokens of the vocabulary", a.vocabulary, b.vocabulary);
}

Linear whole(const Tensor* tensor) {
  Linear linear;
  linear.weight = tensor;
  if (tensor != nullptr) linear.rows = {{0, tensor->rows()}};
  return linear;
}

}  // namespace

Comparison compare(const Model& a, const Model& b) {
  check_sizes(a, b);
  std::mt19937 engine(1);
  Rows<double> onto(a.hidden, directions);
  for (double& x : onto.reshaped())
    x = static_cast<double>(engine()) / 2147483648.0 - 1;  // -1 .. 1

  Comparison result;
  for (std::size_t l = 0; l < a.layers.size(); ++l) {
    const Layer& left = a.layers[l];
    const Layer& right = b.layers[l];
    for (const char part : {'q', 'k'}) {
      const Part rows(a, part == 'q' ? left.q : left.k, part == 'q' ? right.q : right.k,
                      part == 'q' ? a.heads : a.kv_heads, onto);
      std::vector<HeadMatch> found(static_cast<std::size_t>(rows.heads()));
      tbb::parallel_for(std::int64_t{0}, rows.heads(), [&](std::int64_t h) {
        found[static_cast<std::size_t>(h)] = rows.match(h);
      });
      for (HeadMatch& match : found) {
        match.layer = l;
        match.part = part;
        result.heads.push_back(std::move(match));
      }
    }
  }

  std::vector<std::pair<Linear, Linear>> others{{whole(a.embedding), whole(b.embedding)},
                                                {a.unembedding, b.unembedding}};
  for (std::size_t l = 0; l < a.layers.size(); ++l)
    for (const auto part : {&Layer::v, &Layer::out, &Layer::gate, &Layer::up, &Layer::down})
      others.emplace_back(a.layers[l].*part, b.layers[l].*part);
  result.others.resize(others.size());
  tbb::parallel_for(std::size_t{0}, others.size(), [&](std::size_t i) {
    const auto& [left, right] = others[i];
    if (!left || !right || left.outputs() != right.outputs() ||
        left.weight->row_size() != right.weight->row_size())
      return;
    Order order(static_cast<std::size_t>(left.outputs()));
    std::iota(order.begin(), order.end(), 0);
    result.others[i] = {left.weight->name, exact_residual(left, right, order, 0)};
  });
  std::erase_if(result.others, [](const MatrixMatch& m) { return m.name.empty(); });
  return result;
}

}  // namespace ropewalk::checkpoints
