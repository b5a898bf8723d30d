#include "sweeps/ranks.hpp"

#include <cstdlib>

#ifdef ROPEWALK_MPI
#include <mpi.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <chrono>
#include <mutex>
#include <thread>

#include "proofs_numeric/sha256.hpp"
#endif

namespace ropewalk::sweeps {

namespace {

// Set by Open MPI, and by MPICH and Slurm's PMI, for every process they start.
bool started_by_mpirun() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})
    if (std::getenv(name) != nullptr) return true;
  return false;
}

}  // namespace

#ifndef ROPEWALK_MPI

Ranks::Ranks() {
  if (started_by_mpirun())
    throw Error(
        ErrorCode::unsupported,
        "started by mpirun, but this ropewalk was built without MPI: install libopenmpi-dev "
        "and build again");
}
Ranks::~Ranks() = default;

bool Ranks::run(const Spec& spec, const Plan& plan, std::vector<bool> missing, Store* store,
                const RunOptions& options) const {
  return run_jobs(spec, plan, jobs_of(spec, plan, missing), *store, options);
}

#else

namespace {

constexpr int result_tag = 1;  // from a rank: what it found, and a request for more
constexpr int work_tag = 2;    // from rank 0: numbers of jobs; none: that was all

using namespace std::chrono_literals;

// MPI's own waiting takes a whole core.
MPI_Status wait_for(int source, int tag) {
  MPI_Status status;
  for (auto pause = 20us;; pause = std::min(pause * 2, std::chrono::microseconds(1ms))) {
    int there = 0;
    MPI_Iprobe(source, tag, MPI_COMM_WORLD, &there, &status);
    if (there != 0) return status;
    std::this_thread::sleep_for(pause);
  }
}

std::string receive_text(const MPI_Status& status) {
  int size = 0;
  MPI_Get_count(&status, MPI_CHAR, &size);
  std::string text(static_cast<std::size_t>(size), '\0');
  MPI_Recv(text.data(), size, MPI_CHAR, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  return text;
}

void send_text(const std::string& text, int target, int tag) {
  MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, target, tag, MPI_COMM_WORLD);
}

Json to_json(const Findings& found) {
  Json rows = Json::array();
  for (const Finding& r : found.rows)
    rows.push_back({r.key, r.status, r.lo, r.hi, r.detail, r.method});
  return {found.job, found.seconds, found.certificate, std::move(rows)};
}

Findings from_json(const Json& j) {
  Findings found;
  found.job = j[0];
  found.seconds = j[1];
  found.certificate = j[2];
  for (const Json& r : j[3]) found.rows.push_back({r[0], r[1], r[2], r[3], r[4], r[5]});
  return found;
}

// Answers a chunk on the threads of this rank.
std::vector<Findings> compute(const Spec& spec, const Plan& plan, const std::vector<Job>& jobs,
                              const std::vector<std::size_t>& chunk, std::atomic<bool>* stop) {
  std::vector<Findings> found(chunk.size());
  std::atomic<std::size_t> next = 0;
  tbb::task_group group;
  const int workers = tbb::this_task_arena::max_concurrency();
  for (int i = 0; i < workers; ++i)
    group.run([&] {
      tbb::this_task_arena::isolate([&] {
        for (std::size_t k = next++; k < chunk.size() && !*stop; k = next++) {
          found[k] = answer(spec, plan, jobs[chunk[k]], stop);
          found[k].job = chunk[k];
        }
      });
    });
  group.wait();
  std::erase_if(found, [](const Findings& f) { return f.rows.empty(); });
  return found;
}

// Hands out the jobs in order, a chunk being a share of the operations left.
class Queue {
 public:
  Queue(const std::vector<Job>& jobs, int ranks) : jobs_(jobs), ranks_(ranks) {
    for (const Job& job : jobs) left_ += job.operations;
  }
  std::vector<std::size_t> take() {
    const std::lock_guard lock(mutex_);
    std::vector<std::size_t> chunk;
    const double share = left_ / (8.0 * ranks_);
    double taken = 0;
    while (next_ < jobs_.size() && (chunk.empty() || taken < share)) {
      taken += jobs_[next_].operations;
      chunk.push_back(next_++);
    }
    left_ -= taken;
    return chunk;
  }

