// The full sweep: every coordinate's derivative, keeping those above a threshold. Columns that cannot
// reach it are left out (sweep_bound.hpp); the sums of those that are not rare are made beforehand.
//
// Sparse data, as of text, have lists: these columns go slot by slot (list_sums.hpp). Other data:
// frequent columns of ones, in single precision, as of pixels, in blocks of bytes (byte_blocks.hpp),
// columns with a hundred entries or so block by block (block_sums.hpp).
//
// Rare columns, most of text's: straight from the array, only the eights of labels that the column
// may have, and with an entry or two only those labels.
#pragma once
#include <cstdint>

#include "products/byte_blocks.hpp"
#include "products/features.hpp"
#include "products/sweep_result.hpp"

namespace proxqn::products {

// On floats [Lp/8][stride][8], as in float_products.hpp.
Sweep sweep_single(const Features& f, ByteBlockCache& cache, std::int64_t n_labels,
                   std::int64_t stride, const float* array, double threshold,
                   const std::int64_t* pair_start, const std::int32_t* pair_labels,
                   const std::int32_t* rank, const Kept& kept, int n_jobs);

// On a label-major array [L][stride].
Sweep sweep(const Features& f, std::int64_t n_labels, std::int64_t stride, const double* residuals,
            double threshold, const std::int64_t* pair_start, const std::int32_t* pair_labels,
            int n_jobs);

}  // namespace proxqn::products
