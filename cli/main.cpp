// ropewalk: parses, calls, prints. No mathematics here.

#include <cstdio>
#include <iostream>
#include <new>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "theory/error.hpp"

namespace {

int exit_code_of(ropewalk::ErrorCode code) {
  switch (code) {
    case ropewalk::ErrorCode::file: return ropewalk::cli::file_trouble;
    case ropewalk::ErrorCode::undecided: return ropewalk::cli::undecided;
    default: return ropewalk::cli::bad_input;
  }
}

// Errors are one line, whatever a library put into its message.
int complain(std::string message, int code) {
  for (char& c : message)
    if (c == '\n' || c == '\r') c = ' ';
  while (!message.empty() && message.back() == ' ') message.pop_back();
  std::cerr << "ropewalk: " << message << '\n';
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  int exit_code = ropewalk::cli::as_expected;
  CLI::App root{
      "ropewalk answers, with proof, how far a rotary (RoPE) attention head can be trusted:\n"
      "can it look exactly m tokens back, or find the matching symbol, at length n, under this\n"
      "frequency table?",
      "ropewalk"};
  root.set_version_flag("--version", std::string("ropewalk ") + ROPEWALK_VERSION);
  root.require_subcommand(1);
  root.footer(
      "Exit status: 0 all as expected, 1 a claim or check failed, 2 bad usage or input, 3 "
      "undecided,\n"
      "4 file or system trouble. 'ropewalk COMMAND --help' explains a command, with examples.\n"
      "\n"
      "Examples:\n"
      "  ropewalk verify\n"
      "  ropewalk discrepancy index --theta 2 --length 4 --offset 1\n"
      "  ropewalk schedule examples/configs/llama-3.1-8b.json");
  ropewalk::cli::add_verify(root, exit_code);
  ropewalk::cli::add_discrepancy(root, exit_code);
  ropewalk::cli::add_extremum(root, exit_code);
  ropewalk::cli::add_schedule(root, exit_code);
  try {
    root.parse(argc, argv);
    std::cout.flush();
    if (!std::cout)
      return complain("standard output cannot be written", ropewalk::cli::file_trouble);
  } catch (const CLI::Success& e) {  // --help, --version
    return root.exit(e);
  } catch (const CLI::ParseError& e) {
    return complain(e.what(), ropewalk::cli::bad_input);
  } catch (const ropewalk::Error& e) {
    return complain(e.what(), exit_code_of(e.code()));
  } catch (const std::bad_alloc&) {
    return complain("out of memory", ropewalk::cli::file_trouble);
  } catch (const std::exception& e) {
    return complain(e.what(), ropewalk::cli::file_trouble);
  }
  return exit_code;
}
