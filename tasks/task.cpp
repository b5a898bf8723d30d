#include "tasks/task.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "tasks/random.hpp"
#include "theory/error.hpp"

namespace ropewalk::tasks {

namespace {

constexpr std::array<std::string_view, 5> kind_names = {"number", "letter", "index", "retrieval",
                                                        "mixed"};

// Streams of draws; a kind and a purpose have one each.
enum Stream : std::uint32_t { window, prefix, order, labels };
constexpr std::uint32_t streams = 4;
enum Purpose : std::uint32_t { asked, shown };

std::uint32_t stream(Kind kind, std::uint32_t purpose, Stream what) {
  return (static_cast<std::uint32_t>(kind) * 2 + purpose) * streams + what;
}

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorCode::bad_value, what); }

void check(std::string_view flag, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value < low || value > high)
    refuse(std::string(flag) + " must lie in " + std::to_string(low) + ".." + std::to_string(high) +
           ", not " + std::to_string(value));
}

// a, b, ..., z, aa, ab, ...
std::string letter_text(std::int32_t letter) {
  std::string text;
  for (; letter >= 0; letter = letter / 26 - 1)
    text.insert(text.begin(), static_cast<char>('a' + letter % 26));
  return text;
}

// Letters have one or two characters, in a pair one.
constexpr std::int32_t most_letters = 26 + 26 * 26;
constexpr std::int32_t most_letters_of_pairs = 26;

}  // namespace

std::string_view name(Kind kind) { return kind_names.at(static_cast<std::size_t>(kind)); }

std::optional<Kind> kind_of(std::string_view name) {
  const auto* const at = std::find(kind_names.begin(), kind_names.end(), name);
  if (at == kind_names.end()) return std::nullopt;
  return static_cast<Kind>(at - kind_names.begin());
}

