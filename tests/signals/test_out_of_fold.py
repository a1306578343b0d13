"""Out-of-fold predictions: by one network that never saw the example, whatever the order, resumable."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier

import winnow as wn
from tests.signals.small import Counting, by_id, digits, rows, shuffled
from winnow.artefacts import Signals
from winnow.core.errors import NotDefinedError
from winnow.core.seeds import number as seed_number
from winnow.engines import Local
from winnow.signals.fold_trainings import gathered
from winnow.signals.folds import fold_numbers

ONE = Local(workers=1)
SHORT = wn.Recipe(epochs=2, batch=16)


def observed(source: wn.Source, model: object = "mlp", recipe: wn.Recipe | None = SHORT, **options: object) -> Signals:
    how = {"want": ("oof",), "folds": 4, "engine": ONE, **options}
    return wn.observe(source, model, recipe, **how)


def memory() -> KNeighborsClassifier:
    """Knows by heart what it was fitted to."""
    return KNeighborsClassifier(1)


def test_no_example_is_predicted_by_what_knows_it_by_heart() -> None:
    """Labels are noise: a model that had seen them would be right."""
    x, y = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32), np.arange(200) % 2
    np.random.default_rng(1).shuffle(y)
    found = observed(wn.open((x, y)), memory(), None)
    right = found.array("oof")[0].argmax(axis=1) == y
    assert 0.35 < right.mean() < 0.65


def test_a_copy_in_another_fold_would_tell_the_answer_and_one_of_the_same_group_does_not() -> None:
    x, y = np.random.default_rng(0).normal(size=(100, 4)).astype(np.float32), np.arange(100) % 2
    np.random.default_rng(1).shuffle(y)
    source = wn.open((np.concatenate([x, x]), np.concatenate([y, y])))
    told = observed(source, memory(), None).array("oof")[0].argmax(axis=1) == source.labels
    fair = observed(source, memory(), None, groups=np.arange(200) % 100).array("oof")[0].argmax(axis=1) == source.labels
    assert told.mean() > 0.75
    assert fair.mean() < 0.65


def test_each_example_is_predicted_once_and_watched_in_all_other_folds() -> None:
    source = digits(60)
    found = observed(source)
    assert found.array("oof").shape == (1, 60, 10)
    assert np.allclose(found.array("oof").sum(axis=2), 1, atol=1e-5)
    assert np.allclose(found.array("predictions").sum(axis=2), 1, atol=1e-5)
    assert found.array("margins").shape == (1, 2, 60)
    assert set(np.unique(found.arrays["correct"])) <= {0, 1}
    assert not np.allclose(found.array("oof"), found.array("predictions"))


def test_the_prediction_is_that_of_the_model_of_its_fold() -> None:
    """The same model, fitted by hand to the other folds."""
    source = rows(40)
    x, y, order = source.read(np.arange(40)), source.labels, source.order
    fold = np.empty(40, dtype=int)
    fold[order] = fold_numbers(source.ids[order], 4, seed_number(0, "folds", 0), y[order])
    found = observed(source, memory(), None).array("oof")[0].argmax(axis=1)
    for one in range(4):
        inside = fold != one
        scaled = (x - x[inside].mean(axis=0)) / x[inside].std(axis=0)
        assert np.array_equal(memory().fit(scaled[inside], y[inside]).predict(scaled[~inside]), found[~inside])


def test_shuffling_the_source_changes_nothing() -> None:
    source = digits(60)
    groups = np.arange(60) // 2
    mixed = shuffled(source)
    place = {one: k for k, one in enumerate(source.ids.tolist())}
    first = observed(source, groups=groups)
    second = observed(mixed, groups=groups[[place[one] for one in mixed.ids.tolist()]])
    for name in ("oof", "margins", "predictions", "correct"):
        assert by_id(first, name) == by_id(second, name)


def test_a_killed_observation_trains_only_the_rest(tmp_path: Path) -> None:
    source = digits(60)
    with pytest.raises(KeyboardInterrupt):
        observed(source, out=tmp_path, engine=Counting(killed_after=2))
    again = Counting()
    found = observed(source, out=tmp_path, engine=again)
    assert again.done == 2
    whole = observed(source)
    assert np.array_equal(found.array("oof"), whole.array("oof"))
    assert np.array_equal(found.array("margins"), whole.array("margins"))


def test_other_groups_are_other_trainings(tmp_path: Path) -> None:
    source = digits(60)
    first = observed(source, out=tmp_path / "one")
    second = observed(source, groups=np.arange(60) // 3, out=tmp_path / "two")
    assert not np.array_equal(first.array("oof"), second.array("oof"))


def test_an_estimator_gives_out_of_fold_predictions_and_nothing_else_unless_asked() -> None:
    found = observed(rows(40), KNeighborsClassifier(3), None)
    assert set(found.arrays) == {"oof"}
    with pytest.raises(NotDefinedError, match="must be a network for gradients"):
        observed(rows(40), KNeighborsClassifier(3), None, want=("oof", "gradients"))


def test_predictions_of_a_regression_are_in_the_units_of_the_target() -> None:
    source = rows(60, "regression")
    by_line = observed(source, LinearRegression(), None)
    assert np.allclose(by_line.array("oof")[0, :, 0], source.labels, atol=0.05)  # the target is linear
    by_network = observed(source, "mlp", wn.Recipe(epochs=30, batch=8))
    gap = by_network.array("oof")[0, :, 0] - source.labels
    assert np.sqrt(np.mean(gap**2)) < np.std(source.labels)
    assert "margins" not in by_network


def test_seeds_draw_other_folds_and_are_stacked() -> None:
    found = observed(rows(40), seeds=2)
    assert found.array("oof").shape == (2, 40, 2)
    assert not np.allclose(found.array("oof")[0], found.array("oof")[1])


def test_what_the_networks_gave_is_joined_by_hand() -> None:
    """Three folds of one example each."""

    def part(oof: list[float], losses: list[float], correct: list[int]) -> Signals:
        arrays = {
            "oof": np.repeat(np.array(oof, dtype=np.float32)[None, :, None], 2, axis=2),
            "losses": np.array(losses, dtype=np.float32)[None, None],
            "correct": np.array(correct, dtype=np.uint8)[None, None],
        }
        return Signals(np.arange(3), arrays, "classification", np.array([0, 1, 0]), ("a", "b"), (1,), 1)

    found = gathered(
        [
            part([0.1, 0, 0], [0, 2, 4], [0, 1, 0]),
            part([0, 0.2, 0], [1, 0, 6], [0, 0, 0]),
            part([0, 0, 0.3], [3, 4, 0], [1, 0, 0]),
        ]
    )
    assert np.allclose(found.arrays["oof"][0, :, 0], [0.1, 0.2, 0.3])
    assert found.arrays["losses"][0, 0].tolist() == [2, 3, 5]
    assert found.arrays["correct"][0, 0].tolist() == [1, 1, 0]  # at least one of two says so
