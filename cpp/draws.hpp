// Curvature from labelings drawn from the model.
//
// The Hessian of a chain's loss is the covariance of its features under P(.|x). With y and z drawn
// independently, (phi(y) - phi(z)) (phi(y) - phi(z))' / 2 has this mean, and phi(y) - phi(z) is sparse:
// only tokens on which they differ count. Where they agree on a token, what comes before is independent
// of what comes after, and y and z could change places on one side of it alone; so products across such
// a token are zero on average. Each run of tokens on which they differ is therefore a row of its own:
// the same mean, less variance. J has these rows, scaled: E[J'J] is the Hessian.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

#include "chain.hpp"
#include "features.hpp"
#include "lines.hpp"
#include "random.hpp"

namespace proxqn {

// How much to draw: pairs of labelings of a random share of the sequences.
struct Sampling {
  std::int64_t n_pairs;
  double share;
  std::uint64_t seed;
};

struct Draws {
  std::vector<std::int32_t> slot, run, first, second;   // tokens of a run and their two labels
  std::vector<std::int32_t> edge_run, edge_first, edge_second;  // label pairs y L + y' at, before or after
  std::vector<float> scale;                             // [runs] root of half the weight of a draw
};

// The filter A_t(y) = P(y_t = y | x_1..x_t), [T][Lp], one sequence at a time; reached[Lp] is for its use.
template <class S>
PROXQN_INLINE void filter(const ChainOf<S>& c, const Transitions<double>& m, std::int64_t slot,
                          std::int64_t step, std::int64_t T, double* reached, double* A) {
  const std::int64_t L = c.n_labels, Lp = m.padded_labels;
  std::fill(reached, reached + L, 1.0);
  std::fill(reached + L, reached + Lp, 0.0);
  for (std::int64_t t = 0; t < T; ++t, slot += step) {
    double* a = A + t * Lp;
    if constexpr (ChainOf<S>::kRows)
      for (std::int64_t y = 0; y < Lp; y += kLanes) store8(a + y, load8(c.scores + c.at(y, slot)));
    else
      for (std::int64_t y = 0; y < L; ++y) a[y] = c.scores[c.at(y, slot)];
    std::fill(a + L, a + Lp, a[0]);
    double8 high = load8(a), total{};
    for (std::int64_t y = kLanes; y < Lp; y += kLanes) high = max(high, load8(a + y));
    const double highest = largest(high);
    if (t > 0) product(a - Lp, m.forward.get(), m.listed_forward, L, Lp, reached);
    for (std::int64_t y = 0; y < Lp; y += kLanes) {
      const double8 v = exp8(load8(a + y) - highest) * load8(reached + y);
      total += v;
      store8(a + y, v);
    }
    const double all = sum(total);
    for (std::int64_t y = 0; y < Lp; y += kLanes) store8(a + y, load8(a + y) / all);
  }
}

// Cumulative sums of A_t(y) exp Lambda(y, next) over eights of labels, one list for each next label that
// a draw has. Within its eight a draw adds up one by one.
class Conditional {
 public:
  Conditional(const Transitions<double>& m, std::int64_t L)
      : m_(m), L_(L), n_(m.padded_labels / kLanes), end_(m.padded_labels, 1.0), sums_((L + 1) * n_),
        known_(L + 1) {}
  void forget() { std::fill(known_.begin(), known_.end(), 0); }
  PROXQN_INLINE std::int32_t draw(const double* a, std::int32_t next, double u) {
    const double* onward = next < L_ ? m_.backward.get() + next * m_.padded_labels : end_.data();
    double* sums = sums_.data() + next * n_;
    if (!known_[next]) {
      double total = 0.0;
      for (std::int64_t i = 0; i < n_; ++i)
        sums[i] = total += sum(load8(a + i * kLanes) * load8(onward + i * kLanes));
      known_[next] = 1;
    }
    const double at = u * sums[n_ - 1];
    std::int64_t eight = 0;
    while (eight < n_ - 1 && sums[eight] <= at) ++eight;
    double below = eight > 0 ? sums[eight - 1] : 0.0;
    std::int64_t y = eight * kLanes;
    const std::int64_t last = std::min(L_, y + kLanes) - 1;
    while (y < last && (below += a[y] * onward[y]) <= at) ++y;
    return static_cast<std::int32_t>(y);
  }

