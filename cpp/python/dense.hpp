// What DenseFeatures is in Python: rows of numbers (products/dense_block.hpp), kept alive. Its methods are in
// dense.cpp.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>

#include "products/dense_block.hpp"
#include "python/arrays.hpp"

namespace proxqn::python {

class DenseKernel {
 public:
  DenseKernel(Array<const float, 2> values, Array<const std::int32_t> slot_row)
      : floats_(values), slot_row_(slot_row) {
    block_ = {values.data(), nullptr, columns(values), columns(values), slot_row.data()};
    expect_rows(values.shape(0));
  }
  DenseKernel(Array<const double, 2> values, Array<const std::int32_t> slot_row)
      : doubles_(values), slot_row_(slot_row) {
    block_ = {nullptr, values.data(), columns(values), columns(values), slot_row.data()};
    expect_rows(values.shape(0));
  }

  // Of an array with so many slots.
  const products::DenseBlock& block(std::size_t n_slots) const {
    expect(slot_row_.shape(0) == n_slots, "one row a slot expected");
    return block_;
  }
  const products::DenseBlock& block() const { return block_; }
  std::int64_t n_slots() const { return static_cast<std::int64_t>(slot_row_.shape(0)); }

 private:
  template <class A>
  static std::int64_t columns(const A& values) {
    return static_cast<std::int64_t>(values.shape(1));
  }
  void expect_rows(std::size_t n_rows) const {
    const auto* end = slot_row_.data() + slot_row_.shape(0);
    expect(std::all_of(slot_row_.data(), end,
                       [&](std::int32_t row) { return row < static_cast<std::int64_t>(n_rows); }),
           "rows of slots must be rows of values, or -1");
  }
  std::optional<Array<const float, 2>> floats_;
  std::optional<Array<const double, 2>> doubles_;
  Array<const std::int32_t> slot_row_;
  products::DenseBlock block_;
};

}  // namespace proxqn::python
