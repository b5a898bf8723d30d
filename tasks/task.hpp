#pragma once
/// \file
/// Tasks in which the last token of an input says where the answer is: so many tokens back (Number)
/// or at the token that begins with this letter (Letter), hop by hop until a leaf.
///
///   position   0   1   2   3   4
///   Number     k   c   2   f   2     2 leads from 4 to 2, the 2 there to 0: k, after 2 hops
///   Letter     b3  e0  ab  f2  ca    ca leads to the pair that begins with a, ab to b3: 2 hops
///
/// An input is a *window* of leaves and links, then the *query*, a link. Longer inputs are the same
/// with `added` symbols before the window; the last tokens, path and answer do not change.
///
/// | kind      | leaf              | link               | a link leads to                  |
/// |-----------|-------------------|--------------------|----------------------------------|
/// | number    | letter            | integer m          | the token m positions back       |
/// | letter    | letter-digit pair | letter-letter pair | the pair beginning with its      |
/// |           |                   |                    | second letter (one on the path)  |
/// | index     | as number; one hop and no link but the query                              |
/// | retrieval | as letter; one hop, no link but the query, every letter in one token only |
/// | mixed     | as retrieval, but the letter also occurs before, with another digit:      |
/// |           | the last occurrence counts                                                |
///
/// Sample k of seed s is a function of the options, s and k alone: it needs no other sample, and it
/// is the same on every machine. Samples are *balanced* in every prefix 0..n-1, for n a multiple of
/// the number of hop counts: as many samples of one hop count as of another, and within one hop
/// count the numbers of samples per (leaf position, answer), per leaf position and per answer
/// differ by 1 at most. Leaf positions are all that so many hops can reach.
///
/// Sources: P1 (arXiv 2605.31558) section 2.1 and App. B for Number and Letter; the functions Index
/// and Retrieval of its App. F.2; f_MIX of P2 (arXiv 2511.11579).

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ropewalk::tasks {

enum class Kind { number, letter, index, retrieval, mixed };

/// "number", "letter", ...
[[nodiscard]] std::string_view name(Kind kind);
/// The kind of that name, or nothing.
[[nodiscard]] std::optional<Kind> kind_of(std::string_view name);

/// The text of every token id, "" for padding (id 0), as Task::vocabulary orders them. `numbers`:
/// integers or digits. Throws Error(bad_value), naming the flag of `ropewalk task`: 1..702 letters
/// and 1..65536 integers; for pairs 1..26 letters and 1..10 digits.
[[nodiscard]] std::vector<std::string> token_texts(Kind kind, std::int32_t letters,
                                                   std::int32_t numbers);

/// What to generate. 0 stands for the paper's size where it is the default.
struct Options {
  Kind kind = Kind::number;
  int hops_min = 1;
  int hops_max = 0;           ///< 0: 4 for number and letter, 1 for the others
  std::int32_t window = 16;   ///< symbols before the query; number and letter: half of them leaves
  std::int32_t letters = 0;   ///< 0: 120 for number and index, 8 for the others
  std::int32_t integers = 0;  ///< number and index: 1..integers; 0: as many as the window has
  std::int32_t digits = 8;    ///< letter, retrieval and mixed
  std::int64_t added = 0;     ///< symbols before the window
  std::uint64_t seed = 0;
  std::int64_t count = 480'000;  ///< samples 0..count-1 may be asked for
};

/// 432,000 / 2,400 / 45,600 samples.
enum class Split { train, validation, test };
struct Range {
  std::int64_t first;
  std::int64_t count;
};
/// Where the samples of a split lie among 480,000.
[[nodiscard]] Range range_of(Split split);

struct Sample {
  std::vector<std::int32_t> tokens;  ///< the query is the last
  std::int32_t answer = 0;           ///< a token; what comes next in the sequence
  int hops = 0;
  /// Positions from the query on, hops + 1 of them: hop i goes from path[i-1] to path[i], and
  /// path[hops] holds the leaf.
  std::vector<std::int32_t> path;
};

struct Answer {
  std::int32_t token = 0;
  std::vector<std::int32_t> path;  ///< as of Sample
};

class Task {
 public:
  /// Cost: hops times window. Throws Error(bad_value) for options outside their domain, naming the
  /// flag of `ropewalk task`.
  explicit Task(const Options& options);

  /// As given, with the paper's sizes in place of 0.
  [[nodiscard]] const Options& options() const { return options_; }
  /// added + window + 1, of every sample.
  [[nodiscard]] std::int64_t length() const { return options_.added + options_.window + 1; }

  /// Sample k of the seed, 0 <= k < count. Off the path: leaves and links stand in random order
  /// (number and index begin with a letter, as nothing lies before it), letters and digits are
  /// independent and uniform, an integer at position p of the window is uniform on
  /// 1..min(p, integers). Pairs off the path use no letter of the path, but for mixed the wanted
  /// one before the leaf. Links between query and leaf: every path of so many hops is equally
  /// likely. Added symbols are leaves and links as often as in the window, by the same rules, with
  /// p counted from the start of the input. Exact. Cost: O(length), about a microsecond for 17
  /// tokens. Throws Error(bad_value) for another k.
  [[nodiscard]] Sample sample(std::int64_t k) const;
  /// The same, from draws that no sample has: for worked examples. k >= 0.
  [[nodiscard]] Sample example(std::int64_t k) const;

  /// Walks from the last token on, by the rule of the kind and from the tokens alone. Nothing where
  /// the last token is no link, a link leads nowhere, or (letter) to several positions or
  /// (retrieval) to different tokens. Exact. Cost: O(length) per hop.
  [[nodiscard]] std::optional<Answer> solve(std::span<const std::int32_t> tokens) const;

  /// Number of token ids, 0 (padding) included. Number and index: 1..integers the integers, then
  /// the letters. Others, with A letters and G digits: letter * G + digit + 1 the letter-digit
  /// pairs, A * G + first * A + second + 1 the letter-letter pairs, letters and digits from 0.
  [[nodiscard]] std::int32_t vocabulary() const;
  /// "16", "dp" (letters go a..z, aa..az, ba..), "a1" for a letter and a digit, "ab" for two
  /// letters, "" for padding. Throws Error(bad_value) outside the vocabulary.
  [[nodiscard]] std::string token_text(std::int32_t id) const;
  /// The texts, separated by spaces.
  [[nodiscard]] std::string text(std::span<const std::int32_t> tokens) const;

 private:
  struct Cell;
  [[nodiscard]] Sample make(std::uint64_t k, std::uint32_t purpose) const;
  [[nodiscard]] Cell cell(std::uint64_t k, std::uint32_t purpose) const;
  [[nodiscard]] bool counts() const;  // number and index

  Options options_;
  std::int32_t links_ = 0;                          // in the window
  std::vector<std::vector<std::int32_t>> leaves_;   // by hops: reachable positions, shuffled
  std::vector<std::vector<std::int32_t>> answers_;  // by hops: tokens, shuffled
  std::vector<std::vector<double>> ways_;           // [hops][distance]: paths over that distance
  std::vector<std::string> texts_;                  // by token
};

}  // namespace ropewalk::tasks
