#pragma once
/// \file
/// A store as one web page that needs nothing else: tables that sort, pictures inside, a link from
/// each number to its certificate, and the commands that made it.

#include <string>

#include "sweeps/store.hpp"

namespace ropewalk::sweeps {

struct ReportOptions {
  std::string
      certificates;      ///< path from the page to the folder of the store; empty: the same folder
  bool pictures = true;  ///< drawn by gnuplot; without it Error(unsupported)
  std::string version;   ///< of the program
};

/// The page, UTF-8. Readable without scripts, in light and dark, on narrow screens.
[[nodiscard]] std::string report(const Store& store, const ReportOptions& options);

}  // namespace ropewalk::sweeps
