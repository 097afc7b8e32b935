#include "tree/forward_backward.hpp"

#include <algorithm>
#include <cmath>

#include "base/exponential.hpp"
#include "base/parallel.hpp"
#include "base/simd.hpp"

namespace proxqn::tree {

struct alignas(64) Lanes {
  double v[kLanes];
};

// --- move: sparse scores from sparse weights -----------------------------------------------------

static void mark_active(const Tree& tree, const std::vector<std::int32_t>& nodes, NodeScores& out) {
  std::vector<std::uint8_t> on(tree.n_nodes, 0);
  on[0] = 1;
  for (std::int32_t k : nodes)
    for (; !on[k]; k = tree.parent[k]) on[k] = 1;
  std::vector<double> plain(tree.n_nodes);
  out.active.clear();
  for (std::int64_t k = 0; k < tree.n_nodes; ++k) {
    if (!on[k]) continue;
    plain[k] = tree.leaf_stop[k] - tree.leaf_start[k];
    if (k > 0) plain[tree.parent[k]] -= plain[k];
    out.active.push_back(static_cast<std::int32_t>(k));
  }
  out.plain_leaves.clear();
  for (std::int32_t k : out.active) out.plain_leaves.push_back(plain[k]);
}

struct ColumnWeights {              // weights and their changes by column
  std::vector<std::int64_t> start;  // [n_columns+1]
  std::vector<std::int32_t> node;
  std::vector<double> w, d;
};

struct Cell {  // score of one node, valid for one sample
  double score, change;
  std::int64_t sample;
};

static void score_chunk(const Tree& tree, const Samples& x, const ColumnWeights& c,
                        std::int64_t chunk, ChunkScores& out) {
  const std::int64_t first = chunk * kChunkSamples, last = std::min(x.n, first + kChunkSamples);
  std::vector<Cell> cells(tree.n_nodes, Cell{0.0, 0.0, -1});
  std::vector<std::int32_t> touched(tree.n_nodes + 1);
  out.start.assign(1, 0);
  out.node.clear();  // keeps its memory from the move before
  out.score.clear();
  out.change.clear();
  for (std::int64_t i = first; i < last; ++i) {
    std::int64_t n = 0;
    for (std::int64_t e = x.start[i]; e < x.start[i + 1]; ++e) {
      const double value = x.values[e];
      const std::int64_t stop = c.start[x.columns[e] + 1];
      for (std::int64_t t = c.start[x.columns[e]]; t < stop; ++t) {
        Cell& cell = cells[c.node[t]];
        const bool known = cell.sample == i;  // as likely as not: no branch on it
        touched[n] = c.node[t];
        n += !known;
        cell = {(known ? cell.score : 0.0) + c.w[t] * value,
                (known ? cell.change : 0.0) + c.d[t] * value, i};
      }
    }
    for (std::int64_t t = 0; t < n; ++t) {
      out.node.push_back(touched[t]);
      out.score.push_back(cells[touched[t]].score);
      out.change.push_back(cells[touched[t]].change);
    }
    out.start.push_back(static_cast<std::int64_t>(out.node.size()));
  }
}

void move_scores(const Tree& tree, const Samples& x, std::int64_t n_columns,
                 const std::int64_t* coordinates, const double* w, const double* d, std::int64_t n,
                 int n_jobs, NodeScores& out) {
  ColumnWeights c;
  c.start.assign(n_columns + 1, 0);
  for (std::int64_t t = 0; t < n; ++t) {
    const std::int64_t node = coordinates[t] % tree.n_nodes;
    if (node == 0) continue;  // the root is on every path: its score cancels
    ++c.start[coordinates[t] / tree.n_nodes + 1];
    c.node.push_back(static_cast<std::int32_t>(node));
    c.w.push_back(w[t]);
    c.d.push_back(d[t]);
  }
  for (std::int64_t j = 0; j < n_columns; ++j) c.start[j + 1] += c.start[j];
  mark_active(tree, c.node, out);
  parallel_for(n_chunks(x.n), n_jobs,
               [&](std::int64_t chunk) { score_chunk(tree, x, c, chunk, out.chunks[chunk]); });
}

// --- one block of eight samples ------------------------------------------------------------------

// Scratch of a thread. E = 1 wherever the current block has no score.
struct Block {
  std::vector<Lanes> E, A, f;   // [K]: exp(s_k), A(k), f(k)
  std::vector<double> terms;    // exponentials of one sample
  std::vector<double> largest;  // [levels]
  double path[kLanes];          // score of the true path
  bool unsafe[kLanes];
  Block(const Tree& tree, std::int64_t n_levels)
      : E(tree.n_nodes), A(tree.n_nodes), f(tree.n_nodes), largest(n_levels) {
    for (std::int64_t k = 0; k < tree.n_nodes; ++k) {
      store8(E[k].v, fill8(1.0));
      store8(A[k].v, fill8(tree.leaf_stop[k] - tree.leaf_start[k]));
    }
  }
};

// Scores of sample `lane` at the given step; exponentials go to E unless out of the safe range.
PROXQN_INLINE void load_sample(const Tree& tree, const NodeScores& scores, const ChunkScores& c,
                               std::int64_t sample, int lane, std::int32_t leaf, double step,
                               Block& b) {
  const std::int64_t first = c.start[sample], n = c.start[sample + 1] - first;
  const std::int64_t padded = whole_eights(n);
  if (static_cast<std::int64_t>(b.terms.size()) < padded) b.terms.resize(padded);
  std::fill(b.largest.begin(), b.largest.end(), 0.0);
  double path = 0.0;
  for (std::int64_t t = 0; t < n; ++t) {
    const std::int32_t k = c.node[first + t];
    const double s = c.score[first + t] + step * c.change[first + t];
    b.terms[t] = s;
    double& largest = b.largest[scores.level[k]];
    largest = larger(largest, std::fabs(s));
    path += tree.on_path(k, leaf) ? s : 0.0;
  }
  double range = 0.0;
  for (double size : b.largest) range += size;
  b.path[lane] = path;
  b.unsafe[lane] = !(range <= kSafePath);
  if (b.unsafe[lane]) return;
  for (std::int64_t t = n; t < padded; ++t) b.terms[t] = 0.0;
  for (std::int64_t t = 0; t < padded; t += kLanes)
    store8(b.terms.data() + t, exp8(load8(b.terms.data() + t)));
  for (std::int64_t t = 0; t < n; ++t) b.E[c.node[first + t]].v[lane] = b.terms[t];
}

PROXQN_INLINE void unload_sample(const ChunkScores& c, std::int64_t sample, int lane, Block& b) {
  for (std::int64_t t = c.start[sample]; t < c.start[sample + 1]; ++t) b.E[c.node[t]].v[lane] = 1.0;
}

PROXQN_INLINE void upward(const Tree& tree, const NodeScores& scores, Block& b) {
  const std::size_t n = scores.active.size();
  for (std::size_t p = 0; p < n; ++p)
    store8(b.A[scores.active[p]].v, fill8(scores.plain_leaves[p]));
  for (std::size_t p = n - 1; p > 0; --p) {
    const std::int32_t k = scores.active[p];
    double* above = b.A[tree.parent[k]].v;
    store8(above, load8(above) + load8(b.A[k].v) * load8(b.E[k].v));
  }
}

// Log domain: path scores of all nodes of one sample into t [K]; returns log Z.
static double downward_log(const Tree& tree, const ChunkScores& c, std::int64_t sample, double step,
                           std::vector<double>& t) {
  t.assign(tree.n_nodes, 0.0);
  for (std::int64_t e = c.start[sample]; e < c.start[sample + 1]; ++e)
    t[c.node[e]] = c.score[e] + step * c.change[e];
  for (std::int64_t k = 1; k < tree.n_nodes; ++k) t[k] += t[tree.parent[k]];
  double best = t[tree.leaf_nodes[0]], total = 0.0;
  for (std::int64_t y = 1; y < tree.n_leaves; ++y) best = max(best, t[tree.leaf_nodes[y]]);
  for (std::int64_t y = 0; y < tree.n_leaves; ++y) total += std::exp(t[tree.leaf_nodes[y]] - best);
  return best + std::log(total);
}

// --- forward: losses -----------------------------------------------------------------------------

PROXQN_CLONES void forward_chunk(const Tree& tree, const Samples& x, const NodeScores& scores,
                                 std::int64_t chunk, double step, std::int64_t n_levels,
                                 double* losses) {
  const ChunkScores& c = scores.chunks[chunk];
  const std::int64_t first = chunk * kChunkSamples, last = std::min(x.n, first + kChunkSamples);
  Block b(tree, n_levels);
  std::vector<double> t;
  for (std::int64_t i = first; i < last; i += kLanes) {
    const int width = static_cast<int>(std::min<std::int64_t>(kLanes, last - i));
    for (int l = 0; l < width; ++l)
      load_sample(tree, scores, c, i - first + l, l, x.leaves[i + l], step, b);
    upward(tree, scores, b);
    for (int l = 0; l < width; ++l) {
      const double log_z =
          b.unsafe[l] ? downward_log(tree, c, i - first + l, step, t) : std::log(b.A[0].v[l]);
      losses[i + l] = log_z - (b.unsafe[l] ? t[tree.leaf_nodes[x.leaves[i + l]]] : b.path[l]);
      unload_sample(c, i - first + l, l, b);
    }
  }
}

static std::int64_t n_levels(const NodeScores& scores) {
  return 1 + *std::max_element(scores.level.begin(), scores.level.end());
}

void forward(const Tree& tree, const Samples& x, const NodeScores& scores, double step, int n_jobs,
             double* losses) {
  const std::int64_t levels = n_levels(scores);
  parallel_for(n_chunks(x.n), n_jobs, [&](std::int64_t chunk) {
    may_throw([&] { forward_chunk(tree, x, scores, chunk, step, levels, losses); });
  });
}

// --- backward: residuals weight * (P(k on the path) - 1[k on the true path]) ---------------------

static void backward_log(const Tree& tree, const ChunkScores& c, std::int64_t sample, double step,
                         double weight, std::int64_t stride, std::vector<double>& t, double* out) {
  const double log_z = downward_log(tree, c, sample, step, t);
  for (std::int64_t k = 0; k < tree.n_nodes; ++k) out[k * stride] = 0.0;
  for (std::int64_t y = 0; y < tree.n_leaves; ++y)
    out[tree.leaf_nodes[y] * stride] = weight * std::exp(t[tree.leaf_nodes[y]] - log_z);
  for (std::int64_t k = tree.n_nodes - 1; k > 0; --k)
    if (tree.parent[k] > 0) out[tree.parent[k] * stride] += out[k * stride];
}

// weight * P(k on the path) for all nodes, right for the safe lanes.
PROXQN_INLINE void downward(const Tree& tree, double8 weight, std::int64_t stride, Block& b,
                            double* out) {
  store8(b.f[0].v, weight / load8(b.A[0].v));
  store8(out, double8{});  // the root is on every path: residual exactly 0
  for (std::int64_t k = 1; k < tree.n_nodes; ++k) {
    const double8 f = load8(b.f[tree.parent[k]].v) * load8(b.E[k].v);
    store8(b.f[k].v, f);
    store8(out + k * stride, f * load8(b.A[k].v));
  }
}

PROXQN_CLONES void backward_chunk(const Tree& tree, const Samples& x, const NodeScores& scores,
                                  std::int64_t chunk, double step, std::int64_t n_levels,
                                  std::int64_t stride, double* residuals) {
  const ChunkScores& c = scores.chunks[chunk];
  const std::int64_t first = chunk * kChunkSamples, last = std::min(x.n, first + kChunkSamples);
  Block b(tree, n_levels);
  std::vector<double> t;
  for (std::int64_t i = first; i < last; i += kLanes) {
    const int width = static_cast<int>(std::min<std::int64_t>(kLanes, last - i));
    double8 weight{};
    for (int l = 0; l < width; ++l) {
      weight[l] = x.weight(i + l);
      load_sample(tree, scores, c, i - first + l, l, x.leaves[i + l], step, b);
    }
    upward(tree, scores, b);
    downward(tree, weight, stride, b, residuals + i);
    for (int l = 0; l < width; ++l) {
      double* out = residuals + i + l;
      if (b.unsafe[l]) backward_log(tree, c, i - first + l, step, weight[l], stride, t, out);
      for (std::int32_t k = tree.leaf_nodes[x.leaves[i + l]]; k > 0; k = tree.parent[k])
        out[k * stride] -= weight[l];
      unload_sample(c, i - first + l, l, b);
    }
  }
}

void backward(const Tree& tree, const Samples& x, NodeScores& scores, double step,
              std::int64_t stride, int n_jobs, double* residuals) {
  const std::int64_t levels = n_levels(scores);
  parallel_for(n_chunks(x.n), n_jobs, [&](std::int64_t chunk) {
    may_throw([&] { backward_chunk(tree, x, scores, chunk, step, levels, stride, residuals); });
    ChunkScores& c = scores.chunks[chunk];
    for (std::size_t t = 0; t < c.score.size(); ++t) c.score[t] += step * c.change[t];
    std::fill(c.change.begin(), c.change.end(), 0.0);
  });
}

}  // namespace proxqn::tree
