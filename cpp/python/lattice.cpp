// Python's view of the lattice and of edge weights. The NumPy reference of every class is
// src/proxqn/losses/lattice/reference.py.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <vector>

#include "lattice/edge_weights.hpp"
#include "lattice/forward_backward.hpp"
#include "python/arrays.hpp"
#include "python/batches.hpp"

namespace proxqn::python {

using namespace nb::literals;

class EdgeKernel {
 public:
  EdgeKernel(Array<const std::int64_t> start, Array<const std::int32_t> patterns,
             Array<const std::int64_t> value_start, Array<const double> values,
             Array<const std::int64_t> row_start, Array<const std::int32_t> rows,
             Array<const double> row_weights, Array<const std::int64_t> pattern_start,
             Array<const std::int32_t> pattern_columns, Array<const double> pattern_values,
             std::int64_t n_labels)
      : start_(start), patterns_(patterns), value_start_(value_start), values_(values),
        row_start_(row_start), rows_(rows), row_weights_(row_weights),
        pattern_start_(pattern_start), pattern_columns_(pattern_columns),
        pattern_values_(pattern_values), n_labels_(n_labels) {
    expect(value_start.shape(0) + 1 == start.shape(0), "start must have n_columns + 1 entries");
    expect(pattern_start.shape(0) == row_start.shape(0), "one list of rows a pattern expected");
    scores_.n_patterns = static_cast<std::int64_t>(pattern_start.shape(0)) - 1;
    scores_.pattern_start = pattern_start_.data();
    scores_.pattern_columns = pattern_columns_.data();
    scores_.pattern_values = pattern_values_.data();
  }

  // The weights, column by column.
  void put(Array<const std::int64_t> start, Array<const std::int32_t> pair,
           Array<const double> value) {
    expect(start.shape(0) == start_.shape(0), "one list of weights a column expected");
    expect(pair.shape(0) == value.shape(0), "one score a pair expected");
    score_start_ = start;
    score_pair_ = pair;
    scores_.start = score_start_->data();
    scores_.pair = score_pair_->data();
    nb::gil_scoped_release release;
    scores_.put(value.data(), static_cast<std::int64_t>(value_start_.shape(0)), n_labels_);
  }

  void gradient(Array<const std::int64_t> coordinates, Array<const double, 2> alpha,
                Array<const double, 2> onward, Array<const std::uint8_t> log_domain,
                Array<const double, 2> transitions, Array<double> out, int n_jobs) const {
    expect(coordinates.shape(0) == out.shape(0), "one output a coordinate expected");
    const auto r = rows(alpha, onward, log_domain, transitions);
    nb::gil_scoped_release release;
    lattice::edge_gradient(edges(), scores_, r, coordinates.data(), coordinates.shape(0), n_jobs,
                           out.data());
  }

  std::tuple<Array<std::int64_t>, Array<double>, double> sweep(
      double threshold, Array<const double, 2> alpha, Array<const double, 2> onward,
      Array<const std::uint8_t> log_domain, Array<const double, 2> transitions,
      Array<const std::int64_t> observed, Array<const double> counts,
      std::optional<Array<const std::int64_t>> admitted, int n_jobs) const {
    const auto r = rows(alpha, onward, log_domain, transitions);
    products::Sweep found;
    {
      nb::gil_scoped_release release;
      found = lattice::edge_sweep(
          edges(), scores_, r, threshold,
          {static_cast<std::int64_t>(observed.shape(0)), observed.data(), counts.data()},
          admitted ? admitted->data() : nullptr, admitted ? admitted->shape(0) : 0, n_jobs);
    }
    const double largest = found.largest;
    return {to_numpy(std::move(found.coordinates)), to_numpy(std::move(found.gradient)), largest};
  }

  const lattice::EdgeScores& scores() const { return scores_; }

