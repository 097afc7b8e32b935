// A loop over chunks on a few threads. The chunks are fixed by the data and each writes its own
// results, which the caller sums in chunk order: the answer does not depend on the number of threads.
//
// A thread begins with its own share of neighbouring chunks, then helps the others. Loops over the same
// slots, one after the other, then find them in their own core's cache: a line that another core has
// written takes several times as long to come as one from memory that nobody has.
//
// Threads stay for the next call: a new one takes 50 to 100 microseconds to begin, of which a fit would
// have hundreds. They look out for work for a moment, then sleep. A process that was forked has none of
// its parent's and makes its own; of two calls at a time the second makes threads for itself alone.
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

namespace proxqn::base {

constexpr std::int64_t kWorthThreads = 1 << 18;  // multiply-adds: to wake a thread takes a while
inline int jobs_for(std::int64_t work, int n_jobs) { return work < kWorthThreads ? 1 : n_jobs; }

using Work = std::function<void(int)>;  // of a job

// Runs work(0) here and work(1), ..., work(n_jobs - 1) on other threads, as far as there are any: a job
// must do what those without a thread leave.
void run_together(int n_jobs, const Work& work);

template <class Body>
void parallel_for(std::int64_t n_chunks, int n_jobs, const Body& body) {
  if (n_jobs > n_chunks) n_jobs = static_cast<int>(n_chunks);
  if (n_jobs <= 1) {
    for (std::int64_t chunk = 0; chunk < n_chunks; ++chunk) body(chunk);
    return;
  }
  struct alignas(64) Share {
    std::atomic<std::int64_t> next;
    std::int64_t end;
  };
  std::vector<Share> shares(n_jobs);
  for (int job = 0; job < n_jobs; ++job) {
    shares[job].next = job * n_chunks / n_jobs;
    shares[job].end = (job + 1) * n_chunks / n_jobs;
  }
  std::vector<std::exception_ptr> errors(n_jobs);
  run_together(n_jobs, [&](int job) {
    try {
      for (int k = 0; k < n_jobs; ++k) {  // its own share first
        Share& share = shares[(job + k) % n_jobs];
        for (std::int64_t chunk; (chunk = share.next.fetch_add(1)) < share.end;) body(chunk);
      }
    } catch (...) {
      errors[job] = std::current_exception();
    }
  });
  for (auto& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace proxqn::base

namespace proxqn {
using namespace base;  // every room speaks it
}
