// The rows of curvature pairs as both inner problems hold them.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/simd.hpp"

namespace proxqn::inner {

// The rows of P and C are stored pair by pair, [p_1, c_1, p_2, c_2, ...], so that a new pair adds two
// columns; `width` numbers a row, a multiple of 16, zeros past the m pairs in use. With h the running
// vector [p_1'd, -c_1'd, ...], a row's share of Bd is its inner product with h.
constexpr std::int64_t kRowTile = 16;
inline std::int64_t used(std::int64_t m) { return (2 * m + kRowTile - 1) / kRowTile * kRowTile; }

template <class R>
using EightOf = std::conditional_t<std::is_same_v<R, float>, float8, double8>;
template <class R>
PROXQN_INLINE EightOf<R> eight(const R* p) {
  EightOf<R> v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// row'h over n numbers, a multiple of kRowTile. Four chains of additions hide their latency.
template <class R>
PROXQN_INLINE double row_product(const R* row, const R* h, std::int64_t n) {
  EightOf<R> a[4] = {};
  std::int64_t k = 0;
  for (; k + 2 * kRowTile <= n; k += 2 * kRowTile)
    for (int i = 0; i < 4; ++i) a[i] += eight(row + k + 8 * i) * eight(h + k + 8 * i);
  if (k < n)
    for (int i = 0; i < 2; ++i) a[i] += eight(row + k + 8 * i) * eight(h + k + 8 * i);
  return sum((a[0] + a[1]) + (a[2] + a[3]));
}

// h += z [p_1, -c_1, ...].
template <class R>
PROXQN_INLINE void add_row(const R* row, R z, std::int64_t n, R* h) {
  const EightOf<R> step{z, -z, z, -z, z, -z, z, -z};
  for (std::int64_t k = 0; k < n; k += 8) {
    const EightOf<R> sum = eight(h + k) + step * eight(row + k);
    std::memcpy(h + k, &sum, sizeof sum);
  }
}

// The BFGS update itself: pair m is p = y / sqrt(s'y), c = Bs / sqrt(s'Bs).
template <class R>
PROXQN_INLINE void write_pair(const double* y, double sy, const double* Bs, double sBs,
                              std::int64_t m, std::int64_t n, std::int64_t width, R* rows,
                              double* diagonal) {
  const double p_scale = 1.0 / std::sqrt(sy), c_scale = 1.0 / std::sqrt(sBs);
  for (std::int64_t j = 0; j < n; ++j) {
    const double p = y[j] * p_scale, c = Bs[j] * c_scale;
    rows[j * width + 2 * m] = static_cast<R>(p);
    rows[j * width + 2 * m + 1] = static_cast<R>(c);
    diagonal[j] += p * p - c * c;
  }
}

// Coordinates come in random order: what a visit reads is asked for this many visits early.
constexpr std::int64_t kRowsAhead = 8, kNumbersAhead = 16;

}  // namespace proxqn::inner
