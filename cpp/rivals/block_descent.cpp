#include "rivals/block_descent.hpp"

namespace proxqn::rivals {

PROXQN_CLONES static void shift_all_cloned(BlockState& s, std::int64_t c, const double* d) {
  shift_scores(s, c, 1.0, d);
}
void shift_all(BlockState& s, std::int64_t c, const double* d) { shift_all_cloned(s, c, d); }

}  // namespace proxqn::rivals
