#include "chain/draws.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/parallel.hpp"
#include "base/random.hpp"
#include "base/simd.hpp"
#include "chain/labelings.hpp"
#include "chain/transitions.hpp"

namespace proxqn::chain {

// Runs of tokens [first, last) on which two labelings differ; the one has the smaller label on the first.
struct Run {
  std::int64_t first, last;
  const std::int32_t *one, *other;  // labels at 0, then every `step` of them one token on
};

// The runs of one sequence. Equal ones, with the same labels on them and beside them, become one row.
class Runs {
 public:
  Runs(const Labelings& labelings, std::int64_t size, std::int64_t T, std::int64_t L)
      : labelings_(labelings), size_(size), step_(2 * size), T_(T), L_(L) {}

  PROXQN_INLINE void find() {
    std::vector<std::int64_t> begin(size_, -1);  // of the run that each pair of labelings is in
    bool any = false;
    for (std::int64_t t = 0; t <= T_; ++t) {
      const bool mixed = t < T_ && labelings_.mixed(t);
      if (!mixed && !any) continue;
      any = mixed;
      for (std::int64_t i = 0; i < size_; ++i) {
        const bool differ = mixed && labelings_.at(t)[i] != labelings_.at(t)[size_ + i];
        if (differ && begin[i] < 0) begin[i] = t;
        if (!differ && begin[i] >= 0) {
          add(begin[i], t, i);
          begin[i] = -1;
        }
      }
    }
    std::sort(runs_.begin(), runs_.end(),
              [this](const Run& a, const Run& b) { return compare(a, b) < 0; });
  }

  // Writes the rows: slots from `slot` on, `stride` apart; `square` is that of an entry of one draw.
  void write(std::int64_t slot, std::int64_t stride, double square, Draws& out) const {
    for (std::size_t i = 0, next; i < runs_.size(); i = next) {
      for (next = i + 1; next < runs_.size() && compare(runs_[i], runs_[next]) == 0;) ++next;
      const Run& run = runs_[i];
      const auto row = static_cast<std::int32_t>(out.weight.size());
      const auto count = static_cast<double>(next - i);
      const auto value = static_cast<float>(std::sqrt(count * square));
      out.weight.push_back(static_cast<float>(count));
      for (std::int64_t t = run.first; t < run.last; ++t) {
        out.slot.push_back(static_cast<std::int32_t>(slot + t * stride));
        out.row.push_back(row);
        out.value.push_back(value);
        out.first.push_back(one(run, t));
        out.second.push_back(other(run, t));
      }
      for (std::int64_t t = std::max<std::int64_t>(run.first, 1); t < std::min(run.last + 1, T_);
           ++t) {
        out.edge_row.push_back(row);
        out.edge_value.push_back(value);
        out.edge_first.push_back(static_cast<std::int32_t>(one(run, t - 1) * L_ + one(run, t)));
        out.edge_second.push_back(
            static_cast<std::int32_t>(other(run, t - 1) * L_ + other(run, t)));
      }
    }
  }

 private:
  void add(std::int64_t first, std::int64_t last, std::int64_t i) {
    const std::int32_t *y = labelings_.at(0) + i, *z = y + size_;
    if (z[first * step_] < y[first * step_]) std::swap(y, z);
    runs_.push_back({first, last, y, z});
  }
  std::int32_t one(const Run& run, std::int64_t t) const { return run.one[t * step_]; }
  std::int32_t other(const Run& run, std::int64_t t) const { return run.other[t * step_]; }

  // By place, then by labels, from the one before to the one behind.
  PROXQN_INLINE std::int64_t compare(const Run& a, const Run& b) const {
    if (a.first != b.first) return a.first - b.first;
    if (a.last != b.last) return a.last - b.last;
    for (std::int64_t t = std::max<std::int64_t>(a.first - 1, 0); t < std::min(a.last + 1, T_);
         ++t) {
      if (one(a, t) != one(b, t)) return one(a, t) - one(b, t);
      if (other(a, t) != other(b, t)) return other(a, t) - other(b, t);
    }
    return 0;
  }

