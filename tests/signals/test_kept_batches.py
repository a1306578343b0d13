"""A pass over all examples that was cut goes on behind the rows that were kept, and gives the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import winnow as wn
from tests.signals.small import digits
from winnow.core.unfinished import under_way
from winnow.engines import Local
from winnow.methods.lpntk import signal
from winnow.models import build
from winnow.signals import gradients, kept_batches, network_rows
from winnow.training import Feed, Recipe

N, BATCH = 91, 8  # the last batch has 3
RECIPE = Recipe(epochs=1, batch=30)


class Cut(Exception):
    pass


class Counted(Feed):
    """Counts the examples that are read by number, and is cut after some of them."""

    read: list[int]
    most = 10**9

    def inputs(self, positions: Any) -> torch.Tensor:
        if len(positions) > 2:  # fewer are looked at beforehand
            if len(self.read) >= self.most:
                raise Cut
            self.read.extend(np.asarray(positions).tolist())
        return super().inputs(positions)


def counted(most: int = 10**9) -> Counted:
    feed = Counted(digits(N))
    feed.read, feed.most = [], most
    return feed


def embedded(feed: Feed, net: torch.nn.Module, recipe: Recipe) -> list[np.ndarray]:
    return [network_rows.embeddings_of(net, feed, recipe, None, BATCH)[0]]


def graded(feed: Feed, net: torch.nn.Module, recipe: Recipe) -> list[np.ndarray]:
    norms, projected = gradients.example_gradients(net, feed, recipe, 16, 3)
    assert projected is not None
    return [norms, projected]


def tangents(feed: Feed, net: torch.nn.Module, recipe: Recipe) -> list[np.ndarray]:
    return [signal.tangent_features(net, feed, 16, 3, recipe.checkpoint)]


Pass = Callable[[Feed, torch.nn.Module, Recipe], list[np.ndarray]]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_batches, "BYTES", 1)  # every batch is kept
    monkeypatch.setattr(signal, "CHUNK", BATCH)
    size = sum(p.numel() for p in network(0).parameters())
    monkeypatch.setattr(gradients, "CHUNK_NUMBERS", BATCH * size)


def network(seed: int) -> torch.nn.Module:
    return build("mlp", classes=10, shape=(1, 8, 8), seed=seed)


def run(made: Pass, place: Path | None, feed: Counted, seed: int = 0, key: str = "key", recipe: Recipe = RECIPE) -> Any:
    with under_way(place, "observe/seed-0", key):
        return made(feed, network(seed), recipe)


@pytest.mark.parametrize("made", [embedded, graded, tangents])
def test_a_pass_goes_on_where_it_was_cut(made: Pass, tmp_path: Path) -> None:
    whole = run(made, None, counted())
    with pytest.raises(Cut):
        run(made, tmp_path, counted(40))
    feed = counted()
    again = run(made, tmp_path, feed)
    assert feed.read == list(range(40, N))  # nothing is computed again
    assert [one.tobytes() for one in again] == [one.tobytes() for one in whole]
    feed = counted()
    run(made, tmp_path, feed)  # all of it was kept
    assert feed.read == []


@pytest.mark.parametrize("change", [{"seed": 1}, {"key": "other"}])
def test_other_weights_and_other_steps_find_nothing(change: dict[str, Any], tmp_path: Path) -> None:
    run(embedded, tmp_path, counted())
    feed = counted()
    again = run(embedded, tmp_path, feed, **change)
    assert len(feed.read) == N
    assert again[0].tobytes() == run(embedded, None, counted(), change.get("seed", 0))[0].tobytes()


def test_a_damaged_file_is_made_again_and_what_follows_too(tmp_path: Path) -> None:
    whole = run(embedded, tmp_path, counted())
    third = next(tmp_path.rglob("*-2.safetensors"))
    content = bytearray(third.read_bytes())
    content[-5] ^= 1
    third.write_bytes(content)
    feed = counted()
    again = run(embedded, tmp_path, feed)
    assert feed.read == list(range(2 * BATCH, N))
    assert again[0].tobytes() == whole[0].tobytes()


def test_a_short_pass_and_one_without_checkpoints_keep_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(embedded, tmp_path, counted(), recipe=Recipe(checkpoint=0))
    monkeypatch.setattr(kept_batches, "BYTES", 1 << 20)
    run(embedded, tmp_path, counted())
    assert not list(tmp_path.rglob("*.safetensors"))
    run(embedded, tmp_path, counted(), recipe=Recipe(checkpoint=1e-9))  # it is time after every batch
    assert len(list(tmp_path.rglob("*.safetensors"))) == -(-N // BATCH)


def test_an_observation_that_was_killed_in_a_pass_gives_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def observed(out: Path) -> wn.Signals:
        want = ("dynamics", "embeddings", "gradients")
        return wn.observe(digits(N), "mlp", RECIPE, want=want, out=out, engine=Local(workers=1))

    real, passed, most = gradients.SparseProjection.add, [], 6

    def add(self: Any, out: Any, flat: Any, start: int) -> None:
        if start == 0:
            if len(passed) == most:
                raise Cut
            passed.append(len(flat))
        real(self, out, flat, start)

    whole = observed(tmp_path / "whole")
    monkeypatch.setattr(gradients.SparseProjection, "add", add)
    with pytest.raises(Cut):
        observed(tmp_path / "cut")
    assert len(list((tmp_path / "cut" / "unfinished").rglob("*.safetensors"))) == 6
    most = 10**9
    again = observed(tmp_path / "cut")
    assert sum(passed) == N  # both times together
    for name, values in whole.arrays.items():
        assert values.tobytes() == again.arrays[name].tobytes()
    assert not (tmp_path / "cut" / "unfinished").exists()
