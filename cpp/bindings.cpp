// Python's view of the kernels: array types and shapes are checked here, the GIL is released, and
// nothing is computed. The NumPy reference of every class is src/proxqn/oracles/reference.py.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <optional>

#include "arrays.hpp"
#include "chain.hpp"
#include "draws.hpp"
#include "features.hpp"
#include "rows.hpp"
#include "single_chain.hpp"
#include "sparse.hpp"
#include "subproblem.hpp"
#include "viterbi.hpp"
#include "tile_sweep.hpp"
#include "tree.hpp"

using namespace nb::literals;

#include "sampled_bindings.hpp"

using SweepResult = std::tuple<Array<std::int64_t>, Array<double>, double>;
static SweepResult to_numpy(proxqn::Sweep&& found) {
  const double largest = found.largest;
  return {to_numpy(std::move(found.coordinates)), to_numpy(std::move(found.gradient)), largest};
}

class FeatureKernel {
 public:
  // start, places, columns and the list of each slot, as in TokenLists
  using Lists = std::tuple<Array<const std::int64_t>, Array<const std::uint16_t>,
                           Array<const std::int32_t>, std::optional<Array<const std::int32_t>>>;

  FeatureKernel(Array<const std::int64_t> start, Array<const std::int32_t> slots,
                Array<const std::int64_t> value_start, Array<const double> values,
                std::optional<Lists> lists)
      : start_(start), slots_(slots), value_start_(value_start), values_(values), lists_(lists) {
    expect(value_start.shape(0) + 1 == start.shape(0), "start must have n_columns + 1 entries");
  }

  void scores(Array<const std::int64_t> coordinates, Array<const double> weights,
              Array<double, 2> out, Array<std::uint8_t> dirty, int n_jobs) const {
    const auto f = features();
    expect(coordinates.shape(0) == weights.shape(0), "one weight a coordinate expected");
    nb::gil_scoped_release release;
    proxqn::scores(f, coordinates.data(), weights.data(), coordinates.shape(0), out.shape(0),
                   out.shape(1), n_jobs, out.data(), dirty.data());
  }

  // Floats are [labels up to a multiple of 8 / 8][8 slots]; rank is the order of the labels there.
  void scores_single(Array<const std::int64_t> coordinates, Array<const double> weights,
                     Array<const std::int32_t> rank, Array<float, 2> out, int n_jobs) const {
    const auto f = features();
    expect(coordinates.shape(0) == weights.shape(0), "one weight a coordinate expected");
    nb::gil_scoped_release release;
    proxqn::scores(f, index(n_jobs), coordinates.data(), weights.data(), coordinates.shape(0),
                   rank.shape(0), rank.data(), out.shape(1) / proxqn::kLanes, n_jobs, out.data());
  }

  void gradient_single(Array<const std::int64_t> coordinates, Array<const std::int32_t> rank,
                       Array<const float, 2> residuals, Array<double> out, int n_jobs) const {
    const auto f = features();
    expect(coordinates.shape(0) == out.shape(0), "one output a coordinate expected");
    nb::gil_scoped_release release;
    proxqn::gradient(f, index(n_jobs), coordinates.data(), coordinates.shape(0), rank.shape(0),
                     rank.data(), residuals.data(), residuals.shape(1) / proxqn::kLanes, n_jobs,
                     out.data());
  }

  SweepResult sweep_single(Array<const std::int32_t> rank, Array<const float, 2> residuals,
                           double threshold, std::optional<Array<const std::int64_t>> pair_start,
                           std::optional<Array<const std::int32_t>> pair_labels,
                           Array<const std::int64_t> kept, int n_jobs) const {
    const auto f = features();
    expect_slots(residuals.shape(1) / proxqn::kLanes);
    proxqn::Sweep found;
    {
      nb::gil_scoped_release release;
      index(n_jobs).scored = false;
      found = proxqn::sweep_single(f, index(n_jobs).byte_blocks, rank.shape(0),
                                   residuals.shape(1) / proxqn::kLanes, residuals.data(), threshold,
                                   pair_start ? pair_start->data() : nullptr,
                                   pair_labels ? pair_labels->data() : nullptr, rank.data(),
                                   {kept.data(), static_cast<std::int64_t>(kept.shape(0))}, n_jobs);
    }
    return to_numpy(std::move(found));
  }

