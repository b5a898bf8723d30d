// The fact `stack`: a Transformer whose files lie beside the certificate answers every valid input
// of a task up to a length. docs/proofs-weight-sets.md is the mathematics; its headings are the
// comments here.
//
// What has to be 0 is exact: stored numbers are n 2^e, and so are their sums and products (Arb
// without rounding). What is enclosed is a Range. Errors of float32 are bounded by doubles: sums of
// products of a few nonnegative factors each, at most 2^24 of them, lose less than 2^-28 of
// themselves, for which above() makes up (what underflows is far below the 2^-100 that is in every
// such bound).
#include <array>
#include <optional>

#include "model.hpp"
#include "range.hpp"

namespace checker {

namespace {

constexpr long length_limit_of_stacks = 1 << 24;
constexpr long exact_limit = 200'000'000;        // exact steps, weighted by their words
constexpr double pass_limit = 5e8;               // tokens times width times hops
constexpr double cosine_limit = 1e7;             // in Arb
constexpr double step_limit = 2e10;              // lags times planes times pairs of classes
constexpr double choice_limit = 2e10;            // queries times answers times rivals
constexpr size_t class_limit = 1024;             // of queries, of keys
constexpr size_t table_limit = size_t{1} << 25;  // tokens times tokens
constexpr size_t block = 1024;

std::string text(double x) { return json(x).dump(); }  // digits that give the same double back

// Exact vectors, without zeros.

using Sparse = std::map<size_t, Ball>;

bool same(const Sparse& a, const Sparse& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && arb_equal(x.second, y.second) != 0;
  });
}
Ball at(const Sparse& x, size_t i) {
  const auto found = x.find(i);
  return found == x.end() ? Ball() : found->second;
}

/// Tokens are those of docs/tasks.md; 0 is padding.
struct Task {
  bool by_lag, last;
  size_t letters, numbers, hops;

  size_t tokens() const {
    return by_lag ? numbers + letters + 1 : letters * numbers + letters * letters + 1;
  }
  bool leaf(size_t v) const { return by_lag ? v > numbers : v <= letters * numbers; }
  size_t left(size_t v) const {
    return leaf(v) ? (v - 1) / numbers : (v - 1 - letters * numbers) / letters;
  }
  /// The lag, or the left letter, that the query v wants.
  size_t wanted(size_t v) const {
    if (by_lag) return leaf(v) ? 0 : v;
    return leaf(v) ? left(v) : (v - 1 - letters * numbers) % letters;
  }
  /// What layer l, counted from 1, reads: 0 the embedding, k what layer k wrote.
  size_t values_from(size_t l) const { return by_lag ? l - 1 : 0; }
  size_t queries_from(size_t l) const { return by_lag ? 0 : l - 1; }
};

/// The stream before a layer: the factor of its norm, the computed mean at most, and |x| at most.
struct Reading {
  Range rho;
  double mean = 0;
  Doubles sizes;
};
struct Query {  // a class of tokens
  Sparse vector;
  size_t wanted;
  Doubles sizes;  // |x| at most
};
struct Key {
  Sparse vector;
  std::vector<size_t> tokens;
};

class Stack {
 public:
  Stack(const Model& model, const Task& task, long length, bool single)
      : model_(model),
        task_(task),
        length_(static_cast<size_t>(length)),
        single_(single),
        hull_(model.width),
        errors_(model.width) {
    if (model.tokens > table_limit / model.tokens) undecided("more than 5792 tokens");
    const size_t one = model.width + 30 * model.planes.size();  // planes are seen in Arb
    if (static_cast<double>(model.tokens * (task.hops + 1)) * static_cast<double>(one) > pass_limit)
      undecided("tokens times width times hops are too many");
    if (single) {
      zeta_ = above(0x1p-16 + gamma(4 * length_ + 8));
      check_sizes();
    }
    images_.resize(1, std::vector<Sparse>(model.tokens));
    for (size_t v = 1; v < model.tokens; ++v)
      for (const auto& [c, x] : model.embedding.columns[v]) images_[0][v][c] = exactly(x);
    check_mean();
    totals_.push_back({1, 1});
    right_.push_back(1);
    wrong_.push_back(0);
    for (size_t l = task.hops; l < model.layers.size(); ++l)
      within("layer " + std::to_string(l), [&] {
        for (const auto& column : model.layers[l].out.weight.columns)
          if (!column.empty()) throw Rejected("above the hops, but it writes");
        check_zero(model.layers[l].out.bias, "the bias of what it writes");
      });
    prepare_turns();
  }