  const Labelings& labelings_;
  std::int64_t size_, step_, T_, L_;
  std::vector<Run> runs_;
};

template <class S>
PROXQN_INLINE void draw_batches(const ChainOf<S>& c, const Transitions<double>& m,
                                std::int64_t first, std::int64_t last, const Sampling& how,
                                Draws& out) {
  Labelings labelings(m, c.n_labels, how.n_pairs);
  std::vector<double> A, reached(m.padded_labels);
  for (std::int64_t b = first; b < last; ++b)
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::int64_t T = c.lane_length[b * kLanes + lane];
      if (T == 0) continue;
      const std::int64_t sequence = c.lane_sequence[b * kLanes + lane];
      SplitMix64 random{how.seed +
                        0xD1342543DE82EF95ULL * static_cast<std::uint64_t>(sequence + 1)};
      if (how.share < 1.0 && random.uniform() >= how.share) continue;
      const double weight = c.weights ? c.weights[sequence] : 1.0;
      const double n_draws = 2.0 * static_cast<double>(how.n_pairs) * how.share;
      A.resize(T * m.padded_labels);
      filter(c, m, c.first[b] + lane, c.width[b], T, reached.data(), A.data());
      labelings.draw(A.data(), T, random());
      Runs runs(labelings, how.n_pairs, T, c.n_labels);
      runs.find();
      runs.write(c.first[b] + lane, c.width[b], weight / n_draws, out);
    }
}
PROXQN_CLONES void draw_chunk(const ChainOf<double>& c, const Transitions<double>& m,
                              std::int64_t first, std::int64_t last, const Sampling& how,
                              Draws& out) {
  draw_batches(c, m, first, last, how, out);
}
PROXQN_CLONES void draw_chunk(const ChainOf<float>& c, const Transitions<double>& m,
                              std::int64_t first, std::int64_t last, const Sampling& how,
                              Draws& out) {
  draw_batches(c, m, first, last, how, out);
}

Draws join(std::vector<Draws>& parts, int n_jobs) {
  struct Sizes {
    std::size_t tokens = 0, edges = 0, rows = 0;
  };
  std::vector<Sizes> before{{}};
  for (const Draws& part : parts)
    before.push_back({before.back().tokens + part.slot.size(),
                      before.back().edges + part.edge_row.size(),
                      before.back().rows + part.weight.size()});
  Draws all;
  for (auto* tokens : {&all.slot, &all.row, &all.first, &all.second})
    tokens->resize(before.back().tokens);
  for (auto* edges : {&all.edge_row, &all.edge_first, &all.edge_second})
    edges->resize(before.back().edges);
  all.value.resize(before.back().tokens);
  all.edge_value.resize(before.back().edges);
  all.weight.resize(before.back().rows);
  parallel_for(static_cast<std::int64_t>(parts.size()), n_jobs, [&](std::int64_t i) {
    Draws& part = parts[i];
    const Sizes& at = before[i];
    for (auto& row : part.row) row += static_cast<std::int32_t>(at.rows);
    for (auto& row : part.edge_row) row += static_cast<std::int32_t>(at.rows);
    const auto copy = [](const auto& from, auto& to, std::size_t place) {
      std::copy(from.begin(), from.end(), to.begin() + static_cast<std::ptrdiff_t>(place));
    };
    copy(part.slot, all.slot, at.tokens);
    copy(part.row, all.row, at.tokens);
    copy(part.first, all.first, at.tokens);
    copy(part.second, all.second, at.tokens);
    copy(part.value, all.value, at.tokens);
    copy(part.edge_row, all.edge_row, at.edges);
    copy(part.edge_first, all.edge_first, at.edges);
    copy(part.edge_second, all.edge_second, at.edges);
    copy(part.edge_value, all.edge_value, at.edges);
    copy(part.weight, all.weight, at.rows);
    part = Draws{};
  });
  return all;
}

template <class S>
Draws draw_all(const ChainOf<S>& c, const Sampling& how, int n_jobs) {
  const Transitions<double> m(c.transitions, c.n_labels);
  std::vector<Draws> parts(c.n_chunks);
  parallel_for(c.n_chunks, n_jobs, [&](std::int64_t i) {
    may_throw([&] { draw_chunk(c, m, c.chunk[i], c.chunk[i + 1], how, parts[i]); });
  });
  return join(parts, n_jobs);
}

Draws draw(const Chain& c, const Sampling& how, int n_jobs) { return draw_all(c, how, n_jobs); }
Draws draw(const ChainOf<float>& c, const Sampling& how, int n_jobs) {
  return draw_all(c, how, n_jobs);
}

}  // namespace proxqn::chain
