// Python's view of inner/coordinate_descent.hpp and base/sparse_vector.hpp.
#include <nanobind/stl/tuple.h>

#include <vector>

#include "base/sparse_vector.hpp"
#include "inner/compact_bfgs.hpp"
#include "inner/coordinate_descent.hpp"
#include "python/arrays.hpp"
#include "python/penalty_arrays.hpp"

namespace proxqn::python {

using namespace nb::literals;

template <class Rows>
static std::int64_t row_width(const Rows& rows, std::int64_t m) {
  const auto width = static_cast<std::int64_t>(rows.shape(1));
  expect(width >= 2 * m && width % inner::kRowTile == 0,
         "rows must have room for 2 m numbers, a multiple of 16");
  return width;
}

static void inner_products(Array<const double, 2> A, Array<const double, 2> B, Array<double, 2> out,
                           int n_jobs) {
  expect(
      A.shape(1) == B.shape(1) && out.shape(0) == A.shape(0) && out.shape(1) == B.shape(0),
      "A and B must have as many columns, out a row for each of A's and a column for each of B's");
  nb::gil_scoped_release release;
  inner::inner_products(A.data(), A.shape(0), B.data(), B.shape(0), A.shape(1), n_jobs, out.data());
}

template <class R>
static bool memory_rows(Array<const double, 2> S, Array<const double, 2> Y, Array<const double> D,
                        Array<const double, 2> SS, Array<const double, 2> SY, double gamma,
                        Array<R, 2> rows, Array<double> diagonal, int n_jobs) {
  const auto m = static_cast<std::int64_t>(S.shape(0)), n = static_cast<std::int64_t>(S.shape(1));
  const auto width = row_width(rows, m);
  nb::gil_scoped_release release;
  const inner::SmallFactors small(SS.data(), SY.data(), m, gamma);
  if (!small.ok) return false;
  inner::memory_rows(S.data(), Y.data(), D.data(), m, n, gamma, small, width, n_jobs, rows.data(),
                     diagonal.data());
  return true;
}

template <class R>
static bool extend_rows(Array<const double> s, Array<const double> y, Array<const double> base,
                        std::int64_t m, Array<R, 2> rows, Array<double> diagonal) {
  const auto width = row_width(rows, m + 1);
  nb::gil_scoped_release release;
  return inner::extend_rows(s.data(), y.data(), base.data(), m, s.shape(0), width, rows.data(),
                            diagonal.data());
}

template <class R>
static double coordinate_descent(Array<const double> w, Array<const double> g,
                                 Array<const R, 2> rows, std::int64_t m, Array<const double> base,
                                 Array<const double> diagonal, Array<const double> lam,
                                 Array<const double> l2, Array<const double> lower,
                                 Array<const double> upper, std::int64_t max_passes,
                                 double tolerance, std::uint64_t seed, Array<double> d) {
  const auto n = static_cast<std::int64_t>(w.shape(0)), width = row_width(rows, m);
  const inner::Subproblem<R> p{
      w.data(),    g.data(),        rows.data(),
      base.data(), diagonal.data(), local_penalty(lam, l2, lower, upper, n),
      n,           width,           inner::used(m)};
  nb::gil_scoped_release release;
  return inner::coordinate_descent(p, max_passes, tolerance, seed, d.data());
}

template <class R>
static void bind_inner(nb::module_& m) {
  m.def(
      "memory_rows", &memory_rows<R>, "S"_a, "Y"_a, "D"_a, "SS"_a, "SY"_a, "gamma"_a,
      "rows"_a.noconvert(), "diagonal"_a.noconvert(), "n_jobs"_a,
      "Rows of P and C and the diagonal of B = gamma D + P P' - C C'; false where B breaks down.");
  m.def("extend_rows", &extend_rows<R>, "s"_a, "y"_a, "base"_a, "m"_a, "rows"_a.noconvert(),
        "diagonal"_a.noconvert(),
        "Add a pair to the rows of m pairs; false where it would break B.");
  m.def("coordinate_descent", &coordinate_descent<R>, "w"_a, "g"_a, "rows"_a.noconvert(), "m"_a,
        "base"_a, "diagonal"_a, "lam"_a, "l2"_a, "lower"_a, "upper"_a, "max_passes"_a,
        "tolerance"_a, "seed"_a, "d"_a.noconvert(),
        "Minimise the penalised quadratic model from d = 0 and write d; returns the passes made. "
        "lam, l2, "
        "lower and upper: one number a coordinate, or one for all.");
}

void bind_subproblem(nb::module_& m) {
  m.def(
      "add_sparse",
      [](Array<const std::int64_t> coordinates, Array<const double> values,
         Array<const std::int64_t> others, Array<const double> their_values, double step) {
        expect(coordinates.shape(0) == values.shape(0) && others.shape(0) == their_values.shape(0),
               "one value a coordinate expected");
        std::vector<std::int64_t> where;
        std::vector<double> sums;
        add_sparse({coordinates.data(), values.data(), static_cast<std::int64_t>(values.shape(0))},
                   {others.data(), their_values.data(), static_cast<std::int64_t>(others.shape(0))},
                   step, where, sums);
        return std::make_tuple(to_numpy(std::move(where)), to_numpy(std::move(sums)));
      },
      "coordinates"_a, "values"_a, "others"_a, "their_values"_a, "step"_a,
      "The first sparse vector plus step times the second, without zeros.");
  m.def("inner_products", &inner_products, "A"_a, "B"_a, "out"_a.noconvert(), "n_jobs"_a,
        "Write A B' into out.");
  bind_inner<double>(m);
  bind_inner<float>(m);
}

}  // namespace proxqn::python
