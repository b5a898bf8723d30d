// A certificate file: read, checked against its hash, and every fact handed to its kind.
#include <array>
#include <bit>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "expression.hpp"

namespace checker {

// SHA-256 (FIPS 180-4), in hexadecimal. Its constants are the first 32 bits behind the point of the
// cube roots of the first 64 primes, and of the square roots of the first 8.
std::string sha256(std::string message) {
  std::array<std::uint32_t, 64> constants{};
  std::array<std::uint32_t, 8> h{};
  mpz_class prime = 1, root;
  for (size_t i = 0; i < 64; ++i) {
    mpz_nextprime(prime.get_mpz_t(), prime.get_mpz_t());
    mpz_root(root.get_mpz_t(), mpz_class(prime << 96).get_mpz_t(), 3);
    constants[i] = static_cast<std::uint32_t>(root.get_ui());
    if (i < 8) h[i] = static_cast<std::uint32_t>(mpz_class(sqrt(mpz_class(prime << 64))).get_ui());
  }
  const std::uint64_t bits = message.size() * 8;
  message.push_back('\x80');
  while (message.size() % 64 != 56) message.push_back('\0');
  for (int shift = 56; shift >= 0; shift -= 8) message.push_back(static_cast<char>(bits >> shift));

  for (size_t block = 0; block < message.size(); block += 64) {
    std::array<std::uint32_t, 64> w{};
    for (size_t i = 0; i < 64; ++i)
      w[i / 4] = (w[i / 4] << 8) | static_cast<unsigned char>(message[block + i]);
    for (size_t i = 16; i < 64; ++i) {
      const std::uint32_t a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + w[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) +
             (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
    }
    auto s = h;
    for (size_t i = 0; i < 64; ++i) {
      const std::uint32_t one = s[7] +
                                (std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25)) +
                                ((s[4] & s[5]) ^ (~s[4] & s[6])) + constants[i] + w[i];
      const std::uint32_t two = (std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22)) +
                                ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
      s = {one + two, s[0], s[1], s[2], s[3] + one, s[4], s[5], s[6]};
    }
    for (size_t i = 0; i < 8; ++i) h[i] += s[i];
  }
  std::string out;
  for (const std::uint32_t word : h)
    for (int shift = 28; shift >= 0; shift -= 4)
      out.push_back("0123456789abcdef"[(word >> shift) & 15]);
  return out;
}

std::string read(const std::string& path, size_t limit) {
  std::ifstream in(path, std::ios::binary);
  std::string content, piece(1 << 16, '\0');
  while (content.size() <= limit << 20 && in) {
    in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    content.append(piece, 0, static_cast<size_t>(in.gcount()));
  }
  if (content.size() > limit << 20)
    throw Malformed("larger than " + std::to_string(limit) + " MiB");
  if (in.bad() || !in.is_open()) throw Failure(4, "cannot be read");
  return content;
}

json parse(const std::string& content, bool numbers) {
  constexpr int depth_limit = 32;  // brackets inside one another
  // The parser takes it for the end.
  if (content.find('\0') != std::string::npos) throw Malformed("no JSON: a zero byte");
  std::vector<std::set<std::string>> names;
  const auto check = [&](int depth, json::parse_event_t event, json& value) {
    using Event = json::parse_event_t;
    if (depth > depth_limit) throw Malformed("nested too deeply");
    if (event == Event::object_start) names.emplace_back();
    if (event == Event::object_end) names.pop_back();
    if (event == Event::key && !names.back().insert(value.get<std::string>()).second)
      throw Malformed("the key '" + value.get<std::string>() + "' is repeated");
    if (event == Event::value && value.is_number() && !numbers)
      throw Malformed("a number without quotes, which no certificate has");
    return true;
  };
  try {
    return json::parse(content, check);
  } catch (const json::parse_error& e) {
    const std::string before = content.substr(0, std::min(e.byte, content.size() + 1) - 1);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const size_t column = before.size() - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
    throw Malformed("no JSON: line " + std::to_string(line) + ", column " + std::to_string(column));
  } catch (const json::exception&) {
    throw Malformed("no JSON: a number beyond all bounds");
  }
}

