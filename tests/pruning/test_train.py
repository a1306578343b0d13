"""wn.train and winnow train, on small data."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import winnow as wn
from winnow.core.errors import DataError, InputError, NotDefinedError
from winnow.training.trained_network import TrainedNetwork

HERE = wn.Local(workers=1)
SHORT = wn.Recipe(epochs=6, batch=32)


def clouds(n: int = 200, task: str = "classes") -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    x = (rng.standard_normal((n, 4)) + 2 * np.eye(4)[y]).astype(np.float32)
    return x, y if task == "classes" else x.sum(1).astype(np.float64)


def test_half_of_the_steps_by_default_and_the_weights_come_back(tmp_path: Path) -> None:
    report = wn.train(clouds(), model="mlp", recipe=SHORT, out=tmp_path / "run", test=clouds(90))
    assert (report.steps, report.full_steps) == (21, 42)
    source = wn.open(clouds())
    back = TrainedNetwork.load(tmp_path / "run" / "weights.safetensors")
    np.testing.assert_array_equal(back.predict(source), report.network.predict(source))
    assert report.accuracy is not None
    assert (report.network.predict(wn.open(clouds(90))).argmax(1) == clouds(90)[1]).mean() == report.accuracy
    again = wn.train(clouds(), model="mlp", recipe=SHORT, out=tmp_path / "run", test=clouds(90))
    assert again.accuracy == report.accuracy
    assert again.network.seconds == report.network.seconds  # loaded, not trained again


def test_the_proof_pairs_this_training_with_what_is_free() -> None:
    report = wn.train(clouds(), 12, model="mlp", recipe=SHORT, proof=True, proof_seeds=2, engine=HERE)
    assert report.held_out == 40
    steps = {name: row["steps"] for name, row in report.arms.items()}
    assert steps == {"this training": 12, "everything, same steps": 12, "everything in full": 30}
    for name, gain in report.gains.items():
        wanted = report.arms["this training"]["accuracy"] - report.arms[name]["accuracy"]
        assert gain.centre == pytest.approx(wanted)


def test_plain_sampling_is_the_free_alternative_itself() -> None:
    report = wn.train(clouds(), 12, model="mlp", recipe=SHORT, sampling="none", proof=True, proof_seeds=2, engine=HERE)
    gain = report.gains["everything, same steps"]
    assert (gain.centre, gain.low, gain.high) == (0.0, 0.0, 0.0)


def test_an_observer_gives_soft_targets_and_names_suspects() -> None:
    x, y = clouds(300)
    wrong = np.arange(300) % 10 == 0
    labels = np.where(wrong, (y + 1) % 3, y)
    recipe = wn.Recipe(epochs=20, batch=32)
    report = wn.train((x, labels), 40, model="mlp", observer="mlp", leave_out=True, recipe=recipe, engine=HERE)
    assert report.network.about["soft_weight"] == pytest.approx(0.8, abs=0.01)  # a fifth of the steps
    assert 10 < report.left_out < 80
    assert report.observing > 0


def test_a_regression_is_predicted_in_its_own_unit() -> None:
    x, y = clouds(task="sum")
    report = wn.train((x, 100 * y), 60, model="mlp", recipe=wn.Recipe(epochs=30, batch=32), test=(x, 100 * y))
    assert report.accuracy is not None
    assert report.accuracy > 0.5
    found = report.network.predict(wn.open((x, 100 * y)))[:, 0]
    assert 1 - np.var(100 * y - found) / np.var(100 * y) == pytest.approx(report.accuracy, abs=0.1)


def test_what_cannot_be_trained_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="leave_out of train needs an observer"):
        wn.train(clouds(), 5, leave_out=True)
    with pytest.raises(NotDefinedError, match="has none"):
        wn.train(clouds()[0], 5)
    with pytest.raises(InputError, match="steps of train"):
        wn.train(clouds(), 0)
    (tmp_path / "bad").write_text("no weights")
    with pytest.raises(DataError, match="cannot be read"):
        TrainedNetwork.load(tmp_path / "bad")


def test_the_command_prints_what_was_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from winnow.cli import main

    command = ["train", "digits", "--limit", "100", "--steps", "4", "--epochs", "6", "--out", str(tmp_path / "run")]
    with pytest.raises(SystemExit) as done:
        main(command)
    assert done.value.code == 0
    text = capsys.readouterr().out
    assert "trained 4 steps" in text
    assert "33% fewer than the 6 of the recipe" in text
    assert f"weights  {tmp_path / 'run' / 'weights.safetensors'}" in text
    with pytest.raises(SystemExit):
        main([*command, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert (found["steps"], found["full_steps"]) == (4, 6)
