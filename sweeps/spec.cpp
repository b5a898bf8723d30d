#include "sweeps/spec.hpp"

#include <toml++/toml.h>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>
#include <set>

#include <nlohmann/json.hpp>

#include "theory/config.hpp"

namespace ropewalk::sweeps {

using theory::Formula;
using theory::Integer;
using theory::Rational;

namespace {

constexpr std::size_t most_values = 1'000'000;  // of one key

// A table of the file whose keys are taken one by one; those left over are unknown.
class Section {
 public:
  Section(const toml::table& table, const std::string& path) : table_(table), path_(path) {}

  [[nodiscard]] const toml::node* take(const std::string& key) {
    taken_.insert(key);
    return table_.get(key);
  }
  [[nodiscard]] const toml::node& need(const std::string& key) {
    const toml::node* node = take(key);
    if (node == nullptr) fail(table_, ErrorCode::usage, "'" + key + "' is missing");
    return *node;
  }
  [[nodiscard]] bool has(const std::string& key) const { return table_.contains(key); }
  void finish() const {
    for (const auto& [key, node] : table_)
      if (!taken_.contains(std::string(key.str())))
        fail(node, ErrorCode::bad_value, "unknown key '" + std::string(key.str()) + "'");
  }
  /// Keys that are left, in the order of the file's alphabet.
  [[nodiscard]] std::vector<std::string> rest() const {
    std::vector<std::string> keys;
    for (const auto& [key, node] : table_)
      if (!taken_.contains(std::string(key.str()))) keys.emplace_back(key.str());
    return keys;
  }
  [[noreturn]] void fail(const toml::node& at, ErrorCode code, const std::string& message) const {
    const toml::source_position where = at.source().begin;
    throw Error(code, path_ + ":" + std::to_string(where.line) + ":" +
                          std::to_string(where.column) + ": " + message);
  }
  [[noreturn]] void fail(ErrorCode code, const std::string& message) const {
    fail(table_, code, message);
  }
  /// What f throws, with the place of this node.
  template <class F>
  decltype(auto) at(const toml::node& node, const std::string& key, F&& f) const {
    try {
      return f();
    } catch (const Error& e) {
      const std::string message = e.what();
      if (message.starts_with(path_ + ":")) throw;  // it has its place
      fail(node, e.code(), key.empty() ? message : key + ": " + message);
    }
  }
  [[nodiscard]] Section sub(const toml::node& node, const std::string& key) const {
    if (!node.is_table()) fail(node, ErrorCode::bad_value, key + " must be a table");
    return {*node.as_table(), path_};
  }
  [[nodiscard]] const std::string& path() const { return path_; }

  /// A scalar as text: numbers in their shortest form.
  [[nodiscard]] std::string text(const toml::node& node, const std::string& key) const {
    if (const auto* s = node.as_string()) return s->get();
    if (const auto* i = node.as_integer()) return std::to_string(i->get());
    if (const auto* f = node.as_floating_point()) {
      if (!std::isfinite(f->get())) fail(node, ErrorCode::bad_value, key + " must be finite");
      return plain(theory::shortest_decimal(f->get()));
    }
    if (const auto* b = node.as_boolean()) return b->get() ? "true" : "false";
    fail(node, ErrorCode::bad_value, key + " must be a number or text");
  }
  [[nodiscard]] Formula formula(const toml::node& node, const std::string& key) const {
    return at(node, key, [&] { return Formula::parse(text(node, key)); });
  }
  [[nodiscard]] Rational rational(const toml::node& node, const std::string& key) const {
    const auto value = formula(node, key).rational();
    if (!value) fail(node, ErrorCode::bad_value, key + " must be a rational number");
    return *value;
  }
  [[nodiscard]] Integer integer(const toml::node& node, const std::string& key) const {
    const Rational value = rational(node, key);
    if (denominator(value) != 1) fail(node, ErrorCode::bad_value, key + " must be a whole number");
    return Integer(numerator(value));
  }
  [[nodiscard]] unsigned small(const toml::node& node, const std::string& key, unsigned least,
                               unsigned most) const {
    const Integer value = integer(node, key);
    if (value < least || value > most)
      fail(node, ErrorCode::bad_value,
           key + " must lie in " + std::to_string(least) + ".." + std::to_string(most) + ", not " +
               value.str());
    return static_cast<unsigned>(value);
  }

