"""The sections of a report as plain values for the templates: text, tables and figures.

The templates escape all text. Only figures, which escape their own text, are marked as safe. A section about
something the run does not have is None, and the templates skip it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from markupsafe import Markup

from .. import __version__
from ..artefacts import Interval, Study, Subset
from ..artefacts.free_alternatives import is_random
from ..artefacts.ledger import ledger
from ..artefacts.study_table import soft_baseline
from ..core.units import GAP
from . import figures
from . import sentences as words
from .class_section import class_section
from .ledger_section import ledger_section, signed_seconds
from .metric_units import Units
from .palette import DARK, LIGHT, css_variables
from .saved_run import SavedRun
from .snippets import loading, opening, origin_of
from .table_cells import cell, gap_cell, table
from .teaching_section import teaching_section

__all__ = ["page"]

MOST_SCORES = 6
CHIPS = {
    "better": "better than random",
    "worse": "worse than random",
    "tie": "not significantly better than random",
    "one seed": "one seed: no claim",
    "unknown": "no random baseline",
}


def page(saved: SavedRun) -> dict[str, Any]:
    """Everything the templates print."""
    study, origin = saved.study, _origin(saved)
    rows = {} if study is None else {row["arm"]: row for row in ledger(study)}
    arms = [] if study is None else chosen_arms(study)
    main = None if study is None else _main_arm(study, saved.subset, arms)
    name = saved.gallery.source if saved.gallery else origin["name"] if origin else None
    return {
        "version": __version__,
        "name": name,
        "light": Markup(css_variables(LIGHT)),
        "dark": Markup(css_variables(DARK)),
        "head": _untested(saved, origin) if study is None else _head(study, arms, main, rows),
        "results": [] if study is None else _results(study),
        "scores": _scores(saved),
        "classes": None if study is None else class_section(saved, study, arms, main),
        "gallery": saved.gallery if saved.gallery and saved.gallery.sections else None,
        "teaching": _teaching(saved),
        "ledger": ledger_section(rows),
        "certificate": _certificate(saved, main),
        "loading": _loading(saved, origin),
        "provenance": _provenance(saved),
    }


def _origin(saved: SavedRun) -> Mapping[str, Any] | None:
    """Provenance of the source, from the first artefact of the run that records it."""
    made = [thing.provenance for thing in (saved.subset, *saved.scores, saved.study) if thing is not None]
    return next((found for one in made if (found := origin_of(one)) is not None), None)


def _untested(saved: SavedRun, origin: Mapping[str, Any] | None) -> dict[str, Any]:
    kept = 0 if saved.subset is None else len(saved.subset)
    total = len(saved.scores[0]) if saved.scores else int(origin["size"]) if origin else 0
    labelled = any(score.task != "unlabelled" for score in saved.scores)
    return {
        "gained": "",
        "sentence": words.untested(kept, total, labelled),
        "verdict": "unknown",
        "chip": "not retrained",
        "tiles": [],
        "note": "To measure the effect, train on the subset and on a random one of the same size, and test both.",
    }


def chosen_arms(study: Study) -> list[str]:
    """The arms that somebody chose: subsets that were trained, without random ones with soft targets."""
    found = [arm.name for arm in study.arms if arm.kind == "subset" and study.of(arm.name)]
    return [name for name in found if not is_random(study, name)]


def _main_arm(study: Study, subset: Subset | None, arms: Sequence[str]) -> str | None:
    """The arm of the headline: the only one, or the run's own subset."""
    if len(arms) == 1:
        return arms[0]
    if subset is not None:
        same = [
            arm
            for arm in arms
            if study.arm(arm).size == len(subset) and study.arm(arm).certificate == subset.certificate
        ]
        return same[0] if len(same) == 1 else None
    return None


