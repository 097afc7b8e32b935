#include "products/double_products.hpp"

#include <algorithm>

#include "base/parallel.hpp"
#include "base/simd.hpp"

namespace proxqn::products {

ByLabel::ByLabel(const Features& f, const std::int64_t* coordinates, std::int64_t n,
                 std::int64_t n_labels)
    : label_start(n_labels + 1, 0), order(n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t c = coordinates[i] / n_labels;
    ++label_start[coordinates[i] - c * n_labels + 1];
    n_entries += f.start[c + 1] - f.start[c];
  }
  for (std::int64_t y = 0; y < n_labels; ++y) label_start[y + 1] += label_start[y];
  auto next = label_start;
  for (std::int64_t i = 0; i < n; ++i) order[next[coordinates[i] % n_labels]++] = i;
}

// --- scores --------------------------------------------------------------------------------------

// Adds to slots [begin, end) of one label, which `out` is.
PROXQN_CLONES void score_label(const Features& f, const std::int64_t* coordinates,
                               const double* weights, std::int64_t n_labels,
                               const std::int64_t* order, std::int64_t n, std::int64_t begin,
                               std::int64_t end, std::int64_t stride, double* out) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t c = coordinates[order[i]] / n_labels;
    const double w = weights[order[i]];
    const std::int32_t *all = f.slots + f.start[c], *stop = f.slots + f.start[c + 1];
    const std::int32_t* first = find_slot(all, stop, begin, stride);
    const std::int32_t* last = find_slot(all, stop, end, stride);
    if (const double* v = f.column_values(c))
      for (const std::int32_t* slot = first; slot < last; ++slot)
        out[*slot - begin] += w * v[slot - all];
    else
      for (const std::int32_t* slot = first; slot < last; ++slot) out[*slot - begin] += w;
  }
}

void scores(const Features& f, const std::int64_t* coordinates, const double* weights,
            std::int64_t n, std::int64_t n_labels, std::int64_t stride, int n_jobs, double* out,
            std::uint8_t* dirty) {
  const ByLabel by(f, coordinates, n, n_labels);
  n_jobs = jobs_for(by.n_entries, n_jobs);
  const std::int64_t n_parts = n_jobs > 1 ? 4 : 1;  // of the slots: labels have unequal work
  parallel_for(n_parts * n_labels, n_jobs, [&](std::int64_t task) {
    const std::int64_t y = task / n_parts, part = task % n_parts;
    const std::int64_t begin = part * stride / n_parts, end = (part + 1) * stride / n_parts;
    const std::int64_t first = by.label_start[y], count = by.label_start[y + 1] - first;
    double* column = out + y * stride;
    if (dirty[y]) std::fill(column + begin, column + end, 0.0);
    score_label(f, coordinates, weights, n_labels, by.order.data() + first, count, begin, end,
                stride, column + begin);
  });
  for (std::int64_t y = 0; y < n_labels; ++y) dirty[y] = by.label_start[y + 1] > by.label_start[y];
}

void window_scores(const Features& f, const ByLabel& by, const std::int64_t* coordinates,
                   const double* weights, std::int64_t n_labels, std::int64_t begin,
                   std::int64_t end, std::int64_t stride, double* out) {
  for (std::int64_t y = 0; y < n_labels; ++y) {
    const std::int64_t first = by.label_start[y], count = by.label_start[y + 1] - first;
    score_label(f, coordinates, weights, n_labels, by.order.data() + first, count, begin, end,
                stride, out + y * (end - begin));
  }
}

// --- gradient ------------------------------------------------------------------------------------

PROXQN_INLINE double gather_sum(const double* column, const std::int32_t* slots, std::int64_t n) {
  double a[8] = {};  // eight chains hide the latency of the loads; combined in a fixed order
  std::int64_t e = 0;
  for (; e + 8 <= n; e += 8)
    for (int k = 0; k < 8; ++k) a[k] += column[slots[e + k]];
  for (; e < n; ++e) a[0] += column[slots[e]];
  return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
}

PROXQN_INLINE double gather_dot(const double* column, const std::int32_t* slots, const double* v,
                                std::int64_t n) {
  double a[4] = {};
  std::int64_t e = 0;
  for (; e + 4 <= n; e += 4)
    for (int k = 0; k < 4; ++k) a[k] += column[slots[e + k]] * v[e + k];
  for (; e < n; ++e) a[0] += column[slots[e]] * v[e];
  return (a[0] + a[2]) + (a[1] + a[3]);
}

static void gradient_range(const Features& f, const std::int64_t* coordinates,
                           const std::int64_t* order, std::int64_t n, std::int64_t n_labels,
                           std::int64_t stride, const double* residuals, double* gradient) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t c = coordinates[order[i]] / n_labels, y = coordinates[order[i]] % n_labels;
    const std::int64_t first = f.start[c], count = f.start[c + 1] - first;
    const double* column = residuals + y * stride;
    const double* v = f.column_values(c);
    gradient[order[i]] = v ? gather_dot(column, f.slots + first, v, count)
                           : gather_sum(column, f.slots + first, count);
  }
}

void gradient(const Features& f, const std::int64_t* coordinates, std::int64_t n,
              std::int64_t n_labels, std::int64_t stride, const double* residuals, int n_jobs,
              double* out) {
  const ByLabel by(f, coordinates, n, n_labels);
  constexpr std::int64_t chunk = 32;
  parallel_for((n + chunk - 1) / chunk, jobs_for(by.n_entries, n_jobs), [&](std::int64_t i) {
    const std::int64_t first = i * chunk;
    gradient_range(f, coordinates, by.order.data() + first, std::min(chunk, n - first), n_labels,
                   stride, residuals, out);
  });
}

}  // namespace proxqn::products
