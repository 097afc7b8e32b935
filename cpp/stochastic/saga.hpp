// Proximal SAGA on sparse data (Defazio, Bach and Lacoste-Julien 2014; Pedregosa, Leblond and
// Lacoste-Julien 2017), block by block.
//
// f = sum_B l_B + Omega. Of each block the gradient at its last visit is remembered, as residuals; a is the
// sum of what is remembered. A visit takes g = grad l_B(w) - remembered, and for each column c of the block,
// n_c the number of blocks that have it,
//     w_c <- prox_{s_c Omega_c / n_c} ( w_c - s_c (g_c + a_c / n_c) ),    a_c += g_c.
// Over a round of the blocks that is a proximal step on the whole of f, without the noise that would ask
// for falling rates. Only the columns of the block are touched.
//
// Steps s_c = rate_c / caution. The rate is that of the theory if l_B had the curvature that losses/stepping/
// step_rates.py states, up to a factor that depends on the model: the caution. It is found as in SAG-LS
// (Schmidt, Le Roux and Bach 2017): now and then a gradient step is tried on a block's loss alone; if that
// falls by less than such curvature promises, the caution rises, else it falls a little, down to 1: as rates
// are of the mean block, a third may fail.
//
// Threads share the samples of a block, then its columns: each writes its own, sums go in the order of
// samples, and the bits do not depend on their number.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/aligned_array.hpp"
#include "base/parallel.hpp"
#include "base/simd.hpp"
#include "stochastic/blocks.hpp"

namespace proxqn::stochastic {

constexpr std::int64_t kAhead =
    6;  // columns: their rows come from the second-level cache or further

PROXQN_INLINE void prefetch_row(const double* row, std::int64_t n) {
  for (std::int64_t y = 0; y < n && y < 64; y += 8) __builtin_prefetch(row + y);
}

PROXQN_INLINE double8 admitted_only(double8 v, std::uint8_t bits) {
  const long8 each = {1, 2, 4, 8, 16, 32, 64, 128};
  return (double8)((long8)v & (((long8{} + bits) & each) != 0));
}

PROXQN_INLINE double8 soft_threshold(double8 v, double8 t) {
  const double8 zero{};
  return max(v - t, zero) + min(v + t, zero);
}

// x = sum of value * w[c] over a row's columns: a register of labels at a time, up to four at once.
template <int Registers>
PROXQN_INLINE void score_labels(const BlockData& d, const Memory& m, std::int64_t row,
                                std::int64_t y, double* x) {
  double8 acc[Registers] = {};
  for (std::int64_t e = d.entry_start[row], last = d.entry_start[row + 1]; e < last; ++e) {
    if (y == 0 && e + kAhead < last) prefetch_row(m.w + d.columns[e + kAhead] * m.width, m.width);
    const double* w = m.w + d.columns[e] * m.width + y;
    const double v = d.value(e);
    for (int k = 0; k < Registers; ++k) acc[k] += v * load8(w + 8 * k);
  }
  for (int k = 0; k < Registers; ++k) store8(x + y + 8 * k, acc[k]);
}
PROXQN_INLINE void score_row(const BlockData& d, const Memory& m, std::int64_t row, double* x) {
  std::int64_t y = 0;
  for (; y + 32 <= m.width; y += 32) score_labels<4>(d, m, row, y, x);
  for (; y + 16 <= m.width; y += 16) score_labels<2>(d, m, row, y, x);
  for (; y < m.width; y += 8) score_labels<1>(d, m, row, y, x);
}

// The step on row c of the weights; g(y) is by what the gradient of eight of them has changed since the
// block's last visit.
template <class Change>
PROXQN_INLINE void step_row(Memory& m, std::int64_t c, double step, const Change& change) {
  const PenaltyRows& all = m.penalty;
  const double share = m.share[c], paid = step * share;
  const double8 one_for_all = fill8(1.0 / (1.0 + paid * all.l2[0]));
  for (std::int64_t y = 0; y < m.width; y += 8) {
    const std::int64_t at = c * m.width + y, of = c * all.stride + y;
    double8 g = change(y);
    if (m.admitted) g = admitted_only(g, m.admitted[at / 8]);
    const double8 a = load8(m.a + at), v = load8(m.w + at) - step * (g + share * a);
    const double8 shrink = all.stride ? 1.0 / (1.0 + paid * load8(all.l2 + of)) : one_for_all;
    const double8 free = soft_threshold(v, paid * load8(all.lam + of)) * shrink;
    store8(m.w + at, min(max(free, load8(all.lower + of)), load8(all.upper + of)));
    store8(m.a + at, a + g);
  }
}

// The sum of a block's rows where a column occurs.
PROXQN_INLINE double8 column_sum8(const BlockData& d, std::int64_t list, const double* rows,
                                  std::int64_t width) {
  double8 g{};
  for (std::int64_t e = d.list_entry[list]; e < d.list_entry[list + 1]; ++e)
    g += d.listed(e) * load8(rows + d.list_row[e] * width);
  return g;
}

struct Steps {
  const std::int64_t* order;  // of the blocks to visit
  std::int64_t n;
  std::int64_t test_every;  // visits
  double caution;
  int n_jobs;
};

// A part of a block's visit: on the samples, or the lists of columns, from first to last.
enum class Part { begin, infer, test, remember, move, move_own };
struct Job {
  Part part;
  std::int64_t block, first, last;
};

// A Model has the inference of one sample; `room` is the sample's own part of the working memory:
//   begin(w): the weights beyond the columns, in rows of the width
//   residuals(i, x, p, own, room): the loss from scores x; p = P - truth, own += the same of own weights
//   loss(i, x, room): the loss alone
//   room_size(rows, samples), and cost(): multiply-adds of a row
//
// Beside it there is a function `work(Saga<Model>&, data, memory, steps, job)`, compiled for several processors,
// which calls Saga::work_part: what threads call must not be compiled for another one than what the caller calls.
template <class Model>
class Saga {
 public:
  Saga(Model&& model, const BlockData& d) : model_(std::move(model)) {
    for (std::int64_t b = 0; b < d.n_blocks; ++b) {
      most_rows_ = std::max(most_rows_, d.n_rows(b));
      most_samples_ = std::max(most_samples_, d.block_start[b + 1] - d.block_start[b]);
    }
  }

