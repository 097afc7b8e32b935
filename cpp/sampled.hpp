// The inner problem with curvature drawn from the model (draws.hpp) and corrected by BFGS pairs:
//     B = rho I + J'J + P P' - C C',
// p and c as in subproblem.hpp, one of each a pair. J is sparse, by columns. Coordinate descent keeps
// r = Jd and h = [p_1'd, -c_1'd, ...], so that a coordinate costs the entries of its column.
//
// Frequent features make the problem ill-conditioned and own most entries. The K coordinates with the
// largest diagonal, the head, have their block of B written out: a pass over them costs K^2 multiply-adds
// in order, and they are solved well before the tail, the others, is visited again. What head and tail
// have to do with each other is in the rows of J that the tail has entries in; often few.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "draws.hpp"
#include "random.hpp"
#include "simd.hpp"
#include "subproblem.hpp"

namespace proxqn {

constexpr std::int64_t kHead = 512;
constexpr std::int64_t kHeadPasses = 20;
constexpr std::int64_t kHeadGroup = 8;  // coordinates
constexpr std::int64_t kEntriesAhead = 64;  // asked for early, of a column

// y += u p + v c.
template <class R>
PROXQN_INLINE void add_both(const R* p, R u, const R* c, R v, std::int64_t n, R* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] += u * p[i] + v * c[i];
}
// y += the sum of z[k] rows[k].
template <class R>
PROXQN_INLINE void add_four(const R* const (&rows)[4], const R (&z)[4], std::int64_t n, R* y) {
  for (std::int64_t i = 0; i < n; ++i)
    y[i] += (z[0] * rows[0][i] + z[1] * rows[1][i]) + (z[2] * rows[2][i] + z[3] * rows[3][i]);
}
// Functions with clones cannot be templates.
PROXQN_CLONES void add_rows(const float* const (&rows)[4], const float (&z)[4], std::int64_t n,
                            float* y) {
  add_four(rows, z, n, y);
}
PROXQN_CLONES void add_rows(const double* const (&rows)[4], const double (&z)[4],
                            std::int64_t n, double* y) {
  add_four(rows, z, n, y);
}

PROXQN_CLONES void add_two(const float* p, float u, const float* c, float v, std::int64_t n,
                           float* y) {
  add_both(p, u, c, v, n, y);
}
PROXQN_CLONES void add_two(const double* p, double u, const double* c, double v, std::int64_t n,
                           double* y) {
  add_both(p, u, c, v, n, y);
}

// R is the type of all running sums: floats are half the traffic, and right to six digits or so.
template <class R>
class SampledModel {
 public:
  // budget: multiply-adds to write out the head's block, at most.
  SampledModel(const ColumnsView& J, std::int64_t n_rows, double ridge, double budget, int n_jobs)
      : n_(J.n), ridge_(ridge), diagonal_(n_, ridge) {
    for (std::int64_t j = 0; j < n_; ++j)
      for (std::int64_t e = J.start[j]; e < J.start[j + 1]; ++e)
        diagonal_[j] += J.value[e] * J.value[e];
    take_in(J, choose_head(J, n_rows, budget), n_jobs);
    const auto K = static_cast<std::int64_t>(head_.size());
    for (std::int64_t a = 0; a < K; ++a) diagonal_[head_[a]] = gram_[a * K + a];
    std::vector<R> r(n_near_, R{});
    for (const std::int32_t j : tail_) {  // an entry may stand twice
      add_column(j, R{1}, r.data());
      diagonal_[j] = ridge_ + dot_column(j, r.data());
      for (std::int64_t e = near_.start[j]; e < near_.start[j + 1]; ++e) r[near_.row[e]] = R{};
    }
  }

  std::int64_t size() const { return n_; }
  const std::vector<double>& diagonal() const { return diagonal_; }

