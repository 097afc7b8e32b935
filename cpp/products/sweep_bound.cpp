#include "products/sweep_bound.hpp"

#include <algorithm>
#include <numeric>

#include "base/parallel.hpp"
#include "base/simd.hpp"

namespace proxqn::products {

// largest[begin, end) of the slots, and of up to seven more. Without their signs floats are in the order
// of their bits, where a NaN is above all numbers.
PROXQN_CLONES void measure_slots(const SlotRows<float>& rows, std::int64_t n_labels,
                                 std::int64_t begin, std::int64_t end, float* largest) {
  for (std::int64_t s = begin; s < end; s += kLanes) {
    word8 most[kLanes] = {};
    const std::int64_t n = std::min<std::int64_t>(kLanes, end - s);
    for (std::int64_t y = 0; y < n_labels; y += kLanes)
      for (std::int64_t k = 0; k < n; ++k) {
        const float* row = rows.first + y / kLanes * rows.eight_step + (s + k) * rows.slot_step;
        most[k] = max(most[k], (word8)load_floats(row) & 0x7fffffff);
      }
    float8 turned[kLanes];
    for (int k = 0; k < kLanes; ++k) turned[k] = (float8)most[k];
    transpose8(turned);
    word8 all = {};
    for (int k = 0; k < kLanes; ++k) all = max(all, (word8)turned[k]);
    store_floats(largest + s, (float8)all);
  }
}
PROXQN_CLONES void measure_slots(const SlotRows<double>& rows, std::int64_t n_labels,
                                 std::int64_t begin, std::int64_t end, double* largest) {
  std::fill(largest + begin, largest + end, 0.0);
  for (std::int64_t y = 0; y < n_labels; ++y) {
    const double* column = rows.first + y / kLanes * rows.eight_step + y % kLanes * rows.lane_step;
    for (std::int64_t s = begin; s < end; ++s)
      largest[s] = larger(largest[s], std::fabs(column[s]));
  }
}

template <class S>
SlotSizes<S>::SlotSizes(const SlotRows<S>& rows, std::int64_t n_labels, std::int64_t stride,
                        int n_jobs)
    : largest(stride + kLanes) {
  constexpr std::int64_t chunk = 1024;
  std::vector<double> sums((stride + chunk - 1) / chunk);
  parallel_for(static_cast<std::int64_t>(sums.size()), n_jobs, [&](std::int64_t i) {
    const std::int64_t begin = i * chunk, end = std::min(stride, begin + chunk);
    measure_slots(rows, n_labels, begin, end, largest.data());
    sums[i] = std::accumulate(largest.data() + begin, largest.data() + end, 0.0);
  });
  mean = std::accumulate(sums.begin(), sums.end(), 0.0) / static_cast<double>(stride);
}

template <class S>
OutOfReach::OutOfReach(const Features& f, const SlotSizes<S>& sizes,
                       const std::vector<std::int32_t>& others, double level, int n_jobs)
    : columns(f.n_columns, 0) {
  const std::vector<std::int64_t> bounds = column_chunks(f);
  const auto n_chunks = static_cast<std::int64_t>(bounds.size()) - 1;
  std::vector<double> parts(n_chunks, 0.0);
  parallel_for(n_chunks, n_jobs, [&](std::int64_t i) {
    auto other = std::lower_bound(others.begin(), others.end(), bounds[i]);
    for (std::int64_t c = bounds[i]; c < bounds[i + 1]; ++c) {
      if (other != others.end() && *other == c) {
        ++other;
        continue;
      }
      const auto n = static_cast<double>(f.start[c + 1] - f.start[c]);
      if (!(n * sizes.mean <= level)) continue;  // nor with a NaN among them
      const double bound = column_bound(f, c, sizes.largest.data());
      if (!(bound <= level)) continue;
      columns[c] = 1;
      parts[i] = std::max(parts[i], bound);
    }
  });
  for (const double part : parts) largest = std::max(largest, part);
}

template struct SlotSizes<float>;
template struct SlotSizes<double>;
template OutOfReach::OutOfReach(const Features&, const SlotSizes<float>&,
                                const std::vector<std::int32_t>&, double, int);
template OutOfReach::OutOfReach(const Features&, const SlotSizes<double>&,
                                const std::vector<std::int32_t>&, double, int);

}  // namespace proxqn::products
