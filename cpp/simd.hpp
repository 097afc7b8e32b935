// Eight doubles at a time, in the compiler's own vector type: one zmm register, two ymm or four xmm,
// chosen at run time by function multiversioning, so that no flag such as -march=native is needed.
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

// Inline so that a unit compiles only those that it calls; a function with clones is never inlined.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define PROXQN_CLONES \
  inline __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), flatten))
#else
#define PROXQN_CLONES inline
#endif
#define PROXQN_INLINE inline __attribute__((always_inline))
// After a lambda's parameters. One that is not inlined is compiled for the plainest processor, whatever
// its caller is for, and `flatten` alone does not see to it.
#define PROXQN_INLINED __attribute__((always_inline))

namespace proxqn {

constexpr int kLanes = 8;
inline std::int64_t whole_eights(std::int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }
typedef double double8 __attribute__((vector_size(64)));
typedef double double4 __attribute__((vector_size(32)));
typedef double double2 __attribute__((vector_size(16)));
typedef std::int64_t long8 __attribute__((vector_size(64)));
typedef float float8 __attribute__((vector_size(32)));
typedef std::int32_t word8 __attribute__((vector_size(32)));
typedef float float16 __attribute__((vector_size(64)));
typedef std::int32_t word16 __attribute__((vector_size(64)));

// What PROXQN_CLONES choose by: bytes of this processor's registers. GCC takes comparisons of wider
// vectors apart lane by lane, 9 ns a maximum for 0.2, so loops over them are of vectors as wide as these.
inline int register_bytes() {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  static const bool has_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  static const bool has_v4 = has_v3 && __builtin_cpu_supports("avx512f") &&
                             __builtin_cpu_supports("avx512bw") &&
                             __builtin_cpu_supports("avx512dq") &&
                             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd");
  return has_v4 ? 64 : has_v3 ? 32 : 16;
#else
  return 16;
#endif
}

// body(a vector of doubles as wide as these).
template <class Body>
PROXQN_INLINE auto with_registers(const Body& body) {
  switch (register_bytes()) {
    case 64: return body(double8{});
    case 32: return body(double4{});
    default: return body(double2{});
  }
}

PROXQN_INLINE double8 load8(const double* p) {
  double8 v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
PROXQN_INLINE void store8(double* p, double8 v) { std::memcpy(p, &v, sizeof v); }
PROXQN_INLINE double8 fill8(double a) { return double8{a, a, a, a, a, a, a, a}; }

PROXQN_INLINE double8 widen(float8 v) { return __builtin_convertvector(v, double8); }
PROXQN_INLINE double8 widen(double8 v) { return v; }
PROXQN_INLINE double widen(double v) { return v; }  // a float becomes one, too
PROXQN_INLINE double8 load8(const float* p) {  // single precision is only a way to store
  float8 v;
  std::memcpy(&v, p, sizeof v);
  return widen(v);
}

PROXQN_INLINE float8 load_floats(const float* p) {
  float8 v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
PROXQN_INLINE void store_floats(float* p, float8 v) { std::memcpy(p, &v, sizeof v); }

// Past the caches: for arrays that no cache holds, whose lines would be fetched only to be overwritten.
// Other threads see it after end_streaming.
PROXQN_INLINE void stream_floats(float* p, float8 v) {  // p: on 16 bytes
#ifdef __SSE2__
  __m128 halves[2];
  std::memcpy(halves, &v, sizeof v);
  _mm_stream_ps(p, halves[0]);
  _mm_stream_ps(p + 4, halves[1]);
#else
  store_floats(p, v);
#endif
}
PROXQN_INLINE void end_streaming() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

PROXQN_INLINE float8 fill_floats(float a) { return float8{a, a, a, a, a, a, a, a}; }

// Eight registers as a matrix: rows become columns.
PROXQN_INLINE void transpose8(float8* r) {
  float8 t[8], u[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = __builtin_shuffle(r[i], r[i + 1], word8{0, 8, 1, 9, 4, 12, 5, 13});
    t[i + 1] = __builtin_shuffle(r[i], r[i + 1], word8{2, 10, 3, 11, 6, 14, 7, 15});
  }
  for (int i = 0; i < 8; i += 4)
    for (int k = 0; k < 2; ++k) {
      u[i + 2 * k] = __builtin_shuffle(t[i + k], t[i + k + 2], word8{0, 1, 8, 9, 4, 5, 12, 13});
      u[i + 2 * k + 1] = __builtin_shuffle(t[i + k], t[i + k + 2], word8{2, 3, 10, 11, 6, 7, 14, 15});
    }
  for (int i = 0; i < 4; ++i) {
    r[i] = __builtin_shuffle(u[i], u[i + 4], word8{0, 1, 2, 3, 8, 9, 10, 11});
    r[i + 4] = __builtin_shuffle(u[i], u[i + 4], word8{4, 5, 6, 7, 12, 13, 14, 15});
  }
}

template <class V>
PROXQN_INLINE V max(V a, V b) { return a > b ? a : b; }
template <class V>
PROXQN_INLINE V min(V a, V b) { return a < b ? a : b; }
PROXQN_INLINE double larger(double a, double b) { return b > a || b != b ? b : a; }  // a NaN stays

PROXQN_INLINE double sum(double8 v) {  // a fixed order: the same bits on every machine word width
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}
PROXQN_INLINE double sum(float8 v) {  // the same order
  v += __builtin_shuffle(v, word8{4, 5, 6, 7, 0, 1, 2, 3});
  v += __builtin_shuffle(v, word8{2, 3, 0, 1, 6, 7, 4, 5});
  return v[0] + v[1];
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

// The same for K registers of eight or sixteen floats on [-87, 88], with 7 nodes: relative error 3e-9
// before rounding. Step by step for all K, since processors look ahead too little to mix K long chains.
template <int K, class V>
PROXQN_INLINE void exp_floats(V (&x)[K]) {
  using I = std::conditional_t<sizeof(V) == sizeof(word16), word16, word8>;
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

}  // namespace proxqn
