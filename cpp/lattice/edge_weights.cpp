#include "lattice/edge_weights.hpp"

#include "base/aligned_array.hpp"
#include "base/parallel.hpp"
#include "base/simd.hpp"

namespace proxqn::lattice {

void EdgeScores::put(const double* value, std::int64_t n_columns, std::int64_t L) {
  const std::int64_t n = start[n_columns], Lp = whole_eights(L);
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

// exp(Lambda - Lmax), rows padded with zeros: [L][Lp].
static std::vector<double> pair_factors(const double* lambda, std::int64_t L) {
  const std::int64_t Lp = whole_eights(L);
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
  const std::int64_t L = d.n_labels, Lp = whole_eights(L);
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
  const std::int64_t L = d.n_labels, Lp = whole_eights(L), size = L * Lp;
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
          logs[i * Lp + j] +=
              x * r.weights[row] * std::exp(a[i] + r.lambda[i * L + j] + scores[i * L + j] + v[j]);
    }
    if (plain || !any_scaled) continue;
    s.each(g, [&](std::int64_t k, double, double factor) { sums[s.place[k]] *= factor; });
    for (std::int64_t i = 0; i < size; i += 8) store8(out + i, load8(out + i) + load8(sums + i));
  }
  for (std::int64_t i = 0; i < size; ++i) out[i] *= m[i];
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(logs.size()); ++i) out[i] += logs[i];
}

void edge_gradient(const Edges& d, const EdgeScores& s, const LatticeRows& r,
                   const std::int64_t* coordinates, std::int64_t n, int n_jobs, double* out) {
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
    may_throw([&] {
      edge_column_pairs(d, s, r, m.data(), coordinates[first] / size, pairs.data() + first,
                        groups[k + 1] - first, out + first);
    });
  });
}

// Columns [first, last): gradients above the threshold. admitted (ascending coordinates) or null: all.
static void edge_sweep_range(const Edges& d, const EdgeScores& s, const LatticeRows& r,
                             const double* m, std::int64_t first, std::int64_t last,
                             double threshold, const Observed& observed,
                             const std::int64_t* admitted, std::int64_t n_admitted,
                             products::Sweep& out) {
  const std::int64_t L = d.n_labels, Lp = whole_eights(L), size = L * L;
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
      may_throw([&] { edge_column_all(d, s, r, m, c, sums.get(), all.get()); });
      for (std::int64_t p = 0; p < size; ++p) keep(p, all[p / L * Lp + p % L]);
      continue;
    }
    const auto* from = std::lower_bound(admitted, admitted + n_admitted, c * size);
    const auto* to = std::lower_bound(from, admitted + n_admitted, (c + 1) * size);
    pairs.clear();
    for (const auto* p = from; p < to; ++p) pairs.push_back(*p - c * size);
    const auto n = static_cast<std::int64_t>(pairs.size());
    if (n > L) {  // then the vectorised sum over all pairs is faster
      may_throw([&] { edge_column_all(d, s, r, m, c, sums.get(), all.get()); });
      for (const std::int64_t p : pairs) keep(p, all[p / L * Lp + p % L]);
    } else {
      found.resize(n);
      may_throw([&] { edge_column_pairs(d, s, r, m, c, pairs.data(), n, found.data()); });
      for (std::int64_t q = 0; q < n; ++q) keep(pairs[q], found[q]);
    }
  }
}

products::Sweep edge_sweep(const Edges& d, const EdgeScores& s, const LatticeRows& r,
                           double threshold, const Observed& observed, const std::int64_t* admitted,
                           std::int64_t n_admitted, int n_jobs) {
  constexpr std::int64_t chunk = 16;
  const auto m = pair_factors(r.lambda, d.n_labels);
  const std::int64_t n_chunks = (d.columns.n_columns + chunk - 1) / chunk;
  std::vector<products::Sweep> parts(n_chunks);
  parallel_for(n_chunks, n_jobs, [&](std::int64_t k) {
    edge_sweep_range(d, s, r, m.data(), k * chunk, std::min(d.columns.n_columns, (k + 1) * chunk),
                     threshold, observed, admitted, n_admitted, parts[k]);
  });
  return products::join(parts);
}

}  // namespace proxqn::lattice
