// Forward and backward in the log domain: slow, safe for scores of any size; one sequence at a time.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "chain/layout.hpp"

namespace proxqn::chain {

inline double log_sum_exp(const double* v, std::int64_t n) {
  const double high = *std::max_element(v, v + n);
  double total = 0.0;
  for (std::int64_t i = 0; i < n; ++i) total += std::exp(v[i] - high);
  return high + std::log(total);
}

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

inline double path_score(const Chain& c, Lane s) {
  double total = 0.0;
  for (std::int64_t t = 0; t < s.length; ++t) {
    const std::int64_t y = c.labels[s.slot(t)];
    total += c.scores[c.score_at(y, s.slot(t))];
    if (t > 0) total += c.transitions[c.labels[s.slot(t - 1)] * c.n_labels + y];
  }
  return total;
}

}  // namespace proxqn::chain