  void gradient(Array<const std::int64_t> coordinates, Array<const double, 2> residuals,
                Array<double> out, int n_jobs) const {
    const auto f = features();
    expect(coordinates.shape(0) == out.shape(0), "one output a coordinate expected");
    nb::gil_scoped_release release;
    proxqn::gradient(f, coordinates.data(), coordinates.shape(0), residuals.shape(0),
                     residuals.shape(1), residuals.data(), n_jobs, out.data());
  }

  SweepResult sweep(
      Array<const double, 2> residuals, double threshold,
      std::optional<Array<const std::int64_t>> pair_start,
      std::optional<Array<const std::int32_t>> pair_labels, int n_jobs) const {
    const auto f = features();
    expect_slots(residuals.shape(1));
    proxqn::Sweep found;
    {
      nb::gil_scoped_release release;
      if (!pair_start && residuals.shape(0) > 2 * proxqn::kTileLabels)
        found = proxqn::tile_sweep(f, residuals.shape(0), residuals.shape(1), residuals.data(),
                                   threshold, n_jobs);
      else
        found = proxqn::sweep(f, residuals.shape(0), residuals.shape(1), residuals.data(),
                              threshold, pair_start ? pair_start->data() : nullptr,
                              pair_labels ? pair_labels->data() : nullptr, n_jobs);
    }
    return to_numpy(std::move(found));
  }

  std::tuple<Array<std::int64_t>, Array<std::int32_t>, Array<std::int64_t>, Array<double>>
  restrict_slots(Array<const std::int32_t> slot_map, int n_jobs) const {
    const auto f = features();
    proxqn::Restricted found;
    {
      nb::gil_scoped_release release;
      found = proxqn::restrict_slots(f, slot_map.data(), slot_map.shape(0), n_jobs);
    }
    const std::int64_t n = found.start.back();
    return {to_numpy(std::move(found.start)), to_numpy(std::move(found.slots), n),
            to_numpy(std::move(found.value_start)), to_numpy(std::move(found.values), found.n_values)};
  }

  // tokens: slot, run, first, second; edges: run, first, second, as in Draws
  using Tokens = std::tuple<Array<const std::int32_t>, Array<const std::int32_t>,
                            Array<const std::int32_t>, Array<const std::int32_t>>;
  using Edges = std::tuple<Array<const std::int32_t>, Array<const std::int32_t>,
                           Array<const std::int32_t>>;
  ColumnsResult drawn_columns(Array<const std::int64_t> coordinates,
                              Array<const std::int64_t> label_pairs, std::int64_t n_labels,
                              std::int64_t n_slots, const Tokens& tokens, const Edges& edges,
                              Array<const float> scale, int n_jobs) const {
    const auto f = features();
    const auto& [slot, run, first, second] = tokens;
    const auto& [edge_run, edge_first, edge_second] = edges;
    expect(run.shape(0) == slot.shape(0) && first.shape(0) == slot.shape(0) &&
               second.shape(0) == slot.shape(0),
           "a run and two labels a token expected");
    expect(edge_first.shape(0) == edge_run.shape(0) && edge_second.shape(0) == edge_run.shape(0),
           "two label pairs an edge expected");
    const std::int64_t n_tokens = slot.shape(0), n_pairs = label_pairs.shape(0);
    const proxqn::RunEdges at_edges{edge_run.data(), edge_first.data(), edge_second.data(),
                                    static_cast<std::int64_t>(edge_run.shape(0))};
    const std::int32_t *slots = slot.data(), *runs = run.data(), *one = first.data(),
                       *other = second.data();
    proxqn::DrawnColumns J;
    {
      nb::gil_scoped_release release;
      proxqn::RunTokens by_slot;
      proxqn::Columns pairs;
      proxqn::parallel_for(2, n_jobs, [&](std::int64_t task) {
        if (task == 0)
          by_slot = proxqn::sort_by_slot(n_slots, n_tokens, slots, runs, one, other, scale.data());
        else
          pairs = proxqn::pair_columns(label_pairs.data(), n_pairs, n_labels * n_labels, at_edges,
                                       scale.data());
      });
      J = proxqn::drawn_columns(f, coordinates.data(), coordinates.shape(0), n_labels, by_slot, pairs,
                                n_jobs);
    }
    const auto n = static_cast<std::size_t>(J.start.back());
    return {to_numpy(std::move(J.start)), to_numpy(std::move(J.row), n),
            to_numpy(std::move(J.value), n)};
  }

