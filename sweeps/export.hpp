#pragma once
/// \file
/// A store as a table in other formats. One line per entry, columns as in `Row`.

#include <iosfwd>
#include <string>

#include "sweeps/store.hpp"

namespace ropewalk::sweeps {

/// Comma-separated values (RFC 4180) with a header line. Coordinates and parameters stay JSON.
void export_csv(const Store& store, const std::string& sweep, std::ostream& out);
/// One JSON object per line; coordinates, parameters and detail are objects, numbers stay text.
void export_jsonl(const Store& store, const std::string& sweep, std::ostream& out);
/// NumPy's .npz: arrays `lo` and `hi` (float64, rounded outward, NaN where there is no answer),
/// `length` and `seconds` (float64), and text arrays of the other columns. Bytes.
[[nodiscard]] std::string export_npz(const Store& store, const std::string& sweep);

}  // namespace ropewalk::sweeps
