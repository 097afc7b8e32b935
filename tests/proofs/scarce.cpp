// Preloaded into Python (LD_PRELOAD): refuses allocations and threads when told to, by ctypes.
//
// Counted are those that one library asks for, or the C++ library on its behalf; or, of at least `floor`
// bytes, those that anyone asks for.
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

struct Range {
  std::uintptr_t first = 0, last = 0;
};
constexpr int kMostRanges = 16;
struct Library {
  Range ranges[kMostRanges];
  int n = 0;

  bool has(void* address) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    for (int i = 0; i < n; ++i)
      if (ranges[i].first <= at && at < ranges[i].last) return true;
    return false;
  }
};
Library watched, standard;  // the second: which asks for others
std::size_t least = 0;      // bytes of what is counted
bool anyone = false;        // whoever asks
std::atomic<bool> counting{false};
std::atomic<long> asked{0};                // allocations that counted
long refused_first = 0, refused_last = 0;  // of those, from 1 on
std::atomic<long> threads_asked{0};
long threads_from = 0;  // refused from this one on; 0: none is

// Whether the C++ library was called by the watched one.
bool asks_for_watched() {
  void* callers[24];
  const int n = backtrace(callers, 24);
  int i = 0;
  while (i < n && !standard.has(callers[i])) ++i;  // ours
  while (i < n && standard.has(callers[i])) ++i;
  return i < n && watched.has(callers[i]);
}

bool refuses(void* caller, std::size_t size) {
  if (!counting.load(std::memory_order_relaxed) || size < least) return false;
  if (!anyone && !watched.has(caller) && !(standard.has(caller) && asks_for_watched()))
    return false;
  const long now = ++asked;
  return refused_first <= now && now <= refused_last;
}

struct Search {
  const char* name;
  Library* into;
};
int note(dl_phdr_info* info, std::size_t, void* data) {
  const auto& search = *static_cast<Search*>(data);
  if (!std::strstr(info->dlpi_name, search.name)) return 0;
  for (int i = 0; i < info->dlpi_phnum && search.into->n < kMostRanges; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || !(part.p_flags & PF_X)) continue;
    const std::uintptr_t first = info->dlpi_addr + part.p_vaddr;
    search.into->ranges[search.into->n++] = {first, first + part.p_memsz};
  }
  return 0;
}

#define CALLER __builtin_return_address(0)
void* or_throw(void* made) {
  if (!made) throw std::bad_alloc();
  return made;
}
void* refused() {
  errno = ENOMEM;
  return nullptr;
}

}  // namespace

extern "C" {

// Counts what a loaded library asks for; how many of its parts were found.
int scarce_watch(const char* name) {
  for (Search search : {Search{name, &watched}, Search{"libstdc++", &standard}})
    dl_iterate_phdr(note, &search);
  asks_for_watched();  // what that loads is loaded now
  return watched.n;
}
void scarce_anyone(std::size_t floor) { anyone = true, least = floor; }
// Refuses the allocations numbered first to last from now on.
void scarce_begin(long first, long last) {
  asked = 0, refused_first = first, refused_last = last;
  counting = true;
}
long scarce_end() {
  counting = false;
  return asked;
}
void scarce_threads(long from) { threads_asked = 0, threads_from = from; }
long scarce_threads_asked() { return threads_asked; }
std::size_t scarce_in_use() {
  const auto now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

void* malloc(std::size_t n) { return refuses(CALLER, n) ? refused() : __libc_malloc(n); }
void* calloc(std::size_t n, std::size_t size) {
  return refuses(CALLER, n * size) ? refused() : __libc_calloc(n, size);
}
void* realloc(void* p, std::size_t n) {
  return refuses(CALLER, n) ? refused() : __libc_realloc(p, n);
}
void* aligned_alloc(std::size_t to, std::size_t n) {
  return refuses(CALLER, n) ? refused() : __libc_memalign(to, n);
}
int posix_memalign(void** made, std::size_t to, std::size_t n) {
  if (refuses(CALLER, n)) return ENOMEM;
  *made = __libc_memalign(to, n);
  return *made ? 0 : ENOMEM;
}

int pthread_create(pthread_t* made, const pthread_attr_t* how, void* (*run)(void*), void* with) {
  static const auto real =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  const long now = ++threads_asked;
  return threads_from && now >= threads_from ? EAGAIN : real(made, how, run, with);
}

}  // extern "C"

void* operator new(std::size_t n) {
  return or_throw(refuses(CALLER, n) ? nullptr : __libc_malloc(n ? n : 1));
}
void* operator new[](std::size_t n) {
  return or_throw(refuses(CALLER, n) ? nullptr : __libc_malloc(n ? n : 1));
}
void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  return refuses(CALLER, n) ? nullptr : __libc_malloc(n ? n : 1);
}
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept {
  return refuses(CALLER, n) ? nullptr : __libc_malloc(n ? n : 1);
}
void* operator new(std::size_t n, std::align_val_t to) {
  return or_throw(refuses(CALLER, n) ? nullptr : __libc_memalign(static_cast<std::size_t>(to), n));
}
void* operator new[](std::size_t n, std::align_val_t to) {
  return or_throw(refuses(CALLER, n) ? nullptr : __libc_memalign(static_cast<std::size_t>(to), n));
}
