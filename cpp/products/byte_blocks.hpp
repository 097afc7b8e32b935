// Sums of frequent columns of ones, with an entry or more a block of slots, as of pixels, on floats
// [Lp/8][stride][8] (float_products.hpp): the rows of a block are copied side by side, [slot][Lp], into the L1
// cache, and every column adds its slots there, eight or four at a time. The lists of these slots, a
// byte each, are made once. They are of two fixed lengths, filled up with a row of zeros, because a
// loop of another length for every column is foreseen wrongly every time.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

#include "base/simd.hpp"
#include "products/column_sums.hpp"
#include "products/features.hpp"

namespace proxqn::products {

constexpr std::int64_t kByteBlock = 255;     // slots; number 255 is the row of zeros
constexpr std::int64_t kByteColumns = 2048;  // a chunk, whose sums [.][32] stay in the L2 cache
constexpr std::int64_t kByteRun = 8;    // blocks summed in single precision: 256 groups at most
constexpr std::int64_t kByteTasks = 8;  // for threads: chunks of columns, or parts of the blocks

// Slots of a column within a block.
template <int Size>
struct ByteGroup {
  std::uint16_t column;  // within its chunk
  std::uint8_t slot[Size];
};

// The groups of a chunk of columns, block by block.
template <int Size>
struct ByteGroups {
  std::vector<std::int64_t> start;  // [n_blocks+1]
  std::unique_ptr<ByteGroup<Size>[]> all;
  std::vector<std::int64_t> next;  // [n_blocks] while they are filled

  explicit ByteGroups(std::int64_t n_blocks) : start(n_blocks + 1, 0) {}
  void allocate() {
    std::partial_sum(start.begin(), start.end(), start.begin());
    all.reset(new ByteGroup<Size>[start.back()]);
    next.assign(start.begin(), start.end() - 1);
  }
  PROXQN_INLINE void add(std::int64_t b, std::int64_t column, const std::int32_t* slots,
                         std::int64_t n) {
    auto& group = all[next[b]++];
    group.column = static_cast<std::uint16_t>(column);
    const auto begin = static_cast<std::int32_t>(b * kByteBlock);
    if (n >= Size)
      for (int i = 0; i < Size; ++i) group.slot[i] = static_cast<std::uint8_t>(slots[i] - begin);
    else
      for (int i = 0; i < Size; ++i)
        group.slot[i] = static_cast<std::uint8_t>(i < n ? slots[i] - begin : kByteBlock);
  }
};

struct ByteChunk {
  std::int64_t n_columns;
  ByteGroups<8> eights;
  ByteGroups<4> fours;
};

// How many of the ascending slots [at, end) are below a limit.
PROXQN_INLINE std::int64_t count_below(const std::int32_t* at, const std::int32_t* end,
                                       std::int32_t limit) {
  const std::int32_t* first = at;
  while (end - at >= kLanes) {
    int n = 0;
    for (int i = 0; i < kLanes; ++i) n += at[i] < limit;
    at += n;
    if (n < kLanes) return at - first;
  }
  while (at < end && *at < limit) ++at;
  return at - first;
}

struct ByteBlocks {
  std::vector<std::int32_t> columns;  // ascending
  std::int64_t n_blocks = 0;
  std::vector<ByteChunk> chunks;  // of columns
  std::int64_t n_parts = 1;  // of blocks, with sums of their own, whatever the number of threads

  ByteBlocks(const Features& f, int n_jobs);
};

// Made when the first sweep asks for it.
class ByteBlockCache {
 public:
  const ByteBlocks& get(const Features& f, int n_jobs) {
    std::call_once(made_, [&] { blocks_ = std::make_unique<ByteBlocks>(f, n_jobs); });
    return *blocks_;
  }

 private:
  std::once_flag made_;
  std::unique_ptr<ByteBlocks> blocks_;
};

PartSums<double> sum_byte_blocks(const ByteBlocks& x, const float* rows, std::int64_t stride,
                                 std::int64_t Lp, int n_jobs);

}  // namespace proxqn::products