 private:
  const std::vector<Job>& jobs_;
  int ranks_;
  std::mutex mutex_;
  std::size_t next_ = 0;
  double left_ = 0;
};

void work_for_rank_0(const Spec& spec, const Plan& plan, const std::vector<Job>& jobs,
                     std::atomic<bool>* stop) {
  Json results = Json::array();
  for (;;) {
    send_text(results.dump(), 0, result_tag);
    const MPI_Status status = wait_for(0, work_tag);
    const Json numbers = Json::parse(receive_text(status));
    if (numbers.empty()) return;
    results = Json::array();
    for (const Findings& f :
         compute(spec, plan, jobs, numbers.get<std::vector<std::size_t>>(), stop))
      results.push_back(to_json(f));
  }
}

}  // namespace

Ranks::Ranks() {
  if (!started_by_mpirun()) return;
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_size(MPI_COMM_WORLD, &count_);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
}

Ranks::~Ranks() {
  int started = 0;
  MPI_Initialized(&started);
  if (started == 0) return;
  // Leaving while others wait for an answer would let them wait for ever.
  if (std::uncaught_exceptions() > 0)
    MPI_Abort(MPI_COMM_WORLD, 4);
  else
    MPI_Finalize();
}

bool Ranks::run(const Spec& spec, const Plan& plan, std::vector<bool> missing, Store* store,
                const RunOptions& options) const {
  if (count_ == 1) return run_jobs(spec, plan, jobs_of(spec, plan, missing), *store, options);
  std::atomic<bool> never = false;
  std::atomic<bool>* stop = options.stop != nullptr ? options.stop : &never;

  std::string keys;
  for (const Cell& cell : plan.cells) keys += cell.key;
  std::string mine = proofs_numeric::sha256(keys);
  std::string first = mine;
  MPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  int same = first == mine ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (same == 0)
    throw Error(ErrorCode::conflict, spec.name + ": the ranks have read different specs");

  std::vector<char> flags(plan.cells.size());
  if (rank_ == 0) std::copy(missing.begin(), missing.end(), flags.begin());
  MPI_Bcast(flags.data(), static_cast<int>(flags.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  missing.assign(flags.begin(), flags.end());
  const std::vector<Job> jobs = jobs_of(spec, plan, missing);
  if (rank_ != 0) {
    work_for_rank_0(spec, plan, jobs, stop);
    return true;
  }

  Queue queue(jobs, count_);
  std::mutex writing;
  Progress progress;
  progress.jobs = jobs.size();
  double operations = 0;
  double done = 0;
  for (const Job& job : jobs) {
    operations += job.operations;
    progress.cells += job.cells.size();
  }
  const auto keep = [&](const Findings& found) {
    const std::lock_guard lock(writing);
    store->write(found);
    ++progress.jobs_done;
    progress.cells_done += jobs[found.job].cells.size();
    done += jobs[found.job].operations;
    progress.share = operations > 0 ? done / operations : 1;
    if (options.progress) options.progress(progress);
  };

  std::exception_ptr trouble;
  std::atomic<bool> ended = false;
  const int threads = tbb::this_task_arena::max_concurrency();
  std::thread own([&] {
    try {
      tbb::task_arena(threads).execute([&] {
        for (auto chunk = queue.take(); !chunk.empty() && !*stop; chunk = queue.take())
          for (const Findings& found : compute(spec, plan, jobs, chunk, stop)) keep(found);
      });
    } catch (...) {
      trouble = std::current_exception();
    }
    ended = true;
  });
  try {
    for (int left = count_ - 1; left > 0;) {
      const MPI_Status status = wait_for(MPI_ANY_SOURCE, result_tag);
      const Json results = Json::parse(receive_text(status));
      const std::vector<std::size_t> chunk =
          *stop || (ended && trouble) ? std::vector<std::size_t>() : queue.take();
      send_text(Json(chunk).dump(), status.MPI_SOURCE, work_tag);
      if (chunk.empty()) --left;
      for (const Json& found : results) keep(from_json(found));
    }
  } catch (...) {
    *stop = true;
    own.join();
    throw;
  }
  own.join();
  if (trouble) std::rethrow_exception(trouble);
  return progress.jobs_done == jobs.size();
}

#endif

}  // namespace ropewalk::sweeps
