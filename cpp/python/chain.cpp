// Python's view of linear chains: forward and backward, Viterbi, draws. The NumPy reference is
// src/proxqn/losses/chain/reference.py.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <optional>
#include <vector>

#include "base/exponential.hpp"
#include "chain/draws.hpp"
#include "chain/forks.hpp"
#include "chain/forward_backward.hpp"
#include "chain/viterbi.hpp"
#include "products/dense_products.hpp"
#include "products/double_products.hpp"
#include "python/arrays.hpp"
#include "python/batches.hpp"
#include "python/dense.hpp"
#include "python/features.hpp"

namespace proxqn::python {

using namespace nb::literals;

using Int32Array = Array<std::int32_t>;
using FloatArray = Array<float>;
using DrawsResult = std::tuple<Int32Array, Int32Array, Int32Array, Int32Array, FloatArray,
                               Int32Array, Int32Array, Int32Array, FloatArray, FloatArray>;
static DrawsResult to_numpy(chain::Draws&& d) {
  return {to_numpy(std::move(d.slot)),       to_numpy(std::move(d.row)),
          to_numpy(std::move(d.first)),      to_numpy(std::move(d.second)),
          to_numpy(std::move(d.value)),      to_numpy(std::move(d.edge_row)),
          to_numpy(std::move(d.edge_first)), to_numpy(std::move(d.edge_second)),
          to_numpy(std::move(d.edge_value)), to_numpy(std::move(d.weight))};
}

// Dense columns, and the coordinates and weights of theirs.
using DenseWeights = std::tuple<const DenseKernel*, Array<const std::int64_t>, Array<const double>>;

// Their scores of some slots; nothing where there are none.
class DenseWindow {
 public:
  DenseWindow(const std::optional<DenseWeights>& dense, std::int64_t n_slots, std::int64_t n_labels)
      : n_labels_(n_labels) {
    if (!dense) return;
    const auto& [kernel, coordinates, weights] = *dense;
    expect(coordinates.shape(0) == weights.shape(0), "one weight a coordinate expected");
    block_ = kernel->block(n_slots);
    const auto n = static_cast<std::int64_t>(coordinates.shape(0));
    pairs_.emplace(coordinates.data(), n, n_labels, nullptr);
    weights_ = weights.data();
  }
  void add(std::int64_t begin, std::int64_t end, double* scores) const {
    if (pairs_)
      products::add_dense_window(block_, *pairs_, weights_, n_labels_, begin, end, scores);
  }

 private:
  std::int64_t n_labels_;
  products::DenseBlock block_;
  std::optional<products::DensePairs> pairs_;
  const double* weights_ = nullptr;
};

template <class S>
class ChainKernel {
 public:
  ChainKernel(const Batches& batches, Array<S, 2> scores)
      : batches_(batches), scores_(scores), log_domain_(batches.first.shape(0), 0),
        scale_(new S[kRows ? 0 : stride()]) {
    batches.check_labels(stride());
  }

  bool forward(Array<S, 2> alpha, Array<const double, 2> transitions, Array<double> losses,
               int n_jobs) {
    const auto c = chain(alpha, transitions);
    double* out = losses.data();
    nb::gil_scoped_release release;
    return chain::forward(c, n_jobs, out);
  }

  void backward(Array<S, 2> alpha, Array<const double, 2> transitions, Array<double, 2> pairs,
                int n_jobs) {
    const auto c = chain(alpha, transitions);
    double* out = pairs.data();
    nb::gil_scoped_release release;
    chain::backward(c, n_jobs, out);
  }

  // Scores, forward and backward at once; the array of scores is not touched.
  void evaluate(const FeatureKernel& data, Array<const std::int64_t> coordinates,
                Array<const double> weights, Array<double, 2> alpha,
                Array<const double, 2> transitions, Array<double> losses, Array<double, 2> pairs,
                int n_jobs, const std::optional<DenseWeights>& dense)
    requires std::is_same_v<S, double>
  {
    const auto c = chain(alpha, transitions);
    const auto f = data.features();
    expect(coordinates.shape(0) == weights.shape(0), "one weight a coordinate expected");
    nb::gil_scoped_release release;
    const std::int64_t L = c.n_labels;
    const products::ByLabel by(f, coordinates.data(), coordinates.shape(0), L);
    const DenseWindow more(dense, c.stride, L);
    auto put = [&](std::int64_t begin, std::int64_t end, double* scores) {
      products::window_scores(f, by, coordinates.data(), weights.data(), L, begin, end, c.stride,
                              scores);
      more.add(begin, end, scores);
    };
    chain::evaluate(c, n_jobs, put, losses.data(), pairs.data());
  }

