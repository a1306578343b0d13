"""Embeddings in shards: the same as in memory, after a kill too, and what is damaged is made again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import winnow as wn
from tests.signals.small import digits
from winnow.checking.duplicates import duplicates
from winnow.core.errors import InputError, StoreError
from winnow.core.stored_runs import verify_run
from winnow.signals import clusters, embedding_shards
from winnow.signals.embedding_shards import FILE, shard_length

N = 1300  # three shards of 512 rows


class Killed(Exception):
    pass


@pytest.fixture(autouse=True)
def _small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_shards, "ROWS", 512)


def is_mapped(values: Any) -> bool:
    while values is not None and not isinstance(values, np.memmap):
        values = getattr(values, "base", None)
    return values is not None


def first_three(batch: Any) -> Any:
    return np.asarray(batch, dtype=np.float32).reshape(len(batch), -1)[:, :3]


def counted(monkeypatch: pytest.MonkeyPatch, stop_after: int | None = None) -> list[int]:
    """Note the start of every shard that is made; raise like a kill before one."""
    made: list[int] = []
    usual = embedding_shards._checked

    def noting(rows: Any, width: int) -> Any:
        if stop_after is not None and len(made) == stop_after:
            raise Killed
        made.append(len(rows))
        return usual(rows, width)

    monkeypatch.setattr(embedding_shards, "_checked", noting)
    return made


@pytest.mark.parametrize("model", ["raw", "mlp", first_three], ids=["raw", "network", "function"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_shards_are_what_memory_gives(tmp_path: Path, model: str | Callable[..., Any], shuffle: bool) -> None:
    source = digits(N)
    source = source.at(np.random.default_rng(0).permutation(N) if shuffle else source.order)
    usual, found = wn.embed(source, model), wn.embed(source, model, out=tmp_path / "run")
    assert found.ids.tolist() == usual.ids.tolist() == source.ids.tolist()
    assert is_mapped(found.embeddings)
    np.testing.assert_allclose(found.embeddings, usual.embeddings, rtol=1e-4, atol=1e-5)
    if not shuffle:  # the same batches: the same bytes
        assert found.fingerprint == usual.fingerprint
    assert found.provenance["parameters"] == usual.provenance["parameters"]


def test_texts_are_embedded_in_shards_by_the_rarity_of_words_in_all_of_them(tmp_path: Path) -> None:
    texts = [f"word{k % 7} and thing{k % 31} number{k}" for k in range(N)]
    source = wn.open((texts, [k % 2 for k in range(N)]))
    found = wn.embed(source, out=tmp_path / "run")
    np.testing.assert_array_equal(found.embeddings, wn.embed(source).embeddings)


def test_a_killed_run_goes_on_at_the_next_shard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = digits(N)
    whole = wn.embed(source, "mlp", out=tmp_path / "whole")
    with monkeypatch.context() as patch:
        counted(patch, stop_after=1)
        with pytest.raises(Killed):
            wn.embed(source, "mlp", out=tmp_path / "killed")
    made = counted(monkeypatch)
    found = wn.embed(source, "mlp", out=tmp_path / "killed")
    assert made == [512, N - 1024]
    assert (tmp_path / "killed" / FILE).read_bytes() == (tmp_path / "whole" / FILE).read_bytes()
    assert found.fingerprint == whole.fingerprint
    wn.embed(source, "mlp", out=tmp_path / "killed")
    assert len(made) == 2  # nothing more
    assert verify_run(tmp_path / "killed") == []


def test_only_a_damaged_shard_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = digits(N)
    usual = wn.embed(source, out=tmp_path / "run").fingerprint
    path = tmp_path / "run" / FILE
    bytes_ = bytearray(path.read_bytes())
    bytes_[-8] ^= 1
    path.write_bytes(bytes_)
    assert [one.step for one in verify_run(tmp_path / "run")] == ["embed"]
    made = counted(monkeypatch)
    with pytest.warns(UserWarning, match="has changed since it was written; the step embed is made again"):
        found = wn.embed(source, out=tmp_path / "run")
    assert made == [N - 1024]
    assert found.fingerprint == usual
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.warns(UserWarning, match="made again"):
        assert wn.embed(source, out=tmp_path / "run").fingerprint == usual


def test_other_data_or_another_model_is_refused(tmp_path: Path) -> None:
    wn.embed(digits(N), out=tmp_path / "run")
    with pytest.raises(StoreError, match="holds a run with"):
        wn.embed(digits(N - 1), out=tmp_path / "run")
    with pytest.raises(StoreError, match="holds a run with other settings"):
        wn.embed(digits(N), "mlp", out=tmp_path / "run")


def test_embeddings_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be finite"):
        wn.embed(digits(N), mean=[0.0], std=[1e-45], out=tmp_path / "run")


def test_scores_and_duplicates_read_the_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = digits(N)
    usual, found = wn.embed(source, "mlp"), wn.embed(source, "mlp", out=tmp_path / "run")
    for name in ("prototype", "class_prototype"):
        np.testing.assert_array_equal(wn.score(name, found).values, wn.score(name, usual).values)
    one, other = (duplicates(source, each.embeddings) for each in (usual, found))
    np.testing.assert_array_equal(one.group, other.group)
    kept = [wn.select("rank", each, score="prototype", keep=0.2).ids.tolist() for each in (usual, found)]
    assert kept[0] == kept[1]
    assert is_mapped(replace(found, task="unlabelled", labels=None).embeddings)
    monkeypatch.setattr(clusters, "HELD", 1000)  # as if it did not fit into memory
    close = wn.score("prototype", found, k=4).values
    again = wn.score("prototype", usual, k=4).values
    np.testing.assert_array_equal(close, again)


def test_passes_over_blocks_end_where_lloyd_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    middles = np.eye(4)[:, :3] * 5 + np.array([[0.0, 0, 0], [0, 0, 0], [0, 0, 0], [-5, -5, -5]])
    points = np.concatenate([rng.normal(middle, 0.3, (700, 3)) for middle in middles])
    start = clusters.unit_rows(middles + 0.5)
    monkeypatch.setattr(clusters, "PASSES", 100)
    found = clusters.passed_over(points, start)
    unit, wanted = clusters.unit_rows(points), start
    for _ in range(100):
        nearest = (unit @ wanted.T).argmax(axis=1)
        wanted = clusters.unit_rows(np.array([unit[nearest == k].sum(axis=0) for k in range(4)]))
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_shards_are_whole_batches_of_bounded_size() -> None:
    embedding_shards_rows = {(64, 64): 512, (1 << 30, 4): 512}
    for (inputs, outputs), wanted in embedding_shards_rows.items():
        assert shard_length(inputs, outputs) == wanted
    assert shard_length(1 << 19, 4) == 512  # 256 MB
