// The inner problem with curvature drawn from the model (draws.hpp) and corrected by BFGS pairs:
//     B = rho I + J'J + P P' - C C',
// p and c as in subproblem.hpp, one of each a pair. J is sparse, by columns. Coordinate descent keeps
// r = Jd and h = [p_1'd, -c_1'd, ...], so that a coordinate costs the entries of its column.
//
// Frequent features make the problem ill-conditioned and own most entries. The K coordinates with the
// largest diagonal, the head, have their block of B written out (head_block.hpp): a pass over them costs
// K^2 multiply-adds in order, and they are solved well before the tail, the others, is visited again. What
// head and tail have to do with each other is in the rows of J that the tail has entries in (near_rows.hpp).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "drawn_columns.hpp"
#include "head_block.hpp"
#include "near_rows.hpp"
#include "parallel.hpp"
#include "random.hpp"
#include "simd.hpp"
#include "subproblem.hpp"

namespace proxqn {

constexpr std::int64_t kHead = 512;
constexpr std::int64_t kHeadPasses = 20;
constexpr std::int64_t kEntriesAhead = 64;  // asked for early, of a column
constexpr std::int64_t kScattered = 8;      // multiply-adds: what an entry of J takes

// y += u p + v c.
template <class R>
PROXQN_INLINE void add_both(const R* p, R u, const R* c, R v, std::int64_t n, R* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] += u * p[i] + v * c[i];
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
      : n_(J.n), n_jobs_(n_jobs), ridge_(ridge), diagonal_(n_, ridge) {
    in_parts(n_, kScattered * J.start[n_], [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t j = first; j < last; ++j)
        for (std::int64_t e = J.start[j]; e < J.start[j + 1]; ++e)
          diagonal_[j] += J.value[e] * J.value[e];
    });
    take_in(J, choose_head(J, n_rows, budget));
    for (std::int64_t a = 0; a < head_.size(); ++a) diagonal_[heads_[a]] = head_.row(a)[a];
    in_parts(size(tail_), kScattered * J.start[n_], [&](std::int64_t first, std::int64_t last) {
      std::vector<R> r(near_.n, R{});
      for (std::int64_t i = first; i < last; ++i) {  // an entry may stand twice
        const std::int64_t j = tail_[i];
        scatter<R>(near_.begin(j), near_.end(j), R{1}, r.data());
        diagonal_[j] = ridge_ + gather<R>(near_.begin(j), near_.end(j), r.data());
        for (const auto* e = near_.begin(j); e < near_.end(j); ++e) r[e->at] = R{};
      }
    });
  }

  std::int64_t size() const { return n_; }
  const std::vector<double>& diagonal() const { return diagonal_; }

  // Pairs [count][n], the oldest first: BFGS updates. One of which s'y or s'Bs is not positive is left
  // out. Returns how many are taken in.
  std::int64_t append(const double* S, const double* Y, std::int64_t count) {
    const std::int64_t before = m_;
    const std::vector<double> BS = products(S, count);  // of B before
    for (std::int64_t i = 0; i < count; ++i) {
      const double *s = S + i * n_, *y = Y + i * n_;
      std::vector<double> Bs(BS.data() + i * n_, BS.data() + (i + 1) * n_);
      add_products_since(before, s, Bs.data());
      double sy = 0.0, sBs = 0.0;
      for (std::int64_t j = 0; j < n_; ++j) {
        sy += s[j] * y[j];
        sBs += s[j] * Bs[j];
      }
      if (!(sy > 0.0 && sBs > 0.0)) continue;
      if (2 * (m_ + 1) > width_) widen_rows(used(before + count));
      write_pair(y, sy, Bs.data(), sBs, m_, n_, width_, rows_.data(), diagonal_.data());
      ++m_;
    }
    add_pairs_to_head(before);
    return m_ - before;
  }

  // Keep some coordinates, ascending.
  void keep(const std::int64_t* kept, std::int64_t count) {
    std::vector<std::int64_t> place(n_, -1);
    Lines<R> rows(count * width_);
    std::vector<double> diagonal(count);
    for (std::int64_t i = 0; i < count; ++i) {
      place[kept[i]] = i;
      std::copy_n(rows_.data() + kept[i] * width_, width_, rows.data() + i * width_);
      diagonal[i] = diagonal_[kept[i]];
    }
    std::vector<std::int64_t> stay, heads;
    std::vector<std::int32_t> head_place(heads_.size(), -1);
    for (std::size_t a = 0; a < heads_.size(); ++a)
      if (place[heads_[a]] >= 0) {
        head_place[a] = static_cast<std::int32_t>(stay.size());
        stay.push_back(static_cast<std::int64_t>(a));
        heads.push_back(place[heads_[a]]);
      }
    near_.keep(kept, count, head_place);
    head_ = head_.kept(stay);
    heads_ = std::move(heads);
    rows_ = std::move(rows);
    diagonal_ = std::move(diagonal);
    n_ = count;
    find_tail();
  }

  // min_d g'd + d'Bd/2 + lam |w + d|_1 + (l2/2)|w + d|^2 by coordinate descent: passes over the head
  // and the tail's coordinates that are off zero until they settle, then over all, until no coordinate's
  // gradient moves by more than the tolerance. Returns the passes made, as shares of all coordinates.
  double minimize(const double* w, const double* g, double lam, double l2, std::int64_t max_passes,
                  double tolerance, std::uint64_t seed, double* d) const {
    Search x(*this, w, g, lam, l2, seed);
    std::vector<std::int32_t> all(tail_.size()), free;
    std::iota(all.begin(), all.end(), 0);
    double spent = 0.0;
    while (spent < static_cast<double>(max_passes)) {
      const std::int64_t most = tail_.empty() ? max_passes * kHeadPasses : kHeadPasses;
      double moved = solve_head(0.3 * tolerance, most, x);
      moved = std::max(moved, visit_tail(all, x));
      spent += 1.0;
      if (moved <= tolerance || tail_.empty()) break;
      free.clear();
      for (const std::int32_t i : all)
        if (x.tail[i].d != 0.0 || x.tail[i].w != 0.0) free.push_back(i);
      const double price = static_cast<double>(size(free) + head_.size()) / static_cast<double>(n_);
      while (spent < static_cast<double>(max_passes) && price < 1.0) {
        moved = solve_head(0.3 * tolerance, kHeadPasses, x);
        moved = std::max(moved, visit_tail(free, x));
        spent += price;
        if (moved <= 0.5 * tolerance) break;
      }
    }
    // Exact: a coordinate that returns to zero is zero, not rounding.
    for (std::int64_t a = 0; a < head_.size(); ++a) d[heads_[a]] = x.head[a].target - w[heads_[a]];
    for (std::size_t i = 0; i < tail_.size(); ++i) d[tail_[i]] = x.tail[i].d;
    return spent;
  }

 private:
  // What a visit of the tail reads, in one cache line.
  struct alignas(64) TailVariable {
    double w, g, d, curvature, inverse;  // inverse: of curvature + l2
    const NearEntry *entries, *end;
    const R* row;
  };

  // Where a minimisation is, with the products of the d reached so far.
  struct Search {
    double lam;
    SplitMix64 random;
    std::vector<HeadVariable> head;
    std::vector<TailVariable> tail;
    Lines<R> r, h;                  // Jd on the near rows, and [p_1'd, -c_1'd, ...]
    Lines<R> r_seen, h_seen;        // when Bd was as it should be
    Lines<R> Bd;                    // [K] of the head
    std::vector<double> told;       // [K] w + d of the head in r and h
    bool seen = true;               // whether the tail has not moved since

    Search(const SampledModel& m, const double* w, const double* g, double lam_, double l2,
           std::uint64_t seed)
        : lam(lam_), random{seed}, r(Lines<R>::zeros(m.near_.n)), h(Lines<R>::zeros(m.width_)),
          r_seen(Lines<R>::zeros(m.near_.n)), h_seen(Lines<R>::zeros(m.width_)),
          Bd(Lines<R>::zeros(m.head_.size())) {
      for (const std::int64_t j : m.heads_) {
        head.push_back({g[j], w[j], m.diagonal_[j], 1.0 / (m.diagonal_[j] + l2)});
        told.push_back(w[j]);
      }
      tail.reserve(m.tail_.size());
      for (const std::int32_t j : m.tail_)
        tail.push_back({w[j], g[j], 0.0, m.diagonal_[j], 1.0 / (m.diagonal_[j] + l2), m.near_.begin(j),
                        m.near_.end(j), m.rows_.data() + j * m.width_});
    }
  };

  template <class T>
  static std::int64_t size(const std::vector<T>& x) { return static_cast<std::int64_t>(x.size()); }
  // body(first, last) for parts of n things that take so many multiply-adds.
  template <class Body>
  void in_parts(std::int64_t n, std::int64_t work, const Body& body) const {
    constexpr std::int64_t n_parts = 8;
    parallel_for(n_parts, jobs_for(work, n_jobs_),
                 [&](std::int64_t i) { body(i * n / n_parts, (i + 1) * n / n_parts); });
  }
  // Tells the head how the tail has moved.
  void look(Search& x) const {
    if (x.seen) return;
    for (std::int32_t i = 0; i < near_.n; ++i) x.r_seen[i] = x.r[i] - x.r_seen[i];
    for (std::int64_t i = 0; i < width_; ++i) x.h_seen[i] = x.h[i] - x.h_seen[i];
    in_parts(head_.size(), kScattered * near_.row_start[near_.n], [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t a = first; a < last; ++a) {
        const std::int64_t j = heads_[a];
        x.Bd[a] += static_cast<R>(gather<R>(near_.begin(j), near_.end(j), x.r_seen.data()) +
                                  row_product(rows_.data() + j * width_, x.h_seen.data(), width_));
      }
    });
  }

  // Passes over the head until it has settled; then the tail is told. Returns how far the first one
  // moved it.
  double solve_head(double tolerance, std::int64_t max_passes, Search& x) const {
    const std::int64_t K = head_.size();
    look(x);
    const double first = head_.solve(x.lam, tolerance, max_passes, x.random, x.head.data(), x.Bd.data());
    std::vector<R> change(K);
    for (std::int64_t a = 0; a < K; ++a) {
      change[a] = static_cast<R>(x.head[a].target - x.told[a]);
      x.told[a] = x.head[a].target;
      if (change[a] != R{}) add_row(rows_.data() + heads_[a] * width_, change[a], width_, x.h.data());
    }
    in_parts(near_.n, kScattered * near_.row_start[near_.n], [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        x.r[i] += gather<R>(near_.by_row.get() + near_.row_start[i],
                            near_.by_row.get() + near_.row_start[i + 1], change.data());
    });
    std::copy_n(x.r.data(), near_.n, x.r_seen.data());
    std::copy_n(x.h.data(), width_, x.h_seen.data());
    x.seen = true;
    return first;
  }

  double visit_tail(std::vector<std::int32_t>& order, Search& x) const {
    shuffle(order, x.random);
    double moved = 0.0;
    R *r = x.r.data(), *h = x.h.data();
    const std::int64_t count = size(order);
    for (std::int64_t i = 0; i < count; ++i) {
      if (i + kNumbersAhead < count) __builtin_prefetch(&x.tail[order[i + kNumbersAhead]]);
      if (i + kRowsAhead < count) {
        const TailVariable& later = x.tail[order[i + kRowsAhead]];
        for (const auto* e = later.entries; e < std::min(later.end, later.entries + kEntriesAhead); e += 8)
          __builtin_prefetch(e);
        for (std::int64_t k = 0; k < width_; k += 64 / static_cast<std::int64_t>(sizeof(R)))
          __builtin_prefetch(later.row + k);
      }
      TailVariable& v = x.tail[order[i]];
      const double product = gather<R>(v.entries, v.end, r) + row_product(v.row, h, width_);
      const double c = v.w + v.d, slope = v.curvature * c - (v.g + ridge_ * v.d + product);
      const double target = soft_threshold(slope, x.lam) * v.inverse, z = target - c;
      if (z == 0.0) continue;
      v.d = target - v.w;
      scatter<R>(v.entries, v.end, static_cast<R>(z), r);
      add_row(v.row, static_cast<R>(z), width_, h);
      moved = std::max(moved, v.curvature * std::fabs(z));
    }
    x.seen &= moved == 0.0;
    return moved;
  }

  // B times some vectors [count][n]: eight at a time, so that an entry of J is read once for them.
  std::vector<double> products(const double* S, std::int64_t count) const {
    std::vector<double> BS(count * n_);
    if (count < kLanes / 2) {
      for (std::int64_t i = 0; i < count; ++i) multiply<R>(S + i * n_, 1, BS.data() + i * n_);
      return BS;
    }
    parallel_for((count + kLanes - 1) / kLanes, n_jobs_, [&](std::int64_t i) {
      const std::int64_t first = i * kLanes, n = std::min<std::int64_t>(kLanes, count - first);
      multiply<EightOf<R>>(S + first * n_, n, BS.data() + first * n_);
    });
    return BS;
  }
  // B times vectors [count][n], at most as many as V has numbers: a number, or a register of eight.
  template <class V>
  void multiply(const double* S, std::int64_t count, double* out) const {
    constexpr bool one = std::is_same_v<V, R>;
    const std::int64_t K = head_.size();
    auto get = [&](std::int64_t j) {
      V v{};
      if constexpr (one) v = static_cast<R>(S[j]);
      else
        for (std::int64_t i = 0; i < count; ++i) v[i] = static_cast<R>(S[i * n_ + j]);
      return v;
    };
    auto put = [&](std::int64_t j, V v) {
      if constexpr (one) out[j] = v;
      else
        for (std::int64_t i = 0; i < count; ++i) out[i * n_ + j] = v[i];
    };
    auto moves = [&](std::int64_t j) {
      bool any = false;
      for (std::int64_t i = 0; i < count; ++i) any |= S[i * n_ + j] != 0.0;
      return any;
    };
    auto r = Lines<V>::zeros(near_.n), h = Lines<V>::zeros(width_);
    auto tell = [&](std::int64_t j, V z) {  // the rows near
      scatter<R>(near_.begin(j), near_.end(j), z, r.data());
      const R* row = rows_.data() + j * width_;
      if constexpr (one) {
        add_row(row, z, width_, h.data());
      } else {
        for (std::int64_t k = 0; k < width_; k += 2) {
          h[k] += z * row[k];
          h[k + 1] -= z * row[k + 1];
        }
      }
    };
    auto ask = [&](std::int64_t j) {
      V sum = gather<R>(near_.begin(j), near_.end(j), r.data());
      const R* row = rows_.data() + j * width_;
      if constexpr (one) sum += static_cast<R>(row_product(row, h.data(), width_));
      else
        for (std::int64_t k = 0; k < width_; ++k) sum += row[k] * h[k];
      return sum;
    };
    for (const std::int32_t j : tail_)
      if (moves(j)) tell(j, get(j));
    std::vector<V> d(K), product(K);
    for (std::int64_t a = 0; a < K; ++a) d[a] = get(heads_[a]);
    if constexpr (one) {
      std::vector<const R*> rows;
      std::vector<R> steps;
      for (std::int64_t a = 0; a < K; ++a)
        if (d[a] != R{}) {
          rows.push_back(head_.row(a));
          steps.push_back(d[a]);
        }
      head_.add(rows.data(), steps.data(), size(rows), product.data());
    } else {
      for (std::int64_t a = 0; a < K; ++a)
        for (std::int64_t b = 0; b < K; ++b) product[a] += head_.row(a)[b] * d[b];
    }
    for (std::int64_t a = 0; a < K; ++a) put(heads_[a], product[a] + ask(heads_[a]));
    for (std::int64_t a = 0; a < K; ++a)
      if (moves(heads_[a])) tell(heads_[a], d[a]);
    for (const std::int32_t j : tail_) put(j, static_cast<R>(ridge_) * get(j) + ask(j));
  }

  // Bs += (P P' - C C') s of the pairs that came after the first m.
  void add_products_since(std::int64_t m, const double* s, double* Bs) const {
    if (m == m_) return;
    const std::int64_t begin = 2 * m / kRowTile * kRowTile, n = used(m_) - begin;
    std::vector<R> h(n, R{});
    for (std::int64_t j = 0; j < n_; ++j)
      if (s[j] != 0.0) add_row(rows_.data() + j * width_ + begin, static_cast<R>(s[j]), n, h.data());
    std::fill(h.begin(), h.begin() + (2 * m - begin), R{});
    for (std::int64_t j = 0; j < n_; ++j) Bs[j] += row_product(rows_.data() + j * width_ + begin, h.data(), n);
  }

  // The head's block of B takes in the pairs that came after the first m.
  void add_pairs_to_head(std::int64_t m) {
    const std::int64_t K = head_.size(), n = m_ - m;
    std::vector<R> p(n * K), c(n * K);
    for (std::int64_t a = 0; a < K; ++a)
      for (std::int64_t i = 0; i < n; ++i) {
        const R* pair = rows_.data() + heads_[a] * width_ + 2 * (m + i);
        p[i * K + a] = pair[0];
        c[i * K + a] = pair[1];
      }
    in_parts(K, 2 * n * K * K, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t a = first; a < last; ++a)
        for (std::int64_t i = 0; i < n * K; i += K)
          add_two(p.data() + i, p[i + a], c.data() + i, -c[i + a], K, head_.row(a));
    });
  }

  // Returns how many entries of the head are in each row.
  std::vector<std::int32_t> choose_head(const ColumnsView& J, std::int64_t n_rows, double budget) {
    std::vector<std::int64_t> order(n_);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [this](std::int64_t a, std::int64_t b) {
      return diagonal_[a] != diagonal_[b] ? diagonal_[a] > diagonal_[b] : a < b;
    });
    std::vector<std::int32_t> entries(n_rows, 0);
    std::int64_t cost = 0, K = 0;
    for (; K < std::min(kHead, n_) && static_cast<double>(cost) < budget; ++K)
      for (std::int64_t e = J.start[order[K]]; e < J.start[order[K] + 1]; ++e)
        cost += 2 * entries[J.row[e]]++ + 1;
    heads_.assign(order.begin(), order.begin() + K);
    std::sort(heads_.begin(), heads_.end());
    find_tail();
    return entries;
  }
  void find_tail() {
    std::vector<std::uint8_t> in_head(n_, 0);
    for (const std::int64_t j : heads_) in_head[j] = 1;
    tail_.clear();
    for (std::int64_t j = 0; j < n_; ++j)
      if (!in_head[j]) tail_.push_back(static_cast<std::int32_t>(j));
  }

  // The head's block of rho I + J'J, row by row of J, in which it has so many entries: the sum of two
  // halves of the rows. Beside it the near rows are taken.
  void take_in(const ColumnsView& J, const std::vector<std::int32_t>& n_entries) {
    const std::int64_t K = size(heads_), n_rows = size(n_entries);
    std::vector<std::int64_t> end(n_rows + 1);  // of a row's entries, while they are filled in
    std::partial_sum(n_entries.begin(), n_entries.end(), end.begin() + 1);
    const std::int64_t n = end.back();
    const std::int64_t middle = std::lower_bound(end.begin(), end.end() - 1, n / 2) - end.begin();
    const std::unique_ptr<NearEntry[]> entries(new NearEntry[n]);
    head_ = HeadBlock<R>(K);
    HeadBlock<R> other(K);
    std::vector<std::int32_t> number;
    parallel_for(3, jobs_for(kScattered * n, n_jobs_), [&](std::int64_t task) {
      if (task == 0) add_row_products(J, 0, middle, end.data(), entries.get(), head_);
      if (task == 1) add_row_products(J, middle, n_rows, end.data(), entries.get(), other);
      if (task == 2) number = near_.take(J, n_entries, tail_);
    });
    near_.take_head(number, entries.get(), end);
    constexpr std::int64_t tile = 16;  // rows are 4096 bytes apart, and a cache holds few such
    parallel_for((K + tile - 1) / tile, jobs_for(kScattered * K * K, n_jobs_), [&](std::int64_t i) {
      const std::int64_t first = i * tile;
      for (std::int64_t b = first; b < K; ++b)
        for (std::int64_t a = first; a <= std::min(first + tile - 1, b); ++a)
          head_.row(b)[a] = head_.row(a)[b] += other.row(a)[b];
    });
    for (std::int64_t a = 0; a < K; ++a) head_.row(a)[a] += static_cast<R>(ridge_);
  }
  // The upper triangle of the block += the products of J's rows [first, last).
  void add_row_products(const ColumnsView& J, std::int64_t first, std::int64_t last, std::int64_t* end,
                        NearEntry* entries, HeadBlock<R>& block) const {
    const NearEntry* e = entries + end[first];
    for (std::int64_t a = 0; a < size(heads_); ++a)
      for (std::int64_t k = J.start[heads_[a]]; k < J.start[heads_[a] + 1]; ++k)
        if (const std::int32_t row = J.row[k]; first <= row && row < last)  // rows nearly ascend
          entries[end[row]++] = {static_cast<std::int32_t>(a), J.value[k]};
    for (std::int64_t i = first; i < last; ++i)  // places ascend
      for (const NearEntry* stop = entries + end[i]; e < stop; ++e) {
        const R value = e->value;
        R* row = block.row(e->at);
        const NearEntry* f = e + 1;
        row[e->at] += value * value;
        for (; f < stop && f->at == e->at; ++f)  // an entry may stand twice
          row[e->at] += R{2} * value * f->value;
        for (; f < stop; ++f) row[f->at] += value * f->value;
      }
  }

  void widen_rows(std::int64_t width) {
    auto rows = Lines<R>::zeros(n_ * width);
    for (std::int64_t j = 0; j < n_; ++j)
      std::copy_n(rows_.data() + j * width_, width_, rows.data() + j * width);
    rows_ = std::move(rows);
    width_ = width;
  }

  std::int64_t n_;
  int n_jobs_;
  double ridge_;
  std::vector<double> diagonal_;
  Lines<R> rows_{0};               // [n][width] p_1, c_1, p_2, c_2, ..., zeros
  std::int64_t m_ = 0, width_ = 0;
  std::vector<std::int64_t> heads_;  // their coordinates, ascending
  std::vector<std::int32_t> tail_;   // the others
  HeadBlock<R> head_;
  NearRows near_;
};

}  // namespace proxqn
