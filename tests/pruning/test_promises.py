"""Same seed, same answer; ids outlive order: end to end, from files to bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import winnow as wn
from winnow.engines import Local

QUICK = wn.Recipe(epochs=3, batch=16)

pytestmark = pytest.mark.filterwarnings("ignore:score .* is unreliable here")


def table() -> pa.Table:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 3)).round(3)
    y = np.where(x[:, 0] + 0.3 * x[:, 1] > 0, "yes", "no")
    return pa.table({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "label": y.tolist()})


def as_csv(rows: pa.Table, folder: Path) -> str:
    lines = [",".join(map(str, row.values())) for row in rows.to_pylist()]
    (folder / "rows.csv").write_text("\n".join(["a,b,c,label", *lines]) + "\n")
    return "rows.csv"


def as_shards(cuts: list[int]):
    def write(rows: pa.Table, folder: Path) -> str:
        (folder / "rows").mkdir()
        edges = [0, *cuts, rows.num_rows]
        for number, start in enumerate(edges[:-1]):
            part = rows.slice(start, edges[number + 1] - start)
            pq.write_table(part, folder / "rows" / f"train-{number:05d}-of-{len(cuts) + 1:05d}.parquet")
        return "rows"

    return write


def pruned(write, order: np.ndarray, folder: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """The bytes of the subset file of a pruning of the rows in this order."""
    folder.mkdir()
    monkeypatch.chdir(folder)
    source = wn.open(write(table().take(order), folder))
    subset = wn.prune(source, 0.4, model="mlp", recipe=QUICK, seeds=2, veto=1, engine=Local(workers=1))
    assert len(subset) == 48
    assert subset.certificate["veto"]["pairs"] == 1  # enough rows to try the candidate
    return subset.save(folder / "subset.parquet").read_bytes()


@pytest.mark.parametrize(
    ("first", "second"),
    [(as_csv, as_csv), (as_shards([]), as_shards([])), (as_shards([11]), as_shards([30, 31, 70]))],
    ids=["csv", "parquet", "re-sharded parquet"],
)
def test_order_of_rows_and_shards_changes_no_byte(first, second, tmp_path: Path, monkeypatch) -> None:
    order = np.arange(120)
    mixed = np.random.default_rng(5).permutation(120)
    one = pruned(first, order, tmp_path / "one", monkeypatch)
    assert one == pruned(second, mixed, tmp_path / "two", monkeypatch)


def test_another_row_changes_the_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order = np.arange(120)
    one = pruned(as_csv, order, tmp_path / "one", monkeypatch)
    assert one != pruned(as_csv, np.append(order[:-1], 0), tmp_path / "two", monkeypatch)
