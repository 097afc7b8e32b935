// A small generator whose numbers are the same everywhere.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

namespace proxqn::base {

struct SplitMix64 {
  std::uint64_t state;
  std::uint64_t operator()() {
    std::uint64_t z = (state += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }
};

// At most 2^32 of them: a product and a shift cost less than a division.
template <class I>
void shuffle(std::vector<I>& order, SplitMix64& random) {
  for (std::uint64_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[(random() >> 32) * i >> 32]);
}

}  // namespace proxqn::base

namespace proxqn {
using namespace base;  // every room speaks it
}