  /// Layer l, from 1 on, in turn: the mass on the right keys at least.
  double mass(size_t l) {
    const Layer& layer = model_.layers[l - 1];
    const size_t from = task_.values_from(l), z = task_.queries_from(l);
    std::vector<Sparse> queries, keys, values;
    for (size_t k = 0; k < l; ++k) {
      const std::string of = "source " + std::to_string(k);
      read(layer.query.weight, layer.norm, k, k == z ? &queries : nullptr, "queries read " + of);
      read(layer.key.weight, layer.norm, k, k == 0 ? &keys : nullptr, "keys read " + of);
      read(layer.value.weight, layer.norm, k, k == from ? &values : nullptr, "values read " + of);
    }
    check_no_constant(layer.query, layer.norm, "queries have a constant");
    check_no_constant(layer.value, layer.norm, "values have a constant");
    check_zero(layer.out.bias, "the bias of what it writes");
    const Sparse constant = constant_of(layer.key, layer.norm);

    const Reading reading = read_stream();
    double mass = 1, miss = 0;
    const auto found_keys = key_classes(keys);
    const Doubles key_errors = row_errors(layer.key, layer.norm, reading, reading.sizes);
    const auto found_queries = query_classes(queries, z, reading);
    const auto norms = key_norms(found_keys, constant, reading.rho);
    const double rest = rest_of_queries(queries, norms);
    // What wrong tokens may put into a query, in each plane.
    Doubles mixed;
    for (const Plane& p : model_.planes) {
      double most = 0;
      for (const Query& query : found_queries) most = std::max(most, norm_in(query.vector, p).hi);
      mixed.push_back(above(reading.rho.hi * wrong_[z] * most));
    }
    for (const Query& query : found_queries) {
      if (task_.by_lag && query.wanted >= length_) continue;
      double e = 0;
      if (single_) {
        const auto query_errors = row_errors(layer.query, layer.norm, reading, query.sizes);
        e = logit_error(query, reading.rho * totals_[z], mixed, norms, query_errors, key_errors);
      }
      const double ratio = wrong_over_right(query, z, found_keys, constant, reading.rho, rest, e);
      if (!(ratio < 1024)) throw Rejected("wrong keys may outweigh the right ones by far");
      const Range part = inverse(Range{1, 1} + Range{ratio, ratio});
      mass = std::min(mass, (part * Range{1 - zeta_, 1 - zeta_}).lo);
      miss = std::max(miss, (Range{ratio, ratio} * part).hi);
    }

    const Range less{1 - zeta_, 1 - zeta_}, more{1 + zeta_, 1 + zeta_};
    const Range low = reading.rho * totals_[from] * less, high = reading.rho * totals_[from] * more;
    const Range rho{reading.rho.hi, reading.rho.hi}, total{totals_[from].hi, totals_[from].hi},
        others{wrong_[from], wrong_[from]};
    totals_.push_back({low.lo, high.hi});
    right_.push_back((Range{mass, mass} * reading.rho * Range{right_[from], right_[from]}).lo);
    wrong_.push_back((rho * (Range{miss, miss} * total + others) * more).hi);
    write(l, layer, values, reading);
    return mass;
  }

