// Inference on one sequence at a time, for the methods that walk sample by sample (rivals/sgd.hpp, rivals/block_descent.hpp).
//
// All rows are token-major, [Lp] doubles with the labels side by side, zero past the last label: a
// vector register holds eight labels of one token, where forward_backward.hpp holds one label of eight
// sequences. The scaled recursion and its safe range are those of forward_backward.hpp; a sequence outside the
// range is done in the log domain.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/aligned_array.hpp"
#include "base/exponential.hpp"
#include "base/simd.hpp"
#include "chain/forward_backward.hpp"
#include "chain/log_domain.hpp"
#include "chain/position.hpp"

namespace proxqn::chain {

// Row t of a sequence: row index[t] of an array, or row t where there is no index.
struct Rows {
  double* base;
  const std::int32_t* index;
  std::int64_t width;
  PROXQN_INLINE double* operator()(std::int64_t t) const {
    return base + (index ? index[t] : t) * width;
  }
};

// exp(Lambda - Lmax) and its transpose, recomputed in place: [L][Lp].
struct PairFactors {
  std::int64_t L, Lp;
  double largest = 0.0, range = 0.0;
  std::vector<double> lambda;  // [L][L]
  Scratch forward, backward;
  explicit PairFactors(std::int64_t n_labels)
      : L(n_labels), Lp(whole_eights(n_labels)), lambda(L * L, 0.0), forward(scratch(L * Lp)),
        backward(scratch(L * Lp)) {
    refresh();
  }
  PROXQN_INLINE void refresh() {
    const auto [low, high] = std::minmax_element(lambda.begin(), lambda.end());
    largest = *high;
    range = *high - *low;
    for (std::int64_t i = 0; i < L; ++i)
      exponentials(lambda.data() + i * L, largest, L, forward.get() + i * Lp);
    for (std::int64_t i = 0; i < L; ++i)
      for (std::int64_t j = 0; j < L; ++j) backward[j * Lp + i] = forward[i * Lp + j];
  }
};

// out[Lp] = sum_i in[i] m[i][Lp], four registers of labels at a time.
template <int Blocks>
PROXQN_INLINE void row_product_blocks(const double* in, const double* m, std::int64_t L,
                                      std::int64_t Lp, double* out) {
  double8 acc[Blocks] = {};
  for (std::int64_t i = 0; i < L; ++i)
    for (int k = 0; k < Blocks; ++k) acc[k] += in[i] * load8(m + i * Lp + 8 * k);
  for (int k = 0; k < Blocks; ++k) store8(out + 8 * k, acc[k]);
}
PROXQN_INLINE void row_product(const double* in, const double* m, std::int64_t L, std::int64_t Lp,
                               double* out) {
  std::int64_t j = 0;
  for (; j + 32 <= Lp; j += 32) row_product_blocks<4>(in, m + j, L, Lp, out + j);
  for (; j < Lp; j += 8) row_product_blocks<1>(in, m + j, L, Lp, out + j);
}

PROXQN_INLINE double row_sum(const double* v, std::int64_t Lp) {
  double8 total{};
  for (std::int64_t y = 0; y < Lp; y += 8) total += load8(v + y);
  return sum(total);
}

struct Sequence {
  std::int64_t length;
  const std::int32_t* labels;  // [length] true labels
  Rows scores, alpha;          // alpha: A_t, or log alpha in the log domain
  double* inverse;             // [length] 1 / c_t
  bool log_domain;
};

inline double true_path(const PairFactors& m, const Sequence& s) {
  double total = 0.0;
  for (std::int64_t t = 0; t < s.length; ++t) {
    total += s.scores(t)[s.labels[t]];
    if (t > 0) total += m.lambda[s.labels[t - 1] * m.L + s.labels[t]];
  }
  return total;
}

__attribute__((noinline)) inline double log_alphas(const PairFactors& m, const Sequence& s) {
  std::vector<double> terms(m.L);
  for (std::int64_t t = 0; t < s.length; ++t)
    for (std::int64_t y = 0; y < m.L; ++y) {
      double x = s.scores(t)[y];
      if (t > 0) {
        for (std::int64_t i = 0; i < m.L; ++i) terms[i] = s.alpha(t - 1)[i] + m.lambda[i * m.L + y];
        x += log_sum_exp(terms.data(), m.L);
      }
      s.alpha(t)[y] = x;
    }
  return log_sum_exp(s.alpha(s.length - 1), m.L);
}

// Returns log Z - score of the true path; leaves alpha for sequence_backward.
PROXQN_INLINE double sequence_forward(const PairFactors& m, Sequence& s) {
  const std::int64_t L = m.L, Lp = m.Lp;
  double shift = 0.0, range = 0.0, totals = 0.0;  // totals only shows whether any was NaN
  Product<double> normaliser;
  for (std::int64_t t = 0; t < s.length; ++t) {
    const double* x = s.scores(t);
    double* a = s.alpha(t);
    double high = x[0], low = x[0];
    for (std::int64_t y = 1; y < L; ++y) high = max(high, x[y]), low = min(low, x[y]);
    range = max(range, high - low);
    if (t == 0) {
      exponentials(x, high, L, a);
      std::fill(a + L, a + Lp, 0.0);
    } else {
      row_product(s.alpha(t - 1), m.forward.get(), L, Lp, a);
      for (std::int64_t y = 0; y < Lp; y += 8)  // the padding of the product is zero already
        store8(a + y, load8(a + y) * exp8(min(load8(x + y) - high, double8{})));
    }
    const double total = row_sum(a, Lp), inverse = 1.0 / total;
    for (std::int64_t y = 0; y < Lp; y += 8) store8(a + y, load8(a + y) * inverse);
    s.inverse[t] = inverse;
    normaliser.multiply(total);
    shift += high;
    totals += total;
  }
  s.log_domain = !(range + m.range <= kSafeRange) || std::isnan(totals);
  const double log_z =
      s.log_domain ? log_alphas(m, s) : shift + normaliser.log(0) + (s.length - 1) * m.largest;
  return log_z - true_path(m, s);
}

__attribute__((noinline)) inline void log_marginals(const PairFactors& m, const Sequence& s,
                                                    double weight, Rows marginals, double* G,
                                                    double* squares) {
  std::vector<double> beta(m.L, 0.0), next(m.L), terms(m.L);
  const double log_z = log_sum_exp(s.alpha(s.length - 1), m.L);
  for (std::int64_t t = s.length - 1; t >= 0; --t) {
    for (std::int64_t y = 0; y < m.L; ++y)
      marginals(t)[y] = std::exp(s.alpha(t)[y] + beta[y] - log_z);
    if (t == 0) break;
    for (std::int64_t i = 0; i < m.L; ++i) {
      for (std::int64_t y = 0; y < m.L; ++y) {
        terms[y] = m.lambda[i * m.L + y] + s.scores(t)[y] + beta[y];
        const double p = std::exp(s.alpha(t - 1)[i] + terms[y] - log_z);
        if (G) G[i * m.Lp + y] += weight * p;
        if (squares) squares[i * m.Lp + y] += weight * p * p;
      }
      next[i] = log_sum_exp(terms.data(), m.L);
    }
    beta.swap(next);
  }
}

// After sequence_forward. marginals(t)[y] = P(y_t = y). G[L][Lp] gains weight * P(y_{t-1}, y_t) summed
// over t, and squares[L][Lp] weight * P^2, where they are not null. work: [2][Lp].
PROXQN_INLINE void sequence_backward(const PairFactors& m, const Sequence& s, double weight,
                                     Rows marginals, double* G, double* squares, double* work) {
  if (s.log_domain) return log_marginals(m, s, weight, marginals, G, squares);
  const std::int64_t L = m.L, Lp = m.Lp;
  double* beta = work;
  double* v = work + Lp;
  for (std::int64_t y = 0; y < Lp; ++y) beta[y] = 1.0;
  for (std::int64_t t = s.length - 1; t >= 0; --t) {
    const double* A = s.alpha(t);
    const double* x = s.scores(t);
    double* p = marginals(t);
    double8 total{};
    for (std::int64_t y = 0; y < Lp; y += 8) total += load8(A + y) * load8(beta + y);
    const double normaliser = 1.0 / sum(total);
    for (std::int64_t y = 0; y < Lp; y += 8)
      store8(p + y, load8(A + y) * load8(beta + y) * normaliser);
    if (t == 0) break;
    double high = x[0];
    for (std::int64_t y = 1; y < L; ++y) high = max(high, x[y]);
    const double factor = s.inverse[t] * normaliser;
    for (std::int64_t y = 0; y < Lp; y += 8)
      store8(v + y, exp8(min(load8(x + y) - high, double8{})) * load8(beta + y) * factor);
    std::fill(v + L, v + Lp, 0.0);
    if (G) {
      const double* before = s.alpha(t - 1);
      for (std::int64_t i = 0; i < L; ++i)
        for (std::int64_t y = 0; y < Lp; y += 8) {
          const std::int64_t at = i * Lp + y;
          const double8 q = before[i] * load8(m.forward.get() + at) * load8(v + y);
          store8(G + at, load8(G + at) + weight * q);
          if (squares) store8(squares + at, load8(squares + at) + weight * q * q);
        }
    }
    row_product(v, m.backward.get(), L, Lp, beta);
  }
}

}  // namespace proxqn::chain
