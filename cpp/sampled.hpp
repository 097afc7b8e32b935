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

// y += the sum of z[k] rows[k].
template <class R>
PROXQN_INLINE void add_four(const R* const (&rows)[4], const R (&z)[4], std::int64_t n, R* y) {
  for (std::int64_t i = 0; i < n; ++i)
    y[i] += (z[0] * rows[0][i] + z[1] * rows[1][i]) + (z[2] * rows[2][i] + z[3] * rows[3][i]);
}
// Functions with clones cannot be templates.
PROXQN_CLONES inline void add_rows(const float* const (&rows)[4], const float (&z)[4],
                                   std::int64_t n, float* y) {
  add_four(rows, z, n, y);
}
PROXQN_CLONES inline void add_rows(const double* const (&rows)[4], const double (&z)[4],
                                   std::int64_t n, double* y) {
  add_four(rows, z, n, y);
}

// R is the type of all running sums: floats are half the traffic, and right to six digits or so.
template <class R>
class SampledModel {
 public:
  // budget: multiply-adds to write out the head's block, at most.
  SampledModel(Columns columns, std::int64_t n_rows, double ridge, double budget)
      : J_(std::move(columns)), n_(static_cast<std::int64_t>(J_.start.size()) - 1), n_rows_(n_rows),
        ridge_(ridge), diagonal_(n_, ridge) {
    for (std::int64_t j = 0; j < n_; ++j)
      for (std::int64_t e = J_.start[j]; e < J_.start[j + 1]; ++e)
        diagonal_[j] += J_.value[e] * J_.value[e];
    write_gram(choose_head(budget));
    const auto K = static_cast<std::int64_t>(head_.size());
    for (std::int64_t a = 0; a < K; ++a) diagonal_[head_[a]] = gram_[a * K + a];
    std::vector<R> r(n_rows_, R{});
    for (const std::int32_t j : tail_) {  // an entry may stand twice
      add_column(J_, j, R{1}, r.data());
      diagonal_[j] = ridge_ + dot_column(J_, j, r.data());
      for (std::int64_t e = J_.start[j]; e < J_.start[j + 1]; ++e) r[J_.row[e]] = R{};
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
        move_head(a, z, x);
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
    for (std::int64_t a = 0; a < K; ++a)
      add_rows({p.data(), c.data(), p.data(), c.data()}, {p[a], -c[a], R{}, R{}}, K,
               gram_.data() + a * K);
    ++m_;
    return true;
  }

  // Keep some coordinates, ascending.
  void keep(const std::int64_t* kept, std::int64_t count) {
    std::vector<std::int64_t> place(n_, -1);
    Columns J;
    J.start.assign(1, 0);
    std::vector<R> rows;
    std::vector<double> diagonal(count);
    rows.reserve(count * width_);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t j = kept[i];
      place[j] = i;
      J.row.insert(J.row.end(), J_.row.begin() + J_.start[j], J_.row.begin() + J_.start[j + 1]);
      J.value.insert(J.value.end(), J_.value.begin() + J_.start[j], J_.value.begin() + J_.start[j + 1]);
      J.start.push_back(static_cast<std::int64_t>(J.row.size()));
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
    J_ = std::move(J);
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
    std::vector<R> r, h;            // Jd, where the tail has entries, and [p_1'd, -c_1'd, ...]
    std::vector<R> r_seen, h_seen;  // when Bd was as it should be
    std::vector<R> Bd;              // [K] of the head, without g: rounded to floats, it would stay
    bool seen = true;               // whether the tail has not moved since
    explicit Products(const SampledModel& m)
        : r(m.n_rows_, R{}), h(m.width_, R{}), r_seen(r), h_seen(h), Bd(m.head_.size(), R{}) {}
  };

  static double dot_column(const Columns& J, std::int64_t j, const R* r) {
    R sums[4] = {};  // chains of additions
    std::int64_t e = J.start[j];
    for (; e + 4 <= J.start[j + 1]; e += 4)
      for (int k = 0; k < 4; ++k) sums[k] += J.value[e + k] * r[J.row[e + k]];
    for (; e < J.start[j + 1]; ++e) sums[0] += J.value[e] * r[J.row[e]];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
  static void add_column(const Columns& J, std::int64_t j, R z, R* r) {
    for (std::int64_t e = J.start[j]; e < J.start[j + 1]; ++e) r[J.row[e]] += z * J.value[e];
  }
  void move_tail(std::int64_t j, double z, Products& x) const {
    x.seen = false;
    add_column(J_, j, static_cast<R>(z), x.r.data());
    add_row(rows_.data() + j * width_, static_cast<R>(z), width_, x.h.data());
  }
  void move_head(std::int64_t a, double z, Products& x) const {
    add_column(shared_, a, static_cast<R>(z), x.r.data());
    add_row(rows_.data() + head_[a] * width_, static_cast<R>(z), width_, x.h.data());
  }
  double tail_product(std::int64_t j, double d, const Products& x) const {  // (Bd)_j
    return ridge_ * d + dot_column(J_, j, x.r.data()) +
           row_product(rows_.data() + j * width_, x.h.data(), width_);
  }
  // Tells the head how the tail has moved.
  void look(Products& x) const {
    if (x.seen) return;
    for (std::size_t i = 0; i < x.r.size(); ++i) x.r_seen[i] = x.r[i] - x.r_seen[i];
    for (std::size_t i = 0; i < x.h.size(); ++i) x.h_seen[i] = x.h[i] - x.h_seen[i];
    for (std::size_t a = 0; a < head_.size(); ++a)
      x.Bd[a] += static_cast<R>(
          dot_column(shared_, static_cast<std::int64_t>(a), x.r_seen.data()) +
          row_product(rows_.data() + head_[a] * width_, x.h_seen.data(), width_));
  }

  double visit_tail(const double* w, const double* g, const Penalty& penalty,
                    const std::vector<std::int32_t>& order, Products& x, double* d) const {
    double moved = 0.0;
    const auto count = static_cast<std::int64_t>(order.size());
    for (std::int64_t i = 0; i < count; ++i) {
      if (i + kNumbersAhead < count) {
        const std::int64_t later = order[i + kNumbersAhead];
        __builtin_prefetch(J_.start.data() + later);
        __builtin_prefetch(diagonal_.data() + later);
        __builtin_prefetch(g + later);
        __builtin_prefetch(w + later);
        __builtin_prefetch(d + later);
      }
      if (i + kRowsAhead < count) {
        const std::int64_t later = order[i + kRowsAhead];
        const std::int64_t end = std::min(J_.start[later + 1], J_.start[later] + kEntriesAhead);
        for (std::int64_t e = J_.start[later]; e < end; e += 16) {
          __builtin_prefetch(J_.row.data() + e);
          __builtin_prefetch(J_.value.data() + e);
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
      if (d[j] != before) move_head(a, d[j] - before, x);
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
  std::vector<std::int32_t> choose_head(double budget) {
    std::vector<std::int64_t> order(n_);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [this](std::int64_t a, std::int64_t b) {
      return diagonal_[a] != diagonal_[b] ? diagonal_[a] > diagonal_[b] : a < b;
    });
    std::vector<std::int32_t> entries(n_rows_, 0);
    double cost = 0.0;
    std::int64_t K = 0;
    for (; K < std::min(kHead, n_) && cost < budget; ++K)
      for (std::int64_t e = J_.start[order[K]]; e < J_.start[order[K] + 1]; ++e)
        cost += 2.0 * entries[J_.row[e]]++ + 1.0;
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
    std::vector<std::uint8_t> met(n_rows_, 0);
    for (const std::int32_t j : tail_)
      for (std::int64_t e = J_.start[j]; e < J_.start[j + 1]; ++e) met[J_.row[e]] = 1;
    std::int64_t n = 0;
    for (const std::int64_t j : head_) n += J_.start[j + 1] - J_.start[j];
    shared_ = {{0}, std::vector<std::int32_t>(n + 1), std::vector<float>(n + 1)};
    n = 0;
    for (const std::int64_t j : head_) {
      for (std::int64_t e = J_.start[j]; e < J_.start[j + 1]; ++e) {
        shared_.row[n] = J_.row[e];
        shared_.value[n] = J_.value[e];
        n += met[J_.row[e]];
      }
      shared_.start.push_back(n);
    }
  }

  // The head's block of rho I + J'J, row by row of J, in which it has so many entries.
  void write_gram(const std::vector<std::int32_t>& n_entries) {
    struct Entry {
      std::int32_t place;
      float value;
    };
    const auto K = static_cast<std::int64_t>(head_.size());
    std::vector<std::int64_t> end(n_rows_);  // of a row's entries, while they are filled in
    std::exclusive_scan(n_entries.begin(), n_entries.end(), end.begin(), std::int64_t{0});
    std::vector<Entry> entries(n_rows_ > 0 ? end.back() + n_entries.back() : 0);
    for (std::int64_t a = 0; a < K; ++a)
      for (std::int64_t e = J_.start[head_[a]]; e < J_.start[head_[a] + 1]; ++e)
        entries[end[J_.row[e]]++] = {static_cast<std::int32_t>(a), J_.value[e]};
    gram_.assign(K * K, R{});
    const Entry* e = entries.data();
    for (std::int64_t i = 0; i < n_rows_; ++i)  // places ascend: the upper triangle
      for (const Entry* last = entries.data() + end[i]; e < last; ++e) {
        const R value = e->value;
        R* row = gram_.data() + e->place * K;
        const Entry* f = e + 1;
        row[e->place] += value * value;
        for (; f < last && f->place == e->place; ++f)  // an entry may stand twice
          row[e->place] += R{2} * value * f->value;
        for (; f < last; ++f) row[f->place] += value * f->value;
      }
    constexpr std::int64_t tile = 16;  // rows are 4096 bytes apart, and a cache holds few such
    for (std::int64_t first = 0; first < K; first += tile)
      for (std::int64_t b = first; b < K; ++b)
        for (std::int64_t a = first; a < std::min(first + tile, b); ++a)
          gram_[b * K + a] = gram_[a * K + b];
    for (std::int64_t a = 0; a < K; ++a) gram_[a * K + a] += static_cast<R>(ridge_);
  }

  void widen_rows(std::int64_t width) {
    std::vector<R> rows(n_ * width, R{});
    for (std::int64_t j = 0; j < n_; ++j)
      std::copy(rows_.begin() + j * width_, rows_.begin() + (j + 1) * width_, rows.begin() + j * width);
    rows_ = std::move(rows);
    width_ = width;
  }

  Columns J_;
  std::int64_t n_, n_rows_;
  double ridge_;
  std::vector<double> diagonal_;
  std::vector<R> rows_;            // [n][width] p_1, c_1, p_2, c_2, ..., zeros
  std::int64_t m_ = 0, width_ = 0;
  std::vector<std::int64_t> head_;
  std::vector<std::int32_t> tail_;
  Columns shared_;                 // [K] J's columns of the head, where the tail has entries, too
  std::vector<R> gram_;            // [K][K] B on the head
};

}  // namespace proxqn
