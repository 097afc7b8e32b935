// The forks of one sequence (forks.hpp), from its last token to its first.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/simd.hpp"
#include "chain/forks.hpp"
#include "chain/transitions.hpp"

namespace proxqn::chain {

constexpr double kRare =
    0.125;  // of the least weight: labels below it part from the likeliest alone
constexpr double kUnlikely = 1.0 / 32;  // of it: a label behind
constexpr double kAlike = 0.02;         // difference of probabilities: two labels lead to the same

class ForkFinder {
 public:
  ForkFinder(const Transitions<double>& m, std::int64_t L, const Forking& how)
      : m_(m), L_(L), Lp_(m.padded_labels), least_(how.least), traced_(how.traced), behind_(Lp_),
        here_(Lp_), p_(Lp_), past_(Lp_), onward_(Lp_), end_(Lp_, 0.0), differs_(Lp_) {
    std::fill_n(end_.begin(), L_, 1.0);
  }

  // From the filter A [T][Lp]; `carry` in [0, least): what has been met that is no row yet. Slots from
  // `slot` on, `stride` apart; squares of entries are times `scale`.
  PROXQN_INLINE void find(const double* A, std::int64_t T, std::int64_t slot, std::int64_t stride,
                          double carry, double scale, Draws& out) {
    A_ = A, slot_ = slot, stride_ = stride, carry_ = carry, scale_ = scale;
    for (std::int64_t t = T - 1; t >= 0; --t) {
      std::fill(here_.begin(), here_.end(), 0.0);
      if (t == T - 1) look(t, -1, 1.0, out);
      else
        for (std::int64_t b = 0; b < L_; ++b)
          if (behind_[b] > kUnlikely * least_) look(t, b, behind_[b], out);
      std::swap(here_, behind_);
    }
  }

 private:
  // p = P(y_t | y_{t+1} = b); b = -1: nothing is behind. Zeros where b is out of reach, as rounded.
  PROXQN_INLINE void condition(std::int64_t t, std::int64_t b, double* p) const {
    const double *a = A_ + t * Lp_, *onward = b < 0 ? end_.data() : m_.backward.get() + b * Lp_;
    double8 total{};
    for (std::int64_t y = 0; y < Lp_; y += kLanes) {
      const double8 v = load8(a + y) * load8(onward + y);
      total += v;
      store8(p + y, v);
    }
    const double all = sum(total);
    if (!(all >= std::numeric_limits<double>::min())) {
      std::fill_n(p, Lp_, 0.0);
      return;
    }
    const double inverse = 1.0 / all;
    for (std::int64_t y = 0; y < Lp_; y += kLanes) store8(p + y, load8(p + y) * inverse);
  }

  // The forks at t before b, which is there with probability q.
  PROXQN_INLINE void look(std::int64_t t, std::int64_t b, double q, Draws& out) {
    double* p = p_.data();
    condition(t, b, p);
    double8 squares{};
    for (std::int64_t y = 0; y < Lp_; y += kLanes) {
      const double8 v = load8(p + y);
      squares += v * v;
      store8(here_.data() + y, load8(here_.data() + y) + q * v);
    }
    const double square = sum(squares), total = 0.5 * q * (1.0 - square);
    if (square == 0.0) return;
    if (carry_ + total < least_) {
      carry_ += std::max(total, 0.0);
      return;
    }
    const std::int64_t top = std::max_element(p, p + L_) - p;
    usual_.clear();
    double usual = 0.0;
    for (std::int64_t y = 0; y < L_; ++y)
      if (y == top || q * p[y] >= kRare * least_) {
        usual_.push_back(static_cast<std::int32_t>(y));
        usual += p[y];
      }
    for (std::size_t i = 0; i < usual_.size(); ++i)
      for (std::size_t k = i + 1; k < usual_.size(); ++k)
        meet(t, b, usual_[i], usual_[k], q * p[usual_[i]] * p[usual_[k]], out);
    const double rare = std::max(1.0 - usual, 0.0);
    std::size_t i = 0;
    for (std::int64_t y = 0; y < L_; ++y)
      if (i < usual_.size() && usual_[i] == y) ++i;
      else meet(t, b, top, y, q * p[y] * (usual + 0.5 * std::max(rare - p[y], 0.0)), out);
  }

