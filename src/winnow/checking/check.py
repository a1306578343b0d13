"""check: what is wrong with a data set, before anything is cut.

Every kind of issue has its own module; here they meet. What costs most is training: labels are judged by networks of
several folds, which are observed once (the signal `oof`), with near-duplicates in the same fold. With embeddings given,
a linear head on them takes the place of the network; with signals given, nothing is trained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Issues, Signals, Source, record
from ..artefacts.issues import Finding
from ..artefacts.verdicts import read_marks
from ..core import checks
from ..core.errors import InputError
from ..core.files import fingerprint
from ..core.request import Parameter, RunDirectory, Seed, VerbRequest, request
from ..core.run import Run
from ..engines.local import Where
from ..models.identity import Model
from ..signals.embed import embed
from ..signals.observe import Folds, observe
from ..sources.openable import Data, test_sets
from ..training.recipe import How
from .class_findings import class_findings
from .columns import columns, drift
from .duplicates import DuplicateGroups, duplicates
from .label_issues import LabelIssues, label_issues, target_issues
from .leaks import leaks
from .neighbour_rows import neighbour_rows
from .outliers import outliers
from .values import values

__all__ = ["KINDS", "check"]

KINDS = ("label", "duplicate", "outlier", "value", "leak", "class", "column", "drift")
CONFLICT = 0.9  # how likely a label is wrong that most near-duplicates of an example do not have


def _plain_signals(signals: Any) -> str | None:
    return signals.fingerprint if isinstance(signals, Signals) else None


def _plain_rows(rows: Any) -> Any:
    if isinstance(rows, Signals):
        return rows.fingerprint
    return rows if isinstance(rows, str) else fingerprint(np.ascontiguousarray(np.asarray(rows)).tobytes())


def _kinds(name: str, owner: str, value: Any) -> tuple[str, ...]:
    words = (value,) if isinstance(value, str) else tuple(value)
    return tuple(dict.fromkeys(checks.choice(name, owner, word, KINDS) for word in words))


TestSet = Annotated[Any, Parameter("Test data, to find leaks and drift.", plain=None, kind=str | None)]
Seen = Annotated[
    Signals | None,
    Parameter("What a training has recorded: nothing is trained then.", plain=_plain_signals, option=None),
]
Rows = Annotated[
    Any,
    Parameter("Network to embed with, such as timm:NAME; then a linear head is trained.", plain=_plain_rows, kind=str),
]
Looked = Annotated[
    str | Iterable[str] | None,
    Parameter(f"What to look for: {', '.join(KINDS)}; may be given several times.", _kinds, kind=list[str] | None),
]
Marks = Annotated[
    Any,
    Parameter(
        "Verdicts on earlier findings: a CSV file that check.html exported.",
        plain=lambda marks: sorted(read_marks(marks).items()),
        kind=str | None,
    ),
]


def check(
    source: Data,
    test: TestSet = None,
    signals: Seen = None,
    embeddings: Rows = None,
    *,
    test_embeddings: Annotated[Any, Parameter(plain=None, option=None)] = None,
    model: Model = "auto",
    recipe: How = None,
    folds: Folds = 5,
    kinds: Looked = None,
    marks: Marks = None,
    seed: Seed = 0,
    out: RunDirectory = None,
    engine: Where = None,
    **opening: Any,
) -> Issues:
    """Find wrong labels, near-duplicates, outliers, leaks, broken values, confused classes and drift.

    Labels are judged by networks that were not trained on the example, by how hard it was to learn for those that
    were, and by its nearest neighbours. The probability that a label is wrong is given for every example.

    Parameters
    ----------
    source
        The training data: a Source, or anything that `wn.open` takes.
    test
        Test data: leaks and drift are found against them. If not given, the test split of the source, if it has one.
    signals
        What a training has already recorded (`wn.observe`, a `Recorder`): nothing is trained then. With `oof` labels
        are judged best; dynamics and predictions are enough.
    embeddings
        Signals with embeddings, an array with one row per example, or what `wn.embed` takes: the name of a network or
        a module. Near-duplicates, outliers and neighbours are then found in these, and labels are judged by a linear
        head on them, unless `model` names another network.
    test_embeddings
        The same for the test data, if `embeddings` is an array or Signals.
    model, recipe
        The network and its training, as for `observe`; the model may also be a scikit-learn estimator.
    folds
        How many networks are trained, each to judge what it was not trained on.
    kinds
        What to look for, among `label`, `duplicate`, `outlier`, `value`, `leak`, `class`, `column` and `drift`; all
        that apply if not given.
    marks
        Verdicts of a person on earlier findings: Issues, a mapping of ids to "confirmed" or "refused", or a file that
        the page exported. They are kept, and the other probabilities are estimated anew.
    seed
        Seed of everything random.
    out
        A run directory: finished trainings are kept there, with `issues.parquet`, `issues.csv` and `check.html`.
    engine
        Where trainings run.
    **opening
        Keywords of `wn.open`, such as `labels=`.

    Returns
    -------
    Issues
        One row per finding, and one per example with the probability that its label is wrong.

    Raises
    ------
    InputError
        If a parameter has an invalid value, or embeddings do not fit.

    Examples
    --------
    >>> import winnow as wn
    >>> found = wn.check("digits", limit=200, recipe=wn.Recipe(epochs=4), kinds=("label", "duplicate"))
    >>> len(found.clean()) <= found.examples == 200
    True
    """
    asked = request(check, locals())
    other = test_sets(asked)
    settings = {
        "command": "check",
        **asked.settings(),
        "test": None if other is None else other.fingerprint,
        "test_embeddings": None if test_embeddings is None else _plain_rows(test_embeddings),
    }
    with Run.opened(out, settings, extend=False) as run:
        work = _Check(asked, other, run)
        made_from = record("check", settings, {"source": asked.source.provenance})
        found = run.step("check/issues", Issues, lambda: work.issues(made_from), file="issues.parquet")
        if run.path is not None:
            _publish(found, work, Path(run.path))
    return found


def _wanted(kinds: tuple[str, ...] | None, source: Source, test: Source | None) -> tuple[str, ...]:
    """The kinds that apply to these data; raise if one was asked for that does not."""
    labelled = source.task == "regression" or (source.task == "classification" and len(source.classes) > 1)
    applies = {
        "label": labelled,
        "class": labelled and source.task == "classification",
        "column": source.kind == "table",
        "leak": test is not None,
        "drift": test is not None,
    }
    if kinds is None:
        return tuple(kind for kind in KINDS if applies.get(kind, True))
    for kind in kinds:
        if not applies.get(kind, True):
            why = {"leak": "test data", "drift": "test data", "column": "a table"}.get(
                kind, "labels of several classes"
            )
            raise InputError(f"kinds of check: {kind} needs {why}.")
    return kinds


class _Check:
    """One check: the data, the request, and what several kinds share, computed when it is first used."""

    def __init__(self, asked: VerbRequest, test: Source | None, run: Run) -> None:
        self.asked, self.test, self.run = asked, test, run
        self.source: Source = asked.source
        self.kinds = _wanted(asked.kinds, self.source, test)

    def issues(self, provenance: Mapping[str, Any]) -> Issues:
        """Look for everything, and join it."""
        source, seed = self.source, self.asked.seed
        mine, theirs = self.rows
        found: list[Finding] = []
        judged: LabelIssues | None = None
        if "label" in self.kinds or "class" in self.kinds:
            judged = self._judged()
            if "class" in self.kinds:
                assert source.labels is not None
                found += class_findings(source.labels, _predicted(self.signals), source.classes)
            found += judged.findings
        looks: dict[str, Callable[[], list[Finding]]] = {
            "duplicate": lambda: self.groups.findings(source),
            "outlier": lambda: outliers(source, mine, seed=seed),
            "value": lambda: values(source),
            "column": lambda: columns(source, seed=seed),
            "leak": lambda: leaks(source, self._other, mine, theirs, seed=seed),
            "drift": lambda: drift(source, self._other, mine, theirs, seed=seed),
        }
        for kind, look in looks.items():
            found += look() if kind in self.kinds else []
        found = _with_verdicts(found, self.asked.marks)
        return Issues.of_findings(
            found,
            source=source.name,
            task=source.task,
            classes=source.classes,
            ranking=_ranking(source, found) if judged is None else judged.ranking,
            noise_rate=None if judged is None else judged.noise_rate,
            confusion=None if judged is None else judged.confusion,
            provenance=provenance,
        )

    @property
    def _other(self) -> Source:
        assert self.test is not None
        return self.test

    @cached_property
    def rows(self) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
        """Embeddings of the training and test data, if any are given or can be computed."""
        given = self.asked.embeddings
        if given is None:
            return None, None
        made = self.run.step("check/embeddings", Signals, lambda: self._embedded(self.source, given))
        mine = made.take(self.source.ids).embeddings.reshape(len(self.source), -1)
        after = given if _is_network(given) else self.asked.test_embeddings
        if self.test is None or after is None:
            return mine, None
        return mine, self._embedded(self.test, after).embeddings.reshape(len(self.test), -1)

    @cached_property
    def groups(self) -> DuplicateGroups:
        """Near-duplicates."""
        return duplicates(self.source, self.rows[0], seed=self.asked.seed)

    def _embedded(self, source: Source, given: Any) -> Signals:
        if isinstance(given, Signals):
            return replace(given.take(source.ids), arrays={"embeddings": given.take(source.ids).embeddings})
        if _is_network(given):
            return embed(source, given, seed=self.asked.seed)
        rows = checks.array("embeddings", "check", given, rows=len(source), dtype=np.float32)
        return Signals(source.ids, {"embeddings": rows.reshape(len(source), -1)}, "unlabelled")

    @cached_property
    def signals(self) -> Signals:
        """What labels are judged by: given, or observed in folds; with rows to find neighbours in."""
        source, asked = self.source, self.asked
        rows, _ = self.rows
        if asked.signals is not None:
            found: Signals = asked.signals.take(source.ids)
        else:
            head = rows is not None and isinstance(asked.model, str) and asked.model == "auto"
            found = observe(
                source,
                "linear" if head else asked.model,
                asked.recipe,
                want=("oof",),
                folds=min(asked.folds, len(np.unique(self.groups.group))),
                groups=self.groups.group,
                embeddings=rows if head else None,
                seed=asked.seed,
                out=self.run,
                engine=asked.engine,
            )
        if "embeddings" in found or "oof" not in found or source.task != "classification":
            return found
        near = neighbour_rows(source, asked.seed) if rows is None else rows
        axes = {**(found.axes or {}), "embeddings": ("examples", "embedding")}
        return replace(found, arrays={**found.arrays, "embeddings": near}, axes=axes)

    def _judged(self) -> LabelIssues:
        marks = read_marks(self.asked.marks, "label" if self.source.task == "classification" else "target")
        if self.source.task == "regression":
            return target_issues(self.source, self.signals, marks)
        return label_issues(self.source, self.signals, marks, _conflicts(self.source, self.groups))


def _is_network(given: Any) -> bool:
    return isinstance(given, str) or hasattr(given, "state_dict") or callable(given)


def _conflicts(source: Source, groups: DuplicateGroups) -> dict[int, float]:
    """How likely the label of an example is wrong because its near-duplicates have another one, by position."""
    found: dict[int, float] = {}
    labels = source.labels
    if labels is None:
        return found
    for members in groups.conflicts(source):
        kinds, counts = np.unique(labels[members], return_counts=True)
        if (counts == counts.max()).sum() > 1:
            continue  # a tie says that one is wrong, not which: the networks decide
        for one in members[labels[members] != kinds[counts.argmax()]].tolist():
            found[one] = CONFLICT * float(groups.probability[one])
    return found


def _predicted(signals: Signals) -> NDArray[Any]:
    name = "oof" if "oof" in signals else "predictions"
    return np.asarray(signals.array(name).mean(axis=0))


def _ranking(source: Source, found: list[Finding]) -> dict[str, Any]:
    """A row for every example of unlabelled data: the surest of its findings."""
    sure = dict.fromkeys(source.ids.tolist(), 0.0)
    for one in found:
        if one.id in sure:
            sure[one.id] = max(sure[one.id], one.probability)
    return {"id": source.ids, "probability": np.array(list(sure.values()))}


def _with_verdicts(found: list[Finding], marks: Any) -> list[Finding]:
    """The findings with what a person said of them; what was refused is not flagged."""
    if marks is None:
        return found
    said = {kind: read_marks(marks, kind) for kind in {one.kind for one in found}}
    made = []
    for one in found:
        verdict = said[one.kind].get(str(one.id), "")
        made.append(replace(one, verdict=verdict, flagged=one.flagged and verdict != "refused") if verdict else one)
    return made


def _publish(found: Issues, work: _Check, folder: Path) -> None:
    """Write the table and the page."""
    from ..report.check_page import curves_of, named, write_check
    from ..report.pictures import make_pictures

    if all((folder / name).exists() for name in ("issues.csv", "check.html")):
        return
    found.to_csv(folder / "issues.csv")
    ids, beside = named(found), named(found, test=True)
    curves = curves_of(work.signals, ids) if "label" in work.kinds and work.source.task == "classification" else {}
    drawn = None if work.test is None or not beside else make_pictures(work.test, beside)
    write_check(found, folder / "check.html", make_pictures(work.source, ids), drawn, curves)
