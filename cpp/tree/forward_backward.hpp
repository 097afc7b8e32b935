// Inference in the joint tree model, P(y|x) = exp(sum of s_k over the path of leaf y) / Z with node
// scores s_k = w_k' x. The paper's downward-upward algorithm, arranged for a sparse W:
//
//   W has few nonzeros, so s_k = 0 and exp(s_k) = 1 for most (node, sample) pairs. With
//     A(k) = number of leaves below k,             if no node below k has a score,
//     A(k) = sum over children c of exp(s_c) A(c),  otherwise; 1 at a leaf,
//   Z = A(root), and downward f(root) = 1/Z, f(k) = f(parent) exp(s_k), P(k on the path) = f(k) A(k).
//   Exponentials are taken of nonzero scores only, and nodes without weights at or below them take
//   no part in Z.
//
// Costs, with N samples, K nodes, K' nodes with weights (and their ancestors), E the data entries of
// the features with weights, each times its number of weights (at most N K' different pairs):
//   move      E multiply-adds into sparse scores, kept per sample
//   forward   E exponentials, N K' multiply-adds
//   backward  the same, N K more and N K residuals written
// A plain softmax over leaves would read and write N K scores and take N |leaves| exponentials.
//
// Safe range. If the largest |s_k| of each level add up to at most 600, every product above stays
// within exp(600) |leaves| and, all terms being positive, exact to rounding. A sample beyond that is
// done in the log domain with a shift by its best leaf.
//
// Eight samples side by side are the lanes of a vector; a chunk of samples is a unit of work.
#pragma once
#include <cstdint>
#include <vector>

namespace proxqn::tree {

constexpr std::int64_t kChunkSamples = 128;
constexpr double kSafePath = 600.0;

struct Tree {  // nodes depth first: parent[k] < k, the root is 0
  std::int64_t n_nodes, n_leaves;
  const std::int32_t* parent;      // [K], -1 at the root
  const std::int32_t* leaf_start;  // [K] leaves below k: leaf_start[k] <= leaf < leaf_stop[k]
  const std::int32_t* leaf_stop;
  const std::int32_t* leaf_nodes;  // [n_leaves] node of each leaf
  bool on_path(std::int64_t k, std::int32_t leaf) const {
    return leaf_start[k] <= leaf && leaf < leaf_stop[k];
  }
};

struct Samples {  // rows of the data, and what is known of them
  std::int64_t n;
  const std::int64_t* start;  // [n+1] into columns and values
  const std::int32_t* columns;
  const double* values;
  const std::int32_t* leaves;  // [n] true leaf
  const double* weights;       // [n] or null
  double weight(std::int64_t i) const { return weights ? weights[i] : 1.0; }
};

// Nonzero node scores of a chunk's samples and their changes along the direction.
struct ChunkScores {
  std::vector<std::int64_t> start;  // [samples of the chunk + 1]
  std::vector<std::int32_t> node;
  std::vector<double> score, change;
};

struct NodeScores {
  std::vector<ChunkScores> chunks;
  std::vector<std::int32_t>
      active;  // nodes with weights and their ancestors, ascending; root first
  std::vector<double> plain_leaves;  // [active] leaves below that are below no active child
  std::vector<std::int32_t> level;   // [K] depth
};

inline std::int64_t n_chunks(std::int64_t n) { return (n + kChunkSamples - 1) / kChunkSamples; }

// Scores at weights w and their changes along d; coordinates = column * K + node ascend.
void move_scores(const Tree& tree, const Samples& x, std::int64_t n_columns,
                 const std::int64_t* coordinates, const double* w, const double* d, std::int64_t n,
                 int n_jobs, NodeScores& out);

// The loss of every sample, `step` along the change.
void forward(const Tree& tree, const Samples& x, const NodeScores& scores, double step, int n_jobs,
             double* losses);

// residuals[K][stride] = weight * (P(k on the path) - 1[k on the true path]). Also moves the scores to the
// accepted point. stride is a multiple of 8, at least n.
void backward(const Tree& tree, const Samples& x, NodeScores& scores, double step,
              std::int64_t stride, int n_jobs, double* residuals);

}  // namespace proxqn::tree