 private:
  const Transitions<double>& m_;
  std::int64_t L_, n_;                 // n eights
  std::vector<double> end_;            // [Lp] ones: nothing comes after the end of a sequence
  std::vector<double> sums_;           // [L+1][n], the last for the end
  std::vector<std::uint8_t> known_;
};

// Draw 2 n_pairs labelings, backwards: paths [2 n_pairs][T].
PROXQN_INLINE void draw_paths(const double* A, const Transitions<double>& m, std::int64_t L,
                              std::int64_t T, std::int64_t n, SplitMix64& random,
                              Conditional& conditional, std::int32_t* paths) {
  for (std::int64_t t = T - 1; t >= 0; --t) {
    conditional.forget();
    for (std::int64_t i = 0; i < n; ++i) {
      const auto next = t + 1 < T ? paths[i * T + t + 1] : static_cast<std::int32_t>(L);
      paths[i * T + t] = conditional.draw(A + t * m.padded_labels, next, random.uniform());
    }
  }
}

inline void add_runs(const std::int32_t* paths, std::int64_t n_pairs, std::int64_t T, std::int64_t L,
                     std::int64_t slot, std::int64_t step, float scale, Draws& out) {
  for (std::int64_t pair = 0; pair < n_pairs; ++pair) {
    const std::int32_t *y = paths + 2 * pair * T, *z = y + T;
    std::int32_t run = -1;
    for (std::int64_t t = 0; t < T; ++t) {
      const bool before = t > 0 && y[t - 1] != z[t - 1], here = y[t] != z[t];
      if (here && !before) {
        run = static_cast<std::int32_t>(out.scale.size());
        out.scale.push_back(scale);
      }
      if (here) {
        out.slot.push_back(static_cast<std::int32_t>(slot + t * step));
        out.run.push_back(run);
        out.first.push_back(y[t]);
        out.second.push_back(z[t]);
      }
      if (t > 0 && (here || before)) {
        out.edge_run.push_back(run);
        out.edge_first.push_back(static_cast<std::int32_t>(y[t - 1] * L + y[t]));
        out.edge_second.push_back(static_cast<std::int32_t>(z[t - 1] * L + z[t]));
      }
    }
  }
}

template <class S>
PROXQN_INLINE void draw_batches(const ChainOf<S>& c, const Transitions<double>& m, std::int64_t first,
                                std::int64_t last, const Sampling& how, Draws& out) {
  Conditional conditional(m, c.n_labels);
  std::vector<double> A, reached(m.padded_labels);
  std::vector<std::int32_t> paths;
  for (std::int64_t b = first; b < last; ++b)
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::int64_t T = c.lane_length[b * kLanes + lane];
      if (T == 0) continue;
      const std::int64_t sequence = c.lane_sequence[b * kLanes + lane];
      SplitMix64 random{how.seed + 0xD1342543DE82EF95ULL * static_cast<std::uint64_t>(sequence + 1)};
      if (how.share < 1.0 && random.uniform() >= how.share) continue;
      const double weight = c.weights ? c.weights[sequence] : 1.0;
      const double n_draws = 2.0 * static_cast<double>(how.n_pairs) * how.share;
      A.resize(T * m.padded_labels);
      paths.resize(2 * how.n_pairs * T);
      filter(c, m, c.first[b] + lane, c.width[b], T, reached.data(), A.data());
      draw_paths(A.data(), m, c.n_labels, T, 2 * how.n_pairs, random, conditional, paths.data());
      add_runs(paths.data(), how.n_pairs, T, c.n_labels, c.first[b] + lane, c.width[b],
               static_cast<float>(std::sqrt(weight / n_draws)), out);
    }
}
PROXQN_CLONES void draw_chunk(const ChainOf<double>& c, const Transitions<double>& m,
                              std::int64_t first, std::int64_t last, const Sampling& how, Draws& out) {
  draw_batches(c, m, first, last, how, out);
}
PROXQN_CLONES void draw_chunk(const ChainOf<float>& c, const Transitions<double>& m,
                              std::int64_t first, std::int64_t last, const Sampling& how, Draws& out) {
  draw_batches(c, m, first, last, how, out);
}

