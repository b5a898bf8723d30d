#pragma once
/// \file
/// The same run on many ranks of MPI (`mpirun -n K ropewalk sweep ...`).
///
/// Rank 0 owns the store, hands out chunks of jobs and computes too; the others ask, compute and
/// send back. A chunk is a share of the work that is left, so the first are large and the last are
/// single jobs. Without mpirun, or in a build without MPI, there is one rank and nothing here is
/// started. Where a rank dies mpirun ends all of them; what had reached rank 0 is stored, and the
/// same command goes on.

#include "sweeps/run.hpp"

namespace ropewalk::sweeps {

/// The ranks of this process's run. One of these lives for as long as MPI is needed.
class Ranks {
 public:
  /// Starts MPI if mpirun started this process. Throws Error(unsupported) where it did and this
  /// build has no MPI.
  Ranks();
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] int rank() const { return rank_; }

  /// run_jobs() over all ranks; every rank calls it with the same spec and plan. `missing` and
  /// `store` are those of rank 0; the others pass an empty list and no store. Throws
  /// Error(conflict) on every rank where they have not read the same spec. Errors of the store end
  /// all ranks.
  bool run(const Spec& spec, const Plan& plan, std::vector<bool> missing, Store* store,
           const RunOptions& options) const;

 private:
  int count_ = 1;
  int rank_ = 0;
};

}  // namespace ropewalk::sweeps
