// The data by feature turned into blocks: for each row its columns, for each block the rows of its columns.
#pragma once
#include <cstdint>
#include <vector>

#include "stochastic/blocks.hpp"

namespace proxqn::stochastic {

// Columns of sparse data, as in products/features.hpp, those to keep, and the row of each slot.
struct ColumnData {
  const std::int64_t* start;
  const std::int32_t* slots;
  const std::int64_t* value_start;
  const double* values;
  const std::int64_t* kept;
  std::int64_t n_kept;
  const std::int32_t* slot_row;
};

// The arrays of BlockData that follow from the entries. Values are empty where all are 1.
struct BuiltBlocks {
  std::vector<std::int64_t> entry_start;
  std::vector<std::int32_t> columns;
  std::vector<double> values;
  std::vector<std::int64_t> list_start;
  std::vector<std::int32_t> list_column;
  std::vector<std::int64_t> list_entry;
  std::vector<std::int32_t> list_row;
  std::vector<double> list_value;
};

BuiltBlocks build_blocks(const ColumnData& data, const std::int64_t* first_row,
                         std::int64_t n_blocks);

// Of each column, over the blocks that have it: h^2 summed over h summed, where h is the block's
//   sum_t weight_t |x_tc| sum_c' |x_tc'| u_c'.
std::vector<double> typical_curvatures(const BlockData& d, const double* u);

}  // namespace proxqn::stochastic
