from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import winnow as wn
from tests.oracles.signals import watch
from tests.signals.small import Counting, by_id, digits, rows, shuffled
from winnow.core import registry
from winnow.core.errors import InputError, NotDefinedError
from winnow.core.scratch_rows import map_of, scratch_rows
from winnow.engines import Local
from winnow.signals import dynamics

WANTS = tuple(entry.name for entry in registry.listing("signal") if not entry.examples)  # of any kind of example
QUICK = wn.Recipe(epochs=3, batch=16)
ONE = Local(workers=1)


@pytest.fixture(scope="module")
def everything() -> wn.Signals:
    return wn.observe(digits(), "mlp", QUICK, 2, WANTS, gradient_dim=32, engine=ONE)


def test_every_want_has_its_arrays_and_shapes(everything: wn.Signals) -> None:
    assert {name: values.shape for name, values in everything.arrays.items()} == {
        "logits": (2, 3, 60, 10),
        "losses": (2, 3, 60),
        "probabilities": (2, 3, 60),
        "margins": (2, 3, 60),
        "correct": (2, 3, 60),
        "errors": (2, 3, 60),
        "predictions": (2, 60, 10),
        "oof": (2, 60, 10),
        "embeddings": (60, 128),
        "embeddings_again": (60, 128),
        "gradients": (2, 60, 32),
        "gradient_norms": (2, 60),
        "lpntk": (2, 60, 32),
        "ensemble_member": (10, 60),
        "ensemble_correct": (10, 60),
    }
    source = digits()
    assert everything.epochs == (1, 2, 3)
    assert everything.planned_epochs == 3
    assert everything.ids.tolist() == source.ids.tolist()
    assert everything.labels is not None
    assert everything.labels.tolist() == np.asarray(source.labels).tolist()


def test_rows_in_files_are_those_in_memory(everything: wn.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch_rows, "__defaults__", (0,))  # bytes that are held in memory
    monkeypatch.setattr(dynamics, "BUDGET", 0)
    wanted = ("logits", "predictions", "oof", "embeddings", "gradients", "lpntk")
    found = wn.observe(shuffled(digits()), "mlp", QUICK, 2, wanted, gradient_dim=32, engine=ONE)
    for name in ("logits", "predictions", "oof", "embeddings", "embeddings_again", "gradients", "lpntk"):
        assert isinstance(map_of(found.arrays[name]), np.memmap), name
    for name in found.arrays:
        assert by_id(found, name) == by_id(everything, name), name


@pytest.mark.parametrize(
    ("want", "arrays"),
    [
        ("logits", {"logits", "losses"}),
        (("losses",), {"logits", "losses"}),
        ("gradient_norms", {"gradient_norms"}),
        ("gradients", {"gradients", "gradient_norms"}),
        ("lpntk", {"lpntk"}),
        ("embeddings", {"embeddings", "embeddings_again"}),
        ("ensemble", {"ensemble_member", "ensemble_correct"}),
    ],
)
def test_one_want_brings_its_own_and_the_same_values_as_all_together(want, arrays, everything) -> None:
    alone = wn.observe(digits(), "mlp", QUICK, 2, want, gradient_dim=32, engine=ONE)
    assert set(alone.arrays) == arrays
    for name in arrays:
        np.testing.assert_array_equal(alone.arrays[name], everything.arrays[name])


def test_logits_and_losses_are_those_of_a_plain_training(everything: wn.Signals) -> None:
    source = digits()
    sorted_signals = everything.canonical()
    for which in (0, 1):
        twin = watch(source, "mlp", QUICK, which)
        np.testing.assert_allclose(sorted_signals.logits[which], twin.after, rtol=1e-3, atol=2e-5)
        log_p = torch.log_softmax(torch.tensor(sorted_signals.logits[which], dtype=torch.float64), 2).numpy()
        expected = -log_p[:, np.arange(60), twin.targets.numpy()]
        np.testing.assert_allclose(sorted_signals.losses[which], expected, rtol=1e-5, atol=1e-6)


def test_train_mode_keeps_what_training_computed() -> None:
    source = digits()
    seen = wn.observe(source, "mlp", QUICK, 1, "logits", mode="train", engine=ONE).canonical()
    twin = watch(source, "mlp", QUICK, 0)
    np.testing.assert_allclose(seen.logits[0], twin.during, rtol=1e-3, atol=2e-5)
    assert np.abs(seen.logits[0] - twin.after).max() > 0.01


def test_embeddings_enter_the_last_layer_of_the_first_trained_network(everything: wn.Signals) -> None:
    twin = watch(digits(), "mlp", QUICK, 0)
    with torch.no_grad():
        wanted = torch.nn.Sequential(*list(twin.model.children())[:-1])(twin.inputs).numpy()
    np.testing.assert_allclose(everything.canonical().embeddings, wanted, rtol=1e-3, atol=2e-5)


def test_lpntk_is_that_of_each_seeds_network_at_the_end_of_training(everything: wn.Signals) -> None:
    for which in (0, 1):
        twin = watch(digits(), "mlp", QUICK, which)
        wanted = wn.lpntk.features(twin.model, twin.inputs, twin.targets, project=32, seed=0)
        np.testing.assert_allclose(everything.canonical().arrays["lpntk"][which], wanted, rtol=1e-3, atol=1e-3)


