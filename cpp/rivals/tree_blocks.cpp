#include "rivals/tree_blocks.hpp"

namespace proxqn::rivals {

PROXQN_CLONES static std::int64_t run_bcd_cloned(BlockState& s, TreeBlockModel& model,
                                                 const BlockRule& rule, const std::int64_t* blocks,
                                                 std::int64_t n, std::int64_t budget,
                                                 double* violation, double* excess) {
  return descend_blocks(s, model, rule, blocks, n, budget, violation, excess);
}
std::int64_t run_bcd(BlockState& s, TreeBlockModel& model, const BlockRule& rule,
                     const std::int64_t* blocks, std::int64_t n, std::int64_t budget,
                     double* violation, double* excess) {
  return run_bcd_cloned(s, model, rule, blocks, n, budget, violation, excess);
}

PROXQN_CLONES static void run_forward_all_cloned(BlockState& s, TreeBlockModel& model) {
  for (std::int64_t i = 0; i < model.n_samples; ++i) run_forward(s, model, i);
}
void run_forward_all(BlockState& s, TreeBlockModel& model) { run_forward_all_cloned(s, model); }

}  // namespace proxqn::rivals
