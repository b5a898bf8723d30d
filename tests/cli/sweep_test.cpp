#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/catch.hpp"
#include "tests/cli/run.hpp"
#include "theory/formula.hpp"

using namespace ropewalk;
using tests::Folder;
using tests::run;
using tests::Run;

namespace {

// Rows without what differs from run to run.
std::string table_of(const std::string& store) {
  const Run r = run("export-store " + store + " --format jsonl");
  REQUIRE(r.code == 0);
  std::istringstream in(r.out);
  std::string line;
  std::string result;
  while (std::getline(in, line)) {
    auto row = nlohmann::ordered_json::parse(line);
    row.erase("seconds");
    row.erase("certificate");
    result += row.dump() + '\n';
  }
  return result;
}

const char* const small =
    "lengths = { from = 2, to = 60, step = 1 }\n"
    "[[schedule]]\nangle = { from = 0.1, to = 3.1, step = 0.1 }\n"
    "[[quantity]]\nkind = \"index-margin\"\noffset = [\"end\", \"middle\"]\n"
    "[[quantity]]\nkind = [\"base-sum\", \"aliasing-free\"]\n";

}  // namespace

TEST_CASE("sweep: answers, stores, and computes nothing twice") {
  const Folder folder;
  const std::string spec = folder.write("s.toml", small);
  const std::string store = folder / "s.sqlite";
  const Run dry = run("sweep " + spec + " --store " + store + " --dry-run --json");
  REQUIRE(dry.code == 0);
  CHECK(dry.json()["rows"] == 31 * 59 * 4);
  CHECK(dry.json()["missing"] == 31 * 59 * 4);
  CHECK_FALSE(std::filesystem::exists(store));
  const Run first = run("sweep " + spec + " --store " + store + " --json");
  CAPTURE(first.err);
  REQUIRE(first.code == 0);
  CHECK(first.json()["computed"] == 31 * 59 * 4);
  CHECK(first.json()["undecided"] == 0);
  CHECK(first.json()["missing"] == 0);
  CHECK(first.json()["certified"] == 31 * 59 * 4);
  const Run second = run("sweep " + spec + " --store " + store + " --json");
  CHECK(second.json()["computed"] == 0);
  CHECK(second.json()["certified"] == 31 * 59 * 4);
  // one thread says the same
  REQUIRE(run("sweep " + spec + " --store " + folder / "one.sqlite" + " --threads 1").code == 0);
  CHECK(table_of(store) == table_of(folder / "one.sqlite"));
}

TEST_CASE("sweep: killed at any moment, the store is whole and the rest is computed") {
  const Folder folder;
  const std::string spec = folder.write("s.toml", small);
  const std::string store = folder / "s.sqlite";
  const std::string whole = folder / "whole.sqlite";
  REQUIRE(run("sweep " + spec + " --store " + whole).code == 0);
  const int kills = tests::instrumented ? 4 : 20;
  for (int i = 0; i < kills; ++i) {
    std::fflush(nullptr);  // or the child would print it again
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      if (std::freopen("/dev/null", "w", stdout) == nullptr) _exit(9);
      execl(ROPEWALK_BINARY, "ropewalk", "sweep", spec.c_str(), "--store", store.c_str(),
            static_cast<char*>(nullptr));
      _exit(9);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(3 + 17 * i % 90));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
  }
  REQUIRE(run("sweep " + spec + " --store " + store).code == 0);
  CHECK(table_of(store) == table_of(whole));
  const std::string check =
      std::string(ROPEWALK_PYTHON) +
      " -c \"import sqlite3,sys; print(sqlite3.connect(sys.argv[1]).execute('PRAGMA "
      "integrity_check').fetchone()[0])\" " +
      store + " > " + folder / "check";
  REQUIRE(std::system(check.c_str()) == 0);
  std::string verdict;
  std::getline(std::ifstream(folder / "check") >> std::ws, verdict);
  CHECK(verdict == "ok");
}

TEST_CASE("sweep: two processes share a store") {
  const Folder folder;
  const std::string spec = folder.write("s.toml", small);
  const std::string store = folder / "s.sqlite";
  const std::string command = "'" ROPEWALK_BINARY "' sweep " + spec + " --store " + store;
  CHECK(std::system(("{ " + command + " & " + command + "; wait; } > /dev/null 2>" + folder / "err")
                        .c_str()) == 0);
  CHECK(std::filesystem::file_size(folder / "err") == 0);
  REQUIRE(run("sweep " + spec + " --store " + folder / "alone.sqlite").code == 0);
  CHECK(table_of(store) == table_of(folder / "alone.sqlite"));
}

