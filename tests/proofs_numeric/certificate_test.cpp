// What the prover writes for the checker: shapes, digits, and that the numbers are those it found.

#include "proofs_numeric/certificate.hpp"

#include <map>

#include "proofs_numeric/impossibility.hpp"
#include "proofs_numeric/optimal.hpp"
#include "proofs_numeric/sha256.hpp"
#include "tests/catch.hpp"
#include "theory/error.hpp"

using namespace ropewalk;
using namespace ropewalk::proofs_numeric;
using theory::Enclosure;
using theory::Formula;
using theory::Integer;
using theory::Lag;
using theory::Rational;

namespace {

Rational number(const Fact& text) { return *Formula::parse(text.get<std::string>()).rational(); }

bool encloses(const Fact& ends, const Enclosure& x) {
  return number(ends["lo"]) <= x.lo && x.hi <= number(ends["hi"]);
}

}  // namespace

TEST_CASE("the hash of a certificate is that of the recipe in docs/certificates.md") {
  const auto file = certificate("proved", {relation("1 < 2", {{{"n", "1"}}, {{"a", {"2", "3"}}}})},
                                {{"statement", "\xce\xb8 \u2264 1/2"}, {"claim", "x"}});
  // Python: json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
  const std::string canonical =
      R"({"facts":[{"holds":true,"kind":"relation","statement":"1 < 2","tables":{"a":["2","3"]},)"
      R"("where":{"n":"1"}}],"format":"ropewalk-certificate","verdict":"proved","version":"1",)"
      "\"words\":{\"claim\":\"x\",\"statement\":\"\xce\xb8 \u2264 1/2\"}}";
  CHECK(file["sha256"] == sha256(canonical));
  CHECK(file["sha256"] == "1889b661ddd7c0f10320eaa1f29c6915a0569ca1e3e6ebf5beecfb3393c82a7c");
}

TEST_CASE("no number is left for a reader to round") {
  const auto file = certificate("undecided", {}, {{"length", 4}, {"list", {1.5, true, nullptr}}});
  CHECK(file["words"].dump() == R"({"length":"4","list":["1.5",true,null]})");
  CHECK(file["facts"] == Fact::array());
}

TEST_CASE("a relation leaves out what it does not need") {
  CHECK(relation("1 < 2").dump() == R"({"kind":"relation","statement":"1 < 2","holds":true})");
  CHECK(relation("2 < n", {{{"n", "1"}}, {}}, false).dump() ==
        R"({"kind":"relation","statement":"2 < n","holds":false,"where":{"n":"1"}})");
}

TEST_CASE("an enclosure is rounded outward, and stays exact where it can") {
  const Fact third = enclosed("1/3", Enclosure(Rational(1, 3)), {}, 4);
  CHECK(third["lo"] == "0.3333");
  CHECK(third["hi"] == "0.3334");
  CHECK(enclosed("0", Enclosure(Rational(0)))["hi"] == "0");
  const auto facts = crossing("2 - x", "x", {Rational(199, 100), Rational(201, 100)});
  REQUIRE(facts.size() == 2);
  CHECK(facts[0]["statement"] == "2 - x > 0");
  CHECK(facts[0]["where"]["x"] == "1.99");
  CHECK(facts[1]["statement"] == "2 - x < 0");
  CHECK(facts[1]["where"]["x"] == "2.01");
}

TEST_CASE("an extremum fact repeats the question and the answer") {
  const auto sum = theory::aligned_loss({Rational(1, 2), Rational(1, 2)},
                                        {Formula(1), Formula::parse("10000^(-1/4)")});
  const LagRange range{1, 1000, {44}};
  ExtremumOptions options;
  options.records = true;
  const ExtremumReport report = minimum(sum, range, options);
  const Fact fact = extremum_fact(Which::minimum, sum, range, report);
  CHECK(fact["which"] == "minimum");
  CHECK(fact["sum"]["offset"] == "1");
  REQUIRE(fact["sum"]["terms"].size() == 2);
  const Fact slow{{"amplitude", "-1/2"}, {"frequency", "10000^(-1/4)"}, {"phase", "0"}};
  CHECK(fact["sum"]["terms"][1] == slow);
  CHECK(fact["first"] == "1");
  CHECK(fact["last"] == "1000");
  CHECK(fact["excluded"] == Fact::array({"44"}));
  CHECK(fact["complete"] == true);
  CHECK(encloses(fact["value"], report.extremum.value));
  REQUIRE(fact["lags"].size() == report.extremum.lags.size());
  CHECK(fact["lags"][0] == report.extremum.lags[0].str());
  REQUIRE(fact["records"].size() == report.records.size());
  CHECK(fact["records"].size() > 2);
  CHECK(fact["records"].front()["lag"] == "1");
  for (std::size_t i = 0; i < report.records.size(); ++i)
    CHECK(encloses(fact["records"][i], report.records[i].value));
}

