// The inner problem with curvature drawn from the model (draws.hpp) and corrected by BFGS pairs:
//     B = rho I + J'J + P P' - C C',
// p and c as in subproblem.hpp, one of each a pair. J is sparse, by columns. Coordinate descent keeps
// r = Jd and h = [p_1'd, -c_1'd, ...], so that a coordinate costs the entries of its column.
//
// Frequent features make the problem ill-conditioned and own most entries. The K coordinates with the
// largest diagonal, the head, have their block of B written out: once their gradient is known a pass
// over them costs K^2 multiply-adds in order, and they are solved well before the tail is visited again.
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
constexpr std::int64_t kEntriesAhead = 64;  // asked for early, of a column

PROXQN_CLONES inline void add_multiple(const float* x, float a, std::int64_t n, float* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] += a * x[i];
}
PROXQN_CLONES inline void add_multiple(const double* x, double a, std::int64_t n, double* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] += a * x[i];
}

// R is the type of all running sums: floats are half the traffic, and right to six digits or so.
template <class R>
class SampledModel {
 public:
  // budget: multiply-adds to write out the head's block, at most.
  SampledModel(Columns columns, std::int64_t n_rows, double ridge, double budget)
      : J_(std::move(columns)), n_(static_cast<std::int64_t>(J_.start.size()) - 1), n_rows_(n_rows),
        ridge_(ridge), diagonal_(n_, ridge) {
    std::vector<R> r(n_rows_, R{});
    for (std::int64_t j = 0; j < n_; ++j) {  // an entry may stand twice
      add_column(j, R{1}, r.data());
      diagonal_[j] += dot_column(j, r.data());
      for (std::int64_t e = J_.start[j]; e < J_.start[j + 1]; ++e) r[J_.row[e]] = R{};
    }
    choose_head(budget);
    write_gram();
  }

  std::int64_t size() const { return n_; }
  const std::vector<double>& diagonal() const { return diagonal_; }

