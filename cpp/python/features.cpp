// Python's view of products/features.hpp, products/float_products.hpp and the sweeps, and of products/drawn_columns.hpp.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <optional>
#include <vector>

#include "base/parallel.hpp"
#include "products/double_products.hpp"
#include "products/drawn_columns.hpp"
#include "products/feature_layout.hpp"
#include "products/float_products.hpp"
#include "products/sweep.hpp"
#include "products/tile_sweep.hpp"
#include "python/arrays.hpp"
#include "python/features.hpp"

namespace proxqn::python {

using namespace nb::literals;

using SweepResult = std::tuple<Array<std::int64_t>, Array<double>, double>;
static SweepResult to_numpy(products::Sweep&& found) {
  const double largest = found.largest;
  return {to_numpy(std::move(found.coordinates)), to_numpy(std::move(found.gradient)), largest};
}

FeatureKernel::FeatureKernel(Array<const std::int64_t> start, Array<const std::int32_t> slots,
                             Array<const std::int64_t> value_start, Array<const double> values,
                             std::optional<Lists> lists)
    : start_(start), slots_(slots), value_start_(value_start), values_(values), lists_(lists) {
  expect(value_start.shape(0) + 1 == start.shape(0), "start must have n_columns + 1 entries");
}
FeatureKernel::~FeatureKernel() = default;

products::FloatIndex& FeatureKernel::index(int n_jobs) const {
  std::call_once(indexed_,
                 [&] { index_ = std::make_unique<products::FloatIndex>(features(), n_jobs); });
  return *index_;
}

static void scores(const FeatureKernel& kernel, Array<const std::int64_t> coordinates,
                   Array<const double> weights, Array<double, 2> out, Array<std::uint8_t> dirty,
                   int n_jobs) {
  const auto f = kernel.features();
  expect(coordinates.shape(0) == weights.shape(0), "one weight a coordinate expected");
  nb::gil_scoped_release release;
  products::scores(f, coordinates.data(), weights.data(), coordinates.shape(0), out.shape(0),
                   out.shape(1), n_jobs, out.data(), dirty.data());
}

// Floats are [labels up to a multiple of 8 / 8][8 slots]; rank is the order of the labels there.
static void scores_single(const FeatureKernel& kernel, Array<const std::int64_t> coordinates,
                          Array<const double> weights, Array<const std::int32_t> rank,
                          Array<float, 2> out, int n_jobs) {
  const auto f = kernel.features();
  expect(coordinates.shape(0) == weights.shape(0), "one weight a coordinate expected");
  nb::gil_scoped_release release;
  products::scores(f, kernel.index(n_jobs), coordinates.data(), weights.data(),
                   coordinates.shape(0), rank.shape(0), rank.data(), out.shape(1) / kLanes, n_jobs,
                   out.data());
}

static void gradient_single(const FeatureKernel& kernel, Array<const std::int64_t> coordinates,
                            Array<const std::int32_t> rank, Array<const float, 2> residuals,
                            Array<double> out, int n_jobs) {
  const auto f = kernel.features();
  expect(coordinates.shape(0) == out.shape(0), "one output a coordinate expected");
  nb::gil_scoped_release release;
  products::gradient(f, kernel.index(n_jobs), coordinates.data(), coordinates.shape(0),
                     rank.shape(0), rank.data(), residuals.data(), residuals.shape(1) / kLanes,
                     n_jobs, out.data());
}

static SweepResult sweep_single(const FeatureKernel& kernel, Array<const std::int32_t> rank,
                                Array<const float, 2> residuals, double threshold,
                                std::optional<Array<const std::int64_t>> pair_start,
                                std::optional<Array<const std::int32_t>> pair_labels,
                                Array<const std::int64_t> kept, int n_jobs) {
  const auto f = kernel.features();
  kernel.expect_slots(residuals.shape(1) / kLanes);
  products::Sweep found;
  {
    nb::gil_scoped_release release;
    kernel.index(n_jobs).scored = false;
    found = products::sweep_single(f, kernel.index(n_jobs).byte_blocks, rank.shape(0),
                                   residuals.shape(1) / kLanes, residuals.data(), threshold,
                                   pair_start ? pair_start->data() : nullptr,
                                   pair_labels ? pair_labels->data() : nullptr, rank.data(),
                                   {kept.data(), static_cast<std::int64_t>(kept.shape(0))}, n_jobs);
  }
  return to_numpy(std::move(found));
}

static void gradient(const FeatureKernel& kernel, Array<const std::int64_t> coordinates,
                     Array<const double, 2> residuals, Array<double> out, int n_jobs) {
  const auto f = kernel.features();
  expect(coordinates.shape(0) == out.shape(0), "one output a coordinate expected");
  nb::gil_scoped_release release;
  products::gradient(f, coordinates.data(), coordinates.shape(0), residuals.shape(0),
                     residuals.shape(1), residuals.data(), n_jobs, out.data());
}

static SweepResult sweep(const FeatureKernel& kernel, Array<const double, 2> residuals,
                         double threshold, std::optional<Array<const std::int64_t>> pair_start,
                         std::optional<Array<const std::int32_t>> pair_labels, int n_jobs) {
  const auto f = kernel.features();
  kernel.expect_slots(residuals.shape(1));
  products::Sweep found;
  {
    nb::gil_scoped_release release;
    if (!pair_start && residuals.shape(0) > 2 * products::kTileLabels)
      found = products::tile_sweep(f, residuals.shape(0), residuals.shape(1), residuals.data(),
                                   threshold, n_jobs);
    else
      found = products::sweep(f, residuals.shape(0), residuals.shape(1), residuals.data(),
                              threshold, pair_start ? pair_start->data() : nullptr,
                              pair_labels ? pair_labels->data() : nullptr, n_jobs);
  }
  return to_numpy(std::move(found));
}

using RestrictedResult =
    std::tuple<Array<std::int64_t>, Array<std::int32_t>, Array<std::int64_t>, Array<double>>;
static RestrictedResult restrict_slots(const FeatureKernel& kernel,
                                       Array<const std::int32_t> slot_map, int n_jobs) {
  const auto f = kernel.features();
  products::Restricted found;
  {
    nb::gil_scoped_release release;
    found = products::restrict_slots(f, slot_map.data(), slot_map.shape(0), n_jobs);
  }
  const std::int64_t n = found.start.back();
  return {to_numpy(std::move(found.start)), to_numpy(std::move(found.slots), n),
          to_numpy(std::move(found.value_start)),
          to_numpy(std::move(found.values), found.n_values)};
}

// tokens: slot, row, first, second, value; edges: row, first, second, value, as in chain::Draws
using Indices = Array<const std::int32_t>;
using Tokens = std::tuple<Indices, Indices, Indices, Indices, Array<const float>>;
using Edges = std::tuple<Indices, Indices, Indices, Array<const float>>;
using ColumnsResult = std::tuple<Array<std::int64_t>, Array<std::int32_t>, Array<float>>;
static ColumnsResult drawn_columns(const FeatureKernel& kernel,
                                   Array<const std::int64_t> coordinates,
                                   Array<const std::int64_t> label_pairs, std::int64_t n_labels,
                                   std::int64_t n_slots, const Tokens& tokens, const Edges& edges,
                                   int n_jobs) {
  const auto f = kernel.features();
  const auto& [slot, row, first, second, value] = tokens;
  const auto& [edge_row, edge_first, edge_second, edge_value] = edges;
  expect(row.shape(0) == slot.shape(0) && first.shape(0) == slot.shape(0) &&
             second.shape(0) == slot.shape(0) && value.shape(0) == slot.shape(0),
         "a row, two labels and a number a token expected");
  expect(edge_first.shape(0) == edge_row.shape(0) && edge_second.shape(0) == edge_row.shape(0) &&
             edge_value.shape(0) == edge_row.shape(0),
         "two label pairs and a number an edge expected");
  const std::int64_t n_tokens = slot.shape(0), n_pairs = label_pairs.shape(0);
  const products::RowEdges at_edges{edge_row.data(), edge_first.data(), edge_second.data(),
                                    edge_value.data(),
                                    static_cast<std::int64_t>(edge_row.shape(0))};
  const std::int32_t *slots = slot.data(), *rows = row.data(), *one = first.data(),
                     *other = second.data();
  const float* by = value.data();
  products::DrawnColumns J;
  {
    nb::gil_scoped_release release;
    products::RowTokens by_slot;
    products::Columns pairs;
    parallel_for(2, n_jobs, [&](std::int64_t task) {
      if (task == 0)
        by_slot = products::sort_by_slot(n_slots, n_tokens, slots, rows, one, other, by);
      else
        pairs = products::pair_columns(label_pairs.data(), n_pairs, n_labels * n_labels, at_edges);
    });
    J = products::drawn_columns(f, coordinates.data(), coordinates.shape(0), n_labels, by_slot,
                                pairs, n_jobs);
  }
  const auto n = static_cast<std::size_t>(J.start.back());
  return {to_numpy(std::move(J.start)), to_numpy(std::move(J.row), n),
          to_numpy(std::move(J.value), n)};
}

using PairsResult = std::tuple<Array<std::int64_t>, Array<std::int32_t>>;
static PairsResult observed_pairs(const FeatureKernel& kernel, Array<const std::int32_t> labels,
                                  std::int64_t n_labels) {
  const auto f = kernel.features();
  std::vector<std::int64_t> start(f.n_columns + 1);
  std::vector<std::int32_t> pairs;
  {
    nb::gil_scoped_release release;
    products::observed_pairs(f, labels.data(), n_labels, start.data(), nullptr);
    pairs.resize(std::max<std::int64_t>(start.back(), 1));  // data() must not be null
    products::observed_pairs(f, labels.data(), n_labels, start.data(), pairs.data());
    pairs.resize(start.back());
  }
  return {to_numpy(std::move(start)), to_numpy(std::move(pairs))};
}

template <class Index>
static void transpose(Array<const Index> indptr, Array<const std::int32_t> entry_column,
                      Array<const std::int64_t> row_order, Array<const std::int32_t> row_slot,
                      Array<const std::int64_t> start, Array<std::int32_t> slots,
                      std::optional<Array<Index>> entry,
                      std::optional<Array<const std::int32_t>> place,
                      Array<std::int64_t> list_start, Array<std::uint16_t> lists) {
  nb::gil_scoped_release release;
  products::transpose<Index>(indptr.data(), entry_column.data(), row_order.data(), row_slot.data(),
                             row_order.shape(0), start.data(), start.shape(0) - 1, slots.data(),
                             entry ? entry->data() : nullptr, place ? place->data() : nullptr,
                             list_start.shape(0) - 1, list_start.data(), lists.data());
}

void bind_features(nb::module_& m) {
  nb::class_<FeatureKernel>(m, "Features")
      .def(nb::init<Array<const std::int64_t>, Array<const std::int32_t>, Array<const std::int64_t>,
                    Array<const double>, std::optional<FeatureKernel::Lists>>(),
           "start"_a, "slots"_a, "value_start"_a, "values"_a, "lists"_a = nb::none())
      .def("scores", &scores, "coordinates"_a, "weights"_a, "out"_a.noconvert(),
           "dirty"_a.noconvert(), "n_jobs"_a)
      .def("gradient", &gradient, "coordinates"_a, "residuals"_a.noconvert(), "out"_a.noconvert(),
           "n_jobs"_a)
      .def("sweep", &sweep, "residuals"_a.noconvert(), "threshold"_a, "pair_start"_a.none(),
           "pair_labels"_a.none(), "n_jobs"_a)
      .def("scores_single", &scores_single, "coordinates"_a, "weights"_a, "rank"_a,
           "out"_a.noconvert(), "n_jobs"_a)
      .def("gradient_single", &gradient_single, "coordinates"_a, "rank"_a,
           "residuals"_a.noconvert(), "out"_a.noconvert(), "n_jobs"_a)
      .def("sweep_single", &sweep_single, "rank"_a, "residuals"_a.noconvert(), "threshold"_a,
           "pair_start"_a.none(), "pair_labels"_a.none(), "kept"_a, "n_jobs"_a)
      .def("restrict_slots", &restrict_slots, "slot_map"_a, "n_jobs"_a)
      .def("drawn_columns", &drawn_columns, "coordinates"_a, "label_pairs"_a, "n_labels"_a,
           "n_slots"_a, "tokens"_a, "edges"_a, "n_jobs"_a)
      .def("observed_pairs", &observed_pairs, "labels"_a, "n_labels"_a);

  const char* transpose_doc = "CSR entries to columns, rows taken in the given order.";
  m.def("transpose", &transpose<std::int32_t>, "indptr"_a.noconvert(), "entry_column"_a,
        "row_order"_a, "row_slot"_a, "start"_a, "slots"_a.noconvert(), "entry"_a.noconvert().none(),
        "place"_a.none(), "list_start"_a.noconvert(), "lists"_a.noconvert(), transpose_doc);
  m.def("transpose", &transpose<std::int64_t>, "indptr"_a.noconvert(), "entry_column"_a,
        "row_order"_a, "row_slot"_a, "start"_a, "slots"_a.noconvert(), "entry"_a.noconvert().none(),
        "place"_a.none(), "list_start"_a.noconvert(), "lists"_a.noconvert(), transpose_doc);
}

}  // namespace proxqn::python
