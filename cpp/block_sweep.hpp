// The full sweep on floats [Lp/8][stride][8] (rows.hpp) for columns of ones, which it takes in two ways.
//
// Columns with an entry or more a block of slots, as of pixels: the rows of a block are copied side by
// side, [slot][Lp], into the L1 cache, and every column adds its slots there, eight or four at a time.
// The lists of these slots, a byte each, are made once. They are of two fixed lengths, filled up with a
// row of zeros, because a loop of another length for every column is foreseen wrongly every time.
//
// Rare columns, most of text's: only the eights of labels that the column may have, straight from the
// array, and with an entry or two only those labels.
#pragma once
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

#include "features.hpp"

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
      if (f.start[c + 1] - f.start[c] > n_blocks) columns.push_back(static_cast<std::int32_t>(c));
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
  // Null where columns have values.
  const ByteBlocks* get(const Features& f, int n_jobs) {
    std::call_once(made_, [&] {
      if (std::all_of(f.value_start, f.value_start + f.n_columns, [](auto at) { return at < 0; }))
        blocks_ = std::make_unique<ByteBlocks>(f, n_jobs);
    });
    return blocks_.get();
  }

 private:
  std::once_flag made_;
  std::unique_ptr<ByteBlocks> blocks_;
};

struct alignas(64) SixteenFloats {
  float r[16];
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

// [columns of the blocks][Lp]
inline std::vector<double> sum_byte_blocks(const ByteBlocks& x, const float* rows,
                                           std::int64_t stride, std::int64_t Lp, int n_jobs) {
  const auto size = static_cast<std::int64_t>(x.columns.size()) * Lp;
  const auto n_chunks = static_cast<std::int64_t>(x.chunks.size());
  std::vector<double> sums(size * x.n_parts, 0.0);
  parallel_for(n_chunks * x.n_parts, n_jobs, [&](std::int64_t task) {
    const std::int64_t k = task % n_chunks, part = task / n_chunks;
    const std::unique_ptr<SixteenFloats[]> floats(new SixteenFloats[kByteColumns * 2]());
    sum_byte_chunk(x.chunks[k], part * x.n_blocks / x.n_parts, (part + 1) * x.n_blocks / x.n_parts,
                   rows, stride, Lp, floats[0].r, sums.data() + part * size + k * kByteColumns * Lp);
  });
  for (std::int64_t part = 1; part < x.n_parts; ++part)
    for (std::int64_t i = 0; i < size; ++i) sums[i] += sums[part * size + i];
  sums.resize(size);
  return sums;
}

struct SingleSweep {
  const Features& f;
  const ByteBlocks& blocks;
  const double* block_sums;  // [columns of the blocks][Lp]
  std::int64_t n_labels, stride, Lp;
  const float* rows;
  double threshold;
  const std::int64_t* pair_start;  // null: all labels
  const std::int32_t *pair_labels, *rank;
};

constexpr std::int64_t kScalarEntries = 3;

PROXQN_INLINE double sum_label(const SingleSweep& x, std::int64_t label, const std::int32_t* slots,
                               std::int64_t n) {
  const std::int64_t place = x.rank[label], lane = place % kLanes;
  const float* column = x.rows + (place - lane) * x.stride + lane;
  double sum = 0.0;
  for (std::int64_t e = 0; e < n; ++e) sum += column[slots[e] * kLanes];
  return sum;
}

// sums[Lp] in the eights of the labels [label, labels_end), or in all where there is no such list.
PROXQN_INLINE void sum_eights(const SingleSweep& x, const std::int32_t* label,
                              const std::int32_t* labels_end, const std::int32_t* slots,
                              std::int64_t n, std::vector<std::uint8_t>& wanted, double* sums) {
  const SlotRows<float> rows(x.rows, x.stride, x.Lp);
  std::fill(sums, sums + x.Lp, 0.0);
  if (!label) return add_rows(slots, nullptr, n, rows, x.Lp, sums);
  std::fill(wanted.begin(), wanted.end(), 0);
  for (; label < labels_end; ++label) wanted[x.rank[*label] / kLanes] = 1;
  for (std::int64_t y = 0; y < x.Lp; y += kLanes)
    if (wanted[y / kLanes]) column_sums<1>(slots, nullptr, n, rows, y, sums + y);
}

// Columns [first, last).
PROXQN_CLONES void sweep_columns(const SingleSweep& x, std::int64_t first, std::int64_t last,
                                 Sweep& out) {
  const auto& frequent = x.blocks.columns;
  std::vector<double> sums(x.Lp);
  std::vector<std::uint8_t> wanted(x.Lp / kLanes);
  auto at = std::lower_bound(frequent.begin(), frequent.end(), first);
  for (std::int64_t c = first; c < last; ++c) {
    auto keep = [&](std::int64_t y, double g) PROXQN_INLINED {
      const double size = std::fabs(g);
      if (!(size <= out.largest)) out.largest = size;  // a NaN stays visible
      if (!(size > x.threshold)) return;
      out.coordinates.push_back(c * x.n_labels + y);
      out.gradient.push_back(g);
    };
    const std::int32_t* slots = x.f.slots + x.f.start[c];
    const std::int64_t n = x.f.start[c + 1] - x.f.start[c];
    const std::int32_t *label = nullptr, *labels_end = nullptr;
    if (x.pair_start) {
      label = x.pair_labels + x.pair_start[c];
      labels_end = x.pair_labels + x.pair_start[c + 1];
    }
    const double* found = sums.data();
    if (at != frequent.end() && *at == c) {
      found = x.block_sums + (at++ - frequent.begin()) * x.Lp;
    } else if (x.pair_start && n <= kScalarEntries) {
      for (; label < labels_end; ++label) keep(*label, sum_label(x, *label, slots, n));
      continue;
    } else {
      sum_eights(x, label, labels_end, slots, n, wanted, sums.data());
    }
    if (x.pair_start)
      for (; label < labels_end; ++label) keep(*label, found[x.rank[*label]]);
    else
      for (std::int64_t y = 0; y < x.n_labels; ++y) keep(y, found[x.rank[y]]);
  }
}

// The same answer as features.hpp's sweep_rows, which serves columns with values.
inline Sweep sweep_single(const Features& f, ByteBlockCache& cache, std::int64_t n_labels,
                          std::int64_t stride, const float* rows, double threshold,
                          const std::int64_t* pair_start, const std::int32_t* pair_labels,
                          const std::int32_t* rank, int n_jobs) {
  const std::int64_t Lp = (n_labels + kLanes - 1) / kLanes * kLanes;
  const ByteBlocks* blocks = cache.get(f, n_jobs);
  if (!blocks)
    return sweep_rows(f, n_labels, stride, Lp, rows, threshold, pair_start, pair_labels, rank,
                      n_jobs);
  const std::vector<double> sums = sum_byte_blocks(*blocks, rows, stride, Lp, n_jobs);
  const SingleSweep x{f,    *blocks,   sums.data(), n_labels,    stride, Lp,
                      rows, threshold, pair_start,  pair_labels, rank};
  return sweep_chunks(f, n_jobs, [&](std::int64_t first, std::int64_t last, Sweep& out) {
    sweep_columns(x, first, last, out);
  });
}

}  // namespace proxqn
