"""Observing with several labels per example: dynamics, folds and soft targets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import winnow as wn
from tests.label_sets import ALONE, NAMES, RECIPE, parts, seen
from winnow.artefacts.label_sets import label_set_numbers
from winnow.core.errors import InputError, NotDefinedError
from winnow.signals.folds import fold_numbers
from winnow.signals.soft_targets import soft_targets


def test_training_learns_the_labels(tmp_path: Path):
    signals = seen()
    assert signals.task == "multilabel"
    losses = signals.losses.mean(axis=(0, 2))
    assert losses[-1] < 0.85 * losses[0]
    assert signals.array("correct").mean(axis=(0, 2))[-1] > 0.4  # all three labels right; one in eight by chance
    assert signals.array("predictions").shape == (2, len(signals), 3)
    kept = wn.Signals.load(signals.save(tmp_path / "signals.safetensors"))
    assert kept.fingerprint == signals.fingerprint
    assert np.array_equal(kept.labels, signals.labels)


def test_signals_do_not_depend_on_the_order():
    source = parts()[0]
    mixed = source.at(np.random.default_rng(0).permutation(len(source)))
    first, second = (wn.observe(one, "mlp", RECIPE, want="dynamics", engine=ALONE) for one in (source, mixed))
    assert np.array_equal(second.take(first.ids).losses, first.losses)


def test_out_of_fold_predictions_are_per_label(tmp_path: Path):
    source = parts()[0]
    signals = wn.observe(source, "mlp", RECIPE, want="oof", folds=3, engine=ALONE)
    oof = signals.array("oof")[0]
    assert oof.shape == (len(source), 3)
    assert ((oof > 0) & (oof < 1)).all()
    right = (oof > 0.5) == source.labels
    assert right.mean() > 0.75
    soft = soft_targets(signals)
    assert (soft.several, soft.classes) == (True, NAMES)
    assert np.allclose(soft.at(source.ids), oof, atol=1e-3)  # half precision
    again = wn.relabel.SoftLabels.load(soft.save(tmp_path / "soft.parquet"))
    assert (again.several, again.fingerprint) == (True, soft.fingerprint)
    assert repr(soft.take(source.ids[:2])) == "SoftLabels(2 examples, 3 labels)"


def test_folds_spread_every_label():
    rng = np.random.default_rng(0)
    rows = rng.random((300, 5)) < (0.5, 0.3, 0.1, 0.05, 0.02)
    fold = fold_numbers(np.arange(300), 5, 0, label_set_numbers(rows))
    counts = np.array([rows[fold == one].sum(axis=0) for one in range(5)])
    assert np.ptp(counts[:, -1]) <= 1  # the rarest exactly
    assert np.ptp(counts, axis=0).max() <= 9  # random folds differ by up to 20 here


def test_soft_labels_of_several_labels_are_checked():
    make = wn.relabel.SoftLabels
    assert make(["a"], [[0.9, 0.8]], ("x", "y"), several=True).at("a").round(1).tolist() == pytest.approx([0.9, 0.8])
    with pytest.raises(InputError, match=r"must be in \[0, 1\]"):
        make(["a"], [[0.9, 1.8]], ("x", "y"), several=True)
    with pytest.raises(InputError, match="a column for each of the 3 labels"):
        make(["a"], [[0.9, 0.8]], ("x", "y", "z"), several=True)
    swapped = make(["a"], [[0.9, 0.25]], ("x", "y"), several=True).with_classes(("y", "x"))
    assert swapped.at("a").tolist() == pytest.approx([0.25, 0.9], abs=1e-3)


@pytest.mark.parametrize("want", ["lpntk", "ensemble"])
def test_signals_about_one_class_per_example_are_refused(want):
    with pytest.raises(NotDefinedError, match="source 'digits:train' is multilabel; observe any of"):
        wn.observe(parts()[0], "mlp", RECIPE, want=want)


def test_scores_rank_what_is_hard(tmp_path: Path):
    signals = seen()
    wrong = signals.array("losses")[:, -1].mean(axis=0)
    for name in ("el2n", "difficulty", "aum", "uncertainty", "entropy"):
        values = wn.score(name, signals).values
        assert np.corrcoef(np.argsort(np.argsort(values)), np.argsort(np.argsort(wrong)))[0, 1] > 0.5
    scores = wn.score("el2n", signals)
    kept = wn.Scores.load(scores.save(tmp_path / "scores.parquet"))
    assert kept.task == "multilabel"
    assert np.array_equal(kept.labels, scores.labels)
    assert "even" in scores._repr_html_()
    for name in ("margin", "confidence", "class_prototype", "tdds"):
        with pytest.raises(NotDefinedError, match="not for multilabel signals: it is about one class per example"):
            wn.score(name, signals)
    with pytest.raises(NotDefinedError, match="compares two classes"):
        wn.score("aum", signals, on="probabilities")