// Runs are numbered in the order of the parts.
inline Draws join(std::vector<Draws>& parts, int n_jobs) {
  struct Sizes {
    std::size_t tokens = 0, edges = 0, runs = 0;
  };
  std::vector<Sizes> before{{}};
  for (const Draws& part : parts)
    before.push_back({before.back().tokens + part.slot.size(),
                      before.back().edges + part.edge_run.size(),
                      before.back().runs + part.scale.size()});
  Draws all;
  for (auto* tokens : {&all.slot, &all.run, &all.first, &all.second})
    tokens->resize(before.back().tokens);
  for (auto* edges : {&all.edge_run, &all.edge_first, &all.edge_second})
    edges->resize(before.back().edges);
  all.scale.resize(before.back().runs);
  parallel_for(static_cast<std::int64_t>(parts.size()), n_jobs, [&](std::int64_t i) {
    Draws& part = parts[i];
    const Sizes& at = before[i];
    for (auto& run : part.run) run += static_cast<std::int32_t>(at.runs);
    for (auto& run : part.edge_run) run += static_cast<std::int32_t>(at.runs);
    const auto copy = [](const auto& from, auto& to, std::size_t place) {
      std::copy(from.begin(), from.end(), to.begin() + static_cast<std::ptrdiff_t>(place));
    };
    copy(part.slot, all.slot, at.tokens);
    copy(part.run, all.run, at.tokens);
    copy(part.first, all.first, at.tokens);
    copy(part.second, all.second, at.tokens);
    copy(part.edge_run, all.edge_run, at.edges);
    copy(part.edge_first, all.edge_first, at.edges);
    copy(part.edge_second, all.edge_second, at.edges);
    copy(part.scale, all.scale, at.runs);
    part = Draws{};
  });
  return all;
}

// Each chunk draws on its own.
template <class S>
Draws draw(const ChainOf<S>& c, const Sampling& how, int n_jobs) {
  const Transitions<double> m(c.transitions, c.n_labels);
  std::vector<Draws> parts(c.n_chunks);
  parallel_for(c.n_chunks, n_jobs, [&](std::int64_t i) {
    draw_chunk(c, m, c.chunk[i], c.chunk[i + 1], how, parts[i]);
  });
  return join(parts, n_jobs);
}

// Columns of a sparse matrix. An entry may stand twice; then it is the sum.
struct Columns {
  std::vector<std::int64_t> start;   // [n+1]
  std::vector<std::int32_t> row;
  std::vector<float> value;
};
struct ColumnsView {
  const std::int64_t* start;  // [n+1]
  std::int64_t n;
  const std::int32_t* row;
  const float* value;
};

// The tokens of runs, by slot. Few slots have any: a bit tells which, and the bits before it which number
// such a slot has.
struct RunTokens {
  struct Token {
    std::int32_t run, first, second;
    float scale;
  };
  std::vector<std::uint64_t> bits;   // [n_slots / 64 + 1]
  std::vector<std::int32_t> before;  // [as many] slots with tokens
  std::vector<std::int32_t> begin;   // [slots with tokens + 2]; the last for filling
  std::vector<Token> tokens;

  PROXQN_INLINE bool has(std::int32_t slot) const { return bits[slot / 64] >> slot % 64 & 1; }
  PROXQN_INLINE std::int32_t number(std::int32_t slot) const {  // of a slot that has tokens
    const std::uint64_t earlier = (std::uint64_t{1} << slot % 64) - 1;
    return before[slot / 64] + std::popcount(bits[slot / 64] & earlier);
  }
};

PROXQN_CLONES RunTokens sort_by_slot(std::int64_t n_slots, std::int64_t n, const std::int32_t* slot,
                                     const std::int32_t* run, const std::int32_t* first,
                                     const std::int32_t* second, const float* scale) {
  RunTokens x;
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
    x.tokens[x.begin[x.number(slot[i]) + 1]++] = {run[i], first[i], second[i], scale[run[i]]};
  return x;
}

