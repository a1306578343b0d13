"""A linear head on embeddings as an observer: what it records, and that pruning takes it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import winnow as wn
from winnow.core.errors import InputError, NotDefinedError
from winnow.signals.embedded_source import embedded_source

HERE = wn.Local(workers=1)
SHORT = wn.Recipe(epochs=6, batch=16, lr=0.05)


def rings(n: int = 120) -> wn.Source:
    """Two rings, which no line separates; the radius does."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    angle = rng.uniform(0, 2 * np.pi, n)
    x = (1 + y)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.05 * rng.normal(size=(n, 2))
    return wn.open((x.astype(np.float32), np.where(y == 1, "outer", "inner")))


def radius(source: wn.Source) -> np.ndarray[Any, Any]:
    rows = source.read(np.arange(len(source)))
    return np.column_stack([np.linalg.norm(rows, axis=1), rows[:, 0]])


def test_a_linear_head_learns_what_embeddings_show() -> None:
    source = rings()
    how: dict[str, Any] = {"recipe": SHORT, "want": ("dynamics", "predictions"), "engine": HERE}
    bare = wn.observe(source, "linear", **how)
    seen = wn.observe(source, "linear", embeddings=radius(source), **how)
    assert seen.array("correct").shape == (1, 6, 120)
    assert seen.array("correct")[0, -1].mean() > 0.95 > 0.8 > bare.array("correct")[0, -1].mean()
    assert (seen.ids.tolist(), seen.classes) == (source.ids.tolist(), source.classes)


def test_signals_are_matched_by_id_and_order_plays_no_part() -> None:
    source = rings()
    given = wn.Signals(source.ids, {"embeddings": radius(source)}, "unlabelled")
    mixed = np.random.default_rng(1).permutation(len(source))
    first = wn.observe(source, "linear", SHORT, embeddings=given, engine=HERE)
    second = wn.observe(source.at(mixed), "linear", SHORT, embeddings=given.at(mixed[::-1]), engine=HERE)
    assert first.fingerprint == second.fingerprint
    assert first.provenance["inputs"]["embeddings"] == {}
    one, other = (embedded_source(source, values) for values in (given, 2 * radius(source)))
    assert one.fingerprint not in (other.fingerprint, source.fingerprint)
    np.testing.assert_array_equal(one.read(np.arange(5)), radius(source)[:5].astype(np.float32))


def test_a_run_keeps_what_other_embeddings_gave_apart(tmp_path: Any) -> None:
    source = rings(40)
    how: dict[str, Any] = {"recipe": SHORT, "engine": HERE}
    first = wn.observe(source, "linear", embeddings=radius(source), out=tmp_path / "run", **how)
    again = wn.observe(source, "linear", embeddings=radius(source), out=tmp_path / "run", **how)
    assert first.fingerprint == again.fingerprint
    other = wn.observe(source, "linear", embeddings=radius(source) ** 2, out=tmp_path / "other", **how)
    assert other.fingerprint != first.fingerprint


def test_pruning_takes_what_the_head_recorded() -> None:
    source = rings(160)
    want = ("dynamics", "predictions")
    seen = wn.observe(source, "linear", SHORT, want=want, embeddings=radius(source), engine=HERE)
    subset = wn.prune(source, keep=0.5, signals=seen, recipe=SHORT, veto=0, engine=HERE)
    assert len(subset) == 80
    assert subset.targets is not None
    assert subset.targets.classes == source.classes


def test_invalid_embeddings_are_refused() -> None:
    source = rings(20)
    with pytest.raises(InputError, match="embeddings of observe must have 20 rows"):
        wn.observe(source, "linear", embeddings=np.zeros((19, 2)))
    with pytest.raises(InputError, match=r"embeddings of observe must hold every example of .*; 1 are missing"):
        wn.observe(source, "linear", embeddings=wn.embed(source).at(np.arange(19)))
    with pytest.raises(NotDefinedError, match="observe needs embeddings"):
        wn.observe(
            source,
            "linear",
            embeddings=wn.Signals(source.ids, {"losses": np.zeros((1, 1, 20))}, "unlabelled", epochs=(1,)),
        )
    with pytest.raises(InputError, match="embeddings of observe"):
        wn.observe(source, "linear", embeddings=np.full((20, 2), np.nan))
