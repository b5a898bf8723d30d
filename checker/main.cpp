#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "certificate.hpp"
#include "number.hpp"

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
  ropewalk-check --version
  ropewalk-check minimum.json verdicts/*.json
  ropewalk-check --json minimum.json
)";

// FLINT ends the process where it cannot go on, as for want of memory: a status of failure, never
// of success.
[[noreturn]] void flint_gave_up() {
  std::cerr << "rejected: the arithmetic library gave up\n";
  std::_Exit(4);
}

}  // namespace

int main(int argc, char** argv) {
  flint_set_abort(flint_gave_up);
  bool as_json = false, options = true;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (options && (argument == "-h" || argument == "--help")) {
      std::cout << help;
      return 0;
    }
    if (options && argument == "--version") {
      std::cout << "ropewalk-check " CHECKER_VERSION "\n";
      return 0;
    }
    if (options && argument == "--json") {
      as_json = true;
    } else if (options && argument == "--") {
      options = false;
    } else if (options && argument.size() > 1 && argument.front() == '-') {
      std::cerr << "ropewalk-check: unknown option '" << argument << "'; --help lists them\n";
      return 2;
    } else {
      files.push_back(argument);
    }
  }
  if (files.empty()) {
    std::cerr << "ropewalk-check: no file given; --help shows how\n";
    return 2;
  }

  int code = 0;
  nlohmann::json list = nlohmann::json::array();
  for (const std::string& file : files) {
    const checker::Outcome out = checker::check_file(file);
    code = std::max(code, out.code);
    if (as_json) {
      nlohmann::json entry = {{"file", file}, {"accepted", out.code == 0}};
      if (out.code == 0) {
        entry["verdict"] = out.verdict;
        entry["facts"] = std::to_string(out.facts);
      } else {
        entry["reason"] = out.reason;
      }
      list.push_back(std::move(entry));
    } else if (out.code == 0) {
      std::cout << "accepted: " << file << ": " << out.verdict << ", " << out.facts
                << (out.facts == 1 ? " fact" : " facts") << std::endl;
    } else {
      std::cout << "rejected: " << file << ": " << out.reason << std::endl;
    }
  }
  if (as_json)
    std::cout << list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  return code;
}
