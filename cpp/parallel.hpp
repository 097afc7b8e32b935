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
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace proxqn {

constexpr std::int64_t kWorthThreads = 1 << 18;  // multiply-adds: to wake a thread takes a while
inline int jobs_for(std::int64_t work, int n_jobs) { return work < kWorthThreads ? 1 : n_jobs; }

// Returns when the value is no longer the old one.
inline void wait_while(const std::atomic<int>& value, int old) {
  constexpr int spins = 2000;  // some 50 microseconds
  constexpr std::chrono::microseconds patience{500};
  auto changed = [&] { return value.load(std::memory_order_acquire) != old; };
  for (int i = 0; i < spins; ++i) {
    if (changed()) return;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < patience) {
    if (changed()) return;
    std::this_thread::yield();
  }
  value.wait(old, std::memory_order_acquire);
}

using Work = std::function<void(int)>;  // of a job

// A thread that waits for work. It lives as long as the process, and so must this.
class Helper {
 public:
  Helper() {
    std::thread([this] {
      for (;;) {
        wait_while(busy_, 0);
        (*work_)(job_);
        tell(0);
      }
    }).detach();
  }
  void start(const Work& work, int job) {
    work_ = &work;
    job_ = job;
    tell(1);
  }
  void finish() const { wait_while(busy_, 1); }

 private:
  void tell(int busy) {
    busy_.store(busy, std::memory_order_release);
    busy_.notify_one();
  }
  std::atomic<int> busy_{0};
  const Work* work_ = nullptr;
  int job_ = 0;
};

// The helpers of a process; never destroyed, as they never end.
struct Team {
  const pid_t process = getpid();
  std::mutex busy;
  std::vector<std::unique_ptr<Helper>> helpers;

  static Team& get() {
    static std::atomic<Team*> current{nullptr};
    Team* team = current.load();
    while (!team || team->process != getpid()) {
      auto made = std::make_unique<Team>();
      if (current.compare_exchange_strong(team, made.get())) team = made.release();
    }
    return *team;
  }
};

// Runs work(0) here and work(1), ..., work(n_jobs - 1) on other threads.
inline void run_together(int n_jobs, const Work& work) {
  Team& team = Team::get();
  if (std::unique_lock lock(team.busy, std::try_to_lock); lock) {
    while (static_cast<int>(team.helpers.size()) < n_jobs - 1)
      team.helpers.push_back(std::make_unique<Helper>());
    for (int job = 1; job < n_jobs; ++job) team.helpers[job - 1]->start(work, job);
    work(0);
    for (int job = 1; job < n_jobs; ++job) team.helpers[job - 1]->finish();
    return;
  }
  std::vector<std::thread> threads;
  threads.reserve(n_jobs - 1);
  for (int job = 1; job < n_jobs; ++job) threads.emplace_back(work, job);
  work(0);
  for (auto& thread : threads) thread.join();
}

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

}  // namespace proxqn
