"""Generated pages are what the code generates, the site builds without a warning, every public name is in it."""

from __future__ import annotations

import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import winnow
from tests.docs.blocks import ROOT

DOCS = ROOT / "docs"
PROSE = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]


def loaded(name: str) -> ModuleType:
    """A script of docs/ as a module."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    return loaded("reference")


@pytest.mark.parametrize("page", ["cli.md", "methods.md", "refusals.md"])
def test_a_generated_page_is_up_to_date(reference: ModuleType, page: str) -> None:
    made = reference.PAGES[page]()
    assert (DOCS / page).read_text() == made, "run python docs/reference.py"


def test_every_generated_page_is_checked(reference: ModuleType) -> None:
    assert set(reference.PAGES) == {"cli.md", "methods.md", "refusals.md"}


def test_a_page_without_marks_is_refused(reference: ModuleType) -> None:
    with pytest.raises(ValueError, match="no marks"):
        reference.filled("a page", "scores", "a table")


def test_the_tables_hold_every_method(reference: ModuleType) -> None:
    for kind, methods in (("score", winnow.list_scores()), ("selector", winnow.list_selectors())):
        rows = reference.methods_table(kind).splitlines()[2:]
        assert [row.split("`")[1] for row in rows] == [method.name for method in methods]


def test_the_command_line_page_holds_every_option(reference: ModuleType) -> None:
    import typer

    from winnow.cli import app

    page = reference.cli_page()
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        section = page.split(f"## winnow {name}\n")[1].split("\n## ")[0]
        assert all(f"`{option}" in section for item in command.params for option in item.opts if option[0] == "-")


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not re.search(r"^WARNING", done.stderr, re.MULTILINE)  # log lines; the theme's banner is none
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 10
    loaded = re.compile(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=[\"']?(?:https?:)?//")
    for page in pages:
        text = page.read_text()
        assert not loaded.search(text), f"{page.name} loads something from another host"
        assert "--8<--" not in text


@pytest.mark.parametrize("name", winnow.__all__)
def test_a_public_name_is_documented(name: str) -> None:
    assert f"::: winnow.{name}\n" in (DOCS / "api.md").read_text()
    assert len(inspect.getdoc(getattr(winnow, name)) or "") > 20


@pytest.mark.parametrize("page", PROSE, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path = target.split("#")[0]
        assert path, f"{page.name} links to {target}"
        assert "://" not in path, f"{page.name} links to {target}, which no test can follow"
        assert (page.parent / path).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("name", ["report.png", "explain.png", "check.png"])
def test_a_screenshot_is_small(name: str) -> None:
    assert 10_000 < (DOCS / "images" / name).stat().st_size < 300_000


def test_a_drawing_is_up_to_date() -> None:
    for name, draw in loaded("flow").PICTURES.items():
        assert (DOCS / "images" / name).read_text() == draw(), "run python docs/flow.py"


def test_the_readme_counts_the_refusals() -> None:
    from tests.refusals.cases import CASES

    assert f"[{len(CASES)} cases are tested](docs/refusals.md)" in (ROOT / "README.md").read_text()


def test_the_changelog_names_this_version() -> None:
    assert f"## [{winnow.__version__}]" in (ROOT / "CHANGELOG.md").read_text()
