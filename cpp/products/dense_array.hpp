// Eights of labels of an array of scores or residuals, a panel of slots at a time (dense_block.hpp).
#pragma once
#include <cstdint>

#include "base/simd.hpp"
#include "products/dense_block.hpp"

namespace proxqn::products {

template <class T>   // double or const double
struct LabelMajor {  // [n_labels][stride]
  using S = double;
  T* first;
  std::int64_t stride, n_labels;
  T* label(std::int64_t y) const { return first + y * stride; }
};
template <class T>   // float or const float
struct EightMajor {  // [Lp/8][stride][8]
  using S = float;
  T* first;
  std::int64_t stride, n_labels;
  T* eight(std::int64_t y) const { return first + y * stride; }  // that begins with label y
};

template <class S>
using TurnedPanel = S[kLanes][kPanelSlots];  // labels y to y + 8, label-major

// n is a multiple of 8; what is behind it becomes zero.
template <class T>
PROXQN_INLINE void take(const LabelMajor<T>& array, std::int64_t y, std::int64_t slot,
                        std::int64_t n, TurnedPanel<double>& out) {
  for (int k = 0; k < kLanes; ++k) {
    const bool is_there = y + k < array.n_labels;
    if (is_there) std::memcpy(out[k], array.label(y + k) + slot, n * sizeof(double));
    std::fill(out[k] + (is_there ? n : 0), out[k] + kPanelSlots, 0.0);
  }
}
template <class T>
PROXQN_INLINE void take(const EightMajor<T>& array, std::int64_t y, std::int64_t slot,
                        std::int64_t n, TurnedPanel<float>& out) {
  const float* rows = array.eight(y) + slot * kLanes;
  for (std::int64_t s = 0; s < kPanelSlots; s += kLanes) {
    float8 r[kLanes] = {};
    if (s < n)
      for (int k = 0; k < kLanes; ++k) r[k] = load_floats(rows + (s + k) * kLanes);
    transpose8(r);
    for (int k = 0; k < kLanes; ++k) store_floats(out[k] + s, r[k]);
  }
}

PROXQN_INLINE void add(const LabelMajor<double>& array, std::int64_t y, std::int64_t slot,
                       std::int64_t n, const TurnedPanel<double>& sums) {
  for (int k = 0; k < kLanes && y + k < array.n_labels; ++k) {
    double* to = array.label(y + k) + slot;
    for (std::int64_t s = 0; s < n; s += kLanes) store8(to + s, load8(to + s) + load8(sums[k] + s));
  }
}
PROXQN_INLINE void add(const EightMajor<float>& array, std::int64_t y, std::int64_t slot,
                       std::int64_t n, const TurnedPanel<float>& sums) {
  float* rows = array.eight(y) + slot * kLanes;
  for (std::int64_t s = 0; s < n; s += kLanes) {
    float8 r[kLanes];
    for (int k = 0; k < kLanes; ++k) r[k] = load_floats(sums[k] + s);
    transpose8(r);
    for (int k = 0; k < kLanes; ++k) {
      float* to = rows + (s + k) * kLanes;
      store_floats(to, load_floats(to) + r[k]);
    }
  }
}

// The same slots slot by slot.
template <class Array>
PROXQN_INLINE void take_slots(const Array& array, std::int64_t y, std::int64_t slot, std::int64_t n,
                              typename Array::S* out) {  // [n][8]
  using S = typename Array::S;
  if constexpr (std::is_same_v<S, float>) {
    std::memcpy(out, array.eight(y) + slot * kLanes, n * kLanes * sizeof(S));
  } else {
    for (int k = 0; k < kLanes; ++k) {
      const bool is_there = y + k < array.n_labels;
      const S* from = is_there ? array.label(y + k) + slot : nullptr;
      for (std::int64_t s = 0; s < n; ++s) out[s * kLanes + k] = is_there ? from[s] : S(0);
    }
  }
}

}  // namespace proxqn::products