def test_lpntk_of_many_is_lpntk_of_a_few(monkeypatch: pytest.MonkeyPatch, everything: wn.Signals) -> None:
    monkeypatch.setattr("winnow.methods.lpntk.signal.CHUNK", 25)
    few = wn.observe(digits(), "mlp", QUICK, 2, "lpntk", gradient_dim=32, engine=ONE)
    np.testing.assert_allclose(few.arrays["lpntk"], everything.arrays["lpntk"], rtol=1e-4, atol=1e-4)


def test_a_named_layer_can_be_asked_for() -> None:
    found = wn.observe(digits(30), "mlp", QUICK, 1, "embeddings", layer="linear1", engine=ONE)
    assert found.embeddings.shape == (30, 256)
    assert (found.embeddings < 0).any()  # before its ReLU


def test_seeds_differ_and_the_same_seed_gives_the_same_bits() -> None:
    first, again, other = (
        wn.observe(digits(), "mlp", QUICK, [3, 5], "logits", seed=seed, engine=ONE).logits for seed in (0, 0, 1)
    )
    assert first.tobytes() == again.tobytes()
    assert np.abs(first[0] - first[1]).max() > 0.01
    assert np.abs(first - other).max() > 0.01
    alone = wn.observe(digits(), "mlp", QUICK, [5], "logits", engine=ONE).logits
    assert alone[0].tobytes() == first[1].tobytes()  # a seed does not depend on its company


def test_workers_change_no_bit(everything: wn.Signals) -> None:
    want = ("logits", "embeddings", "gradients", "lpntk")
    two = wn.observe(digits(), "mlp", QUICK, 2, want, gradient_dim=32, engine=Local(workers=2))
    for name, values in two.arrays.items():
        assert values.tobytes() == everything.arrays[name].tobytes(), name


def test_order_of_the_source_changes_no_bit(everything: wn.Signals) -> None:
    source = shuffled(digits())
    seen = wn.observe(source, "mlp", QUICK, 2, WANTS, gradient_dim=32, engine=ONE)
    assert seen.ids.tolist() == source.ids.tolist() != everything.ids.tolist()
    for name in everything.arrays:
        assert by_id(seen, name) == by_id(everything, name), name
    assert seen.fingerprint == everything.fingerprint


def test_regression_is_observed_where_it_is_defined() -> None:
    source = rows(task="regression")
    seen = wn.observe(source, "mlp", QUICK, 2, ("losses", "embeddings", "gradient_norms"), engine=ONE)
    assert seen.task == "regression"
    assert "logits" not in seen.arrays
    assert seen.losses.shape == (2, 3, 40)
    assert seen.embeddings.shape == (40, 128)
    assert (seen.arrays["gradient_norms"] > 0).all()
    # Targets are scaled: a mean of 30 would otherwise give losses near 900.
    assert seen.losses[:, 0].mean() < 3
    assert seen.losses[:, -1].mean() < seen.losses[:, 0].mean()


@pytest.mark.parametrize("want", ["logits", "ensemble", "lpntk"])
def test_regression_has_no_classes_to_observe(want: str) -> None:
    with pytest.raises(NotDefinedError, match="classification"):
        wn.observe(rows(task="regression"), "mlp", QUICK, 1, want)


def test_without_labels_the_way_is_embed() -> None:
    with pytest.raises(NotDefinedError, match=r"has none; wn\.embed\(source, model\)"):
        wn.observe(rows(task="unlabelled"), "mlp", QUICK)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": "lenet6"}, "unknown network 'lenet6'"),
        ({"model": torch.nn.Linear(5, 2)}, "cannot take examples of shape"),
        ({"recipe": "fast"}, "recipe of observe must be a Recipe; got str"),
        ({"want": ()}, "want of observe must name at least one"),
        ({"mode": "trian"}, "mode"),
        ({"gradient_epoch": 4, "recipe": QUICK}, "gradient_epoch"),
        ({"want": "ensemble", "ensemble": 12}, "multiple of 10"),
        ({"seeds": [1, 1]}, "different"),
    ],
)
def test_bad_requests_are_refused_before_training(options: dict[str, Any], words: str) -> None:
    counting = Counting()
    with pytest.raises(wn.errors.WinnowError, match=words):
        wn.observe(rows(), engine=counting, **{"model": "mlp", **options})
    assert counting.done == 0


def test_a_killed_observation_trains_only_what_is_missing(tmp_path: Path) -> None:
    killed = Counting(killed_after=1)
    with pytest.raises(KeyboardInterrupt):
        wn.observe(digits(), "mlp", QUICK, 3, out=tmp_path / "run", engine=killed)
    rest = Counting()
    resumed = wn.observe(digits(), "mlp", QUICK, 3, out=tmp_path / "run", engine=rest)
    assert rest.done == 2
    whole = wn.observe(digits(), "mlp", QUICK, 3, engine=ONE)
    assert resumed.losses.tobytes() == whole.losses.tobytes()
    nothing = Counting()
    wn.observe(digits(), "mlp", QUICK, 3, out=tmp_path / "run", engine=nothing)
    assert nothing.done == 0
    more = Counting()
    wn.observe(digits(), "mlp", QUICK, 4, out=tmp_path / "run", engine=more)
    assert more.done == 1