  double gap() {
    const size_t h = task_.hops, tokens = model_.tokens;
    std::vector<Sparse> own, reached;
    for (size_t k = 0; k <= h; ++k)
      read(model_.unembedding.weight, model_.last, k,
           k == 0   ? &own
           : k == h ? &reached
                    : nullptr,
           "the unembedding reads source " + std::to_string(k));
    check_no_constant(model_.unembedding, model_.last, "the logits have a constant");
    const Reading reading = read_stream();
    const Doubles errors = row_errors(model_.unembedding, model_.last, reading, reading.sizes);

    // Doubles next to the exact values, which are at most `size`: off by 2^-51 of it.
    const Doubles from_own = table(own), from_reached = table(reached);
    double size_own = 0, size_reached = 0, spread = 0;
    for (const double x : from_own) size_own = std::max(size_own, std::abs(x));
    for (size_t v = 1; v < tokens; ++v) {
      const auto row = from_reached.begin() + static_cast<std::ptrdiff_t>(v * tokens);
      const auto [least, most] =
          std::minmax_element(row, row + static_cast<std::ptrdiff_t>(tokens));
      spread = std::max(spread, *most - *least);
      size_reached = std::max({size_reached, std::abs(*most), std::abs(*least)});
    }
    const double p_most = totals_[h].hi, rho_most = reading.rho.hi;
    // Ten roundings of terms of at most this size.
    const double size = rho_most * (size_own + (p_most + wrong_[h]) * 2 * size_reached) +
                        *std::max_element(errors.begin(), errors.end());
    if (!(size < 1e200)) undecided("huge logits");
    double least = infinite, work = 0;
    std::vector<const Sparse*> seen;  // own parts of queries that are followed anywhere
    for (size_t a = 1; a < tokens; ++a) {
      if (!task_.by_lag && !task_.leaf(a)) {
        if (std::any_of(seen.begin(), seen.end(), [&](auto* x) { return same(*x, own[a]); }))
          continue;
        seen.push_back(&own[a]);
      }
      for (size_t b = task_.leaf(a) ? a : 1; b < (task_.leaf(a) ? a + 1 : tokens); ++b) {
        work += static_cast<double>(4 * tokens);
        if (work > choice_limit) undecided("queries times answers times rivals are too many");
        const size_t answer = task_.by_lag && !task_.leaf(b) ? a : b;
        const double *x = &from_own[a * tokens], *y = &from_reached[b * tokens];
        for (const double rho : {reading.rho.lo, reading.rho.hi})
          for (const double p : {right_[h], p_most}) {
            double rival = -infinite;
            for (size_t o = 0; o < tokens; ++o) {
              const double logit = rho * (x[o] + p * y[o]) + errors[o];
              rival = o != answer && logit > rival ? logit : rival;
            }
            const double logit = rho * (x[answer] + p * y[answer] - wrong_[h] * spread);
            least = std::min(least, logit - errors[answer] - rival);
          }
      }
    }
    return least - 0x1p-45 * size;
  }

 private:
  // Structure.

  void count(const Ball& x) {
    work_ += 1 + arb_bits(x) / 64;
    if (work_ > exact_limit) undecided("too many exact steps");
  }
  /// W g x.
  Sparse product(const Matrix& w, const Doubles& gain, const Sparse& x) {
    Sparse out;
    for (const auto& [c, value] : x) {
      Ball scaled;
      arb_mul(scaled, value, exactly(gain[c]), ARF_PREC_EXACT);
      count(scaled);
      if (arb_is_zero(scaled)) continue;
      for (const auto& [row, weight] : w.columns[c]) {
        Ball& sum = out[row];
        arb_addmul(sum, scaled, exactly(weight), ARF_PREC_EXACT);
        count(sum);
      }
    }
    std::erase_if(out, [](const auto& entry) { return arb_is_zero(entry.second) != 0; });
    return out;
  }
  /// W g I_k(v) for all tokens v but 0, or a check that it is 0.
  void read(const Matrix& w, const Norm& norm, size_t k, std::vector<Sparse>* out,
            const std::string& what) {
    if (out != nullptr) out->resize(model_.tokens);
    for (size_t v = 1; v < model_.tokens; ++v) {
      Sparse x = product(w, norm.gain, images_[k][v]);
      if (out != nullptr)
        (*out)[v] = std::move(x);
      else if (!x.empty())
        throw Rejected(what + " (token " + std::to_string(v) + ")");
    }
  }
  /// W c + b.
  Sparse constant_of(const Linear& linear, const Norm& norm) {
    Sparse shift;
    for (size_t c = 0; c < norm.shift.size(); ++c)
      if (norm.shift[c] != 0) shift[c] = exactly(norm.shift[c]);
    Sparse out = product(linear.weight, Doubles(norm.shift.size(), 1), shift);
    for (size_t row = 0; row < linear.bias.size(); ++row)
      if (linear.bias[row] != 0)
        arb_add(out[row], at(out, row), exactly(linear.bias[row]), ARF_PREC_EXACT);
    std::erase_if(out, [](const auto& entry) { return arb_is_zero(entry.second) != 0; });
    return out;
  }
  void check_no_constant(const Linear& linear, const Norm& norm, const std::string& what) {
    if (!constant_of(linear, norm).empty()) throw Rejected(what);
  }
  static void check_zero(const Doubles& x, const std::string& what) {
    if (std::any_of(x.begin(), x.end(), [](double b) { return b != 0; }))
      throw Rejected(what + " is not 0");
  }
  /// gptj: the last images have a mean of 0.
  void check_mean() const {
    if (model_.form != Model::Form::gptj) return;
    for (size_t v = 1; v < model_.tokens; ++v) {
      Ball sum;
      for (const auto& [c, x] : images_.back()[v]) arb_add(sum, sum, x, ARF_PREC_EXACT);
      if (!arb_is_zero(sum))
        throw Rejected("source " + std::to_string(images_.size() - 1) + ": the mean of token " +
                       std::to_string(v) + " is not 0");
    }
  }

