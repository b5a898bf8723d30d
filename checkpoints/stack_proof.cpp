#include "checkpoints/stack_proof.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>

#include "checkpoints/stack_structure.hpp"
#include "proofs_numeric/turns.hpp"
#include "theory/error.hpp"

namespace ropewalk::checkpoints {

using constructions::Rule;
using constructions::Token;
using constructions::Vocabulary;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
// Doubles lose at most 2^-40 of anything computed here (sums of positive terms, one after another,
// of at most 2^12 terms, or rounded up by more); bounds give away 2^-36.
constexpr double slack = 0x1p-36;
double down(double x) { return x - std::abs(x) * slack; }
double up(double x) { return x + std::abs(x) * slack; }
// What ropewalk-check gives away in errors and sums over lags is less than this each time: its
// bounds are not to be below those claimed.
double loose(double x) { return x * (1 + 0x1p-18); }
// And 2^-16 less than was found at the end: eight decimals, rounded down.
double claimed(double x) { return std::floor((x - 0x1p-16) * 1e8) / 1e8; }
// What float32 can lose below its smallest normal number, over all the terms of any sum here.
constexpr double tiny = 0x1p-100;
// The eps of a norm is the text, the double or the float of the config.
constexpr double eps_doubt = 0x1p-22;

double as_double(const theory::Rational& x) { return static_cast<double>(x); }
std::size_t index(Eigen::Index i) { return static_cast<std::size_t>(i); }

struct Range {
  double lo = 0, hi = 0;
};
double magnitude(const Range& r) { return std::max(std::abs(r.lo), std::abs(r.hi)); }
Range squared(const Range& x) {
  const double a = x.lo * x.lo;
  const double b = x.hi * x.hi;
  return {x.lo <= 0 && x.hi >= 0 ? 0 : std::min(a, b), std::max(a, b)};
}

// A sum of exponentials of any size, as a factor times exp(top).
struct SumOfExponentials {
  double top = -infinite;
  double factor = 0;
  void add(double x) {
    if (x == -infinite) return;
    if (x > top) {
      factor = factor * std::exp(top - x) + 1;
      top = x;
    } else {
      factor += std::exp(x - top);
    }
  }
  [[nodiscard]] double times_exp(double x) const {
    return factor == 0 ? 0 : factor * std::exp(top + x);
  }
};

// float32 errors, all 0 in real arithmetic.
struct Rounding {
  double u = 0;
  double zeta = 0;
  Rounding(Arithmetic arithmetic, std::int64_t length) {
    if (arithmetic == Arithmetic::real) return;
    u = 0x1p-24;
    zeta = 0x1p-16 + gamma(4 * length + 8);
  }
  [[nodiscard]] double gamma(std::int64_t k) const {
    const double x = static_cast<double>(k) * u;
    return x < 1 ? up(x / (1 - x)) : infinite;
  }
};

// Cosine and sine of every plane that turns, at lags 0, 1, ...
struct Turns {
  std::vector<std::vector<double>> cosine, sine;

