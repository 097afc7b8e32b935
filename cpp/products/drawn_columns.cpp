#include "products/drawn_columns.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/parallel.hpp"

namespace proxqn::products {

PROXQN_CLONES RowTokens sort_by_slot_cloned(std::int64_t n_slots, std::int64_t n,
                                            const std::int32_t* slot, const std::int32_t* row,
                                            const std::int32_t* first, const std::int32_t* second,
                                            const float* value) {
  RowTokens x;
  x.bits.assign(n_slots / 64 + 1, 0);
  for (std::int64_t i = 0; i < n; ++i) x.bits[slot[i] / 64] |= std::uint64_t{1} << slot[i] % 64;
  std::int32_t n_met = 0;
  x.before.reserve(x.bits.size());
  for (const std::uint64_t word : x.bits) {
    x.before.push_back(n_met);
    n_met += std::popcount(word);
  }
  x.begin.assign(n_met + 2, 0);
  for (std::int64_t i = 0; i < n; ++i) ++x.begin[x.number(slot[i]) + 2];
  std::partial_sum(x.begin.begin(), x.begin.end(), x.begin.begin());
  x.tokens.resize(n);
  for (std::int64_t i = 0; i < n; ++i)
    x.tokens[x.begin[x.number(slot[i]) + 1]++] = {row[i], first[i], second[i], value[i]};
  return x;
}

RowTokens sort_by_slot(std::int64_t n_slots, std::int64_t n, const std::int32_t* slot,
                       const std::int32_t* row, const std::int32_t* first,
                       const std::int32_t* second, const float* value) {
  return may_throw(
      [&] { return sort_by_slot_cloned(n_slots, n, slot, row, first, second, value); });
}

// Entries of J in the order of a column's slots. Most of what is looked at is not wanted, which no
// processor foresees: it is written all the same, and overwritten by the next.
class RowEntries {
 public:
  struct Entry {
    std::int32_t coordinate, row;
    float value;
  };
  std::vector<Entry> all;

  // Adds those of the coordinates [begin, end), which are of one column.
  PROXQN_CLONES void add(const Features& f, const RowTokens& tokens,
                         const std::int64_t* coordinates, std::int64_t begin, std::int64_t end,
                         std::int64_t L) {
    const std::int64_t column = coordinates[begin] / L, first = f.start[column];
    const std::int64_t n = f.start[column + 1] - first;
    const double* values = f.column_values(column);
    place_.resize(L, -1);
    for (std::int64_t j = begin; j < end; ++j)
      place_[coordinates[j] % L] = static_cast<std::int32_t>(j);
    if (static_cast<std::int64_t>(met_.size()) < n) met_.resize(n), number_.resize(n);
    std::int64_t n_met = 0, n_tokens = 0;  // entries of the column where there are tokens
    for (std::int64_t e = 0; e < n; ++e) {
      met_[n_met] = static_cast<std::int32_t>(e);
      n_met += tokens.has(f.slots[first + e]);
    }
    for (std::int64_t i = 0; i < n_met; ++i) {
      number_[i] = tokens.number(f.slots[first + met_[i]]);
      n_tokens += tokens.begin[number_[i] + 1] - tokens.begin[number_[i]];
    }
    if (static_cast<std::int64_t>(some_.size()) < 2 * n_tokens + 1) some_.resize(2 * n_tokens + 1);
    Entry* to = some_.data();
    for (std::int64_t i = 0; i < n_met; ++i) {
      const std::int32_t* at = tokens.begin.data() + number_[i];
      const double x = values ? values[met_[i]] : 1.0;
      for (std::int32_t k = at[0]; k < at[1]; ++k) {
        const RowTokens::Token& token = tokens.tokens[k];
        const auto v = static_cast<float>(x * token.value);
        *to = {place_[token.first], token.row, v};
        to += to->coordinate >= 0;
        *to = {place_[token.second], token.row, -v};
        to += to->coordinate >= 0;
      }
    }
    all.insert(all.end(), some_.data(), to);
    for (std::int64_t j = begin; j < end; ++j) place_[coordinates[j] % L] = -1;
  }

