"""``python -m replication theory``: what the paper proves, seen in numbers.

Three sections, each a file of its own: superlinear convergence without strong convexity
(``theory_superlinear``), the constant null space of a CRF (``theory_null_space``), and global
convergence with shrinking (``theory_starts``). The problems (``theory_problems``) are small enough
that all labelings can be written out (``theory_labelings``); the solvers and oracles are those of
the package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from replication.report.parts import TheoryReport
from replication.theory import null_space, starts, superlinear
from replication.theory.problems import TheoryProblem, letter_tree, vowel_chain


def _silent(_: str) -> None:
    """Take progress and show none."""


def run_theory(
    *, quick: bool, seed: int = 0, progress: Callable[[str], None] = _silent
) -> TheoryReport:
    """Check the paper's theory on small problems, in seconds (quick) or within two minutes.

    Parameters
    ----------
    quick : bool
        Fewer problems, smaller ones, fewer random starts.
    seed : int
        Of random weights and directions.
    progress : callable
        Told in a line what is being done.

    Returns
    -------
    TheoryReport
        Three sections; ``holds`` says whether the numbers bear out the paper.
    """
    from threadpoolctl import threadpool_limits  # scikit-learn needs it, so it is there

    with threadpool_limits(limits=1):  # matrices this small are no work for several threads
        return TheoryReport(
            (
                superlinear.section(
                    [
                        superlinear.study(problem, 1000 if quick else 5000)
                        for problem in _announced(
                            "superlinear convergence", _rates(quick), progress
                        )
                    ]
                ),
                null_space.section(
                    [
                        null_space.study(problem, seed)
                        for problem in _announced("null space", _tiny(quick), progress)
                    ]
                ),
                starts.section(
                    [
                        starts.Summary(tuple(starts.study(problem, 3 if quick else 30, seed)))
                        for problem in _announced("random starts", _starts(quick), progress)
                    ]
                ),
            )
        )


def _rates(quick: bool) -> list[TheoryProblem]:
    chain, tree = vowel_chain(80), letter_tree(120, share=0.4)
    if quick:
        return [chain, tree]
    return [chain, vowel_chain(200, share=0.1), tree, letter_tree(300, share=0.3)]


def _tiny(quick: bool) -> list[TheoryProblem]:
    """Return a chain with more weights than labelings (the paper's case ii), and a tree."""
    few = [vowel_chain(8), letter_tree(30)]
    return few if quick else [vowel_chain(20), *few, letter_tree(100)]


def _starts(quick: bool) -> list[TheoryProblem]:
    if quick:
        return [vowel_chain(20), letter_tree(60)]
    return [vowel_chain(80), letter_tree(120)]


def _announced(
    what: str, problems: list[TheoryProblem], progress: Callable[[str], None]
) -> Iterator[TheoryProblem]:
    for problem in problems:
        progress(f"{what}: {problem.name}")
        yield problem
