// Products with feature-indexed data: for each column (feature) the slots where it is active, and
// its values there unless all are 1. A coordinate is column * L + label.
//
// Partial products walk one label's contiguous column of a label-major array [L][stride], label by
// label, so that it stays in the L2 cache. The full sweep is in sweep.hpp.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "lines.hpp"
#include "parallel.hpp"
#include "simd.hpp"

namespace proxqn {

// For each slot the list of its frequent columns of ones. A sample of the slots has the lists of all.
struct TokenLists {
  const std::int64_t* start = nullptr;    // [n_lists+1] into places
  const std::uint16_t* places = nullptr;  // among the columns
  std::int64_t n_columns = 0;
  const std::int32_t* columns = nullptr;    // [n_columns] ascending
  const std::int32_t* slot_list = nullptr;  // [stride] -1 for none, or null: slot s has list s
};

struct Features {
  std::int64_t n_columns;
  const std::int64_t* start;        // [n_columns+1] into slots
  const std::int32_t* slots;        // ascending within a column
  const std::int64_t* value_start;  // [n_columns] into values, -1 for a column of ones
  const double* values;
  TokenLists lists = {};
  const double* column_values(std::int64_t c) const {
    return value_start[c] < 0 ? nullptr : values + value_start[c];
  }
};

// The first of a column's slots [first, last) that is this one or a later one. They are about evenly
// spread over the stride: the search begins where that one would be.
inline const std::int32_t* find_slot(const std::int32_t* first, const std::int32_t* last,
                                     std::int64_t slot, std::int64_t stride) {
  const std::int32_t* low = first + (last - first) * std::min(slot, stride) / stride;
  const std::int32_t* high = low;  // in the end: those before low are too early, those from high on not
  std::int64_t step = 8;
  for (; low > first && low[-1] >= slot; step *= 2) {
    high = low - 1;
    low -= std::min<std::int64_t>(step, low - first);
  }
  for (; high < last && *high < slot; step *= 2) {
    low = high + 1;
    high += std::min<std::int64_t>(step, last - high);
  }
  return std::lower_bound(low, high, slot);
}

// CSR rows -> columns. column_of maps an entry's CSR position to a column; row_slot a row to its
// slot; rows are visited in slot order, so slots ascend within each column.
//
// place[n_columns], or null, says which columns the slots' lists should name, and how; -1 for not at all.
// Then list_start[n_slots+1] and lists become those of TokenLists; lists has room for one more than all.
template <class Index>
void transpose(const Index* indptr, const std::int32_t* entry_column, const std::int64_t* row_order,
               const std::int32_t* row_slot, std::int64_t n_rows, const std::int64_t* start,
               std::int64_t n_columns, std::int32_t* slots, Index* entry, const std::int32_t* place,
               std::int64_t n_slots, std::int64_t* list_start, std::uint16_t* lists) {
  constexpr std::int64_t ahead = 32;  // rows: they stand elsewhere
  std::vector<std::int64_t> next(start, start + n_columns);
  std::int64_t n_listed = 0, slot = 0;
  for (std::int64_t i = 0; i < n_rows; ++i) {
    __builtin_prefetch(indptr + row_order[std::min(i + 2 * ahead, n_rows - 1)]);
    const Index later = indptr[row_order[std::min(i + ahead, n_rows - 1)]];
    __builtin_prefetch(entry_column + later);
    __builtin_prefetch(entry_column + later + 16);
    const std::int64_t row = row_order[i];
    if (place)
      while (slot <= row_slot[row]) list_start[slot++] = n_listed;
    for (Index e = indptr[row]; e < indptr[row + 1]; ++e) {
      const std::int32_t c = entry_column[e];
      const std::int64_t at = next[c]++;
      slots[at] = row_slot[row];
      if (entry) entry[at] = e;
      if (!place) continue;
      lists[n_listed] = static_cast<std::uint16_t>(place[c]);  // anyway: nobody foresees which count
      n_listed += place[c] >= 0;
    }
  }
  if (place)
    while (slot <= n_slots) list_start[slot++] = n_listed;
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
  std::int64_t n_values = 0;
  Lines<std::int32_t> slots{0};  // both first touched by the threads
  Lines<double> values{0};
};

// The same columns on some of the slots: slot s becomes slot_map[s], or goes where that is -1. Columns
// may end up empty, but keep their numbers.
inline Restricted restrict_slots(const Features& f, const std::int32_t* slot_map,
                                 std::int64_t n_slots, int n_jobs) {
  constexpr std::int64_t chunk = 64;                  // columns
  std::vector<std::uint64_t> bits(n_slots / 64 + 1);  // of the slots that stay: these fit a cache
  for (std::int64_t s = 0; s < n_slots; ++s)
    bits[s / 64] |= static_cast<std::uint64_t>(slot_map[s] >= 0) << s % 64;
  auto stays = [&](std::uint32_t s) { return static_cast<std::int64_t>(bits[s / 64] >> s % 64 & 1); };
  Restricted out;
  out.start.resize(f.n_columns + 1);
  out.value_start.resize(f.n_columns);
  auto each_column = [&](const auto& body) {
    parallel_for((f.n_columns + chunk - 1) / chunk, n_jobs, [&](std::int64_t i) {
      for (std::int64_t c = i * chunk; c < std::min(f.n_columns, (i + 1) * chunk); ++c) body(c);
    });
  };
  each_column([&](std::int64_t c) {
    std::int64_t n = 0;
    for (std::int64_t e = f.start[c]; e < f.start[c + 1]; ++e) n += stays(f.slots[e]);
    out.start[c + 1] = n;
  });
  for (std::int64_t c = 0; c < f.n_columns; ++c) {
    const bool ones = f.value_start[c] < 0;
    out.value_start[c] = ones ? -1 : out.n_values;
    out.n_values += ones ? 0 : out.start[c + 1];
    out.start[c + 1] += out.start[c];
  }
  out.slots = Lines<std::int32_t>(out.start.back() + 1);  // NumPy takes no null
  out.values = Lines<double>(out.n_values + 1);
  each_column([&](std::int64_t c) {
    const double* v = f.column_values(c);
    const std::int64_t n = out.start[c + 1] - out.start[c];
    std::int32_t* slots = out.slots.data() + out.start[c];
    double* values = out.values.data() + out.value_start[c];
    std::int64_t kept = 0;
    for (std::int64_t e = f.start[c]; kept < n; ++e) {  // written anyway: nobody foresees which stay
      slots[kept] = f.slots[e];
      if (v) values[kept] = v[e - f.start[c]];
      kept += stays(f.slots[e]);
    }
    for (std::int64_t k = 0; k < n; ++k) slots[k] = slot_map[slots[k]];
  });
  return out;
}

// Coordinates grouped by label: order[label_start[y] .. label_start[y+1]) are those of label y.
struct ByLabel {
  std::vector<std::int64_t> label_start, order;
  std::int64_t n_entries = 0;
  ByLabel(const Features& f, const std::int64_t* coordinates, std::int64_t n, std::int64_t n_labels)
      : label_start(n_labels + 1, 0), order(n) {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t c = coordinates[i] / n_labels;
      ++label_start[coordinates[i] - c * n_labels + 1];
      n_entries += f.start[c + 1] - f.start[c];
    }
    for (std::int64_t y = 0; y < n_labels; ++y) label_start[y + 1] += label_start[y];
    auto next = label_start;
    for (std::int64_t i = 0; i < n; ++i) order[next[coordinates[i] % n_labels]++] = i;
  }
};

