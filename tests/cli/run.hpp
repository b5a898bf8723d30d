#pragma once
/// \file
/// Runs the built command as a user would, through a shell, and keeps what it printed.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/catch.hpp"
#include "theory/formula.hpp"

namespace ropewalk::tests {

struct Run {
  int code = -1;
  std::string out;
  std::string err;

  [[nodiscard]] nlohmann::ordered_json json() const { return nlohmann::ordered_json::parse(out); }
  /// One line, and it says `part`.
  [[nodiscard]] bool complains(const std::string& part) const {
    return !err.empty() && err.find('\n') == err.size() - 1 && err.find(part) != std::string::npos;
  }
};

/// `arguments` as typed after `ropewalk`, and what is typed before it; the working directory is the
/// root of the sources.
inline Run run(const std::string& arguments, const std::string& before = "") {
  const std::string base = "/tmp/ropewalk-test-" + std::to_string(getpid());
  const std::string command = "cd '" ROPEWALK_SOURCE_DIR "' && " + before +
                              " '" ROPEWALK_BINARY "' " + arguments + " >" + base + ".out 2>" +
                              base + ".err </dev/null";
  const int status = std::system(command.c_str());
  const auto read = [](const std::string& path) {
    std::stringstream content;
    content << std::ifstream(path).rdbuf();
    std::remove(path.c_str());
    return content.str();
  };
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read(base + ".out"), read(base + ".err")};
}

/// A number as the JSON has it, exactly.
inline theory::Rational number(const nlohmann::ordered_json& text) {
  return *theory::Formula::parse(text.get<std::string>()).rational();
}

/// An empty folder that goes when the test does.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("ropewalk-folder-" + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::string operator/(const std::string& name) const {
    return (path_ / name).string();
  }
  /// The path of a new file with this content.
  [[nodiscard]] std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name) << content;
    return *this / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace ropewalk::tests