Range range_of(Split split) {
  switch (split) {
    case Split::train: return {0, 432'000};
    case Split::validation: return {432'000, 2'400};
    default: return {434'400, 45'600};
  }
}

std::vector<std::string> token_texts(Kind kind, std::int32_t letters, std::int32_t numbers) {
  const bool counts = kind == Kind::number || kind == Kind::index;
  check("--alphabet", letters, 1, counts ? most_letters : most_letters_of_pairs);
  check(counts ? "--integers" : "--leaf-digits", numbers, 1, counts ? 65'536 : 10);
  std::vector<std::string> texts(1);
  if (counts) {
    for (std::int32_t m = 1; m <= numbers; ++m) texts.push_back(std::to_string(m));
    for (std::int32_t a = 0; a < letters; ++a) texts.push_back(letter_text(a));
    return texts;
  }
  for (std::int32_t a = 0; a < letters; ++a)
    for (std::int32_t d = 0; d < numbers; ++d) texts.push_back(letter_text(a) + std::to_string(d));
  for (std::int32_t a = 0; a < letters; ++a)
    for (std::int32_t b = 0; b < letters; ++b) texts.push_back(letter_text(a) + letter_text(b));
  return texts;
}

// What balance decides about a sample.
struct Task::Cell {
  int hops;
  std::int32_t leaf;  // position in the window
  std::int32_t answer;
};

bool Task::counts() const { return options_.kind == Kind::number || options_.kind == Kind::index; }

Task::Task(const Options& options) : options_(options) {
  Options& o = options_;
  const bool paths = o.kind == Kind::number || o.kind == Kind::letter;
  check("--window", o.window, 3, 65'536);
  if (o.hops_max == 0) o.hops_max = paths ? 4 : 1;
  check("--hops", o.hops_min, 1, 64);
  check("--hops", o.hops_max, o.hops_min, 64);
  if (!paths && o.hops_max != 1)
    refuse("--hops: the task " + std::string(name(o.kind)) + " has one hop, not " +
           std::to_string(o.hops_max));
  links_ = paths ? o.window / 2 : 0;
  if (o.hops_max > links_ + 1)
    refuse("--hops: a window of " + std::to_string(o.window) + " has room for " +
           std::to_string(links_ + 1) + " hops, not " + std::to_string(o.hops_max));
  if (o.letters == 0) o.letters = counts() ? 120 : 8;
  check("--alphabet", o.letters, 1, counts() ? most_letters : most_letters_of_pairs);
  check("--leaf-digits", o.digits, o.kind == Kind::mixed ? 2 : 1, 10);
  if (counts()) {
    check("--integers", o.integers, 0, o.window);
    if (o.integers == 0) o.integers = o.window;
  } else if (o.letters < o.hops_max + 2) {
    refuse("--alphabet: " + std::to_string(o.hops_max) + " hops and one letter off the path need " +
           std::to_string(o.hops_max + 2) + " letters, not " + std::to_string(o.letters));
  }
  check("--added", o.added, 0, 1 << 24);
  check("--count", o.count, 0, std::int64_t{1} << 62U);

  const std::int32_t reach = counts() ? o.integers : o.window;
  ways_.assign(static_cast<std::size_t>(o.hops_max) + 1,
               std::vector<double>(static_cast<std::size_t>(o.window) + 1));
  ways_[0][0] = 1;
  for (std::size_t h = 1; h < ways_.size(); ++h) {
    std::vector<double> sums(ways_[h].size() + 1);
    std::partial_sum(ways_[h - 1].begin(), ways_[h - 1].end(), sums.begin() + 1);
    for (std::size_t d = 1; d < ways_[h].size(); ++d)
      ways_[h][d] = sums[d] - sums[d - std::min(d, static_cast<std::size_t>(reach))];
  }
  texts_ = token_texts(o.kind, o.letters, counts() ? o.integers : o.digits);

  std::vector<std::int32_t> tokens(
      static_cast<std::size_t>(counts() ? o.letters : o.letters * o.digits));
  std::iota(tokens.begin(), tokens.end(), counts() ? o.integers + 1 : 1);
  for (int h = o.hops_min; h <= o.hops_max; ++h) {
    std::vector<std::int32_t> positions;
    // The last occurrence of a letter has one before it.
    for (std::int32_t p = o.kind == Kind::mixed ? 1 : 0; p < o.window; ++p)
      if (ways_[static_cast<std::size_t>(h)][static_cast<std::size_t>(o.window - p)] > 0)
        positions.push_back(p);
    Draws draws(o.seed, static_cast<std::uint64_t>(h), stream(o.kind, asked, labels));
    draws.shuffle(positions);
    draws.shuffle(tokens);
    leaves_.push_back(std::move(positions));
    answers_.push_back(tokens);
  }
}

// One sample of each hop count in every block, in random order. Within a hop count block r has leaf
// position r mod P and answer r mod A, under names shuffled for the seed; where P and A have a
// common divisor, the answer is shifted by 1 after every lcm(P, A) blocks, so that P A blocks hold
// every pair once.
Task::Cell Task::cell(std::uint64_t k, std::uint32_t purpose) const {
  const auto kinds = static_cast<std::uint64_t>(leaves_.size());
  const std::uint64_t r = k / kinds;
  std::vector<std::int32_t> hops(leaves_.size());
  std::iota(hops.begin(), hops.end(), 0);
  Draws(options_.seed, r, stream(options_.kind, purpose, order)).shuffle(hops);
  const auto at = static_cast<std::size_t>(hops[static_cast<std::size_t>(k % kinds)]);
  const std::vector<std::int32_t>& leaves = leaves_[at];
  const std::vector<std::int32_t>& answers = answers_[at];
  const std::uint64_t shift = r / std::lcm(leaves.size(), answers.size());
  return {options_.hops_min + static_cast<int>(at), leaves[r % leaves.size()],
          answers[(r + shift) % answers.size()]};
}

Sample Task::sample(std::int64_t k) const {
  if (k < 0 || k >= options_.count)
    refuse("sample " + std::to_string(k) + " lies outside 0.." +
           std::to_string(options_.count - 1));
  return make(static_cast<std::uint64_t>(k), asked);
}

Sample Task::example(std::int64_t k) const {
  if (k < 0) refuse("example " + std::to_string(k) + " is negative");
  return make(static_cast<std::uint64_t>(k), shown);
}

Sample Task::make(std::uint64_t k, std::uint32_t purpose) const {
  const Options& o = options_;
  const Cell chosen = cell(k, purpose);
  Draws draws(o.seed, k, stream(o.kind, purpose, window));
  Draws before(o.seed, k, stream(o.kind, purpose, prefix));
  const auto size = static_cast<std::size_t>(o.window);
  const auto added = static_cast<std::size_t>(o.added);

  Sample sample;
  sample.answer = chosen.answer;
  sample.hops = chosen.hops;
  sample.tokens.resize(added + size + 1);
  std::int32_t* const tokens = sample.tokens.data() + added;  // positions in the window from here

  // The path: each step as often as paths begin with it.
  std::vector<std::int32_t> path = {o.window};
  for (auto left = static_cast<std::size_t>(chosen.hops); left > 0; --left) {
    const auto distance = static_cast<std::size_t>(path.back() - chosen.leaf);
    double share = draws.unit() * ways_[left][distance];
    std::size_t step = 0;
    const std::size_t longest =
        counts() ? std::min(distance, static_cast<std::size_t>(o.integers)) : distance;
    for (std::size_t s = 1; s <= longest && (step == 0 || share >= 0); ++s) {
      const double ways = ways_[left - 1][distance - s];
      if (ways == 0) continue;
      step = s;
      share -= ways;
    }
    path.push_back(path.back() - static_cast<std::int32_t>(step));
  }

  // Which symbols of the window are links.
  std::vector<char> is_link(size + 1, 0);
  std::vector<std::int32_t> free;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) is_link[static_cast<std::size_t>(path[i])] = 1;
  for (std::int32_t p = counts() ? 1 : 0; p < o.window; ++p)
    if (is_link[static_cast<std::size_t>(p)] == 0 && p != chosen.leaf) free.push_back(p);
  if (const std::int32_t more = links_ - (chosen.hops - 1); more > 0) {
    draws.shuffle(free);
    for (std::int32_t i = 0; i < more; ++i)
      is_link[static_cast<std::size_t>(free[static_cast<std::size_t>(i)])] = 1;
  }

  if (counts()) {
    const auto symbol = [&](Draws& d, std::size_t p, bool link) {
      return link ? 1 + d.below(static_cast<std::int32_t>(
                            std::min(p, static_cast<std::size_t>(o.integers))))
                  : o.integers + 1 + d.below(o.letters);
    };
    for (std::size_t p = 0; p < size; ++p) tokens[p] = symbol(draws, p, is_link[p] != 0);
    for (std::size_t i = 0; i + 1 < path.size(); ++i) tokens[path[i]] = path[i] - path[i + 1];
    for (std::size_t p = 0; p < added; ++p)
      sample.tokens[p] = symbol(before, p, p > 0 && before.below(o.window) < links_);
  } else {
    // Letters of the path from the query on, the last one the leaf's; the rest are off it.
    const std::int32_t last = (chosen.answer - 1) / o.digits;
    std::vector<std::int32_t> others;
    for (std::int32_t letter = 0; letter < o.letters; ++letter)
      if (letter != last) others.push_back(letter);
    draws.shuffle(others);
    std::vector<std::int32_t> route(others.begin(), others.begin() + chosen.hops);
    others.erase(others.begin(), others.begin() + chosen.hops);
    route.push_back(last);
    std::vector<std::int32_t> bound;  // retrieval: a letter has one digit
    if (o.kind == Kind::retrieval)
      for (std::int32_t letter = 0; letter < o.letters; ++letter)
        bound.push_back(draws.below(o.digits));
    const auto pair = [&](std::int32_t first, std::int32_t second) {
      return o.letters * o.digits + first * o.letters + second + 1;
    };
    const auto any = [](Draws& d, const std::vector<std::int32_t>& letters) {
      return letters[static_cast<std::size_t>(d.below(static_cast<std::int32_t>(letters.size())))];
    };
    const auto leaf = [&](Draws& d, const std::vector<std::int32_t>& letters) {
      const std::int32_t letter = any(d, letters);
      return 1 + letter * o.digits +
             (bound.empty() ? d.below(o.digits) : bound[static_cast<std::size_t>(letter)]);
    };
    // Before the leaf a mixed input may have the wanted letter too.
    std::vector<std::int32_t> earlier = others;
    if (o.kind == Kind::mixed) earlier.push_back(last);
    for (std::size_t p = 0; p < size; ++p) {
      if (is_link[p] != 0) {
        const std::int32_t first = any(draws, others);
        tokens[p] = pair(first, any(draws, others));
      } else {
        tokens[p] = leaf(draws, static_cast<std::int32_t>(p) < chosen.leaf ? earlier : others);
      }
    }
    for (std::size_t i = 0; i + 1 < path.size(); ++i)
      tokens[path[i]] = pair(route[i], route[i + 1]);
    if (o.kind == Kind::mixed) {
      const std::int32_t other = 1 + draws.below(o.digits - 1);  // to another digit
      tokens[draws.below(chosen.leaf)] =
          1 + last * o.digits + ((chosen.answer - 1) % o.digits + other) % o.digits;
    }
    for (std::size_t p = 0; p < added; ++p) {
      if (before.below(o.window) < links_) {
        const std::int32_t first = any(before, others);
        sample.tokens[p] = pair(first, any(before, others));
      } else {
        sample.tokens[p] = leaf(before, earlier);
      }
    }
  }
  tokens[chosen.leaf] = chosen.answer;
  for (std::int32_t& position : path) position += static_cast<std::int32_t>(o.added);
  sample.path = std::move(path);
  return sample;
}

std::optional<Answer> Task::solve(std::span<const std::int32_t> tokens) const {
  const Options& o = options_;
  const std::int32_t leaf_pairs = o.letters * o.digits;
  const auto is_link = [&](std::int32_t t) { return counts() ? t <= o.integers : t > leaf_pairs; };
  const auto first = [&](std::int32_t t) {
    return is_link(t) ? (t - 1 - leaf_pairs) / o.letters : (t - 1) / o.digits;
  };
  // Where the link at `from` leads.
  const auto next = [&](std::size_t from) -> std::optional<std::size_t> {
    if (counts()) {
      const auto back = static_cast<std::size_t>(tokens[from]);
      return back <= from ? std::optional(from - back) : std::nullopt;
    }
    const std::int32_t wanted = (tokens[from] - 1 - leaf_pairs) % o.letters;
    std::optional<std::size_t> found;
    for (std::size_t p = from; p-- > 0;) {
      if (first(tokens[p]) != wanted) continue;
      if (!found)
        found = p;
      else if (o.kind == Kind::letter || (o.kind == Kind::retrieval && tokens[p] != tokens[*found]))
        return std::nullopt;
    }
    return found;
  };
  if (tokens.empty() || std::any_of(tokens.begin(), tokens.end(),
                                    [&](std::int32_t t) { return t < 1 || t >= vocabulary(); }))
    return std::nullopt;
  std::size_t at = tokens.size() - 1;
  if (!is_link(tokens[at])) return std::nullopt;
  Answer answer;
  answer.path.push_back(static_cast<std::int32_t>(at));
  while (is_link(tokens[at])) {
    const auto to = next(at);
    if (!to) return std::nullopt;
    at = *to;
    answer.path.push_back(static_cast<std::int32_t>(at));
  }
  answer.token = tokens[at];
  return answer;
}

std::int32_t Task::vocabulary() const { return static_cast<std::int32_t>(texts_.size()); }

std::string Task::token_text(std::int32_t id) const {
  if (id < 0 || id >= vocabulary())
    refuse("token " + std::to_string(id) + " lies outside 0.." + std::to_string(vocabulary() - 1));
  return texts_[static_cast<std::size_t>(id)];
}

std::string Task::text(std::span<const std::int32_t> tokens) const {
  std::string text;
  for (const std::int32_t t : tokens) {
    if (!text.empty()) text += ' ';
    text += token_text(t);
  }
  return text;
}

}  // namespace ropewalk::tasks
