// The head of the inner problem with drawn curvature (drawn_curvature.hpp): its block of B written out, and passes
// of coordinate descent over it. Eight coordinates side by side are visited one after the other, in random
// order of these groups; what each of them changes is told to the others of the group at once, and to the
// whole head when all eight are done.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/aligned_array.hpp"
#include "base/random.hpp"
#include "base/simd.hpp"
#include "inner/penalty.hpp"

namespace proxqn::inner {

constexpr std::int64_t kHeadGroup = 8;  // coordinates

// y += the sum of z[k] rows[k].
template <class R>
PROXQN_INLINE void add_four(const R* const (&rows)[4], const R (&z)[4], std::int64_t n, R* y) {
  for (std::int64_t i = 0; i < n; ++i)
    y[i] += (z[0] * rows[0][i] + z[1] * rows[1][i]) + (z[2] * rows[2][i] + z[3] * rows[3][i]);
}
// Functions with clones cannot be templates.
PROXQN_CLONES void add_rows(const float* const (&rows)[4], const float (&z)[4], std::int64_t n,
                            float* y) {
  add_four(rows, z, n, y);
}
PROXQN_CLONES void add_rows(const double* const (&rows)[4], const double (&z)[4], std::int64_t n,
                            double* y) {
  add_four(rows, z, n, y);
}

// A coordinate: g, w + d, B_jj, and the inverse of B_jj + l2.
template <class Penalty>
struct HeadVariable {
  double g, target, curvature, inverse;
  [[no_unique_address]] typename Penalty::Local penalty;
};

template <class R>
class HeadBlock {
 public:
  HeadBlock() : HeadBlock(0) {}
  explicit HeadBlock(std::int64_t K) : K_(K), gram_(AlignedArray<R>::zeros(K * K)) {}
  std::int64_t size() const { return K_; }
  R* row(std::int64_t a) { return gram_.data() + a * K_; }
  const R* row(std::int64_t a) const { return gram_.data() + a * K_; }

  // The places `stay`, ascending.
  HeadBlock kept(const std::vector<std::int64_t>& stay) const {
    HeadBlock block(static_cast<std::int64_t>(stay.size()));
    for (std::int64_t a = 0; a < block.K_; ++a)
      for (std::int64_t b = 0; b < block.K_; ++b) block.row(a)[b] = row(stay[a])[stay[b]];
    return block;
  }

  // y += the sum of z times these rows.
  void add(const R* const* rows, const R* z, std::int64_t n, R* y) const {
    for (std::int64_t i = 0; i < n; i += 4) {
      const R* four[4];
      R steps[4];
      for (std::int64_t k = 0; k < 4; ++k) {
        four[k] = rows[i + k < n ? i + k : i];
        steps[k] = i + k < n ? z[i + k] : R{};
      }
      add_rows(four, steps, K_, y);
    }
  }

  // Passes until one moves no coordinate's gradient by more than the tolerance; returns how far the
  // first one moved it. Bd [K]: without g, as rounded to floats it would stay where it is.
  template <class Penalty>
  double solve(const Penalty& penalty, double tolerance, std::int64_t max_passes,
               SplitMix64& random, HeadVariable<Penalty>* head, R* Bd) const {
    std::vector<std::int32_t> order((K_ + kHeadGroup - 1) / kHeadGroup);
    std::iota(order.begin(), order.end(), 0);
    double first = 0.0;
    for (std::int64_t pass = 0; pass < max_passes; ++pass) {
      shuffle(order, random);
      double moved = 0.0;
      for (const std::int32_t group : order)
        moved = std::max(moved, visit(group * kHeadGroup, penalty, head, Bd));
      if (pass == 0) first = moved;
      if (moved <= tolerance) break;
    }
    return first;
  }

 private:
  template <class Penalty>
  double visit(std::int64_t first, const Penalty& penalty, HeadVariable<Penalty>* head,
               R* Bd) const {
    const std::int64_t n = std::min(kHeadGroup, K_ - first);
    R here[kHeadGroup] = {}, block[kHeadGroup][kHeadGroup] = {};
    for (std::int64_t i = 0; i < n; ++i) {
      here[i] = Bd[first + i];
      std::copy_n(row(first + i) + first, n, block[i]);
    }
    const R* rows[kHeadGroup];  // of those that move
    R steps[kHeadGroup];
    std::int64_t n_moved = 0;
    double moved = 0.0;
    for (std::int64_t i = 0; i < n; ++i) {
      HeadVariable<Penalty>& x = head[first + i];
      const double slope = x.curvature * x.target - (x.g + here[i]);
      const double target = penalty.minimiser(slope, x.inverse, x.penalty),
                   step = target - x.target;
      x.target = target;
      moved = std::max(moved, x.curvature * std::fabs(step));
      const R z = static_cast<R>(step);
      for (std::int64_t k = 0; k < kHeadGroup; ++k) here[k] += z * block[i][k];
      rows[n_moved] = row(first + i);
      steps[n_moved] = z;
      n_moved += step != 0.0;
    }
    add(rows, steps, n_moved, Bd);
    return moved;
  }

  std::int64_t K_;
  AlignedArray<R> gram_;
};

}  // namespace proxqn::inner
