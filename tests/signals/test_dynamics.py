"""Dynamics and predictions: recorded from the training pass, or computed from logits, and what is made of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import winnow as wn
from tests.oracles import dynamics as oracle
from tests.oracles.signals import watch
from tests.signals.small import digits, rows
from winnow.artefacts.half_dynamics import HALF
from winnow.artefacts.labelled_logits import DYNAMICS, first_averaged
from winnow.core.errors import InputError, NotDefinedError, UnknownNameError
from winnow.engines import Local
from winnow.signals.soft_targets import soft_targets

QUICK = wn.Recipe(epochs=3, batch=16)
ONE = Local(workers=1)
BOTH = ("dynamics", "predictions")
N, K, EPOCHS = 23, 4, 5
LOGITS = (np.random.default_rng(0).normal(size=(EPOCHS, N, K)) * 3).astype(np.float32)
TARGETS = np.random.default_rng(1).integers(0, K, N)


def recorded(keep: tuple[str, ...], epochs: int = EPOCHS, **options: object) -> wn.Recorder:
    rec = wn.Recorder(N, K, keep=keep, **options)
    for epoch in range(epochs):
        rec.log(np.arange(N), LOGITS[epoch], TARGETS)
        rec.end_epoch()
    return rec


@pytest.mark.parametrize("keep", [("dynamics",), ("logits",), ("logits", "dynamics")])
def test_dynamics_are_those_of_the_slow_twin_recorded_or_from_logits(keep) -> None:
    signals = recorded(keep, precision="single").signals()
    assert ("logits" in signals.arrays) == ("logits" in keep)
    for name, wanted in oracle.dynamics(LOGITS, TARGETS).items():
        assert name in signals
        found = signals.array(name)
        assert found.dtype == (np.uint8 if name == "correct" else np.float32)
        np.testing.assert_allclose(found[0], wanted, rtol=1e-5, atol=1e-6)


def test_recorded_dynamics_equal_those_computed_from_logits_bit_by_bit() -> None:
    held = recorded(("dynamics",), precision="single").signals()
    from_logits = recorded(("logits",)).signals()
    for name in DYNAMICS:
        assert held.arrays[name].tobytes() == from_logits.array(name).tobytes(), name


@pytest.mark.parametrize(
    ("options", "weights"),
    [
        ({"planned_epochs": 5}, [0, 0, 1, 1, 1]),
        ({"planned_epochs": 5, "averaged": 0.2}, [0, 0, 0, 0, 1]),
        ({"planned_epochs": 5, "averaged": 1.0}, [1, 1, 1, 1, 1]),
        ({"planned_epochs": 50}, [1, 1, 1, 1, 1]),  # stopped before the last half began
        ({}, [2, 6, 12, 20, 30]),  # t (t + 1): the end is not known
    ],
)
def test_predictions_are_a_mean_over_the_last_epochs(options, weights) -> None:
    found = recorded(("predictions",), **options).signals().array("predictions")
    np.testing.assert_allclose(found[0], oracle.predictions(LOGITS, weights), atol=1e-6)


def test_predictions_follow_from_logits() -> None:
    found = recorded(("logits",)).signals().array("predictions")
    np.testing.assert_allclose(found[0], oracle.predictions(LOGITS, [0, 0, 1, 1, 1]), atol=1e-6)


@pytest.mark.parametrize(("epochs", "share", "first"), [(1, 0.5, 1), (2, 0.5, 2), (5, 0.5, 3), (10, 0.1, 10)])
def test_where_the_last_epochs_begin(epochs, share, first) -> None:
    assert first_averaged(epochs, share) == first


@pytest.mark.parametrize("keep", [BOTH, ("dynamics",), ("predictions",), ()])
def test_a_lean_recorder_resumes_in_the_middle_of_an_epoch(keep) -> None:
    half, rest = np.arange(10), np.arange(10, N)
    first = recorded(keep, epochs=2, planned_epochs=3)
    first.log(half, LOGITS[2][half], TARGETS[half])
    twin = wn.Recorder(N, K, keep=keep, planned_epochs=3)
    twin.load_state_dict(first.state_dict())
    for rec in (first, twin):
        rec.log(rest, LOGITS[2][rest], TARGETS[rest])
        rec.end_epoch()
    assert twin.signals().fingerprint == first.signals().fingerprint
    assert first.signals().fingerprint == recorded(keep, epochs=3, planned_epochs=3).signals().fingerprint


def test_a_lean_recorder_carries_the_epoch_before() -> None:
    rec = recorded(("dynamics",), epochs=1, missing="carry")
    rec.log([2], LOGITS[1][[2]], TARGETS[[2]])
    rec.end_epoch()
    margins = rec.signals().array("margins")[0]
    assert np.array_equal(np.flatnonzero(margins[0] != margins[1]), [2])
    assert rec.correct.dtype == bool


def test_a_recorder_without_correctness_says_so() -> None:
    with pytest.raises(NotDefinedError, match="keep='dynamics'"):
        _ = recorded(("predictions",)).correct
    with pytest.raises(UnknownNameError, match="nearest: 'dynamics'"):
        wn.Recorder(N, K, keep="dynamic")
    with pytest.raises(InputError, match="averaged of Recorder"):
        wn.Recorder(N, K, averaged=0)


def test_observe_records_dynamics_in_the_training_pass() -> None:
    seen = wn.observe(digits(), "mlp", QUICK, 2, engine=ONE)
    assert set(seen.arrays) == set(HALF)
    assert seen.provenance["parameters"]["mode"] == "train"
    for which in (0, 1):
        twin = watch(digits(), "mlp", QUICK, which)
        wanted = oracle.dynamics(twin.during, twin.targets.tolist())
        for name in ("losses", "probabilities", "margins", "errors"):
            np.testing.assert_allclose(seen.canonical().array(name)[which], wanted[name], rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize(("want", "mode"), [(BOTH, "train"), ((*BOTH, "logits"), "eval"), (("losses",), "eval")])
def test_auto_makes_a_pass_for_logits_and_losses_only(want, mode) -> None:
    seen = wn.observe(digits(), "mlp", QUICK, 1, want, engine=ONE)
    given = wn.observe(digits(), "mlp", QUICK, 1, want, mode=mode, engine=ONE)
    assert seen.fingerprint == given.fingerprint
    assert seen.provenance["parameters"]["mode"] == mode


def test_signals_wanted_together_come_from_one_recording() -> None:
    seen = wn.observe(digits(), "mlp", QUICK, 1, (*BOTH, "logits"), engine=ONE)
    assert set(seen.arrays) == {*DYNAMICS, "predictions", "logits"}
    alone = replace(seen, arrays={"logits": seen.logits})
    for name in DYNAMICS:
        assert seen.array(name).tobytes() == alone.array(name).tobytes(), name
    np.testing.assert_allclose(seen.array("predictions"), alone.array("predictions"), atol=1e-6)


def test_any_network_observes_and_teaches() -> None:
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))
    seen = wn.observe(digits(), module, wn.Recipe(epochs=20, batch=16, lr=0.01), 2, BOTH, engine=ONE)
    soft = soft_targets(seen, weight=0.5)
    assert soft.ids.tolist() == seen.ids.tolist()
    assert (soft.weight, soft.classes) == (0.5, seen.classes)
    np.testing.assert_allclose(soft.at(seen.ids), seen.array("predictions").mean(axis=0), atol=1e-3)
    assert (soft.at(seen.ids).argmax(1) == seen.labels).mean() > 0.9


def test_a_regression_predicts_in_the_units_of_its_label() -> None:
    source = rows(task="regression")
    seen = wn.observe(source, "mlp", wn.Recipe(epochs=30, batch=8), 1, BOTH, engine=ONE)
    assert set(seen.arrays) == {"losses", "predictions"}
    predicted = seen.array("predictions")[0, :, 0]
    assert np.corrcoef(predicted, np.asarray(seen.labels))[0, 1] > 0.8
    assert abs(predicted.mean() - np.asarray(seen.labels).mean()) < np.asarray(seen.labels).std()
    soft = soft_targets(seen)
    assert soft.classes == ()
    np.testing.assert_allclose(soft.at(seen.ids)[:, 0], predicted, rtol=1e-5)


def test_a_recorded_run_is_enough_to_find_a_subset() -> None:
    signals = recorded(BOTH, planned_epochs=EPOCHS).signals()
    subset = wn.select("beta", signals, size=8)
    assert len(subset) == 8
    assert len(soft_targets(signals)) == N
    for name in ("aum", "dual", "dynamic_uncertainty", "el2n", "forgetting", "difficulty"):
        assert np.isfinite(wn.score(name, signals).values).all()
    with pytest.raises(NotDefinedError, match=r"want=\('logits',\)"):
        wn.score("entropy", signals)
