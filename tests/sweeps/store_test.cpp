#include "sweeps/store.hpp"

#include <sqlite3.h>

#include <fstream>

#include "sweeps/export.hpp"
#include "sweeps/run.hpp"
#include "tests/sweeps/support.hpp"

using namespace ropewalk;
using namespace ropewalk::sweeps;
using tests::Folder;

namespace {

const char* const spec_text =
    "title = \"Small\"\nlengths = [5, 50]\n"
    "[[schedule]]\nangle = [\"1\", \"2*pi/7\"]\n"
    "[[schedule]]\nname = \"again\"\nangles = [\"1\"]\n"
    "[[quantity]]\nkind = \"index-margin\"\namplitudes = \"uniform\"\n";

struct Sweep {
  Spec spec = tests::parse(spec_text);
  Plan plan = plan_of(spec);
};

bool fill(const Sweep& s, Store& store) {
  store.ask(s.spec, s.plan, "ropewalk sweep s.toml");
  return run_jobs(s.spec, s.plan, jobs_of(s.spec, s.plan, store.missing(s.plan)), store);
}

std::vector<Row> rows(const Store& store) {
  std::vector<Row> result;
  store.rows("", [&](const Row& row) { result.push_back(row); });
  return result;
}

std::string trouble(const std::string& path, Store::Access access) {
  try {
    const Store store(path, access);
  } catch (const Error& e) {
    CHECK(e.code() == ErrorCode::file);
    return e.what();
  }
  return "opened";
}

void execute(const std::string& path, const char* sql) {
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &database) == SQLITE_OK);
  REQUIRE(sqlite3_exec(database, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(database);
}

}  // namespace

TEST_CASE("plan: the same question is one cell, by whatever name") {
  const Sweep s;
  CHECK(s.plan.entries.size() == 6);
  CHECK(s.plan.tables.size() == 2);
  CHECK(s.plan.cells.size() == 4);
  const auto jobs = jobs_of(s.spec, s.plan, {true, true, true, true});
  CHECK(jobs.size() == 2);  // one pass each
  CHECK(jobs_of(s.spec, s.plan, {false, false, true, false}).size() == 1);
  CHECK(jobs_of(s.spec, s.plan, {false, false, false, false}).empty());
}

TEST_CASE("store: answers come back, and only what is missing is computed") {
  const Folder folder("store");
  const std::string path = folder / "a.sqlite";
  const Sweep s;
  {
    Store store(path, Store::Access::create);
    store.ask(s.spec, s.plan, "ropewalk sweep s.toml");
    for (const Row& row : rows(store)) CHECK(row.status == "missing");
    CHECK(fill(s, store));
  }
  const Store store(path, Store::Access::read);
  const auto all = rows(store);
  REQUIRE(all.size() == 6);
  CHECK(all[0].table == "theta = 1");
  CHECK(all[0].length == "5");
  CHECK(all[1].length == "50");
  CHECK(all[4].table == "again");
  CHECK(all[4].lo == all[0].lo);
  CHECK(all[0].status == "certified");
  // theta = 1 at length 50, reach 49: lag 44
  CHECK(Json::parse(all[1].detail)["lag"] == "44");
  // theta = 2 pi/7: 0 at lag 7, exactly
  CHECK(all[3].lo == "0");
  CHECK(all[3].hi == "0");
  CHECK(std::filesystem::exists(folder.path / all[0].certificate));
  CHECK(store.missing(s.plan) == std::vector<bool>(4, false));
  CHECK(store.sweeps().at(0).title == "Small");
  CHECK(store.sweeps().at(0).spec == spec_text);
}

TEST_CASE("store: a spec asked again replaces its own rows only") {
  const Folder folder("store-again");
  Store store(folder / "a.sqlite", Store::Access::create);
  const Sweep s;
  CHECK(fill(s, store));
  Sweep smaller;
  smaller.spec.asks[0].lengths = {5};
  smaller.plan = plan_of(smaller.spec);
  store.ask(smaller.spec, smaller.plan, "x");
  CHECK(rows(store).size() == 3);
  for (const Row& row : rows(store)) CHECK(row.status == "certified");
}