// Entries of J in the order of a column's slots. Most of what is looked at is not wanted, which no
// processor foresees: it is written all the same, and overwritten by the next.
class RunEntries {
 public:
  struct Entry {
    std::int32_t coordinate, row;
    float value;
  };
  std::vector<Entry> all;

  // Adds those of the coordinates [begin, end), which are of one column.
  PROXQN_CLONES void add(const Features& f, const RunTokens& tokens, const std::int64_t* coordinates,
           std::int64_t begin, std::int64_t end, std::int64_t L) {
    const std::int64_t column = coordinates[begin] / L, first = f.start[column];
    const std::int64_t n = f.start[column + 1] - first;
    const double* values = f.column_values(column);
    place_.resize(L, -1);
    for (std::int64_t j = begin; j < end; ++j) place_[coordinates[j] % L] = static_cast<std::int32_t>(j);
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
        const RunTokens::Token& token = tokens.tokens[k];
        const auto v = static_cast<float>(x * token.scale);
        *to = {place_[token.first], token.run, v};
        to += to->coordinate >= 0;
        *to = {place_[token.second], token.run, -v};
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

// Label pairs at the edges of runs: in the one labeling y L + y', and in the other.
struct RunEdges {
  const std::int32_t *run, *first, *second;
  std::int64_t n;
};

// How often each of some label pairs, ascending, is met by the one labeling of a run, less how often by
// the other.
inline Columns pair_columns(const std::int64_t* pairs, std::int64_t n, std::int64_t n_pairs,
                            const RunEdges& edges, const float* scale) {
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
  J.row.resize(J.start[n] + 1);  // what is not wanted goes to the last: no processor foresees a branch
  J.value.resize(J.start[n] + 1);
  std::vector<std::int64_t> next = J.start;
  each([&](std::int32_t i, std::int64_t e, float sign) {
    J.row[next[i]] = edges.run[e];
    J.value[next[i]] = sign * scale[edges.run[e]];
    next[i] += i < n;
  });
  J.row.pop_back();
  J.value.pop_back();
  return J;
}

// J on some coordinates c L + y, those of a column together, and after them on label pairs.
struct DrawnColumns {
  std::vector<std::int64_t> start;
  Lines<std::int32_t> row{0};
  Lines<float> value{0};
};
inline DrawnColumns drawn_columns(const Features& f, const std::int64_t* coordinates, std::int64_t n,
                                  std::int64_t L, const RunTokens& tokens, const Columns& pairs,
                                  int n_jobs) {
  constexpr std::int64_t chunk = 64;       // coordinates, and all that are left of the last column
  std::vector<std::int64_t> bounds(1, 0);  // of chunks of coordinates
  for (std::int64_t j = chunk; j < n; ++j)
    if (j - bounds.back() >= chunk && coordinates[j] / L != coordinates[j - 1] / L) bounds.push_back(j);
  bounds.push_back(n);
  const auto n_chunks = static_cast<std::int64_t>(bounds.size()) - 1;
  std::vector<std::vector<RunEntries::Entry>> found(n_chunks);
  DrawnColumns J;
  J.start.assign(n + 1, 0);
  parallel_for(n_chunks, n_jobs, [&](std::int64_t i) {
    RunEntries entries;
    for (std::int64_t begin = bounds[i], end; begin < bounds[i + 1]; begin = end) {
      for (end = begin + 1; end < n && coordinates[end] / L == coordinates[begin] / L;) ++end;
      entries.add(f, tokens, coordinates, begin, end, L);
    }
    found[i] = std::move(entries.all);
    for (const auto& x : found[i]) ++J.start[x.coordinate + 1];
  });
  std::partial_sum(J.start.begin(), J.start.end(), J.start.begin());
  const std::int64_t n_states = J.start[n];
  for (std::size_t i = 1; i < pairs.start.size(); ++i) J.start.push_back(n_states + pairs.start[i]);
  J.row = Lines<std::int32_t>(J.start.back() + 1);  // NumPy takes no null
  J.value = Lines<float>(J.start.back() + 1);
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

}  // namespace proxqn