def _head(study: Study, arms: Sequence[str], main: str | None, rows: Mapping[str, Any]) -> dict[str, Any]:
    note = words.protocol(study)
    if main is not None:
        judged = study.verdict(main)
        found = judged.fewer_examples
        return {
            "gained": judged.sentence,
            "sentence": words.headline(study, main, rows.get(main)),
            "verdict": found,
            "chip": CHIPS[found],
            "tiles": _tiles(study, main, rows.get(main)),
            "note": note,
        }
    if not arms:
        return {
            "gained": "",
            "sentence": "No model was trained on a subset, so there is nothing to compare.",
            "verdict": "unknown",
            "chip": None,
            "tiles": [],
            "note": note,
        }
    if len(arms) >= 5:
        note += f" With {len(arms)} comparisons, about one interval in twenty excludes zero by chance alone."
    return {
        "gained": "",
        "sentence": words.several(study, arms, rows),
        "verdict": "unknown",
        "chip": None,
        "tiles": [],
        "note": note,
    }


def _tiles(study: Study, arm: str, row: Mapping[str, Any] | None) -> list[dict[str, str]]:
    units, about = Units.of(study), study.arm(arm)
    got = study.interval(arm)
    total = study.full.size if study.full else round(about.size / about.keep)
    tiles = [
        {"label": "kept", "value": f"{about.keep * 100:.3g}{GAP}%", "sub": f"{about.size:,} of {total:,}"},
        {"label": units.word, "value": units.level(got.centre), "sub": _range(units, got)},
    ]
    for label, gap in (
        ("against random + soft" if soft_baseline(study, about) else "against random", words.versus_random(study, arm)),
        ("against everything, same steps", words.versus_same_steps(study, arm)),
        ("against full", words.versus_full(study, arm)),
    ):
        if gap is not None:
            tiles.append(
                {
                    "label": label,
                    "value": units.number(gap.centre, True) + (f"{GAP}pt" if units.percent else ""),
                    "sub": units.ends(gap),
                }
            )
    if row is not None and not math.isnan(row["net_after_one_s"]):
        tiles.append(
            {
                "label": "net after one training",
                "value": signed_seconds(row["net_after_one_s"]),
                "sub": _pays_sub(words.pays(row)),
            }
        )
    return tiles


def _pays_sub(text: str) -> str:
    known = {"never": "never pays off", "not known": "cost of selection unknown", "worse than random": text}
    return known.get(text, f"pays off after {text}")


def _range(units: Units, got: Interval) -> str:
    return "one seed: no interval" if math.isnan(got.low) else f"{units.number(got.low)} to {units.number(got.high)}"


def _results(study: Study) -> list[dict[str, Any]]:
    """One block per test set: the figure and the table of all arms."""
    units = Units.of(study)
    blocks = []
    for number, test in enumerate(study.tests):
        run = [arm for arm in study.arms if study.of(arm.name, test)]
        if not run:
            continue
        one = figures.at_one_fraction(study, test)
        figure = figures.arms_side_by_side(study, test) if one else figures.accuracy_against_fraction(study, test)
        title = f"{units.word} {'of each training set' if one else 'by fraction kept'}, on {test}"
        rows = []
        beside = partial(study.beside, test=test)
        for arm in run:
            got, worst = study.interval(arm.name, test), _worst(study, arm.name, test)
            full = None if arm.kind == "full" else words.versus_full(study, arm.name, test)
            chance = words.versus_random(study, arm.name, test) if arm.kind == "subset" else None
            same = words.versus_same_steps(study, arm.name, test)
            rows.append(
                [
                    cell(arm.name, kind=arm.kind),
                    cell(f"{arm.size:,}", f"{arm.keep * 100:.3g}{GAP}%"),
                    cell(units.level(got.centre), _range(units, got)),
                    *(cell(units.level(one.centre), _range(units, one)) for one in beside(arm.name).values()),
                    gap_cell(units, chance, judge=True),
                    gap_cell(units, same),
                    gap_cell(units, full),
                    cell(worst),
                    cell(str(got.runs)),
                ]
            )
        blocks.append(
            {
                "test": test,
                "first": number == 0,
                "soft": any(soft_baseline(study, arm) for arm in run),
                "dots": not one and figures.shows_seeds(study, test),
                "svg": _svg(figure, title, f"a{number}"),
                "metrics": _metrics(study, [arm.name for arm in run], test),
                "table": table(
                    [
                        "training set",
                        "kept",
                        units.word,
                        *(beside(run[0].name) if run else ()),
                        "against random",
                        "against same steps",
                        "against full",
                        f"worst {units.per}",
                        "seeds",
                    ],
                    rows,
                ),
            }
        )
    return blocks


