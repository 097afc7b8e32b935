#include "inner/drawn_product.hpp"

#include <algorithm>
#include <numeric>

#include "base/parallel.hpp"

namespace proxqn::inner {

using products::ColumnsView;

constexpr std::int64_t kParts = 64, kScattered = 8;  // multiply-adds that an entry takes

// body(first, last) for parts of n things that have so many entries.
template <class Body>
static void in_parts(std::int64_t n, std::int64_t n_entries, int n_jobs, const Body& body) {
  parallel_for(kParts, jobs_for(kScattered * n_entries, n_jobs),
               [&](std::int64_t part) { body(part * n / kParts, (part + 1) * n / kParts); });
}

// out[i] = base[i] + the sum over the entries of i of value * v; base may be none.
static void gather(const ColumnsView& M, const double* v, double scale, const double* base,
                   double* out, int n_jobs) {
  in_parts(M.n, M.start[M.n], n_jobs, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      double total = base ? scale * base[i] : 0.0;
      for (std::int64_t k = M.start[i]; k < M.start[i + 1]; ++k) total += M.value[k] * v[M.row[k]];
      out[i] = total;
    }
  });
}

DrawnProduct::DrawnProduct(const ColumnsView& J, std::int64_t n_rows, double ridge, int n_jobs)
    : J_(J), diagonal_(J.n), n_jobs_(n_jobs) {
  const std::int64_t n_entries = J.start[J.n];
  in_parts(J.n, n_entries, n_jobs, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t j = first; j < last; ++j)
      for (std::int64_t k = J.start[j]; k < J.start[j + 1]; ++k)
        diagonal_[j] += static_cast<double>(J.value[k]) * J.value[k];
  });
  const double squares = std::accumulate(diagonal_.begin(), diagonal_.end(), 0.0);
  ridge_ = squares > 0.0 ? ridge * squares / static_cast<double>(n_entries) : ridge;
  for (double& d : diagonal_) d += ridge_;
  turn(n_rows);
}

// Every thread reads all entries and takes those of its own rows: they come in the order of the columns, however
// many threads there are.
void DrawnProduct::turn(std::int64_t n_rows) {
  const std::int64_t n_entries = J_.start[J_.n];
  const int n_jobs = jobs_for(kScattered * n_entries, n_jobs_);
  auto with_rows = [&](const auto& body) {
    parallel_for(n_jobs, n_jobs, [&](std::int64_t part) {
      body(part * n_rows / n_jobs, (part + 1) * n_rows / n_jobs);
    });
  };
  row_start_.assign(n_rows + 1, 0);
  with_rows([&](std::int64_t first, std::int64_t last) {
    for (std::int64_t k = 0; k < n_entries; ++k)
      if (first <= J_.row[k] && J_.row[k] < last) ++row_start_[J_.row[k] + 1];
  });
  std::partial_sum(row_start_.begin(), row_start_.end(), row_start_.begin());
  column_ = AlignedArray<std::int32_t>(n_entries);
  value_ = AlignedArray<float>(n_entries);
  with_rows([&](std::int64_t first, std::int64_t last) {
    std::vector<std::int64_t> next(row_start_.begin() + first, row_start_.begin() + last);
    for (std::int64_t j = 0; j < J_.n; ++j)
      for (std::int64_t k = J_.start[j]; k < J_.start[j + 1]; ++k) {
        if (J_.row[k] < first || J_.row[k] >= last) continue;
        const std::int64_t to = next[J_.row[k] - first]++;
        column_.data()[to] = static_cast<std::int32_t>(j);
        value_.data()[to] = J_.value[k];
      }
  });
}

void DrawnProduct::times(const double* v, double* out) const {
  const std::int64_t n_rows = static_cast<std::int64_t>(row_start_.size()) - 1;
  std::vector<double> along(n_rows);  // Jv
  const ColumnsView by_rows{row_start_.data(), n_rows, column_.data(), value_.data()};
  gather(by_rows, v, 0.0, nullptr, along.data(), n_jobs_);
  gather(J_, along.data(), ridge_, v, out, n_jobs_);
}

}  // namespace proxqn::inner