TEST_CASE("an extremum fact keeps what tells the best lag from the next") {
  // Lags s and r - s of 2 pi k/r with k = 1: equal but for a millionth of a millionth ... of a
  // turn.
  const Formula theta = Formula::parse("2*pi/5 + 10^-60");
  const auto sum = theory::aligned_loss({Rational(1)}, {theta});
  const LagRange range{1, 4, {}};
  const ExtremumReport report = minimum(sum, range);
  REQUIRE(report.extremum.lags.size() == 1);
  const Fact fact = extremum_fact(Which::minimum, sum, range, report);
  const Rational hi = number(fact["value"]["hi"]);
  const Rational lo = number(fact["value"]["lo"]);
  for (Lag t = 1; t <= 4; ++t) {
    const Enclosure x = enclosure(sum.at<theory::Interval<640>>(t));
    CAPTURE(t.str());
    CHECK((t == report.extremum.lags[0] ? lo <= x.lo && x.hi <= hi : x.lo > hi));
  }
}

TEST_CASE("an extremum of 0 is written as 0") {
  const auto sum = theory::aligned_loss({Rational(1)}, {Formula::parse("2*pi/7")});
  const LagRange range{1, 20, {}};
  const Fact fact = extremum_fact(Which::minimum, sum, range, minimum(sum, range));
  CHECK(fact["value"].dump() == R"({"lo":"0","hi":"0"})");
  CHECK(fact["lags"] == Fact::array({"7", "14"}));
  CHECK_FALSE(fact.contains("records"));
}

TEST_CASE("a base set is a chain of closed pieces") {
  for (const bool only_infimum : {false, true})
    for (const int from : {1, 9000, 13000})
      for (const bool bounded : {false, true}) {
        CAPTURE(only_infimum, from, bounded);
        BaseQuestion question;
        question.length = 2048;
        question.from = from;
        question.only_infimum = only_infimum;
        if (bounded) question.to = 20000;
        const BaseSet set = base_set(question);
        REQUIRE(set.infimum);
        const Fact fact = base_set_fact(question, set);
        const Fact& cuts = fact["cuts"];
        const Fact& pieces = fact["pieces"];
        REQUIRE(cuts.size() == pieces.size() + 1);
        CHECK(cuts.front() == std::to_string(from));
        if (bounded && !only_infimum) CHECK(cuts.back() == "20000");
        bool below = true;
        std::size_t admissible = 0;
        for (std::size_t i = 0; i < pieces.size(); ++i) {
          CAPTURE(i);
          const Rational lo = number(cuts[i]);
          const Rational hi = number(cuts[i + 1]);
          REQUIRE(lo < hi);
          if (cuts[i] == fact["infimum"]["lo"]) below = false;
          if (below) CHECK(pieces[i][0] == "rejected");
          if (pieces[i][0] == "rejected") {
            const auto k = std::stoull(pieces[i][1].get<std::string>());
            for (const Rational& b : {lo, Rational((lo + hi) / 2), hi})
              CHECK(base_sum(b, question.dim, k).hi < 0);
          } else if (pieces[i][0] == "admissible") {
            ++admissible;
            CHECK_FALSE(first_violation(Rational((lo + hi) / 2), question.dim, question.length));
          }
        }
        CHECK_FALSE(below);
        CHECK((admissible > 0) == !only_infimum);
        CHECK(number(fact["infimum"]["lo"]) <= set.infimum->lo);
        CHECK(set.infimum->hi <= number(fact["infimum"]["hi"]));
        CHECK_FALSE(first_violation(number(fact["infimum"]["hi"]), question.dim, question.length));
      }
}

TEST_CASE("a base set without an admissible base has no infimum") {
  BaseQuestion question;
  question.length = 5;
  question.dim = 2;
  const Fact fact = base_set_fact(question, base_set(question));
  CHECK(fact["infimum"].is_null());
  CHECK(fact["pieces"] == Fact::array({Fact::array({"rejected", "2"})}));
  CHECK(fact["cuts"] == Fact::array({"1", "1000000000000000000"}));
}

