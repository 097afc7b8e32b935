#include "products/tile_sweep.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/parallel.hpp"
#include "base/simd.hpp"
#include "products/column_sums.hpp"
#include "products/sweep_bound.hpp"

namespace proxqn::products {

struct alignas(64) TileRow {
  double r[kTileLabels];
};

PROXQN_CLONES void load_tile(const double* residuals, std::int64_t stride, std::int64_t first,
                             std::int64_t n_labels, TileRow* rows, double* largest) {
  std::fill(largest, largest + stride, 0.0);
  for (std::int64_t y = 0; y < n_labels; ++y) {
    const double* from = residuals + (first + y) * stride;
    for (std::int64_t s = 0; s < stride; ++s) {
      rows[s].r[y] = from[s];
      largest[s] = larger(largest[s], std::fabs(from[s]));
    }
  }
}

// acc[32] = the column's sums.
PROXQN_CLONES void sum_tile_column(const Features& f, std::int64_t c, const double* rows,
                                   double* acc) {
  const std::int64_t first = f.start[c];
  std::fill(acc, acc + kTileLabels, 0.0);
  add_rows<double8>(f.slots + first, f.column_values(c), f.start[c + 1] - first, kAllSlots,
                    slot_major(rows, kTileLabels), kTileLabels, acc);
}

// Coordinates of one tile above the threshold. Columns whose bound is at most `level` are left out,
// and those that can neither pass the threshold nor be the tile's largest.
static void sweep_tile(const Features& f, std::int64_t n_labels, std::int64_t stride,
                       const double* residuals, std::int64_t tile, double threshold, double level,
                       Sweep& out) {
  const std::int64_t first = tile * kTileLabels, n = std::min(kTileLabels, n_labels - first);
  std::vector<TileRow> rows(stride);
  std::vector<double> largest(stride);
  load_tile(residuals, stride, first, n, rows.data(), largest.data());
  alignas(64) double acc[kTileLabels];
  for (std::int64_t c = 0; c < f.n_columns; ++c) {
    const double bound = column_bound(f, c, largest.data());
    if (bound <= level || (bound <= threshold && bound <= out.largest)) {
      out.left_out = std::max(out.left_out, bound);
      continue;
    }
    sum_tile_column(f, c, rows[0].r, acc);
    for (std::int64_t y = 0; y < n; ++y) out.see(c * n_labels + first + y, acc[y], threshold);
  }
}

static Sweep sort_by_coordinate(const Sweep& s) {
  std::vector<std::size_t> order(s.coordinates.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return s.coordinates[a] < s.coordinates[b]; });
  Sweep sorted{{}, {}, s.largest, s.left_out};
  sorted.coordinates.reserve(order.size());
  sorted.gradient.reserve(order.size());
  for (std::size_t i : order) {
    sorted.coordinates.push_back(s.coordinates[i]);
    sorted.gradient.push_back(s.gradient[i]);
  }
  return sorted;
}

Sweep tile_sweep(const Features& f, std::int64_t n_labels, std::int64_t stride,
                 const double* residuals, double threshold, int n_jobs) {
  return sort_by_coordinate(sweep_leaving_out(threshold, [&](double level) {
    std::vector<Sweep> parts((n_labels + kTileLabels - 1) / kTileLabels);
    parallel_for(static_cast<std::int64_t>(parts.size()), n_jobs, [&](std::int64_t tile) {
      sweep_tile(f, n_labels, stride, residuals, tile, threshold, level, parts[tile]);
    });
    return join(parts);
  }));
}

}  // namespace proxqn::products
