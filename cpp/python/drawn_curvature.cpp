// Python's view of inner/drawn_curvature.hpp, inner/drawn_descent.hpp and inner/drawn_product.hpp.
#include <vector>

#include "inner/drawn_curvature.hpp"
#include "inner/drawn_descent.hpp"
#include "inner/drawn_product.hpp"
#include "python/arrays.hpp"
#include "python/penalty_arrays.hpp"

namespace proxqn::python {

using namespace nb::literals;

template <class R>
class SampledKernel {
 public:
  SampledKernel(Array<const std::int64_t> start, Array<const std::int32_t> row,
                Array<const float> value, std::int64_t n_rows, double ridge, double budget,
                int n_jobs)
      : model_(
            {start.data(), static_cast<std::int64_t>(start.shape(0)) - 1, row.data(), value.data()},
            n_rows, ridge, budget, n_jobs) {}

  std::int64_t append(Array<const double, 2> S, Array<const double, 2> Y) {
    expect(S.shape(0) == Y.shape(0) && S.shape(1) == Y.shape(1) &&
               static_cast<std::int64_t>(S.shape(1)) == model_.size(),
           "pairs of one number a coordinate expected");
    nb::gil_scoped_release release;
    return model_.append(S.data(), Y.data(), S.shape(0));
  }
  void keep(Array<const std::int64_t> positions) {
    nb::gil_scoped_release release;
    model_.keep(positions.data(), positions.shape(0));
  }
  double minimize(Array<const double> w, Array<const double> g, Array<const double> lam,
                  Array<const double> l2, Array<const double> lower, Array<const double> upper,
                  std::int64_t max_passes, double tolerance, std::uint64_t seed,
                  Array<double> d) const {
    expect_size(w);
    expect_size(g);
    expect_size(d);
    const inner::LocalPenalty penalty = local_penalty(lam, l2, lower, upper, model_.size());
    nb::gil_scoped_release release;
    return inner::minimize(model_, w.data(), g.data(), penalty, max_passes, tolerance, seed,
                           d.data());
  }
  Array<double> diagonal() const { return to_numpy(std::vector<double>(model_.diagonal())); }

 private:
  template <class T>
  void expect_size(const Array<T>& a) const {
    expect(static_cast<std::int64_t>(a.shape(0)) == model_.size(),
           "one number a coordinate expected");
  }
  inner::DrawnCurvature<R> model_;
};

class ProductKernel {
 public:
  ProductKernel(Array<const std::int64_t> start, Array<const std::int32_t> row,
                Array<const float> value, std::int64_t n_rows, double ridge, int n_jobs)
      : start_(start), row_(row), value_(value), product_(made(n_rows, ridge, n_jobs)) {}

  void times(Array<const double> v, Array<double> out) const {
    expect(static_cast<std::int64_t>(v.shape(0)) == product_.size() && out.shape(0) == v.shape(0),
           "one number a coordinate expected");
    nb::gil_scoped_release release;
    product_.times(v.data(), out.data());
  }
  Array<double> diagonal() const { return to_numpy(std::vector<double>(product_.diagonal())); }

 private:
  inner::DrawnProduct made(std::int64_t n_rows, double ridge, int n_jobs) const {
    nb::gil_scoped_release release;
    return {
        {start_.data(), static_cast<std::int64_t>(start_.shape(0)) - 1, row_.data(), value_.data()},
        n_rows,
        ridge,
        n_jobs};
  }
  Array<const std::int64_t> start_;  // the product reads them
  Array<const std::int32_t> row_;
  Array<const float> value_;
  inner::DrawnProduct product_;
};

template <class R>
static void bind_model(nb::module_& m, const char* name) {
  using Kernel = SampledKernel<R>;
  nb::class_<Kernel>(m, name)
      .def(nb::init<Array<const std::int64_t>, Array<const std::int32_t>, Array<const float>,
                    std::int64_t, double, double, int>(),
           "start"_a, "row"_a, "value"_a, "n_rows"_a, "ridge"_a, "budget"_a, "n_jobs"_a)
      .def("append", &Kernel::append, "S"_a, "Y"_a)
      .def("keep", &Kernel::keep, "positions"_a)
      .def("minimize", &Kernel::minimize, "w"_a, "g"_a, "lam"_a, "l2"_a, "lower"_a, "upper"_a,
           "max_passes"_a, "tolerance"_a, "seed"_a, "d"_a.noconvert(),
           "Minimise the penalised quadratic model from d = 0 and write d; returns the passes "
           "made. lam, "
           "l2, lower and upper: one number a coordinate, or one for all.")
      .def("diagonal", &Kernel::diagonal);
}

void bind_sampled(nb::module_& m) {
  bind_model<double>(m, "SampledModel");
  bind_model<float>(m, "SingleSampledModel");
  nb::class_<ProductKernel>(m, "DrawnProduct")
      .def(nb::init<Array<const std::int64_t>, Array<const std::int32_t>, Array<const float>,
                    std::int64_t, double, int>(),
           "start"_a, "row"_a, "value"_a, "n_rows"_a, "ridge"_a, "n_jobs"_a)
      .def("times", &ProductKernel::times, "v"_a, "out"_a.noconvert(),
           "Write rho v + J'(J v) to out.")
      .def("diagonal", &ProductKernel::diagonal);
}

}  // namespace proxqn::python
