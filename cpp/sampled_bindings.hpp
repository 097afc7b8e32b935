// Bindings of the sampled curvature: included by bindings.cpp, whose types it uses.
#pragma once
#include "sampled.hpp"

template <class R>
class SampledKernel {
 public:
  SampledKernel(Array<const std::int64_t> start, Array<const std::int32_t> row,
                Array<const float> value, std::int64_t n_rows, double ridge, double budget)
      : model_({{start.data(), start.data() + start.shape(0)},
                {row.data(), row.data() + row.shape(0)},
                {value.data(), value.data() + value.shape(0)}},
               n_rows, ridge, budget) {}

  bool append(Array<const double> s, Array<const double> y) {
    expect_size(s);
    expect_size(y);
    nb::gil_scoped_release release;
    return model_.append(s.data(), y.data());
  }
  void keep(Array<const std::int64_t> positions) {
    nb::gil_scoped_release release;
    model_.keep(positions.data(), positions.shape(0));
  }
  double minimize(Array<const double> w, Array<const double> g, double lam, double l2,
                  std::int64_t max_passes, double tolerance, std::uint64_t seed,
                  Array<double> d) const {
    expect_size(w);
    expect_size(g);
    expect_size(d);
    nb::gil_scoped_release release;
    return model_.minimize(w.data(), g.data(), lam, l2, max_passes, tolerance, seed, d.data());
  }
  Array<double> diagonal() const { return to_numpy(std::vector<double>(model_.diagonal())); }

 private:
  template <class T>
  void expect_size(const Array<T>& a) const {
    expect(static_cast<std::int64_t>(a.shape(0)) == model_.size(), "one number a coordinate expected");
  }
  proxqn::SampledModel<R> model_;
};

using Int32Array = Array<std::int32_t>;
using DrawsResult = std::tuple<Int32Array, Int32Array, Int32Array, Int32Array, Int32Array,
                               Int32Array, Int32Array, Array<float>>;
static DrawsResult to_numpy(proxqn::Draws&& d) {
  return {to_numpy(std::move(d.slot)),        to_numpy(std::move(d.run)),
          to_numpy(std::move(d.first)),       to_numpy(std::move(d.second)),
          to_numpy(std::move(d.edge_run)),    to_numpy(std::move(d.edge_first)),
          to_numpy(std::move(d.edge_second)), to_numpy(std::move(d.scale))};
}

using ColumnsResult = std::tuple<Array<std::int64_t>, Array<std::int32_t>, Array<float>>;
static ColumnsResult to_numpy(proxqn::Columns&& J) {
  return {to_numpy(std::move(J.start)), to_numpy(std::move(J.row)), to_numpy(std::move(J.value))};
}

static ColumnsResult pair_columns(Array<const std::int64_t> pairs, std::int64_t n_labels,
                                  Array<const std::int32_t> run, Array<const std::int32_t> first,
                                  Array<const std::int32_t> second, Array<const float> scale) {
  expect(first.shape(0) == run.shape(0) && second.shape(0) == run.shape(0),
         "two label pairs an edge expected");
  proxqn::Columns J;
  {
    nb::gil_scoped_release release;
    const proxqn::RunEdges edges{run.data(), first.data(), second.data(),
                                 static_cast<std::int64_t>(run.shape(0))};
    J = proxqn::pair_columns(pairs.data(), pairs.shape(0), n_labels * n_labels, edges, scale.data());
  }
  return to_numpy(std::move(J));
}

template <class R>
static void bind_sampled(nb::module_& m, const char* name) {
  using Kernel = SampledKernel<R>;
  nb::class_<Kernel>(m, name)
      .def(nb::init<Array<const std::int64_t>, Array<const std::int32_t>, Array<const float>,
                    std::int64_t, double, double>(),
           "start"_a, "row"_a, "value"_a, "n_rows"_a, "ridge"_a, "budget"_a)
      .def("append", &Kernel::append, "s"_a, "y"_a)
      .def("keep", &Kernel::keep, "positions"_a)
      .def("minimize", &Kernel::minimize, "w"_a, "g"_a, "lam"_a, "l2"_a, "max_passes"_a,
           "tolerance"_a, "seed"_a, "d"_a.noconvert())
      .def("diagonal", &Kernel::diagonal);
}
