#pragma once
/// \file
/// Runs what a store is missing: on the threads of one machine, or on many ranks of MPI.
///
/// Jobs do not depend on each other, so whoever is free takes the next, the longest first. One
/// process owns the store. Under MPI that is rank 0: it hands out jobs by number, computes too, and
/// writes what comes back; every rank has read the same spec, so a number is all that travels.

#include <functional>

#include "sweeps/store.hpp"

namespace ropewalk::sweeps {

struct Progress {
  std::size_t jobs = 0;
  std::size_t jobs_done = 0;
  std::size_t cells = 0;
  std::size_t cells_done = 0;
  double share = 0;  ///< of the estimated operations
};

struct RunOptions {
  std::atomic<bool>* stop = nullptr;  ///< set it to interrupt; what is finished stays stored
  std::function<void(const Progress&)> progress;  ///< called after each job, one call at a time
};

/// Answers every job and stores it. Returns false where it was interrupted. Throws what the store
/// throws; the other jobs end first. Parallel (oneTBB).
bool run_jobs(const Spec& spec, const Plan& plan, const std::vector<Job>& jobs, Store& store,
              const RunOptions& options = {});

}  // namespace ropewalk::sweeps
