"""The commands of ``python -m replication``: the paper's figures and tables, made again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from replication.problems.spec import ProblemSpec
    from replication.runs.plans import Choice

_METHODS: Final = (
    "prox-qn, prox-qn-paper (the paper's settings), prox-gd, owl-qn, sgd, sgd-paper (its step), "
    "bcd, prox-qn-no-shrinking, prox-qn-paper-no-shrinking"
)
INTERRUPTED: Final = 130  # 128 + SIGINT, as shells report it
Command = Callable[..., None]


@click.group()
def replication() -> None:
    """Repeat the paper's experiments and write a report page for each."""


def _common(command: Command) -> Command:
    """Add the options of the comparisons."""
    options = [
        click.option(
            "--lam", multiple=True, type=float, help="λ; may be repeated. Default: the paper's."
        ),
        click.option(
            "--methods", callback=_read_methods, help=f"Separated by commas, of: {_METHODS}."
        ),
        click.option(
            "--seconds", type=click.FloatRange(min=0.0, min_open=True),
            help="Of training, for each method and λ. Default: 80 for ocr, 60 for lshtc.",
        ),
        click.option(
            "--jobs", default=1, show_default=True, type=click.IntRange(min=1),
            help="Runs side by side, each in a process of its own; 1 disturbs the times least.",
        ),
        click.option(
            "--n-jobs", default=1, show_default=True, type=click.IntRange(min=1),
            help="Threads of each run; the results are the same.",
        ),
    ]  # fmt: skip
    for option in reversed(options + _output_options()):
        command = option(command)
    return command


def _output_options() -> list[Any]:
    return [
        click.option(
            "--out", type=click.Path(file_okay=False, path_type=Path),
            help="Folder for runs, figures and report.html. Default: out/replication-NAME.",
        ),
        click.option(
            "--resume", is_flag=True,
            help="Keep the finished runs in the folder and make only what is missing.",
        ),
        click.option("--quick", is_flag=True, help="Small data and short runs: seconds in all."),
    ]  # fmt: skip


def _read_methods(
    context: click.Context, parameter: click.Parameter, given: str | None
) -> tuple[str, ...]:
    if given is None:
        return ()
    from replication.runs.methods import CHOICE

    names = tuple(dict.fromkeys(name.strip() for name in given.split(",") if name.strip()))
    unknown = [name for name in names if name not in CHOICE]
    if unknown or not names:
        raise click.BadParameter(
            f"{', '.join(unknown) or 'nothing'} given; expected some of {', '.join(CHOICE)}, "
            "separated by commas."
        )
    return names


@replication.command(
    epilog="\b\n"
    "Examples:\n"
    "  python -m replication ocr --quick                # a first look, a few seconds\n"
    "  python -m replication ocr --jobs 2               # the paper's figures, 15 minutes\n"
    "  python -m replication ocr --lam 100 --methods prox-qn,owl-qn --seconds 20\n"
    "\n"
    "Every finished run is kept at once. After an interruption the same command with --resume "
    "goes on."
)
@_common
def ocr(**options: Any) -> None:
    """Recognise handwritten words, as in the paper's section 6.1 (bundled data)."""
    from replication.problems.spec import ProblemSpec

    spec = ProblemSpec("ocr", quick=options["quick"], threads=options.pop("n_jobs"))
    _compare("ocr", "Handwritten words: five methods, one objective", [spec], **options)


@replication.command(
    epilog="\b\n"
    "Examples:\n"
    "  python -m replication lshtc --data dry-run_lshtc_dataset --generated\n"
    "  python -m replication lshtc --quick\n"
    "\n"
    "With Task 1's train.txt in its folder this is the paper's own problem (4,463 documents, "
    "51,033 features). Without it validation.txt stands in: other documents, other figures."
)
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder with cat_hier.txt and the task folders.",
)
@click.option(
    "--generated",
    is_flag=True,
    help="Run on generated documents of the paper's size, too; alone, only on them.",
)
@click.option("--task", default="Task1", show_default=True, help="A task folder's name begins so.")
@click.option("--train", help="Split to train on; default: train, or validation without train.txt.")
@click.option("--test", default="test", show_default=True, help="Split to test on.")
@_common
def lshtc(
    data: Path | None, generated: bool, task: str, train: str | None, test: str, **options: Any
) -> None:
    """Classify web documents into a tree of categories, as in the paper's section 6.2."""
    from replication.problems.spec import ProblemSpec

    threads, quick = options.pop("n_jobs"), options["quick"]
    specs = []
    if data is not None:
        split = train or default_split(data, task)
        if split != "train":
            click.echo(f"Training on {split}.txt: not the paper's training file, other figures.")
        specs.append(
            ProblemSpec("lshtc", quick, str(data), task, split, test=test, threads=threads)
        )
    else:
        click.echo("No --data: running on generated documents on a tree of the paper's shape.")
    if generated or data is None:
        folder = None if data is None else str(data)
        specs.append(ProblemSpec("generated", quick, folder, threads=threads))
    _compare("lshtc", "A tree of categories: five methods, one objective", specs, **options)


