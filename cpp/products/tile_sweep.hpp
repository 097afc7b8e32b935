// The thresholded sweep for many labels (2,388 tree nodes x 51,033 features, say): one tile of 32
// labels at a time, whose slot-major residuals [stride][32] fit the L2 cache, against all data.
//
// Most columns cannot reach the threshold in most tiles (sweep_bound.hpp): one multiply-add an entry decides
// whether the 32 of the full product are needed.
#pragma once
#include <cstdint>

#include "products/features.hpp"
#include "products/sweep_result.hpp"

namespace proxqn::products {

constexpr std::int64_t kTileLabels = 32;

// The same answer as sweep.hpp's sweep over all pairs.
Sweep tile_sweep(const Features& f, std::int64_t n_labels, std::int64_t stride,
                 const double* residuals, double threshold, int n_jobs);

}  // namespace proxqn::products
