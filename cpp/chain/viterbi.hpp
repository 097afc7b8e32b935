// The most probable labels of each sequence, in the layout of layout.hpp.
#pragma once
#include <cstdint>

#include "chain/layout.hpp"

namespace proxqn::chain {

// path[stride]: ties go to the smaller label.
void viterbi(const Chain& c, int n_jobs, std::int32_t* path);

}  // namespace proxqn::chain
