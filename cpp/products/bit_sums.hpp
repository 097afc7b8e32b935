// Sums over dense columns of ones, held as bits (float_plan.hpp), for one label and kBitRun slots.
//
// One column: sixteen slots are an add under a mask. Several: four bits choose one of the sixteen sums of
// four numbers, which a register holds, and one permutation chooses sixteen times. Scores: the bits
// of four columns at a slot choose among sums of their weights. Derivatives: the bits of a column at
// four slots choose among sums of their residuals.
#pragma once
#include <cstdint>
#include <vector>

#include "products/float_plan.hpp"

namespace proxqn::products {

constexpr std::int64_t kBitRun = 512;  // slots: a cache line of bits

// out[slot] = the weights of the columns that have it
void add_bits(const std::vector<LabelEights::Dense>& items, const float* weights,
              std::int64_t first, float* out);

// sums[row of its eight][8] += the values of the slots that a column has
void sum_bits(const std::vector<LabelEights::Dense>& items, const std::int32_t* row,
              std::int64_t first, const float* values, double* sums);

}  // namespace proxqn::products
