#include "products/dense_sweep.hpp"

#include "base/aligned_array.hpp"
#include "base/parallel.hpp"
#include "products/dense_array.hpp"

namespace proxqn::products {

constexpr std::int64_t kRunSlots = 256;  // summed in the precision of the residuals
typedef double double16 __attribute__((vector_size(128)));

template <class V, class X>
PROXQN_INLINE V load_wide(const X* p) {  // as many numbers as V has
  using From = std::conditional_t<std::is_same_v<V, double8>,
                                  std::conditional_t<std::is_same_v<X, double>, double8, float8>,
                                  std::conditional_t<std::is_same_v<X, double>, double16, float16>>;
  return __builtin_convertvector(load_as<From>(p), V);
}

// sums[M][width] of N registers of columns += their products with the first M labels of r [n][8]; x[s] is
// where the first of these columns stands in a slot's row, or null.
template <int N, int M, class X, class S>
PROXQN_INLINE void multiply(const X* const* x, const S* r, std::int64_t n, double* sums,
                            std::int64_t width) {
  using V = Wide<S>;
  constexpr std::int64_t lanes = sizeof(V) / sizeof(S);
  V acc[N][M] = {};
  for (std::int64_t s = 0; s < n; ++s) {
    if (!x[s]) continue;
    V row[N];
    for (int i = 0; i < N; ++i) row[i] = load_wide<V>(x[s] + i * lanes);
    for (int j = 0; j < M; ++j)
      for (int i = 0; i < N; ++i) acc[i][j] += row[i] * r[s * kLanes + j];
  }
  for (int j = 0; j < M; ++j)
    for (int i = 0; i < N; ++i)
      for (std::int64_t h = 0; h < lanes; h += kLanes) {
        Eights<S> part;
        std::memcpy(&part, reinterpret_cast<const char*>(&acc[i][j]) + h * sizeof(S), sizeof part);
        double* to = sums + j * width + i * lanes + h;
        store8(to, load8(to) + widen(part));
      }
}

// All columns and labels over some slots.
template <int N, int M, class Array>
struct Product {
  using S = typename Array::S;
  static constexpr std::int64_t columns = N * 64 / sizeof(S);  // at a time
  static std::int64_t width(std::int64_t n_columns) {
    return (n_columns + columns - 1) / columns * columns;
  }

