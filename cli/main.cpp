// ropewalk: parses, calls, prints. No mathematics here.

#include <algorithm>
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

// Errors are one line of bounded length, whatever a library or an argument put into the message.
int complain(std::string message, int code) {
  for (char& c : message)
    if (c == '\n' || c == '\r') c = ' ';
  while (!message.empty() && message.back() == ' ') message.pop_back();
  if (constexpr std::size_t longest = 400; message.size() > longest) {
    std::size_t end = longest;
    while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0U) == 0x80U)
      --end;  // whole letters
    message.resize(end);
    message += " ...";
  }
  std::cerr << "ropewalk: " << message << '\n';
  return code;
}

bool is_command(const CLI::App& root, const std::string& word) {
  const auto commands = root.get_subcommands({});
  return std::any_of(commands.begin(), commands.end(),
                     [&](const CLI::App* command) { return command->get_name() == word; });
}

// An empty argument is an error, not an absent option.
void refuse_empty_arguments(CLI::App& app) {
  const CLI::Validator not_empty(
      [](std::string& text) { return std::string(text.empty() ? "must not be empty" : ""); }, "");
  for (CLI::Option* option : app.get_options())
    if (option->get_expected_max() > 0) option->check(not_empty);
  for (CLI::App* command : app.get_subcommands({})) refuse_empty_arguments(*command);
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
  ropewalk::cli::add_base(root, exit_code);
  ropewalk::cli::add_extremum(root, exit_code);
  ropewalk::cli::add_horizon(root, exit_code);
  ropewalk::cli::add_optimal(root, exit_code);
  ropewalk::cli::add_precision(root, exit_code);
  ropewalk::cli::add_schedule(root, exit_code);
  refuse_empty_arguments(root);
  try {
    if (const std::string first = argc > 1 ? argv[1] : ""; !first.empty() && first != "--help" &&
                                                           first != "-h" && first != "--version" &&
                                                           !is_command(root, first))
      throw ropewalk::Error(ropewalk::ErrorCode::usage,
                            "no command is called '" + first + "'; ropewalk --help lists them");
    root.parse(argc, argv);
    std::cout.flush();
    if (!std::cout)
      return complain("standard output cannot be written", ropewalk::cli::file_trouble);
  } catch (const CLI::Success& e) {  // --help, --version
    const int code = root.exit(e);
    std::cout.flush();
    return std::cout ? code
                     : complain("standard output cannot be written", ropewalk::cli::file_trouble);
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
