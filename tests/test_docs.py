"""The pages of docs/: what they name is there, and what they say of imports is what is tested."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.test_layering import ALLOWED

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
ARCHITECTURE = (DOCS / "architecture.md").read_text(encoding="utf-8")
GLOSSARY = re.findall(
    r"^### (.+)\n((?:(?!^##).*\n?)*)", (DOCS / "glossary.md").read_text(encoding="utf-8"), re.M
)
PATH = re.compile(r"`((?:src|cpp|docs|replication|benchmarks|tests)/[^`\s*]*)`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("name", ["architecture.md", "method.md", "replication.md"])
def test_files_that_a_page_names_are_there(name):
    text = (DOCS / name).read_text(encoding="utf-8")
    places = [ROOT, ROOT / "src" / "proxqn", ROOT / "src" / "proxqn" / "solvers"]
    named = re.findall(r"`([\w./]+/(?:\w+\.(?:py|hpp|cpp|md))?)`", text)
    missing = [path for path in named if not any((place / path).exists() for place in places)]
    assert not [path for path in missing if not path.startswith(("out/", "figures/", "runs/"))]


def test_kernel_files_that_code_and_pages_name_are_there():
    texts = [*PAGES, *(ROOT / "src").rglob("*.py"), *(ROOT / "cpp").rglob("*.?pp")]
    named = {
        (path, str(text.relative_to(ROOT)))
        for text in texts
        for path in re.findall(r"cpp/[\w/]+\.(?:[hc]pp|inc)", text.read_text(encoding="utf-8"))
    }
    assert len(named) > 20
    assert not [where for where in sorted(named) if not (ROOT / where[0]).exists()]


def test_every_note_is_in_the_index():
    index = (DOCS / "notes" / "README.md").read_text(encoding="utf-8")
    for page in (DOCS / "notes").glob("*.md"):
        if page.name != "README.md":
            assert f"({page.name})" in index
            assert "\n\n**Known now.**" in page.read_text(encoding="utf-8"), page.name


def test_the_page_on_architecture_has_the_rules_that_are_tested():
    said = {
        part: set(re.findall(r"`(\w+)`", below))
        for part, below in re.findall(r"^\| `(\w+)` \| (.*) \|$", ARCHITECTURE, re.M)
    }
    rows = "\n".join(
        f"| `{part}` | {', '.join(f'`{name}`' for name in sorted(below)) or '–'} |"
        for part, below in ALLOWED.items()
    )
    assert said == ALLOWED, f"the table of docs/architecture.md should be\n{rows}"


def test_the_picture_of_the_rooms_keeps_the_rules():
    picture = re.search(r"```mermaid\n(.*?)```", ARCHITECTURE, re.S)[1]
    arrows = re.findall(r"^\s*(\w+)(?:\[.*?\])? --> (\w+)", picture, re.M)
    names = {"kernels": "_kernels"}
    wrong = [
        (above, below)
        for above, below in arrows
        if above != "cli" and names.get(below, below) not in ALLOWED[above]
    ]
    assert len(arrows) > 15
    assert not wrong
    tools = {"aligned_array", "file_error", "random_numbers", "replacing"}
    assert all(part in picture for part in ALLOWED.keys() - tools)


@pytest.mark.parametrize(("term", "entry"), GLOSSARY, ids=[term for term, _ in GLOSSARY])
def test_what_a_word_means_is_found_from_the_listing(term, entry):
    paths = PATH.findall(entry)
    assert paths, f"say where {term} lives"
    for path in paths:
        assert (ROOT / path).exists(), f"{term}: there is no {path}"
    words = [re.sub(r"(y|s|er)$", "", word) for word in re.findall(r"[\w-]{3,}", term.lower())]
    listing = " ".join(paths).lower().replace("_", "-")
    found = any(word in listing for word in words)
    said = re.search(r"No file (?:of Python )?has (?:this name|these names)", entry)
    assert found or said, f"no file of {term} has its name: rename it, or say why not"
    assert len(GLOSSARY) > 40
