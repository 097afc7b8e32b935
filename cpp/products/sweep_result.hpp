// What a sweep finds: the derivatives above a threshold, and the largest of all.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/parallel.hpp"
#include "base/simd.hpp"
#include "products/features.hpp"

namespace proxqn::products {

struct Sweep {
  std::vector<std::int64_t> coordinates;
  std::vector<double> gradient;
  double largest = 0.0;
  double left_out = 0.0;  // the largest bound of a column left out

  PROXQN_INLINE void see(std::int64_t coordinate, double g, double threshold) {
    const double size = std::fabs(g);
    largest = larger(largest, size);
    if (size > threshold) keep(coordinate, g);
  }
  void keep(std::int64_t coordinate, double g) {
    coordinates.push_back(coordinate);
    gradient.push_back(g);
  }
};

// Coordinates whose derivatives are wanted whatever their size, ascending.
struct Kept {
  const std::int64_t* coordinates = nullptr;
  std::int64_t n = 0;
};

Sweep join(const std::vector<Sweep>& parts);

// What sweep(level) finds, which may leave out columns that do not exceed the level. If nothing exceeds
// the threshold, the largest of all may be among them: it looks again.
template <class Body>
Sweep sweep_leaving_out(double threshold, const Body& sweep) {
  Sweep found =
      sweep(std::isinf(threshold) ? 0.0 : threshold);  // infinity asks for the largest only
  return found.left_out > found.largest ? sweep(found.largest) : found;
}

// The bounds of chunks of columns with about equal entries.
std::vector<std::int64_t> column_chunks(const Features& f);

// What body(first, last, found) finds in these chunks, in their order.
template <class Body>
Sweep sweep_chunks(const Features& f, int n_jobs, const Body& body) {
  const std::vector<std::int64_t> bounds = column_chunks(f);
  const auto n_chunks = static_cast<std::int64_t>(bounds.size()) - 1;
  std::vector<Sweep> parts(n_chunks);
  parallel_for(n_chunks, n_jobs, [&](std::int64_t i) { body(bounds[i], bounds[i + 1], parts[i]); });
  return join(parts);
}

}  // namespace proxqn::products