  void grow(const std::vector<HeadPlane>& planes, const std::vector<bool>& turning,
            std::int64_t length) {
    const auto count = std::count(turning.begin(), turning.end(), true);
    if (count * length > (std::int64_t{1} << 28))
      throw Error(ErrorCode::too_large, "a proof over " + std::to_string(length) + " lags of " +
                                            std::to_string(count) +
                                            " planes takes too much memory");
    cosine.resize(planes.size());
    sine.resize(planes.size());
    for (std::size_t f = 0; f < planes.size(); ++f) {
      if (!turning[f]) continue;
      const proofs_numeric::FixedTurns turns = proofs_numeric::fixed_turns(planes[f].frequency);
      for (auto t = static_cast<std::uint64_t>(cosine[f].size());
           t < static_cast<std::uint64_t>(length); ++t) {
        cosine[f].push_back(proofs_numeric::cosine(turns * t));
        sine[f].push_back(proofs_numeric::sine(turns * t));
      }
    }
  }
};

// What a layer wrote, in units of the images of tokens.
struct Written {
  Range total{1, 1};  // weight of all tokens together, at any position
  double right = 1;   // of the right token at a valid position, at least
  double leaked = 0;  // of all others, at most
};

// The stream before a norm, and what the norm makes of it.
struct Stream {
  Range rho{1, 1};
  double mean = 0;           // the computed one, at most
  std::vector<double> size;  // |x|_c over all tokens
};

// The page, layer by layer; its symbols in comments.
class Analysis {
 public:
  Analysis(const StackStructure& model, Turns& turns, std::int64_t length, Arithmetic arithmetic)
      : m_(model),
        turns_(turns),
        length_(length),
        n_(static_cast<double>(length)),
        d_(index(model.d)),
        tokens_(index(model.vocabulary.size())),
        fl_(arithmetic, length),
        own_size_(d_, 0.0),
        hull_(d_),
        error_(d_, 0.0),
        written_(1) {
    for (std::size_t v = 1; v < tokens_; ++v)
      for (const auto& [c, x] : m_.embedding[v])
        own_size_[index(c)] = std::max(own_size_[index(c)], std::abs(as_double(x)));
  }

  StackBounds run() {
    StackBounds bounds;
    bounds.margin = infinite;
    for (int l = 1; l <= m_.hops; ++l) {
      const HopLayer& layer = m_.layers[static_cast<std::size_t>(l - 1)];
      const Stream stream = stream_now();
      const Attended attended = attend(l, layer, stream);
      if (l == 1) bounds.margin = attended.margin;
      bounds.mass.push_back(std::max(down((1 - attended.wrong) * (1 - fl_.zeta)), 0.0));
      const Written& value = written_[static_cast<std::size_t>(m_.value_source(l))];
      const Range& rho = stream.rho;
      Written now;
      now.total = {down(rho.lo * value.total.lo * (1 - fl_.zeta)),
                   up(rho.hi * value.total.hi * (1 + fl_.zeta))};
      now.right = down((1 - attended.wrong) * rho.lo * value.right * (1 - fl_.zeta));
      now.leaked = up(rho.hi * (attended.wrong * value.total.hi + value.leaked) * (1 + fl_.zeta));
      if (!(now.total.lo > 0) || !std::isfinite(now.total.hi)) {
        bounds.mass.assign(static_cast<std::size_t>(m_.hops), 0.0);
        return bounds;
      }
      write(layer, stream, value, now);
      written_.push_back(now);
    }
    for (double& mass : bounds.mass) mass = claimed(mass);
    bounds.gap = claimed(gap());
    return bounds;
  }

 private:
  struct Attended {
    double wrong = 0;  // epsilon
    double margin = infinite;
  };

  // *Norm.*
  [[nodiscard]] Stream stream_now() const {
    Stream s{{1, 1}, 0, std::vector<double>(d_)};
    const auto width = static_cast<double>(d_);
    double sizes = 0;
    double errors = 0;
    double products = 0;
    double squares = 0;
    for (std::size_t c = 0; c < d_; ++c) {
      s.size[c] = own_size_[c] + magnitude(hull_[c]);
      sizes += s.size[c] + error_[c];
      errors += error_[c];
      products += s.size[c] * error_[c];
      squares += error_[c] * error_[c];
    }
    if (m_.norm_kind == NormKind::none) return s;
    double off = 0;  // delta
    if (fl_.u != 0) {
      if (m_.norm_kind == NormKind::layer)
        s.mean = loose(errors / width + fl_.gamma(2 * m_.d + 16) * sizes / width + tiny);
      off = loose(3 * s.mean * s.mean + (2 * products + squares) / width + tiny);
    }
    const Range square = square_of_stream();
    const auto widened = [&](double x) {
      return off + fl_.gamma(4 * m_.d + 16) * (x / width + off);
    };
    const double wide = slack + fl_.gamma(8);
    s.rho = {
        (1 - wide) / std::sqrt(square.hi / width + widened(square.hi) + m_.eps * (1 + eps_doubt)),
        (1 + wide) / std::sqrt(std::max(
                         square.lo / width - widened(square.lo) + m_.eps * (1 - eps_doubt), 0.0))};
    return s;
  }
  // |x|^2, token by token.
  [[nodiscard]] Range square_of_stream() const {
    Range others;
    for (const Range& h : hull_) {
      const Range r = squared(h);
      others = {others.lo + r.lo, others.hi + r.hi};
    }
    Range all{infinite, 0};
    for (std::size_t v = 1; v < tokens_; ++v) {
      Range sum = others;
      for (const auto& [c, value] : m_.embedding[v]) {
        const Range& h = hull_[index(c)];
        const double x = as_double(value);
        const Range with = squared({x + h.lo, x + h.hi});
        const Range without = squared(h);
        sum = {sum.lo + (with.lo - without.lo), sum.hi + (with.hi - without.hi)};
      }
      all = {std::min(all.lo, sum.lo), std::max(all.hi, sum.hi)};
    }
    return {down(all.lo), up(all.hi)};
  }