 private:
  std::vector<std::int32_t> place_;  // [L] of a label among the coordinates, or -1
  std::vector<std::int32_t> met_, number_;
  std::vector<Entry> some_;
};

Columns pair_columns(const std::int64_t* pairs, std::int64_t n, std::int64_t n_pairs,
                     const RowEdges& edges) {
  std::vector<std::int32_t> place(n_pairs, static_cast<std::int32_t>(n));  // n: not wanted
  for (std::int64_t i = 0; i < n; ++i) place[pairs[i]] = static_cast<std::int32_t>(i);
  const auto each = [&](const auto& body) {
    for (std::int64_t e = 0; e < edges.n; ++e) body(place[edges.first[e]], e, 1.0f);
    for (std::int64_t e = 0; e < edges.n; ++e) body(place[edges.second[e]], e, -1.0f);
  };
  Columns J;
  J.start.assign(n + 2, 0);
  each([&](std::int32_t i, std::int64_t, float) { ++J.start[i + 1]; });
  J.start.pop_back();
  std::partial_sum(J.start.begin(), J.start.end(), J.start.begin());
  J.row.resize(J.start[n] +
               1);  // what is not wanted goes to the last: no processor foresees a branch
  J.value.resize(J.start[n] + 1);
  std::vector<std::int64_t> next = J.start;
  each([&](std::int32_t i, std::int64_t e, float sign) {
    J.row[next[i]] = edges.row[e];
    J.value[next[i]] = sign * edges.value[e];
    next[i] += i < n;
  });
  J.row.pop_back();
  J.value.pop_back();
  return J;
}

DrawnColumns drawn_columns(const Features& f, const std::int64_t* coordinates, std::int64_t n,
                           std::int64_t L, const RowTokens& tokens, const Columns& pairs,
                           int n_jobs) {
  constexpr std::int64_t chunk = 64;       // coordinates, and all that are left of the last column
  std::vector<std::int64_t> bounds(1, 0);  // of chunks of coordinates
  for (std::int64_t j = chunk; j < n; ++j)
    if (j - bounds.back() >= chunk && coordinates[j] / L != coordinates[j - 1] / L)
      bounds.push_back(j);
  bounds.push_back(n);
  const auto n_chunks = static_cast<std::int64_t>(bounds.size()) - 1;
  std::vector<std::vector<RowEntries::Entry>> found(n_chunks);
  DrawnColumns J;
  J.start.assign(n + 1, 0);
  parallel_for(n_chunks, n_jobs, [&](std::int64_t i) {
    RowEntries entries;
    for (std::int64_t begin = bounds[i], end; begin < bounds[i + 1]; begin = end) {
      for (end = begin + 1; end < n && coordinates[end] / L == coordinates[begin] / L;) ++end;
      may_throw([&] { entries.add(f, tokens, coordinates, begin, end, L); });
    }
    found[i] = std::move(entries.all);
    for (const auto& x : found[i]) ++J.start[x.coordinate + 1];
  });
  std::partial_sum(J.start.begin(), J.start.end(), J.start.begin());
  const std::int64_t n_states = J.start[n];
  for (std::size_t i = 1; i < pairs.start.size(); ++i) J.start.push_back(n_states + pairs.start[i]);
  J.row = AlignedArray<std::int32_t>(J.start.back() + 1);  // NumPy takes no null
  J.value = AlignedArray<float>(J.start.back() + 1);
  std::copy(pairs.row.begin(), pairs.row.end(), J.row.data() + n_states);
  std::copy(pairs.value.begin(), pairs.value.end(), J.value.data() + n_states);
  parallel_for(n_chunks, n_jobs, [&](std::int64_t i) {
    std::vector<std::int64_t> next(J.start.begin() + bounds[i], J.start.begin() + bounds[i + 1]);
    for (const auto& x : found[i]) {
      const std::int64_t at = next[x.coordinate - bounds[i]]++;
      J.row[at] = x.row;
      J.value[at] = x.value;
    }
  });
  return J;
}

}  // namespace proxqn::products
