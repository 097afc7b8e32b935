// The tree model one sample at a time, for sgd.hpp and bcd.hpp: dense node scores s [Kp] in, node
// probabilities out. Unlike tree.hpp it makes no use of sparse weights: in both methods a sample's
// step reads and writes all nodes of its features anyway.
//   path(k) = path(parent(k)) + s_k,   P(leaf) = exp(path(leaf)) / Z,   P(k) = sum over children P(c)
// in the paper's downward-upward order, with the leaves' largest path subtracted.
#pragma once
#include "bcd.hpp"
#include "sgd.hpp"

namespace proxqn {

struct TreeSoftmax {
  std::int64_t n_nodes, n_leaves;
  const std::int32_t *parent, *leaf_nodes;
  Scratch path, leaf;  // [K], [n_leaves padded to vectors]
  TreeSoftmax(std::int64_t K, std::int64_t leaves, const std::int32_t* parent_,
              const std::int32_t* leaf_nodes_)
      : n_nodes(K), n_leaves(leaves), parent(parent_), leaf_nodes(leaf_nodes_), path(scratch(K)),
        leaf(scratch(padded(leaves))) {}

  // exp(path - high) into leaf; returns high + log Z and keeps Z.
  double Z = 0.0;
  PROXQN_INLINE double log_partition(const double* s) {
    path[0] = 0.0;  // the root is on every path: its score cancels
    for (std::int64_t k = 1; k < n_nodes; ++k) path[k] = path[parent[k]] + s[k];
    double high = path[leaf_nodes[0]], total = 0.0;
    for (std::int64_t y = 0; y < n_leaves; ++y) high = max(path[leaf_nodes[y]], high);
    for (std::int64_t y = 0; y < n_leaves; ++y) leaf[y] = path[leaf_nodes[y]] - high;
    for (std::int64_t y = 0; y < padded(n_leaves); y += 8)
      store8(leaf.get() + y, exp8(load8(leaf.get() + y)));
    for (std::int64_t y = 0; y < n_leaves; ++y) total += leaf[y];
    Z = total;
    return high + std::log(total);
  }
  PROXQN_INLINE double loss(const double* s, std::int32_t truth) {
    const double log_z = log_partition(s);
    return log_z - path[leaf_nodes[truth]];
  }
  PROXQN_INLINE void marginals(const double* s, double* p) {
    log_partition(s);
    std::fill(p, p + n_nodes, 0.0);
    for (std::int64_t y = 0; y < n_leaves; ++y) p[leaf_nodes[y]] = leaf[y] / Z;
    for (std::int64_t k = n_nodes - 1; k > 0; --k) p[parent[k]] += p[k];
  }
  PROXQN_INLINE void subtract_path(std::int32_t truth, double v, double* g) const {
    for (std::int32_t k = leaf_nodes[truth]; k >= 0; k = parent[k]) g[k] -= v;
  }
};

struct TreeSampleModel {
  TreeSoftmax tree;
  const std::int32_t* leaves;  // [n_samples] true leaf
  Scratch scores, residual;    // [Kp]
  TreeSampleModel(TreeSoftmax&& tree_, const std::int32_t* leaves_)
      : tree(std::move(tree_)), leaves(leaves_), scores(scratch(padded(tree.n_nodes))),
        residual(scratch(padded(tree.n_nodes))) {}
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

struct TreeBlockModel {
  TreeSoftmax tree;
  const std::int32_t* leaves;
  double *scores, *marginals, *losses;
  std::int64_t n_samples;
  PROXQN_INLINE void forward(std::int64_t i) {
    losses[i] = tree.loss(scores + i * padded(tree.n_nodes), leaves[i]);
  }
  PROXQN_INLINE void backward(std::int64_t i) {
    const std::int64_t at = i * padded(tree.n_nodes);
    tree.marginals(scores + at, marginals + at);
  }
  PROXQN_INLINE void subtract_truth(std::int64_t row, double v, double* g) const {
    tree.subtract_path(leaves[row], v, g);
  }
  BlockMove descend_own(BlockState&, const BlockRule&) { return {}; }  // all weights have a feature
};

PROXQN_CLONES void run_sgd(TreeSampleModel& model, const SampleRows& d, LazyWeights& lazy,
                           const Schedule& schedule, const std::int64_t* order, std::int64_t n,
                           std::int64_t& k, double& u, std::int32_t& stamp) {
  sgd_steps(model, d, lazy, schedule, order, n, k, u, stamp);
}
PROXQN_CLONES double run_losses(TreeSampleModel& model, const SampleRows& d, LazyWeights& lazy,
                                const std::int64_t* order, std::int64_t n) {
  return sample_loss_sum(model, d, lazy, order, n);
}
PROXQN_CLONES std::int64_t run_bcd(BlockState& s, TreeBlockModel& model, const BlockRule& rule,
                                   const std::int64_t* blocks, std::int64_t n, std::int64_t budget,
                                   double* violation, double* excess) {
  return descend_blocks(s, model, rule, blocks, n, budget, violation, excess);
}
PROXQN_CLONES void run_forward_all(BlockState& s, TreeBlockModel& model) {
  for (std::int64_t i = 0; i < model.n_samples; ++i) run_forward(s, model, i);
}

}  // namespace proxqn
