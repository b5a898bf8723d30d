#pragma once
/// \file
/// The rotary tables of a sweep, each with a name and with the coordinates that plots put on axes.

#include <functional>
#include <map>
#include <string>

#include "theory/circle.hpp"
#include "theory/schedule.hpp"

namespace ropewalk::sweeps {

using theory::Lag;

/// Parameter names and their values as text, sorted by name: one text per meaning, so that equal
/// questions have equal keys.
using Parameters = std::map<std::string, std::string>;

/// A table at one length.
struct Table {
  theory::Schedule schedule;
  std::string id;  ///< SHA-256 of the formulas and of the float32 table, 64 hex digits
};
[[nodiscard]] Table table_of(theory::Schedule schedule);

/// A table as a sweep names it. Those of dynamic NTK and LongRoPE depend on the length.
struct NamedTable {
  std::string name;
  std::string section;     ///< name given to its [[schedule]], or empty
  Parameters coordinates;  ///< base, planes, factor, p, angle, seed, ...: numbers as text
  bool depends_on_length = false;
  /// The table for sequences of this many tokens. Throws what the builders of schedules throw.
  std::function<theory::Schedule(const theory::Integer& length)> at;
};

/// The number as a decimal where that is exact in 20 digits, else as a fraction: 0.0027, 1/3.
[[nodiscard]] std::string plain(const theory::Rational& x);
/// The formula likewise.
[[nodiscard]] std::string shown(const theory::Formula& x);

}  // namespace ropewalk::sweeps
