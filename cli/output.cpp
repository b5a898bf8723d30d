#include "cli/output.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <ranges>

namespace ropewalk::cli {

using theory::Enclosure;
using theory::Formula;
using theory::Integer;
using theory::Rational;
using theory::Round;

Json json(const Enclosure& x, unsigned digits) {
  return {{"lo", decimal(x.lo, digits, Round::down)}, {"hi", decimal(x.hi, digits, Round::up)}};
}

Json json(const std::optional<Enclosure>& x, unsigned digits) {
  return x ? json(*x, digits) : Json(nullptr);
}

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// 1,000,000 and 1_000_000 and 1 000 000 without what parts the thousands; a decimal comma as a
// point. Nothing where it is neither.
std::optional<std::string> without_separators(const std::string& text) {
  std::string plain;
  std::vector<std::size_t> groups = {0};
  std::size_t commas = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_digit(c)) {
      plain += c;
      ++groups.back();
    } else if (c == '.' && plain.find('.') == std::string::npos) {
      plain += c;
    } else if (c == ',' || c == '_' || c == '\'' || c == ' ') {
      if (i == 0 || i + 1 == text.size() || !is_digit(text[i - 1]) || !is_digit(text[i + 1]))
        return std::nullopt;
      groups.push_back(0);
      commas += c == ',' ? 1 : 0;
    } else {
      return std::nullopt;
    }
  }
  if (plain.empty() || plain == ".") return std::nullopt;
  if (commas == 0) return plain;
  if (plain.find('.') == std::string::npos &&
      std::all_of(groups.begin() + 1, groups.end(), [](std::size_t n) { return n == 3; }) &&
      groups.front() <= 3 && plain.front() != '0')
    return plain;
  if (commas != 1 || groups.size() != 2 || plain.find('.') != std::string::npos)
    return std::nullopt;
  return plain.insert(groups.front(), ".");
}

// What to write for a number as people write them: 128k, 1M, 1,000,000, 90%, 2**20. Empty for other
// text.
std::string hint(const std::string& text) {
  if (text.size() > 40) return "";
  std::string number = text;
  std::string unit;
  while (!number.empty() &&
         (std::isalpha(static_cast<unsigned char>(number.back())) != 0 || number.back() == '%')) {
    unit.insert(unit.begin(),
                static_cast<char>(std::tolower(static_cast<unsigned char>(number.back()))));
    number.pop_back();
  }
  while (!number.empty() && number.back() == ' ') number.pop_back();
  if (const auto power = number.find("**"); power != std::string::npos && unit.empty()) {
    const std::string caret = number.replace(power, 2, "^");
    try {
      return Formula::parse(caret).rational() ? "write " + caret : "";
    } catch (const Error&) {
      return "";
    }
  }
  const auto plain = without_separators(number);
  if (!plain) return "";
  const Rational value = *Formula::parse(*plain).rational();
  const auto whole = [&](const Integer& times) -> std::string {
    const Rational x = value * times;
    return denominator(x) == 1 ? Integer(numerator(x)).str() : "";
  };
  if (unit.empty()) return "write " + *plain;
  if (unit == "%") return "write " + decimal(Rational(value / 100), 12, Round::nearest);
  const std::size_t power = std::string("kmgt").find(unit.front()) + 1;
  if (power == 0 || (unit.size() > 1 && unit.substr(1) != "i")) return "";
  const auto exponent = static_cast<unsigned>(power);
  const std::string binary = whole(boost::multiprecision::pow(Integer(1024), exponent));
  const std::string thousands = whole(boost::multiprecision::pow(Integer(1000), exponent));
  if (unit.size() == 2) return binary.empty() ? "" : "write " + binary;
  if (binary.empty() || thousands.empty()) return thousands.empty() ? "" : "write " + thousands;
  return "write " + binary + " or " + thousands;
}

}  // namespace

Formula parse_angle(std::string_view flag, const std::string& text) {
  try {
    return Formula::parse(text);
  } catch (const Error& e) {
    if (const std::string better = hint(text); !better.empty())
      throw Error(ErrorCode::bad_value, std::string(flag) + ": " + text + ": " + better);
    throw Error(e.code(), std::string(flag) + ": " + e.what());
  }
}

Rational parse_rational(std::string_view flag, const std::string& text) {
  const auto value = parse_angle(flag, text).rational();
  if (!value)
    throw Error(ErrorCode::bad_value,
                std::string(flag) + ": '" + text + "' is not a rational number");
  return *value;
}

Integer parse_integer(std::string_view flag, const std::string& text) {
  const auto value = parse_angle(flag, text).rational();
  if (!value || denominator(*value) != 1)
    throw Error(ErrorCode::bad_value, std::string(flag) + ": '" + text + "' is not a whole number");
  return Integer(numerator(*value));
}

Integer parse_length(const std::string& text) {
  Integer length = parse_integer("--length", text);
  if (length < 1)
    throw Error(ErrorCode::bad_value, "--length must be at least 1, not " + length.str());
  return length;
}

