#include "rivals/chain_blocks.hpp"

#include <cmath>
#include <limits>

namespace proxqn::rivals {

// The transitions: g = E[pair counts] - counts, h = sum_t P(1 - P). Every sample is affected.
PROXQN_INLINE BlockMove ChainBlockModel::descend_own(BlockState& s, const BlockRule& rule) {
  const std::int64_t L = pairs.L, Lp = pairs.Lp;
  auto expected = scratch(L * Lp), squares = scratch(L * Lp);
  for (std::int64_t i = 0; i < n_samples; ++i) {
    backward(i, s.weight(i), expected.get(), squares.get());
    s.stale[i] = 0;
    ++s.counts.backward;
  }
  std::vector<double> g(L * L), h(L * L), d(L * L);
  for (std::int64_t a = 0; a < L; ++a)
    for (std::int64_t b = 0; b < L; ++b) {
      g[a * L + b] = expected[a * Lp + b];
      h[a * L + b] = expected[a * Lp + b] - squares[a * Lp + b];
    }
  for (std::int64_t i = 0; i < n_samples; ++i)
    for (std::int64_t t = sample_start[i] + 1; t < sample_start[i + 1]; ++t)
      g[labels[t - 1] * L + labels[t]] -= s.weight(i);
  const std::vector<double> w = pairs.lambda;
  BlockMove out = block_direction(rule, w.data(), g.data(), h.data(), admitted, L * L, d.data());
  if (!(out.moves && out.slope < 0.0)) return out;
  s.before.assign(losses, losses + n_samples);
  double size = 0.0;
  for (std::int64_t i = 0; i < n_samples; ++i) size += s.weight(i) * std::fabs(losses[i]);
  const double alpha =
      block_search(rule, w.data(), d.data(), L * L, out.slope, size, [&](double step) {
        for (std::int64_t j = 0; j < L * L; ++j) pairs.lambda[j] = w[j] + step * d[j];
        pairs.refresh();
        double change = 0.0;
        for (std::int64_t i = 0; i < n_samples; ++i) {
          run_forward(s, *this, i);
          change += s.weight(i) * (losses[i] - s.before[i]);
        }
        return change;
      });
  s.counts.refused += alpha == 0.0;
  for (double v : pairs.lambda)
    if (v != 0.0) out.excess = std::numeric_limits<double>::infinity();
  return out;
}

PROXQN_CLONES static std::int64_t run_bcd_cloned(BlockState& s, ChainBlockModel& model,
                                                 const BlockRule& rule, const std::int64_t* blocks,
                                                 std::int64_t n, std::int64_t budget,
                                                 double* violation, double* excess) {
  return descend_blocks(s, model, rule, blocks, n, budget, violation, excess);
}
std::int64_t run_bcd(BlockState& s, ChainBlockModel& model, const BlockRule& rule,
                     const std::int64_t* blocks, std::int64_t n, std::int64_t budget,
                     double* violation, double* excess) {
  return run_bcd_cloned(s, model, rule, blocks, n, budget, violation, excess);
}

PROXQN_CLONES static void run_forward_all_cloned(BlockState& s, ChainBlockModel& model) {
  model.pairs.refresh();
  for (std::int64_t i = 0; i < model.n_samples; ++i) run_forward(s, model, i);
}
void run_forward_all(BlockState& s, ChainBlockModel& model) { run_forward_all_cloned(s, model); }

}  // namespace proxqn::rivals
