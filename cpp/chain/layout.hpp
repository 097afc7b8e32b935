// How linear chains lie in memory.
//
// Sequences of like length are laid side by side in batches of W = 8 lanes (a lone long sequence in a
// batch of W = 1). Position t of lane k of a batch is slot first + t*W + k, and every per-label array is
// label-major, [L][stride] with the slot as the fast index. So the 8 lanes of one (label, position) are one
// vector register, and one label's column is contiguous, which is what the partial gradients walk
// (products/double_products.hpp). Slots past a lane's length are padding; no feature refers to them.
//
// In single precision arrays lie otherwise: [Lp/8][stride][8], eight labels of a slot together, padded by
// zeros.
#pragma once
#include <cstdint>
#include <type_traits>

#include "base/simd.hpp"

namespace proxqn::chain {

constexpr int kTile = 8;  // labels are padded to a multiple of this in scratch memory

template <class S>
struct ChainOf {
  std::int64_t n_labels, stride, n_batches, n_chunks;
  const std::int64_t* first;          // [n_batches] slot of position 0, lane 0
  const std::int32_t* width;          // [n_batches] W: 8 or 1
  const std::int32_t* length;         // [n_batches] longest lane
  const std::int32_t* lane_length;    // [n_batches][8], 0 where there is no sequence
  const std::int32_t* lane_sequence;  // [n_batches][8]
  const std::int64_t* chunk;          // [n_chunks+1] batches of a chunk
  const std::int32_t* labels;         // [stride] true label of a slot, or null
  const double* weights;              // [n_sequences] sample weights, or null
  const S* scores;                    // [L][stride] x = w' phi
  S* alpha;                           // [L][stride] after forward: A_t; after backward: residuals
  S* scale;                           // [stride] 1 / c_t
  std::uint8_t* log_domain;           // [n_batches] set by forward
  const double* transitions;          // [L][L] Lambda
  // Scores and scale in double precision may be of some slots only.
  std::int64_t window = 0, window_stride = stride;  // the first of them, and how many

  static constexpr bool kRows = std::is_same_v<S, float>;
  std::int64_t padded_labels() const { return (n_labels + kTile - 1) / kTile * kTile; }
  std::int64_t score_at(std::int64_t y, std::int64_t slot) const {
    static_assert(!kRows);
    return y * window_stride + slot - window;
  }
  std::int64_t at(std::int64_t y, std::int64_t slot) const {
    return kRows ? (y / kTile * stride + slot) * kTile + y % kTile : y * stride + slot;
  }
};
using Chain = ChainOf<double>;

struct Lane {  // one sequence within a batch
  std::int64_t first, width, length;
  std::int64_t slot(std::int64_t t) const { return first + t * width; }
};

inline Lane lane_of(const Chain& c, std::int64_t batch, int k) {
  return {c.first[batch] + k, c.width[batch], c.lane_length[batch * kLanes + k]};
}

}  // namespace proxqn::chain
