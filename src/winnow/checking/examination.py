"""One examination of a data set: the steps that several kinds of issues share, and their findings joined."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Issues, Signals, Source
from ..artefacts.decisions import Decision, read_decisions
from ..artefacts.issues import RANKED, Finding
from ..artefacts.verdicts import read_marks
from ..core import checks, registry
from ..core.errors import DataError, InputError
from ..core.request import VerbRequest
from ..core.run import Run
from ..models import choose
from ..models.identity import describe, network_code
from ..models.open_encoders import open_encoder
from ..signals.embed import embed
from ..signals.folds import joined_groups
from ..signals.observe import observe
from .check_parameters import KINDS, is_network, is_none
from .class_findings import class_findings
from .columns import columns, drift
from .duplicates import DuplicateGroups, duplicates
from .label_issues import LabelIssues, label_issues, target_issues
from .label_set_issues import label_set_issues
from .leaks import leaks
from .neighbour_rows import neighbour_rows
from .outliers import outliers
from .values import values

__all__ = ["Examination", "judge"]

NARROW = "convnet:width=16"
WIDE = 12  # sides of images from which on the usual network is wider than that
ONE_FILE = "image folder"  # the adapter whose ids are the paths of files
UNREADABLE = "the file cannot be read as an image with 8 bits per channel"
CONFLICT = 0.9  # how likely a label is wrong that most near-duplicates of an example do not have


class Examination:
    """One check: the data, the request, and what several kinds share, computed when it is first used."""

    def __init__(self, asked: VerbRequest, test: Source | None, run: Run) -> None:
        self.asked, self.test, self.run = asked, test, run
        self.source: Source = asked.source
        self.kinds = _applying(asked.kinds, self.source, test)

    @property
    def codes(self) -> list[str | None]:
        """Digests of the code of the signal and the network that judge labels."""
        if "label" not in self.kinds:
            return []
        model = judge(self.source, self.asked.model)
        if isinstance(model, str) and model == "auto":
            model = choose(self.source.shape, self.source.kind, self.source.outputs)
        encoder = None if self.encoder is None else str(describe(self.encoder))
        return [registry.get("signal", "oof").code, network_code(model), encoder]

    def issues(self, provenance: Mapping[str, Any]) -> Issues:
        """Look for everything, and join it."""
        source, seed = self.source, self.asked.seed
        mine, theirs = self.rows
        judged = self._judged() if "label" in self.kinds else None
        found: list[Finding] = [] if judged is None else list(judged.findings)
        looks: dict[str, Callable[[], list[Finding]]] = {
            "class": lambda: class_findings(np.asarray(source.labels), _predicted(self.signals), source.classes),
            "duplicate": lambda: self.groups.findings(source),
            "outlier": lambda: outliers(source, mine, seed=seed),
            "value": lambda: values(source),
            "column": lambda: columns(source, seed=seed),
            "leak": lambda: leaks(source, self._other, mine, theirs, seed=seed),
            "drift": lambda: drift(source, self._other, mine, theirs, seed=seed),
        }
        for kind, look in looks.items():
            found += look() if kind in self.kinds else []
        found = [*_with_verdicts(found, self.asked.marks), *_dropped(source, read_decisions(self.asked.marks))]
        ranking = _ranking(source, found) if judged is None else judged.ranking
        if "value" in self.kinds and self.unreadable:
            found += [Finding("value", 1.0, UNREADABLE, id=id, flagged=True) for id in self.unreadable]
            ranking = _longer(ranking, self.unreadable, 1.0 if source.task == "unlabelled" else 0.0)
        return Issues.of_findings(
            found,
            source=source.name,
            task=source.task,
            classes=source.classes,
            ranking=ranking,
            noise_rate=None if judged is None else judged.noise_rate,
            confusion=None if judged is None else judged.confusion,
            provenance=provenance,
            unjudged="" if judged is None else judged.unjudged,
        )

    @property
    def unreadable(self) -> list[str]:
        """Ids of the images of a folder that could not be decoded, and are not in the source."""
        origin = self.source.origin
        return list(origin["skipped"]["names"]) if "skipped" in origin and origin.get("adapter") == ONE_FILE else []

    def readable(self, ids: list[Any]) -> list[Any]:
        """Those of some ids that the source has."""
        gone = set(self.unreadable)
        return [one for one in ids if one not in gone]

    @property
    def _other(self) -> Source:
        assert self.test is not None
        return self.test

    @cached_property
    def rows(self) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
        """Embeddings of the training and test data, if any are given or can be computed."""
        given = self.asked.embeddings
        if given is None or is_none(given):
            return None, None
        made = self.run.step("check/embeddings", Signals, lambda: self._embedded(self.source, given))
        mine = made.take(self.source.ids).embeddings.reshape(len(self.source), -1)
        after = given if is_network(given) else self.asked.test_embeddings
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
        if is_network(given):
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
            units = len(set(np.asarray(joined_groups(self.groups.group, source.groups)).tolist()))
            if units < 2 and self.groups.exact.all():
                equal = f"all {len(source)} examples of {source.name!r} are equal"
                raise DataError(f"{equal}, so nothing tells their labels apart.")
            head = rows is not None and isinstance(asked.model, str) and asked.model == "auto"
            found = observe(
                source,
                "linear" if head else judge(source, asked.model),
                asked.recipe,
                want=("oof",),
                folds=max(2, min(asked.folds, units)),
                groups=self.groups.group,
                embeddings=rows if head else None,
                seed=asked.seed,
                out=self.run,
                engine=asked.engine,
            )
        if "embeddings" in found or "oof" not in found or not source.classes:
            return found
        near = self._own_rows() if rows is None else rows
        axes = {**(found.axes or {}), "embeddings": ("examples", "embedding")}
        return replace(found, arrays={**found.arrays, "embeddings": near}, axes=axes)

    @property
    def encoder(self) -> str | None:
        """The open encoder that is asked beside the networks, by neighbours and a head on its rows; None if none is.

        It is used if labels are judged, no embeddings are given, and its package is installed.
        """
        asked = self.asked
        if asked.embeddings is not None or "label" not in self.kinds or self.source.task == "regression":
            return None
        return open_encoder(self.source.kind, self.source.shape)

    def _own_rows(self) -> NDArray[Any]:
        """Rows to find neighbours in, and to fit a head on, where no embeddings are given."""
        source, encoder = self.source, self.encoder
        if encoder is None:
            return neighbour_rows(source, self.asked.seed)
        made = self.run.step(
            "check/encoder", Signals, lambda: embed(source, encoder), key=[source.fingerprint, describe(encoder)]
        )
        return np.asarray(made.take(source.ids).embeddings)

    def _judged(self) -> LabelIssues:
        marks = read_marks(self.asked.marks, RANKED[self.source.task])
        if self.source.task == "regression":
            return target_issues(self.source, self.signals, marks)
        if self.source.task == "multilabel":
            return label_set_issues(self.source, self.signals, marks)
        return label_issues(self.source, self.signals, marks, _conflicts(self.source, self.groups))


def judge(source: Source, model: Any) -> Any:
    """The network that judges labels: for `auto` on images, a narrower one than elsewhere.

    Five networks are trained here, and a step of this one takes a third of the time.
    """
    usual = isinstance(model, str) and model == "auto" and choose(source.shape, source.kind) == "convnet"
    return NARROW if usual and min(source.shape[1:]) >= WIDE else model


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
    """A row for every example if labels are not judged: the surest finding if there are none, otherwise nothing."""
    if source.task != "unlabelled":
        words = np.full(len(source), "labels were not judged")
        return {"id": source.ids, "probability": np.zeros(len(source)), "evidence": words}
    sure = dict.fromkeys(source.ids.tolist(), 0.0)
    for one in found:
        if one.id in sure:
            sure[one.id] = max(sure[one.id], one.probability)
    return {"id": source.ids, "probability": np.array(list(sure.values()))}


def _longer(ranking: Mapping[str, Any], ids: list[str], sure: float) -> dict[str, Any]:
    """The rows of all examples, and of files that could not be read."""
    rest = {"id": ids, "probability": sure, "suggestion_probability": np.nan, "flagged": False}
    rest["evidence"] = "not judged: the file cannot be read"
    return {
        name: np.concatenate([column, np.full(len(ids), rest.get(name, ""), None if name == "id" else object)])
        for name, column in ranking.items()
    }


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


def _dropped(source: Source, said: Mapping[str, Decision]) -> list[Finding]:
    """A finding per example that a person wants to be left out."""
    gone = [id for id in source.ids.tolist() if str(id) in said and said[str(id)].choice == "drop"] if said else []
    return [Finding("dropped", 1.0, "marked by a person", id=id, flagged=True, verdict="confirmed") for id in gone]


def _applying(kinds: tuple[str, ...] | None, source: Source, test: Source | None) -> tuple[str, ...]:
    """The kinds that apply to these data; raise if one was asked for that does not."""
    labelled = source.task in ("regression", "multilabel") or len(source.classes) > 1
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
