#include "chain/tagging.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

#include "base/parallel.hpp"
#include "chain/token_scores.hpp"

namespace proxqn::chain {

AlignedArray<double> FeatureWeights::in_dense_rows() const {
  constexpr std::int64_t few_numbers = std::int64_t{1} << 21;  // 16 MB
  if (n_rows * Lp > std::max(few_numbers, 8 * start[n_rows])) return AlignedArray<double>(0);
  auto rows = AlignedArray<double>::zeros(n_rows * Lp);
  for (std::int64_t r = 0; r < n_rows; ++r)
    for (std::int64_t j = start[r]; j < start[r + 1]; ++j) rows[r * Lp + label[j]] = value[j];
  return rows;
}

PaddedTransitions::PaddedTransitions(const double* lambda, std::int64_t n_labels)
    : L(n_labels), Lp(whole_eights(n_labels)), from(AlignedArray<double>::zeros(L * Lp)),
      into(L * Lp) {
  std::fill(into.data(), into.data() + L * Lp, -std::numeric_limits<double>::infinity());
  for (std::int64_t i = 0; i < L; ++i)
    for (std::int64_t j = 0; j < L; ++j) {
      from[i * Lp + j] = lambda[i * L + j];
      into[j * Lp + i] = lambda[i * L + j];
    }
}

// next[j] = x[j] + max_i (best[i] + Lambda(i, j)) for the labels j in N registers V.
template <class V, int N>
PROXQN_INLINE void best_step(const double* best, const double* lambda, std::int64_t L,
                             std::int64_t Lp, const double* x, double* next) {
  constexpr std::int64_t lanes = sizeof(V) / sizeof(double);
  V top[N];
  for (int k = 0; k < N; ++k) top[k] = best[0] + load_labels<V>(lambda + k * lanes);
  for (std::int64_t i = 1; i < L; ++i)
    for (int k = 0; k < N; ++k)
      top[k] = max(best[i] + load_labels<V>(lambda + i * Lp + k * lanes), top[k]);
  for (int k = 0; k < N; ++k) top[k] += load_labels<V>(x + k * lanes);
  std::memcpy(next, top, sizeof top);
}

// The first of the labels with the largest best + into.
template <class V>
PROXQN_INLINE std::int32_t first_largest(const double* best, const double* into, std::int64_t Lp) {
  constexpr int lanes = sizeof(V) / sizeof(double);
  auto sum = [&](std::int64_t j)
                 PROXQN_INLINED { return load_labels<V>(best + j) + load_labels<V>(into + j); };
  V top = sum(0);
  decltype(top > top) at{};
  for (std::int64_t j = lanes; j < Lp; j += lanes) {
    const V candidate = sum(j);
    at = candidate > top ? decltype(at){} + j : at;
    top = max(candidate, top);
  }
  int lane = 0;
  for (int k = 1; k < lanes; ++k)
    if (top[k] > top[lane] || (top[k] == top[lane] && at[k] + k < at[lane] + lane)) lane = k;
  return static_cast<std::int32_t>(at[lane] + lane);
}

// The sequences [begin, end), the first of which starts with the given token. work: [longest + 1][Lp];
// nothing: [Lp] zeros, and -infinity past the last label. False if X does not fit the weights.
template <class V>
PROXQN_INLINE bool tag_some(const FeatureWeights& w, const PaddedTransitions& m,
                            const EndScores& ends, const TokenRows& X, const std::int64_t* lengths,
                            std::int64_t begin, std::int64_t end, std::int64_t token, double* work,
                            const double* nothing, std::int32_t* path) {
  const std::int64_t L = m.L, Lp = m.Lp;
  double* best = work + Lp;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t T = lengths[i];
    for (std::int64_t t = 0; t < T; ++t)
      if (!fits(X, token + t, w.n_features)) return false;
    for (std::int64_t t = 0; t < T; ++t) {
      double* now = best + t * Lp;
      double* x = t == 0 ? now : work;
      token_scores<V>(w, X, token + t, x);
      if (t == 0)
        for (std::int64_t y = 0; y < L; ++y) x[y] += ends.first[y];
      if (t == T - 1)
        for (std::int64_t y = 0; y < L; ++y) x[y] += ends.last[y];
      if (t == 0) continue;
      label_registers<V>(Lp, [&](auto n, std::int64_t y) PROXQN_INLINED {
        best_step<V, n>(now - Lp, m.from.data() + y, L, Lp, x + y, now + y);
      });
    }
    std::int32_t y = first_largest<V>(best + (T - 1) * Lp, nothing, Lp);
    path[token + T - 1] = y;
    for (std::int64_t t = T - 2; t >= 0; --t)
      path[token + t] = y = first_largest<V>(best + t * Lp, m.into.data() + y * Lp, Lp);
    token += T;
  }
  return true;
}
PROXQN_CLONES bool tag_sequences(const FeatureWeights& w, const PaddedTransitions& m,
                                 const EndScores& ends, const TokenRows& X,
                                 const std::int64_t* lengths, std::int64_t begin, std::int64_t end,
                                 std::int64_t token, double* work, const double* nothing,
                                 std::int32_t* path) {
  return with_registers([&](auto v) PROXQN_INLINED {
    return tag_some<decltype(v)>(w, m, ends, X, lengths, begin, end, token, work, nothing, path);
  });
}

