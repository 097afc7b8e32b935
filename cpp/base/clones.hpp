// One function, compiled for several processors: the one at hand is chosen when the module is loaded, so
// that no flag such as -march=native is needed.
//
// What such a function calls is compiled with it as long as its text is at hand, and only then may it be
// fast. So a kernel and all that its loops call stand in one unit, behind a plain function.
#pragma once

// Inline so that a unit compiles only those that it calls; a function with clones is never inlined.
// PROXQN_ONE_LEVEL is for those who change kernels and build often, or prove each kind (CMakeLists.txt).
#if defined(PROXQN_ONE_TARGET)
#define PROXQN_CLONES inline __attribute__((target(PROXQN_ONE_TARGET), flatten))
#elif defined(PROXQN_ONE_LEVEL)
#define PROXQN_CLONES inline __attribute__((flatten))
#elif defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define PROXQN_CLONES \
  inline __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), flatten))
#else
#define PROXQN_CLONES inline
#endif
#define PROXQN_INLINE inline __attribute__((always_inline))
// After a lambda's parameters. One that is not inlined is compiled for the plainest processor, whatever
// its caller is for, and `flatten` alone does not see to it.
#define PROXQN_INLINED __attribute__((always_inline))

namespace proxqn::base {

// Calls functions with clones that may throw: for want of memory, most of them. GCC (12 at least) believes
// that none of them ever throws, and so an exception ends the process in a caller that has anything to
// clean up. Here is nothing to clean up, and callers cannot see that there is only such a call.
template <class Body>
#if defined(__GNUC__) && !defined(__clang__)
__attribute__((noipa))
#endif
decltype(auto) may_throw(const Body& body) {
  return body();
}

// What PROXQN_CLONES choose by: bytes of this processor's registers. GCC takes comparisons of wider
// vectors apart lane by lane, 9 ns a maximum for 0.2, so loops over them are of vectors as wide as these.
inline int register_bytes() {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  static const bool has_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  static const bool has_v4 =
      has_v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512cd");
  const int at_hand = has_v4 ? 64 : has_v3 ? 32 : 16;
#if defined(PROXQN_ONE_LEVEL)
  constexpr int compiled_for = PROXQN_ONE_LEVEL == 4 ? 64 : PROXQN_ONE_LEVEL == 3 ? 32 : 16;
  return compiled_for < at_hand ? compiled_for : at_hand;
#else
  return at_hand;
#endif
#else
  return 16;
#endif
}

}  // namespace proxqn::base

namespace proxqn {
using namespace base;  // every room speaks it
}