  // *Reading*: r by row, the stream of these sizes.
  [[nodiscard]] std::vector<double> reading_error(const SparseMatrix& w, const NormWeights& norm,
                                                  const Stream& s,
                                                  const std::vector<double>& size) const {
    std::vector<double> result(w.rows.size(), 0.0);
    if (fl_.u == 0) return result;
    for (std::size_t r = 0; r < w.rows.size(); ++r) {
      if (w.rows[r].empty()) continue;
      const auto terms = static_cast<std::int64_t>(w.rows[r].size());
      double errors = 0;
      double sum = 0;
      double all = 0;
      double widths = 0;
      double weights = 0;
      double constant = 0;
      double exact_constant = std::abs(w.bias[r]);
      for (const auto& [column, weight] : w.rows[r]) {
        const std::size_t c = index(column);
        const double wg = weight * norm.g[c];
        errors += std::abs(wg) * error_[c];
        sum += wg;
        all += std::abs(wg) * (size[c] + error_[c] + s.mean);
        widths += std::abs(wg);
        weights += std::abs(weight);
        (norm.g[c] == 0 ? exact_constant : constant) += std::abs(weight * norm.c[c]);
      }
      result[r] = loose(s.rho.hi * (errors + s.mean * (std::abs(sum) + 0x1p-40 * widths) +
                                    fl_.gamma(terms + 8) * all) +
                        fl_.gamma(terms + 8) * constant + fl_.gamma(terms + 2) * exact_constant +
                        tiny * (1 + weights + widths));
    }
    return result;
  }
  [[nodiscard]] ByPlane by_plane(const std::vector<double>& rows) const {
    ByPlane result;
    for (const HeadPlane& plane : m_.planes)
      result.push_back({rows[index(plane.x)], rows[index(plane.y)]});
    return result;
  }

  // Everything about the head of a layer that its queries share.
  struct Head {
    const HopLayer& layer;
    const Written& query;
    Range rho;
    std::vector<double> largest_query;  // by plane, rho and weight apart
    std::vector<double> key_size;
    ByPlane key_error;
    std::vector<ByPlane> query_error;  // by query class
    std::int64_t live = 0;             // K
    double spread = 0;                 // F
    double still_price = 0;
    std::vector<bool> turning;
    bool turns = false;

    Head(const HopLayer& of, const Written& queries, const Range& norm)
        : layer(of), query(queries), rho(norm) {}
  };

  [[nodiscard]] Attended attend(int l, const HopLayer& layer, const Stream& stream) {
    const Head head = head_of(l, layer, stream);
    turns_.grow(m_.planes, head.turning, length_);
    // One of each: a class of queries and what it wants.
    std::set<std::pair<std::size_t, Token>> kinds;
    for (std::size_t v = 1; v < tokens_; ++v) {
      const Token wanted = m_.vocabulary.wants(static_cast<Token>(v));
      if (m_.vocabulary.rule != Rule::lag || wanted < length_)
        kinds.emplace(layer.query_class[v], wanted);
    }
    const std::vector<std::pair<std::size_t, Token>> all(kinds.begin(), kinds.end());
    std::vector<Attended> each(all.size());
    tbb::parallel_for(std::size_t{0}, all.size(),
                      [&](std::size_t i) { each[i] = attend(head, all[i].first, all[i].second); });
    Attended result;
    for (const Attended& one : each)
      result = {std::max(result.wrong, one.wrong), std::min(result.margin, one.margin)};
    return result;
  }

