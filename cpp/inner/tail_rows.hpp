// Drawn curvature J (products/drawn_columns.hpp) on the rows in which the tail of the inner problem's coordinates has
// entries (drawn_curvature.hpp): often few of all rows. By column for all coordinates, and for the head, the
// others, by row as well: then what it changes is summed instead of scattered.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "base/simd.hpp"
#include "products/drawn_columns.hpp"

namespace proxqn::inner {

struct TailEntry {
  std::int32_t at;  // a near row; where entries lie by row: a place in the head
  float value;
};

// V below: R, or registers of several such numbers.
// The sum of the entries' values times x where they are.
template <class R, class V>
PROXQN_INLINE V gather(const TailEntry* e, const TailEntry* end, const V* x) {
  V sums[4] = {};  // chains of additions
  for (; e + 4 <= end; e += 4)
    for (int k = 0; k < 4; ++k) sums[k] += static_cast<R>(e[k].value) * x[e[k].at];
  for (; e < end; ++e) sums[0] += static_cast<R>(e->value) * x[e->at];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}
// x += z times the entries.
template <class R, class V>
PROXQN_INLINE void scatter(const TailEntry* e, const TailEntry* end, V z, V* x) {
  for (; e < end; ++e) x[e->at] += z * static_cast<R>(e->value);
}

struct TailRows {
  std::int32_t n = 0;               // rows
  std::vector<std::int64_t> start;  // [coordinates + 1] into by_column
  std::unique_ptr<TailEntry[]> by_column;
  std::vector<std::int64_t> row_start;  // [n + 1] into by_row: of the head
  std::unique_ptr<TailEntry[]> by_row;

  const TailEntry* begin(std::int64_t j) const { return by_column.get() + start[j]; }
  const TailEntry* end(std::int64_t j) const { return by_column.get() + start[j + 1]; }

  // Number the rows in which the tail has entries, and take these rows; returns their numbers, -1 for
  // the others. Rows in which the head has as many entries follow each other: a loop over them is as
  // long as the one before, and foreseen.
  std::vector<std::int32_t> take(const products::ColumnsView& J,
                                 const std::vector<std::int32_t>& n_in_head,
                                 const std::vector<std::int32_t>& tail) {
    std::vector<std::int32_t> number(n_in_head.size(), -1);
    for (const std::int32_t j : tail)
      for (std::int64_t e = J.start[j]; e < J.start[j + 1]; ++e) number[J.row[e]] = 0;
    const std::int32_t most = std::accumulate(n_in_head.begin(), n_in_head.end(), 0,
                                              [](auto a, auto b) { return std::max(a, b); });
    std::vector<std::int32_t> next(most + 2, 0);
    for (std::size_t i = 0; i < number.size(); ++i) next[n_in_head[i] + 1] += number[i] == 0;
    std::partial_sum(next.begin(), next.end(), next.begin());
    n = next.back();
    for (std::size_t i = 0; i < number.size(); ++i)
      if (number[i] == 0) number[i] = next[n_in_head[i]]++;
    by_column.reset(new TailEntry[J.start[J.n] + 1]);  // of which little may ever be touched
    start.assign(1, 0);
    std::int64_t at = 0;
    for (std::int64_t j = 0; j < J.n; ++j) {
      for (std::int64_t e = J.start[j]; e < J.start[j + 1]; ++e) {
        by_column[at] = {number[J.row[e]], J.value[e]};  // overwritten by the next where not near
        at += by_column[at].at >= 0;
      }
      start.push_back(at);
    }
    return number;
  }

  // From the head's entries row by row of all rows, of which those of row i end at last[i].
  void take_head(const std::vector<std::int32_t>& number, const TailEntry* all,
                 const std::vector<std::int64_t>& last) {
    std::vector<std::int64_t> from(n);
    row_start.assign(n + 1, 0);
    for (std::size_t i = 0; i < number.size(); ++i)
      if (number[i] >= 0) {
        from[number[i]] = i > 0 ? last[i - 1] : 0;
        row_start[number[i] + 1] = last[i] - from[number[i]];
      }
    std::partial_sum(row_start.begin(), row_start.end(), row_start.begin());
    by_row.reset(new TailEntry[row_start[n]]);
    for (std::int32_t i = 0; i < n; ++i)
      std::copy_n(all + from[i], row_start[i + 1] - row_start[i], by_row.get() + row_start[i]);
  }

  // Keep some coordinates, ascending; place[.] is where those of the head go, or -1.
  void keep(const std::int64_t* kept, std::int64_t count, const std::vector<std::int32_t>& place) {
    std::vector<std::int64_t> begins(1, 0);
    for (std::int64_t i = 0; i < count; ++i) {
      std::copy(begin(kept[i]), end(kept[i]), by_column.get() + begins.back());
      begins.push_back(begins.back() + (end(kept[i]) - begin(kept[i])));
    }
    start = std::move(begins);
    std::int64_t to = 0;
    for (std::int64_t i = 0, e = 0; i < n; ++i) {
      for (; e < row_start[i + 1]; ++e) {
        by_row[to] = {place[by_row[e].at], by_row[e].value};
        to += by_row[to].at >= 0;
      }
      row_start[i + 1] = to;
    }
  }
};

}  // namespace proxqn::inner
