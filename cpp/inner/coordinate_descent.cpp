#include "inner/coordinate_descent.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <vector>

#include "base/random.hpp"
#include "base/simd.hpp"

namespace proxqn::inner {

// All numbers of a coordinate, in one cache line, or two where the penalty has some of its own.
template <class Penalty>
struct alignas(64) Coordinate {
  double w, g, base, curvature, inverse, d;  // base: gamma D_jj; inverse: of curvature + l2
  [[no_unique_address]] typename Penalty::Local penalty;
};

// The one-dimensional problem with a = B_jj, b = g_j + (Bd)_j, c = w_j + d_j has the slope u = a c - b,
// and z = its minimiser - c. (Bd)_j = gamma D_jj d_j + row_j'h with the
// paper's running 2m-vector h.
//
// G coordinates one after the other. What each of them changes is told to the next ones at once, by
// the products of their rows, and to h when all are done: a coordinate then waits for a few
// operations of the one before it instead of two passes over h. Returns max_j a |z|.
template <int G, class R, class Penalty>
PROXQN_INLINE double visit_group(const Subproblem<R, Penalty>& p, const std::int32_t* order,
                                 Coordinate<Penalty>* all, R* h) {
  const R* rows[G];
  for (int i = 0; i < G; ++i) rows[i] = p.rows + order[i] * p.width;
  EightOf<R> with_h[G] = {}, with_later[G][G] = {};
  const EightOf<R> signs{1, -1, 1, -1, 1, -1, 1, -1};
  for (std::int64_t k = 0; k < p.used; k += 8) {
    const EightOf<R> running = eight(h + k);
    for (int i = 0; i < G; ++i) {
      const EightOf<R> row = eight(rows[i] + k), signed_row = signs * row;
      with_h[i] += row * running;
      for (int j = i + 1; j < G; ++j) with_later[i][j] += signed_row * eight(rows[j] + k);
    }
  }
  double product[G];  // row_j'h
  for (int i = 0; i < G; ++i) product[i] = sum(with_h[i]);
  R steps[G];
  double moved = 0.0;
  for (int i = 0; i < G; ++i) {
    Coordinate<Penalty>& x = all[order[i]];
    const double c = x.w + x.d, slope = x.curvature * c - (x.g + x.base * x.d) - product[i];
    const double target = p.penalty.minimiser(slope, x.inverse, x.penalty), z = target - c;
    x.d = target - x.w;  // exact: a coordinate that returns to zero is zero, not rounding
    for (int j = i + 1; j < G; ++j) product[j] += z * sum(with_later[i][j]);
    steps[i] = static_cast<R>(z);
    moved = std::max(moved, x.curvature * std::fabs(z));
  }
  if (moved == 0.0) return moved;
  for (std::int64_t k = 0; k < p.used; k += 8) {
    EightOf<R> change{};
    for (int i = 0; i < G; ++i) change += steps[i] * eight(rows[i] + k);
    const EightOf<R> running = eight(h + k) + signs * change;
    std::memcpy(h + k, &running, sizeof running);
  }
  return moved;
}

// One pass over `order`. Returns how far it moved the model's gradient.
template <class R, class Penalty>
PROXQN_INLINE double visit(const Subproblem<R, Penalty>& p, const std::vector<std::int32_t>& order,
                           Coordinate<Penalty>* all, R* h) {
  constexpr int group = std::is_same_v<R, float> ? 3 : 2;  // more of them, more products
  double moved = 0.0;
  const auto count = static_cast<std::int64_t>(order.size());
  std::int64_t i = 0;
  for (; i + group <= count; i += group) {
    for (std::int64_t j = i; j < i + group; ++j) {
      if (j + kNumbersAhead < count) __builtin_prefetch(all + order[j + kNumbersAhead]);
      if (j + kRowsAhead < count) {
        const R* later = p.rows + order[j + kRowsAhead] * p.width;
        for (std::int64_t k = 0; k < p.used; k += 64 / static_cast<std::int64_t>(sizeof(R)))
          __builtin_prefetch(later + k);
      }
    }
    moved = std::max(moved, visit_group<group>(p, order.data() + i, all, h));
  }
  for (; i < count; ++i) moved = std::max(moved, visit_group<1>(p, order.data() + i, all, h));
  return moved;
}
// Functions with clones cannot be templates.
PROXQN_CLONES double coordinate_pass(const Subproblem<double, ConstantPenalty>& p,
                                     const std::vector<std::int32_t>& order,
                                     Coordinate<ConstantPenalty>* all, double* h) {
  return visit(p, order, all, h);
}
PROXQN_CLONES double coordinate_pass(const Subproblem<float, ConstantPenalty>& p,
                                     const std::vector<std::int32_t>& order,
                                     Coordinate<ConstantPenalty>* all, float* h) {
  return visit(p, order, all, h);
}
PROXQN_CLONES double coordinate_pass(const Subproblem<double, LocalPenalty>& p,
                                     const std::vector<std::int32_t>& order,
                                     Coordinate<LocalPenalty>* all, double* h) {
  return visit(p, order, all, h);
}
PROXQN_CLONES double coordinate_pass(const Subproblem<float, LocalPenalty>& p,
                                     const std::vector<std::int32_t>& order,
                                     Coordinate<LocalPenalty>* all, float* h) {
  return visit(p, order, all, h);
}

template <class R, class Penalty>
static double descend(const Subproblem<R, Penalty>& p, std::int64_t max_passes, double tolerance,
                      std::uint64_t seed, double* d) {
  SplitMix64 random{seed};
  std::vector<R> h(p.used, R{});
  std::vector<Coordinate<Penalty>> numbers(p.n);
  for (std::int64_t j = 0; j < p.n; ++j)
    numbers[j] = {p.w[j],
                  p.g[j],
                  p.base[j],
                  p.diagonal[j],
                  1.0 / (p.diagonal[j] + p.penalty.l2_at(j)),
                  0.0,
                  p.penalty.at(j)};
  std::vector<std::int32_t> all(p.n), free;
  std::iota(all.begin(), all.end(), 0);
  double spent = 0.0;
  while (spent < static_cast<double>(max_passes)) {
    shuffle(all, random);
    const double moved = coordinate_pass(p, all, numbers.data(), h.data());
    spent += 1.0;
    if (moved == 0.0 || (tolerance > 0.0 && moved <= tolerance)) break;
    if (tolerance <= 0.0) continue;
    free.clear();
    for (std::int32_t j = 0; j < p.n; ++j)
      if (numbers[j].d != 0.0 || numbers[j].w != 0.0 || Penalty::never_rests(numbers[j].penalty))
        free.push_back(j);
    if (free.empty() || static_cast<std::int64_t>(free.size()) == p.n) continue;
    const double price = static_cast<double>(free.size()) / static_cast<double>(p.n);
    while (spent < static_cast<double>(max_passes)) {
      shuffle(free, random);
      spent += price;
      if (coordinate_pass(p, free, numbers.data(), h.data()) <= 0.5 * tolerance) break;
    }
  }
  for (std::int64_t j = 0; j < p.n; ++j)
    d[j] = Penalty::keep_bounds(numbers[j].w, numbers[j].d, numbers[j].penalty);
  return spent;
}

template <class R>
double coordinate_descent(const Subproblem<R>& p, std::int64_t max_passes, double tolerance,
                          std::uint64_t seed, double* d) {
  return with_penalty(p.penalty, p.n, [&]<class Penalty>(const Penalty& penalty) {
    const Subproblem<R, Penalty> typed{p.w,     p.g, p.rows,  p.base, p.diagonal,
                                       penalty, p.n, p.width, p.used};
    return descend(typed, max_passes, tolerance, seed, d);
  });
}
template double coordinate_descent(const Subproblem<float>&, std::int64_t, double, std::uint64_t,
                                   double*);
template double coordinate_descent(const Subproblem<double>&, std::int64_t, double, std::uint64_t,
                                   double*);

}  // namespace proxqn::inner