  std::tuple<Array<std::int64_t>, Array<std::int32_t>> observed_pairs(
      Array<const std::int32_t> labels, std::int64_t n_labels) const {
    const auto f = features();
    std::vector<std::int64_t> start(f.n_columns + 1);
    std::vector<std::int32_t> pairs;
    {
      nb::gil_scoped_release release;
      proxqn::observed_pairs(f, labels.data(), n_labels, start.data(), nullptr);
      pairs.resize(std::max<std::int64_t>(start.back(), 1));  // data() must not be null
      proxqn::observed_pairs(f, labels.data(), n_labels, start.data(), pairs.data());
      pairs.resize(start.back());
    }
    return {to_numpy(std::move(start)), to_numpy(std::move(pairs))};
  }

  proxqn::Features features() const {
    proxqn::TokenLists lists;
    if (lists_) {
      const auto& [start, places, columns, slot_list] = *lists_;
      lists = {start.data(), places.data(), static_cast<std::int64_t>(columns.shape(0)),
               columns.data(), slot_list ? slot_list->data() : nullptr};
    }
    return {static_cast<std::int64_t>(value_start_.shape(0)), start_.data(), slots_.data(),
            value_start_.data(), values_.data(), lists};
  }

 private:
  void expect_slots(std::size_t n) const {
    if (!lists_) return;
    const auto& slot_list = std::get<3>(*lists_);
    expect((slot_list ? slot_list->shape(0) : std::get<0>(*lists_).shape(0) - 1) == n,
           "one list a slot expected");
  }
  // For products with floats, made by the first of them.
  proxqn::Index& index(int n_jobs) const {
    std::call_once(indexed_, [&] { index_ = std::make_unique<proxqn::Index>(features(), n_jobs); });
    return *index_;
  }
  Array<const std::int64_t> start_;
  Array<const std::int32_t> slots_;
  Array<const std::int64_t> value_start_;
  Array<const double> values_;
  std::optional<Lists> lists_;
  mutable std::once_flag indexed_;
  mutable std::unique_ptr<proxqn::Index> index_;
};

template <class S>
class ChainKernel {
 public:
  ChainKernel(Array<const std::int64_t> first, Array<const std::int32_t> width,
              Array<const std::int32_t> length, Array<const std::int32_t, 2> lane_length,
              Array<const std::int32_t, 2> lane_sequence, Array<const std::int64_t> chunk,
              std::optional<Array<const std::int32_t>> labels,
              std::optional<Array<const double>> weights, Array<S, 2> scores)
      : first_(first), width_(width), length_(length), lane_length_(lane_length),
        lane_sequence_(lane_sequence), chunk_(chunk), labels_(labels), weights_(weights),
        scores_(scores), log_domain_(first.shape(0), 0), scale_(new S[kRows ? 0 : stride()]) {
    expect(!labels || static_cast<std::int64_t>(labels->shape(0)) == stride(),
           "one label a slot expected");
    expect(lane_length.shape(0) == first.shape(0) && lane_length.shape(1) == proxqn::kLanes,
           "lane_length must have shape (n_batches, 8)");
  }

