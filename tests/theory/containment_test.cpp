// Random inner points: an interval result contains the value at every exact point of its inputs,
// held against an evaluation with 400 bits that shares no interval code.
#include <algorithm>

#include "tests/theory/support.hpp"
#include "theory/discrepancy.hpp"
#include "theory/layout.hpp"
#include "theory/scores.hpp"
#include "theory/softmax.hpp"
#include "theory/trig_sum.hpp"

using namespace ropewalk;
using namespace ropewalk::tests;
using namespace ropewalk::theory;

TEST_CASE("Interval arithmetic contains every inner point", "[containment]") {
  Draw draw(1);
  for (int k = 0; k < iterations(400); ++k) {
    const auto a = draw.inner();
    const auto b = draw.inner();
    CAPTURE(k, a.text(), b.text());
    const I40 x = a.interval();
    const I40 y = b.interval();
    const Fine p = a.fine();
    const Fine q = b.fine();
    require_contains(x, p);
    require_contains(x + y, p + q);
    require_contains(x - y, p - q);
    require_contains(x * y, p * q);
    require_contains(-x, -p);
    require_contains(+x, p);
    if (b.low > 0 || b.high < 0)
      require_contains(x / y, p / q);
    else
      REQUIRE_FALSE((x / y).bounded());
    I40 z = x;
    z += y;
    z *= x;
    z -= y;
    require_contains(z, Fine((p + q) * p - q));
    z = I40(7);
    z /= I40(b.high * b.high + 1);
    require_contains(z, Fine(Fine(7) / (Fine(b.high) * Fine(b.high) + 1)));
  }
}

TEST_CASE("Interval functions contain every inner point", "[containment]") {
  Draw draw(2);
  for (int k = 0; k < iterations(300); ++k) {
    const auto a = draw.inner();
    const auto b = draw.inner();
    const auto positive = draw.inside(Rational(1, 1000), Rational(64));
    const auto unit = draw.inside(-1, 1);
    CAPTURE(k, a.text(), b.text(), positive.text(), unit.text());
    const I40 x = a.interval();
    const I40 y = b.interval();
    const Fine p = a.fine();
    const Fine q = b.fine();
    require_contains(abs(x), Fine(abs(p)));
    require_contains(exp(x), Fine(exp(p)));
    require_contains(cos(x), Fine(cos(p)));
    require_contains(sin(x), Fine(sin(p)));
    require_contains(sqrt(positive.interval()), Fine(sqrt(positive.fine())));
    require_contains(log(positive.interval()), Fine(log(positive.fine())));
    require_contains(acos(unit.interval()), Fine(acos(unit.fine())));
    require_contains(max(x, y), p < q ? q : p);
    require_contains(min(x, y), p < q ? p : q);
    require_contains(hull(x, y), p);
    require_contains(hull(x, y), q);
    require_contains(I40::pi(), Scalar<Fine>::pi());
  }
}

TEST_CASE("A sign or an order given for intervals holds for every inner point", "[containment]") {
  Draw draw(3);
  int answered = 0;
  for (int k = 0; k < iterations(1000); ++k) {
    const auto a = draw.inner();
    const auto b = draw.integer(0, 4) == 0 ? a : draw.around(a.point + draw.rational(2) / 16);
    CAPTURE(k, a.text(), b.text());
    if (const auto s = sign(a.interval())) {
      ++answered;
      REQUIRE(*s == a.point.sign());
    }
    if (const auto s = compare(a.interval(), b.interval()))
      REQUIRE(*s == Rational(a.point - b.point).sign());
  }
  REQUIRE(answered > 0);
}

namespace {
// A random formula and the same value by Fine arithmetic alone.
struct Drawn {
  Formula formula;
  Fine value;
};
Drawn draw_formula(Draw& draw, int depth) {
  const int kind = depth == 0 ? draw.integer(0, 2) : draw.integer(0, 9);
  if (kind == 0) return {Formula::pi(), Scalar<Fine>::pi()};
  if (kind <= 2) {
    const Rational r(draw.integer(1, 40), draw.integer(1, 30));
    return {Formula(r), Fine(r)};
  }
  const Drawn a = draw_formula(draw, depth - 1);
  const Drawn b = draw_formula(draw, depth - 1);
  const bool positive = a.value > Fine("0.01") && a.value < Fine(1000);
  switch (kind) {
    case 3: return {a.formula + b.formula, a.value + b.value};
    case 4: return {a.formula - b.formula, a.value - b.value};
    case 5: return {a.formula * b.formula, a.value * b.value};
    case 6:
      if (abs(b.value) > Fine("0.01")) return {a.formula / b.formula, a.value / b.value};
      return a;
    case 7:
      if (positive) {
        const Rational e(draw.integer(-9, 9), draw.integer(1, 8));
        return {pow(a.formula, e), Fine(exp(Fine(Fine(e) * log(a.value))))};
      }
      return b;
    case 8:
      if (positive) return {log(a.formula), Fine(log(a.value))};
      return b;
    default:
      if (abs(a.value) < Fine("0.99")) return {acos(a.formula), Fine(acos(a.value))};
      return b;
  }
}
}  // namespace