  [[nodiscard]] Head head_of(int l, const HopLayer& layer, const Stream& stream) const {
    const std::size_t planes = m_.planes.size();
    const int source = m_.query_source(l);
    Head head(layer, written_[static_cast<std::size_t>(source)], stream.rho);
    head.largest_query.assign(planes, 0.0);
    for (const ByPlane& q : layer.queries)
      for (std::size_t f = 0; f < planes; ++f)
        head.largest_query[f] = std::max(head.largest_query[f], q[f].size());
    head.key_size.assign(planes, 0.0);
    for (const ByPlane& k : layer.keys)
      for (std::size_t f = 0; f < planes; ++f)
        head.key_size[f] = std::max(head.key_size[f], k[f].size());
    head.key_error = by_plane(reading_error(layer.k, layer.norm, stream, stream.size));
    for (std::size_t f = 0; f < planes; ++f) {
      head.key_size[f] = up(stream.rho.hi * head.key_size[f] + layer.common[f].size());
      head.live += head.key_size[f] + head.key_error[f].size() > 0 ? 1 : 0;
    }
    head.query_error.assign(layer.queries.size(), ByPlane(planes));
    if (fl_.u != 0) add_query_errors(source, stream, head);
    for (const ByPlane& q : layer.queries) {
      double sum = 0;
      for (std::size_t f = 0; f < planes; ++f) sum += q[f].size() * head.key_size[f];
      head.spread = std::max(head.spread, up(m_.scale * sum));
    }
    head.turning.assign(planes, false);
    for (std::size_t f = 0; f < planes; ++f) {
      const double product = head.largest_query[f] * head.key_size[f];
      if (product == 0) continue;
      head.turning[f] = n_ * m_.planes[f].speed >= 0x1p-20;
      if (head.turning[f])
        head.turns = true;
      else
        head.still_price += m_.scale * n_ * m_.planes[f].speed * product;
    }
    return head;
  }
  void add_query_errors(int source, const Stream& stream, Head& head) const {
    const HopLayer& layer = head.layer;
    const ByPlane everywhere = by_plane(reading_error(layer.q, layer.norm, stream, stream.size));
    std::vector<double> others(d_);
    for (std::size_t c = 0; c < d_; ++c) others[c] = magnitude(hull_[c]);
    for (std::size_t v = 1; v < tokens_; ++v) {
      ByPlane here = everywhere;
      if (source == 0) {
        std::vector<double> size = others;
        for (const auto& [c, x] : m_.embedding[v]) size[index(c)] += std::abs(as_double(x));
        here = by_plane(reading_error(layer.q, layer.norm, stream, size));
      }
      ByPlane& largest = head.query_error[layer.query_class[v]];
      for (std::size_t f = 0; f < here.size(); ++f)
        largest[f] = {std::max(largest[f].x, here[f].x), std::max(largest[f].y, here[f].y)};
    }
  }

  // e: by how much a logit can be off.
  [[nodiscard]] double logit_error(const Head& head, std::size_t a) const {
    const double weight = head.rho.hi * head.query.total.hi;
    double e = weight * (head.spread * 0x1p-36 + head.still_price);  // doubles, and still planes
    if (fl_.u == 0) return up(e);
    const ByPlane& q = head.layer.queries[a];
    double sum = 0;
    double largest = 0;
    double parts = 0;
    for (std::size_t f = 0; f < q.size(); ++f) {
      // The right token's query, and what may be mixed into it.
      const double qf =
          weight * q[f].size() + head.rho.hi * head.query.leaked * head.largest_query[f];
      const double kf = head.key_size[f];
      const double qe = head.query_error[a][f].size();
      const double ke = head.key_error[f].size();
      const double angle = n_ * m_.planes[f].speed * m_.planes[f].relative * fl_.u;
      const double whole = (qf + qe) * (kf + ke);
      sum += qf * ke + qe * kf + qe * ke + whole * (angle + 0x1p-20 + fl_.gamma(2 * head.live + 8));
      largest += whole;
      parts += qf + kf + qe + ke;
    }
    return loose(e + m_.scale * (1 + 0x1p-18) * (sum + 4 * fl_.u * largest) + tiny * (1 + parts));
  }