TEST_CASE("sweep: certificates are accepted by the checker") {
  if (std::string(ROPEWALK_CHECKER).empty()) return tests::skipped("no checker in this build");
  const Folder folder;
  const std::string spec = folder.write(
      "s.toml",
      "lengths = [17, 60]\n[[schedule]]\nbase = 100\nplanes = 3\n[[schedule]]\nangle = 0.0027\n"
      "[[quantity]]\nkind = [\"index-margin\", \"index-bound\", \"index-horizon\", "
      "\"index-scale\", "
      "\"retrieval-horizon\", \"base-sum\", \"aliasing-free\", \"rounding-error\"]\n"
      "[[quantity]]\nkind = \"trade-off\"\nweight = [0.1, 0.5]\nhead = [\"plain\", \"centred\"]\n"
      "[[quantity]]\nkind = [\"trade-off\", \"retrieval-margin\"]\nlengths = 6000\n"
      // Values that lie on their bounds: a plane stands still.
      "[[schedule]]\nangles = [\"1\", \"0\"]\nname = \"still\"\n"
      "[[quantity]]\nkind = [\"trade-off\", \"retrieval-margin\"]\nalphabet = [2, 3, 4]\n"
      "head = [\"plain\", \"centred\"]\nschedules = \"still\"\n"
      "[[quantity]]\nkind = \"index-margin\"\namplitudes = \"uniform\"\noffset = \"middle\"\n"
      "[[quantity]]\nkind = \"retrieval-margin\"\nalphabet = 3\namplitudes = [\"best\", "
      "\"uniform\"]\nhead = [\"plain\", \"centred\", \"orthogonal\"]\n"
      "[[quantity]]\nkind = \"published-bound\"\nof = [\"index\", \"retrieval\"]\n"
      "form = [\"published\", \"corrected\"]\n");
  const Run r = run("sweep " + spec + " --store " + folder / "s.sqlite" + " --json");
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  CHECK(r.json()["proven"] == 0);
  // Only what no head of Retrieval survives is not known to the token.
  CHECK(r.json()["undecided"] == 4);
  CHECK(r.json()["none"] == 16);
  CHECK(r.json()["missing"] == 0);
  // Under the sanitizers a quarter of them, by the first digit of their hash.
  const std::string which = tests::instrumented ? "/[0-3]*/*.json" : "/*/*.json";
  const std::string check = std::string(ROPEWALK_CHECKER) + " " + folder / "s.sqlite.certificates" +
                            which + " > " + folder / "said";
  CHECK(std::system(check.c_str()) == 0);
}

TEST_CASE("sweep: what cannot be is said in one line") {
  const Folder folder;
  const std::string spec = folder.write("s.toml",
                                        "lengths = 5\n[[schedule]]\nangle = 1\n"
                                        "[[quantity]]\nkind = \"index-margin\"\n");
  const Run unknown = run("sweep " + folder.write("u.toml", "lengths = 5\ncolour = 1\n"));
  CHECK(unknown.code == 2);
  CHECK(unknown.complains("u.toml:2:10: unknown key 'colour'"));
  const Run none = run("sweep " + folder / "none.toml");
  CHECK(none.code == 4);
  CHECK(none.complains("none.toml"));
  const Run broken = run("sweep " + folder.write("b.toml", "lengths = [\n"));
  CHECK(broken.code == 2);
  CHECK(broken.complains("b.toml:"));
  const Run nowhere = run("sweep " + spec + " --store /proc/no/s.sqlite");
  CHECK(nowhere.code == 4);
  CHECK(nowhere.complains("/proc/no/s.sqlite"));
  const Run text = run("sweep " + spec + " --store " + spec);
  CHECK(text.code == 4);
  CHECK(text.complains("s.toml"));
  const Run full = run("sweep " + spec + " --store /dev/full");
  CHECK(full.code == 4);
  CHECK(full.complains("not a regular file"));
  REQUIRE(run("sweep " + spec + " --store " + folder / "s.sqlite").code == 0);
  const Run wrong = run("export-store " + folder / "s.sqlite" + " --sweep other");
  CHECK(wrong.code == 2);
  CHECK(wrong.complains("it has s.toml"));
}

TEST_CASE("export-store: NumPy reads the .npz") {
  const std::string python = ROPEWALK_PYTHON;
  if (std::system((python + " -c 'import numpy' 2>/dev/null").c_str()) != 0)
    return tests::skipped("this python has no numpy");
  const Folder folder;
  const std::string spec = folder.write("s.toml",
                                        "lengths = [1, 9]\n[[schedule]]\nangle = 0.8\n"
                                        "[[quantity]]\nkind = \"index-margin\"\n");
  REQUIRE(run("sweep " + spec + " --store " + folder / "s.sqlite").code == 0);
  REQUIRE(
      run("export-store " + folder / "s.sqlite" + " --format npz --out " + folder / "s.npz").code ==
      0);
  const std::string script = folder.write(
      "read.py",
      "import numpy, sys\na = numpy.load(sys.argv[1])\n"
      "assert list(a['length']) == [1, 9], a['length']\n"
      "assert numpy.isnan(a['lo'][0]) and a['status'][0] == b'none'\n"
      "assert a['lo'][1] <= a['hi'][1] and abs(a['lo'][1] - 0.00681508) < 1e-7, a['lo']\n"
      "assert a['quantity'][1] == b'index-margin'\n");
  CHECK(std::system((python + " " + script + " " + folder / "s.npz").c_str()) == 0);
}

TEST_CASE("sweep: ranks of MPI give the same table") {
  // Open MPI leaves memory of its own behind, which is not what the sanitizers look for here.
  const std::string mpirun =
      "ASAN_OPTIONS=detect_leaks=0 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
      "mpirun --oversubscribe";
  if (std::system("command -v mpirun > /dev/null") != 0)
    return tests::skipped("no mpirun on this machine");
  const Folder folder;
  const std::string spec = folder.write("s.toml", small);
  REQUIRE(run("sweep " + spec + " --store " + folder / "alone.sqlite").code == 0);
  const std::string expected = table_of(folder / "alone.sqlite");
  for (const std::string count : {"2", "4"}) {
    const std::string store = folder / ("ranks" + count + ".sqlite");
    const Run r =
        run("sweep " + spec + " --store " + store + " --threads 1 --json", mpirun + " -n " + count);
    CAPTURE(count, r.err);
    if (r.err.find("built without MPI") != std::string::npos)
      return tests::skipped("this build has no MPI");
    REQUIRE(r.code == 0);
    CHECK(r.json()["missing"] == 0);
    CHECK(table_of(store) == expected);
  }
}
