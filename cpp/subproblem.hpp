// The inner problem  min_d g'd + d'Bd/2 + lam |w + d|_1 + (l2/2)|w + d|^2  over the working set A,
// with the compact L-BFGS matrix in symmetric form (Byrd, Nocedal and Schnabel 1994, section 2), from
// B_0 = gamma D, D diagonal:
//     B = gamma D + P P' - C C',   P = Y E^{-1/2},   C = (gamma D S + Y E^{-1} L') J^{-T},
//     J J' = gamma S'DS + L E^{-1} L'   (Cholesky),   E = diag(S'Y).
// This is the paper's B = B_0 - Q R Q' with R's 2x2 block inverse written out: half the memory
// traffic of Q and Q-hat in coordinate descent, a quarter of the arithmetic to form.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <vector>

#include "parallel.hpp"
#include "random.hpp"
#include "simd.hpp"

namespace proxqn {

// out[i][j] += a_i'b_j over columns [begin, end) of a [m][n], b [k][n], for one i.
PROXQN_CLONES void add_products(const double* a, const double* b, std::int64_t k, std::int64_t n,
                                std::int64_t begin, std::int64_t end, double* out) {
  for (std::int64_t j = 0; j < k; ++j) {
    const double* other = b + j * n;
    double8 sums[4] = {};
    std::int64_t c = begin;
    for (; c + 4 * kLanes <= end; c += 4 * kLanes)
      for (int u = 0; u < 4; ++u) sums[u] += load8(a + c + u * kLanes) * load8(other + c + u * kLanes);
    double rest = 0.0;
    for (; c < end; ++c) rest += a[c] * other[c];
    out[j] += sum((sums[0] + sums[1]) + (sums[2] + sums[3])) + rest;
  }
}

// out[m][k] = a b' in tiles of columns whose rows stay in the cache.
inline void inner_products(const double* a, std::int64_t m, const double* b, std::int64_t k,
                           std::int64_t n, int n_jobs, double* out) {
  constexpr std::int64_t tile = 1024;
  std::fill(out, out + m * k, 0.0);
  parallel_for(m, jobs_for(n * m * k, n_jobs), [&](std::int64_t i) {
    for (std::int64_t begin = 0; begin < n; begin += tile)
      add_products(a + i * n, b, k, n, begin, std::min(n, begin + tile), out + i * k);
  });
}

// Lower Cholesky factor of a [m][m] in place; false where a pivot is not positive.
inline bool cholesky(double* a, std::int64_t m) {
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j <= i; ++j) {
      double total = a[i * m + j];
      for (std::int64_t k = 0; k < j; ++k) total -= a[i * m + k] * a[j * m + k];
      if (i > j) a[i * m + j] = total / a[j * m + j];
      else if (total > 1e-14 * a[i * m + i]) a[i * m + i] = std::sqrt(total);
      else return false;
    }
  return true;
}

// The small matrices of the factors: L E^{-1} [m][m] strictly lower, E^{-1/2} [m], J [m][m] lower.
struct SmallFactors {
  std::vector<double> scaled, root, J;
  bool ok;
  SmallFactors(const double* SS, const double* SY, std::int64_t m, double gamma)
      : scaled(m * m, 0.0), root(m), J(m * m, 0.0) {
    for (std::int64_t i = 0; i < m; ++i) {
      root[i] = 1.0 / std::sqrt(SY[i * m + i]);
      for (std::int64_t k = 0; k < i; ++k) scaled[i * m + k] = SY[i * m + k] / SY[k * m + k];
    }
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j <= i; ++j) {
        double total = gamma * SS[i * m + j];
        for (std::int64_t k = 0; k < j; ++k) total += scaled[i * m + k] * SY[j * m + k];
        J[i * m + j] = total;
      }
    ok = cholesky(J.data(), m);
  }
};

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

