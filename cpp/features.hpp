// Products with feature-indexed data: for each column (feature) the slots where it is active, and
// its values there unless all are 1. A coordinate is column * L + label.
//
// Partial products walk one label's contiguous column of a label-major array [L][stride], label by
// label, so that it stays in the L2 cache. The full sweep needs all labels of every entry at once
// and reads a slot-major copy [stride][Lp].
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "parallel.hpp"
#include "simd.hpp"

namespace proxqn {

struct Features {
  std::int64_t n_columns;
  const std::int64_t* start;        // [n_columns+1] into slots
  const std::int32_t* slots;        // ascending within a column
  const std::int64_t* value_start;  // [n_columns] into values, -1 for a column of ones
  const double* values;
  const double* column_values(std::int64_t c) const {
    return value_start[c] < 0 ? nullptr : values + value_start[c];
  }
};

// CSR rows -> columns. column_of maps an entry's CSR position to a column; row_slot a row to its
// slot; rows are visited in slot order, so slots ascend within each column.
template <class Index>
void transpose(const Index* indptr, const std::int32_t* entry_column, const std::int64_t* row_order,
               const std::int32_t* row_slot, std::int64_t n_rows, const std::int64_t* start,
               std::int64_t n_columns, std::int32_t* slots, Index* entry) {
  std::vector<std::int64_t> next(start, start + n_columns);
  for (std::int64_t i = 0; i < n_rows; ++i) {
    const std::int64_t row = row_order[i];
    for (Index e = indptr[row]; e < indptr[row + 1]; ++e) {
      const std::int64_t at = next[entry_column[e]]++;
      slots[at] = row_slot[row];
      if (entry) entry[at] = e;
    }
  }
}

// (column, label) pairs that occur: labels of each column ascending. Two calls: count, then fill.
inline void observed_pairs(const Features& f, const std::int32_t* labels, std::int64_t n_labels,
                           std::int64_t* pair_start, std::int32_t* pair_labels) {
  std::vector<std::uint8_t> seen(n_labels);
  std::int64_t total = 0;
  for (std::int64_t c = 0; c < f.n_columns; ++c) {
    if (!pair_labels) pair_start[c] = total;
    std::fill(seen.begin(), seen.end(), 0);
    for (std::int64_t e = f.start[c]; e < f.start[c + 1]; ++e) seen[labels[f.slots[e]]] = 1;
    for (std::int64_t y = 0; y < n_labels; ++y)
      if (seen[y]) {
        if (pair_labels) pair_labels[total] = static_cast<std::int32_t>(y);
        ++total;
      }
  }
  if (!pair_labels) pair_start[f.n_columns] = total;
}

struct Restricted {  // as Features
  std::vector<std::int64_t> start, value_start;
  std::vector<std::int32_t> slots;
  std::vector<double> values;
};

// The same columns on some of the slots: slot s becomes slot_map[s], or goes where that is -1. Columns
// may end up empty, but keep their numbers.
inline Restricted restrict_slots(const Features& f, const std::int32_t* slot_map, int n_jobs) {
  constexpr std::int64_t chunk = 64;  // columns
  Restricted out{std::vector<std::int64_t>(f.n_columns + 1), std::vector<std::int64_t>(f.n_columns), {}, {}};
  auto each_column = [&](const auto& body) {
    parallel_for((f.n_columns + chunk - 1) / chunk, n_jobs, [&](std::int64_t i) {
      for (std::int64_t c = i * chunk; c < std::min(f.n_columns, (i + 1) * chunk); ++c) body(c);
    });
  };
  each_column([&](std::int64_t c) {
    std::int64_t n = 0;
    for (std::int64_t e = f.start[c]; e < f.start[c + 1]; ++e) n += slot_map[f.slots[e]] >= 0;
    out.start[c + 1] = n;
  });
  std::int64_t n_values = 0;
  for (std::int64_t c = 0; c < f.n_columns; ++c) {
    const bool ones = f.value_start[c] < 0;
    out.value_start[c] = ones ? -1 : n_values;
    n_values += ones ? 0 : out.start[c + 1];
    out.start[c + 1] += out.start[c];
  }
  out.slots.resize(out.start.back());
  out.values.resize(n_values);
  each_column([&](std::int64_t c) {
    const double* v = f.column_values(c);
    std::int32_t* slots = out.slots.data() + out.start[c];
    double* values = out.values.data() + out.value_start[c];
    for (std::int64_t e = f.start[c]; e < f.start[c + 1]; ++e) {
      const std::int32_t slot = slot_map[f.slots[e]];
      if (slot < 0) continue;
      *slots++ = slot;
      if (v) *values++ = v[e - f.start[c]];
    }
  });
  return out;
}

// Coordinates grouped by label: order[label_start[y] .. label_start[y+1]) are those of label y.
struct ByLabel {
  std::vector<std::int64_t> label_start, order;
  ByLabel(const std::int64_t* coordinates, std::int64_t n, std::int64_t n_labels)
      : label_start(n_labels + 1, 0), order(n) {
    for (std::int64_t i = 0; i < n; ++i) ++label_start[coordinates[i] % n_labels + 1];
    for (std::int64_t y = 0; y < n_labels; ++y) label_start[y + 1] += label_start[y];
    auto next = label_start;
    for (std::int64_t i = 0; i < n; ++i) order[next[coordinates[i] % n_labels]++] = i;
  }
};

// --- move: change[y][slot] = sum_j direction_j x_j(slot) -----------------------------------------

PROXQN_CLONES void move_label(const Features& f, const std::int64_t* coordinates,
                              const double* direction, std::int64_t n_labels,
                              const std::int64_t* order, std::int64_t n, double* column) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t c = coordinates[order[i]] / n_labels;
    const double d = direction[order[i]];
    const std::int64_t first = f.start[c], count = f.start[c + 1] - first;
    const std::int32_t* slots = f.slots + first;
    if (const double* v = f.column_values(c))
      for (std::int64_t e = 0; e < count; ++e) column[slots[e]] += d * v[e];
    else
      for (std::int64_t e = 0; e < count; ++e) column[slots[e]] += d;
  }
}

