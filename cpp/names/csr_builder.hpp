// Rows of columns as they are found: a CSR matrix with sorted rows, in which a column that a token
// has twice has the sum of its values.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace proxqn::names {

struct CsrBuilder {
  std::vector<std::int32_t> columns;
  std::vector<double> values;          // empty while all are 1
  std::vector<std::int64_t> start{0};  // [n_rows + 1]
  std::int64_t n_unseen = 0;

  // The columns of a token's n names, -1 for those that have none; no values where all are 1.
  void add_row(const std::int32_t* found, const double* given, std::size_t n) {
    const std::size_t begin = columns.size();
    if (given && !has_values_ && !all_ones(found, given, n)) begin_values();
    keep(found, found, n, columns);
    if (has_values_) {
      if (given) keep(found, given, n, values);
      else values.resize(columns.size(), 1.0);
    }
    n_unseen += static_cast<std::int64_t>(n - (columns.size() - begin));
    if (!rises(begin)) sort(begin);
    start.push_back(static_cast<std::int64_t>(columns.size()));
  }

 private:
  static bool all_ones(const std::int32_t* found, const double* given, std::size_t n) {
    bool other = false;
    for (std::size_t i = 0; i < n; ++i) other |= (found[i] >= 0) & (given[i] != 1.0);
    return !other;
  }
  void begin_values() {
    values.assign(columns.size(), 1.0);
    has_values_ = true;
  }

  // Append what belongs to the names that are there: written for all, as nobody can guess which.
  template <class T>
  static void keep(const std::int32_t* found, const T* given, std::size_t n, std::vector<T>& kept) {
    std::size_t end = kept.size();
    kept.resize(end + n);
    for (std::size_t i = 0; i < n; ++i) {
      kept[end] = given[i];
      end += found[i] >= 0;
    }
    kept.resize(end);
  }

  bool rises(std::size_t begin) const {
    bool falls = false;
    for (std::size_t e = begin + 1; e < columns.size(); ++e) falls |= columns[e - 1] >= columns[e];
    return !falls;
  }
  void sort(std::size_t begin) {
    if (columns.size() - begin <= kShort && sort_by_rank(begin)) return;
    row_.clear();
    for (std::size_t e = begin; e < columns.size(); ++e)
      row_.push_back({columns[e], has_values_ ? values[e] : 1.0});
    std::stable_sort(row_.begin(), row_.end(), [](auto& a, auto& b) { return a.first < b.first; });
    const auto same = [](auto& a, auto& b) { return a.first == b.first; };
    const bool twice = std::adjacent_find(row_.begin(), row_.end(), same) != row_.end();
    if (twice && !has_values_) begin_values();
    columns.resize(begin);
    if (has_values_) values.resize(begin);
    for (const auto& [column, value] : row_) {
      if (columns.size() > begin && columns.back() == column) {
        values.back() += value;
      } else {
        columns.push_back(column);
        if (has_values_) values.push_back(value);
      }
    }
  }

  // Put every entry where it belongs by the number of smaller ones: no branch that nobody can guess.
  // False, and nothing done, where a column stands twice.
  bool sort_by_rank(std::size_t begin) {
    const std::size_t n = columns.size() - begin;
    std::int32_t given[kShort] = {}, rank[kShort] = {}, sorted[kShort];
    std::copy_n(&columns[begin], n, given);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < kShort; ++j) rank[j] += given[i] < given[j];
    std::fill_n(sorted, n, -1);
    for (std::size_t i = 0; i < n; ++i) sorted[rank[i]] = given[i];
    for (std::size_t i = 0; i < n; ++i)
      if (sorted[i] < 0) return false;
    std::copy_n(sorted, n, &columns[begin]);
    if (!has_values_) return true;
    double moved[kShort];
    for (std::size_t i = 0; i < n; ++i) moved[rank[i]] = values[begin + i];
    std::copy_n(moved, n, &values[begin]);
    return true;
  }

  static constexpr std::size_t kShort = 32;
  bool has_values_ = false;
  std::vector<std::pair<std::int32_t, double>> row_;
};

}  // namespace proxqn::names
