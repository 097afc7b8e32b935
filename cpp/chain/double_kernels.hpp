// Forward and backward over the batches of a chunk in double precision: the recursions of
// forward_backward.hpp.
#pragma once
#include <cstdint>

#include "chain/layout.hpp"
#include "chain/transitions.hpp"

namespace proxqn::chain {

// Writes the losses of the chunk's sequences, A_t and c_t, and which batches were done in the log domain.
void forward_chunk(const Chain& c, const Transitions<double>& m, std::int64_t chunk,
                   double* losses);
// Adds the chunk's pair counts to G [L][L].
void backward_chunk(const Chain& c, const Transitions<double>& m, std::int64_t chunk, double* G);

}  // namespace proxqn::chain