  // The scaled logit of a query class on a key vector at every lag; at lag 0 alone where no plane
  // turns.
  [[nodiscard]] std::vector<double> logits(const Head& head, const ByPlane& q,
                                           const ByPlane& k) const {
    std::vector<double> out(head.turns ? static_cast<std::size_t>(length_) : 1, 0.0);
    for (std::size_t f = 0; f < q.size(); ++f) {
      const double even = m_.scale * (q[f].x * k[f].x + q[f].y * k[f].y);
      const double odd = m_.scale * (q[f].x * k[f].y - q[f].y * k[f].x);
      if (even == 0 && odd == 0) continue;
      if (!head.turning[f]) {
        for (double& x : out) x += even;
        continue;
      }
      const double* const c = turns_.cosine[f].data();
      const double* const s = turns_.sine[f].data();
      for (std::size_t t = 0; t < out.size(); ++t) out[t] += even * c[t] + odd * s[t];
    }
    return out;
  }

  // By lag: the least logit of a right key (W), the largest of a wrong one (X), of any one.
  struct Extremes {
    std::vector<double> right, wrong, any;
  };
  [[nodiscard]] Extremes extremes(const Head& head, std::size_t a, Token wanted) const {
    const HopLayer& layer = head.layer;
    std::vector<bool> is_right(layer.keys.size(), false);
    std::vector<bool> is_wrong(layer.keys.size(), false);
    for (std::size_t b = 1; b < tokens_; ++b) {
      const bool right =
          m_.vocabulary.rule == Rule::lag || m_.vocabulary.shows(static_cast<Token>(b)) == wanted;
      (right ? is_right : is_wrong)[layer.key_class[b]] = true;
    }
    const std::vector<double> common = logits(head, layer.queries[a], layer.common);
    const std::size_t lags = common.size();
    Extremes out{std::vector<double>(lags, infinite), std::vector<double>(lags, -infinite),
                 std::vector<double>(lags, -infinite)};
    for (std::size_t b = 0; b < layer.keys.size(); ++b) {
      const std::vector<double> shown = logits(head, layer.queries[a], layer.keys[b]);
      for (std::size_t t = 0; t < lags; ++t) {
        const double x = head.rho.lo * shown[t];
        const double y = head.rho.hi * shown[t];
        const double low = std::min(x, y) + common[t];
        const double high = std::max(x, y) + common[t];
        if (is_right[b]) out.right[t] = std::min(out.right[t], low);
        if (is_wrong[b]) out.wrong[t] = std::max(out.wrong[t], high);
        out.any[t] = std::max(out.any[t], high);
      }
    }
    return out;
  }

  [[nodiscard]] Attended attend(const Head& head, std::size_t a, Token wanted) const {
    const Extremes x = extremes(head, a, wanted);
    const double e = logit_error(head, a);
    const double leak = 2 * head.query.leaked * head.spread;
    Attended result;
    // Z is convex in rho_i and in p: the largest is at ends of both.
    double z = 0;
    for (const double rho : {head.rho.lo, head.rho.hi})
      for (const double p : {head.query.right, head.query.total.hi}) {
        z = std::max(z, wrong_over_right(x, wanted, rho * p, rho * leak + 2 * e));
        result.margin =
            std::min(result.margin, rho * p * least_lead(x, wanted) - rho * leak - 2 * e);
      }
    z = loose(z) + (fl_.u != 0 ? n_ * tiny : 0);
    // Where underflow counts, the right key must not be lost in it.
    const bool counts = std::isfinite(z) && (fl_.u == 0 || z < 1024);
    result.wrong = counts ? up(z / (1 + z)) : 1.0;
    return result;
  }

