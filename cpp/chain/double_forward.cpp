#include "chain/double_kernels.hpp"

#include <cmath>

#include "base/aligned_array.hpp"
#include "chain/forward_backward.hpp"
#include "chain/log_domain.hpp"
#include "chain/position.hpp"

namespace proxqn::chain {

// Scaled recursion on one batch. Writes losses of its sequences; false where the range is unsafe.
template <class V>
PROXQN_INLINE bool forward_batch(const Chain& c, const Transitions<double>& m, std::int64_t batch,
                                 double* work, double* losses) {
  constexpr int W = kWidth<V>;
  const std::int64_t L = c.n_labels, Lp = m.padded_labels, T = c.length[batch];
  V* x = reinterpret_cast<V*>(work);
  V* e = x + Lp;
  V* a = e + Lp;
  V* A = a + Lp;
  const V lengths = lane_lengths<V>(c, batch);
  V range{}, totals{};  // totals only shows whether any was NaN: max loses them
  V shift{}, path{};
  Product<V> normaliser;
  for (std::int64_t t = 0; t < T; ++t) {
    const std::int64_t slot = c.first[batch] + t * W;
    V low;
    const V high = gather_scores<V>(c, slot, kFetchAhead, x, &low);
    range = max(range, high - low);
    exponentials(x, high, L, e);
    if (t == 0) {
      for (std::int64_t y = 0; y < L; ++y) a[y] = e[y];
    } else {
      product(A, m.forward.get(), m.listed_forward, L, Lp, a);
      for (std::int64_t y = 0; y < L; ++y) a[y] *= e[y];
    }
    V total{};
    for (std::int64_t y = 0; y < L; ++y) total += a[y];
    totals += total;
    const V inverse = 1.0 / total;
    for (std::int64_t y = 0; y < L; ++y) A[y] = a[y] * inverse;
    store_labels(c, A, slot, c.alpha);
    store(c.scale + slot - c.window, inverse);
    normaliser.multiply(where(lengths, t, total, filled<V>(1.0)));
    shift += where(lengths, t, high, V{});
    if (c.labels)
      for (int k = 0; k < W; ++k) {
        if (t >= c.lane_length[batch * kLanes + k]) continue;
        const std::int64_t y = c.labels[slot + k];
        double gained = lane(x[y], k);
        if (t > 0) gained += c.transitions[c.labels[slot + k - W] * L + y];
        set_lane(path, k, lane(path, k) + gained);
      }
  }
  if (!(largest(range) + m.range <= kSafeRange) || std::isnan(sum(totals))) return false;
  for (int k = 0; k < W; ++k) {
    const std::int64_t n = c.lane_length[batch * kLanes + k];
    if (n == 0) continue;
    const double log_z = lane(shift, k) + normaliser.log(k) + (n - 1) * m.largest;
    losses[c.lane_sequence[batch * kLanes + k]] = log_z - lane(path, k);
  }
  return true;
}

PROXQN_CLONES static void forward_cloned(const Chain& c, const Transitions<double>& m,
                                         std::int64_t chunk, double* losses) {
  auto work = scratch(4 * m.padded_labels * kLanes);
  for (std::int64_t b = c.chunk[chunk]; b < c.chunk[chunk + 1]; ++b)
    c.log_domain[b] = !(c.width[b] == kLanes ? forward_batch<double8>(c, m, b, work.get(), losses)
                                             : forward_batch<double>(c, m, b, work.get(), losses));
  for (std::int64_t b = c.chunk[chunk]; b < c.chunk[chunk + 1]; ++b)
    for (int k = 0; c.log_domain[b] && k < c.width[b]; ++k) {
      const Lane s = lane_of(c, b, k);
      if (s.length == 0) continue;
      const double log_z = forward_log(c, s);
      losses[c.lane_sequence[b * kLanes + k]] = log_z - (c.labels ? path_score(c, s) : 0.0);
    }
}

void forward_chunk(const Chain& c, const Transitions<double>& m, std::int64_t chunk,
                   double* losses) {
  forward_cloned(c, m, chunk, losses);
}

}  // namespace proxqn::chain
