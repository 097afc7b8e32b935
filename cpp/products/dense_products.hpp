// Products with dense columns (dense_block.hpp), for arrays of doubles [L][stride] and of floats
// [Lp/8][stride][8] (float_products.hpp); in double precision floats of the data are widened number by number.
// Sums over columns go in their order, sums over slots in parts that the data alone decide, so that neither
// depends on the number of threads.
#pragma once
#include <cstdint>

#include "products/dense_block.hpp"

namespace proxqn::products {

// --- scores --------------------------------------------------------------------------------------

// out[y][slot] += sum_j w_j x_j(slot); dirty[y] becomes 1 for labels that have weights.
void add_dense_scores(const DenseBlock& block, const std::int64_t* coordinates,
                      const double* weights, std::int64_t n, std::int64_t n_labels,
                      std::int64_t stride, int n_jobs, double* out, std::uint8_t* dirty);

// The same for slots [begin, end) alone, multiples of 8, to out [L][end - begin].
void add_dense_window(const DenseBlock& block, const DensePairs& pairs, const double* weights,
                      std::int64_t n_labels, std::int64_t begin, std::int64_t end, double* out);

// rows[slot] += sum_j w_j x_j(slot)
void add_dense_scores(const DenseBlock& block, const std::int64_t* coordinates,
                      const double* weights, std::int64_t n, std::int64_t n_labels,
                      const std::int32_t* rank, std::int64_t stride, int n_jobs, float* rows);

// --- gradient on given coordinates ---------------------------------------------------------------

void dense_gradient(const DenseBlock& block, const std::int64_t* coordinates, std::int64_t n,
                    std::int64_t n_labels, std::int64_t stride, const double* residuals, int n_jobs,
                    double* out);
void dense_gradient(const DenseBlock& block, const std::int64_t* coordinates, std::int64_t n,
                    std::int64_t n_labels, const std::int32_t* rank, const float* rows,
                    std::int64_t stride, int n_jobs, double* out);

}  // namespace proxqn::products
