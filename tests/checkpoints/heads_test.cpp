// Scores of heads against the literal way: exchange what enters the layer, run it again.
#include "checkpoints/heads.hpp"

#include <chrono>
#include <cmath>
#include <filesystem>
#include <random>

#include "tasks/task.hpp"
#include "tests/catch.hpp"
#include "theory/error.hpp"
#include "theory/scores.hpp"

using namespace ropewalk;
using namespace ropewalk::checkpoints;
using namespace ropewalk::tests;

namespace {

const std::string data = ROPEWALK_SOURCE_DIR "/tests/data/models/";
const std::string shared = ROPEWALK_SHARED_DIR "/checkpoints/";

Model open_model(const std::string& path) {
  return read_model(std::make_shared<const Checkpoint>(open_checkpoint(path)));
}

// Attention weights of a query after the rows of k in `order` have changed places: row p takes what
// row order[p] had before it turned.
Eigen::ArrayXd weights_after(const Pass<double>& pass, std::int64_t head, std::int64_t query,
                             const std::vector<Eigen::Index>& order) {
  const Eigen::Index d = pass.head_dim;
  const Eigen::Index key = head / (pass.q.cols() / pass.k.cols()) * d;
  Rows<double> k = pass.k.middleCols(key, d);
  for (Eigen::Index p = 0; p < k.rows(); ++p)
    k.row(p) = pass.k.row(order[static_cast<std::size_t>(p)]).segment(key, d);
  rotate(k, d, pass.pairing, pass.table);
  const Eigen::Index first =
      pass.rule.window ? std::max<Eigen::Index>(0, query - *pass.rule.window + 1) : 0;
  Eigen::ArrayXd logits = (k.middleRows(first, query - first + 1) *
                           pass.rotated_q.row(query).segment(head * d, d).transpose())
                              .array() *
                          pass.rule.scale;
  if (pass.rule.softcap) logits = *pass.rule.softcap * (logits / *pass.rule.softcap).tanh();
  const Eigen::ArrayXd e = (logits - logits.maxCoeff()).exp();
  return e / e.sum();
}

double cosine(double a, double b, double c, double d) {
  return (a * c + b * d) / std::sqrt((a * a + b * b) * (c * c + d * d));
}

// Exactly as the definition has it; positions before `first` take no part.
SwapScores literal(const Pass<double>& pass, std::int64_t head, std::int64_t query,
                   std::int64_t block) {
  const std::int64_t first =
      pass.rule.window ? std::max<std::int64_t>(0, query - *pass.rule.window + 1) : 0;
  const std::int64_t count = query - first;
  const std::int64_t blocks = (count + block - 1) / block;
  std::vector<Eigen::Index> order(static_cast<std::size_t>(pass.k.rows()));
  std::iota(order.begin(), order.end(), 0);
  const Eigen::ArrayXd before = weights_after(pass, head, query, order);
  const auto start = [&](std::int64_t i) { return std::min(i * block, count); };
  const auto mean = [](const Eigen::ArrayXd& w, std::int64_t from, std::int64_t to) {
    return w.segment(from, to - from).mean();
  };
  double total = 0;
  SwapScores sum;
  double widest = 0;
  std::vector<std::array<double, 3>> swaps;
  for (std::int64_t i = 0; i < blocks; ++i)
    for (std::int64_t j = i + 1; j < blocks; ++j) {
      // The sequence with blocks i and j exchanged; what is between keeps its order.
      std::vector<Eigen::Index> swapped(order.begin(), order.begin() + first + start(i));
      const auto append = [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t p = from; p < to; ++p) swapped.push_back(first + p);
      };
      append(start(j), start(j + 1));
      const auto end_of_first = static_cast<std::int64_t>(swapped.size()) - first;
      append(start(i + 1), start(j));
      const auto start_of_second = static_cast<std::int64_t>(swapped.size()) - first;
      append(start(i), start(i + 1));
      append(start(j + 1), pass.k.rows() - first);
      const Eigen::ArrayXd after = weights_after(pass, head, query, swapped);
      const double a = mean(before, start(i), start(i + 1));
      const double b = mean(before, start(j), start(j + 1));
      const double c = mean(after, start(i), end_of_first);
      const double d = mean(after, start_of_second, start(j + 1));
      swaps.push_back({std::abs(a - b), cosine(a, b, c, d), cosine(b, a, c, d)});
      widest = std::max(widest, std::abs(a - b));
    }
  for (const auto& [difference, positional, symbolic] : swaps) {
    const double alpha = std::exp((difference - widest) / 1e-4);
    total += alpha;
    sum.positional += alpha * positional;
    sum.symbolic += alpha * symbolic;
  }
  return {sum.positional / total, sum.symbolic / total};
}

}  // namespace