  bool forward(Array<S, 2> alpha, Array<const double, 2> transitions, Array<double> losses,
               int n_jobs) {
    const auto c = chain(alpha, transitions);
    double* out = losses.data();
    nb::gil_scoped_release release;
    return proxqn::forward(c, n_jobs, out);
  }

  void backward(Array<S, 2> alpha, Array<const double, 2> transitions, Array<double, 2> pairs,
                int n_jobs) {
    const auto c = chain(alpha, transitions);
    double* out = pairs.data();
    nb::gil_scoped_release release;
    proxqn::backward(c, n_jobs, out);
  }

  // Scores, forward and backward at once; the array of scores is not touched.
  void evaluate(const FeatureKernel& data, Array<const std::int64_t> coordinates,
                Array<const double> weights, Array<double, 2> alpha,
                Array<const double, 2> transitions, Array<double> losses, Array<double, 2> pairs,
                int n_jobs)
    requires std::is_same_v<S, double>
  {
    const auto c = chain(alpha, transitions);
    const auto f = data.features();
    expect(coordinates.shape(0) == weights.shape(0), "one weight a coordinate expected");
    nb::gil_scoped_release release;
    const std::int64_t L = c.n_labels;
    const proxqn::ByLabel by(f, coordinates.data(), coordinates.shape(0), L);
    auto put = [&](std::int64_t begin, std::int64_t end, double* scores) {
      proxqn::window_scores(f, by, coordinates.data(), weights.data(), L, begin, end, c.stride, scores);
    };
    proxqn::evaluate(c, n_jobs, put, losses.data(), pairs.data());
  }

  DrawsResult draw(Array<const double, 2> transitions, std::int64_t n_pairs, double share,
                   std::uint64_t seed, int n_jobs) {
    const auto c = chain(scores_, transitions);
    proxqn::Draws draws;
    {
      nb::gil_scoped_release release;
      draws = proxqn::draw(c, {n_pairs, share, seed}, n_jobs);
    }
    return to_numpy(std::move(draws));
  }

  void viterbi(Array<const double, 2> transitions, Array<std::int32_t> path, int n_jobs)
    requires std::is_same_v<S, double>
  {
    const auto c = chain(scores_, transitions);
    std::int32_t* out = path.data();
    nb::gil_scoped_release release;
    proxqn::viterbi(c, n_jobs, out);
  }

 private:
  proxqn::ChainOf<S> chain(const Array<S, 2>& alpha, const Array<const double, 2>& transitions) {
    const auto L = static_cast<std::int64_t>(transitions.shape(0));
    expect(alpha.shape(0) == scores_.shape(0) && alpha.shape(1) == scores_.shape(1),
           "alpha must have the shape of scores");
    expect(static_cast<std::int64_t>(transitions.shape(1)) == L &&
               static_cast<std::int64_t>(scores_.shape(0)) ==
                   (kRows ? proxqn::padded(L) / proxqn::kLanes : L),
           "transitions must have shape (n_labels, n_labels)");
    return {L,
            stride(),
            static_cast<std::int64_t>(first_.shape(0)),
            static_cast<std::int64_t>(chunk_.shape(0)) - 1,
            first_.data(),
            width_.data(),
            length_.data(),
            lane_length_.data(),
            lane_sequence_.data(),
            chunk_.data(),
            labels_ ? labels_->data() : nullptr,
            weights_ ? weights_->data() : nullptr,
            scores_.data(),
            alpha.data(),
            scale_.get(),
            log_domain_.data(),
            transitions.data()};
  }

