// Python's view of chain/tagging.hpp. The NumPy reference is
// src/proxqn/losses/chain/tagging_reference.py.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <vector>

#include "chain/one_sequence.hpp"
#include "chain/tagging.hpp"
#include "python/arrays.hpp"

namespace proxqn::python {

using namespace nb::literals;

using Ints = Array<const std::int64_t>;
using Int32s = Array<const std::int32_t>;
using Doubles = Array<const double>;

class TaggerKernel {
 public:
  TaggerKernel(Int32s row, Ints start, Int32s label, Doubles value,
               Array<const double, 2> transitions, Doubles first, Doubles last)
      : row_(row), start_(start), label_(label), value_(value), first_(first), last_(last),
        transitions_(transitions.data(), checked(row, start, label, value, transitions)),
        factors_(transitions_.L), weights_(transitions_.L, size(row), size(start) - 1, row.data(),
                                           start.data(), label.data(), value.data()),
        used_weights_(weights_), dense_(weights_.in_dense_rows()), used_row_(weights_.n_rows - 1) {
    std::copy_n(transitions.data(), factors_.lambda.size(), factors_.lambda.data());
    factors_.refresh();
    weights_.dense = used_weights_.dense = dense_.data();
    std::iota(used_row_.begin(), used_row_.end(), 1);
    used_weights_.n_features = weights_.n_rows - 1;
    used_weights_.row = used_row_.data();
    expect(size(first) == transitions_.L && size(last) == transitions_.L,
           "first and last must have n_labels entries");
  }

  void tag(Ints indptr, Int32s indices, Doubles data, Ints lengths, Array<std::int32_t> path,
           int n_jobs) const {
    label(weights_, tokens(indptr, indices, data), lengths, path, n_jobs);
  }

  // The same where the columns are those of the features with a weight alone, and all values are 1 if
  // there is no data.
  void tag_used(Ints indptr, Int32s indices, std::optional<Doubles> data, Ints lengths,
                Array<std::int32_t> path, int n_jobs) const {
    label(used_weights_, used_tokens(indptr, indices, data), lengths, path, n_jobs);
  }

  void marginals(Ints indptr, Int32s indices, Doubles data, Ints lengths, Array<double, 2> out,
                 int n_jobs) const {
    marginals_of(weights_, tokens(indptr, indices, data), lengths, out, n_jobs);
  }
  void marginals_used(Ints indptr, Int32s indices, std::optional<Doubles> data, Ints lengths,
                      Array<double, 2> out, int n_jobs) const {
    marginals_of(used_weights_, used_tokens(indptr, indices, data), lengths, out, n_jobs);
  }

  void slot_scores(Ints indptr, Int32s indices, Doubles data, Ints token, Array<double, 2> out,
                   int n_jobs) const {
    const auto X = tokens(indptr, indices, data);
    expect(size(out) == transitions_.L && out.shape(1) == token.shape(0),
           "out must have shape (n_labels, n_slots)");
    nb::gil_scoped_release release;
    chain::slot_scores(weights_, X, token.data(), size(token), n_jobs, out.data());
  }

 private:
  void label(const chain::FeatureWeights& weights, const chain::TokenRows& X, const Ints& lengths,
             Array<std::int32_t>& path, int n_jobs) const {
    expect(size(path) == X.n_tokens, "one label a token expected");
    nb::gil_scoped_release release;
    chain::tag(weights, transitions_, {first_.data(), last_.data()}, X, lengths.data(),
               size(lengths), n_jobs, path.data());
  }

  void marginals_of(const chain::FeatureWeights& weights, const chain::TokenRows& X,
                    const Ints& lengths, Array<double, 2>& out, int n_jobs) const {
    expect(size(out) == X.n_tokens && static_cast<std::int64_t>(out.shape(1)) == transitions_.L,
           "out must have shape (n_tokens, n_labels)");
    nb::gil_scoped_release release;
    chain::marginals(weights, factors_, {first_.data(), last_.data()}, X, lengths.data(),
                     size(lengths), n_jobs, out.data());
  }

  template <class Any>
  static std::int64_t size(const Any& array) {
    return static_cast<std::int64_t>(array.shape(0));
  }

