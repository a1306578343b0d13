"""Write the report: read the run, build the sections, fill the templates, and write the file atomically."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..artefacts import Study
from ..core.errors import InputError
from ..core.files import atomic
from .saved_run import SavedRun, read_run

__all__ = ["write_run_report", "write_study_report"]


def write_study_report(study: Study, path: str | Path) -> Path:
    """Write the report of a study alone, without the galleries and histograms of a run.

    Parameters
    ----------
    study
        The study.
    path
        The HTML file to write.
    """
    if not isinstance(study, Study):
        raise InputError(f"study of write_study_report must be a Study; got {type(study).__name__}.")
    return _write(SavedRun(study), Path(path))


def write_run_report(run_dir: str | Path, path: str | Path | None = None) -> Path:
    """Write the report of a finished run.

    Parameters
    ----------
    run_dir
        The directory of the run.
    path
        The HTML file to write; `report.html` in the run's directory if not given.
    """
    return _write(read_run(run_dir), Path(run_dir) / "report.html" if path is None else Path(path))


def _write(saved: SavedRun, path: Path) -> Path:
    if path.is_dir():
        raise InputError(f"path of the report must be a file to write; {path} is a directory.")
    return written(render(saved), path)


def written(text: str, path: Path) -> Path:
    """Write the text to the file atomically, and return the path."""
    with atomic(path) as part:
        part.write_text(text, encoding="utf-8")
    return path


def render(saved: SavedRun) -> str:
    """The page as text."""
    from .sections import page

    return filled("report.html", page(saved))


def filled(template: str, values: Mapping[str, Any], more: str = "") -> str:
    """The template filled with its values, the stylesheet and the script, and those that are named `more`."""
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("winnow.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script, css = (
        Markup("\n").join(_text(environment, f"{name}.{kind}") for name in (first, more) if name)
        for first, kind in (("copy", "js"), ("report", "css"))
    )
    own = {"css": css, "script": script, "script_hash": _hash(script)}
    return environment.get_template(template).render(**values, **own) + "\n"


def _text(environment: Any, name: str) -> Any:
    """One of the package's own files, inserted without escaping."""
    from markupsafe import Markup

    return Markup(environment.loader.get_source(environment, name)[0].strip())


def _hash(script: str) -> str:
    """The hash that the page's content security policy allows, so that no other script can run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
