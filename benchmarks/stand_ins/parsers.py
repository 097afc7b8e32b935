"""usaddress and probablepeople: what parserator trains, and what tests it."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.stand_ins.peers import peer


@dataclass(frozen=True)
class Parser:
    """A parser, the labelled files of one of its models, and the name of the model's file."""

    name: str
    package: str
    model_file: str
    training: tuple[tuple[str, ...], ...]
    tests: tuple[str, ...]  # a folder of tests
    more: tuple[tuple[str, ...], ...] = ()  # files that the tests read
    missing: tuple[str, ...] = ()  # files that the tests ask for and that are not at hand


_TRAINING = ("usaddress", "training")
_NAMES = ("probablepeople", "name_data", "labeled")
_PERFORMANCE = "measure_performance/test_data"
_USADDRESS: dict[str, Any] = {
    "package": "usaddress",
    "model_file": "usaddr.crfsuite",
    "tests": ("usaddress", "tests"),
    "more": (
        ("usaddress", _PERFORMANCE, "labeled.xml"),
        ("usaddress", _PERFORMANCE, "us50_test_tagged.xml"),
    ),
    "missing": (
        f"{_PERFORMANCE}/simple_address_patterns.xml",
        f"{_PERFORMANCE}/synthetic_osm_data.xml",
    ),
}
_PEOPLE: dict[str, Any] = {"package": "probablepeople", "tests": ("probablepeople", "tests")}
_PERSON, _COMPANY = (*_NAMES, "person_labeled.xml"), (*_NAMES, "company_labeled.xml")

PARSERS = (
    Parser("usaddress, labeled.xml", training=((*_TRAINING, "labeled.xml"),), **_USADDRESS),
    Parser(
        "usaddress, all at hand",
        training=tuple(
            (*_TRAINING, name)
            for name in ("labeled.xml", "synthetic_clean_osm_data.xml", "us50_train_tagged.xml")
        ),
        **_USADDRESS,
    ),
    Parser(
        "probablepeople, generic",
        model_file="generic_learned_settings.crfsuite",
        training=(_PERSON, _COMPANY),
        **_PEOPLE,
    ),
    Parser(
        "probablepeople, person",
        model_file="person_learned_settings.crfsuite",
        training=(_PERSON,),
        **(_PEOPLE | {"tests": ()}),
    ),
    Parser(
        "probablepeople, company",
        model_file="company_learned_settings.crfsuite",
        training=(_COMPANY,),
        **(_PEOPLE | {"tests": ()}),
    ),
)


def labelled(parser: Parser, module: Any) -> list[Any]:
    """Return the labelled sequences as parserator reads them.

    parserator stops at a file that is no XML; here a line that is none, or one that the parser's
    own features cannot be made of, is left out.
    """
    from lxml import etree
    from parserator.data_prep_utils import TrainingData

    found: list[Any] = []
    tag = module.PARENT_LABEL
    for parts in parser.training:
        text = peer(*parts).read_text(encoding="utf-8")
        for one in re.findall(rf"<{tag}>.*?</{tag}>", text, re.DOTALL):
            try:
                root = etree.fromstring(f"<all>{one}</all>")
                (sequence,) = TrainingData(root, module)
                module.tokens2features([token for token, _ in sequence[1]])
            except (etree.XMLSyntaxError, IndexError, TypeError):
                continue
            found.append(sequence)
    return found


def folder_of_tests(parser: Parser, models: dict[str, Path], folder: Path) -> Path:
    """Lay out a checkout of the parser with our models in it, for its tests to run in."""
    package = folder / parser.package
    shutil.copytree(package_folder(parser), package, ignore=shutil.ignore_patterns("*.crfsuite"))
    for name, path in models.items():
        shutil.copy(path, package / name)
    shutil.copytree(peer(*parser.tests), folder / "tests")
    for parts in parser.more:
        place = folder / Path(*parts[1:])
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(peer(*parts), place)
    for name in parser.missing:
        (folder / name).write_text("<AddressCollection></AddressCollection>", encoding="utf-8")
    return folder


def package_folder(parser: Parser) -> Path:
    """Return the folder of the parser's package, in the peers' folder or installed."""
    if parser.package == "usaddress":
        return peer("usaddress", "usaddress")
    spec = find_spec(parser.package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{parser.package} is not installed; make stand-ins installs it.")
    return Path(spec.origin).parent