void tag(const FeatureWeights& w, const PaddedTransitions& m, const EndScores& ends,
         const TokenRows& X, const std::int64_t* lengths, std::int64_t n_sequences, int n_jobs,
         std::int32_t* path) {
  const std::vector<Piece> pieces = in_pieces(lengths, n_sequences, X.n_tokens);
  auto nothing = AlignedArray<double>::zeros(m.Lp);
  std::fill(nothing.data() + m.L, nothing.data() + m.Lp, -std::numeric_limits<double>::infinity());
  parallel_for(static_cast<std::int64_t>(pieces.size()), n_jobs, [&](std::int64_t i) {
    const Piece& p = pieces[i];
    auto work = AlignedArray<double>::zeros((p.longest + 1) * m.Lp);
    if (!tag_sequences(w, m, ends, X, lengths, p.begin, p.end, p.token, work.data(), nothing.data(),
                       path))
      refuse();
  });
}

// Ask for a token's entries: eight sequences side by side are too many streams to be foreseen.
PROXQN_INLINE void fetch(const TokenRows& X, std::int64_t token) {
  const std::int64_t begin = X.start[token],
                     n = std::min<std::int64_t>(X.start[token + 1] - begin, 32);
  for (std::int64_t e = 0; e < n; e += 8) __builtin_prefetch(X.value + begin + e);
  for (std::int64_t e = 0; e < n; e += 16) __builtin_prefetch(X.feature + begin + e);
}
constexpr std::int64_t kSlotsAhead = 16;

// Between rows of labels, one a token, and the layout of position.hpp, [L][stride], by the token of each
// slot, -1 for none: slot by slot, so that whole cache lines are written, or read.

PROXQN_CLONES bool scores_of_slots(const FeatureWeights& w, const TokenRows& X,
                                   const std::int64_t* token, std::int64_t begin, std::int64_t end,
                                   std::int64_t stride, double* x, double* out) {
  return with_registers([&](auto v) PROXQN_INLINED {
    for (std::int64_t slot = begin; slot < end; ++slot) {
      if (slot + kSlotsAhead < end && token[slot + kSlotsAhead] >= 0)
        fetch(X, token[slot + kSlotsAhead]);
      if (token[slot] < 0) continue;
      if (!fits(X, token[slot], w.n_features)) return false;
      token_scores<decltype(v)>(w, X, token[slot], x);
      for (std::int64_t y = 0; y < w.L; ++y) out[y * stride + slot] = x[y];
    }
    return true;
  });
}

void slot_scores(const FeatureWeights& w, const TokenRows& X, const std::int64_t* token,
                 std::int64_t stride, int n_jobs, double* out) {
  for (std::int64_t slot = 0; slot < stride; ++slot)
    if (token[slot] >= X.n_tokens) throw std::out_of_range("no such token");
  parallel_for((stride + kTagTokens - 1) / kTagTokens, n_jobs, [&](std::int64_t piece) {
    auto x = AlignedArray<double>::zeros(w.Lp);
    const std::int64_t end = std::min(stride, (piece + 1) * kTagTokens);
    if (!scores_of_slots(w, X, token, piece * kTagTokens, end, stride, x.data(), out)) refuse();
  });
}

void rows_of_slots(const double* array, std::int64_t L, std::int64_t stride,
                   const std::int64_t* token, double* out) {
  for (std::int64_t slot = 0; slot < stride; ++slot)
    for (std::int64_t y = 0; token[slot] >= 0 && y < L; ++y)
      out[token[slot] * L + y] = array[y * stride + slot];
}

}  // namespace proxqn::chain
