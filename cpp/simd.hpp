// Eight doubles at a time, in the compiler's own vector type: one zmm register, two ymm or four xmm,
// chosen at run time by function multiversioning, so that no flag such as -march=native is needed.
#pragma once
#include <cstdint>
#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define PROXQN_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), flatten))
#else
#define PROXQN_CLONES
#endif
#define PROXQN_INLINE inline __attribute__((always_inline))

namespace proxqn {

constexpr int kLanes = 8;
typedef double double8 __attribute__((vector_size(64)));
typedef std::int64_t long8 __attribute__((vector_size(64)));

PROXQN_INLINE double8 load8(const double* p) {
  double8 v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
PROXQN_INLINE void store8(double* p, double8 v) { std::memcpy(p, &v, sizeof v); }
PROXQN_INLINE double8 fill8(double a) { return double8{a, a, a, a, a, a, a, a}; }

PROXQN_INLINE double8 max(double8 a, double8 b) { return a > b ? a : b; }
PROXQN_INLINE double8 min(double8 a, double8 b) { return a < b ? a : b; }
PROXQN_INLINE double max(double a, double b) { return a > b ? a : b; }
PROXQN_INLINE double min(double a, double b) { return a < b ? a : b; }

PROXQN_INLINE double sum(double8 v) {  // a fixed order: the same bits on every machine word width
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}
PROXQN_INLINE double sum(double v) { return v; }

// exp on [-708, 709]; smaller arguments give exp(-708), about 3e-308. With n = round(x/ln 2) and
// r = x - n ln 2 in [-0.3466, 0.3466], exp(x) = 2^n p(r). p interpolates exp at 12 Chebyshev nodes:
// relative error 1.5e-17 before rounding, below 1.5 ulp after it (tested against NumPy).
PROXQN_INLINE double8 exp8(double8 x) {
  constexpr double log2e = 1.4426950408889634, magic = 6755399441055744.0;  // magic = 1.5 * 2^52
  constexpr double ln2_high = 0x1.62e42fefa3800p-1, ln2_low = 0x1.ef35793c76730p-45;
  x = max(fill8(-708.0), x);  // in this order a NaN stays a NaN
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
  return (double8)((long8)p + ((long8)shifted << 52));  // add n to the exponent field
}

}  // namespace proxqn
