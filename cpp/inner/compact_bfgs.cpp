#include "inner/compact_bfgs.hpp"

#include <algorithm>
#include <cmath>

#include "base/parallel.hpp"
#include "base/simd.hpp"

namespace proxqn::inner {

// out[i][j] += a_i'b_j over columns [begin, end) of a [m][n], b [k][n], for one i.
PROXQN_CLONES void add_products(const double* a, const double* b, std::int64_t k, std::int64_t n,
                                std::int64_t begin, std::int64_t end, double* out) {
  for (std::int64_t j = 0; j < k; ++j) {
    const double* other = b + j * n;
    double8 sums[4] = {};
    std::int64_t c = begin;
    for (; c + 4 * kLanes <= end; c += 4 * kLanes)
      for (int u = 0; u < 4; ++u)
        sums[u] += load8(a + c + u * kLanes) * load8(other + c + u * kLanes);
    double rest = 0.0;
    for (; c < end; ++c) rest += a[c] * other[c];
    out[j] += sum((sums[0] + sums[1]) + (sums[2] + sums[3])) + rest;
  }
}

// out[m][k] = a b' in tiles of columns whose rows stay in the cache.
void inner_products(const double* a, std::int64_t m, const double* b, std::int64_t k,
                    std::int64_t n, int n_jobs, double* out) {
  constexpr std::int64_t tile = 1024;
  std::fill(out, out + m * k, 0.0);
  parallel_for(m, jobs_for(n * m * k, n_jobs), [&](std::int64_t i) {
    for (std::int64_t begin = 0; begin < n; begin += tile)
      add_products(a + i * n, b, k, n, begin, std::min(n, begin + tile), out + i * k);
  });
}

// Lower Cholesky factor of a [m][m] in place; false where a pivot is not positive.
static bool cholesky(double* a, std::int64_t m) {
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

SmallFactors::SmallFactors(const double* SS, const double* SY, std::int64_t m, double gamma)
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
    may_throw([&] {
      fill_some(S, Y, D, m, n, i * some, std::min(n, (i + 1) * some), gamma, small, width, rows,
                diagonal);
    });
  });
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
PROXQN_CLONES bool extend_some(const double* s, const double* y, const double* base, std::int64_t m,
                               std::int64_t n, std::int64_t width, double* rows, double* diagonal) {
  return extend(s, y, base, m, n, width, rows, diagonal);
}
PROXQN_CLONES bool extend_some(const double* s, const double* y, const double* base, std::int64_t m,
                               std::int64_t n, std::int64_t width, float* rows, double* diagonal) {
  return extend(s, y, base, m, n, width, rows, diagonal);
}

template <class R>
bool extend_rows(const double* s, const double* y, const double* base, std::int64_t m,
                 std::int64_t n, std::int64_t width, R* rows, double* diagonal) {
  return extend_some(s, y, base, m, n, width, rows, diagonal);
}

template void memory_rows(const double*, const double*, const double*, std::int64_t, std::int64_t,
                          double, const SmallFactors&, std::int64_t, int, float*, double*);
template bool extend_rows(const double*, const double*, const double*, std::int64_t, std::int64_t,
                          std::int64_t, float*, double*);
template void memory_rows(const double*, const double*, const double*, std::int64_t, std::int64_t,
                          double, const SmallFactors&, std::int64_t, int, double*, double*);
template bool extend_rows(const double*, const double*, const double*, std::int64_t, std::int64_t,
                          std::int64_t, double*, double*);

}  // namespace proxqn::inner