TEST_CASE("store: an interrupted run says so and keeps what it has") {
  const Folder folder("store-stop");
  Store store(folder / "a.sqlite", Store::Access::create);
  const Sweep s;
  store.ask(s.spec, s.plan, "x");
  std::atomic<bool> stop = false;
  RunOptions options;
  options.stop = &stop;
  std::size_t jobs_seen = 0;
  options.progress = [&](const Progress& p) {
    jobs_seen = p.jobs_done;
    stop = true;
  };
  const auto jobs = jobs_of(s.spec, s.plan, store.missing(s.plan));
  const bool whole = run_jobs(s.spec, s.plan, jobs, store, options);
  CHECK(whole == (jobs_seen == jobs.size()));
  const auto left = store.missing(s.plan);
  CHECK(std::count(left.begin(), left.end(), false) >= 2);
  CHECK(fill(s, store));
  CHECK(store.missing(s.plan) == std::vector<bool>(4, false));
}

TEST_CASE("store: files that are no stores are refused and left alone") {
  const Folder folder("store-bad");
  using Access = Store::Access;
  CHECK(trouble(folder / "none.sqlite", Access::read).find("no such store") != std::string::npos);
  CHECK(trouble(folder.path.string(), Access::create).find("not a regular file") !=
        std::string::npos);
  CHECK(trouble(folder / "no/such/folder.sqlite", Access::create).find("cannot be opened") !=
        std::string::npos);

  const std::string text = folder / "text.sqlite";
  std::ofstream(text) << std::string(5000, 'x');
  CHECK(trouble(text, Access::create).find("not a database") != std::string::npos);
  CHECK(std::filesystem::file_size(text) == 5000);

  const std::string other = folder / "other.sqlite";
  execute(other, "CREATE TABLE t (x)");
  CHECK(trouble(other, Access::create).find("not a store of ropewalk") != std::string::npos);
  CHECK(trouble(other, Access::read).find("not a store of ropewalk") != std::string::npos);

  const std::string newer = folder / "newer.sqlite";
  { const Store store(newer, Access::create); }
  execute(newer, "PRAGMA user_version = 99");
  CHECK(trouble(newer, Access::create).find("layout 99") != std::string::npos);
}

TEST_CASE("store: a damaged file is an error, not an answer") {
  const Folder folder("store-damaged");
  const std::string path = folder / "a.sqlite";
  const Sweep s;
  {
    Store store(path, Store::Access::create);
    CHECK(fill(s, store));
  }
  execute(path, "PRAGMA wal_checkpoint(TRUNCATE)");
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4096);
  file << std::string(3 * 4096, '\xff');
  file.close();
  try {
    const Store store(path, Store::Access::read);
    (void)rows(store);
    FAIL("read a damaged store");
  } catch (const Error& e) {
    CHECK(e.code() == ErrorCode::file);
  }
}

TEST_CASE("store: a row with damaged content is named, not passed on") {
  for (const char* change : {"hi = '-5'", "lo = 'abc'", "detail = 'notjson'", "detail = '[1]'",
                             "status = 'foo'", "lo = x'ff00'", "hi = ''"}) {
    const Folder folder("store-row");
    const std::string path = folder / "a.sqlite";
    {
      Store store(path, Store::Access::create);
      CHECK(fill(Sweep(), store));
    }
    execute(path, (std::string("UPDATE cells SET ") + change).c_str());
    const Store store(path, Store::Access::read);
    CAPTURE(change);
    try {
      (void)rows(store);
      FAIL("passed on");
    } catch (const Error& e) {
      CHECK(e.code() == ErrorCode::file);
      CHECK(std::string(e.what()).find("a.sqlite: a damaged row: \"theta = 1\"") !=
            std::string::npos);
    }
  }
}

TEST_CASE("export: csv and JSON lines carry every row") {
  const Folder folder("export");
  Store store(folder / "a.sqlite", Store::Access::create);
  const Sweep s;
  CHECK(fill(s, store));
  std::ostringstream csv;
  export_csv(store, "", csv);
  const std::string text = csv.str();
  CHECK(std::count(text.begin(), text.end(), '\n') == 7);
  CHECK(
      text.find(
          "s.toml,theta = 1,\"{\"\"angle\"\":\"\"1\"\",\"\"planes\"\":\"\"1\"\"}\",index-margin") !=
      std::string::npos);
  std::ostringstream lines;
  export_jsonl(store, "s.toml", lines);
  std::istringstream in(lines.str());
  std::string line;
  std::size_t count = 0;
  for (; std::getline(in, line); ++count) {
    const Json row = Json::parse(line);
    CHECK(tests::number(row["value"]["lo"]) <= tests::number(row["value"]["hi"]));
  }
  CHECK(count == 6);
}
