#pragma once
/// \file
/// The data files of `papers/`, compiled in.

#include <span>
#include <string_view>

namespace ropewalk::papers {

struct Text {
  std::string_view path;  ///< relative to papers/, e.g. 2605.31558/claims.toml
  std::string_view content;
};

/// Every data file, sorted by path.
[[nodiscard]] std::span<const Text> texts();

}  // namespace ropewalk::papers
