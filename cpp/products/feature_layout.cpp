#include "products/feature_layout.hpp"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>
#include <vector>

#include "base/parallel.hpp"

namespace proxqn::products {

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
      lists[n_listed] =
          static_cast<std::uint16_t>(place[c]);  // anyway: nobody foresees which count
      n_listed += place[c] >= 0;
    }
  }
  if (place)
    while (slot <= n_slots) list_start[slot++] = n_listed;
}

template void transpose(const std::int32_t*, const std::int32_t*, const std::int64_t*,
                        const std::int32_t*, std::int64_t, const std::int64_t*, std::int64_t,
                        std::int32_t*, std::int32_t*, const std::int32_t*, std::int64_t,
                        std::int64_t*, std::uint16_t*);
template void transpose(const std::int64_t*, const std::int32_t*, const std::int64_t*,
                        const std::int32_t*, std::int64_t, const std::int64_t*, std::int64_t,
                        std::int32_t*, std::int64_t*, const std::int32_t*, std::int64_t,
                        std::int64_t*, std::uint16_t*);

void observed_pairs(const Features& f, const std::int32_t* labels, std::int64_t n_labels,
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

// Puts a column's entries in the order of their slots, which are all different: by a bit for each slot
// where there are entries enough, of ones.
static void sort_column(std::int32_t* slots, double* values, std::int64_t n) {
  if (std::is_sorted(slots, slots + n)) return;
  const std::int64_t n_words = *std::max_element(slots, slots + n) / 64 + 1;
  if (values) {
    std::vector<std::pair<std::int32_t, double>> entries(n);
    for (std::int64_t e = 0; e < n; ++e) entries[e] = {slots[e], values[e]};
    std::sort(entries.begin(), entries.end());
    for (std::int64_t e = 0; e < n; ++e) std::tie(slots[e], values[e]) = entries[e];
  } else if (n_words > 8 * n) {
    std::sort(slots, slots + n);
  } else {
    std::vector<std::uint64_t> bits(n_words);
    for (std::int64_t e = 0; e < n; ++e) bits[slots[e] / 64] |= std::uint64_t{1} << slots[e] % 64;
    for (std::int64_t i = 0; i < n_words; ++i)
      for (std::uint64_t word = bits[i]; word; word &= word - 1)
        *slots++ = static_cast<std::int32_t>(64 * i + std::countr_zero(word));
  }
}

Restricted restrict_slots(const Features& f, const std::int32_t* slot_map, std::int64_t n_slots,
                          int n_jobs) {
  constexpr std::int64_t chunk = 64;                  // columns
  std::vector<std::uint64_t> bits(n_slots / 64 + 1);  // of the slots that stay: these fit a cache
  for (std::int64_t s = 0; s < n_slots; ++s)
    bits[s / 64] |= static_cast<std::uint64_t>(slot_map[s] >= 0) << s % 64;
  auto stays = [&](std::uint32_t s) {
    return static_cast<std::int64_t>(bits[s / 64] >> s % 64 & 1);
  };
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
  out.slots = AlignedArray<std::int32_t>(out.start.back() + 1);  // NumPy takes no null
  out.values = AlignedArray<double>(out.n_values + 1);
  each_column([&](std::int64_t c) {
    const double* v = f.column_values(c);
    const std::int64_t n = out.start[c + 1] - out.start[c];
    std::int32_t* slots = out.slots.data() + out.start[c];
    double* values = out.values.data() + out.value_start[c];
    std::int64_t kept = 0;
    for (std::int64_t e = f.start[c]; kept < n;
         ++e) {  // written anyway: nobody foresees which stay
      slots[kept] = f.slots[e];
      if (v) values[kept] = v[e - f.start[c]];
      kept += stays(f.slots[e]);
    }
    for (std::int64_t k = 0; k < n; ++k) slots[k] = slot_map[slots[k]];
    sort_column(slots, v ? values : nullptr, n);
  });
  return out;
}

}  // namespace proxqn::products
