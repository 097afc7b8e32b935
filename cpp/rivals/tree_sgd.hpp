// Stochastic gradient descent (sgd.hpp) on the tree model, one sample at a time.
#pragma once
#include <cstdint>
#include <utility>

#include "base/aligned_array.hpp"
#include "rivals/sgd.hpp"
#include "rivals/tree_softmax.hpp"

namespace proxqn::rivals {

struct TreeSampleModel {
  TreeSoftmax tree;
  const std::int32_t* leaves;  // [n_samples] true leaf
  Scratch scores, residual;    // [Kp]
  TreeSampleModel(TreeSoftmax&& tree_, const std::int32_t* leaves_)
      : tree(std::move(tree_)), leaves(leaves_), scores(scratch(whole_eights(tree.n_nodes))),
        residual(scratch(whole_eights(tree.n_nodes))) {}
  double* x() { return scores.get(); }
  double* r() { return residual.get(); }
  PROXQN_INLINE double loss(std::int64_t i) { return tree.loss(scores.get(), leaves[i]); }
  PROXQN_INLINE void residuals(std::int64_t i) {
    tree.marginals(scores.get(), residual.get());
    tree.subtract_path(leaves[i], 1.0, residual.get());
    residual[0] = 0.0;  // exactly, whatever the rounding
  }
  PROXQN_INLINE void descend_own(std::int64_t, double, double, double) {}
  void penalise_own(double) {}
};

void run_sgd(TreeSampleModel& model, const SampleRows& d, LazyWeights& lazy,
             const Schedule& schedule, const std::int64_t* order, std::int64_t n, std::int64_t& k,
             double& u, std::int32_t& stamp);
double run_losses(TreeSampleModel& model, const SampleRows& d, LazyWeights& lazy,
                  const std::int64_t* order, std::int64_t n);

}  // namespace proxqn::rivals
