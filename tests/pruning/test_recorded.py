"""Pruning from a training that was recorded elsewhere, with classes that have names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import winnow as wn
from winnow.core.errors import InputError
from winnow.pruning.candidate import _accuracy
from winnow.signals.soft_targets import soft_targets

NAMES = ("zebra", "ant", "moose")  # the loop's class numbers, in no alphabetical order


def named(n: int = 240) -> tuple[wn.Source, np.ndarray, np.ndarray]:
    """A source with named classes, and the inputs and class numbers of a loop over the same data."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    x = (3 * np.eye(3)[y] + rng.normal(size=(n, 3))).astype(np.float32)
    return wn.open((x, np.array(NAMES)[y])), x, y


def recorded(source: wn.Source, x: np.ndarray, y: np.ndarray, **how: object) -> wn.Signals:
    rec = wn.Recorder(len(source), 3, ids=source.ids, keep=("dynamics", "predictions"), **how)
    for epoch in range(1, 5):
        rec.log(np.arange(len(x)), epoch * x, y)
        rec.end_epoch()
    return rec.signals()


def test_soft_targets_of_a_recorded_run_have_the_classes_of_the_source() -> None:
    source, x, y = named()
    assert source.classes == tuple(sorted(NAMES))
    signals = recorded(source, x, y, class_names=NAMES)
    subset = wn.prune(source, keep=0.5, signals=signals, veto=0)
    assert subset.targets is not None
    assert subset.targets.classes == source.classes
    rows = subset.targets.at(subset.ids)
    labels = np.asarray(source.labels)[subset.indices(source)]
    assert (rows.argmax(1) == labels).mean() > 0.9
    assert set(subset.certificate["class_counts"]) == set(NAMES)


def test_a_recording_without_the_names_is_refused_before_anything_is_trained() -> None:
    source, x, y = named()
    with pytest.raises(InputError, match=r"must have the classes of source .*got 0, 1, 2.*class_names=source.classes"):
        wn.prune(source, keep=0.5, signals=recorded(source, x, y))


def test_the_teachers_accuracy_is_that_of_what_it_teaches() -> None:
    """Out of fold half of the labels are right; by heart all of them."""
    labels = np.arange(8) % 2
    known = np.eye(2)[labels][None] * 0.8 + 0.1
    held = known.copy()
    held[:, ::2] = held[:, ::2, ::-1]
    source = wn.open((np.arange(8.0)[:, None], labels))
    arrays = {"predictions": known, "oof": held}
    axes = {"oof": ("seeds", "examples", "classes")}
    signals = wn.Signals(source.ids, arrays, "classification", labels, ("0", "1"), axes=axes)
    assert _accuracy(soft_targets(signals), source) == 0.5
    assert _accuracy(soft_targets(replace(signals, arrays={"predictions": known}, axes=None)), source) == 1.0