  // A pair: the BFGS update. False where s'y or s'Bs is not positive; then nothing changes.
  bool append(const double* s, const double* y) {
    Products x(*this);
    double sy = 0.0, sBs = 0.0;
    for (std::int64_t j = 0; j < n_; ++j) sy += s[j] * y[j];
    for (const std::int32_t j : tail_)
      if (s[j] != 0.0) move_tail(j, s[j], x);
    look(x);
    const auto K = static_cast<std::int64_t>(head_.size());
    std::vector<std::int32_t> places;
    std::vector<R> steps;
    for (std::int64_t a = 0; a < K; ++a)
      if (const double z = s[head_[a]]; z != 0.0) {
        places.push_back(static_cast<std::int32_t>(a));
        steps.push_back(static_cast<R>(z));
        move(head_[a], z, x);
      }
    add_block(places.data(), steps.data(), static_cast<std::int64_t>(places.size()), x.Bd.data());
    std::vector<double> Bs(n_);
    for (const std::int32_t j : tail_) Bs[j] = tail_product(j, s[j], x);
    for (std::int64_t a = 0; a < K; ++a) Bs[head_[a]] = x.Bd[a];
    for (std::int64_t j = 0; j < n_; ++j) sBs += s[j] * Bs[j];
    if (!(sy > 0.0 && sBs > 0.0)) return false;
    if (2 * (m_ + 1) > width_) widen_rows(width_ + kRowTile);
    write_pair(y, sy, Bs.data(), sBs, m_, n_, width_, rows_.data(), diagonal_.data());
    std::vector<R> p(K), c(K);
    for (std::int64_t a = 0; a < K; ++a) {
      p[a] = rows_[head_[a] * width_ + 2 * m_];
      c[a] = rows_[head_[a] * width_ + 2 * m_ + 1];
    }
    for (std::int64_t a = 0; a < K; ++a) add_two(p.data(), p[a], c.data(), -c[a], K, gram_.data() + a * K);
    ++m_;
    return true;
  }

