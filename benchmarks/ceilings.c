// What one core of this machine can do at most; compiled and called by ceilings.py.
#include <stdint.h>

typedef double double8 __attribute__((vector_size(64)));

// n rounds of 16 independent chains of multiply-adds on eight doubles: 16 * 8 * n multiply-adds.
double fma_rounds(int64_t n) {
  double8 a[16];
  for (int k = 0; k < 16; ++k)
    for (int i = 0; i < 8; ++i) a[k][i] = 1.0 + k;
  const double8 x = a[0] * 0.0 + 0.999999, y = a[0] * 0.0 + 1e-6;
  for (int64_t i = 0; i < n; ++i)
    for (int k = 0; k < 16; ++k) a[k] = a[k] * x + y;
  double total = 0.0;
  for (int k = 0; k < 16; ++k)
    for (int i = 0; i < 8; ++i) total += a[k][i];
  return total;
}

// Reads n doubles (a multiple of 64), `rounds` times.
double read_all(const double* p, int64_t n, int64_t rounds) {
  double8 a[8] = {};
  for (int64_t r = 0; r < rounds; ++r) {
    for (int64_t i = 0; i < n; i += 64)
      for (int k = 0; k < 8; ++k) a[k] += *(const double8*)(p + i + 8 * k);
    __asm__ volatile("" ::: "memory");  // the next round reads again
  }
  double total = 0.0;
  for (int k = 0; k < 8; ++k)
    for (int i = 0; i < 8; ++i) total += a[k][i];
  return total;
}

// n scalar loads (a multiple of 16) with nothing done to them, `rounds` times. volatile: every one is
// made. An upper bound for any gather, which needs one such load an entry.
void load_all(const volatile double* p, int64_t n, int64_t rounds) {
  for (int64_t r = 0; r < rounds; ++r)
    for (int64_t i = 0; i < n; i += 16)
      for (int k = 0; k < 16; ++k) (void)p[i + k];
}

// n scalar stores, `rounds` times: an upper bound for any scatter, which needs one an entry.
void store_all(volatile double* p, int64_t n, int64_t rounds) {
  for (int64_t r = 0; r < rounds; ++r)
    for (int64_t i = 0; i < n; i += 16)
      for (int k = 0; k < 16; ++k) p[i + k] = 1.0;
}
