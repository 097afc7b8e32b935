// Blockwise coordinate descent (block_descent.hpp) on the tree model.
#pragma once
#include <cstdint>

#include "rivals/block_descent.hpp"
#include "rivals/tree_softmax.hpp"

namespace proxqn::rivals {

struct TreeBlockModel {
  TreeSoftmax tree;
  const std::int32_t* leaves;
  double *scores, *marginals, *losses;
  std::int64_t n_samples;
  PROXQN_INLINE void forward(std::int64_t i) {
    losses[i] = tree.loss(scores + i * whole_eights(tree.n_nodes), leaves[i]);
  }
  PROXQN_INLINE void backward(std::int64_t i) {
    const std::int64_t at = i * whole_eights(tree.n_nodes);
    tree.marginals(scores + at, marginals + at);
  }
  PROXQN_INLINE void subtract_truth(std::int64_t row, double v, double* g) const {
    tree.subtract_path(leaves[row], v, g);
  }
  BlockMove descend_own(BlockState&, const BlockRule&) { return {}; }  // all weights have a feature
};

std::int64_t run_bcd(BlockState& s, TreeBlockModel& model, const BlockRule& rule,
                     const std::int64_t* blocks, std::int64_t n, std::int64_t budget,
                     double* violation, double* excess);
void run_forward_all(BlockState& s, TreeBlockModel& model);

}  // namespace proxqn::rivals
