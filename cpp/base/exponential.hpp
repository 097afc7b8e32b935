// The exponential of whole registers.
#pragma once
#include <cstdint>
#include <type_traits>

#include "base/simd.hpp"

namespace proxqn::base {

typedef std::uint64_t ulong8 __attribute__((vector_size(64)));
typedef std::uint32_t uword8 __attribute__((vector_size(32)));
typedef std::uint32_t uword16 __attribute__((vector_size(64)));

// exp on [-708, 709]; smaller arguments give exp(-708), about 3e-308. With n = round(x/ln 2) and
// r = x - n ln 2 in [-0.3466, 0.3466], exp(x) = 2^n p(r). p interpolates exp at 12 Chebyshev nodes:
// relative error 1.5e-17 before rounding, below 1.5 ulp after it (tested against NumPy).
PROXQN_INLINE double8 exp8(double8 x) {
  constexpr double log2e = 1.4426950408889634, magic = 6755399441055744.0;  // magic = 1.5 * 2^52
  constexpr double ln2_high = 0x1.62e42fefa3800p-1, ln2_low = 0x1.ef35793c76730p-45;
  x = max(fill8(-708.0), x);                  // in this order a NaN stays a NaN
  const double8 shifted = x * log2e + magic;  // the low bits now hold n
  const double8 n = shifted - magic;
  const double8 r = (x - n * ln2_high) - n * ln2_low;
  double8 p = r * 2.5110095611886237e-08 + 2.7632715071632255e-07;
  p = p * r + 2.7557240761739257e-06;
  p = p * r + 2.4801485278370062e-05;
  p = p * r + 0.00019841269890193705;
  p = p * r + 0.0013888888952505406;
  p = p * r + 0.008333333333319546;
  p = p * r + 0.04166666666648738;
  p = p * r + 0.1666666666666668;
  p = p * r + 0.5000000000000019;
  p = p * r + 1.0;
  p = p * r + 1.0;
  // Add n to the exponent field; unsigned, as what is out of range may have any bits.
  return (double8)((ulong8)p + ((ulong8)shifted << 52));
}

// The same for K registers of eight or sixteen floats on [-87, 88], with 7 nodes: relative error 3e-9
// before rounding. Step by step for all K, since processors look ahead too little to mix K long chains.
template <int K, class V>
PROXQN_INLINE void exp_floats(V (&x)[K]) {
  using I = std::conditional_t<sizeof(V) == sizeof(uword16), uword16, uword8>;
  constexpr float log2e = 1.44269504f, magic = 12582912.0f;  // magic = 1.5 * 2^23
  constexpr float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
  V shifted[K], n[K], p[K];
  for (int k = 0; k < K; ++k) x[k] = max(V{} - 87.0f, x[k]);
  for (int k = 0; k < K; ++k) shifted[k] = x[k] * log2e + magic;
  for (int k = 0; k < K; ++k) n[k] = shifted[k] - magic;
  for (int k = 0; k < K; ++k) x[k] = x[k] - n[k] * ln2_high;
  for (int k = 0; k < K; ++k) x[k] = x[k] - n[k] * ln2_low;
  for (int k = 0; k < K; ++k) p[k] = x[k] * 0.00139411164f + 0.00837513278f;
  for (const float a : {0.0416663528f, 0.166664154f, 0.500000005f, 1.00000004f, 1.0f})
    for (int k = 0; k < K; ++k) p[k] = p[k] * x[k] + a;
  for (int k = 0; k < K; ++k) x[k] = (V)((I)p[k] + ((I)shifted[k] << 23));
}

}  // namespace proxqn::base
