// Python's view of the kernels that walk sample by sample (rivals/sgd.hpp) and block by block (rivals/block_descent.hpp).
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "python/arrays.hpp"
#include "rivals/chain_blocks.hpp"
#include "rivals/chain_sgd.hpp"
#include "rivals/tree_blocks.hpp"
#include "rivals/tree_sgd.hpp"

namespace proxqn::python {

using namespace nb::literals;

template <class T, int N = 1>
using Optional = std::optional<Array<T, N>>;
template <class A>
static auto* pointer(const std::optional<A>& a) {
  return a ? a->data() : nullptr;
}

struct RowArrays {  // data by row
  Array<const std::int64_t> sample_start, row_start;
  Array<const std::int32_t> columns;
  Optional<const double> values, weights;
  rivals::SampleRows rows() const {
    return {static_cast<std::int64_t>(sample_start.shape(0)) - 1,
            sample_start.data(),
            row_start.data(),
            columns.data(),
            pointer(values),
            pointer(weights)};
  }
};

template <class Model>
class SampleKernel {
 public:
  void restart() {
    k_ = 0;
    u_ = 0.0;
    stamp_ = 0;
    std::fill(last_.begin(), last_.end(), 0);
    std::fill(q_.data(), q_.data() + q_.size(), 0.0);
  }
  void descend(Array<const std::int64_t> order, double rate, double lam, double l2) {
    auto lazy = weights();
    if (l2 > 0.0) lazy.users = users();
    nb::gil_scoped_release release;
    rivals::run_sgd(model_, data_.rows(), lazy, {rate, lam, l2}, order.data(), order.shape(0), k_,
                    u_, stamp_);
  }
  void settle() {
    nb::gil_scoped_release release;
    rivals::penalise_all(w_.data(), q_.data(), w_.size(), u_);
    model_.penalise_own(u_);
  }
  double loss(Array<const std::int64_t> order) {
    auto lazy = weights();
    nb::gil_scoped_release release;
    return rivals::run_losses(model_, data_.rows(), lazy, order.data(), order.shape(0));
  }

 protected:
  SampleKernel(RowArrays data, Array<double, 2> w, Array<double, 2> q,
               Optional<const double, 2> admitted, Model&& model)
      : data_(data), w_(w), q_(q), admitted_(admitted), last_(w.shape(0), 0),
        model_(std::move(model)) {
    expect(w.shape(1) % kLanes == 0 && q.shape(0) == w.shape(0) && q.shape(1) == w.shape(1),
           "w and q must have shape (n_columns, a multiple of 8)");
  }
  rivals::LazyWeights weights() {
    return {w_.data(),    q_.data(), pointer(admitted_), static_cast<std::int64_t>(w_.shape(1)),
            last_.data(), nullptr};
  }
  const double* users() {  // counted once, when a ridge first asks for it
    if (users_.empty()) {
      users_.assign(w_.shape(0), 0.0);
      std::vector<std::int64_t> seen(w_.shape(0), -1);
      const auto rows = data_.rows();
      for (std::int64_t i = 0; i < rows.n_samples; ++i)
        for (std::int64_t e = rows.row_start[rows.sample_start[i]];
             e < rows.row_start[rows.sample_start[i + 1]]; ++e)
          if (std::int64_t& last = seen[rows.columns[e]]; last != i) {
            last = i;
            users_[rows.columns[e]] += 1.0;
          }
    }
    return users_.data();
  }
  std::vector<double> users_;
  RowArrays data_;
  Array<double, 2> w_, q_;
  Optional<const double, 2> admitted_;
  std::vector<std::int32_t> last_;
  Model model_;
  std::int64_t k_ = 0;
  double u_ = 0.0;
  std::int32_t stamp_ = 0;
};

template <class Model>
static void set_transitions(Model& model, const Array<const double, 2>& transitions) {
  expect(transitions.size() == model.pairs.lambda.size(), "transitions must be labels x labels");
  std::copy(transitions.data(), transitions.data() + transitions.size(),
            model.pairs.lambda.begin());
  model.pairs.refresh();
}

class ChainSampleKernel : public SampleKernel<rivals::ChainSampleModel> {
 public:
  ChainSampleKernel(Array<const std::int64_t> sample_start, Array<const std::int64_t> row_start,
                    Array<const std::int32_t> columns, Optional<const double> values,
                    Optional<const double> weights, Array<double, 2> w, Array<double, 2> q,
                    Optional<const double, 2> admitted, std::int64_t n_labels,
                    Array<const std::int32_t> labels, Optional<const double, 2> admitted_pairs,
                    std::int64_t longest)
      : SampleKernel(
            {sample_start, row_start, columns, values, weights}, w, q, admitted,
            {n_labels, sample_start.data(), labels.data(), pointer(admitted_pairs), longest}),
        labels_(labels), admitted_pairs_(admitted_pairs) {}
  void put_transitions(Array<const double, 2> transitions) {
    set_transitions(model_, transitions);
    std::fill(model_.received.begin(), model_.received.end(), 0.0);
  }
  void get_transitions(Array<double, 2> out) const {
    std::copy(model_.pairs.lambda.begin(), model_.pairs.lambda.end(), out.data());
  }

