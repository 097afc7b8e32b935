#include "products/sweep.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "base/aligned_array.hpp"
#include "base/parallel.hpp"
#include "base/simd.hpp"
#include "products/block_sums.hpp"
#include "products/column_sums.hpp"
#include "products/list_sums.hpp"
#include "products/sweep_bound.hpp"

namespace proxqn::products {

constexpr std::int64_t kScalarEntries = 3;

// What a sweep over columns needs, with the sums of those that are not rare.
template <class S>
struct ColumnSweep {
  const Features& f;
  const OutOfReach& out;
  const PartSums<double>& frequent_sums;
  const PartSums<S>& sums;
  std::int64_t n_labels, Lp;
  SlotRows<S> rows;
  double threshold;
  const std::int64_t* pair_start;          // [n_columns+1] into pair_labels, or null: all labels
  const std::int32_t *pair_labels, *rank;  // rank: where labels stand; doubles: in their order
  Kept kept{};
};

// Columns [first, last).
template <class S>
PROXQN_INLINE void sweep_some(const ColumnSweep<S>& x, std::int64_t first, std::int64_t last,
                              Sweep& found) {
  std::vector<double> sums(x.Lp);
  std::vector<std::uint8_t> wanted(x.Lp / kLanes);
  PartSums<double>::Cursor frequent(x.frequent_sums, first);
  typename PartSums<S>::Cursor others(x.sums, first);
  const std::int64_t* const kept_end = x.kept.coordinates + x.kept.n;
  const auto* kept = std::lower_bound(x.kept.coordinates, kept_end, first * x.n_labels);
  for (std::int64_t c = first; c < last; ++c) {
    if (x.out.columns[c]) continue;
    const std::int32_t* label = x.pair_start ? x.pair_labels + x.pair_start[c] : nullptr;
    const std::int64_t n_own = label ? x.pair_start[c + 1] - x.pair_start[c] : x.n_labels;
    const bool keeps = kept < kept_end && *kept < (c + 1) * x.n_labels;
    auto place = [&](std::int64_t y) PROXQN_INLINED -> std::int64_t {
      if constexpr (std::is_same_v<S, float>) return x.rank[y];
      else return y;
    };
    auto each = [&](const auto& body) PROXQN_INLINED {  // of the labels that the column may have
      if (label)
        for (std::int64_t i = 0; i < n_own; ++i) body(label[i], place(label[i]));
      else
        for (std::int64_t y = 0; y < n_own; ++y) body(y, place(y));
    };
    const std::int32_t* slots = x.f.slots + x.f.start[c];
    const double* v = x.f.column_values(c);
    const std::int64_t n = x.f.start[c + 1] - x.f.start[c];
    if (!frequent.take(c, x.Lp, sums.data()) && !others.take(c, x.Lp, sums.data())) {
      if (!x.rows.has_eights() || (label && !keeps && n <= kScalarEntries)) {
        each([&](std::int64_t y, std::int64_t place) PROXQN_INLINED {
          found.see(c * x.n_labels + y, label_sum(slots, v, n, x.rows, place), x.threshold);
        });
        continue;
      }
      std::fill(sums.begin(), sums.end(), 0.0);
      if (label && !keeps) {
        std::fill(wanted.begin(), wanted.end(), 0);
        each([&](std::int64_t, std::int64_t place) PROXQN_INLINED { wanted[place / kLanes] = 1; });
        for (std::int64_t y = 0; y < x.Lp; y += kLanes)
          if (wanted[y / kLanes])
            column_sums<1, Eight<S>>(slots, v, n, kAllSlots, x.rows, y, sums.data() + y);
      } else {
        add_rows<Eight<S>>(slots, v, n, kAllSlots, x.rows, x.Lp, sums.data());
      }
    }
    if (!keeps) {
      each([&](std::int64_t y, std::int64_t place)
               PROXQN_INLINED { found.see(c * x.n_labels + y, sums[place], x.threshold); });
      continue;
    }
    for (std::int64_t y = 0; y < x.n_labels; ++y) {
      const std::int64_t coordinate = c * x.n_labels + y;
      const bool own = !label || std::binary_search(label, label + n_own, y);
      const bool wanted_anyway = kept < kept_end && *kept == coordinate;
      kept += wanted_anyway;
      const double g = sums[place(y)], size = own ? std::fabs(g) : 0.0;
      found.largest = larger(found.largest, size);
      if (wanted_anyway || size > x.threshold) found.keep(coordinate, g);
    }
  }
}
PROXQN_CLONES void sweep_columns(const ColumnSweep<double>& x, std::int64_t first,
                                 std::int64_t last, Sweep& found) {
  sweep_some(x, first, last, found);
}
PROXQN_CLONES void sweep_columns(const ColumnSweep<float>& x, std::int64_t first, std::int64_t last,
                                 Sweep& found) {
  sweep_some(x, first, last, found);
}

template <class S>
Sweep sweep_all(const ColumnSweep<S>& x, int n_jobs) {
  Sweep all = sweep_chunks(x.f, n_jobs, [&](std::int64_t first, std::int64_t last, Sweep& found) {
    may_throw([&] { sweep_columns(x, first, last, found); });
  });
  all.left_out = x.out.largest;
  return all;
}

// look(columns summed beforehand, the sums of those that are frequent, the others') for data without
// byte blocks.
template <class S, class Look>
Sweep look_with_sums(const Features& f, const SlotRows<S>& rows, std::int64_t n_labels,
                     std::int64_t stride, const OutOfReach& out, int n_jobs, const Look& look) {
  const ListedColumns listed(f, stride, n_labels, sizeof(S), out);
  if (listed.pays) {
    const ListedSums<S> sums = sum_listed(f, listed, rows, n_jobs);
    return look(listed.columns, sums.frequent, sums.all);
  }
  const std::vector<std::int32_t> none;
  const BlockColumns wanted(f, stride, n_labels, sizeof(S), none, out);
  return look(wanted.columns, PartSums<double>(none, 1, wanted.Lp),
              sum_blocks(f, wanted, rows, n_jobs));
}

Sweep sweep_single(const Features& f, ByteBlockCache& cache, std::int64_t n_labels,
                   std::int64_t stride, const float* array, double threshold,
                   const std::int64_t* pair_start, const std::int32_t* pair_labels,
                   const std::int32_t* rank, const Kept& kept, int n_jobs) {
  const std::int64_t Lp = whole_eights(n_labels);
  const auto rows = eight_major(array, stride);
  const SlotSizes<float> sizes(rows, Lp, stride, n_jobs);
  auto sweep = [&](const OutOfReach& out, const auto& frequent, const auto& sums) {
    return sweep_all(ColumnSweep<float>{f, out, frequent, sums, n_labels, Lp, rows, threshold,
                                        pair_start, pair_labels, rank, kept},
                     n_jobs);
  };
  auto out_of_reach = [&](const std::vector<std::int32_t>& others, double level) {
    OutOfReach out(f, sizes, others, level, n_jobs);
    out.keep(kept, n_labels);
    return out;
  };
  if (f.lists.n_columns > 0)
    return sweep_leaving_out(threshold, [&](double level) {
      const OutOfReach out = out_of_reach({}, level);
      return look_with_sums(f, rows, n_labels, stride, out, n_jobs,
                            [&](const auto&, const auto& frequent, const auto& sums) {
                              return sweep(out, frequent, sums);
                            });
    });
  const ByteBlocks& bytes = cache.get(f, n_jobs);
  const PartSums<double> byte_sums = sum_byte_blocks(bytes, array, stride, Lp, n_jobs);
  return sweep_leaving_out(threshold, [&](double level) {
    const OutOfReach out = out_of_reach(bytes.columns, level);
    const BlockColumns wanted(f, stride, n_labels, sizeof(float), bytes.columns, out);
    return sweep(out, byte_sums, sum_blocks(f, wanted, rows, n_jobs));
  });
}

// Whether the columns that are not summed beforehand fetch so many lines label by label that a copy
// [stride][Lp], with the labels side by side, costs less.
static bool worth_a_copy(const Features& f, const std::vector<std::int32_t>& summed,
                         std::int64_t n_labels, std::int64_t room, const OutOfReach& out,
                         const std::int64_t* pair_start) {
  auto lines = [&](std::int64_t c) {
    const std::int64_t n_own = pair_start ? pair_start[c + 1] - pair_start[c] : n_labels;
    return (f.start[c + 1] - f.start[c]) * n_own;
  };
  std::int64_t rare = 0;
  for (std::int64_t c = 0; c < f.n_columns; ++c) rare += out.columns[c] ? 0 : lines(c);
  for (const std::int64_t c : summed) rare -= lines(c);
  return rare > 2 * room;
}

PROXQN_CLONES void copy_slots(const SlotRows<double>& rows, std::int64_t first, std::int64_t last,
                              std::int64_t n_labels, std::int64_t Lp, double* out) {
  copy_rows(rows, first, last, n_labels, Lp, out);
}

Sweep sweep(const Features& f, std::int64_t n_labels, std::int64_t stride, const double* residuals,
            double threshold, const std::int64_t* pair_start, const std::int32_t* pair_labels,
            int n_jobs) {
  const std::int64_t Lp = whole_eights(n_labels);
  const auto columns = label_major(residuals, stride);
  const SlotSizes<double> sizes(columns, n_labels, stride, n_jobs);
  return sweep_leaving_out(threshold, [&](double level) {
    const OutOfReach out(f, sizes, {}, level, n_jobs);
    auto look = [&](const auto& summed, const auto& frequent, const auto& sums) {
      AlignedArray<double> copy(0);
      auto rows = columns;
      if (worth_a_copy(f, summed, n_labels, stride * Lp, out, pair_start)) {
        copy = AlignedArray<double>(stride * Lp);
        constexpr std::int64_t chunk = 1024;
        parallel_for((stride + chunk - 1) / chunk, n_jobs, [&](std::int64_t i) {
          copy_slots(columns, i * chunk, std::min(stride, (i + 1) * chunk), n_labels, Lp,
                     copy.data() + i * chunk * Lp);
        });
        rows = slot_major<double>(copy.data(), Lp);
      }
      return sweep_all(ColumnSweep<double>{f, out, frequent, sums, n_labels, Lp, rows, threshold,
                                           pair_start, pair_labels, nullptr},
                       n_jobs);
    };
    return look_with_sums(f, columns, n_labels, stride, out, n_jobs, look);
  });
}

}  // namespace proxqn::products
