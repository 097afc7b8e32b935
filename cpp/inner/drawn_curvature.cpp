#include "inner/drawn_curvature.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <type_traits>
#include <utility>

#include "base/simd.hpp"

namespace proxqn::inner {

constexpr std::int64_t kHead = 512;

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

template <class T>
static std::int64_t length(const std::vector<T>& x) {
  return static_cast<std::int64_t>(x.size());
}

template <class R>
DrawnCurvature<R>::DrawnCurvature(const products::ColumnsView& J, std::int64_t n_rows, double ridge,
                                  double budget, int n_jobs)
    : n_(J.n), n_jobs_(n_jobs), ridge_(ridge), diagonal_(n_, ridge) {
  in_parts(n_, kScattered * J.start[n_], [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t j = first; j < last; ++j)
      for (std::int64_t e = J.start[j]; e < J.start[j + 1]; ++e)
        diagonal_[j] += J.value[e] * J.value[e];
  });
  take_in(J, choose_head(J, n_rows, budget));
  for (std::int64_t a = 0; a < head_.size(); ++a) diagonal_[heads_[a]] = head_.row(a)[a];
  in_parts(length(tail_), kScattered * J.start[n_], [&](std::int64_t first, std::int64_t last) {
    std::vector<R> r(tail_rows_.n, R{});
    for (std::int64_t i = first; i < last; ++i) {  // an entry may stand twice
      const std::int64_t j = tail_[i];
      scatter<R>(tail_rows_.begin(j), tail_rows_.end(j), R{1}, r.data());
      diagonal_[j] = ridge_ + gather<R>(tail_rows_.begin(j), tail_rows_.end(j), r.data());
      for (const auto* e = tail_rows_.begin(j); e < tail_rows_.end(j); ++e) r[e->at] = R{};
    }
  });
}