// The rows of coordinates [begin, end) from S, Y [m][n] and D, and B's diagonal, which holds gamma D
// on entry. Eight coordinates at a time; m^2 multiply-adds each.
template <class R>
PROXQN_INLINE void fill_rows(const double* S, const double* Y, const double* D, std::int64_t m,
                             std::int64_t n, std::int64_t begin, std::int64_t end, double gamma,
                             const SmallFactors& small, std::int64_t width, R* rows,
                             double* diagonal) {
  const double *scaled = small.scaled.data(), *J = small.J.data(), *root = small.root.data();
  std::vector<double> tile(3 * m * kLanes);
  double* s = tile.data();
  double* y = s + m * kLanes;
  double* c = y + m * kLanes;
  for (std::int64_t first = begin; first < end; first += kLanes) {
    const std::int64_t count = std::min<std::int64_t>(kLanes, end - first);
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t k = 0; k < count; ++k) {
        s[i * kLanes + k] = D[first + k] * S[i * n + first + k];
        y[i * kLanes + k] = Y[i * n + first + k];
      }
    for (std::int64_t i = 0; i < m; ++i) {
      double8 u = gamma * load8(s + i * kLanes), v = fill8(0.0);
      for (std::int64_t k = 0; k < i; ++k) {
        u += scaled[i * m + k] * load8(y + k * kLanes);
        v += J[i * m + k] * load8(c + k * kLanes);
      }
      store8(c + i * kLanes, (u - v) / J[i * m + i]);
    }
    for (std::int64_t k = 0; k < count; ++k) {
      R* row = rows + (first + k) * width;
      for (std::int64_t i = 0; i < m; ++i) {
        const double p = y[i * kLanes + k] * root[i], q = c[i * kLanes + k];
        row[2 * i] = static_cast<R>(p);
        row[2 * i + 1] = static_cast<R>(q);
        diagonal[first + k] += p * p - q * q;
      }
      std::fill(row + 2 * m, row + width, R{});
    }
  }
}
PROXQN_CLONES void fill_some(const double* S, const double* Y, const double* D, std::int64_t m,
                             std::int64_t n, std::int64_t begin, std::int64_t end, double gamma,
                             const SmallFactors& small, std::int64_t width, double* rows,
                             double* diagonal) {
  fill_rows(S, Y, D, m, n, begin, end, gamma, small, width, rows, diagonal);
}
PROXQN_CLONES void fill_some(const double* S, const double* Y, const double* D, std::int64_t m,
                             std::int64_t n, std::int64_t begin, std::int64_t end, double gamma,
                             const SmallFactors& small, std::int64_t width, float* rows,
                             double* diagonal) {
  fill_rows(S, Y, D, m, n, begin, end, gamma, small, width, rows, diagonal);
}
template <class R>
void memory_rows(const double* S, const double* Y, const double* D, std::int64_t m, std::int64_t n,
                 double gamma, const SmallFactors& small, std::int64_t width, int n_jobs, R* rows,
                 double* diagonal) {
  constexpr std::int64_t some = 32 * kLanes;
  parallel_for((n + some - 1) / some, jobs_for(m * m * n, n_jobs), [&](std::int64_t i) {
    fill_some(S, Y, D, m, n, i * some, std::min(n, (i + 1) * some), gamma, small, width, rows,
              diagonal);
  });
}

// The BFGS update itself: pair m is p = y / sqrt(s'y), c = Bs / sqrt(s'Bs).
template <class R>
PROXQN_INLINE void write_pair(const double* y, double sy, const double* Bs, double sBs, std::int64_t m,
                              std::int64_t n, std::int64_t width, R* rows, double* diagonal) {
  const double p_scale = 1.0 / std::sqrt(sy), c_scale = 1.0 / std::sqrt(sBs);
  for (std::int64_t j = 0; j < n; ++j) {
    const double p = y[j] * p_scale, c = Bs[j] * c_scale;
    rows[j * width + 2 * m] = static_cast<R>(p);
    rows[j * width + 2 * m + 1] = static_cast<R>(c);
    diagonal[j] += p * p - c * c;
  }
}

