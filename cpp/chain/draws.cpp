#include "chain/draws.hpp"

#include <algorithm>
#include <cmath>

#include "base/exponential.hpp"
#include "base/parallel.hpp"
#include "base/random.hpp"
#include "base/simd.hpp"
#include "chain/position.hpp"
#include "chain/transitions.hpp"

namespace proxqn::chain {

// The filter A_t(y) = P(y_t = y | x_1..x_t), [T][Lp], one sequence at a time; reached[Lp] is for its use.
template <class S>
PROXQN_INLINE void filter(const ChainOf<S>& c, const Transitions<double>& m, std::int64_t slot,
                          std::int64_t step, std::int64_t T, double* reached, double* A) {
  const std::int64_t L = c.n_labels, Lp = m.padded_labels;
  std::fill(reached, reached + L, 1.0);
  std::fill(reached + L, reached + Lp, 0.0);
  for (std::int64_t t = 0; t < T; ++t, slot += step) {
    double* a = A + t * Lp;
    if constexpr (ChainOf<S>::kRows)
      for (std::int64_t y = 0; y < Lp; y += kLanes) store8(a + y, load8(c.scores + c.at(y, slot)));
    else
      for (std::int64_t y = 0; y < L; ++y) a[y] = c.scores[c.at(y, slot)];
    std::fill(a + L, a + Lp, a[0]);
    double8 high = load8(a), total{};
    for (std::int64_t y = kLanes; y < Lp; y += kLanes) high = max(high, load8(a + y));
    const double highest = largest(high);
    if (t > 0) product(a - Lp, m.forward.get(), m.listed_forward, L, Lp, reached);
    for (std::int64_t y = 0; y < Lp; y += kLanes) {
      const double8 v = exp8(load8(a + y) - highest) * load8(reached + y);
      total += v;
      store8(a + y, v);
    }
    const double all = sum(total);
    for (std::int64_t y = 0; y < Lp; y += kLanes) store8(a + y, load8(a + y) / all);
  }
}

// Cumulative sums of A_t(y) exp Lambda(y, next) over eights of labels, one list for each next label that
// a draw has. Within its eight a draw adds up one by one.
class Conditional {
 public:
  Conditional(const Transitions<double>& m, std::int64_t L)
      : m_(m), L_(L), n_(m.padded_labels / kLanes), end_(m.padded_labels, 1.0), sums_((L + 1) * n_),
        known_(L + 1) {}
  void forget() { std::fill(known_.begin(), known_.end(), 0); }
  PROXQN_INLINE std::int32_t draw(const double* a, std::int32_t next, double u) {
    const double* onward = next < L_ ? m_.backward.get() + next * m_.padded_labels : end_.data();
    double* sums = sums_.data() + next * n_;
    if (!known_[next]) {
      double total = 0.0;
      for (std::int64_t i = 0; i < n_; ++i)
        sums[i] = total += sum(load8(a + i * kLanes) * load8(onward + i * kLanes));
      known_[next] = 1;
    }
    const double at = u * sums[n_ - 1];
    std::int64_t eight = 0;
    while (eight < n_ - 1 && sums[eight] <= at) ++eight;
    double below = eight > 0 ? sums[eight - 1] : 0.0;
    std::int64_t y = eight * kLanes;
    const std::int64_t last = std::min(L_, y + kLanes) - 1;
    while (y < last && (below += a[y] * onward[y]) <= at) ++y;
    return static_cast<std::int32_t>(y);
  }

