"""Kinds of models that other packages bring, found by their entry points."""

from __future__ import annotations

import sys

import pytest

from proxqn import HierarchicalClassifier, save
from proxqn.cli.kind import Commands, commands_of
from proxqn.estimators.homes import OURS, Home, home_of, kinds
from proxqn.io.container import Contents, ModelFileError
from proxqn.io.model_file import unpack


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package that is installed in a folder, with an entry point for each name and value."""

    def install(**points):
        about = tmp_path / "others-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
        lines = [f"{name} = {value}" for name, value in points.items()]
        (about / "entry_points.txt").write_text("\n".join(["[proxqn.models]", *lines]))
        (tmp_path / "others_of_homes.py").write_text(
            "from proxqn.estimators.homes import Home\n"
            "HOME = Home('proxqn.estimators.hierarchical:HierarchicalClassifier')\n"
            "WRONG = 'others:Model'\n"
        )
        monkeypatch.syspath_prepend(str(tmp_path))

    yield install
    sys.modules.pop("others_of_homes", None)


def test_ours_are_found_without_looking_at_packages():
    assert [type(home_of(kind)) for kind in OURS] == [Home, Home]
    assert kinds()[:2] == ["chain", "tree"]
    assert home_of("pixels") is None


def test_another_package_s_kind_is_found(installed):
    installed(zoo="others_of_homes:HOME", chain="others_of_homes:WRONG")
    assert kinds() == ["chain", "tree", "zoo"]
    assert home_of("zoo").find_estimator() is HierarchicalClassifier
    assert home_of("chain").name == "ChainCRF"  # ours stay ours


def test_an_entry_point_that_is_no_home_is_named(installed):
    installed(zoo="others_of_homes:WRONG")
    with pytest.raises(TypeError, match=r"'zoo' of proxqn.models is .* expected a .*Home"):
        home_of("zoo")


def test_a_kind_without_commands_says_so(installed):
    installed(zoo="others_of_homes:HOME")
    assert type(commands_of("zoo")) is Commands
    for ask in (commands_of("zoo").train, lambda: commands_of("zoo").predict(None, "", None)):
        with pytest.raises(Exception, match=r"have no `proxqn (train|predict)`"):
            ask()


def test_a_file_of_a_kind_that_is_not_installed_is_refused():
    with pytest.raises(ModelFileError, match="holds a 'zoo', expected a model: chain or tree"):
        unpack(Contents("zoo", {}, {}))


def test_what_has_no_home_is_not_saved(tmp_path):
    class Stray(HierarchicalClassifier):
        kind = "stray"

    with pytest.raises(TypeError, match=r"entry points 'proxqn.models'; got Stray"):
        save(Stray(), tmp_path / "stray.proxqn")
    assert not list(tmp_path.iterdir())