  // float32: no overflow. A norm makes at most sqrt(d) of any input; 2 is for roundings.
  void check_sizes() const {
    const double most = 2 * std::sqrt(static_cast<double>(model_.width));
    const auto rows = [&](const Linear& linear, const Norm* norm, double input) {
      Doubles sums(linear.bias);
      for (double& x : sums) x = std::abs(x);
      for (size_t c = 0; c < linear.weight.columns.size(); ++c)
        for (const auto& [row, weight] : linear.weight.columns[c])
          sums[row] +=
              2 * std::abs(weight) *
              (norm != nullptr ? most * std::abs(norm->gain[c]) + std::abs(norm->shift[c]) : input);
      return sums.empty() ? 0 : *std::max_element(sums.begin(), sums.end());
    };
    const auto check = [](double x) {
      if (!(x < 0x1p100)) throw Rejected("float32 may overflow");
    };
    for (const Layer& layer : model_.layers) {
      for (const double x : layer.norm.gain) check(most * std::abs(x));
      for (const double x : layer.norm.shift) check(std::abs(x));
      const double q = rows(layer.query, &layer.norm, 0), k = rows(layer.key, &layer.norm, 0),
                   v = rows(layer.value, &layer.norm, 0);
      check(8 * static_cast<double>(model_.width + layer.query.bias.size()) * q * k);
      check(q);
      check(k);
      check(v);
      check(rows(layer.out, nullptr, 2 * v));
    }
    for (const double x : model_.last.gain) check(most * std::abs(x));
    for (const double x : model_.last.shift) check(std::abs(x));
    check(rows(model_.unembedding, &model_.last, 0));
  }

  // Norm.

  Reading read_stream() const {
    Reading out;
    const size_t d = model_.width;
    const auto n = static_cast<double>(d);
    out.sizes.resize(d);
    std::optional<Range> all;
    double error = 0, error_squares = 0;
    for (const double e : errors_) {
      error += e;
      error_squares += e * e;
    }
    for (size_t v = 1; v < model_.tokens; ++v) {
      std::vector<Range> x = hull_;
      for (const auto& [c, value] : images_[0][v]) x[c] = x[c] + range(value);
      Range squares;
      double sizes = 0, products = 0;
      for (size_t c = 0; c < d; ++c) {
        const double size = x[c].size();
        squares = squares + square(x[c]);
        out.sizes[c] = std::max(out.sizes[c], size);
        sizes += size;
        products += size * errors_[c];
      }
      squares = squares * inverse({n, n});
      if (single_) {
        double mean = 0;
        if (model_.form == Model::Form::gptj)
          mean = above((error + gamma(2 * d + 16) * (sizes + error)) / n + tiny);
        const double off = above(3 * mean * mean + (2 * products + error_squares) / n + tiny);
        squares = squares + around(0, above(off + gamma(4 * d + 16) * (squares.hi + off)));
        out.mean = std::max(out.mean, mean);
      }
      all = all ? hull(*all, squares) : squares;
    }
    out.rho = {1, 1};
    if (model_.form != Model::Form::plain) {
      const Range text_or_float = around(1, 0x1p-22);
      const Range epsilon = range(Ball(model_.epsilon)) * text_or_float;
      out.rho = inverse(root(*all + epsilon));
      if (single_) out.rho = out.rho * around(1, gamma(8));
    }
    if (single_)
      for (const double x : out.sizes)
        if (!(x < 65536 && out.rho.hi < 65536))
          undecided("a stream above 2^16 or a norm below 2^-16");
    return out;
  }

  // Reading.

  Doubles row_errors(const Linear& linear, const Norm& norm, const Reading& reading,
                     const Doubles& sizes) {
    const size_t rows = linear.bias.size();
    if (!single_) return Doubles(rows);
    struct Row {
      size_t weights = 0;
      double size = 0, error = 0, seen = 0, sum = 0, shift = 0, alone = 0, base = 0;
    };
    std::vector<Row> all(rows);
    for (size_t c = 0; c < linear.weight.columns.size(); ++c)
      for (const auto& [row, weight] : linear.weight.columns[c]) {
        ++steps_;
        Row& r = all[row];
        const double w = std::abs(weight), g = norm.gain[c], wg = w * std::abs(g);
        ++r.weights;
        r.size += wg;
        r.error += wg * errors_[c];
        r.seen += wg * (sizes[c] + errors_[c] + reading.mean);
        r.sum += weight * g;
        (g != 0 ? r.shift : r.alone) += w * std::abs(norm.shift[c]);
        r.base += w * (1 + std::abs(g));
      }
    Doubles out;
    for (size_t row = 0; row < rows; ++row) {
      const Row& r = all[row];
      // The sum of W g has signs: it is off by less than 2^-28 of `size`, whose mean counts above.
      const double g8 = gamma(r.weights + 8), g2 = gamma(r.weights + 2),
                   sum = std::abs(r.sum) + static_cast<double>(r.weights) * 0x1p-52 * r.size;
      out.push_back(r.weights == 0
                        ? 0
                        : above(reading.rho.hi * (r.error + reading.mean * sum + g8 * r.seen) +
                                g8 * r.shift + g2 * (r.alone + std::abs(linear.bias[row])) +
                                tiny * (1 + r.base)));
    }
    return out;
  }

