// The columns of a working set turned round: for each slot the list of its features that have weights.
//
// Column by column (float_products.hpp), an entry is a load and a store somewhere in the arrays of scores. Slot
// by slot it is one addition to sums in registers, from a table of the weights: of text's features a
// few hundred make up most entries, and their weights fit the L1 cache. Turning costs a product column
// by column or two. It is done for the first working set and, after a step, for gradients on another
// one; until then lists serve it as they are: weights of the others are zero, columns not held go their
// way.
//
// Lists of kGroup slots are of one length, filled up with rows of the table that mean nothing: the
// processor foresees one end of a loop instead of four. They hold ones only; columns with values
// stay with float_products.hpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/aligned_array.hpp"
#include "base/simd.hpp"
#include "products/features.hpp"

namespace proxqn::products {

constexpr int kGroup = 4;
constexpr std::int64_t kListRun = 2048;  // slots summed in single precision
// Rows that mean nothing: many, as a sum that was just stored cannot be loaded for some cycles.
constexpr int kFillers = 32;

// Parts of the slots have their own sums, whatever the number of threads: this many visits a row pay
// for clearing and adding up one more table.
constexpr std::int64_t kVisitsARow = 64, kMostParts = 16;

struct SlotLists {
  struct Eight {                          // labels 8p to 8p + 7
    std::vector<std::uint32_t> start;     // [n_groups+1] into rounds of kGroup rows
    AlignedArray<std::uint16_t> rows{0};  // [.][kGroup] of the table, first touched by the threads
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
  SlotLists(const std::vector<Wanted>& wanted, std::int64_t n_labels, std::int64_t stride,
            int n_jobs);

 private:
  // Calls body(column, slot) for the entries in groups [begin, end), the last column first.
  template <class Body>
  void each_entry(const Eight& e, std::int64_t begin, std::int64_t end, const Body& body) const;
  // left[slot] = the length of its list, start[g + 1] = the longest of group g.
  void measure(Eight& e, std::int64_t begin, std::int64_t end, std::uint16_t* left) const;
  // Lists are filled from their ends.
  void fill(Eight& e, std::int64_t begin, std::int64_t end, std::uint16_t* left) const;
};

// The lists of the last working set.
class ListCache {
 public:
  // Lists that save time on what is wanted, or null. `again`: whether it will be wanted again, and
  // others may be made.
  std::shared_ptr<const SlotLists> get(const std::vector<SlotLists::Wanted>& wanted,
                                       std::int64_t n_labels, std::int64_t stride, bool again,
                                       int n_jobs);

 private:
  static constexpr std::int64_t kMostHeld = 16;  // of so many visits all but one
  static constexpr std::int64_t kSlower = 5;     // times a visit in lists: one column by column
  std::int64_t missing(const std::vector<SlotLists::Wanted>& wanted) const;  // visits
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
void sum_runs(const SlotLists::Eight& e, std::int64_t first, std::int64_t last, const float* rows,
              std::int64_t stride, ListSums& sums);

}  // namespace proxqn::products