// A pair s, y on top of B with m pairs. 4m multiply-adds a coordinate. False where s'Bs is not
// positive.
template <class R>
PROXQN_INLINE bool extend(const double* s, const double* y, const double* base, std::int64_t m,
                          std::int64_t n, std::int64_t width, R* rows, double* diagonal) {
  const std::int64_t numbers = used(m);
  std::vector<double> h(numbers, 0.0), Bs(n);
  double sy = 0.0, sBs = 0.0;
  for (std::int64_t j = 0; j < n; ++j) {
    sy += s[j] * y[j];
    if (s[j] == 0.0) continue;
    const R* row = rows + j * width;
    for (std::int64_t k = 0; k < numbers; ++k) h[k] += s[j] * static_cast<double>(row[k]);
  }
  for (std::int64_t k = 1; k < numbers; k += 2) h[k] = -h[k];
  for (std::int64_t j = 0; j < n; ++j) {
    const R* row = rows + j * width;
    double8 total{};
    for (std::int64_t k = 0; k < numbers; k += 8) total += load8(row + k) * load8(h.data() + k);
    Bs[j] = base[j] * s[j] + sum(total);
    sBs += s[j] * Bs[j];
  }
  if (!(sBs > 0.0)) return false;
  write_pair(y, sy, Bs.data(), sBs, m, n, width, rows, diagonal);
  return true;
}
PROXQN_CLONES bool extend_rows(const double* s, const double* y, const double* base, std::int64_t m,
                               std::int64_t n, std::int64_t width, double* rows, double* diagonal) {
  return extend(s, y, base, m, n, width, rows, diagonal);
}
PROXQN_CLONES bool extend_rows(const double* s, const double* y, const double* base, std::int64_t m,
                               std::int64_t n, std::int64_t width, float* rows, double* diagonal) {
  return extend(s, y, base, m, n, width, rows, diagonal);
}

// Coordinates come in random order: what a visit reads is asked for this many visits early.
constexpr std::int64_t kRowsAhead = 8, kNumbersAhead = 16;

// All numbers of a coordinate, in one cache line.
struct alignas(64) Coordinate {
  double w, g, base, curvature, inverse, d;  // base: gamma D_jj; inverse: of curvature + l2
};

// sign(u) max(|u| - lam, 0), without branches that nobody can foresee.
PROXQN_INLINE double soft_threshold(double u, double lam) {
  return std::copysign(std::max(std::fabs(u) - lam, 0.0), u);
}

// Rows of floats halve the traffic; the direction, not what is made of it, is then right to six digits.
template <class R>
struct Subproblem {
  const double *w, *g;             // [A]
  const R* rows;                   // [A][width]
  const double *base, *diagonal;   // gamma D [A], [A]
  double lam, l2;
  std::int64_t n, width, used;
};

// The one-dimensional problem with a = B_jj, b = g_j + (Bd)_j, c = w_j + d_j has
// z = S(a c - b, lam) / (a + l2) - c, S the soft threshold. (Bd)_j = gamma D_jj d_j + row_j'h with the
// paper's running 2m-vector h.
//
// G coordinates one after the other. What each of them changes is told to the next ones at once, by
// the products of their rows, and to h when all are done: a coordinate then waits for a few
// operations of the one before it instead of two passes over h. Returns max_j a |z|.
template <int G, class R>
PROXQN_INLINE double visit_group(const Subproblem<R>& p, const std::int32_t* order, Coordinate* all,
                                 R* h) {
  const R* rows[G];
  for (int i = 0; i < G; ++i) rows[i] = p.rows + order[i] * p.width;
  EightOf<R> with_h[G] = {}, with_later[G][G] = {};
  const EightOf<R> signs{1, -1, 1, -1, 1, -1, 1, -1};
  for (std::int64_t k = 0; k < p.used; k += 8) {
    const EightOf<R> running = eight(h + k);
    for (int i = 0; i < G; ++i) {
      const EightOf<R> row = eight(rows[i] + k), signed_row = signs * row;
      with_h[i] += row * running;
      for (int j = i + 1; j < G; ++j) with_later[i][j] += signed_row * eight(rows[j] + k);
    }
  }
  double product[G];  // row_j'h
  for (int i = 0; i < G; ++i) product[i] = sum(with_h[i]);
  R steps[G];
  double moved = 0.0;
  for (int i = 0; i < G; ++i) {
    Coordinate& x = all[order[i]];
    const double c = x.w + x.d, slope = x.curvature * c - (x.g + x.base * x.d) - product[i];
    const double target = soft_threshold(slope, p.lam) * x.inverse, z = target - c;
    x.d = target - x.w;  // exact: a coordinate that returns to zero is zero, not rounding
    for (int j = i + 1; j < G; ++j) product[j] += z * sum(with_later[i][j]);
    steps[i] = static_cast<R>(z);
    moved = std::max(moved, x.curvature * std::fabs(z));
  }
  if (moved == 0.0) return moved;
  for (std::int64_t k = 0; k < p.used; k += 8) {
    EightOf<R> change{};
    for (int i = 0; i < G; ++i) change += steps[i] * eight(rows[i] + k);
    const EightOf<R> running = eight(h + k) + signs * change;
    std::memcpy(h + k, &running, sizeof running);
  }
  return moved;
}