  Array<const std::int64_t> first_;
  Array<const std::int32_t> width_, length_;
  Array<const std::int32_t, 2> lane_length_, lane_sequence_;
  Array<const std::int64_t> chunk_;
  std::optional<Array<const std::int32_t>> labels_;
  std::optional<Array<const double>> weights_;
  static constexpr bool kRows = proxqn::ChainOf<S>::kRows;
  std::int64_t stride() const {
    return static_cast<std::int64_t>(scores_.shape(1)) / (kRows ? proxqn::kLanes : 1);
  }
  Array<S, 2> scores_;
  std::vector<std::uint8_t> log_domain_;
  std::unique_ptr<S[]> scale_;
};

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
    scores_.chunks.resize(proxqn::n_chunks(leaves.shape(0)));
    scores_.level.assign(depth.data(), depth.data() + depth.shape(0));
  }

  void move(Array<const std::int64_t> coordinates, Array<const double> w, Array<const double> d,
            int n_jobs) {
    expect(w.shape(0) == coordinates.shape(0) && d.shape(0) == coordinates.shape(0),
           "one weight and one step a coordinate expected");
    nb::gil_scoped_release release;
    proxqn::move_tree(tree(), samples(), n_columns_, coordinates.data(), w.data(), d.data(),
                      coordinates.shape(0), n_jobs, scores_);
  }

  void forward(double step, Array<double> losses, int n_jobs) const {
    expect(losses.shape(0) == leaves_.shape(0), "one loss a sample expected");
    nb::gil_scoped_release release;
    proxqn::forward_tree(tree(), samples(), scores_, step, n_jobs, losses.data());
  }

  void backward(double step, Array<double, 2> residuals, int n_jobs) {
    expect(residuals.shape(0) == parent_.shape(0) && residuals.shape(1) >= leaves_.shape(0) &&
               residuals.shape(1) % proxqn::kLanes == 0,
           "residuals must have shape (n_nodes, n_samples up to a multiple of 8)");
    nb::gil_scoped_release release;
    proxqn::backward_tree(tree(), samples(), scores_, step, residuals.shape(1), n_jobs,
                          residuals.data());
  }

 private:
  proxqn::Tree tree() const {
    return {static_cast<std::int64_t>(parent_.shape(0)),
            static_cast<std::int64_t>(leaf_nodes_.shape(0)), parent_.data(), leaf_start_.data(),
            leaf_stop_.data(), leaf_nodes_.data()};
  }
  proxqn::Samples samples() const {
    return {static_cast<std::int64_t>(leaves_.shape(0)), start_.data(), columns_.data(),
            values_.data(), leaves_.data(), weights_ ? weights_->data() : nullptr};
  }
  Array<const std::int32_t> parent_, leaf_start_, leaf_stop_, leaf_nodes_;
  Array<const std::int64_t> start_;
  Array<const std::int32_t> columns_;
  Array<const double> values_;
  Array<const std::int32_t> leaves_;
  std::optional<Array<const double>> weights_;
  std::int64_t n_columns_;
  proxqn::NodeScores scores_;
};

template <class Index>
static void transpose(Array<const Index> indptr, Array<const std::int32_t> entry_column,
                      Array<const std::int64_t> row_order, Array<const std::int32_t> row_slot,
                      Array<const std::int64_t> start, Array<std::int32_t> slots,
                      std::optional<Array<Index>> entry,
                      std::optional<Array<const std::int32_t>> place,
                      Array<std::int64_t> list_start, Array<std::uint16_t> lists) {
  nb::gil_scoped_release release;
  proxqn::transpose<Index>(indptr.data(), entry_column.data(), row_order.data(), row_slot.data(),
                           row_order.shape(0), start.data(), start.shape(0) - 1, slots.data(),
                           entry ? entry->data() : nullptr, place ? place->data() : nullptr,
                           list_start.shape(0) - 1, list_start.data(), lists.data());
}