unsigned parse_layer(const std::string& text) {
  const Integer layer = parse_integer("--layer", text);
  if (layer < 0 || layer > 100000)
    throw Error(ErrorCode::bad_value, "--layer must lie in 0..100000, not " + layer.str());
  return static_cast<unsigned>(layer);
}

namespace {

// What is being written and has no name of its own yet: a file, or a folder and its files after it.
std::array<std::atomic<const char*>, 16> partial{};

void keep_in_mind(const char* path) {
  for (auto& slot : partial)
    if (slot == nullptr) {
      slot = path;
      return;
    }
}
// From a signal handler too: files before the folder that holds them.
void remove_partial() {
  for (auto& slot : std::ranges::reverse_view(partial))
    if (const char* path = slot; path != nullptr && unlink(path) != 0) rmdir(path);
}
void forget(const char* path) {
  for (auto& slot : partial)
    if (slot == path) slot = nullptr;
}

// Whether there is a file; never a device, a pipe or a folder.
bool exists_as_file(const std::string& path) {
  std::error_code problem;
  const auto kind = std::filesystem::status(path, problem).type();
  if (kind != std::filesystem::file_type::not_found && kind != std::filesystem::file_type::regular)
    throw Error(ErrorCode::file, path + ": not a regular file");
  return kind == std::filesystem::file_type::regular;
}

}  // namespace

NewFile::NewFile(const std::string& path) : path_(path) {
  // Through a link, to where it leads.
  std::error_code problem;
  const bool exists = exists_as_file(path);
  const auto target =
      exists ? std::filesystem::canonical(path, problem) : std::filesystem::path(path);
  whole_ = problem ? path : target.string();
  beside_ = whole_ + ".part" + std::to_string(getpid());
  keep_in_mind(beside_.c_str());
  file_ = std::fopen(beside_.c_str(), "wb");
  if (file_ == nullptr) fail("cannot be written");
}

NewFile::~NewFile() { discard(); }

void NewFile::discard() {
  if (beside_.empty()) return;
  if (file_ != nullptr) std::fclose(file_);
  file_ = nullptr;
  std::remove(beside_.c_str());
  forget(beside_.c_str());
  beside_.clear();
}

void NewFile::fail(const char* what) {
  const std::string reason = std::strerror(errno);
  discard();
  throw Error(ErrorCode::file, path_ + ": " + what + ": " + reason);
}

void NewFile::write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) fail("cannot be written");
}

void NewFile::commit() {
  const bool flushed = std::fflush(file_) == 0 && fsync(fileno(file_)) == 0;
  if (!flushed) fail("cannot be written");
  const bool closed = std::fclose(file_) == 0;
  file_ = nullptr;
  if (!closed) fail("cannot be closed");
  if (std::rename(beside_.c_str(), whole_.c_str()) != 0) fail("cannot be renamed into place");
  forget(beside_.c_str());
  beside_.clear();
}

void write_file(const std::string& path, const std::string& content) {
  NewFile file(path);
  file.write(content);
  file.commit();
}

NewFolder::NewFolder(const std::string& path, bool force, const std::vector<std::string>& names)
    : path_(path) {
  namespace fs = std::filesystem;
  std::error_code problem;
  const fs::file_status status = fs::status(path, problem);
  if (!fs::exists(status) && fs::is_symlink(fs::symlink_status(path, problem)))
    throw Error(ErrorCode::file, path + ": a link that leads nowhere");
  if (fs::exists(status)) {
    if (!fs::is_directory(status)) throw Error(ErrorCode::file, path + ": not a folder");
    bool empty = true;
    for (const auto& entry : fs::directory_iterator(path, problem)) {
      const std::string name = entry.path().filename().string();
      empty = false;
      if (std::find(names.begin(), names.end(), name) == names.end() || !entry.is_regular_file())
        throw Error(ErrorCode::file, path + " is not empty: holds " + file_name(name) +
                                         ", which is not of such a folder and is not replaced");
    }
    if (problem) throw Error(ErrorCode::file, path + ": " + problem.message());
    if (!empty && !force)
      throw Error(ErrorCode::file, path + " is not empty; --force replaces what is in it");
    replaces_ = true;
  }
  // Beside the folder itself, also where the path is a link to it or ends with a slash.
  fs::path whole = replaces_ ? fs::canonical(path, problem) : fs::absolute(path, problem);
  if (!whole.has_filename()) whole = whole.parent_path();
  path_ = whole.string();
  beside_ = path_ + ".part" + std::to_string(getpid());
  files_.reserve(names.size());
  if (mkdir(beside_.c_str(), 0777) != 0) {
    beside_.clear();
    throw Error(ErrorCode::file, path + ": cannot be made: " + std::strerror(errno));
  }
  keep_in_mind(beside_.c_str());
}

NewFolder::~NewFolder() { discard(); }

void NewFolder::discard() {
  if (beside_.empty()) return;
  for (const std::string& file : files_) {
    std::remove(file.c_str());
    forget(file.c_str());
  }
  rmdir(beside_.c_str());
  forget(beside_.c_str());
  beside_.clear();
}

