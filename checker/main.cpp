#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "facts.hpp"

namespace {

constexpr const char* help =
    R"(Checks certificates of ropewalk: recomputes every fact with Arb and exact rationals
Usage: ropewalk-check [OPTIONS] FILE...

Options:
  -h, --help   Print this help message and exit
  --json       Print one JSON list instead of lines
  --version    Print the version and exit

Prints one line per file, "accepted: FILE: VERDICT, N facts" or "rejected: FILE: STEP: REASON". The words of a
certificate are for people and are not checked. The format: docs/certificates.md.

Exit status: 0 if every file is accepted; 1 if one is rejected; 2 for bad usage or a file that is no
certificate; 4 if one cannot be read. The largest counts.

Examples:
  ropewalk-check minimum.json verdicts/*.json
  ropewalk-check --json minimum.json
)";

// FLINT ends the process where it cannot go on, as for want of memory: a status of failure, never
// of success.
[[noreturn]] void flint_gave_up() {
  std::cerr << "rejected: the arithmetic library gave up\n";
  std::_Exit(4);
}

int bad_usage(const std::string& what) {
  std::cerr << "ropewalk-check: " << what << "; see --help\n";
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  flint_set_abort(flint_gave_up);
  bool as_json = false;
  std::vector<std::string> files;
  for (const std::string& argument : std::vector<std::string>(argv + 1, argv + argc)) {
    if (argument == "-h" || argument == "--help") return std::cout << help, 0;
    if (argument == "--version") return std::cout << "ropewalk-check " CHECKER_VERSION "\n", 0;
    if (argument != "--json" && argument.rfind('-', 0) == 0)
      return bad_usage("unknown option '" + argument + "'");
    if (argument == "--json")
      as_json = true;
    else
      files.push_back(argument);
  }
  if (files.empty()) return bad_usage("no file given");

  int code = 0;
  nlohmann::json results = nlohmann::json::array();
  for (const std::string& file : files) {
    const checker::Outcome out = checker::check_file(file);
    const std::string facts = std::to_string(out.facts);
    code = std::max(code, out.code);
    if (as_json && out.code == 0)
      results.push_back(
          {{"file", file}, {"accepted", true}, {"verdict", out.verdict}, {"facts", facts}});
    else if (as_json)
      results.push_back({{"file", file}, {"accepted", false}, {"reason", out.reason}});
    else if (out.code == 0)
      std::cout << "accepted: " << file << ": " << out.verdict << ", " << facts
                << (out.facts == 1 ? " fact" : " facts") << std::endl;
    else
      std::cout << "rejected: " << file << ": " << out.reason << std::endl;
  }
  if (as_json)
    std::cout << results.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  return code;
}