  // Logits.

  std::vector<Key> key_classes(const std::vector<Sparse>& keys) const {
    std::vector<Key> out;
    for (size_t b = 1; b < model_.tokens; ++b) {
      auto key = std::find_if(out.begin(), out.end(),
                              [&](const Key& k) { return same(k.vector, keys[b]); });
      if (key == out.end()) key = out.insert(key, {keys[b], {}});
      key->tokens.push_back(b);
      if (out.size() > class_limit) undecided("more than 1024 different keys");
    }
    return out;
  }
  std::vector<Query> query_classes(const std::vector<Sparse>& queries, size_t source,
                                   const Reading& reading) const {
    std::vector<Query> out;
    for (size_t v = 1; v < model_.tokens; ++v) {
      const size_t wanted = task_.wanted(v);
      auto query = std::find_if(out.begin(), out.end(), [&](const Query& q) {
        return q.wanted == wanted && same(q.vector, queries[v]);
      });
      if (query == out.end())
        query = out.insert(query, {queries[v], wanted, Doubles(model_.width)});
      if (out.size() > class_limit) undecided("more than 1024 different queries");
      if (!single_) continue;
      Doubles sizes = reading.sizes;
      if (source == 0) {
        for (size_t c = 0; c < sizes.size(); ++c) sizes[c] = hull_[c].size();
        for (const auto& [c, x] : images_[0][v]) sizes[c] = (hull_[c] + range(x)).size();
      }
      for (size_t c = 0; c < sizes.size(); ++c)
        query->sizes[c] = std::max(query->sizes[c], sizes[c]);
    }
    return out;
  }
  /// |x| in a plane.
  static Range norm_in(const Sparse& x, const Plane& p) {
    return root(square(range(at(x, p.x))) + square(range(at(x, p.y))));
  }
  Range scale() const { return inverse(root(range(Ball(model_.scale)))); }
  /// |rho k + kappa| in each plane, at most.
  Doubles key_norms(const std::vector<Key>& keys, const Sparse& constant, const Range& rho) const {
    Doubles out;
    for (const Plane& p : model_.planes) {
      double most = 0;
      for (const Key& key : keys) most = std::max(most, norm_in(key.vector, p).hi);
      out.push_back((Range{most, most} * rho + norm_in(constant, p)).hi);
    }
    return out;
  }
  /// F: the largest logit of a query of weight 1 before its own rho.
  double rest_of_queries(const std::vector<Sparse>& queries, const Doubles& keys) const {
    double out = 0;
    for (size_t v = 1; v < model_.tokens; ++v) {
      Range sum;
      for (size_t f = 0; f < keys.size(); ++f)
        if (keys[f] > 0)
          sum = sum + norm_in(queries[v], model_.planes[f]) * Range{keys[f], keys[f]};
      out = std::max(out, (sum * scale()).hi);
    }
    return out;
  }
  /// e, where the query has up to this weight, and what is mixed into it.
  double logit_error(const Query& query, const Range& weight, const Doubles& mixed,
                     const Doubles& keys, const Doubles& query_errors,
                     const Doubles& key_errors) const {
    const auto error_in = [](const Doubles& r, const Plane& p) {
      return std::hypot(r[p.x], p.y == Plane::rest ? 0 : r[p.y]);
    };
    size_t planes = 0;
    std::vector<std::array<double, 4>> all;
    for (size_t f = 0; f < model_.planes.size(); ++f) {
      const Plane& p = model_.planes[f];
      all.push_back({(norm_in(query.vector, p) * weight).hi + mixed[f], error_in(query_errors, p),
                     keys[f], error_in(key_errors, p)});
      if (all[f][2] + all[f][3] > 0) ++planes;
    }
    const double products = 0x1p-20 + gamma(2 * planes + 8);
    double sum = 0, largest = 0, sizes = 0;
    for (size_t f = 0; f < all.size(); ++f) {
      const auto [q, rq, k, rk] = all[f];
      double angle = 0;
      if (model_.planes[f].inexact) {
        const Range turn = range(model_.planes[f].frequency),
                    steep = range(model_.planes[f].steepness);
        angle = static_cast<double>(length_) * turn.hi * (10 + steep.hi) * unit;
      }
      sum += q * rk + rq * k + rq * rk + (q + rq) * (k + rk) * (angle + products);
      largest += (q + rq) * (k + rk);
      sizes += q + k + rq + rk;
    }
    return above(scale().hi * (1 + 0x1p-18) * (sum + 4 * unit * largest) + tiny * (1 + sizes));
  }

