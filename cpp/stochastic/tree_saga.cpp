#include "stochastic/tree_saga.hpp"

namespace proxqn::stochastic {

PROXQN_CLONES static double work_cloned(Saga<TreeModel>& saga, const BlockData& d, Memory& m,
                                        const Steps& steps, const Job& job) {
  return saga.work_part(d, m, steps, job);
}
double work(Saga<TreeModel>& saga, const BlockData& d, Memory& m, const Steps& steps,
            const Job& job) {
  return work_cloned(saga, d, m, steps, job);
}

}  // namespace proxqn::stochastic
