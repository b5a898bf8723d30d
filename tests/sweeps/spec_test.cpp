#include "sweeps/spec.hpp"

#include <set>

#include "tests/sweeps/support.hpp"

using namespace ropewalk;
using namespace ropewalk::sweeps;
using tests::complaint;
using tests::parse;

namespace {

const std::string ask = "[[quantity]]\nkind = \"index-margin\"\n";

std::vector<std::string> names(const Spec& spec) {
  std::vector<std::string> result;
  for (const NamedTable& table : spec.tables) result.push_back(table.name);
  return result;
}

}  // namespace

TEST_CASE("spec: lists mean every combination") {
  const Spec spec = parse(
      "title = \"T\"\nlengths = [16, 4, 4]\n"
      "[[schedule]]\nbase = [100, 1e4]\nplanes = [1, 2]\n"
      "[[quantity]]\nkind = \"index-margin\"\namplitudes = [\"best\", \"uniform\"]\n"
      "[[quantity]]\nkind = [\"base-sum\", \"aliasing-free\"]\nlengths = 7\n");
  CHECK(spec.title == "T");
  CHECK(names(spec) == std::vector<std::string>{"base 100, 1 planes", "base 100, 2 planes",
                                                "base 10000, 1 planes", "base 10000, 2 planes"});
  REQUIRE(spec.asks.size() == 4);
  CHECK(spec.asks[0].parameters == Parameters{{"amplitudes", "best"}, {"offset", "end"}});
  CHECK(spec.asks[1].parameters.at("amplitudes") == "uniform");
  CHECK(spec.asks[0].lengths == std::vector<Lag>{4, 16});
  CHECK(spec.asks[3].kind->name == "aliasing-free");
  CHECK(spec.asks[3].lengths == std::vector<Lag>{7});
}

TEST_CASE("spec: grids") {
  const Spec spec = parse(
      "lengths = { from = 1000, to = 1e9, factor = 10 }\n"
      "[[schedule]]\nbase = { from = 1e4, to = 1e8, count = 5 }\nplanes = 2\n"
      "[[schedule]]\nangle = { from = 0.1, to = 0.5, step = 0.1 }\n"
      "[[schedule]]\nbase = 100\nplanes = 4\nscheme = \"p-rope\"\np = { from = 0, to = 1, count = "
      "5, even = true }\n" +
      ask);
  const auto all = names(spec);
  REQUIRE(all.size() == 15);
  CHECK(all[0] == "base 10000, 2 planes");
  CHECK(all[2] == "base 1000000, 2 planes");
  CHECK(spec.tables[5].at(1).frequencies.at(0).text() == "1/10");
  CHECK(all[9] == "theta = 0.5");
  CHECK(spec.tables[12].coordinates.at("p") == "0.5");
  CHECK(spec.asks[0].lengths.size() == 7);
  CHECK(spec.asks[0].lengths.back() == 1000000000);
}

TEST_CASE("spec: every scheme gives the table of its builder") {
  const Spec spec = parse(
      "lengths = [8192, 65536]\n"
      "[[schedule]]\nbase = 5e5\ndim = 128\nscheme = \"yarn\"\nfactor = 8\noriginal_length = 8192\n"
      "[[schedule]]\nbase = 5e5\ndim = 128\nscheme = \"llama3\"\n"
      "[[schedule]]\nbase = 1e4\ndim = 64\nscheme = \"dynamic\"\nfactor = 2\noriginal_length = "
      "8192\n"
      "[[schedule]]\nbase = 1e4\ndim = 64\nresonance = true\n"
      "[[schedule]]\nbase = 1e4\ndim = 64\nscheme = \"ntk\"\nfactor = 4\n" +
      ask);
  const theory::Plain llama{500000, 128};
  theory::Yarn yarn;
  yarn.factor = 8;
  yarn.original_length = 8192;
  const auto id = [](const theory::Schedule& s) { return table_of(s).id; };
  CHECK(id(spec.tables[0].at(1)) == id(theory::yarn(llama, yarn)));
  CHECK(id(spec.tables[1].at(1)) == id(theory::llama3(llama, {})));
  CHECK(spec.tables[2].depends_on_length);
  CHECK(id(spec.tables[2].at(65536)) == id(theory::dynamic_ntk({10000, 64}, {2, 8192, 65536})));
  CHECK(id(spec.tables[2].at(65536)) != id(spec.tables[2].at(8192)));
  CHECK(id(spec.tables[3].at(1)) == id(theory::resonance(theory::default_schedule({10000, 64}))));
  CHECK(id(spec.tables[4].at(1)) == id(theory::ntk_aware({10000, 64}, 4)));
}

TEST_CASE("spec: random tables are those of their seed") {
  const std::string text =
      "lengths = 5\n[[schedule]]\nrandom = { planes = 3, seeds = [1, 2] }\n" + ask;
  const Spec once = parse(text);
  const Spec again = parse(text);
  REQUIRE(once.tables.size() == 2);
  CHECK(table_of(once.tables[0].at(1)).id == table_of(again.tables[0].at(1)).id);
  CHECK(table_of(once.tables[0].at(1)).id != table_of(once.tables[1].at(1)).id);
  // mt19937_64 with seed 1 begins with 2469588189546311528, the same by the standard everywhere.
  CHECK(once.tables[0].at(1).frequencies[0].text() ==
        (theory::Formula::pi() *
         theory::Formula(theory::Rational(theory::Integer((2469588189546311528ULL >> 32U) | 1U),
                                          theory::Integer(1) << 32)))
            .text());
}

