#include "inner/drawn_product.hpp"

#include "base/parallel.hpp"

namespace proxqn::inner {

using products::Columns;
using products::ColumnsView;

static Columns transposed(const ColumnsView& J, std::int64_t n_rows) {
  const std::int64_t n_entries = J.start[J.n];
  Columns turned;
  turned.start.assign(n_rows + 1, 0);
  turned.row.resize(n_entries);
  turned.value.resize(n_entries);
  for (std::int64_t k = 0; k < n_entries; ++k) ++turned.start[J.row[k] + 1];
  for (std::int64_t i = 0; i < n_rows; ++i) turned.start[i + 1] += turned.start[i];
  std::vector<std::int64_t> next(turned.start.begin(), turned.start.end() - 1);
  for (std::int64_t j = 0; j < J.n; ++j)
    for (std::int64_t k = J.start[j]; k < J.start[j + 1]; ++k) {
      const std::int64_t to = next[J.row[k]]++;
      turned.row[to] = static_cast<std::int32_t>(j);
      turned.value[to] = J.value[k];
    }
  return turned;
}

// out[i] = base[i] + the sum over the entries of i of value * v; base may be none.
static void gather(const Columns& M, const double* v, double scale, const double* base, double* out,
                   int n_jobs) {
  constexpr std::int64_t kParts = 64, kScattered = 8;  // multiply-adds that an entry takes
  const std::int64_t n = static_cast<std::int64_t>(M.start.size()) - 1;
  parallel_for(kParts, jobs_for(kScattered * M.start[n], n_jobs), [&](std::int64_t part) {
    for (std::int64_t i = part * n / kParts; i < (part + 1) * n / kParts; ++i) {
      double total = base ? scale * base[i] : 0.0;
      for (std::int64_t k = M.start[i]; k < M.start[i + 1]; ++k) total += M.value[k] * v[M.row[k]];
      out[i] = total;
    }
  });
}

DrawnProduct::DrawnProduct(const ColumnsView& J, std::int64_t n_rows, double ridge, int n_jobs)
    : by_columns_{{J.start, J.start + J.n + 1},
                  {J.row, J.row + J.start[J.n]},
                  {J.value, J.value + J.start[J.n]}},
      by_rows_(transposed(J, n_rows)), ridge_(ridge), n_jobs_(n_jobs) {}

void DrawnProduct::times(const double* v, double* out) const {
  std::vector<double> along(by_rows_.start.size() - 1);  // Jv
  gather(by_rows_, v, 0.0, nullptr, along.data(), n_jobs_);
  gather(by_columns_, along.data(), ridge_, v, out, n_jobs_);
}

}  // namespace proxqn::inner
