// Curvature from labelings drawn from the model.
//
// The Hessian of a chain's loss is the covariance of its features under P(.|x). With y and z drawn
// independently, (phi(y) - phi(z)) (phi(y) - phi(z))' / 2 has this mean, and phi(y) - phi(z) is sparse:
// only tokens on which they differ count. Where they agree on a token, what comes before is independent
// of what comes after, and y and z could change places on one side of it alone; so products across such
// a token are zero on average. Each run of tokens on which they differ is therefore a row of its own:
// the same mean, less variance. J has these rows, scaled: E[J'J] is the Hessian. Equal rows of a sequence
// become one. How labelings are drawn: labelings.hpp.
#pragma once
#include <cstdint>
#include <vector>

#include "chain/layout.hpp"

namespace proxqn::chain {

// How much to draw: pairs of labelings of a random share of the sequences.
struct Sampling {
  std::int64_t n_pairs;
  double share;
  std::uint64_t seed;
};

// Entries of the rows: tokens, and neighbours, where one label or label pair stands for another.
struct Draws {
  std::vector<std::int32_t> slot, row, first, second;
  std::vector<float> value;                                     // by how much
  std::vector<std::int32_t> edge_row, edge_first, edge_second;  // label pairs y L + y'
  std::vector<float> edge_value;
  std::vector<float> weight;  // [rows] how many draws became one
};

// Those of parts; their rows are numbered in the order of these.
Draws join(std::vector<Draws>& parts, int n_jobs);

// Each chunk draws on its own.
Draws draw(const Chain& c, const Sampling& how, int n_jobs);
Draws draw(const ChainOf<float>& c, const Sampling& how, int n_jobs);

}  // namespace proxqn::chain
