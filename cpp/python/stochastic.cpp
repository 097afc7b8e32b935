// Python's view of stochastic steps with a memory of gradients (stochastic/saga.hpp).
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <utility>
#include <vector>

#include "python/arrays.hpp"
#include "stochastic/build.hpp"
#include "stochastic/chain_saga.hpp"
#include "stochastic/tree_saga.hpp"

namespace proxqn::python {

using namespace nb::literals;
using I64 = Array<const std::int64_t>;
using I32 = Array<const std::int32_t>;
using F64 = Array<const double>;
using F64s = Array<const double, 2>;
template <class A>
static auto* pointer(const std::optional<A>& a) {
  return a ? a->data() : nullptr;
}

// The blocks of some columns' entries; arrays that are given are kept alive with it.
class SagaBlocks {
 public:
  SagaBlocks(I64 start, I32 slots, I64 value_start, F64 values, I64 kept, I32 slot_row,
             I64 block_start, I64 row_start, std::optional<F64> weights)
      : block_start_(block_start), row_start_(row_start), weights_(weights),
        n_columns_(static_cast<std::int64_t>(kept.shape(0))) {
    const auto n_blocks = static_cast<std::int64_t>(block_start.shape(0)) - 1;
    std::vector<std::int64_t> first_row;
    for (std::int64_t b = 0; b <= n_blocks; ++b)
      first_row.push_back(row_start.data()[block_start.data()[b]]);
    const stochastic::ColumnData data{start.data(), slots.data(), value_start.data(), values.data(),
                                      kept.data(),  n_columns_,   slot_row.data()};
    nb::gil_scoped_release release;
    built_ = stochastic::build_blocks(data, first_row.data(), n_blocks);
  }
  stochastic::BlockData data() const {
    return {static_cast<std::int64_t>(block_start_.shape(0)) - 1,
            n_columns_,
            block_start_.data(),
            row_start_.data(),
            built_.entry_start.data(),
            built_.columns.data(),
            built_.values.empty() ? nullptr : built_.values.data(),
            built_.list_start.data(),
            built_.list_column.data(),
            built_.list_entry.data(),
            built_.list_row.data(),
            built_.list_value.empty() ? nullptr : built_.list_value.data(),
            pointer(weights_)};
  }
  Array<std::int64_t> occurrences() const {
    std::vector<std::int64_t> found(n_columns_, 0);
    for (const auto c : built_.list_column) ++found[c];
    return to_numpy(std::move(found));
  }
  Array<double> typical_curvatures(F64 u) const {
    return to_numpy(stochastic::typical_curvatures(data(), u.data()));
  }
  Array<std::int32_t> columns_of(std::int64_t block) const {
    const auto& at = built_.list_start;
    const auto& from = built_.list_column;
    return to_numpy(std::vector(from.begin() + at[block], from.begin() + at[block + 1]));
  }

 private:
  I64 block_start_, row_start_;
  std::optional<F64> weights_;
  std::int64_t n_columns_;
  stochastic::BuiltBlocks built_;
};

struct MemoryArrays {
  Array<double, 2> w, a;
  Array<float, 2> residuals, own;
  std::optional<Array<const std::uint8_t, 2>> admitted;
  F64 rate, share;
  F64s lam, l2, lower, upper;
  std::int64_t n_own;
  stochastic::Memory memory() {
    const auto width = static_cast<std::int64_t>(w.shape(1));
    return {width,
            n_own,
            w.data(),
            a.data(),
            residuals.data(),
            own.data(),
            pointer(admitted),
            rate.data(),
            share.data(),
            {lam.data(), l2.data(), lower.data(), upper.data(), lam.shape(0) == 1 ? 0 : width}};
  }
};

template <class Model>
class SagaKernel {
 public:
  SagaKernel(const SagaBlocks& blocks, MemoryArrays memory, Model&& model)
      : blocks_(blocks), memory_(std::move(memory)), saga_(std::move(model), blocks_.data()) {}
  std::tuple<double, double> visit(I64 order, std::int64_t test_every, double caution, int n_jobs) {
    const auto data = blocks_.data();
    auto memory = memory_.memory();
    stochastic::Steps steps{order.data(), static_cast<std::int64_t>(order.shape(0)), test_every,
                            caution, n_jobs};
    nb::gil_scoped_release release;
    const double loss = saga_.visit_all(data, memory, steps);
    return {loss, steps.caution};
  }

