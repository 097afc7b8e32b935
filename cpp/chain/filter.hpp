// What is known of a label from the tokens up to its own.
#pragma once
#include <algorithm>
#include <cstdint>

#include "base/exponential.hpp"
#include "base/simd.hpp"
#include "chain/layout.hpp"
#include "chain/position.hpp"
#include "chain/transitions.hpp"

namespace proxqn::chain {

// The filter A_t(y) = P(y_t = y | x_1..x_t), [T][Lp], one sequence at a time; reached[Lp] is for its use.
template <class S>
PROXQN_INLINE void filter(const ChainOf<S>& c, const Transitions<double>& m, std::int64_t slot,
                          std::int64_t step, std::int64_t T, double* reached, double* A) {
  const std::int64_t L = c.n_labels, Lp = m.padded_labels;
  std::fill(reached, reached + L, 1.0);
  std::fill(reached + L, reached + Lp, 0.0);
  for (std::int64_t t = 0; t < T; ++t, slot += step) {
    double* a = A + t * Lp;
    if constexpr (ChainOf<S>::kRows)
      for (std::int64_t y = 0; y < Lp; y += kLanes) store8(a + y, load8(c.scores + c.at(y, slot)));
    else
      for (std::int64_t y = 0; y < L; ++y) a[y] = c.scores[c.at(y, slot)];
    std::fill(a + L, a + Lp, a[0]);
    double8 high = load8(a), total{};
    for (std::int64_t y = kLanes; y < Lp; y += kLanes) high = max(high, load8(a + y));
    const double highest = largest(high);
    if (t > 0) product(a - Lp, m.forward.get(), m.listed_forward, L, Lp, reached);
    for (std::int64_t y = 0; y < Lp; y += kLanes) {
      const double8 v = exp8(load8(a + y) - highest) * load8(reached + y);
      total += v;
      store8(a + y, v);
    }
    const double all = sum(total);
    for (std::int64_t y = 0; y < Lp; y += kLanes) store8(a + y, load8(a + y) / all);
  }
}

}  // namespace proxqn::chain