// --- scores[y][slot] = sum_j w_j x_j(slot) -------------------------------------------------------

// Adds to slots [begin, end) of one label, which `out` is.
PROXQN_CLONES void score_label(const Features& f, const std::int64_t* coordinates,
                               const double* weights, std::int64_t n_labels,
                               const std::int64_t* order, std::int64_t n, std::int64_t begin,
                               std::int64_t end, std::int64_t stride, double* out) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t c = coordinates[order[i]] / n_labels;
    const double w = weights[order[i]];
    const std::int32_t *all = f.slots + f.start[c], *stop = f.slots + f.start[c + 1];
    const std::int32_t* first = find_slot(all, stop, begin, stride);
    const std::int32_t* last = find_slot(all, stop, end, stride);
    if (const double* v = f.column_values(c))
      for (const std::int32_t* slot = first; slot < last; ++slot) out[*slot - begin] += w * v[slot - all];
    else
      for (const std::int32_t* slot = first; slot < last; ++slot) out[*slot - begin] += w;
  }
}

// dirty[y] says whether out[y] holds earlier scores; labels without weights are not written.
inline void scores(const Features& f, const std::int64_t* coordinates, const double* weights,
                   std::int64_t n, std::int64_t n_labels, std::int64_t stride, int n_jobs,
                   double* out, std::uint8_t* dirty) {
  const ByLabel by(f, coordinates, n, n_labels);
  n_jobs = jobs_for(by.n_entries, n_jobs);
  const std::int64_t n_parts = n_jobs > 1 ? 4 : 1;  // of the slots: labels have unequal work
  parallel_for(n_parts * n_labels, n_jobs, [&](std::int64_t task) {
    const std::int64_t y = task / n_parts, part = task % n_parts;
    const std::int64_t begin = part * stride / n_parts, end = (part + 1) * stride / n_parts;
    const std::int64_t first = by.label_start[y], count = by.label_start[y + 1] - first;
    double* column = out + y * stride;
    if (dirty[y]) std::fill(column + begin, column + end, 0.0);
    score_label(f, coordinates, weights, n_labels, by.order.data() + first, count, begin, end, stride,
                column + begin);
  });
  for (std::int64_t y = 0; y < n_labels; ++y) dirty[y] = by.label_start[y + 1] > by.label_start[y];
}

// The same for slots [begin, end) alone, to out [L][end - begin], which is zero before.
inline void window_scores(const Features& f, const ByLabel& by, const std::int64_t* coordinates,
                          const double* weights, std::int64_t n_labels, std::int64_t begin,
                          std::int64_t end, std::int64_t stride, double* out) {
  for (std::int64_t y = 0; y < n_labels; ++y) {
    const std::int64_t first = by.label_start[y], count = by.label_start[y + 1] - first;
    score_label(f, coordinates, weights, n_labels, by.order.data() + first, count, begin, end, stride,
                out + y * (end - begin));
  }
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
  const ByLabel by(f, coordinates, n, n_labels);
  constexpr std::int64_t chunk = 32;
  parallel_for((n + chunk - 1) / chunk, jobs_for(by.n_entries, n_jobs), [&](std::int64_t i) {
    const std::int64_t first = i * chunk;
    gradient_range(f, coordinates, by.order.data() + first, std::min(chunk, n - first), n_labels,
                   stride, residuals, out);
  });
}

}  // namespace proxqn
