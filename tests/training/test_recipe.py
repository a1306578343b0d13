from __future__ import annotations

from typing import Any

import pytest
import torch

import winnow as wn
from winnow.core.errors import WinnowError
from winnow.training import Recipe

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"epochs": 0}, "epochs of Recipe"),
    ({"epochs": 2.5}, "epochs of Recipe"),
    ({"batch": 0}, "batch of Recipe"),
    ({"optimizer": "adamm"}, "nearest: 'adam"),
    ({"lr": 0}, "lr of Recipe"),
    ({"lr": float("nan")}, "lr of Recipe"),
    ({"momentum": 1.0}, "momentum of Recipe"),
    ({"weight_decay": -1}, "weight_decay of Recipe"),
    ({"schedule": "cosin"}, "nearest: 'cosine'"),
    ({"augment": "flip"}, "tuple of strings"),
    ({"augment": 3}, "tuple of strings"),
    ({"augment": ("spin",)}, "augment of Recipe"),
    ({"precision": "float16"}, "precision of Recipe"),
    ({"label_smoothing": 1.0}, "label_smoothing of Recipe"),
]


@pytest.mark.parametrize(("options", "fragment"), REFUSED)
def test_refuses(options: dict[str, Any], fragment: str) -> None:
    with pytest.raises(WinnowError) as caught:
        Recipe(**options)
    assert fragment in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("size", "batches"), [(1, 1), (2, 1), (32, 1), (33, 1), (34, 2), (64, 2), (65, 2), (66, 3)])
def test_a_last_batch_of_one_joins_the_one_before(size: int, batches: int) -> None:
    assert Recipe(batch=32).batches(size) == batches


def test_matched_steps_run_from_the_same_epochs_to_the_same_iterations() -> None:
    recipe = Recipe(epochs=10, batch=10)
    assert recipe.matched_steps(200, 1000, 0.0) == recipe.steps(200) == 200
    assert recipe.matched_steps(200, 1000, 1.0) == recipe.steps(1000) == 1000
    assert recipe.matched_steps(200, 1000, 0.5) == 600
    assert recipe.matched_steps(1000, 1000, 0.7) == 1000


@pytest.mark.parametrize("schedule", ["constant", "cosine", "onecycle"])
def test_a_schedule_stays_within_its_peak(schedule: str) -> None:
    rates = [Recipe(schedule=schedule).rate(step, 50) for step in range(50)]
    assert all(0 < rate <= 1 for rate in rates)
    if schedule != "constant":
        peak = rates.index(max(rates))
        assert rates[:peak] == sorted(rates[:peak])
        assert rates[peak:] == sorted(rates[peak:], reverse=True)
        assert rates[-1] < 0.05


def test_one_cycle_peaks_after_a_fifth() -> None:
    rates = [Recipe(schedule="onecycle").rate(step, 100) for step in range(100)]
    assert rates.index(max(rates)) in (19, 20)


@pytest.mark.parametrize(
    ("name", "kind"), [("sgd", torch.optim.SGD), ("adam", torch.optim.Adam), ("adamw", torch.optim.AdamW)]
)
def test_frozen_parameters_are_left_to_rest(name: str, kind: type[torch.optim.Optimizer]) -> None:
    model = torch.nn.Linear(2, 2)
    model.bias.requires_grad_(False)
    optimizer = Recipe(optimizer=name, lr=0.3).build_optimizer(model)
    assert type(optimizer) is kind
    assert [len(group["params"]) for group in optimizer.param_groups] == [1]
    assert optimizer.param_groups[0]["lr"] == 0.3


def test_settings_are_plain_values() -> None:
    assert Recipe(augment=["flip"]).settings()["augment"] == ("flip",)  # type: ignore[arg-type]
    assert Recipe(**Recipe(epochs=3).settings()) == Recipe(epochs=3)


def test_matched_steps_are_exact_at_both_ends() -> None:
    recipe = wn.Recipe(epochs=30, batch=128)
    assert recipe.matched_steps(144, 1437, 1.0) == recipe.steps(1437)
    assert recipe.matched_steps(144, 1437, 0.0) == recipe.steps(144)
    assert recipe.steps(144) < recipe.matched_steps(144, 1437, 0.5) < recipe.steps(1437)
