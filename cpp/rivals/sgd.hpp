// Stochastic gradient descent with the cumulative l1 penalty of Tsuruoka, Tsujii and Ananiadou (2009).
//
// After step k every weight should have received the penalty u_k = sum_{i<=k} eta_i lam/N; q_j is
// what weight j really received (its sign included). A weight is brought up to date,
//     w > 0:  w' = max(0, w - (u + q)),   w < 0:  w' = min(0, w + (u - q)),   q += w' - w,
// only when a sample uses it. Doing this once before the sample is scored gives the same weights as
// penalising all of them in every step, since nothing else happens to a weight in between.
//
// A ridge (l2/2)|w|^2 is part of the loss: a column used by n_c samples gets l2/(2 n_c) of its weights'
// squares in each of these samples' losses, which sum to the ridge, so that a sample still touches
// only its own features. It is stepped on implicitly, w /= 1 + eta l2/n_c, which no rate makes unstable.
#pragma once
#include <algorithm>
#include <cstdint>

#include "base/simd.hpp"

namespace proxqn::rivals {

// Data by row: sample i owns the rows sample_start[i] .. sample_start[i+1].
struct SampleRows {
  std::int64_t n_samples;
  const std::int64_t* sample_start;
  const std::int64_t* row_start;  // [n_rows+1] into columns
  const std::int32_t* columns;
  const double* values;   // null where all are 1
  const double* weights;  // [n_samples] or null
  double weight(std::int64_t i) const { return weights ? weights[i] : 1.0; }
};

struct Schedule {
  double rate, lam, l2;  // eta_0; lambda and the ridge of the sum over all N samples
  double eta(std::int64_t k, std::int64_t n) const {
    return rate / (1.0 + static_cast<double>(k) / static_cast<double>(n));
  }
};

struct LazyWeights {
  double* w;               // [n_columns][width]
  double* q;               // [n_columns][width] penalty received
  const double* admitted;  // [n_columns][width] 1 for weights of the model, 0 for others; null: all
  std::int64_t width;      // a multiple of 8
  std::int32_t* last;      // [n_columns] the last sample that used a column, counted as stamp
  const double* users;     // [n_columns] n_c, how many samples use a column; null: no ridge
  double pull = 0.0;       // eta l2 of the current step
};

PROXQN_INLINE void penalise(double* w, double* q, std::int64_t n, double u) {
  const double8 zero{};
  for (std::int64_t y = 0; y < n; y += 8) {
    const double8 before = load8(w + y), received = load8(q + y);
    const double8 down = max(before - (u + received), zero),
                  up = min(before + (u - received), zero);
    const double8 after = before > 0.0 ? down : (before < 0.0 ? up : before);  // a NaN stays
    store8(w + y, after);
    store8(q + y, received + (after - before));
  }
}

PROXQN_INLINE void scale(double* w, std::int64_t n, double factor) {
  for (std::int64_t y = 0; y < n; y += 8) store8(w + y, factor * load8(w + y));
}

PROXQN_INLINE void add_scaled(const double* from, double factor, std::int64_t n, double* to) {
  for (std::int64_t y = 0; y < n; y += 8) store8(to + y, load8(to + y) + factor * load8(from + y));
}

constexpr std::int64_t kAhead = 6;  // entries: rows of w and q come from the second-level cache

PROXQN_INLINE void prefetch_row(const double* row, std::int64_t n) {
  for (std::int64_t y = 0; y < n && y < 64; y += 8) __builtin_prefetch(row + y);
}

// x = sum_c value * w[c] for row r; with Use, each column is brought up to date on its first use. A
// row of at most 8 Blocks registers is summed in registers (Blocks = 0: in memory).
template <bool Use, int Blocks>
PROXQN_INLINE void score_row(const SampleRows& d, LazyWeights& lazy, std::int64_t r, double u,
                             std::int32_t stamp, double* x) {
  const std::int64_t n = Blocks ? 8 * Blocks : lazy.width;
  double8 acc[Blocks ? Blocks : 1] = {};
  if (!Blocks) std::fill(x, x + n, 0.0);
  for (std::int64_t e = d.row_start[r], last = d.row_start[r + 1]; e < last; ++e) {
    if (e + kAhead < last) {
      prefetch_row(lazy.w + d.columns[e + kAhead] * n, n);
      if (Use) prefetch_row(lazy.q + d.columns[e + kAhead] * n, n);
    }
    const std::int64_t c = d.columns[e];
    double* w = lazy.w + c * n;
    if (Use && lazy.last[c] != stamp) {
      penalise(w, lazy.q + c * n, n, u);
      if (lazy.users) scale(w, n, 1.0 / (1.0 + lazy.pull / lazy.users[c]));
      lazy.last[c] = stamp;
    }
    const double v = d.values ? d.values[e] : 1.0;
    if constexpr (Blocks > 0)
      for (int k = 0; k < Blocks; ++k) acc[k] += v * load8(w + 8 * k);
    else add_scaled(w, v, n, x);
  }
  if constexpr (Blocks > 0)
    for (int k = 0; k < Blocks; ++k) store8(x + 8 * k, acc[k]);
}

template <bool Use>
PROXQN_INLINE void score_rows(const SampleRows& d, LazyWeights& lazy, std::int64_t i, double u,
                              std::int32_t stamp, double* x) {
  const std::int64_t n = lazy.width;
  for (std::int64_t r = d.sample_start[i]; r < d.sample_start[i + 1]; ++r, x += n) {
    if (n == 8) score_row<Use, 1>(d, lazy, r, u, stamp, x);
    else if (n == 16) score_row<Use, 2>(d, lazy, r, u, stamp, x);
    else if (n == 24) score_row<Use, 3>(d, lazy, r, u, stamp, x);
    else if (n == 32) score_row<Use, 4>(d, lazy, r, u, stamp, x);
    else score_row<Use, 0>(d, lazy, r, u, stamp, x);
  }
}

template <int Blocks>
PROXQN_INLINE void descend_row(const SampleRows& d, LazyWeights& lazy, std::int64_t r, double eta,
                               const double* residual) {
  const std::int64_t n = Blocks ? 8 * Blocks : lazy.width;
  double8 step[Blocks ? Blocks : 1];
  for (int k = 0; k < Blocks; ++k) step[k] = -eta * load8(residual + 8 * k);
  for (std::int64_t e = d.row_start[r], last = d.row_start[r + 1]; e < last; ++e) {
    if (e + kAhead < last) prefetch_row(lazy.w + d.columns[e + kAhead] * n, n);
    const std::int64_t c = d.columns[e];
    const double v = d.values ? d.values[e] : 1.0;
    double* w = lazy.w + c * n;
    if (const double* mask = lazy.admitted) {
      for (std::int64_t y = 0; y < n; y += 8)
        store8(w + y, load8(w + y) - (eta * v) * load8(residual + y) * load8(mask + c * n + y));
    } else if constexpr (Blocks > 0) {
      for (int k = 0; k < Blocks; ++k) store8(w + 8 * k, load8(w + 8 * k) + v * step[k]);
    } else {
      add_scaled(residual, -eta * v, n, w);
    }
  }
}

PROXQN_INLINE void descend_rows(const SampleRows& d, LazyWeights& lazy, std::int64_t i, double eta,
                                const double* residual) {
  const std::int64_t n = lazy.width;
  for (std::int64_t r = d.sample_start[i]; r < d.sample_start[i + 1]; ++r, residual += n) {
    if (n == 8) descend_row<1>(d, lazy, r, eta, residual);
    else if (n == 16) descend_row<2>(d, lazy, r, eta, residual);
    else if (n == 24) descend_row<3>(d, lazy, r, eta, residual);
    else if (n == 32) descend_row<4>(d, lazy, r, eta, residual);
    else descend_row<0>(d, lazy, r, eta, residual);
  }
}

// One step a sample in the given order; k and u go on from call to call. A Model has
//   residuals(i, x, r): r = P - truth from the scores x of sample i's rows
//   descend_own(i, eta, pull, u): the step on weights that belong to no column (transitions), which
//     are first divided by 1 + pull
template <class Model>
PROXQN_INLINE void sgd_steps(Model& model, const SampleRows& d, LazyWeights& lazy,
                             const Schedule& schedule, const std::int64_t* order, std::int64_t n,
                             std::int64_t& k, double& u, std::int32_t& stamp) {
  for (std::int64_t at = 0; at < n; ++at, ++k) {
    const std::int64_t i = order[at];
    const double eta = schedule.eta(k, d.n_samples);
    lazy.pull = eta * schedule.l2;
    score_rows<true>(d, lazy, i, u, ++stamp, model.x());
    model.residuals(i);
    u += eta * schedule.lam / static_cast<double>(d.n_samples);
    descend_rows(d, lazy, i, eta * d.weight(i), model.r());
    model.descend_own(i, eta * d.weight(i), lazy.pull / static_cast<double>(d.n_samples), u);
  }
}

template <class Model>
PROXQN_INLINE double sample_loss_sum(Model& model, const SampleRows& d, LazyWeights& lazy,
                                     const std::int64_t* order, std::int64_t n) {
  double total = 0.0;
  for (std::int64_t at = 0; at < n; ++at) {
    score_rows<false>(d, lazy, order[at], 0.0, 0, model.x());
    total += d.weight(order[at]) * model.loss(order[at]);
  }
  return total;
}

// All weights brought up to date.
void penalise_all(double* w, double* q, std::int64_t n, double u);

}  // namespace proxqn::rivals