def test_an_ensemble_resumes_model_by_model(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        wn.observe(rows(), "mlp", QUICK, 1, "ensemble", out=tmp_path / "run", engine=Counting(killed_after=7))
    rest = Counting()
    wn.observe(rows(), "mlp", QUICK, 1, "ensemble", out=tmp_path / "run", engine=rest)
    assert rest.done == 3


def test_embeddings_are_there_whichever_seed_comes_first(tmp_path: Path) -> None:
    want = ("logits", "embeddings")
    wn.observe(rows(), "mlp", QUICK, [0, 1], want, out=tmp_path / "run", engine=ONE)
    later = wn.observe(rows(), "mlp", QUICK, [1, 2], want, out=tmp_path / "run", engine=ONE)
    fresh = wn.observe(rows(), "mlp", QUICK, [1, 2], want, engine=ONE)
    np.testing.assert_array_equal(later.embeddings, fresh.embeddings)


def own_network() -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Flatten(),
        torch.nn.Linear(64, 32),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.5),
        torch.nn.Linear(32, 10),
    )


@pytest.mark.parametrize("mode", ["eval", "train"])
def test_a_network_of_ones_own_with_dropout_is_observed_twice_alike(mode: str) -> None:
    module = own_network()
    before = [p.detach().clone() for p in module.parameters()]
    first = wn.observe(digits(), module, QUICK, 1, "logits", mode=mode, engine=ONE).logits
    torch.rand(17)  # what the user draws in between has no say
    second = wn.observe(digits(), module, QUICK, 1, "logits", mode=mode, engine=ONE).logits
    made = wn.observe(digits(), own_network, QUICK, 1, "logits", mode=mode, engine=ONE).logits
    assert first.tobytes() == second.tobytes()
    assert made.shape == first.shape
    assert all(torch.equal(a, b) for a, b in zip(before, module.parameters(), strict=True))


def test_dropout_is_off_where_eval_mode_looks_and_on_where_training_does() -> None:
    still = wn.Recipe(
        epochs=2, batch=16, lr=1e-12, weight_decay=0.0
    )  # weights stay: only dropout can tell epochs apart
    looked, trained = (
        wn.observe(digits(), own_network(), still, 1, "logits", mode=mode, engine=ONE).logits[0]
        for mode in ("eval", "train")
    )
    np.testing.assert_allclose(looked[0], looked[1], atol=1e-6)
    assert np.abs(trained[0] - trained[1]).max() > 0.05


def test_bfloat16_is_close_to_float32_and_not_the_same() -> None:
    exact = wn.observe(digits(), "mlp", QUICK, 1, "logits", engine=ONE).logits
    recipe = wn.Recipe(epochs=3, batch=16, precision="bfloat16")
    rounded = wn.observe(digits(), "mlp", recipe, 1, "logits", engine=ONE).logits
    assert rounded.dtype == np.float32
    assert 1e-6 < np.abs(rounded - exact).max() < 0.2


def test_embeddings_alone_take_two_trainings_and_tell_how_reliable_their_scores_are() -> None:
    counting = Counting()
    seen = wn.observe(rows(), "mlp", QUICK, 3, "embeddings", engine=counting)
    assert counting.done == 2
    assert set(seen.arrays) == {"embeddings", "embeddings_again"}
    assert not np.array_equal(seen.embeddings, seen.array("embeddings_again"))
    for name in ("prototype", "class_prototype"):
        reliability = wn.score(name, seen).reliability
        assert reliability is not None
        assert -1 <= reliability < 0.9999  # two networks, not one looked at twice
    alone = wn.observe(rows(), "mlp", QUICK, 1, "embeddings", engine=ONE)
    assert set(alone.arrays) == {"embeddings"}
    assert wn.score("class_prototype", alone).reliability is None


def test_provenance_says_what_was_done() -> None:
    source = digits(30)
    about = wn.observe(source, "mlp", QUICK, [4], engine=ONE).provenance
    assert about["step"] == "observe"
    assert about["inputs"]["source"]["fingerprint"] == source.fingerprint
    settings = about["parameters"]
    assert (settings["model"], settings["seeds"], settings["seed"], settings["recipe"]["epochs"]) == ("mlp", [4], 0, 3)
    assert {"winnow-data", "torch", "numpy"} <= set(about["versions"])


def test_auto_is_written_down_as_the_network_it_stood_for() -> None:
    about = wn.observe(rows(), recipe=QUICK, seeds=1, engine=ONE).provenance
    assert about["parameters"]["model"] == "mlp"


def test_one_class_cannot_teach() -> None:
    source = digits(60)
    one = source.at(np.flatnonzero(np.asarray(source.labels) == 3))
    with pytest.raises(InputError, match="two classes"):
        wn.observe(one, "mlp", QUICK)
