// Heads made to be exactly what the theory says, and heads made not to be; then trained ones.
#include "checkpoints/crosscheck.hpp"

#include <cmath>
#include <filesystem>
#include <limits>
#include <random>

#include "checkpoints/checkpoint.hpp"
#include "tests/catch.hpp"
#include "theory/error.hpp"

using namespace ropewalk;
using namespace ropewalk::checkpoints;
using namespace ropewalk::tests;
using Catch::Approx;
using Complex = std::complex<double>;
using Eigen::Index;

namespace {

const std::string data = ROPEWALK_SOURCE_DIR "/tests/data/models/";
const std::string shared = ROPEWALK_SHARED_DIR "/checkpoints/";

Model open_model(const std::string& path) {
  return read_model(std::make_shared<const Checkpoint>(open_checkpoint(path)));
}

struct Table {
  std::vector<theory::Formula> formulas;
  std::vector<double> doubles;
};
Table table(unsigned planes, const theory::Rational& base = 10000) {
  Table result{theory::default_schedule({base, 2 * planes}).frequencies, {}};
  for (const auto& f : result.formulas) result.doubles.push_back(f.as<double>());
  return result;
}

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  Eigen::RowVectorXcd vector(Index planes) {
    Eigen::RowVectorXcd v(planes);
    for (Complex& x : v) x = {normal_(engine_), normal_(engine_)};
    return v;
  }
  std::int64_t whole(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  double normal() { return normal_(engine_); }

 private:
  std::mt19937 engine_;
  std::normal_distribution<double> normal_;
};

MeasuredHead empty(const Table& t, double scale = 1) {
  MeasuredHead head;
  head.frequencies = t.doubles;
  head.rotating = static_cast<std::int64_t>(t.doubles.size());
  head.scale = scale;
  return head;
}

// e^{-i theta_f m} v_f: what an Index head asks that wants lag m.
Eigen::RowVectorXcd turned_back(const Table& t, Eigen::RowVectorXcd v, std::int64_t m) {
  for (Index f = 0; f < v.size(); ++f)
    v(f) *= std::polar(1.0, -t.doubles[static_cast<std::size_t>(f)] * static_cast<double>(m));
  return v;
}

void ask(MeasuredHead& head, std::size_t input, std::int64_t target, Eigen::RowVectorXcd query,
         std::int32_t wanted = 0) {
  Asked a;
  a.input = input;
  a.position = head.inputs[input].planes.rows() - 1;
  a.target = target;
  a.correct = {target};
  a.wanted = wanted;
  a.planes = std::move(query);
  head.asked.push_back(std::move(a));
}

std::size_t add(MeasuredHead& head, PlaneRows keys) {
  HeadKeys input;
  input.symbols.assign(static_cast<std::size_t>(keys.rows()), 0);
  input.planes = std::move(keys);
  head.inputs.push_back(std::move(input));
  return head.inputs.size() - 1;
}

// Inputs of n equal keys w, at lag m = 0 .. n-1 each.
void add_index(MeasuredHead& head, const Table& t, const Eigen::RowVectorXcd& v,
               const Eigen::RowVectorXcd& w, std::int64_t n) {
  for (std::int64_t m = 0; m < n; ++m)
    ask(head, add(head, w.replicate(n, 1)), n - 1 - m, turned_back(t, v, m));
}

std::size_t above(const HeadCheck& check) {
  std::size_t count = 0;
  for (const MarginRow& row : check.margins)
    for (const ReachRow& r : row.reaches) count += r.above;
  return count;
}

void check_universal(const HeadCheck& check) {
  for (const MarginRow& row : check.margins) CHECK(row.universal_share <= 1 + 1e-12);
}

}  // namespace