  // Z at one rho_i p: the largest sum over wrong keys of exp(factor (X - W) + lost).
  [[nodiscard]] double wrong_over_right(const Extremes& x, Token wanted, double factor,
                                        double lost) const {
    const std::size_t n = x.any.size();
    SumOfExponentials sum;
    if (n == 1) {  // the same at every lag
      const bool token = m_.vocabulary.rule == Rule::token;
      sum.add(factor * (token ? x.wrong : x.any).front());
      return (token ? n_ : n_ - 1) * sum.times_exp(lost - factor * x.right.front());
    }
    switch (m_.vocabulary.rule) {
      case Rule::lag: {
        const std::size_t target = index(wanted);
        for (std::size_t t = 0; t < n; ++t)
          if (t != target) sum.add(factor * x.any[t]);
        return sum.times_exp(lost - factor * x.right[target]);
      }
      case Rule::token: {
        for (std::size_t t = 0; t < n; ++t) sum.add(factor * x.wrong[t]);
        return sum.times_exp(lost - factor * *std::min_element(x.right.begin(), x.right.end()));
      }
      case Rule::last: {
        // Before the right key only other letters are wrong, after it every key is.
        std::vector<double> before(n);
        for (std::size_t t = 0; t < n; ++t) {
          before[t] = sum.times_exp(lost - factor * x.right[t]);
          sum.add(factor * x.wrong[t]);
        }
        SumOfExponentials after;
        double most = 0;
        for (std::size_t t = n; t-- > 0;) {
          most = std::max(most, before[t] + after.times_exp(lost - factor * x.right[t]));
          after.add(factor * x.any[t]);
        }
        return most;
      }
    }
    return infinite;
  }

  // The least W - X over a right key and a wrong one at another lag.
  [[nodiscard]] double least_lead(const Extremes& x, Token wanted) const {
    const std::size_t n = x.any.size();
    if (n == 1)
      return length_ == 1
                 ? infinite
                 : x.right.front() - (m_.vocabulary.rule == Rule::token ? x.wrong : x.any).front();
    // Largest values before and after each lag.
    const auto largest_elsewhere = [&](const std::vector<double>& before,
                                       const std::vector<double>& after) {
      std::vector<double> result(n, -infinite);
      double most = -infinite;
      for (std::size_t t = 0; t < n; ++t) {
        result[t] = most;
        most = std::max(most, before[t]);
      }
      most = -infinite;
      for (std::size_t t = n; t-- > 0;) {
        result[t] = std::max(result[t], most);
        most = std::max(most, after[t]);
      }
      return result;
    };
    const bool lag = m_.vocabulary.rule == Rule::lag;
    const bool last = m_.vocabulary.rule == Rule::last;
    const std::vector<double> rival =
        largest_elsewhere(lag ? x.any : x.wrong, lag || last ? x.any : x.wrong);
    if (lag) return x.right[index(wanted)] - rival[index(wanted)];
    double least = infinite;
    for (std::size_t t = 0; t < n; ++t) least = std::min(least, x.right[t] - rival[t]);
    return least;
  }