// dirty[y] says whether change[y] holds an earlier direction; columns at rest are not written.
inline void move(const Features& f, const std::int64_t* coordinates, const double* direction,
                 std::int64_t n, std::int64_t n_labels, std::int64_t stride, int n_jobs,
                 double* change, std::uint8_t* dirty) {
  const ByLabel by(coordinates, n, n_labels);
  parallel_for(n_labels, n_jobs, [&](std::int64_t y) {
    const std::int64_t first = by.label_start[y], count = by.label_start[y + 1] - first;
    double* column = change + y * stride;
    if (dirty[y]) std::fill(column, column + stride, 0.0);
    move_label(f, coordinates, direction, n_labels, by.order.data() + first, count, column);
    dirty[y] = count > 0;
  });
}

// --- gradient on given coordinates ---------------------------------------------------------------

PROXQN_INLINE double gather_sum(const double* column, const std::int32_t* slots, std::int64_t n) {
  double a[8] = {};  // eight chains hide the latency of the loads; combined in a fixed order
  std::int64_t e = 0;
  for (; e + 8 <= n; e += 8)
    for (int k = 0; k < 8; ++k) a[k] += column[slots[e + k]];
  for (; e < n; ++e) a[0] += column[slots[e]];
  return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
}

PROXQN_INLINE double gather_dot(const double* column, const std::int32_t* slots, const double* v,
                                std::int64_t n) {
  double a[4] = {};
  std::int64_t e = 0;
  for (; e + 4 <= n; e += 4)
    for (int k = 0; k < 4; ++k) a[k] += column[slots[e + k]] * v[e + k];
  for (; e < n; ++e) a[0] += column[slots[e]] * v[e];
  return (a[0] + a[2]) + (a[1] + a[3]);
}

inline void gradient_range(const Features& f, const std::int64_t* coordinates,
                           const std::int64_t* order, std::int64_t n, std::int64_t n_labels,
                           std::int64_t stride, const double* residuals, double* gradient) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t c = coordinates[order[i]] / n_labels, y = coordinates[order[i]] % n_labels;
    const std::int64_t first = f.start[c], count = f.start[c + 1] - first;
    const double* column = residuals + y * stride;
    const double* v = f.column_values(c);
    gradient[order[i]] = v ? gather_dot(column, f.slots + first, v, count)
                           : gather_sum(column, f.slots + first, count);
  }
}

inline void gradient(const Features& f, const std::int64_t* coordinates, std::int64_t n,
                     std::int64_t n_labels, std::int64_t stride, const double* residuals,
                     int n_jobs, double* out) {
  const ByLabel by(coordinates, n, n_labels);
  constexpr std::int64_t chunk = 32;
  parallel_for((n + chunk - 1) / chunk, n_jobs, [&](std::int64_t i) {
    const std::int64_t first = i * chunk;
    gradient_range(f, coordinates, by.order.data() + first, std::min(chunk, n - first), n_labels,
                   stride, residuals, out);
  });
}

// --- sweep: every coordinate's gradient, keeping only those above a threshold --------------------

PROXQN_CLONES void slot_major(const double* residuals, std::int64_t n_labels, std::int64_t stride,
                              std::int64_t first, std::int64_t last, std::int64_t Lp, double* out) {
  for (std::int64_t s = first; s < last; ++s) {
    for (std::int64_t y = 0; y < n_labels; ++y) out[s * Lp + y] = residuals[y * stride + s];
    for (std::int64_t y = n_labels; y < Lp; ++y) out[s * Lp + y] = 0.0;
  }
}

