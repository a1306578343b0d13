"""Checks of every signal: the declared arrays, tied to ids, the same for the same seed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from ..artefacts import Signals, Source
from ..core import registry
from ..engines import Local
from ..signals.observe import observe
from ..sources.open import open as open_source
from ..training import Recipe

__all__ = ["checks_of_signal"]

ROWS, FEATURES, CLASSES, EPOCHS, SEEDS, DIM = 30, 4, 3, 2, 2, 8


def _source() -> Source:
    """Make up a few rows of three classes."""
    rng = np.random.default_rng(0)
    labels = np.arange(ROWS) % CLASSES
    rows = rng.normal(size=(ROWS, FEATURES)) + labels[:, None]
    return open_source((rows.astype(np.float32), labels), ids=np.array([f"x{k:03d}" for k in rng.permutation(ROWS)]))


def _several(source: Source) -> Source:
    """Return the same rows with several labels each."""
    own = np.eye(CLASSES, dtype=np.uint8)[np.asarray(source.labels)]
    return source.with_labels(own | np.roll(own, 1, axis=1) * (np.arange(ROWS) % 2)[:, None], "multilabel", "abc")


@cache
def _seen(name: str, order: int = 0, several: bool = False) -> Signals:
    source = _several(_source()) if several else _source()
    mixed = source.at(np.random.default_rng(order).permutation(ROWS)) if order else source
    how: dict[str, Any] = {"recipe": Recipe(epochs=EPOCHS, batch=8), "gradient_dim": DIM, "engine": Local(workers=1)}
    return observe(mixed, "mlp", seeds=SEEDS, want=name, **how)


def _same(first: Signals, second: Signals) -> None:
    assert set(first.arrays) == set(second.arrays)
    for name, values in second.take(first.ids).arrays.items():
        assert np.array_equal(values, first.arrays[name]), f"{name} differs"


def _gives_what_it_declares(name: str) -> None:
    entry = registry.get("signal", name)
    _has_its_arrays(entry, _seen(name))
    if "multilabel" in entry.tasks:
        _has_its_arrays(entry, _seen(name, several=True))


def _has_its_arrays(entry: registry.Signal, found: Signals) -> None:
    held = set(found.arrays) - {array + registry.AGAIN for array in entry.arrays}
    assert held in (set(entry.arrays), set(entry.packed))
    known = {"seeds": SEEDS, "models": 10, "epochs": EPOCHS, "examples": ROWS, "classes": CLASSES, "projection": DIM}
    for array, values in found.arrays.items():
        layout = registry.layout_of(array)
        assert values.ndim == len(layout.axes), f"{array} must have axes {layout.axes}; got shape {values.shape}"
        for axis, length in zip(layout.axes, values.shape, strict=True):
            assert length == (known.get(axis, length) if isinstance(axis, str) else axis), f"axis {axis} of {array}"
        assert values.dtype == np.dtype(layout.dtype), f"{array} must be {layout.dtype}; got {values.dtype}"
        assert np.isfinite(values).all()


def _order_plays_no_part(name: str) -> None:
    _same(_seen(name), _seen(name, order=1))


def _same_seed_same_bits(name: str) -> None:
    first = _seen(name)
    _seen.cache_clear()
    _same(first, _seen(name))


def _follows_its_examples(name: str) -> None:
    """Splitting by examples or seeds and joining again must lose nothing."""
    found = _seen(name)
    half = found.take(found.ids[::2])
    _same(half, found.at(np.arange(0, ROWS, 2)))
    _same(found, found.merge(found))
    parts = [found.only_seeds([k]) for k in range(found.seeds)]
    _same(found, Signals.stack(parts, {}))


def _can_be_saved(name: str) -> None:
    found = _seen(name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "signals.safetensors")
        found.save(path)
        back = Signals.load(path)
    _same(found, back)
    assert back.fingerprint == found.fingerprint


def _can_be_made_up(name: str) -> None:
    """Made-up arrays must have the declared shapes."""
    entry, rng = registry.get("signal", name), np.random.default_rng(0)
    sizes = {"seeds": 2, "models": 10, "epochs": 3, "examples": 20, "classes": 3, "embedding": 5, "projection": 4}
    made = entry.made_up(sizes, np.arange(20) % 3, rng.random(20), rng)
    assert set(made) == set(entry.arrays)
    for array, values in made.items():
        layout = entry.arrays[array]
        assert values.shape == layout.shape(sizes), f"made-up {array} must have shape {layout.shape(sizes)}"
        assert values.dtype == np.dtype(layout.dtype)


def _is_documented(name: str) -> None:
    assert registry.get("signal", name).summary.endswith("."), "the first line of the docstring must be a sentence"


CHECKS: tuple[Callable[[str], None], ...] = (
    _gives_what_it_declares,
    _order_plays_no_part,
    _same_seed_same_bits,
    _follows_its_examples,
    _can_be_saved,
    _can_be_made_up,
    _is_documented,
)


def checks_of_signal(name: str) -> dict[str, Callable[[], None]]:
    """Return every check of a signal by name; the signal must be defined for classification.

    They are run on rows of numbers with a small network: one that is only defined for other kinds of examples has none.
    """
    kinds = registry.get("signal", name).examples
    if kinds and "table" not in kinds:
        return {}
    return {check.__name__[1:]: partial(check, name) for check in CHECKS}
