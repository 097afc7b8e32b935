// J, the rows of curvature drawn from the model (chain/draws.hpp), by columns: for some features and labels, and
// for label pairs. A row has one label rather than another at some tokens.
#pragma once
#include <bit>
#include <cstdint>
#include <vector>

#include "base/aligned_array.hpp"
#include "base/simd.hpp"
#include "products/features.hpp"

namespace proxqn::products {

// Columns of a sparse matrix. An entry may stand twice; then it is the sum.
struct Columns {
  std::vector<std::int64_t> start;  // [n+1]
  std::vector<std::int32_t> row;
  std::vector<float> value;
};
struct ColumnsView {
  const std::int64_t* start;  // [n+1]
  std::int64_t n;
  const std::int32_t* row;
  const float* value;
};

// The tokens of rows, by slot. Few slots have any: a bit tells which, and the bits before it which number
// such a slot has.
struct RowTokens {
  struct Token {
    std::int32_t row, first, second;
    float value;
  };
  std::vector<std::uint64_t> bits;   // [n_slots / 64 + 1]
  std::vector<std::int32_t> before;  // [as many] slots with tokens
  std::vector<std::int32_t> begin;   // [slots with tokens + 2]; the last for filling
  std::vector<Token> tokens;

  PROXQN_INLINE bool has(std::int32_t slot) const { return bits[slot / 64] >> slot % 64 & 1; }
  PROXQN_INLINE std::int32_t number(std::int32_t slot) const {  // of a slot that has tokens
    const std::uint64_t earlier = (std::uint64_t{1} << slot % 64) - 1;
    return before[slot / 64] + std::popcount(bits[slot / 64] & earlier);
  }
};

RowTokens sort_by_slot(std::int64_t n_slots, std::int64_t n, const std::int32_t* slot,
                       const std::int32_t* row, const std::int32_t* first,
                       const std::int32_t* second, const float* value);

// Where a row has one label pair y L + y' rather than another, and by how much.
struct RowEdges {
  const std::int32_t *row, *first, *second;
  const float* value;
  std::int64_t n;
};

// J on some label pairs, ascending, of n_pairs that there are.
Columns pair_columns(const std::int64_t* pairs, std::int64_t n, std::int64_t n_pairs,
                     const RowEdges& edges);

// J on some coordinates c L + y, those of a column together, and after them on label pairs.
struct DrawnColumns {
  std::vector<std::int64_t> start;
  AlignedArray<std::int32_t> row{0};
  AlignedArray<float> value{0};
};
DrawnColumns drawn_columns(const Features& f, const std::int64_t* coordinates, std::int64_t n,
                           std::int64_t L, const RowTokens& tokens, const Columns& pairs,
                           int n_jobs);

}  // namespace proxqn::products
