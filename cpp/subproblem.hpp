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
#include <vector>

#include "simd.hpp"

namespace proxqn {

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

// rows[A][2m] = [P row | C row] of each coordinate, from DS, Y [m][A]. Eight coordinates at a time;
// m^2 multiply-adds each.
PROXQN_CLONES void memory_rows(const double* S, const double* Y, std::int64_t m, std::int64_t n,
                               double gamma, const SmallFactors& small, double* rows) {
  const double *scaled = small.scaled.data(), *J = small.J.data(), *root = small.root.data();
  std::vector<double> tile(3 * m * kLanes);
  double* s = tile.data();
  double* y = s + m * kLanes;
  double* c = y + m * kLanes;
  for (std::int64_t first = 0; first < n; first += kLanes) {
    const std::int64_t count = std::min<std::int64_t>(kLanes, n - first);
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t k = 0; k < count; ++k) {
        s[i * kLanes + k] = S[i * n + first + k];
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
      double* row = rows + (first + k) * 2 * m;
      for (std::int64_t i = 0; i < m; ++i) {
        row[i] = y[i * kLanes + k] * root[i];
        row[m + i] = c[i * kLanes + k];
      }
    }
  }
}

// B_jj = gamma D_jj + |p_j|^2 - |c_j|^2; `diagonal` holds gamma D_jj on entry.
PROXQN_CLONES void memory_diagonal(const double* rows, std::int64_t m, std::int64_t n,
                                   double* diagonal) {
  for (std::int64_t j = 0; j < n; ++j) {
    const double* row = rows + j * 2 * m;
    double plus = 0.0, minus = 0.0;
    for (std::int64_t i = 0; i < m; ++i) {
      plus += row[i] * row[i];
      minus += row[m + i] * row[m + i];
    }
    diagonal[j] += plus - minus;
  }
}

struct SplitMix64 {
  std::uint64_t state;
  std::uint64_t operator()() {
    std::uint64_t z = (state += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
};

inline void shuffle(std::vector<std::int64_t>& order, SplitMix64& random) {
  for (std::uint64_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
}

struct Subproblem {
  const double *w, *g, *rows, *base, *diagonal;  // [A], [A], [A][2m], gamma D [A], [A]
  double lam, l2;
  std::int64_t n, m;
};

PROXQN_INLINE double dot_difference(const double* row, const double* dhat, std::int64_t m) {
  double8 a = fill8(0.0), b = fill8(0.0);
  std::int64_t i = 0;
  for (; i + kLanes <= m; i += kLanes) {
    a += load8(row + i) * load8(dhat + i);
    b += load8(row + m + i) * load8(dhat + m + i);
  }
  double total = sum(a - b);
  for (; i < m; ++i) total += row[i] * dhat[i] - row[m + i] * dhat[m + i];
  return total;
}

// One pass over `order`. The paper's running 2m-vector is dhat = [P'd | C'd], so that
// (Bd)_j = gamma D_jj d_j + p_j'(P'd) - c_j'(C'd). The one-dimensional problem with a = B_jj,
// b = g_j + (Bd)_j, c = w_j + d_j has z = S(a c - b, lam) / (a + l2) - c, S the soft threshold.
// Returns max_j a |z|: how far the pass moved the model's gradient.
PROXQN_CLONES double coordinate_pass(const Subproblem& p, const std::int64_t* order,
                                     std::int64_t count, double* d, double* dhat) {
  double moved = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t j = order[i];
    const double* row = p.rows + j * 2 * p.m;
    const double a = p.diagonal[j];
    const double b = p.g[j] + p.base[j] * d[j] + dot_difference(row, dhat, p.m);
    const double c = p.w[j] + d[j], u = a * c - b;
    const double target =
        u > p.lam ? (u - p.lam) / (a + p.l2) : u < -p.lam ? (u + p.lam) / (a + p.l2) : 0.0;
    const double z = target - c;
    if (z == 0.0) continue;
    d[j] = target - p.w[j];  // exact: a coordinate that returns to zero is zero, not rounding
    for (std::int64_t k = 0; k < 2 * p.m; ++k) dhat[k] += z * row[k];
    moved = std::max(moved, a * std::fabs(z));
  }
  return moved;
}

// Randomised coordinate descent. With tolerance 0: max_passes full passes, as in the paper. With a
// tolerance: passes over the coordinates that are off zero until they settle, then a full pass, until
// a full pass moves no coordinate's gradient by more than the tolerance. Returns full-pass equivalents.
inline double coordinate_descent(const Subproblem& p, std::int64_t max_passes, double tolerance,
                                 std::uint64_t seed, double* d) {
  SplitMix64 random{seed};
  std::vector<double> dhat(2 * p.m, 0.0);
  std::vector<std::int64_t> all(p.n), free;
  for (std::int64_t j = 0; j < p.n; ++j) all[j] = j;
  double spent = 0.0;
  while (spent < static_cast<double>(max_passes)) {
    shuffle(all, random);
    const double moved = coordinate_pass(p, all.data(), p.n, d, dhat.data());
    spent += 1.0;
    if (moved == 0.0 || (tolerance > 0.0 && moved <= tolerance)) break;
    if (tolerance <= 0.0) continue;
    free.clear();
    for (std::int64_t j = 0; j < p.n; ++j)
      if (d[j] != 0.0 || p.w[j] != 0.0) free.push_back(j);
    if (free.empty() || static_cast<std::int64_t>(free.size()) == p.n) continue;
    const double price = static_cast<double>(free.size()) / static_cast<double>(p.n);
    while (spent < static_cast<double>(max_passes)) {
      shuffle(free, random);
      const auto count = static_cast<std::int64_t>(free.size());
      spent += price;
      if (coordinate_pass(p, free.data(), count, d, dhat.data()) <= 0.5 * tolerance) break;
    }
  }
  return spent;
}

}  // namespace proxqn