constexpr std::int64_t kRun = 1024;

// Where the eights of labels of a slot are: slot-major doubles, or floats as in rows.hpp.
template <class S>
struct SlotRows {
  const S* first;
  std::int64_t slot_step, eight_step;
  SlotRows(const S* array, std::int64_t stride, std::int64_t Lp)
      : first(array), slot_step(std::is_same_v<S, float> ? 8 : Lp),
        eight_step(std::is_same_v<S, float> ? 8 * stride : 8) {}
};

// acc[8 Blocks] += sum over the entries of value * residual row, from label y on.
template <int Blocks, class S>
PROXQN_INLINE void column_sums(const std::int32_t* slots, const double* v, std::int64_t n,
                               const SlotRows<S>& rows, std::int64_t y, double* acc) {
  const S* first_row = rows.first + y / 8 * rows.eight_step;
  using V = std::conditional_t<std::is_same_v<S, float>, float8, double8>;
  for (std::int64_t first = 0; first < n; first += kRun) {  // floats are summed in runs
    const std::int64_t last = std::min(n, first + kRun);
    V a[Blocks] = {};
    for (std::int64_t e = first; e < last; ++e) {
      const S* row = first_row + slots[e] * rows.slot_step;
      const S x = v ? static_cast<S>(v[e]) : S(1);
      for (int k = 0; k < Blocks; ++k) {
        V r;
        std::memcpy(&r, row + k * rows.eight_step, sizeof r);
        a[k] += v ? x * r : r;
      }
    }
    for (int k = 0; k < Blocks; ++k) store8(acc + 8 * k, load8(acc + 8 * k) + widen(a[k]));
  }
}

template <class S>
PROXQN_INLINE void add_rows(const std::int32_t* slots, const double* v, std::int64_t n,
                            const SlotRows<S>& rows, std::int64_t Lp, double* acc) {
  for (std::int64_t y = 0; y < Lp;) {
    const std::int64_t left = (Lp - y) / 8;
    if (left >= 4) column_sums<4>(slots, v, n, rows, y, acc + y), y += 32;
    else if (left == 3) column_sums<3>(slots, v, n, rows, y, acc + y), y += 24;
    else if (left == 2) column_sums<2>(slots, v, n, rows, y, acc + y), y += 16;
    else column_sums<1>(slots, v, n, rows, y, acc + y), y += 8;
  }
}

// acc[Lp] = the column's sums.
PROXQN_CLONES void sweep_column(const Features& f, std::int64_t c, const double* rows,
                                std::int64_t Lp, double* acc) {
  const std::int64_t first = f.start[c];
  std::fill(acc, acc + Lp, 0.0);
  add_rows(f.slots + first, f.column_values(c), f.start[c + 1] - first, SlotRows(rows, 0, Lp), Lp, acc);
}

constexpr std::int64_t kBlockBytes = 1 << 18;   // of residual rows: a quarter of a usual L2 cache
constexpr std::int64_t kSweepColumns = 256;
constexpr std::int64_t kFewEntries = 8;

struct Sweep {
  std::vector<std::int64_t> coordinates;
  std::vector<double> gradient;
  double largest = 0.0;
};

// Sums of the columns [first, last), block of slots by block: the residual rows of a block stay in
// the L2 cache while all the columns pick theirs from them. A column with only a few entries a block
// is summed at once: going to every block would cost more. sums[last - first][Lp], zero at the start.
template <class S>
PROXQN_INLINE void sum_blocked(const Features& f, std::int64_t first, std::int64_t last,
                               const S* array, std::int64_t stride, std::int64_t Lp, double* sums) {
  const SlotRows<S> rows(array, stride, Lp);
  const std::int64_t block =
      std::max<std::int64_t>(64, kBlockBytes / (static_cast<std::int64_t>(sizeof(S)) * Lp));
  const std::int64_t few = kFewEntries * ((stride + block - 1) / block);
  std::vector<std::int64_t> next(f.start + first, f.start + last), dense;
  for (std::int64_t c = first; c < last; ++c) {
    const std::int64_t n = f.start[c + 1] - f.start[c];
    if (n > few) dense.push_back(c);
    else add_rows(f.slots + f.start[c], f.column_values(c), n, rows, Lp, sums + (c - first) * Lp);
  }
  if (dense.empty()) return;
  for (std::int64_t end = block; end < stride + block; end += block)
    for (const std::int64_t c : dense) {
      const std::int64_t e = next[c - first], stop = f.start[c + 1];
      const std::int32_t* slots = f.slots + e;
      std::int64_t n = 0;
      while (e + n < stop && slots[n] < end) ++n;
      const double* v = f.column_values(c);
      if (v) v += e - f.start[c];
      add_rows(slots, v, n, rows, Lp, sums + (c - first) * Lp);
      next[c - first] = e + n;
    }
}

