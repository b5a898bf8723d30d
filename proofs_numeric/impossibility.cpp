#include "proofs_numeric/impossibility.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "theory/error.hpp"

namespace ropewalk::proofs_numeric {

using theory::Rational;

namespace {

constexpr std::size_t most_inputs = 2'000'000;

void require(bool condition, const std::string& message) {
  if (!condition) throw Error(ErrorCode::bad_value, message);
}

std::size_t at(Token token) { return static_cast<std::size_t>(token); }

// Letters from `first` on, round the alphabet: a, b, ..., z, a1, b1, ...
std::string letter(Token i, char first) {
  const char start = first < 'a' ? 'A' : 'a';
  std::string name(1, static_cast<char>(start + (first - start + i) % 26));
  if (i >= 26) name += std::to_string(i / 26);
  return name;
}

// All sequences of n tokens in lexicographic order: `allowed` prunes by prefix, `take` receives.
void enumerate(std::size_t n, Token vocabulary, const std::function<bool(const Sequence&)>& allowed,
               const std::function<void(const Sequence&)>& take) {
  Sequence prefix;
  const std::function<void()> extend = [&] {
    if (prefix.size() == n) return take(prefix);
    for (Token token = 0; token < vocabulary; ++token) {
      prefix.push_back(token);
      if (allowed(prefix)) extend();
      prefix.pop_back();
    }
  };
  extend();
}

void add(FiniteTask& task, const Sequence& tokens, std::size_t key, Token answer) {
  if (task.inputs.size() == most_inputs)
    throw Error(ErrorCode::too_large,
                task.name + ": more than 2000000 inputs; take a shorter length");
  task.inputs.push_back({tokens, key, answer});
}

// Values that write the token itself.
void write_tokens(FiniteTask& task) {
  task.answers = task.tokens;
  task.writes.resize(task.tokens.size());
  std::iota(task.writes.begin(), task.writes.end(), Token{0});
}

std::size_t last_marked(const std::vector<bool>& marks) {
  std::size_t j = marks.size();
  while (!marks[--j]) {
  }
  return j;
}

// f_SYM and f_MIX differ in the function only.
FiniteTask binding_task(std::string name, std::size_t n,
                        const constructions::BindingAlphabet& alphabet,
                        std::optional<Token> (*function)(const constructions::BindingAlphabet&,
                                                         const Sequence&)) {
  alphabet.check();
  require(n >= 2, name + " needs a length of 2 or more");
  FiniteTask task;
  task.name = std::move(name);
  task.letters = alphabet.symbols;
  task.others = alphabet.attributes;
  for (Token t = 0; t < alphabet.size(); ++t) {
    const bool query = alphabet.is_query(t);
    const std::string symbol = letter(alphabet.symbol(t), 'A');
    task.tokens.push_back(query ? "?" + symbol : symbol + ":" + letter(alphabet.attribute(t), 'x'));
    task.writes.push_back(query ? -1 : alphabet.attribute(t));
  }
  for (Token a = 0; a < alphabet.attributes; ++a) task.answers.push_back(letter(a, 'x'));
  enumerate(
      n, alphabet.size(),
      [&](const Sequence& prefix) {
        return alphabet.is_query(prefix.back()) == (prefix.size() == n);
      },
      [&](const Sequence& tokens) {
        const auto answer = function(alphabet, tokens);
        if (!answer) return;
        std::size_t key = n - 1;
        while (alphabet.symbol(tokens[--key]) != alphabet.symbol(tokens.back())) {
        }
        add(task, tokens, key, *answer);
      });
  return task;
}

// Rows without repetition.
class Rows {
 public:
  Rows(const char* kind, std::string head, std::vector<std::string> variables) {
    system_.kind = kind;
    system_.head = std::move(head);
    system_.variables = std::move(variables);
  }

  void add(const std::vector<int>& row, int bound, std::optional<std::size_t> input) {
    const auto [place, fresh] = rows_.emplace(std::pair(row, bound), system_.inputs.size());
    if (fresh) system_.inputs.emplace_back();
    if (input) system_.inputs[place->second].push_back(*input);
  }

  HeadSystem finish() {
    const auto m = static_cast<Eigen::Index>(rows_.size());
    system_.a.resize(m, static_cast<Eigen::Index>(system_.variables.size()));
    system_.b.resize(m);
    for (const auto& [row, number] : rows_) {
      const auto i = static_cast<Eigen::Index>(number);
      for (std::size_t j = 0; j < row.first.size(); ++j)
        system_.a(i, static_cast<Eigen::Index>(j)) = row.first[j];
      system_.b(i) = row.second;
    }
    return std::move(system_);
  }

