// A sweep's sums slot by slot: the residuals of a slot are loaded once and added to the sums of the
// columns on its list, which stay in the L2 cache. Column by column, each entry would fetch residuals
// from where the slot happens to stand.
#pragma once
#include <cstdint>
#include <vector>

#include "products/block_sums.hpp"
#include "products/column_sums.hpp"
#include "products/features.hpp"
#include "products/sweep_bound.hpp"

namespace proxqn::products {

// How the listed columns are summed.
struct ListedColumns {
  std::int64_t n_labels, Lp, stride, n_parts;
  std::vector<std::int32_t> columns, frequent;  // ascending; frequent: some of them
  std::vector<std::int64_t> frequent_place;     // among the columns
  bool pays = false;  // more than half of the entries are of columns not left out

  // scalar: bytes of a residual
  ListedColumns(const Features& f, std::int64_t stride_, std::int64_t n_labels_,
                std::int64_t scalar, const OutOfReach& out);
};

template <class S>
struct ListedSums {
  PartSums<double> frequent;
  PartSums<S> all;  // of the others
};

template <class S>
ListedSums<S> sum_listed(const Features& f, const ListedColumns& x, const SlotRows<S>& rows,
                         int n_jobs);

}  // namespace proxqn::products
