#pragma once
/// \file
/// From a spec to cells and jobs.
///
/// A *cell* is one answer: a table, a quantity with its parameters, a length. Its key is the hash
/// of just that, so that the same question in another spec, or by another name of the table, is the
/// same cell. A *job* is what is computed in one go: cells of one table and one quantity.

#include "sweeps/spec.hpp"

namespace ropewalk::sweeps {

/// Part of every key: raised where an answer could change that stores hold already.
inline constexpr std::string_view engine = "2";

struct Cell {
  std::string key;    ///< SHA-256, 64 hex digits
  std::size_t table;  ///< index into Plan::tables
  std::size_t ask;    ///< index into Spec::asks
  Lag length;
};

/// One line of the table that a spec asks for.
struct Entry {
  std::size_t name;  ///< index into Spec::tables
  std::size_t ask;   ///< index into Spec::asks
  std::size_t cell;  ///< index into Plan::cells
};

struct Plan {
  std::vector<Table> tables;  ///< distinct
  std::vector<Cell> cells;    ///< distinct
  std::vector<Entry>
      entries;  ///< every question of the spec, in its order: tables, quantities, lengths
};
/// Cost: one table per name and distinct length where it depends on it, a hash per cell.
[[nodiscard]] Plan plan_of(const Spec& spec);

struct Job {
  std::size_t table;
  std::size_t ask;
  std::vector<std::size_t> cells;  ///< by increasing length
  double operations;               ///< estimate
};
/// The jobs that answer the cells for which `missing` is true, the longest first.
[[nodiscard]] std::vector<Job> jobs_of(const Spec& spec, const Plan& plan,
                                       const std::vector<bool>& missing);

/// What a job found, ready for a store.
struct Finding {
  std::string key;
  std::string status;  ///< "certified", "proven" or "undecided"
  std::string lo;      ///< decimal or empty, rounded outward
  std::string hi;
  std::string detail;  ///< JSON
  std::string method;
};
struct Findings {
  std::size_t job = 0;
  std::vector<Finding> rows;
  std::string certificate;  ///< JSON, or empty
  double seconds = 0;
};
/// Answers a job. What the engine cannot decide, and refuses, becomes an undecided row with a note;
/// an interruption is thrown as Error(undecided).
[[nodiscard]] Findings answer(const Spec& spec, const Plan& plan, const Job& job,
                              std::atomic<bool>* stop);

}  // namespace ropewalk::sweeps
