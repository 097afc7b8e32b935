#include "chain/float_kernels/common.hpp"

#if PROXQN_HAS_V3
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
#define PROXQN_EIGHTS 1  // in a register
#define PROXQN_TARGET v3
#include "chain/float_kernels/batch.inc"

#include "chain/float_kernels/forward.inc"
#pragma GCC pop_options
#endif
