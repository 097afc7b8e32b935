// Products with feature-indexed data for arrays of doubles: partial ones walk one label's contiguous column
// of a label-major array [L][stride], label by label, so that it stays in the L2 cache. float_products.hpp
// is for floats, and sweep.hpp has the full sweep.
#pragma once
#include <cstdint>
#include <vector>

#include "products/features.hpp"

namespace proxqn::products {

// Coordinates grouped by label: order[label_start[y] .. label_start[y+1]) are those of label y.
struct ByLabel {
  std::vector<std::int64_t> label_start, order;
  std::int64_t n_entries = 0;
  ByLabel(const Features& f, const std::int64_t* coordinates, std::int64_t n,
          std::int64_t n_labels);
};

// --- scores[y][slot] = sum_j w_j x_j(slot) -------------------------------------------------------

// dirty[y] says whether out[y] holds earlier scores; labels without weights are not written.
void scores(const Features& f, const std::int64_t* coordinates, const double* weights,
            std::int64_t n, std::int64_t n_labels, std::int64_t stride, int n_jobs, double* out,
            std::uint8_t* dirty);

// The same for slots [begin, end) alone, to out [L][end - begin], which is zero before.
void window_scores(const Features& f, const ByLabel& by, const std::int64_t* coordinates,
                   const double* weights, std::int64_t n_labels, std::int64_t begin,
                   std::int64_t end, std::int64_t stride, double* out);

// --- gradient on given coordinates ---------------------------------------------------------------

void gradient(const Features& f, const std::int64_t* coordinates, std::int64_t n,
              std::int64_t n_labels, std::int64_t stride, const double* residuals, int n_jobs,
              double* out);

}  // namespace proxqn::products
