// The inner problem  min_d g'd + d'Bd/2 + Omega(w + d)  with drawn curvature B (drawn_curvature.hpp) and
// Omega in penalty.hpp.
#pragma once
#include <cstdint>

#include "inner/drawn_curvature.hpp"
#include "inner/penalty.hpp"

namespace proxqn::inner {

// Coordinate descent: passes over the head and the tail's coordinates that are off zero, or that nothing
// holds there, until they settle, then over all, until no coordinate's gradient moves by more than the
// tolerance. Returns the passes made, as shares of all coordinates.
template <class R>
double minimize(const DrawnCurvature<R>& B, const double* w, const double* g,
                const LocalPenalty& penalty, std::int64_t max_passes, double tolerance,
                std::uint64_t seed, double* d);

}  // namespace proxqn::inner
