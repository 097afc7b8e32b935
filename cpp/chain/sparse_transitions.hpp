// Products with transitions of which most weights are zero.
//
// Where Lambda(i, j) = 0, M(i, j) = exp(Lambda(i, j) - Lmax) is m0 = exp(-Lmax). So with b(j) = m0,
//     sum_i a(i) M(i, j) = b(j) sum_i a(i) + sum_i a(i) (M(i, j) - b(j))
// needs only the entries that have a weight. A negative weight takes away again, and the closer
// exp(Lambda) is to 0, the less is left but rounding errors: these grow by exp(-min_i Lambda(i, j)).
// So where a label has a weight below kLeastListed, b(j) = 0 instead, and all its entries are listed.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/simd.hpp"

namespace proxqn::chain {

constexpr double kLeastListed = -2.0;

template <class S>
struct ListedProduct {
  struct Entry {
    std::int32_t from, to;
    S value;  // M - b
  };
  bool pays = false;
  std::vector<S> base;  // [Lp] b, 0 where there is no label
  std::vector<Entry> entries;

  // weight(i, j) is Lambda from label i to j, or transposed.
  template <class Weight>
  ListedProduct(const Weight& weight, double largest, std::int64_t L, std::int64_t Lp) {
    std::vector<std::int64_t> count(L, 0);
    std::int64_t n = 0;
    for (std::int64_t j = 0; j < L; ++j) {
      bool low = false;
      for (std::int64_t i = 0; i < L; ++i) {
        count[j] += weight(i, j) != 0.0;
        low |= !(weight(i, j) >= kLeastListed);
      }
      if (low) count[j] = L;
      n += count[j];
    }
    // An entry takes as long as five multiply-adds of the product with all of M, and eight where a lone
    // sequence has its labels as lanes there; sums and the turning of rows as long as ten a label.
    pays = 8 * n + 10 * L < L * L;
    if (!pays) return;
    base.assign(Lp, S{});
    std::vector<std::pair<double, Entry>> placed;
    placed.reserve(n);
    for (std::int64_t j = 0; j < L; ++j) {
      const bool all = count[j] == L;
      const double b = all ? 0.0 : std::exp(-largest);
      base[j] = static_cast<S>(b);
      double k = 0.5;
      for (std::int64_t i = 0; i < L; ++i) {
        const double w = weight(i, j);
        if (!all && w == 0.0) continue;
        const double value = all ? std::exp(w - largest) : b * std::expm1(w);
        placed.push_back(
            {k++ / static_cast<double>(count[j]),
             {static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), static_cast<S>(value)}});
      }
    }
    // Entries of a label far from each other: each waits for the sum that the one before has stored.
    std::stable_sort(placed.begin(), placed.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    entries.reserve(n);
    for (const auto& p : placed) entries.push_back(p.second);
  }
};

// out[j] = sum_i in[i] M(i, j) for j < Lp. A lane each for some sequences, or one number.
template <class V, class S>
PROXQN_INLINE void listed_product(const V* in, const ListedProduct<S>& m, std::int64_t L, V* out) {
  V part[4] = {};
  std::int64_t i = 0;
  for (; i + 4 <= L; i += 4)
    for (int k = 0; k < 4; ++k) part[k] += in[i + k];
  for (; i < L; ++i) part[0] += in[i];
  const V total = (part[0] + part[1]) + (part[2] + part[3]);
  const std::int64_t n = static_cast<std::int64_t>(m.base.size());
  for (std::int64_t j = 0; j < n; ++j) out[j] = total * m.base[j];
  const auto* end = m.entries.data() + m.entries.size();
  for (const auto* e = m.entries.data(); e < end; ++e) out[e->to] += in[e->from] * e->value;
}

}  // namespace proxqn::chain
