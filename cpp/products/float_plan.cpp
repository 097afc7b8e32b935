#include "products/float_plan.hpp"

#include "base/parallel.hpp"

namespace proxqn::products {

SlotBlocks::SlotBlocks(const Features& f, int n_jobs) : index(f.n_columns, -1) {
  std::int32_t last = 0;
  for (std::int64_t c = 0; c < f.n_columns; ++c)
    if (f.start[c + 1] > f.start[c]) last = std::max(last, f.slots[f.start[c + 1] - 1]);
  n_blocks = last / kSlotBlock + 1;
  std::vector<std::int64_t> cut;  // columns
  for (std::int64_t c = 0; c < f.n_columns; ++c) {
    if (f.start[c + 1] - f.start[c] < kEntriesABlock * n_blocks) continue;
    index[c] = static_cast<std::int32_t>(cut.size());
    cut.push_back(c);
  }
  const auto n = static_cast<std::int64_t>(cut.size());
  cuts.reset(new std::int32_t[n * (n_blocks + 1)]);
  parallel_for(n, n_jobs, [&](std::int64_t i) {
    const Entries x = entries(f, cut[i]);
    std::int64_t at = 0;
    for (std::int64_t b = 0; b <= n_blocks; ++b) {
      at += count_below(x.slots + at, x.slots + x.n, static_cast<std::int32_t>(b * kSlotBlock));
      cuts[i * (n_blocks + 1) + b] = static_cast<std::int32_t>(at);
    }
  });
}

const std::uint16_t* BitColumns::get(std::int64_t c, const Entries& x, std::int64_t n_blocks) {
  std::lock_guard lock(mutex_);
  auto& bits = columns_.try_emplace(c, 0).first->second;
  if (!bits.data()) {
    bits = AlignedArray<std::uint16_t>::zeros(n_blocks * kSlotBlock / 16);
    for (std::int64_t e = 0; e < x.n; ++e)
      bits[x.slots[e] / 16] |= static_cast<std::uint16_t>(1u << x.slots[e] % 16);
  }
  return bits.data();
}

// Turning an eight of labels of all slots costs as much as this many additions a slot.
constexpr std::int64_t kTurnEntries = 2;

// Cycles for sixteen slots: two an add under a mask, and one more; four an entry otherwise.
static bool worth_bits(const Entries& x, std::int64_t stride, std::int64_t n_lanes) {
#if defined(__x86_64__) && defined(__GNUC__)
  static const bool possible =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
  return possible && !x.values && 4 * 16 * x.n > (2 * n_lanes + 1) * stride;
#else
  return false;
#endif
}

template <class IsDense>
void LabelEights::add_column(const Features& f, FloatIndex& index, std::int64_t c,
                             const std::int32_t* labels, std::int64_t n, std::int64_t* places,
                             const IsDense& is_dense) {
  const Entries x = entries(f, c);
  const SlotBlocks& blocks = index.blocks;
  bool started = false;  // whether columns.back() is this one
  for (std::int64_t eight = 0; eight < static_cast<std::int64_t>(dense.size()); eight += kLanes) {
    auto lane = [&](std::int64_t i) { return labels[i] - eight; };
    const auto number = static_cast<std::int64_t>(label.size());
    std::int64_t n_lanes = 0;
    for (std::int64_t i = 0; i < n; ++i)
      if (lane(i) >= 0 && lane(i) < kLanes) {
        places[i] = number * kLanes + lane(i);
        ++n_lanes;
      }
    if (n_lanes == 0) continue;
    label.push_back(static_cast<std::int32_t>(eight));
    if (is_dense(eight, x, n_lanes)) {
      const std::uint16_t* bits = index.bits.get(c, x, blocks.n_blocks);
      for (std::int64_t i = 0; i < n; ++i)
        if (lane(i) >= 0 && lane(i) < kLanes) dense[labels[i]].push_back({bits, places[i]});
      started = false;
    } else if (started) {
      ++columns.back().last;
    } else {
      const std::int32_t row = blocks.index[c];
      const auto* cuts = blocks.cuts.get() + row * (blocks.n_blocks + 1);
      columns.push_back({c, x, row < 0 ? nullptr : cuts, number, number + 1});
      started = true;
    }
  }
}

LabelEights::LabelEights(const Features& f, FloatIndex& index, const std::int64_t* coordinates,
                         std::int64_t n, std::int64_t n_labels, std::int64_t stride,
                         const std::int32_t* rank)
    : dense(whole_eights(n_labels)), place(n) {
  std::vector<std::int32_t> column(n), label_of(n);
  for (std::int64_t i = 0; i < n; ++i) {
    column[i] = static_cast<std::int32_t>(coordinates[i] / n_labels);
    label_of[i] = rank[coordinates[i] - column[i] * n_labels];
  }
  auto each_column = [&](const auto& body) {
    for (std::int64_t i = 0, end = 0; i < n; i = end) {
      while (end < n && column[end] == column[i]) ++end;
      body(column[i], label_of.data() + i, end - i, place.data() + i);
    }
  };
  std::vector<std::int64_t> dense_entries(dense.size(), 0);  // at the first label of an eight
  each_column([&](std::int64_t c, const std::int32_t* labels, std::int64_t n_of, std::int64_t*) {
    const Entries x = entries(f, c);
    if (!worth_bits(x, stride, 1)) return;
    std::vector<std::int64_t> n_lanes(dense.size(), 0);
    for (std::int64_t i = 0; i < n_of; ++i) ++n_lanes[labels[i] / kLanes * kLanes];
    for (std::size_t eight = 0; eight < dense.size(); eight += kLanes)
      if (n_lanes[eight] > 0 && worth_bits(x, stride, n_lanes[eight])) dense_entries[eight] += x.n;
  });
  each_column(
      [&](std::int64_t c, const std::int32_t* labels, std::int64_t n_of, std::int64_t* places) {
        add_column(f, index, c, labels, n_of, places,
                   [&](std::int64_t eight, const Entries& x, std::int64_t n_lanes) {
                     return dense_entries[eight] > kTurnEntries * stride &&
                            worth_bits(x, stride, n_lanes);
                   });
      });
}

Listed::Listed(FloatIndex& index, LabelEights& eights, std::int64_t n_labels, std::int64_t stride,
               bool again, int n_jobs) {
  std::vector<SlotLists::Wanted> wanted;
  for (const auto& c : eights.columns)
    for (std::int64_t i = c.first; i < c.last && !c.all.values; ++i)
      wanted.push_back({c.number, eights.label[i], c.all.slots, c.all.n});
  lists = index.lists.get(wanted, n_labels, stride, again, n_jobs);
  if (!lists) return;
  std::vector<LabelEights::Column>
      others;  // and parts of columns, of which only some eights are held
  auto x = wanted.begin();
  std::size_t at = 0;
  for (const auto& c : eights.columns) {
    if (c.all.values) others.push_back(c);
    for (std::int64_t i = c.first; i < c.last && !c.all.values; ++i, ++x) {
      while (at < lists->held.size() && lists->held[at] < *x) ++at;
      if (at < lists->held.size() && lists->held[at] == *x) {
        number.push_back(i);
        found.push_back(at);
      } else if (!others.empty() && others.back().number == c.number && others.back().last == i) {
        ++others.back().last;
      } else {
        others.push_back({c.number, c.all, c.cuts, i, i + 1});
      }
    }
  }
  eights.columns = std::move(others);
}

BlockRows::BlockRows(const LabelEights& eights) : row(eights.label.size(), -1) {
  for (const auto& c : eights.columns)
    for (std::int64_t i = c.first; c.cuts && i < c.last; ++i) row[i] = n++;
  for (const auto& items : eights.dense)
    for (const auto& item : items)
      if (std::int32_t& own = row[item.place / kLanes]; own < 0) own = n++;
}

FloatPlan::FloatPlan(const Features& f, FloatIndex& index, const std::int64_t* coordinates_,
                     std::int64_t n, std::int64_t n_labels, const std::int32_t* rank_,
                     std::int64_t stride_, bool again, int n_jobs)
    : coordinates(coordinates_, coordinates_ + n), rank(rank_, rank_ + n_labels), stride(stride_),
      eights(f, index, coordinates_, n, n_labels, stride, rank_),
      listed(index, eights, n_labels, stride, again, n_jobs), blocks(eights) {}

bool FloatPlan::covers(const std::int64_t* others, std::int64_t n, std::int64_t n_labels,
                       const std::int32_t* other_rank, std::int64_t other_stride) const {
  const auto size = static_cast<std::int64_t>(coordinates.size());
  return stride == other_stride && 10 * n >= 9 * size &&
         std::equal(rank.begin(), rank.end(), other_rank, other_rank + n_labels) &&
         std::includes(coordinates.begin(), coordinates.end(), others, others + n);
}

std::shared_ptr<const FloatPlan> plan(const Features& f, FloatIndex& index,
                                      const std::int64_t* coordinates, std::int64_t n,
                                      std::int64_t n_labels, const std::int32_t* rank,
                                      std::int64_t stride, bool again, int n_jobs) {
  std::lock_guard lock(index.plan_mutex);
  if (index.plan && index.plan->covers(coordinates, n, n_labels, rank, stride)) return index.plan;
  auto made = std::make_shared<const FloatPlan>(f, index, coordinates, n, n_labels, rank, stride,
                                                again, n_jobs);
  if (again) index.plan = made;
  return made;
}

}  // namespace proxqn::products
