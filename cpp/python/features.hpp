// What Features is in Python: the arrays of products/features.hpp, kept alive. It stands here for the units that
// take one; its methods are in features.cpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>

#include "products/features.hpp"
#include "python/arrays.hpp"

namespace proxqn::products {
struct FloatIndex;  // products/float_plan.hpp, which the other units need not read
}

namespace proxqn::python {

class FeatureKernel {
 public:
  // start, places, columns and the list of each slot, as in TokenLists
  using Lists = std::tuple<Array<const std::int64_t>, Array<const std::uint16_t>,
                           Array<const std::int32_t>, std::optional<Array<const std::int32_t>>>;

  FeatureKernel(Array<const std::int64_t> start, Array<const std::int32_t> slots,
                Array<const std::int64_t> value_start, Array<const double> values,
                std::optional<Lists> lists);
  ~FeatureKernel();

  products::Features features() const {
    products::TokenLists lists;
    if (lists_) {
      const auto& [start, places, columns, slot_list] = *lists_;
      lists = {start.data(), places.data(), static_cast<std::int64_t>(columns.shape(0)),
               columns.data(), slot_list ? slot_list->data() : nullptr};
    }
    return {static_cast<std::int64_t>(value_start_.shape(0)),
            start_.data(),
            slots_.data(),
            value_start_.data(),
            values_.data(),
            lists};
  }
  void expect_slots(std::size_t n) const {
    if (!lists_) return;
    const auto& slot_list = std::get<3>(*lists_);
    expect((slot_list ? slot_list->shape(0) : std::get<0>(*lists_).shape(0) - 1) == n,
           "one list a slot expected");
  }
  products::FloatIndex& index(
      int n_jobs) const;  // for products with floats, made by the first of them

 private:
  Array<const std::int64_t> start_;
  Array<const std::int32_t> slots_;
  Array<const std::int64_t> value_start_;
  Array<const double> values_;
  std::optional<Lists> lists_;
  mutable std::once_flag indexed_;
  mutable std::unique_ptr<products::FloatIndex> index_;
};

}  // namespace proxqn::python