TEST_CASE("Formulas in intervals contain their value, and survive printing", "[containment]") {
  Draw draw(4);
  for (int k = 0; k < iterations(300); ++k) {
    const Drawn f = draw_formula(draw, 3);
    const std::string text = f.formula.text();
    CAPTURE(k, text);
    require_contains(f.formula.as<I40>(), f.value);
    require_contains(Formula::parse(text).as<I40>(), f.value);
    if (const auto turns = f.formula.turns())
      require_contains(I40(*turns), Fine(f.value / (2 * Scalar<Fine>::pi())));
    require_contains(turns<I40>(f.formula), Fine(f.value / (2 * Scalar<Fine>::pi())));
    if (const auto c = f.formula.rational_cosine()) require_contains(I40(*c), Fine(cos(f.value)));
    if (const auto s = sign(f.formula)) {
      if (*s != 0) REQUIRE(*s == (f.value > 0 ? 1 : -1));
    }
  }
}

namespace {
// Angles of all kinds: a standard table's, random decimals, rational turns, arc cosines.
Formula draw_angle(Draw& draw) {
  switch (draw.integer(0, 3)) {
    case 0: return pow(Formula(draw.integer(2, 1000000)), Rational(-draw.integer(0, 63), 64));
    case 1: return Formula(Rational(draw.integer(-4000, 4000), 1000));
    case 2: return Formula(Rational(draw.integer(-9, 9), draw.integer(1, 12))) * Formula::pi();
    default: {
      const int q = draw.integer(1, 20);
      return acos(Formula(Rational(draw.integer(-q, q), q)));
    }
  }
}
}  // namespace

TEST_CASE("Cosines, rotations and trigonometric sums contain their value", "[containment]") {
  Draw draw(5);
  for (int k = 0; k < iterations(200); ++k) {
    const Formula theta = draw_angle(draw);
    const Formula phase = draw_angle(draw);
    const Lag t = draw.integer(-100000, 100000);
    CAPTURE(k, theta.text(), phase.text(), t.str());
    const Fine angle = Fine(t) * theta.as<Fine>();
    require_contains(cosine<I40>(theta, t), Fine(cos(angle)));
    require_contains(cosine<I40>(theta, t, phase), Fine(cos(Fine(angle + phase.as<Fine>()))));
    const auto p = rotation<I40>(theta, t);
    require_contains(p.x, Fine(cos(angle)));
    require_contains(p.y, Fine(sin(angle)));
    const Rational a = draw.rational(3);
    const TrigSum sum{Rational(1, 3), {{a, theta, phase}, {Rational(-a / 7), phase, Formula()}}};
    require_contains(sum.at<I40>(t),
                     Fine(Fine(Rational(1, 3)) + Fine(a) * cos(Fine(angle + phase.as<Fine>())) -
                          Fine(a) / 7 * cos(Fine(Fine(t) * phase.as<Fine>()))));
  }
}

TEST_CASE("Logits of interval queries and keys contain every inner logit", "[containment]") {
  Draw draw(6);
  for (int k = 0; k < iterations(150); ++k) {
    const int planes = draw.integer(1, 4);
    const Lag t = draw.integer(0, 5000);
    std::vector<Formula> frequencies;
    Paired<I40, HalfSplit>::Matrix q(2 * planes, 1);
    Paired<I40, HalfSplit>::Matrix w(2 * planes, 1);
    std::vector<Fine> u;
    std::vector<Fine> v;
    std::string inputs;
    for (int r = 0; r < 2 * planes; ++r) {
      const auto a = draw.inner(3);
      const auto b = draw.inner(3);
      inputs += a.text() + "; " + b.text() + "; ";
      q(r, 0) = a.interval();
      w(r, 0) = b.interval();
      u.push_back(a.fine());
      v.push_back(b.fine());
      if (r < planes) frequencies.push_back(draw_angle(draw));
    }
    Fine expect(0);  // Re sum u conj(w) e^(i theta t), by real and imaginary parts
    for (std::size_t f = 0; f < frequencies.size(); ++f) {
      inputs += frequencies[f].text() + "; ";
      const std::size_t g = f + frequencies.size();
      const Fine angle = Fine(t) * frequencies[f].as<Fine>();
      const Fine re = u[f] * v[f] + u[g] * v[g];
      const Fine im = u[g] * v[f] - u[f] * v[g];
      expect += re * cos(angle) - im * sin(angle);
    }
    CAPTURE(k, inputs, t.str());
    const Paired<I40, HalfSplit> queries(q);
    const Paired<I40, HalfSplit> keys(w);
    require_contains(logit(queries, 0, keys, 0, frequencies, t), expect);
    require_contains(
        logit(relayout<Interleaved>(queries), 0, relayout<Interleaved>(keys), 0, frequencies, t),
        expect);
  }
}

