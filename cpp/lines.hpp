// Arrays that begin on a cache line, so that no register is loaded from two.
#pragma once
#include <cstdint>
#include <memory>
#include <utility>

namespace proxqn {

template <class S>
class Lines {
 public:
  explicit Lines(std::int64_t n) : lines_(n > 0 ? new Line[n_lines(n)] : nullptr) {}  // not yet set
  static Lines zeros(std::int64_t n) { return Lines(std::make_unique<Line[]>(n_lines(n))); }
  S* data() { return lines_ ? lines_[0].values : nullptr; }
  const S* data() const { return lines_ ? lines_[0].values : nullptr; }
  S& operator[](std::int64_t i) { return data()[i]; }

 private:
  static constexpr std::int64_t kLine = 64 / sizeof(S);
  struct alignas(64) Line {
    S values[kLine];
  };
  static std::int64_t n_lines(std::int64_t n) { return (n + kLine - 1) / kLine; }
  explicit Lines(std::unique_ptr<Line[]> lines) : lines_(std::move(lines)) {}

  std::unique_ptr<Line[]> lines_;
};

}  // namespace proxqn
