// Columns that have a value nearly everywhere, as of embeddings and measurements: rows as their owner holds
// them, in floats or doubles, never copied as a whole. Products take a hundred slots at a time and turn
// their rows into a panel in the L2 cache, where a column's numbers lie side by side; only the pairs of
// column and label that are asked for are then multiplied. All pairs are a product of matrices (dense_sweep.hpp).
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "base/simd.hpp"

namespace proxqn::products {

struct DenseBlock {
  const float* floats = nullptr;  // [rows][n_columns], or null: then these are doubles
  const double* doubles = nullptr;
  std::int64_t n_columns = 0, row_step = 0;  // numbers from one row to the next
  const std::int32_t* slot_row = nullptr;    // [stride] the row of each slot, -1 for none

  template <class Body>
  PROXQN_INLINE auto with_values(const Body& body) const {
    return floats ? body(floats) : body(doubles);
  }
};

constexpr std::int64_t kPanelSlots = 128, kPanelColumns = 512;  // 256 KB of floats

// In how many parts of so many units sums of n numbers are made: the parts take 64 MB or less, if eight do.
inline std::int64_t dense_parts(std::int64_t n_units, std::int64_t n) {
  return std::min(n_units, std::clamp<std::int64_t>((std::int64_t{1} << 23) / n, 8, 64));
}

// Columns wanted with a label each, gathered by label; within one they ascend.
struct DensePairs {
  std::vector<std::int64_t> start;   // [n_labels up to a multiple of 8, + 1]
  std::vector<std::int32_t> column;  // [n]
  std::vector<std::int64_t> order;   // [n] which coordinate it is

  // rank, or null: where labels stand
  DensePairs(const std::int64_t* coordinates, std::int64_t n, std::int64_t n_labels,
             const std::int32_t* rank)
      : start(whole_eights(n_labels) + 1, 0), column(n), order(n) {
    auto place = [&](std::int64_t i) {
      const std::int64_t y = coordinates[i] % n_labels;
      return rank ? rank[y] : y;
    };
    for (std::int64_t i = 0; i < n; ++i) ++start[place(i) + 1];
    for (std::size_t y = 1; y < start.size(); ++y) start[y] += start[y - 1];
    auto next = start;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t at = next[place(i)]++;
      column[at] = static_cast<std::int32_t>(coordinates[i] / n_labels);
      order[at] = i;
    }
  }
  bool any(std::int64_t first_label, std::int64_t last_label) const {
    return start[last_label] > start[first_label];
  }
  // Those of a label with columns from this one on.
  std::int64_t from(std::int64_t label, std::int64_t first_column) const {
    if (first_column == 0) return start[label];
    const auto begin = column.begin();
    return std::lower_bound(begin + start[label], begin + start[label + 1], first_column) - begin;
  }
};

template <class S>
using Wide = std::conditional_t<std::is_same_v<S, float>, float16, double8>;
template <class S>
using Eights = std::conditional_t<std::is_same_v<S, float>, float8, double8>;

template <class V, class S>
PROXQN_INLINE V load_as(const S* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class V, class S>
PROXQN_INLINE void store_as(S* p, V v) {
  std::memcpy(p, &v, sizeof v);
}

// panel[columns up to a multiple of 8][kPanelSlots] = columns [first_column, last_column) of n slots, n a
// multiple of 8; zero where a slot has no row, and behind the n.
template <class X, class S>
PROXQN_INLINE void fill_panel(const DenseBlock& block, const X* values, std::int64_t first_slot,
                              std::int64_t n, std::int64_t first_column, std::int64_t last_column,
                              S* panel) {
  // What is turned: floats, unless both are doubles.
  using T = std::conditional_t<std::is_same_v<X, double>, S, float>;
  const std::int64_t width = last_column - first_column;
  for (std::int64_t s = 0; s < kPanelSlots; s += kLanes) {
    const X* row[kLanes];
    for (int k = 0; k < kLanes; ++k) {
      const std::int32_t number = s < n ? block.slot_row[first_slot + s + k] : -1;
      row[k] = number < 0 ? nullptr : values + number * block.row_step + first_column;
    }
    for (std::int64_t c = 0; c < width; c += kLanes) {
      Eights<T> r[kLanes];
      for (int k = 0; k < kLanes; ++k) {
        X few[kLanes] = {};
        const X* from = row[k] ? row[k] + c : few;
        if (row[k] && c + kLanes > width) {
          for (std::int64_t i = 0; i < width - c; ++i) few[i] = from[i];
          from = few;
        }
        r[k] = __builtin_convertvector(load_as<Eights<X>>(from), Eights<T>);
      }
      transpose8(r);
      for (int k = 0; k < kLanes; ++k)
        store_as(panel + (c + k) * kPanelSlots + s, __builtin_convertvector(r[k], Eights<S>));
    }
  }
}

}  // namespace proxqn::products
