// ropewalk: parses, calls, prints. No mathematics here.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
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
int complain(std::string message, int code, const std::string& advice = "") {
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
  std::cerr << "ropewalk: " << message << advice << '\n';
  return code;
}

const CLI::App* command_of(const CLI::App& app, const std::string& word) {
  const auto commands = app.get_subcommands({});
  const auto at = std::find_if(commands.begin(), commands.end(), [&](const CLI::App* command) {
    return command->get_name() == word;
  });
  return at == commands.end() ? nullptr : *at;
}

// Where the command that was meant explains itself.
std::string advice(const CLI::App& root, int argc, char** argv) {
  std::string command = "ropewalk";
  const CLI::App* app = &root;
  for (int i = 1; i < argc; ++i) {
    app = command_of(*app, argv[i]);
    if (app == nullptr) break;
    command += std::string(" ") + argv[i];
  }
  return "; see `" + command + " --help`";
}

// An empty argument is an error, not an absent option.
void refuse_empty_arguments(CLI::App& app) {
  const CLI::Validator not_empty(
      [](std::string& text) { return std::string(text.empty() ? "must not be empty" : ""); }, "");
  for (CLI::Option* option : app.get_options())
    if (option->get_expected_max() > 0) option->check(not_empty);
  for (CLI::App* command : app.get_subcommands({})) refuse_empty_arguments(*command);
}

// Commands that need Ceres: `ropewalk design ...` is the program ropewalk-design, which lies beside
// this one where it was built.
constexpr std::array programs{"design", "crosscheck"};

void become(const std::string& command, char** arguments) {
  std::error_code problem;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", problem);
  const std::string program = (self.parent_path() / ("ropewalk-" + command)).string();
  execv(program.c_str(), arguments);
  throw ropewalk::Error(ropewalk::ErrorCode::unsupported,
                        "this ropewalk was built without Ceres, which `" + command +
                            "` needs: install libceres-dev and build again");
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
      "undecided or\n"
      "interrupted, 4 file or system trouble. Ctrl-C ends every command with status 3 and leaves "
      "no "
      "partial file.\n"
      "'ropewalk COMMAND --help' explains a command, with examples; docs/glossary.md its words.\n"
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
  ropewalk::cli::add_sweep(root, exit_code);
  ropewalk::cli::add_report(root, exit_code);
  ropewalk::cli::add_plot(root, exit_code);
  ropewalk::cli::add_export_store(root, exit_code);
  ropewalk::cli::add_construct(root, exit_code);
  ropewalk::cli::add_task(root, exit_code);
  ropewalk::cli::add_score(root, exit_code);
  ropewalk::cli::add_inspect(root, exit_code);
  ropewalk::cli::add_audit(root, exit_code);
  ropewalk::cli::add_export(root, exit_code);
  ropewalk::cli::add_heads(root, exit_code);
  ropewalk::cli::add_evaluate(root, exit_code);
  root.add_subcommand("design", "Search a frequency table for a length (where built with Ceres)");
  root.add_subcommand(
      "crosscheck",
      "Which construction each head of a model is, and how far from the best (where "
      "built with Ceres)");
  refuse_empty_arguments(root);
  ropewalk::cli::end_on_interrupt();
  try {
    for (const char* program : programs)
      if (argc > 1 && argv[1] == std::string(program)) become(program, argv + 1);
    if (const std::string first = argc > 1 ? argv[1] : ""; !first.empty() && first != "--help" &&
                                                           first != "-h" && first != "--version" &&
                                                           command_of(root, first) == nullptr)
      throw ropewalk::Error(ropewalk::ErrorCode::usage, "no command is called '" + first + "'");
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
    return complain(e.what(), ropewalk::cli::bad_input, advice(root, argc, argv));
  } catch (const ropewalk::Error& e) {
    return complain(e.what(), exit_code_of(e.code()),
                    e.code() == ropewalk::ErrorCode::usage ? advice(root, argc, argv) : "");
  } catch (const std::bad_alloc&) {
    return complain("out of memory", ropewalk::cli::file_trouble);
  } catch (const std::exception& e) {
    return complain(e.what(), ropewalk::cli::file_trouble);
  }
  return exit_code;
}
