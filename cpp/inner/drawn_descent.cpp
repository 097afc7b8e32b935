#include "inner/drawn_descent.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/aligned_array.hpp"
#include "base/random.hpp"
#include "base/simd.hpp"

namespace proxqn::inner {

constexpr std::int64_t kHeadPasses = 20;
constexpr std::int64_t kEntriesAhead = 64;  // asked for early, of a column

template <class T>
static std::int64_t size(const std::vector<T>& x) {
  return static_cast<std::int64_t>(x.size());
}

// What a visit of the tail reads, in one cache line, or two where the penalty has numbers of its own.
template <class R, class Penalty>
struct alignas(64) TailVariable {
  double w, g, d, curvature, inverse;  // inverse: of curvature + l2
  const TailEntry *entries, *end;
  const R* row;
  [[no_unique_address]] typename Penalty::Local penalty;
};

// A minimisation: where it is, with the products of the d reached so far.
template <class R, class Penalty>
class DrawnDescent {
 public:
  DrawnDescent(const DrawnCurvature<R>& B, const double* w, const double* g, const Penalty& penalty,
               std::uint64_t seed)
      : B_(B), w_(w), penalty_(penalty), random_{seed}, r_(AlignedArray<R>::zeros(B.tail_rows_.n)),
        h_(AlignedArray<R>::zeros(B.width_)), r_seen_(AlignedArray<R>::zeros(B.tail_rows_.n)),
        h_seen_(AlignedArray<R>::zeros(B.width_)), Bd_(AlignedArray<R>::zeros(B.head_.size())) {
    for (const std::int64_t j : B.heads_) {
      head_.push_back(
          {g[j], w[j], B.diagonal_[j], 1.0 / (B.diagonal_[j] + penalty.l2_at(j)), penalty.at(j)});
      told_.push_back(w[j]);
    }
    tail_.reserve(B.tail_.size());
    for (const std::int32_t j : B.tail_)
      tail_.push_back({w[j], g[j], 0.0, B.diagonal_[j], 1.0 / (B.diagonal_[j] + penalty.l2_at(j)),
                       B.tail_rows_.begin(j), B.tail_rows_.end(j), B.rows_.data() + j * B.width_,
                       penalty.at(j)});
  }

  double run(std::int64_t max_passes, double tolerance, double* d) {
    std::vector<std::int32_t> all(B_.tail_.size()), free;
    std::iota(all.begin(), all.end(), 0);
    double spent = 0.0;
    while (spent < static_cast<double>(max_passes)) {
      const std::int64_t most = B_.tail_.empty() ? max_passes * kHeadPasses : kHeadPasses;
      double moved = solve_head(0.3 * tolerance, most);
      moved = std::max(moved, visit_tail(all));
      spent += 1.0;
      if (moved <= tolerance || B_.tail_.empty()) break;
      free.clear();
      for (const std::int32_t i : all)
        if (tail_[i].d != 0.0 || tail_[i].w != 0.0 || Penalty::never_rests(tail_[i].penalty))
          free.push_back(i);
      const double price =
          static_cast<double>(size(free) + B_.head_.size()) / static_cast<double>(B_.n_);
      while (spent < static_cast<double>(max_passes) && price < 1.0) {
        moved = solve_head(0.3 * tolerance, kHeadPasses);
        moved = std::max(moved, visit_tail(free));
        spent += price;
        if (moved <= 0.5 * tolerance) break;
      }
    }
    // Exact: a coordinate that returns to zero is zero, not rounding.
    for (std::int64_t a = 0; a < B_.head_.size(); ++a) {
      const double from = w_[B_.heads_[a]];
      d[B_.heads_[a]] = Penalty::keep_bounds(from, head_[a].target - from, head_[a].penalty);
    }
    for (std::size_t i = 0; i < B_.tail_.size(); ++i) {
      const auto& v = tail_[i];
      d[B_.tail_[i]] = Penalty::keep_bounds(v.w, v.d, v.penalty);
    }
    return spent;
  }

 private:
  // Tells the head how the tail has moved.
  void look() {
    if (seen_) return;
    for (std::int32_t i = 0; i < B_.tail_rows_.n; ++i) r_seen_[i] = r_[i] - r_seen_[i];
    for (std::int64_t i = 0; i < B_.width_; ++i) h_seen_[i] = h_[i] - h_seen_[i];
    B_.in_parts(B_.head_.size(), kScattered * B_.tail_rows_.row_start[B_.tail_rows_.n],
                [&](std::int64_t first, std::int64_t last) {
                  for (std::int64_t a = first; a < last; ++a) {
                    const std::int64_t j = B_.heads_[a];
                    Bd_[a] += static_cast<R>(
                        gather<R>(B_.tail_rows_.begin(j), B_.tail_rows_.end(j), r_seen_.data()) +
                        row_product(B_.rows_.data() + j * B_.width_, h_seen_.data(), B_.width_));
                  }
                });
  }

