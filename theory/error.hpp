#pragma once
/// \file
/// One exception type for everything that can go wrong with *input*, with one flat enum of codes.
/// The message is one line for a person and names the file, key or flag it is about.

#include <stdexcept>
#include <string>

namespace ropewalk {

enum class ErrorCode {
  usage,        ///< a flag or argument is missing, unknown or contradicts another
  bad_value,    ///< a value outside its domain (n <= 0, A < 2, negative dimension, ...)
  parse,        ///< text or JSON that is not what it should be
  conflict,     ///< two places give the same quantity different values
  unsupported,  ///< understood and deliberately not handled; named in the message
  not_exact,    ///< an exact value was asked for where none exists (a transcendental in rationals)
  too_large,    ///< beyond a stated cap on size or precision
  undecided,    ///< the highest precision was not enough to decide
  file,         ///< a file cannot be read or written
};

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace ropewalk
