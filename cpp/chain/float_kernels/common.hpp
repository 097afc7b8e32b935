// What batch.inc needs beside the kind of processor.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/aligned_array.hpp"
#include "base/exponential.hpp"
#include "base/simd.hpp"
#include "chain/float_kernels.hpp"
#include "chain/layout.hpp"
#include "chain/position.hpp"
#include "chain/transitions.hpp"

namespace proxqn::chain {

constexpr double kSafeFloatRange = 75.0;
constexpr int kFactorsAProduct = 8;  // factors of e^75 at most whose product a double can hold
constexpr int kPairTokens = 64;      // tokens whose outer products are summed in single precision

}  // namespace proxqn::chain

#define PROXQN_KERNEL [[maybe_unused]] static __attribute__((noinline, flatten))
#define PROXQN_CHUNKS __attribute__((noinline, flatten))
