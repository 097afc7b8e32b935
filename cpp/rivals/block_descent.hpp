// Blockwise coordinate descent (Sokolovska, Lavergne, Cappé and Yvon 2010) with the paper's changes:
// a line search in each block, blocks that rest are left out (solvers/rivals/bcd.py), and second
// derivatives floored. A block is all weights of one input feature; a chain's transitions are one
// block more.
//
// In a block the weights move together, each by its own one-dimensional model
//     d_y = S(h_y w_y - g_y, lam) / (h_y + l2) - w_y,   h_y = sum_t x_t^2 P(y_t = y)(1 - P(y_t = y)),
// where h leaves out what the tokens of a sample have to do with each other. Only samples with the
// feature change. Their marginals are needed only when a block asks for them: each sample remembers
// whether its marginals are stale, so that a block whose weights stay makes no inference necessary.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/aligned_array.hpp"
#include "base/simd.hpp"
#include "products/features.hpp"

namespace proxqn::rivals {

struct BlockRule {
  double lam, l2;
  double sigma, beta;  // Armijo
  double floor;        // of second derivatives
  int max_trials;
};

struct BlockCounts {
  std::int64_t forward = 0, backward = 0, refused = 0;  // samples; blocks without progress
};

struct BlockMove {
  double slope = 0.0;      // g'd + Omega(w+d) - Omega(w)
  double violation = 0.0;  // largest entry of the min-norm subgradient
  double excess = -1e300;  // largest |g_y| - lam of weights at zero; infinite where any is not
  bool moves = false;
};

inline double penalty_of(const BlockRule& rule, const double* w, const double* d, double alpha,
                         std::int64_t n) {
  double total = 0.0;
  for (std::int64_t y = 0; y < n; ++y) {
    const double v = w[y] + alpha * d[y];
    total += rule.lam * std::fabs(v) + 0.5 * rule.l2 * v * v;
  }
  return total;
}

// d from g and h. admitted marks the weights of the model; null admits all.
inline BlockMove block_direction(const BlockRule& rule, const double* w, const double* g, double* h,
                                 const double* admitted, std::int64_t n, double* d) {
  BlockMove out;
  for (std::int64_t y = 0; y < n; ++y) {
    d[y] = 0.0;
    if (admitted && admitted[y] == 0.0) continue;
    h[y] = std::max(h[y], rule.floor);
    const double u = h[y] * w[y] - g[y], size = std::max(std::fabs(u) - rule.lam, 0.0);
    d[y] = std::copysign(size, u) / (h[y] + rule.l2) - w[y];
    if (w[y] != 0.0) {
      out.excess = std::numeric_limits<double>::infinity();
      const double slope = g[y] + std::copysign(rule.lam, w[y]) + rule.l2 * w[y];
      out.violation = std::max(out.violation, std::fabs(slope));
    } else {
      out.excess = std::max(out.excess, std::fabs(g[y]) - rule.lam);
      out.violation = std::max(out.violation, std::fabs(g[y]) - rule.lam);
    }
    out.slope += g[y] * d[y];
    out.moves |= d[y] != 0.0;
  }
  out.slope += penalty_of(rule, w, d, 1.0, n) - penalty_of(rule, w, d, 0.0, n);
  return out;
}

// A step that lowers losses + penalty by Armijo's rule; 0 where none does. change(alpha) puts the
// scores at w + alpha d, runs the forward pass and returns the change of the losses.
template <class Change>
PROXQN_INLINE double block_search(const BlockRule& rule, const double* w, const double* d,
                                  std::int64_t n, double slope, double size, const Change& change) {
  const double before = penalty_of(rule, w, d, 0.0, n), rounding = 2e-15 * size;
  double alpha = 1.0;
  for (int trial = 0; trial < rule.max_trials; ++trial, alpha *= rule.beta) {
    const double gained = change(alpha) + penalty_of(rule, w, d, alpha, n) - before;
    const double needed = -alpha * rule.sigma * slope;
    if (gained <= (needed > rounding ? -needed : rounding)) return alpha;  // false for NaN
  }
  change(0.0);
  return 0.0;
}

// Scores and marginals of all rows, the losses of all samples. A Model has
//   forward(i): losses[i] from the scores of sample i's rows
//   backward(i): the marginals of its rows, after forward
//   subtract_truth(row, v, g): g[y] -= v for the true label(s) of the row
struct BlockState {
  products::Features columns;          // by feature: rows and values
  std::int64_t width;                  // of a row, a multiple of 8
  const std::int32_t* sample;          // [n_rows] sample of each row
  const double* weights;               // [n_samples] or null
  const double* admitted;              // [n_columns][width] or null
  double* w;                           // [n_columns][width]
  double *scores, *marginals;          // [n_rows][width]
  double* losses;                      // [n_samples]
  std::vector<std::uint8_t> stale;     // [n_samples]
  std::vector<std::int64_t> seen;      // [n_samples] the last block that found it
  std::vector<std::int32_t> affected;  // samples of the current block
  std::vector<double> before;          // their losses
  std::int64_t stamp = 0;
  BlockCounts counts;
  double weight(std::int64_t i) const { return weights ? weights[i] : 1.0; }
};

template <class Model>
PROXQN_INLINE void run_forward(BlockState& s, Model& model, std::int64_t i) {
  model.forward(i);
  s.stale[i] = 1;
  ++s.counts.forward;
}

inline void find_affected(BlockState& s, std::int64_t c) {
  ++s.stamp;
  s.affected.clear();
  for (std::int64_t e = s.columns.start[c]; e < s.columns.start[c + 1]; ++e) {
    const std::int32_t i = s.sample[s.columns.slots[e]];
    if (s.seen[i] == s.stamp) continue;
    s.seen[i] = s.stamp;
    s.affected.push_back(i);
  }
}

template <class Model>
PROXQN_INLINE void block_derivatives(BlockState& s, Model& model, std::int64_t c, double* g,
                                     double* h) {
  const std::int64_t n = s.width, first = s.columns.start[c];
  const double* values = s.columns.column_values(c);
  std::fill(g, g + n, 0.0);
  std::fill(h, h + n, 0.0);
  for (std::int64_t e = first; e < s.columns.start[c + 1]; ++e) {
    const std::int64_t row = s.columns.slots[e];
    const double v = values ? values[e - first] : 1.0, wv = s.weight(s.sample[row]) * v;
    const double* p = s.marginals + row * n;
    for (std::int64_t y = 0; y < n; y += 8) {
      const double8 q = load8(p + y);
      store8(g + y, load8(g + y) + wv * q);
      store8(h + y, load8(h + y) + (wv * v) * (q - q * q));
    }
    model.subtract_truth(row, wv, g);
  }
}

PROXQN_INLINE void shift_scores(BlockState& s, std::int64_t c, double by, const double* d) {
  const std::int64_t n = s.width, first = s.columns.start[c];
  const double* values = s.columns.column_values(c);
  for (std::int64_t e = first; e < s.columns.start[c + 1]; ++e) {
    const double factor = by * (values ? values[e - first] : 1.0);
    double* x = s.scores + s.columns.slots[e] * n;
    for (std::int64_t y = 0; y < n; y += 8) store8(x + y, load8(x + y) + factor * load8(d + y));
  }
}

// One block. work: [3][width].
template <class Model>
PROXQN_INLINE BlockMove descend_block(BlockState& s, Model& model, const BlockRule& rule,
                                      std::int64_t c, double* work) {
  const std::int64_t n = s.width;
  double *g = work, *h = work + n, *d = work + 2 * n, *w = s.w + c * n;
  find_affected(s, c);
  for (std::int32_t i : s.affected)
    if (s.stale[i]) {
      model.backward(i);
      s.stale[i] = 0;
      ++s.counts.backward;
    }
  block_derivatives(s, model, c, g, h);
  BlockMove out = block_direction(rule, w, g, h, s.admitted ? s.admitted + c * n : nullptr, n, d);
  if (!(out.moves && out.slope < 0.0)) return out;
  s.before.clear();
  double size = 0.0, applied = 0.0;
  for (std::int32_t i : s.affected) {
    s.before.push_back(s.losses[i]);
    size += s.weight(i) * std::fabs(s.losses[i]);
  }
  const double alpha = block_search(rule, w, d, n, out.slope, size, [&](double step) {
    shift_scores(s, c, step - applied, d);
    applied = step;
    double change = 0.0;
    for (std::size_t k = 0; k < s.affected.size(); ++k) {
      const std::int32_t i = s.affected[k];
      run_forward(s, model, i);
      change += s.weight(i) * (s.losses[i] - s.before[k]);
    }
    return change;
  });
  s.counts.refused += alpha == 0.0;
  for (std::int64_t y = 0; y < n; ++y) {
    w[y] = alpha == 1.0 && d[y] == -w[y] ? 0.0 : w[y] + alpha * d[y];
    if (w[y] != 0.0) out.excess = std::numeric_limits<double>::infinity();
  }
  return out;
}

// Blocks in order until all are done or `budget` forward inferences are made; returns how many.
template <class Model>
PROXQN_INLINE std::int64_t descend_blocks(BlockState& s, Model& model, const BlockRule& rule,
                                          const std::int64_t* blocks, std::int64_t n,
                                          std::int64_t budget, double* violation, double* excess) {
  auto work = scratch(3 * s.width);
  const std::int64_t last = s.counts.forward + budget;
  std::int64_t at = 0;
  for (; at < n && s.counts.forward < last; ++at) {
    const std::int64_t c = blocks[at];
    const BlockMove move = c == s.columns.n_columns ? model.descend_own(s, rule)
                                                    : descend_block(s, model, rule, c, work.get());
    violation[at] = move.violation;
    excess[at] = move.excess;
  }
  return at;
}

// The scores of all rows moved along the weights d of one block.
void shift_all(BlockState& s, std::int64_t c, const double* d);

}  // namespace proxqn::rivals
