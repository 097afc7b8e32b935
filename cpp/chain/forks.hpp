// Curvature of a model that is sure of most labels: where others may still be.
//
// The Hessian of a chain's loss is the covariance of its features phi under P(.|x). Label the tokens from
// the last to the first, each by P(y_t | y_{t+1}): by the law of total variance the covariance is a sum over
// tokens t and labels b behind them,
//     sum P(y_{t+1} = b) Cov_{y ~ P(y_t | b)}(f(y)),   f(y) = E[phi of what is labeled then | y_t = y],
// and that of a fork, two labels y and z there, is P(b) P(y|b) P(z|b) (f(y) - f(z)) (f(y) - f(z))'. So each
// fork is a row of J, with the root of its weight. Its entries are few: what two labels lead to further on is
// soon the same. Forks of at least a given weight are all there; of the others there are so many that their
// weights add up to it, systematically: J'J is the Hessian in the mean. Where labelings that are drawn
// (draws.hpp) are nearly all the same, and miss what is rare, forks of any weight are known.
#pragma once
#include <cstdint>

#include "chain/draws.hpp"
#include "chain/layout.hpp"

namespace proxqn::chain {

struct Forking {
  double least;  // weight of a row
  double share;  // of the sequences, at random
  std::uint64_t seed;
  bool traced = true;  // or the weights of rows alone
};

// Weights in units of the least: 1 where a row stands for several forks, or above. Each chunk on its own.
Draws fork(const Chain& c, const Forking& how, int n_jobs);
Draws fork(const ChainOf<float>& c, const Forking& how, int n_jobs);

}  // namespace proxqn::chain