TEST_CASE("crosscheck: logits by hand") {
  MeasuredHead head;
  head.frequencies = {std::acos(-1.0) / 2, 0};
  head.rotating = 1;
  head.scale = 0.5;
  PlaneRows keys(3, 2);
  keys << Complex(1, 0), Complex(0, 2), Complex(0, 1), Complex(1, 0), Complex(3, 0), Complex(0, 0);
  add(head, keys);
  Eigen::RowVectorXcd query(2);
  query << Complex(1, 0), Complex(0, 1);
  ask(head, 0, 0, query);
  // Lag 2 turns by pi, lag 1 by pi/2: 0.5 (-1 + 2), 0.5 (Re(-i i) + 0), 0.5 (3 + 0).
  const Eigen::VectorXd found = logits(head, head.asked[0]);
  CHECK(found(0) == Approx(0.5));
  CHECK(found(1) == Approx(0.5));
  CHECK(found(2) == Approx(1.5));
  CHECK(*margin(head, head.asked[0]) == Approx(-1));
  head.asked[0].correct = {0, 2};
  CHECK(*margin(head, head.asked[0]) == Approx(0).margin(1e-12));
  head.asked[0].correct = {0, 1, 2};
  CHECK_FALSE(margin(head, head.asked[0]));
  // The standing plane has the logits 1, 0, 0, all have 0.5, 0.5, 1.5: (2/3, -1/3, -1/3) against
  // (-1/3, -1/3, 2/3).
  CHECK(still_share(head) == Approx(-0.5));
}

TEST_CASE("crosscheck: an exact Index head is one vector turned back, and one key") {
  const Table t = table(8);
  const BestHeads best = best_heads(t.formulas);
  Dice dice(1);
  MeasuredHead head = empty(t, 0.25);
  Eigen::RowVectorXcd w = dice.vector(8);
  Eigen::RowVectorXcd v = w;
  for (Index f = 0; f < 8; ++f) v(f) *= 2.0 + static_cast<double>(f % 3);
  add_index(head, t, v, w, 12);
  const HeadCheck check = cross_check(head, best);
  CHECK(check.index.query_share == Approx(1).margin(1e-12));
  CHECK(check.index.key_share == Approx(1).margin(1e-12));
  CHECK(check.index.explained == Approx(1).margin(1e-9));
  CHECK(check.index.peak == 0);
  CHECK(check.kind == HeadKind::index);
  CHECK_FALSE(check.content_dependent_keys);
  double carried = 0;
  for (std::size_t f = 0; f < 8; ++f) {
    const IndexPlane& plane = check.index.planes[f];
    CHECK(plane.query_share == Approx(1).margin(1e-12));
    CHECK(plane.amplitude ==
          Approx(0.25 * std::abs(v(static_cast<Index>(f)) * w(static_cast<Index>(f)))));
    CHECK(plane.phase == Approx(0).margin(1e-9));
    carried += plane.carries;
  }
  CHECK(carried == Approx(1));
  REQUIRE(check.margins.size() == 1);
  CHECK(check.margins[0].queries == 12);
  CHECK(check.margins[0].right == 12);
  CHECK(check.margins[0].efficiency);
  CHECK(above(check) == 0);
  check_universal(check);
}

TEST_CASE("crosscheck: no equal-key head exceeds the bound, at any lag from 1 to n - 2") {
  Dice dice(2);
  for (const unsigned planes : {1U, 3U, 6U}) {
    const Table t = table(planes, planes == 3 ? 100 : 10000);
    const BestHeads best = best_heads(t.formulas);
    for (int trial = 0; trial < 20; ++trial) {
      MeasuredHead head = empty(t, 0.5);
      const Eigen::RowVectorXcd w = dice.vector(planes);
      // Near the best phases now and then, so that the bound is tried.
      const Eigen::RowVectorXcd v =
          trial % 2 == 0 ? dice.vector(planes) : Eigen::RowVectorXcd(w + 0.3 * dice.vector(planes));
      add_index(head, t, v, w, dice.whole(3, 14));
      const HeadCheck check = cross_check(head, best);
      CAPTURE(planes, trial);
      CHECK(above(check) == 0);
      CHECK_FALSE(check.content_dependent_keys);
      CHECK(check.index.explained == Approx(1).margin(1e-9));
      check_universal(check);
      for (const ReachRow& r : check.margins[0].reaches)
        if (r.fitted_efficiency) CHECK(*r.fitted_efficiency <= 1 + 1e-9);
    }
  }
}

