// The inner problem  min_d g'd + d'Bd/2 + Omega(w + d)  over the working set A, Omega in penalty.hpp, B in
// compact_bfgs.hpp.
#pragma once
#include <cstdint>

#include "inner/pair_rows.hpp"
#include "inner/penalty.hpp"

namespace proxqn::inner {

// Rows of floats halve the traffic; the direction, not what is made of it, is then right to six digits.
template <class R, class Penalty = LocalPenalty>
struct Subproblem {
  const double *w, *g;            // [A]
  const R* rows;                  // [A][width]
  const double *base, *diagonal;  // gamma D [A], [A]
  Penalty penalty;
  std::int64_t n, width, used;
};

// Randomised coordinate descent from d = 0. With tolerance 0: max_passes full passes, as in the paper.
// With a tolerance: passes over the coordinates that are off zero, or that nothing holds there, until
// they settle, then a full pass, until a full pass moves no coordinate's gradient by more. Returns
// full-pass equivalents.
template <class R>
double coordinate_descent(const Subproblem<R>& p, std::int64_t max_passes, double tolerance,
                          std::uint64_t seed, double* d);

}  // namespace proxqn::inner