 private:
  Array<const std::int32_t> labels_;
  Optional<const double, 2> admitted_pairs_;
};

class TreeSampleKernel : public SampleKernel<rivals::TreeSampleModel> {
 public:
  TreeSampleKernel(Array<const std::int64_t> sample_start, Array<const std::int64_t> row_start,
                   Array<const std::int32_t> columns, Optional<const double> values,
                   Optional<const double> weights, Array<double, 2> w, Array<double, 2> q,
                   Array<const std::int32_t> parent, Array<const std::int32_t> leaf_nodes,
                   Array<const std::int32_t> leaves)
      : SampleKernel({sample_start, row_start, columns, values, weights}, w, q, std::nullopt,
                     {rivals::TreeSoftmax(parent.shape(0), leaf_nodes.shape(0), parent.data(),
                                          leaf_nodes.data()),
                      leaves.data()}),
        parent_(parent), leaf_nodes_(leaf_nodes), leaves_(leaves) {}

 private:
  Array<const std::int32_t> parent_, leaf_nodes_, leaves_;
};

template <class Model>
class BlockKernel {
 public:
  // Put all scores at the weights in w: rows of zeros are skipped.
  void restart() {
    nb::gil_scoped_release release;
    std::fill(state_.scores, state_.scores + scores_.size(), 0.0);
    for (std::int64_t c = 0; c < state_.columns.n_columns; ++c) {
      const double* row = state_.w + c * state_.width;
      if (std::any_of(row, row + state_.width, [](double v) { return v != 0.0; }))
        rivals::shift_all(state_, c, row);
    }
    rivals::run_forward_all(state_, model_);
    state_.counts = {};
  }
  std::int64_t descend(Array<const std::int64_t> blocks, double lam, double l2, double sigma,
                       double beta, double floor, int max_trials, std::int64_t budget,
                       Array<double> violation, Array<double> excess) {
    expect(violation.shape(0) == blocks.shape(0) && excess.shape(0) == blocks.shape(0),
           "one output a block expected");
    const rivals::BlockRule rule{lam, l2, sigma, beta, floor, max_trials};
    nb::gil_scoped_release release;
    return rivals::run_bcd(state_, model_, rule, blocks.data(), blocks.shape(0), budget,
                           violation.data(), excess.data());
  }
  std::tuple<std::int64_t, std::int64_t, std::int64_t> counts() const {
    return {state_.counts.forward, state_.counts.backward, state_.counts.refused};
  }