 private:
  lattice::Edges edges() const {
    return {n_labels_,
            {static_cast<std::int64_t>(value_start_.shape(0)), start_.data(), patterns_.data(),
             value_start_.data(), values_.data()},
            row_start_.data(),
            rows_.data()};
  }
  lattice::LatticeRows rows(const Array<const double, 2>& alpha,
                            const Array<const double, 2>& onward,
                            const Array<const std::uint8_t>& log_domain,
                            const Array<const double, 2>& transitions) const {
    expect(scores_.start != nullptr, "put must come first");
    expect(alpha.shape(0) == row_weights_.shape(0) && onward.shape(0) == row_weights_.shape(0),
           "one row of alpha and onward for each row weight expected");
    return {alpha.data(), onward.data(), log_domain.data(), row_weights_.data(),
            transitions.data()};
  }
  Array<const std::int64_t> start_;
  Array<const std::int32_t> patterns_;
  Array<const std::int64_t> value_start_;
  Array<const double> values_;
  Array<const std::int64_t> row_start_;
  Array<const std::int32_t> rows_;
  Array<const double> row_weights_;
  Array<const std::int64_t> pattern_start_;
  Array<const std::int32_t> pattern_columns_;
  Array<const double> pattern_values_;
  std::int64_t n_labels_;
  std::optional<Array<const std::int64_t>> score_start_;
  std::optional<Array<const std::int32_t>> score_pair_;
  lattice::EdgeScores scores_;
};

class LatticeKernel {
 public:
  LatticeKernel(const Batches& batches, Array<double, 2> scores,
                Array<const std::int64_t> token_start, Array<const std::int32_t> pattern,
                std::optional<Array<const std::int64_t>> twin,
                std::optional<Array<const std::uint8_t, 2>> allowed)
      : batches_(batches), scores_(scores), token_start_(token_start), pattern_(pattern),
        twin_(twin), allowed_(allowed),
        inverse_(pattern.shape(0) + (allowed ? allowed->shape(0) : 0)) {
    batches.check_labels(static_cast<std::int64_t>(scores.shape(1)));
    expect(twin.has_value() == allowed.has_value(), "twins and their allowed labels go together");
    expect(!allowed || allowed->shape(1) == scores.shape(0), "one mark a label expected");
  }

  void forward(const EdgeKernel& edges, Array<double, 2> alpha, Array<std::uint8_t> log_domain,
               Array<const double, 2> transitions, Array<double> losses, int n_jobs) {
    const auto l = lattice(edges, &alpha, nullptr, &log_domain, nullptr, transitions);
    nb::gil_scoped_release release;
    lattice::forward(l, n_jobs, losses.data());
  }

  void backward(const EdgeKernel& edges, Array<double, 2> alpha, Array<double, 2> onward,
                Array<std::uint8_t> log_domain, Array<double, 2> residuals,
                Array<const double, 2> transitions, Array<double, 2> pairs, int n_jobs) {
    const auto l = lattice(edges, &alpha, &onward, &log_domain, &residuals, transitions);
    nb::gil_scoped_release release;
    lattice::backward(l, n_jobs, pairs.data());
  }

  void viterbi(const EdgeKernel& edges, Array<const double, 2> transitions,
               Array<std::int32_t> path, int n_jobs) {
    const auto l = lattice(edges, nullptr, nullptr, nullptr, nullptr, transitions);
    nb::gil_scoped_release release;
    lattice::viterbi(l, n_jobs, path.data());
  }