  // A pair: the BFGS update. False where s'y or s'Bs is not positive; then nothing changes.
  bool append(const double* s, const double* y) {
    std::vector<R> r(n_rows_, R{}), h(width_, R{});
    double sy = 0.0, sBs = 0.0;
    for (std::int64_t j = 0; j < n_; ++j) {
      sy += s[j] * y[j];
      if (s[j] != 0.0) add(j, s[j], r.data(), h.data());
    }
    std::vector<double> Bs(n_);
    for (std::int64_t j = 0; j < n_; ++j) sBs += s[j] * (Bs[j] = product(j, s[j], r.data(), h.data()));
    if (!(sy > 0.0 && sBs > 0.0)) return false;
    if (2 * (m_ + 1) > width_) widen_rows(width_ + kRowTile);
    write_pair(y, sy, Bs.data(), sBs, m_, n_, width_, rows_.data(), diagonal_.data());
    const auto K = static_cast<std::int64_t>(head_.size());
    std::vector<R> p(K), c(K);
    for (std::int64_t a = 0; a < K; ++a) {
      p[a] = rows_[head_[a] * width_ + 2 * m_];
      c[a] = rows_[head_[a] * width_ + 2 * m_ + 1];
    }
    for (std::int64_t a = 0; a < K; ++a) {
      add_multiple(p.data(), p[a], K, gram_.data() + a * K);
      add_multiple(c.data(), -c[a], K, gram_.data() + a * K);
    }
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
    std::vector<R> r(n_rows_, R{}), h(width_, R{});
    std::vector<std::int32_t> head(head_.size()), tail = tail_, free;
    std::iota(head.begin(), head.end(), 0);
    double spent = 0.0;
    while (spent < static_cast<double>(max_passes)) {
      shuffle(tail, random);
      const std::int64_t most = tail_.empty() ? max_passes * kHeadPasses : kHeadPasses;
      double moved = solve_head(w, g, penalty, tolerance, most, head, random, r.data(), h.data(), d);
      moved = std::max(moved, visit_tail(w, g, penalty, tail, r.data(), h.data(), d));
      spent += 1.0;
      if (moved <= tolerance || tail_.empty()) break;
      free.clear();
      for (const std::int32_t j : tail_)
        if (d[j] != 0.0 || w[j] != 0.0) free.push_back(j);
      const double price = static_cast<double>(free.size() + head.size()) / static_cast<double>(n_);
      while (spent < static_cast<double>(max_passes) && price < 1.0) {
        shuffle(free, random);
        moved = solve_head(w, g, penalty, tolerance, kHeadPasses, head, random, r.data(), h.data(), d);
        moved = std::max(moved, visit_tail(w, g, penalty, free, r.data(), h.data(), d));
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

  double dot_column(std::int64_t j, const R* r) const {
    R sums[4] = {};  // chains of additions
    std::int64_t e = J_.start[j];
    for (; e + 4 <= J_.start[j + 1]; e += 4)
      for (int k = 0; k < 4; ++k) sums[k] += J_.value[e + k] * r[J_.row[e + k]];
    for (; e < J_.start[j + 1]; ++e) sums[0] += J_.value[e] * r[J_.row[e]];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
  void add_column(std::int64_t j, R z, R* r) const {
    for (std::int64_t e = J_.start[j]; e < J_.start[j + 1]; ++e) r[J_.row[e]] += z * J_.value[e];
  }
  void add(std::int64_t j, double z, R* r, R* h) const {
    add_column(j, static_cast<R>(z), r);
    add_row(rows_.data() + j * width_, static_cast<R>(z), width_, h);
  }
  double product(std::int64_t j, double d, const R* r, const R* h) const {  // (Bd)_j
    return ridge_ * d + dot_column(j, r) + row_product(rows_.data() + j * width_, h, width_);
  }

  double visit_tail(const double* w, const double* g, const Penalty& penalty,
                    const std::vector<std::int32_t>& order, R* r, R* h, double* d) const {
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
      const double target = penalty.target(a, g[j] + product(j, d[j], r, h), c), z = target - c;
      if (z == 0.0) continue;
      d[j] = target - w[j];  // exact: a coordinate that returns to zero is zero, not rounding
      add(j, z, r, h);
      moved = std::max(moved, a * std::fabs(z));
    }
    return moved;
  }

  // Passes over the head until it has settled; returns how far the first one moved it.
  double solve_head(const double* w, const double* g, const Penalty& penalty, double tolerance,
                    std::int64_t max_passes, std::vector<std::int32_t>& order, SplitMix64& random,
                    R* r, R* h, double* d) const {
    const auto K = static_cast<std::int64_t>(head_.size());
    std::vector<R> Bd(K);  // without g, whose rounding to floats would stay when d is small
    std::vector<double> before(K);
    for (std::int64_t a = 0; a < K; ++a) {
      const std::int64_t j = head_[a];
      before[a] = d[j];
      Bd[a] = static_cast<R>(product(j, d[j], r, h));
    }
    double first = 0.0;
    for (std::int64_t pass = 0; pass < max_passes; ++pass) {
      shuffle(order, random);
      double moved = 0.0;
      for (const std::int64_t a : order) {
        const std::int64_t j = head_[a];
        const double curvature = diagonal_[j], c = w[j] + d[j];
        const double target = penalty.target(curvature, g[j] + Bd[a], c), z = target - c;
        if (z == 0.0) continue;
        d[j] = target - w[j];
        add_multiple(gram_.data() + a * K, static_cast<R>(z), K, Bd.data());
        moved = std::max(moved, curvature * std::fabs(z));
      }
      if (pass == 0) first = moved;
      if (moved <= 0.3 * tolerance) break;
    }
    for (std::int64_t a = 0; a < K; ++a)
      if (d[head_[a]] != before[a]) add(head_[a], d[head_[a]] - before[a], r, h);
    return first;
  }

  void choose_head(double budget) {
    std::vector<std::int64_t> order(n_);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [this](std::int64_t a, std::int64_t b) {
      return diagonal_[a] != diagonal_[b] ? diagonal_[a] > diagonal_[b] : a < b;
    });
    std::vector<double> entries(n_rows_, 0.0);
    double cost = 0.0;
    std::int64_t K = 0;
    for (; K < std::min(kHead, n_) && cost < budget; ++K)
      for (std::int64_t e = J_.start[order[K]]; e < J_.start[order[K] + 1]; ++e)
        cost += 2.0 * entries[J_.row[e]]++ + 1.0;
    head_.assign(order.begin(), order.begin() + K);
    std::sort(head_.begin(), head_.end());
    find_tail();
  }
  void find_tail() {
    std::vector<std::uint8_t> in_head(n_, 0);
    for (const std::int64_t j : head_) in_head[j] = 1;
    tail_.clear();
    for (std::int64_t j = 0; j < n_; ++j)
      if (!in_head[j]) tail_.push_back(static_cast<std::int32_t>(j));
  }

  // The head's block of rho I + J'J, row by row of J.
  void write_gram() {
    const auto K = static_cast<std::int64_t>(head_.size());
    std::vector<std::int64_t> start(n_rows_ + 1, 0);
    for (const std::int64_t j : head_)
      for (std::int64_t e = J_.start[j]; e < J_.start[j + 1]; ++e) ++start[J_.row[e] + 1];
    std::partial_sum(start.begin(), start.end(), start.begin());
    std::vector<std::int32_t> place(start.back());
    std::vector<R> value(start.back());
    std::vector<std::int64_t> end(start.begin(), start.end() - 1);
    for (std::int64_t a = 0; a < K; ++a)
      for (std::int64_t e = J_.start[head_[a]]; e < J_.start[head_[a] + 1]; ++e) {
        const std::int64_t at = end[J_.row[e]]++;
        place[at] = static_cast<std::int32_t>(a);
        value[at] = J_.value[e];
      }
    gram_.assign(K * K, R{});
    for (std::int64_t i = 0; i < n_rows_; ++i)  // places ascend: the upper triangle
      for (std::int64_t e = start[i]; e < start[i + 1]; ++e) {
        R* row = gram_.data() + place[e] * K;
        std::int64_t f = e + 1;
        row[place[e]] += value[e] * value[e];
        for (; f < start[i + 1] && place[f] == place[e]; ++f)  // an entry may stand twice
          row[place[e]] += R{2} * value[e] * value[f];
        for (; f < start[i + 1]; ++f) row[place[f]] += value[e] * value[f];
      }
    for (std::int64_t a = 0; a < K; ++a) {
      gram_[a * K + a] += static_cast<R>(ridge_);
      for (std::int64_t b = a + 1; b < K; ++b) gram_[b * K + a] = gram_[a * K + b];
    }
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
  std::vector<R> gram_;            // [K][K] B on the head
};

}  // namespace proxqn
