#include <cstdlib>
#include <set>
#include <sstream>

#include "sweeps/plot.hpp"
#include "sweeps/report.hpp"
#include "tests/sweeps/support.hpp"

using namespace ropewalk;
using namespace ropewalk::sweeps;
using tests::Folder;

namespace {

bool one_by_one(std::size_t, const Parameters&) { return false; }

void fill(Store& store, const std::string& text) {
  const Spec spec = tests::parse(text);
  const Plan plan = plan_of(spec);
  store.ask(spec, plan, "ropewalk sweep s.toml");
  REQUIRE(run_jobs(spec, plan, jobs_of(spec, plan, store.missing(plan)), store));
}

const char* const text =
    "title = \"A <b>title</b> & 'more'\"\nlengths = [2, 4, 8, 16]\n"
    "[[schedule]]\nangle = [0.3, 0.8, 1]\n"
    "[[schedule]]\nbase = [10, 100]\nplanes = 3\n"
    "[[quantity]]\nkind = [\"index-margin\", \"base-sum\"]\n"
    "[[quantity]]\nkind = \"rounding-error\"\n"
    "[[quantity]]\nkind = \"index-horizon\"\nscale = 5\n";

bool has(const std::string& all, const std::string& part) {
  return all.find(part) != std::string::npos;
}

std::size_t count(const std::string& all, const std::string& part) {
  std::size_t n = 0;
  for (auto at = all.find(part); at != std::string::npos; at = all.find(part, at + 1)) ++n;
  return n;
}

// Whether gnuplot takes the program; true where there is none to ask.
bool drawn(const Store& store, const std::string& kind) {
  return std::system("command -v gnuplot > /dev/null") != 0 || has(draw(store, kind, {}), "<svg");
}

// The lines of a data block of a gnuplot program.
std::vector<std::string> block(const std::string& program, const std::string& name) {
  std::vector<std::string> lines;
  const std::string start = "$" + name + " << EOD\n";
  const auto at = program.find(start);
  if (at == std::string::npos) return lines;
  std::istringstream in(program.substr(at + start.size()));
  for (std::string line; std::getline(in, line) && line != "EOD";) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("pictures: the program holds the data of its kind") {
  const Folder folder("picture");
  Store store(folder / "a.sqlite", Store::Access::create);
  fill(store, text);
  const std::string lines = picture_program(store, "lengths", {});
  CHECK(has(lines, "title 'theta = 0.8'"));
  CHECK(has(lines, "title 'base 100, 3 planes'"));
  CHECK(has(lines, "title 'A <b>title</b> & ''more'''"));
  CHECK(has(picture_program(store, "steps", {}), "with steps"));
  const std::string heat = picture_program(store, "heat", {});
  CHECK(has(heat, "\n16 0.8 "));
  CHECK_FALSE(has(heat, "base"));
  CHECK_THROWS_AS(picture_program(store, "cubist", {}), Error);
  PictureOptions other;
  other.sweep = "other.toml";
  CHECK_THROWS_AS(picture_program(store, "lengths", other), Error);
  CHECK_FALSE(can_draw(store, "lengths", other));
  CHECK_FALSE(can_draw(store, "front", {}));
}

TEST_CASE("pictures: a panel per question where there are several tables, a line per table in it") {
  const Folder folder("panels");
  Store store(folder / "a.sqlite", Store::Access::create);
  fill(store,
       "lengths = [4, 8]\n[[schedule]]\nbase = [10, 100]\nplanes = 3\n"
       "[[quantity]]\nkind = \"index-margin\"\namplitudes = [\"uniform\", \"best\"]\n");
  const std::string program = picture_program(store, "lengths", {});
  CHECK(has(program, "set title 'index-margin: amplitudes uniform, offset end'"));
  CHECK(has(program, "set title 'index-margin: amplitudes best, offset end'"));
  // Named by what differs, and once: both panels have the same lines.
  CHECK(count(program, "title 'base 10'") == 1);
  CHECK(count(program, "title 'base 100'") == 1);
  CHECK_FALSE(has(program, "3 planes"));
}

TEST_CASE("pictures: marks are the lengths at which a margin is above the published bound") {
  const Folder folder("above");
  Store store(folder / "a.sqlite", Store::Access::create);
  const std::string spec =
      "lengths = { from = 2, to = 20, step = 1 }\n[[schedule]]\nangle = 0.8\n"
      "[[quantity]]\nkind = \"published-bound\"\nof = \"index\"\n";
  fill(store, spec + "[[quantity]]\nkind = \"index-margin\"\noffset = \"middle\"\n");
  std::set<std::string> marked;
  for (const auto& line : block(picture_program(store, "lengths", {}), "above0"))
    if (!line.empty()) marked.insert(line.substr(0, line.find(' ')));
  // Against 2 pi^2/n^2: the gap is 1 - cos(2 pi - 6.4) up to n = 15 and smaller after it.
  CHECK(drawn(store, "lengths"));
  CHECK(marked == std::set<std::string>{"9", "10", "11", "12", "13", "14", "15"});

  // A bound on the least gap over offsets says nothing of the easiest offset.
  Store least(folder / "b.sqlite", Store::Access::create);
  fill(least,
       spec + "reading = \"min\"\n[[quantity]]\nkind = \"index-margin\"\noffset = \"middle\"\n");
  CHECK_FALSE(has(picture_program(least, "lengths", {}), "$above"));

  // Several tables: marks stand in the panel of the margin that is above, and in no other.
  Store several(folder / "c.sqlite", Store::Access::create);
  fill(several,
       "lengths = { from = 2, to = 20, step = 1 }\n[[schedule]]\nangle = [0.8, 0.7]\n"
       "[[quantity]]\nkind = \"published-bound\"\nof = [\"index\", \"retrieval\"]\n"
       "[[quantity]]\nkind = \"index-margin\"\noffset = [\"middle\", \"end\"]\n");
  const std::string panels = picture_program(several, "lengths", {});
  CHECK(count(panels, "set title 'index-margin") == 2);
  CHECK(count(panels, "\n9 0.24369394 0.30329329\n") == 1);
  CHECK(count(panels, "$above") == 3);  // one block, drawn as area and as points
}

TEST_CASE("pictures: values that no axis holds are left out, and so is an empty panel") {
  const Folder folder("negative");
  Store store(folder / "a.sqlite", Store::Access::create);
  // Far beyond its horizon the margin of the Retrieval head is negative.
  fill(store,
       "lengths = [200, 300]\n[[schedule]]\nangle = 0.1\n"
       "[[quantity]]\nkind = \"retrieval-margin\"\n");
  CHECK_FALSE(can_draw(store, "lengths", {}));
  fill(store,
       "lengths = [200, 300]\n[[schedule]]\nangle = 0.1\n"
       "[[quantity]]\nkind = [\"retrieval-margin\", \"index-margin\"]\n");
  CHECK(has(picture_program(store, "lengths", {}), "$line0_0"));
  CHECK_FALSE(has(picture_program(store, "lengths", {}), "$line1_0"));
}

TEST_CASE("pictures: rounding errors, a line per pipeline") {
  const Folder folder("precision");
  Store store(folder / "a.sqlite", Store::Access::create);
  fill(store,
       "lengths = [64, 1024]\n[[schedule]]\nbase = 100\nplanes = 4\n"
       "[[quantity]]\nkind = \"rounding-error\"\npipeline = [\"fp32\", \"bf16-cache\"]\n"
       "[[quantity]]\nkind = \"index-margin\"\n");
  const std::string program = picture_program(store, "precision", {});
  CHECK(has(program, "title 'fp32'"));
  CHECK(has(program, "title 'bf16-cache'"));
  CHECK(has(program, "set logscale y"));
  CHECK_FALSE(has(program, "index-margin"));
  // bf16 has 8 bits: half a unit of the last place below 1 is 2^-9.
  const auto lines = block(program, "line0_1");
  REQUIRE(lines.size() == 2);
  CHECK(lines[1].starts_with("1024 0.0019"));
}

TEST_CASE("pictures: the front joins the margins of the heads found, by weight") {
  const Folder folder("front");
  Store store(folder / "a.sqlite", Store::Access::create);
  static const Kind kind{"trade-off",
                         "",
                         {},
                         Lag(1000),
                         one_by_one,
                         [](std::size_t, double) { return 1.0; },
                         [](const Question& q) {
                           const theory::Rational w = tests::number(q.parameters.at("weight"));
                           Answers answers;
                           for (const Lag& n : q.lengths) {
                             Answer answer;
                             answer.value = Enclosure(w);
                             answer.detail["index"] = plain(w / n);
                             answer.detail["retrieval"] = plain(1 - w);
                             answers.at.push_back(answer);
                           }
                           return answers;
                         }};
  Spec spec = tests::parse(
      "lengths = [10, 20]\n[[schedule]]\nbase = [10, 100]\nplanes = 3\n"
      "[[quantity]]\nkind = \"index-margin\"\namplitudes = [\"best\", \"uniform\"]\n");
  REQUIRE(spec.asks.size() == 2);
  spec.asks[0].kind = spec.asks[1].kind = &kind;
  spec.asks[0].parameters = {{"alphabet", "8"}, {"weight", "3/4"}};
  spec.asks[1].parameters = {{"alphabet", "8"}, {"weight", "0.5"}};
  const Plan plan = plan_of(spec);
  store.ask(spec, plan, "");
  REQUIRE(run_jobs(spec, plan, jobs_of(spec, plan, store.missing(plan)), store));
  const std::string program = picture_program(store, "front", {});
  CHECK(has(program, "set title 'length 10, alphabet 8'"));
  CHECK(has(program, "set title 'length 20, alphabet 8'"));
  CHECK(block(program, "line0_0") == std::vector<std::string>{"0.05 0.5", "0.075 0.25"});
  CHECK(block(program, "line1_1") == std::vector<std::string>{"0.025 0.5", "0.0375 0.25"});
  CHECK_FALSE(can_draw(store, "lengths", {}));
  CHECK(drawn(store, "front"));
}

TEST_CASE(
    "pictures: a line is broken where its value has no point, and a wide enclosure is a bar") {
  const Folder folder("wide");
  Store store(folder / "a.sqlite", Store::Access::create);
  static const auto undecided = [](const Question& q) {
    Answers answers;
    for (const Lag& n : q.lengths) {
      Answer answer;
      answer.value =
          n == 8 ? Enclosure(0, theory::Rational(1, 4)) : Enclosure(theory::Rational(1) / n);
      answer.decided = n != 8;
      if (n == 32) answer.value = Enclosure(-1);
      answers.at.push_back(answer);
    }
    return answers;
  };
  static const Kind margin{"some-margin", "",         {},
                           Lag(1000),     one_by_one, [](std::size_t, double) { return 1.0; },
                           undecided};
  static const Kind horizon{"some-horizon", "",         {},
                            Lag(1000),      one_by_one, [](std::size_t, double) { return 1.0; },
                            undecided};
  for (const Kind* kind : {&margin, &horizon}) {
    Spec spec = tests::parse(
        "lengths = [2, 4, 8, 16, 32, 64]\n[[schedule]]\nangle = 1\n[[schedule]]\nbase = 2\nplanes "
        "= 1\n"
        "[[quantity]]\nkind = \"base-sum\"\n");
    spec.asks[0].kind = kind;
    if (kind == &horizon) spec.asks[0].lengths = {4, 8};
    const Plan plan = plan_of(spec);
    store.ask(spec, plan, "");
    REQUIRE(run_jobs(spec, plan, jobs_of(spec, plan, store.missing(plan)), store));
    if (kind == &margin) {
      const std::string program = picture_program(store, "lengths", {});
      CHECK(block(program, "line0_0") ==
            std::vector<std::string>{"2 0.5", "4 0.25", "", "16 0.0625", "", "64 0.015625"});
      CHECK(drawn(store, "lengths"));
      CHECK(block(program, "open0_0") == std::vector<std::string>{"8 0.25 0.01 0.25"});
    } else {
      CHECK(has(picture_program(store, "horizons", {}), "\"0 to 0.25\""));
      CHECK(drawn(store, "horizons"));
    }
  }
}

TEST_CASE("pictures: bars join neighbouring bases that both serve") {
  const Folder folder("bases");
  Store store(folder / "a.sqlite", Store::Access::create);
  fill(store,
       "lengths = [16, 64]\n[[schedule]]\nbase = { from = 2, to = 2000, count = 12 }\nplanes = 3\n"
       "[[quantity]]\nkind = \"base-sum\"\n");
  const std::string program = picture_program(store, "bases", {});
  std::vector<Row> rows;
  store.rows("", [&](const Row& row) { rows.push_back(row); });
  const auto serves = [](const Row& row) { return tests::number(row.lo) >= 0; };
  const auto base = [](const Row& row) {
    return theory::Formula::parse(pairs(row.coordinates).at("base")).as<double>();
  };
  std::size_t yes = 0;
  std::vector<std::pair<double, double>> bars;
  for (const char* length : {"16", "64"}) {
    std::vector<Row> row_of;
    for (const Row& row : rows)
      if (row.length == length) row_of.push_back(row);
    REQUIRE(row_of.size() == 12);
    for (std::size_t i = 0; i < row_of.size(); ++i) {
      if (!serves(row_of[i])) continue;
      ++yes;
      if (i > 0 && serves(row_of[i - 1])) {
        if (i > 1 && serves(row_of[i - 2]))
          bars.back().second = base(row_of[i]);
        else
          bars.emplace_back(base(row_of[i - 1]), base(row_of[i]));
      }
    }
  }
  CHECK(block(program, "yes").size() == yes);
  CHECK(block(program, "no").size() == 24 - yes);
  const auto drawn = block(program, "bars");
  REQUIRE(drawn.size() == bars.size());
  REQUIRE(!bars.empty());
  for (std::size_t i = 0; i < bars.size(); ++i) {
    std::istringstream line(drawn[i]);
    double x = 0;
    double y = 0;
    double from = 0;
    double to = 0;
    line >> x >> y >> from >> to;
    CHECK(from == Catch::Approx(bars[i].first));
    CHECK(to == Catch::Approx(bars[i].second));
  }
  CHECK(has(program, "between two marks nothing is"));
}

TEST_CASE("pictures: horizons of tables that differ in a number, and of tables that do not") {
  const Folder folder("horizons");
  Store store(folder / "a.sqlite", Store::Access::create);
  const std::string horizon = "[[quantity]]\nkind = \"index-horizon\"\nscale = 5\n";
  fill(store, "lengths = [8, 40]\n[[schedule]]\nbase = [10, 100]\nplanes = 3\n" + horizon);
  const std::string against_base = picture_program(store, "horizons", {});
  CHECK(has(against_base, "set xlabel 'base'"));
  // The longest input only.
  CHECK(has(against_base, "up to 40"));
  CHECK_FALSE(has(against_base, "up to 8"));
  fill(store,
       "lengths = [8, 40]\n[[schedule]]\nbase = 10\nplanes = 3\n[[schedule]]\nangle = 0.5\n" +
           horizon);
  const std::string rows = picture_program(store, "horizons", {});
  CHECK(has(rows, "'theta = 0.5' 1"));
  CHECK(block(rows, "question0").size() == 2);
}

TEST_CASE("pictures: gnuplot draws every kind in every format") {
  if (std::system("command -v gnuplot > /dev/null") != 0)
    return tests::skipped("no gnuplot on this machine");
  const Folder folder("draw");
  Store store(folder / "a.sqlite", Store::Access::create);
  fill(store, text);
  for (const PictureKind& kind : picture_kinds()) {
    if (!can_draw(store, kind.name, {})) continue;
    CAPTURE(kind.name);
    PictureOptions options;
    CHECK(has(draw(store, kind.name, options), "<svg"));
    options.format = ImageFormat::png;
    CHECK(draw(store, kind.name, options).starts_with("\x89PNG"));
    options.format = ImageFormat::pdf;
    CHECK(draw(store, kind.name, options).starts_with("%PDF"));
  }
}

TEST_CASE("report: every row stands in it, linked, and it asks nothing of the network") {
  const Folder folder("report");
  Store store(folder / "a.sqlite", Store::Access::create);
  fill(store, text);
  const std::string page = report(store, {"", false, "1.2.3"});
  CHECK(has(page, "A &lt;b&gt;title&lt;/b&gt; &amp; &#39;more&#39;"));
  CHECK_FALSE(has(page, "<b>title"));
  CHECK_FALSE(has(page, "http"));
  CHECK(has(page, "ropewalk sweep s.toml"));
  CHECK(has(page, "1.2.3"));
  std::size_t links = 0;
  for (auto at = page.find("href=\"a.sqlite"); at != std::string::npos;
       at = page.find("href=\"a.sqlite", at + 1)) {
    const auto end = page.find('"', at + 6);
    CHECK(std::filesystem::exists(folder.path / page.substr(at + 6, end - at - 6)));
    ++links;
  }
  std::size_t certified = 0;
  store.rows("", [&](const Row& row) { certified += row.status == "certified" ? 1 : 0; });
  CHECK(links >= certified);
  CHECK(certified > 30);
}

TEST_CASE("report: says at the top what holds at the longest length, or where it held last") {
  const Folder folder("summary");
  Store store(folder / "a.sqlite", Store::Access::create);
  fill(store,
       "title = \"One\"\nlengths = [16, 146, 147]\n[[schedule]]\nangle = 0.0027\n"
       "[[quantity]]\nkind = [\"retrieval-margin\", \"index-margin\"]\n");
  const std::string page = report(store, {"", false, "1.2.3"});
  CHECK(has(page, "positive last at 146<"));  // R6: the horizon is 146
  CHECK(has(page, "<title>One</title>"));
  CHECK_FALSE(has(page, "serves"));
  Spec spec = tests::parse(
      "title = \"Two\"\nlengths = [16, 64]\n[[schedule]]\nangle = 1\n"
      "[[quantity]]\nkind = \"base-sum\"\n");
  spec.name = "two.toml";
  const Plan plan = plan_of(spec);
  store.ask(spec, plan, "ropewalk sweep two.toml");
  REQUIRE(run_jobs(spec, plan, jobs_of(spec, plan, store.missing(plan)), store));
  const std::string both = report(store, {"", false, "1.2.3"});
  CHECK(has(both, "<title>One and 1 more</title>"));
  CHECK(has(both, "<a href=\"#sweep-2\">Two</a>"));
  CHECK(has(both, "serves at none"));  // cos 2 < 0
  fill(store,
       "lengths = [16]\n[[schedule]]\nangle = \"2*pi/1234567\"\n"
       "[[quantity]]\nkind = \"aliasing-free\"\n");
  const std::string whole = report(store, {"", false, "1.2.3"});
  CHECK((has(whole, ">1234567</a>") || has(whole, ">1234568</a>")));  // no digit is lost
}
