// Inference on linear chains: forward and backward (viterbi.hpp has the best path).
//
// Scaling. With m_t = max_y x_t(y) and Lmax = max Lambda, the recursion
//     a_t(y) = exp(x_t(y) - m_t) sum_y' A_{t-1}(y') exp(Lambda(y',y) - Lmax),   A_t = a_t / c_t,  c_t = sum_y a_t(y)
// keeps every A_t(y) >= exp(-R), R = max_t(max_y x_t - min_y x_t) + (max Lambda - min Lambda). If R
// is at most 600 nothing underflows and the scaled recursion is exact for any length; otherwise the
// batch is done again in the log domain.
#pragma once
#include <cstdint>
#include <functional>

#include "chain/layout.hpp"

namespace proxqn::chain {

constexpr double kSafeRange = 600.0;

// losses[i] = log Z_i - score of the true path (or log Z_i without labels).
// False where a batch was out of range: in float the losses are then worthless, in double they come
// from the log domain.
bool forward(const Chain& c, int n_jobs, double* losses);
bool forward(const ChainOf<float>& c, int n_jobs, double* losses);

// After forward: alpha becomes weight * (marginal - true label), and
// pairs[L][L] = sum over samples of weight * E[label pair counts].
void backward(const Chain& c, int n_jobs, double* pairs);
void backward(const ChainOf<float>& c, int n_jobs, double* pairs);

// Writes the scores of slots [first, last) over zeros [L][last - first].
using PutScores = std::function<void(std::int64_t first, std::int64_t last, double* scores)>;

// Both at once, in windows of slots whose scores are put when they are wanted: no array of all scores is
// needed.
void evaluate(const Chain& c, int n_jobs, const PutScores& put, double* losses, double* pairs);

}  // namespace proxqn::chain
