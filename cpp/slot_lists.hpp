// The columns of a working set turned round: for each slot the list of its features that have weights.
//
// Column by column (rows.hpp), an entry is a load and a store somewhere in the arrays of scores. Slot
// by slot it is one addition to sums in registers, from a table of the weights: of text's features a
// few hundred make up most entries, and their weights fit the L1 cache. Turning costs a product column
// by column or two. It is done for the first working set and, after a step, for gradients on another
// one; until then lists serve it as they are: weights of the others are zero, columns not held go their
// way.
//
// Lists of kGroup slots are of one length, filled up with rows of the table that mean nothing: the
// processor foresees one end of a loop instead of four. They hold ones only; columns with values
// stay with rows.hpp.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

#include "features.hpp"
#include "lines.hpp"
#include "parallel.hpp"
#include "simd.hpp"

namespace proxqn {

constexpr int kGroup = 4;
constexpr std::int64_t kListRun = 2048;  // slots summed in single precision
// Rows that mean nothing: many, as a sum that was just stored cannot be loaded for some cycles.
constexpr int kFillers = 32;

// Parts of the slots have their own sums, whatever the number of threads: this many visits a row pay
// for clearing and adding up one more table.
constexpr std::int64_t kVisitsARow = 64, kMostParts = 16;

struct SlotLists {
  struct Eight {  // labels 8p to 8p + 7
    std::vector<std::uint32_t> start;  // [n_groups+1] into rounds of kGroup rows
    Lines<std::uint16_t> rows{0};      // [.][kGroup] of the table, first touched by the threads
    std::int64_t n_rows = kFillers;
    std::int64_t n_frequent = kFillers;  // of them, the first: visited more often than kListRun
    std::vector<std::size_t> columns;    // held here
  };
  struct Wanted {
    std::int64_t column, label;  // the first of eight labels
    const std::int32_t* slots;
    std::int64_t n;
    bool operator==(const Wanted& o) const { return column == o.column && label == o.label; }
    bool operator<(const Wanted& o) const {
      return column != o.column ? column < o.column : label < o.label;
    }
  };
  std::vector<Wanted> held;       // ascending
  std::vector<std::int32_t> row;  // [held] in the table of its eight
  std::vector<Eight> eights;
  std::int64_t n_visits = 0, n_parts = 1;

  // Frequent columns first: their rows share cache lines.
  SlotLists(const std::vector<Wanted>& wanted, std::int64_t n_labels, std::int64_t stride, int n_jobs)
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
    Lines<std::uint16_t> n_left(n_eights * stride);  // of each list, not yet filled in
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
      e.rows = Lines<std::uint16_t>(std::int64_t{e.start.back()} * kGroup);
    }
    each_part([&](Eight& e, std::int64_t begin, std::int64_t end, std::uint16_t* left) {
      fill(e, begin, end, left);
    });
  }

 private:
  // Calls body(column, slot) for the entries in groups [begin, end), the last column first.
  template <class Body>
  void each_entry(const Eight& e, std::int64_t begin, std::int64_t end, const Body& body) const {
    for (auto i = e.columns.rbegin(); i != e.columns.rend(); ++i) {
      const Wanted& x = held[*i];
      const std::int64_t stride = kGroup * (static_cast<std::int64_t>(e.start.size()) - 1);
      const std::int32_t* slot = find_slot(x.slots, x.slots + x.n, begin * kGroup, stride);
      const std::int32_t* stop = find_slot(x.slots, x.slots + x.n, end * kGroup, stride);
      for (; slot < stop; ++slot) body(*i, *slot);
    }
  }
  // left[slot] = the length of its list, start[g + 1] = the longest of group g.
  void measure(Eight& e, std::int64_t begin, std::int64_t end, std::uint16_t* left) const {
    std::fill(left + begin * kGroup, left + end * kGroup, std::uint16_t{0});
    each_entry(e, begin, end, [&](std::size_t, std::int32_t slot) { ++left[slot]; });
    for (std::int64_t g = begin; g < end; ++g)
      e.start[g + 1] = *std::max_element(left + g * kGroup, left + (g + 1) * kGroup);
  }
  // Lists are filled from their ends.
  void fill(Eight& e, std::int64_t begin, std::int64_t end, std::uint16_t* left) const {
    const std::int64_t stop = std::int64_t{e.start[end]} * kGroup;
    for (std::int64_t i = std::int64_t{e.start[begin]} * kGroup; i < stop; ++i)
      e.rows[i] = static_cast<std::uint16_t>(i % kFillers);
    each_entry(e, begin, end, [&](std::size_t column, std::int32_t slot) {
      const std::int64_t round = e.start[slot / kGroup] + --left[slot];
      e.rows[round * kGroup + slot % kGroup] = static_cast<std::uint16_t>(row[column]);
    });
  }
};

