#include "lattice/forward_backward.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/aligned_array.hpp"
#include "base/exponential.hpp"
#include "base/parallel.hpp"
#include "base/simd.hpp"
#include "chain/forward_backward.hpp"
#include "chain/one_sequence.hpp"

namespace proxqn::lattice {

using namespace chain;

struct Run {  // one pass over a sequence: all labels, or the twin's
  std::int64_t length, row;
  const std::int32_t* pattern;  // [length]
  const std::uint8_t* allowed;  // [length][L] or null
  PROXQN_INLINE bool may(std::int64_t t, std::int64_t y, std::int64_t L) const {
    return !allowed || allowed[t * L + y];
  }
};

// What a thread works with: its own copy of the shared matrix, and the scores of one sequence.
struct LatticeWork {
  const Lattice& l;
  PairFactors m;
  std::vector<double> x;                               // [longest][Lp]
  std::vector<std::pair<std::int64_t, double>> saved;  // entries of the matrix as they were
  LatticeWork(const Lattice& lattice, std::int64_t longest)
      : l(lattice), m(lattice.chain.n_labels), x(longest * m.Lp, 0.0) {
    std::copy(l.chain.transitions, l.chain.transitions + m.L * m.L, m.lambda.begin());
    m.refresh();
  }
  // The matrix of a step: change the entries of the pattern, and put them back.
  PROXQN_INLINE void enter(std::int64_t g) {
    if (g < 0) return;
    const std::int32_t* place = l.edges->place.data();
    double* matrix = m.forward.get();
    l.edges->each(g, [&](std::int64_t e, double, double factor) {
      saved.emplace_back(place[e], matrix[place[e]]);
      matrix[place[e]] *= factor;
    });
  }
  PROXQN_INLINE void leave() {
    for (auto k = saved.rbegin(); k != saved.rend(); ++k) m.forward[k->first] = k->second;
    saved.clear();
  }
  // Lambda + E of a step: [L][L].
  void log_step(std::int64_t g, double* out) const {
    std::copy(m.lambda.begin(), m.lambda.end(), out);
    if (g < 0) return;
    l.edges->each(g, [&](std::int64_t e, double score, double) { out[l.edges->pair[e]] += score; });
  }
  double step_range(std::int64_t g) const { return m.range + (g < 0 ? 0.0 : l.edges->range[g]); }
  void gather(const Lane& s) {
    const Chain& c = l.chain;
    for (std::int64_t y = 0; y < m.L; ++y)
      for (std::int64_t t = 0; t < s.length; ++t)
        x[t * m.Lp + y] = c.scores[y * c.stride + s.slot(t)];
  }
};

// --- forward -------------------------------------------------------------------------------------

__attribute__((noinline)) inline double run_forward_log(LatticeWork& w, const Run& r) {
  const std::int64_t L = w.m.L, Lp = w.m.Lp;
  std::vector<double> terms(L), lambda(L * L);
  for (std::int64_t t = 0; t < r.length; ++t) {
    double* a = w.l.alpha + (r.row + t) * Lp;
    if (t > 0) w.log_step(r.pattern[t], lambda.data());
    for (std::int64_t y = 0; y < L; ++y) {
      if (!r.may(t, y, L)) {
        a[y] = -std::numeric_limits<double>::infinity();
        continue;
      }
      a[y] = w.x[t * Lp + y];
      if (t == 0) continue;
      for (std::int64_t i = 0; i < L; ++i) terms[i] = a[i - Lp] + lambda[i * L + y];
      a[y] += log_sum_exp(terms.data(), L);
    }
  }
  return log_sum_exp(w.l.alpha + (r.row + r.length - 1) * Lp, L);
}

// log Z of the labelings that are possible; leaves alpha, inverse and log_domain of its rows.
PROXQN_INLINE double run_forward(LatticeWork& w, const Run& r) {
  const Lattice& l = w.l;
  const std::int64_t L = w.m.L, Lp = w.m.Lp;
  double shift = 0.0, range = 0.0, step_range = 0.0, totals = 0.0;
  Product<double> normaliser;
  for (std::int64_t t = 0; t < r.length; ++t) {
    const double* x = w.x.data() + t * Lp;
    double* a = l.alpha + (r.row + t) * Lp;
    double high = -std::numeric_limits<double>::infinity(), low = -high;
    for (std::int64_t y = 0; y < L; ++y)
      if (r.may(t, y, L)) high = max(high, x[y]), low = min(low, x[y]);
    range = max(range, high - low);
    if (t == 0) {
      std::fill(a, a + L, 1.0);
      std::fill(a + L, a + Lp, 0.0);
    } else {
      const std::int64_t g = r.pattern[t];
      step_range = max(step_range, w.step_range(g));
      w.enter(g);
      row_product(a - Lp, w.m.forward.get(), L, Lp, a);
      w.leave();
    }
    for (std::int64_t y = 0; y < Lp; y += 8)
      store8(a + y, load8(a + y) * exp8(min(load8(x + y) - high, double8{})));
    if (r.allowed)
      for (std::int64_t y = 0; y < L; ++y)
        if (!r.may(t, y, L)) a[y] = 0.0;
    const double total = row_sum(a, Lp), inverse = 1.0 / total;
    for (std::int64_t y = 0; y < Lp; y += 8) store8(a + y, load8(a + y) * inverse);
    l.inverse[r.row + t] = inverse;
    normaliser.multiply(total);
    shift += high;
    totals += total;
  }
  const bool unsafe = !(range + step_range <= kSafeRange) || std::isnan(totals);
  std::fill(l.log_domain + r.row, l.log_domain + r.row + r.length, unsafe);
  return unsafe ? run_forward_log(w, r) : shift + normaliser.log(0) + (r.length - 1) * w.m.largest;
}

static double lattice_path(const LatticeWork& w, const Lane& s, const Run& r) {
  double total = 0.0;
  for (std::int64_t t = 0, before = 0; t < s.length; ++t) {
    const std::int64_t y = w.l.chain.labels[s.slot(t)];
    total += w.x[t * w.m.Lp + y];
    if (t > 0) {
      const std::int64_t pair = before * w.m.L + y;
      total += w.m.lambda[pair] + w.l.edges->at(r.pattern[t], pair);
    }
    before = y;
  }
  return total;
}

static std::int64_t longest_in(const Chain& c, std::int64_t chunk) {
  std::int64_t longest = 0;
  for (std::int64_t b = c.chunk[chunk]; b < c.chunk[chunk + 1]; ++b)
    longest = std::max<std::int64_t>(longest, c.length[b]);
  return longest;
}

// body(lane, sequence) for the sequences of a chunk.
template <class Body>
PROXQN_INLINE void each_sequence(const Chain& c, std::int64_t chunk, const Body& body) {
  for (std::int64_t b = c.chunk[chunk]; b < c.chunk[chunk + 1]; ++b)
    for (int k = 0; k < c.width[b]; ++k) {
      const Lane s = lane_of(c, b, k);
      if (s.length > 0) body(s, static_cast<std::int64_t>(c.lane_sequence[b * kLanes + k]));
    }
}

static Run free_run(const Lattice& l, std::int64_t sequence) {
  const std::int64_t row = l.token_start[sequence];
  return {l.token_start[sequence + 1] - row, row, l.pattern + row, nullptr};
}
static bool has_twin(const Lattice& l, std::int64_t sequence) {
  return l.twin && l.twin[sequence] >= 0;
}
static Run twin_run(const Lattice& l, std::int64_t sequence) {
  Run r = free_run(l, sequence);
  r.row = l.twin[sequence];
  r.allowed = l.allowed + (r.row - l.n_tokens) * l.chain.n_labels;
  return r;
}

PROXQN_CLONES void forward_chunk(const Lattice& l, std::int64_t chunk, double* losses) {
  LatticeWork w(l, longest_in(l.chain, chunk));
  each_sequence(l.chain, chunk, [&](const Lane& s, std::int64_t sequence) {
    w.gather(s);
    const Run r = free_run(l, sequence);
    losses[sequence] = run_forward(w, r);
    if (has_twin(l, sequence)) losses[sequence] -= run_forward(w, twin_run(l, sequence));
    else if (l.chain.labels) losses[sequence] -= lattice_path(w, s, r);
  });
}

void forward(const Lattice& l, int n_jobs, double* losses) {
  parallel_for(l.chain.n_chunks, n_jobs,
               [&](std::int64_t chunk) { may_throw([&] { forward_chunk(l, chunk, losses); }); });
}

// --- backward ------------------------------------------------------------------------------------

__attribute__((noinline)) inline void run_backward_log(LatticeWork& w, const Run& r, const Lane& s,
                                                       double weight, double* G) {
  const std::int64_t L = w.m.L, Lp = w.m.Lp;
  const Chain& c = w.l.chain;
  std::vector<double> beta(L, 0.0), next(L), terms(L), lambda(L * L);
  const double log_z = log_sum_exp(w.l.alpha + (r.row + r.length - 1) * Lp, L);
  for (std::int64_t t = r.length - 1; t >= 0; --t) {
    const double* a = w.l.alpha + (r.row + t) * Lp;
    double* v = w.l.onward + (r.row + t) * Lp;
    for (std::int64_t y = 0; y < L; ++y) {
      const double p = r.may(t, y, L) ? std::exp(a[y] + beta[y] - log_z) : 0.0;
      c.alpha[y * c.stride + s.slot(t)] += weight * p;
      v[y] = r.may(t, y, L) ? w.x[t * Lp + y] + beta[y] - log_z
                            : -std::numeric_limits<double>::infinity();
    }
    if (t == 0) break;
    w.log_step(r.pattern[t], lambda.data());
    for (std::int64_t i = 0; i < L; ++i) {
      for (std::int64_t y = 0; y < L; ++y) {
        terms[y] = lambda[i * L + y] + v[y];
        G[i * Lp + y] += weight * std::exp(a[i - Lp] + terms[y]);
      }
      next[i] = log_sum_exp(terms.data(), L) + log_z;
    }
    beta.swap(next);
  }
}

// Adds weight * P(y_t = y) to the residuals and weight * P(y_{t-1}, y_t) to G [L][Lp].
PROXQN_INLINE void run_backward(LatticeWork& w, const Run& r, const Lane& s, double weight,
                                double* G, double* beta) {
  const Lattice& l = w.l;
  if (l.log_domain[r.row]) return run_backward_log(w, r, s, weight, G);
  const std::int64_t L = w.m.L, Lp = w.m.Lp;
  const Chain& c = l.chain;
  for (std::int64_t y = 0; y < Lp; ++y) beta[y] = y < L ? 1.0 : 0.0;
  for (std::int64_t t = r.length - 1; t >= 0; --t) {
    const double* A = l.alpha + (r.row + t) * Lp;
    const double* x = w.x.data() + t * Lp;
    double* v = l.onward + (r.row + t) * Lp;
    double8 total{};
    for (std::int64_t y = 0; y < Lp; y += 8) total += load8(A + y) * load8(beta + y);
    const double normaliser = 1.0 / sum(total);  // rounding does not add up over t
    for (std::int64_t y = 0; y < L; ++y)
      c.alpha[y * c.stride + s.slot(t)] += weight * (A[y] * beta[y] * normaliser);
    if (t == 0) break;
    double high = -std::numeric_limits<double>::infinity();
    for (std::int64_t y = 0; y < L; ++y)
      if (r.may(t, y, L)) high = max(high, x[y]);
    const double factor = l.inverse[r.row + t] * normaliser;
    for (std::int64_t y = 0; y < Lp; y += 8)
      store8(v + y, exp8(min(load8(x + y) - high, double8{})) * load8(beta + y) * factor);
    for (std::int64_t y = 0; y < L; ++y)
      if (!r.may(t, y, L)) v[y] = 0.0;
    const std::int64_t g = r.pattern[t];
    w.enter(g);
    for (std::int64_t i = 0; i < L; ++i) {
      const double* row = w.m.forward.get() + i * Lp;
      const double left = weight * A[i - Lp];
      double8 ahead{};
      for (std::int64_t y = 0; y < Lp; y += 8) {
        const double8 q = load8(row + y) * load8(v + y);
        ahead += q;
        store8(G + i * Lp + y, load8(G + i * Lp + y) + left * q);
      }
      beta[i] = sum(ahead);
    }
    w.leave();
    for (std::int64_t y = 0; y < Lp; y += 8) store8(v + y, weight * load8(v + y));
  }
}

PROXQN_CLONES void backward_chunk(const Lattice& l, std::int64_t chunk, double* G) {
  LatticeWork w(l, longest_in(l.chain, chunk));
  auto beta = scratch(w.m.Lp);
  const Chain& c = l.chain;
  each_sequence(c, chunk, [&](const Lane& s, std::int64_t sequence) {
    const double weight = c.weights ? c.weights[sequence] : 1.0;
    w.gather(s);
    for (std::int64_t y = 0; y < w.m.L; ++y)
      for (std::int64_t t = 0; t < s.length; ++t) c.alpha[y * c.stride + s.slot(t)] = 0.0;
    run_backward(w, free_run(l, sequence), s, weight, G, beta.get());
    if (has_twin(l, sequence)) run_backward(w, twin_run(l, sequence), s, -weight, G, beta.get());
    else if (c.labels)
      for (std::int64_t t = 0; t < s.length; ++t)
        c.alpha[c.labels[s.slot(t)] * c.stride + s.slot(t)] -= weight;
  });
}

void backward(const Lattice& l, int n_jobs, double* pairs) {
  const std::int64_t L = l.chain.n_labels, Lp = whole_eights(L), size = L * Lp;
  std::vector<double> parts(l.chain.n_chunks * size, 0.0);
  parallel_for(l.chain.n_chunks, n_jobs, [&](std::int64_t chunk) {
    may_throw([&] { backward_chunk(l, chunk, parts.data() + chunk * size); });
  });
  std::fill(pairs, pairs + L * L, 0.0);
  for (std::int64_t chunk = 0; chunk < l.chain.n_chunks; ++chunk)
    for (std::int64_t i = 0; i < L; ++i)
      for (std::int64_t j = 0; j < L; ++j) pairs[i * L + j] += parts[chunk * size + i * Lp + j];
}

// --- the best path: ties go to the smaller label -------------------------------------------------

PROXQN_CLONES void viterbi_chunk(const Lattice& l, std::int64_t chunk, std::int32_t* path) {
  const Chain& c = l.chain;
  const std::int64_t L = c.n_labels, longest = longest_in(c, chunk);
  LatticeWork w(l, longest);
  std::vector<double> best(L), next(L), lambda(L * L);
  std::vector<std::int32_t> back(longest * L);
  each_sequence(c, chunk, [&](const Lane& s, std::int64_t sequence) {
    const Run r = free_run(l, sequence);
    w.gather(s);
    std::copy(w.x.begin(), w.x.begin() + L, best.begin());
    for (std::int64_t t = 1; t < s.length; ++t) {
      w.log_step(r.pattern[t], lambda.data());
      std::int32_t* from = back.data() + t * L;
      for (std::int64_t y = 0; y < L; ++y) {
        next[y] = best[0] + lambda[y];
        from[y] = 0;
      }
      for (std::int64_t i = 1; i < L; ++i)
        for (std::int64_t y = 0; y < L; ++y) {
          const double candidate = best[i] + lambda[i * L + y];
          from[y] = candidate > next[y] ? static_cast<std::int32_t>(i) : from[y];
          next[y] = max(candidate, next[y]);
        }
      for (std::int64_t y = 0; y < L; ++y) best[y] = next[y] + w.x[t * w.m.Lp + y];
    }
    auto y = static_cast<std::int32_t>(std::max_element(best.begin(), best.end()) - best.begin());
    for (std::int64_t t = s.length - 1; t >= 0; --t) {
      path[s.slot(t)] = y;
      if (t > 0) y = back[t * L + y];
    }
  });
}

void viterbi(const Lattice& l, int n_jobs, std::int32_t* path) {
  parallel_for(l.chain.n_chunks, n_jobs,
               [&](std::int64_t chunk) { may_throw([&] { viterbi_chunk(l, chunk, path); }); });
}

}  // namespace proxqn::lattice
