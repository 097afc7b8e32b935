#include "products/float_products.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/parallel.hpp"
#include "base/simd.hpp"
#include "products/bit_sums.hpp"
#include "products/block_sums.hpp"

namespace proxqn::products {

// --- scores: rows[slot] = sum_j w_j x_j(slot) ----------------------------------------------------

template <int N>
PROXQN_INLINE void scatter(const Entries& x, const std::int32_t* label, const float* weights,
                           std::int64_t stride, float* rows) {
  float8 d[N];
  float* first[N];
  for (int k = 0; k < N; ++k) {
    d[k] = load_floats(weights + k * kLanes);
    first[k] = rows + label[k] * stride;
  }
  for (std::int64_t e = 0; e < x.n; ++e) {
    const float value = x.values ? static_cast<float>(x.values[e]) : 1.0f;
    for (int k = 0; k < N; ++k) {
      float* p = first[k] + x.slots[e] * kLanes;
      store_floats(p, load_floats(p) + (x.values ? d[k] * value : d[k]));
    }
  }
}

PROXQN_INLINE void scatter_column(const LabelEights& eights, const LabelEights::Column& c,
                                  const Entries& x, const float* weights, std::int64_t stride,
                                  float* rows) {
  by_fours(c, [&](auto n, std::int64_t i) {
    scatter<n>(x, eights.label.data() + i, weights + i * kLanes, stride, rows);
  });
}

constexpr std::int64_t kTurned = kBitRun;  // slots of an eight of labels, label-major: 16 KB
using Turned = float[kLanes][kTurned];

// rows[n][8] of one eight of labels from its label-major form, and back.
PROXQN_INLINE void turn_to_rows(const Turned& turned, std::int64_t n, float* rows) {
  std::int64_t s = 0;
  for (; s + kLanes <= n; s += kLanes) {
    float8 r[kLanes];
    for (int k = 0; k < kLanes; ++k) r[k] = load_floats(turned[k] + s);
    transpose8(r);
    for (int k = 0; k < kLanes; ++k) store_floats(rows + (s + k) * kLanes, r[k]);
  }
  for (; s < n; ++s)
    for (int k = 0; k < kLanes; ++k) rows[s * kLanes + k] = turned[k][s];
}
PROXQN_INLINE void turn_from_rows(const float* rows, std::int64_t n, Turned& turned) {
  std::int64_t s = 0;
  for (; s + kLanes <= n; s += kLanes) {
    float8 r[kLanes];
    for (int k = 0; k < kLanes; ++k) r[k] = load_floats(rows + (s + k) * kLanes);
    transpose8(r);
    for (int k = 0; k < kLanes; ++k) store_floats(turned[k] + s, r[k]);
  }
  for (; s < kTurned; ++s)
    for (int k = 0; k < kLanes; ++k) turned[k][s] = s < n ? rows[s * kLanes + k] : 0.0f;
}

// Slots [begin, end) of an eight of labels = the dense columns' share, zero where there are none.
PROXQN_INLINE void score_dense(const LabelEights& eights, const float* weights, std::int64_t eight,
                               std::int64_t begin, std::int64_t end, float* rows) {
  alignas(64) Turned turned;
  for (std::int64_t first = begin; first < end; first += kTurned) {
    for (int k = 0; k < kLanes; ++k)
      if (eights.dense[eight + k].empty()) std::memset(turned[k], 0, sizeof turned[k]);
      else add_bits(eights.dense[eight + k], weights, first, turned[k]);
    turn_to_rows(turned, std::min(kTurned, end - first), rows + first * kLanes);
  }
}

constexpr std::int64_t kStreamed = 16 << 20;  // floats: more than a cache holds

// The slots of blocks [first, last).
PROXQN_CLONES void score_blocks(const LabelEights& eights, const float* weights,
                                const SlotLists* lists,
                                const std::vector<std::vector<float>>& tables, std::int64_t first,
                                std::int64_t last, std::int64_t n_blocks, std::int64_t stride,
                                float* rows) {
  const auto Lp = static_cast<std::int64_t>(eights.dense.size());
  const bool stream = eights.columns.empty() && Lp * stride > kStreamed;
  for (std::int64_t b = first; b < last; ++b) {
    const std::int64_t begin = b * kSlotBlock, end = std::min(stride, begin + kSlotBlock);
    for (std::int64_t y = 0; y < Lp; y += kLanes) {
      float* plane = rows + y * stride;
      const bool dense = b < n_blocks && eights.any_dense(y);
      if (dense) score_dense(eights, weights, y, begin, end, plane);
      else if (!lists) std::fill(plane + begin * kLanes, plane + end * kLanes, 0.0f);
      if (!lists) continue;
      const auto& own = lists->eights[y / kLanes];
      const float* table = tables[y / kLanes].data();
      if (stream && !dense) add_lists<true>(own, table, begin, end, true, plane);
      else add_lists<false>(own, table, begin, end, !dense, plane);
    }
    if (b >= n_blocks) continue;
    for (const auto& c : eights.columns)
      if (c.cuts)
        scatter_column(eights, c, c.all.part(c.cuts[b], c.cuts[b + 1]), weights, stride, rows);
  }
  for (const auto& c : eights.columns)
    if (!c.cuts)
      scatter_column(eights, c, c.all.between(first * kSlotBlock, last * kSlotBlock, stride),
                     weights, stride, rows);
  if (stream) end_streaming();
}

void scores(const Features& f, FloatIndex& index, const std::int64_t* coordinates,
            const double* weights, std::int64_t n, std::int64_t n_labels, const std::int32_t* rank,
            std::int64_t stride, int n_jobs, float* rows) {
  const auto made = plan(f, index, coordinates, n, n_labels, rank, stride, false, n_jobs);
  const LabelEights& eights = made->eights;
  const Listed& listed = made->listed;
  index.scored = true;
  std::vector<float> w(eights.label.size() * kLanes, 0.0f);
  made->each_place(coordinates, n, [&](std::int64_t i, std::int64_t place) {
    w[place] = static_cast<float>(weights[i]);
  });
  std::vector<std::vector<float>> tables;  // [Lp/8][n_rows * 8] of the lists
  if (listed.lists) {
    for (const auto& e : listed.lists->eights) tables.emplace_back(e.n_rows * kLanes, 0.0f);
    listed.each(1, [&](std::int64_t i, std::int64_t p, std::int64_t at) {
      std::copy_n(w.data() + i * kLanes, kLanes, tables[p].data() + at);
    });
  }
  const std::int64_t n_blocks = (stride + kSlotBlock - 1) / kSlotBlock;
  // Every slot's sum is in the order of the columns, whatever the number of parts.
  const std::int64_t n_parts = std::min<std::int64_t>(n_blocks, n_jobs > 1 ? 8 * n_jobs : 1);
  parallel_for(n_parts, n_jobs, [&](std::int64_t part) {
    score_blocks(eights, w.data(), listed.lists.get(), tables, part * n_blocks / n_parts,
                 (part + 1) * n_blocks / n_parts, index.blocks.n_blocks, stride, rows);
  });
}

// --- gradient on given coordinates ---------------------------------------------------------------

constexpr std::int64_t kFloatRun = 1024;  // entries summed in single precision

template <int N>
PROXQN_INLINE void gather(const Entries& x, const std::int32_t* label, const float* rows,
                          std::int64_t stride, double* sums) {
  const float* planes[N];
  for (int k = 0; k < N; ++k) planes[k] = rows + label[k] * stride;
  for (std::int64_t first = 0; first < x.n; first += kFloatRun) {
    const std::int64_t last = std::min(x.n, first + kFloatRun);
    float8 even[N] = {}, odd[N] = {};  // two chains hide the latency of the additions
    auto add = [&](std::int64_t e, float8* acc) {
      for (int k = 0; k < N; ++k) {
        const float8 r = load_floats(planes[k] + x.slots[e] * kLanes);
        acc[k] += x.values ? r * static_cast<float>(x.values[e]) : r;
      }
    };
    std::int64_t e = first;
    for (; e + 2 <= last; e += 2) {
      add(e, even);
      add(e + 1, odd);
    }
    if (e < last) add(e, even);
    for (int k = 0; k < N; ++k) {
      double* p = sums + k * kLanes;
      store8(p, load8(p) + widen(even[k] + odd[k]));
    }
  }
}

// sums[n][8] of the cut columns over blocks [first, last).
PROXQN_CLONES void gather_cut(const LabelEights& eights, const BlockRows& at, std::int64_t first,
                              std::int64_t last, const float* rows, std::int64_t stride,
                              double* sums) {
  for (std::int64_t b = first; b < last; ++b)
    for (const auto& c : eights.columns) {
      if (!c.cuts) continue;
      const Entries x = c.all.part(c.cuts[b], c.cuts[b + 1]);
      by_fours(c, [&](auto n, std::int64_t i) {
        gather<n>(x, eights.label.data() + i, rows, stride, sums + at.row[i] * kLanes);
      });
    }
}

// The same of the dense columns over slots [begin, end).
PROXQN_CLONES void gather_dense(const LabelEights& eights, const BlockRows& at, std::int64_t begin,
                                std::int64_t end, const float* rows, std::int64_t stride,
                                double* sums) {
  alignas(64) Turned turned;
  const auto Lp = static_cast<std::int64_t>(eights.dense.size());
  for (std::int64_t y = 0; y < Lp; y += kLanes)
    for (std::int64_t first = begin; first < end && eights.any_dense(y); first += kTurned) {
      turn_from_rows(rows + y * stride + first * kLanes, std::min(kTurned, end - first), turned);
      for (int k = 0; k < kLanes; ++k)
        sum_bits(eights.dense[y + k], at.row.data(), first, turned[k], sums);
    }
}

// sums[eights][8] of both. The parts are of slots, so that each row comes from memory once, and
// their number does not depend on that of the threads.
static void gather_blocks(const LabelEights& eights, const BlockRows& at, std::int64_t n_blocks,
                          const float* rows, std::int64_t stride, int n_jobs, double* sums) {
  if (at.n == 0) return;
  const std::int64_t n_parts = std::min(n_blocks, kBlockParts);
  std::vector<std::vector<double>> parts(n_parts);
  parallel_for(n_parts, n_jobs, [&](std::int64_t part) {
    const std::int64_t first = part * n_blocks / n_parts, last = (part + 1) * n_blocks / n_parts;
    parts[part].assign(at.n * kLanes, 0.0);
    gather_cut(eights, at, first, last, rows, stride, parts[part].data());
    gather_dense(eights, at, first * kSlotBlock, std::min(stride, last * kSlotBlock), rows, stride,
                 parts[part].data());
  });
  for (std::size_t i = 0; i < at.row.size(); ++i)
    for (std::int64_t part = 0; part < n_parts && at.row[i] >= 0; ++part)
      for (int k = 0; k < kLanes; ++k) sums[i * kLanes + k] += parts[part][at.row[i] * kLanes + k];
}

// The same of the columns [first, last) that are left whole.
PROXQN_CLONES void gather_whole(const LabelEights& eights, std::int64_t first, std::int64_t last,
                                const float* rows, std::int64_t stride, double* sums) {
  for (std::int64_t i = first; i < last; ++i) {
    const auto& c = eights.columns[i];
    if (c.cuts) continue;
    by_fours(c, [&](auto n, std::int64_t j) {
      gather<n>(c.all, eights.label.data() + j, rows, stride, sums + j * kLanes);
    });
  }
}

static void gather_lists(const Listed& listed, const float* rows, std::int64_t stride, int n_jobs,
                         double* sums) {
  const SlotLists& lists = *listed.lists;
  const auto n_eights = static_cast<std::int64_t>(lists.eights.size());
  const std::int64_t n_runs = (stride + kListRun - 1) / kListRun;
  std::vector<ListSums> parts(lists.n_parts * n_eights);
  parallel_for(lists.n_parts * n_eights, n_jobs, [&](std::int64_t task) {
    const std::int64_t part = task / n_eights, p = task % n_eights;
    sum_runs(lists.eights[p], part * n_runs / lists.n_parts, (part + 1) * n_runs / lists.n_parts,
             rows + p * kLanes * stride, stride, parts[task]);
  });
  listed.each(n_jobs, [&](std::int64_t i, std::int64_t p, std::int64_t at) {
    double8 total = parts[p].eight(at);
    for (std::int64_t part = 1; part < lists.n_parts; ++part)
      total += parts[part * n_eights + p].eight(at);
    store8(sums + i * kLanes, total);
  });
}

void gradient(const Features& f, FloatIndex& index, const std::int64_t* coordinates, std::int64_t n,
              std::int64_t n_labels, const std::int32_t* rank, const float* rows,
              std::int64_t stride, int n_jobs, double* out) {
  const bool again = index.scored.exchange(false);
  const auto made = plan(f, index, coordinates, n, n_labels, rank, stride, again, n_jobs);
  const LabelEights& eights = made->eights;
  std::vector<double> sums(eights.label.size() * kLanes, 0.0);
  gather_blocks(eights, made->blocks, index.blocks.n_blocks, rows, stride, n_jobs, sums.data());
  const auto n_columns = static_cast<std::int64_t>(eights.columns.size());
  const std::int64_t n_parts = std::min<std::int64_t>(n_columns, n_jobs > 1 ? 8 * n_jobs : 1);
  parallel_for(n_parts, n_jobs, [&](std::int64_t part) {
    gather_whole(eights, part * n_columns / n_parts, (part + 1) * n_columns / n_parts, rows, stride,
                 sums.data());
  });
  if (made->listed.lists) gather_lists(made->listed, rows, stride, n_jobs, sums.data());
  made->each_place(coordinates, n,
                   [&](std::int64_t i, std::int64_t place) { out[i] = sums[place]; });
}

}  // namespace proxqn::products