TEST_CASE("a contradiction is told by inputs, rivals and multipliers") {
  const FiniteTask task = index_task(4, {3, 2});
  for (const auto& systems : {symbolic_decoder_systems(task), symbolic_attention_systems(task)}) {
    const HeadSearch search = find_head(systems);
    REQUIRE(search.contradiction);
    const Fact fact = contradiction_fact(task, *search.contradiction);
    CAPTURE(fact.dump());
    CHECK(fact["task"].dump() == R"({"name":"index","length":"4","letters":"3","others":"2"})");
    // The left sides add up to 0 over the unknowns, one per answer or key token.
    std::map<std::string, Rational> sum;
    for (const auto& row : fact["rows"]) {
      const auto& input = row["input"];
      REQUIRE(input.size() == 4);
      const Rational times = number(row["times"]);
      CHECK(times > 0);
      const auto& query = input.back().get_ref<const std::string&>();
      const std::size_t back =
          query[0] >= '1' && query[0] <= '9' ? static_cast<std::size_t>(query[0] - '0') : 0;
      std::string right = input[3 - back].get<std::string>();
      if (right[0] < 'a') right = query;  // an integer there: the query's own token
      sum[right] += times;
      sum[row["rival"].get<std::string>()] -= times;
      CHECK(input.back() == fact["rows"][0]["input"].back());
    }
    for (const auto& [name, total] : sum) CHECK(total == 0);
  }
}

TEST_CASE("a positional contradiction leaves no position with weight") {
  for (const auto& task :
       {symbol_task(4, {2, 3}), retrieval_task(4, {2, 1}, RetrievalInputs::proper)}) {
    const HeadSearch search = find_head(positional_systems(task));
    REQUIRE(search.contradiction);
    const Fact fact = contradiction_fact(task, *search.contradiction);
    CAPTURE(fact.dump());
    CHECK(fact["head"] == "positional");
    std::vector<Rational> sum(4);
    for (const auto& row : fact["rows"]) {
      std::vector<std::string> written;
      for (const auto& token : row["input"]) {
        const auto text = token.get<std::string>();
        written.push_back(task.kind == "symbol" ? text.substr(text.find(':') + 1) : text);
      }
      // The right key is the one before the query whose left letter, or symbol, it asks for.
      const char wanted = written.back()[1];
      std::size_t key = task.kind == "symbol" ? 2 : 3;
      while (row["input"][key].get<std::string>()[0] != wanted) --key;
      for (std::size_t j = 0; j < 4; ++j) {
        if (written[j] == written[key]) sum[j] += number(row["times"]);
        if (row["rival"] == written[j]) sum[j] -= number(row["times"]);
      }
      CHECK(row["rival"] != written[key]);
    }
    for (const Rational& x : sum) CHECK(x <= 0);
  }
}

TEST_CASE("the facts of a best head are its two sides") {
  std::vector<Formula> planes;
  for (int k = 1; k <= 4; ++k) planes.push_back(Formula(Rational(2 * k, 5)) * Formula::pi());
  const OptimalHead head = optimal_head(planes, 4);
  const auto facts = optimal_facts(planes, 4, head);
  REQUIRE(facts.size() == 4);
  CHECK(facts[0]["kind"] == "extremum");
  CHECK(number(facts[0]["value"]["lo"]) <= head.optimum.lo);
  CHECK(head.optimum.lo <= number(facts[0]["value"]["hi"]));
  CHECK(number(facts[3]["where"]["hi"]) >= head.optimum.hi);
  Rational sum;
  for (const auto& a : facts[1]["tables"]["amplitude"]) sum += Rational(a.get<std::string>());
  CHECK(sum == 1);
  sum = 0;
  for (const auto& w : facts[2]["tables"]["weight"]) sum += Rational(w.get<std::string>());
  CHECK(sum == 1);
}

TEST_CASE("the facts of a head with phases bound its amplitudes") {
  const std::vector<Formula> planes{Formula(1), Formula::parse("100^(-1/2)")};
  for (const int offset : {0, 2, 9}) {
    CAPTURE(offset);
    const OffsetHead head = offset_head(planes, 10, offset);
    const auto facts = offset_facts(planes, 10, offset, head);
    REQUIRE(facts.size() == 4);
    CHECK(facts[0]["first"] == (offset == 0 ? "1" : std::to_string(-offset)));
    CHECK(facts[0]["last"] == (offset == 9 ? "-1" : std::to_string(9 - offset)));
    Rational sum;
    for (std::size_t f = 0; f < planes.size(); ++f) {
      const auto at = [&](const char* table) {
        return Rational(facts[1]["tables"][table][f].get<std::string>());
      };
      CHECK(at("size") * at("size") >= at("re") * at("re") + at("im") * at("im"));
      sum += at("size");
    }
    CHECK(sum <= 1);
    CHECK(number(facts[0]["value"]["lo"]) > 0);
  }
}
