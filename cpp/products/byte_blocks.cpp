#include "products/byte_blocks.hpp"

#include <cstring>
#include <type_traits>

#include "base/aligned_array.hpp"
#include "base/parallel.hpp"

namespace proxqn::products {

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

ByteBlocks::ByteBlocks(const Features& f, int n_jobs) {
  std::int32_t last = -1;
  for (std::int64_t c = 0; c < f.n_columns; ++c)
    if (f.start[c + 1] > f.start[c]) last = std::max(last, f.slots[f.start[c + 1] - 1]);
  n_blocks = (last + kByteBlock) / kByteBlock;
  for (std::int64_t c = 0; c < f.n_columns; ++c)
    if (f.value_start[c] < 0 && f.start[c + 1] - f.start[c] > n_blocks)
      columns.push_back(static_cast<std::int32_t>(c));
  const auto n = static_cast<std::int64_t>(columns.size());
  for (std::int64_t first = 0; first < n; first += kByteColumns)
    chunks.push_back(
        {std::min(kByteColumns, n - first), ByteGroups<8>(n_blocks), ByteGroups<4>(n_blocks)});
  const auto n_chunks = static_cast<std::int64_t>(chunks.size());
  n_parts = std::max<std::int64_t>(
      1, std::min(n_blocks / kByteRun, kByteTasks / std::max<std::int64_t>(1, n_chunks)));
  parallel_for(n_chunks, n_jobs, [&](std::int64_t k) {
    may_throw([&] { fill_chunk(f, columns.data() + k * kByteColumns, n_blocks, chunks[k]); });
  });
}

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

PartSums<double> sum_byte_blocks(const ByteBlocks& x, const float* rows, std::int64_t stride,
                                 std::int64_t Lp, int n_jobs) {
  PartSums<double> out(x.columns, x.n_parts, Lp);
  const auto n_chunks = static_cast<std::int64_t>(x.chunks.size());
  parallel_for(n_chunks * x.n_parts, n_jobs, [&](std::int64_t task) {
    const std::int64_t k = task % n_chunks, part = task / n_chunks;
    auto floats = AlignedArray<float>::zeros(kByteColumns * 32);
    double* sums = out.part(part) + k * kByteColumns * Lp;
    std::fill(sums, sums + x.chunks[k].n_columns * Lp, 0.0);
    sum_byte_chunk(x.chunks[k], part * x.n_blocks / x.n_parts, (part + 1) * x.n_blocks / x.n_parts,
                   rows, stride, Lp, floats.data(), sums);
  });
  return out;
}

}  // namespace proxqn::products