  // Passes over the head until it has settled; then the tail is told. Returns how far the first one
  // moved it.
  double solve_head(double tolerance, std::int64_t max_passes) {
    const std::int64_t K = B_.head_.size();
    look();
    const double first =
        B_.head_.solve(penalty_, tolerance, max_passes, random_, head_.data(), Bd_.data());
    std::vector<R> change(K);
    for (std::int64_t a = 0; a < K; ++a) {
      change[a] = static_cast<R>(head_[a].target - told_[a]);
      told_[a] = head_[a].target;
      if (change[a] != R{})
        add_row(B_.rows_.data() + B_.heads_[a] * B_.width_, change[a], B_.width_, h_.data());
    }
    B_.in_parts(B_.tail_rows_.n, kScattered * B_.tail_rows_.row_start[B_.tail_rows_.n],
                [&](std::int64_t begin, std::int64_t end) {
                  for (std::int64_t i = begin; i < end; ++i)
                    r_[i] += gather<R>(B_.tail_rows_.by_row.get() + B_.tail_rows_.row_start[i],
                                       B_.tail_rows_.by_row.get() + B_.tail_rows_.row_start[i + 1],
                                       change.data());
                });
    std::copy_n(r_.data(), B_.tail_rows_.n, r_seen_.data());
    std::copy_n(h_.data(), B_.width_, h_seen_.data());
    seen_ = true;
    return first;
  }

  double visit_tail(std::vector<std::int32_t>& order) {
    shuffle(order, random_);
    double moved = 0.0;
    R *r = r_.data(), *h = h_.data();
    const std::int64_t count = size(order);
    for (std::int64_t i = 0; i < count; ++i) {
      if (i + kNumbersAhead < count) __builtin_prefetch(&tail_[order[i + kNumbersAhead]]);
      if (i + kRowsAhead < count) {
        const TailVariable<R, Penalty>& later = tail_[order[i + kRowsAhead]];
        for (const auto* e = later.entries; e < std::min(later.end, later.entries + kEntriesAhead);
             e += 8)
          __builtin_prefetch(e);
        for (std::int64_t k = 0; k < B_.width_; k += 64 / static_cast<std::int64_t>(sizeof(R)))
          __builtin_prefetch(later.row + k);
      }
      TailVariable<R, Penalty>& v = tail_[order[i]];
      const double product = gather<R>(v.entries, v.end, r) + row_product(v.row, h, B_.width_);
      const double c = v.w + v.d, slope = v.curvature * c - (v.g + B_.ridge_ * v.d + product);
      const double target = penalty_.minimiser(slope, v.inverse, v.penalty), z = target - c;
      if (z == 0.0) continue;
      v.d = target - v.w;
      scatter<R>(v.entries, v.end, static_cast<R>(z), r);
      add_row(v.row, static_cast<R>(z), B_.width_, h);
      moved = std::max(moved, v.curvature * std::fabs(z));
    }
    seen_ &= moved == 0.0;
    return moved;
  }

  const DrawnCurvature<R>& B_;
  const double* w_;
  Penalty penalty_;
  SplitMix64 random_;
  std::vector<HeadVariable<Penalty>> head_;
  std::vector<TailVariable<R, Penalty>> tail_;
  AlignedArray<R> r_, h_;            // Jd on the tail's rows, and [p_1'd, -c_1'd, ...]
  AlignedArray<R> r_seen_, h_seen_;  // when Bd was as it should be
  AlignedArray<R> Bd_;               // [K] of the head
  std::vector<double> told_;         // [K] w + d of the head in r and h
  bool seen_ = true;                 // whether the tail has not moved since
};

template <class R>
double minimize(const DrawnCurvature<R>& B, const double* w, const double* g,
                const LocalPenalty& penalty, std::int64_t max_passes, double tolerance,
                std::uint64_t seed, double* d) {
  return with_penalty(penalty, B.size(), [&]<class Penalty>(const Penalty& typed) {
    return DrawnDescent<R, Penalty>(B, w, g, typed, seed).run(max_passes, tolerance, d);
  });
}
template double minimize(const DrawnCurvature<float>&, const double*, const double*,
                         const LocalPenalty&, std::int64_t, double, std::uint64_t, double*);
template double minimize(const DrawnCurvature<double>&, const double*, const double*,
                         const LocalPenalty&, std::int64_t, double, std::uint64_t, double*);

}  // namespace proxqn::inner