TEST_CASE("Softmax weights contain every inner weight", "[containment]") {
  Draw draw(7);
  for (int k = 0; k < iterations(200); ++k) {
    const int n = draw.integer(1, 6);
    const auto beta = draw.inside(0, 50);
    std::vector<I40> logits;
    std::vector<Fine> terms;
    Fine total(0);
    std::string inputs = beta.text() + "; ";
    for (int j = 0; j < n; ++j) {
      const auto l = draw.inner(8);
      inputs += l.text() + "; ";
      logits.push_back(l.interval());
      terms.push_back(exp(Fine(beta.fine() * l.fine())));
      total += terms.back();
    }
    CAPTURE(k, inputs);
    const auto weights = softmax(logits, beta.interval());
    for (std::size_t j = 0; j < terms.size(); ++j)
      require_contains(weights[j], Fine(terms[j] / total));
  }
}

TEST_CASE("Gaps and margins of interval rows contain every inner value", "[containment]") {
  Draw draw(8);
  for (int k = 0; k < iterations(300); ++k) {
    const int n = draw.integer(2, 7);
    std::vector<I40> logits;
    std::vector<Rational> points;
    std::vector<bool> correct;
    std::string inputs;
    for (int j = 0; j < n; ++j) {
      const auto l = j > 0 && draw.integer(0, 3) == 0 ? draw.around(points.front()) : draw.inner(2);
      inputs += l.text() + "; ";
      logits.push_back(l.interval());
      points.push_back(l.point);
      correct.push_back(j == 0 || (j > 1 && draw.integer(0, 1) == 0));
    }
    CAPTURE(k, inputs);
    const std::span<const I40> view(logits);
    const std::span<const Rational> inner(points);
    auto ordered = points;
    std::sort(ordered.begin(), ordered.end());
    require_contains(gap(view).value(),
                     Fine(Rational(ordered[ordered.size() - 1] - ordered[ordered.size() - 2])));
    require_contains(margin(view, correct).value(), Fine(margin(inner, correct).value()));
    require_contains(loose_margin(view, correct).value(),
                     Fine(loose_margin(inner, correct).value()));
  }
}

namespace {
// The scores by their definition: swap, take softmax again, compare the pairs of weights.
HeadScores<Fine> scores_by_definition(const std::vector<std::vector<Fine>>& m, const Fine& tau) {
  const std::size_t n = m.size();
  const auto weights = [&](const std::vector<std::size_t>& tokens) {
    std::vector<Fine> w(n);
    Fine total(0);
    for (std::size_t b = 0; b < n; ++b) total += w[b] = exp(m[tokens[b]][b]);
    for (Fine& x : w) x /= total;
    return w;
  };
  std::vector<std::size_t> order(n);
  for (std::size_t b = 0; b < n; ++b) order[b] = b;
  const auto before = weights(order);
  Fine total(0);
  HeadScores<Fine> sum{Fine(0), Fine(0)};
  for (std::size_t i = 0; i + 1 < n; ++i)
    for (std::size_t j = i + 1; j + 1 < n; ++j) {
      auto swapped = order;
      std::swap(swapped[i], swapped[j]);
      const auto after = weights(swapped);
      const Fine norm = sqrt(Fine((before[i] * before[i] + before[j] * before[j]) *
                                  (after[i] * after[i] + after[j] * after[j])));
      const Fine alpha = exp(Fine(abs(Fine(before[i] - before[j])) / tau));
      total += alpha;
      sum.positional += alpha * (before[i] * after[i] + before[j] * after[j]) / norm;
      sum.symbolic += alpha * (before[j] * after[i] + before[i] * after[j]) / norm;
    }
  return {Fine(sum.positional / total), Fine(sum.symbolic / total)};
}
}  // namespace

TEST_CASE("Scores and the exclusion inequality contain every inner value", "[containment]") {
  Draw draw(9);
  for (int k = 0; k < iterations(60); ++k) {
    const int n = draw.integer(3, 6);
    const Rational tau = draw.integer(0, 1) == 0 ? Rational(1, 10000) : Rational(1, 20);
    LogitMatrix<I40> m(n, n);
    LogitMatrix<Rational> inner(n, n);
    std::vector<std::vector<Fine>> fine(static_cast<std::size_t>(n));
    std::string inputs;
    for (int a = 0; a < n; ++a)
      for (int b = 0; b < n; ++b) {
        const auto x = draw.inner(5);
        inputs += x.text() + "; ";
        m(a, b) = x.interval();
        inner(a, b) = x.point;
        fine[static_cast<std::size_t>(a)].push_back(x.fine());
      }
    CAPTURE(k, inputs, tau.str());
    const auto scores = head_scores(m, tau);
    REQUIRE(scores);
    const auto expect = scores_by_definition(fine, Fine(tau));
    require_contains(scores->positional, expect.positional);
    require_contains(scores->symbolic, expect.symbolic);
    const auto sides = exclusion(m);
    const auto exact_sides = exclusion(inner);
    REQUIRE(sides);
    REQUIRE(exact_sides);
    require_contains(sides->variance, Fine(exact_sides->variance));
    require_contains(sides->positional, Fine(exact_sides->positional));
    require_contains(sides->symbolic, Fine(exact_sides->symbolic));
    REQUIRE(exact_sides->variance <= exact_sides->bound());
  }
}
