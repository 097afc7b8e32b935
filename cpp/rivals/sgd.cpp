#include "rivals/sgd.hpp"

namespace proxqn::rivals {

PROXQN_CLONES static void penalise_all_cloned(double* w, double* q, std::int64_t n, double u) {
  penalise(w, q, n, u);
}
void penalise_all(double* w, double* q, std::int64_t n, double u) {
  penalise_all_cloned(w, q, n, u);
}

}  // namespace proxqn::rivals
