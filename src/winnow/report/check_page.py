"""The HTML page of a data check: what was found per kind, to look at, to mark and to export.

The page shows the surest findings of each kind; `issues.parquet` has all of them. Marks are kept by the browser and
exported as CSV, which `marks=` of `wn.check` reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from .. import __version__
from ..artefacts import Signals
from ..artefacts.example_ids import positions_of
from ..artefacts.gallery import Example, Gallery
from ..artefacts.issues import RANKED, WHOLE, Issues
from ..artefacts.issues_text import headline, noise_sentence, uncertain
from ..core.files import fingerprint
from ..core.units import GAP
from .check_figure import MOST_CLASSES, confusion_square, kinds_bars
from .html_report import filled, written
from .palette import DARK, LIGHT, css_variables
from .sparkline import sparkline
from .svg import to_svg
from .table_cells import cell, table
from .teaching_section import pictured

__all__ = ["MOST", "curves_of", "named", "render_check", "write_check"]

MOST = 200  # findings shown per kind
NEXT = 40  # most likely wrong labels that are not flagged
LEAST = 0.2  # and at least so likely
SAMPLE = "sample"  # the section of examples to mark so that the share of wrong labels is known
Curves = Mapping[str, Sequence[float]]

# Per kind: the title, what it means, and what the two keys say of a finding.
TEXTS = {
    "label": ("Label issues", "Labels that are likely wrong.", "label is wrong", "label is right"),
    "target": ("Target issues", "Targets far from what a model expects.", "target is wrong", "target is right"),
    "example": ("Examples with an issue", "Examples with a finding of any kind.", "is an issue", "is fine"),
    "ambiguous": (
        "Ambiguous examples",
        "Two classes are plausible; either label may be right. They stay in the data.",
        "label is wrong",
        "label is right",
    ),
    "duplicate": (
        "Near-duplicates",
        "Each is beside the representative of its group, which stays in the data.",
        "is a duplicate",
        "is none",
    ),
    "leak": ("Leaks", "Training examples beside the same example in the test set.", "is a leak", "is none"),
    "dropped": ("Dropped", "Marked by a person to be left out.", "leave it out", "keep it"),
    "outlier": ("Outliers", "Far from all others. They stay in the data.", "does not belong", "belongs"),
    "value": ("Corrupt or impossible values", "Cannot be right as they are.", "is broken", "is fine"),
    SAMPLE: (
        "A sample to mark",
        "Half of them are drawn from all examples, half where the check is unsure. Mark them all, export, and check "
        "again with the marks: then the share of wrong labels is known better, and labels are flagged accordingly.",
        "label is wrong",
        "label is right",
    ),
    "class": ("Classes", "Classes that are confused, or too small to learn.", "", ""),
    "column": ("Columns", "Columns that give the label away, or say nothing.", "", ""),
    "drift": ("Drift", "Differences between training and test data.", "", ""),
}


def write_check(
    issues: Issues,
    path: str | Path,
    pictures: Gallery | None = None,
    test_pictures: Gallery | None = None,
    curves: Curves | None = None,
) -> Path:
    """Write the issues as one self-contained HTML page.

    Parameters
    ----------
    issues
        What was found.
    path
        The HTML file to write.
    pictures, test_pictures
        Pictures of the examples that `named` lists, and of those of the test set.
    curves
        The probability of the given label in each epoch, by id as text.
    """
    return written(render_check(issues, pictures, test_pictures, curves), Path(path))


def named(issues: Issues, *, test: bool = False) -> list[Any]:
    """Ids of the examples that the page shows, each once; those of the test set as text if `test`."""
    found: dict[Any, None] = {}
    for kind in (*issues.counts(), SAMPLE):
        rows = _shown(issues, kind)
        if kind in WHOLE:
            continue
        partners = [str(other) for other in issues.others[rows].tolist() if other]
        if test:
            found |= dict.fromkeys(partners if kind == "leak" else ())
            continue
        found |= dict.fromkeys(issues.ids[rows].tolist())
        if kind != "leak":
            own = np.array(partners, dtype=np.str_).astype(issues.ids.dtype) if partners else np.zeros(0)
            found |= dict.fromkeys(own.tolist())
    return list(found)


def curves_of(signals: Signals, ids: Iterable[Any]) -> dict[str, list[float]]:
    """Learning curves of some examples: the mean probability of the label over the seeds, in each epoch.

    Parameters
    ----------
    signals
        With `probabilities`, or `logits`, from which they follow; otherwise there are no curves.
    ids
        The examples.
    """
    wanted = list(ids)
    if "probabilities" not in signals or not wanted:
        return {}
    taken = signals.take(np.asarray(wanted))
    means = np.asarray(taken.array("probabilities"), dtype=np.float64).mean(axis=0)
    return {str(id): curve for id, curve in zip(wanted, means.T.tolist(), strict=True)}


def render_check(
    issues: Issues,
    pictures: Gallery | None = None,
    test_pictures: Gallery | None = None,
    curves: Curves | None = None,
) -> str:
    """The page as text."""
    drawn, beside = pictured(pictures), pictured(test_pictures)
    found = issues.counts()
    shown = [*(kind for kind in found if kind not in WHOLE), SAMPLE]
    sections = [_section(issues, kind, drawn, beside, curves or {}) for kind in shown]
    sections = [section for section in sections if section["cards"]]
    cards = [card for section in sections for card in section["cards"]]
    return filled(
        "check.html",
        {
            "version": __version__,
            "name": issues.source,
            "light": Markup(css_variables(LIGHT)),
            "dark": Markup(css_variables(DARK)),
            "key": f"winnow-check-{fingerprint(issues.source, sorted(map(str, _every(issues)[:1000])))}",
            "head": headline(issues),
            "noise": noise_sentence(issues),
            "tiles": _tiles(issues),
            "bars": Markup(to_svg(kinds_bars(issues), "findings per kind", "k0")) if found else None,
            "square": _square(issues),
            "sections": sections,
            "tables": [_whole(issues, kind) for kind in WHOLE if kind in found],
            "as_text": pictures is not None and pictures.kind == "text",
            "as_table": pictures is not None and pictures.kind == "table",
            "columns": () if pictures is None else pictures.columns,
            "classes": sorted({name for card in cards for name in (card["label"], card["suggestion"]) if name})[:500],
        },
        more="check",
    )


def _every(issues: Issues) -> list[Any]:
    return list(issues.ids[issues.kinds == RANKED[issues.task]].tolist())


def _tiles(issues: Issues) -> list[dict[str, str]]:
    tiles = [{"label": "examples", "value": f"{issues.examples:,}", "sub": _classes(issues)}]
    rate = issues.noise_rate
    if rate is not None:
        sub = "" if np.isnan(rate.low) else f"{rate.low * 100:.1f} to {rate.high * 100:.1f}{GAP}%"
        tiles.append({"label": "wrong labels, estimated", "value": f"{rate.centre * 100:.1f}{GAP}%", "sub": sub})
    out = issues.left_out()
    sub = f"{out:,} left out" if out else "nothing left out"
    return [*tiles, {"label": "clean() keeps", "value": f"{issues.examples - out:,}", "sub": sub}]


def _classes(issues: Issues) -> str:
    word = "labels" if issues.task == "multilabel" else "classes"
    return f"{len(issues.classes):,} {word}" if issues.classes else issues.task


def _square(issues: Issues) -> dict[str, Any] | None:
    if issues.confusion is None or len(issues.classes) < 2:
        return None
    svg = to_svg(confusion_square(issues), "estimated share of each true class that was given each label", "c0")
    few = f" The {MOST_CLASSES} classes that are confused most." if len(issues.classes) > MOST_CLASSES else ""
    caption = f"Of each true class (row), the estimated per cent that was given each label (column).{few}"
    return {"svg": Markup(svg), "caption": caption}


def _shown(issues: Issues, kind: str) -> NDArray[np.int64]:
    """Rows of a kind to show: the surest, then the next most likely labels, and all that a person has marked."""
    if kind == SAMPLE:
        return _sample(issues)
    sure = issues.order(kind, found=True)[:MOST]
    if kind in WHOLE:
        return sure
    every = issues.order(kind)
    marked = every[issues.verdicts[every] != ""]
    more = every[:0]
    if kind == RANKED[issues.task] and issues.task != "unlabelled":
        rest = every[~issues.found[every] & (issues.probabilities[every] >= LEAST)]
        more = rest[:NEXT]
    rows = np.unique(np.concatenate([sure, more, marked]))
    return rows[np.argsort(-issues.probabilities[rows], kind="stable")]


def _sample(issues: Issues) -> NDArray[np.int64]:
    """Rows of labels to mark, in random order; none if the share of wrong labels was not estimated, or is known."""
    if not uncertain(issues):
        return np.zeros(0, dtype=np.int64)
    rows = issues.order(RANKED[issues.task])
    return rows[positions_of(issues.ids[rows], issues.to_mark(), issues.source)]


def _section(
    issues: Issues, kind: str, drawn: Mapping[str, Example], beside: Mapping[str, Example], curves: Curves
) -> dict[str, Any]:
    rows = _shown(issues, kind)
    count = rows.size if kind == SAMPLE else issues.counts()[kind]
    title, about, yes, no = TEXTS[kind]
    cards = [_card(issues, int(row), drawn, beside if kind == "leak" else drawn, curves) for row in rows]
    return {
        "kind": kind,
        "title": title,
        "count": f"{count:,}",
        "about": about,
        "yes": yes,
        "no": no,
        "cards": cards,
        "below": any(not card["flagged"] and not card["verdict"] for card in cards) and kind == RANKED[issues.task],
        "more": f"{count - MOST:,}" if count > MOST else "",
        "curves": any(card["curve"] for card in cards),
    }


def _card(
    issues: Issues, row: int, drawn: Mapping[str, Example], beside: Mapping[str, Example], curves: Curves
) -> dict[str, Any]:
    """One finding."""
    id, label, other = str(issues.ids[row]), issues.labels[row], issues.others[row]
    likely = float(issues.suggestion_probabilities[row])
    return {
        "id": id,
        "kind": str(issues.kinds[row]),
        "example": drawn.get(id) or Example(id, label or None, None, True),
        "other": other,
        "partner": (beside.get(other) or Example(other, None, None, True)) if other else None,
        "label": label,
        "suggestion": issues.suggestions[row],
        "likely": "" if np.isnan(likely) else _percent(likely),
        "probability": float(issues.probabilities[row]),
        "sure": _percent(float(issues.probabilities[row])),
        "evidence": issues.evidence[row],
        "flagged": bool(issues.found[row]),
        "verdict": str(issues.verdicts[row]),
        "curve": sparkline(curves.get(id, ())),
    }


def _percent(share: float) -> str:
    """A probability in per cent; never 100 % or 0 % of what is only likely."""
    if 0.99 < share < 1:
        return f"over 99{GAP}%"
    if 0 < share < 0.01:
        return f"under 1{GAP}%"
    return f"{share * 100:.0f}{GAP}%"


def _whole(issues: Issues, kind: str) -> dict[str, Any]:
    """Findings about no single example."""
    rows = _shown(issues, kind)
    cells = [
        [cell(issues.subjects[row]), cell(_percent(float(issues.probabilities[row]))), cell(issues.evidence[row])]
        for row in rows
    ]
    count = issues.counts()[kind]
    return {
        "kind": kind,
        "title": TEXTS[kind][0],
        "count": f"{count:,}",
        "about": TEXTS[kind][1],
        "table": table([kind if kind != "class" else "classes", "how sure", "evidence"], cells),
        "more": f"{count - MOST:,}" if count > MOST else "",
    }
