#include "chain/float_kernels/common.hpp"

#if PROXQN_HAS_PLAIN
#define PROXQN_EIGHTS 1  // in a register
#define PROXQN_TARGET plain
#include "chain/float_kernels/batch.inc"

#include "chain/float_kernels/backward.inc"
#endif