template <class Rows>
static std::int64_t row_width(const Rows& rows, std::int64_t m) {
  const auto width = static_cast<std::int64_t>(rows.shape(1));
  expect(width >= 2 * m && width % proxqn::kRowTile == 0,
         "rows must have room for 2 m numbers, a multiple of 16");
  return width;
}

static void inner_products(Array<const double, 2> A, Array<const double, 2> B, Array<double, 2> out,
                           int n_jobs) {
  expect(A.shape(1) == B.shape(1) && out.shape(0) == A.shape(0) && out.shape(1) == B.shape(0),
         "A and B must have as many columns, out a row for each of A's and a column for each of B's");
  nb::gil_scoped_release release;
  proxqn::inner_products(A.data(), A.shape(0), B.data(), B.shape(0), A.shape(1), n_jobs, out.data());
}

template <class R>
static bool memory_rows(Array<const double, 2> S, Array<const double, 2> Y, Array<const double> D,
                        Array<const double, 2> SS, Array<const double, 2> SY, double gamma,
                        Array<R, 2> rows, Array<double> diagonal, int n_jobs) {
  const auto m = static_cast<std::int64_t>(S.shape(0)), n = static_cast<std::int64_t>(S.shape(1));
  const auto width = row_width(rows, m);
  nb::gil_scoped_release release;
  const proxqn::SmallFactors small(SS.data(), SY.data(), m, gamma);
  if (!small.ok) return false;
  proxqn::memory_rows(S.data(), Y.data(), D.data(), m, n, gamma, small, width, n_jobs, rows.data(),
                      diagonal.data());
  return true;
}

template <class R>
static bool extend_rows(Array<const double> s, Array<const double> y, Array<const double> base,
                        std::int64_t m, Array<R, 2> rows, Array<double> diagonal) {
  const auto width = row_width(rows, m + 1);
  nb::gil_scoped_release release;
  return proxqn::extend_rows(s.data(), y.data(), base.data(), m, s.shape(0), width, rows.data(),
                             diagonal.data());
}

template <class R>
static double coordinate_descent(Array<const double> w, Array<const double> g,
                                 Array<const R, 2> rows, std::int64_t m, Array<const double> base,
                                 Array<const double> diagonal, double lam, double l2, std::int64_t max_passes,
                                 double tolerance, std::uint64_t seed, Array<double> d) {
  const proxqn::Subproblem<R> p{w.data(), g.data(), rows.data(), base.data(), diagonal.data(), lam, l2,
                                static_cast<std::int64_t>(w.shape(0)), row_width(rows, m),
                                proxqn::used(m)};
  nb::gil_scoped_release release;
  return proxqn::coordinate_descent(p, max_passes, tolerance, seed, d.data());
}

PROXQN_CLONES static void exp_all(const double* x, std::int64_t n, double* out) {
  for (std::int64_t i = 0; i < n; i += proxqn::kLanes)
    proxqn::store8(out + i, proxqn::exp8(proxqn::load8(x + i)));
}

template <class S>
static nb::class_<ChainKernel<S>> bind_chain(nb::module_& m, const char* name) {
  using Kernel = ChainKernel<S>;
  using Int32s = Array<const std::int32_t>;
  using Pairs = Array<const std::int32_t, 2>;
  return nb::class_<Kernel>(m, name)
      .def(nb::init<Array<const std::int64_t>, Int32s, Int32s, Pairs, Pairs,
                    Array<const std::int64_t>, std::optional<Int32s>,
                    std::optional<Array<const double>>, Array<S, 2>>(),
           "first"_a, "width"_a, "length"_a, "lane_length"_a, "lane_sequence"_a, "chunk"_a,
           "labels"_a.none(), "weights"_a.none(), "scores"_a.noconvert())
      .def("forward", &Kernel::forward, "alpha"_a.noconvert(), "transitions"_a,
           "losses"_a.noconvert(), "n_jobs"_a)
      .def("backward", &Kernel::backward, "alpha"_a.noconvert(), "transitions"_a,
           "pairs"_a.noconvert(), "n_jobs"_a)
      .def("draw", &Kernel::draw, "transitions"_a, "n_pairs"_a, "share"_a, "seed"_a, "n_jobs"_a);
}

