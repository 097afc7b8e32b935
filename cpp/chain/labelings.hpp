// Labelings of one sequence, drawn from P(y|x) from its end: P(y_t | y_{t+1}) ~ A_t(y_t) exp Lambda.
//
// They come in two families, independent of each other. In a family those that go on alike, to the same
// next label, are drawn together: of m of them the i-th, in random order, takes the label at (i + u) / m
// of their distribution, with one u in [0, 1) for all. So each has it for its own, and each label comes as
// often as it should but for less than one: rare labels, which are what curvature is made of where a model
// is sure, come when it is their turn and not in heaps.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/random.hpp"
#include "base/simd.hpp"
#include "chain/filter.hpp"
#include "chain/transitions.hpp"

namespace proxqn::chain {

// Cumulative sums of A_t(y) exp Lambda(y, next) over eights of labels, one list for each next label that
// a draw has. Within its eight a draw adds up one by one.
class Conditional {
 public:
  Conditional(const Transitions<double>& m, std::int64_t L)
      : m_(m), L_(L), n_(m.padded_labels / kLanes), end_(m.padded_labels, 1.0), sums_((L + 1) * n_),
        known_(L + 1) {}
  void forget() { std::fill(known_.begin(), known_.end(), 0); }
  // The label at a share u of the sum.
  PROXQN_INLINE std::int32_t at(const double* a, std::int32_t next, double u) {
    const double* onward = next < L_ ? m_.backward.get() + next * m_.padded_labels : end_.data();
    double* sums = sums_.data() + next * n_;
    if (!known_[next]) {
      double total = 0.0;
      for (std::int64_t i = 0; i < n_; ++i)
        sums[i] = total += sum(load8(a + i * kLanes) * load8(onward + i * kLanes));
      known_[next] = 1;
    }
    const double share = u * sums[n_ - 1];
    std::int64_t eight = 0;
    while (eight < n_ - 1 && sums[eight] <= share) ++eight;
    double below = eight > 0 ? sums[eight - 1] : 0.0;
    std::int64_t y = eight * kLanes;
    const std::int64_t last = std::min(L_, y + kLanes) - 1;
    while (y < last && (below += a[y] * onward[y]) <= share) ++y;
    return static_cast<std::int32_t>(y);
  }

 private:
  const Transitions<double>& m_;
  std::int64_t L_, n_;        // n eights
  std::vector<double> end_;   // [Lp] ones: nothing comes after the end of a sequence
  std::vector<double> sums_;  // [L+1][n], the last for the end
  std::vector<std::uint8_t> known_;
};

class Labelings {
 public:
  // Of so many labelings in each family.
  Labelings(const Transitions<double>& m, std::int64_t L, std::int64_t size)
      : m_(m), L_(L), size_(size), conditional_(m, L), groups_(L + 1), order_(size),
        end_(size, static_cast<std::int32_t>(L)) {}

  // Draw from A [T][Lp], with a seed of the sequence.
  PROXQN_INLINE void draw(const double* A, std::int64_t T, std::uint64_t seed) {
    labels_.resize(2 * size_ * T);
    mixed_.resize(T);
    for (std::int64_t t = T - 1; t >= 0; --t) {
      conditional_.forget();
      std::int32_t common[2];
      for (int family = 0; family < 2; ++family) {
        const std::int32_t* next =
            t + 1 < T ? labels_.data() + (2 * (t + 1) + family) * size_ : end_.data();
        const SplitMix64 random{seed + 0xA24BAED4963EE407ULL *
                                           static_cast<std::uint64_t>(2 * t + family + 1)};
        common[family] = draw_family(A + t * m_.padded_labels, next, random,
                                     labels_.data() + (2 * t + family) * size_);
      }
      mixed_[t] = common[0] < 0 || common[0] != common[1];
    }
  }

  // The labels at t, those of the one family and then those of the other.
  const std::int32_t* at(std::int64_t t) const { return labels_.data() + 2 * t * size_; }
  // Whether they may differ there.
  bool mixed(std::int64_t t) const { return mixed_[t]; }

 private:
  struct Group {                                  // of labelings with the same next label
    std::int32_t size = 0, drawn = 0, label = 0;  // the label if all have the same, else -1
    double u = 0.0;
  };

  // Returns the label that all have, -1 if they differ.
  PROXQN_INLINE std::int32_t draw_family(const double* a, const std::int32_t* next,
                                         SplitMix64 random, std::int32_t* labels) {
    met_.clear();
    for (std::int64_t i = 0; i < size_; ++i) {
      Group& group = groups_[next[i]];
      if (group.size++ == 0) met_.push_back(next[i]);
    }
    bool pure = true, same = true;
    for (const std::int32_t v : met_) {
      Group& group = groups_[v];
      group.u = SplitMix64{random.state + 0x9FB21C651E98DF25ULL * static_cast<std::uint64_t>(v + 1)}
                    .uniform();
      const std::int32_t lowest = quantile(a, v, 0), highest = quantile(a, v, group.size - 1);
      group.label = lowest == highest ? lowest : -1;
      pure &= group.label >= 0;
      same &= group.label == groups_[met_[0]].label;
    }
    if (pure) {
      for (std::int64_t i = 0; i < size_; ++i) labels[i] = groups_[next[i]].label;
    } else {
      std::iota(order_.begin(), order_.end(), 0);
      shuffle(order_, random);
      for (const std::int32_t i : order_) {
        Group& group = groups_[next[i]];
        labels[i] = group.label >= 0 ? group.label : quantile(a, next[i], group.drawn++);
      }
    }
    const std::int32_t common = pure && same ? groups_[met_[0]].label : -1;
    for (const std::int32_t v : met_) groups_[v] = Group{};
    return common;
  }

  std::int32_t quantile(const double* a, std::int32_t next, std::int32_t i) {
    const Group& group = groups_[next];
    return conditional_.at(a, next, (i + group.u) / group.size);
  }

  const Transitions<double>& m_;
  std::int64_t L_, size_;
  Conditional conditional_;
  std::vector<Group> groups_;         // [L+1] by next label, the last for the end
  std::vector<std::int32_t> met_;     // next labels that a family has
  std::vector<std::int32_t> order_;   // of a family
  std::vector<std::int32_t> end_;     // [size]
  std::vector<std::int32_t> labels_;  // [T][2][size]
  std::vector<std::uint8_t> mixed_;   // [T]
};

}  // namespace proxqn::chain
