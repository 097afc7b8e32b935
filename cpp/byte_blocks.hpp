// Sums of frequent columns of ones, with an entry or more a block of slots, as of pixels, on floats
// [Lp/8][stride][8] (rows.hpp): the rows of a block are copied side by side, [slot][Lp], into the L1
// cache, and every column adds its slots there, eight or four at a time. The lists of these slots, a
// byte each, are made once. They are of two fixed lengths, filled up with a row of zeros, because a
// loop of another length for every column is foreseen wrongly every time.
#pragma once
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

#include "column_sums.hpp"

namespace proxqn {

constexpr std::int64_t kByteBlock = 255;     // slots; number 255 is the row of zeros
constexpr std::int64_t kByteColumns = 2048;  // a chunk, whose sums [.][32] stay in the L2 cache
constexpr std::int64_t kByteRun = 8;         // blocks summed in single precision: 256 groups at most
constexpr std::int64_t kByteTasks = 8;       // for threads: chunks of columns, or parts of the blocks

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

PROXQN_CLONES void fill_chunk(const Features& f, const std::int32_t* columns, std::int64_t n_blocks,
                              ByteChunk& chunk) {
  std::vector<std::uint8_t> counts(chunk.n_columns * n_blocks);
  for (std::int64_t i = 0; i < chunk.n_columns; ++i) {
    const std::int32_t* at = f.slots + f.start[columns[i]];
    const std::int32_t* end = f.slots + f.start[columns[i] + 1];
    for (std::int64_t b = 0; b < n_blocks; ++b) {
      const auto n = count_below(at, end, static_cast<std::int32_t>((b + 1) * kByteBlock));
      counts[i * n_blocks + b] = static_cast<std::uint8_t>(n);
      chunk.eights.start[b + 1] += (n + 3) / 8;  // five to seven that are left make an eight, too
      chunk.fours.start[b + 1] += n % 8 >= 1 && n % 8 <= 4;
      at += n;
    }
  }
  chunk.eights.allocate();
  chunk.fours.allocate();
  for (std::int64_t i = 0; i < chunk.n_columns; ++i) {
    const std::int32_t* at = f.slots + f.start[columns[i]];
    for (std::int64_t b = 0; b < n_blocks; ++b) {
      std::int64_t n = counts[i * n_blocks + b];
      const std::int32_t* here = at;
      at += n;
      for (; n > 4; n -= 8, here += 8) chunk.eights.add(b, i, here, n);
      if (n > 0) chunk.fours.add(b, i, here, n);
    }
  }
}

struct ByteBlocks {
  std::vector<std::int32_t> columns;  // ascending
  std::int64_t n_blocks = 0;
  std::vector<ByteChunk> chunks;  // of columns
  std::int64_t n_parts = 1;       // of blocks, with sums of their own, whatever the number of threads