 private:
  lattice::Lattice lattice(const EdgeKernel& edges, Array<double, 2>* alpha,
                           Array<double, 2>* onward, Array<std::uint8_t>* log_domain,
                           Array<double, 2>* residuals, const Array<const double, 2>& transitions) {
    const auto L = static_cast<std::int64_t>(scores_.shape(0));
    const auto Lp = static_cast<std::size_t>(whole_eights(L));
    for (const auto* rows : {alpha, onward})
      expect(!rows || (rows->shape(0) == inverse_.size() && rows->shape(1) == Lp),
             "rows must have shape (n_rows, n_labels up to a multiple of 8)");
    expect(!log_domain || log_domain->shape(0) == inverse_.size(), "one flag a row expected");
    expect(transitions.shape(0) == scores_.shape(0) && transitions.shape(1) == scores_.shape(0),
           "transitions must have shape (n_labels, n_labels)");
    expect(edges.scores().start != nullptr, "the edges' scores must be put first");
    double* out = residuals ? residuals->data() : nullptr;
    return {batches_.chain<double>(L, static_cast<std::int64_t>(scores_.shape(1)), scores_.data(),
                                   out, nullptr, nullptr, transitions.data()),
            static_cast<std::int64_t>(pattern_.shape(0)),
            token_start_.data(),
            pattern_.data(),
            twin_ ? twin_->data() : nullptr,
            allowed_ ? allowed_->data() : nullptr,
            &edges.scores(),
            alpha ? alpha->data() : nullptr,
            onward ? onward->data() : nullptr,
            inverse_.data(),
            log_domain ? log_domain->data() : nullptr};
  }

  Batches batches_;
  Array<double, 2> scores_;
  Array<const std::int64_t> token_start_;
  Array<const std::int32_t> pattern_;
  std::optional<Array<const std::int64_t>> twin_;
  std::optional<Array<const std::uint8_t, 2>> allowed_;
  std::vector<double> inverse_;
};

void bind_lattice(nb::module_& m) {
  using Int64s = Array<const std::int64_t>;
  using Int32s = Array<const std::int32_t>;
  nb::class_<EdgeKernel>(m, "Edges")
      .def(nb::init<Int64s, Int32s, Int64s, Array<const double>, Int64s, Int32s,
                    Array<const double>, Int64s, Int32s, Array<const double>, std::int64_t>(),
           "start"_a, "patterns"_a, "value_start"_a, "values"_a, "row_start"_a, "rows"_a,
           "row_weights"_a, "pattern_start"_a, "pattern_columns"_a, "pattern_values"_a,
           "n_labels"_a)
      .def("put", &EdgeKernel::put, "start"_a, "pair"_a, "value"_a)
      .def("gradient", &EdgeKernel::gradient, "coordinates"_a, "alpha"_a.noconvert(),
           "onward"_a.noconvert(), "log_domain"_a.noconvert(), "transitions"_a, "out"_a.noconvert(),
           "n_jobs"_a)
      .def("sweep", &EdgeKernel::sweep, "threshold"_a, "alpha"_a.noconvert(),
           "onward"_a.noconvert(), "log_domain"_a.noconvert(), "transitions"_a, "observed"_a,
           "counts"_a, "admitted"_a.none(), "n_jobs"_a);
  nb::class_<LatticeKernel>(m, "Lattice")
      .def(nb::init<const Batches&, Array<double, 2>, Int64s, Int32s, std::optional<Int64s>,
                    std::optional<Array<const std::uint8_t, 2>>>(),
           "batches"_a, "scores"_a.noconvert(), "token_start"_a, "pattern"_a, "twin"_a.none(),
           "allowed"_a.none())
      .def("forward", &LatticeKernel::forward, "edges"_a, "alpha"_a.noconvert(),
           "log_domain"_a.noconvert(), "transitions"_a, "losses"_a.noconvert(), "n_jobs"_a)
      .def("backward", &LatticeKernel::backward, "edges"_a, "alpha"_a.noconvert(),
           "onward"_a.noconvert(), "log_domain"_a.noconvert(), "residuals"_a.noconvert(),
           "transitions"_a, "pairs"_a.noconvert(), "n_jobs"_a)
      .def("viterbi", &LatticeKernel::viterbi, "edges"_a, "transitions"_a, "path"_a.noconvert(),
           "n_jobs"_a);
}

}  // namespace proxqn::python
