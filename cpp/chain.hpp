// Inference on linear chains: forward and backward (viterbi.hpp has the best path).
//
// Layout. Sequences of like length are laid side by side in batches of W = 8 lanes (a lone long
// sequence in a batch of W = 1). Position t of lane k of a batch is slot first + t*W + k, and every
// per-label array is label-major, [L][stride] with the slot as the fast index. So the 8 lanes of one
// (label, position) are one vector register, and one label's column is contiguous, which is what the
// partial gradients walk (features.hpp). Slots past a lane's length are padding; no feature refers
// to them.
//
// Scaling. With m_t = max_y x_t(y) and Lmax = max Lambda, the recursion
//     a_t(y) = exp(x_t(y) - m_t) sum_y' A_{t-1}(y') exp(Lambda(y',y) - Lmax),   A_t = a_t / c_t,  c_t = sum_y a_t(y)
// keeps every A_t(y) >= exp(-R), R = max_t(max_y x_t - min_y x_t) + (max Lambda - min Lambda). If R
// is at most 600 nothing underflows and the scaled recursion is exact for any length; otherwise the
// batch is done again in the log domain.
//
// Precision. This is the double precision one; single_chain.hpp has floats, which lie otherwise:
// [Lp/8][stride][8], eight labels of a slot together, padded by zeros.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#include "listed_product.hpp"
#include "parallel.hpp"
#include "simd.hpp"

namespace proxqn {

constexpr double kSafeRange = 600.0;
constexpr int kTile = 8;       // labels are padded to a multiple of this in scratch memory
constexpr int kBuffer = 16;    // positions whose outer products are summed at once
constexpr int kFetchAhead = 64;  // slots between a load and its prefetch

template <class S>
struct ChainOf {
  std::int64_t n_labels, stride, n_batches, n_chunks;
  const std::int64_t* first;         // [n_batches] slot of position 0, lane 0
  const std::int32_t* width;         // [n_batches] W: 8 or 1
  const std::int32_t* length;        // [n_batches] longest lane
  const std::int32_t* lane_length;   // [n_batches][8], 0 where there is no sequence
  const std::int32_t* lane_sequence; // [n_batches][8]
  const std::int64_t* chunk;         // [n_chunks+1] batches of a chunk
  const std::int32_t* labels;        // [stride] true label of a slot, or null
  const double* weights;             // [n_sequences] sample weights, or null
  S* scores;                         // [L][stride] x = w' phi at the accepted point
  const S* change;                   // [L][stride] its change along the direction, or null
  S* alpha;                          // [L][stride] after forward: A_t; after backward: residuals
  S* scale;                          // [stride] 1 / c_t
  std::uint8_t* log_domain;          // [n_batches] set by forward
  const double* transitions;         // [L][L] Lambda

