"""Study: the results of training models on subsets: per seed, per class and per test set, with their cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..core import checks
from ..core.errors import InputError
from ..core.layouts import Folder
from ..core.serialiser import Saved
from .class_metrics import CLASSIFIED, LABEL_F1, METRICS
from .free_alternatives import StudyVerdict, judge
from .intervals import Interval
from .notebook_view import Shown
from .outcome import Arm, Outcome
from .provenance import Provenance
from .study_intervals import difference_of_arms, label_f1_of_arm, mean_of_arm, value_in
from .study_table import metric_word, summary, table
from .table import Table, data_frame

if TYPE_CHECKING:
    import pandas

__all__ = ["Arm", "Outcome", "Study"]

LAYOUT = Folder(
    "study.json", tables={"outcomes": "outcomes.parquet"}, timed={"outcomes": "seconds", "arms": "selection"}
)


@dataclass(frozen=True, eq=False, repr=False)
class Study(Shown, Saved, kind="study", layout=LAYOUT):
    """Trained models compared under one protocol.

    Parameters
    ----------
    metric
        What conclusions are based on: `accuracy`, `balanced_accuracy`, `macro_f1`, `auroc`, `map` (mean average
        precision, of several labels per example) or `r2`; higher is better.
    arms
        The training sets, full and random included.
    outcomes
        One entry per trained model and test set.
    tests
        Names of the test sets; claims are about the first one.
    classes
        Names of the classes.
    match_iterations
        0: every arm trains the same number of epochs; 1: the same number of optimiser steps.
    provenance
        Where it came from.
    test_labels
        The class of each example of each test set, packed and in hexadecimal digits; None if they were not kept.

    Raises
    ------
    InputError
        If arms share a name, or an outcome is of an arm or test set that the study does not contain.

    Examples
    --------
    `wn.evaluate` makes one; this one is written by hand.

    >>> import winnow as wn
    >>> from winnow.artefacts.study import Arm, Outcome
    >>> arms = (Arm("full", "full", 100, 1.0), Arm("half", "subset", 50, 0.5))
    >>> got = {"full": (0.90, 0.92), "half": (0.89, 0.93)}
    >>> outcomes = [Outcome(arm, k, "test", got[arm][k], 0.3, (), 40, 2.0) for arm in got for k in (0, 1)]
    >>> study = wn.Study("accuracy", arms, tuple(outcomes), ("test",))
    >>> print(study.summary())
    arm   kept  accuracy, %           against full  training, s
    full  100   91.0 (78.3 to 100.0)                2.0
    half  50    91.0 (65.6 to 100.0)  +0.0 ± 12.7   2.0
    >>> [(row["arm"], row["seeds"]) for row in study.table()]
    [('full', 2), ('half', 2)]
    >>> wn.Study.load(study.save("study"))
    Study(2 arms, 4 outcomes, accuracy on test)
    >>> study.report("report.html").name
    'report.html'
    """

    metric: str
    arms: tuple[Arm, ...]
    outcomes: tuple[Outcome, ...]
    tests: tuple[str, ...]
    classes: tuple[str, ...] = ()
    match_iterations: float = 0.0
    provenance: Provenance = field(default_factory=dict)
    test_labels: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        checks.choice("metric", "study", self.metric, METRICS)
        names = [arm.name for arm in self.arms]
        if len(set(names)) != len(names):
            raise InputError(f"arms of a study must have different names; got {names}.")
        if not self.tests:
            raise InputError("a study needs at least one test set.")
        for outcome in self.outcomes:
            if outcome.arm not in names or outcome.test not in self.tests:
                raise InputError(
                    f"an outcome names arm {outcome.arm!r} and test set {outcome.test!r}, which the "
                    "study does not contain."
                )

    def __repr__(self) -> str:
        return f"Study({len(self.arms)} arms, {len(self.outcomes)} outcomes, {self.metric} on {', '.join(self.tests)})"

    def arm(self, name: str) -> Arm:
        """The arm of that name."""
        for arm in self.arms:
            if arm.name == name:
                return arm
        raise InputError(f"the study has no arm {name!r}; it has {', '.join(arm.name for arm in self.arms)}.")

    @property
    def full(self) -> Arm | None:
        """The arm trained on everything, if it was run."""
        return next((arm for arm in self.arms if arm.kind == "full"), None)

    def of(self, arm: str, test: str | None = None) -> dict[int, Outcome]:
        """Outcomes of an arm on one test set, by seed."""
        where = self.tests[0] if test is None else test
        found = {o.seed: o for o in self.outcomes if o.arm == arm and o.test == where}
        return dict(sorted(found.items()))

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of all metrics that were measured, the study's own first."""
        others = [word for word in CLASSIFIED if self.metric in CLASSIFIED and word != self.metric]
        known = [w for w in others if self.outcomes and all(_known(o, w) for o in self.outcomes)]
        return (self.metric, *known)

    def interval(self, arm: str, test: str | None = None, metric: str | None = None) -> Interval:
        """Mean of a metric with its 95 % interval, for other seeds and other test examples (`intervals`).

        Without the marks of single test examples, as in studies of earlier versions, it is for other seeds only.

        Parameters
        ----------
        arm
            Name of an arm.
        test
            Name of the test set; the first one if not given.
        metric
            One of `metrics`; the study's own if not given.
        """
        return mean_of_arm(self, arm, test, metric)

    def beside(self, arm: str, test: str | None = None) -> dict[str, Interval]:
        """Of several labels per example, F1 of the same models, micro and macro, each with its 95 % interval.

        Empty for other tasks. The part of the interval for other test examples is that of single models, which is never
        too narrow.
        """
        return label_f1_of_arm(self, arm, test)

    def versus(self, arm: str, other: str, test: str | None = None, metric: str | None = None) -> Interval:
        """Mean of `arm - other`, paired by seed and test example, with its 95 % interval.

        Parameters
        ----------
        arm, other
            Names of arms. If one is a fixed subset and the other is drawn anew with each seed, the interval also holds
            the luck of the fixed one, and is about its way of choosing; otherwise about these very subsets.
        test
            Name of the test set; the first one if not given.
        metric
            One of `metrics`; the study's own if not given.

        Returns
        -------
        Interval
            `about` says in words what it is about.

        Raises
        ------
        InputError
            If the arms share no seed.
        """
        return difference_of_arms(self, arm, other, test, metric)

    def verdict(self, arm: str) -> StudyVerdict:
        """Compare an arm with what is free, and say what it is better for.

        Parameters
        ----------
        arm
            Name of a subset's arm.

        Returns
        -------
        StudyVerdict
            The best free alternative, the differences, and one sentence.

        Raises
        ------
        InputError
            If there is no such arm.
        """
        return judge(self, arm)

    @property
    def resampled(self) -> bool:
        """Whether each training left out a random tenth of its examples, as for an estimator with several seeds."""
        return bool(self.provenance.get("parameters", {}).get("resampled"))

    def per_class(self, arm: str, test: str | None = None) -> tuple[float, ...]:
        """Accuracy per class, mean over seeds; NaN for a class that the test set lacks."""
        return tuple(
            float(np.mean(column)) for column in zip(*(o.per_class for o in self.of(arm, test).values()), strict=True)
        )

    def seconds(self, arm: str) -> float:
        """Mean seconds of one training."""
        return float(np.mean([o.seconds for o in self.of(arm).values()]))

    def summary(self) -> Table:
        """A short table to read.

        Returns
        -------
        Table
            One row per arm and test set: percentages (or R2) with half of the 95 % interval after ±, or with
            its ends in brackets where the possible range cuts it short.
        """
        return summary(self)

    def table(self) -> Table:
        """All figures, as numbers; printed, it is the short table of `summary`.

        Returns
        -------
        Table
            One row per arm and test set: the metric, paired differences to random, to everything at the
            same steps and to full, the other metrics with their intervals, and seconds.
        """
        return table(self)

    def _view(self) -> Table:
        return self.summary()

    def to_pandas(self) -> pandas.DataFrame:
        """One row per trained model and test set, with one column per class for its metric."""
        rows = []
        for one in self.outcomes:
            row = {"arm": one.arm, "seed": one.seed, "test": one.test, self.metric: one.value}
            row |= {word: value_in(self, one, word) for word in self.metrics[1:]} | {"loss": one.loss}
            classes = zip(self.classes, one.per_class, strict=False)
            per = "accuracy" if self.metric in CLASSIFIED else metric_word(self)
            row |= {f"{per} of {name}": value for name, value in classes}
            row |= dict(zip(LABEL_F1, (one.beside or ())[::2], strict=False))
            rows.append({**row, "iterations": one.iterations, "seconds": one.seconds})
        return data_frame(rows)

    def report(self, path: str | Path) -> Path:
        """Write the self-contained HTML report of this study.

        Parameters
        ----------
        path
            The HTML file.

        Returns
        -------
        Path
            Where it was written.

        Raises
        ------
        InputError
            If the path is a directory.
        StoreError
            If nothing can be written there.
        """
        # The only import of a later room: a convenience of the artefact, imported only when called.
        from ..report import write_study_report

        return write_study_report(self, path)


def _known(outcome: Outcome, metric: str) -> bool:
    found = getattr(outcome, metric)
    return found is not None and not math.isnan(found)
