// What the bindings share: array types, checks, and vectors handed over to NumPy.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/aligned_array.hpp"

namespace nb = nanobind;

namespace proxqn::python {

template <class T, int N = 1>
using Array = nb::ndarray<T, nb::numpy, nb::ndim<N>, nb::c_contig, nb::device::cpu>;

// A capsule that cannot be made throws, and does not take what it was to own.
template <class T>
static Array<T> to_numpy(std::vector<T>&& values) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  owned->reserve(1);  // data() must not be null
  nb::capsule owner(owned.get(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  auto& kept = *owned.release();
  return Array<T>(kept.data(), {kept.size()}, owner);
}

template <class T>
static Array<T> to_numpy(AlignedArray<T>&& values, std::size_t size) {
  nb::capsule owner(values.data(), [](void* p) noexcept { std::free(p); });
  return Array<T>(values.release(), {size}, owner);
}

[[maybe_unused]] static void expect(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

}  // namespace proxqn::python
