// Products with curvature drawn from the model, rho I + J'J: for conjugate gradients, which need nothing else of
// it. J is kept by columns and by rows, so that both halves of a product gather and every sum is one thread's.
#pragma once
#include <cstdint>
#include <vector>

#include "products/drawn_columns.hpp"

namespace proxqn::inner {

class DrawnProduct {
 public:
  DrawnProduct(const products::ColumnsView& J, std::int64_t n_rows, double ridge, int n_jobs);

  std::int64_t size() const { return static_cast<std::int64_t>(by_columns_.start.size()) - 1; }

  // out[n] = rho v + J'(J v)
  void times(const double* v, double* out) const;

 private:
  products::Columns by_columns_, by_rows_;
  double ridge_;
  int n_jobs_;
};

}  // namespace proxqn::inner
