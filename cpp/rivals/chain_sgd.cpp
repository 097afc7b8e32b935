#include "rivals/chain_sgd.hpp"

namespace proxqn::rivals {

PROXQN_CLONES static void run_sgd_cloned(ChainSampleModel& model, const SampleRows& d,
                                         LazyWeights& lazy, const Schedule& schedule,
                                         const std::int64_t* order, std::int64_t n, std::int64_t& k,
                                         double& u, std::int32_t& stamp) {
  sgd_steps(model, d, lazy, schedule, order, n, k, u, stamp);
}
void run_sgd(ChainSampleModel& model, const SampleRows& d, LazyWeights& lazy,
             const Schedule& schedule, const std::int64_t* order, std::int64_t n, std::int64_t& k,
             double& u, std::int32_t& stamp) {
  run_sgd_cloned(model, d, lazy, schedule, order, n, k, u, stamp);
}

PROXQN_CLONES static double run_losses_cloned(ChainSampleModel& model, const SampleRows& d,
                                              LazyWeights& lazy, const std::int64_t* order,
                                              std::int64_t n) {
  return sample_loss_sum(model, d, lazy, order, n);
}
double run_losses(ChainSampleModel& model, const SampleRows& d, LazyWeights& lazy,
                  const std::int64_t* order, std::int64_t n) {
  return run_losses_cloned(model, d, lazy, order, n);
}

}  // namespace proxqn::rivals
