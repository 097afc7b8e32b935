#include "chain/forward_backward.hpp"

#include <algorithm>
#include <vector>

#include "base/aligned_array.hpp"
#include "base/parallel.hpp"
#include "chain/double_kernels.hpp"
#include "chain/float_kernels.hpp"
#include "chain/transitions.hpp"

namespace proxqn::chain {

template <class S>
bool forward_all(const ChainOf<S>& c, int n_jobs, double* losses) {
  const Transitions<S> m(c.transitions, c.n_labels);
  parallel_for(c.n_chunks, n_jobs, [&](std::int64_t chunk) { forward_chunk(c, m, chunk, losses); });
  return std::none_of(c.log_domain, c.log_domain + c.n_batches, [](auto b) { return b != 0; });
}

// pairs[L][L] = the sum of what the chunks have found.
static void add_chunks(const std::vector<double>& parts, std::int64_t size, double* pairs) {
  std::fill(pairs, pairs + size, 0.0);
  for (std::size_t i = 0; i < parts.size(); ++i) pairs[i % size] += parts[i];
}

template <class S>
void backward_all(const ChainOf<S>& c, int n_jobs, double* pairs) {
  const Transitions<S> m(c.transitions, c.n_labels);
  const std::int64_t size = c.n_labels * c.n_labels;
  std::vector<double> parts(c.n_chunks * size, 0.0);
  parallel_for(c.n_chunks, n_jobs, [&](std::int64_t chunk) {
    backward_chunk(c, m, chunk, parts.data() + chunk * size);
  });
  add_chunks(parts, size, pairs);
}

bool forward(const Chain& c, int n_jobs, double* losses) { return forward_all(c, n_jobs, losses); }
bool forward(const ChainOf<float>& c, int n_jobs, double* losses) {
  return forward_all(c, n_jobs, losses);
}
void backward(const Chain& c, int n_jobs, double* pairs) { backward_all(c, n_jobs, pairs); }
void backward(const ChainOf<float>& c, int n_jobs, double* pairs) {
  backward_all(c, n_jobs, pairs);
}

void evaluate(const Chain& c, int n_jobs, const PutScores& put, double* losses, double* pairs) {
  constexpr std::int64_t room = 1 << 19;  // doubles: a window costs a search in every column
  const Transitions<double> m(c.transitions, c.n_labels);
  const std::int64_t size = c.n_labels * c.n_labels;
  const std::int64_t n = std::min(
      c.n_chunks, std::max<std::int64_t>(c.n_labels * c.stride / room, 2 * n_jobs));  // windows
  std::vector<double> parts(c.n_chunks * size, 0.0);
  auto first_slot = [&](std::int64_t chunk) {
    return chunk < c.n_chunks ? c.first[c.chunk[chunk]] : c.stride;
  };
  parallel_for(n, n_jobs, [&](std::int64_t i) {
    const std::int64_t first = i * c.n_chunks / n, last = (i + 1) * c.n_chunks / n;
    Chain part = c;
    part.window = first_slot(first);
    part.window_stride = first_slot(last) - part.window;
    auto scores = scratch(c.n_labels * part.window_stride), scale = scratch(part.window_stride);
    put(part.window, part.window + part.window_stride, scores.get());
    part.scores = scores.get();
    part.scale = scale.get();
    for (std::int64_t chunk = first; chunk < last; ++chunk) {
      forward_chunk(part, m, chunk, losses);
      backward_chunk(part, m, chunk, parts.data() + chunk * size);
    }
  });
  add_chunks(parts, size, pairs);
}

}  // namespace proxqn::chain
