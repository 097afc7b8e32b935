// Which columns a sweep may leave out. With m_i the largest |residual| of slot i,
// |g_jk| <= sum_i |x_ij| m_i for every label k: one addition an entry instead of one a label. Near the
// solution a model is right about most tokens of a text, and its rare features cannot reach the
// threshold. The bound is exact mathematics, so nothing above it is lost.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "base/aligned_array.hpp"
#include "products/column_sums.hpp"
#include "products/features.hpp"
#include "products/sweep_result.hpp"

namespace proxqn::products {

// For rounding in the bound and in the sums, floats' in runs of kRun.
template <class S>
constexpr double kBoundSlack = std::is_same_v<S, float> ? 1.0 + 1e-4 : 1.0 + 1e-10;

template <class S>
PROXQN_INLINE double column_bound(const Features& f, std::int64_t c, const S* largest) {
  const std::int64_t first = f.start[c], n = f.start[c + 1] - first;
  const std::int32_t* slots = f.slots + first;
  const double* v = f.column_values(c);
  double a[4] = {};
  auto add = [&](std::int64_t e, int k) PROXQN_INLINED {
    a[k] += v ? largest[slots[e]] * std::fabs(v[e]) : largest[slots[e]];
  };
  std::int64_t e = 0;
  for (; e + 4 <= n; e += 4)
    for (int k = 0; k < 4; ++k) add(e + k, k);
  for (; e < n; ++e) add(e, 0);
  return ((a[0] + a[2]) + (a[1] + a[3])) * kBoundSlack<S>;
}

// The largest |residual| of every slot. Doubles are label-major, floats have eight labels together.
template <class S>
struct SlotSizes {
  AlignedArray<S> largest;  // [stride], first touched by the threads
  double mean = 0.0;

  SlotSizes(const SlotRows<S>& rows, std::int64_t n_labels, std::int64_t stride, int n_jobs);
};

// The columns that have no derivative above a level, nor one to be kept. Those of `others`, ascending,
// are not looked at, nor those that would not be among them if all their slots were of mean size.
struct OutOfReach {
  std::vector<std::uint8_t> columns;  // [n_columns] whether
  double largest = 0.0;               // of their bounds

  template <class S>
  OutOfReach(const Features& f, const SlotSizes<S>& sizes, const std::vector<std::int32_t>& others,
             double level, int n_jobs);
  void keep(const Kept& kept, std::int64_t n_labels) {
    for (std::int64_t i = 0; i < kept.n; ++i) columns[kept.coordinates[i] / n_labels] = 0;
  }
};

}  // namespace proxqn::products
