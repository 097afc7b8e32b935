#include "products/block_sums.hpp"

#include "base/aligned_array.hpp"
#include "base/parallel.hpp"

namespace proxqn::products {

BlockColumns::BlockColumns(const Features& f, std::int64_t stride_, std::int64_t n_labels_,
                           std::int64_t scalar, const std::vector<std::int32_t>& others,
                           const OutOfReach& out)
    : stride(stride_), n_labels(n_labels_), Lp(row_length(n_labels, kLine / scalar)),
      block(std::max<std::int64_t>(64, kBlockBytes / (scalar * Lp))),
      n_blocks((stride + block - 1) / block) {
  // Rows that the L3 cache holds are soon fetched: only frequent columns then gain.
  const bool cached = stride * Lp * scalar <= kCacheBytes;
  const std::int64_t enough =
      std::max(kRareBytes / scalar, cached ? stride / kByteBlock : n_blocks / kRareBlocks);
  auto other = others.begin();
  std::int64_t n_frequent = 0;  // also those out of reach: the parts do not depend on the residuals
  for (std::int64_t c = 0; c < f.n_columns; ++c) {
    if (other != others.end() && *other == c) ++other;
    else if (f.start[c + 1] - f.start[c] >= enough) {
      ++n_frequent;
      if (!out.columns[c]) columns.push_back(static_cast<std::int32_t>(c));
    }
  }
  n_parts = std::min(n_blocks, parts_of(stride, n_frequent));
}

// sums[columns][Lp] = those over the slots [first, last), in registers V
template <class V, class S>
PROXQN_INLINE void sum_slots(const Features& f, const BlockColumns& x, const SlotRows<S>& rows,
                             std::int64_t first, std::int64_t last, S* sums) {
  const auto n = static_cast<std::int64_t>(x.columns.size());
  const std::int64_t Lp = x.Lp;
  std::vector<std::int64_t> next(n);  // each column's first entry not yet summed
  std::vector<std::int32_t> slot(n);  // and its slot
  auto go_to = [&](std::int64_t i, std::int64_t e) PROXQN_INLINED {
    next[i] = e;
    slot[i] = e < f.start[x.columns[i] + 1] ? f.slots[e] : kAllSlots;
  };
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int32_t* all = f.slots + f.start[x.columns[i]];
    go_to(i, find_slot(all, f.slots + f.start[x.columns[i] + 1], first, x.stride) - f.slots);
  }
  std::fill(sums, sums + n * Lp, S(0));
  const bool in_place = rows.has_eights() && rows.slot_step == Lp;
  AlignedArray<S> copy(in_place ? 0 : x.block * Lp);
  std::vector<std::int32_t> present(n + kColumnsAhead, 0);
  for (std::int64_t begin = first; begin < last; begin += x.block) {
    const auto end = static_cast<std::int32_t>(std::min(last, begin + x.block));
    if (!in_place) copy_rows(rows, begin, end, x.n_labels, Lp, copy.data());
    const auto here = slot_major<S>(in_place ? rows.first : copy.data(), Lp, in_place ? 0 : begin);
    std::int64_t n_present = 0;  // columns in this block, listed without a branch to foresee
    for (std::int64_t i = 0; i < n; ++i) {
      present[n_present] = static_cast<std::int32_t>(i);
      n_present += slot[i] < end;
    }
    for (std::int64_t k = 0; k < n_present; ++k) {
      // Processors fetch ahead by themselves along a column, but not from column to column.
      const std::int32_t* ahead = f.slots + next[present[k + kColumnsAhead]];
      __builtin_prefetch(ahead);
      __builtin_prefetch(ahead + 16);
      const std::int64_t i = present[k], c = x.columns[i], e = next[i];
      const double* v = f.column_values(c);
      if (v) v += e - f.start[c];
      go_to(i, e + add_rows<V>(f.slots + e, v, f.start[c + 1] - e, end, here, Lp, sums + i * Lp));
    }
  }
}

// Functions with clones cannot be templates.
PROXQN_CLONES void sum_part(const Features& f, const BlockColumns& x, const SlotRows<double>& rows,
                            std::int64_t first, std::int64_t last, double* sums) {
  sum_slots<double8>(f, x, rows, first, last, sums);
}
PROXQN_CLONES void sum_part(const Features& f, const BlockColumns& x, const SlotRows<float>& rows,
                            std::int64_t first, std::int64_t last, float* sums) {
  if (x.Lp == kLanes) sum_slots<float8>(f, x, rows, first, last, sums);
  else sum_slots<float16>(f, x, rows, first, last, sums);
}

template <class S>
PartSums<S> sum_blocks(const Features& f, const BlockColumns& x, const SlotRows<S>& rows,
                       int n_jobs) {
  PartSums<S> out(x.columns, x.n_parts, x.Lp);
  if (x.columns.empty()) return out;
  parallel_for(x.n_parts, n_jobs, [&](std::int64_t part) {
    const std::int64_t first = part * x.n_blocks / x.n_parts * x.block;
    const std::int64_t last = std::min(x.stride, (part + 1) * x.n_blocks / x.n_parts * x.block);
    may_throw([&] { sum_part(f, x, rows, first, last, out.part(part)); });
  });
  return out;
}

template PartSums<float> sum_blocks(const Features&, const BlockColumns&, const SlotRows<float>&,
                                    int);
template PartSums<double> sum_blocks(const Features&, const BlockColumns&, const SlotRows<double>&,
                                     int);

}  // namespace proxqn::products
