// Stochastic steps (saga.hpp) on the tree model: a sample is one row, and all weights belong to columns.
#pragma once
#include <cstdint>

#include "rivals/tree_softmax.hpp"
#include "stochastic/saga.hpp"

namespace proxqn::stochastic {

struct TreeModel {
  rivals::TreeSoftmax tree;
  const std::int32_t* leaves;  // [n_samples] true leaf

  std::int64_t room_size(std::int64_t, std::int64_t samples) const {
    return samples * tree.work_size();
  }
  double cost() const { return 3.0 * tree.n_nodes + 40.0 * tree.n_leaves; }

  PROXQN_INLINE void begin(const double*, std::int64_t) {}
  PROXQN_INLINE double loss(std::int64_t i, double* x, double* room) const {
    return rivals::TreeSoftmax(tree, room).loss(x, leaves[i]);
  }
  PROXQN_INLINE double residuals(std::int64_t i, double* x, double* p, double*,
                                 double* room) const {
    rivals::TreeSoftmax here(tree, room);
    here.marginals(x, p);
    here.subtract_path(leaves[i], 1.0, p);
    p[0] = 0.0;  // exactly, whatever the rounding
    return here.high + std::log(here.Z) - here.path[here.leaf_nodes[leaves[i]]];
  }
};

double work(Saga<TreeModel>& saga, const BlockData& d, Memory& m, const Steps& steps,
            const Job& job);

}  // namespace proxqn::stochastic
