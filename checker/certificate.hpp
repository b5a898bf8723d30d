// One certificate file: read, parsed strictly, and every fact of it checked.
#pragma once

#include <string>

namespace checker {

struct Outcome {
  int code = 0;         // 0 accepted, 1 rejected, 2 no certificate, 4 cannot be read
  std::string verdict;  // proved, refuted or undecided, where accepted
  long facts = 0;
  std::string reason;  // what failed, where not accepted
};

/// Never throws, whatever the file holds.
Outcome check_file(const std::string& path);

}  // namespace checker
