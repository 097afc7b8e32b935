// The coordinates of a product with floats (float_products.hpp) sorted out: by column and by eights of labels,
// and which columns go which way: as bits, cut at blocks of slots, in lists slot by slot, or whole.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "base/aligned_array.hpp"
#include "base/parallel.hpp"
#include "base/simd.hpp"
#include "products/byte_blocks.hpp"
#include "products/features.hpp"
#include "products/slot_lists.hpp"

namespace proxqn::products {

// Some of a column's slots and values (null for ones).
struct Entries {
  const std::int32_t* slots;
  const double* values;
  std::int64_t n;
  Entries part(std::int64_t first, std::int64_t last) const {
    return {slots + first, values ? values + first : nullptr, last - first};
  }
  Entries between(std::int64_t first_slot, std::int64_t last_slot, std::int64_t stride) const {
    return part(find_slot(slots, slots + n, first_slot, stride) - slots,
                find_slot(slots, slots + n, last_slot, stride) - slots);
  }
};

inline Entries entries(const Features& f, std::int64_t c) {
  return {f.slots + f.start[c], f.column_values(c), f.start[c + 1] - f.start[c]};
}

// Columns with many entries are cut at blocks of slots whose rows fit the L2 cache, so that all
// columns pass over a block while it is there.
constexpr std::int64_t kSlotBlock = 2048, kEntriesABlock = 4;

struct SlotBlocks {
  std::int64_t n_blocks = 1;
  std::vector<std::int32_t> index;       // [n_columns] row of `cuts`, or -1 for a column left whole
  std::unique_ptr<std::int32_t[]> cuts;  // [.][n_blocks+1] where a column enters each block
  SlotBlocks(const Features& f, int n_jobs);
};

// Bits of the columns that have been asked for, one a slot.
class BitColumns {
 public:
  const std::uint16_t* get(std::int64_t c, const Entries& x, std::int64_t n_blocks);

 private:
  std::mutex mutex_;
  std::unordered_map<std::int64_t, AlignedArray<std::uint16_t>> columns_;
};

struct FloatPlan;

struct FloatIndex {  // what is made of the data once
  SlotBlocks blocks;
  BitColumns bits;
  ListCache lists;
  ByteBlockCache byte_blocks;
  std::mutex plan_mutex;
  std::shared_ptr<const FloatPlan> plan;  // of the last gradient
  std::atomic<bool> scored = false;       // since the last gradient or sweep
  FloatIndex(const Features& f, int n_jobs) : blocks(f, n_jobs) {}
};

// Coordinates gathered by column and by eights of labels; [.][8] places for a number each.
struct LabelEights {
  struct Dense {
    const std::uint16_t* bits;
    std::int64_t place;
  };
  std::vector<std::vector<Dense>> dense;  // [n_labels up to a multiple of 8]
  struct Column {
    std::int64_t number;
    Entries all;
    const std::int32_t* cuts;  // null for a column left whole
    std::int64_t first, last;  // of its eights
  };
  std::vector<Column> columns;
  std::vector<std::int32_t> label;  // [.] first of the eight
  std::vector<std::int64_t> place;  // [n coordinates]

  // Coordinates ascend, so that those of a column are neighbours.
  LabelEights(const Features& f, FloatIndex& index, const std::int64_t* coordinates, std::int64_t n,
              std::int64_t n_labels, std::int64_t stride, const std::int32_t* rank);
  bool any_dense(std::int64_t eight) const {
    return std::any_of(dense.begin() + eight, dense.begin() + eight + kLanes,
                       [](const auto& items) { return !items.empty(); });
  }

 private:
  template <class IsDense>
  void add_column(const Features& f, FloatIndex& index, std::int64_t c, const std::int32_t* labels,
                  std::int64_t n, std::int64_t* places, const IsDense& is_dense);
};

// The columns that slot_lists.hpp serves, taken out of the others.
struct Listed {
  std::shared_ptr<const SlotLists> lists;  // null: none
  std::vector<std::int64_t> number;        // their eights, ascending
  std::vector<std::size_t> found;          // where each is held

  Listed(FloatIndex& index, LabelEights& eights, std::int64_t n_labels, std::int64_t stride,
         bool again, int n_jobs);
  // Calls body(eight's number, p, first of its eight places in the table of labels 8p on).
  template <class Body>
  void each(int n_jobs, const Body& body) const {
    constexpr std::size_t some = 1024;
    const auto n = static_cast<std::int64_t>((found.size() + some - 1) / some);
    parallel_for(n, n_jobs, [&](std::int64_t part) {
      for (std::size_t i = part * some; i < std::min((part + 1) * some, found.size()); ++i)
        body(number[i], lists->held[found[i]].label / kLanes, lists->row[found[i]] * kLanes);
    });
  }
};

// Calls body<N>(first) for the eights of a column, N <= 4 of them at a time.
template <class Body>
PROXQN_INLINE void by_fours(const LabelEights::Column& c, const Body& body) {
  std::int64_t i = c.first;
  for (; i + 4 <= c.last; i += 4) body(std::integral_constant<int, 4>{}, i);
  if (c.last - i == 3) body(std::integral_constant<int, 3>{}, i);
  if (c.last - i == 2) body(std::integral_constant<int, 2>{}, i);
  if (c.last - i == 1) body(std::integral_constant<int, 1>{}, i);
}

// The eights that are summed block of slots by block: those of cut and of dense columns.
struct BlockRows {
  std::vector<std::int32_t> row;  // [eights] among them, or -1
  std::int32_t n = 0;
  explicit BlockRows(const LabelEights& eights);
};

// Coordinates sorted out. Those of a gradient are kept, since the next one is most often on the same,
// and most of them have weights.
struct FloatPlan {
  std::vector<std::int64_t> coordinates;
  std::vector<std::int32_t> rank;
  std::int64_t stride;
  LabelEights eights;
  Listed listed;
  BlockRows blocks;

  FloatPlan(const Features& f, FloatIndex& index, const std::int64_t* coordinates_, std::int64_t n,
            std::int64_t n_labels, const std::int32_t* rank_, std::int64_t stride_, bool again,
            int n_jobs);
  // Whether it has the others, and not many more.
  bool covers(const std::int64_t* others, std::int64_t n, std::int64_t n_labels,
              const std::int32_t* other_rank, std::int64_t other_stride) const;
  // Calls body(i, its place) for the others, which it covers.
  template <class Body>
  void each_place(const std::int64_t* others, std::int64_t n, const Body& body) const {
    for (std::int64_t i = 0, at = 0; i < n; ++i, ++at) {
      while (coordinates[at] != others[i]) ++at;
      body(i, eights.place[at]);
    }
  }
};

// A plan that covers the coordinates. `again`: whether it will be wanted again.
std::shared_ptr<const FloatPlan> plan(const Features& f, FloatIndex& index,
                                      const std::int64_t* coordinates, std::int64_t n,
                                      std::int64_t n_labels, const std::int32_t* rank,
                                      std::int64_t stride, bool again, int n_jobs);

}  // namespace proxqn::products
