// A loop over chunks on a few threads. The chunks are fixed by the data and each writes its own
// results, which the caller sums in chunk order: the answer does not depend on the number of threads.
// Threads live for one call only (about 30 µs against kernels of milliseconds): nothing to break
// after a fork, nothing left in the process.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <exception>
#include <thread>
#include <vector>

namespace proxqn {

constexpr std::int64_t kWorthThreads = 1 << 18;  // multiply-adds: a thread costs 30 microseconds
inline int jobs_for(std::int64_t work, int n_jobs) { return work < kWorthThreads ? 1 : n_jobs; }

template <class Body>
void parallel_for(std::int64_t n_chunks, int n_jobs, const Body& body) {
  if (n_jobs > n_chunks) n_jobs = static_cast<int>(n_chunks);
  if (n_jobs <= 1) {
    for (std::int64_t chunk = 0; chunk < n_chunks; ++chunk) body(chunk);
    return;
  }
  std::atomic<std::int64_t> next{0};
  std::vector<std::exception_ptr> errors(n_jobs);
  auto work = [&](int job) {
    try {
      for (std::int64_t chunk; (chunk = next.fetch_add(1)) < n_chunks;) body(chunk);
    } catch (...) {
      errors[job] = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(n_jobs - 1);
  for (int job = 1; job < n_jobs; ++job) threads.emplace_back(work, job);
  work(0);
  for (auto& thread : threads) thread.join();
  for (auto& error : errors)
    if (error) std::rethrow_exception(error);
}

inline void clear(std::uint8_t* bytes, std::int64_t n, int n_jobs) {
  constexpr std::int64_t chunk = 1 << 22;
  parallel_for((n + chunk - 1) / chunk, n_jobs, [&](std::int64_t i) {
    std::memset(bytes + i * chunk, 0, std::min(chunk, n - i * chunk));
  });
}

}  // namespace proxqn
