#include "base/parallel.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

namespace proxqn::base {

// Returns when the value is no longer the old one.
static void wait_while(const std::atomic<int>& value, int old) {
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

// Makes n of what begins a thread, or as many as the system has threads and memory for.
template <class Threads, class Make>
static void make_up_to(Threads& threads, int n, const Make& make) {
  try {
    threads.reserve(n);  // so that nothing is lost that has begun
    while (static_cast<int>(threads.size()) < n) threads.push_back(make(threads.size()));
  } catch (const std::system_error&) {  // no more threads
  } catch (const std::bad_alloc&) {}
}

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

void run_together(int n_jobs, const Work& work) {
  Team& team = Team::get();
  if (std::unique_lock lock(team.busy, std::try_to_lock); lock) {
    make_up_to(team.helpers, n_jobs - 1, [](std::size_t) { return std::make_unique<Helper>(); });
    const int n = std::min(n_jobs - 1, static_cast<int>(team.helpers.size()));
    for (int i = 0; i < n; ++i) team.helpers[i]->start(work, i + 1);
    work(0);
    for (int i = 0; i < n; ++i) team.helpers[i]->finish();
    return;
  }
  std::vector<std::thread> threads;
  make_up_to(threads, n_jobs - 1,
             [&](std::size_t i) { return std::thread(std::cref(work), static_cast<int>(i) + 1); });
  work(0);
  for (auto& thread : threads) thread.join();
}

}  // namespace proxqn::base
