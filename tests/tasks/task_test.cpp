#include "tasks/task.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <thread>
#include <tuple>

#include "constructions/canonical.hpp"
#include "constructions/retrieval.hpp"
#include "tasks/random.hpp"
#include "tests/catch.hpp"
#include "theory/error.hpp"

using namespace ropewalk;
using namespace ropewalk::tasks;

namespace {

constexpr Kind kinds[] = {Kind::number, Kind::letter, Kind::index, Kind::retrieval, Kind::mixed};

// Shapes beside the paper's: odd windows, short reach, other alphabets, added symbols.
std::vector<Options> shapes() {
  std::vector<Options> all;
  for (const Kind kind : kinds) {
    all.push_back({.kind = kind});
    all.push_back({.kind = kind, .added = 3, .seed = 7});
    all.push_back({.kind = kind, .added = 40, .seed = 1ULL << 40U});
    all.push_back({.kind = kind, .hops_max = 1, .window = 3, .letters = 3, .digits = 2});
    all.push_back({.kind = kind, .hops_max = 1, .window = 32, .letters = 12, .digits = 10});
  }
  all.push_back({.kind = Kind::number, .hops_min = 2, .hops_max = 9, .letters = 1});
  all.push_back({.kind = Kind::number, .window = 25, .integers = 4});
  all.push_back({.kind = Kind::index, .window = 25, .integers = 1});
  all.push_back({.kind = Kind::letter, .hops_min = 6, .hops_max = 6});
  all.push_back({.kind = Kind::letter, .hops_max = 9, .letters = 26});
  return all;
}

}  // namespace

TEST_CASE("Philox4x32-10 gives the published values") {
  using Block = std::array<std::uint32_t, 4>;
  // The known answers that accompany the authors' Random123.
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}) ==
        Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("every sample is answered by the walk over its tokens") {
  for (const Options& options : shapes()) {
    const Task task(options);
    CAPTURE(name(options.kind), options.window, options.added, options.hops_max, options.letters);
    for (std::int64_t k = 0; k < 3000; ++k) {
      const Sample s = k % 10 == 0 ? task.example(k) : task.sample(k);
      const auto walked = task.solve(s.tokens);
      REQUIRE(walked.has_value());
      REQUIRE(walked->token == s.answer);
      REQUIRE(walked->path == s.path);
      REQUIRE(static_cast<int>(s.path.size()) == s.hops + 1);
      REQUIRE(static_cast<std::int64_t>(s.tokens.size()) == task.length());
    }
  }
}

TEST_CASE("walks agree with the functions that the heads are built for") {
  using constructions::Token;
  const auto sequence = [](const Task& task, const Sample& s, auto&& of) {
    constructions::Sequence result;
    for (const std::int32_t t : s.tokens) result.push_back(of(task.options(), Token{t} - 1));
    return result;
  };
  for (const Kind kind : kinds) {
    const Task task({.kind = kind, .added = 5, .seed = 3});
    const Options& o = task.options();
    CAPTURE(name(kind));
    for (std::int64_t k = 0; k < 500; ++k) {
      const Sample s = task.sample(k);
      const auto last = s.tokens.size() - 1;
      if (kind == Kind::number || kind == Kind::index) {
        const constructions::IndexAlphabet alphabet{o.letters, o.integers};
        const auto own = [&](const Options&, Token t) {
          return t < o.integers ? alphabet.integer(t + 1) : alphabet.letter(t - o.integers);
        };
        auto tokens = sequence(task, s, own);
        REQUIRE(constructions::is_index_input(alphabet, tokens));
        for (int hop = 0; hop < s.hops; ++hop) {
          REQUIRE_FALSE(alphabet.is_letter(tokens[last]));
          // What Index has made a letter no longer reaches back.
          tokens = constructions::index_function(alphabet, tokens);
        }
        REQUIRE(tokens[last] == own(o, Token{s.answer} - 1));
        continue;
      }
      const Token leaves = Token{o.letters} * o.digits;
      if (kind == Kind::mixed) {
        const constructions::BindingAlphabet alphabet{o.letters, o.digits};
        const auto tokens = sequence(task, s, [&](const Options&, Token t) {
          return t < leaves ? t : alphabet.query((t - leaves) % o.letters);
        });
        REQUIRE(constructions::mixed_function(alphabet, tokens) ==
                (Token{s.answer} - 1) % o.digits);
        // Without the order there is no answer: the letter has two digits.
        REQUIRE_FALSE(constructions::symbolic_function(alphabet, tokens));
        continue;
      }
      const constructions::RetrievalAlphabet alphabet{o.letters, o.digits};
      const auto tokens = sequence(task, s, [&](const Options&, Token t) {
        return t < leaves ? alphabet.leaf(t / o.digits, t % o.digits)
                          : alphabet.pair((t - leaves) / o.letters, (t - leaves) % o.letters);
      });
      const auto found = constructions::retrieval_function(alphabet, tokens);
      for (int hop = 0; hop < s.hops; ++hop) {
        const auto from = static_cast<std::size_t>(s.path[static_cast<std::size_t>(hop)]);
        const auto to = static_cast<std::size_t>(s.path[static_cast<std::size_t>(hop) + 1]);
        REQUIRE(found[from] == tokens[to]);
        const auto correct = constructions::retrieval_correct_keys(alphabet, tokens, from);
        REQUIRE(correct[to]);
        REQUIRE(std::count(correct.begin(), correct.end(), true) == 1);
      }
      if (kind == Kind::retrieval) REQUIRE(constructions::is_clean(alphabet, tokens));
    }
  }
}

