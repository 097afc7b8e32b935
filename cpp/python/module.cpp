// Python's view of the kernels, a file a topic: there array types and shapes are checked, the GIL is
// released, and nothing is computed.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace proxqn::python {
void bind_chain(nb::module_& m);
void bind_features(nb::module_& m);
void bind_dense(nb::module_& m);
void bind_tree(nb::module_& m);
void bind_subproblem(nb::module_& m);
void bind_sampled(nb::module_& m);
void bind_lattice(nb::module_& m);
void bind_rivals(nb::module_& m);
void bind_stochastic(nb::module_& m);
void bind_tagging(nb::module_& m);
void bind_names(nb::module_& m);
}  // namespace proxqn::python

using namespace proxqn::python;

NB_MODULE(_kernels, m) {
  nb::set_leak_warnings(
      false);  // oracles that a test or a notebook still holds at exit are no leak
  m.doc() = "Compiled kernels of proxqn; see the headers in cpp/ for the formulas.";
  bind_chain(m);
  bind_features(m);
  bind_dense(m);
  bind_tree(m);
  bind_subproblem(m);
  bind_sampled(m);
  bind_lattice(m);
  bind_rivals(m);
  bind_stochastic(m);
  bind_tagging(m);
  bind_names(m);
}