PROXQN_CLONES void sweep_blocked(const Features& f, std::int64_t first, std::int64_t last,
                                 const double* rows, std::int64_t stride, std::int64_t Lp,
                                 double* sums) {
  sum_blocked(f, first, last, rows, stride, Lp, sums);
}
PROXQN_CLONES void sweep_blocked(const Features& f, std::int64_t first, std::int64_t last,
                                 const float* rows, std::int64_t stride, std::int64_t Lp,
                                 double* sums) {
  sum_blocked(f, first, last, rows, stride, Lp, sums);
}

// pair_start/pair_labels restrict each column to its admitted labels; null admits all.
template <class S>
void sweep_range(const Features& f, std::int64_t first, std::int64_t last, std::int64_t n_labels,
                 const S* rows, std::int64_t stride, std::int64_t Lp, double threshold,
                 const std::int64_t* pair_start, const std::int32_t* pair_labels,
                 const std::int32_t* rank, Sweep& out) {
  std::vector<double> sums((last - first) * Lp, 0.0);
  sweep_blocked(f, first, last, rows, stride, Lp, sums.data());
  for (std::int64_t c = first; c < last; ++c) {
    const double* acc = sums.data() + (c - first) * Lp;
    auto keep = [&](std::int64_t y) {
      const double g = acc[rank ? rank[y] : y];
      const double size = std::fabs(g);
      if (!(size <= out.largest)) out.largest = size;  // a NaN stays visible
      if (!(size > threshold)) return;
      out.coordinates.push_back(c * n_labels + y);
      out.gradient.push_back(g);
    };
    if (pair_start)
      for (std::int64_t i = pair_start[c]; i < pair_start[c + 1]; ++i) keep(pair_labels[i]);
    else
      for (std::int64_t y = 0; y < n_labels; ++y) keep(y);
  }
}

// What body(first, last, found) finds in chunks of columns, in their order.
template <class Body>
Sweep sweep_chunks(const Features& f, int n_jobs, const Body& body) {
  // Chunks of a few hundred columns, so that their sums fit the cache beside a block of rows.
  const std::int64_t n_chunks = (f.n_columns + kSweepColumns - 1) / kSweepColumns;
  std::vector<std::int64_t> bounds(n_chunks + 1, f.n_columns);  // chunks of about equal entries
  const std::int64_t entries = f.start[f.n_columns];
  for (std::int64_t i = 0; i < n_chunks; ++i)
    bounds[i] = std::lower_bound(f.start, f.start + f.n_columns, entries * i / n_chunks) - f.start;
  std::vector<Sweep> parts(n_chunks);
  parallel_for(n_chunks, n_jobs,
               [&](std::int64_t i) { body(bounds[i], bounds[i + 1], parts[i]); });
  Sweep all;
  for (auto& part : parts) {
    all.coordinates.insert(all.coordinates.end(), part.coordinates.begin(), part.coordinates.end());
    all.gradient.insert(all.gradient.end(), part.gradient.begin(), part.gradient.end());
    if (!(part.largest <= all.largest)) all.largest = part.largest;
  }
  return all;
}

// On slot-major rows [stride][Lp], or on floats as in rows.hpp; rank is the labels' order there.
template <class S>
Sweep sweep_rows(const Features& f, std::int64_t n_labels, std::int64_t stride, std::int64_t Lp,
                 const S* rows, double threshold, const std::int64_t* pair_start,
                 const std::int32_t* pair_labels, const std::int32_t* rank, int n_jobs) {
  return sweep_chunks(f, n_jobs, [&](std::int64_t first, std::int64_t last, Sweep& out) {
    sweep_range(f, first, last, n_labels, rows, stride, Lp, threshold, pair_start, pair_labels, rank,
                out);
  });
}

// On a label-major array [L][stride].
inline Sweep sweep(const Features& f, std::int64_t n_labels, std::int64_t stride,
                   const double* residuals, double threshold, const std::int64_t* pair_start,
                   const std::int32_t* pair_labels, int n_jobs) {
  const std::int64_t Lp = (n_labels + 7) / 8 * 8;
  std::unique_ptr<double[]> rows(new double[stride * Lp]);  // first touched by the threads
  constexpr std::int64_t block = 1024;
  parallel_for((stride + block - 1) / block, n_jobs, [&](std::int64_t i) {
    slot_major(residuals, n_labels, stride, i * block, std::min(stride, (i + 1) * block), Lp,
               rows.get());
  });
  return sweep_rows(f, n_labels, stride, Lp, rows.get(), threshold, pair_start, pair_labels, nullptr,
                    n_jobs);
}

}  // namespace proxqn