  // Angles: cosines at the steps within a block, and at the starts of blocks.
  void prepare_turns() {
    width_ = std::min(block, length_);
    const size_t blocks = (length_ + width_ - 1) / width_;
    if (static_cast<double>(model_.planes.size()) * static_cast<double>(width_ + blocks) >
        cosine_limit)
      undecided("more than 10^7 cosines");
    for (const Plane& p : model_.planes) {
      Angles& angles = angles_.emplace_back();
      const auto add = [&](Doubles& cosines, Doubles& sines, size_t lag) {
        Ball cos, sin, angle = p.frequency * Ball(mpq_class(lag));
        arb_sin_cos(sin, cos, angle, precision);
        cosines.push_back(rounded(cos));
        sines.push_back(rounded(sin));
      };
      for (size_t j = 0; j < width_; ++j) add(angles.step_cosines, angles.step_sines, j);
      for (size_t i = 0; i < blocks; ++i) add(angles.start_cosines, angles.start_sines, i * width_);
    }
  }
  /// Coefficients of cos and sin in the logit on one key vector, in each plane.
  struct Wave {
    Doubles cos, sin;
    double size = 0;  // the sum of both, at least
  };
  Wave wave(const Sparse& q, const Sparse& k) const {
    const Ball root(arb_rsqrt, Ball(model_.scale));
    Wave out;
    const auto add = [&](Doubles& parts, const Ball& exact) {
      parts.push_back(middle(exact * root));
      out.size += std::abs(parts.back());
    };
    for (const Plane& p : model_.planes) {
      const Ball qx = at(q, p.x), qy = at(q, p.y), kx = at(k, p.x), ky = at(k, p.y);
      Ball along, across;
      arb_mul(along, qx, kx, ARF_PREC_EXACT);
      arb_addmul(along, qy, ky, ARF_PREC_EXACT);
      arb_mul(across, qx, ky, ARF_PREC_EXACT);
      arb_submul(across, qy, kx, ARF_PREC_EXACT);
      add(out.cos, along);
      add(out.sin, across);
    }
    out.size = above(out.size);
    return out;
  }

