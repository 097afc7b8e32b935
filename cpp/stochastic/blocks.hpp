// The data of stochastic steps: samples in fixed blocks, and in what order their entries are walked.
#pragma once
#include <cstdint>

namespace proxqn::stochastic {

// Block b owns the samples block_start[b] .. block_start[b+1], sample i the rows (tokens)
// row_start[i] .. row_start[i+1]. The same entries twice: by row, for scores, and by column within each
// block, for steps, so that a block reads and writes the weights of a column once.
struct BlockData {
  std::int64_t n_blocks, n_columns;
  const std::int64_t *block_start, *row_start;
  const std::int64_t* entry_start;  // [n_rows+1] into columns
  const std::int32_t* columns;
  const double* values;            // null where all are 1
  const std::int64_t* list_start;  // [n_blocks+1] the columns that occur in a block
  const std::int32_t* list_column;
  const std::int64_t* list_entry;  // [n_lists+1] into list_row
  const std::int32_t* list_row;    // counted from the block's first row
  const double* list_value;        // null where all are 1
  const double* weights;           // [n_samples] or null

  double weight(std::int64_t i) const { return weights ? weights[i] : 1.0; }
  double value(std::int64_t e) const { return values ? values[e] : 1.0; }
  double listed(std::int64_t e) const { return list_value ? list_value[e] : 1.0; }
  std::int64_t first_row(std::int64_t b) const { return row_start[block_start[b]]; }
  std::int64_t n_rows(std::int64_t b) const { return first_row(b + 1) - first_row(b); }
};

// What each weight pays, in rows of the weights' width; with stride 0 one row serves all.
struct PenaltyRows {
  const double *lam, *l2, *lower, *upper;
  std::int64_t stride;
};

// Weights and what is remembered. Rows n_columns and above belong to no column: transitions.
struct Memory {
  std::int64_t width, n_own;  // a multiple of 8; rows beyond the columns
  double *w, *a;              // [n_columns + n_own][width]; a: the sum of all remembered gradients
  float* residuals;           // [n_rows][width] of each block's last visit
  float* own;                 // [n_blocks][n_own][width]
  const std::uint8_t* admitted;  // [n_columns + n_own][width / 8] a bit a weight of the model
  const double *rate, *share;    // [n_columns + n_own] s_c and 1/n_c
  PenaltyRows penalty;
};

}  // namespace proxqn::stochastic
