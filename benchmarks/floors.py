"""What each kernel must cost at least on this machine, and what it does cost.

    python -m benchmarks.floors [--problems ocr-100,conll-observed] [--double] [--quick] [--out DIR]

A floor is the larger of two times: operations at the measured rate of multiply-adds (or of scalar
loads and stores), and bytes at the measured rate of reading from the cache that can hold them. It
is a roofline: no order of the same operations can be faster, but no real loop reaches it either. A
fraction above 100 % would mean that the floor is wrong, and is marked. ``n`` counts tokens without
padding. The formulas stand beside the kernels below.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from benchmarks.ceilings import Ceilings
from benchmarks.data import REPOSITORY
from benchmarks.kernel_times import Sizes
from benchmarks.tables import markdown
from benchmarks.versions import fingerprint_of_sources, machine

from benchmarks import ceilings, kernel_times, problems

# Vector operations of an exponential: 12 of the polynomial, 4 around it (cpp/base/exponential.hpp).
EXP = 16
DOUBLE, INDEX = 8, 4  # bytes; rates are of doubles, twice as many floats fit a register


def floors(s: Sizes, c: Ceilings) -> dict[str, tuple[float, float]]:
    """Return for each kernel the seconds of its operations and of its bytes."""
    n, L, E, m = s.n, s.L, s.E, s.m
    array = s.real * n * L  # bytes of one [L][n] array: scores, α or residuals
    visits = s.passes * s.n_inner
    rows = 2 * m * s.inner_real * s.n_inner  # bytes of the rows of P and C
    fma, inner_fma = c.fma * DOUBLE / s.real, c.fma * DOUBLE / s.inner_real
    # Single precision adds several numbers at once and has bits for dense columns; double goes
    # label by label and entry by entry.
    single = s.real < DOUBLE
    indices = min(INDEX * s.E_features, s.columns * n / 8) if single else INDEX * s.E_A
    return {
        # scores[y][slot] += w for every entry of every coordinate: a load and a store each, or adds
        # of several labels or slots; indices streamed once a feature, or once a coordinate.
        "score update": (
            s.adds / fma if single else s.E_A / min(c.load, c.store),
            indices / c.read(INDEX * s.E_features),
        ),
        # α_t = e_t ∘ (α_{t-1} M): a multiply-add a pair of labels (of those with a weight, where
        # these are few), L exponentials, and about 3 L for the shift, the sum and the scaling.
        # Reads scores, writes α.
        "forward": (n * (s.pairs + (EXP + 3) * L) / fma, 2 * array / c.read(2 * array)),
        # β_{t-1} = M v_t, the outer products α_{t-1} v_tᵀ of all L² pairs, L exponentials, about
        # 6 L. Reads scores, reads and writes α.
        "backward and marginals": (
            n * (s.pairs + L * L + (EXP + 6) * L) / fma,
            3 * array / c.read(2 * array),
        ),
        # Σ residual[y][slot] over the entries of each coordinate: a load each.
        "partial gradient": (
            s.adds / fma if single else s.E_A / c.load,
            indices / c.read(INDEX * s.E_features),
        ),
        # A row of L residuals added for every entry: one load a sum, from L1 at best; the indices
        # once from memory.
        "full sweep": (
            max(E * L / fma, s.real * E * L / c.read_l1),
            INDEX * E / c.read(INDEX * E) + 2 * array / c.read(2 * array),
        ),
        # 2m multiply-adds a visit for (Bd)_j (the update of d̂ where d_j moves is not counted);
        # reads the row.
        "inner coordinate descent": (
            2 * m * visits / inner_fma,
            2 * m * s.inner_real * visits / c.read(rows),
        ),
        # Formed anew: two triangular products of m²/2 a coordinate; reads S and Y, writes the rows.
        "inner problem's matrix": (m * m * s.n_inner / c.fma, 2 * rows / c.read(2 * rows)),
        # L² times add, compare and select, in double precision; reads the scores.
        "Viterbi": (3 * n * L * L / c.fma, DOUBLE * n * L / c.read(DOUBLE * n * L)),
    }


def rows(s: Sizes, c: Ceilings, times: dict[str, float]) -> list[dict[str, float | str]]:
    """Return one row a kernel, in milliseconds."""
    found: list[dict[str, float | str]] = []
    for name, (operations, traffic) in floors(s, c).items():
        floor = max(operations, traffic)
        found.append(
            {
                "kernel": name,
                "operations, ms": 1e3 * operations,
                "bytes, ms": 1e3 * traffic,
                "floor, ms": 1e3 * floor,
                "measured, ms": 1e3 * times[name],
                "fraction": floor / times[name],
            }
        )
    return found


def _fraction(value: float | str) -> str:
    return f"{value:.0%}" + (" (floor is wrong)" if float(value) > 1.0 else "")


def table(found: list[dict[str, float | str]]) -> str:
    """Return the rows as markdown."""
    cells = [
        [
            _fraction(v) if key == "fraction" else v if isinstance(v, str) else f"{v:.3g}"
            for key, v in row.items()
        ]
        for row in found
    ]
    return markdown(list(found[0]), cells)


def main() -> None:
    """Measure, print, and write ``floors.json``."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.floors")
    parser.add_argument("--problems", help="default: ocr-100,conll-observed,long")
    parser.add_argument("--double", action="store_true", help="instead of single precision")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    default = "ocr-quick" if args.quick else "ocr-100,conll-observed,long"
    results = REPOSITORY / "benchmarks" / "results"
    out = args.out or (results / "quick" if args.quick else results)
    c = ceilings.measure()
    rates = {name: f"{value / 1e9:.3g} G/s" for name, value in asdict(c).items()}
    print(markdown(["ceiling of one core", "rate"], [[k, v] for k, v in rates.items()]))
    kept = {"machine": machine(), "sources": fingerprint_of_sources(), "ceilings": asdict(c)}
    for spec in problems.find(args.problems or default):
        sizes, times = kernel_times.measure(
            spec.load(), spec, args.repetitions, single=not args.double
        )
        found = rows(sizes, c, times)
        print(f"\n## {spec.title}\n\n{asdict(sizes)}\n\n{table(found)}", flush=True)
        kept[spec.name] = {"sizes": asdict(sizes), "kernels": found}
    out.mkdir(parents=True, exist_ok=True)
    (out / "floors.json").write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