def _metrics(study: Study, arms: Sequence[str], test: str) -> dict[str, Any] | None:
    """The table of all metrics, if there are several."""
    if len(study.metrics) < 2:
        return None
    shown = {metric: Units.named(metric) for metric in study.metrics}
    rows = []
    for arm in arms:
        found = {metric: study.interval(arm, test, metric) for metric in shown}
        cells = [cell(units.level(found[word].centre), _range(units, found[word])) for word, units in shown.items()]
        rows.append([cell(arm, kind=study.arm(arm).kind), *cells])
    return table(["training set", *(units.word for units in shown.values())], rows)


def _worst(study: Study, arm: str, test: str) -> str:
    known = [value for value in study.per_class(arm, test) if not math.isnan(value)]
    return f"{min(known) * 100:.1f}{GAP}%" if known else ""


def _svg(figure: Any, title: str, prefix: str) -> Markup:
    return Markup(figures.to_svg(figure, title, prefix))


def _scores(saved: SavedRun) -> dict[str, Any] | None:
    if not saved.scores:
        return None
    shown = [
        {
            "name": score.name,
            "reliability": words.reliability(score.reliability),
            "used": bool(saved.gallery and saved.gallery.score == score.name and len(saved.scores) > 1),
            "svg": _svg(
                figures.score_histogram(score, saved.subset),
                f"distribution of the score {score.name}, kept and dropped examples",
                f"h{number}",
            ),
        }
        for number, score in enumerate(saved.scores[:MOST_SCORES])
    ]
    return {"shown": shown, "more": [score.name for score in saved.scores[MOST_SCORES:]]}


def _teaching(saved: SavedRun) -> dict[str, Any] | None:
    if saved.relations is None:
        return None
    held = saved.gallery.sections if saved.gallery else {}
    titles = {"dropped": "What stands in for dropped examples", "kept": "Partners of kept examples"}
    groups = {title: [item.id for item in held.get(name, ())] for name, title in titles.items()}
    return teaching_section(saved.relations, saved.pictures, groups)


def _certificate(saved: SavedRun, main: str | None) -> list[dict[str, str]]:
    held: Mapping[str, Any] = {}
    if saved.subset is not None:
        held = saved.subset.certificate
    elif saved.study is not None and main is not None:
        held = saved.study.arm(main).certificate
    return [{"key": str(key).replace("_", " "), "value": _value(value)} for key, value in held.items()]


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def _loading(saved: SavedRun, origin: Mapping[str, Any] | None) -> list[dict[str, str]] | None:
    if saved.subset is None or saved.subset_path is None:
        return None
    tasks = [score.task for score in saved.scores]
    task = tasks[0] if tasks else "unlabelled" if saved.study is None else "classification"
    return loading(saved.subset, saved.subset_path, opening(origin), task)


def _provenance(saved: SavedRun) -> list[dict[str, str]]:
    held: list[tuple[str, Any]] = [("settings", saved.settings)]
    if saved.study is not None:
        held.append(("study", saved.study.provenance))
    if saved.subset is not None:
        held.append(("subset", {"fingerprint": saved.subset.fingerprint, **saved.subset.provenance}))
    held += [(f"score {score.name}", score.provenance) for score in saved.scores]
    held.append(("seconds per step", saved.steps))
    return [{"name": name, "json": _json(value)} for name, value in held if value]


def _json(value: Mapping[str, Any] | Iterable[Any]) -> str:
    return json.dumps(value, indent=2, sort_keys=True, default=str, ensure_ascii=False)
