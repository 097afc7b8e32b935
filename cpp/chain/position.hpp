// One position of linear chains in double precision: what inference does with the labels of a position, in
// eight sequences at once or in one.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/exponential.hpp"
#include "base/simd.hpp"
#include "chain/layout.hpp"
#include "chain/sparse_transitions.hpp"

namespace proxqn::chain {

constexpr int kBuffer = 16;      // positions whose outer products are summed at once
constexpr int kFetchAhead = 64;  // slots between a load and its prefetch

// The same text for eight lanes (V = double8) and for one (V = double).

template <class V>
constexpr int kWidth = std::is_arithmetic_v<V> ? 1 : kLanes;
template <class V>
PROXQN_INLINE void load(const double* p, V& v) {
  std::memcpy(&v, p, sizeof v);
}
template <class V>
PROXQN_INLINE void store(double* p, V v) {
  std::memcpy(p, &v, sizeof v);
}
template <class V>
PROXQN_INLINE V filled(double a) {
  return V{} + a;
}

// One position's values of all labels, from and to an array; `ahead` slots away are fetched, since
// L streams are too many for the hardware to foresee.
template <class V>
PROXQN_INLINE void load_labels(const Chain& c, const double* array, std::int64_t slot,
                               std::int64_t ahead, V* out) {
  for (std::int64_t y = 0; y < c.n_labels; ++y) {
    load(array + c.at(y, slot), out[y]);
    __builtin_prefetch(array + c.at(y, slot + ahead), 1);
  }
}
template <class V>
PROXQN_INLINE void store_labels(const Chain& c, const V* values, std::int64_t slot, double* array) {
  for (std::int64_t y = 0; y < c.n_labels; ++y) store(array + c.at(y, slot), values[y]);
}

// x_t(y) for all labels into x; their maximum per lane.
template <class V>
PROXQN_INLINE V gather_scores(const Chain& c, std::int64_t slot, std::int64_t ahead, V* x,
                              V* lowest) {
  for (std::int64_t y = 0; y < c.n_labels; ++y) {
    load(c.scores + c.score_at(y, slot), x[y]);
    __builtin_prefetch(c.scores + c.score_at(y, slot + ahead));
  }
  V high = x[0], low = x[0];
  for (std::int64_t y = 1; y < c.n_labels; ++y) {
    high = max(high, x[y]);
    low = min(low, x[y]);
  }
  if (lowest) *lowest = low;
  return high;
}

// e = exp(x - shift), L labels; the padding of e stays zero.
template <class V>
PROXQN_INLINE void exponentials(const V* x, V shift, std::int64_t L, V* e) {
  if constexpr (kWidth<V> == kLanes) {
    for (std::int64_t y = 0; y < L; ++y) e[y] = exp8(x[y] - shift);
  } else {
    for (std::int64_t y = 0; y < L; y += kLanes) {
      const std::int64_t n = std::min<std::int64_t>(kLanes, L - y);
      V some[kLanes] = {};
      std::copy(x + y, x + y + n, some);
      double8 v;
      std::memcpy(&v, some, sizeof v);
      v = exp8(v - shift);
      std::memcpy(some, &v, sizeof v);
      std::copy(some, some + n, e + y);
    }
  }
}

// out[j] = sum_i in[i] m[i][j]: the L^2 multiply-adds of a position, sums in registers, or the listed ones
// where there are few.
template <class V>
PROXQN_INLINE void product(const V* in, const double* m, const ListedProduct<double>& listed,
                           std::int64_t L, std::int64_t Lp, V* out) {
  if (listed.pays) return listed_product(in, listed, L, out);
  // Enough sums to hide the latency of the multiply-adds: one 512-bit or two 256-bit ones a cycle. A
  // lone sequence's lanes are labels, and its sums are of every fourth row.
  constexpr int tile = 4;
  if constexpr (kWidth<V> == 1) {
    for (std::int64_t j = 0; j < Lp; j += kLanes) {
      double8 acc[tile] = {};
      std::int64_t i = 0;
      for (; i + tile <= L; i += tile)
        for (int k = 0; k < tile; ++k) acc[k] += in[i + k] * load8(m + (i + k) * Lp + j);
      for (; i < L; ++i) acc[0] += in[i] * load8(m + i * Lp + j);
      store8(out + j, (acc[0] + acc[1]) + (acc[2] + acc[3]));
    }
    return;
  }
  for (std::int64_t j = 0; j < Lp; j += tile) {
    V acc[tile] = {};
    for (std::int64_t i = 0; i < L; ++i) {
      const V a = in[i];
      const double* row = m + i * Lp + j;
      for (int k = 0; k < tile; ++k) acc[k] += a * row[k];
    }
    for (int k = 0; k < tile; ++k) out[j + k] = acc[k];
  }
}

// G[i][j] += sum_t a_t(i) v_t(j) over the buffered positions. Tiles of 4 x 4 keep the sums in
// registers.
template <class V>
PROXQN_INLINE void outer_products(const V* a, const V* v, int n, std::int64_t Lp, V* G) {
  constexpr int rows = 4, cols = kWidth<V> == 1 ? kTile : 4;
  for (std::int64_t i = 0; i < Lp; i += rows)
    for (std::int64_t j = 0; j < Lp; j += cols) {
      V acc[rows][cols] = {};
      for (int t = 0; t < n; ++t)
        for (int p = 0; p < rows; ++p) {
          const V left = a[t * Lp + i + p];
          for (int q = 0; q < cols; ++q) acc[p][q] += left * v[t * Lp + j + q];
        }
      for (int p = 0; p < rows; ++p)
        for (int q = 0; q < cols; ++q) G[(i + p) * Lp + j + q] += acc[p][q];
    }
}

// `yes` in the lanes whose sequence is longer than t.
template <class V>
PROXQN_INLINE V where(V length, std::int64_t t, V yes, V no) {
  return length > static_cast<double>(t) ? yes : no;
}
template <class V>
PROXQN_INLINE double lane(V v, int k) {
  if constexpr (kWidth<V> == 1) return v;
  else return v[k];
}
template <class V>
PROXQN_INLINE void set_lane(V& v, int k, double x) {
  if constexpr (kWidth<V> == 1) v = x;
  else v[k] = x;
}
template <class V>
PROXQN_INLINE double largest(V v) {
  double m = lane(v, 0);
  for (int k = 1; k < kWidth<V>; ++k) m = max(m, lane(v, k));
  return m;
}

// A running product kept as mantissa * 2^exponent, so that a long sequence needs one log, not T.
template <class V>
struct Product {
  using I = std::conditional_t<kWidth<V> == 1, std::int64_t, long8>;
  V mantissa;
  I exponent{};
  PROXQN_INLINE Product() { mantissa = V{} + 1.0; }
  PROXQN_INLINE void multiply(V c) {
    V p = mantissa * c;
    I bits;
    std::memcpy(&bits, &p, sizeof bits);
    exponent += (bits >> 52) - 1023;
    bits = (bits & 0xFFFFFFFFFFFFFLL) | (1023LL << 52);
    std::memcpy(&mantissa, &bits, sizeof bits);
  }
  PROXQN_INLINE double log(int k) const {
    double e;
    if constexpr (kWidth<V> == 1) e = static_cast<double>(exponent);
    else e = static_cast<double>(exponent[k]);
    return std::log(lane(mantissa, k)) + e * 0.6931471805599453;
  }
};

template <class V>
PROXQN_INLINE V lane_lengths(const Chain& c, std::int64_t batch) {
  V v{};
  for (int k = 0; k < kWidth<V>; ++k)
    set_lane(v, k, static_cast<double>(c.lane_length[batch * kLanes + k]));
  return v;
}

}  // namespace proxqn::chain