TEST_CASE("crosscheck: the best head of a table attains its bound") {
  const Table t = table(6);
  const std::int64_t reach = 5;
  const auto best = proofs_numeric::optimal_head(t.formulas, reach);
  MeasuredHead head = empty(t);
  Eigen::RowVectorXcd v(6);
  for (Index f = 0; f < 6; ++f)
    v(f) = std::sqrt(best.amplitudes[static_cast<std::size_t>(f)].convert_to<double>());
  ask(head, add(head, v.replicate(2 * reach + 1, 1)), reach, turned_back(t, v, reach));
  ask(head, add(head, v.replicate(2 * reach + 1, 1)), reach, turned_back(t, v, reach));
  const HeadCheck check = cross_check(head, best_heads(t.formulas));
  REQUIRE(check.margins[0].reaches.size() == 1);
  const ReachRow& row = check.margins[0].reaches[0];
  CHECK(row.reach == reach);
  CHECK(row.above == 0);
  CHECK(row.largest == Approx(row.bound).epsilon(1e-5));
  CHECK(*check.margins[0].efficiency == Approx(1).epsilon(1e-5));
  CHECK(*row.fitted_efficiency == Approx(1).epsilon(1e-5));
}

TEST_CASE("crosscheck: keys that read content are found out, and never above twice the norms") {
  Dice dice(3);
  const Table t = table(4);
  const BestHeads best = best_heads(t.formulas);
  std::size_t flagged = 0;
  for (int trial = 0; trial < 30; ++trial) {
    MeasuredHead head = empty(t);
    for (int input = 0; input < 6; ++input) {
      const std::int64_t n = dice.whole(4, 10);
      PlaneRows keys(n, 4);
      for (Index j = 0; j < n; ++j) keys.row(j) = dice.vector(4);
      const std::int64_t m = dice.whole(1, n - 2);
      Eigen::RowVectorXcd query = dice.vector(4);
      // Every other head: the target's key is what the query wants there, the others its opposite.
      if (trial % 2 == 0)
        for (Index j = 0; j < n; ++j)
          keys.row(j) = (j == n - 1 - m ? 1.0 : -1.0) * turned_back(t, query, -(n - 1 - j));
      ask(head, add(head, keys), n - 1 - m, query);
    }
    const HeadCheck check = cross_check(head, best);
    check_universal(check);
    if (trial % 2 != 0) continue;
    flagged += check.content_dependent_keys ? 1 : 0;
    CHECK(above(check) >= 1);
    CHECK(check.margins[0].universal_share == Approx(1));
  }
  CHECK(flagged == 15);
}

TEST_CASE("crosscheck: S is found where neither queries nor keys are one vector") {
  // Both have a sign of their own in every input, so that both means vanish and every product is
  // the same.
  const Table t = table(3);
  MeasuredHead head = empty(t, 3);
  Dice dice(4);
  for (std::int64_t m = 0; m < 9; ++m)
    for (int sign : {1, 1, -1, -1}) {
      Eigen::RowVectorXcd v(3);
      v << 2.0 * sign, 1.0 * sign, 0.5 * sign;
      ask(head, add(head, v.replicate(9, 1)), 8 - m, turned_back(t, v, m));
    }
  const IndexFit fit = fit_index(head);
  CHECK(fit.query_share == Approx(0).margin(1e-12));
  CHECK(fit.key_share == Approx(0).margin(1e-12));
  CHECK(fit.explained > 0.95);
  CHECK(fit.peak == 0);
  CHECK(fit.planes[0].amplitude > 8);  // of 12
}

