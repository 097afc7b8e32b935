#include "products/sweep_result.hpp"

#include <algorithm>

namespace proxqn::products {

Sweep join(const std::vector<Sweep>& parts) {
  Sweep all;
  for (const auto& part : parts) {
    all.coordinates.insert(all.coordinates.end(), part.coordinates.begin(), part.coordinates.end());
    all.gradient.insert(all.gradient.end(), part.gradient.begin(), part.gradient.end());
    all.largest = larger(all.largest, part.largest);
    all.left_out = std::max(all.left_out, part.left_out);
  }
  return all;
}

std::vector<std::int64_t> column_chunks(const Features& f) {
  constexpr std::int64_t columns = 256;
  const std::int64_t n_chunks = (f.n_columns + columns - 1) / columns;
  std::vector<std::int64_t> bounds(n_chunks + 1, f.n_columns);
  const std::int64_t entries = f.start[f.n_columns];
  for (std::int64_t i = 0; i < n_chunks; ++i)
    bounds[i] = std::lower_bound(f.start, f.start + f.n_columns, entries * i / n_chunks) - f.start;
  return bounds;
}

}  // namespace proxqn::products
