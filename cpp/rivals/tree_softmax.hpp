// The tree model one sample at a time, for sgd.hpp, block_descent.hpp and stochastic/: dense node scores s [Kp] in, node
// probabilities out. Unlike tree/forward_backward.hpp it makes no use of sparse weights: in both methods a sample's
// step reads and writes all nodes of its features anyway.
//   path(k) = path(parent(k)) + s_k,   P(leaf) = exp(path(leaf)) / Z,   P(k) = sum over children P(c)
// in the paper's downward-upward order, with the leaves' largest path subtracted.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/aligned_array.hpp"
#include "base/exponential.hpp"
#include "base/simd.hpp"

namespace proxqn::rivals {

struct TreeSoftmax {
  std::int64_t n_nodes, n_leaves;
  const std::int32_t *parent, *leaf_nodes;
  Scratch owned;
  double *path, *leaf;  // [K], [n_leaves padded to vectors]
  TreeSoftmax(std::int64_t K, std::int64_t leaves, const std::int32_t* parent_,
              const std::int32_t* leaf_nodes_)
      : n_nodes(K), n_leaves(leaves), parent(parent_), leaf_nodes(leaf_nodes_),
        owned(scratch(work_size())), path(owned.get()), leaf(path + whole_eights(K)) {}
  // The same tree at work in other memory, of work_size().
  TreeSoftmax(const TreeSoftmax& tree, double* work)
      : n_nodes(tree.n_nodes), n_leaves(tree.n_leaves), parent(tree.parent),
        leaf_nodes(tree.leaf_nodes), path(work), leaf(path + whole_eights(n_nodes)) {}
  std::int64_t work_size() const { return whole_eights(n_nodes) + whole_eights(n_leaves); }

  // exp(path - high) into leaf; returns high + log Z and keeps both.
  double high = 0.0, Z = 0.0;
  PROXQN_INLINE double log_partition(const double* s) {
    path[0] = 0.0;  // the root is on every path: its score cancels
    for (std::int64_t k = 1; k < n_nodes; ++k) path[k] = path[parent[k]] + s[k];
    high = path[leaf_nodes[0]];
    double total = 0.0;
    for (std::int64_t y = 0; y < n_leaves; ++y) high = max(path[leaf_nodes[y]], high);
    for (std::int64_t y = 0; y < n_leaves; ++y) leaf[y] = path[leaf_nodes[y]] - high;
    // Behind them stands what was here before: its exponential, and that of it, would leave all bounds.
    std::fill(leaf + n_leaves, leaf + whole_eights(n_leaves), 0.0);
    for (std::int64_t y = 0; y < whole_eights(n_leaves); y += 8)
      store8(leaf + y, exp8(load8(leaf + y)));
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

}  // namespace proxqn::rivals
