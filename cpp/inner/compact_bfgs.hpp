// The compact L-BFGS matrix in symmetric form (Byrd, Nocedal and Schnabel 1994, section 2), from
// B_0 = gamma D, D diagonal:
//     B = gamma D + P P' - C C',   P = Y E^{-1/2},   C = (gamma D S + Y E^{-1} L') J^{-T},
//     J J' = gamma S'DS + L E^{-1} L'   (Cholesky),   E = diag(S'Y).
// This is the paper's B = B_0 - Q R Q' with R's 2x2 block inverse written out: half the memory
// traffic of Q and Q-hat in coordinate descent, a quarter of the arithmetic to form.
#pragma once
#include <cstdint>
#include <vector>

#include "inner/pair_rows.hpp"

namespace proxqn::inner {

// out[m][k] = a b' in tiles of columns whose rows stay in the cache.
void inner_products(const double* a, std::int64_t m, const double* b, std::int64_t k,
                    std::int64_t n, int n_jobs, double* out);

// The small matrices of the factors: L E^{-1} [m][m] strictly lower, E^{-1/2} [m], J [m][m] lower.
struct SmallFactors {
  std::vector<double> scaled, root, J;
  bool ok;
  SmallFactors(const double* SS, const double* SY, std::int64_t m, double gamma);
};

// The rows of all coordinates from S, Y [m][n] and D, and B's diagonal, which holds gamma D on entry.
template <class R>
void memory_rows(const double* S, const double* Y, const double* D, std::int64_t m, std::int64_t n,
                 double gamma, const SmallFactors& small, std::int64_t width, int n_jobs, R* rows,
                 double* diagonal);

// A pair s, y on top of B with m pairs. 4m multiply-adds a coordinate. False where s'Bs is not
// positive.
template <class R>
bool extend_rows(const double* s, const double* y, const double* base, std::int64_t m,
                 std::int64_t n, std::int64_t width, R* rows, double* diagonal);

}  // namespace proxqn::inner