void NewFolder::write(const std::string& name, std::string_view content) {
  files_.push_back(at(name));
  keep_in_mind(files_.back().c_str());
  std::FILE* file = std::fopen(files_.back().c_str(), "wb");
  bool good = file != nullptr;
  good = good && std::fwrite(content.data(), 1, content.size(), file) == content.size();
  good = good && std::fflush(file) == 0 && fsync(fileno(file)) == 0;
  const int reason = errno;
  if (file != nullptr) std::fclose(file);
  if (!good)
    throw Error(ErrorCode::file,
                path_ + ": " + name + " cannot be written: " + std::strerror(reason));
}

void NewFolder::commit() {
  namespace fs = std::filesystem;
  const std::string old = path_ + ".old" + std::to_string(getpid());
  const auto failed = [&] {
    throw Error(ErrorCode::file, path_ + ": cannot be put into place: " + std::strerror(errno));
  };
  if (replaces_ && std::rename(path_.c_str(), old.c_str()) != 0) failed();
  if (std::rename(beside_.c_str(), path_.c_str()) != 0) {
    const int reason = errno;
    if (replaces_) [[maybe_unused]]
      const int back = std::rename(old.c_str(), path_.c_str());
    errno = reason;
    failed();
  }
  for (const std::string& file : files_) forget(file.c_str());
  forget(beside_.c_str());
  beside_.clear();
  std::error_code ignored;  // what is left of the old one is not part of the new one
  if (replaces_) fs::remove_all(old, ignored);
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

void write_certificate(const std::string& file, const std::string& command,
                       proofs_numeric::Verdict verdict,
                       const std::vector<proofs_numeric::Fact>& facts, const Json& words) {
  if (file.empty()) return;
  Json all{{"command", command}, {"ropewalk", ROPEWALK_VERSION}};
  all.update(words);
  write_file(file, proofs_numeric::certificate(name(verdict), facts, all).dump(2) + "\n");
}

std::string file_name(const std::string& path) {
  std::string name = std::filesystem::path(path).filename().string();
  for (char& c : name)
    if (c < ' ' || c > '~') c = '?';
  return name;
}

std::string shell_word(const std::string& word) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-+=.,:/@%^").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word;
  std::string result = "'";
  for (const char c : word) result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

std::string question(const CLI::App& app) {
  std::string result = app.get_name();
  if (!result.starts_with("ropewalk ")) result = "ropewalk " + result;
  for (const CLI::Option* option : app.get_options()) {
    const std::string flag = option->get_name();
    if (option->count() == 0 || flag == "--json" || flag == "--threads" ||
        flag == "--certificate" || flag == "--out" || flag == "--force")
      continue;
    if (!option->get_positional()) result += " " + flag;
    if (option->get_expected_max() == 0) continue;
    for (const std::string& value : option->results()) {
      std::string shown = value;
      try {
        if (const auto number = Formula::parse(value).rational()) shown = number->str();
      } catch (const Error&) {  // no number: a word, or a file
        shown = file_name(value);
      }
      result += " " + shell_word(shown);
    }
  }
  return result;
}

void end_on_interrupt() {
  static const std::string message =
      std::string(draws_progress() ? "\r" : "") + "ropewalk: interrupted\n";
  std::signal(SIGINT, [](int) {
    // A second signal may reach another thread while this one is ending the process.
    static std::atomic_flag ending;
    if (ending.test_and_set()) return;
    remove_partial();
    [[maybe_unused]] const auto written = write(STDERR_FILENO, message.data(), message.size());
    _exit(undecided);
  });
  // Other ends are as they were, but leave nothing half-written either; a file that may not grow is
  // an error like a full disk.
  for (const int end : {SIGTERM, SIGHUP, SIGPIPE})
    std::signal(end, [](int signal) {
      remove_partial();
      std::signal(signal, SIG_DFL);
      raise(signal);
    });
  std::signal(SIGXFSZ, SIG_IGN);
}

bool draws_progress() { return isatty(STDERR_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr; }

void add_common(CLI::App& app, Common& common) {
  app.add_flag("--json", common.json, "Print one JSON object instead of text");
  app.add_option("--threads", common.threads, "Use at most this many threads (default: all cores)")
      ->type_name("COUNT");
}

tbb::global_control thread_limit(const Common& common) {
  using Control = tbb::global_control;
  std::size_t threads = Control::active_value(Control::max_allowed_parallelism);
  if (!common.threads.empty()) {
    const Integer asked = parse_integer("--threads", common.threads);
    if (asked < 1 || asked > 1024)
      throw Error(ErrorCode::bad_value, "--threads must lie in 1..1024, not " + asked.str());
    threads = static_cast<std::size_t>(asked);
  }
  return Control(Control::max_allowed_parallelism, threads);
}

void tell(const std::vector<std::string>& warnings, const Common& common) {
  if (common.json) return;
  for (const std::string& warning : warnings) std::cerr << "warning: " << warning << '\n';
}

}  // namespace ropewalk::cli