TEST_CASE("spec: quantities may name the schedules they concern") {
  const Spec spec = parse(
      "lengths = 9\n[[schedule]]\nname = \"a\"\nangle = 1\n[[schedule]]\nname = \"b\"\nangle = [2, "
      "3]\n"
      "[[quantity]]\nkind = \"index-margin\"\nschedules = \"b\"\n");
  CHECK(names(spec) == std::vector<std::string>{"a", "b: theta = 2", "b: theta = 3"});
  CHECK_FALSE(spec.asks[0].concerns(spec.tables[0]));
  CHECK(spec.asks[0].concerns(spec.tables[2]));
}

TEST_CASE("spec: what is wrong is named by line and column") {
  const std::string head = "lengths = 9\n";
  const std::string table = "[[schedule]]\nangle = 1\n";
  const auto says = [](const std::string& text, const std::string& where, const std::string& what) {
    const std::string message = complaint(text);
    CAPTURE(text, message);
    CHECK(message.starts_with("s.toml:" + where + ": "));
    CHECK(message.find(what) != std::string::npos);
    CHECK(message.find('\n') == std::string::npos);
  };
  says("lengths = [", "1:12", "end-of-file");
  says(head + ask, "1:1", "no [[schedule]]");
  says(head + table, "1:1", "no [[quantity]]");
  says(head + table + "colour = 3\n" + ask, "4:10", "'colour' does not go with");
  says(head + "color = 1\n" + table + ask, "2:9", "unknown key 'color'");
  says(head + "[[schedule]]\nbase = 1e4\n" + ask, "2:1", "exactly one of planes and dim");
  says(head + "[[schedule]]\nbase = 1e4\nplanes = 2\ndim = 4\n" + ask, "2:1",
       "exactly one of planes and dim");
  says(head + "[[schedule]]\nbase = 1e4\nangle = 2\nplanes = 2\n" + ask, "2:1",
       "exactly one of base, angles");
  says(head + "[[schedule]]\nbase = -1\nplanes = 2\n" + ask, "2:1", "base");
  says(head + "[[schedule]]\nbase = 1e4\nplanes = 2\nscheme = \"yarn\"\nfactor = 2\n" + ask, "2:1",
       "needs 'original_length'");
  says(head + "[[schedule]]\nbase = 1e4\nplanes = 2\nfactor = 2\n" + ask, "2:1",
       "'factor' does not go with scheme 'default'");
  says(head + "[[schedule]]\nbase = 1e4\nplanes = 2\nscheme = \"fancy\"\n" + ask, "2:1",
       "no scheme is called 'fancy'");
  says(head + "[[schedule]]\nbase = nan\nplanes = 2\n" + ask, "3:8", "must be finite");
  says(head + "[[schedule]]\nangle = \"cos(1)\"\n" + ask, "3:9", "");
  says(head + "[[schedule]]\nangle = { from = 2, to = 1, count = 4 }\n" + ask, "3:9",
       "an empty grid");
  says(head + "[[schedule]]\nangle = { from = 1, to = 2 }\n" + ask, "3:9",
       "exactly one of count, factor and step");
  says(head + "[[schedule]]\nangle = []\n" + ask, "3:9", "empty list");
  says("lengths = []\n" + table + ask, "1:11", "empty list");
  says("lengths = 0\n" + table + ask, "1:11", "at least 1");
  says("lengths = 2.5\n" + table + ask, "1:11", "whole numbers");
  says("lengths = 1e19\n" + table + ask, "1:11", "capped");
  says(table + ask, "3:1", "no lengths");
  says(head + table + "[[quantity]]\nkind = \"beauty\"\n", "5:8", "no quantity is called 'beauty'");
  says(head + table + ask + "alphabet = 4\n", "5:8", "no parameter 'alphabet'");
  says(head + table + ask + "amplitudes = \"half\"\n", "6:14", "'half' is none of best, uniform");
  says(head + table + ask + "schedules = \"x\"\n", "6:13", "no [[schedule]] has the name 'x'");
  says("lengths = 1e12\n" + table + "[[quantity]]\nkind = \"index-horizon\"\n", "5:8",
       "lengths up to 16777216");
  // 10^6 angles, then 10^6 lengths of each
  says(
      "lengths = { from = 1, to = 1e6, step = 1 }\n[[schedule]]\nbase = 9\nplanes = { from = 1, to "
      "= 1000, step = 1 }\n" +
          ask,
      "6:8", "more than 10000000 cells");
  says(head +
           "[[schedule]]\nbase = { from = 2, to = 1e6, step = 1 }\nplanes = { from = 1, to = "
           "1000000, step = 1}\n" +
           ask,
       "4:10", "more than");
  std::string deep = "a";
  for (int i = 0; i < 40000; ++i) deep += ".a";
  says(head + deep + " = 1\n", "2:1", "nested too deeply");
  says(head + "[" + deep + "]\n", "2:1", "nested too deeply");
  says("lengths = [nan]\n" + table + ask, "1:12", "lengths must be finite");
  says(head + "[[schedule]]\nconfig = \"no.json\"\n" + ask, "3:10", "not here");
}
