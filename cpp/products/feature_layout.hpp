// How feature-indexed data are made: from rows to columns, and on some of the slots.
#pragma once
#include <cstdint>
#include <vector>

#include "base/aligned_array.hpp"
#include "products/features.hpp"

namespace proxqn::products {

// CSR rows -> columns. column_of maps an entry's CSR position to a column; row_slot a row to its
// slot; rows are visited in slot order, so slots ascend within each column.
//
// place[n_columns], or null, says which columns the slots' lists should name, and how; -1 for not at all.
// Then list_start[n_slots+1] and lists become those of TokenLists; lists has room for one more than all.
template <class Index>  // std::int32_t or std::int64_t
void transpose(const Index* indptr, const std::int32_t* entry_column, const std::int64_t* row_order,
               const std::int32_t* row_slot, std::int64_t n_rows, const std::int64_t* start,
               std::int64_t n_columns, std::int32_t* slots, Index* entry, const std::int32_t* place,
               std::int64_t n_slots, std::int64_t* list_start, std::uint16_t* lists);

// (column, label) pairs that occur: labels of each column ascending. Two calls: count, then fill.
void observed_pairs(const Features& f, const std::int32_t* labels, std::int64_t n_labels,
                    std::int64_t* pair_start, std::int32_t* pair_labels);

struct Restricted {  // as Features
  std::vector<std::int64_t> start, value_start;
  std::int64_t n_values = 0;
  AlignedArray<std::int32_t> slots{0};  // both first touched by the threads
  AlignedArray<double> values{0};
};

// The same columns on some of the slots: slot s becomes slot_map[s], or goes where that is -1. Columns
// may end up empty, but keep their numbers.
Restricted restrict_slots(const Features& f, const std::int32_t* slot_map, std::int64_t n_slots,
                          int n_jobs);

}  // namespace proxqn::products
