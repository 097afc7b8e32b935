// Stochastic gradient descent (sgd.hpp) on linear chains, one sequence at a time.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/aligned_array.hpp"
#include "chain/one_sequence.hpp"
#include "rivals/sgd.hpp"

namespace proxqn::rivals {

struct ChainSampleModel {
  chain::PairFactors pairs;
  const std::int64_t* sample_start;
  const std::int32_t* labels;  // [n_rows] true labels
  const double* admitted;      // [L][L] or null
  std::int64_t longest;
  Scratch scores, alpha, marginals, inverse, expected, work;
  std::vector<double> received;  // [L][L] q of the transitions
  ChainSampleModel(std::int64_t L, const std::int64_t* start, const std::int32_t* labels_,
                   const double* admitted_, std::int64_t longest_)
      : pairs(L), sample_start(start), labels(labels_), admitted(admitted_), longest(longest_),
        received(L * L, 0.0) {
    const std::int64_t Lp = pairs.Lp;
    scores = scratch(longest * Lp), alpha = scratch(longest * Lp);
    marginals = scratch(longest * Lp), inverse = scratch(longest);
    expected = scratch(L * Lp), work = scratch(2 * Lp);
  }
  double* x() { return scores.get(); }
  double* r() { return marginals.get(); }
  PROXQN_INLINE chain::Sequence sequence(std::int64_t i) {
    const std::int64_t first = sample_start[i], Lp = pairs.Lp;
    return {sample_start[i + 1] - first, labels + first, {scores.get(), nullptr, Lp},
            {alpha.get(), nullptr, Lp},  inverse.get(),  false};
  }
  PROXQN_INLINE double loss(std::int64_t i) {
    chain::Sequence s = sequence(i);
    return chain::sequence_forward(pairs, s);
  }
  PROXQN_INLINE void residuals(std::int64_t i) {
    chain::Sequence s = sequence(i);
    chain::sequence_forward(pairs, s);
    std::fill(expected.get(), expected.get() + pairs.L * pairs.Lp, 0.0);
    const chain::Rows p{marginals.get(), nullptr, pairs.Lp};
    chain::sequence_backward(pairs, s, 1.0, p, expected.get(), nullptr, work.get());
    for (std::int64_t t = 0; t < s.length; ++t) p(t)[s.labels[t]] -= 1.0;
  }
  PROXQN_INLINE void penalise_own(double u) {
    for (std::size_t j = 0; j < received.size(); ++j) {
      const double w = pairs.lambda[j], q = received[j];
      const double after = w > 0.0 ? max(w - (u + q), 0.0) : (w < 0.0 ? min(w + (u - q), 0.0) : w);
      pairs.lambda[j] = after;
      received[j] += after - w;
    }
  }
  PROXQN_INLINE void descend_own(std::int64_t i, double eta, double pull, double u) {
    const std::int64_t L = pairs.L, first = sample_start[i];
    if (pull > 0.0)
      for (std::int64_t j = 0; j < L * L; ++j) pairs.lambda[j] /= 1.0 + pull;
    for (std::int64_t t = first + 1; t < sample_start[i + 1]; ++t)
      expected[labels[t - 1] * pairs.Lp + labels[t]] -= 1.0;
    for (std::int64_t a = 0; a < L; ++a)
      for (std::int64_t b = 0; b < L; ++b)
        if (!admitted || admitted[a * L + b] != 0.0)
          pairs.lambda[a * L + b] -= eta * expected[a * pairs.Lp + b];
    penalise_own(u);
    pairs.refresh();
  }
};

void run_sgd(ChainSampleModel& model, const SampleRows& d, LazyWeights& lazy,
             const Schedule& schedule, const std::int64_t* order, std::int64_t n, std::int64_t& k,
             double& u, std::int32_t& stamp);
double run_losses(ChainSampleModel& model, const SampleRows& d, LazyWeights& lazy,
                  const std::int64_t* order, std::int64_t n);

}  // namespace proxqn::rivals