namespace {

void check_relation(const json& fact) {
  Context context(fact);
  within("statement", [&] {
    const bool holds = context.holds(get(fact, "statement"));
    if (holds != get<bool>(fact, "holds")) throw Rejected(holds ? "holds" : "does not hold");
  });
}

void check_enclosure(const json& fact) {
  Context context(fact);
  within("of", [&] {
    Node& of = context.parse(get(fact, "of"));
    const Value lo = number(fact, "lo"), hi = number(fact, "hi");
    const bool below = settle([&] { return compare(context.value(of), lo); }) < 0;
    const bool above = settle([&] { return compare(context.value(of), hi); }) > 0;
    if (below || above)
      throw Rejected("the value " + context.value(of).text() + " is " +
                     (below ? "below lo" : "above hi"));
  });
}

// Dirichlet: what 0, x, 2x, ..., reach x leave modulo 1, and 1 itself, cut [0, 1] into reach + 1
// gaps, so one has a length of at most 1/(reach + 1). Its ends are those of two multiples, and s is
// their difference, or 1 and that of s x, s > 0.
void check_circle_cover(const json& fact) {
  if (integer(fact.at("reach")) < 1) throw Rejected("reach: not positive");
}

struct Kind {
  void (*check)(const json& fact, const std::string& folder);
  Texts required, optional;  // keys, next to `kind`
};
template <void (*check)(const json& fact)>
void alone(const json& fact, const std::string& /*folder*/) {
  check(fact);
}
const std::map<std::string, Kind> kinds = {
    {"relation", {alone<check_relation>, {"statement", "holds"}, {"where", "tables"}}},
    {"enclosure", {alone<check_enclosure>, {"of", "lo", "hi"}, {"where", "tables"}}},
    {"extremum",
     {alone<check_extremum>,
      {"which", "sum", "first", "last", "excluded", "value", "lags", "complete"},
      {"records"}}},
    {"base-set", {alone<check_base_set>, {"dim", "length", "cuts", "pieces", "infimum"}, {}}},
    {"contradiction", {alone<check_contradiction>, {"head", "task", "rows"}, {}}},
    {"rounding",
     {alone<check_rounding>,
      {"frequencies", "size", "inv_freq", "factor", "positions", "angles", "table", "last",
       "records"},
      {}}},
    {"softmax", {alone<check_softmax>, {"sum", "scale", "first", "last", "partition"}, {"bound"}}},
    {"circle-cover", {alone<check_circle_cover>, {"reach"}, {}}},
    {"stack", {check_stack, {"files", "task", "length", "arithmetic", "mass", "gap"}, {}}}};

std::string check_certificate(const json& whole, const std::string& folder) {
  if (!whole.is_object() || whole.value("format", json()) != "ropewalk-certificate")
    throw Malformed("format: not 'ropewalk-certificate', so no certificate of ropewalk");
  check_keys(whole, {"format", "version", "verdict", "facts", "sha256"}, {"words"});
  if (get(whole, "version") != "1") throw Malformed("version: not '1', the only one known here");
  if (whole.contains("words")) get<json::object_t>(whole, "words");
  const auto facts = get<json::array_t>(whole, "facts");
  const std::string verdict = get(whole, "verdict");
  if (verdict != "proved" && verdict != "refuted" && verdict != "undecided")
    throw Malformed("verdict: neither proved, refuted nor undecided");
  json body = whole;
  body.erase("sha256");
  const std::string hash = sha256(body.dump());
  if (hash != get(whole, "sha256")) throw Rejected("sha256: the contents hash to " + hash);

  bool refutes = false;
  for (size_t i = 0; i < facts.size(); ++i) {
    const std::string name = "facts[" + std::to_string(i) + "]";
    const std::string kind = within(name, [&] { return get(facts[i], "kind"); });
    within(name + " (" + kind.substr(0, 30) + ")", [&] {
      const auto known = kinds.find(kind);
      if (known == kinds.end()) throw Malformed("unknown kind");
      Texts required = known->second.required;
      required.push_back("kind");
      check_keys(facts[i], required, known->second.optional);
      known->second.check(facts[i], folder);
      refutes = refutes || (kind == "relation" && !get<bool>(facts[i], "holds"));
    });
  }
  if (verdict != "undecided" && facts.empty())
    throw Rejected("verdict: " + verdict + " without a fact");
  if ((verdict == "refuted") != refutes)
    throw Rejected("verdict: " + verdict + (refutes ? " with" : " without") +
                   " a relation that does not hold");
  return verdict + ", " + std::to_string(facts.size()) + (facts.size() == 1 ? " fact" : " facts");
}

// The exit status and what to say of the file.
std::pair<int, std::string> check_file(const std::string& path) {
  int status = 1;
  std::string why;
  try {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    return {0, check_certificate(parse(read(path, 64)), folder)};
  } catch (const Failure& e) {
    status = e.status;
    why = e.what();
  } catch (const std::exception& e) {  // as for want of memory
    why = std::string("not decided: ") + e.what();
  }
  // Reasons quote the file: one line of plain characters, lest a file print what looks like a
  // verdict.
  std::replace_if(
      why.begin(), why.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return {status, why.substr(0, 400)};
}

constexpr const char* help =
    R"(Checks certificates of ropewalk: recomputes every fact with Arb and exact rationals
Usage: ropewalk-check [OPTIONS] FILE...

Options:
  -h, --help   Print this help message and exit
  --json       Print one JSON list instead of lines
  --version    Print the version and exit

Prints one line per file, "accepted: FILE: VERDICT, N facts" or "rejected: FILE: STEP: REASON". The words of a
certificate are for people and are not checked. A fact about a model (stack) names files: they lie beside the
certificate. The format: docs/certificates.md.

Exit status: 0 if every file is accepted; 1 if one is rejected; 2 for bad usage or a file that is no
certificate; 4 if one cannot be read. The largest counts.

Examples:
  ropewalk-check minimum.json verdicts/R*.json
  ropewalk-check --json minimum.json
)";

// FLINT ends the process where it cannot go on, as for want of memory: a status of failure, never
// of success.
void flint_gave_up() __attribute__((noreturn));
void flint_gave_up() {
  std::cerr << "rejected: the arithmetic library gave up\n";
  std::_Exit(4);
}

}  // namespace
}  // namespace checker