 protected:
  BlockKernel(Array<const std::int64_t> start, Array<const std::int32_t> slots,
              Array<const std::int64_t> value_start, Array<const double> values,
              Array<const std::int32_t> sample, Optional<const double> weights,
              Optional<const double, 2> admitted, Array<double, 2> w, Array<double, 2> scores,
              Array<double, 2> marginals, Array<double> losses, Model&& model)
      : start_(start), slots_(slots), value_start_(value_start), sample_(sample), values_(values),
        weights_(weights), admitted_(admitted), w_(w), scores_(scores), marginals_(marginals),
        losses_(losses), model_(std::move(model)) {
    expect(w.shape(1) % kLanes == 0 && scores.shape(1) == w.shape(1) &&
               marginals.shape(0) == scores.shape(0) && marginals.shape(1) == w.shape(1),
           "w, scores and marginals must have rows of one multiple of 8");
    state_.columns = {static_cast<std::int64_t>(value_start.shape(0)), start.data(), slots.data(),
                      value_start.data(), values.data()};
    state_.width = static_cast<std::int64_t>(w.shape(1));
    state_.sample = sample.data();
    state_.weights = pointer(weights_);
    state_.admitted = pointer(admitted_);
    state_.w = w.data();
    state_.scores = scores.data();
    state_.marginals = marginals.data();
    state_.losses = losses.data();
    state_.stale.assign(losses.shape(0), 1);
    state_.seen.assign(losses.shape(0), 0);
  }
  Array<const std::int64_t> start_;
  Array<const std::int32_t> slots_;
  Array<const std::int64_t> value_start_;
  Array<const std::int32_t> sample_;
  Array<const double> values_;
  Optional<const double> weights_;
  Optional<const double, 2> admitted_;
  Array<double, 2> w_, scores_, marginals_;
  Array<double> losses_;
  Model model_;
  rivals::BlockState state_;
};

class ChainBlockKernel : public BlockKernel<rivals::ChainBlockModel> {
 public:
  ChainBlockKernel(Array<const std::int64_t> start, Array<const std::int32_t> slots,
                   Array<const std::int64_t> value_start, Array<const double> values,
                   Array<const std::int32_t> sample, Optional<const double> weights,
                   Optional<const double, 2> admitted, Array<double, 2> w, Array<double, 2> scores,
                   Array<double, 2> marginals, Array<double> losses, std::int64_t n_labels,
                   Array<const std::int64_t> sample_start, Array<const std::int32_t> rows,
                   Array<const std::int32_t> labels, Array<const std::int32_t> row_label,
                   Optional<const double, 2> admitted_pairs)
      : BlockKernel(start, slots, value_start, values, sample, weights, admitted, w, scores,
                    marginals, losses,
                    {n_labels, static_cast<std::int64_t>(losses.shape(0)),
                     static_cast<std::int64_t>(scores.shape(0))}),
        sample_start_(sample_start), rows_(rows), labels_(labels), row_label_(row_label),
        admitted_pairs_(admitted_pairs) {
    model_.sample_start = sample_start.data();
    model_.rows = rows.data();
    model_.labels = labels.data();
    model_.row_label = row_label.data();
    model_.admitted = pointer(admitted_pairs_);
    model_.scores = scores.data();
    model_.marginals = marginals.data();
    model_.losses = losses.data();
  }
  void put_transitions(Array<const double, 2> transitions) { set_transitions(model_, transitions); }
  void get_transitions(Array<double, 2> out) const {
    std::copy(model_.pairs.lambda.begin(), model_.pairs.lambda.end(), out.data());
  }

 private:
  Array<const std::int64_t> sample_start_;
  Array<const std::int32_t> rows_, labels_, row_label_;
  Optional<const double, 2> admitted_pairs_;
};

class TreeBlockKernel : public BlockKernel<rivals::TreeBlockModel> {
 public:
  TreeBlockKernel(Array<const std::int64_t> start, Array<const std::int32_t> slots,
                  Array<const std::int64_t> value_start, Array<const double> values,
                  Array<const std::int32_t> sample, Optional<const double> weights,
                  Array<double, 2> w, Array<double, 2> scores, Array<double, 2> marginals,
                  Array<double> losses, Array<const std::int32_t> parent,
                  Array<const std::int32_t> leaf_nodes, Array<const std::int32_t> leaves)
      : BlockKernel(start, slots, value_start, values, sample, weights, std::nullopt, w, scores,
                    marginals, losses,
                    {rivals::TreeSoftmax(parent.shape(0), leaf_nodes.shape(0), parent.data(),
                                         leaf_nodes.data()),
                     leaves.data(), scores.data(), marginals.data(), losses.data(),
                     static_cast<std::int64_t>(losses.shape(0))}),
        parent_(parent), leaf_nodes_(leaf_nodes), leaves_(leaves) {}