template <class R>
std::vector<std::int32_t> DrawnCurvature<R>::choose_head(const products::ColumnsView& J,
                                                         std::int64_t n_rows, double budget) {
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

template <class R>
void DrawnCurvature<R>::find_tail() {
  std::vector<std::uint8_t> in_head(n_, 0);
  for (const std::int64_t j : heads_) in_head[j] = 1;
  tail_.clear();
  for (std::int64_t j = 0; j < n_; ++j)
    if (!in_head[j]) tail_.push_back(static_cast<std::int32_t>(j));
}

template <class R>
void DrawnCurvature<R>::take_in(const products::ColumnsView& J,
                                const std::vector<std::int32_t>& n_entries) {
  const std::int64_t K = length(heads_), n_rows = length(n_entries);
  std::vector<std::int64_t> end(n_rows + 1);  // of a row's entries, while they are filled in
  std::partial_sum(n_entries.begin(), n_entries.end(), end.begin() + 1);
  const std::int64_t n = end.back();
  const std::int64_t middle = std::lower_bound(end.begin(), end.end() - 1, n / 2) - end.begin();
  const std::unique_ptr<TailEntry[]> entries(new TailEntry[n]);
  head_ = HeadBlock<R>(K);
  HeadBlock<R> other(K);
  std::vector<std::int32_t> number;
  parallel_for(3, jobs_for(kScattered * n, n_jobs_), [&](std::int64_t task) {
    if (task == 0) add_row_products(J, 0, middle, end.data(), entries.get(), head_);
    if (task == 1) add_row_products(J, middle, n_rows, end.data(), entries.get(), other);
    if (task == 2) number = tail_rows_.take(J, n_entries, tail_);
  });
  tail_rows_.take_head(number, entries.get(), end);
  constexpr std::int64_t tile = 16;  // rows are 4096 bytes apart, and a cache holds few such
  parallel_for((K + tile - 1) / tile, jobs_for(kScattered * K * K, n_jobs_), [&](std::int64_t i) {
    const std::int64_t first = i * tile;
    for (std::int64_t b = first; b < K; ++b)
      for (std::int64_t a = first; a <= std::min(first + tile - 1, b); ++a)
        head_.row(b)[a] = head_.row(a)[b] += other.row(a)[b];
  });
  for (std::int64_t a = 0; a < K; ++a) head_.row(a)[a] += static_cast<R>(ridge_);
}

template <class R>
void DrawnCurvature<R>::add_row_products(const products::ColumnsView& J, std::int64_t first,
                                         std::int64_t last, std::int64_t* end, TailEntry* entries,
                                         HeadBlock<R>& block) const {
  const TailEntry* e = entries + end[first];
  for (std::int64_t a = 0; a < length(heads_); ++a)
    for (std::int64_t k = J.start[heads_[a]]; k < J.start[heads_[a] + 1]; ++k)
      if (const std::int32_t row = J.row[k]; first <= row && row < last)  // rows nearly ascend
        entries[end[row]++] = {static_cast<std::int32_t>(a), J.value[k]};
  for (std::int64_t i = first; i < last; ++i)  // places ascend
    for (const TailEntry* stop = entries + end[i]; e < stop; ++e) {
      const R value = e->value;
      R* row = block.row(e->at);
      const TailEntry* f = e + 1;
      row[e->at] += value * value;
      for (; f < stop && f->at == e->at; ++f)  // an entry may stand twice
        row[e->at] += R{2} * value * f->value;
      for (; f < stop; ++f) row[f->at] += value * f->value;
    }
}

template <class R>
std::int64_t DrawnCurvature<R>::append(const double* S, const double* Y, std::int64_t count) {
  const std::int64_t before = m_;
  const std::vector<double> BS = times(S, count);  // of B before
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

template <class R>
void DrawnCurvature<R>::keep(const std::int64_t* kept, std::int64_t count) {
  std::vector<std::int64_t> place(n_, -1);
  AlignedArray<R> rows(count * width_);
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
  tail_rows_.keep(kept, count, head_place);
  head_ = head_.kept(stay);
  heads_ = std::move(heads);
  rows_ = std::move(rows);
  diagonal_ = std::move(diagonal);
  n_ = count;
  find_tail();
}

template <class R>
std::vector<double> DrawnCurvature<R>::times(const double* S, std::int64_t count) const {
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

template <class R>
template <class V>
void DrawnCurvature<R>::multiply(const double* S, std::int64_t count, double* out) const {
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
  auto r = AlignedArray<V>::zeros(tail_rows_.n), h = AlignedArray<V>::zeros(width_);
  auto tell = [&](std::int64_t j, V z) {  // the rows near
    scatter<R>(tail_rows_.begin(j), tail_rows_.end(j), z, r.data());
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
    V sum = gather<R>(tail_rows_.begin(j), tail_rows_.end(j), r.data());
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
    head_.add(rows.data(), steps.data(), length(rows), product.data());
  } else {
    for (std::int64_t a = 0; a < K; ++a)
      for (std::int64_t b = 0; b < K; ++b) product[a] += head_.row(a)[b] * d[b];
  }
  for (std::int64_t a = 0; a < K; ++a) put(heads_[a], product[a] + ask(heads_[a]));
  for (std::int64_t a = 0; a < K; ++a)
    if (moves(heads_[a])) tell(heads_[a], d[a]);
  for (const std::int32_t j : tail_) put(j, static_cast<R>(ridge_) * get(j) + ask(j));
}

template <class R>
void DrawnCurvature<R>::add_products_since(std::int64_t m, const double* s, double* Bs) const {
  if (m == m_) return;
  const std::int64_t begin = 2 * m / kRowTile * kRowTile, n = used(m_) - begin;
  std::vector<R> h(n, R{});
  for (std::int64_t j = 0; j < n_; ++j)
    if (s[j] != 0.0) add_row(rows_.data() + j * width_ + begin, static_cast<R>(s[j]), n, h.data());
  std::fill(h.begin(), h.begin() + (2 * m - begin), R{});
  for (std::int64_t j = 0; j < n_; ++j)
    Bs[j] += row_product(rows_.data() + j * width_ + begin, h.data(), n);
}

template <class R>
void DrawnCurvature<R>::add_pairs_to_head(std::int64_t m) {
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

template <class R>
void DrawnCurvature<R>::widen_rows(std::int64_t width) {
  auto rows = AlignedArray<R>::zeros(n_ * width);
  for (std::int64_t j = 0; j < n_; ++j)
    std::copy_n(rows_.data() + j * width_, width_, rows.data() + j * width);
  rows_ = std::move(rows);
  width_ = width;
}

template class DrawnCurvature<float>;
template class DrawnCurvature<double>;

}  // namespace proxqn::inner