 private:
  const Transitions<double>& m_;
  std::int64_t L_, n_;        // n eights
  std::vector<double> end_;   // [Lp] ones: nothing comes after the end of a sequence
  std::vector<double> sums_;  // [L+1][n], the last for the end
  std::vector<std::uint8_t> known_;
};

// Draw 2 n_pairs labelings, backwards: paths [2 n_pairs][T].
PROXQN_INLINE void draw_paths(const double* A, const Transitions<double>& m, std::int64_t L,
                              std::int64_t T, std::int64_t n, SplitMix64& random,
                              Conditional& conditional, std::int32_t* paths) {
  for (std::int64_t t = T - 1; t >= 0; --t) {
    conditional.forget();
    for (std::int64_t i = 0; i < n; ++i) {
      const auto next = t + 1 < T ? paths[i * T + t + 1] : static_cast<std::int32_t>(L);
      paths[i * T + t] = conditional.draw(A + t * m.padded_labels, next, random.uniform());
    }
  }
}

static void add_runs(const std::int32_t* paths, std::int64_t n_pairs, std::int64_t T,
                     std::int64_t L, std::int64_t slot, std::int64_t step, float scale,
                     Draws& out) {
  for (std::int64_t pair = 0; pair < n_pairs; ++pair) {
    const std::int32_t *y = paths + 2 * pair * T, *z = y + T;
    std::int32_t run = -1;
    for (std::int64_t t = 0; t < T; ++t) {
      const bool before = t > 0 && y[t - 1] != z[t - 1], here = y[t] != z[t];
      if (here && !before) {
        run = static_cast<std::int32_t>(out.scale.size());
        out.scale.push_back(scale);
      }
      if (here) {
        out.slot.push_back(static_cast<std::int32_t>(slot + t * step));
        out.run.push_back(run);
        out.first.push_back(y[t]);
        out.second.push_back(z[t]);
      }
      if (t > 0 && (here || before)) {
        out.edge_run.push_back(run);
        out.edge_first.push_back(static_cast<std::int32_t>(y[t - 1] * L + y[t]));
        out.edge_second.push_back(static_cast<std::int32_t>(z[t - 1] * L + z[t]));
      }
    }
  }
}

template <class S>
PROXQN_INLINE void draw_batches(const ChainOf<S>& c, const Transitions<double>& m,
                                std::int64_t first, std::int64_t last, const Sampling& how,
                                Draws& out) {
  Conditional conditional(m, c.n_labels);
  std::vector<double> A, reached(m.padded_labels);
  std::vector<std::int32_t> paths;
  for (std::int64_t b = first; b < last; ++b)
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::int64_t T = c.lane_length[b * kLanes + lane];
      if (T == 0) continue;
      const std::int64_t sequence = c.lane_sequence[b * kLanes + lane];
      SplitMix64 random{how.seed +
                        0xD1342543DE82EF95ULL * static_cast<std::uint64_t>(sequence + 1)};
      if (how.share < 1.0 && random.uniform() >= how.share) continue;
      const double weight = c.weights ? c.weights[sequence] : 1.0;
      const double n_draws = 2.0 * static_cast<double>(how.n_pairs) * how.share;
      A.resize(T * m.padded_labels);
      paths.resize(2 * how.n_pairs * T);
      filter(c, m, c.first[b] + lane, c.width[b], T, reached.data(), A.data());
      draw_paths(A.data(), m, c.n_labels, T, 2 * how.n_pairs, random, conditional, paths.data());
      add_runs(paths.data(), how.n_pairs, T, c.n_labels, c.first[b] + lane, c.width[b],
               static_cast<float>(std::sqrt(weight / n_draws)), out);
    }
}
PROXQN_CLONES void draw_chunk(const ChainOf<double>& c, const Transitions<double>& m,
                              std::int64_t first, std::int64_t last, const Sampling& how,
                              Draws& out) {
  draw_batches(c, m, first, last, how, out);
}
PROXQN_CLONES void draw_chunk(const ChainOf<float>& c, const Transitions<double>& m,
                              std::int64_t first, std::int64_t last, const Sampling& how,
                              Draws& out) {
  draw_batches(c, m, first, last, how, out);
}

// Runs are numbered in the order of the parts.
static Draws join(std::vector<Draws>& parts, int n_jobs) {
  struct Sizes {
    std::size_t tokens = 0, edges = 0, runs = 0;
  };
  std::vector<Sizes> before{{}};
  for (const Draws& part : parts)
    before.push_back({before.back().tokens + part.slot.size(),
                      before.back().edges + part.edge_run.size(),
                      before.back().runs + part.scale.size()});
  Draws all;
  for (auto* tokens : {&all.slot, &all.run, &all.first, &all.second})
    tokens->resize(before.back().tokens);
  for (auto* edges : {&all.edge_run, &all.edge_first, &all.edge_second})
    edges->resize(before.back().edges);
  all.scale.resize(before.back().runs);
  parallel_for(static_cast<std::int64_t>(parts.size()), n_jobs, [&](std::int64_t i) {
    Draws& part = parts[i];
    const Sizes& at = before[i];
    for (auto& run : part.run) run += static_cast<std::int32_t>(at.runs);
    for (auto& run : part.edge_run) run += static_cast<std::int32_t>(at.runs);
    const auto copy = [](const auto& from, auto& to, std::size_t place) {
      std::copy(from.begin(), from.end(), to.begin() + static_cast<std::ptrdiff_t>(place));
    };
    copy(part.slot, all.slot, at.tokens);
    copy(part.run, all.run, at.tokens);
    copy(part.first, all.first, at.tokens);
    copy(part.second, all.second, at.tokens);
    copy(part.edge_run, all.edge_run, at.edges);
    copy(part.edge_first, all.edge_first, at.edges);
    copy(part.edge_second, all.edge_second, at.edges);
    copy(part.scale, all.scale, at.runs);
    part = Draws{};
  });
  return all;
}

template <class S>
Draws draw_all(const ChainOf<S>& c, const Sampling& how, int n_jobs) {
  const Transitions<double> m(c.transitions, c.n_labels);
  std::vector<Draws> parts(c.n_chunks);
  parallel_for(c.n_chunks, n_jobs, [&](std::int64_t i) {
    draw_chunk(c, m, c.chunk[i], c.chunk[i + 1], how, parts[i]);
  });
  return join(parts, n_jobs);
}

Draws draw(const Chain& c, const Sampling& how, int n_jobs) { return draw_all(c, how, n_jobs); }
Draws draw(const ChainOf<float>& c, const Sampling& how, int n_jobs) {
  return draw_all(c, how, n_jobs);
}

}  // namespace proxqn::chain
