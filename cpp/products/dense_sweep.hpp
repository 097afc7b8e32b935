// The full sweep over dense columns: all labels of all columns, a product of matrices [slots][columns]' and
// [slots][labels], in registers that hold some columns times eight labels. Rows are read where they are.
#pragma once
#include <cstdint>
#include <vector>

#include "products/dense_array.hpp"
#include "products/dense_block.hpp"
#include "products/sweep_result.hpp"

namespace proxqn::products {

// The sums of all columns and labels; those of a label stand together.
struct AllSums {
  std::int64_t width;        // columns, and some more
  std::vector<double> sums;  // [n_labels up to a multiple of 8][width]
};
AllSums all_sums(const DenseBlock& block, const LabelMajor<const double>& residuals, int n_jobs);
AllSums all_sums(const DenseBlock& block, const EightMajor<const float>& residuals, int n_jobs);

// Which labels a column may have, as in sweep.hpp: null for all.
struct LabelsOfColumns {
  const std::int64_t* start = nullptr;  // [n_columns + 1] into labels
  const std::int32_t* labels = nullptr;
};

// Coordinates ascend; those of `kept` are found whatever their size.
Sweep sweep_dense(const DenseBlock& block, std::int64_t n_labels, std::int64_t stride,
                  const double* residuals, double threshold, const LabelsOfColumns& of_columns,
                  int n_jobs);
Sweep sweep_dense(const DenseBlock& block, std::int64_t n_labels, std::int64_t stride,
                  const float* rows, double threshold, const LabelsOfColumns& of_columns,
                  const std::int32_t* rank, const Kept& kept, int n_jobs);

}  // namespace proxqn::products
