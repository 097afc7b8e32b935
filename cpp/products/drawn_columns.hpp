// J, the rows of curvature drawn from the model (chain/draws.hpp), by columns: for some features and labels, and
// for label pairs, where a row is a run of tokens on which two labelings differ.
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

// The tokens of runs, by slot. Few slots have any: a bit tells which, and the bits before it which number
// such a slot has.
struct RunTokens {
  struct Token {
    std::int32_t run, first, second;
    float scale;
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

RunTokens sort_by_slot(std::int64_t n_slots, std::int64_t n, const std::int32_t* slot,
                       const std::int32_t* run, const std::int32_t* first,
                       const std::int32_t* second, const float* scale);

// Label pairs at the edges of runs: in the one labeling y L + y', and in the other.
struct RunEdges {
  const std::int32_t *run, *first, *second;
  std::int64_t n;
};

// How often each of some label pairs, ascending, is met by the one labeling of a run, less how often by
// the other.
Columns pair_columns(const std::int64_t* pairs, std::int64_t n, std::int64_t n_pairs,
                     const RunEdges& edges, const float* scale);

// J on some coordinates c L + y, those of a column together, and after them on label pairs.
struct DrawnColumns {
  std::vector<std::int64_t> start;
  AlignedArray<std::int32_t> row{0};
  AlignedArray<float> value{0};
};
DrawnColumns drawn_columns(const Features& f, const std::int64_t* coordinates, std::int64_t n,
                           std::int64_t L, const RunTokens& tokens, const Columns& pairs,
                           int n_jobs);

}  // namespace proxqn::products