 private:
  Array<const std::int32_t> parent_, leaf_nodes_, leaves_;
};

template <class Kernel>
static void def_sample_methods(nb::class_<Kernel>& c) {
  c.def("restart", &Kernel::restart)
      .def("descend", &Kernel::descend, "order"_a, "rate"_a, "lam"_a, "l2"_a)
      .def("settle", &Kernel::settle)
      .def("loss", &Kernel::loss, "order"_a);
}

template <class Kernel>
static void def_block_methods(nb::class_<Kernel>& c) {
  c.def("restart", &Kernel::restart)
      .def("descend", &Kernel::descend, "blocks"_a, "lam"_a, "l2"_a, "sigma"_a, "beta"_a, "floor"_a,
           "max_trials"_a, "budget"_a, "violation"_a.noconvert(), "excess"_a.noconvert())
      .def("counts", &Kernel::counts);
}

void bind_rivals(nb::module_& m) {
  using I64 = Array<const std::int64_t>;
  using I32 = Array<const std::int32_t>;
  using F64 = Array<const double>;
  using Maybe = Optional<const double>;
  using Maybe2 = Optional<const double, 2>;
  using Out2 = Array<double, 2>;

  nb::class_<ChainSampleKernel> chain_samples(m, "ChainSamples");
  chain_samples
      .def(nb::init<I64, I64, I32, Maybe, Maybe, Out2, Out2, Maybe2, std::int64_t, I32, Maybe2,
                    std::int64_t>(),
           "sample_start"_a, "row_start"_a, "columns"_a, "values"_a.none(), "weights"_a.none(),
           "w"_a.noconvert(), "q"_a.noconvert(), "admitted"_a.none(), "n_labels"_a, "labels"_a,
           "admitted_pairs"_a.none(), "longest"_a)
      .def("put_transitions", &ChainSampleKernel::put_transitions, "transitions"_a)
      .def("get_transitions", &ChainSampleKernel::get_transitions, "out"_a.noconvert());
  def_sample_methods(chain_samples);

  nb::class_<TreeSampleKernel> tree_samples(m, "TreeSamples");
  tree_samples.def(nb::init<I64, I64, I32, Maybe, Maybe, Out2, Out2, I32, I32, I32>(),
                   "sample_start"_a, "row_start"_a, "columns"_a, "values"_a.none(),
                   "weights"_a.none(), "w"_a.noconvert(), "q"_a.noconvert(), "parent"_a,
                   "leaf_nodes"_a, "leaves"_a);
  def_sample_methods(tree_samples);

  nb::class_<ChainBlockKernel> chain_blocks(m, "ChainBlocks");
  chain_blocks
      .def(nb::init<I64, I32, I64, F64, I32, Maybe, Maybe2, Out2, Out2, Out2, Array<double>,
                    std::int64_t, I64, I32, I32, I32, Maybe2>(),
           "start"_a, "slots"_a, "value_start"_a, "values"_a, "sample"_a, "weights"_a.none(),
           "admitted"_a.none(), "w"_a.noconvert(), "scores"_a.noconvert(),
           "marginals"_a.noconvert(), "losses"_a.noconvert(), "n_labels"_a, "sample_start"_a,
           "rows"_a, "labels"_a, "row_label"_a, "admitted_pairs"_a.none())
      .def("put_transitions", &ChainBlockKernel::put_transitions, "transitions"_a)
      .def("get_transitions", &ChainBlockKernel::get_transitions, "out"_a.noconvert());
  def_block_methods(chain_blocks);

  nb::class_<TreeBlockKernel> tree_blocks(m, "TreeBlocks");
  tree_blocks.def(
      nb::init<I64, I32, I64, F64, I32, Maybe, Out2, Out2, Out2, Array<double>, I32, I32, I32>(),
      "start"_a, "slots"_a, "value_start"_a, "values"_a, "sample"_a, "weights"_a.none(),
      "w"_a.noconvert(), "scores"_a.noconvert(), "marginals"_a.noconvert(), "losses"_a.noconvert(),
      "parent"_a, "leaf_nodes"_a, "leaves"_a);
  def_block_methods(tree_blocks);
}

}  // namespace proxqn::python
