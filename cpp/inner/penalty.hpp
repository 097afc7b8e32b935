// The penalty of the inner problem, separable over its coordinates:
//     Omega(v) = sum_j lam_j |v_j| + (l2_j / 2) v_j^2,   lower_j <= v_j <= upper_j,
// with lower_j <= 0 <= upper_j, infinite where there is no bound, and lam_j = 0 where nothing holds v_j at
// zero. With the others fixed, a coordinate of curvature a has a model a v^2 / 2 - u v + Omega_j(v), u the
// slope that pulls it off zero. That is convex with one minimum but for the bounds, so the minimiser is
//     v = clip(S(u, lam_j) / (a + l2_j), lower_j, upper_j),   S(u, t) = sign(u) max(|u| - t, 0).
//
// Two types with the same functions, of which the loops are templates: one that is the same everywhere
// and without bounds, whose two numbers stay in registers, and one whose numbers lie beside those of a
// coordinate (its Local).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/simd.hpp"

namespace proxqn::inner {

// sign(u) max(|u| - lam, 0), without branches that nobody can foresee.
PROXQN_INLINE double soft_threshold(double u, double lam) {
  return std::copysign(std::max(std::fabs(u) - lam, 0.0), u);
}

struct ConstantPenalty {
  double lam, l2;

  struct Local {};  // nothing
  Local at(std::int64_t) const { return {}; }
  double l2_at(std::int64_t) const { return l2; }
  // inverse: of a + l2.
  PROXQN_INLINE double minimiser(double slope, double inverse, const Local&) const {
    return soft_threshold(slope, lam) * inverse;
  }
  // Whether a coordinate at zero may leave it with any slope.
  static bool never_rests(const Local&) { return false; }
  static double keep_bounds(double, double d, const Local&) { return d; }
};

struct LocalPenalty {
  // Of n numbers, or of a single one for all: then its stride is 0.
  struct Numbers {
    const double* first;
    std::int64_t stride;
    double operator[](std::int64_t j) const { return first[j * stride]; }
  };
  Numbers lam, l2, lower, upper;

  struct Local {
    double lam, lower, upper;
  };
  Local at(std::int64_t j) const { return {lam[j], lower[j], upper[j]}; }
  double l2_at(std::int64_t j) const { return l2[j]; }
  PROXQN_INLINE double minimiser(double slope, double inverse, const Local& x) const {
    return std::min(std::max(soft_threshold(slope, x.lam) * inverse, x.lower), x.upper);
  }
  static bool never_rests(const Local& x) { return x.lam == 0.0 && x.lower < x.upper; }
  // d, or next to it, such that w + d as rounded is within the bounds, and so w + t d for t in [0, 1].
  static double keep_bounds(double w, double d, const Local& x) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    while (w + d > x.upper) d = std::nextafter(d, -infinity);
    while (w + d < x.lower) d = std::nextafter(d, infinity);
    return d;
  }
};

// body(the penalty as the cheaper of the two types): a penalty that is the same for all n coordinates and
// has no bounds is constant, however it is given.
template <class Body>
auto with_penalty(const LocalPenalty& penalty, std::int64_t n, const Body& body) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  bool constant = true;
  auto is_everywhere = [&](const LocalPenalty::Numbers& x, double value) {
    for (std::int64_t j = 0; constant && j < (x.stride == 0 ? std::min<std::int64_t>(n, 1) : n);
         ++j)
      constant = x[j] == value;
  };
  const double lam = n > 0 ? penalty.lam[0] : 0.0, l2 = n > 0 ? penalty.l2[0] : 0.0;
  is_everywhere(penalty.lam, lam);
  is_everywhere(penalty.l2, l2);
  is_everywhere(penalty.lower, -infinity);
  is_everywhere(penalty.upper, infinity);
  return constant ? body(ConstantPenalty{lam, l2}) : body(penalty);
}

}  // namespace proxqn::inner
