// Weights of (edge feature, label before, label): what they add to the transition scores of a step.
//
// Tokens with equal rows in the edge block share a pattern g, a sparse row of columns c and values x.
// A column has a list of (pair, score) with pair = before * L + after ascending, for its weights that
// are not zero, and a pattern adds E_g = sum_c x_c score_c to Lambda. Memory follows the weights and the
// patterns, never tokens or patterns times L^2. A coordinate is column * L^2 + pair. Derivatives come
// from the rows that lattice.hpp leaves:
//     P(y_{t-1} = i, y_t = j) = alpha_{t-1}(i) exp(Lambda(i,j) - Lmax) exp(E_g(i,j)) onward_t(j),
// or, for a sequence done in the log domain, the exponential of the sum of such logs.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "chain.hpp"
#include "column_sums.hpp"
#include "features.hpp"

namespace proxqn {

struct EdgeScores {  // the weights at the current step, and the patterns that use them
  std::int64_t n_patterns = 0;
  const std::int64_t* pattern_start = nullptr;    // [n_patterns+1]
  const std::int32_t* pattern_columns = nullptr;
  const double* pattern_values = nullptr;
  const std::int64_t* start = nullptr;            // [n_columns+1]
  const std::int32_t* pair = nullptr;             // ascending within a column
  std::vector<double> score, factor;              // of each weight, and its exponential
  std::vector<std::int32_t> place;                // of each pair in a matrix [L][Lp]
  std::vector<double> range;                      // [n_patterns] E_g has at most this range, with 0

