#include "chain/viterbi.hpp"

#include <algorithm>
#include <vector>

#include "base/aligned_array.hpp"
#include "base/parallel.hpp"
#include "chain/position.hpp"

namespace proxqn::chain {

// best_t(y) = x_t(y) + max_y' (best_{t-1}(y') + Lambda(y',y)); ties go to the smaller label. For as many
// of the batch's lanes as V has, from `first` on.
template <class V>
PROXQN_INLINE void viterbi_lanes(const Chain& c, const double* lambda, std::int64_t Lp,
                                 std::int64_t batch, int first, double* work, std::int32_t* back,
                                 std::int32_t* path) {
  constexpr int lanes = sizeof(V) / sizeof(double), tile = lanes == 1 ? kTile : kTile / 2;
  const std::int64_t L = c.n_labels, T = c.length[batch], W = c.width[batch];
  const std::int32_t* length = c.lane_length + batch * kLanes + first;
  V* x = reinterpret_cast<V*>(work);
  V* best = x + Lp;
  V* next = best + Lp;
  V lengths{};
  for (int k = 0; k < lanes; ++k) set_lane(lengths, k, static_cast<double>(length[k]));
  for (std::int64_t t = 0; t < T; ++t) {
    load_labels(c, c.scores, c.first[batch] + t * W + first, kFetchAhead, x);
    if (t == 0) {
      for (std::int64_t y = 0; y < L; ++y) best[y] = x[y];
      continue;
    }
    for (std::int64_t j = 0; j < Lp; j += tile) {
      V top[tile], from[tile];
      for (int k = 0; k < tile; ++k) {
        top[k] = best[0] + lambda[j + k];
        from[k] = V{};
      }
      for (std::int64_t i = 1; i < L; ++i)
        for (int k = 0; k < tile; ++k) {
          const V candidate = best[i] + lambda[i * Lp + j + k];
          from[k] = candidate > top[k] ? V{} + double(i) : from[k];
          top[k] = max(candidate, top[k]);
        }
      for (int k = 0; k < tile && j + k < L; ++k) {
        next[j + k] = top[k] + x[j + k];
        for (int q = 0; q < lanes; ++q)
          back[(t * L + j + k) * lanes + q] = static_cast<std::int32_t>(lane(from[k], q));
      }
    }
    for (std::int64_t y = 0; y < L; ++y) best[y] = where(lengths, t, next[y], best[y]);
  }
  for (int k = 0; k < lanes; ++k) {
    const std::int64_t n = length[k];
    if (n == 0) continue;
    std::int32_t y = 0;
    for (std::int64_t i = 1; i < L; ++i)
      if (lane(best[i], k) > lane(best[y], k)) y = static_cast<std::int32_t>(i);
    for (std::int64_t t = n - 1; t >= 0; --t) {
      path[c.first[batch] + t * W + first + k] = y;
      if (t > 0) y = back[(t * L + y) * lanes + k];
    }
  }
}

template <class V>
PROXQN_INLINE void viterbi_batch(const Chain& c, const double* lambda, std::int64_t Lp,
                                 std::int64_t batch, double* work, std::int32_t* back,
                                 std::int32_t* path) {
  const auto lanes = static_cast<int>(sizeof(V) / sizeof(double));
  for (int first = 0; first < c.width[batch]; first += lanes)
    viterbi_lanes<V>(c, lambda, Lp, batch, first, work, back, path);
}

PROXQN_CLONES void viterbi_chunk(const Chain& c, const double* lambda, std::int64_t Lp,
                                 std::int64_t chunk, std::int32_t* path) {
  auto work = scratch(3 * Lp * kLanes);
  std::int64_t longest = 0;
  for (std::int64_t b = c.chunk[chunk]; b < c.chunk[chunk + 1]; ++b)
    longest = std::max<std::int64_t>(longest, c.length[b] * c.width[b]);
  std::vector<std::int32_t> back(longest * c.n_labels);
  for (std::int64_t b = c.chunk[chunk]; b < c.chunk[chunk + 1]; ++b) {
    auto run = [&](auto lanes) PROXQN_INLINED {
      viterbi_batch<decltype(lanes)>(c, lambda, Lp, b, work.get(), back.data(), path);
    };
    if (c.width[b] == 1) run(double{});
    else with_registers(run);
  }
}

void viterbi(const Chain& c, int n_jobs, std::int32_t* path) {
  const std::int64_t L = c.n_labels, Lp = whole_eights(L);
  auto lambda = scratch(L * Lp);
  for (std::int64_t i = 0; i < L; ++i)
    std::copy(c.transitions + i * L, c.transitions + (i + 1) * L, lambda.get() + i * Lp);
  parallel_for(c.n_chunks, n_jobs, [&](std::int64_t chunk) {
    may_throw([&] { viterbi_chunk(c, lambda.get(), Lp, chunk, path); });
  });
}

}  // namespace proxqn::chain
