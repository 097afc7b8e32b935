// Sums of sparse vectors.
#pragma once
#include <cstdint>
#include <vector>

namespace proxqn::base {

struct Sparse {
  const std::int64_t* coordinates;  // ascending
  const double* values;
  std::int64_t n;
};

// coordinates and values of a + step b, ascending and without zeros; a NaN stays
void add_sparse(const Sparse& a, const Sparse& b, double step,
                std::vector<std::int64_t>& coordinates, std::vector<double>& values);

}  // namespace proxqn::base

namespace proxqn {
using namespace base;  // every room speaks it
}
