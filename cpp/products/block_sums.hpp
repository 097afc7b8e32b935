// Sums of columns with a hundred entries or so, block of slots by block: the rows of a block are copied
// side by side, [slot][Lp], into the L2 cache, and all these columns pick theirs there, so that each row
// comes from memory once. Column by column, every entry would fetch lines of its own as soon as there
// are more rows than the caches hold.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "products/byte_blocks.hpp"
#include "products/column_sums.hpp"
#include "products/features.hpp"
#include "products/sweep_bound.hpp"

namespace proxqn::products {

constexpr std::int64_t kBlockBytes = 1 << 20;  // of rows: a usual L2 cache
constexpr std::int64_t kCacheBytes = 1 << 25;  // of rows: a usual L3 cache
constexpr std::int64_t kRareBytes = 512;    // of one label's entries: a column with fewer is rare,
constexpr std::int64_t kRareBlocks = 16;    // and one with less than an entry in 16 blocks
constexpr std::int64_t kBlockParts = 8;     // for threads, whatever their number
constexpr std::int64_t kColumnsAhead = 16;  // whose entries are asked for early
constexpr std::int64_t kLine = 64;          // bytes

// Labels of a row that fills cache lines, unless half of it would be empty.
inline std::int64_t row_length(std::int64_t n_labels, std::int64_t line) {
  return n_labels <= kLanes ? kLanes : (n_labels + line - 1) / line * line;
}

// Parts of the slots that have sums of their own: all these sums should be no larger than the rows.
inline std::int64_t parts_of(std::int64_t stride, std::int64_t n_columns) {
  return std::clamp<std::int64_t>(stride / std::max<std::int64_t>(1, n_columns), 1, kBlockParts);
}

// Which columns go block by block, and the blocks.
struct BlockColumns {
  std::int64_t stride, n_labels, Lp;  // Lp: of a block's row
  std::int64_t block, n_blocks;       // block: slots
  std::int64_t n_parts;               // of blocks, with sums of their own
  std::vector<std::int32_t> columns;  // ascending

  // scalar: bytes of a residual. The columns of `others`, ascending, go another way.
  BlockColumns(const Features& f, std::int64_t stride_, std::int64_t n_labels_, std::int64_t scalar,
               const std::vector<std::int32_t>& others, const OutOfReach& out);
};

// out[last - first][Lp] = the rows of the slots [first, last)
template <class S>
PROXQN_INLINE void copy_rows(const SlotRows<S>& rows, std::int64_t first, std::int64_t last,
                             std::int64_t n_labels, std::int64_t Lp, S* out) {
  for (std::int64_t s = first; s < last; ++s, out += Lp) {
    const S* from = rows.first + s * rows.slot_step;
    std::int64_t y = 0;
    if (rows.has_eights())
      for (; y < n_labels; y += kLanes, from += rows.eight_step)
        std::memcpy(out + y, from, kLanes * sizeof(S));
    else
      for (; y < n_labels; ++y) out[y] = from[y * rows.lane_step];
    for (; y < Lp; ++y) out[y] = S(0);
  }
}

template <class S>
PartSums<S> sum_blocks(const Features& f, const BlockColumns& x, const SlotRows<S>& rows,
                       int n_jobs);

}  // namespace proxqn::products