  // *Writing*: hulls and errors of the stream.
  void write(const HopLayer& layer, const Stream& stream, const Written& value,
             const Written& now) {
    std::vector<Range> images(d_);
    std::vector<std::size_t> seen(d_, 0);
    for (std::size_t v = 1; v < tokens_; ++v)
      for (const auto& [c, x] : layer.image[v]) {
        const double y = as_double(x);
        Range& r = images[index(c)];
        r = seen[index(c)] == 0 ? Range{y, y} : Range{std::min(r.lo, y), std::max(r.hi, y)};
        ++seen[index(c)];
      }
    const std::vector<double> value_error = reading_error(layer.v, layer.norm, stream, stream.size);
    for (std::size_t c = 0; c < d_; ++c) {
      Range r = images[c];
      if (seen[c] + 1 < tokens_) r = {std::min(r.lo, 0.0), std::max(r.hi, 0.0)};
      r = {down(std::min(now.total.lo * r.lo, now.total.hi * r.lo)),
           up(std::max(now.total.lo * r.hi, now.total.hi * r.hi))};
      if (fl_.u != 0) {
        const double before = stream.size[c] + error_[c];
        const double error = writing_error(layer, stream, value, value_error, c);
        // Joining the stream.
        const double joined = before > 0 && error > 0 ? fl_.u * (before + magnitude(r) + error) : 0;
        error_[c] = loose(error_[c] + error + joined);
      }
      hull_[c] = {hull_[c].lo + r.lo, hull_[c].hi + r.hi};
    }
  }
  // E_c
  [[nodiscard]] double writing_error(const HopLayer& layer, const Stream& stream,
                                     const Written& value, const std::vector<double>& value_error,
                                     std::size_t c) const {
    const SparseRow& row = layer.out.rows[c];
    if (row.empty()) return 0;
    const double lost = fl_.gamma(2 * length_ + static_cast<std::int64_t>(row.size()) + 10);
    double sum = 0;
    double weights = 0;
    for (const auto& [column, w] : row) {
      const std::size_t k = index(column);
      const double size = stream.rho.hi * value.total.hi * layer.value_size[k];
      sum += std::abs(w) * (value_error[k] + lost * (size + value_error[k]));
      weights += std::abs(w);
    }
    return loose((1 + fl_.zeta) * sum + tiny * (1 + weights));
  }

  // *Gap.*
  [[nodiscard]] double gap() const {
    const Stream stream = stream_now();
    const Written& last = written_.back();
    const std::vector<double> error =
        reading_error(m_.unembedding, m_.final_norm, stream, stream.size);
    double range = 0;    // R
    double largest = 0;  // for the rounding of doubles
    for (std::size_t v = 1; v < tokens_; ++v) {
      const auto [lo, hi] = std::minmax_element(m_.found[v].begin(), m_.found[v].end());
      range = std::max(range, up(*hi - *lo));
      largest = std::max({largest, std::abs(*lo), std::abs(*hi)});
      for (const double x : m_.own[v]) largest = std::max(largest, std::abs(x));
    }
    const double lost = last.leaked * range + slack * largest * (4 + 4 * last.total.hi);
    const double off = 2 * *std::max_element(error.begin(), error.end());

    // Of each token, the answers that its own part scores (a few), and all in falling order of what
    // the token found scores: rivals are those of the first list and the foremost of the second.
    std::vector<std::vector<std::size_t>> scored(tokens_);
    std::vector<std::vector<std::size_t>> falling(tokens_);
    for (std::size_t v = 1; v < tokens_; ++v) {
      for (std::size_t o = 0; o < tokens_; ++o) {
        if (m_.own[v][o] != 0) scored[v].push_back(o);
        falling[v].push_back(o);
      }
      const std::vector<double>& found = m_.found[v];
      std::sort(falling[v].begin(), falling[v].end(),
                [&](std::size_t x, std::size_t y) { return found[x] > found[y]; });
    }
    double least = infinite;
    const auto judge = [&](std::size_t a, std::size_t b) {
      const bool keeps =
          m_.vocabulary.rule == Rule::lag && !m_.vocabulary.is_leaf(static_cast<Token>(b));
      const std::size_t answer = keeps ? a : b;
      const auto against = [&](std::size_t o) {
        if (o == answer) return;
        const double own = m_.own[a][answer] - m_.own[a][o];
        const double found = m_.found[b][answer] - m_.found[b][o];
        const double inner = own + std::min(last.right * found, last.total.hi * found) - lost;
        least = std::min(least, down((inner >= 0 ? stream.rho.lo : stream.rho.hi) * inner) - off);
      };
      for (const std::size_t o : scored[a]) against(o);
      const auto foremost = std::find_if(falling[b].begin(), falling[b].end(), [&](std::size_t o) {
        return o != answer && m_.own[a][o] == 0;
      });
      if (foremost != falling[b].end()) against(*foremost);
    };
    for (std::size_t a = 1; a < tokens_; ++a) {
      if (m_.vocabulary.is_leaf(static_cast<Token>(a))) {
        judge(a, a);
        continue;
      }
      for (std::size_t b = 1; b < tokens_; ++b) judge(a, b);
    }
    return down(least);
  }

