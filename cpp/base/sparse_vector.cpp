#include "base/sparse_vector.hpp"

namespace proxqn::base {

void add_sparse(const Sparse& a, const Sparse& b, double step,
                std::vector<std::int64_t>& coordinates, std::vector<double>& values) {
  coordinates.reserve(a.n + b.n);
  values.reserve(a.n + b.n);
  for (std::int64_t i = 0, j = 0; i < a.n || j < b.n;) {
    const bool in_a = i < a.n && (j == b.n || a.coordinates[i] <= b.coordinates[j]);
    const bool in_b = j < b.n && (i == a.n || b.coordinates[j] <= a.coordinates[i]);
    const double value = (in_a ? a.values[i] : 0.0) + (in_b ? step * b.values[j] : 0.0);
    if (value != 0.0) {
      coordinates.push_back(in_a ? a.coordinates[i] : b.coordinates[j]);
      values.push_back(value);
    }
    i += in_a;
    j += in_b;
  }
}

}  // namespace proxqn::base