 private:
  HeadSystem system_;
  std::map<std::pair<std::vector<int>, int>, std::size_t> rows_;
};

// Groups inputs by a key and builds one system per group, in order of the keys.
template <class Key>
std::vector<HeadSystem> systems_by(
    const FiniteTask& task, const std::function<Key(const TaskInput&)>& key,
    const std::function<Rows(const Key&)>& start,
    const std::function<void(Rows&, const TaskInput&, std::size_t)>& ask) {
  std::map<Key, Rows> groups;
  std::size_t number = 0;
  for (const TaskInput& input : task.inputs) {
    const Key k = key(input);
    auto group = groups.find(k);
    if (group == groups.end()) group = groups.emplace(k, start(k)).first;
    ask(group->second, input, number++);
  }
  std::vector<HeadSystem> systems;
  systems.reserve(groups.size());
  for (auto& [k, rows] : groups) systems.push_back(rows.finish());
  return systems;
}

// What the answer's weight exceeds the rival's by, as coefficients of the weights.
std::vector<int> positional_row(const FiniteTask& task, const TaskInput& input, Token rival) {
  std::vector<int> row(input.tokens.size(), 0);
  for (std::size_t j = 0; j < row.size(); ++j) {
    const Token written = task.writes[at(input.tokens[j])];
    if (written == input.answer) row[j] = 1;
    if (written == rival) row[j] = -1;
  }
  return row;
}

// The rival in a row of a system: the token or answer of negative coefficient, or the first answer
// whose positions give the row.
std::string rival(const FiniteTask& task, const HeadSystem& system, Eigen::Index row,
                  const TaskInput& input) {
  if (system.kind != "positional") {
    const auto& names = system.kind == "symbolic attention" ? task.tokens : task.answers;
    for (Eigen::Index j = 0; j < system.a.cols(); ++j)
      if (system.a(row, j) < 0) return names[static_cast<std::size_t>(j)];
  }
  for (std::size_t other = 0; other < task.answers.size(); ++other) {
    if (other == at(input.answer)) continue;
    const auto coefficients = positional_row(task, input, static_cast<Token>(other));
    bool same = true;
    for (std::size_t j = 0; j < coefficients.size(); ++j)
      same = same && system.a(row, static_cast<Eigen::Index>(j)) == coefficients[j];
    if (same) return task.answers[other];
  }
  throw Error(ErrorCode::bad_value, system.head + ": a row without a rival");
}

// Positive terms first: "z(b) - z(a) >= 1".
std::string inequality(const HeadSystem& system, Eigen::Index row) {
  std::string text;
  for (const int side : {1, -1})
    for (Eigen::Index j = 0; j < system.a.cols(); ++j) {
      const Rational& c = system.a(row, j);
      if (c.sign() != side) continue;
      text += text.empty() ? (side < 0 ? "-" : "") : (side < 0 ? " - " : " + ");
      if (abs(c) != 1) text += Rational(abs(c)).str() + " ";
      text += system.variables[static_cast<std::size_t>(j)];
    }
  return (text.empty() ? "0" : text) + " >= " + system.b(row).str();
}

}  // namespace

FiniteTask index_task(std::size_t n, const constructions::IndexAlphabet& alphabet) {
  alphabet.check();
  require(n >= 1, "Index needs a length of 1 or more");
  FiniteTask task;
  task.name = "Index";
  task.kind = "index";
  task.letters = alphabet.letters;
  task.others = alphabet.size() - alphabet.letters;
  for (Token t = 0; t < alphabet.size(); ++t)
    task.tokens.push_back(alphabet.is_letter(t) ? letter(t, 'a')
                                                : std::to_string(alphabet.offset(t)));
  write_tokens(task);
  enumerate(
      n, alphabet.size(),
      [&](const Sequence& prefix) { return at(alphabet.offset(prefix.back())) < prefix.size(); },
      [&](const Sequence& tokens) {
        add(task, tokens, last_marked(constructions::index_correct_keys(alphabet, tokens, n - 1)),
            constructions::index_function(alphabet, tokens).back());
      });
  return task;
}

FiniteTask retrieval_task(std::size_t n, const constructions::RetrievalAlphabet& alphabet,
                          RetrievalInputs kind) {
  alphabet.check();
  require(n >= 1, "Retrieval needs a length of 1 or more");
  const bool clean = kind == RetrievalInputs::clean;
  FiniteTask task;
  task.name = clean ? "Retrieval on clean inputs" : "Retrieval on proper inputs";
  task.kind = clean ? "retrieval-clean" : "retrieval-proper";
  task.letters = alphabet.letters;
  task.others = alphabet.integers;
  for (Token t = 0; t < alphabet.size(); ++t)
    task.tokens.push_back(letter(alphabet.left(t), 'A') +
                          (alphabet.is_letter_letter(t)
                               ? letter(alphabet.right(t), 'A')
                               : std::to_string(alphabet.right(t) - alphabet.letters + 1)));
  write_tokens(task);
  enumerate(
      n, alphabet.size(),
      [&](const Sequence& prefix) {
        return clean ? constructions::is_clean(alphabet, prefix)
                     : constructions::is_proper(alphabet, prefix);
      },
      [&](const Sequence& tokens) {
        const std::size_t key =
            last_marked(constructions::retrieval_correct_keys(alphabet, tokens, n - 1));
        add(task, tokens, key, tokens[key]);
      });
  return task;
}

FiniteTask position_task(std::size_t n, Token letters) {
  require(n >= 2 && letters >= 1, "f_POS needs a length of 2 and a letter");
  FiniteTask task;
  task.name = "f_POS";
  task.kind = "position";
  task.letters = letters;
  task.others = static_cast<Token>(n) - 1;
  for (Token i = 0; i < letters; ++i) task.tokens.push_back(letter(i, 'a'));
  write_tokens(task);
  for (std::size_t j = 1; j < n; ++j) {
    task.tokens.push_back("?" + std::to_string(j));
    task.writes.push_back(-1);
  }
  enumerate(
      n, letters + static_cast<Token>(n) - 1,
      [&](const Sequence& prefix) { return (prefix.back() >= letters) == (prefix.size() == n); },
      [&](const Sequence& tokens) {
        const std::size_t key = at(tokens.back() - letters);
        add(task, tokens, key, tokens[key]);
      });
  return task;
}

FiniteTask symbol_task(std::size_t n, const constructions::BindingAlphabet& alphabet) {
  FiniteTask task = binding_task("f_SYM", n, alphabet, constructions::symbolic_function);
  task.kind = "symbol";
  return task;
}

FiniteTask mixed_task(std::size_t n, const constructions::BindingAlphabet& alphabet) {
  FiniteTask task = binding_task("f_MIX", n, alphabet, constructions::mixed_function);
  task.kind = "mixed";
  return task;
}

std::vector<HeadSystem> symbolic_attention_systems(const FiniteTask& task) {
  std::vector<std::string> unknowns;
  for (const auto& token : task.tokens) unknowns.push_back("s(" + token + ")");
  return systems_by<Token>(
      task, [](const TaskInput& input) { return input.tokens.back(); },
      [&](Token query) {
        return Rows("symbolic attention",
                    "symbolic head, hard attention, query " + task.tokens[at(query)], unknowns);
      },
      [&](Rows& rows, const TaskInput& input, std::size_t number) {
        const Token key = input.tokens[input.key];
        for (const Token other : input.tokens) {
          if (other == key) continue;
          std::vector<int> row(task.tokens.size(), 0);
          row[at(key)] = 1;
          row[at(other)] = -1;
          rows.add(row, 1, number);
        }
      });
}

std::vector<HeadSystem> symbolic_decoder_systems(const FiniteTask& task) {
  using Bag = Sequence;  // the query, then the other tokens in order
  std::vector<std::string> unknowns;
  for (const auto& answer : task.answers) unknowns.push_back("z(" + answer + ")");
  return systems_by<Bag>(
      task,
      [](const TaskInput& input) {
        Bag bag(input.tokens);
        std::rotate(bag.begin(), bag.end() - 1, bag.end());
        std::sort(bag.begin() + 1, bag.end());
        return bag;
      },
      [&](const Bag& bag) {
        std::string head = "symbolic head, any decoder, query " + task.tokens[at(bag[0])] + ", bag";
        for (std::size_t j = 1; j < bag.size(); ++j) head += " " + task.tokens[at(bag[j])];
        return Rows("symbolic decoder", head, unknowns);
      },
      [&](Rows& rows, const TaskInput& input, std::size_t number) {
        for (std::size_t other = 0; other < task.answers.size(); ++other) {
          if (other == at(input.answer)) continue;
          std::vector<int> row(task.answers.size(), 0);
          row[at(input.answer)] = 1;
          row[other] = -1;
          rows.add(row, 1, number);
        }
      });
}

std::vector<HeadSystem> positional_systems(const FiniteTask& task) {
  const std::size_t n = task.length();
  std::vector<std::string> unknowns;
  for (std::size_t j = 1; j <= n; ++j) unknowns.push_back("w(" + std::to_string(j) + ")");
  return systems_by<Token>(
      task, [](const TaskInput& input) { return input.tokens.back(); },
      [&](Token query) {
        Rows rows("positional", "positional head, own values, query " + task.tokens[at(query)],
                  unknowns);
        for (std::size_t j = 0; j < n; ++j) {
          std::vector<int> row(n, 0);
          row[j] = 1;
          rows.add(row, 0, std::nullopt);
        }
        return rows;
      },
      [&](Rows& rows, const TaskInput& input, std::size_t number) {
        for (std::size_t other = 0; other < task.answers.size(); ++other) {
          if (other == at(input.answer)) continue;
          rows.add(positional_row(task, input, static_cast<Token>(other)), 1, number);
        }
      });
}

HeadSearch find_head(const std::vector<HeadSystem>& systems) {
  HeadSearch search;
  search.systems = systems.size();
  for (const HeadSystem& system : systems) {
    search.inequalities += static_cast<std::size_t>(system.a.rows());
    const Feasibility answer = find_point(system.a, system.b);
    if (answer.feasible()) continue;
    search.possible = false;
    ++search.impossible;
    std::vector<Eigen::Index> support;
    for (Eigen::Index i = 0; i < answer.farkas->size(); ++i)
      if ((*answer.farkas)(i) != 0) support.push_back(i);
    if (search.contradiction &&
        search.contradiction->multipliers.size() <= static_cast<Eigen::Index>(support.size()))
      continue;
    Contradiction found;
    found.system.kind = system.kind;
    found.system.head = system.head;
    found.system.variables = system.variables;
    const auto m = static_cast<Eigen::Index>(support.size());
    found.system.a.resize(m, system.a.cols());
    found.system.b.resize(m);
    found.multipliers.resize(m);
    for (Eigen::Index i = 0; i < m; ++i) {
      const Eigen::Index row = support[static_cast<std::size_t>(i)];
      found.system.a.row(i) = system.a.row(row);
      found.system.b(i) = system.b(row);
      found.system.inputs.push_back(system.inputs[static_cast<std::size_t>(row)]);
      found.multipliers(i) = (*answer.farkas)(row);
    }
    if (!verify_farkas(found.system.a, found.system.b, found.multipliers))
      throw Error(ErrorCode::undecided, system.head + ": the contradiction does not verify");
    search.contradiction = std::move(found);
  }
  return search;
}

Rational best_margin(const HeadSystem& system) {
  const Eigen::Index m = system.a.rows();
  const Eigen::Index n = system.a.cols();
  RationalMatrix a = RationalMatrix::Constant(m + 2 * n, n + 1, Rational(0));
  RationalVector b = RationalVector::Constant(m + 2 * n, Rational(0));
  RationalVector c = RationalVector::Constant(n + 1, Rational(0));
  c(n) = 1;
  for (Eigen::Index i = 0; i < m; ++i) {
    for (Eigen::Index j = 0; j < n; ++j) a(i, j) = system.a(i, j);
    a(i, n) = -system.b(i);
  }
  for (Eigen::Index j = 0; j < n; ++j) {
    a(m + 2 * j, j) = 1;
    a(m + 2 * j + 1, j) = -1;
    b(m + 2 * j) = b(m + 2 * j + 1) = -1;
  }
  const LpResult result = maximise(c, a, b);
  if (result.status != LpStatus::optimal)
    throw Error(ErrorCode::bad_value, system.head + ": asks for no margin");
  return result.value;
}

namespace {
// The input to show for each row: the first, or for two rows the first pair of permuted inputs.
std::vector<std::optional<std::size_t>> shown(const FiniteTask& task, const HeadSystem& system) {
  std::vector<std::optional<std::size_t>> result;
  for (const auto& inputs : system.inputs)
    result.push_back(inputs.empty() ? std::nullopt : std::optional(inputs.front()));
  if (system.inputs.size() != 2) return result;
  const auto bag = [&](std::size_t input) {
    Sequence tokens = task.inputs[input].tokens;
    std::sort(tokens.begin(), tokens.end());
    return tokens;
  };
  std::map<Sequence, std::size_t> partners;
  for (const std::size_t input : system.inputs[1]) partners.emplace(bag(input), input);
  for (const std::size_t input : system.inputs[0])
    if (const auto partner = partners.find(bag(input)); partner != partners.end())
      return {input, partner->second};
  return result;
}
}  // namespace

Witness witness(const FiniteTask& task, const Contradiction& contradiction) {
  Witness w;
  w["task"] = task.name;
  w["head"] = contradiction.system.head;
  w["length"] = task.length();
  w["inputs"] = Witness::array();
  Rational sum(0);
  const auto inputs = shown(task, contradiction.system);
  for (Eigen::Index i = 0; i < contradiction.multipliers.size(); ++i) {
    Witness line;
    if (const auto number = inputs[static_cast<std::size_t>(i)]) {
      const TaskInput& input = task.inputs[*number];
      line["tokens"] = Witness::array();
      for (const Token token : input.tokens) line["tokens"].push_back(task.tokens[at(token)]);
      line["answer"] = task.answers[at(input.answer)];
    }
    line["asks"] = inequality(contradiction.system, i);
    line["multiplier"] = contradiction.multipliers(i).str();
    w["inputs"].push_back(std::move(line));
    sum += contradiction.multipliers(i) * contradiction.system.b(i);
  }
  w["sum"] = "0 >= " + sum.str();
  return w;
}

Fact contradiction_fact(const FiniteTask& task, const Contradiction& contradiction) {
  Fact fact{{"kind", "contradiction"},
            {"head", contradiction.system.kind},
            {"task",
             {{"name", task.kind},
              {"length", std::to_string(task.length())},
              {"letters", std::to_string(task.letters)},
              {"others", std::to_string(task.others)}}}};
  fact["rows"] = Fact::array();
  const auto inputs = shown(task, contradiction.system);
  for (Eigen::Index i = 0; i < contradiction.multipliers.size(); ++i) {
    const auto number = inputs[static_cast<std::size_t>(i)];
    if (!number) continue;  // w >= 0
    const TaskInput& input = task.inputs[*number];
    Fact tokens = Fact::array();
    for (const Token token : input.tokens) tokens.push_back(task.tokens[at(token)]);
    fact["rows"].push_back({{"input", std::move(tokens)},
                            {"rival", rival(task, contradiction.system, i, input)},
                            {"times", contradiction.multipliers(i).str()}});
  }
  return fact;
}

OutputSeparation separate_outputs(const FiniteTask& task,
                                  const std::vector<std::int64_t>& weights) {
  constexpr std::int64_t largest_sum = std::int64_t{1} << 31;
  require(weights.size() == task.length(), "one weight per position is needed");
  std::int64_t total = 0;
  for (const std::int64_t w : weights) {
    require(w >= 1 && w < largest_sum && total < largest_sum, "a weight is outside 1..2^31");
    total += w;
  }
  require(total < largest_sum, "the weights sum to 2^31 or more");

  OutputSeparation result;
  result.inputs = task.inputs.size();
  result.answer_gap = 1;
  using Output = std::vector<std::int64_t>;
  std::map<Output, std::size_t> first;
  for (std::size_t i = 0; i < task.inputs.size(); ++i) {
    Output output(task.tokens.size(), 0);
    for (std::size_t j = 0; j < weights.size(); ++j)
      output[at(task.inputs[i].tokens[j])] += weights[j];
    const auto [other, fresh] = first.emplace(std::move(output), i);
    if (fresh) continue;
    result.inputs_follow = false;
    if (task.inputs[other->second].answer == task.inputs[i].answer) continue;
    result.answers_follow = false;
    if (!result.collision) result.collision = {other->second, i};
  }
  std::int64_t closest = total;
  for (auto x = first.begin(); x != first.end(); ++x)
    for (auto y = std::next(x); y != first.end(); ++y) {
      if (task.inputs[x->second].answer == task.inputs[y->second].answer) continue;
      std::int64_t distance = 0;
      for (std::size_t t = 0; t < x->first.size() && distance < closest; ++t)
        distance = std::max(distance, std::abs(x->first[t] - y->first[t]));
      closest = std::min(closest, distance);
    }
  result.answer_gap = result.answers_follow ? Rational(closest, total) : Rational(0);
  return result;
}

}  // namespace ropewalk::proofs_numeric
