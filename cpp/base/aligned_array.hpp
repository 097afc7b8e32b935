// Arrays that begin on a cache line, so that no register is loaded from two. Large ones ask for huge pages:
// a page of 4 KB costs a microsecond when it is first touched, and several if two threads touch theirs at
// the same time.
#pragma once
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

namespace proxqn::base {

template <class S>
class AlignedArray {
  static_assert(std::is_trivial_v<S>);

 public:
  explicit AlignedArray(std::int64_t n)
      : first_(n > 0 ? allocate(n * sizeof(S)) : nullptr) {}  // not yet set
  static AlignedArray zeros(std::int64_t n) {
    AlignedArray made(n);
    if (n > 0) std::memset(made.data(), 0, n * sizeof(S));
    return made;
  }
  S* data() { return first_.get(); }
  const S* data() const { return first_.get(); }
  S& operator[](std::int64_t i) { return first_[i]; }
  const S& operator[](std::int64_t i) const { return first_[i]; }
  S* release() { return first_.release(); }  // to be given to std::free

 private:
  static constexpr std::size_t kLine = 64, kHugePage = 2 << 20;
  static S* allocate(std::size_t n_bytes) {
    const std::size_t page = n_bytes >= 2 * kHugePage ? kHugePage : kLine;
    const std::size_t size = (n_bytes + page - 1) / page * page;
    void* made = std::aligned_alloc(page, size);
    if (!made) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    if (page == kHugePage) madvise(made, size, MADV_HUGEPAGE);  // if not, pages are small
#endif
    return static_cast<S*>(made);
  }
  struct Free {
    void operator()(S* p) const { std::free(p); }
  };
  std::unique_ptr<S[], Free> first_;
};

// Working memory, of zeros.
struct AlignedFree {
  void operator()(void* p) const { ::operator delete[](p, std::align_val_t{64}); }
};
template <class S>
using ScratchOf = std::unique_ptr<S[], AlignedFree>;
using Scratch = ScratchOf<double>;
template <class S = double>
ScratchOf<S> scratch(std::int64_t n) {
  auto* p = static_cast<S*>(::operator new[](n * sizeof(S), std::align_val_t{64}));
  std::fill(p, p + n, S{});
  return ScratchOf<S>(p);
}

}  // namespace proxqn::base

namespace proxqn {
using namespace base;  // every room speaks it
}
