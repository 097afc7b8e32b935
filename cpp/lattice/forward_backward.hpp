// Inference on chains beyond chain/forward_backward.hpp: transition scores that depend on the step (edge_weights.hpp), and
// true labels that are not all known.
//
// One sequence at a time, on rows [Lp] with the labels side by side, as in chain/one_sequence.hpp. Row
// token_start[i] + t belongs to token t of sequence i. A sequence whose labels are not all known has
// a twin: a second run of rows, in which only the allowed labels of each token are possible, with
// the opposite sign. Its loss is log Z - log Z(allowed), its residuals P - P(allowed); with one
// allowed label a token these are the usual ones.
//
// The recursion and its scaling are those of chain/forward_backward.hpp, with M_t = exp(Lambda + E_t - Lmax): E_t
// multiplies a few entries of the shared matrix, which are put back after the step. The range that
// decides between it and the log domain is that of Lambda and of all the weights of the step.
#pragma once
#include <cstdint>

#include "chain/layout.hpp"
#include "lattice/edge_weights.hpp"

namespace proxqn::lattice {

struct Lattice {
  chain::Chain chain;  // alpha: residuals [L][stride], written by backward
  std::int64_t n_tokens;
  const std::int64_t* token_start;  // [n_sequences+1]
  const std::int32_t* pattern;      // [n_tokens] of the step into the token, -1 for none
  const std::int64_t* twin;         // [n_sequences] first row of its twin, -1 for none; or null
  const std::uint8_t* allowed;      // [rows of twins][L]
  const EdgeScores* edges;
  double* alpha;    // [n_rows][Lp] after forward: A_t, or its log
  double* onward;   // [n_rows][Lp] after backward: v_t of chain/forward_backward.hpp, or its log
  double* inverse;  // [n_rows] 1 / c_t
  std::uint8_t* log_domain;  // [n_rows]
};

// The loss of every sequence.
void forward(const Lattice& l, int n_jobs, double* losses);

// After forward. pairs[L][L] = sum of weight * (P - P(allowed)) of neighbours.
void backward(const Lattice& l, int n_jobs, double* pairs);

// The best path: ties go to the smaller label.
void viterbi(const Lattice& l, int n_jobs, std::int32_t* path);

}  // namespace proxqn::lattice