 private:
  const SagaBlocks& blocks_;  // kept alive by Python
  MemoryArrays memory_;
  stochastic::Saga<Model> saga_;
};

class ChainSagaKernel : public SagaKernel<stochastic::ChainModel> {
 public:
  ChainSagaKernel(const SagaBlocks& blocks, const MemoryArrays& memory, std::int64_t n_labels,
                  I32 labels)
      : SagaKernel(blocks, memory,
                   {chain::PairFactors(n_labels), blocks.data().row_start, labels.data()}),
        labels_(labels) {}

 private:
  I32 labels_;
};

class TreeSagaKernel : public SagaKernel<stochastic::TreeModel> {
 public:
  TreeSagaKernel(const SagaBlocks& blocks, const MemoryArrays& memory, I32 parent, I32 leaf_nodes,
                 I32 leaves)
      : SagaKernel(blocks, memory,
                   {rivals::TreeSoftmax(parent.shape(0), leaf_nodes.shape(0), parent.data(),
                                        leaf_nodes.data()),
                    leaves.data()}),
        parent_(parent), leaf_nodes_(leaf_nodes), leaves_(leaves) {}

 private:
  I32 parent_, leaf_nodes_, leaves_;
};

template <class Kernel>
static void def_visit(nb::class_<Kernel>& c) {
  c.def("visit", &Kernel::visit, "order"_a, "test_every"_a, "caution"_a, "n_jobs"_a);
}

void bind_stochastic(nb::module_& m) {
  nb::class_<SagaBlocks>(m, "SagaBlocks")
      .def(nb::init<I64, I32, I64, F64, I64, I32, I64, I64, std::optional<F64>>(), "start"_a,
           "slots"_a, "value_start"_a, "values"_a, "kept"_a, "slot_row"_a, "block_start"_a,
           "row_start"_a, "weights"_a.none())
      .def("occurrences", &SagaBlocks::occurrences)
      .def("typical_curvatures", &SagaBlocks::typical_curvatures, "u"_a)
      .def("columns_of", &SagaBlocks::columns_of, "block"_a);
  nb::class_<MemoryArrays>(m, "SagaMemory")
      .def(
          "__init__",
          [](MemoryArrays* made, Array<double, 2> w, Array<double, 2> a, Array<float, 2> residuals,
             Array<float, 2> own, std::optional<Array<const std::uint8_t, 2>> admitted, F64 rate,
             F64 share, F64s lam, F64s l2, F64s lower, F64s upper, std::int64_t n_own) {
            if (w.shape(1) % kLanes != 0 || a.shape(0) != w.shape(0) ||
                rate.shape(0) != w.shape(0) || share.shape(0) != w.shape(0))
              throw std::invalid_argument("rows of a multiple of 8, one rate and share each");
            new (made) MemoryArrays{w,     a,   residuals, own,   admitted, rate,
                                    share, lam, l2,        lower, upper,    n_own};
          },
          "w"_a.noconvert(), "a"_a.noconvert(), "residuals"_a.noconvert(), "own"_a.noconvert(),
          "admitted"_a.none(), "rate"_a, "share"_a, "lam"_a, "l2"_a, "lower"_a, "upper"_a,
          "n_own"_a);
  nb::class_<ChainSagaKernel> chain_saga(m, "ChainSaga");
  chain_saga.def(nb::init<const SagaBlocks&, const MemoryArrays&, std::int64_t, I32>(), "blocks"_a,
                 "memory"_a, "n_labels"_a, "labels"_a, nb::keep_alive<1, 2>());
  def_visit(chain_saga);
  nb::class_<TreeSagaKernel> tree_saga(m, "TreeSaga");
  tree_saga.def(nb::init<const SagaBlocks&, const MemoryArrays&, I32, I32, I32>(), "blocks"_a,
                "memory"_a, "parent"_a, "leaf_nodes"_a, "leaves"_a, nb::keep_alive<1, 2>());
  def_visit(tree_saga);
}

}  // namespace proxqn::python
