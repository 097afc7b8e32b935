// Feature-indexed data: for each column (feature) the slots where it is active, and its values there unless
// all are 1. A coordinate is column * L + label.
#pragma once
#include <algorithm>
#include <cstdint>

namespace proxqn::products {

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
  const std::int32_t* high =
      low;  // in the end: those before low are too early, those from high on not
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

}  // namespace proxqn::products
