// The inner problem with curvature drawn from the model (chain/draws.hpp) and corrected by BFGS pairs:
//     B = rho I + J'J + P P' - C C',
// p and c as in compact_bfgs.hpp, one of each a pair. J is sparse, by columns. Coordinate descent keeps
// r = Jd and h = [p_1'd, -c_1'd, ...], so that a coordinate costs the entries of its column.
//
// Frequent features make the problem ill-conditioned and own most entries. The K coordinates with the
// largest diagonal, the head, have their block of B written out (head_block.hpp): a pass over them costs
// K^2 multiply-adds in order, and they are solved well before the tail, the others, is visited again. What
// head and tail have to do with each other is in the rows of J that the tail has entries in (tail_rows.hpp).
#pragma once
#include <cstdint>
#include <vector>

#include "base/aligned_array.hpp"
#include "base/parallel.hpp"
#include "inner/head_block.hpp"
#include "inner/pair_rows.hpp"
#include "inner/tail_rows.hpp"
#include "products/drawn_columns.hpp"

namespace proxqn::inner {

constexpr std::int64_t kScattered = 8;  // multiply-adds: what an entry of J takes

// R is the type of all running sums: floats are half the traffic, and right to six digits or so.
template <class R>
class DrawnCurvature {
 public:
  // budget: multiply-adds to write out the head's block, at most.
  DrawnCurvature(const products::ColumnsView& J, std::int64_t n_rows, double ridge, double budget,
                 int n_jobs);

  std::int64_t size() const { return n_; }
  const std::vector<double>& diagonal() const { return diagonal_; }

  // Pairs [count][n], the oldest first: BFGS updates. One of which s'y or s'Bs is not positive is left
  // out. Returns how many are taken in.
  std::int64_t append(const double* S, const double* Y, std::int64_t count);

  // Keep some coordinates, ascending.
  void keep(const std::int64_t* kept, std::int64_t count);

 private:
  template <class, class>
  friend class DrawnDescent;

  // body(first, last) for parts of n things that take so many multiply-adds.
  template <class Body>
  void in_parts(std::int64_t n, std::int64_t work, const Body& body) const {
    constexpr std::int64_t n_parts = 8;
    parallel_for(n_parts, jobs_for(work, n_jobs_),
                 [&](std::int64_t i) { body(i * n / n_parts, (i + 1) * n / n_parts); });
  }

  // B times some vectors [count][n]: eight at a time, so that an entry of J is read once for them.
  std::vector<double> times(const double* S, std::int64_t count) const;
  // B times vectors [count][n], at most as many as V has numbers: a number, or a register of eight.
  template <class V>
  void multiply(const double* S, std::int64_t count, double* out) const;
  // Bs += (P P' - C C') s of the pairs that came after the first m.
  void add_products_since(std::int64_t m, const double* s, double* Bs) const;
  // The head's block of B takes in the pairs that came after the first m.
  void add_pairs_to_head(std::int64_t m);
  // Returns how many entries of the head are in each row.
  std::vector<std::int32_t> choose_head(const products::ColumnsView& J, std::int64_t n_rows,
                                        double budget);
  void find_tail();
  // The head's block of rho I + J'J, row by row of J, in which it has so many entries: the sum of two
  // halves of the rows. Beside it the tail's rows are taken.
  void take_in(const products::ColumnsView& J, const std::vector<std::int32_t>& n_entries);
  // The upper triangle of the block += the products of J's rows [first, last).
  void add_row_products(const products::ColumnsView& J, std::int64_t first, std::int64_t last,
                        std::int64_t* end, TailEntry* entries, HeadBlock<R>& block) const;
  void widen_rows(std::int64_t width);

  std::int64_t n_;
  int n_jobs_;
  double ridge_;
  std::vector<double> diagonal_;
  AlignedArray<R> rows_{0};  // [n][width] p_1, c_1, p_2, c_2, ..., zeros
  std::int64_t m_ = 0, width_ = 0;
  std::vector<std::int64_t> heads_;  // their coordinates, ascending
  std::vector<std::int32_t> tail_;   // the others
  HeadBlock<R> head_;
  TailRows tail_rows_;
};

}  // namespace proxqn::inner