  void put(const double* value, std::int64_t n_columns,
           std::int64_t L) {
    const std::int64_t n = start[n_columns], Lp = padded(L);
    place.resize(n);
    for (std::int64_t e = 0; e < n; ++e)
      place[e] = static_cast<std::int32_t>(pair[e] / L * Lp + pair[e] % L);
    score.resize(n);
    factor.resize(n);
    std::vector<double> spread(n_columns, 0.0);
    for (std::int64_t c = 0; c < n_columns; ++c) {
      double low = 0.0, high = 0.0, total = 0.0;
      for (std::int64_t e = start[c]; e < start[c + 1]; ++e) {
        score[e] = value[e];
        factor[e] = std::exp(score[e]);
        low = std::min(low, score[e]);
        high = std::max(high, score[e]);
        total += score[e];
      }
      spread[c] = std::isnan(total) ? total : high - low;  // a NaN stays visible
    }
    range.assign(n_patterns, 0.0);
    for (std::int64_t g = 0; g < n_patterns; ++g)
      for (std::int64_t k = pattern_start[g]; k < pattern_start[g + 1]; ++k)
        range[g] += std::fabs(pattern_values[k]) * spread[pattern_columns[k]];
  }
  // body(entry, score, factor) for all weights of a pattern; a pair may come more than once.
  template <class Body>
  PROXQN_INLINE void each(std::int64_t g, const Body& body) const {
    for (std::int64_t k = pattern_start[g]; k < pattern_start[g + 1]; ++k) {
      const std::int64_t c = pattern_columns[k];
      const double x = pattern_values[k];
      if (x == 1.0)
        for (std::int64_t e = start[c]; e < start[c + 1]; ++e) body(e, score[e], factor[e]);
      else
        for (std::int64_t e = start[c]; e < start[c + 1]; ++e)
          body(e, x * score[e], std::exp(x * score[e]));
    }
  }
  bool plain(std::int64_t g) const {
    for (std::int64_t k = pattern_start[g]; k < pattern_start[g + 1]; ++k)
      if (start[pattern_columns[k]] < start[pattern_columns[k] + 1]) return false;
    return true;
  }
  double at(std::int64_t g, std::int64_t which) const {
    double total = 0.0;
    if (g < 0) return total;
    for (std::int64_t k = pattern_start[g]; k < pattern_start[g + 1]; ++k) {
      const auto* last = pair + start[pattern_columns[k] + 1];
      const auto* found = std::lower_bound(pair + start[pattern_columns[k]], last, which);
      if (found < last && *found == which) total += pattern_values[k] * score[found - pair];
    }
    return total;
  }
};

struct Edges {
  std::int64_t n_labels;
  Features columns;              // "slots" are patterns
  const std::int64_t* row_start; // [n_patterns+1]
  const std::int32_t* rows;      // rows of the tokens that have the pattern; the token before: row - 1
};

struct LatticeRows {  // what forward and backward left, see lattice.hpp
  const double* alpha;             // [n_rows][Lp]
  const double* onward;            // [n_rows][Lp], times the weight unless in the log domain
  const std::uint8_t* log_domain;  // [n_rows]
  const double* weights;           // [n_rows]
  const double* lambda;            // [L][L]
};

// exp(Lambda - Lmax), rows padded with zeros: [L][Lp].
inline std::vector<double> pair_factors(const double* lambda, std::int64_t L) {
  const std::int64_t Lp = padded(L);
  const double largest = *std::max_element(lambda, lambda + L * L);
  std::vector<double> m(L * Lp, 0.0);
  for (std::int64_t i = 0; i < L; ++i)
    for (std::int64_t j = 0; j < L; ++j) m[i * Lp + j] = std::exp(lambda[i * L + j] - largest);
  return m;
}

// out[n] = sum over the column's tokens of x P(pair), for n pairs, ascending.
PROXQN_CLONES void edge_column_pairs(const Edges& d, const EdgeScores& s, const LatticeRows& r,
                                     const double* m, std::int64_t column,
                                     const std::int64_t* pairs, std::int64_t n, double* out) {
  const std::int64_t L = d.n_labels, Lp = padded(L);
  std::vector<double> sums(n), scores(L * L, 0.0), factors(L * L, 1.0);  // E_g and exp(E_g)
  std::vector<std::int32_t> before(n), after(n);
  for (std::int64_t q = 0; q < n; ++q) {
    before[q] = static_cast<std::int32_t>(pairs[q] / L);
    after[q] = static_cast<std::int32_t>(pairs[q] % L);
    out[q] = 0.0;
  }
  const double* values = d.columns.column_values(column);
  const std::int64_t first = d.columns.start[column];
  for (std::int64_t e = first; e < d.columns.start[column + 1]; ++e) {
    const std::int64_t g = d.columns.slots[e];
    const double x = values ? values[e - first] : 1.0;
    s.each(g, [&](std::int64_t k, double score, double factor) {
      scores[s.pair[k]] += score;
      factors[s.pair[k]] *= factor;
    });
    std::fill(sums.begin(), sums.end(), 0.0);
    bool any_scaled = false;
    for (std::int64_t k = d.row_start[g]; k < d.row_start[g + 1]; ++k) {
      const std::int64_t row = d.rows[k];
      const double* a = r.alpha + (row - 1) * Lp;
      const double* v = r.onward + row * Lp;
      if (r.log_domain[row]) {
        for (std::int64_t q = 0; q < n; ++q)
          out[q] += x * r.weights[row] *
                    std::exp(a[before[q]] + r.lambda[pairs[q]] + scores[pairs[q]] + v[after[q]]);
        continue;
      }
      any_scaled = true;
      for (std::int64_t q = 0; q < n; ++q) sums[q] += a[before[q]] * v[after[q]];
    }
    if (any_scaled)  // else a factor may have overflowed
      for (std::int64_t q = 0; q < n; ++q)
        out[q] += x * sums[q] * factors[pairs[q]] * m[before[q] * Lp + after[q]];
    s.each(g, [&](std::int64_t k, double, double) {
      scores[s.pair[k]] = 0.0;
      factors[s.pair[k]] = 1.0;
    });
  }
}

PROXQN_INLINE void add_outer(const double* a, double x, const double* v, std::int64_t L,
                             std::int64_t Lp, double* sums) {
  for (std::int64_t i = 0; i < L; ++i) {
    const double left = x * a[i];
    for (std::int64_t j = 0; j < Lp; j += 8)
      store8(sums + i * Lp + j, load8(sums + i * Lp + j) + left * load8(v + j));
  }
}

// The same for all pairs: out[L][Lp]. sums: [L][Lp] of scratch.
PROXQN_CLONES void edge_column_all(const Edges& d, const EdgeScores& s, const LatticeRows& r,
                                   const double* m, std::int64_t column, double* sums,
                                   double* out) {
  const std::int64_t L = d.n_labels, Lp = padded(L), size = L * Lp;
  std::vector<double> logs, scores;  // for the sequences in the log domain, if there are any
  std::fill(out, out + size, 0.0);
  const double* values = d.columns.column_values(column);
  const std::int64_t first = d.columns.start[column];
  for (std::int64_t e = first; e < d.columns.start[column + 1]; ++e) {
    const std::int64_t g = d.columns.slots[e];
    const double x = values ? values[e - first] : 1.0;
    const bool plain = s.plain(g);
    double* to = plain ? out : sums;
    bool any_scaled = false;
    if (!plain) std::fill(sums, sums + size, 0.0);
    for (std::int64_t k = d.row_start[g]; k < d.row_start[g + 1]; ++k) {
      const std::int64_t row = d.rows[k];
      const double* a = r.alpha + (row - 1) * Lp;
      const double* v = r.onward + row * Lp;
      if (!r.log_domain[row]) {
        add_outer(a, x, v, L, Lp, to);
        any_scaled = true;
        continue;
      }
      logs.resize(size, 0.0);
      scores.assign(L * L, 0.0);
      s.each(g, [&](std::int64_t k, double score, double) { scores[s.pair[k]] += score; });
      for (std::int64_t i = 0; i < L; ++i)
        for (std::int64_t j = 0; j < L; ++j)
          logs[i * Lp + j] += x * r.weights[row] *
                              std::exp(a[i] + r.lambda[i * L + j] + scores[i * L + j] + v[j]);
    }
    if (plain || !any_scaled) continue;
    s.each(g, [&](std::int64_t k, double, double factor) { sums[s.place[k]] *= factor; });
    for (std::int64_t i = 0; i < size; i += 8) store8(out + i, load8(out + i) + load8(sums + i));
  }
  for (std::int64_t i = 0; i < size; ++i) out[i] *= m[i];
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(logs.size()); ++i) out[i] += logs[i];
}

