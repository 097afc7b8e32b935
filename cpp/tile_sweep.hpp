// The thresholded sweep for many labels (2,388 tree nodes x 51,033 features, say): one tile of 32
// labels at a time, whose slot-major residuals [stride][32] fit the L2 cache, against all data.
//
// Most columns cannot reach the threshold in most tiles. With R_i the largest |residual| of slot i
// within the tile, |g_jk| <= sum_i |x_ij| R_i for every label k of the tile: one multiply-add an
// entry decides whether the 32 of the full product are needed. The bound is exact mathematics, so
// nothing above the threshold is lost.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "column_sums.hpp"

namespace proxqn {

constexpr std::int64_t kTileLabels = 32;
constexpr double kBoundSlack = 1.0 + 1e-10;  // rounding in the bound and in the sums

struct alignas(64) TileRow {
  double r[kTileLabels];
};

struct TileSweep {
  Sweep found;
  double skipped = 0.0;  // the largest bound of a column left out
};

PROXQN_CLONES void load_tile(const double* residuals, std::int64_t stride, std::int64_t first,
                             std::int64_t n_labels, TileRow* rows, double* largest) {
  std::fill(largest, largest + stride, 0.0);
  for (std::int64_t y = 0; y < n_labels; ++y) {
    const double* from = residuals + (first + y) * stride;
    for (std::int64_t s = 0; s < stride; ++s) {
      rows[s].r[y] = from[s];
      const double size = std::fabs(from[s]);
      largest[s] = size <= largest[s] ? largest[s] : size;  // a NaN stays
    }
  }
}

inline double column_bound(const Features& f, std::int64_t c, const double* largest) {
  const std::int64_t first = f.start[c], n = f.start[c + 1] - first;
  const std::int32_t* slots = f.slots + first;
  const double* v = f.column_values(c);
  if (!v) return gather_sum(largest, slots, n);
  double a[4] = {};
  std::int64_t e = 0;
  for (; e + 4 <= n; e += 4)
    for (int k = 0; k < 4; ++k) a[k] += largest[slots[e + k]] * std::fabs(v[e + k]);
  for (; e < n; ++e) a[0] += largest[slots[e]] * std::fabs(v[e]);
  return (a[0] + a[2]) + (a[1] + a[3]);
}

// acc[32] = the column's sums.
PROXQN_CLONES void sum_tile_column(const Features& f, std::int64_t c, const double* rows,
                                   double* acc) {
  const std::int64_t first = f.start[c];
  std::fill(acc, acc + kTileLabels, 0.0);
  add_rows(f.slots + first, f.column_values(c), f.start[c + 1] - first, kAllSlots,
           slot_major(rows, kTileLabels), kTileLabels, acc);
}

// Coordinates of one tile above the threshold. Columns whose bound is at most `skip` are left out,
// and those that can neither pass the threshold nor be the tile's largest.
inline void sweep_tile(const Features& f, std::int64_t n_labels, std::int64_t stride,
                       const double* residuals, std::int64_t tile, double threshold, double skip,
                       TileSweep& out) {
  const std::int64_t first = tile * kTileLabels, n = std::min(kTileLabels, n_labels - first);
  std::vector<TileRow> rows(stride);
  std::vector<double> largest(stride);
  load_tile(residuals, stride, first, n, rows.data(), largest.data());
  alignas(64) double acc[kTileLabels];
  for (std::int64_t c = 0; c < f.n_columns; ++c) {
    const double bound = column_bound(f, c, largest.data()) * kBoundSlack;
    if (bound <= skip || (bound <= threshold && bound <= out.found.largest)) {
      out.skipped = std::max(out.skipped, bound);
      continue;
    }
    sum_tile_column(f, c, rows[0].r, acc);
    for (std::int64_t y = 0; y < n; ++y) out.found.see(c * n_labels + first + y, acc[y], threshold);
  }
}

inline void sort_by_coordinate(Sweep& s) {
  std::vector<std::size_t> order(s.coordinates.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return s.coordinates[a] < s.coordinates[b]; });
  Sweep sorted{{}, {}, s.largest};
  sorted.coordinates.reserve(order.size());
  sorted.gradient.reserve(order.size());
  for (std::size_t i : order) {
    sorted.coordinates.push_back(s.coordinates[i]);
    sorted.gradient.push_back(s.gradient[i]);
  }
  s = std::move(sorted);
}

inline TileSweep sweep_all_tiles(const Features& f, std::int64_t n_labels, std::int64_t stride,
                                 const double* residuals, double threshold, double skip,
                                 int n_jobs) {
  std::vector<TileSweep> parts((n_labels + kTileLabels - 1) / kTileLabels);
  parallel_for(static_cast<std::int64_t>(parts.size()), n_jobs, [&](std::int64_t tile) {
    sweep_tile(f, n_labels, stride, residuals, tile, threshold, skip, parts[tile]);
  });
  TileSweep all;
  for (auto& part : parts) {
    auto& [coordinates, gradient, largest] = part.found;
    all.found.coordinates.insert(all.found.coordinates.end(), coordinates.begin(),
                                 coordinates.end());
    all.found.gradient.insert(all.found.gradient.end(), gradient.begin(), gradient.end());
    if (!(largest <= all.found.largest)) all.found.largest = largest;
    all.skipped = std::max(all.skipped, part.skipped);
  }
  return all;
}

// The same answer as block_sweep.hpp's sweep over all pairs.
inline Sweep tile_sweep(const Features& f, std::int64_t n_labels, std::int64_t stride,
                        const double* residuals, double threshold, int n_jobs) {
  const double skip = std::isinf(threshold) ? 0.0 : threshold;  // inf asks for the largest only
  TileSweep all = sweep_all_tiles(f, n_labels, stride, residuals, threshold, skip, n_jobs);
  // With nothing above the threshold the largest of all may be in a column left out: look again.
  if (all.skipped > all.found.largest)
    all = sweep_all_tiles(f, n_labels, stride, residuals, threshold, all.found.largest, n_jobs);
  sort_by_coordinate(all.found);
  return std::move(all.found);
}

}  // namespace proxqn