  // Returns the sum of the losses met on the way; leaves the caution reached in `steps`.
  double visit_all(const BlockData& d, Memory& m, Steps& steps) {
    make_room(m);
    double total = 0.0;
    for (std::int64_t k = 0; k < steps.n; ++k) {
      const std::int64_t b = steps.order[k], first = d.block_start[b], last = d.block_start[b + 1];
      const std::int64_t lists = d.list_start[b], end = d.list_start[b + 1];
      const int n_jobs =
          jobs_for(static_cast<std::int64_t>(d.n_rows(b) * model_.cost()), steps.n_jobs);
      work(*this, d, m, steps, {Part::begin, b, first, last});
      share(d, m, steps, {Part::infer, b, first, last}, last - first, n_jobs);
      for (std::int64_t i = first; i < last; ++i) total += d.weight(i) * losses_[i - first];
      if (steps.test_every && k % steps.test_every == 0)
        steps.caution = work(*this, d, m, steps, {Part::test, b, first, last});
      share(d, m, steps, {Part::remember, b, first, last}, last - first, n_jobs);
      share(d, m, steps, {Part::move, b, lists, end},
            std::min<std::int64_t>(end - lists, 4 * n_jobs), n_jobs);
      work(*this, d, m, steps, {Part::move_own, b, first, last});
    }
    return total;
  }

  PROXQN_INLINE double work_part(const BlockData& d, Memory& m, const Steps& steps,
                                 const Job& job) {
    const std::int64_t b = job.block;
    if (job.part == Part::begin) model_.begin(m.w + d.n_columns * m.width, m.width);
    if (job.part == Part::infer)
      for (std::int64_t i = job.first; i < job.last; ++i) infer(d, m, b, i);
    if (job.part == Part::remember)
      for (std::int64_t i = job.first; i < job.last; ++i) remember(d, m, b, i);
    if (job.part == Part::move) move(d, m, job.first, job.last, 1.0 / steps.caution);
    if (job.part == Part::move_own) move_own(d, m, b, 1.0 / steps.caution);
    return job.part == Part::test ? tested(d, m, b, steps.caution) : 0.0;
  }

 private:
  void make_room(const Memory& m) {
    if (x_) return;
    x_ = scratch(most_rows_ * m.width), p_ = scratch(most_rows_ * m.width);
    room_ = scratch(model_.room_size(most_rows_, most_samples_));
    own_ = scratch(most_samples_ * m.n_own * m.width);
    losses_.assign(most_samples_, 0.0);
  }
  void share(const BlockData& d, Memory& m, const Steps& steps, const Job& whole, std::int64_t n,
             int n_jobs) {
    if (n_jobs <= 1) {
      work(*this, d, m, steps, whole);
      return;
    }
    const std::int64_t size = whole.last - whole.first;
    parallel_for(n, n_jobs, [&](std::int64_t k) {
      work(*this, d, m, steps,
           {whole.part, whole.block, whole.first + k * size / n, whole.first + (k + 1) * size / n});
    });
  }
  double* at_row(const BlockData& d, const Memory& m, std::int64_t b, std::int64_t i,
                 const Scratch& rows) const {
    return rows.get() + (d.row_start[i] - d.first_row(b)) * m.width;
  }
  double* room(const BlockData& d, std::int64_t b, std::int64_t i) const {
    return room_.get() + model_.room_size(d.row_start[i] - d.first_row(b), i - d.block_start[b]);
  }