  /// Z: the largest sum of exp(-D) over the wrong keys.
  // Sums of exponentials of what is linear in rho_i and in p are convex in each: the largest is at
  // an end of both. Doubles: a cosine at a lag is off by less than 5u, u = 2^-53 (each of its four
  // factors by u and 2^-80, both products and their difference by u more); n planes make two terms
  // each, whose coefficients and products are off by u and 2^-100, and 2n + 3 sums.
  double wrong_over_right(const Query& query, size_t source, const std::vector<Key>& keys,
                          const Sparse& constant, const Range& rho, double rest, double e) {
    steps_ += static_cast<double>(length_ + 1000) *  // 1000: what the planes cost in Arb
              static_cast<double>((model_.planes.size() + 1) * (keys.size() + 3));
    if (steps_ > step_limit) undecided("lags times planes times pairs of classes are too many");
    std::vector<Wave> waves{wave(query.vector, constant)};
    std::vector<std::pair<bool, bool>> kinds;  // of the keys: some right, some wrong
    double size = 0;
    for (const Key& key : keys) {
      waves.push_back(wave(query.vector, key.vector));
      size = std::max(size, waves.back().size);
      const auto right = [&](size_t b) { return task_.left(b) == query.wanted; };
      kinds.emplace_back(task_.by_lag || std::any_of(key.tokens.begin(), key.tokens.end(), right),
                         task_.by_lag || !std::all_of(key.tokens.begin(), key.tokens.end(), right));
    }
    size = above(size * rho.hi + waves[0].size);
    std::vector<size_t> planes;
    for (size_t f = 0; f < model_.planes.size(); ++f)
      if (std::any_of(waves.begin(), waves.end(),
                      [&](const Wave& w) { return w.cos[f] != 0 || w.sin[f] != 0; }))
        planes.push_back(f);
    const double off = above(static_cast<double>(2 * planes.size() + 16) * 0x1p-53 * size);
    Doubles right(length_), wrong(length_), any(length_);  // W, X and X over all keys, by lags
    std::vector<Doubles> sums(waves.size(), Doubles(width_));
    Doubles cosines(width_), sines(width_);
    for (size_t start = 0, i = 0; start < length_; start += width_, ++i) {
      for (Doubles& s : sums) std::fill(s.begin(), s.end(), 0);
      for (const size_t f : planes) {
        const Angles& a = angles_[f];
        const double c = a.start_cosines[i], s = a.start_sines[i];
        for (size_t j = 0; j < width_; ++j) {
          cosines[j] = c * a.step_cosines[j] - s * a.step_sines[j];
          sines[j] = s * a.step_cosines[j] + c * a.step_sines[j];
        }
        for (size_t k = 0; k < waves.size(); ++k) {
          const double x = waves[k].cos[f], y = waves[k].sin[f];
          if (x != 0 || y != 0)
            for (size_t j = 0; j < width_; ++j) sums[k][j] += x * cosines[j] + y * sines[j];
        }
      }
      for (size_t j = 0; j < width_ && start + j < length_; ++j) {
        double least = infinite, most = -infinite, most_any = -infinite;
        for (size_t k = 0; k < keys.size(); ++k) {
          const double a = rho.lo * sums[k + 1][j], b = rho.hi * sums[k + 1][j];
          if (kinds[k].first) least = std::min(least, std::min(a, b) + sums[0][j]);
          if (kinds[k].second) most = std::max(most, std::max(a, b) + sums[0][j]);
          most_any = std::max(most_any, std::max(a, b) + sums[0][j]);
        }
        right[start + j] = least - off;
        wrong[start + j] = most + off;
        any[start + j] = most_any + off;
      }
    }

    double out = 0;
    for (const double factor : {rho.lo, rho.hi})
      for (const double p : {right_[source], totals_[source].hi}) {
        const double f = factor * p;
        // Roundings of exponents of at most f size: a few, and those of LogSum, which add up to as
        // many.
        const double more = above(2 * e + 2 * factor * wrong_[source] * rest + 0x1p-46 * f * size);
        const auto over = [&](const LogSum& sum, double w) { return sum.times_exp(more - f * w); };
        if (task_.by_lag) {
          LogSum sum;
          for (size_t t = 0; t < length_; ++t)
            if (t != query.wanted) sum.add(f * any[t]);
          out = std::max(out, over(sum, right[query.wanted]));
        } else if (!task_.last) {
          LogSum sum;
          for (size_t t = 0; t < length_; ++t) sum.add(f * wrong[t]);
          out = std::max(out, over(sum, *std::min_element(right.begin(), right.end())));
        } else {
          Doubles before(length_);
          LogSum sum, after;
          for (size_t t = 0; t < length_; ++t) {
            before[t] = over(sum, right[t]);
            sum.add(f * wrong[t]);
          }
          for (size_t t = length_; t-- > 0;) {
            out = std::max(out, before[t] + over(after, right[t]));
            after.add(f * any[t]);
          }
        }
      }
    if (!(out < 1e300)) return infinite;
    return above(out + (single_ ? static_cast<double>(length_) * tiny : 0));
  }

  // Writing.

  /// What layer l adds to the stream, where its values are these.
  void write(size_t l, const Layer& layer, const std::vector<Sparse>& values,
             const Reading& reading) {
    auto& images = images_.emplace_back(model_.tokens);
    const Doubles ones(layer.out.weight.columns.size(), 1);
    for (size_t v = 1; v < model_.tokens; ++v)
      images[v] = product(layer.out.weight, ones, values[v]);
    check_mean();
    const size_t d = model_.width;
    std::vector<std::optional<Range>> all(d);
    for (size_t c = 0; c < d; ++c) {
      for (size_t v = 1; v < model_.tokens; ++v) {
        const auto x = images_[l][v].find(c);
        const Range value = x == images_[l][v].end() ? Range{} : range(x->second);
        all[c] = all[c] ? hull(*all[c], value) : value;
      }
      all[c] = *all[c] * totals_[l];
    }
    if (single_) {
      const Doubles read = row_errors(layer.value, layer.norm, reading, reading.sizes);
      Doubles most(read.size());
      const Range total = reading.rho * totals_[task_.values_from(l)];
      for (size_t v = 1; v < model_.tokens; ++v)
        for (const auto& [row, x] : values[v])
          most[row] = std::max(most[row], (range(x) * total).size());
      std::vector<size_t> weights(d);
      for (const auto& column : layer.out.weight.columns)
        for (const auto& [c, weight] : column) ++weights[c];
      Doubles off(d), base(d);
      for (size_t k = 0; k < read.size(); ++k)
        for (const auto& [c, weight] : layer.out.weight.columns[k]) {
          const double w = std::abs(weight), lost = gamma(2 * length_ + weights[c] + 10);
          off[c] += w * (1 + zeta_) * (read[k] + lost * (most[k] + read[k]));
          base[c] += w;
        }
      for (size_t c = 0; c < d; ++c) {
        if (weights[c] == 0) continue;
        const double before = reading.sizes[c] + errors_[c];
        off[c] = above(off[c] + tiny * (1 + base[c]));
        const double joined = before > 0 ? unit * (before + all[c]->size() + off[c]) : 0;
        errors_[c] = above(errors_[c] + off[c] + joined);
      }
    }
    for (size_t c = 0; c < d; ++c) hull_[c] = hull_[c] + *all[c];
  }

