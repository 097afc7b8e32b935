#include "chain/forks.hpp"

#include <vector>

#include "base/parallel.hpp"
#include "base/random.hpp"
#include "chain/filter.hpp"
#include "chain/fork_finder.hpp"
#include "chain/transitions.hpp"

namespace proxqn::chain {

template <class S>
PROXQN_INLINE void fork_batches(const ChainOf<S>& c, const Transitions<double>& m,
                                std::int64_t first, std::int64_t last, const Forking& how,
                                Draws& out) {
  ForkFinder forks(m, c.n_labels, how);
  std::vector<double> A, reached(m.padded_labels);
  for (std::int64_t b = first; b < last; ++b)
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::int64_t T = c.lane_length[b * kLanes + lane];
      if (T == 0) continue;
      const std::int64_t sequence = c.lane_sequence[b * kLanes + lane];
      SplitMix64 random{how.seed +
                        0xD1342543DE82EF95ULL * static_cast<std::uint64_t>(sequence + 1)};
      if (how.share < 1.0 && random.uniform() >= how.share) continue;
      const double weight = c.weights ? c.weights[sequence] : 1.0;
      const double carry = how.least * random.uniform();
      A.resize(T * m.padded_labels);
      filter(c, m, c.first[b] + lane, c.width[b], T, reached.data(), A.data());
      forks.find(A.data(), T, c.first[b] + lane, c.width[b], carry, weight / how.share, out);
    }
}
PROXQN_CLONES void fork_chunk(const ChainOf<double>& c, const Transitions<double>& m,
                              std::int64_t first, std::int64_t last, const Forking& how,
                              Draws& out) {
  fork_batches(c, m, first, last, how, out);
}
PROXQN_CLONES void fork_chunk(const ChainOf<float>& c, const Transitions<double>& m,
                              std::int64_t first, std::int64_t last, const Forking& how,
                              Draws& out) {
  fork_batches(c, m, first, last, how, out);
}

template <class S>
Draws fork_all(const ChainOf<S>& c, const Forking& how, int n_jobs) {
  const Transitions<double> m(c.transitions, c.n_labels);
  std::vector<Draws> parts(c.n_chunks);
  parallel_for(c.n_chunks, n_jobs, [&](std::int64_t i) {
    may_throw([&] { fork_chunk(c, m, c.chunk[i], c.chunk[i + 1], how, parts[i]); });
  });
  return join(parts, n_jobs);
}

Draws fork(const Chain& c, const Forking& how, int n_jobs) { return fork_all(c, how, n_jobs); }
Draws fork(const ChainOf<float>& c, const Forking& how, int n_jobs) {
  return fork_all(c, how, n_jobs);
}

}  // namespace proxqn::chain
