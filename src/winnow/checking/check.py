"""check: what is wrong with a data set, before anything is cut.

Every kind of issue has its own module; here they meet. What costs most is training: labels are judged by networks of
several folds, which are observed once (the signal `oof`), with near-duplicates in the same fold. With embeddings given,
a linear head on them takes the place of the network; with signals given, nothing is trained.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..artefacts import Issues, record
from ..artefacts.decisions import read_decisions
from ..artefacts.finding import KINDS as FOUND
from ..artefacts.verdicts import read_marks
from ..core.code_digest import coded
from ..core.request import RunDirectory, Seed, request
from ..core.run import Run
from ..engines.named import Where
from ..models.identity import Model
from ..report.check_page import curves_of, named, write_check
from ..report.pictures import make_pictures
from ..signals.observe import Folds
from ..sources.openable import Data, test_sets
from ..training.recipe import How
from .check_parameters import Looked, Marks, Rows, Seen, TestRows, TestSet
from .examination import Examination

__all__ = ["check"]


def check(
    source: Data,
    test: TestSet = None,
    signals: Seen = None,
    embeddings: Rows = None,
    *,
    test_embeddings: TestRows = None,
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
        head on them, unless `model` names another network. If not given, networks are trained, and a head on the rows
        of an open encoder is asked beside them, if one for these data is installed (the extra `encoders`); "none"
        leaves it out.
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
        the page or the viewer wrote. They are kept, and the other probabilities are estimated anew. In the same run
        directory this trains nothing again.
    seed
        Seed of everything random.
    out
        A run directory: finished trainings are kept there, with `issues.parquet`, `issues.csv` and `check.html`.
    engine
        Where trainings run.
    **opening
        Keywords of `wn.open`, such as `labels=`. Of data given by name or path, images that cannot be decoded are left
        out and reported (`unreadable="skip"`), unless it is "refuse".

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
    if isinstance(source, str | os.PathLike):
        opening.setdefault("unreadable", "skip")
    asked = request(check, locals())
    other = test_sets(asked)
    settings = {"command": "check", **asked.settings(), "test": None if other is None else other.fingerprint}
    verdicts = {kind: sorted(read_marks(marks, kind).items()) for kind in FOUND}
    dropped = sorted(id for id, one in read_decisions(marks).items() if one.choice == "drop")
    verdicts |= {"dropped": [(id, "confirmed") for id in dropped]} if dropped else {}
    with Run.opened(out, settings, extend=False) as run:
        work = Examination(asked, other, run)
        made_from = record("check", {**settings, "marks": verdicts}, {"source": asked.source.provenance})

        def made() -> Issues:
            return work.issues(made_from)

        read = [verdicts, work.codes]
        found = run.step("check/issues", Issues, made, key=read, file="issues.parquet")

        def pages() -> Pages:
            return Pages(found, work)

        if run.path is not None:
            run.step("check/pages", Pages, pages, key=[coded(made, read), made_from], file="check.html")
    return found


@dataclass(frozen=True)
class Pages:
    """What is written for people: the page, and the table beside it. Nothing reads them, so only their bytes matter.

    A step of the run, so that a damaged file is noticed and written again; trainings are loaded for it.
    """

    found: Issues | None = None
    work: Examination | None = None

    def save(self, path: str | Path) -> None:
        """Write both files."""
        found, work, page = self.found, self.work, Path(path)
        assert found is not None
        assert work is not None
        found.to_csv(page.with_name("issues.csv"))
        ids, beside = work.readable(named(found)), named(found, test=True)
        labelled = "label" in work.kinds and work.source.task == "classification"
        curves = curves_of(work.signals, ids) if labelled else {}
        drawn = None if work.test is None or not beside else make_pictures(work.test, beside)
        write_check(found, page, make_pictures(work.source, ids), drawn, curves)

    @classmethod
    def load(cls, path: str | Path) -> Pages:
        """Return nothing but that they are there."""
        return cls()
