// Stochastic steps (saga.hpp) on linear chains; the weights beyond the columns are the transitions.
#pragma once
#include <cstdint>

#include "base/aligned_array.hpp"
#include "chain/one_sequence.hpp"
#include "stochastic/saga.hpp"

namespace proxqn::stochastic {

struct ChainModel {
  chain::PairFactors pairs;
  const std::int64_t* row_start;
  const std::int32_t* labels;  // [n_rows] true labels

  // Forward variables and normalisers of the rows, and two rows for the backward pass.
  std::int64_t room_size(std::int64_t rows, std::int64_t samples) const {
    return rows * (pairs.Lp + 8) + samples * 2 * pairs.Lp;
  }
  double cost() const { return static_cast<double>(pairs.L) * (3.0 * pairs.L + 40.0); }

  PROXQN_INLINE void begin(const double* own, std::int64_t width) {
    for (std::int64_t i = 0; i < pairs.L; ++i)
      std::copy(own + i * width, own + i * width + pairs.L, pairs.lambda.begin() + i * pairs.L);
    pairs.refresh();
  }
  PROXQN_INLINE chain::Sequence sequence(std::int64_t i, double* x, double* room) const {
    const std::int64_t n = row_start[i + 1] - row_start[i], Lp = pairs.Lp;
    return {n, labels + row_start[i], {x, nullptr, Lp}, {room, nullptr, Lp}, room + n * Lp, false};
  }
  PROXQN_INLINE double loss(std::int64_t i, double* x, double* room) const {
    chain::Sequence s = sequence(i, x, room);
    return chain::sequence_forward(pairs, s);
  }
  PROXQN_INLINE double residuals(std::int64_t i, double* x, double* p, double* own,
                                 double* room) const {
    chain::Sequence s = sequence(i, x, room);
    const double loss = chain::sequence_forward(pairs, s);
    const chain::Rows rows{p, nullptr, pairs.Lp};
    double* work = room + s.length * (pairs.Lp + 8);
    chain::sequence_backward(pairs, s, 1.0, rows, own, nullptr, work);
    for (std::int64_t t = 0; t < s.length; ++t) {
      rows(t)[s.labels[t]] -= 1.0;
      if (t > 0) own[s.labels[t - 1] * pairs.Lp + s.labels[t]] -= 1.0;
    }
    return loss;
  }
};

double work(Saga<ChainModel>& saga, const BlockData& d, Memory& m, const Steps& steps,
            const Job& job);

}  // namespace proxqn::stochastic
