#include "chain/double_kernels.hpp"

#include <utility>

#include "base/aligned_array.hpp"
#include "chain/log_domain.hpp"
#include "chain/position.hpp"

namespace proxqn::chain {

template <class V>
struct PairBuffer {  // alpha_{t-1} and v_t of up to kBuffer positions, and the sums G [Lp][Lp]
  V *a, *v;
  V* G;
  int n = 0;
};

// Alpha becomes weight * (marginal - true label).
//   v_t(y) = exp(x_t(y) - m_t) beta_t(y) / c_t,  beta_{t-1}(y') = sum_y M(y',y) v_t(y),
//   P(y_{t-1} = y', y_t = y) = A_{t-1}(y') M(y',y) v_t(y),   P(y_t = y) = A_t(y) beta_t(y).
// In exact arithmetic sum_y A_t beta_t = 1; dividing by it keeps rounding from adding up over T.
template <class V>
PROXQN_INLINE void backward_batch(const Chain& c, const Transitions<double>& m, std::int64_t batch,
                                  double* work, PairBuffer<V>& pairs) {
  constexpr int W = kWidth<V>;
  const std::int64_t L = c.n_labels, Lp = m.padded_labels, T = c.length[batch];
  V* x = reinterpret_cast<V*>(work);
  V* e = x + Lp;
  V* beta = e + Lp;
  V* A = beta + Lp;
  V* before = A + Lp;  // A_{t-1}
  V* residual = before + Lp;
  const V lengths = lane_lengths<V>(c, batch);
  V weight{};
  for (int k = 0; k < W; ++k)
    if (c.lane_length[batch * kLanes + k] > 0)
      set_lane(weight, k, c.weights ? (c.weights[c.lane_sequence[batch * kLanes + k]]) : 1.0);
  const V one = filled<V>(1.0);
  for (std::int64_t y = 0; y < L; ++y) beta[y] = one;
  load_labels(c, c.alpha, c.first[batch] + (T - 1) * W, -kFetchAhead, A);
  for (std::int64_t t = T - 1; t >= 0; --t) {
    const std::int64_t slot = c.first[batch] + t * W;
    const V high = gather_scores<V>(c, slot, -kFetchAhead, x, static_cast<V*>(nullptr));
    exponentials(x, high, L, e);
    V total{};
    for (std::int64_t y = 0; y < L; ++y) {
      beta[y] = where(lengths, t + 1, beta[y], one);  // the last position of a lane, or past it
      total += A[y] * beta[y];
    }
    V inverse_scale;
    load(c.scale + slot - c.window, inverse_scale);
    const V normaliser = 1.0 / total;
    const V factor = where(lengths, t, inverse_scale * normaliser, V{});
    V* v = pairs.v + pairs.n * Lp;
    V* a = pairs.a + pairs.n * Lp;
    for (std::int64_t y = 0; y < L; ++y) {
      residual[y] = weight * (A[y] * beta[y] * normaliser);
      v[y] = e[y] * beta[y] * factor;
    }
    store_labels(c, residual, slot, c.alpha);
    if (c.labels)
      for (int k = 0; k < W; ++k)
        if (t < c.lane_length[batch * kLanes + k])
          c.alpha[c.at(c.labels[slot + k], slot + k)] -= lane(weight, k);
    if (t == 0) break;
    load_labels(c, c.alpha, slot - W, -kFetchAhead, before);
    for (std::int64_t y = 0; y < L; ++y) a[y] = before[y] * weight;
    std::swap(A, before);
    product(v, m.backward.get(), m.listed_backward, L, Lp, beta);
    if (++pairs.n == kBuffer) {
      outer_products(pairs.a, pairs.v, pairs.n, Lp, pairs.G);
      pairs.n = 0;
    }
  }
}

PROXQN_INLINE void backward_batches(const Chain& c, const Transitions<double>& m,
                                    std::int64_t chunk, double* G) {
  using V = double8;
  const std::int64_t L = c.n_labels, Lp = m.padded_labels;
  auto work = scratch(6 * Lp * kLanes);
  auto buffers = scratch(2 * kBuffer * Lp * (kLanes + 1));
  auto sums8 = scratch(Lp * Lp * kLanes), sums1 = scratch(Lp * Lp);
  PairBuffer<V> wide{};
  wide.a = reinterpret_cast<V*>(buffers.get());
  wide.v = wide.a + kBuffer * Lp;
  wide.G = reinterpret_cast<double8*>(sums8.get());
  PairBuffer<double> narrow{};
  narrow.a = buffers.get() + 2 * kBuffer * Lp * kLanes;
  narrow.v = narrow.a + kBuffer * Lp;
  narrow.G = sums1.get();
  // The last batch first: then what is fetched ahead is needed next, at the end of a batch, too.
  for (std::int64_t b = c.chunk[chunk + 1] - 1; b >= c.chunk[chunk]; --b) {
    if (c.log_domain[b]) continue;
    if (c.width[b] == kLanes) backward_batch<V>(c, m, b, work.get(), wide);
    else backward_batch<double>(c, m, b, work.get(), narrow);
  }
  outer_products(wide.a, wide.v, wide.n, Lp, wide.G);
  outer_products(narrow.a, narrow.v, narrow.n, Lp, narrow.G);
  for (std::int64_t i = 0; i < L; ++i)
    for (std::int64_t j = 0; j < L; ++j) {
      const double pairs = sum(wide.G[i * Lp + j]) + narrow.G[i * Lp + j];
      G[i * L + j] += m.forward[i * Lp + j] * pairs;
    }
}

PROXQN_CLONES static void backward_cloned(const Chain& c, const Transitions<double>& m,
                                          std::int64_t chunk, double* G) {
  backward_batches(c, m, chunk, G);
  for (std::int64_t b = c.chunk[chunk]; b < c.chunk[chunk + 1]; ++b) {
    if (!c.log_domain[b]) continue;
    for (int k = 0; k < c.width[b]; ++k) {
      const Lane s = lane_of(c, b, k);
      const double weight = c.weights ? c.weights[c.lane_sequence[b * kLanes + k]] : 1.0;
      if (s.length) backward_log(c, s, weight, G);
    }
  }
}

void backward_chunk(const Chain& c, const Transitions<double>& m, std::int64_t chunk, double* G) {
  backward_cloned(c, m, chunk, G);
}

}  // namespace proxqn::chain
