#include "cli/output.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace ropewalk::cli {

using theory::Enclosure;
using theory::Formula;
using theory::Integer;
using theory::Round;

Json json(const Enclosure& x, unsigned digits) {
  return {{"lo", decimal(x.lo, digits, Round::down)}, {"hi", decimal(x.hi, digits, Round::up)}};
}

Json json(const std::optional<Enclosure>& x, unsigned digits) {
  return x ? json(*x, digits) : Json(nullptr);
}

Formula parse_angle(std::string_view flag, const std::string& text) {
  try {
    return Formula::parse(text);
  } catch (const Error& e) {
    throw Error(e.code(), std::string(flag) + ": " + e.what());
  }
}

Integer parse_integer(std::string_view flag, const std::string& text) {
  const auto value = parse_angle(flag, text).rational();
  if (!value || denominator(*value) != 1)
    throw Error(ErrorCode::bad_value, std::string(flag) + ": '" + text + "' is not a whole number");
  return Integer(numerator(*value));
}

namespace {

// Whether there is a file; never a device, a pipe or a folder.
bool exists_as_file(const std::string& path) {
  std::error_code problem;
  const auto kind = std::filesystem::status(path, problem).type();
  if (kind != std::filesystem::file_type::not_found && kind != std::filesystem::file_type::regular)
    throw Error(ErrorCode::file, path + ": not a regular file");
  return kind == std::filesystem::file_type::regular;
}

}  // namespace

void write_file(const std::string& path, const std::string& content) {
  // Through a link, to where it leads.
  std::error_code problem;
  const bool exists = exists_as_file(path);
  const auto target =
      exists ? std::filesystem::canonical(path, problem) : std::filesystem::path(path);
  const std::string whole = problem ? path : target.string();
  const std::string beside = whole + ".part" + std::to_string(getpid());
  std::FILE* file = std::fopen(beside.c_str(), "wb");
  const auto fail = [&](const char* what) {
    const std::string reason = std::strerror(errno);
    if (file != nullptr) std::fclose(file);
    std::remove(beside.c_str());
    throw Error(ErrorCode::file, path + ": " + what + ": " + reason);
  };
  if (file == nullptr) fail("cannot be written");
  if (std::fwrite(content.data(), 1, content.size(), file) != content.size())
    fail("cannot be written");
  const bool flushed = std::fflush(file) == 0 && fsync(fileno(file)) == 0;
  if (!flushed) fail("cannot be written");
  const bool closed = std::fclose(file) == 0;
  file = nullptr;
  if (!closed) fail("cannot be closed");
  if (std::rename(beside.c_str(), whole.c_str()) != 0) fail("cannot be renamed into place");
}

void add_certificate(CLI::App& app, std::string& file) {
  app.add_option("--certificate", file,
                 "Also write what proves the answer, for ropewalk-check (docs/certificates.md)")
      ->type_name("FILE");
}

void check_certificate(const std::string& file) {
  if (file.empty() || exists_as_file(file)) return;
  const auto folder = std::filesystem::path(file).parent_path();
  if (!folder.empty() && access(folder.c_str(), W_OK) != 0)
    throw Error(ErrorCode::file, file + ": cannot be written: " + std::strerror(errno));
}

void write_certificate(const std::string& file, proofs_numeric::Verdict verdict,
                       const std::vector<proofs_numeric::Fact>& facts, const Json& words) {
  if (file.empty()) return;
  write_file(file, proofs_numeric::certificate(name(verdict), facts, words).dump(2) + "\n");
}

bool draws_progress() { return isatty(STDERR_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr; }

void add_common(CLI::App& app, Common& common) {
  app.add_flag("--json", common.json, "Print one JSON object instead of text");
  app.add_option("--threads", common.threads, "Use at most this many threads (default: all cores)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
}

tbb::global_control thread_limit(const Common& common) {
  using Control = tbb::global_control;
  const std::size_t all = Control::active_value(Control::max_allowed_parallelism);
  return Control(Control::max_allowed_parallelism,
                 common.threads > 0 ? static_cast<std::size_t>(common.threads) : all);
}

}  // namespace ropewalk::cli
