// Curvature from pairs of leaves drawn from the model.
//
// The Hessian of a sample's loss is the covariance of its path's features under P(.|x). With y and z drawn
// independently, (phi(y) - phi(z)) (phi(y) - phi(z))' / 2 has this mean, and only nodes on the path of one of
// them alone count. Pairs that are equal tell nothing: here y and z are drawn given that they differ, and the
// probability of that, 1 - sum P(y)^2, is a factor of the row. So each sample tells something however sure
// the model is. Of several draws of a sample the i-th first leaf is at (i + u) / m of its distribution,
// P(y) (1 - P(y)); the second is drawn from the others. Equal pairs of a sample become one row.
#pragma once
#include <cstdint>
#include <vector>

#include "tree/forward_backward.hpp"

namespace proxqn::tree {

// How much to draw: pairs of leaves for each of a random share of the samples.
struct Sampling {
  std::int64_t n_pairs;
  double share;
  std::uint64_t seed;
};

// Nodes of one path that the other does not have, side by side; the root where one is longer.
struct Draws {
  std::vector<std::int32_t> slot, run, first, second;  // sample, row and two nodes
  std::vector<float> scale;                            // [rows]
  std::int64_t n_drawn = 0;                            // pairs before equal ones became one
};

// From residuals as `backward` leaves them. Each chunk of samples draws on its own.
Draws draw(const Tree& tree, const Samples& x, const double* residuals, std::int64_t stride,
           const Sampling& how, int n_jobs);

}  // namespace proxqn::tree