TEST_CASE("crosscheck: an exact Retrieval head is its codes") {
  // One slow plane, the letters at eighths of the circle.
  const Table t{{theory::Formula(theory::Rational(1, 10000)), theory::Formula(1)}, {1e-4, 1}};
  const double omega = std::acos(-1.0) / 4;
  Dice dice(5);
  MeasuredHead head = empty(t, 2);
  for (int input = 0; input < 200; ++input) {
    const std::int64_t n = 10;
    HeadKeys keys;
    keys.planes = PlaneRows::Zero(n, 2);
    for (Index j = 0; j < n; ++j) {
      keys.symbols.push_back(static_cast<std::int32_t>(dice.whole(0, 7)));
      keys.planes(j, 0) = std::polar(1.0, omega * keys.symbols.back());
    }
    const std::int64_t target = dice.whole(0, n - 2);
    const std::int32_t wanted = keys.symbols[static_cast<std::size_t>(target)];
    head.inputs.push_back(keys);
    Eigen::RowVectorXcd query(2);
    query << std::polar(1.0, omega * wanted), 0;
    ask(head, head.inputs.size() - 1, target, query, wanted);
    for (std::int64_t j = 0; j < n; ++j)
      if (keys.symbols[static_cast<std::size_t>(j)] == wanted && j != target)
        head.asked.back().correct.push_back(j);
  }
  const HeadCheck check = cross_check(head, best_heads(t.formulas));
  CHECK(check.kind == HeadKind::retrieval);
  CHECK(check.retrieval.symbols == 8);
  CHECK(check.retrieval.explained > 0.99);
  CHECK(check.index.explained < 0.1);
  CHECK(*check.retrieval.code_margin == Approx(2 * (1 - std::cos(omega))).epsilon(0.2));
  CHECK(carrying(check.retrieval.carries) == std::vector<std::size_t>{0});
  CHECK(check.margins[0].right == 200);
  CHECK(check.content_dependent_keys);
  check_universal(check);
}

TEST_CASE("crosscheck: noise is neither, and nothing to judge by says so") {
  const Table t = table(4);
  Dice dice(6);
  MeasuredHead head = empty(t);
  for (int input = 0; input < 60; ++input) {
    PlaneRows keys(8, 4);
    for (Index j = 0; j < 8; ++j) keys.row(j) = dice.vector(4);
    add(head, keys);
    for (std::int32_t& symbol : head.inputs.back().symbols)
      symbol = static_cast<std::int32_t>(dice.whole(0, 3));
    ask(head, head.inputs.size() - 1, dice.whole(0, 7), dice.vector(4),
        static_cast<std::int32_t>(dice.whole(0, 3)));
  }
  const HeadCheck check = cross_check(head, best_heads(t.formulas));
  CHECK(check.kind == HeadKind::neither);
  CHECK(check.index.explained < 0.2);
  CHECK(check.retrieval.explained < 0.2);
  MeasuredHead one = head;
  one.asked.resize(1);
  CHECK(std::isnan(fit_index(one).explained));
  CHECK(cross_check(one, best_heads(t.formulas)).kind == HeadKind::neither);
  one.asked.clear();
  CHECK_THROWS_AS(fit_index(one), Error);
}

TEST_CASE("crosscheck: fits take some of many queries, of the first group; margins take all") {
  const Table t = table(2);
  Dice dice(7);
  MeasuredHead head = empty(t);
  const Eigen::RowVectorXcd w = dice.vector(2);
  for (int input = 0; input < 60; ++input) add_index(head, t, w, w, 30);
  // Another group, of heads that look the other way.
  const std::size_t first = head.asked.size();
  add_index(head, t, -w, w, 20);
  for (std::size_t i = first; i < head.asked.size(); ++i)
    head.inputs[head.asked[i].input].group = 1;
  const HeadCheck check = cross_check(head, best_heads(t.formulas));
  CHECK(check.queries > 1000);
  CHECK(check.queries * 30 <= 1 << 15);
  CHECK(check.index.explained == Approx(1));
  CHECK(check.kind == HeadKind::index);
  REQUIRE(check.margins.size() == 2);
  CHECK(check.margins[0].queries == 1800);
  CHECK(check.margins[0].length == 30);
  CHECK(check.margins[0].right == 1800);
  CHECK(check.margins[1].queries == 20);
  CHECK(check.margins[1].length == 20);
  CHECK(check.margins[1].right == 0);
  CHECK_FALSE(check.margins[1].efficiency);
}