// The lists of the last working set.
class ListCache {
 public:
  // Lists that save time on what is wanted, or null. `again`: whether it will be wanted again, and
  // others may be made.
  std::shared_ptr<const SlotLists> get(const std::vector<SlotLists::Wanted>& wanted,
                                       std::int64_t n_labels, std::int64_t stride, bool again,
                                       int n_jobs) {
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

 private:
  static constexpr std::int64_t kMostHeld = 16;  // of so many visits all but one
  static constexpr std::int64_t kSlower = 5;     // times a visit in lists: one column by column
  std::int64_t missing(const std::vector<SlotLists::Wanted>& wanted) const {  // visits
    std::int64_t n = 0;
    auto held = lists_->held.begin();
    for (const auto& x : wanted) {
      held = std::find_if(held, lists_->held.end(), [&](const auto& h) { return !(h < x); });
      if (held == lists_->held.end() || !(*held == x)) n += x.n;
    }
    return n;
  }
  std::mutex mutex_;
  std::shared_ptr<const SlotLists> lists_;
};

// For each group of slots [begin, end): before(its first row's place), round(k, place of a table row
// in the list of its k-th slot) for all of them, after(as before).
template <class Before, class Round, class After>
PROXQN_INLINE void each_round(const SlotLists::Eight& e, std::int64_t begin, std::int64_t end,
                              const Before& before, const Round& round, const After& after) {
  for (std::int64_t g = begin / kGroup; g < end / kGroup; ++g) {
    before(g * kGroup * kLanes);
    const std::uint16_t* last = e.rows.data() + std::int64_t{e.start[g + 1]} * kGroup;
    for (const auto* r = e.rows.data() + std::int64_t{e.start[g]} * kGroup; r < last; r += kGroup)
      for (int k = 0; k < kGroup; ++k) round(k, std::size_t{r[k]} * kLanes);
    after(g * kGroup * kLanes);
  }
}

// rows[slot] (+)= the weights of its list, for slots [begin, end) of an eight of labels.
template <bool kStream>
PROXQN_INLINE void add_lists(const SlotLists::Eight& e, const float* table, std::int64_t begin,
                             std::int64_t end, bool fresh, float* rows) {
  float8 sum[kGroup];
  each_round(
      e, begin, end,
      [&](std::int64_t at) PROXQN_INLINED {
        for (int k = 0; k < kGroup; ++k)
          sum[k] = fresh ? float8{} : load_floats(rows + at + k * kLanes);
      },
      [&](int k, std::size_t place) PROXQN_INLINED { sum[k] += load_floats(table + place); },
      [&](std::int64_t at) PROXQN_INLINED {
        for (int k = 0; k < kGroup; ++k)
          if constexpr (kStream) stream_floats(rows + at + k * kLanes, sum[k]);
          else store_floats(rows + at + k * kLanes, sum[k]);
      });
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
      [&](int k, std::size_t place) PROXQN_INLINED {
        store_floats(table + place, load_floats(table + place) + value[k]);
      },
      [](std::int64_t) PROXQN_INLINED {});
}

// Sums [.][8] of every row over a part of the slots. Those of the frequent rows go to doubles after
// every run; the others have too few terms to need it.
struct ListSums {
  std::vector<double> totals;  // of the frequent rows
  std::vector<float> floats;   // of all rows
  PROXQN_INLINE double8 eight(std::size_t place) const {
    return place < totals.size() ? load8(totals.data() + place) : load8(floats.data() + place);
  }
};

// Over runs [first, last).
PROXQN_CLONES void sum_runs(const SlotLists::Eight& e, std::int64_t first, std::int64_t last,
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

}  // namespace proxqn