int main(int argc, char** argv) {
  flint_set_abort(checker::flint_gave_up);
  std::vector<std::string> files(argv + 1, argv + argc);
  const auto asked = [&](const char* option) { return std::erase(files, option) > 0; };
  if (asked("--help") || asked("-h")) return std::cout << checker::help, 0;
  if (asked("--version")) return std::cout << "ropewalk-check " CHECKER_VERSION "\n", 0;
  const bool as_json = asked("--json");
  if (files.empty() || files.front()[0] == '-') {
    std::cerr << "ropewalk-check: "
              << (files.empty() ? "no file" : "unknown option " + files.front())
              << "; see --help\n";
    return 2;
  }

  int code = 0;
  auto results = checker::json::array();
  for (const std::string& file : files) {
    const auto [status, what] = checker::check_file(file);
    code = std::max(code, status);
    results.push_back(
        {{"file", file}, {"accepted", status == 0}, {status == 0 ? "verdict" : "reason", what}});
    if (!as_json)
      std::cout << (status == 0 ? "accepted: " : "rejected: ") << file << ": " << what << std::endl;
  }
  if (as_json)
    std::cout << results.dump(2, ' ', false, checker::json::error_handler_t::replace) << '\n';
  if (!std::cout.flush()) {
    std::cerr << "ropewalk-check: the output cannot be written\n";
    return 4;
  }
  return code;
}
