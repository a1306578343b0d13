"""The loop of `accelerate`, step by step: fresh batches, fresh views, the recipe's rate."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pytest
import torch

from tests.methods.relabel.test_accelerate import RECIPE, SOURCE, TARGETS
from winnow.methods.relabel import accelerate
from winnow.methods.relabel.pretrain_loop import Pretraining

STEPS, SWITCH = 8, 4
EPOCH = len(SOURCE) // RECIPE.batch  # whole batches


class Seen:
    """What every step of a run used."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
        self.batches: list[list[int]] = []
        self.views: list[list[torch.Tensor]] = []
        self.rates: list[float] = []
        step, positions, scaled = Pretraining.step, Pretraining._positions, Pretraining._scaled

        def stepping(training: Pretraining) -> None:
            self.views.append([])
            step(training)
            self.rates.append(training._optimizer.param_groups[0]["lr"])

        def choosing(training: Pretraining) -> Any:
            found = positions(training)
            self.batches.append(found.tolist())
            return found

        def scaling(training: Pretraining, view: torch.Tensor) -> torch.Tensor:
            self.views[-1].append(view.clone())
            return scaled(training, view)

        monkeypatch.setattr(Pretraining, "step", stepping)
        monkeypatch.setattr(Pretraining, "_positions", choosing)
        monkeypatch.setattr(Pretraining, "_scaled", scaling)
        accelerate("simsiam", SOURCE, TARGETS, replace(RECIPE, **changes), steps=STEPS, switch=SWITCH)


def test_an_epoch_shows_no_image_twice_and_the_next_one_shuffles_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Seen(monkeypatch)
    epochs = [list(chain(*seen.batches[start : start + EPOCH])) for start in range(0, STEPS, EPOCH)]
    assert len(epochs) == STEPS // EPOCH
    assert all(len(set(epoch)) == EPOCH * RECIPE.batch for epoch in epochs)
    assert all(epochs[0] != epoch for epoch in epochs[1:])


def test_every_step_makes_views_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The batch is the same in every step here, so that only the views can differ."""
    monkeypatch.setattr(Pretraining, "_positions", lambda self: np.arange(RECIPE.batch))
    seen = Seen(monkeypatch)
    for stage in (seen.views[:SWITCH], seen.views[SWITCH:]):
        flat = [view for views in stage for view in views]
        assert len(flat) == 2 * len(stage)
        assert all(not torch.equal(flat[i], flat[j]) for i in range(len(flat)) for j in range(i))


def test_the_rate_is_the_recipes(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = replace(RECIPE, schedule="cosine")
    seen = Seen(monkeypatch, schedule="cosine")
    assert seen.rates == pytest.approx([recipe.lr * recipe.rate(step, STEPS) for step in range(STEPS)])
    assert seen.rates[-1] < 0.2 * seen.rates[0]