// One pass over `order`. Returns how far it moved the model's gradient.
template <class R>
PROXQN_INLINE double visit(const Subproblem<R>& p, const std::vector<std::int32_t>& order,
                           Coordinate* all, R* h) {
  constexpr int group = std::is_same_v<R, float> ? 3 : 2;  // more of them, more products
  double moved = 0.0;
  const auto count = static_cast<std::int64_t>(order.size());
  std::int64_t i = 0;
  for (; i + group <= count; i += group) {
    for (std::int64_t j = i; j < i + group; ++j) {
      if (j + kNumbersAhead < count) __builtin_prefetch(all + order[j + kNumbersAhead]);
      if (j + kRowsAhead < count) {
        const R* later = p.rows + order[j + kRowsAhead] * p.width;
        for (std::int64_t k = 0; k < p.used; k += 64 / static_cast<std::int64_t>(sizeof(R)))
          __builtin_prefetch(later + k);
      }
    }
    moved = std::max(moved, visit_group<group>(p, order.data() + i, all, h));
  }
  for (; i < count; ++i) moved = std::max(moved, visit_group<1>(p, order.data() + i, all, h));
  return moved;
}
PROXQN_CLONES double coordinate_pass(const Subproblem<double>& p,
                                     const std::vector<std::int32_t>& order, Coordinate* all,
                                     double* h) {
  return visit(p, order, all, h);
}
PROXQN_CLONES double coordinate_pass(const Subproblem<float>& p,
                                     const std::vector<std::int32_t>& order, Coordinate* all,
                                     float* h) {
  return visit(p, order, all, h);
}

// Randomised coordinate descent from d = 0. With tolerance 0: max_passes full passes, as in the paper.
// With a tolerance: passes over the coordinates that are off zero until they settle, then a full pass,
// until a full pass moves no coordinate's gradient by more. Returns full-pass equivalents.
template <class R>
double coordinate_descent(const Subproblem<R>& p, std::int64_t max_passes, double tolerance,
                          std::uint64_t seed, double* d) {
  SplitMix64 random{seed};
  std::vector<R> h(p.used, R{});
  std::vector<Coordinate> numbers(p.n);
  for (std::int64_t j = 0; j < p.n; ++j)
    numbers[j] = {p.w[j], p.g[j], p.base[j], p.diagonal[j], 1.0 / (p.diagonal[j] + p.l2), 0.0};
  std::vector<std::int32_t> all(p.n), free;
  std::iota(all.begin(), all.end(), 0);
  double spent = 0.0;
  while (spent < static_cast<double>(max_passes)) {
    shuffle(all, random);
    const double moved = coordinate_pass(p, all, numbers.data(), h.data());
    spent += 1.0;
    if (moved == 0.0 || (tolerance > 0.0 && moved <= tolerance)) break;
    if (tolerance <= 0.0) continue;
    free.clear();
    for (std::int32_t j = 0; j < p.n; ++j)
      if (numbers[j].d != 0.0 || numbers[j].w != 0.0) free.push_back(j);
    if (free.empty() || static_cast<std::int64_t>(free.size()) == p.n) continue;
    const double price = static_cast<double>(free.size()) / static_cast<double>(p.n);
    while (spent < static_cast<double>(max_passes)) {
      shuffle(free, random);
      spent += price;
      if (coordinate_pass(p, free, numbers.data(), h.data()) <= 0.5 * tolerance) break;
    }
  }
  for (std::int64_t j = 0; j < p.n; ++j) d[j] = numbers[j].d;
  return spent;
}

}  // namespace proxqn
