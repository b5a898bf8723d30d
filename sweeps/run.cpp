#include "sweeps/run.hpp"

#include <tbb/parallel_for_each.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <mutex>

namespace ropewalk::sweeps {

bool run_jobs(const Spec& spec, const Plan& plan, const std::vector<Job>& jobs, Store& store,
              const RunOptions& options) {
  Progress progress;
  double operations = 0;
  double done = 0;
  progress.jobs = jobs.size();
  for (const Job& job : jobs) {
    progress.cells += job.cells.size();
    operations += job.operations;
  }
  std::atomic<bool> never = false;
  std::atomic<bool>* stop = options.stop != nullptr ? options.stop : &never;
  std::mutex writing;
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;

  const auto work = [&] {
    for (std::size_t i = next++; i < jobs.size() && !*stop && !failed; i = next++) {
      const Job& job = jobs[i];
      // Another process may have been here.
      bool there = false;
      {
        const std::lock_guard lock(writing);
        there = store.has(plan.cells[job.cells.back()].key);
      }
      Findings findings;
      if (!there) {
        try {
          findings = answer(spec, plan, job, stop);
        } catch (const Error&) {
          if (*stop) return;
          throw;
        }
      }
      const std::lock_guard lock(writing);
      if (!there) store.write(findings);
      ++progress.jobs_done;
      progress.cells_done += job.cells.size();
      done += job.operations;
      progress.share = operations > 0 ? done / operations : 1;
      if (options.progress) options.progress(progress);
    }
  };
  tbb::task_group group;
  const int workers = tbb::this_task_arena::max_concurrency();
  for (int i = 0; i < workers; ++i)
    group.run([&] {
      try {
        tbb::this_task_arena::isolate(work);
      } catch (...) {
        failed = true;
        throw;
      }
    });
  group.wait();
  return progress.jobs_done == jobs.size();
}

}  // namespace ropewalk::sweeps
