// Sums of residual rows over the entries of a column, for all the labels or for some.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/aligned_array.hpp"
#include "base/simd.hpp"

namespace proxqn::products {

// Sums [n_parts][columns][Lp] that were made beforehand, each part over some of the slots.
template <class S>
class PartSums {
 public:
  PartSums(const std::vector<std::int32_t>& columns, std::int64_t n_parts, std::int64_t Lp)
      : columns_(columns), n_parts_(n_parts), Lp_(Lp), sums_(n_parts * size()) {}
  S* part(std::int64_t i) { return sums_.data() + i * size(); }  // to be filled by the threads

  // Goes through the columns in their order.
  class Cursor {
   public:
    Cursor(const PartSums& x, std::int64_t first)
        : x_(x), at_(std::lower_bound(x.columns_.begin(), x.columns_.end(), first)) {}
    // Whether column c is here; its first n sums then, n a multiple of eight.
    PROXQN_INLINE bool take(std::int64_t c, std::int64_t n, double* sums) {
      while (at_ != x_.columns_.end() && *at_ < c) ++at_;
      if (at_ == x_.columns_.end() || *at_ != c) return false;
      const S* from = x_.sums_.data() + (at_ - x_.columns_.begin()) * x_.Lp_;
      std::fill(sums, sums + n, 0.0);
      for (std::int64_t part = 0; part < x_.n_parts_; ++part, from += x_.size())
        for (std::int64_t y = 0; y < n; y += kLanes)
          store8(sums + y, load8(sums + y) + load8(from + y));
      return true;
    }

   private:
    const PartSums& x_;
    std::vector<std::int32_t>::const_iterator at_;
  };

 private:
  std::int64_t size() const { return static_cast<std::int64_t>(columns_.size()) * Lp_; }
  const std::vector<std::int32_t>& columns_;  // ascending
  std::int64_t n_parts_, Lp_;
  AlignedArray<S> sums_;
};

// An array of residuals: where a slot, an eight of labels and a label within it are.
template <class S>
struct SlotRows {
  const S* first;
  std::int64_t slot_step, eight_step, lane_step;
  std::int64_t first_slot = 0;
  // Whether the labels of an eight lie side by side.
  bool has_eights() const { return lane_step == 1; }
};

// [.][Lp], from first_slot on
template <class S>
SlotRows<S> slot_major(const S* rows, std::int64_t Lp, std::int64_t first_slot = 0) {
  return {rows, Lp, kLanes, 1, first_slot};
}
// [L][stride]
inline SlotRows<double> label_major(const double* array, std::int64_t stride) {
  return {array, 1, kLanes * stride, stride};
}
// [Lp/8][stride][8], as in float_products.hpp
inline SlotRows<float> eight_major(const float* array, std::int64_t stride) {
  return {array, kLanes, kLanes * stride, 1};
}

template <class V>
PROXQN_INLINE void add_to(double* sums, V v) {
  store8(sums, load8(sums) + widen(v));
}
template <class V>
PROXQN_INLINE void add_to(float* sums, V v) {
  V old;
  std::memcpy(&old, sums, sizeof old);
  v += old;
  std::memcpy(sums, &v, sizeof v);
}

constexpr std::int64_t kRun = 1024;
constexpr std::int32_t kAllSlots = std::numeric_limits<std::int32_t>::max();

template <class S>
using Eight = std::conditional_t<std::is_same_v<S, float>, float8, double8>;

// acc[...] += the K registers V of value * residual row, from label y on, over the entries with slots
// below `end`. Returns how many they are. Counting them first would be a second loop whose length no
// processor foresees. Registers of more than eight need rows with all labels side by side.
template <int K, class V, class S, class Sum>
PROXQN_INLINE std::int64_t column_sums(const std::int32_t* slots, const double* v, std::int64_t n,
                                       std::int32_t end, const SlotRows<S>& rows, std::int64_t y,
                                       Sum* acc) {
  constexpr std::int64_t lanes = sizeof(V) / sizeof(S);
  const S* first_row = rows.first + y / kLanes * rows.eight_step;
  const std::int64_t step = lanes / kLanes * rows.eight_step;
  auto below = [&](std::int32_t slot) PROXQN_INLINED { return end == kAllSlots || slot < end; };
  std::int64_t e = 0;
  do {
    const std::int64_t last = std::min(n, e + kRun);  // floats are summed in runs
    V a[K] = {};
    auto add = [&](const auto& times_value) PROXQN_INLINED {
      for (; e < last && below(slots[e]); ++e) {
        const S* row = first_row + (slots[e] - rows.first_slot) * rows.slot_step;
        for (int k = 0; k < K; ++k) {
          V r;
          std::memcpy(&r, row + k * step, sizeof r);
          a[k] += times_value(r);
        }
      }
    };
    if (v) add([&](V r) PROXQN_INLINED { return static_cast<S>(v[e]) * r; });
    else add([](V r) PROXQN_INLINED { return r; });
    for (int k = 0; k < K; ++k) add_to(acc + lanes * k, a[k]);
  } while (e < n && below(slots[e]));
  return e;
}

// The same for all labels, a multiple of V's lanes.
template <class V, class S, class Sum>
PROXQN_INLINE std::int64_t add_rows(const std::int32_t* slots, const double* v, std::int64_t n,
                                    std::int32_t end, const SlotRows<S>& rows, std::int64_t Lp,
                                    Sum* acc) {
  constexpr std::int64_t lanes = sizeof(V) / sizeof(S);
  std::int64_t found = 0;
  auto add = [&](auto k, std::int64_t y) PROXQN_INLINED {
    found = column_sums<decltype(k)::value, V>(slots, v, n, end, rows, y, acc + y);
  };
  std::int64_t y = 0;
  for (; y + 4 * lanes <= Lp; y += 4 * lanes) add(std::integral_constant<int, 4>(), y);
  const std::int64_t left = (Lp - y) / lanes;
  if (left == 3) add(std::integral_constant<int, 3>(), y);
  else if (left == 2) add(std::integral_constant<int, 2>(), y);
  else if (left == 1) add(std::integral_constant<int, 1>(), y);
  return found;
}

// The sum of one label; place is where the label stands.
template <class S>
PROXQN_INLINE double label_sum(const std::int32_t* slots, const double* v, std::int64_t n,
                               const SlotRows<S>& rows, std::int64_t place) {
  const S* column = rows.first + place / kLanes * rows.eight_step + place % kLanes * rows.lane_step;
  double sum = 0.0;
  for (std::int64_t e = 0; e < n; ++e) sum += (v ? v[e] : 1.0) * column[slots[e] * rows.slot_step];
  return sum;
}

}  // namespace proxqn::products