 private:
  const toml::table& table_;
  const std::string& path_;
  std::set<std::string> taken_;
};

// {from, to, count} or {from, to, factor} or {from, to, step}: the values from `from` up to `to`.
// Geometric values are the shortest decimals of their doubles, the ends exact.
std::vector<Rational> grid(Section section, const toml::node& node, const std::string& key) {
  const Rational from = section.rational(section.need("from"), key + ".from");
  const Rational to = section.rational(section.need("to"), key + ".to");
  const auto* factor = section.take("factor");
  const auto* step = section.take("step");
  const auto* count = section.take("count");
  const auto* even = section.take("even");
  section.finish();
  if ((factor != nullptr) + (step != nullptr) + (count != nullptr) != 1)
    section.fail(node, ErrorCode::usage, key + " needs exactly one of count, factor and step");
  if (from > to)
    section.fail(node, ErrorCode::bad_value,
                 key + ": an empty grid, from " + from.str() + " to " + to.str());
  std::vector<Rational> values;
  const auto add = [&](const Rational& x) {
    if (values.size() == most_values)
      section.fail(node, ErrorCode::too_large,
                   key + ": more than " + std::to_string(most_values) + " values");
    values.push_back(x);
  };
  if (step != nullptr) {
    const Rational by = section.rational(*step, key + ".step");
    if (by <= 0) section.fail(*step, ErrorCode::bad_value, key + ".step must be above 0");
    if ((to - from) / by > most_values)
      section.fail(node, ErrorCode::too_large,
                   key + ": more than " + std::to_string(most_values) + " values");
    for (Rational x = from; x <= to; x += by) add(x);
    return values;
  }
  if (factor != nullptr) {
    const Rational by = section.rational(*factor, key + ".factor");
    if (by <= 1) section.fail(*factor, ErrorCode::bad_value, key + ".factor must be above 1");
    if (from <= 0) section.fail(node, ErrorCode::bad_value, key + ".from must be above 0");
    for (Rational x = from; x <= to; x *= by) {
      add(x);
      if (numerator(x) > theory::Integer(1) << 4096)
        section.fail(node, ErrorCode::too_large, key + ": numbers of too many digits");
    }
    return values;
  }
  const bool linear = even != nullptr && section.text(*even, key + ".even") == "true";
  const unsigned points = section.small(*count, key + ".count", 1, most_values);
  if (points == 1 && from != to)
    section.fail(*count, ErrorCode::bad_value, key + ".count must be at least 2");
  if (!linear && from <= 0)
    section.fail(node, ErrorCode::bad_value,
                 key + ".from must be above 0 (or even = true for equal steps)");
  for (unsigned i = 0; i < points; ++i) {
    if (i == 0 || i + 1 == points) {
      add(i == 0 ? from : to);
    } else if (linear) {
      add(from + (to - from) * i / (points - 1));
    } else {
      const double share = static_cast<double>(i) / (points - 1);
      const double x = std::exp((1 - share) * std::log(from.convert_to<double>()) +
                                share * std::log(to.convert_to<double>()));
      // Twelve digits: the same on every machine, whatever its library makes of the last bit.
      add(*Formula::parse(theory::decimal(theory::shortest_decimal(x), 12, theory::Round::nearest))
               .rational());
    }
  }
  return values;
}

// One value, a list of values, or a grid: texts.
std::vector<std::string> values(const Section& section, const toml::node& node,
                                const std::string& key) {
  std::vector<std::string> result;
  if (node.is_table()) {
    for (const Rational& x : grid(section.sub(node, key), node, key)) result.push_back(plain(x));
  } else if (const toml::array* list = node.as_array()) {
    if (list->empty()) section.fail(node, ErrorCode::bad_value, key + " is an empty list");
    for (const toml::node& item : *list) result.push_back(section.text(item, key));
  } else {
    result.push_back(section.text(node, key));
  }
  return result;
}

std::vector<Lag> read_lengths(const Section& section, const toml::node& node) {
  std::set<Lag> lengths;
  const auto add = [&](const Rational& x, bool round) {
    const Integer n = round ? Integer(numerator(Rational(x + Rational(1, 2))) /
                                      denominator(Rational(x + Rational(1, 2))))
                            : Integer(numerator(x));
    if (!round && denominator(x) != 1)
      section.fail(node, ErrorCode::bad_value, "lengths must be whole numbers, not " + x.str());
    if (n < 1)
      section.fail(node, ErrorCode::bad_value, "lengths must be at least 1, not " + x.str());
    if (n > boost::multiprecision::pow(Integer(10), 18))
      section.fail(node, ErrorCode::too_large, "lengths are capped at 10^18, not " + x.str());
    lengths.insert(n);
  };
  if (node.is_table()) {
    for (const Rational& x : grid(section.sub(node, "lengths"), node, "lengths")) add(x, true);
  } else if (const toml::array* list = node.as_array()) {
    for (const toml::node& item : *list) add(section.rational(item, "lengths"), false);
  } else {
    add(section.rational(node, "lengths"), false);
  }
  if (lengths.empty()) section.fail(node, ErrorCode::bad_value, "lengths is an empty list");
  return {lengths.begin(), lengths.end()};
}

// ------------------------------------------------------------------------------- schedules

// The values of one combination of the lists of a section.
class Choice {
 public:
  Choice(const Section& section, const std::map<std::string, const toml::node*>& nodes,
         Parameters values)
      : section_(section), nodes_(nodes), values_(std::move(values)) {}

