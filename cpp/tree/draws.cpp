#include "tree/draws.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/parallel.hpp"
#include "base/random.hpp"

namespace proxqn::tree {

constexpr double kSure = 1e-10;  // of leaves that differ: below, rounding is all there is

// The pairs of one sample.
class Pairs {
 public:
  Pairs(const Tree& tree, std::int64_t size) : tree_(tree), size_(size), p_(tree.n_leaves) {}

  double& probability(std::int64_t leaf) { return p_[leaf]; }

  // Returns the probability that two leaves differ; no pair is drawn where they hardly ever do.
  double draw(SplitMix64 random) {
    double all = 0.0, differ = 0.0;
    for (const double p : p_) all += p;
    for (const double p : p_) differ += p * (all - p);
    found_.clear();
    if (!(differ > kSure)) return 0.0;
    const double u = random.uniform();
    double below = 0.0;
    std::int64_t y = -1;
    for (std::int64_t i = 0; i < size_; ++i) {
      const double share = (static_cast<double>(i) + u) / static_cast<double>(size_) * differ;
      while (y < 0 || (below <= share && y + 1 < tree_.n_leaves)) {
        ++y;
        below += p_[y] * (all - p_[y]);
      }
      const auto one = static_cast<std::int32_t>(y);
      const std::int32_t two = other(y, random.uniform() * (all - p_[y]));
      found_.emplace_back(std::min(one, two), std::max(one, two));
    }
    std::sort(found_.begin(), found_.end());
    return differ;
  }

  // Writes the rows of a sample; `square` is that of an entry of one pair.
  void write(std::int64_t sample, double square, Draws& out) const {
    for (std::size_t i = 0, next; i < found_.size(); i = next) {
      for (next = i + 1; next < found_.size() && found_[next] == found_[i];) ++next;
      const auto row = static_cast<std::int32_t>(out.scale.size());
      out.scale.push_back(static_cast<float>(std::sqrt(static_cast<double>(next - i) * square)));
      const auto [y, z] = found_[i];
      std::int32_t one = above(tree_.leaf_nodes[y], z), two = above(tree_.leaf_nodes[z], y);
      for (std::int32_t a = tree_.leaf_nodes[y], b = tree_.leaf_nodes[z]; a != one || b != two;) {
        out.slot.push_back(static_cast<std::int32_t>(sample));
        out.run.push_back(row);
        out.first.push_back(a != one ? a : 0);
        out.second.push_back(b != two ? b : 0);
        if (a != one) a = tree_.parent[a];
        if (b != two) b = tree_.parent[b];
      }
    }
    out.n_drawn += static_cast<std::int64_t>(found_.size());
  }

 private:
  // The leaf beside y at a share of the sum of the others.
  std::int32_t other(std::int64_t y, double share) const {
    double below = 0.0;
    std::int64_t last = -1;
    for (std::int64_t z = 0; z < tree_.n_leaves; ++z) {
      if (z == y || p_[z] == 0.0) continue;
      last = z;
      if ((below += p_[z]) > share) break;
    }
    return static_cast<std::int32_t>(last);
  }

  // The first node at or above k that is on a leaf's path.
  std::int32_t above(std::int32_t k, std::int32_t leaf) const {
    while (!tree_.on_path(k, leaf)) k = tree_.parent[k];
    return k;
  }

  const Tree& tree_;
  std::int64_t size_;
  std::vector<double> p_;  // [leaves]
  std::vector<std::pair<std::int32_t, std::int32_t>> found_;
};

static void draw_chunk(const Tree& tree, const Samples& x, const double* residuals,
                       std::int64_t stride, std::int64_t chunk, const Sampling& how, Draws& out) {
  const std::int64_t first = chunk * kChunkSamples, last = std::min(x.n, first + kChunkSamples);
  Pairs pairs(tree, how.n_pairs);
  for (std::int64_t i = first; i < last; ++i) {
    SplitMix64 random{how.seed + 0xD1342543DE82EF95ULL * static_cast<std::uint64_t>(i + 1)};
    const double weight = x.weight(i);
    if ((how.share < 1.0 && random.uniform() >= how.share) || !(weight > 0.0)) continue;
    for (std::int64_t y = 0; y < tree.n_leaves; ++y) {
      const double p = residuals[tree.leaf_nodes[y] * stride + i] / weight + (y == x.leaves[i]);
      pairs.probability(y) = std::max(p, 0.0);
    }
    const double differ = pairs.draw(random);
    pairs.write(i, weight * differ / (2.0 * static_cast<double>(how.n_pairs) * how.share), out);
  }
}

// Rows are numbered in the order of the parts.
static Draws join(const std::vector<Draws>& parts) {
  Draws all;
  const auto append = [](const auto& from, auto& to) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (const Draws& part : parts) {
    const auto before = static_cast<std::int32_t>(all.scale.size());
    for (const std::int32_t row : part.run) all.run.push_back(before + row);
    append(part.slot, all.slot);
    append(part.first, all.first);
    append(part.second, all.second);
    append(part.scale, all.scale);
    all.n_drawn += part.n_drawn;
  }
  return all;
}

Draws draw(const Tree& tree, const Samples& x, const double* residuals, std::int64_t stride,
           const Sampling& how, int n_jobs) {
  std::vector<Draws> parts(n_chunks(x.n));
  parallel_for(n_chunks(x.n), n_jobs, [&](std::int64_t chunk) {
    draw_chunk(tree, x, residuals, stride, chunk, how, parts[chunk]);
  });
  return join(parts);
}

}  // namespace proxqn::tree
