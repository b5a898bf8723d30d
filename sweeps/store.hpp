#pragma once
/// \file
/// The store of a sweep: one SQLite file with every answer, and beside it a folder of certificates.
///
/// - `cells`: one row per answer, by key. A row is written once and never changed.
/// - `tables`: the formulas of every rotary table that a cell speaks of.
/// - `sweeps` and `entries`: which specs were asked, by what command, and which cells answer them.
///
/// Rows are written in transactions (write-ahead log), certificates beside and renamed before their
/// rows: a process that dies at any moment loses what it was computing and nothing else. Several
/// processes may write to one store; whoever is first with a cell wins, and the answers are the
/// same.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sweeps/plan.hpp"

struct sqlite3;

namespace ropewalk::sweeps {

/// One line of what was asked, with its answer if there is one yet.
struct Row {
  std::string sweep;        ///< name of the spec
  std::string table;        ///< name of the table in it
  std::string coordinates;  ///< JSON object
  std::string quantity;
  std::string parameters;  ///< JSON object
  std::string length;
  std::string status;  ///< "certified", "proven", "undecided", "none", or "missing"
  std::string lo;
  std::string hi;
  std::string detail;  ///< JSON object
  std::string method;
  double seconds = 0;       ///< of the job that found it
  std::string certificate;  ///< path relative to the store's folder, or empty
};

/// The enclosure of a row that has one. Domain: lo and hi as Store::rows() gives them, not empty.
[[nodiscard]] Enclosure enclosure_of(const Row& row);
/// The names and texts of coordinates or parameters as a row has them.
[[nodiscard]] Parameters pairs(const std::string& json);

struct SweepRecord {
  std::string name;
  std::string title;
  std::string command;
  std::string spec;
};

class Store {
 public:
  enum class Access { create, read };
  /// Opens the file; `create` makes it where there is none. Throws Error(file) where it cannot be
  /// read or written, is no database, is damaged or not a store of ropewalk, or was made by another
  /// version of its layout.
  Store(const std::string& path, Access access);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// Notes what is asked: replaces an earlier spec of the same name. Cost: one row per entry.
  void ask(const Spec& spec, const Plan& plan, const std::string& command);
  /// For every cell of the plan, whether it has no answer yet.
  [[nodiscard]] std::vector<bool> missing(const Plan& plan) const;
  [[nodiscard]] bool has(const std::string& key) const;
  /// Writes a job's rows, and its certificate before them. Rows that are there stay.
  void write(const Findings& findings);

  [[nodiscard]] std::vector<SweepRecord> sweeps() const;
  /// Every entry, in the order asked; of one sweep, or of all for an empty name. What a row holds
  /// is checked: Error(file) names the row whose numbers or JSON are damaged.
  void rows(const std::string& sweep, const std::function<void(const Row&)>& f) const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  class Statement;
  void run(const char* sql) const;
  [[noreturn]] void fail(const std::string& what) const;
  void check_layout(bool fresh) const;

  std::string path_;
  sqlite3* database_ = nullptr;
};

}  // namespace ropewalk::sweeps
