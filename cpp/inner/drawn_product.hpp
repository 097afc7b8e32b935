// Products with curvature drawn from the model, rho I + J'J: for conjugate gradients, which need nothing else of
// it. J is kept by columns and by rows, so that both halves of a product gather and every sum is one thread's.
#pragma once
#include <cstdint>
#include <vector>

#include "base/aligned_array.hpp"
#include "products/drawn_columns.hpp"

namespace proxqn::inner {

class DrawnProduct {
 public:
  // J stays the caller's. ridge: rho in units of the mean square of J's entries.
  DrawnProduct(const products::ColumnsView& J, std::int64_t n_rows, double ridge, int n_jobs);

  std::int64_t size() const { return J_.n; }
  // [n], where an entry that stands twice counts as two.
  const std::vector<double>& diagonal() const { return diagonal_; }

  // out[n] = rho v + J'(J v)
  void times(const double* v, double* out) const;

 private:
  void turn(std::int64_t n_rows);

  products::ColumnsView J_;
  std::vector<std::int64_t> row_start_;   // [n_rows + 1]
  AlignedArray<std::int32_t> column_{0};  // by row
  AlignedArray<float> value_{0};
  std::vector<double> diagonal_;
  double ridge_;
  int n_jobs_;
};

}  // namespace proxqn::inner
