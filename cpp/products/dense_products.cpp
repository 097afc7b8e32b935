#include "products/dense_products.hpp"

#include "base/aligned_array.hpp"
#include "base/parallel.hpp"
#include "products/dense_array.hpp"
#include "products/dense_sweep.hpp"

namespace proxqn::products {

constexpr double kManyPairs = 2.5;  // one of so many pairs wanted: the product of all costs less
constexpr int kTogether = 4;  // labels that share a column's numbers, where most have a weight
constexpr std::int64_t kTaskPanels = 16;  // of scores: beside them, memory for a panel costs little

static std::int64_t columns_at_once(const DenseBlock& block) {
  return whole_eights(std::min(block.n_columns, kPanelColumns));
}
static std::int64_t panels(std::int64_t n_slots) {
  return (n_slots + kPanelSlots - 1) / kPanelSlots;
}

// body(first, last) of some columns, whose panel is filled.
template <class S, class Body>
PROXQN_INLINE void each_panel(const DenseBlock& block, std::int64_t slot, std::int64_t n, S* panel,
                              const Body& body) {
  for (std::int64_t first = 0; first < block.n_columns; first += kPanelColumns) {
    const std::int64_t last = std::min(block.n_columns, first + kPanelColumns);
    block.with_values([&](const auto* values) PROXQN_INLINED {
      fill_panel(block, values, slot, n, first, last, panel);
    });
    body(first, last);
  }
}

// --- scores --------------------------------------------------------------------------------------

// Weights by label and column; where most pairs have one, as a table, too.
template <class S>
struct LabelWeights {
  std::vector<S> ordered;  // as the pairs
  std::vector<S> table;    // [labels / kTogether][n_columns][kTogether], or empty
  LabelWeights(const DensePairs& pairs, const double* weights, std::int64_t n_columns,
               std::int64_t n_labels)
      : ordered(pairs.order.size()) {
    for (std::size_t i = 0; i < ordered.size(); ++i)
      ordered[i] = static_cast<S>(weights[pairs.order[i]]);
    if (kManyPairs * static_cast<double>(ordered.size()) < n_columns * n_labels) return;
    table.resize(whole_eights(n_labels) * n_columns);
    for (std::int64_t y = 0; y < n_labels; ++y)
      for (std::int64_t i = pairs.start[y]; i < pairs.start[y + 1]; ++i)
        table[(y / kTogether * n_columns + pairs.column[i]) * kTogether + y % kTogether] =
            ordered[i];
  }
};

// out[kTogether][kPanelSlots] = all n columns of a panel, weighted, in K registers for each label.
template <int K, class S>
PROXQN_INLINE void weigh_together(const S* table, std::int64_t n, const S* panel,
                                  S (*out)[kPanelSlots]) {
  using V = Wide<S>;
  constexpr std::int64_t lanes = sizeof(V) / sizeof(S);
  for (std::int64_t run = 0; run < kPanelSlots; run += K * lanes) {
    V acc[kTogether][K] = {};
    for (std::int64_t c = 0; c < n; ++c) {
      const S* x = panel + c * kPanelSlots + run;
      for (int y = 0; y < kTogether; ++y) {
        const S w = table[c * kTogether + y];
        for (int k = 0; k < K; ++k) acc[y][k] += w * load_as<V>(x + k * lanes);
      }
    }
    for (int y = 0; y < kTogether; ++y)
      for (int k = 0; k < K; ++k) store_as(out[y] + run + k * lanes, acc[y][k]);
  }
}

// out[kPanelSlots] = the weighted columns [i, end) of a panel that begins with this column, in K registers.
template <int K, class S>
PROXQN_INLINE void weigh(const DensePairs& pairs, std::int64_t i, std::int64_t end,
                         const S* by_label, const S* panel, std::int64_t first_column, S* out) {
  using V = Wide<S>;
  constexpr std::int64_t lanes = sizeof(V) / sizeof(S);
  for (std::int64_t run = 0; run < kPanelSlots; run += K * lanes) {
    V acc[K] = {};
    for (std::int64_t j = i; j < end; ++j) {
      const S* x = panel + (pairs.column[j] - first_column) * kPanelSlots + run;
      const S w = by_label[j];
      for (int k = 0; k < K; ++k) acc[k] += w * load_as<V>(x + k * lanes);
    }
    for (int k = 0; k < K; ++k) store_as(out + run + k * lanes, acc[k]);
  }
}

// out[8][kPanelSlots] = labels y to y + 8, of the columns [first, last), which the panel has.
template <class S>
PROXQN_INLINE void weigh_eight(const DensePairs& pairs, const LabelWeights<S>& weights,
                               std::int64_t y, std::int64_t first, std::int64_t last,
                               std::int64_t n_columns, const S* panel, TurnedPanel<S>& out) {
  const bool wide = register_bytes() == 64;
  if (!weights.table.empty()) {
    for (int k = 0; k < kLanes; k += kTogether) {
      const std::int64_t at = (y + k) / kTogether * n_columns + first;
      const S* table = weights.table.data() + at * kTogether;
      if (wide) weigh_together<4>(table, last - first, panel, out + k);
      else weigh_together<1>(table, last - first, panel, out + k);
    }
    return;
  }
  for (int k = 0; k < kLanes; ++k) {
    const std::int64_t i = pairs.from(y + k, first), stop = pairs.from(y + k, last);
    const S* ordered = weights.ordered.data();
    if (wide) weigh<8>(pairs, i, stop, ordered, panel, first, out[k]);
    else weigh<4>(pairs, i, stop, ordered, panel, first, out[k]);
  }
}

// Adds to slots [begin, end) of the array, whose first slot has this number.
template <class Array>
PROXQN_INLINE void score_slots(const DenseBlock& block, const DensePairs& pairs,
                               const LabelWeights<typename Array::S>& weights, std::int64_t begin,
                               std::int64_t end, std::int64_t first_slot, const Array& array) {
  using S = typename Array::S;
  AlignedArray<S> panel(columns_at_once(block) * kPanelSlots);
  alignas(64) TurnedPanel<S> sums;
  for (std::int64_t slot = begin; slot < end; slot += kPanelSlots) {
    const std::int64_t n = std::min(kPanelSlots, end - slot);
    each_panel(block, slot, n, panel.data(),
               [&](std::int64_t first, std::int64_t last) PROXQN_INLINED {
                 for (std::int64_t y = 0; y < whole_eights(array.n_labels); y += kLanes) {
                   if (!pairs.any(y, y + kLanes)) continue;
                   weigh_eight(pairs, weights, y, first, last, block.n_columns, panel.data(), sums);
                   add(array, y, slot - first_slot, n, sums);
                 }
               });
  }
}
PROXQN_CLONES void score_some(const DenseBlock& block, const DensePairs& pairs,
                              const LabelWeights<double>& weights, std::int64_t begin,
                              std::int64_t end, std::int64_t first_slot,
                              const LabelMajor<double>& array) {
  score_slots(block, pairs, weights, begin, end, first_slot, array);
}
PROXQN_CLONES void score_some(const DenseBlock& block, const DensePairs& pairs,
                              const LabelWeights<float>& weights, std::int64_t begin,
                              std::int64_t end, std::int64_t first_slot,
                              const EightMajor<float>& array) {
  score_slots(block, pairs, weights, begin, end, first_slot, array);
}

template <class Array>
static void add_scores(const DenseBlock& block, const DensePairs& pairs, const double* weights,
                       int n_jobs, const Array& array) {
  if (pairs.order.empty()) return;
  const LabelWeights<typename Array::S> own(pairs, weights, block.n_columns, array.n_labels);
  const std::int64_t task = kTaskPanels * kPanelSlots;
  parallel_for((array.stride + task - 1) / task, n_jobs, [&](std::int64_t i) {
    may_throw([&] {
      score_some(block, pairs, own, i * task, std::min(array.stride, (i + 1) * task), 0, array);
    });
  });
}

void add_dense_scores(const DenseBlock& block, const std::int64_t* coordinates,
                      const double* weights, std::int64_t n, std::int64_t n_labels,
                      std::int64_t stride, int n_jobs, double* out, std::uint8_t* dirty) {
  const DensePairs pairs(coordinates, n, n_labels, nullptr);
  add_scores(block, pairs, weights, n_jobs, LabelMajor<double>{out, stride, n_labels});
  for (std::int64_t y = 0; y < n_labels; ++y) dirty[y] |= pairs.any(y, y + 1);
}

void add_dense_scores(const DenseBlock& block, const std::int64_t* coordinates,
                      const double* weights, std::int64_t n, std::int64_t n_labels,
                      const std::int32_t* rank, std::int64_t stride, int n_jobs, float* rows) {
  const DensePairs pairs(coordinates, n, n_labels, rank);
  add_scores(block, pairs, weights, n_jobs, EightMajor<float>{rows, stride, n_labels});
}

void add_dense_window(const DenseBlock& block, const DensePairs& pairs, const double* weights,
                      std::int64_t n_labels, std::int64_t begin, std::int64_t end, double* out) {
  if (pairs.order.empty()) return;
  const LabelWeights<double> own(pairs, weights, block.n_columns, n_labels);
  may_throw([&] {
    score_some(block, pairs, own, begin, end, begin,
               LabelMajor<double>{out, end - begin, n_labels});
  });
}

// --- gradient on given coordinates ---------------------------------------------------------------

PROXQN_INLINE double sum_of(double8 v) { return sum(v); }
PROXQN_INLINE double sum_of(float16 v) {
  float8 halves[2];
  std::memcpy(halves, &v, sizeof v);
  return sum(halves[0] + halves[1]);
}

// sums[K] += the products of K columns with one label's residuals [kPanelSlots].
template <int K, class S>
PROXQN_INLINE void multiply(const std::int32_t* column, std::int64_t first_column, const S* panel,
                            const S* residuals, double* sums) {
  using V = Wide<S>;
  constexpr std::int64_t lanes = sizeof(V) / sizeof(S);
  const S* x[K];
  for (int k = 0; k < K; ++k) x[k] = panel + (column[k] - first_column) * kPanelSlots;
  V acc[K] = {};
  for (std::int64_t s = 0; s < kPanelSlots; s += lanes) {
    const V r = load_as<V>(residuals + s);
    for (int k = 0; k < K; ++k) acc[k] += r * load_as<V>(x[k] + s);
  }
  for (int k = 0; k < K; ++k) sums[k] += sum_of(acc[k]);
}

// sums[n], in the order of the pairs, over panels [first, last).
template <class Array>
PROXQN_INLINE void sum_panels(const DenseBlock& block, const DensePairs& pairs, const Array& array,
                              std::int64_t first_panel, std::int64_t last_panel, double* sums) {
  using S = typename Array::S;
  AlignedArray<S> panel(columns_at_once(block) * kPanelSlots);
  alignas(64) TurnedPanel<S> residuals;
  const bool wide = register_bytes() == 64;
  for (std::int64_t p = first_panel; p < last_panel; ++p) {
    const std::int64_t slot = p * kPanelSlots, n = std::min(kPanelSlots, array.stride - slot);
    each_panel(block, slot, n, panel.data(),
               [&](std::int64_t first, std::int64_t last) PROXQN_INLINED {
                 for (std::int64_t y = 0; y < whole_eights(array.n_labels); y += kLanes) {
                   if (!pairs.any(y, y + kLanes)) continue;
                   take(array, y, slot, n, residuals);
                   for (int k = 0; k < kLanes; ++k) {
                     std::int64_t i = pairs.from(y + k, first);
                     const std::int64_t stop = pairs.from(y + k, last);
                     const std::int32_t* column = pairs.column.data();
                     if (wide)
                       for (; i + 8 <= stop; i += 8)
                         multiply<8>(column + i, first, panel.data(), residuals[k], sums + i);
                     for (; i + 4 <= stop; i += 4)
                       multiply<4>(column + i, first, panel.data(), residuals[k], sums + i);
                     for (; i < stop; ++i)
                       multiply<1>(column + i, first, panel.data(), residuals[k], sums + i);
                   }
                 }
               });
  }
}
PROXQN_CLONES void sum_some(const DenseBlock& block, const DensePairs& pairs,
                            const LabelMajor<const double>& array, std::int64_t first,
                            std::int64_t last, double* sums) {
  sum_panels(block, pairs, array, first, last, sums);
}
PROXQN_CLONES void sum_some(const DenseBlock& block, const DensePairs& pairs,
                            const EightMajor<const float>& array, std::int64_t first,
                            std::int64_t last, double* sums) {
  sum_panels(block, pairs, array, first, last, sums);
}

template <class Array>
static void gradient(const DenseBlock& block, const DensePairs& pairs, const Array& array,
                     int n_jobs, double* out) {
  const auto n = static_cast<std::int64_t>(pairs.order.size());
  if (n == 0) return;
  if (kManyPairs * static_cast<double>(n) > block.n_columns * array.n_labels) {
    const AllSums all = all_sums(block, array, n_jobs);
    for (std::int64_t y = 0; y < array.n_labels; ++y)
      for (std::int64_t i = pairs.start[y]; i < pairs.start[y + 1]; ++i)
        out[pairs.order[i]] = all.sums[y * all.width + pairs.column[i]];
    return;
  }
  const std::int64_t n_panels = panels(array.stride), n_parts = dense_parts(n_panels, n);
  std::vector<double> sums(n_parts * n, 0.0);
  parallel_for(n_parts, n_jobs, [&](std::int64_t part) {
    may_throw([&] {
      sum_some(block, pairs, array, part * n_panels / n_parts, (part + 1) * n_panels / n_parts,
               sums.data() + part * n);
    });
  });
  for (std::int64_t i = 0; i < n; ++i) {
    double total = 0.0;
    for (std::int64_t part = 0; part < n_parts; ++part) total += sums[part * n + i];
    out[pairs.order[i]] = total;
  }
}

void dense_gradient(const DenseBlock& block, const std::int64_t* coordinates, std::int64_t n,
                    std::int64_t n_labels, std::int64_t stride, const double* residuals, int n_jobs,
                    double* out) {
  gradient(block, {coordinates, n, n_labels, nullptr},
           LabelMajor<const double>{residuals, stride, n_labels}, n_jobs, out);
}
void dense_gradient(const DenseBlock& block, const std::int64_t* coordinates, std::int64_t n,
                    std::int64_t n_labels, const std::int32_t* rank, const float* rows,
                    std::int64_t stride, int n_jobs, double* out) {
  gradient(block, {coordinates, n, n_labels, rank}, EightMajor<const float>{rows, stride, n_labels},
           n_jobs, out);
}

}  // namespace proxqn::products
