#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "proofs_numeric/claims.hpp"
#include "tests/catch.hpp"
#include "theory/error.hpp"
#include "theory/formula.hpp"

using namespace ropewalk;
using namespace ropewalk::proofs_numeric;

namespace {

// A number of a fact with as many digits as are printed.
std::string shown(const std::string& number, theory::Round round) {
  return decimal(*theory::Formula::parse(number).rational(), value_digits, round);
}

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

std::string sources_of_tests() {
  std::string all;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::string(ROPEWALK_SOURCE_DIR) + "/tests"))
    if (entry.path().extension() == ".cpp") all += read(entry.path());
  return all;
}

}  // namespace

TEST_CASE("the ledger has every claim of the papers and our own") {
  std::set<std::string> ids;
  for (const Claim& claim : ledger()) CHECK(ids.insert(claim.id).second);
  for (const char* id : {"P1.T3.1.index",
                         "P1.T3.1.retrieval",
                         "P1.T3.2a.max",
                         "P1.T3.2b.max",
                         "P1.T3.2b.min",
                         "P1.irrational",
                         "P1.T3.2c.max",
                         "P1.T3.2c.min",
                         "P1.T3.2c.min.corrected",
                         "P1.T3.2c.displayed",
                         "P1.R3.2.letter",
                         "P1.R3.2.all",
                         "P1.R3.1.index",
                         "P1.R3.1.retrieval",
                         "P1.R3.1.retrieval.anyF",
                         "P1.LF.1",
                         "P1.850",
                         "P2.T1",
                         "P2.T2",
                         "P2.T3",
                         "P2.T4",
                         "P2.T5",
                         "P2.T6",
                         "P2.C1.bounded",
                         "P2.C1.all",
                         "P2.T7",
                         "P4.1k",
                         "P4.2k",
                         "P4.4k",
                         "P4.8k",
                         "P4.16k",
                         "P4.32k",
                         "P4.64k",
                         "P4.128k",
                         "P4.256k",
                         "P4.512k",
                         "P4.1M",
                         "P4.common",
                         "R1",
                         "R2",
                         "R6",
                         "R6.centred",
                         "R7",
                         "P3.P3.1",
                         "P3.P3.1.prope",
                         "P3.P3.2",
                         "P3.P5.2.previous",
                         "P3.P5.2.diagonal",
                         "P3.P5.2.diagonal.distinct",
                         "P3.T5.3",
                         "P3.T5.3.all",
                         "P3.T6.1",
                         "P5.alias",
                         "P5.alias.corrected",
                         "P5.dc",
                         "P5.dc.table",
                         "P5.dc.table.corrected",
                         "P5.dc.depth",
                         "P5.dc.depth.converse",
                         "P5.precision",
                         "P5.precision.necessary",
                         "P5.precision.cosine",
                         "R3.best",
                         "R3.law",
                         "R3.any",
                         "R3.one-sided",
                         "R3.previous",
                         "R3.mixture",
                         "R3.dirichlet",
                         "R4.return",
                         "R4.index",
                         "R4.separation",
                         "R5",
                         "R8.argmax",
                         "R8.fp16",
                         "R8.fp32",
                         "R8.narrow",
                         "R9.falls",
                         "R9.gibbs",
                         "R9.horizon"}) {
    CAPTURE(id);
    CHECK(ids.contains(id));
  }
}

TEST_CASE("every claim names a judge, a test case that exists, and an argument that can be read") {
  const std::string tests = sources_of_tests();
  for (const Claim& claim : ledger()) {
    CAPTURE(claim.id, claim.test, claim.argument);
    CHECK(tests.find("TEST_CASE(\"" + claim.test + "\"") != std::string::npos);
    const auto hash = claim.argument.find('#');
    REQUIRE(hash != std::string::npos);
    const std::string page =
        read(std::string(ROPEWALK_SOURCE_DIR) + "/" + claim.argument.substr(0, hash));
    CHECK(page.find("<a id=\"" + claim.argument.substr(hash + 1) + "\"></a>") != std::string::npos);
    CHECK_FALSE(claim.statement.empty());
    CHECK_FALSE(claim.reading.empty());
  }
}

TEST_CASE("a verdict comes with facts, in which its value stands") {
  if (tests::instrumented)
    return tests::skipped("takes minutes under the sanitizers, where `verify` runs the same code");
  for (const Claim& claim : ledger()) {
    if (claim.is_long) continue;
    CAPTURE(claim.id);
    const Judgement j = judge(claim.id);
    if (j.verdict == Verdict::undecided) {
      CHECK(j.facts.empty());
      continue;
    }
    REQUIRE_FALSE(j.facts.empty());
    std::size_t refuted = 0;
    bool impossible = false;  // the value is a margin that a contradiction bounds
    std::string all;
    for (const Fact& fact : j.facts) {
      refuted += fact["kind"] == "relation" && fact["holds"] == false ? 1 : 0;
      impossible = impossible || fact["kind"] == "contradiction";
      all += fact.dump();
    }
    CHECK((refuted > 0) == (j.verdict == Verdict::refuted));
    REQUIRE(j.value);
    if (impossible && j.value->exact() && j.value->lo == 0) continue;
    // As an end of an enclosure or the bound of a relation, with as many digits as are printed.
    std::set<std::string> ends;
    for (const Fact& fact : j.facts)
      for (const Fact& holder : {fact, fact.value("value", Fact::object())})
        if (holder.contains("lo")) {
          ends.insert(shown(holder["lo"], theory::Round::down));
          ends.insert(shown(holder["hi"], theory::Round::up));
        }
    const std::string lo = decimal(j.value->lo, value_digits, theory::Round::down);
    const std::string hi = decimal(j.value->hi, value_digits, theory::Round::up);
    CAPTURE(lo, hi, ends);
    CHECK((ends.count(lo) == 1 || all.find('"' + lo + '"') != std::string::npos));
    CHECK((ends.count(hi) == 1 || all.find('"' + hi + '"') != std::string::npos));
  }
}

TEST_CASE("an undecided claim states no facts") { CHECK(judge("P1.850").facts.empty()); }

TEST_CASE("an unknown claim is an error") { CHECK_THROWS_AS(judge("P9.T1"), Error); }
