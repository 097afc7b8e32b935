// Products with feature-indexed data for arrays of floats, [Lp/8][stride][8] (chain/position.hpp). The labels
// of a column are taken eight at a time: an entry costs a load, an add and a store for each eight
// labels among which the column has a weight. Text has frequent features with a weight for most
// labels; there this is several times as fast as label by label (features.hpp). Labels are ordered by
// frequency, `rank`, so that those which have weights are together.
//
// Dense columns of ones, as of pixels, are bits on machines with AVX-512 (bit_sums.hpp), and their sums
// are made label by label, on a label-major copy of a few hundred rows.
#pragma once
#include <cstdint>

#include "products/features.hpp"
#include "products/float_plan.hpp"

namespace proxqn::products {

// rows[slot] = sum_j w_j x_j(slot)
void scores(const Features& f, FloatIndex& index, const std::int64_t* coordinates,
            const double* weights, std::int64_t n, std::int64_t n_labels, const std::int32_t* rank,
            std::int64_t stride, int n_jobs, float* rows);

// The derivatives on given coordinates.
void gradient(const Features& f, FloatIndex& index, const std::int64_t* coordinates, std::int64_t n,
              std::int64_t n_labels, const std::int32_t* rank, const float* rows,
              std::int64_t stride, int n_jobs, double* out);

}  // namespace proxqn::products