def default_split(data: Path, task: str) -> str:
    """Return train where the task has that file, validation where it has not."""
    found = list(data.glob(f"{task}*/train.txt")) or list(data.glob(f"*/{task}*/train.txt"))
    return "train" if found else "validation"


@replication.command(
    epilog="\b\n"
    "Examples:\n"
    "  python -m replication theory --quick\n"
    "  python -m replication theory --out out/theory"
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for figures and report.html. Default: out/replication-theory.",
)
@click.option("--seed", default=0, show_default=True, help="Of the random problems.")
@click.option("--quick", is_flag=True, help="Smaller problems: seconds in all.")
def theory(out: Path | None, seed: int, quick: bool) -> None:
    """Check the convergence theory (sections 3 and 4) in numbers."""
    from replication.report.write import write_theory
    from replication.theory.run import run_theory

    folder = _writable(out or Path("out/replication-theory"))
    found = run_theory(quick=quick, seed=seed, progress=lambda text: click.echo(text, err=True))
    command = f"python -m replication theory --seed {seed}" + (" --quick" if quick else "")
    for section in found.sections:
        click.echo(f"{'holds' if section.holds else 'DOES NOT HOLD'}: {section.title}")
    click.echo(f"Wrote {write_theory(found, folder, command=command)}")


def _compare(
    name: str,
    title: str,
    specs: list[ProblemSpec],
    *,
    lam: tuple[float, ...],
    methods: tuple[str, ...],
    seconds: float | None,
    jobs: int,
    out: Path | None,
    resume: bool,
    quick: bool,
) -> None:
    """Make the runs and write the report."""
    from replication.run_all import run_all
    from replication.runs.plans import Choice

    if any(not each > 0.0 for each in lam):
        raise click.BadParameter("λ must be above 0.", param_hint="--lam")
    choice = Choice(tuple(dict.fromkeys(lam)), methods, seconds)
    folder = _writable(out or Path(f"out/replication-{name}{'-quick' if quick else ''}"))
    if not resume and any((folder / "runs").glob("*.json")):
        raise click.UsageError(
            f"{folder} holds finished runs. Add --resume to keep them and go on, or choose another "
            "folder with --out."
        )
    try:
        done = run_all(
            title, specs, choice, folder,
            jobs=jobs, resume=resume, command=_command(name, specs, choice, jobs, quick),
            say=lambda text: click.echo(text, err=True),
        )  # fmt: skip
    except KeyboardInterrupt:
        n = len(list((folder / "runs").glob("*.json")))
        click.echo(f"Interrupted; {n} finished runs are kept. Go on with --resume.", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    for text in done.tables:
        click.echo(f"{text}\n")
    click.echo(f"Wrote {done.page}")


def _writable(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.ClickException(f"{folder}: cannot be made, {error.strerror}.") from None
    return folder


def _command(name: str, specs: list[ProblemSpec], choice: Choice, jobs: int, quick: bool) -> str:
    """Return the command that makes these runs, for the page: no path but the data's last name."""
    words = [f"python -m replication {name}"]
    for spec in specs:
        if spec.kind == "lshtc":
            words.append(f"--data {Path(spec.folder or '').resolve().name} --train {spec.train}")
        elif spec.kind == "generated":
            words.append("--generated")
    words += [f"--lam {each:g}" for each in choice.lams]
    words += [f"--methods {','.join(choice.methods)}"] if choice.methods else []
    words += [f"--seconds {choice.seconds:g}"] if choice.seconds is not None else []
    words += [f"--jobs {jobs}"] if jobs > 1 else []
    words += ["--quick"] if quick else []
    return " ".join(words)