  // Scores, loss and P - truth of a sample at the present weights.
  PROXQN_INLINE void infer(const BlockData& d, const Memory& m, std::int64_t b, std::int64_t i) {
    const std::int64_t k = i - d.block_start[b], size = m.n_own * m.width;
    double *x = at_row(d, m, b, i, x_), *own = own_.get() + k * size;
    for (std::int64_t r = d.row_start[i]; r < d.row_start[i + 1]; ++r)
      score_row(d, m, r, x + (r - d.row_start[i]) * m.width);
    std::fill(own, own + size, 0.0);
    losses_[k] = model_.residuals(i, x, at_row(d, m, b, i, p_), own, room(d, b, i));
  }

  // Try a gradient step on the block's loss alone, along the columns; return the caution it asks for.
  PROXQN_INLINE double tested(const BlockData& d, const Memory& m, std::int64_t b, double caution) {
    const std::int64_t first = d.block_start[b], last = d.block_start[b + 1];
    Scratch weighted = scratch(d.n_rows(b) * m.width);
    for (std::int64_t i = first; i < last; ++i) {
      const double *from = at_row(d, m, b, i, p_), factor = d.weight(i);
      double* to = at_row(d, m, b, i, weighted);
      for (std::int64_t k = 0; k < (d.row_start[i + 1] - d.row_start[i]) * m.width; k += 8)
        store8(to + k, factor * load8(from + k));
    }
    double promise = 0.0, now = 0.0, then = 0.0;
    for (std::int64_t list = d.list_start[b]; list < d.list_start[b + 1]; ++list) {
      const std::int64_t c = d.list_column[list];
      const double step = m.rate[c] * (3.0 - 2.0 * m.share[c]) / caution;
      for (std::int64_t y = 0; y < m.width; y += 8) {
        double8 g = column_sum8(d, list, weighted.get() + y, m.width);
        if (m.admitted) g = admitted_only(g, m.admitted[(c * m.width + y) / 8]);
        promise += 0.5 * step * sum(g * g);
        for (std::int64_t e = d.list_entry[list]; e < d.list_entry[list + 1]; ++e) {
          double* x = x_.get() + d.list_row[e] * m.width + y;
          store8(x, load8(x) - (step * d.listed(e)) * g);
        }
      }
    }
    for (std::int64_t i = first; i < last; ++i) {
      now += d.weight(i) * losses_[i - first];
      then += d.weight(i) * model_.loss(i, at_row(d, m, b, i, x_), room(d, b, i));
    }
    const bool kept = now - then >= promise - kRounding * std::abs(now);
    return kept ? std::max(1.0, caution * kRelief) : caution * kAlarm;
  }
  static constexpr double kAlarm = 1.1, kRelief = 0.95, kRounding = 1e-9;

  // Turn a sample's residuals into what they have changed since the last visit, and remember them.
  PROXQN_INLINE void remember(const BlockData& d, Memory& m, std::int64_t b, std::int64_t i) {
    differences(at_row(d, m, b, i, p_), m.residuals + d.row_start[i] * m.width,
                (d.row_start[i + 1] - d.row_start[i]) * m.width, d.weight(i));
  }
  // The sum of remembered floats stays exactly what their differences add up to.
  static PROXQN_INLINE void differences(double* now, float* before, std::int64_t n, double weight) {
    for (std::int64_t y = 0; y < n; y += 8) {
      const float8 rounded = __builtin_convertvector(weight * load8(now + y), float8);
      store8(now + y, widen(rounded) - load8(before + y));
      store_floats(before + y, rounded);
    }
  }

  PROXQN_INLINE void move(const BlockData& d, Memory& m, std::int64_t first, std::int64_t last,
                          double pace) {
    for (std::int64_t list = first; list < last; ++list) {
      const std::int64_t c = d.list_column[list];
      if (list + kAhead < last) prefetch_row(m.a + d.list_column[list + kAhead] * m.width, m.width);
      step_row(m, c, m.rate[c] * pace, [&](std::int64_t y) PROXQN_INLINED {
        return column_sum8(d, list, p_.get() + y, m.width);
      });
    }
  }

  // The same for weights that belong to no column: sums over the block's samples, in their order.
  PROXQN_INLINE void move_own(const BlockData& d, Memory& m, std::int64_t b, double pace) {
    const std::int64_t first = d.block_start[b], n = d.block_start[b + 1] - first;
    const std::int64_t size = m.n_own * m.width;
    double* own = own_.get();
    for (std::int64_t y = 0; y < size; y += 8) {
      double8 total{};
      for (std::int64_t k = 0; k < n; ++k) total += d.weight(first + k) * load8(own + k * size + y);
      store8(own + y, total);
    }
    differences(own, m.own + b * size, size, 1.0);
    for (std::int64_t k = 0; k < m.n_own; ++k) {
      const std::int64_t c = d.n_columns + k;
      step_row(m, c, m.rate[c] * pace,
               [&](std::int64_t y) PROXQN_INLINED { return load8(own + k * m.width + y); });
    }
  }

  Model model_;
  std::int64_t most_rows_ = 0, most_samples_ = 0;
  Scratch x_, p_, own_, room_;  // scores, P - truth, gradients of own weights by sample
  std::vector<double> losses_;
};

}  // namespace proxqn::stochastic
