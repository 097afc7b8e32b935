#include "stochastic/build.hpp"

#include <cmath>
#include <numeric>

namespace proxqn::stochastic {

// body(kept column, its entry, the entry's row) in the order of the columns.
template <class Body>
static void each_entry(const ColumnData& data, const Body& body) {
  for (std::int64_t c = 0; c < data.n_kept; ++c)
    for (std::int64_t e = data.start[data.kept[c]]; e < data.start[data.kept[c] + 1]; ++e)
      body(c, e, data.slot_row[data.slots[e]]);
}

static void sum_up(std::vector<std::int64_t>& counts) {  // counts[i + 1] becomes where i + 1 starts
  std::partial_sum(counts.begin(), counts.end(), counts.begin());
}

BuiltBlocks build_blocks(const ColumnData& data, const std::int64_t* first_row,
                         std::int64_t n_blocks) {
  BuiltBlocks made;
  const std::int64_t n_rows = first_row[n_blocks];
  std::vector<std::int32_t> block(n_rows);
  for (std::int64_t b = 0; b < n_blocks; ++b)
    for (std::int64_t r = first_row[b]; r < first_row[b + 1]; ++r)
      block[r] = static_cast<std::int32_t>(b);

  bool real = false;
  for (std::int64_t c = 0; c < data.n_kept; ++c) real |= data.value_start[data.kept[c]] >= 0;
  std::vector<std::int64_t> entries(n_blocks + 1, 0), last(n_blocks, -1);
  made.entry_start.assign(n_rows + 1, 0);
  made.list_start.assign(n_blocks + 1, 0);
  each_entry(data, [&](std::int64_t c, std::int64_t, std::int32_t r) {
    const std::int64_t b = block[r];
    ++made.entry_start[r + 1];
    ++entries[b + 1];
    if (last[b] != c) last[b] = c, ++made.list_start[b + 1];
  });
  sum_up(made.entry_start), sum_up(entries), sum_up(made.list_start);

  const std::int64_t n = entries[n_blocks], n_lists = made.list_start[n_blocks];
  made.columns.resize(n), made.list_row.resize(n);
  made.list_column.resize(n_lists), made.list_entry.resize(n_lists + 1);
  made.list_entry[n_lists] = n;
  if (real) made.values.resize(n), made.list_value.resize(n);
  std::vector<std::int64_t> row_end(made.entry_start), block_end(entries), lists(made.list_start);
  last.assign(n_blocks, -1);
  each_entry(data, [&](std::int64_t c, std::int64_t e, std::int32_t r) {
    const std::int64_t b = block[r], by_row = row_end[r]++, by_block = block_end[b]++;
    made.columns[by_row] = static_cast<std::int32_t>(c);
    made.list_row[by_block] = static_cast<std::int32_t>(r - first_row[b]);
    if (last[b] != c) {
      last[b] = c;
      made.list_column[lists[b]] = static_cast<std::int32_t>(c);
      made.list_entry[lists[b]++] = by_block;
    }
    if (!real) return;
    const std::int64_t at = data.value_start[data.kept[c]];
    const double v = at < 0 ? 1.0 : data.values[at + e - data.start[data.kept[c]]];
    made.values[by_row] = made.list_value[by_block] = v;
  });
  return made;
}

std::vector<double> typical_curvatures(const BlockData& d, const double* u) {
  std::vector<double> total(d.n_columns, 0.0), squares(d.n_columns, 0.0), reach;
  for (std::int64_t b = 0; b < d.n_blocks; ++b) {
    const std::int64_t first = d.first_row(b);
    reach.assign(d.n_rows(b), 0.0);
    for (std::int64_t i = d.block_start[b]; i < d.block_start[b + 1]; ++i)
      for (std::int64_t r = d.row_start[i]; r < d.row_start[i + 1]; ++r) {
        double sum = 0.0;
        for (std::int64_t e = d.entry_start[r]; e < d.entry_start[r + 1]; ++e)
          sum += std::abs(d.value(e)) * u[d.columns[e]];
        reach[r - first] = d.weight(i) * sum;
      }
    for (std::int64_t list = d.list_start[b]; list < d.list_start[b + 1]; ++list) {
      double h = 0.0;
      for (std::int64_t e = d.list_entry[list]; e < d.list_entry[list + 1]; ++e)
        h += std::abs(d.listed(e)) * reach[d.list_row[e]];
      total[d.list_column[list]] += h;
      squares[d.list_column[list]] += h * h;
    }
  }
  for (std::int64_t c = 0; c < d.n_columns; ++c)
    squares[c] = total[c] > 0.0 ? squares[c] / total[c] : 0.0;
  return squares;
}

}  // namespace proxqn::stochastic
