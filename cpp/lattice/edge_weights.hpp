// Weights of (edge feature, label before, label): what they add to the transition scores of a step.
//
// Tokens with equal rows in the edge block share a pattern g, a sparse row of columns c and values x.
// A column has a list of (pair, score) with pair = before * L + after ascending, for its weights that
// are not zero, and a pattern adds E_g = sum_c x_c score_c to Lambda. Memory follows the weights and the
// patterns, never tokens or patterns times L^2. A coordinate is column * L^2 + pair. Derivatives come
// from the rows that forward_backward.hpp leaves:
//     P(y_{t-1} = i, y_t = j) = alpha_{t-1}(i) exp(Lambda(i,j) - Lmax) exp(E_g(i,j)) onward_t(j),
// or, for a sequence done in the log domain, the exponential of the sum of such logs.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/clones.hpp"
#include "products/features.hpp"
#include "products/sweep_result.hpp"

namespace proxqn::lattice {

struct EdgeScores {  // the weights at the current step, and the patterns that use them
  std::int64_t n_patterns = 0;
  const std::int64_t* pattern_start = nullptr;  // [n_patterns+1]
  const std::int32_t* pattern_columns = nullptr;
  const double* pattern_values = nullptr;
  const std::int64_t* start = nullptr;  // [n_columns+1]
  const std::int32_t* pair = nullptr;   // ascending within a column
  std::vector<double> score, factor;    // of each weight, and its exponential
  std::vector<std::int32_t> place;      // of each pair in a matrix [L][Lp]
  std::vector<double> range;            // [n_patterns] E_g has at most this range, with 0

  void put(const double* value, std::int64_t n_columns, std::int64_t L);
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
  products::Features columns;     // "slots" are patterns
  const std::int64_t* row_start;  // [n_patterns+1]
  const std::int32_t* rows;  // rows of the tokens that have the pattern; the token before: row - 1
};

struct LatticeRows {               // what forward and backward left, see forward_backward.hpp
  const double* alpha;             // [n_rows][Lp]
  const double* onward;            // [n_rows][Lp], times the weight unless in the log domain
  const std::uint8_t* log_domain;  // [n_rows]
  const double* weights;           // [n_rows]
  const double* lambda;            // [L][L]
};

// Expected feature counts on given coordinates, ascending.
void edge_gradient(const Edges& d, const EdgeScores& s, const LatticeRows& r,
                   const std::int64_t* coordinates, std::int64_t n, int n_jobs, double* out);

struct Observed {  // sums of true feature counts, by coordinate, ascending
  std::int64_t n;
  const std::int64_t* coordinates;
  const double* counts;
};

// Gradients above the threshold. admitted (ascending coordinates) or null: all.
products::Sweep edge_sweep(const Edges& d, const EdgeScores& s, const LatticeRows& r,
                           double threshold, const Observed& observed, const std::int64_t* admitted,
                           std::int64_t n_admitted, int n_jobs);

}  // namespace proxqn::lattice
