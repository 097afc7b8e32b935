// Blockwise coordinate descent (block_descent.hpp) on linear chains.
#pragma once
#include <cstdint>
#include <vector>

#include "base/aligned_array.hpp"
#include "chain/one_sequence.hpp"
#include "rivals/block_descent.hpp"

namespace proxqn::rivals {

struct ChainBlockModel {
  chain::PairFactors pairs;
  const std::int64_t* sample_start;  // [n_samples+1] into rows and labels
  const std::int32_t* rows;          // the rows of each sample, in order
  const std::int32_t* labels;        // their true labels
  const std::int32_t* row_label;     // [n_rows]
  const double* admitted;            // [L][L] or null
  double *scores, *marginals, *losses;
  Scratch alpha, inverse, work;
  std::vector<std::uint8_t> log_domain;
  std::int64_t n_samples;
  ChainBlockModel(std::int64_t L, std::int64_t n_samples_, std::int64_t n_rows)
      : pairs(L), alpha(scratch(n_rows * whole_eights(L))), inverse(scratch(n_rows)),
        work(scratch(2 * whole_eights(L))), log_domain(n_samples_, 0), n_samples(n_samples_) {}

  PROXQN_INLINE chain::Sequence sequence(std::int64_t i) {
    const std::int64_t first = sample_start[i], Lp = pairs.Lp;
    return {sample_start[i + 1] - first,     labels + first,        {scores, rows + first, Lp},
            {alpha.get(), rows + first, Lp}, inverse.get() + first, log_domain[i] != 0};
  }
  PROXQN_INLINE void forward(std::int64_t i) {
    chain::Sequence s = sequence(i);
    losses[i] = chain::sequence_forward(pairs, s);
    log_domain[i] = s.log_domain;
  }
  PROXQN_INLINE void backward(std::int64_t i, double weight = 1.0, double* G = nullptr,
                              double* squares = nullptr) {
    const chain::Sequence s = sequence(i);
    chain::sequence_backward(pairs, s, weight, {marginals, s.scores.index, pairs.Lp}, G, squares,
                             work.get());
  }
  PROXQN_INLINE void subtract_truth(std::int64_t row, double v, double* g) const {
    g[row_label[row]] -= v;
  }
  PROXQN_INLINE BlockMove descend_own(BlockState& s, const BlockRule& rule);
};

std::int64_t run_bcd(BlockState& s, ChainBlockModel& model, const BlockRule& rule,
                     const std::int64_t* blocks, std::int64_t n, std::int64_t budget,
                     double* violation, double* excess);
void run_forward_all(BlockState& s, ChainBlockModel& model);

}  // namespace proxqn::rivals
