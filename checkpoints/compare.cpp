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

// Largest residual that rounding to this type gives, with room.
double rounding(DType dtype) {
  switch (dtype) {
    case DType::f8_e4m3:
    case DType::q6_k: return 0.05;
    case DType::f8_e5m2:
    case DType::q5_0:
    case DType::q5_1: return 0.1;
    case DType::q4_0:
    case DType::q4_1:
    case DType::q4_k: return same_within;
    case DType::q8_0:
    case DType::groups_i8: return 0.02;
    case DType::bf16: return 0.005;
    case DType::f16: return 0.001;
    default: return 1e-5;
  }
}
double rounding(const Tensor& a, const Tensor& b) {
  return std::max(rounding(a.dtype), rounding(b.dtype));
}

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

template <class Source>  // Linear or Tensor
double exact_residual(const Source& a, const Source& b, std::int64_t width, const Order& order,
                      std::int64_t first) {
  Rows<double> left(1, width);
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
        named_(candidates(model, heads)),
        order_(static_cast<std::size_t>(heads)) {}

  // The permutation of one head: a name for the rows of b, their places in a.
  HeadMatch match(std::int64_t head) {
    const std::int64_t first = head * dim_;
    HeadMatch found;
    found.head = head;
    const auto finish = [&](std::string name, const Order& order) {
      found.permutation = std::move(name);
      found.residual = exact_residual(a_, b_, a_.weight->row_size(), order, first);
      found.allowed = rounding(*a_.weight, *b_.weight);
      order_[static_cast<std::size_t>(head)] = order;
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
      if (fits && shift == 0) return finish(n.name, places);
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
  /// Row r of b is this row of a: known once every head is matched.
  [[nodiscard]] Order order() const {
    Order all;
    for (const Order& one : order_) all.insert(all.end(), one.begin(), one.end());
    return all;
  }

 private:
  const Linear& a_;
  const Linear& b_;
  std::int64_t heads_;
  std::int64_t dim_;
  Rows<double> seen_a_;
  Rows<double> seen_b_;
  std::vector<Named> named_;
  std::vector<Order> order_;  // by head
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

Order as_it_is(std::int64_t rows) {
  Order order(static_cast<std::size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Everything but the rows of queries and keys.
class Others {
 public:
  explicit Others(Comparison& result) : result_(result) {}

  void tensors(const Tensor* a, const Tensor* b, Order order = {}) {
    if (a == nullptr && b == nullptr) return;
    if (a == nullptr || b == nullptr) {
      result_.alone.push_back((a != nullptr ? a : b)->name);
      return;
    }
    if (a->shape != b->shape || (!order.empty() && std::ssize(order) != a->rows()))
      return add(a->name, 2, 0);
    if (order.empty()) order = as_it_is(a->rows());
    add(a->name, exact_residual(*a, *b, a->row_size(), order, 0), rounding(*a, *b));
  }
  void norms(const Norm& a, const Norm& b, const Order& order = {}) {
    tensors(a.weight, b.weight, order);
    tensors(a.bias, b.bias, order);
  }
  void linears(const Linear& a, const Linear& b) {
    if (!a || !b) return tensors(a.weight, b.weight);
    if (a.outputs() != b.outputs() || a.weight->row_size() != b.weight->row_size())
      return add(a.weight->name, 2, 0);
    add(a.weight->name, exact_residual(a, b, a.weight->row_size(), as_it_is(a.outputs()), 0),
        rounding(*a.weight, *b.weight));
    biases(a, b, as_it_is(a.outputs()));
  }
  // Of a projection whose rows stand in this order.
  void biases(const Linear& a, const Linear& b, const Order& order) {
    if (a.bias == nullptr || b.bias == nullptr) return tensors(a.bias, b.bias);
    Linear left = a;
    Linear right = b;
    left.weight = a.bias;
    right.weight = b.bias;
    add(a.bias->name, exact_residual(left, right, 1, order, 0), rounding(*a.bias, *b.bias));
  }

 private:
  void add(const std::string& name, double residual, double allowed) {
    result_.others.push_back({name, residual, allowed});
  }
  Comparison& result_;
};

}  // namespace

Comparison compare(const Model& a, const Model& b) {
  check_sizes(a, b);
  std::mt19937 engine(1);
  Rows<double> onto(a.hidden, directions);
  for (double& x : onto.reshaped())
    x = static_cast<double>(engine()) / 2147483648.0 - 1;  // -1 .. 1

  Comparison result;
  Others others(result);
  others.tensors(a.embedding, b.embedding);
  if (a.unembedding.weight != a.embedding || b.unembedding.weight != b.embedding)
    others.linears(a.unembedding, b.unembedding);
  others.norms(a.final_norm, b.final_norm);
  for (std::size_t l = 0; l < a.layers.size(); ++l) {
    const Layer& left = a.layers[l];
    const Layer& right = b.layers[l];
    for (const char part : {'q', 'k'}) {
      const bool q = part == 'q';
      const Linear& from = q ? left.q : left.k;
      const Linear& to = q ? right.q : right.k;
      Part rows(a, from, to, q ? a.heads : a.kv_heads, onto);
      std::vector<HeadMatch> found(static_cast<std::size_t>(rows.heads()));
      tbb::parallel_for(std::int64_t{0}, rows.heads(), [&](std::int64_t h) {
        found[static_cast<std::size_t>(h)] = rows.match(h);
      });
      for (HeadMatch& match : found) {
        match.layer = l;
        match.part = part;
        result.heads.push_back(std::move(match));
      }
      const Order order = rows.order();
      others.biases(from, to, order);
      // A norm over a head's features has the order of the first head, taken from its beginning.
      Order own(order.begin(), order.begin() + a.head_dim);
      const std::int64_t shift = *std::min_element(own.begin(), own.end());
      for (std::int64_t& r : own) r -= shift;
      const bool inside = *std::max_element(own.begin(), own.end()) < a.head_dim;
      others.norms(q ? left.q_norm : left.k_norm, q ? right.q_norm : right.k_norm,
                   inside ? own : as_it_is(a.head_dim));
    }
    for (const auto part : {&Layer::v, &Layer::out, &Layer::gate, &Layer::up, &Layer::down})
      others.linears(left.*part, right.*part);
    for (const auto part :
         {&Layer::before_attention, &Layer::after_attention, &Layer::before_mlp, &Layer::after_mlp})
      others.norms(left.*part, right.*part);
  }
  return result;
}

}  // namespace ropewalk::checkpoints