  /// Logits row by row of tokens, in doubles.
  Doubles table(const std::vector<Sparse>& rows) const {
    Doubles out(model_.tokens * model_.tokens);
    for (size_t v = 1; v < rows.size(); ++v)
      for (const auto& [o, x] : rows[v]) {
        if (!(range(x).size() < 1e200)) undecided("huge logits");
        out[v * model_.tokens + o] = middle(x);
      }
    return out;
  }

  struct Angles {
    Doubles step_cosines, step_sines, start_cosines, start_sines;
  };
  const Model& model_;
  const Task& task_;
  size_t length_, width_ = 0;
  bool single_;
  double zeta_ = 0, steps_ = 0;
  long work_ = 0;
  std::vector<Angles> angles_;
  // By sources: images of tokens, total weights, weight of the right token and of the others.
  std::vector<std::vector<Sparse>> images_;
  std::vector<Range> totals_;
  Doubles right_, wrong_;
  // Of what the layers so far wrote: hulls by coordinates, and the errors of the stream.
  std::vector<Range> hull_;
  Doubles errors_;
};

size_t count_in(const json& object, const std::string& key, long most) {
  return within(key, [&] {
    const mpz_class n = integer(object.at(key));
    if (n < 1 || n > most) throw Rejected("not in 1.." + std::to_string(most));
    return n.get_ui();
  });
}

}  // namespace

void check_stack(const json& fact, const std::string& folder) {
  const auto length = static_cast<long>(count_in(fact, "length", length_limit_of_stacks));
  const std::string arithmetic = get(fact, "arithmetic");
  if (arithmetic != "real" && arithmetic != "float32")
    throw Malformed("arithmetic: neither real nor float32");
  const bool single = arithmetic == "float32";
  const json& words = fact.at("task");
  const Task task = within("task", [&] {
    check_keys(words, {"rule", "letters", "numbers", "hops"});
    const std::string rule = get(words, "rule");
    if (rule != "lag" && rule != "token" && rule != "last")
      throw Malformed("rule: neither lag, token nor last");
    return Task{rule == "lag", rule == "last", count_in(words, "letters", 65536),
                count_in(words, "numbers", 65536), count_in(words, "hops", 64)};
  });
  if (task.last && task.hops != 1) throw Rejected("task: hops: the rule last has one");
  const auto masses = get<Texts>(fact, "mass");
  if (masses.size() != task.hops) throw Rejected("mass: not one per hop");
  const mpq_class gap = number(fact, "gap");
  if (gap <= 0) throw Rejected("gap: not above 0");

  const Model model =
      within("files", [&] { return read_model(folder, fact.at("files"), single, length); });
  if (model.tokens != task.tokens())
    throw Rejected("task: it has " + std::to_string(task.tokens()) + " tokens, the model " +
                   std::to_string(model.tokens));
  if (model.layers.size() < task.hops) throw Rejected("task: more hops than layers");
  Stack stack(model, task, length, single);
  for (size_t l = 1; l <= task.hops; ++l)
    within("hop " + std::to_string(l), [&] {
      const mpq_class claim = within("mass", [&] { return parse_number(masses[l - 1], true); });
      if (claim <= 0 || claim >= 1) throw Rejected("mass: not in (0, 1)");
      const double mass = stack.mass(l);
      if (!(mpq_class(mass) >= claim)) throw Rejected("mass: at least " + text(mass) + ", no more");
    });
  within("gap", [&] {
    const double least = stack.gap();
    if (!std::isfinite(least)) undecided("no answer");
    if (!(mpq_class(least) >= gap)) throw Rejected("at least " + text(least) + ", no more");
  });
}

}  // namespace checker