  // sums [Lp][width] += slots [begin, end)
  template <class X>
  PROXQN_INLINE static void add(const DenseBlock& block, const X* values, const Array& array,
                                std::int64_t begin, std::int64_t end, double* sums) {
    const std::int64_t Lp = whole_eights(array.n_labels), width = Product::width(block.n_columns);
    AlignedArray<S> residuals(Lp * kRunSlots);
    AlignedArray<X> rest(kRunSlots * columns);  // the last columns, and zeros behind them
    const X *x[kRunSlots], *row[kRunSlots];
    for (std::int64_t slot = begin; slot < end; slot += kRunSlots) {
      const std::int64_t n = std::min(kRunSlots, end - slot);
      for (std::int64_t y = 0; y < Lp; y += kLanes)
        take_slots(array, y, slot, n, residuals.data() + y * kRunSlots);
      for (std::int64_t s = 0; s < n; ++s) {
        const std::int32_t number = block.slot_row[slot + s];
        row[s] = number < 0 ? nullptr : values + number * block.row_step;
      }
      for (std::int64_t c = 0; c < width; c += columns) {
        const bool whole = c + columns <= block.n_columns;
        for (std::int64_t s = 0; s < n; ++s) {
          x[s] = row[s] ? row[s] + c : nullptr;
          if (whole || !row[s]) continue;
          X* own = rest.data() + s * columns;
          std::fill(std::copy(x[s], row[s] + block.n_columns, own), own + columns, X(0));
          x[s] = own;
        }
        for (std::int64_t y = 0; y < Lp; y += M)
          multiply<N, M>(x, residuals.data() + y / kLanes * kLanes * kRunSlots + y % kLanes, n,
                         sums + y * width + c, width);
      }
    }
  }
};

// Registers for 24 sums where there are 32 of 64 bytes, for 8 of half the size where there are 16.
template <class Array, class Body>
PROXQN_INLINE auto with_product(const Body& body) {
  return register_bytes() == 64 ? body(Product<3, 8, Array>{}) : body(Product<1, 4, Array>{});
}

template <class Array>
PROXQN_INLINE void add_slots(const DenseBlock& block, const Array& array, std::int64_t begin,
                             std::int64_t end, double* sums) {
  with_product<Array>([&](auto product) PROXQN_INLINED {
    block.with_values([&](const auto* values)
                          PROXQN_INLINED { product.add(block, values, array, begin, end, sums); });
  });
}
PROXQN_CLONES void add_some(const DenseBlock& block, const LabelMajor<const double>& array,
                            std::int64_t begin, std::int64_t end, double* sums) {
  add_slots(block, array, begin, end, sums);
}
PROXQN_CLONES void add_some(const DenseBlock& block, const EightMajor<const float>& array,
                            std::int64_t begin, std::int64_t end, double* sums) {
  add_slots(block, array, begin, end, sums);
}

// In parts that the data alone decide.
template <class Array>
static AllSums sum_all(const DenseBlock& block, const Array& array, int n_jobs) {
  const std::int64_t width =
      with_product<Array>([&](auto product) { return product.width(block.n_columns); });
  const std::int64_t size = whole_eights(array.n_labels) * width;
  const std::int64_t n_runs = (array.stride + kRunSlots - 1) / kRunSlots;
  const std::int64_t n_parts = dense_parts(n_runs, size);
  std::vector<std::vector<double>> parts(n_parts);
  parallel_for(n_parts, n_jobs, [&](std::int64_t part) {
    const std::int64_t first = part * n_runs / n_parts, last = (part + 1) * n_runs / n_parts;
    parts[part].assign(size, 0.0);
    may_throw([&] {
      add_some(block, array, first * kRunSlots, std::min(array.stride, last * kRunSlots),
               parts[part].data());
    });
  });
  constexpr std::int64_t some = 4096;
  parallel_for((size + some - 1) / some, n_jobs, [&](std::int64_t i) {
    for (std::int64_t part = 1; part < n_parts; ++part)
      for (std::int64_t at = i * some; at < std::min(size, (i + 1) * some); ++at)
        parts[0][at] += parts[part][at];
  });
  return {width, std::move(parts[0])};
}
AllSums all_sums(const DenseBlock& block, const LabelMajor<const double>& residuals, int n_jobs) {
  return sum_all(block, residuals, n_jobs);
}
AllSums all_sums(const DenseBlock& block, const EightMajor<const float>& residuals, int n_jobs) {
  return sum_all(block, residuals, n_jobs);
}

template <class Array>
static Sweep sweep(const DenseBlock& block, const Array& array, double threshold,
                   const LabelsOfColumns& of_columns, const std::int32_t* rank, const Kept& kept,
                   int n_jobs) {
  const auto [width, sums] = sum_all(block, array, n_jobs);
  const std::int64_t L = array.n_labels;
  Sweep found;
  const std::int64_t *wanted = kept.coordinates, *const last = wanted + kept.n;
  for (std::int64_t c = 0; c < block.n_columns; ++c) {
    const std::int32_t* own = of_columns.start ? of_columns.labels + of_columns.start[c] : nullptr;
    const std::int32_t* const own_end = own ? of_columns.labels + of_columns.start[c + 1] : nullptr;
    for (std::int64_t y = 0; y < L; ++y) {
      const double g = sums[(rank ? rank[y] : y) * width + c];
      const bool is_wanted = wanted != last && *wanted == c * L + y;
      wanted += is_wanted;
      const bool admitted = !of_columns.start || (own != own_end && *own == y);
      own += of_columns.start && admitted;
      const double size = admitted ? std::fabs(g) : 0.0;
      found.largest = larger(found.largest, size);
      if (is_wanted || size > threshold) found.keep(c * L + y, g);
    }
  }
  return found;
}

Sweep sweep_dense(const DenseBlock& block, std::int64_t n_labels, std::int64_t stride,
                  const double* residuals, double threshold, const LabelsOfColumns& of_columns,
                  int n_jobs) {
  return sweep(block, LabelMajor<const double>{residuals, stride, n_labels}, threshold, of_columns,
               nullptr, {}, n_jobs);
}
Sweep sweep_dense(const DenseBlock& block, std::int64_t n_labels, std::int64_t stride,
                  const float* rows, double threshold, const LabelsOfColumns& of_columns,
                  const std::int32_t* rank, const Kept& kept, int n_jobs) {
  return sweep(block, EightMajor<const float>{rows, stride, n_labels}, threshold, of_columns, rank,
               kept, n_jobs);
}

}  // namespace proxqn::products