  static constexpr bool kRows = std::is_same_v<S, float>;
  std::int64_t padded_labels() const { return (n_labels + kTile - 1) / kTile * kTile; }
  std::int64_t at(std::int64_t y, std::int64_t slot) const {
    return kRows ? (y / kTile * stride + slot) * kTile + y % kTile : y * stride + slot;
  }
};
using Chain = ChainOf<double>;

struct AlignedFree {
  void operator()(void* p) const { ::operator delete[](p, std::align_val_t{64}); }
};
template <class S>
using ScratchOf = std::unique_ptr<S[], AlignedFree>;
using Scratch = ScratchOf<double>;
template <class S = double>
ScratchOf<S> scratch(std::int64_t n) {
  auto* p = static_cast<S*>(::operator new[](n * sizeof(S), std::align_val_t{64}));
  std::fill(p, p + n, S{});
  return ScratchOf<S>(p);
}

inline std::int64_t padded(std::int64_t n_labels) { return (n_labels + kTile - 1) / kTile * kTile; }

// exp(Lambda - Lmax), plain and transposed, rows padded with zeros: [L][Lp]; and lists of its entries.
template <class S>
struct Transitions {
  std::int64_t padded_labels;
  double largest, range;
  ScratchOf<S> forward, backward;
  ListedProduct<S> listed_forward, listed_backward;
  Transitions(const double* lambda, std::int64_t L)
      : padded_labels(padded(L)),
        largest(*std::max_element(lambda, lambda + L * L)),
        range(largest - *std::min_element(lambda, lambda + L * L)),
        listed_forward([=](auto i, auto j) { return lambda[i * L + j]; }, largest, L, padded_labels),
        listed_backward([=](auto i, auto j) { return lambda[j * L + i]; }, largest, L, padded_labels) {
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

// --- one position: the same text for eight lanes (V = double8) and for one (V = double) -------

template <class V>
constexpr int kWidth = std::is_arithmetic_v<V> ? 1 : kLanes;
template <class V>
PROXQN_INLINE void load(const double* p, V& v) { std::memcpy(&v, p, sizeof v); }
template <class V>
PROXQN_INLINE void store(double* p, V v) { std::memcpy(p, &v, sizeof v); }
template <class V>
PROXQN_INLINE V filled(double a) { return V{} + a; }

// One position's values of all labels, from and to an array; `ahead` slots away are fetched, since
// L streams are too many for the hardware to foresee.
template <class V>
PROXQN_INLINE void load_labels(const Chain& c, const double* array, std::int64_t slot,
                               std::int64_t ahead, V* out) {
  for (std::int64_t y = 0; y < c.n_labels; ++y) {
    load(array + c.at(y, slot), out[y]);
    __builtin_prefetch(array + c.at(y, slot + ahead), 1);
  }
}
template <class V>
PROXQN_INLINE void store_labels(const Chain& c, const V* values, std::int64_t slot, double* array) {
  for (std::int64_t y = 0; y < c.n_labels; ++y) store(array + c.at(y, slot), values[y]);
}

// x_t(y) for all labels into x, by way of d; their maximum per lane.
template <class V>
PROXQN_INLINE V gather_scores(const Chain& c, std::int64_t slot, std::int64_t ahead,
                              double step, V* x, V* d, V* lowest) {
  load_labels(c, c.scores, slot, ahead, x);
  if (c.change) {
    load_labels(c, c.change, slot, ahead, d);
    for (std::int64_t y = 0; y < c.n_labels; ++y) x[y] += step * d[y];
  }
  V high = x[0], low = x[0];
  for (std::int64_t y = 1; y < c.n_labels; ++y) {
    high = max(high, x[y]);
    low = min(low, x[y]);
  }
  if (lowest) *lowest = low;
  return high;
}

// e = exp(x - shift), L labels; the padding of e stays zero.
template <class V>
PROXQN_INLINE void exponentials(const V* x, V shift, std::int64_t L, V* e) {
  if constexpr (kWidth<V> == kLanes) {
    for (std::int64_t y = 0; y < L; ++y) e[y] = exp8(x[y] - shift);
  } else {
    for (std::int64_t y = 0; y < L; y += kLanes) {
      const std::int64_t n = std::min<std::int64_t>(kLanes, L - y);
      V some[kLanes] = {};
      std::copy(x + y, x + y + n, some);
      double8 v;
      std::memcpy(&v, some, sizeof v);
      v = exp8(v - shift);
      std::memcpy(some, &v, sizeof v);
      std::copy(some, some + n, e + y);
    }
  }
}

// out[j] = sum_i in[i] m[i][j]: the L^2 multiply-adds of a position, sums in registers, or the listed ones
// where there are few.
template <class V>
PROXQN_INLINE void product(const V* in, const double* m, const ListedProduct<double>& listed,
                           std::int64_t L, std::int64_t Lp, V* out) {
  if (listed.pays) return listed_product(in, listed, L, out);
  // Enough sums to hide the latency of the multiply-adds: one 512-bit or two 256-bit ones a cycle. A
  // lone sequence's lanes are labels, and its sums are of every fourth row.
  constexpr int tile = 4;
  if constexpr (kWidth<V> == 1) {
    for (std::int64_t j = 0; j < Lp; j += kLanes) {
      double8 acc[tile] = {};
      std::int64_t i = 0;
      for (; i + tile <= L; i += tile)
        for (int k = 0; k < tile; ++k) acc[k] += in[i + k] * load8(m + (i + k) * Lp + j);
      for (; i < L; ++i) acc[0] += in[i] * load8(m + i * Lp + j);
      store8(out + j, (acc[0] + acc[1]) + (acc[2] + acc[3]));
    }
    return;
  }
  for (std::int64_t j = 0; j < Lp; j += tile) {
    V acc[tile] = {};
    for (std::int64_t i = 0; i < L; ++i) {
      const V a = in[i];
      const double* row = m + i * Lp + j;
      for (int k = 0; k < tile; ++k) acc[k] += a * row[k];
    }
    for (int k = 0; k < tile; ++k) out[j + k] = acc[k];
  }
}

// G[i][j] += sum_t a_t(i) v_t(j) over the buffered positions. Tiles of 4 x 4 keep the sums in
// registers.
template <class V>
PROXQN_INLINE void outer_products(const V* a, const V* v, int n, std::int64_t Lp, V* G) {
  constexpr int rows = 4, cols = kWidth<V> == 1 ? kTile : 4;
  for (std::int64_t i = 0; i < Lp; i += rows)
    for (std::int64_t j = 0; j < Lp; j += cols) {
      V acc[rows][cols] = {};
      for (int t = 0; t < n; ++t)
        for (int p = 0; p < rows; ++p) {
          const V left = a[t * Lp + i + p];
          for (int q = 0; q < cols; ++q) acc[p][q] += left * v[t * Lp + j + q];
        }
      for (int p = 0; p < rows; ++p)
        for (int q = 0; q < cols; ++q) G[(i + p) * Lp + j + q] += acc[p][q];
    }
}

// `yes` in the lanes whose sequence is longer than t.
template <class V>
PROXQN_INLINE V where(V length, std::int64_t t, V yes, V no) {
  return length > static_cast<double>(t) ? yes : no;
}
template <class V>
PROXQN_INLINE double lane(V v, int k) {
  if constexpr (kWidth<V> == 1) return v;
  else return v[k];
}
template <class V>
PROXQN_INLINE void set_lane(V& v, int k, double x) {
  if constexpr (kWidth<V> == 1) v = x;
  else v[k] = x;
}
template <class V>
PROXQN_INLINE double largest(V v) {
  double m = lane(v, 0);
  for (int k = 1; k < kWidth<V>; ++k) m = max(m, lane(v, k));
  return m;
}

// A running product kept as mantissa * 2^exponent, so that a long sequence needs one log, not T.
template <class V>
struct Product {
  using I = std::conditional_t<kWidth<V> == 1, std::int64_t, long8>;
  V mantissa;
  I exponent{};
  PROXQN_INLINE Product() { mantissa = V{} + 1.0; }
  PROXQN_INLINE void multiply(V c) {
    V p = mantissa * c;
    I bits;
    std::memcpy(&bits, &p, sizeof bits);
    exponent += (bits >> 52) - 1023;
    bits = (bits & 0xFFFFFFFFFFFFFLL) | (1023LL << 52);
    std::memcpy(&mantissa, &bits, sizeof bits);
  }
  PROXQN_INLINE double log(int k) const {
    double e;
    if constexpr (kWidth<V> == 1) e = static_cast<double>(exponent);
    else e = static_cast<double>(exponent[k]);
    return std::log(lane(mantissa, k)) + e * 0.6931471805599453;
  }
};

template <class V>
PROXQN_INLINE V lane_lengths(const Chain& c, std::int64_t batch) {
  V v{};
  for (int k = 0; k < kWidth<V>; ++k)
    set_lane(v, k, static_cast<double>(c.lane_length[batch * kLanes + k]));
  return v;
}

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
inline double forward_log(const Chain& c, Lane s, double step) {
  const std::int64_t L = c.n_labels;
  std::vector<double> before(L), terms(L);
  for (std::int64_t t = 0; t < s.length; ++t) {
    for (std::int64_t y = 0; y < L; ++y) {
      const std::int64_t at = y * c.stride + s.slot(t);
      double x = c.scores[at] + (c.change ? step * c.change[at] : 0.0);
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
        terms[y] = c.transitions[i * L + y] + c.scores[y * c.stride + slot] + beta[y];
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
                                 std::int64_t batch, double step, double* work, double* losses) {
  constexpr int W = kWidth<V>;
  const std::int64_t L = c.n_labels, Lp = m.padded_labels, T = c.length[batch];
  V* x = reinterpret_cast<V*>(work);
  V* d = x + Lp;
  V* e = d + Lp;
  V* a = e + Lp;
  V* A = a + Lp;
  const V lengths = lane_lengths<V>(c, batch);
  V range{}, totals{};  // totals only shows whether any was NaN: max loses them
  V shift{}, path{};
  Product<V> normaliser;
  for (std::int64_t t = 0; t < T; ++t) {
    const std::int64_t slot = c.first[batch] + t * W;
    V low;
    const V high = gather_scores<V>(c, slot, kFetchAhead, step, x, d, &low);
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
    store(c.scale + slot, inverse);
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

inline double path_score(const Chain& c, Lane s, double step) {
  double total = 0.0;
  for (std::int64_t t = 0; t < s.length; ++t) {
    const std::int64_t y = c.labels[s.slot(t)], at = y * c.stride + s.slot(t);
    total += c.scores[at] + (c.change ? step * c.change[at] : 0.0);
    if (t > 0) total += c.transitions[c.labels[s.slot(t - 1)] * c.n_labels + y];
  }
  return total;
}

inline Lane lane_of(const Chain& c, std::int64_t batch, int k) {
  return {c.first[batch] + k, c.width[batch], c.lane_length[batch * kLanes + k]};
}

PROXQN_CLONES void forward_chunk(const Chain& c, const Transitions<double>& m, std::int64_t chunk,
                                 double step, double* losses) {
  auto work = scratch(5 * m.padded_labels * kLanes);
  for (std::int64_t b = c.chunk[chunk]; b < c.chunk[chunk + 1]; ++b)
    c.log_domain[b] = !(c.width[b] == kLanes
                            ? forward_batch<double8>(c, m, b, step, work.get(), losses)
                            : forward_batch<double>(c, m, b, step, work.get(), losses));
  for (std::int64_t b = c.chunk[chunk]; b < c.chunk[chunk + 1]; ++b)
    for (int k = 0; c.log_domain[b] && k < c.width[b]; ++k) {
      const Lane s = lane_of(c, b, k);
      if (s.length == 0) continue;
      const double log_z = forward_log(c, s, step);
      losses[c.lane_sequence[b * kLanes + k]] = log_z - (c.labels ? path_score(c, s, step) : 0.0);
    }
}

// losses[i] = log Z_i - score of the true path (or log Z_i without labels), at scores + step * change.
// False where a batch was out of range: in float the losses are then worthless, in double they come
// from the log domain.
template <class S>
bool forward(const ChainOf<S>& c, double step, int n_jobs, double* losses) {
  const Transitions<S> m(c.transitions, c.n_labels);
  parallel_for(c.n_chunks, n_jobs,
               [&](std::int64_t chunk) { forward_chunk(c, m, chunk, step, losses); });
  return std::none_of(c.log_domain, c.log_domain + c.n_batches, [](auto b) { return b != 0; });
}

// --- backward ------------------------------------------------------------------------------------

template <class V>
struct PairBuffer {  // alpha_{t-1} and v_t of up to kBuffer positions, and the sums G [Lp][Lp]
  V *a, *v;
  V* G;
  int n = 0;
};

// Moves scores to the accepted point; alpha becomes weight * (marginal - true label).
//   v_t(y) = exp(x_t(y) - m_t) beta_t(y) / c_t,  beta_{t-1}(y') = sum_y M(y',y) v_t(y),
//   P(y_{t-1} = y', y_t = y) = A_{t-1}(y') M(y',y) v_t(y),   P(y_t = y) = A_t(y) beta_t(y).
// In exact arithmetic sum_y A_t beta_t = 1; dividing by it keeps rounding from adding up over T.
template <class V>
PROXQN_INLINE void backward_batch(const Chain& c, const Transitions<double>& m,
                                  std::int64_t batch, double step, double* work,
                                  PairBuffer<V>& pairs) {
  constexpr int W = kWidth<V>;
  const std::int64_t L = c.n_labels, Lp = m.padded_labels, T = c.length[batch];
  V* x = reinterpret_cast<V*>(work);
  V* d = x + Lp;
  V* e = d + Lp;
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
    const V high = gather_scores<V>(c, slot, -kFetchAhead, step, x, d, static_cast<V*>(nullptr));
    if (c.change) store_labels(c, x, slot, c.scores);
    exponentials(x, high, L, e);
    V total{};
    for (std::int64_t y = 0; y < L; ++y) {
      beta[y] = where(lengths, t + 1, beta[y], one);  // the last position of a lane, or past it
      total += A[y] * beta[y];
    }
    V inverse_scale;
    load(c.scale + slot, inverse_scale);
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
                                    std::int64_t chunk, double step, double* G) {
  using V = double8;
  const std::int64_t L = c.n_labels, Lp = m.padded_labels;
  auto work = scratch(7 * Lp * kLanes);
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
    if (c.width[b] == kLanes) backward_batch<V>(c, m, b, step, work.get(), wide);
    else backward_batch<double>(c, m, b, step, work.get(), narrow);
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
                                  double step, double* G) {
  backward_batches(c, m, chunk, step, G);
  for (std::int64_t b = c.chunk[chunk]; b < c.chunk[chunk + 1]; ++b) {
    if (!c.log_domain[b]) continue;
    if (c.change)
      for (std::int64_t y = 0; y < c.n_labels; ++y)
        for (std::int64_t i = c.first[b]; i < c.first[b] + c.length[b] * c.width[b]; ++i)
          c.scores[y * c.stride + i] += step * c.change[y * c.stride + i];
    for (int k = 0; k < c.width[b]; ++k) {
      const Lane s = lane_of(c, b, k);
      const double weight = c.weights ? c.weights[c.lane_sequence[b * kLanes + k]] : 1.0;
      if (s.length) backward_log(c, s, weight, G);
    }
  }
}

// After forward at the same step. pairs[L][L] = sum over samples of weight * E[label pair counts].
template <class S>
void backward(const ChainOf<S>& c, double step, int n_jobs, double* pairs) {
  const Transitions<S> m(c.transitions, c.n_labels);
  const std::int64_t size = c.n_labels * c.n_labels;
  std::vector<double> parts(c.n_chunks * size, 0.0);
  parallel_for(c.n_chunks, n_jobs, [&](std::int64_t chunk) {
    backward_chunk(c, m, chunk, step, parts.data() + chunk * size);
  });
  std::fill(pairs, pairs + size, 0.0);
  for (std::int64_t chunk = 0; chunk < c.n_chunks; ++chunk)
    for (std::int64_t i = 0; i < size; ++i) pairs[i] += parts[chunk * size + i];
}

}  // namespace proxqn
