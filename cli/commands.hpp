#pragma once
/// \file
/// The commands: each adds itself to the root and sets the exit code when it has run.

#include <CLI/CLI.hpp>

namespace ropewalk::cli {

void add_verify(CLI::App& root, int& exit_code);
void add_base(CLI::App& root, int& exit_code);
void add_construct(CLI::App& root, int& exit_code);
void add_discrepancy(CLI::App& root, int& exit_code);
void add_extremum(CLI::App& root, int& exit_code);
void add_horizon(CLI::App& root, int& exit_code);
void add_optimal(CLI::App& root, int& exit_code);
void add_precision(CLI::App& root, int& exit_code);
void add_schedule(CLI::App& root, int& exit_code);
void add_report(CLI::App& root, int& exit_code);
void add_plot(CLI::App& root, int& exit_code);
void add_sweep(CLI::App& root, int& exit_code);
void add_export_store(CLI::App& root, int& exit_code);
void add_task(CLI::App& root, int& exit_code);
void add_score(CLI::App& root, int& exit_code);
void add_audit(CLI::App& root, int& exit_code);
void add_export(CLI::App& root, int& exit_code);
void add_heads(CLI::App& root, int& exit_code);
void add_evaluate(CLI::App& root, int& exit_code);
void add_inspect(CLI::App& root, int& exit_code);

/// `verify --schedule`: the questions of the ledger for one model's table.
struct ScheduleQuestions {
  std::string config;
  std::string length;
  std::string layer;
  bool json = false;
};
void verify_schedule(const ScheduleQuestions& questions);

}  // namespace ropewalk::cli