#include "lattice_bindings.hpp"  // these need Array and expect
#include "rivals_bindings.hpp"

template <class R>
static void bind_inner(nb::module_& m) {
  m.def("memory_rows", &memory_rows<R>, "S"_a, "Y"_a, "D"_a, "SS"_a, "SY"_a, "gamma"_a,
        "rows"_a.noconvert(), "diagonal"_a.noconvert(), "n_jobs"_a,
        "Rows of P and C and the diagonal of B = gamma D + P P' - C C'; false where B breaks down.");
  m.def("extend_rows", &extend_rows<R>, "s"_a, "y"_a, "base"_a, "m"_a, "rows"_a.noconvert(),
        "diagonal"_a.noconvert(), "Add a pair to the rows of m pairs; false where it would break B.");
  m.def("coordinate_descent", &coordinate_descent<R>, "w"_a, "g"_a, "rows"_a.noconvert(), "m"_a,
        "base"_a, "diagonal"_a, "lam"_a, "l2"_a, "max_passes"_a, "tolerance"_a, "seed"_a, "d"_a.noconvert(),
        "Minimise the quadratic model from d = 0 and write d; returns the passes made.");
}

void bind_tagging(nb::module_& m);  // tagging_bindings.cpp
void bind_names(nb::module_& m);    // names_bindings.cpp

