#pragma once
/// \file
/// Specs written in tests, and a folder that is gone when the test is.

#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "sweeps/run.hpp"
#include "tests/catch.hpp"

namespace ropewalk::tests {

struct Folder {
  std::filesystem::path path;
  explicit Folder(const std::string& name)
      : path(std::filesystem::temp_directory_path() /
             ("ropewalk-" + name + "-" + std::to_string(getpid()))) {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string operator/(const std::string& name) const {
    return (path / name).string();
  }
};

inline sweeps::Spec parse(const std::string& text) {
  return sweeps::parse_spec(text, "s.toml", [](const std::string& path) -> nlohmann::json {
    throw Error(ErrorCode::file, path + ": not here");
  });
}

inline std::string complaint(const std::string& text) {
  try {
    (void)parse(text);
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

inline theory::Rational number(const std::string& text) {
  return *theory::Formula::parse(text).rational();
}

}  // namespace ropewalk::tests
