// Eight doubles at a time, in the compiler's own vector type: one zmm register, two ymm or four xmm
// (clones.hpp chooses).
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/clones.hpp"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace proxqn::base {

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
PROXQN_INLINE double8 load8(const float* p) {       // single precision is only a way to store
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

// Eight registers of eight as a matrix: rows become columns.
template <class V>  // float8 or double8
PROXQN_INLINE void transpose8(V* r) {
  using I = std::conditional_t<sizeof(V) == sizeof(long8), long8, word8>;
  V t[8], u[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = __builtin_shuffle(r[i], r[i + 1], I{0, 8, 1, 9, 4, 12, 5, 13});
    t[i + 1] = __builtin_shuffle(r[i], r[i + 1], I{2, 10, 3, 11, 6, 14, 7, 15});
  }
  for (int i = 0; i < 8; i += 4)
    for (int k = 0; k < 2; ++k) {
      u[i + 2 * k] = __builtin_shuffle(t[i + k], t[i + k + 2], I{0, 1, 8, 9, 4, 5, 12, 13});
      u[i + 2 * k + 1] = __builtin_shuffle(t[i + k], t[i + k + 2], I{2, 3, 10, 11, 6, 7, 14, 15});
    }
  for (int i = 0; i < 4; ++i) {
    r[i] = __builtin_shuffle(u[i], u[i + 4], I{0, 1, 2, 3, 8, 9, 10, 11});
    r[i + 4] = __builtin_shuffle(u[i], u[i + 4], I{4, 5, 6, 7, 12, 13, 14, 15});
  }
}

template <class V>
PROXQN_INLINE V max(V a, V b) {
  return a > b ? a : b;
}
template <class V>
PROXQN_INLINE V min(V a, V b) {
  return a < b ? a : b;
}
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

}  // namespace proxqn::base