NB_MODULE(_kernels, m) {
  nb::set_leak_warnings(false);  // oracles that a test or a notebook still holds at exit are no leak
  m.doc() = "Compiled kernels of proxqn; see the headers in cpp/ for the formulas.";

  bind_chain<double>(m, "Chain")
      .def("evaluate", &ChainKernel<double>::evaluate, "features"_a, "coordinates"_a, "weights"_a,
           "alpha"_a.noconvert(), "transitions"_a, "losses"_a.noconvert(), "pairs"_a.noconvert(),
           "n_jobs"_a)
      .def("viterbi", &ChainKernel<double>::viterbi, "transitions"_a, "path"_a.noconvert(),
           "n_jobs"_a);
  bind_chain<float>(m, "SingleChain");

  nb::class_<FeatureKernel>(m, "Features")
      .def(nb::init<Array<const std::int64_t>, Array<const std::int32_t>,
                    Array<const std::int64_t>, Array<const double>,
                    std::optional<FeatureKernel::Lists>>(),
           "start"_a, "slots"_a, "value_start"_a, "values"_a, "lists"_a = nb::none())
      .def("scores", &FeatureKernel::scores, "coordinates"_a, "weights"_a, "out"_a.noconvert(),
           "dirty"_a.noconvert(), "n_jobs"_a)
      .def("gradient", &FeatureKernel::gradient, "coordinates"_a, "residuals"_a.noconvert(),
           "out"_a.noconvert(), "n_jobs"_a)
      .def("sweep", &FeatureKernel::sweep, "residuals"_a.noconvert(), "threshold"_a,
           "pair_start"_a.none(), "pair_labels"_a.none(), "n_jobs"_a)
      .def("scores_single", &FeatureKernel::scores_single, "coordinates"_a, "weights"_a, "rank"_a,
           "out"_a.noconvert(), "n_jobs"_a)
      .def("gradient_single", &FeatureKernel::gradient_single, "coordinates"_a, "rank"_a,
           "residuals"_a.noconvert(), "out"_a.noconvert(), "n_jobs"_a)
      .def("sweep_single", &FeatureKernel::sweep_single, "rank"_a, "residuals"_a.noconvert(),
           "threshold"_a, "pair_start"_a.none(), "pair_labels"_a.none(), "kept"_a, "n_jobs"_a)
      .def("restrict_slots", &FeatureKernel::restrict_slots, "slot_map"_a, "n_jobs"_a)
      .def("drawn_columns", &FeatureKernel::drawn_columns, "coordinates"_a, "label_pairs"_a,
           "n_labels"_a, "n_slots"_a, "tokens"_a, "edges"_a, "scale"_a, "n_jobs"_a)
      .def("observed_pairs", &FeatureKernel::observed_pairs, "labels"_a, "n_labels"_a);

  using Int32s = Array<const std::int32_t>;
  nb::class_<TreeKernel>(m, "Tree")
      .def(nb::init<Int32s, Int32s, Int32s, Int32s, Int32s, Array<const std::int64_t>, Int32s,
                    Array<const double>, Int32s, std::optional<Array<const double>>,
                    std::int64_t>(),
           "parent"_a, "depth"_a, "leaf_start"_a, "leaf_stop"_a, "leaf_nodes"_a, "start"_a,
           "columns"_a, "values"_a, "leaves"_a, "weights"_a.none(), "n_columns"_a)
      .def("move", &TreeKernel::move, "coordinates"_a, "w"_a, "d"_a, "n_jobs"_a)
      .def("forward", &TreeKernel::forward, "step"_a, "losses"_a.noconvert(), "n_jobs"_a)
      .def("backward", &TreeKernel::backward, "step"_a, "residuals"_a.noconvert(), "n_jobs"_a);

  const char* transpose_doc = "CSR entries to columns, rows taken in the given order.";
  m.def("transpose", &transpose<std::int32_t>, "indptr"_a.noconvert(), "entry_column"_a,
        "row_order"_a, "row_slot"_a, "start"_a, "slots"_a.noconvert(),
        "entry"_a.noconvert().none(), "place"_a.none(), "list_start"_a.noconvert(),
        "lists"_a.noconvert(), transpose_doc);
  m.def("transpose", &transpose<std::int64_t>, "indptr"_a.noconvert(), "entry_column"_a,
        "row_order"_a, "row_slot"_a, "start"_a, "slots"_a.noconvert(),
        "entry"_a.noconvert().none(), "place"_a.none(), "list_start"_a.noconvert(),
        "lists"_a.noconvert(), transpose_doc);
  m.def(
      "add_sparse",
      [](Array<const std::int64_t> coordinates, Array<const double> values,
         Array<const std::int64_t> others, Array<const double> their_values, double step) {
        expect(coordinates.shape(0) == values.shape(0) && others.shape(0) == their_values.shape(0),
               "one value a coordinate expected");
        std::vector<std::int64_t> where;
        std::vector<double> sums;
        proxqn::add_sparse(
            {coordinates.data(), values.data(), static_cast<std::int64_t>(values.shape(0))},
            {others.data(), their_values.data(), static_cast<std::int64_t>(others.shape(0))}, step,
            where, sums);
        return std::make_tuple(to_numpy(std::move(where)), to_numpy(std::move(sums)));
      },
      "coordinates"_a, "values"_a, "others"_a, "their_values"_a, "step"_a,
      "The first sparse vector plus step times the second, without zeros.");
  m.def("inner_products", &inner_products, "A"_a, "B"_a, "out"_a.noconvert(), "n_jobs"_a,
        "Write A B' into out.");
  bind_inner<double>(m);
  bind_inner<float>(m);
  m.def(
      "exp",
      [](Array<const double> x, Array<double> out) {
        expect(x.shape(0) % proxqn::kLanes == 0 && out.shape(0) == x.shape(0),
               "a multiple of 8 values expected");
        exp_all(x.data(), x.shape(0), out.data());
      },
      "x"_a, "out"_a.noconvert(), "The vectorised exponential, for its test.");
  bind_sampled<double>(m, "SampledModel");
  bind_sampled<float>(m, "SingleSampledModel");
  bind_lattice(m);
  bind_rivals(m);
  bind_tagging(m);
  bind_names(m);
}
