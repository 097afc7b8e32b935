#include "chain/float_kernels.hpp"

#include <stdexcept>

namespace proxqn::chain {

// Calls body(the kernels' forward_chunk, their backward_chunk).
template <class Body>
static void with_best_kernels(const Body& body) {
#if PROXQN_HAS_V4
  if (register_bytes() == 64) return body(v4::forward_chunk, v4::backward_chunk);
#endif
#if PROXQN_HAS_V3
  if (register_bytes() >= 32) return body(v3::forward_chunk, v3::backward_chunk);
#endif
#if PROXQN_HAS_PLAIN
  return body(plain::forward_chunk, plain::backward_chunk);
#endif
  throw std::runtime_error("these kernels were built for another processor (PROXQN_ONE_TARGET)");
}

void forward_chunk(const ChainOf<float>& c, const Transitions<float>& m, std::int64_t chunk,
                   double* losses) {
  with_best_kernels([&](auto forward, auto) { forward(c, m, chunk, losses); });
}
void backward_chunk(const ChainOf<float>& c, const Transitions<float>& m, std::int64_t chunk,
                    double* G) {
  with_best_kernels([&](auto, auto backward) { backward(c, m, chunk, G); });
}

}  // namespace proxqn::chain