TEST_CASE("hop counts, leaf positions and answers are balanced in every prefix") {
  for (const Options& options : shapes()) {
    const Task task(options);
    const Options& o = task.options();
    CAPTURE(name(o.kind), o.window, o.added, o.hops_max, o.letters, o.integers);
    const int kinds_of_hops = o.hops_max - o.hops_min + 1;
    const bool counted = o.kind == Kind::number || o.kind == Kind::index;
    const std::int32_t answers = counted ? o.letters : o.letters * o.digits;
    std::map<int, std::int64_t> by_hops;
    std::map<std::tuple<int, std::int32_t>, std::int64_t> by_leaf;
    std::map<std::tuple<int, std::int32_t>, std::int64_t> by_answer;
    std::map<std::tuple<int, std::int32_t, std::int32_t>, std::int64_t> by_both;
    // What a count of all `cells` may be: nothing below the even share, nothing above.
    const auto even = [](const auto& counts, std::int64_t cells, std::int64_t n) {
      if (static_cast<std::int64_t>(counts.size()) != std::min(cells, n)) return false;
      return std::all_of(counts.begin(), counts.end(), [&](const auto& entry) {
        return entry.second >= n / cells && entry.second <= (n + cells - 1) / cells;
      });
    };
    for (std::int64_t k = 0; k < 8000; ++k) {
      const Sample s = task.sample(k);
      const std::int32_t leaf = s.path.back() - static_cast<std::int32_t>(o.added);
      ++by_hops[s.hops];
      ++by_leaf[{s.hops, leaf}];
      ++by_answer[{s.hops, s.answer}];
      ++by_both[{s.hops, leaf, s.answer}];
      if (k % 997 == 0) REQUIRE(even(by_hops, kinds_of_hops, k + 1));
      if ((k + 1) % (77LL * kinds_of_hops) != 0) continue;
      const std::int64_t each = (k + 1) / kinds_of_hops;
      for (int h = o.hops_min; h <= o.hops_max; ++h) {
        const auto only = [&](const auto& counts) {
          std::vector<std::pair<int, std::int64_t>> mine;
          for (const auto& [key, n] : counts)
            if (std::get<0>(key) == h) mine.emplace_back(h, n);
          return mine;
        };
        // All positions that h steps reach, each at most the largest integer or the window.
        const std::int32_t reach = h * (counted ? o.integers : o.window);
        const std::int32_t first =
            std::max(o.kind == Kind::mixed ? 1 : 0, o.window - std::min(reach, o.window));
        const std::int64_t positions = o.window - h + 1 - first;
        REQUIRE(even(only(by_leaf), positions, each));
        REQUIRE(even(only(by_answer), answers, each));
        REQUIRE(even(only(by_both), positions * answers, each));
      }
    }
  }
}

namespace {

// Pearson's statistic against equal shares, in standard deviations above its mean.
double unevenness(const std::vector<std::int64_t>& counts) {
  const auto cells = static_cast<double>(counts.size());
  double n = 0;
  for (const std::int64_t c : counts) n += static_cast<double>(c);
  double sum = 0;
  for (const std::int64_t c : counts)
    sum += (static_cast<double>(c) - n / cells) * (static_cast<double>(c) - n / cells);
  return counts.size() < 2 ? 0 : (sum / (n / cells) - (cells - 1)) / std::sqrt(2 * (cells - 1));
}

}  // namespace

