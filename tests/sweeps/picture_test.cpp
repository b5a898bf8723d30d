#include <cstdlib>

#include "sweeps/plot.hpp"
#include "sweeps/report.hpp"
#include "tests/sweeps/support.hpp"

using namespace ropewalk;
using namespace ropewalk::sweeps;
using tests::Folder;

namespace {

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
    "[[quantity]]\nkind = \"index-horizon\"\nscale = 5\n";

bool has(const std::string& all, const std::string& part) {
  return all.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("pictures: the program holds the data of its kind") {
  const Folder folder("picture");
  Store store(folder / "a.sqlite", Store::Access::create);
  fill(store, text);
  const std::string lines = picture_program(store, "lengths", {});
  CHECK(has(lines, "title 'theta = 0.8'"));
  CHECK(has(lines, "title 'base 100, 3 planes'"));
  CHECK(has(lines, "set title 'A <b>title</b> & ''more'''"));
  CHECK(has(picture_program(store, "steps", {}), "with steps"));
  const std::string heat = picture_program(store, "heat", {});
  CHECK(has(heat, "\n16 0.8 "));
  CHECK_FALSE(has(heat, "base"));
  CHECK(has(picture_program(store, "bases", {}), "$good"));
  CHECK_THROWS_AS(picture_program(store, "cubist", {}), Error);
  PictureOptions other;
  other.sweep = "other.toml";
  CHECK_THROWS_AS(picture_program(store, "lengths", other), Error);
  CHECK_FALSE(can_draw(store, "lengths", other));
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