// Expected feature counts on given coordinates, ascending.
inline void edge_gradient(const Edges& d, const EdgeScores& s, const LatticeRows& r,
                          const std::int64_t* coordinates, std::int64_t n, int n_jobs,
                          double* out) {
  const std::int64_t size = d.n_labels * d.n_labels;
  const auto m = pair_factors(r.lambda, d.n_labels);
  std::vector<std::int64_t> groups, pairs(n);  // groups: first coordinate of each column
  for (std::int64_t i = 0; i < n; ++i) {
    if (i == 0 || coordinates[i] / size != coordinates[i - 1] / size) groups.push_back(i);
    pairs[i] = coordinates[i] % size;
  }
  const auto n_groups = static_cast<std::int64_t>(groups.size());
  groups.push_back(n);
  parallel_for(n_groups, n_jobs, [&](std::int64_t k) {
    const std::int64_t first = groups[k];
    edge_column_pairs(d, s, r, m.data(), coordinates[first] / size, pairs.data() + first,
                      groups[k + 1] - first, out + first);
  });
}

struct Observed {  // sums of true feature counts, by coordinate, ascending
  std::int64_t n;
  const std::int64_t* coordinates;
  const double* counts;
};

// Columns [first, last): gradients above the threshold. admitted (ascending coordinates) or null: all.
inline void edge_sweep_range(const Edges& d, const EdgeScores& s, const LatticeRows& r,
                             const double* m, std::int64_t first, std::int64_t last,
                             double threshold, const Observed& observed,
                             const std::int64_t* admitted, std::int64_t n_admitted, Sweep& out) {
  const std::int64_t L = d.n_labels, Lp = padded(L), size = L * L;
  auto sums = scratch(L * Lp), all = scratch(L * Lp);
  std::vector<std::int64_t> pairs;
  std::vector<double> found;
  std::int64_t o =
      std::lower_bound(observed.coordinates, observed.coordinates + observed.n, first * size) -
      observed.coordinates;
  for (std::int64_t c = first; c < last; ++c) {
    auto keep = [&](std::int64_t pair, double expected) {
      const std::int64_t at = c * size + pair;
      while (o < observed.n && observed.coordinates[o] < at) ++o;
      const bool seen = o < observed.n && observed.coordinates[o] == at;
      const double g = expected - (seen ? observed.counts[o] : 0.0);
      out.see(at, g, threshold);
    };
    if (!admitted) {
      edge_column_all(d, s, r, m, c, sums.get(), all.get());
      for (std::int64_t p = 0; p < size; ++p) keep(p, all[p / L * Lp + p % L]);
      continue;
    }
    const auto* from = std::lower_bound(admitted, admitted + n_admitted, c * size);
    const auto* to = std::lower_bound(from, admitted + n_admitted, (c + 1) * size);
    pairs.clear();
    for (const auto* p = from; p < to; ++p) pairs.push_back(*p - c * size);
    const auto n = static_cast<std::int64_t>(pairs.size());
    if (n > L) {  // then the vectorised sum over all pairs is faster
      edge_column_all(d, s, r, m, c, sums.get(), all.get());
      for (const std::int64_t p : pairs) keep(p, all[p / L * Lp + p % L]);
    } else {
      found.resize(n);
      edge_column_pairs(d, s, r, m, c, pairs.data(), n, found.data());
      for (std::int64_t q = 0; q < n; ++q) keep(pairs[q], found[q]);
    }
  }
}

inline Sweep edge_sweep(const Edges& d, const EdgeScores& s, const LatticeRows& r, double threshold,
                        const Observed& observed, const std::int64_t* admitted,
                        std::int64_t n_admitted, int n_jobs) {
  constexpr std::int64_t chunk = 16;
  const auto m = pair_factors(r.lambda, d.n_labels);
  const std::int64_t n_chunks = (d.columns.n_columns + chunk - 1) / chunk;
  std::vector<Sweep> parts(n_chunks);
  parallel_for(n_chunks, n_jobs, [&](std::int64_t k) {
    edge_sweep_range(d, s, r, m.data(), k * chunk, std::min(d.columns.n_columns, (k + 1) * chunk),
                     threshold, observed, admitted, n_admitted, parts[k]);
  });
  return join(parts);
}

}  // namespace proxqn