  // Keep some coordinates, ascending.
  void keep(const std::int64_t* kept, std::int64_t count) {
    std::vector<std::int64_t> place(n_, -1);
    Columns near{{0}, {}, {}};
    std::vector<R> rows;
    std::vector<double> diagonal(count);
    rows.reserve(count * width_);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t j = kept[i], first = near_.start[j], last = near_.start[j + 1];
      place[j] = i;
      near.row.insert(near.row.end(), near_.row.begin() + first, near_.row.begin() + last);
      near.value.insert(near.value.end(), near_.value.begin() + first, near_.value.begin() + last);
      near.start.push_back(static_cast<std::int64_t>(near.row.size()));
      rows.insert(rows.end(), rows_.begin() + j * width_, rows_.begin() + (j + 1) * width_);
      diagonal[i] = diagonal_[j];
    }
    std::vector<std::int64_t> stay, head;
    for (std::size_t a = 0; a < head_.size(); ++a)
      if (place[head_[a]] >= 0) {
        stay.push_back(static_cast<std::int64_t>(a));
        head.push_back(place[head_[a]]);
      }
    std::vector<R> gram(stay.size() * stay.size());
    for (std::size_t a = 0; a < stay.size(); ++a)
      for (std::size_t b = 0; b < stay.size(); ++b)
        gram[a * stay.size() + b] = gram_[stay[a] * head_.size() + stay[b]];
    near_ = std::move(near);
    rows_ = std::move(rows);
    diagonal_ = std::move(diagonal);
    head_ = std::move(head);
    gram_ = std::move(gram);
    n_ = count;
    find_tail();
  }

  // min_d g'd + d'Bd/2 + lam |w + d|_1 + (l2/2)|w + d|^2 by coordinate descent: passes over the head
  // and the tail's coordinates that are off zero until they settle, then over all, until no coordinate's
  // gradient moves by more than the tolerance. Returns the passes made, as shares of all coordinates.
  double minimize(const double* w, const double* g, double lam, double l2, std::int64_t max_passes,
                  double tolerance, std::uint64_t seed, double* d) const {
    const Penalty penalty{lam, l2};
    SplitMix64 random{seed};
    Products x(*this);
    std::vector<std::int32_t> head(head_.size()), tail = tail_, free;
    std::iota(head.begin(), head.end(), 0);
    double spent = 0.0;
    while (spent < static_cast<double>(max_passes)) {
      shuffle(tail, random);
      const std::int64_t most = tail_.empty() ? max_passes * kHeadPasses : kHeadPasses;
      double moved = solve_head(w, g, penalty, tolerance, most, head, random, x, d);
      moved = std::max(moved, visit_tail(w, g, penalty, tail, x, d));
      spent += 1.0;
      if (moved <= tolerance || tail_.empty()) break;
      free.clear();
      for (const std::int32_t j : tail_)
        if (d[j] != 0.0 || w[j] != 0.0) free.push_back(j);
      const double price = static_cast<double>(free.size() + head.size()) / static_cast<double>(n_);
      while (spent < static_cast<double>(max_passes) && price < 1.0) {
        shuffle(free, random);
        moved = solve_head(w, g, penalty, tolerance, kHeadPasses, head, random, x, d);
        moved = std::max(moved, visit_tail(w, g, penalty, free, x, d));
        spent += price;
        if (moved <= 0.5 * tolerance) break;
      }
    }
    return spent;
  }

 private:
  struct Penalty {
    double lam, l2;
    // The best c + z for a one-dimensional model with curvature a and slope b at c.
    double target(double a, double b, double c) const {
      return soft_threshold(a * c - b, lam) / (a + l2);
    }
  };

  // Of the d reached so far.
  struct Products {
    std::vector<R> r, h;            // Jd on the near rows, and [p_1'd, -c_1'd, ...]
    std::vector<R> r_seen, h_seen;  // when Bd was as it should be
    std::vector<R> Bd;              // [K] of the head, without g: rounded to floats, it would stay
    bool seen = true;               // whether the tail has not moved since
    explicit Products(const SampledModel& m)
        : r(m.n_near_, R{}), h(m.width_, R{}), r_seen(r), h_seen(h), Bd(m.head_.size(), R{}) {}
  };

  double dot_column(std::int64_t j, const R* r) const {
    R sums[4] = {};  // chains of additions
    std::int64_t e = near_.start[j];
    for (; e + 4 <= near_.start[j + 1]; e += 4)
      for (int k = 0; k < 4; ++k) sums[k] += near_.value[e + k] * r[near_.row[e + k]];
    for (; e < near_.start[j + 1]; ++e) sums[0] += near_.value[e] * r[near_.row[e]];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
  void add_column(std::int64_t j, R z, R* r) const {
    for (std::int64_t e = near_.start[j]; e < near_.start[j + 1]; ++e)
      r[near_.row[e]] += z * near_.value[e];
  }
  void move(std::int64_t j, double z, Products& x) const {
    add_column(j, static_cast<R>(z), x.r.data());
    add_row(rows_.data() + j * width_, static_cast<R>(z), width_, x.h.data());
  }
  void move_tail(std::int64_t j, double z, Products& x) const {
    x.seen = false;
    move(j, z, x);
  }
  double tail_product(std::int64_t j, double d, const Products& x) const {  // (Bd)_j
    return ridge_ * d + dot_column(j, x.r.data()) +
           row_product(rows_.data() + j * width_, x.h.data(), width_);
  }
  // Tells the head how the tail has moved.
  void look(Products& x) const {
    if (x.seen) return;
    for (std::size_t i = 0; i < x.r.size(); ++i) x.r_seen[i] = x.r[i] - x.r_seen[i];
    for (std::size_t i = 0; i < x.h.size(); ++i) x.h_seen[i] = x.h[i] - x.h_seen[i];
    for (std::size_t a = 0; a < head_.size(); ++a)
      x.Bd[a] += static_cast<R>(
          dot_column(head_[a], x.r_seen.data()) +
          row_product(rows_.data() + head_[a] * width_, x.h_seen.data(), width_));
  }

  double visit_tail(const double* w, const double* g, const Penalty& penalty,
                    const std::vector<std::int32_t>& order, Products& x, double* d) const {
    double moved = 0.0;
    const auto count = static_cast<std::int64_t>(order.size());
    for (std::int64_t i = 0; i < count; ++i) {
      if (i + kNumbersAhead < count) {
        const std::int64_t later = order[i + kNumbersAhead];
        __builtin_prefetch(near_.start.data() + later);
        __builtin_prefetch(diagonal_.data() + later);
        __builtin_prefetch(g + later);
        __builtin_prefetch(w + later);
        __builtin_prefetch(d + later);
      }
      if (i + kRowsAhead < count) {
        const std::int64_t later = order[i + kRowsAhead];
        const std::int64_t first = near_.start[later];
        const std::int64_t end = std::min(near_.start[later + 1], first + kEntriesAhead);
        for (std::int64_t e = first; e < end; e += 16) {
          __builtin_prefetch(near_.row.data() + e);
          __builtin_prefetch(near_.value.data() + e);
        }
        __builtin_prefetch(rows_.data() + later * width_);
      }
      const std::int64_t j = order[i];
      const double a = diagonal_[j], c = w[j] + d[j];
      const double target = penalty.target(a, g[j] + tail_product(j, d[j], x), c), z = target - c;
      if (z == 0.0) continue;
      d[j] = target - w[j];  // exact: a coordinate that returns to zero is zero, not rounding
      move_tail(j, z, x);
      moved = std::max(moved, a * std::fabs(z));
    }
    return moved;
  }

  // Passes over the head until it has settled; returns how far the first one moved it.
  double solve_head(const double* w, const double* g, const Penalty& penalty, double tolerance,
                    std::int64_t max_passes, std::vector<std::int32_t>& order, SplitMix64& random,
                    Products& x, double* d) const {
    const auto K = static_cast<std::int64_t>(head_.size());
    std::vector<HeadVariable> head(K);
    for (std::int64_t a = 0; a < K; ++a) {
      const std::int64_t j = head_[a];
      head[a] = {g[j], w[j] + d[j], diagonal_[j], 1.0 / (diagonal_[j] + penalty.l2)};
    }
    look(x);
    double first = 0.0;
    for (std::int64_t pass = 0; pass < max_passes; ++pass) {
      shuffle(order, random);
      double moved = 0.0;
      for (std::int64_t i = 0; i < K; i += kHeadGroup)
        moved = std::max(moved, visit_group(order.data() + i, std::min(kHeadGroup, K - i),
                                            penalty.lam, head.data(), x.Bd.data()));
      if (pass == 0) first = moved;
      if (moved <= 0.3 * tolerance) break;
    }
    for (std::int64_t a = 0; a < K; ++a) {
      const std::int64_t j = head_[a];
      const double before = d[j];
      d[j] = head[a].target - w[j];  // exact: a coordinate that returns to zero is zero, not rounding
      if (d[j] != before) move(j, d[j] - before, x);
    }
    x.r_seen = x.r;
    x.h_seen = x.h;
    x.seen = true;
    return first;
  }

  struct HeadVariable {
    double g, target, curvature, inverse;
  };

  // Coordinates one after the other; what each changes is told at once to those of the group, and to
  // the whole head when all of them are done: Bd is written once for four of them.
  double visit_group(const std::int32_t* order, std::int64_t n, double lam, HeadVariable* head,
                     R* Bd) const {
    const auto K = static_cast<std::int64_t>(head_.size());
    std::int32_t places[kHeadGroup];
    R z[kHeadGroup], here[kHeadGroup] = {}, block[kHeadGroup][kHeadGroup] = {};
    for (std::int64_t i = 0; i < n; ++i) {
      here[i] = Bd[order[i]];
      for (std::int64_t k = 0; k < n; ++k) block[i][k] = gram_[order[i] * K + order[k]];
    }
    double moved = 0.0;
    std::int64_t n_moved = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      HeadVariable& x = head[order[i]];
      const double target =
          soft_threshold(x.curvature * x.target - (x.g + here[i]), lam) * x.inverse;
      const double step = target - x.target;
      x.target = target;
      moved = std::max(moved, x.curvature * std::fabs(step));
      for (std::int64_t k = 0; k < kHeadGroup; ++k) here[k] += static_cast<R>(step) * block[i][k];
      places[n_moved] = order[i];
      z[n_moved] = static_cast<R>(step);
      n_moved += step != 0.0;
    }
    add_block(places, z, n_moved, Bd);
    return moved;
  }

  // y += the sum of z times the head's rows of B at these places.
  void add_block(const std::int32_t* places, const R* z, std::int64_t n, R* y) const {
    const auto K = static_cast<std::int64_t>(head_.size());
    for (std::int64_t i = 0; i < n; i += 4) {
      const R* rows[4];
      R steps[4];
      for (std::int64_t k = 0; k < 4; ++k) {
        rows[k] = gram_.data() + places[i + k < n ? i + k : i] * K;
        steps[k] = i + k < n ? z[i + k] : R{};
      }
      add_rows(rows, steps, K, y);
    }
  }

  // Returns how many entries of the head are in each row.
  std::vector<std::int32_t> choose_head(const ColumnsView& J, std::int64_t n_rows, double budget) {
    std::vector<std::int64_t> order(n_);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [this](std::int64_t a, std::int64_t b) {
      return diagonal_[a] != diagonal_[b] ? diagonal_[a] > diagonal_[b] : a < b;
    });
    std::vector<std::int32_t> entries(n_rows, 0);
    double cost = 0.0;
    std::int64_t K = 0;
    for (; K < std::min(kHead, n_) && cost < budget; ++K)
      for (std::int64_t e = J.start[order[K]]; e < J.start[order[K] + 1]; ++e)
        cost += 2.0 * entries[J.row[e]]++ + 1.0;
    head_.assign(order.begin(), order.begin() + K);
    std::sort(head_.begin(), head_.end());
    find_tail();
    return entries;
  }
  void find_tail() {
    std::vector<std::uint8_t> in_head(n_, 0);
    for (const std::int64_t j : head_) in_head[j] = 1;
    tail_.clear();
    for (std::int64_t j = 0; j < n_; ++j)
      if (!in_head[j]) tail_.push_back(static_cast<std::int32_t>(j));
  }
  void take_near(const ColumnsView& J, std::int64_t n_rows) {
    std::vector<std::int32_t> number(n_rows, -1);  // among the near rows
    for (const std::int32_t j : tail_)
      for (std::int64_t e = J.start[j]; e < J.start[j + 1]; ++e)
        if (std::int32_t& own = number[J.row[e]]; own < 0) own = n_near_++;
    near_.start.assign(1, 0);
    near_.row.reserve(J.start[n_] + 1);  // of which little may ever be touched
    near_.value.reserve(J.start[n_] + 1);
    std::int64_t at = 0;
    for (std::int64_t j = 0; j < n_; ++j) {
      const std::int64_t most = at + J.start[j + 1] - J.start[j] + 1;  // and one to be overwritten
      near_.row.resize(most);
      near_.value.resize(most);
      for (std::int64_t e = J.start[j]; e < J.start[j + 1]; ++e) {
        near_.row[at] = number[J.row[e]];
        near_.value[at] = J.value[e];
        at += near_.row[at] >= 0;
      }
      near_.start.push_back(at);
    }
  }

  struct Entry {
    std::int32_t place;
    float value;
  };
  // The head's block of rho I + J'J, row by row of J, in which it has so many entries: the sum of two
  // halves of the rows. Beside it the near rows are taken.
  void take_in(const ColumnsView& J, const std::vector<std::int32_t>& n_entries, int n_jobs) {
    const auto K = static_cast<std::int64_t>(head_.size());
    const auto n_rows = static_cast<std::int32_t>(n_entries.size());
    std::vector<std::int64_t> end(n_rows + 1);  // of a row's entries, while they are filled in
    std::partial_sum(n_entries.begin(), n_entries.end(), end.begin() + 1);
    const std::int64_t n = end.back();
    const auto middle = static_cast<std::int32_t>(
        std::lower_bound(end.begin(), end.end() - 1, n / 2) - end.begin());
    const std::unique_ptr<Entry[]> entries(new Entry[n]);
    gram_.resize(K * K);
    std::vector<R> other(K * K);
    parallel_for(3, jobs_for(8 * n, n_jobs), [&](std::int64_t task) {
      if (task == 0) add_row_products(J, 0, middle, end.data(), entries.get(), gram_.data());
      if (task == 1) add_row_products(J, middle, n_rows, end.data(), entries.get(), other.data());
      if (task == 2) take_near(J, n_rows);
    });
    constexpr std::int64_t tile = 16;  // rows are 4096 bytes apart, and a cache holds few such
    for (std::int64_t first = 0; first < K; first += tile)
      for (std::int64_t b = first; b < K; ++b)
        for (std::int64_t a = first; a <= std::min(first + tile - 1, b); ++a)
          gram_[b * K + a] = gram_[a * K + b] += other[a * K + b];
    for (std::int64_t a = 0; a < K; ++a) gram_[a * K + a] += static_cast<R>(ridge_);
  }
  // The upper triangle of gram += the products of J's rows [first, last).
  void add_row_products(const ColumnsView& J, std::int32_t first, std::int32_t last, std::int64_t* end,
                        Entry* entries, R* gram) const {
    const auto K = static_cast<std::int64_t>(head_.size());
    const Entry* e = entries + end[first];
    for (std::int64_t a = 0; a < K; ++a)
      for (std::int64_t k = J.start[head_[a]]; k < J.start[head_[a] + 1]; ++k)
        if (const std::int32_t row = J.row[k]; first <= row && row < last)  // rows nearly ascend
          entries[end[row]++] = {static_cast<std::int32_t>(a), J.value[k]};
    for (std::int32_t i = first; i < last; ++i)  // places ascend
      for (const Entry* stop = entries + end[i]; e < stop; ++e) {
        const R value = e->value;
        R* row = gram + e->place * K;
        const Entry* f = e + 1;
        row[e->place] += value * value;
        for (; f < stop && f->place == e->place; ++f)  // an entry may stand twice
          row[e->place] += R{2} * value * f->value;
        for (; f < stop; ++f) row[f->place] += value * f->value;
      }
  }

  void widen_rows(std::int64_t width) {
    std::vector<R> rows(n_ * width, R{});
    for (std::int64_t j = 0; j < n_; ++j)
      std::copy(rows_.begin() + j * width_, rows_.begin() + (j + 1) * width_, rows.begin() + j * width);
    rows_ = std::move(rows);
    width_ = width;
  }

  std::int64_t n_;
  double ridge_;
  std::vector<double> diagonal_;
  std::vector<R> rows_;            // [n][width] p_1, c_1, p_2, c_2, ..., zeros
  std::int64_t m_ = 0, width_ = 0;
  std::vector<std::int64_t> head_;
  std::vector<std::int32_t> tail_;
  Columns near_;                   // J on the rows in which the tail has entries
  std::int32_t n_near_ = 0;
  std::vector<R> gram_;            // [K][K] B on the head
};

}  // namespace proxqn
