// Forward and backward over the batches of a chunk in single precision (float_kernels/), for the processor
// at hand. The kernels are compiled once for each kind instead of cloned: GCC takes shuffles of more than 16
// bytes apart before it makes clones, and compiles lambdas it does not inline for the plainest processor.
#pragma once
#include <cstdint>

#include "base/clones.hpp"
#include "chain/layout.hpp"
#include "chain/transitions.hpp"

// Which kinds there are.
#if defined(PROXQN_ONE_LEVEL)
#define PROXQN_HAS_PLAIN (PROXQN_ONE_LEVEL == 1)
#define PROXQN_HAS_V3 (PROXQN_ONE_LEVEL == 3)
#define PROXQN_HAS_V4 (PROXQN_ONE_LEVEL == 4)
#elif defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define PROXQN_HAS_PLAIN 1
#define PROXQN_HAS_V3 1
#define PROXQN_HAS_V4 1
#else
#define PROXQN_HAS_PLAIN 1
#define PROXQN_HAS_V3 0
#define PROXQN_HAS_V4 0
#endif

namespace proxqn::chain {

// Writes the losses of the chunk's sequences, and which batches were out of range.
void forward_chunk(const ChainOf<float>& c, const Transitions<float>& m, std::int64_t chunk,
                   double* losses);
// Adds the chunk's pair counts to G [L][L].
void backward_chunk(const ChainOf<float>& c, const Transitions<float>& m, std::int64_t chunk,
                    double* G);

#define PROXQN_DECLARE_KERNELS(target)                                                          \
  namespace target {                                                                            \
  void forward_chunk(const ChainOf<float>& c, const Transitions<float>& m, std::int64_t chunk,  \
                     double* losses);                                                           \
  void backward_chunk(const ChainOf<float>& c, const Transitions<float>& m, std::int64_t chunk, \
                      double* G);                                                               \
  }
PROXQN_DECLARE_KERNELS(plain)
PROXQN_DECLARE_KERNELS(v3)
PROXQN_DECLARE_KERNELS(v4)
#undef PROXQN_DECLARE_KERNELS

}  // namespace proxqn::chain
