"""Wapiti and CRF++ beside proxqn in their place.

    PROXQN_PEERS=FOLDER python -m benchmarks.pattern_programs [trips|fits] [--sentences N]
        [--iterations N] [--data NAME,…]

`trips`: models of both programs' files, labelled with by both. `fits`: the same objective,
minimised by the programs and by ours in their place. Ends with 1 where tags or numbers differ, or
where our objective is higher.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.pattern_programs import round_trips, training
from benchmarks.pattern_programs.cases import data_sets
from benchmarks.tables import markdown


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", nargs="?", choices=["trips", "fits"], default="fits")
    parser.add_argument("--sentences", type=int, default=0, help="of the training data; 0: all")
    parser.add_argument("--iterations", type=int, default=15, help="of models to label with")
    parser.add_argument("--data", default="conll2000,wnut17")
    options = parser.parse_args()
    known, fine, rows = data_sets(), True, []
    header = round_trips.HEADER if options.what == "trips" else training.HEADER
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for chosen in options.data.split(","):
            data = known[chosen]
            train = data.cut(folder, options.sentences)
            if options.what == "trips":
                for trip in round_trips.trips(data, folder, train, options.iterations):
                    rows.append(trip.row())
                    fine &= trip.is_equal
                    print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
            else:
                for fit in training.fits(data, folder, train):
                    rows.append(fit.row())
                    fine &= fit.is_kept
                    print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    print(markdown(header, rows))
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