  ByteBlocks(const Features& f, int n_jobs) {
    std::int32_t last = -1;
    for (std::int64_t c = 0; c < f.n_columns; ++c)
      if (f.start[c + 1] > f.start[c]) last = std::max(last, f.slots[f.start[c + 1] - 1]);
    n_blocks = (last + kByteBlock) / kByteBlock;
    for (std::int64_t c = 0; c < f.n_columns; ++c)
      if (f.value_start[c] < 0 && f.start[c + 1] - f.start[c] > n_blocks)
        columns.push_back(static_cast<std::int32_t>(c));
    const auto n = static_cast<std::int64_t>(columns.size());
    for (std::int64_t first = 0; first < n; first += kByteColumns)
      chunks.push_back({std::min(kByteColumns, n - first), ByteGroups<8>(n_blocks),
                        ByteGroups<4>(n_blocks)});
    const auto n_chunks = static_cast<std::int64_t>(chunks.size());
    n_parts = std::max<std::int64_t>(
        1, std::min(n_blocks / kByteRun, kByteTasks / std::max<std::int64_t>(1, n_chunks)));
    parallel_for(n_chunks, n_jobs, [&](std::int64_t k) {
      fill_chunk(f, columns.data() + k * kByteColumns, n_blocks, chunks[k]);
    });
  }
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

template <class V>
PROXQN_INLINE V load_vector(const float* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// sums[column][W] += the rows [.][W] of its slots.
template <int W, int Size>
PROXQN_INLINE void add_groups(const ByteGroups<Size>& groups, std::int64_t b, const float* rows,
                              float* sums) {
  using V = std::conditional_t<W % 16 == 0, float16, float8>;
  constexpr int lanes = sizeof(V) / sizeof(float), n = W / lanes;
  const auto* end = groups.all.get() + groups.start[b + 1];
  for (const auto* group = groups.all.get() + groups.start[b]; group < end; ++group) {
    V even[n] = {}, odd[n] = {};  // two chains hide the latency of the additions
#pragma GCC unroll 8
    for (int i = 0; i < Size; i += 2)
      for (int k = 0; k < n; ++k) {
        const V a = load_vector<V>(rows + group->slot[i] * W + k * lanes);
        const V b = load_vector<V>(rows + group->slot[i + 1] * W + k * lanes);
        even[k] = i == 0 ? a : even[k] + a;
        odd[k] = i == 0 ? b : odd[k] + b;
      }
    for (int k = 0; k < n; ++k) {
      float* p = sums + group->column * W + k * lanes;
      const V sum = load_vector<V>(p) + (even[k] + odd[k]);
      std::memcpy(p, &sum, sizeof sum);
    }
  }
}

// totals[column][Lp] += the sums of W labels over the blocks [first, last); floats: [.][W] zeros.
template <int W>
PROXQN_INLINE void sum_bytes(const ByteChunk& chunk, std::int64_t first, std::int64_t last,
                             const float* planes, std::int64_t stride, std::int64_t Lp,
                             float* floats, double* totals) {
  alignas(64) float rows[(kByteBlock + 1) * W];
  std::fill(rows + kByteBlock * W, rows + (kByteBlock + 1) * W, 0.0f);
  for (std::int64_t b = first; b < last; ++b) {
    const std::int64_t begin = b * kByteBlock, n = std::min(kByteBlock, stride - begin);
    for (std::int64_t s = 0; s < n; ++s)
      for (int y = 0; y < W; y += kLanes)
        store_floats(rows + s * W + y, load_floats(planes + y * stride + (begin + s) * kLanes));
    add_groups<W>(chunk.eights, b, rows, floats);
    add_groups<W>(chunk.fours, b, rows, floats);
    if ((b - first) % kByteRun != kByteRun - 1 && b != last - 1) continue;
    for (std::int64_t i = 0; i < chunk.n_columns; ++i)
      for (int y = 0; y < W; y += kLanes) {
        double* total = totals + i * Lp + y;
        store8(total, load8(total) + load8(floats + i * W + y));
        store_floats(floats + i * W + y, float8{});
      }
  }
}

PROXQN_CLONES void sum_byte_chunk(const ByteChunk& chunk, std::int64_t first, std::int64_t last,
                                  const float* rows, std::int64_t stride, std::int64_t Lp,
                                  float* floats, double* totals) {
  for (std::int64_t y = 0; y < Lp; y += 32) {
    const float* planes = rows + y * stride;
    const std::int64_t left = Lp - y;
    if (left >= 32) sum_bytes<32>(chunk, first, last, planes, stride, Lp, floats, totals + y);
    else if (left == 24) sum_bytes<24>(chunk, first, last, planes, stride, Lp, floats, totals + y);
    else if (left == 16) sum_bytes<16>(chunk, first, last, planes, stride, Lp, floats, totals + y);
    else sum_bytes<8>(chunk, first, last, planes, stride, Lp, floats, totals + y);
  }
}

inline PartSums<double> sum_byte_blocks(const ByteBlocks& x, const float* rows, std::int64_t stride,
                                std::int64_t Lp, int n_jobs) {
  PartSums<double> out(x.columns, x.n_parts, Lp);
  const auto n_chunks = static_cast<std::int64_t>(x.chunks.size());
  parallel_for(n_chunks * x.n_parts, n_jobs, [&](std::int64_t task) {
    const std::int64_t k = task % n_chunks, part = task / n_chunks;
    auto floats = Lines<float>::zeros(kByteColumns * 32);
    double* sums = out.part(part) + k * kByteColumns * Lp;
    std::fill(sums, sums + x.chunks[k].n_columns * Lp, 0.0);
    sum_byte_chunk(x.chunks[k], part * x.n_blocks / x.n_parts, (part + 1) * x.n_blocks / x.n_parts,
                   rows, stride, Lp, floats.data(), sums);
  });
  return out;
}

}  // namespace proxqn
