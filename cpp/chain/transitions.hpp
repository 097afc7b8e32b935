// The transitions as the recursions want them.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/aligned_array.hpp"
#include "base/simd.hpp"
#include "chain/sparse_transitions.hpp"

namespace proxqn::chain {

// exp(Lambda - Lmax), plain and transposed, rows padded with zeros: [L][Lp]; and lists of its entries.
template <class S>
struct Transitions {
  std::int64_t padded_labels;
  double largest, range;
  ScratchOf<S> forward, backward;
  ListedProduct<S> listed_forward, listed_backward;
  Transitions(const double* lambda, std::int64_t L)
      : padded_labels(whole_eights(L)), largest(*std::max_element(lambda, lambda + L * L)),
        range(largest - *std::min_element(lambda, lambda + L * L)),
        listed_forward([=](auto i, auto j) { return lambda[i * L + j]; }, largest, L,
                       padded_labels),
        listed_backward([=](auto i, auto j) { return lambda[j * L + i]; }, largest, L,
                        padded_labels) {
    forward = scratch<S>(L * padded_labels);
    backward = scratch<S>(L * padded_labels);
    for (std::int64_t i = 0; i < L; ++i)
      for (std::int64_t j = 0; j < L; ++j) {
        const S m = static_cast<S>(std::exp(lambda[i * L + j] - largest));
        forward[i * padded_labels + j] = m;
        backward[j * padded_labels + i] = m;
      }
  }
};

}  // namespace proxqn::chain
