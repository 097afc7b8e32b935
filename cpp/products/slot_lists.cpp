#include "products/slot_lists.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/parallel.hpp"

namespace proxqn::products {

template <class Body>
void SlotLists::each_entry(const Eight& e, std::int64_t begin, std::int64_t end,
                           const Body& body) const {
  for (auto i = e.columns.rbegin(); i != e.columns.rend(); ++i) {
    const Wanted& x = held[*i];
    const std::int64_t stride = kGroup * (static_cast<std::int64_t>(e.start.size()) - 1);
    const std::int32_t* slot = find_slot(x.slots, x.slots + x.n, begin * kGroup, stride);
    const std::int32_t* stop = find_slot(x.slots, x.slots + x.n, end * kGroup, stride);
    for (; slot < stop; ++slot) body(*i, *slot);
  }
}

void SlotLists::measure(Eight& e, std::int64_t begin, std::int64_t end, std::uint16_t* left) const {
  std::fill(left + begin * kGroup, left + end * kGroup, std::uint16_t{0});
  each_entry(e, begin, end, [&](std::size_t, std::int32_t slot) { ++left[slot]; });
  for (std::int64_t g = begin; g < end; ++g)
    e.start[g + 1] = *std::max_element(left + g * kGroup, left + (g + 1) * kGroup);
}

void SlotLists::fill(Eight& e, std::int64_t begin, std::int64_t end, std::uint16_t* left) const {
  const std::int64_t stop = std::int64_t{e.start[end]} * kGroup;
  for (std::int64_t i = std::int64_t{e.start[begin]} * kGroup; i < stop; ++i)
    e.rows[i] = static_cast<std::uint16_t>(i % kFillers);
  each_entry(e, begin, end, [&](std::size_t column, std::int32_t slot) {
    const std::int64_t round = e.start[slot / kGroup] + --left[slot];
    e.rows[round * kGroup + slot % kGroup] = static_cast<std::uint16_t>(row[column]);
  });
}

SlotLists::SlotLists(const std::vector<Wanted>& wanted, std::int64_t n_labels, std::int64_t stride,
                     int n_jobs)
    : held(wanted), row(wanted.size()), eights((n_labels + kLanes - 1) / kLanes) {
  std::vector<std::size_t> order(held.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return held[a].n > held[b].n; });
  for (auto i : order) {
    Eight& e = eights[held[i].label / kLanes];
    e.columns.push_back(i);
    row[i] = static_cast<std::int32_t>(e.n_rows++);
    if (held[i].n > kListRun) e.n_frequent = e.n_rows;
    n_visits += held[i].n;
  }
  const auto n_rows = static_cast<std::int64_t>(held.size() + eights.size() * kFillers);
  n_parts = std::clamp<std::int64_t>(n_visits / (kVisitsARow * n_rows), 1, kMostParts);
  const std::int64_t n_groups = stride / kGroup;
  const auto n_eights = static_cast<std::int64_t>(eights.size());
  for (Eight& e : eights) e.start.resize(n_groups + 1);
  AlignedArray<std::uint16_t> n_left(n_eights * stride);  // of each list, not yet filled in
  // Calls body(eight, its groups' begin and end, n_left) for parts of all lists, which do not meet.
  auto each_part = [&](const auto& body) {
    parallel_for(n_eights * n_parts, n_jobs, [&](std::int64_t task) {
      const std::int64_t part = task / n_eights;
      body(eights[task % n_eights], part * n_groups / n_parts, (part + 1) * n_groups / n_parts,
           n_left.data() + task % n_eights * stride);
    });
  };
  each_part([&](Eight& e, std::int64_t begin, std::int64_t end, std::uint16_t* left) {
    measure(e, begin, end, left);
  });
  for (Eight& e : eights) {
    std::partial_sum(e.start.begin(), e.start.end(), e.start.begin());
    e.rows = AlignedArray<std::uint16_t>(std::int64_t{e.start.back()} * kGroup);
  }
  each_part([&](Eight& e, std::int64_t begin, std::int64_t end, std::uint16_t* left) {
    fill(e, begin, end, left);
  });
}

std::shared_ptr<const SlotLists> ListCache::get(const std::vector<SlotLists::Wanted>& wanted,
                                                std::int64_t n_labels, std::int64_t stride,
                                                bool again, int n_jobs) {
  std::lock_guard lock(mutex_);
  std::int64_t n_visits = 0;
  for (const auto& x : wanted) n_visits += x.n;
  if (n_visits < stride || wanted.size() > 65000) return nullptr;
  if (lists_) {
    const std::int64_t n_missing = missing(wanted);
    const bool fit = lists_->n_visits <= 2 * n_visits && kMostHeld * n_missing <= n_visits;
    const bool save = lists_->n_visits + kSlower * n_missing < kSlower * n_visits;
    if (again ? fit : save) return lists_;
    if (!again) return nullptr;
  }
  lists_.reset();  // the old ones go before the new ones come
  lists_ = std::make_shared<SlotLists>(wanted, n_labels, stride, n_jobs);
  return lists_;
}

std::int64_t ListCache::missing(const std::vector<SlotLists::Wanted>& wanted) const {
  std::int64_t n = 0;
  auto held = lists_->held.begin();
  for (const auto& x : wanted) {
    held = std::find_if(held, lists_->held.end(), [&](const auto& h) { return !(h < x); });
    if (held == lists_->held.end() || !(*held == x)) n += x.n;
  }
  return n;
}

// table[row] += the values of the slots in whose lists it is.
PROXQN_INLINE void sum_lists(const SlotLists::Eight& e, const float* rows, std::int64_t begin,
                             std::int64_t end, float* table) {
  float8 value[kGroup];
  each_round(
      e, begin, end,
      [&](std::int64_t at) PROXQN_INLINED {
        for (int k = 0; k < kGroup; ++k) value[k] = load_floats(rows + at + k * kLanes);
      },
      [&](int k, std::size_t place)
          PROXQN_INLINED { store_floats(table + place, load_floats(table + place) + value[k]); },
      [](std::int64_t) PROXQN_INLINED {});
}

PROXQN_CLONES void sum_runs_cloned(const SlotLists::Eight& e, std::int64_t first, std::int64_t last,
                                   const float* rows, std::int64_t stride, ListSums& sums) {
  sums.totals.assign(e.n_frequent * kLanes, 0.0);
  sums.floats.assign(e.n_rows * kLanes, 0.0f);
  float* floats = sums.floats.data();
  double* totals = sums.totals.data();
  for (std::int64_t run = first; run < last; ++run) {
    sum_lists(e, rows, run * kListRun, std::min(stride, (run + 1) * kListRun), floats);
    for (std::int64_t i = kFillers * kLanes; i < e.n_frequent * kLanes; i += kLanes) {
      store8(totals + i, load8(totals + i) + load8(floats + i));
      std::memset(floats + i, 0, kLanes * sizeof(float));
    }
  }
}

void sum_runs(const SlotLists::Eight& e, std::int64_t first, std::int64_t last, const float* rows,
              std::int64_t stride, ListSums& sums) {
  sum_runs_cloned(e, first, last, rows, stride, sums);
}

}  // namespace proxqn::products
