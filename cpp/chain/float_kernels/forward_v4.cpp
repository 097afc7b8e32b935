#include "chain/float_kernels/common.hpp"

#if PROXQN_HAS_V4
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4")
#if __has_builtin(__builtin_shufflevector)
#define PROXQN_EIGHTS 2  // in a register
#else
#define PROXQN_EIGHTS 1
#endif
#define PROXQN_TARGET v4
#include "chain/float_kernels/batch.inc"

#include "chain/float_kernels/forward.inc"
#pragma GCC pop_options
#endif
