// Single-precision inference for the processor at hand. The kernels (single_kernels.hpp) are compiled
// once for each kind instead of cloned: GCC takes shuffles of more than 16 bytes apart before it makes
// clones, and compiles lambdas it does not inline for the plainest processor.
#pragma once
#include <utility>

#include "chain.hpp"

namespace proxqn {

constexpr double kSafeFloatRange = 75.0;
constexpr int kFactorsAProduct = 8;  // factors of e^75 at most whose product a double can hold
constexpr int kPairTokens = 64;  // tokens whose outer products are summed in single precision

}  // namespace proxqn

#define PROXQN_KERNEL [[maybe_unused]] static __attribute__((noinline, flatten))
#define PROXQN_EIGHTS 1  // in a register
#define PROXQN_TARGET plain
#include "single_kernels.hpp"
#undef PROXQN_TARGET
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define PROXQN_MANY_TARGETS
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
#define PROXQN_TARGET v3
#include "single_kernels.hpp"
#undef PROXQN_TARGET
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4")
#if __has_builtin(__builtin_shufflevector)
#undef PROXQN_EIGHTS
#define PROXQN_EIGHTS 2
#endif
#define PROXQN_TARGET v4
#include "single_kernels.hpp"
#undef PROXQN_TARGET
#pragma GCC pop_options
#endif
#undef PROXQN_EIGHTS
#undef PROXQN_KERNEL

namespace proxqn {

// Calls body(the kernels' forward_chunk, their backward_chunk).
template <class Body>
void with_best_kernels(const Body& body) {
#ifdef PROXQN_MANY_TARGETS
  if (register_bytes() == 64) return body(v4::forward_chunk, v4::backward_chunk);
  if (register_bytes() == 32) return body(v3::forward_chunk, v3::backward_chunk);
#endif
  body(plain::forward_chunk, plain::backward_chunk);
}

inline void forward_chunk(const ChainOf<float>& c, const Transitions<float>& m, std::int64_t chunk,
                          double* losses) {
  with_best_kernels([&](auto forward, auto) { forward(c, m, chunk, losses); });
}
inline void backward_chunk(const ChainOf<float>& c, const Transitions<float>& m, std::int64_t chunk,
                           double* G) {
  with_best_kernels([&](auto, auto backward) { backward(c, m, chunk, G); });
}

}  // namespace proxqn