  DrawsResult draw(Array<const double, 2> transitions, std::int64_t n_pairs, double share,
                   std::uint64_t seed, int n_jobs) {
    const auto c = chain(scores_, transitions);
    chain::Draws draws;
    {
      nb::gil_scoped_release release;
      draws = chain::draw(c, {n_pairs, share, seed}, n_jobs);
    }
    return to_numpy(std::move(draws));
  }

  DrawsResult fork(Array<const double, 2> transitions, double least, double share,
                   std::uint64_t seed, int n_jobs, bool traced) {
    const auto c = chain(scores_, transitions);
    chain::Draws draws;
    {
      nb::gil_scoped_release release;
      draws = chain::fork(c, {least, share, seed, traced}, n_jobs);
    }
    return to_numpy(std::move(draws));
  }

  void viterbi(Array<const double, 2> transitions, Array<std::int32_t> path, int n_jobs)
    requires std::is_same_v<S, double>
  {
    const auto c = chain(scores_, transitions);
    std::int32_t* out = path.data();
    nb::gil_scoped_release release;
    chain::viterbi(c, n_jobs, out);
  }

 private:
  chain::ChainOf<S> chain(const Array<S, 2>& alpha, const Array<const double, 2>& transitions) {
    const auto L = static_cast<std::int64_t>(transitions.shape(0));
    expect(alpha.shape(0) == scores_.shape(0) && alpha.shape(1) == scores_.shape(1),
           "alpha must have the shape of scores");
    expect(
        static_cast<std::int64_t>(transitions.shape(1)) == L &&
            static_cast<std::int64_t>(scores_.shape(0)) == (kRows ? whole_eights(L) / kLanes : L),
        "transitions must have shape (n_labels, n_labels)");
    return batches_.chain<S>(L, stride(), scores_.data(), alpha.data(), scale_.get(),
                             log_domain_.data(), transitions.data());
  }

  Batches batches_;
  static constexpr bool kRows = chain::ChainOf<S>::kRows;
  std::int64_t stride() const {
    return static_cast<std::int64_t>(scores_.shape(1)) / (kRows ? kLanes : 1);
  }
  Array<S, 2> scores_;
  std::vector<std::uint8_t> log_domain_;
  std::unique_ptr<S[]> scale_;
};

PROXQN_CLONES static void exp_all(const double* x, std::int64_t n, double* out) {
  for (std::int64_t i = 0; i < n; i += kLanes) store8(out + i, exp8(load8(x + i)));
}

template <class S>
static nb::class_<ChainKernel<S>> bind_kernel(nb::module_& m, const char* name) {
  using Kernel = ChainKernel<S>;
  return nb::class_<Kernel>(m, name)
      .def(nb::init<const Batches&, Array<S, 2>>(), "batches"_a, "scores"_a.noconvert())
      .def("forward", &Kernel::forward, "alpha"_a.noconvert(), "transitions"_a,
           "losses"_a.noconvert(), "n_jobs"_a)
      .def("backward", &Kernel::backward, "alpha"_a.noconvert(), "transitions"_a,
           "pairs"_a.noconvert(), "n_jobs"_a)
      .def("draw", &Kernel::draw, "transitions"_a, "n_pairs"_a, "share"_a, "seed"_a, "n_jobs"_a)
      .def("fork", &Kernel::fork, "transitions"_a, "least"_a, "share"_a, "seed"_a, "n_jobs"_a,
           "traced"_a);
}

void bind_chain(nb::module_& m) {
  using Int64s = Array<const std::int64_t>;
  nb::class_<Batches>(m, "Batches")
      .def(nb::init<Int64s, Batches::Int32s, Batches::Int32s, Batches::Int32Table,
                    Batches::Int32Table, Int64s, std::optional<Batches::Int32s>,
                    std::optional<Array<const double>>>(),
           "first"_a, "width"_a, "length"_a, "lane_length"_a, "lane_sequence"_a, "chunk"_a,
           "labels"_a.none(), "weights"_a.none());
  bind_kernel<double>(m, "Chain")
      .def("evaluate", &ChainKernel<double>::evaluate, "features"_a, "coordinates"_a, "weights"_a,
           "alpha"_a.noconvert(), "transitions"_a, "losses"_a.noconvert(), "pairs"_a.noconvert(),
           "n_jobs"_a, "dense"_a = nb::none())
      .def("viterbi", &ChainKernel<double>::viterbi, "transitions"_a, "path"_a.noconvert(),
           "n_jobs"_a);
  bind_kernel<float>(m, "SingleChain");
  m.def(
      "exp",
      [](Array<const double> x, Array<double> out) {
        expect(x.shape(0) % kLanes == 0 && out.shape(0) == x.shape(0),
               "a multiple of 8 values expected");
        exp_all(x.data(), x.shape(0), out.data());
      },
      "x"_a, "out"_a.noconvert(), "The vectorised exponential, for its test.");
}

}  // namespace proxqn::python