TEST_CASE("scores equal the literal swaps: biases, norms, windows, softcaps, groups, blocks") {
  for (const char* name :
       {"gptj", "gpt_neox", "qwen2", "qwen3", "gemma2", "gemma3", "llama_scaled"}) {
    const Model model = open_model(data + name);
    const Tokens tokens{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
    (void)forward<double>(model, std::span(&tokens, 1), {}, [&](const Pass<double>& pass) {
      for (std::int64_t head = 0; head < model.heads; ++head)
        for (const std::int64_t query : {3, 10})
          for (const std::int64_t block : {1, 2, 3, 4}) {
            CAPTURE(name, pass.layer, head, query, block);
            const KeysAnywhere keys = keys_anywhere(pass, head, query);
            const auto scores = swap_scores(keys.logits, 1e-4, block);
            if ((query - keys.first + block - 1) / block < 2) {
              CHECK_FALSE(scores);
              continue;
            }
            REQUIRE(scores);
            const SwapScores expected = literal(pass, head, query, block);
            CHECK(std::abs(scores->positional - expected.positional) < 1e-6);
            CHECK(std::abs(scores->symbolic - expected.symbolic) < 1e-6);
          }
    });
  }
}

TEST_CASE("scores equal those of the theory, also where weights underflow") {
  std::mt19937 random(1);
  for (const double size : {0.01, 1.0, 30.0, 2000.0}) {
    theory::LogitMatrix<double> m(9, 9);
    for (Eigen::Index i = 0; i < 9; ++i)
      for (Eigen::Index j = 0; j < 9; ++j)
        m(i, j) = size * (static_cast<double>(random()) / 4294967296.0 - 0.5);
    const auto expected = theory::head_scores(m);
    const auto scores = swap_scores(Rows<double>(m));
    REQUIRE(scores);
    CHECK(scores->positional == Catch::Approx(expected->positional).epsilon(1e-9));
    CHECK(scores->symbolic == Catch::Approx(expected->symbolic).epsilon(1e-9));
  }
  CHECK_FALSE(swap_scores(Rows<double>::Zero(2, 2)));
  CHECK_THROWS_AS(swap_scores(Rows<double>::Zero(3, 3), 0), Error);
  CHECK_THROWS_AS(swap_scores(Rows<double>::Zero(3, 3), 1e-4, 0), Error);
}

TEST_CASE("a head that ignores tokens is positional, one that ignores positions symbolic") {
  Rows<double> positional(6, 6);
  Rows<double> symbolic(6, 6);
  for (Eigen::Index a = 0; a < 6; ++a)
    for (Eigen::Index b = 0; b < 6; ++b) {
      positional(a, b) = 0.7 * static_cast<double>(b * b);
      symbolic(a, b) = 0.7 * static_cast<double>(a * a);
    }
  CHECK(swap_scores(positional)->positional == Catch::Approx(1));
  CHECK(swap_scores(symbolic)->symbolic == Catch::Approx(1));
  CHECK(swap_scores(positional)->symbolic < 0.9);
}

TEST_CASE("weighted frequency IDs count planes from 1") {
  const std::vector<double> first{50, 0, 0};
  const std::vector<double> last{0, 0, 50};
  const std::vector<double> even{1, 1, 1};
  CHECK(weighted_id(first) == 1);
  CHECK(weighted_id(last) == 3);
  CHECK(weighted_id(even) == 2);
}

TEST_CASE("contributions of planes add up to the logit where every feature turns") {
  const Model model = open_model(data + "qwen3");
  const Tokens tokens{3, 1, 4, 1, 5, 9};
  (void)forward<double>(model, std::span(&tokens, 1), {}, [&](const Pass<double>& pass) {
    for (std::int64_t head = 0; head < model.heads; ++head) {
      const Rows<double> planes = plane_logits(pass, head, 5, 0);
      const auto& logits = pass.logits[static_cast<std::size_t>(head)];
      CHECK((planes.colwise().sum() - logits.row(5)).cwiseAbs().maxCoeff() < 1e-12);
    }
  });
}

TEST_CASE("one product serves all swaps: far faster than running the layer again") {
  // One head of 128 dimensions at 256 tokens, and all 522,753 swaps at 1024.
  const auto make = [](Eigen::Index n) {
    Rows<double> x(n, 128);
    std::uint64_t state = 7;
    for (double& value : x.reshaped()) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      value = static_cast<double>(state >> 11U) / 9007199254740992.0 - 0.5;
    }
    return x;
  };
  const auto pass_of = [&](Eigen::Index n, const auto& use) {
    const theory::Schedule schedule = theory::default_schedule({10000, 128});
    const RotaryTable<double> table = rotary_table<double>(schedule, n);
    const Rows<double> q = make(n);
    const Rows<double> k = 2 * q.colwise().reverse();
    Rows<double> turned_q = q;
    Rows<double> turned_k = k;
    rotate(turned_q, 128, theory::Pairing::half_split, table);
    rotate(turned_k, 128, theory::Pairing::half_split, table);
    const std::vector<Rows<double>> none;
    const LogitRule rule{0.2, {}, {}};
    use(Pass<double>{0, 0, rule, theory::Pairing::half_split, 128, table, q, q, k, k, turned_q,
                     turned_k, none, none});
  };
  const auto seconds = [](const auto& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  pass_of(instrumented ? 40 : 256, [&](const Pass<double>& pass) {
    const auto query = static_cast<std::int64_t>(pass.q.rows()) - 1;
    SwapScores slow;
    const double literal_time = seconds([&] { slow = literal(pass, 0, query, 1); });
    SwapScores fast;
    double fast_time = 1;
    for (int i = 0; i < 3; ++i)
      fast_time = std::min(
          fast_time, seconds([&] { fast = *swap_scores(keys_anywhere(pass, 0, query).logits); }));
    CHECK(std::abs(fast.positional - slow.positional) < 1e-6);
    CHECK(std::abs(fast.symbolic - slow.symbolic) < 1e-6);
    CAPTURE(literal_time, fast_time);
    if (!instrumented) CHECK(literal_time > 100 * fast_time);
  });
  if (instrumented) return;
  pass_of(1024, [&](const Pass<double>& pass) {
    double best = 1;
    for (int i = 0; i < 5; ++i)
      best =
          std::min(best, seconds([&] { (void)swap_scores(keys_anywhere(pass, 0, 1023).logits); }));
    INFO("all swaps of 1024 tokens in " << best << " s");
    CHECK(best < 0.15);  // 0.05 on a quiet machine
  });
}

TEST_CASE("trained: Number has positional layers and symbolic ones, Letter symbolic ones") {
  if (!std::filesystem::exists(shared))
    return skipped("trained models are not beside the checkout");
  for (const bool number : {true, false}) {
    const Model model = open_model(shared + (number ? "p1-number" : "p1-letter"));
    tasks::Options options;
    options.kind = number ? tasks::Kind::number : tasks::Kind::letter;
    options.count = instrumented ? 20 : 100;
    const tasks::Task task(options);
    std::vector<Tokens> inputs;
    for (std::int64_t k = 0; k < options.count; ++k) inputs.push_back(task.sample(k).tokens);
    const std::vector<HeadScore> scores = score_heads(model, inputs);
    REQUIRE(scores.size() == 12);
    for (const HeadScore& s : scores) {
      CAPTURE(number, s.layer, s.positional, s.symbolic, s.weighted_id);
      CHECK(s.queries == inputs.size());
      if (!number) {
        CHECK(s.symbolic > 0.95);
        CHECK(s.weighted_id >= 25);
      } else if (s.layer >= 5) {
        CHECK(s.symbolic > 0.98);
        CHECK(s.weighted_id >= 15);
      } else if (s.layer == 1) {
        CHECK(s.positional > 0.97);
      }
      if (number && s.purity(0.1) == std::string("positional")) CHECK(s.weighted_id <= 3);
    }
  }
}
