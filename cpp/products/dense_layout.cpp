#include "products/dense_layout.hpp"

#include <numeric>

#include "base/parallel.hpp"

namespace proxqn::products {

ObservedLabels observed_dense(const DenseBlock& block, const std::int32_t* labels,
                              std::int64_t n_labels, std::int64_t stride) {
  const std::int64_t n = block.n_columns;
  std::vector<std::uint8_t> seen(n_labels * n);
  std::vector<std::int64_t> left(n_labels, n);  // columns not seen with a label: soon none
  block.with_values([&](const auto* values) {
    for (std::int64_t slot = 0; slot < stride; ++slot) {
      const std::int64_t row = block.slot_row[slot], y = labels[slot];
      if (row < 0 || left[y] == 0) continue;
      const auto* x = values + row * block.row_step;
      std::uint8_t* own = seen.data() + y * n;
      for (std::int64_t c = 0; c < n; ++c) own[c] |= x[c] != 0;
      left[y] = n - std::accumulate(own, own + n, std::int64_t{0});
    }
  });
  ObservedLabels found;
  found.start.push_back(0);
  for (std::int64_t c = 0; c < n; ++c) {
    for (std::int64_t y = 0; y < n_labels; ++y)
      if (seen[y * n + c]) found.labels.push_back(static_cast<std::int32_t>(y));
    found.start.push_back(static_cast<std::int64_t>(found.labels.size()));
  }
  return found;
}

template <class X>
PROXQN_INLINE void add_squares(const DenseBlock& block, const X* values, std::int64_t stride,
                               double* sums) {
  for (std::int64_t slot = 0; slot < stride; ++slot) {
    const std::int64_t row = block.slot_row[slot];
    if (row < 0) continue;
    const X* x = values + row * block.row_step;
    for (std::int64_t c = 0; c < block.n_columns; ++c) sums[c] += double(x[c]) * double(x[c]);
  }
}
PROXQN_CLONES void add_all_squares(const DenseBlock& block, std::int64_t stride, double* sums) {
  block.with_values([&](const auto* values)
                        PROXQN_INLINED { add_squares(block, values, stride, sums); });
}

std::vector<double> squares(const DenseBlock& block, std::int64_t stride) {
  std::vector<double> sums(block.n_columns, 0.0);
  add_all_squares(block, stride, sums.data());
  return sums;
}

namespace {
struct LabelTokens {  // by label: those that have it, or have it not
  std::vector<std::int64_t> start;
  std::vector<std::int32_t> token;
  std::vector<float> value;
  LabelTokens(const DrawnTokens& x, std::int64_t n_labels)
      : start(n_labels + 1, 0), token(2 * x.n), value(2 * x.n) {
    for (std::int64_t i = 0; i < x.n; ++i) ++start[x.first[i] + 1], ++start[x.second[i] + 1];
    std::partial_sum(start.begin(), start.end(), start.begin());
    auto next = start;
    auto add = [&](std::int64_t y, std::int64_t i, float sign) {
      token[next[y]] = static_cast<std::int32_t>(i);
      value[next[y]++] = sign * x.value[i];
    };
    for (std::int64_t i = 0; i < x.n; ++i) {
      add(x.first[i], i, 1.0f);
      add(x.second[i], i, -1.0f);
    }
  }
};
}  // namespace

DrawnColumns drawn_dense(const DenseBlock& block, const std::int64_t* coordinates, std::int64_t n,
                         std::int64_t n_labels, const DrawnTokens& tokens,
                         const ColumnsView& others, int n_jobs) {
  constexpr std::int64_t some = 16;  // tokens: a line of a column's entries
  const LabelTokens by(tokens, n_labels);
  const DensePairs pairs(coordinates, n, n_labels, nullptr);
  DrawnColumns J;
  J.start.assign(n + 1, 0);
  for (std::int64_t j = 0; j < n; ++j) {
    const std::int64_t y = coordinates[j] % n_labels;
    J.start[j + 1] = J.start[j] + by.start[y + 1] - by.start[y];
  }
  const std::int64_t n_own = J.start[n];
  for (std::int64_t j = 1; j <= others.n; ++j) J.start.push_back(n_own + others.start[j]);
  J.row = AlignedArray<std::int32_t>(J.start.back() + 1);  // NumPy takes no null
  J.value = AlignedArray<float>(J.start.back() + 1);
  std::copy(others.row, others.row + others.start[others.n], J.row.data() + n_own);
  std::copy(others.value, others.value + others.start[others.n], J.value.data() + n_own);
  auto write = [&](const auto* values, std::int64_t y, std::int64_t first, std::int64_t last) {
    decltype(values) rows[some] = {};
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t row = block.slot_row[tokens.slot[by.token[i]]];
      rows[i - first] = values + row * block.row_step;
    }
    for (std::int64_t p = pairs.start[y]; p < pairs.start[y + 1]; ++p) {
      const std::int64_t at = J.start[pairs.order[p]] - by.start[y];
      for (std::int64_t i = first; i < last; ++i) {
        J.row[at + i] = tokens.row[by.token[i]];
        J.value[at + i] = static_cast<float>(rows[i - first][pairs.column[p]]) * by.value[i];
      }
    }
  };
  parallel_for(n_labels, n_jobs, [&](std::int64_t y) {
    block.with_values([&](const auto* values) {
      for (std::int64_t i = by.start[y]; i < by.start[y + 1]; i += some)
        write(values, y, i, std::min(i + some, by.start[y + 1]));
    });
  });
  return J;
}

}  // namespace proxqn::products