  const StackStructure& m_;
  Turns& turns_;
  std::int64_t length_;
  double n_;
  std::size_t d_, tokens_;
  Rounding fl_;
  std::vector<double> own_size_;  // largest |E(v)_c|
  std::vector<Range> hull_;       // of what layers wrote, by coordinate
  std::vector<double> error_;     // e_c
  std::vector<Written> written_;  // by source
};

}  // namespace

std::string_view name(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::real ? "real" : "float32";
}

struct StackProof::Parts {
  StackStructure model;
  mutable Turns turns;
};

StackProof::StackProof(const Model& model, const Vocabulary& vocabulary, int hops)
    : parts_(new Parts{StackStructure(model, vocabulary, hops), {}}) {}
StackProof::~StackProof() = default;
StackProof::StackProof(StackProof&&) noexcept = default;

std::int64_t StackProof::longest_checked() const {
  const StackStructure& m = parts_->model;
  double each = 0;
  for (const HopLayer& layer : m.layers)
    each += static_cast<double>((m.planes.size() + 1) * (layer.keys.size() + 3)) *
            static_cast<double>(m.vocabulary.queries());
  constexpr double steps = 1.9e10;
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(steps / each) - 1000, 0, longest_proof);
}

StackBounds StackProof::bounds(std::int64_t length, Arithmetic arithmetic) const {
  if (length < 1 || length > longest_proof)
    throw Error(ErrorCode::bad_value, "a length must lie in 1.." + std::to_string(longest_proof) +
                                          ", not " + std::to_string(length));
  if (arithmetic == Arithmetic::float32 && parts_->model.norm_kind == NormKind::none)
    throw Error(ErrorCode::bad_value, "plain models are proven in real arithmetic");
  return Analysis(parts_->model, parts_->turns, length, arithmetic).run();
}

std::int64_t StackProof::longest(Arithmetic arithmetic, std::int64_t limit,
                                 std::int64_t known) const {
  const auto holds = [&](std::int64_t n) { return bounds(n, arithmetic).proven(); };
  limit = std::min(limit, longest_checked());
  if (limit < 1 || !holds(1)) return 0;
  std::int64_t low = known > 1 && known <= limit && holds(known) ? known : 1;
  std::int64_t high = 2 * low;
  while (high <= limit && holds(high)) {
    low = high;
    high *= 2;
  }
  if (high > limit) {
    if (holds(limit)) return limit;
    high = limit;
  }
  while (high - low > 1 + low / 4096) {
    const std::int64_t middle = low + (high - low) / 2;
    (holds(middle) ? low : high) = middle;
  }
  return low;
}

proofs_numeric::Fact stack_fact(const std::vector<std::pair<std::string, std::string>>& files,
                                const Vocabulary& vocabulary, int hops, std::int64_t length,
                                Arithmetic arithmetic, const StackBounds& bounds) {
  const auto decimal = [](double x) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.8f", x);
    return std::string(text.data());
  };
  proofs_numeric::Fact fact;
  fact["kind"] = "stack";
  fact["files"] = proofs_numeric::Fact::object();
  for (const auto& [name, hash] : files) fact["files"][name] = hash;
  fact["task"] = {{"rule", constructions::name(vocabulary.rule)},
                  {"letters", std::to_string(vocabulary.letters)},
                  {"numbers", std::to_string(vocabulary.numbers)},
                  {"hops", std::to_string(hops)}};
  fact["length"] = std::to_string(length);
  fact["arithmetic"] = name(arithmetic);
  fact["mass"] = proofs_numeric::Fact::array();
  for (const double m : bounds.mass) fact["mass"].push_back(decimal(m));
  fact["gap"] = decimal(bounds.gap);
  return fact;
}

}  // namespace ropewalk::checkpoints
