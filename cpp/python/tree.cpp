// Python's view of the tree. The NumPy reference is src/proxqn/losses/tree/reference.py.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>

#include "base/simd.hpp"
#include "python/arrays.hpp"
#include "tree/draws.hpp"
#include "tree/forward_backward.hpp"

namespace proxqn::python {

using namespace nb::literals;

class TreeKernel {
 public:
  TreeKernel(Array<const std::int32_t> parent, Array<const std::int32_t> depth,
             Array<const std::int32_t> leaf_start, Array<const std::int32_t> leaf_stop,
             Array<const std::int32_t> leaf_nodes, Array<const std::int64_t> start,
             Array<const std::int32_t> columns, Array<const double> values,
             Array<const std::int32_t> leaves, std::optional<Array<const double>> weights,
             std::int64_t n_columns)
      : parent_(parent), leaf_start_(leaf_start), leaf_stop_(leaf_stop), leaf_nodes_(leaf_nodes),
        start_(start), columns_(columns), values_(values), leaves_(leaves), weights_(weights),
        n_columns_(n_columns) {
    expect(leaves.shape(0) + 1 == start.shape(0), "one leaf a sample expected");
    expect(!weights || weights->shape(0) == leaves.shape(0), "one weight a sample expected");
    scores_.chunks.resize(tree::n_chunks(leaves.shape(0)));
    scores_.level.assign(depth.data(), depth.data() + depth.shape(0));
  }

  void move(Array<const std::int64_t> coordinates, Array<const double> w, Array<const double> d,
            int n_jobs) {
    expect(w.shape(0) == coordinates.shape(0) && d.shape(0) == coordinates.shape(0),
           "one weight and one step a coordinate expected");
    nb::gil_scoped_release release;
    tree::move_scores(tree(), samples(), n_columns_, coordinates.data(), w.data(), d.data(),
                      coordinates.shape(0), n_jobs, scores_);
  }

  void forward(double step, Array<double> losses, int n_jobs) const {
    expect(losses.shape(0) == leaves_.shape(0), "one loss a sample expected");
    nb::gil_scoped_release release;
    tree::forward(tree(), samples(), scores_, step, n_jobs, losses.data());
  }

  void backward(double step, Array<double, 2> residuals, int n_jobs) {
    expect(residuals.shape(0) == parent_.shape(0) && residuals.shape(1) >= leaves_.shape(0) &&
               residuals.shape(1) % kLanes == 0,
           "residuals must have shape (n_nodes, n_samples up to a multiple of 8)");
    nb::gil_scoped_release release;
    tree::backward(tree(), samples(), scores_, step, residuals.shape(1), n_jobs, residuals.data());
  }

  // slot, run, first, second; scale; how many pairs were drawn
  using Int32s = Array<std::int32_t>;
  using DrawsResult = std::tuple<Int32s, Int32s, Int32s, Int32s, Array<float>, std::int64_t>;
  DrawsResult draw(Array<const double, 2> residuals, std::int64_t n_pairs, double share,
                   std::uint64_t seed, int n_jobs) const {
    tree::Draws d;
    {
      nb::gil_scoped_release release;
      d = tree::draw(tree(), samples(), residuals.data(), residuals.shape(1),
                     {n_pairs, share, seed}, n_jobs);
    }
    return {to_numpy(std::move(d.slot)),  to_numpy(std::move(d.run)),
            to_numpy(std::move(d.first)), to_numpy(std::move(d.second)),
            to_numpy(std::move(d.scale)), d.n_drawn};
  }

 private:
  tree::Tree tree() const {
    return {static_cast<std::int64_t>(parent_.shape(0)),
            static_cast<std::int64_t>(leaf_nodes_.shape(0)),
            parent_.data(),
            leaf_start_.data(),
            leaf_stop_.data(),
            leaf_nodes_.data()};
  }
  tree::Samples samples() const {
    return {static_cast<std::int64_t>(leaves_.shape(0)),
            start_.data(),
            columns_.data(),
            values_.data(),
            leaves_.data(),
            weights_ ? weights_->data() : nullptr};
  }
  Array<const std::int32_t> parent_, leaf_start_, leaf_stop_, leaf_nodes_;
  Array<const std::int64_t> start_;
  Array<const std::int32_t> columns_;
  Array<const double> values_;
  Array<const std::int32_t> leaves_;
  std::optional<Array<const double>> weights_;
  std::int64_t n_columns_;
  tree::NodeScores scores_;
};

void bind_tree(nb::module_& m) {
  using Int32s = Array<const std::int32_t>;
  nb::class_<TreeKernel>(m, "Tree")
      .def(
          nb::init<Int32s, Int32s, Int32s, Int32s, Int32s, Array<const std::int64_t>, Int32s,
                   Array<const double>, Int32s, std::optional<Array<const double>>, std::int64_t>(),
          "parent"_a, "depth"_a, "leaf_start"_a, "leaf_stop"_a, "leaf_nodes"_a, "start"_a,
          "columns"_a, "values"_a, "leaves"_a, "weights"_a.none(), "n_columns"_a)
      .def("move", &TreeKernel::move, "coordinates"_a, "w"_a, "d"_a, "n_jobs"_a)
      .def("forward", &TreeKernel::forward, "step"_a, "losses"_a.noconvert(), "n_jobs"_a)
      .def("backward", &TreeKernel::backward, "step"_a, "residuals"_a.noconvert(), "n_jobs"_a)
      .def("draw", &TreeKernel::draw, "residuals"_a.noconvert(), "n_pairs"_a, "share"_a, "seed"_a,
           "n_jobs"_a);
}

}  // namespace proxqn::python