TEST_CASE("crosscheck: where other keys are as good as the target there is no bound") {
  // Equal keys and one slow plane: only the farthest key is wrong, so the margin is more than what
  // a target with a wrong key on either side can have.
  const Table t{{theory::Formula(theory::Rational(1, 5))}, {0.2}};
  MeasuredHead head = empty(t);
  const Eigen::RowVectorXcd one = Eigen::RowVectorXcd::Constant(1, 1);
  ask(head, add(head, one.replicate(9, 1)), 7, turned_back(t, one, 1));
  head.asked[0].correct = {1, 2, 3, 4, 5, 6, 7, 8};
  const HeadCheck check = cross_check(head, best_heads(t.formulas));
  CHECK(check.margins[0].least > 1 - std::cos(0.2));
  CHECK(check.margins[0].reaches.empty());
  CHECK_FALSE(check.content_dependent_keys);
}

TEST_CASE("crosscheck: planes that carry") {
  CHECK(carrying(std::vector<double>{0.1, 0.7, 0.2}) == std::vector<std::size_t>{1, 2});
  CHECK(carrying(std::vector<double>{0.5, -0.2, 0.7}, 0.99) == std::vector<std::size_t>{2, 0});
  CHECK(carrying(std::vector<double>{0, 0}).empty());
}