  PROXQN_INLINE void meet(std::int64_t t, std::int64_t b, std::int64_t y, std::int64_t z,
                          double weight, Draws& out) {
    if (weight < least_) {
      carry_ += weight;
      if (carry_ < least_) return;
      carry_ -= least_;
    }
    write(t, b, y, z, std::max(weight, least_), out);
  }

  void write(std::int64_t t, std::int64_t b, std::int64_t y, std::int64_t z, double weight,
             Draws& out) {
    const auto row = static_cast<std::int32_t>(out.weight.size());
    const double root = std::sqrt(scale_ * weight);
    out.weight.push_back(static_cast<float>(weight / least_));
    if (!traced_) return;
    add_token(t, row, y, z, root, out);
    if (b >= 0) add_edge(row, y * L_ + b, z * L_ + b, root, out);
    differs_[0] = {std::min(y, z), y < z ? 1.0 : -1.0};
    differs_[1] = {std::max(y, z), y < z ? -1.0 : 1.0};
    std::int64_t n = 2;
    for (std::int64_t s = t - 1; s >= 0 && n > 0; --s) {
      std::fill(past_.begin(), past_.end(), 0.0);
      gained_.clear(), lost_.clear();
      for (std::int64_t i = 0; i < n; ++i) {
        const auto [a, d] = differs_[i];
        condition(s, a, onward_.data());
        for (std::int64_t k = 0; k < L_; ++k) {
          const double v = d * onward_[k];
          past_[k] += v;
          if (std::fabs(v) > kAlike)
            (v > 0.0 ? gained_ : lost_).push_back({k * L_ + a, std::fabs(v)});
        }
      }
      pair_up([&](std::int64_t one, std::int64_t other, double by) {
        add_edge(row, one, other, root * by, out);
      });
      n = 0;
      gained_.clear(), lost_.clear();
      for (std::int64_t k = 0; k < L_; ++k)
        if (std::fabs(past_[k]) > kAlike) {
          differs_[n++] = {k, past_[k]};
          (past_[k] > 0.0 ? gained_ : lost_).push_back({k, std::fabs(past_[k])});
        }
      pair_up([&](std::int64_t one, std::int64_t other, double by) {
        add_token(s, row, one, other, root * by, out);
      });
    }
  }

  // What is gained and what is lost, as moves from one to the other.
  template <class Body>
  void pair_up(const Body& body) {
    for (std::size_t i = 0, k = 0; i < gained_.size() && k < lost_.size();) {
      const double by = std::min(gained_[i].by, lost_[k].by);
      body(gained_[i].what, lost_[k].what, by);
      const bool more = gained_[i].by > lost_[k].by;
      gained_[i].by -= by, lost_[k].by -= by;
      if (more) ++k;
      else ++i;
    }
  }

  void add_token(std::int64_t t, std::int32_t row, std::int64_t y, std::int64_t z, double value,
                 Draws& out) const {
    out.slot.push_back(static_cast<std::int32_t>(slot_ + t * stride_));
    out.row.push_back(row);
    out.first.push_back(static_cast<std::int32_t>(y));
    out.second.push_back(static_cast<std::int32_t>(z));
    out.value.push_back(static_cast<float>(value));
  }
  static void add_edge(std::int32_t row, std::int64_t one, std::int64_t other, double value,
                       Draws& out) {
    out.edge_row.push_back(row);
    out.edge_first.push_back(static_cast<std::int32_t>(one));
    out.edge_second.push_back(static_cast<std::int32_t>(other));
    out.edge_value.push_back(static_cast<float>(value));
  }

  struct Difference {  // of probabilities, by label or by label pair
    std::int64_t what;
    double by;
  };

  const Transitions<double>& m_;
  std::int64_t L_, Lp_;
  double least_;
  bool traced_;
  std::vector<double> behind_, here_;      // P(y_{t+1}), P(y_t)
  std::vector<double> p_, past_, onward_;  // [Lp]
  std::vector<double> end_;                // [Lp] ones
  std::vector<Difference> differs_;        // [Lp] labels that still do
  std::vector<Difference> gained_, lost_;
  std::vector<std::int32_t> usual_;
  const double* A_ = nullptr;
  std::int64_t slot_ = 0, stride_ = 0;
  double carry_ = 0.0, scale_ = 1.0;
};

}  // namespace proxqn::chain
