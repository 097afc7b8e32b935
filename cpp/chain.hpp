// Inference on linear chains: forward and backward (viterbi.hpp has the best path).
//
// Scaling. With m_t = max_y x_t(y) and Lmax = max Lambda, the recursion
//     a_t(y) = exp(x_t(y) - m_t) sum_y' A_{t-1}(y') exp(Lambda(y',y) - Lmax),   A_t = a_t / c_t,  c_t = sum_y a_t(y)
// keeps every A_t(y) >= exp(-R), R = max_t(max_y x_t - min_y x_t) + (max Lambda - min Lambda). If R
// is at most 600 nothing underflows and the scaled recursion is exact for any length; otherwise the
// batch is done again in the log domain.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "chain_position.hpp"
#include "parallel.hpp"

namespace proxqn {

constexpr double kSafeRange = 600.0;

// --- log domain: slow, safe for scores of any size; one sequence at a time -----------------------

inline double log_sum_exp(const double* v, std::int64_t n) {
  const double high = *std::max_element(v, v + n);
  double total = 0.0;
  for (std::int64_t i = 0; i < n; ++i) total += std::exp(v[i] - high);
  return high + std::log(total);
}

struct Lane {  // one sequence within a batch
  std::int64_t first, width, length;
  std::int64_t slot(std::int64_t t) const { return first + t * width; }
};

// Stores log alpha; returns log Z.
inline double forward_log(const Chain& c, Lane s) {
  const std::int64_t L = c.n_labels;
  std::vector<double> before(L), terms(L);
  for (std::int64_t t = 0; t < s.length; ++t) {
    for (std::int64_t y = 0; y < L; ++y) {
      const std::int64_t at = y * c.stride + s.slot(t);
      double x = c.scores[c.score_at(y, s.slot(t))];
      if (t > 0) {
        for (std::int64_t i = 0; i < L; ++i) terms[i] = before[i] + c.transitions[i * L + y];
        x += log_sum_exp(terms.data(), L);
      }
      c.alpha[at] = x;
    }
    for (std::int64_t y = 0; y < L; ++y) before[y] = c.alpha[y * c.stride + s.slot(t)];
  }
  return log_sum_exp(before.data(), L);
}

// Reads log alpha, leaves weighted residuals in its place, adds pair expectations to G [L][L].
inline void backward_log(const Chain& c, Lane s, double weight, double* G) {
  const std::int64_t L = c.n_labels;
  std::vector<double> beta(L, 0.0), next(L), terms(L), alpha(L);
  auto load_alpha = [&](std::int64_t t) {
    for (std::int64_t y = 0; y < L; ++y) alpha[y] = c.alpha[y * c.stride + s.slot(t)];
  };
  load_alpha(s.length - 1);
  const double log_z = log_sum_exp(alpha.data(), L);
  for (std::int64_t t = s.length - 1; t >= 0; --t) {
    const std::int64_t slot = s.slot(t);
    for (std::int64_t y = 0; y < L; ++y) {
      const double p = std::exp(alpha[y] + beta[y] - log_z);
      const bool gold = c.labels && c.labels[slot] == y;
      c.alpha[y * c.stride + slot] = weight * (p - (gold ? 1.0 : 0.0));
    }
    if (t == 0) break;
    load_alpha(t - 1);
    for (std::int64_t i = 0; i < L; ++i) {
      for (std::int64_t y = 0; y < L; ++y) {
        terms[y] = c.transitions[i * L + y] + c.scores[c.score_at(y, slot)] + beta[y];
        G[i * L + y] += weight * std::exp(alpha[i] + terms[y] - log_z);
      }
      next[i] = log_sum_exp(terms.data(), L);
    }
    beta.swap(next);
  }
}

// --- forward -------------------------------------------------------------------------------------

// Scaled recursion on one batch. Writes losses of its sequences; false where the range is unsafe.
template <class V>
PROXQN_INLINE bool forward_batch(const Chain& c, const Transitions<double>& m,
                                 std::int64_t batch, double* work, double* losses) {
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

inline double path_score(const Chain& c, Lane s) {
  double total = 0.0;
  for (std::int64_t t = 0; t < s.length; ++t) {
    const std::int64_t y = c.labels[s.slot(t)];
    total += c.scores[c.score_at(y, s.slot(t))];
    if (t > 0) total += c.transitions[c.labels[s.slot(t - 1)] * c.n_labels + y];
  }
  return total;
}

inline Lane lane_of(const Chain& c, std::int64_t batch, int k) {
  return {c.first[batch] + k, c.width[batch], c.lane_length[batch * kLanes + k]};
}

PROXQN_CLONES void forward_chunk(const Chain& c, const Transitions<double>& m, std::int64_t chunk,
                                 double* losses) {
  auto work = scratch(4 * m.padded_labels * kLanes);
  for (std::int64_t b = c.chunk[chunk]; b < c.chunk[chunk + 1]; ++b)
    c.log_domain[b] = !(c.width[b] == kLanes
                            ? forward_batch<double8>(c, m, b, work.get(), losses)
                            : forward_batch<double>(c, m, b, work.get(), losses));
  for (std::int64_t b = c.chunk[chunk]; b < c.chunk[chunk + 1]; ++b)
    for (int k = 0; c.log_domain[b] && k < c.width[b]; ++k) {
      const Lane s = lane_of(c, b, k);
      if (s.length == 0) continue;
      const double log_z = forward_log(c, s);
      losses[c.lane_sequence[b * kLanes + k]] = log_z - (c.labels ? path_score(c, s) : 0.0);
    }
}

// losses[i] = log Z_i - score of the true path (or log Z_i without labels).
// False where a batch was out of range: in float the losses are then worthless, in double they come
// from the log domain.
template <class S>
bool forward(const ChainOf<S>& c, int n_jobs, double* losses) {
  const Transitions<S> m(c.transitions, c.n_labels);
  parallel_for(c.n_chunks, n_jobs,
               [&](std::int64_t chunk) { forward_chunk(c, m, chunk, losses); });
  return std::none_of(c.log_domain, c.log_domain + c.n_batches, [](auto b) { return b != 0; });
}

// --- backward ------------------------------------------------------------------------------------

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
PROXQN_INLINE void backward_batch(const Chain& c, const Transitions<double>& m,
                                  std::int64_t batch, double* work,
                                  PairBuffer<V>& pairs) {
  constexpr int W = kWidth<V>;
  const std::int64_t L = c.n_labels, Lp = m.padded_labels, T = c.length[batch];
  V* x = reinterpret_cast<V*>(work);
  V* e = x + Lp;
  V* beta = e + Lp;
  V* A = beta + Lp;
  V* before = A + Lp;    // A_{t-1}
  V* residual = before + Lp;
  const V lengths = lane_lengths<V>(c, batch);
  V weight{};
  for (int k = 0; k < W; ++k)
    if (c.lane_length[batch * kLanes + k] > 0)
      set_lane(weight, k,
               c.weights ? (c.weights[c.lane_sequence[batch * kLanes + k]]) : 1.0);
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

PROXQN_CLONES void backward_chunk(const Chain& c, const Transitions<double>& m, std::int64_t chunk,
                                  double* G) {
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

// pairs[L][L] = the sum of what the chunks have found.
inline void add_chunks(const std::vector<double>& parts, std::int64_t size, double* pairs) {
  std::fill(pairs, pairs + size, 0.0);
  for (std::size_t i = 0; i < parts.size(); ++i) pairs[i % size] += parts[i];
}

// After forward. pairs[L][L] = sum over samples of weight * E[label pair counts].
template <class S>
void backward(const ChainOf<S>& c, int n_jobs, double* pairs) {
  const Transitions<S> m(c.transitions, c.n_labels);
  const std::int64_t size = c.n_labels * c.n_labels;
  std::vector<double> parts(c.n_chunks * size, 0.0);
  parallel_for(c.n_chunks, n_jobs, [&](std::int64_t chunk) {
    backward_chunk(c, m, chunk, parts.data() + chunk * size);
  });
  add_chunks(parts, size, pairs);
}

// Both at once, in windows of slots whose scores put(first slot, last, scores) writes over zeros:
// no array of all scores is needed.
template <class Put>
void evaluate(const Chain& c, int n_jobs, const Put& put, double* losses, double* pairs) {
  constexpr std::int64_t room = 1 << 19;  // doubles: a window costs a search in every column
  const Transitions<double> m(c.transitions, c.n_labels);
  const std::int64_t size = c.n_labels * c.n_labels;
  const std::int64_t n = std::min(
      c.n_chunks, std::max<std::int64_t>(c.n_labels * c.stride / room, 2 * n_jobs));  // windows
  std::vector<double> parts(c.n_chunks * size, 0.0);
  auto first_slot = [&](std::int64_t chunk) {
    return chunk < c.n_chunks ? c.first[c.chunk[chunk]] : c.stride;
  };
  parallel_for(n, n_jobs, [&](std::int64_t i) {
    const std::int64_t first = i * c.n_chunks / n, last = (i + 1) * c.n_chunks / n;
    Chain part = c;
    part.window = first_slot(first);
    part.window_stride = first_slot(last) - part.window;
    auto scores = scratch(c.n_labels * part.window_stride), scale = scratch(part.window_stride);
    put(part.window, part.window + part.window_stride, scores.get());
    part.scores = scores.get();
    part.scale = scale.get();
    for (std::int64_t chunk = first; chunk < last; ++chunk) {
      forward_chunk(part, m, chunk, losses);
      backward_chunk(part, m, chunk, parts.data() + chunk * size);
    }
  });
  add_chunks(parts, size, pairs);
}

}  // namespace proxqn