  [[nodiscard]] bool has(const std::string& key) const { return values_.contains(key); }
  [[nodiscard]] Rational number(const std::string& key) const {
    const auto value = section_.at(*nodes_.at(key), key, [&] {
      const auto x = Formula::parse(values_.at(key)).rational();
      if (!x) throw Error(ErrorCode::bad_value, "'" + values_.at(key) + "' is no rational number");
      return *x;
    });
    return value;
  }
  [[nodiscard]] Integer whole(const std::string& key) const {
    const Rational x = number(key);
    if (denominator(x) != 1)
      section_.fail(*nodes_.at(key), ErrorCode::bad_value, key + " must be a whole number");
    return Integer(numerator(x));
  }
  [[nodiscard]] const std::string& text(const std::string& key) const { return values_.at(key); }
  [[nodiscard]] const Parameters& all() const { return values_; }

 private:
  const Section& section_;
  const std::map<std::string, const toml::node*>& nodes_;
  Parameters values_;
};

// Every combination of the lists, the last key turning fastest.
template <class F>
void combinations(const Section& section, const std::map<std::string, const toml::node*>& nodes,
                  const std::map<std::string, std::vector<std::string>>& lists, F&& f) {
  std::size_t total = 1;
  for (const auto& [key, list] : lists) {
    if (total > most_tables / list.size() + 1)
      section.fail(*nodes.at(key), ErrorCode::too_large,
                   "more than " + std::to_string(most_tables) + " combinations");
    total *= list.size();
  }
  for (std::size_t i = 0; i < total; ++i) {
    std::size_t stride = total;
    Parameters chosen;
    for (const auto& [key, list] : lists) {
      stride /= list.size();
      chosen[key] = list[i / stride % list.size()];
    }
    f(Choice(section, nodes, std::move(chosen)));
  }
}

const std::map<std::string, std::set<std::string>>& scheme_keys() {
  static const std::map<std::string, std::set<std::string>> keys{
      {"default", {}},
      {"linear", {"factor"}},
      {"ntk", {"factor"}},
      {"dynamic", {"factor", "original_length"}},
      {"yarn", {"factor", "original_length", "beta_fast", "beta_slow"}},
      {"yarn-paper", {"factor", "original_length", "beta_fast", "beta_slow"}},
      {"llama3", {"factor", "original_length", "low_freq_factor", "high_freq_factor"}},
      {"p-rope", {"p"}},
  };
  return keys;
}

NamedTable scheme_table(const Section& section, const toml::node& at, const Choice& c) {
  const std::string scheme = c.has("scheme") ? c.text("scheme") : "default";
  const auto known = scheme_keys().find(scheme);
  if (known == scheme_keys().end()) {
    std::string names;
    for (const auto& [name, keys] : scheme_keys()) names += (names.empty() ? "" : ", ") + name;
    section.fail(at, ErrorCode::bad_value,
                 "no scheme is called '" + scheme + "': there are " + names);
  }
  for (const auto& [key, value] : c.all())
    if (key != "base" && key != "planes" && key != "dim" && key != "scheme" && key != "resonance" &&
        !known->second.contains(key))
      section.fail(at, ErrorCode::usage, "'" + key + "' does not go with scheme '" + scheme + "'");
  for (const std::string_view key : {"factor", "original_length", "p"})
    if (known->second.contains(std::string(key)) && !c.has(std::string(key)) &&
        !(scheme == "llama3" && key != "p"))
      section.fail(at, ErrorCode::usage,
                   "scheme '" + scheme + "' needs '" + std::string(key) + "'");
  const Integer dim = c.has("dim") ? c.whole("dim") : Integer(2 * c.whole("planes"));
  if (dim < 2 || dim > 8192)
    section.fail(at, ErrorCode::bad_value,
                 "a table has 1..4096 planes, not " + Rational(dim, 2).str());
  if (c.has("original_length")) (void)c.whole("original_length");
  const theory::Plain plain{c.number("base"), static_cast<unsigned>(dim)};
  const bool resonant = c.has("resonance") && c.text("resonance") == "true";

  NamedTable table;
  table.coordinates = c.all();
  table.coordinates.erase("dim");
  table.coordinates["planes"] = Rational(dim, 2).str();
  table.name = "base " + c.text("base");
  table.name += ", " + table.coordinates["planes"] + " planes";
  if (scheme != "default") table.name += ", " + scheme;
  for (const std::string& key : known->second)
    if (c.has(key)) table.name += " " + key + " " + c.text(key);
  if (resonant) table.name += ", resonance";
  table.depends_on_length = scheme == "dynamic";
  // The section is gone when the table is asked for: only numbers are kept.
  std::map<std::string, Rational> given;
  for (const std::string& key : known->second)
    if (c.has(key)) given[key] = c.number(key);
  table.at = [=](const Integer& length) {
    const auto number = [&](const std::string& key, const Rational& standard) {
      const auto found = given.find(key);
      return found == given.end() ? standard : found->second;
    };
    const Rational factor = number("factor", 8);
    const Integer original(numerator(number("original_length", 8192)));
    theory::Schedule s;
    if (scheme == "linear") {
      s = theory::linear(plain, factor);
    } else if (scheme == "ntk") {
      s = theory::ntk_aware(plain, factor);
    } else if (scheme == "dynamic") {
      s = theory::dynamic_ntk(plain, {factor, original, length});
    } else if (scheme == "yarn" || scheme == "yarn-paper") {
      theory::Yarn options;
      options.factor = factor;
      options.original_length = original;
      options.beta_fast = number("beta_fast", 32);
      options.beta_slow = number("beta_slow", 1);
      s = scheme == "yarn" ? theory::yarn(plain, options) : theory::yarn_paper(plain, options);
    } else if (scheme == "llama3") {
      s = theory::llama3(
          plain, {factor, number("low_freq_factor", 1), number("high_freq_factor", 4), original});
    } else if (scheme == "p-rope") {
      s = theory::p_rope(plain, number("p", 1));
    } else {
      s = theory::default_schedule(plain);
    }
    return resonant ? theory::resonance(s) : s;
  };
  return table;
}

NamedTable fixed_table(std::string name, Parameters coordinates, std::vector<Formula> planes) {
  NamedTable table;
  table.name = std::move(name);
  table.coordinates = std::move(coordinates);
  table.at = [schedule = theory::custom(std::move(planes))](const Integer&) { return schedule; };
  return table;
}

// Angles uniform in (0, pi): multiples of pi / 2^32, which every machine draws alike.
NamedTable random_table(unsigned planes, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<Formula> angles;
  for (unsigned f = 0; f < planes; ++f)
    angles.push_back(Formula::pi() *
                     Formula(Rational(Integer((generator() >> 32U) | 1U), Integer(1) << 32)));
  return fixed_table("random, " + std::to_string(planes) + " planes, seed " + std::to_string(seed),
                     {{"planes", std::to_string(planes)}, {"seed", std::to_string(seed)}},
                     std::move(angles));
}

NamedTable config_table(const std::string& path, const std::string& file,
                        const nlohmann::json& json, std::optional<unsigned> layer) {
  NamedTable table;
  table.name = file;
  if (table.name.ends_with(".json")) table.name.resize(table.name.size() - 5);
  if (table.name == "config" && std::filesystem::path(path).has_parent_path())
    table.name = std::filesystem::path(path).parent_path().filename().string();
  if (layer) table.name += ", layer " + std::to_string(*layer);
  table.coordinates = {{"config", table.name}};
  table.at = [=](const Integer& length) { return theory::resolve(json, {length, layer}).schedule; };
  // Whether it depends on the length: ask at a short and at a very long one.
  const auto ends = {Integer(1), boost::multiprecision::pow(Integer(10), 12)};
  std::set<std::string> ids;
  for (const Integer& n : ends) ids.insert(table_of(table.at(n)).id);
  table.depends_on_length = ids.size() > 1;
  return table;
}

using ReadConfig = std::function<nlohmann::json(const std::string&)>;

void read_schedule(Section& section, const toml::node& at, const ReadConfig& read_config,
                   std::vector<NamedTable>& tables) {
  const auto only = [&](std::initializer_list<std::string_view> with) {
    for (const std::string& key : section.rest())
      if (std::find(with.begin(), with.end(), key) == with.end())
        section.fail(*section.take(key), ErrorCode::usage,
                     "'" + key + "' does not go with this schedule");
  };
  const int forms = section.has("base") + section.has("angles") + section.has("angle") +
                    section.has("config") + section.has("random");
  if (forms != 1)
    section.fail(at, ErrorCode::usage,
                 "a schedule is named by exactly one of base, angles, angle, config and random");
  std::string name;
  if (const toml::node* node = section.take("name")) name = section.text(*node, "name");
  const std::size_t first = tables.size();

  if (section.has("base")) {
    std::map<std::string, const toml::node*> nodes;
    std::map<std::string, std::vector<std::string>> lists;
    for (const std::string& key : section.rest()) {
      nodes[key] = section.take(key);
      lists[key] = values(section, *nodes[key], key);
    }
    static const std::set<std::string> keys{
        "base", "planes",    "dim",       "scheme",          "resonance",       "factor",
        "p",    "beta_fast", "beta_slow", "original_length", "low_freq_factor", "high_freq_factor"};
    for (const auto& [key, node] : nodes)
      if (!keys.contains(key))
        section.fail(*node, ErrorCode::bad_value, "unknown key '" + key + "'");
    if (section.has("planes") == section.has("dim"))
      section.fail(at, ErrorCode::usage, "base goes with exactly one of planes and dim");
    combinations(section, nodes, lists, [&](const Choice& choice) {
      tables.push_back(scheme_table(section, at, choice));
      // What the builder refuses is said here, with the line, and not in the middle of the sweep.
      section.at(at, "", [&] { return tables.back().at(1); });
    });
  } else if (section.has("angles")) {
    const toml::node& node = section.need("angles");
    only({});
    const toml::array* list = node.as_array();
    if (list == nullptr || list->empty())
      section.fail(node, ErrorCode::bad_value, "angles must be a list of one angle per plane");
    std::vector<Formula> planes;
    std::string text;
    for (const toml::node& item : *list) {
      planes.push_back(section.formula(item, "angles"));
      text += (text.empty() ? "" : ", ") + shown(planes.back());
    }
    if (planes.size() > 4096)
      section.fail(node, ErrorCode::too_large,
                   "a table has 1..4096 planes, not " + std::to_string(planes.size()));
    if (text.size() > 60) text = std::to_string(planes.size()) + " angles";
    tables.push_back(fixed_table(text, {{"planes", std::to_string(planes.size())}}, planes));
  } else if (section.has("angle")) {
    const toml::node& node = section.need("angle");
    only({});
    for (const std::string& text : values(section, node, "angle")) {
      const Formula theta = section.at(node, "angle", [&] { return Formula::parse(text); });
      tables.push_back(fixed_table("theta = " + shown(theta),
                                   {{"angle", shown(theta)}, {"planes", "1"}}, {theta}));
    }
  } else if (section.has("random")) {
    Section random = section.sub(section.need("random"), "random");
    const unsigned planes = random.small(random.need("planes"), "random.planes", 1, 4096);
    const toml::node& seeds = random.need("seeds");
    random.finish();
    only({});
    for (const std::string& text : values(section, seeds, "random.seeds")) {
      const auto seed =
          section.at(seeds, "random.seeds", [&] { return Formula::parse(text).rational(); });
      if (!seed || denominator(*seed) != 1 || *seed < 0 || *seed > Integer(~std::uint64_t{0}))
        section.fail(seeds, ErrorCode::bad_value, "random.seeds must be whole numbers below 2^64");
      tables.push_back(random_table(planes, static_cast<std::uint64_t>(Integer(numerator(*seed)))));
    }
  } else {
    const toml::node& node = section.need("config");
    std::optional<unsigned> layer;
    if (const toml::node* n = section.take("layer")) layer = section.small(*n, "layer", 0, 100000);
    only({});
    const auto folder = std::filesystem::path(section.path()).parent_path();
    for (const std::string& text : values(section, node, "config")) {
      std::vector<std::filesystem::path> files;
      const std::filesystem::path path = folder / text;
      if (std::filesystem::is_directory(path)) {
        for (const auto& entry : std::filesystem::directory_iterator(path))
          if (entry.path().extension() == ".json") files.push_back(entry.path());
        std::sort(files.begin(), files.end());
        if (files.empty())
          section.fail(node, ErrorCode::bad_value, text + ": no .json file in this folder");
      } else {
        files.push_back(path);
      }
      for (const auto& file : files)
        tables.push_back(section.at(node, "", [&] {
          return config_table(file.string(), file.filename().string(), read_config(file.string()),
                              layer);
        }));
    }
  }
  section.finish();
  if (name.empty()) return;
  for (std::size_t i = first; i < tables.size(); ++i) {
    tables[i].section = name;
    tables[i].name = tables.size() == first + 1 ? name : name + ": " + tables[i].name;
  }
}

void read_quantity(Section& section, const std::optional<std::vector<Lag>>& common,
                   const std::vector<NamedTable>& tables, std::vector<Ask>& asks,
                   std::size_t& cells) {
  const toml::node& kind_node = section.need("kind");
  std::vector<std::string> sections;
  if (const toml::node* node = section.take("schedules")) {
    sections = values(section, *node, "schedules");
    for (const std::string& name : sections)
      if (std::none_of(tables.begin(), tables.end(),
                       [&](const NamedTable& table) { return table.section == name; }))
        section.fail(*node, ErrorCode::bad_value, "no [[schedule]] has the name '" + name + "'");
  }
  const toml::node* own = section.take("lengths");
  std::map<std::string, const toml::node*> nodes;
  std::map<std::string, std::vector<std::string>> lists;
  for (const std::string& key : section.rest()) {
    nodes[key] = section.take(key);
    lists[key] = values(section, *nodes[key], key);
  }
  if (own == nullptr && !common)
    section.fail(ErrorCode::usage, "no lengths: name them here or at the top of the file");
  const std::vector<Lag> lengths = own != nullptr ? read_lengths(section, *own) : *common;
  for (const std::string& name : values(section, kind_node, "kind")) {
    const Kind& kind =
        section.at(kind_node, "kind", [&]() -> const Kind& { return kind_of(name); });
    if (lengths.back() > kind.longest)
      section.fail(own != nullptr ? *own : kind_node, ErrorCode::too_large,
                   name + " is answered for lengths up to " + kind.longest.str() + ", not " +
                       lengths.back().str());
    combinations(section, nodes, lists, [&](const Choice& choice) {
      const Parameters parameters = [&] {
        try {
          return complete(kind, choice.all());
        } catch (const Error& e) {  // "alphabet: must lie in ...": at that key, if it is there
          const std::string message = e.what();
          const auto at = nodes.find(message.substr(0, message.find(':')));
          section.fail(at != nodes.end() ? *at->second : kind_node, e.code(), message);
        }
      }();
      cells += lengths.size();
      if (cells > most_cells / tables.size())
        section.fail(kind_node, ErrorCode::too_large,
                     "more than " + std::to_string(most_cells) +
                         " cells: " + std::to_string(cells) + " questions, of each of " +
                         std::to_string(tables.size()) + " tables");
      asks.push_back({&kind, parameters, lengths, sections});
    });
  }
}

const toml::array& list_of(const Section& top, const toml::node* node, const std::string& key) {
  if (node == nullptr) top.fail(ErrorCode::usage, "no [[" + key + "]]: a sweep needs at least one");
  const toml::array* list = node->as_array();
  if (list == nullptr || list->empty() || !list->is_array_of_tables())
    top.fail(*node, ErrorCode::bad_value, key + " is written as [[" + key + "]]");
  return *list;
}

}  // namespace

bool Ask::concerns(const NamedTable& table) const {
  return sections.empty() ||
         std::find(sections.begin(), sections.end(), table.section) != sections.end();
}

namespace {

// toml++ descends once per part of a dotted key, without a limit of its own.
void check_depth(const std::string& text, const std::string& path) {
  constexpr int deepest = 64;
  int dots = 0;
  std::size_t line = 1;
  char quote = 0;
  for (const char c : text) {
    if (c == '\n') {
      ++line;
      quote = 0;
    }
    if (c == '"' || c == '\'') quote = quote == 0 ? c : quote == c ? '\0' : quote;
    if (quote != 0) continue;
    if (std::string_view(",=[]{}#\n").find(c) != std::string_view::npos) dots = 0;
    if (c == '.' && ++dots > deepest)
      throw Error(ErrorCode::parse, path + ":" + std::to_string(line) + ":1: nested too deeply");
  }
}

}  // namespace

Spec parse_spec(const std::string& text, const std::string& path, const ReadConfig& read_config) {
  check_depth(text, path);
  toml::table document;
  try {
    document = toml::parse(text, path);
  } catch (const toml::parse_error& e) {
    const toml::source_position where = e.source().begin;
    throw Error(ErrorCode::parse, path + ":" + std::to_string(where.line) + ":" +
                                      std::to_string(where.column) + ": " +
                                      std::string(e.description()));
  }
  Section top(document, path);
  Spec spec;
  spec.name = std::filesystem::path(path).filename().string();
  spec.text = text;
  const toml::node* title = top.take("title");
  spec.title = title != nullptr ? top.text(*title, "title") : spec.name;
  std::optional<std::vector<Lag>> lengths;
  if (const toml::node* node = top.take("lengths")) lengths = read_lengths(top, *node);
  const toml::node* schedules = top.take("schedule");
  const toml::node* quantities = top.take("quantity");
  top.finish();
  for (const toml::node& node : list_of(top, schedules, "schedule")) {
    Section section(*node.as_table(), path);
    read_schedule(section, node, read_config, spec.tables);
    if (spec.tables.size() > most_tables)
      top.fail(node, ErrorCode::too_large, "more than " + std::to_string(most_tables) + " tables");
  }
  std::size_t cells = 0;
  for (const toml::node& node : list_of(top, quantities, "quantity")) {
    Section section(*node.as_table(), path);
    read_quantity(section, lengths, spec.tables, spec.asks, cells);
  }
  return spec;
}

}  // namespace ropewalk::sweeps
