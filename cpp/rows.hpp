// Products with feature-indexed data for slot-major arrays of floats, [stride][Lp] (chain.hpp). The
// labels of a column are taken eight at a time: an entry costs a load, an add and a store for each
// eight labels among which the column has a weight. Text has frequent features with a weight for
// most labels; there this is several times as fast as label by label (features.hpp).
#pragma once
#include "features.hpp"

namespace proxqn {

PROXQN_INLINE float8 load_floats(const float* p) {
  float8 v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
PROXQN_INLINE void store_floats(float* p, float8 v) { std::memcpy(p, &v, sizeof v); }

// Some of a column's slots and values (null for ones).
struct Entries {
  const std::int32_t* slots;
  const double* values;
  std::int64_t n;
  Entries part(std::int64_t first, std::int64_t last) const {
    return {slots + first, values ? values + first : nullptr, last - first};
  }
  Entries between(std::int64_t first_slot, std::int64_t last_slot) const {
    const std::int32_t* first = std::lower_bound(slots, slots + n, first_slot);
    return part(first - slots, std::lower_bound(first, slots + n, last_slot) - slots);
  }
};

inline Entries entries(const Features& f, std::int64_t c) {
  return {f.slots + f.start[c], f.column_values(c), f.start[c + 1] - f.start[c]};
}

// Columns with many entries are cut at blocks of slots whose rows fit the L2 cache, so that all
// columns pass over a block while it is there.
constexpr std::int64_t kSlotBlock = 2048, kEntriesABlock = 4;

struct SlotBlocks {
  std::int64_t n_blocks = 1;
  std::vector<std::int32_t> index;  // [n_columns] row of `cuts`, or -1 for a column left whole
  std::vector<std::int32_t> cuts;   // [.][n_blocks+1] where a column enters each block
  explicit SlotBlocks(const Features& f) : index(f.n_columns, -1) {
    std::int32_t last = 0;
    for (std::int64_t c = 0; c < f.n_columns; ++c)
      if (f.start[c + 1] > f.start[c]) last = std::max(last, f.slots[f.start[c + 1] - 1]);
    n_blocks = last / kSlotBlock + 1;
    for (std::int64_t c = 0; c < f.n_columns; ++c) {
      const Entries x = entries(f, c);
      if (x.n < kEntriesABlock * n_blocks) continue;
      index[c] = static_cast<std::int32_t>(cuts.size() / (n_blocks + 1));
      for (std::int64_t b = 0; b <= n_blocks; ++b)
        cuts.push_back(static_cast<std::int32_t>(x.between(0, b * kSlotBlock).n));
    }
  }
};

// Coordinates gathered by column and by eights of labels; [.][8] places for a number each.
struct Eights {
  struct Column {
    Entries all;
    const std::int32_t* cuts;  // null for a column left whole
    std::int64_t first, last;  // of its eights
  };
  std::vector<Column> columns;
  std::vector<std::int32_t> label;  // [.] first of the eight
  std::vector<std::int64_t> place;  // [n coordinates]

  // Coordinates ascend, so that those of a column are neighbours.
  Eights(const Features& f, const SlotBlocks& blocks, const std::int64_t* coordinates,
         std::int64_t n, std::int64_t n_labels) : place(n) {
    std::int64_t column = -1;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t c = coordinates[i] / n_labels, y = coordinates[i] % n_labels;
      const auto eight = static_cast<std::int32_t>(y / kLanes * kLanes);
      const auto end = static_cast<std::int64_t>(label.size());
      if (c != column) {
        const std::int32_t row = blocks.index[c];
        const std::int32_t* cuts =
            row < 0 ? nullptr : blocks.cuts.data() + row * (blocks.n_blocks + 1);
        columns.push_back({entries(f, c), cuts, end, end});
      }
      if (c != column || label.back() != eight) {
        label.push_back(eight);
        ++columns.back().last;
      }
      column = c;
      place[i] = (static_cast<std::int64_t>(label.size()) - 1) * kLanes + y - eight;
    }
  }
};

// Calls body<N>(first) for the eights of a column, N <= 4 of them at a time.
template <class Body>
PROXQN_INLINE void by_fours(const Eights::Column& c, const Body& body) {
  std::int64_t i = c.first;
  for (; i + 4 <= c.last; i += 4) body(std::integral_constant<int, 4>{}, i);
  if (c.last - i == 3) body(std::integral_constant<int, 3>{}, i);
  if (c.last - i == 2) body(std::integral_constant<int, 2>{}, i);
  if (c.last - i == 1) body(std::integral_constant<int, 1>{}, i);
}

// --- move: rows[slot] = sum_j direction_j x_j(slot) ----------------------------------------------

template <int N>
PROXQN_INLINE void scatter(const Entries& x, const std::int32_t* label, const float* steps,
                           std::int64_t Lp, float* rows) {
  float8 d[N];
  for (int k = 0; k < N; ++k) d[k] = load_floats(steps + k * kLanes);
  for (std::int64_t e = 0; e < x.n; ++e) {
    float* row = rows + x.slots[e] * Lp;
    const float value = x.values ? static_cast<float>(x.values[e]) : 1.0f;
    for (int k = 0; k < N; ++k) {
      float* p = row + label[k];
      store_floats(p, load_floats(p) + (x.values ? d[k] * value : d[k]));
    }
  }
}

PROXQN_INLINE void scatter_column(const Eights& eights, const Eights::Column& c, const Entries& x,
                                  const float* steps, std::int64_t Lp, float* rows) {
  by_fours(c, [&](auto n, std::int64_t i) {
    scatter<n>(x, eights.label.data() + i, steps + i * kLanes, Lp, rows);
  });
}

// The slots of blocks [first, last).
PROXQN_CLONES void move_blocks(const Eights& eights, const float* steps, std::int64_t first,
                               std::int64_t last, std::int64_t n_blocks, std::int64_t stride,
                               std::int64_t Lp, float* rows) {
  for (std::int64_t b = first; b < last; ++b) {
    const std::int64_t begin = b * kSlotBlock, end = std::min(stride, begin + kSlotBlock);
    std::fill(rows + begin * Lp, rows + end * Lp, 0.0f);
    if (b >= n_blocks) continue;
    for (const auto& c : eights.columns)
      if (c.cuts)
        scatter_column(eights, c, c.all.part(c.cuts[b], c.cuts[b + 1]), steps, Lp, rows);
  }
  for (const auto& c : eights.columns)
    if (!c.cuts)
      scatter_column(eights, c, c.all.between(first * kSlotBlock, last * kSlotBlock), steps, Lp,
                     rows);
}

inline void move(const Features& f, const SlotBlocks& blocks, const std::int64_t* coordinates,
                 const double* direction, std::int64_t n, std::int64_t n_labels,
                 std::int64_t stride, std::int64_t Lp, int n_jobs, float* rows) {
  const Eights eights(f, blocks, coordinates, n, n_labels);
  std::vector<float> steps(eights.label.size() * kLanes, 0.0f);
  for (std::int64_t i = 0; i < n; ++i) steps[eights.place[i]] = static_cast<float>(direction[i]);
  const std::int64_t n_blocks = (stride + kSlotBlock - 1) / kSlotBlock;
  // Every slot's sum is in the order of the columns, whatever the number of parts.
  const std::int64_t n_parts = std::min<std::int64_t>(n_blocks, n_jobs > 1 ? 4 * n_jobs : 1);
  parallel_for(n_parts, n_jobs, [&](std::int64_t part) {
    move_blocks(eights, steps.data(), part * n_blocks / n_parts, (part + 1) * n_blocks / n_parts,
                blocks.n_blocks, stride, Lp, rows);
  });
}

// --- gradient on given coordinates ---------------------------------------------------------------

constexpr std::int64_t kFloatRun = 1024;  // entries summed in single precision

template <int N>
PROXQN_INLINE void gather(const Entries& x, const std::int32_t* label, const float* rows,
                          std::int64_t Lp, double* sums) {
  for (std::int64_t first = 0; first < x.n; first += kFloatRun) {
    const std::int64_t last = std::min(x.n, first + kFloatRun);
    float8 even[N] = {}, odd[N] = {};  // two chains hide the latency of the additions
    auto add = [&](std::int64_t e, float8* acc) {
      const float* row = rows + x.slots[e] * Lp;
      for (int k = 0; k < N; ++k) {
        const float8 r = load_floats(row + label[k]);
        acc[k] += x.values ? r * static_cast<float>(x.values[e]) : r;
      }
    };
    std::int64_t e = first;
    for (; e + 2 <= last; e += 2) {
      add(e, even);
      add(e + 1, odd);
    }
    if (e < last) add(e, even);
    for (int k = 0; k < N; ++k) {
      double* p = sums + k * kLanes;
      store8(p, load8(p) + widen(even[k] + odd[k]));
    }
  }
}

// sums[.][8] of the eights of columns [first, last).
PROXQN_CLONES void gather_columns(const Eights& eights, std::int64_t first, std::int64_t last,
                                  std::int64_t n_blocks, const float* rows, std::int64_t Lp,
                                  double* sums) {
  auto gather_column = [&](const Eights::Column& c, const Entries& x) {
    by_fours(c, [&](auto n, std::int64_t i) {
      gather<n>(x, eights.label.data() + i, rows, Lp, sums + i * kLanes);
    });
  };
  for (std::int64_t b = 0; b < n_blocks; ++b)
    for (std::int64_t i = first; i < last; ++i) {
      const auto& c = eights.columns[i];
      if (c.cuts) gather_column(c, c.all.part(c.cuts[b], c.cuts[b + 1]));
    }
  for (std::int64_t i = first; i < last; ++i)
    if (!eights.columns[i].cuts) gather_column(eights.columns[i], eights.columns[i].all);
}

inline void gradient(const Features& f, const SlotBlocks& blocks, const std::int64_t* coordinates,
                     std::int64_t n, std::int64_t n_labels, const float* rows, std::int64_t Lp,
                     int n_jobs, double* out) {
  const Eights eights(f, blocks, coordinates, n, n_labels);
  std::vector<double> sums(eights.label.size() * kLanes, 0.0);
  const auto n_columns = static_cast<std::int64_t>(eights.columns.size());
  const std::int64_t n_parts = std::min<std::int64_t>(n_columns, n_jobs > 1 ? 8 * n_jobs : 1);
  parallel_for(n_parts, n_jobs, [&](std::int64_t part) {
    gather_columns(eights, part * n_columns / n_parts, (part + 1) * n_columns / n_parts,
                   blocks.n_blocks, rows, Lp, sums.data());
  });
  for (std::int64_t i = 0; i < n; ++i) out[i] = sums[eights.place[i]];
}

}  // namespace proxqn