TEST_CASE("crosscheck: margins are those of the logits that a model computes") {
  const Tokens first{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
  const Tokens second{2, 7, 1, 8, 2, 8, 1, 8, 2, 8, 4};
  const std::vector<Tokens> tokens{first, second};
  const std::vector<CheckInput> inputs{check_input(first), check_input(second)};
  // Both layouts, partial rotation, shared keys, biases, windows, softcaps, an attention factor.
  for (const std::string name :
       {"gptj", "gpt_neox", "qwen2", "qwen3", "mistral", "gemma2", "llama_scaled"}) {
    const Model model = open_model(data + name);
    const std::vector<HeadCheck> checks = cross_check(model, inputs);
    REQUIRE(checks.size() == model.layers.size() * static_cast<std::size_t>(model.heads));
    std::vector<double> sums(checks.size(), 0);
    std::vector<double> least(checks.size(), std::numeric_limits<double>::infinity());
    std::vector<std::size_t> counts(checks.size(), 0);
    std::vector<Rows<double>> seen(checks.size() * 2);
    (void)forward<double>(model, tokens, {}, [&](const Pass<double>& pass) {
      for (std::size_t h = 0; h < pass.logits.size(); ++h) {
        Rows<double> l = pass.logits[h];
        if (pass.rule.softcap)
          l.array() = l.array().unaryExpr([c = *pass.rule.softcap](double x) {
            return std::isfinite(x) ? c * std::atanh(x / c) : x;
          });
        seen[(pass.layer * pass.logits.size() + h) * 2 + pass.input] = l;
      }
    });
    for (std::size_t i = 0; i < checks.size(); ++i) {
      const HeadCheck& check = checks[i];
      CAPTURE(name, check.layer, check.head);
      REQUIRE(check.lag);
      CHECK_FALSE(check.hops);
      for (std::size_t input = 0; input < 2; ++input) {
        const Rows<double>& l = seen[2 * i + input];
        for (Index p = std::max<Index>(1, *check.lag); p < l.rows(); ++p) {
          Eigen::RowVectorXd others = l.row(p);
          const double own = others(p - *check.lag);
          others(p - *check.lag) = -std::numeric_limits<double>::infinity();
          const double gap = own - others.maxCoeff();
          sums[i] += gap;
          least[i] = std::min(least[i], gap);
          ++counts[i];
        }
      }
      REQUIRE(check.margins.size() == 1);
      CHECK(check.margins[0].queries == counts[i]);
      CHECK(check.margins[0].mean == Approx(sums[i] / static_cast<double>(counts[i])).margin(1e-9));
      CHECK(check.margins[0].least == Approx(least[i]).margin(1e-9));
      check_universal(check);
      if (name == "gptj" || name == "gpt_neox")
        CHECK(check.still != 0);
      else
        CHECK(check.still == 0);
    }
  }
  CHECK_THROWS_AS(cross_check(open_model(data + "qwen3"), std::vector<CheckInput>{}), Error);
  std::vector<CheckInput> mixed = inputs;
  mixed[1].path = {10, 3};
  CHECK_THROWS_AS(cross_check(open_model(data + "qwen3"), mixed), Error);
}

TEST_CASE("crosscheck: symbols and paths of tasks") {
  for (const tasks::Kind kind :
       {tasks::Kind::number, tasks::Kind::letter, tasks::Kind::retrieval}) {
    tasks::Options options;
    options.kind = kind;
    options.count = 20;
    const tasks::Task task(options);
    for (std::int64_t k = 0; k < 20; ++k) {
      const CheckInput input = check_input(task, task.sample(k));
      REQUIRE(input.symbols.size() == input.tokens.size());
      CHECK(input.by_token == (kind != tasks::Kind::number));
      for (std::size_t i = 0; i < input.tokens.size(); ++i) {
        const std::string text = task.token_text(input.tokens[i]);
        if (kind == tasks::Kind::number)
          CHECK(input.symbols[i] == input.tokens[i]);
        else
          CHECK(std::string(1, static_cast<char>('a' + input.symbols[i])) == text.substr(0, 1));
      }
      // A link's second letter is the symbol of the token that it leads to.
      if (kind != tasks::Kind::number)
        for (std::size_t i = 0; i + 1 < input.path.size(); ++i)
          CHECK('a' + input.symbols[static_cast<std::size_t>(input.path[i + 1])] ==
                task.token_text(input.tokens[static_cast<std::size_t>(input.path[i])])[1]);
    }
  }
}

TEST_CASE("crosscheck: the trained models have the heads that their papers speak of") {
  if (!std::filesystem::exists(shared + "p1-number"))
    return skipped("trained models are not beside the checkout");
  const auto checked = [](const std::string& name, tasks::Kind kind, std::size_t layer) {
    tasks::Options options;
    options.kind = kind;
    options.count = instrumented ? 40 : 100;
    const tasks::Task task(options);
    std::vector<CheckInput> inputs;
    for (std::int64_t k = 0; k < options.count; ++k)
      inputs.push_back(check_input(task, task.sample(k)));
    const auto checks = cross_check(open_model(shared + name), inputs, {.layer = layer});
    REQUIRE(checks.size() == 1);
    check_universal(checks[0]);
    return checks[0];
  };
  const HeadCheck number = checked("p1-number", tasks::Kind::number, 1);
  CHECK(number.kind == HeadKind::index);
  CHECK(number.layer == 1);
  CHECK(number.hops == 1);
  CHECK(number.index.explained > 0.75);
  CHECK(number.index.query_share > 0.7);
  CHECK(number.index.key_share > 0.85);
  for (const std::size_t f : carrying(number.index)) CHECK(f < 16);
  CHECK(above(number) == 0);
  const HeadCheck letter = checked("p1-letter", tasks::Kind::letter, 0);
  CHECK(letter.kind == HeadKind::retrieval);
  CHECK(letter.hops == 1);
  CHECK(letter.retrieval.explained > 0.7);
  CHECK(*letter.retrieval.code_margin > 1);
  CHECK(letter.content_dependent_keys);
}
