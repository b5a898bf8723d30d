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

int main(int argc, char** argv) {
  flint_set_abort(flint_gave_up);
  std::vector<std::string> files(argv + 1, argv + argc);
  const auto asked = [&](const char* option) { return std::erase(files, option) > 0; };
  if (asked("--help") || asked("-h")) return std::cout << help, 0;
  if (asked("--version")) return std::cout << "ropewalk-check " CHECKER_VERSION "\n", 0;
  const bool as_json = asked("--json");
  if (files.empty() || files.front()[0] == '-') {
    std::cerr << "ropewalk-check: "
              << (files.empty() ? "no file" : "unknown option " + files.front())
              << "; see --help\n";
    return 2;
  }

  int code = 0;
  auto results = nlohmann::json::array();
  for (const std::string& file : files) {
    const auto [status, what] = checker::check_file(file);
    code = std::max(code, status);
    results.push_back(
        {{"file", file}, {"accepted", status == 0}, {status == 0 ? "verdict" : "reason", what}});
    if (!as_json)
      std::cout << (status == 0 ? "accepted: " : "rejected: ") << file << ": " << what << std::endl;
  }
  if (as_json)
    std::cout << results.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  if (!std::cout.flush()) {
    std::cerr << "ropewalk-check: the output cannot be written\n";
    return 4;
  }
  return code;
}
