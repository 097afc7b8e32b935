// Python's view of stochastic steps with a memory of gradients (stochastic/saga.hpp).
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <utility>

#include "python/arrays.hpp"
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

// Arrays that a kernel reads: kept alive with it.
struct BlockArrays {
  I64 block_start, row_start, entry_start;
  I32 columns;
  std::optional<F64> values;
  I64 list_start;
  I32 list_column;
  I64 list_entry;
  I32 list_row;
  std::optional<F64> list_value, weights;
  stochastic::BlockData data(std::int64_t n_columns) const {
    return {static_cast<std::int64_t>(block_start.shape(0)) - 1,
            n_columns,
            block_start.data(),
            row_start.data(),
            entry_start.data(),
            columns.data(),
            pointer(values),
            list_start.data(),
            list_column.data(),
            list_entry.data(),
            list_row.data(),
            pointer(list_value),
            pointer(weights)};
  }
};

struct MemoryArrays {
  Array<double, 2> w, a;
  Array<float, 2> residuals, own;
  std::optional<Array<const std::uint8_t, 2>> admitted;
  F64 rate, share;
  F64s lam, l2, lower, upper;
  std::int64_t n_own;
  std::int64_t n_columns() const { return static_cast<std::int64_t>(w.shape(0)) - n_own; }
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
  SagaKernel(BlockArrays blocks, MemoryArrays memory, Model&& model)
      : blocks_(std::move(blocks)), memory_(std::move(memory)),
        saga_(std::move(model), blocks_.data(memory_.n_columns())) {}
  std::tuple<double, double> visit(I64 order, std::int64_t test_every, double caution, int n_jobs) {
    const auto data = blocks_.data(memory_.n_columns());
    auto memory = memory_.memory();
    stochastic::Steps steps{order.data(), static_cast<std::int64_t>(order.shape(0)), test_every,
                            caution, n_jobs};
    nb::gil_scoped_release release;
    const double loss = saga_.visit_all(data, memory, steps);
    return {loss, steps.caution};
  }

 private:
  BlockArrays blocks_;
  MemoryArrays memory_;
  stochastic::Saga<Model> saga_;
};

class ChainSagaKernel : public SagaKernel<stochastic::ChainModel> {
 public:
  ChainSagaKernel(const BlockArrays& blocks, const MemoryArrays& memory, std::int64_t n_labels,
                  I32 labels)
      : SagaKernel(blocks, memory,
                   {chain::PairFactors(n_labels), blocks.row_start.data(), labels.data()}),
        labels_(labels) {}

 private:
  I32 labels_;
};

class TreeSagaKernel : public SagaKernel<stochastic::TreeModel> {
 public:
  TreeSagaKernel(const BlockArrays& blocks, const MemoryArrays& memory, I32 parent, I32 leaf_nodes,
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
  nb::class_<BlockArrays>(m, "SagaBlocks")
      .def(
          "__init__",
          [](BlockArrays* made, I64 block_start, I64 row_start, I64 entry_start, I32 columns,
             std::optional<F64> values, I64 list_start, I32 list_column, I64 list_entry,
             I32 list_row, std::optional<F64> list_value, std::optional<F64> weights) {
            new (made)
                BlockArrays{block_start, row_start,  entry_start, columns,    values, list_start,
                            list_column, list_entry, list_row,    list_value, weights};
          },
          "block_start"_a, "row_start"_a, "entry_start"_a, "columns"_a, "values"_a.none(),
          "list_start"_a, "list_column"_a, "list_entry"_a, "list_row"_a, "list_value"_a.none(),
          "weights"_a.none());
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
  chain_saga.def(nb::init<const BlockArrays&, const MemoryArrays&, std::int64_t, I32>(), "blocks"_a,
                 "memory"_a, "n_labels"_a, "labels"_a);
  def_visit(chain_saga);
  nb::class_<TreeSagaKernel> tree_saga(m, "TreeSaga");
  tree_saga.def(nb::init<const BlockArrays&, const MemoryArrays&, I32, I32, I32>(), "blocks"_a,
                "memory"_a, "parent"_a, "leaf_nodes"_a, "leaves"_a);
  def_visit(tree_saga);
}

}  // namespace proxqn::python