  // The kernels take all of these as indices, unchecked.
  static std::int64_t checked(const Int32s& row, const Ints& start, const Int32s& label,
                              const Doubles& value, const Array<const double, 2>& transitions) {
    const std::int64_t L = size(transitions);
    expect(transitions.shape(0) == transitions.shape(1), "transitions must be square");
    expect(size(start) > 1 && size(label) == size(value) && start(0) == 0 &&
               start(size(start) - 1) == size(label),
           "start must rise from 0 to the number of weights");
    for (std::int64_t r = 1; r < size(start); ++r)
      expect(start(r - 1) <= start(r), "start must rise");
    for (std::int64_t j = 0; j < size(label); ++j)
      expect(label(j) >= 0 && label(j) < L, "labels must be below n_labels");
    for (std::int64_t f = 0; f < size(row); ++f)
      expect(row(f) >= 0 && row(f) < size(start) - 1, "rows must be below their number");
    return L;
  }
  static chain::TokenRows tokens(const Ints& indptr, const Int32s& indices, const Doubles& data) {
    expect(size(indptr) > 0 && size(indices) == size(data), "expected a CSR matrix");
    return {size(indptr) - 1, size(indices), indptr.data(), indices.data(), data.data()};
  }

  static chain::TokenRows used_tokens(const Ints& indptr, const Int32s& indices,
                                      const std::optional<Doubles>& data) {
    expect(size(indptr) > 0 && (!data || size(indices) == size(*data)), "expected a CSR matrix");
    return {size(indptr) - 1, size(indices), indptr.data(), indices.data(),
            data ? data->data() : nullptr};
  }

  Int32s row_;
  Ints start_;
  Int32s label_;
  Doubles value_, first_, last_;
  chain::PaddedTransitions transitions_;
  chain::PairFactors factors_;
  chain::FeatureWeights weights_, used_weights_;  // which differ in what a column is
  AlignedArray<double> dense_;
  std::vector<std::int32_t> used_row_;
};

static void rows_of_slots(Array<const double, 2> array, Ints token, Array<double, 2> out) {
  expect(out.shape(1) == array.shape(0) && token.shape(0) == array.shape(1),
         "out must have shape (n_tokens, n_labels)");
  for (std::size_t slot = 0; slot < token.shape(0); ++slot)
    expect(token(slot) < static_cast<std::int64_t>(out.shape(0)), "no such token");
  nb::gil_scoped_release release;
  chain::rows_of_slots(array.data(), static_cast<std::int64_t>(array.shape(0)),
                       static_cast<std::int64_t>(array.shape(1)), token.data(), out.data());
}

// Whether the arrays of two lists are the same in size and in every bit.
static bool same_bytes(nb::typed<nb::list, nb::any> a, nb::typed<nb::list, nb::any> b) {
  using Any = nb::ndarray<nb::ro, nb::device::cpu, nb::c_contig>;
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto left = nb::cast<Any>(a[i]), right = nb::cast<Any>(b[i]);
    if (left.nbytes() != right.nbytes() || left.dtype() != right.dtype()) return false;
    if (std::memcmp(left.data(), right.data(), left.nbytes()) != 0) return false;
  }
  return true;
}

void bind_tagging(nb::module_& m) {
  nb::class_<TaggerKernel>(m, "Tagger")
      .def(nb::init<Int32s, Ints, Int32s, Doubles, Array<const double, 2>, Doubles, Doubles>(),
           "row"_a, "start"_a, "label"_a, "value"_a, "transitions"_a, "first"_a, "last"_a)
      .def("tag", &TaggerKernel::tag, "indptr"_a, "indices"_a, "data"_a, "lengths"_a,
           "path"_a.noconvert(), "n_jobs"_a)
      .def("tag_used", &TaggerKernel::tag_used, "indptr"_a, "indices"_a, "data"_a.none(),
           "lengths"_a, "path"_a.noconvert(), "n_jobs"_a)
      .def("marginals", &TaggerKernel::marginals, "indptr"_a, "indices"_a, "data"_a, "lengths"_a,
           "out"_a.noconvert(), "n_jobs"_a)
      .def("marginals_used", &TaggerKernel::marginals_used, "indptr"_a, "indices"_a,
           "data"_a.none(), "lengths"_a, "out"_a.noconvert(), "n_jobs"_a)
      .def("slot_scores", &TaggerKernel::slot_scores, "indptr"_a, "indices"_a, "data"_a, "token"_a,
           "out"_a.noconvert(), "n_jobs"_a);
  m.def("same_bytes", &same_bytes, "a"_a, "b"_a,
        "Whether the arrays of two lists are the same in size and in every bit.");
  m.def("rows_of_slots", &rows_of_slots, "array"_a.noconvert(), "token"_a, "out"_a.noconvert(),
        "From (labels, slots) to (tokens, labels).");
}

}  // namespace proxqn::python
