// What is read off dense columns beside products: squares, which labels occur with them, and rows of drawn
// curvature.
#pragma once
#include <cstdint>
#include <vector>

#include "products/dense_block.hpp"
#include "products/drawn_columns.hpp"

namespace proxqn::products {

// For each column the labels of slots where it is not zero, ascending.
struct ObservedLabels {
  std::vector<std::int64_t> start;  // [n_columns + 1]
  std::vector<std::int32_t> labels;
};
ObservedLabels observed_dense(const DenseBlock& block, const std::int32_t* labels,
                              std::int64_t n_labels, std::int64_t stride);

// For each column the sum of squares over slots.
std::vector<double> squares(const DenseBlock& block, std::int64_t stride);

// The tokens of rows, as in chain/draws.hpp.
struct DrawnTokens {
  const std::int32_t *slot, *row, *first, *second;
  const float* value;
  std::int64_t n;
};
// J on some coordinates c L + y (drawn_columns.hpp), and behind them other columns; a label's entries stand in
// the order of the tokens.
DrawnColumns drawn_dense(const DenseBlock& block, const std::int64_t* coordinates, std::int64_t n,
                         std::int64_t n_labels, const DrawnTokens& tokens,
                         const ColumnsView& others, int n_jobs);

}  // namespace proxqn::products
