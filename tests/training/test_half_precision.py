"""Dynamics in half precision: what they are, and that ranks and subsets hardly change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import winnow as wn
from winnow.artefacts.half_dynamics import coded, decoded
from winnow.artefacts.labelled_logits import DYNAMICS, LabelledLogits
from winnow.core.errors import InputError
from winnow.core.rank_correlation import rank_correlation

N, CLASSES, EPOCHS = 400, 5, 6


def logged(epochs: int = EPOCHS, **how: Any) -> wn.Recorder:
    rng = np.random.default_rng(0)
    labels, ease = rng.integers(0, CLASSES, N), rng.normal(2, 2, N)
    recorder = wn.Recorder(N, CLASSES, **{"keep": ("dynamics", "predictions"), **how})
    for epoch in range(epochs):
        logits = rng.normal(size=(N, CLASSES)).astype(np.float32)
        logits[np.arange(N), labels] += (ease * (1 + epoch)).astype(np.float32)
        seen = np.arange(N) if epoch == 0 or how.get("missing") != "carry" else rng.permutation(N)[: N // 2]
        recorder.log(seen, logits[seen], labels[seen])
        recorder.end_epoch()
    return recorder


def test_six_bytes_per_example_and_epoch() -> None:
    arrays = logged().signals().arrays
    assert sum(arrays[name].nbytes for name in arrays if name != "predictions") == 6 * N * EPOCHS


@pytest.mark.parametrize("missing", ["error", "carry"])
def test_what_follows_is_near_what_single_precision_holds(missing: str, tmp_path: Path) -> None:
    single, half = logged(missing=missing, precision="single").signals(), logged(missing=missing).signals()
    for name in DYNAMICS:
        assert name in half
        near = {"rtol": 8e-3, "atol": 1e-6}  # of easy examples: the log-odds have three digits
        np.testing.assert_allclose(half.array(name), single.array(name), **near)
    np.testing.assert_array_equal(half.array("correct"), single.array("correct"))
    half.save(tmp_path / "half.safetensors")
    again = wn.Signals.load(tmp_path / "half.safetensors")
    assert again.fingerprint == half.fingerprint
    np.testing.assert_array_equal(again.array("losses"), half.array("losses"))
    on_disk = logged(missing=missing, directory=tmp_path).signals()
    assert on_disk.fingerprint == half.fingerprint


@pytest.mark.parametrize(
    "name", ["aum", "el2n", "dual", "difficulty", "forgetting", "dynamic_uncertainty", "mislabelled"]
)
def test_ranks_and_subsets_hardly_change(name: str) -> None:
    single, half = logged(precision="single").signals(), logged().signals()
    one, other = wn.score(name, single), wn.score(name, half)
    assert rank_correlation(one.values, other.values) > 0.9999
    kept = [set(wn.select("rank", scores, keep=0.3).ids.tolist()) for scores in (one, other)]
    assert len(kept[0] & kept[1]) >= 0.98 * len(kept[0])


def test_beta_reads_half_precision() -> None:
    single, half = logged(precision="single").signals(), logged().signals()
    kept = [set(wn.select("beta", signals, keep=0.3).ids.tolist()) for signals in (single, half)]
    assert len(kept[0] & kept[1]) >= 0.98 * len(kept[0])


def test_easy_examples_are_told_apart_where_a_probability_would_be_one() -> None:
    losses = np.array([1e-5, 1e-6, 1e-7, 1e-12, 0.0, 30.0, 5e4])
    ones = np.zeros(losses.size)
    stored = coded({"losses": losses, "margins": ones, "correct": ones, "errors": ones})
    found = decoded("losses", stored["odds"])
    np.testing.assert_allclose(found, losses, rtol=8e-3, atol=0)
    assert len(set(found.tolist())) == losses.size
    assert len(set(np.exp(-losses).astype(np.float16).tolist())) < losses.size


def test_small_errors_keep_their_digits_and_are_not_zero() -> None:
    errors = np.array([2**0.5, 1e-3, 1e-6, 3e-9, 1e-11])
    ones = np.ones(errors.size)
    found = decoded(
        "errors", coded({"losses": ones, "margins": ones, "correct": ones, "errors": errors})["half_errors"]
    )
    np.testing.assert_allclose(found[:4], errors[:4], rtol=1e-3)
    assert found[4] > 0
    assert errors.astype(np.float16)[3] == 0


def test_right_or_wrong_is_exact_where_logits_are_equal() -> None:
    logits, labels = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0 + 1e-7]]), np.array([0, 1, 0])
    seen = LabelledLogits(logits, labels)
    stored = coded({name: seen.array(name) for name in DYNAMICS})
    assert decoded("correct", stored["half_margins"]).tolist() == seen.correct.tolist() == [True, False, False]


def test_values_too_large_for_half_precision_are_the_largest() -> None:
    recorder = wn.Recorder(2, 2, keep="dynamics")
    recorder.log([0, 1], [[1e5, 0.0], [1e5, 0.0]], [0, 1])
    recorder.end_epoch()
    assert recorder.correct.tolist() == [[True, False]]
    assert recorder.signals().losses[0, 0].tolist() == [0.0, 65504.0]


def test_a_recording_resumes() -> None:
    whole, begun = logged(), logged(epochs=3)
    other = wn.Recorder(N, CLASSES, keep=("dynamics", "predictions"))
    other.load_state_dict(begun.state_dict())
    assert other.epochs == 3
    for name, values in begun.signals().arrays.items():
        np.testing.assert_array_equal(other.signals().arrays[name], values)
    assert whole.epochs == EPOCHS


@pytest.mark.parametrize(
    "how",
    [{"task": "multilabel", "keep": "dynamics"}, {"task": "regression"}, {"keep": ("logits", "dynamics")}],
    ids=["multilabel", "regression", "logits"],
)
def test_other_recordings_are_in_single_precision(how: dict[str, Any]) -> None:
    recorder = wn.Recorder(2, 2, **how)
    classes = how.get("task") is None
    recorder.log([0, 1], [[1.0, 0.0], [3.0, 0.0]], [0, 1] if classes else [[0, 1], [1, 0]])
    recorder.end_epoch()
    assert recorder.signals().arrays["losses"].dtype == np.float32


@pytest.mark.parametrize(
    "how",
    [{"task": "multilabel"}, {"task": "regression"}, {"keep": "logits"}],
    ids=["multilabel", "regression", "logits"],
)
def test_half_precision_is_for_dynamics_of_classes(how: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="precision of Recorder can be 'half' for dynamics of one class per example"):
        wn.Recorder(3, 2, **{"keep": "dynamics", "precision": "half", **how})