TEST_CASE("number: letters are uniform, integers off the path uniform on 1..min(p, 16)") {
  const Task task({.kind = Kind::number, .added = 24, .seed = 5});
  std::vector<std::vector<std::int64_t>> integers(41);
  for (std::size_t p = 0; p < 40; ++p) {
    const std::size_t in_window = p < 24 ? p : p - 24;
    integers[p].resize(std::min<std::size_t>(in_window, 16));
  }
  std::vector<std::int64_t> letters(120);
  std::vector<std::int64_t> link_at(40);
  for (std::int64_t k = 0; k < 20'000; ++k) {
    const Sample s = task.sample(k);
    REQUIRE(s.tokens.back() <= 16);
    REQUIRE(s.tokens[0] > 16);
    REQUIRE(s.tokens[24] > 16);
    std::size_t links = 0;
    for (std::size_t p = 0; p < 40; ++p) {
      const std::int32_t t = s.tokens[p];
      links += p >= 24 && t <= 16 ? 1 : 0;
      if (std::find(s.path.begin(), s.path.end(), static_cast<int>(p)) != s.path.end()) continue;
      if (t > 16) {
        ++letters.at(static_cast<std::size_t>(t - 17));
      } else {
        ++integers[p].at(static_cast<std::size_t>(t - 1));
        ++link_at[p];
      }
    }
    REQUIRE(links == 8);
  }
  CHECK(unevenness(letters) < 5);
  for (std::size_t p = 0; p < 40; ++p) {
    CAPTURE(p);
    CHECK(unevenness(integers[p]) < 5);
  }
  // Of the added symbols but the first, one half.
  for (std::size_t p = 1; p < 24; ++p) CHECK(std::abs(link_at[p] - 10'000) < 400);
}

TEST_CASE("letter: path letters are distinct and used nowhere else") {
  const Task task({.kind = Kind::letter, .added = 12, .seed = 5});
  std::int64_t none = 0;
  std::int64_t several = 0;
  std::vector<std::int64_t> pairs(64);
  for (std::int64_t k = 0; k < 10'000; ++k) {
    const Sample s = task.sample(k);
    std::multiset<std::int32_t> route;
    std::multiset<std::int32_t> elsewhere;
    std::multiset<std::int32_t> firsts;
    int leaves = 0;
    const auto first = [](std::int32_t t) { return t > 64 ? (t - 65) / 8 : (t - 1) / 8; };
    for (std::size_t p = 0; p < s.tokens.size(); ++p) {
      const std::int32_t t = s.tokens[p];
      const bool on_path =
          std::find(s.path.begin(), s.path.end(), static_cast<int>(p)) != s.path.end();
      leaves += p >= 12 && t <= 64 ? 1 : 0;
      if (on_path) route.insert(first(t));
      auto& other = on_path ? firsts : elsewhere;
      if (!on_path) {
        other.insert(first(t));
        if (t > 64) {
          other.insert((t - 65) % 8);
          ++pairs[static_cast<std::size_t>(t - 65)];
          const auto matches =
              std::count_if(s.tokens.begin(), s.tokens.begin() + static_cast<std::ptrdiff_t>(p),
                            [&](std::int32_t u) { return first(u) == (t - 65) % 8; });
          none += matches == 0 ? 1 : 0;
          several += matches > 1 ? 1 : 0;
        }
      }
    }
    REQUIRE(leaves == 8);
    REQUIRE(route.size() == static_cast<std::size_t>(s.hops) + 1);
    for (const std::int32_t letter : route) {
      REQUIRE(route.count(letter) == 1);
      REQUIRE(elsewhere.count(letter) == 0);
    }
  }
  CHECK(none > 1000);
  CHECK(several > 1000);
  for (const std::int64_t n : pairs) CHECK(n > 0);
}

TEST_CASE("every path of so many hops to a leaf is equally likely") {
  for (const std::int32_t integers : {4, 7}) {
    const Task task({.kind = Kind::number,
                     .hops_min = 3,
                     .hops_max = 3,
                     .window = 7,
                     .letters = 1,
                     .integers = integers});
    std::map<std::int32_t, std::map<std::vector<std::int32_t>, std::int64_t>> paths;
    for (std::int64_t k = 0; k < 20'000; ++k) {
      const Sample s = task.sample(k);
      ++paths[s.path.back()][s.path];
    }
    REQUIRE(paths.size() == 5);
    // 3 steps of 1..m that sum to d: all of C(d - 1, 2) for m = 7; for m = 4 less those with a
    // longer step.
    const std::map<std::int32_t, std::size_t> expected =
        integers == 7
            ? std::map<std::int32_t, std::size_t>{{0, 15}, {1, 10}, {2, 6}, {3, 3}, {4, 1}}
            : std::map<std::int32_t, std::size_t>{{0, 12}, {1, 10}, {2, 6}, {3, 3}, {4, 1}};
    for (const auto& [leaf, counts] : paths) {
      CAPTURE(integers, leaf);
      CHECK(counts.size() == expected.at(leaf));
      std::vector<std::int64_t> n;
      for (const auto& [path, count] : counts) n.push_back(count);
      CHECK(unevenness(n) < 5);
    }
  }
}

TEST_CASE("added symbols stand before the same input and change neither path nor answer") {
  for (const Kind kind : kinds) {
    CAPTURE(name(kind));
    const Task plain({.kind = kind, .seed = 9});
    for (const std::int64_t added : {1, 30, 5000}) {
      const Task task({.kind = kind, .added = added, .seed = 9});
      CHECK(task.length() == 17 + added);
      for (std::int64_t k = 0; k < 40; ++k) {
        const Sample s = plain.sample(k);
        const Sample longer = task.sample(k);
        REQUIRE(std::equal(s.tokens.begin(), s.tokens.end(), longer.tokens.begin() + added,
                           longer.tokens.end()));
        REQUIRE(longer.answer == s.answer);
        REQUIRE(longer.hops == s.hops);
        for (std::size_t i = 0; i < s.path.size(); ++i)
          REQUIRE(longer.path[i] == s.path[i] + added);
        REQUIRE(task.solve(longer.tokens)->path == longer.path);
      }
    }
  }
}

TEST_CASE("samples do not depend on order, threads or how many there are") {
  const Task task({.kind = Kind::number, .seed = 4});
  const Task other({.kind = Kind::number, .seed = 4, .count = 2000});
  std::vector<Sample> samples(2000);
  std::vector<std::thread> threads;
  for (std::size_t first = 0; first < 4; ++first)
    threads.emplace_back([&, first] {
      for (std::size_t k = 2000 - 4 + first; k < 2000; k -= 4)
        samples[k] = task.sample(static_cast<std::int64_t>(k));
    });
  for (std::thread& t : threads) t.join();
  std::set<std::vector<std::int32_t>> distinct;
  for (std::size_t k = 0; k < 2000; ++k) {
    const Sample s = other.sample(static_cast<std::int64_t>(k));
    REQUIRE(s.tokens == samples[k].tokens);
    REQUIRE(s.path == samples[k].path);
    distinct.insert(s.tokens);
  }
  CHECK(distinct.size() == 2000);
}

TEST_CASE("token ids are those of the trained models, and their texts are told apart") {
  const Task number({.kind = Kind::number});
  CHECK(number.vocabulary() == 137);
  CHECK(number.token_text(0).empty());
  CHECK(number.token_text(1) == "1");
  CHECK(number.token_text(16) == "16");
  CHECK(number.token_text(17) == "a");
  CHECK(number.token_text(42) == "z");
  CHECK(number.token_text(43) == "aa");
  CHECK(number.token_text(136) == "dp");
  const Task letter({.kind = Kind::letter});
  CHECK(letter.vocabulary() == 129);
  CHECK(letter.token_text(1) == "a0");
  CHECK(letter.token_text(10) == "b1");
  CHECK(letter.token_text(64) == "h7");
  CHECK(letter.token_text(65) == "aa");
  CHECK(letter.token_text(66) == "ab");
  CHECK(letter.token_text(128) == "hh");
  for (const Options& options : shapes()) {
    const Task task(options);
    std::set<std::string> texts;
    for (std::int32_t t = 0; t < task.vocabulary(); ++t) texts.insert(task.token_text(t));
    CHECK(texts.size() == static_cast<std::size_t>(task.vocabulary()));
    CHECK_THROWS_AS(task.token_text(task.vocabulary()), Error);
    CHECK_THROWS_AS(task.token_text(-1), Error);
  }
  for (const Kind kind : kinds) CHECK(kind_of(name(kind)) == kind);
  CHECK_FALSE(kind_of("numbers"));
}

TEST_CASE("the walk ends where a task has no answer") {
  const Task number({.kind = Kind::number});
  using Tokens = std::vector<std::int32_t>;
  CHECK(number.solve(Tokens{17, 1})->token == 17);
  CHECK(number.solve(Tokens{17, 1, 1})->path == Tokens{2, 1, 0});
  CHECK_FALSE(number.solve(Tokens{}));
  CHECK_FALSE(number.solve(Tokens{17, 2}));   // before the start
  CHECK_FALSE(number.solve(Tokens{1, 17}));   // no query
  CHECK_FALSE(number.solve(Tokens{0, 1}));    // padding
  CHECK_FALSE(number.solve(Tokens{137, 1}));  // no token
  CHECK_FALSE(number.solve(Tokens{-5, 1}));
  // a1 = 2, a2 = 3, ba = 73, bb = 74
  const Tokens one{2, 73};
  const Tokens two{2, 3, 73};
  const Tokens twice{2, 2, 73};
  const Tokens none{2, 74};
  for (const Kind kind : {Kind::letter, Kind::retrieval, Kind::mixed}) {
    const Task task({.kind = kind});
    CHECK(task.solve(one)->token == 2);
    CHECK_FALSE(task.solve(none));
  }
  CHECK_FALSE(Task({.kind = Kind::letter}).solve(twice));
  CHECK(Task({.kind = Kind::retrieval}).solve(twice)->path == Tokens{2, 1});
  CHECK_FALSE(Task({.kind = Kind::retrieval}).solve(two));
  CHECK(Task({.kind = Kind::mixed}).solve(two)->token == 3);
}

TEST_CASE("the splits follow one another through 480,000 samples") {
  const Range train = range_of(Split::train);
  const Range validation = range_of(Split::validation);
  const Range test = range_of(Split::test);
  CHECK(train.first == 0);
  CHECK(train.count == 432'000);
  CHECK(validation.first == 432'000);
  CHECK(validation.count == 2'400);
  CHECK(test.first == 434'400);
  CHECK(test.count == 45'600);
  CHECK(test.first + test.count == Options{}.count);
}

TEST_CASE("options outside their domain are refused by the name of the flag") {
  const auto refused = [](const Options& options, const std::string& flag) {
    CAPTURE(flag);
    try {
      const Task task(options);
      FAIL("accepted");
    } catch (const Error& e) {
      CHECK(e.code() == ErrorCode::bad_value);
      CHECK(std::string(e.what()).find(flag) == 0);
    }
  };
  refused({.hops_min = 0}, "--hops");
  refused({.hops_min = 3, .hops_max = 2}, "--hops");
  refused({.hops_max = 10}, "--hops");
  refused({.hops_max = 3, .window = 3}, "--hops");
  refused({.hops_max = 65, .window = 400}, "--hops");
  refused({.kind = Kind::index, .hops_max = 2}, "--hops");
  refused({.kind = Kind::mixed, .hops_min = 2, .hops_max = 2}, "--hops");
  refused({.window = 2}, "--window");
  refused({.window = 65'537}, "--window");
  refused({.integers = 17}, "--integers");
  refused({.integers = -1}, "--integers");
  refused({.letters = 703}, "--alphabet");
  refused({.kind = Kind::letter, .letters = 27}, "--alphabet");
  refused({.kind = Kind::letter, .letters = 5}, "--alphabet");
  refused({.kind = Kind::letter, .hops_max = 7}, "--alphabet");
  refused({.kind = Kind::retrieval, .letters = 2}, "--alphabet");
  refused({.kind = Kind::letter, .digits = 0}, "--leaf-digits");
  refused({.kind = Kind::letter, .digits = 11}, "--leaf-digits");
  refused({.kind = Kind::mixed, .digits = 1}, "--leaf-digits");
  refused({.added = -1}, "--added");
  refused({.added = (1 << 24) + 1}, "--added");
  refused({.count = -1}, "--count");
  const Task task({.count = 5});
  CHECK_NOTHROW(task.sample(4));
  CHECK_THROWS_AS(task.sample(5), Error);
  CHECK_THROWS_AS(task.sample(-1), Error);
  CHECK_THROWS_AS(task.example(-1), Error);
}

TEST_CASE("480,000 inputs are made in less than 5 seconds on one core") {
  if (tests::instrumented) return tests::skipped("speed under the sanitizers says nothing");
  for (const Kind kind : {Kind::number, Kind::letter}) {
    const Task task({.kind = kind});
    std::int64_t sum = 0;
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t k = 0; k < task.options().count; ++k) sum += task.sample(k).answer;
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::cout << name(kind) << ": 480000 inputs in " << seconds.count() << " s\n";
    CHECK(sum > 0);
    CHECK(seconds.count() < 5);
  }
}
