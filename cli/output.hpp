#pragma once
/// \file
/// What the commands share: numbers in and out, files written whole or not at all, common flags.

#include <tbb/global_control.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proofs_numeric/claims.hpp"

namespace ropewalk::cli {

using Json = nlohmann::ordered_json;

/// Exit codes of every command.
enum ExitCode : int {
  as_expected = 0,
  check_failed = 1,
  bad_input = 2,
  undecided = 3,
  file_trouble = 4
};

/// {"lo": "...", "hi": "..."}: decimal strings of `digits` significant digits, rounded outward.
[[nodiscard]] Json json(const theory::Enclosure& x, unsigned digits = 24);
/// The same, or null.
[[nodiscard]] Json json(const std::optional<theory::Enclosure>& x, unsigned digits = 24);

/// An angle in radians: any formula. Errors name the flag and, for a number as people write them
/// (128k, 1,000,000), say what to write instead.
[[nodiscard]] theory::Formula parse_angle(std::string_view flag, const std::string& text);
/// A rational number; errors as of parse_angle.
[[nodiscard]] theory::Rational parse_rational(std::string_view flag, const std::string& text);
/// A whole number of any size, also written 1e100; errors as of parse_angle.
[[nodiscard]] theory::Integer parse_integer(std::string_view flag, const std::string& text);
/// --length: a whole number >= 1; errors as of parse_angle.
[[nodiscard]] theory::Integer parse_length(const std::string& text);
/// --layer, 0..100000; errors as of parse_angle.
[[nodiscard]] unsigned parse_layer(const std::string& text);

/// Writes beside `path` and renames, so that no partial file is ever seen. A link is followed. One
/// at a time. Members throw Error(file), also where the path is a device, a pipe or a folder.
class NewFile {
 public:
  explicit NewFile(const std::string& path);
  ~NewFile();  ///< what was not committed is gone
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view bytes);
  /// The last call: now the file is there.
  void commit();

 private:
  void discard();
  [[noreturn]] void fail(const char* what);

  std::string path_;
  std::string whole_;
  std::string beside_;  // empty where there is nothing to remove
  std::FILE* file_ = nullptr;
};
/// The same for content at hand.
void write_file(const std::string& path, const std::string& content);

/// A folder that appears with all its files or not at all: written beside and renamed. With `force`
/// it takes the place of one that holds nothing but files of the names given. Members throw
/// Error(file): where there is something else already, naming it, and where a file cannot be
/// written.
class NewFolder {
 public:
  NewFolder(const std::string& path, bool force, const std::vector<std::string>& names);
  ~NewFolder();  ///< what was not committed is gone
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  /// One of the names.
  void write(const std::string& name, std::string_view content);
  /// The last call: now the folder is there.
  void commit();

 private:
  [[nodiscard]] std::string at(const std::string& name) const { return beside_ + "/" + name; }
  void discard();

  std::string path_;
  std::string beside_;              // empty where there is nothing to remove
  std::vector<std::string> files_;  // of `beside_`, as written
  bool replaces_ = false;
};

/// --certificate FILE, of commands whose answers ropewalk-check can check.
void add_certificate(CLI::App& app, std::string& file);
/// Throws Error(file) where the certificate could not be written: ask before long work. Nothing for
/// an empty name.
void check_certificate(const std::string& file);
/// Writes the certificate (docs/certificates.md); nothing for an empty name. `words` say what the
/// facts are about, beside the command as of `question` and the version. Throws as write_file.
void write_certificate(const std::string& file, const std::string& command,
                       proofs_numeric::Verdict verdict,
                       const std::vector<proofs_numeric::Fact>& facts, const Json& words);

/// The question that a command was asked, in one form: "ropewalk optimal --base 500000 --planes 64
/// --reach 131072". Flags stand in the order of --help, numbers are written out and files are named
/// without their folders; what only says how to answer (--json, --threads, --certificate) is left
/// out. A shell takes it as it is.
[[nodiscard]] std::string question(const CLI::App& app);
/// One word for a shell: in quotes where it has to be.
[[nodiscard]] std::string shell_word(const std::string& word);
/// The name of a file without its folders, as printable text.
[[nodiscard]] std::string file_name(const std::string& path);

/// Ctrl-C ends the program with one line and status `undecided`, and leaves no partial file.
void end_on_interrupt();

/// True if stderr is a terminal and NO_COLOR is not set: progress may be drawn.
[[nodiscard]] bool draws_progress();

/// --json and --threads, which every command has.
struct Common {
  bool json = false;
  std::string threads;  ///< empty: all cores
};
void add_common(CLI::App& app, Common& common);
/// Keeps to --threads for as long as it lives. Throws Error(bad_value) outside 1..1024.
[[nodiscard]] tbb::global_control thread_limit(const Common& common);

/// Warnings go to stderr; with --json they stand in the object instead.
void tell(const std::vector<std::string>& warnings, const Common& common);

}  // namespace ropewalk::cli
