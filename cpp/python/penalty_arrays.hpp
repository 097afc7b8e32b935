// A penalty from Python's arrays.
#pragma once
#include <cstdint>

#include "inner/penalty.hpp"
#include "python/arrays.hpp"

namespace proxqn::python {

// Of n coordinates: each array has a number for each of them, or one for all.
[[maybe_unused]] static inner::LocalPenalty local_penalty(const Array<const double>& lam,
                                                          const Array<const double>& l2,
                                                          const Array<const double>& lower,
                                                          const Array<const double>& upper,
                                                          std::int64_t n) {
  auto numbers = [n](const Array<const double>& a) -> inner::LocalPenalty::Numbers {
    const auto size = static_cast<std::int64_t>(a.shape(0));
    expect(size == 1 || size == n,
           "lam, l2, lower and upper must have one number a coordinate, or one for all");
    return {a.data(), size == 1 ? 0 : 1};
  };
  return {numbers(lam), numbers(l2), numbers(lower), numbers(upper)};
}

}  // namespace proxqn::python
