"""Test sets: matched to the training data and checked."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..artefacts import Source, Study
from ..core.errors import InputError, NotDefinedError
from ..core.parameter_names import of
from ..core.run import Run
from ..sources.content import content_keys

__all__ = ["exam", "exams", "overlap", "related", "trainable", "with_overlap"]

STRAY = 0.01  # of the test examples: more are no stray duplicates


def trainable(owner: str, source: object) -> Source:
    """Check that a model can be trained on a source, and return it."""
    if not isinstance(source, Source):
        raise InputError(f"source of {owner} must be a Source (open it with wn.open); got {type(source).__name__}.")
    if source.labels is None:
        raise NotDefinedError(f"{owner} trains and tests on labels, and source {source.name!r} has none.")
    if source.task == "classification" and np.ptp(source.labels) == 0:
        raise InputError(f"{owner} needs at least two classes among the examples of source {source.name!r}; got one.")
    if source.task == "multilabel" and (np.ptp(source.labels, axis=0) == 0).all():
        raise InputError(
            f"{owner} needs a label that some examples of source {source.name!r} have and others do not; got none."
        )
    return source


def exams(owner: str, source: Source, test: object) -> dict[str, Source]:
    """Return the test sets by name, the one that conclusions are based on first."""
    if isinstance(test, Source):
        return {"test": exam("test", owner, source, test)}
    if not isinstance(test, Mapping) or not test:
        got = "an empty mapping" if isinstance(test, Mapping) else "none" if test is None else type(test).__name__
        raise InputError(
            f"{of('test', owner)} must be a Source, anything that wn.open takes, or a mapping from names to those, at "
            f"least one; got {got}."
        )
    for name in test:
        if not isinstance(name, str) or not name:
            raise InputError(f"names of the test sets of {owner} must be words; got {name!r}.")
    return {name: exam(f"test set {name!r}", owner, source, found) for name, found in test.items()}


def exam(name: str, owner: str, source: Source, test: Any) -> Source:
    """Return one test set with the class numbers of the training data."""
    if not isinstance(test, Source):
        raise InputError(f"{name} of {owner} must be a Source (open it with wn.open); got {type(test).__name__}.")
    if test.labels is None:
        raise NotDefinedError(f"{name} of {owner} has no labels to measure against.")
    found: Source = test.as_in(source)
    for what in ("task", "kind", "shape"):
        ours, theirs = getattr(source, what), getattr(found, what)
        if ours != theirs:
            raise InputError(f"{what} of {name} of {owner} must be that of the training data, {ours}; got {theirs}.")
    if found.task == "multilabel":
        found = found.with_classes(source.classes)
        if (np.ptp(np.asarray(found.labels), axis=0) == 0).all():
            raise InputError(
                f"{name} of {owner} must have a label that some examples have and others do not, or average precision "
                "has no meaning; got none."
            )
        return found
    if found.task == "classification":
        return found.with_classes(source.classes)
    # A single target per example may be a vector or a table with one column.
    targets = np.asarray(found.labels).reshape(len(found), -1)
    wanted = 1 if source.labels is None else source.labels.reshape(len(source), -1).shape[1]
    if targets.shape[1] != wanted:
        raise InputError(f"{name} of {owner} must have {wanted} target(s) an example; got {targets.shape[1]}.")
    if (np.ptp(targets, axis=0) == 0).any():
        raise InputError(
            f"{name} of {owner} must have targets that differ, or R2 has no meaning; one is the same throughout."
        )
    return found


def overlap(source: Source, test: Source) -> int:
    """Count test examples whose content is also that of a training example, whatever their names."""
    if source.shape != test.shape:
        return 0
    return int(np.isin(content_keys(test), content_keys(source)).sum())


def related(source: Source, test: Source) -> dict[str, int]:
    """Count test examples whose group is also in the training data, and those no later than the last training example.

    Only what both have is counted, and times only if both are dates or both are numbers.
    """
    found: dict[str, int] = {}
    if source.groups is not None and test.groups is not None:
        # compared as words, because a column may hold numbers in one file and text in another
        found["groups"] = int(np.isin(test.groups.astype(np.str_), source.groups.astype(np.str_)).sum())
    ours, theirs = source.times, test.times
    if ours is not None and theirs is not None and (ours.dtype.kind == "M") == (theirs.dtype.kind == "M"):
        found["times"] = int((theirs <= ours.max()).sum())
    return found


def _warned(name: str, test: Source, found: Mapping[str, int]) -> None:
    """Warn about a test set whose examples belong to training examples or come before them."""
    said = {
        "groups": "belong to a group that is also in the training data",
        "times": "are no later than the last training example",
    }
    for word, count in found.items():
        if count:
            warnings.warn(
                f"{count} of the {len(test)} examples of test set {name!r} {said[word]}, so what is measured on it is "
                "not what new data will show",
                stacklevel=4,
            )


def with_overlap(
    run: Run, provenance: Mapping[str, Any], source: Source, tests: Mapping[str, Source]
) -> dict[str, Any]:
    """Add to the provenance of a study how many examples of each test set are also in the training data.

    Counting them reads every example, so a finished study of the run under the same provenance is asked first. If there
    are more than stray duplicates would explain, a warning says so.
    """
    earlier = run.get("study", Study, key=provenance)
    if earlier is not None:
        shared = dict(earlier.provenance["parameters"]["overlap"])
    else:
        shared = {name: overlap(source, found) for name, found in tests.items()}
    for name, count in shared.items():
        if count > STRAY * len(tests[name]):
            warnings.warn(
                f"{count} of the {len(tests[name])} examples of test set {name!r} are also in the training data, so "
                "what is measured on it is not what new data will show",
                stacklevel=3,
            )
    beside = {name: found for name, test in tests.items() if (found := related(source, test))}
    for name, counts in beside.items():
        _warned(name, tests[name], counts)
    more = {"overlap": shared} | ({"related": beside} if beside else {})
    return {**provenance, "parameters": {**provenance["parameters"], **more}}
