// The scores of a token under the weights of its features, eight labels to a register; and sequences cut
// into pieces of work.
//
// Compiled without fused multiply-adds (CMakeLists.txt), which would round differently from one processor to
// the next.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "base/simd.hpp"
#include "chain/tagging.hpp"

namespace proxqn::chain {

// Whether the kernels may take the numbers of a token as indices. They ask before the work, as an
// exception cannot leave a function that is compiled for several processors.
PROXQN_INLINE bool fits(const TokenRows& X, std::int64_t token, std::int64_t n_features) {
  const std::int64_t begin = X.start[token], end = X.start[token + 1];
  if (begin < 0 || begin > end || end > X.n_entries) return false;
  bool outside = false;
  for (std::int64_t e = begin; e < end; ++e)
    outside |= X.feature[e] < 0 || X.feature[e] >= n_features;
  return !outside;
}

template <class V>
PROXQN_INLINE V load_labels(const double* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
// Calls body(N, first label) for the labels, N registers V of them at a time.
template <class V, class Body>
PROXQN_INLINE void label_registers(std::int64_t Lp, const Body& body) {
  constexpr int n = kLanes * sizeof(double) / sizeof(V);  // eight labels
  std::int64_t y = 0;
  for (; y + 32 <= Lp; y += 32) body(std::integral_constant<int, 4 * n>(), y);
  const std::int64_t left = (Lp - y) / kLanes;
  if (left == 3) body(std::integral_constant<int, 3 * n>(), y);
  else if (left == 2) body(std::integral_constant<int, 2 * n>(), y);
  else if (left == 1) body(std::integral_constant<int, n>(), y);
}

// x[N registers] = sum over the token's entries, in their order, of value * weights from a label on.
template <class V, int N>
PROXQN_INLINE void add_dense(const FeatureWeights& w, const TokenRows& X, std::int64_t token,
                             std::int64_t label, double* x) {
  constexpr std::int64_t lanes = sizeof(V) / sizeof(double);
  V sum[N] = {};
  for (std::int64_t e = X.start[token]; e < X.start[token + 1]; ++e) {
    const double* row = w.dense + w.row[X.feature[e]] * w.Lp + label;
    const double value = X.value ? X.value[e] : 1.0;
    for (int k = 0; k < N; ++k) sum[k] += value * load_labels<V>(row + k * lanes);
  }
  std::memcpy(x + label, sum, sizeof sum);
}

// x[Lp]: the scores of a token.
template <class V>
PROXQN_INLINE void token_scores(const FeatureWeights& w, const TokenRows& X, std::int64_t token,
                                double* x) {
  if (!w.dense) {
    std::fill(x, x + w.Lp, 0.0);
    for (std::int64_t e = X.start[token]; e < X.start[token + 1]; ++e) {
      const std::int32_t r = w.row[X.feature[e]];
      const double value = X.value ? X.value[e] : 1.0;
      for (std::int64_t j = w.start[r]; j < w.start[r + 1]; ++j)
        x[w.label[j]] += value * w.value[j];
    }
    return;
  }
  label_registers<V>(
      w.Lp, [&](auto n, std::int64_t y) PROXQN_INLINED { add_dense<V, n>(w, X, token, y, x); });
}

[[noreturn]] inline void refuse() {
  throw std::out_of_range(
      "X is damaged: its indptr must rise from 0 to the number of entries, and its indices must be "
      "below the number of columns.");
}

constexpr std::int64_t kTagTokens = 2048;  // about so many are one thread's piece of work

// The sequences [begin, end), the first of which starts with a token.
struct Piece {
  std::int64_t begin, end, token, longest;
};

inline std::vector<Piece> in_pieces(const std::int64_t* lengths, std::int64_t n_sequences,
                                    std::int64_t n_tokens) {
  std::vector<Piece> pieces{{0, 0, 0, 0}};
  std::int64_t token = 0;
  for (std::int64_t i = 0; i < n_sequences; ++i) {
    if (lengths[i] < 1 || lengths[i] > n_tokens - token)
      throw std::invalid_argument("lengths must be 1 or above and sum to the tokens");
    if (token - pieces.back().token >= kTagTokens) pieces.push_back({i, i, token, 0});
    pieces.back().end = i + 1;
    pieces.back().longest = std::max(pieces.back().longest, lengths[i]);
    token += lengths[i];
  }
  if (token != n_tokens) throw std::invalid_argument("lengths must sum to the tokens");
  return pieces;
}

}  // namespace proxqn::chain
