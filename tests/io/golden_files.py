"""Small models of Wapiti and CRF++, made by ``tests/golden/other_programs/make.sh``."""

from pathlib import Path

FOLDER = Path(__file__).parents[1] / "golden" / "other_programs"


def golden(name):
    return (FOLDER / name).read_bytes()


def rows(name):
    """Sequences of rows of columns, as the programs cut lines."""
    paragraphs = golden(name).decode().strip().split("\n\n")
    return [[line.split() for line in part.split("\n")] for part in paragraphs]


def labelled(name, n_columns):
    """Labels and numbers behind the columns of a program's output, by paragraph.

    Each paragraph is (the number after its ``#``, [(label, number of the label or None), …]).
    """
    found = []
    for part in golden(name).decode().strip().split("\n\n"):
        lines = part.split("\n")
        head = float(lines.pop(0).split()[-1]) if lines[0].startswith("# ") else None
        found.append((head, [line.split()[n_columns:] for line in lines]))
    return found


def cells(row):
    """Return ``label/number`` cells as a dict."""
    return {label: float(number) for label, _, number in (cell.rpartition("/") for cell in row)}
