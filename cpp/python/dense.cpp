// Python's view of dense columns: products/dense_products.hpp, dense_sweep.hpp and dense_layout.hpp.
#include "python/dense.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "products/dense_layout.hpp"
#include "products/dense_products.hpp"
#include "products/dense_sweep.hpp"

namespace proxqn::python {

using namespace nb::literals;
using Int64s = Array<const std::int64_t>;
using Int32s = Array<const std::int32_t>;
using Doubles = Array<const double>;

using SweepResult = std::tuple<Array<std::int64_t>, Array<double>, double>;
static SweepResult to_numpy(products::Sweep&& found) {
  const double largest = found.largest;
  return {to_numpy(std::move(found.coordinates)), to_numpy(std::move(found.gradient)), largest};
}
static products::LabelsOfColumns of_columns(const std::optional<Int64s>& start,
                                            const std::optional<Int32s>& labels) {
  if (!start || !labels) return {};
  return {start->data(), labels->data()};
}

static void add_scores(const DenseKernel& kernel, Int64s coordinates, Doubles weights,
                       Array<double, 2> out, Array<std::uint8_t> dirty, int n_jobs) {
  const auto& block = kernel.block(out.shape(1));
  expect(coordinates.shape(0) == weights.shape(0), "one weight a coordinate expected");
  nb::gil_scoped_release release;
  products::add_dense_scores(block, coordinates.data(), weights.data(), coordinates.shape(0),
                             out.shape(0), out.shape(1), n_jobs, out.data(), dirty.data());
}

static void gradient(const DenseKernel& kernel, Int64s coordinates,
                     Array<const double, 2> residuals, Array<double> out, int n_jobs) {
  const auto& block = kernel.block(residuals.shape(1));
  expect(coordinates.shape(0) == out.shape(0), "one output a coordinate expected");
  nb::gil_scoped_release release;
  products::dense_gradient(block, coordinates.data(), coordinates.shape(0), residuals.shape(0),
                           residuals.shape(1), residuals.data(), n_jobs, out.data());
}

static SweepResult sweep(const DenseKernel& kernel, Array<const double, 2> residuals,
                         double threshold, std::optional<Int64s> pair_start,
                         std::optional<Int32s> pair_labels, int n_jobs) {
  const auto& block = kernel.block(residuals.shape(1));
  products::Sweep found;
  {
    nb::gil_scoped_release release;
    found = products::sweep_dense(block, residuals.shape(0), residuals.shape(1), residuals.data(),
                                  threshold, of_columns(pair_start, pair_labels), n_jobs);
  }
  return to_numpy(std::move(found));
}

// Floats are [labels up to a multiple of 8 / 8][8 slots]; rank is the order of the labels there.
static void add_scores_single(const DenseKernel& kernel, Int64s coordinates, Doubles weights,
                              Int32s rank, Array<float, 2> out, int n_jobs) {
  const std::int64_t stride = out.shape(1) / kLanes;
  const auto& block = kernel.block(stride);
  expect(coordinates.shape(0) == weights.shape(0), "one weight a coordinate expected");
  nb::gil_scoped_release release;
  products::add_dense_scores(block, coordinates.data(), weights.data(), coordinates.shape(0),
                             rank.shape(0), rank.data(), stride, n_jobs, out.data());
}

static void gradient_single(const DenseKernel& kernel, Int64s coordinates, Int32s rank,
                            Array<const float, 2> residuals, Array<double> out, int n_jobs) {
  const std::int64_t stride = residuals.shape(1) / kLanes;
  const auto& block = kernel.block(stride);
  expect(coordinates.shape(0) == out.shape(0), "one output a coordinate expected");
  nb::gil_scoped_release release;
  products::dense_gradient(block, coordinates.data(), coordinates.shape(0), rank.shape(0),
                           rank.data(), residuals.data(), stride, n_jobs, out.data());
}

static SweepResult sweep_single(const DenseKernel& kernel, Int32s rank,
                                Array<const float, 2> residuals, double threshold,
                                std::optional<Int64s> pair_start, std::optional<Int32s> pair_labels,
                                Int64s kept, int n_jobs) {
  const std::int64_t stride = residuals.shape(1) / kLanes;
  const auto& block = kernel.block(stride);
  products::Sweep found;
  {
    nb::gil_scoped_release release;
    found = products::sweep_dense(block, rank.shape(0), stride, residuals.data(), threshold,
                                  of_columns(pair_start, pair_labels), rank.data(),
                                  {kept.data(), static_cast<std::int64_t>(kept.shape(0))}, n_jobs);
  }
  return to_numpy(std::move(found));
}

// tokens: slot, row, first, second, value, as in chain::Draws; others: start, row and value of more columns
using Tokens = std::tuple<Int32s, Int32s, Int32s, Int32s, Array<const float>>;
using Others = std::tuple<Int64s, Int32s, Array<const float>>;
using ColumnsResult = std::tuple<Array<std::int64_t>, Array<std::int32_t>, Array<float>>;
static ColumnsResult drawn_columns(const DenseKernel& kernel, Int64s coordinates,
                                   std::int64_t n_labels, std::int64_t n_slots,
                                   const Tokens& tokens, const Others& others, int n_jobs) {
  const auto& block = kernel.block(n_slots);
  const auto& [slot, of_row, first, second, by] = tokens;
  const auto n_tokens = static_cast<std::int64_t>(slot.shape(0));
  expect(of_row.shape(0) == slot.shape(0) && first.shape(0) == slot.shape(0) &&
             second.shape(0) == slot.shape(0) && by.shape(0) == slot.shape(0),
         "a row, two labels and a number a token expected");
  const auto& [start, row, value] = others;
  expect(row.shape(0) == value.shape(0) && start.shape(0) > 0 &&
             start.data()[start.shape(0) - 1] == static_cast<std::int64_t>(row.shape(0)),
         "as many rows and values as the other columns have expected");
  const products::ColumnsView behind{start.data(), static_cast<std::int64_t>(start.shape(0)) - 1,
                                     row.data(), value.data()};
  products::DrawnColumns J;
  {
    nb::gil_scoped_release release;
    J = products::drawn_dense(
        block, coordinates.data(), coordinates.shape(0), n_labels,
        {slot.data(), of_row.data(), first.data(), second.data(), by.data(), n_tokens}, behind,
        n_jobs);
  }
  const auto n = static_cast<std::size_t>(J.start.back());
  return {to_numpy(std::move(J.start)), to_numpy(std::move(J.row), n),
          to_numpy(std::move(J.value), n)};
}

static Array<double> squares(const DenseKernel& kernel) {
  std::vector<double> found;
  {
    nb::gil_scoped_release release;
    found = products::squares(kernel.block(), kernel.n_slots());
  }
  return to_numpy(std::move(found));
}

using PairsResult = std::tuple<Array<std::int64_t>, Array<std::int32_t>>;
static PairsResult observed_pairs(const DenseKernel& kernel, Int32s labels, std::int64_t n_labels) {
  const auto& block = kernel.block(labels.shape(0));
  products::ObservedLabels found;
  {
    nb::gil_scoped_release release;
    found = products::observed_dense(block, labels.data(), n_labels, labels.shape(0));
  }
  return {to_numpy(std::move(found.start)), to_numpy(std::move(found.labels))};
}

void bind_dense(nb::module_& m) {
  nb::class_<DenseKernel>(m, "DenseFeatures")
      .def(nb::init<Array<const float, 2>, Int32s>(), "values"_a.noconvert(), "slot_row"_a)
      .def(nb::init<Array<const double, 2>, Int32s>(), "values"_a.noconvert(), "slot_row"_a)
      .def("add_scores", &add_scores, "coordinates"_a, "weights"_a, "out"_a.noconvert(),
           "dirty"_a.noconvert(), "n_jobs"_a)
      .def("gradient", &gradient, "coordinates"_a, "residuals"_a.noconvert(), "out"_a.noconvert(),
           "n_jobs"_a)
      .def("sweep", &sweep, "residuals"_a.noconvert(), "threshold"_a, "pair_start"_a.none(),
           "pair_labels"_a.none(), "n_jobs"_a)
      .def("add_scores_single", &add_scores_single, "coordinates"_a, "weights"_a, "rank"_a,
           "out"_a.noconvert(), "n_jobs"_a)
      .def("gradient_single", &gradient_single, "coordinates"_a, "rank"_a,
           "residuals"_a.noconvert(), "out"_a.noconvert(), "n_jobs"_a)
      .def("sweep_single", &sweep_single, "rank"_a, "residuals"_a.noconvert(), "threshold"_a,
           "pair_start"_a.none(), "pair_labels"_a.none(), "kept"_a, "n_jobs"_a)
      .def("drawn_columns", &drawn_columns, "coordinates"_a, "n_labels"_a, "n_slots"_a, "tokens"_a,
           "others"_a, "n_jobs"_a)
      .def("squares", &squares)
      .def("observed_pairs", &observed_pairs, "labels"_a, "n_labels"_a);
}

}  // namespace proxqn::python
